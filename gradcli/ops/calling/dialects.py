"""What NumPy, PyTorch and SciPy call the operations at the heart of the catalogue, and where their arguments differ.

Other families declare theirs at the end of their own files. A function without an entry has the signature of its
own record in every library.
"""

from __future__ import annotations

from functools import cache

from gradcli.ops.calling.prefixes import JAX, NUMPY, SCIPY, TORCH
from gradcli.ops.calling.signatures import (
    Signature,
    declare,
    declared,
    declared_elsewhere,
    declared_names,
    declared_parts,
    own_signature,
    signature,
    with_values,
)
from gradcli.ops.registry import load, named
from gradcli.ops.spec import REQUIRED

_REDUCED = "x, axis, -dtype, -out, keepdims, initial, where, -promote_integers"
_AVERAGED = "x, axis, -dtype, -out, keepdims, where"
_SPREAD = "x, axis, -dtype, -out, ddof|correction, keepdims, where, mean"
_EXTREME = "x, axis, -out, keepdims, initial, where"
_PLACED = "-device, -requires_grad, -layout, -pin_memory, -out, -memory_order|order"
_SHAPED = f"shape|size+, dtype, {_PLACED}"
_LIKE = f"dtype, -memory_order|order, -subok, -memory_format, {_PLACED.replace(', -memory_order|order', '')}"

_NUMPY = {
    "sum": signature("sum", _REDUCED),
    "prod": signature("prod", _REDUCED),
    "mean": signature("mean", _AVERAGED),
    "var": signature("var", _SPREAD),
    "std": signature("std", _SPREAD),
    **{name: signature(name, _EXTREME) for name in ("max", "min")},
    **{name: signature(name, "x, axis, -out, keepdims") for name in ("argmax", "argmin")},
    "amax": signature("max", _EXTREME),
    "amin": signature("min", _EXTREME),
    "logsumexp": signature("logsumexp", "x, axis, b, keepdims, return_sign"),
    "norm": signature("numpy_norm", "x, ord|p, axis, keepdims"),
    "reshape": signature("reshape", "x, shape|newshape+, -order"),
    "transpose": signature("transpose", "x, axes+"),
    **{name: signature(name, _SHAPED) for name in ("zeros", "ones", "rand", "randn")},
    "eye": signature("eye", f"n|N, m|M, k, dtype, {_PLACED}"),
    "identity": signature("identity", "n, dtype"),
    "full": signature("full", f"shape|size, value|fill_value, dtype, {_PLACED}"),
    **{name: signature(name, f"x, {_LIKE}") for name in ("zeros_like", "ones_like")},
    "full_like": signature("full_like", f"x, value|fill_value, {_LIKE}"),
    "arange": signature("arange", f"start, stop|end, step, dtype, {_PLACED}"),
    "linspace": signature("linspace", f"start, stop|end, num|steps, endpoint, retstep, dtype, axis, {_PLACED}"),
    "logspace": signature("logspace", f"start, stop|end, num|steps, endpoint, base, dtype, axis, {_PLACED}"),
    "geomspace": signature("geomspace", "start, stop, num, endpoint, dtype, axis"),
    "array": signature("array", f"x|object|data, dtype, -copy, -subok, {_PLACED}"),
    "einsum": signature("einsum", "***arguments, -optimize, -out, -dtype, -casting"),
    "item": signature("item", "x"),
    "cho_factor": signature("cho_factor", "x|a, lower, -overwrite_a, -check_finite"),
    "cho_solve": signature("cho_solve", "c_and_lower, y|b, -overwrite_b, -check_finite"),
    "len": signature("len", "x"),
    **{name: signature(name, "x, -memory_format") for name in ("contiguous", "double", "float")},
}
for _name in ("asarray", "tensor", "as_tensor"):
    _NUMPY[_name] = _NUMPY["array"]

_TORCH = {
    **{name: signature(name, "x, axis, keepdims, -dtype, -out") for name in ("sum", "mean", "prod")},
    **{name: signature(name, "x, axis, keepdims, -out") for name in ("argmax", "argmin")},
    "logsumexp": signature("logsumexp", "x, axis, keepdims, -out", axis=REQUIRED),
    "amax": signature("max", "x, axis, keepdims, -out"),
    "amin": signature("min", "x, axis, keepdims, -out"),
    "softplus": signature("softplus", "x, beta, threshold", threshold=20),
    "linspace": signature("linspace", f"start, stop|end, num|steps, dtype, {_PLACED}"),
    "logspace": signature("logspace", f"start, stop|end, num|steps, base, dtype, {_PLACED}"),
}

_SCIPY = {"softmax": signature("softmax", "x, axis"), "log_softmax": signature("log_softmax", "x, axis")}

# Beside what its parts take from other libraries (FOLLOWS), and what is NumPy's.
_JAX = {
    "nn.gelu": with_values(signature("gelu", "x, approximate", approximate="tanh"), approximate={True: "tanh", False: "none"}),
    **{f"nn.{name}": signature(name, "x, axis", axis=-1) for name in ("softmax", "log_softmax")},
    "lax.select": signature("where", "condition|pred, x|on_true, y|on_false"),
}

declare(NUMPY, **_NUMPY)
declare(TORCH, **_TORCH)
declare(SCIPY, **_SCIPY)
declare(JAX, **_JAX)

CALLED_OTHERWISE = frozenset({"einsum"})  # its static parameter comes first
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
    if not record.public or record.name in CALLED_OTHERWISE:
        return None
    if record.operands == ("x", "y") and not record.static:
        return _of_a_pair(record.name)
    if record.optional and REQUIRED in record.static.values():  # in our order, one needs a keyword, or all that may be left out
        return declared_elsewhere(name) or own_signature(record)
    return own_signature(record)


@cache
def _of_a_pair(name: str) -> Signature:
    return signature(name, f"{_PAIRS[1]}, {_PAIRS[0]}")


def qualified(name: str, path: str, library: str) -> str:
    """The name under which a function is declared that means something else in a part of a library: linalg.cross."""
    load()
    last = ".".join(path.split(".")[-2:])
    return last if declared(last, library) is not None else name


def is_part(name: str, library: str) -> bool:
    """Whether a name is a part of a library, for which functions were declared: norm.logpdf is of SciPy's norm."""
    load()
    return name in declared_parts(library)


def names() -> list[str]:
    """Every name that some library's table adds."""
    return sorted(declared_names())
