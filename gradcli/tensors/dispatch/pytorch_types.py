"""Which arguments PyTorch's functions take: where a number may stand for a tensor, and of which dtypes tensors are refused."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any, Literal

import numpy as np

_BOTH = ("x", "y")
_LAST = ("y",)

# Functions that take two of Python's numbers, too.
_OF_NUMBERS = frozenset({"add", "sub", "mul", "div", "subtract", "multiply", "divide", "true_divide", "floor_divide"})

# Operands in whose place PyTorch takes Python's numbers, too, by the function's name there; elsewhere only tensors.
_NUMBERS: Mapping[str, tuple[str, ...]] = {
    **dict.fromkeys(_OF_NUMBERS, _BOTH),
    **dict.fromkeys(("pow", "remainder"), _BOTH),
    **dict.fromkeys(("float_power", "xlogy", "xlog1py", "bitwise_and", "bitwise_or", "bitwise_xor", "result_type", "where"), _BOTH),
    **dict.fromkeys(("eq", "ne", "lt", "le", "gt", "ge", "greater", "greater_equal", "less", "less_equal", "not_equal"), _LAST),
    **dict.fromkeys(("fmod", "copysign", "rsub", "bitwise_left_shift", "bitwise_right_shift"), _LAST),
    **dict.fromkeys(("clamp", "clip"), ("low", "high")),
    "clamp_min": ("min",), "clamp_max": ("max",),
    "lerp": ("weight",),
    **dict.fromkeys(("masked_fill", "index_fill", "fill"), ("value",)),
    "scatter": ("source",),
    "normal": ("mean", "std"),
    "quantile": ("q",), "nanquantile": ("q",),
    **dict.fromkeys(("addcmul", "addcdiv"), ("value",)),
    **dict.fromkeys(("trapezoid", "trapz", "cumulative_trapezoid"), ("dx",)),
    "gaussian_nll_loss": ("target", "var"), "multilabel_soft_margin_loss": ("target",), "gradient": ("f", "spacing"), "zeta": ("x", "q"),
}  # fmt: skip

# Functions that PyTorch does not have, whose operands may be numbers as in other libraries.
_ELSEWHERE = frozenset({
    "append", "average", "bernoulli_nll", "beta", "betainc", "betaincc", "betaln", "binom", "boxcox", "boxcox1p", "comb", "convolve",
    "correlate", "divmod", "huber", "hurwitz_zeta", "insert", "interp", "inv_boxcox", "inv_boxcox1p", "mod", "nanpercentile", "nanstd",
    "nanvar",
    "percentile", "perm", "poch", "polyadd", "polymul", "polysub", "polyval", "power", "powm1", "pseudo_huber", "rel_entr",
})  # fmt: skip

# Functions of floats only, and those that take whole numbers, too, but no booleans: NotImplementedError.
_FLOATS_ONLY = frozenset({
    "adaptive_avg_pool2d", "adaptive_avg_pool3d", "adaptive_max_pool1d", "adaptive_max_pool2d",
    "adaptive_max_pool3d", "avg_pool1d", "avg_pool2d", "batch_norm", "binary_cross_entropy",
    "binary_cross_entropy_with_logits", "celu", "cholesky_inverse", "cholesky_solve",
    "cross_entropy", "eigh", "eigvalsh", "elu", "frac", "gelu", "glu", "hardshrink",
    "hardsigmoid", "hardswish", "householder_product", "huber_loss", "hypot", "leaky_relu",
    "lerp", "linalg.eigh", "linalg.eigvalsh", "local_response_norm", "log_softmax", "logaddexp",
    "logaddexp2", "logcumsumexp", "logsigmoid", "lu", "max_pool1d", "mish", "mse_loss",
    "multi_margin_loss", "multilabel_margin_loss", "multilabel_soft_margin_loss", "nextafter",
    "nll_loss", "orgqr", "prelu", "rrelu", "selu", "silu", "smooth_l1_loss", "softmax", "softmin",
    "softplus", "softshrink", "triangular_solve",
})  # fmt: skip
_NO_BOOLEANS = frozenset({
    "addcmul", "addmm", "addmv", "bincount", "bucketize", "chain_matmul", "cross", "dot",
    "einsum", "gcd", "inner", "kthvalue", "lcm", "linalg.cross", "linear", "matmul",
    "matrix_power", "max_pool2d", "max_pool3d", "median", "mm", "mv", "nanmedian", "searchsorted",
    "softsign", "tensordot", "threshold", "trace", "vdot",
})  # fmt: skip
_ALSO_LONG = ("avg_pool1d", "avg_pool2d")  # which take int64, too
# The same two of functions that raise RuntimeError.
_REFUSE_WHOLE = frozenset({
    "addcdiv", "cdist", "cholesky", "cosine_similarity", "det", "dist", "frexp", "inv", "inverse",
    "kl_div", "linalg.norm", "linalg.qr", "linalg.svd", "linalg.vector_norm", "logdet",
    "matrix_exp", "nanmean", "nanquantile", "norm", "normalize", "pdist", "qr", "quantile",
    "slogdet", "svd", "vector_norm",
})  # fmt: skip
_REFUSE_BOOLEANS = frozenset({
    "argmax", "argmin", "cov", "hardtanh", "isin", "positive", "relu", "relu6", "tanhshrink",
    "topk", "trapezoid",
})  # fmt: skip

# Numbers that are whole where whole numbers are multiplied with them.
TRUNCATED: Mapping[str, tuple[str, ...]] = {
    "addcmul": ("value",), **dict.fromkeys(("addmm", "addmv", "addbmm", "baddbmm"), ("alpha", "beta")),
}  # fmt: skip
# Functions made of operations on floats whose results are whole numbers again: of the first tensor's dtype, of the operands' common one,
# or long. Elsewhere, what is put into a tensor takes its dtype, or the operands are floats from the
# beginning, doubles, or of their common dtype.
RESULTS: Mapping[str, Literal["first", "common", "long", "value", "source", "float", "double", "promoted"]] = {
    **dict.fromkeys((
        "diag", "diagflat", "pad", "hardtanh", "relu6", "nan_to_num", "diag_embed", "scatter_add", "dropout",
        "dropout1d",
        "dropout2d", "dropout3d", "threshold", "constant_pad_nd", "max_pool2d", "max_pool3d", *_ALSO_LONG,
    ), "first"),
    **dict.fromkeys(("heaviside", "cross", "linalg.cross", "block_diag", *TRUNCATED), "common"),
    **dict.fromkeys(("nansum", "vander", "linalg.vander"), "long"),
    **dict.fromkeys(("masked_fill", "index_fill", "scatter", "index_add", "fill"), "value"),
    **dict.fromkeys(("cov", "corrcoef", "trapezoid", "trapz"), "float"),
    **dict.fromkeys(("diagonal_scatter", "select_scatter", "slice_scatter"), "source"),
    "float_power": "double",
    **dict.fromkeys(("mse_loss", "smooth_l1_loss", "huber_loss", "soft_margin_loss"), "promoted"),
}  # fmt: skip
# Functions whose second operand is a mask, and those whose tensors are of one dtype.
_MASKS = frozenset({"masked_select", "masked_fill", "masked_scatter"})
_ONE_DTYPE = frozenset({
    "heaviside", "lerp", "inner", "linear", "cross", "linalg.cross", "cartesian_prod", "meshgrid",
})  # fmt: skip
# The fewest and the most axes that operands may have.
_RANKS: Mapping[str, tuple[int, int]] = {
    **dict.fromkeys(("tril", "triu", "rot90"), (2, 64)), **dict.fromkeys(("outer", "ger"), (1, 1)), "meshgrid": (0, 1),
    "trace": (2, 2),
}  # fmt: skip
_SCALING = ("add", "sub", "subtract", "rsub")  # by a number, alpha
_BY_NAME = {
    *_ONE_DTYPE, *_SCALING, *_FLOATS_ONLY, *_NO_BOOLEANS, *_REFUSE_WHOLE, *_REFUSE_BOOLEANS, *RESULTS, *_RANKS, *_MASKS,
    "div", "divide", "true_divide", "one_hot",
}  # fmt: skip
# The methods that PyTorch has in place, too; but those that are computed otherwise there.
_IN_PLACE_TOO = frozenset({
    "abs", "absolute", "acos", "acosh", "add", "addbmm", "addcdiv", "addcmul", "addmm", "addmv", "addr", "arccos", "arccosh", "arcsin",
    "arcsinh", "arctan2", "arctan", "arctanh", "asin", "asinh", "atan2", "atan", "atanh", "baddbmm", "bitwise_and",
    "bitwise_left_shift", "bitwise_not", "bitwise_or", "bitwise_right_shift", "bitwise_xor", "ceil", "clamp", "clamp_max", "clamp_min",
    "clip", "conj_physical", "copysign", "cos", "cosh", "cumprod", "cumsum", "deg2rad", "detach", "digamma", "div", "divide", "eq",
    "erf", "erfc", "erfinv", "exp2", "exp", "expm1", "fix", "floor", "floor_divide", "fmod", "frac", "gcd", "ge",
    "greater", "greater_equal", "gt", "heaviside", "hypot", "i0", "igamma", "igammac", "index_add", "index_copy", "index_fill",
    "index_reduce", "lcm", "ldexp", "le", "lerp", "less", "less_equal", "lgamma", "log10", "log1p", "log2", "log", "logical_and",
    "logical_not", "logical_or", "logical_xor", "logit", "lt", "masked_fill", "masked_scatter", "mul", "multiply", "mvlgamma",
    "nan_to_num", "ne", "neg", "negative", "nextafter", "not_equal", "polygamma", "pow", "put", "rad2deg", "reciprocal", "relu",
    "remainder", "renorm", "rsqrt", "round", "scatter", "scatter_add", "scatter_reduce", "sgn", "sigmoid", "sign", "sin", "sinc",
    "sinh", "sqrt", "square", "sub", "subtract", "tan", "tanh", "tril", "triu", "true_divide", "trunc", "xlogy",
})  # fmt: skip
# Functions that are no methods in PyTorch.
_NO_METHODS = ("isin", "rsub")
_SPELLED = {"x": "input", "y": "other", "arrays": "tensors"}


def bare(name: str) -> str:
    """Return the name of a function, or of a method, that has no meaning of its own in a part of PyTorch."""
    part, _, own = name.partition(".")
    return own if part in ("Tensor", "torch", "special") else name


@cache
def is_particular(name: str) -> bool:
    """Tell whether a function is not defined for some dtypes, or has results of another one than its operations."""
    return name in _BY_NAME or bare(name) in _BY_NAME


@cache
def concerns_floats(name: str) -> bool:
    """Tell whether that is so of tensors of one dtype of floats, too."""
    name = bare(name)
    return name in _RANKS or name in _MASKS or RESULTS.get(name) in ("value", "source", "double")


def is_in_place_too(name: str) -> bool:
    """Tell whether PyTorch has a method in place, too, by a name with an underscore."""
    return name in _IN_PLACE_TOO


def is_method(name: str) -> bool:
    return name not in _NO_METHODS


def takes_one_dtype(name: str) -> bool:
    return name in _ONE_DTYPE


def takes_mask(name: str) -> bool:
    """Tell whether the second operand of a function is a mask."""
    return name in _MASKS


def takes_rank(name: str, rank: int) -> bool:
    """Tell whether a function takes tensors of so many axes."""
    fewest, most = _RANKS.get(name, (0, 64))
    return fewest <= rank <= most


def scales(name: str) -> bool:
    """Tell whether a function multiplies its second operand by a number, alpha."""
    return name in _SCALING


def refused(name: str, dtype: np.dtype[Any]) -> Exception | None:
    """The error for a function of whole numbers or booleans."""
    said = f"{name} takes no tensors of {dtype.name}; x.float() makes floats of them"
    boolean = dtype.kind == "b"
    if name in _FLOATS_ONLY or (boolean and name in _NO_BOOLEANS):
        return None if dtype.name == "int64" and name in _ALSO_LONG else NotImplementedError(said)
    return RuntimeError(said) if name in _REFUSE_WHOLE or (boolean and name in _REFUSE_BOOLEANS) else None


def takes_number(name: str, operand: str) -> bool:
    """Tell whether a number may stand in the place of an operand of a function of PyTorch's."""
    function = name.rpartition(".")[2]
    return operand in _NUMBERS.get(function, ()) or function in _ELSEWHERE


def is_of_numbers(name: str) -> bool:
    """Tell whether a function of PyTorch's takes numbers alone, without any tensor."""
    return name in _OF_NUMBERS or not takes_number(name, "y")


def no_tensor(name: str, operand: str, argument: object) -> TypeError:
    """The error for something else in the place of a tensor."""
    shown, function = _SPELLED.get(operand, operand), name.rpartition(".")[2]
    return TypeError(f"{function}(): argument '{shown}' must be Tensor, not {type(argument).__name__}")
