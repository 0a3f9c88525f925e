"""A traced function before the judge of expressions: exact derivatives, where the trace says everything that the function does."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from gradcli.check.crosscheck import cross_check
from gradcli.check.given import Given
from gradcli.check.stochastic import Format
from gradcli.errors import GradcliError
from gradcli.functions.arguments import Floats
from gradcli.functions.precision import Room, epsilon_of, exact_numbers, room_of
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
        self, floats: Floats, seeds: Seeds, claims: Floats, rtol: float | None, atol: float, along: Floats | None = None,
        narrow: tuple[Format, bool] | None = None,
    ) -> Check | None:  # fmt: skip
        """The verdict of the judge of expressions on claims about the gradient; None where it cannot decide.

        along   a direction, by names: then the claims are about the Hessian times it
        narrow  the format in which they were computed, if that is not float64, and whether sums of 16 bits round in it
        """
        scope = Scope()
        scope.graph = self.trace.graph
        for name, array in exact_numbers(floats).items():
            scope.values[self.trace.leaves[name]] = array[()]
            scope.names[name] = self.trace.leaves[name]
        try:
            root = self._sum(seeds) if along is None else self._slope(self._sum(seeds), along)
            values = forward([root], scope.values)
            with np.errstate(all="ignore"):
                found = backward(reachable([root]), {root: np.float64(1)}, list(self.trace.leaves.values()), values.__getitem__)
            grad = {name: np.broadcast_to(np.asarray(found.get(x, 0.0)), x.shape)[()] for name, x in self.trace.leaves.items()}
            record = Record("", value=values[root], seed=np.float64(1), grad=grad)
            room = None if narrow is None else room_of(root, self.trace.leaves, scope.values, grad, *narrow)
            given = [self._given(name, numbers, rtol, atol, room) for name, numbers in claims.items()]
            check = cross_check(scope, root, dict(self.trace.leaves), record, None, given)
        except (GradcliError, *OUTSIDE):
            return None
        if room is not None:
            for claim in check.claims:
                room.judge(claim)
        return check if len(check.claims) == len(claims) else None

    @staticmethod
    def _given(name: str, numbers: np.ndarray, rtol: float | None, atol: float, room: Room | None) -> Given:
        if room is None:
            return Given(name, numbers=numbers, rtol=rtol, atol=atol)
        return Given(name, numbers=numbers.astype(np.float64), rtol=rtol or 0.0, atol=atol, room=room.of[name])

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
        nearby = {
            name: (array * (1 + max(_NEARBY, 4 * epsilon_of(array.dtype)) * random.uniform(-1, 1, array.shape))).astype(array.dtype)
            for name, array in floats.items()
        }
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
        if not isinstance(result, Tensor) or result.array.shape != right.shape or not _alike(result.array, right, trace.kinds):
            return None
    return Exact(trace, [trace.node_of(result) for result in results], decisions)


def _alike(one: np.ndarray, other: np.ndarray, kinds: Iterable[np.dtype[Any]]) -> bool:
    """Whether results are the same, as far as the dtypes let them that were computed in."""
    widest = max(map(epsilon_of, (other.dtype, *kinds)))
    room = _ALIKE if widest < _ALIKE else max(1e-4, 64 * widest)
    one, other = one.astype(np.float64), other.astype(np.float64)
    size = float(np.abs(other[np.isfinite(other)]).max(initial=0.0))
    with np.errstate(all="ignore"):
        return bool(np.allclose(one, other, rtol=room, atol=room * size, equal_nan=True))
