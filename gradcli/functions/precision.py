"""Gradients by code of few bits: how far its rounding explains them to be off, propagated through
the traced function.

The arguments are taken as they are, exactly; the derivative there is exact; and what the code may
be off by is computed, not chosen: the roundings of every step of function and gradient in the
code's precision (stochastic.py).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from gradcli.check.rounding import roots_each_way
from gradcli.functions.arguments import Subject, as_given, leaves_of, rebuilt
from gradcli.functions.stochastic import Format, Reach, reaches, spreads
from gradcli.graph.nodes import Expr
from gradcli.report.verdicts import Claim, Verdict
from gradcli.tensors.core import dtypes


def format_of(kind: np.dtype[Any]) -> Format:
    """The format of a dtype of floats."""
    limits = dtypes.limits(kind)
    return Format(
        dtypes.of_numpy(kind).name,
        float(limits.eps) / 2,
        float(limits.smallest_normal),
        float(limits.max),
    )


_SINGLE, _DOUBLE = format_of(np.dtype(np.float32)), format_of(np.dtype(np.float64))
_FLOAT32 = replace(
    _DOUBLE, name="float32", unit=_SINGLE.unit
)  # what is small, or large, is so in float64
_BOUNDED = {"bfloat16": "float16"}  # of the formats that NumPy has no type for
_FLOAT32_ALONE = {np.dtype(np.float32)}
_WIDE = 0.5  # of the gradient's length: a claim within more may be anything


class Room(NamedTuple):
    """Distance by which rounding in a format explains each entry of a gradient to be off, and the
    right gradient.
    """

    kind: Format
    reach: Reach
    right: Mapping[str, np.ndarray]

    def judge(self, claim: Claim) -> None:
        """Make of the verdict on a claim what can be known, and say what rounding explains.

        Where terms cancel, rounding is held against them: a claim as near to the sum as their
        rounding is right.
        """
        room, terms = self.reach.rooms[claim.of], self.reach.terms[claim.of]
        right = np.abs(self.right[claim.of])
        share, of_terms = _share(room, right), _share(room, np.maximum(terms, right))
        told = f"rounding in {self.kind.name} explains {_percent(share)} of it"
        if share > _WIDE >= of_terms:
            told = (
                f"its terms cancel: rounding in {self.kind.name} explains {_percent(of_terms)} "
                "of them"
            )
        if claim.verdict is Verdict.MISMATCH and self.reach.overflows:
            claim.verdict = Verdict.UNDETERMINED
            told = (
                f"more than {self.kind.largest:.6g} is met on the way, which {self.kind.name} "
                "does not hold"
            )
        elif claim.verdict is Verdict.AGREE and of_terms > _WIDE:
            claim.verdict = Verdict.UNDETERMINED
            told = f"{told}: nothing can be told"
        claim.reason = told if claim.reason is None else f"{claim.reason}; {told}"


def room_of(
    root: Expr, wrt: Mapping[str, Expr], leaves: Mapping[Expr, Any], right: Mapping[str, np.ndarray], kind: Format,
    kinds: Mapping[Expr, set[np.dtype[Any]]],
) -> Room:  # fmt: skip
    """Room that rounding explains of the gradients of a traced number, which are right without it.

    Where rounding decides a branch, that is what it explains on one way or another.
    kinds  the dtypes of the nodes of the trace, in which a framework computes them; a gradient of
           somebody's may use fewer bits
    """
    own = not kind.accumulates and kind.unit > _SINGLE.unit
    formats = {node: _SINGLE for node, met in kinds.items() if own and met == _FLOAT32_ALONE}
    ways = [
        reaches(way, wrt, leaves, kind, formats)
        for way in roots_each_way(root, leaves, bounded_in(kind.name))
    ]
    rooms = {name: np.maximum.reduce([way.rooms[name] for way in ways]) for name in wrt}
    terms = {name: np.maximum.reduce([way.terms[name] for way in ways]) for name in wrt}
    return Room(kind, Reach(rooms, terms, any(way.overflows for way in ways)), right)


def bounded_in(kind: str) -> str:
    """Return the dtype of NumPy's in which errors are bounded of what is computed in a format."""
    return _BOUNDED.get(kind, kind)


def room_at_zeros(
    root: Expr, wrt: Mapping[str, Expr], leaves: Mapping[Expr, Any], right: Mapping[str, np.ndarray]
) -> dict[str, np.ndarray]:
    """Return how far claims in float64 may be off where terms cancel: as far as their roundings go.

    Where a derivative is no larger than that, as at a stationary point, its formula says something
    that is no larger, either; other entries get no room. To first order roundings are proportional
    to those of float32, which are propagated.
    """
    room = reaches(root, wrt, leaves, _FLOAT32).rooms
    rounding = {name: room[name] * (_DOUBLE.unit / _SINGLE.unit) for name in wrt}
    return {
        name: np.where(np.abs(right[name]) <= there, there, 0.0) for name, there in rounding.items()
    }


def rounding_of(results: Sequence[Expr], leaves: Mapping[Expr, Any], epsilon: float) -> list[Any]:
    """Return how far rounding takes results of operations between numbers with this distance, which
    may cancel.

    To first order it is proportional to that of float32, which is propagated.
    """
    return [far * (epsilon / (2 * _SINGLE.unit)) for far in spreads(results, leaves, _FLOAT32)]


def epsilon_of(kind: np.dtype[Any]) -> float:
    """The distance from 1 to the next number of a dtype of floats; that of whole numbers and truths
    is none.
    """
    return float(dtypes.limits(kind).eps) if kind.kind in dtypes.FLOATS else 0.0


def precision_of(
    subject: Subject, claims: Iterable[np.ndarray], inside: Iterable[np.dtype[Any]], by: str | None
) -> Format | None:
    """The format with the fewest digits among those of arguments, results, claims and of what the
    function computes; None for float64.

    And whether sums of 16 bits round their partial sums to these: what people write may, frameworks
    add up in float32.
    """
    kinds = {x.dtype for x in (*subject.floats.values(), *subject.value, *claims)} | set(inside)
    narrow = [kind for kind in kinds if kind.kind in dtypes.FLOATS and kind.itemsize < 8]
    if not narrow:
        return None
    return replace(
        max(map(format_of, narrow), key=lambda found: found.unit), accumulates=by is None
    )


def widen(subject: Subject) -> Subject:
    """The same function at the same arguments in float64, which all floats of fewer bits are among;
    itself if it is in float64.
    """
    if all(x.dtype.itemsize == 8 for x in subject.floats.values()):
        return subject
    wide = {
        leaf.name: leaf.numbers.astype(np.float64)
        for name, value in subject.arguments.items()
        for leaf in leaves_of(name, value)
    }
    return replace(
        subject,
        arguments={
            name: rebuilt(name, value, wide, as_given) for name, value in subject.arguments.items()
        },
    )


def _share(room: np.ndarray, size: np.ndarray) -> float:
    return _length(room) / _length(size) if np.any(size) else 0.0 if not np.any(room) else np.inf


def _length(x: np.ndarray) -> float:
    return float(np.linalg.norm(np.ravel(x).astype(np.float64)))


def _percent(share: float) -> str:
    return "any part" if not np.isfinite(share) else f"{100 * share:.2g} %"
