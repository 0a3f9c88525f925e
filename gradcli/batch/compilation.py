"""The compilation cache: queries of one template by a program that is compiled once, with the ordinary way's results to the bit.

A program is the value and its partial derivatives as a straight line of Python: what is equal is computed once, and adjoints are added up
in the order of the graph's sweep.
"""

from __future__ import annotations

import math
import string
from collections import ChainMap, defaultdict
from collections.abc import Container, Mapping, Sequence
from functools import cache, partial
from typing import Any

import numpy as np

from gradcli.batch.bindings import BatchedBindings, Computed, Found, Lookup, are_too_many, of_scope, of_values, ranked
from gradcli.batch.templates import Pieces, Template, Templates, lowered, pieces, terms
from gradcli.errors import GradcliError, Source, text_lines
from gradcli.graph.interpret import rebuild
from gradcli.graph.nodes import Expr, Graph, reachable
from gradcli.graph.sweep import backward, itself
from gradcli.graph.transforms import ones_like, zeros_like
from gradcli.language.scope import Scope
from gradcli.limits import Limits
from gradcli.ops.calling.prefixes import NUMPY
from gradcli.ops.elementwise import arithmetic
from gradcli.plans.assembly import written
from gradcli.plans.nests import planned
from gradcli.query.options import LONG, Options
from gradcli.report.records import Record

# -- Straight-line programs: what the forward pass and the sweep do with numbers, written out as a
# straight line of Python.
#
# Nothing is folded, moved or shared that they would not, so that results are theirs to the bit,
# in a tenth of the time.


class StraightLine:
    """The value of a root, which is a number, and its derivatives, as a function of the values of leaves.

    program  the function, whose results may be Python's floats; it raises where these do, and leaves what is not finite to others
    """

    def __init__(self, root: Expr, wrt: Sequence[Expr], leaves: Sequence[Expr]) -> None:
        found = backward(reachable([root]), {root: ones_like(root)}, wrt, itself)
        results = [root, *(found.get(x, zeros_like(x)) for x in wrt)]
        # where all is finite, a cotangent times a partial is a product like any other
        roots = rebuild(results, {}, Graph(root.graph.limits), {arithmetic.chain: arithmetic.mul})
        steps = planned(roots, in_c=False)
        self.program = written(leaves, roots, steps, "float64", assume_finite=True, checked=False, exact=True).compiled("program")

    def __call__(self, values: Sequence[Any]) -> Sequence[Any] | None:
        """Value and derivatives; None if one of them is not finite."""
        try:
            results, _ = self.program(*values)
        except (ArithmeticError, ValueError):  # Python's floats raise where NumPy has an infinity or NaN
            return None
        return results if all(map(math.isfinite, results)) else None


# Only where a query has a part of an earlier binding's expression, the ordinary way adds up in
# another order, and a last bit may differ. What is not numbers throughout, what has no template,
# and what is not finite is left to the ordinary way, which has the words for it.


_MANY = 256  # bindings that take some time one by one
_OFTEN_READ = 3  # meetings of a template, after the first, from which on it is worth compiling


class CompilationCache:
    """Evaluates queries by the templates that it has met."""

    def __init__(self, limits: Limits, precision: str) -> None:
        self.limits, self.precision = limits, precision
        self._templates = Templates(limits)
        self.mentioned: set[str] = set()  # by the last record's expression

    def in_scope(self, scope: Scope, source: Source, options: Options) -> Record | None:
        """The record of a query in a program. None if it is for the ordinary way."""
        batched: BatchedBindings | None = scope.held.batched
        taken = ChainMap(scope.functions, scope.objects, scope.names, scope.held.places)
        if any(name not in scope.names and name not in scope.held.places for name in options.freeze):
            return None
        lookup = of_scope(scope, options) if batched is None else batched.lookup
        return self._found(source, lookup, taken, options, dialect=scope.dialect.wanted(), batched=batched)

    @np.errstate(all="ignore")
    def batches(self, scope: Scope, options: Options) -> bool:
        """Return whether the bindings that are held back are many of few templates, so that they need not be run."""
        held = scope.held
        if held.batched is None and len(held.texts) >= _MANY and self._is_for(options):
            taken = ChainMap(scope.functions, scope.objects, scope.names, held.places)
            batched = BatchedBindings(of_scope(scope, options), scope.mentioned)
            compute = partial(self._computed, taken=taken, at_once=True)
            if batched.run(held, options.freeze, taken, compute, self.limits.nodes):
                held.batched = batched
        return held.batched is not None

    def in_record(self, values: Mapping[str, Any], source: Source, options: Options, id: Any) -> Record | None:
        """The record of a query with names for arrays. None if it is for the ordinary way."""
        if len(text_lines(source.text)) != 1 or any(name not in values for name in options.freeze):
            return None
        self.mentioned = set()
        return self._found(source, of_values(values, options, self.mentioned), values, options, id)

    def _is_for(self, options: Options) -> bool:
        return options.bare and self.precision == "float64"

    @np.errstate(all="ignore")
    def _found(
        self,
        source: Source,
        lookup: Lookup,
        taken: Container[str],
        options: Options,
        id: Any = None,
        dialect: str | None = None,
        batched: BatchedBindings | None = None,
    ) -> Record | None:
        usual = self._is_for(options) and len(source.text) <= self.limits.length and type(source) is Source
        if not usual or not source.text.isascii() or "#" in source.text or "|" in source.text:
            return None
        text = source.text.strip(string.whitespace)
        try:
            if len(text) < LONG:
                found = self._gradient(text, lookup, taken, at_once=batched is not None)
            else:
                found = self._sum(text, lookup, taken, 0 if batched is None else batched.nodes)
            if found is not None and batched is not None:
                found = batched.carried(found)
        except GradcliError:  # the ordinary way says where
            return None
        if found is None:
            return None
        return _record(found, text, source, source.text.index(text), lookup, options, id, dialect)

    def _gradient(self, text: str, lookup: Lookup, taken: Container[str], *, at_once: bool) -> Found | None:
        """The value and the gradient of a short text. None if it is for the ordinary way, or (but ``at_once``) has not been met often."""
        found = self._computed(pieces(text), lookup, taken, at_once=at_once)
        if found is None:
            return None
        return ranked(found.value, dict(zip(found.names, found.parts, strict=True)), [number.rank for number in found.numbers])

    def _sum(self, text: str, lookup: Lookup, taken: Container[str], nodes: int) -> Found | None:
        """The value and the gradient of a long sum, whose terms are added in their order. None if it is for the ordinary way.

        nodes  how many the program has already
        """
        lookup = cache(lookup)
        value, slopes, templates = 0.0, defaultdict[str, float](float), set[Template]()
        for place, (negative, between, words) in enumerate(terms(text)):
            found = self._computed((between, words), lookup, taken, at_once=True)
            if found is None:
                return None
            templates.add(found.template)
            nodes += found.template.nodes + 2  # what adds
            if nodes > self.limits.nodes or are_too_many(templates, place):
                return None
            value += -found.value if negative else found.value
            for name, part in zip(found.names, found.parts, strict=True):
                slopes[name] += -part if negative else part
        numbers = map(lookup, slopes)
        return ranked(value, slopes, [number and number.rank for number in numbers])

    def _computed(self, parts: Pieces, lookup: Lookup, taken: Container[str], *, at_once: bool) -> Computed | None:
        """An expression in pieces, computed. None if it is for the ordinary way, or (but ``at_once``) has not been met often."""
        reading = self._templates.read(*parts, at_once=at_once)
        if reading is None:
            return None
        template, names, constants = reading
        if template.compiled is None:
            template.met += 1
            if template.met < _OFTEN_READ and not at_once:
                return None
            graph = lowered(template, self.limits)
            template.compiled = graph is not None and StraightLine(graph.root, graph.names, [*graph.names, *graph.numbers])
            template.nodes = 0 if graph is None else graph.operations + len(graph.numbers)
        if not template.compiled or any(name in taken for name in template.callees):
            return None
        numbers = []
        for place, name in enumerate(names):
            number = lookup(name)
            if number is None or (number.whole and place in template.deciding):
                return None
            numbers.append(number)
        results = template.compiled([number.value for number in numbers] + constants)
        return None if results is None else Computed(template, names, numbers, results[0], results[1:])


def _record(found: Found, text: str, source: Source, start: int, lookup: Lookup, options: Options, id: Any, dialect: str | None) -> Record:
    """The record of a query whose text stands at a place in a source."""
    line, column = source.position(start)
    value, gradient = found
    record = Record(text, id, source.name, line, column, value=value, grad=gradient, seed=np.float64(1))
    record.dialect = None if dialect == NUMPY else dialect
    if options.at:
        record.at = {name: number.value for name in gradient if (number := lookup(name)) is not None}
    return record
