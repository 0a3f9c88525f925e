"""The backward sweep, recorded: the adjoint of every node, and what each passes back to its operands."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from gradcli.graph.nodes import Expr
from gradcli.graph.sweep import contributions, depending, guarded, scaled, sweep
from gradcli.ops.arrays.shapes import sum_to
from gradcli.ops.calling.promotion import FLOAT
from gradcli.ops.structure import detach

Table = Mapping[Expr, Any]


@dataclass(slots=True, eq=False, repr=False)
class Passed:
    """What a node passes back to one operand: before it is summed to the operand's shape, and after."""

    node: Expr
    operand: Expr
    place: int
    whole: Any
    part: Any


@dataclass(eq=False, repr=False)
class Recorded:
    """A sweep: adjoints of nodes, and what was passed back, in its order."""

    order: Sequence[Expr]
    needed: set[Expr]  # nodes through which a derivative flows to what is asked for
    requiring: set[Expr]  # nodes that require a gradient, in PyTorch's sense
    times: Callable[[Any, Any], Any]  # cotangent times partial
    adjoints: dict[Expr, Any] = field(default_factory=dict)
    passed: list[Passed] = field(default_factory=list)


def recorded(order: Sequence[Expr], seed: Any, wrt: Iterable[Expr], values: Table, *, bare: bool = True) -> Recorded:
    """The sweep from the last node, with the seed as its adjoint, to what is asked for.

    bare  zero times infinity is NaN, as in PyTorch; else a zero cotangent contributes nothing
    """
    targets = set(wrt)
    needed = depending([node for node in order if node.op is not detach], targets)
    record = Recorded(order, needed, requiring(order, targets), scaled if bare else guarded)
    root = order[-1]
    if root in needed:
        with np.errstate(all="ignore"):
            sweep(order, {root: seed}, _Pulling(record, values))
    for node in _below(order, record.requiring):
        if node not in record.adjoints and not isinstance(values[node], tuple):
            record.adjoints[node] = np.zeros_like(np.asarray(values[node], np.result_type(seed)))[()]
    return record


def requiring(order: Iterable[Expr], targets: set[Expr]) -> set[Expr]:
    """The nodes that require a gradient, as PyTorch has it: those of which an operand does, also where the derivative is always zero."""
    found = set(targets)
    for node in order:
        if node.op is not None and node.op is not detach and node.kind == FLOAT and not found.isdisjoint(node.operands):
            found.add(node)
    return found


def _below(order: Sequence[Expr], requires: set[Expr]) -> set[Expr]:
    """The nodes that require a gradient and that the last one is made of by such."""
    found = {order[-1]} & requires
    for node in reversed(order):
        if node in found:
            found.update(operand for operand in node.operands if operand in requires)
    return found


class _Pulling:
    """What the sweep calls for each node: the node's contributions, which are written down."""

    def __init__(self, record: Recorded, values: Table) -> None:
        self.record, self.values = record, values

    def __call__(self, node: Expr, cotangent: Any) -> Sequence[Any]:
        self.record.adjoints[node] = cotangent
        parts = pulled(node, cotangent, self.record, self.values)
        fitted = [
            None if part is None or operand is None else fitting(part, operand) for operand, part in zip(node.operands, parts, strict=False)
        ]
        for place, part in enumerate(fitted):
            operand = node.operands[place]
            if part is not None and operand is not None:
                self.record.passed.append(Passed(node, operand, place, parts[place], part))
        return fitted


def pulled(node: Expr, cotangent: Any, record: Recorded, values: Table) -> Sequence[Any]:
    """What a node makes of a cotangent for each operand that is needed, before it is summed to the operand's shape."""
    wanted = tuple([operand in record.needed for operand in node.operands])
    if True not in wanted:
        return ()
    own = [values[node], *[None if operand is None else values[operand] for operand in node.operands]]
    return contributions(node, wanted, cotangent, own, record.times)


def fitting(part: Any, operand: Expr) -> Any:
    """What is passed back, summed to the operand's shape."""
    return part if isinstance(part, tuple) or part.shape == operand.shape else sum_to(part, shape=operand.shape)
