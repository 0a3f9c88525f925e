"""Why a number is what it is: which entry is meant, what kind of story it has, and who tells it."""

from __future__ import annotations

import ast
import math
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from typing import Any

import numpy as np

from gradcli.characters import normalize
from gradcli.errors import UsageError, suggestion
from gradcli.explanations.paths import Entries, Mask, entry_text, number_in_words
from gradcli.ops.elementwise.logic import Pieces
from gradcli.ops.spec import Op
from gradcli.report.explanation import Contribution, Explanation, Path, Why
from gradcli.report.lines import size

# -- Where a number that is infinite, or none, comes from: the first operation, forward or
# backward, that made it of finite ones.


def nonfinite_value(entries: Entries, number: Any) -> Why:
    """Return why the result is not finite."""
    id, words = _first_not_finite(entries, entries.id)
    return _with_repair(entries, [f"{entries.text} is {number_in_words(number)}: {words}"], id)


def nonfinite_gradient(entries: Entries, number: Any) -> Why:
    """Return why a gradient is not finite: because the forward pass already has such a number, or
    because the way back makes one.
    """
    begin = f"{entries.text} has gradient {number_in_words(number)}"
    found = _way_back(entries)
    if found is None:
        id, words = _first_not_finite(entries, entries.explanation.result)
        return _with_repair(entries, [f"{begin}: {words}"], id)
    part, mask = found
    lines = [f"{begin}: {_product(entries, part, mask)}"]
    bad = [
        operand
        for operand in (entries.node(part.node), *entries.operands(part.node))
        if _bad(operand.value)
    ]
    lines += [f"in the forward pass {_first_not_finite(entries, bad[0].id)[1]}"] if bad else []
    lines += (
        [f"from there it flows to {entries.name} through every factor"]
        if part.operand != entries.id
        else []
    )
    return _with_repair(entries, lines, part.node, part.operand)


def _with_repair(entries: Entries, lines: list[str], node: int, operand: int | None = None) -> Why:
    repair, told = _repair(entries)
    return entries.story(
        "nonfinite",
        [*lines, *(f"a finite number there: {line}" for line in told)],
        node,
        operand,
        repair,
    )


def _repair(entries: Entries) -> tuple[str | None, list[str]]:
    """An expression with a better number, and the line that says so, where the cross-check knows
    one.
    """
    check = entries.explanation.record.check
    if check is None or not check.repairs:
        return None, []
    text = (
        check.rewrite.text if check.rewrite is not None else check.repairs[0].partition(" as ")[2]
    )
    return text, [f"write {check.repairs[0]}"]


def _bad(value: Any) -> bool:
    if isinstance(value, tuple):
        return any(map(_bad, value))
    array = np.asarray(value)
    return array.dtype.kind == "f" and not bool(np.isfinite(array).all())


def _first_not_finite(entries: Entries, id: int) -> tuple[int, str]:
    """The first node below one, in the order of the forward pass, that is not finite though its
    operands are; and what it made of them.
    """
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
        return (
            first,
            f"{entries.name_in_words(first)}, which was given, is "
            f"{number_in_words(array[place])}{where}",
        )
    found = f"{entries.name_in_words(first)} is {number_in_words(array[place])}{where}"
    try:  # where operands go with the result entry by entry
        of = [
            number_in_words(np.broadcast_to(np.asarray(each.value), array.shape)[place])
            for each in entries.operands(first)
        ]
    except ValueError:
        return first, found
    return first, f"{found}, of {' and '.join(of)}"


def _way_back(entries: Entries) -> tuple[Contribution, Mask] | None:
    """From the entry towards the result, as long as what arrives is not finite: the contribution
    that is so first, of a finite adjoint.
    """
    id, mask = entries.id, entries.mask
    found: tuple[Contribution, Mask] | None = None
    while True:
        parts = [part for part in entries.arrived.get(id, []) if not isinstance(part.passed, tuple)]
        bad = [
            part
            for part in parts
            if not np.isfinite(np.broadcast_to(part.passed, mask.shape)[mask]).all()
        ]
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
    user = entries.name_in_words(part.node)
    adjoint = np.asarray(entries.node(part.node).adjoint)
    if part.local is None:
        return f"the derivative of {user} by {entries.name_in_words(part.operand)} is not finite"
    local = np.broadcast_to(np.asarray(part.local, float), np.shape(adjoint))
    with np.errstate(all="ignore"):
        products = adjoint * local
    places = np.argwhere(~np.isfinite(products) & np.broadcast_to(mask, np.shape(products)))
    if not len(places):
        return f"the sum over the entries of {user} is not finite"
    place = tuple(places[0])
    factor = (
        f"{part.partial} = {number_in_words(local[place])}"
        if part.partial is not None
        else number_in_words(local[place])
    )
    by = entries.name_in_words(part.operand)
    result = (
        f"{number_in_words(adjoint[place])} times {number_in_words(local[place])} is "
        f"{number_in_words(products[place])}"
    )
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
    begin = f"{entries.text} = {number_in_words(number)} has lost {part.lost} bits"
    if not lost:
        return entries.story("imprecise", [f"{begin} to rounding along its way"], entries.id)
    bits, node, words = lost[0]
    repair, told = _repair(entries)
    lines = [
        f"{begin}: {words}, which costs {bits} bits",
        *(f"{more}, {fewer} bits" for fewer, _, more in lost[1:3] if fewer > 3),
    ]
    return entries.story("imprecise", [*lines, *told], node, None, repair)


def _cancellations(entries: Entries) -> Iterator[tuple[int, int, str]]:
    """Sums of what nearly cancels, forward and backward: bits, the node, in words."""
    for node in entries.explanation.nodes:
        op = entries.op(node.id)
        if op is None or isinstance(node.value, tuple) or node.kind != "float":
            continue
        terms = [each.value for each in entries.operands(node.id)]
        if op.algebra in ("sum", "difference") and all(
            not isinstance(term, tuple) for term in terms
        ):
            bits = _bits(terms, node.value)
            if bits:
                named = " and ".join(map(entries.value_in_words, entries.operands(node.id)))
                yield (
                    bits,
                    node.id,
                    f"{entries.name_in_words(node.id)} subtracts what is nearly equal, {named}",
                )
        elif op.algebra == "total":
            bits = _bits([np.abs(np.asarray(terms[0])).sum()], np.asarray(node.value))
            if bits:
                yield bits, node.id, f"the terms of {entries.name_in_words(node.id)} nearly cancel"
    for id, parts in entries.arrived.items():
        node = entries.node(id)
        if len(parts) > 1 and not isinstance(node.adjoint, tuple) and node.adjoint is not None:
            bits = _bits([part.passed for part in parts], node.adjoint)
            if bits:
                named = " and ".join(number_in_words(part.passed) for part in parts[:3])
                yield (
                    bits,
                    id,
                    f"the contributions to {entries.name_in_words(id)}, {named}, nearly cancel",
                )


def _bits(terms: list[Any], total: Any) -> int:
    """Return how many bits a sum loses at its worst entry."""
    with np.errstate(all="ignore"):
        largest = np.max(
            np.broadcast_arrays(*[np.abs(np.asarray(term, float)) for term in terms]), axis=0
        )
        ratio = largest / np.abs(np.asarray(total, float))
        worst = float(np.max(np.where(np.isfinite(ratio), ratio, 0), initial=0))
    return int(math.log2(worst)) if worst >= 2 else 0


def _kind(number: Any) -> str:
    magnitude = abs(float(number))
    return "large" if magnitude >= _LARGE else "small" if magnitude <= _SMALL else "plain"


def sized_gradient(entries: Entries, number: Any) -> Why:
    """Large, small or plain: what flows along the largest path, and the factors there."""
    gradient = entries.explanation.gradients[entries.name]
    kind = _kind(number)
    begin = f"{entries.text} has gradient {number_in_words(number)}"
    paths = sorted(gradient.paths, key=lambda path: -abs(_share(path, entries)))
    if not paths:
        return entries.story(kind, [begin], entries.id)
    shares = [
        f"{number_in_words(_share(path, entries))} by {entries.steps(path.nodes)}"
        for path in paths[:_FACTORS]
    ]
    factors = list(_factors(entries, paths[0]))
    if kind == "plain":
        alone = len(paths) == 1 and not gradient.left_out
        shares[0] = (
            f"{begin}: {f'all of it by {entries.steps(paths[0].nodes)}' if alone else shares[0]}"
        )
    else:
        told = ", ".join(
            f"{number_in_words(factor)} at {entries.name_in_words(user)}"
            for factor, user, _ in factors[:_FACTORS]
        )
        size_word = "largest" if kind == "large" else "smallest"
        shares.insert(
            0, f"{begin}: the {size_word} factors on its way are {told}" if told else begin
        )
    more = max(0, len(paths) - _FACTORS) + gradient.left_out
    shares += [f"and {more:,} smaller paths"] if more else []
    return entries.story(kind, shares, *(factors[0][1:] if factors else (entries.id,)))


def _share(path: Path, entries: Entries) -> float:
    """Return what the entry has by a path."""
    return float(
        np.broadcast_to(
            path.contribution, np.shape(entries.explanation.gradients[entries.name].value)
        )[entries.index]
    )


def _factors(entries: Entries, path: Path) -> Iterator[tuple[float, int, int]]:
    """Return how much each edge of a path multiplies by, the most extreme first: of arrays, the
    ratio of the sums of magnitudes.
    """
    found = []
    edges = {(part.operand, part.node): part for part in entries.explanation.backward}
    for operand, user in zip(path.nodes, path.nodes[1:], strict=False):
        part = edges.get((operand, user))
        if part is None:
            continue
        before, after = entries.node(user).adjoint, part.passed
        whole = size(before) if before is not None else 0.0
        factor = (
            float(part.local)
            if part.local is not None and np.ndim(part.local) == 0
            else size(after) / whole
            if whole
            else math.nan
        )
        if factor and math.isfinite(factor):
            found.append((factor, user, operand))
    yield from sorted(found, key=lambda each: -abs(math.log(abs(each[0]))))


def sized_value(entries: Entries, number: Any) -> Why:
    """The operation that gives the result, and what of."""
    node = entries.node(entries.id)
    of = " and ".join(map(entries.value_in_words, entries.arguments(node.id)))
    made = f": {node.function or node.op} of {of}" if of else ", as it was given"
    return entries.story(
        _kind(number), [f"{entries.text} is {number_in_words(number)}{made}"], node.id
    )


# -- Why a number is zero: what does not depend on it, what is flat where it is, what it is
# multiplied with, and what cancels.


_TOLD = 3  # ways whose reasons are told
_FAR_OUT = 15.0  # where a smooth function is flat only because floats end


def zero_value(entries: Entries) -> Why:
    """Return why the result is zero: the operands that make it so."""
    node, algebra = entries.node(entries.id), entries.algebra(entries.id)
    operands = entries.operands(node.id)
    zeros = [
        each
        for each in operands
        if not isinstance(each.value, tuple) and np.all(np.asarray(each.value) == 0)
    ]
    terms = " and ".join(
        f"{entries.name_in_words(each.id)} = "
        f"{number_in_words(entries.number(each.value, entries.mask))}"
        for each in operands
    )
    if not operands:
        words = "it was given as 0"
    elif algebra in ("product", "matrix product", "quotient") and zeros:
        words = f"its factor {entries.name_in_words(zeros[0].id)} is 0"
    elif algebra in ("sum", "difference", "total"):
        words = terms if len(zeros) == len(operands) else f"the terms {terms} cancel"
    else:
        words = f"{node.op} of {terms} is 0"
    return entries.story(
        "zero", [f"{entries.text} is 0: {words}"], node.id, zeros[0].id if zeros else None
    )


def zero_gradient(entries: Entries) -> Why:
    """Return why a gradient is zero: because nothing flows, because each way ends in a zero, or
    because what flows cancels.
    """
    begin = f"{entries.text} has gradient 0"
    found = _reasons(entries, entries.id, entries.mask)
    reasons = [reason for reason in found if not reason[3]] or found
    node, operand, first, _ = reasons[0]
    more = [f"also, {words}" for _, _, words, _ in reasons[1:_TOLD]]
    if len(reasons) > _TOLD:
        more.append(f"and {len(reasons) - _TOLD} more ways are zero")
    return entries.story("zero", [f"{begin}: {first}", *more], node, operand)


_Reason = tuple[
    int, int | None, str, bool
]  # the node, the operand, words, and whether that is so by nature rather than at this point


def _reasons(entries: Entries, id: int, mask: Mask) -> list[_Reason]:
    """Return what makes the adjoint zero at some entries of a node: at the first zero on each way
    towards the result.
    """
    found: dict[str, _Reason] = {}
    pending: list[tuple[int, Mask]] = [(id, mask)]
    seen: set[int] = set()
    for here, entry in pending:  # which grows
        if here in seen:
            continue
        seen.add(here)
        parts = entries.arrived.get(here, [])
        reasons = _stops(entries, here, {part.node for part in parts})
        passed = [
            np.broadcast_to(np.asarray(part.passed), entry.shape)[entry]
            for part in parts
            if not isinstance(part.passed, tuple)
        ]
        if not all(np.isfinite(part).all() for part in passed):
            words = (
                f"on the way from {entries.name_in_words(here)} zero meets infinity, and what "
                "the product tends to is 0"
            )
            reasons.append((here, None, words, False))
        elif any(np.any(part != 0) for part in passed):
            terms = " and ".join(
                f"{number_in_words(part.ravel()[0])} from {entries.name_in_words(each.node)}"
                for each, part in zip(parts, passed, strict=False)
            )
            reasons.append((here, None, f"the contributions {terms} cancel", False))
        else:
            for part in parts:
                above = entries.above(part, entry)
                adjoint = entries.node(part.node).adjoint
                if isinstance(adjoint, tuple) or np.any(np.asarray(adjoint)[above] != 0):
                    reasons.append((part.node, part.operand, _flat(entries, part, above), False))
                else:
                    pending.append((part.node, above))
        for reason in reasons:
            found.setdefault(reason[2], reason)
    return list(found.values()) or [(id, None, f"the seed is 0 where {entries.name} counts", False)]


def _stops(entries: Entries, id: int, passing: set[int]) -> list[_Reason]:
    """Users of a node that pass nothing back to it at all."""
    found: list[_Reason] = []
    for user in map(entries.node, entries.users.get(id, [])):
        if user.id in passing:
            continue
        op = entries.op(user.id)
        text = entries.name_in_words(user.id)
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
    user, by, op = (
        entries.name_in_words(part.node),
        entries.name_in_words(part.operand),
        entries.op(part.node),
    )
    operands = entries.operands(part.node)
    others = [
        entries.name_in_words(each.id) for place, each in enumerate(operands) if place != part.place
    ]
    if op is not None and op.algebra == "choice":
        taken = number_in_words(entries.number(operands[0].value, mask))
        return (
            f"{user} takes the other branch there: {entries.name_in_words(operands[0].id)} is "
            f"{taken}"
        )
    if part.local is None or op is None:
        return _structural(entries, part)
    local = entries.number(part.local, mask)
    if local != 0:
        adjoint = entries.number(entries.node(part.node).adjoint, mask)
        return (
            f"{user} passes back {number_in_words(adjoint)} times {number_in_words(local)}, "
            "which is below the smallest float"
        )
    input = entries.number(entries.node(part.operand).value, mask)
    if op.algebra in ("product", "chain") and others:
        return f"in {user}, {by} is multiplied by {others[0]}" + (
            ", which is 0" if others[0] != "0" else ""
        )
    if _on_kink(op, [entries.number(each.value, mask) for each in operands]):
        return (
            f"{by} = {number_in_words(input)} is at a kink of {user}, where the derivative is "
            f"chosen: {op.kinks[0].convention}"
        )
    if op.partials is not None and isinstance(op.partials[part.place], Pieces):
        if op.selects and others:
            return f"{user} takes {others[0]} there, not {by} = {number_in_words(input)}"
        return (
            f"{user} is flat there: its input {by} is {number_in_words(input)}, and the "
            f"derivative {part.partial or 'by it'} is 0"
        )
    if (
        op.kind == "smooth"
        and part.partial is not None
        and np.ndim(input) == 0
        and abs(float(input)) > _FAR_OUT
    ):
        return (
            f"{user} is saturated: its derivative at {by} = {number_in_words(input)} is below "
            "the smallest float"
        )
    formula = f" {part.partial}" if part.partial is not None else ""
    return f"the derivative{formula} of {user} by {by} is 0 at {by} = {number_in_words(input)}"


def _on_kink(op: Op, values: Sequence[Any]) -> bool:
    for kink in op.kinks:
        with suppress(TypeError, ValueError):
            if bool(kink.where(*map(float, values))):
                return True
    return False


def _structural(entries: Entries, part: Contribution) -> str:
    """Return the cause of operations that move or choose entries."""
    user, op = entries.name_in_words(part.node), entries.op(part.node)
    at = (
        f"entry {list(entries.index)}"
        if entries.index and part.operand == entries.id
        else "that entry"
    )
    what = (
        f"{at} of {entries.name_in_words(part.operand)}"
        if part.operand != entries.id
        else f"{entries.text}"
    )
    if op is not None and op.selects:
        return f"{user} takes other entries: {what} is not among them"
    if op is not None and op.linear and len(op.operands) == 1:
        return f"{user} does not contain {what}"
    if op is not None and op.elementwise:
        value = entries.node(part.operand).value
        return (
            f"{user} is flat there: {what} is "
            f"{number_in_words(entries.number(value, entries.mask) if part.operand == entries.id else value)}"
        )
    return f"{user} does not depend on {what} near this point: its derivative by it is 0"


VALUE = "value"
_WORD = re.compile(r"[^\W\d]\w*")
_TARGET = re.compile(r"\s*([^\W\d]\w*)\s*(\[[^\]]*\])?\s*\Z")


def why(explanation: Explanation, target: str) -> Why:
    """The story of an entry of a gradient, or of the result:

    ``x``, ``x[2]``, ``w[0, 1]``, ``value``. Raises UsageError.

    Of an array without an index it is an entry that asks for one: one that is not finite, or zero,
    or else the largest.
    """
    match = _TARGET.match(normalize(target))
    if match is None:
        raise UsageError(
            f"--why takes a name, NAME[INDEX] or value, not '{target}'",
            help="write --why x, --why 'x[2]' or --why value",
        )
    name, index_text = match.groups()
    if name == VALUE and VALUE not in explanation.gradients:
        whole = np.asarray(explanation.record.value)
        entries = Entries(explanation, VALUE, explanation.result, _index(index_text, whole, target))
        return _story(entries, whole, nonfinite_value, zero_value, sized_value)
    return _of_gradient(explanation, name, index_text, target)


def _story(
    entries: Entries,
    whole: np.ndarray,
    nonfinite: Callable[[Entries, Any], Why],
    zero: Callable[[Entries], Why],
    sized: Callable[[Entries, Any], Why],
) -> Why:
    """Return the story of a number by its kind."""
    number = whole[entries.index]
    if not np.isfinite(number):
        return nonfinite(entries, number)
    return zero(entries) if number == 0 else imprecise(entries, number) or sized(entries, number)


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
    if node is None:  # it does not stand in the result
        mentioned = name in _WORD.findall(explanation.record.expr)
        reason = (
            "nothing in the result depends on it"
            if mentioned
            else f"the expression does not contain {name}"
        )
        text = f"{entry_text(name, index)} has gradient 0: {reason}"
        return Why(entry_text(name, index), "zero", [text], index=index)
    return _story(
        Entries(explanation, name, node.id, index),
        whole,
        nonfinite_gradient,
        zero_gradient,
        sized_gradient,
    )


def _not_asked(explanation: Explanation, name: str, id: int) -> Why:
    """Say of a name that is held that it has no gradient by intention."""
    node = explanation.node(id)
    if node.op == "frozen":
        reason = (
            f"{name} is frozen: it is held constant by const, --freeze or --wrt, and no "
            "gradient flows to it"
        )
    elif node.kind != "float":
        reason = (
            f"{name} is {'true or false' if node.kind == 'bool' else 'a whole number'}, "
            "which has no gradient"
        )
    else:
        reason = (
            f"{name} is a part of the expression and not asked for: its adjoint is "
            f"{explanation.node(id).adjoint}"
        )
    return Why(
        name, "zero" if node.op == "frozen" or node.kind != "float" else "plain", [reason], node=id
    )


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
        raise UsageError(
            f"'{target}' is no entry: the gradient is {shape}",
            help="indices count from 0, one for each axis",
        ) from None
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
