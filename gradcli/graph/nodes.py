"""The graph: immutable nodes, interned within a program, and the one walk over them.

A node has no value. It has an operation, operands, static parameters, a shape and a kind ("float",
"bool" or "int"); values live in tables beside the graph, and so do source spans, many to one node.
Leaves, random draws and named intermediates keep an identity of their own. Operators on nodes build
nodes, which is how derivative rules build graphs.

The walk finds what nodes are in a domain, each after its operands. A transform is another
interpretation of the same graph (M. Johnson and others, Autodidax).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from operator import attrgetter
from typing import Any, Generic, TypeVar

import numpy as np

from gradcli.errors import EvaluationError, ExhaustedError, GradcliError, LimitError, ShapeError
from gradcli.limits import DEFAULT, ITEM, Limits
from gradcli.ops.arrays.shapes import StaticArray
from gradcli.ops.calling.inputs import BOOL, FLOAT, INT, numpy_dtype
from gradcli.ops.constants import Constant
from gradcli.ops.counting import LIGHT, entries_of, hold, operations_of, workspace_of
from gradcli.ops.operands import Operand
from gradcli.ops.spec import Op
from gradcli.ops.structure import alias, derivative, detach, output, to_float, to_int
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
    def size(self) -> int:
        """The number of entries."""
        return math.prod(self.shape)

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
    def name(self) -> str:
        """The name of a leaf."""
        return str(self.payload.name)

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
            else self.name
            if isinstance(self.payload, Leaf)
            else repr(self.payload)
        )
        return f"<{what} {self.shape}>"

    def __bool__(self) -> bool:
        raise TypeError("a graph node has no value; rules may not branch on values")


class Graph:
    """Owns the nodes of one program: interns them and infers their shapes."""

    __slots__ = (
        "_interned", "_known", "_last", "_most", "addressing", "held", "is_heavy", "limits",
    )  # fmt: skip

    def __init__(self, limits: Limits = DEFAULT) -> None:
        self.limits = limits
        self._interned: dict[Any, Expr] = {}
        self._known: dict[Any, Any] = {}
        self._last = 0
        self._most = limits.nodes  # last index that is allowed
        self.addressing = False  # whether a value was ever used as an index
        self.is_heavy = False  # whether any node takes much memory or time
        # Results made with numbers that were taken beforehand, though one could differentiate by
        # them: the nodes of these numbers, with their places in words.
        self.held: dict[Expr, dict[Expr, str]] = {}

    def mark(self) -> tuple[int, int]:
        """Return a mark in the graph's growth, to which `forget_since` goes back."""
        return len(self._interned), self.limits.nodes - (self._most - self._last)

    def forget_since(self, mark: tuple[int, int]) -> None:
        """Forget the nodes made since a mark.

        They live as long as somebody else has them, and are not found again.
        """
        interned, count = mark
        if len(self._interned) > interned:
            self._known = {}
        while len(self._interned) > interned:
            _, newest = self._interned.popitem()
            self.held.pop(newest, None)
        self._most = self._last + self.limits.nodes - count

    def known(self, find: Callable[..., Any], *of: Any) -> Any:
        """Return what a function finds about nodes, which is kept until nodes are forgotten."""
        key = find, of
        if key not in self._known:
            self._known[key] = find(*of)
        return self._known[key]

    @property
    def nodes(self) -> Collection[Expr]:
        """The nodes that are found again: all but leaves."""
        return self._interned.values()

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
        entries = math.prod(filter(None, shape))
        limits = self.limits
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


def reachable(
    roots: Iterable[N], operands: Callable[[N], Sequence[Any]] = attrgetter("operands")
) -> list[N]:
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

    def defining(node: Expr) -> Sequence[Any]:
        of = node.static["of"] if node.op is derivative else None
        return node.operands if of is None else (of.y, of.x, of.vector)

    return reachable((root, *also), defining)


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


# -- The walk: a `Domain` says what a leaf, a constant and an operation are, and, where that is not
# what most domains take it for, what a part of several results, a detached value, a named
# intermediate and a derivative inside of an expression are: floats (`forward`), nodes of another
# graph (`Rebuilding`), tangents, errors' bounds, multi-precision numbers, sympy's expressions, text.


Values = dict[Expr, Any]
V = TypeVar("V")


class Domain(Generic[V]):
    """One reading of graphs.

    An operation of several results is, in any domain, something that `part` takes apart.

    constant   gives a number or an array that stands in the text
    operation  gives an operation on operands that are known; None stands for one that was left out
    """

    constant: Callable[[Expr], V]
    operation: Callable[[Expr, Op, list[Any]], V]

    def leaf(self, node: Expr) -> V:
        """Return what takes its value from outside.

        Not asked for leaves that the table has from the start, which may be all.
        """
        raise LookupError(f"no value for {node.payload}")

    def part(self, node: Expr, whole: Sequence[V], place: int) -> V:
        """One result of an operation that has several."""
        return whole[place]

    def alias(self, node: Expr, x: V) -> V:
        """Return a value under a name and an identity of its own."""
        return x

    def detach(self, node: Expr, x: V) -> V:
        """Return a value through which no derivative flows."""
        return x

    def derivative(self, node: Expr, table: Mapping[Expr, V]) -> V:
        """Return a derivative inside of an expression.

        It is the expansion by the engine's rules, or what a domain makes of the derivative's
        definition.
        """
        return table[node.operand]


class Reached(Domain[Any]):
    """Values of the nodes that change with given nodes.

    The value is None for other nodes, such as constants, and behind `detach`.
    """

    def leaf(self, node: Expr) -> None:
        return None

    constant = leaf

    def part(self, node: Expr, whole: Any, place: int) -> Any:
        return None if whole is None else whole[place]

    def detach(self, node: Expr, x: Any) -> None:
        return None


def interpret(
    order: Iterable[Expr], domain: Domain[V], table: dict[Expr, Any] | None = None
) -> dict[Expr, Any]:
    """Return what each node is in a domain.

    The order has every node after what the domain makes it of.

    table  what is known already; the nodes are added to it, and it is the result
    """
    found: dict[Expr, Any] = {} if table is None else table
    for node in order:
        if node in found:
            continue
        op = node.op
        if op is None:
            found[node] = domain.leaf(node) if node.is_leaf else domain.constant(node)
        elif op is derivative:
            found[node] = domain.derivative(node, found)
        elif op is alias:
            found[node] = domain.alias(node, found[node.operand])
        elif op is detach:
            found[node] = domain.detach(node, found[node.operand])
        elif op is output:
            found[node] = domain.part(node, found[node.operand], node.static["place"])
        else:
            found[node] = domain.operation(
                node, op, [None if o is None else found[o] for o in node.operands]
            )
    return found


class Transcription(Domain[V]):
    """Domain in which operations about the program are operations like any other.

    Such domains write these operations, or take them over.
    """

    def part(self, node: Expr, whole: Any, place: int) -> V:
        return self.operation(node, output, [whole])

    def alias(self, node: Expr, x: V) -> V:
        return self.operation(node, alias, [x])

    def detach(self, node: Expr, x: V) -> V:
        return self.operation(node, detach, [x])

    def derivative(self, node: Expr, table: Mapping[Expr, Any]) -> V:
        return self.operation(node, derivative, [table[node.operand]])


class Rebuilding(Transcription[Expr]):
    """The same expressions in a graph, with some operations replaced.

    Shapes are inferred anew.
    """

    def __init__(self, graph: Graph, operations: Mapping[Op, Op] = NO_OPERATIONS) -> None:
        self.graph = graph
        self.operations = operations

    def leaf(self, node: Expr) -> Expr:
        return node

    def constant(self, node: Expr) -> Expr:
        return self.graph.constant(node.payload)

    def operation(self, node: Expr, op: Op, operands: list[Any]) -> Expr:
        return self.graph.apply(self.operations.get(op, op), operands, node.static)


def rebuild(
    roots: Sequence[Expr],
    replace: Mapping[Expr, Expr],
    operations: Mapping[Op, Op] = NO_OPERATIONS,
    graph: Graph | None = None,
) -> list[Expr]:
    """Rebuild the same expressions over other leaves or of other operations.

    They are put into another graph, if one is given.
    """
    graph = roots[0].graph if graph is None else graph
    done = interpret(reachable(roots), Rebuilding(graph, operations), dict(replace))
    return [done[root] for root in roots]


class Unnamed(Rebuilding):
    """The same expressions without the names that the program gave to parts of them.

    A formula has no such names.
    """

    def operation(self, node: Expr, op: Op, operands: list[Any]) -> Expr:
        return operands[0] if op is alias else super().operation(node, op, operands)


def forward(
    roots: Iterable[Expr],
    values: Mapping[Expr, Any],
    precision: str = "float64",
    order: Sequence[Expr] | None = None,
) -> Values:
    """Return the value of every node that the roots depend on, given those of the leaves.

    ``order`` is `reachable` of the roots, where the caller has it. The result includes the given
    values of its nodes. Floating-point errors give infinities and NaNs, as in NumPy, without
    warnings. Raises EvaluationError, with the failing node as ``error.node``, where an operation
    has no value at all.
    """
    table: Values = {}
    given = values.get
    value_of: Callable[[Any], Any] = table.get  # gives None for an operand that was left out
    dtype = numpy_dtype("float", precision)
    nodes = reachable(roots) if order is None else order
    if nodes and nodes[-1].graph.is_heavy:
        hold_program(nodes[-1].graph.limits, nodes, values)
    with np.errstate(all="ignore"):
        for node in nodes:
            known = given(node)
            if known is not None:
                table[node] = known
                continue
            op = node.op
            if op is None:
                table[node] = constant_value(node, dtype)
                continue
            function = op.forward if node.shape or op.operator is None else op.operator
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
                failure = ExhaustedError(
                    f"not enough memory for the result of {op.name}, of shape {node.shape}"
                )
                failure.node = node
                raise failure from None
            if (
                node.kind == "float"
                and op.outputs == 1
                and value.dtype is not dtype
                and value.dtype != dtype
            ):
                value = value.astype(dtype)
            table[node] = value
    return table


# -- What computing a program takes, counted from its graph before anything is computed: bytes that
# are held at once, scalar operations. A node is held to the limits when it is made
# (`ops.counting.hold`), a program when it is about to be evaluated; only what has large arrays or
# costly operations in it is looked at again (`Graph.is_heavy`).


WITH_GRADIENT = "the statement with its gradient"
_BACKWARDS = 2  # cost of a sweep, in forward passes


def hold_program(
    limits: Limits,
    order: Sequence[Expr],
    values: Mapping[Expr, Any],
    wrt: Iterable[Expr] | None = None,
) -> None:
    """Raise LimitError where evaluating nodes takes more than the limits allow.

    Each node comes after its operands.

    values  those of the leaves: what the program holds already
    wrt     what the last node is differentiated with respect to, in a sweep that follows; None for
            none
    """
    hold_work(limits, order, wrt)
    what = "the statement" if wrt is None else WITH_GRADIENT
    held = held_by(values.values()) + sum(bytes_of(node) for node in order if not node.is_leaf)
    scratch = max((scratch_of(node) for node in order), default=0)
    limits.check_memory(held + max(scratch, 0 if wrt is None else bytes_of_sweep(order, wrt)), what)


def hold_work(
    limits: Limits, order: Sequence[Expr], wrt: Iterable[Expr] | None, sweeps: int = 1
) -> None:
    """Raise LimitError where evaluating nodes takes more scalar operations than allowed.

    With ``wrt``, those of ``sweeps`` backward sweeps are counted, too.
    """
    times, what = (1, "the statement") if wrt is None else (1 + _BACKWARDS * sweeps, WITH_GRADIENT)
    limits.check_work(times * sum(map(operations, order)), what)


def held_by(values: Iterable[Any]) -> int:
    """Return the bytes of memory that arrays take, without those that lie in files."""
    return sum(
        value.nbytes for value in values if isinstance(value, np.ndarray) and not _in_file(value)
    )


def _in_file(array: Any) -> bool:
    while isinstance(array, np.ndarray):
        if isinstance(array, np.memmap):
            return True
        array = array.base
    return False


def cost_of(node: Expr, of: Callable[[Op, Any, Sequence[Any]], int]) -> int:
    """Return the cost of a node's operation by a function of counting.py.

    Leaves, and parts of results, cost nothing.
    """
    if node.op is None or node.op is output:
        return 0
    return of(node.op, node.shape, shapes_of(node))


def operations(node: Expr) -> int:
    """Count the scalar operations that it takes to compute a node of its operands."""
    return cost_of(node, operations_of)


def scratch_of(node: Expr) -> int:
    """Return the bytes of scratch memory for computing a node, or carrying its adjoint back.

    Operands and result are not counted.
    """
    return ITEM * cost_of(node, workspace_of)


def shapes_of(node: Expr) -> list[Any]:
    return [None if operand is None else operand.shape for operand in node.operands]


def bytes_of(node: Expr) -> int:
    """Return the bytes that NumPy's value of a node takes.

    A view of another node's entries takes none.
    """
    return 0 if _is_view(node) else size_of(node)


def size_of(node: Expr) -> int:
    """Return the bytes of a node's entries."""
    return ITEM * (node.size if node.op is None else entries_of(node.op, node.shape))


def _is_view(node: Expr) -> bool:
    op = node.op
    if op is output:
        return True
    if op is None or not (op.shares or (op.linear and op.leaves_unchanged)):
        return False
    if any(isinstance(part, StaticArray) for part in node.static.get("index", ())):
        return False  # an index array copies its entries one by one
    return op.algebra != "reshaping" or not _is_view(node.operand)


def bytes_of_sweep(order: Sequence[Expr], wrt: Iterable[Expr]) -> int:
    """Return the bytes that a sweep over nodes holds at once.

    They are those of incomplete adjoints, and those that one rule makes.
    """
    needed = dependents(order, wrt)
    live = most = size_of(order[-1])
    begun = {order[-1]}
    for node in reversed(order):
        if node not in needed:
            continue
        own = size_of(node)
        passed = [operand for operand in dict.fromkeys(node.operands) if operand in needed]
        if passed:
            # A rule has so many arrays at once beside what it gives.
            made = 4 if node.op and node.op.kind == "smooth" else 1
            most = max(most, live + made * own + scratch_of(node))
        new = [operand for operand in passed if operand not in begun]
        begun.update(new)
        live += sum(map(size_of, new)) - (own if passed else 0)
        most = max(most, live)
    return most
