"""PyTorch's functions by their names: those of the catalogue, and the few that are about tensors themselves."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from operator import index
from typing import Any

import numpy as np

from gradcli.namespace.compositions import lettered
from gradcli.ops.calling.meanings import names, qualified
from gradcli.ops.calling.prefixes import TORCH
from gradcli.ops.registry import find, named, public_names
from gradcli.ops.spec import Composite
from gradcli.tensors.core import dtypes
from gradcli.tensors.core.casts import as_tensor, clone_of
from gradcli.tensors.core.in_place import update
from gradcli.tensors.core.levels import Batched
from gradcli.tensors.core.tensor import Tensor
from gradcli.tensors.dispatch.apply import apply
from gradcli.tensors.dispatch.checked_calls import checked
from gradcli.tensors.dispatch.library_calls import caller, known, missing, named_results
from gradcli.tensors.torch.own_methods import BITS, CASTS, MEMORY, METHODS
from gradcli.tensors.torch.own_methods import FUNCTIONS as QUESTIONS
from gradcli.tensors.torch.creation import COUNTS, RANDOM
from gradcli.tensors.torch.creation import OF_NETWORKS as RANDOM_OF_NETWORKS


@cache
def function(name: str, where: str = "torch") -> Callable[..., Any]:
    """Return a function of the catalogue under PyTorch's name. Raises AttributeError if there is none."""
    there = qualified(name, f"{where}.{name}", TORCH)
    found = known(there)
    if found is None:
        raise AttributeError(missing(name, where))
    record, signature = found
    words = [p.name for p in signature.parameters]
    writes = words.index("inplace") if where == "torch.nn.functional" and "inplace" in words else None
    parts = record.result_names if where == "torch.linalg" and isinstance(record, Composite) else ()
    calling = caller(there, TORCH, name)
    if writes is None and not parts:
        return calling

    def run(*arguments: Any, **keywords: Any) -> Any:
        if writes is not None and len(arguments) == writes + 1:
            arguments, keywords = arguments[:writes], {**keywords, "inplace": arguments[writes]}
        if writes is not None and "inplace" in keywords:  # whatever is true, as in Python
            keywords["inplace"] = bool(keywords["inplace"])
        result = calling(*arguments, **keywords)
        return named_results(f"linalg_{name}", parts, result) if parts and isinstance(result, tuple) else result

    run.__name__ = run.__qualname__ = name
    run.__doc__ = record.doc
    return run


@cache
def network_function(name: str) -> Callable[..., Any]:
    """A function of torch.nn.functional's. Raises AttributeError if there is none."""
    where = "torch.nn.functional"
    own = OF_NETWORKS.get(name)
    return (in_place(name, where) or function(name, where)) if own is None else own


def function_names() -> list[str]:
    """The names under which there are functions in PyTorch's parts."""
    return sorted(name for name in {*public_names(), *names()} if "." not in name and known(name) is not None)


def stack(tensors: Any, dim: int = 0) -> Tensor:
    stacked: Tensor = apply(find("stack"), list(tensors), {"axis": dim})
    return stacked


def einsum(equation: Any, *operands: Any) -> Any:
    """Sums of products over named axes; ``einsum(x, [0, 1], y, [1, 2], [0, 2])`` names them by numbers."""
    if isinstance(equation, Tensor) and operands:
        equation, operands = lettered((equation, *operands), index)
    if isinstance(operands[0] if operands else None, (list, tuple)):
        operands = tuple(operands[0])
    if not operands:
        raise ValueError(
            "einsum(): must specify the equation string and at least one operand, or at least one operand and its subscripts list"
        )
    if not isinstance(equation, str):
        raise TypeError("einsum(): the first argument is the equation, a string; operands follow")
    tensors = [as_tensor(o) for o in operands]
    if len(tensors) == 1 and tensors[0].array.dtype.kind in "iub" and _sums(equation):
        tensors = [tensors[0].to(dtypes.int64)]  # as sums of whole numbers are
    found: Tensor = named("einsum")(*tensors, subscripts=equation)
    return found.to(dtypes.of_numpy(dtypes.result_type([x.array for x in tensors])))  # whole numbers wrap around


def _sums(equation: str) -> bool:
    """Return whether a letter of one term's is not in the result."""
    term, arrow, result = equation.replace(" ", "").partition("->")
    letters = set(term) - {"."}
    return bool(letters - set(result)) if arrow else any(term.count(letter) > 1 for letter in letters)


def where(condition: Any, *choices: Any, **keywords: Any) -> Any:
    """One of two values, entry by entry; of a condition alone, the places where it holds."""
    if not isinstance(condition, Tensor):
        raise TypeError(f"where(): argument 'condition' must be Tensor, not {type(condition).__name__}")
    if not choices and not keywords:
        return METHODS["nonzero"](condition, as_tuple=True)
    if condition.array.dtype != np.bool_:
        if condition.array.dtype != np.uint8:
            raise RuntimeError(f"where: the condition is a boolean tensor, not one of {condition.dtype.name}")
        condition = condition.to(dtypes.bool_)
    return caller("where")(condition, *choices, **keywords)


def where_of(x: Tensor, condition: Any, other: Any) -> Any:
    """The method: ``x.where(condition, other)``."""
    return where(condition, x, other)


def detach(x: Tensor) -> Tensor:
    """The same memory, outside of the graph."""
    return x.detach()


def adaptive_max_pool1d(x: Tensor, output_size: Any) -> Any:
    """The largest entries and their places: at the top, PyTorch gives both."""
    return function("adaptive_max_pool1d", "torch.nn.functional")(x, output_size, return_indices=True)


def is_tensor(x: Any) -> bool:
    return isinstance(x, Tensor)


def result_type(tensor: Any, other: Any) -> dtypes.dtype:
    for operand in (tensor, other):
        if not isinstance(operand, (Tensor, bool, int, float)):
            raise TypeError(f"result_type(): an operand must be Tensor or Number, not {type(operand).__name__}")
    return dtypes.of_numpy(dtypes.result_type([o.array if isinstance(o, Tensor) else o for o in (tensor, other)]))


def promote_types(first: dtypes.dtype, second: dtypes.dtype) -> dtypes.dtype:
    """The dtype of the smallest size and kind that holds both."""
    return dtypes.of_numpy(dtypes.joined(dtypes.as_numpy(first), dtypes.as_numpy(second)))


def can_cast(found: dtypes.dtype, wanted: dtypes.dtype) -> bool:
    """Return whether results of a dtype may be written to tensors of another one."""
    return dtypes.can_cast(dtypes.as_numpy(found), dtypes.as_numpy(wanted))


def broadcast_shapes(*shapes: Any) -> dtypes.Size:
    given = [tuple(s) if isinstance(s, (tuple, list)) else (s,) for s in shapes]
    try:
        return dtypes.Size(np.broadcast_shapes(*given))
    except ValueError:
        raise RuntimeError(f"Shape mismatch: objects cannot be broadcast to a single shape: {', '.join(map(str, given))}") from None


def one_hot(x: Tensor, num_classes: int = -1) -> Tensor:
    """A row of zeros with a one at each entry's place."""
    if x.dtype is not dtypes.int64:
        raise RuntimeError("one_hot is only applicable to index tensor of type LongTensor.")
    if num_classes == -1:
        if not x.array.size:
            raise RuntimeError("Class values must be non-negative: can not infer total number of classes from empty tensor.")
        num_classes = int(x.array.max()) + 1
    hot: Tensor = function("one_hot", "torch.nn.functional")(x, num_classes)
    return hot if isinstance(hot, Batched) else hot.to(dtypes.int64)


def in_place(name: str, where: str = "torch") -> Callable[..., Any] | None:
    """The function whose name ends with an underscore, which writes its result into the first argument: the method, if there is one."""
    if not name.endswith("_") or name.startswith("_") or (known(name[:-1]) is None and name[:-1] not in BITS and name not in MEMORY):
        return None
    if not hasattr(Tensor, name) and name not in _NO_METHODS:
        return None

    def write(x: Tensor, *arguments: Any, **keywords: Any) -> Tensor:
        written: Tensor = getattr(x, name)(*arguments, **keywords) if hasattr(x, name) else update(x, name[:-1], arguments, keywords)
        return written

    return checked(write, name)


_NO_METHODS = frozenset({"celu_", "elu_", "hardtanh_", "leaky_relu_", "rrelu_", "selu_", "threshold_"})
_NAMED = {**RANDOM_OF_NETWORKS, "one_hot": one_hot}


OF_NETWORKS: dict[str, Callable[..., Any]] = {name: checked(function, name) for name, function in _NAMED.items()}
OWN: dict[str, Callable[..., Any]] = {
    **QUESTIONS, **RANDOM,
    "einsum": einsum, "is_tensor": is_tensor, "result_type": result_type, "promote_types": promote_types, "can_cast": can_cast,
    "broadcast_shapes": broadcast_shapes, "detach": detach, "adaptive_max_pool1d": adaptive_max_pool1d,
    "clone": checked(clone_of, "clone"), "as_strided": checked(MEMORY["as_strided"], "as_strided"),
    **{name: checked(CASTS[name], name) for name in ("positive", "resolve_conj", "resolve_neg")},
    **COUNTS,
    **{name: checked(function, name) for name, function in BITS.items()},
}  # fmt: skip
