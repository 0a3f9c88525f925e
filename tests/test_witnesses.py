"""Two witnesses for everything: what a reference is made of, and what the function it vouches for is made of, have nothing in common."""

from __future__ import annotations

import operator
from functools import cache
from typing import Any

import pytest
from call_graph import Reached, reached

from gradcli.ops.registry import composites, registry
from gradcli.ops.spec import Composite, Op

# Which of two opposite vectors LAPACK returns is no mathematics: only the algorithm, run once more, can tell. It decides signs alone.
SIGNS = "ops.linalg.sign_conventions."
# NumPy's functions that make arrays and say what shape they have: they know nothing of what an operation is.
PLUMBING = frozenset(
    {"arange", "array", "asarray", "broadcast_shapes", "broadcast_to", "column_stack", "empty", "finfo", "isfinite", "ndim", "ndindex", "shape",
     "size", "where"}
)  # fmt: skip
# LAPACK's own results, of which a reference reads signs, bases and ranks, and no number.
LAPACK = {"qr": {"qr"}, "complement": {"qr"}, "pinv": {"svd"}, "eigh": {"eigh"}, "svd": {"svd", "qr"}}


def rules(op: Op) -> list[Any]:
    wider = [] if op.wider is None else [op.wider.body]
    return [op.forward, op.on_scalars, op.vjp, op.shape, *(op.partials or ()), *wider]


@cache
def every_rule() -> Reached:
    """What all operations are computed and differentiated by, and the bodies of all composites."""
    bodies = [c.body for c in composites().values()]
    return reached(*(rule for op in registry().values() for rule in rules(op)), *bodies, into_records=True)


def _own(found: Reached) -> Reached:
    """Without what is allowed to be shared."""
    found.code = {code: name for code, name in found.code.items() if not name.startswith(SIGNS)}
    return found


def sharing(record: Op) -> list[str]:
    """What the reference of an operation has in common with its rules, or with any others."""
    witness = _own(reached(record.reference, record.symbolic, into_records=False))
    own = reached(*rules(record), into_records=True)
    found = [f"`{name}` with its own rules" for code, name in witness.code.items() if code in own.code]
    found += [
        f"`{name}` with the rules of others" for code, name in witness.code.items() if code in every_rule().code and code not in own.code
    ]
    found += [
        f"the number `{name}`"
        for key, name in witness.numbers.items()
        if key in own.numbers and not any(SIGNS in n for n in own.code.values())
    ]
    found += [f"the operation `{name}`, which it calls" for name in witness.records]
    if record.kind == "structural":
        common = (witness.numpy & own.numpy) - PLUMBING - LAPACK.get(record.name, set())
        signs = (
            {"argsort", "diagonal", "swapaxes", "tril", "triu", "where", "concatenate", "zeros"}
            if record.name in ("eigh", "svd")
            else set()
        )
        found += [f"NumPy's `{name}`" for name in sorted(common - signs)]
    return sorted(set(found))


def said(record: Op | Composite, shared: list[str]) -> str:
    return f"the reference of {record.name} shares {', '.join(shared)}: write it anew, from the mathematics"


@pytest.mark.parametrize("op", registry().values(), ids=operator.attrgetter("name"))
def test_a_reference_shares_nothing_with_what_it_vouches_for(op: Op) -> None:
    shared = sharing(op)
    assert not shared, said(op, shared)
