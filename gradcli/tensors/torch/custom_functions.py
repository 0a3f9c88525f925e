"""``torch.autograd.Function``: operations whose forward and backward are the user's."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Sequence
from functools import cache, wraps
from typing import Any
from weakref import ref

import numpy as np

from gradcli.ops.spec import Op
from gradcli.ops.structure import output
from gradcli.tensors.core.anomaly import remember
from gradcli.tensors.core.batched import Batched
from gradcli.tensors.core.dtypes import FLOATS
from gradcli.tensors.core.modes import Mode, state
from gradcli.tensors.core.node import Node, node_class
from gradcli.tensors.core.saved_hooks import Hooks, in_force, packed, unpacked
from gradcli.tensors.core.saved_values import FREED, SECOND_TIME
from gradcli.tensors.core.tensor import Tensor
from gradcli.tensors.core.user_warnings import warn
from gradcli.tensors.core.views import Origin, rebase, refuse_writing, regraph
from gradcli.tensors.dispatch.apply import viewing


class Context:
    """What `forward` hands to `backward`: PyTorch's ``ctx``."""

    needs_input_grad: tuple[bool, ...] = ()
    materialize_grads = True
    _saved: tuple[Any, ...] = ()
    _hooks: Hooks | None = None
    _for_forward: tuple[Any, ...] = ()
    _versions: Sequence[tuple[list[int], int]] = ()
    _freed = False
    _dirty: tuple[Any, ...] = ()
    _flat: frozenset[int] = frozenset()

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
        return self._saved if self._hooks is None else tuple([x if x is None else unpacked(self._hooks, x) for x in self._saved])

    @property
    def saved_variables(self) -> tuple[Any, ...]:
        warnings.warn("'saved_variables' is deprecated; use 'saved_tensors'", DeprecationWarning, stacklevel=2)
        return self.saved_tensors

    def set_materialize_grads(self, value: bool) -> None:
        self.materialize_grads = value

    def mark_dirty(self, *tensors: Any) -> None:
        self._dirty = tensors

    def mark_non_differentiable(self, *tensors: Any) -> None:
        self._flat = frozenset(map(id, tensors))

    def save_for_forward(self, *tensors: Any) -> None:
        """What `jvp` will find as ``saved_tensors``."""
        self._for_forward = tensors


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
    ctx = Context()
    tensors = [a if isinstance(a, Tensor) else None for a in arguments]
    ctx.needs_input_grad = wanted = tuple([t is not None and t.requires_grad for t in tensors])
    if cls.backward is not Function.backward and cls.vjp is not Function.vjp:
        raise RuntimeError(
            "Implementing both 'backward' and 'vjp' for a custom Function is not allowed. You should only implement one of them."
        )
    recorded = state.recording and True in wanted
    sources = _sources(tensors) if recorded else ()  # before anything is written to
    recording, state.recording = state.recording, False
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
        if not any(written is part for part in parts):
            raise RuntimeError(
                "Some elements marked as dirty during the forward method were not returned as output. The inputs that are modified inplace "
                "must all be outputs of the Function."
            )
    made = tuple([_own(part, tensors, ctx) for part in parts])
    if recorded:
        if ctx._dirty:
            _check_written(ctx, tensors, made)
        node = _node(cls, ctx, tensors, sources, made)
        for place, part in enumerate(made):
            if isinstance(part, Tensor) and id(part) not in ctx._flat and part.array.dtype.kind in FLOATS:
                kind = node_class(node.label, _FunctionOutput)
                _put(part, node if len(made) == 1 else kind(output, (node,), {"place": place}, part.array.shape, part.array.dtype), ctx)
    _seal(ctx, made)
    return made[0] if single else made, ctx


def _sources(tensors: list[Tensor | None]) -> tuple[Node | None, ...]:
    return tuple([t.gradient_node() if t is not None and t.requires_grad else None for t in tensors])


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


class _FunctionOutput(Node):
    __slots__ = ()

    def __repr__(self) -> str:
        return f"<torch.autograd.function.{self.label} object at {hex(id(self))}>"


class _FunctionNode(_FunctionOutput):
    __slots__ = ("context", "inputs")
    context: Context
    inputs: list[Tensor | None]

    def __getattr__(self, name: str) -> Any:
        """The node is PyTorch's ctx: what forward stored is found here."""
        if name in ("context", "inputs"):
            raise AttributeError(name)
        return getattr(self.context, name)


def _node(cls: type[Function], ctx: Context, tensors: list[Tensor | None], sources: tuple[Node | None, ...], made: Sequence[Any]) -> Node:
    op, kind = _record(cls, len(tensors), len(made))  # type: ignore[arg-type]  # a class, which is hashable
    shapes = tuple([p.array.shape if isinstance(p, Tensor) else () for p in made])
    kinds = tuple([p.array.dtype if isinstance(p, Tensor) else None for p in made])
    single = len(made) == 1
    node: _FunctionNode = kind(op, sources, {}, shapes[0] if single else shapes, kinds[0] if single else kinds)
    node.context, node.inputs = ctx, tensors
    node.static = {"call": ref(node)}
    node.saved = (None,) * (len(tensors) + 1)
    node.versions = [] if ctx._saved else None
    if state.saved_hooks is not None and ctx._saved:
        ctx._hooks = hooks = in_force()
        if hooks is not None:
            ctx._saved, ctx._versions = tuple([x if x is None else packed(hooks, x.detach()) for x in ctx._saved]), ()
    if state.anomaly:
        remember(node)
    return node


@cache
def _record(cls: type[Function], inputs: int, outputs: int) -> tuple[Op, type[Any]]:
    """What stands for a user's function among the operations: its rule is the user's."""
    names = tuple([f"x{i}" for i in range(inputs)])
    doc = cls.__doc__ or ""
    op = Op(cls.__name__, names, _unregistered, _unregistered, "structural", doc, vjp=_pulled(cls), outputs=outputs, always=True)
    return op, node_class(f"{cls.__name__}Backward", _FunctionNode)


def _pulled(cls: type[Function]) -> Any:
    def vjp(wanted: Any, cotangent: Any, out: Any, *operands: Any, call: Any) -> tuple[Any, ...]:
        node = call()
        ctx = node.context
        single = not isinstance(node.dtype, tuple)
        given, shapes, kinds = ((cotangent,), (node.shape,), (node.dtype,)) if single else (cotangent, node.shape, node.dtype)
        gradients = []
        for found, shape, kind in zip(given, shapes, kinds, strict=True):
            part = np.zeros(shape, kind) if found is None and ctx.materialize_grads and kind is not None else found
            gradients.append(part if part is None or isinstance(part, Tensor) else Tensor(np.asarray(part)))
        backward = cls.backward if cls.backward is not Function.backward else cls.vjp
        returned = backward(ctx, *gradients)
        if node.saved is FREED:
            ctx._saved, ctx._freed = (), True
        parts = returned if isinstance(returned, tuple) else (returned,)
        if len(parts) < len(wanted) or any(part is not None for part in parts[len(wanted) :]):
            raise RuntimeError(
                f"function {cls.__name__}Backward returned an incorrect number of gradients (expected {len(wanted)}, got {len(parts)})"
            )
        return tuple([_checked(cls, i, part, node.inputs[i], state.recording) for i, part in enumerate(parts[: len(wanted)])])

    return vjp


def _checked(cls: type[Function], place: int, part: Any, operand: Tensor | None, keep_graph: bool) -> Any:
    if part is None or operand is None or not operand.requires_grad:
        return None
    if not isinstance(part, Tensor):
        raise RuntimeError(f"expected Variable or None (got {type(part).__name__})")
    if part.shape != operand.array.shape:
        try:
            fits = np.broadcast_shapes(part.shape, operand.array.shape) == tuple(part.shape)
        except ValueError:
            fits = False
        if not fits:
            raise RuntimeError(
                f"Function {cls.__name__}Backward returned an invalid gradient at index {place} - got {list(part.shape)} but expected "
                f"shape compatible with {list(operand.shape)}"
            )
    return part if keep_graph or isinstance(part, Batched) else part.array


def _unregistered(*_: Any, **__: Any) -> Any:
    raise NotImplementedError("a user's autograd.Function has no forward outside of apply")


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
