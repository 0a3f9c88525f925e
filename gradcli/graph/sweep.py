"""The backward sweep: the one place where adjoints are seeded, accumulated and un-broadcast.

It is written against a small protocol: a node has ``op``, ``operands``, ``static``, ``shape`` and ``watch``, and a
table gives each node's value. With a table of arrays the sweep computes numbers; with ``itself`` as the table it
builds the graph of the gradient; with multi-precision values the judge runs the same rules without rounding; the
nodes behind eager tensors are swept by the same function.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import Any, Protocol

import numpy as np

from gradcli.ops.arrays.shapes import sum_to
from gradcli.ops.elementwise.arithmetic import chain, is_finite, mul
from gradcli.ops.spec import Carrier, Op
from gradcli.ops.structure import detach, output

_Array, _Double = np.ndarray, np.float64


class Node(Protocol):
    """What the sweep needs to know of a node."""

    @property
    def op(self) -> Op | None: ...
    @property
    def operands(self) -> Sequence[Any]: ...
    @property
    def static(self) -> Mapping[str, Any]: ...
    @property
    def shape(self) -> Any: ...
    @property
    def watch(self) -> Any: ...  # not None if somebody asks for its adjoint


def itself(node: Any) -> Any:
    """The table of values that makes the sweep build graphs."""
    return node


def depending(order: Iterable[Any], wrt: Iterable[Any]) -> set[Any]:
    """The nodes through which a derivative flows to one of ``wrt``, the order being topological."""
    needed = set(wrt)
    for node in order:
        op = node.op
        if op is None or node in needed or (op.partials is None and op.vjp is None and op is not output):
            continue
        if not needed.isdisjoint(node.operands):
            needed.add(node)
    return needed


def flowing(order: Sequence[Any]) -> set[Any]:
    """The nodes from which a derivative flows to the last one."""
    found: set[Any] = {order[-1]}
    for node in reversed(order):
        op = node.op
        if op is None or op is detach or node not in found:
            continue
        if op.partials is not None:
            for operand, partial in zip(node.operands, op.partials, strict=False):
                if partial is not None and operand is not None:
                    found.add(operand)
        elif op.vjp is not None or op is output:
            found.update(operand for operand in node.operands if operand is not None)
    return found


def backward(
    order: Sequence[Any],
    seeds: Mapping[Any, Any],
    wrt: Iterable[Any],
    value_of: Callable[[Any], Any],
    *,
    bare: bool = False,
) -> dict[Any, Any]:
    """The adjoint of every node of ``wrt`` that a seeded node depends on.

    order     the nodes, each after its operands
    seeds     cotangents of outputs, each of its output's shape
    value_of  the table of values
    bare      zero times infinity is NaN; else a zero cotangent contributes nothing
    """
    targets = set(wrt)
    needed = depending(order, targets)
    found: dict[Any, Any] = {}

    def values(node: Any) -> list[Any]:
        operands = node.operands
        if None not in operands:
            return [value_of(node), *map(value_of, operands)]
        return [value_of(node), *[None if operand is None else value_of(operand) for operand in operands]]

    def arrived(node: Any, cotangent: Any) -> Any:
        found[node] = cotangent
        return cotangent

    adjoints = {node: seed for node, seed in seeds.items() if node in needed}
    sweep(order, adjoints, needed, values, arrived, targets, times=scaled if bare else guarded)
    return found


def sweep(
    order: Sequence[Any],
    adjoints: dict[Any, Any],
    needed: AbstractSet[Any],
    values: Callable[[Any], Sequence[Any]],
    arrived: Callable[[Any, Any], Any],
    targets: AbstractSet[Any] = frozenset(),
    cast: Callable[[Any, Any], Any] | None = None,
    check: Callable[[Any, int, Any], None] | None = None,
    nothing: Callable[[Any], Any] | None = None,
    times: Callable[[Any, Any], Any] | None = None,
) -> None:
    """Carry adjoints backwards through the nodes that are needed.

    values   of a node: its own and its operands', as its rule reads them; asked for once, when the rule is run
    arrived  is told the adjoint of a leaf, of a target or of a node that is watched when it is complete, and gives what to go on with
    cast     gives a contribution the dtype of the operand that it is for
    check    is shown every contribution of a node, with the place of its operand
    nothing  the zeros that an operand gets from a node whose cotangent is zero, or that is flat (without it: no adjoint at all)
    times    cotangent times partial; without it, `guarded`
    """
    pop, earlier_of, is_needed = adjoints.pop, adjoints.get, needed.__contains__
    for node in reversed(order):
        cotangent = pop(node, None)
        if cotangent is None:
            continue
        op, operands = node.op, node.operands
        if op is None or node.watch is not None or node in targets:
            cotangent = arrived(node, cotangent)
            if op is None:
                continue
        if op is output:
            _accumulate_output(adjoints, node, cotangent)
            continue
        wanted = tuple(map(is_needed, operands))
        if True not in wanted:
            continue
        if not (op.elementwise or op.always) and (times is not scaled or isinstance(cotangent, Carrier)) and _is_zero(cotangent):
            # a zero cotangent contributes nothing, whatever the rule would multiply it with; but for numbers that IEEE multiplies
            if nothing is not None:
                for operand in operands:
                    if operand in needed and operand not in adjoints:
                        adjoints[operand] = nothing(operand)
            continue
        for place, part in enumerate(contributions(node, op, wanted, cotangent, values(node), times or guarded)):
            operand = operands[place]
            if part is None:
                if nothing is not None and op.kind == "flat" and wanted[place] and operand not in adjoints:
                    adjoints[operand] = nothing(operand)
                continue
            fitting = part if part.shape == operand.shape else sum_to(part, shape=operand.shape)
            if cast is not None and fitting.dtype is not operand.dtype:
                fitting = cast(fitting, operand)
            if check is not None:
                check(node, place, fitting)
            earlier = earlier_of(operand)
            adjoints[operand] = fitting if earlier is None else earlier + fitting


def _is_zero(cotangent: Any) -> bool:
    if isinstance(cotangent, tuple):
        return all(part is None or _is_zero(part) for part in cotangent)
    if isinstance(cotangent, Carrier):
        return cotangent.is_zero()
    return not (cotangent.size and cotangent.item(0)) and not cotangent.any()  # mostly, the first entry tells


def contributions(
    node: Any, op: Op, wanted: tuple[bool, ...], cotangent: Any, values: Sequence[Any], times: Callable[[Any, Any], Any]
) -> Sequence[Any]:
    """What one node passes back to each operand, before summing to the operand's shape. Its own value is the first of the values."""
    static = node.static
    if op.vjp is not None:
        parts: Sequence[Any] = op.vjp(wanted, cotangent, *values, **static)
        return parts if False not in wanted else [part if want else None for part, want in zip(parts, wanted, strict=True)]
    assert op.partials is not None
    found: list[Any] = [None] * len(wanted)
    for place, partial in enumerate(op.partials):
        if partial is not None and wanted[place]:
            found[place] = times(cotangent, partial(*values, **static) if static else partial(*values))
    return found


def scaled(cotangent: Any, partial: Any) -> Any:
    """cotangent * partial as IEEE has it, in the cotangent's precision."""
    kind = type(partial)
    if kind is int and (partial == 1 or partial == -1):
        return cotangent if partial == 1 else -cotangent
    if isinstance(cotangent, Carrier) or isinstance(partial, Carrier):
        return mul(cotangent, partial)
    if kind is float or kind is int:
        return cotangent * cotangent.dtype.type(partial)
    if partial.dtype is cotangent.dtype:
        return cotangent * partial
    return np.multiply(cotangent, partial, dtype=cotangent.dtype, casting="same_kind")


def guarded(cotangent: Any, partial: Any) -> Any:
    """cotangent * partial, where a zero cotangent gives zero; with nothing to do for the partials 1 and -1 of sums and differences."""
    kind = type(partial)
    if kind is int or kind is float:
        if kind is int and (partial == 1 or partial == -1):
            return cotangent if partial == 1 else -cotangent
        if math.isfinite(partial) and not isinstance(cotangent, Carrier):
            return cotangent * float(partial)
    elif kind is _Array:
        if type(cotangent) is _Array and partial.dtype is cotangent.dtype:
            product = cotangent * partial
            if is_finite(product):  # what `chain` would find, too
                return product
    elif kind is _Double and type(cotangent) is _Double:
        product = cotangent * partial
        if math.isfinite(product):
            return product
    return chain(cotangent, partial)


def _accumulate_output(adjoints: dict[Any, Any], node: Any, cotangent: Any) -> None:
    """An operation of several results collects the cotangents of each in a tuple."""
    (source,) = node.operands
    place = node.static["place"]
    parts = list(adjoints.get(source, (None,) * source.op.outputs))
    parts[place] = cotangent if parts[place] is None else parts[place] + cotangent
    adjoints[source] = tuple(parts)
