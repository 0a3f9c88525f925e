"""What gradients and tangents of a function must be beside right, as ``gradcheck`` asks: zero where nothing comes in, and in batches what
they are one by one. Each check gives what is wrong, or None."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from gradcli.check.checked_function import CheckedFunction
from gradcli.graph.nodes import reachable
from gradcli.tensors.core.modes import Mode
from gradcli.tensors.core.tensor import Tensor
from gradcli.tensors.core.user_warnings import warn
from gradcli.tensors.transforms.dual_numbers import dual_level, make_dual, unpack_dual
from gradcli.tensors.transforms.vectorizing import vmap

_BATCH = 2
_BREAKING = (
    "Backwards compatibility: New undefined gradient support checking feature is enabled by default, but it may break existing callers of "
    'this function. If this is true for you, you can call this function with "check_undefined_grad=False" to disable the feature'
)
_UNDEFINED = "Expected backward function to handle undefined output grads"
_NOT_ZERO = "Expected all input grads to be undefined or zero when all output grads are undefined or zero"


def multiplied(function: CheckedFunction, roughly: bool) -> str | None:
    """Whether zeros as cotangents give zeros as gradients.

    roughly  to rounding
    """
    for found in _of_zeros(function, function.outputs):
        if found is not None and not (np.allclose(found.array, 0) if roughly else not found.array.any()):
            return f"backward not multiplied by grad_output: {_largest(found)!r} of a cotangent of zeros"
    return None


def _of_zeros(function: CheckedFunction, outputs: Sequence[Tensor]) -> tuple[Tensor | None, ...]:
    return function.gradients(outputs, [Tensor(np.zeros_like(y.array)) for y in outputs]) if outputs else ()


def _largest(found: Tensor) -> float:
    return float(np.max(np.abs(found.array)))


def undefined(function: CheckedFunction) -> str | None:
    """Whether rules and hooks of the user's take gradients that are not there for zeros: all of them, and those of one result."""
    outputs = function.outputs
    checks: list[Callable[[], Sequence[Any]]] = [lambda: _of_nothing(outputs)]
    if len(outputs) > 1:
        checks += [partial(_of_zeros, function, [*outputs[:i], *outputs[i + 1 :]]) for i in range(len(outputs))]
    for check in checks:
        try:
            found = check()
        except RuntimeError as error:
            warn(_BREAKING)
            return f"{_UNDEFINED}: {error}"
        wrong = next((part for part in found if part is not None and part.array.any()), None)
        if wrong is not None:
            warn(_BREAKING)
            return f"{_NOT_ZERO}: {_largest(wrong)!r}"
    return None


def _of_nothing(outputs: Sequence[Tensor]) -> list[Any]:
    """What the user's own say to gradients that are not there: hooks, and functions, which are all that is asked."""
    found: list[Any] = []
    with Mode(recording=False):
        for node in reachable([y.gradient_node() for y in outputs]):
            if node.watch is not None:
                found += [hook(None) for hook in list(node.watch.hooks.values())]
            if node.op is not None and "call" in node.static:
                parts = node(*[None] * node.op.outputs)
                found += parts if isinstance(parts, tuple) else (parts,)
    return found


def batched(function: CheckedFunction) -> str | None:
    """Whether gradients of several cotangents at once are those of one after the other."""
    random = np.random.default_rng(2)
    for number, y in enumerate(function.outputs):
        seeds = random.standard_normal((_BATCH, *y.array.shape)).astype(y.array.dtype)
        wanted = [function.gradients([y], [Tensor(np.asarray(seed))]) for seed in seeds]
        try:
            found = function.gradients([y], [Tensor(seeds)], is_grads_batched=True)
        except (RuntimeError, NotImplementedError) as error:
            return f"While computing batched gradients, got: {error}"
        for i, part, rows in zip(function.chosen, found, zip(*wanted, strict=True), strict=True):
            fault = _unlike(part, rows, function.arguments[i])
            if fault is not None:
                return f"For output {number} and input {i}:\n\ngradcheck failed while testing batched gradient computation.\n\n{fault}"
    return None


def _unlike(found: Tensor | None, rows: Sequence[Tensor | None], like: Tensor) -> str | None:
    """What is said of a batch that is not its examples; None means zeros."""
    wanted = np.stack([np.zeros_like(like.array) if row is None else row.array for row in rows])
    got = np.zeros_like(wanted) if found is None else found.array
    return None if np.allclose(got, wanted, rtol=1e-5, atol=1e-8) else f"Got:\n{Tensor(got)}\n\nExpected:\n{Tensor(wanted)}"


def batched_tangents(function: CheckedFunction) -> str | None:
    """Whether tangents of several directions at once are those of one after the other."""
    random = np.random.default_rng(2)
    for i in function.chosen:
        x = function.arguments[i]

        def along(direction: Tensor, i: int = i) -> tuple[Tensor, ...]:
            with dual_level():
                given = function.plain_arguments
                given[i] = make_dual(given[i], direction)
                moving = [unpack_dual(y) for y in function.of_plain(given)]
                return tuple([Tensor(np.zeros(tuple(primal.shape))) if tangent is None else tangent for primal, tangent in moving])

        directions = random.standard_normal((_BATCH, *x.array.shape)).astype(x.array.dtype)
        wanted = [along(Tensor(np.asarray(direction))) for direction in directions]
        try:
            found = vmap(along)(Tensor(directions))
        except (RuntimeError, NotImplementedError) as error:
            return f"While computing batched gradients, got: {error}"
        for number, (part, rows) in enumerate(zip(found, zip(*wanted, strict=True), strict=True)):
            fault = _unlike(part, rows, rows[0])
            if fault is not None:
                return (
                    f"For output {number} and input {i}:\n\ngradcheck failed while testing batched gradient computation with forward-mode "
                    f"AD.\n\n{fault}"
                )
    return None


def undefined_tangents(function: CheckedFunction) -> str | None:
    """Whether an input that does not move is what one is that moves by zeros, while the others move."""
    random = np.random.default_rng(3)
    directions = {i: random.standard_normal(function.arguments[i].array.shape) for i in function.chosen}
    for i in function.chosen:
        with dual_level():
            given = function.plain_arguments
            for j in function.chosen:
                entries = np.zeros_like(given[j].array) if j == i else directions[j].astype(given[j].array.dtype)
                given[j] = make_dual(given[j], Tensor(np.asarray(entries)))
            by_zeros = [unpack_dual(y).tangent for y in function.of_plain(given)]
            given[i] = function.arguments[i].detach()
            by_nothing = [unpack_dual(y).tangent for y in function.of_plain(given)]
        for number, (found, wanted) in enumerate(zip(by_nothing, by_zeros, strict=True)):
            if found is not None and wanted is not None and not np.allclose(found.array, wanted.array, rtol=1e-5, atol=1e-8):
                return (
                    f"Mismatch in tangent values for output with index: {number} when input: {i} has an undefined tangent value. "
                    f"Got: {found} but expected: {wanted}"
                )
    return None
