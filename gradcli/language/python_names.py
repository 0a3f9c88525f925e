"""Python's own functions and names: ``int(x)``, ``range(n)``, ``abs``, ``divmod``, ``Ellipsis``."""

from __future__ import annotations

import math
from typing import Any

from gradcli.errors import TypeMismatchError
from gradcli.graph.nodes import Expr
from gradcli.language import index_makers
from gradcli.language.builder import Builder
from gradcli.language.conversions import as_boolean, as_float, as_whole, known_number
from gradcli.language.library_names import Interpreter
from gradcli.language.things import routines
from gradcli.ops import registry
from gradcli.ops.arrays.shapes import reshape


def _single(builder: Builder, x: Any, name: str) -> Expr:
    node = builder.value(x)
    if math.prod(node.shape) != 1:
        raise TypeMismatchError(f"{name}() takes one number, not an array of shape {node.shape}", help=f"write x.astype({name})")
    single: Expr = reshape(node, shape=()) if node.shape else node
    return single


def float_(builder: Builder, x: Any = 0) -> Any:
    """A Python float: of a string the number it is, of a number that number; who calls it says whether gradients stop there."""
    if isinstance(x, str):
        return builder.graph.constant(known_number(x))
    return as_float(builder, _single(builder, x, "float"), "float", "float")


def int_(builder: Builder, x: Any = 0) -> Any:
    """The whole number towards 0."""
    if isinstance(x, str):
        return builder.graph.constant(int(known_number(x)))
    return as_whole(builder, _single(builder, x, "int"))


def bool_(builder: Builder, x: Any = False) -> Any:
    """Whether a number is not 0."""
    return as_boolean(_single(builder, x, "bool"))


def list_(builder: Builder, x: Any) -> Any:
    """The entries of a range, a tuple or an array, in order."""
    return list(x) if isinstance(x, (tuple, list)) else builder.value(x)


def divmod_(builder: Builder, x: Any, y: Any) -> Any:
    """The quotient, rounded down, and the rest."""
    a, b = builder.value(x), builder.value(y)
    return tuple(builder.graph.apply(registry.OPERATORS[sign], (a, b)) for sign in ("//", "%"))


FUNCTIONS = routines({
    "float": ("x", float_),
    "int": ("x", int_),
    "bool": ("x", bool_),
    "range": ("start, stop, step", index_makers.range_),
    "slice": ("***parts", index_makers.slice_),
    "list": ("x", list_),
    "tuple": ("x", list_),
    "divmod": ("x, y", divmod_),
})  # fmt: skip

NAMES = {"Ellipsis": ..., "sys": Interpreter()}
