"""Methods of NumPy's functions of two arrays, on carriers.

They are ``np.add.reduce(x, axis=1)``, ``.accumulate`` and ``.outer``.

``call(name, *arrays, **keywords)`` applies a function of NumPy to carriers; ``name`` is that of the
function of two arrays.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

from gradcli.errors import ShapeError, UnreadArgumentError
from gradcli.ops.arrays.shapes import getitem, reshape, stack
from gradcli.ops.axes import folds
from gradcli.ops.calling.meanings import lookup
from gradcli.ops.calling.prefixes import NUMPY
from gradcli.ops.registry import record_named, registry
from gradcli.ops.writing import one_axis

Call = Callable[..., Any]


@cache
def joined_by(name: str) -> str:
    """Return the name of the operation of a function of two arrays, or "" if there is none."""
    found = lookup(name, NUMPY)
    return "" if found is None else record_named(found.target).name


@cache
def reduction(name: str) -> str | None:
    """Return the name of the reduction that joins entries by a function of two arrays.

    It is None if there is none.
    """
    joins = joined_by(name)
    return next((op.name for op in registry().values() if joins and folds(op) == joins), None)


def reduce(call: Call, name: str, x: Any, axis: Any = 0, **more: Any) -> Any:
    """One operation where there is one; else one application after the other along an axis."""
    whole = reduction(name)
    given = {key: value for key, value in more.items() if value is not None and value is not False}
    if whole is not None:
        return call(whole, x, axis=axis, **given)
    if axis is None or given:
        what = next(iter(given), "several axes")
        raise UnreadArgumentError(f"{name}.reduce does not support {what}", help="write axis=0")
    return _running(call, name, x, _place(axis, x))[-1]


def _place(axis: Any, x: Any) -> int:
    if not x.shape:
        raise ShapeError("a number has no axis to go along")
    return one_axis(axis, x.shape)


def _running(call: Call, name: str, x: Any, axis: int) -> list[Any]:
    """Return the results so far, entry by entry along an axis."""
    lead = ((None, None, None),) * axis
    results: list[Any] = []
    for i in range(x.shape[axis]):
        row = getitem(x, index=(*lead, i))
        results.append(call(name, results[-1], row) if results else row)
    if not results:
        raise ShapeError(f"{name} has no result of no entries")
    return results


def accumulate(call: Call, name: str, x: Any, axis: int = 0) -> Any:
    """Return the results so far along an axis."""
    place = _place(axis, x)
    running = {"add": "cumsum", "mul": "cumprod"}.get(joined_by(name))
    return (
        stack(*_running(call, name, x, place), axis=place)
        if running is None
        else call(running, x, axis=place)
    )


def outer(call: Call, name: str, a: Any, b: Any) -> Any:
    """Apply the function to every entry of one array with every entry of the other."""
    return call(name, reshape(a, shape=(*a.shape, *(1,) * b.ndim)), b)
