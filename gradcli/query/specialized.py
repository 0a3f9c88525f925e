"""A function for values of given names, shapes and dtypes: its value and its gradients in one plan."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from typing import Any

import numpy as np

from gradcli.errors import GradcliError, InputTypeError, ShapeError, UsageError
from gradcli.ops.calling.inputs import numbers
from gradcli.plans.backend import OFTEN
from gradcli.plans.plan import Plan
from gradcli.plans.source import Gradients
from gradcli.query.instances import Asked, ForShapes
from gradcli.query.shared_memory import overlap, overlaps_itself


class Specialized(ForShapes):
    """The plan of a function for values of given names, shapes and dtypes."""

    def __init__(
        self, asked: Asked, bindings: Mapping[str, Any], seed: Any, unknown: Collection[str] = (), state: int | None = None
    ) -> None:
        super().__init__(asked, bindings, seed, unknown, state)
        made = self.made
        root, wrt = made.root, made.wrt
        self.dtype, self.names, self.whole = made.dtype, made.names, made.whole
        self._place()
        if seed is None and wrt and math.prod(root.shape) != 1:
            raise ShapeError(
                f"the value has the shape {root.shape}; only a scalar has a gradient without a seed",
                help="give a seed of that shape, e.g. seed=np.ones(...)",
            )
        if seed is not None and seed.shape != root.shape:
            raise ShapeError(f"the seed has the shape {seed.shape}, the output {root.shape}; they must be the same")
        self.all_in_order = self.names == list(bindings)
        self.seeded = seed is not None
        seeds = [] if seed is None else [made.scope.graph.leaf("seed", root.shape)]
        self.plan = Plan(
            Gradients(root, list(wrt.values()), seeds[0] if seeds else None), [*made.leaves, *seeds], asked.dtype,
            backend=asked.backend, threads=asked.threads, calls=OFTEN,
        )  # fmt: skip

    @staticmethod
    def seed_of(seed: Any, dtype: np.dtype[Any]) -> tuple[Any, Any]:
        """What a call is given beside the values of names, and what of that a plan is made for."""
        with np.errstate(all="ignore"):
            array = numbers(seed, "the seed", copy=False).astype(dtype, copy=False)
        return array, array.shape

    def reordered(self, names: Sequence[str]) -> None:
        super().reordered(names)
        self.all_in_order = self.names == list(names)
        self._place()

    def _place(self) -> None:
        """Note where gradients are among a plan's results, in the order in which they are given."""
        self.places = [(self.wrt.index(name) + 1, name) for name in self.order]

    def text(self) -> str:
        """The program, with what it takes and gives in the order in which it does."""
        given = ["the value", *(f"the gradient by {name}" for name in self.wrt)]
        return f"{self.made.takes(*['the seed'] * self.seeded)}\ngives {', '.join(given)}\n{self.plan.text()}"

    def __call__(self, bindings: Mapping[str, Any], seed: Any, out: Mapping[str, Any] | None) -> tuple[Any, dict[str, Any]]:
        values = [*bindings.values()] if self.all_in_order else [bindings[name] for name in self.names]
        if self.whole:
            values = [value.astype(self.dtype) if value.dtype.kind in "iu" else value for value in values]
        if self.made.fixed:
            values += self.made.fixed
        if seed is not None:
            values.append(seed)
        outs = () if out is None else (None, *self._outs(out, values))
        try:
            results = self.plan(values, outs)
        except GradcliError as error:
            raise self.made.located(error) from None
        grads = {}
        for place, name in self.places:  # in half the time of dict(zip(...))
            grads[name] = results[place]
        if out is not None:
            for name, array in out.items():
                if grads[name] is not array:
                    np.copyto(array, grads[name])
                    grads[name] = array
        return results[0], grads

    def _outs(self, out: Mapping[str, Any], values: list[Any]) -> list[Any]:
        """The caller's arrays, where a plan can write straight into them."""
        if not isinstance(out, Mapping):
            help = f'write out={{"{next(iter(self.wrt), "x")}": np.empty(...)}}'
            raise InputTypeError(f"'out' must map names to arrays, not {type(out).__name__}", help=help)
        for name, array in out.items():
            if name not in self.wrt:
                raise UsageError(f"out: there is no gradient by '{name}'")
            shape = self.made.wrt[name].shape
            if not isinstance(array, np.ndarray) or array.shape != shape or array.dtype != self.dtype:
                raise UsageError(f"out: the gradient by '{name}' needs a {self.dtype} array of shape {shape}")
        arrays = list(out.items())
        for i, (name, array) in enumerate(arrays):
            if not array.flags.writeable or overlaps_itself(array):
                help = f"give an array of its own: np.empty({array.shape})"
                raise UsageError(f"out: the array for '{name}' cannot be written entry by entry", help=help)
            for other, array_of_other in arrays[:i]:
                if overlap(array, array_of_other):
                    raise UsageError(f"out: the arrays for '{other}' and '{name}' share memory", help="give each an array of its own")
        straight = {
            name: array
            for name, array in out.items()
            if array.flags.carray and not any(np.may_share_memory(array, value) for value in values)
        }
        return [straight.get(name) for name in self.wrt]
