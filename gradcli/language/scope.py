"""Scope of a running program: its graph, the names bound so far, and its leaves' values."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cached_property
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy as np

from gradcli.errors import ArgumentError, ShapeError, Source, Span
from gradcli.graph.interpret import forward
from gradcli.graph.nodes import Expr, Graph, reachable
from gradcli.language.dialect import Dialect
from gradcli.language.names import Thing
from gradcli.language.tree import Binding, DataBinding, Definition, Frame
from gradcli.limits import DEFAULT, Limits
from gradcli.namespace.generator import Generator
from gradcli.ops import structure
from gradcli.ops.calling import binding
from gradcli.ops.calling.binding import Host, Use
from gradcli.ops.calling.inputs import FLOAT, kind_of, numpy_dtype
from gradcli.ops.calling.prefixes import TORCH
from gradcli.ops.calling.signatures import Signature, signature
from gradcli.ops.facts import Fixed
from gradcli.ops.text import Expansion, expand_call
from gradcli.texts import by_word

if TYPE_CHECKING:
    from gradcli.language.origins import Origins


# -- Values that a program takes beforehand: the uses of names that no derivative flows through --


QUANTITY, WHOLE, MASK = "quantity", "whole", "mask"


class StaticUse(NamedTuple):
    """Leaf whose value a program takes beforehand, so no derivative flows through that place."""

    leaf: Expr
    # QUANTITY: a number like any other; WHOLE: an index, a shape or an axis; MASK: a choice of
    # entries.
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

    def take_effect(self, kind: str, of: str) -> None:
        """Apply an effect of a script on gradients or random numbers.

        Clearing without a name in the program clears all names.
        """
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
            if node.is_leaf and node.payload.name in self.requiring:
                saved[node] = False
            elif inner and node.op and node.op is not structure.detach:
                saved[node] = any(inner) or bool(node.op.saves)
        return saved

    @cached_property
    def random(self) -> np.random.Generator:
        """The program's one random generator."""
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
        held, dtype = raw, numpy_dtype(kind, self.precision)
        if raw.dtype != dtype:
            # What is too large for float32 becomes infinite, and is reported where it is used.
            with np.errstate(all="ignore"):
                held = raw.astype(dtype)
        self.values[leaf] = held[()]
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

    def bind_object(self, name: str, bound: Any) -> None:
        """Make a name stand for what is no value."""
        self.unbind(name)
        self.objects[name] = bound

    def knows(self, name: str) -> bool:
        """Return whether a name stands, or stood, for something that is not the catalogue's."""
        tables = (
            self.names, self.outside, self.functions, self.dialect.seen.roots, self.leaves,
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
        self.names.pop(name, None)
        self.leaves.pop(name, None)
        self.objects.pop(name, None)
        self.failed.pop(name, None)

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
            for tree, result in zip(frame.nodes, frame.results, strict=False)
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
            self.decisive |= {
                leaf.payload.name for leaf in self.free.values() if leaf in reachable([node])
            }
        return forward([node], self.values, self.precision)[node]

    def is_integral(self, node: Expr) -> bool:
        """Return whether a node is a whole number (or an array of them) by construction."""
        known = self._integral
        if node not in known:
            for part in reachable([node]):
                if part not in known:
                    known[part] = self._stays_whole(part)
        return known[node]

    def _stays_whole(self, node: Expr) -> bool:
        if node.op is None:
            return node in self.whole if node.is_leaf else _is_whole(node.payload)
        if node.kind == "int":
            return True
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
    tables = scope.names, scope.leaves, scope.objects
    before, replaced = [dict(table) for table in tables] if ends else [], set(scope.replaced)
    found = {}
    try:
        for name, (low, high) in ends.items():
            leaf = scope.names.get(name)
            if leaf is None or not leaf.is_leaf or leaf.shape or leaf.kind != FLOAT:
                leaf = scope.bind_value(name, np.float64(low + (high - low) / 2))
            found[name] = Quantity(leaf, low, high)
        yield found
    finally:
        for table, meanings in zip(tables, before, strict=False):
            table.clear()
            table.update(meanings)
        scope.replaced = replaced


# -- What makes nodes of results, as those see it who are handed one: functions of the language,
# subscripts, derivatives.


class Builder(Host, Protocol):
    """Converter from results of lowering to nodes or to parameters of the program.

    `coercion.Coercion` is the only one.

    A result is a node or, where the language has them, a tuple, a list (an array not made yet), a
    string, None, a `Module`, a `Function` or a `FreeVariable`.
    """

    @property
    def scope(self) -> Scope: ...
    @property
    def graph(self) -> Graph: ...

    def value(self, argument: Any) -> Expr:
        """Convert a result to a node.

        Raises TypeMismatchError for anything but a number or an array, MissingValueError for a name
        without a value.
        """

    def static(self, argument: Any, of: Use | str | None = None) -> Any:
        """Convert a result to a parameter of the program, known beforehand.

        It is an integer, a tuple, a string or an array of indices.
        """

    def flag(self, result: Any, place: str) -> bool:
        """Convert a result to True or False, known beforehand.

        Numbers count as in Python. Raises ArgumentError for anything else.
        """

    def integer(self, result: Any, place: str = "an index") -> int:
        """Convert a result to a whole number known beforehand.

        Raises ArgumentError for any other.
        """

    def number(self, result: Any, place: str | None) -> float:
        """Convert a result to a number known beforehand, which decides what entries there are.

        Raises ArgumentError for anything else.
        """

    def is_integral(self, node: Expr) -> bool:
        """Return whether a node is a whole number (or an array of them) by construction."""


# -- Routines: functions and methods that the language has beside the catalogue's, and ranges
# between brackets.


class Range(Fixed):
    """Range ``start:stop:step`` between brackets, or ``slice(start, stop, step)``.

    Parts that are left out are None.
    """

    start: Any
    stop: Any
    step: Any
    span: Span | None = None  # where it stands between brackets
    words = "a slice"


def run_body(
    builder: Builder,
    function: Signature,
    body: Callable[..., Any],
    given: Mapping[str, Any],
    written: Any,
) -> Expansion:
    """Call a body with the kinds of arguments that it takes.

    A parameter annotated ``Expr`` gets a node, any other gets the argument as it is. ``written``
    are the arguments in the text. Raises ArgumentError for a missing one.
    """
    import inspect

    for name, wanted in [*inspect.signature(body).parameters.items()][1:]:
        required = wanted.default is wanted.empty and wanted.kind is not wanted.VAR_KEYWORD
        if required and name not in given:
            raise binding.missing(function.target, name, function)
    kinds = body.__annotations__
    arguments = {
        name: builder.value(argument) if kinds.get(name) == "Expr" else argument
        for name, argument in given.items()
    }
    return expand_call(function.target, written, lambda: body(builder, **arguments))


class Routine(Thing):
    """Function, or (with a base) method, made of its parameters and its body.

    The parameters are written as `signature` takes them. ``body(builder, **given)`` gets the
    written arguments as results of lowering. Parameters of the signature that are left out keep the
    body's own defaults; those without a default are required.
    """

    def __init__(
        self, name: str, parameters: str, body: Callable[..., Any], base: Sequence[Any] = ()
    ) -> None:
        self.written = name
        self.parameters, self.body, self.parts = parameters, body, base

    @cached_property
    def signature(self) -> Signature:
        return signature(self.written, self.parameters)

    def of(self, base: Any) -> Routine:
        """Return the routine as a method of an object, which becomes the first argument."""
        return Routine(self.written, self.parameters, self.body, (base,))

    def call(self, builder: Builder, arguments: list[Any], keywords: dict[str, Any]) -> Any:
        """Call the routine; raise ArgumentError for arguments that it does not take."""
        arguments = [*self.parts, *arguments]
        given = binding.bind(builder, self.written, self.signature, arguments, keywords)
        return run_body(builder, self.signature, self.body, given, (arguments, keywords))


def routines(table: Mapping[str, tuple[str, Callable[..., Any]]]) -> dict[str, Routine]:
    """Return a table of routines by their names."""
    return {name: Routine(name, *given) for name, given in by_word(table).items()}
