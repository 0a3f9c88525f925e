"""Programs on small arrays, entry by entry: for a handful of entries Python's floats are several times as fast as NumPy's calls.

Operations that move, sum and multiply entries run on arrays of nodes of a graph of numbers, and so unroll themselves.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from gradcli.engine.graph import Expr, Graph, constant_value, reachable
from gradcli.engine.source import ON_FLOATS, Source
from gradcli.ops import products, reductions, shapes
from gradcli.ops.promotion import FLOAT

Unrolled = Callable[..., list[Any] | None]
_MOST = 64  # entries of an array
_CALL = 24  # additions of Python floats in the time of one operation of NumPy on a small array
_LONGEST = 10_000  # entries of all arrays: a longer program takes long to compile
_STRUCTURAL = frozenset((
    shapes.reshape, shapes.transpose, shapes.swapaxes, shapes.broadcast_to, shapes.getitem, shapes.scatter_add, shapes.sum_to,
    shapes.concatenate, shapes.stack, reductions.sum_, reductions.mean, products.matmul, products.dot, products.outer,
))  # fmt: skip


def unrolled(leaves: Sequence[Expr], roots: Sequence[Expr]) -> Unrolled | None:
    """A function of the leaves' values, and of arrays that take results, which gives the roots' values.

    It gives None where these are not all finite, and raises where Python's floats do. There is none for programs without arrays, with
    large ones, or with operations that floats do not have.
    """
    nodes = sorted(reachable([*leaves, *roots]), key=lambda node: node.op is not None)  # leaves may be of another graph
    known = all(node.op is None or node.op in ON_FLOATS or node.op in _STRUCTURAL for node in nodes)
    if not known or any(root.kind != FLOAT for root in roots):
        return None
    if all(not node.shape for node in nodes) or not all(0 < math.prod(node.shape) <= _MOST for node in nodes):
        return None
    calls = sum(node.op is not None for node in nodes)
    if sum(math.prod(node.shape) for node in nodes) > min(_CALL * calls + _MOST, _LONGEST):
        return None
    entries = _entries(nodes)
    if entries is None:
        return None
    steps = [node for node in reachable([entry for root in roots for entry in entries[root].flat]) if node.op is not None]
    if _work(steps) + 2 * sum(entries[root].size for root in roots) > _CALL * calls:
        return None
    return _written(leaves, roots, entries, steps)


def _work(steps: Sequence[Expr]) -> int:
    """About how many additions of Python's floats take the time of these operations."""
    return sum(3 if step.op is not None and step.op.kind == "smooth" else 1 for step in steps)


def _entries(nodes: Sequence[Expr]) -> dict[Expr, np.ndarray] | None:
    """The value of every node as an array of nodes that are numbers."""
    graph = Graph()
    numbers = np.frompyfunc(lambda entry: entry if isinstance(entry, Expr) else graph.constant(float(entry)), 1, 1)
    entries: dict[Expr, np.ndarray] = {}
    for node in nodes:
        op = node.op
        operands = [entries[operand] for operand in node.operands if operand is not None]
        if op is None:
            found: Any = _given(graph, node)
        elif op in ON_FLOATS:
            found = np.frompyfunc(lambda *numbers, op=op: graph.apply(op, numbers), len(operands), 1)(*operands)
        elif op is shapes.scatter_add:
            found = op.forward(operands[0][()], **node.static)  # a number, not an array without axes, is stored in an array of objects
        else:
            found = op.forward(*operands, **node.static)
        if found is None:
            return None
        entries[node] = np.asarray(numbers(np.asarray(found, object)), object)
    return entries


def _given(graph: Graph, node: Expr) -> Any:
    """The entries of a leaf or a constant, if all are finite floats."""
    if not node.is_constant:
        return np.frompyfunc(lambda _: graph.leaf("entry", ()), 1, 1)(np.zeros(node.shape)) if node.kind == FLOAT else None
    if node.kind != FLOAT:
        return None
    value = constant_value(node.payload, np.dtype(np.float64), FLOAT)
    return value.astype(object) if np.isfinite(value).all() else None


def _written(
    leaves: Sequence[Expr], roots: Sequence[Expr], entries: Mapping[Expr, np.ndarray], steps: Sequence[Expr]
) -> Unrolled | None:
    source = Source("float64", swift=True)
    values, outs = [source.new("v") for _ in leaves], [source.new("o") for _ in roots]
    source.add(f"def program({', '.join([*values, *(f'{out}=None' for out in outs)])}):", 0)
    for leaf, value in zip(leaves, values, strict=True):
        numbers = entries[leaf].ravel().tolist()
        for number in numbers:
            source.names[number] = source.new("e")
        flat = value if len(leaf.shape) == 1 else f"{value}.ravel()"
        taken = f"{flat}.tolist()" if leaf.shape else f"(float({value}),)"
        source.add(f"{', '.join(source.names[number] for number in numbers)}, = {taken}")
    for step in steps:
        text = source.on_floats(step)
        if text is None:
            return None
        source.names[step] = source.new("e")
        source.add(f"{source.names[step]} = {text}")
    results = {root: [source.number(entry) for entry in entries[root].flat] for root in roots}
    for number, texts in enumerate(results.values()):
        source.add(f"size {'+=' if number else '='} {' + '.join(texts)}")
    source.add("if size - size != 0.0: return None")
    for root, out in zip(roots, outs, strict=True):
        if root.shape:
            source.add(f"if {out} is None: {out} = empty({root.shape})")
            for place, text in zip(np.ndindex(root.shape), results[root], strict=True):
                source.add(f"{out}[{', '.join(map(str, place))}] = {text}")
        else:
            source.add(f"{out} = number({results[root][0]})")
    source.add(f"return [{', '.join(outs)}]")
    source.namespace["number"] = np.float64
    return source.compiled("program")
