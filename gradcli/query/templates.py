"""Compilation cache for queries of one template, with the ordinary way's results to the bit.

A template is what is left of an expression when its names and numbers are taken out. One expression
is parsed, lowered and compiled for all expressions that differ in names and numbers alone. A number
is taken out where it is a term or a factor. A number that may decide what is computed (an exponent,
an argument of a function) stays, and makes a template of its own. Templates are of arithmetic and
of functions that work entry by entry. An expression is left to the ordinary way, which has the
words for it, if it is not of numbers throughout, has no template, or is not finite.
"""

from __future__ import annotations

import math
import re
import string
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from gradcli.errors import GradcliError
from gradcli.graph.nodes import Expr, Graph, reachable, rebuild
from gradcli.graph.sweep import backward, itself, ones_like, useful_nodes, zeros_like
from gradcli.language.lowering import Lowering
from gradcli.language.scope import Scope
from gradcli.language.statements import parse_expression
from gradcli.language.syntax import (
    RESERVED,
    STARTS_NUMBER,
    WORD,
    Binary,
    Call,
    Expression,
    Name,
    Node,
    Unary,
)
from gradcli.language.syntax import Number as NumberNode
from gradcli.limits import Limits
from gradcli.ops.calling.prefixes import NUMPY
from gradcli.ops.constants import NAMED
from gradcli.ops.elementwise import arithmetic
from gradcli.options import LONG, Options
from gradcli.plans.assembly import Writer
from gradcli.report.records import Record
from gradcli.texts import Source, text_lines

# -- Numbers that names of a query stand for ------------------------------------------------------


# The meaning of a name: a number, whether it is whole, and its rank. The rank is among the names that
# the gradient is by; other names have none.
Number = tuple[float, bool, int | None]
Lookup = Callable[[str], Number | None]


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
        return float(value), leaf in scope.whole, None if fixed else leaf.index

    return lookup


def of_values(values: Mapping[str, Any], options: Options, mentioned: set[str]) -> Lookup:
    """Return the meanings of names in a record's arrays.

    Names that are looked up are noted as mentioned.
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
        return float(value), kind != "f", None if name in options.freeze else ranks[name]

    return lookup


def _number_named(name: str) -> Number | None:
    constant = NAMED.get(name)
    return (
        None
        if constant is None or isinstance(constant, bool) or name == "E"
        else (float(constant), False, None)
    )


# -- Texts in pieces ------------------------------------------------------------------------------

_WORD = re.compile(WORD)  # cutting a text at its words takes a seventh of the time of its tokens


def pieces(text: str) -> tuple[tuple[str, ...], list[str]]:
    """Split a text without comments at its names and numbers."""
    parts = _WORD.split(text)
    return tuple(parts[::2]), parts[1::2]


def text_of_pieces(between: Sequence[str], words: Sequence[str]) -> str:
    """Join a text from its pieces."""
    return "".join([part for pair in zip(between, (*words, ""), strict=True) for part in pair])


def terms(text: str) -> Iterator[tuple[bool, tuple[str, ...], list[str]]]:
    """Yield the terms of a sum in pieces, each with whether it is subtracted."""
    between, words = pieces(text)
    cut_at = cache(_cut)
    start, negative, before = 0, False, between[0]
    depth = between[0].count("(")
    for place in range(1, len(words) + 1):
        depth, cut = cut_at(between[place], depth)
        if cut is not None:
            yield negative, (before, *between[start + 1 : place], cut[0]), words[start:place]
            start, negative, before = place, cut[1], cut[2]
    yield negative, (before, *between[start + 1 :]), words[start:]


def _cut(gap: str, depth: int) -> tuple[int, tuple[str, bool, str] | None]:
    """Return the depth of brackets after a gap between words, and the first sign of a term in it.

    The sign adds or subtracts a term.
    """
    cut = None
    previous = ""
    for place, sign in enumerate(gap):
        depth += (sign in "([") - (sign in ")]")
        if sign in "+-" and depth == 0 and previous in ("", ")", "]") and cut is None:
            cut = gap[:place], sign == "-", gap[place + 1 :]
        if not sign.isspace():
            previous = sign
    return depth, cut


# -- Templates ------------------------------------------------------------------------------------

_MOST = 2_048  # most families that are remembered, and most templates, which may be compiled
_OFTEN_READ = 3  # meetings of a template, after the first, from which compiling it pays
_ZERO = -(1 << 30)  # in a pattern: an integer zero, which stays because it has no sign to change

Program = Callable[[Sequence[float]], Any]  # value and derivatives; None for the ordinary way


class Template:
    """Form that expressions have in common.

    text     one of them, with names of ours: n0, n1, ... and, for numbers, c0, c1, ...
    program  what it is compiled to; None if it is for the ordinary way
    nodes    of the graph that it was compiled from
    met      how often it has been asked for before that
    """

    def __init__(self, text: str) -> None:
        self.text = text
        self.program: Program | None = None
        self.nodes = self.met = 0


class Family(NamedTuple):
    """Templates that differ only in numbers that stay.

    kept      places of these among the words
    taken     the first place of each constant that is taken out, by its slot
    deciding  places of names that, if they are whole numbers, may decide what is computed
    callees   names of functions
    """

    kept: list[int]
    taken: dict[int, int]
    deciding: set[int]
    callees: set[str]
    templates: dict[tuple[str, ...], Template]  # keyed by the numbers that stay


def _family(
    between: Sequence[str], words: Sequence[str], pattern: Sequence[int], limits: Limits
) -> Family | None:
    if "" in between[1:-1]:  # a number right before a name: their meaning depends on both
        return None
    try:
        expression = parse_expression(Source(text_of_pieces(between, words)), limits.length)
    except GradcliError:
        return None
    # How juxtaposition is read depends on the words, and the ordinary way reports the reading.
    if expression.implied:
        return None
    open_, called = _open(expression)
    atoms = [
        node
        for node in expression.nodes
        if isinstance(node, (Name, NumberNode)) and node not in called
    ]
    if open_ is None or len(atoms) != len(words):
        return None
    taken: dict[int, int] = {}
    staying = {_ZERO}  # a constant stays everywhere or nowhere, because equal parts are one node
    deciding = set()
    for place, (atom, word, slot) in enumerate(zip(atoms, words, pattern, strict=True)):
        if isinstance(atom, Name):
            if atom.name != word:
                return None
            if atom not in open_:
                deciding.add(slot)
        elif word[0] not in STARTS_NUMBER or float(word) != float(atom.value):
            return None
        elif atom in open_:
            taken.setdefault(slot, place)
        else:
            staying.add(slot)
    taken = {slot: place for slot, place in taken.items() if slot not in staying}
    kept = [place for place, slot in enumerate(pattern) if slot in staying]
    return Family(kept, taken, deciding, {node.name for node in called}, {})


_SIGNS = frozenset(("+", "-", "*", "/", "**"))


def _open(expression: Expression) -> tuple[set[Node] | None, set[Name]]:
    """Return the nodes where a number decides nothing but a value, and the names of functions.

    The former is None if not all is made of arithmetic and functions.
    """
    called = {
        node.callee
        for node in expression.nodes
        if isinstance(node, Call) and isinstance(node.callee, Name)
    }
    found: set[Node] = {expression.root}
    for node in reversed(expression.nodes):
        match node:
            case Name() | NumberNode():
                continue
            case Binary() | Unary() if node.operator in _SIGNS:
                parts = [*node.children()]
                if node.operator == "**":
                    parts = parts[:1]
            case Call(callee=Name(), keywords=[], primes=0):
                parts = node.arguments if len(node.arguments) == 1 else []
            case _:
                return None, called
        if node in found:
            found.update(parts)
    return found, called


# -- Programs: what the forward pass and the sweep do with numbers, as a straight line of Python.
#
# Nothing is folded, moved or shared that they would not, so that results are theirs to the bit,
# in a tenth of the time: what is equal is computed once, and adjoints are added up in the order of
# the sweep.


def compile_template(template: Template, names: int, numbers: int, limits: Limits) -> None:
    """Give a template of so many names and numbers its program, if it works entry by entry."""
    scope = Scope(limits)
    source = Source(template.text)
    taken = [*(f"n{i}" for i in range(names)), *(f"c{i}" for i in range(numbers))]
    leaves = [scope.bind_value(name, 1.0) for name in taken]
    try:
        expression = parse_expression(source, limits.length)
        root = Lowering(scope).lower_value(expression, source)
    except GradcliError:
        return
    order = reachable([root])
    operations = [node for node in order if node.op is not None]
    if (
        scope.is_decided
        or expression.notes
        or any(
            node.kind != "float" or node.op is None or not node.op.elementwise
            for node in operations
        )
        or any(node.is_constant and node.shape for node in order)
        or {node for node in order if node.is_leaf} != {*leaves}
        # Where nothing is differentiated, the ordinary way has something to report.
        or not useful_nodes(order).issuperset(leaves[:names])
    ):
        return
    template.nodes = len(operations) + numbers
    template.program = straight_line(root, leaves[:names], leaves[names:])


def straight_line(root: Expr, wrt: Sequence[Expr], others: Sequence[Expr]) -> Program:
    """Return a root's value and its derivatives as a function of the values of leaves.

    The root is a number. The leaves are ``wrt``, which the derivatives are by, and ``others``.
    """
    found = backward(reachable([root]), {root: ones_like(root)}, wrt, itself)
    results = [root, *(found.get(x, zeros_like(x)) for x in wrt)]
    # Where everything is finite, a cotangent times a partial is an ordinary product.
    roots = rebuild(results, {}, {arithmetic.chain: arithmetic.mul}, Graph(root.graph.limits))
    steps = [node for node in reachable(roots) if node.op is not None]
    writer = Writer(roots, steps, "float64", checked=False, exact=True)
    program = writer.write([*wrt, *others]).compile("program")

    def run(values: Sequence[float]) -> Any:
        try:
            results, _ = program(*values)
        except (
            ArithmeticError,
            ValueError,
        ):  # Python's floats raise where NumPy has an infinity or NaN
            return None
        return results

    return run


# -- Queries --------------------------------------------------------------------------------------


_ROWS, _FIRST = (
    16,
    32,
)  # terms per template from which compiling pays, and templates allowed at the start


class CompilationCache:
    """Evaluates queries by the templates that it has met."""

    def __init__(self, limits: Limits, precision: str) -> None:
        self.limits = limits
        self.precision = precision
        self.mentioned: set[str] = set()  # names in the last record's expression
        self._families: dict[Any, Family | None] = {}
        self._met: set[Any] = set()  # families met so far, and templates of these

    def in_scope(self, scope: Scope, source: Source, options: Options) -> Record | None:
        """Return the record of a query in a program, or None if it is for the ordinary way."""
        if not scope.names.keys() >= {*options.freeze}:
            return None
        return self._record(
            source, of_scope(scope, options), (scope.functions, scope.objects, scope.names), options,
            dialect=scope.dialect.asked_for,
        )  # fmt: skip

    def in_record(
        self, values: Mapping[str, Any], source: Source, options: Options, id: Any
    ) -> Record | None:
        """Return the record of a query with arrays by names, or None for the ordinary way."""
        if len(text_lines(source.text)) != 1 or any(name not in values for name in options.freeze):
            return None
        self.mentioned = set()
        return self._record(
            source, of_values(values, options, self.mentioned), (values,), options, id
        )

    @np.errstate(all="ignore")
    def _record(
        self, source: Source, lookup: Lookup, taken: Sequence[Any], options: Options, id: Any = None, dialect: str | None = None
    ) -> Record | None:  # fmt: skip
        text = source.text
        usual = (
            options.bare
            and self.precision == "float64"
            and len(text) <= self.limits.length
            and type(source) is Source
        )
        if not usual or not text.isascii() or "#" in text or "|" in text or "=" in text:
            return None
        text = text.strip(string.whitespace)
        long = len(text) >= LONG
        try:
            found = self._sum(
                terms(text) if long else [(False, *pieces(text))],
                cache(lookup) if long else lookup,
                taken,
                at_once=long,
            )
        except GradcliError:  # the ordinary way reports the place
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
                name: number[0] for name in gradient if (number := lookup(name)) is not None
            }
        return record

    def _sum(
        self,
        parts: Iterable[tuple[bool, tuple[str, ...], list[str]]],
        lookup: Lookup,
        taken: Sequence[Any],
        *,
        at_once: bool,
    ) -> tuple[Any, dict[str, Any]] | None:
        """Add terms in their order; return the sum and its gradient, by names in order of ranks.

        Returns None if there is none, or if the ordinary way has to do it. That is so, too, where
        terms are of so many templates that the ordinary way takes no longer.
        """
        zero = -0.0  # adding another zero to it keeps that one's sign
        value = zero
        nodes = 0
        slopes: dict[str, float] = {}
        ranks: dict[str, int] = {}
        templates: set[Template] = set()
        for place, (negative, between, words) in enumerate(parts):
            reading = self._read(between, words, taken, at_once)
            if reading is None:
                return None
            template, deciding, names, constants = reading
            values = []
            for slot, name in enumerate(names):
                number = lookup(name)
                if number is None or (number[1] and slot in deciding):
                    return None
                values.append(number[0])
                if number[2] is not None:
                    ranks[name] = number[2]
            results = template.program and template.program(values + constants)
            if results is None:
                return None
            templates.add(template)
            nodes += template.nodes + 2  # plus the nodes that add it
            if nodes > self.limits.nodes or len(templates) * _ROWS > place + _FIRST * _ROWS:
                return None
            sign = -1.0 if negative else 1.0
            value += sign * results[0]
            for slot, name in enumerate(names, 1):
                slopes[name] = slopes.get(name, zero) + sign * results[slot]
        gradient = {name: np.float64(slopes[name]) for name in sorted(ranks, key=ranks.__getitem__)}
        if not gradient or not all(map(math.isfinite, (value, *slopes.values()))):
            return None
        return np.float64(value), gradient

    def _read(
        self, between: tuple[str, ...], words: Sequence[str], taken: Sequence[Any], at_once: bool
    ) -> tuple[Template, set[int], list[str], list[float]] | None:
        """Return the template of an expression in pieces, deciding places, names and numbers.

        Deciding places are those of names that may decide what is computed.

        Returns None if there is no template, if its functions have another meaning here, or (unless
        ``at_once``) if it has not been met often.
        """
        names: dict[str, int] = {}
        # The numbers 2 and 2.0 are two constants of a graph, 2.5 and 2.50 are one.
        numbers: dict[str | float, int] = {}
        slots = []
        for word in words:
            if word[0] not in STARTS_NUMBER:
                slots.append(names.setdefault(word, len(names)))
            else:
                whole = word.isdigit() and len(word) < 300
                constant = word.lstrip("0") if whole else float(word)
                if constant in (math.inf, 0.0):  # of digits that the ordinary way may refuse
                    return None
                slots.append(
                    ~numbers.setdefault(constant, len(numbers)) if constant != "" else _ZERO
                )
        pattern = tuple(slots)
        key = between, pattern
        family = self._families.get(key)
        if family is None and key not in self._families:
            if len(self._met) >= _MOST:
                self._families = {}
                self._met = set()
            if not at_once and key not in self._met:
                self._met.add(key)
                return None
            family = self._families[key] = _family(between, words, pattern, self.limits)
        if family is None or (
            family.callees and any(name in table for name in family.callees for table in taken)
        ):
            return None
        kept = tuple([words[place] for place in family.kept])
        template = family.templates.get(kept)
        if template is None:
            self._met.add((key, kept))
            ours = {slot: f"c{i}" for i, slot in enumerate(family.taken)}
            own = [
                f"n{slot}" if slot >= 0 else ours.get(slot, word)
                for word, slot in zip(words, pattern, strict=True)
            ]
            template = family.templates[kept] = Template(text_of_pieces(between, own))
        template.met += 1
        if template.met < _OFTEN_READ and not at_once:
            return None
        if template.text:
            compile_template(template, len(names), len(family.taken), self.limits)
            template.text = ""
        constants = [float(words[place]) for place in family.taken.values()]
        return template, family.deciding, list(names), constants
