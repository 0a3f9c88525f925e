"""A reference has no code in common with the forward pass and the rules that it vouches for."""

from __future__ import annotations

import dataclasses
import functools
import operator
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import pytest
from call_graph import Reached, reached

from gradcli.ops.carrying import count
from gradcli.ops.linalg.spectra import svd
from gradcli.ops.reductions.cumulative import cumsum
from gradcli.ops.reductions.sums import mean, sum_
from gradcli.ops.registry import composites, registry
from gradcli.ops.spec import Op
from gradcli.ops.special import incomplete
from gradcli.ops.special.incomplete import log_ndtr

# NumPy's functions that make arrays and say what shape they have: they know nothing of what an
# operation is.
PLUMBING = frozenset(
    {"arange", "array", "asarray", "broadcast_shapes", "broadcast_to", "column_stack", "empty", "finfo", "isfinite", "ndim", "ndindex",
     "shape", "size", "where"}
)  # fmt: skip
# LAPACK's own results, of which a reference reads signs, bases and ranks, and no number.
LAPACK: dict[str, frozenset[str]] = {
    "qr_of_columns": frozenset({"qr"}), "pinv": frozenset({"svd"}), "eigh": frozenset({"eigh"}),
    "svd": frozenset({"svd"}),
}  # fmt: skip


def rules(op: Op) -> list[Any]:
    return [op.forward, op.operator, op.vjp, op.shape, *(op.partials or ())]


@cache
def every_rule() -> Reached:
    """What all operations are computed and differentiated by, and the bodies of all composites."""
    bodies = [c.definition for c in composites().values()]
    return reached(
        *(rule for op in registry().values() for rule in rules(op)), *bodies, into_records=True
    )


def sharing(record: Op) -> list[str]:
    """What the reference of an operation has in common with its rules, or with any others."""
    witness = reached(record.reference, record.symbolic, into_records=False)
    own = reached(*rules(record), into_records=True)
    found = _common(witness, own)
    if record.kind == "structural":
        common = (witness.numpy & own.numpy) - PLUMBING - LAPACK.get(record.name, frozenset())
        found += [f"NumPy's `{name}`" for name in sorted(common)]
    return sorted(set(found))


def _common(witness: Reached, own: Reached) -> list[str]:
    found = [
        f"`{name}` with its own rules" for code, name in witness.code.items() if code in own.code
    ]
    others = every_rule().code.keys() - own.code.keys()
    found += [
        f"`{name}` with the rules of others"
        for code, name in witness.code.items()
        if code in others
    ]
    found += [f"the number `{name}`" for key, name in witness.numbers.items() if key in own.numbers]
    found += [f"the operation `{name}`, which it calls" for name in witness.records]
    # what is nested goes with what it is nested in
    return [
        text
        for text in found
        if not any(
            other != text and text.startswith(f"{other.split('` ')[0]}.<locals>.")
            for other in found
        )
    ]


def said(record: Op, shared: list[str]) -> str:
    return (
        f"the reference of {record.name} shares {', '.join(shared)}: write it anew, from the "
        "mathematics"
    )


# The reference of the others is their definition, which is made of operations.
PRIMITIVES = [op for op in registry().values() if not isinstance(op.reference, functools.partial)]


@pytest.mark.parametrize("op", PRIMITIVES, ids=operator.attrgetter("name"))
def test_a_reference_shares_nothing_with_what_it_vouches_for(op: Op) -> None:
    shared = sharing(op)
    assert not shared, said(op, shared)


# Sharing that is planted, one kind each; `count` is what reductions' rules count entries by.


def _through_a_helper(m: Any, x: Any, axis: Any, keepdims: bool) -> Any:
    return _helper(x, axis)


def _helper(x: Any, axis: Any) -> Any:
    return x.sum(axis=axis) / count(x.shape, axis)


def _through_a_closure(function: Callable[..., Any]) -> Callable[..., Any]:
    return lambda m, x, axis, keepdims: x.sum(axis=axis) / function(x.shape, axis)


def _through_a_late_import(m: Any, x: Any, axis: Any, keepdims: bool) -> Any:
    from gradcli.ops.carrying import count as entries

    return x.sum(axis=axis) / entries(x.shape, axis)


def _through_a_nested_function(m: Any, x: Any, axis: Any, keepdims: bool) -> Any:
    return m.map(lambda v: v / count(x.shape, axis), x.sum(axis=axis))


_TABLE = {"how many": (count,)}


def _through_a_table(m: Any, x: Any, axis: Any, keepdims: bool) -> Any:
    return x.sum(axis=axis) / _TABLE["how many"][0](x.shape, axis)


SHARED = "`ops.carrying.count` with its own rules"
PLANTED = [
    _through_a_helper, _through_a_closure(count), _through_a_late_import, _through_a_nested_function, _through_a_table,
    functools.partial(_through_a_table),
]  # fmt: skip


@pytest.mark.parametrize("planted", PLANTED, ids=lambda f: getattr(f, "__name__", "partial"))
def test_sharing_is_found(planted: Callable[..., Any]) -> None:
    record = dataclasses.replace(mean, reference=planted)
    assert SHARED in sharing(record)
    assert (
        said(record, [SHARED])
        == f"the reference of mean shares {SHARED}: write it anew, from the mathematics"
    )


def test_a_shared_number_is_found() -> None:
    def reference(m: Any, x: Any) -> Any:
        return (
            m.log(m.erfc(-x / incomplete.SQRT_2))
            if x > 0
            else -x * x / 2 - m.log(-x * incomplete.SQRT_TWO_PI)
        )

    record = dataclasses.replace(log_ndtr, reference=reference)
    assert {"the number `SQRT_2`", "the number `SQRT_TWO_PI`"} <= set(sharing(record))


def test_a_reference_that_calls_operations_is_found() -> None:
    def reference(m: Any, x: Any, **_: Any) -> Any:
        return sum_(x)

    assert "the operation `sum`, which it calls" in sharing(
        dataclasses.replace(mean, reference=reference)
    )


def test_a_function_of_numpy_on_both_sides_is_found() -> None:
    def reference(m: Any, x: Any, axis: Any) -> Any:
        return np.cumsum(x, axis=axis)

    assert sharing(dataclasses.replace(cumsum, reference=reference)) == ["NumPy's `cumsum`"]


def test_the_code_of_a_closure_is_found() -> None:
    """A function that another one makes, in both places."""
    found = sharing(dataclasses.replace(svd, reference=svd.forward))
    assert "`ops.linalg.spectra._in_double.<locals>.run` with its own rules" in found
    assert any(text.endswith(".need_finite` with its own rules") for text in found)
    assert not any("genexpr" in text for text in found), "parts of what is shared as a whole"
