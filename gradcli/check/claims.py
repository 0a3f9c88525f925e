"""Claims that are numbers, held to the reference entry by entry.

The tolerance is widened by what rounding explains. On kinks a convention may say which number is
right. Wrong numbers are diagnosed where the pattern is plain.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple, cast

import numpy as np

from gradcli.check.comparison import Comparison, index_of
from gradcli.check.judge import Judge
from gradcli.check.verdicts import Claim, Verdict, Worst
from gradcli.graph import transforms
from gradcli.graph.nodes import Expr, Rebuilding, definition_order, interpret
from gradcli.ops.spec import Op
from gradcli.reference.kinks import Place


@dataclass(frozen=True, eq=False)
class Given:
    """A claim as it was given: of a name, or of the "value"; a formula as a node, or numbers."""

    of: str
    formula: Expr | None = None
    numbers: Any = None  # an array
    rtol: float | None = None
    atol: float = 0.0
    # Of numbers: how far off each may be because of the precision that they were computed in.
    room: Any = None
    precision: str | None = None  # of numbers, if it is not the result's
    # Of a formula: random state of the points around at which it is tried; None: no points.
    around: int | None = 0

    @property
    def kind(self) -> str:
        return (
            "value" if self.of == "value" else "formula" if self.formula is not None else "numbers"
        )

    @property
    def about(self) -> str:
        return "value" if self.of == "value" else "derivative"

    @property
    def tolerance(self) -> float:
        """How far numbers may be off, relative to the truth."""
        usual = RTOL.get(str(np.asarray(self.numbers).dtype), 1e-6)
        return usual if self.rtol is None else self.rtol

    @property
    def rooms(self) -> Any:
        """The room of each entry, in their order."""
        return 0.0 if self.room is None else np.ravel(self.room)


RTOL = {"float64": 1e-6, "float32": 1e-3, "float16": 1e-2, "bfloat16": 1e-1}
_LUCK, _EPSILON = (
    1_000.0,
    2.0**-52,
)  # factor on the engine's rounding error, or on epsilon times the largest entry

# Relative tolerance for recognizing another derivative in numbers whose own tolerance is given
# entry by entry.
_RIGHT = 1e-4
_SHARE = 4  # a claim may use this fraction (1/4) of the rounding bound


def show_no_rounding(judge: Judge, given: Sequence[Given]) -> bool:
    """Return whether claimed numbers show that nothing about them is rounding.

    That is so where they are right to the last digit although rounding would show. It is also so
    where they are a plain multiple of the truth, as with a wrong sign, unless rounding has made the
    engine's number that multiple, too.
    """
    right = wrong = 0
    for claim in given:
        if (
            claim.numbers is None
            or claim.of == "value"
            or np.asarray(claim.numbers).dtype != np.float64
        ):
            continue
        truth, said = judge.comparison(claim.of), np.ravel(claim.numbers)
        if said.size != len(truth.reference):
            continue
        exact = truth.truth.ravel()
        with np.errstate(all="ignore"):
            shows = np.isfinite(exact) & (np.divide(truth.bounds, _SHARE) > 1e-12 * np.abs(exact))
            shows &= (said != exact) | (
                exact != 0
            )  # a zero has no digits in which rounding could show
            multiples = [
                np.abs(said - k * exact) <= 4 * np.spacing(np.abs(k * exact))
                for k in (1, -1, 2, 0.5)
            ]
        exactly = multiples[0] | ((said != truth.computed) & np.any(multiples, axis=0))
        right, wrong = right + np.sum(exactly & shows), wrong + np.sum(shows & ~exactly)
    return bool(right > 0 and right >= wrong)


def decide_numbers(
    judge: Judge, claim: Given, numbers: np.ndarray, exact: bool, conventions: Conventions | None
) -> Claim:
    """Return the verdict on numbers that are claimed.

    exact  whether nothing about them is rounding
    """
    truth, rtol = judge.comparison(claim.of), claim.tolerance
    said = [float(v) for v in numbers.ravel()]
    true, branches = truth.truth.ravel(), None
    with np.errstate(all="ignore"):
        off = np.abs(np.subtract(said, true))
        right = off <= rtol * np.abs(true) + claim.atol + claim.rooms
    if not np.all(right | ~np.isfinite(true)):
        branches = judge.branches(claim.precision or judge.precision)
    place = judge.names.index(claim.of)
    bounds, ways = (
        (truth.bounds, [truth.computed])
        if branches is None
        else (branches.bounds[place], branches.results[place])
    )
    allowed = 0.0 if exact and branches is None else _allowances(truth, bounds, ways)
    rooms = np.broadcast_to(np.maximum(allowed, claim.rooms), len(said)).tolist()
    entries = [
        decide_entry(conventions, claim, truth, i, v, rtol, room)
        for i, (v, room) in enumerate(zip(said, rooms, strict=True))
    ]
    if branches is not None and branches.differ(
        place
    ):  # a number that looks wrong may be right on another branch
        for i, entry in enumerate(entries):
            fits = (
                abs(said[i] - way[i]) <= rtol * abs(way[i]) + claim.atol + rooms[i] for way in ways
            )
            if entry.verdict is Verdict.MISMATCH and any(fits):
                entries[i] = Held(Verdict.ILL_CONDITIONED, branches.text)
    result, wrong, worst = join_entries(claim, truth, entries, said)
    if worst is not None:
        result.wrong = len(wrong), len(said)
        if result.verdict is Verdict.MISMATCH:
            result.reason = entries[worst].reason or _diagnosis(
                judge, claim, np.asarray(said).reshape(truth.shape), truth, rtol or _RIGHT
            )
    return result


def join_entries(
    claim: Given, truth: Comparison, entries: Sequence[Held], said: Any
) -> tuple[Claim, list[int], int | None]:
    """Combine the verdicts on all entries into one.

    Return it as a claim, with the entries that have this verdict, and with the worst of these where
    they are wrong or undefined.
    """
    verdict = max((entry.verdict for entry in entries), default=Verdict.AGREE)
    result = Claim(claim.of, claim.kind, verdict)
    places = [i for i, entry in enumerate(entries) if entry.verdict is verdict]
    if verdict not in (Verdict.MISMATCH, Verdict.UNDEFINED):
        if verdict is not Verdict.AGREE:
            result.reason = next((entry.reason for entry in entries if entry.reason), None)
        return result, places, None
    right = [
        float(r) if entry.right is None else entry.right
        for entry, r in zip(entries, truth.truth.ravel(), strict=True)
    ]
    worst = max(places, key=lambda i: relative_error(float(said[i]), right[i]))
    result.worst = Worst(index_of(worst, truth.shape), float(said[worst]), right[worst])
    return result, places, worst


def relative_error(said: float, truth: float) -> float:
    if not math.isfinite(said) or not math.isfinite(truth):
        return math.inf
    return abs(said - truth) / (abs(truth) or 1e-300)


def _allowances(truth: Comparison, bounds: Any, found: Any) -> np.ndarray:
    """Return how much error rounding explains in each entry of a claim.

    A claim may have suffered the same rounding as the engine. It is allowed a share of the bound,
    but no more than luck explains.

    found  what the engine has found, on each way that it may take
    """
    with np.errstate(all="ignore"):
        suffered = np.min(np.abs(np.subtract(found, truth.truth.ravel())), axis=0)
    luck = _LUCK * np.maximum(np.fmin(suffered, np.inf), _EPSILON * truth.largest)
    return np.where(np.isfinite(bounds), np.minimum(np.divide(bounds, _SHARE), luck), 0.0)


def decide_entry(
    conventions: Conventions | None,
    claim: Given,
    truth: Comparison,
    i: int,
    said: Any,
    rtol: Any,
    room: Any,
) -> Held:
    """Return the verdict on a number that is claimed for an entry."""
    m, reference, sides = truth.m, truth.reference[i], truth.sides.get(i)
    room = claim.atol + room
    if sides is not None and sides.limit is None and sides.is_known:
        low, high = map(float, sides.range)
        room += rtol * max((abs(v) for v in (low, high) if math.isfinite(v)), default=0.0)
        decided = (
            None if conventions is None else conventions.decide(claim.of, truth, i, said, room)
        )
        if decided is not None:
            return decided
        if not low - room <= said <= high + room:
            return Held(
                Verdict.MISMATCH,
                f"not between the derivatives from both sides, {low:g} and {high:g}",
                math.nan,
            )
        return Held(
            Verdict.KINK,
            f"what JAX chooses at {conventions.unmeasured} is not known"
            if conventions is not None
            else None,
        )
    if not m.isfinite(reference):
        return Held(Verdict.UNDEFINED)
    if not m.isfinite(said):
        return Held(Verdict.AGREE if said == float(reference) else Verdict.MISMATCH)
    # A difference that the claim's own digits cannot show does not count.
    fine = said == float(reference) or abs(m.mpf(said) - reference) <= rtol * abs(reference) + room
    return Held(Verdict.AGREE if fine else Verdict.MISMATCH)


def _diagnosis(
    judge: Judge, claim: Given, said: np.ndarray, truth: Comparison, rtol: float
) -> str | None:
    """Return what kind of mistake wrong numbers are, where the pattern is plain."""
    right = truth.truth

    def close(x: Any, y: Any) -> bool:
        return bool(np.allclose(x, y, rtol=10 * rtol, atol=0.0))

    if said.ndim == 2 and said.shape[0] == said.shape[1] > 1 and close(said, right.T):
        return "it is transposed"
    with np.errstate(all="ignore"):
        ratios = (said / right)[right != 0]
    factor = ratios.size and (said[right == 0] == 0).all() and close(ratios, ratios[0])
    words = _factor(float(ratios[0]), judge, claim.about) if factor else None
    if words:
        return words
    for (name, x), other in zip(judge.wrt.items(), judge.comparisons[1:], strict=True):
        if (
            name != claim.of
            and x.shape == said.shape
            and close(said, other.truth)
            and not close(other.truth, right)
        ):
            return f"it is the derivative by {name}: the names are swapped"
    return None


def _factor(ratio: float, judge: Judge, about: str) -> str | None:
    sizes = {n for leaf in judge.leaves for n in (leaf.size, *leaf.shape)} | {judge.root.size}
    factors = {
        -1.0: "the sign is wrong",
        2.0: f"it is twice the {about}",
        0.5: f"it is half the {about}",
    }
    for n in sorted(sizes - {0, 1}):
        factors.setdefault(n, f"it is {n} times the {about}: a factor 1/{n} is missing")
        factors.setdefault(1 / n, f"it is the {about} divided by {n}")
    found = next(
        (words for factor, words in factors.items() if math.isclose(ratio, factor, rel_tol=1e-4)),
        None,
    )
    if (
        found is not None
        or not ratio
        or not math.isfinite(ratio)
        or math.isclose(ratio, 1.0, rel_tol=1e-3)
    ):
        return found
    return f"it is {ratio:.6g} times the {about}"


# -- The value chosen where the derivatives from both sides differ: PyTorch's, JAX's, or the one of
# least norm.


TORCH, JAX, LEAST = "torch", "jax", "min-norm"
_TITLES = {TORCH: "PyTorch", JAX: "JAX", LEAST: "the least norm"}


class Held(NamedTuple):
    """Verdict on one claimed entry.

    The reason and the right value are given if they are matters of convention.
    """

    verdict: Verdict
    reason: str | None = None
    right: float | None = None


@dataclass
class Conventions:
    """The choices of each convention for the value and the gradients of one result."""

    judge: Judge
    wanted: str

    @property
    def unmeasured(self) -> str | None:
        """The first kink of which it is not known what JAX chooses."""
        unknown = [event for event in self.judge.events if event.kink.jax is None][:1]
        return next((f"{event.kink.place} ({event.op.name})" for event in unknown), None)

    def decide(self, of: str, truth: Comparison, i: int, said: float, room: float) -> Held | None:
        """Return the verdict on a number claimed for an entry on a kink, to within ``room``.

        Return None where the choice is not known.
        """
        choices = self._choices(of, truth, i)
        fitting = [
            name
            for name, value in choices.items()
            if said == value or abs(said - value) <= room or (said != said and value != value)
        ]
        if self.wanted in fitting:
            return Held(Verdict.AGREE)
        if self.wanted not in choices:
            return None
        follows = " and ".join(_TITLES[name] for name in fitting) or "no convention"
        right = float(choices[self.wanted])
        return Held(
            Verdict.MISMATCH,
            f"on a kink, where {_TITLES[self.wanted]} has {right:g}: it follows {follows}",
            right,
        )

    def _choices(self, of: str, truth: Comparison, i: int) -> dict[str, Any]:
        choices = {TORCH: truth.engine[i], LEAST: truth.sides[i].least}
        if self.unmeasured is None:
            choices[JAX] = np.broadcast_to(self._in_jax[of], truth.shape).flat[i]
        return choices

    @cached_property
    def _in_jax(self) -> dict[str, Any]:
        """The value and the gradients with JAX's choices."""
        judge = self.judge
        found = judge.float_results(*in_jax(judge.root, judge.nodes))
        return dict(zip(judge.names, found, strict=True))


class InJax(Rebuilding):
    """The same function, made of what chooses as JAX does at its kinks."""

    def operation(self, node: Expr, op: Op, operands: list[Any]) -> Expr:
        for kink in op.kinks:
            if kink.jax is not None and kink.jax.body is not None:
                return cast(Expr, kink.jax.body(*operands, **node.static))
        return self.graph.apply(op, operands, node.static)

    def derivative(self, node: Expr, table: Mapping[Any, Any]) -> Expr:
        of = node.static["of"]
        return transforms.derive(of.kind, table[of.y], table[of.x], table.get(of.vector))


def in_jax(root: Expr, wrt: Sequence[Expr]) -> tuple[Expr, list[Expr]]:
    """Return the function with JAX's choices at kinks, and its variables."""
    found = interpret(definition_order(root, wrt), InJax(root.graph))
    return found[root], [found[x] for x in wrt]


# -- Claims on several kinks at once, each between the derivatives from both sides. Together they must
# lie in the convex hull of the gradients nearby.


_WORK = 200_000  # most scalar operations for the gradients nearby
_DRAWS, _ROUNDS = 8, 16
_SUM = 1e3  # weight of the condition that the shares of gradients have the sum 1
_ROOM, _APART = 1e-9, 1e-12  # what is no difference of gradients, relative, and of directions


def hold_together(judge: Judge, claims: Sequence[tuple[Claim, Given]]) -> None:
    """Make claims on kinks a mismatch where their numbers together are no subgradient.

    They stay as they are where gradients nearby are not known, or take too much work.

    If no gradient rises faster in a direction than the one beside the point in that direction, the
    function is convex there, if none rises slower, concave. Then the gradients in a direction and
    its opposite are the extreme ones. Otherwise a claim is only held to what all have in common.
    """
    room = 0.0
    places: dict[Place, float] = {}
    for _, given in claims:
        x = judge.wrt[given.of]
        said = given.numbers if given.formula is None else judge.float_results(given.formula, [])[0]
        for i, sides in judge.comparison(given.of).sides.items():
            if sides.limit is None:
                if not (sides.probed and sides.finite) or sides.gap:
                    return
                places[x, i] = np.broadcast_to(said, x.shape).flat[i]
                known = given.tolerance * float(max(map(abs, sides.range)))
                room = max(room, known + given.atol + np.max(given.rooms))
    n, prober = len(places), judge.prober
    if prober is None or n < 2 or _DRAWS * n * judge.size > _WORK:
        return
    from scipy.optimize import nnls

    def gradient_beside(direction: np.ndarray) -> np.ndarray:
        # Slightly beside the direction, which may itself lie on a kink.
        steps = direction + _APART * np.arange(n) ** 2
        return np.array(prober.slopes_beside(places, steps)[:-1], float)

    draws = np.random.default_rng(0).standard_normal((_DRAWS * n, n))
    points = np.vstack([np.eye(n), -np.eye(n), draws])
    found = [*map(gradient_beside, points)]
    scale = np.max(np.abs(found))  # of whatever size gradients are, shares have the sum 1
    found, room = [*np.divide(found, scale)], room / scale + _ROOM
    rises = points @ np.transpose(found)
    own, claimed = np.diag(rises)[:, None], np.array([*places.values()]) / scale
    bent_once = (rises <= own + room).all() or (rises >= own - room).all()
    for _ in range(_ROUNDS):
        if not np.isfinite(found).all():
            return
        table = np.vstack([np.transpose(found), np.full(len(found), _SUM)])
        wanted = np.append(claimed, _SUM)
        shares = (nnls(table, wanted) if bent_once else np.linalg.lstsq(table, wanted))[0]
        direction = claimed - shares @ found
        size = np.max(np.abs(direction))
        if size <= room:
            return
        direction /= size
        found += [gradient_beside(way) / scale for way in (direction, -direction)]
        most = np.max(np.dot(found, direction))
        if claimed @ direction - room * np.sum(np.abs(direction)) > most:
            break
    else:
        return
    for claim, _ in claims:
        claim.verdict = Verdict.MISMATCH
        claim.reason = (
            f"no subgradient: along {np.round(direction, 2).tolist()} it has "
            f"{claimed @ direction * scale:.6g}, gradients nearby at most {most * scale:.6g}"
        )
