"""Cross-check of one result, and of claims about it.

The result may be any derivative. Verdicts are reached within a time limit, or remembered.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy as np

from gradcli.check.comparison import AT_A_GAP, index_of
from gradcli.check.judge import Checked, Judge, are_finite, scalar_operations
from gradcli.check.verdicts import (
    Check,
    CriticalPoint,
    Departure,
    Limit,
    VariableCheck,
    Verdict,
    honest,
)
from gradcli.errors import GradcliError, LimitError
from gradcli.graph import transforms
from gradcli.graph.nodes import Expr, definition_order, forward, reachable
from gradcli.graph.sweep import backward, ones_like, plus, zeros_like
from gradcli.language.scope import Scope
from gradcli.ops.structure import derivative, detach
from gradcli.options import Options
from gradcli.reference.algebra import NO_VALUE, Algebra, Unsupported
from gradcli.reference.contexts import has_flint
from gradcli.reference.deadline import REACHED, OutOfTime, Undecided, deadline
from gradcli.reference.digits import by_balls, context
from gradcli.reference.kinks import active_kinks, limits_of_value
from gradcli.reference.scalars import plain
from gradcli.reference.tape import ReferenceTape, reference_at

if TYPE_CHECKING:
    from gradcli.check.claims import Given

NOBODY: Mapping[str, str] = {}
_LACKING = (Verdict.UNDEFINED, Verdict.ILL_CONDITIONED, Verdict.MISMATCH)
_WITHOUT_REFERENCE = (*NO_VALUE, IndexError, MemoryError)


class Computed(Protocol):
    """A value with its derivatives, which is judged; a record has them."""

    value: Any
    seed: Any
    grad: dict[str, Any] | None
    jacobian: dict[str, Any] | None = None
    hessian: dict[str, dict[str, Any]] | None = None
    jvp: Any = None
    hvp: dict[str, Any] | None = None
    tangents: dict[str, Any]
    mode: str = "grad"


class ValueAlone(Computed):
    """A value without derivatives."""

    def __init__(self, value: Any) -> None:
        self.value, self.seed = value, np.ones(np.shape(value))[()]
        self.grad, self.tangents = {}, {}


class _Asked(NamedTuple):
    """A record that is judged, with the claims about it; see `cross_check`."""

    scope: Scope
    root: Expr
    wrt: dict[str, Expr]
    record: Computed
    claims: Sequence[Given]
    seed_leaf: Expr | None
    options: Options

    def of_value(self, root: Expr, value: Any) -> VariableCheck | None:
        """Return the verdict on the value of a function."""
        return Judge(self.scope, root, {}, np.ones(root.shape)[()], {}).decide(value)[0]


def cross_check(
    scope: Scope, root: Expr, wrt: dict[str, Expr], record: Computed, options: Options, claims: Sequence[Given] = (),
    seed_leaf: Expr | None = None, excused: Mapping[str, str] = NOBODY,
) -> Check:  # fmt: skip
    """Return the verdict on a record's value and derivatives, and on claims about them.

    seed_leaf  what the name ``seed`` stands for inside of claims
    excused    names whose derivative does not exist and was not asked for, each with the reason;
               they count for no verdict
    """
    if root.kind != "float":
        return Check(Verdict.SKIPPED, reason="the result is not a number")
    grad = record.grad or {} if excused else {}
    some = [
        name for name, found in grad.items() if np.isnan(found).any() and not np.isnan(found).all()
    ]
    judged = {name: x for name, x in wrt.items() if name not in excused or name in some}
    asked = _Asked(scope, root, judged, record, claims, seed_leaf, options)
    if options.remembering and record.mode == "grad":
        from gradcli.check.verdict_cache import recall_or_make

        check = recall_or_make(asked, partial(_decide, asked))
    else:
        check = _decide(asked)
    return _with_excused(check, _keys(wrt, record.mode), excused) if excused else check


def _with_excused(check: Check, keys: Sequence[str], excused: Mapping[str, str]) -> Check:
    """Return the verdict on the judged names, with the excused names added.

    Only those entries of excused names count that are numbers.
    """
    found: dict[str, VariableCheck] = {}
    for key in keys:
        part = check.variables.get(key)
        reason = next((excused[name] for name in key.split(",") if name in excused), None)
        if reason is not None and (part is None or part.verdict is Verdict.UNDEFINED):
            part = VariableCheck(Verdict.SKIPPED, reason=reason)
        if part is not None:
            found[key] = part
    if check.verdict is Verdict.UNDEFINED:
        rest = _combine((check.value, found))
        check.verdict, check.reason = rest.verdict, rest.reason
        check.verdict = check.worst
    check.variables = found
    return check


def _decide(asked: _Asked) -> Check:
    scope, record = asked.scope, asked.record
    try:
        with deadline(asked.options.timeout) as limit:
            check, judge = _judge(asked)
            lacks = check.loses or check.verdict in _LACKING
            if lacks and has_flint() and not scope.in_passing:
                from gradcli.check.repairs import repair

                seed = np.ones(asked.root.shape)[()] if record.seed is None else record.seed
                with suppress(Undecided, *_WITHOUT_REFERENCE):
                    repair(check, judge or Judge(scope, asked.root, asked.wrt, seed))
    except OutOfTime as passed:
        if passed is not limit:
            raise
        reason = REACHED
    except (Undecided, LimitError) as error:
        reason = error.message if isinstance(error, LimitError) else str(error)
    except _WITHOUT_REFERENCE as error:  # Python's and mpmath's messages explain nothing
        words = (
            "out of memory"
            if isinstance(error, MemoryError)
            else str(error) * isinstance(error, (GradcliError, Unsupported))
        )
        reason = f"the reference has no value{words and ': '}{words}"
    else:
        check.verdict = check.worst
        for part in check.parts:
            honest(part, scope.precision)
        return check
    variables = {
        name: VariableCheck(Verdict.UNDETERMINED, reason=reason)
        for name in _keys(asked.wrt, record.mode)
    }
    return Check(Verdict.UNDETERMINED, variables, reason=reason)


def _judge(asked: _Asked) -> tuple[Check, Judge | None]:
    """Return the verdict on the result and on its claims, and the judge if there was just one."""
    record = asked.record
    if record.mode != "grad":
        check = _combine(_by_mode(asked))
        if record.hessian:
            check.critical_point = critical_point(asked.scope, asked.root, asked.wrt)
            if not np.isfinite(record.value):
                gradients = {name: np.full(x.shape, np.nan) for name, x in asked.wrt.items()}
                beside = Judge(asked.scope, asked.root, asked.wrt, np.float64(1), gradients)
                beside.decide(record.value)
                check.limits = limits_beside(beside, gradients) if beside.decided else []
        return check, None
    assert record.grad is not None
    scope, root, wrt, _, claims, seed_leaf, options = asked
    judge = Judge(scope, root, wrt, record.seed, record.grad, options.remembering, seed_leaf)
    check = _combine(judge.decide(record.value, bool(claims)))
    check.limits = limits_beside(judge, record.grad) if judge.decided else []
    if check.verdict is Verdict.ILL_CONDITIONED and not judge.wide:
        # Name the comparison that rounding decides, if the branch makes a difference.
        ways = judge.branches(judge.precision)
        for place, part in enumerate([check.value, *map(check.variables.get, judge.wrt)]):
            is_ill = part is not None and part.verdict is Verdict.ILL_CONDITIONED
            if part is not None and is_ill and ways is not None and ways.differ(place):
                part.reason = check.reason = ways.text
    if check.verdict is Verdict.MISMATCH:
        # The rules are right and the floats are wrong, because an intermediate result is too large
        # for floats.
        check.overflows = judge.decided and judge.overflown and judge.rules_hold
    if any(part.verdict is Verdict.MISMATCH for part in check.variables.values()):
        check.departs = departure(judge)
    if claims:
        from gradcli.check.claims import Conventions
        from gradcli.check.formula_claims import decide

        convention = options.convention
        conventions = None if convention is None else Conventions(judge, convention)
        check.claims = decide(judge, claims, conventions)
        for claim in check.claims:
            part = check.variables.get(claim.of)
            if claim.verdict is Verdict.AGREE and part is not None and part.reason == AT_A_GAP:
                part.verdict = Verdict.KINK  # what is claimed is the limit
        check.verdict = max(part.verdict for part in check.parts)
    return check, judge


def _keys(wrt: dict[str, Expr], mode: str) -> list[str]:
    """Return what the checks of a mode are called."""
    if mode == "hessian":
        return [f"{a},{b}" for a in wrt for b in wrt]
    return ["jvp"] if mode == "jvp" else list(wrt)


def _combine(parts: Checked) -> Check:
    value, variables = parts
    check = Check(Verdict.SKIPPED, variables, value)
    check.verdict = max((part.verdict for part in check.parts), default=Verdict.SKIPPED)
    check.reason = next(
        (part.reason for part in check.parts if part.verdict is check.verdict and part.reason), None
    )
    return check


def _by_mode(asked: _Asked) -> Checked:
    """Return the verdict on a derivative other than the gradient.

    It is a verdict on the gradients of rows, or on the values of derivatives along a direction.
    """
    root, record = asked.root, asked.record
    if record.jacobian is not None:
        return _rows(asked, root, record.jacobian, record.value)
    if record.hvp is None and record.hessian is None:
        slope = asked.of_value(_jvp_node(asked, root), record.jvp)
        return asked.of_value(root, record.value), {} if slope is None else {"jvp": slope}
    gradients = {
        name: transforms.derive("vjp", root, x, ones_like(root)) for name, x in asked.wrt.items()
    }
    if record.hessian is not None:
        return None, {
            f"{name},{other}": check
            for name, gradient in gradients.items()
            for other, check in _rows(asked, gradient, record.hessian[name], None)[1].items()
        }
    assert record.hvp is not None
    value = asked.of_value(root, record.value)
    checks: dict[str, VariableCheck] = {}
    for name, gradient in gradients.items():
        check = asked.of_value(_jvp_node(asked, gradient), record.hvp[name])
        if check is not None:
            checks[name] = check
    return value, checks


def _jvp_node(asked: _Asked, root: Expr) -> Expr:
    """Return the Jacobian-vector product as a node that carries its definition."""
    scope = asked.scope
    total: Expr | None = None
    for name, tangent in asked.record.tangents.items():
        part = transforms.derive(
            "jvp", root, scope.leaves.get(name, scope.names[name]), scope.graph.constant(tangent)
        )
        total = plus(total, part)
    return zeros_like(root) if total is None else total


def _rows(asked: _Asked, root: Expr, matrices: Mapping[str, Any], value: Any) -> Checked:
    """Judge a Jacobian as the gradients of its rows."""
    found: dict[str, list[VariableCheck]] = {name: [] for name in asked.wrt}
    checked = None
    for i, place in enumerate(np.ndindex(root.shape)):
        seed = transforms.one_hot(i, root.shape)[()]
        parts = {name: np.asarray(matrix)[place] for name, matrix in matrices.items()}
        checked, row = Judge(asked.scope, root, asked.wrt, seed, parts).decide(value)
        for name, check in row.items():
            if check.worst is not None:
                check.worst.index = (*place, *check.worst.index)
            found[name].append(check)
    return checked, {name: _gravest(checks) for name, checks in found.items() if checks}


def _gravest(checks: list[VariableCheck]) -> VariableCheck:
    worst = max(
        checks,
        key=lambda c: (c.verdict, -(17 if c.digits is None else c.digits), c.max_rel_error or 0.0),
    )
    looked_at, entries = map(sum, zip(*(c.entries or (0, 0) for c in checks), strict=True))
    worst.entries, worst.wrong = (looked_at, entries), sum(c.wrong for c in checks)
    worst.kinks = [k for c in checks for k in c.kinks]
    return worst


_LARGEST = 20_000  # most scalar operations of an expression that is searched
_DEPARTS = 1e-5


def departure(judge: Judge) -> Departure | None:
    """Return the first node whose adjoint is not the reference's.

    The operation that made it is named as well. Return None if no such node was found.
    """
    order = reachable([judge.root])
    if judge.size > _LARGEST or any(node.op is derivative for node in order):
        return None
    nodes = [
        node
        for node in order
        if node.kind == "float" and not node.is_constant and node.op is not detach
        and getattr(node.op, "outputs", 1) == 1
    ]  # fmt: skip
    m = context()
    m.dps = 50
    try:
        *_, right = reference_at(m, judge.root, nodes, judge.seed, judge.leaves, judge.precision)
    except _WITHOUT_REFERENCE:
        return None
    with np.errstate(all="ignore"):
        values = forward([judge.root], judge.scope.values, judge.precision)
        found = backward(order, {judge.root: judge.seed}, nodes, values.__getitem__)
    for node, truth in reversed(list(zip(nodes, right, strict=True))):
        exact, true = truth.ravel(), truth.ravel().astype(float)
        said = np.broadcast_to(np.asarray(found.get(node, 0.0), float), node.shape).ravel()
        size = np.abs(true)
        room = _DEPARTS * np.maximum(size, 1e-6 * np.max(size, initial=0, where=np.isfinite(size)))
        with np.errstate(all="ignore"):
            wrong = np.array([*map(m.isfinite, exact)], bool) & ~(np.abs(said - true) <= room)
        if node is judge.root or not wrong.any():
            continue
        i = int(np.argmax(wrong))
        beyond = f"{m.nstr(exact[i], 6)}, too large for floats" if np.isinf(true[i]) else None
        consumers = [
            other for other in reversed(order) if node in other.operands and other in found
        ] or [judge.root]
        made_by = "' or '".join(dict.fromkeys(_text(judge, consumer) for consumer in consumers[:3]))
        spans = judge.scope.spans(consumers[0])
        place = next((GradcliError("").at(span, source).place() for source, span in spans), None)
        numbers = float(said[i]), float(true[i])
        index = index_of(i, node.shape)
        return Departure(_text(judge, node), made_by, index, *numbers, place, beyond)
    return None


def _text(judge: Judge, node: Expr) -> str:
    if text := judge.scope.text(node):
        return text
    if node.is_leaf:
        return node.name
    return f"the result of {node.op.name}" if node.op is not None else "a constant"


# -- Limits beside a point without a value: one entry of a name moves, all others stay.


_MOST_MOVES = 2  # most entries moved: each costs some forty values of hundreds of digits
_MOST_LIMITED = 400  # scalar operations of the function above which no limits are sought


def limits_beside(judge: Judge, gradients: Mapping[str, Any]) -> list[Limit]:
    """Return limits of the entries of a value that have no finite reference.

    Each limit is taken as one entry of a name goes to its value. The gradient by that entry is not
    finite either.
    """
    value = judge.comparisons[0]
    found: list[Limit] = []
    lost = [i for i, y in enumerate(value.reference) if not value.m.isfinite(y)]
    is_small = lost and judge.size < _MOST_LIMITED
    moves = [
        (name, x, tuple(map(int, index)))
        for name, x in (judge.wrt.items() if is_small else ())
        for index in np.argwhere(~np.isfinite(gradients[name]))
    ]
    for name, x, index in moves[:_MOST_MOVES]:
        at = float(np.asarray(judge.leaves.get(x, np.nan))[index])
        if not np.isfinite(at):
            continue
        sides = limits_of_value(value.m, judge, x, index)
        for i in lost:
            left, right = (float(side[i]) for side in sides)
            if left == left or right == right:
                found.append(Limit(name, at, left, right, index, index_of(i, judge.root.shape)))
    return found


# -- Critical points, at which the gradient is zero without rounding.


_DIGITS_OF_A_POINT = 100
_MOST_WORK = 40_000  # most scalar operations for all rows of the Hessian


def critical_point(scope: Scope, root: Expr, wrt: Mapping[str, Expr]) -> CriticalPoint | None:
    """Return the kind of the point for all names together.

    Return None where the gradient is not zero.
    """
    nodes, order = [*wrt.values()], definition_order(root, [*wrt.values()])
    leaves = {x: scope.values[x] for x in order if x.is_leaf}
    held = [x.name for x in leaves if x not in nodes]

    def decide(balls: Any) -> CriticalPoint:
        tape = ReferenceTape(balls, leaves, scope.precision)
        y = tape.run(root, nodes)
        xs = np.concatenate([np.ravel(tape.table[x]) for x in nodes])
        slopes = tape.gradient(y, [balls.one] * y.size, xs, traced=True)
        if any(active_kinks(tape, nodes).values()):
            return CriticalPoint("undecided", "the formula has a kink or changes branch here")
        gradient, hessian = (
            Algebra.map(lambda v: balls.mpf(plain(v)), part)
            for part in (slopes, tape.rows(slopes, xs))
        )
        if not are_finite(balls, [gradient]):
            return CriticalPoint("regular", "there is no gradient")
        said = "the gradient is zero"
        if held:
            said += f" in {', '.join(wrt)}, with {', '.join(held)} held"
        if not all(slope.is_zero for slope in gradient):
            if any(slope.ball != 0 for slope in gradient):
                return CriticalPoint("regular", "the gradient is not zero")
            said += f" to {_DIGITS_OF_A_POINT} digits"
        if balls.uncertified or not are_finite(balls, [hessian]):
            return CriticalPoint("undecided", f"{said}, second derivatives have no certain bounds")
        signs = {*_signs_of_eigenvalues(hessian)}
        if signs >= {1, -1}:
            return CriticalPoint("saddle", f"{said}, eigenvalues of the Hessian have both signs")
        if 0 in signs:
            return CriticalPoint(
                "undecided", f"{said}, an eigenvalue of the Hessian is zero or small"
            )
        kind, sign = ("minimum", "positive") if 1 in signs else ("maximum", "negative")
        return CriticalPoint(kind, f"{said}, all eigenvalues of the Hessian are {sign}")

    is_small = scalar_operations(order) * sum(x.size for x in nodes) < _MOST_WORK
    found = by_balls([_DIGITS_OF_A_POINT] * is_small, decide)
    if found is None:
        return CriticalPoint("undecided", "the derivatives have no bounds within the limits")
    return None if found.kind == "regular" else found


def _signs_of_eigenvalues(hessian: Any) -> Iterator[int]:
    """Yield the signs of the eigenvalues of a Hessian, 0 where one is not certain.

    The Hessian is turned to the directions of its eigenvectors, which by Sylvester's law of inertia
    changes no sign. The signs are those of Gershgorin's discs.
    """
    _, vectors = np.linalg.eigh(hessian.astype(float))
    turned = vectors.T @ hessian @ vectors
    for row, middle in zip(turned, turned.diagonal(), strict=True):
        radius = abs(row).sum() - abs(middle)
        yield int((middle - radius).ball > 0) - int((middle + radius).ball < 0)
