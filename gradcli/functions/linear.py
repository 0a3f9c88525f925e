"""Linear functions and their adjoints: <A x, y> = <x, A* y> for all x and y.

The gradient of <A x, y> by x is A* y, wherever it is taken. Where the function cannot be traced, unit vectors give the entries of A,
which no difference has to be taken for.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import numpy as np

from gradcli.errors import ArgumentError, InputTypeError
from gradcli.functions.arguments import Floats, claims_in
from gradcli.functions.calls import guarded
from gradcli.functions.differences import Estimate, held
from gradcli.functions.precision import epsilon_of
from gradcli.functions.seeds import Seeds
from gradcli.functions.subject import NoValue, Subject
from gradcli.report.verdicts import VariableCheck

ADJOINT = "adjoint"
UNITS = "unit vectors"
_FACTORS = (2.5, -1.25)
_LINEAR = 1e-6  # relative: by how much a linear function may be off being one, which solvers within are


def is_operator(given: Any) -> bool:
    """Whether an object is a linear operator with its adjoint, as those of ``scipy.sparse.linalg`` are."""
    return all(callable(getattr(given, name, None)) for name in ("matvec", "rmatvec"))


def parts_of_operator(
    given: Any, arguments: Mapping[str, Any], state: int
) -> tuple[Callable[..., Any], Callable[..., Any], Mapping[str, Any]]:
    """The function, its adjoint, and its argument: random, of the operator's shape, if there is none."""
    if np.dtype(getattr(given, "dtype", None) or float).kind == "c":
        raise InputTypeError("the operator is complex: gradients are real here")
    if not arguments:
        shape = getattr(given, "shape", None)
        if not (isinstance(shape, tuple) and len(shape) == 2):
            raise ArgumentError("the operator has no shape of two numbers", help="give its argument (at)")
        arguments = {"x": np.random.default_rng(state).standard_normal(int(shape[1]))}
    return given.matvec, given.rmatvec, arguments


def adjoint_said(subject: Subject, adjoint: Callable[..., Any], seeds: Seeds) -> Floats:
    """What an adjoint that somebody wrote gives for vectors, and for the arguments that the function is not linear in."""
    others = [value for name, value in subject.copies().items() if name not in subject.wrt]
    return claims_in(subject.arguments, subject.wrt, adjoint(*(seed.copy() for seed in seeds), *others))


def refuse_nonlinear(subject: Subject, state: int) -> None:
    """Raise ArgumentError for a function that is not linear in its arguments, together."""
    random = np.random.default_rng([state, 17])
    first, second = ({name: random.standard_normal(x.shape).astype(x.dtype) for name, x in subject.floats.items()} for _ in range(2))
    a, b = _FACTORS
    mixed = {name: (a * first[name] + b * second[name]).astype(x.dtype) for name, x in subject.floats.items()}
    one, other, both = (guarded(partial(subject.numbers, at), NoValue, interrupts=False) for at in (first, second, mixed))
    room = _LINEAR if all(x.dtype == np.float64 for x in subject.floats.values()) else 1e-3
    for x, y, z in zip(one, other, both, strict=True):
        size = float((abs(a * x) + abs(b * y)).max(initial=0.0))
        off = float(np.abs(a * x + b * y - z).max(initial=0.0))
        if not off <= room * size:
            raise ArgumentError(f"the function is not linear: A(2.5*x - 1.25*y) is off 2.5*A(x) - 1.25*A(y) by {off:.2g} of {size:.2g}")


def by_units(subject: Subject, name: str, seeds: Seeds, claimed: np.ndarray, rtol: float, atol: float) -> VariableCheck:
    """The verdict on the adjoint's answer to seeds, by the answers of the function to unit vectors."""
    nothing = {other: np.zeros_like(x) for other, x in subject.floats.items()}
    epsilon = max(epsilon_of(x.dtype) for x in subject.floats.values())

    def entry(i: int) -> Estimate:
        unit = np.zeros_like(subject.floats[name])
        unit.reshape(-1)[i] = 1
        terms = subject.along(seeds, {**nothing, name: unit})
        return Estimate(math.fsum(terms), 4 * epsilon * math.fsum(map(abs, terms)), UNITS)

    return held(claimed, entry, rtol, atol)
