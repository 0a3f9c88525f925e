"""What names stand for where a result is read: the statements before it, run in order, as far as it depends on them."""

from __future__ import annotations

from typing import Any

import numpy as np

from gradcli.graph.nodes import Expr
from gradcli.language.frames import Frame
from gradcli.language.scope import Scope
from gradcli.language.tree import Binding, Definition, Expression, Name
from gradcli.reference.algebra import Algebra, Unsupported
from gradcli.reference.exact_values import exact_array
from gradcli.reference.reading.arrays import Arrays
from gradcli.reference.reading.expressions import Expressions
from gradcli.reference.scalars import plain

Array = np.ndarray


def frame_of(scope: Scope, root: Expr) -> int | None:
    """The place of the last expression whose result is a node, among those that were lowered; None where no text says it."""
    for place in range(len(scope.lowered) - 1, -1, -1):
        frame = scope.lowered[place]
        if _is_whole(frame) and (frame.coerced is root or frame.results[frame.expression.root.place] is root):
            return place
    return None


def _is_whole(frame: Frame) -> bool:
    """Whether an expression is a statement's, and was read to its end."""
    return not isinstance(frame.statement, Definition) and not frame.locals and len(frame.results) == len(frame.nodes)


class Statements:
    """The statements that one result depends on."""

    def __init__(self, scope: Scope, expressions: Expressions, arrays: Arrays, leaves: dict[Expr, Array]) -> None:
        self.scope, self.expressions, self.arrays, self.leaves = scope, expressions, arrays, leaves
        self.names: dict[str, Any] = {}  # what they mean in the text that follows
        self.subjects: dict[str, Any] = {}  # what they mean in results

    def result(self, place: int, wanted: list[str]) -> Any:
        """The value of the expression at a place; ``wanted`` are names whose values are asked for besides."""
        root = self.scope.lowered[place]
        before = [frame for frame in self.scope.lowered[:place] if _is_whole(frame) and isinstance(frame.statement, Binding)]
        last = {id(frame.statement): frame for frame in before}  # a statement that waited for values was run for each of these
        needed = self._needed([frame for frame in before if last[id(frame.statement)] is frame], root, wanted)
        self._hold(needed)
        for frame in needed:
            self._bind(frame)
        self._outside([*self._mentioned(root.expression), *wanted])
        return self.expressions.value(root, self.names)

    def _needed(self, frames: list[Frame], root: Frame, wanted: list[str]) -> list[Frame]:
        """The bindings that a result depends on, in order."""
        names = {*self._mentioned(root.expression), *wanted}
        needed = []
        for frame in reversed(frames):
            assert isinstance(frame.statement, Binding)
            if frame.statement.name in names:
                names |= self._mentioned(frame.expression)
                needed.append(frame)
        return needed[::-1]

    def _hold(self, needed: list[Frame]) -> None:
        """Raises Unsupported where a name's last binding here is not what it stands for: one that a value from outside has replaced."""
        bound = {frame.statement.name: frame.statement for frame in needed if isinstance(frame.statement, Binding)}
        for name, statement in bound.items():
            node = self.scope.names.get(name)
            if node is not None and self.scope.bindings.get(node, statement) is not statement:
                raise Unsupported(f"the name {name!r}, which is bound again")
            if name in self.scope.outside and node is self.scope.leaves.get(name) and node not in self.scope.bindings:
                raise Unsupported(f"the name {name!r}, which was given a value")

    def _mentioned(self, expression: Expression) -> set[str]:
        """The names in an expression, and in the program's functions that stand in it."""
        found: set[str] = set()
        pending, seen = [expression], set()
        while pending:
            for node in pending.pop().nodes:
                if type(node) is Name:
                    found.add(node.name)
                    definition = self.scope.functions.get(node.name)
                    if definition is not None and node.name not in seen:
                        seen.add(node.name)
                        pending.append(definition.expression)
        return found

    def _outside(self, names: Any) -> None:
        """Names whose values no statement has given."""
        for name in names:
            if name not in self.names and name in self.scope.names:
                leaf = self.scope.leaves.get(name)
                if leaf is None or leaf is not self.scope.names[name]:
                    raise Unsupported(f"the name {name!r}")
                self._take(name, leaf)

    def _given(self, name: str | None, written: Any, kept: Any) -> Any:
        """A name's numbers as they were given, where the program has them in other places. Other numbers are of a point that is tried."""
        given = self.scope.outside.get(name) if name is not None else written
        if given is None or np.ndim(given) == 0 or np.asarray(given).dtype.kind not in "fiub":
            return kept
        entries = np.asarray(given).astype(np.asarray(kept).dtype)
        if np.array_equal(entries, kept) or not np.array_equal(np.sort(entries.ravel()), np.sort(np.ravel(kept))):
            return kept
        return entries

    def _take(self, name: str, leaf: Expr, written: Any = None) -> None:
        kept = self.scope.values[leaf]
        given = self._given(name if written is None else None, written, kept)
        if leaf not in self.leaves or given is not kept:
            array = exact_array(self.arrays.m, given, leaf.kind)
            self.leaves[leaf] = Algebra.map(self.arrays.scalars.variable, array) if leaf.kind == "float" else array
        array = self.leaves[leaf]
        if leaf in self.scope.whole:
            self.arrays.whole_leaves[id(array)] = array
        self.names[name] = self.subjects[name] = array

    def _bind(self, frame: Frame) -> None:
        statement = frame.statement
        assert isinstance(statement, Binding)
        name = statement.name
        if statement.part is not None:
            raise Unsupported("several names at once")
        mentions = self._mentioned(frame.expression)
        self._outside(mentions - {name} if name in self.names else mentions)
        if not mentions & {*self.scope.names, *self.names} and name not in self.scope.objects:
            self._constant(name, frame)
            return
        value = self.expressions.value(frame, self.names)
        itself = name in mentions and name in self.names
        if isinstance(value, (list, float, int, bool, np.ndarray)):
            array = Algebra.map(self.expressions.named, self.arrays.of(value))
            value = Algebra.map(plain, array) if statement.const else array
            if not itself:
                self.subjects[name] = array
        self.names[name] = value

    def _constant(self, name: str, frame: Frame) -> None:
        """A name bound to what mentions none: the number that the program has for it, which is rounded."""
        leaf = self.scope.leaves.get(name)
        if leaf is None or leaf not in self.scope.values:
            raise Unsupported(f"the name {name!r}, which is bound anew")
        self._take(name, leaf, self._written(frame) if leaf.kind == "float" and leaf.shape else None)

    def _written(self, frame: Frame) -> Any:
        """The floats that a text without names says; None where it is not read."""
        try:
            array = self.arrays.of(self.expressions.value(frame, {}))
        except Unsupported:
            return None
        return np.array([float(plain(v)) for v in array.flat]).reshape(array.shape)
