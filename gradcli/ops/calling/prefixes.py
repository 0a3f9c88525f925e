"""Library prefixes that a program may write, and the constants and dtypes found under them."""

from __future__ import annotations

from typing import Any, NamedTuple

from gradcli.errors import UnknownNameError
from gradcli.ops.constants import NAMED, PI, E

NUMPY, TORCH, SCIPY, MATH = "numpy", "torch", "scipy", "math"

# The prefixes that a program may write, and the library whose names and defaults they select.
PREFIXES = {
    "np": NUMPY, "numpy": NUMPY, "jnp": NUMPY, "np.linalg": NUMPY, "numpy.linalg": NUMPY, "jnp.linalg": NUMPY,
    "jax": NUMPY, "jax.numpy": NUMPY, "jax.numpy.linalg": NUMPY, "jax.nn": TORCH, "jax.lax": NUMPY,
    "np.random": NUMPY, "numpy.random": NUMPY,
    "torch": TORCH, "torch.nn": TORCH, "torch.nn.functional": TORCH, "F": TORCH, "nn": TORCH, "nn.functional": TORCH,
    "torch.linalg": TORCH, "torch.special": TORCH,
    "scipy": SCIPY, "scipy.special": SCIPY, "special": SCIPY, "scipy.linalg": SCIPY,
    "math": MATH,
}  # fmt: skip


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
        return DType("float32" if name == "float" and PREFIXES.get(path) == TORCH else name)
    raise UnknownNameError(f"unknown name '{path}.{name}'")
