"""An explanation seen from one entry, and reasons at one operation.

Reasons tell why an operation passes back what it does there, where floats end, and which form of
infinities and zeros has no value.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from gradcli.check.verdicts import VariableCheck
from gradcli.errors import GradcliError
from gradcli.ops.elementwise.logic import Pieces
from gradcli.ops.registry import registry
from gradcli.ops.spec import Op, as_tuple
from gradcli.report.explanation import Contribution, ExplainedNode, Explanation, Why, short
from gradcli.texts import ends_of, entry_text

# -- What stories of an entry are made of: the nodes that its number came through, and what flowed
# at the entries that matter.


_LONGEST = 48  # most characters of a node's text in a story
Mask = np.ndarray


@dataclass(eq=False)
class Entries:
    """An explanation, seen from an entry of one of its nodes."""

    explanation: Explanation
    name: str
    id: int
    index: tuple[int, ...]

    def __post_init__(self) -> None:
        self.arrived = self.explanation.contributions_by_node()
        self.users = self.explanation.users()

    @property
    def text(self) -> str:
        """Return what the entry is called: ``x[2]``."""
        return entry_text(self.name, self.index)

    @property
    def check(self) -> VariableCheck | None:
        """The verdict on the gradient, or on the result."""
        check = self.explanation.record.check
        if check is None:
            return None
        value = check.value if self.id == self.explanation.result else None
        return check.variables.get(self.name, value)

    @property
    def mask(self) -> Mask:
        """The entry, among those of its node."""
        mask = np.zeros(np.shape(self.node(self.id).value), bool)
        mask[self.index] = True
        return mask

    def node(self, id: int) -> ExplainedNode:
        return self.explanation.node(id)

    def op(self, id: int) -> Op | None:
        """Return the record of a node's operation."""
        return registry().get(self.node(id).op)

    def owner(self, id: int) -> int:
        """Return the result of the built-in function around a node, or else the node."""
        return self.node(id).inside or id

    def name_in_words(self, id: int) -> str:
        """Return what a node is called in a sentence.

        It is the node's name or text. Inside of a built-in function, it says that the node is
        there.
        """
        node = self.node(id)
        op = self.op(id)
        if op is not None and op.kind == "piecewise" and op.transparent:
            return self.name_in_words(node.operands[0])
        if node.text is None and node.name is None and node.inside is not None:
            return f"{node.op} inside of {ends_of(self.node(node.inside).label, _LONGEST)}"
        return ends_of(node.name or node.text or node.op, _LONGEST)

    def value_in_words(self, node: ExplainedNode) -> str:
        return f"{self.name_in_words(node.id)} = {number_in_words(node.value)}"

    def story(
        self,
        kind: str,
        lines: list[str],
        node: int,
        operand: int | None = None,
        repair: str | None = None,
    ) -> Why:
        return Why(self.text, kind, lines, node, operand, self.index, repair)

    def arguments(self, id: int) -> list[ExplainedNode]:
        """Return the operands of a node.

        For the result of a built-in function, return the function's arguments, whatever it was
        expanded to.
        """
        found: dict[int, None] = {}
        pending = list(self.node(id).operands)
        for here in pending:  # grows inside the loop
            node = self.node(here)
            if node.inside == id:
                pending += node.operands
            elif node.op != "const" or node.text is not None:
                found[here] = None
        return [self.node(here) for here in sorted(found)]

    def steps(self, nodes: Iterable[int]) -> str:
        """Return a path in words, without the nodes inside of built-in functions."""
        return self.explanation.route(
            [id for id in nodes if self.node(id).inside is None], _LONGEST
        )

    def operands(self, id: int) -> list[ExplainedNode]:
        return [self.node(operand) for operand in self.node(id).operands]

    def above(self, each: Contribution, mask: Mask) -> Mask:
        """Return the entries of a user that some entries of its operand are a part of.

        These are all of them where that is not known.
        """
        reached = self.result_entries(each, mask)
        value = self.node(each.node).value
        if reached is None or not reached.any():
            return np.ones(() if isinstance(value, tuple) else np.shape(value), bool)
        return reached

    def result_entries(self, each: Contribution, mask: Mask) -> Mask | None:
        """Return these entries; None if values choose them, or within a built-in function."""
        node = self.node(each.node)
        operands = numbers_of(self, each.node, 1_000_000)
        op = registry()[node.op]
        with suppress(*_FAILURES), np.errstate(all="ignore"):
            if op.elementwise:
                return np.broadcast_to(mask, np.shape(node.value))
            if operands and not node.inside and (op.linear or op.adds):
                operands[each.place] = np.where(mask, np.nan, operands[each.place])
                return np.asarray(np.isnan(op.forward(*operands, **node.static)))
        return None

    def number(self, value: Any, mask: Mask) -> Any:
        """Return the first of the entries that are meant.

        If the value does not match them entry by entry, return it as a whole.
        """
        try:
            return (
                value
                if isinstance(value, tuple)
                else np.broadcast_to(np.asarray(value), mask.shape)[mask][0]
            )
        except (ValueError, IndexError):
            return value


def number_in_words(number: Any) -> str:
    """Return a number as it stands in a sentence.

    It may also be an array of a few entries, or the results of an operation that has several.
    """
    if isinstance(number, tuple) or np.ndim(number):
        return short(number, 6, 6)
    value = np.asarray(number)
    return f"{float(value):.6g}" if value.dtype.kind == "f" else str(value[()])


# -- Operations carried out once more.


_MOST = 4_096  # most entries of operands for which an operation is repeated
# What repeating an operation may raise, including errors of mpmath and FLINT for cases that they
# lack.
_FAILURES = (ArithmeticError, ValueError, TypeError, LookupError, NotImplementedError, GradcliError)


def numbers_of(entries: Entries, id: int, most: int = _MOST) -> list[np.ndarray] | None:
    """Return the operands of a node as its operation takes them.

    Return None where there are too many entries, or not all operands are known.
    """
    op = entries.op(id)
    operands = entries.operands(id)
    if op is None or op.outputs > 1 or any(isinstance(each.value, tuple) for each in operands):
        return None
    found = [np.asarray(each.value) for each in operands]
    is_whole = op.variadic or len(found) == len(op.operands)
    return found if is_whole and sum(each.size for each in found) <= most else None


# -- Where floats end: what a result is in more digits, and which forms have no value.


def _exact(entries: Entries, id: int, place: tuple[int, ...]) -> Any:
    """Return an entry of a result in more digits and of any size; None if it is not known."""
    from gradcli.reference.algebra import Numbers, Unsupported
    from gradcli.reference.digits import context
    from gradcli.reference.tape import exact_array

    node = entries.node(id)
    op = entries.op(id)
    operands = numbers_of(entries, id)
    if op is None or operands is None or not all(np.isfinite(each).all() for each in operands):
        return None
    m = context()
    m.dps = 40
    kinds = [each.kind for each in entries.operands(id)]
    with suppress(Unsupported, m.NoConvergence, *_FAILURES):
        arrays = [exact_array(m, *each) for each in zip(operands, kinds, strict=True)]
        found = Numbers(m).apply(op, node.static, arrays)[place]
        return found if m.isfinite(found) else None
    return None


def beyond_floats(entries: Entries, id: int, place: tuple[int, ...] = ()) -> str:
    """Return that a result overflows or underflows, and to what size; empty if it does not."""
    from mpmath import mp

    value = np.asarray(entries.node(id).value)[place]
    is_large = bool(np.isinf(value))
    exact = _exact(entries, id, place) if is_large or value == 0 else None
    if not exact:
        return ""
    ends = np.finfo(value.dtype)
    word, end, number = (
        ("overflows", "largest", ends.max)
        if is_large
        else ("underflows", "smallest", ends.smallest_subnormal)
    )
    return f"{word}, being about {mp.nstr(exact, 3)} (the {end} float is {number:.6g})"


def form(op: Op, numbers: Sequence[Any]) -> str:
    """Return the indeterminate form that makes NaN of numbers that are not NaN.

    It is empty if there is none.
    """
    zero = any(np.any(number == 0) for number in numbers)
    if op.algebra == "quotient":
        return "0/0" if zero else "∞/∞"
    if zero and (op.algebra in _POWERS or op.adds == "products"):
        return "0·∞"
    return "∞ - ∞" if op.adds or op.algebra in ("sum", "difference") else ""


def origin(entries: Entries, id: int) -> tuple[int, list[str]]:
    """Return the first operation that gives NaN although its operands do not.

    If there is none, return the first that gives infinity. It comes in words, with the operations
    that its infinite operands are from.
    """
    test = np.isnan if _has(np.isnan, entries.node(id)) else is_infinite
    first = _lowest(entries, id, test)
    lines = [_origin_in_words(entries, first, test)]
    for operand in entries.operands(first):
        if _has(is_infinite, operand):
            below = _lowest(entries, operand.id, is_infinite)
            lines.append(_origin_in_words(entries, below, is_infinite))
    return first, list(dict.fromkeys(lines))


def is_infinite(x: Any) -> Any:
    return ~np.isfinite(x)


def has_infinite(node: ExplainedNode) -> bool:
    """Return whether a node has an entry that is not finite."""
    return _has(is_infinite, node)


def _has(test: Any, node: ExplainedNode) -> bool:
    parts = as_tuple(node.value)
    return any(np.asarray(part).dtype.kind == "f" and bool(test(part).any()) for part in parts)


def _lowest(entries: Entries, id: int, test: Any) -> int:
    """Return the first node, in forward order, that such entries come from.

    The entries of the node ``id`` pass ``test``, as do those of all nodes between the two.
    """
    seen, pending = {id}, [id]
    for here in pending:  # grows inside the loop
        for operand in entries.node(here).operands:
            if operand not in seen and _has(test, entries.node(operand)):
                seen.add(operand)
                pending.append(operand)
    return min(seen)


def _origin_in_words(entries: Entries, id: int, test: Any) -> str:
    node = entries.node(id)
    op = entries.op(id)
    parts = as_tuple(node.value)
    array = next(np.asarray(part) for part in parts if test(part).any())
    place = tuple(np.argwhere(test(array))[0].tolist())
    number = number_in_words(array[place]) + (f" at index {list(place)}" if place else "")
    if op is None:
        return f"{entries.name_in_words(id)}, which was given, is {number}"
    found = f"{entries.name_in_words(id)} is {number}"
    reason = ""
    with suppress(*_FAILURES):
        of = [np.asarray(each.value, float) for each in entries.operands(id)]
        if op.elementwise:  # the numbers at this entry
            of = [np.broadcast_to(each, array.shape)[place] for each in of]
            found += f", of {' and '.join(map(number_in_words, of))}"
        ended = beyond_floats(entries, id, place)
        call = op.sign.join(op.operands) if op.sign else f"{op.name}({', '.join(op.operands)})"
        if ended:
            reason = f": it {ended}"
        elif np.isnan(array[place]) and (name := form(op, of)):
            reason = f": the form {name}"
        elif op.domain and all(np.isfinite(each).all() for each in of):
            reason = f": {call} is defined where {op.domain}"
    return found + reason


# -- What an operation passes back at an entry, and why.


class Reason(NamedTuple):
    """Why nothing is passed back.

    natural  whether that is so wherever the point lies, or by a condition that a library has
    unread   whether entries are moved, and this one is not among them
    """

    node: int
    operand: int | None
    words: str
    natural: bool = False
    unread: bool = False


def stops(entries: Entries, id: int, passing: set[int]) -> Iterator[Reason]:
    """Yield the users of a node that pass nothing back to it, whatever arrives at them."""
    owners = set(map(entries.owner, passing))
    for user in map(entries.node, entries.users.get(id, [])):
        op = registry()[user.op]
        owner = entries.owner(user.id)
        if owner in owners:
            continue
        natural = user.kind != "float"
        if natural:
            is_a = "true or false" if user.kind == "bool" else "a whole number"
            words = f"is {is_a}, and passes no gradient on"
        elif op.kind == "flat":
            words = "is flat: its derivative is 0 wherever it has one"
        elif user.adjoint is None:
            words = "takes no part in the gradient" if op.elementwise else "stops gradients"
        else:
            continue  # no cotangent arrives at this user
        yield Reason(user.id, id, f"{entries.name_in_words(owner)} {words}", natural)
    if not entries.users.get(id) and id != entries.explanation.result:
        yield Reason(id, None, "nothing in the result depends on it")


class Edge:
    """An edge of the sweep: an operation, an operand, and the entry of it that is meant.

    entry, mask  the entries of the operand and of the result that are meant
    """

    def __init__(self, entries: Entries, part: Contribution, entry: Mask) -> None:
        self.entries = entries
        self.part = part
        self.entry = entry
        self.node = entries.node(part.node)
        self.op = registry()[self.node.op]
        self.operands = entries.operands(part.node)
        self.owner = entries.owner(part.node)
        self.operand = entries.node(part.operand)
        self.mask = entries.above(part, entry)
        self.user = entries.name_in_words(part.node)
        self.by = entries.name_in_words(part.operand)
        others = self.operands[: part.place] + self.operands[part.place + 1 :]
        self.factor = others[0] if others else None
        self.other = entries.name_in_words(others[0].id) if others else ""

    def number(self, value: Any) -> Any:
        """Return the number that is meant, from an array of the result's shape."""
        return self.entries.number(value, self.mask)

    @property
    def at(self) -> str:
        """The operand with its number: ``x = 3``, or ``x[1] = 3`` of whole arrays."""
        if not self.op.elementwise and self.entry.ndim:
            return self.entry_in_words(np.argwhere(self.entry)[0])
        number = self.entries.number(self.operand.value, self.entry)
        return f"{self.by} = {number_in_words(number)}"

    def entry_in_words(self, place: Sequence[int]) -> str:
        index = f"[{', '.join(map(str, place))}]"
        text = self.by + index if self.by.isidentifier() else f"entry {index} of {self.by}"
        return f"{text} = {number_in_words(np.asarray(self.operand.value)[tuple(place)])}"

    def reason(self) -> Reason:
        """Why nothing is passed back of an adjoint that is not zero."""
        op = self.op
        words = self._choice()
        moves = not op.elementwise and (op.indices or (op.linear and op.adds != "products"))
        if not words and moves and not np.any(self.entries.result_entries(self.part, self.entry)):
            words = f"{self.entries.name_in_words(self.owner)} takes other entries of {self.by}"
            return Reason(self.node.id, self.operand.id, words, unread=True)
        natural = bool(words and self.operands[0].inside)
        return Reason(self.node.id, self.operand.id, words or self._zero(), natural)

    def _zero(self) -> str:
        op = self.op
        part = self.part
        user = self.user
        by = self.by
        if part.local is not None and self.number(part.local):
            return f"what {user} passes back is below the smallest float"
        if self.factor is not None and op.algebra in ("product", "chain"):
            ended = "" if self.factor.shape else beyond_floats(self.entries, self.factor.id)
            which = f", which {ended or 'is 0'}" if self.other != "0" else ""
            return f"in {user}, {by} is multiplied by {self.other}{which}"
        if "product" in op.algebra and not np.all((self.factor or self.operand).value):
            return f"in {user}, {by} is multiplied by entries of {self.other or by} that are 0"
        said = self._kink() or self._flat() or self._limit(0.0)
        if said is not None:
            return said
        if part.local is None:
            return f"of what arrives at {user} nothing goes to {self.at}"
        formula = f" {part.partial}" if part.partial is not None else ""
        return f"the derivative{formula} of {user} by {by} is 0 at {self.at}"

    def facts(self, factor: float) -> Iterator[str]:
        """Facts about what is passed back: a choice, a limit, how it is differentiated, a sum.

        factor  what it multiplies by; 1 if nothing is to be said of it
        """
        op = self.op
        part = self.part
        user = self.user
        by = self.by
        numbers = self.node.value, self.operand.value
        if self.operand.inside == self.owner or tuple in map(type, numbers):
            return
        said = self._choice() or self._kink() or self._limit(factor)
        if said is not None:
            yield said
        elif factor != 1 and self.other and op.algebra in ("product", "chain"):
            yield f"in {user}, {by} is multiplied by {self.other}"
        elif factor != 1 and part.partial and not (op.linear or self.other == by):
            number = number_in_words(factor)
            equals = "" if part.partial == number else f" = {number}"
            yield f"the derivative of {user} by {by} is {part.partial}{equals}"
        whole, mine = map(np.size, numbers)
        if part.summed is not None:
            yield f"what {user} passes back to {by} is {part.summed}"
        elif op.adds == "products" and mine:
            count = whole * self.operands[0].shape[-1] // mine
            if count > 1:
                yield f"in {user} each entry of {by} is in {count:,} products, whose parts add up"

    def _choice(self) -> str | None:
        """Say which operand, or which entries of one, the operation has chosen."""
        op, place = self.op, self.part.place
        user = self.entries.name_in_words(self.owner)
        if chosen := self._chosen_entries():
            return chosen
        if op.algebra == "choice":
            condition, *branches = self.operands
            holds = bool(self.number(condition.value))
            taken = self.entries.name_in_words(branches[not holds].id)
            branch = taken if place == 2 - holds else "the other branch"
            name = self.entries.name_in_words(condition.id)
            return f"{user} takes {branch} there: {name} is {holds}"
        if not op.selects:
            return None
        mine = self.entries.number(self.operand.value, self.entry)
        if self.factor is None:
            passes = mine == self.number(self.node.value) != 0
            return f"{user} passes {self.at} on" if passes else None
        theirs = self.number(self.factor.value)
        other = self.other
        number = number_in_words(theirs)
        named = other if other == number else f"{other} = {number}"
        if mine == theirs:
            return (
                f"{self.at} and {named} tie in {user}, where the derivative is chosen: "
                f"{op.kinks[0].convention}"
            )
        if mine == self.number(self.node.value):
            return f"{user} takes {self.at} there, not {named}"
        return f"{user} takes {other} there, not {self.at}"

    def _chosen_entries(self) -> str | None:
        """Say which entries a function that chooses entries passes its gradient to.

        Such a function orders or compares entries.
        """
        nodes = [n for n in self.entries.explanation.nodes if self.owner in (n.id, n.inside)]
        ops = [op for node in nodes if (op := self.entries.op(node.id)) is not None and op.chooses]
        if not ops or not self.entry.ndim:
            return None
        ids = {node.id for node in nodes}
        passed = sum(p.passed for p in self.entries.arrived[self.operand.id] if p.node in ids)
        chosen = [tuple(each) for each in np.argwhere(np.broadcast_to(passed, self.entry.shape))]
        if not chosen:
            return None
        listed = " and ".join(map(self.entry_in_words, chosen[:_LISTED]))
        if len(chosen) > _LISTED:
            listed += f" and {len(chosen) - _LISTED:,} more"
        if tuple(np.argwhere(self.entry)[0]) not in chosen:
            listed += f", not {self.at}"
        numbers = np.asarray(self.operand.value)
        equal = numbers == numbers[chosen[0]]
        if not self.entries.node(self.owner).shape and equal.sum() > 1:
            choice = ops[0].kinks[0].convention
            listed += f"; of {int(equal.sum()):,} equal entries the choice is: {choice}"
        return f"{self.entries.name_in_words(self.owner)} chooses {listed}"

    def _kink(self) -> str | None:
        """Say that the point lies on a kink: by the operands, or by the result of whole arrays."""
        op = self.op
        of = [each.value for each in self.operands] if op.elementwise else [self.node.value]
        for kink in op.kinks:
            with suppress(TypeError, ValueError):
                if bool(kink.where(*[float(self.number(value)) for value in of])):
                    at = self.at if op.elementwise else self.by
                    if op.algebra == "power":
                        return (
                            f"{self.user} has the form 0^0 at {at}, where the derivative is a "
                            f"convention: {kink.convention}"
                        )
                    return (
                        f"{at} is at a kink of {self.user}, where the derivative is chosen: "
                        f"{kink.convention}"
                    )
        return None

    def _flat(self) -> str | None:
        """Say that the operation does not move there, or underflows."""
        op, partial = self.op, self.part.partial
        if op.elementwise:
            rule = op.partials and op.partials[self.part.place]
            if rule is None or isinstance(rule, Pieces):
                numbers = {self.number(each.value) for each in self.operands}
                if op.algebra == "power" and not numbers & {0, 1}:
                    return f"the derivative of {self.user} underflows at {self.at}"
                number = self.at.rpartition(" = ")[2]
                more = f", and the derivative {partial or 'by it'} is 0" if rule else ""
                return f"{self.user} is flat there: its input {self.by} is {number}{more}"
        place = tuple(np.argwhere(self.mask)[0].tolist())
        ended = op.algebra != "power" and beyond_floats(self.entries, self.node.id, place)
        return f"{self.user} {ended}, and its derivative is 0 with it" if ended else None

    def _limit(self, slope: float) -> str | None:
        """Say that the operation has come to a limit, and so hardly moves with the entry any more."""
        op = self.op
        operands = numbers_of(self.entries, self.node.id)
        if operands is None or op.linear or op.kind == "flat":
            return None
        if op.algebra in _POWERS or abs(slope) > _FLAT:
            return None
        asked = self.mask if op.elementwise else np.asarray(self.node.adjoint) != 0
        here = np.asarray(self.node.value, float)[asked]
        limits = []
        for far in (_FAR_OUT, -_FAR_OUT):
            moved = [*operands]
            with suppress(*_FAILURES, np.linalg.LinAlgError), np.errstate(all="ignore"):
                moved[self.part.place] = np.where(self.entry, far, operands[self.part.place])[()]
                limit = np.asarray(op.forward(*moved, **self.node.static), float)[asked]
                apart = np.max(np.abs(limit - here))
                if np.isfinite(apart) and apart <= _NEAR * max(1.0, np.min(np.abs(limit))):
                    limits.append((limit.squeeze(), apart))
        if not limits or len(limits) > op.elementwise + 1:  # no limit, or it does not move at all
            return None
        limit, apart = limits[0]
        small = "0 in floats" if self.part.local is None else "below the smallest float"
        return (
            f"{self.user} is {'saturated' if limit.any() else 'flat there'}: its derivative at "
            f"{self.at} is {number_in_words(slope) if slope else small}, and its value "
            f"{f'is within {apart:.2g} of' if apart else 'equals, in floats,'} its "
            f"limit{'s' * bool(limit.ndim)} {number_in_words(limit[()])}"
        )


_LISTED = 4  # most entries that are named
_FLAT = 1e-3  # largest slope at which a function may have come to its limit
_NEAR = 1e-2  # largest distance from that limit, relative if it exceeds 1
_FAR_OUT = 1e300  # argument at which a function is taken to be at its limit
_POWERS = ("product", "chain", "quotient", "reciprocal", "power", "square", "product of entries")
