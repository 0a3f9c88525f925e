"""The reference R from the text: the program's statements on the judge's tape of scalars, without the graph that was made of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, cast

import numpy as np

from gradcli.graph.interpret import interpret
from gradcli.graph.nodes import Expr
from gradcli.graph.transforms import Derivation, definition
from gradcli.language.scope import Scope
from gradcli.ops.elementwise.arithmetic import add
from gradcli.ops.structure import derivative
from gradcli.reference.algebra import OtherShapeError, Unsupported
from gradcli.reference.reading.arrays import Arrays
from gradcli.reference.reading.expressions import Expressions
from gradcli.reference.reading.statements import Statements, frame_of
from gradcli.reference.tape import ReferenceTape

Array = np.ndarray


class _Kind(NamedTuple):
    """What a derivative in the text is: all that the tape asks of a definition."""

    kind: str


class TreeTape(ReferenceTape):
    """The function as its text says it, on a tape of scalars."""

    def __init__(self, m: Any, leaves: Mapping[Expr, Any], precision: str, scope: Scope, wrt: Mapping[str, Expr]) -> None:
        super().__init__(m, leaves, precision)
        self.scope, self.wrt = scope, wrt
        self.arrays = Arrays(self.scalars, precision)
        self.expressions = Expressions(scope, self.arrays, self._derived, self._named)

    @property
    def called_composites(self) -> bool:
        """Whether references of functions made of operations were asked, which note no kinks."""
        return self.expressions.calls.composites

    def run(self, root: Expr, also: Sequence[Expr] = ()) -> Array:
        """The value of a result, read from its text; of a derivative of one (a mode of the command line), made of it.

        Raises `Unsupported` where there is no text of it, or something in it is not read.
        """
        order = self._above(root)
        for node in order:
            if node not in self.table:
                self._read(node)
        whole: Array = interpret([node for node in order if node.op in (derivative, add)], self, self.table)[root]
        if whole.shape != root.shape and (whole.size, int(np.prod(root.shape))) != (1, 1):
            raise OtherShapeError(f"the result has the shape {root.shape}, the text says {whole.shape}")
        return whole.reshape(root.shape)

    def _above(self, root: Expr) -> list[Expr]:
        """A result, or what derivatives are taken of that have no text of their own, down to those that have."""
        found: dict[Expr, None] = {}
        stack = [root]
        while stack:
            node = stack.pop()
            if node in found:
                continue
            found[node] = None
            if node not in self.table and node.op in (derivative, add) and frame_of(self.scope, node) is None:
                stack += definition(node)
        return sorted(found, key=lambda node: node.index)

    def _read(self, node: Expr) -> None:
        place = frame_of(self.scope, node)
        if place is None:
            if node.is_constant:
                self.table[node] = self.constant(node)
                return
            if node.op in (derivative, add):
                return
            raise Unsupported("a result that no text says")
        statements = Statements(self.scope, self.expressions, self.arrays, self.table)
        result = statements.result(place, [*self.wrt])
        for name, x in self.wrt.items():
            if self.scope.subject(name) is not x or name not in statements.subjects:
                raise Unsupported(f"the name {name!r}, by which is differentiated")
            self.table[x] = statements.subjects[name]
        self.table[node] = self.arrays.floats(self.arrays.of(result))

    def _derived(self, kind: str, y: Array, x: Array, vector: Any) -> Array:
        return self._inner(cast(Derivation, _Kind(kind)), y, x, vector)
