"""SciPy's functions on tensors: those of the catalogue by their names, and some that are made of others."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from types import SimpleNamespace
from typing import Any

import numpy as np

from gradcli.errors import ShapeError, UnreadArgumentError
from gradcli.ops.calling.dialects import is_part, qualified
from gradcli.ops.calling.prefixes import SCIPY
from gradcli.tensors.core.tensor import Tensor
from gradcli.tensors.dispatch.library_calls import call, known
from gradcli.tensors.torch.catalogue_functions import function
from gradcli.tensors.torch.custom_functions import Function
from gradcli.tensors.torch.numpy_calls import plain, tensor_of
from gradcli.tensors.torch.scipy_factors import FACTORS

_LARGEST = 64  # rows of a matrix in Sylvester's equation, which is solved as one of as many squared


# -- scipy.special ----------------------------------------------------------------------------------------------


def _sign_of_gamma(x: Any) -> Tensor:
    from scipy.special import gammasgn

    return Tensor(np.asarray(gammasgn(plain(x))))


def _scaled_bessel(v: Any, z: Any) -> Any:
    """The modified Bessel function of the first kind times exp(-|z|)."""
    return call("iv", SCIPY, (tensor_of(v), z), {}) * np.exp(-np.abs(z))


def _scaled_second_bessel(v: Any, z: Any) -> Any:
    """The modified Bessel function of the second kind times exp(z)."""
    return call("kv", SCIPY, (tensor_of(v), z), {}) * np.exp(z)


def _of_each_order(name: str) -> Callable[..., Any]:
    """A function of an order and a number, where the orders may stand in an array: one order after the other."""

    def run(order: Any, x: Any) -> Any:
        orders = np.asarray(plain(order)) if not isinstance(order, Tensor) or not order.requires_grad else np.zeros(())
        if name in ("kn", "yn") and (orders != np.rint(orders)).any():
            raise ValueError(f"{name} takes whole orders: {name[0]}v takes others")
        if not orders.ndim:
            return _of_one_order(name, order, x)
        spread, given = np.broadcast_arrays(orders, tensor_of(x))
        spread = np.asarray(plain(spread))
        result: Any = np.zeros_like(plain(given), np.result_type(plain(given), np.float32))
        for single in np.unique(orders):
            here = spread == single
            result = np.where(here, _of_one_order(name, single.item(), np.where(here, given, 1.0)), result)
        return result

    return run


def _of_one_order(name: str, order: Any, x: Any) -> Any:
    made = {"ive": _scaled_bessel, "kve": _scaled_second_bessel}.get(name)
    return call(name, SCIPY, (_strong(order), _strong(x)), {}) if made is None else made(order, x)


_OF_ORDERS = ("iv", "ive", "jn", "jv", "kn", "kv", "kve", "yn", "yv", "expn", "polygamma", *(
    f"eval_{family}" for family in ("chebyt", "chebyu", "hermite", "hermitenorm", "laguerre", "legendre")
))  # fmt: skip


def _combinations(N: Any, k: Any, *, exact: bool = False, repetition: bool = False) -> Any:
    """None of fewer than no things, nor of more than there are, which the function of real numbers knows nothing of."""
    _refuse_exact("comb", exact)
    if repetition:
        return _combinations(np.add(tensor_of(N), np.subtract(tensor_of(k), 1)), k)
    return _where_counted("binom", N, k)


def _permutations(N: Any, k: Any, exact: bool = False) -> Any:
    _refuse_exact("perm", exact)
    return _where_counted("perm", N, k)


def _factorial(n: Any, exact: bool = False) -> Any:
    """Zero below zero."""
    _refuse_exact("factorial", exact)
    count = tensor_of(n)
    below = plain(count) < 0
    return np.where(below, 0.0, call("factorial", SCIPY, (np.where(below, 1.0, count),), {}))


def _where_counted(name: str, N: Any, k: Any) -> Any:
    total, count = np.broadcast_arrays(tensor_of(N), tensor_of(k))
    n, m = plain(total), plain(count)
    outside = (n < 0) | (m < 0) | (m > n)
    inner = [np.where(outside, 1.0, part) for part in (total, count)]
    return np.where(outside, 0.0, call(name, SCIPY, tuple(inner), {}))


def _refuse_exact(name: str, exact: bool) -> None:
    if exact:
        raise UnreadArgumentError(f"{name} of tensors does not support exact=True", help="leave it out")


# -- scipy.signal -----------------------------------------------------------------------------------------------


def _convolve(in1: Any, in2: Any, mode: str = "full", method: str = "auto", *, axes: Any = None, dot_axes: Any = None) -> Any:
    """The convolution over all axes, of one to three; or, as autograd has it, over some axes of each, with sums over others."""
    x, y = tensor_of(in1), tensor_of(in2)
    if axes is not None or dot_axes is not None:
        if mode not in ("full", "same", "valid"):
            raise UnreadArgumentError(f"convolve of tensors takes mode='full', 'same' or 'valid', not {mode!r}")
        every = (range(x.ndim), range(y.ndim))
        return _convolve_along(x, y, every if axes is None else axes, ((), ()) if dot_axes is None else dot_axes, mode)
    if x.ndim != y.ndim:
        raise ValueError("in1 and in2 should have the same dimensionality")
    if not 1 <= x.ndim <= 3 or mode not in ("full", "same", "valid"):
        raise UnreadArgumentError(f"convolve of tensors takes 1 to 3 axes and mode='full', 'same' or 'valid', not {x.ndim}, {mode!r}")
    if mode == "valid" and all(n <= m for n, m in zip(x.shape, y.shape, strict=True)):
        x, y = y, x
    if mode == "valid" and not all(n >= m for n, m in zip(x.shape, y.shape, strict=True)):
        raise ValueError("For 'valid' mode, one must be at least as large as the other in every dimension")
    padding = 0 if mode == "valid" else tuple(m - 1 for m in y.shape)
    joint = np.result_type(plain(x), plain(y))
    x, y = (t if t.array.dtype == joint else np.astype(t, joint) for t in (x, y))
    made = function(f"conv{x.ndim}d")(x[None, None], np.flip(y)[None, None], padding=padding)[0, 0]
    if mode != "same":
        return made
    starts = [(full - n) // 2 for full, n in zip(made.shape, x.shape, strict=True)]
    return made[tuple(slice(start, start + n) for start, n in zip(starts, x.shape, strict=True))]


def _convolve_along(x: Any, y: Any, axes: Any, dot_axes: Any, mode: str) -> Any:
    """The axes of x that are left, those of y, and the convolved ones: windows of x times the reversed y."""
    of_x, of_y = ([int(axis) for axis in part] for part in axes)
    if len(of_x) != len(of_y) or len(dot_axes[0]) != len(dot_axes[1]):
        raise ValueError("convolve: axes and dot_axes name as many axes of the one array as of the other")
    if mode == "valid" and len({x.shape[i] >= y.shape[j] for i, j in zip(of_x, of_y, strict=True) if x.shape[i] != y.shape[j]}) > 1:
        raise ValueError("One array must be larger than the other along all convolved dimensions")
    around = [(0, 0)] * x.ndim
    for i, j in zip(of_x, of_y, strict=True):
        around[i] = (y.shape[j] - 1,) * 2
    windows: Any = np.pad(x, around) if of_x else x
    left, right = list(range(x.ndim)), list(range(x.ndim, x.ndim + y.ndim))
    for i, j in zip(of_x, of_y, strict=True):
        windows = windows.unfold(i, y.shape[j], 1)
        left.append(right[j])
    for i, j in zip(*dot_axes, strict=True):
        right[j] = left[i]
    rest = [left[i] for i in range(x.ndim) if i not in of_x and i not in dot_axes[0]]
    rest += [right[j] for j in range(y.ndim) if j not in of_y and j not in dot_axes[1]]
    full = np.einsum(windows, left, np.flip(y, tuple(of_y)) if of_y else y, right, [*rest, *of_x])
    places = [slice(None)] * len(rest)
    for i, j in zip(of_x, of_y, strict=True):
        n, m = x.shape[i], y.shape[j]
        start, stop = {"full": (0, n + m - 1), "same": ((m - 1) // 2, (m - 1) // 2 + n), "valid": (min(n, m) - 1, max(n, m))}[mode]
        places.append(slice(start, stop))
    return full[tuple(places)]


# -- scipy.stats ------------------------------------------------------------------------------------------------


def _normal_logpdf(x: Any, mean: Any = None, cov: Any = 1, allow_singular: bool = False) -> Any:
    """With a covariance matrix that is singular, the density within the subspace that it spans; outside of it there is none."""
    matrix = np.asarray(plain(cov), np.float64)
    spread, directions = np.linalg.eigh(matrix) if allow_singular and matrix.ndim == 2 else (np.ones(1), np.ones((1, 1)))
    smallest = 1e6 * np.finfo(np.float64).eps * np.abs(spread).max()  # as SciPy chooses which eigenvalues are zero
    kept = spread > smallest
    if kept.all():
        given = {name: _strong(part) for name, part in (("mean", mean), ("cov", cov)) if part is not None}
        return call("multivariate_normal.logpdf", SCIPY, (_strong(x),), given)
    if spread.min() < -smallest:
        raise ValueError("The input matrix must be symmetric positive semidefinite.")
    if isinstance(cov, Tensor) and cov.requires_grad:
        raise UnreadArgumentError("the normal density has no derivative by a singular covariance matrix", help="write cov.detach()")
    apart = tensor_of(x) - (0.0 if mean is None else tensor_of(mean))
    squares = np.sum(np.square(np.matmul(apart, directions[:, kept] / np.sqrt(spread[kept]))), -1)
    density = -0.5 * (squares + (kept.sum() * np.log(2 * np.pi) + np.log(spread[kept]).sum()))
    inside = np.linalg.norm(plain(apart) @ directions[:, ~kept], axis=-1) < smallest
    return np.where(inside, density, -np.inf)


def _normal_pdf(x: Any, mean: Any = None, cov: Any = 1, allow_singular: bool = False) -> Any:
    return np.exp(_normal_logpdf(x, mean, cov, allow_singular))


# -- scipy.linalg -----------------------------------------------------------------------------------------------


def _sylvester(a: Any, b: Any, q: Any) -> Any:
    """X with A X + X B = Q: one system of equations for all entries of X, row by row."""
    left, right, wanted = tensor_of(a), tensor_of(b), tensor_of(q)
    n, m = left.shape[0], right.shape[0]
    if tuple(left.shape) != (n, n) or tuple(right.shape) != (m, m) or tuple(wanted.shape) != (n, m):
        raise ShapeError(f"solve_sylvester takes A (n, n), B (m, m) and Q (n, m), not {left.shape}, {right.shape}, {wanted.shape}")
    if n * m > _LARGEST**2:
        raise ShapeError(f"solve_sylvester of tensors takes at most {_LARGEST**2} unknowns, not {n * m}")
    system = np.kron(left, np.eye(m)) + np.kron(np.eye(n), np.transpose(right))
    return np.reshape(np.linalg.solve(system, np.reshape(wanted, (-1,))), (n, m))


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
        (root,) = ctx.saved_tensors
        turned = np.transpose(root)
        return _sylvester(turned, turned, seeds[0])


def _square_root(A: Any) -> Any:
    return _SquareRoot.apply(tensor_of(A))


def _banded(l_and_u: Any, ab: Any, b: Any, overwrite_ab: bool = False, overwrite_b: bool = False, check_finite: bool = True) -> Any:
    """The solution of a system whose matrix is given by its diagonals."""
    below, above = l_and_u
    diagonals = tensor_of(ab)
    n = diagonals.shape[1]
    if diagonals.shape[0] != below + above + 1:
        raise ValueError(f"invalid values for the number of lower and upper diagonals: l+u+1 ({below + above + 1}) is not {len(diagonals)}")
    rows, columns = np.mgrid[:n, :n]
    place = above + rows - columns
    inside = (place >= 0) & (place <= below + above)
    matrix = np.where(inside, diagonals[np.where(inside, place, 0), columns], 0.0)
    return np.linalg.solve(matrix, tensor_of(b))


MADE: dict[str, Callable[..., Any]] = {
    **FACTORS,
    "special.comb": _combinations, "special.perm": _permutations, "special.factorial": _factorial,
    "special.gammasgn": _sign_of_gamma, **{f"special.{name}": _of_each_order(name) for name in _OF_ORDERS},
    "stats.multivariate_normal.logpdf": _normal_logpdf, "stats.multivariate_normal.pdf": _normal_pdf,
    "signal.convolve": _convolve, "linalg.solve_sylvester": _sylvester, "linalg.sqrtm": _square_root, "linalg.solve_banded": _banded,
}  # fmt: skip
UFUNCS = {name.removeprefix("special."): made for name, made in MADE.items() if name.startswith("special.")}


@cache
def scipy_function(path: str) -> Any:
    """What stands at a path of SciPy's: a function, or a distribution with its functions. Raises AttributeError if there is nothing."""
    if path in MADE:
        return MADE[path]
    last = path.rpartition(".")[2]
    if path.startswith("stats.") and path.count(".") == 1 and is_part(last, SCIPY):
        return _Distribution(path)
    name = qualified(last, path, SCIPY)
    if known(name, SCIPY) is None or (path.count(".") > 1 and name == last):  # a distribution's mean is not that of its arguments
        raise AttributeError(f"gradcli has no scipy.{path}")

    def run(*arguments: Any, **keywords: Any) -> Any:
        return call(name, SCIPY, tuple(map(_strong, arguments)), {key: _strong(value) for key, value in keywords.items()})

    run.__name__ = run.__qualname__ = last
    return run


def _strong(argument: Any) -> Any:
    return tensor_of(argument) if isinstance(argument, np.ndarray) and argument.dtype.kind in "fiub" else argument


class _Distribution(SimpleNamespace):
    """A distribution of scipy.stats: ``norm.logpdf``."""

    def __init__(self, path: str) -> None:
        super().__init__(path=path)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return _draws(self.path) if name == "rvs" else scipy_function(f"{self.path}.{name}")


def _draws(path: str) -> Callable[..., Any]:
    """Random numbers of a distribution, SciPy's own: no gradient passes through them."""

    def rvs(*arguments: Any, **keywords: Any) -> Any:
        import scipy.stats

        if any(isinstance(given, Tensor) and given.requires_grad for given in (*arguments, *keywords.values())):
            raise TypeError(f"{path}.rvs: random numbers have no gradients by the parameters of their distribution")
        distribution = getattr(scipy.stats, path.rpartition(".")[2])
        return distribution.rvs(*map(plain, arguments), **{key: plain(value) for key, value in keywords.items()})

    return rvs
