"""``torch.autograd.functional``: Jacobians, Hessians and products with them, of Python functions of tensors."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from gradcli.tensors.core.backward import grad
from gradcli.tensors.core.levels import NotBatchedError
from gradcli.tensors.core.modes import enable_grad
from gradcli.tensors.core.tensor import Tensor
from gradcli.tensors.torch.namespace import stack
from gradcli.tensors.transforms.derivatives import jacfwd

Tensors = tuple[Tensor, ...]
_NOT_ALLOWED = "This is not allowed in strict mode"
_INDEPENDENT = {  # what depends on nothing, by what was being computed
    "back": f"The output of the user-provided function is independent of input {{}}. {_NOT_ALLOWED}.",
    "back_trick": (
        "The gradient with respect to the input is independent of entry {} in the grad_outputs when using the double backward trick to "
        f"compute forward mode gradients. {_NOT_ALLOWED}."
    ),
    "block": f"Output {{1}} of the user-provided function is independent of input {{0}}. {_NOT_ALLOWED}.",
    "double_back": f"The jacobian of the user-provided function is independent of input {{}}. {_NOT_ALLOWED}.",
}
_WITHOUT_GRAPH = {
    "outputs": (
        "Output {} of the user-provided function does not require gradients. The outputs must be computed in a differentiable manner from "
        "the input when running in strict mode."
    ),
    "jacobian": (
        "While computing the hessian, found that the jacobian of the user-provided function with respect to input {} is independent of the "
        f"input. {_NOT_ALLOWED}. You should ensure that your function is twice differentiable and that the jacobian depends on the "
        "inputs (this would be violated by a linear function for example)."
    ),
    "grad_inputs": f"The gradient with respect to input {{}} is independent of the inputs of the user-provided function. {_NOT_ALLOWED}.",
}


def _as_tuple(given: Any, what: str, function: str) -> tuple[bool, Tensors]:
    single = not isinstance(given, tuple)
    parts = (given,) if single else given
    for i, part in enumerate(parts):
        if not isinstance(part, Tensor):
            which = f"given {what}" if single else f"value at index {i}"
            raise TypeError(
                f"The {what} given to {function} must be either a Tensor or a tuple of Tensors but the {which} has type {type(part)}."
            )
    return single, tuple(parts)


def _fresh(inputs: Tensors, create_graph: bool) -> Tensors:
    """Inputs that a gradient can be taken to, connected to the caller's graph only if a graph is wanted."""
    return tuple(x.view(x.shape) if create_graph and x.requires_grad else x.detach().requires_grad_() for x in inputs)


def _ones(like: Tensor) -> Tensor:
    return Tensor(np.ones(like.shape, like.dtype.numpy))


def _shaped(single: bool, parts: Sequence[Any]) -> Any:
    return parts[0] if single else tuple(parts)


def _kept(parts: Sequence[Tensor], create_graph: bool) -> Sequence[Tensor]:
    """Results in the graph, if one is wanted."""
    return parts if create_graph else [part.detach() for part in parts]


def _check_graph(parts: Sequence[Tensor | None], what: str, strict: bool) -> None:
    """In strict mode, refuse what depends on no input."""
    if not strict:
        return
    for i, part in enumerate(parts):
        if part is None:
            raise RuntimeError(_INDEPENDENT["back"].format(i))
        if not part.requires_grad:
            raise RuntimeError(_WITHOUT_GRAPH[what].format(i))


def _filled(
    parts: Sequence[Tensor | None], like: Tensors, create_graph: bool, strict: bool, stage: str, lead: tuple[int, ...] = (), place: int = 0
) -> list[Tensor]:
    """Zeros where there is no derivative, which strict mode refuses.

    lead   the extents of a result, in front of those of each input, for the blocks of a Jacobian
    place  which result that is
    """
    found = []
    for i, (part, x) in enumerate(zip(parts, like, strict=True)):
        shape = (*lead, *x.shape)
        if part is None:
            if strict:
                raise RuntimeError(_INDEPENDENT[stage].format(i, place))
            found.append(Tensor(np.zeros(shape, x.dtype.numpy)))
            continue
        if strict and create_graph and not part.requires_grad:
            what = "hessian" if stage == "double_back" else "jacobian"
            raise RuntimeError(
                f"The {what} of the user-provided function is independent of input {i}. {_NOT_ALLOWED} when create_graph=True."
            )
        found.append(part.reshape(shape) if stage == "block" else part)
    return list(_kept(found, create_graph))


def _vectors(v: Any, like: Tensors, single: bool, what: str, function: str) -> Tensors:
    if v is None:
        if len(like) == 1 and like[0].array.size == 1:
            return (_ones(like[0]),)
        raise RuntimeError(f"The vector v can only be None if {what}.")
    _, parts = _as_tuple(v, "v", function)
    if len(parts) != len(like):
        if single:
            raise RuntimeError("The given v should contain a single Tensor.")
        raise RuntimeError(f"v is a tuple of invalid length: should be {len(like)} but got {len(parts)}.")
    for i, (part, x) in enumerate(zip(parts, like, strict=True)):
        if part.array.shape != x.array.shape:
            entry = "" if single else f"Entry {i} in "
            raise RuntimeError(f"{entry}v has invalid size: should be {x.shape} but got {part.shape}.")
    return parts


_OF_INPUT = "the input to the user-provided function is a single Tensor with a single element"


def _run(func: Callable[..., Any], inputs: Tensors, name: str, strict: bool) -> tuple[bool, Tensors]:
    single, ys = _as_tuple(func(*inputs), "outputs of the user-provided function", name)
    _check_graph(ys, "outputs", strict)
    return single, ys


def vjp(func: Callable[..., Any], inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False) -> tuple[Any, Any]:
    """The function's value, and v times its Jacobian."""
    with enable_grad():
        single, xs = _as_tuple(inputs, "inputs", "vjp")
        xs = _fresh(xs, create_graph)
        single_y, ys = _run(func, xs, "vjp", strict)
        seeds = _vectors(v, ys, single_y, "the user-provided function returns a single Tensor with a single element", "vjp")
        found = _gradient(ys, xs, seeds, create_graph)
    return _shaped(single_y, _kept(ys, create_graph)), _shaped(single, _filled(found, xs, create_graph, strict, "back"))


def _gradient(ys: Sequence[Tensor], xs: Tensors, seeds: Sequence[Tensor], create_graph: bool) -> Sequence[Tensor | None]:
    pairs = [(y, s) for y, s in zip(ys, seeds, strict=True) if y.requires_grad]
    if not pairs:
        return (None,) * len(xs)
    return grad([y for y, _ in pairs], xs, [s for _, s in pairs], retain_graph=True, create_graph=create_graph, allow_unused=True)


def jvp(func: Callable[..., Any], inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False) -> tuple[Any, Any]:
    """The function's value, and its Jacobian times v: the derivative by u of the product u J, in the direction v."""
    with enable_grad():
        single, xs = _as_tuple(inputs, "inputs", "jvp")
        vs = _vectors(v, xs, single, _OF_INPUT, "jvp")
        xs = _fresh(xs, create_graph)
        single_y, ys = _run(func, xs, "jvp", strict)
        dummies = tuple(Tensor(np.zeros(y.shape, y.dtype.numpy), True) for y in ys)
        rows = _gradient(ys, xs, dummies, create_graph=True)
        _check_graph(rows, "grad_inputs", strict)
        found = _gradient([r if r is not None else x for r, x in zip(rows, xs, strict=True)], dummies, vs, create_graph)
    return _shaped(single_y, _kept(ys, create_graph)), _shaped(single_y, _filled(found, ys, create_graph, strict, "back_trick"))


def jacobian(
    func: Callable[..., Any], inputs: Any, create_graph: bool = False, strict: bool = False, vectorize: bool = False,
    strategy: str = "reverse-mode",
) -> Any:  # fmt: skip
    """All partial derivatives: of shape output.shape + input.shape, a tuple for each tuple."""
    if strategy not in ("forward-mode", "reverse-mode"):
        raise AssertionError('Expected strategy to be either "forward-mode" or "reverse-mode"')
    if strict and (vectorize or strategy == "forward-mode"):
        other, way = ("`vectorized=True`", "`vectorize=False`") if vectorize else ('`strategy="forward-mode"`', '`strategy="reverse-mode"`')
        raise RuntimeError(
            f"torch.autograd.functional.jacobian: `strict=True` and {other} are not supported together. Please either set "
            f"`strict=False` or {way}."
        )
    if strategy == "forward-mode":
        return _by_columns(func, inputs, create_graph)
    with enable_grad():
        single, xs = _as_tuple(inputs, "inputs", "jacobian")
        xs = _fresh(xs, create_graph)
        single_y, ys = _run(func, xs, "jacobian", strict)
        blocks = [_shaped(single, _rows(y, i, xs, create_graph, strict)) for i, y in enumerate(ys)]
    return _shaped(single_y, blocks)


def _by_columns(func: Callable[..., Any], inputs: Any, create_graph: bool) -> Any:
    single, xs = _as_tuple(inputs, "inputs", "jacobian")
    xs = _fresh(xs, create_graph)
    single_y = True

    def results(*given: Tensor) -> Tensors:
        nonlocal single_y
        single_y, ys = _as_tuple(func(*given), "outputs of the user-provided function", "jacobian")
        return ys

    found = jacfwd(results, tuple(range(len(xs))))(*xs)
    return _shaped(single_y, [_shaped(single, _kept(row, create_graph)) for row in found])


def _rows(y: Tensor, place: int, xs: Tensors, create_graph: bool, strict: bool) -> list[Tensor]:
    """The blocks of one result: of all its entries at once, or one after the other where a user's rule asks for numbers."""
    size = y.array.size
    units = np.eye(size, dtype=y.array.dtype).reshape(size, *y.array.shape)
    found: Sequence[Tensor | None] = (None,) * len(xs)
    if y.requires_grad and size:
        try:
            found = grad(y, xs, Tensor(units), True, create_graph, allow_unused=True, is_grads_batched=True)
        except NotBatchedError:
            rows = [_gradient([y], xs, [Tensor(unit)], create_graph) for unit in units]
            found = [None if column[0] is None else stack(column) for column in zip(*rows, strict=True)]
    return _filled(found, xs, create_graph, strict and size > 0, "block", y.array.shape, place)


def hessian(
    func: Callable[..., Any], inputs: Any, create_graph: bool = False, strict: bool = False, vectorize: bool = False,
    outer_jacobian_strategy: str = "reverse-mode",
) -> Any:  # fmt: skip
    """The second derivatives of a scalar function."""
    single, _ = _as_tuple(inputs, "inputs", "hessian")
    if outer_jacobian_strategy == "forward-mode" and strict:
        raise NotImplementedError('torch.autograd.functional.hessian: `strict=True` and `outer_jacobian_strategy="forward-mode"`')

    def slope(*xs: Tensor) -> Any:
        y = _scalar(func(*xs), "hessian")
        _check_graph((y,), "outputs", strict)
        found = _gradient([y], xs, [_ones(y)], create_graph=True)
        slopes = tuple(_filled(found, xs, True, False, "back"))
        _check_graph(slopes, "jacobian", strict)
        return slopes

    found = jacobian(slope, inputs, create_graph, strict, vectorize, outer_jacobian_strategy)
    return found[0] if single else found


def _scalar(y: Any, name: str) -> Tensor:
    _as_tuple(y, "outputs of the user-provided function", name)
    if not isinstance(y, Tensor):
        raise RuntimeError(f"The function given to {name} should return a single Tensor")
    if y.array.size != 1:
        raise RuntimeError(f"The Tensor returned by the function given to {name} should contain a single element")
    return y


def _product_with_hessian(name: str) -> Callable[..., tuple[Any, Any]]:
    """The value of a scalar function, and its Hessian times v, or v times its Hessian, which is the same, as it is symmetric."""

    def product(func: Callable[..., Any], inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False) -> tuple[Any, Any]:
        with enable_grad():
            single, xs = _as_tuple(inputs, "inputs", name)
            vs = _vectors(v, xs, single, _OF_INPUT, name)
            xs = _fresh(xs, create_graph)
            y = _scalar(func(*xs), name)
            _check_graph((y,), "outputs", strict)
            slopes = _gradient([y], xs, [_ones(y)], create_graph=True)
            _check_graph(slopes, "jacobian", strict)
            kept = [(s, u) for s, u in zip(slopes, vs, strict=True) if s is not None]
            found = _gradient([s for s, _ in kept], xs, [u for _, u in kept], create_graph)
        return _kept((y,), create_graph)[0], _shaped(single, _filled(found, xs, create_graph, strict, "double_back"))

    product.__name__ = product.__qualname__ = name
    return product


hvp, vhp = _product_with_hessian("hvp"), _product_with_hessian("vhp")
