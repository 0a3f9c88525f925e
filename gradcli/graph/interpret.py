"""The forward pass: a table of values for the nodes of a graph."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from gradcli.errors import EvaluationError, GradcliError
from gradcli.graph.nodes import Expr, constant_value, reachable
from gradcli.ops.calling.promotion import numpy_dtype

Values = dict[Expr, Any]


def forward(roots: Iterable[Expr], values: Mapping[Expr, Any], precision: str = "float64", order: Sequence[Expr] | None = None) -> Values:
    """The value of every node that the roots depend on, given those of the leaves.

    ``order`` is `reachable` of the roots, where the caller has it. Of the given values, those of its nodes are in the result.
    Floating-point errors give infinities and NaNs, as in NumPy, without warnings.
    Raises EvaluationError, with the failing node as ``error.node``, where an operation has no value at all.
    """
    table: Values = {}
    given = values.get
    value_of: Callable[[Any], Any] = table.get  # None for an operand that was left out
    dtype = numpy_dtype("float", precision)
    with np.errstate(all="ignore"):
        for node in reachable(roots) if order is None else order:
            known = given(node)
            if known is not None:
                table[node] = known
                continue
            op = node.op
            if op is None:
                table[node] = constant_value(node.payload, dtype, node.kind)
                continue
            function = op.forward if node.shape or op.on_scalars is None else op.on_scalars
            try:
                value = function(*map(value_of, node.operands), **node.static)
            except GradcliError as error:
                error.node = node
                raise
            except (ValueError, TypeError, IndexError, ArithmeticError) as error:
                failure = EvaluationError(f"{op.name}: {error}")
                failure.node = node
                raise failure from None
            except MemoryError:
                failure = EvaluationError(f"not enough memory for the result of {op.name}, of shape {node.shape}")
                failure.node = node
                raise failure from None
            if node.kind == "float" and op.outputs == 1 and value.dtype is not dtype and value.dtype != dtype:
                value = value.astype(dtype)
            table[node] = value
    return table
