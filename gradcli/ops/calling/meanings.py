"""What one call means in several libraries, and whether that differs: read from what is declared for its name, not from a list of names."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from typing import NamedTuple

import numpy as np

from gradcli.ops.calling.detaching import detaches
from gradcli.ops.calling.dialects import lookup
from gradcli.ops.calling.prefixes import DIALECTS, JAX, NUMPY, SCIPY, TORCH
from gradcli.ops.calling.signatures import Signature
from gradcli.ops.registry import named, registry
from gradcli.ops.spec import REQUIRED, Composite, Op

DIALECT_OF = {NUMPY: NUMPY, SCIPY: NUMPY, TORCH: TORCH, JAX: JAX}  # of a library; math is neutral

_SHAPES_ALIKE = {"squeeze": "torch_squeeze", "flip": "torch_flip", "where": "torch_where", "tensordot": "torch_tensordot"}
# What is PyTorch's own and yet the same as NumPy's: without the parameters after "-", or with those after "+".
_ALIKE: dict[str, tuple[str, frozenset[str], frozenset[str]]] = {
    torch: (numpy, frozenset(without.split()), frozenset(unless.split()))
    for torch, numpy, without, unless in (
        ("torch_add", "add", "alpha", ""), ("torch_sub", "sub", "alpha", ""), ("torch_div", "div", "rounding_mode", ""),
        ("torch_max", "max", "axis keepdims y", ""), ("torch_min", "min", "axis keepdims y", ""),
        ("torch_softmax", "softmax", "x", "axis"), ("torch_log_softmax", "log_softmax", "x", "axis"),
        ("torch_cov", "cov", "correction fweights aweights", ""), ("torch_cross", "cross", "x", "axis"),
        ("torch_cumsum", "cumsum", "", ""), ("torch_cumprod", "cumprod", "", ""), ("torch_dot", "dot", "", ""),
        ("torch_vdot", "vdot", "", ""), ("torch_norm", "numpy_norm", "ord", "axis"),
        ("torch_solve", "solve", "left", ""), ("old_qr", "numpy_qr", "some", ""), ("ravel", "numpy_ravel", "", ""),
        ("reshape", "numpy_reshape", "", ""), ("swapdims", "swapaxes", "", ""),
        ("torch_binary_cross_entropy_with_logits", "binary_cross_entropy_with_logits", "", ""), ("chain_matmul", "multi_dot", "", ""),
        *((torch, numpy, "", "") for numpy, torch in _SHAPES_ALIKE.items()),
    )
}  # fmt: skip


# Methods of tensors that are no functions of the catalogue.
_OF_TENSORS = frozenset((
    "cpu", "cuda", "detach", "dim", "double", "float", "half", "long", "numel", "numpy", "requires_grad_", "size", "to",
))  # fmt: skip


# Without a prefix, NumPy's in every dialect: so are Python's own, but that these run over the rows of a matrix.
OF_NUMPY_BARE = frozenset({"sum", "max", "min"})


# What other systems differentiate by: of these NumPy has one, of neighbouring entries.
OF_DERIVATIVES = frozenset(("D", "Derivative", "Diff", "deriv", "derivative", "derive", "diff", "differentiate", "gradient"))


class Call(NamedTuple):
    """The form of a call: how many arguments, which of them are lists or tuples, and the names of the keywords."""

    name: str
    method: bool
    listed: tuple[bool, ...]
    keywords: tuple[str, ...]


@cache
def stated(name: str) -> str:
    """The parameter without which a function means two things of an array of several axes; empty if it has none."""
    found = lookup(name, NUMPY)
    record = registry().get(found.target) if found is not None else None
    return record.text.stated if isinstance(record, Op) else ""


@cache
def takes_more(name: str, library: str, count: int) -> bool:
    """Tell whether a library's function takes so many arguments, which are too many for NumPy's."""
    usual, other = lookup(name, NUMPY), lookup(name, library)
    if usual is None or other is None or any(p.many for p in usual.parameters):
        return False
    return len(usual.parameters) < count <= sum(not parameter.by_name for parameter in other.parameters)


def is_method_of_arrays(name: str) -> bool:
    """Whether NumPy's arrays have a method of this name; JAX's have the same. NumPy's view is of a dtype, not of a shape."""
    return name != "view" and callable(getattr(np.ndarray, name, None))


@cache
def is_of_tensors(name: str) -> bool:
    """Whether a method is one of PyTorch's tensors that no array of NumPy or JAX has."""
    if is_method_of_arrays(name):
        return False
    return name in _OF_TENSORS or lookup(name, TORCH) is not None or lookup(f"Tensor.{name}", TORCH) is not None


@cache
def differs(call: Call, dialects: frozenset[str] = frozenset(DIALECTS)) -> bool:
    """Whether the libraries of these dialects that can take a call take it for different things."""
    return len(set(_meanings(call, dialects))) > 1


def _meanings(call: Call, dialects: Iterable[str]) -> list[object]:
    found = (meaning(call, dialect) for dialect in dialects)
    return [one for one in found if one is not None]


@cache
def meaning(call: Call, library: str) -> object:
    """What a library takes a call for, in a form that can be compared. None if it cannot take it."""
    if call.method and library != TORCH and not is_method_of_arrays(call.name):
        return None
    if detaches(call.name, library, call.method):
        return "detached"
    own = f"{'Tensor' if library == TORCH else 'ndarray'}.{call.name}" if call.method else call.name
    found = lookup(own, library) or lookup(call.name, library)
    if found is None:
        return None
    if found.target == "transpose" and len(call.listed) == 2 and call.listed[1:] == (True,):
        return None if library == TORCH else "transpose"
    given = _given(call, found)
    return None if given is None else _canonical(found, given)


def _given(call: Call, signature: Signature) -> dict[str, tuple[int | str, ...]] | None:
    """The places of arguments by the parameters that take them; None if there are others than the signature reads."""
    left = list(range(len(call.listed)))
    given: dict[str, tuple[int | str, ...]] = {}
    for parameter in signature.parameters:
        if not left or parameter.by_name:
            break
        if parameter.many and (parameter.each or not call.listed[left[0]]):
            taken, left = tuple(left), []
        else:
            taken = (left.pop(0),)
        if parameter.ignored:
            return None  # what is written is read by somebody
        given[parameter.name] = taken
    if left:
        return None
    for keyword in call.keywords:
        found = next((p for p in signature.parameters if keyword in p.spellings), None)
        if found is None or found.name in given:
            return None
        given["-" + found.name if found.ignored else found.name] = (keyword,)
    return given


def _canonical(signature: Signature, given: dict[str, tuple[int | str, ...]]) -> object:
    target = signature.target
    defaults = tuple((name, value) for name, value in signature.defaults if name not in given)
    try:
        record: Op | Composite | None = named(target)
    except KeyError:
        record = None  # a function of the language
    if record is not None:
        needed = [name for name, value in record.static.items() if value is REQUIRED]
        needed += [name for name in record.operands if name not in record.optional]
        stated = dict(signature.defaults)
        if any(name not in given and name not in stated for name in needed) and not record.variadic:
            return None
    if any(value is REQUIRED for _, value in defaults):
        return None
    if target in _ALIKE:
        alike, without, unless = _ALIKE[target]
        if without.isdisjoint(given) or not unless.isdisjoint(given):
            target = alike
            names = named(target).operands if target != "multi_dot" else ()
            own = record.operands if record is not None else ()
            if target == "swapaxes":
                names, own = (*names, "axis1", "axis2"), (*own, "dim0", "dim1")
            swap = dict(zip(own, names, strict=False))
            given = {swap.get(name, name): places for name, places in given.items()}
    return target, frozenset((name, _plain(taken)) for name, taken in given.items()), defaults


def _plain(taken: tuple[int | str, ...]) -> object:
    return taken[0] if len(taken) == 1 else taken
