"""Forms in which records describe their operations on whole arrays in long double.

They are for the judge of large arrays. They are written anew: they share nothing with the forward
pass and the rules. A form tells how a cotangent goes back, and which part of it flows at all.
Errors go back as cotangents do, with random signs.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from importlib import import_module
from typing import Any, NamedTuple

import numpy as np

from gradcli.ops.facts import Fixed

Function = Callable[..., Any]
LONG_DOUBLE = np.longdouble
# Not with Microsoft's compiler, nor on Macs with ARM processors.
WIDER = bool(np.finfo(LONG_DOUBLE).nmant > np.finfo(np.float64).nmant)

# Bits behind the point of the doubles that stand in for long doubles where those need not decide.
KEPT = 47


def is_float(value: Any) -> bool:
    dtype = getattr(value, "dtype", None)
    return isinstance(value, float) if dtype is None else dtype.kind == "f"


class NotCovered(Exception):
    """A rule does not cover these operands; another reference has to decide."""


class Rule:
    """Knowledge that the judge of large arrays has of an operation.

    value  ``value(*operands, **static)``, None where the forward pass computes in long double
           itself
    """

    value: Function | None


class Entrywise(Fixed, Rule):
    """Entry by entry.

    partials  ``partial(*operands)`` for each operand, None for one without a derivative; nothing
              for a function without kinks that NumPy has no loop for in long double, whose slopes
              are sympy's
    epsilon   whether the value asks for the distance from 1 to the next of the program's floats, as
              ``epsilon``
    """

    partials: tuple[Function | None, ...] = ()
    value: Function | None = None
    epsilon: bool = False


class Opened(Rule):
    """Function on entries that is computed by its body.

    Nothing of its own forward pass and rule is run.
    """

    value = None


BODY = Opened()


class Reduced(Fixed, Rule):
    """A function of all entries along axes.

    slopes  ``slopes(x, axes, round)``: the value with its axes kept, and its derivative by each
            entry; ``round`` shows the rounding of terms that may cancel
    """

    slopes: Function
    value = None


class Formulas(NamedTuple):
    """Formulas of what an operation is on whole arrays, and how a cotangent goes back through it.

    Of an operation of several results, the result is a tuple, and so is its cotangent.

    value  ``value(*operands, **static)``
    pull   ``pull(cotangent, out, *operands, **static)``: what is for each operand, None for one
           without a derivative
    flows  the same of ones where something flows and zeros where nothing does, if it may be that
           nothing flows to an entry at all
    """

    value: Function
    pull: Function
    flows: Function | None = None


class Whole(Fixed, Rule):
    """Any other operation, whose formulas have a name in ``gradcli/ops/wholes.py``.

    The file is imported when formulas are first asked for.
    """

    name: str

    @cached_property
    def formulas(self) -> Formulas:
        found: Formulas = getattr(import_module("gradcli.ops.wholes"), self.name)
        return found

    @property
    def value(self) -> Function | None:  # type: ignore[override]
        return self.formulas.value


# -- Functions of pieces: what their slopes are on every piece, and at the kinks between them ----


# Floats of Python take the precision of the other operand.
COPYSIGN = Entrywise(
    (lambda x, y: np.sign(x) * (1 - 2 * np.signbit(y)), lambda x, y: np.zeros_like(y))
)
NUMBERS = Entrywise((np.isfinite,))


def _times_log(x: Any, log: Any) -> Any:
    return np.where((x == 0) & ~np.isnan(log), 0.0, x * log)


XLOGY = Entrywise(value=lambda x, y: _times_log(x, np.log(y)))
XLOG1PY = Entrywise(value=lambda x, y: _times_log(x, np.log1p(y)))


# -- Reductions: values and derivatives, by formulas of their own --------------------------------


Axes = tuple[int, ...]


def _equal_to(best: Callable[..., Any]) -> Reduced:
    """One of the entries along axes, whose equals share the cotangent."""

    def slopes(x: Any, axes: Axes, *_: Any) -> tuple[Any, Any]:
        found = best(x, axis=axes, keepdims=True)
        chosen = x == found
        if np.isnan(found).any():
            chosen |= np.isnan(x) & np.isnan(found)
        return found, np.divide(chosen, chosen.sum(axis=axes, keepdims=True), dtype=x.dtype)

    return Reduced(slopes)


MAX, MIN = _equal_to(np.max), _equal_to(np.min)


def _prod(x: Any, axes: Axes, *_: Any) -> tuple[Any, Any]:
    is_zero = x == 0
    zeros, filled = is_zero.sum(axis=axes, keepdims=True), np.where(is_zero, 1.0, x)
    product = filled.prod(axis=axes, keepdims=True)
    # No other entry is zero: at the only zero, the product is that of the other entries.
    slope = np.where(zeros == is_zero, product / filled, 0.0)
    return np.where(zeros, 0.0, product), slope


PROD = Reduced(_prod)


def _logsumexp(x: Any, axes: Axes, round: Callable[[Any], Any]) -> tuple[Any, Any]:
    top = x.max(axis=axes, keepdims=True)
    raised = np.exp(x - top)
    total = raised.sum(axis=axes, keepdims=True)
    return round(np.log(total)) + top, raised / total


# Where doubles alone decide, its parts keep more digits of a probability's distance from 1.
LOGSUMEXP = Reduced(_logsumexp) if WIDER else None
