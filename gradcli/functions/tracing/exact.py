"""Exact derivatives of traced functions, by the judge of expressions.

They are exact where the trace says everything that the function does.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from importlib import import_module
from typing import Any, NamedTuple

import numpy as np

from gradcli.check.claims import Given
from gradcli.check.crosscheck import cross_check
from gradcli.check.rounding import error_bounds, is_unsure, roots_each_way
from gradcli.check.verdicts import Check, Claim, VariableCheck, Verdict
from gradcli.errors import GradcliError
from gradcli.functions.arguments import OUTSIDE, Floats, Seeds, Subject
from gradcli.functions.precision import Format, bounded_in, epsilon_of, room_at_zeros, room_of
from gradcli.functions.tracing.numpy_arrays import Traced, new_arrays
from gradcli.functions.tracing.passage import Passage
from gradcli.graph.nodes import Expr, forward, reachable
from gradcli.graph.sweep import backward, ones_like
from gradcli.graph.transforms import derive
from gradcli.language.scope import Scope
from gradcli.ops.registry import find
from gradcli.ops.structure import clone
from gradcli.options import Options
from gradcli.report.records import Record
from gradcli.tensors.core.dtypes import FLOATS
from gradcli.tensors.core.modes import Mode, enable_grad, state
from gradcli.tensors.core.tensor import Tensor
from gradcli.tensors.core.trace import Trace

TRACED = "the traced function"
OF_TENSORS = "gradcli"  # library whose tensors a function takes
_MOST_BRANCHES = 4
# Relative: near enough to take the same branch, yet a constant that hides a dependence changes.
_NEARBY = 2.0**-20
_ALIKE = 1e-9  # relative difference between results from the function's own libraries and tensors

# A function of tensors. It takes its arguments, and a passage that records what its run shows
# besides the results.
Run = Callable[[Mapping[str, Tensor], Passage], list[Any]]
# Whatever a function or a library raises that was not made for our tensors, or not for these
# numbers.
REFUSED = Exception


class Claims(NamedTuple):
    """Gradients that somebody claims, and how far they may be off.

    narrow  the format in which they were computed, if that is not float64
    """

    numbers: Floats
    rtol: float | None
    atol: float
    narrow: Format | None

    @property
    def precision(self) -> str:
        """The dtype of NumPy's in which errors of the format are bounded."""
        return "float64" if self.narrow is None else bounded_in(self.narrow.name)


@dataclass(frozen=True, eq=False)
class Exact:
    """Function as a graph.

    It has the leaves by name, the nodes of the results, and the notes of the run at the subject's
    arguments.
    """

    subject: Subject
    run: Run
    trace: Trace
    results: list[Expr]
    passage: Passage

    def check(
        self, seeds: Seeds, claims: Claims, along: Floats | None = None
    ) -> dict[str, VariableCheck] | None:
        """Return the verdicts of the judge of expressions on claims about the gradient.

        Gives None where the judge cannot decide.

        along  a direction, by names: then the claims are about the Hessian times it
        """
        try:
            root = self._sum(seeds) if along is None else self._slope(self._sum(seeds), along)
        except (GradcliError, *OUTSIDE):
            return None
        found = self._judge(root, claims)
        if found is None:
            return None
        return {
            claim.of: _part_of(claim, found.variables.get(claim.of), claims.numbers[claim.of])
            for claim in found.claims
        }

    @cached_property
    def values(self) -> dict[Expr, Any]:
        """Values of nodes at the subject's arguments.

        They are those of the leaves, and of all nodes that were asked for.
        """
        return dict(self.scope(self.subject.floats).values)

    def pull(self, cotangents: Mapping[Expr, Any], targets: Iterable[Expr]) -> dict[Expr, Any]:
        """Return what flows back from some nodes to others at the subject's arguments."""
        self.values.update(forward(cotangents, self.values))
        with np.errstate(all="ignore"):
            return backward(reachable(cotangents), cotangents, targets, self.values.__getitem__)

    def _judge(self, root: Expr, claims: Claims) -> Check | None:
        """Return the verdict on claims about the gradient of a node that is one number.

        Gives None where there is no verdict.
        """
        scope = self.scope(self.subject.floats)
        leaves = self.trace.leaves
        try:
            found = self.pull({root: np.float64(1)}, leaves.values())
            grad = {
                name: np.broadcast_to(np.asarray(found.get(x, 0.0)), x.shape)[()]
                for name, x in leaves.items()
            }
            record = Record("", value=self.values[root], seed=np.float64(1), grad=grad)
            room = (
                None
                if claims.narrow is None
                else room_of(root, leaves, scope.values, grad, claims.narrow)
            )

            def decide(rooms: Mapping[str, np.ndarray]) -> Check:
                rtol = claims.rtol if room is None else claims.rtol or 0.0
                given = [
                    Given(
                        name,
                        None,
                        said.astype(np.float64),
                        rtol,
                        claims.atol,
                        rooms.get(name),
                        claims.precision,
                    )
                    for name, said in claims.numbers.items()
                ]
                return cross_check(scope, root, dict(leaves), record, Options(), given)

            check = decide({} if room is None else room.reach.rooms)
            if room is None and check.worst is Verdict.MISMATCH:
                zeros = room_at_zeros(root, leaves, scope.values, grad)
                check = decide(zeros) if any(part.any() for part in zeros.values()) else check
        except (GradcliError, *OUTSIDE):
            return None
        if room is not None:
            for claim in check.claims:
                room.judge(claim)
        return check if len(check.claims) == len(claims.numbers) else None

    def other_ways(self, precision: str) -> list[tuple[str, Exact]]:
        """Return the function on the branches that rounding in a precision may decide against.

        Its code in Python would take them but for that rounding. Each comes with its condition.
        """
        unsure = self._unsure(precision)
        turned: list[tuple[str, tuple[int, ...]]] = [(text, (index,)) for text, index in unsure]
        if len(unsure) > 1:
            turned.append((unsure[0][0], tuple(index for _, index in unsure)))
        found = []
        for text, indices in turned:
            with suppress(REFUSED):
                passage = Passage(turned=indices)
                _, nodes, trace = run_at(self.run, self.subject.floats, passage)
                if not trace.opaque and len(nodes) == len(self.results):
                    found.append((text, Exact(self.subject, self.run, trace, nodes, passage)))
        return found

    def _unsure(self, precision: str) -> list[tuple[str, int]]:
        """Return the conditions in Python that rounding decides, in words, with their indices.

        The indices are those of their nodes in the graph. If there are many conditions, like those
        that end an iteration, none are returned.
        """
        conditions = self.passage.conditions
        if not conditions:
            return []
        leaves = self.scope(self.subject.floats).values
        unsure = [
            (text, node.index)
            for node, text in conditions.items()
            if is_unsure(node, leaves, precision)
        ]
        return unsure if len(unsure) <= _MOST_BRANCHES else []

    @property
    def _precision(self) -> str:
        """Dtype of the error bounds of the computation.

        It belongs to the values that the function computes with the fewest digits.
        """
        kinds = [kind for kind in self.trace.kinds if kind.kind in FLOATS]
        return bounded_in(str(max(kinds, key=epsilon_of)))

    def rounding(self, node: Expr, floats: Floats) -> np.ndarray:
        """Return how far rounding takes a result at these numbers of the arguments.

        It is 0 where the result has no finite bound.
        """
        leaves = self.scope(floats).values
        (bound,), _ = error_bounds(node, [], leaves, 1.0, self._precision)
        return np.where(np.isfinite(bound), bound, 0.0)

    def turns(self, node: Expr, floats: Floats, wanted: np.ndarray) -> bool:
        """Return True if a result is the wanted one on another branch.

        Rounding decides between that branch and the result's own.
        """
        leaves = self.scope(floats).values
        ways = roots_each_way(node, leaves, self._precision)
        return any(
            _alike(np.asarray(forward([way], leaves)[way]), wanted, self.trace.kinds, 0.0)
            for way in ways[1:]
        )

    def scope(self, floats: Floats) -> Scope:
        """Return a scope with the exact values of the leaves, at these numbers of the arguments."""
        scope = Scope()
        scope.graph = self.trace.graph
        scope.in_passing = True
        values = {
            self.trace.leaves[name]: array.astype(np.float64) for name, array in floats.items()
        }
        for leaf, array in values.items():
            scope.values[leaf] = array[()]
            scope.names[leaf.name] = leaf
        return scope

    def _sum(self, seeds: Seeds) -> Expr:
        """Return the one number that the gradient is of."""
        return self._add(zip(self.results, seeds, strict=True))

    def _slope(self, root: Expr, along: Floats) -> Expr:
        """Return the derivative of that number in a direction.

        Its gradient is the Hessian times the direction.
        """
        leaves = self.trace.leaves
        slopes = (
            (derive("vjp", root, leaves[name], ones_like(root)), direction)
            for name, direction in along.items()
        )
        return self._add(slopes)

    def _add(self, terms: Iterable[tuple[Expr, np.ndarray]]) -> Expr:
        """Return the sum of all entries of nodes, with weights."""
        add = find("sum")
        total = None
        for node, weights in terms:
            weighted = (
                node
                if weights.size == 1 and weights.reshape(-1)[0] == 1
                else node * self.trace.graph.constant(weights)
            )
            part = (
                self.trace.graph.apply(add, [weighted], {"axis": None, "keepdims": False})
                if node.shape
                else weighted
            )
            total = part if total is None else total + part
        assert total is not None
        return total


def exact(subject: Subject, by: str | None, held: dict[str, None]) -> Exact | None:
    """Return the function's graph at its arguments.

    The graph is that of the first way of running the function in which it can be traced. It can be
    traced if it gives the same results for tensors as for its own libraries' arrays, here and
    nearby.

    held  is told where the code declares values to be constants, whatever becomes of the trace
    """
    for run in _runs_of(subject, by):
        try:
            found = _exact(subject, run, held)
        except REFUSED:
            continue
        if found is not None:
            return found
    return None


def _exact(subject: Subject, run: Run, held: dict[str, None]) -> Exact | None:
    here = _believe(subject, run, subject.floats, held)
    if here is None:
        return None
    found = [_hides_nothing(subject, here, floats) for floats in _nearby(subject.floats)]
    known = [whole for whole in found if whole is not None]
    if not known:
        return here if here.other_ways(here._precision) else None
    return here if all(known) else None


def _hides_nothing(subject: Subject, here: Exact, floats: Floats) -> bool | None:
    """Return whether the constants of a trace are the same at these numbers.

    Gives None if the function does something else there.
    """
    try:
        there = _believe(subject, here.run, floats, {})
    except REFUSED:
        return None
    return None if there is None else here.trace.has_constants_of(there.trace)


def _nearby(floats: Floats) -> list[Floats]:
    """Numbers close by; zeros, at which branches are common, are moved up once and once down."""
    random = np.random.default_rng(5)
    moves = {
        name: max(_NEARBY, 4 * epsilon_of(x.dtype)) * random.uniform(-1, 1, x.shape)
        for name, x in floats.items()
    }
    sides = (1, -1) if any((array == 0).any() for array in floats.values()) else (1,)
    return [
        {
            name: (x + np.where(x == 0, side * np.abs(moves[name]), x * moves[name])).astype(
                x.dtype
            )
            for name, x in floats.items()
        }
        for side in sides
    ]


def run_at(run: Run, floats: Floats, passage: Passage) -> tuple[list[Any], list[Expr], Trace]:
    """Run a function at these numbers.

    Returns the results, their nodes and the trace. Raises what the function raises.
    """
    inputs = {name: Tensor(np.array(array), True) for name, array in floats.items()}
    trace = Trace(inputs)
    with enable_grad(), Mode(recorder=trace):
        # Copies, because a function may write into its arguments, which leaves refuse.
        results = run({name: x.apply_op(clone, (x,), {}) for name, x in inputs.items()}, passage)
    return results, [trace.node_of(result) for result in results], trace


def _believe(subject: Subject, run: Run, floats: Floats, held: dict[str, None]) -> Exact | None:
    """Return the trace at these numbers, if it gives the function's own value."""
    wanted = subject.numbers(floats)
    passage = Passage()
    try:
        results, nodes, trace = run_at(run, floats, passage)
    finally:
        held |= passage.held
    if trace.opaque or len(results) != len(wanted):
        return None
    found = Exact(subject, run, trace, nodes, passage)
    arrays = [_array(result) for result in results]
    if any(
        x.shape != right.shape or x.dtype.kind not in (*FLOATS, *"iub")
        for x, right in zip(arrays, wanted, strict=True)
    ):
        return None

    def fits(i: int) -> bool:
        x, right = arrays[i], wanted[i]
        return (
            _alike(x, right, trace.kinds, 0.0)
            or _alike(x, right, trace.kinds, found.rounding(nodes[i], floats))
            or found.turns(nodes[i], floats, right)
        )

    return found if all(map(fits, range(len(nodes)))) else None


def _array(result: Any) -> np.ndarray:
    return result.array if isinstance(result, Tensor) else np.asarray(result)


def _alike(one: np.ndarray, other: np.ndarray, kinds: Iterable[np.dtype[Any]], off: Any) -> bool:
    """Tell whether results are the same, as far as dtypes and rounding allow.

    The dtypes are those of the computation. Rounding may take the results apart by ``off``.
    """
    widest = max(map(epsilon_of, (other.dtype, *kinds)))
    room = _ALIKE if widest < _ALIKE else max(1e-4, 64 * widest)
    one, other = one.astype(np.float64), other.astype(np.float64)
    size = float(np.abs(other[np.isfinite(other)]).max(initial=0.0))
    with np.errstate(all="ignore"):
        return bool(np.allclose(one, other, rtol=room, atol=room * size + off, equal_nan=True))


def _part_of(claim: Claim, engine: VariableCheck | None, said: np.ndarray) -> VariableCheck:
    """Return the verdict on a claim as a verdict on the gradient by a name."""
    part = VariableCheck(
        claim.verdict,
        TRACED,
        entries=(said.size, said.size),
        worst=claim.worst,
        reason=claim.reason,
    )
    part.wrong = 0 if claim.wrong is None else claim.wrong[0]
    if engine is not None:
        part.certified = engine.certified
        part.kinks = engine.kinks if claim.verdict is Verdict.KINK else []
        if claim.verdict is Verdict.UNDETERMINED and part.reason is None:
            part.reason = engine.reason
    return part


# -- How a function of each library runs on tensors of ours --------------------------------------


def _runs_of(subject: Subject, by: str | None) -> list[Run]:
    """Return ways to run a function of a library's own arrays on tensors.

    The way that says most comes first.
    """
    if by == "jax":
        return [_jax(subject)]
    if by == OF_TENSORS:
        return [lambda tensors, _: subject(instead=tensors)]
    if by == "torch":
        return [_torch(subject)]
    run = _numpy(subject)

    def with_new_arrays(tensors: Mapping[str, Tensor], passage: Passage) -> list[Any]:
        with new_arrays(passage):  # arrays that the function makes can then hold traced values
            return run(tensors, passage)

    return [with_new_arrays, run]


def _numpy(subject: Subject) -> Run:
    """NumPy's functions take traced arrays, and so do autograd's, which call them."""

    def run(tensors: Mapping[str, Tensor], passage: Passage) -> list[Any]:
        return [
            _tensor_of(part)
            for part in subject(instead={name: Traced(x, passage) for name, x in tensors.items()})
        ]

    return run


def _tensor_of(part: Any) -> Any:
    return part.tensor if isinstance(part, Traced) else part


def _torch(subject: Subject) -> Run:
    from gradcli.functions.tracing.torch_functions import numbers_of, torch_functions

    def run(tensors: Mapping[str, Tensor], passage: Passage) -> list[Any]:
        with torch_functions(passage) as chosen:
            result = [numbers_of(part) for part in subject(instead=tensors)]
        state.recorder.further |= chosen
        return result

    return run


def _jax(subject: Subject) -> Run:
    from gradcli.functions.tracing.jaxprs import JaxprRun

    programs: list[Any] = []

    def run(tensors: Mapping[str, Tensor], passage: Passage) -> list[Any]:
        jax = import_module("jax")
        if not programs:  # the program is the same for all numbers
            flat = jax.make_jaxpr(lambda given: subject(instead=given))
            programs.append(flat({name: jax.numpy.asarray(x.array) for name, x in tensors.items()}))
        (program,) = programs
        # JAX sorts a dictionary by its keys.
        arguments = [Traced(tensors[name], passage) for name in sorted(tensors)]
        found = JaxprRun(passage).evaluate(program, arguments)
        return [_tensor_of(part) for part in found]

    return run
