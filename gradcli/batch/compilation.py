"""The compilation cache: queries of one template by a program that is compiled once, with the
ordinary way's results to the bit.

A program is the value and its partial derivatives as a straight line of Python: what is equal is
computed once, and adjoints are added up in the order of the graph's sweep.
"""

from __future__ import annotations

import math
import string
from collections import ChainMap, defaultdict
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from gradcli.batch.templates import Pieces, Template, Templates, lower_template, pieces, terms
from gradcli.errors import GradcliError, Source, text_lines
from gradcli.graph.interpret import rebuild
from gradcli.graph.nodes import Expr, Graph, reachable
from gradcli.graph.sweep import backward, itself
from gradcli.graph.transforms import ones_like, zeros_like
from gradcli.language.scope import Scope
from gradcli.language.tokens import RESERVED
from gradcli.limits import Limits
from gradcli.ops.calling.prefixes import NUMPY
from gradcli.ops.constants import NAMED
from gradcli.ops.elementwise import arithmetic
from gradcli.plans.assembly import write_source
from gradcli.plans.nests import plan_steps
from gradcli.query.options import LONG, Options
from gradcli.report.records import Record

# -- Numbers that names of a query stand for ------------------------------------------------------


class Number(NamedTuple):
    """The meaning of a name: a number, whether it is whole, and its rank among those that the
    gradient is by (or none).
    """

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
            return _number_named(name) if name not in scope.failed else None
        value = scope.values.get(leaf)
        if type(value) is not np.float64:
            return None
        mentioned.add(name)
        fixed = leaf in scope.frozen or name in options.freeze
        return Number(float(value), leaf in scope.whole, None if fixed else leaf.index)

    return lookup


def of_values(values: Mapping[str, Any], options: Options, mentioned: set[str]) -> Lookup:
    """Return what names stand for in a record's arrays; those that are looked up are noted as
    mentioned.
    """
    ranks = dict(zip(values, range(len(values)), strict=True))

    def lookup(name: str) -> Number | None:
        value = values.get(name) if name not in RESERVED else None
        if value is None:
            return _number_named(name)
        mentioned.add(name)
        kind = value.dtype.kind
        if value.ndim or kind not in "fiu":
            return None
        return Number(float(value), kind != "f", None if name in options.freeze else ranks[name])

    return lookup


def _number_named(name: str) -> Number | None:
    constant = NAMED.get(name)
    return (
        None
        if constant is None or isinstance(constant, bool) or name == "E"
        else Number(float(constant), False, None)
    )


class Computed(NamedTuple):
    """An expression of a template: its names, the numbers that they stand for, its value, and the
    derivatives by these names.
    """

    template: Template
    names: list[str]
    numbers: list[Number]
    value: Any
    parts: Sequence[Any]


def gradient_by_rank(
    value: Any, slopes: Mapping[str, Any], numbers: Iterable[Number | None]
) -> Found | None:
    """A value and its gradient by the names that have ranks, in their order.

    None if there is none, or it is not finite.
    """
    ranks = [
        (number.rank, name)
        for name, number in zip(slopes, numbers, strict=True)
        if number is not None and number.rank is not None
    ]
    gradient = {name: np.float64(slopes[name]) for _, name in sorted(ranks)}
    return (
        (np.float64(value), gradient)
        if gradient and all(map(math.isfinite, (value, *gradient.values())))
        else None
    )


# -- Straight-line programs: what the forward pass and the sweep do with numbers, written out as a
# straight line of Python.
#
# Nothing is folded, moved or shared that they would not, so that results are theirs to the bit,
# in a tenth of the time.


class StraightLine:
    """The value of a root, which is a number, and its derivatives, as a function of the values of
    these and of other leaves.

    program  the function, whose results may be Python's floats; it raises where these do, and
             leaves what is not finite to others
    """

    def __init__(self, root: Expr, wrt: Sequence[Expr], others: Sequence[Expr]) -> None:
        found = backward(reachable([root]), {root: ones_like(root)}, wrt, itself)
        results = [root, *(found.get(x, zeros_like(x)) for x in wrt)]
        # where all is finite, a cotangent times a partial is a product like any other
        roots = rebuild(results, {}, Graph(root.graph.limits), {arithmetic.chain: arithmetic.mul})
        steps = plan_steps(roots, in_c=False)
        self.program = write_source(
            [*wrt, *others], roots, steps, "float64", assume_finite=True, checked=False, exact=True
        ).compile("program")

    def __call__(self, values: Sequence[Any]) -> Sequence[Any] | None:
        """Value and derivatives; None if one of them is not finite."""
        try:
            results, _ = self.program(*values)
        except (
            ArithmeticError,
            ValueError,
        ):  # Python's floats raise where NumPy has an infinity or NaN
            return None
        return results if all(map(math.isfinite, results)) else None


# -- Queries. What is not numbers throughout, what has no template, and what is not finite is left
# to the ordinary way, which has the words for it.


_OFTEN_READ = 3  # meetings of a template, after the first, from which on it is worth compiling
_ROWS, _FIRST = (
    16,
    32,
)  # terms of a template that are worth its compilation, and templates at the beginning


class CompilationCache:
    """Evaluates queries by the templates that it has met."""

    def __init__(self, limits: Limits, precision: str) -> None:
        self.limits, self.precision = limits, precision
        self._templates = Templates(limits)
        self.mentioned: set[str] = set()  # by the last record's expression

    def in_scope(self, scope: Scope, source: Source, options: Options) -> Record | None:
        """The record of a query in a program. None if it is for the ordinary way."""
        if any(name not in scope.names for name in options.freeze):
            return None
        taken = ChainMap(scope.functions, scope.objects, scope.names)
        return self._record(
            source, of_scope(scope, options), taken, options, dialect=scope.dialect.asked_dialect()
        )

    def in_record(
        self, values: Mapping[str, Any], source: Source, options: Options, id: Any
    ) -> Record | None:
        """The record of a query with names for arrays. None if it is for the ordinary way."""
        if len(text_lines(source.text)) != 1 or any(name not in values for name in options.freeze):
            return None
        self.mentioned = set()
        return self._record(source, of_values(values, options, self.mentioned), values, options, id)

    @np.errstate(all="ignore")
    def _record(
        self, source: Source, lookup: Lookup, taken: Container[str], options: Options, id: Any = None, dialect: str | None = None
    ) -> Record | None:  # fmt: skip
        usual = (
            options.bare
            and self.precision == "float64"
            and len(source.text) <= self.limits.length
            and type(source) is Source
        )
        if not usual or not source.text.isascii() or "#" in source.text or "|" in source.text:
            return None
        text = source.text.strip(string.whitespace)
        try:
            found = (
                self._gradient(text, lookup, taken)
                if len(text) < LONG
                else self._sum(text, lookup, taken)
            )
        except GradcliError:  # the ordinary way says where
            return None
        if found is None:
            return None
        line, column = source.position(source.text.index(text))
        value, gradient = found
        record = Record(
            text, id, source.name, line, column, value=value, grad=gradient, seed=np.float64(1)
        )
        record.dialect = None if dialect == NUMPY else dialect
        if options.at:
            record.at = {
                name: number.value for name in gradient if (number := lookup(name)) is not None
            }
        return record

    def _gradient(self, text: str, lookup: Lookup, taken: Container[str]) -> Found | None:
        """The value and the gradient of a short text.

        None if it is for the ordinary way, or has not been met often.
        """
        found = self._compute(pieces(text), lookup, taken)
        return (
            None
            if found is None
            else gradient_by_rank(
                found.value, dict(zip(found.names, found.parts, strict=True)), found.numbers
            )
        )

    def _sum(self, text: str, lookup: Lookup, taken: Container[str]) -> Found | None:
        """The value and the gradient of a long sum, whose terms are added in their order.

        None if it is for the ordinary way.

        That is so, too, where terms are of so many templates that the ordinary way takes no longer.
        """
        lookup = cache(lookup)
        value, nodes, slopes, templates = 0.0, 0, defaultdict[str, float](float), set[Template]()
        for place, (negative, between, words) in enumerate(terms(text)):
            found = self._compute((between, words), lookup, taken, at_once=True)
            if found is None:
                return None
            templates.add(found.template)
            nodes += found.template.nodes + 2  # what adds
            if nodes > self.limits.nodes or len(templates) * _ROWS > place + _FIRST * _ROWS:
                return None
            value += -found.value if negative else found.value
            for name, part in zip(found.names, found.parts, strict=True):
                slopes[name] += -part if negative else part
        return gradient_by_rank(value, slopes, map(lookup, slopes))

    def _compute(
        self, parts: Pieces, lookup: Lookup, taken: Container[str], *, at_once: bool = False
    ) -> Computed | None:
        """An expression in pieces, computed.

        None if it is for the ordinary way, or (but ``at_once``) has not been met often.
        """
        reading = self._templates.read(*parts, at_once=at_once)
        if reading is None:
            return None
        template, names, constants = reading
        if template.compiled is None:
            template.met += 1
            if template.met < _OFTEN_READ and not at_once:
                return None
            graph = lower_template(template, self.limits)
            template.compiled = graph is not None and StraightLine(*graph)
        if not template.compiled or any(name in taken for name in template.callees):
            return None
        numbers = []
        for place, name in enumerate(names):
            number = lookup(name)
            if number is None or (number.whole and place in template.deciding):
                return None
            numbers.append(number)
        results = template.compiled([number.value for number in numbers] + constants)
        return (
            None if results is None else Computed(template, names, numbers, results[0], results[1:])
        )
