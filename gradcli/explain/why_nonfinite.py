"""Where a number that is infinite, or none, comes from: the first operation, forward or backward, that made it of finite ones."""

from __future__ import annotations

from typing import Any

import numpy as np

from gradcli.explain.entries import Entries, Mask, shown
from gradcli.report.explanation import Contribution, Why


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
