"""Random counts, of Poisson's distribution and the binomial one: NumPy's, of the same generator as all other random numbers."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from gradcli.tensors.core import dtypes
from gradcli.tensors.core.batched import check_no_examples
from gradcli.tensors.core.tensor import Tensor
from gradcli.tensors.dispatch.checked_calls import checked
from gradcli.tensors.torch.generator import Generator, default_generator


def _poisson(x: Tensor, generator: Generator | None = None) -> Tensor:
    """A count for each mean."""
    _check_kind("poisson", x)
    if not (x.array >= 0).all():
        raise RuntimeError("invalid Poisson rate, expected rate to be non-negative")
    counts = (generator or default_generator).poisson(x.array)
    return Tensor(counts.astype(x.array.dtype))


def _binomial(count: Tensor, prob: Tensor, generator: Generator | None = None) -> Tensor:
    """How many of each count of trials succeed, each with a probability."""
    _check_kind("binomial", count)
    if prob.array.dtype != count.array.dtype:
        raise RuntimeError(f"binomial: prob must have the dtype of the counts, {count.dtype.name}, not {prob.dtype.name}")
    if not (np.isfinite(count.array).all() and np.isfinite(prob.array).all()):
        raise RuntimeError("binomial() expects finite counts and probabilities")
    chances, trials = np.clip(prob.array, 0, 1), np.maximum(count.array, 0).astype(np.int64)
    return Tensor((generator or default_generator).binomial(trials, chances).astype(count.array.dtype))


def _check_kind(name: str, x: Tensor) -> None:
    check_no_examples()
    if x.array.dtype not in (np.float32, np.float64):
        raise dtypes.untaken(name, x.array.dtype)


COUNTS: dict[str, Callable[..., Tensor]] = {"poisson": checked(_poisson, "poisson"), "binomial": checked(_binomial, "binomial")}
