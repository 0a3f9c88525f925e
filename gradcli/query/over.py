"""``gradcli check --over x=0..1``: what is claimed of a query, or the rules' derivative, held over
a box; asserts get its ranges.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np

from gradcli.check.claims import Given
from gradcli.errors import ShapeError, Source
from gradcli.graph.interpret import forward
from gradcli.graph.nodes import Expr
from gradcli.graph.transforms import definition_order, grad
from gradcli.language.run import Lowered
from gradcli.language.scope import Scope, quantify
from gradcli.language.statements import parse_expression
from gradcli.language.tree import Assertion, Quantified, Query, Statement
from gradcli.limits import DEFAULT
from gradcli.ops.reductions.sums import sum_
from gradcli.reference.deadline import REACHED, OutOfTime, deadline
from gradcli.report.verdicts import Check, Claim, VariableCheck, Verdict, Worst

if TYPE_CHECKING:
    from gradcli.reference.ranges.cells import Cell
    from gradcli.reference.ranges.making import Region

Ends = tuple[float, float]
_APART = 1e-9  # relative: what floats of one derivative may differ by, and a wrong one does not
_VERDICTS = {True: Verdict.AGREE, False: Verdict.MISMATCH, None: Verdict.UNDETERMINED}


def with_ranges(statement: Statement, over: Mapping[str, Ends]) -> Statement:
    """An assert without ranges of its own with those of the box; anything else as it is."""
    if not isinstance(statement, Assertion) or statement.ranges or not over:
        return statement

    def number(x: float) -> Any:
        return parse_expression(Source(f"({x!r})"), DEFAULT.length)

    ranges = tuple(
        Quantified(name, number(low), number(high), statement.span)
        for name, (low, high) in over.items()
    )
    return Assertion(
        statement.source, statement.span, statement.relations, statement.within, ranges
    )


@contextmanager
def over_box(scope: Scope, statement: object, over: Mapping[str, Ends]) -> Iterator[None]:
    """While a query is run, the names of the box stand for all their numbers."""
    with quantify(scope, over if isinstance(statement, Query) else {}):
        yield


def hold_over(
    scope: Scope,
    lowered: Lowered,
    wrt: Mapping[str, Expr],
    claims: Sequence[Given],
    over: Mapping[str, Ends],
    timeout: float | None = None,
) -> Check | None:
    """The verdicts over a box on a query's formula claims, or without claims on the derivatives of
    the engine's rules.

    None for a query that has nothing to do with the box.
    """
    root = lowered.value
    leaves = {scope.names[name]: ends for name, ends in over.items()}
    if not any(node in leaves for node in definition_order(root)) or root.kind != "float":
        return None
    if any(x.shape for x in wrt.values()):
        raise ShapeError(
            "--over holds derivatives by numbers; a name is an array", help="list numbers: --wrt x"
        )
    total = sum_(root) if root.shape else root
    everything = {
        **leaves,
        **{
            x: (float(scope.values[x]),) * 2
            for x in wrt.values()
            if x not in leaves and x in scope.values
        },
    }
    subjects = Subjects(scope, total, everything, over)
    check = Check(Verdict.SKIPPED, over=dict(over))
    with deadline(timeout):
        for claim in claims:
            if claim.formula is not None:
                found = subjects.decide(
                    claim.formula, None if claim.of == "value" else wrt[claim.of]
                )
                check.claims.append(Claim(claim.of, claim.kind, *found))
        if not check.claims:
            for name, x in wrt.items():
                if x in everything:
                    verdict, worst, reason = subjects.decide(grad(total, x), x)
                    check.variables[name] = VariableCheck(
                        verdict, "ranges", worst=worst, reason=reason
                    )
            check.verdict = max(
                (part.verdict for part in check.variables.values()), default=Verdict.SKIPPED
            )
    return check


class Subjects:
    """Functions that are held over a box: a function, and its derivatives by the reference."""

    def __init__(
        self, scope: Scope, root: Expr, variables: Mapping[Expr, Ends], over: Mapping[str, Ends]
    ) -> None:
        from gradcli.reference.ranges.making import Region

        self.scope, self.root, self.variables, self.over = scope, root, variables, over
        self.region: Region = Region(variables, scope.values, scope.precision)
        self.places = {leaf: i for i, leaf in enumerate(variables)}

    def decide(self, left: Expr, subject: Expr | None) -> tuple[Verdict, Worst | None, str | None]:
        """Decide whether a node equals the function, or the reference's derivative of it by a name,
        all over the box but for kinks.
        """
        from gradcli.reference.algebra import Unsupported
        from gradcli.reference.ranges.proofs import Outcome, Proof

        region = self.region
        try:
            said, truth = region.number(left), region.number(self.root)
            if subject is not None:
                truth = region.slope(truth, self.places[subject])
            found = Proof(region, self._refutes(left, truth), kinks=True).of(said, "==", truth)
        except Unsupported as error:
            found = Outcome(None, reason=f"no bounds are known: {error}")
        except OutOfTime:
            found = Outcome(None, reason=REACHED)
        names = [leaf.payload.name for leaf in self.variables]
        worst = None
        if found.point is not None:
            right = self.root if subject is None else grad(self.root, subject)
            at = {name: p for name, p in zip(names, found.point, strict=True) if name in self.over}
            worst = Worst((), self._floats(left, found.point), self._floats(right, found.point), at)
        if found.box is None or found.holds is not None:
            return _VERDICTS[found.holds], worst, found.reason
        ends = [(n, *pair) for n, pair in zip(names, found.box, strict=True) if n in self.over]
        box = ", ".join(f"{low!r} <= {n} <= {high!r}" for n, low, high in ends)
        return (
            Verdict.UNDETERMINED,
            worst,
            f"equal as far as is known, but not by algebra: open for {box}",
        )

    def _refutes(self, left: Expr, truth: Cell) -> Callable[[Sequence[float]], bool]:
        """Return whether what is computed at a point is another number than the reference, by more
        than rounding.
        """
        from gradcli.reference.ranges.intervals import thin
        from gradcli.reference.ranges.search import value_near

        def refutes_at(point: Sequence[float]) -> bool:
            found = value_near(truth, thin(point), self.region.box)
            computed = self._floats(left, point)
            if found is None or not np.isfinite(computed):
                return False
            low, high = map(float, found.ends)
            off = max(low - computed, computed - high)
            return off > _APART * max(abs(low), abs(high), abs(computed))

        return refutes_at

    def _floats(self, node: Expr, point: Sequence[float]) -> float:
        given = {leaf: np.float64(p) for leaf, p in zip(self.variables, point, strict=True)}
        found = forward([node], {**self.scope.values, **given}, self.scope.precision)[node]
        return float(np.sum(found))
