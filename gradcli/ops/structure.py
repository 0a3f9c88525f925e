"""Operations about the program rather than about numbers."""

from __future__ import annotations

from typing import Any

import numpy as np

from gradcli.errors import EvaluationError
from gradcli.ops.arrays.shapes import behind, getitem, indexed_shape, reshape
from gradcli.ops.axes import numpy_index
from gradcli.ops.carrying import steady
from gradcli.ops.constants import number_of
from gradcli.ops.extended import LONG_DOUBLE, Entrywise
from gradcli.ops.registry import elementwise, structural
from gradcli.ops.spec import Op
from gradcli.ops.writing import witness


def _same(x: Any, **_: Any) -> Any:
    return x


def _back(wanted: Any, cotangent: Any, out: Any, x: Any, **_: Any) -> tuple[Any]:
    return (cotangent,)


def _identity(name: str, doc: str, forward: Any = _same, vjp: Any = _back, **record: Any) -> Op:
    """Register what gives its operand as it is."""
    return structural(
        name, "x", forward, witness("moving.same"), vjp=vjp, shape=_same, algebra="identity", doc=doc, ulps=0,
        **{"result": "same", **record},
    )  # fmt: skip


alias = _identity(
    "alias", "x under a name and an identity of its own, so that something can be differentiated with respect to it.",
    static={"name": "", "serial": 0}, public=False, written="{x}", simpler=lambda out, x, **_: x,
)  # fmt: skip
detach: Op = _identity(
    "detach", "x as a constant: no gradient flows through it.", vjp=None,
    aliases="stop_gradient lax.stop_gradient", simpler=lambda out, x: out,
    example="x*detach(x)", memory="alias",
)  # fmt: skip
derivative = _identity(
    "derivative", "A derivative that the engine's rules have expanded, together with its definition.", result="float",
    static={"of": None}, public=False, written="{x}", simpler=lambda out, x, **_: x,
)  # fmt: skip
output = structural(
    "output", "x", lambda x, place: x[place], lambda m, x, place: x[place],
    vjp=None, shape=lambda shapes, place: shapes[place], static={"place": 0}, public=False, ulps=0,
    written="{x}[{place}]",
    doc="One result of an operation that has several.",
    numpy=lambda shapes, place: f"{{0:base}}[{place}]",
)  # fmt: skip


def _whole(out: Any, x: Any) -> Any:
    number = number_of(x)
    return int(number) if isinstance(number, bool) else None


to_float = elementwise(
    "to_float", "x", lambda x: np.asarray(x, np.float64)[()], lambda m, x: x if not isinstance(x, bool) else m.one * int(x),
    lambda out, x: 1, kind="piecewise", public=False, ulps=0, integral=True,
    extended=Entrywise((lambda x: 1,), value=lambda x: np.asarray(x, LONG_DOUBLE)),
    doc="A boolean or integer as a number.", backward="ToCopy",
    written="{x}", simpler=_whole,
    carries=steady,
    c="((real)({0}))",
    numpy="np.asarray({0}, np.float64)",
    torch="_tensor({0})",
)  # fmt: skip


def _clone(x: Any) -> Any:
    repeats = isinstance(x, np.ndarray) and 0 in x.strides  # several entries in one place of memory, each with its own in the copy
    return np.array(x, order="C" if repeats else "K")[()]


clone: Op = _identity("clone", "A copy of x.", _clone, public=False, numpy="{0}", torch="{0}")


def _overwrite(base: Any, new: Any, index: Any) -> Any:
    whole = np.array(base)
    whole[numpy_index(index)] = new
    return whole


def _overwrite_vjp(wanted: Any, cotangent: Any, out: Any, base: Any, new: Any, index: Any) -> tuple[Any, Any]:
    return overwrite(cotangent, 0.0, index=index) if wanted[0] else None, getitem(cotangent, index=index) if wanted[1] else None


def _overwrite_on_batch(lead: Any, base: Any, new: Any, index: Any) -> Any:
    place = behind(lead, index)
    if place is None:
        return None
    region = indexed_shape(tuple(base.shape), index=place)
    own = tuple(new.shape[len(lead) :])
    filled = reshape(new, shape=(*lead, *(1,) * (len(region) - len(lead) - len(own)), *own))
    return overwrite(base, filled, index=place)


overwrite: Op = structural(
    "overwrite", "base new", _overwrite, witness("moving.overwrite"),
    vjp=_overwrite_vjp, shape=lambda base, new, index: base, static={"index": ()}, ulps=0, result="float",
    public=False, backward="IndexPut", batched=_overwrite_on_batch,
    doc="The base with new entries at an index.",
)  # fmt: skip


def _to_int(x: Any) -> Any:
    array = np.asarray(x)
    whole = array.astype(np.int64)
    if (whole != array).any():
        raise EvaluationError("an index must be whole numbers")
    return whole[()]


to_int = elementwise(
    "to_int", "x", _to_int, lambda m, x: x, None, kind="flat", result="int", public=False,
    extended=Entrywise((None,), value=lambda x: np.rint(x).astype(np.int64)),
    doc="Whole numbers by which entries are addressed: class labels, indices.",
    numpy="np.asarray({0}, np.int64)",
    torch="torch.as_tensor({0}).to(torch.int64)",
)  # fmt: skip
