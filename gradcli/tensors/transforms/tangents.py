"""``torch.func`` in forward mode: Jacobian-vector products and Jacobians of functions, of any order."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from gradcli.ops.arrays.shapes import broadcast_to, reshape, stack
from gradcli.ops.structure import clone
from gradcli.tensors.core.backward import grad as tape_gradient
from gradcli.tensors.core.batched import Batched, NotBatchedError
from gradcli.tensors.core.levels import Entered, ForwardLevel, check_floats, moving_by, set_tangent, tangent_of
from gradcli.tensors.core.modes import Mode, Transforming, enable_grad, state
from gradcli.tensors.core.tensor import Tensor
from gradcli.tensors.transforms.gradients import jacrev, tensors_of
from gradcli.tensors.transforms.inputs import Argnums, Own, fresh, inputs, of_some, selected, writable_in
from gradcli.tensors.transforms.pytrees import flatten, mapped
from gradcli.tensors.transforms.repeated_runs import Written
from gradcli.tensors.transforms.vectorizing import moved, vmap

_JVP = "jvp(f, primals, tangents)"


def dual(x: Tensor, tangent: Tensor, level: ForwardLevel) -> Any:
    """The same entries, moving by a tangent at a level that is not entered yet."""
    return moving_by(_alias(x), level, tangent)


def _alias(x: Tensor) -> Tensor:
    """The same entries, in the graph, as a tensor that may be written to: the tensor itself keeps its place in the graph."""
    alias: Tensor = broadcast_to(x, shape=tuple(x.shape))
    alias._view = None
    return alias


def _check_tensors(tree: Any, name: str) -> None:
    ends = flatten(tree)[0]
    if not ends:
        raise RuntimeError(f"{_JVP}: Expected {name} to contain at least one Tensor.")
    for end in ends:
        if not isinstance(end, Tensor):
            raise RuntimeError(f"{_JVP}: Expected {name} to only contain Tensors, got {type(end)}")


def jvp(func: Callable[..., Any], primals: Any, tangents: Any, *, strict: bool = False, has_aux: bool = False) -> Any:
    """The function's value, and its Jacobian times the tangents: (value, product[, aux])."""
    if not isinstance(primals, tuple):
        raise RuntimeError(f"{_JVP}: Expected primals to be a tuple. E.g. it should be valid to call f(*primals).")
    xs, spec = flatten(primals)
    ts, given = flatten(tangents)
    if spec != given:
        raise RuntimeError(
            f"{_JVP}: Expected primals and tangents to have the same python structure. For example, if primals is a tuple of 3 tensors, "
            f"tangents also must be. Got primals with structure {spec} and tangents with structure {given}"
        )
    _check_tensors(primals, "primals")
    _check_tensors(tangents, "tangents")
    for x, t in zip(xs, ts, strict=True):
        check_floats(x, t)
        if x.shape != t.shape:
            raise RuntimeError(
                "Trying to set a forward gradient that has a different size than that of the original Tensor, this is not supported. "
                f"Tensor is of size {list(x.shape)} while the given forward gradient is of size {list(t.shape)}."
            )
    level = ForwardLevel()
    duals = [dual(x, t, level) for x, t in zip(xs, ts, strict=True)]
    with Entered(forward=level), Transforming([*writable_in(func, duals), *ts]):
        output = func(*spec.unflatten(duals))
        if has_aux:
            if not (isinstance(output, tuple) and len(output) == 2):
                raise RuntimeError(f"{_JVP}: output of function f should be a tuple: (output, aux) if has_aux is True")
            output, aux = output
            for part in flatten(aux)[0]:
                if not isinstance(part, Tensor):
                    raise RuntimeError(f"Expected tensors, got unsupported type {type(part)}")
        ys, structure = tensors_of(output, _JVP)
    moving = []
    for y in ys:
        tangent = tangent_of(y, level)
        if tangent is None and strict:
            raise RuntimeError(
                "jvp(f, primals, tangents, strict=True): The output of f is independent of the inputs. This is not allowed with "
                "strict=True."
            )
        moving.append(Tensor(np.zeros(tuple(y.shape), y.dtype.numpy)) if tangent is None else tangent)
    found = (structure.unflatten([_without(y, level) for y in ys]), structure.unflatten(moving))
    return (*found, mapped(lambda part: _without(part, level), aux)) if has_aux else found


def _without(y: Tensor, level: ForwardLevel) -> Tensor:
    """A result outside of the level, at which it does not move any more."""
    set_tangent(y.physical if isinstance(y, Batched) else y, level, None)
    return y


def jacfwd(func: Callable[..., Any], argnums: Argnums = 0, has_aux: bool = False, *, chunk_size: int | None = None) -> Callable[..., Any]:
    """The Jacobian, columns first: `vmap` of the Jacobian-vector product over all unit vectors."""

    @functools.wraps(func)
    def run(*arguments: Any, **keywords: Any) -> Any:
        tree = selected(argnums, arguments)
        parts = (tree,) if isinstance(argnums, int) else tree
        alone = of_some(func, argnums, arguments, keywords)
        xs, spec = flatten(parts)
        for x in xs:
            if not isinstance(x, Tensor):
                raise RuntimeError(f"jacfwd: Expected all inputs to be tensors, got {type(x)}")
        sizes = [int(np.prod(x.shape, dtype=np.int64)) for x in xs]
        units = np.split(np.eye(sum(sizes)), np.cumsum(sizes)[:-1], axis=1)
        basis = spec.unflatten([Tensor(u.reshape(sum(sizes), *x.shape).astype(x.dtype.numpy)) for u, x in zip(units, xs, strict=True)])

        def push(tangents: Any) -> Any:
            _, *found = jvp(alone, parts, tangents, has_aux=has_aux)
            return tuple(found)

        written = Written(*flatten((arguments, keywords))[0])
        try:
            with written:
                results = vmap(push, chunk_size=chunk_size)(basis)
        except NotBatchedError:
            results = None
        if results is None:
            written.put_back()
            results = _one_after_the_other(push, basis, written)
        columns, *aux = results
        ys, structure = flatten(columns)
        places = np.cumsum([0, *sizes])
        blocks = []
        for y in ys:
            last = moved(y, 0, -1)
            rows = [
                reshape(last[..., int(start) : int(stop)], shape=(*last.shape[:-1], *x.shape))
                for start, stop, x in zip(places[:-1], places[1:], xs, strict=True)
            ]
            whole = spec.unflatten(rows)
            blocks.append(whole[0] if isinstance(argnums, int) else whole)
        found = structure.unflatten(blocks)
        return (found, mapped(lambda part: part[0], aux[0])) if has_aux else found

    return run


def _one_after_the_other(push: Callable[..., Any], basis: Any, written: Written) -> Any:
    """What `vmap` would give, where a function decides by entries or writes to what all columns share."""
    ends, spec = flatten(basis)
    found: list[Any] = []
    for i in range(len(ends[0].array)):
        written.put_back()
        with Mode(columns=True), written:
            found.append(mapped(clone, push(spec.unflatten([clone(end[i]) for end in ends]))))
    structure = flatten(found[0])[1]
    return structure.unflatten([stack(*column, axis=0) for column in zip(*[flatten(part)[0] for part in found], strict=True)])


def hessian(func: Callable[..., Any], argnums: Argnums = 0) -> Callable[..., Any]:
    """The second derivatives: the Jacobian in forward mode of that in reverse mode."""
    return jacfwd(jacrev(func, argnums), argnums)


def linearize(func: Callable[..., Any], *primals: Any) -> tuple[Any, Callable[..., Any]]:
    """The function's value, and the function that takes tangents of the primals to those of it. The function runs once.

    u J is linear in u, with the transposed Jacobian as its own, so that J t is the derivative of u J by u, in the direction t.
    """
    ends, spec = flatten(primals)
    xs = [fresh(x) for x in inputs(primals)]
    with enable_grad(), Transforming(writable_in(func, xs)):
        ys, structure = tensors_of(func(*spec.unflatten([_alias(x) for x in xs])), "linearize(f, *primals)")
        us = [Tensor(np.zeros(tuple(y.shape), y.dtype.numpy), True) for y in ys]
        kept = [(y, u) for y, u in zip(ys, us, strict=True) if y.requires_grad]
        pulled: Any = (None,) * len(xs)
        if kept:
            pulled = tape_gradient([y for y, _ in kept], xs, [u for _, u in kept], create_graph=True, allow_unused=True)
    own = Own([*xs, *us])

    def push(*tangents: Any) -> Any:
        ts, given = flatten(tangents)
        if given != spec:
            raise RuntimeError(f"Expected the tangents {given} to have the same argspec as the primals {spec}")
        for i, (t, x) in enumerate(zip(ts, ends, strict=True)):
            for what in ("shape", "device", "dtype"):
                if getattr(t, what) != getattr(x, what):
                    raise RuntimeError(
                        f"tangent:{i} with {what} {getattr(t, what)} in flattened pytree doesn't match the {what} {getattr(x, what)} of "
                        "the corresponding primal."
                    )
        pairs = [(part, t) for part, t in zip(pulled, ts, strict=True) if part is not None and part.requires_grad]
        found: Any = (None,) * len(us)
        if pairs:
            keep = state.recording and not own.are_all([*ys, *ts])
            found = tape_gradient([p for p, _ in pairs], us, [t for _, t in pairs], True, create_graph=keep, allow_unused=True)
        zeros = [Tensor(np.zeros(tuple(y.shape), y.dtype.numpy)) for y in ys]
        return structure.unflatten([own.released(z if part is None else part) for part, z in zip(found, zeros, strict=True)])

    return structure.unflatten([own.released(y) for y in ys]), push


def functional_call(module: Any, parameters: Any, arguments: Any = None, keywords: dict[str, Any] | None = None, **_: Any) -> Any:
    """A callable object called while tensors stand in the place of its attributes: ``{"layer.weight": w}``."""
    given: dict[str, Any] = {}
    for part in parameters if isinstance(parameters, (list, tuple)) else (parameters,):
        given.update(part)
    positional = () if arguments is None else arguments if isinstance(arguments, tuple) else (arguments,)
    before: list[tuple[Any, str, Any]] = []
    try:
        for path, value in given.items():
            *way, name = path.split(".")
            owner = functools.reduce(getattr, way, module)
            before.append((owner, name, getattr(owner, name)))
            setattr(owner, name, value)
        return module(*positional, **(keywords or {}))
    finally:
        for owner, name, value in reversed(before):
            setattr(owner, name, value)
