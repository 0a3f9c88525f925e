"""The forms in which a record says what its operation is on whole arrays in long double, for the judge of large ones.

They are written anew: they share nothing with the forward pass and the rules. A cotangent goes back with its error and with what of it
flows at all; a form says how all three do.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

Function = Callable[..., Any]
LONG_DOUBLE = np.longdouble


class NotCovered(Exception):
    """A rule does not cover these operands; another reference has to decide."""


@dataclass(frozen=True, eq=False)
class Rule:
    """What the judge of large arrays knows of an operation.

    value  ``value(*operands, **static)``, None where the forward pass computes in long double itself
    """

    value: Function | None = field(default=None, kw_only=True)


@dataclass(frozen=True, eq=False)
class Entrywise(Rule):
    """Entry by entry.

    partials  ``partial(*operands)`` for each operand, None for one without a derivative
    """

    partials: tuple[Function | None, ...]


@dataclass(frozen=True, eq=False)
class Linear(Rule):
    """What adds entries up, repeats, moves or chooses them: cotangents, errors and what flows go back alike.

    pull  ``pull(part, *operands, **static)``: what is for each operand, None for one without a derivative
    """

    pull: Function


@dataclass(frozen=True, eq=False)
class Reduced(Rule):
    """A function of all entries along axes.

    slopes  ``slopes(x, axes, static)``: the value with its axes kept, its derivative by each entry, and the size of the terms that
            this is computed of
    """

    slopes: Function


@dataclass(frozen=True, eq=False)
class Mixed(Rule):
    """A function whose results depend on all entries along an axis.

    pull  ``pull(x, cotangent, sign, **static)``; with the sign 1, of the sizes of cotangents, -1 otherwise
    """

    pull: Function


@dataclass(frozen=True, eq=False)
class Product(Rule):
    """A matrix product.

    factors  ``factors(cotangent, x, y)``: what is for each operand
    """

    factors: Function
