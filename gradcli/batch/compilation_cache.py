"""Queries of one form: by programs that are compiled once, with the ordinary way's results to the bit.

Only where a query has a part of an earlier binding's expression, the ordinary way adds up in another order, and a last bit may differ.
What is not numbers throughout, what has no form, and what is not finite is left to the ordinary way, which has the words for it.
"""

from __future__ import annotations

import string
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Literal, NamedTuple

import numpy as np

from gradcli.batch.straight_line import Transcript
from gradcli.batch.templates import Form, Forms, lowered, pieces
from gradcli.errors import GradcliError, Source, text_lines
from gradcli.language.scope import Scope
from gradcli.language.tokens import RESERVED
from gradcli.limits import Limits
from gradcli.ops.constants import NAMED
from gradcli.query.options import LONG, Options
from gradcli.report.records import Record

_OFTEN = 3  # meetings of a form, after the first, from which on it is worth compiling
_WORTH = 20  # queries in which a form is looked for in vain, in the time that one with a known form saves
_PATIENCE = 1_000  # of them, without one that is known, after which forms are looked for only now and then:
_NOW_AND_THEN = 16  # in one of so many queries


class Number(NamedTuple):
    """What a name stands for: a number, whether it is whole, and its rank among those that the gradient is by (or none)."""

    value: float
    whole: bool
    rank: int | None


Lookup = Callable[[str], Number | None]
Found = tuple[Any, dict[str, Any]]  # a value and its gradient, by names in the order of their ranks


class Alike:
    """Evaluates queries by the forms that it has met."""

    def __init__(self, limits: Limits, precision: str) -> None:
        self.limits, self.precision = limits, precision
        self._forms = Forms(limits)
        self.mentioned: set[str] = set()  # by the last record's expression
        self._missed = self._turn = 0  # queries without a known form, less what others saved; all queries

    def in_scope(self, scope: Scope, source: Source, options: Options) -> Record | None:
        """The record of a query in a program. None if it is for the ordinary way."""
        if options.freeze and any(name not in scope.names for name in options.freeze):
            return None
        return self._record(source, _of_scope(scope, options), scope.functions, options)

    def in_record(self, values: Mapping[str, Any], source: Source, options: Options, id: Any) -> Record | None:
        """The record of a query with names for arrays. None if it is for the ordinary way."""
        if len(text_lines(source.text)) != 1 or any(name not in values for name in options.freeze):
            return None
        self.mentioned = set()
        return self._record(source, _of_values(values, options, self.mentioned), (), options, id)

    def _record(self, source: Source, lookup: Lookup, functions: Iterable[str], options: Options, id: Any = None) -> Record | None:
        usual = options.bare and self.precision == "float64" and len(source.text) <= self.limits.length
        if not usual or not source.text.isascii() or "#" in source.text:
            return None
        text = source.text.strip(string.whitespace)
        if len(text) < LONG and self._in_vain():
            return None
        try:
            found = self._gradient(text, lookup, functions) if len(text) < LONG else self._gradient_of_long(text, lookup, functions)
        except GradcliError:  # the ordinary way says where
            found = None
        if found is None:
            self._missed = min(self._missed + 1, _PATIENCE)
            return None
        self._missed = max(self._missed - _WORTH, 0)
        line, column = source.position(source.text.index(text))
        value, gradient = found
        return Record(text, id, source.name, line, column, value=value, grad=gradient, seed=np.float64(1))

    def _in_vain(self) -> bool:
        """Whether it is not worth the time to look for a form: hardly any query has one that is known. Now and then, it is tried."""
        self._turn += 1
        return self._missed == _PATIENCE and self._turn % _NOW_AND_THEN > 0

    def _gradient_of_long(self, text: str, lookup: Lookup, functions: Iterable[str]) -> Found | None:
        from gradcli.batch.batched_terms import gradient_of_long

        return gradient_of_long(self._forms, text, lookup, functions, self._gradient)

    def _gradient(self, text: str, lookup: Lookup, functions: Iterable[str]) -> Found | None:
        reading = self._forms.read(*pieces(text))
        if reading is None:
            return None
        form, names, numbers = reading
        if form.compiled is None:
            form.met += 1
            if form.met < _OFTEN:
                return None
            form.compiled = _transcript(form, self.limits)
        transcript = form.compiled
        if transcript is False or not form.callees.isdisjoint(functions):
            return None
        values: list[float] = []
        ranked = []
        for place, number in enumerate(map(lookup, names)):
            if number is None or (number.whole and place in form.deciding):
                return None
            values.append(number.value)
            if number.rank is not None:
                ranked.append((number.rank, place))
        results = transcript([*values, *numbers]) if ranked else None
        if results is None:
            return None
        return results[0], {names[place]: results[place + 1] for _, place in sorted(ranked)}


def _transcript(form: Form, limits: Limits) -> Transcript | Literal[False]:
    graph = lowered(form, (), limits)
    return False if graph is None else Transcript(graph.root, graph.names, [*graph.names, *graph.numbers])


def _of_scope(scope: Scope, options: Options) -> Lookup:
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


def _of_values(values: Mapping[str, Any], options: Options, mentioned: set[str]) -> Lookup:
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
    known = NAMED.get(name)
    return None if known is None or isinstance(known, bool) else Number(float(known), False, None)
