"""Why a number is as large as it is, or as imprecise: the factors along the largest path, and where digits are lost."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from gradcli.explain.entries import Entries, shown
from gradcli.report.explanation import Path, Why
from gradcli.report.number_text import size

_LARGE, _SMALL = 1e5, 1e-5
_FACTORS = 4  # that are told, the most extreme first


def imprecise(entries: Entries, number: Any) -> Why | None:
    """Where digits are lost, if the cross-check says that many are."""
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
        if op.rewriting.algebra in ("sum", "difference") and all(not isinstance(term, tuple) for term in terms):
            bits = _bits(terms, node.value)
            named = " and ".join(f"{entries.called(each.id)} = {shown(each.value)}" for each in entries.operands(node.id))
            if bits:
                yield bits, node.id, 0, f"{entries.called(node.id)} subtracts what is nearly equal, {named}"
        elif op.rewriting.algebra == "total":
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
    """What the entry has by a path."""
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
