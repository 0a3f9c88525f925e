"""The graph: immutable nodes, interned within a program and compared by identity.

A node has no value. It has an operation, operands, static parameters, a shape and a kind ("float",
"bool" or "int"); values live in tables beside the graph, and so do source spans, many to one node.
Leaves, random draws and named intermediates keep an identity of their own. Operators on nodes build
nodes, which is how derivative rules build graphs.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from operator import attrgetter
from typing import Any, TypeVar

import numpy as np

from gradcli.errors import LimitError, ShapeError
from gradcli.limits import DEFAULT, Limits
from gradcli.ops.calling.inputs import BOOL, FLOAT, INT
from gradcli.ops.constants import Constant
from gradcli.ops.counting import LIGHT, hold
from gradcli.ops.operands import Operand
from gradcli.ops.spec import Op
from gradcli.ops.structure import derivative, to_float, to_int
from gradcli.ops.writing import Shape

NO_STATIC: Mapping[str, Any] = {}
NO_OPERATIONS: Mapping[Op, Op] = {}


class Leaf:
    """The payload of a node that takes its value from outside."""

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        self.name = name


class Expr(Operand):
    """A node. ``op`` is None for leaves and constants, whose ``payload`` says what they are."""

    __slots__ = ("graph", "index", "kind", "op", "operands", "payload", "shape", "static")
    __array_ufunc__ = None  # makes NumPy scalars and arrays leave mixed operators to this class

    def __init__(
        self,
        graph: Graph,
        op: Op | None,
        operands: tuple[Expr | None, ...],
        static: Mapping[str, Any],
        shape: Any,
        kind: str,
        payload: Any = None,
    ) -> None:
        self.graph = graph
        self.op = op
        self.operands = operands
        self.static = static
        self.shape = shape
        self.kind = kind
        self.payload = payload
        self.index = graph.next_index()

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def given_operands(self) -> list[Expr]:
        """The operands that were not left out."""
        return [operand for operand in self.operands if operand is not None]

    @property
    def operand(self) -> Expr:
        """The first operand, of an operation that has one."""
        first = self.operands[0]
        assert first is not None
        return first

    @property
    def is_leaf(self) -> bool:
        return isinstance(self.payload, Leaf)

    @property
    def is_constant(self) -> bool:
        return self.op is None and not isinstance(self.payload, Leaf)

    def apply_op(self, op: Op, operands: Sequence[Any], static: Mapping[str, Any]) -> Expr:
        return self.graph.apply(op, operands, static)

    def __repr__(self) -> str:
        what = (
            self.op.name
            if self.op
            else self.payload.name
            if isinstance(self.payload, Leaf)
            else repr(self.payload)
        )
        return f"<{what} {self.shape}>"

    def __bool__(self) -> bool:
        raise TypeError("a graph node has no value; rules may not branch on values")


class Graph:
    """Owns the nodes of one program: interns them and infers their shapes."""

    __slots__ = ("_interned", "_last", "_most", "addressing", "is_heavy", "limits")

    def __init__(self, limits: Limits = DEFAULT) -> None:
        self.limits = limits
        self._interned: dict[Any, Expr] = {}
        self._last = 0
        self._most = limits.nodes  # last index that is allowed
        self.addressing = False  # whether a value was ever used as an index
        self.is_heavy = False  # whether any node takes much memory or time

    def mark(self) -> tuple[int, int]:
        """Return a mark in the graph's growth, to which `forget_since` goes back."""
        return len(self._interned), self.limits.nodes - (self._most - self._last)

    def forget_since(self, mark: tuple[int, int]) -> None:
        """Forget the nodes made since a mark.

        They live as long as somebody else has them, and are not found again.
        """
        interned, count = mark
        while len(self._interned) > interned:
            self._interned.popitem()  # the newest node
        self._most = self._last + self.limits.nodes - count

    @property
    def room(self) -> int:
        """Return how many more nodes it may have."""
        return self._most - self._last

    @contextmanager
    def held_to(self, nodes: int, error: LimitError) -> Iterator[None]:
        """Raise an error where more than some nodes are made."""
        most = self._most
        self._most = min(most, self._last + nodes)
        try:
            yield
        except LimitError:
            if self._most < min(self._last, most):
                raise error from None
            raise
        finally:
            self._most = most

    def next_index(self) -> int:
        self._last += 1
        if self._last > self._most:
            raise LimitError(
                f"the program has more than {self.limits.nodes:,} operations",
                help=f"raise it with --limit nodes={2 * self.limits.nodes}",
            )
        return self._last

    def leaf(self, name: str, shape: Shape, kind: str = FLOAT) -> Expr:
        """Make a new leaf, which is never interned."""
        if shape and math.prod(shape) > LIGHT:
            self.is_heavy = True
        return Expr(self, None, (), NO_STATIC, shape, kind, Leaf(name))

    def constant(self, value: Any) -> Expr:
        """Return a constant node.

        Its value is a Python number, a boolean or a `Constant`, which are interned, or an array.
        """
        if type(value) is int and (node := self._interned.get((int, value))) is not None:
            return node
        if isinstance(value, np.ndarray) and value.ndim:
            key: Any = (
                (value.dtype.str, value.shape, value.tobytes()) if value.size <= 64 else id(value)
            )
        else:
            if isinstance(value, (np.generic, np.ndarray)):
                value = value.item()
            # 1, 1.0 and True are equal, and so are 0.0 and -0.0, but they are different constants
            key = (int, value) if type(value) is int else (type(value), repr(value))
        node = self._interned.get(key)
        if node is None:
            shape = value.shape if isinstance(value, np.ndarray) else ()
            if shape and value.size > LIGHT:
                self.is_heavy = True
            is_bool = (
                value.dtype == np.bool_
                if isinstance(value, np.ndarray)
                else isinstance(value, bool)
            )
            node = Expr(self, None, (), NO_STATIC, shape, BOOL if is_bool else FLOAT, value)
            self._interned[key] = node
        return node

    def apply(self, op: Op, operands: Iterable[Any], static: Mapping[str, Any] = NO_STATIC) -> Expr:
        """Return the node of an operation on nodes (or numbers), which is made once."""
        nodes: tuple[Any, ...] = tuple(operands)
        for operand in nodes:
            if type(operand) is not Expr:
                nodes = tuple(
                    [o if isinstance(o, Expr) or o is None else self.constant(o) for o in nodes]
                )
                break
        if op.broadcasts and not static:
            for operand in nodes:
                if operand is None or operand.shape or operand.kind != FLOAT:
                    break
            else:  # numbers alone, by far the most common case: this takes a third of the time
                node = self._interned.get((op, nodes))
                if node is None:
                    node = self._interned[op, nodes] = Expr(self, op, nodes, NO_STATIC, (), FLOAT)
                return node
        if op.indices:
            nodes = tuple(
                [self.whole(n) if i in op.index_places else n for i, n in enumerate(nodes)]
            )
        if op.result == FLOAT and op is not to_float:
            for node in nodes:
                if node is not None and node.kind != FLOAT:
                    places = op.index_places
                    nodes = tuple(
                        [
                            n if n is None or n.kind == FLOAT or i in places else self._as_float(n)
                            for i, n in enumerate(nodes)
                        ]
                    )
                    break
        key = (op, nodes, tuple(static.items())) if static else (op, nodes)
        node = self._interned.get(key)
        if node is None:
            node = Expr(
                self, op, nodes, static, self._shape(op, nodes, static), self._kind(op, nodes)
            )
            self._interned[key] = node
        return node

    def whole(self, node: Any) -> Any:
        """Return a node as whole numbers that address entries."""
        if node is None or node.kind == INT:
            return node
        if (
            node.is_constant
            and isinstance(node.payload, np.ndarray)
            and node.payload.dtype.kind in "iu"
        ):
            key = ("int", node)
            if key not in self._interned:
                self._interned[key] = Expr(self, None, (), NO_STATIC, node.shape, INT, node.payload)
            return self._interned[key]
        self.addressing = True
        return self.apply(to_int, (node,))

    def _as_float(self, node: Expr) -> Expr:
        if isinstance(node.payload, bool):
            return self.constant(int(node.payload))
        return self.apply(to_float, (node,))

    def _shape(self, op: Op, nodes: tuple[Expr | None, ...], static: Mapping[str, Any]) -> Any:
        shapes_ = [None if n is None else n.shape for n in nodes]
        if op.shape is not None:
            try:
                shape = op.shape(*shapes_, **static)
            except ZeroDivisionError:
                raise ShapeError(f"{op.name}: a size or a step is 0") from None
            except (ValueError, TypeError, IndexError) as error:
                raise ShapeError(f"{op.name}: {error}") from None
            self._hold(op, shape, shapes_)
            return shape
        present = [s for s in shapes_ if s is not None]
        first = present[0]
        for shape in present[1:]:
            if shape != first:
                break
        else:
            return first
        try:
            shape = np.broadcast_shapes(*present)
        except ValueError:
            listed = " and ".join(str(s) for s in dict.fromkeys(present))
            raise ShapeError(f"shapes {listed} do not broadcast together") from None
        self._hold(op, shape, shapes_)
        return shape

    def _hold(self, op: Op, shape: Any, operands: list[Any]) -> None:
        """Hold a node that is about to be made to the limits."""
        made = (shape,) if op.outputs == 1 else shape
        is_heavy = (
            not all(map(self._is_light, made)) and max(map(self.limits.check_shape, made)) > LIGHT
        )
        # May take more memory or time than the sizes of its arrays suggest.
        if op.core_dims is not None:
            is_heavy = hold(self.limits, op, shape, operands)
        self.is_heavy |= is_heavy

    def _is_light(self, shape: Shape) -> bool:
        """Return whether an array is too small for any limit."""
        entries, limits = math.prod(filter(None, shape)), self.limits
        return entries <= LIGHT and entries <= limits.entries and len(shape) <= limits.dimensions

    @staticmethod
    def _kind(op: Op, nodes: tuple[Expr | None, ...]) -> str:
        if op.result != "same":
            return op.result
        named = (
            zip(nodes, op.operands, strict=True) if not op.variadic else ((n, "") for n in nodes)
        )
        kinds = {
            n.kind
            for n, name in named
            if n is not None and name not in op.indices and name != "condition"
        }
        return kinds.pop() if len(kinds) == 1 else FLOAT


N = TypeVar("N", bound=Any)  # a node with operands, and an index above theirs

_index = attrgetter("index")


def reachable(roots: Iterable[N], operands: Any = attrgetter("operands")) -> list[N]:
    """All nodes that the roots depend on, each after its operands; also of nodes behind tensors."""
    seen = set(roots)
    nodes = list(seen)
    for node in nodes:  # grows during the loop
        for operand in operands(node):
            if operand is not None and operand not in seen:
                seen.add(operand)
                nodes.append(operand)
    nodes.sort(key=_index)
    return nodes


def definition_order(root: Expr, also: Sequence[Expr] = ()) -> list[Expr]:
    """Return the nodes that the function depends on.

    A derivative depends on its definition instead of its expansion.
    """

    def operands(node: Expr) -> Any:
        of = node.static["of"] if node.op is derivative else None
        return node.operands if of is None else (of.y, of.x, of.vector)

    return reachable((root, *also), operands)


def dependents(order: Iterable[N], nodes: Iterable[N]) -> set[N]:
    """Return the given nodes and those that depend on them, from an order with operands first."""
    found = set(nodes)
    for node in order:
        if not found.isdisjoint(node.operands):
            found.add(node)
    return found


def constant_value(node: Expr, dtype: np.dtype[Any]) -> Any:
    """Return a constant in NumPy; the dtype is that of floats."""
    value = node.payload
    if node.kind != FLOAT:
        return np.asarray(value, np.bool_ if node.kind == BOOL else np.int64)[()]
    return np.asarray(float(value) if isinstance(value, (Constant, int)) else value, dtype)[()]
