"""``torch.autograd.gradcheck`` with exact verdicts.

The function is held as those of other libraries are (`truth.py`): traced, or by differences. Right
gradients pass at any step and tolerance, wrong ones only if a caller gives a tolerance that allows
them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from gradcli.check.verdicts import VariableCheck, Verdict
from gradcli.errors import LimitError
from gradcli.functions.arguments import Subject
from gradcli.tensors.core.backward import grad
from gradcli.tensors.core.dtypes import FLOATS
from gradcli.tensors.core.modes import enable_grad, warn
from gradcli.tensors.core.tensor import Tensor

if TYPE_CHECKING:
    from gradcli.functions.tracing.exact import Exact
    from gradcli.functions.truth import Truth

_ATOL, _RTOL = 1e-5, 1e-3  # PyTorch's defaults, for whichever the caller leaves out
_NEARBY = 1e-3  # relative distance to nearby points
_SURE = 1e-12  # relative error that a right gradient may have beyond rounding
_MOST_ROWS = 64  # most rows of a Jacobian to search for the wrong one when their sum is wrong


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
    """Return whether second derivatives are right.

    This is `gradcheck` of the gradient of func with respect to inputs and seeds.

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
        self.func = func
        self.arguments = arguments
        self.chosen = [i for i, x in enumerate(arguments) if _moves(x)]
        self.inputs: list[Tensor] = [arguments[i] for i in self.chosen]
        self.names = [f"input{i}" for i in self.chosen]
        result = func(*arguments)
        self.floats = _floats(result)
        self.outputs = _differentiable(result)
        self.arrays = {
            name: x.array.copy() for name, x in zip(self.names, self.inputs, strict=True)
        }
        # Raises if shapes or dtypes differ at a nearby point.
        self.at({i: self.arguments[i].array * (1 - _NEARBY) for i in self.chosen}, self._floats_at)

    def subject(self, places: Sequence[int]) -> Subject:
        """Return the function of arrays, or of traced tensors, with some of its float results."""

        def run(*given: Any) -> list[Any]:
            moved = dict(zip(self.chosen, given, strict=True))
            if isinstance(given[0], Tensor):
                found = self._floats_at([moved.get(i, x) for i, x in enumerate(self.arguments)])
                return [found[place] for place in places]
            # Copies, because results may share memory with the arguments, which are moved back.
            copies: list[Any] = self.at(
                moved, lambda given: [y.array.copy() for y in self._floats_at(given)]
            )
            return [copies[place] for place in places]

        return Subject(run, self.arrays, self.names, lambda _name, _value, numbers: numbers)

    def _floats_at(self, given: Sequence[Any]) -> list[Tensor]:
        found = _floats(self.func(*given))
        for what in ("shape", "dtype"):
            if [getattr(y, what) for y in found] != [getattr(y, what) for y in self.floats]:
                raise AssertionError(
                    f"Expected `func` to return outputs with the same {what} when inputs are "
                    "perturbed"
                )
        return found

    def truth(self, y: Tensor, widest: float | None) -> Truth:
        """Return the derivatives of one output by the inputs."""
        from gradcli.functions.tracing.exact import OF_TENSORS
        from gradcli.functions.truth import Truth

        place = next(place for place, z in enumerate(self.floats) if z is y)
        return Truth(self.subject([place]), OF_TENSORS, "gradient", 0.0, 0.0, widest)

    def at(self, moved: Mapping[int, np.ndarray], run: Callable[[list[Any]], Any]) -> Any:
        """Run the function with other entries in some arguments.

        The entries are put into the same tensors, because a function may know these by other names,
        too.
        """
        given = list(self.arguments)
        kept = {}
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
        """Return the products of some results' cotangents with the Jacobian by the inputs.

        The graph is kept. A rule may write into its cotangent, which is a copy.
        """
        copies = [Tensor(cotangent.copy()) for cotangent in cotangents]
        found = grad(outputs, self.inputs, copies, retain_graph=True, allow_unused=True)
        return [
            np.zeros_like(x.array) if g is None else g.array.copy()
            for x, g in zip(self.inputs, found, strict=True)
        ]


class _Tolerance(NamedTuple):
    """Errors that a caller allows beyond rounding.

    They say how far entries of the Jacobian may be from the truth.

    noise   how far gradients of two passes may be apart
    step    the widest one of differences, or None
    sums    whether sums of the Jacobian's rows are judged, and no rows by themselves
    """

    absolute: float
    relative: float
    noise: float
    step: float | None
    sums: bool


def _agrees(exact: Exact, weights: np.ndarray, slopes: Sequence[np.ndarray]) -> bool:
    """Return whether gradients plainly agree with the reference on whole arrays.

    This is asked first because it is quick.
    """
    from gradcli.check.judge import Judge
    from gradcli.reference.algebra import Unsupported
    from gradcli.reference.deadline import Undecided

    scope = exact.scope(exact.subject.floats)
    leaves = dict(exact.trace.leaves)
    found = {name: slope[()] for name, slope in zip(leaves, slopes, strict=True)}
    try:
        decided = Judge(scope, exact.results[0], leaves, weights[()], found).decide_arrays(None)
    except (Unsupported, Undecided, LimitError, ArithmeticError, ValueError, TypeError, IndexError):
        return False
    return decided is not None and all(
        part.verdict is Verdict.AGREE for part in decided[1].values()
    )


def _wrong_derivative(part: VariableCheck) -> str:
    """Name the derivative that is wrong or cannot be known, or return "".

    It cannot be known if the function has no value near the point.
    """
    worst = part.worst
    if worst is None or (part.verdict is not Verdict.MISMATCH and np.isfinite(worst.reference)):
        return ""
    how = part.reason if part.decided_by == "differences" else "exactly"
    return (
        f", input entry {list(worst.index)}: {worst.engine!r} where the derivative is "
        f"{worst.reference!r} ({how})"
    )


def _backward_fault(function: _Function, tolerance: _Tolerance) -> str | None:
    """Return what is wrong in the Jacobian as backward passes give it; None if nothing is."""
    if function.outputs:
        faults = (
            _rows_fault(function, number, y, tolerance) for number, y in enumerate(function.outputs)
        )
        return next(filter(None, faults), None)
    whole = function.subject(range(len(function.floats)))
    there = whole.numbers({name: x * (1 + _NEARBY) + _NEARBY for name, x in whole.floats.items()})
    if all(np.array_equal(y, z, equal_nan=True) for y, z in zip(whole.value, there, strict=True)):
        return None
    return (
        "Numerical gradient for function expected to be zero. No result requires a gradient, "
        "and yet they depend on the input"
    )


def _rows_fault(function: _Function, number: int, y: Tensor, tolerance: _Tolerance) -> str | None:
    """Return the fault in the Jacobian's rows of one output, or None.

    They are judged by a sum with random weights: a wrong row is orthogonal to none.

    If the sum is wrong, each row is judged, within the tolerance if there is one, unless a sum of
    rows is enough.
    """
    shape = y.array.shape
    truth = function.truth(y, tolerance.step)

    def wrong(
        weights: np.ndarray, slopes: Sequence[np.ndarray], allowed: bool, entry: str = ""
    ) -> str:
        truth.rtol = _SURE
        truth.atol = 0.0
        if allowed:
            truth.rtol = tolerance.relative
            truth.atol = tolerance.absolute * float(np.abs(weights).sum())
        elif truth.exact is not None and _agrees(truth.exact, weights, slopes):
            return ""
        check = truth.check([weights], dict(zip(function.names, slopes, strict=True)))
        for i, name in zip(function.chosen, function.names, strict=True):
            if said := _wrong_derivative(check.variables[name]):
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
