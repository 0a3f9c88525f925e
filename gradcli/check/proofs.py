"""What algebra says of a formula that is claimed: asked once for each function, however many points it is held to it at."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from gradcli.check.judge import Judge
from gradcli.graph.nodes import Expr
from gradcli.graph.transforms import Derivation, definition_order
from gradcli.ops.arrays.shapes import StaticArray
from gradcli.reference.contexts import has_flint
from gradcli.reference.fields.identity import Decision

# -- What somebody says that a value or a gradient is, as it was given -----------------------------


@dataclass(frozen=True, eq=False)
class Given:
    """A claim as it was given: of a name, or of the "value"; a formula as a node, or numbers."""

    of: str
    formula: Expr | None = None
    numbers: Any = None  # an array
    rtol: float | None = None
    atol: float = 0.0
    room: Any = None  # of numbers: how far off each may be, by what the precision explains that they were computed in
    precision: str | None = None  # of numbers, if it is not that of the result
    around: int | None = 0  # of a formula: which points around the bound values it is tried at, too; None for none

    @property
    def kind(self) -> str:
        return "value" if self.of == "value" else "formula" if self.formula is not None else "numbers"

    @property
    def about(self) -> str:
        return "value" if self.of == "value" else "derivative"


_REMEMBERED = 512
_decisions: dict[Hashable, Decision] = {}


def decision(judge: Judge, claim: Given) -> Decision:
    """Return whether a formula is what it is claimed to be for all values for which both have one; open without FLINT."""
    from gradcli.reference.fields.identity import Question, decide, entries_alike

    assert claim.formula is not None
    leaves = judge.every_leaf(claim.formula)
    by_leaf = judge.seed_leaf is not None and judge.seed_leaf in leaves
    wrt = None if claim.of == "value" else judge.wrt[claim.of]
    question = Question(judge.root, wrt, claim.formula, judge.seed_leaf if by_leaf else judge.seed, leaves, judge.precision)
    if not has_flint():
        return Decision.OPEN
    alike = entries_alike(question)
    key = _structure(question, alike)
    if key not in _decisions:
        if len(_decisions) >= _REMEMBERED:
            _decisions.clear()
        _decisions[key] = decide(question)
    return _decisions[key]


def _structure(question: Any, alike: bool) -> Hashable:
    """Return what the decision depends on: the function and the formula, without the values of names."""
    order = definition_order(question.root, [question.formula, *([] if question.wrt is None else [question.wrt])])
    places = {node: i for i, node in enumerate(order)}
    lines = tuple(_line(node, places, question.leaves, alike) for node in order)
    seed: Any = question.seed
    if not isinstance(seed, Expr):
        weights = np.asarray(seed, float)
        seed = (weights.tobytes()[: weights.itemsize] if alike else weights.tobytes(), () if alike else weights.shape)
    wrt = None if question.wrt is None else places[question.wrt]
    return (
        lines,
        places[question.root],
        places[question.formula],
        wrt,
        places.get(seed, -1) if isinstance(seed, Expr) else seed,
        question.precision,
        alike,
    )


def _line(node: Expr, places: Mapping[Expr, int], values: Mapping[Expr, Any], alike: bool) -> Hashable:
    """One node: an operation of which operands, a leaf, or a number."""
    if node.op is not None:
        static = tuple((name, _plain(value, places)) for name, value in sorted(node.static.items()))
        return node.op.name, tuple(-1 if o is None else places.get(o, -1) for o in node.operands), static
    if node.is_leaf and node.kind == "float":
        return "leaf", () if alike else node.shape
    value = values[node] if node.is_leaf else node.payload
    array = np.asarray(value)
    return type(value).__name__, repr(value) if array.dtype == object or not array.ndim else (array.dtype.str, array.shape, array.tobytes())


def _plain(value: Any, places: Mapping[Expr, int]) -> Hashable:
    if isinstance(value, StaticArray):
        return value.key
    if isinstance(value, Derivation):
        return value.kind, places[value.y], places[value.x], -1 if value.vector is None else places[value.vector]
    if isinstance(value, Sequence) and not isinstance(value, str):
        return tuple(_plain(part, places) for part in value)
    return repr(value)
