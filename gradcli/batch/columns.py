"""Many bindings of one query, and many terms of a long sum, computed in columns."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import Any, NamedTuple

import numpy as np

from gradcli.batch.templates import Template, Templates, Term, lowered, pieces, terms
from gradcli.language.held_bindings import HeldBindings
from gradcli.language.scope import Scope
from gradcli.language.tokens import RESERVED, STARTS_NUMBER
from gradcli.ops.constants import NAMED
from gradcli.plans.plan import Plan
from gradcli.plans.source import Gradients
from gradcli.query.options import LONG, Options

# -- What the names of a query stand for, where they are numbers -----------------------------------


class Number(NamedTuple):
    """What a name stands for: a number, whether it is whole, and its rank among those that the gradient is by (or none)."""

    value: float
    whole: bool
    rank: int | None


Lookup = Callable[[str], Number | None]
Found = tuple[Any, dict[str, Any]]  # a value and its gradient, by names in the order of their ranks


def of_scope(scope: Scope, options: Options) -> Lookup:
    """Return what names stand for in a program; those that are looked up are noted as mentioned."""
    mentioned = scope.mentioned

    def lookup(name: str) -> Number | None:
        leaf = scope.names.get(name) if name not in RESERVED else None
        if leaf is None:
            return _named(name) if name not in scope.failed else None
        value = scope.values.get(leaf)
        if type(value) is not np.float64:
            return None
        mentioned.add(name)
        fixed = leaf in scope.frozen or name in options.freeze
        return Number(float(value), leaf in scope.whole, None if fixed else leaf.index)

    return lookup


def of_values(values: Mapping[str, Any], options: Options, mentioned: set[str]) -> Lookup:
    """Return what names stand for in a record's arrays; those that are looked up are noted as mentioned."""
    ranks = dict(zip(values, range(len(values)), strict=True))

    def lookup(name: str) -> Number | None:
        value = values.get(name) if name not in RESERVED else None
        if value is None:
            return _named(name)
        mentioned.add(name)
        kind = value.dtype.kind
        if value.ndim or kind not in "fiu":
            return None
        return Number(float(value), kind != "f", None if name in options.freeze else ranks[name])

    return lookup


def _named(name: str) -> Number | None:
    constant = NAMED.get(name)
    return None if constant is None or isinstance(constant, bool) or name == "E" else Number(float(constant), False, None)


# -- Batched terms: those of a long sum, all of one template at once, as columns of what their
# names and numbers are.
#
# Terms are added in their order. Value and gradient differ from the ordinary way's by rounding,
# as a name's contributions are added in another order. What stands around a sum in brackets, as
# in ``-log(...)/2``, is taken by the chain rule.


_ROWS = 16  # terms of a template that are worth a plan
_FIRST = 256  # terms among which there may be more templates
_NESTED = 8  # brackets around a sum, one in the other
_INNER = "sum_in_brackets"  # stands for a sum in what is around it


@dataclass(eq=False)
class Rows:
    """Expressions of one template: their places among others, and their names and numbers, one expression's after the other's."""

    places: list[int] = field(default_factory=list)
    negative: list[bool] = field(default_factory=list)
    names: list[str] = field(default_factory=list)
    numbers: list[float] = field(default_factory=list)

    def add(self, place: int, negative: bool, names: Iterable[str], numbers: Iterable[float]) -> None:
        self.places.append(place)
        self.negative.append(negative)
        self.names += names
        self.numbers += numbers

    def slots(self, index: Mapping[str, int], template: Template) -> np.ndarray:
        """Return what an index has of the names: a row for each name of the template."""
        return np.fromiter(map(index.__getitem__, self.names), np.intp).reshape(len(self.places), len(template.names)).T

    def given(self, template: Template) -> np.ndarray:
        """The numbers: a row for each number of the template."""
        return np.ascontiguousarray(np.array(self.numbers, float).reshape(len(self.places), len(template.numbers)).T)


def gradient_of_terms(
    templates: Templates,
    text: str,
    lookup: Lookup,
    functions: Container[str],
    of_short: Callable[[str, Lookup, Container[str]], Found | None],
    nodes: int = 0,
) -> Found | None:
    """The value and the gradient of a sum, or of what is around a sum in brackets. None if it is for the ordinary way.

    of_short   gives the same of a short expression
    nodes      how many the program has already
    """
    outside: list[str] = []  # texts around brackets, the outermost first
    while (inside := _brackets(text)) is not None:
        if len(outside) == _NESTED:
            return None
        outside.append(text[: inside[0]] + _INNER + text[inside[1] :])
        text = text[slice(*inside)]
    if any(around.count(_INNER) > 1 or len(around) > LONG for around in outside):
        return None
    found = gradient_of_sum(templates, text, lookup, functions, nodes)
    for around in reversed(outside):
        if found is None:
            return None
        value, slopes = found
        within = _with_number(lookup, value)
        whole = of_short(around, within, functions)
        if whole is None:
            return None
        value, outer = whole
        factor = outer.pop(_INNER)
        slopes = {name: factor * slope for name, slope in slopes.items()}
        for name, slope in outer.items():
            slopes[name] = slopes[name] + slope if name in slopes else slope
        found = value, slopes
    if found is None or not outside:
        return found
    value, slopes = found
    return (value, dict(sorted(slopes.items(), key=lambda item: _rank(lookup, item[0])))) if _all_finite(slopes) else None


def _brackets(text: str) -> tuple[int, int] | None:
    """The inside of the outermost brackets that hold more than half of a text."""
    data = np.frombuffer(text.encode("ascii"), np.uint8)
    opening, closing = data == ord("("), data == ord(")")
    depth = np.cumsum(opening.astype(np.int8) - closing.astype(np.int8), dtype=np.int32)
    starts, ends = np.flatnonzero(opening & (depth == 1)), np.flatnonzero(closing & (depth == 0))
    if not len(starts) or len(starts) != len(ends):
        return None
    widest = int(np.argmax(ends - starts))
    start, end = int(starts[widest]) + 1, int(ends[widest])
    return (start, end) if 2 * (end - start) > len(text) else None


def _with_number(lookup: Lookup, value: float) -> Lookup:
    inner = Number(float(value), True, -1)  # as if whole, for it may be: where that decides, the ordinary way does
    return lambda name: inner if name == _INNER else lookup(name)


def _rank(lookup: Lookup, name: str) -> int:
    number = lookup(name)
    assert number is not None
    assert number.rank is not None
    return number.rank


def _all_finite(slopes: dict[str, Any]) -> bool:
    return bool(np.isfinite(list(slopes.values())).all())


def gradient_of_sum(templates: Templates, text: str, lookup: Lookup, functions: Container[str], nodes: int) -> Found | None:
    """The value of a sum and its gradient. None if it is not one of many terms of few templates, over numbers, and finite."""
    rows_of = by_template(templates, terms(text))
    if rows_of is None or any(name in functions for template in rows_of for name in template.callees):
        return None
    numbers: dict[str, Number] = {}
    for name in dict.fromkeys(chain.from_iterable(rows.names for rows in rows_of.values())):
        number = lookup(name)
        if number is None:
            return None
        numbers[name] = number
    index = dict(zip(numbers, range(len(numbers)), strict=True))
    values = np.array([number.value for number in numbers.values()])
    whole = np.array([number.whole for number in numbers.values()])
    summands = np.empty(sum(len(rows.places) for rows in rows_of.values()))
    slopes = np.zeros(len(index))
    nodes += 2 * len(summands) + 2 * len(index)  # no fewer than the ordinary way counts: what adds, and names
    for template, rows in rows_of.items():
        columns = rows.slots(index, template)
        graph = lowered(template, (len(rows.places),), templates.limits)
        if graph is None or any(whole[columns[place]].any() for place in template.deciding):
            return None
        nodes += graph.operations * len(rows.places) + len(set(rows.numbers))
        if nodes > templates.limits.nodes:
            return None
        seed = graph.root.graph.leaf("seed", graph.root.shape)
        plan = Plan(Gradients(graph.root, graph.names, seed), [*graph.names, *graph.numbers, seed], "float64", backend="numpy")
        signs = np.where(rows.negative, -1.0, 1.0)
        value, *parts = plan([*values[columns], *rows.given(template), signs])
        summands[rows.places] = signs * value
        for column, part in zip(columns, parts, strict=True):
            slopes += np.bincount(column, part, len(slopes))
    value = np.add.accumulate(summands)[-1]
    ranked = sorted((number.rank, name) for name, number in numbers.items() if number.rank is not None)
    if not ranked or not np.isfinite(value) or not np.isfinite(slopes).all():
        return None
    return value, {name: slopes[index[name]] for _, name in ranked}


def by_template(templates: Templates, expressions: Iterable[Term]) -> dict[Template, Rows] | None:
    """Expressions by their templates. None if these are too many."""
    found: dict[Template, Rows] = {}
    waiting = []  # the first ones of their kind
    alone: dict[tuple[str, ...], Rows] = {}  # names with nothing else, by the blanks around them
    count = 0
    for place, term in enumerate(expressions):
        count = place + 1
        negative, between, words = term
        rows = alone.get(between) if len(words) == 1 and words[0][0] not in STARTS_NUMBER else None
        if rows is not None:
            rows.add(place, negative, words, ())
            continue
        rows = _added(found, templates, place, *term)
        if rows is None:
            waiting.append((place, *term))
            if len(waiting) * _ROWS > place + _FIRST * _ROWS:
                return None
        elif len(words) == 1 and not rows.numbers:
            alone[between] = rows
    if len(waiting) * _ROWS > count or not all(_added(found, templates, *term) or _added(found, templates, *term) for term in waiting):
        return None
    return found if len(found) * _ROWS <= count else None


def _added(
    found: dict[Template, Rows], templates: Templates, place: int, negative: bool, between: tuple[str, ...], words: Sequence[str]
) -> Rows | None:
    """The rows that an expression belongs to, with it. None if its template is not known yet, or it has none."""
    reading = templates.read(between, words)
    if reading is None:
        return None
    rows = found.get(reading.template)
    if rows is None:
        rows = found[reading.template] = Rows()
    rows.add(place, negative, reading.names, reading.numbers)
    return rows


# -- Batched bindings: those of a long program, all of one template at once, as columns of what
# their names and numbers are.
#
# Bindings that depend on others come after them, level by level. What a query finds for its names
# is carried back through the bindings by the chain rule, so that value and gradient are those of
# the ordinary way to rounding. What is not numbers throughout, or not finite, or made of nearly
# as many templates and levels as bindings, is left to the ordinary way.


_DEEPEST = 64  # levels
_QUERIES = 64  # of which each goes through all bindings; in the time of some more, these are run one by one
_LATER = 1 << 60  # ranks from here on are those of names bound after all others
_NODES = 3  # of a name: its number, a sign, and its leaf; or what it stands for, and the name of that


@dataclass(eq=False, repr=False)
class _Slots:
    """What names stand for: first those that are bound, in their order, and then others that they are made of.

    whole      may be whole numbers
    variables  are numbers, not made of others
    constants  have values that no program has given them
    """

    index: dict[str, int]
    names: list[str]
    values: np.ndarray
    ranks: list[int | None]
    whole: np.ndarray
    variables: np.ndarray
    constants: np.ndarray


@dataclass(eq=False, repr=False)
class _Group:
    """Bindings of one template and one level: their slots, those of their names, their numbers, and the derivatives by names."""

    template: Template
    targets: np.ndarray
    columns: np.ndarray
    numbers: np.ndarray
    parts: list[np.ndarray] = field(default_factory=list)

    def where(self, chosen: np.ndarray) -> _Group:
        return _Group(self.template, self.targets[chosen], self.columns[:, chosen], np.ascontiguousarray(self.numbers[:, chosen]))


class BatchedBindings:
    """The values of bindings, and how they depend on each other."""

    def __init__(self, slots: _Slots, groups: Sequence[_Group], outer: Lookup, mentioned: set[str], nodes: int) -> None:
        self.slots, self.outer, self.mentioned = slots, outer, mentioned
        self.groups = groups  # each after those that it is made of
        self.nodes = nodes  # no fewer than the ordinary way makes
        self._carried = 0  # queries so far
        self._values, self._whole, self._constants = slots.values.tolist(), slots.whole.tolist(), slots.constants.tolist()

    def lookup(self, name: str) -> Number | None:
        """Return what a name stands for in a query; those that are looked up are noted as mentioned."""
        slot = self.slots.index.get(name)
        if slot is None or self._constants[slot]:
            return self.outer(name)
        self.mentioned.add(name)
        return Number(self._values[slot], self._whole[slot], self.slots.ranks[slot])

    def carried(self, found: Found) -> Found | None:
        """A value and its gradient, by the numbers that bindings are made of. None if it is not finite, or there are many queries."""
        self._carried += 1
        if self._carried > _QUERIES:
            return None
        value, slopes = found
        slots = self.slots
        adjoints, needed = np.zeros(len(slots.names)), np.zeros(len(slots.names), bool)
        own = [name for name in slopes if name in slots.index]
        places = [slots.index[name] for name in own]
        adjoints[places], needed[places] = [slopes[name] for name in own], True
        for group in reversed(self.groups):
            cotangents, wanted = adjoints[group.targets], needed[group.targets]
            for column, part in zip(group.columns, group.parts, strict=True):
                adjoints += np.bincount(column, cotangents * part, len(adjoints))
                needed[column[wanted]] = True
        if not np.isfinite(adjoints).all():
            return None
        others = {name: number.rank for name in slopes if name not in slots.index and (number := self.outer(name)) is not None}
        reached = [slot for slot in np.flatnonzero(needed & slots.variables).tolist() if slots.ranks[slot] is not None]
        names = [slots.names[slot] for slot in reached] + [name for name, rank in others.items() if rank is not None]
        ranks = [slots.ranks[slot] for slot in reached] + [rank for rank in others.values() if rank is not None]
        parts = np.array([*adjoints[reached], *(slopes[name] for name, rank in others.items() if rank is not None)])
        order = np.argsort(np.array(ranks, np.int64))
        gradient = dict(zip([names[place] for place in order.tolist()], parts[order], strict=True))
        return value, gradient


def in_columns(
    held: HeldBindings, templates: Templates, outer: Lookup, taken: Container[str], frozen: Container[str], mentioned: set[str]
) -> BatchedBindings | None:
    """The bindings that are held back, in columns. None if they are for the ordinary way.

    outer      what other names stand for
    taken      names to which the program has given a meaning
    mentioned  takes the names that stand in the bindings
    """
    rows_of = by_template(templates, ((False, *pieces(text)) for text in held.expressions()))
    if rows_of is None or any(name in taken or name in held.places for template in rows_of for name in template.callees):
        return None
    slots = _slots(held, rows_of, outer, taken, frozen)
    groups = None if slots is None else _groups(held, rows_of, slots)
    if slots is None or groups is None:
        return None
    nodes = _NODES * len(slots.names)
    for group in groups:
        graph = lowered(group.template, group.targets.shape, templates.limits)
        nodes += 0 if graph is None else graph.operations * len(group.targets) + np.unique(group.numbers).size
        if graph is None or nodes > templates.limits.nodes:
            return None
        plan = Plan(Gradients(graph.root, graph.names), [*graph.names, *graph.numbers], "float64")
        slots.values[group.targets], *group.parts = plan([*slots.values[group.columns], *group.numbers])
    if not np.isfinite(slots.values).all():
        return None
    mentioned |= _names(rows_of).difference(slots.names[slot] for slot in np.flatnonzero(slots.constants).tolist())
    return BatchedBindings(slots, groups, outer, mentioned, nodes)


def _slots(
    held: HeldBindings, rows_of: Mapping[Template, Rows], outer: Lookup, taken: Container[str], frozen: Container[str]
) -> _Slots | None:
    """Return what names stand for, as far as it is known. None if one of them is no number."""
    bound = len(held.places)
    others: dict[str, Number] = {}
    for name in sorted(_names(rows_of).difference(held.places)):
        number = outer(name)
        if number is None:
            return None
        others[name] = number
    index = held.places | dict(zip(others, range(bound, bound + len(others)), strict=True))
    ranks = [
        None if number is not None and name in frozen else _LATER + slot
        for (name, slot), number in zip(held.places.items(), held.numbers, strict=True)
    ]
    return _Slots(
        index,
        [*index],
        np.array([0.0 if number is None else number for number in held.numbers] + [number.value for number in others.values()], float),
        ranks + [number.rank for number in others.values()],
        np.array([type(number) is not float for number in held.numbers] + [number.whole for number in others.values()]),
        np.array([number is not None for number in held.numbers] + [True] * len(others)),
        np.array([False] * bound + [name not in taken for name in others]),
    )


def _names(rows_of: Mapping[Template, Rows]) -> set[str]:
    """The names that stand in the bindings."""
    return set().union(*(rows.names for rows in rows_of.values()))


def _groups(held: HeldBindings, rows_of: Mapping[Template, Rows], slots: _Slots) -> list[_Group] | None:
    """The bindings by template and level, lower levels first.

    None if a binding mentions a name before it is bound, or a whole number that may decide something; or if there are too many groups.
    """
    computed = np.array([slot for slot, number in enumerate(held.numbers) if number is None], np.intp)
    found = []
    for template, rows in rows_of.items():
        group = _Group(template, computed[rows.places], rows.slots(slots.index, template), rows.given(template))
        columns = group.columns
        early = (columns >= group.targets) & (columns < len(held.places))
        if early.any() or any(slots.whole[columns[place]].any() for place in template.deciding):
            return None
        slots.variables[group.targets] = slots.constants[columns].all(axis=0)  # of numbers alone
        found.append(group)
    levels = np.zeros(len(slots.names), int)
    for _ in range(_DEEPEST):
        deeper = [1 + levels[group.columns].max(axis=0, initial=0) for group in found]
        if all((level == levels[group.targets]).all() for group, level in zip(found, deeper, strict=True)):
            break
        for group, level in zip(found, deeper, strict=True):
            levels[group.targets] = level
    else:
        return None
    parts = [(int(level), group.where(levels[group.targets] == level)) for group in found for level in np.unique(levels[group.targets])]
    return None if len(parts) * _ROWS > len(computed) else [group for _, group in sorted(parts, key=lambda part: part[0])]
