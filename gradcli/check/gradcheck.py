"""``torch.autograd.gradcheck`` with exact verdicts.

The function is traced. If the trace says everything that it does, the derivatives are held against the references that the
cross-check of expressions uses; if not (numbers taken out of tensors, a user's `autograd.Function`), against differences extrapolated
to the limit, with their estimated error (C. J. F. Ridders, Advances in Engineering Software 4, 1982). Right gradients pass at any step and
tolerance, wrong ones only if a caller gives a tolerance that allows them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property, partial
from typing import Any

import numpy as np

from gradcli.graph.nodes import reachable
from gradcli.tensors.core.backward import grad
from gradcli.tensors.core.dtypes import FLOATS
from gradcli.tensors.core.modes import Mode, enable_grad, warn
from gradcli.tensors.core.tensor import Tensor
from gradcli.tensors.core.trace import Trace, traced

_ATOL, _RTOL = 1e-5, 1e-3  # PyTorch's, of which a caller may give only one
_NEARBY = 1e-3  # of an entry: how far points nearby are moved


class GradcheckError(RuntimeError):
    """A gradient is wrong."""


def gradcheck(
    func: Callable[..., Any], inputs: Any, *, eps: float | None = None, atol: float | None = None, rtol: float | None = None,
    raise_exception: bool = True, nondet_tol: float = 0.0, check_undefined_grad: bool = True, check_grad_dtypes: bool = False,
    check_forward_ad: bool = False, check_backward_ad: bool = True, fast_mode: bool = False, masked: bool | None = None,
) -> bool:  # fmt: skip
    """Return whether the gradients of func with respect to the inputs that require grad are right. Raises `GradcheckError` if not.

    eps                   the widest step where differences decide; None for several, down to what rounding leaves
    atol, rtol            how far an entry of the Jacobian may be from the truth; None of both: as far as rounding explains
    raise_exception       False to be told by the result
    nondet_tol            how far gradients of two passes may be apart, and each from the truth
    check_undefined_grad  whether rules must take gradients that are not there for zeros
    check_grad_dtypes     whether gradients must have their input's dtype
    check_forward_ad      whether tangents are checked
    check_backward_ad     whether gradients are checked
    fast_mode             what is wrong is told of a sum of the Jacobian's rows, and not looked for in each
    masked                whether a gradient of zeros must be zero to rounding only
    """
    if not (check_forward_ad or check_backward_ad):
        raise AssertionError("Expected at least one of check_forward_ad or check_backward_ad to be True")
    arguments = _as_tuple(inputs)
    _check_inputs(arguments)
    from gradcli.check.jacobian_products import Tolerance, backward_fault, forward_fault

    given = atol is not None or rtol is not None
    absolute, relative = (_ATOL if atol is None else atol, _RTOL if rtol is None else rtol) if given else (0.0, 0.0)
    tolerance = Tolerance(absolute + nondet_tol, relative, nondet_tol, eps, fast_mode, check_grad_dtypes)
    function = CheckedFunction(func, arguments)
    checks: list[Callable[[], str | None]] = []
    if check_backward_ad:
        checks.append(lambda: backward_fault(function, tolerance))
    if check_forward_ad:
        checks.append(lambda: forward_fault(function, tolerance))
    if check_backward_ad:
        checks.append(lambda: _fault_of_zeros(function, bool(masked)))
        if check_undefined_grad:
            checks.append(lambda: _fault_of_nothing(function))
    with enable_grad():
        for check in checks:
            fault = check()
            if fault is not None:
                if raise_exception:
                    raise GradcheckError(fault)
                return False
    return True


def gradgradcheck(
    func: Callable[..., Any], inputs: Any, grad_outputs: Any = None, *, check_fwd_over_rev: bool = False, check_rev_over_rev: bool = True,
    **options: Any,
) -> bool:  # fmt: skip
    """Return the same for second derivatives: `gradcheck` of the gradient of func with respect to inputs and seeds.

    grad_outputs        the seeds; None for random ones
    check_fwd_over_rev  whether tangents of the gradient are checked
    check_rev_over_rev  whether gradients of the gradient are checked
    options             the others of `gradcheck`
    """
    if not (check_fwd_over_rev or check_rev_over_rev):
        raise AssertionError("Expected at least one of check_fwd_over_rev or check_rev_over_rev to be True")
    arguments = _as_tuple(inputs)
    _check_inputs(arguments)
    chosen = [i for i, x in enumerate(arguments) if isinstance(x, Tensor) and x.requires_grad]
    seeds = _as_tuple(grad_outputs)
    if grad_outputs is None:
        random = np.random.default_rng(0)
        with enable_grad():
            outputs = _differentiable(func(*arguments))
        seeds = tuple([Tensor(random.uniform(-1, 1, y.shape).astype(y.array.dtype)).requires_grad_() for y in outputs])
    moving = [i for i, x in enumerate((*arguments, *seeds)) if isinstance(x, Tensor) and x.requires_grad]

    def slopes(*given: Any) -> Any:
        for i in moving:  # in forward mode they come without
            given[i].requires_grad_()
        xs = given[: len(arguments)]
        found = grad(
            _differentiable(func(*xs)), [xs[i] for i in chosen], given[len(arguments) :], create_graph=True, allow_unused=True
        )
        return tuple([part for part in found if part is not None])

    return gradcheck(
        slopes, (*arguments, *seeds), check_forward_ad=check_fwd_over_rev, check_backward_ad=check_rev_over_rev, **options
    )  # fmt: skip


def _check_inputs(arguments: tuple[Any, ...]) -> None:
    """Raise unless some input requires grad, and can be moved entry by entry."""
    some = False
    for i, x in enumerate(arguments):
        if not (isinstance(x, Tensor) and x.requires_grad):
            continue
        some = True
        if x.array.dtype != np.float64:
            warn(
                f"Input #{i} requires gradient and is not a double precision floating point or complex. What is checked of it is right to "
                f"the digits of {x.dtype} only."
            )
        if not all(stride > 0 or size <= 1 for stride, size in zip(x.stride(), x.shape, strict=True)):
            raise RuntimeError(
                f"The {i}th input has a dimension with stride 0. gradcheck only supports inputs that are non-overlapping to be able to "
                "compute the numerical gradients correctly. You should call .contiguous on the input before passing it to gradcheck."
            )
    if not some:
        raise ValueError("gradcheck expects at least one input tensor to require gradient, but none of them have requires_grad=True.")


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
        return _differentiable(self._run[0])

    @cached_property
    def trace(self) -> Trace | None:
        """What the function does, if its trace says everything: nothing that requires grad comes from nowhere, and its constants are some
        at the points nearby, too, on either side."""
        trace = self._run[1]
        for y in self.outputs:
            trace.node_of(y)  # a result that came from nowhere makes the trace opaque
        whole = True
        for side in (1, -1):
            result, other = self._nearby(side)
            self._check_alike(_differentiable(result))
            whole = whole and not trace.opaque and trace.same_steps(other)
        return trace if whole else None

    def _nearby(self, side: int) -> tuple[Any, Trace]:
        random = np.random.default_rng(1)
        noise = [1 + side * _NEARBY * random.uniform(-1, 1, x.array.shape) for x in self.inputs]
        moved = {i: self.arguments[i].array * factor for i, factor in zip(self.chosen, noise, strict=True)}
        found: tuple[Any, Trace] = self.at(moved, lambda given: traced(self.func, given, [given[i] for i in self.chosen], self.names))
        return found

    def _check_alike(self, others: Sequence[Tensor]) -> None:
        """Raise if results nearby are of other shapes or dtypes."""
        for y, z in zip(self.outputs, others, strict=False):
            if y.shape != z.shape or y.dtype != z.dtype:
                what, here, there = ("shape", y.shape, z.shape) if y.shape != z.shape else ("dtype", y.dtype, z.dtype)
                raise AssertionError(
                    f"Expected `func` to return outputs with the same {what} when inputs are perturbed by {_NEARBY} of them, but got: "
                    f"{what}s {here} and {there}."
                )

    def at(self, moved: Mapping[int, np.ndarray], run: Callable[[list[Any]], Any]) -> Any:
        """What comes of a run with other entries in some arguments: in the same tensors, which a function may know by other names, too."""
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
        found: np.ndarray = self.at({i: entries}, lambda given: _differentiable(self.func(*given))[number].array.copy())
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


def _differentiable(result: Any) -> list[Tensor]:
    return [y for y in _as_tuple(result) if isinstance(y, Tensor) and y.requires_grad]


def _floats(result: Any) -> list[Tensor]:
    return [y for y in _as_tuple(result) if isinstance(y, Tensor) and y.array.dtype.kind in FLOATS]


# -- What gradients of a function must be beside right, as ``gradcheck`` asks: zero where nothing comes
# in. Each check gives what is wrong, or None.


_BREAKING = (
    "Backwards compatibility: New undefined gradient support checking feature is enabled by default, but it may break existing callers of "
    'this function. If this is true for you, you can call this function with "check_undefined_grad=False" to disable the feature'
)
_UNDEFINED = "Expected backward function to handle undefined output grads"
_NOT_ZERO = "Expected all input grads to be undefined or zero when all output grads are undefined or zero"


def _fault_of_zeros(function: CheckedFunction, roughly: bool) -> str | None:
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


def _fault_of_nothing(function: CheckedFunction) -> str | None:
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
