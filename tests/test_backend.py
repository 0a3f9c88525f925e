"""Who computes large arrays, and on how many threads: what may be asked for and how, what is chosen, and the programs that come of it."""

from __future__ import annotations

import copy
import pickle
import threading
import unicodedata
import weakref
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import gradcli
from gradcli.errors import GradcliError
from gradcli.language.run import Program, statements
from gradcli.language.scope import Scope
from gradcli.plans import backend, registers
from gradcli.plans.native import compiler
from gradcli.plans.work import work_of
from gradcli.query import functions

vg, ev = gradcli.value_and_grad, gradcli.evaluate
TEXT = "sum(exp(-x**2/2)*sin(3*x) + log(1 + x**2))"
X = np.random.default_rng(7).normal(size=700_001)
NO_COMPILER = "error[native]: there is no C compiler that works\n = help: {advice}\n = note: CC=none: not found"


@pytest.fixture
def no_compiler(monkeypatch: pytest.MonkeyPatch) -> str:
    """What is said where there is none."""
    monkeypatch.setenv("CC", "none")
    return NO_COMPILER.format(advice=compiler.missing().help)


# -- what may be asked for

MAKERS: dict[str, Callable[..., Any]] = {
    "value_and_grad": lambda **options: vg("sum(x**2)", **options),
    "compile": lambda **options: gradcli.compile("sum(x**2)", **options),
    "evaluate": lambda **options: ev("sum(x**2)", x=[1.0, 2.0], check=False, formula=False, **options),
}
REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    "a misspelt backend": (
        {"backend": "nativ"},
        "error[usage]: 'backend' must be one of auto, numpy, native, not 'nativ'\n = help: did you mean 'native'?",
    ),
    "another backend": ({"backend": "gpu"}, "error[usage]: 'backend' must be one of auto, numpy, native, not 'gpu'"),
    "no backend": ({"backend": None}, "error[usage]: 'backend' must be one of auto, numpy, native, not None"),
    "a list of backends": ({"backend": ["numpy"]}, "error[usage]: 'backend' must be one of auto, numpy, native, not ['numpy']"),
    "no threads": ({"threads": 0}, "error[usage]: 'threads' must be a whole number from 1, not 0"),
    "half a thread": ({"threads": 1.5}, "error[usage]: 'threads' must be a whole number from 1, not 1.5"),
    "a text of threads": ({"threads": "2"}, "error[usage]: 'threads' must be a whole number from 1, not '2'"),
    "a truth of threads": ({"threads": True}, "error[usage]: 'threads' must be a whole number from 1, not True"),
}


@pytest.mark.parametrize("maker", MAKERS)
@pytest.mark.parametrize(("options", "said"), REFUSED.values(), ids=REFUSED)
def test_what_is_refused(maker: str, options: dict[str, Any], said: str) -> None:
    with pytest.raises(GradcliError) as caught:
        MAKERS[maker](**options)
    assert caught.value.render() == said


@pytest.mark.parametrize("maker", MAKERS)
@pytest.mark.parametrize("options", [{"backend": "numpy"}, {"backend": "auto"}, {"threads": 1}, {"threads": np.int64(100)}], ids=repr)
def test_what_is_accepted(maker: str, options: dict[str, Any]) -> None:
    assert MAKERS[maker](**options) is not None


@pytest.mark.parametrize("options", [{"backend": "numpy"}, {"threads": 2}], ids=repr)
def test_options_that_a_mode_has_no_use_for(options: dict[str, Any]) -> None:
    (option,) = options
    with pytest.raises(GradcliError) as caught:
        ev("sum(x**2)", x=[1.0, 2.0], mode="hessian", **options)
    said = f"error[usage]: '{option}' is about a value and its gradient, not the mode 'hessian'\n = help: leave {option} out"
    assert caught.value.render() == said


@pytest.mark.parametrize("name", ["backend", "threads"])
def test_names_that_are_options(name: str) -> None:
    assert ev(f"2*{name}", at={name: 3.0}, check=False).value == 6.0
    assert vg(f"2*{name}")(**{name: 3.0})[0] == 6.0, "they are no options of calls"
    with pytest.raises(GradcliError) as caught:
        ev(f"2*{name}", **{name: 2.5})
    assert caught.value.help == f'to give the name a value, write at={{"{name}": 2.5}}'


def test_pytorchs_compile_has_a_backend_of_its_own() -> None:
    def function(x: Any) -> Any:
        return x

    assert gradcli.compile(function, backend="inductor") is function
    assert gradcli.compile(backend="eager")(function) is function
    with pytest.raises(GradcliError, match="compile has no option 'threads'"):
        gradcli.compile(function, threads=2)


COMMANDS: dict[str, tuple[list[str], str]] = {
    "a misspelt backend": (
        ["--backend", "nummpy"],
        "error[usage]: --backend must be one of auto, numpy, native, not 'nummpy'\n = help: did you mean 'numpy'?\n",
    ),
    "another backend": (["--backend", "gpu"], "error[usage]: --backend must be one of auto, numpy, native, not 'gpu'\n"),
}  # fmt: skip
OF_EVAL: dict[str, tuple[list[str], str]] = {
    f"{option} with {mode[0]}": (
        [*option.split(), *mode],
        f"error[usage]: {option.split()[0]} is about a value and its gradient, which {mode[0]} takes the place of\n"
        f" = help: leave {option.split()[0]} out\n",
    )
    for option in ("--backend numpy", "--threads 2")
    for mode in (["--hessian"], ["--jacobian"], ["--jvp", "x=1,1"], ["--hvp", "x=1,1"])
}


@pytest.mark.parametrize(("options", "said"), {**COMMANDS, **OF_EVAL}.values(), ids={**COMMANDS, **OF_EVAL})
def test_what_eval_refuses(call_cli: Any, options: list[str], said: str) -> None:
    done = call_cli("eval", "sum(x**2)", "x=1,2", "--no-check", *options)
    assert (done.returncode, done.stdout, done.stderr) == (2, "", said)


@pytest.mark.parametrize(("options", "said"), COMMANDS.values(), ids=COMMANDS)
def test_what_check_refuses(call_cli: Any, options: list[str], said: str) -> None:
    done = call_cli("check", "-e", "sum(x**2)", "x=1,2", *options)
    assert (done.returncode, done.stdout, done.stderr) == (2, "", said)


@pytest.mark.parametrize("options", [["--backend", "numpy"], ["--threads", "2"]], ids=str)
def test_what_is_not_about_python_functions(call_cli: Any, options: list[str]) -> None:
    done = call_cli("check", "--function", "math:sin", "--gradient", "math:cos", "--at", "x=1", *options)
    assert done.stderr == f"error[usage]: {options[0]} is not about Python functions\n = help: leave {options[0]} out beside --function\n"


@pytest.mark.parametrize("command", [["eval", "--no-check", "sum(x**2)"], ["check", "-e", "sum(x**2)"]], ids=lambda words: words[0])
@pytest.mark.parametrize("options", [["--backend", "numpy"], ["--backend", "auto", "--threads", "1"], ["--threads=3"]], ids=str)
def test_what_the_commands_accept(call_cli: Any, command: list[str], options: list[str]) -> None:
    assert call_cli(*command, "x=1,2", *options).returncode == 0


@pytest.mark.parametrize("option", ["--threads=0", "--threads=some"])
def test_a_number_of_threads(call_cli: Any, option: str) -> None:
    done = call_cli("eval", "x", "x=1", option)
    assert done.returncode == 2
    assert "--threads" in done.stderr


# -- native code without a compiler


def test_native_code_without_a_compiler(no_compiler: str, call_cli: Any) -> None:
    for make in MAKERS.values():
        with pytest.raises(GradcliError) as caught:
            make(backend="native")
        assert caught.value.render() == no_compiler
    for command in (["eval", "sum(x**2)", "x=1,2"], ["check", "-e", "sum(x**2)", "x=1,2"]):
        done = call_cli(*command, "--backend", "native")
        assert (done.returncode, done.stdout, done.stderr) == (2, "", no_compiler + "\n")


def test_native_code_of_a_project_without_a_compiler(no_compiler: str, call_cli: Any, tmp_path: Any) -> None:
    (tmp_path / "pyproject.toml").write_text("[tool.gradcli]\nbackend = 'native'\n")
    done = call_cli("check", "-e", "sum(x**2)", "x=1,2")
    assert done.returncode == 2
    assert "there is no C compiler that works" in done.stdout + done.stderr


def test_auto_is_numpy_without_a_compiler(no_compiler: str) -> None:
    f = vg(TEXT)
    assert f(x=X)[0] == vg(TEXT, backend="numpy")(x=X)[0]
    assert "\nnumpy: no C compiler works, but 128 x 21,700,031 additions are no fewer than the 536,870,912" in f.plan()


# -- what is chosen


class Choice(NamedTuple):
    asked: str
    work: int
    calls: int
    chosen: str
    said: str


CHOICES = [
    Choice("numpy", 1 << 40, 1, "numpy", "numpy, as asked for"),
    Choice("native", 1, 1, "native", "native, as asked for"),
    Choice("auto", (1 << 22) - 1, backend.OFTEN, "numpy", "numpy: 128 x 4,194,303 additions are fewer than the 536,870,912"),
    Choice("auto", 1 << 22, backend.OFTEN, "native", "native: 128 x 4,194,304 additions are no fewer than the 536,870,912"),
    Choice("auto", (1 << 29) - 1, backend.ONCE, "numpy", "numpy: 536,870,911 additions are fewer than the 536,870,912"),
    Choice("auto", 1 << 29, backend.ONCE, "native", "native: 536,870,912 additions are no fewer than the 536,870,912"),
]


@pytest.mark.parametrize("choice", CHOICES, ids=lambda c: f"{c.asked} {c.work} {c.calls}")
def test_what_is_chosen(choice: Choice, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compiler, "found", lambda: "a compiler")
    assert backend.chosen(choice.asked, choice.work, choice.calls) == choice.chosen
    assert backend.because(choice.chosen, choice.asked, choice.work, choice.calls).startswith(choice.said)
    monkeypatch.setattr(compiler, "found", lambda: None)
    if choice.asked != "native":
        assert backend.chosen(choice.asked, choice.work, choice.calls) == "numpy"


WORK = {  # counted by hand: entries that each operation goes over, four times where it is transcendental
    "x + x*x": 2 * 600,
    "sum(x)": 600,
    "exp(x)": 4 * 600,
    "sum(exp(x), axis=0)": 5 * 600,
    "x @ x.T": 20 * 30 * 20 + 600,
    "x + 1.5": 600,
    "2.0*3.0": 1,
}


@pytest.mark.parametrize(("text", "work"), WORK.items())
def test_how_much_there_is_to_do(text: str, work: int) -> None:
    program = Program(Scope())
    program.scope.bind_value("x", np.ones((20, 30)))
    (statement,) = statements([text])
    lowered = program.execute(statement)
    assert lowered is not None
    assert work_of([lowered.value]) == work


# -- threads


@pytest.mark.parametrize("text", [TEXT, "sum(logsumexp(reshape(x[:700000], (700, 1000)), axis=1))"])
def test_threads_change_no_bit_and_are_at_most_so_many(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    used: set[str] = set()
    take = registers.take
    monkeypatch.setattr("gradcli.plans.blocks.take", lambda size: (used.add(threading.current_thread().name), take(size))[1])
    found = []
    for count in (5, 1, 2, None, 1):
        used.clear()
        value, grads = vg(text, backend="numpy", threads=count)(x=X)
        found.append((value.tobytes(), grads["x"].tobytes()))
        assert len(used) <= (count or 8)
        assert count != 1 or used <= {threading.current_thread().name}
    assert len(set(found)) == 1
    record = ev(text, x=X, backend="numpy", threads=1, check=False, formula=False)
    assert record.grad is not None
    assert (np.float64(record.value).tobytes(), record.grad["x"].tobytes()) == found[0]


# -- programs


def test_a_plan_says_who_runs_it_and_in_which_steps() -> None:
    f = vg("sum(exp(x)*w)", backend="numpy")
    assert str(f.plan()) == repr(f.plan()) == "nothing is compiled yet: call the function, or prepare it for shapes"
    f(x=np.ones(5000), w=2)
    said = str(f.plan())
    head, _, program = said.partition("\n\n")
    assert head.splitlines() == [
        "takes w int64 (), x float64 (5000,)", "gives the value, the gradient by w, the gradient by x", "numpy, as asked for",
    ]  # fmt: skip
    steps = [line.strip() for line in program.splitlines()]
    order = [next(i for i, step in enumerate(steps) if word in step) for word in ("def program(", "for i in range", "exp(x", "return [")]
    assert order == sorted(order)
    f.prepare(x=(2, 2), w=())
    assert f.plan().count("def program(") == 2
    assert "takes w float64 (), x float64 (2, 2)" in f.plan()


def test_operations_and_constants_have_their_names() -> None:
    f = vg("sum(cumsum(x, axis=1)*where([[True], [False]], 2.5, x))").prepare(x=(2, 50))
    said = f.plan()
    assert "cumsum[axis=1](" in said
    assert "2.5" in said
    assert "<bool (2, 1)>" in said


class Spec(NamedTuple):
    shape: Any
    dtype: Any


SPECS: dict[str, tuple[str, dict[str, Any], dict[str, Any]]] = {
    "shapes": ("sum(x*y)", {"x": (2, 3), "y": ()}, {"x": np.ones((2, 3)), "y": 2.0}),
    "another order": ("sum(x*y)", {"y": (), "x": (2, 3)}, {"x": np.ones((2, 3)), "y": 2.0}),
    "an array": ("sum(x)", {"x": np.zeros((4, 1))}, {"x": np.ones((4, 1))}),
    "a list": ("sum(x)", {"x": [1.0, 2.0]}, {"x": np.ones(2)}),
    "as jax has it": ("sum(x)", {"x": Spec((3,), "float32")}, {"x": np.ones(3)}),
    "whole numbers": ("sum(x**n)", {"x": (3,), "n": Spec((), np.int64)}, {"x": np.ones(3), "n": 2}),
    "labels": ("cross_entropy(x, t)", {"x": (4, 3), "t": Spec((4,), int)}, {"x": np.ones((4, 3)), "t": [0, 1, 2, 0]}),
    "a mask": ("sum(where(m, x, 0))", {"x": (3,), "m": Spec((3,), bool)}, {"x": np.ones(3), "m": [True, False, True]}),
    "a value that is needed": ("sum(cumsum(x, axis=k))", {"x": (2, 3), "k": 1}, {"x": np.ones((2, 3)), "k": 1}),
    "a seed": ("x**2", {"x": (3,), "seed": (3,)}, {"x": np.ones(3), "seed": [1.0, 0, 2]}),
    "no entries": ("sum(x)", {"x": (0, 3)}, {"x": np.ones((0, 3))}),
}


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("case", SPECS)
def test_what_is_prepared_is_not_compiled_again(case: str, dtype: str, monkeypatch: pytest.MonkeyPatch) -> None:
    text, shapes, values = SPECS[case]
    wrt = None if "k" not in values else "x"
    wanted = vg(text, wrt, dtype=dtype)(**values)
    f = vg(text, wrt, dtype=dtype)
    if "seed" in shapes:
        assert f.prepare(shapes["x"] and {"x": shapes["x"]}, seed=shapes["seed"]) is f
    else:
        assert f.prepare(shapes) is f

    def again(*arguments: Any) -> Any:
        raise AssertionError("compiled again")

    monkeypatch.setattr(functions, "Specialized", again)
    value, grads = f(**values)
    np.testing.assert_equal(value, wanted[0])
    np.testing.assert_equal(grads, wanted[1])
    assert list(grads) == list(wanted[1])


UNPREPARED: dict[str, tuple[str, dict[str, Any], str]] = {
    "an axis": ("sum(x, axis=k)", {"x": (2, 3), "k": ()}, "the value of 'k' decides what is computed: its shape is not enough"),
    "an index": ("x[k]", {"x": (3,), "k": Spec((), int)}, "the value of 'k' decides what is computed: its shape is not enough"),
    "a mask that chooses": ("sum(x[m])", {"x": (3,), "m": Spec((3,), bool)}, "the value of 'm' decides what is computed"),
    "no whole number": ("sum(x)", {"x": (2.5,)}, "the shape of 'x' must be whole numbers from 0, not (2.5,)"),
    "a negative one": ("sum(x)", {"x": (-1,)}, "the shape of 'x' must be whole numbers from 0, not (-1,)"),
    "no shape": ("sum(x)", {"x": Spec(None, float)}, "the shape of 'x' must be whole numbers from 0, not None"),
    "complex numbers": ("sum(x)", {"x": Spec((2,), complex)}, "the dtype of 'x' must be real numbers or booleans, not complex128"),
    "no dtype": ("sum(x)", {"x": Spec((2,), "flot")}, "the dtype of 'x' must be one of NumPy's, not 'flot'"),
    "another name": ("sum(x)", {"x": (2,), "w": (2,)}, "prepare has no option 'w', and the expression no name 'w'"),
    "a missing name": ("sum(x*w)", {"x": (2,)}, "no value for 'w'"),
    "shapes that do not fit": ("sum(x*w)", {"x": (2,), "w": (3,)}, "shapes (2,) and (3,) do not broadcast"),
    "no scalar": ("x", {"x": (2,)}, "the value has the shape (2,); only a scalar has a gradient without a seed"),
    "another seed": ("x", {"x": (2,), "seed": (3,)}, "the seed has the shape (3,), the output (2,); they must be the same"),
    "more than there can be": ("sum(x)", {"x": (10**12, 10**12)}, "the shape of 'x' is (1000000000000, 1000000000000): there is no array"),
    "too many axes": ("sum(x)", {"x": (1,) * 100}, "there is no array of so many entries or axes"),
}


@pytest.mark.parametrize("case", UNPREPARED)
def test_what_cannot_be_prepared(case: str) -> None:
    text, shapes, said = UNPREPARED[case]
    f = vg(text, None if "k" not in shapes else "x")
    with pytest.raises(GradcliError) as caught:
        f.prepare(**shapes)
    assert said in caught.value.message
    assert f.plan().startswith("nothing is compiled yet")


def test_a_shape_in_the_place_of_a_value_that_was_given_before() -> None:
    f = vg("sum(cumsum(x, axis=k))", "x")
    f(x=np.ones((2, 3)), k=0)
    with pytest.raises(GradcliError) as caught:
        f.prepare(x=(2, 3), k=Spec((), int))
    assert caught.value.render() == (
        "error[usage]: the value of 'k' decides what is computed: its shape is not enough\n = help: give it a value: k=1"
    )


def test_a_value_alone_has_names_that_are_options_of_calls() -> None:
    assert gradcli.compile("sum(seed + out)").prepare(seed=(3,), out=(3,))(seed=np.ones(3), out=np.ones(3)) == 6


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


def test_a_list_and_an_array_share_a_plan() -> None:
    f = vg("sum(a)")
    f(a=[1, 2.5])
    f(a=np.ones(2))
    assert f.plan().count("def program") == 1


def test_functions_are_copied_and_pickled() -> None:
    f = vg("sum(a*b**2)", "b", dtype="float32", backend="numpy", threads=2)
    f(a=[1.0], b=[2.0])
    for other in (copy.copy(f), copy.deepcopy(f), pickle.loads(pickle.dumps(f))):
        assert other(a=[1.0], b=[2.0]) == f(a=[1.0], b=[2.0])
        assert (other.backend, other.threads) == ("numpy", 2)


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
    """The program of an expression in these names, in blocks or on floats; None for names that have a meaning or are none."""
    a, b, c = names
    try:
        f = vg(f"{c}1 = {a}*sin({b})  # {a}{b}\nsum(einsum('ij->ji', {c}1*exp({c})))", dtype=dtype)
        f.prepare({a: (80, 70), b: (70,), c: (80, 1)})
        f.prepare({a: (2, 2), b: (2,), c: (1,)})
    except GradcliError:
        return None
    return "\n".join(compiled.plan.text() for compiled in f._plans.values())


@settings(max_examples=40, deadline=None)
@given(names=NAMES, dtype=st.sampled_from(["float64", "float32"]))
def test_names_are_not_in_programs(names: list[str], dtype: str) -> None:
    names = sorted(unicodedata.normalize("NFC", name) for name in names)  # which is how the language has them
    found = text_of(names, dtype)
    assert found is None or found == text_of(["aa", "bb", "cc"], dtype)


@settings(max_examples=40, deadline=None)
@given(words=st.text(st.characters(exclude_categories=("Cs",)), max_size=30))
def test_texts_are_not_in_programs(words: str) -> None:
    plain = vg("sum(exp(x))").prepare(x=(5000,)).plan()
    try:
        commented = vg(f"sum(exp(x))  # {words}").prepare(x=(5000,)).plan()
    except GradcliError:
        return  # a line that ends within the comment goes on as something else
    assert commented == plain
