"""A call that failed, as checks read it: its arguments under PyTorch's names; and the checks, found by the function's name."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from gradcli.ops.refusals.forms import Form, forms, refused
from gradcli.ops.refusals.handed import refusal

Said = str | Exception | None  # a sentence is a RuntimeError's
Check = Callable[["Call"], Said]


class Call:
    """Arguments by PyTorch's names for them; those that were not given have the value None."""

    def __init__(self, key: str, given: Mapping[str, Any], form: Form) -> None:
        self.key, self.given, self.form = key, given, form
        self.name = form.name

    def __getitem__(self, name: str) -> Any:
        return self.given.get(name)

    def get(self, name: str, default: Any) -> Any:
        value = self.given.get(name)
        return default if value is None else value

    def shape(self, name: str = "input") -> list[int]:
        return list(self.given[name].array.shape)

    def rank(self, name: str = "input") -> int:
        return int(self.given[name].array.ndim)

    def kind(self, name: str = "input") -> str:
        """The dtype as messages call it: Float."""
        return str(self.given[name].dtype.in_messages)

    def has(self, *names: str) -> bool:
        """Whether all of these are tensors."""
        return all(hasattr(self.given.get(name), "array") for name in names)


def bound(key: str, arguments: Sequence[Any], keywords: Mapping[str, Any]) -> Call | None:
    """The arguments of a call that fits one of the function's forms."""
    for form in forms(key):
        places, given = form.by_position, arguments
        if form.rest:
            listed = given[0] if len(given) == 1 and isinstance(given[0], (tuple, list)) else given
            return Call(key, {form.rest: listed, **keywords}, form)
        if len(places) == 1 and places[0].type.startswith("int[]") and (len(given) != 1 or not isinstance(given[0], (tuple, list))):
            given = (tuple(given),) if given else ()
        if len(given) > len(places) or not (form.in_python or refused(form, given, keywords) is None):
            continue
        found: dict[str, Any] = dict(zip([p.name for p in places], given, strict=False))
        for parameter in form.parameters:
            word = parameter.among(keywords)
            if word is not None:
                found[parameter.name] = keywords[word]
        return Call(key, found, form)
    return None


CHECKS: dict[str, list[Check]] = {}


def refuses(*names: str) -> Callable[[Check], Check]:
    """Registers a check of functions, in the order in which PyTorch makes them."""

    def register(check: Check) -> Check:
        for name in names:
            CHECKS.setdefault(name, []).append(check)
        return check

    return register


def out_of_range(dim: int, rank: int) -> IndexError:
    n = max(rank, 1)
    return IndexError(f"Dimension out of range (expected to be in range of [{-n}, {n - 1}], but got {dim})")


def unbroadcastable(*shapes: Sequence[int]) -> str | None:
    """Of operands entry by entry, the first two of which do not fit."""
    common: list[int] = list(shapes[0])
    for shape in shapes[1:]:
        ndim = max(len(common), len(shape))
        first, second = [1] * (ndim - len(common)) + common, [1] * (ndim - len(shape)) + list(shape)
        for axis in reversed(range(ndim)):
            n, m = first[axis], second[axis]
            if n != m and 1 not in (n, m):
                return f"The size of tensor a ({n}) must match the size of tensor b ({m}) at non-singleton dimension {axis}"
        common = [m if n == 1 else n for n, m in zip(first, second, strict=True)]
    return None


def inexpandable(shape: Sequence[int], wanted: Sequence[int]) -> str | None:
    """Of an array that is to have a shape."""
    if len(shape) > len(wanted):
        return None
    for axis in reversed(range(len(shape))):
        at = len(wanted) - len(shape) + axis
        if shape[axis] not in (1, wanted[at]):
            return (
                f"The expanded size of the tensor ({wanted[at]}) must match the existing size ({shape[axis]}) at non-singleton dimension "
                f"{at}.  Target sizes: {list(wanted)}.  Tensor sizes: {list(shape)}"
            )
    return None


def dims_in_range(call: Call) -> Said:
    """Of every function with axes of its first tensor."""
    if not call.has("input") or call.name in _MORE_AXES:
        return None
    for parameter in call.form.parameters:
        dims = call[parameter.name]
        if not parameter.name.startswith("dim") or dims is None or parameter.type not in ("", "int", "int[]", "int[1]"):
            continue
        listed = dims if isinstance(dims, (tuple, list)) else (dims,)
        rank = max(call.rank(), 1)
        for dim in listed:
            if type(dim) is int and not -rank <= dim < rank:
                return out_of_range(dim, rank)
        if parameter.type == "int[1]" or call.name in ("flip", "squeeze"):
            seen = [dim % rank for dim in listed]
            for dim in seen:
                if seen.count(dim) > 1:
                    return f"dim {dim} appears multiple times in the list of dims"
    return None


_MORE_AXES = frozenset({"unsqueeze", "diag_embed", "permute", "expand", "tensordot"})  # than their tensor has, or of another one


def told(
    key: str, arguments: Sequence[Any], keywords: Mapping[str, Any], owner: Any = None, parse: bool = True, check: bool = True
) -> Exception | None:
    """What PyTorch raises for a call that fails, of a method with its owner; None where that is not known.

    parse  whether its parser of arguments is asked, first: the failure may be about their kinds
    check  whether values and shapes are looked at: it may be about them
    """
    error = refusal(key, arguments, keywords) if parse else None
    if error is not None:
        return error
    call = bound(key, arguments, keywords)
    if call is None or not check:
        return None
    if owner is not None:
        call.given = {"input": owner, **call.given}
    last = key.rpartition(".")[2]
    for ask in (dims_in_range, *(CHECKS.get(key) or CHECKS.get(last) or CHECKS.get(call.name) or ())):
        try:
            said = ask(call)
        except (KeyError, TypeError, AttributeError, ValueError, IndexError):
            continue  # arguments that this check does not read
        if said is not None:
            return RuntimeError(said) if isinstance(said, str) else said
    return None
