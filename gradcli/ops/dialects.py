"""What NumPy, PyTorch and SciPy call an operation, and where their arguments and defaults differ.

A signature lists parameters in the library's order. ``x|input`` gives alternative spellings of our parameter x,
``-out`` is accepted for the library's sake and ignored, ``axis=0`` overrides our default, and ``*arrays`` takes
one list. An operation without an entry has its own signature in every library.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from gradcli.ops.prefixes import MATH, NUMPY, SCIPY, TORCH
from gradcli.ops.spec import Op, find


@dataclass(frozen=True, eq=False)
class Parameter:
    name: str
    spellings: tuple[str, ...]
    ignored: bool = False


@dataclass(frozen=True, eq=False)
class Signature:
    """How one library calls one operation (or one of the composed functions of the language)."""

    target: str
    parameters: tuple[Parameter, ...]
    defaults: tuple[tuple[str, Any], ...] = ()


_SYNONYMS = {"axis": ("axis", "dim"), "keepdims": ("keepdims", "keepdim"), "x": ("x", "input", "a"), "axes": ("axes", "dims")}


def signature(target: str, text: str, **defaults: Any) -> Signature:
    parameters = []
    for word in text.replace(" ", "").split(","):
        ignored = word.startswith("-")
        names = tuple(word.lstrip("-").split("|"))
        spellings = names + tuple(s for s in _SYNONYMS.get(names[0], ()) if s not in names)
        parameters.append(Parameter(names[0], spellings, ignored))
    return Signature(target, tuple(parameters), tuple(defaults.items()))


def _own(op: Op) -> Signature:
    operands = ("*" + op.operands[0],) if op.variadic else op.operands
    return signature(op.name, ",".join((*operands, *op.static)))


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
    "reshape": signature("reshape", "x, shape|newshape, -order"),
    "round": signature("round_decimals", "x, decimals, -out"),
    "around": signature("round_decimals", "x, decimals, -out"),
    "trace": signature("trace", "x, offset"),
    "arctan2": signature("atan2", "y|x1|input, x|x2|other"),
    "atan2": signature("atan2", "y|x1|input, x|x2|other"),
    "polygamma": signature("polygamma", "n, x"),
    "eye": signature("eye", "n|N, m|M, k, -dtype, -requires_grad"),
    "identity": signature("eye", "n, -dtype"),
    "full": signature("full", "shape|size, value|fill_value, -dtype, -requires_grad"),
    "arange": signature("arange", "start, stop|end, step, -dtype"),
    "linspace": signature("linspace", "start, stop|end, num|steps, -endpoint, -dtype"),
    "array": signature("array", "x|object|data, -dtype, -requires_grad"),
    "ravel": signature("ravel", "x, -order"),
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
    "max": signature("torch_max", "x, other|dim|axis, keepdims"),
    "min": signature("torch_min", "x, other|dim|axis, keepdims"),
    "var": signature("torch_var", "x, axis, correction|unbiased, keepdims"),
    "std": signature("torch_std", "x, axis, correction|unbiased, keepdims"),
    "cumsum": signature("cumsum", "x, axis, -dtype"),
    "cumprod": signature("cumprod", "x, axis, -dtype"),
    "softmax": signature("softmax", "x, axis, -dtype"),
    "log_softmax": signature("log_softmax", "x, axis, -dtype"),
    "clamp": signature("clip", "x, low|min, high|max"),
    "transpose": signature("swapaxes", "x, axis1|dim0, axis2|dim1"),
    "permute": signature("transpose", "x, axes"),
    "norm": signature("norm", "x, ord|p, axis, keepdims, -out, -dtype"),
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
    "flatten": signature("ravel", "x"),
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

_TABLES = {NUMPY: _NUMPY, TORCH: {**_NUMPY, **_TORCH}, MATH: {**_NUMPY, **_MATH}, SCIPY: {**_NUMPY, **_SCIPY}}
_CALLED_OTHERWISE = frozenset({"einsum"})  # its static parameter comes first
_PAIRS = ("y|x2|other|exponent", "x|x1|input|self")


def lookup(name: str, library: str) -> Signature | None:
    """The signature of a name in a library, or None if it is no operation. Composed functions have theirs elsewhere."""
    found = _TABLES[library].get(name)
    if found is not None:
        return found
    try:
        op = find(name)
    except KeyError:
        return None
    if not op.public or op.name in _CALLED_OTHERWISE:
        return None
    if op.operands == ("x", "y"):
        return signature(op.name, f"{_PAIRS[1]}, {_PAIRS[0]}")
    return _own(op)


def names() -> list[str]:
    """Every name that some library's table adds."""
    return sorted({name for table in _TABLES.values() for name in table})
