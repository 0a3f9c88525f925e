"""Scalars with a history: the judge's own differentiation.

`Tracing` records what was done on a tape of scalars and differentiates it by its own accumulation: partials come
from sympy's derivative of each single operation, never from the engine's rules, and may themselves be traced, to
any order.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from gradcli.ops.registry import find
from gradcli.ops.spec import Kink, Op
from gradcli.reference.algebra import Algebra, Scalar, number, real
from gradcli.reference.deadline import check as still_in_time
from gradcli.reference.dependence import dependent


class Traced:
    """A scalar with its history: the function and the arguments that made it."""

    __slots__ = ("arguments", "function", "serial", "tape", "value")

    def __init__(self, tape: Tracing, value: Any, function: Any = None, arguments: tuple[Any, ...] = ()) -> None:
        self.tape, self.value, self.function, self.arguments = tape, value, function, arguments
        tape.serial += 1
        self.serial = tape.serial

    def _with(self, name: str, *arguments: Any) -> Any:
        if any(type(a) is np.ndarray for a in arguments):
            return NotImplemented  # NumPy takes the scalar into its own loop
        return self.tape.arithmetic(name, *arguments)

    def __add__(self, other: Any) -> Any:
        return self._with("add", self, other)

    def __radd__(self, other: Any) -> Any:
        return self._with("add", other, self)

    def __sub__(self, other: Any) -> Any:
        return self._with("sub", self, other)

    def __rsub__(self, other: Any) -> Any:
        return self._with("sub", other, self)

    def __mul__(self, other: Any) -> Any:
        return self._with("mul", self, other)

    def __rmul__(self, other: Any) -> Any:
        return self._with("mul", other, self)

    def __truediv__(self, other: Any) -> Any:
        return self._with("div", self, other)

    def __rtruediv__(self, other: Any) -> Any:
        return self._with("div", other, self)

    def __neg__(self) -> Any:
        return self._with("neg", self)

    def __abs__(self) -> Any:
        return -self if self.value < 0 else self

    def __eq__(self, other: object) -> bool:
        return bool(self.value == plain(other))

    def __ne__(self, other: object) -> bool:
        return bool(self.value != plain(other))

    def __lt__(self, other: Any) -> bool:
        return bool(self.value < plain(other))

    def __le__(self, other: Any) -> bool:
        return bool(self.value <= plain(other))

    def __gt__(self, other: Any) -> bool:
        return bool(self.value > plain(other))

    def __ge__(self, other: Any) -> bool:
        return bool(self.value >= plain(other))

    __hash__ = object.__hash__

    def __bool__(self) -> bool:
        return bool(self.value != 0)


def plain(x: Any) -> Any:
    return x.value if type(x) is Traced else x


# The derivatives of arithmetic, known to everybody; on plain numbers or traced ones alike.
_ARITHMETIC: dict[str, tuple[Callable[..., Any], tuple[Callable[..., Any], ...]]] = {
    "add": (lambda m, x, y: x + y, (lambda x, y: 1, lambda x, y: 1)),
    "sub": (lambda m, x, y: x - y, (lambda x, y: 1, lambda x, y: -1)),
    "mul": (lambda m, x, y: x * y, (lambda x, y: y, lambda x, y: x)),
    "div": (lambda m, x, y: x / y, (lambda x, y: 1 / y, lambda x, y: -(x / y) / y)),
    "neg": (lambda m, x: -x, (lambda x: -1,)),
}


_SOME = 500  # scalars between two looks at the time, where a user has set a limit


class Event:
    """A scalar operation that was evaluated exactly on a kink or a branch switch."""

    __slots__ = ("arguments", "kink", "op")

    def __init__(self, op: Op, kink: Kink, arguments: tuple[Any, ...]) -> None:
        self.op, self.kink, self.arguments = op, kink, arguments


_SWITCH = Kink(lambda x, y: x == y, "a branch switch", "the branch that the condition selects")
_COMPARISONS = frozenset({"equal", "not_equal", "less", "less_equal", "greater", "greater_equal"})


class Tracing(Algebra):
    """Scalars on a tape."""

    def __init__(self, m: Any, precision: str = "float64") -> None:
        super().__init__(m, precision)
        self.serial = 0
        self.events: list[Event] = []
        self.trouble: tuple[str, Any] | None = None  # the first partial that was not finite, and where
        self.fault: tuple[str, Any] | None = None  # the first value that was not finite, and where

    def variable(self, value: Any) -> Traced:
        return Traced(self, value)

    def plain(self, x: Scalar) -> Any:
        return plain(x)

    def arithmetic(self, name: str, *arguments: Any) -> Any:
        arguments = tuple(a if type(a) is Traced else self.m.mpf(a) if isinstance(a, float) else self._whole(a) for a in arguments)
        value = real(self.m, _ARITHMETIC[name][0], *[plain(a) for a in arguments])
        if name == "mul" and value == 0 and any(type(a) is not Traced and a == 0 for a in arguments):
            return self.zero  # whatever the other factor is around the point
        self._note(name, value, arguments)
        return Traced(self, value, name, arguments)

    def _whole(self, x: Any) -> Any:
        return self.m.mpf(int(x)) if isinstance(x, (int, np.integer)) else x

    def _note(self, name: str, value: Any, arguments: tuple[Any, ...]) -> None:
        """Remember the first operation without a finite value, although its operands have one."""
        if self.fault is None and not self.m.isfinite(value):
            values = [plain(a) for a in arguments]
            if all(self.m.isfinite(v) for v in values):
                self.fault = (name, values)

    def scalar(self, op: Op, static: Mapping[str, Any], *arguments: Any) -> Any:
        values = [plain(a) for a in arguments]
        alike = len(arguments) == 2 and arguments[0] is arguments[1] and op.kind == "piecewise"  # the larger of x and x has no kink
        for kink in () if alike else op.kinks or ((_SWITCH,) if op.name in _COMPARISONS else ()):
            if all(v is None or v == v for v in values) and kink.where(*values, **static):
                self.events.append(Event(op, kink, arguments))
        if op.kind == "flat" or not any(type(a) is Traced for a in arguments):
            return number(self.m, op, static, *values)
        if op.kind == "piecewise":
            return op.reference(self, *arguments, **static)
        value = number(self.m, op, static, *values)
        self._note(op.name, value, arguments)
        if op.name == "pow":
            constant = type(arguments[1]) is not Traced and arguments[1] == 0
            return value if constant else Traced(self, value, "pow", arguments)
        from gradcli.reference.symbolic.translate import smooth_function

        return Traced(self, value, (op.name, smooth_function(op, len(arguments), static)), arguments)

    def extreme(self, which: str, row: list[Scalar]) -> Scalar:
        best = super().extreme(which, row)
        tied = [x for x in row if plain(x) == plain(best)]
        if len(tied) > 1:
            op = find(which)
            self.events.append(Event(op, op.kinks[0], tuple(tied)))
        return best

    def _partial(self, node: Traced, place: int, traced: bool) -> Any:
        """The partial derivative of one scalar operation."""
        arguments = node.arguments if traced else tuple(plain(a) for a in node.arguments)
        if node.function == "pow":
            return self._power_partial(place, *arguments)
        if isinstance(node.function, str):
            derivative = _ARITHMETIC[node.function][1][place]
            return derivative(*arguments) if traced else real(self.m, lambda m, *a: derivative(*a), *arguments)
        name, smooth = node.function
        slope = smooth.partial(place)
        if not traced:
            return slope.value(self.m, arguments)
        value = slope.value(self.m, tuple(plain(a) for a in arguments))
        return Traced(self, value, (f"the derivative of {name}", slope), arguments)

    def _power_partial(self, place: int, x: Any, y: Any) -> Any:
        """The derivatives of x**y, with their limits where x or y is 0."""
        power = find("pow")
        if place == 0:
            return self.zero if y == 0 else y * self.scalar(power, {}, x, y - 1)
        if x == 0:
            return self.zero if y > 0 else self.scalar(power, {}, x, y) * self.m.ninf
        return self.scalar(power, {}, x, y) * self.scalar(find("log"), {}, x)

    def pull(self, seeds: Mapping[Traced, Any], wrt: Sequence[Traced], traced: bool = False) -> list[Any]:
        """The derivatives of the seeded sum with respect to some scalars; traced ones can be differentiated again.

        A zero cotangent that meets an infinite partial contributes nothing to what it does not depend on, and NaN to what it does: then
        it is zero at the point only.
        """
        adjoints: dict[int, Any] = {}
        nodes: dict[int, Traced] = {}
        for node, seed in seeds.items():
            if type(seed) is not Traced and seed == 0:
                continue  # it stays zero
            nodes[node.serial] = node
            adjoints[node.serial] = adjoints[node.serial] + seed if node.serial in adjoints else seed
        roots = list(nodes.values())
        stack = list(roots)
        while stack:
            for argument in stack.pop().arguments:
                if type(argument) is Traced and argument.serial not in nodes:
                    nodes[argument.serial] = argument
                    stack.append(argument)
        open_products: list[tuple[Traced, Traced]] = []
        for serial in sorted(nodes, reverse=True):
            if not serial % _SOME:
                still_in_time()
            cotangent = adjoints.get(serial)
            node = nodes[serial]
            if cotangent is None or node.function is None or (type(cotangent) is not Traced and traced and cotangent == 0):
                continue
            for place, argument in enumerate(node.arguments):
                if type(argument) is not Traced:
                    continue
                partial = self._partial(node, place, traced)
                if cotangent == 0 and not self.m.isfinite(plain(partial)):
                    open_products.append((node, argument))
                    continue
                part = cotangent * partial
                if not traced and not self.m.isfinite(node.value) and cotangent != 0:
                    part = self.nan  # a result that has no value has no derivative
                if self.trouble is None and not self.m.isfinite(plain(part)):
                    self.trouble = (f"the derivative of {_name(node)}", [plain(a) for a in node.arguments])
                earlier = adjoints.get(argument.serial)
                adjoints[argument.serial] = part if earlier is None else earlier + part
        found = [adjoints.get(x.serial, self.zero) for x in wrt]
        if open_products:
            undecided = dependent(open_products, roots, nodes)
            if undecided and self.trouble is None:
                node, _ = open_products[0]
                self.trouble = (f"zero times the derivative of {_name(node)}", [plain(a) for a in node.arguments])
            unknown = [x * self.nan if traced else self.nan for x in wrt] if undecided else []
            found = [unknown[i] if x.serial in undecided else slope for i, (x, slope) in enumerate(zip(wrt, found, strict=True))]
        return found


def _name(node: Traced) -> str:
    name: str = node.function if isinstance(node.function, str) else node.function[0]
    return name
