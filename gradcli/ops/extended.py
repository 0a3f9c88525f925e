"""The forms in which a record says what its operation is on whole arrays in long double, for the judge of large ones.

They are written anew: they share nothing with the forward pass and the rules. A form says how a cotangent goes back, and what of it
flows at all; errors go back as cotangents do, with random signs.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from importlib import import_module
from typing import Any, NamedTuple

import numpy as np

from gradcli.ops.fixed import Fixed

Function = Callable[..., Any]
LONG_DOUBLE = np.longdouble
WIDER = bool(np.finfo(LONG_DOUBLE).nmant > np.finfo(np.float64).nmant)  # not with Microsoft's compiler, nor on Macs with ARM processors


class NotCovered(Exception):
    """A rule does not cover these operands; another reference has to decide."""


class Rule:
    """What the judge of large arrays knows of an operation.

    value  ``value(*operands, **static)``, None where the forward pass computes in long double itself
    """

    value: Function | None


class Entrywise(Fixed, Rule):
    """Entry by entry.

    partials  ``partial(*operands)`` for each operand, None for one without a derivative
    epsilon   whether the value asks for the distance from 1 to the next of the program's floats, as ``epsilon``
    """

    partials: tuple[Function | None, ...]
    value: Function | None = None
    epsilon: bool = False


class Valued(Fixed, Rule):
    """A function entry by entry without kinks that NumPy has no loop for in long double: its slopes are sympy's."""

    value: Function


class Reduced(Fixed, Rule):
    """A function of all entries along axes.

    slopes  ``slopes(x, axes, static)``: the value with its axes kept, and its derivative by each entry
    """

    slopes: Function
    value = None


class Formulas(NamedTuple):
    """What an operation is on whole arrays, and how a cotangent goes back through it.

    Of an operation of several results, the result is a tuple, and so is its cotangent.

    value  ``value(*operands, **static)``
    pull   ``pull(cotangent, out, *operands, **static)``: what is for each operand, None for one without a derivative
    flows  the same of ones where something flows and zeros where nothing does, if it may be that nothing flows to an entry at all
    """

    value: Function
    pull: Function
    flows: Function | None = None


class Whole(Fixed, Rule):
    """Any other operation, whose formulas have a name in ``gradcli/ops/wholes.py``; the file is imported when they are first asked for."""

    name: str

    @cached_property
    def formulas(self) -> Formulas:
        found: Formulas = getattr(import_module("gradcli.ops.wholes"), self.name)
        return found

    @property
    def value(self) -> Function | None:  # type: ignore[override]
        return self.formulas.value
