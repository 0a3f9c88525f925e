"""From the tree to the graph: names are looked up, functions inlined, derivatives taken, indices made static.

One loop over a statement's nodes; a call of a user's function opens a frame for its body on an explicit
stack. What a node lowers to is a graph node, or, where the language has them, a tuple, a list (an array not
made yet), a string, None, a `Module`, a `Function`, or a `FreeVariable`, which fails only where it is used.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gradcli.errors import GradcliError, Source
from gradcli.graph.nodes import Expr
from gradcli.language.attributes import attribute
from gradcli.language.callees import Callees, noted
from gradcli.language.coercion import Coercion
from gradcli.language.frames import Frame
from gradcli.language.indexing import subscript
from gradcli.language.inlining import Inlining
from gradcli.language.lookup import Lookup
from gradcli.language.masks import CONDITIONS, refuse_complement, refuse_other_readings
from gradcli.language.names import FreeVariable
from gradcli.language.reading import Reading
from gradcli.language.rereading import as_read
from gradcli.language.scope import Scope
from gradcli.language.tree import (
    Attribute,
    Binary,
    Call,
    Conditional,
    Dots,
    Expression,
    Name,
    Node,
    Number,
    Sequence,
    Slice,
    Statement,
    Subscript,
    Text,
    Unary,
)
from gradcli.language.undefined_names import refuse_as_factor, refuse_as_unit
from gradcli.ops import registry
from gradcli.ops.calling.prefixes import NUMPY
from gradcli.ops.elementwise import arithmetic, logic


class Lowering:
    """Lowers the expressions of one program into its graph."""

    def __init__(self, scope: Scope) -> None:
        self.scope, self.graph = scope, scope.graph
        self.coercion = Coercion(scope)
        self.statement: Statement | None = None  # that is being run; None for what stands outside of the program
        self.reading = Reading(self.coercion)
        self.lookup = Lookup(self.coercion, self.reading)
        self._callees = Callees(self.coercion, self.reading, self.lookup)
        self.read: Expression | None = None  # the last expression, as it is read where names have their meanings
        self._stack: list[Frame] = []
        self._inlining = Inlining(self.coercion, self._stack)

    @property
    def dialect(self) -> str | None:
        """The dialect by which the last statement was read, where it is not NumPy's and something in it, or an option, says so."""
        dialect, touched = self.scope.dialect, self.lookup.touched
        found = dialect.decided or (next(iter(touched)) if len(touched) == 1 else None) or dialect.wanted()
        return None if found == NUMPY else found

    def lower(self, expression: Expression, source: Source) -> Any:
        """What an expression stands for, in any of the forms above.

        Raises a GradcliError with the smallest place in the text that it is about: UnknownNameError, MissingValueError and
        AmbiguousError for names, ArgumentError, ShapeError and TypeMismatchError for what functions and operators cannot take, LimitError.
        """
        self.lookup.mentions = False
        self.coercion.static_uses = {}
        expression = self.read = as_read(expression, self.scope)
        self._stack = [Frame(expression, source, self.statement, {})]
        self._inlining = Inlining(self.coercion, self._stack)
        try:
            while True:
                frame = self._stack[-1]
                inner = self._advance(frame)
                if inner is not None:
                    inner.expression = as_read(inner.expression, self.scope, inner.locals)
                    self._stack.append(inner)
                    continue
                result = frame.results[frame.expression.root.place]
                if len(self._stack) == 1:
                    return result
                self._stack.pop()
                self._remember(frame)
                self._return(frame, result)
        finally:
            for frame in reversed(self._stack):
                self._remember(frame)

    def _advance(self, frame: Frame) -> Frame | None:
        """Lower nodes until all are done, or one is a call whose body has to be lowered first."""
        nodes, results = frame.expression.nodes, frame.results
        for place in range(len(results), len(nodes)):
            node = nodes[place]
            try:
                made = _RULES[type(node)](self, node, frame)
            except GradcliError as error:
                raise error.at(node.span, frame.source) from None
            if type(made) is Frame:
                return made
            results.append(made)
        return None

    def _remember(self, frame: Frame) -> None:
        """Keep what each node became, for errors that are about a node of the graph."""
        self.scope.lowered.append(frame)

    def _return(self, frame: Frame, result: Any) -> None:
        """Give the result of a function's body to the call that waits for it."""
        caller = self._stack[-1]
        call = caller.expression.nodes[len(caller.results)]
        try:
            caller.results.append(frame.finish(result) if frame.finish else result)
        except GradcliError as error:
            raise error.at(call.span, caller.source) from None

    def lower_value(self, expression: Expression, source: Source) -> Expr:
        """The same, as a node of the graph: numbers as they are, lists as arrays. Raises TypeMismatchError for anything else, too."""
        return self.coerced(self.lower(expression, source), expression, source)

    def coerced(self, result: Any, expression: Expression, source: Source) -> Expr:
        """What the last expression was lowered to, as a node of the graph. Raises TypeMismatchError where it is no number or array."""
        try:
            node = self.coercion.value(result)
        except GradcliError as error:
            raise error.at(expression.root.span, source) from None
        self.scope.lowered[-1].coerced = node
        return node

    # -- nodes ------------------------------------------------------------------------------------------------

    def _number(self, node: Number, frame: Frame) -> Expr:
        return self.graph.constant(node.value)

    def _binary(self, node: Binary, frame: Frame) -> Expr:
        left, right = frame.results[node.left.place], frame.results[node.right.place]
        if type(left) is not Expr:
            if type(left) is FreeVariable:
                refuse_as_factor(self.scope, left, right, node, frame.source)
            left = self._operand(left, node.left, frame)
        if type(right) is not Expr:
            if type(right) is FreeVariable:
                refuse_as_unit(right, node, frame.source)
            right = self._operand(right, node.right, frame)
        if left.kind == "bool" or node.operator in CONDITIONS:
            refuse_other_readings(node, left.kind, right.kind, frame.source)
        return self.graph.apply(registry.OPERATORS[CONDITIONS.get(node.operator, node.operator)], (left, right))

    def _unary(self, node: Unary, frame: Frame) -> Any:
        operand = self._operand(frame.results[node.operand.place], node.operand, frame)
        if node.operator == "+":
            return operand
        if node.operator == "-":
            return self._negated(operand)
        if node.operator in registry.MARKS:
            return registry.MARKS[node.operator](operand)
        if node.operator == "~" and operand.kind != "bool":
            refuse_complement(node, frame.source)
        return logic.logical_not(operand)

    def _conditional(self, node: Conditional, frame: Frame) -> Any:
        parts = (node.condition, node.value, node.otherwise)
        return logic.where(*[self._operand(frame.results[part.place], part, frame) for part in parts])

    def _sequence(self, node: Sequence, frame: Frame) -> Any:
        items = [frame.results[item.place] for item in node.items]
        return tuple(items) if node.bracket == "(" else items

    def _subscript(self, node: Subscript, frame: Frame) -> Any:
        return subscript(self.coercion, node, frame.results)

    def _negated(self, operand: Expr) -> Expr:
        if type(operand.payload) in (int, float) and operand.op is None:
            return self.graph.constant(-operand.payload)
        negated: Expr = arithmetic.neg(operand)
        return negated

    def _operand(self, result: Any, node: Node, frame: Frame) -> Expr:
        if isinstance(result, Expr):
            return result
        try:
            return self.coercion.value(result)
        except GradcliError as error:
            raise error.at(node.span, frame.source) from None

    def _name(self, node: Name, frame: Frame) -> Any:
        return self.lookup.name(node.name, frame.locals)

    def _call(self, node: Call, frame: Frame) -> Any:
        return self._callees.call(node, frame, self._inlining)

    def _attribute(self, node: Attribute, frame: Frame) -> Any:
        return noted(attribute(self.coercion, frame.results[node.base.place], node.name), node, frame)


_RULES: dict[type[Node], Callable[[Lowering, Any, Frame], Any]] = {
    Number: Lowering._number,
    Name: Lowering._name,
    Binary: Lowering._binary,
    Unary: Lowering._unary,
    Conditional: Lowering._conditional,
    Call: Lowering._call,
    Subscript: Lowering._subscript,
    Attribute: Lowering._attribute,
    Sequence: Lowering._sequence,
    Text: lambda low, node, frame: node.value,
    Dots: lambda low, node, frame: ...,
    Slice: lambda low, node, frame: None,  # read by its subscript
}
