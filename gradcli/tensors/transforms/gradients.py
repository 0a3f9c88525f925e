"""``torch.func`` in reverse mode: gradients, vector-Jacobian products and Jacobians of functions, of any order."""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from gradcli.graph.nodes import reachable
from gradcli.ops.arrays.shapes import broadcast_to, reshape
from gradcli.tensors.core.backward import grad as tape_gradient
from gradcli.tensors.core.levels import Batched, spread
from gradcli.tensors.core.modes import Transforming, enable_grad, state
from gradcli.tensors.core.node import AccumulateGrad, Node
from gradcli.tensors.core.tensor import Tensor
from gradcli.tensors.transforms.vectorizing import Spec, flatten, mapped, vmap

# -- What a transformation makes of a function's arguments: inputs of their own, which derivatives
# are taken by.


Argnums = int | tuple[int, ...]


def chosen(argnums: Any, arguments: Sequence[Any]) -> tuple[int, ...]:
    """The places of the arguments that a derivative is taken by."""
    if not isinstance(argnums, (int, tuple)) or isinstance(argnums, bool):
        raise RuntimeError(f"argnums must be int or Tuple[int, ...], got: {type(argnums)}")
    places = (argnums,) if isinstance(argnums, int) else argnums
    if not places:
        raise RuntimeError("argnums must be non-empty")
    for place in places:
        if not isinstance(place, int):
            raise RuntimeError(f"argnum must be int, got: {type(place)}")
        if not -len(arguments) <= place < len(arguments):
            raise RuntimeError(f"Got argnum={place}, but only {len(arguments)} positional inputs")
    if len({place % len(arguments) for place in places}) != len(places):
        raise RuntimeError(f"argnums elements must be unique, got {argnums}")
    return tuple([place % len(arguments) for place in places])


def selected(argnums: Argnums, arguments: Sequence[Any]) -> Any:
    """The arguments that a derivative is taken by, as one tree."""
    places = chosen(argnums, arguments)
    return arguments[places[0]] if isinstance(argnums, int) else tuple([arguments[place] for place in places])


def replaced(argnums: Argnums, arguments: Sequence[Any], tree: Any) -> tuple[Any, ...]:
    """All arguments, with these in the place of those that a derivative is taken by."""
    found = list(arguments)
    for place, part in zip(chosen(argnums, arguments), (tree,) if isinstance(argnums, int) else tree, strict=True):
        found[place] = part
    return tuple(found)


def of_some(func: Callable[..., Any], argnums: Argnums, arguments: Sequence[Any], keywords: dict[str, Any]) -> Callable[..., Any]:
    """The function of the chosen arguments alone."""

    def run(*tree: Any) -> Any:
        return func(*replaced(argnums, arguments, tree[0] if isinstance(argnums, int) else tree), **keywords)

    run.__dict__["given"] = tensors_in((arguments, keywords))
    return run


def tensors_in(tree: Any) -> list[Tensor]:
    return [part for part in flatten(tree)[0] if isinstance(part, Tensor)]


def writable_in(func: Callable[..., Any], xs: Sequence[Tensor]) -> list[Tensor]:
    """The inputs of a function, and what else it is called with, if it is one of some of its arguments."""
    return [*xs, *getattr(func, "given", ())]


def inputs(tree: Any) -> list[Tensor]:
    """The tensors of a tree, in each of which every example of every batch has entries of its own."""
    ends, _ = flatten(tree)
    for x in ends:
        if not isinstance(x, Tensor):
            raise ValueError(f"Thing passed to transform API must be Tensor, got {type(x)}")
    return [spread(x, state.batch_levels) if state.batch_levels else x for x in ends]


def fresh(x: Tensor) -> Tensor:
    """The same entries as an input of their own, which requires grad: in the graph that x is in, if it is in one."""
    if not x.dtype.is_floating_point:
        raise RuntimeError(f"only Tensors of floating point dtype can require gradients. This one is {x.dtype}")
    if isinstance(x, Batched):
        return Batched(fresh(x.physical), x.levels)
    if x.requires_grad and state.recording:
        view: Tensor = broadcast_to(x, shape=tuple(x.shape))
        view._view = None
        return view
    leaf = Tensor(x.array, True)
    leaf._inference, leaf._version_counter, leaf._tangents = False, x._version_counter, x._tangents
    return leaf


class Own:
    """The inputs that a transformation has made, to tell what else a result depends on."""

    def __init__(self, tensors: Iterable[Tensor]) -> None:
        self.nodes: set[Node] = {x.gradient_node() for x in tensors}

    def are_all(self, results: Iterable[Any]) -> bool:
        """Return whether results lead to no other tensor that requires grad."""
        roots = []
        for result in results:
            for tensor in _with_tangents(result):
                if tensor.requires_grad:
                    roots.append(tensor.gradient_node())
        return not any(
            isinstance(node, AccumulateGrad) and node.variable._requires_grad and node not in self.nodes for node in reachable(roots)
        )

    def released(self, x: Any) -> Any:
        """A result outside of the transformation: without a graph that leads nowhere but to its inputs."""
        if not isinstance(x, Tensor) or not x.requires_grad or not (x.gradient_node() in self.nodes or self.are_all([x])):
            return x if not isinstance(x, Tensor) or x._tangents is None else self._with_released_tangents(x)
        return self._with_released_tangents(detached(x))

    def _with_released_tangents(self, x: Tensor) -> Tensor:
        """The tensor itself keeps its tangents as they are: who made it may ask for their derivatives later."""
        if x._tangents is None:
            return x
        found = {level: self.released(tangent) for level, tangent in x._tangents.items()}
        if all(tangent is x._tangents[level] for level, tangent in found.items()):
            return x
        alias: Tensor = broadcast_to(x, shape=tuple(x.shape))
        alias._view, alias._tangents = None, found
        return alias


def detached(x: Tensor) -> Tensor:
    """The same memory without a graph; it moves as before."""
    if isinstance(x, Batched):
        return Batched(detached(x.physical), x.levels)
    alias = x.detach()
    alias._tangents = x._tangents
    return alias


def _with_tangents(x: Any) -> list[Tensor]:
    if not isinstance(x, Tensor):
        return []
    return [x, *[part for tangent in (x._tangents or {}).values() for part in _with_tangents(tangent)]]


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
            output, aux = and_aux(output, has_aux, "grad_and_value(f)(*args)")
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


def and_aux(output: Any, has_aux: bool, where: str) -> tuple[Any, Any]:
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
        output, aux = and_aux(func(*spec.unflatten(xs)), has_aux, "vjp(f, *primals)")
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
        rows, start = _rows(pull, ys, structure, chunk_size), 0
        blocks = []
        for y in ys:
            stop = start + math.prod(y.shape)
            blocks.append(spec.unflatten([reshape(row[start:stop], shape=(*y.shape, *x.shape)) for row, x in zip(rows, xs, strict=True)]))
            start = stop
        found = structure.unflatten(blocks)
        return (found, *aux) if has_aux else found

    return run


def _rows(pull: Callable[..., Any], ys: list[Tensor], structure: Spec, chunk_size: int | None) -> list[Tensor]:
    """The products of all unit vectors of the results with the Jacobian, one after the other along a first axis, for each input."""
    seeds, starts = units(ys)
    if starts[-1]:
        return flatten(vmap(pull, chunk_size=chunk_size)(structure.unflatten(seeds)))[0]
    found = flatten(pull(structure.unflatten(ys)))[0]
    return [Tensor(np.zeros((0, *part.shape), part.dtype.numpy)) for part in found]


def units(tensors: Sequence[Tensor]) -> tuple[list[Tensor], list[int]]:
    """Return all unit vectors of several tensors, along a first axis, and where each tensor's begin; at the end, how many there are."""
    starts = [0, *itertools.accumulate(math.prod(x.shape) for x in tensors)]
    parts = np.split(np.eye(starts[-1]), starts[1:-1], axis=1)
    return [Tensor(part.reshape(starts[-1], *x.shape).astype(x.dtype.numpy)) for part, x in zip(parts, tensors, strict=True)], starts
