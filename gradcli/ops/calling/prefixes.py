"""Library prefixes that a program may write, and the constants and dtypes found under them.

What stands before a dot is a root (``np``, ``F``, or a name of an import line) or a path; it means
the canonical path of a module, by which the library and its functions are known: ``np.linalg`` is
``numpy.linalg``, ``F`` is ``torch.nn.functional``.
"""

from __future__ import annotations

from typing import Any, Literal, NamedTuple, get_args

from gradcli.errors import UnknownNameError
from gradcli.ops.constants import NAMED, TAU
from gradcli.texts import words

NUMPY, TORCH, SCIPY, MATH, JAX = "numpy", "torch", "scipy", "math", "jax"

Dialect = Literal["numpy", "torch", "jax"]
DIALECTS: tuple[str, ...] = get_args(Dialect)  # a text may be written for these; SciPy's is NumPy's

# Modules that have functions of their own, rather than those of a part of a library.
ROOT_MODULES = words("numpy torch math jax.numpy")

# Names of modules that a program may use without an import line. Its own import lines take
# precedence.
ROOTS = {
    **{library: library for library in (NUMPY, TORCH, SCIPY, MATH, JAX)},
    "np": "numpy", "F": "torch.nn.functional", "nn": "torch.nn", "special": "scipy.special", "stats": "scipy.stats",
    "jnp": "jax.numpy", "lax": "jax.lax", "jsp": "jax.scipy",
}

# Parts of JAX whose functions are another library's, except for those that are declared as JAX's
# own.
_FOLLOWS = {
    "jax.nn": TORCH, "jax.scipy": SCIPY, "jax.scipy.special": SCIPY, "jax.scipy.linalg": SCIPY, "jax.scipy.stats": SCIPY,
}

SAME = {"autograd": "jax", "autograd.numpy": "numpy"}  # modules that are read as others

# Modules that have only the listed functions of their library (most have none) and those that are
# declared for the module: numpy.random.gamma is not the gamma function.
_WITHOUT_FUNCTIONS = """
    numpy.fft numpy.ma numpy.polynomial numpy.polynomial.polynomial torch.optim torch.autograd torch.autograd.functional torch.fft
    torch.func torch.utils torch.utils.data torch.cuda torch.nn.init torch.nn.utils torch.random scipy.stats scipy.stats.mstats
    scipy.optimize scipy.integrate scipy.interpolate scipy.signal scipy.spatial scipy.spatial.distance scipy.sparse scipy.constants
    jax jax.scipy jax.scipy.stats jax.random jax.tree_util jax.ops jax.config
"""
CLOSED: dict[str, frozenset[str]] = {
    "numpy.random": frozenset({"rand", "randn", "random", "standard_normal"}),
    **dict.fromkeys(("torch.distributions", "torch.distributions.kl"), frozenset({"kl_divergence"})),
    **dict.fromkeys(_WITHOUT_FUNCTIONS.split(), frozenset()),
}
_DISTRIBUTIONS = (
    "normal categorical bernoulli multivariate_normal beta gamma dirichlet exponential laplace "
    "poisson uniform log_normal student_t "
    "cauchy half_normal binomial geometric"
)
# The modules that a program may name. The library with which a module's path begins determines
# names and defaults.
MODULES = frozenset({
    *CLOSED, *ROOT_MODULES, *_FOLLOWS, *SAME, "numpy.linalg", "torch.nn", "torch.nn.functional", "torch.linalg", "torch.special", "scipy",
    "scipy.special", "scipy.linalg", "jax.numpy.linalg", "jax.lax", *(f"torch.distributions.{name}" for name in _DISTRIBUTIONS.split()),
})


def canonical(written: str) -> str:
    """Return the path written before a dot, without import lines: numpy.linalg for np.linalg.

    Raises KeyError for anything else.
    """
    root, dot, rest = written.partition(".")
    return ROOTS[root] + dot + rest


def owner(path: str) -> str:
    """Return the library that a path belongs to.

    It is SciPy for scipy.stats, and for scipy.stats.norm in it.
    """
    return path.partition(".")[0]


def library_of(path: str) -> str:
    """Return the library whose functions a path selects if it has none of its own.

    For jax.nn that is PyTorch.
    """
    while path not in MODULES:
        path = path.rpartition(".")[0]
    return _FOLLOWS.get(path, owner(path))


def has(path: str, name: str) -> bool:
    """Return whether a path may have a function of its library not declared for it alone."""
    return path in MODULES and (path not in CLOSED or name in CLOSED[path])


class DType(NamedTuple):
    """Dtype as an argument (``dtype=torch.float64``).

    Every number here has the program's precision.
    """

    name: str


DTYPES = words("float64 float32 double float float16 half bool int64 int32 long int bool_")

# Names of a module that are not functions. They say less about the dialect than functions do.
CONSTANTS = frozenset({"pi", "e", "tau", "inf", "nan", "newaxis", *DTYPES})

# The precisions that a program can have, under the names of dtypes.
PRECISIONS = {"float64": "float64", "double": "float64", "float": "float64", "float32": "float32"}


def named_constant(path: str, name: str) -> Any:
    """Return the value of ``np.pi``, ``torch.inf``, ``np.newaxis``, ``torch.float64``.

    Raises UnknownNameError.
    """
    if name in ("pi", "e", "inf", "nan"):
        return NAMED[name]
    if name == "tau" and owner(path) == MATH:
        return TAU
    if name == "newaxis":
        return None
    if name in DTYPES:
        return DType("float32" if name == "float" and owner(path) == TORCH else name)
    raise UnknownNameError(f"unknown name '{path}.{name}'")
