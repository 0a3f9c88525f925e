"""Single queries: those whose form is met once, so that compiling them would not pay, computed operation by operation.

What is compiled is each operation, once: its value and its partial derivatives as a straight line of Python. The tree of a query is run on
these as the forward pass and the sweep run its graph: what is equal is computed once, and adjoints are added up in the same order, so that
results are theirs to the bit.
"""

from __future__ import annotations

import math
import string
from collections import Counter
from collections.abc import Callable, Container, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from gradcli.batch.columns import Found, Lookup, Taken, of_scope, of_values
from gradcli.batch.templates import Template, Templates, lowered, pieces
from gradcli.errors import GradcliError, Source, text_lines
from gradcli.graph.interpret import rebuild
from gradcli.graph.nodes import Expr, Graph, reachable
from gradcli.graph.sweep import backward, flowing, itself
from gradcli.graph.transforms import ones_like, zeros_like
from gradcli.language.calls import operation
from gradcli.language.scope import Scope
from gradcli.language.statements import parse_statements
from gradcli.language.tree import Binary, Call, Expression, Name, Number, Query, Unary
from gradcli.limits import Limits
from gradcli.ops import registry
from gradcli.ops.calling.inputs import FLOAT
from gradcli.ops.calling.prefixes import NUMPY
from gradcli.ops.elementwise import arithmetic
from gradcli.ops.elementwise.pieces import Pieces
from gradcli.ops.spec import Op
from gradcli.plans.assembly import written
from gradcli.plans.nests import planned
from gradcli.query.options import LONG, Options
from gradcli.report.records import Record

if TYPE_CHECKING:
    from gradcli.batch.columns import BatchedBindings


# -- Straight-line programs: what the forward pass and the sweep do with numbers, written out as a
# straight line of Python.
#
# Nothing is folded, moved or shared that they would not, so that results are theirs to the bit,
# in a tenth of the time.


class StraightLine:
    """The value of a root, which is a number, and its derivatives, as a function of the values of leaves.

    program  the function, whose results may be Python's floats; it raises where these do, and leaves what is not finite to others
    """

    def __init__(self, root: Expr, wrt: Sequence[Expr], leaves: Sequence[Expr]) -> None:
        found = backward(reachable([root]), {root: ones_like(root)}, wrt, itself)
        results = [root, *(found.get(x, zeros_like(x)) for x in wrt)]
        # where all is finite, a cotangent times a partial is a product like any other
        roots = rebuild(results, {}, Graph(root.graph.limits), {arithmetic.chain: arithmetic.mul})
        steps = planned(roots, in_c=False)
        self.program = written(leaves, roots, steps, "float64", assume_finite=True, checked=False, exact=True).compiled("program")

    def __call__(self, values: Sequence[Any]) -> list[Any] | None:
        """Value and derivatives; None if one of them is not finite."""
        try:
            with np.errstate(all="ignore"):
                results, _ = self.program(*values)
        except (ArithmeticError, ValueError):  # Python's floats raise where NumPy has an infinity or NaN
            return None
        return [np.float64(result) for result in results] if all(map(math.isfinite, results)) else None


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
    """Return whether a slope of zero may be that of a flat piece, where nothing flows back."""
    return op.partials is None or any(type(partial) is Pieces for partial in op.partials)


# -- The compilation cache: queries of one template by programs that are compiled once, with the
# ordinary way's results to the bit.
#
# Only where a query has a part of an earlier binding's expression, the ordinary way adds up in
# another order, and a last bit may differ. What is not numbers throughout, what has no template,
# and what is not finite is left to the ordinary way, which has the words for it.


_MANY = 256  # bindings that take some time one by one
_LARGE = 2_000  # nodes of a query that is run by itself; more are better taken in columns
_OFTEN_READ = 3  # meetings of a template, after the first, from which on it is worth compiling
_WORTH = 20  # queries in which a template is looked for in vain, in the time that one with a known template saves
_PATIENCE = 1_000  # of them, without one that is known, after which templates are looked for only now and then:
_NOW_AND_THEN = 16  # in one of so many queries


class CompilationCache:
    """Evaluates queries by the templates that it has met."""

    def __init__(self, limits: Limits, precision: str) -> None:
        self.limits, self.precision = limits, precision
        self._templates, self._single = Templates(limits), SingleQueries(limits)
        self.mentioned: set[str] = set()  # by the last record's expression
        self._missed = self._turn = 0  # queries without a known template, less what others saved; all queries

    def in_scope(self, scope: Scope, source: Source, options: Options) -> Record | None:
        """The record of a query in a program. None if it is for the ordinary way."""
        batched: BatchedBindings | None = scope.held.batched
        taken = Taken(scope.functions, scope.objects, scope.names, scope.held.places)
        if any(name not in scope.names and name not in scope.held.places for name in options.freeze):
            return None
        lookup = of_scope(scope, options) if batched is None else batched.lookup
        record = self._found(source, lookup, taken, options, dialect=scope.dialect.wanted(), batched=batched)
        if record is None and batched is not None:
            match list(parse_statements(source, self.limits.length)):
                case [Query() as query]:
                    return self.of_tree(scope, query, options)
        return record

    def of_tree(self, scope: Scope, query: Query, options: Options, id: Any = None) -> Record | None:
        """The record of a query in a program that has been parsed. None if it is for the ordinary way."""
        batched: BatchedBindings | None = scope.held.batched
        room = scope.graph.room - (0 if batched is None else batched.nodes)
        if not self._is_for(options) or 2 * len(query.expression.nodes) > min(room, _LARGE) or scope.dialect.conflict is not None:
            return None
        if any(name not in scope.names and name not in scope.held.places for name in options.freeze):
            return None
        lookup = of_scope(scope, options) if batched is None else batched.lookup
        taken = Taken(scope.functions, scope.objects, scope.names, scope.held.places)
        found = self._single.gradient(query.expression, lookup, taken, at_once=batched is not None)
        if found is not None and batched is not None:
            found = batched.carried(found)
        if found is None:
            return None
        return _record(found, query.text, query.source, query.span.start, lookup, options, id, scope.dialect.wanted())

    def batches(self, scope: Scope, options: Options) -> bool:
        """Return whether the bindings that are held back are many of few templates, so that they need not be run."""
        held = scope.held
        if held.batched is None and len(held.texts) >= _MANY and self._is_for(options):
            from gradcli.batch.columns import batched

            taken = Taken(scope.functions, scope.objects, scope.names)
            held.batched = batched(held, self._templates, of_scope(scope, options), taken, options.freeze, scope.mentioned)
        return held.batched is not None

    def in_record(self, values: Mapping[str, Any], source: Source, options: Options, id: Any) -> Record | None:
        """The record of a query with names for arrays. None if it is for the ordinary way."""
        if len(text_lines(source.text)) != 1 or any(name not in values for name in options.freeze):
            return None
        self.mentioned = set()
        return self._found(source, of_values(values, options, self.mentioned), values, options, id)

    def _is_for(self, options: Options) -> bool:
        return options.bare and self.precision == "float64"

    def _found(
        self,
        source: Source,
        lookup: Lookup,
        functions: Container[str],
        options: Options,
        id: Any = None,
        dialect: str | None = None,
        batched: BatchedBindings | None = None,
    ) -> Record | None:
        usual = self._is_for(options) and len(source.text) <= self.limits.length and type(source) is Source
        if not usual or not source.text.isascii() or "#" in source.text or "|" in source.text:
            return None
        text = source.text.strip(string.whitespace)
        if len(text) < LONG and self._in_vain():
            return None
        try:
            if len(text) < LONG:
                found = self._gradient(text, lookup, functions)
            else:
                found = self._gradient_of_terms(text, lookup, functions, 0 if batched is None else batched.nodes)
            if found is not None and batched is not None:
                found = batched.carried(found)
        except GradcliError:  # the ordinary way says where
            found = None
        if found is None:
            self._missed = min(self._missed + 1, _PATIENCE)
            return None
        self._missed = max(self._missed - _WORTH, 0)
        return _record(found, text, source, source.text.index(text), lookup, options, id, dialect)

    def _in_vain(self) -> bool:
        """Whether it is not worth the time to look for a template: hardly any query has one that is known. Now and then, it is tried."""
        self._turn += 1
        return self._missed == _PATIENCE and self._turn % _NOW_AND_THEN > 0

    def _gradient_of_terms(self, text: str, lookup: Lookup, functions: Container[str], nodes: int) -> Found | None:
        from gradcli.batch.columns import gradient_of_terms

        return gradient_of_terms(self._templates, text, lookup, functions, self._gradient, nodes)

    def _gradient(self, text: str, lookup: Lookup, functions: Container[str]) -> Found | None:
        reading = self._templates.read(*pieces(text))
        if reading is None:
            return None
        template, names, numbers = reading
        if template.compiled is None:
            template.met += 1
            if template.met < _OFTEN_READ:
                return None
            template.compiled = _straight_line(template, self.limits)
        program = template.compiled
        if program is False or any(name in functions for name in template.callees):
            return None
        values: list[float] = []
        ranked = []
        for place, number in enumerate(map(lookup, names)):
            if number is None or (number.whole and place in template.deciding):
                return None
            values.append(number.value)
            if number.rank is not None:
                ranked.append((number.rank, place))
        results = program([*values, *numbers]) if ranked else None
        if results is None:
            return None
        return results[0], {names[place]: results[place + 1] for _, place in sorted(ranked)}


def _record(found: Found, text: str, source: Source, start: int, lookup: Lookup, options: Options, id: Any, dialect: str | None) -> Record:
    """The record of a query whose text stands at a place in a source."""
    line, column = source.position(start)
    value, gradient = found
    record = Record(text, id, source.name, line, column, value=value, grad=gradient, seed=np.float64(1))
    record.dialect = None if dialect == NUMPY else dialect
    if options.at:
        record.at = {name: number.value for name in gradient if (number := lookup(name)) is not None}
    return record


def _straight_line(template: Template, limits: Limits) -> StraightLine | Literal[False]:
    graph = lowered(template, (), limits)
    return False if graph is None else StraightLine(graph.root, graph.names, [*graph.names, *graph.numbers])
