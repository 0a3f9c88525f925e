"""What a transformation makes of a function's arguments: inputs of their own, which derivatives are taken by."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from gradcli.graph.nodes import reachable
from gradcli.ops.arrays.shapes import broadcast_to
from gradcli.tensors.core.batched import Batched, spread
from gradcli.tensors.core.modes import state
from gradcli.tensors.core.node import AccumulateGrad, Node
from gradcli.tensors.core.tensor import Tensor
from gradcli.tensors.transforms.pytrees import flatten

Argnums = int | tuple[int, ...]


def chosen(argnums: Any, arguments: Sequence[Any]) -> tuple[int, ...]:
    """The places of the arguments that a derivative is taken by."""
    if not isinstance(argnums, (int, tuple)) or isinstance(argnums, bool):
        raise RuntimeError(f"argnums must be int or Tuple[int, ...], got: {type(argnums)}")
    places = (argnums,) if isinstance(argnums, int) else argnums
    if not places:
        raise RuntimeError("argnums must be non-empty")
    for place in places:
        if not isinstance(place, int):
            raise RuntimeError(f"argnum must be int, got: {type(place)}")
        if not -len(arguments) <= place < len(arguments):
            raise RuntimeError(f"Got argnum={place}, but only {len(arguments)} positional inputs")
    if len({place % len(arguments) for place in places}) != len(places):
        raise RuntimeError(f"argnums elements must be unique, got {argnums}")
    return tuple([place % len(arguments) for place in places])


def selected(argnums: Argnums, arguments: Sequence[Any]) -> Any:
    """The arguments that a derivative is taken by, as one tree."""
    places = chosen(argnums, arguments)
    return arguments[places[0]] if isinstance(argnums, int) else tuple([arguments[place] for place in places])


def replaced(argnums: Argnums, arguments: Sequence[Any], tree: Any) -> tuple[Any, ...]:
    """All arguments, with these in the place of those that a derivative is taken by."""
    found = list(arguments)
    for place, part in zip(chosen(argnums, arguments), (tree,) if isinstance(argnums, int) else tree, strict=True):
        found[place] = part
    return tuple(found)


def of_some(func: Callable[..., Any], argnums: Argnums, arguments: Sequence[Any], keywords: dict[str, Any]) -> Callable[..., Any]:
    """The function of the chosen arguments alone."""

    def run(*tree: Any) -> Any:
        return func(*replaced(argnums, arguments, tree[0] if isinstance(argnums, int) else tree), **keywords)

    run.__dict__["given"] = tensors_in((arguments, keywords))
    return run


def tensors_in(tree: Any) -> list[Tensor]:
    return [part for part in flatten(tree)[0] if isinstance(part, Tensor)]


def writable_in(func: Callable[..., Any], xs: Sequence[Tensor]) -> list[Tensor]:
    """The inputs of a function, and what else it is called with, if it is one of some of its arguments."""
    return [*xs, *getattr(func, "given", ())]


def inputs(tree: Any) -> list[Tensor]:
    """The tensors of a tree, in each of which every example of every batch has entries of its own."""
    ends, _ = flatten(tree)
    for x in ends:
        if not isinstance(x, Tensor):
            raise ValueError(f"Thing passed to transform API must be Tensor, got {type(x)}")
    return [spread(x, state.batch_levels) if state.batch_levels else x for x in ends]


def fresh(x: Tensor) -> Tensor:
    """The same entries as an input of their own, which requires grad: in the graph that x is in, if it is in one."""
    if not x.dtype.is_floating_point:
        raise RuntimeError(f"only Tensors of floating point dtype can require gradients. This one is {x.dtype}")
    if isinstance(x, Batched):
        return Batched(fresh(x.physical), x.levels)
    if x.requires_grad and state.recording:
        view: Tensor = broadcast_to(x, shape=tuple(x.shape))
        view._view = None
        return view
    leaf = Tensor(x.array, True)
    leaf._inference, leaf._version_counter, leaf._tangents = False, x._version_counter, x._tangents
    return leaf


class Own:
    """The inputs that a transformation has made, to tell what else a result depends on."""

    def __init__(self, tensors: Iterable[Tensor]) -> None:
        self.nodes: set[Node] = {x.gradient_node() for x in tensors}

    def are_all(self, results: Iterable[Any]) -> bool:
        """Whether results lead to no other tensor that requires grad."""
        roots = []
        for result in results:
            for tensor in _with_tangents(result):
                if tensor.requires_grad:
                    roots.append(tensor.gradient_node())
        return not any(
            isinstance(node, AccumulateGrad) and node.variable._requires_grad and node not in self.nodes for node in reachable(roots)
        )

    def released(self, x: Any) -> Any:
        """A result outside of the transformation: without a graph that leads nowhere but to its inputs."""
        if not isinstance(x, Tensor) or not x.requires_grad or not (x.gradient_node() in self.nodes or self.are_all([x])):
            return x if not isinstance(x, Tensor) or x._tangents is None else self._with_released_tangents(x)
        return self._with_released_tangents(detached(x))

    def _with_released_tangents(self, x: Tensor) -> Tensor:
        """The tensor itself keeps its tangents as they are: who made it may ask for their derivatives later."""
        if x._tangents is None:
            return x
        found = {level: self.released(tangent) for level, tangent in x._tangents.items()}
        if all(tangent is x._tangents[level] for level, tangent in found.items()):
            return x
        alias: Tensor = broadcast_to(x, shape=tuple(x.shape))
        alias._view, alias._tangents = None, found
        return alias


def detached(x: Tensor) -> Tensor:
    """The same memory without a graph; it moves as before."""
    if isinstance(x, Batched):
        return Batched(detached(x.physical), x.levels)
    alias = x.detach()
    alias._tangents = x._tangents
    return alias


def _with_tangents(x: Any) -> list[Tensor]:
    if not isinstance(x, Tensor):
        return []
    return [x, *[part for tangent in (x._tangents or {}).values() for part in _with_tangents(tangent)]]
