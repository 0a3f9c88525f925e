"""Whether entries hold, and how many: ``any``, ``all``, ``count_nonzero``, ``isclose``, ``allclose``. No derivative flows through them."""

from __future__ import annotations

from typing import Any

from gradcli.graph.nodes import Expr
from gradcli.language.builder import Builder
from gradcli.language.conversions import as_boolean
from gradcli.ops.calling.binding import static_parameters
from gradcli.ops.elementwise import logic
from gradcli.ops.elementwise.arithmetic import abs_
from gradcli.ops.reductions.sums import sum_


def _holding(builder: Builder, x: Any, axis: Any, keepdims: Any, where: Any, counted: float) -> Expr:
    """How many of the chosen entries are (or are not) 0."""
    holds = as_boolean(builder.value(x))
    ones = logic.where(holds, counted, 1.0 - counted)
    if where is not None:
        ones = logic.where(as_boolean(builder.value(where)), ones, 0.0)
    static = static_parameters(sum_, [ones], {"axis": builder.static(axis, "an axis"), "keepdims": builder.static(keepdims, "a flag")})
    made: Expr = sum_(ones, **static)
    return made


def count_nonzero(builder: Builder, x: Any, axis: Any = None, keepdims: Any = False) -> Any:
    """How many entries are not 0."""
    return _holding(builder, x, axis, keepdims, None, 1.0)


def any_(builder: Builder, x: Any, axis: Any = None, keepdims: Any = False, where: Any = None) -> Any:
    """Whether an entry is not 0."""
    return logic.greater(_holding(builder, x, axis, keepdims, where, 1.0), 0.0)


def all_(builder: Builder, x: Any, axis: Any = None, keepdims: Any = False, where: Any = None) -> Any:
    """Whether no entry is 0."""
    return logic.equal(_holding(builder, x, axis, keepdims, where, 0.0), 0.0)


def isclose(builder: Builder, x: Any, y: Any, rtol: Any = 1e-5, atol: Any = 1e-8, equal_nan: Any = False) -> Any:
    """Whether entries differ by no more than ``atol + rtol*abs(y)``."""
    a, b = builder.value(x), builder.value(y)
    near = logic.less_equal(abs_(a - b), builder.value(atol) + builder.value(rtol) * abs_(b))
    close = logic.logical_or(logic.equal(a, b), logic.logical_and(near, logic.logical_and(logic.isfinite(a), logic.isfinite(b))))
    if not builder.flag(equal_nan, "'equal_nan'"):
        return close
    return logic.logical_or(close, logic.logical_and(logic.isnan(a), logic.isnan(b)))


def allclose(builder: Builder, x: Any, y: Any, rtol: Any = 1e-5, atol: Any = 1e-8, equal_nan: Any = False) -> Any:
    """Whether all entries are close."""
    return all_(builder, isclose(builder, x, y, rtol, atol, equal_nan))


def array_equal(builder: Builder, x: Any, y: Any) -> Any:
    """Whether shapes and entries are equal."""
    a, b = builder.value(x), builder.value(y)
    return all_(builder, logic.equal(a, b)) if a.shape == b.shape else builder.graph.constant(False)
