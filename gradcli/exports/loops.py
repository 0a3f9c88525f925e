"""Value and gradients as loops over entries, for languages whose expressions know numbers only: C, JavaScript.

The graph is read in index form (`plans.reading`): every entry as an expression of indices along named axes. What is used more than once,
what is summed, and what is long gets an array of its own, filled by a loop; all arrays are flat, in C order.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from gradcli.errors import UnsupportedInTargetError
from gradcli.exports.python import LONGEST, OPERATORS, Syntax, in_words, operator_text
from gradcli.exports.subject import Names, Subject, lacking, writable
from gradcli.graph.nodes import Expr, reachable
from gradcli.graph.sparsity import sources_of_entries, targets_of_entries
from gradcli.ops.spec import Op
from gradcli.ops.text import ATOM, BINDING, SUM, UNARY, Piece
from gradcli.plans.index_form import Axis, Item, Reader, fold_of

_LETTERS = "ijklmnpqrsuvw"
_CALL = re.compile(r"\bg_(\w+)")
_HEX = re.compile(r"\(\(real\)(-?)(0x[0-9a-f.]+p[-+]\d+|__builtin_inf\(\)|__builtin_nan\(\"\"\))\)")


def _moves(node: Expr, op: Op) -> bool:
    """Return whether an operation only moves entries, or adds them up where they go."""
    return sources_of_entries(node, op) is not None or targets_of_entries(node, op) is not None


class Loops:
    """The statements of one function, and the arrays that they declare, with their sizes."""

    def __init__(self, syntax: Syntax, functions: Mapping[str, str], subject: Subject, names: Names, leaves: Mapping[Expr, str]) -> None:
        self.syntax, self.functions, self.names, self.leaves = syntax, functions, names, leaves
        self.lines: list[str] = []
        self.arrays: list[tuple[str, int]] = []
        self._depth = 1
        self._letters: dict[Axis, str] = {}
        self.subject = subject
        self.order = reachable(subject.roots)
        self.reader = Reader(self.order, in_c=False, as_it_is=True)
        self.text: dict[Item, Piece] = {}
        self.stored: set[Item] = set()
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

    # -- lines -----------------------------------------------------------------------------------------------------

    def _add(self, line: str) -> None:
        self.lines.append("    " * self._depth + line)

    def _table(self, name: str, values: np.ndarray) -> str:
        """Write a table of numbers before everything else."""
        is_float = values.dtype.kind == "f"
        entries = ", ".join(self.syntax.number(float(v)) if is_float else str(int(v)) for v in values.ravel())
        self.lines.insert(0, "    " + self.syntax.table.format("double" if is_float else "int", name, entries))
        return name

    def _declare(self, name: str, size: int) -> None:
        self.arrays.append((name, size))
        self._add(self.syntax.array(name, size))

    def _index(self, axis: Axis) -> str:
        axis = axis.same
        if axis not in self._letters:
            round, n = divmod(len(self._letters), len(_LETTERS))
            letter = _LETTERS[n] + (str(round) if round else "")
            while letter in self.names.taken:
                letter += "_"
            self._letters[axis] = letter
        return self._letters[axis]

    def _open(self, axes: Sequence[Axis]) -> None:
        for axis in axes:
            self._add(self.syntax.loop.format(self._index(axis), axis.extent))
            self._depth += 1

    def _close(self, axes: Sequence[Axis]) -> None:
        for _ in axes:
            self._depth -= 1
            self._add("}")

    def _loop(self, index: str, extent: int, line: str) -> None:
        self._add(self.syntax.loop.format(index, extent))
        self._add("    " + line)
        self._add("}")

    def _fill(self, name: str, axes: Sequence[Axis], text: str) -> None:
        """Write loops over axes that give every entry of an array."""
        self._open(axes)
        self._add(f"{self._entry(name, axes)} = {text};")
        self._close(axes)

    def _entry(self, name: str, axes: Sequence[Axis]) -> str:
        return f"{name}[{_place([(self._index(axis), axis.extent) for axis in axes])}]"

    def _words(self, template: str) -> str:
        """C's text in the language: its functions by their names there, numbers in decimals."""

        def decimal(found: re.Match[str]) -> str:
            text = found[2]
            value = math.inf if "inf" in text else math.nan if "nan" in text else float.fromhex(text)
            return self.syntax.number(-value if found[1] else value).replace("{", "{{")

        text = _HEX.sub(decimal, template).replace("(real)", self.syntax.as_number)
        return _CALL.sub(lambda name: self.functions.get(name[1], name[1]), text)

    # -- results ---------------------------------------------------------------------------------------------------

    def result(self, node: Expr, pointer: str) -> None:
        """Fill an array that is handed in with a node's entries."""
        if not node.shape:
            self._add(f"{pointer}[0] = {self.value(node)[0]};")
        elif node in self.reader.views:
            self._spread(node, pointer, declared=True)
        else:
            index = self.names.new("k")
            name = self.array_of(node)
            self._loop(index, math.prod(node.shape), f"{pointer}[{index}] = {name}[{index}];")

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
        self._add(self.syntax.variable.format(total, self.syntax.number(0.0)))
        self._loop(index, math.prod(node.shape), f"{total} = {total} + {name}[{index}];")
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
            parts.append((self._index(part) if isinstance(part, Axis) else self.text[part].at(SUM + 1), extent))
        return Piece((f"{name}[{_place(parts)}]", ATOM))

    def array_of(self, node: Expr) -> str:
        """The flat array of a node's entries, in C order; the name of a number."""
        if node not in self.whole:
            if node.is_constant:
                self.whole[node] = self._table(self.names.new("c"), np.asarray(node.payload))
            elif node in self.reader.views:
                name = self.names.new()
                self._spread(node, name)
                self.whole[node] = name
            else:
                self.whole[node] = self._moved(node)
        return self.whole[node]

    def _moved(self, node: Expr) -> str:
        """Entries in other places: by a table of where each comes from, or of where each is added to."""
        op = node.op
        assert op is not None
        sources, targets = sources_of_entries(node, op), None
        zeros = np.arange(math.prod(node.shape))
        copies: list[tuple[Expr, np.ndarray, np.ndarray]] = []  # an operand, places of the result, and its own
        if sources is not None:
            begin, zeros = 1, np.flatnonzero(sources[0] == 0)
            for operand, size in zip([o for o in node.operands if o is not None], sources[1], strict=True):
                own = np.flatnonzero((sources[0] >= begin) & (sources[0] < begin + size))
                copies.append((operand, own, sources[0].ravel()[own] - begin))
                begin += size
        elif (targets := targets_of_entries(node, op)) is not None:
            taken = np.flatnonzero(targets)
            copies.append((node.operand, targets.ravel()[taken] - 1, taken))
        else:
            raise lacking(self.syntax.name, [op], self.subject)
        given = {o: f"{self.array_of(o)}[{{}}]" if o.shape else self.value(o)[0] for o, own, _ in copies if own.size}
        if not node.shape and targets is None:
            return next((given[o].format(own[0]) for o, _, own in copies if own.size), self.syntax.number(0.0))
        name = self.names.new()
        self._declare(name, math.prod(node.shape))
        self._copy(name, zeros, self.syntax.number(0.0))
        for operand, places, own in copies:
            if own.size:
                self._copy(name, places, given[operand], own, adds=targets is not None)
        return name if node.shape else f"{name}[0]"

    def _copy(self, name: str, places: np.ndarray, text: str, taken: np.ndarray | None = None, *, adds: bool = False) -> None:
        """Write a loop over places of an array: a number, or entries of another array by their numbers."""
        if not places.size:
            return
        index = self.names.new("k")
        text = text if taken is None else text.format(self._chosen(taken, index))
        put = f"{name}[{self._chosen(places, index)}]"
        line = f"{put} = {f'{put} + ' if adds else ''}{text};"
        if places.size > 1:
            self._loop(index, places.size, line)
        else:
            self._add(line)

    def _chosen(self, places: np.ndarray, index: str) -> str:
        """The index of an entry by its number: by a formula where the entries are evenly spaced, else by a table."""
        steps = np.unique(np.diff(places))
        if steps.size > 1:
            return f"{self._table(self.names.new('places'), places)}[{index}]"
        first, step = int(places[0]), int(steps[0]) if steps.size else 0
        spread = index if step == 1 else f"{step}*{index}"
        return str(first) if not step else f"{first} + {spread}" if first else spread

    def _spread(self, node: Expr, name: str, *, declared: bool = False) -> None:
        """An array of all entries of a node in its shape."""
        view = self.reader.views[node]
        item, text = view.item, self.text[view.item][0]
        if not node.shape:
            self._add(self.syntax.constant.format(name, text))
            return
        axes = [axis.same for axis in view.places if axis is not None]
        if not declared:
            self._declare(name, math.prod(node.shape))
        self._fill(name, axes, text)
        if axes and not declared and set(axes) == set(item.axes) and item.is_computed and item not in self.stored:
            self._keep(item, name, axes)

    def _keep(self, item: Item, name: str, axes: Sequence[Axis]) -> None:
        self.stored.add(item)
        self.text[item] = Piece((self._entry(name, axes) if axes else name, ATOM))

    def _name(self, item: Item) -> str:
        return self.names.of(self.labels[item]) if item in self.labels else self.names.new()

    def _store(self, item: Item) -> None:
        name = self._name(item)
        text = self.text[item][0]
        if item.axes:
            self._declare(name, item.size)
            self._fill(name, item.axes, text)
        else:
            self._add(self.syntax.constant.format(name, text))
        self._keep(item, name, item.axes)

    def _fold(self, item: Item) -> None:
        fold = fold_of(item)
        name = self._name(item)
        (operand,) = item.operands
        start = self._words(fold.start.replace("__builtin_inf()", "((real)__builtin_inf())"))
        start = self.syntax.number(float(start)) if start.lstrip("-").isdigit() else start
        axes, over, total = item.axes, item.over, name
        if axes:
            self._declare(name, item.size)
            self._open(axes)
            total = self.names.new("total")
        self._add(self.syntax.variable.format(total, start))
        self._open(over)
        joined = self._words(fold.joined).format(total, self.text[operand].at(BINDING["*"] + 1))
        self._add(f"{total} = {joined};")
        self._close(over)
        if axes:
            self._add(f"{self._entry(name, axes)} = {total};")
            self._close(axes)
        self._keep(item, name, axes)

    def _put(self, item: Item) -> Piece:
        value, place = item.operands
        condition = f"{self._index(item.over[0])} == {self.text[place].at(SUM)}"
        return Piece((f"{condition} ? {self.text[value][0]} : {self.syntax.number(0.0)}", 0))

    def _map(self, item: Item) -> Piece:
        op = item.op
        assert op is not None
        operands = [self.text[operand] for operand in item.operands]
        found = operator_text(op, operands)
        if found is not None:
            return found
        template = in_words(op, item.present, item.static)
        for place, operand in enumerate(operands):
            if template.count(f"{{{place}") > 1 and not re.fullmatch(r"\w+|\w+\[\w+\]", operand[0]):
                self._store(item.operands[place])
                operands[place] = self.text[item.operands[place]]
        if op.algebra == "choice":
            return Piece((f"{operands[0].at(SUM + 1)} ? {operands[1][0]} : {operands[2][0]}", 0))
        return Piece((self._words(template).format(*[_Inside(piece) for piece in operands]), ATOM))


def _place(parts: Sequence[tuple[str, int]]) -> str:
    """The flat index of entries by their indices and extents."""
    text = ""
    for place, (index, extent) in enumerate(parts):
        text = f"{f'({text})' if place > 1 else text}*{extent} + {index}" if text else index
    return text or "0"


class _Inside(Piece):
    """A piece within brackets or between commas of a template of C."""

    __slots__ = ()

    def __format__(self, wanted: str) -> str:
        return super().__format__(wanted) if wanted else (self[0] if self[1] == ATOM else f"({self[0]})")


# -- What is exported to languages without arrays: operations that loops can do, as far as the
# language has their functions.


def loopable(subject: Subject, target: str, known: Mapping[str, str]) -> Subject:
    """A subject of operations that loops can do. Raises UnsupportedInTargetError for others, or without the functions in a language."""

    def writes(op: Op, node: Expr, operands: Sequence[Any]) -> bool:
        if not op.elementwise:
            return op.axes is not None or _moves(node, op)
        if (op.text.sign in OPERATORS and op.algebra != "chain") or op.algebra == "choice":
            return True
        if node.kind == "int":
            return False
        text = in_words(op, [operand is not None for operand in operands], node.static)
        return bool(text) and all(name in known for name in _CALL.findall(text))

    if subject.precision != "float64":
        raise UnsupportedInTargetError(f"exports to {target} compute in float64", help="leave --dtype out")
    return writable(subject, target, writes)
