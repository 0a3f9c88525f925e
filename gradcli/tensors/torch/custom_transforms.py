"""A user's `autograd.Function` where some of its arguments are batched, or move: by its own ``vmap`` and ``jvp``."""

from __future__ import annotations

from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import numpy as np

from gradcli.tensors.core.batched import Batched, along_level, at_level, batched_in, in_front, levels_of, rewrapped
from gradcli.tensors.core.dtypes import FLOATS
from gradcli.tensors.core.levels import innermost, set_tangent, tangent_of
from gradcli.tensors.core.modes import state
from gradcli.tensors.core.tensor import Tensor
from gradcli.tensors.torch.custom_functions import Function, applied
from gradcli.tensors.torch.function_context import Context
from gradcli.tensors.transforms.pytrees import flatten, spread
from gradcli.tensors.transforms.vectorizing import moved

__all__ = ["Function"]


def interpreted(cls: type[Function], arguments: tuple[Any, ...], separate: bool) -> Any:
    """The result of a user's function."""
    return _interpreted(cls, arguments, separate)[0]


def _interpreted(cls: type[Function], arguments: tuple[Any, ...], separate: bool) -> tuple[Any, Context]:
    if levels_of(arguments) or (cls.vmap is not Function.vmap and levels_of(batched_in(arguments))):
        return _of_batch(cls, arguments, separate)
    place = innermost(arguments)
    return applied(cls, arguments, separate) if place is None else _moving(cls, arguments, separate, place)


_NOT_IN_PLACE = (
    "An inplace custom Function is not modifying the forward mode gradients inplace: the jvp function must modify the corresponding "
    "gradient inplace"
)
_NO_VIEW = "A custom Function's forward is returning a view (or an input as-is) but the jvp is not returning a view."

_OTHER_VIEW = "A custom Function is returning a view but the jvp is not returning a view of {} grad input."


# -- tangents ---------------------------------------------------------------------------------------------------


def _moving(cls: type[Function], arguments: tuple[Any, ...], separate: bool, place: int) -> tuple[Any, Context]:
    """`forward` one level further out, and `jvp` for how its results move."""
    level = state.forward_levels[place]
    before = state.change(forward_levels=state.forward_levels[:place])
    try:
        result, ctx = _interpreted(cls, arguments, separate)
        given = [_tangent(x, tangent_of(x, level), ctx.materialize_grads) for x in arguments]
        versions = [None if t is None else t._version for t in given]
        kept, ctx._saved = ctx._saved, ctx._for_forward
        try:
            returned = cls.jvp(ctx, *given)
        finally:
            ctx._saved = kept
    finally:
        state.change(**before)
    parts = result if isinstance(result, tuple) else (result,)
    tangents = returned if isinstance(returned, tuple) else (returned,)
    if len(parts) != len(tangents):
        raise RuntimeError(f"{cls.__name__}.jvp returned {len(tangents)} tangents of {len(parts)} results")
    for part, tangent in zip(parts, tangents, strict=True):
        if not isinstance(part, Tensor):
            continue
        for x, t, version in zip(arguments, given, versions, strict=True):
            if part is x and any(part is written for written in ctx._dirty):
                if tangent is not t or t is None or t._version == version:
                    raise RuntimeError(_NOT_IN_PLACE)
            elif isinstance(x, Tensor) and tangent is not None and np.may_share_memory(part.array, x.array) and _is_no_view(tangent, given):
                wanted = "the given" if x._view is None else "the same base as the given"
                raise RuntimeError(_NO_VIEW if tangent._base is None else _OTHER_VIEW.format(wanted))
        if tangent is not None and (id(part) in ctx._flat or part.array.dtype.kind not in FLOATS):
            raise RuntimeError(
                f"{cls.__name__}.jvp returned a tangent of a result that is not differentiable. You should return "
                "None at that position instead"
            )
        if tangent is not None:
            if tangent.shape != part.shape:
                raise RuntimeError(
                    f"{cls.__name__}.jvp returned a tangent of size {list(tangent.shape)} of a result of size {list(part.shape)}"
                )
            set_tangent(part, level, tangent)
    return result, ctx


def _is_no_view(tangent: Tensor, given: Sequence[Tensor | None]) -> bool:
    """Whether a tangent is none of the same memory as one that was given, or that one itself."""
    return any(tangent is t for t in given) or not any(t is not None and np.may_share_memory(tangent.array, t.array) for t in given)


def _tangent(x: Any, tangent: Tensor | None, materialize: bool) -> Tensor | None:
    if tangent is None and materialize and isinstance(x, Tensor) and x.array.dtype.kind in FLOATS:
        return Tensor(np.zeros_like(x.array))
    return tangent


# -- batches ----------------------------------------------------------------------------------------------------


def _of_batch(cls: type[Function], arguments: tuple[Any, ...], separate: bool) -> tuple[Any, Context]:
    own = cls.vmap is not Function.vmap
    if cls.generate_vmap_rule and own:
        raise RuntimeError(
            f"You tried to vmap over {cls.__name__}, but it has both generate_vmap_rule=True and an overridden vmap staticmethod. Please "
            "set generate_vmap_rule=False or delete the overridden vmap staticmethod to avoid ambiguity. For more details, please see "
            "https://pytorch.org/docs/main/notes/extending.func.html"
        )
    if own:
        return _by_its_own_rule(cls, arguments), Context()
    if not separate:
        raise RuntimeError(
            "In order to use an autograd.Function with functorch transforms (vmap, grad, jvp, jacrev, ...), it must override the "
            "setup_context staticmethod. For more details, please see https://pytorch.org/docs/main/notes/extending.func.html"
        )
    if not cls.generate_vmap_rule:
        raise RuntimeError(
            f"You tried to vmap over {cls.__name__}, but it does not have vmap support. Please override and implement the vmap "
            "staticmethod or set generate_vmap_rule=True. For more details, please see https://pytorch.org/docs/main/notes/extending.func.html"
        )
    levels = levels_of(arguments)
    physical = tuple([in_front(x, levels, full=True) if isinstance(x, Tensor) else x for x in arguments])
    result, ctx = _interpreted(_batching(cls, levels), physical, separate)
    if isinstance(result, tuple):
        return tuple([rewrapped(part, levels) for part in result]), ctx
    return rewrapped(result, levels), ctx


def _batching(cls: type[Function], levels: Any) -> type[Function]:
    """The function of physical tensors that a user's function is of examples: each of its methods sees examples."""
    lead = len(levels)

    def inside(x: Any) -> Any:
        return Batched(x, levels) if isinstance(x, Tensor) and x.ndim >= lead else x

    def outside(x: Any) -> Any:
        if isinstance(x, tuple):
            return tuple(map(outside, x))
        return in_front(x, levels, full=True) if isinstance(x, Tensor) else x

    class Physical(cls):  # type: ignore[misc, valid-type]  # it is a class
        generate_vmap_rule = False

        @staticmethod
        def forward(*given: Any) -> Any:
            return outside(cls.forward(*map(inside, given)))

        @staticmethod
        def backward(ctx: Any, *cotangents: Any) -> Any:
            found = cls.backward(ctx, *map(inside, cotangents))
            return outside(found)

        @staticmethod
        def jvp(ctx: Any, *tangents: Any) -> Any:
            return outside(cls.jvp(ctx, *map(inside, tangents)))

    if cls.setup_context is not Function.setup_context:
        Physical.setup_context = staticmethod(
            lambda ctx, inputs, output: cls.setup_context(
                ctx, tuple(map(inside, inputs)), tuple(map(inside, output)) if isinstance(output, tuple) else inside(output)
            )
        )
    Physical.__name__ = cls.__name__
    return Physical


def _by_its_own_rule(cls: type[Function], arguments: tuple[Any, ...]) -> Any:
    level = levels_of(batched_in(arguments))[-1]
    inputs, structure = flatten(arguments)
    batched = [isinstance(x, Batched) and level in x.levels for x in inputs]
    given = structure.unflatten([along_level(x, level) if own else x for x, own in zip(inputs, batched, strict=True)])
    dims = structure.unflatten([0 if own else None for own in batched])
    before = state.change(batch_levels=tuple([other for other in state.batch_levels if other is not level]))
    try:
        info = SimpleNamespace(batch_size=level.size)
        returned = cls.vmap(info, dims, *given)
    finally:
        state.change(**before)
    if not isinstance(returned, tuple) or len(returned) != 2:
        got = f"{len(returned)} returns" if isinstance(returned, tuple) else f"a {type(returned)}"
        raise RuntimeError(
            f"Expected the vmap staticmethod of {cls.__name__} to have two returns, the outputs and out_dims. Got {got} instead"
        )
    outputs, out_dims = returned
    ends, spec = flatten(outputs)
    places = spread(out_dims, spec)
    if places is None or not all(place is None or isinstance(place, int) for place in places):
        raise RuntimeError(
            f"The autograd.Function's vmap staticmethod returned an incompatible (output, out_dims) tuple. Expected out_dims={out_dims} to "
            f"be compatible with the structure of `output`. out_dims has structure {flatten(out_dims)[1]} but output has structure {spec}."
        )
    found = [x if d is None else at_level(moved(x, d % x.ndim, 0), level) for x, d in zip(ends, places, strict=True)]
    return spec.unflatten(found)


Function._interpreted = classmethod(interpreted)  # type: ignore[assignment]  # of any of its subclasses
