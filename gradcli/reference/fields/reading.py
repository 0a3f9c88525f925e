"""Functions of the program on a tape whose numbers are elements of a field: every leaf's entries are variables.

Derivatives are the tape's own, by sympy's derivative of each single operation.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from math import prod
from typing import Any

import numpy as np

from gradcli.graph.nodes import Expr
from gradcli.ops.spec import Op
from gradcli.reference.algebra import Algebra, Unsupported
from gradcli.reference.fields.element import Generator
from gradcli.reference.fields.functions import Functions
from gradcli.reference.scalars import Differentiated, Traced, Tracing, plain
from gradcli.reference.symbolic.translate import smooth_function
from gradcli.reference.tape import ReferenceTape

_MOST_VARIABLES = 40


class _Scalars(Tracing):
    """Scalars that are elements, with a history: of kinks and of what is not finite nothing is noted."""

    def scalar(self, op: Op, static: Mapping[str, Any], *given: Any) -> Any:
        if op.kind == "flat":
            raise Unsupported("a function that jumps")  # equality is proved but for single points, across which others are continuous
        if op.kind == "piecewise" and (static or op.symbolic is None):
            return op.reference(self, *given, **static)
        if op.algebra == "composed" and op.definition is not None and op.kind == "smooth":
            return self.opened(op.definition, [np.asarray(x, dtype=object) for x in given], static)[()]
        smooth = smooth_function(op, len(given), static)
        value = smooth.value(self.m, tuple(self.m.of(plain(x)) for x in given))
        return Traced(self, value, Differentiated(op.name, smooth), given)


class FieldTape(ReferenceTape):
    """A function on a tape of elements.

    values  of leaves that are whole numbers or truths, which stay what they are
    alike   whether all entries of all arrays are treated alike: then an array is one element
    """

    tracing = _Scalars

    def __init__(self, functions: Functions, leaves: Sequence[Expr], values: Mapping[Expr, Any], precision: str, alike: bool) -> None:
        def variables(node: Expr) -> np.ndarray:
            shape = () if alike else node.shape
            if prod(shape) > _MOST_VARIABLES:
                raise Unsupported("an array of so many entries")
            places = np.arange(prod(shape)).reshape(shape)
            return Algebra.map(lambda i: functions.field.symbol((node, i), partial(Generator, "variable")), places)

        super().__init__(functions, {node: variables(node) if node.kind == "float" else values[node] for node in leaves}, precision)

    def _watch(self, op: Op, operands: list[Any], result: Any) -> None:
        """Note nothing: where kinks are depends on values."""
