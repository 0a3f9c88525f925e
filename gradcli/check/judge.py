"""The judge of one gradient: the reference, the rules without rounding and the floats, at as many digits as it takes.

E-infinity against R decides whether the rules are right, with no rounding in the way; E against E-infinity is
rounding, or a fault of the fast path. Precision is raised until the two exact numbers agree; only what still
differs at the highest precision is a mismatch.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import cache
from typing import Any

import numpy as np

from gradcli.check.branches import Branches, branches
from gradcli.check.comparison import Comparison
from gradcli.check.enclosing import Computed, enclosed
from gradcli.check.passes import Pass, Passes, are_finite
from gradcli.check.rounding import error_bounds, overflows
from gradcli.check.trail import Trail
from gradcli.graph.interpret import forward
from gradcli.graph.nodes import Expr, reachable
from gradcli.graph.transforms import definition_order
from gradcli.language.scope import Scope
from gradcli.reference.algebra import Unsupported
from gradcli.reference.budget import LARGEST, Budget, Undecided
from gradcli.reference.contexts import context
from gradcli.reference.kinks import Prober, active_kinks
from gradcli.reference.scalars import Event, plain
from gradcli.reference.signed_zeros import SignedZeros
from gradcli.report.verdicts import VariableCheck, Verdict

DIGITS = (50, 100, 400, 1000)
_LARGEST_SYMBOLIC = 300  # scalar operations of an expression that sympy differentiates as a whole
_MOST_SYMBOLS = 40
_MANY = 30_000  # scalar operations from which on arrays are judged as wholes
_RULES = 20  # digits to which rules must be right, for a mismatch to be one of floats
_PASSES = 4  # about how many times the reference and the rules go through all operations at one precision


class Judge:
    """Decides one gradient: a root, a seed, and what the engine computed."""

    def __init__(self, scope: Scope, root: Expr, wrt: dict[str, Expr], seed: Any, gradients: Mapping[str, Any]) -> None:
        self.scope, self.root, self.wrt, self.seed = scope, root, wrt, seed
        self.precision = scope.precision
        self.gradients = [np.asarray(gradients[name]) for name in wrt]
        order = definition_order(root, list(wrt.values()))
        self.leaves = {node: scope.values[node] for node in order if node.is_leaf}
        self.size = scalar_operations(order) + scalar_operations(reachable([root]))
        self.entries = sum(math.prod(x.shape) for x in self.leaves)
        self.comparisons: list[Comparison] = []
        self.value_comparison: Comparison
        self.decided = False  # every entry was compared by itself, with an exact number
        self.seed_leaf: Expr | None = None
        self.zeros: SignedZeros | None = None
        self.events: list[Event] = []  # the kinks that the function was evaluated on
        self.budget = Budget()
        self.missing = ""  # what the reference for large arrays lacks
        self.wide: dict[str, Callable[[], tuple[Any, Any]]] = {}  # reference and bounds of large arrays, for claims
        self._branches: dict[str, Branches | None] = {}

    @property
    def fits_sympy(self) -> bool:
        """Whether sympy differentiates the whole function in reasonable time; at one of several trial points will do."""
        return self.size <= _LARGEST_SYMBOLIC and self.entries <= _MOST_SYMBOLS and not self.scope.in_passing

    @property
    def rules_hold(self) -> bool:
        """Return True if the rules are right, so that only rounding, overflow or underflow can be at fault."""
        for comparison in [*self.comparisons, self.value_comparison]:
            m = comparison.m
            for r, e, verdict in zip(comparison.reference, comparison.engine, comparison.verdicts, strict=True):
                if verdict is Verdict.MISMATCH and m.isfinite(r) and m.isfinite(e) and abs(r - e) > m.mpf(10) ** -_RULES * abs(r):
                    return False
        return True

    @property
    def overflows(self) -> bool:
        """Return True if floats are wrong where the rules are right, and something on the way is too large for floats."""
        if not self.decided or not self.rules_hold:
            return False
        return overflows(self.root, list(self.wrt.values()), self.own_leaves, self.seed, self.precision)

    def branches(self, precision: str | None = None) -> Branches | None:
        """The ways between which rounding decides, in the precision that is judged or in another; None where it decides nothing."""
        precision = precision or self.precision
        if precision not in self._branches:
            found = branches(self.root, list(self.wrt.values()), self.own_leaves, self.seed, precision)
            self._branches[precision] = found
        return self._branches[precision]

    @property
    def own_leaves(self) -> dict[Expr, Any]:
        """The leaves of the function alone, and those of what it is differentiated by."""
        return {**self.leaves, **{node: self.scope.values[node] for node in reachable([self.root]) if node.is_leaf}}

    def every_leaf(self, other: Expr) -> dict[Expr, Any]:
        """The leaves of the function and of another expression, with their values."""
        order = definition_order(other)
        return {**self.leaves, **{node: self.scope.values[node] for node in order if node.is_leaf}}

    def decide(self, value: Any) -> tuple[VariableCheck | None, dict[str, VariableCheck]]:
        if self.size > _MANY and (found := self._decide_large(value)) is not None:
            return found
        return self._decide_scalars(value)

    def _decide_scalars(self, value: Any) -> tuple[VariableCheck | None, dict[str, VariableCheck]]:
        """Each entry a number of any precision."""
        if self.size > LARGEST:
            raise Undecided(f"the limit of {LARGEST:,} scalar operations of the cross-check (this has about {self.size:,}){self.missing}")
        m = _context()
        self.zeros = SignedZeros(self.root, self.scope.values, self.precision)
        reached = forward([self.root], self.scope.values, self.precision)[self.root] if value is None else value
        own_leaves = self.own_leaves
        value_bound, bounds = error_bounds(self.root, list(self.wrt.values()), own_leaves, self.seed, self.precision)
        passes = Passes(self, own_leaves)
        computed = Computed(np.asarray(reached), value_bound, self.gradients, bounds)
        proof = enclosed(passes, m, computed, DIGITS)
        if proof is None:
            source, self.comparisons, self.value_comparison = self._in_numbers(passes, m, computed)
        else:
            source, (*self.comparisons, self.value_comparison) = proof.source, proof.comparisons
        self.decided = True
        results = {name: c.result(source, math.prod(x.shape)) for (name, x), c in zip(self.wrt.items(), self.comparisons, strict=True)}
        checked = self.value_comparison.result(source, 0) if value is not None else None
        if proof is not None:
            proof.mark([*results.values(), checked])
        return checked, results

    def _in_numbers(self, passes: Passes, m: Any, computed: Computed) -> tuple[str, list[Comparison], Comparison]:
        """The source of the reference, and what was compared with it, in plain multi-precision: more digits until all stays the same."""
        trail = Trail()
        for m.dps in DIGITS:
            self.budget.spend(_PASSES * self.size)
            found = passes.at(m)
            source, compared = self._compared(passes, m, found, computed)
            settled = not any(comparison.unsettled for comparison in compared)
            if (trail.ended(m.dps, compared) and settled) or not self.budget.allows(_PASSES * self.size):
                break
        trail.close(compared)
        self.events = found.run.tape.scalars.events
        return source, compared[:-1], compared[-1]

    def _compared(self, passes: Passes, m: Any, found: Pass, computed: Computed) -> tuple[str, list[Comparison]]:
        """The source of the reference, and the comparisons with it: of the gradients, and of the value at last."""
        tape, reference = found.run.tape, found.reference
        prober = Prober(self, tape, found.value, active_kinks(tape, list(passes.nodes)))
        sides = [prober.of(x, slopes) for x, slopes in zip(passes.nodes, reference, strict=True)]
        source = "composed"
        regular = not tape.scalars.events and are_finite(m, reference)
        if regular and (symbolic := passes.symbolic(m, m)) is not None and _confirmed(m, symbolic, reference):
            source, reference = "symbolic", symbolic
        columns = (reference, found.engine, self.gradients, computed.bounds, sides, tape.troubles(found.run.y, passes.nodes))
        comparisons = [Comparison(m, *column) for column in zip(*columns, strict=True)]
        for x, comparison in zip(passes.nodes, comparisons, strict=True):
            comparison.excuse([i for i, entry in enumerate(np.ravel(tape.table[x])) if not m.isfinite(plain(entry))])
        value = Comparison(m, found.value, found.engine_value, computed.value, computed.value_bound, found.run.chosen)
        return source, [*comparisons, value]

    def _decide_large(self, value: Any) -> tuple[VariableCheck | None, dict[str, VariableCheck]] | None:
        """Whole arrays in long double, every entry; None where scalars have to decide, and can."""
        from gradcli.check.large import decide_large

        try:
            found, settled = decide_large(self, value)
        except Unsupported as missing:
            self.missing = f", and {missing}"
            return None
        if settled or self.size > LARGEST:
            return found
        large, self.wide = self.wide, {}
        with suppress(Undecided):
            checked, results = self._decide_scalars(value)
            if all(part is None or part.verdict is not Verdict.UNDETERMINED for part in [checked, *results.values()]):
                return checked, results
        self.wide = large
        return found


def _confirmed(m: Any, symbolic: list[np.ndarray], composed: list[np.ndarray]) -> bool:
    """Whether sympy's derivative has real values that the composed reference confirms."""
    pairs = [pair for two in zip(symbolic, composed, strict=True) for pair in zip(*map(np.ravel, two), strict=True)]
    return all(m.isfinite(x) and abs(x - y) <= m.mpf(10) ** -20 * max(abs(x), abs(y)) for x, y in pairs)


@cache
def _context() -> Any:
    """mpmath's context of all judgements: making one costs more than many of them."""
    return context()


def scalar_operations(order: Sequence[Expr]) -> int:
    """About how many scalar operations the nodes take."""
    total = 0
    for node in order:
        if node.op is None:
            total += 1
            continue
        arrays = [node, *(operand for operand in node.operands if operand is not None)]
        if node.op.facts.work is not None:
            total += node.op.facts.work(*[array.shape if _is_array(array) else () for array in arrays])
            continue
        size = max(map(_entries, arrays))
        total += size if node.op.core_dims is None else size * node.operand.shape[-1]
    return total


def _is_array(node: Expr) -> bool:
    return node.op is None or node.op.outputs == 1


def _entries(node: Expr) -> int:
    return max(1, math.prod(node.shape)) if _is_array(node) else 1
