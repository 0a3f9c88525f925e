"""A traced function before the judge of expressions: exact derivatives, where the trace says everything that the function does."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from gradcli.check.crosscheck import cross_check
from gradcli.check.given import Given
from gradcli.errors import GradcliError
from gradcli.functions.arguments import Floats
from gradcli.functions.seeds import Seeds
from gradcli.functions.subject import OUTSIDE, Subject
from gradcli.graph.interpret import forward
from gradcli.graph.nodes import Expr, reachable
from gradcli.graph.sweep import backward
from gradcli.graph.transforms import derive, ones_like
from gradcli.language.scope import Scope
from gradcli.ops.registry import find
from gradcli.ops.structure import clone
from gradcli.report.records import Record
from gradcli.report.verdicts import Check
from gradcli.tensors.core.modes import enable_grad
from gradcli.tensors.core.tensor import Tensor
from gradcli.tensors.core.trace import Trace, traced

_NEARBY = 2.0**-20  # relative: values at which a constant that hides a dependence is another, and no branch
_ALIKE = 1e-9  # relative, of what the function gives to its own libraries and to tensors

# A function that takes tensors: its arguments, and the places at which it branches on them.
Run = Callable[[Mapping[str, Tensor]], tuple[list[Any], Sequence[str]]]


@dataclass(frozen=True, eq=False)
class Exact:
    """A function as a graph: its leaves by name, the nodes of its results, and what its branches were decided by."""

    trace: Trace
    results: list[Expr]
    decisions: Sequence[str]

    def check(
        self, floats: Floats, seeds: Seeds, claims: Floats, rtol: float | None, atol: float, along: Floats | None = None
    ) -> Check | None:
        """The verdict of the judge of expressions on claims about the gradient; None where it cannot decide.

        along  a direction, by names: then the claims are about the Hessian times it
        """
        precision = "float32" if all(array.dtype == np.float32 for array in floats.values()) else "float64"
        scope = Scope(precision=precision)
        scope.graph = self.trace.graph
        for name, array in floats.items():
            scope.values[self.trace.leaves[name]] = array[()]
            scope.names[name] = self.trace.leaves[name]
        try:
            root = self._sum(seeds) if along is None else self._slope(self._sum(seeds), along)
            values = forward([root], scope.values, precision)
            with np.errstate(all="ignore"):
                found = backward(reachable([root]), {root: np.float64(1)}, list(self.trace.leaves.values()), values.__getitem__)
            grad = {name: np.broadcast_to(np.asarray(found.get(x, 0.0)), x.shape)[()] for name, x in self.trace.leaves.items()}
            record = Record("", value=values[root], seed=np.float64(1), grad=grad)
            given = [Given(name, numbers=numbers, rtol=rtol, atol=atol) for name, numbers in claims.items()]
            check = cross_check(scope, root, dict(self.trace.leaves), record, None, given)
        except (GradcliError, *OUTSIDE):
            return None
        return check if len(check.claims) == len(claims) else None

    def _sum(self, seeds: Seeds) -> Expr:
        """The one number that the gradient is of."""
        return self._added(zip(self.results, seeds, strict=True))

    def _slope(self, root: Expr, along: Floats) -> Expr:
        """The derivative of that number in a direction, whose gradient is the Hessian times the direction."""
        leaves = self.trace.leaves
        slopes = ((derive("vjp", root, leaves[name], ones_like(root)), direction) for name, direction in along.items())
        return self._added(slopes)

    def _added(self, terms: Iterable[tuple[Expr, np.ndarray]]) -> Expr:
        """The sum of all entries of nodes with weights."""
        add, total = find("sum"), None
        for node, weights in terms:
            weighted = node if weights.size == 1 and weights.reshape(-1)[0] == 1 else node * self.trace.graph.constant(weights)
            part = self.trace.graph.apply(add, [weighted], {"axis": None, "keepdims": False}) if node.shape else weighted
            total = part if total is None else total + part
        assert total is not None
        return total


def exact(subject: Subject, run: Run) -> Exact | None:
    """The function's graph at its arguments, if it can be traced: if it gives tensors what it gives its own libraries, here and nearby."""
    floats = subject.floats
    try:
        here = _traced(subject, run, floats)
        if here is None:
            return None
        random = np.random.default_rng(5)
        nearby = {name: (array * (1 + _NEARBY * random.uniform(-1, 1, array.shape))).astype(array.dtype) for name, array in floats.items()}
        there = _traced(subject, run, nearby)
    except (GradcliError, *OUTSIDE, TypeError, AttributeError, LookupError, RuntimeError):
        return None  # whatever a function, or a library, raises that was not made for tensors of ours
    if there is None or not here.trace.same_steps(there.trace):
        return None
    return here


def _traced(subject: Subject, run: Run, floats: Floats) -> Exact | None:
    wanted = subject.numbers(floats)
    inputs = {name: Tensor(np.array(array), True) for name, array in floats.items()}

    def whole(*_: Any) -> tuple[list[Any], Sequence[str]]:
        # copies: a function may write into its arguments, which leaves refuse
        return run({name: x.apply_op(clone, (x,), {}) for name, x in inputs.items()})

    with enable_grad():
        (results, decisions), trace = traced(whole, [], list(inputs.values()), list(inputs))
    if trace.opaque or len(results) != len(wanted):
        return None
    for result, right in zip(results, wanted, strict=True):
        if not isinstance(result, Tensor) or result.array.shape != right.shape or not _alike(result.array, right):
            return None
    return Exact(trace, [trace.node_of(result) for result in results], decisions)


def _alike(one: np.ndarray, other: np.ndarray) -> bool:
    room = _ALIKE if other.dtype == np.float64 else 1e-4
    size = float(np.abs(other[np.isfinite(other)]).max(initial=0.0))
    with np.errstate(all="ignore"):
        return bool(np.allclose(one, other, rtol=room, atol=room * size, equal_nan=True))
