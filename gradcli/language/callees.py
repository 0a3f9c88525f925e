"""Calls in expressions: which of a program's functions, a library's, an object's or the language's own a call is of."""

from __future__ import annotations

from typing import Any

from gradcli.errors import TypeMismatchError
from gradcli.graph.nodes import Expr
from gradcli.language import calls, objects
from gradcli.language.callables import OF_PYTHON, OF_SYMPY, exists, operation
from gradcli.language.coercion import Coercion
from gradcli.language.differentiation import DERIVATIVES, derivative
from gradcli.language.frames import Frame
from gradcli.language.inlining import Inlining
from gradcli.language.lookup import Lookup
from gradcli.language.names import Function, Module, Thing
from gradcli.language.reading import Reading
from gradcli.language.things import Routine
from gradcli.language.tree import Attribute, Call, Name, Node
from gradcli.language.undefined_names import refuse_bound_function, refuse_neighbours, unknown_function
from gradcli.ops.calling.meanings import CALL, OF_DERIVATIVES
from gradcli.ops.calling.prefixes import NUMPY, TORCH, DType
from gradcli.ops.text import Expansion


def noted(made: Any, node: Node, frame: Frame) -> Any:
    """The result of a built-in function; what was expanded for it is kept."""
    if type(made) is not Expansion:
        return made
    frame.expansions[node.place] = made
    return made.result


class Callees:
    """The calls of one program."""

    def __init__(self, coercion: Coercion, reading: Reading, lookup: Lookup) -> None:
        self.scope, self.graph, self.coercion, self.reading, self.lookup = coercion.scope, coercion.graph, coercion, reading, lookup

    def call(self, node: Call, frame: Frame, inlining: Inlining) -> Any:
        """What a call gives, or the `Frame` of a user's function that has to be lowered for it; raises as `calls.call` does."""
        results = frame.results
        arguments = [results[a.place] for a in node.arguments]
        keywords = {name: results[value.place] for name, value in node.keywords}
        callee = node.callee
        if isinstance(callee, Name):
            return self._of_name(node, callee, frame, inlining, arguments, keywords)
        return self._of(results[callee.place], node, frame, arguments, keywords)

    def _of(self, target: Any, node: Call, frame: Frame, arguments: list[Any], keywords: dict[str, Any]) -> Any:
        results, callee = frame.results, node.callee
        if isinstance(target, Thing):
            if isinstance(target, Routine) and target.of_pytorch is not None and self.reading.only_dialect(frame) == TORCH:
                target = target.in_pytorch()
            made = noted(target.call(self.coercion, arguments, keywords), node, frame)
            return self.reading.converted(made, node, frame, target.written, target.parts)
        if isinstance(target, objects.Instance):
            return noted(calls.call_object(self.coercion, target, CALL, arguments, keywords), node, frame)
        if isinstance(target, Module) and (of := objects.class_at(target.path)) is not None:
            return objects.constructed(self.coercion, of, arguments, keywords)
        if isinstance(target, Function):
            return self._of_function(node, target, frame, arguments, keywords)
        if isinstance(callee, Attribute) and callee.name == "size":
            return calls.size(self.coercion, results[callee.base.place], arguments, keywords)
        if isinstance(target, DType):
            return calls.conversion(self.coercion, target, arguments, keywords)
        raise TypeMismatchError("only a function can be called", help="write x*(y) to multiply").at(callee.span)

    def _of_function(self, node: Call, target: Function, frame: Frame, arguments: list[Any], keywords: dict[str, Any]) -> Any:
        """A function of a library, or a method."""
        if target.base is not None:
            if isinstance(target.base, objects.Instance):
                return noted(calls.call_method(self.coercion, target, arguments, keywords), node, frame)
            if calls.is_pair(node, frame.nodes):
                return noted(calls.of_a_pair(self.coercion, target, arguments, keywords), node, frame)
            library = self.reading.method(node, frame, target.name, target.base, arguments, [*keywords])
            target = Function(target.name, library, target.base)
            made = noted(calls.call_method(self.coercion, target, arguments, keywords), node, frame)
            return self.reading.settled(made, node, frame, target, [target.base])
        if target.name in DERIVATIVES and not exists(target.name, target.library):
            return noted(derivative(self.coercion, node, target.name, arguments, keywords), node, frame)
        made = noted(calls.call(self.coercion, target.name, target.library, arguments, keywords), node, frame)
        return self.reading.settled(made, node, frame, target, arguments)

    def _of_name(self, node: Call, callee: Name, frame: Frame, inlining: Inlining, arguments: list[Any], keywords: dict[str, Any]) -> Any:
        name = callee.name
        definition = self.scope.functions.get(name)
        if definition is not None:
            return inlining.call(node, frame, definition, arguments, keywords)
        if self.scope.objects and name in self.scope.objects:
            return self._of(self.lookup.object(name), node, frame, arguments, keywords)
        if (self.scope.imported or self.scope.everything) and name not in self.scope.names and name not in frame.locals:
            target = self.reading.imported(name)
            if target is not None:
                return self._of(target, node, frame, arguments, keywords)
        if len(arguments) == 1 and type(arguments[0]) is Expr and not (keywords or node.primes):
            op = operation(name)
            if op is not None:  # most calls, in a third of the time
                if name in self.scope.names or name in frame.locals:
                    refuse_bound_function(self.scope, node, frame)
                return self.graph.apply(op, arguments)
        written = [frame.source.text[argument.start : argument.end] for argument in node.arguments]
        if node.primes:
            raise unknown_function(self.scope, name, written).at(callee.span)
        if name in DERIVATIVES:
            return noted(derivative(self.coercion, node, name, arguments, keywords), node, frame)
        if name in OF_PYTHON or name in OF_SYMPY:
            from gradcli.language import python_names, sympy_names

            routine = python_names.FUNCTIONS.get(name) or sympy_names.FUNCTIONS.get(name)
            if routine is not None:
                made = noted(routine.call(self.coercion, arguments, keywords), node, frame)
                return self.reading.converted(made, node, frame, name, arguments)
        if exists(name, NUMPY) or exists(name, TORCH):
            is_number = len(arguments) == 1 and not keywords and type(arguments[0]) is Expr and not arguments[0].shape
            if is_number and (name in self.scope.names or name in frame.locals):
                refuse_bound_function(self.scope, node, frame)
            if arguments and name in OF_DERIVATIVES:
                second = arguments[1] if len(arguments) > 1 else None
                refuse_neighbours(name, written, arguments[0], second)
            library = self.reading.bare(node, frame, name, arguments, [*keywords])
            return noted(calls.call(self.coercion, name, library, arguments, keywords, bare=True), node, frame)
        if (of := objects.bare(name)) is not None:
            return objects.constructed(self.coercion, of, arguments, keywords)
        raise unknown_function(self.scope, name, written).at(callee.span)
