"""What NumPy, PyTorch and SciPy call the operations at the heart of the catalogue, and where their arguments differ.

Other families declare theirs at the end of their own files. A function without an entry has the signature of its
own record in every library.
"""

from __future__ import annotations

from gradcli.ops.prefixes import MATH, NUMPY, SCIPY, TORCH
from gradcli.ops.signatures import Signature, declare, declared, declared_elsewhere, declared_names, own_signature, signature
from gradcli.ops.spec import load, named

_REDUCED = "x, axis, -dtype, -out, keepdims, -initial, -where"
_SPREAD = "x, axis, -dtype, -out, ddof|correction, keepdims, -where, -mean"

_NUMPY = {
    "sum": signature("sum", _REDUCED),
    "prod": signature("prod", _REDUCED),
    "mean": signature("mean", _REDUCED),
    "var": signature("var", _SPREAD),
    "std": signature("std", _SPREAD),
    **{name: signature(name, "x, axis, -out, keepdims, -initial, -where") for name in ("max", "min", "argmax", "argmin")},
    "amax": signature("max", "x, axis, -out, keepdims, -initial, -where"),
    "amin": signature("min", "x, axis, -out, keepdims, -initial, -where"),
    "cumsum": signature("cumsum", "x, axis, -dtype, -out"),
    "cumprod": signature("cumprod", "x, axis, -dtype, -out"),
    "logsumexp": signature("logsumexp", "x, axis, -b, keepdims, -return_sign"),
    "clip": signature("clip", "x, low|a_min|min, high|a_max|max, -out"),
    "clamp": signature("clip", "x, low|min, high|max"),
    "norm": signature("norm", "x, ord|p, axis, keepdims"),
    "reshape": signature("reshape", "x, shape|newshape+, -order"),
    "transpose": signature("transpose", "x, axes+"),
    "round": signature("round_decimals", "x, decimals, -out"),
    "around": signature("round_decimals", "x, decimals, -out"),
    "trace": signature("trace", "x, offset, axis1, axis2"),
    "arctan2": signature("atan2", "y|x1|input, x|x2|other"),
    "atan2": signature("atan2", "y|x1|input, x|x2|other"),
    "polygamma": signature("polygamma", "n, x"),
    "eye": signature("eye", "n|N, m|M, k, -dtype, -requires_grad"),
    "identity": signature("eye", "n, -dtype"),
    "full": signature("full", "shape|size, value|fill_value, -dtype, -requires_grad"),
    "arange": signature("arange", "start, stop|end, step, -dtype"),
    "linspace": signature("linspace", "start, stop|end, num|steps, -endpoint, -dtype"),
    "array": signature("array", "x|object|data, -dtype, -requires_grad"),
    "hypot": signature("hypot", "x|x1|input, y|x2|other"),
}
for _name in ("zeros_like", "ones_like"):
    _NUMPY[_name] = signature(_name, "x, -dtype, -requires_grad")
for _name in ("asarray", "tensor", "as_tensor"):
    _NUMPY[_name] = _NUMPY["array"]

_TORCH = {
    **{name: signature(name, "x, axis, keepdims, -dtype") for name in ("sum", "mean", "prod", "argmax", "argmin", "logsumexp")},
    "amax": signature("max", "x, axis, keepdims"),
    "amin": signature("min", "x, axis, keepdims"),
    "cumsum": signature("cumsum", "x, axis, -dtype"),
    "cumprod": signature("cumprod", "x, axis, -dtype"),
    "softmax": signature("softmax", "x, axis, -dtype"),
    "log_softmax": signature("log_softmax", "x, axis, -dtype"),
    "clamp": signature("clip", "x, low|min, high|max"),
    "transpose": signature("swapaxes", "x, axis1|dim0, axis2|dim1"),
    "vector_norm": signature("norm", "x, ord, axis, keepdims, -dtype"),
    "softplus": signature("softplus", "x, beta, threshold", threshold=20),
    "binary_cross_entropy_with_logits": signature(
        "binary_cross_entropy_with_logits", "input, target, weight, -size_average, -reduce, reduction, pos_weight"
    ),
    "round": signature("round_decimals", "x, decimals"),
    "add": signature("torch_add", "x, y|other, alpha"),
    "sub": signature("torch_sub", "x, y|other, alpha"),
    "div": signature("torch_div", "x, y|other, rounding_mode"),
    "relu": signature("relu", "x, -inplace"),
}
_TORCH["subtract"], _TORCH["divide"], _TORCH["true_divide"] = _TORCH["sub"], _TORCH["div"], _TORCH["div"]

for _name in ("mm", "mv", "bmm"):
    _TORCH[_name] = signature("matmul", "x|input|self|mat1, y|mat2|vec|other")

_MATH = {
    "remainder": signature("ieee_remainder", "x, y"),
    "log": signature("math_log", "x, base"),
    "fabs": signature("abs", "x"),
    "pow": signature("pow", "x, y"),
}
_SCIPY = {"softmax": signature("softmax", "x, axis"), "log_softmax": signature("log_softmax", "x, axis")}

declare(NUMPY, **_NUMPY)
declare(TORCH, **_TORCH)
declare(MATH, **_MATH)
declare(SCIPY, **_SCIPY)

_CALLED_OTHERWISE = frozenset({"einsum"})  # its static parameter comes first
_PAIRS = ("y|x2|other|exponent", "x|x1|input|self")


def lookup(name: str, library: str) -> Signature | None:
    """The signature of a name in a library, or None if it is no function there. Those of the language alone are elsewhere."""
    if library != NUMPY:
        load()  # so that every family has said what libraries call its functions
    found = declared(name, library)
    if found is not None:
        return found
    try:
        record = named(name)
    except KeyError:
        return declared(name, library) or declared_elsewhere(name)
    found = declared(name, library)
    if found is not None:
        return found
    if not record.public or record.name in _CALLED_OTHERWISE:
        return None
    if record.operands == ("x", "y") and not record.static:
        return signature(record.name, f"{_PAIRS[1]}, {_PAIRS[0]}")
    return own_signature(record)


def names() -> list[str]:
    """Every name that some library's table adds."""
    return sorted(declared_names())
