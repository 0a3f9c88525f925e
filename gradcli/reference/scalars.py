"""Scalars with a history: the judge's own differentiation.

`Tracing` records what was done on a tape of scalars and differentiates it by its own accumulation:
partials come from sympy's derivative of each single operation, never from the engine's rules, and
may themselves be traced, to any order.
"""

from __future__ import annotations

import operator
from bisect import bisect_left
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from gradcli.ops.facts import Kink, kinks_of
from gradcli.ops.registry import find
from gradcli.ops.spec import Op
from gradcli.reference.algebra import (
    Algebra,
    Numbers,
    Scalar,
    Step,
    matrices_of,
    number,
    real,
    surely_zero,
)
from gradcli.reference.contexts import Undecidable
from gradcli.reference.deadline import still_in_time

# -- The operators of Python on scalars, whose derivatives are known to everybody -----------------


@dataclass(frozen=True, eq=False)
class Arithmetic(Step):
    """An operator; on plain numbers or traced ones alike.

    partials  for each argument, the derivative by it: a function of all, or a number
    reads     for each argument, the places of the arguments that this derivative depends on; empty
              where all are numbers
    absorbs   whether a zero that is a constant makes the result one, whatever the other argument is
              around the point
    """

    name: str
    value: Callable[..., Any]
    partials: tuple[Any, ...]
    reads: tuple[tuple[int, ...], ...] = ()
    absorbs: bool = False

    def read(self, place: int, arguments: Sequence[Any]) -> Sequence[Any]:
        return [arguments[i] for i in self.reads[place]] if self.reads else []

    def partial(self, tape: Any, place: int, arguments: Sequence[Any], traced: bool) -> Any:
        slope = self.partials[place]
        if not callable(slope):
            return slope
        if traced:
            return slope(*arguments)
        return real(tape.m, lambda m, *numbers: slope(*numbers), *arguments)


PLUS = Arithmetic("add", operator.add, (1, 1))
MINUS = Arithmetic("sub", operator.sub, (1, -1))
TIMES = Arithmetic(
    "mul", operator.mul, (lambda x, y: y, lambda x, y: x), ((1,), (0,)), absorbs=True
)
OVER = Arithmetic(
    "div",
    operator.truediv,
    (lambda x, y: 1 / y, lambda x, y: -(x / y) / y),
    ((1,), (0, 1)),
    absorbs=True,
)
NEGATIVE = Arithmetic("neg", operator.neg, (-1,))


# -- Which variables a zero on the way back depends on: by those, it is zero at the point only ---


_NOTHING: frozenset[int] = frozenset()


def dependent(
    products: Sequence[tuple[Traced, Traced]], roots: Sequence[Traced], nodes: Mapping[int, Traced]
) -> set[int]:
    """Return the serial numbers of variables that both an argument and a zero cotangent depend on.

    The cotangent is that of the argument's node. ``products`` are nodes with a zero cotangent, each
    with an argument by which it has an infinite partial.
    """
    order = sorted(nodes)
    behind: dict[int, frozenset[int]] = {}  # variables that each value depends on
    for serial in order:
        node = nodes[serial]
        behind[serial] = (
            frozenset((serial,))
            if node.function is None
            else _union([behind[a.serial] for a in node.arguments if hasattr(a, "serial")])
        )
    ahead: dict[int, frozenset[int]] = {
        root.serial: _NOTHING for root in roots
    }  # variables that each cotangent depends on
    for serial in reversed(order):
        node = nodes[serial]
        if serial not in ahead or node.function is None:
            continue
        for place, argument in enumerate(node.arguments):
            if hasattr(argument, "serial"):
                partial = [
                    behind[a.serial]
                    for a in node.function.read(place, node.arguments)
                    if hasattr(a, "serial")
                ]
                ahead[argument.serial] = _union(
                    [ahead.get(argument.serial, _NOTHING), ahead[serial], *partial]
                )
    found: set[int] = set()
    for node, argument in products:
        found |= ahead[node.serial] & behind[argument.serial]
    return found


def _union(sets: Sequence[frozenset[int]]) -> frozenset[int]:
    """Their union; one of them, if it holds the others."""
    largest = max(sets, key=len, default=_NOTHING)
    return largest if all(s <= largest for s in sets) else largest.union(*sets)


def _operation(operation: Arithmetic, reflected: bool = False) -> Any:
    def method(self: Traced, *others: Any) -> Any:
        if others and type(others[0]) is np.ndarray:
            return NotImplemented  # NumPy takes the scalar into its own loop
        return self.tape.arithmetic(operation, *((*others, self) if reflected else (self, *others)))

    return method


def _both(operation: Arithmetic) -> tuple[Any, Any]:
    """Return the operator of a scalar before another one, and behind it."""
    return _operation(operation), _operation(operation, reflected=True)


def _comparison(holds: Callable[[Any, Any], Any]) -> Any:
    return lambda self, other: bool(holds(self.value, plain(other)))


class Traced:
    """A scalar with its history: the function and the arguments that made it.

    settled  whether it is the same infinity all around the point, as inf - x is: what is made of it
             does not move with x, though it has no derivative itself
    """

    __slots__ = ("arguments", "function", "serial", "settled", "tape", "value")

    def __init__(
        self,
        tape: Tracing,
        value: Any,
        function: Step | None = None,
        arguments: tuple[Any, ...] = (),
        settled: bool = False,
    ) -> None:
        self.tape, self.value, self.function, self.arguments, self.settled = (
            tape,
            value,
            function,
            arguments,
            settled,
        )
        tape.serial += 1
        self.serial = tape.serial

    __add__, __radd__ = _both(PLUS)
    __sub__, __rsub__ = _both(MINUS)
    __mul__, __rmul__ = _both(TIMES)
    __truediv__, __rtruediv__ = _both(OVER)
    __neg__ = _operation(NEGATIVE)
    __eq__, __ne__ = _comparison(operator.eq), _comparison(operator.ne)
    __lt__, __le__, __gt__, __ge__ = map(
        _comparison, (operator.lt, operator.le, operator.gt, operator.ge)
    )

    def __abs__(self) -> Any:
        return -self if self.value < 0 else self

    __hash__ = object.__hash__

    def __int__(self) -> int:
        return int(self.value)  # for indices, through which nothing is differentiated

    def __bool__(self) -> bool:
        return bool(self.value != 0)


def plain(x: Any) -> Any:
    return x.value if type(x) is Traced else x


def _unmoving(x: Any) -> Any:
    """Return the plain number of what is the same infinity all around the point."""
    return x.value if type(x) is Traced and x.settled else x


@dataclass(eq=False)
class Differentiated(Step):
    """A smooth function, by sympy."""

    name: str
    smooth: Any

    def partial(self, tape: Tracing, place: int, arguments: Sequence[Any], traced: bool) -> Any:
        slope = self.smooth.partial(place)
        value = slope.value(tape.m, tuple(map(plain, arguments)))
        return (
            Traced(
                tape,
                value,
                Differentiated(f"the derivative of {self.name}", slope),
                tuple(arguments),
            )
            if traced
            else value
        )


class Power(Step):
    """A power, whose derivatives have limits at the edges of its domain that sympy's have not."""

    def __init__(self, op: Op) -> None:
        self.op, self.name = op, op.name

    def partial(self, tape: Tracing, place: int, arguments: Sequence[Any], traced: bool) -> Any:
        x, y = arguments
        if place == 0:
            return tape.zero if y == 0 else y * tape.power(x, y - 1)
        if x == 0:
            return tape.zero if y > 0 else tape.power(x, y) * -tape.inf
        return tape.power(x, y) * tape.log(x)


_BESIDE = (
    1 + 2.0**-10,
    1 - 2.0**-10,
)  # factors to both sides of a number: tests whether what is made of it stays the same
_SOME = 500  # scalars between two checks of the clock, where the user has set a time limit
MOST_TROUBLES = 32  # most scalar operations without a finite value or derivative that are recorded


class Trouble(NamedTuple):
    """A scalar operation without a finite value or derivative, and its name."""

    name: str
    node: Traced
    is_step: bool = False  # part of an operation on whole arrays, whose numbers no user wrote

    @property
    def values(self) -> list[Any]:
        """Return what it was evaluated at."""
        return [plain(a) for a in self.node.arguments]

    def words(self, m: Any) -> str:
        at = "" if self.is_step else f" at {', '.join(m.nstr(a, 6) for a in self.values)}"
        return f"{self.name}{at} is not finite"


class Event(NamedTuple):
    """Scalar operation that was evaluated exactly on a kink or a branch switch.

    ``tie`` tells whether it chose among equal scalars.
    """

    op: Op
    kink: Kink
    arguments: tuple[Any, ...]
    tie: bool = False


class Tracing(Algebra):
    """Scalars on a tape."""

    def __init__(self, m: Any, precision: str = "float64") -> None:
        super().__init__(m, precision)
        self.mpf, self.serial = m.mpf, 0
        self.events: list[Event] = []
        self.troubles: list[Trouble] = []  # non-finite partials, from the result backwards
        # Non-finite values of finite arguments.
        self.faults: list[Trouble] = []
        # First and last scalars, and the name, of each operation on whole arrays.
        self.stages: list[tuple[int, int, str]] = []

    def variable(self, value: Any) -> Traced:
        return Traced(self, value, settled=self._is_infinite(value))

    def _is_infinite(self, x: Any) -> bool:
        return not self.m.isfinite(x) and bool(x == x)

    def _is_unmoving(
        self, value_at: Callable[[list[Any]], Any], value: Any, arguments: Sequence[Any]
    ) -> bool:
        """Return whether a result stays the same beside an infinite constant.

        Examples are x/inf and x**inf.
        """
        fixed = [a for a in arguments if type(a) is not Traced]
        if len(fixed) == len(arguments):
            return True
        if all(v is None or self.m.isfinite(v) for v in fixed):
            return False
        pairs = [(plain(a), type(a) is Traced) for a in arguments]
        if not all(self.m.isfinite(v) and v != 0 for v, moving in pairs if moving):
            return False
        sides = ([v * factor if moving else v for v, moving in pairs] for factor in _BESIDE)
        return all(value_at(moved) == value for moved in sides)

    def plain(self, x: Scalar) -> Any:
        return plain(x)

    def arithmetic(self, step: Arithmetic, *arguments: Any) -> Any:
        given = tuple(
            self.m.mpf(a.item() if isinstance(a, np.integer) else a)
            if isinstance(a, (float, int, np.integer))
            else a
            for a in arguments
        )
        arguments = tuple(map(_unmoving, given))

        def value_at(numbers: list[Any]) -> Any:
            return real(self.m, lambda m, *numbers: step.value(*numbers), *numbers)

        value = value_at([plain(a) for a in arguments])
        if (
            step.absorbs
            and surely_zero(value)
            and any(type(a) is not Traced and surely_zero(a) for a in arguments)
        ):
            return self.zero
        if step is MINUS and arguments[0] is arguments[1] and self.m.isfinite(value):
            return self.zero  # all around the point
        if not self.serial % _SOME:
            still_in_time()
        return self._record(
            value, lambda: step, given, self._is_unmoving(value_at, value, arguments)
        )

    def _record(
        self, value: Any, step: Callable[[], Step], arguments: tuple[Any, ...], unmoving: bool
    ) -> Any:
        """Return a result with its history, or as a number if it is constant around the point.

        A result that is not finite, although its operands are, is remembered.
        """
        if unmoving and self.m.isfinite(value):
            return value
        function = step()
        node = Traced(self, value, function, arguments, unmoving and self._is_infinite(value))
        if (
            not self.m.isfinite(value)
            and len(self.faults) < MOST_TROUBLES
            and all(self.m.isfinite(plain(a)) for a in arguments)
        ):
            self.faults.append(Trouble(function.name, node))
        return node

    def apply(self, op: Op, static: Mapping[str, Any], arrays: Sequence[Any]) -> Any:
        start = self.serial
        result = super().apply(op, static, arrays)
        if not op.elementwise and self.serial > start:
            self.stages.append((start, self.serial, op.name))
        return result

    def _trouble(self, of: str, node: Traced) -> None:
        """Remember a derivative that is not finite, in the words of the program.

        They are those of the operation that the scalar is a step of.
        """
        if len(self.troubles) >= MOST_TROUBLES or node.function is None:
            return
        place = bisect_left(self.stages, (node.serial,)) - 1
        _, last, stage = self.stages[place] if place >= 0 else (0, 0, "")
        is_step = node.serial <= last
        name = stage if is_step else node.function.name
        self.troubles.append(Trouble(f"{of} {name}", node, is_step))

    def scalar(self, op: Op, static: Mapping[str, Any], *given: Any) -> Any:
        arguments = tuple(map(_unmoving, given))
        values = [plain(a) for a in arguments]
        alike = len(arguments) == 2 and arguments[0] is arguments[1] and op.kind == "piecewise"
        for kink in kinks_of(op):
            # The larger of x and x has no kink: it would be one everywhere.
            somewhere = not (alike and kink.where(1, 1, **static))
            known = somewhere and all(v is None or v == v for v in values)
            if known and kink.where(*values, **static):
                self.events.append(Event(op, kink, arguments))
        if op.kind == "flat" or not any(type(a) is Traced for a in given):
            return number(self.m, op, static, *values)
        if op.kind == "piecewise":
            found = op.reference(self, *arguments, **static)
            return found if self.m.isfinite(plain(found)) else op.reference(self, *given, **static)
        value = number(self.m, op, static, *values)
        if op.algebra == "power" and type(arguments[1]) is not Traced and arguments[1] == 0:
            return value
        unmoving = self._is_unmoving(
            lambda moved: number(self.m, op, static, *moved), value, arguments
        )

        def step() -> Step:
            if op.algebra == "power":
                return Power(op)
            from gradcli.reference.symbolic.translate import smooth_function

            return Differentiated(op.name, smooth_function(op, len(arguments), static))

        return self._record(value, step, given, unmoving)

    def of_matrices(self, name: str, *arrays: np.ndarray) -> tuple[np.ndarray, ...] | None:
        arguments = tuple(v for x in arrays for v in x.ravel() if type(v) is Traced)
        values = matrices_of(self.m, name, tuple(Algebra.map(plain, x) for x in arrays))
        if values is None or not arguments:
            return values
        whole = Whole(name, arrays)
        step = Traced(self, self.zero, whole, arguments)
        for i, x in enumerate(values):
            entries = np.empty(x.size, dtype=object)
            entries[:] = [
                Traced(self, v, Entry(name, (i, k)), (step,)) for k, v in enumerate(x.ravel())
            ]
            whole.results.append(entries.reshape(x.shape))
        return tuple(whole.results)

    def extreme(self, which: str, row: list[Scalar]) -> Scalar:
        best = super().extreme(which, row)
        self.tied(which, [x for x in row if plain(x) == plain(best)])
        return best

    def tied(self, name: str, row: Sequence[Scalar]) -> None:
        if len({id(x) for x in row}) > 1 and any(type(x) is Traced for x in row):
            op = find(name)
            self.events.append(Event(op, op.kinks[0], tuple(row), tie=True))

    def pull(
        self, seeds: Mapping[Traced, Any], wrt: Sequence[Traced], traced: bool = False
    ) -> list[Any]:
        """Return the derivatives of the seeded sum with respect to some scalars.

        Traced derivatives can be differentiated again.

        A zero cotangent that meets an infinite partial contributes nothing to variables that it
        does not depend on, and NaN to those that it does depend on: then it is zero at the point
        only.
        """
        roots = [
            root for root, seed in seeds.items() if type(seed) is Traced or not surely_zero(seed)
        ]  # nothing flows from the others
        adjoints = {root.serial: seeds[root] for root in roots}
        nodes = behind(roots)
        open_products: list[tuple[Traced, Traced]] = []

        def passed_back(serial: int, cotangent: Any) -> Iterator[tuple[int, Any]]:
            if not serial % _SOME:
                still_in_time()
            node = nodes[serial]
            if node.function is None or (
                type(cotangent) is not Traced and traced and surely_zero(cotangent)
            ):
                return
            if (
                pulled := getattr(node.function, "pull_back", None)
            ) is not None:  # a function of whole matrices
                yield from pulled(self, node, cotangent, traced)
                return
            arguments = node.arguments if traced else tuple(map(plain, node.arguments))
            for place, argument in enumerate(node.arguments):
                if type(argument) is not Traced:
                    continue
                partial = node.function.partial(self, place, arguments, traced)
                if not self.m.isfinite(plain(partial)) and cotangent == 0:
                    open_products.append((node, argument))
                    continue
                part = cotangent * partial
                if not traced and not self.m.isfinite(node.value) and cotangent != 0:
                    part = self.nan  # a result without a value has no derivative
                if not self.m.isfinite(plain(part)) and self.m.isfinite(plain(cotangent)):
                    self._trouble("the derivative of", node)
                yield argument.serial, part

        for serial in filter(adjoints.__contains__, sorted(nodes, reverse=True)):
            for other, part in passed_back(serial, adjoints[serial]):
                adjoints[other] = adjoints[other] + part if other in adjoints else part
        undecided = dependent(open_products, roots, nodes) if open_products else set()
        for node, _ in open_products if undecided else ():
            self._trouble("zero times the derivative of", node)

        def slope(x: Traced) -> Any:
            return (
                (x if traced else 1) * self.nan
                if x.serial in undecided
                else adjoints.get(x.serial, self.zero)
            )

        return list(map(slope, wrt))


def behind(roots: Sequence[Traced]) -> dict[int, Traced]:
    """Everything that some scalars were made of, and they themselves, by their serial numbers."""
    nodes = {root.serial: root for root in roots}
    stack = list(roots)
    while stack:
        for argument in stack.pop().arguments:
            if type(argument) is Traced and argument.serial not in nodes:
                nodes[argument.serial] = argument
                stack.append(argument)
    return nodes


# -- Functions of whole matrices on the tape: one step for all entries, differentiated in closed
# form by functions of whole matrices.
#
# The forms are the judge's own, from the differentials that textbooks state (M. B. Giles,
# "Collected matrix derivative results for forward and reverse mode algorithmic differentiation",
# 2008; of the exponential, R. Mathias, "A chain rule for matrix functions", 1996).


Array = np.ndarray


class Cotangents(dict[tuple[int, int], Any]):
    """Cotangents that have been passed back to a step, by result and entry.

    Each passes back its own, once, and the first one gathers them.
    """

    def __add__(self, other: Cotangents) -> Cotangents:
        self.update(other)
        return self


@dataclass(eq=False)
class Entry(Step):
    """One entry of a result of a step."""

    name: str
    place: tuple[int, int]

    def pull_back(
        self, tape: Any, node: Any, cotangent: Any, traced: bool
    ) -> Iterator[tuple[int, Any]]:
        yield node.arguments[0].serial, Cotangents({self.place: cotangent})


@dataclass(eq=False)
class Whole(Step):
    """A function of matrices: what it was applied to, and its results."""

    name: str
    arrays: Sequence[Array]
    results: list[Array] = field(default_factory=list)

    def pull_back(
        self, tape: Any, node: Any, cotangent: Any, traced: bool
    ) -> Iterator[tuple[int, Any]]:
        algebra: Algebra = tape if traced else Numbers(tape.m, tape.precision)
        arrays, results = self.arrays, self.results
        if not traced:
            arrays, results = ([Algebra.map(plain, x) for x in xs] for xs in (arrays, results))
        back = [np.full(x.shape, tape.zero, dtype=object) for x in results]
        for (result, entry), value in cotangent.items():
            back[result].flat[entry] = value
        parts = PULLS[self.name](algebra, arrays, results, back)
        for array, part in zip(self.arrays, parts, strict=True):
            for argument, slope in zip(array.ravel(), part.ravel(), strict=True):
                if type(argument) is Traced:
                    yield argument.serial, slope


def _times(m: Algebra, x: Array, y: Array) -> Array:
    found = m.of_matrices("product", x, y)
    return x @ y if found is None else found[0]


def _enclose(m: Algebra, name: str, *arrays: Array) -> Array:
    """Return the one result of a function of matrices, or raise Undecidable if none is certain."""
    found = m.of_matrices(name, *arrays)
    if found is None:
        raise Undecidable
    return found[0]


Given = Sequence[Array]


def _matmul(m: Algebra, arrays: Given, results: Given, back: Given) -> Given:
    x, y = arrays
    return _times(m, back[0], y.T), _times(m, x.T, back[0])


def _solve(m: Algebra, arrays: Given, results: Given, back: Given) -> Given:
    by_right = _enclose(m, "solution", arrays[0].T, back[0])
    return -_times(m, by_right, results[0].T), by_right


def _det(m: Algebra, arrays: Given, results: Given, back: Given) -> Given:
    (x,) = arrays
    return (
        _enclose(m, "solution", x.T, np.where(np.eye(len(x)) > 0, m.one, m.zero))
        * (back[0][()] * results[0][()]),
    )


def _exp(m: Algebra, arrays: Given, results: Given, back: Given) -> Given:
    n, turned = len(arrays[0]), arrays[0].T
    block = np.block([[turned, back[0]], [np.full((n, n), m.zero), turned]])
    return (_enclose(m, "exponential", block)[:n, n:],)


def _eigh(m: Algebra, arrays: Given, results: Given, back: Given) -> Given:
    """Pass cotangents of eigenvalues and eigenvectors back.

    It follows from dl = v.T dx v, and from dv[i], the sum of v[j] (v[j].T dx v[i])/(l[i] - l[j])
    over the other vectors.
    """
    values, vectors = results
    by_values, by_vectors = back
    inner = _times(m, vectors.T, by_vectors)
    for i in range(len(values)):
        for j in range(len(values)):
            slope, gap = inner[j, i], values[i] - values[j]
            if i == j:
                inner[j, i] = by_values[i]
            elif m.plain(slope) is not slope or not surely_zero(
                slope
            ):  # otherwise nothing flows, as to the vectors of equal values
                inner[j, i] = slope * m.nan if surely_zero(m.plain(gap)) else slope / gap
    return (_times(m, _times(m, vectors, inner), vectors.T),)


PULLS: dict[str, Callable[[Algebra, Given, Given, Given], Given]] = {
    "product": _matmul, "solution": _solve, "determinant": _det, "exponential": _exp, "eigensystem": _eigh,
}  # fmt: skip
