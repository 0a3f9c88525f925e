"""Value and gradients as loops over entries, for languages whose expressions know numbers only: C, JavaScript.

The graph is read in index form (`plans.reading`): every entry as an expression of indices along named axes. What is used more than once,
what is summed, and what is long gets an array of its own, filled by a loop; all arrays are flat, in C order.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence

import numpy as np

from gradcli.exports.index_form import IndexForm, moves
from gradcli.exports.loop_lines import LoopLines
from gradcli.exports.naming import Names
from gradcli.exports.statements import LONGEST, OPERATORS
from gradcli.exports.subject import Subject, lacking
from gradcli.exports.syntax import Syntax, in_words
from gradcli.graph.nodes import Expr, reachable
from gradcli.ops.text import ATOM, BINDING, SUM, UNARY, Piece
from gradcli.plans.axes import Axis, Item, fold_of


class Loops:
    """The statements of one function."""

    def __init__(self, syntax: Syntax, functions: Mapping[str, str], subject: Subject, names: Names, leaves: Mapping[Expr, str]) -> None:
        self.syntax, self.names, self.leaves = syntax, names, leaves
        self.out = LoopLines(syntax, functions, names)
        self.subject = subject
        self.order = reachable(subject.roots)
        self.reader = IndexForm(self.order)
        self.text: dict[Item, Piece] = {}
        self.stored: dict[Item, tuple[str, tuple[Axis, ...]]] = {}
        self.whole: dict[Expr, str] = dict(leaves)
        views = self.reader.views
        self.labels = {views[node].item: name for node, name in subject.labels.items() if node in views}
        self.uses = self._count()

    def _count(self) -> Counter[Item]:
        uses: Counter[Item] = Counter()
        for items in self.reader.made.values():
            for item in items:
                uses.update(item.needs)
        read = {item.node for items in self.reader.made.values() for item in items if item.what == "read"}
        for node, view in self.reader.views.items():
            if node in read:
                uses[view.item] += 2
        return uses

    # -- results ---------------------------------------------------------------------------------------------------

    def result(self, node: Expr, pointer: str) -> None:
        """Fill an array that is handed in with a node's entries."""
        if not node.shape:
            self.out.add(self.syntax.assigned(self.syntax.entry(pointer, "0"), self.value(node)[0]))
            return
        if node in self.reader.views:
            self._spread(node, pointer, declared=True)
            return
        size, index = math.prod(node.shape), self.names.new("k")
        name = self.array_of(node)
        place = self.out.place([(index, size)])
        self.out.loop(index, size, self.syntax.assigned(self.syntax.entry(pointer, place), self.syntax.entry(name, place)))

    def value(self, node: Expr) -> Piece:
        """A number, as an expression."""
        if node in self.leaves:
            return Piece((self.leaves[node], ATOM))
        if node.is_constant:
            return self.number(node)
        if node in self.reader.views:
            return self.text[self.reader.views[node].item]
        return Piece((self.array_of(node), ATOM))

    def total(self, node: Expr) -> str:
        """The sum of a node's entries, as an expression."""
        if not node.shape:
            return self.value(node)[0]
        name, total, index = self.array_of(node), self.names.new("total"), self.names.new("k")
        size = math.prod(node.shape)
        self.out.add(self.syntax.variable(total, self.syntax.number(0.0)))
        entry = self.syntax.entry(name, self.out.place([(index, size)]))
        self.out.loop(index, size, self.syntax.assigned(total, f"{total} + {entry}"))
        return total

    # -- items -----------------------------------------------------------------------------------------------------

    def write(self) -> None:
        for node in self.order:
            for item in self.reader.made.get(node, ()):
                self._item(item)

    def _item(self, item: Item) -> None:
        if item.what == "number":
            assert item.node is not None
            self.text[item] = self.number(item.node)
        elif item.what == "read":
            self.text[item] = self._read(item)
        elif item.what == "fold":
            self._fold(item)
        else:
            piece = self._map(item) if item.what == "map" else self._put(item)
            self.text[item] = piece
            if self.uses[item] > 1 or item in self.labels or len(piece[0]) > LONGEST:
                self._store(item)

    def number(self, node: Expr) -> Piece:
        value = node.payload
        value = value.item() if isinstance(value, (np.ndarray, np.generic)) else value
        if isinstance(value, bool):
            return Piece(("1" if value else "0", ATOM))
        number = float(value)
        return Piece((self.syntax.number(number), UNARY if math.copysign(1, number) < 0 else ATOM))

    def _read(self, item: Item) -> Piece:
        node = item.node
        assert node is not None
        name = self.array_of(node)
        if not node.shape:
            return Piece((name, ATOM))
        parts = []
        for part, extent in zip(item.parts, node.shape, strict=True):
            if part is None:
                continue
            parts.append((self.out.index(part) if isinstance(part, Axis) else self.text[part].at(SUM + 1), extent))
        return Piece((self.syntax.entry(name, self.out.place(parts)), ATOM))

    def array_of(self, node: Expr) -> str:
        """The flat array of a node's entries, in C order; the name of a number."""
        if node in self.whole:
            return self.whole[node]
        if node.is_constant:
            name = self.names.new("c")
            self.out.table(name, np.asarray(node.payload))
            self.whole[node] = name
            return name
        if node in self.reader.views:
            name = self.names.new()
            self._spread(node, name)
            self.whole[node] = name
            return name
        name = self._moved(node)
        self.whole[node] = name
        return name

    def _moved(self, node: Expr) -> str:
        """Entries in other places: by a table of where each comes from."""
        op = node.op
        assert op is not None
        table = moves(node)
        if table is None:
            raise lacking(self.syntax.name, [op], self.subject)
        places, adds = table
        entry = self.array_of(node.operand) if node.operand.shape else self.value(node.operand)[0]
        name = self.names.new()
        size = math.prod(node.shape)
        index = self.names.new("k")
        if not adds:
            if not node.shape:
                first = str(int(places[0]))
                self.out.add(self.syntax.scalar(name, self.syntax.entry(entry, first) if node.operand.shape else entry))
                return name
            self.out.array(name, size)
            taken = self._chosen(places, index)
            read = self.syntax.entry(entry, taken) if node.operand.shape else entry
            self.out.loop(index, size, self.syntax.assigned(self.syntax.entry(name, self.out.place([(index, size)])), read))
            return name
        self.out.array(name, size)
        self.out.loop(index, size, self.syntax.assigned(self.syntax.entry(name, self.out.place([(index, size)])), self.syntax.number(0.0)))
        count = len(places)
        put = self.syntax.entry(name, self._chosen(places, index))
        read = self.syntax.entry(entry, self.out.place([(index, count)])) if node.operand.shape else entry
        self.out.loop(index, count, self.syntax.assigned(put, f"{put} + {read}"))
        return name

    def _chosen(self, places: np.ndarray, index: str) -> str:
        """The index of an entry by its number: by a formula where the entries are evenly spaced, else by a table."""
        first = int(places[0]) if len(places) else 0
        steps = np.diff(places)
        if len(places) < 2 or (steps == steps[0]).all():
            step = int(steps[0]) if len(places) > 1 else 0
            spread = index if step == 1 else f"{step}*{index}"
            return str(first) if not step else f"{first} + {spread}" if first else spread
        name = self.names.new("places")
        self.out.table(name, places)
        return self.syntax.entry(name, self.out.place([(index, len(places))]))

    def _spread(self, node: Expr, name: str, *, declared: bool = False) -> None:
        """An array of all entries of a node in its shape."""
        view = self.reader.views[node]
        places = [None if axis is None else axis.same for axis in view.places]
        axes = [axis for axis in places if axis is not None]
        piece = self.text[view.item]
        if not node.shape:
            self.out.add(self.syntax.scalar(name, piece[0]))
            return
        if not declared:
            self.out.array(name, math.prod(node.shape))
        self.out.opened(axes)
        index = self.out.place([(self.out.index(axis), axis.extent) for axis in axes])
        self.out.add(self.syntax.assigned(self.syntax.entry(name, index), piece[0]))
        self.out.closed(axes)
        if not declared and set(axes) == set(view.item.axes) and view.item.is_computed and view.item not in self.stored:
            self._keep(view.item, name, axes)

    def _keep(self, item: Item, name: str, axes: Sequence[Axis]) -> None:
        self.stored[item] = (name, tuple(axes))
        parts = [(self.out.index(axis), axis.extent) for axis in axes]
        self.text[item] = Piece((self.syntax.entry(name, self.out.place(parts)) if axes else name, ATOM))

    def _name(self, item: Item) -> str:
        return self.names.of(self.labels[item]) if item in self.labels else self.names.new()

    def _store(self, item: Item) -> None:
        name = self._name(item)
        text = self.text[item][0]
        axes = item.axes
        if not axes:
            self.out.add(self.syntax.scalar(name, text))
        else:
            self.out.array(name, item.size)
            self.out.opened(axes)
            place = self.out.place([(self.out.index(axis), axis.extent) for axis in axes])
            self.out.add(self.syntax.assigned(self.syntax.entry(name, place), text))
            self.out.closed(axes)
        self._keep(item, name, axes)

    def _fold(self, item: Item) -> None:
        fold = fold_of(item)
        name = self._name(item)
        (operand,) = item.operands
        start = self.out.words(fold.start.replace("__builtin_inf()", "((real)__builtin_inf())"))
        start = self.syntax.number(float(start)) if start.lstrip("-").isdigit() else start
        axes, over = item.axes, item.over
        if not axes:
            self.out.add(self.syntax.variable(name, start))
            total = name
        else:
            self.out.array(name, item.size)
            self.out.opened(axes)
            total = self.names.new("total")
            self.out.add(self.syntax.variable(total, start))
        self.out.opened(over)
        joined = self.out.words(fold.joined).format(total, self.text[operand].at(BINDING["*"] + 1))
        self.out.add(self.syntax.assigned(total, joined))
        self.out.closed(over)
        if axes:
            place = self.out.place([(self.out.index(axis), axis.extent) for axis in axes])
            self.out.add(self.syntax.assigned(self.syntax.entry(name, place), total))
            self.out.closed(axes)
        self._keep(item, name, axes)

    def _put(self, item: Item) -> Piece:
        value, place = item.operands
        condition = f"{self.out.index(item.over[0])} == {self.text[place].at(SUM)}"
        return Piece((self.syntax.choice(condition, self.text[value][0], self.syntax.number(0.0)), 0))

    def _map(self, item: Item) -> Piece:
        op = item.op
        assert op is not None
        operands = [self.text[operand] for operand in item.operands]
        sign = op.text.infix
        if sign in OPERATORS and op.rewriting.algebra != "chain" and len(operands) == 2:
            binding = BINDING[sign]
            return Piece((f"{operands[0].at(binding + (binding < SUM))} {sign} {operands[1].at(binding + 1)}", binding))
        if op.text.prefix == "-":
            return Piece((f"-{operands[0].at(UNARY + 1)}", UNARY))
        template = in_words(op, item.present, item.static)
        for place, operand in enumerate(operands):
            if template.count(f"{{{place}") > 1 and not re.fullmatch(r"\w+|\w+\[\w+\]", operand[0]):
                self._store(item.operands[place])
                operands[place] = self.text[item.operands[place]]
        if op.rewriting.algebra == "choice":
            return Piece((self.syntax.choice(operands[0].at(SUM + 1), operands[1][0], operands[2][0]), 0))
        text = self.out.words(template)
        return Piece((text.format(*[_Inside(piece) for piece in operands]), ATOM))


class _Inside(Piece):
    """A piece within brackets or between commas of a template of C."""

    __slots__ = ()

    def __format__(self, wanted: str) -> str:
        return super().__format__(wanted) if wanted else (self[0] if self[1] == ATOM else f"({self[0]})")
