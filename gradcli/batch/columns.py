"""The terms of a long sum, and many bindings of one query, computed in columns: all of one template at once."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import chain
from typing import Any, NamedTuple

import numpy as np

from gradcli.batch.templates import Pieces, Template, Templates, lowered, pieces, terms
from gradcli.language.held_bindings import HeldBindings
from gradcli.language.scope import Scope
from gradcli.language.tokens import RESERVED
from gradcli.ops.constants import NAMED
from gradcli.plans.plan import Plan
from gradcli.plans.source import Gradients
from gradcli.query.options import Options

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


# -- Expressions of few templates over numbers. Value and gradient differ from the ordinary way's by
# rounding, as a name's contributions are added in another order.


_ROWS = 16  # expressions of a template that are worth a plan
_FIRST = 256  # expressions among which there may be more templates


@dataclass(eq=False)
class _Rows:
    """Expressions of one template: their places among others, and their names and numbers, one expression's after the other's."""

    places: list[int] = field(default_factory=list)
    names: list[str] = field(default_factory=list)
    numbers: list[float] = field(default_factory=list)

    def columns(self, values: np.ndarray, count: int) -> np.ndarray:
        """A row for each of so many names or numbers of the template."""
        return np.ascontiguousarray(values.reshape(len(self.places), count).T)


class Columns:
    """Expressions of few templates, over names that are numbers.

    numbers  what the names stand for
    values   of the expressions
    nodes    of the program, and of the expressions
    groups   for each template: the places of its expressions, those of their names, and the derivatives by these
    """

    def __init__(self, numbers: dict[str, Number], count: int, nodes: int) -> None:
        self.numbers, self.values, self.nodes = numbers, np.empty(count), nodes
        self.groups: list[tuple[list[int], np.ndarray, list[np.ndarray]]] = []

    def slopes(self, weights: np.ndarray) -> np.ndarray:
        """The derivatives by all names of the sum of the expressions times weights."""
        found = np.zeros(len(self.numbers))
        for places, columns, parts in self.groups:
            for column, part in zip(columns, parts, strict=True):
                found += np.bincount(column, weights[places] * part, len(found))
        return found


def in_columns(
    templates: Templates, expressions: Iterable[Pieces], lookup: Lookup, functions: Container[str], nodes: int
) -> Columns | None:
    """Expressions, computed together. None if they are not of few templates, over numbers, and finite.

    nodes  how many the program has already
    """
    rows_of, count = dict[Template, _Rows](), 0
    for place, pieces_of in enumerate(expressions):
        reading = templates.read(*pieces_of, at_once=True)
        if reading is None or len(rows_of) * _ROWS > place + _FIRST * _ROWS:
            return None
        rows = rows_of.setdefault(reading.template, _Rows())
        rows.places.append(place)
        rows.names += reading.names
        rows.numbers += reading.numbers
        count = place + 1
    if len(rows_of) * _ROWS > count or any(name in functions for template in rows_of for name in template.callees):
        return None
    numbers: dict[str, Number] = {}
    for name in dict.fromkeys(chain.from_iterable(rows.names for rows in rows_of.values())):
        number = lookup(name)
        if number is None:
            return None
        numbers[name] = number
    index = dict(zip(numbers, range(len(numbers)), strict=True))
    values, whole = np.array([n.value for n in numbers.values()]), np.array([n.whole for n in numbers.values()], bool)
    found = Columns(numbers, count, nodes)
    for template, rows in rows_of.items():
        columns = rows.columns(np.array([index[name] for name in rows.names], np.intp), len(template.names))
        graph = lowered(template, (len(rows.places),), templates.limits)
        if graph is None or any(whole[columns[place]].any() for place in template.deciding):
            return None
        found.nodes += graph.operations * len(rows.places) + len(set(rows.numbers))
        if found.nodes > templates.limits.nodes:
            return None
        plan = Plan(Gradients(graph.root, graph.names), [*graph.names, *graph.numbers], "float64", backend="numpy")
        given = rows.columns(np.array(rows.numbers), len(template.numbers))
        found.values[rows.places], *parts = plan([*values[columns], *given])
        found.groups.append((rows.places, columns, parts))
    return found if np.isfinite(found.values).all() else None


def gradient_of_sum(templates: Templates, text: str, lookup: Lookup, functions: Container[str], nodes: int = 0) -> Found | None:
    """The value and the gradient of a long sum, whose terms are added in their order. None if it is for the ordinary way."""
    signs: list[float] = []

    def unsigned() -> Iterator[Pieces]:
        for negative, between, words in terms(text):
            signs.append(-1.0 if negative else 1.0)
            yield between, words

    columns = in_columns(templates, unsigned(), lookup, functions, nodes)
    if columns is None or columns.nodes + 2 * len(signs) + 2 * len(columns.numbers) > templates.limits.nodes:  # what adds, and names
        return None
    weights = np.array(signs)
    value, slopes = np.add.accumulate(weights * columns.values)[-1], columns.slopes(weights)
    return _ranked(value, {name: (number.rank, slope) for (name, number), slope in zip(columns.numbers.items(), slopes, strict=True)})


def _ranked(value: Any, slopes: Mapping[str, tuple[int | None, Any]]) -> Found | None:
    """A value and its gradient by the names that have ranks, in their order. None if there is none, or it is not finite."""
    ranked = sorted((rank, name) for name, (rank, _) in slopes.items() if rank is not None)
    gradient = {name: slopes[name][1] for _, name in ranked}
    return (value, gradient) if gradient and np.isfinite([value, *gradient.values()]).all() else None


# -- Bindings that are held back: what a query finds for their names is carried on to the numbers
# that they are made of.


_QUERIES = 64  # of which each goes through all bindings; in the time of some more, these are run one by one
_LATER = 1 << 60  # ranks from here on are those of names bound after all others


class BatchedBindings:
    """The values of bindings to numbers, and to expressions of such numbers.

    nodes  no fewer than the ordinary way makes
    """

    def __init__(self, held: HeldBindings, frozen: Container[str], outer: Lookup, mentioned: set[str]) -> None:
        self.outer, self.mentioned = outer, mentioned
        self.known: dict[str, Number] = {}
        self.places: dict[str, int] = {}  # of names that are bound to expressions
        for (name, slot), number in zip(held.places.items(), held.numbers, strict=True):
            if number is None:
                self.places[name] = len(self.places)
            else:
                self.known[name] = Number(float(number), type(number) is not float, None if name in frozen else _LATER + slot)
        self.nodes = 3 * len(held.places)  # a number, a sign and a leaf; or what a name stands for, and the name of that
        self.columns: Columns | None = None
        self._carried = 0  # queries so far

    def compute(self, templates: Templates, held: HeldBindings, functions: Container[str]) -> bool:
        """Compute the expressions. False if they are for the ordinary way: one depends on no number, or on what comes after it."""
        if not self.places:
            return True
        first = min(held.places[name] for name in self.places)

        def earlier(name: str) -> Number | None:
            return self._number(name) if held.places.get(name, -1) < first else None

        self.columns = found = in_columns(templates, map(pieces, held.expressions()), earlier, functions, self.nodes)
        if found is None:
            return False
        self.nodes = found.nodes
        fixed = np.array([number.rank is None for number in found.numbers.values()], bool)
        return not any(fixed[columns].all(axis=0).any() for _, columns, _ in found.groups)

    def _number(self, name: str) -> Number | None:
        number = self.known.get(name)
        if number is None:
            return self.outer(name)
        self.mentioned.add(name)
        return number

    def lookup(self, name: str) -> Number | None:
        """Return what a name stands for in a query; those that are looked up are noted as mentioned."""
        place = self.places.get(name)
        if place is None or self.columns is None:
            return self._number(name)
        self.mentioned.add(name)
        return Number(float(self.columns.values[place]), True, -1)  # as if whole, for it may be: where that decides, the ordinary way does

    def carried(self, found: Found) -> Found | None:
        """A value and its gradient, by the numbers that bindings are made of. None if it is not finite, or there are many queries."""
        self._carried += 1
        if self._carried > _QUERIES:
            return None
        value, given = found
        slopes = {name: slope for name, slope in given.items() if name not in self.places}
        if self.columns is not None:
            weights, asked = np.zeros(len(self.places)), np.zeros(len(self.places), bool)
            for name, slope in given.items():
                if (place := self.places.get(name)) is not None:
                    weights[place], asked[place] = slope, True
            reached = np.zeros(len(self.columns.numbers), bool)
            for places, columns, _ in self.columns.groups:
                reached[columns[:, asked[places]]] = True
            through = zip(self.columns.numbers, self.columns.slopes(weights), reached.tolist(), strict=True)
            slopes |= {name: slope + slopes.get(name, 0.0) for name, slope, is_reached in through if is_reached}
        numbers = {name: self._number(name) for name in slopes}
        return _ranked(value, {name: (number and number.rank, slopes[name]) for name, number in numbers.items()})
