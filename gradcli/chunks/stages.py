"""Stages of a program on arrays that are cut along one axis.

A stage says what each chunk computes, and what the results of all chunks are combined to.

results ──layouts──▶ nodes of chunks, nodes that all chunks have in common ──▶ stage 0: a plan for
chunks, folds of what they give
                                                                                stage 1: a plan for
                                                                                what is common, one
                                                                                for chunks, ...

A sum of all rows needs one stage. Dividing each row by it needs the sum before a second stage. A
later stage computes again what it needs of the chunks, so that no more than a chunk is ever held.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from gradcli.graph.nodes import Expr, Graph, Transcription, interpret, reachable, rebuild, shapes_of
from gradcli.limits import Limits
from gradcli.ops.arrays.shapes import shape_with
from gradcli.ops.cutting import Cuts, Found, Uncut, layout
from gradcli.ops.spec import Op
from gradcli.plans.backend import OFTEN
from gradcli.plans.plan import Plan
from gradcli.plans.source import Nodes

# -- The layouts of nodes: along which axis each is cut, as the records of operations say
# (ops/cutting.py).


def layout_of(node: Expr, cuts: Cuts) -> Found:
    """Return the layout of a node some of whose operands are cut.

    Raises Uncut.
    """
    assert node.op is not None
    return layout(node.op, node.shape, shapes_of(node), cuts, node.static)


def aligned_axis(node: Expr, cuts: Cuts, place: int, length: int) -> int | None:
    """Return the axis along the cut of an operand that all chunks have in common.

    Each chunk takes a slice of the operand along this axis.

    ``place``: of the operand, which is not cut; ``length``: of the axis that is
    """
    operand = node.operands[place]
    found = layout_of(node, cuts)
    assert operand is not None
    for axis, extent in enumerate(operand.shape):
        if extent != length:
            continue
        try:
            if (
                layout_of(node, [axis if i == place else cut for i, cut in enumerate(cuts)])
                == found
            ):
                return axis
        except Uncut:
            continue
    return None


@dataclass(frozen=True)
class Layout:
    """Layout of a node among the chunks.

    axis   along which a node is cut; None for what all chunks have in common
    stage  the first in which chunks can know it
    """

    axis: int | None
    stage: int


@dataclass
class Splitting(Transcription[Expr]):
    """The reading of a graph that says where its nodes are cut.

    cut     the axes of the leaves that are
    length  of this axis
    spread  entries from which on what all chunks have in common, repeated along an axis as long as
            the cut, is taken for cut
    folds   nodes in which all chunks come together, and by which operation
    """

    graph: Graph
    cut: Mapping[Expr, int]
    length: int
    spread: int

    def __post_init__(self) -> None:
        self.layouts: dict[Expr, Layout] = {}
        self.folds: dict[Expr, str] = {}

    def leaf(self, node: Expr) -> Expr:
        found = self.graph.leaf(node.name, node.shape, node.kind)
        self.layouts[found] = Layout(self.cut.get(node), 0)
        return found

    def constant(self, node: Expr) -> Expr:
        found = self.graph.constant(node.payload)
        self.layouts[found] = Layout(None, 0)
        return found

    def operation(self, node: Expr, op: Op, operands: list[Any]) -> Expr:
        made = self.graph.apply(op, operands, node.static)
        try:
            self._note_all(made)
        except Uncut:
            if op.parts is None:
                raise
            made = op.parts(*operands, **node.static)
            self._note_all(made)
        return made

    def _note_all(self, node: Expr) -> None:
        """Note a node that was just made, after the nodes that were made with it.

        Conversions of its operands make such nodes.
        """
        stack = [node]
        while stack:
            open_ = [o for o in stack[-1].given_operands if o not in self.layouts]
            if open_:
                stack += open_
            elif (found := stack.pop()) not in self.layouts:
                self._note(found)

    def cuts(self, node: Expr) -> list[int | None]:
        """Return the axes along which a node's operands are cut."""
        return [None if o is None else self.layouts[o].axis for o in node.operands]

    def _note(self, node: Expr) -> None:
        stage = max((self.layouts[o].stage for o in node.given_operands), default=0)
        if node.op is None:
            self.layouts[node] = Layout(None, 0)
            return
        cuts = self.cuts(node)
        if all(cut is None for cut in cuts):
            self.layouts[node] = Layout(self._spread(node), stage)
            return
        found = layout_of(node, cuts)
        if found.fold:
            self.folds[node] = found.fold
        self.layouts[node] = Layout(found.axis, stage + bool(found.fold))

    def _spread(self, node: Expr) -> int | None:
        """Return the axis along which a node that all chunks have in common is repeated.

        It is repeated to be as long as the chunks are together, so that no chunk needs it all.
        """
        if node.op is None or node.op.algebra != "repetition" or node.size < self.spread:
            return None
        lead = node.ndim - node.operand.ndim
        for axis, extent in enumerate(node.shape):
            if extent == self.length and (axis < lead or node.operand.shape[axis - lead] != extent):
                return axis
        return None


# -- The stages ----------------------------------------------------------------------------------


_HELD = 1 << 24  # most entries of an array that every process may hold whole


@dataclass(frozen=True, eq=False)
class Input:
    """Input that a plan for chunks takes: a node.

    If all chunks have the node in common, ``axis`` is the axis along which the chunk takes its
    slice, if it has one.
    """

    node: Expr
    axis: int | None


@dataclass(eq=False)
class Stage:
    """Work that chunks do at once.

    folds   what all chunks come together to, by which operation
    cut     results that chunks have parts of
    inputs  of the plan for a chunk
    """

    folds: dict[Expr, str] = field(default_factory=dict)
    cut: list[Expr] = field(default_factory=list)
    inputs: list[Input] = field(default_factory=list)

    @property
    def outputs(self) -> list[Expr]:
        return [*self.folds, *self.cut]


class Staged:
    """Results as stages.

    results  nodes, in the order of the roots
    leaves   the nodes that take values, by the leaves that they stand for
    """

    def __init__(
        self,
        roots: Sequence[Expr],
        cut: Mapping[Expr, int],
        length: int,
        precision: str,
        limits: Limits,
    ) -> None:
        """Take nodes over leaves some of which are cut.

        Raises Uncut for an operation that needs all chunks at once.
        """
        self.precision = precision
        self.limits = limits
        self.length = length
        try:
            self.splitting, table = self._split(roots, cut, 0)
        except Uncut:  # an axis may have the length of the cut by chance
            self.splitting, table = self._split(roots, cut, _HELD)
        self.results = [table[root] for root in roots]
        self.leaves = {leaf: table[leaf] for leaf in table if leaf.is_leaf}
        self.stages = self._stages()
        self._plans: dict[tuple[int, ...], Plan] = {}

    def _split(
        self, roots: Sequence[Expr], cut: Mapping[Expr, int], spread: int
    ) -> tuple[Splitting, dict[Expr, Expr]]:
        splitting = Splitting(Graph(self.limits), cut, self.length, spread)
        return splitting, interpret(reachable(roots), splitting)

    def _stages(self) -> list[Stage]:
        layouts = self.splitting.layouts
        stages = [Stage()]

        def at(stage: int) -> Stage:
            while len(stages) <= stage:
                stages.append(Stage())
            return stages[stage]

        for node in reachable(self.results):
            if node in self.splitting.folds:
                at(layouts[node].stage - 1).folds[node] = self.splitting.folds[node]
        for node in dict.fromkeys(self.results):
            if layouts[node].axis is not None:
                at(layouts[node].stage).cut.append(node)
        for stage in stages:
            stage.inputs = self._inputs(stage)
        return stages

    def _inputs(self, stage: Stage) -> list[Input]:
        found: dict[tuple[Expr, int | None], Input] = {}
        for node in self._of_chunks(stage.outputs):
            if node.op is None:
                found[node, self.axis_of(node)] = Input(node, self.axis_of(node))
                continue
            for operand, axis in self._common(node):
                if not (operand.is_constant and axis is None):
                    found.setdefault((operand, axis), Input(operand, axis))
        return list(found.values())

    def _of_chunks(self, outputs: Iterable[Expr]) -> list[Expr]:
        """Return the nodes that chunks compute for ``outputs``, each after its operands."""
        layouts = self.splitting.layouts

        def cut(node: Expr) -> list[Expr]:
            return [o for o in node.given_operands if layouts[o].axis is not None]

        found = _above(outputs, cut)
        return sorted(found, key=lambda node: node.index)

    def _common(self, node: Expr) -> list[tuple[Expr, int | None]]:
        """Return the operands of a node of chunks that all chunks have in common.

        Each comes with the axis along which it is sliced.
        """
        cuts = self.splitting.cuts(node)
        if all(cut is None for cut in cuts):  # a repetition: all chunks share its operand
            return [(o, None) for o in node.given_operands]
        return [
            (o, aligned_axis(node, cuts, place, self.length))
            for place, o in enumerate(node.operands)
            if o is not None and cuts[place] is None
        ]

    # -- plans -------------------------------------------------------------------------------------

    def chunk_plan(self, number: int, extent: int) -> Plan:
        """Return the plan of a stage for a chunk of ``extent`` entries along the cut.

        It takes the stage's inputs, and gives its outputs.
        """
        found = self._plans.get((number, extent))
        if found is None:
            found = self._plans[number, extent] = self._chunk_plan(self.stages[number], extent)
        return found

    def _chunk_plan(self, stage: Stage, extent: int) -> Plan:
        graph = Graph(self.limits)
        layouts = self.splitting.layouts
        leaves: dict[tuple[Expr, int | None], Expr] = {}
        for given in stage.inputs:
            shape = _of_chunk(given.node.shape, given.axis, extent)
            leaves[given.node, given.axis] = graph.leaf(
                f"input {len(leaves)}", shape, given.node.kind
            )
        done: dict[Expr, Expr] = {}
        for node in self._of_chunks(stage.outputs):
            axis = layouts[node].axis
            if node.op is None:
                done[node] = leaves[node, axis]
                continue
            along = dict(self._common(node))
            operands = [
                None if o is None
                else done[o] if layouts[o].axis is not None
                else leaves[o, along[o]] if (o, along[o]) in leaves
                else graph.constant(o.payload)
                for o in node.operands
            ]  # fmt: skip
            static = node.static
            if "shape" in static and axis is not None:
                static = {**static, "shape": _of_chunk(node.shape, axis, extent)}
            done[node] = made = graph.apply(node.op, operands, static)
            assert made.shape == _of_chunk(node.shape, axis, extent), (node, made)
        return Plan(
            Nodes([done[node] for node in stage.outputs]),
            list(leaves.values()),
            self.precision,
            threads=1,
            calls=OFTEN,
        )

    def common_plan(self, wanted: Sequence[Expr], known: Sequence[Expr]) -> Plan:
        """Return the plan that computes nodes common to all chunks from other nodes that are known."""
        key = (*(node.index for node in wanted), -1, *(node.index for node in known))
        found = self._plans.get(key)
        if found is None:
            graph = Graph(self.limits)
            leaves = [
                graph.leaf(f"known {place}", node.shape, node.kind)
                for place, node in enumerate(known)
            ]
            nodes = rebuild(wanted, dict(zip(known, leaves, strict=True)), graph=graph)
            found = self._plans[key] = Plan(Nodes(nodes), leaves, self.precision)
        return found

    def needed_nodes(self, wanted: Sequence[Expr], known: Collection[Expr]) -> list[Expr]:
        """Return those of the known nodes that others are computed from."""
        found = _above(wanted, lambda node: () if node in known else node.given_operands)
        return [node for node in known if node in found]

    def axis_of(self, node: Expr) -> int | None:
        """Return the axis along which a node is cut; None for what all chunks have in common."""
        return self.splitting.layouts[node].axis

    def nodes_numbered(self, numbers: Iterable[int]) -> list[Expr]:
        """Nodes by their index, which is the same in every process."""
        return [self._by_number[number] for number in numbers]

    @cached_property
    def _by_number(self) -> dict[int, Expr]:
        return {node.index: node for node in self.splitting.layouts}


def _of_chunk(shape: tuple[int, ...], axis: int | None, extent: int) -> tuple[int, ...]:
    """Return the shape of a chunk's part of an array that is cut along an axis."""
    return shape if axis is None else shape_with(shape, axis, extent)


def _above(nodes: Iterable[Expr], further: Callable[[Expr], Iterable[Expr]]) -> set[Expr]:
    """Nodes with all that they are made of, as far as ``further`` says."""
    found = set(nodes)
    stack = list(found)
    while stack:
        new = set(further(stack.pop())) - found
        found |= new
        stack += new
    return found
