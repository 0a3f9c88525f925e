"""Gradients of tensors: PyTorch's `backward` and `grad`, on passes over the nodes behind them."""

from __future__ import annotations

from collections.abc import Sequence
from operator import attrgetter
from typing import Any

import numpy as np

from gradcli.graph.nodes import reachable
from gradcli.graph.sweep import Parts, contributions, scale_guarded, sweep, varied_nodes
from gradcli.ops.arrays.shapes import transpose
from gradcli.ops.structure import clone, output
from gradcli.tensors.core import dtypes
from gradcli.tensors.core.dtypes import holds_halves, narrow_parts, set_constants, widen
from gradcli.tensors.core.in_place import cast
from gradcli.tensors.core.levels import (
    Batched,
    BatchLevel,
    Levels,
    all_along,
    along_level,
    at_level,
    enter_level,
    in_front,
    levels_of,
    physical,
    rewrap,
)
from gradcli.tensors.core.modes import ERRORS, IGNORED, state, warn, warn_once
from gradcli.tensors.core.node import Node, Watch, check_backward, torch_name, watch_pull
from gradcli.tensors.core.tensor import Tensor
from gradcli.tensors.core.trace import FREED, SECOND_TIME, saved_tensors

_DOUBLE, _SINGLE = np.dtype(np.float64), np.dtype(np.float32)
_watch = attrgetter("watch")

# -- What hooks make of gradients on their way, and how gradients arrive at leaves ----------------


def run_tensor_hooks(watch: Watch, cotangent: Any, create_graph: bool) -> Any:
    """Run hooks on a cotangent and return their result.

    It is kept if its tensor retains its gradient.
    """
    for hook in list(watch.hooks.values()):
        given = tensor_or_none(cotangent)
        replaced = hook(given)
        if replaced is not None:
            if not isinstance(replaced, Tensor):
                raise TypeError(f"expected Variable, but hook returned '{type(replaced).__name__}'")
            if replaced.shape != given.shape:
                name = getattr(hook, "__name__", "hook")
                raise RuntimeError(
                    f"hook '{name}' has changed the size of value. It is {replaced.shape}, not "
                    f"{given.shape}"
                )
            cotangent = replaced if create_graph else replaced.array
    tensor = None if watch.retained is None else watch.retained()
    if tensor is not None:
        add_to_grad(tensor, cotangent, create_graph)
    return cotangent


def tensor_or_none(part: Any) -> Any:
    return part if part is None or isinstance(part, Tensor) else Tensor(np.asarray(part))


def accumulate_at(leaf: Any, cotangent: Any, create_graph: bool) -> None:
    """Add to the gradient of the tensor behind a leaf, which hooks see before and after."""
    variable, watch = leaf.variable, leaf.watch
    if not (variable._requires_grad or variable.requires_grad):
        return
    add_to_grad(variable, cotangent, create_graph)
    for hook in [] if watch is None else list(watch.accumulated.values()):
        if hook(variable) is not None:
            raise RuntimeError("Tensor post accumulate grad hooks should return None.")


def _copy_gradient(cotangent: Tensor) -> Tensor:
    """Return a gradient's own copy, which may be differentiated again."""
    copy: Tensor = clone(cotangent)
    if copy.node is not None:
        copy.node.label = "CopyBackwards"
    return copy


def add_to_grad(variable: Tensor, cotangent: Any, create_graph: bool) -> None:
    """Accumulate: in place once there is a gradient, so that those who hold it see the sum."""
    before = variable._grad
    if create_graph:
        variable._grad = _copy_gradient(cotangent) if before is None else before + cotangent
    elif before is None:
        variable._grad = Tensor(np.array(cotangent))
    else:
        before.array += cotangent
        before._version_counter[0] += 1


# -- One backward pass over the nodes behind tensors: the one sweep, with what PyTorch does at
# nodes on the way.


def run(
    roots: Sequence[Node],
    seeds: Sequence[Any],
    targets: set[Node] | None,
    *,
    retain: bool,
    create_graph: bool,
    accumulate: bool,
) -> dict[Node, Any]:
    """Return the gradients of the targets, or add them to the ``grad`` of their leaves.

    targets     None for all leaves
    retain      nodes keep what they have saved
    accumulate  gradients are not asked for, but added to the leaves
    """
    order = reachable(roots)
    anomaly = state.anomaly
    tensors = create_graph or (
        state.interpreter is not None and any(isinstance(seed, Batched) for seed in seeds)
    )
    needed = set(order) if targets is None else varied_nodes(order, targets)
    if any(map(_watch, order)):
        order = _leaves_when_due(order, needed)
    found: dict[Node, Any] = {}
    seeds = [
        tensor_or_none(seed) if tensors else seed.array if isinstance(seed, Tensor) else seed
        for seed in seeds
    ]
    asked: Any = () if targets is None or accumulate else targets
    adjoints: dict[Node, Any] = {}
    is_needed = needed.__contains__

    def pull(node: Node, cotangent: Any) -> Sequence[Any]:
        op, watch = node.op, node.watch
        if tensors and not isinstance(cotangent, (Tensor, Parts)):  # a zero
            cotangent = Tensor(np.asarray(cotangent))
        if watch is not None:
            cotangent = run_tensor_hooks(watch, cotangent, create_graph)
        if op is None:
            if accumulate:
                accumulate_at(node, cotangent, create_graph)
            else:
                found[node] = cotangent
            return ()
        if node in asked:
            found[node] = cotangent
        wanted = tuple(map(is_needed, node.operands))
        if True not in wanted:
            return ()
        values = _take_saved(node, retain)
        kind = node.dtype
        if tensors:
            # A user's rule sets its own dtype.
            set_constants(None if op.always else kind[0] if isinstance(kind, tuple) else kind)
            if op is not output:  # `output`, which picks a result, saves nothing
                values = saved_tensors(node, values)
        if (
            kind is _SINGLE
            or kind is _DOUBLE
            or tensors
            or op is output
            or op.always
            or not holds_halves(kind)
        ):
            parts = contributions(node, wanted, cotangent, values, scale_guarded)
            if state.invalid and not tensors and op.partials is not None and not cotangent.all():
                _tell_lost(node)
            state.invalid = False
        else:
            wide = contributions(
                node, wanted, widen(cotangent), [widen(value) for value in values], scale_guarded
            )
            parts = narrow_parts(wide, node.operands) if wide else wide
        # No operand has a contribution: it gets zeros, unless others arrive.
        if not parts or op.kind == "flat":
            parts = [
                np.zeros(operand.shape, operand.dtype)
                if operand is not None and want and operand not in adjoints
                else None
                for operand, want in zip(node.operands, wanted, strict=True)
            ]
        elif anomaly and op is not output:
            check_backward(node, parts)
        return parts

    for place, node in enumerate(roots):
        if node in needed:
            adjoints[node] = seeds[place] if node not in adjoints else adjoints[node] + seeds[place]
    recording = state.recording
    errors = ERRORS.set(IGNORED)
    state.recording = create_graph
    constants = set_constants(None) if tensors else None
    try:
        sweep(
            order,
            adjoints,
            watch_pull(pull) if anomaly else pull,
            _cast_tensor if tensors else _cast_array,
        )
    finally:
        ERRORS.reset(errors)
        state.recording = recording
        if tensors:
            set_constants(constants)
    return found


def _take_saved(node: Node, retain: bool) -> Sequence[Any]:
    """Return what a node has saved, which it keeps only if it is to be retained.

    Raises RuntimeError if it has let go of that, or if that was written to.
    """
    values: Sequence[Any] = node.saved
    if values is FREED:
        raise RuntimeError(f"{SECOND_TIME} The first one of these values is that of {node.label}.")
    if node.versions is not None:
        for counter, version, place in node.versions:
            if counter[0] != version:
                raise RuntimeError(_modified_message(node, place, counter[0], version))
        if not retain:
            node.saved = FREED
    return values


def _tell_lost(node: Node) -> None:
    """Warn of a zero gradient that has met an infinite derivative, which tensors take for 0."""
    message = (
        f"{node.label}: a zero gradient meets a derivative that is not finite, and 0 is passed on; "
        "that is wrong unless the gradient stays zero around the point, and PyTorch has nan"
    )
    if state.anomaly and state.nan_checks:
        raise RuntimeError(message)
    warn(message, RuntimeWarning)


def _leaves_when_due(order: Sequence[Node], needed: set[Node]) -> list[Node]:
    """Return an order in which a leaf's turn comes as soon as its gradient is complete.

    The leaf's hooks can tell the difference.
    """
    due: dict[Node, list[Node]] = {}
    placed = set()
    for node in order:  # in this order, the first user of a leaf is the last to contribute to it
        for operand in node.operands if node in needed else ():
            if operand is not None and operand.op is None and operand not in placed:
                placed.add(operand)
                due.setdefault(node, []).append(operand)
    found: list[Node] = []
    for node in order:
        if node not in placed:
            found += [*reversed(due.get(node, ())), node]
    return found


def _cast_array(part: Any, operand: Node) -> Any:
    return part if part.dtype == operand.dtype else part.astype(operand.dtype)


def _cast_tensor(part: Any, operand: Node) -> Any:
    if not isinstance(part, Tensor):
        return Tensor(_cast_array(np.asarray(part), operand))
    return part if part.array.dtype == operand.dtype else cast(part, operand.dtype)


def _modified_message(node: Node, place: int, version: int, expected: int) -> str:
    kind = (
        dtypes.of_numpy(node.dtype).tensor_type
        if not isinstance(node.dtype, tuple)
        else "FloatTensor"
    )
    source = node if place == 0 else node.operands[place - 1]
    name = (
        ""
        if source is None or source.op is None
        else f", which is output 0 of {torch_name(source)},"
    )
    hint = (
        "the backtrace further above shows the operation that failed to compute its gradient. The "
        "variable in question was changed in "
        "there or anywhere later. Good luck!"
        if state.anomaly
        else "enable anomaly detection to find the operation that failed to compute its gradient, "
        "with "
        "torch.autograd.set_detect_anomaly(True, check_nan=False)."
    )
    return (
        "one of the variables needed for gradient computation has been modified by an inplace "
        "operation: "
        f"[torch.{kind} {list(node.saved[place].shape)}]{name} is at version {version}; expected "
        f"version {expected} instead. Hint: {hint} "
        f"It was saved by {node.label}; a clone() of it may be modified."
    )


# -- Vector-Jacobian products of tensors that are batched: products of those that are not.


def of_batch(
    ys: Sequence[Tensor],
    xs: Sequence[Tensor],
    seeds: Sequence[Any],
    retain: bool,
    create_graph: bool,
) -> list[Tensor | None]:
    """Pull back batched tensors: the graph is that of the physical ones.

    Seeds that are batched along further levels stay so.
    """
    for x in xs:
        if not set(levels_of(ys)) <= set(levels_of([x])):
            raise RuntimeError(
                "vmap: the gradient by a tensor that all examples share would be summed over "
                "them; take it by torch.func.grad, which gives "
                "each example its own"
            )
    given = [
        all_along(tensor_or_none(seed), levels_of([y])) for y, seed in zip(ys, seeds, strict=True)
    ]
    found = products([*map(physical, ys)], [*map(physical, xs)], given, retain, create_graph)
    return [_examples(part, levels_of([x])) for x, part in zip(xs, found, strict=True)]


def _examples(x: Any, levels: Levels) -> Any:
    """Return a tensor as one example of several levels sees it.

    Its first axes have the levels' examples.
    """
    every = (*levels_of([x]), *levels)
    order = sorted(range(len(every)), key=every.__getitem__)
    whole = physical(x)
    if order != sorted(order):
        whole = transpose(whole, axes=(*order, *range(len(order), whole.ndim)))
    return rewrap(whole, tuple(every[place] for place in order))


_CYCLE = (
    "Using backward() with create_graph=True will create a reference cycle between the parameter "
    "and its gradient which can cause a memory "
    "leak. We recommend using autograd.grad when creating the graph to avoid this. If you have to "
    "use this function, make sure to reset "
    "the .grad fields of your parameters to None after use to break the cycle and avoid the leak."
)


def backward(
    tensors: Any,
    grad_tensors: Any = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    *,
    inputs: Any = None,
) -> None:
    """Add vector-Jacobian products to the ``grad`` of leaves (or of ``inputs`` only)."""
    outputs = _sequence(tensors)
    if inputs is not None:
        inputs = _sequence(inputs)
        if not inputs:
            raise RuntimeError("`inputs` argument to `backward()` cannot be empty.")
        for x in inputs:
            if isinstance(x, Tensor) and x.node is not None:
                x.retain_grad()
    roots, seeds = _roots(outputs, grad_tensors, create_graph)
    if create_graph:
        warn_once(_CYCLE)
    create_graph = create_graph or state.forward
    targets = None if inputs is None else {x.gradient_node() for x in inputs}
    seeds = [
        in_front(tensor_or_none(s), y.levels, full=True) if isinstance(y, Batched) else s
        for y, s in zip(outputs, seeds, strict=True)
    ]
    run(
        roots,
        seeds,
        targets,
        retain=create_graph if retain_graph is None else retain_graph,
        create_graph=create_graph,
        accumulate=True,
    )


def backward_of(
    output: Tensor,
    gradient: Any = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    inputs: Any = None,
) -> None:
    """Add a vector-Jacobian product to the ``grad`` of every leaf.

    It is the product with ``gradient``, which is 1 for a scalar.
    """
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
    """Return the vector-Jacobian products with respect to inputs, without adding them up."""
    if is_grads_batched:
        return batched_grad(
            outputs,
            inputs,
            grad_outputs,
            retain_graph,
            create_graph,
            allow_unused,
            materialize_grads,
        )
    create_graph = create_graph or state.forward
    ys, xs = _sequence(outputs), _sequence(inputs)
    if not xs:
        raise RuntimeError("`inputs` argument to `grad()` cannot be empty.")
    if materialize_grads and allow_unused is False:
        raise ValueError(
            "Expected allow_unused to be True or not passed when materialize_grads=True, but got: "
            "allow_unused=False."
        )
    _, seeds = _roots(ys, grad_outputs, create_graph)
    for x in xs:
        if not x.requires_grad:
            raise RuntimeError("One of the differentiated Tensors does not require grad")
    parts = products(
        ys, xs, seeds, create_graph if retain_graph is None else retain_graph, create_graph
    )
    for i, (x, part) in enumerate(zip(xs, parts, strict=True)):
        if part is None and materialize_grads:
            parts[i] = Tensor(np.zeros(x.array.shape, x.array.dtype), requires_grad=create_graph)
        elif part is None and not allow_unused:
            raise RuntimeError(
                f"The differentiated Tensor at index {i} appears to not have been used in the "
                "graph. Set allow_unused=True if this is the "
                f"desired behavior. It has the shape {x.shape}"
            )
    return tuple(parts)


def products(
    ys: Sequence[Tensor],
    xs: Sequence[Tensor],
    seeds: Sequence[Any],
    retain: bool,
    create_graph: bool,
) -> list[Tensor | None]:
    """Return the vector-Jacobian products with respect to each x.

    A product is None if nothing depends on its x.
    """
    if any(isinstance(x, Batched) for x in (*ys, *xs)):
        return of_batch(ys, xs, seeds, retain, create_graph)
    nodes = [x.gradient_node() for x in xs]
    found = run(
        [y.gradient_node() for y in ys],
        seeds,
        set(nodes),
        retain=retain,
        create_graph=create_graph,
        accumulate=False,
    )
    parts = [found.get(node) for node in nodes]
    return [
        p if p is None or isinstance(p, Tensor) else Tensor(np.array(p, x.array.dtype))
        for p, x in zip(parts, xs, strict=True)
    ]


def _sequence(tensors: Any) -> list[Any]:
    return [tensors] if isinstance(tensors, Tensor) else list(tensors)


def _roots(
    outputs: Sequence[Tensor], given: Any, create_graph: bool
) -> tuple[list[Node], list[Any]]:
    """Return the nodes of results, and the gradients that a pass starts with.

    These gradients are the given ones, or 1.
    """
    gradients = None if given is None else _sequence(given)
    if gradients is not None and len(gradients) != len(outputs):
        raise RuntimeError(f"got {len(outputs)} tensors and {len(gradients)} gradients")
    roots, seeds = [], []
    for place, y in enumerate(outputs):
        root = y.source()
        array = y.array
        gradient = gradients and gradients[place]
        if root is None:
            raise RuntimeError(
                f"element {place} of tensors does not require grad and does not have a grad_fn. "
                "Nothing that it was made of has "
                "requires_grad=True, or it was made under torch.no_grad()"
            )
        if gradient is not None:
            seed = _seed(place, y, gradient, create_graph)
        elif array.size == 1:
            seed = np.array(1, array.dtype, ndmin=array.ndim)
        else:
            raise RuntimeError(
                "grad can be implicitly created only for scalar outputs. This one has the shape "
                f"{y.shape}: "
                "give backward(gradient=...) of that shape, or take .sum()"
            )
        roots.append(root)
        seeds.append(seed)
    return roots, [*map(tensor_or_none, seeds)] if create_graph else seeds


def _seed(i: int, output: Tensor, gradient: Any, create_graph: bool) -> Any:
    """Return the gradient that is given for a result."""
    array = output.array
    if not isinstance(gradient, Tensor):
        raise TypeError(
            f"gradients can be either Tensors or None, but got {type(gradient).__name__}"
        )
    if gradient.array.shape != array.shape:
        raise RuntimeError(
            f"Mismatch in shape: grad_output[{i}] has a shape of {gradient.shape} and output[{i}] "
            f"has a shape of {output.shape}."
        )
    if state.interpreter is not None:
        return gradient.to(output.dtype)
    cast = gradient.array.dtype != array.dtype
    return gradient if create_graph and not cast else gradient.array.astype(array.dtype)


def batched_grad(
    outputs: Any, inputs: Any, grad_outputs: Any, retain_graph: bool | None, create_graph: bool, allow_unused: bool | None,
    materialize_grads: bool,
) -> tuple[Tensor | None, ...]:  # fmt: skip
    """`grad` of each of many gradients of the outputs, which stand along a first axis, at once."""
    seeds = _sequence(grad_outputs)
    sizes = {len(seed) for seed in seeds if seed is not None}
    if len(sizes) != 1:
        raise RuntimeError(
            "is_grads_batched=True: the gradients must have one first axis, not of "
            f"{sorted(sizes)} entries"
        )
    level = BatchLevel(sizes.pop())
    with enter_level(level):
        rows = [None if seed is None else at_level(seed, level) for seed in seeds]
        found = grad(
            outputs,
            inputs,
            rows,
            retain_graph,
            create_graph,
            True,
            allow_unused,
            materialize_grads=materialize_grads,
        )
        return tuple(None if part is None else along_level(part, level) for part in found)
