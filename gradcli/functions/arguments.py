"""Arguments as people structure them: the floats in numbers, arrays, lists, tuples and dictionaries, each by a name of its own."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from copy import deepcopy
from typing import Any

import numpy as np

from gradcli.errors import ArgumentError
from gradcli.ops.calling.inputs import unmasked
from gradcli.tensors.core.dtypes import NAMES, is_bfloat16

PRECISIONS = ("float64", "float32", "float16", "bfloat16")  # of arguments
Floats = dict[str, np.ndarray]
Make = Callable[[str, Any, np.ndarray], Any]  # what a function is called with: for which name, what stood there, and the numbers


def floats_in(name: str, value: Any) -> Floats:
    """The arrays of floats of an argument: "w", "layers[0]['bias']". Whole numbers count where they are all of it."""
    if isinstance(value, (int, np.integer)) and not isinstance(value, bool):
        return {name: np.asarray(value, float)}
    if isinstance(value, np.ndarray) and value.dtype.kind in "iu":
        return {name: value.astype(float)}
    return dict(_walk(name, value))


def _walk(name: str, value: Any) -> list[tuple[str, np.ndarray]]:
    if isinstance(value, Mapping):
        return [found for key, part in value.items() for found in _walk(f"{name}[{key!r}]", part)]
    if isinstance(value, (list, tuple)):
        return [found for i, part in enumerate(value) for found in _walk(f"{name}[{i}]", part)]
    if is_number(value):
        return [(name, np.asarray(unmasked(value, f"'{name}'")))]
    return []


def is_number(value: Any) -> bool:
    """Whether it is a real float, or an array of such."""
    return isinstance(value, float) or (isinstance(value, (np.ndarray, np.generic)) and _is_float(value.dtype))


def _is_float(kind: np.dtype[Any]) -> bool:
    return kind.kind == "f" or is_bfloat16(kind)


def rebuilt(name: str, value: Any, floats: Mapping[str, np.ndarray], make: Make) -> Any:
    """Return a copy of a structure with these numbers in it; arrays are made by ``make``.

    Nothing in it is shared with the original, which code that writes into its arguments must not
    reach.
    """
    if name in floats:
        return make(name, value, floats[name])
    if isinstance(value, Mapping):
        return {key: rebuilt(f"{name}[{key!r}]", part, floats, make) for key, part in value.items()}
    if isinstance(value, (list, tuple)):
        parts = [rebuilt(f"{name}[{i}]", part, floats, make) for i, part in enumerate(value)]
        if isinstance(value, list):
            return parts
        return type(value)(*parts) if hasattr(value, "_fields") else tuple(parts)
    return make(name, value, value) if isinstance(value, np.ndarray) else duplicate(value)


def duplicate(value: Any) -> Any:
    """Return a copy of any object; itself where it cannot be copied, as an open file."""
    try:
        return deepcopy(value)
    except Exception:  # whatever its own __deepcopy__ raises
        return value


def as_given(name: str, value: Any, numbers: np.ndarray) -> Any:
    """Numbers as NumPy's functions take them: arrays of their own, and floats for numbers."""
    if isinstance(value, np.ndarray) and value.ndim:
        return numbers.copy()
    return numbers.reshape(())[()] if isinstance(value, (np.ndarray, np.generic)) else float(numbers)


def claims_in(arguments: Mapping[str, Any], wrt: list[str], result: Any) -> Floats:
    """What a gradient says, by the names of the floats that it is about.

    It is one structure of its argument's form for each name of ``wrt``, in that order, or a dictionary of these by their names.
    Raises ArgumentError for what is missing, too much, or of another shape.
    """
    parts = _by_argument(arguments, wrt, result)
    found: Floats = {}
    for name in wrt:
        for leaf, numbers in floats_in(name, arguments[name]).items():
            said = _numbers(leaf, _at(name, leaf, parts[name], arguments[name]))
            if said.shape != numbers.shape:
                raise ArgumentError(f"the gradient of '{leaf}' has the shape {said.shape}, its argument {numbers.shape}")
            found[leaf] = said
    return found


def products_in(arguments: Mapping[str, Any], wrt: list[str], result: Any, along: Floats) -> Floats:
    """A Hessian that somebody gives, times a direction: of each array by each, in the shapes of both, one after the other.

    It is an array where one array alone is differentiated by, else a dictionary of dictionaries, or a tuple of tuples in the order of
    ``wrt``. Raises ArgumentError for what is missing or of another shape.
    """
    names = list(along)
    if names != wrt:
        raise ArgumentError("second derivatives are by arguments that are numbers or arrays, not structures of them")
    found: Floats = {}
    for i, name in enumerate(names):
        shape = along[name].shape
        product = np.zeros(shape)
        for j, other in enumerate(names):
            block = _numbers(f"{name},{other}", _block(result, names, i, j))
            if block.shape != (*shape, *along[other].shape):
                raise ArgumentError(
                    f"the second derivative by '{name}' and '{other}' has the shape {block.shape}, not {(*shape, *along[other].shape)}"
                )
            product = product + np.tensordot(block, along[other], axes=along[other].ndim)
        found[name] = product
    return found


def _block(result: Any, names: list[str], i: int, j: int) -> Any:
    try:
        if isinstance(result, Mapping):
            return result[names[i]][names[j]]
        return result[i][j] if isinstance(result, (tuple, list)) else result
    except (LookupError, TypeError):
        raise ArgumentError(f"the Hessian has nothing for '{names[i]}' and '{names[j]}'") from None


def _by_argument(arguments: Mapping[str, Any], wrt: list[str], result: Any) -> dict[str, Any]:
    if isinstance(result, Mapping) and not (len(wrt) == 1 and isinstance(arguments[wrt[0]], Mapping) and wrt[0] not in result):
        missing, further = [name for name in wrt if name not in result], [name for name in result if name not in wrt]
        if missing or further:
            told = f"lacks '{missing[0]}'" if missing else f"has {further[0]!r}, which it is not by"
            raise ArgumentError(f"the gradient {told}; it must have {', '.join(wrt)}")
        return {name: result[name] for name in wrt}
    if result is None:
        raise ArgumentError("the gradient is None")
    if len(wrt) == 1:
        argument = arguments[wrt[0]]
        several = isinstance(result, tuple) and not isinstance(argument, (tuple, list)) and _shape(result) != np.shape(argument)
        parts = list(result) if several else [result]
    else:
        parts = list(result) if isinstance(result, (tuple, list)) else [result]
    if len(parts) != len(wrt):
        each = "argument" if len(wrt) == len(arguments) else f"of {', '.join(wrt)}"
        wanted = "one array" if len(wrt) == 1 else f"{len(wrt)} arrays, one for each {each}"
        raise ArgumentError(f"the gradient must return {wanted}, not {len(parts)}")
    return dict(zip(wrt, parts, strict=True))


def _at(name: str, leaf: str, part: Any, argument: Any) -> Any:
    """The part of a claim that has the place of a leaf in its argument."""
    if leaf == name:
        return part
    keys = argument.items() if isinstance(argument, Mapping) else enumerate(argument)
    for key, inner in keys:
        below = f"{name}[{key!r}]"
        if leaf.startswith(below) and leaf[len(below) : len(below) + 1] in ("", "["):
            try:
                return _at(below, leaf, part[key], inner)
            except (LookupError, TypeError):
                raise ArgumentError(f"the gradient has nothing for '{leaf}'") from None
    raise ArgumentError(f"the gradient has nothing for '{leaf}'")


def _numbers(leaf: str, said: Any) -> np.ndarray:
    if said is None:
        raise ArgumentError(f"the gradient of '{leaf}' is None")
    return real(unmasked(said, f"the gradient of '{leaf}'"), f"the gradient of '{leaf}' must be")


def real(given: Any, demand: str) -> np.ndarray:
    """Return what somebody's function gives as floats, in an array that it cannot write into later.

    Raises ArgumentError, which begins with the demand, for no real numbers.
    """
    array = np.array(of_torch(given) if hasattr(given, "detach") else given)
    if array.dtype.kind not in "fiub" and not _is_float(array.dtype):
        raise ArgumentError(f"{demand} real numbers, not {array.dtype if array.dtype.kind != 'O' else type(given).__name__}")
    return array if _is_float(array.dtype) else array.astype(float)


def as_arrays(value: Any, by: str | None) -> Any:
    """An argument with NumPy's arrays in the place of those of the framework that its function is called with, which are made again."""
    if by is None:
        return value
    if isinstance(value, Mapping):
        return {key: as_arrays(part, by) for key, part in value.items()}
    if isinstance(value, (list, tuple)) and not hasattr(value, "_fields"):
        return type(value)([as_arrays(part, by) for part in value])
    if hasattr(value, "detach"):
        return of_torch(value)
    return np.asarray(value) if hasattr(value, "__jax_array__") or type(value).__module__.partition(".")[0] in ("jax", "jaxlib") else value


def of_torch(tensor: Any) -> np.ndarray:
    """The entries of a tensor of PyTorch's, which may require a gradient."""
    tensor = tensor.detach()
    found: np.ndarray = in_format(tensor.float().numpy(), "bfloat16") if str(tensor.dtype) == "torch.bfloat16" else tensor.numpy()
    return found


def to_torch(torch: Any, array: np.ndarray) -> Any:
    """An array as a tensor of PyTorch's, of its own memory."""
    if is_bfloat16(array.dtype):
        return torch.from_numpy(array.astype(np.float32)).to(torch.bfloat16)
    return torch.from_numpy(np.array(array))


def in_format(array: np.ndarray, name: str) -> np.ndarray:
    """Numbers rounded to the floats of this name."""
    with np.errstate(all="ignore"):  # what is too large is infinite
        found: np.ndarray = array.astype(NAMES[name].numpy)
        return found


def _shape(parts: tuple[Any, ...]) -> tuple[int, ...] | None:
    try:
        return np.shape(parts)
    except ValueError:  # of different shapes
        return None
