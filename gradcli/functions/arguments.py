"""Arguments as people structure them, with a name for each of their floats.

The floats are in numbers, arrays, lists, tuples and dictionaries.
"""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from copy import deepcopy
from dataclasses import dataclass
from functools import cached_property, reduce
from importlib import import_module
from operator import getitem
from typing import Any, NamedTuple

import numpy as np

from gradcli.errors import ArgumentError, EvaluationError, ShapeError
from gradcli.functions.calls import by_names, parameters_of
from gradcli.ops.calling.inputs import numbers, unmask
from gradcli.tensors.core.dtypes import FLOATS, NAMES, is_bfloat16
from gradcli.tensors.transforms.vectorizing import map_ends

PRECISIONS = ("float64", "float32", "float16", "bfloat16")  # dtypes that arguments may have
Floats = dict[str, np.ndarray]
NOTHING: Mapping[str, Any] = {}
# Makes an argument from its name, the value given and the numbers.
Make = Callable[[str, Any, np.ndarray], Any]


class Leaf(NamedTuple):
    """Real number, or array of real numbers, in an argument.

    It has a name, such as "layers[0]['bias']", and the keys that lead to it.
    """

    name: str
    keys: tuple[Any, ...]
    numbers: np.ndarray


def leaves_of(name: str, value: Any, keys: tuple[Any, ...] = ()) -> list[Leaf]:
    """Return the floats of an argument, from left to right."""
    if isinstance(value, (Mapping, list, tuple)):
        parts = value.items() if isinstance(value, Mapping) else enumerate(value)
        return [
            leaf
            for key, part in parts
            for leaf in leaves_of(f"{name}[{key!r}]", part, (*keys, key))
        ]
    return [Leaf(name, keys, np.asarray(unmask(value, f"'{name}'")))] if is_number(value) else []


def differentiable(name: str, value: Any) -> list[Leaf]:
    """Return the floats of an argument.

    Whole numbers count as floats if they are the whole argument.
    """
    if isinstance(value, (int, np.integer)) and not isinstance(value, bool):
        return [Leaf(name, (), np.asarray(value, float))]
    if isinstance(value, np.ndarray) and value.dtype.kind in "iu":
        return [Leaf(name, (), value.astype(float))]
    return leaves_of(name, value)


def is_number(value: Any) -> bool:
    """Return whether it is a real float, or an array of such."""
    return isinstance(value, float) or (
        isinstance(value, (np.ndarray, np.generic)) and _is_float(value.dtype)
    )


def _is_float(kind: np.dtype[Any]) -> bool:
    return kind.kind == "f" or is_bfloat16(kind)


def copy_with(name: str, value: Any, floats: Mapping[str, np.ndarray], make: Make) -> Any:
    """Return a copy of a structure with these numbers in it; arrays are made by ``make``.

    Nothing in it is shared with the original, which code that writes into its arguments must not
    reach.
    """
    if name in floats:
        return make(name, value, floats[name])
    if isinstance(value, Mapping):
        return {
            key: copy_with(f"{name}[{key!r}]", part, floats, make) for key, part in value.items()
        }
    if isinstance(value, (list, tuple)):
        parts = [copy_with(f"{name}[{i}]", part, floats, make) for i, part in enumerate(value)]
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
    return (
        numbers.reshape(())[()] if isinstance(value, (np.ndarray, np.generic)) else float(numbers)
    )


def claims_in(arguments: Mapping[str, Any], wrt: list[str], result: Any) -> Floats:
    """Return what a gradient says, by the names of the floats that it is about.

    It is one structure of its argument's form for each name of ``wrt``, in that order, or a
    dictionary of these by their names. Raises ArgumentError for what is missing, too much, or of
    another shape.
    """
    parts = _by_argument(arguments, wrt, result)
    found: Floats = {}
    for name in wrt:
        for leaf, keys, given in differentiable(name, arguments[name]):
            try:
                part = reduce(getitem, keys, parts[name])
            except (LookupError, TypeError):
                raise ArgumentError(f"the gradient has nothing for '{leaf}'") from None
            said = _numbers(leaf, part)
            if said.shape != given.shape:
                raise ArgumentError(
                    f"the gradient of '{leaf}' has the shape {said.shape}, its argument "
                    f"{given.shape}"
                )
            found[leaf] = said
    return found


def products_in(arguments: Mapping[str, Any], wrt: list[str], result: Any, along: Floats) -> Floats:
    """Multiply a Hessian that somebody gives by a direction.

    Each block is of one array by another, and has the shapes of both, one after the other.

    The Hessian is an array if it is by a single array. Otherwise it is a dictionary of
    dictionaries, or a tuple of tuples in the order of ``wrt``. Raises ArgumentError for a block
    that is missing or has another shape.
    """
    if list(along) != wrt:
        raise ArgumentError(
            "second derivatives are by arguments that are numbers or arrays, not structures of them"
        )
    found: Floats = {}
    for name, row in _by_argument(arguments, wrt, result).items():
        shape = along[name].shape
        found[name] = np.zeros(shape)
        for other, block in _by_argument(arguments, wrt, row).items():
            part = _numbers(f"{name},{other}", block)
            wanted = (*shape, *along[other].shape)
            if part.shape != wanted:
                raise ArgumentError(
                    f"the second derivative by '{name}' and '{other}' has the shape "
                    f"{part.shape}, not {wanted}"
                )
            found[name] = found[name] + np.tensordot(part, along[other], axes=along[other].ndim)
    return found


def _by_argument(arguments: Mapping[str, Any], wrt: list[str], result: Any) -> dict[str, Any]:
    if isinstance(result, Mapping) and not (
        len(wrt) == 1 and isinstance(arguments[wrt[0]], Mapping) and wrt[0] not in result
    ):
        missing = [name for name in wrt if name not in result]
        further = [name for name in result if name not in wrt]
        if missing or further:
            told = f"lacks '{missing[0]}'" if missing else f"has {further[0]!r}, which it is not by"
            raise ArgumentError(f"the gradient {told}; it must have {', '.join(wrt)}")
        return {name: result[name] for name in wrt}
    if result is None:
        raise ArgumentError("the gradient is None")
    several = isinstance(result, (tuple, list))
    if len(wrt) == 1:
        argument = arguments[wrt[0]]
        several = (
            isinstance(result, tuple)
            and not isinstance(argument, (tuple, list))
            and _shape(result) != np.shape(argument)
        )
    parts = list(result) if several else [result]
    if len(parts) != len(wrt):
        each = "argument" if len(wrt) == len(arguments) else f"of {', '.join(wrt)}"
        wanted = "one array" if len(wrt) == 1 else f"{len(wrt)} arrays, one for each {each}"
        raise ArgumentError(f"the gradient must return {wanted}, not {len(parts)}")
    return dict(zip(wrt, parts, strict=True))


def _numbers(leaf: str, said: Any) -> np.ndarray:
    what = f"the gradient of '{leaf}'"
    if said is None:
        raise ArgumentError(f"{what} is None")
    return real(unmask(said, what), f"{what} must be")


def real(given: Any, demand: str) -> np.ndarray:
    """Return what somebody's function gives as floats, in an array that it cannot write into later.

    Raises ArgumentError, which begins with the demand, for no real numbers.
    """
    array = np.array(of_torch(given) if hasattr(given, "detach") else given)
    if array.dtype.kind not in "fiub" and not _is_float(array.dtype):
        raise ArgumentError(
            f"{demand} real numbers, not "
            f"{array.dtype if array.dtype.kind != 'O' else type(given).__name__}"
        )
    return array if _is_float(array.dtype) else array.astype(float)


def as_arrays(value: Any, by: str | None) -> Any:
    """Return an argument with NumPy's arrays in place of a framework's.

    The framework is the one that the function is called with. Its arrays are made again for the
    call.
    """

    def as_array(value: Any) -> Any:
        if hasattr(value, "detach"):
            return of_torch(value)
        foreign = hasattr(value, "__jax_array__") or type(value).__module__.partition(".")[0] in (
            "jax",
            "jaxlib",
        )
        return np.asarray(value) if foreign else value

    return value if by is None else map_ends(as_array, value)


def of_torch(tensor: Any) -> np.ndarray:
    """Return the entries of a PyTorch tensor, which may require a gradient."""
    tensor = tensor.detach()
    return (
        in_format(tensor.float().numpy(), "bfloat16")
        if str(tensor.dtype) == "torch.bfloat16"
        else tensor.numpy()
    )


def to_torch(array: np.ndarray) -> Any:
    """Convert an array to a PyTorch tensor with its own memory."""
    torch = import_module("torch")
    if is_bfloat16(array.dtype):
        return torch.from_numpy(array.astype(np.float32)).to(torch.bfloat16)
    return torch.from_numpy(np.array(array))


def in_format(array: np.ndarray, name: str) -> np.ndarray:
    """Numbers rounded to the floats of this name."""
    with np.errstate(all="ignore"):  # overflow gives infinity
        return array.astype(NAMES[name].numpy)


def _shape(parts: tuple[Any, ...]) -> tuple[int, ...] | None:
    try:
        return np.shape(parts)
    except ValueError:  # parts of different shapes
        return None


# -- What results are multiplied with before they are added up: a gradient is that of one number -


Seeds = list[np.ndarray]  # one for each array of a result
DIRECTIONS = 2  # along which a function with several results is checked if no seed is given


def seeds_for(value: Sequence[np.ndarray], given: Any, state: int) -> list[Seeds]:
    """Return the seeds to check a gradient along.

    They are the given seed, 1 for a result of one number, or else random ones. Raises ShapeError
    for a seed of another shape.
    """
    if given is not None:
        seed = numbers(given, "the seed").astype(float)
        if len(value) != 1 or seed.shape != value[0].shape:
            shapes = ", ".join(str(part.shape) for part in value)
            raise ShapeError(f"the seed has the shape {seed.shape}, the result {shapes}")
        return [[seed]]
    if len(value) == 1 and value[0].size == 1:
        return [[np.ones(value[0].shape)]]
    random = np.random.default_rng(state)
    return [[random.standard_normal(part.shape) for part in value] for _ in range(DIRECTIONS)]


def product(
    gradient: Callable[..., Any], given: Mapping[str, Any], seeds: Seeds, scalar: bool
) -> Any:
    """Return what a gradient that somebody wrote says for a seed, of which it gets a copy.

    That of a function of several results takes the seed after the arguments, as a vector-Jacobian
    product does. One that takes no more than the arguments gives the Jacobian, or for a result that
    is one number the gradient.
    """
    arguments = list(given.values())
    called = by_names(gradient, list(given))
    if _takes_another(gradient, list(given)):
        own = tuple([seed.copy() for seed in seeds])
        return called(*arguments, own[0] if len(own) == 1 else own)
    found = called(*arguments)
    if (
        not scalar
        and len(seeds) == 1
        and np.shape(found) == seeds[0].shape != ()
        and len(arguments) == 1
        and np.ndim(arguments[0])
    ):
        raise ShapeError(
            f"a gradient of shape {np.shape(found)} is no Jacobian of a result of that shape",
            help="of a function entry by entry, let the gradient take the seed and return seed "
            "times it, or sum the function",
        )
    return found if scalar else _contract(found, seeds)


def _takes_another(function: Callable[..., Any], names: Sequence[str]) -> bool:
    """Return whether a function has to be called with one more argument than these."""
    parameters = (parameters_of(function) or {}).values()
    needed = [
        p
        for p in parameters
        if p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)
        and (p.default is p.empty or p.name in names)
    ]
    return len(needed) == len(names) + 1


def _contract(jacobian: Any, seeds: Seeds) -> Any:
    """Multiply a seed by a Jacobian, or by each Jacobian in a structure.

    The first axes of a Jacobian are those of the result.
    """
    if isinstance(jacobian, dict):
        return {name: _contract(part, seeds) for name, part in jacobian.items()}
    if isinstance(jacobian, tuple):
        return tuple(_contract(part, seeds) for part in jacobian)
    if len(seeds) != 1:
        raise ArgumentError(
            f"the function has {len(seeds)} results, and the gradient takes no vectors for them",
            help="let the gradient take the tuple of their vectors as its last argument",
        )
    array, (seed,) = numbers(jacobian, "the Jacobian", copy=False), seeds
    if array.shape[: seed.ndim] != seed.shape:
        raise ShapeError(
            f"a Jacobian of shape {array.shape} does not begin with the result's shape "
            f"{seed.shape}",
            help="let the gradient take the seed as its last argument, or give the Jacobian",
        )
    return np.tensordot(seed, array, axes=seed.ndim)


# -- Parameters of PyTorch's modules: further arguments of a function, by their dotted names -----
#
# While a function runs, its modules have what it is called with in the places of their
# parameters; afterwards they have their own again.


_TRAINING = {  # what training mode does, by parts of the names of modules
    ("Dropout", "RReLU"): "draws the same in every call",
    ("BatchNorm",): "takes the statistics of the batch, and keeps none",
}


def is_module(thing: Any) -> bool:
    """Return whether something is a module of PyTorch's, which is not imported for that."""
    return any(
        f"{kind.__module__}.{kind.__name__}" == "torch.nn.modules.module.Module"
        for kind in type(thing).__mro__
    )


def as_function(module: Any) -> Callable[..., Any]:
    """Return a module as a function of what its ``forward`` takes."""

    def call(*arguments: Any, **keywords: Any) -> Any:
        return module(*arguments, **keywords)

    call.__signature__ = inspect.signature(module.forward)  # type: ignore[attr-defined]
    return call


class Parameters:
    """Trainable parameters of a module, and its other floats, in the dtype of the arguments.

    values  of those that are learned, by their names
    """

    def __init__(self, module: Any, dtype: np.dtype[Any]) -> None:
        if not is_module(module):
            raise ArgumentError(
                f"parameters are those of a torch.nn.Module, not of {type(module).__name__}"
            )
        self.module = module
        self.dtype = dtype
        tensors = [*module.parameters(), *module.buffers()]
        # Where a tensor is kept: a dictionary or list, and the key or index there. One that modules
        # share has several slots.
        slots: dict[int, list[tuple[Any, Any]]] = {id(tensor): [] for tensor in tensors}
        for owner in module.modules():
            for table in (
                vars(owner),
                *vars(owner).values(),
            ):  # recurrent modules also keep a list of their parameters
                parts = (
                    table.items()
                    if isinstance(table, dict)
                    else enumerate(table)
                    if isinstance(table, list)
                    else ()
                )
                for key, part in parts:
                    if id(part) in slots:
                        slots[id(part)].append((table, key))
        learned = {
            name: tensor for name, tensor in module.named_parameters() if tensor.requires_grad
        }
        self.values = {name: self._cast(tensor) for name, tensor in learned.items()}
        self._slots = [slots.pop(id(tensor)) for tensor in learned.values()]
        self._others = [(slots[id(tensor)], tensor) for tensor in tensors if id(tensor) in slots]

    def _cast(self, tensor: Any) -> np.ndarray:
        numbers = of_torch(tensor)
        return np.array(numbers, self.dtype if numbers.dtype.kind in FLOATS else numbers.dtype)

    def taken_by(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """Return a function that takes these parameters after its own arguments."""
        torch = import_module("torch")
        count = len(self.values)

        def call(*values: Any) -> Any:
            own = values[: len(values) - count]
            with self._place(values[len(own) :]), torch.random.fork_rng(devices=[]):
                torch.manual_seed(0)  # the same draws in every call
                return function(*own)

        return call

    @contextmanager
    def _place(self, values: tuple[Any, ...]) -> Iterator[None]:
        pairs = [*zip(self._slots, values, strict=True)]
        pairs += [(places, to_torch(self._cast(tensor))) for places, tensor in self._others]
        before = [(table, key, table[key]) for places, _ in pairs for table, key in places]
        try:
            for places, value in pairs:
                for table, key in places:
                    table[key] = value
            yield
        finally:
            for table, key, value in before:
                table[key] = value

    @property
    def training_note(self) -> str | None:
        """Return what training mode does to the module, if it does something."""
        kinds = {type(part).__name__ for part in self.module.modules() if part.training}
        said = [
            f"{kind} {what}" for kind in sorted(kinds) for words, what in _TRAINING.items() if any(word in kind for word in words)
        ]  # fmt: skip
        return f"in training mode: {', '.join(said)}" if said else None


# -- A function at values of its arguments: what it is called with, and what it gives, as floats -


OUTSIDE = (
    ArithmeticError,
    ValueError,
    np.linalg.LinAlgError,
)  # what functions raise outside their domain


class NoValue(EvaluationError):
    """A function raises at the values of its arguments: they may be outside of its domain."""


@dataclass(frozen=True, eq=False)
class Subject:
    """Function, its arguments in order, and the names that it is differentiated by.

    make  of numbers what the function takes: NumPy's arrays, or those of a framework
    """

    function: Callable[..., Any]
    arguments: Mapping[str, Any]
    wrt: list[str]
    make: Make = as_given

    @cached_property
    def floats(self) -> Floats:
        """All numbers that it is differentiated by.

        Raises ArgumentError for an argument that has none.
        """
        found: Floats = {}
        for name in self.wrt:
            inside = differentiable(name, self.arguments[name])
            if not inside:
                raise ArgumentError(
                    f"'{name}' has no real numbers to differentiate by",
                    help="name the arguments that the gradient is by (wrt)",
                )
            found |= {leaf.name: leaf.numbers for leaf in inside}
        return found

    def __call__(
        self, floats: Mapping[str, np.ndarray] = NOTHING, instead: Mapping[str, Any] = NOTHING
    ) -> list[Any]:
        """Return the arrays of the result at these numbers.

        Numbers that are not given are those of the arguments.

        instead  what it takes, as it is, in the place of some of them
        """
        numbers = {**self.floats, **floats}

        def make(name: str, value: Any, numbers: np.ndarray) -> Any:
            return instead[name] if name in instead else self.make(name, value, numbers)

        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            return parts_of(self.function(*self.arguments_with(numbers, make).values()))

    def copies(self) -> dict[str, Any]:
        """Return the arguments as the function takes them, for code that may write into them."""
        return self.arguments_with(self.floats, self.make)

    def arguments_with(self, floats: Mapping[str, np.ndarray], make: Make) -> dict[str, Any]:
        """Return copies of the arguments with these numbers in them, made by ``make``."""
        return {
            name: copy_with(name, value, floats, make) for name, value in self.arguments.items()
        }

    def direction(self, random: np.random.Generator) -> Floats:
        """Return a random direction of the arguments."""
        return {
            name: random.standard_normal(x.shape).astype(x.dtype) for name, x in self.floats.items()
        }

    def numbers(self, floats: Mapping[str, np.ndarray] = NOTHING) -> list[np.ndarray]:
        """Return the arrays of the result at these numbers.

        Raises ArgumentError for a result that is not of real numbers.
        """
        return [_real(part) for part in self(floats)]

    @cached_property
    def value(self) -> list[np.ndarray]:
        """The arrays of its result at the values of its arguments."""
        return self.numbers()

    @property
    def is_scalar(self) -> bool:
        return len(self.value) == 1 and self.value[0].size == 1

    def along(self, seeds: Sequence[np.ndarray], floats: Mapping[str, np.ndarray]) -> list[float]:
        """Return the terms of the result's sum with these weights.

        Outside of the domain it gives NaN.
        """
        try:
            found = self.numbers(floats)
            return [
                term
                for part, seed in zip(found, seeds, strict=True)
                for term in np.ravel(part * seed).tolist()
            ]
        except OUTSIDE:
            return [float("nan")]


def parts_of(result: Any) -> list[Any]:
    """Return the arrays of a result, which is an array or a structure of arrays."""
    if isinstance(result, Mapping):
        return [part for value in result.values() for part in parts_of(value)]
    if isinstance(result, (list, tuple)):
        return [part for value in result for part in parts_of(value)]
    return [result]


def _real(part: Any) -> np.ndarray:
    if part is None:
        raise ArgumentError(
            "the function returns None", help="return the value whose gradient it is"
        )
    return real(part, "the function must return")
