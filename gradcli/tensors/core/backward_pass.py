"""One backward pass over the nodes behind tensors: the one sweep, with what PyTorch does at nodes on the way."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from gradcli.graph.nodes import reachable
from gradcli.graph.sweep import Parts, contributions, depending, guarded, sweep
from gradcli.ops.arrays.shapes import sum_to
from gradcli.ops.structure import output
from gradcli.tensors.core import dtypes
from gradcli.tensors.core.anomaly import check_backward, watched
from gradcli.tensors.core.batched import Batched
from gradcli.tensors.core.casts import cast
from gradcli.tensors.core.halves import holds_halves, narrowed, widened
from gradcli.tensors.core.hook_calls import accumulated, add_to_grad, as_tensor, passed_on, prepared, seen
from gradcli.tensors.core.modes import state
from gradcli.tensors.core.node import AccumulateGrad, Node, named
from gradcli.tensors.core.saved_values import FREED, SECOND_TIME, saved_tensors
from gradcli.tensors.core.tensor import Tensor


def run(
    roots: Sequence[Node], seeds: Sequence[Any], targets: set[Node] | None, *, retain: bool, create_graph: bool, accumulate: bool
) -> dict[Node, Any]:
    """The gradients of the targets; or they are added to the ``grad`` of the leaves among them.

    targets     None for all leaves
    retain      nodes keep what they have saved
    accumulate  gradients are not asked for, but added to the leaves
    """
    order = reachable(roots)
    needed = set(order) if targets is None else depending(order, targets)
    if any(node.op is None and node.watch is not None for node in order):
        order = _leaves_when_due(order, needed)
    found: dict[Node, Any] = {}
    transformed = state.interpreter is not None
    tensors = create_graph or (transformed and any(isinstance(seed, Batched) for seed in seeds))
    if tensors:
        seeds = [seed if isinstance(seed, Tensor) else Tensor(seed) for seed in seeds]
    elif transformed:
        seeds = [seed.array if isinstance(seed, Tensor) else seed for seed in seeds]
    asked: Any = () if targets is None or accumulate else targets

    def arrived(node: Node, cotangent: Any) -> Any:
        if tensors and not isinstance(cotangent, (Tensor, Parts)):
            cotangent = Tensor(np.asarray(cotangent))
        watch = node.watch
        if watch is not None:
            cotangent = seen(watch, cotangent, create_graph)
        if node in asked:
            found[node] = cotangent
        elif accumulate and isinstance(node, AccumulateGrad) and node.variable.requires_grad:
            if watch is None:
                add_to_grad(node.variable, cotangent, create_graph)
            else:
                accumulated(node, cotangent, create_graph)
        return cotangent

    adjoints: dict[Node, Any] = {}
    is_needed = needed.__contains__

    def pull(node: Node, cotangent: Any) -> Sequence[Any]:
        op, watch = node.op, node.watch
        if op is None or watch is not None or node in asked:
            cotangent = arrived(node, cotangent)
            if op is None:
                return ()
        wanted = tuple(map(is_needed, node.operands))
        if True not in wanted:
            if accumulate and watch is not None and watch.before:
                prepared(watch.before, cotangent, tensors)
            return ()
        if watch is not None and watch.before:
            cotangent = prepared(watch.before, cotangent, tensors)
        saved: Sequence[Any] = node.saved
        if saved is FREED:
            raise RuntimeError(f"{SECOND_TIME} The first one of these values is that of {node.label}.")
        if node.versions is not None:
            for counter, version, place in node.versions:
                if counter[0] != version:
                    raise RuntimeError(_modified(node, place, counter[0], version))
            if not retain:
                node.saved = FREED
        values = saved_tensors(node, saved) if tensors and op is not output else saved  # one of several results keeps nothing
        if tensors:
            kind = node.dtype[0] if isinstance(node.dtype, tuple) else node.dtype
            dtypes.set_constants(None if op.always else kind)  # a user's rule has its own
        if tensors or op is output or op.always or not holds_halves(node.dtype):
            parts = contributions(node, wanted, cotangent, values, guarded)
        else:
            parts = contributions(node, wanted, widened(cotangent), [widened(value) for value in values], guarded)
            parts = narrowed(parts, node.operands) if parts else parts
        if not parts or op.kind == "flat":  # nothing that depends on the operands: zeros, if nothing else arrives
            parts = [None if o is None or o not in needed or o in adjoints else _zeros(o) for o in node.operands]
        elif check is not None and op is not output:
            check(node, parts)
        return parts if watch is None or not watch.after else passed_on(watch.after, node, parts, cotangent, tensors)

    for node, seed in zip(roots, seeds, strict=True):
        if node in needed:
            adjoints[node] = seed if node not in adjoints else adjoints[node] + seed
    check: Any = None
    if state.anomaly:
        check = check_backward
    recording, constants = state.recording, dtypes.set_constants(None)
    state.recording = create_graph
    try:
        with np.errstate(all="ignore"):
            sweep(order, adjoints, watched(pull) if state.anomaly else pull, _cast_tensor if tensors else _cast)
    finally:
        state.recording = recording
        dtypes.set_constants(constants)
    return found


def _leaves_when_due(order: Sequence[Node], needed: set[Node]) -> list[Node]:
    """The order in which a leaf's turn comes as soon as its gradient is complete, as its hooks can tell."""
    due: dict[Node, list[Node]] = {}
    placed = set()
    for node in order:  # the first that takes a leaf is the last that passes something to it
        for operand in node.operands if node in needed else ():
            if operand is not None and operand.op is None and operand not in placed:
                placed.add(operand)
                due.setdefault(node, []).append(operand)
    found: list[Node] = []
    for node in order:
        if node not in placed:
            found += [*reversed(due.get(node, ())), node]
    return found


def _zeros(operand: Node) -> np.ndarray:
    return np.zeros(operand.shape, operand.dtype)


def _cast(part: Any, operand: Node) -> Any:
    return part if part.dtype == operand.dtype else part.astype(operand.dtype)


def _cast_tensor(part: Any, operand: Node) -> Any:
    if not isinstance(part, Tensor):
        return Tensor(_cast(np.asarray(part), operand))
    return part if part.array.dtype == operand.dtype else cast(part, operand.dtype)


def called(node: Node, *gradients: Any) -> Any:
    """What one node passes on: a Tensor (or None) for each of its `next_functions`, a single one as it is."""
    count = 1 if node.op is None else node.op.outputs
    if len(gradients) != count:
        raise TypeError(f"expected {count} arguments, got {len(gradients)} instead")
    for gradient in gradients:
        if gradient is not None and not isinstance(gradient, Tensor):
            raise TypeError(f"expected Tensor or None, but got {type(gradient).__name__}")
    if isinstance(node, AccumulateGrad):
        accumulated(node, gradients[0], create_graph=False)
        return ()
    if node.saved is FREED:
        raise RuntimeError(SECOND_TIME)
    cotangent: Any = gradients[0]
    if count > 1:
        cotangent = Parts(gradients)
        cotangent.shape, cotangent.dtype = node.shape, node.dtype
    wanted = tuple([operand is not None for operand in node.operands])
    parts = contributions(node, wanted, cotangent, saved_tensors(node, node.saved), guarded)
    fitted = [
        None if part is None or operand is None else as_tensor(part if part.shape == operand.shape else sum_to(part, shape=operand.shape))
        for part, operand in zip(parts or [None] * len(node.operands), node.operands, strict=True)
    ]
    return fitted[0] if len(fitted) == 1 else tuple(fitted)


Node.__call__ = called  # type: ignore[method-assign, assignment]  # the rule runs in the room of the pass


def _modified(node: Node, place: int, version: int, expected: int) -> str:
    kind = dtypes.of_numpy(node.dtype).tensor_type if not isinstance(node.dtype, tuple) else "FloatTensor"
    source = node if place == 0 else node.operands[place - 1]
    name = "" if source is None or isinstance(source, AccumulateGrad) else f", which is output 0 of {named(source)},"
    hint = (
        "the backtrace further above shows the operation that failed to compute its gradient. The variable in question was changed in "
        "there or anywhere later. Good luck!"
        if state.anomaly
        else "enable anomaly detection to find the operation that failed to compute its gradient, with "
        "torch.autograd.set_detect_anomaly(True, check_nan=False)."
    )
    return (
        "one of the variables needed for gradient computation has been modified by an inplace operation: "
        f"[torch.{kind} {list(node.saved[place].shape)}]{name} is at version {version}; expected version {expected} instead. Hint: {hint} "
        f"It was saved by {node.label}; a clone() of it may be modified."
    )
