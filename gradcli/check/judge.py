"""The judge of one gradient: the reference, the rules without rounding and the floats, at as many digits as it takes.

E-infinity against R decides whether the rules are right, with no rounding in the way; E against E-infinity is
rounding, or a fault of the fast path. Precision is raised until the two exact numbers agree; only what still
differs at the highest precision is a mismatch.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from functools import cache
from typing import Any

import numpy as np

from gradcli.check.comparison import Comparison, wide_check
from gradcli.check.exact import forward_exact, gradients_exact
from gradcli.check.rounding import error_bounds
from gradcli.check.trail import Trail
from gradcli.errors import GradcliError
from gradcli.graph.interpret import forward
from gradcli.graph.nodes import Expr, reachable
from gradcli.graph.transforms import definition_order
from gradcli.language.scope import Scope
from gradcli.reference.algebra import Algebra, Unsupported
from gradcli.reference.budget import LARGEST, Budget, Undecided
from gradcli.reference.exact_values import exact_array
from gradcli.reference.inner_kinks import InnerKinks, has_inner, with_inner_choices
from gradcli.reference.kinks import Prober, Sides, active_kinks
from gradcli.reference.scalars import Event, plain
from gradcli.reference.signed_zeros import SignedZeros
from gradcli.reference.tape import ReferenceTape
from gradcli.report.verdicts import VariableCheck, Verdict

DIGITS = (50, 100, 400, 1000)
_LARGEST_SYMBOLIC = 300  # scalar operations of an expression that sympy differentiates as a whole
_SYMPY_CALLS = 300_000  # of Python's functions, that sympy may make for one derivative
_MOST_SYMBOLS = 40
_MANY = 30_000  # scalar operations from which on arrays are judged as wholes
_LONG_SHARE = 2.0**-7  # of the error of doubles, that of long doubles
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
        self.value_comparison: Comparison | None = None
        self.seed_leaf: Expr | None = None
        self.zeros: SignedZeros | None = None
        self.events: list[Event] = []  # the kinks that the function was evaluated on
        self.budget = Budget()
        self.missing = ""  # what the reference for large arrays lacks
        self.wide: dict[str, tuple[Any, Any]] = {}  # reference and bounds of large arrays, for claims

    @property
    def decided(self) -> bool:
        """Whether every entry was compared by itself, with an exact number."""
        return self.value_comparison is not None

    @property
    def fits_sympy(self) -> bool:
        """Whether sympy differentiates the whole function in reasonable time; at one of several trial points will do."""
        return self.size <= _LARGEST_SYMBOLIC and self.entries <= _MOST_SYMBOLS and not self.scope.in_passing

    def every_leaf(self, other: Expr) -> dict[Expr, Any]:
        """The leaves of the function and of another expression, with their values."""
        order = definition_order(other)
        return {**self.leaves, **{node: self.scope.values[node] for node in order if node.is_leaf}}

    def decide(self, value: Any) -> tuple[VariableCheck | None, dict[str, VariableCheck]]:
        if self.size > _MANY and (found := self._decide_wide(value)) is not None:
            return found
        if self.size > LARGEST:
            raise Undecided(f"the limit of {LARGEST:,} scalar operations of the cross-check (this has about {self.size:,}){self.missing}")
        m = _context()
        nodes = list(self.wrt.values())
        self.zeros = SignedZeros(self.root, self.scope.values, self.precision)
        reached = forward([self.root], self.scope.values, self.precision)[self.root] if value is None else value
        own_leaves = {**self.leaves, **{node: self.scope.values[node] for node in reachable([self.root]) if node.is_leaf}}
        value_bound, bounds = error_bounds(self.root, nodes, own_leaves, self.seed, self.precision)
        whole: Any = None
        trail = Trail()
        for digits in DIGITS:
            self.budget.spend(_PASSES * self.size)
            m.dps = digits
            table = forward_exact(m, self.root, own_leaves, self.precision, self.zeros)
            tape, y, chosen = self._on_tape(m, table)
            exact_value = Algebra.map(plain, y)
            seed = exact_array(m, self.seed, "float")
            reference = tape.slopes(y, seed, nodes)
            engine_value, engine = table[self.root].array, gradients_exact(m, table, self.root, nodes, self.seed)
            prober = Prober(self, tape, exact_value, active_kinks(tape, nodes))
            sides = [prober.of(x, slopes) for x, slopes in zip(nodes, reference, strict=True)]
            source = "composed"
            if not tape.scalars.events and self.fits_sympy:
                whole = self._whole(m) if whole is None else whole
                source, reference = self._symbolic(m, whole, reference)
            comparisons = [
                Comparison(m, r, e, computed, bound, side, trouble)
                for r, e, computed, bound, side, trouble in zip(
                    reference, engine, self.gradients, bounds, sides, tape.troubles(y, nodes), strict=True
                )
            ]
            checked = Comparison(m, exact_value, engine_value, np.asarray(reached), value_bound, chosen)
            settled = not any(comparison.unsettled for comparison in [*comparisons, checked])
            if (trail.ended(digits, [*comparisons, checked]) and settled) or not self.budget.allows(_PASSES * self.size):
                break
        trail.close([*comparisons, checked])
        self.events = tape.scalars.events
        self.comparisons, self.value_comparison = comparisons, checked
        results = {name: c.result(source, math.prod(x.shape)) for (name, x), c in zip(self.wrt.items(), comparisons, strict=True)}
        return checked.result(source, 0) if value is not None else None, results

    def _on_tape(self, m: Any, engine: Mapping[Expr, Any]) -> tuple[ReferenceTape, Any, dict[int, Sides]]:
        """The function on the judge's tape, its value, and the entries of it that depend on choices at kinks."""
        nodes = list(self.wrt.values())
        tape = ReferenceTape(m, self.leaves, self.precision, self.zeros)
        y = tape.run(self.root, nodes)
        if not tape.scalars.events or not has_inner(self.root):
            return tape, y, {}
        return with_inner_choices(InnerKinks(m, self.leaves, self.precision, self.size), self.root, nodes, engine)

    def _decide_wide(self, value: Any) -> tuple[VariableCheck | None, dict[str, VariableCheck]] | None:
        """Whole arrays in long double, every entry; None where another reference has to decide, and can."""
        from gradcli.reference import extended

        nodes = list(self.wrt.values())
        try:
            exact_value, reference, errors = extended.reference(self.root, nodes, self.leaves, self.seed, self.precision)
        except Unsupported as missing:
            self.missing = f", and {missing}"
            return None
        value_bound, bounds = error_bounds(self.root, nodes, self.leaves, self.seed, self.precision)
        # long doubles suffer, too: where the operands' errors count, a small share of what doubles do
        bounds = [(1 + _LONG_SHARE) * bound + 4 * error for bound, error in zip(bounds, errors, strict=True)]
        self.wide = {name: (right, bound) for name, right, bound in zip(self.wrt, reference, bounds, strict=True)}
        self.wide["value"] = exact_value, value_bound
        results = {
            name: wide_check(right, computed, bound)
            for name, right, computed, bound in zip(self.wrt, reference, self.gradients, bounds, strict=True)
        }
        checked = None if value is None else wide_check(exact_value, np.asarray(value), value_bound)
        if checked is not None:
            checked.entries = None
        open_ = any(part.verdict is not Verdict.AGREE for part in [*results.values(), *([] if checked is None else [checked])])
        return None if open_ and self.size <= LARGEST else (checked, results)

    def _whole(self, m: Any) -> Any:
        """sympy's derivative of the whole function, or False where there is none in reach."""
        from gradcli.reference.symbolic.derivative import WholeDerivative
        from gradcli.reference.symbolic.steps import TooManySteps, steps

        # whole numbers and simple fractions never lead sympy astray; to others, such as 0.1, its polynomials may have no end
        odd = any(node.is_constant and not _is_simple(node.payload) for node in definition_order(self.root))
        try:
            with steps(_SYMPY_CALLS) if odd else nullcontext():
                return WholeDerivative(m, self.root, list(self.wrt.values()), self.leaves, self.seed, self.precision)
        except (TooManySteps, Unsupported, GradcliError, RecursionError, TypeError, ArithmeticError):
            return False

    def _symbolic(self, m: Any, whole: Any, composed: list[np.ndarray]) -> tuple[str, list[np.ndarray]]:
        """The symbolic reference, where it has real values that the composed one confirms; else the composed one."""
        if whole is False:
            return "composed", composed
        found = whole.evaluate(m, self.leaves)
        for symbolic, other in zip(found, composed, strict=True):
            for x, y in zip(np.ravel(symbolic), np.ravel(other), strict=True):
                if not m.isfinite(x) or not abs(x - y) <= m.mpf(10) ** -20 * max(abs(x), abs(y)):
                    return "composed", composed
        return "symbolic", found


def _is_simple(payload: Any) -> bool:
    """Whether a number is a fraction of small numbers."""
    if not isinstance(payload, (int, float, np.ndarray)):
        return True
    numbers = np.asarray(payload, float)
    numbers = np.where(np.isfinite(numbers), numbers, 0.1)
    return bool(np.all((numbers * 64 % 1 == 0) & (np.abs(numbers) < 1e6)))


@cache
def _context() -> Any:
    """mpmath's context of all judgements: making one costs more than many of them."""
    import mpmath

    return mpmath.MPContext()


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
