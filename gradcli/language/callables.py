"""Which names a program can call: the functions of libraries, those of the language itself, and methods."""

from __future__ import annotations

from functools import cache, lru_cache

from gradcli.errors import suggestion
from gradcli.language.builtin_functions import ALIASES, FUNCTIONS
from gradcli.language.differentiation import DERIVATIVES
from gradcli.ops.calling.meanings import lookup, names
from gradcli.ops.calling.prefixes import NUMPY, TORCH
from gradcli.ops.registry import named, public_names
from gradcli.ops.spec import Op

IDENTITIES = frozenset({"requires_grad_", "numpy", "cpu", "tolist"})  # methods that give the value itself
# Attributes and methods that array_methods.py has; of those that are in the catalogue, too, it is asked first.
OF_VALUES = frozenset((
    "A1", "H", "all", "any", "argwhere", "astype", "at", "bfloat16", "block_until_ready", "bool", "byte", "char", "clone", "conj",
    "conjugate", "contiguous", "copy", "cpu", "cuda", "data", "device", "double", "dtype", "element_size", "flat", "flatten", "float",
    "half", "imag", "int", "item", "itemsize", "long", "mH", "nbytes", "ndimension", "nelement", "new_full", "new_ones", "new_tensor",
    "new_zeros", "nonzero", "numel", "pin_memory", "real", "resolve_conj", "resolve_neg", "short", "to", "type", "type_as",
))  # fmt: skip
OF_PYTHON = frozenset({"Ellipsis", "bool", "divmod", "float", "int", "list", "range", "slice", "sys", "tuple"})  # python_names.py
OF_SYMPY = frozenset({"Abs", "Heaviside", "Max", "Min", "Piecewise", "Rational", "piecewise"})  # sympy_names.py
METHODS = IDENTITIES | {"dim", "detach"}  # of tensors, beside the functions of libraries


@cache
def exists(name: str, library: str) -> bool:
    """Whether a library's prefix (or, for NumPy, no prefix) makes this name a function."""
    return name in FUNCTIONS or name in ALIASES or (name == "kl_divergence" and library == TORCH) or lookup(name, library) is not None


@cache
def all_names() -> list[str]:
    """Every name that a program can call, for suggestions."""
    return sorted({*public_names(), *names(), *FUNCTIONS, *DERIVATIVES, *OF_SYMPY})


def is_function(name: str) -> bool:
    """Whether a name without a prefix can be called."""
    return exists(name, NUMPY) or exists(name, TORCH) or name in DERIVATIVES or name in OF_PYTHON or name in OF_SYMPY


def is_method(name: str) -> bool:
    """Whether ``x.name(...)`` calls a function."""
    return exists(name, NUMPY) or exists(name, TORCH) or exists(f"Tensor.{name}", TORCH) or name in METHODS or name in OF_VALUES


@lru_cache(1024)
def close_to(name: str) -> str | None:
    """The one name that a program can call which is likely meant by another: kept, as the same mistake often stands in many records."""
    return suggestion(name, all_names())


def suggested(name: str) -> str | None:
    """The help of an error about a name that is no function, where one is close to it."""
    close = close_to(name)
    return f"did you mean '{close}'?" if close else None


@cache
def operation(name: str) -> Op | None:
    """The operation that a function without a prefix is, if it is one of a single array that takes nothing else."""
    found = lookup(name, NUMPY) or lookup(name, TORCH)
    special = name in ALIASES or name in DERIVATIVES
    if special or found is None or found.target in FUNCTIONS or len(found.parameters) != 1:
        return None
    record = named(found.target)
    if not isinstance(record, Op) or record.variadic or record.static or record.indices or found.defaults or record.outputs > 1:
        return None
    parameter = found.parameters[0]
    return record if (parameter.name,) == record.operands and not (parameter.otherwise or parameter.ignored) else None
