"""Operations about the program rather than about numbers."""

from __future__ import annotations

from typing import Any

import numpy as np

from gradcli.errors import EvaluationError
from gradcli.ops.carrying import steady
from gradcli.ops.constants import number_of
from gradcli.ops.extended import LONG_DOUBLE, Entrywise
from gradcli.ops.registry import flat, function, piecewise, structural
from gradcli.ops.spec import Op


def _same(x: Any, **_: Any) -> Any:
    return x


def _back(cotangent: Any, out: Any, x: Any, **_: Any) -> Any:
    return cotangent


_IDENTITY: dict[str, Any] = {
    "vjp": _back,
    "shape": _same,
    "ulps": 0,
    "algebra": "identity",
    "public": False,
}
_NAMED: dict[str, Any] = {
    **_IDENTITY,
    "parts": None,
    "written": "{x}",
    "simpler": lambda out, x, **_: x,
}


@function(**_NAMED)
def alias(x: Any, *, name: str = "", serial: int = 0) -> Any:
    """x under a name and an identity of its own, so that something can be differentiated with
    respect to it.
    """
    return x


@function(**_NAMED, dtype="float")
def derivative(x: Any, *, of: Any = None) -> Any:
    """A derivative that the engine's rules have expanded, together with its definition."""
    return x


detach: Op = structural(
    "detach stop_gradient", "x", _same, "arrays.same", shape=_same, algebra="identity", dtype="same", ulps=0,
    simpler=lambda out, x: out, memory="alias",
    doc="x as a constant: no gradient flows through it. >>> x*detach(x)",
)  # fmt: skip
output = structural(
    "output", "x", lambda x, place: x[place], lambda m, x, place: x[place],
    vjp=None, shape=lambda shapes, place: shapes[place], static={"place": 0}, public=False, ulps=0,
    written="{x}[{place}]",
    doc="One result of an operation that has several.",
    numpy="{0:base}[{place}]",
)  # fmt: skip


def _whole(out: Any, x: Any) -> Any:
    number = number_of(x)
    return int(number) if isinstance(number, bool) else None


to_float = piecewise(
    "to_float", "x", lambda x: np.asarray(x, np.float64)[()], lambda m, x: x if not isinstance(x, bool) else m.one * int(x),
    lambda out, x: 1, public=False, ulps=0, dtype="number",
    extended=Entrywise(value=lambda x: np.asarray(x, LONG_DOUBLE)),
    doc="A boolean or integer as a number.", backward="ToCopy",
    written="{x}", simpler=_whole,
    carries=steady,
    c="((real)({0}))",
    numpy="np.asarray({0}, np.float64)",
    torch="_tensor({0})",
)  # fmt: skip


def with_values(x: Any, values: Any) -> Any:
    """Other values with the derivatives of x."""
    return x + detach(values - x)


def _clone(x: Any) -> Any:
    # Several entries may share one place in memory; in the copy, each has its own.
    repeats = isinstance(x, np.ndarray) and 0 in x.strides
    return np.array(x, order="C" if repeats else "K")[()]


clone: Op = structural(
    "clone", "x", _clone, "arrays.same", **_IDENTITY, doc="A copy of x.", numpy="{0}"
)


def _not_negative(x: Any) -> Any:
    if np.any(x < 0):
        raise EvaluationError("a variance has negative entries")
    return x


not_negative = structural(
    "not_negative", "x", _not_negative, "arrays.same", vjp=_back, shape=_same, ulps=0, public=False,
    domain="x >= 0", definition=_same, written="{x}", simpler=lambda out, x: x,
    doc="A variance, refused if it is negative.",
)  # fmt: skip


def _to_int(x: Any) -> Any:
    array = np.asarray(x)
    whole = array.astype(np.int64)
    if (whole != array).any():
        raise EvaluationError("an index must be whole numbers")
    return whole[()]


to_int = flat(
    "to_int", "x", _to_int, lambda m, x: x, None, dtype="int", public=False,
    extended=Entrywise((None,), value=lambda x: np.rint(x).astype(np.int64)),
    doc="Whole numbers by which entries are addressed: class labels, indices.",
    numpy="np.asarray({0}, np.int64)",
    torch="torch.as_tensor({0}).to(torch.int64)",
)  # fmt: skip
