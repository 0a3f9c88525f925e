"""Points of a query tried all at once, as entries of arrays: where it has values, and where all of it agrees."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from typing import Any, Protocol

import numpy as np

from gradcli.check.sampling import in_range
from gradcli.errors import GradcliError
from gradcli.graph.interpret import forward
from gradcli.graph.nodes import reachable
from gradcli.graph.transforms import definition_order
from gradcli.language.run import Program
from gradcli.language.tree import Query, Statement
from gradcli.query.evaluate import run_statement
from gradcli.query.options import Options
from gradcli.report.records import Record
from gradcli.report.verdicts import Verdict


class Sampled(Protocol):
    """A statement about names without values, which can be bound."""

    program: Program
    statement: Statement
    options: Options
    needs: Any
    keys: list[Any]
    id: Any

    def bound(self, values: Mapping[str, Any]) -> AbstractContextManager[None]: ...

    def in_passing(self) -> AbstractContextManager[None]: ...


class Columns:
    """The points of a query that works entry by entry; of any other, nothing is known.

    outside   places of points at which the query has no finite value
    agreeing  places of those that agree when they are judged together
    """

    def __init__(self, sampled: Sampled, points: Sequence[Mapping[Any, Any]]) -> None:
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
