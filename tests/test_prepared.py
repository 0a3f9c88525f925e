"""Programs that functions keep: what is shown of them, what is compiled ahead for shapes, what
calls and copies share.
"""

from __future__ import annotations

import copy
import pickle
import weakref
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from recorded import over

import gradcli
from gradcli import GradcliError
from gradcli.plans.native import compiler
from gradcli.query import specialized
from gradcli.texts import normalize

vg = gradcli.value_and_grad


def test_a_plan_says_who_runs_it_and_in_which_steps() -> None:
    f = vg("sum(exp(x)*w)", backend="numpy")
    assert (
        str(f.plan())
        == f.plan()
        == "nothing is compiled yet: call the function, or prepare it for shapes"
    )
    f(x=np.ones(5000), w=2)
    said = str(f.plan())
    head, _, program = said.partition("\n\n")
    assert head.splitlines() == [
        "takes w int64 (), x float64 (5000,)", "gives the value, the gradient by w, the gradient "
        "by x", "numpy, as asked for",
    ]  # fmt: skip
    steps = [line.strip() for line in program.splitlines()]
    order = [
        next(i for i, step in enumerate(steps) if word in step)
        for word in ("def program(", "for i in range", "exp(v", "return [")
    ]
    assert order == sorted(order)
    f.prepare(x=(2, 2), w=())
    assert f.plan().count("def program(") == 2
    assert "takes w float64 (), x float64 (2, 2)" in f.plan()


@pytest.mark.skipif(compiler.find_compiler() is None, reason="no C compiler")
def test_a_plan_says_who_runs_it_whatever_was_asked_for() -> None:
    assert (
        "\nnative, as asked for\n\nint nest0("
        in vg("sum(exp(x))", backend="native").prepare(x=(5000,)).plan()
    )
    assert (
        "\nnumpy: it has no loops for C\n\ndef program("
        in vg("sum(sort(x))", backend="native").prepare(x=(100,)).plan()
    )
    assert "\nnative: 128 x " in vg("sum(exp(x))").prepare(x=(1_000_000,)).plan()


def test_operations_and_constants_have_their_names() -> None:
    f = vg("sum(cumsum(x, axis=1)*where([[True], [False]], 2.5, x))").prepare(x=(2, 50))
    said = f.plan()
    assert "cumsum[axis=1](" in said
    assert "2.5" in said
    assert "<bool (2, 1)>" in said


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@over("prepared", "prepared", "text", "shapes", "values")
def test_what_is_prepared_is_not_compiled_again(
    text: str, shapes: Any, values: Any, dtype: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    shapes, values = eval(shapes), eval(values)
    wrt = None if "k" not in values else "x"
    wanted = vg(text, wrt, dtype=dtype)(**values)
    f = vg(text, wrt, dtype=dtype)
    if "seed" in shapes:
        assert f.prepare(shapes["x"] and {"x": shapes["x"]}, seed=shapes["seed"]) is f
    else:
        assert f.prepare(shapes) is f

    def again(*arguments: Any) -> Any:
        raise AssertionError("compiled again")

    monkeypatch.setattr(specialized, "Instance", again)
    value, grads = f(**values)
    np.testing.assert_equal(value, wanted[0])
    np.testing.assert_equal(grads, wanted[1])
    assert list(grads) == list(wanted[1])


@over("prepared", "refused", "text", "shapes", "said")
def test_what_cannot_be_prepared(text: str, shapes: Any, said: str) -> None:
    shapes = eval(shapes)
    f = vg(text, None if "k" not in shapes else "x")
    with pytest.raises(GradcliError) as caught:
        f.prepare(**shapes)
    assert said in caught.value.message
    assert f.plan().startswith("nothing is compiled yet")


def test_a_shape_in_the_place_of_a_value_that_was_given_before() -> None:
    f = vg("sum(cumsum(x, axis=k))", "x")
    f(x=np.ones((2, 3)), k=0)
    with pytest.raises(GradcliError) as caught:
        f.prepare(x=(2, 3), k=())
    assert caught.value.message.startswith("the value of 'k' decides what is computed")
    assert caught.value.help == "give it a value: k=1"


def test_calls_that_order_names_in_other_ways_share_a_plan() -> None:
    f = vg("k = 2.0\nsum(a*b**k)")
    a, b = np.ones(3), np.full(3, 2.0)
    assert list(f(a=a, b=b)[1]) == ["a", "b", "k"]
    assert list(f(b=b, a=a)[1]) == ["b", "a", "k"]
    assert f.plan().count("def program") == 1
    np.testing.assert_equal(f(b=b, a=a), f(a=a, b=b))
    assert list(vg("sum(a*b)", "a,b")(b=b, a=a)[1]) == ["a", "b"]
    out = np.empty(3)
    assert f(b=b, a=a, out={"b": out})[1]["b"] is out
    np.testing.assert_equal(out, [4, 4, 4])


def test_functions_are_copied_and_pickled() -> None:
    f = vg("sum(a*b**2)", "b", dtype="float32", backend="numpy", threads=2)
    f(a=[1.0], b=[2.0])
    for other in (copy.copy(f), copy.deepcopy(f), pickle.loads(pickle.dumps(f))):
        assert other(a=[1.0], b=[2.0]) == f(a=[1.0], b=[2.0])
        assert (other.settings.backend, other.settings.threads) == ("numpy", 2)


def test_arrays_are_let_go_of() -> None:
    f, x = vg("sum(exp(x))"), np.ones(10_000)
    seen = weakref.ref(x)
    f(x=x)
    del x
    assert seen() is None


# -- names

LETTERS = st.characters(categories=("Lu", "Ll", "Lo", "Lt"))
NAMES = st.lists(st.text(LETTERS, min_size=2, max_size=8), min_size=3, max_size=3, unique=True)


def text_of(names: list[str], dtype: str) -> str | None:
    """The program of an expression in these names, in blocks or on floats; None for names that have
    a meaning or are none.
    """
    a, b, c = names
    try:
        f = vg(f"{c}1 = {a}*sin({b})  # {a}{b}\nsum(einsum('ij->ji', {c}1*exp({c})))", dtype=dtype)
        f.prepare({a: (80, 70), b: (70,), c: (80, 1)})
        f.prepare({a: (2, 2), b: (2,), c: (1,)})
    except GradcliError:
        return None
    return "\n".join(compiled.plan.text() for compiled, _ in f._planned.values())


@settings(max_examples=40, deadline=None)
@given(names=NAMES, dtype=st.sampled_from(["float64", "float32"]))
def test_names_are_not_in_programs(names: list[str], dtype: str) -> None:
    names = sorted({normalize(name) for name in names})  # which is how the language has them
    assume(len(names) == 3)
    found = text_of(names, dtype)
    assert found is None or found == text_of(["aa", "bb", "cc"], dtype)
