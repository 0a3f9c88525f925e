"""Python text in the making: names for values and constants, and calls of operations.

Names are ours, never the user's: ``v1`` values, ``k1`` constants and functions.
"""

from __future__ import annotations

import functools
import math
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

import numpy as np

from gradcli.graph.nodes import Expr, Graph, constant_value, forward, reachable
from gradcli.graph.sweep import backward, itself, ones_like, vjps_at, zeros_like
from gradcli.ops.calling.inputs import FLOAT, numpy_dtype
from gradcli.ops.elementwise import logic
from gradcli.ops.reductions import sums
from gradcli.ops.spec import Op

# -- A program for people to read: its functions and constants under names that say what they are -
#
# Names and text of the user's are not in a program, and do not come into it here: parameters of
# operations are shown if they are numbers.


_OURS = re.compile(r"\bk\d+\b")


def listing(lines: list[str], constants: Mapping[str, Any]) -> str:
    """Lines of a program, whose constants are known by their names there."""
    return "\n".join(
        _OURS.sub(lambda name: _constant_text(constants.get(name[0], name[0])), line)
        for line in lines
    )


def _is_plain(part: Any) -> bool:
    """Return whether a parameter is made of numbers."""
    if isinstance(part, tuple):
        return all(map(_is_plain, part))
    return part is None or isinstance(part, (int, float))


def _constant_text(value: Any) -> str:
    """Write a constant: a number as it is, a function by its name, others by dtype and shape."""
    if isinstance(value, str):
        return value
    if isinstance(value, np.dtype):
        return value.name
    if isinstance(value, np.ndarray):
        return repr(value.item()) if not value.ndim else f"<{value.dtype} {value.shape}>"
    return str(getattr(value, "__name__", type(value).__name__))


class Source:
    """Lines of a function, and the names that they mention."""

    def __init__(
        self,
        precision: str,
        *,
        exact: bool = False,
    ) -> None:
        self.precision = precision
        self.dtype = numpy_dtype(FLOAT, precision)
        self.exact = exact
        self.lines: list[str] = []
        self.names: dict[Expr, str] = {}
        self._constants: dict[Any, str] = {}
        self.labels: dict[str, str] = {}  # readable texts for names of constants
        self.called: list[str] = []  # texts of the C functions that are called
        self._kept: list[Any] = []  # keeps alive what `_constants` tells apart by identity
        self._last = 0
        self.namespace: dict[str, Any] = {
            **vars(math), "empty": np.empty, "zeros": np.zeros,
            "total": np.add.reduce, "as_float": self._as_float, "dtype": self.dtype,
        }  # fmt: skip

    def new(self, letter: str) -> str:
        self._last += 1
        return f"{letter}{self._last}"

    def add(self, line: str, depth: int = 1) -> None:
        self.lines.append("    " * depth + line)

    def constant(self, value: Any) -> str:
        """Return the name of a constant or a function."""
        name = self._constants.get(id(value))
        if name is None:
            name = self._constants[id(value)] = self.new("k")
            self._kept.append(value)
            self.namespace[name] = value
        return name

    def name(self, node: Expr) -> str:
        """Return the name of a node's value as an operand of NumPy."""
        name = self.names.get(node)
        if name is None:  # a constant: NumPy is faster with arrays without axes than with floats
            value = constant_value(node, numpy_dtype(node.kind, self.precision))
            name = self.names[node] = self.constant(np.asarray(value))
        return name

    def _as_float(self, value: Any) -> Any:
        return value if value.dtype == self.dtype else value.astype(self.dtype)

    def on_floats(self, node: Expr) -> str | None:
        """Write a scalar operation as an expression of Python, or return None.

        The expression must give the same as NumPy, except for last bits, or raise.
        """
        if node.shape or self.precision != "float64":
            return None
        assert node.op is not None
        template = self._to_the_bit(node, node.op) if self.exact else node.op.in_python
        if not template:
            return None
        operands = node.given_operands
        numbers = [self.number(operand) for operand in operands]
        if node.op is logic.where and node.kind == FLOAT:  # booleans and numbers give numbers
            for place in (1, 2):
                if operands[place].kind != FLOAT:
                    numbers[place] = f"float({numbers[place]})"
        return template.format(*numbers)

    def _to_the_bit(self, node: Expr, op: Op) -> str:
        """Return the template that gives the bits of NumPy's scalars, if that is one call."""
        if op.on_floats:
            return op.on_floats
        if not isinstance(op.forward, np.ufunc) or node.static:
            return ""
        return f"float({self.constant(op.forward)}({', '.join(['{}'] * len(node.operands))}))"

    def number(self, node: Expr) -> str:
        """Return a node's value as a number of Python."""
        if node.is_constant and math.isfinite(node.payload):
            literal = repr(bool(node.payload) if node.kind != FLOAT else float(node.payload))
            return f"({literal})"
        return self.name(node)

    def array(self, node: Expr) -> str:
        """Return a new array for a node's value."""
        dtype = numpy_dtype(node.kind, self.precision)
        return f"empty({node.shape}, {self.constant(dtype)})"

    def scalar(self, kind: str) -> str:
        """Return the name of NumPy's type for numbers of a kind."""
        return self.constant(numpy_dtype(kind, self.precision).type)

    def call(self, node: Expr, operands: Sequence[str], **changed: str) -> str:
        """Write a node's operation on arrays, with some of its static parameters changed."""
        assert node.op is not None
        if node.op is sums.sum_:
            axis, keepdims = node.static["axis"], node.static["keepdims"]
            return f"total({operands[0]}, {axis}{', None, None, True' if keepdims else ''})"
        forward: Callable[..., Any] = node.op.forward
        is_ufunc = isinstance(forward, np.ufunc)
        static = {key: part for key, part in node.static.items() if key not in changed}
        if static:
            forward = functools.partial(forward, **static)
        name = self.constant(forward)
        if not is_ufunc:
            numbers = ", ".join(f"{key}={n!r}" for key, n in static.items() if _is_plain(n))
            self.labels[name] = f"{node.op.name}[{numbers}]" if numbers else node.op.name
        keywords = [f"{key}={part}" for key, part in changed.items()]
        text = f"{name}({', '.join([*operands, *keywords])})"
        is_plain = is_ufunc or node.kind != FLOAT or node.op.outputs > 1
        return text if is_plain else f"as_float({text})"

    def text(self) -> str:
        """Return the program for people to read."""
        return "\n\n".join([*self.called, listing(self.lines, {**self.namespace, **self.labels})])

    def compile(self, name: str) -> Callable[..., Any]:
        # The text is our own, without a word of the user's.
        exec(compile("\n".join(self.lines), "<plan>", "exec"), self.namespace)
        function: Callable[..., Any] = self.namespace[name]
        return function


def makes_new(node: Expr) -> bool:
    """Return whether an operation's result is surely an array of its own, not a view."""
    return is_ufunc(node) or node.op is sums.sum_


def is_ufunc(node: Expr) -> bool:
    """Return whether a node's operation is one call of a ufunc."""
    return node.op is not None and isinstance(node.op.forward, np.ufunc) and not node.static


# -- What a plan computes: nodes of one graph, and how they are computed array by array where its
# program has no result for them.


class Subject(Protocol):
    """The nodes that are results, and what they are where something is not finite."""

    @property
    def roots(self) -> Sequence[Expr]: ...

    @property
    def graph(self) -> Graph: ...

    @property
    def decides(self) -> bool:
        """Flag that `interpret` may differ from the roots.

        It is true if `interpret` gives other results than the roots, array by array, where a value
        is not finite.
        """
        ...

    def interpret(self, given: Mapping[Expr, Any], precision: str) -> list[Any]: ...


class Gradients:
    """The value of a root and its vector-Jacobian products.

    wrt     the nodes to differentiate with respect to
    seed    the cotangent of the root: ones, if None
    beside  nodes that are results in place of the value
    """

    def __init__(
        self, root: Expr, wrt: Sequence[Expr], seed: Expr | None = None, beside: Sequence[Expr] = ()
    ) -> None:
        self.root = root
        self.wrt = list(wrt)
        self.seed = seed
        self.beside = list(beside) or [root]
        self.graph = root.graph

    @property
    def roots(self) -> list[Expr]:
        """The value, and the gradients that the sweep makes of the graph."""
        seed = ones_like(self.root) if self.seed is None else self.seed
        found = (
            backward(reachable([self.root]), {self.root: seed}, self.wrt, itself)
            if self.wrt
            else {}
        )
        return [*self.beside, *(found[x] if x in found else zeros_like(x) for x in self.wrt)]

    @property
    def decides(self) -> bool:
        """Return whether a cotangent of zeros may end the sweep, where the program goes on."""
        return bool(self.wrt) and any(
            not (node.op is None or node.op.elementwise or node.op.linear)
            for node in reachable([self.root])
        )

    def interpret(self, given: Mapping[Expr, Any], precision: str) -> list[Any]:
        """Compute by the forward pass and the sweep."""
        table = forward([self.root, *self.beside], given, precision)
        value = table[self.root]
        seed = np.ones_like(value) if self.seed is None else given[self.seed]
        found = vjps_at(self.root, seed, self.wrt, table)
        return [
            *(table[node] for node in self.beside),
            *(found.get(x, np.zeros(x.shape, value.dtype)[()]) for x in self.wrt),
        ]


class Nodes:
    """Nodes as they are."""

    def __init__(self, roots: Sequence[Expr]) -> None:
        self.roots = list(roots)
        self.graph = self.roots[0].graph
        self.decides = False

    def interpret(self, given: Mapping[Expr, Any], precision: str) -> list[Any]:
        """Compute by the forward pass."""
        table = forward(self.roots, given, precision)
        return [table[root] for root in self.roots]
