"""How operations are written: as text of the language, in LaTeX, in Python on floats.

Another language is a field more.
"""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Callable, Mapping, Sequence
from contextvars import ContextVar
from operator import itemgetter
from types import EllipsisType
from typing import Any, ClassVar, NamedTuple

from gradcli.ops.facts import Fixed
from gradcli.ops.writing import axes_of

# The rules of the language's grammar from `expression` to `atom`, each as the binding power of its
# operators.
(
    EXPRESSION, DISJUNCTION, CONJUNCTION, NEGATION, COMPARISON, MASK, MASKED, SUM, TERM, ARGUMENT, PRODUCT, UNARY, POWER, ROOT, ATOM,
) = range(15)  # fmt: skip
BINDING = {
    "or": DISJUNCTION, "and": CONJUNCTION, "<": COMPARISON, "<=": COMPARISON, ">": COMPARISON, ">=": COMPARISON, "==": COMPARISON,
    "!=": COMPARISON, "&": MASKED, "+": SUM, "-": SUM, "*": TERM, "/": TERM, "//": TERM, "%": TERM, "@": TERM, "**": POWER,
}  # fmt: skip
# Python's operators, by the sign and the number of operands with which operations are written.
_SIGNS = "== != < <= > >= + - * / // % ** @"
_FUNCTIONS = "eq ne lt le gt ge add sub mul truediv floordiv mod pow matmul"
BY_SIGN = {
    (sign, 2): getattr(operator, name)
    for sign, name in zip(_SIGNS.split(), _FUNCTIONS.split(), strict=True)
}
BY_SIGN["-", 1] = operator.neg
LARGEST_ARRAY = 64  # most entries of an array that is written out

_AT_LEAST = {"sum": SUM, "term": TERM, "power": POWER, "atom": ATOM}


# Functions that Python's math takes from the C library, whose last bit may differ from NumPy's; and
# functions for whose names LaTeX has commands.
_IN_MATH = (
    "exp expm1 log log1p log2 log10 sin cos tan asin acos atan sinh cosh tanh asinh acosh atanh"
)
_IN_LATEX = "max min exp log sin cos tan sec csc cot sinh cosh tanh coth det"
IN_MATH, IN_LATEX = frozenset(_IN_MATH.split()), frozenset(_IN_LATEX.split())
# Functions that the headers in plans/native have under the same names.
_IN_HEADERS = (
    "acos acosh asin asinh atan atan2 atanh cbrt ceil chain copysign cos "
    "cosh csch entr erf erfc exp exp2 expm1 "
    "floor floor_divide fmod heaviside hypot isfinite isinf isnan log log10 log1p log2 log_ndtr "
    "logaddexp logit maximum minimum ndtr "
    "pow remainder sech sigmoid sign signbit sin sinc sinh sqrt square tan tanh trunc where "
    "xlog1py xlogy"
)
IN_HEADERS = frozenset(_IN_HEADERS.split())


# What texts in C become in Python for floats. They give the bits of NumPy's result, or raise an
# exception.
IN_PYTHON = {
    "g_fabs(": "abs(", "g_sqrt(": "sqrt(", "g_pow(": "pow(", "g_square({0})": "({0} * {0})", "g_isnan({0})": "({0} != {0})",
    "g_where({0}, {1}, {2})": "({1} if {0} else {2})", "(real)": "float",
    "g_sign({0})": "(1.0 if {0} > 0.0 else -1.0 if {0} < 0.0 else abs({0}))",
}  # fmt: skip


class Unprintable(Exception):
    """Something has no short form in the language."""


class Piece(tuple[str, int]):
    """A text, and how tightly it holds together."""

    __slots__ = ()
    brackets: ClassVar[tuple[str, str]] = ("(", ")")
    text = property(itemgetter(0))
    power = property(itemgetter(1))

    def at(self, power: int) -> str:
        """Return the text, in brackets if it binds less tightly than ``power``."""
        return self[0] if self[1] >= power else self.in_brackets()

    def in_brackets(self) -> str:
        opening, closing = self.brackets
        return f"{opening}{self[0]}{closing}"

    def base(self) -> str:
        """Return the text in a form that a dot or an index may follow.

        A number is put in brackets.
        """
        return self.in_brackets() if self[0][:1].isdigit() else self.at(ATOM)

    def __format__(self, wanted: str) -> str:
        """Format the piece in a template.

        ``{x}`` is the text; ``{x:term}`` and so on put it in brackets if it binds less tightly;
        ``{x:base}`` as above.
        """
        if not wanted:
            return self[0]
        return self.base() if wanted == "base" else self.at(_AT_LEAST[wanted])


class LatexPiece(Piece):
    """The same in LaTeX."""

    __slots__ = ()
    brackets = ("\\left(", "\\right)")


class Form(NamedTuple):
    """A template, and how tightly what it makes holds together."""

    template: str
    power: int


Written = str | Form | Callable[..., tuple[str, int]]
ByStatic = Written | Mapping[tuple[Any, ...] | EllipsisType, Written]
InC = str | Callable[..., str]
Exported = str | Callable[..., str] | Mapping[tuple[bool, ...], str] | None


def number_in_c(value: float) -> str:
    """Write a number in C, exact to the bit."""
    number = float(value)
    written = (
        '__builtin_nan("")'
        if math.isnan(number)
        else number.hex()
        if math.isfinite(number)
        else "__builtin_inf()"
    )
    sign = "-" if number == -math.inf else ""
    return f"((real){sign}{written})"


def product_in_latex(x: Piece, y: Piece) -> tuple[str, int]:
    """Write a product in LaTeX; a dot stands only before a number, and a space before a word."""
    right = y.at(POWER)
    sign = r"\cdot " if right[:1].isdigit() else r"\, " if right.startswith(r"\mathrm") else ""
    return f"{x.at(TERM)} {sign}{right}", TERM


def power_in_latex(x: Piece, y: Piece) -> tuple[str, int]:
    """Write a power in LaTeX.

    Whole powers of functions without brackets stand before the argument: after it, they are read
    as its powers, too.
    """
    if x.power == ROOT and y.text.isdigit():
        name, argument = x.text.split("\\left", 1)
        return f"{name}^{{{y}}}\\left{argument}", POWER
    return f"{x:atom}^{{{y}}}", POWER


def _index(index: tuple[Any, ...]) -> str:
    if not index:
        raise Unprintable
    return ", ".join(map(index_part, index))


def index_part(part: Any) -> str:
    """Write a part of an index: a slice, an ellipsis, a new axis or a whole number."""
    if isinstance(part, tuple):
        start, stop, step = ("" if p is None else str(p) for p in part)
        return f"{start}:{stop}{f':{step}' if step else ''}"
    return "..." if part is ... else str(part)


def index_text(x: Piece, index: tuple[Any, ...]) -> tuple[str, int]:
    """x[index]."""
    return f"{x.base()}[{_index(index)}]", ATOM


def indexed_in_latex(x: Piece, index: tuple[Any, ...]) -> tuple[str, int]:
    """Write an indexed value in LaTeX, with the index as a subscript."""
    try:
        inside = _index(index)
    except Unprintable:
        inside = "\\cdot"
    return f"{x.at(ATOM)}_{{{inside}}}", ATOM


# -- Calls of functions made of operations, written down while they run: what a result was expanded
# from.


# The prefix of a function's name in the form that one library has of it.
FORM = re.compile("^(torch|numpy|scipy|jax|math|old|named)_")


class Expansion(Fixed):
    """One call of a function: its arguments in any nesting, and the calls in its body in order."""

    name: str
    given: Any
    result: Any
    inner: list[Expansion]


# Where the call under way records the calls in its body; None, as nearly always, if nobody asks.
UNDER_WAY: ContextVar[list[Expansion] | None] = ContextVar("UNDER_WAY", default=None)


def expand_call(name: str, given: Any, function: Callable[[], Any]) -> Expansion:
    """Call a function, and record the call with all calls of composites that it makes."""
    inner: list[Expansion] = []
    before = UNDER_WAY.set(inner)
    try:
        result = function()
    finally:
        UNDER_WAY.reset(before)
    return Expansion(name, given, result, inner)


def calls_in(function: Callable[[], Any]) -> list[Expansion]:
    """Return the calls of composites that a function makes."""
    return expand_call("", None, function).inner


# -- Texts of operations on arrays for libraries of arrays, in NumPy's words ---------------------


def list_operands(shapes: Sequence[Any]) -> str:
    """Any number of operands."""
    return ", ".join(f"{{{place}}}" for place in range(len(shapes)))


def reduced_text(function: str, shapes: Sequence[Any], axis: Any, keepdims: bool) -> str:
    """Write a reduction along axes."""
    if not shapes[0]:
        return "{0}" if "arg" not in function else ""
    kept = ", keepdims=True" if keepdims else ""
    if axis is None and not keepdims:
        return f"{function}({{0}})"
    axes = axes_of(axis, shapes[0])
    return f"{function}({{0}}, axis={axes[0] if len(axes) == 1 else axes}{kept})"


def product_in_torch(shapes: Sequence[Any], axis: Any, keepdims: bool) -> str:
    """PyTorch's product is along all axes or along one."""
    axes = axes_of(axis, shapes[0])
    if len(axes) == len(shapes[0]) and not keepdims:
        return "torch.prod({0})"
    return f"torch.prod({{0}}, {axes[0]}, {keepdims})" if len(axes) == 1 else ""


def order_text(shapes: Sequence[Any], axes: Any) -> str:
    """Write the axes of a transpose."""
    ndim = len(shapes[0])
    return repr(tuple(range(ndim)[::-1]) if axes is None else tuple(a % ndim for a in axes))


def subscript_text(index: Sequence[Any]) -> str:
    """Write an index as it stands between its brackets."""
    return ", ".join(map(_part, index)) or "..."


def _part(part: Any) -> str:
    array = getattr(part, "array", None)
    return index_part(part) if array is None else f"np.array({array.tolist()!r})"


def fits_along(shapes: Sequence[Any], axis: int) -> bool:
    """Return whether an array and what addresses it along an axis are alike along the others."""
    if not shapes[0]:
        return False
    place = axis % len(shapes[0])
    return all(
        m == n for i, (m, n) in enumerate(zip(shapes[0], shapes[1], strict=True)) if i != place
    )


def runs_backwards(part: Any) -> bool:
    """Return whether a part of an index is a slice with a negative step, which PyTorch refuses."""
    return isinstance(part, tuple) and part[2] is not None and part[2] < 0
