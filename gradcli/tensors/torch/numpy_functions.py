"""NumPy's functions on tensors, beside arrays, lists and numbers: one table by name.

A function is the catalogue's of that name, or what the table has: NumPy's own of the entries,
where results have no gradients; NumPy's own of the places of the entries, where it only moves
them; or one made of others, by whose calls gradients pass.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial
from operator import index
from types import SimpleNamespace
from typing import Any

import numpy as np

from gradcli.errors import UnreadArgumentError
from gradcli.namespace import ufuncs
from gradcli.namespace.compositions import (
    cho_factor,
    cho_solve,
    letter_operands,
    line,
    moving,
    ratios,
)
from gradcli.ops.calling.meanings import is_part, qualified_name
from gradcli.ops.calling.prefixes import NUMPY, SCIPY
from gradcli.ops.spec import Op
from gradcli.spelling import words
from gradcli.tensors.core import dtypes
from gradcli.tensors.core.in_place import as_tensor
from gradcli.tensors.core.tensor import Tensor
from gradcli.tensors.dispatch.call_arguments import NUMPY_HOST, requires_grad
from gradcli.tensors.dispatch.library_calls import caller, record_of
from gradcli.tensors.torch.custom_functions import Function
from gradcli.tensors.torch.namespace import einsum

# What NumPy computes in doubles, where PyTorch keeps whole numbers, or refuses them.
_IN_DOUBLES = words("average corrcoef cov fabs float_power modf rint")
NO_GRADIENT = (
    "functions with out=... arguments don't support automatic differentiation, but one "
    "of the arguments requires grad."
)


# -- functions of the catalogue
# ---------------------------------------------------------------------------------


def call_function(name: str, arguments: Any, keywords: dict[str, Any], function: Any = None) -> Any:
    """A function of NumPy's, by its name. Raises TypeError, by name, for what there is not."""
    found = record_of(name, NUMPY)
    if found is None:
        path = f"{getattr(function, '__module__', None) or 'numpy'}.{getattr(function, '__name__', name)}"
        raise TypeError(f"gradcli has no {path} on tensors; tensor.detach().numpy() is the array")
    keywords = {
        key: np.dtype(value) if isinstance(value, str) and key == "dtype" else value
        for key, value in keywords.items()
        if value is not np._NoValue and not (key == "where" and value is True)
    }
    out, record = keywords.get("out"), found[0]
    if isinstance(out, np.ndarray):
        return write_result(
            out, call_function(name, arguments, {**keywords, "out": None}, function), True
        )
    arguments, named = tuple(map(strong, arguments)), {k: strong(v) for k, v in keywords.items()}
    of_floats = isinstance(record, Op) and record.refuses and not record.integral
    if of_floats and "dtype" in named and np.dtype(named["dtype"]).kind not in dtypes.FLOATS:
        refuse(name, dtype=named["dtype"])
    if of_floats or name in _IN_DOUBLES:
        arguments = tuple(map(_float, arguments))
    if name in _IN_DOUBLES:
        named = {key: value if key == "out" else _float(value) for key, value in named.items()}
    return caller(name, NUMPY)(*arguments, **named)


def by_name(name: str, *arguments: Any, **keywords: Any) -> Any:
    return call_function(name, arguments, keywords)


def write_result(out: np.ndarray, result: Any, mask: Any) -> np.ndarray:
    """An array to which a result is written, which has no graph."""
    if not isinstance(result, Tensor) or result.requires_grad:
        raise RuntimeError(NO_GRADIENT)
    np.copyto(out, result.array, where=plain(mask))
    return out


def refuse(name: str, **given: Any) -> None:
    """Refuse, by name, keywords that would change what is computed."""
    for keyword, value in given.items():
        if value is not None and value is not np._NoValue:
            raise UnreadArgumentError(
                f"{name} of tensors does not support this {keyword}=", help="leave it out"
            )


def tensor_of(argument: Any) -> Any:
    """A tensor of an array, a number, or nested lists, whose gradients pass."""
    return as_tensor(NUMPY_HOST.value(argument))


def plain(argument: Any) -> Any:
    """Arrays in the place of tensors, also in lists and tuples."""
    if isinstance(argument, Tensor):
        return argument.array
    is_list = type(argument) in (list, tuple)
    return type(argument)(map(plain, argument)) if is_list else argument


def strong(argument: Any) -> Any:
    """Arrays of numbers as tensors, whose dtypes count."""
    is_array = isinstance(argument, np.ndarray) and argument.dtype.kind in "fiub"
    return as_tensor(argument) if is_array else argument


def _float(argument: Any) -> Any:
    """NumPy's means of whole numbers are floats."""
    whole = isinstance(argument, Tensor) and argument.array.dtype.kind in "iub"
    return argument.to(dtypes.float64) if whole else argument


# -- NumPy's own
# ------------------------------------------------------------------------------------------------


def _of_entries(function: Callable[..., Any]) -> Callable[..., Any]:
    """NumPy's function of the entries, whose results are places, counts and truths."""
    return lambda *given, **named: function(
        *plain(given), **{k: plain(v) for k, v in named.items()}
    )


def of_constants(function: Callable[..., Any], first: int = 0) -> Callable[..., Any]:
    """The same, where gradients by the arguments from the first on would be lost."""

    def run(*given: Any, **named: Any) -> Any:
        if requires_grad([*given[first:], *named.values()]):
            raise TypeError(
                f"{function.__name__}: a tensor that requires grad loses its gradient here: write "
                "x.detach()"
            )
        found = _of_entries(function)(*given, **named)
        return Tensor(np.asarray(found)) if first else found

    return run


def _moving(function: Callable[..., Any], at: int = 0) -> Callable[..., Any]:
    """A function that only moves entries: those of its argument at a place, an array or nested
    lists of arrays.
    """
    moved = moving(function, tensor_of, at)

    def run(*given: Any, out: None = None, **named: Any) -> Any:
        refuse(function.__name__, out=out)
        arguments = [
            argument if place == at else plain(argument) for place, argument in enumerate(given)
        ]
        return moved(*arguments, **{key: plain(value) for key, value in named.items()})

    return run


# -- functions made of others
# -----------------------------------------------------------------------------------


def _einsum(equation: Any, *operands: Any, optimize: Any = False, **keywords: Any) -> Any:
    """With letters, or with lists of labels: ``np.einsum(x, [0, 1], y, [1, 2], [0, 2])``."""
    refuse("einsum", **keywords)
    given: Any = (
        (equation, operands)
        if isinstance(equation, str)
        else letter_operands((equation, *operands), index)
    )
    return einsum(given[0], *map(tensor_of, given[1]))


def _along_axis(
    function: Callable[..., Any], axis: int, arr: Any, *given: Any, **named: Any
) -> Any:
    """A function of each vector along an axis, in whose place its results stand."""
    moved = np.moveaxis(tensor_of(arr), axis, -1)
    rows, lead = np.reshape(moved, (-1, moved.shape[-1])), tuple(moved.shape[:-1])
    found = [tensor_of(function(row, *given, **named)) for row in rows]
    if not found:
        raise ValueError("Cannot apply_along_axis when any iteration dimensions are 0")
    made = np.reshape(np.stack(found), lead + tuple(found[0].shape))
    inner, start = made.ndim - len(lead), axis % np.ndim(arr)
    places = [[*range(first, first + inner)] for first in (len(lead), start)]
    return np.moveaxis(made, *places)


def _piecewise(x: Any, condlist: Any, funclist: Any, *given: Any, **named: Any) -> Any:
    """Values, or functions of the entries for which a condition is the last to hold."""
    entries = tensor_of(x)
    chosen = np.piecewise(np.zeros(entries.shape), plain(condlist), [*range(1, len(funclist) + 1)])
    result = np.zeros_like(entries)
    for place, value in enumerate(funclist, 1):
        mask = chosen == place
        if mask.any():
            result[mask] = value(entries[mask], *given, **named) if callable(value) else value
    return result


def _transpose(a: Any, axes: Any = None) -> Any:
    return by_name(
        "transpose", a, **({} if axes is None else {"axes": tuple(np.atleast_1d(axes).tolist())})
    )


def _ordering(name: str) -> Callable[..., Any]:
    def run(
        x: Any, axis: int | None = -1, kind: Any = None, order: Any = None, *, stable: Any = None
    ) -> Any:
        refuse(name, order=order)
        x, axis = (np.ravel(x), -1) if axis is None else (x, axis)
        return by_name(name, x, axis=axis, kind=kind)

    return run


def _partition(
    x: Any, kth: Any, axis: int | None = -1, kind: Any = "introselect", order: Any = None
) -> Any:
    refuse("partition", order=order)
    x, axis = (np.ravel(x), -1) if axis is None else (x, axis)
    return np.take_along_axis(x, np.argpartition(plain(x), kth, axis, kind), axis)


def _unique(
    x: Any, return_index: bool = False, return_inverse: bool = False, return_counts: bool = False,
    axis: int | None = None, **keywords: Any,
) -> Any:  # fmt: skip
    """Different entries, or slices: the first of each, whose gradient is theirs."""
    flags: Any = (True, return_inverse, return_counts, axis)
    found: Any = np.unique(plain(x), *flags, **keywords)
    kept = np.take(np.ravel(x) if axis is None else x, found[1], axis=axis or 0)
    results = (kept, *found[1 if return_index else 2 :])
    return results if len(results) > 1 else kept


def _insert(arr: Any, obj: Any, values: Any, axis: Any = None) -> Any:
    """An array with values put in, which take its dtype, as in an assignment."""
    given, put = tensor_of(arr), tensor_of(values)
    if put.requires_grad and not given.dtype.is_floating_point:
        help = "make the array one of floats"
        raise UnreadArgumentError(
            "insert: floats that require grad cannot be put into whole numbers", help=help
        )
    joined = _moving(lambda pair: np.insert(pair[0], plain(obj), pair[1], axis))
    return joined([given, put.to(given.dtype)])


def _linspace(
    start: Any, stop: Any, num: int = 50, endpoint: bool = True, retstep: bool = False, dtype: Any = None, axis: int = 0
) -> Any:  # fmt: skip
    """Numbers in equal distances between tensors."""
    first, last = _floats(start, stop)
    numbers, step = line(first, last, index(num), endpoint)
    made = _arrange(numbers, dtype, axis)
    return (made, step) if retstep else made


def _logspace(
    start: Any, stop: Any, num: int = 50, endpoint: bool = True, base: Any = 10.0, dtype: Any = None, axis: int = 0
) -> Any:  # fmt: skip
    first, last = _floats(start, stop)
    return _arrange(np.power(base, line(first, last, index(num), endpoint)[0]), dtype, axis)


def _geomspace(
    start: Any, stop: Any, num: int = 50, endpoint: bool = True, dtype: Any = None, axis: int = 0
) -> Any:
    first, last = _floats(start, stop)
    if np.any(np.sign(plain(first)) * np.sign(plain(last)) <= 0):
        raise ValueError("geomspace needs two ends of one sign, neither of them 0")
    return _arrange(ratios(first, last, index(num), endpoint), dtype, axis)


def _floats(*ends: Any) -> Any:
    return [_float(tensor_of(end)) for end in np.broadcast_arrays(*map(tensor_of, ends))]


def _arrange(numbers: Any, dtype: Any, axis: int) -> Any:
    made = np.moveaxis(numbers, 0, axis)
    return made if dtype is None else made.astype(dtype)


def inner_products(x1: Any, x2: Any, /, *, axis: int = -1, **keywords: Any) -> Any:
    """``np.vecdot``: the axis is counted in each array by itself, and the others broadcast."""
    first, second = (np.moveaxis(tensor_of(x), axis, -1) for x in (x1, x2))
    return by_name("vecdot", first, second, **keywords)


def _astype(x: Any, dtype: Any, /, *, copy: bool = True, device: Any = None) -> Any:
    return x.astype(dtype, copy=copy)


def _parts(name: str) -> Callable[..., Any]:
    """Parts along an axis, in a list as NumPy has them."""
    return lambda *given, **named: list(call_function(name, given, named))


_ENTRIES = words("""
    shape ndim size allclose array_equal isclose isrealobj iscomplexobj argwhere flatnonzero
    argpartition nanargmax nanargmin lexsort searchsorted digitize isin array_equiv
    iscomplex isreal common_type can_cast any min_scalar_type all count_nonzero nonzero
    result_type may_share_memory shares_memory ravel_multi_index unravel_index
    tril_indices_from einsum_path triu_indices_from diag_indices_from
""")  # fmt: skip
_LIKE = ("zeros_like", "ones_like", "full_like", "empty_like")
_COUNTS = words("bincount histogram histogram_bin_edges histogram2d histogramdd")
FUNCTIONS: dict[str, Callable[..., Any]] = {
    **{name: _of_entries(getattr(np, name)) for name in _ENTRIES},
    "linalg.matrix_rank": _of_entries(np.linalg.matrix_rank),
    **{name: of_constants(getattr(np, name)) for name in _COUNTS},
    **{name: of_constants(getattr(np, name), 1) for name in _LIKE},
    **{name: _moving(getattr(np, name)) for name in ("block", "delete", "roll")},
    "choose": _moving(np.choose, 1), "fftshift": _moving(np.fft.fftshift),
    "ifftshift": _moving(np.fft.ifftshift), "insert": _insert,
    "where": lambda condition, *choices: (
        by_name("where", condition, *choices) if choices else np.nonzero(plain(condition))
    ),
    "transpose": _transpose, "astype": _astype, "einsum": _einsum,
    "apply_along_axis": _along_axis, "piecewise": _piecewise,
    "sort": _ordering("sort"), "argsort": _ordering("argsort"), "partition": _partition,
    "unique": _unique,
    "real_if_close": lambda a, tol=100: a, "imag": np.zeros_like,
    "angle": lambda z, deg=False: np.degrees(by_name("angle", z)) if deg else by_name("angle", z),
    "linspace": _linspace, "logspace": _logspace, "geomspace": _geomspace,
    "linalg.vecdot": inner_products,
    **{name: _parts(name) for name in words("split array_split hsplit vsplit dsplit")},
}  # fmt: skip


# -- SciPy's functions on tensors: the catalogue's by their names, and some made of others -------


def _call_by_name(name: str, *arguments: Any, **keywords: Any) -> Any:
    named = {key: strong(value) for key, value in keywords.items()}
    return caller(name, SCIPY)(*map(strong, arguments), **named)


# -- scipy.special
# ----------------------------------------------------------------------------------------------


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
        return _call_by_name("iv", tensor_of(order), x) * np.exp(-np.abs(x))
    return (
        _call_by_name("kv", tensor_of(order), x) * np.exp(x)
        if name == "kve"
        else _call_by_name(name, order, x)
    )


_OF_ORDERS = ("iv", "ive", "jn", "jv", "kn", "kv", "kve", "yn", "yv", "expn", "polygamma", *(
    f"eval_{family}" for family in words("chebyt chebyu hermite hermitenorm laguerre legendre")
))  # fmt: skip


def _counts(name: str, target: str) -> Callable[..., Any]:
    """A function of counts, which is zero of what cannot be counted, where its real one is not."""

    def run(*counts: Any, exact: bool = False) -> Any:
        refuse(name, exact=exact or None)
        parts = np.broadcast_arrays(*map(tensor_of, counts))
        total, *taken = plain(list(parts))
        outside = np.any([total < 0, *[(m < 0) | (m > total) for m in taken]], axis=0)
        return np.where(
            outside, 0.0, _call_by_name(target, *(np.where(outside, 1.0, n) for n in parts))
        )

    return run


# -- scipy.signal
# -----------------------------------------------------------------------------------------------


def _convolve(in1: Any, in2: Any, mode: str = "full", method: str = "auto") -> Any:
    """The convolution over all axes."""
    x, y = tensor_of(in1), tensor_of(in2)
    if mode not in ("full", "same", "valid"):
        raise UnreadArgumentError(
            f"convolve of tensors takes mode='full', 'same' or 'valid', not {mode!r}"
        )
    if x.ndim != y.ndim:
        raise ValueError("in1 and in2 should have the same dimensionality")
    extents = list(zip(x.shape, y.shape, strict=True))
    if mode == "valid" and len({n > m for n, m in extents if n != m}) > 1:
        raise ValueError("One array must be larger than the other along all convolved dimensions")
    windows: Any = np.pad(x, [(m - 1, m - 1) for _, m in extents]) if extents else x
    for axis, (_, m) in enumerate(extents):
        windows = windows.unfold(axis, m, 1)
    full, kept = np.tensordot(windows, np.flip(y) if extents else y, x.ndim), []
    for n, m in extents:
        first = {"full": 0, "same": (m - 1) // 2}.get(mode, min(n, m) - 1)
        kept.append(
            slice(
                first, first + {"full": n + m - 1, "same": n}.get(mode, max(n, m) - min(n, m) + 1)
            )
        )
    return full[tuple(kept)]


# -- scipy.stats, scipy.linalg
# ----------------------------------------------------------------------------------


def _normal(name: str) -> Callable[..., Any]:
    """A density of normal vectors; of a singular covariance matrix there is none here."""

    def run(x: Any, mean: Any = None, cov: Any = 1, allow_singular: bool = False) -> Any:
        given = {} if mean is None else {"mean": mean}
        return _call_by_name(f"multivariate_normal.{name}", x, cov=cov, **given)

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


def _solution(
    lu_and_piv: Any, b: Any, trans: int = 0, overwrite_b: bool = False, check_finite: bool = True
) -> Any:
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
UFUNCS = {
    name.removeprefix("special."): made
    for name, made in MADE.items()
    if name.startswith("special.")
}


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
    name = qualified_name(last, path, SCIPY)
    # a distribution's mean is not that of its arguments
    if record_of(name, SCIPY) is None or ("." in part and name == last):
        raise AttributeError(f"gradcli has no scipy.{path}")

    def run(*arguments: Any, **keywords: Any) -> Any:
        return _call_by_name(name, *arguments, **keywords)

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


# -- NumPy's protocols of tensors: ``np.sum(t, axis=1)``, ``np.sin(t)``, ``np.add.reduce(t)`` ----


_WRITING = ("put",)  # of the catalogue under that name, but with a new array as its result
_OF_WHOLE_NUMBERS = words("bitwise_and bitwise_or bitwise_xor invert left_shift right_shift bitwise_count gcd lcm")  # fmt: skip


def function_on_tensors(
    x: Tensor, function: Any, types: Any, arguments: tuple[Any, ...], keywords: dict[str, Any]
) -> Any:
    """A NumPy function, recorded as the operation of that name."""
    name, of_matrices = function.__name__, function.__module__ == "numpy.linalg"
    path = f"linalg.{name}" if of_matrices else name
    if path in FUNCTIONS:
        return FUNCTIONS[path](*arguments, **keywords)
    if name in _WRITING:
        raise TypeError(
            f"gradcli has no numpy.{name} on tensors; tensor.detach().numpy() is the array"
        )
    return call_function(
        qualified_name(name, path, NUMPY) if of_matrices else name, arguments, keywords, function
    )


def ufunc_on_tensors(x: Tensor, ufunc: Any, how: str, *inputs: Any, **keywords: Any) -> Any:
    """A ufunc or one of its methods, recorded as the operations of that name."""
    out = keywords.pop("out", None)
    out = out if out is None or len(out) > 1 else out[0]
    name = f"np.{ufunc.__name__}"
    if isinstance(out, tuple):
        raise UnreadArgumentError(
            f"{name} of tensors does not support out= for several results", help="leave it out"
        )
    if isinstance(out, Tensor):
        raise TypeError(f"{name}: tensors cannot be written to by out=; use the in-place methods")
    if how in ("at", "reduceat"):
        raise TypeError(
            f"{name}.{how} of tensors is not supported; tensor.detach().numpy() is the array"
        )
    mask = keywords.pop("where", True) if how == "__call__" else True
    result = (_call if how == "__call__" else partial(_method, how))(ufunc, *inputs, **keywords)
    if out is not None:
        return write_result(out, result, mask)
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
    return call_function(name, inputs, keywords, ufunc)


def _scale(x: Any, exponents: Any) -> Any:
    """x * 2**n by two powers, as 2**n alone may be too large or too small for a float."""
    whole = np.asarray(plain(exponents))
    if whole.dtype.kind in dtypes.FLOATS:
        raise TypeError("np.ldexp: the second argument is of whole numbers")
    x, half = tensor_of(x), whole // 2
    kind = np.result_type(x.array, 1.0)
    first, second = (np.exp2(part.astype(kind)) for part in (half, whole - half))
    return x * first * second


def _method(how: str, ufunc: Any, x: Any, *arguments: Any, **keywords: Any) -> Any:
    """``np.add.reduce`` and its kin: with dtype and out in their places, if they are given by
    position.
    """
    name, given = ufunc.__name__, tensor_of(x)
    if how == "outer":
        return ufuncs.outer(
            lambda of, *operands: _call(ufunc, *operands, **keywords),
            name,
            given,
            tensor_of(arguments[0]),
        )
    keywords |= dict(zip(_PARAMETERS[how], arguments, strict=False))
    keywords = {
        key: value for key, value in keywords.items() if key != "out" and value is not np._NoValue
    }
    kind = keywords.pop("dtype", None)
    if keywords.get("where") is True:
        del keywords["where"]
    return getattr(ufuncs, how)(
        by_name, name, given if kind is None else given.astype(kind), **keywords
    )


_PARAMETERS = {
    "reduce": words("axis dtype out keepdims initial where"), "accumulate": ("axis", "dtype", "out"),
}  # fmt: skip
_MADE: dict[str, Callable[..., Any]] = {
    "ldexp": _scale, "vecdot": inner_products, "conjugate": np.positive,
}  # fmt: skip
