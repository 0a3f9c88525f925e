"""Running a program: statements in order, against a scope."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import chain
from typing import Any, NamedTuple

import numpy as np

from gradcli.errors import ArgumentError, GradcliError, InputError, MissingValueError, Source, Span, TypeMismatchError
from gradcli.graph.nodes import Expr, reachable
from gradcli.language.dialect import Ahead
from gradcli.language.lowering import Lowering
from gradcli.language.mentions import expressions_of, mentioned, words_of
from gradcli.language.objects import is_object, is_several, values_in
from gradcli.language.scope import Bound, Scope
from gradcli.language.statements import parse_expression, parse_statements
from gradcli.language.static_uses import StaticUse
from gradcli.language.tokens import SYMBOL, logical_lines, tokenize
from gradcli.language.tree import (
    Assertion,
    Binding,
    Call,
    DataBinding,
    Definition,
    Expression,
    Import,
    Lost,
    Name,
    Query,
    Relation,
    Several,
    Statement,
)
from gradcli.language.unpacking import parts_of
from gradcli.limits import DEFAULT, Limits
from gradcli.ops.calling.prefixes import DType
from gradcli.ops.structure import detach

_PROMPTS = (">>>", "In [", "Out[")  # of sessions that are pasted
_HEAD = re.compile(r"[ \t]*(?:for|while|if|elif|else|with|try|except|finally|class|def|async)\b.*:[ \t]*(?:#.*)?\r?\n?\Z", re.DOTALL)


def sources(lines: Iterable[str], name: str | None = None, limits: Limits = DEFAULT) -> Iterator[Source]:
    """The logical lines of a program, as its lines come, but for blank ones; their characters composed (Unicode's NFC)."""
    logical = logical_lines(lines, limits.length)
    for first, line in logical:
        text = line if line.isascii() else unicodedata.normalize("NFC", line)
        if text.startswith(_PROMPTS) or (":" in text and _HEAD.match(text)):
            from gradcli.language.sessions import pieces

            yield from pieces(chain(((first, text),), ((n, unicodedata.normalize("NFC", more)) for n, more in logical)), name)
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
    static_uses: tuple[StaticUse, ...] = ()  # leaves whose values it has taken beforehand
    read_as: str | None = None  # in the language's own spelling, where the text has a textbook's
    notes: tuple[str, ...] = ()  # what is to be said of how it was read


class Value(NamedTuple):
    """What a name is to be bound to."""

    node: Expr
    mentions: bool  # whether its text mentions a name
    static_uses: dict[StaticUse, None]


class Program:
    """A scope and what runs statements in it."""

    def __init__(self, scope: Scope) -> None:
        self.scope = scope
        self.lowering = Lowering(scope)
        self._begun = self._kept = scope.mark()  # kept: up to the last statement that others can build on

    def sources(self, lines: Iterable[str], name: str | None = None, *, stream: bool = False) -> Iterator[Source]:
        """The logical lines of the program as they come; what they show of its dialect is noted.

        The lines to come are looked at when the meaning of a name depends on them, but for those of a ``stream``, which is answered
        line by line.
        """
        scope, limits = self.scope, self.scope.limits
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
        dialect = self.scope.dialect
        dialect.decided = None
        self.lowering.touched.clear()
        try:
            if dialect.conflict is not None:
                raise dialect.refusal(statement)
            lowered = self._run(statement)
        except GradcliError:
            self.scope.mentioned |= words_of(statement)  # lowering may not have come to all of them
            raise
        finally:
            self.lowering.statement = None
        if lowered is None:
            self._kept = self.scope.mark()
        return lowered

    def end(self) -> None:
        """Let go of all nodes. They and their graph refer to each other, and the collector takes long to find that out."""
        self.scope.forget_since(self._begun)

    def _run(self, statement: Statement) -> Lowered | None:
        source = statement.source
        if isinstance(statement, Query):
            value = self._result(statement.expression, source)
            lowered = Lowered(statement, value, static_uses=tuple(self.lowering.coercion.static_uses))
            self._tell_reading(lowered, [self.lowering.read])
            return lowered
        if isinstance(statement, (Binding, DataBinding)):
            self._bound(statement)
            return None
        if isinstance(statement, Definition):
            self.scope.functions[statement.name] = statement
            self.scope.mentioned |= words_of(statement)
            return None
        if isinstance(statement, Several):
            self._several(statement)
            return None
        if isinstance(statement, Import):
            self.lowering.reading.take(statement)
            return None
        if isinstance(statement, Lost):
            for name in statement.names:
                self._lose(name, statement)
            return None
        assert isinstance(statement, Assertion)
        read: list[Expression | None] = []
        relations = tuple(Sides(r, *(self._side(part, source, read) for part in (r.left, r.right))) for r in statement.relations)
        within = None
        if statement.within is not None:
            node = self._side(statement.within, source, read)
            within = float(np.max(self.scope.evaluate(node)))
            if not 0 <= within < np.inf:
                error = ArgumentError(f"a tolerance is a number of at least 0, not {within}")
                raise error.at(statement.within.root.span, source)
        lowered = Lowered(statement, relations[0].left, relations, within)
        self._tell_reading(lowered, read)
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
        lowered.notes = tuple(self.lowering.notes)
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
            within = f" within {texts[-1]}" if lowered.statement.within is not None else ""
            lowered.read_as = "assert " + " and ".join(f"{a} {sign} {b}" for a, sign, b in sides) + within
        else:
            lowered.read_as = texts[0]

    def _lose(self, name: str, statement: Statement, error: GradcliError | None = None) -> None:
        """Leave a name without a value, which a statement with an error should have given it."""
        scope = self.scope
        if name in scope.names:
            scope.lost[name] = scope.names.pop(name)
        scope.failed[name] = line = statement.source.position(statement.span.start)[0]
        if error is not None and error.follows is not None:
            scope.causes[line] = error.follows

    def _result(self, expression: Expression, source: Source) -> Expr:
        result = self.lowering.lower(expression, source)
        if isinstance(result, tuple) and not isinstance(result, DType):
            error = TypeMismatchError(f"the result is a tuple of {len(result)}, not an array", help="take one entry: (x, y)[0]")
            raise error.at(expression.root.span, source)
        return self.lowering.coerced(result, expression, source)

    def _bound(self, statement: Binding | DataBinding) -> None:
        """Bind a name. What is bound from outside replaces the program's own, but not what is made of it, as in ``x = x/2``."""
        scope, name = self.scope, statement.name
        made_of_itself = isinstance(statement, Binding) and self._is_made_of_itself(statement)
        if name in scope.outside and not made_of_itself:
            scope.names[name] = scope.leaves[name]
            scope.mentioned |= words_of(statement)
            return
        try:
            if isinstance(statement, Binding):
                self._bind(statement, made_of_itself)
            else:
                self._load(statement)
        except GradcliError as error:
            self._lose(name, statement, error)
            raise
        if name in scope.names:
            scope.bindings[scope.names[name]] = statement

    def _is_made_of_itself(self, statement: Binding) -> bool:
        """Whether a binding mentions its own name, or names that depend on the value bound to it."""
        scope, name = self.scope, statement.name
        if name not in scope.names:
            return False
        names = mentioned([statement.expression], scope.functions, scope.names)
        if name in names:
            return True
        leaf = scope.leaves.get(name)
        if leaf is None:
            return False
        values = [scope.names[other] for other in names if other in scope.names]
        if scope.objects:  # d = Normal(x, s), or parts = x.chunk(2), which depend on x as well
            values += [part for other in names if other in scope.objects for part in values_in(scope.objects[other].object)]
        return leaf in reachable(values)

    def _several(self, statement: Several) -> None:
        """Bind several names at once, when all that stands on the right has been read."""
        mentioned_here = {name for e in expressions_of(statement) for name in mentioned([e], self.scope.functions, self.scope.names)}
        own = [b for b in statement.bindings if b.name in mentioned_here or self._is_made_of_itself(b)]
        try:
            values = self._values(statement)
        except GradcliError as error:
            for binding in statement.bindings:
                self._lose(binding.name, binding, error)
            raise
        for binding, value in zip(statement.bindings, values, strict=True):
            made_of_itself = binding in own and binding.name in self.scope.names
            if binding.name in self.scope.outside and not made_of_itself:
                self.scope.names[binding.name] = self.scope.leaves[binding.name]
                continue
            self._take(binding, value, made_of_itself)
            self.scope.bindings[self.scope.names[binding.name]] = binding

    def _values(self, statement: Several) -> list[Value]:
        lowering = self.lowering
        first = statement.bindings[0]
        if statement.shared:
            result = lowering.lower(first.expression, first.source)
            mentions, uses = lowering.mentions, lowering.coercion.static_uses
            try:
                parts = parts_of(lowering.coercion, result, len(statement.bindings))
            except GradcliError as error:
                raise error.at(first.expression.root.span, first.source) from None
            return [Value(part, mentions, uses) for part in parts]
        found = []
        for binding in statement.bindings:
            node = lowering.lower_value(binding.expression, binding.source)
            found.append(Value(node, lowering.mentions, lowering.coercion.static_uses))
        return found

    def _bind(self, statement: Binding, made_of_itself: bool) -> None:
        scope, name = self.scope, statement.name
        try:
            result = self.lowering.lower(statement.expression, statement.source)
            if is_object(result) or is_several(result, self.lowering.mentions):
                scope.bind_object(name, Bound(result, self.lowering.mentions))
                return
            expr = self.lowering.coerced(result, statement.expression, statement.source)
        except MissingValueError as error:
            if name not in scope.names and name not in scope.failed and (place := _mention(statement)) is not None:
                raise MissingValueError(
                    f"the value of '{name}' mentions '{name}', which has none yet", span=place, source=statement.source,
                    help=f"give it one before: {name} = 1",
                ) from None  # fmt: skip
            raise error
        self._take(statement, Value(expr, self.lowering.mentions, self.lowering.coercion.static_uses), made_of_itself)

    def _take(self, statement: Binding, value: Value, made_of_itself: bool) -> None:
        scope, name = self.scope, statement.name
        scope.imported.pop(name, None)
        if not value.mentions:
            scope.bind_value(name, self.raw(value.node), const=statement.const)
            return
        own = scope.named(value.node, name)
        scope.objects.pop(name, None)
        if name in scope.names and not made_of_itself:
            scope.leaves.pop(name, None)
            scope.replaced.add(name)
        elif statement.const:
            scope.replaced.add(name)
        scope.names[name] = detach(own) if statement.const else own
        if value.static_uses:
            scope.static_uses[name] = value.static_uses
        else:
            scope.static_uses.pop(name, None)
        scope.failed.pop(name, None)

    def _load(self, statement: DataBinding) -> None:
        if self.scope.load is None:
            error = InputError("data files cannot be named here", help="bind the data from outside")
            raise error.at(statement.span, statement.source)
        try:
            self.scope.bind_value(statement.name, self.scope.load(statement.reference))
        except GradcliError as error:
            raise error.at(statement.span, statement.source) from None

    def raw(self, expr: Expr) -> Any:
        """The value of a constant expression, whole numbers as integers."""
        value = np.asarray(self.scope.evaluate(expr))
        if expr.kind == "float" and value.dtype.kind == "f" and self.scope.is_integral(expr) and np.all(np.abs(value) < 2**53):
            return value.astype(np.int64)
        return value

    def constant(self, text: str, what: str) -> Any:
        """The value of a VALUE on the command line or in a record: a constant expression. Raises as `read` does."""
        return self.raw(self.read(text, what))

    def read(self, text: str, what: str) -> Expr:
        """An expression that stands outside of the program, with ``2,3`` short for ``[2, 3]``.

        ``what`` names the text in errors. Raises ParseError, LimitError, and what lowering raises.
        """
        source = Source(text, what)
        depth = 0
        for token in tokenize(source):
            if token.kind == SYMBOL:
                depth += (token.text in "([") - (token.text in ")]")
                if depth == 0 and token.text == ",":
                    source = Source(f"[{text}]", what)
                    break
        return self.lowering.lower_value(parse_expression(source, self.scope.limits.length), source)


def _mention(statement: Binding) -> Span | None:
    """Where a binding mentions its own name."""
    callees = {id(node.callee) for node in statement.expression.nodes if isinstance(node, Call)}
    own = (node for node in statement.expression.nodes if isinstance(node, Name) and node.name == statement.name)
    return next((node.span for node in own if id(node) not in callees), None)
