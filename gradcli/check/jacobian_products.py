"""Products of a function's Jacobian with vectors from both sides, held against a reference where a trace says everything that the function
does, and against differences where it does not."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property, partial
from typing import Any, NamedTuple

import numpy as np

from gradcli.check.extrapolation import Slope, slope
from gradcli.check.judge import Judge
from gradcli.errors import LimitError
from gradcli.graph.nodes import reachable
from gradcli.language.scope import Scope
from gradcli.reference.algebra import Unsupported
from gradcli.reference.deadline import Undecided
from gradcli.report.records import Record
from gradcli.report.verdicts import Verdict
from gradcli.tensors.core.backward import grad
from gradcli.tensors.core.dtypes import FLOATS
from gradcli.tensors.core.modes import Mode, warn
from gradcli.tensors.core.tensor import Tensor
from gradcli.tensors.core.trace import Trace, traced
from gradcli.tensors.transforms.derivatives import dual_level, make_dual, unpack_dual

_NEARBY = 1e-3  # of an entry: how far points nearby are moved


class CheckedFunction:
    """A function at one point: it runs there once, and what asks for its results finds those."""

    def __init__(self, func: Callable[..., Any], arguments: tuple[Any, ...]) -> None:
        self.func, self.arguments = func, arguments
        self.chosen = [i for i, x in enumerate(arguments) if isinstance(x, Tensor) and x.requires_grad]
        self.names = [f"input{i}" for i in self.chosen]

    @property
    def inputs(self) -> list[Tensor]:
        return [self.arguments[i] for i in self.chosen]

    @cached_property
    def _run(self) -> tuple[Any, Trace]:
        return traced(self.func, self.arguments, self.inputs, self.names)

    @cached_property
    def floats(self) -> list[Tensor]:
        """The results that are floats."""
        return _floats(self._run[0])

    @cached_property
    def outputs(self) -> list[Tensor]:
        """The results that require grad."""
        return differentiable(self._run[0])

    @cached_property
    def trace(self) -> Trace | None:
        """Trace what the function does, if that says everything: nothing that requires grad comes from nowhere, and its constants are some
        at the points nearby, too, on either side."""
        trace = self._run[1]
        for y in self.outputs:
            trace.node_of(y)  # a result that came from nowhere makes the trace opaque
        whole = True
        for side in (1, -1):
            result, other = self._nearby(side)
            if any(y.shape != z.shape or y.dtype != z.dtype for y, z in zip(self.outputs, differentiable(result), strict=False)):
                raise AssertionError("Expected `func` to return outputs with the same shape and dtype when inputs are perturbed")
            whole = whole and not trace.opaque and trace.same_steps(other)
        return trace if whole else None

    def _nearby(self, side: int) -> tuple[Any, Trace]:
        random = np.random.default_rng(1)
        noise = [1 + side * _NEARBY * random.uniform(-1, 1, x.array.shape) for x in self.inputs]
        moved = {i: self.arguments[i].array * factor for i, factor in zip(self.chosen, noise, strict=True)}
        found: tuple[Any, Trace] = self.at(moved, lambda given: traced(self.func, given, [given[i] for i in self.chosen], self.names))
        return found

    def at(self, moved: Mapping[int, np.ndarray], run: Callable[[list[Any]], Any]) -> Any:
        """Run it with other entries in some arguments: in the same tensors, which a function may know by other names, too."""
        given, kept = list(self.arguments), {}
        try:
            for i, entries in moved.items():
                x = self.arguments[i]
                if x.is_leaf and x.array.flags.writeable:
                    kept[i] = x.array.copy()
                    x.array[...] = entries
                else:
                    given[i] = Tensor(np.asarray(entries, x.array.dtype)).requires_grad_()
            return run(given)
        finally:
            for i, entries in kept.items():
                self.arguments[i].array[...] = entries

    def output_at(self, number: int, i: int, entries: np.ndarray) -> np.ndarray:
        """The entries of one of the results that require grad, for other entries of one argument, whose memory it may share."""
        found: np.ndarray = self.at({i: entries}, lambda given: differentiable(self.func(*given))[number].array.copy())
        return found

    def of_plain(self, arguments: Sequence[Any]) -> list[Tensor]:
        """The results that are floats, for other arguments."""
        return _floats(self.func(*arguments))

    @property
    def plain_arguments(self) -> list[Any]:
        """The arguments without gradients."""
        return [a.detach() if isinstance(a, Tensor) else a for a in self.arguments]

    def gradients(self, outputs: Sequence[Tensor], cotangents: Sequence[Tensor], **options: Any) -> tuple[Tensor | None, ...]:
        """Return the products of cotangents of some results with the Jacobian; the graph is kept.

        A rule may write into its cotangent, which is a copy.
        """
        copies = [Tensor(cotangent.array.copy()) for cotangent in cotangents]
        return grad(outputs, self.inputs, copies, retain_graph=True, allow_unused=True, **options)


def _as_tuple(result: Any) -> tuple[Any, ...]:
    return tuple(result) if isinstance(result, (tuple, list)) else (result,)


def differentiable(result: Any) -> list[Tensor]:
    return [y for y in _as_tuple(result) if isinstance(y, Tensor) and y.requires_grad]


def _floats(result: Any) -> list[Tensor]:
    return [y for y in _as_tuple(result) if isinstance(y, Tensor) and y.array.dtype.kind in FLOATS]


# -- Sums of a Jacobian's rows before the references: those of whole arrays first, which are quick,
# and those of multi-precision.


_OPEN = (Verdict.UNDETERMINED, Verdict.SKIPPED, Verdict.UNDEFINED)


def _judge_of(function: CheckedFunction, trace: Trace, y: Tensor, weights: np.ndarray, slopes: Sequence[np.ndarray]) -> Judge:
    """Return who decides about a sum of rows."""
    scope = Scope(precision="float32" if y.array.dtype == np.float32 else "float64")
    scope.graph = trace.graph
    scope.in_passing = True  # nobody asks for a proof by sympy, nor how a wrong rule could be mended
    for i, name in zip(function.chosen, function.names, strict=True):
        scope.values[trace.leaves[name]] = function.arguments[i].array[()]
        scope.names[name] = trace.leaves[name]
    return Judge(scope, trace.node_of(y), dict(trace.leaves), weights[()], dict(zip(function.names, slopes, strict=True)))


def by_reference(function: CheckedFunction, trace: Trace, y: Tensor, weights: np.ndarray, slopes: Sequence[np.ndarray]) -> str | None:
    """Return what is wrong according to the references ("" if nothing); None if they cannot decide.

    Whole arrays in long double are asked first: what agrees with them, within what rounding explains, is right. What does not is asked
    for in multi-precision.
    """
    judge = _judge_of(function, trace, y, weights, slopes)
    if _agrees(judge):
        return ""
    from gradcli.check.crosscheck import cross_check

    record = Record(
        "", value=y.array[()], seed=weights[()], grad={name: part[()] for name, part in zip(judge.wrt, judge.gradients, strict=True)}
    )
    check = cross_check(judge.scope, judge.root, judge.wrt, record, None)
    if check.verdict in _OPEN:
        return None
    for i, name in zip(function.chosen, function.names, strict=True):
        part = check.variables[name]
        if part.verdict is Verdict.MISMATCH and part.worst is not None:
            worst = part.worst
            return f"input {i}, entry {list(worst.index)}: {worst.engine!r} where the derivative is {worst.reference!r} (exactly)"
    return ""


def _agrees(judge: Judge) -> bool:
    """Return whether gradients are plainly those of the reference on whole arrays."""
    try:
        (_, found), settled = judge.decide_large(None)
    except (Unsupported, Undecided, LimitError, ArithmeticError, ValueError, TypeError, IndexError):
        return False
    return settled and all(part.verdict is Verdict.AGREE for part in found.values())


_SHOWN = 6  # weights of a sum


class Tolerance(NamedTuple):
    """What a caller allows beyond rounding: how far entries of the Jacobian may be from the truth.

    noise   how far gradients of two passes may be apart
    step    the widest one of differences, or None
    sums    whether sums of the Jacobian's rows are judged, and no rows by themselves
    dtypes  whether gradients must have their input's dtype, and tangents their value's
    """

    absolute: float
    relative: float
    noise: float
    step: float | None
    sums: bool
    dtypes: bool

    def allows(self, found: Any, right: Any, weight: float = 1.0) -> Any:
        return np.abs(found - right) <= self.absolute * weight + self.relative * np.abs(right)


def backward_fault(function: CheckedFunction, tolerance: Tolerance) -> str | None:
    """Return what is wrong in the Jacobian as backward passes give it; None if nothing is."""
    if not function.outputs:
        return _moves_nevertheless(function)
    trace = function.trace
    for number, y in enumerate(function.outputs):
        fault = _Rows(function, trace, number, y, tolerance).fault()
        if fault is not None:
            return fault
    return None


def _moves_nevertheless(function: CheckedFunction) -> str | None:
    """Return what is said of results that require no gradient and depend on an input; None if they do not."""
    random = np.random.default_rng(0)
    for i in function.chosen:
        x = function.arguments[i].array
        moved = Tensor(np.asarray(x * (1 + 1e-3 * random.uniform(0.5, 1, x.shape)) + 1e-3, x.dtype)).requires_grad_()
        there = function.of_plain([moved if j == i else a for j, a in enumerate(function.arguments)])
        if any(not np.array_equal(y.array, z.array, equal_nan=True) for y, z in zip(function.floats, there, strict=True)):
            return "Numerical gradient for function expected to be zero. No result requires a gradient, and yet they depend on the input"
    return None


class _Rows:
    """One output of a function, whose rows of the Jacobian are judged by a sum of them with random weights: a wrong row is orthogonal to
    no such vector.

    trace  says everything that the function does, or None: then differences decide
    """

    def __init__(self, function: CheckedFunction, trace: Trace | None, number: int, y: Tensor, tolerance: Tolerance) -> None:
        self.function, self.trace, self.number, self.y, self.tolerance = function, trace, number, y, tolerance

    def fault(self) -> str | None:
        """An entry of the Jacobian that is wrong, and that the caller does not allow to be."""
        y = self.y.array
        weights = np.asarray(np.random.default_rng(0).standard_normal(y.shape).astype(y.dtype))
        found, again = (self.function.gradients([self.y], [Tensor(weights)]) for _ in range(2))
        irregular = self._irregular(found, again)
        if irregular is not None:
            return irregular
        slopes = self._filled(found)
        wrong = self._wrong(weights, slopes)
        if not wrong or self._is_allowed(weights):
            return None
        fault = self._of_sum(wrong, weights) if self.tolerance.sums else self._entry(weights, wrong)
        return f"Jacobian mismatch for output {self.number} with respect to {fault}"

    def _irregular(self, found: Sequence[Tensor | None], again: Sequence[Tensor | None]) -> str | None:
        """Return what is wrong in gradients of two passes, whatever the right ones are: others each time, or of another dtype."""
        noise = self.tolerance.noise
        for part, other, x in zip(found, again, self.function.inputs, strict=True):
            if part is None or other is None:
                continue
            if self.tolerance.dtypes and part.dtype != x.dtype:
                return f"Gradient has dtype mismatch: {part.dtype} of an input of {x.dtype}"
            if not (np.array_equal(part.array, other.array) or np.allclose(part.array, other.array, rtol=0, atol=noise, equal_nan=True)):
                return (
                    "Backward is not reentrant, i.e., running backward with same input and grad_output multiple times gives different "
                    f"values, although analytical gradient matches numerical gradient.The tolerance for nondeterminism was {noise}."
                )
        return None

    def _slopes(self, weights: np.ndarray) -> list[np.ndarray]:
        """The sum of rows as a backward pass gives it."""
        return self._filled(self.function.gradients([self.y], [Tensor(weights)]))

    def _filled(self, found: Sequence[Tensor | None]) -> list[np.ndarray]:
        return [np.zeros_like(x.array) if g is None else g.array.copy() for x, g in zip(self.function.inputs, found, strict=True)]

    def _wrong(self, weights: np.ndarray, slopes: Sequence[np.ndarray]) -> str:
        """Return what is wrong in a sum of rows ("" if nothing)."""
        verdict = None
        if self.trace is not None:
            verdict = by_reference(self.function, self.trace, self.y, weights, slopes)
        if verdict is None:
            verdict = self._by_differences(weights, slopes)
        return verdict

    def _entry(self, weights: np.ndarray, wrong: str) -> str:
        """Return what is wrong in a single row of the Jacobian, by halves of the weights that show that something is."""
        rows = list(np.ndindex(self.y.array.shape))
        while len(rows) > 1:
            for half in (rows[: len(rows) // 2], rows[len(rows) // 2 :]):
                some = _only(weights, half)
                if self._wrong(some, self._slopes(some)):
                    rows = half
                    break
            else:
                return self._of_sum(wrong, weights)
        one = _only(np.ones_like(weights), rows)
        found = self._wrong(one, self._slopes(one))
        where = f"output entry {list(rows[0])}, " if rows[0] else ""
        return found.replace(", ", f", {where}input ", 1) if found else wrong

    @staticmethod
    def _of_sum(wrong: str, weights: np.ndarray) -> str:
        return f"{wrong}, in the sum over the output's entries with weights {np.ravel(weights).tolist()[:_SHOWN]}"

    def _by_differences(self, weights: np.ndarray, slopes: Sequence[np.ndarray], tolerance: Tolerance | None = None) -> str:
        """Return what is wrong according to extrapolated differences ("" if nothing, or nothing that a tolerance does not allow)."""
        function = self.function
        for i, claimed in zip(function.chosen, slopes, strict=True):
            x = function.arguments[i].array.copy()
            for index in np.ndindex(x.shape):
                found = _difference(self._along(i, x, index, weights), float(x[index]), x.dtype, self.tolerance.step)
                said = float(claimed[index])
                allowed = tolerance is not None and tolerance.allows(said, found.value, float(np.abs(weights).sum()))
                if not allowed and not _is_near(said, found):
                    low, high = (found.value, found.value) if found.sides is None else sorted(found.sides)
                    where = (
                        f"{found.value!r} (error about {found.error:.1g})" if low == high else f"{low!r} and {high!r} from the two sides"
                    )
                    return f"input {i}, entry {list(index)}: {said!r} where differences give {where}"
        return ""

    def _along(self, i: int, x: np.ndarray, index: tuple[int, ...], weights: np.ndarray) -> Callable[[float], Any]:
        def along(step: float) -> Any:
            moved = x.copy()
            moved[index] += step
            try:
                return self.function.output_at(self.number, i, moved) * weights
            except (ArithmeticError, ValueError):  # outside of the domain
                return np.full(weights.shape, np.nan)

        return along

    def _is_allowed(self, weights: np.ndarray) -> bool:
        """Return whether the caller's tolerance allows what is wrong: in the sum of rows, or in each row by itself."""
        if not (self.tolerance.absolute or self.tolerance.relative):
            return False
        rows = [_only(np.ones_like(weights), [row]) for row in np.ndindex(weights.shape)]
        sums = [weights] if self.tolerance.sums else rows
        return not any(self._by_differences(some, self._slopes(some), self.tolerance) for some in sums)


def _only(weights: np.ndarray, rows: Sequence[tuple[int, ...]]) -> np.ndarray:
    out = np.zeros_like(weights)
    for row in rows:
        out[row] = weights[row]
    return out


def _difference(along: Callable[[float], Any], x: float, dtype: Any, step: float | None) -> Slope:
    with np.errstate(all="ignore"):
        return slope(along, x, float(np.finfo(dtype).eps), widest=step)


def _is_near(said: float, found: Slope) -> bool:
    low, high = (found.value, found.value) if found.sides is None else sorted(found.sides)
    room = 10 * found.error + 1e-9 * max(abs(low), abs(high))
    return low - room <= said <= high + room


def forward_fault(function: CheckedFunction, tolerance: Tolerance) -> str | None:
    """Return what is wrong in the tangents of forward mode, by each input in a random direction; None if nothing is."""
    random = np.random.default_rng(0)
    plain = function.plain_arguments
    for i in function.chosen:
        x = plain[i].array
        vector = np.asarray(random.standard_normal(x.shape).astype(x.dtype))
        with dual_level():
            given = list(plain)
            for j in function.chosen:  # the others move by zeros
                given[j] = make_dual(plain[j], Tensor(vector if j == i else np.zeros_like(plain[j].array)))
            moving = [unpack_dual(y) for y in function.of_plain(given)]
        for number, (y, tangent) in enumerate(moving):
            if tolerance.dtypes and tangent is not None and tangent.dtype != y.dtype:
                return f"Forward AD gradient has dtype mismatch: {tangent.dtype} of a value of {y.dtype}"
            weights = random.standard_normal(y.array.shape).astype(y.array.dtype)

            def along(step: float, i: int = i, x: np.ndarray = x, vector: Any = vector, number: int = number, w: Any = weights) -> Any:
                moved = Tensor(np.asarray(x + step * vector))
                return np.asarray((function.of_plain([moved if j == i else a for j, a in enumerate(plain)])[number].array * w).sum())

            wanted = _difference(along, 0.0, x.dtype, tolerance.step)
            said = 0.0 if tangent is None else float((tangent.array * weights).sum())
            weight = float(np.abs(weights).sum() * np.abs(vector).sum())
            if not _is_near(said, wanted) and not tolerance.allows(said, wanted.value, weight):
                return (
                    f"Jacobian computed with forward mode mismatch for output {number} with respect to input {i}: {said!r} where "
                    f"differences give {wanted.value!r} (error about {wanted.error:.1g})"
                )
    return None


# -- What gradients of a function must be beside right, as ``gradcheck`` asks: zero where nothing comes
# in. Each check gives what is wrong, or None.


_BREAKING = (
    "Backwards compatibility: New undefined gradient support checking feature is enabled by default, but it may break existing callers of "
    'this function. If this is true for you, you can call this function with "check_undefined_grad=False" to disable the feature'
)
_UNDEFINED = "Expected backward function to handle undefined output grads"
_NOT_ZERO = "Expected all input grads to be undefined or zero when all output grads are undefined or zero"


def fault_of_zeros(function: CheckedFunction, roughly: bool) -> str | None:
    """Return whether zeros as cotangents give zeros as gradients.

    roughly  to rounding
    """
    for found in _of_zeros(function, function.outputs):
        if found is not None and not (np.allclose(found.array, 0) if roughly else not found.array.any()):
            return f"backward not multiplied by grad_output: {_largest(found)!r} of a cotangent of zeros"
    return None


def _of_zeros(function: CheckedFunction, outputs: Sequence[Tensor]) -> tuple[Tensor | None, ...]:
    return function.gradients(outputs, [Tensor(np.zeros_like(y.array)) for y in outputs]) if outputs else ()


def _largest(found: Tensor) -> float:
    return float(np.max(np.abs(found.array)))


def fault_of_nothing(function: CheckedFunction) -> str | None:
    """Return whether rules and hooks of the user's take gradients that are not there for zeros: all of them, and those of one result."""
    outputs = function.outputs
    checks: list[Callable[[], Sequence[Any]]] = [lambda: _answers_to_nothing(outputs)]
    if len(outputs) > 1:
        checks += [partial(_of_zeros, function, [*outputs[:i], *outputs[i + 1 :]]) for i in range(len(outputs))]
    for check in checks:
        try:
            found = check()
        except RuntimeError as error:
            warn(_BREAKING)
            return f"{_UNDEFINED}: {error}"
        wrong = next((part for part in found if part is not None and part.array.any()), None)
        if wrong is not None:
            warn(_BREAKING)
            return f"{_NOT_ZERO}: {_largest(wrong)!r}"
    return None


def _answers_to_nothing(outputs: Sequence[Tensor]) -> list[Any]:
    """Return what the user's own say to gradients that are not there: hooks, and functions, which are all that is asked."""
    found: list[Any] = []
    with Mode(recording=False):
        for node in reachable([y.gradient_node() for y in outputs]):
            if node.watch is not None:
                found += [hook(None) for hook in list(node.watch.hooks.values())]
            if node.op is not None and "call" in node.static:
                parts = node(*[None] * node.op.outputs)
                found += parts if isinstance(parts, tuple) else (parts,)
    return found
