"""``torch.func`` in reverse mode: gradients, vector-Jacobian products and Jacobians of functions, of any order."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from gradcli.ops.arrays.joining import concatenate
from gradcli.ops.arrays.shapes import reshape
from gradcli.tensors.core.backward import grad as tape_gradient
from gradcli.tensors.core.modes import Transforming, enable_grad, state
from gradcli.tensors.core.tensor import Tensor
from gradcli.tensors.transforms.inputs import (
    Argnums,
    Own,
    chosen,
    detached,
    fresh,
    inputs,
    of_some,
    replaced,
    selected,
    tensors_in,
    writable_in,
)
from gradcli.tensors.transforms.pytrees import Spec, flatten, mapped
from gradcli.tensors.transforms.vectorizing import vmap


def grad(func: Callable[..., Any], argnums: Argnums = 0, has_aux: bool = False) -> Callable[..., Any]:
    """The gradient of a function whose result is one number, with respect to the arguments at ``argnums``."""
    with_value = value_and_grad(func, argnums, has_aux)

    @functools.wraps(func)
    def run(*arguments: Any, **keywords: Any) -> Any:
        gradient, value = with_value(*arguments, **keywords)[::-1]
        return (gradient, value[1]) if has_aux else gradient

    return run


def value_and_grad(func: Callable[..., Any], argnums: Argnums = 0, has_aux: bool = False) -> Callable[..., Any]:
    """The function's value and its gradient; with ``has_aux``, the value is what the function returns: (value, aux)."""

    @functools.wraps(func)
    def run(*arguments: Any, **keywords: Any) -> Any:
        tree = selected(argnums, arguments)
        spec = flatten(tree)[1]
        outside = state.recording
        xs = [fresh(x) for x in inputs(tree)]
        with enable_grad(), Transforming([*xs, *tensors_in((arguments, keywords))]):
            output = func(*replaced(argnums, arguments, spec.unflatten(xs)), **keywords)
            output, aux = _and_aux(output, has_aux, "grad_and_value(f)(*args)")
            _check_number(output)
            own = Own(xs)
            keep = outside and not own.are_all([output])
            found = _products([output], xs, None, keep)
        value, aux = own.released(output), mapped(own.released, aux)
        gradients = spec.unflatten([own.released(part) for part in found])
        return ((value, aux) if has_aux else value), gradients

    return run


def grad_and_value(func: Callable[..., Any], argnums: Argnums = 0, has_aux: bool = False) -> Callable[..., Any]:
    """The gradient first, and then the value."""
    with_value = value_and_grad(func, argnums, has_aux)
    return functools.wraps(func)(lambda *arguments, **keywords: with_value(*arguments, **keywords)[::-1])


def _and_aux(output: Any, has_aux: bool, where: str) -> tuple[Any, Any]:
    if not has_aux:
        return output, None
    if not (isinstance(output, tuple) and len(output) == 2):
        raise RuntimeError(f"{where}: output of function f should be a tuple: (output, aux) if has_aux is True")
    for part in flatten(output[1])[0]:
        if not isinstance(part, Tensor):
            raise RuntimeError(f"Expected tensors, got unsupported type {type(part)}")
    return output


def _check_number(output: Any) -> None:
    if not isinstance(output, Tensor):
        raise RuntimeError(f"grad_and_value(f)(*args): Expected f(*args) to return a Tensor, got {type(output)}")
    if output.ndim:
        raise RuntimeError(
            f"grad_and_value(f)(*args): Expected f(*args) to return a scalar Tensor, got tensor with {output.ndim} dims. Maybe you wanted "
            "to use the vjp or jacrev APIs instead?"
        )


def _products(ys: list[Any], xs: list[Tensor], vs: list[Any] | None, keep: bool, retain: bool | None = None) -> list[Tensor]:
    """Vector-Jacobian products, zeros where nothing depends on an input."""
    pairs = [(y, None if vs is None else vs[i]) for i, y in enumerate(ys) if y.requires_grad]
    found: Any = (None,) * len(xs)
    if pairs:
        seeds = None if vs is None else [v for _, v in pairs]
        found = tape_gradient([y for y, _ in pairs], xs, seeds, retain, create_graph=keep, allow_unused=True)
    return [_still(x) if part is None else part for part, x in zip(found, xs, strict=True)]


def _still(x: Tensor) -> Tensor:
    return Tensor(np.zeros(tuple(x.shape), x.dtype.numpy))


def tensors_of(output: Any, where: str) -> tuple[list[Tensor], Spec]:
    """The tensors that a function returns, which must be some and nothing else."""
    ys, spec = flatten(output)
    if not ys or output is None:
        raise RuntimeError(f"{where}: Expected f to be a function that has non-empty output (got output = {output})")
    for y in ys:
        if not isinstance(y, Tensor):
            raise RuntimeError(f"{where}: expected f(*primals) to return only tensors, got unsupported type {type(y)}")
    return ys, spec


def vjp(func: Callable[..., Any], *primals: Any, has_aux: bool = False) -> Any:
    """The function's value, and the function that takes cotangents of it to those of the primals: (value, function[, aux])."""
    spec = flatten(primals)[1]
    with enable_grad():
        xs = [fresh(x) for x in inputs(primals)]
    with enable_grad(), Transforming(writable_in(func, xs)):
        output, aux = _and_aux(func(*spec.unflatten(xs)), has_aux, "vjp(f, *primals)")
        ys, structure = tensors_of(output, "vjp(f, *primals)")
    own = Own(xs)
    connected = not own.are_all(ys)
    outside = own.released if state.recording else detached

    def pull(cotangents: Any, retain_graph: bool = True, create_graph: bool | None = None) -> Any:
        vs, given = flatten(cotangents)
        if given != structure:
            raise RuntimeError(
                "Expected pytree structure of cotangents to be the same as pytree structure of outputs to the function. "
                f"cotangents: {given}, primal output: {structure}"
            )
        keep = create_graph if create_graph is not None else state.recording and (connected or not own.are_all(vs))
        return spec.unflatten([own.released(part) for part in _products(ys, xs, vs, keep, True)])

    value = structure.unflatten([outside(y) for y in ys])
    return (value, pull, mapped(outside, aux)) if has_aux else (value, pull)


def jacrev(
    func: Callable[..., Any], argnums: Argnums = 0, *, has_aux: bool = False, chunk_size: int | None = None,
    _preallocate_and_copy: bool = False,
) -> Callable[..., Any]:  # fmt: skip
    """The Jacobian, rows first: `vmap` of the vector-Jacobian product over all unit vectors, so many at once as ``chunk_size`` says."""
    if chunk_size is not None and chunk_size <= 0:
        raise ValueError("jacrev: `chunk_size` should be greater than 0.")

    @functools.wraps(func)
    def run(*arguments: Any, **keywords: Any) -> Any:
        chosen(argnums, arguments)
        tree = selected(argnums, arguments)
        parts = (tree,) if isinstance(argnums, int) else tree
        value, pull, *aux = vjp(of_some(func, argnums, arguments, keywords), *parts, has_aux=has_aux)
        ys, structure = flatten(value)
        if not isinstance(value, (tuple, list)) and not ys:
            raise RuntimeError("jacrev: Expected f to be a function that has non-empty output")
        xs, spec = flatten(tree)
        rows = _rows(pull, ys, structure, chunk_size)
        blocks, start = [], 0
        for y in ys:
            size = int(np.prod(y.shape, dtype=np.int64))
            whole = [row[start : start + size] for row in rows]
            blocks.append(spec.unflatten([reshape(w, shape=(*y.shape, *x.shape)) for w, x in zip(whole, xs, strict=True)]))
            start += size
        found = structure.unflatten(blocks)
        return (found, *aux) if has_aux else found

    return run


def _rows(pull: Callable[..., Any], ys: list[Tensor], structure: Spec, chunk_size: int | None) -> list[Tensor]:
    """The products of all unit vectors of the results with the Jacobian, one after the other along a first axis, for each input."""
    sizes = [int(np.prod(y.shape, dtype=np.int64)) for y in ys]
    total = sum(sizes)

    def products(start: int, stop: int) -> list[Tensor]:
        units = np.eye(total)[start:stop]
        parts = np.split(units, np.cumsum(sizes)[:-1], axis=1)
        seeds = [Tensor(p.reshape(stop - start, *y.shape).astype(y.dtype.numpy)) for p, y in zip(parts, ys, strict=True)]
        if chunk_size == 1:
            found = flatten(pull(structure.unflatten([seed[0] for seed in seeds])))[0]
            return [reshape(part, shape=(1, *part.shape)) for part in found]
        return flatten(vmap(pull)(structure.unflatten(seeds)))[0]

    if not total:
        found = flatten(pull(structure.unflatten(ys)))[0]
        return [Tensor(np.zeros((0, *part.shape), part.dtype.numpy)) for part in found]
    step = total if chunk_size is None else chunk_size
    chunks = [products(start, min(start + step, total)) for start in range(0, total, step)]
    return chunks[0] if len(chunks) == 1 else [concatenate(*column, axis=0) for column in zip(*chunks, strict=True)]
