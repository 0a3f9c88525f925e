"""The calls of NumPy for a block of slices: operations on entries, reductions, products of matrices, and what is put into places."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from gradcli.graph.nodes import Expr
from gradcli.ops.axes import PRODUCT, SUM
from gradcli.ops.calling.inputs import BOOL, numpy_dtype
from gradcli.ops.elementwise import arithmetic, trigonometric
from gradcli.plans import sines
from gradcli.plans.blocks import Block
from gradcli.plans.index_form import Axis, Item, fold_of, shape_along
from gradcli.plans.nests import Nest
from gradcli.plans.source import Source


def write(source: Source, nest: Nest, checks: str | None, ending: Sequence[Expr], existing: Sequence[Expr]) -> None:
    """Write a nest, whose inputs have names in the source, as have the arrays of ``existing`` among what it stores. The memory of
    ``ending``, inputs that nobody reads after it, may take results."""
    writer = BlockWriter(source, nest, checks)
    writer.arrays(ending, existing)
    writer.operations()
    writer.function()
    for node in nest.totals:
        writer.total_of(node)


class BlockWriter(Block):
    """Writes the calls of one nest."""

    def operations(self) -> None:
        done: set[Item] = set()
        for place, item in enumerate(self.steps.order):
            if item in done:
                continue  # came with its partner
            done.add(item)
            if item.what == "read":
                self._read(item)
            elif item in self.steps.totals:
                self._total(item)
            elif item.what == "fold":
                self._fold(item, place)
            elif item in self.steps.puts:
                self._added(item, place)
            elif item.what == "put":
                self._put(item)
            elif _is_sine(item) and self._computes_sines(item):
                done.update(self._sine_and_cosine(item, place))
            else:
                self._map(item, place)
            self.release(item, place)
            self.store(item)

    def _call(self, function: Any) -> str:
        return self.source.constant(function)

    # -- what is read ---------------------------------------------------------------------------------------------

    def _read(self, item: Item) -> None:
        if item in self.steps.seen:  # a copy without gaps
            view = self.names[item]
            self.names[item] = self.held[item] = self.register(item)
            self.body.append(f"{self._call(np.copyto)}({self.names[item]}, {view})")
            return
        assert item.node is not None
        parts = [part.same if isinstance(part, Axis) else part for part in item.parts]
        name = self.source.name(item.node)
        shape = tuple(n if isinstance(part, Item) else m for part, n, m in zip(parts, item.node.shape, shape_along(parts), strict=True))
        if shape != item.node.shape:
            name += f".reshape({shape})"
        if self.nest.outer in parts:
            name = self.slices(name, parts.index(self.nest.outer), item.node, parts)
        places = ["0" if p is None else self.count(p) if isinstance(p, Axis) else self.name(p) for p in parts]
        self.result(item, f"{name}[{', '.join(places)}]")

    def _places(self, axes: Iterable[Axis], along: Axis, index: str) -> str:
        """Indices of all entries of an array with those axes; along one of them, those that an item says."""
        present = set(axes)
        return ", ".join(index if axis is along else self.count(axis) if axis in present else "0" for axis in self.frame.axes)

    # -- entries --------------------------------------------------------------------------------------------------

    def _map(self, item: Item, place: int) -> None:
        assert item.op is not None
        names = [self.name(operand) for operand in item.operands]
        if sum(item.present) == len(names):
            given = iter(names)
            names = [next(given) if there else "None" for there in item.present]
        self.release(item, place)
        if isinstance(item.op.forward, np.ufunc) and not item.static and (target := self.target(item)) is not None:
            self.body.append(self.source.applied(item.op, item.static, item.kind, names, target))
        else:
            self.result(item, self.source.applied(item.op, item.static, item.kind, names))

    def _computes_sines(self, item: Item) -> bool:
        return self.source.assume_finite and self.source.precision == "float64" and self.steps.varies(item)

    def _sine_and_cosine(self, item: Item, place: int) -> list[Item]:
        """Both, if both are wanted."""
        angle = self.steps.one(item.operands[0])
        pair = {o.op: o for o in self.steps.order if _is_sine(o) and self.steps.one(o.operands[0]) is angle}
        targets = [str(self.target(pair[op])) if op in pair else "None" for op in (trigonometric.sin, trigonometric.cos)]
        scratch = [self.register(item) for _ in range(sines.SCRATCH)]
        self.body.append(f"{self._call(sines.way())}({', '.join([self.name(angle), *targets, *scratch])})")
        self.free[self.key(item)] += scratch
        later = [i for i, o in enumerate(self.steps.order) if i > place and o not in pair.values() and angle in self.steps.needs(o)]
        self.steps.last_use[angle] = max(later, default=place)  # the partner, which comes later in the order, has read it now
        others = [other for other in pair.values() if other is not item]
        for other in others:
            self.store(other)
        return others

    # -- sums -----------------------------------------------------------------------------------------------------

    def _reduced(self, item: Item) -> str:
        """The beginning of a call that folds an item's operand."""
        dtype = "dtype" if item.kind == BOOL and item.fold in (SUM, PRODUCT) else "None"
        axes = "None" if item in self.steps.totals and not item.axes else str(self.frame.dims(item.over))
        return f"{self._call(fold_of(item).ufunc)}.reduce({self.name(item.operands[0])}, {axes}, {dtype}"

    def _factors(self, item: Item) -> str:
        product = self.steps.products[item]
        return product.factors(self.frame, self.name(product.x), self.name(product.y))

    def _multiplied(self, item: Item) -> str:
        return f"{self._call(np.matmul)}({self._factors(item)}).reshape({self.frame.shape(item.axes)})"

    def _fold(self, item: Item, place: int) -> None:
        if item not in self.steps.products:
            text = self._reduced(item)
            self.release(item, place)
            target = self.target(item)
            if target is None:
                self.result(item, f"{text}, None, True)")
            else:
                self.body.append(f"{text}, {target}, True)")
        elif self.steps.varies(item) and item not in self.steps.stored:
            factors = self._factors(item)
            target = self.target(item)
            assert target is not None
            self.body.append(f"{self._call(np.matmul)}({factors}, {self.steps.products[item].result(self.frame, target)})")
        else:
            self.result(item, self._multiplied(item))

    def _total(self, item: Item) -> None:
        """What blocks add up to: a list of numbers, or an array."""
        if not item.axes:
            self.names[item] = name = self.source.new("p")
            self.lists.append(name)
            self.body.append(f"{name}.append({self._reduced(item)}))")
            return
        self.names[item] = name = self.source.new("s")
        self.sums.append(name)
        part, fold = self.source.new("t"), self._call(fold_of(item).ufunc)
        self.body.append(f"{part} = {self._multiplied(item) if item in self.steps.products else f'{self._reduced(item)}, None, True)'}")
        self.body.append(f"{name} = {part} if {name} is None else {fold}({name}, {part}, out={name})")

    def total_of(self, node: Expr) -> None:
        """The value of a node that is a total, when all blocks are done."""
        source, view = self.source, self.nest.totals[node]
        item, name = view.item, self.names[view.item]
        source.names[node] = value = source.new("v")
        fold = self._call(fold_of(item).ufunc)
        if item.axes:
            source.add(f"{value} = {self.frame.back(f'{self._call(_joined)}({fold}, {name})', item.axes, view.places, node.shape)}")
        else:
            source.add(f"{value} = {fold}.reduce({name}, None, {source.constant(numpy_dtype(item.kind, source.precision))})")
            if node.shape:
                source.add(f"{value} = {value}.reshape({node.shape})")

    # -- what is put into places ----------------------------------------------------------------------------------

    def _put(self, item: Item) -> None:
        value, index = map(self.name, item.operands)
        if item.over[0] is self.nest.outer:
            zero = self.source.constant(np.zeros((), numpy_dtype(item.kind, self.source.precision)))
            self.result(item, f"{self._call(np.where)}({self.count(item.over[0])} + i == {index}, {value}, {zero})")
            return
        target = self.target(item) or self._array(item)
        self.lines(item).append(f"{target}[...] = 0")
        self.lines(item).append(f"{target}[{self._places(item.axes, item.over[0], index)}] = {value}")

    def _array(self, item: Item) -> str:
        self.names[item] = name = self.source.new("t")
        dtype = self.source.constant(numpy_dtype(item.kind, self.source.precision))
        self.ahead.append(f"{name} = empty({self.frame.shape(item.axes)}, {dtype})")
        return name

    def _added(self, item: Item, place: int) -> None:
        """Something with a value added, or taken off, where it is put: without an array of zeros."""
        one, put = self.steps.puts[item]
        one = self.steps.one(one)
        value, index = map(self.name, put.operands)
        old = self.name(one)
        if one in self.held and self.steps.last_use[one] == place and self.key(one) == self.key(item) and item not in self.steps.stored:
            self.names[item] = target = self.held[item] = self.held.pop(one)
        else:
            target = self.target(item) or self._array(item)
        lines = self.lines(item)
        sign = "+" if item.op is arithmetic.add or item.operands[0] is put else "-"
        if item.op is arithmetic.sub and sign == "+":
            lines.append(f"{self._call(np.negative)}({old}, {target})")
        elif target != old:
            lines.append(f"{self._call(np.copyto)}({target}, {old})")
        lines.append(f"{target}[{self._places(item.axes, put.over[0], index)}] {sign}= {value}")


def _joined(fold: Any, parts: list[Any]) -> Any:
    """Totals of all threads' parts, in order."""
    return functools.reduce(fold, parts)


def _is_sine(item: Item) -> bool:
    return item.op in (trigonometric.sin, trigonometric.cos)
