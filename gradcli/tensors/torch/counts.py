"""Random counts, of Poisson's distribution and the binomial one: each the same as PyTorch's on a CPU for the same seed.

Small means and counts take one uniform number after the other; large ones the rejection of transformed ones, by W. Hoermann: "The
transformed rejection method for generating Poisson random variables" (Insurance: Mathematics and Economics 12, 1993), and "The
generation of binomial random variates" (Journal of Statistical Computation and Simulation 46, 1993).
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from gradcli.tensors.core import dtypes
from gradcli.tensors.core.tensor import Tensor
from gradcli.tensors.dispatch.checked_calls import all_checked
from gradcli.tensors.torch.generator import Generator, default_generator
from gradcli.tensors.torch.no_derivatives import flat, underived

_Draw = Callable[[], float]
_LARGE = 10.0  # from which mean on numbers are transformed and rejected


def _poisson(x: Tensor, generator: Generator | None = None) -> Tensor:
    """A count for each mean."""
    _check_kind("poisson", x)
    if not (x.array >= 0).all():
        raise RuntimeError("invalid Poisson rate, expected rate to be non-negative")
    draw = _uniform(generator)
    counts = [_count_of_mean(mean, draw) for mean in x.array.ravel().tolist()]
    return flat("PoissonBackward0", Tensor(np.array(counts, x.array.dtype).reshape(x.array.shape)), [x])


def _binomial(count: Tensor, prob: Tensor, generator: Generator | None = None) -> Tensor:
    """How many of each count of trials succeed, each with a probability."""
    _check_kind("binomial", count)
    if prob.array.dtype != count.array.dtype:
        raise RuntimeError(f"binomial: prob must have the dtype of the counts, {count.dtype.name}, not {prob.dtype.name}")
    shape = np.broadcast_shapes(count.array.shape, prob.array.shape)
    draw, counts, chances = _uniform(generator), np.broadcast_to(count.array, shape), np.broadcast_to(prob.array, shape)
    found = [_successes(n, p, draw) for n, p in zip(counts.ravel().tolist(), chances.ravel().tolist(), strict=True)]
    made = Tensor(np.array(found, count.array.dtype).reshape(shape))
    drawn: Tensor = underived("aten::binomial", made, [count, prob])
    return drawn


def _check_kind(name: str, x: Tensor) -> None:
    if x.array.dtype not in (np.float32, np.float64):
        raise dtypes.untaken(name, x.array.dtype)


def _uniform(generator: Generator | None) -> _Draw:
    source = generator or default_generator
    return lambda: float(source.uniform(1, np.float64)[0])


def _count_of_mean(mean: float, draw: _Draw) -> float:
    if mean == 0:
        return 0.0
    if mean < _LARGE or math.isnan(mean):
        bound, product, count = math.exp(-mean), draw(), 0
        while product > bound:
            count, product = count + 1, product * draw()
        return float(count)
    b = 0.931 + 2.53 * math.sqrt(mean)
    a = -0.059 + 0.02483 * b
    scale, inner, log_mean = 1.1239 + 1.1328 / (b - 3.4), 0.9277 - 3.6224 / (b - 2), math.log(mean)
    while True:
        k, v, edge = _transformed(draw, a, b, mean + 0.43)
        if edge >= 0.07 and v <= inner:
            return k
        if k < 0 or (edge < 0.013 and v > edge):
            continue
        if math.log(v) + math.log(scale) - math.log(a / edge**2 + b) <= k * log_mean - mean - math.lgamma(k + 1):
            return k


def _transformed(draw: _Draw, a: float, b: float, center: float) -> tuple[float, float, float]:
    """A proposal, the number that decides about it, and how far the proposal's own one is from the edge."""
    u, v = draw() - 0.5, draw()
    edge = 0.5 - abs(u)
    return math.floor((2 * a / edge + b) * u + center) if edge else -1.0, v, edge


def _successes(count: float, chance: float, draw: _Draw) -> float:
    if count <= 0 or chance <= 0:
        return 0.0
    if chance >= 1:
        return count
    if math.isnan(chance) or math.isnan(count):
        return math.nan
    rare = min(chance, 1 - chance)
    found = _rejected(count, rare, draw) if count * rare >= _LARGE else _waited(count, rare, draw)
    return found if chance <= 0.5 else count - found


def _waited(count: float, chance: float, draw: _Draw) -> float:
    """Successes one after the other, by how many trials each is waited for."""
    failing, trials, successes = math.log1p(-chance), 0.0, 0
    while True:
        u = draw()
        trials += math.ceil(math.log(u) / failing) if u else math.inf
        if trials > count:
            return float(successes)
        successes += 1


def _rejected(count: float, chance: float, draw: _Draw) -> float:
    deviation = math.sqrt(count * chance * (1 - chance))
    b = 1.15 + 2.53 * deviation
    a = -0.0873 + 0.0248 * b + 0.01 * chance
    inner, scale, mode = 0.92 - 4.2 / b, (2.83 + 5.1 / b) * deviation, math.floor((count + 1) * chance)
    odds = math.log(chance / (1 - chance))

    def log_weight(k: float) -> float:
        return k * odds - math.lgamma(k + 1) - math.lgamma(count - k + 1)

    while True:
        k, v, edge = _transformed(draw, a, b, count * chance + 0.5)
        if k < 0 or k > count:
            continue
        if edge >= 0.07 and v <= inner:
            return k
        if not v or math.log(v * scale / (a / edge**2 + b)) <= log_weight(k) - log_weight(mode):
            return k


COUNTS: dict[str, Callable[..., Tensor]] = all_checked({"poisson": _poisson, "binomial": _binomial})
