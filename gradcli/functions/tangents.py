"""JVPs: the derivative of a function along a direction of its arguments, as that of a function of one number, the step."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from gradcli.errors import ArgumentError
from gradcli.functions.arguments import Floats, Make, real, rebuilt
from gradcli.functions.calls import by_names
from gradcli.functions.seeds import Seeds
from gradcli.functions.subject import Subject, parts_of

JVP = "jvp"  # what the step is called, and so the verdict on the derivative by it


def along(subject: Subject, directions: Floats) -> Subject:
    """The function of the step along directions, at 0."""

    def moved(step: Any) -> Make:
        def make(name: str, value: Any, numbers: Any) -> Any:
            found = subject.make(name, value, numbers)
            return found + step * subject.make(name, value, directions[name]) if name in directions else found

        return make

    def function(step: Any) -> Any:
        make = moved(step)
        return subject.function(*(rebuilt(name, value, subject.floats, make) for name, value in subject.arguments.items()))

    return Subject(function, {JVP: 0.0}, [JVP], subject.make)


def said(subject: Subject, jvp: Callable[..., Any], directions: Floats) -> list[np.ndarray]:
    """What a JVP that somebody wrote gives for directions: it takes the arguments, then a tangent for each that it is by.

    Raises ArgumentError for what has not the form of the function's result.
    """
    given = subject.copies()
    tangents = [rebuilt(name, subject.arguments[name], directions, subject.make) for name in subject.wrt]
    found = [real(part, "the JVP must give") for part in parts_of(by_names(jvp, list(given))(*given.values(), *tangents))]
    shapes, wanted = ([part.shape for part in parts] for parts in (found, subject.value))
    if shapes != wanted:
        told, right = (", ".join(map(str, some)) for some in (shapes, wanted))
        raise ArgumentError(f"the JVP has the shape {told}, the function's result {right}")
    return found


def contracted(parts: list[np.ndarray], seeds: Seeds) -> Floats:
    """A JVP times a seed, which is the derivative by the step of the result's sum with this seed."""
    total = sum(float((part * seed).sum()) for part, seed in zip(parts, seeds, strict=True))
    return {JVP: np.asarray(total, np.result_type(*parts))}
