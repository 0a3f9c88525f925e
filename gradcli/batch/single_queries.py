"""Single queries: those whose form is met once, so that compiling them would not pay, computed operation by operation.

What is compiled is each operation, once: its value and its partial derivatives as a straight line of Python. The tree of a query is run on
these as the forward pass and the sweep run its graph: what is equal is computed once, and adjoints are added up in the same order, so that
results are theirs to the bit.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Container
from typing import Any

import numpy as np

from gradcli.batch.straight_line import StraightLine
from gradcli.batch.values import Found, Lookup
from gradcli.graph.nodes import Graph, reachable
from gradcli.graph.sweep import flowing
from gradcli.language.callables import operation
from gradcli.language.tree import Binary, Call, Expression, Name, Number, Unary
from gradcli.limits import Limits
from gradcli.ops import registry
from gradcli.ops.calling.promotion import FLOAT
from gradcli.ops.elementwise import arithmetic
from gradcli.ops.elementwise.pieces import Pieces
from gradcli.ops.spec import Op

_SIGNS = frozenset(["+", "-", "*", "/", "**"])
_NO_VALUE = -1  # the slot of what is no number
_OFTEN = 4  # meetings of an operation from which on it is worth compiling

Kind = tuple[Any, ...]  # an operation, and for each operand whether a derivative flows to it
Step = tuple[int, tuple[int, ...], list[Any]]  # a result, the operands that derivatives flow to, and the partial derivatives by these
Program = Callable[..., tuple[list[Any], Any]]


class SingleQueries:
    """Runs the trees of queries."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._programs: dict[Kind, Program | None] = {}
        self._met: Counter[Kind] = Counter()
        self._wanted = _OFTEN

    def gradient(self, expression: Expression, lookup: Lookup, functions: Container[str], *, at_once: bool = False) -> Found | None:
        """The value of an expression of arithmetic and functions of one number, and its gradient. None if it is for the ordinary way.

        at_once  operations are compiled when they are met
        """
        if expression.implied or expression.notes or expression.differentials:
            return None
        if any(name in functions for name in expression.called):
            return None
        run = _Run(self, lookup)
        self._wanted = 1 if at_once else _OFTEN
        try:
            with np.errstate(all="ignore"):
                slot = run.forward(expression)
                return None if slot is None else run.backward(slot)
        except (ArithmeticError, ValueError):  # Python's floats raise where NumPy has an infinity or NaN
            return None

    def program(self, key: Kind) -> Program | None:
        """An operation with its derivatives by those operands to which they flow.

        None until it has been met a few times, and if it has no such derivatives, or is not of numbers alone.
        """
        try:
            return self._programs[key]
        except KeyError:
            self._met[key] += 1
            if self._met[key] < self._wanted:
                return None
            program = self._programs[key] = self._compiled(*key)
            return program

    def _compiled(self, op: Op, *wanted: bool) -> Program | None:
        if not op.elementwise or op.outputs > 1 or op.static or len(op.operands) != len(wanted):
            return None
        graph = Graph(self._limits)
        leaves = [graph.leaf(name, ()) for name in op.operands]
        root = graph.apply(op, leaves)
        wrt = [leaf for leaf, want in zip(leaves, wanted, strict=True) if want]
        if root.kind != FLOAT or not flowing(reachable([root])).issuperset(wrt):
            return None
        return StraightLine(root, wrt, leaves).program


class _Run:
    """One query that is being run. Equal parts have one slot; slots are in the order in which the graph would get its nodes."""

    def __init__(self, queries: SingleQueries, lookup: Lookup) -> None:
        self.queries, self.lookup = queries, lookup
        self.slots: dict[Any, int] = {}  # by names, constants, and operations with the slots of their operands
        self.values: list[float] = []
        self.flows: list[bool] = []  # whether a derivative flows to it
        self.constants: dict[int, float] = {}  # numbers that stand in the text, by their slots
        self.ranked: list[tuple[int, int, str]] = []  # names that are differentiated by, with their ranks and slots
        self.steps: list[Step] = []
        self.chosen = False  # whether a slope may be that of a flat piece

    def forward(self, expression: Expression) -> int | None:
        """The slot of an expression's value."""
        found: list[int] = []  # of the nodes so far
        called, slots = expression.called, self.slots
        for node in expression.nodes:
            if isinstance(node, Binary):
                key = node.operator, found[node.left.place], found[node.right.place]
                slot = slots[key] if key in slots else self._binary(*key)
            elif isinstance(node, Name):
                name = node.name
                if name in called:
                    found.append(_NO_VALUE)  # it is no operand, or there is no operation of it
                    continue
                slot = slots[name] if name in slots else self._name(name)
            elif isinstance(node, Number):
                slot = self._constant(node.value)
            elif isinstance(node, Call):
                slot = self._call(node, found)
            elif isinstance(node, Unary):
                slot = self._sign(node.operator, found[node.operand.place])
            else:
                return None
            if slot < 0:
                return None
            found.append(slot)
        return None if found[-1] < 0 else found[-1]

    def backward(self, root: int) -> Found | None:
        """The value of the root, and its gradient."""
        adjoints: list[Any] = [None] * len(self.values)
        adjoints[root] = 1.0
        for slot, operands, partials in reversed(self.steps):
            cotangent = adjoints[slot]
            for operand, partial in zip(operands, partials, strict=True):
                earlier, part = adjoints[operand], cotangent * partial
                adjoints[operand] = part if earlier is None else earlier + part
        value = self.values[root]
        gradient = {name: np.float64(adjoints[slot]) for _, slot, name in sorted(self.ranked)}
        if self.chosen and not all(gradient.values()):
            return None  # the sign of a zero tells whether it was multiplied, or chosen on a flat piece
        return (np.float64(value), gradient) if math.isfinite(value) and all(map(math.isfinite, gradient.values())) else None

    def _name(self, name: str) -> int:
        number = self.lookup(name)
        if number is None:
            return _NO_VALUE
        value, _, rank = number
        self.slots[name] = slot = len(self.values)
        self.values.append(value)
        self.flows.append(rank is not None)
        if rank is not None:
            self.ranked.append((rank, slot, name))
        return slot

    def _constant(self, value: float) -> int:
        key = value if type(value) is int else repr(value)  # 2 and 2.0 are two, 0.0 and -0.0 as well
        slot = self.slots.get(key)
        if slot is None:
            self.slots[key] = slot = len(self.values)
            self.values.append(float(value))
            self.flows.append(False)
            self.constants[slot] = value
        return slot

    def _sign(self, sign: str, operand: int) -> int:
        if sign == "+" or operand < 0:
            return operand
        if sign != "-":
            return _NO_VALUE
        if operand in self.constants:
            return self._constant(-self.constants[operand])
        key = arithmetic.neg, operand
        return self.slots[key] if key in self.slots else self._unary(*key)

    def _call(self, node: Call, found: list[int]) -> int:
        callee = node.callee
        if type(callee) is not Name or len(node.arguments) != 1 or node.keywords or node.primes:
            return _NO_VALUE
        key = operation(callee.name), found[node.arguments[0].place]
        if key in self.slots:
            return self.slots[key]
        op, operand = key
        return _NO_VALUE if op is None or operand < 0 else self._unary(op, operand)

    def _unary(self, op: Op, operand: int) -> int:
        flows = self.flows[operand]
        program = self.queries.program((op, flows))
        if program is None:
            return _NO_VALUE
        (value, *partials), _ = program(self.values[operand])
        self.slots[op, operand] = slot = len(self.values)
        self.values.append(value)
        self.flows.append(flows)
        if flows:
            self.steps.append((slot, (operand,), partials))
            self.chosen = self.chosen or (0.0 in partials and _may_choose(op))
        return slot

    def _binary(self, sign: str, left: int, right: int) -> int:
        if left < 0 or right < 0 or sign not in _SIGNS:
            return _NO_VALUE
        to_left, to_right = self.flows[left], self.flows[right]
        program = self.queries.program((registry.OPERATORS[sign], to_left, to_right))
        if program is None:
            return _NO_VALUE
        (value, *partials), _ = program(self.values[left], self.values[right])
        self.slots[sign, left, right] = slot = len(self.values)
        self.values.append(value)
        self.flows.append(to_left or to_right)
        if partials:
            self.steps.append((slot, (left, right) if to_left and to_right else (left,) if to_left else (right,), partials))
            self.chosen = self.chosen or (0.0 in partials and _may_choose(registry.OPERATORS[sign]))
        return slot


def _may_choose(op: Op) -> bool:
    """Whether a slope of zero may be that of a flat piece, where nothing flows back."""
    return op.partials is None or any(type(partial) is Pieces for partial in op.partials)
