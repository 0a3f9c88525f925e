"""Points at which a statement is tried, one by one or all at once as entries of arrays: where it has values, and where all of it agrees."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from gradcli.check.formula_claims import smaller_domain
from gradcli.check.sampling import in_range
from gradcli.errors import GradcliError
from gradcli.graph.interpret import forward
from gradcli.graph.nodes import reachable
from gradcli.graph.transforms import definition_order
from gradcli.language.tree import Query
from gradcli.query.evaluate import run_statement
from gradcli.query.options import Options
from gradcli.report.records import Record
from gradcli.report.verdicts import Check, Verdict

if TYPE_CHECKING:
    from gradcli.query.free_variables import SampledPoints


class Columns:
    """The points of a query that works entry by entry; of any other, nothing is known.

    outside   places of points at which the query has no finite value
    agreeing  places of those that agree when they are judged together
    """

    def __init__(self, sampled: SampledPoints, points: Sequence[Mapping[Any, Any]]) -> None:
        self.sampled = sampled
        self.outside: frozenset[int] = frozenset()
        self.agreeing: frozenset[int] = frozenset()
        query, options = sampled.statement, sampled.options
        if not isinstance(query, Query) or sampled.needs.bindings or options.mode != "grad" or not points:
            return
        keys = zip(sampled.needs.names, sampled.keys, strict=True)
        columns = {name: np.array([point[key] for point in points]) for name, key in keys}
        finite = self._finite(query, columns, len(points))
        if finite is None:
            return
        self.outside = frozenset(np.flatnonzero(~finite).tolist())
        if all(claim.formula for claim in options.claims):
            self.agreeing = frozenset(self._agreed(query, columns, np.flatnonzero(finite)).tolist())

    def _finite(self, query: Query, columns: Mapping[str, Any], count: int) -> Any:
        """Which entries have a finite value; None if the query is not entry by entry."""
        scope = self.sampled.program.scope
        with self.sampled.bound(columns):
            try:
                lowered = self.sampled.program.execute(query)
                if lowered is None or lowered.value.shape != (count,) or lowered.value.kind != "float":
                    return None
                if not all(node.op is None or node.op.elementwise for node in definition_order(lowered.value)):
                    return None
                order = reachable([lowered.value])
                return in_range(order, forward([lowered.value], scope.values, scope.precision, order))
            except GradcliError:
                return None

    def _agreed(self, query: Query, columns: Mapping[str, Any], inside: Any) -> Any:
        """The places of points that agree together, of those that have finite slopes, too; none where anything else is found, or may be."""
        options = self.sampled.options
        claims = tuple(replace(claim, around=None) for claim in options.claims)  # they are tried around single points
        quick = replace(options, formula=False, check=True, precision=None, claims=claims)
        nothing = np.empty(0, int)
        if inside.size < 2:
            return nothing
        record = self._run(query, {name: column[inside] for name, column in columns.items()}, quick)
        finite = self._finite_slopes(record, inside.size)
        if not finite.all():
            inside = inside[finite]
            if inside.size < 2:
                return nothing
            record = self._run(query, {name: column[inside] for name, column in columns.items()}, quick)
        agree = record is not None and record.check is not None and record.check.worst is Verdict.AGREE
        return inside if agree else nothing

    def _finite_slopes(self, record: Record | None, count: int) -> Any:
        """At which points all slopes are finite; at none, if there are none, or that of an array that is no point's."""
        if record is None or record.error is not None or not record.grad:
            return np.zeros(count, bool)
        if any(np.shape(slope) not in ((), (count,)) for slope in record.grad.values()):
            return np.zeros(count, bool)
        return np.all([np.isfinite(slope) & np.ones(count, bool) for slope in record.grad.values()], axis=0)

    def _run(self, query: Query, columns: Mapping[str, Any], options: Options) -> Record | None:
        with self.sampled.in_passing(), self.sampled.bound(columns):
            return run_statement(self.sampled.program, query, options, id=self.sampled.id)


def inside_domain(record: Record) -> bool:
    """Whether a point is in the domain of what was asked."""
    if record.error is not None or record.check is None or record.check.worst in (Verdict.UNDEFINED, Verdict.SKIPPED):
        return False
    if any(part.verdict is Verdict.UNDEFINED for part in record.check.variables.values()):
        return False  # an infinity on the way, as of 1/(1/x) at 0
    wrong = [claim.worst for claim in record.check.claims if claim.verdict is Verdict.MISMATCH and claim.worst is not None]
    if any(math.isnan(worst.engine) for worst in wrong):
        return False  # outside of the claim's own domain, at a point that nobody asked for
    told = [record.value] if record.asserted is None else [side for part in record.relations for side in (part.left, part.right)]
    return all(bool(np.all(np.isfinite(np.asarray(value, float)))) for value in told)


def what_claims_lack(record: Record) -> dict[int, str]:
    """The claims, by their places, that have no value at or around a point where the function has, and what is to be said of them."""
    if record.check is None:
        return {}
    found = {}
    for i, claim in enumerate(record.check.claims):
        if claim.verdict is Verdict.AGREE and claim.reason is not None:
            found[i] = claim.reason
        if claim.verdict is Verdict.MISMATCH and claim.worst is not None and math.isnan(claim.worst.engine):
            place = ", ".join(f"{name}={float(value)!r}" for name, value in record.point.items())
            found[i] = smaller_domain(place, "value" if claim.of == "value" else "derivative")
    return found


def is_out_of_range(check: Check) -> bool:
    """Return True for a mismatch that only overflow makes: at points of our choice it says nothing of a formula."""
    return check.overflows and not any(claim.verdict is Verdict.MISMATCH for claim in check.claims)
