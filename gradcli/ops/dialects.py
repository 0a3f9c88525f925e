"""What NumPy, PyTorch and SciPy call the operations at the heart of the catalogue, and where their arguments differ.

Other families declare theirs at the end of their own files. A function without an entry has the signature of its
own record in every library.
"""

from __future__ import annotations

from functools import cache

from gradcli.ops.prefixes import NUMPY, SCIPY, TORCH
from gradcli.ops.registry import load, named
from gradcli.ops.signatures import Signature, declare, declared, declared_elsewhere, declared_names, own_signature, signature

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
    "logsumexp": signature("logsumexp", "x, axis, -b, keepdims, -return_sign"),
    "norm": signature("numpy_norm", "x, ord|p, axis, keepdims"),
    "reshape": signature("reshape", "x, shape|newshape+, -order"),
    "transpose": signature("transpose", "x, axes+"),
    "eye": signature("eye", "n|N, m|M, k, -dtype, -requires_grad"),
    "identity": signature("eye", "n, -dtype"),
    "full": signature("full", "shape|size, value|fill_value, -dtype, -requires_grad"),
    "arange": signature("arange", "start, stop|end, step, -dtype"),
    "linspace": signature("linspace", "start, stop|end, num|steps, -endpoint, -dtype"),
    "array": signature("array", "x|object|data, -dtype, -requires_grad"),
}
for _name in ("zeros_like", "ones_like"):
    _NUMPY[_name] = signature(_name, "x, -dtype, -requires_grad")
for _name in ("asarray", "tensor", "as_tensor"):
    _NUMPY[_name] = _NUMPY["array"]

_TORCH = {
    **{name: signature(name, "x, axis, keepdims, -dtype") for name in ("sum", "mean", "prod", "argmax", "argmin", "logsumexp")},
    "amax": signature("max", "x, axis, keepdims"),
    "amin": signature("min", "x, axis, keepdims"),
    "softplus": signature("softplus", "x, beta, threshold", threshold=20),
}

_SCIPY = {"softmax": signature("softmax", "x, axis"), "log_softmax": signature("log_softmax", "x, axis")}

declare(NUMPY, **_NUMPY)
declare(TORCH, **_TORCH)
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
        return _of_a_pair(record.name)
    return own_signature(record)


@cache
def _of_a_pair(name: str) -> Signature:
    return signature(name, f"{_PAIRS[1]}, {_PAIRS[0]}")


def qualified(name: str, path: str, library: str) -> str:
    """The name under which a function is declared that means something else in a part of a library: linalg.cross."""
    load()
    last = ".".join(path.split(".")[-2:])
    return last if declared(last, library) is not None else name


def names() -> list[str]:
    """Every name that some library's table adds."""
    return sorted(declared_names())
