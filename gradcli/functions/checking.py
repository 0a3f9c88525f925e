"""A gradient of a function in Python, held to the derivative: the best source that there is decides, and the record says which.

A function that can be traced is a graph, and the judge of expressions decides. Where a trace stops, extrapolated differences do, with
their error. Either way claims are about the function's result times a seed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any
from warnings import catch_warnings, simplefilter

import numpy as np

from gradcli.check.claims import RTOL
from gradcli.errors import ArgumentError, EvaluationError
from gradcli.functions.arguments import Floats, Make, as_given, claims_in, products_in, rebuilt
from gradcli.functions.calls import guarded
from gradcli.functions.differences import by_differences
from gradcli.functions.frameworks import Framework, framework
from gradcli.functions.seeds import DIRECTIONS, Seeds, product, seeds_for
from gradcli.functions.subject import NoValue, Subject
from gradcli.functions.symmetry import TOLD, is_of_symmetric, symmetrized
from gradcli.functions.taylor import taylor_order
from gradcli.functions.tracing.exact import exact
from gradcli.functions.tracing.runs import run_of
from gradcli.report.verdicts import Check, Claim, VariableCheck, Verdict

TRACED = "the traced function"
# What single precision may add to rounding carried through the function, which is known: some of its last bits, relative. A kernel that is
# off by a thousandth is off by more.
_LAST_BITS = {"float32": 1e-5}


@dataclass(frozen=True, eq=False)
class Question:
    """A gradient of a function at the values of its arguments, by some of them.

    by     the framework whose own backward is held, if nobody's gradient is
    order  1, or 2: the gradient is a Hessian then, held along random directions
    seed   the vector of the vector-Jacobian product; without one, 1 for a number and random directions for arrays
    state  of these directions
    """

    arguments: Mapping[str, Any]
    wrt: list[str]
    rtol: float | None = None
    atol: float = 0.0
    by: str | None = None
    seed: Any = None
    state: int = 0
    order: int = 1

    def check(self, function: Callable[..., Any], gradient: Callable[..., Any] | None) -> tuple[Check, Any]:
        """The verdict, and the function's value.

        Raises NoValue where the function raises, what the gradient raises, and GradcliError for what they may not give.
        """
        if self.by is None:
            return self._checked(Subject(function, self.arguments, self.wrt), None, gradient)
        found = framework(self.by)
        with found.setting():
            return self._checked(Subject(function, self.arguments, self.wrt, found.make), found, None)

    def _checked(self, subject: Subject, found: Framework | None, gradient: Callable[..., Any] | None) -> tuple[Check, Any]:
        self._warm(subject, found, gradient)
        guarded(lambda: subject.value, NoValue, interrupts=False)
        if self.order == 2:
            return self._second(subject, found, gradient)
        directions = seeds_for(subject.value, self.seed, self.state)
        if found is not None:
            claims = [found.product(subject, seeds, None) for seeds in directions]
        else:
            assert gradient is not None
            claims = [self._said(subject, gradient, seeds) for seeds in directions]
        truth = _Truth(subject, self)
        checks = [truth.check(seeds, said) for seeds, said in zip(directions, claims, strict=True)]
        check = max(checks, key=lambda c: c.verdict)
        if len(checks) > 1:
            for part in check.variables.values():
                part.directions = len(checks)
        return check, _shown(subject)

    def _second(self, subject: Subject, found: Framework | None, gradient: Callable[..., Any] | None) -> tuple[Check, Any]:
        """The verdict on second derivatives, which only a trace has for certain: by their products with random directions."""
        (seeds,) = seeds_for(subject.value, self.seed, self.state)[:1]
        if not subject.is_scalar and self.seed is None:
            raise ArgumentError("second derivatives are of a number", help="give the vector that the result is multiplied with (seed)")
        graph = exact(subject, run_of(subject, self.by))
        if graph is None:
            raise EvaluationError("second derivatives are checked of functions that can be traced, and this one cannot")
        random, checks = np.random.default_rng(self.state), []
        for _ in range(DIRECTIONS):
            along = {name: random.standard_normal(x.shape).astype(x.dtype) for name, x in subject.floats.items()}
            if found is not None:
                claims = found.product(subject, seeds, along)
            else:
                assert gradient is not None
                claims = products_in(self.arguments, self.wrt, gradient(*_copies(subject)), along)
            check = graph.check(subject.floats, seeds, claims, self.rtol, self.atol, along)
            if check is None:
                raise EvaluationError("the reference has no second derivative of this function")
            parts = {claim.of: _part(claim, check.variables.get(claim.of), claims[claim.of]) for claim in check.claims}
            checks.append(Check(max(part.verdict for part in parts.values()), parts))
        check = max(checks, key=lambda c: c.verdict)
        for part in check.variables.values():
            part.directions = DIRECTIONS
        return check, _shown(subject)

    def _warm(self, subject: Subject, found: Framework | None, gradient: Callable[..., Any] | None) -> None:
        """Call both at other values first: what keeps its first answer, or is of an earlier call, gives itself away afterwards."""
        random = np.random.default_rng(self.state)
        moved = {name: (x * random.uniform(*_ELSEWHERE, x.shape)).astype(x.dtype) for name, x in subject.floats.items()}
        arguments = {name: rebuilt(name, value, moved, as_given) for name, value in subject.arguments.items()}
        there = replace(subject, arguments=arguments)
        with suppress(Exception, SystemExit), np.errstate(all="ignore"), catch_warnings():
            simplefilter("ignore")
            (seeds, *_) = seeds_for(there.value, self.seed, self.state)
            if found is not None:
                found.product(there, seeds, None)
            elif gradient is not None:
                product(gradient, _copies(there), seeds, there.is_scalar)

    def _said(self, subject: Subject, gradient: Callable[..., Any], seeds: Seeds) -> Floats:
        """What a gradient says after its function was called there, as a class that keeps what its backward needs wants it."""
        subject()
        with np.errstate(all="ignore"), catch_warnings():
            simplefilter("ignore")
            said = product(gradient, _copies(subject), seeds, subject.is_scalar)
        return claims_in(self.arguments, self.wrt, said)


_ELSEWHERE = (1.001, 1.01)  # times the values of the arguments


def _copies(subject: Subject) -> list[Any]:
    """Arguments of their own for a gradient, which may write into them."""
    return [rebuilt(name, value, subject.floats, subject.make) for name, value in subject.arguments.items()]


def _shown(subject: Subject) -> Any:
    value = subject.value
    return np.float64(value[0].reshape(())[()]) if subject.is_scalar else value[0] if len(value) == 1 else None


@dataclass(eq=False)
class _Truth:
    """What the derivative of a function is: asked of its trace, or of differences."""

    subject: Subject
    question: Question

    def __post_init__(self) -> None:
        self.exact = exact(self.subject, run_of(self.subject, self.question.by))

    def check(self, seeds: Seeds, claims: Floats) -> Check:
        """The verdict on a gradient of the result's sum with these seeds."""
        found = self._traced(seeds, claims)
        if found is None:
            found = self._without_value(claims) or {name: self._differences(name, seeds, said) for name, said in claims.items()}
        told = self._reason(seeds, claims)
        for name, part in found.items():
            if part.verdict is Verdict.MISMATCH and is_of_symmetric(self.subject, name) and self._symmetric(name, seeds, claims[name]):
                found[name] = VariableCheck(Verdict.AGREE, part.decided_by, entries=part.entries, reason=TOLD.format(name))
                told = TOLD.format(name)
        worst = max((part.verdict for part in found.values()), default=Verdict.AGREE)
        return Check(worst, found, reason=told)

    def _traced(self, seeds: Seeds, claims: Floats) -> dict[str, VariableCheck] | None:
        if self.exact is None:
            return None
        rtol = self.question.rtol
        if rtol is None:
            rtol = max((_LAST_BITS[str(said.dtype)] for said in claims.values() if str(said.dtype) in _LAST_BITS), default=None)
        check = self.exact.check(self.subject.floats, seeds, claims, rtol, self.question.atol)
        if check is None:
            return None
        return {claim.of: _part(claim, check.variables.get(claim.of), claims[claim.of]) for claim in check.claims}

    def _without_value(self, claims: Floats) -> dict[str, VariableCheck] | None:
        """The verdict where the function has no finite value, which has no derivative."""
        if all(np.isfinite(part).all() for part in self.subject.value):
            return None
        return {name: VariableCheck(Verdict.UNDEFINED, reason="the function has no finite value here") for name in claims}

    def _differences(self, name: str, seeds: Seeds, said: np.ndarray) -> VariableCheck:
        rtol = RTOL.get(str(said.dtype), 1e-6) if self.question.rtol is None else self.question.rtol
        return by_differences(self.subject, name, seeds, said, rtol, self.question.atol)

    def _symmetric(self, name: str, seeds: Seeds, said: np.ndarray) -> bool:
        """Whether a gradient by a symmetric matrix is right along the directions in which it stays one."""
        subject = replace(self.subject, make=_symmetrizing(name, self.subject.make), wrt=[name])
        truth = _Truth(subject, replace(self.question, wrt=[name]))
        claims = {name: symmetrized(said)}
        found = truth._traced(seeds, claims) or {name: truth._differences(name, seeds, claims[name])}
        return found[name].verdict is Verdict.AGREE

    def _reason(self, seeds: Seeds, claims: Floats) -> str | None:
        """What the verdict hangs on beside the numbers."""
        if self.exact is not None:
            decisions = ", ".join(self.exact.decisions)
            return f"decided at the tested values: {decisions}" if decisions else None
        order = taylor_order(self.subject, seeds, claims)
        return None if order is None else f"Taylor remainder of order {order:.2f} (2 if the gradient is right, 1 if not)"


def _symmetrizing(name: str, make: Make) -> Make:
    """Makes of a matrix its symmetric part before the function sees it."""

    def made(which: str, value: Any, numbers: Any) -> Any:
        found = make(which, value, numbers)
        return (found + found.T) / 2 if which == name else found

    return made


def _part(claim: Claim, engine: VariableCheck | None, said: np.ndarray) -> VariableCheck:
    """The verdict on a claim, as that on the gradient by a name."""
    part = VariableCheck(claim.verdict, TRACED, entries=(said.size, said.size), worst=claim.worst, reason=claim.reason, mask=claim.mask)
    part.wrong = 0 if claim.wrong is None else claim.wrong[0]
    if engine is not None:
        part.certified, part.kinks = engine.certified, engine.kinks if claim.verdict is Verdict.KINK else []
        if claim.verdict is Verdict.UNDETERMINED and part.reason is None:
            part.reason = engine.reason
    return part
