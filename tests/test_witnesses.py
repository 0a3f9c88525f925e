"""Two witnesses for everything: what a reference is made of, and what the function it vouches for is made of, have nothing in common."""

from __future__ import annotations

import dataclasses
import functools
import operator
from collections.abc import Callable
from functools import cache
from typing import Any

import mpmath
import numpy as np
import pytest
from call_graph import Reached, reached
from cases import EVERY as CASES
from witness_calls import Call, calls, difference, slopes
from witness_texts import TEXTS

from gradcli.ops.linalg import sign_conventions
from gradcli.ops.nn import rectifiers
from gradcli.ops.nn.rectifiers import selu
from gradcli.ops.reductions import along
from gradcli.ops.reductions.along import count
from gradcli.ops.reductions.cumulative import cumsum
from gradcli.ops.reductions.selection import argmax
from gradcli.ops.reductions.sums import mean, sum_
from gradcli.ops.references import written
from gradcli.ops.registry import composites, registry
from gradcli.ops.spec import Composite, Op
from gradcli.reference.algebra import Numbers

# Which of two opposite vectors LAPACK returns is no mathematics: only the algorithm, run once more, can tell. It decides signs alone.
SIGNS = "ops.linalg.sign_conventions."
# NumPy's functions that make arrays and say what shape they have: they know nothing of what an operation is.
PLUMBING = frozenset(
    {"arange", "array", "asarray", "broadcast_shapes", "broadcast_to", "column_stack", "empty", "finfo", "isfinite", "ndim", "ndindex",
     "shape", "size", "where"}
)  # fmt: skip
# LAPACK's own results, of which a reference reads signs, bases and ranks, and no number.
_OF_SIGNS = frozenset({"argsort", "concatenate", "diagonal", "qr", "swapaxes", "tril", "triu", "zeros"})
LAPACK: dict[str, frozenset[str]] = {
    "qr": frozenset({"qr"}), "complement": frozenset({"qr"}), "pinv": frozenset({"svd"}), "eigh": _OF_SIGNS | {"eigh"},
    "svd": _OF_SIGNS | {"svd"},
}  # fmt: skip


def rules(op: Op) -> list[Any]:
    wider = [] if op.wider is None else [op.wider.body]
    return [op.forward, op.on_scalars, op.vjp, op.shape, *(op.partials or ()), *wider]


@cache
def every_rule() -> Reached:
    """What all operations are computed and differentiated by, and the bodies of all composites."""
    bodies = [c.body for c in composites().values()]
    return reached(*(rule for op in registry().values() for rule in rules(op)), *bodies, into_records=True)


def _own(found: Reached) -> Reached:
    """Without what is allowed to be shared, and the numbers that it reads."""
    if any(name.startswith(SIGNS) for name in found.code.values()):
        own = set(reached(*vars(sign_conventions).values(), into_records=False).numbers)
        found.numbers = {key: name for key, name in found.numbers.items() if key not in own}
    found.code = {code: name for code, name in found.code.items() if not name.startswith(SIGNS)}
    return found


def sharing(record: Op) -> list[str]:
    """What the reference of an operation has in common with its rules, or with any others."""
    witness = _own(reached(record.reference, record.symbolic, into_records=False))
    own = reached(*rules(record), into_records=True)
    found = _common(witness, own)
    if record.kind == "structural":
        common = (witness.numpy & own.numpy) - PLUMBING - LAPACK.get(record.name, frozenset())
        found += [f"NumPy's `{name}`" for name in sorted(common)]
    return sorted(set(found))


def sharing_of_composite(record: Composite) -> list[str]:
    """What the reference of a composite has in common with its body, or with the rules of any operation."""
    return sorted(set(_common(_own(reached(record.reference, into_records=False)), reached(record.body, into_records=True))))


def _common(witness: Reached, own: Reached) -> list[str]:
    found = [f"`{name}` with its own rules" for code, name in witness.code.items() if code in own.code]
    others = every_rule().code.keys() - own.code.keys()
    found += [f"`{name}` with the rules of others" for code, name in witness.code.items() if code in others]
    found += [f"the number `{name}`" for key, name in witness.numbers.items() if key in own.numbers]
    found += [f"the operation `{name}`, which it calls" for name in witness.records]
    # what is nested goes with what it is nested in
    return [text for text in found if not any(other != text and text.startswith(f"{other.split('` ')[0]}.<locals>.") for other in found)]


def said(record: Op | Composite, shared: list[str]) -> str:
    return f"the reference of {record.name} shares {', '.join(shared)}: write it anew, from the mathematics"


@pytest.mark.parametrize("op", registry().values(), ids=operator.attrgetter("name"))
def test_a_reference_shares_nothing_with_what_it_vouches_for(op: Op) -> None:
    shared = sharing(op)
    assert not shared, said(op, shared)


WIDER = {op.wider.name: op.wider for op in registry().values() if op.wider is not None}
COMPOSITES = {**composites(), **WIDER}  # those of no name of their own, what operations are more widely, included


@pytest.mark.parametrize("composite", COMPOSITES.values(), ids=operator.attrgetter("name"))
def test_the_reference_of_a_composite_shares_nothing_with_its_body(composite: Composite) -> None:
    assert composite.reference is not None, (
        f"{composite.name} has no reference: write its definition a second time, as a function under @of({composite.name!r}) in "
        "gradcli/ops/references, in plain loops over scalars"
    )
    shared = sharing_of_composite(composite)
    assert not shared, said(composite, shared)


def test_every_reference_of_a_composite_has_one() -> None:
    unclaimed = set(written()) - set(COMPOSITES)
    assert not unclaimed, f"no composites are called {', '.join(sorted(unclaimed))}, of which there are references"


# Sharing that is planted, one kind each; `count` is what reductions' rules count entries by.


def _through_a_helper(m: Any, x: Any, axis: Any, keepdims: bool) -> Any:
    return _helper(x, axis)


def _helper(x: Any, axis: Any) -> Any:
    return x.sum(axis=axis) / count(x.shape, axis)


def _through_a_closure(function: Callable[..., Any]) -> Callable[..., Any]:
    return lambda m, x, axis, keepdims: x.sum(axis=axis) / function(x.shape, axis)


def _through_a_module(m: Any, x: Any, axis: Any, keepdims: bool) -> Any:
    return x.sum(axis=axis) / along.count(x.shape, axis)


def _through_a_late_import(m: Any, x: Any, axis: Any, keepdims: bool) -> Any:
    from gradcli.ops.reductions.along import count as entries

    return x.sum(axis=axis) / entries(x.shape, axis)


def _through_a_default(m: Any, x: Any, axis: Any, keepdims: bool, how_many: Any = count) -> Any:
    return x.sum(axis=axis) / how_many(x.shape, axis)


def _through_a_nested_function(m: Any, x: Any, axis: Any, keepdims: bool) -> Any:
    return m.map(lambda v: v / count(x.shape, axis), x.sum(axis=axis))


_TABLE = {"how many": (count,)}


def _through_a_table(m: Any, x: Any, axis: Any, keepdims: bool) -> Any:
    return x.sum(axis=axis) / _TABLE["how many"][0](x.shape, axis)


SHARED = "`ops.reductions.along.count` with its own rules"
PLANTED = [
    _through_a_helper, _through_a_closure(count), _through_a_module, _through_a_late_import, _through_a_default,
    _through_a_nested_function, _through_a_table, functools.partial(_through_a_default, how_many=count),
]  # fmt: skip


@pytest.mark.parametrize("planted", PLANTED, ids=lambda f: getattr(f, "__name__", "partial"))
def test_sharing_is_found(planted: Callable[..., Any]) -> None:
    record = dataclasses.replace(mean, reference=planted)
    assert SHARED in sharing(record)
    assert said(record, [SHARED]) == f"the reference of mean shares {SHARED}: write it anew, from the mathematics"


def test_a_shared_number_is_found() -> None:
    def reference(m: Any, x: Any) -> Any:
        return x * rectifiers._SCALE if x > 0 else m.expm1(x) * rectifiers._SLOPE

    record = dataclasses.replace(selu, reference=reference)
    assert {"the number `_SCALE`", "the number `_SLOPE`"} <= set(sharing(record))


def test_a_reference_that_calls_operations_is_found() -> None:
    def reference(m: Any, x: Any, **_: Any) -> Any:
        return sum_(x)

    assert "the operation `sum`, which it calls" in sharing(dataclasses.replace(mean, reference=reference))


def test_a_function_of_numpy_on_both_sides_is_found() -> None:
    def reference(m: Any, x: Any, axis: Any) -> Any:
        return np.cumsum(x, axis=axis)

    assert sharing(dataclasses.replace(cumsum, reference=reference)) == ["NumPy's `cumsum`"]


def test_the_code_of_a_closure_is_found() -> None:
    """A function that another one makes, in both places."""
    found = sharing(dataclasses.replace(argmax, reference=argmax.forward))
    assert "`ops.reductions.selection._first.<locals>.run` with its own rules" in found
    assert any(text.endswith(".one_axis` with its own rules") for text in found)
    assert not any("genexpr" in text for text in found), "parts of what is shared as a whole"


def test_the_code_of_another_operation_is_found() -> None:
    assert "with the rules of others" in str(sharing(dataclasses.replace(sum_, reference=selu.forward)))


# What a body makes of numbers, and what the reference of its composite makes of them.

# Bodies compute with constants and parameters as floats (1/sqrt(d), log(2*pi), 1 - eps, weights of neighbours), the references exactly.
ROUNDED = frozenset(
    {"affine_grid", "cross_entropy", "gaussian_nll_loss", "interpolate", "local_response_norm", "logmeanexp", "lp_pool1d",
     "lp_pool2d", "lp_pool3d", "multi_head_attention_forward", "mvlgamma", "pad", "poisson_nll_loss", "rrelu",
     "scaled_dot_product_attention", "skew", "std", "torch_logit"}
)  # fmt: skip
DIGITS, OF_FLOATS = 30, 13


@cache
def calls_by_name() -> dict[str, list[tuple[str, Call]]]:
    """Every call of a composite, by its name, with the program that makes it."""
    found: dict[str, list[tuple[str, Call]]] = {}
    with mpmath.workdps(50):
        for text, values in [*((case.text, case.values) for case in CASES), *TEXTS]:
            for call in calls(text, values):
                found.setdefault(call.composite.name, []).append((text, call))
    return found


@pytest.mark.parametrize("name", COMPOSITES)
def test_a_body_is_what_its_reference_says(name: str) -> None:
    made = calls_by_name().get(name)
    assert made, f"no program calls {name}: add one to tests/data/witness_programs.txt, with each of its modes"
    digits = OF_FLOATS if name in ROUNDED else DIGITS
    for text, call in made:
        assert call.composite.reference is not None
        with mpmath.workdps(50):
            found = call.composite.reference(Numbers(mpmath.mp), *call.operands, **call.static)
            why = difference(found, call.result, digits)
        assert why is None, f"{name} in {text}: {why}"


# Where no derivative is compared: of medians beside NaN there is none to compare, and logaddexp, of which the body of ctc_loss is made, has
# none on the tape at -1e30, -1e30.
WITHOUT_SLOPES = {"np.quantile(x, 0.5, axis=0)", "torch.median(x)", "F.ctc_loss(log_softmax(x, axis=-1), [1, 1], 4, 2, reduction='none')"}


@cache
def slopes_that_differ() -> dict[str, list[str]]:
    """By composite, where the derivatives of body and reference differ, in words."""
    found: dict[str, list[str]] = {}
    with mpmath.workdps(50):
        for text, values in [*((case.text, case.values) for case in CASES), *TEXTS]:
            for composite, by_reference, by_body in slopes(text, values) if text not in WITHOUT_SLOPES else ():
                digits = OF_FLOATS if composite.name in ROUNDED else DIGITS
                why = difference(by_reference, by_body, digits)
                found.setdefault(composite.name, []).extend([] if why is None else [f"{composite.name} in {text}: {why}"])
    return found


@pytest.mark.parametrize("name", COMPOSITES)
def test_the_derivative_of_a_body_is_that_of_its_reference(name: str) -> None:
    """On the judge's tape: a reference takes scalars of any kind."""
    wrong = slopes_that_differ()[name]
    assert not wrong, wrong[0]


def test_what_is_rounded_is() -> None:
    """Bodies without floats of their own are held to all digits."""
    exact = set()
    for name in ROUNDED:
        with mpmath.workdps(50):
            pairs = [(call.composite.reference, call) for _, call in calls_by_name()[name]]
            found = [difference(of(Numbers(mpmath.mp), *c.operands, **c.static), c.result, DIGITS) for of, c in pairs if of is not None]
        if not any(found):
            exact.add(name)
    assert not exact, f"{', '.join(sorted(exact))} agree to {DIGITS} digits: take them off the list"


@pytest.mark.parametrize(
    ("found", "wanted", "why"),
    [
        (mpmath.mpf(1), mpmath.mp.make_mpf((0, 2**90 + 1, -90, 91)), "1.0 by the reference, 1.0 by the body, at ()"),
        (np.array([1, 2]), np.array([[1, 2]]), "shape (2,) by the reference, (1, 2) by the body"),
        ((1, 2), (1, 2, 3), "2 results by the reference, 3 results by the body"),
        (mpmath.nan, mpmath.mpf(2), "nan by the reference, 2.0 by the body, at ()"),
        (None, mpmath.mpf(2), "None by the reference, 2.0 by the body"),
        (np.array([mpmath.nan, mpmath.inf, 0]), np.array([mpmath.nan, mpmath.inf, 0]), None),
    ],
)  # fmt: skip
def test_differences_are_seen(found: Any, wanted: Any, why: str | None) -> None:
    with mpmath.workdps(50):
        assert difference(found, wanted, DIGITS) == why


def test_a_wrong_body_is_found() -> None:
    """The mean of squares times 1 + 1e-20, in the place of mse_loss."""
    with mpmath.workdps(50):
        ((_, call), *_) = calls_by_name()["mse_loss"]
        assert call.composite.reference is not None
        found = call.composite.reference(Numbers(mpmath.mp), *call.operands, **call.static)
        assert difference(found, call.result, DIGITS) is None
        assert difference(found, call.result * (1 + mpmath.mpf(10) ** -20), DIGITS) is not None
