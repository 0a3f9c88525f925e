"""What computing a program takes, counted from its graph before anything is computed: bytes that are held at once, scalar operations.

A node is held to the limits when it is made (`ops.counting.hold`), a program when it is about to be evaluated; only what has large
arrays or costly operations in it is looked at again (`Graph.is_heavy`).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from gradcli.graph.nodes import Expr
from gradcli.limits import ITEM, Limits
from gradcli.ops.arrays.shapes import StaticArray
from gradcli.ops.counting import entries_of, operations_of, workspace_of
from gradcli.ops.structure import output

WITH_GRADIENT = "the statement with its gradient"
_BACKWARDS = 2  # times the forward pass that a sweep takes


def hold_program(limits: Limits, order: Sequence[Expr], values: Mapping[Expr, Any], wrt: Iterable[Expr] | None = None) -> None:
    """Raise LimitError where evaluating nodes, each after its operands, takes more than the limits allow.

    values  those of the leaves: what the program holds already
    wrt     what the last node is differentiated with respect to, in a sweep that follows; None for none
    """
    hold_work(limits, order, wrt)
    what = "the statement" if wrt is None else WITH_GRADIENT
    held = held_by(values.values()) + sum(bytes_of(node) for node in order if not node.is_leaf)
    scratch = max((scratch_of(node) for node in order), default=0)
    limits.check_memory(held + max(scratch, 0 if wrt is None else swept(order, wrt)), what)


def hold_work(limits: Limits, order: Sequence[Expr], wrt: Iterable[Expr] | None = None, sweeps: int = 1) -> None:
    """The same for scalar operations alone, of as many sweeps as there are."""
    times, what = (1, "the statement") if wrt is None else (1 + _BACKWARDS * sweeps, WITH_GRADIENT)
    limits.check_work(times * sum(map(operations, order)), what)


def held_by(values: Iterable[Any]) -> int:
    """The bytes of memory that arrays take, but for what lies in files."""
    return sum(value.nbytes for value in values if isinstance(value, np.ndarray) and not _in_file(value))


def _in_file(array: Any) -> bool:
    while isinstance(array, np.ndarray):
        if isinstance(array, np.memmap):
            return True
        array = array.base
    return False


def operations(node: Expr) -> int:
    """How many scalar operations it takes to compute a node of its operands."""
    return 0 if node.op is None or node.op is output else operations_of(node.op, node.shape, shapes_of(node))


def scratch_of(node: Expr) -> int:
    """The bytes that are needed beside operands and result to compute a node, or to carry its adjoint back."""
    return 0 if node.op is None or node.op is output else ITEM * workspace_of(node.op, node.shape, shapes_of(node))


def shapes_of(node: Expr) -> list[Any]:
    return [None if operand is None else operand.shape for operand in node.operands]


def bytes_of(node: Expr) -> int:
    """The bytes that NumPy's value of a node takes: none, where it shows entries of another."""
    return 0 if _is_view(node) else size_of(node)


def size_of(node: Expr) -> int:
    """The bytes of a node's entries."""
    return ITEM * (math.prod(node.shape) if node.op is None else entries_of(node.op, node.shape))


def _is_view(node: Expr) -> bool:
    op = node.op
    if op is output:
        return True
    if op is None or not (op.torch.shares or (op.linear and op.unchanged)):
        return False
    if any(isinstance(part, StaticArray) for part in node.static.get("index", ())):
        return False  # entries that are taken one by one
    return op.algebra != "reshaping" or not _is_view(node.operand)


def swept(order: Sequence[Expr], wrt: Iterable[Expr]) -> int:
    """The bytes that a sweep over nodes holds at once: adjoints that are not complete, and what one rule makes."""
    needed = set(wrt)
    for node in order:
        if not needed.isdisjoint(node.operands):
            needed.add(node)
    live = most = size_of(order[-1])
    begun = {order[-1]}
    for node in reversed(order):
        if node not in needed:
            continue
        own = size_of(node)
        passed = [operand for operand in dict.fromkeys(node.operands) if operand in needed]
        if passed:
            most = max(most, live + _temporaries(node) * own + scratch_of(node))
        new = [operand for operand in passed if operand not in begun]
        begun.update(new)
        live += sum(map(size_of, new)) - (own if passed else 0)
        most = max(most, live)
    return most


def _temporaries(node: Expr) -> int:
    """How many arrays a rule has at once beside what it gives."""
    return 4 if node.op is not None and node.op.kind == "smooth" else 1
