"""``torch.autograd.functional`` for Python functions of tensors.

It has Jacobians, Hessians and products with them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from gradcli.ops.arrays.shapes import stack
from gradcli.tensors.core.backward import grad
from gradcli.tensors.core.levels import NotBatchedError
from gradcli.tensors.core.modes import enable_grad
from gradcli.tensors.core.tensor import Tensor
from gradcli.tensors.torch.creation import ones_like, zeros_like
from gradcli.tensors.transforms.derivatives import pull_back

Tensors = tuple[Tensor, ...]


def _as_tuple(given: Any, what: str, function: str) -> Tensors:
    parts = given if isinstance(given, tuple) else (given,)
    for part in parts:
        if not isinstance(part, Tensor):
            raise TypeError(
                f"The {what} given to {function} must be either a Tensor or a tuple of Tensors "
                f"but the given {what} has type {type(part)}."
            )
    return parts


def _shape_parts(like: Any, parts: Sequence[Tensor], create_graph: bool) -> Any:
    """Results in the graph, if one is wanted: a tuple where that is what is like them."""
    kept = parts if create_graph else [part.detach() for part in parts]
    return tuple(kept) if isinstance(like, tuple) else kept[0]


def _run(
    func: Callable[..., Any], inputs: Any, create_graph: bool, name: str
) -> tuple[Tensors, Any, Tensors]:
    """Run a function on inputs that a gradient can be taken to.

    The inputs are connected to the caller's graph only if a graph is wanted. Returns them, the
    result, and its tensors.
    """
    given = _as_tuple(inputs, "inputs", name)
    xs = tuple(
        [
            x.view(x.shape) if create_graph and x.requires_grad else x.detach().requires_grad_()
            for x in given
        ]
    )
    result = func(*xs)
    return xs, result, _as_tuple(result, "outputs of the user-provided function", name)


def _vectors(v: Any, like: Tensors, what: str, name: str) -> Tensors:
    if v is None and len(like) == 1 and like[0].array.size == 1:
        return (ones_like(like[0]),)
    if v is None:
        raise RuntimeError(
            f"The vector v can only be None if the {what} of the user-provided function is a "
            "single element."
        )
    parts = _as_tuple(v, "v", name)
    if len(parts) != len(like):
        raise RuntimeError(
            f"v is a tuple of invalid length: should be {len(like)} but got {len(parts)}."
        )
    for part, x in zip(parts, like, strict=True):
        if part.shape != x.shape:
            raise RuntimeError(f"v has invalid size: should be {x.shape} but got {part.shape}.")
    return parts


def _products(
    ys: Sequence[Tensor], xs: Tensors, seeds: Sequence[Tensor], create_graph: bool, strict: bool
) -> list[Tensor]:
    """Return the product of seeds with the Jacobian by each input.

    It is zeros if nothing depends on the input.
    """
    for y in ys:
        _varies(y, strict)
    found = pull_back(ys, xs, seeds, create_graph, True)
    _check_dependence(found, create_graph, strict)
    return [zeros_like(x) if part is None else part for part, x in zip(found, xs, strict=True)]


def _varies(y: Tensor, strict: bool) -> bool:
    if strict and not y.requires_grad:
        raise RuntimeError(
            "Output 0 of the user-provided function does not require gradients. Strict mode asks "
            "for all of them."
        )
    return y.requires_grad


def _check_dependence(found: Sequence[Tensor | None], create_graph: bool, strict: bool) -> None:
    """Refuse, in strict mode, a result that is the same for all values of an input.

    A derivative that is differentiated again is refused for the same reason.
    """
    for i, part in enumerate(found if strict else ()):
        if part is None or (create_graph and not part.requires_grad):
            what = "output" if part is None else "jacobian"
            raise RuntimeError(
                f"The {what} of the user-provided function is independent of input {i}. This is "
                "not allowed in strict mode."
            )


def vjp(
    func: Callable[..., Any],
    inputs: Any,
    v: Any = None,
    create_graph: bool = False,
    strict: bool = False,
) -> tuple[Any, Any]:
    """Return the function's value, and v times its Jacobian."""
    with enable_grad():
        xs, result, ys = _run(func, inputs, create_graph, "vjp")
        found = _products(ys, xs, _vectors(v, ys, "output", "vjp"), create_graph, strict)
    return _shape_parts(result, ys, create_graph), _shape_parts(inputs, found, create_graph)


def jvp(
    func: Callable[..., Any],
    inputs: Any,
    v: Any = None,
    create_graph: bool = False,
    strict: bool = False,
) -> tuple[Any, Any]:
    """Return the function's value, and its Jacobian times v.

    The product is the derivative by u of the product u J, in the direction v.
    """
    with enable_grad():
        xs, result, ys = _run(func, inputs, create_graph, "jvp")
        vs = _vectors(v, xs, "input", "jvp")
        us = tuple([Tensor(np.zeros(y.shape, y.dtype.numpy), True) for y in ys])
        found = _products(_products(ys, xs, us, True, strict), us, vs, create_graph, strict)
    return _shape_parts(result, ys, create_graph), _shape_parts(result, found, create_graph)


def jacobian(
    func: Callable[..., Any], inputs: Any, create_graph: bool = False, strict: bool = False, vectorize: bool = False,
    strategy: str = "reverse-mode",
) -> Any:  # fmt: skip
    """All partial derivatives: of shape output.shape + input.shape, a tuple for each tuple.

    They are the same by either strategy.
    """
    if strategy not in ("forward-mode", "reverse-mode"):
        raise AssertionError('Expected strategy to be either "forward-mode" or "reverse-mode"')
    with enable_grad():
        xs, result, ys = _run(func, inputs, create_graph, "jacobian")
        blocks = [
            _shape_parts(inputs, _rows(y, xs, create_graph, strict), create_graph) for y in ys
        ]
    return tuple(blocks) if isinstance(result, tuple) else blocks[0]


def _rows(y: Tensor, xs: Tensors, create_graph: bool, strict: bool) -> list[Tensor]:
    """Return the blocks of one result.

    They are computed for all its entries at once, or one after the other if a user's rule asks for
    numbers.
    """
    size = y.array.size
    found: Sequence[Tensor | None] = (None,) * len(xs)
    if _varies(y, strict) and size:
        units = np.eye(size, dtype=y.array.dtype).reshape(size, *y.array.shape)
        try:
            found = grad(
                y, xs, Tensor(units), True, create_graph, allow_unused=True, is_grads_batched=True
            )
        except NotBatchedError:
            rows = [_products([y], xs, [Tensor(unit)], create_graph, strict) for unit in units]
            found = [stack(*column, axis=0) for column in zip(*rows, strict=True)]
        _check_dependence(found, create_graph, strict)
    shapes = [(*y.shape, *x.shape) for x in xs]
    return [
        Tensor(np.zeros(shape, x.dtype.numpy)) if part is None else part.reshape(shape)
        for part, shape, x in zip(found, shapes, xs, strict=True)
    ]


def hessian(
    func: Callable[..., Any], inputs: Any, create_graph: bool = False, strict: bool = False, vectorize: bool = False,
    outer_jacobian_strategy: str = "reverse-mode",
) -> Any:  # fmt: skip
    """Return the second derivatives of a scalar function."""
    _as_tuple(inputs, "inputs", "hessian")

    def slope(*xs: Tensor) -> Tensors:
        y = _scalar(func(*xs))
        return tuple(_products([y], xs, [ones_like(y)], True, strict))

    found = jacobian(slope, inputs, create_graph, strict, vectorize, outer_jacobian_strategy)
    return found if isinstance(inputs, tuple) else found[0]


def _scalar(y: Any) -> Tensor:
    if not isinstance(y, Tensor) or y.array.size != 1:
        raise RuntimeError(
            "The Tensor returned by the user-provided function should contain a single element"
        )
    return y


def vhp(
    func: Callable[..., Any],
    inputs: Any,
    v: Any = None,
    create_graph: bool = False,
    strict: bool = False,
) -> tuple[Any, Any]:
    """Return the value of a scalar function, and v times its Hessian, which is its Hessian times v."""
    with enable_grad():
        xs, result, _ = _run(func, inputs, create_graph, "vhp")
        y = _scalar(result)
        vs = _vectors(v, xs, "input", "vhp")
        slopes = _products([y], xs, [ones_like(y)], True, strict)
        found = _products(slopes, xs, vs, create_graph, strict)
    return _shape_parts(y, [y], create_graph), _shape_parts(inputs, found, create_graph)


hvp = vhp  # the Hessian is symmetric
