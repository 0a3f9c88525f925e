"""The verdict on derivatives as formulas: each, as it is printed, is held as a claim at points of the function's domain.

A formula of higher order is held to be the derivative of the one below it, which is held in turn.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from contextlib import suppress
from dataclasses import replace
from itertools import combinations_with_replacement
from typing import Any

import numpy as np

from gradcli.check.sampling import Point, anywhere, in_range
from gradcli.errors import GradcliError
from gradcli.graph.interpret import forward
from gradcli.graph.nodes import Expr, reachable
from gradcli.language.mentions import expressions_of, mentioned
from gradcli.language.run import Program, statements
from gradcli.language.tree import Query
from gradcli.query.evaluate import run_statement
from gradcli.query.free_variables import Needs, SampledPoints, needs_of
from gradcli.query.kink_places import told
from gradcli.query.options import ClaimInput, Options
from gradcli.query.outcome import details_of
from gradcli.report.derivative_record import DerivativeRecord, Path
from gradcli.report.records import Record
from gradcli.report.verdicts import Check, Claim, OneSided, Verdict

Shape = tuple[int, ...]
_TRIES = 8  # points that are tried for each one that is wanted inside of the domain


def verified(
    program: Program, query: Query, record: DerivativeRecord, options: Options, points: int, state: int, listed: Collection[str]
) -> None:
    """Put the verdict on a record's formulas into it.

    listed   names that are variables even where they are constants of the language
    """
    judging = Judging(program, record, replace(options, check=True, everywhere=True), points, state, listed)
    for length in range(record.order):
        for path in combinations_with_replacement(record.names, length):
            below = query if not path else judging.read(path)
            if below is not None:
                judging.hold(path, below)
    record.check, record.points = judging.check, judging.least


class Judging:
    """The verdicts on a record's formulas, gathered."""

    def __init__(
        self, program: Program, record: DerivativeRecord, options: Options, points: int, state: int, listed: Collection[str]
    ) -> None:
        self.program, self.record, self.options = program, record, options
        self.points, self.state, self.listed = points, state, listed
        self.check = Check(Verdict.AGREE)
        self.least = 0  # the fewest points at which one was held
        self.shape: Shape = ()  # of the expression
        self.kinks: str | None = None  # where the expression has some

    def read(self, path: Path) -> Query | None:
        """A formula as a query, of the shape of the expression; None where there is none."""
        text = self.record.formulas[path].text
        if text is None:
            self._undetermined(path, "it has no short formula")
            return None
        (query,) = statements([text if not self.shape else f"ones({self.shape})*({text})"], None, self.program.scope.limits)
        assert isinstance(query, Query)
        return query

    def hold(self, path: Path, below: Query) -> None:
        """Hold the derivatives of what stands at a path, by all names from its last one on."""
        names = self.record.names
        present = mentioned(expressions_of(below), self.program.scope.functions)
        later = [name for name in names[names.index(path[-1]) if path else 0 :] if not path or name in present]
        texts = {name: self.record.formulas[(*path, name)].text for name in later if name not in self.record.absent}
        claimed = {name: text for name, text in texts.items() if text is not None}
        for name in texts.keys() - claimed.keys():
            self._undetermined((*path, name), "it has no short formula")
        if claimed:
            self._take(path, self._judged(below, claimed))

    def _judged(self, query: Query, texts: dict[str, str]) -> Record:
        """The record of a query with claims about its derivatives, at the gravest of some points."""
        program = self.program
        needs = needs_of(query, program.scope, self.listed)
        sampled = SampledPoints(program, query, needs, self.options)
        sampled.of_formulas = True
        inside: list[Point] = []
        with sampled.bound(dict.fromkeys(needs.names, np.float64(0.5))):
            lowered = sampled.lower()
            assert lowered is not None
            self.shape = lowered.value.shape
            subjects = {name: program.scope.subject(name) for name in texts}
            shapes = {name: () if node is None else node.shape for name, node in subjects.items()}
            if needs.names:
                inside = self._inside(sampled, lowered.value)
            if not self.least and needs.names:  # of the expression itself
                self._look_for_kinks(lowered.value, needs)
        summed = {name: _summed(text, self.shape, shapes[name]) for name, text in texts.items()}
        claims = [ClaimInput(name, text, formula=True, around=None if needs.names else 0) for name, text in summed.items()]
        options = replace(self.options, wrt=tuple(texts), claims=tuple(claims))
        if not needs.names and not needs.bindings:
            record = run_statement(program, query, options)
            assert record is not None
            return record
        sampled.options = options
        found, count = sampled.gravest_of(inside)
        if found is None:
            return sampled.gravest(self.points, self.state)
        found.points = count
        return found

    def _look_for_kinks(self, root: Expr, needs: Needs) -> None:
        if self.kinks is None and not root.shape and not needs.bindings:
            self.kinks = told(root, needs.names)

    def _inside(self, sampled: SampledPoints, root: Expr) -> list[Point]:
        """Points at which an expression has a finite value, the first of many that are tried."""
        scope = self.program.scope
        leaves = [scope.leaves[name] for name in sampled.needs.names]
        order = reachable([root])
        found: list[Point] = []
        for point in anywhere(sampled.keys, _TRIES * self.points, self.state):
            values = {**scope.values, **dict(zip(leaves, point.values(), strict=True))}
            with np.errstate(all="ignore"), suppress(GradcliError, ValueError, ArithmeticError):
                if np.all(in_range(order, forward([root], values, order=order))):
                    found.append(point)
            if len(found) == self.points:
                break
        return found

    def _take(self, path: Path, found: Record) -> None:
        """Take the verdicts of one record."""
        check = found.check
        if found.error is not None or check is None:
            reason = "there is nothing to hold it to" if found.error is None else found.error.message
            self._undetermined(path, reason)
            return
        for name, part in check.variables.items():
            self.check.variables[",".join((*path, name))] = part
        for claim in check.claims:
            claim.of = ",".join((*path, claim.of))
        self.check.claims += check.claims
        verdicts = [claim.verdict for claim in check.claims] or [check.verdict]  # how well floats do is no matter of the formula
        verdicts += [part.verdict for part in check.variables.values() if part.verdict is Verdict.MISMATCH]
        worst = max(verdicts)
        why = check.reason
        if worst is Verdict.KINK:
            why = f"not differentiable {self.kinks}" if self.kinks else why
            self.record.warnings += [f"{_at(found.point)}: {part.sides}; chosen is {part.chosen:g}" for part in _kinks(check)]
        elif worst > Verdict.AGREE:
            self.record.warnings += [line.removeprefix("claim of ") for line in details_of(found, check) if line != check.reason]
        if self.kinks and worst is not Verdict.KINK and not path:
            self.record.warnings.append(f"kinks {self.kinks}")
        if worst > self.check.verdict:
            self.check.verdict, self.check.reason = worst, why
        self.least = min(self.least or found.points, found.points)

    def _undetermined(self, path: Path, reason: str) -> None:
        key = ",".join(path)
        self.check.claims.append(Claim(key, "formula", Verdict.UNDETERMINED, reason=reason))
        if self.check.verdict < Verdict.UNDETERMINED:
            self.check.verdict, self.check.reason = Verdict.UNDETERMINED, reason


def _kinks(check: Check) -> list[OneSided]:
    return [kink for part in check.variables.values() for kink in part.kinks]


def _at(point: Mapping[str, Any] | None) -> str:
    return "at " + " ".join(f"{name}={float(value)!r}" for name, value in (point or {}).items()) if point else "here"


def _summed(text: str, shape: Shape, to: Shape) -> str:
    """A formula of the entries of a result as that of the gradient of their sum by a name of another shape."""
    if shape == to:
        return text
    spread = f"ones({shape})*({text})"
    if not to:
        return f"sum({spread})"
    lead = len(shape) - len(to)
    axes: Any = (*range(lead), *(i + lead for i, n in enumerate(to) if n == 1 != shape[i + lead]))
    return f"reshape(sum({spread}, axis={axes}), {to})" if axes else spread
