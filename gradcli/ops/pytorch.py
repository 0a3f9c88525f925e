"""The treatment of an operation on tensors by PyTorch.

It covers the name of the node, the values that it keeps, and the arguments that it refuses, with
the words of the refusal.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from functools import cache, lru_cache
from types import MappingProxyType
from typing import Any

import numpy as np

from gradcli.ops.spec import Composite, Op
from gradcli.ops.text import FORM
from gradcli.texts import words

# -- dtypes that are refused -----------------------------------------------------------------------


_WHOLE = "biu"  # kinds of NumPy's dtypes of booleans and whole numbers


def only_floats(dtype: np.dtype[Any], operands: Sequence[Any]) -> Exception | None:
    """Refuse whole numbers, of which the result would be none."""
    return (
        RuntimeError(f"the dtype must be one of floats, not {dtype.name}")
        if dtype.kind in _WHOLE
        else None
    )


def no_booleans(dtype: np.dtype[Any], operands: Sequence[Any]) -> Exception | None:
    return NotImplementedError("not implemented for booleans") if dtype.kind == "b" else None


def no_differences_of_booleans(dtype: np.dtype[Any], operands: Sequence[Any]) -> Exception | None:
    booleans = (isinstance(x, bool) or getattr(x, "dtype", None) == np.bool_ for x in operands)
    return RuntimeError("booleans are not subtracted; use ^ or ~") if any(booleans) else None


def no_power(dtype: np.dtype[Any], operands: Sequence[Any]) -> Exception | None:
    """Refuse powers of whole numbers that are none; of booleans, those by a tensor of them."""
    exponent = operands[1]
    if dtype.kind not in _WHOLE:
        return None
    if isinstance(exponent, (int, float)) and exponent < 0:
        return RuntimeError("whole numbers have no negative powers; x.float() makes floats of them")
    return no_booleans(dtype, operands) if isinstance(exponent, np.ndarray) else None


def no_division_by_zero(dtype: np.dtype[Any], operands: Sequence[Any]) -> Exception | None:
    """Refuse divisions of whole numbers by 0, and those of booleans."""
    if dtype.kind in _WHOLE and not np.all(operands[1]):
        return RuntimeError("ZeroDivisionError")
    return no_booleans(dtype, operands)


# -- what nodes are called -------------------------------------------------------------------------


def node_of_matmul(arrays: Sequence[Any], static: Mapping[str, Any]) -> str:
    ranks = tuple([a.ndim for a in arrays])
    return _PRODUCTS.get(ranks, "Bmm")


_PRODUCTS = {(2, 2): "Mm", (2, 1): "Mv", (1, 1): "Dot"}


def node_of_getitem(arrays: Sequence[Any], static: Mapping[str, Any]) -> str:
    if any(hasattr(part, "array") for part in static["index"]):
        return "Index"
    return "Select" if any(isinstance(part, int) for part in static["index"]) else "Slice"


# -- What PyTorch's graph records of an operation ------------------------------------------------


_STARTS = re.compile("(?:^|_|(?<=[0-9]))([a-z])")


@cache
def naming_rule(record: Op | Composite) -> str | Callable[[Sequence[Any], Mapping[str, Any]], str]:
    """PyTorch's name of the nodes of an operation or a function, without its ending, or how it
    follows from operands and parameters.
    """
    return record.backward or _STARTS.sub(lambda start: start[1].upper(), FORM.sub("", record.name))


def node_name(
    record: Op | Composite,
    operands: Sequence[Any] = (),
    static: Mapping[str, Any] = MappingProxyType({}),
) -> str:
    """``AddBackward0``: the operands are arrays and numbers."""
    name = naming_rule(record)
    return f"{name(operands, static) if callable(name) else name}Backward0"


@lru_cache(4096)
def kept_places(op: Op, operands: int, wanted: int) -> tuple[list[int], list[int]]:
    """Return what is kept when derivatives by the wanted operands will be taken, and what is not: 0
    is the result, 1 the first operand.

    wanted  a bit for each operand, that of the first one the highest
    """
    names = op.operands * operands if op.variadic else op.operands
    read: set[str] = set()
    if isinstance(op.saves, Mapping):
        for place, name in enumerate(reversed(names)):
            read |= set(op.saves.get(name, ())) if wanted >> place & 1 else set()
    else:
        read = set(op.saves)
    keeps = [place for place, name in enumerate(("out", *names)) if name in read]
    return keeps, [place for place in range(operands + 1) if place not in keeps]


# -- names ----------------------------------------------------------------------------------------

_ABSENT = words(
    "acot acoth acsc acsch adjugate airy append arccot arccoth arccsc arccsch arcsec arcsech "
    "array_split asec asech average bernoulli_nll besseli besselj besselk bessely beta betainc "
    "betaln binom boxcox broadcast_arrays cbrt Chi Ci comb compress conjugate convolve correlate "
    "cot coth csc csch dawsn degrees divmod E1 ediff1d Ei ellipe ellipk erfcinv erfi eval_chebyt "
    "eval_chebyu eval_hermite eval_hermitenorm eval_laguerre eval_legendre exp1 exp10 expand_dims "
    "expi expm expn exprel extract fabs factorial fresnel gamma huber hurwitz_zeta hyp1f1 hyp2f1 "
    "interp iv j0 j1 jn jv k0 k1 kn kv lambertw li ln log_expit log_sigmoid loggamma "
    "matrix_transpose matvec mod modf nanpercentile ndarray.compress owens_t percentile perm "
    "permute_dims poch polyval power pseudo_huber ptp radians rel_entr rgamma rint sec sech Shi "
    "shichi Si sici spence spherical_jn stop_gradient struve struveh swish take_along "
    "take_along_axis unstack vecmat voigt_profile y0 y1 yn yv"
)


def in_pytorch(name: str) -> bool:
    """Return whether PyTorch has a public function of the catalogue, in any of its modules."""
    return name not in _ABSENT
