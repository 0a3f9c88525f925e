"""What PyTorch has no derivatives of, although there are some: what is said where a gradient comes to such a function."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple


class NoDerivative(NamedTuple):
    """What a function's node is called, and what it raises in a backward pass.

    operand  by which operand there is no derivative; None if there is by none
    """

    node: str
    kind: type[Exception]
    said: str
    operand: int | None = None


def _none(name: str) -> NoDerivative:
    return NoDerivative("NotImplemented", RuntimeError, f"derivative for aten::{name} is not implemented")


def _none_by(node: str, said: str, operand: int | None = None) -> NoDerivative:
    return NoDerivative(node, NotImplementedError, f"the derivative for '{said}' is not implemented.", operand)


WITHOUT: Mapping[str, NoDerivative] = {
    **{name: _none(name) for name in ("floor_divide", "heaviside", "histogram")},
    **dict.fromkeys(("igamma", "gammainc"), _none_by("IgammaBackward0", "igamma: input", 0)),
    **dict.fromkeys(("igammac", "gammaincc"), _none_by("IgammacBackward0", "igammac: input", 0)),
    "zeta": _none_by("SpecialZetaBackward0", "zeta", 0),
    "unique": _none_by("Unique2Backward0", "_unique2"), "unique_dim": _none_by("UniqueDimBackward0", "unique_dim"),
    "unique_consecutive": _none_by("UniqueConsecutiveBackward0", "unique_consecutive"),
}  # fmt: skip
# Functions whose results require no grad, whatever they are made of.
UNRECORDED = frozenset({
    "airy_ai", "bessel_j0", "bessel_j1", "bessel_y0", "bessel_y1", "modified_bessel_i0", "modified_bessel_i1", "modified_bessel_k0",
    "modified_bessel_k1", "scaled_modified_bessel_k0", "scaled_modified_bessel_k1", "spherical_bessel_j0", "chebyshev_polynomial_t",
    "chebyshev_polynomial_u", "chebyshev_polynomial_v", "chebyshev_polynomial_w", "hermite_polynomial_h", "hermite_polynomial_he",
    "laguerre_polynomial_l", "legendre_polynomial_p",
})  # fmt: skip
