"""Explanation of a query that was evaluated.

It consists of nodes in forward order, the sweep, and the paths that gradients are made of.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from gradcli.errors import LimitError, ShapeError, UsageError
from gradcli.explanations.paths import (
    NOWHERE,
    LocalFormulas,
    Passed,
    Place,
    Recorded,
    paths,
    places,
    record_sweep,
    representatives,
)
from gradcli.graph.nodes import Expr, Values, forward, reachable
from gradcli.language.run import Lowered, Program, ProgramText
from gradcli.language.scope import Scope
from gradcli.limits import DEFAULT, Limits
from gradcli.ops.axes import repeated_axes
from gradcli.ops.calling.inputs import FLOAT
from gradcli.ops.pytorch import kept_places, node_name
from gradcli.ops.structure import alias, derivative, output, to_float
from gradcli.ops.text import ATOM, Piece
from gradcli.report.explanation import (
    Contribution,
    ExplainedGradient,
    ExplainedNode,
)
from gradcli.report.records import Record
from gradcli.report.shown_explanation import ShownExplanation
from gradcli.texts import Source, by_name

if TYPE_CHECKING:
    from gradcli.ops.calling.prefixes import Dialect
    from gradcli.options import DType, Options


_FORMULAS = 4_000  # most edges for which formulas are made


def explain_record(
    program: Program,
    lowered: Lowered,
    wrt: Mapping[str, Expr],
    record: Record,
    options: Options,
) -> None:
    """Put the explanation of a query into its record, while its graph is there.

    The record has the value and the gradient already.
    """
    record.explanation = explanation = _Explaining(
        program.scope, lowered.value, wrt, record
    ).explanation(program.text or ProgramText())
    if options.why:
        from gradcli.explanations.why import why

        explanation.why = [why(explanation, target, program.scope.leaves) for target in options.why]
    if options.steps and wrt:
        from gradcli.explanations.derivation import steps_of

        try:
            explanation.steps = steps_of(
                program.scope, lowered.value, wrt, options.latex, record.warnings
            )
        except (ShapeError, LimitError) as error:  # the numbers are explained all the same
            record.warnings.append(f"there are no steps: {error.message}")


class _Explaining:
    """One query: its graph and sweep, and what they are called."""

    def __init__(self, scope: Scope, root: Expr, wrt: Mapping[str, Expr], record: Record) -> None:
        self.scope = scope
        self.root = root
        self.record = record
        self.order = reachable([root])
        self.wrt = dict(wrt) if root.kind == FLOAT else {}
        self.values: Values = forward([root], scope.values, scope.precision, self.order)
        self.sweep = self._sweep_for_tensors()
        self.same = representatives(self.order, self.wrt.values())
        self.ids = {
            node: id for id, node in enumerate((n for n in self.order if self.same[n] is n), 1)
        }

    def _sweep_for_tensors(self) -> Recorded:
        """Return the sweep as it is for tensors.

        Where it has NaN that the gradient does not have, return the sweep in which zeros stay zero.
        """
        root, given = self.root, self.record.seed
        seed = None
        if self.wrt:
            seed = np.asarray(1.0 if given is None else given, self.values[root].dtype)[()]
        for bare in (True, False):
            found = record_sweep(self.order, seed, self.wrt.values(), self.values, bare=bare)
            open_ = [name for name in self.wrt if self._is_open(found, name)]
            if not open_:
                break
        self.record.warnings += [
            f"on the way to {name} zero meets infinity: what the product tends to is known for the "
            "whole gradient, and not for its parts, which are nan"
            for name in open_
        ]
        return found

    def _is_open(self, found: Recorded, name: str) -> bool:
        adjoint = found.adjoints.get(self.wrt[name])
        if adjoint is None or not np.isnan(adjoint).any():
            return False
        return not np.array_equal(np.isnan(adjoint), np.isnan((self.record.grad or {})[name]))

    def explanation(self, text: ProgramText) -> ShownExplanation:
        found = self._places(text)
        names = {  # that statements have bound nodes to
            self.same[node]: binding.name
            for node, binding in self.scope.bindings.items()
            if node in self.same
        }
        nodes = [
            self._node(node, id, found.get(node, NOWHERE), names.get(node))
            for node, id in self.ids.items()
        ]
        explanation = ShownExplanation(
            self.record,
            Source(text.text, self.record.file),
            nodes,
            result=self.ids[self.same[self.root]],
        )
        explanation.backward = self._backward(dict(zip(self.ids, nodes, strict=True)), found)
        explanation.gradients = self._gradients()
        return explanation

    def _places(self, text: ProgramText) -> dict[Expr, Place]:
        """Return where nodes stand in the text; a derivative stands where it is written."""
        found = places(self.scope, self.order, text)
        for node in self.order:
            if node.op is derivative and self.same[node] is not node and node in found:
                found[self.same[node]] = found[node]._replace(root=self.same[node])
        return found

    def _node(self, node: Expr, id: int, place: Place, name: str | None) -> ExplainedNode:
        op = node.op
        adjoint = self.sweep.adjoints.get(node)
        if node in self.wrt.values() and self.record.grad is not None and adjoint is not None:
            adjoint = next(self.record.grad[name] for name, x in self.wrt.items() if x is node)
        explained = ExplainedNode(
            id, self._operation(node), "" if op is None else op.doc, name, place.text, place.span, place.spelling,
            tuple(self.ids[self.same[o]] for o in node.given_operands), node.shape, node.kind, self.values[node], adjoint,
            function=place.function if place.root is node else None, call=place.call, statement=place.statement, static=node.static,
        )  # fmt: skip
        if place.root is not None and place.root is not node:
            explained.inside = self.ids[self.same[place.root]]
        if node.is_leaf:
            explained.name = node.name
            explained.text = explained.text or node.name
        if op is not None and node in self.sweep.requiring:
            explained.grad_fn, explained.saved = self._recorded_by_torch(node)
        return explained

    def _operation(self, node: Expr) -> str:
        if node.op is not None:
            return node.op.name
        if not node.is_leaf:
            return "const"
        is_held = node in self.scope.frozen or (
            self.root.kind == FLOAT == node.kind and node not in self.wrt.values()
        )
        return "frozen" if is_held else "leaf"

    def _recorded_by_torch(self, node: Expr) -> tuple[str | None, tuple[str, ...]]:
        op = node.op
        assert op is not None
        if op is alias or op is output:
            return None, ()
        operands = [
            None if o is None else o.payload if is_number(o) else np.asarray(self.values[o])
            for o in node.operands
        ]
        wanted = sum(
            1 << place
            for place, o in enumerate(reversed(node.operands))
            if o in self.sweep.requiring
        )
        keeps, _ = kept_places(op, len(operands), wanted)
        kept = tuple("result" if place == 0 else _saved_as(node, place - 1) for place in keeps)
        return node_name(op, operands, node.static), kept

    def _backward(
        self, nodes: Mapping[Expr, ExplainedNode], found: Mapping[Expr, Place]
    ) -> list[Contribution]:
        """Return the edges of the sweep, in its order."""
        pieces = {node: _piece(each, found.get(node, NOWHERE)) for node, each in nodes.items()}
        for node in nodes:
            if node.op is to_float:  # has no text of its own: a condition as a number
                pieces[node] = pieces[self.same[node.operand]]
        taken = [*self.scope.names, *self.scope.functions]
        made = LocalFormulas(self.scope.limits, pieces, taken)
        edges = []
        for passed in self.sweep.passed:
            node, operand = self.same[passed.node], self.same[passed.operand]
            if node is operand:
                continue
            partial, rule = (
                made.of(passed, self.same) if len(self.sweep.passed) <= _FORMULAS else (None, None)
            )
            edges.append(
                Contribution(
                    self.ids[node],
                    self.ids[operand],
                    passed.place,
                    partial,
                    self._local(passed),
                    passed.part,
                    _sum_in_words(passed),
                    rule,
                )
            )
        return edges

    def _local(self, passed: Passed) -> Any:
        """Return the local derivative of an entrywise operation, as numbers."""
        node, op = passed.node, passed.node.op
        assert op is not None
        if op.partials is None:
            return None
        partial = op.partials[passed.place]
        assert partial is not None
        with np.errstate(all="ignore"):
            return partial(
                self.values[node],
                *[None if o is None else self.values[o] for o in node.operands],
                **node.static,
            )

    def _gradients(self) -> dict[str, ExplainedGradient]:
        if not self.wrt:
            return {}
        seed = self.sweep.adjoints.get(self.root)
        found = paths(self.sweep, seed, self.wrt.values(), self.values, self.same, self.ids)
        gradients = {}
        for name, x in self.wrt.items():
            value = (self.record.grad or {})[name]
            shown, left_out = found[x]
            with np.errstate(all="ignore"):
                total = sum((np.asarray(path.contribution) for path in shown), np.zeros_like(value))
                gradients[name] = ExplainedGradient(
                    value, shown, left_out, np.asarray(value - total)[()]
                )
        return gradients


def is_number(node: Expr) -> bool:
    """Return whether a node is a number of the text, which is no tensor."""
    return node.is_constant and not node.shape and not isinstance(node.payload, np.ndarray)


def _saved_as(node: Expr, place: int) -> str:
    """Return what PyTorch calls an operand that is kept.

    Of a tensor and a number, the number is "other", wherever it stands.
    """
    op = node.op
    assert op is not None
    operand = node.operands[place]
    names = op.operands * len(node.operands) if op.variadic else op.operands
    if place and op.algebra == "power":
        return "exponent"
    if len(node.operands) == 2 and operand is not None and is_number(operand):
        return "other"
    return "self" if place == 0 else "other" if len(node.operands) == 2 else names[place]


def _sum_in_words(passed: Passed) -> str | None:
    """Return how what is passed back was summed to the operand's shape, in words.

    An example is ``summed over axis 0 (4 entries), along which it was repeated``.
    """
    if isinstance(passed.part, tuple) or passed.whole.shape == passed.operand.shape:
        return None
    whole, shape = passed.whole.shape, passed.operand.shape
    axes = repeated_axes(whole, shape)
    count = f"{math.prod(whole[axis] for axis in axes):,} entries"
    if not shape:
        return f"summed over all {count}, for which it is one number"
    listed = (
        f"axis {axes[0]}"
        if len(axes) == 1
        else f"axes {', '.join(map(str, axes[:-1]))} and {axes[-1]}"
    )
    return f"summed over {listed} ({count}), along which it was repeated"


# Most characters of an operand's text in a formula; otherwise its number stands there.
_LONGEST = 40


def _piece(node: ExplainedNode, place: Place) -> Piece:
    """Return what a node is called in formulas: its name or its own text, or its number.

    The names in a function's body are its own: in a formula they would mean others.
    """
    text = node.name or (node.text if node.call is None else None)
    if text is None or len(text) > _LONGEST or "\n" in text:
        return Piece((f"v{node.id}", ATOM))
    return Piece((text, ATOM if node.name else place.power))


# -- The Python API of explanations --------------------------------------------------------------


def explain(
    expression: str,
    *,
    seed: Any = None,
    check: bool = True,
    wrt: str | Iterable[str] | None = None,
    freeze: str | Iterable[str] = (),
    dtype: DType = "float64",
    random_state: int = 0,
    timeout: float | None = None,
    limits: Limits = DEFAULT,
    dialect: Dialect | None = None,
    at: Mapping[str, Any] | None = None,
    why: str | Iterable[str] = (),
    steps: bool = False,
    **values: Any,
) -> ShownExplanation:
    """Return where every number of a value and its gradient comes from.

    An example is ``explain("x*sin(x)", x=2.0).nodes``.

    The options are those of `evaluate`, whose record is the explanation's ``record``. Its ``nodes``
    are in the order of the forward pass, its ``backward`` in that of the sweep, and its
    ``gradients`` have the paths that they are the sum of. Its ``why`` has the story of each entry
    in ``why`` ("x", "x[2]", "value"). With ``steps``, its ``steps`` have the derivation of each
    derivative as a formula. Raises a `GradcliError` with its place in the text for what cannot be
    evaluated.
    """
    arguments = dict(locals())
    from gradcli.query.bindings import texts_of
    from gradcli.query.interface import evaluate_call
    from gradcli.report.results import GradientRecord, result_of

    arguments["why"] = texts_of("why", why, "entries", "x[2]")
    record = evaluate_call(
        explain, arguments, formula=False, latex=bool(steps), observer=explain_record
    )
    explanation: ShownExplanation | None = record.explanation
    record.explanation = None
    result = result_of(record, check)
    if explanation is None or not isinstance(result, GradientRecord):
        raise UsageError(
            "an assert is held or broken: there is no gradient to explain",
            help="write one of its sides as the last line",
        )
    explanation.record = result
    explanation.gradients = by_name(explanation.gradients)
    return explanation
