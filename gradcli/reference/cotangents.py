"""How cotangents of whole arrays go back through an operation by its form, each with its own rounding error and with what of it flows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from gradcli.graph.nodes import Expr
from gradcli.ops.extended import LONG_DOUBLE, Entrywise, Linear, Mixed, NotCovered, Reduced, Whole
from gradcli.ops.spec import Op
from gradcli.ops.writing import axes_of
from gradcli.reference.algebra import Unsupported
from gradcli.reference.each_entry import slopes_of_entries
from gradcli.reference.stand_ins import StandIns

_UNIT = float(np.finfo(LONG_DOUBLE).eps)
_ALIKE = 4  # how much larger the largest of some units may be, to stand for all


def along(node: Expr, operands: list[Any]) -> tuple[Any, tuple[int, ...], Mapping[str, Any]]:
    """What is reduced, along which axes, and how."""
    (x,) = operands
    return x, axes_of(node.static["axis"], x.ndim), node.static


Part = tuple[Any, Any, Any]  # an adjoint, its own rounding error, and 0 where nothing flows: a branch not taken, an entry not chosen
Parts = Sequence[Part | None]


def back(node: Expr, op: Op, adjoint: Any, out: Any, operands: list[Any], wanted: Sequence[bool], held: StandIns) -> Parts:
    """What a node's cotangent is to its operands: by its form, or by its rule where there is none."""
    try:
        return _pulled(node, op, adjoint, out, operands, wanted)
    except (NotCovered, Unsupported):
        return held.pulled(op, node.static, adjoint, out, operands)


def _pulled(node: Expr, op: Op, adjoint: Any, out: Any, operands: list[Any], wanted: Sequence[bool]) -> Parts:
    """What a node's cotangent is to its operands, each with the error of this and all later steps."""
    match op.extended:
        case Linear() as rule:
            slope, error, live = adjoint
            slopes, flows = (rule.pull(part, *operands, **node.static) for part in (slope, live))
            if _alike(error) == 0:
                errors = [None if s is None else _everywhere(0.0, o) for s, o in zip(slopes, operands, strict=True)]
            else:
                errors = rule.pull(error, *operands, **node.static)
            return [None if s is None else (s, e, f) for s, e, f in zip(slopes, errors, flows, strict=True)]
        case Reduced() as rule:
            x, axes, _ = reduced = along(node, operands)
            _, slope, size = rule.slopes(*reduced)
            kept = [1 if i in axes else n for i, n in enumerate(x.shape)]
            wide, off, flows = (np.broadcast_to(np.reshape(part, kept), x.shape) for part in adjoint)
            return [(wide * slope, off * np.abs(slope) + 4 * _UNIT * np.abs(wide) * size, flows)]
        case Whole() as rule:
            return _whole(rule, node.static, adjoint, out, operands)
        case Mixed() as rule:
            return _mixed(rule, node.static, adjoint, operands[0])
        case Entrywise() as rule:
            slopes = [
                np.asarray(p(*operands, **node.static), LONG_DOUBLE) if p is not None and asked else None
                for p, asked in zip(rule.partials, wanted, strict=True)
            ]
            return _by_entries(op, adjoint, slopes, [None] * len(slopes))
    if op.outputs > 1 or isinstance(adjoint, dict):
        raise Unsupported(f"{op.name} of so many entries")
    return (
        (None,) * len(operands)
        if op.kind == "flat"
        else _by_entries(op, adjoint, *slopes_of_entries(op, out, operands, node.static, wanted))
    )


def _whole(rule: Whole, static: Mapping[str, Any], adjoint: Any, out: Any, operands: list[Any]) -> Parts:
    """By the formulas of an operation: an error grows as sizes do, and the terms that are added up are rounded themselves."""
    _, pull, sizes, flows, terms = rule.formulas
    given = adjoint
    if isinstance(adjoint, dict):
        given = tuple(zip(*(adjoint.get(i, (np.zeros_like(part),) * 3) for i, part in enumerate(out)), strict=True))
    cotangent, error, live = given
    slopes = pull(cotangent, out, *operands, **static)
    # doubles do for sizes
    rough = [_doubles(o) for o in operands]
    size = tuple(map(np.abs, cotangent)) if isinstance(cotangent, tuple) else np.abs(cotangent)
    everywhere = [None if s is None else _everywhere(1.0, s) for s in slopes]
    reached = everywhere if flows is None else flows(live, out, *operands, **static)
    longest = max((max(np.shape(o), default=1) for o in operands if o is not None), default=1)
    counts = [longest] * len(operands) if terms is None else terms(out, *operands)
    units = [_UNIT * (8 + n) for n in counts]
    off, size, found = _doubles(error), _doubles(size), _doubles(out)
    if max(units) <= _ALIKE * min(units):
        # sizes are linear in the cotangent's, so that both go back at once
        errors = sizes(_together(off, size, max(units)), found, *rough, **static)
    else:
        each = (sizes(part, found, *rough, **static) for part in (off, size))
        errors = [None if e is None else np.asarray(e) + u * np.asarray(w) for e, w, u in zip(*each, units, strict=True)]
    return [None if s is None else (s, np.asarray(e), flow) for s, e, flow in zip(slopes, errors, reached, strict=True)]


def _together(error: Any, size: Any, unit: float) -> Any:
    if isinstance(size, tuple):
        return tuple(_together(e, s, unit) for e, s in zip(error, size, strict=True))
    return error + unit * size


def _everywhere(number: float, x: Any) -> Any:
    return np.broadcast_to(number, np.shape(x))


def _rough(x: Any) -> Any:
    return np.asarray(x, np.float64)


def _doubles(x: Any) -> Any:
    if isinstance(x, tuple):
        return tuple(map(_doubles, x))
    return x if x is None or np.asarray(x).dtype.kind != "f" else _rough(x)


def _mixed(rule: Mixed, static: Mapping[str, Any], adjoint: Part, x: Any) -> Parts:
    cotangent, error, _ = adjoint
    # doubles do for sizes
    rough, error = _doubles(x), _rough(error)
    own = _UNIT * max(x.shape, default=1) * rule.pull(rough, np.abs(_doubles(cotangent)), 1, **static)
    off = own if _alike(error) == 0 else own + rule.pull(rough, error, 1, **static)
    return [(rule.pull(x, cotangent, -1, **static), off, _everywhere(1.0, x))]


def _by_entries(op: Op, adjoint: Part, slopes: list[Any], sizes: list[Any]) -> Parts:
    """Cotangent times slope. Errors and what flows are doubles, and single numbers behind an array's shape where they are all alike."""
    cotangent, error, live = adjoint
    error, live = _rough(error), _rough(live)
    found: list[Part | None] = []
    for slope, size in zip(slopes, sizes, strict=True):
        if slope is None:
            found.append(None)
            continue
        product = np.asarray(cotangent * slope)
        rough = np.abs(_rough(slope))
        own = np.abs(_rough(product)) if size is None else np.abs(_rough(cotangent)) * _rough(size)
        off = 4 * _UNIT * own if _alike(error) == 0 else error * rough + 4 * _UNIT * own
        flows = live * np.not_equal(slope, 0) if op.facts.selects else live
        if _alike(flows) != 1:
            # whatever the other factor is where nothing flows; any other zero times infinity is NaN, for a finer judge
            product, off = np.where(flows, product, LONG_DOUBLE(0)), np.where(flows, off, 0.0)
        found.append((product, off, flows if flows.shape == product.shape else np.broadcast_to(flows, product.shape)))
    return found


def _alike(array: Any) -> float | None:
    """The number that all entries are, where that is seen at once."""
    return float(array.flat[0]) if array.size and not any(array.strides) else None


def summed(part: Any, shape: tuple[int, ...]) -> Any:
    """Summed to the shape that broadcasting started from."""
    part = np.asarray(part)
    if part.shape == shape:
        return part
    lead = part.ndim - len(shape)
    if lead < 0:
        return np.broadcast_to(part, shape)
    axes = tuple(range(lead)) + tuple(lead + i for i, n in enumerate(shape) if n == 1 and part.shape[lead + i] != 1)
    return part.sum(axis=axes).reshape(shape)
