"""Derivatives of functions whose trace stops in places: differences at the calls alone that are not
traced, composed with the exact rest.

Where a trace stops, numbers leave the graph (an exit), and what is made of them comes back as
constants. The function runs again with one of these numbers moved and all others as they were, so
that the constants move by what lies between them alone. Times their adjoints in the graph, that is
the adjoint of the exit, whose node the graph has: the judge decides about the sum with these exits.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from gradcli.check.claims import RTOL
from gradcli.functions.arguments import Floats, Seeds
from gradcli.functions.differences import JVP, Slope, along, derivative, hold_claims, slope
from gradcli.functions.precision import epsilon_of
from gradcli.functions.tracing.exact import REFUSED, TRACED, Claims, Exact, part_of, run_at
from gradcli.functions.tracing.passage import Exit, Passage
from gradcli.graph.nodes import Expr
from gradcli.report.verdicts import VariableCheck, Verdict

_MOST_ENTRIES, _MOST_STEPS = (
    2_000,
    300,
)  # numbers that leave the graph, and of these times steps of the trace: else all is differenced
_MOVE = 2.0**-14  # relative: how far the whole function is moved to confirm its derivative
_OFF = (
    1e-4  # relative, of that derivative: what is off by more depends on what the trace has not seen
)
_PLACES = 3  # that are told


@dataclass(frozen=True, eq=False)
class Adjoint:
    """That of numbers that leave the graph, by differences, and its errors."""

    exit: Exit
    numbers: np.ndarray
    errors: np.ndarray


@dataclass(eq=False)
class Composition:
    """A function whose trace has leaves in the places of constants that hide a dependence."""

    exact: Exact

    def __post_init__(self) -> None:
        self.subject, trace = self.exact.subject, self.exact.trace
        self.exits: dict[
            int, Exit
        ] = {}  # by the index of their nodes, each once, as often as code asks for its numbers
        for exit in self.exact.passage.exits:
            if exit.before <= max(
                trace.hidden
            ):  # of numbers that come later, nothing that is hidden is made
                self.exits.setdefault(exit.node.index, exit)
        entries = sum(exit.numbers.size for exit in self.exits.values())
        steps = len(trace.steps) + self.exact.passage.price * len(self.exact.passage.exits)
        self.feasible = entries <= _MOST_ENTRIES and entries * steps <= _MOST_STEPS

    def check(self, seeds: Seeds, claims: Claims) -> dict[str, VariableCheck] | None:
        """The verdict on each claim; None where it takes differences of the whole.

        What a format of few bits rounds in the calls that are not traced is not known, and is given
        the room of a tolerance.
        """
        if not self.feasible:
            return None
        root, narrow = self.exact.sum(seeds), claims.narrow
        if claims.rtol is None and narrow is not None:
            claims = claims._replace(rtol=RTOL[narrow.name])
        adjoints = self._adjoints(root, 0.0 if narrow is None else 2 * narrow.unit)
        if adjoints is None:
            return None
        whole = self.exact.add(
            [(root, np.ones(())), *((adjoint.exit.node, adjoint.numbers) for adjoint in adjoints)]
        )
        room = self._errors(adjoints)
        unsure = max(float(part.max(initial=0.0)) for part in room.values())
        judged = self.exact.judge(whole, claims._replace(atol=claims.atol + unsure))
        if judged is None:
            return None
        check, grad = judged
        if not self.exact.passage.held and not self._confirm(seeds, grad, room):
            return None
        found: dict[str, VariableCheck] = {}
        source = f"{TRACED}, with differences at {self._places(adjoints)}"
        for claim in check.claims:
            part, said = check.variables[claim.of], claims.numbers[claim.of]
            if part.verdict is not Verdict.AGREE:
                found[claim.of] = replace(part_of(claim, part, said), decided_by=source)
                continue
            errors = np.ravel(room[claim.of]) + (part.max_abs_error or 0.0)
            slopes = np.ravel(grad[claim.of])
            tolerance = RTOL.get(str(said.dtype), 1e-6) if claims.rtol is None else claims.rtol
            estimates = [
                Slope(float(value), float(error), source=source)
                for value, error in zip(slopes, errors, strict=True)
            ]
            found[claim.of] = hold_claims(said, estimates.__getitem__, tolerance, claims.atol)
        if any(part.verdict is Verdict.MISMATCH for part in found.values()):
            self._explain(root, claims, found, self._places(adjoints))
        return found

    def _explain(
        self, root: Expr, claims: Claims, found: dict[str, VariableCheck], places: str
    ) -> None:
        """Say of wrong gradients that what leaves the graph is a constant to them, if it is
        that.
        """
        judged = self.exact.judge(root, claims)
        if judged is not None and all(claim.verdict is Verdict.AGREE for claim in judged[0].claims):
            for part in found.values():
                if part.verdict is Verdict.MISMATCH:
                    part.reason = f"it takes for constants what leaves the graph at {places}"

    def _adjoints(self, root: Expr, coarse: float) -> list[Adjoint] | None:
        """Return those of the exits, the last first; None where differences give none.

        coarse  the distance of numbers, relative, in the format of the claims, in which the calls
                may compute whatever they are given
        """
        hidden, found = self.exact.trace.hidden, list[Adjoint]()
        unsure = (
            0.0  # the relative error of adjoints that come later, which those before are made of
        )
        for exit in reversed(self.exits.values()):
            seeds: dict[Expr, Any] = {later.exit.node: later.numbers for later in found}
            seeds[root] = seeds.get(root, 0.0) + np.float64(1)
            adjoints = self.exact.pull(seeds, hidden.values())
            weights = {
                number: np.asarray(adjoints[leaf])
                for number, leaf in hidden.items()
                if leaf in adjoints
            }
            epsilon = max(
                epsilon_of(array.dtype)
                for array in (exit.numbers, *(self.exact.trace.constants[n] for n in weights))
            )
            numbers, errors = np.zeros(exit.numbers.size), np.zeros(exit.numbers.size)
            for entry in (
                range(exit.numbers.size) if any(weight.any() for weight in weights.values()) else ()
            ):
                moved = partial(self._move_exit, exit, entry, weights)
                at = float(exit.numbers.reshape(-1)[entry])
                estimate = slope(moved, at, epsilon)
                if coarse > epsilon and not estimate.error <= _OFF * abs(estimate.value):
                    estimate = min(
                        estimate,
                        slope(moved, at, coarse),
                        key=lambda found: (
                            found.noisy,
                            not math.isfinite(found.error),
                            found.error,
                        ),
                    )
                if (
                    estimate.sides is not None
                    or estimate.noisy
                    or not math.isfinite(estimate.value + estimate.error)
                ):
                    return None
                numbers[entry], errors[entry] = (
                    estimate.value,
                    estimate.error + unsure * abs(estimate.value),
                )
            if numbers.any():
                unsure = max(unsure, float(errors.max() / np.abs(numbers).max()))
            found.append(
                Adjoint(exit, numbers.reshape(exit.node.shape), errors.reshape(exit.node.shape))
            )
        return found

    def _errors(self, adjoints: list[Adjoint]) -> Floats:
        """Return how far the errors of adjoints may take each entry of the gradient."""
        leaves = self.exact.trace.leaves
        room = {name: np.zeros(leaf.shape) for name, leaf in leaves.items()}
        for adjoint in adjoints:
            for entry in np.flatnonzero(adjoint.errors):
                seed = np.zeros(adjoint.errors.size)
                seed[entry] = adjoint.errors.reshape(-1)[entry]
                moved = self.exact.pull(
                    {adjoint.exit.node: seed.reshape(adjoint.errors.shape)}, leaves.values()
                )
                for name, leaf in leaves.items():
                    room[name] += np.abs(moved.get(leaf, 0.0))
        return room

    def _confirm(self, seeds: Seeds, grad: Floats, room: Floats) -> bool:
        """Return whether the function moves along a direction as this gradient says: nothing has
        left the graph unseen.
        """
        random = np.random.default_rng(7)
        direction = {
            name: random.uniform(-1, 1, x.shape) * np.where(x == 0, 1.0, x)
            for name, x in self.subject.floats.items()
        }
        estimate = derivative(along(self.subject, direction), JVP, seeds, 0, _MOVE)
        if not math.isfinite(estimate.value):
            return True  # the end of the domain is near
        said = np.concatenate([np.ravel(grad[name] * far) for name, far in direction.items()])
        unsure = sum(float((np.abs(far) * room[name]).sum()) for name, far in direction.items())
        off = abs(estimate.value - float(said.sum()))
        return off <= _OFF * float(np.abs(said).sum()) + 2 * unsure + 4 * estimate.error

    def _move_exit(
        self, exit: Exit, entry: int, weights: Mapping[int, np.ndarray], step: float
    ) -> list[float]:
        """The hidden constants times their weights, with one number of an exit moved and all others
        as they were.
        """
        instead = {index: other.numbers for index, other in self.exits.items()}
        instead[exit.node.index] = moved = np.array(exit.numbers)
        moved.reshape(-1)[entry] += step
        hidden = list(self.exact.trace.hidden)
        try:
            _, _, trace = run_at(
                self.subject,
                self.exact.run,
                self.subject.floats,
                Passage(instead, placing=False),
                hidden,
            )
        except REFUSED:
            trace = None
        if (
            trace is None or trace.differing(self.exact.trace) is None
        ):  # it does something else there
            return [math.nan] * sum(weight.size for weight in weights.values())
        return [
            term
            for number, weight in weights.items()
            for term in np.ravel(trace.constants[number] * weight).tolist()
        ]

    def _places(self, adjoints: list[Adjoint]) -> str:
        exits = [adjoint.exit for adjoint in reversed(adjoints) if adjoint.numbers.any()]
        places = list(
            dict.fromkeys(
                str(exit.place or "a call that is not traced")
                for exit in exits or self.exits.values()
            )
        )
        more = f" and {len(places) - _PLACES} more places" if len(places) > _PLACES else ""
        return ", ".join(places[:_PLACES]) + more
