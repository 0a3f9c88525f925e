"""The cross-check of one result, whatever it is the derivative of, and of claims about it: verdicts within a time limit, or remembered."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

import numpy as np

from gradcli.check.claims import Conventions, decide
from gradcli.check.judge import Judge
from gradcli.check.proofs import Given
from gradcli.errors import GradcliError, LimitError
from gradcli.graph import transforms
from gradcli.graph.interpret import forward
from gradcli.graph.nodes import Expr, reachable
from gradcli.graph.sweep import backward
from gradcli.language.scope import Scope
from gradcli.reference.algebra import Unsupported
from gradcli.reference.contexts import has_flint
from gradcli.reference.deadline import REACHED, OutOfTime, Undecided, deadline
from gradcli.report.records import Record
from gradcli.report.verdicts import Check, VariableCheck, Verdict, honest

NOBODY: Mapping[str, str] = {}
_LACKING = (Verdict.UNDEFINED, Verdict.ILL_CONDITIONED, Verdict.MISMATCH)
_WITHOUT_REFERENCE = (GradcliError, Unsupported, ValueError, ArithmeticError, IndexError, MemoryError)


def cross_check(
    scope: Scope, root: Expr, wrt: dict[str, Expr], record: Record, timeout: float | None, claims: Sequence[Given] = (),
    seed_leaf: Expr | None = None, remembering: bool = False, convention: str | None = None, excused: Mapping[str, str] = NOBODY,
) -> Check:  # fmt: skip
    """The verdict on a record's value and derivatives, and on claims about them.

    seed_leaf    what the name ``seed`` stands for inside of claims
    remembering  whether verdicts are kept between runs
    convention   which choice at kinks is right in claims that are numbers; None for any between the derivatives from both sides
    excused      names whose derivative does not exist and was not asked for, each with the reason; they count for no verdict
    """
    if root.kind != "float":
        return Check(Verdict.SKIPPED, reason="the result is not a number")
    if excused:
        return _with_excused(scope, root, wrt, record, timeout, claims, seed_leaf, remembering, convention, excused)
    if not remembering or record.mode != "grad":
        return _decided(scope, root, wrt, record, timeout, claims, seed_leaf, convention)
    from gradcli.check import verdict_cache

    computed = [record.value, record.seed, *(record.grad or {}).values()]
    key = verdict_cache.key_of(root, wrt, scope.values, computed, scope.precision, claims, convention, scope.in_passing)
    known = verdict_cache.recalled(key)
    if known is None:
        known = _decided(scope, root, wrt, record, timeout, claims, seed_leaf, convention)
        verdict_cache.remember(key, known)
    return known


def _with_excused(
    scope: Scope, root: Expr, wrt: dict[str, Expr], record: Record, timeout: float | None, claims: Sequence[Given],
    seed_leaf: Expr | None, remembering: bool, convention: str | None, excused: Mapping[str, str],
) -> Check:  # fmt: skip
    """The verdict on the other names, and on the entries that are numbers of those that are excused."""
    grad = record.grad or {}
    some = [name for name, found in grad.items() if np.isnan(found).any() and not np.isnan(found).all()]
    judged = {name: x for name, x in wrt.items() if name not in excused or name in some}
    check = cross_check(scope, root, judged, record, timeout, claims, seed_leaf, remembering, convention)
    found: dict[str, VariableCheck] = {}
    for key in _keys(wrt, record.mode):
        part = check.variables.get(key)
        reason = next((excused[name] for name in key.split(",") if name in excused), None)
        if reason is not None and (part is None or part.verdict is Verdict.UNDEFINED):
            part = VariableCheck(Verdict.SKIPPED, reason=reason)
        if part is not None:
            found[key] = part
    if check.verdict is Verdict.UNDEFINED and found != check.variables:
        parts = [*found.values(), *([] if check.value is None else [check.value])]
        check.verdict = max((part.verdict for part in parts), default=Verdict.SKIPPED)
        check.verdict = check.worst
        check.reason = next((part.reason for part in parts if part.verdict is check.verdict and part.reason), None)
    check.variables = found
    return check


def _decided(
    scope: Scope, root: Expr, wrt: dict[str, Expr], record: Record, timeout: float | None, claims: Sequence[Given],
    seed_leaf: Expr | None, convention: str | None,
) -> Check:  # fmt: skip
    try:
        with deadline(timeout) as limit:
            check, judge = _judged(scope, root, wrt, record, claims, seed_leaf, convention)
            finite = all(np.isfinite(scope.values[node]).all() for node in reachable([root]) if node.is_leaf)
            if finite and not scope.in_passing and (check.loses or check.verdict in _LACKING):
                _repair(check, judge or _judge(scope, root, wrt, record))
    except OutOfTime as passed:
        if passed is not limit:
            raise
        return _undetermined(wrt, REACHED, record)
    except Undecided as reason:
        return _undetermined(wrt, str(reason), record)
    except LimitError as error:
        return _undetermined(wrt, error.message, record)
    except _WITHOUT_REFERENCE as error:
        return _undetermined(wrt, f"the reference has no value{_words_of(error)}", record)
    check.verdict = check.worst
    for part in [*check.variables.values(), *([] if check.value is None else [check.value])]:
        honest(part, scope.precision)
    return check


def _words_of(error: Exception) -> str:
    """Return what an error says of a reference, after a colon: nothing where its words are Python's or mpmath's."""
    if isinstance(error, MemoryError):
        return ": out of memory"
    return f": {error}" if isinstance(error, (GradcliError, Unsupported)) else ""


def _judged(
    scope: Scope, root: Expr, wrt: dict[str, Expr], record: Record, claims: Sequence[Given], seed_leaf: Expr | None, convention: str | None
) -> tuple[Check, Judge | None]:
    """The verdict on the result, and those on the claims beside it; and who gave it, if it was one judge."""
    if record.mode != "grad":
        return _combined(_by_mode(scope, root, wrt, record)), None
    assert record.grad is not None
    judge = Judge(scope, root, wrt, record.seed, record.grad)
    judge.seed_leaf = seed_leaf
    check = _combined(judge.decide(record.value))
    if check.verdict is Verdict.ILL_CONDITIONED and not judge.wide:
        _name_branches(judge, check)
    if check.verdict is Verdict.MISMATCH:
        check.overflows = judge.overflows
    if any(part.verdict is Verdict.MISMATCH for part in check.variables.values()):
        from gradcli.check.locating import departure

        check.departs = departure(judge)
    check.claims = decide(judge, claims, None if convention is None else Conventions(judge, convention))
    return check, judge


def _name_branches(judge: Judge, check: Check) -> None:
    """Say of what is ill-conditioned which comparison rounding decides, if that makes a difference."""
    parts = [check.value, *(check.variables[name] for name in judge.wrt)]
    lost = [place for place, part in enumerate(parts) if part is not None and part.verdict is Verdict.ILL_CONDITIONED]
    found = judge.branches()
    for place in lost if found is not None else ():
        part = parts[place]
        if part is not None and found is not None and found.differ(place):
            part.reason = str(found)
            check.reason = check.reason if check.reason == part.reason else str(found)


def _repair(check: Check, judge: Judge) -> None:
    """How to write the function where digits or the whole value were lost: what is proposed is proved in balls."""
    if not has_flint():
        return
    from gradcli.check.repairs import repair

    with suppress(Undecided, *_WITHOUT_REFERENCE):
        repair(check, judge)


def _judge(scope: Scope, root: Expr, wrt: dict[str, Expr], record: Record) -> Judge:
    """The judge of a gradient, where another derivative was asked for."""
    seed = np.ones(root.shape)[()] if record.seed is None else record.seed
    values = forward([root], scope.values, scope.precision)
    with np.errstate(all="ignore"):
        found = backward(reachable([root]), {root: seed}, list(wrt.values()), values.__getitem__)
    return Judge(scope, root, wrt, seed, {name: np.broadcast_to(np.asarray(found.get(x, 0.0)), x.shape) for name, x in wrt.items()})


def _undetermined(wrt: dict[str, Expr], reason: str, record: Record) -> Check:
    variables = {name: VariableCheck(Verdict.UNDETERMINED, reason=reason) for name in _keys(wrt, record.mode)}
    return Check(Verdict.UNDETERMINED, variables, reason=reason)


def _keys(wrt: dict[str, Expr], mode: str) -> list[str]:
    """Return what the checks of a mode are called."""
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
    if record.mode == "hvp":
        assert record.hvp is not None
        return _products(scope, root, wrt, record, record.hvp)
    assert record.hessian is not None
    checks: dict[str, VariableCheck] = {}
    for name, x in wrt.items():
        gradient = transforms.derive("vjp", root, x, transforms.ones_like(root))
        _, row = _rows(scope, gradient, wrt, record.hessian[name], None)
        for other, check in row.items():
            checks[f"{name},{other}"] = check
    return None, checks


def _products(
    scope: Scope, root: Expr, wrt: dict[str, Expr], record: Record, products: Mapping[str, Any]
) -> tuple[VariableCheck | None, dict[str, VariableCheck]]:
    """The Hessian times a direction as the derivatives of the gradients in that direction."""
    value, _ = Judge(scope, root, {}, np.ones(root.shape)[()], {}).decide(record.value)
    checks: dict[str, VariableCheck] = {}
    for name, x in wrt.items():
        pushed = _pushed(scope, transforms.derive("vjp", root, x, transforms.ones_like(root)), record.tangents)
        found, _ = Judge(scope, pushed, {}, np.ones(x.shape)[()], {}).decide(products[name])
        if found is not None:
            checks[name] = found
    return value, checks


def _pushed(scope: Scope, root: Expr, tangents: Mapping[str, Any]) -> Expr:
    """The Jacobian-vector product as a node that carries its definition."""
    total: Expr | None = None
    for name, tangent in tangents.items():
        part = transforms.derive("jvp", root, scope.leaves.get(name, scope.names[name]), scope.graph.constant(tangent))
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
    worst = max(checks, key=lambda c: (c.verdict, -(17 if c.digits is None else c.digits), c.max_rel_error or 0.0))
    worst.entries = (sum((c.entries or (0, 0))[0] for c in checks), sum((c.entries or (0, 0))[1] for c in checks))
    worst.wrong = sum(c.wrong for c in checks)
    worst.kinks = [k for c in checks for k in c.kinks]
    return worst
