"""Python text in the making: names for values and constants, and calls of operations.

Names are ours, never the user's: ``v1`` values, ``r1`` registers (buffers of one block), ``k1`` constants and functions.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from gradcli.graph.nodes import Expr, constant_value
from gradcli.ops.calling.promotion import FLOAT, numpy_dtype
from gradcli.ops.elementwise import logic
from gradcli.ops.reductions import sums
from gradcli.ops.spec import Op
from gradcli.plans.listing import listing, named
from gradcli.plans.results import RETURNED, Results

_BY_KEYWORD = (np.maximum, np.minimum)  # where a third operand is to be more to choose from, some day


class Source:
    """Lines of a function, and the names that they mention."""

    def __init__(self, precision: str, *, assume_finite: bool, exact: bool = False, threads: int | None = None) -> None:
        self.precision = precision
        self.threads = threads  # at most, that share a loop; None for as many as there are cores
        self.dtype = numpy_dtype(FLOAT, precision)
        self.assume_finite = assume_finite
        self.exact = exact
        self.lines: list[str] = []
        self.names: dict[Expr, str] = {}
        self._constants: dict[Any, str] = {}
        self.labels: dict[str, str] = {}  # what people may read in the place of names of constants
        self.called: list[str] = []  # functions of C
        self._kept: list[Any] = []  # what `_constants` tells apart by identity
        self._last = 0
        self.results = Results()
        self.namespace: dict[str, Any] = {
            **vars(math), "empty": np.empty, "zeros": np.zeros, "result": self.results.empty,
            "total": np.add.reduce, "vdot": np.vdot, "as_float": self._as_float, "dtype": self.dtype,
        }  # fmt: skip

    def new(self, letter: str) -> str:
        self._last += 1
        return f"{letter}{self._last}"

    def add(self, line: str, depth: int = 1) -> None:
        self.lines.append("    " * depth + line)

    def constant(self, value: Any) -> str:
        """The name of a constant or a function."""
        name = self._constants.get(id(value))
        if name is None:
            name = self._constants[id(value)] = self.new("k")
            self._kept.append(value)
            self.namespace[name] = value
        return name

    def name(self, node: Expr) -> str:
        """A node's value as an operand of NumPy."""
        name = self.names.get(node)
        if name is None:  # a constant: NumPy is faster with arrays without axes than with floats
            value = constant_value(node.payload, numpy_dtype(node.kind, self.precision), node.kind)
            name = self.names[node] = self.constant(np.asarray(value))
        return name

    def _as_float(self, value: Any) -> Any:
        return value if value.dtype == self.dtype else value.astype(self.dtype)

    def on_floats(self, node: Expr) -> str | None:
        """A scalar operation as an expression of Python, if it is one that gives what NumPy gives (but for last bits) or raises."""
        if not self.assume_finite or node.shape or self.precision != "float64":
            return None
        assert node.op is not None
        template = self._to_the_bit(node, node.op) if self.exact else node.op.text.in_python
        if not template:
            return None
        operands = [operand for operand in node.operands if operand is not None]
        numbers = [self.number(operand) for operand in operands]
        if node.op is logic.where and node.kind == FLOAT:  # of truth and numbers, these
            for place in (1, 2):
                if operands[place].kind != FLOAT:
                    numbers[place] = f"float({numbers[place]})"
        return template.format(*numbers)

    def _to_the_bit(self, node: Expr, op: Op) -> str:
        """The same with the bits of what runs on NumPy's scalars, if that is one call."""
        if op.text.on_floats:
            return op.text.on_floats
        if not isinstance(op.forward, np.ufunc) or node.static:
            return ""
        return f"float({self.constant(op.forward)}({', '.join(['{}'] * len(node.operands))}))"

    def number(self, node: Expr) -> str:
        """A node's value as a number of Python."""
        if node.is_constant and math.isfinite(node.payload):
            literal = repr(bool(node.payload) if node.kind != FLOAT else float(node.payload))
            return f"({literal})"
        return self.name(node)

    def array(self, node: Expr) -> str:
        """A new array for a node's value."""
        dtype = numpy_dtype(node.kind, self.precision)
        made = "empty"
        if math.prod(node.shape) * dtype.itemsize >= RETURNED:
            self.results.expect(node.shape, dtype)
            made = "result"
        return f"{made}({node.shape}, {self.constant(dtype)})"

    def scalar(self, kind: str) -> str:
        """The name of NumPy's type of the numbers of a kind."""
        return self.constant(numpy_dtype(kind, self.precision).type)

    def call(self, node: Expr, operands: Sequence[str], out: str | None = None) -> str:
        """A node's operation on arrays; with ``out``, which only ufuncs take, into a buffer."""
        assert node.op is not None
        if node.op is sums.sum_:
            axis, keepdims = node.static["axis"], node.static["keepdims"]
            return f"total({operands[0]}, {axis}{', None, None, True' if keepdims else ''})"
        return self.applied(node.op, node.static, node.kind, operands, out)

    def applied(self, op: Op, static: Mapping[str, Any], kind: str, operands: Sequence[str], out: str | None = None) -> str:
        """An operation with its parameters on arrays."""
        forward: Callable[..., Any] = op.forward
        is_ufunc = isinstance(forward, np.ufunc)
        if static:
            forward = functools.partial(forward, **static)
        given = [*operands] if out is None else [*operands, f"out={out}" if forward in _BY_KEYWORD else out]
        name = self.constant(forward)
        if not is_ufunc:
            self.labels[name] = named(op.name, static)
        text = f"{name}({', '.join(given)})"
        return text if is_ufunc or kind != FLOAT or op.outputs > 1 else f"as_float({text})"

    def text(self) -> str:
        """The program for people to read."""
        return "\n\n".join([*self.called, listing(self.lines, {**self.namespace, **self.labels})])

    def compiled(self, name: str) -> Callable[..., Any]:
        exec(compile("\n".join(self.lines), "<plan>", "exec"), self.namespace)  # our own text, without a word of the user's
        function: Callable[..., Any] = self.namespace[name]
        return function


def makes_new(node: Expr) -> bool:
    """Whether an operation's result is surely an array of its own, not a view."""
    return node.op is not None and (isinstance(node.op.forward, np.ufunc) or node.op is sums.sum_)


def fills_buffers(node: Expr) -> bool:
    """Whether an operation can write its result into a given array of the same shape as its operands'."""
    return node.op is not None and node.op.elementwise and isinstance(node.op.forward, np.ufunc) and not node.static
