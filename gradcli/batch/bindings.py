"""The numbers that names of a query stand for, and many bindings that are never run one by one."""

from __future__ import annotations

import math
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from gradcli.batch.templates import Pieces, Template, pieces
from gradcli.language.held_bindings import HeldBindings
from gradcli.language.scope import Scope
from gradcli.language.tokens import RESERVED
from gradcli.ops.constants import NAMED
from gradcli.query.options import Options


class Number(NamedTuple):
    """The meaning of a name: a number, whether it is whole, and its rank among those that the gradient is by (or none)."""

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


class Computed(NamedTuple):
    """An expression of a template: its names, the numbers that they stand for, its value, and the derivatives by these names."""

    template: Template
    names: list[str]
    numbers: list[Number]
    value: Any
    parts: Sequence[Any]


Compute = Callable[[Pieces, Lookup], Computed | None]  # None for what is for the ordinary way


def ranked(value: Any, slopes: Mapping[str, Any], ranks: Iterable[int | None]) -> Found | None:
    """A value and its gradient by the names that have ranks, in their order. None if there is none, or it is not finite."""
    named = sorted((rank, name) for name, rank in zip(slopes, ranks, strict=True) if rank is not None)
    gradient = {name: np.float64(slopes[name]) for _, name in named}
    return (np.float64(value), gradient) if gradient and all(map(math.isfinite, (value, *gradient.values()))) else None


# -- Bindings that are held back: what a query finds for their names is carried back to the numbers
# that they are made of.


_QUERIES = 64  # of which each goes through all bindings; in the time of some more, these are run one by one
_LATER = 1 << 60  # ranks from here on are those of names bound after all others


class BatchedBindings:
    """The values of bindings, and how they depend on numbers and on each other.

    known  what names stand for
    parts  of those that are bound to expressions: the derivatives by the names in these
    nodes  no fewer than the ordinary way makes
    """

    def __init__(self, outer: Lookup, mentioned: set[str]) -> None:
        self.outer, self.mentioned = outer, mentioned
        self.known: dict[str, Number] = {}
        self.parts: dict[str, list[tuple[str, Any]]] = {}
        self.nodes = 0
        self._carried = 0  # queries so far

    def run(self, held: HeldBindings, frozen: Container[str], taken: Container[str], compute: Compute, most: int) -> bool:
        """Run the bindings. False if they are for the ordinary way: if they are not numbers, and arithmetic of few templates.

        taken  names to which the program has given a meaning
        most   nodes that there may be
        """

        def earlier(name: str) -> Number | None:
            return self.lookup(name) if name in self.known or name not in held.places else None

        expressions, templates = held.expressions(), set[Template]()
        for slot, (name, number) in enumerate(zip(held.places, held.numbers, strict=True)):
            self.nodes += 3  # a number, a sign and a leaf; or what a name stands for, and the name of that
            if number is not None:
                self.known[name] = Number(float(number), type(number) is not float, None if name in frozen else _LATER + slot)
                continue
            found = compute(
                pieces(next(expressions)), lambda name: None if name in held.places and name not in self.known else self.lookup(name)
            )
            if found is None:
                return False
            templates.add(found.template)
            self.nodes += found.template.nodes
            if self.nodes > most or are_too_many(templates, slot):
                return False
            depends = any(each.rank is not None for each in found.numbers)
            if not depends and any(each in taken for each in found.names):
                return False
            self.known[name] = Number(
                float(found.value), True, -1 if depends else _LATER + slot
            )  # it may be whole, and is so where that decides
            if depends:
                self.parts[name] = list(zip(found.names, found.parts, strict=True))
        return True

    def lookup(self, name: str) -> Number | None:
        """Return what a name stands for; those that are looked up are noted as mentioned."""
        number = self.known.get(name)
        if number is None:
            return self.outer(name)
        self.mentioned.add(name)
        return number

    def carried(self, found: Found) -> Found | None:
        """A value and its gradient, by the numbers that bindings are made of. None if it is not finite, or there are many queries."""
        self._carried += 1
        if self._carried > _QUERIES:
            return None
        value, slopes = found[0], dict(found[1])
        for name in reversed(self.parts):
            slope = slopes.pop(name, None)
            for other, part in self.parts[name] if slope is not None else ():
                slopes[other] = slopes.get(other, 0.0) + slope * part
        numbers = map(self.lookup, slopes)
        return ranked(value, slopes, [number and number.rank for number in numbers])


_ROWS, _FIRST = 16, 32  # expressions of a template that are worth its compilation, and templates at the beginning


def are_too_many(templates: set[Template], place: int) -> bool:
    """Tell whether the expressions up to a place are of so many templates that the ordinary way takes no longer."""
    return len(templates) * _ROWS > place + _FIRST * _ROWS
