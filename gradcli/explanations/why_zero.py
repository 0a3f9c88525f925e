"""Why a number is zero: what does not depend on it, what is flat where it is, what it is multiplied with, and what cancels."""

from __future__ import annotations

from typing import Any

import numpy as np

from gradcli.explanations.entries import Entries, Mask, shown
from gradcli.ops.elementwise.pieces import Pieces
from gradcli.report.explanation import Contribution, ExplainedNode, Why

_TOLD = 3  # ways whose reasons are told


def zero_value(entries: Entries) -> Why:
    """Of the result: the operands that make it so."""
    node = entries.node(entries.id)
    op = entries.op(node.id)
    named = f"{entries.text} is 0"
    zeros = [each for each in entries.operands(node.id) if not isinstance(each.value, tuple) and np.all(np.asarray(each.value) == 0)]
    if not node.operands:
        words = "it was given as 0"
    elif op is not None and op.rewriting.algebra in ("product", "matrix product", "quotient") and zeros:
        words = f"its factor {entries.called(zeros[0].id)} is 0"
    elif op is not None and op.rewriting.algebra in ("sum", "difference", "total"):
        terms = [f"{entries.called(each.id)} = {shown(_entry(each, entries))}" for each in entries.operands(node.id)]
        words = f"the terms {' and '.join(terms)} cancel" if len(zeros) != len(terms) else " and ".join(terms)
    else:
        terms = [f"{entries.called(each.id)} = {shown(_entry(each, entries))}" for each in entries.operands(node.id)]
        words = f"{node.op} of {' and '.join(terms)} is 0"
    return Why(entries.text, "zero", [f"{named}: {words}"], node.id, zeros[0].id if zeros else None, entries.index)


def _entry(node: ExplainedNode, entries: Entries) -> Any:
    if isinstance(node.value, tuple):
        return node.value
    array = np.asarray(node.value)
    shape = np.shape(entries.node(entries.id).value)
    try:
        return np.broadcast_to(array, shape)[entries.index]
    except ValueError:
        return array


def zero_gradient(entries: Entries) -> Why:
    """Of a gradient: because nothing flows, because each way ends in a zero, or because what flows cancels."""
    begin = f"{entries.text} has gradient 0"
    found = _reasons(entries, entries.id, entries.mask)
    reasons = [reason for reason in found if not reason[3]] or found
    node, operand, first, _ = reasons[0]
    more = [f"also, {words}" for _, _, words, _ in reasons[1:_TOLD]]
    if len(reasons) > _TOLD:
        more.append(f"and {len(reasons) - _TOLD} more ways are zero")
    return Why(entries.text, "zero", [f"{begin}: {first}", *more], node, operand, entries.index)


_Reason = tuple[int, int | None, str, bool]  # the node, the operand, words, and whether that is so by nature rather than at this point


def _reasons(entries: Entries, id: int, mask: Mask) -> list[_Reason]:
    """What makes the adjoint zero at some entries of a node: at the first zero on each way towards the result."""
    found: dict[str, _Reason] = {}
    pending: list[tuple[int, Mask]] = [(id, mask)]
    seen: set[int] = set()
    for here, entry in pending:  # which grows
        if here in seen:
            continue
        seen.add(here)
        parts = entries.arrived.get(here, [])
        stopped = _stops(entries, here, {part.node for part in parts})
        for reason in stopped:
            found.setdefault(reason[2], reason)
        passed = [np.broadcast_to(np.asarray(part.passed), entry.shape)[entry] for part in parts if not isinstance(part.passed, tuple)]
        if not all(np.isfinite(part).all() for part in passed):
            words = f"on the way from {entries.called(here)} zero meets infinity, and what the product tends to is 0"
            found.setdefault(words, (here, None, words, False))
            continue
        if any(np.any(part != 0) for part in passed):
            terms = " and ".join(
                f"{shown(part.ravel()[0])} from {entries.called(each.node)}" for each, part in zip(parts, passed, strict=False)
            )
            reason = (here, None, f"the contributions {terms} cancel", False)
            found.setdefault(reason[2], reason)
            continue
        for part in parts:
            above = entries.above(part, entry)
            adjoint = entries.node(part.node).adjoint
            if isinstance(adjoint, tuple) or np.any(np.asarray(adjoint)[above] != 0):
                reason = (part.node, part.operand, _flat(entries, part, above), False)
                found.setdefault(reason[2], reason)
            else:
                pending.append((part.node, above))
    if not found:
        reason = (id, None, f"the seed is 0 where {entries.name} counts", False)
        found[reason[2]] = reason
    return list(found.values())


def _stops(entries: Entries, id: int, passing: set[int]) -> list[_Reason]:
    """Users of a node that pass nothing back to it at all."""
    found: list[_Reason] = []
    for user in entries.users.get(id, []):
        if user.id in passing:
            continue
        op = entries.op(user.id)
        text = entries.called(user.id)
        if user.kind == "bool":
            words = f"{text} is true or false, and passes no gradient on"
        elif user.kind == "int":
            words = f"{text} takes it as a whole number, which passes no gradient on"
        elif op is not None and op.kind == "flat":
            words = f"{text} is flat: its derivative is 0 wherever it has one"
        elif op is not None and op.partials is None and not op.elementwise and user.adjoint is None:
            words = f"{text} stops gradients"
        elif user.adjoint is None:
            words = f"{text} takes no part in the gradient"
        else:
            words = f"{text} has adjoint 0 and passes nothing back"
        found.append((user.id, id, words, user.kind != "float"))
    if not entries.users.get(id) and id != entries.explanation.result:
        found.append((id, None, "nothing in the result depends on it", False))
    return found


def _flat(entries: Entries, part: Contribution, mask: Mask) -> str:
    """Why an operation passes back nothing of an adjoint that is not zero."""
    user, by, op = entries.called(part.node), entries.called(part.operand), entries.op(part.node)
    algebra = op.rewriting.algebra if op is not None else ""
    others = [each for place, each in enumerate(entries.operands(part.node)) if place != part.place]
    if algebra == "choice":
        condition = next(entries.operands(part.node))
        is_chosen = entries.number(np.broadcast_to(condition.value, mask.shape), mask) if np.ndim(condition.value) <= mask.ndim else "other"
        return f"{user} takes the other branch there: {entries.called(condition.id)} is {shown(is_chosen)}"
    if part.local is None or op is None:
        return _structural(entries, part)
    node = entries.node(part.node)
    adjoint = entries.number(node.adjoint, mask)
    local = entries.number(part.local, mask)
    if local != 0:
        return f"{user} passes back {shown(adjoint)} times {shown(local)}, which is below the smallest float"
    operand = np.asarray(entries.node(part.operand).value)
    input = entries.number(np.broadcast_to(operand, mask.shape), mask) if operand.ndim <= mask.ndim else operand
    if algebra in ("product", "chain") and others:
        factor = entries.called(others[0].id)
        return f"in {user}, {by} is multiplied by {factor}" + (", which is 0" if factor != "0" else "")
    if op.kinks and _on_kink(entries, part, mask):
        kink = next(kink for kink in op.kinks)
        return f"{by} = {shown(input)} is at a kink of {user}, where the derivative is chosen: {kink.convention}"
    if op.partials is not None and isinstance(op.partials[part.place], Pieces):
        if op.facts.selects and len(others) > 0:
            return f"{user} takes {entries.called(others[0].id)} there, not {by} = {shown(input)}"
        return f"{user} is flat there: its input {by} is {shown(input)}, and the derivative {part.partial or 'by it'} is 0"
    if op.kind == "smooth" and part.partial is not None and _vanishes(part, input):
        return f"{user} is saturated: its derivative at {by} = {shown(input)} is below the smallest float"
    formula = f" {part.partial}" if part.partial is not None else ""
    return f"the derivative{formula} of {user} by {by} is 0 at {by} = {shown(input)}"


def _vanishes(part: Contribution, input: Any) -> bool:
    """Whether a smooth function is flat only because floats end: far out."""
    return bool(np.abs(np.asarray(input, float)) > 15) if np.ndim(input) == 0 else False


def _on_kink(entries: Entries, part: Contribution, mask: Mask) -> bool:
    op = entries.op(part.node)
    assert op is not None
    values = [entries.number(np.broadcast_to(np.asarray(each.value), mask.shape), mask) for each in entries.operands(part.node)]
    for kink in op.kinks:
        try:
            if bool(kink.where(*map(float, values))):
                return True
        except (TypeError, ValueError):
            continue
    return False


def _structural(entries: Entries, part: Contribution) -> str:
    """Of operations that move or choose entries."""
    user, op = entries.called(part.node), entries.op(part.node)
    at = f"entry {list(entries.index)}" if entries.index and part.operand == entries.id else "that entry"
    what = f"{at} of {entries.called(part.operand)}" if part.operand != entries.id else f"{entries.text}"
    if op is not None and op.facts.selects:
        return f"{user} takes other entries: {what} is not among them"
    if op is not None and op.facts.linear and len(op.operands) == 1:
        return f"{user} does not contain {what}"
    if op is not None and op.elementwise:
        given = entries.number(entries.node(part.operand).value, entries.mask if part.operand == entries.id else None)
        return f"{user} is flat there: {what} is {shown(given)}"
    return f"{user} does not depend on {what} near this point: its derivative by it is 0"
