"""Why a number is what it is: which entry is meant, what kind of story it has, and who tells it."""

from __future__ import annotations

import ast
import math
import re
from collections.abc import Iterator
from typing import Any

import numpy as np

from gradcli.characters import normalized
from gradcli.errors import UsageError, suggestion
from gradcli.explanations.paths import Entries, Mask, entry_text, shown
from gradcli.ops.elementwise.logic import Pieces
from gradcli.report.explanation import Contribution, ExplainedNode, Explanation, Path, Why
from gradcli.report.number_text import size

# -- Where a number that is infinite, or none, comes from: the first operation, forward or
# backward, that made it of finite ones.


def nonfinite_value(entries: Entries) -> Why:
    """Of the result."""
    number = entries.number(entries.node(entries.id).value, entries.mask)
    id, words = _born(entries, entries.id)
    first = f"{entries.text} is {shown(number)}: {words}"
    return _told(entries, first, [], id, None)


def nonfinite_gradient(entries: Entries, number: Any) -> Why:
    """Of a gradient: because the forward pass already has such a number, or because the way back makes one."""
    begin = f"{entries.text} has gradient {shown(number)}"
    found = _way_back(entries)
    if found is None:
        id, words = _born(entries, entries.explanation.result)
        return _told(entries, f"{begin}: {words}", [], id, None)
    part, mask = found
    lines = []
    bad = [operand for operand in (entries.node(part.node), *entries.operands(part.node)) if _bad(operand.value)]
    if bad:
        id, words = _born(entries, bad[0].id)
        lines.append(f"in the forward pass {words}")
    lines += [f"from there it flows to {entries.name} through every factor"] if part.operand != entries.id else []
    return _told(entries, f"{begin}: {_product(entries, part, mask)}", lines, part.node, part.operand)


def _told(entries: Entries, first: str, more: list[str], node: int, operand: int | None) -> Why:
    check = entries.explanation.record.check
    repair = None
    if check is not None and check.repairs:
        repair = check.rewrite.text if check.rewrite is not None else check.repairs[0].partition(" as ")[2]
        more = [*more, f"a finite number there: write {check.repairs[0]}"]
    return Why(entries.text, "nonfinite", [first, *more], node, operand, entries.index, repair)


def _bad(value: Any) -> bool:
    if isinstance(value, tuple):
        return any(map(_bad, value))
    array = np.asarray(value)
    return array.dtype.kind == "f" and not bool(np.isfinite(array).all())


def _born(entries: Entries, id: int) -> tuple[int, str]:
    """The first node below one, in the order of the forward pass, that is not finite though its operands are; and what it made of them."""
    seen, pending = {id}, [id]
    for here in pending:  # which grows
        for operand in entries.node(here).operands:
            if operand not in seen and _bad(entries.node(operand).value):
                seen.add(operand)
                pending.append(operand)
    first = min(seen)
    node = entries.node(first)
    array = np.asarray(node.value[0] if isinstance(node.value, tuple) else node.value)
    place = tuple(int(i) for i in np.argwhere(~np.isfinite(array))[0])
    where = f" at index {list(place)}" if place else ""
    if not node.operands:
        return first, f"{entries.called(first)}, which was given, is {shown(array[place])}{where}"
    of = [_at(each.value, place, array.shape) for each in entries.operands(first)]
    known = f", of {' and '.join(of)}" if all(of) else ""
    return first, f"{entries.called(first)} is {shown(array[place])}{where}{known}"


def _at(value: Any, place: tuple[int, ...], shape: tuple[int, ...]) -> str:
    """The operand's entry that goes with one of the result, where they go together entry by entry."""
    try:
        return shown(np.broadcast_to(np.asarray(value), shape)[place])
    except ValueError:
        return ""


def _way_back(entries: Entries) -> tuple[Contribution, Mask] | None:
    """From the entry towards the result, as long as what arrives is not finite: the contribution that is so first, of a finite adjoint."""
    id, mask = entries.id, entries.mask
    found: tuple[Contribution, Mask] | None = None
    while True:
        parts = [part for part in entries.arrived.get(id, []) if not isinstance(part.passed, tuple)]
        bad = [part for part in parts if not np.isfinite(np.broadcast_to(part.passed, mask.shape)[mask]).all()]
        if not bad:
            return found
        above = [(part, entries.above(part, mask)) for part in bad]
        found = above[0]
        adjoint = entries.node(found[0].node).adjoint
        finite = isinstance(adjoint, tuple) or np.isfinite(np.asarray(adjoint)[found[1]]).all()
        if finite:
            return found
        id, mask = found[0].node, found[1]


def _product(entries: Entries, part: Contribution, mask: Mask) -> str:
    """The adjoint times the local derivative that gave what is not finite."""
    user = entries.called(part.node)
    adjoint = np.asarray(entries.node(part.node).adjoint)
    if part.local is None:
        return f"the derivative of {user} by {entries.called(part.operand)} is not finite"
    local = np.broadcast_to(np.asarray(part.local, float), np.shape(adjoint))
    with np.errstate(all="ignore"):
        products = adjoint * local
    places = np.argwhere(~np.isfinite(products) & np.broadcast_to(mask, np.shape(products)))
    if not len(places):
        return f"the sum over the entries of {user} is not finite"
    place = tuple(places[0])
    factor = f"{part.partial} = {shown(local[place])}" if part.partial is not None else shown(local[place])
    by = entries.called(part.operand)
    result = f"{shown(adjoint[place])} times {shown(local[place])} is {shown(products[place])}"
    return f"the derivative of {user} by {by} is {factor}, and {result}"


# -- Why a number is as large as it is, or as imprecise: the factors along the largest path, and
# where digits are lost.


_LARGE, _SMALL = 1e5, 1e-5
_FACTORS = 4  # that are told, the most extreme first


def imprecise(entries: Entries, number: Any) -> Why | None:
    """Return where digits are lost, if the cross-check says that many are."""
    check = entries.explanation.record.check
    if check is None:
        return None
    part = (
        check.value
        if entries.id == entries.explanation.result and entries.name not in check.variables
        else check.variables.get(entries.name)
    )
    if part is None or part.lost is None:
        return None
    lost = sorted(_cancellations(entries), reverse=True)
    begin = f"{entries.text} = {shown(number)} has lost {part.lost} bits"
    if not lost:
        return Why(entries.text, "imprecise", [f"{begin} to rounding along its way"], entries.id, None, entries.index)
    bits, node, operand, words = lost[0]
    repair = check.rewrite.text if check.rewrite is not None else check.repairs[0].partition(" as ")[2] if check.repairs else None
    lines = [f"{begin}: {words}, which costs {bits} bits"]
    lines += [f"{more[3]}, {more[0]} bits" for more in lost[1:3] if more[0] > 3]
    lines += [f"write {check.repairs[0]}"] if check.repairs else []
    return Why(entries.text, "imprecise", lines, node, operand or None, entries.index, repair)


def _cancellations(entries: Entries) -> Iterator[tuple[int, int, int, str]]:
    """Sums of what nearly cancels, forward and backward: bits, the node, the operand, in words."""
    for node in entries.explanation.nodes:
        op = entries.op(node.id)
        if op is None or isinstance(node.value, tuple) or node.kind != "float":
            continue
        terms = [each.value for each in entries.operands(node.id)]
        if op.algebra in ("sum", "difference") and all(not isinstance(term, tuple) for term in terms):
            bits = _bits(terms, node.value)
            named = " and ".join(f"{entries.called(each.id)} = {shown(each.value)}" for each in entries.operands(node.id))
            if bits:
                yield bits, node.id, 0, f"{entries.called(node.id)} subtracts what is nearly equal, {named}"
        elif op.algebra == "total":
            bits = _bits([np.abs(np.asarray(terms[0])).sum()], np.asarray(node.value))
            if bits:
                yield bits, node.id, 0, f"the terms of {entries.called(node.id)} nearly cancel"
    for id, parts in entries.arrived.items():
        node = entries.node(id)
        if len(parts) > 1 and not isinstance(node.adjoint, tuple) and node.adjoint is not None:
            bits = _bits([part.passed for part in parts], node.adjoint)
            if bits:
                named = " and ".join(shown(part.passed) for part in parts[:3])
                yield bits, id, 0, f"the contributions to {entries.called(id)}, {named}, nearly cancel"


def _bits(terms: list[Any], total: Any) -> int:
    """How many bits a sum loses at its worst entry."""
    with np.errstate(all="ignore"):
        largest = np.max(np.broadcast_arrays(*[np.abs(np.asarray(term, float)) for term in terms]), axis=0)
        ratio = largest / np.abs(np.asarray(total, float))
        worst = float(np.max(np.where(np.isfinite(ratio), ratio, 0), initial=0))
    return int(math.log2(worst)) if worst >= 2 else 0


def sized_gradient(entries: Entries, number: Any) -> Why:
    """Large, small or plain: what flows along the largest path, and the factors there."""
    gradient = entries.explanation.gradients[entries.name]
    magnitude = abs(float(number))
    kind = "large" if magnitude >= _LARGE else "small" if magnitude <= _SMALL else "plain"
    begin = f"{entries.text} has gradient {shown(number)}"
    paths = sorted(
        gradient.paths, key=lambda path: -abs(float(np.broadcast_to(path.contribution, np.shape(gradient.value))[entries.index]))
    )
    if not paths:
        return Why(entries.text, kind, [begin], entries.id, None, entries.index)
    path = paths[0]
    lines = []
    steps = entries.steps(path.nodes)
    share = _share(path, entries)
    factors = list(_factors(entries, path))
    node, operand = (factors[0][1], factors[0][2]) if factors else (entries.id, None)
    if kind == "plain":
        whole = "all of it" if len(paths) == 1 and not gradient.left_out else shown(share)
        first = f"{begin}: {whole} by {steps}"
    else:
        told = ", ".join(f"{shown(factor)} at {entries.called(user)}" for factor, user, _ in factors[:_FACTORS])
        first = f"{begin}: the {'largest' if kind == 'large' else 'smallest'} factors on its way are {told}" if told else begin
        lines.append(f"{shown(share)} by {steps}")
    for other in paths[1:_FACTORS]:
        lines.append(f"{shown(_share(other, entries))} by {entries.steps(other.nodes)}")
    more = max(0, len(paths) - _FACTORS) + gradient.left_out
    lines += [f"and {more:,} smaller paths"] if more else []
    return Why(entries.text, kind, [first, *lines], node, operand, entries.index)


def _share(path: Path, entries: Entries) -> float:
    """Return what the entry has by a path."""
    return float(np.broadcast_to(path.contribution, np.shape(entries.explanation.gradients[entries.name].value))[entries.index])


def _factors(entries: Entries, path: Path) -> Iterator[tuple[float, int, int]]:
    """How much each edge of a path multiplies by, the most extreme first: of arrays, the ratio of the sums of magnitudes."""
    found = []
    edges = {(part.operand, part.node): part for part in entries.explanation.backward}
    for operand, user in zip(path.nodes, path.nodes[1:], strict=False):
        part = edges.get((operand, user))
        if part is None:
            continue
        before, after = entries.node(user).adjoint, part.passed
        whole = size(before) if before is not None else 0.0
        factor = float(part.local) if part.local is not None and np.ndim(part.local) == 0 else size(after) / whole if whole else math.nan
        if factor and math.isfinite(factor):
            found.append((factor, user, operand))
    yield from sorted(found, key=lambda each: -abs(math.log(abs(each[0]))))


def sized_value(entries: Entries, number: Any) -> Why:
    """The operation that gives the result, and what of."""
    node = entries.node(entries.id)
    magnitude = abs(float(number))
    kind = "large" if magnitude >= _LARGE else "small" if magnitude <= _SMALL else "plain"
    of = [f"{entries.called(each.id)} = {shown(each.value)}" for each in entries.arguments(node.id)]
    made = f": {node.function or node.op} of {' and '.join(of)}" if of else ", as it was given"
    return Why(entries.text, kind, [f"{entries.text} is {shown(number)}{made}"], node.id, None, entries.index)


# -- Why a number is zero: what does not depend on it, what is flat where it is, what it is
# multiplied with, and what cancels.


_TOLD = 3  # ways whose reasons are told


def zero_value(entries: Entries) -> Why:
    """Of the result: the operands that make it so."""
    node = entries.node(entries.id)
    op = entries.op(node.id)
    named = f"{entries.text} is 0"
    zeros = [each for each in entries.operands(node.id) if not isinstance(each.value, tuple) and np.all(np.asarray(each.value) == 0)]
    if not node.operands:
        words = "it was given as 0"
    elif op is not None and op.algebra in ("product", "matrix product", "quotient") and zeros:
        words = f"its factor {entries.called(zeros[0].id)} is 0"
    elif op is not None and op.algebra in ("sum", "difference", "total"):
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
    """Return what makes the adjoint zero at some entries of a node: at the first zero on each way towards the result."""
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
    algebra = op.algebra if op is not None else ""
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
        if op.selects and len(others) > 0:
            return f"{user} takes {entries.called(others[0].id)} there, not {by} = {shown(input)}"
        return f"{user} is flat there: its input {by} is {shown(input)}, and the derivative {part.partial or 'by it'} is 0"
    if op.kind == "smooth" and part.partial is not None and _vanishes(part, input):
        return f"{user} is saturated: its derivative at {by} = {shown(input)} is below the smallest float"
    formula = f" {part.partial}" if part.partial is not None else ""
    return f"the derivative{formula} of {user} by {by} is 0 at {by} = {shown(input)}"


def _vanishes(part: Contribution, input: Any) -> bool:
    """Return whether a smooth function is flat only because floats end: far out."""
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
    if op is not None and op.selects:
        return f"{user} takes other entries: {what} is not among them"
    if op is not None and op.linear and len(op.operands) == 1:
        return f"{user} does not contain {what}"
    if op is not None and op.elementwise:
        given = entries.number(entries.node(part.operand).value, entries.mask if part.operand == entries.id else None)
        return f"{user} is flat there: {what} is {shown(given)}"
    return f"{user} does not depend on {what} near this point: its derivative by it is 0"


VALUE = "value"
_WORD = re.compile(r"[^\W\d]\w*")
_TARGET = re.compile(r"\s*([^\W\d]\w*)\s*(\[[^\]]*\])?\s*\Z")


def why(explanation: Explanation, target: str) -> Why:
    """The story of an entry of a gradient, or of the result: ``x``, ``x[2]``, ``w[0, 1]``, ``value``. Raises UsageError.

    Of an array without an index it is an entry that asks for one: one that is not finite, or zero, or else the largest.
    """
    match = _TARGET.match(normalized(target))
    if match is None:
        raise UsageError(f"--why takes a name, NAME[INDEX] or value, not '{target}'", help="write --why x, --why 'x[2]' or --why value")
    name, index_text = match.groups()
    if name == VALUE and VALUE not in explanation.gradients:
        whole = np.asarray(explanation.record.value)
        index = _index(index_text, whole, target)
        told = _of_value(explanation, index, whole[index])
    else:
        told = _of_gradient(explanation, name, index_text, target)
    told.index = told.index or ()
    return told


def _of_value(explanation: Explanation, index: tuple[int, ...], number: Any) -> Why:
    entries = Entries(explanation, VALUE, explanation.result, index)
    if not np.isfinite(number):
        return nonfinite_value(entries)
    if number == 0:
        return zero_value(entries)
    return imprecise(entries, number) or sized_value(entries, number)


def _of_gradient(explanation: Explanation, name: str, index_text: str | None, target: str) -> Why:
    node = next((each for each in explanation.nodes if each.name == name), None)
    gradient = explanation.gradients.get(name)
    if gradient is None:
        if node is not None:
            return _not_asked(explanation, name, node.id)
        known = [*explanation.gradients, VALUE]
        close = suggestion(name, known)
        help = f"did you mean '{close}'?" if close else f"there are {', '.join(known[:20])}"
        raise UsageError(f"'{name}' has no gradient here", help=help)
    whole = np.asarray(gradient.value)
    index = _index(index_text, whole, target)
    number = whole[index]
    if node is None:  # it does not stand in the result
        mentioned = name in _WORD.findall(explanation.record.expr)
        reason = "nothing in the result depends on it" if mentioned else f"the expression does not contain {name}"
        text = f"{entry_text(name, index)} has gradient 0: {reason}"
        return Why(entry_text(name, index), "zero", [text], index=index)
    entries = Entries(explanation, name, node.id, index)
    if not np.isfinite(number):
        return nonfinite_gradient(entries, number)
    if number == 0:
        return zero_gradient(entries)
    return imprecise(entries, number) or sized_gradient(entries, number)


def _not_asked(explanation: Explanation, name: str, id: int) -> Why:
    """Of a name that is held: it has no gradient by intention."""
    node = explanation.node(id)
    if node.op == "frozen":
        reason = f"{name} is frozen: it is held constant by const, --freeze or --wrt, and no gradient flows to it"
    elif node.kind != "float":
        reason = f"{name} is {'true or false' if node.kind == 'bool' else 'a whole number'}, which has no gradient"
    else:
        reason = f"{name} is a part of the expression and not asked for: its adjoint is {explanation.node(id).adjoint}"
    return Why(name, "zero" if node.op == "frozen" or node.kind != "float" else "plain", [reason], node=id)


def _index(text: str | None, whole: np.ndarray, target: str) -> tuple[int, ...]:
    """The entry that is meant. Raises UsageError."""
    if text is None or not text.strip("[] "):
        return _telling(whole)
    try:
        read = ast.literal_eval(f"({text[1:-1]},)")
        index = tuple(int(part) for part in read if type(part) is int)
        if len(index) != len(read) or len(index) != whole.ndim:
            raise ValueError
        whole[index]
    except (ValueError, SyntaxError, IndexError):
        shape = f"of shape {whole.shape}" if whole.ndim else "a number"
        raise UsageError(f"'{target}' is no entry: the gradient is {shape}", help="indices count from 0, one for each axis") from None
    return tuple(part % n for part, n in zip(index, whole.shape, strict=True))


def _telling(whole: np.ndarray) -> tuple[int, ...]:
    """The entry that asks for a story most."""
    if not whole.size:
        raise UsageError("it has no entries, and so nothing to tell")
    with np.errstate(all="ignore"):
        for asks in (~np.isfinite(whole), whole == 0, np.abs(whole) == np.abs(whole).max()):
            if asks.any():
                return tuple(int(i) for i in np.argwhere(asks)[0])
    return (0,) * whole.ndim
