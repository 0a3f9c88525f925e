"""A function of tensors whose derivatives are checked: its results, its trace, and what it gives at other points."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np

from gradcli.tensors.core.backward import grad
from gradcli.tensors.core.dtypes import FLOATS
from gradcli.tensors.core.tensor import Tensor
from gradcli.tensors.core.trace import Trace, traced

_NEARBY = 1e-3  # of an entry: how far points nearby are moved


class CheckedFunction:
    """A function at one point: it runs there once, and what asks for its results finds those."""

    def __init__(self, func: Callable[..., Any], arguments: tuple[Any, ...]) -> None:
        self.func, self.arguments = func, arguments
        self.chosen = [i for i, x in enumerate(arguments) if isinstance(x, Tensor) and x.requires_grad]
        self.names = [f"input{i}" for i in self.chosen]
        self.right: dict[
            int, tuple[np.ndarray, list[np.ndarray]]
        ] = {}  # of tensors by identity: a cotangent and its gradients, found right

    @property
    def inputs(self) -> list[Tensor]:
        return [self.arguments[i] for i in self.chosen]

    @cached_property
    def _run(self) -> tuple[Any, Trace]:
        return traced(self.func, self.arguments, self.inputs, self.names)

    @cached_property
    def floats(self) -> list[Tensor]:
        """The results that are floats."""
        return _floats(self._run[0])

    @cached_property
    def outputs(self) -> list[Tensor]:
        """The results that require grad."""
        return _differentiable(self._run[0])

    @cached_property
    def trace(self) -> Trace | None:
        """What the function does, if its trace says everything: nothing that requires grad comes from nowhere, and its constants are some
        at the points nearby, too, on either side."""
        trace = self._run[1]
        for y in self.outputs:
            trace.node_of(y)  # a result that came from nowhere makes the trace opaque
        whole = True
        for side in (1, -1):
            result, other = self._nearby(side)
            self._check_alike(_differentiable(result))
            whole = whole and not trace.opaque and trace.same_steps(other)
        return trace if whole else None

    def _nearby(self, side: int) -> tuple[Any, Trace]:
        random = np.random.default_rng(1)
        noise = [1 + side * _NEARBY * random.uniform(-1, 1, x.array.shape) for x in self.inputs]
        moved = {i: self.arguments[i].array * factor for i, factor in zip(self.chosen, noise, strict=True)}
        found: tuple[Any, Trace] = self.at(moved, lambda given: traced(self.func, given, [given[i] for i in self.chosen], self.names))
        return found

    def _check_alike(self, others: Sequence[Tensor]) -> None:
        """Raise if results nearby are of other shapes or dtypes."""
        for y, z in zip(self.outputs, others, strict=False):
            if y.shape != z.shape or y.dtype != z.dtype:
                what, here, there = ("shape", y.shape, z.shape) if y.shape != z.shape else ("dtype", y.dtype, z.dtype)
                raise AssertionError(
                    f"Expected `func` to return outputs with the same {what} when inputs are perturbed by {_NEARBY} of them, but got: "
                    f"{what}s {here} and {there}."
                )

    def at(self, moved: Mapping[int, np.ndarray], run: Callable[[list[Any]], Any]) -> Any:
        """What comes of a run with other entries in some arguments: in the same tensors, which a function may know by other names, too."""
        given, kept = list(self.arguments), {}
        try:
            for i, entries in moved.items():
                x = self.arguments[i]
                if x.is_leaf and x.array.flags.writeable:
                    kept[i] = x.array.copy()
                    x.array[...] = entries
                else:
                    given[i] = Tensor(np.asarray(entries, x.array.dtype)).requires_grad_()
            return run(given)
        finally:
            for i, entries in kept.items():
                self.arguments[i].array[...] = entries

    def output_at(self, number: int, i: int, entries: np.ndarray) -> np.ndarray:
        """The entries of one of the results that require grad, for other entries of one argument, whose memory it may share."""
        found: np.ndarray = self.at({i: entries}, lambda given: _differentiable(self.func(*given))[number].array.copy())
        return found

    def of_plain(self, arguments: Sequence[Any]) -> list[Tensor]:
        """The results that are floats, for other arguments."""
        return _floats(self.func(*arguments))

    @property
    def plain_arguments(self) -> list[Any]:
        """The arguments without gradients."""
        return [a.detach() if isinstance(a, Tensor) else a for a in self.arguments]

    def gradients(self, outputs: Sequence[Tensor], cotangents: Sequence[Tensor], **options: Any) -> tuple[Tensor | None, ...]:
        """Return the products of cotangents of some results with the Jacobian; the graph is kept.

        A rule may write into its cotangent, which is a copy.
        """
        copies = [Tensor(cotangent.array.copy()) for cotangent in cotangents]
        return grad(outputs, self.inputs, copies, retain_graph=True, allow_unused=True, **options)


def _as_tuple(result: Any) -> tuple[Any, ...]:
    return tuple(result) if isinstance(result, (tuple, list)) else (result,)


def _differentiable(result: Any) -> list[Tensor]:
    return [y for y in _as_tuple(result) if isinstance(y, Tensor) and y.requires_grad]


def _floats(result: Any) -> list[Tensor]:
    return [y for y in _as_tuple(result) if isinstance(y, Tensor) and y.array.dtype.kind in FLOATS]
