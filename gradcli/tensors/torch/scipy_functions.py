"""SciPy's functions on tensors: the catalogue's by their names, and some made of others."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial
from types import SimpleNamespace
from typing import Any

import numpy as np

from gradcli.errors import UnreadArgumentError
from gradcli.namespace import ufuncs
from gradcli.namespace.compositions import cho_factor, cho_solve
from gradcli.ops.calling.meanings import is_part, qualified
from gradcli.ops.calling.prefixes import NUMPY, SCIPY
from gradcli.spelling import words
from gradcli.tensors.core import dtypes
from gradcli.tensors.core.tensor import Tensor
from gradcli.tensors.dispatch.library_calls import caller, known
from gradcli.tensors.torch.custom_functions import Function
from gradcli.tensors.torch.numpy_functions import (
    FUNCTIONS,
    by_name,
    called,
    inner_products,
    of_constants,
    plain,
    refuse,
    strong,
    tensor_of,
    written,
)


def _called(name: str, *arguments: Any, **keywords: Any) -> Any:
    named = {key: strong(value) for key, value in keywords.items()}
    return caller(name, SCIPY)(*map(strong, arguments), **named)


# -- scipy.special ----------------------------------------------------------------------------------------------


def _of_orders(name: str) -> Callable[..., Any]:
    """A function of an order and a number: of orders in an array, one after the other."""

    def run(order: Any, x: Any) -> Any:
        orders = np.asarray(plain(order))
        if name in ("kn", "yn") and (orders % 1).any():
            raise ValueError(f"{name} takes whole orders: {name[0]}v takes others")
        if not orders.ndim:
            return _of_one_order(name, order, x)
        result: Any = 0.0
        for one in np.unique(orders):
            inside = np.where(orders == one, tensor_of(x), 1.0)
            result = np.where(orders == one, _of_one_order(name, one.item(), inside), result)
        return result

    return run


def _of_one_order(name: str, order: Any, x: Any) -> Any:
    if name == "ive":
        return _called("iv", tensor_of(order), x) * np.exp(-np.abs(x))
    return _called("kv", tensor_of(order), x) * np.exp(x) if name == "kve" else _called(name, order, x)


_OF_ORDERS = ("iv", "ive", "jn", "jv", "kn", "kv", "kve", "yn", "yv", "expn", "polygamma", *(
    f"eval_{family}" for family in (
        "chebyt", "chebyu", "hermite", "hermitenorm", "laguerre", "legendre",
    )
))  # fmt: skip


def _counts(name: str, target: str) -> Callable[..., Any]:
    """A function of counts, which is zero of what cannot be counted, where its real one is not."""

    def run(*counts: Any, exact: bool = False) -> Any:
        refuse(name, exact=exact or None)
        parts = np.broadcast_arrays(*map(tensor_of, counts))
        total, *taken = plain(list(parts))
        outside = np.any([total < 0, *[(m < 0) | (m > total) for m in taken]], axis=0)
        return np.where(outside, 0.0, _called(target, *(np.where(outside, 1.0, n) for n in parts)))

    return run


# -- scipy.signal -----------------------------------------------------------------------------------------------


def _convolve(in1: Any, in2: Any, mode: str = "full", method: str = "auto") -> Any:
    """The convolution over all axes."""
    x, y = tensor_of(in1), tensor_of(in2)
    if mode not in ("full", "same", "valid"):
        raise UnreadArgumentError(f"convolve of tensors takes mode='full', 'same' or 'valid', not {mode!r}")
    if x.ndim != y.ndim:
        raise ValueError("in1 and in2 should have the same dimensionality")
    extents = list(zip(x.shape, y.shape, strict=True))
    if mode == "valid" and len({n > m for n, m in extents if n != m}) > 1:
        raise ValueError("One array must be larger than the other along all convolved dimensions")
    windows: Any = np.pad(x, [(m - 1, m - 1) for _, m in extents]) if extents else x
    for axis, (_, m) in enumerate(extents):
        windows = windows.unfold(axis, m, 1)
    full = np.tensordot(windows, np.flip(y) if extents else y, x.ndim)
    kept = []
    for n, m in extents:
        same = slice((m - 1) // 2, (m - 1) // 2 + n)
        kept.append({"full": slice(None), "same": same}.get(mode, slice(min(n, m) - 1, max(n, m))))
    return full[tuple(kept)]


# -- scipy.stats, scipy.linalg ----------------------------------------------------------------------------------


def _normal(name: str) -> Callable[..., Any]:
    """A density of normal vectors; of a singular covariance matrix there is none here."""

    def run(x: Any, mean: Any = None, cov: Any = 1, allow_singular: bool = False) -> Any:
        given = {} if mean is None else {"mean": mean}
        return _called(f"multivariate_normal.{name}", x, cov=cov, **given)

    return run


def _sylvester(a: Any, b: Any, q: Any) -> Any:
    """X with A X + X B = Q: one system of equations for all entries of X, row by row."""
    left, right, wanted = map(tensor_of, (a, b, q))
    system = np.kron(left, np.eye(len(right))) + np.kron(np.eye(len(left)), np.transpose(right))
    return np.reshape(np.linalg.solve(system, np.reshape(wanted, (-1,))), (len(left), len(right)))


class _SquareRoot(Function):
    """The principal square root S of a matrix: dS with S dS + dS S = dA."""

    @staticmethod
    def forward(ctx: Any, a: Tensor) -> Tensor:
        from scipy.linalg import sqrtm

        root = np.asarray(sqrtm(a.detach().array))
        if np.iscomplexobj(root):
            raise ValueError("sqrtm: this matrix has no real square root")
        result = Tensor(root.astype(a.array.dtype))
        ctx.save_for_backward(result)
        return result

    @staticmethod
    def backward(ctx: Any, *seeds: Any) -> Any:
        turned = np.transpose(ctx.saved_tensors[0])
        return _sylvester(turned, turned, seeds[0])


def _factors(a: Any, overwrite_a: bool = False, check_finite: bool = True) -> tuple[Any, Any]:
    """LU factors, whose pivots count from 0, where PyTorch's are LAPACK's, which count from 1."""
    factors, pivots = caller("lu_factor")(tensor_of(a))
    return factors, pivots - 1


def _solution(lu_and_piv: Any, b: Any, trans: int = 0, overwrite_b: bool = False, check_finite: bool = True) -> Any:
    """z with A z = b, or with the transpose of A: b is a vector, or a matrix of as many rows."""
    if trans not in (0, 1, 2):
        raise UnreadArgumentError(f"lu_solve takes trans=0, 1 or 2, not {trans!r}")
    (factors, pivots), right = lu_and_piv, tensor_of(b)
    counted = tensor_of(np.asarray(plain(pivots)) + 1)
    columns = right[:, None] if right.ndim == 1 else right
    given = (tensor_of(factors), counted, columns)
    found = caller("linalg.lu_solve")(*given, adjoint=trans != 0)
    return found[:, 0] if right.ndim == 1 else found


MADE: dict[str, Callable[..., Any]] = {
    "special.comb": _counts("comb", "binom"), "special.perm": _counts("perm", "perm"),
    "special.factorial": _counts("factorial", "factorial"),
    **{f"special.{name}": _of_orders(name) for name in _OF_ORDERS},
    **{f"stats.multivariate_normal.{name}": _normal(name) for name in ("logpdf", "pdf")},
    "signal.convolve": _convolve, "linalg.solve_sylvester": _sylvester,
    "linalg.sqrtm": lambda A: _SquareRoot.apply(tensor_of(A)),
    "linalg.lu_factor": _factors, "linalg.lu_solve": _solution,
    "linalg.cho_factor": lambda a, lower=False, overwrite_a=False, check_finite=True: cho_factor(tensor_of(a), lower),
    "linalg.cho_solve": lambda c_and_lower, b, overwrite_b=False, check_finite=True: (
        cho_solve(tensor_of(c_and_lower[0]), c_and_lower[1], tensor_of(b))
    ),
}  # fmt: skip
UFUNCS = {name.removeprefix("special."): made for name, made in MADE.items() if name.startswith("special.")}


@cache
def scipy_function(path: str) -> Any:
    """Return what stands at a path of SciPy's: a function, or a distribution with its functions.

    Raises AttributeError if there is nothing.
    """
    if path in MADE:
        return MADE[path]
    part, _, last = path.rpartition(".")
    if part == "stats" and is_part(last, SCIPY):
        return _Distribution(path)
    if last == "rvs":  # SciPy's own, which no gradient passes through
        from scipy import stats

        return of_constants(getattr(stats, part.removeprefix("stats.")).rvs)
    name = qualified(last, path, SCIPY)
    # a distribution's mean is not that of its arguments
    if known(name, SCIPY) is None or ("." in part and name == last):
        raise AttributeError(f"gradcli has no scipy.{path}")

    def run(*arguments: Any, **keywords: Any) -> Any:
        return _called(name, *arguments, **keywords)

    run.__name__ = run.__qualname__ = last
    return run


class _Distribution(SimpleNamespace):
    """A distribution of scipy.stats: ``norm.logpdf``."""

    def __init__(self, path: str) -> None:
        super().__init__(path=path)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return scipy_function(f"{self.path}.{name}")


# -- NumPy's protocols of tensors: ``np.sum(t, axis=1)``, ``np.sin(t)``, ``np.add.reduce(t)`` ------


_WRITING = ("put",)  # of the catalogue under that name, but with a new array as its result
_OF_WHOLE_NUMBERS = words("bitwise_and bitwise_or bitwise_xor invert left_shift right_shift bitwise_count gcd lcm")  # fmt: skip


def function_on_tensors(x: Tensor, function: Any, types: Any, arguments: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
    """A NumPy function, recorded as the operation of that name."""
    name, of_matrices = function.__name__, function.__module__ == "numpy.linalg"
    path = f"linalg.{name}" if of_matrices else name
    if path in FUNCTIONS:
        return FUNCTIONS[path](*arguments, **keywords)
    if name in _WRITING:
        raise TypeError(f"gradcli has no numpy.{name} on tensors; tensor.detach().numpy() is the array")
    return called(qualified(name, path, NUMPY) if of_matrices else name, arguments, keywords, function)


def ufunc_on_tensors(x: Tensor, ufunc: Any, how: str, *inputs: Any, **keywords: Any) -> Any:
    """A ufunc or one of its methods, recorded as the operations of that name."""
    out = keywords.pop("out", None)
    out = out if out is None or len(out) > 1 else out[0]
    name = f"np.{ufunc.__name__}"
    if isinstance(out, tuple):
        raise UnreadArgumentError(f"{name} of tensors does not support out= for several results", help="leave it out")
    if isinstance(out, Tensor):
        raise TypeError(f"{name}: tensors cannot be written to by out=; use the in-place methods")
    if how == "at":
        raise TypeError(f"{name}.at of tensors is not supported; tensor.detach().numpy() is the array")
    mask = keywords.pop("where", True) if how == "__call__" else True
    result = (_call if how == "__call__" else partial(_method, how))(ufunc, *inputs, **keywords)
    if out is not None:
        return written(out, result, mask)
    if mask is not True:
        help = f"write np.where(mask, {name}(...), x), or give out="
        raise UnreadArgumentError(f"{name} does not support where= without out=", help=help)
    return result


def _call(
    ufunc: Any, *inputs: Any, order: str = "K", casting: Any = "same_kind", subok: bool = True,
    **keywords: Any,
) -> Any:  # fmt: skip
    name: str = ufunc.__name__
    whole = isinstance(inputs[0], Tensor) and inputs[0].array.dtype.kind in "iu"
    if name in _OF_WHOLE_NUMBERS or (name == "reciprocal" and whole):
        return Tensor(np.asarray(ufunc(*plain(inputs), casting=casting, **keywords)))
    refuse(f"np.{name}", order=None if order in ("K", "A", "C") else order)
    refuse(f"np.{name}", casting=None if casting == "same_kind" else casting)
    made = _MADE.get(name, UFUNCS.get(name))
    if made is not None and (name in _MADE or not keywords):
        return made(*inputs, **keywords)
    return called(name, inputs, keywords, ufunc)


def _scaled(x: Any, exponents: Any) -> Any:
    """x * 2**n by two powers, as 2**n alone may be too large or too small for a float."""
    whole = np.asarray(plain(exponents))
    if whole.dtype.kind in dtypes.FLOATS:
        raise TypeError("np.ldexp: the second argument is of whole numbers")
    x, half = tensor_of(x), whole // 2
    kind = np.result_type(x.array, 1.0)
    first, second = (np.exp2(part.astype(kind)) for part in (half, whole - half))
    return x * first * second


def _method(how: str, ufunc: Any, x: Any, *arguments: Any, **keywords: Any) -> Any:
    """``np.add.reduce`` and its kin: with dtype and out in their places, if they are given by position."""
    name, given = ufunc.__name__, tensor_of(x)
    if how == "outer":
        return ufuncs.outer(lambda of, *operands: _call(ufunc, *operands, **keywords), name, given, tensor_of(arguments[0]))
    keywords |= dict(zip(_PARAMETERS[how], arguments, strict=False))
    keywords = {key: value for key, value in keywords.items() if key != "out" and value is not np._NoValue}
    kind = keywords.pop("dtype", None)
    if keywords.get("where") is True:
        del keywords["where"]
    return getattr(ufuncs, how)(by_name, name, given if kind is None else given.astype(kind), **keywords)


_PARAMETERS = {
    "reduce": ("axis", "dtype", "out", "keepdims", "initial", "where"), "accumulate": ("axis", "dtype", "out"),
    "reduceat": ("indices", "axis", "dtype", "out"),
}  # fmt: skip
_MADE: dict[str, Callable[..., Any]] = {
    "ldexp": _scaled, "vecdot": inner_products, "conjugate": np.positive,
}  # fmt: skip
