"""Running a program: statements in order, against a scope."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from gradcli.errors import ArgumentError, GradcliError, InputError, MissingValueError, Source, Span, TypeMismatchError
from gradcli.graph.nodes import Expr, reachable
from gradcli.language.lowering import Lowering
from gradcli.language.mentions import mentioned, words_of
from gradcli.language.objects import is_object
from gradcli.language.scope import Bound, Scope
from gradcli.language.statements import parse_expression, parse_statements
from gradcli.language.static_uses import StaticUse
from gradcli.language.tokens import SYMBOL, logical_lines, tokenize
from gradcli.language.tree import Assertion, Binding, Call, DataBinding, Definition, Expression, Name, Query, Relation, Statement
from gradcli.limits import DEFAULT, Limits
from gradcli.ops.structure import detach


def sources(lines: Iterable[str], name: str | None = None, limits: Limits = DEFAULT) -> Iterator[Source]:
    """The logical lines of a program, as its lines come, but for blank ones; their characters composed (Unicode's NFC)."""
    for first, line in logical_lines(lines, limits.length):
        text = line if line.isascii() else unicodedata.normalize("NFC", line)
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


class Program:
    """A scope and what runs statements in it."""

    def __init__(self, scope: Scope) -> None:
        self.scope = scope
        self.lowering = Lowering(scope)
        self._begun = self._kept = scope.mark()  # kept: up to the last statement that others can build on

    def execute(self, statement: Statement) -> Lowered | None:
        """Run one statement; queries and asserts give something to evaluate. Raises any GradcliError, with its place in the text.

        The nodes of earlier queries are forgotten, so that a file of queries takes no more memory than one of them.
        """
        self.scope.forget_since(self._kept)
        self.lowering.statement = statement
        try:
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
            return Lowered(statement, value, static_uses=tuple(self.lowering.coercion.static_uses))
        if isinstance(statement, (Binding, DataBinding)):
            self._bound(statement)
            return None
        if isinstance(statement, Definition):
            self.scope.functions[statement.name] = statement
            self.scope.mentioned |= words_of(statement)
            return None
        assert isinstance(statement, Assertion)
        lower = self.lowering.lower_value
        relations = tuple(Sides(r, lower(r.left, source), lower(r.right, source)) for r in statement.relations)
        within = None
        if statement.within is not None:
            node = self.lowering.lower_value(statement.within, source)
            within = float(np.max(self.scope.evaluate(node)))
            if not 0 <= within < np.inf:
                error = ArgumentError(f"a tolerance is a number of at least 0, not {within}")
                raise error.at(statement.within.root.span, source)
        return Lowered(statement, relations[0].left, relations, within)

    def _result(self, expression: Expression, source: Source) -> Expr:
        result = self.lowering.lower(expression, source)
        if isinstance(result, tuple):
            error = TypeMismatchError(f"the result is a tuple of {len(result)}, not an array", help="take one entry: (...)[0]")
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
        except GradcliError:
            if name in scope.names:
                scope.lost[name] = scope.names.pop(name)
            scope.failed[name] = statement.source.position(statement.span.start)[0]
            raise
        if name in scope.names:
            scope.bindings[scope.names[name]] = statement

    def _is_made_of_itself(self, statement: Binding) -> bool:
        """Whether a binding mentions its own name, or names that depend on the value bound to it."""
        scope, name = self.scope, statement.name
        if name not in scope.names:
            return False
        names = mentioned([statement.expression], scope.functions)
        if name in names:
            return True
        leaf = scope.leaves.get(name)
        return leaf is not None and leaf in reachable([scope.names[other] for other in names if other in scope.names])

    def _bind(self, statement: Binding, made_of_itself: bool) -> None:
        scope, name = self.scope, statement.name
        try:
            result = self.lowering.lower(statement.expression, statement.source)
            if is_object(result):
                scope.bind_object(name, Bound(result, self.lowering.mentions))
                return
            expr = self.lowering.coerced(result, statement.expression, statement.source)
        except MissingValueError as error:
            if name not in scope.names and name not in scope.failed and (place := _mention(statement)) is not None:
                raise MissingValueError(
                    f"the value of '{name}' mentions '{name}', which has none yet", span=place, source=statement.source,
                    help=f"give it one before: {name} = ...",
                ) from None  # fmt: skip
            raise error
        if not self.lowering.mentions:
            scope.bind_value(name, self.raw(expr), const=statement.const)
            return
        own = scope.named(expr, name)
        scope.objects.pop(name, None)
        if name in scope.names and not made_of_itself:
            scope.leaves.pop(name, None)
            scope.replaced.add(name)
        elif statement.const:
            scope.replaced.add(name)
        scope.names[name] = detach(own) if statement.const else own
        if self.lowering.coercion.static_uses:
            scope.static_uses[name] = self.lowering.coercion.static_uses
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
