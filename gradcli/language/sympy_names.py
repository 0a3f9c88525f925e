"""Names as sympy spells them: ``Abs``, ``Max``, ``Piecewise``, ``Rational(1, 3)``."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from gradcli.errors import ArgumentError
from gradcli.graph.nodes import Expr
from gradcli.language.constructors import maximum_of, minimum_of
from gradcli.language.scope import Builder, routines
from gradcli.ops import registry
from gradcli.ops.elementwise import arithmetic, logic

_PIECES = "write Piecewise((x, x > 0), (0, True))"


def max_(builder: Builder, values: Any) -> Expr:
    """The largest of several values."""
    return maximum_of(builder, *values)


def min_(builder: Builder, values: Any) -> Expr:
    """The smallest of several values."""
    return minimum_of(builder, *values)


def heaviside(builder: Builder, x: Any, h0: Any = 0.5) -> Any:
    """The unit step, 1/2 at 0 unless another value is given."""
    return registry.find("heaviside")(builder.value(x), builder.value(h0))


def piecewise(builder: Builder, pieces: Any) -> Expr:
    """The first of the values whose condition holds; NaN where none does, as in sympy. Raises ArgumentError for what are no pairs."""
    if not pieces or any(not isinstance(piece, tuple) or len(piece) != 2 for piece in pieces):
        raise ArgumentError("Piecewise takes pairs of a value and a condition", help=_PIECES)
    result: Expr = builder.graph.constant(float("nan"))
    for piece in reversed(pieces):
        value, condition = (builder.value(part) for part in piece)
        if condition.kind != "bool":
            raise ArgumentError("the second of a pair is a condition", help=_PIECES)
        always = condition.is_constant and condition.payload is True
        result = value if always else logic.where(condition, value, result)
    return result


def rational(builder: Builder, p: Any, q: Any = 1) -> Any:
    """A quotient; of a string the number that it says."""
    if isinstance(p, str):
        try:
            return builder.graph.constant(float(Fraction(p.replace(" ", ""))))
        except (ValueError, ZeroDivisionError):
            raise ArgumentError(f"{p!r} is no number", help="write Rational(1, 3)") from None
    return builder.graph.apply(registry.OPERATORS["/"], (builder.value(p), builder.value(q)))


def absolute(builder: Builder, x: Any) -> Any:
    """The absolute value."""
    return arithmetic.abs_(builder.value(x))


FUNCTIONS = routines({
    "Abs": ("x", absolute),
    "Max": ("***values", max_),
    "Min": ("***values", min_),
    "Heaviside": ("x, h0", heaviside),
    "Piecewise": ("***pieces", piecewise),
    "piecewise": ("***pieces", piecewise),
    "Rational": ("p, q", rational),
})  # fmt: skip
