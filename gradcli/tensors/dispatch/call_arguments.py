"""Arguments of PyTorch's functions: which are refused, and how others become operands.

It also decides which dtypes results have, and which arguments are static parameters.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import reduce
from typing import Any, Literal, NamedTuple

import numpy as np

from gradcli.errors import PlaceError
from gradcli.ops.arrays.shapes import stack
from gradcli.ops.calling import binding
from gradcli.ops.spec import Op
from gradcli.ops.structure import to_int
from gradcli.tensors.core import dtypes
from gradcli.tensors.core.dtypes import FLOATS, of_numpy, result_type
from gradcli.tensors.core.in_place import as_tensor, takes_in
from gradcli.tensors.core.levels import physical
from gradcli.tensors.core.modes import state, warn
from gradcli.tensors.core.tensor import Tensor
from gradcli.tensors.dispatch.apply import apply
from gradcli.texts import pairs, words

# Functions of PyTorch's that take numbers alone, too, without any tensor, and those that take one
# beside a tensor.
OF_NUMBERS = words("add sub mul div subtract multiply divide true_divide floor_divide")
_WITH_NUMBERS = OF_NUMBERS | words("""
    addcdiv addcmul chebyshev_polynomial_t chebyshev_polynomial_u clamp clamp_max clamp_min clip
    copysign cumulative_trapezoid eq fill float_power fmod gaussian_nll_loss ge gradient greater
    greater_equal gt hermite_polynomial_h hermite_polynomial_he index_fill laguerre_polynomial_l le
    legendre_polynomial_p lerp less less_equal lt masked_fill multilabel_soft_margin_loss
    nanquantile ne not_equal pow quantile remainder rsub scatter trapezoid trapz where xlog1py
    xlogy zeta
""")
# Functions that reduce or move several axes; all others take one.
_OF_AXES = words("""
    amax amin flip frobenius_norm gradient logsumexp matrix_norm mean nanmean nansum norm normalize
    nuclear_norm roll squeeze std std_mean sum var var_mean vector_norm
""")

# Functions of floats only. Some of them also take whole numbers, but no booleans.
_FLOATS_ONLY = words("""
    adaptive_avg_pool2d adaptive_avg_pool3d adaptive_max_pool1d adaptive_max_pool2d
    adaptive_max_pool3d addcdiv avg_pool1d avg_pool2d batch_norm binary_cross_entropy
    binary_cross_entropy_with_logits cdist celu cholesky cholesky_inverse cholesky_solve
    cosine_similarity cross_entropy det dist eigh eigvalsh elu frac gelu glu hardshrink
    hardsigmoid hardswish huber_loss hypot interpolate inv inverse kl_div leaky_relu
    lerp linalg.eigh linalg.eigvalsh linalg.norm linalg.qr linalg.svd linalg.vector_norm
    local_response_norm log_softmax logaddexp logaddexp2 logcumsumexp logdet logsigmoid lu
    matrix_exp max_pool1d mish mse_loss multi_margin_loss multilabel_margin_loss
    multilabel_soft_margin_loss nanmean nanquantile nll_loss norm normalize
    pdist prelu qr quantile rrelu selu silu slogdet smooth_l1_loss softmax softmin softplus
    softshrink svd triangular_solve vector_norm
""")
_NO_BOOLEANS = words("""
    addcmul addmm addmv argmax argmin bincount bucketize chain_matmul cov cross dot einsum gcd
    hardtanh inner isin kthvalue lcm linalg.cross linear matmul matrix_power max_pool2d
    max_pool3d median mm mv nanmedian positive relu relu6 searchsorted softsign tanhshrink
    tensordot threshold topk trace trapezoid vdot
""")
_ALSO = {
    "avg_pool1d": "int64",
    "avg_pool2d": "int64",
    "interpolate": "uint8",
}  # whole numbers that these functions take as well

# Parameters that are truncated to whole numbers if they multiply whole numbers.
TRUNCATED: Mapping[str, tuple[str, ...]] = {
    "addcmul": ("value",), **dict.fromkeys(words("addmm addmv addbmm baddbmm"), ("alpha", "beta")),
}  # fmt: skip
# The dtypes of results. Some functions are made of operations on floats, but return whole numbers
# again: of the first tensor's dtype, or long. Others cast a value to the dtype of the tensor that
# it is put into, or convert their operands to floats first: to doubles, or to the common dtype.
RESULTS: Mapping[str, Literal["first", "long", "value", "double", "promoted"]] = {
    **dict.fromkeys(words("""
        diag diagflat pad hardtanh relu6 nan_to_num diag_embed scatter_add dropout dropout1d dropout2d dropout3d threshold heaviside
        cross linalg.cross block_diag tensordot constant_pad_nd max_pool2d max_pool3d
        avg_pool1d avg_pool2d diagonal_scatter select_scatter slice_scatter put index_reduce
    """) | TRUNCATED.keys(), "first"),
    **dict.fromkeys(("nansum", "vander", "linalg.vander"), "long"),
    **dict.fromkeys(words("masked_fill index_fill scatter index_add fill"), "value"),
    "float_power": "double",
    **dict.fromkeys(words("mse_loss smooth_l1_loss huber_loss soft_margin_loss cov corrcoef "
    "trapezoid trapz"), "promoted"),
}  # fmt: skip
# Functions whose second operand is a mask, and those whose tensors all have one dtype.
_MASKS = frozenset({"masked_select", "masked_fill", "masked_scatter"})
_ONE_DTYPE = words("heaviside lerp inner linear cross linalg.cross meshgrid")
_OF_DIFFERENCES = words("mse_loss l1_loss smooth_l1_loss huber_loss")
# Functions whose indices do not count from the end, which is checked at every call.
FROM_0 = words(
    "gather index_select scatter scatter_add scatter_reduce index_add index_copy index_reduce"
)
# The fewest and the most axes of operands.
_RANKS: Mapping[str, tuple[int, int]] = {
    **dict.fromkeys(("tril", "triu", "rot90"), (2, 64)), **dict.fromkeys(("outer", "ger"), (1, 1)), "meshgrid": (0, 1),
    "trace": (2, 2),
}  # fmt: skip
_SCALING = words("add sub subtract rsub")  # by the number alpha
# Methods that also have an in-place form, in addition to the elementwise ones.
IN_PLACE_TOO = words("""
    add addbmm addcdiv addcmul addmm addmv addr baddbmm bitwise_and bitwise_left_shift
    bitwise_not bitwise_or bitwise_right_shift bitwise_xor clamp_max clamp_min conj_physical
    cumprod cumsum deg2rad detach div divide frac gcd index_add index_copy index_fill
    index_put index_reduce lcm ldexp lerp logical_xor logit masked_fill masked_scatter mvlgamma
    nan_to_num put rad2deg
    renorm round scatter scatter_add scatter_reduce sub subtract tril triu true_divide
""")
# Functions that are not methods in PyTorch.
NO_METHODS = ("isin", "rsub")
_SPELLED = pairs("x input, y other, arrays tensors, axis dim, keepdims keepdim")


def bare(name: str) -> str:
    """Return the name of a function or method without the part of PyTorch that it is in.

    A name that has a meaning of its own in its part keeps the part.
    """
    part, _, own = name.partition(".")
    return own if part in ("Tensor", "torch", "special") else name


def check_taken(name: str, arguments: Sequence[Any]) -> None:
    """Refuse tensors that PyTorch's function does not take.

    They are refused for their dtype, for different dtypes, or for their rank.
    """
    name = bare(name)
    arrays = [a.array for a in arguments if isinstance(a, Tensor)]
    if len(arrays) > 1 and hasattr(arguments[1], "array"):
        first, second = arrays[0].dtype, arrays[1].dtype
        if name in _MASKS and second.kind != "b":
            raise RuntimeError(f"{name}: the mask must be of booleans, not of {second.name}")
        if name in _ONE_DTYPE and first != second:
            raise RuntimeError(
                f"{name}: the tensors must have one dtype, not {first.name} and {second.name}"
            )
        if name in _OF_DIFFERENCES and arrays[0].shape != arrays[1].shape:
            warn(
                f"Using a target size ({arguments[1].shape}) that is different to the input size "
                f"({arguments[0].shape}): they are broadcast, which is likely to be a mistake"
            )
    if arrays and not any(array.dtype.kind in FLOATS for array in arrays):
        common = result_type(arrays)
        if (name in _FLOATS_ONLY and _ALSO.get(name) != common.name) or (
            common.kind == "b" and name in _NO_BOOLEANS
        ):  # PyTorch raises RuntimeError for some; this is a subclass of it
            raise NotImplementedError(
                f"{name} takes no tensors of {common.name}; x.float() makes floats of them"
            )
    fewest, most = _RANKS.get(name, (0, 64))
    for array in arrays:
        if not fewest <= array.ndim <= most:
            raise RuntimeError(f"{name} takes no tensors of {array.ndim} axes")


def check_indices(name: str, arguments: Sequence[Any], keywords: Mapping[str, Any]) -> None:
    """Refuse indices below 0 where they do not count from the end."""
    if bare(name) in FROM_0:
        index = keywords.get("index", arguments[2] if len(arguments) > 2 else None)
        places = getattr(physical(index), "array", None)
        if isinstance(places, np.ndarray) and (places < 0).any():
            raise PlaceError(f"{name}: indices are counted from 0, not {places.min()}")


def argument_error(
    name: str, parameter: str, argument: object, wanted: str = "Tensor"
) -> TypeError:
    """Return the error for an argument of another type than the one wanted."""
    shown = _SPELLED.get(parameter, parameter)
    return TypeError(
        f"{name.rpartition('.')[2]}(): argument '{shown}' must be {wanted}, not "
        f"{type(argument).__name__}"
    )


# -- Calls that PyTorch refuses by what their arguments say, where the same call would be computed -


# Functions with a parameter for the dtype to compute in.
_WITH_DTYPE = words("""
    sum prod mean nansum nanmean cumsum cumprod softmax log_softmax softmin norm vector_norm
    matrix_norm frobenius_norm nuclear_norm
""")


def takes_dtype(name: str) -> bool:
    """Tell whether a function of PyTorch's has a dtype among its parameters."""
    return name.rpartition(".")[2].rstrip("_") in _WITH_DTYPE


# -- Functions that are made of operations on floats, called with whole numbers: what they take,
# and which dtype their results have.


_EXACT = 2**53  # up to this, floats hold all whole numbers exactly
_DIVISIONS = ("div", "divide", "true_divide")


class Settled(NamedTuple):
    """Call with floats in place of whole numbers, and the dtype of its result.

    The dtype is there only if it is not that of the call.
    """

    arguments: tuple[Any, ...]
    keywords: dict[str, Any]
    kind: dtypes.dtype | None


def settle(name: str, arguments: Sequence[Any], keywords: Mapping[str, Any]) -> Settled | None:
    """Return what a call of one of PyTorch's functions becomes; None where it stays as it is."""
    name = bare(name)
    rule = RESULTS.get(name)
    if rule == "value":
        return _put_in(arguments, keywords)
    kinds = [a.array.dtype for a in arguments if isinstance(a, Tensor)]
    whole = bool(kinds) and not any(kind.kind in FLOATS for kind in kinds)
    if rule in ("double", "promoted"):
        common = (
            dtypes.float64
            if rule == "double"
            else dtypes.get_default_dtype()
            if whole
            else of_numpy(reduce(dtypes.common_dtype, kinds))
        )
        return Settled(in_dtype(tuple(arguments), common), dict(keywords), None)
    scaling = name in _SCALING and "alpha" in keywords
    if not whole or (rule is None and name not in _DIVISIONS and not scaling):
        return None
    if scaling and of_numpy(_common(arguments)).is_floating_point:
        return None
    if scaling and isinstance(keywords["alpha"], float):
        raise RuntimeError(f"{name}: alpha must not be {keywords['alpha']!r} for whole numbers")
    if name in _DIVISIONS:
        if keywords.get("rounding_mode") != "trunc" or any(isinstance(a, float) for a in arguments):
            return None
        if not np.all(getattr(arguments[-1], "array", arguments[-1])):
            raise RuntimeError("ZeroDivisionError")
    truncated = TRUNCATED.get(name, ())
    keywords = {
        key: int(value) if key in truncated and isinstance(value, float) else value
        for key, value in keywords.items()
    }
    kind = (
        dtypes.int64
        if rule == "long"
        else of_numpy(kinds[0] if rule == "first" else _common(arguments))
    )
    for a in arguments:
        if (
            isinstance(a, Tensor)
            and a.array.dtype.itemsize == 8
            and a.array.size
            and np.abs(a.array).max() > _EXACT
        ):
            raise RuntimeError(
                f"{name}(): whole numbers above 2**53 would be rounded here; .double() says that "
                "they may be"
            )
    given = in_dtype(tuple(arguments), dtypes.float64)
    if name == "scatter_add":  # its indices stay whole numbers
        given = (*given[:2], arguments[2], *given[3:])
    return Settled(given, keywords, kind)


def in_dtype(
    given: Any, kind: dtypes.dtype, fits: Callable[[np.dtype[Any]], bool] = lambda _: True
) -> Any:
    """Return tensors and arrays, and those in lists, in another dtype, if their own fits.

    Any other value is unchanged.
    """
    if type(given) in (list, tuple):
        return type(given)(in_dtype(part, kind, fits) for part in given)
    array = given.array if isinstance(given, Tensor) else given
    return as_tensor(given).to(kind) if hasattr(array, "dtype") and fits(array.dtype) else given


def _common(arguments: Sequence[Any]) -> np.dtype[Any]:
    return result_type([a.array if isinstance(a, Tensor) else a for a in arguments])


def _put_in(arguments: Sequence[Any], keywords: Mapping[str, Any]) -> Settled | None:
    """Return a call with the value that is put into the first tensor, in that tensor's dtype.

    The result has this dtype, too.
    """
    first = arguments[0] if arguments else None
    name = next((key for key in ("value", "source", "src") if key in keywords), None)
    if not isinstance(first, Tensor) or (name is None and len(arguments) < 2):
        return None
    value = arguments[-1] if name is None else keywords[name]
    kind = first.dtype
    number = isinstance(value, (bool, int, float))
    if kind.is_floating_point and (number or getattr(value, "dtype", kind) is kind):
        return None
    keywords = dict(keywords)
    if isinstance(keywords.get("alpha"), float) and not kind.is_floating_point:
        keywords["alpha"] = int(keywords["alpha"])  # it multiplies whole numbers
    if isinstance(value, Tensor) and not value.array.ndim:
        value = value.to(kind)
    elif number:
        value = np.asarray(value).astype(first.array.dtype).item()
    if name is not None:
        return Settled(tuple(arguments), {**keywords, name: value}, kind)
    given = [*arguments]
    given[-1] = value
    return Settled(tuple(given), keywords, kind)


# -- Arguments of calls as operands and static parameters of operations on tensors ---------------


def requires_grad(argument: Any) -> bool:
    """Return whether something, or a part of a list, would have a gradient now."""
    return state.recording and takes_in(argument)


class Host:
    """Tensors as the carriers of a call; Python numbers stay as they are, weak in their dtype.

    As in PyTorch, a list is no tensor, and a tensor that requires grad is no number: its gradient
    would be lost.
    """

    strict = True  # about flags and axes

    @staticmethod
    def value(argument: Any) -> Any:
        if isinstance(argument, Tensor):
            return argument
        if isinstance(argument, (bool, int, float)):
            return np.asarray(argument)[()]
        if requires_grad(argument):
            kind = type(argument).__name__
            raise TypeError(
                f"expected Tensor, but got {kind} of tensors that require grad; torch.stack makes "
                "a tensor of them"
            )
        return as_tensor(argument)

    @classmethod
    def operand(cls, argument: Any, of: binding.Use) -> Any:
        _refuse_no_tensor(argument, of)
        return cls.value(argument)

    @staticmethod
    def whole(argument: Any, of: binding.Use | None = None) -> Any:
        if of is not None:
            _refuse_no_tensor(argument, of, ())
        tensor = as_tensor(argument)
        if tensor.array.dtype.kind in FLOATS and not tensor.array.size:
            tensor = Tensor(tensor.array.astype(np.int64))
        if tensor.array.dtype.kind not in "iub":
            raise RuntimeError(
                f"expected index tensors to have type torch.long, not {tensor.dtype}"
            )
        return apply(to_int, [tensor], {})

    @classmethod
    def static(cls, argument: Any, of: binding.Use | None = None) -> Any:
        if of is not None and cls.strict:
            _check_kind(argument, of)
        if isinstance(argument, Tensor):
            if requires_grad(argument):
                name, key = ("", "") if of is None else of[1:]
                raise TypeError(
                    f"{name}(): argument '{key}' must be Number, not Tensor: it requires grad, "
                    "which would be lost here"
                )
            return argument.item() if not argument.array.ndim else argument.array
        if isinstance(argument, (tuple, list)):
            return (
                type(argument)(cls.static(part, of) for part in argument)
                if type(argument) in (tuple, list)
                else tuple(argument)
            )
        return argument.item() if isinstance(argument, np.generic) else argument

    @staticmethod
    def literal(parameter: str, argument: Any) -> Any:
        return argument

    @staticmethod
    def varies(argument: Any) -> bool:
        return False

    @staticmethod
    def is_axis(argument: Any) -> bool:
        return (
            argument is None
            or isinstance(argument, (tuple, list))
            or (isinstance(argument, int) and not isinstance(argument, bool))
        )

    @staticmethod
    def is_whole(argument: Any) -> bool:
        return bool(as_tensor(argument).array.dtype.kind in "iu")

    @staticmethod
    def call_op(op: Op, operands: list[Any], static: dict[str, Any]) -> Any:
        for operand in operands:
            if isinstance(operand, Tensor):
                return apply(op, operands, static)
        return apply(op, [o if o is None else _constant(o) for o in operands], static)


def _refuse_no_tensor(
    argument: Any, of: binding.Use, numbers: Any = (bool, int, float, np.generic)
) -> None:
    """Refuse what stands for no tensor: a number may in some functions, but never for places."""
    _, name, operand = of
    number = bare(name) in _WITH_NUMBERS and isinstance(argument, numbers)
    if not (number or isinstance(argument, Tensor)):
        raise argument_error(name, operand, argument)


def _check_kind(argument: Any, of: binding.Use) -> None:
    """Refuse a number for a flag, and several axes for one."""
    record, name, key = of
    if type(argument) is int and binding.kind_of(record, key) == "flag":
        raise argument_error(name, key, argument, "bool")
    if (
        key == "axis"
        and isinstance(argument, (tuple, list))
        and name.rpartition(".")[2] not in _OF_AXES
    ):
        raise argument_error(name, key, argument, "int")


def _constant(number: Any) -> Tensor:
    array = np.asarray(number)
    return Tensor(
        array.astype(dtypes.constant_float())
        if array.dtype.kind in FLOATS and not array.ndim
        else as_tensor(number).array
    )


class NumpyHost(Host):
    """Host for arguments as NumPy and SciPy take them.

    Lists are arrays, what stands for a number may have a gradient, and counts may be floats.
    """

    strict = False

    @classmethod
    def operand(cls, argument: Any, of: binding.Use) -> Any:
        return cls.value(argument)

    @staticmethod
    def whole(argument: Any, of: binding.Use | None = None) -> Any:
        tensor = as_tensor(argument)
        if tensor.array.dtype.kind in FLOATS and bool(
            np.all(tensor.array == np.rint(tensor.array))
        ):
            tensor = Tensor(tensor.array.astype(np.int64))
        return Host.whole(tensor)

    @staticmethod
    def value(argument: Any) -> Any:
        if requires_grad(argument):
            return _stack(argument, _common_kind(argument))
        kind = _common_kind(argument, None)
        if kind is None:
            return as_tensor(np.asarray(argument))
        made = Host.value(argument)
        floats_among_others = (
            isinstance(argument, (list, tuple))
            and kind.kind not in FLOATS
            and made.dtype.is_floating_point
        )
        return as_tensor(argument, dtypes.float64) if floats_among_others else made

    @staticmethod
    def varies(argument: Any) -> bool:
        return requires_grad(argument)


def _common_kind(parts: Any, without: Any = 0.0) -> Any:
    """Return the common dtype of the tensors and arrays in nested lists.

    If there are none, it is the dtype of a number, or None.
    """
    if isinstance(parts, (list, tuple)):
        kinds = [
            np.empty(0, kind) for part in parts if (kind := _common_kind(part, without)) is not None
        ]
        return result_type(kinds or [without]) if kinds or without is not None else None
    return parts.array.dtype if isinstance(parts, Tensor) else getattr(parts, "dtype", None)


def _stack(parts: Any, kind: Any) -> Any:
    """Nested lists with tensors in them as one tensor, through which their gradients pass."""
    if isinstance(parts, Tensor):
        return parts
    if requires_grad(parts):
        return apply(stack, [_stack(part, kind) for part in parts], {"axis": 0})
    return as_tensor(parts, None if hasattr(parts, "dtype") else of_numpy(kind))


HOST, NUMPY_HOST = Host(), NumpyHost()
