"""The backward pass over the nodes behind tensors: PyTorch's `backward` and `grad` on the one sweep."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from gradcli.graph.nodes import reachable
from gradcli.graph.sweep import contributions, depending, guarded, sweep
from gradcli.ops.structure import clone, output
from gradcli.tensors.core import dtypes
from gradcli.tensors.core.anomaly import check_backward
from gradcli.tensors.core.batched import Batched, BatchLevel, along_level, at_level
from gradcli.tensors.core.casts import cast
from gradcli.tensors.core.levels import Entered, innermost
from gradcli.tensors.core.levels_backward import of_batch, of_moving
from gradcli.tensors.core.modes import state
from gradcli.tensors.core.node import AccumulateGrad, Node, Watch
from gradcli.tensors.core.saved_values import FREED, SECOND_TIME, saved_tensors
from gradcli.tensors.core.tensor import Tensor


def backward(
    tensors: Any, grad_tensors: Any = None, retain_graph: bool | None = None, create_graph: bool = False, grad_variables: Any = None,
    inputs: Any = None,
) -> None:  # fmt: skip
    """Add vector-Jacobian products to the ``grad`` of leaves (or of ``inputs`` only)."""
    gradients = grad_tensors if grad_variables is None else grad_variables
    outputs = _sequence(tensors)
    if inputs is not None:
        inputs = _sequence(inputs)
        if not inputs:
            raise RuntimeError("`inputs` argument to `backward()` cannot be empty.")
    seeds = _seeds(outputs, gradients, create_graph)
    targets = None if inputs is None else {_target(x): x for x in inputs}
    found = _run(outputs, seeds, targets, retain_graph, create_graph)
    if targets is None:
        return
    for node, x in targets.items():
        if node in found and not x.retains_grad:  # which has been added already
            add_to_grad(x, found[node], create_graph)
            if node.watch is not None:
                _after_accumulation(x, node.watch)


def backward_of(
    output: Tensor, gradient: Any = None, retain_graph: bool | None = None, create_graph: bool = False, inputs: Any = None
) -> None:
    """Add the vector-Jacobian product with ``gradient`` (1 for a scalar) to the ``grad`` of every leaf."""
    backward(output, gradient, retain_graph, create_graph, inputs=inputs)


def grad(
    outputs: Any,
    inputs: Any,
    grad_outputs: Any = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    only_inputs: bool = True,
    allow_unused: bool | None = None,
    is_grads_batched: bool = False,
    materialize_grads: bool = False,
) -> tuple[Tensor | None, ...]:
    """The vector-Jacobian products with respect to inputs, added to nothing."""
    if is_grads_batched:
        return batched_grad(outputs, inputs, grad_outputs, retain_graph, create_graph, allow_unused, materialize_grads)
    ys, xs = _sequence(outputs), _sequence(inputs)
    if not xs:
        return ()
    if materialize_grads and allow_unused is False:
        raise ValueError("Expected allow_unused to be True or not passed when materialize_grads=True, but got: allow_unused=False.")
    seeds = _seeds(ys, grad_outputs, create_graph)
    for x in xs:
        if not x.requires_grad:
            raise RuntimeError("One of the differentiated Tensors does not require grad")
    parts = products(ys, xs, seeds, create_graph if retain_graph is None else retain_graph, create_graph)
    results: list[Tensor | None] = []
    for i, (x, found) in enumerate(zip(xs, parts, strict=True)):
        part = found
        if part is None and not (allow_unused or materialize_grads):
            raise RuntimeError(
                f"The differentiated Tensor at index {i} appears to not have been used in the graph. Set allow_unused=True if this is the "
                f"desired behavior. It has the shape {x.shape}"
            )
        if part is None and materialize_grads:
            part = Tensor(np.zeros(x.array.shape, x.array.dtype), requires_grad=create_graph)
        results.append(part)
    return tuple(results)


def products(ys: Sequence[Tensor], xs: Sequence[Tensor], seeds: Sequence[Any], retain: bool, create_graph: bool) -> list[Tensor | None]:
    """The vector-Jacobian products with respect to each x, None where nothing depends on it."""
    if state.interpreter is not None:
        place = innermost((*ys, *seeds))
        if any(isinstance(x, Batched) for x in (*ys, *xs)):
            return of_batch(products, ys, xs, seeds, retain, create_graph)
        if place is not None:
            return of_moving(products, ys, xs, seeds, retain, create_graph, place)
    found = _run(ys, seeds, {_target(x): x for x in xs}, retain, create_graph)
    parts = [found.get(_target(x)) for x in xs]
    return [p if p is None or isinstance(p, Tensor) else Tensor(np.array(p, x.array.dtype)) for p, x in zip(parts, xs, strict=True)]


def _sequence(tensors: Any) -> list[Any]:
    return [tensors] if isinstance(tensors, Tensor) else list(tensors)


def _target(x: Tensor) -> Node:
    return x.gradient_node()


def _seeds(outputs: Sequence[Tensor], given: Any, create_graph: bool) -> list[Any]:
    gradients = [None] * len(outputs) if given is None else _sequence(given)
    if len(gradients) != len(outputs):
        raise RuntimeError(f"got {len(outputs)} tensors and {len(gradients)} gradients")
    seeds = [_seed(i, output, gradients[i], create_graph) for i, output in enumerate(outputs)]
    return [Tensor(s) if not isinstance(s, Tensor) else s for s in seeds] if create_graph else seeds


def _seed(i: int, output: Tensor, gradient: Any, create_graph: bool) -> Any:
    if not output.requires_grad:
        raise RuntimeError(
            f"element {i} of tensors does not require grad and does not have a grad_fn: nothing that it was made of has "
            "requires_grad=True, or it was made under torch.no_grad()"
        )
    array = output.array
    if gradient is None:
        if array.size != 1:
            raise RuntimeError(
                f"grad can be implicitly created only for scalar outputs; this one has the shape {output.shape}: "
                "give backward(gradient=...) of that shape, or take .sum()"
            )
        return np.array(1, array.dtype, ndmin=array.ndim)
    if not isinstance(gradient, Tensor):
        raise TypeError(f"gradients can be either Tensors or None, but got {type(gradient).__name__}")
    if gradient.array.shape != array.shape:
        raise RuntimeError(
            f"Mismatch in shape: grad_output[{i}] has a shape of {gradient.shape} and output[{i}] has a shape of {output.shape}."
        )
    if state.interpreter is not None:
        return gradient.to(output.dtype)
    cast = gradient.array.dtype != array.dtype
    return gradient if create_graph and not cast else gradient.array.astype(array.dtype)


def _run(
    outputs: Sequence[Tensor],
    seeds: Sequence[Any],
    targets: dict[Node, Tensor] | None,
    retain_graph: bool | None,
    create_graph: bool,
) -> dict[Node, Any]:
    retain = create_graph if retain_graph is None else retain_graph
    roots = [output.gradient_node() for output in outputs]
    order = reachable(roots)
    needed = set(order) if targets is None else depending(order, targets)
    found: dict[Node, Any] = {}
    tensors = create_graph or any(isinstance(seed, Batched) for seed in seeds)
    if tensors:
        seeds = [seed if isinstance(seed, Tensor) else Tensor(seed) for seed in seeds]
    elif state.interpreter is not None:
        seeds = [seed.array if isinstance(seed, Tensor) else seed for seed in seeds]

    def arrived(node: Node, cotangent: Any) -> Any:
        if tensors and not isinstance(cotangent, Tensor):
            cotangent = Tensor(np.asarray(cotangent))
        watch = node.watch
        if watch is not None:
            cotangent = _seen(watch, cotangent, create_graph)
        if targets is not None:
            if node in targets:
                found[node] = cotangent
        elif isinstance(node, AccumulateGrad) and node.variable._requires_grad:
            add_to_grad(node.variable, cotangent, create_graph)
            if watch is not None:
                _after_accumulation(node.variable, watch)
        return cotangent

    adjoints: dict[Node, Any] = {}
    asked: Any = () if targets is None else targets
    is_needed = needed.__contains__

    def pull(node: Node, cotangent: Any) -> Sequence[Any]:
        op = node.op
        if op is None or node.watch is not None or node in asked:
            cotangent = arrived(node, cotangent)
            if op is None:
                return ()
        wanted = tuple(map(is_needed, node.operands))
        if True not in wanted:
            return ()
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
        parts = contributions(node, wanted, cotangent, values, guarded)
        if not parts or op.kind == "flat":  # nothing that depends on the operands: zeros, if nothing else arrives
            return [None if o is None or o not in needed or o in adjoints else _zeros(o) for o in node.operands]
        if check is not None and op is not output:
            check(node, parts)
        return parts

    for node, seed in zip(roots, seeds, strict=True):
        if node in needed:
            adjoints[node] = seed if node not in adjoints else adjoints[node] + seed
    check: Any = None
    if state.anomaly:
        check = check_backward
    recording = state.recording
    state.recording = create_graph
    try:
        with np.errstate(all="ignore"):
            sweep(order, adjoints, pull, _cast_tensor if tensors else _cast)
    finally:
        state.recording = recording
    return found


def batched_grad(
    outputs: Any, inputs: Any, grad_outputs: Any, retain_graph: bool | None, create_graph: bool, allow_unused: bool | None,
    materialize_grads: bool,
) -> tuple[Tensor | None, ...]:  # fmt: skip
    """`grad` of each of many gradients of the outputs, which stand along a first axis, at once."""
    seeds = _sequence(grad_outputs)
    sizes = {len(seed) for seed in seeds if seed is not None}
    if len(sizes) != 1:
        raise RuntimeError(f"is_grads_batched=True: the gradients must have one first axis, not of {sorted(sizes)} entries")
    level = BatchLevel(sizes.pop())
    with Entered(batch=level):
        rows = [None if seed is None else at_level(seed, level) for seed in seeds]
        found = grad(outputs, inputs, rows, retain_graph, create_graph, True, allow_unused, materialize_grads=materialize_grads)
        return tuple(None if part is None else along_level(part, level) for part in found)


def _zeros(operand: Node) -> np.ndarray:
    return np.zeros(operand.shape, operand.dtype)


def _cast(part: Any, operand: Node) -> Any:
    return part if part.dtype == operand.dtype else part.astype(operand.dtype)


def _cast_tensor(part: Any, operand: Node) -> Any:
    if not isinstance(part, Tensor):
        return Tensor(_cast(np.asarray(part), operand))
    return part if part.array.dtype == operand.dtype else cast(part, operand.dtype)


def _seen(watch: Watch, cotangent: Any, create_graph: bool) -> Any:
    """The cotangent that hooks make of one, which is kept if its tensor retains its gradient."""
    for hook in list(watch.hooks.values()):
        seen = cotangent if isinstance(cotangent, Tensor) else Tensor(np.asarray(cotangent))
        replaced = hook(seen)
        if replaced is not None:
            if not isinstance(replaced, Tensor):
                raise TypeError(f"expected Variable, but hook returned '{type(replaced).__name__}'")
            if replaced.array.shape != seen.array.shape:
                raise RuntimeError(
                    f"hook '{getattr(hook, '__name__', 'hook')}' has changed the size of value: {replaced.shape} for {seen.shape}"
                )
            cotangent = replaced if create_graph else replaced.array
    tensor = None if watch.retained is None else watch.retained()
    if tensor is not None:
        add_to_grad(tensor, cotangent, create_graph)
    return cotangent


def _after_accumulation(variable: Tensor, watch: Watch) -> None:
    for hook in list(watch.post_hooks.values()):
        hook(variable)


def _copied(cotangent: Tensor) -> Tensor:
    """A gradient of one's own, which may be differentiated again."""
    copy: Tensor = clone(cotangent)
    if copy.node is not None:
        copy.node.label = "CopyBackwards"
    return copy


def add_to_grad(variable: Tensor, cotangent: Any, create_graph: bool) -> None:
    """Accumulate: in place once there is a gradient, so that those who hold it see the sum."""
    before = variable._grad
    if create_graph:
        variable._grad = _copied(cotangent) if before is None else before + cotangent
    elif before is None:
        variable._grad = Tensor(np.array(cotangent))
    else:
        before.array += cotangent
        before._version_counter[0] += 1


def _modified(node: Node, place: int, version: int, expected: int) -> str:
    kind = dtypes.of_numpy(node.dtype).tensor_type if not isinstance(node.dtype, tuple) else "FloatTensor"
    source = node if place == 0 else node.operands[place - 1]
    what = "" if source is None or isinstance(source, AccumulateGrad) else f", which is output 0 of {source.label},"
    return (
        "one of the variables needed for gradient computation has been modified by an inplace operation: "
        f"[torch.{kind} {list(node.saved[place].shape)}]{what} is at version {version}; expected version {expected} instead. It was saved "
        f"by {node.label}. Hint: clone the tensor before modifying it, or enable anomaly detection with "
        "torch.autograd.set_detect_anomaly(True)."
    )
