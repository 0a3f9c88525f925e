"""A program on arrays that are cut along one axis, as stages: what each chunk computes, and what all of them come together to.

results ──layouts──▶ nodes of chunks, nodes that all chunks have in common ──▶ stage 0: a plan for chunks, folds of what they give
                                                                                stage 1: a plan for what is common, one for chunks, ...

A sum of all rows needs one stage; what divides each row by it needs the sum before the second. What a later stage needs of the chunks
it computes again, so that no more than a chunk is ever held.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from gradcli.chunks.splitting import Splitting, aligned
from gradcli.graph.interpret import interpret, rebuild
from gradcli.graph.nodes import Expr, Graph, reachable
from gradcli.limits import Limits
from gradcli.ops.cutting import Uncut
from gradcli.plans.backend import OFTEN
from gradcli.plans.plan import Plan
from gradcli.plans.source import Nodes

_HELD = 1 << 24  # entries of an array that every process can hold

Extents = Mapping[int, int]  # of a chunk, along axes that are cut, by the length of the axis


@dataclass(frozen=True, eq=False)
class Input:
    """What a plan for chunks takes: a node; of one that all have in common, along ``axis`` the chunk's slice, if it has one."""

    node: Expr
    axis: int | None


@dataclass(eq=False)
class Stage:
    """What chunks compute at once.

    moved   what is made before, of all chunks
    folds   what all chunks come together to, by which operation
    cut     results that chunks have parts of, and what is moved in later stages
    inputs  of the plan for a chunk
    """

    moved: list[Expr] = field(default_factory=list)
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
        self, roots: Sequence[Expr], cut: Mapping[Expr, int], length: int, precision: str, limits: Limits, *, moves: bool = False
    ) -> None:
        """Of nodes over leaves some of which are cut; ``moves``: whether entries may go from chunk to chunk between stages.

        Raises Uncut for an operation that needs all chunks at once.
        """
        self.precision, self.limits, self.length, self.moves = precision, limits, length, moves
        try:
            self.splitting, table = self._split(roots, cut, 0)
        except Uncut:  # an axis may be as long as the cut by chance
            self.splitting, table = self._split(roots, cut, _HELD)
        self.results = [table[root] for root in roots]
        self.leaves = {leaf: table[leaf] for leaf in table if leaf.is_leaf}
        self.stages = self._stages()
        self._plans: dict[tuple[int, ...], Plan] = {}

    def _split(self, roots: Sequence[Expr], cut: Mapping[Expr, int], spread: int) -> tuple[Splitting, dict[Expr, Expr]]:
        splitting = Splitting(Graph(self.limits), cut, self.length, spread, moves=self.moves)
        return splitting, interpret(reachable(roots), splitting)

    def _stages(self) -> list[Stage]:
        layouts, stages = self.splitting.layouts, [Stage()]

        def at(stage: int) -> Stage:
            while len(stages) <= stage:
                stages.append(Stage())
            return stages[stage]

        for node in reachable(self.results):
            if node in self.splitting.folds:
                at(layouts[node].stage - 1).folds[node] = self.splitting.folds[node]
        wanted = dict.fromkeys(root for root in self.results if layouts[root].axis is not None)
        for node in self.splitting.moved:
            at(layouts[node].stage).moved.append(node)
            wanted |= dict.fromkeys(o for o in node.operands if o is not None and layouts[o].axis is not None and not self._is_given(o))
        for node in wanted:
            at(layouts[node].stage).cut.append(node)
        for stage in stages:
            stage.inputs = self._inputs(stage)
        return stages

    def _inputs(self, stage: Stage) -> list[Input]:
        found: dict[tuple[Expr, int | None], Input] = {}
        for node in self._of_chunks(stage.outputs):
            if self._is_given(node):
                found[node, self.splitting.layouts[node].axis] = Input(node, self.splitting.layouts[node].axis)
                continue
            for operand, axis in self._common(node):
                if not (operand.is_constant and axis is None):
                    found.setdefault((operand, axis), Input(operand, axis))
        return list(found.values())

    def _of_chunks(self, outputs: Iterable[Expr]) -> list[Expr]:
        """The nodes that chunks compute for these, each after its operands."""
        layouts, found, stack = self.splitting.layouts, set(outputs), list(outputs)
        while stack:
            node = stack.pop()
            for operand in () if self._is_given(node) else node.operands:
                if operand is not None and operand not in found and layouts[operand].axis is not None:
                    found.add(operand)
                    stack.append(operand)
        return sorted(found, key=lambda node: node.index)

    def _is_given(self, node: Expr) -> bool:
        """Return whether chunks take a node, which they do not compute."""
        return node.op is None or node in self.splitting.moved

    def _common(self, node: Expr) -> list[tuple[Expr, int | None]]:
        """The operands of a node of chunks that all chunks have in common, and the axis along which each takes a slice."""
        cuts = self.splitting.cuts(node)
        if all(cut is None for cut in cuts):  # repeated
            return [(o, None) for o in node.operands if o is not None]
        return [(o, aligned(node, cuts, place)) for place, o in enumerate(node.operands) if o is not None and cuts[place] is None]

    # -- plans ---------------------------------------------------------------------------------------------------------

    @property
    def lengths(self) -> list[int]:
        """The lengths of the axes that are cut."""
        return sorted(self.splitting.lengths)

    def chunk_plan(self, number: int, extents: Extents) -> Plan:
        """The plan of a stage for a chunk of so many entries along the cut. It takes the stage's inputs, and gives its outputs."""
        key = (number, *(extents[length] for length in self.lengths))
        found = self._plans.get(key)
        if found is None:
            found = self._plans[key] = self._chunk_plan(self.stages[number], extents)
        return found

    def _chunk_plan(self, stage: Stage, extents: Extents) -> Plan:
        graph = Graph(self.limits)
        layouts = self.splitting.layouts
        leaves: dict[tuple[Expr, int | None], Expr] = {}
        for given in stage.inputs:
            shape = _of_chunk(given.node.shape, given.axis, extents)
            leaves[given.node, given.axis] = graph.leaf(f"input {len(leaves)}", shape, given.node.kind)
        done: dict[Expr, Expr] = {}
        for node in self._of_chunks(stage.outputs):
            axis = layouts[node].axis
            if self._is_given(node):
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
                static = {**static, "shape": _of_chunk(node.shape, axis, extents)}
            assert node.op is not None
            done[node] = made = graph.apply(node.op, operands, static)
            assert made.shape == _of_chunk(node.shape, axis, extents), (node, made)
        return Plan(Nodes([done[node] for node in stage.outputs]), list(leaves.values()), self.precision, threads=1, calls=OFTEN)

    def common_plan(self, wanted: Sequence[Expr], known: Sequence[Expr]) -> Plan:
        """The plan for nodes that all chunks have in common, of others that are known."""
        key = (*(node.index for node in wanted), -1, *(node.index for node in known))
        found = self._plans.get(key)
        if found is None:
            graph = Graph(self.limits)
            leaves = [graph.leaf(f"known {place}", node.shape, node.kind) for place, node in enumerate(known)]
            nodes = rebuild(wanted, dict(zip(known, leaves, strict=True)), graph)
            found = self._plans[key] = Plan(Nodes(nodes), leaves, self.precision)
        return found

    def needed(self, wanted: Sequence[Expr], known: Collection[Expr]) -> list[Expr]:
        """Those of the known nodes that others are computed from."""
        found, stack = set(wanted), list(wanted)
        while stack:
            node = stack.pop()
            for operand in () if node in known else node.operands:
                if operand is not None and operand not in found:
                    found.add(operand)
                    stack.append(operand)
        return [node for node in known if node in found]

    def axis_of(self, node: Expr) -> int | None:
        """The axis along which a node is cut; None for what all chunks have in common."""
        return self.splitting.layouts[node].axis

    def numbered(self, numbers: Iterable[int]) -> list[Expr]:
        """Nodes by their index, which is the same in every process."""
        return [self._by_number[number] for number in numbers]

    @cached_property
    def _by_number(self) -> dict[int, Expr]:
        return {node.index: node for node in self.splitting.layouts}


def _of_chunk(shape: tuple[int, ...], axis: int | None, extents: Extents) -> tuple[int, ...]:
    """The shape of the part that a chunk has of an array which is cut along an axis."""
    return shape if axis is None else (*shape[:axis], extents[shape[axis]], *shape[axis + 1 :])
