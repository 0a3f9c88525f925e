"""``torch.autograd.gradcheck`` with exact verdicts.

The function is traced. If the trace says everything that it does, the derivatives are held against
the references that the cross-check of expressions uses; if not (numbers taken out of tensors, a
user's `autograd.Function`), against differences extrapolated to the limit, with their estimated
error. Right gradients pass at any step and tolerance, wrong ones only if a caller gives a tolerance
that allows them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from gradcli.functions.arguments import Subject
from gradcli.functions.differences import by_differences
from gradcli.report.records import Record
from gradcli.report.verdicts import VariableCheck, Verdict
from gradcli.tensors.core.backward import grad
from gradcli.tensors.core.dtypes import FLOATS
from gradcli.tensors.core.modes import enable_grad, warn
from gradcli.tensors.core.tensor import Tensor
from gradcli.tensors.core.trace import Trace, trace_call

if TYPE_CHECKING:
    from gradcli.check.judge import Judge

_ATOL, _RTOL = 1e-5, 1e-3  # PyTorch's, of which a caller may give only one
_NEARBY = 1e-3  # of an entry: how far points nearby are moved
_SURE = 1e-9  # relative: what differences are not asked for
_MOST_ROWS = 64  # of a Jacobian, one of which is named where their sum is wrong


class GradcheckError(RuntimeError):
    """A gradient is wrong."""


def gradcheck(
    func: Callable[..., Any], inputs: Any, *, eps: float | None = None, atol: float | None = None, rtol: float | None = None,
    raise_exception: bool = True, nondet_tol: float = 0.0, fast_mode: bool = False,
) -> bool:  # fmt: skip
    """Return whether the gradients of func with respect to the inputs that require grad are right.

    Raises `GradcheckError` if not.

    eps              the widest step where differences decide; None for several, down to what
                     rounding leaves
    atol, rtol       how far an entry of the Jacobian may be from the truth; None of both: as far as
                     rounding explains
    raise_exception  False to be told by the result
    nondet_tol       how far gradients of two passes may be apart, and each from the truth
    fast_mode        whether atol and rtol are of a sum of the Jacobian's rows, and not of each
    """
    arguments = _as_tuple(inputs)
    _check_inputs(arguments)
    given = atol is not None or rtol is not None
    absolute, relative = (
        (_ATOL if atol is None else atol, _RTOL if rtol is None else rtol) if given else (0.0, 0.0)
    )
    tolerance = _Tolerance(absolute + nondet_tol, relative, nondet_tol, eps, fast_mode)
    with enable_grad():
        function = _Function(func, arguments)
        fault = _backward_fault(function, tolerance) or _fault_of_zeros(function)
    if fault and raise_exception:
        raise GradcheckError(fault)
    return not fault


def gradgradcheck(
    func: Callable[..., Any], inputs: Any, grad_outputs: Any = None, **options: Any
) -> bool:
    """Return the same for second derivatives:

    `gradcheck` of the gradient of func with respect to inputs and seeds.

    grad_outputs  the seeds; None for random ones
    options       those of `gradcheck`
    """
    arguments = _as_tuple(inputs)
    _check_inputs(arguments)
    chosen = [i for i, x in enumerate(arguments) if _moves(x)]
    seeds = _as_tuple(grad_outputs)
    if grad_outputs is None:
        random = np.random.default_rng(0)
        with enable_grad():
            outputs = _differentiable(func(*arguments))
        seeds = tuple(
            [
                Tensor(random.uniform(-1, 1, y.shape).astype(y.array.dtype)).requires_grad_()
                for y in outputs
            ]
        )

    def slopes(*given: Any) -> Any:
        xs = given[: len(arguments)]
        found = grad(
            _differentiable(func(*xs)),
            [xs[i] for i in chosen],
            given[len(arguments) :],
            create_graph=True,
            allow_unused=True,
        )
        return tuple([part for part in found if part is not None])

    return gradcheck(slopes, (*arguments, *seeds), **options)


def _check_inputs(arguments: tuple[Any, ...]) -> None:
    """Raise unless some input requires grad, and can be moved entry by entry."""
    for i, x in enumerate(arguments):
        if not _moves(x):
            continue
        if x.array.dtype != np.float64:
            warn(
                f"Input #{i} requires gradient and is not a double precision floating point or "
                "complex. What is checked of it is right to "
                f"the digits of {x.dtype} only."
            )
        if not all(
            stride > 0 or size <= 1 for stride, size in zip(x.stride(), x.shape, strict=True)
        ):
            raise RuntimeError(
                f"The {i}th input has a dimension with stride 0. gradcheck only supports inputs "
                "that are non-overlapping to be able to "
                "compute the numerical gradients correctly. You should call .contiguous on the "
                "input before passing it to gradcheck."
            )
    if not any(map(_moves, arguments)):
        raise ValueError(
            "gradcheck expects at least one input tensor to require gradient, but none of them "
            "have requires_grad=True."
        )


def _as_tuple(given: Any) -> tuple[Any, ...]:
    return tuple(given) if isinstance(given, (tuple, list)) else (given,)


def _moves(x: Any) -> bool:
    return isinstance(x, Tensor) and x.requires_grad


def _differentiable(result: Any) -> list[Tensor]:
    return list(filter(_moves, _as_tuple(result)))


def _floats(result: Any) -> list[Tensor]:
    return [y for y in _as_tuple(result) if isinstance(y, Tensor) and y.array.dtype.kind in FLOATS]


class _Function:
    """A function at one point, at which it has run once.

    floats   the results that are floats
    outputs  those that require grad
    """

    def __init__(self, func: Callable[..., Any], arguments: tuple[Any, ...]) -> None:
        self.func, self.arguments = func, arguments
        self.chosen = [i for i, x in enumerate(arguments) if _moves(x)]
        self.inputs: list[Tensor] = [arguments[i] for i in self.chosen]
        self.names = [f"input{i}" for i in self.chosen]
        result, self._run = trace_call(func, arguments, self.inputs, self.names)
        self.floats, self.outputs = _floats(result), _differentiable(result)
        arrays = {name: x.array.copy() for name, x in zip(self.names, self.inputs, strict=True)}
        self.subject = Subject(
            self._numbers, arrays, self.names, lambda _name, _value, numbers: numbers
        )

    def _numbers(self, *arrays: np.ndarray) -> Any:
        """Return its results that are floats: copies, for they may share the memory of what is
        moved back.
        """
        moved = dict(zip(self.chosen, arrays, strict=True))
        return self.at(moved, lambda given: [y.array.copy() for y in _floats(self.func(*given))])

    @cached_property
    def trace(self) -> Trace | None:
        """Trace what the function does, if that says everything: nothing that requires grad comes
        from nowhere, and its constants are some at the points nearby, too, on either side.
        """
        trace = self._run
        for y in self.outputs:
            trace.node_of(y)  # a result that came from nowhere makes the trace opaque
        whole = True
        for side in (1, -1):
            result, other = self._nearby(side)
            for y, z in zip(self.outputs, _differentiable(result), strict=False):
                for what in ("shape", "dtype"):
                    if getattr(y, what) != getattr(z, what):
                        raise AssertionError(
                            f"Expected `func` to return outputs with the same {what} when inputs "
                            "are perturbed"
                        )
            whole = whole and not trace.opaque and trace.same_steps(other)
        return trace if whole else None

    def _nearby(self, side: int) -> tuple[Any, Trace]:
        random = np.random.default_rng(1)
        noise = [1 + side * _NEARBY * random.uniform(-1, 1, x.array.shape) for x in self.inputs]
        moved = {
            i: self.arguments[i].array * factor
            for i, factor in zip(self.chosen, noise, strict=True)
        }
        found: tuple[Any, Trace] = self.at(
            moved,
            lambda given: trace_call(self.func, given, [given[i] for i in self.chosen], self.names),
        )
        return found

    def at(self, moved: Mapping[int, np.ndarray], run: Callable[[list[Any]], Any]) -> Any:
        """Run it with other entries in some arguments: in the same tensors, which a function may
        know by other names, too.
        """
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

    def gradients(
        self, outputs: Sequence[Tensor], cotangents: Sequence[np.ndarray]
    ) -> list[np.ndarray]:
        """Return the products of cotangents of some results with the Jacobian by the inputs; the
        graph is kept.

        A rule may write into its cotangent, which is a copy.
        """
        copies = [Tensor(cotangent.copy()) for cotangent in cotangents]
        found = grad(outputs, self.inputs, copies, retain_graph=True, allow_unused=True)
        return [
            np.zeros_like(x.array) if g is None else g.array.copy()
            for x, g in zip(self.inputs, found, strict=True)
        ]


# -- Sums of a Jacobian's rows before the references: those of whole arrays first, which are quick,
# and those of multi-precision.


def _by_reference(
    function: _Function, trace: Trace, y: Tensor, weights: np.ndarray, slopes: Sequence[np.ndarray]
) -> Mapping[str, VariableCheck] | None:
    """Return the verdicts of the references on the gradient by each input; None if they cannot
    decide.

    Whole arrays in long double are asked first: what agrees with them, within what rounding
    explains, is right. What does not is asked for in multi-precision.
    """
    from gradcli.check.crosscheck import cross_check
    from gradcli.check.judge import Judge
    from gradcli.language.scope import Scope

    scope = Scope(precision="float32" if y.array.dtype == np.float32 else "float64")
    scope.graph = trace.graph
    scope.in_passing = (
        True  # nobody asks for a proof by sympy, nor how a wrong rule could be mended
    )
    for name, x in zip(function.names, function.inputs, strict=True):
        scope.values[trace.leaves[name]] = x.array[()]
        scope.names[name] = trace.leaves[name]
    found = {name: slope[()] for name, slope in zip(function.names, slopes, strict=True)}
    root, wrt = trace.node_of(y), dict(trace.leaves)
    if _agrees(Judge(scope, root, wrt, weights[()], found)):
        return {}
    check = cross_check(
        scope, root, wrt, Record("", value=y.array[()], seed=weights[()], grad=found), None
    )
    return (
        None
        if check.verdict in (Verdict.UNDETERMINED, Verdict.SKIPPED, Verdict.UNDEFINED)
        else check.variables
    )


def _agrees(judge: Judge) -> bool:
    """Return whether gradients are plainly those of the reference on whole arrays."""
    from gradcli.errors import LimitError
    from gradcli.reference.algebra import Unsupported
    from gradcli.reference.deadline import Undecided

    try:
        decided = judge.decide_arrays(None)
    except (Unsupported, Undecided, LimitError, ArithmeticError, ValueError, TypeError, IndexError):
        return False
    return decided is not None and all(
        part.verdict is Verdict.AGREE for part in decided[1].values()
    )


class _Tolerance(NamedTuple):
    """The errors that a caller allows beyond rounding: how far entries of the Jacobian may be from
    the truth.

    noise   how far gradients of two passes may be apart
    step    the widest one of differences, or None
    sums    whether sums of the Jacobian's rows are judged, and no rows by themselves
    """

    absolute: float
    relative: float
    noise: float
    step: float | None
    sums: bool


def _wrong_derivative(part: VariableCheck | None, how: str = "") -> str:
    """Return which derivative is wrong ("" if none is), or cannot be known, for the function has no
    value beside the point.
    """
    if (
        part is None
        or part.worst is None
        or (part.verdict is not Verdict.MISMATCH and np.isfinite(part.worst.reference))
    ):
        return ""
    worst = part.worst
    return (
        f", input entry {list(worst.index)}: {worst.engine!r} where the derivative is "
        f"{worst.reference!r} ({how or part.reason})"
    )


def _backward_fault(function: _Function, tolerance: _Tolerance) -> str | None:
    """Return what is wrong in the Jacobian as backward passes give it; None if nothing is."""
    if function.outputs:
        trace = function.trace
        faults = (
            _rows_fault(function, trace, number, y, tolerance)
            for number, y in enumerate(function.outputs)
        )
        return next(filter(None, faults), None)
    there = function.subject.numbers(
        {name: x * (1 + _NEARBY) + _NEARBY for name, x in function.subject.floats.items()}
    )
    if all(
        np.array_equal(y, z, equal_nan=True)
        for y, z in zip(function.subject.value, there, strict=True)
    ):
        return None
    return (
        "Numerical gradient for function expected to be zero. No result requires a gradient, "
        "and yet they depend on the input"
    )


def _rows_fault(
    function: _Function, trace: Trace | None, number: int, y: Tensor, tolerance: _Tolerance
) -> str | None:
    """Return what is wrong in the Jacobian's rows of one output, judged by a sum with random
    weights: a wrong row is orthogonal to none.

    What is wrong there, and allowed within some tolerance, is asked of differences: of each row,
    unless a sum of them is enough.
    trace  says everything that the function does, or None: then differences decide
    """
    floats, shape = function.floats, y.array.shape

    def wrong(
        weights: np.ndarray, slopes: Sequence[np.ndarray], allowed: bool, entry: str = ""
    ) -> str:
        parts = (
            None if trace is None or allowed else _by_reference(function, trace, y, weights, slopes)
        )
        seeds = [weights if z is y else np.zeros(z.shape) for z in floats]
        rtol, atol = _SURE, 0.0
        if allowed:
            rtol, atol = tolerance.relative, tolerance.absolute * float(np.abs(weights).sum())
        for i, name, claimed in zip(function.chosen, function.names, slopes, strict=True):
            if parts is None:
                part = by_differences(
                    function.subject, name, seeds, claimed, rtol, atol, tolerance.step
                )
                said = _wrong_derivative(part)
            else:
                said = _wrong_derivative(parts.get(name), "exactly")
            if said:
                where = f"output {number} with respect to input {i}{entry}"
                return f"Jacobian mismatch for {where}{said}"
        return ""

    weights = np.asarray(np.random.default_rng(0).standard_normal(shape).astype(y.array.dtype))
    found, again = (function.gradients([y], [weights]) for _ in range(2))
    noise = tolerance.noise
    for part, other in zip(found, again, strict=True):
        if not np.allclose(part, other, rtol=0, atol=noise, equal_nan=True):
            return (
                "Backward is not reentrant: it gives different values each time. The "
                f"tolerance for nondeterminism was {noise}."
            )
    fault = wrong(weights, found, False)
    allows = bool(tolerance.absolute or tolerance.relative)
    if not fault or (not allows and weights.size > _MOST_ROWS):
        return fault
    if allows and tolerance.sums:
        return wrong(weights, function.gradients([y], [weights]), True) or None
    rows = np.eye(weights.size, dtype=weights.dtype).reshape(weights.size, *shape)
    for place, row in zip(np.ndindex(shape), rows, strict=True):
        entry = f", output entry {list(place)}" if place else ""
        if said := wrong(row, function.gradients([y], [row]), allows, entry):
            return said
    return None if allows else fault


def _fault_of_zeros(function: _Function) -> str | None:
    """Return what is wrong in gradients of zeros as cotangents, which are zeros."""
    zeros = [np.zeros_like(y.array) for y in function.outputs]
    for found in function.gradients(function.outputs, zeros) if zeros else ():
        if found.any():
            return (
                "backward not multiplied by grad_output: "
                f"{float(np.max(np.abs(found)))!r} of a cotangent of zeros"
            )
    return None
