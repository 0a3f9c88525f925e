"""Calling operations: arguments by position and name, as the library whose spelling is used takes them."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from functools import cache
from typing import TYPE_CHECKING, Any

from gradcli.errors import ArgumentError, UnreadArgumentError, suggestion
from gradcli.language import builtin_functions
from gradcli.language.differentiation import DERIVATIVES
from gradcli.language.names import Results
from gradcli.ops.calling import binding
from gradcli.ops.calling.dialects import lookup, names
from gradcli.ops.calling.prefixes import MATH, NUMPY, TORCH
from gradcli.ops.calling.signatures import Signature, signature
from gradcli.ops.registry import named, public_names
from gradcli.ops.spec import Composite, Op

if TYPE_CHECKING:
    from gradcli.language.lowering import Lowering
    from gradcli.language.names import Function

# Methods of tensors that are no methods of arrays, or mean something else.
_TORCH_METHODS = frozenset((
    "add", "div", "divide", "flip", "repeat", "select", "split", "squeeze", "sub", "subtract", "true_divide", "where",
))  # fmt: skip
# Methods of tensors alone, where NumPy's function of that name means something else.
_TENSORS_ALONE = frozenset({"cov", "cross", "median", "nan_to_num", "nanmedian"})
METHODS = frozenset({"dim", "requires_grad_", "numpy", "cpu", "tolist", "detach"})
_IDENTITIES = frozenset({"requires_grad_", "numpy", "cpu", "tolist"})


@cache
def exists(name: str, library: str) -> bool:
    """Whether a library's prefix (or, for NumPy, no prefix) makes this name a function."""
    return name in builtin_functions.FUNCTIONS or name in builtin_functions.ALIASES or lookup(name, library) is not None


@cache
def all_names() -> list[str]:
    """Every name that a program can call, for suggestions."""
    return sorted({*public_names(), *names(), *builtin_functions.FUNCTIONS, *DERIVATIVES})


def known(name: str) -> bool:
    return exists(name, NUMPY) or exists(name, TORCH) or name in DERIVATIVES


def is_method(name: str) -> bool:
    """Whether ``x.name(...)`` calls a function."""
    return exists(name, NUMPY) or exists(name, TORCH) or exists(f"Tensor.{name}", TORCH) or name in METHODS


def suggested(name: str) -> str | None:
    close = suggestion(name, all_names())
    return f"did you mean '{close}'?" if close else None


@cache
def operation(name: str) -> Op | None:
    """The operation that a function without a prefix is, if it is one of a single array that takes nothing else."""
    found = lookup(name, NUMPY) or lookup(name, TORCH)
    special = name in builtin_functions.ALIASES or name in DERIVATIVES
    if special or found is None or found.target in builtin_functions.FUNCTIONS or len(found.parameters) != 1:
        return None
    record = named(found.target)
    if not isinstance(record, Op) or record.variadic or record.static or record.indices or found.defaults or record.outputs > 1:
        return None
    parameter = found.parameters[0]
    return record if (parameter.name,) == record.operands and not (parameter.otherwise or parameter.ignored) else None


def call(low: Lowering, name: str, library: str, arguments: list[Any], keywords: dict[str, Any], bare: bool = False) -> Any:
    """A function of a library applied to lowered arguments."""
    name = builtin_functions.ALIASES.get(name, name)
    if bare and name in ("max", "min") and len(arguments) > 1:
        if keywords:
            raise ArgumentError(f"{name} of several values takes no {next(iter(keywords))!r}", help=f"write {name}([x, y], axis=0)")
        return (builtin_functions.maximum_of if name == "max" else builtin_functions.minimum_of)(low, *arguments)
    if library == MATH and name in ("max", "min"):
        library = NUMPY
    found = lookup(name, library)
    if found is None:
        raise ArgumentError(f"'{name}' is no function of {library}")
    given = binding.bind(low, name, found, arguments, keywords)
    composition = builtin_functions.FUNCTIONS.get(found.target)
    if composition is not None:
        return _run(low, composition, given)
    record = named(found.target)
    result = binding.call(low, record, name, found, given)
    if isinstance(record, Composite) and isinstance(result, tuple) and len(result) == len(record.results):
        return Results.of(result, record.results)
    return result


def _run(low: Lowering, composition: Callable[..., Any], given: Mapping[str, Any]) -> Any:
    try:
        inspect.signature(composition).bind(low, **given)
    except TypeError as error:
        raise ArgumentError(f"wrong arguments for {composition.__name__}: {error}") from None
    return composition(low, **given)


def _unchanged(low: Lowering, name: str, base: Any, arguments: list[Any], keywords: dict[str, Any]) -> Any:
    """What a method that changes no entry gives: the value itself."""
    if name == "requires_grad_":
        given = binding.bind(low, name, signature(name, "requires_grad"), arguments, keywords)
        if low.literal("requires_grad", given.get("requires_grad", True)) is not True:
            raise UnreadArgumentError("requires_grad_ does not support requires_grad=False", help="write detach(x), or --freeze the name")
    else:
        binding.bind(low, name, signature(name, "-force, -memory_format"), arguments, keywords)
    return base


def call_method(low: Lowering, function: Function, arguments: list[Any], keywords: dict[str, Any]) -> Any:
    """``x.name(...)``: the function of that name with x as its first argument."""
    name, base = function.name, function.base
    if name in _IDENTITIES:
        return _unchanged(low, name, base, arguments, keywords)
    if name == "dim":
        binding.bind(low, name, Signature(name, ()), arguments, keywords)
        return low.graph.constant(low.value(base).ndim)
    if name == "transpose":
        # of two axes PyTorch's, which exchanges them; of a tuple or of all axes NumPy's
        exchanges = len(arguments) + len(keywords) == 2 and (low.value(base).ndim != 2 or keywords)
        return call(low, name, TORCH if exchanges else NUMPY, [base, *arguments], keywords)
    if exists(f"Tensor.{name}", TORCH):
        return call(low, f"Tensor.{name}", TORCH, [base, *arguments], keywords)
    if exists(f"ndarray.{name}", NUMPY):
        return call(low, f"ndarray.{name}", NUMPY, [base, *arguments], keywords)
    torch_only = name in _TENSORS_ALONE or (name in _TORCH_METHODS and "axis" not in keywords) or "dim" in keywords or "keepdim" in keywords
    return call(low, name, TORCH if torch_only and exists(name, TORCH) else function.library, [base, *arguments], keywords)
