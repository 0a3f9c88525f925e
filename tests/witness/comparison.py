"""The program beside its witness: what differs, in words; None where nothing does."""

from __future__ import annotations

import re
from collections.abc import Mapping
from random import Random
from typing import Any

import numpy as np
from golden.answers import ask
from helpers import differences, parsed

import gradcli
from gradcli.errors import GradcliError
from witness.numpy_values import Unusable, Values, gradients, steady, value_of
from witness.programs import Grower, seed_of, values_of
from witness.trees import by_gradcli, by_python

_DIGITS = 1e-10  # of values, whose terms may be added in another order
_SLOPES = 2e-6  # of slopes, which differences know to nine digits or so


def tree_differs(text: str) -> str | None:
    """How the tree of a text that Python reads differs from Python's; SyntaxError and TypeError are
    Python's own.
    """
    wanted = by_python(text)
    found = by_gradcli(parsed(text))
    return None if found == wanted else f"{text!r} is read as\n{found}, and by Python as\n{wanted}"


def numbers_differ(text: str, values: Values, number: int) -> str | None:
    """How value or gradient differ from NumPy's.

    Raises Unusable where NumPy has no number, GradcliError where the program has none.
    """
    seed = _usable(text, values, number)
    record = gradcli.evaluate(text, at=values, seed=seed, check=False, formula=False)
    return _differs(text, values, seed, record.value, record.grad or {})


def compiled_differs(text: str, values: Values, number: int) -> str | None:
    """The same of a compiled function, which is called twice: its memory is used again."""
    seed = _usable(text, values, number)
    function = gradcli.value_and_grad(text)
    given = {name: value for name, value in values.items() if re.search(rf"\b{name}\b", text)}
    moved = {name: np.asarray(value) * 1.001 for name, value in given.items()}
    function(moved, seed=seed)
    value, slopes = function(given, seed=seed)
    return _differs(text, values, seed, value, slopes)


_QUERIES = ["{a}*x**2 - {b}*y", "exp(-{a}*x)*sin({b}*y)", "{a}*y - {b}/x", "y**{a} + {b}*x*y"]


def queries_differ() -> str | None:
    """Queries of a few forms one after the other, whose numbers differ, as a stream of them is
    evaluated.
    """
    values = {"x": np.float64(0.7), "y": np.float64(1.3)}
    texts = [form.format(a=k + 1.5, b=2 * k + 0.25) for k in range(12) for form in _QUERIES]
    lines = [f'{{"expr": "{text}", "at": {{"x": 0.7, "y": 1.3}}}}\n' for text in texts]
    words = ["eval", "-", "--input", "jsonl", "--format", "jsonl", "--no-check"]
    _, found, _ = ask({"argv": words, "stdin": "".join(lines)})
    for text, record in zip(texts, found, strict=True):
        slopes = {name: np.asarray(slope) for name, slope in record["grad"].items()}
        if wrong := _differs(text, values, np.ones(()), record["value"], slopes):
            return wrong
    return None


def bits_differ(text: str, values: Values) -> str | None:
    """How a value differs from NumPy's in any bit."""
    found, wanted = np.asarray(gradcli.compile(text)(values)), value_of(text, values)
    return (
        None
        if np.array_equal(found, wanted)
        else f"{text!r} is {found.tolist()!r}, and by NumPy {wanted.tolist()!r}"
    )


def epsilon_differs() -> str | None:
    """The least that a root mean square is raised by, at numbers of its size."""
    x = np.array([1e-9, 2e-9, -3e-9])
    found, wanted = (
        gradcli.compile("F.rms_norm(x, (3,))")(x=x),
        x / np.sqrt(np.mean(x**2) + np.finfo(float).eps),
    )
    return (
        None
        if np.allclose(found, wanted, rtol=1e-12, atol=0)
        else f"rms_norm of {x} is {found}, and by NumPy {wanted}"
    )


def writes_differ() -> str | None:
    """Entries that are written into tensors and into arrays, and slopes through what was
    written.
    """
    import gradcli as torch

    values = values_of(5)
    weights = seed_of(5, (3, 3))

    def total(w: Any, y: Any, scale: Any) -> Any:
        found = w * 1.5
        found[1:] = y * 3
        found[0, [2, 1]] = found[2, :2] * scale
        return (found * found * weights).sum()

    given = [np.array(values[name]) for name in ("w", "y")]
    leaves = [torch.tensor(array, requires_grad=True) for array in given]
    found = total(*leaves, 2.0)
    found.backward()
    wanted = total(*given, 2.0)
    if _beyond(np.asarray(found.item()), wanted, _DIGITS):
        return (
            f"the sum of what was written into a tensor is {found.item()}, and into an array "
            f"{wanted}"
        )
    for place, (name, leaf) in enumerate(zip("wy", leaves, strict=True)):
        slope = differences(
            lambda at, place=place: total(
                *[at if i == place else a for i, a in enumerate(given)], 2.0
            ),
            given[place],
        )
        if _beyond(leaf.grad.numpy(), slope, 1e-9, float(np.abs(slope).max())):
            return (
                f"the gradient through what was written by {name} is {leaf.grad.tolist()}, by "
                f"differences {slope.tolist()}"
            )
    return None


def _usable(text: str, values: Values, number: int) -> np.ndarray:
    """A seed for a text that has numbers to compare. Raises Unusable."""
    wanted = value_of(text, values)
    if not steady(text, values):
        raise Unusable("on a jump, or without digits")
    return seed_of(number, wanted.shape)[()]


def _differs(
    text: str, values: Values, seed: np.ndarray, value: Any, grad: Mapping[str, Any]
) -> str | None:
    found, wanted = np.asarray(value, float), value_of(text, values)
    if found.shape != wanted.shape:
        return f"{text!r} has the shape {found.shape}, and by NumPy {wanted.shape}"
    if _beyond(found, wanted, _DIGITS):
        return f"{text!r} is {found.tolist()}, and by NumPy {wanted.tolist()}, at {_shown(values)}"
    slopes = gradients(text, values, seed)
    largest = max(
        (float(np.max(np.nan_to_num(np.abs(s)), initial=0.0)) for s in slopes.values()), default=0.0
    )
    for name, slope in slopes.items():
        computed = np.asarray(grad.get(name, np.zeros(slope.shape)), float)
        if computed.shape != slope.shape:
            return (
                f"the gradient of {text!r} by {name} has the shape {computed.shape}, not "
                f"{slope.shape}"
            )
        known = np.isfinite(slope)
        if _beyond(computed[known], slope[known], _SLOPES, largest):
            if _doubtful(text, values, seed, name):
                raise Unusable("the program itself calls this slope a choice, or without digits")
            where = f"at {_shown(values)}, seed {seed.tolist()}"
            return (
                f"the gradient of {text!r} by {name} is {computed.tolist()}, by differences "
                f"{slope.tolist()}, {where}"
            )
    return None


def _doubtful(text: str, values: Values, seed: np.ndarray, name: str) -> bool:
    """Whether the verdict on a slope is neither agree nor mismatch; asked only of slopes that
    differ.
    """
    record = gradcli.evaluate(
        text, at=values, seed=seed if seed.shape else float(seed), formula=False
    )
    assert record.check is not None
    return name in record.check.variables and record.check.variables[name].verdict.word not in (
        "agree",
        "mismatch",
    )


def _beyond(found: np.ndarray, wanted: np.ndarray, share: float, largest: float = 0.0) -> bool:
    if not found.size:
        return False
    return bool(np.any(~(np.abs(found - wanted) <= share * (1 + largest + np.abs(wanted).max()))))


def _shown(values: Values) -> str:
    return ", ".join(f"{name}={np.asarray(value).tolist()}" for name, value in values.items())


def random_program(random: Random, depth: int = 4, number: int | None = 0) -> str:
    """A program that NumPy computes at the values of this number; with None, one that
    Python reads.
    """
    return Grower(random, None if number is None else values_of(number)).program(depth)


def refused(text: str, error: GradcliError) -> str:
    return f"{text!r}: {error.message} ({error.help})"
