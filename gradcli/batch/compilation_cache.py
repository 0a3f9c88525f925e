"""The compilation cache: queries of one template by programs that are compiled once, with the ordinary way's results to the bit.

Only where a query has a part of an earlier binding's expression, the ordinary way adds up in another order, and a last bit may differ.
What is not numbers throughout, what has no template, and what is not finite is left to the ordinary way, which has the words for it.
"""

from __future__ import annotations

import string
from collections.abc import Container, Mapping
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from gradcli.batch.single_queries import SingleQueries
from gradcli.batch.straight_line import StraightLine
from gradcli.batch.templates import Template, Templates, lowered, pieces
from gradcli.batch.values import Found, Lookup, Taken, of_scope, of_values
from gradcli.errors import GradcliError, Source, text_lines
from gradcli.language.scope import Scope
from gradcli.language.statements import parse_statements
from gradcli.language.tree import Query
from gradcli.limits import Limits
from gradcli.ops.calling.prefixes import NUMPY
from gradcli.query.options import LONG, Options
from gradcli.report.records import Record

if TYPE_CHECKING:
    from gradcli.batch.batched_bindings import BatchedBindings

_MANY = 256  # bindings that take some time one by one
_LARGE = 2_000  # nodes of a query that is run by itself; more are better taken in columns
_OFTEN = 3  # meetings of a template, after the first, from which on it is worth compiling
_WORTH = 20  # queries in which a template is looked for in vain, in the time that one with a known template saves
_PATIENCE = 1_000  # of them, without one that is known, after which templates are looked for only now and then:
_NOW_AND_THEN = 16  # in one of so many queries


class CompilationCache:
    """Evaluates queries by the templates that it has met."""

    def __init__(self, limits: Limits, precision: str) -> None:
        self.limits, self.precision = limits, precision
        self._templates, self._single = Templates(limits), SingleQueries(limits)
        self.mentioned: set[str] = set()  # by the last record's expression
        self._missed = self._turn = 0  # queries without a known template, less what others saved; all queries

    def in_scope(self, scope: Scope, source: Source, options: Options) -> Record | None:
        """The record of a query in a program. None if it is for the ordinary way."""
        batched: BatchedBindings | None = scope.held.batched
        taken = Taken(scope.functions, scope.objects, scope.names, scope.held.places)
        if any(name not in scope.names and name not in scope.held.places for name in options.freeze):
            return None
        lookup = of_scope(scope, options) if batched is None else batched.lookup
        record = self._found(source, lookup, taken, options, dialect=scope.dialect.wanted(), batched=batched)
        if record is None and batched is not None:
            match list(parse_statements(source, self.limits.length)):
                case [Query() as query]:
                    return self.of_tree(scope, query, options)
        return record

    def of_tree(self, scope: Scope, query: Query, options: Options, id: Any = None) -> Record | None:
        """The record of a query in a program that has been parsed. None if it is for the ordinary way."""
        batched: BatchedBindings | None = scope.held.batched
        room = scope.graph.room - (0 if batched is None else batched.nodes)
        if not self._is_for(options) or 2 * len(query.expression.nodes) > min(room, _LARGE) or scope.dialect.conflict is not None:
            return None
        if any(name not in scope.names and name not in scope.held.places for name in options.freeze):
            return None
        lookup = of_scope(scope, options) if batched is None else batched.lookup
        taken = Taken(scope.functions, scope.objects, scope.names, scope.held.places)
        found = self._single.gradient(query.expression, lookup, taken, at_once=batched is not None)
        if found is not None and batched is not None:
            found = batched.carried(found)
        if found is None:
            return None
        return _record(found, query.text, query.source, query.span.start, lookup, options, id, scope.dialect.wanted())

    def batches(self, scope: Scope, options: Options) -> bool:
        """Whether the bindings that are held back are many of few templates, so that they need not be run."""
        held = scope.held
        if held.batched is None and len(held.texts) >= _MANY and self._is_for(options):
            from gradcli.batch.batched_bindings import batched

            taken = Taken(scope.functions, scope.objects, scope.names)
            held.batched = batched(held, self._templates, of_scope(scope, options), taken, options.freeze, scope.mentioned)
        return held.batched is not None

    def in_record(self, values: Mapping[str, Any], source: Source, options: Options, id: Any) -> Record | None:
        """The record of a query with names for arrays. None if it is for the ordinary way."""
        if len(text_lines(source.text)) != 1 or any(name not in values for name in options.freeze):
            return None
        self.mentioned = set()
        return self._found(source, of_values(values, options, self.mentioned), values, options, id)

    def _is_for(self, options: Options) -> bool:
        return options.bare and self.precision == "float64"

    def _found(
        self,
        source: Source,
        lookup: Lookup,
        functions: Container[str],
        options: Options,
        id: Any = None,
        dialect: str | None = None,
        batched: BatchedBindings | None = None,
    ) -> Record | None:
        usual = self._is_for(options) and len(source.text) <= self.limits.length and type(source) is Source
        if not usual or not source.text.isascii() or "#" in source.text or "|" in source.text:
            return None
        text = source.text.strip(string.whitespace)
        if len(text) < LONG and self._in_vain():
            return None
        try:
            if len(text) < LONG:
                found = self._gradient(text, lookup, functions)
            else:
                found = self._gradient_of_terms(text, lookup, functions, 0 if batched is None else batched.nodes)
            if found is not None and batched is not None:
                found = batched.carried(found)
        except GradcliError:  # the ordinary way says where
            found = None
        if found is None:
            self._missed = min(self._missed + 1, _PATIENCE)
            return None
        self._missed = max(self._missed - _WORTH, 0)
        return _record(found, text, source, source.text.index(text), lookup, options, id, dialect)

    def _in_vain(self) -> bool:
        """Whether it is not worth the time to look for a template: hardly any query has one that is known. Now and then, it is tried."""
        self._turn += 1
        return self._missed == _PATIENCE and self._turn % _NOW_AND_THEN > 0

    def _gradient_of_terms(self, text: str, lookup: Lookup, functions: Container[str], nodes: int) -> Found | None:
        from gradcli.batch.batched_terms import gradient_of_terms

        return gradient_of_terms(self._templates, text, lookup, functions, self._gradient, nodes)

    def _gradient(self, text: str, lookup: Lookup, functions: Container[str]) -> Found | None:
        reading = self._templates.read(*pieces(text))
        if reading is None:
            return None
        template, names, numbers = reading
        if template.compiled is None:
            template.met += 1
            if template.met < _OFTEN:
                return None
            template.compiled = _straight_line(template, self.limits)
        program = template.compiled
        if program is False or any(name in functions for name in template.callees):
            return None
        values: list[float] = []
        ranked = []
        for place, number in enumerate(map(lookup, names)):
            if number is None or (number.whole and place in template.deciding):
                return None
            values.append(number.value)
            if number.rank is not None:
                ranked.append((number.rank, place))
        results = program([*values, *numbers]) if ranked else None
        if results is None:
            return None
        return results[0], {names[place]: results[place + 1] for _, place in sorted(ranked)}


def _record(found: Found, text: str, source: Source, start: int, lookup: Lookup, options: Options, id: Any, dialect: str | None) -> Record:
    """The record of a query whose text stands at a place in a source."""
    line, column = source.position(start)
    value, gradient = found
    record = Record(text, id, source.name, line, column, value=value, grad=gradient, seed=np.float64(1))
    record.dialect = None if dialect == NUMPY else dialect
    if options.at:
        record.at = {name: number.value for name in gradient if (number := lookup(name)) is not None}
    return record


def _straight_line(template: Template, limits: Limits) -> StraightLine | Literal[False]:
    graph = lowered(template, (), limits)
    return False if graph is None else StraightLine(graph.root, graph.names, [*graph.names, *graph.numbers])
