"""The program beside its witness: what differs, in words; None where nothing does."""

from __future__ import annotations

from random import Random

import numpy as np

import gradcli
from gradcli.errors import GradcliError
from witness.numpy_values import Unusable, Values, gradients, steady, value_of
from witness.programs import Grower, seed_of, values_of
from witness.trees import by_gradcli, by_python

_DIGITS = 1e-10  # of values, whose terms may be added in another order
_SLOPES = 2e-6  # of slopes, which differences know to nine digits or so


def tree_differs(text: str) -> str | None:
    """How the tree of a text that Python reads differs from Python's; SyntaxError and TypeError are Python's own."""
    wanted = by_python(text)
    found = by_gradcli(gradcli.parse(text))
    return None if found == wanted else f"{text!r} is read as\n{found}, and by Python as\n{wanted}"


def numbers_differ(text: str, values: Values, number: int) -> str | None:
    """How value or gradient differ from NumPy's. Raises Unusable where NumPy has no number, GradcliError where the program has none."""
    wanted = value_of(text, values)
    if not steady(text, values):
        raise Unusable("on a jump, or without digits")
    seed = seed_of(number, wanted.shape)
    record = gradcli.evaluate(text, at=values, seed=seed if wanted.shape else float(seed), check=False, formula=False)
    found = np.asarray(record.value, float)
    if found.shape != wanted.shape:
        return f"{text!r} has the shape {found.shape}, and by NumPy {wanted.shape}"
    if _beyond(found, wanted, _DIGITS):
        return f"{text!r} is {found.tolist()}, and by NumPy {wanted.tolist()}, at {_shown(values)}"
    slopes = gradients(text, values, seed)
    largest = max((float(np.max(np.nan_to_num(np.abs(s)), initial=0.0)) for s in slopes.values()), default=0.0)
    for name, slope in slopes.items():
        computed = (record.grad or {}).get(name)
        computed = np.zeros(slope.shape) if computed is None else np.asarray(computed, float)
        if computed.shape != slope.shape:
            return f"the gradient of {text!r} by {name} has the shape {computed.shape}, not {slope.shape}"
        known = np.isfinite(slope)
        if _beyond(computed[known], slope[known], _SLOPES, largest):
            if _doubtful(text, values, seed, name):
                raise Unusable("the program itself calls this slope a choice, or without digits")
            where = f"at {_shown(values)}, seed {seed.tolist()}"
            return f"the gradient of {text!r} by {name} is {computed.tolist()}, by differences {slope.tolist()}, {where}"
    return None


def _doubtful(text: str, values: Values, seed: np.ndarray, name: str) -> bool:
    """Whether the verdict on a slope is neither agree nor mismatch; asked only of slopes that differ."""
    record = gradcli.evaluate(text, at=values, seed=seed if seed.shape else float(seed), formula=False)
    assert record.check is not None
    return name in record.check.variables and record.check.variables[name].verdict.word not in ("agree", "mismatch")


def _beyond(found: np.ndarray, wanted: np.ndarray, share: float, largest: float = 0.0) -> bool:
    if not found.size:
        return False
    return bool(np.any(~(np.abs(found - wanted) <= share * (1 + largest + np.abs(wanted).max()))))


def _shown(values: Values) -> str:
    return ", ".join(f"{name}={np.asarray(value).tolist()}" for name, value in values.items())


def random_program(random: Random, depth: int = 4, number: int | None = 0) -> str:
    """A program that NumPy computes at the values of this number; with None, one that Python reads."""
    return Grower(random, None if number is None else values_of(number)).program(depth)


def refused(text: str, error: GradcliError) -> str:
    return f"{text!r}: {error.message} ({error.help})"
