"""The cross-check: R, E-infinity and E, held against each other for every entry of every gradient.

E-infinity against R decides whether the rules are right, with no rounding in the way; E against E-infinity is
rounding, or a fault of the fast path. Precision is raised until the two exact numbers agree; only what still
differs at the highest precision is a mismatch.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import Any

import numpy as np

from gradcli.check.claims import Given, decide
from gradcli.check.composed import Composed
from gradcli.check.conventions import Conventions
from gradcli.check.corners import Corners, at_corners, has_inner
from gradcli.check.deadline import OutOfTime, deadline
from gradcli.check.entries import Comparison, wide_check
from gradcli.check.exact import forward_exact, gradients_exact
from gradcli.check.kinks import Prober, Sides, suspects
from gradcli.check.rounding import allowances, summed_terms
from gradcli.check.scalars import Event, plain
from gradcli.check.zeros import MinusZeros
from gradcli.engine import transforms
from gradcli.engine.evaluate import forward
from gradcli.engine.graph import Expr, reachable
from gradcli.engine.transforms import definition_order
from gradcli.errors import GradcliError
from gradcli.exact.algebra import Algebra, Unsupported
from gradcli.exact.values import exact_array
from gradcli.language.scope import Scope
from gradcli.report.records import Record
from gradcli.report.verdicts import Check, VariableCheck, Verdict

DIGITS = (50, 100, 200, 400, 800)
LARGEST = 250_000  # scalar operations that the composed reference may take
_LARGEST_SYMBOLIC = 300  # scalar operations of an expression that sympy differentiates as a whole
_MOST_SYMBOLS = 40
_STABLE = 30  # digits that stay when the precision is doubled
DEFAULT_TIMEOUT = 20.0
_SYMBOLIC_SECONDS = 2.0
_REPAIR_SECONDS = 5.0
_WITHOUT_REFERENCE = (GradcliError, Unsupported, ValueError, ArithmeticError, IndexError, MemoryError)


class Undecided(Exception):
    """No source of truth within the limits."""


def cross_check(
    scope: Scope, root: Expr, wrt: dict[str, Expr], record: Record, timeout: float | None, claims: Sequence[Given] = (),
    seed_leaf: Expr | None = None, remembering: bool = False, convention: str | None = None,
) -> Check:  # fmt: skip
    """The verdict on a record's value and derivatives, and on claims about them.

    seed_leaf    what the name ``seed`` stands for inside of claims
    remembering  whether verdicts are kept between runs
    convention   which choice at kinks is right in claims that are numbers; None for any between the derivatives from both sides
    """
    if root.kind != "float":
        return Check(Verdict.SKIPPED, reason="the result is not a number")
    if not remembering or record.mode != "grad":
        return _decided(scope, root, wrt, record, timeout, claims, seed_leaf, convention)
    from gradcli.check import memory

    computed = [record.value, record.seed, *(record.grad or {}).values()]
    key = memory.key_of(root, wrt, scope.values, computed, scope.precision, claims, convention)
    known = memory.recalled(key)
    if known is None:
        known = _decided(scope, root, wrt, record, timeout, claims, seed_leaf, convention)
        memory.remember(key, known)
    return known


def _decided(
    scope: Scope, root: Expr, wrt: dict[str, Expr], record: Record, timeout: float | None, claims: Sequence[Given],
    seed_leaf: Expr | None, convention: str | None,
) -> Check:  # fmt: skip
    try:
        with deadline(DEFAULT_TIMEOUT if timeout is None else timeout):
            check = _judged(scope, root, wrt, record, claims, seed_leaf, convention)
    except OutOfTime:
        return _undetermined(wrt, "the time limit of the cross-check was reached", record)
    except Undecided as limit:
        return _undetermined(wrt, str(limit), record)
    except _WITHOUT_REFERENCE as error:
        return _undetermined(wrt, f"the reference has no value: {error}", record)
    if check.verdict in (Verdict.UNDEFINED, Verdict.ILL_CONDITIONED, Verdict.MISMATCH):
        check.repairs = _repairs(scope, root, wrt, record)
    check.verdict = check.worst
    return check


def _judged(
    scope: Scope, root: Expr, wrt: dict[str, Expr], record: Record, claims: Sequence[Given], seed_leaf: Expr | None, convention: str | None
) -> Check:
    """The verdict on the result, and those on the claims beside it."""
    if record.mode != "grad":
        return _combined(_by_mode(scope, root, wrt, record))
    assert record.grad is not None
    judge = Judge(scope, root, wrt, record.seed, record.grad)
    judge.seed_leaf = seed_leaf
    check = _combined(judge.decide(record.value))
    if any(part.verdict is Verdict.MISMATCH for part in check.variables.values()):
        from gradcli.check.locating import departure

        check.departs = departure(judge)
    if convention is not None:
        judge.conventions = Conventions(judge, convention)
    check.claims = decide(judge, claims)
    return check


def _repairs(scope: Scope, root: Expr, wrt: dict[str, Expr], record: Record) -> list[str]:
    """How to write the function where digits or the whole value were lost."""
    from gradcli.check.repairs import repairs

    seed = np.ones(root.shape)[()] if record.seed is None else record.seed
    with suppress(OutOfTime, Undecided, *_WITHOUT_REFERENCE), deadline(_REPAIR_SECONDS):
        return repairs(scope, root, wrt, seed)
    return []


def _undetermined(wrt: dict[str, Expr], reason: str, record: Record) -> Check:
    variables = {name: VariableCheck(Verdict.UNDETERMINED, reason=reason) for name in _keys(wrt, record.mode)}
    return Check(Verdict.UNDETERMINED, variables, reason=reason)


def _keys(wrt: dict[str, Expr], mode: str) -> list[str]:
    """What the checks of a mode are called."""
    if mode == "hessian":
        return [f"{a},{b}" for a in wrt for b in wrt]
    return ["jvp"] if mode == "jvp" else list(wrt)


def _combined(parts: tuple[VariableCheck | None, dict[str, VariableCheck]]) -> Check:
    value, variables = parts
    verdicts = [v.verdict for v in variables.values()] + ([value.verdict] if value is not None else [])
    worst = max(verdicts, default=Verdict.SKIPPED)
    reasons = [v.reason for v in [value, *variables.values()] if v is not None and v.verdict is worst and v.reason]
    return Check(worst, variables, value, reason=reasons[0] if reasons else None)


def _by_mode(scope: Scope, root: Expr, wrt: dict[str, Expr], record: Record) -> tuple[VariableCheck | None, dict[str, VariableCheck]]:
    if record.mode == "jvp":
        value, _ = Judge(scope, root, {}, np.ones(root.shape)[()], {}).decide(record.value)
        pushed = _pushed(scope, root, record.tangents)
        slope, _ = Judge(scope, pushed, {}, np.ones(root.shape)[()], {}).decide(record.jvp)
        return value, {} if slope is None else {"jvp": slope}
    if record.mode == "jacobian":
        assert record.jacobian is not None
        return _rows(scope, root, wrt, record.jacobian, record.value)
    assert record.hessian is not None
    checks: dict[str, VariableCheck] = {}
    for name, x in wrt.items():
        gradient = transforms.derive("vjp", root, x, transforms.ones_like(root))
        _, row = _rows(scope, gradient, wrt, record.hessian[name], None)
        for other, check in row.items():
            checks[f"{name},{other}"] = check
    return None, checks


def _pushed(scope: Scope, root: Expr, tangents: Mapping[str, Any]) -> Expr:
    """The Jacobian-vector product as a node that carries its definition."""
    total: Expr | None = None
    for name, tangent in tangents.items():
        part = transforms.derive("jvp", root, scope.names[name], scope.graph.constant(tangent))
        total = part if total is None else total + part
    return transforms.zeros_like(root) if total is None else total


def _rows(
    scope: Scope, root: Expr, wrt: dict[str, Expr], matrices: Mapping[str, Any], value: Any
) -> tuple[VariableCheck | None, dict[str, VariableCheck]]:
    """A Jacobian as the gradients of its rows."""
    size = math.prod(root.shape)
    found: dict[str, list[VariableCheck]] = {name: [] for name in wrt}
    checked = None
    for i in range(size):
        seed = transforms.one_hot(i, root.shape)[()] if root.shape else np.float64(1)
        place = np.unravel_index(i, root.shape)
        parts = {name: np.asarray(matrix)[place] for name, matrix in matrices.items()}
        checked, row = Judge(scope, root, wrt, seed, parts).decide(value)
        for name, check in row.items():
            if check.worst is not None:
                check.worst.index = (*(int(p) for p in place), *check.worst.index)
            found[name].append(check)
    return checked, {name: _gravest(checks) for name, checks in found.items() if checks}


def _gravest(checks: list[VariableCheck]) -> VariableCheck:
    worst = max(checks, key=lambda c: (c.verdict, c.max_rel_error or 0.0))
    worst.entries = (sum((c.entries or (0, 0))[0] for c in checks), sum((c.entries or (0, 0))[1] for c in checks))
    worst.wrong = sum(c.wrong for c in checks)
    worst.kinks = [k for c in checks for k in c.kinks]
    return worst


class Judge:
    """Decides one gradient: a root, a seed, and what the engine computed."""

    def __init__(self, scope: Scope, root: Expr, wrt: dict[str, Expr], seed: Any, gradients: Mapping[str, Any]) -> None:
        self.scope, self.root, self.wrt, self.seed = scope, root, wrt, seed
        self.precision = scope.precision
        self.gradients = [np.asarray(gradients[name]) for name in wrt]
        order = definition_order(root, list(wrt.values()))
        self.leaves = {node: scope.values[node] for node in order if node.is_leaf}
        self.size = scalar_operations(order) + scalar_operations(reachable([root]))
        self.entries = sum(math.prod(x.shape) for x in self.leaves)
        self.comparisons: list[Comparison] = []
        self.value_comparison: Comparison
        self.seed_leaf: Expr | None = None
        self.zeros: MinusZeros | None = None
        self.events: list[Event] = []  # the kinks that the function was evaluated on
        self.conventions: Conventions | None = None  # whose choices are right in claims; None for any between both sides
        self.wide: dict[str, tuple[Any, Any]] = {}  # reference and bounds of large arrays, for claims

    def every_leaf(self, other: Expr) -> dict[Expr, Any]:
        """The leaves of the function and of another expression, with their values."""
        order = definition_order(other)
        return {**self.leaves, **{node: self.scope.values[node] for node in order if node.is_leaf}}

    def decide(self, value: Any) -> tuple[VariableCheck | None, dict[str, VariableCheck]]:
        if self.size > LARGEST:
            return self._decide_wide(value)
        import mpmath

        m = mpmath.MPContext()
        nodes = list(self.wrt.values())
        self.zeros = MinusZeros(self.root, self.scope.values, self.precision)
        reached = forward([self.root], self.scope.values, self.precision)[self.root] if value is None else value
        own_leaves = {**self.leaves, **{node: self.scope.values[node] for node in reachable([self.root]) if node.is_leaf}}
        value_bound, bounds = allowances(self.root, nodes, own_leaves, self.seed, self.precision)
        whole: Any = None
        before: list[Any] | None = None
        for digits in DIGITS:
            m.dps = digits
            table = forward_exact(m, self.root, own_leaves, self.precision, self.zeros)
            composed, y, chosen = self._composed(m, table)
            exact_value = Algebra.map(plain, y)
            seed = exact_array(m, self.seed, "float")
            reference = composed.slopes(y, seed, nodes)
            trouble = composed.tape.fault or composed.tape.trouble
            engine_value, engine = table[self.root].array, gradients_exact(m, table, self.root, nodes, self.seed)
            prober = Prober(self, composed, exact_value, suspects(composed, nodes))
            sides = [prober.of(x, slopes) for x, slopes in zip(nodes, reference, strict=True)]
            source = "composed"
            if not composed.tape.events and self.size <= _LARGEST_SYMBOLIC and self.entries <= _MOST_SYMBOLS:
                whole = self._whole(m) if whole is None else whole
                source, reference = self._symbolic(m, whole, reference)
            comparisons = [
                Comparison(m, r, e, computed, bound, side, trouble)
                for r, e, computed, bound, side in zip(reference, engine, self.gradients, bounds, sides, strict=True)
            ]
            checked = Comparison(m, exact_value, engine_value, np.asarray(reached), value_bound, chosen, None)
            now = [v for array in (exact_value, engine_value, *reference, *engine) for v in np.ravel(array)]
            if not any(c.mismatched for c in [*comparisons, checked]) or _settled(m, before, now):
                break
            before = now
        self.events = composed.tape.events
        largest = max((c.largest for c in comparisons), default=0.0)
        self.comparisons, self.value_comparison = comparisons, checked
        results = {
            name: c.result(source, math.prod(x.shape), partial(self.masses, i), largest)
            for i, ((name, x), c) in enumerate(zip(self.wrt.items(), comparisons, strict=True))
        }
        return checked.result(source, 0) if value is not None else None, results

    def _composed(self, m: Any, engine: Mapping[Expr, Any]) -> tuple[Composed, Any, dict[int, Sides]]:
        """The function on the judge's tape, its value, and the entries of it that depend on choices at kinks."""
        nodes = list(self.wrt.values())
        composed = Composed(m, self.leaves, self.precision, self.zeros)
        y = composed.run(self.root, nodes)
        if not composed.tape.events or not has_inner(self.root):
            return composed, y, {}
        return at_corners(Corners(m, self.leaves, self.precision, self.size), self.root, nodes, engine)

    def _decide_wide(self, value: Any) -> tuple[VariableCheck | None, dict[str, VariableCheck]]:
        """Whole arrays in long double, every entry."""
        from gradcli.check import wide

        nodes = list(self.wrt.values())
        try:
            exact_value, reference = wide.reference(self.root, nodes, self.leaves, self.seed, self.precision)
        except Unsupported as missing:
            raise Undecided(
                f"the limit of {LARGEST:,} scalar operations of the cross-check (this has about {self.size:,}), and {missing}"
            ) from None
        value_bound, bounds = allowances(self.root, nodes, self.leaves, self.seed, self.precision)
        self.wide = {name: (right, bound) for name, right, bound in zip(self.wrt, reference, bounds, strict=True)}
        self.wide["value"] = exact_value, value_bound
        results = {
            name: wide_check(right, computed, bound)
            for name, right, computed, bound in zip(self.wrt, reference, self.gradients, bounds, strict=True)
        }
        checked = None if value is None else wide_check(exact_value, np.asarray(value), value_bound)
        if checked is not None:
            checked.entries = None
        return checked, results

    def _whole(self, m: Any) -> Any:
        """sympy's derivative of the whole function, or False where there is none in reach."""
        from gradcli.symbolic.derivative import WholeDerivative

        try:
            with deadline(_SYMBOLIC_SECONDS) as limit:
                return WholeDerivative(m, self.root, list(self.wrt.values()), self.leaves, self.seed, self.precision)
        except OutOfTime as passed:
            if passed is not limit:
                raise
            return False
        except (Unsupported, GradcliError, RecursionError, TypeError, ArithmeticError):
            return False

    def _symbolic(self, m: Any, whole: Any, composed: list[np.ndarray]) -> tuple[str, list[np.ndarray]]:
        """The symbolic reference, where it has real values that the composed one confirms; else the composed one."""
        if whole is False:
            return "composed", composed
        found = whole.evaluate(m, self.leaves)
        for symbolic, other in zip(found, composed, strict=True):
            for x, y in zip(np.ravel(symbolic), np.ravel(other), strict=True):
                if not m.isfinite(x) or not abs(x - y) <= m.mpf(10) ** -20 * max(abs(x), abs(y)):
                    return "composed", composed
        return "symbolic", found

    def masses(self, place: int) -> np.ndarray:
        """The size of the terms that were summed over entries for one gradient."""
        values = forward([self.root], self.scope.values, self.precision)
        return summed_terms(self.root, list(self.wrt.values()), values, self.seed)[place]


def _settled(m: Any, before: list[Any] | None, now: list[Any]) -> bool:
    """Whether more digits have changed nothing: then a disagreement is one of the functions, not of rounding.

    A zero proves nothing: it may be what cancellation has left at both precisions.
    """
    if before is None:
        return False
    tolerance = m.mpf(10) ** -_STABLE
    return all(
        isinstance(x, bool) or x != x or (y != 0 and abs(x - y) <= tolerance * abs(y)) or (m.isinf(y) and x == y)
        for x, y in zip(before, now, strict=True)
    )


def scalar_operations(order: Sequence[Expr]) -> int:
    """About how many scalar operations the nodes take."""
    total = 0
    for node in order:
        if node.op is None:
            total += 1
            continue
        size = _entries(node)
        for operand in node.operands:
            if operand is not None:
                size = max(size, _entries(operand))
        if node.op.name in ("matmul", "dot"):
            size = math.prod(node.shape) * (node.operand.shape or (1,))[-1]
        elif node.op.core_dims is not None:
            n = node.operand.shape[-1]
            size *= n * (n if node.op.name in ("det", "slogdet") else 1) if node.op.name != "adjugate" else n**4
            size = int(size * node.op.work)
        total += size
    return total


def _entries(node: Expr) -> int:
    return 1 if node.op is not None and node.op.outputs > 1 else max(1, math.prod(node.shape))
