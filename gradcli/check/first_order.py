"""What errors of operands make of results, by the operation's own derivative: where its record does not say more.

The bound is twice that of the first order. It is held against results for operands moved to the ends of their errors; where one of these
is off by more, as beside a pole or at a singular matrix, nothing is known, and the bound is infinite. Of very many results none is
differentiated: the bound is a multiple of the farthest that a few such operands take any of them, which is an estimate.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from gradcli.ops.spec import Op

_TWICE = 2.0
_MANY = 1 << 10  # results up to which each is differentiated by itself
_DIRECTIONS = 3
_ESTIMATED = 16.0
_OF_THESE = 2.0**-46  # how far the rounding of two results may take them apart, relative to the largest entry


def first_order(
    op: Op, out: tuple[Any, ...], values: Sequence[Any], errors: Sequence[Any], static: Mapping[str, Any]
) -> list[Any]:  # fmt: skip
    """A bound for each result."""
    errors = [np.broadcast_to(e, np.shape(x)) if x is not None else e for x, e in zip(values, errors, strict=True)]
    if op.elementwise:
        found = [_by_partials(op, out[0], values, errors, static)]
    elif op.vjp is None:
        return [np.full(np.shape(part), np.inf) for part in out]
    elif sum(np.size(part) for part in out) > _MANY:
        return _estimated(op, out, values, errors, static)
    else:
        found = _by_entries(op, out, values, errors, static)
    for moved in _ends(values, errors):
        reached = op.forward(*moved, **static)
        for i, (part, still) in enumerate(zip(reached if isinstance(reached, tuple) else (reached,), out, strict=True)):
            rounded = _OF_THESE * np.max(np.abs(still), initial=0.0)
            beyond = ~(np.abs(np.asarray(part, float) - still) <= found[i] + rounded) & np.not_equal(part, still)
            found[i] = np.where(beyond, np.inf, found[i])
    return found


def _estimated(op: Op, out: tuple[Any, ...], values: Sequence[Any], errors: Sequence[Any], static: Mapping[str, Any]) -> list[Any]:
    farthest = [0.0] * len(out)
    for moved in _ends(values, errors):
        reached = op.forward(*moved, **static)
        for i, (part, still) in enumerate(zip(reached if isinstance(reached, tuple) else (reached,), out, strict=True)):
            off = float(np.max(np.abs(np.asarray(part, float) - still), initial=0.0))
            farthest[i] = max(farthest[i], np.inf if np.isnan(off) else off)
    return [np.full(np.shape(part), _ESTIMATED * off) for part, off in zip(out, farthest, strict=True)]


def _ends(values: Sequence[Any], errors: Sequence[Any]) -> Any:
    """Operands at the ends of their errors: all up, all down, and some at random, the same at any time."""
    random = np.random.default_rng(20)
    signs: list[Any] = [lambda x: 1.0, lambda x: -1.0]
    signs += [lambda x: random.choice([-1.0, 1.0], np.shape(x))] * _DIRECTIONS
    for sign in signs:
        yield [x if x is None or not np.any(e) else x + sign(x) * e for x, e in zip(values, errors, strict=True)]


def _by_partials(op: Op, out: Any, values: Sequence[Any], errors: Sequence[Any], static: Mapping[str, Any]) -> Any:
    """By the steepest of the partials at the ends of the intervals."""
    if op.partials is None:
        return np.full(np.shape(out), np.inf)
    choices = [[x] if not np.any(e) else [x - e, x, x + e] for x, e in zip(values, errors, strict=True)]
    total: Any = np.zeros(np.shape(out))
    for i, (partial, error) in enumerate(zip(op.partials, errors, strict=True)):
        if not np.any(error):
            continue
        if partial is None:
            return np.full(np.shape(out), np.inf)
        steepest: Any = 0.0
        for ends in itertools.product(*choices):
            slope = np.abs(partial(op.forward(*ends, **static), *ends, **static))
            steepest = np.fmax(steepest, np.where(np.isnan(slope), np.inf, slope))
        total = total + _TWICE * np.where(np.equal(errors[i], 0), 0.0, steepest * errors[i])
    return total


def _by_entries(op: Op, out: tuple[Any, ...], values: Sequence[Any], errors: Sequence[Any], static: Mapping[str, Any]) -> list[Any]:
    """Row by row of the Jacobian, from the rule backwards."""
    assert op.vjp is not None
    wanted = tuple(x is not None and bool(np.any(e)) for x, e in zip(values, errors, strict=True))
    found = []
    for place, part in enumerate(out):
        bounds = np.zeros(np.shape(part))
        if np.asarray(part).dtype.kind != "f":
            found.append(bounds)
            continue
        for i in range(np.size(part)):
            one = np.zeros(np.size(part))
            one[i] = 1.0
            cotangent = one.reshape(np.shape(part))[()]
            whole: Any = tuple(cotangent if k == place else None for k in range(len(out))) if op.outputs > 1 else cotangent
            rows = op.vjp(wanted, whole, out if op.outputs > 1 else part, *values, **static)
            off = sum(float(np.sum(np.abs(row) * e)) for row, e, want in zip(rows, errors, wanted, strict=True) if want and row is not None)
            bounds.reshape(-1)[i] = _TWICE * off
        found.append(np.where(np.isnan(bounds), np.inf, bounds))
    return found
