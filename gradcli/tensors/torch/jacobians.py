"""``torch.autograd.functional``: Jacobians, Hessians and products with them, of Python functions of tensors."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from gradcli.tensors.core.backward import grad
from gradcli.tensors.core.modes import enable_grad
from gradcli.tensors.core.tensor import Tensor
from gradcli.tensors.torch.catalogue_functions import stack

Tensors = tuple[Tensor, ...]


def _as_tuple(given: Any, what: str, function: str) -> tuple[bool, Tensors]:
    single = not isinstance(given, tuple)
    parts = (given,) if single else given
    for i, part in enumerate(parts):
        if not isinstance(part, Tensor):
            where = f"element {i} of " if not single else ""
            raise TypeError(
                f"The {where}{what} given to {function} must be either a Tensor or a tuple of Tensors but the value has type {type(part)}."
            )
    return single, tuple(parts)


def _fresh(inputs: Tensors, create_graph: bool) -> Tensors:
    """Inputs that a gradient can be taken to, connected to the caller's graph only if a graph is wanted."""
    if create_graph:
        return tuple(x.view(x.shape) if x.requires_grad else x.detach().requires_grad_() for x in inputs)
    return tuple(x.detach().requires_grad_() for x in inputs)


def _shaped(single: bool, parts: Sequence[Any]) -> Any:
    return parts[0] if single else tuple(parts)


def _materialized(part: Tensor | None, like: Tensor, create_graph: bool, strict: bool, what: str) -> Tensor:
    if part is None:
        if strict:
            raise RuntimeError(f"{what} is independent of the input. This is not allowed in strict mode.")
        return Tensor(np.zeros_like(like.array))
    return part if create_graph else part.detach()


def _vectors(v: Any, like: Tensors, single: bool, what: str) -> Tensors:
    if v is None:
        if len(like) == 1 and like[0].array.size == 1:
            return (Tensor(np.ones_like(like[0].array)),)
        raise RuntimeError(f"The vector v can only be None if {what}.")
    _, parts = _as_tuple(v, "v", "the product")
    if len(parts) != len(like):
        raise RuntimeError(f"v is a tuple of invalid length: should be {len(like)} but got {len(parts)}.")
    for i, (part, x) in enumerate(zip(parts, like, strict=True)):
        if part.array.shape != x.array.shape:
            raise RuntimeError(f"v has invalid size: should be {x.shape} but got {part.shape} (entry {i}).")
    return parts


def _run(func: Callable[..., Any], inputs: Tensors, name: str) -> tuple[bool, Tensors]:
    return _as_tuple(func(*inputs), "outputs of the user-provided function", name)


def vjp(func: Callable[..., Any], inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False) -> tuple[Any, Any]:
    """The function's value, and v times its Jacobian."""
    with enable_grad():
        single, xs = _as_tuple(inputs, "inputs", "vjp")
        xs = _fresh(xs, create_graph)
        single_y, ys = _run(func, xs, "vjp")
        seeds = _vectors(v, ys, single_y, "the user-provided function returns a single Tensor with a single element")
        found = _gradient(ys, xs, seeds, create_graph)
    values = [y if create_graph else y.detach() for y in ys]
    parts = [
        _materialized(p, x, create_graph, strict, f"The output of the user-provided function with respect to input {i}")
        for i, (p, x) in enumerate(zip(found, xs, strict=True))
    ]
    return _shaped(single_y, values), _shaped(single, parts)


def _gradient(ys: Sequence[Tensor], xs: Tensors, seeds: Sequence[Tensor], create_graph: bool) -> Sequence[Tensor | None]:
    pairs = [(y, s) for y, s in zip(ys, seeds, strict=True) if y.requires_grad]
    if not pairs:
        return (None,) * len(xs)
    return grad([y for y, _ in pairs], xs, [s for _, s in pairs], retain_graph=True, create_graph=create_graph, allow_unused=True)


def jvp(func: Callable[..., Any], inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False) -> tuple[Any, Any]:
    """The function's value, and its Jacobian times v: the derivative by u of the product u J, in the direction v."""
    with enable_grad():
        single, xs = _as_tuple(inputs, "inputs", "jvp")
        vs = _vectors(v, xs, single, "the input to the user-provided function is a single Tensor with a single element")
        xs = _fresh(xs, create_graph)
        single_y, ys = _run(func, xs, "jvp")
        dummies = tuple(Tensor(np.zeros_like(y.array)).requires_grad_() for y in ys)
        rows = _gradient(ys, xs, dummies, create_graph=True)
        found = _gradient([r if r is not None else x for r, x in zip(rows, xs, strict=True)], dummies, vs, create_graph)
    values = [y if create_graph else y.detach() for y in ys]
    parts = [
        _materialized(p, y, create_graph, strict, f"Output {i} of the user-provided function")
        for i, (p, y) in enumerate(zip(found, ys, strict=True))
    ]
    return _shaped(single_y, values), _shaped(single_y, parts)


def jacobian(
    func: Callable[..., Any], inputs: Any, create_graph: bool = False, strict: bool = False, vectorize: bool = False,
    strategy: str = "reverse-mode",
) -> Any:  # fmt: skip
    """All partial derivatives: of shape output.shape + input.shape, a tuple for each tuple."""
    with enable_grad():
        single, xs = _as_tuple(inputs, "inputs", "jacobian")
        xs = _fresh(xs, create_graph)
        single_y, ys = _run(func, xs, "jacobian")
        blocks = [_rows(y, i, xs, create_graph, strict) for i, y in enumerate(ys)]
    shaped = [_shaped(single, row) for row in blocks]
    return _shaped(single_y, shaped)


def _rows(y: Tensor, place: int, xs: Tensors, create_graph: bool, strict: bool) -> list[Tensor]:
    rows: list[list[Tensor]] = []
    for i in range(y.array.size):
        seed = np.zeros(y.array.size, y.array.dtype)
        seed[i] = 1
        found = _gradient([y], xs, [Tensor(seed.reshape(y.array.shape))], create_graph)
        rows.append(
            [
                _materialized(p, x, create_graph, strict, f"Output {place} of the user-provided function with respect to input {j}")
                for j, (p, x) in enumerate(zip(found, xs, strict=True))
            ]
        )
    blocks = []
    for j, x in enumerate(xs):
        if not rows:
            blocks.append(Tensor(np.zeros((*y.array.shape, *x.array.shape), x.array.dtype)))
        else:
            blocks.append(stack([row[j] for row in rows]).reshape((*y.array.shape, *x.array.shape)))
    return blocks


def hessian(
    func: Callable[..., Any], inputs: Any, create_graph: bool = False, strict: bool = False, vectorize: bool = False,
    outer_jacobian_strategy: str = "reverse-mode",
) -> Any:  # fmt: skip
    """The second derivatives of a scalar function."""
    single, _ = _as_tuple(inputs, "inputs", "hessian")

    def slope(*xs: Tensor) -> Any:
        y = _scalar(func(*xs), "hessian")
        found = _gradient([y], xs, [Tensor(np.ones_like(y.array))], create_graph=True)
        return tuple(_materialized(p, x, True, strict, "The output of the user-provided function") for p, x in zip(found, xs, strict=True))

    found = jacobian(slope, inputs, create_graph=create_graph)
    return found[0] if single else found


def _scalar(y: Any, name: str) -> Tensor:
    if not isinstance(y, Tensor):
        raise RuntimeError(f"The function given to {name} should return a single Tensor")
    if y.array.size != 1:
        raise RuntimeError(f"The Tensor returned by the function given to {name} should contain a single element")
    return y


def vhp(func: Callable[..., Any], inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False) -> tuple[Any, Any]:
    """The value of a scalar function, and v times its Hessian."""
    with enable_grad():
        single, xs = _as_tuple(inputs, "inputs", "vhp")
        vs = _vectors(v, xs, single, "the input to the user-provided function is a single Tensor with a single element")
        xs = _fresh(xs, create_graph)
        y = _scalar(func(*xs), "vhp")
        slopes = _gradient([y], xs, [Tensor(np.ones_like(y.array))], create_graph=True)
        kept = [(s, u) for s, u in zip(slopes, vs, strict=True) if s is not None]
        found = _gradient([s for s, _ in kept], xs, [u for _, u in kept], create_graph) if kept else (None,) * len(xs)
    parts = [_materialized(p, x, create_graph, strict, "The second derivative") for p, x in zip(found, xs, strict=True)]
    return (y if create_graph else y.detach()), _shaped(single, parts)


def hvp(func: Callable[..., Any], inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False) -> tuple[Any, Any]:
    """The value of a scalar function, and its Hessian times v: the Hessian is symmetric."""
    return vhp(func, inputs, v, create_graph, strict)
