"""The true derivative of a function in Python: asked of its trace, or of differences."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from gradcli.check.claims import RTOL
from gradcli.check.rounding import DECIDES
from gradcli.check.verdicts import Check, VariableCheck, Verdict
from gradcli.functions.arguments import Floats, Seeds, Subject
from gradcli.functions.differences import (
    TOLD,
    by_differences,
    is_of_symmetric,
    symmetrize_slopes,
    symmetrizing,
)
from gradcli.functions.implicit import ADJOINT, by_units
from gradcli.functions.precision import precision_of, widen
from gradcli.functions.tracing.exact import Claims, Exact, exact
from gradcli.graph.nodes import forward, reachable

_NO_VALUE = "the function has no finite value here"
# Most entries of a claim that are checked from both sides where the claim does not fit the branch
# that was taken.
_FEW = 64


@dataclass(eq=False)
class Truth:
    """Derivative that a function has: asked of its trace, or of differences.

    by, kind    whose derivative it is, and which
    rtol, atol  how far claims may be off
    widest      the one step of differences; None for several scales of steps
    """

    subject: Subject
    by: str | None
    kind: str
    rtol: float | None
    atol: float
    widest: float | None = None

    def __post_init__(self) -> None:
        self.held: dict[str, None] = {}  # where the code declares a value to be a constant
        self.exact = trace_subject(self.subject, self.by, self.held)

    def check(self, seeds: Seeds, claims: Floats) -> Check:
        """Return the verdict on a gradient of the result's sum with these seeds."""
        has_formula = self.exact is not None and not all(
            node.is_constant for node in self.exact.results
        )
        found = self._by_trace(seeds, claims) if self._has_value or has_formula else None
        if found is None and not self._has_value:
            found = {name: VariableCheck(Verdict.UNDEFINED, reason=_NO_VALUE) for name in claims}
        if found is None:
            found = {name: self._differences(name, seeds, said) for name, said in claims.items()}
            if self.held:  # differences do not hold these values constant
                found = {name: _open(part) for name, part in found.items()}
        told = self._reason()
        for name, part in found.items():
            if (
                part.verdict is Verdict.MISMATCH
                and is_of_symmetric(self.subject, name)
                and self._symmetric(name, seeds, claims[name])
            ):
                found[name] = VariableCheck(
                    Verdict.AGREE, part.decided_by, entries=part.entries, reason=TOLD.format(name)
                )
                told = TOLD.format(name)
            elif (
                part.verdict is Verdict.MISMATCH
                and claims[name].size <= _FEW
                and (self._decisions() or self._has_ties)
            ):
                # The point may lie where a branch begins, or where sorted values are tied.
                beside = self._differences(name, seeds, claims[name])
                found[name] = beside if beside.verdict is Verdict.KINK else part
        worst = max((part.verdict for part in found.values()), default=Verdict.AGREE)
        return Check(worst, found, reason=told)

    def _by_trace(self, seeds: Seeds, claims: Floats) -> dict[str, VariableCheck] | None:
        if self.exact is None:
            return None
        narrow = precision_of(self.subject, claims.values(), self.exact.trace.kinds, self.by)
        said = Claims(claims, self.rtol, self.atol, narrow)
        found = self.exact.check(seeds, said)
        return None if found is None else self._on_other_ways(found, seeds, said)

    def _on_other_ways(
        self, found: dict[str, VariableCheck], seeds: Seeds, claims: Claims
    ) -> dict[str, VariableCheck]:
        """Excuse claims that are right on a branch in Python that rounding decides against.

        Such claims are not wrong, and the verdict on them is ill-conditioned.
        """
        if self.exact is None or all(
            part.verdict is not Verdict.MISMATCH for part in found.values()
        ):
            return found
        for text, way in self.exact.other_ways(claims.precision):
            there = way.check(seeds, claims)
            for name, part in (there or {}).items():
                if found[name].verdict is Verdict.MISMATCH and part.verdict is not Verdict.MISMATCH:
                    found[name] = replace(
                        part, verdict=Verdict.ILL_CONDITIONED, reason=DECIDES.format(text)
                    )
        return found

    @cached_property
    def _has_value(self) -> bool:
        return all(np.isfinite(part).all() for part in self.subject.value)

    def _differences(self, name: str, seeds: Seeds, said: np.ndarray) -> VariableCheck:
        rtol = RTOL.get(str(said.dtype), 1e-6) if self.rtol is None else self.rtol
        if self.kind == ADJOINT:
            return by_units(self.subject, name, seeds, said, rtol, self.atol)
        found = by_differences(self._wide, name, seeds, said, rtol, self.atol, self.widest)
        if found.verdict is not Verdict.UNDETERMINED or self._wide is self.subject:
            return found
        # The function may compute in few bits even when it is given float64.
        own = by_differences(self.subject, name, seeds, said, rtol, self.atol)
        return found if own.verdict is Verdict.UNDETERMINED else own

    @cached_property
    def _wide(self) -> Subject:
        return in_float64(self.subject)

    def _symmetric(self, name: str, seeds: Seeds, said: np.ndarray) -> bool:
        """Return whether a gradient by a symmetric matrix is right along symmetric directions.

        In these directions the matrix stays symmetric.
        """
        subject = replace(self.subject, make=symmetrizing(name, self.subject.make), wrt=[name])
        truth = replace(self, subject=subject)
        claims = {name: symmetrize_slopes(said)}
        found = truth._by_trace(seeds, claims) or {
            name: truth._differences(name, seeds, claims[name])
        }
        return found[name].verdict is Verdict.AGREE

    def _decisions(self) -> list[str]:
        """Return what the control flow of the traced function depended on."""
        return [] if self.exact is None else list(self.exact.passage.decisions)

    @cached_property
    def _has_ties(self) -> bool:
        """Presence of equal entries among those that whole-array operations choose from.

        Sums choose none.
        """
        if self.exact is None:
            return False
        values = forward(self.exact.results, self.exact.values)
        taken = [
            operand for node in reachable(self.exact.results)
            if node.op is not None and not node.op.elementwise and not node.op.linear
            for operand in node.given_operands if not operand.is_constant
        ]  # fmt: skip
        arrays = [
            np.asarray(x) for operand in taken if not isinstance(x := values.get(operand), tuple)
        ]
        return any(x.dtype.kind == "f" and np.unique(x).size < x.size for x in arrays)

    def _reason(self) -> str | None:
        """Return what the verdict hangs on beside the numbers."""
        said = []
        if decisions := self._decisions():
            said.append(f"decided at the tested values: {', '.join(decisions)}")
        if self.held:
            said.append(f"held constant where the code detaches it: {', '.join(self.held)}")
            if self.exact is None:
                said.append("and the trace stops elsewhere")
        return "; ".join(said) or None


def trace_subject(subject: Subject, by: str | None, held: dict[str, None]) -> Exact | None:
    """Return a function as a graph, if it can be traced.

    It is traced in float64, unless it takes only fewer bits.

    held  is told where the code declares values to be constants
    """
    wide = widen(subject)
    found = exact(wide, by, held)
    return found if found is not None or wide is subject else exact(subject, by, held)


def in_float64(subject: Subject) -> Subject:
    """Return the function at the same arguments in float64, where it takes them.

    Its differences then have digits.
    """
    wide = widen(subject)
    with suppress(Exception):  # a function for narrow floats only may raise anything
        if [(x.shape, str(x.dtype)) for x in wide.value] == [
            (x.shape, "float64") for x in subject.value
        ]:
            return wide
    return subject


def _open(part: VariableCheck) -> VariableCheck:
    """Weaken the verdict of differences on a function that holds some values constant.

    Differences say nothing against a claim about such a function.
    """
    if part.verdict is not Verdict.MISMATCH:
        return part
    reason = "differences move what the code detaches"
    return replace(part, verdict=Verdict.UNDETERMINED, reason=reason, wrong=0)
