"""Libraries as programs name them: what stands before a dot, and what is found behind it."""

from __future__ import annotations

from typing import Any, NamedTuple

from gradcli.reference.algebra import Unsupported
from gradcli.reference.reading.names import Line, class_of, is_part, line_of

NUMPY, TORCH, SCIPY, JAX, MATH = "numpy", "torch", "scipy", "jax", "math"

ROOTS = {
    "numpy": "numpy", "np": "numpy", "torch": "torch", "F": "torch.nn.functional", "nn": "torch.nn", "scipy": "scipy",
    "special": "scipy.special", "stats": "scipy.stats", "jax": "jax", "jnp": "jax.numpy", "lax": "jax.lax", "jsp": "jax.scipy",
    "math": "math",
}  # fmt: skip
# What is found in a part of a library, where that is not the library's own names.
_OF_PART = {"jax.nn": TORCH, "jax.scipy": SCIPY}
_PARTS = {
    "numpy": ("linalg",), "torch": ("nn", "nn.functional", "linalg", "special", "distributions"), "scipy": ("special", "linalg", "stats"),
    "jax": ("numpy", "numpy.linalg", "lax", "nn", "scipy", "scipy.special", "scipy.linalg", "scipy.stats"), "math": (),
}  # fmt: skip
_DTYPES = {
    "float64": "float64", "double": "float64", "float32": "float32", "float_": "float64", "int64": "int", "int32": "int", "long": "int",
    "int": "int", "bool": "bool", "bool_": "bool",
}  # fmt: skip
NUMBERS = frozenset({"pi", "e", "tau", "inf", "nan"})
_DRAWN = frozenset({"rand", "randn"})
DIVERGENCE = "kl_divergence"  # of two distributions, which decide what function it is


class Module(NamedTuple):
    """A library, or a part of one."""

    path: str

    @property
    def library(self) -> str:
        return self.path.partition(".")[0]


class Function(NamedTuple):
    """A function of a library, found in the table under a name."""

    name: str
    library: str


class DType(NamedTuple):
    """A dtype: floats of a precision, whole numbers or booleans."""

    name: str


def found_in(module: Module, name: str) -> Any:
    """``module.name``: a function, a part, a dtype, or the name of a number of mathematics. Raises `Unsupported`."""
    path = f"{module.path}.{name}"
    if path.partition(".")[2] in _PARTS.get(module.library, ()):
        return Module(path)
    if (line := function_in(module, name)) is not None:
        return Function(line[0], line[1])
    if name == DIVERGENCE and module.library == TORCH:
        return Function(name, TORCH)
    if is_part(name) or is_class(module, name):
        return Module(path)
    if name in NUMBERS:
        return name
    if name == "newaxis":
        return None
    if name == "float" and module.library == TORCH:
        return DType("float32")
    if name in _DTYPES:
        return DType(_DTYPES[name])
    raise Unsupported(f"{path} is not read by the judge")


def is_class(module: Module, name: str) -> bool:
    """Whether a name in a module is a class's."""
    library = SCIPY if module.path.rpartition(".")[2] == "stats" else TORCH if module.library == TORCH and name[:1].isupper() else ""
    return bool(library) and class_of(name, library) is not None


def function_in(module: Module, name: str) -> tuple[str, str, Line] | None:
    """The name and the library under which a function of a module stands in the table."""
    last = f"{module.path.rpartition('.')[2]}.{name}"
    library = next((other for part, other in _OF_PART.items() if module.path == part or module.path.startswith(f"{part}.")), module.library)
    for where in dict.fromkeys((module.library, library)):
        if (line := line_of(last, where)) is not None:
            return last, where, line
    if module.path == "torch.distributions":
        return None
    whole = module.path == module.library or module.path.partition(".")[2] in _PARTS[module.library]
    if whole and module.path not in ("scipy.stats", "jax", "jax.scipy.stats") and (line := line_of(name, library)) is not None:
        return name, library, line
    return None


def is_drawn(function: str) -> bool:
    """Whether a function draws at random: what it has drawn is known to the program alone."""
    return function in _DRAWN
