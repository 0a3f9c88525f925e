"""Gradients of tensors: PyTorch's `backward` and `grad`, on passes over the nodes behind them."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np

from gradcli.tensors.core.backward_pass import run
from gradcli.tensors.core.batched import Batched, BatchLevel, along_level, at_level, in_front
from gradcli.tensors.core.levels import Entered, innermost
from gradcli.tensors.core.levels_backward import of_batch, of_moving
from gradcli.tensors.core.modes import state
from gradcli.tensors.core.tensor import Tensor
from gradcli.tensors.core.user_warnings import warn

_CYCLE = (
    "Using backward() with create_graph=True will create a reference cycle between the parameter and its gradient which can cause a memory "
    "leak. We recommend using autograd.grad when creating the graph to avoid this. If you have to use this function, make sure to reset "
    "the .grad fields of your parameters to None after use to break the cycle and avoid the leak."
)


def backward(
    tensors: Any, grad_tensors: Any = None, retain_graph: bool | None = None, create_graph: bool = False, grad_variables: Any = None,
    inputs: Any = None,
) -> None:  # fmt: skip
    """Add vector-Jacobian products to the ``grad`` of leaves (or of ``inputs`` only)."""
    gradients = grad_tensors if grad_variables is None else grad_variables
    outputs = _sequence(tensors)
    if inputs is not None:
        inputs = _sequence(inputs)
        if not inputs:
            raise RuntimeError("`inputs` argument to `backward()` cannot be empty.")
        for x in inputs:
            if isinstance(x, Tensor) and x.node is not None:
                x.retain_grad()
    seeds = _seeds(outputs, gradients, create_graph)
    if create_graph:
        _warn_of_cycles()
    targets = None if inputs is None else {x.gradient_node() for x in inputs}
    if state.interpreter is not None:
        outputs, seeds = [y.physical if isinstance(y, Batched) else y for y in outputs], _physical(outputs, seeds)
    roots = [y.gradient_node() for y in outputs]
    run(roots, seeds, targets, retain=create_graph if retain_graph is None else retain_graph, create_graph=create_graph, accumulate=True)


def _physical(outputs: Sequence[Any], seeds: Sequence[Any]) -> list[Any]:
    """The cotangents of the tensors that stand for batches."""
    return [
        in_front(seed if isinstance(seed, Tensor) else Tensor(seed), y.levels, full=True) if isinstance(y, Batched) else seed
        for y, seed in zip(outputs, seeds, strict=True)
    ]


def backward_of(
    output: Tensor, gradient: Any = None, retain_graph: bool | None = None, create_graph: bool = False, inputs: Any = None
) -> None:
    """Add the vector-Jacobian product with ``gradient`` (1 for a scalar) to the ``grad`` of every leaf."""
    backward(output, gradient, retain_graph, create_graph, inputs=inputs)


def grad(
    outputs: Any,
    inputs: Any,
    grad_outputs: Any = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    only_inputs: bool = True,
    allow_unused: bool | None = None,
    is_grads_batched: bool = False,
    materialize_grads: bool = False,
) -> tuple[Tensor | None, ...]:
    """The vector-Jacobian products with respect to inputs, added to nothing."""
    if is_grads_batched:
        return batched_grad(outputs, inputs, grad_outputs, retain_graph, create_graph, allow_unused, materialize_grads)
    ys, xs = _sequence(outputs), _sequence(inputs)
    if not xs:
        raise RuntimeError("`inputs` argument to `grad()` cannot be empty.")
    if materialize_grads and allow_unused is False:
        raise ValueError("Expected allow_unused to be True or not passed when materialize_grads=True, but got: allow_unused=False.")
    seeds = _seeds(ys, grad_outputs, create_graph)
    for x in xs:
        if not x.requires_grad:
            raise RuntimeError("One of the differentiated Tensors does not require grad")
    parts = products(ys, xs, seeds, create_graph if retain_graph is None else retain_graph, create_graph)
    results: list[Tensor | None] = []
    for i, (x, found) in enumerate(zip(xs, parts, strict=True)):
        part = found
        if part is None and not (allow_unused or materialize_grads):
            raise RuntimeError(
                f"The differentiated Tensor at index {i} appears to not have been used in the graph. Set allow_unused=True if this is the "
                f"desired behavior. It has the shape {x.shape}"
            )
        if part is None and materialize_grads:
            part = Tensor(np.zeros(x.array.shape, x.array.dtype), requires_grad=create_graph)
        results.append(part)
    return tuple(results)


@cache
def _warn_of_cycles() -> None:
    """Once, as PyTorch."""
    warn(_CYCLE)


def products(ys: Sequence[Tensor], xs: Sequence[Tensor], seeds: Sequence[Any], retain: bool, create_graph: bool) -> list[Tensor | None]:
    """The vector-Jacobian products with respect to each x, None where nothing depends on it."""
    if state.interpreter is not None:
        place = innermost((*ys, *seeds))
        if any(isinstance(x, Batched) for x in (*ys, *xs)):
            return of_batch(products, ys, xs, seeds, retain, create_graph)
        if place is not None:
            return of_moving(products, ys, xs, seeds, retain, create_graph, place)
    nodes = [x.gradient_node() for x in xs]
    found = run([y.gradient_node() for y in ys], seeds, set(nodes), retain=retain, create_graph=create_graph, accumulate=False)
    parts = [found.get(node) for node in nodes]
    return [p if p is None or isinstance(p, Tensor) else Tensor(np.array(p, x.array.dtype)) for p, x in zip(parts, xs, strict=True)]


def _sequence(tensors: Any) -> list[Any]:
    return [tensors] if isinstance(tensors, Tensor) else list(tensors)


def _seeds(outputs: Sequence[Tensor], given: Any, create_graph: bool) -> list[Any]:
    gradients = [None] * len(outputs) if given is None else _sequence(given)
    if len(gradients) != len(outputs):
        raise RuntimeError(f"got {len(outputs)} tensors and {len(gradients)} gradients")
    seeds = [_seed(i, output, gradients[i], create_graph) for i, output in enumerate(outputs)]
    return [Tensor(s) if not isinstance(s, Tensor) else s for s in seeds] if create_graph else seeds


def _seed(i: int, output: Tensor, gradient: Any, create_graph: bool) -> Any:
    if not output.requires_grad:
        raise RuntimeError(
            f"element {i} of tensors does not require grad and does not have a grad_fn. Nothing that it was made of has "
            "requires_grad=True, or it was made under torch.no_grad()"
        )
    array = output.array
    if gradient is None:
        if array.size != 1:
            raise RuntimeError(
                f"grad can be implicitly created only for scalar outputs. This one has the shape {output.shape}: "
                "give backward(gradient=...) of that shape, or take .sum()"
            )
        return np.array(1, array.dtype, ndmin=array.ndim)
    if not isinstance(gradient, Tensor):
        raise TypeError(f"gradients can be either Tensors or None, but got {type(gradient).__name__}")
    if gradient.array.shape != array.shape:
        raise RuntimeError(
            f"Mismatch in shape: grad_output[{i}] has a shape of {gradient.shape} and output[{i}] has a shape of {output.shape}."
        )
    if state.interpreter is not None:
        return gradient.to(output.dtype)
    cast = gradient.array.dtype != array.dtype
    return gradient if create_graph and not cast else gradient.array.astype(array.dtype)


def batched_grad(
    outputs: Any, inputs: Any, grad_outputs: Any, retain_graph: bool | None, create_graph: bool, allow_unused: bool | None,
    materialize_grads: bool,
) -> tuple[Tensor | None, ...]:  # fmt: skip
    """`grad` of each of many gradients of the outputs, which stand along a first axis, at once."""
    seeds = _sequence(grad_outputs)
    sizes = {len(seed) for seed in seeds if seed is not None}
    if len(sizes) != 1:
        raise RuntimeError(f"is_grads_batched=True: the gradients must have one first axis, not of {sorted(sizes)} entries")
    for output, seed in zip(_sequence(outputs), seeds, strict=True):
        if seed is not None and tuple(seed.shape[1:]) != tuple(output.shape):
            raise RuntimeError(
                "If `is_grads_batched=True`, we interpret the first dimension of each grad_output as the batch dimension. The sizes of the "
                f"remaining dimensions are expected to match the shape of corresponding output, but a mismatch was detected: grad_output "
                f"has a shape of {seed.shape} and output has a shape of {output.shape}."
            )
    level = BatchLevel(sizes.pop())
    with Entered(batch=level):
        rows = [None if seed is None else at_level(seed, level) for seed in seeds]
        found = grad(outputs, inputs, rows, retain_graph, create_graph, True, allow_unused, materialize_grads=materialize_grads)
        return tuple(None if part is None else along_level(part, level) for part in found)
