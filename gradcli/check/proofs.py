"""What algebra says of a formula that is claimed: asked once for each function, however many points it is held to it at."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any

import numpy as np

from gradcli.check.judge import Judge
from gradcli.check.verdict_cache import content, line
from gradcli.graph.nodes import Expr
from gradcli.graph.transforms import definition_order
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
    places: dict[Any, int] = {node: i for i, node in enumerate(order)}

    def structure(node: Expr) -> Hashable:
        if node.is_leaf and node.kind == "float":
            return "leaf", () if alike else node.shape
        return line(node, places, question.leaves)

    seed = question.seed
    if isinstance(seed, Expr):
        weights: Hashable = places.get(seed, -1)
    else:
        numbers = np.asarray(seed, float)
        weights = content(numbers.ravel()[:1] if alike else numbers)
    asked = places[question.root], places[question.formula], places.get(question.wrt)
    return tuple(map(structure, order)), asked, weights, question.precision, alike
