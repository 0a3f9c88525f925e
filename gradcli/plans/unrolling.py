"""Programs on small arrays, entry by entry.

For a handful of entries Python's floats are several times as fast as NumPy's calls. Operations that
move, sum and multiply entries run on arrays of nodes of a graph of numbers, and so unroll
themselves.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from gradcli.graph.nodes import Expr, Graph, Rebuilding, constant_value, interpret, reachable
from gradcli.ops.arrays import shapes
from gradcli.ops.calling.inputs import FLOAT
from gradcli.ops.linalg import products
from gradcli.ops.spec import Op
from gradcli.plans.backend import additions, steps
from gradcli.plans.source import Source

_MOST = 64  # most entries of an array
_MOST_MOVED = 1 << 10  # most entries of an array whose operation only moves them
_CALL = 24  # additions of Python's floats in the time of one operation of NumPy on a small array
_STORE = 2  # additions in the time of storing a float in an array
_ZERO = "(0.0)"  # how a zero is written
_LONGEST = 3_000  # operations on floats: a longer program takes too long to compile


def unroll(
    leaves: Sequence[Expr], roots: Sequence[Expr], derived: int
) -> Callable[..., list[Any] | None] | None:
    """Return a function that gives the roots' values, or None if they cannot be unrolled.

    Its arguments are the leaves' values, and arrays for the results. The last roots, ``derived``,
    are derivatives in given directions; names that these do not move contribute nothing. The
    function gives None where its results are not all finite, and raises where Python's floats do.
    """
    source = unrolled_text(leaves, roots, derived)
    return None if source is None else source.compile("program")


def unrolled_text(leaves: Sequence[Expr], roots: Sequence[Expr], derived: int) -> Source | None:
    """Its text.

    There is none for programs without arrays, with large ones, or with operations that floats do
    not have.
    """
    # Leaves come first. Their indices say nothing here, as they may be of another graph.
    nodes = sorted(reachable([*leaves, *roots]), key=lambda node: node.op is not None)
    if not _is_worth_it(nodes, roots) or any(root.kind != FLOAT for root in roots):
        return None
    entries = _entries(nodes)
    if entries is None:
        return None
    if derived:
        _without_zeros(entries, roots[len(roots) - derived :])
    steps = [
        node
        for node in reachable([entry for root in roots for entry in entries[root].flat])
        if node.op is not None
    ]
    return (
        _write(leaves, roots, entries, steps)
        if all(step.op is not None and step.op.in_python for step in steps)
        else None
    )


def _is_worth_it(nodes: Sequence[Expr], roots: Sequence[Expr]) -> bool:
    """Return whether all can be done on floats, in less time than NumPy takes.

    What has no axes is done on floats in any case.
    """
    calls = work = 0
    for node in nodes:
        op = node.op
        if op is not None and not (op.in_python or takes_objects(op)):
            return False
        size = node.size
        if not 0 < size <= (_MOST if op is None or _work(node) or op.in_python else _MOST_MOVED):
            return False
        if op is not None and (node.shape or any(operand.shape for operand in node.given_operands)):
            calls += 1
            work += _work(node)
    stored = sum(root.size for root in roots if root.shape)
    return 0 < work + _STORE * stored <= _CALL * calls and work + len(nodes) <= _LONGEST


def takes_objects(op: Op) -> bool:
    """Return whether the forward pass works on arrays of objects as it does on floats.

    It uses their + and *.
    """
    return bool(
        (op.moves and op.result == "same") or op.adds or op in (shapes.scatter_add, products.outer)
    )


def _work(node: Expr) -> int:
    """About how many additions take the time of a node: none where entries only move."""
    assert node.op is not None
    return 0 if node.op.moves or node.op is shapes.scatter_add else additions(node) * steps(node)


def _entries(nodes: Sequence[Expr]) -> dict[Expr, np.ndarray] | None:
    """Return the value of every node as an array of nodes that are numbers."""
    graph = Graph()
    numbers = np.frompyfunc(
        lambda entry: entry if isinstance(entry, Expr) else graph.constant(float(entry)), 1, 1
    )
    entries: dict[Expr, np.ndarray] = {}
    for node in nodes:
        op = node.op
        operands = [entries[operand] for operand in node.given_operands]
        if op is None:
            found: Any = _entries_of(graph, node)
        elif op.in_python:
            found = np.frompyfunc(
                lambda *numbers, op=op: graph.apply(op, numbers), len(operands), 1
            )(*operands)
        elif op is shapes.scatter_add:
            # In an array of objects, a number is stored, not an array without axes.
            found = op.forward(operands[0][()], **node.static)
        else:
            found = op.forward(*operands, **node.static)
        if found is None:
            return None
        if op is not None and op.adds and node.shape != node.operand.shape:
            found = found + 0.0  # NumPy's sums begin with 0.0, so negative zeros sum to 0.0
        entries[node] = np.asarray(numbers(np.asarray(found, object)), object)
    return entries


class _WithoutZeros(Rebuilding):
    """Numbers without products with the zeros and ones of a direction."""

    def operation(self, node: Expr, op: Op, operands: list[Expr]) -> Expr:
        role = op.algebra
        zeros = [
            place
            for place, operand in enumerate(operands)
            if operand.is_constant and operand.payload == 0
        ]
        if zeros:
            if role in ("product", "chain", "negation") or (role == "quotient" and zeros == [0]):
                return self.graph.constant(0.0)
            if role == "sum" or (role == "difference" and zeros == [1]):
                return operands[1 - zeros[0]]
        elif role == "product":
            ones = [
                place
                for place, operand in enumerate(operands)
                if operand.is_constant and operand.payload == 1
            ]
            if ones:
                return operands[1 - ones[0]]
        return super().operation(node, op, operands)


def _without_zeros(entries: dict[Expr, np.ndarray], roots: Sequence[Expr]) -> None:
    """Put simpler numbers in the place of those of roots."""
    numbers = [entry for root in roots for entry in entries[root].flat]
    simpler = interpret(reachable(numbers), _WithoutZeros(numbers[0].graph), {})
    for root in roots:
        found = np.empty(root.size, object)
        found[:] = [simpler[entry] for entry in entries[root].flat]
        entries[root] = found.reshape(root.shape)


def _entries_of(graph: Graph, node: Expr) -> Any:
    """Return the entries of a leaf or a constant, or None if they are not all finite floats."""
    if not node.is_constant:
        return (
            np.frompyfunc(lambda _: graph.leaf("entry", ()), 1, 1)(np.zeros(node.shape))
            if node.kind == FLOAT
            else None
        )
    if node.kind != FLOAT:
        return None
    value = constant_value(node, np.dtype(np.float64))
    return value.astype(object) if np.isfinite(value).all() else None


def _write(
    leaves: Sequence[Expr],
    roots: Sequence[Expr],
    entries: Mapping[Expr, np.ndarray],
    steps: Sequence[Expr],
) -> Source:
    source = Source("float64")
    values = [source.new("v") for _ in leaves]
    outs = [source.new("o") for _ in roots]
    source.add(f"def program({', '.join([*values, *(f'{out}=None' for out in outs)])}):", 0)
    for leaf, value in zip(leaves, values, strict=True):
        numbers = entries[leaf].ravel().tolist()
        for number in numbers:
            source.names[number] = source.new("e")
        flat = value if leaf.ndim == 1 else f"{value}.ravel()"
        taken = f"{flat}.tolist()" if leaf.shape else f"(float({value}),)"
        source.add(f"{', '.join(source.names[number] for number in numbers)}, = {taken}")
    for step in steps:
        text = source.on_floats(step)
        source.names[step] = source.new("e")
        source.add(f"{source.names[step]} = {text}")
    results = {root: [source.number(entry) for entry in entries[root].flat] for root in roots}
    for number, texts in enumerate(results.values()):
        source.add(f"size {'+=' if number else '='} {' + '.join(texts)}")
    source.add("if size - size != 0.0: return None")
    for root, out in zip(roots, outs, strict=True):
        if root.shape:
            stores = list(zip(np.ndindex(root.shape), results[root], strict=True))
            moving = [(place, text) for place, text in stores if text != _ZERO]
            if 2 * len(moving) < len(stores):
                source.add(f"if {out} is None: {out} = zeros({root.shape})")
                source.add(f"else: {out}[...] = 0.0")
                stores = moving
            else:
                source.add(f"if {out} is None: {out} = empty({root.shape})")
            for place, text in stores:
                source.add(f"{out}[{', '.join(map(str, place))}] = {text}")
        else:
            source.add(f"{out} = {source.scalar(FLOAT)}({results[root][0]})")
    source.add(f"return [{', '.join(outs)}]")
    return source
