"""``torch.autograd.gradcheck`` with exact verdicts.

The function is traced. If the trace says everything that it does, the derivatives are held against the references that the
cross-check of expressions uses; if not (numbers taken out of tensors, a user's `autograd.Function`), against differences extrapolated
to the limit, with their estimated error (C. J. F. Ridders, Advances in Engineering Software 4, 1982). Right gradients pass at any step and
tolerance, wrong ones only if a caller gives a tolerance that allows them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from gradcli.tensors.core.backward import grad
from gradcli.tensors.core.modes import enable_grad, warn
from gradcli.tensors.core.tensor import Tensor

_ATOL, _RTOL = 1e-5, 1e-3  # PyTorch's, of which a caller may give only one


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
    from gradcli.check.jacobian_products import CheckedFunction, Tolerance, backward_fault, fault_of_nothing, fault_of_zeros, forward_fault

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
        checks.append(lambda: fault_of_zeros(function, bool(masked)))
        if check_undefined_grad:
            checks.append(lambda: fault_of_nothing(function))
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
    from gradcli.check.jacobian_products import differentiable

    chosen = [i for i, x in enumerate(arguments) if isinstance(x, Tensor) and x.requires_grad]
    seeds = _as_tuple(grad_outputs)
    if grad_outputs is None:
        random = np.random.default_rng(0)
        with enable_grad():
            outputs = differentiable(func(*arguments))
        seeds = tuple([Tensor(random.uniform(-1, 1, y.shape).astype(y.array.dtype)).requires_grad_() for y in outputs])
    moving = [i for i, x in enumerate((*arguments, *seeds)) if isinstance(x, Tensor) and x.requires_grad]

    def slopes(*given: Any) -> Any:
        for i in moving:  # in forward mode they come without
            given[i].requires_grad_()
        xs = given[: len(arguments)]
        found = grad(differentiable(func(*xs)), [xs[i] for i in chosen], given[len(arguments) :], create_graph=True, allow_unused=True)
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


def _as_tuple(given: Any) -> tuple[Any, ...]:
    return tuple(given) if isinstance(given, (tuple, list)) else (given,)
