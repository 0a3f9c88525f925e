"""Why a number is what it is: which entry is meant, what kind of story it has, and who tells it."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np

from gradcli.errors import UsageError, did_you_mean
from gradcli.explanations.reasons import (
    Edge,
    Entries,
    Mask,
    Reason,
    beyond_floats,
    has_infinite,
    is_infinite,
    number_in_words,
    origin,
    stops,
)
from gradcli.query.derivatives import CONVENTION
from gradcli.report.explanation import Contribution, ExplainedNode, Explanation, Path, Why, size
from gradcli.texts import PLAIN_NAME, ends_of, normalize

# -- Where a number that is infinite, or none, comes from: the first operation, forward or
# backward, that made it of finite ones.


def nonfinite_value(entries: Entries, number: Any) -> Why:
    """Return why the result is not finite."""
    id, (words, *more) = origin(entries, entries.id)
    begin = f"{entries.text} is {number_in_words(number)}"
    return _with_repair(entries, [f"{begin}: {words}", *more], id)


def nonfinite_gradient(entries: Entries, number: Any) -> Why:
    """Return why a gradient is not finite.

    Either the forward pass already has such a number, or the way back makes one.
    """
    begin = f"{entries.text} has gradient {number_in_words(number)}"
    found = _way_back(entries)
    if found is None:
        id, (words, *more) = origin(entries, entries.explanation.result)
        return _with_repair(entries, [f"{begin}: {words}", *more], id)
    part, mask = found
    lines = [f"{begin}: {_product(entries, part, mask)}"]
    if (nan := _way_back(entries, np.isnan)) is not None and nan[0] is not part:
        lines.append(f"then {_product(entries, *nan)}")
    for node in (entries.node(part.node), *entries.operands(part.node)):
        if has_infinite(node):
            words, *more = origin(entries, node.id)[1]
            lines += [f"in the forward pass {words}", *more]
            break
    return _with_repair(entries, lines, part.node, part.operand)


def _with_repair(
    entries: Entries, lines: list[str], node: int, operand: int | None = None, *,
    kind: str = "nonfinite", begin: str = "a finite number there: ",
) -> Why:  # fmt: skip
    """Return a story with an expression that has a better number, if the cross-check knows one."""
    check = entries.explanation.record.check
    repair = None
    if check is not None and check.repairs:
        rewrite, (first, *_) = check.rewrite, check.repairs
        repair = first.partition(" as ")[2] if rewrite is None else rewrite.text
        lines = [*lines, f"{begin}write {first}"]
    return entries.story(kind, lines, node, operand, repair)


def _way_back(
    entries: Entries, is_bad: Callable[[Any], Any] = is_infinite
) -> tuple[Contribution, Mask] | None:
    """Find the first contribution that is not finite (or NaN), of an adjoint that is finite.

    The search goes from the entry towards the result, as long as what arrives is not finite (or
    NaN).
    """
    id, mask = entries.id, entries.mask
    found: tuple[Contribution, Mask] | None = None
    while True:
        for part in entries.arrived.get(id, []):
            if not isinstance(part.passed, tuple) and is_bad(_at_entries(part, mask)).any():
                break
        else:
            return found
        mask = entries.above(part, mask)
        found = part, mask
        id = part.node
        adjoint = entries.node(id).adjoint
        if isinstance(adjoint, tuple) or not is_bad(np.asarray(adjoint)[mask]).any():
            return found


def _at_entries(part: Contribution, mask: Mask) -> Any:
    """Return what a contribution passes to the entries that are meant."""
    return np.broadcast_to(part.passed, mask.shape)[mask]


def _product(entries: Entries, part: Contribution, mask: Mask) -> str:
    """Describe the product of adjoint and local derivative that is not finite."""
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
    slope = number_in_words(local[place])
    factor = slope if part.partial is None else f"{part.partial} = {slope}"
    by = entries.name_in_words(part.operand)
    product = number_in_words(products[place])
    result = f"{number_in_words(adjoint[place])} times {slope} is {product}"
    if np.isnan(products[place]) and not np.isnan(local[place]):
        result += ", the form 0·∞"
    return f"the derivative of {user} by {by} is {factor}, and {result}"


# -- Why a number is as large as it is, or as imprecise: the factors along the largest path, and
# where digits are lost.


_LARGE, _SMALL = 1e5, 1e-5
_FACTORS = 4  # most factors that are named, the most extreme first


def imprecise(entries: Entries, number: Any) -> Why | None:
    """Return where digits are lost, if the cross-check says that many are."""
    part = entries.check
    if part is None or part.lost is None or (part.worst and part.worst.index != entries.index):
        return None
    lost = sorted((each for each in _cancellations(entries) if each[0]), reverse=True)
    begin = f"{entries.text} = {number_in_words(number)} has lost {part.lost} bits"
    if not lost:
        return entries.story("imprecise", [f"{begin} to rounding along its way"], entries.id)
    bits, node, words = lost[0]
    lines = [
        f"{begin}: {words}, which costs {bits} bits",
        *(f"{more}, {fewer} bits" for fewer, _, more in lost[1:3] if fewer > 3),
    ]
    return _with_repair(entries, lines, node, kind="imprecise", begin="")


def _cancellations(entries: Entries) -> Iterator[tuple[int, int, str]]:
    """Yield sums, forward and backward: the bits lost, the node, and a text in words."""
    for node in entries.explanation.nodes:
        operands = entries.operands(node.id)
        op = entries.op(node.id)
        algebra = "" if op is None else op.algebra
        name = entries.name_in_words(node.id)
        terms = [each.value for each in operands]
        if node.kind == "float" and algebra in ("sum", "difference"):
            named = " and ".join(map(entries.value_in_words, operands))
            words = f"{name} subtracts what is nearly equal, {named}"
            yield _bits(terms, node.value), node.id, words
        elif node.kind == "float" and algebra == "total":
            words = f"the terms of {name} nearly cancel"
            yield _bits([np.abs(terms[0]).sum()], node.value), node.id, words
    for id, parts in entries.arrived.items():
        if len(parts) > 1 and entries.id != entries.explanation.result:
            passed = [part.passed for part in parts]
            named = " and ".join(map(number_in_words, passed[:3]))
            words = f"the contributions to {entries.name_in_words(id)}, {named}, nearly cancel"
            yield _bits(passed, entries.node(id).adjoint), id, words


def _bits(terms: list[Any], total: Any) -> int:
    """Return how many bits a sum loses at its worst entry."""
    if total is None or any(isinstance(each, tuple) for each in (*terms, total)):
        return 0
    with np.errstate(all="ignore"):
        largest = np.max(np.broadcast_arrays(*[np.abs(term) for term in terms]), axis=0)
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
    paths = [path for path in gradient.paths if _share(path, entries)]
    if not paths:
        return entries.story(kind, [begin], entries.id)
    paths.sort(key=lambda path: -abs(_share(path, entries)))
    ways: dict[str, float] = {}
    for path in paths:
        steps = entries.steps(path.nodes)
        ways[steps] = ways.get(steps, 0.0) + _share(path, entries)
    shares = [f"{number_in_words(share)} by {steps}" for steps, share in [*ways.items()][:_FACTORS]]
    edges = list(_edges(entries, paths[0]))
    factors = sorted(edges, key=lambda pair: -abs(math.log(abs(pair[1]))))
    if kind == "plain":
        alone = len(ways) == 1 and not gradient.left_out
        shares[0] = f"{begin}: {f'all of it by {steps}' if alone else shares[0]}"
    else:
        telling = [pair for pair in factors if abs(pair[1]) != 1] or factors
        told = ", ".join(
            f"{number_in_words(factor)} at {edge.user}" for edge, factor in telling[:_FACTORS]
        )
        size_word = "largest" if kind == "large" else "smallest"
        said = f"the {size_word} factors on its way are {told}"
        if abs(_share(paths[0], entries)) > _LARGE * abs(number):
            said = "what comes by its ways nearly cancels"
        shares.insert(0, f"{begin}: {said}" if told else begin)
    more = max(0, len(ways) - _FACTORS) + gradient.left_out
    shares += [f"and {more:,} smaller paths"] if more else []
    for edge, factor in edges:
        shares += edge.facts(factor if (edge, factor) in factors[:_FACTORS] else 1.0)
    passing = {part.node for part in entries.arrived.get(entries.id, [])}
    shares += [
        f"also, {each.words}" for each in stops(entries, entries.id, passing) if not each.natural
    ]
    part = factors[0][0].part if factors else None
    first = (entries.id, None) if part is None else (part.node, part.operand)
    return entries.story(kind, list(dict.fromkeys(shares)), *first)


def _share(path: Path, entries: Entries) -> float:
    """Return what the entry has by a path."""
    return float(np.broadcast_to(path.contribution, entries.mask.shape)[entries.index])


def _edges(entries: Entries, path: Path) -> Iterator[tuple[Edge, float]]:
    """Yield the edges of a path that something flows through, and what each multiplies by.

    For arrays, a factor is the ratio of mean magnitudes. For an operand that stands in several
    places, it is the sum of their factors.
    """
    mask = entries.mask
    for operand, user in zip(path.nodes, path.nodes[1:], strict=False):
        parts = [part for part in entries.arrived.get(operand, []) if part.node == user]
        if not parts:
            continue
        above = entries.above(parts[0], mask)
        factor = 0.0
        before = _mean(entries.node(user).adjoint, above)
        for part in parts:
            local = None if part.local is None else entries.number(part.local, above)
            if local is not None and np.ndim(local) == 0 and part.summed is None:
                factor += float(local)
            else:
                factor += _mean(part.passed, mask) / before if before else math.nan
        if factor and math.isfinite(factor):
            yield Edge(entries, parts[-1], mask), factor
        mask = above


def _mean(value: Any, mask: Mask) -> float:
    """Return the mean magnitude of the entries that are meant, without those that are zero."""
    if value is None or isinstance(value, tuple):
        return size(value) if value is not None else 0.0
    chosen = np.abs(np.broadcast_to(value, mask.shape)[mask])
    chosen = chosen[chosen != 0]
    return float(chosen.mean()) if chosen.size else 0.0


def sized_value(entries: Entries, number: Any) -> Why:
    """Tell the operation that gives the result, and its arguments; or that it underflows."""
    node = entries.node(entries.id)
    of = " and ".join(map(entries.value_in_words, entries.arguments(node.id)))
    ended = "" if number else beyond_floats(entries, node.id, entries.index)
    made = node.function or entries.name_in_words(node.id)
    made = f": {made} of {of}{'' if number else ' is 0'}"
    made = f": it {ended}" if ended else made if of else ", as it was given"
    begin = f"{entries.text} is {number_in_words(number)}"
    return entries.story(_kind(number) if number else "zero", [begin + made], node.id)


# -- Why a number is zero: what does not depend on it, what is flat where it is, what it is
# multiplied with, and what cancels.


_TOLD = 3  # most ways whose reasons are given
_ZERO_TIMES_INFINITY = "on the way there zero meets infinity, and 0 is taken for the product"


def zero_gradient(entries: Entries) -> Why:
    """Return why a gradient is zero.

    Either nothing flows, or each way ends in a zero, or what flows cancels.
    """
    begin = f"{entries.text} has gradient 0"
    found = _reasons(entries, entries.id, entries.mask)
    reasons = sorted(found, key=lambda reason: (reason.natural, reason.unread))
    first = reasons[0]
    if first.unread:
        unread = [reason for reason in reasons if reason.unread]
        words = " and ".join(reason.words for reason in unread)
        reasons = [first._replace(words=f"it is never read: {words}"), *reasons[len(unread) :]]
    words = reasons[0].words
    node = entries.node(first.operand or entries.id)
    more = [f"also, {reason.words}" for reason in reasons[1:_TOLD]]
    if len(reasons) > _TOLD:
        more.append(f"and {len(reasons) - _TOLD} more ways are zero")
    more += origin(entries, node.id)[1] if has_infinite(node) else []
    return entries.story("zero", [f"{begin}: {words}", *more], first.node, first.operand)


def _reasons(entries: Entries, id: int, mask: Mask) -> list[Reason]:
    """Return what makes the adjoint zero at some entries of a node.

    The reason is sought at the first zero on each way towards the result.
    """
    found: dict[str, Reason] = {}
    pending: list[tuple[int, Mask]] = [(id, mask)]
    seen: set[int] = set()
    for here, entry in pending:  # grows inside the loop
        if here not in seen:
            seen.add(here)
            reasons, further = _reasons_at(entries, here, entry)
            pending += further
            for reason in reasons:
                found.setdefault(reason.words, reason)
    return list(found.values()) or [Reason(id, None, f"the seed is 0 where {entries.name} counts")]


def _reasons_at(
    entries: Entries, id: int, entry: Mask
) -> tuple[list[Reason], list[tuple[int, Mask]]]:
    """Return what makes the adjoint of a node zero, and the users whose adjoints are zero, too."""
    parts = entries.arrived.get(id, [])
    passed = [_at_entries(part, entry) for part in parts if not isinstance(part.passed, tuple)]
    if not all(np.isfinite(part).all() for part in passed):
        return [Reason(id, None, _ZERO_TIMES_INFINITY)], []
    if any(np.any(part != 0) for part in passed):
        terms = " and ".join(
            f"{number_in_words(part.ravel()[0])} from {entries.name_in_words(each.node)}"
            for each, part in zip(parts, passed, strict=False)
        )
        return [Reason(id, None, f"the contributions {terms} cancel")], []
    above = {part.node: entries.above(part, entry) for part in parts}
    further = []
    for user in entries.users.get(id, []):
        adjoint = entries.node(user).adjoint
        mask = above.get(user, np.ones(np.shape(adjoint), bool))
        if not _is_alive(adjoint, mask):
            further.append((user, mask))
    return [*_dead_ends(entries, id, entry)], further


def _is_alive(adjoint: Any, mask: Mask) -> bool:
    """Return whether an adjoint has an entry that is not zero, or none that could be."""
    if adjoint is None or isinstance(adjoint, tuple):
        return True
    return bool(np.any(np.asarray(adjoint)[mask] != 0))


def _dead_ends(entries: Entries, id: int, entry: Mask) -> Iterator[Reason]:
    """Yield the users of a node that pass nothing back to an entry.

    They do so although something arrives at them, or whatever arrives.
    """
    parts = entries.arrived.get(id, [])
    yield from stops(entries, id, {part.node for part in parts})
    for part in parts:
        if not np.any(_at_entries(part, entry)) and _is_alive(
            entries.node(part.node).adjoint, entries.above(part, entry)
        ):
            yield Edge(entries, part, entry).reason()


VALUE = "value"
_TARGET = re.compile(rf"\s*({PLAIN_NAME})\s*(\[[^\]]*\])?\s*\Z")


def why(explanation: Explanation, target: str, given: Mapping[str, Any]) -> Why:
    """Tell the story of an entry of a gradient, or of the result.

    The entry is written ``x``, ``x[2]``, ``w[0, 1]`` or ``value``. Raises UsageError.

    For an array without an index, the entry is one that asks for a story: one that is not finite,
    or zero, or else the largest.
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
        found = _story(entries, whole, nonfinite_value, None, sized_value)
        record, check = explanation.record, explanation.record.check
        found.lines += [said for said in record.warnings if said.endswith(CONVENTION)]
        found.lines += [] if check is None else [limit.text for limit in check.limits]
        return found
    is_known = name in given or name in explanation.gradients
    if is_known and all(name != node.name for node in explanation.nodes):
        shown = ends_of(explanation.record.expr, 60)
        nothing = f"nothing differentiable in {shown} depends on it"
        return Why(name, "zero", [f"{name} has gradient 0: {nothing}"])
    return _of_gradient(explanation, name, index_text, target)


def _story(
    entries: Entries,
    whole: np.ndarray,
    nonfinite: Callable[[Entries, Any], Why],
    zero: Callable[[Entries], Why] | None,
    sized: Callable[[Entries, Any], Why],
) -> Why:
    """Return the story of a number by its kind."""
    number = whole[entries.index]
    if not np.isfinite(number):
        return nonfinite(entries, number)
    if number == 0 and zero is not None:
        return zero(entries)
    return imprecise(entries, number) or sized(entries, number)


def _of_gradient(explanation: Explanation, name: str, index_text: str | None, target: str) -> Why:
    node = next((each for each in explanation.nodes if each.name == name), None)
    if node is None:
        known = [*explanation.gradients, VALUE]
        raise UsageError(
            f"'{name}' has no gradient here",
            help=did_you_mean(name, known, f"there are {', '.join(known[:20])}"),
        )
    if name not in explanation.gradients:
        return _not_asked(explanation, name, node)
    whole = np.asarray(explanation.gradients[name].value)
    entries = Entries(explanation, name, node.id, _index(index_text, whole, target))
    return _story(entries, whole, nonfinite_gradient, zero_gradient, sized_gradient)


def _not_asked(explanation: Explanation, name: str, node: ExplainedNode) -> Why:
    """Say of a name that is held that it has no gradient by intention."""
    stopped = [*stops(Entries(explanation, name, node.id, ()), node.id, set())]
    kind = "zero"
    if node.op == "frozen" and stopped:
        reason = f"has no gradient: {stopped[0].words}"
    elif node.op == "frozen":
        reason = "is frozen: it is held constant by const, --freeze or --wrt, and no gradient flows to it"
    elif node.kind != "float":
        reason = f"is of kind {node.kind}, which has no gradient"
    else:
        kind = "plain"
        reason = f"is a part of the expression and not asked for: its adjoint is {node.adjoint}"
    return Why(name, kind, [f"{name} {reason}"], node=node.id)


def _index(text: str | None, whole: np.ndarray, target: str) -> tuple[int, ...]:
    """Return the index of the entry that is meant.

    Raises UsageError.
    """
    if text is None or not text.strip("[] "):
        return _telling(whole)
    try:
        index = tuple(map(int, text.strip("[] ").split(",")))
        if len(index) != whole.ndim:
            raise ValueError
        whole[index]
    except (ValueError, IndexError):
        shape = f"of shape {whole.shape}" if whole.ndim else "a number"
        raise UsageError(
            f"'{target}' is no entry: the gradient is {shape}",
            help="indices count from 0, one for each axis",
        ) from None
    return tuple(part % n for part, n in zip(index, whole.shape, strict=True))


def _telling(whole: np.ndarray) -> tuple[int, ...]:
    """Return the entry that asks for a story most."""
    if not whole.size:
        raise UsageError("it has no entries, and so nothing to tell")
    with np.errstate(all="ignore"):
        asking = ~np.isfinite(whole), whole == 0, np.abs(whole) == np.abs(whole).max()
    return tuple(np.argwhere(next(asks for asks in asking if asks.any()))[0].tolist())
