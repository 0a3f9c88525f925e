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
from gradcli.ops.spec import Op

_OPERATORS = {sign: registry.OPERATORS[sign] for sign in ("+", "-", "*", "/", "**")}
_NO_VALUE = -1  # the slot of what is no number
_OFTEN = 4  # meetings of an operation from which on it is worth compiling
_ONE = np.float64(1)

Step = tuple[int, tuple[int, ...], list[Any]]  # a result, the operands that derivatives flow to, and the partial derivatives by these
Program = Callable[..., tuple[list[Any], Any]]


class SingleQueries:
    """Runs the trees of queries."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._programs: dict[tuple[Op, tuple[bool, ...]], Program | None] = {}
        self._met: Counter[tuple[Op, tuple[bool, ...]]] = Counter()

    def gradient(self, expression: Expression, lookup: Lookup, functions: Container[str]) -> Found | None:
        """The value of an expression of arithmetic and functions of one number, and its gradient. None if it is for the ordinary way."""
        if expression.implied or expression.notes or expression.differentials:
            return None
        if any(name in functions for name in expression.called):
            return None
        run = _Run(self, lookup)
        try:
            with np.errstate(all="ignore"):
                slot = run.forward(expression)
                return None if slot is None else run.backward(slot)
        except (ArithmeticError, ValueError):  # Python's floats raise where NumPy has an infinity or NaN
            return None

    def program(self, op: Op, wanted: tuple[bool, ...]) -> Program | None:
        """An operation with its derivatives by some of its operands.

        None until it has been met a few times, and if it has no such derivatives, or is not of numbers alone.
        """
        key = op, wanted
        try:
            return self._programs[key]
        except KeyError:
            self._met[key] += 1
            if self._met[key] < _OFTEN:
                return None
            program = self._programs[key] = self._compiled(op, wanted)
            return program

    def _compiled(self, op: Op, wanted: tuple[bool, ...]) -> Program | None:
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
        self.values: list[Any] = []
        self.flows: list[bool] = []  # whether a derivative flows to it
        self.constants: dict[int, float] = {}  # numbers that stand in the text, by their slots
        self.ranked: list[tuple[int, int, str]] = []  # names that are differentiated by, with their ranks and slots
        self.steps: list[Step] = []

    def forward(self, expression: Expression) -> int | None:
        """The slot of an expression's value."""
        found: list[int] = []  # of the nodes so far
        called, slots = expression.called, self.slots
        for node in expression.nodes:
            kind = type(node)
            if kind is Name:
                name = node.name
                slot = _NO_VALUE if name in called else slots[name] if name in slots else self._name(name)
            elif kind is Number:
                slot = self._constant(node.value)
            elif kind is Binary:
                left, right = found[node.left.place], found[node.right.place]
                op = _OPERATORS.get(node.operator)
                if left < 0 or right < 0 or op is None:
                    return None
                key = op, left, right
                slot = slots[key] if key in slots else self._operation(op, key, (left, right))
            elif kind is Call or kind is Unary:
                slot = self._of_one(node, found)
            else:
                return None
            if slot < 0 and kind is not Name:
                return None
            found.append(slot)
        return found[-1] if found[-1] >= 0 else None

    def backward(self, root: int) -> Found | None:
        """The value of the root, and its gradient."""
        adjoints: list[Any] = [None] * len(self.values)
        adjoints[root] = _ONE
        for slot, operands, partials in reversed(self.steps):
            cotangent = adjoints[slot]
            for operand, partial in zip(operands, partials, strict=True):
                earlier, part = adjoints[operand], cotangent * partial
                adjoints[operand] = part if earlier is None else earlier + part
        value = self.values[root]
        gradient = {name: adjoints[slot] for _, slot, name in sorted(self.ranked)}
        finite = math.isfinite(value) and all(map(math.isfinite, gradient.values()))
        return (value, gradient) if gradient and finite else None

    def _new(self, key: Any, value: Any, flows: bool) -> int:
        self.slots[key] = slot = len(self.values)
        self.values.append(value)
        self.flows.append(flows)
        return slot

    def _name(self, name: str) -> int:
        number = self.lookup(name)
        if number is None:
            return _NO_VALUE
        slot = self._new(name, number.value, number.rank is not None)
        if number.rank is not None:
            self.ranked.append((number.rank, slot, name))
        return slot

    def _constant(self, value: float) -> int:
        key = value if type(value) is int else repr(value)  # 2 and 2.0 are two, 0.0 and -0.0 as well
        slot = self.slots.get(key)
        if slot is None:
            slot = self._new(key, float(value), False)
            self.constants[slot] = value
        return slot

    def _of_one(self, node: Call | Unary, found: list[int]) -> int:
        """An operation of one number, by its sign or its name."""
        if type(node) is Unary:
            operand, op = found[node.operand.place], arithmetic.neg
            if node.operator == "+":
                return operand
            if node.operator != "-":
                return _NO_VALUE
            if operand in self.constants:
                return self._constant(-self.constants[operand])
        else:
            callee = node.callee
            if type(callee) is not Name or len(node.arguments) != 1 or node.keywords or node.primes:
                return _NO_VALUE
            operand, op = found[node.arguments[0].place], operation(callee.name)
        if operand < 0 or op is None:
            return _NO_VALUE
        key = op, operand
        return self.slots[key] if key in self.slots else self._operation(op, key, (operand,))

    def _operation(self, op: Op, key: Any, operands: tuple[int, ...]) -> int:
        flows, values = self.flows, self.values
        wanted = tuple([flows[operand] for operand in operands])
        program = self.queries.program(op, wanted)
        if program is None:
            return _NO_VALUE
        (value, *partials), _ = program(*[values[operand] for operand in operands])
        slot = self._new(key, value, True in wanted)
        if partials:
            self.steps.append((slot, operands if False not in wanted else tuple([o for o in operands if flows[o]]), partials))
        return slot
