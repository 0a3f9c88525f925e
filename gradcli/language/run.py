"""Running a program: statements in order, against a scope."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import chain
from typing import Any, NamedTuple

import numpy as np

from gradcli.characters import normalized
from gradcli.containment import contained
from gradcli.errors import ArgumentError, GradcliError, ParseError, Source, TypeMismatchError
from gradcli.graph.nodes import Expr, reachable
from gradcli.language.bindings import Bindings
from gradcli.language.deviations import deviations, has_sign, refuse_measured, sign_in
from gradcli.language.dialect import Ahead
from gradcli.language.lowering import Lowering
from gradcli.language.mentions import words_of
from gradcli.language.program_text import ProgramText
from gradcli.language.quantities import NO_RANGES, Quantity, quantified
from gradcli.language.scope import Scope
from gradcli.language.sessions import is_head, pieces
from gradcli.language.statements import parse_expression, parse_statements
from gradcli.language.static_uses import StaticUse
from gradcli.language.suggestions import tried
from gradcli.language.tokens import SYMBOL, logical_lines, tokenize
from gradcli.language.tree import (
    Assertion,
    Binding,
    DataBinding,
    Definition,
    Expression,
    Import,
    Lost,
    Query,
    Relation,
    Several,
    Statement,
)
from gradcli.limits import DEFAULT, Limits
from gradcli.ops.calling.prefixes import DType
from gradcli.ops.room import IN_FORCE

_PROMPTS = (">>>", "In [", "Out[")  # of sessions that are pasted


def sources(lines: Iterable[str], name: str | None = None, limits: Limits = DEFAULT) -> Iterator[Source]:
    """The logical lines of a program, as its lines come, but for blank ones; their characters as they are read."""
    logical = logical_lines(lines, limits.length)
    for first, line in logical:
        text = normalized(line)
        if text.startswith(_PROMPTS) or (":" in text and is_head(text)):
            yield from pieces(chain(((first, text),), ((n, normalized(more)) for n, more in logical)), name)
            return
        if text.strip():
            yield Source(text, name, first)


def statements(lines: Iterable[str], name: str | None = None, limits: Limits = DEFAULT) -> Iterator[Statement | GradcliError]:
    """The statements of a program, as its lines come; an error takes the place of a statement that cannot be read."""
    for source in sources(lines, name, limits):
        yield from parse_statements(source, limits.length)


class Sides(NamedTuple):
    """One relation of an assert as nodes of the graph."""

    relation: Relation
    left: Expr
    right: Expr


@dataclass(eq=False, repr=False)
class Lowered:
    """A query or assert as nodes of the graph."""

    statement: Query | Assertion
    value: Expr  # of an assert, the left side of its first relation
    relations: tuple[Sides, ...] = ()  # of an assert
    within: float | None = None
    ranges: Mapping[str, Quantity] = field(default_factory=lambda: NO_RANGES)  # of an assert: what it is claimed for
    static_uses: tuple[StaticUse, ...] = ()  # leaves whose values it has taken beforehand
    read_as: str | None = None  # in the language's own spelling, where the text has a textbook's
    notes: tuple[str, ...] = ()  # what is to be said of how it was read


class Program:
    """A scope and what runs statements in it."""

    def __init__(self, scope: Scope) -> None:
        self.scope = scope
        self.lowering = Lowering(scope)
        self.bindings = Bindings(scope, self.lowering)
        self.text: ProgramText | None = None  # keeps what is read, where that is wanted
        self._begun = self._kept = scope.mark()  # kept: up to the last statement that others can build on

    def sources(self, lines: Iterable[str], name: str | None = None, *, stream: bool = False) -> Iterator[Source]:
        """The logical lines of the program as they come; what they show of its dialect is noted.

        The lines to come are looked at when the meaning of a name depends on them, but for those of a ``stream``, which is answered
        line by line.
        """
        scope, limits = self.scope, self.scope.limits
        if self.text is not None:
            lines = self.text.kept(lines)
        if not stream:
            ahead = Ahead(lines)
            lines = ahead

            def rest() -> Iterator[Source]:
                for source in sources(ahead.rest(), name, limits):
                    yield Source(source.text, name, source.first_line + ahead.count)

            scope.dialect.foresee(rest, costly=name is not None)
        for source in sources(lines, name, limits):
            scope.dialect.note(source, scope.names)
            yield source

    def statements(self, lines: Iterable[str], name: str | None = None, *, stream: bool = False) -> Iterator[Statement | GradcliError]:
        """The statements of the program as its lines come, as `sources`; an error takes the place of one that cannot be read."""
        for source in self.sources(lines, name, stream=stream):
            yield from parse_statements(source, self.scope.limits.length)

    def foresee(self, lines: Iterable[str]) -> None:
        """All lines of the program, which are there before it begins: its dialect is theirs."""
        self.scope.dialect.foresee(lambda: sources(lines, None, self.scope.limits))

    def execute(self, statement: Statement) -> Lowered | None:
        """Run one statement; queries and asserts give something to evaluate. Raises any GradcliError, with its place in the text.

        The nodes of earlier queries are forgotten, so that a file of queries takes no more memory than one of them.
        """
        self.scope.forget_since(self._kept)
        self.lowering.statement = statement
        before = IN_FORCE.set(self.scope.limits)
        dialect = self.scope.dialect
        dialect.decided = None
        self.lowering.lookup.begin()
        try:
            if dialect.conflict is not None:
                raise dialect.refusal(statement)
            lowered = self._run(statement)
        except Exception as unforeseen:
            error = tried(contained(unforeseen), self.scope)
            self.scope.mentioned |= words_of(statement)  # lowering may not have come to all of them
            self.bindings.lose_all(statement, error)
            raise error from error.__cause__
        finally:
            IN_FORCE.reset(before)
            self.lowering.statement = None
        if lowered is None:
            self._kept = self.scope.mark()
        return lowered

    def end(self) -> None:
        """Let go of all nodes. They and their graph refer to each other, and the collector takes long to find that out."""
        self.scope.forget_since(self._begun)
        self.scope.dialect.end()

    def _run(self, statement: Statement) -> Lowered | None:
        source = statement.source
        if isinstance(statement, Query):
            value = self._result(statement.expression, source)
            lowered = Lowered(statement, value, static_uses=tuple(self.lowering.coercion.static_uses))
            self._tell_reading(lowered, [self.lowering.read])
            return lowered
        if isinstance(statement, (Binding, DataBinding)):
            self.bindings.bind(statement)
            return None
        if isinstance(statement, Definition):
            self.scope.functions[statement.name] = statement
            self.scope.mentioned |= words_of(statement)
            return None
        if isinstance(statement, Several):
            self.bindings.bind_several(statement)
            return None
        if isinstance(statement, Import):
            self.lowering.reading.take(statement)
            return None
        if isinstance(statement, Lost):
            for name in statement.names:
                self.bindings.lose(name, statement)
            return None
        assert isinstance(statement, Assertion)
        of_ends: list[Expression | None] = []
        with quantified(self.scope, self._ends(statement, of_ends)) as ranges:
            return self._asserted(statement, ranges, of_ends)

    def _ends(self, statement: Assertion, read: list[Expression | None]) -> dict[str, tuple[float, float]]:
        """The ends of the ranges that an assert is about. Raises ArgumentError for what is no range."""
        found = {}
        for each in statement.ranges:
            ends = [self.scope.evaluate(self._side(end, statement.source, read)) for end in (each.begin, each.end)]
            if any(np.ndim(end) or not np.isfinite(end) for end in ends) or not ends[0] <= ends[1]:
                error = ArgumentError(f"the ends of a range are two numbers, the smaller one first, not {ends[0]} and {ends[1]}")
                raise error.at(each.span, statement.source)
            found[each.name] = float(ends[0]), float(ends[1])
        return found

    def _asserted(self, statement: Assertion, ranges: Mapping[str, Quantity], of_ends: list[Expression | None]) -> Lowered:
        source = statement.source
        read: list[Expression | None] = []
        uses: list[StaticUse] = []
        relations = []
        for relation in statement.relations:
            sides = []
            for part in (relation.left, relation.right):
                sides.append(self._side(part, source, read))
                uses += self.lowering.coercion.static_uses
            relations.append(Sides(relation, *sides))
        within = None
        if statement.within is not None:
            node = self._side(statement.within, source, read)
            within = float(np.max(self.scope.evaluate(node)))
            if not 0 <= within < np.inf:
                error = ArgumentError(f"a tolerance is a number of at least 0, not {within}")
                raise error.at(statement.within.root.span, source)
        for name, quantity in ranges.items():
            if any(use.leaf is quantity.leaf for use in uses):
                raise ArgumentError(f"'{name}' is used as a number that the program needs beforehand: it has no range").at(
                    statement.span, source
                )
        lowered = Lowered(statement, relations[0].left, tuple(relations), within, ranges=ranges)
        self._tell_reading(lowered, [*read, *of_ends])
        return lowered

    def _side(self, expression: Expression, source: Source, read: list[Expression | None]) -> Expr:
        """One part of an assert as a node; how it was read is added to a list."""
        result = self.lowering.lower(expression, source)
        if isinstance(result, tuple) and not isinstance(result, DType):
            result = list(result)  # assert x.shape == (2, 3)
        node = self.lowering.coerced(result, expression, source)
        read.append(self.lowering.read)
        return node

    def _tell_reading(self, lowered: Lowered, read: list[Expression | None]) -> None:
        """Say how a query or an assert was read, if its text implies anything."""
        parts = [part for part in read if part is not None]
        lowered.notes = tuple(self.lowering.lookup.notes)
        notes = self.lowering.reading.notes
        if notes:
            ends = [side for sides in lowered.relations for side in (sides.left, sides.right)] or [lowered.value]
            lowered.notes += tuple(dict.fromkeys(notes[node] for node in reachable(ends) if node in notes))
        if any(part.notes for part in parts):
            names = self.scope.names
            lowered.notes += tuple(text for part in parts for name, text in part.notes if name is None or name in names)
        if not any(part.implied for part in parts):
            return
        from gradcli.language.rewritten import rewritten

        texts = [rewritten(part, self.scope.functions) for part in parts]
        if isinstance(lowered.statement, Assertion):
            signs = [relation.symbol for relation in lowered.statement.relations]
            sides = zip(texts[::2], signs, texts[1::2], strict=False)
            within = f" within {texts[2 * len(signs)]}" if lowered.statement.within is not None else ""
            limits = texts[len(texts) - 2 * len(lowered.ranges) :]
            over = [f"{name} in {a}..{b}" for name, a, b in zip(lowered.ranges, limits[::2], limits[1::2], strict=True)]
            within += f" for {', '.join(over)}" if over else ""
            lowered.read_as = "assert " + " and ".join(f"{a} {sign} {b}" for a, sign, b in sides) + within
        else:
            lowered.read_as = texts[0]

    def _result(self, expression: Expression, source: Source) -> Expr:
        result = self.lowering.lower(expression, source)
        if isinstance(result, tuple) and not isinstance(result, DType):
            error = TypeMismatchError(f"the result is a tuple of {len(result)}, not an array", help="take one entry: (x, y)[0]")
            raise error.at(expression.root.span, source)
        return self.lowering.coerced(result, expression, source)

    def constant(self, text: str, what: str) -> Any:
        """The value of a VALUE on the command line or in a record: a constant expression. Raises as `read` does."""
        return self.bindings.raw(self.read(text, what))

    def uncertain(self, text: str, name: str) -> tuple[Any, Any]:
        """The value of a VALUE, and its standard deviation or None. Raises as `constant`, and for what is no standard deviation."""
        text = normalized(text)
        source = Source(text, f"<{name}>")
        tokens = tokenize(source) if has_sign(text) or "(" in text or "+-" in text else []
        sign = sign_in(tokens, 0, len(tokens) - 1)
        if sign is None:
            refuse_measured(source, tokens, 0, len(tokens) - 1)
            return self.constant(text, f"<{name}>"), None
        begin, end = tokens[sign[0]].start, tokens[sign[1] - 1].start + 1
        if not text[:begin].strip() or not text[end:].strip():
            raise ParseError("'±' stands between a value and its standard deviation", span=tokens[sign[0]].span, source=source)
        value = self.constant(text[:begin], f"<{name}>")
        return value, self.deviation(text[end:], value, name)

    def deviation(self, text: str, value: Any, name: str) -> Any:
        """The standard deviation of a value by its text, which may be in percent: ``5%``. Raises as `uncertain`."""
        percent = text.rstrip().endswith("%")
        found = self.constant(text.rstrip()[:-1] if percent else text, f"<standard deviation of {name}>")
        return deviations(np.abs(value) * found / 100 if percent else found, value, name)

    def read(self, text: str, what: str) -> Expr:
        """An expression that stands outside of the program, with ``2,3`` short for ``[2, 3]``.

        ``what`` names the text in errors. Raises ParseError, LimitError, and what lowering raises.
        """
        text = normalized(text)
        source = Source(text, what)
        depth = 0
        for token in tokenize(source):
            if token.kind == SYMBOL:
                depth += (token.text in "([") - (token.text in ")]")
                if depth == 0 and token.text == ",":
                    source = Source(f"[{text}]", what)
                    break
        return self.lowering.lower_value(parse_expression(source, self.scope.limits.length), source)
