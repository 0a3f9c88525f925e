"""The backward sweep: the one place where adjoints are seeded, accumulated and un-broadcast.

It is written against a small protocol: a node has ``op``, ``operands``, ``static`` and ``shape``, and a table
gives each node's value. With a table of arrays the sweep computes numbers; with ``itself`` as the table it
builds the graph of the gradient; with multi-precision values the judge runs the same rules without rounding; the
nodes behind eager tensors are swept by the same function.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import Any, Protocol

import numpy as np

from gradcli.ops.arithmetic import chain
from gradcli.ops.shapes import sum_to
from gradcli.ops.spec import Carrier, Op
from gradcli.ops.structure import output


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


def backward(order: Sequence[Any], seeds: Mapping[Any, Any], wrt: Iterable[Any], value_of: Callable[[Any], Any]) -> dict[Any, Any]:
    """The adjoint of every node of ``wrt`` that a seeded node depends on.

    order     the nodes, each after its operands
    seeds     cotangents of outputs, each of its output's shape
    value_of  the table of values
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
        if node in targets:
            found[node] = cotangent
        return cotangent

    sweep(order, {node: seed for node, seed in seeds.items() if node in needed}, needed, values, arrived, _fitted)
    return found


def sweep(
    order: Sequence[Any],
    adjoints: dict[Any, Any],
    needed: AbstractSet[Any],
    values: Callable[[Any], Sequence[Any]],
    arrived: Callable[[Any, Any], Any],
    fitted: Callable[[Any, int, Any], Any],
    nothing: Callable[[Any], Any] | None = None,
) -> None:
    """Carry adjoints backwards through the nodes that are needed.

    values   of a node: its own and its operands', as its rule reads them; asked for once, when the rule is run
    arrived  is told a node's adjoint when it is complete, and gives what to go on with
    fitted   makes a contribution of a node fit the operand that it is for, given by its place
    nothing  the zeros that an operand gets from a node whose cotangent is zero (without it: no adjoint at all)
    """
    pop, earlier_of, is_needed = adjoints.pop, adjoints.get, needed.__contains__
    for node in reversed(order):
        adjoint = pop(node, None)
        if adjoint is None:
            continue
        cotangent = arrived(node, adjoint)
        op, operands = node.op, node.operands
        if op is None:
            continue
        if op is output:
            _accumulate_output(adjoints, node, cotangent)
            continue
        wanted = tuple(map(is_needed, operands))
        if True not in wanted:
            continue
        if not (op.elementwise or op.always) and _is_zero(cotangent):
            # a zero cotangent contributes nothing, whatever the rule would multiply it with
            if nothing is not None:
                for operand in operands:
                    if operand in needed and operand not in adjoints:
                        adjoints[operand] = nothing(operand)
            continue
        for place, part in enumerate(contributions(node, op, wanted, cotangent, values(node))):
            if part is None:
                continue
            operand = operands[place]
            fitting = fitted(node, place, part)
            earlier = earlier_of(operand)
            adjoints[operand] = fitting if earlier is None else earlier + fitting


def _fitted(node: Any, place: int, part: Any) -> Any:
    shape = node.operands[place].shape
    return part if part.shape == shape else sum_to(part, shape=shape)


def _is_zero(cotangent: Any) -> bool:
    if isinstance(cotangent, tuple):
        return all(part is None or _is_zero(part) for part in cotangent)
    if isinstance(cotangent, Carrier):
        return cotangent.is_zero()
    return not (cotangent.size and cotangent.item(0)) and not cotangent.any()  # mostly, the first entry tells


def contributions(node: Any, op: Op, wanted: tuple[bool, ...], cotangent: Any, values: Sequence[Any]) -> Sequence[Any]:
    """What one node passes back to each operand, before summing to the operand's shape. Its own value is the first of the values."""
    if op.vjp is not None:
        parts: Sequence[Any] = op.vjp(wanted, cotangent, *values, **node.static)
        return [part if want else None for part, want in zip(parts, wanted, strict=True)]
    assert op.partials is not None
    static = node.static
    found: list[Any] = [None] * len(wanted)
    for place, partial in enumerate(op.partials):
        if partial is not None and wanted[place]:
            found[place] = scaled(cotangent, partial(*values, **static) if static else partial(*values))
    return found


def scaled(cotangent: Any, partial: Any) -> Any:
    """cotangent * partial, with nothing to do for the partials 1 and -1 of sums and differences."""
    kind = type(partial)
    if kind is np.float64 and type(cotangent) is np.float64:
        product = cotangent * partial
        if math.isfinite(product):  # what `chain` would find, too, in many times the time
            return product
    elif kind is int or kind is float:
        if kind is int and partial in (1, -1):
            return cotangent if partial == 1 else -cotangent
        if math.isfinite(partial) and not isinstance(cotangent, Carrier):
            return cotangent * partial
    elif kind is np.ndarray and not isinstance(cotangent, Carrier):
        return chain.forward(cotangent, partial)
    return chain(cotangent, partial)


def _accumulate_output(adjoints: dict[Any, Any], node: Any, cotangent: Any) -> None:
    """An operation of several results collects the cotangents of each in a tuple."""
    (source,) = node.operands
    place = node.static["place"]
    parts = list(adjoints.get(source, (None,) * source.op.outputs))
    parts[place] = cotangent if parts[place] is None else parts[place] + cotangent
    adjoints[source] = tuple(parts)
