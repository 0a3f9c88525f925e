"""What makes nodes of results, as those see it who are handed one: functions of the language, subscripts, derivatives."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np

from gradcli.graph.nodes import Expr, Graph
from gradcli.language.scope import Scope
from gradcli.ops.calling.binding import Host, Use


class Builder(Host, Protocol):
    """Takes results of lowering for nodes or for parameters of the program; `coercion.Coercion` is the one there is.

    A result is a node, or, where the language has them, a tuple, a list (an array not made yet), a string, None, a `Module`, a
    `Function` or a `FreeVariable`.
    """

    @property
    def scope(self) -> Scope: ...
    @property
    def graph(self) -> Graph: ...
    @property
    def random(self) -> np.random.Generator: ...

    def value(self, argument: Any) -> Expr:
        """A result as a node. Raises TypeMismatchError for what is no number or array, MissingValueError for a name without a value."""

    def static(self, argument: Any, of: Use | str | None = None) -> Any:
        """A result as a parameter of the program, known beforehand: integers, tuples, strings, arrays of indices."""

    def flag(self, result: Any, place: str) -> bool:
        """A result as True or False, known beforehand; numbers are what they are in Python. Raises ArgumentError for anything else."""

    def integer(self, result: Any, place: str = "an index") -> int:
        """A result as a whole number known beforehand. Raises ArgumentError for any other."""

    def number(self, result: Any, place: str | None) -> float:
        """A result as a number known beforehand, which decides what entries there are. Raises ArgumentError for anything else."""

    def is_integral(self, node: Expr) -> bool:
        """Whether a node is a whole number (or an array of them) by construction."""
