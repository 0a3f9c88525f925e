"""Scope of a running program, and what makes nodes of its graph.

A scope has the names bound so far, and the values of leaves.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from functools import cached_property
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from gradcli.errors import ArgumentError, GradcliError, LimitError, ShapeError, TypeMismatchError
from gradcli.graph.nodes import Expr, Graph, forward, reachable
from gradcli.language.dialect import Dialect
from gradcli.language.names import FreeVariable, dtype_of, kind_in_words, nodes_in
from gradcli.language.syntax import Binding, DataBinding, Definition, Frame
from gradcli.limits import DEFAULT, Limits
from gradcli.namespace.generator import Generator
from gradcli.ops import structure
from gradcli.ops.arrays import shapes
from gradcli.ops.calling.binding import Host, Use, has_no_derivative, is_quantity
from gradcli.ops.calling.inputs import FLOAT, kind_of, numpy_dtype
from gradcli.ops.calling.prefixes import PRECISIONS, TORCH, DType
from gradcli.ops.facts import Fixed
from gradcli.ops.spec import Op
from gradcli.texts import Source, Span

if TYPE_CHECKING:
    from gradcli.language.origins import Origins


# -- Values that a program takes beforehand: the uses of names that no derivative flows through --


QUANTITY, ORDER, WHOLE, MASK = "quantity", "order", "whole", "mask"
_TOO_LARGE = "a whole number beyond 2**53 cannot be an index, a shape, an axis or an order"


class StaticUse(NamedTuple):
    """Leaf whose value a program takes beforehand, so no derivative flows through that place."""

    leaf: Expr
    # QUANTITY: a number like any other; ORDER: one by which no derivative is known; WHOLE: an
    # index, a shape or an axis; MASK: a choice of entries.
    kind: str
    place: str


class Bound(Fixed):
    """Meaning of a name that is no value: an object, a library, or a function of one.

    ``mentions`` tells whether it depends on names with values.
    """

    object: Any
    mentions: bool


class Scope:
    """Names, functions and leaf values of one program."""

    def __init__(
        self, limits: Limits = DEFAULT, precision: str = "float64", random_state: int = 0
    ) -> None:
        self.limits, self.precision, self.random_state = limits, precision, random_state
        self.graph = Graph(limits)
        self.names: dict[str, Expr] = {}  # what names mean in the text that follows
        self.leaves: dict[str, Expr] = {}  # what names mean in results: a leaf, even after x = x/2
        self.functions: dict[str, Definition] = {}
        # Names of things that are not values: nn.MSELoss(), F.relu.
        self.objects: dict[str, Any] = {}
        self.values: dict[Expr, Any] = {}  # of leaves, in the program's precision
        self.whole: set[Expr] = set()  # leaves bound to whole numbers
        self.deviations: dict[Expr, Any] = {}  # standard deviations of inexact leaves
        # Inexact results, each with its slopes by name.
        self.uncertain: list[tuple[str, dict[str, np.ndarray]]] = []
        self.masks: list[Expr] = []  # of which the values were taken beforehand
        self.frozen: set[Expr] = set()  # leaves bound with const
        self.replaced: set[str] = set()  # names that were bound to something else before
        # Statements that made leaves and named nodes of the program.
        self.bindings: dict[Expr, Binding | DataBinding] = {}
        self.mentioned: set[str] = set()  # names that occur in the text so far
        # Leaves whose values were taken while lowering a name's binding.
        self.static_uses: dict[str, dict[StaticUse, None]] = {}
        self.outside: dict[str, Any] = {}  # values that replace the program's own bindings
        # Leaves for names without values, where those are allowed to vary.
        self.free: dict[str, Expr] = {}
        self.decisive: set[str] = set()  # free names whose value was needed while lowering
        self.lost: dict[str, Expr] = {}  # what names meant before a binding of theirs failed
        # What import lines bind: modules, functions, constants.
        self.imported: dict[str, Any] = {}
        self.dialect = Dialect()
        # Nodes that a conversion detached, with the conversion's text.
        self.detached: dict[Expr, str] = {}
        self.failed: dict[str, int] = {}  # names whose binding failed, with its line
        # Line of a failed binding -> line of the earlier one that made it fail.
        self.causes: dict[int, int] = {}
        self.lowered: list[Frame] = []  # expressions, with what each node of their trees became
        self.load: Callable[[str], Any] | None = None  # reads the data file that a program names
        # Whether a name in wrt without a value is an error; if not, it may belong to another query.
        self.needed = False
        # Names whose gradients a script asks for; an empty one stands for values without a name.
        self.requiring: set[str] = set()
        self.hooked = False  # whether gradients go through a hook that was refused
        # what backward() was called on; None where that was refused
        self.passed_back: list[Expr | None] = []
        self.freed: set[Expr] = set()  # named values whose graph a backward() has freed
        self.cleared: dict[str, int] = {}  # how many of passed_back a name's gradient leaves out
        self.seeded: dict[str, Any] = {}  # random generators of libraries that a script has seeded
        self.serial = 0
        # Whether names hold one of many trial points, or columns of them, whose verdicts do without
        # sympy and without repairs.
        self.in_passing = False
        self._integral: dict[Expr, bool] = {}
        # Whether what is computed may depend on more than shapes: on values of leaves, on random
        # numbers, or on what statements did to gradients.
        self.is_decided = False

    def take_effect(self, kind: str, of: str) -> None:
        """Apply an effect of a script on gradients or random numbers.

        Clearing without a name in the program clears all names.
        """
        self.is_decided = True
        if kind == "requires":
            node = self.names.get(of)
            if (
                node is not None
                and not node.is_leaf
                and node not in self.differentiable_nodes(node)
            ):
                self.bind_value(of, self.evaluate(node))
            self.requiring.add(of)
        elif kind == "freezes":
            self.requiring.discard(of)
            if of in self.names:
                self.names[of] = structure.detach(self.names[of])
        elif kind == "clears":
            for name in [of] if of in self.names else self.names:
                self.cleared[name] = len(self.passed_back)
        elif kind == TORCH:
            self.seeded[kind] = Generator().manual_seed(int(of))
        else:
            self.seeded[kind] = np.random.RandomState(int(of))

    def pass_back(self, y: Expr, retained: bool) -> Expr:
        """Let names have gradients of a number.

        As in PyTorch, that frees what the operations after names that require a gradient have
        saved, unless it is retained. Raises ArgumentError where that is freed already.
        """
        if self.hooked:
            raise ArgumentError("gradients go through a hook that was refused")
        saved = self.differentiable_nodes(y)
        if y not in saved and self.requiring & self.leaves.keys():
            raise ArgumentError(
                "it depends on nothing that requires a gradient", help="write x.requires_grad_()"
            )
        named = {node for node in saved if saved[node] and node.op is structure.alias}
        if named & self.freed:
            raise ArgumentError(
                "trying to backward through the graph a second time: the first backward() freed it",
                help="write y.backward(retain_graph=True) the first time",
            )
        self.freed |= set() if retained else named
        self.passed_back.append(y)
        return y

    def differentiable_nodes(self, y: Expr) -> dict[Expr, bool]:
        """Return the nodes of a value that require a gradient.

        Each comes with whether an operation on the way to it has saved something.
        """
        saved: dict[Expr, bool] = {}
        for node in reachable([y]):
            inner = [saved[part] for part in node.given_operands if part in saved]
            if node.is_leaf and node.name in self.requiring:
                saved[node] = False
            elif inner and node.op and node.op is not structure.detach:
                saved[node] = any(inner) or bool(node.op.saves)
        return saved

    @cached_property
    def random(self) -> np.random.Generator:
        """The program's one random generator."""
        self.is_decided = True
        return np.random.default_rng(self.random_state)

    def draw(self, numbers: np.ndarray) -> Expr:
        """Make a node of random numbers."""
        return self.graph.constant(numbers)

    def bind_value(self, name: str, value: Any, *, const: bool = False) -> Expr:
        """Make a name a leaf with a value: a number, a boolean, or an array of these, of any shape.

        Numbers are kept in the program's precision; whole ones (of an integer dtype) count as whole
        by construction.
        """
        raw = np.asarray(value)
        kind = kind_of(raw)
        # What was made from the free name gets the value, too.
        free = self.free.pop(name, None) if not raw.shape and kind == FLOAT else None
        leaf = self.graph.leaf(name, raw.shape, kind) if free is None else free
        self.set_value(leaf, raw)
        if raw.dtype.kind in "iu":
            self.whole.add(leaf)
        if const:
            self.frozen.add(leaf)
        if free is None and (name in self.names or name in self.leaves):
            self.replaced.add(name)
        self.names[name] = self.leaves[name] = leaf
        self.objects.pop(name, None)
        self.static_uses.pop(name, None)
        self.failed.pop(name, None)
        return leaf

    def set_value(self, leaf: Expr, value: np.ndarray) -> None:
        """Give a leaf a value of its shape and kind, in the program's precision.

        What is too large for float32 becomes infinite, and is reported where it is used.
        """
        dtype = numpy_dtype(leaf.kind, self.precision)
        if value.dtype != dtype:
            with np.errstate(all="ignore"):
                value = value.astype(dtype)
        self.values[leaf] = value[()]

    def knows(self, name: str) -> bool:
        """Return whether a name stands, or stood, for something that is not the catalogue's."""
        tables = (
            self.names, self.outside, self.functions, self.dialect.evidence_read.roots, self.leaves,
            self.objects, self.imported, self.failed, self.lost,
        )  # fmt: skip
        return any(name in table for table in tables)

    def subject(self, name: str) -> Expr | None:
        """Return the meaning of a name in results and in claims about them.

        It is the value bound to the name, or else the node.
        """
        return self.leaves.get(name, self.names.get(name))

    def unbind(self, name: str) -> None:
        """Leave a name without a value."""
        for table in (self.names, self.leaves, self.objects, self.failed):
            table.pop(name, None)

    @contextmanager
    def temporary_names(self) -> Iterator[None]:
        """Let names mean at the end of the context what they mean now."""
        tables = self.names, self.leaves, self.objects
        before, replaced = [dict(table) for table in tables], set(self.replaced)
        try:
            yield
        finally:
            for table, meanings in zip(tables, before, strict=True):
                table.clear()
                table.update(meanings)
            self.replaced = replaced

    def mark(self) -> tuple[tuple[int, int], int, int]:
        """Return a mark of the present moment in a program, to which `forget_since` goes back."""
        return self.graph.mark(), len(self.lowered), len(self._integral)

    def forget_since(self, mark: tuple[tuple[int, int], int, int]) -> None:
        """Let go of the nodes made since then, and of what is known about them."""
        nodes, lowered, integral = mark
        self.graph.forget_since(nodes)
        del self.lowered[lowered:]
        while len(self._integral) > integral:
            self._integral.popitem()

    def spans(self, node: Expr) -> list[tuple[Source, Span]]:
        """Every place in the text that made this node.

        Rarely asked for, so it is searched and not kept.
        """
        if node.op is None:
            return []
        # There are fewer results where lowering failed.
        return [
            (frame.source, tree.span)
            for frame in self.lowered
            for tree, result in frame.pairs
            if result is node
        ]

    def text(self, node: Expr) -> str:
        """Return what the user wrote for a node; nothing where that is long or nowhere."""
        for source, span in self.spans(node)[:1]:
            text = " ".join(source.text[span.start : span.end].split())
            if len(text) <= 60:
                return text
        return ""

    def origins(self) -> Origins:
        """Return the origins of the nodes that the text made.

        They are searched on request, as in `spans`.
        """
        from gradcli.language.origins import origins

        return origins(self.lowered, self.bindings)

    def name_node(self, node: Expr, name: str) -> Expr:
        """Make a node with an identity of its own, to differentiate with respect to it."""
        self.serial += 1
        renamed: Expr = structure.alias(node, name=name, serial=self.serial)
        return renamed

    def evaluate(self, node: Expr) -> Any:
        """Compute the value of a node under the bindings so far.

        Raises EvaluationError, with the node, if it cannot be computed.
        """
        if self.free:
            self.decisive |= {leaf.name for leaf in self.free.values() if leaf in reachable([node])}
        order = reachable([node])
        self.is_decided |= any(part.is_leaf for part in order)
        return forward([node], self.values, self.precision, order)[node]

    def is_integral(self, node: Expr) -> bool:
        """Return whether a node is a whole number (or an array of them) by construction."""
        known = self._integral
        if node not in known:
            for part in reachable([node]):
                if part not in known:
                    known[part] = self._stays_whole(part)
        return known[node]

    def _stays_whole(self, node: Expr) -> bool:
        if node.kind == "int":
            return True
        if node.op is None:
            return node in self.whole if node.is_leaf else _is_whole(node.payload)
        operands = node.given_operands
        if not (node.op.integral or node.op.result == "same") or not all(
            self._integral[operand] for operand in operands
        ):
            return False
        exponents = operands[1:] if node.op.algebra == "power" else []
        return all(
            exponent.op is None and bool(np.all(self.evaluate(exponent) >= 0))
            for exponent in exponents
        )


def _is_whole(payload: Any) -> bool:
    return type(payload) is int or (isinstance(payload, np.ndarray) and payload.dtype.kind in "iu")


def deviations(given: Any, value: Any, name: str, *, percent: bool = False) -> np.ndarray:
    """Return standard deviations in the shape of a value.

    They may be given in percent of the value. Raises ArgumentError for anything that is not a
    standard deviation, ShapeError for another shape.
    """
    found, shape = np.asarray(np.abs(value) * given / 100 if percent else given), np.shape(value)
    if found.dtype.kind not in "fiu" or not np.all(np.isfinite(found)) or np.any(found < 0):
        raise ArgumentError(f"a standard deviation of '{name}' is no finite number of at least 0")
    if np.asarray(value).dtype.kind == "b":
        raise ArgumentError(f"'{name}' is boolean; only numbers have a standard deviation")
    if found.shape not in ((), shape):
        raise ShapeError(
            f"the standard deviation of '{name}' has the shape {found.shape}, its value {shape}",
            help="write one number for all entries, or one for each",
        )
    return np.broadcast_to(found.astype(np.float64), shape)


# -- Names that stand for every number of a range, as leaves of the graph ------------------------


class Quantity(NamedTuple):
    """A name that stands for every number of a range, as a leaf of the graph."""

    leaf: Expr
    low: float
    high: float


NO_RANGES: Mapping[str, Quantity] = MappingProxyType({})


@contextmanager
def quantify(
    scope: Scope, ends: Mapping[str, tuple[float, float]]
) -> Iterator[Mapping[str, Quantity]]:
    """Make names variables over their ranges while the context lasts.

    A name that is bound to a number stands for this number's leaf, so that anything that depends on
    it varies with it.
    """
    found = {}
    with scope.temporary_names() if ends else nullcontext():
        for name, (low, high) in ends.items():
            leaf = scope.names.get(name)
            if leaf is None or not leaf.is_leaf or leaf.shape or leaf.kind != FLOAT:
                leaf = scope.bind_value(name, np.float64(low + (high - low) / 2))
            found[name] = Quantity(leaf, low, high)
        yield found


# -- What makes nodes of results, or parameters of the program, which are numbers, flags and indices


class Range(Fixed):
    """Range ``start:stop:step`` between brackets, or ``slice(start, stop, step)``.

    Parts that are left out are None.
    """

    start: Any
    stop: Any
    step: Any
    span: Span | None = None  # where it stands between brackets
    words = "a slice"


class Builder(Host):
    """Takes results of lowering for what a call, an index or an operator wants of them.

    A result is a node or, where the language has them, a tuple, a list (an array not made yet), a
    string, None, a `Module`, a `Function` or a `FreeVariable`. `Reading` and `Lowering` are made of
    it.
    """

    def __init__(self, scope: Scope) -> None:
        self.scope = scope
        self.graph = scope.graph
        self.constant = scope.graph.constant
        self.check_array = scope.limits.check_array
        # Those of the last expression and of the names that it mentions.
        self.static_uses: dict[StaticUse, None] = {}
        # Numbers taken for the node of the tree that is being lowered (`Graph.held`).
        self.held: dict[Expr, str] = {}

    def value(self, result: Any, depth: int = 0) -> Expr:
        """Convert a result to a node.

        Numbers stay as they are, and lists become arrays along a new first axis.

        Raises MissingValueError (or AmbiguousError) for a name without a value, TypeMismatchError
        for anything else, ShapeError where the entries of a list differ in shape, LimitError for
        lists nested too deep.
        """
        if isinstance(result, Expr):
            return result
        if isinstance(result, list):
            return self._array(result, depth)
        if isinstance(result, FreeVariable):
            raise self.missing_value(result)
        if isinstance(result, (bool, int, float)):
            return self.constant(result)
        raise TypeMismatchError(
            f"{kind_in_words(result)} where a number or an array is wanted",
            help=(
                "write [x, y] for an array; a comma is never a decimal point"
                if isinstance(result, tuple) and not isinstance(result, DType)
                else None
            ),
        )

    @abstractmethod
    def missing_value(self, variable: FreeVariable) -> GradcliError:
        """Return the error of a name used where it needs a value."""

    def operand(self, result: Any, of: Use) -> Expr:
        """Return what stands for an operand: any value."""
        return self.value(result)

    def whole(self, result: Any, of: Use | None = None) -> Expr:
        """Convert a result to whole numbers that address entries.

        This is a static use of the names in it. Raises as `value` does.
        """
        node = self.value(result)
        self._note_use(node, WHOLE, _place(of))
        whole: Expr = self.graph.whole(node)
        return whole

    def _note_use(self, node: Expr, kind: str, place: str) -> None:
        """Note that the values of leaves are taken here."""
        if kind in (ORDER, QUANTITY):
            self.held[node] = place
        for part in reachable([node]):
            if part.is_leaf:
                self.static_uses[StaticUse(part, MASK if node.kind == "bool" else kind, place)] = (
                    None
                )

    def _array(self, items: list[Any], depth: int) -> Expr:
        if depth >= self.scope.limits.dimensions:
            raise LimitError(f"an array nested more than {self.scope.limits.dimensions} deep")
        nodes = [self.value(item, depth + 1) for item in items]
        if not nodes:
            return self.constant(np.zeros(0))
        if all(node.is_constant for node in nodes):
            payloads = [node.payload for node in nodes]
            if len({np.shape(p) for p in payloads}) == 1:
                return self.constant(np.array(payloads))
        rows: Expr = self.call_op(shapes.stack, nodes, {"axis": 0})
        return rows

    def static(self, result: Any, of: Use | str | None = None) -> Any:
        """Convert a result to a parameter of the program, which is not differentiated.

        Parameters are integers, tuples, strings and index arrays.

        Entries that are whole by construction become integers. Raises as `value` does,
        EvaluationError where the value cannot be computed, and LimitError for whole numbers beyond
        2**53, which floats do not tell apart.
        """
        kind = WHOLE
        if isinstance(of, tuple):
            if is_quantity(of[0], of[2]):
                kind = QUANTITY
            elif has_no_derivative(of[2]):
                kind = ORDER
        return self._static(result, kind, _place(of))

    def _static(self, result: Any, kind: str, place: str | None, depth: int = 0) -> Any:
        if isinstance(result, (tuple, list)):
            if depth >= self.scope.limits.dimensions:
                raise LimitError(f"nested more than {self.scope.limits.dimensions} deep")
            parts = [self._static(part, kind, place, depth + 1) for part in result]
            return tuple(parts) if isinstance(result, tuple) else parts
        if isinstance(result, FreeVariable):
            raise self.missing_value(result)
        if isinstance(result, Expr):
            return self._static_value(result, kind, place)
        if result is None or isinstance(result, (str, bool, int, float, DType)):
            return result
        raise TypeMismatchError(f"{kind_in_words(result)} cannot be used here")

    def _static_value(self, node: Expr, kind: str, place: str | None) -> Any:
        number = node.payload if node.is_constant else None
        if number is not None and not isinstance(number, np.ndarray):
            if kind != QUANTITY and isinstance(number, int) and abs(number) > 2**53:
                raise LimitError(_TOO_LARGE)
            return number
        if number is None and place is not None:
            self._note_use(node, kind, place)
        if node.kind == "bool":
            self.scope.masks.append(node)
            array = np.asarray(self.scope.evaluate(node))
            return array if array.ndim else bool(array)
        raw = np.asarray(self.scope.evaluate(node))
        if self.scope.is_integral(node):
            if np.all(np.abs(raw) <= 2**53):
                raw = raw.astype(np.int64)
            elif kind != QUANTITY:  # a quantity may be infinite, too
                if not np.all(np.isfinite(raw)):
                    raise ArgumentError("a whole number is wanted here, not one that is not finite")
                raise LimitError(_TOO_LARGE)
        return raw if raw.ndim else raw.item()

    def is_axis(self, result: Any) -> bool:
        """Return whether an argument that may be an axis is one."""
        if isinstance(result, Expr):
            return not result.shape and result.kind != "bool" and self.scope.is_integral(result)
        return result is None or isinstance(result, (tuple, list))

    def is_whole(self, result: Any) -> bool:
        """Return whether an argument is a whole number, or an array of them."""
        return self.scope.is_integral(self.value(result))

    def flag(self, result: Any, place: str) -> bool:
        value = self.static(result, place)
        if value is not None and not isinstance(value, (bool, int, np.bool_)):
            raise ArgumentError(f"{place} must be True or False, not {kind_in_words(value)}")
        return bool(value)

    def integer(self, result: Any, place: str = "an index") -> int:
        value = self.static(result, place)
        if isinstance(value, bool) or not isinstance(value, (int, np.integer)):
            raise ArgumentError(f"a whole number is wanted here, not {value!r}")
        return int(value)

    def number(self, result: Any, place: str | None) -> float:
        """Return a number known beforehand, which decides what entries there are.

        Without a place, it is the number of an operand.
        """
        value = self._static(result, MASK, place)
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            raise ArgumentError(
                f"a number known beforehand is wanted here, not {kind_in_words(value)}"
            )
        return value

    def literal(self, parameter: str, argument: Any) -> Any:
        """Return what was written for a parameter that is not read.

        It is a plain value where possible, and None for the program's own precision.
        """
        if parameter == "dtype":
            kind = dtype_of(argument)
            usual = kind is not None and PRECISIONS.get(kind.name) == self.scope.precision
            return None if usual else kind or argument
        if (
            isinstance(argument, Expr)
            and argument.is_constant
            and not isinstance(argument.payload, np.ndarray)
        ):
            return argument.payload
        return argument

    def varies(self, argument: Any) -> bool:
        """Return whether an argument in the place of a number depends on a name."""
        return any(part.is_leaf for part in reachable([*nodes_in(argument)]))

    def call_op(self, op: Op, operands: list[Any], static: dict[str, Any]) -> Any:
        """Apply an operation to nodes.

        Several results are given as a tuple.
        """
        node = self.graph.apply(op, operands, {**op.static, **static})
        if op.outputs == 1:
            return node
        return tuple(structure.output(node, place=i) for i in range(op.outputs))


def _place(of: Use | str | None) -> str:
    """Return what an argument is, in words."""
    return f"'{of[2]}' of {of[1]}" if isinstance(of, tuple) else of or "an index"
