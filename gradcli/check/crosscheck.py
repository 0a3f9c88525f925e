"""The cross-check of one result, whatever it is the derivative of, and of claims about it: verdicts
within a time limit, or remembered.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any, NamedTuple

import numpy as np

from gradcli.check.claims import Conventions, Given
from gradcli.check.comparison import index_of
from gradcli.check.formula_claims import decide
from gradcli.check.judge import Judge, reference_at
from gradcli.check.points import critical_point, limits_beside
from gradcli.errors import GradcliError, LimitError
from gradcli.graph import transforms
from gradcli.graph.interpret import forward
from gradcli.graph.nodes import Expr, reachable
from gradcli.graph.sweep import backward
from gradcli.language.scope import Scope
from gradcli.ops.structure import derivative
from gradcli.reference.algebra import Unsupported
from gradcli.reference.contexts import context, has_flint
from gradcli.reference.deadline import REACHED, OutOfTime, Undecided, deadline
from gradcli.reference.scalars import plain
from gradcli.report.records import Record
from gradcli.report.verdicts import Check, Departure, VariableCheck, Verdict, honest

NOBODY: Mapping[str, str] = {}
_LACKING = (Verdict.UNDEFINED, Verdict.ILL_CONDITIONED, Verdict.MISMATCH)
_WITHOUT_REFERENCE = (
    GradcliError,
    Unsupported,
    ValueError,
    ArithmeticError,
    IndexError,
    MemoryError,
)


class _Asked(NamedTuple):
    """A record that is judged, with the claims about it; see `cross_check`."""

    scope: Scope
    root: Expr
    wrt: dict[str, Expr]
    record: Record
    claims: Sequence[Given]
    seed_leaf: Expr | None
    convention: str | None
    remembering: bool

    def of_value(self, root: Expr, value: Any) -> VariableCheck | None:
        """The verdict on the value of a function."""
        return Judge(self.scope, root, {}, np.ones(root.shape)[()], {}).decide(value)[0]


def cross_check(
    scope: Scope, root: Expr, wrt: dict[str, Expr], record: Record, timeout: float | None, claims: Sequence[Given] = (),
    seed_leaf: Expr | None = None, remembering: bool = False, convention: str | None = None, excused: Mapping[str, str] = NOBODY,
) -> Check:  # fmt: skip
    """The verdict on a record's value and derivatives, and on claims about them.

    seed_leaf    what the name ``seed`` stands for inside of claims
    remembering  whether verdicts are kept between runs
    convention   which choice at kinks is right in claims that are numbers; None for any between the
                 derivatives from both sides
    excused      names whose derivative does not exist and was not asked for, each with the reason;
                 they count for no verdict
    """
    if root.kind != "float":
        return Check(Verdict.SKIPPED, reason="the result is not a number")
    grad = record.grad or {} if excused else {}
    some = [
        name for name, found in grad.items() if np.isnan(found).any() and not np.isnan(found).all()
    ]
    judged = {name: x for name, x in wrt.items() if name not in excused or name in some}
    asked = _Asked(scope, root, judged, record, claims, seed_leaf, convention, remembering)
    check = (
        _recall_or_decide(asked, timeout)
        if remembering and record.mode == "grad"
        else _decide(asked, timeout)
    )
    return _with_excused(check, _keys(wrt, record.mode), excused) if excused else check


def _recall_or_decide(asked: _Asked, timeout: float | None) -> Check:
    from gradcli.check import verdict_cache

    key = verdict_cache.key_of(asked)
    known = verdict_cache.recall(key)
    if known is None:
        known = _decide(asked, timeout)
        verdict_cache.remember(key, known)
    return known


def _with_excused(check: Check, keys: Sequence[str], excused: Mapping[str, str]) -> Check:
    """The verdict on the names that were judged, with those that are excused; of these only entries
    that are numbers count.
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


def _decide(asked: _Asked, timeout: float | None) -> Check:
    scope, record = asked.scope, asked.record
    try:
        with deadline(timeout) as limit:
            check, judge = _judge(asked)
            finite = all(
                np.isfinite(scope.values[node]).all()
                for node in reachable([asked.root])
                if node.is_leaf
            )
            if (
                finite
                and has_flint()
                and not scope.in_passing
                and (check.loses or check.verdict in _LACKING)
            ):
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
    except _WITHOUT_REFERENCE as error:  # Python's and mpmath's own words tell nothing
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
    """The verdict on the result, and those on the claims beside it; and who gave it, if it was one
    judge.
    """
    record = asked.record
    if record.mode != "grad":
        check = _combine(_by_mode(asked))
        if record.hessian:
            check.critical_point = critical_point(asked.scope, asked.root, asked.wrt)
        return check, None
    judge = Judge(
        asked.scope,
        asked.root,
        asked.wrt,
        record.seed,
        record.grad,
        asked.remembering,
        asked.seed_leaf,
    )
    check = _combine(judge.decide(record.value, bool(asked.claims)))
    check.limits = limits_beside(judge, record.grad) if judge.decided else []
    if check.verdict is Verdict.ILL_CONDITIONED and not judge.wide:
        _name_branches(judge, check)
    if check.verdict is Verdict.MISMATCH:
        # floats are wrong where the rules are right, and something on the way is too large for
        # floats
        check.overflows = judge.decided and judge.overflown and judge.rules_hold
    if any(part.verdict is Verdict.MISMATCH for part in check.variables.values()):
        check.departs = departure(judge)
    check.claims = decide(
        judge,
        asked.claims,
        None if asked.convention is None else Conventions(judge, asked.convention),
    )
    return check, judge


def _name_branches(judge: Judge, check: Check) -> None:
    """Say of what is ill-conditioned which comparison rounding decides, if that makes a
    difference.
    """
    found = judge.branches(judge.precision)
    for place, part in enumerate([check.value, *(check.variables[name] for name in judge.wrt)]):
        if (
            found is not None
            and part is not None
            and part.verdict is Verdict.ILL_CONDITIONED
            and found.differ(place)
        ):
            part.reason = check.reason = found.text


def _keys(wrt: dict[str, Expr], mode: str) -> list[str]:
    """Return what the checks of a mode are called."""
    if mode == "hessian":
        return [f"{a},{b}" for a in wrt for b in wrt]
    return ["jvp"] if mode == "jvp" else list(wrt)


def _combine(parts: tuple[VariableCheck | None, dict[str, VariableCheck]]) -> Check:
    value, variables = parts
    check = Check(Verdict.SKIPPED, variables, value)
    check.verdict = max((part.verdict for part in check.parts), default=Verdict.SKIPPED)
    check.reason = next(
        (part.reason for part in check.parts if part.verdict is check.verdict and part.reason), None
    )
    return check


def _by_mode(asked: _Asked) -> tuple[VariableCheck | None, dict[str, VariableCheck]]:
    """The verdict on another derivative than the gradient: on gradients of rows, or on values of
    derivatives along a direction.
    """
    root, record = asked.root, asked.record
    if record.jacobian is not None:
        return _rows(asked, root, record.jacobian, record.value)
    if record.hvp is None and record.hessian is None:
        slope = asked.of_value(_jvp_node(asked, root), record.jvp)
        return asked.of_value(root, record.value), {} if slope is None else {"jvp": slope}
    gradients = {
        name: transforms.derive("vjp", root, x, transforms.ones_like(root))
        for name, x in asked.wrt.items()
    }
    if record.hessian is not None:
        rows = {
            name: _rows(asked, gradient, record.hessian[name], None)[1]
            for name, gradient in gradients.items()
        }
        return None, {
            f"{name},{other}": check for name, row in rows.items() for other, check in row.items()
        }
    assert record.hvp is not None
    checks = {
        name: asked.of_value(_jvp_node(asked, gradient), record.hvp[name])
        for name, gradient in gradients.items()
    }
    return asked.of_value(root, record.value), {
        name: check for name, check in checks.items() if check is not None
    }


def _jvp_node(asked: _Asked, root: Expr) -> Expr:
    """The Jacobian-vector product as a node that carries its definition."""
    scope = asked.scope
    total: Expr | None = None
    for name, tangent in asked.record.tangents.items():
        part = transforms.derive(
            "jvp", root, scope.leaves.get(name, scope.names[name]), scope.graph.constant(tangent)
        )
        total = part if total is None else total + part
    return transforms.zeros_like(root) if total is None else total


def _rows(
    asked: _Asked, root: Expr, matrices: Mapping[str, Any], value: Any
) -> tuple[VariableCheck | None, dict[str, VariableCheck]]:
    """A Jacobian as the gradients of its rows."""
    found: dict[str, list[VariableCheck]] = {name: [] for name in asked.wrt}
    checked = None
    for i, place in enumerate(np.ndindex(root.shape)):
        seed = transforms.one_hot(i, root.shape)[()] if root.shape else np.float64(1)
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
    worst.entries = (
        sum((c.entries or (0, 0))[0] for c in checks),
        sum((c.entries or (0, 0))[1] for c in checks),
    )
    worst.wrong = sum(c.wrong for c in checks)
    worst.kinks = [k for c in checks for k in c.kinks]
    return worst


_LARGEST = 20_000  # scalar operations of an expression that is searched
_DEPARTS = 1e-5


def departure(judge: Judge) -> Departure | None:
    """The first node whose adjoint is not the reference's, and the operation that made it; None if
    none was found.
    """
    order = reachable([judge.root])
    if judge.size > _LARGEST or any(node.op is derivative for node in order):
        return None
    nodes = [
        node
        for node in order
        if node.kind == "float"
        and (node.op is None or node.op.outputs == 1)
        and not node.is_constant
    ]
    m = context()
    m.dps = 50
    try:
        *_, right = reference_at(m, judge.root, nodes, judge.seed, judge.leaves, judge.precision)
    except (Unsupported, GradcliError, ValueError, ArithmeticError):
        return None
    with np.errstate(all="ignore"):
        values = forward([judge.root], judge.scope.values, judge.precision)
        found = backward(order, {judge.root: judge.seed}, nodes, values.__getitem__)
    for node, truth in reversed(list(zip(nodes, right, strict=True))):
        exact = list(map(plain, truth.ravel()))
        true = np.array(list(map(float, exact)))
        said = np.broadcast_to(np.asarray(found.get(node, 0.0), float), node.shape).ravel()
        with np.errstate(all="ignore"):
            size = np.abs(true)
            room = _DEPARTS * np.maximum(
                size, 1e-6 * np.max(size, initial=0.0, where=np.isfinite(true))
            )
            wrong = np.array(list(map(m.isfinite, exact)), bool) & ~(np.abs(said - true) <= room)
        if node is judge.root or not wrong.any():
            continue
        i = int(np.argmax(wrong))
        beyond = f"{m.nstr(exact[i], 6)}, too large for floats" if np.isinf(true[i]) else None
        consumers = [
            other for other in reversed(order) if node in other.operands and other in found
        ] or [judge.root]
        made_by = "' or '".join(dict.fromkeys(_text(judge, consumer) for consumer in consumers[:3]))
        place = next(
            (
                GradcliError("").at(span, source).place()
                for source, span in judge.scope.spans(consumers[0])
            ),
            None,
        )
        return Departure(
            _text(judge, node),
            made_by,
            index_of(i, node.shape),
            float(said[i]),
            float(true[i]),
            place,
            beyond,
        )
    return None


def _text(judge: Judge, node: Expr) -> str:
    spans: Sequence[Any] = judge.scope.spans(node)
    if spans:
        source, span = spans[0]
        text = " ".join(source.text[span.start : span.end].split())
        if len(text) <= 60:
            return text
    if node.is_leaf:
        return str(node.payload.name)
    return f"the result of {node.op.name}" if node.op is not None else "a constant"
