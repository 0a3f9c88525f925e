"""Gradients as frameworks compute them.

They come from the backward of a function of PyTorch's, JAX's or autograd's, with its custom rules
and kernels.

A framework is imported on request, and runs on the CPU, in the precision of the values.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from importlib import import_module
from typing import Any, NamedTuple

import numpy as np

from gradcli.errors import ArgumentError, UsageError
from gradcli.functions.arguments import Floats, Make, Seeds, Subject, as_given, of_torch, to_torch


class Framework(NamedTuple):
    """Way in which a framework's functions are called, and how it differentiates them.

    package  by which it is imported and installed
    make     its arrays of numbers
    product  the gradients of the result's sum with seeds; or, along a direction, those of its
             derivative in that direction
    push     the derivative of the results in a direction, by forward mode, if it has one
    setting  what has to be set while its functions run
    """

    package: str
    make: Make
    product: Callable[[Subject, Seeds, Floats | None], Floats]
    setting: Callable[[], AbstractContextManager[None]] = nullcontext
    push: Callable[[Subject, Floats], list[np.ndarray]] | None = None


def framework(name: str) -> Framework:
    """One of FRAMEWORKS, imported. Raises UsageError if it is not installed."""
    found = FRAMEWORKS[name]
    try:
        import_module(found.package)
    except ImportError as error:
        raise UsageError(
            f"a gradient by {name} needs {found.package}: {error}",
            help=f"pip install {found.package}",
        ) from None
    return found


# -- PyTorch


def _by_torch(subject: Subject, seeds: Seeds, along: Floats | None) -> Floats:
    torch = import_module("torch")
    leaves = {name: to_torch(x).requires_grad_() for name, x in subject.floats.items()}
    result = subject(instead=leaves)
    pairs = [
        (part, torch.from_numpy(np.array(seed)).to(part.dtype).reshape(part.shape))
        for part, seed in zip(result, seeds, strict=True)
        if _requires_grad(part)
    ]
    if not pairs:
        raise ArgumentError(
            "the result does not require a gradient: PyTorch has none to give",
            help="a tensor was detached, or made into numbers, on the way",
        )
    ends = [part for part, _ in pairs], list(leaves.values()), [seed for _, seed in pairs]
    found = torch.autograd.grad(*ends, allow_unused=True, create_graph=along is not None)
    if along is not None:
        slopes = [
            (g * to_torch(along[name])).sum()
            for name, g in zip(leaves, found, strict=True)
            if _requires_grad(g)
        ]
        found = (
            torch.autograd.grad(slopes, ends[1], allow_unused=True)
            if slopes
            else [None] * len(leaves)
        )
    return {
        name: of_torch(torch.zeros_like(x) if g is None else g).copy()
        for (name, x), g in zip(leaves.items(), found, strict=True)
    }


def _pushed_by_torch(subject: Subject, along: Floats) -> list[np.ndarray]:
    dual = import_module("torch.autograd.forward_ad")
    with dual.dual_level():
        moving = {
            name: dual.make_dual(*(to_torch(part) for part in (x, along[name])))
            for name, x in subject.floats.items()
        }
        ends = [dual.unpack_dual(part) for part in subject(instead=moving)]
        return [
            np.zeros(end.primal.shape) if end.tangent is None else of_torch(end.tangent).copy()
            for end in ends
        ]


def _requires_grad(part: Any) -> bool:
    return bool(getattr(part, "requires_grad", False))


# -- JAX


@contextmanager
def _doubles() -> Iterator[None]:
    """Let JAX compute in the precision of the values within the context.

    JAX would halve the precision otherwise. The setting is the whole process's.
    """
    config = import_module("jax").config
    before = config.jax_enable_x64
    config.update("jax_enable_x64", True)
    try:
        yield
    finally:
        config.update("jax_enable_x64", before)


def _by_jax(subject: Subject, seeds: Seeds, along: Floats | None) -> Floats:
    jax = import_module("jax")
    numbers = _like_floats(subject, subject.floats)

    def gradients(given: Any) -> Any:
        result, pull = jax.vjp(lambda inner: subject(instead=inner), given)
        (slopes,) = pull(
            [
                jax.numpy.asarray(seed, part.dtype).reshape(part.shape)
                for part, seed in zip(result, seeds, strict=True)
            ]
        )
        return slopes

    if along is None:
        found = gradients(numbers)
    else:  # reverse over reverse: a custom backward rule says nothing about a forward pass
        _, pull = jax.vjp(gradients, numbers)
        (found,) = pull(_like_floats(subject, along))
    return {name: np.asarray(part) for name, part in found.items()}


def _pushed_by_jax(subject: Subject, along: Floats) -> list[np.ndarray]:
    pairs = (_like_floats(subject, subject.floats),), (_like_floats(subject, along),)
    _, found = import_module("jax").jvp(lambda given: subject(instead=given), *pairs)
    return [np.asarray(part) for part in found]


def _like_floats(subject: Subject, numbers: Floats) -> dict[str, Any]:
    """Numbers as arrays of JAX's, in the precision of the function's arguments."""
    return {
        name: import_module("jax").numpy.asarray(numbers[name], x.dtype)
        for name, x in subject.floats.items()
    }


# -- HIPS/autograd


def _by_autograd(subject: Subject, seeds: Seeds, along: Floats | None) -> Floats:
    grad = import_module("autograd").grad
    add = import_module("autograd.numpy").sum
    names = list(subject.floats)

    def total(given: Any) -> Any:
        parts = subject(instead=dict(zip(names, given, strict=True)))
        return sum(add(part * seed) for part, seed in zip(parts, seeds, strict=True))

    def slope(given: Any) -> Any:
        return (
            sum(
                add(part * along[name])
                for name, part in zip(names, grad(total)(given), strict=True)
            )
            if along
            else 0.0
        )

    given = tuple(array.copy() if array.ndim else array[()] for array in subject.floats.values())
    found = grad(total if along is None else slope)(given)
    return {name: np.array(part) for name, part in zip(names, found, strict=True)}


FRAMEWORKS = {
    "torch": Framework(
        "torch", lambda *given: to_torch(given[-1]), _by_torch, push=_pushed_by_torch
    ),
    "jax": Framework(
        "jax",
        lambda *given: import_module("jax.numpy").asarray(given[-1]),
        _by_jax,
        _doubles,
        _pushed_by_jax,
    ),
    "autograd": Framework("autograd", as_given, _by_autograd),
}
FORWARD = tuple(name for name, found in FRAMEWORKS.items() if found.push is not None)
