"""From the tree to the graph: names are looked up, functions inlined, derivatives taken, indices made static.

One loop over a statement's nodes; a call of a user's function opens an activation of its body on an explicit
stack. What a node lowers to is a graph node, or, where the language has them, a tuple, a list (an array not
made yet), a string, None, a `Module`, a `Function`, or an `Unbound` name that fails only where it is used.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gradcli.errors import (
    AmbiguousError,
    ArgumentError,
    GradcliError,
    LimitError,
    Source,
    TypeMismatchError,
)
from gradcli.graph.nodes import Expr
from gradcli.language.attributes import attribute, property_of
from gradcli.language.coercion import Meanings
from gradcli.language.differentiation import DERIVATIVES, derivative, primed
from gradcli.language.indexing import subscript
from gradcli.language.masks import refuse_other_readings
from gradcli.language.names import Function, Module, Unbound, unknown_function
from gradcli.language.scope import Scope
from gradcli.language.tree import (
    Attribute,
    Binary,
    Call,
    Conditional,
    Definition,
    Dots,
    Expression,
    Name,
    Node,
    Number,
    Sequence,
    Slice,
    Subscript,
    Text,
    Unary,
)
from gradcli.ops import structure
from gradcli.ops.calling.prefixes import NUMPY, PREFIXES, TORCH
from gradcli.ops.constants import NAMED
from gradcli.ops.elementwise import arithmetic, exponential, logic
from gradcli.ops.linalg import products
from gradcli.ops.spec import Op

_BINARY: dict[str, Op] = {
    "+": arithmetic.add, "-": arithmetic.sub, "*": arithmetic.mul, "/": arithmetic.div, "//": arithmetic.floor_divide,
    "%": arithmetic.remainder, "@": products.matmul, "**": exponential.pow_, "<": logic.less, "<=": logic.less_equal,
    ">": logic.greater, ">=": logic.greater_equal, "==": logic.equal, "!=": logic.not_equal, "and": logic.logical_and,
    "or": logic.logical_or,
}  # fmt: skip
_ALL = slice(None)


class _Activation:
    """An expression being lowered, and what to do with its result."""

    __slots__ = ("definition", "expression", "finish", "locals", "results", "source")

    def __init__(
        self,
        expression: Expression,
        source: Source,
        locals_: dict[str, Any],
        definition: Definition | None = None,
        finish: Callable[[Any], Any] | None = None,
    ) -> None:
        self.expression, self.source, self.locals = expression, source, locals_
        self.definition, self.finish = definition, finish
        self.results: list[Any] = []  # of the nodes so far


class Lowering(Meanings):
    """Lowers the expressions of one program into its graph."""

    def __init__(self, scope: Scope) -> None:
        super().__init__(scope)
        self.mentions = False  # whether the last expression mentioned a bound name
        self._stack: list[_Activation] = []
        self._inlined: dict[Any, Any] = {}

    def lower(self, expression: Expression, source: Source) -> Any:
        """What an expression stands for. Errors carry their place in the text."""
        self.mentions = False
        self.held = {}
        self._inlined = {}
        self._stack = [_Activation(expression, source, {})]
        try:
            while True:
                activation = self._stack[-1]
                inner = self._advance(activation)
                if inner is not None:
                    self._stack.append(inner)
                    continue
                result = activation.results[activation.expression.root.place]
                if len(self._stack) == 1:
                    return result
                self._stack.pop()
                self._remember(activation)
                self._return(activation, result)
        finally:
            for activation in reversed(self._stack):
                self._remember(activation)

    def _advance(self, activation: _Activation) -> _Activation | None:
        """Lower nodes until all are done, or one is a call whose body has to be lowered first."""
        nodes, results = activation.expression.nodes, activation.results
        for place in range(len(results), len(nodes)):
            node = nodes[place]
            try:
                made = _RULES[type(node)](self, node, activation)
            except GradcliError as error:
                raise error.at(node.span, activation.source) from None
            if type(made) is _Activation:
                return made
            results.append(made)
        return None

    def _remember(self, activation: _Activation) -> None:
        """Keep what each node became, for errors that are about a node of the graph."""
        self.scope.lowered.append((activation.source, activation.expression.nodes, activation.results))

    def _return(self, activation: _Activation, result: Any) -> None:
        """Give the result of a function's body to the call that waits for it."""
        caller = self._stack[-1]
        call = caller.expression.nodes[len(caller.results)]
        try:
            caller.results.append(activation.finish(result) if activation.finish else result)
        except GradcliError as error:
            raise error.at(call.span, caller.source) from None

    def lower_value(self, expression: Expression, source: Source) -> Expr:
        """The same, as a node of the graph."""
        result = self.lower(expression, source)
        try:
            return self.value(result)
        except GradcliError as error:
            raise error.at(expression.root.span, source) from None

    # -- nodes ------------------------------------------------------------------------------------------------

    def _number(self, node: Number, activation: _Activation) -> Expr:
        return self.graph.constant(node.value)

    def _binary(self, node: Binary, activation: _Activation) -> Expr:
        left, right = activation.results[node.left.place], activation.results[node.right.place]
        if type(left) is not Expr:
            left = self._operand(left, node.left, activation)
        if type(right) is not Expr:
            right = self._operand(right, node.right, activation)
        if node.operator in ("or", "and") or (node.operator == "**" and left.kind == "bool"):
            refuse_other_readings(node, left.kind, right.kind, activation.source)
        return self.graph.apply(_BINARY[node.operator], (left, right))

    def _unary(self, node: Unary, activation: _Activation) -> Any:
        operand = self._operand(activation.results[node.operand.place], node.operand, activation)
        if node.operator == "+":
            return operand
        return self._negated(operand) if node.operator == "-" else logic.logical_not(operand)

    def _conditional(self, node: Conditional, activation: _Activation) -> Any:
        parts = (node.condition, node.value, node.otherwise)
        return logic.where(*[self._operand(activation.results[part.place], part, activation) for part in parts])

    def _sequence(self, node: Sequence, activation: _Activation) -> Any:
        items = [activation.results[item.place] for item in node.items]
        return tuple(items) if node.bracket == "(" else items

    def _subscript(self, node: Subscript, activation: _Activation) -> Any:
        return subscript(self, node, activation.results)

    def _negated(self, operand: Expr) -> Expr:
        if type(operand.payload) in (int, float) and operand.op is None:
            return self.graph.constant(-operand.payload)
        negated: Expr = arithmetic.neg(operand)
        return negated

    def _operand(self, result: Any, node: Node, activation: _Activation) -> Expr:
        if isinstance(result, Expr):
            return result
        try:
            return self.value(result)
        except GradcliError as error:
            raise error.at(node.span, activation.source) from None

    def _name(self, node: Name, activation: _Activation) -> Any:
        name = node.name
        if name in activation.locals:
            return activation.locals[name]
        bound = self.scope.names.get(name)
        if bound is not None:
            self.mentions = True
            scope = self.scope
            scope.mentioned.add(name)
            if scope.held and name in scope.held:
                self.held.update(scope.held[name])
            return bound
        if name == "None":
            return None
        if name in NAMED and name not in self.scope.failed:
            return self.graph.constant(NAMED[name])
        if name in PREFIXES:
            return Module(name)
        return Unbound(name)

    def _attribute(self, node: Attribute, activation: _Activation) -> Any:
        return attribute(self, activation.results[node.base.place], node.name)

    # -- calls ------------------------------------------------------------------------------------------------

    def _call(self, node: Call, activation: _Activation) -> Any:
        from gradcli.language import calls

        results = activation.results
        arguments = [results[a.place] for a in node.arguments]
        keywords = {name: results[value.place] for name, value in node.keywords}
        callee = node.callee
        if isinstance(callee, Name):
            name = callee.name
            definition = self.scope.functions.get(name)
            if definition is not None:
                return self._inline(node, definition, arguments, keywords)
            if len(arguments) == 1 and type(arguments[0]) is Expr and not (keywords or node.primes):
                op = calls.operation(name)
                if op is not None:  # most calls, in a third of the time
                    return self.graph.apply(op, arguments)
            if node.primes:
                raise unknown_function(self.scope, name).at(callee.span)
            if name in DERIVATIVES:
                return derivative(self, node, name, arguments, keywords)
            if calls.exists(name, NUMPY) or calls.exists(name, TORCH):
                return calls.call(self, name, NUMPY if calls.exists(name, NUMPY) else TORCH, arguments, keywords, bare=True)
            if name in self.scope.names or name in activation.locals or name in NAMED:
                text = activation.source.text[node.arguments[0].start : node.arguments[-1].end] if node.arguments else ""
                text = text if len(text) <= 24 else "..."
                raise AmbiguousError(
                    f"'{name}({text})' has two readings", help=f"write {name}*({text}) to multiply; there is no function '{name}'"
                ).at(node.span)
            raise unknown_function(self.scope, name).at(callee.span)
        target = results[callee.place]
        if isinstance(target, Function):
            if target.base is None:
                if target.name in DERIVATIVES and not calls.exists(target.name, target.library):
                    return derivative(self, node, target.name, arguments, keywords)
                return calls.call(self, target.name, target.library, arguments, keywords)
            return calls.call_method(self, target, arguments, keywords)
        if isinstance(callee, Attribute) and callee.name == "size":
            extents = property_of(self, "shape", self.value(results[callee.base.place]))
            return extents[self.integer(arguments[0])] if arguments else extents
        raise TypeMismatchError("only a function can be called", help="write * to multiply").at(callee.span)

    def _inline(self, node: Call, definition: Definition, arguments: list[Any], keywords: dict[str, Any]) -> Any:
        """The body of a user's function with the arguments in place of the parameters."""
        if keywords or len(arguments) != len(definition.parameters):
            wanted = f"{definition.name}({', '.join(definition.parameters)})"
            count = len(arguments) + len(keywords)
            raise ArgumentError(f"{wanted} takes {len(definition.parameters)} arguments by position, not {count}")
        if len(self._inlined) >= self.scope.limits.calls:
            raise LimitError(
                f"more than {self.scope.limits.calls:,} calls of functions in one statement",
                help=f"raise it with --limit calls={10 * self.scope.limits.calls}",
            )
        if any(a.definition is definition for a in self._stack):
            raise ArgumentError(f"the function '{definition.name}' calls itself")
        values: list[Any] = [a if isinstance(a, (tuple, str)) else self.value(a) for a in arguments]
        key = (id(definition), node.primes, *(id(v) for v in values))
        if key in self._inlined:
            return self._inlined[key][0]
        parameters = list(values)
        if node.primes:
            if len(values) != 1:
                raise ArgumentError("a prime needs a function of one variable", help="write grad(f(x, y), x)")
            parameters = [self.named(self.value(values[0]), definition.parameters[0])]

        def finish(result: Any) -> Any:
            if node.primes:
                result = primed(self.value(result), parameters[0], node.primes)
            self._inlined[key] = (result, values)
            return result

        bound = dict(zip(definition.parameters, parameters, strict=True))
        return _Activation(definition.expression, definition.source, bound, definition, finish)

    def named(self, node: Expr, name: str) -> Expr:
        """A node under an identity of its own, so that something can be differentiated with respect to it."""
        self.scope.serial += 1
        renamed: Expr = structure.alias(node, name=name, serial=self.scope.serial)
        return renamed


_RULES: dict[type[Node], Callable[[Lowering, Any, _Activation], Any]] = {
    Number: Lowering._number,
    Name: Lowering._name,
    Binary: Lowering._binary,
    Unary: Lowering._unary,
    Conditional: Lowering._conditional,
    Call: Lowering._call,
    Subscript: Lowering._subscript,
    Attribute: Lowering._attribute,
    Sequence: Lowering._sequence,
    Text: lambda low, node, activation: node.value,
    Dots: lambda low, node, activation: ...,
    Slice: lambda low, node, activation: None,  # read by its subscript
}
