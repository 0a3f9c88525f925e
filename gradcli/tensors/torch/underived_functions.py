"""Functions of torch.special without derivatives in PyTorch: Bessel's, Airy's and orthogonal polynomials, whose results require no grad.

In an expression those that the catalogue has are differentiated; on tensors ``gradcli.scipy.special`` has them with gradients.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from gradcli.ops.pytorch import unbroadcastable
from gradcli.ops.room import nodes_for
from gradcli.tensors.core import dtypes
from gradcli.tensors.core.batched import by_example
from gradcli.tensors.core.tensor import Tensor
from gradcli.tensors.dispatch.checked_calls import checked


def _of_scipy(name: str, word: str, *before: Any, place: int | None = None) -> Callable[..., Tensor]:
    """A function of a real number, by SciPy's of this name in float64; of several results, the one in a place."""

    def run(input: Tensor, *, out: Tensor | None = None) -> Tensor:
        from scipy import special

        kind = _float_of(name, input)
        with np.errstate(all="ignore"):
            values = getattr(special, word)(*before, input.array.astype(np.float64))
        return _given(Tensor(np.asarray(values if place is None else values[place]).astype(kind)), out)

    return run


def _given(found: Tensor, out: Tensor | None) -> Tensor:
    if out is None:
        return found
    written: Tensor = out.resize_(found.shape).copy_(found)
    return written


def _float_of(name: str, *operands: Any) -> np.dtype[Any]:
    """The dtype of floats that they have in common. Raises NotImplementedError for floats of 16 bits, of which PyTorch has no kernel."""
    kind = dtypes.result_type([x.array if isinstance(x, Tensor) else x for x in operands])
    kind = kind if kind.kind in dtypes.FLOATS else dtypes.get_default_dtype().numpy
    if kind.itemsize == 2:
        raise dtypes.untaken(name, kind)
    return kind


# -- orthogonal polynomials ---------------------------------------------------------------------------------------


def _polynomial(name: str, first: Callable[[Any], Any], step: Callable[[int, Any, Any, Any], Any]) -> Callable[..., Tensor]:
    """Of a degree for each entry, by the recurrence of three terms; 0 where a degree is negative."""

    def run(x: Any, n: Any, *, out: Tensor | None = None) -> Tensor:
        kind = _float_of(name, x, n)
        said = unbroadcastable([v.array.shape for v in (x, n) if isinstance(v, Tensor)])
        if said is not None:
            raise RuntimeError(said)
        places, degrees = np.broadcast_arrays(*(np.asarray(v.array if isinstance(v, Tensor) else v) for v in (x, n)))
        places, degrees = places.astype(kind), degrees.astype(np.int64)
        found = np.zeros_like(places)
        with np.errstate(all="ignore"):
            nodes_for(4 * int(degrees.max(initial=0)), name)
            before, value = np.ones_like(places), first(places).astype(kind)
            found[degrees == 0] = 1
            for k in range(1, int(degrees.max(initial=0)) + 1):
                np.copyto(found, value, where=degrees == k)
                if not (degrees > k).any():
                    break
                before, value = value, step(k, places, value, before).astype(kind)
        return _given(Tensor(np.asarray(found)), out)

    return run


def _line(move: Callable[[Any], Any], times: int, plus: int) -> Callable[[Any], Any]:
    return lambda x: times * move(x) + plus


def _chebyshev(x: Any) -> Callable[[int, Any, Any, Any], Any]:
    return lambda k, y, p, q: 2 * x(y) * p - q


_HERMITE = {"float32": 128, "float64": 512}  # degrees from which on there are no numbers


def _hermite(factor: int) -> Callable[[int, Any, Any, Any], Any]:
    def step(k: int, x: Any, p: Any, q: Any) -> Any:
        return np.full_like(x, np.nan) if k >= _HERMITE[x.dtype.name] else factor * (x * p - k * q)

    return step


def _as_it_is(x: Any) -> Any:
    return x


def _shifted(x: Any) -> Any:
    """From 0 to 1 in place of -1 to 1."""
    return 2 * x - 1


_FAMILIES: dict[str, tuple[Callable[[Any], Any], Callable[[int, Any, Any, Any], Any]]] = {
    "hermite_polynomial_h": (lambda x: 2 * x, _hermite(2)),
    "hermite_polynomial_he": (_as_it_is, _hermite(1)),
    "laguerre_polynomial_l": (lambda x: 1 - x, lambda k, x, p, q: ((2 * k + 1 - x) * p - k * q) / (k + 1)),
    "legendre_polynomial_p": (_as_it_is, lambda k, x, p, q: ((2 * k + 1) * x * p - k * q) / (k + 1)),
}
for _prefix, _move in (("", _as_it_is), ("shifted_", _shifted)):
    for _letter, _times, _plus in (("t", 1, 0), ("u", 2, 0), ("v", 2, -1), ("w", 2, 1)):
        _FAMILIES[f"{_prefix}chebyshev_polynomial_{_letter}"] = (_line(_move, _times, _plus), _chebyshev(_move))

SPECIAL: dict[str, Callable[..., Tensor]] = {
    name: checked(by_example(function), name, "torch.special")
    for name, function in {
        **{f"bessel_{name}": _of_scipy(f"bessel_{name}", name) for name in ("j0", "j1", "y0", "y1")},
        **{f"modified_bessel_{name}": _of_scipy(f"modified_bessel_{name}", name) for name in ("i0", "i1", "k0", "k1")},
        **{f"scaled_modified_bessel_{name}": _of_scipy(f"scaled_modified_bessel_{name}", f"{name}e") for name in ("k0", "k1")},
        "airy_ai": _of_scipy("airy_ai", "airy", place=0),
        "spherical_bessel_j0": _of_scipy("spherical_bessel_j0", "spherical_jn", 0),
        **{name: _polynomial(name, *family) for name, family in _FAMILIES.items()},
    }.items()
}
