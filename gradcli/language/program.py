"""Running a program: statements in order, against a scope."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from gradcli.engine.graph import Expr
from gradcli.errors import GradcliError, InputError, ParseError, Source, TypeMismatchError
from gradcli.language.lowering import Lowering
from gradcli.language.scope import Scope
from gradcli.language.statements import parse_expression, parse_statements
from gradcli.language.tokens import SYMBOL, logical_lines, tokenize
from gradcli.language.tree import Assertion, Binding, Call, DataBinding, Definition, Expression, Name, Query, Relation, Statement
from gradcli.limits import DEFAULT, Limits
from gradcli.ops.exponential import pow_
from gradcli.ops.structure import detach, to_int


def sources(lines: Iterable[str], name: str | None = None, limits: Limits = DEFAULT) -> Iterator[Source]:
    """The logical lines of a program, as its lines come, but for blank ones."""
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


class Program:
    """A scope and what runs statements in it."""

    def __init__(self, scope: Scope) -> None:
        self.scope = scope
        self.lowering = Lowering(scope)
        self._begun = self._kept = scope.mark()  # kept: up to the last statement that others can build on

    def execute(self, statement: Statement) -> Lowered | None:
        """Run one statement; queries and asserts give something to evaluate. Raises GradcliError with its place.

        The nodes of earlier queries are forgotten, so that a file of queries takes no more memory than one of them.
        """
        self.scope.forget_since(self._kept)
        lowered = self._run(statement)
        if lowered is None:
            self._kept = self.scope.mark()
        return lowered

    def end(self) -> None:
        """Let go of all nodes. They and their graph refer to each other, and the collector takes long to find that out."""
        self.scope.forget_since(self._begun)

    def _run(self, statement: Statement) -> Lowered | None:
        source = statement.source
        if isinstance(statement, Query):
            return Lowered(statement, self._result(statement.expression, source))
        if isinstance(statement, Binding):
            if statement.name not in self.scope.outside:
                try:
                    self._bind(statement)
                except GradcliError:
                    self.scope.names.pop(statement.name, None)
                    self.scope.failed[statement.name] = source.position(statement.span.start)[0]
                    raise
            return None
        if isinstance(statement, DataBinding):
            if statement.name not in self.scope.outside:
                self._load(statement)
            return None
        if isinstance(statement, Definition):
            self.scope.functions[statement.name] = statement
            return None
        assert isinstance(statement, Assertion)
        lower = self.lowering.lower_value
        relations = tuple(Sides(r, lower(r.left, source), lower(r.right, source)) for r in statement.relations)
        within = None
        if statement.within is not None:
            node = self.lowering.lower_value(statement.within, source)
            within = float(np.max(self.scope.evaluate(node)))
        return Lowered(statement, relations[0].left, relations, within)

    def _result(self, expression: Expression, source: Source) -> Expr:
        result = self.lowering.lower(expression, source)
        if isinstance(result, tuple):
            error = TypeMismatchError(f"the result is a tuple of {len(result)}, not an array", help="take one entry: (...)[0]")
            raise error.at(expression.root.span, source)
        try:
            return self.lowering.value(result)
        except GradcliError as error:
            raise error.at(expression.root.span, source) from None

    def _bind(self, statement: Binding) -> None:
        name, source = statement.name, statement.source
        callees = {id(node.callee) for node in statement.expression.nodes if isinstance(node, Call)}
        for node in statement.expression.nodes:
            if isinstance(node, Name) and node.name == name and id(node) not in callees:
                raise ParseError(
                    f"the value of '{name}' mentions '{name}' itself", span=node.span, source=source,
                    help=f"give the new value another name: {name}_2 = ...",
                    note="a later binding replaces an earlier one for what follows; it is not an assignment",
                )  # fmt: skip
        expr = self.lowering.lower_value(statement.expression, source)
        if not self.lowering.mentions:
            self.scope.bind_value(name, self.raw(expr), const=statement.const)
            return
        own = self.lowering.named(expr, name)
        self.scope.names[name] = detach(own) if statement.const else own
        self.scope.failed.pop(name, None)

    def _load(self, statement: DataBinding) -> None:
        if self.scope.load is None:
            error = InputError("data files cannot be named here", help="bind the data from outside")
            raise error.at(statement.span, statement.source)
        try:
            self.scope.bind_value(statement.name, self.scope.load(statement.reference))
        except GradcliError as error:
            self.scope.failed[statement.name] = statement.source.position(statement.span.start)[0]
            raise error.at(statement.span, statement.source) from None

    def raw(self, expr: Expr) -> Any:
        """The value of a constant expression, whole numbers as integers."""
        value = np.asarray(self.scope.evaluate(expr))
        if expr.kind == "float" and value.dtype.kind == "f" and self.scope.is_integral(expr) and np.all(np.abs(value) < 2**53):
            return value.astype(np.int64)
        return value

    def constant(self, text: str, what: str) -> Any:
        """The value of a VALUE on the command line or in a record: a constant expression."""
        return self.raw(self.read(text, what))

    def read(self, text: str, what: str) -> Expr:
        """An expression that stands outside of the program, with ``2,3`` short for ``[2, 3]``."""
        source = Source(text, what)
        depth = 0
        for token in tokenize(source):
            if token.kind == SYMBOL:
                depth += (token.text in "([") - (token.text in ")]")
                if depth == 0 and token.text == ",":
                    source = Source(f"[{text}]", what)
                    break
        return self.lowering.lower_value(parse_expression(source, self.scope.limits.length), source)


_HOLDING = frozenset((pow_, to_int))  # operations that may hold an operand constant


def default_wrt(scope: Scope, order: Sequence[Expr]) -> list[Expr]:
    """The leaves that a gradient is taken with respect to: numbers that the result depends on, in order of binding.

    The result is the last node of ``order``. Left out are leaves bound with const, booleans, and names of whole numbers that
    occur only in exponents.
    """
    if _HOLDING.isdisjoint([node.op for node in order]):
        return [node for node in order if node.op is None and _is_variable(scope, node)]
    seen: set[Expr | None] = {order[-1]}
    for node in reversed(order):
        if node not in seen or node.op is to_int:  # an index is no number
            continue
        exponent = node.operands[1] if node.op is pow_ else None
        if exponent is not None and not exponent.is_constant and scope.is_integral(exponent):
            seen.add(node.operand)
        else:
            seen.update(node.operands)
    return [node for node in order if node.op is None and node in seen and _is_variable(scope, node)]


def _is_variable(scope: Scope, leaf: Expr) -> bool:
    return leaf.is_leaf and leaf.kind == "float" and leaf not in scope.frozen
