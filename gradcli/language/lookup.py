"""What names stand for where they are read: bound values and objects, imported things, constants, libraries."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gradcli.language.callables import OF_PYTHON
from gradcli.language.coercion import Coercion
from gradcli.language.names import FreeVariable, Module
from gradcli.language.reading import Reading
from gradcli.ops.calling.meanings import DIALECT_OF
from gradcli.ops.calling.prefixes import ROOTS, owner
from gradcli.ops.constants import NAMED


class Lookup:
    """The names of one program, and what its last statement has shown by naming them."""

    def __init__(self, coercion: Coercion, reading: Reading) -> None:
        self.scope, self.graph, self.coercion, self.reading = coercion.scope, coercion.graph, coercion, reading
        self.mentions = False  # whether the last expression mentioned a bound name
        self.touched: set[str] = set()  # dialects of the libraries that the last statement has named
        self.notes: dict[str, None] = {}  # what is to be said of names in the last statement

    def begin(self) -> None:
        """A statement begins, which has shown nothing yet."""
        self.touched.clear()
        self.notes = {}

    def name(self, name: str, parameters: Mapping[str, Any]) -> Any:
        """What a name stands for, where the parameters of a function that is being called have values of their own."""
        if name in parameters:
            return parameters[name]
        bound = self.scope.names.get(name)
        if bound is not None:
            self.mentions = True
            scope = self.scope
            scope.mentioned.add(name)
            if scope.static_uses and name in scope.static_uses:
                self.coercion.static_uses.update(scope.static_uses[name])
            return bound
        if self.scope.objects and name in self.scope.objects:
            return self.object(name)
        if name in self.scope.functions:
            return FreeVariable(name)  # F(x) = x**2 is no library
        if name == "None":
            return None
        if (self.scope.imported or self.scope.everything) and (found := self.reading.imported(name)) is not None:
            return self.module(found.path) if isinstance(found, Module) else found
        if name in NAMED and name not in self.scope.failed:
            if name == "E":
                self.notes["E is the number e here, as in sympy; a binding gives it another value"] = None
            return self.graph.constant(NAMED[name])
        if name in ROOTS:
            return self.module(ROOTS[name])
        if name in OF_PYTHON:
            from gradcli.language.python_names import NAMES

            if name in NAMES:
                return NAMES[name]
        return FreeVariable(name)

    def module(self, path: str) -> Module:
        """A module that the statement names, which says something of its dialect."""
        dialect = DIALECT_OF.get(owner(path))
        if dialect is not None:
            self.touched.add(dialect)
        return Module(path)

    def object(self, name: str) -> Any:
        """What a name is bound to that is no value: an object of a library's class, or a function."""
        bound = self.scope.objects[name]
        self.mentions = self.mentions or bound.mentions
        self.scope.mentioned.add(name)
        return bound.object
