"""Zero times infinity on the way back: which zeros are zero all around the point, and what vanishes faster than the other grows.

The sweep multiplies cotangents by partials. Where one factor is 0 and the other infinite, the product tells nothing (NaN). If the zero
stays zero around the point, as that of a branch not taken, of an operation that is flat there or of a factor that does not depend on
the variable, nothing flows back. If it is zero at the point only, the product tends to 0 where the zero is of higher order than the
infinity (``x*sqrt(x)``); otherwise it stays NaN (``sqrt(x)**2``, whose derivative is 1, or ``cos(sqrt(x))``, where it is -1/2).

So the sweep runs first with plain products. Only where that gives NaN, it runs again on `Germ` objects, once for each variable.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from gradcli.graph.germs import Germ, Germs, Near, Table, floats, orders, replaced
from gradcli.graph.interpret import interpret
from gradcli.graph.sweep import backward

_MOST = 40_000  # nodes that are looked at for all variables: some seconds
_ONE_BY_ONE = 64  # entries of a variable that are looked at each for itself


def gradients(order: Sequence[Any], seeds: Mapping[Any, Any], wrt: Sequence[Any], value_of: Table) -> dict[Any, Any]:
    """What `backward` gives, with zero times infinity decided for each variable."""
    found = backward(order, seeds, wrt, value_of, bare=True)
    left = _MOST
    for x in wrt:
        part = found.get(x)
        if part is not None and has_nan(part):
            near = _depending(order, x)
            left -= len(near)
            if left < 0:
                break  # what is open stays so
            found[x] = _decided(near, seeds, x, value_of, part, np.isnan(floats(part)))
    return found


def has_nan(adjoint: Any) -> bool:
    floats = adjoint.array if hasattr(adjoint, "array") else np.asarray(adjoint)
    if floats.dtype == object:
        return any(v != v for v in floats.ravel())
    return math.isnan(floats) if np.ndim(floats) == 0 else bool(np.isnan(floats.min(initial=0.0)))


def _decided(order: Sequence[Any], seeds: Mapping[Any, Any], x: Any, value_of: Table, part: Any, open_: np.ndarray) -> Any:
    """The adjoint of x, where ``open_`` says which of its entries are NaN."""
    moving = [np.ones(x.shape, bool)]  # all entries at once, and then those that are still open, one by one
    while moving:
        mask = moving.pop()
        found = _sweep(order, seeds, x, value_of, mask)
        asked = open_ & mask & ~np.isnan(floats(found.value))
        part = replaced(part, asked, found.value)
        open_ = open_ & ~asked
        if mask.all() and mask.size > 1 and np.count_nonzero(open_) <= _ONE_BY_ONE:
            moving = [_only(x.shape, place) for place in np.argwhere(open_)]
    return part


def _depending(order: Sequence[Any], x: Any) -> list[Any]:
    """The nodes that depend on x, itself among them."""
    found, moved = [], {x}
    for node in order:
        if node is x or any(operand in moved for operand in node.operands):
            moved.add(node)
            found.append(node)
    return found


def _only(shape: Any, place: np.ndarray) -> np.ndarray:
    mask = np.zeros(shape, bool)
    mask[tuple(place)] = True
    return mask


def _sweep(order: Sequence[Any], seeds: Mapping[Any, Any], x: Any, value_of: Table, moving: np.ndarray) -> Germ:
    """The adjoint of x on germs, for a point some of whose entries move; the order is of what depends on x."""
    value = value_of(x)
    near = np.where(moving, np.where(floats(value) == 0, 1.0, orders(value, moving)), orders(value, ~moving))
    table = Near(value_of)
    table[x] = Germ(value, ~moving, near)
    interpret(order, Germs(value_of), table)
    start = {node: Germ.still(seed) for node, seed in seeds.items()}
    found = backward(order, start, [x], table.__getitem__, bare=True).get(x)
    value = value_of(x)
    return Germ.still(replaced(value, np.ones(np.shape(floats(value)), bool), None)) if found is None else found
