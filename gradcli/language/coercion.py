"""Results of lowering as nodes of the graph, or as parameters of the program.

Parameters are numbers, flags and indices.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from gradcli.errors import ArgumentError, LimitError, ShapeError, TypeMismatchError
from gradcli.graph.nodes import Expr, reachable
from gradcli.language.calls import missing_value
from gradcli.language.names import FreeVariable, Thing, dtype_of, kind_in_words, nodes_in
from gradcli.language.scope import MASK, QUANTITY, WHOLE, Builder, Range, Scope, StaticUse
from gradcli.language.tree import Slice, Subscript
from gradcli.ops import structure
from gradcli.ops.arrays import gathering_and_scattering, shapes
from gradcli.ops.calling.binding import Use, is_quantity
from gradcli.ops.calling.prefixes import PRECISIONS, DType
from gradcli.ops.spec import Op


class Coercion:
    """Takes results for what a call, an index or an operator wants of them."""

    def __init__(self, scope: Scope) -> None:
        self.scope = scope
        self.graph = scope.graph
        # Those of the last expression and of the names that it mentions.
        self.static_uses: dict[StaticUse, None] = {}

    def value(self, result: Any, depth: int = 0) -> Expr:
        """Convert a result to a node.

        Numbers stay as they are, and lists become arrays along a new first axis.

        Raises MissingValueError (or AmbiguousError) for a name without a value, TypeMismatchError
        for anything else, ShapeError where the entries of a list differ in shape, LimitError for
        lists nested too deep.
        """
        if isinstance(result, Expr):
            return result
        if isinstance(result, list):
            return self._array(result, depth)
        if isinstance(result, FreeVariable):
            raise missing_value(self.scope, result)
        if isinstance(result, (bool, int, float)):
            return self.graph.constant(result)
        help = (
            "write [x, y] for an array; a comma is never a decimal point"
            if isinstance(result, tuple) and not isinstance(result, DType)
            else None
        )
        raise TypeMismatchError(
            f"{kind_in_words(result)} where a number or an array is wanted", help=help
        )

    def operand(self, result: Any, of: Use) -> Expr:
        """Return what stands for an operand: any value."""
        return self.value(result)

    def whole(self, result: Any, of: Use | None = None) -> Expr:
        """Convert a result to whole numbers that address entries.

        This is a static use of the names in it. Raises as `value` does.
        """
        node = self.value(result)
        self._note_use(node, WHOLE, _place(of))
        whole: Expr = self.graph.whole(node)
        return whole

    def _note_use(self, node: Expr, kind: str, place: str) -> None:
        """Note that the values of leaves are taken here."""
        for part in reachable([node]):
            if part.is_leaf:
                self.static_uses[StaticUse(part, MASK if node.kind == "bool" else kind, place)] = (
                    None
                )

    def _array(self, items: list[Any], depth: int) -> Expr:
        if depth >= self.scope.limits.dimensions:
            raise LimitError(f"an array nested more than {self.scope.limits.dimensions} deep")
        nodes = [self.value(item, depth + 1) for item in items]
        if not nodes:
            return self.graph.constant(np.zeros(0))
        if all(node.is_constant for node in nodes):
            payloads = [node.payload for node in nodes]
            if len({np.shape(p) for p in payloads}) == 1:
                return self.graph.constant(np.array(payloads))
        rows: Expr = self.call_op(shapes.stack, nodes, {"axis": 0})
        return rows

    def static(self, result: Any, of: Use | str | None = None) -> Any:
        """Convert a result to a parameter of the program, which is not differentiated.

        Parameters are integers, tuples, strings and index arrays.

        Entries that are whole by construction become integers. Raises as `value` does,
        EvaluationError where the value cannot be computed, and LimitError for whole numbers beyond
        2**53, which floats do not tell apart.
        """
        kind = QUANTITY if isinstance(of, tuple) and is_quantity(of[0], of[2]) else WHOLE
        return self._static(result, kind, _place(of))

    def _static(self, result: Any, kind: str, place: str | None, depth: int = 0) -> Any:
        if isinstance(result, (tuple, list)):
            if depth >= self.scope.limits.dimensions:
                raise LimitError(f"nested more than {self.scope.limits.dimensions} deep")
            parts = [self._static(part, kind, place, depth + 1) for part in result]
            return tuple(parts) if isinstance(result, tuple) else parts
        if isinstance(result, FreeVariable):
            raise missing_value(self.scope, result)
        if isinstance(result, Expr):
            return self._static_value(result, kind, place)
        if result is None or isinstance(result, (str, bool, int, float, DType)):
            return result
        raise TypeMismatchError(f"{kind_in_words(result)} cannot be used here")

    def _static_value(self, node: Expr, kind: str, place: str | None) -> Any:
        if node.is_constant:
            if not isinstance(node.payload, np.ndarray):
                return node.payload
        elif place is not None:
            self._note_use(node, kind, place)
        if node.kind == "bool":
            self.scope.masks.append(node)
            array = np.asarray(self.scope.evaluate(node))
            return array if array.ndim else bool(array)
        raw = np.asarray(self.scope.evaluate(node))
        if node.kind == "int" or self.is_integral(node):
            if np.all(np.abs(raw) <= 2**53):
                raw = raw.astype(np.int64)
            elif kind != QUANTITY:  # a quantity may be infinite, too
                if not np.all(np.isfinite(raw)):
                    raise ArgumentError("a whole number is wanted here, not one that is not finite")
                raise LimitError(
                    "a whole number beyond 2**53 cannot be an index, a shape or an axis"
                )
        return raw if raw.ndim else raw.item()

    def is_integral(self, node: Expr) -> bool:
        return node.kind == "int" or self.scope.is_integral(node)

    def is_axis(self, result: Any) -> bool:
        """Return whether an argument that may be an axis is one."""
        if isinstance(result, Expr):
            return not result.shape and result.kind != "bool" and self.is_integral(result)
        return result is None or isinstance(result, (tuple, list))

    def is_whole(self, result: Any) -> bool:
        """Return whether an argument is a whole number, or an array of them."""
        return self.is_integral(self.value(result))

    def flag(self, result: Any, place: str) -> bool:
        value = self.static(result, place)
        if value is not None and not isinstance(value, (bool, int, np.bool_)):
            raise ArgumentError(f"{place} must be True or False, not {kind_in_words(value)}")
        return bool(value)

    def integer(self, result: Any, place: str = "an index") -> int:
        value = self.static(result, place)
        if isinstance(value, bool) or not isinstance(value, (int, np.integer)):
            raise ArgumentError(f"a whole number is wanted here, not {value!r}")
        return int(value)

    def number(self, result: Any, place: str | None) -> float:
        """Return a number known beforehand, which decides what entries there are.

        Without a place, it is the number of an operand.
        """
        value = self._static(result, MASK, place)
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            raise ArgumentError(
                f"a number known beforehand is wanted here, not {kind_in_words(value)}"
            )
        return value

    def literal(self, parameter: str, argument: Any) -> Any:
        """Return what was written for a parameter that is not read.

        It is a plain value where possible, and None for the program's own precision.
        """
        if parameter == "dtype":
            kind = dtype_of(argument)
            usual = kind is not None and PRECISIONS.get(kind.name) == self.scope.precision
            return None if usual else kind or argument
        if (
            isinstance(argument, Expr)
            and argument.is_constant
            and not isinstance(argument.payload, np.ndarray)
        ):
            return argument.payload
        return argument

    def varies(self, argument: Any) -> bool:
        """Return whether an argument in the place of a number depends on a name."""
        return any(part.is_leaf for part in reachable([*nodes_in(argument)]))

    def call_op(self, op: Op, operands: list[Any], static: dict[str, Any]) -> Any:
        """Apply an operation to nodes.

        Several results are given as a tuple.
        """
        node = self.graph.apply(op, operands, {**op.static, **static})
        if op.outputs == 1:
            return node
        return tuple(structure.output(node, place=i) for i in range(op.outputs))


def _place(of: Use | str | None) -> str:
    """Return what an argument is, in words."""
    return f"'{of[2]}' of {of[1]}" if isinstance(of, tuple) else of or "an index"


# -- Subscripts: indices, slices and masks become static parameters of the program, but for what the
# order of entries has chosen.


def subscript(builder: Builder, node: Subscript, results: list[Any]) -> Any:
    """Return ``base[items]``.

    An array is indexed as in NumPy, with its shapes. A tuple gives one entry, or a slice of it.

    Raises ShapeError for an index out of bounds and for too many indices, TypeMismatchError for
    anything that is no index, ArgumentError for a step of 0.
    """
    base = results[node.base.place]
    items = [
        _range(item, results) if isinstance(item, Slice) else results[item.place]
        for item in node.items
    ]
    if isinstance(base, Thing):
        return base.subscript(builder, items)
    if isinstance(base, tuple):
        return _of_tuple(builder, base, items)
    value = builder.value(base)
    if len(items) == 1 and value.shape and _is_chosen(items[0]):
        return gathering_and_scattering.take(value, items[0], axis=0)
    try:
        return shapes.getitem(value, index=index_of(builder, items))
    except ShapeError as error:
        text = str(error.message).replace(
            "too many indices for array: array is", "too many indices: the array is"
        )
        raise ShapeError(text) from None


def _is_chosen(item: Any) -> bool:
    """Tell whether an operation has chosen an index.

    Near a tie the operation chooses otherwise, so the index has to stay in the graph.
    """
    if not isinstance(item, Expr) or item.kind != "int":
        return False
    return any(
        node.kind == "int" and node.op is not None and node.op.kinks for node in reachable([item])
    )


def _of_tuple(builder: Builder, base: tuple[Any, ...], items: list[Any]) -> Any:
    if len(items) == 1 and isinstance(items[0], Range):
        return base[slice(*_slice(builder, items[0]))]
    index = builder.integer(items[0])
    if len(items) > 1 or not -len(base) <= index < len(base):
        raise ShapeError(f"a tuple of {len(base)} has no entry {index}")
    return base[index]


def index_of(builder: Builder, items: list[Any]) -> tuple[Any, ...]:
    """Return the items between brackets as a static index.

    Its parts are whole numbers, slices as tuples, arrays, None and ``...``.
    """
    parts = list(items[0]) if len(items) == 1 and isinstance(items[0], tuple) else items
    return tuple(
        _slice(builder, part) if isinstance(part, Range) else _index(builder, part)
        for part in parts
    )


def _range(node: Slice, results: list[Any]) -> Range:
    parts: list[Any] = [None if p is None else results[p.place] for p in node.parts]
    start, stop, step = (*parts, None)[:3]
    return Range(start, stop, step, node.span)


def _slice(builder: Builder, given: Range) -> tuple[int | None, ...]:
    parts = [
        None if p is None else builder.integer(p) for p in (given.start, given.stop, given.step)
    ]
    if parts[2] == 0:
        raise ArgumentError("the step of a slice cannot be 0").at(given.span)
    return tuple(parts)


def _index(builder: Builder, part: Any) -> Any:
    if part is None or part is ...:
        return part
    value = builder.static(builder.value(part) if isinstance(part, list) and part else part)
    if isinstance(value, bool):
        return shapes.StaticArray(np.asarray(value))
    if isinstance(value, int):
        return value
    array = np.asarray(value)
    if array.size == 0 and array.dtype.kind == "f":
        array = array.astype(np.int64)
    if array.dtype.kind not in "iub":
        raise TypeMismatchError(
            "an index must be whole numbers, a slice or a mask", help="write x[0], x[1:3], x[x > 0]"
        )
    return shapes.StaticArray(array)
