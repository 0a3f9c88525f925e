"""Functions of which PyTorch has no derivative: their results are in the graph, and a gradient that comes to them is refused."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache, wraps
from typing import Any, ClassVar, NamedTuple

from gradcli.tensors.core.node import Node, node_class
from gradcli.tensors.core.tensor import Tensor


class NoDerivative(NamedTuple):
    """The name of a function's node, and the error that a backward pass raises there.

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
}  # fmt: skip
# Functions whose results require no grad, whatever they are made of.
UNRECORDED = frozenset({
    "airy_ai", "bessel_j0", "bessel_j1", "bessel_y0", "bessel_y1", "modified_bessel_i0", "modified_bessel_i1", "modified_bessel_k0",
    "modified_bessel_k1", "scaled_modified_bessel_k0", "scaled_modified_bessel_k1", "spherical_bessel_j0", "chebyshev_polynomial_t",
    "chebyshev_polynomial_u", "chebyshev_polynomial_v", "chebyshev_polynomial_w", "hermite_polynomial_h", "hermite_polynomial_he",
    "laguerre_polynomial_l", "legendre_polynomial_p",
})  # fmt: skip


_SAVED: Any = vars(Node)["saved"]


class _Underivable(Node):
    """A node that no gradient passes: asked for what it has saved for its rule, it raises."""

    __slots__ = ()
    without: ClassVar[NoDerivative]

    @property
    def saved(self) -> Any:
        operand = self.without.operand
        if operand is None or self.operands[operand] is not None:
            raise self.without.kind(self.without.said)
        return _SAVED.__get__(self)

    @saved.setter
    def saved(self, values: Any) -> None:
        _SAVED.__set__(self, values)


@cache
def _kind(without: NoDerivative) -> type[Any]:
    base = type(_Underivable.__name__, (_Underivable,), {"__slots__": (), "__module__": Node.__module__, "without": without})
    return node_class(without.node, base)


def limited(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    """A function as PyTorch differentiates it: not at all, or by some of its operands."""
    without = WITHOUT.get(name)
    if without is None and name not in UNRECORDED:
        return function

    @wraps(function)
    def run(*arguments: Any, **keywords: Any) -> Any:
        result = function(*arguments, **keywords)
        if not isinstance(result, Tensor) or result.node is None:
            return result
        if without is None:
            return result.detach()
        result.node.__class__ = _kind(without)
        return result

    return run
