"""``torch.autograd.gradcheck`` with exact verdicts.

The function is traced. If the trace says everything that it does, the derivatives are held against the references that the
cross-check of expressions uses; if not (numbers taken out of tensors, a user's `autograd.Function`), against differences extrapolated
to the limit, with their estimated error (C. J. F. Ridders, Advances in Engineering Software 4, 1982). Right gradients pass at any step and
tolerance, wrong ones only if a caller gives a tolerance that allows them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from gradcli.check.checked_function import CheckedFunction
from gradcli.graph.nodes import reachable
from gradcli.tensors.core.backward import grad
from gradcli.tensors.core.modes import Mode, enable_grad, warn
from gradcli.tensors.core.tensor import Tensor
from gradcli.tensors.transforms.derivatives import dual_level, make_dual, unpack_dual
from gradcli.tensors.transforms.vectorizing import vmap

_ATOL, _RTOL = 1e-5, 1e-3  # PyTorch's, of which a caller may give only one


class GradcheckError(RuntimeError):
    """A gradient is wrong."""


def gradcheck(
    func: Callable[..., Any], inputs: Any, *, eps: float | None = None, atol: float | None = None, rtol: float | None = None,
    raise_exception: bool = True, nondet_tol: float = 0.0, check_undefined_grad: bool = True, check_grad_dtypes: bool = False,
    check_batched_grad: bool = False, check_batched_forward_grad: bool = False, check_forward_ad: bool = False,
    check_backward_ad: bool = True, fast_mode: bool = False, masked: bool | None = None,
) -> bool:  # fmt: skip
    """Return whether the gradients of func with respect to the inputs that require grad are right. Raises `GradcheckError` if not.

    eps                         the widest step where differences decide; None for several, down to what rounding leaves
    atol, rtol                  how far an entry of the Jacobian may be from the truth; None of both: as far as rounding explains
    raise_exception             False to be told by the result
    nondet_tol                  how far gradients of two passes may be apart, and each from the truth
    check_undefined_grad        whether rules must take gradients that are not there for zeros
    check_grad_dtypes           whether gradients must have their input's dtype
    check_batched_grad          whether gradients of many cotangents at once must be those of one after the other
    check_batched_forward_grad  the same of tangents
    check_forward_ad            whether tangents are checked
    check_backward_ad           whether gradients are checked
    fast_mode                   what is wrong is told of a sum of the Jacobian's rows, and not looked for in each
    masked                      whether a gradient of zeros must be zero to rounding only
    """
    for asked, needed, name, other in (
        (True, check_forward_ad or check_backward_ad, "at least one of check_forward_ad or check_backward_ad", None),
        (check_batched_grad, check_backward_ad, "check_batched_grad", "check_backward_ad"),
        (check_batched_forward_grad, check_forward_ad, "check_batched_forward_grad", "check_forward_ad"),
    ):
        if asked and not needed:
            raise AssertionError(f"Expected {name} to be True" if other is None else _requires(name, other))
    arguments = _as_tuple(inputs)
    _check_inputs(arguments)
    from gradcli.check.checked_function import CheckedFunction
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
        if check_undefined_grad:
            checks.append(lambda: undefined_tangents(function))
    if check_batched_forward_grad:
        checks.append(lambda: batched_tangents(function))
    if check_batched_grad:
        checks.append(lambda: batched(function))
    if check_backward_ad:
        checks.append(lambda: multiplied(function, bool(masked)))
        if check_undefined_grad:
            checks.append(lambda: undefined(function))
    with enable_grad():
        for check in checks:
            fault = check()
            if fault is not None:
                if raise_exception:
                    raise GradcheckError(fault)
                return False
    return True


def gradgradcheck(
    func: Callable[..., Any], inputs: Any, grad_outputs: Any = None, *, eps: float | None = None, atol: float | None = None,
    rtol: float | None = None, gen_non_contig_grad_outputs: bool = False, raise_exception: bool = True, nondet_tol: float = 0.0,
    check_undefined_grad: bool = True, check_grad_dtypes: bool = False, check_batched_grad: bool = False, check_fwd_over_rev: bool = False,
    check_rev_over_rev: bool = True, fast_mode: bool = False, masked: bool = False,
) -> bool:  # fmt: skip
    """The same for second derivatives: `gradcheck` of the gradient of func with respect to inputs and seeds.

    grad_outputs                 the seeds; None for random ones
    gen_non_contig_grad_outputs  whether random seeds lie in memory with gaps
    check_fwd_over_rev           whether tangents of the gradient are checked
    check_rev_over_rev           whether gradients of the gradient are checked
    """
    if not (check_fwd_over_rev or check_rev_over_rev):
        raise AssertionError("Expected at least one of check_fwd_over_rev or check_rev_over_rev to be True")
    for name, asked in (("check_undefined_grad", check_undefined_grad), ("check_batched_grad", check_batched_grad)):
        if asked and not check_rev_over_rev:
            raise AssertionError(_requires(name, "check_rev_over_rev"))
    arguments = _as_tuple(inputs)
    _check_inputs(arguments)
    chosen = [i for i, x in enumerate(arguments) if isinstance(x, Tensor) and x.requires_grad]
    if grad_outputs is None:
        with enable_grad():
            seeds = _seeds([y for y in _as_tuple(func(*arguments)) if y.requires_grad], gen_non_contig_grad_outputs)
    else:
        seeds = _as_tuple(grad_outputs)
    moving = [i for i, x in enumerate((*arguments, *seeds)) if isinstance(x, Tensor) and x.requires_grad]

    def slopes(*given: Any) -> Any:
        for i in moving:  # in forward mode they come without
            given[i].requires_grad_()
        xs = given[: len(arguments)]
        ys = [y for y in _as_tuple(func(*xs)) if y.requires_grad]
        found = grad(ys, [xs[i] for i in chosen], given[len(arguments) :], create_graph=True, allow_unused=True)
        return tuple([part for part in found if part is not None])

    return gradcheck(
        slopes, (*arguments, *seeds), eps=eps, atol=atol, rtol=rtol, raise_exception=raise_exception, nondet_tol=nondet_tol,
        check_undefined_grad=check_undefined_grad, check_grad_dtypes=check_grad_dtypes, check_batched_grad=check_batched_grad,
        check_forward_ad=check_fwd_over_rev, check_backward_ad=check_rev_over_rev, fast_mode=fast_mode, masked=masked,
    )  # fmt: skip


def _requires(name: str, other: str) -> str:
    return f"Setting {name}=True requires {other} to be True"


def _as_tuple(inputs: Any) -> tuple[Any, ...]:
    return tuple(inputs) if isinstance(inputs, (tuple, list)) else (inputs,)


def _seeds(outputs: list[Tensor], gaps: bool) -> tuple[Tensor, ...]:
    """Random cotangents of results, to be differentiated by."""
    random = np.random.default_rng(0)
    seeds = []
    for y in outputs:
        entries = random.uniform(-1, 1, (*y.array.shape, 2))[..., 0] if gaps else random.uniform(-1, 1, y.array.shape)
        seeds.append(Tensor(np.asarray(entries) if y.array.dtype == np.float64 else np.asarray(entries).astype(y.array.dtype)))
    return tuple([seed.requires_grad_() for seed in seeds])


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


# -- What gradients and tangents of a function must be beside right, as ``gradcheck`` asks: zero
# where nothing comes in, and in batches what they are one by one. Each check gives what is
# wrong, or None.


_BATCH = 2
_BREAKING = (
    "Backwards compatibility: New undefined gradient support checking feature is enabled by default, but it may break existing callers of "
    'this function. If this is true for you, you can call this function with "check_undefined_grad=False" to disable the feature'
)
_UNDEFINED = "Expected backward function to handle undefined output grads"
_NOT_ZERO = "Expected all input grads to be undefined or zero when all output grads are undefined or zero"


def multiplied(function: CheckedFunction, roughly: bool) -> str | None:
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


def undefined(function: CheckedFunction) -> str | None:
    """Return whether rules and hooks of the user's take gradients that are not there for zeros: all of them, and those of one result."""
    outputs = function.outputs
    checks: list[Callable[[], Sequence[Any]]] = [lambda: _of_nothing(outputs)]
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


def _of_nothing(outputs: Sequence[Tensor]) -> list[Any]:
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


def batched(function: CheckedFunction) -> str | None:
    """Return whether gradients of several cotangents at once are those of one after the other."""
    random = np.random.default_rng(2)
    for number, y in enumerate(function.outputs):
        seeds = random.standard_normal((_BATCH, *y.array.shape)).astype(y.array.dtype)
        wanted = [function.gradients([y], [Tensor(np.asarray(seed))]) for seed in seeds]
        try:
            found = function.gradients([y], [Tensor(seeds)], is_grads_batched=True)
        except RuntimeError as error:
            return f"While computing batched gradients, got: {error}"
        for i, part, rows in zip(function.chosen, found, zip(*wanted, strict=True), strict=True):
            fault = _unlike(part, rows, function.arguments[i])
            if fault is not None:
                return f"For output {number} and input {i}:\n\ngradcheck failed while testing batched gradient computation.\n\n{fault}"
    return None


def _unlike(found: Tensor | None, rows: Sequence[Tensor | None], like: Tensor) -> str | None:
    """Return what is said of a batch that is not its examples; None means zeros."""
    wanted = np.stack([np.zeros_like(like.array) if row is None else row.array for row in rows])
    got = np.zeros_like(wanted) if found is None else found.array
    return None if np.allclose(got, wanted, rtol=1e-5, atol=1e-8) else f"Got:\n{Tensor(got)}\n\nExpected:\n{Tensor(wanted)}"


def batched_tangents(function: CheckedFunction) -> str | None:
    """Return whether tangents of several directions at once are those of one after the other."""
    random = np.random.default_rng(2)
    for i in function.chosen:
        x = function.arguments[i]

        def along(direction: Tensor, i: int = i) -> tuple[Tensor, ...]:
            with dual_level():
                given = function.plain_arguments
                given[i] = make_dual(given[i], direction)
                moving = [unpack_dual(y) for y in function.of_plain(given)]
                return tuple([Tensor(np.zeros(tuple(primal.shape))) if tangent is None else tangent for primal, tangent in moving])

        directions = random.standard_normal((_BATCH, *x.array.shape)).astype(x.array.dtype)
        wanted = [along(Tensor(np.asarray(direction))) for direction in directions]
        try:
            found = vmap(along)(Tensor(directions))
        except RuntimeError as error:
            return f"While computing batched gradients, got: {error}"
        for number, (part, rows) in enumerate(zip(found, zip(*wanted, strict=True), strict=True)):
            fault = _unlike(part, rows, rows[0])
            if fault is not None:
                return (
                    f"For output {number} and input {i}:\n\ngradcheck failed while testing batched gradient computation with forward-mode "
                    f"AD.\n\n{fault}"
                )
    return None


def undefined_tangents(function: CheckedFunction) -> str | None:
    """Return whether an input that does not move is what one is that moves by zeros, while the others move."""
    random = np.random.default_rng(3)
    directions = {i: random.standard_normal(function.arguments[i].array.shape) for i in function.chosen}
    for i in function.chosen:
        with dual_level():
            given = function.plain_arguments
            for j in function.chosen:
                entries = np.zeros_like(given[j].array) if j == i else directions[j].astype(given[j].array.dtype)
                given[j] = make_dual(given[j], Tensor(np.asarray(entries)))
            by_zeros = [unpack_dual(y).tangent for y in function.of_plain(given)]
            given[i] = function.arguments[i].detach()
            by_nothing = [unpack_dual(y).tangent for y in function.of_plain(given)]
        for number, (found, wanted) in enumerate(zip(by_nothing, by_zeros, strict=True)):
            if found is not None and wanted is not None and not np.allclose(found.array, wanted.array, rtol=1e-5, atol=1e-8):
                return (
                    f"Mismatch in tangent values for output with index: {number} when input: {i} has an undefined tangent value. "
                    f"Got: {found} but expected: {wanted}"
                )
    return None
