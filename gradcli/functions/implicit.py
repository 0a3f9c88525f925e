"""Solvers: functions whose values solve an equation.

Their gradient is that of the implicit function theorem, however they find the solution.

Where F(x, θ) = 0 the solution moves by dx/dθ = -(∂F/∂x)⁻¹ ∂F/∂θ. Therefore the gradient of <x, y>
by θ is that of -<λ, F(x, θ)> at a fixed x, with (∂F/∂x)ᵀ λ = y. This is a gradient of the
equation's own function, which the same sources decide about.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from gradcli.check.verdicts import Check, VariableCheck, Verdict
from gradcli.errors import ArgumentError, EvaluationError
from gradcli.functions.arguments import Floats, NoValue, Seeds, Subject, claims_in
from gradcli.functions.calls import call_guarded
from gradcli.functions.differences import Slope, derivative, hold_claims
from gradcli.functions.precision import epsilon_of
from gradcli.functions.tracing.exact import Exact

RESIDUAL, FIXED_POINT = "residual", "fixed point"
THEOREM = "the implicit function theorem, by "
SOLUTION = "the solution"
_SINGULAR = 1e13  # from this condition number on, the solution is no function of the arguments
_MOST = 1_000  # most unknowns


def check_solution(
    subject: Subject, equation: Callable[..., Any], solves: str, trace: Callable[[Subject], Exact | None],
    truth_of: Callable[[Subject], Any], directions: list[Seeds], claims: list[Floats], rtol: float,
) -> list[Check]:  # fmt: skip
    """Return the verdicts on gradients of an equation's solution times seeds.

    They are the verdicts on gradients of the residual at a fixed solution.

    The solution that the function has found is improved by a Newton step. Raises ArgumentError for
    an equation of another shape, EvaluationError for a singular one.
    """
    if len(subject.value) != 1:
        raise ArgumentError(
            f"a function that solves an equation gives one array, not {len(subject.value)}"
        )
    (found,) = subject.value
    residual = (  # zero at a fixed point
        (lambda x, *arguments: x - equation(x, *arguments)) if solves == FIXED_POINT else equation
    )
    here = _at(subject, residual, found)
    call_guarded(lambda: here.value, NoValue, interrupts=False)
    if len(here.value) != 1 or here.value[0].size != found.size:
        entries = sum(part.size for part in here.value)
        raise ArgumentError(
            f"the {solves} has {entries} entries, the solution {found.size}: there must be one "
            "for each"
        )
    if found.size > _MOST:
        raise EvaluationError(
            f"the solution has {found.size:,} entries; at most {_MOST:,} are solved for"
        )
    change = _solution(_jacobian(here, trace), np.ravel(here.value[0])).reshape(found.shape)
    there = _at(subject, residual, (found - change).astype(found.dtype))
    jacobian = _jacobian(there, trace)
    _solution(jacobian, np.zeros(found.size))
    step = _largest(change) / (_largest(found) or 1.0)
    if step > rtol:
        off = (
            f"its residual is {_largest(here.value[0]):.2g}, and a Newton step moves the "
            f"solution by {step:.2g} of it"
        )
        open_ = VariableCheck(Verdict.UNDETERMINED, reason=f"the equation is not solved: {off}")
        return [Check(Verdict.UNDETERMINED, dict.fromkeys(claims[0], open_), reason=open_.reason)]
    # How far off the solution is, and the rounding error of the multipliers.
    epsilon = max([2.0**-52, *(epsilon_of(part.dtype) for part in claims[0].values())])
    unsure = 4 * (step + float(np.linalg.cond(jacobian)) * epsilon)
    truth = truth_of(replace(there, wrt=subject.wrt))
    atol = truth.atol
    checks = []
    for seeds, said in zip(directions, claims, strict=True):
        size = max((_largest(part[np.isfinite(part)]) for part in said.values()), default=0.0)
        multipliers = np.linalg.solve(jacobian.T, np.ravel(seeds[0])).reshape(here.value[0].shape)
        truth.atol = atol + unsure * size
        checks.append(truth.check([-multipliers], said))
        for part in checks[-1].variables.values():
            part.decided_by = f"{THEOREM}{part.decided_by}"
    return checks


def _largest(x: np.ndarray) -> float:
    return float(np.abs(x).max(initial=0.0))


def _at(subject: Subject, residual: Callable[..., Any], solution: np.ndarray) -> Subject:
    """Return the residual as a function of the solution."""
    arguments: Mapping[str, Any] = {SOLUTION: np.asarray(solution), **subject.arguments}
    return Subject(residual, arguments, [SOLUTION], subject.make)


def _solution(jacobian: np.ndarray, right: np.ndarray) -> np.ndarray:
    condition = np.linalg.cond(jacobian) if np.isfinite(jacobian).all() else np.inf
    if not condition <= _SINGULAR:
        raise EvaluationError(
            "the derivative of the residual by the solution is singular: the solution is no "
            "function of the arguments"
        )
    return np.asarray(np.linalg.solve(jacobian, right))


def _jacobian(residual: Subject, trace: Callable[[Subject], Exact | None]) -> np.ndarray:
    """Return the derivative of the residual by the solution, from its trace or by differences."""
    size = residual.value[0].size
    found = trace(residual)
    rows = []
    for row in np.eye(size):
        seed = row.reshape(residual.value[0].shape)
        if found is None:
            rows.append([derivative(residual, SOLUTION, [seed], i).value for i in range(size)])
        else:
            (node,), leaf = found.results, found.trace.leaves[SOLUTION]
            slopes = found.pull({node: seed}, [leaf])
            rows.append(
                np.ravel(np.broadcast_to(np.asarray(slopes.get(leaf, 0.0)), leaf.shape)).tolist()
            )
    return np.asarray(rows, float)


# -- Linear functions and their adjoints: <A x, y> = <x, A* y> for all x and y -------------------
#
# The gradient of <A x, y> by x is A* y, wherever it is taken. Where the function cannot be
# traced, unit vectors give the entries of A, which no difference has to be taken for.


ADJOINT = "adjoint"
UNITS = "unit vectors"
_FACTORS = (2.5, -1.25)
# Relative: how far from linear an operator may be, because of solvers inside it.
_LINEAR = 1e-6


def adjoint_said(subject: Subject, adjoint: Callable[..., Any], seeds: Seeds) -> Floats:
    """Return the answer of an adjoint that somebody wrote to vectors.

    It also takes the arguments that the function is not linear in.
    """
    others = [value for name, value in subject.copies().items() if name not in subject.wrt]
    return claims_in(
        subject.arguments, subject.wrt, adjoint(*(seed.copy() for seed in seeds), *others)
    )


def refuse_nonlinear(subject: Subject, state: int) -> None:
    """Raise ArgumentError for a function that is not linear in its arguments, together."""
    random = np.random.default_rng([state, 17])
    first, second = subject.direction(random), subject.direction(random)
    a, b = _FACTORS
    mixed = {
        name: (a * first[name] + b * second[name]).astype(x.dtype)
        for name, x in subject.floats.items()
    }
    one, other, both = (
        call_guarded(partial(subject.numbers, at), NoValue, interrupts=False)
        for at in (first, second, mixed)
    )
    room = _LINEAR if all(x.dtype == np.float64 for x in subject.floats.values()) else 1e-3
    for x, y, z in zip(one, other, both, strict=True):
        size = _largest(abs(a * x) + abs(b * y))
        off = _largest(a * x + b * y - z)
        if not off <= room * size:
            raise ArgumentError(
                "the function is not linear: A(2.5*x - 1.25*y) is off 2.5*A(x) - 1.25*A(y) by "
                f"{off:.2g} of {size:.2g}"
            )


def by_units(
    subject: Subject, name: str, seeds: Seeds, claimed: np.ndarray, rtol: float, atol: float
) -> VariableCheck:
    """Return the verdict on the adjoint's answer to seeds.

    It is decided by the function's answers to unit vectors.
    """
    nothing = {other: np.zeros_like(x) for other, x in subject.floats.items()}
    epsilon = max(epsilon_of(x.dtype) for x in subject.floats.values())

    def entry(i: int) -> Slope:
        unit = np.zeros_like(subject.floats[name])
        unit.reshape(-1)[i] = 1
        terms = subject.along(seeds, {**nothing, name: unit})
        return Slope(math.fsum(terms), 4 * epsilon * math.fsum(map(abs, terms)), source=UNITS)

    return hold_claims(claimed, entry, rtol, atol)
