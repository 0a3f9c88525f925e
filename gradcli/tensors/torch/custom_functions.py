"""``torch.autograd.Function``: operations whose forward and backward are the user's."""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Sequence
from functools import cache, wraps
from typing import Any
from weakref import ref

import numpy as np

from gradcli.ops.spec import Op, as_tuple
from gradcli.ops.structure import output
from gradcli.tensors.core.backward import tensor_or_none
from gradcli.tensors.core.dtypes import FLOATS
from gradcli.tensors.core.in_place import broadcasts
from gradcli.tensors.core.levels import Batched, levels_of, listed_tensors, one_by_one
from gradcli.tensors.core.modes import Mode, state, warn
from gradcli.tensors.core.node import Node, node_class, remember
from gradcli.tensors.core.tensor import Origin, Tensor, rebase, refuse_writing, regraph
from gradcli.tensors.core.trace import FREED, SECOND_TIME
from gradcli.tensors.dispatch.apply import view_tensor

# -- What forward hands to backward in a user's `autograd.Function`: PyTorch's ``ctx`` ------------


class Context:
    """Object that `forward` hands to `backward`: PyTorch's ``ctx``."""

    needs_input_grad: tuple[bool, ...] = ()
    materialize_grads = True
    _saved: tuple[Any, ...] = ()
    _for_forward: tuple[Any, ...] = ()
    _versions: Sequence[tuple[list[int], int]] = ()
    _freed = False
    _dirty: tuple[Any, ...] = ()
    _flat: frozenset[int] = frozenset()

    def save_for_backward(self, *tensors: Any) -> None:
        versions = []
        for i, t in enumerate(tensors):
            if isinstance(t, Tensor):
                versions.append((t._version_counter, t._version))
            elif t is not None:
                raise TypeError(
                    f"save_for_backward can only save variables, but argument {i} is of type "
                    f"{type(t).__name__}"
                )
        self._saved = tensors
        self._versions = versions

    @property
    def saved_tensors(self) -> tuple[Any, ...]:
        if self._freed:
            raise RuntimeError(SECOND_TIME)
        for counter, version in self._versions:
            if counter[0] != version:
                raise RuntimeError(
                    "one of the variables needed for gradient computation has been modified by an "
                    "inplace operation: a tensor given to "
                    f"save_for_backward is at version {counter[0]}; expected version {version} "
                    "instead."
                )
        return self._saved

    def set_materialize_grads(self, value: bool) -> None:
        self.materialize_grads = value

    def mark_dirty(self, *tensors: Any) -> None:
        self._dirty = tensors

    def mark_non_differentiable(self, *tensors: Any) -> None:
        self._flat = frozenset(map(id, tensors))

    def save_for_forward(self, *tensors: Any) -> None:
        """Keep what `jvp` will find as ``saved_tensors``."""
        self._for_forward = tensors


# -- The node of a user's `autograd.Function` in the graph, and the record that stands for the
# function among the operations.


class _FunctionOutput(Node):
    __slots__ = ()

    def __repr__(self) -> str:
        return f"<torch.autograd.function.{self.label} object at {hex(id(self))}>"


class _FunctionNode(_FunctionOutput):
    __slots__ = ("context", "function", "inputs")
    context: Context
    function: type[Any]
    inputs: list[Tensor | None]

    def __getattr__(self, name: str) -> Any:
        """Return what forward stored: the node is PyTorch's ctx."""
        if name in ("context", "function", "inputs"):
            raise AttributeError(name)
        return getattr(self.context, name)


def function_node(
    cls: type[Any],
    ctx: Context,
    tensors: list[Tensor | None],
    sources: Sequence[Node | None],
    made: Sequence[Any],
) -> Node:
    """Return the node of the call that made these results."""
    op, kind = _record(cls, len(tensors), len(made))  # type: ignore[arg-type]  # a class, which is hashable
    shapes: Any = tuple(p.array.shape if isinstance(p, Tensor) else () for p in made)
    kinds: Any = tuple(p.array.dtype if isinstance(p, Tensor) else None for p in made)
    if len(made) == 1:
        (shapes,), (kinds,) = shapes, kinds
    saved = (None,) * (len(tensors) + 1)
    node: _FunctionNode = kind(
        kind.__name__, op, tuple(sources), {}, shapes, kinds, saved, [] if ctx._saved else None
    )
    node.context = ctx
    node.function = cls
    node.inputs = tensors
    node.static = {"call": ref(node)}
    if state.anomaly:
        remember(node)
    return node


def node_of_result(node: Node, place: int, part: Tensor) -> Node:
    """Return the node of one of several results of a call."""
    kind = node_class(node.label, _FunctionOutput)
    made: Node = kind(
        node.label, output, (node,), {"place": place}, part.array.shape, part.array.dtype
    )
    return made


class _Users(Op):
    """A user's function."""

    always = True


@cache
def _record(cls: type[Any], inputs: int, outputs: int) -> tuple[Op, type[Any]]:
    """Return what stands for a user's function among the operations: its rule is the user's."""
    names = " ".join([f"x{i}" for i in range(inputs)])
    passes: dict[str, Any] = {
        "forward": _refuse_unregistered,
        "reference": _refuse_unregistered,
        "vjp": _pull_of(cls, inputs),
        "saves": ("out",),
    }
    op = _Users(
        cls.__name__, names, cls.__doc__ or "", results=("",) * outputs, kind="structural", **passes
    )
    return op, node_class(f"{cls.__name__}Backward", _FunctionNode)


def _pull_of(cls: type[Any], inputs: int) -> Any:
    def vjp(cotangent: Any, out: Any, *operands: Any, call: Any) -> tuple[Any, ...]:
        node = call()
        ctx = node.context
        single = not isinstance(node.dtype, tuple)
        if state.pushing and cls.jvp is not Function.jvp:
            pushed: tuple[Any, ...] = _Pushing.apply(node, *((cotangent,) if single else cotangent))
            return pushed
        given, shapes, kinds = (
            ((cotangent,), (node.shape,), (node.dtype,))
            if single
            else (cotangent, node.shape, node.dtype)
        )
        returned = cls.backward(ctx, *[
            tensor_or_none(np.zeros(shape, kind) if part is None and ctx.materialize_grads and kind is not None else part)
            for part, shape, kind in zip(given, shapes, kinds, strict=True)
        ])  # fmt: skip
        if node.saved is FREED:
            ctx._saved = ()
            ctx._freed = True
        parts = as_tuple(returned)
        if len(parts) < inputs or any(part is not None for part in parts[inputs:]):
            raise RuntimeError(
                f"function {cls.__name__}Backward returned an incorrect number of gradients "
                f"(expected {inputs}, got {len(parts)})"
            )
        return tuple(
            _check_part(cls, i, part, node.inputs[i], state.recording)
            for i, part in enumerate(parts[:inputs])
        )

    return vjp


def _check_part(
    cls: type[Any], place: int, part: Any, operand: Tensor | None, keep_graph: bool
) -> Any:
    if part is None or operand is None or not operand.requires_grad:
        return None
    if not isinstance(part, Tensor):
        raise RuntimeError(f"expected Variable or None (got {type(part).__name__})")
    if not broadcasts(operand.array.shape, part.shape):
        raise RuntimeError(
            f"Function {cls.__name__}Backward returned an invalid gradient at index {place} - got "
            f"{list(part.shape)} but expected "
            f"shape compatible with {list(operand.shape)}"
        )
    return part if keep_graph or isinstance(part, Batched) else part.array


def _refuse_unregistered(*_: Any, **__: Any) -> Any:
    raise NotImplementedError("a user's autograd.Function has no forward outside of apply")


class Function:
    """Base class of a user's functions.

    Subclass it with static methods ``forward(ctx, *args)`` and ``backward(ctx, *grads)``, and call
    ``apply``.
    """

    @staticmethod
    def forward(*arguments: Any, **keywords: Any) -> Any:
        raise NotImplementedError(
            "You must implement the forward function for custom autograd.Function."
        )

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> Any:
        raise NotImplementedError(
            "You must implement either the backward or vjp method for your custom "
            "autograd.Function to use it with backward mode AD. "
            "gradcli takes backward."
        )

    @staticmethod
    def jvp(ctx: Any, *tangents: Any) -> Any:
        raise NotImplementedError(
            "You must implement the jvp function for custom autograd.Function to use it with "
            "forward mode AD."
        )

    @classmethod
    def apply(cls, *arguments: Any, **keywords: Any) -> Any:
        """Run forward; the result is a node like any other's.

        Arguments by name are inputs as well, in forward's order.
        """
        separate = cls.setup_context is not Function.setup_context
        if keywords or separate:
            arguments = _in_order(cls, arguments, keywords, separate)
        if levels_of(listed_tensors(arguments)):
            return one_by_one(cls.apply, arguments, {})
        return apply_function(cls, arguments, separate)

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> Any:
        raise NotImplementedError("setup_context is not implemented.")


def apply_function(cls: type[Function], arguments: tuple[Any, ...], separate: bool) -> Any:
    """Return the result of a user's function, with its node."""
    ctx = Context()
    recording = state.recording
    tensors = [a if isinstance(a, Tensor) else None for a in arguments]
    wanted = ctx.needs_input_grad = tuple(t is not None and t.requires_grad for t in tensors)
    sources = [
        t.source() if t is not None and recording else None for t in tensors
    ]  # before anything is written to
    with Mode(recording=False):
        if separate:
            result = cls.forward(*arguments)
            cls.setup_context(ctx, arguments, result)
        else:
            result = cls.forward(ctx, *arguments)
    single = not isinstance(result, tuple)
    parts = (result,) if single else result
    made = tuple(
        _own(part) if _is_among(part, tensors) and not _is_among(part, ctx._dirty) else part
        for part in parts
    )
    for written in ctx._dirty:
        if not _is_among(written, parts):
            raise RuntimeError(
                "Some elements marked as dirty during the forward method were not returned as "
                "output."
            )
        if not _is_among(written, tensors):
            warn("Only input Tensors should be given to ctx.mark_dirty().")
    if recording and True in wanted:
        _check_written(ctx, len(made))
        node = function_node(cls, ctx, tensors, sources, made)
        for place, part in enumerate(made):
            if (
                isinstance(part, Tensor)
                and part.array.dtype.kind in FLOATS
                and id(part) not in ctx._flat
            ):
                _put(part, node if len(made) == 1 else node_of_result(node, place, part), ctx)
    _seal(ctx, made)
    return made[0] if single else made


def _is_among(x: Any, others: Iterable[Any]) -> bool:
    return id(x) in map(id, others)


def _own(part: Any) -> Any:
    """Give an input that is returned unchanged an identity of its own, a view."""
    if part is None:
        return part
    with Mode(recording=False):
        own = view_tensor(part.array.view(), part)
    state.recorder.rename(own, part)
    return own


def _check_written(ctx: Context, results: int) -> None:
    """Raise if the graph cannot follow what forward says that it has written to."""
    for written in ctx._dirty:
        if written.requires_grad and written.is_leaf:
            raise RuntimeError(
                "a leaf Variable that requires grad has been used in an in-place operation."
            )
        if written._view is not None and results > 1:
            raise RuntimeError(
                "If your Function modifies inplace an input that is a view of another Tensor, "
                "your Function cannot return more than one Tensor."
            )


def _put(part: Tensor, node: Node, ctx: Context) -> None:
    """Give a result its place in the graph; of a view that was written to, through its base."""
    if part._view is None:
        part.node = node  # replaces one that forward may have made
        part._requires_grad = True
    elif _is_among(part, ctx._dirty):
        refuse_writing(part)
        rebase(part, node)
    else:
        part.node = None
        regraph(part, node)


def _seal(ctx: Context, made: tuple[Any, ...]) -> None:
    """Forbid writing through views that forward has made.

    The graph cannot follow such writing, as it would go round backward.
    """
    for place, part in enumerate(made):
        if isinstance(part, Tensor) and part._view is not None and not _is_among(part, ctx._dirty):
            several = (
                sum(
                    isinstance(p, Tensor) and p.node is not None and id(p) not in ctx._flat
                    for p in made
                )
                > 1
            )
            part._view.place = place
            part._view.origin = Origin.SEVERAL if several else Origin.CUSTOM_FUNCTION


class _Pushing(Function):
    """Product u J of a user's function that has `jvp`.

    It is zeros, because only its derivative by u is asked for, which `jvp` gives.
    """

    @staticmethod
    def forward(ctx: Any, node: Any, *cotangents: Any) -> Any:
        ctx.node = node
        return tuple([None if x is None else Tensor(np.zeros_like(x.array)) for x in node.inputs])

    @staticmethod
    def backward(ctx: Any, *tangents: Any) -> Any:
        given = ctx.node.context
        kept = (given._saved, given._versions)
        given._saved = given._for_forward
        given._versions = ()
        try:
            returned = ctx.node.function.jvp(given, *tangents)
        finally:
            given._saved, given._versions = kept
        return None, *as_tuple(returned)


@cache
def _signature(forward: Any) -> tuple[inspect.Signature, int]:
    """Return how forward is called, and how many arguments it takes by position.

    The number is -1 if there is no limit.
    """
    found = inspect.signature(forward)
    kinds = [parameter.kind for parameter in found.parameters.values()]
    return found, -1 if any(
        kind > inspect.Parameter.POSITIONAL_OR_KEYWORD for kind in kinds
    ) else len(kinds)


def _in_order(
    cls: type[Function], arguments: tuple[Any, ...], keywords: dict[str, Any], separate: bool
) -> tuple[Any, ...]:
    """Return all inputs by position, as forward has them.

    Where setup_context is its own method, they include their defaults.
    """
    given, count = _signature(cls.forward)
    if separate and not keywords and count == len(arguments):
        return arguments
    bound = given.bind(*(() if separate else (None,)), *arguments, **keywords)
    if separate:
        bound.apply_defaults()
    if bound.kwargs:
        name = next(iter(bound.kwargs))
        raise TypeError(
            f"{cls.__name__}.apply() cannot give {name!r} to forward by name only: its gradient "
            "would be lost"
        )
    return bound.args if separate else bound.args[1:]


def once_differentiable(backward: Any) -> Any:
    """Mark a backward that cannot be differentiated again."""

    @wraps(backward)
    def run(ctx: Any, *gradients: Any) -> Any:
        if state.recording:
            raise RuntimeError(
                "trying to differentiate twice a function that was marked with @once_differentiable"
            )
        return backward(ctx, *gradients)

    return run
