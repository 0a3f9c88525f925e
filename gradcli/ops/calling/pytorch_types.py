"""Which arguments PyTorch's functions take: where a number may stand for a tensor, and of which dtypes tensors are refused."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from typing import Literal

from gradcli.ops.pytorch import FLOATS

_BOTH = ("x", "y")
_LAST = ("y",)

# Operands in whose place PyTorch takes Python's numbers, too, by the function's name there; elsewhere only tensors.
_NUMBERS: Mapping[str, tuple[str, ...]] = {
    **dict.fromkeys(("add", "sub", "mul", "div", "subtract", "multiply", "divide", "true_divide", "floor_divide", "pow"), _BOTH),
    "remainder": _BOTH,
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

# Kernels that there are for floats only, by the functions that call them.
_FLOATS_ONLY = {
    **dict.fromkeys(("eigh", "linalg.eigh", "eigvalsh", "linalg.eigvalsh"), "linalg_eigh_cpu"),
    "frac": "frac_cpu", "leaky_relu": "leaky_relu_cpu", **dict.fromkeys(("elu", "selu", "celu"), "elu_cpu"), "gelu": "GeluKernelImpl",
    "silu": "silu_cpu", "mish": "mish_cpu", "softplus": "softplus_cpu", "hardsigmoid": "hardsigmoid_cpu", "hardswish": "hardswish_cpu",
    "logsigmoid": "log_sigmoid_cpu", "hardshrink": "hardshrink_cpu", "softshrink": "softshrink_check",
    "softmax": "softmax_lastdim_kernel_impl", "log_softmax": "log_softmax_lastdim_kernel_impl", "hypot": "hypot_cpu",
    "logaddexp": "logaddexp_cpu", "logaddexp2": "logaddexp2_cpu", "lerp": "lerp_kernel_scalar", "mse_loss": "mse_cpu",
    "cholesky_inverse": "cholesky_inverse_out_cpu", "cholesky_solve": "cholesky_solve_cpu", "logcumsumexp": "logcumsumexp_out_cpu",
    "nextafter": "nextafter_cpu", **dict.fromkeys(("orgqr", "householder_product"), "orgqr_cpu"), "prelu": "prelu_cpu",
    "triangular_solve": "triangular_solve_cpu", "adaptive_avg_pool2d": "adaptive_avg_pool2d",
    "adaptive_avg_pool3d": "adaptive_avg_pool3d_cpu",
    "adaptive_max_pool2d": "adaptive_max_pool2d", "adaptive_max_pool3d": "adaptive_max_pool3d_cpu", "batch_norm": "batch_norm",
    "binary_cross_entropy": "binary_cross_entropy",
    **dict.fromkeys(("binary_cross_entropy_with_logits", "multilabel_soft_margin_loss"), "log_sigmoid_cpu"), "glu": "glu_cpu",
    "huber_loss": "huber_cpu", "local_response_norm": "avg_pool2d", "multi_margin_loss": "multi_margin_loss_cpu_kernel",
    "multilabel_margin_loss": "multilabel_margin_loss_forward_out_frame", "nll_loss": "nll_loss_out_frame", "rrelu": "leaky_relu_cpu",
    "smooth_l1_loss": "smooth_l1_cpu", "softmin": "softmax_lastdim_kernel_impl", "cross_entropy": "log_softmax_lastdim_kernel_impl",
    "lu": "lu_cpu", "max_pool1d": "max_pool1d_impl", "avg_pool1d": "avg_pool2d", "avg_pool2d": "avg_pool2d",
    "adaptive_max_pool1d": "adaptive_max_pool2d",
}  # fmt: skip

_ALSO_LONG = frozenset({"avg_pool1d", "avg_pool2d"})  # which have one of int64, too

# Kernels that there are none of for booleans.
_NO_BOOLEANS = {
    **dict.fromkeys(("median", "nanmedian"), "median_cpu"), **dict.fromkeys(("dot", "vdot", "tensordot"), "dot"), "matmul": "dot",
    "trace": "trace",
    "max_pool2d": "max_pool2d", "max_pool3d": "max_pool3d", "linalg.cross": "cross",
    "bincount": "bincount_cpu", "threshold": "threshold_cpu", "cross": "cross", "addcmul": "addcmul_cpu_out", "einsum": "bmm",
    **dict.fromkeys(("addmm", "mm", "inner", "chain_matmul", "linear"), "addmm_impl_cpu_"),
    **dict.fromkeys(("addmv", "mv"), "addmv_impl_cpu"),
    "kthvalue": "kthvalue_cpu", "matrix_power": "bmm", "gcd": "gcd_cpu", "lcm": "lcm_cpu",
    **dict.fromkeys(("searchsorted", "bucketize"), "searchsorted_out_cpu"), "softsign": "abs_cpu",
}  # fmt: skip

# What else is said of dtypes that are not taken: of whole numbers and booleans, and of booleans alone.
_NORM = "linalg.vector_norm: Expected a floating point or complex tensor as input. Got {}"
_ADDCDIV = (
    "Integer division with addcdiv is no longer supported, and in a future  release addcdiv will perform a true division of tensor1 and "
    "tensor2."
)
_WHOLE = {
    **dict.fromkeys(("norm", "normalize", "linalg.norm", "linalg.vector_norm", "vector_norm"), _NORM),
    **dict.fromkeys(("quantile", "nanquantile"), "quantile() input tensor must be either float or double dtype"),
    "cdist": "cdist only supports floating-point dtypes, X1 got: {}",
    "addcdiv": _ADDCDIV, "nanmean": "nanmean(): expected input to have floating point or complex dtype but got {}",
    "cosine_similarity": "expected common dtype to be floating point, yet common dtype is {}",
    "kl_div": "kl_div: Integral inputs not supported.",
    "dist": "norm(): input dtype should be either floating point or complex. Got {} instead.",
    "pdist": "pdist only supports floating-point dtypes",
    "frexp": "torch.frexp() only supports floating-point dtypes",
    "logdet": "logdet: Expected a floating point or complex tensor as input. Got {}",
    **{
        name: f"linalg.{name}: Expected a floating point or complex tensor as input. Got {{}}"
        for name in ("det", "slogdet", "qr", "svd", "inv", "matrix_exp", "cholesky")
    },
    **{f"linalg.{name}": f"linalg.{name}: Expected a floating point or complex tensor as input. Got {{}}" for name in ("qr", "svd")},
    "inverse": "linalg.inv: Expected a floating point or complex tensor as input. Got {}",
}  # fmt: skip
_BOOLEAN = {
    "argmax": "argmax(): does not support bool input", "argmin": "argmin(): does not support bool input",
    "topk": "topk does not support bool dtypes on CPU", "relu": "Boolean inputs not supported for relu",
    **dict.fromkeys(("relu6", "hardtanh"), "Bool inputs not supported for hardtanh"), "cov": "cov(): bool dtype is not supported for input",
    "isin": "Unsupported input type encountered for isin(): Bool", "positive": "The `+` operator, on a bool tensor is not supported.",
    "trapezoid": "trapezoid: received a bool input for `y`, but bool is not supported",
    "tanhshrink": "Subtraction, the `-` operator, with a bool tensor is not supported. If you are trying to invert a mask, use the `~` or "
    "`logical_not()` operator instead.",
}  # fmt: skip

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
# Masks, by the functions that select by them.
_MASKS = {
    "masked_select": "masked_select: expected BoolTensor for mask",
    "masked_fill": "masked_fill_ only supports boolean masks, but got mask with dtype {}",
    "masked_scatter": "masked_scatter_ only supports boolean masks, but got mask with dtype {}",
}
# What is said of tensors of several dtypes, by functions that do not promote them.
_ONE_DTYPE = {
    "heaviside": "heaviside is not yet implemented for tensors with different dtypes.",
    "lerp": "expected dtype {} for `end` but got dtype {}", "inner": "both inputs should have same dtype",
    "linear": "expected m1 and m2 to have the same dtype, but got: {} != {}",
    **dict.fromkeys(("cross", "linalg.cross"), "expected scalar type {2} but found {3}"),
    **dict.fromkeys(("cartesian_prod", "meshgrid"), "meshgrid expects all tensors to have the same dtype"),
}
# How many axes operands have, and what is said of those with others.
_RANKS: Mapping[str, tuple[Callable[[int], bool], str]] = {
    **{name: (lambda rank: rank >= 2, f"{name}: input tensor must have at least 2 dimensions") for name in ("tril", "triu")},
    **dict.fromkeys(("outer", "ger"), (lambda rank: rank == 1, "outer: Expected 1-D argument self, but got {}-D")),
    "rot90": (lambda rank: rank >= 2, "expected total dims >= 2, but got total dims = {}"),
    "meshgrid": (lambda rank: rank <= 1, "torch.meshgrid: Expected 0D or 1D tensor in the tensor list but got {} axes"),
}
# Functions of which PyTorch refuses more than what cannot be computed: its refusals are asked for before.
_STRICT = frozenset({
    "trapezoid", "trapz", "trace", "roll", "quantile", "nanquantile", "renorm", "margin_ranking_loss", "rrelu", "gaussian_nll_loss",
})  # fmt: skip
_SCALING = ("add", "sub", "subtract", "rsub")  # by a number, alpha
_BY_NAME = {
    *_STRICT,
    *_ONE_DTYPE, *_SCALING, *_FLOATS_ONLY, *_NO_BOOLEANS, *_WHOLE, *_BOOLEAN, *RESULTS, *_RANKS, *_MASKS, "div", "divide",
    "true_divide", "one_hot",
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
_SPELLED = {"x": "input", "y": "other"}


@cache
def is_particular(name: str) -> bool:
    """Whether a function is not defined for some dtypes, or has results of another one than its operations."""
    return name in _BY_NAME or name.removeprefix("Tensor.") in _BY_NAME


@cache
def concerns_floats(name: str) -> bool:
    """Whether that is so of tensors of one dtype of floats, too."""
    name = name.removeprefix("Tensor.")
    return name in _RANKS or name in _MASKS or name in _STRICT or RESULTS.get(name) in ("value", "source", "double")


def is_in_place_too(name: str) -> bool:
    """Whether PyTorch has a method in place, too, by a name with an underscore."""
    return name in _IN_PLACE_TOO


def is_method(name: str) -> bool:
    return name not in _NO_METHODS


def is_strict(name: str) -> bool:
    """Whether PyTorch refuses calls of a function that could be computed."""
    return name in _STRICT


def takes_one_dtype(name: str) -> bool:
    return name in _ONE_DTYPE


def takes_mask(name: str) -> bool:
    """Whether the second operand of a function is a mask."""
    return name in _MASKS


def no_mask(name: str, dtype: str) -> Exception | None:
    """PyTorch's error for a mask of a dtype, of this name in C."""
    said = _MASKS.get(name)
    return None if said is None or dtype == "bool" else RuntimeError(said.format(dtype))


def differing(name: str, *kinds: str) -> Exception | None:
    """PyTorch's error for two tensors of different dtypes, of these names in C, and in messages."""
    said = _ONE_DTYPE.get(name)
    return None if said is None else RuntimeError(said.format(*kinds))


def misplaced(name: str, rank: int) -> Exception | None:
    """PyTorch's error for a tensor with so many axes."""
    fits, said = _RANKS.get(name, (None, ""))
    return None if fits is None or fits(rank) else RuntimeError(said.format(rank))


def scales(name: str) -> bool:
    """Whether a function multiplies its second operand by a number, alpha."""
    return name in _SCALING


def refused(name: str, dtype: str) -> Exception | None:
    """PyTorch's error for a function of tensors of a dtype, by the name that its messages have for it: Long, Bool."""
    if dtype in FLOATS:
        return None
    name = name.removeprefix("Tensor.")
    if dtype == "Long" and name in _ALSO_LONG:
        return None
    kernel = _FLOATS_ONLY.get(name) or (_NO_BOOLEANS.get(name) if dtype == "Bool" else None)
    if kernel is not None:
        return NotImplementedError(f"\"{kernel}\" not implemented for '{dtype}'")
    said = _WHOLE.get(name) or (_BOOLEAN.get(name) if dtype == "Bool" else None)
    return None if said is None else RuntimeError(said.format(dtype))


def takes_number(name: str, operand: str) -> bool:
    """Whether a number may stand in the place of an operand of a function of PyTorch's."""
    function = name.rpartition(".")[2]
    return operand in _NUMBERS.get(function, ()) or function in _ELSEWHERE


def no_tensor(name: str, operand: str, place: int | None, argument: object) -> TypeError:
    """PyTorch's error for something else in the place of a tensor, which stands at that place, or in a list."""
    shown, function = _SPELLED.get(operand, operand), name.rpartition(".")[2]
    if place is None:
        return TypeError(f"{function}(): expected Tensor as element in argument 0, but got {type(argument).__name__}")
    return TypeError(f"{function}(): argument '{shown}' (position {place}) must be Tensor, not {type(argument).__name__}")
