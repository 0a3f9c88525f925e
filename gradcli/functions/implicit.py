"""Solvers: a function whose value solves an equation has the gradient of the implicit function theorem, whatever it does to find it.

Where F(x, θ) = 0 the solution moves by dx/dθ = -(∂F/∂x)⁻¹ ∂F/∂θ. So the gradient of <x, y> by θ is that of -<λ, F(x, θ)> at a fixed x,
with (∂F/∂x)ᵀ λ = y: a gradient of the equation's own function, which the same sources decide about.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from gradcli.errors import ArgumentError, EvaluationError
from gradcli.functions.arguments import Floats
from gradcli.functions.calls import guarded
from gradcli.functions.differences import derivative
from gradcli.functions.precision import epsilon_of
from gradcli.functions.seeds import Seeds
from gradcli.functions.subject import NoValue, Subject
from gradcli.functions.tracing.exact import Exact
from gradcli.graph.interpret import forward
from gradcli.graph.nodes import reachable
from gradcli.graph.sweep import backward
from gradcli.report.verdicts import Check, VariableCheck, Verdict

RESIDUAL, FIXED_POINT = "residual", "fixed point"
THEOREM = "the implicit function theorem, by "
SOLUTION = "the solution"
_SINGULAR = 1e13  # the condition number from which the solution is no function of the arguments
_MOST = 1_000  # unknowns


@dataclass(frozen=True, eq=False)
class Implicit:
    """An equation at the solution that a function has found, made better by a step of Newton's.

    equation  the function of its residual, at the better solution
    step      that step, relative to the solution
    residual  the largest entry of the residual at the solution that was found
    jacobian  of the residual by the solution
    """

    equation: Subject
    step: float
    residual: float
    jacobian: np.ndarray

    def checks(
        self, directions: list[Seeds], claims: list[Floats], rtol: float, ask: Callable[[Seeds, Floats, float], Check]
    ) -> list[Check]:
        """The verdicts on gradients of the solution times seeds; ``ask`` gives those on gradients of the residual, with some room."""
        if self.step > rtol:
            off = f"its residual is {self.residual:.2g}, and a Newton step moves the solution by {self.step:.2g} of it"
            reason = f"the equation is not solved: {off}"
            open_ = {name: VariableCheck(Verdict.UNDETERMINED, reason=reason) for name in claims[0]}
            return [Check(Verdict.UNDETERMINED, open_, reason=reason)]
        # what the solution is off by, and what rounding makes of the multipliers
        epsilon = max([float(np.finfo(float).eps), *(epsilon_of(part.dtype) for part in claims[0].values())])
        unsure = 4 * (self.step + float(np.linalg.cond(self.jacobian)) * epsilon)
        checks = []
        for seeds, said in zip(directions, claims, strict=True):
            size = max((float(np.abs(part[np.isfinite(part)]).max(initial=0.0)) for part in said.values()), default=0.0)
            multipliers = np.linalg.solve(self.jacobian.T, np.ravel(seeds[0])).reshape(self.equation.value[0].shape)
            checks.append(ask([-multipliers], said, unsure * size))
            for part in checks[-1].variables.values():
                part.decided_by = f"{THEOREM}{part.decided_by}"
        return checks


def implicit(subject: Subject, equation: Callable[..., Any], solves: str, trace: Callable[[Subject], Exact | None]) -> Implicit:
    """The equation that a function solves. Raises ArgumentError for one of another shape, EvaluationError for a singular one."""
    if len(subject.value) != 1:
        raise ArgumentError(f"a function that solves an equation gives one array, not {len(subject.value)}")
    (found,) = subject.value
    residual = _minus(equation) if solves == FIXED_POINT else equation
    here = _at(subject, residual, found)
    guarded(lambda: here.value, NoValue, interrupts=False)
    if len(here.value) != 1 or here.value[0].size != found.size:
        entries = sum(part.size for part in here.value)
        raise ArgumentError(f"the {solves} has {entries} entries, the solution {found.size}: there must be one for each")
    if found.size > _MOST:
        raise EvaluationError(f"the solution has {found.size:,} entries; at most {_MOST:,} are solved for")
    step = _solved(_jacobian(here, trace), np.ravel(here.value[0])).reshape(found.shape)
    size = float(np.abs(found).max(initial=0.0)) or 1.0
    there = _at(subject, residual, (found - step).astype(found.dtype))
    jacobian = _jacobian(there, trace)
    _solved(jacobian, np.zeros(found.size))
    equation_there = replace(there, wrt=subject.wrt)
    return Implicit(equation_there, float(np.abs(step).max(initial=0.0)) / size, float(np.abs(here.value[0]).max(initial=0.0)), jacobian)


def _at(subject: Subject, residual: Callable[..., Any], solution: np.ndarray) -> Subject:
    """The residual as a function of the solution."""
    arguments: Mapping[str, Any] = {SOLUTION: np.asarray(solution), **subject.arguments}
    return Subject(residual, arguments, [SOLUTION], subject.make)


def _minus(map_: Callable[..., Any]) -> Callable[..., Any]:
    """What is zero at a fixed point."""
    return lambda x, *arguments: x - map_(x, *arguments)


def _solved(jacobian: np.ndarray, right: np.ndarray) -> np.ndarray:
    condition = np.linalg.cond(jacobian) if np.isfinite(jacobian).all() else np.inf
    if not condition <= _SINGULAR:
        raise EvaluationError("the derivative of the residual by the solution is singular: the solution is no function of the arguments")
    return np.asarray(np.linalg.solve(jacobian, right))


def _jacobian(residual: Subject, trace: Callable[[Subject], Exact | None]) -> np.ndarray:
    """The derivative of the residual by the solution: of its trace, or by differences."""
    size = residual.value[0].size
    found, rows = trace(residual), []
    for row in np.eye(size):
        seed = row.reshape(residual.value[0].shape)
        if found is None or found.trace.hidden:
            rows.append([derivative(residual, SOLUTION, [seed], i).value for i in range(size)])
            continue
        (node,), leaf = found.results, found.trace.leaves[SOLUTION]
        values = forward([node], found.scope(residual.floats).values)
        slopes = backward(reachable([node]), {node: seed}, [leaf], values.__getitem__)
        rows.append(np.ravel(np.broadcast_to(np.asarray(slopes.get(leaf, 0.0)), leaf.shape)).tolist())
    return np.asarray(rows, float)
