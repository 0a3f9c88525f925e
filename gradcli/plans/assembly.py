"""Writing a schedule as a straight-line function of Python that calls NumPy, and compiling it.

A program that assumes all to be finite computes numbers as Python floats, whose operations raise
where NumPy gives infinities or NaN; whoever runs it goes another way when it raises.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np

from gradcli.graph.nodes import Expr
from gradcli.ops.calling.inputs import FLOAT
from gradcli.ops.elementwise import logic
from gradcli.ops.registry import find
from gradcli.plans.backend import over_threshold
from gradcli.plans.blocks import Step, Stretch, gather
from gradcli.plans.nests import Nest
from gradcli.plans.source import Source, is_ufunc, makes_new

if TYPE_CHECKING:
    from gradcli.plans.native.program import CompiledNest


Compiled = Callable[..., tuple[list[Any], list[Any]]]


def compile_source(source: Source) -> Compiled:
    """Compile the text to a function."""
    return np.errstate(all="ignore")(source.compile("program"))


def deliver(value: Any, out: Any) -> Any:
    """Return a result as an array that is used nowhere else."""
    if out is None:
        return np.array(value, order="C")
    np.copyto(out, value)
    return out


class Writer:
    """Writes one program.

    The steps are the roots' schedule; nests among them need their ``functions``. The program gives
    the roots' values and checks: numbers that are all finite if the results are, and none unless
    ``checked``.
    """

    def __init__(
        self,
        roots: Sequence[Expr],
        steps: Sequence[Step],
        precision: str,
        *,
        checked: bool,
        exact: bool = False,
        functions: Mapping[Nest, CompiledNest] = MappingProxyType({}),
    ) -> None:
        self.functions = functions
        self.stored: set[Expr] = set()  # what loops have written into arrays
        self.source = source = Source(precision, exact=exact)
        self.roots = list(roots)
        self.steps = steps
        self.checks = source.new("q") if checked else None
        # Python's floats and booleans, which only ufuncs accept in place of NumPy's.
        self.floats: set[Expr] = set()
        # Large arrays, by the step after which nobody reads them.
        self.ends = {
            place: [*filter(over_threshold, nodes)]
            for place, nodes in last_uses(steps, roots).items()
        }
        self.viewed: set[Any] = set()  # nodes whose memory another result may share
        for step in steps:
            for node in (
                step.nodes
                if isinstance(step, Stretch)
                else [step]
                if isinstance(step, Expr)
                else ()
            ):
                if not makes_new(node):
                    self.viewed.update(node.operands)

    def write(self, leaves: Sequence[Expr]) -> Source:
        """Return the text of a function of the leaves' values and of arrays that take results.

        The results are new arrays, or the given ones (contiguous, of the right dtype and shape).
        """
        source = self.source
        for leaf in leaves:
            source.names[leaf] = source.new("v")
        given = [source.new("o") for _ in self.roots]
        parameters = [source.names[leaf] for leaf in leaves] + [f"{out}=None" for out in given]
        source.add(f"def program({', '.join(parameters)}):", 0)
        if self.checks is not None:
            source.add(f"{self.checks} = []")
        if source.precision == "float64":
            for leaf in leaves:
                if not leaf.shape and leaf.kind == FLOAT:
                    source.add(f"{source.names[leaf]} = float({source.names[leaf]})")
                    self.floats.add(leaf)
        targets = dict(zip(reversed(self.roots), reversed(given), strict=True))
        for place, step in enumerate(self.steps):
            if isinstance(step, Nest):
                self._allocate(step.stored, targets)
                self._call(step)
            elif isinstance(step, Stretch):
                self._allocate([n for n in step.outputs if not step.nodes[n].found.fold], targets)
                self._blocks(step)
            else:
                self._operation(step, self.ends.get(place, ()))
            self._delete(place)
        self._return(given)
        return source

    def _allocate(self, stored: Collection[Expr], targets: dict[Expr, str]) -> None:
        source = self.source
        for node in stored:
            source.names[node] = name = source.new("v")
            made = source.array(node)
            source.add(
                f"{name} = {made}"
                if node not in targets
                else f"{name} = {made} if {targets[node]} is None else {targets[node]}"
            )
        self.stored.update(stored)

    def _call(self, nest: Nest) -> None:
        source = self.source
        inputs = [source.name(node) for node in nest.inputs]
        for node in nest.totals:
            source.names[node] = source.new("v")
        totals = "".join(f"{source.names[node]}, " for node in nest.totals)
        stored = ", ".join(source.names[node] for node in nest.stored)
        source.called.append(self.functions[nest].text)
        call = (
            f"{source.constant(self.functions[nest])}([{', '.join(inputs)}], [{stored}], "
            f"{self.checks})"
        )
        source.add(f"{totals}= {call}" if totals else call)

    def _operation(self, node: Expr, ended: Sequence[Expr]) -> None:
        """Write an operation.

        Its result goes into the memory of an operand that is read no more, if it fits.
        """
        source = self.source
        name = source.new("v")
        text = source.on_floats(node)
        if text is not None:
            self.floats.add(node)
        else:
            operands = ["None" if o is None else self._operand(node, o) for o in node.operands]
            text = self._reuse(node, source.call(node, operands), source.names, ended)
        source.names[node] = name
        source.add(f"{name} = {text}")

    def _reuse(
        self, node: Expr, text: str, names: Mapping[Expr, str], ended: Iterable[Expr]
    ) -> str:
        """Return an operation that writes into the memory of one of the arrays that end there."""
        for old in ended:
            alike = makes_new(old) and (old.shape, old.kind) == (node.shape, node.kind)
            if alike and old not in self.viewed and is_ufunc(node):
                return f"{text[:-1]}, out={names[old]})"
        return text

    def _blocks(self, stretch: Stretch) -> None:
        """Write a loop over blocks of slices i to j."""
        source = self.source
        names: dict[Expr, str] = {}
        totals: dict[Expr, tuple[str, str]] = {}
        for node in stretch.outputs:
            if fold := stretch.nodes[node].found.fold:
                totals[node] = source.new("p"), source.constant(find(fold).forward)
                source.add(f"{totals[node][0]} = []")
        length, step = stretch.length, stretch.step
        source.namespace["gather"] = gather
        source.add(f"for i in range(0, {length}, {step}):")
        source.add(f"j = min(i + {step}, {length})", 2)
        last = {o: n for n in stretch.nodes for o in n.given_operands if (n, o) in stretch.own}
        ends: dict[Expr, list[Expr]] = {}
        for old in (o for o in last if o not in stretch.outputs):
            ends.setdefault(last[old], []).append(old)
        for node, cut in stretch.nodes.items():
            operands = [
                "None" if o is None
                else names[o] if (node, o) in stretch.own
                else _slice(self._operand(node, o), axis)
                for o, axis in zip(node.operands, cut.axes, strict=True)
            ]  # fmt: skip
            axis = cut.found.axis
            changed = {}
            if "shape" in node.static:
                extents = ["j - i" if i == axis else str(n) for i, n in enumerate(node.shape)]
                changed = {"shape": f"({', '.join(extents)},)"}
            ended = ends.get(node, ())
            text = source.call(node, operands, **changed)
            names[node] = name = source.new("v")
            if node in totals:
                total, fold = totals[node]
                source.add(f"gather({total}, {text}, {fold}, i // {step} + 1)", 2)
            elif node in stretch.outputs:
                if node.op is logic.where and not node.operand.shape:
                    text = "{1} if {0} else {2}".format(*operands)
                source.add(f"{name} = {_slice(source.names[node], axis)}", 2)
                source.add(
                    f"{text[:-1]}, out={name})" if is_ufunc(node) else f"{name}[:] = {text}", 2
                )
                if self.checks is not None and node.kind == FLOAT:
                    source.add(f"{self.checks}.append(total({name}, None))", 2)
            else:
                source.add(f"{name} = {self._reuse(node, text, names, ended)}", 2)
            for old in ended:
                source.add(f"del {names[old]}", 2)
        for node, (total, fold) in totals.items():
            source.names[node] = name = source.new("v")
            source.add(f"{name} = {fold}.reduce({total})")

    def _operand(self, node: Expr, operand: Expr) -> str:
        name = self.source.name(operand)
        return (
            f"{self.source.scalar(operand.kind)}({name})"
            if operand in self.floats and not makes_new(node)
            else name
        )

    def _delete(self, place: int) -> None:
        """Let go of large arrays after their last use."""
        for node in self.ends.get(place, ()):
            if node.op is not None and node in self.source.names:
                self.source.add(f"del {self.source.names[node]}")

    def _return(self, given: Sequence[str]) -> None:
        source = self.source
        source.namespace |= {"delivered": deliver, "row_by_row": np.ascontiguousarray}
        if self.checks is not None:
            for root in dict.fromkeys(self.roots):
                if root.kind == FLOAT and root not in self.stored:
                    name = source.name(root)
                    source.add(
                        f"{self.checks}.append({f'total({name}, None)' if root.shape else name})"
                    )
        results = []
        seen: set[Expr] = set()
        for root, out in zip(self.roots, given, strict=True):
            name = source.name(root)
            if not root.shape:
                results.append(
                    source.number(root) if source.exact else f"{source.scalar(root.kind)}({name})"
                )
            elif root in seen or not (root in self.stored or makes_new(root)):
                results.append(f"delivered({name}, {out})")
            else:
                results.append(
                    name
                    if root in self.stored
                    else f"(row_by_row({name}) if {out} is None else delivered({name}, {out}))"
                )
            seen.add(root)
        source.add(f"return [{', '.join(results)}], {self.checks or '()'}")


def _slice(name: str, axis: int | None) -> str:
    """Write the block's slice of an array, or the whole array where it is not cut."""
    return name if axis is None else f"{name}[{':, ' * axis}i:j]"


def last_uses(steps: Sequence[Step], roots: Sequence[Expr]) -> dict[int, list[Expr]]:
    """Return the whole values that each step is the last one to read.

    Results are left out, because they are read to the end.
    """
    uses: dict[Expr, int] = {}
    for place, step in enumerate(steps):
        for operand in step.given_operands if isinstance(step, Expr) else step.inputs:
            uses[operand] = place
    for root in roots:
        uses.pop(root, None)
    ends: dict[int, list[Expr]] = {}
    for node, place in uses.items():
        ends.setdefault(place, []).append(node)
    return ends
