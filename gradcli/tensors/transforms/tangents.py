"""``torch.func`` in forward mode: Jacobian-vector products and Jacobians of functions, of any order."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from gradcli.ops.arrays.shapes import broadcast_to, reshape
from gradcli.tensors.core.levels import Batched, Entered, ForwardLevel, check_tangent, moving_by, set_tangent, tangent_of
from gradcli.tensors.core.modes import Mode, Transforming, state
from gradcli.tensors.core.tensor import Tensor
from gradcli.tensors.transforms.gradients import (
    Argnums,
    and_aux,
    detached,
    jacrev,
    of_some,
    selected,
    tensors_of,
    units,
    vjp,
    writable_in,
)
from gradcli.tensors.transforms.vectorizing import flatten, mapped, moved, vmap

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
        check_tangent(x, t)
    level = ForwardLevel()
    duals = [dual(x, t, level) for x, t in zip(xs, ts, strict=True)]
    with Entered(forward=level), Transforming([*writable_in(func, duals), *ts]):
        output, aux = and_aux(func(*spec.unflatten(duals)), has_aux, _JVP)
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
        basis, starts = units(xs)

        def push(tangents: Any) -> Any:
            _, *found = jvp(alone, parts, tangents, has_aux=has_aux)
            return tuple(found)

        columns, *aux = vmap(push, chunk_size=chunk_size)(spec.unflatten(basis))
        ys, structure = flatten(columns)
        blocks = []
        for y in ys:
            last = moved(y, 0, -1)
            rows = [
                reshape(last[..., start:stop], shape=(*last.shape[:-1], *x.shape))
                for start, stop, x in zip(starts[:-1], starts[1:], xs, strict=True)
            ]
            whole = spec.unflatten(rows)
            blocks.append(whole[0] if isinstance(argnums, int) else whole)
        found = structure.unflatten(blocks)
        return (found, mapped(lambda part: part[0], aux[0])) if has_aux else found

    return run


def hessian(func: Callable[..., Any], argnums: Argnums = 0) -> Callable[..., Any]:
    """The second derivatives: the Jacobian in forward mode of that in reverse mode."""
    return jacfwd(jacrev(func, argnums), argnums)


def linearize(func: Callable[..., Any], *primals: Any) -> tuple[Any, Callable[..., Any]]:
    """The function's value, and the function that takes tangents of the primals to those of it. The function runs once.

    u J is linear in u, with the transposed Jacobian as its own, so that J t is the derivative of u J by u, in the direction t.
    """
    ends, spec = flatten(primals)
    value, pull = vjp(lambda *inputs: func(*mapped(_alias, inputs)), *primals)  # which may be written to
    _, push = vjp(pull, mapped(lambda y: Tensor(np.zeros(tuple(y.shape), y.dtype.numpy)), value))

    def move(*tangents: Any) -> Any:
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
        (found,) = push(tangents)
        followed = any(x.requires_grad for x in (*flatten(value)[0], *ts))  # by something else than the primals
        return found if followed else mapped(detached, found)

    return value, move


# -- ``torch.autograd.forward_ad``: tensors that move, inside of a dual level, and how what is made
# of them does.


class _DualLevel(ForwardLevel):
    """The one dual level that may be under way."""


_entered: list[Entered] = []  # not more than one, in PyTorch, too


class UnpackedDualTensor(NamedTuple):
    """A tensor as it is, and how it moves: None if it does not."""

    primal: Tensor
    tangent: Tensor | None


def enter_dual_level() -> int:
    """From here on, `make_dual` makes tensors that move."""
    if _entered:
        raise RuntimeError("Nested forward mode AD is not supported at the moment")
    level = Entered(forward=_DualLevel())
    level.__enter__()
    _entered.append(level)
    return 0


def current_level() -> int:
    """0 inside of the dual level, -1 outside."""
    return len(_entered) - 1


def exit_dual_level(*, level: int | None = None) -> None:
    """The end of the dual level: nothing moves any more."""
    if not _entered and level is None:
        raise RuntimeError("Dual level must be a positive number. No dual level was entered")
    if not _entered or level not in (None, 0):
        raise RuntimeError("Trying to exit a forward AD level that was not the last one that was created. This is not supported.")
    _entered.pop().__exit__()


class dual_level(Mode):
    """A dual level for the time of a ``with`` block, or of a function."""

    def __init__(self) -> None:
        super().__init__()

    def __enter__(self) -> Any:
        return enter_dual_level()

    def __exit__(self, *exception: object) -> None:
        exit_dual_level()

    def __call__(self, function: Callable[..., Any]) -> Callable[..., Any]:
        def run(*arguments: Any, **keywords: Any) -> Any:
            with dual_level():
                return function(*arguments, **keywords)

        return run


def make_dual(tensor: Tensor, tangent: Tensor, *, level: int | None = None) -> Tensor:
    """The same entries, moving by a tangent; differentiable by both."""
    if not _entered or (level is not None and level < 0):
        raise RuntimeError("Trying to create a dual Tensor for forward AD but no level exists, make sure to enter_dual_level() first.")
    if level not in (None, 0):
        raise RuntimeError("Invalid level given to _make_dual")
    for x in (tensor, tangent):
        if not isinstance(x, Tensor):
            raise AttributeError(f"'{type(x).__name__}' object has no attribute 'is_floating_point'")
    check_tangent(tensor, tangent)
    if tensor.dtype != tangent.dtype:
        raise RuntimeError(f"Expected the tangent's dtype {tangent.dtype} to be that of the primal, {tensor.dtype}")
    if tangent_of(tensor, _level()) is not None:
        raise RuntimeError(
            "Making a dual Tensor based on a Tensor that already has a forward gradient at the same level 0 is not supported."
        )
    if tangent_of(tangent, _level()) is not None:
        raise RuntimeError("Expected tangent to have none: it has a forward gradient at the same level; unpack it first")
    alias = _without_tangents(tensor)
    alias._view = None  # what is written to it does not move the tensor
    made: Tensor = moving_by(alias, _level(), tangent)
    return made


def unpack_dual(tensor: Tensor, *, level: int | None = None) -> UnpackedDualTensor:
    """Return what a tensor is and how it moves at the dual level."""
    if not _entered:
        return UnpackedDualTensor(tensor, None)
    if not isinstance(tensor, Tensor):
        raise TypeError(f"_unpack_dual(): argument 'dual' (position 1) must be Tensor, not {type(tensor).__name__}")
    tangent = tangent_of(tensor, _level())
    if tangent is None:
        return UnpackedDualTensor(tensor, None)
    primal = _without_tangents(tensor)
    primal._view = None
    return UnpackedDualTensor(primal, tangent)


def _without_tangents(x: Tensor) -> Tensor:
    """The same memory, in the graph, as a tensor that does not move."""
    before = state.change(forward_levels=tuple([other for other in state.forward_levels if other is not _level()]))
    try:
        alias: Tensor = broadcast_to(x, shape=tuple(x.shape))
    finally:
        state.change(**before)
    return alias


def _level() -> ForwardLevel:
    level: ForwardLevel = _entered[-1].forward
    return level
