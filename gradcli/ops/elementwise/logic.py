"""Comparisons, truth, choosing between values, and values held to bounds."""

from __future__ import annotations

import math
import operator
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from gradcli.ops.carrying import error_of_choice, no_number
from gradcli.ops.constants import number_of, without_repeats
from gradcli.ops.extended import Entrywise
from gradcli.ops.facts import Fixed
from gradcli.ops.registry import (
    SAME,
    Choice,
    Function,
    Kink,
    Op,
    declare,
    flat,
    function,
    piecewise,
)
from gradcli.ops.text import CONJUNCTION, DISJUNCTION, SUM, UNARY, Form


def _comparison(names: str, symbol: str, latex: str, forward: Function, reference: Function) -> Op:
    def simpler(out: Any, x: Any, y: Any) -> Any:
        a, b = number_of(x), number_of(y)
        if symbol == "<=" and b == 0 and x.op is not None and x.op.name == "relu":
            return less_equal(x.operand, y)
        return None if a is None or b is None else bool(forward(a, b))

    return flat(
        names,
        "x y",
        forward,
        reference,
        dtype="bool",
        doc=f"Whether x {symbol} y, entry by entry. Not differentiated.",
        algebra="comparison",
        simpler=simpler,
        symbolic=lambda s, x, y: s.Rel(x, y, symbol),
        written=symbol,
        latex=Form(f"{{x}} {latex} {{y}}", SUM),
        c=f"({{0}} {symbol} {{1}})",
    )


equal = _comparison("equal eq", "==", "=", np.equal, lambda m, x, y: x == y)
not_equal = _comparison("not_equal ne", "!=", "\\ne", np.not_equal, lambda m, x, y: x != y)
less = _comparison("less lt", "<", "<", np.less, lambda m, x, y: x < y)
less_equal = _comparison("less_equal le", "<=", "\\le", np.less_equal, lambda m, x, y: x <= y)
greater = _comparison("greater gt", ">", ">", np.greater, lambda m, x, y: x > y)
greater_equal = _comparison("greater_equal ge", ">=", "\\ge", np.greater_equal, lambda m, x, y: x >= y)


_truth = partial(flat, dtype="bool")


def _simpler_and(out: Any, x: Any, y: Any) -> Any:
    a, b = number_of(x), number_of(y)
    if a is False or b is False:
        return False
    return y if a is True else x if b is True else None


def _simpler_or(out: Any, x: Any, y: Any) -> Any:
    # x == max(x) or (both are NaN): the second part matters only where there is no number to print.
    both_nan = y.op is logical_and and all(part.op is isnan for part in y.operands)
    return x if both_nan and x.op is equal else None


logical_and = _truth(
    "logical_and", "x y", np.logical_and, lambda m, x, y: bool(x) and bool(y), doc="Both are true.",
    symbolic=lambda s, x, y: s.And(x, y),
    written="and", latex=Form(r"{x:sum} \wedge {y:sum}", CONJUNCTION), simpler=_simpler_and, c="(({0} != 0) & ({1} != 0))",
)
logical_or = _truth(
    "logical_or", "x y", np.logical_or, lambda m, x, y: bool(x) or bool(y), doc="At least one is "
    "true.",
    symbolic=lambda s, x, y: s.Or(x, y),
    written="or", latex=Form(r"{x} \vee {y}", DISJUNCTION), simpler=_simpler_or, c="(({0} != 0) | ({1} != 0))",
)
logical_not = _truth(
    "logical_not", "x", np.logical_not, lambda m, x: not bool(x), doc="Is not true.", written="not", c="({0} == 0)",
    symbolic=lambda s, x: s.Not(x),
    latex=Form(r"\lnot {x:atom}", UNARY),
    simpler=lambda out, x: None if number_of(x) is None else not number_of(x),
)
isnan = _truth("isnan", "x", np.isnan, lambda m, x: x != x, doc="Is not a number.", carries=no_number)
isinf = _truth("isinf", "x", np.isinf, lambda m, x: not m.isfinite(x) and x == x, doc="Is "
"infinite.", carries=no_number)
isfinite = _truth("isfinite", "x", np.isfinite, lambda m, x: m.isfinite(x), doc="Is a finite "
"number.", carries=no_number)


@function()
def logical_xor(x: Any, y: Any) -> Any:
    """Exactly one is true."""
    return not_equal(not_equal(x, 0), not_equal(y, 0))


@function()
def isposinf(x: Any) -> Any:
    """Is +infinity."""
    return equal(x, math.inf)


@function()
def isneginf(x: Any) -> Any:
    """Is -infinity."""
    return equal(x, -math.inf)


_FLOATS = (float, np.float64)


def _where(condition: Any, x: Any, y: Any) -> Any:
    if type(condition) is np.bool_ and type(x) in _FLOATS and type(y) in _FLOATS:
        return np.float64(x if condition else y)  # np.where takes ten times as long
    size = np.size(condition)
    if size > 4096 and {*map(type, (condition, x, y))} <= {np.ndarray, *_FLOATS}:
        held = np.count_nonzero(condition)
        if (
            condition.dtype == bool
            and min(held, size - held) * 16 > size
            and np.result_type(x, y) == np.float64
        ):
            # np.where jumps by each truth: seven times as long, where they come as by chance.
            x, y = (np.asarray(part, np.float64).view(np.int64) for part in (x, y))
            return ((x ^ y) * condition ^ y).view(np.float64)
    return np.asarray(np.where(condition, x, y))[()]


def _simpler_where(out: Any, condition: Any, x: Any, y: Any) -> Any:
    decided = number_of(condition)
    if decided is not None:
        return x if decided else y
    if number_of(x) == 0 and (condition.op is isnan or _guards_zero(condition, y)):
        return y
    if x is y:
        return x
    held = _assuming(condition, True, x)
    failed = _assuming(condition, False, y)
    return None if held is x and failed is y else where(condition, held, failed)


def _assuming(condition: Any, holds: bool, node: Any, depth: int = 6) -> Any:
    """Return a node under the assumption that a condition holds, or that it does not.

    Choices by the condition within the node are resolved, entry by entry.
    """
    if not depth or node is None or node.op is None or not node.op.elementwise:
        return node
    if node.op is where and node.operands[0] is condition:
        return _assuming(condition, holds, node.operands[1 if holds else 2], depth - 1)
    operands = [_assuming(condition, holds, operand, depth - 1) for operand in node.operands]
    same = all(a is b for a, b in zip(operands, node.operands, strict=True))
    return node if same else node.op(*operands, **node.static)


def _guards_zero(condition: Any, product: Any) -> bool:
    """Return whether a condition such as y == 0 only protects a product.

    The product vanishes (or has no value) there anyway.
    """
    if condition.op is logical_and:
        condition = condition.operand
    if condition.op is not equal or number_of(condition.operands[1]) != 0:
        return False
    guarded = without_repeats(condition.operand)
    stack = [product]
    seen = 0
    while stack and seen < 64:
        part = without_repeats(stack.pop())
        seen += 1
        role = part.op.algebra if part.op is not None else ""
        if part is guarded or (
            role in ("logarithm", "power") and without_repeats(part.operand) is guarded
        ):
            return True
        if role in ("product", "quotient", "negation"):
            stack += part.operands
    return False


where: Op = piecewise(
    "where",
    "condition x y",
    _where,
    lambda m, c, x, y: x if c else y,
    vjp=(
        None,
        lambda cotangent, out, condition, x, y: where(condition, cotangent, 0.0),
        lambda cotangent, out, condition, x, y: where(condition, 0.0, cotangent),
    ),
    dtype="same",
    symbolic=lambda s, c, x, y: s.Piecewise((x, c), (y, True)),
    saves="condition",
    extended=Entrywise((None, lambda c, x, y: c != 0, lambda c, x, y: c == 0)),
    doc="x where the condition holds, y elsewhere. The branch not taken contributes nothing, "
    "whatever its value. "
    ">>> where(x > 0, x, 0.1*x)",
    algebra="choice",
    simpler=_simpler_where,
    latex=r"\begin{{cases}} {x} & \text{{if }} {condition} \\ {y} & \text{{otherwise}} \end{{cases}}",
    ulps=0,
    carries=error_of_choice,
    numpy="np.where({0}, {1}, {2})",
)


# -- Slopes that are zero on whole pieces --------------------------------------------------------


class Pieces(Fixed):
    """A partial of an operation that stays as it is on some pieces, as relu does below 0.

    It is called as any partial is. What multiplies by it asks for ``flowing`` instead: an infinite
    cotangent times the zero of a flat piece is zero, while one times a zero that is so at the point
    only is not known.

    flat   ``flat(out, *operands, **static)``: where the result does not move, its edges among it if
           the slope chosen there is 0; None where static parameters are such that it moves
           everywhere
    slope  the partial elsewhere: a function of the same, or a number
    """

    flat: Function
    slope: Function | float = 1.0

    def __call__(self, *values: Any, **static: Any) -> Any:
        return self.flowing(lambda one, slope: slope, 1.0, values, static)

    def flowing(
        self, times: Function, factor: Any, values: Sequence[Any], static: Mapping[str, Any]
    ) -> Any:
        """Return what ``times`` makes of a factor and the slope, and zero on the flat pieces."""
        flat = self.flat(*values, **static)
        slope = self.slope(*values, **static) if callable(self.slope) else self.slope
        moved = factor if type(slope) is float and slope == 1 else times(factor, slope)
        return moved if flat is None else where(flat, 0.0, moved)


# -- Values held to bounds: the larger and the smaller of two, and values limited to a range -----


def _extreme(
    name: str, sympy: str, ufunc: np.ufunc, wins: Function, beyond: Op, behind: Op, **record: Any
) -> Op:
    """Make the operation that takes the one of two values that lies beyond the other."""

    def slope(out: Any, x: Any, y: Any) -> Any:
        return where(equal(x, y), 0.5, 1.0)

    return piecewise(
        name,
        "x y",
        ufunc,
        lambda m, x, y: x + y if x != x or y != y else x if wins(x, y) else y,
        Pieces(lambda out, x, y: behind(x, y), slope),
        Pieces(lambda out, x, y: beyond(x, y), slope),
        symbolic=lambda s, x, y: getattr(s, sympy)(x, y),
        saves="x y",
        dtype="number",
        algebra="extreme",
        ulps=0,
        kinks=Kink(lambda x, y: x == y, "x = y", "half to each operand", SAME),
        extended=Entrywise(
            (lambda x, y: wins(x, y) + (x == y) * 0.5, lambda x, y: wins(y, x) + (x == y) * 0.5)
        ),
        carries=((), ()),
        **record,
    )


maximum = _extreme(
    "maximum", "Max", np.maximum, operator.gt, greater, less, doc="The larger of two values; NaN "
    "if either is. >>> maximum(0, 1 - x)",
)
minimum = _extreme(
    "minimum", "Min", np.minimum, operator.lt, less, greater, doc="The smaller of two values; NaN "
    "if either is. >>> minimum(x, 1)",
)


def _inside(cotangent: Any, out: Any, x: Any, low: Any, high: Any) -> Any:
    within = True if low is None else greater_equal(x, low)
    if high is not None:
        within = less_equal(x, high) if low is None else logical_and(within, less_equal(x, high))
    return where(within, cotangent, 0.0)


def _below(cotangent: Any, out: Any, x: Any, low: Any, high: Any) -> Any:
    under = less(x, low)
    return where(under if high is None else logical_and(under, less(low, high)), cotangent, 0.0)


def _above(cotangent: Any, out: Any, x: Any, low: Any, high: Any) -> Any:
    over = greater(x, high)
    return where(over if low is None else logical_or(over, less(high, low)), cotangent, 0.0)


def _clip_in_jax(x: Any, low: Any, high: Any) -> Any:
    """Return the smaller of high and the larger of x and low, with shared ties."""
    raised = x if low is None else maximum(x, low)
    return raised if high is None else minimum(raised, high)


def _clip(x: Any, low: Any, high: Any) -> Any:
    bounded = x if low is None else np.maximum(x, low)
    return bounded if high is None else np.minimum(bounded, high)


@function(
    "clip clamp",
    forward=_clip,
    vjp=(_inside, _below, _above),
    kind="piecewise",
    kinks=Kink(
        lambda x, low, high: x in (low, high) or low == high is not None, "x = low, x = high or low = high",
        "1 for x (PyTorch's clamp until 2.13)", Choice("1/2 for x", _clip_in_jax)
    ),
    saves="x low high",
    dtype="number",
    backward="Clamp",
    ulps=0,
    carries=((), (), ()),
    c={
        (True, True, True): "g_minimum(g_maximum({0}, {1}), {2})", (True, True, False): "g_maximum({0}, {1})",
        (True, False, True): "g_minimum({0}, {1})", (True, False, False): "({0})",
    },
    numpy={
        (True, True, True): "np.clip({0}, {1}, {2})",
        (True, True, False): "np.maximum({0}, {1})",
        (True, False, True): "np.minimum({0}, {1})",
    },
)
def clip(x: Any, low: Any = None, high: Any = None) -> Any:
    """x limited to the range from low to high; either bound may be None.

    >>> clip(x, -1, 1)
    """
    raised = x if low is None else where(less(x, low), low, x)
    return raised if high is None else where(greater(raised, high), high, raised)


@function()
def fmax(x: Any, y: Any) -> Any:
    """The larger of two values, ignoring NaN; of equal ones the first, which gets the gradient.

    >>> fmax(x, 0)
    """
    return where(logical_or(greater_equal(x, y), isnan(y)), x, y)


@function()
def fmin(x: Any, y: Any) -> Any:
    """The smaller of two values, ignoring NaN; of equal ones the first, which gets the gradient."""
    return where(logical_or(less_equal(x, y), isnan(y)), x, y)


declare("""
    numpy:
        clip(x, low|a_min|min, high|a_max|max, -out)
        clamp = clip(x, low|min, high|max)
        clamp_min = clip(x, low|min!)
        clamp_max = clip(x, high|max!)
    torch:
        clip clamp = clip(x, low|min, high|max)
""")
