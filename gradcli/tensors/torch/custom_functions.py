"""``torch.autograd.Function``: operations whose forward and backward are the user's."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Iterable
from functools import cache, wraps
from typing import Any

import numpy as np

from gradcli.tensors.core.dtypes import FLOATS
from gradcli.tensors.core.modes import Mode, state
from gradcli.tensors.core.node import Node
from gradcli.tensors.core.tensor import Tensor
from gradcli.tensors.core.user_warnings import warn
from gradcli.tensors.core.views import Origin, rebase, refuse_writing, regraph
from gradcli.tensors.dispatch.apply import viewing
from gradcli.tensors.torch.function_context import Context
from gradcli.tensors.torch.function_nodes import function_node, node_of_result


class Function:
    """Subclass with static methods ``forward(ctx, *args)`` and ``backward(ctx, *grads)``, and call ``apply``."""

    @staticmethod
    def forward(*arguments: Any, **keywords: Any) -> Any:
        raise NotImplementedError("You must implement the forward function for custom autograd.Function.")

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> Any:
        raise NotImplementedError(
            "You must implement either the backward or vjp method for your custom autograd.Function to use it with backward mode AD."
        )

    @staticmethod
    def vjp(ctx: Any, *gradients: Any) -> Any:
        """Another name of `backward`."""
        return Function.backward(ctx, *gradients)

    @staticmethod
    def jvp(ctx: Any, *tangents: Any) -> Any:
        raise NotImplementedError("You must implement the jvp function for custom autograd.Function to use it with forward mode AD.")

    generate_vmap_rule = False

    @staticmethod
    def vmap(info: Any, in_dims: Any, *arguments: Any) -> Any:
        raise NotImplementedError(
            "To use autograd.Function with vmap, you must either override the vmap static method or set generate_vmap_rule=True."
        )

    def __init__(self, *_: Any, **__: Any) -> None:
        warnings.warn(
            f"{type(self)} should not be instantiated. Methods on autograd functions are all static, so you should invoke them on the "
            "class itself. Instantiating an autograd function will raise an error in a future version of PyTorch.",
            DeprecationWarning,
            stacklevel=2,
        )

    def __call__(self, *_: Any, **__: Any) -> Any:
        raise RuntimeError(
            "Legacy autograd function with non-static forward method is deprecated. Please use new-style autograd function with static "
            "forward method. (Example: https://pytorch.org/docs/stable/autograd.html#torch.autograd.Function)"
        )

    @classmethod
    def _rule(cls) -> Any:
        """How gradients go back, under one of its two names."""
        if cls.backward is Function.backward:
            return cls.vjp
        if cls.vjp is not Function.vjp:
            raise RuntimeError(
                "Implementing both 'backward' and 'vjp' for a custom Function is not allowed. You should only implement one of them."
            )
        return cls.backward

    @classmethod
    def apply(cls, *arguments: Any, **keywords: Any) -> Any:
        """Run forward; the result is a node like any other's. Arguments by name are inputs as well, in forward's order."""
        separate = cls.setup_context is not Function.setup_context
        if keywords or separate:
            arguments = _in_order(cls, arguments, keywords, separate)
        if state.interpreter is not None:
            return cls._interpreted(arguments, separate)
        return applied(cls, arguments, separate)[0]

    @classmethod
    def _interpreted(cls, arguments: tuple[Any, ...], separate: bool) -> Any:
        """The result where arguments may be batched or move: given by the file above this one (custom_transforms.py)."""
        raise NotImplementedError

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> Any:
        raise NotImplementedError("setup_context is not implemented.")


def applied(cls: type[Function], arguments: tuple[Any, ...], separate: bool) -> tuple[Any, Context]:
    """The result of a user's function, with its node, and what forward has left for the derivatives."""
    cls._rule()  # which may be refused
    ctx = Context()
    recording = state.recording
    tensors: list[Tensor | None] = []
    sources: list[Node | None] = []  # before anything is written to
    wanted: list[bool] = []
    for a in arguments:
        tensor = a if isinstance(a, Tensor) else None
        needs = tensor is not None and tensor.requires_grad
        tensors.append(tensor)
        wanted.append(needs)
        sources.append(tensor.gradient_node() if tensor is not None and needs and recording else None)
    ctx.needs_input_grad = tuple(wanted)
    state.recording = False
    try:
        if separate:
            result = cls.forward(*arguments)
            cls.setup_context(ctx, arguments, result)
        else:
            result = cls.forward(ctx, *arguments)
    finally:
        state.recording = recording
    single = not isinstance(result, tuple)
    parts = (result,) if single else result
    for written in ctx._dirty:
        if not _is_among(written, parts):
            raise RuntimeError(
                "Some elements marked as dirty during the forward method were not returned as output. The inputs that are modified inplace "
                "must all be outputs of the Function."
            )
    made = tuple([_own(part, ctx) if _is_among(part, tensors) else part for part in parts])
    if recording and True in wanted:
        if ctx._dirty:
            _check_written(ctx, tensors, made)
        node = function_node(cls, ctx, tensors, sources, made)
        for place, part in enumerate(made):
            if isinstance(part, Tensor) and part.array.dtype.kind in FLOATS and id(part) not in ctx._flat:
                _put(part, node if len(made) == 1 else node_of_result(node, place, part), ctx)
    _seal(ctx, made)
    return made[0] if single else made, ctx


def _is_among(x: Any, others: Iterable[Any]) -> bool:
    return id(x) in map(id, others)


def _own(part: Any, ctx: Context) -> Any:
    """An input that is returned as it is gets an identity of its own, a view, unless it was modified in place."""
    if part is None or _is_among(part, ctx._dirty):
        return part
    with Mode(recording=False):
        own = viewing(part.array.view(), part)
    if state.recorder is not None:
        state.recorder.rename(own, part)
    return own


def _check_written(ctx: Context, tensors: list[Tensor | None], made: tuple[Any, ...]) -> None:
    """Raise if the graph cannot follow what forward says that it has written to."""
    for written in ctx._dirty:
        if written.requires_grad and written.is_leaf:
            raise RuntimeError("a leaf Variable that requires grad has been used in an in-place operation.")
        if not _is_among(written, tensors):
            warn(
                "Only input Tensors should be given to ctx.mark_dirty(). If a Tensor is not an input, there is no need to pass it to "
                "mark_dirty()."
            )
        elif written._view is not None and len(made) > 1:
            raise RuntimeError(
                "If your Function modifies inplace an input that is a view of another Tensor, your Function cannot return more than one "
                "Tensor. This is not supported by the current autograd engine. You should either make sure the input is not a view (using "
                ".clone() for example) or make your Function only return one Tensor (potentially splitting it into two Functions: one "
                "doing the inplace that returns a single Tensor and a second one that does the other operations)."
            )


def _put(part: Tensor, node: Node, ctx: Context) -> None:
    """Give a result its place in the graph; of a view that was written to, through its base."""
    if part._view is None:
        part.node, part._requires_grad = node, True  # what forward may have retained is not of this graph
    elif _is_among(part, ctx._dirty):
        refuse_writing(part)
        rebase(part, node)
    else:
        part.node = None
        regraph(part, node)


def _seal(ctx: Context, made: tuple[Any, ...]) -> None:
    """The graph cannot follow writing through views that forward has made: it would go round backward."""
    for place, part in enumerate(made):
        if isinstance(part, Tensor) and part._view is not None and not _is_among(part, ctx._dirty):
            several = sum(isinstance(p, Tensor) and p.node is not None and id(p) not in ctx._flat for p in made) > 1
            part._view.place, part._view.origin = place, Origin.SEVERAL if several else Origin.CUSTOM_FUNCTION


@cache
def _signature(forward: Any) -> tuple[inspect.Signature, int]:
    """How forward is called, and how many arguments it takes by position; -1 if there is no end to them."""
    found = inspect.signature(forward)
    kinds = [parameter.kind for parameter in found.parameters.values()]
    return found, -1 if any(kind > inspect.Parameter.POSITIONAL_OR_KEYWORD for kind in kinds) else len(kinds)


def _in_order(cls: type[Function], arguments: tuple[Any, ...], keywords: dict[str, Any], separate: bool) -> tuple[Any, ...]:
    """All inputs by position, as forward has them; where setup_context is its own method, with their defaults."""
    given, count = _signature(cls.forward)
    if separate and not keywords and count == len(arguments):
        return arguments
    bound = given.bind(*(() if separate else (None,)), *arguments, **keywords)
    if separate:
        bound.apply_defaults()
    if bound.kwargs:
        name = next(iter(bound.kwargs))
        if state.batch_levels:
            raise NotImplementedError(
                f"Run vmap on autograd.Function with kwarg-only Tensor args. Please do not pass kwarg-only Tensors to autograd.Function. "
                f"Got: {bound.kwargs}"
            )
        raise TypeError(f"{cls.__name__}.apply() cannot give {name!r} to forward by name only: its gradient would be lost")
    return bound.args if separate else bound.args[1:]


class InplaceFunction(Function):
    """PyTorch's old base of functions that write to their arguments; `mark_dirty` says what they write to."""

    def __init__(self, inplace: bool = False) -> None:
        super().__init__()
        self.inplace = inplace


class _Final(Function):
    """What cannot be differentiated: the gradients of a backward that runs once."""

    @staticmethod
    def forward(ctx: Any, *parts: Any) -> Any:
        return tuple([None if part is None else part.detach() for part in parts])

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> Any:
        raise RuntimeError("trying to differentiate twice a function that was marked with @once_differentiable")


def once_differentiable(backward: Any) -> Any:
    """Marks a backward that cannot be differentiated again."""

    @wraps(backward)
    def run(ctx: Any, *gradients: Any) -> Any:
        with Mode(recording=False):
            found = backward(ctx, *gradients)
        if not state.recording or not any(isinstance(g, Tensor) and g.requires_grad for g in gradients):
            return found
        parts = found if isinstance(found, tuple) else (found,)
        dependent = Tensor(np.zeros(()), requires_grad=True)
        final = _Final.apply(*parts, dependent)[:-1]
        return final if isinstance(found, tuple) else final[0]

    return run
