"""One evaluator of the syntax tree: names, indices, slices, axes, numbers, calls and the order of operands, on the judge's scalars.

A loop over the nodes of an expression, with an explicit stack of the bodies of the program's functions. What it does not read it says so
(`Unsupported`), and another witness has to be asked.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from gradcli.language import names as things
from gradcli.language.frames import Frame
from gradcli.language.rereading import as_read
from gradcli.language.scope import Scope
from gradcli.language.tree import (
    Attribute,
    Binary,
    Call,
    Conditional,
    Dots,
    Name,
    Node,
    Number,
    Sequence,
    Slice,
    Subscript,
    Text,
    Unary,
)
from gradcli.reference.algebra import Algebra, Unsupported
from gradcli.reference.reading.arrays import Arrays, scalar
from gradcli.reference.reading.callees import Callees, Derive, Unknown
from gradcli.reference.reading.calls import Calls, Several
from gradcli.reference.reading.dialects import Dialects
from gradcli.reference.reading.libraries import NUMBERS, ROOTS, DType, Function, Module, found_in
from gradcli.reference.reading.methods import Method, attribute, called
from gradcli.reference.reading.objects import (
    Bound,
    Instance,
    attribute_of,
    bare_class,
)
from gradcli.reference.reading.subscripts import Range, subscripted

_INFIX = {
    "+": "add", "-": "sub", "*": "mul", "/": "div", "//": "floor_divide", "%": "remainder", "**": "pow", "@": "matmul", "==": "equal",
    "!=": "not_equal", "<": "less", "<=": "less_equal", ">": "greater", ">=": "greater_equal", "and": "logical_and", "&": "logical_and",
    "or": "logical_or", "|": "logical_or",
}  # fmt: skip
_PREFIX = {"|": "abs", "√": "sqrt", "∛": "cbrt", "not": "logical_not", "~": "logical_not"}
_OF_CONDITIONS = frozenset({"and", "or", "&", "|"})
_WHOLE: dict[str, Callable[[int, int], int]] = {"+": lambda x, y: x + y, "-": lambda x, y: x - y, "*": lambda x, y: x * y}
_CONSTANTS = {"π": "pi", "E": "e", "oo": "inf"}
_MOST = 2**53


class Body:
    """An expression being evaluated: a statement's, or that of a function in a call."""

    def __init__(self, frame: Frame, finish: Callable[[Any], Any] | None = None) -> None:
        self.frame, self.finish = frame, finish
        self.results: list[Any] = []


class Expressions:
    """Evaluates the expressions of one program, given what its names stand for."""

    def __init__(self, scope: Scope, arrays: Arrays, derive: Derive, named: Callable[[Any], Any]) -> None:
        self.scope, self.arrays, self.derive, self.named = scope, arrays, derive, named
        self.calls = Calls(arrays)
        self.callees = Callees(self.calls, Dialects(scope, self.calls), derive)
        self.names: Mapping[str, Any] = {}
        self._stack: list[Body] = []
        self._met: dict[
            Any, tuple[Any, Any]
        ] = {}  # results of calls of the program's functions, with the arguments, whose identities are keys

    def value(self, frame: Frame, names: Mapping[str, Any]) -> Any:
        """What an expression stands for, where names stand for these values."""
        self.names = names
        self._met = {}
        self._stack = [Body(frame)]
        while True:
            body = self._stack[-1]
            inner = self._advance(body)
            if inner is not None:
                self._stack.append(inner)
                continue
            result = body.results[body.frame.expression.root.place]
            if body.finish is not None:
                result = body.finish(result)
            self._stack.pop()
            if not self._stack:
                return result
            self._stack[-1].results.append(result)

    def _advance(self, body: Body) -> Body | None:
        nodes, results = body.frame.expression.nodes, body.results
        for place in range(len(results), len(nodes)):
            made = _RULES[type(nodes[place])](self, nodes[place], body)
            if type(made) is Body:
                return made
            results.append(made)
        return None

    # -- nodes ----------------------------------------------------------------------------------------------------------------

    def _binary(self, node: Binary, body: Body) -> Any:
        left, right = body.results[node.left.place], body.results[node.right.place]
        if type(left) is int and type(right) is int and node.operator in _WHOLE:
            whole = _WHOLE[node.operator](left, right)
            if abs(whole) <= _MOST:
                return whole
        operands = [self.arrays.of(left), self.arrays.of(right)]
        if node.operator not in _OF_CONDITIONS:
            operands = [self.arrays.floats(operand) for operand in operands]
        return self.calls.operation(_INFIX[node.operator], *operands)

    def _unary(self, node: Unary, body: Body) -> Any:
        operand = body.results[node.operand.place]
        if node.operator == "+":
            return operand
        if node.operator == "-":
            if type(operand) in (int, float):
                return -operand
            return self.calls.operation("neg", self.arrays.floats(self.arrays.of(operand)))
        return self.calls.operation(_PREFIX[node.operator], operand)

    def _conditional(self, node: Conditional, body: Body) -> Any:
        parts = [self.arrays.of(body.results[part.place]) for part in (node.condition, node.value, node.otherwise)]
        return self.calls.operation("where", *parts)

    def _sequence(self, node: Sequence, body: Body) -> Any:
        items = [body.results[item.place] for item in node.items]
        return tuple(items) if node.bracket == "(" else items

    def _slice(self, node: Slice, body: Body) -> Range:
        parts = [None if part is None else body.results[part.place] for part in node.parts]
        return Range(*(*parts, None)[:3])

    def _subscript(self, node: Subscript, body: Body) -> Any:
        base = body.results[node.base.place]
        if isinstance(base, (Module, Function, Unknown, Method)):
            raise Unsupported("brackets behind a name of a library")
        return subscripted(self.arrays, base, [body.results[item.place] for item in node.items])

    def _name(self, node: Name, body: Body) -> Any:
        name = node.name
        if name in body.frame.locals:
            return body.frame.locals[name]
        if name in self.names:
            return self.names[name]
        if name == "None":
            return None
        if name in ("True", "False"):
            return name == "True"
        found = self.scope.imported.get(name)
        if isinstance(found, things.Module):
            return Module(found.path)
        if isinstance(found, things.Function) and found.base is None:
            return Function(found.name, found.library)
        if found is not None or self.scope.everything:
            raise Unsupported("a name of an import line")
        if name in self.scope.functions:
            return Unknown(name)
        if name in NUMBERS - {"tau"} or name in _CONSTANTS:
            return self._constant(_CONSTANTS.get(name, name))
        return Module(ROOTS[name]) if name in ROOTS else Unknown(name)

    def _constant(self, name: str) -> Any:
        m = self.arrays.m
        values = {"pi": lambda: +m.pi, "tau": lambda: 2 * m.pi, "e": lambda: m.exp(1), "inf": lambda: +m.inf, "nan": lambda: +m.nan}
        return scalar(values[name]())

    def _attribute(self, node: Attribute, body: Body) -> Any:
        base = body.results[node.base.place]
        if isinstance(base, Module):
            found = found_in(base, node.name)
            return self._constant(found) if isinstance(found, str) else found
        if isinstance(base, Instance):
            return attribute_of(self.calls, base, node.name)
        if isinstance(base, Several) and node.name in base.names:
            return base[base.names.index(node.name)]
        if isinstance(base, Unknown) and (of := bare_class(base.name)) is not None and node.name in of[0].defaults["methods"]:
            return Function(f"{base.name}.{node.name}", of[1])
        if isinstance(base, (Function, Unknown, DType, Method, Bound)):
            raise Unsupported("an attribute of a name of a library")
        return attribute(self.arrays, base, node.name)

    # -- calls ----------------------------------------------------------------------------------------------------------------

    def _call(self, node: Call, body: Body) -> Any:
        arguments = [body.results[argument.place] for argument in node.arguments]
        keywords = {name: body.results[value.place] for name, value in node.keywords}
        callee = node.callee
        if isinstance(callee, Name) and callee.name in self.scope.functions:
            return self._inlined(node, callee.name, arguments, keywords)
        target = body.results[callee.place]
        if node.primes:
            raise Unsupported("a prime of what is no function of the program")
        if isinstance(callee, Attribute) and callee.name == "size" and not isinstance(target, (Function, Module)):
            return called(self.calls, Method("size", body.results[callee.base.place]), arguments, keywords)
        return self.callees.called(target, node, body.frame, arguments, keywords)

    def _inlined(self, node: Call, name: str, arguments: list[Any], keywords: dict[str, Any]) -> Any:
        """A call of a function of the program: its body, with the arguments in place of the parameters."""
        definition = self.scope.functions[name]
        if keywords or len(arguments) != len(definition.parameters):
            raise Unsupported(f"{name} of so many arguments")
        if any(body.frame.statement is definition for body in self._stack):
            raise Unsupported(f"{name} calls itself")
        key = (name, node.primes, *((type(a), a) if type(a) in (int, float, bool, str) else id(a) for a in arguments))
        if key in self._met:
            return self._met[key][0]
        values = [a if isinstance(a, (tuple, str)) else self.arrays.of(a) for a in arguments]
        parameters = [Algebra.map(self.named, values[0])] if node.primes else values

        def finish(y: Any) -> Any:
            result = self._primed(self.arrays.of(y), parameters[0], node.primes) if node.primes else y
            self._met[key] = result, arguments
            return result

        own = dict(zip(definition.parameters, parameters, strict=True))
        frame = Frame(as_read(definition.expression, self.scope, own), definition.source, definition, own)
        return Body(frame, finish)

    def _primed(self, y: Any, x: Any, primes: int) -> Any:
        for _ in range(primes):
            y = self.derive("vjp", y, x, None)
        return y


_RULES: dict[type[Node], Callable[[Expressions, Any, Body], Any]] = {
    Number: lambda own, node, body: node.value,
    Name: Expressions._name,
    Binary: Expressions._binary,
    Unary: Expressions._unary,
    Conditional: Expressions._conditional,
    Call: Expressions._call,
    Subscript: Expressions._subscript,
    Attribute: Expressions._attribute,
    Sequence: Expressions._sequence,
    Text: lambda own, node, body: node.value,
    Dots: lambda own, node, body: ...,
    Slice: Expressions._slice,
}
