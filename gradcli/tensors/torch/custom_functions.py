"""``torch.autograd.Function``: operations whose forward and backward are the user's."""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np

from gradcli.ops.spec import Op
from gradcli.ops.structure import output
from gradcli.tensors.core.anomaly import remember
from gradcli.tensors.core.modes import Mode, state
from gradcli.tensors.core.node import Node, node_class
from gradcli.tensors.core.saved_values import FREED, SECOND_TIME
from gradcli.tensors.core.tensor import Tensor
from gradcli.tensors.core.user_warnings import warn
from gradcli.tensors.core.views import Origin, rebase, refuse_writing, regraph
from gradcli.tensors.dispatch.apply import viewing


class Context:
    """What `forward` hands to `backward`: PyTorch's ``ctx``."""

    def __init__(self) -> None:
        self.needs_input_grad: tuple[bool, ...] = ()
        self.materialize_grads = True
        self._saved: tuple[Any, ...] = ()
        self._versions: list[tuple[list[int], int]] = []
        self._freed = False
        self._dirty: tuple[Any, ...] = ()
        self._flat: set[int] = set()

    def save_for_backward(self, *tensors: Any) -> None:
        for i, t in enumerate(tensors):
            if t is not None and not isinstance(t, Tensor):
                raise TypeError(f"save_for_backward can only save variables, but argument {i} is of type {type(t).__name__}")
        self._saved = tensors
        self._versions = [(t._version_counter, t._version) for t in tensors if isinstance(t, Tensor)]

    @property
    def saved_tensors(self) -> tuple[Any, ...]:
        if self._freed:
            raise RuntimeError(SECOND_TIME)
        for counter, version in self._versions:
            if counter[0] != version:
                raise RuntimeError(
                    "one of the variables needed for gradient computation has been modified by an inplace operation: a tensor given to "
                    f"save_for_backward is at version {counter[0]}; expected version {version} instead."
                )
        return self._saved

    def set_materialize_grads(self, value: bool) -> None:
        self.materialize_grads = value

    def mark_dirty(self, *tensors: Any) -> None:
        self._dirty = tensors

    def mark_non_differentiable(self, *tensors: Any) -> None:
        self._flat = {id(t) for t in tensors}


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

    def __init__(self) -> None:
        raise RuntimeError("an autograd.Function is not instantiated: call its static method apply(...)")

    @classmethod
    def apply(cls, *arguments: Any, **keywords: Any) -> Any:
        """Run forward; the result is a node like any other's. Arguments by name are inputs as well, in forward's order."""
        separate = "setup_context" in cls.__dict__ or cls.setup_context is not Function.setup_context
        if keywords or separate:
            arguments = _in_order(cls, arguments, keywords, separate)
        ctx = Context()
        tensors = [a if isinstance(a, Tensor) else None for a in arguments]
        ctx.needs_input_grad = tuple(t is not None and t.requires_grad for t in tensors)
        recorded = state.recording and any(ctx.needs_input_grad)
        sources = tuple(t.gradient_node() if t is not None and t.requires_grad else None for t in tensors)  # before anything is written to
        with Mode(recording=False):
            if separate:
                result = cls.forward(*arguments)
                cls.setup_context(ctx, arguments, result)
            else:
                result = cls.forward(ctx, *arguments)
        parts = result if isinstance(result, tuple) else (result,)
        made = tuple(_own(part, tensors, ctx) for part in parts)
        if recorded:
            _check_written(ctx, tensors, made)
            node = _node(cls, ctx, tensors, sources, made)
            for place, part in enumerate(made):
                if isinstance(part, Tensor) and part.array.dtype.kind == "f" and id(part) not in ctx._flat:
                    kind = node_class(node.label, _FunctionOutput)
                    place_of = kind(output, (node,), {"place": place}, part.array.shape, part.array.dtype)
                    _put(part, node if len(made) == 1 else place_of, ctx)
        _seal(ctx, made)
        return made if isinstance(result, tuple) else made[0]

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> Any:
        raise NotImplementedError("setup_context is not implemented.")


def _own(part: Any, tensors: list[Tensor | None], ctx: Context) -> Any:
    """An input that is returned as it is gets an identity of its own, a view, unless it was modified in place."""
    if isinstance(part, Tensor) and any(part is t for t in tensors) and not any(part is d for d in ctx._dirty):
        with Mode(recording=False):
            return viewing(part.array.view(), part)
    return part


def _check_written(ctx: Context, tensors: list[Tensor | None], made: tuple[Any, ...]) -> None:
    """Raise if the graph cannot follow what forward says that it has written to."""
    for written in ctx._dirty:
        if written.requires_grad and written.is_leaf:
            raise RuntimeError("a leaf Variable that requires grad has been used in an in-place operation.")
        if not any(written is t for t in tensors):
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
    if part._view is not None and any(part is written for written in ctx._dirty):
        refuse_writing(part)
        rebase(part, node)
    else:
        part.node = None  # what forward may have retained is not of this graph
        regraph(part, node)


def _seal(ctx: Context, made: tuple[Any, ...]) -> None:
    """The graph cannot follow writing through views that forward has made: it would go round backward."""
    flat = [not isinstance(part, Tensor) or part.node is None or id(part) in ctx._flat for part in made]
    several = len(made) - sum(flat) > 1
    for place, part in enumerate(made):
        if isinstance(part, Tensor) and part._view is not None and not any(part is written for written in ctx._dirty):
            part._view.place, part._view.origin = place, Origin.SEVERAL if several else Origin.CUSTOM_FUNCTION


def _in_order(cls: type[Function], arguments: tuple[Any, ...], keywords: dict[str, Any], separate: bool) -> tuple[Any, ...]:
    """All inputs by position, as forward has them; where setup_context is its own method, with their defaults."""
    given = inspect.signature(cls.forward)
    bound = given.bind(*(() if separate else (None,)), *arguments, **keywords)
    if separate:
        bound.apply_defaults()
    if bound.kwargs:
        name = next(iter(bound.kwargs))
        raise TypeError(f"{cls.__name__}.apply() cannot give {name!r} to forward by name only: its gradient would be lost")
    return bound.args if separate else bound.args[1:]


class _FunctionOutput(Node):
    __slots__ = ()

    def __repr__(self) -> str:
        return f"<torch.autograd.function.{self.label} object at {hex(id(self))}>"


class _FunctionNode(_FunctionOutput):
    __slots__ = ("context",)
    context: Context

    def __getattr__(self, name: str) -> Any:
        """The node is PyTorch's ctx: what forward stored is found here."""
        if name == "context":
            raise AttributeError(name)
        return getattr(self.context, name)


def _node(cls: type[Function], ctx: Context, tensors: list[Tensor | None], sources: tuple[Node | None, ...], made: tuple[Any, ...]) -> Node:
    shapes = [p.array.shape if isinstance(p, Tensor) else () for p in made]
    kinds = [p.array.dtype if isinstance(p, Tensor) else None for p in made]

    def vjp(wanted: Any, cotangent: Any, out: Any, *operands: Any) -> tuple[Any, ...]:
        given = cotangent if isinstance(cotangent, tuple) else (cotangent,)
        gradients = []
        for part, shape, kind in zip(given, shapes, kinds, strict=True):
            missing = part is None and ctx.materialize_grads and kind is not None
            seen = np.zeros(shape, kind) if missing else part
            gradients.append(seen if seen is None or isinstance(seen, Tensor) else Tensor(np.asarray(seen)))
        returned = cls.backward(ctx, *gradients)
        if node.saved is FREED:
            ctx._saved, ctx._freed = (), True
        parts = returned if isinstance(returned, tuple) else (returned,)
        if len(parts) < len(wanted) or any(part is not None for part in parts[len(wanted) :]):
            raise RuntimeError(
                f"function {cls.__name__}Backward returned an incorrect number of gradients (expected {len(wanted)}, got {len(parts)})"
            )
        return tuple(_checked(cls, i, part, tensors[i], state.recording) for i, part in enumerate(parts[: len(wanted)]))

    names = tuple(f"x{i}" for i in range(len(tensors)))
    doc = cls.__doc__ or ""
    op = Op(cls.__name__, names, _unregistered, _unregistered, "structural", doc, vjp=vjp, outputs=len(made), always=True)
    single = len(made) == 1
    kind = node_class(f"{cls.__name__}Backward", _FunctionNode)
    node: _FunctionNode = kind(op, sources, {}, shapes[0] if single else tuple(shapes), kinds[0] if single else tuple(kinds))
    node.context = ctx
    if state.anomaly:
        remember(node)
    node.saved = (None, *(None for _ in tensors))
    node.versions = [] if ctx._saved else None
    return node


def _checked(cls: type[Function], place: int, part: Any, operand: Tensor | None, keep_graph: bool) -> Any:
    if part is None or operand is None or not operand.requires_grad:
        return None
    if not isinstance(part, Tensor):
        raise RuntimeError(f"expected Variable or None (got {type(part).__name__})")
    if part.array.shape != operand.array.shape:
        try:
            fits = np.broadcast_shapes(part.array.shape, operand.array.shape) == part.array.shape
        except ValueError:
            fits = False
        if not fits:
            raise RuntimeError(
                f"Function {cls.__name__}Backward returned an invalid gradient at index {place} - got {list(part.shape)} but expected "
                f"shape compatible with {list(operand.shape)}"
            )
    return part if keep_graph else part.array


def _unregistered(*_: Any, **__: Any) -> Any:
    raise NotImplementedError("a user's autograd.Function has no forward outside of apply")


def once_differentiable(backward: Any) -> Any:
    """Marks a backward that cannot be differentiated again."""

    def run(ctx: Any, *gradients: Any) -> Any:
        with Mode(recording=False):
            return backward(ctx, *gradients)

    return run
