"""Library prefixes that a program may write, and the constants and dtypes found under them."""

from __future__ import annotations

from typing import Any, NamedTuple

from gradcli.errors import UnknownNameError
from gradcli.ops.constants import NAMED, PI, E

NUMPY, TORCH, SCIPY, MATH, JAX = "numpy", "torch", "scipy", "math", "jax"

# The prefixes that a program may write, and the library whose names and defaults they select.
PREFIXES = {
    "np": NUMPY, "numpy": NUMPY, "np.linalg": NUMPY, "numpy.linalg": NUMPY, "np.random": NUMPY, "numpy.random": NUMPY,
    "torch": TORCH, "torch.nn": TORCH, "torch.nn.functional": TORCH, "F": TORCH, "nn": TORCH, "nn.functional": TORCH,
    "torch.linalg": TORCH, "torch.special": TORCH, "torch.distributions": TORCH,
    "scipy": SCIPY, "scipy.special": SCIPY, "special": SCIPY, "scipy.linalg": SCIPY, "scipy.stats": SCIPY, "stats": SCIPY,
    "jax": JAX, "jnp": JAX, "jnp.linalg": JAX, "jax.numpy": JAX, "jax.numpy.linalg": JAX, "jax.lax": JAX, "lax": JAX,
    "jax.nn": JAX, "jax.scipy": JAX, "jax.scipy.special": JAX, "jax.scipy.linalg": JAX, "jax.scipy.stats": JAX,
    "math": MATH,
}  # fmt: skip

# Parts of JAX whose functions are another library's, but for those that are declared as JAX's own.
FOLLOWS = {
    "jax.nn": TORCH, "jax.scipy": SCIPY, "jax.scipy.special": SCIPY, "jax.scipy.linalg": SCIPY, "jax.scipy.stats": SCIPY,
}  # fmt: skip


def owner(path: str) -> str:
    """The library that a path belongs to: SciPy for scipy.stats, and for scipy.stats.norm in it."""
    return PREFIXES[_written(path)]


def library_of(path: str) -> str:
    """The library whose functions a path selects where it has none of its own: PyTorch's for jax.nn."""
    written = _written(path)
    return FOLLOWS.get(written, PREFIXES[written])


def _written(path: str) -> str:
    """The longest beginning of a path that is a prefix."""
    while path not in PREFIXES:
        path = path.rpartition(".")[0]
    return path


class DType(NamedTuple):
    """A dtype as an argument (``dtype=torch.float64``): every number here has the program's precision."""

    name: str


DTYPES = ("float64", "float32", "double", "float", "float16", "half", "bool", "int64", "int32", "long", "int", "bool_")

# The precisions that a program can have, under the names of dtypes.
PRECISIONS = {"float64": "float64", "double": "float64", "float": "float64", "float32": "float32"}


def named_constant(path: str, name: str) -> Any:
    """The value of ``np.pi``, ``torch.inf``, ``np.newaxis``, ``torch.float64``. Raises UnknownNameError."""
    if name in ("pi", "e"):
        return PI if name == "pi" else E
    if name in ("inf", "nan"):
        return NAMED[name]
    if name == "newaxis":
        return None
    if name in DTYPES:
        return DType("float32" if name == "float" and owner(path) == TORCH else name)
    raise UnknownNameError(f"unknown name '{path}.{name}'")
