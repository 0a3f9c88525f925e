"""Functions of the language that are compositions of operations.

Each takes the lowering (for its graph, limits and random numbers), then arguments already lowered: nodes, and
Python values for shapes, axes and the like.
"""

from __future__ import annotations

import math
from typing import Any

from gradcli.errors import ArgumentError, ShapeError, TypeMismatchError
from gradcli.graph.nodes import Expr
from gradcli.language.builder import Builder
from gradcli.language.constructors import CONSTRUCTORS
from gradcli.ops.arrays import shapes
from gradcli.ops.calling.textbook import SPELLINGS
from gradcli.ops.elementwise import exponential
from gradcli.ops.registry import find


def as_is(builder: Builder, x: Any) -> Expr:
    """x itself, as a node: for methods that change no entry of a number in the program's precision."""
    return builder.value(x)


def maximum_of(builder: Builder, *values: Any) -> Expr:
    """Unprefixed max: of several values the largest, of one array its largest entry."""
    result = builder.value(values[0])
    for value in values[1:]:
        result = exponential.maximum(result, builder.value(value))
    return result


def minimum_of(builder: Builder, *values: Any) -> Expr:
    """Unprefixed min: of several values the smallest, of one array its smallest entry."""
    result = builder.value(values[0])
    for value in values[1:]:
        result = exponential.minimum(result, builder.value(value))
    return result


def einsum(builder: Builder, arguments: Any) -> Any:
    """einsum('ij,jk->ik', a, b), and PyTorch's other forms: the operands as one list, before or after the subscripts."""
    first, *rest = arguments or (None,)
    if len(rest) == 1 and isinstance(rest[0], str):
        first, rest = rest[0], [first]
    if not isinstance(first, (str, list, tuple)) and rest and all(isinstance(part, (list, tuple)) for part in rest[::2]):
        from gradcli.language.einsum_labels import labelled

        first, rest = labelled(builder, [first, *rest])
        return builder.call_op(find("einsum"), [builder.value(o) for o in rest], {"subscripts": first})
    operands = [o for r in rest for o in (r if isinstance(r, (list, tuple)) and len(rest) == 1 else [r])]
    if not isinstance(first, str) or not operands:
        raise ArgumentError("einsum needs its subscripts as a string, and operands", help="write einsum('ij,jk->ik', a, b)")
    return builder.call_op(find("einsum"), [builder.value(o) for o in operands], {"subscripts": first})


def length(builder: Builder, x: Any) -> Any:
    """How many entries a tuple, a list or the first axis of an array has. Raises TypeMismatchError for a number, which has none."""
    if isinstance(x, (tuple, list)):
        return builder.graph.constant(len(x))
    node = builder.value(x)
    if not node.shape:
        raise TypeMismatchError("a number has no length")
    return builder.graph.constant(node.shape[0])


def item(builder: Builder, x: Any) -> Any:
    """The number in an array of one entry. Raises ShapeError for any other."""
    node = builder.value(x)
    if math.prod(node.shape) != 1:
        raise ShapeError(f"item() needs an array of one entry, not of shape {node.shape}")
    return shapes.reshape(node, shape=()) if node.shape else node


def cho_factor(builder: Builder, x: Any, lower: Any = False) -> Any:
    """scipy.linalg.cho_factor: a Cholesky factor, and whether it is the lower one; for cho_solve."""
    below, matrix = builder.flag(lower, "'lower' of cho_factor"), builder.value(x)
    factor = builder.call_op(find("cholesky"), [matrix], {"upper": not below})
    rest = builder.call_op(find("triu" if below else "tril"), [matrix], {"k": 1 if below else -1})  # which SciPy leaves as it was
    return factor + rest, below


def cho_solve(builder: Builder, c_and_lower: Any, y: Any) -> Any:
    """scipy.linalg.cho_solve((c, lower), b): the solution with the matrix that has this factor. Raises ArgumentError for any other pair."""
    if not isinstance(c_and_lower, tuple) or len(c_and_lower) != 2:
        raise ArgumentError("cho_solve needs a factor and whether it is the lower one", help="write cho_solve((L, True), b)")
    factor, below = builder.value(c_and_lower[0]), builder.flag(c_and_lower[1], "'lower' of cho_solve")
    triangle = builder.call_op(find("tril" if below else "triu"), [factor], {"k": 0})
    right = builder.value(y)
    column = shapes.reshape(right, shape=(*right.shape, 1)) if right.ndim == 1 else right
    found = builder.call_op(find("cholesky_solve"), [column, triangle], {"upper": not below})
    return shapes.reshape(found, shape=right.shape) if right.ndim == 1 else found


FUNCTIONS = {
    **CONSTRUCTORS, "einsum": einsum, "item": item, "len": length, "cho_factor": cho_factor, "cho_solve": cho_solve,
    **dict.fromkeys(("contiguous", "double", "float"), as_is),
}  # fmt: skip
ALIASES = {"random": "rand", "standard_normal": "randn", **SPELLINGS}
