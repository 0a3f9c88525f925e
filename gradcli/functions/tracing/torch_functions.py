"""PyTorch's functions on tensors of ours.

``torch.sin(x)`` records gradcli's operation of that name, by ``__torch_function__``.

The forward of a custom ``torch.autograd.Function`` runs as it is. Its backward plays no part, so
that it can be judged. Values that the code detaches, or computes under ``torch.no_grad``, are held
constant. An exception is the forward of a custom function, in which nothing is recorded anyway.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import wraps
from importlib import import_module
from typing import Any

import numpy as np

from gradcli.functions.arguments import of_torch
from gradcli.functions.places import is_own
from gradcli.functions.tracing.passage import Passage
from gradcli.ops.spec import Op, as_tuple
from gradcli.tensors.core import dtypes
from gradcli.tensors.core.dtypes import Entries
from gradcli.tensors.core.in_place import write
from gradcli.tensors.core.modes import state
from gradcli.tensors.core.tensor import Tensor
from gradcli.tensors.torch.namespace import resolve
from gradcli.tensors.transforms.vectorizing import map_ends
from gradcli.texts import words

# -- Tensors of ours as code of PyTorch's takes them for its own: their dtypes, and what tells the
# passage that numbers leave the graph.


# methods that take dtypes and devices
_OF_DTYPES = words("to type new_zeros new_ones new_full new_empty new_tensor")


def methods(passage: Passage) -> dict[str, Any]:
    """Return the tensor methods and attributes that are replaced while PyTorch code runs."""

    def detach(x: Tensor) -> Tensor:
        return x if passage.forwards else passage.held_constant(x)

    def count(x: Tensor) -> int:
        passage.decide()
        return int(x.array)

    def branch(x: Tensor) -> bool:
        return passage.branch(x)

    def refuse_writing(_: Tensor, __: Any) -> None:
        passage.held.clear()  # a value written back past the graph was no constant
        raise AttributeError("no trace follows what is written to .data")

    def detached_in_place(x: Tensor) -> Tensor:
        write(x, ..., detach(x))
        return x

    def with_theirs(method: Callable[..., Any]) -> Callable[..., Any]:
        return lambda x, *arguments, **keywords: method(x, *ours(arguments), **ours(keywords))

    return {
        **{name: with_theirs(getattr(Tensor, name)) for name in _OF_DTYPES},
        "dtype": property(_dtype),
        "device": property(_device),
        "data": property(detach, refuse_writing),
        "detach": detach,
        "detach_": detached_in_place,
        "item": lambda x: passage.out(x).item(),
        "tolist": lambda x: passage.out(x).tolist(),
        "numpy": lambda x, **_: passage.out(x),
        "__array__": lambda x, dtype=None, copy=None: passage.out(x).astype(
            dtype or x.array.dtype, copy=False
        ),
        "__float__": lambda x: float(passage.out(x)),
        "__int__": count,
        "__bool__": branch,
    }


def _custom_functions() -> list[type]:
    """Return all classes of custom functions that there are."""
    found = [import_module("torch").autograd.Function]
    for kind in found:
        found += kind.__subclasses__()
    return found


def _counting_methods(kind: Any, passage: Passage) -> dict[tuple[type, str], Any]:
    """Return methods of a custom function, where PyTorch records nothing, and we do."""

    def count_runs(method: Callable[..., Any]) -> Any:
        @wraps(method)
        def run(*arguments: Any, **keywords: Any) -> Any:
            passage.forwards += 1
            try:
                return method(*arguments, **keywords)
            finally:
                passage.forwards -= 1

        return staticmethod(run)

    base = import_module("torch").autograd.Function
    return {
        (kind, name): count_runs(getattr(kind, name))
        for name in ("forward", "setup_context")
        if getattr(kind, name) is not getattr(base, name)
    }


_OUR_DTYPE, _OUR_DEVICE = (vars(Entries)[name].fget for name in ("dtype", "device"))


def _dtype(x: Tensor) -> Any:
    """Return our own dtype to our code, and PyTorch's to all other code."""
    found = _OUR_DTYPE(x)
    return (
        found
        if is_own(sys._getframe(1).f_code.co_filename)
        else getattr(import_module("torch"), str(found).removeprefix("torch."))
    )


def _device(x: Tensor) -> Any:
    return (
        _OUR_DEVICE(x)
        if is_own(sys._getframe(1).f_code.co_filename)
        else import_module("torch").device("cpu")
    )


def ours(value: Any) -> Any:
    """Return an argument, or a structure of arguments, in our tensors and dtypes.

    They replace PyTorch's tensors and dtypes.
    """
    torch = import_module("torch")

    def own(part: Any) -> Any:
        if isinstance(part, torch.Tensor):
            return Tensor(np.array(of_torch(part)))
        if isinstance(part, torch.device):
            return str(part)
        return (
            dtypes.NAMES[str(part).removeprefix("torch.")]
            if isinstance(part, torch.dtype)
            else part
        )

    return map_ends(own, value)


_PARTS = ("linalg", "special")  # their functions carry the part in their names: linalg_inv
_OF_NETWORKS = ("torch.nn.functional", "torch._C._nn")
# Parameters that say nothing about numbers.
_PLACED = words("device layout pin_memory memory_format generator")


@contextmanager
def torch_functions(passage: Passage) -> Iterator[set[np.dtype[Any]]]:
    """Let PyTorch's functions take tensors of ours within the context.

    The tensors tell the passage which numbers are taken out of them.

    The context gives the dtypes that autocast chooses, which the tensors do not show.
    """
    autocast = import_module("torch").autocast
    entered = autocast.__enter__
    chosen = set()

    def note(self: Any) -> Any:
        if self._enabled:
            chosen.add(dtypes.as_numpy(self.fast_dtype))
        return entered(self)

    # No gradient flows under `torch.no_grad`, except in the forward of a custom function.
    passage.records = lambda: bool(passage.forwards or import_module("torch").is_grad_enabled())
    patches: dict[tuple[type, str], Any] = {
        (Tensor, name): method for name, method in methods(passage).items()
    }
    base, *kinds = _custom_functions()
    for kind in kinds:
        patches |= _counting_methods(kind, passage)

    def count_too(kind: type) -> None:
        for (_, name), method in _counting_methods(kind, passage).items():
            setattr(kind, name, method)

    patches[base, "__init_subclass__"] = classmethod(count_too)  # for those yet to be defined
    patches[Tensor, "__torch_function__"] = classmethod(_dispatch)
    patches[autocast, "__enter__"] = note
    # It wants tensors of PyTorch's own, for a rule that plays no part here.
    patches[import_module("torch.autograd.function").FunctionCtx, "save_for_forward"] = lambda *_: (
        None
    )
    before = {(owner, name): vars(owner).get(name) for owner, name in patches}
    for (owner, name), method in patches.items():
        setattr(owner, name, method)
    recording = state.change(recorder=_Holding(state.recorder, passage))
    try:
        yield chosen
    finally:
        state.change(**recording)
        for (owner, name), method in before.items():
            if method is None:
                delattr(owner, name)
            else:
                setattr(owner, name, method)


class _Holding:
    """The trace, which holds constant what is computed where PyTorch records nothing."""

    def __init__(self, trace: Any, passage: Passage) -> None:
        self._trace = trace
        self._passage = passage

    def note(self, op: Op, operands: Sequence[Any], static: Mapping[str, Any], result: Any) -> None:
        """Note that an operation was applied."""
        self._trace.note(op, operands, static, result)
        if self._passage.records():
            return
        self._passage.hold()
        for part in as_tuple(result):
            if part.array.dtype.kind in dtypes.FLOATS:
                self._trace.hold(part)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._trace, name)


def _dispatch(
    cls: type[Tensor],
    function: Any,
    types: Any,
    arguments: tuple[Any, ...] = (),
    keywords: Any = None,
) -> Any:
    """Apply a PyTorch function to arguments that include a tensor of ours."""
    if (
        arguments
        and isinstance(arguments[0], import_module("torch").Tensor)
        and _writes(function.__name__)
    ):
        raise TypeError("a tensor of PyTorch's own cannot hold what is recorded")
    return _call(
        function,
        ours(arguments),
        ours({key: value for key, value in (keywords or {}).items() if key not in _PLACED}),
    )


def _writes(name: str) -> bool:
    return (
        name == "__setitem__"
        or (name.endswith("_") and not name.endswith("__"))
        or name in _IN_PLACE
    )


_IN_PLACE = words("__iadd__ __isub__ __imul__ __itruediv__ __ipow__")


def _call(function: Any, given: tuple[Any, ...], named: Mapping[str, Any]) -> Any:
    name = function.__name__
    if name == "__get__":  # reads an attribute
        return getattr(given[0], _attribute(function))
    if name == "__set__":
        return setattr(given[0], _attribute(function), given[1])
    if (
        isinstance(given[0] if given else None, Tensor)
        and _is_method(function)
        and hasattr(Tensor, name)
    ):
        return getattr(given[0], name)(*given[1:], **named)
    return _find(function, name)(*given, **named)


def _attribute(function: Any) -> str:
    return str(getattr(function.__self__, "__name__", ""))


def _is_method(function: Any) -> bool:
    return getattr(function, "__objclass__", None) is not None or str(
        getattr(function, "__qualname__", "")
    ).startswith("Tensor.")


def _find(function: Any, name: str) -> Callable[..., Any]:
    """Return our function of this name.

    Raises AttributeError if there is none.
    """
    part, _, rest = name.partition("_")
    if part in _PARTS:
        where, name = part, rest
    elif getattr(function, "__module__", None) in _OF_NETWORKS:
        where = "nn.functional"
    else:
        where = ""
    found: Callable[..., Any] = (
        getattr(import_module(f"gradcli.{where}"), name) if where else resolve(name)
    )
    return found


def numbers_of(part: Any) -> Any:
    """Return a part of a result, and for PyTorch's own tensors their numbers."""
    return of_torch(part) if isinstance(part, import_module("torch").Tensor) else part
