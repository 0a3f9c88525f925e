"""Proof by algebra that a formula is the derivative of a function for all values of its names.

The question is decided where algebra can.

Functions of the program are read on a tape whose numbers are elements of a field: every leaf's
entries are variables. Derivatives are the tape's own, by sympy's derivative of each single
operation.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import IntEnum
from functools import partial
from math import prod
from typing import Any, NamedTuple

import numpy as np

from gradcli.graph.nodes import Expr, definition_order
from gradcli.ops.spec import Op
from gradcli.reference.algebra import Algebra, Unsupported
from gradcli.reference.deadline import in_time
from gradcli.reference.fields.element import Generator
from gradcli.reference.fields.functions import Functions, decide_in_field
from gradcli.reference.scalars import Differentiated, Traced, Tracing, plain
from gradcli.reference.symbolic.translate import smooth_function
from gradcli.reference.tape import ReferenceTape, exact_array

_MOST_VARIABLES = 40


class _Scalars(Tracing):
    """Scalars that are elements, with a history.

    Neither kinks nor values that are not finite are noted.
    """

    def scalar(self, op: Op, static: Mapping[str, Any], *given: Any) -> Any:
        if op.kind == "flat":
            # Equality is proved except at single points, which only continuity covers.
            raise Unsupported("a function that jumps")
        if op.kind == "piecewise" and (static or op.symbolic is None):
            return op.reference(self, *given, **static)
        if op.algebra == "composed" and op.definition is not None and op.kind == "smooth":
            return self.open_body(
                op.definition, [np.asarray(x, dtype=object) for x in given], static
            )[()]
        smooth = smooth_function(op, len(given), static)
        value = smooth.value(self.m, tuple(self.m.of(plain(x)) for x in given))
        return Traced(self, value, Differentiated(op.name, smooth), given)


class FieldTape(ReferenceTape):
    """A function on a tape of elements.

    values  of leaves that are whole numbers or truths, which stay what they are
    alike   whether all entries of all arrays are treated alike: then an array is one element
    """

    tracing = _Scalars

    def __init__(
        self,
        functions: Functions,
        leaves: Sequence[Expr],
        values: Mapping[Expr, Any],
        precision: str,
        alike: bool,
    ) -> None:
        def variables(node: Expr) -> np.ndarray:
            shape = () if alike else node.shape
            if prod(shape) > _MOST_VARIABLES:
                raise Unsupported("an array of so many entries")
            places = np.arange(prod(shape)).reshape(shape)
            return Algebra.map(
                lambda i: functions.field.symbol((node, i), partial(Generator, "variable")), places
            )

        super().__init__(
            functions,
            {node: variables(node) if node.kind == "float" else values[node] for node in leaves},
            precision,
        )

    def _watch(self, op: Op, operands: list[Any], result: Any) -> None:
        """Note nothing: where kinks are depends on values."""


class Decision(IntEnum):
    """Verdict that algebra has of a formula and what it is claimed to be."""

    OPEN = 0
    SAME = 1  # wherever both have a value
    DIFFERENT = 2  # except at single points, with exact numbers


_NODES = 1_000  # most nodes of function and formula together
_ENTRIES = 16  # most entries of a gradient


class Question(NamedTuple):
    """A formula that is claimed to be the derivative of a root by a leaf, or its value.

    wrt     None for the value
    seed    the weights of the entries of the root: numbers, or the leaf that holds them
    leaves  their values
    """

    root: Expr
    wrt: Expr | None
    formula: Expr
    seed: Any
    leaves: Mapping[Expr, Any]
    precision: str


def decide(question: Question) -> Decision:
    """Return whether the formula is right for all values of its names."""
    order = definition_order(question.root, [question.formula])
    if len(order) > _NODES or (question.wrt is not None and not question.wrt.is_leaf):
        return Decision.OPEN
    alike = entries_alike(question)
    return (
        decide_in_field(lambda functions: _compare(question, order, functions, alike))
        or Decision.OPEN
    )


def _compare(question: Question, order: list[Expr], functions: Functions, alike: bool) -> Decision:
    wrt = [] if question.wrt is None else [question.wrt]
    leaves = dict.fromkeys([*(node for node in order if node.is_leaf), *wrt])
    tape = FieldTape(functions, list(leaves), question.leaves, question.precision, alike)
    truth = tape.run(question.root, [question.formula, *wrt])
    for x in wrt:
        weights = (
            tape.table[question.seed]
            if isinstance(question.seed, Expr)
            else exact_array(functions, question.seed)
        )
        truth = tape.gradient(
            truth, Algebra.map(plain, np.ravel(weights)[: 1 if alike else None]), tape.table[x]
        )
    if truth.size > _ENTRIES:
        raise Unsupported("a gradient of so many entries")
    found = Decision.SAME
    said = np.broadcast_to(tape.table[question.formula], truth.shape)
    for right, claimed in in_time(zip(np.ravel(truth), np.ravel(said), strict=True)):
        difference = functions.of(plain(claimed)) - functions.of(plain(right))
        if difference.is_zero:
            continue
        # An element of the variables alone is the zero function only if it is zero.
        if any(functions.field.generators[i].kind != "variable" for i in difference.used()):
            return Decision.OPEN
        found = Decision.DIFFERENT
    return found


def entries_alike(question: Question) -> bool:
    """Return whether every entry of some arrays of one shape, or of numbers, is treated alike.

    A fact of one entry then holds for all.
    """
    shape, order = question.root.shape, definition_order(question.root, [question.formula])
    if isinstance(question.seed, Expr) or (
        question.wrt is not None and question.wrt.shape != shape
    ):
        return False
    leaves = [node for node in order if node.op is None and node.is_leaf]
    one_weight = len(set(np.ravel(np.asarray(question.seed, float)).tolist())) == 1
    entrywise = all(node.op is None or node.op.elementwise for node in order)
    return bool(
        one_weight and entrywise and all(leaf.shape == shape for leaf in leaves) and prod(shape)
    )
