"""Claims: what somebody says that a value or a gradient is, held to the reference.

Numbers are held at the bound values to a tolerance plus what rounding explains; wrong ones are diagnosed where the pattern is
plain. Formulas are the matter of formula_claims.py.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from gradcli.check.comparison import Comparison, compare_arrays, mask_of
from gradcli.check.formula_claims import Given, check_formula, relative_error
from gradcli.check.judge import Judge, forward_exact, gradients_exact
from gradcli.check.rounding import Branches
from gradcli.graph import transforms
from gradcli.graph.interpret import Rebuilding, interpret
from gradcli.graph.nodes import Expr, reachable
from gradcli.graph.transforms import Derivation, definition_order
from gradcli.ops.extended import WIDER
from gradcli.ops.spec import Op
from gradcli.reference.algebra import Unsupported
from gradcli.report.verdicts import Claim, Verdict, Worst

# -- Which value is chosen where the derivatives from both sides differ: PyTorch's, JAX's, or the
# one of least norm.


TORCH, JAX, LEAST = CONVENTIONS = ("torch", "jax", "min-norm")
_TITLES = {TORCH: "PyTorch", JAX: "JAX", LEAST: "the least norm"}


class Decision(NamedTuple):
    """The verdict on one claimed number; its reason and what is right, if they are matters of convention."""

    verdict: Verdict
    reason: str | None = None
    right: float | None = None


class Conventions:
    """What each convention chooses for the value and the gradients of one result."""

    def __init__(self, judge: Judge, wanted: str) -> None:
        self.judge, self.wanted = judge, wanted
        unmeasured = (f"{event.kink.place} ({event.op.name})" for event in judge.events if event.kink.jax is None)
        self.unmeasured = next(unmeasured, None)  # the first kink of which it is not known what JAX chooses
        self._in_jax: dict[str, Any] | None = None

    def decide(self, of: str, truth: Comparison, i: int, said: float, room: float) -> Decision | None:
        """The verdict on a number that is claimed for an entry on a kink, to ``room``; None where the choice is not known."""
        choices = self._choices(of, truth, i)
        fitting = [name for name, value in choices.items() if _fits(said, value, room)]
        if self.wanted in fitting:
            return Decision(Verdict.AGREE)
        if self.wanted not in choices:
            return None
        follows = " and ".join(_TITLES[name] for name in fitting) or "no convention"
        right = float(choices[self.wanted])
        return Decision(Verdict.MISMATCH, f"on a kink, where {_TITLES[self.wanted]} has {right:g}: it follows {follows}", right)

    def _choices(self, of: str, truth: Comparison, i: int) -> dict[str, Any]:
        choices = {TORCH: truth.engine[i], LEAST: truth.sides[i].least}
        if self.unmeasured is None:
            choices[JAX] = self._jax(truth.m)[of].reshape(-1)[i]
        return choices

    def _jax(self, m: Any) -> dict[str, Any]:
        if self._in_jax is None:
            judge = self.judge
            root, nodes = in_jax(judge.root, list(judge.wrt.values()))
            leaves = {node: judge.scope.values[node] for node in reachable([root]) if node.is_leaf}
            table = forward_exact(m, root, leaves, judge.precision)
            gradients = gradients_exact(m, table, root, nodes, judge.seed)
            self._in_jax = {"value": table[root].array, **dict(zip(judge.wrt, gradients, strict=True))}
        return self._in_jax


def _fits(said: float, value: Any, room: float) -> bool:
    if np.isnan(said) or value != value:
        return bool(np.isnan(said) and value != value)
    return bool(said == value or abs(said - value) <= room)


class InJax(Rebuilding):
    """The same function, of operations that choose as JAX does at their kinks."""

    def operation(self, node: Expr, op: Op, operands: list[Any]) -> Expr:
        return self.graph.apply(_twin(op), operands, node.static)

    def derivative(self, node: Expr, table: Mapping[Expr, Any]) -> Expr:
        of: Derivation = node.static["of"]
        return transforms.derive(of.kind, table[of.y], table[of.x], None if of.vector is None else table[of.vector])


def in_jax(root: Expr, wrt: Sequence[Expr]) -> tuple[Expr, list[Expr]]:
    """The function as JAX has it, and its variables."""
    found = interpret(definition_order(root, wrt), InJax(root.graph))
    return found[root], [found[x] for x in wrt]


@cache
def _twin(op: Op) -> Op:
    """The operation with JAX's rule, where that is another."""
    rule = next((kink.jax.rule for kink in op.kinks if kink.jax is not None and kink.jax.rule is not None), None)
    if rule is None:
        return op
    return replace(op, partials=rule) if isinstance(rule, tuple) else replace(op, vjp=rule)


RTOL = {"float64": 1e-6, "float32": 1e-3, "float16": 1e-2, "bfloat16": 1e-1}
_LUCK, _EPSILON = 1_000.0, float(np.finfo(float).eps)  # times what rounding did to the engine, or to the largest entry
_FORMULA = 1e-14 if WIDER else 1e-10  # relative: formulas on arrays of many entries
_RIGHT = 1e-4  # relative: numbers whose tolerance is known entry by entry are close to another derivative
_SHARE = 4  # of the bound of rounding, that a claim may take


def decide(judge: Judge, given: Sequence[Given], conventions: Conventions | None = None) -> list[Claim]:
    """The verdict on every claim, by a judge that has decided the engine's own result.

    conventions  whose choices are right on kinks; None for any between both sides
    """
    names = list(judge.wrt)
    if judge.wide:
        return [_wide(judge, claim) for claim in given]
    exact = _unrounded(judge, given)
    claims = []
    for claim in given:
        comparison = judge.value_comparison if claim.of == "value" else judge.comparisons[names.index(claim.of)]
        shape = judge.root.shape if claim.of == "value" else judge.wrt[claim.of].shape
        if claim.formula is None:
            claims.append(_numbers(judge, claim, comparison, shape, exact, conventions))
        else:
            claims.append(check_formula(judge, claim, comparison, shape))
    return claims


def _wide(judge: Judge, claim: Given) -> Claim:
    """A claim about an array of many entries, at the bound values: all entries at once, against long doubles."""
    from gradcli.reference.long_double import value

    right, bounds = judge.wide[claim.of]
    shape = np.shape(right)
    try:
        said = (
            np.asarray(claim.numbers)
            if claim.formula is None
            else np.broadcast_to(value(claim.formula, judge.every_leaf(claim.formula), judge.precision), shape)
        )
    except Unsupported as missing:
        return Claim(claim.of, claim.kind, Verdict.UNDETERMINED, reason=str(missing))
    if said.shape != shape:
        return Claim(claim.of, claim.kind, Verdict.MISMATCH, reason=f"the claim has the shape {said.shape}, the gradient {shape}")
    rtol = _FORMULA if claim.formula is not None else claim.rtol if claim.rtol is not None else RTOL.get(str(said.dtype), 1e-6)
    room = rtol * np.abs(right) + claim.atol + np.asarray(bounds) / 32
    checked = compare_arrays("", right, said, room if claim.room is None else room + claim.room, 0.0)
    verdict = Verdict.AGREE if checked.verdict is Verdict.ILL_CONDITIONED else checked.verdict
    result = Claim(claim.of, claim.kind, verdict, checked.worst if verdict is Verdict.MISMATCH else None)
    result.wrong = (checked.wrong, said.size) if checked.wrong else None
    result.mask = checked.mask
    return result


def _unrounded(judge: Judge, given: Sequence[Given]) -> bool:
    """Return whether claimed numbers are right to the last digit where rounding would show: then nothing about them is rounding.

    Nor is it where they are a plain multiple of the truth, as with a wrong sign, unless rounding has made that of the engine's, too.
    """
    names = list(judge.wrt)
    right = wrong = 0
    for claim in given:
        if claim.numbers is None or claim.of == "value" or np.asarray(claim.numbers).dtype != np.float64:
            continue
        truth = judge.comparisons[names.index(claim.of)]
        if np.size(claim.numbers) != len(truth.reference):
            continue
        entries = zip(np.ravel(claim.numbers).tolist(), truth.reference, truth.bounds, truth.computed, strict=True)
        for said, r, bound, computed in entries:
            if isinstance(r, bool) or not truth.m.isfinite(r) or not bound / _SHARE > 1e-12 * abs(float(r)):
                continue
            if said == float(r) == 0:  # which has no digits that rounding could show in
                continue
            multiples = [float(r)] if said == computed else [k * float(r) for k in (1, -1, 2, 0.5)]
            exactly = any(abs(said - multiple) <= 4 * math.ulp(multiple) for multiple in multiples)
            right, wrong = right + exactly, wrong + (not exactly)
    return right > 0 and right >= wrong


def _numbers(judge: Judge, claim: Given, truth: Comparison, shape: tuple[int, ...], exact: bool, conventions: Conventions | None) -> Claim:
    numbers = np.asarray(claim.numbers)
    if numbers.shape != shape:
        reason = f"the claim has the shape {numbers.shape}, the {'value' if claim.of == 'value' else 'gradient'} {shape}"
        if numbers.ndim == 2 and numbers.shape[::-1] == shape:
            reason += ": it is transposed"
        return Claim(claim.of, claim.kind, Verdict.MISMATCH, None, reason)
    rtol = claim.rtol if claim.rtol is not None else RTOL.get(str(numbers.dtype), 1e-6)
    said = [float(v) for v in numbers.ravel()]
    branches = _branches(judge, claim, truth, said, rtol)
    place = 0 if claim.of == "value" else 1 + list(judge.wrt).index(claim.of)
    error_bounds = [0.0] * len(said) if exact else _allowances(truth, truth.bounds, [truth.computed])
    if branches is not None:
        error_bounds = _allowances(truth, branches.bounds(place).tolist(), [found.tolist() for found in branches.results(place)])
    if claim.room is not None:
        error_bounds = [max(float(room), bound) for room, bound in zip(np.ravel(claim.room), error_bounds, strict=True)]
    decisions = [_entry(conventions, claim, truth, i, v, rtol, error_bounds[i]) for i, v in enumerate(said)]
    if branches is not None:
        decisions = [_on_a_way(d, claim, branches, place, i, said[i], rtol, error_bounds[i]) for i, d in enumerate(decisions)]
    verdicts = [decision.verdict for decision in decisions]
    right = [float(r) if d.right is None else d.right for d, r in zip(decisions, truth.reference, strict=True)]
    verdict = max(verdicts, default=Verdict.AGREE)
    result = Claim(claim.of, claim.kind, verdict)
    wrong = [i for i, v in enumerate(verdicts) if v is verdict]
    if verdict in (Verdict.MISMATCH, Verdict.UNDEFINED) and wrong:
        worst = max(wrong, key=lambda i: relative_error(said[i], right[i]))
        index = tuple(int(p) for p in np.unravel_index(worst, shape)) if shape else ()
        result.worst = Worst(index, said[worst], right[worst])
        result.wrong = len(wrong), len(said)
        if verdict is Verdict.MISMATCH:
            result.mask = mask_of([v is verdict for v in verdicts], shape)
            result.reason = decisions[worst].reason or _diagnosis(judge, claim, np.asarray(said).reshape(shape), truth, rtol or _RIGHT)
    elif verdict in (Verdict.KINK, Verdict.ILL_CONDITIONED):
        result.reason = next((decision.reason for decision in decisions if decision.reason), None)
    return result


def _allowances(truth: Comparison, bounds: Sequence[float], found: Sequence[Sequence[float]]) -> list[float]:
    """What rounding explains, which a claim may have suffered as the engine has: a share of the bound, but no more than luck explains.

    found  what the engine has found, on each way that it may take
    """
    allowances = []
    for bound, reference, *computed in zip(bounds, truth.reference, *found, strict=True):
        known = truth.m.isfinite(reference) and all(map(math.isfinite, computed))
        suffered = min(abs(one - float(reference)) for one in computed) if known else math.inf
        allowances.append(min(bound / _SHARE, _LUCK * max(suffered, _EPSILON * truth.largest)) if math.isfinite(bound) else 0.0)
    return allowances


def _branches(judge: Judge, claim: Given, truth: Comparison, said: Sequence[float], rtol: float) -> Branches | None:
    """The ways between which rounding decides, if a claim is not right to its tolerance anyway."""
    rooms = [0.0] * len(said) if claim.room is None else np.ravel(claim.room).tolist()
    entries = [e for e in zip(said, truth.reference, rooms, strict=True) if not isinstance(e[1], bool) and truth.m.isfinite(e[1])]
    if all(abs(v - r) <= rtol * abs(r) + claim.atol + room for v, r, room in entries):
        return None
    return judge.branches(claim.precision)


def _on_a_way(decision: Decision, claim: Given, branches: Branches, place: int, i: int, said: float, rtol: float, room: float) -> Decision:
    """The verdict on a wrong number that is right on another way than the exact one."""
    if decision.verdict is not Verdict.MISMATCH or not branches.differ(place):
        return decision
    ways = (float(results[i]) for results in branches.results(place))
    if any(abs(said - way) <= rtol * abs(way) + claim.atol + room for way in ways):
        return Decision(Verdict.ILL_CONDITIONED, str(branches))
    return decision


def _entry(conventions: Conventions | None, claim: Given, truth: Comparison, i: int, said: float, rtol: float, bound: float) -> Decision:
    reference = truth.reference[i]
    if isinstance(reference, bool):
        return Decision(Verdict.AGREE if said == float(reference) else Verdict.MISMATCH)
    sides = truth.sides.get(i)
    if sides is None or sides.limit is not None or not sides.known:
        return Decision(_number(truth, i, said, rtol, claim.atol + bound))
    low, high = map(float, sides.range)
    room = rtol * max((abs(v) for v in (low, high) if math.isfinite(v)), default=0.0) + claim.atol + bound
    decided = None if conventions is None else conventions.decide(claim.of, truth, i, said, room)
    if decided is not None:
        return decided
    if not low - room <= said <= high + room:
        return Decision(Verdict.MISMATCH)
    return Decision(Verdict.KINK, f"what JAX chooses at {conventions.unmeasured} is not known" if conventions is not None else None)


def _number(truth: Comparison, i: int, said: float, rtol: float, room: float) -> Verdict:
    m, reference = truth.m, truth.reference[i]
    if not m.isfinite(reference):
        return Verdict.UNDEFINED
    if not math.isfinite(said):
        return Verdict.AGREE if said == float(reference) else Verdict.MISMATCH
    off = abs(m.mpf(said) - reference)
    # a difference that the claim's own digits cannot show is none
    return Verdict.AGREE if off <= rtol * abs(reference) + room or said == float(reference) else Verdict.MISMATCH


def _diagnosis(judge: Judge, claim: Given, said: np.ndarray, truth: Comparison, rtol: float) -> str | None:
    """Return what kind of mistake wrong numbers are, where the pattern is plain."""
    right = np.array([float(r) for r in truth.reference]).reshape(said.shape)

    def close(x: Any, y: Any) -> bool:
        return bool(np.allclose(x, y, rtol=10 * rtol, atol=0.0))

    if said.ndim == 2 and said.shape[0] == said.shape[1] > 1 and close(said, right.T):
        return "it is transposed"
    with np.errstate(all="ignore"):
        ratios = (said / right)[right != 0]
    if ratios.size and (said[right == 0] == 0).all() and close(ratios, ratios[0]):
        factor = _factor(float(ratios[0]), judge, claim.about)
        if factor:
            return factor
    for (name, x), other in zip(judge.wrt.items(), judge.comparisons, strict=True):
        if name != claim.of and x.shape == said.shape:
            theirs = np.array([float(r) for r in other.reference]).reshape(said.shape)
            if close(said, theirs) and not close(theirs, right):
                return f"it is the derivative by {name}: the names are swapped"
    return None


def _factor(ratio: float, judge: Judge, about: str) -> str | None:
    sizes = {n for leaf in judge.leaves for n in (math.prod(leaf.shape), *leaf.shape) if n > 1} | {math.prod(judge.root.shape)}
    for factor, words in ((-1.0, "the sign is wrong"), (2.0, f"it is twice the {about}"), (0.5, f"it is half the {about}")):
        if math.isclose(ratio, factor, rel_tol=1e-4):
            return words
    for n in sorted(sizes):
        if n > 1 and math.isclose(ratio, n, rel_tol=1e-4):
            return f"it is {n} times the {about}: a factor 1/{n} is missing"
        if n > 1 and math.isclose(ratio, 1 / n, rel_tol=1e-4):
            return f"it is the {about} divided by {n}"
    return None if not math.isfinite(ratio) or math.isclose(ratio, 1.0, rel_tol=1e-3) else f"it is {ratio:.6g} times the {about}"
