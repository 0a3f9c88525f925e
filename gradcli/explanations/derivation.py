"""Derivations: a derivative as a teacher finds it, a rule a line, from the whole expression down to its names.

A line is the whole derivative, in which ``d/dx(...)`` stands for what is still to do: a leaf of the graph that the line is made of. A rule
puts something in the place of one of them, so that each line equals the one before it; the last is the formula in its simplest form.
Rules are made of the operations' own partials, and are called as records say.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from gradcli.errors import LimitError
from gradcli.formulas.printing import formula, latex
from gradcli.formulas.textbook import Textbook
from gradcli.graph.interpret import Rebuilding, interpret, rebuild
from gradcli.graph.nodes import Expr, Graph, reachable
from gradcli.graph.sweep import depending
from gradcli.language.scope import Scope
from gradcli.notation import name as in_latex
from gradcli.ops.constants import number_of
from gradcli.ops.elementwise.exponential import log
from gradcli.ops.elementwise.logic import where
from gradcli.ops.spec import Op
from gradcli.ops.text import ATOM, LatexPiece
from gradcli.query.general_formulas import General, general
from gradcli.report.derivative_record import Formula
from gradcli.report.explanation import Step

_MOST = 400  # lines
_LARGEST = 4_000  # nodes of a line


class Tidied(Rebuilding):
    """The same expressions without what a person would not write down: terms that are 0, factors that are 1."""

    def operation(self, node: Expr, op: Op, operands: list[Any]) -> Expr:
        algebra, numbers = op.algebra, [None if each is None else number_of(each) for each in operands]
        if algebra in ("sum", "product") and len(operands) == 2:
            neutral = 0 if algebra == "sum" else 1
            for number, other in zip(numbers, reversed(operands), strict=True):
                if algebra == "product" and number == 0:
                    return self.graph.constant(0)
                if number == neutral and other.shape == node.shape:
                    kept: Expr = other
                    return kept
        if algebra == "difference" and numbers[1] == 0 and operands[0].shape == node.shape:
            first: Expr = operands[0]
            return first
        if algebra == "difference" and numbers[0] == 0 and operands[1].shape == node.shape:
            negative: Expr = -operands[1]
            return negative
        if algebra == "negation" and numbers[0] == 0:
            return self.graph.constant(0)
        return super().operation(node, op, operands)


@dataclass(eq=False, repr=False)
class Derivation:
    """One derivation under way.

    graph   where everything is made
    x       the leaf of the name
    labels  what leaves are called that are not called by their name
    taken   names that mean nothing of the language here
    """

    graph: Graph
    x: Expr
    labels: Mapping[Expr, str]
    taken: set[str]
    depends: set[Expr] = field(default_factory=set)
    pending: dict[Expr, Expr] = field(default_factory=dict)  # by what is to be differentiated: the leaf that stands for its derivative
    texts: dict[Expr, str] = field(default_factory=dict)
    pictures: dict[Expr, LatexPiece] = field(default_factory=dict)

    def steps(self, root: Expr, final: str, picture: str | None) -> list[Step] | None:
        """The lines from the first rule to the final formula; None where a part of the expression has no text. Raises LimitError."""
        self.depends = depending(reachable([root]), [self.x])
        line = self._still(root)
        if line is None:
            return None
        write = Textbook(self.graph)
        found: list[Step] = []
        while self.pending:
            rule, done = self._next(write)
            if done is None:
                return None
            order = reachable([line])
            line = interpret(order, Tidied(self.graph), dict(done))[line]
            for node in done:
                del self.pending[self._of[node]]
            text = formula(line, limit=_LARGEST, names=self.texts | dict(self.labels), taken=self.taken)
            if text is None:
                return None
            found.append(Step(rule, text, None, self._picture(line) if picture is not None else None))
            if len(found) > _MOST:
                raise LimitError(f"the derivation has more than {_MOST} lines", help="gradcli diff has the formula alone")
        if not found or found[-1].formula != final:
            found.append(Step("simplify", final, None, picture))
        return found

    @property
    def _of(self) -> dict[Expr, Expr]:
        return {leaf: node for node, leaf in self.pending.items()}

    def _picture(self, line: Expr) -> str:
        return latex(line, self.pictures | dict(self.labels))

    def _still(self, node: Expr) -> Expr | None:
        """Return what stands for the derivative of a node that is still to be found; None where it has no text."""
        while node.op is not None and node.op.text.transparent and node is not self.x:
            node = node.operand
        leaf = self.pending.get(node)
        if leaf is None:
            text = formula(node, limit=_LARGEST, names=dict(self.labels), taken=self.taken)
            if text is None:
                return None
            leaf = self.pending[node] = self.graph.leaf("d/dx", node.shape)
            name = self.labels.get(self.x, self.x.payload.name)
            self.texts[leaf] = f"d/d{name}({text})"
            inside = latex(node, dict(self.labels))
            self.pictures[leaf] = LatexPiece((f"\\frac{{d}}{{d{in_latex(name)}}}\\left({inside}\\right)", ATOM))
        return leaf

    def _next(self, write: Callable[[Expr], Expr]) -> tuple[str, dict[Expr, Expr] | None]:
        """The next rule, and what takes the place of the derivatives that it finds."""
        constants = {leaf: self.graph.constant(0) for node, leaf in self.pending.items() if node not in self.depends}
        if constants:
            return "constant rule", constants
        if self.x in self.pending:
            return "variable", {self.pending[self.x]: self.graph.constant(1)}
        node, leaf = next(iter(self.pending.items()))
        rule, found = self._ruled(node, write)
        self._in_the_place_of(node)
        return rule, None if found is None else {leaf: found}

    def _in_the_place_of(self, node: Expr) -> None:
        """Derivatives that a rule has left stand where that of the node did: they are found next."""
        listed = list(self.pending.items())
        place = next(i for i, (each, _) in enumerate(listed) if each is node)
        new = listed[self._known :]
        self.pending = dict([listed[place], *new, *listed[place + 1 : self._known]])

    def _ruled(self, node: Expr, write: Callable[[Expr], Expr]) -> tuple[str, Expr | None]:
        """The derivative of a node by the rule for its operation."""
        op = node.op
        assert op is not None
        self._known = len(self.pending)
        operands = [operand for operand in node.operands if operand is not None]
        moving = [operand in self.depends for operand in operands]
        algebra = op.algebra
        if algebra in ("sum", "difference", "negation"):
            return self._sum(node, operands)
        if algebra in ("product", "chain") and len(operands) == 2:
            return self._product(operands, moving)
        if algebra == "quotient":
            return self._quotient(operands, moving)
        if algebra == "choice" and op.kind == "structural":
            parts = [self._still(operand) for operand in operands[1:]]
            return "case by case", None if None in parts else where(operands[0], *parts)
        if op.partials is None:
            return op.name, None
        return self._chain(node, operands, moving, write)

    def _sum(self, node: Expr, operands: list[Expr]) -> tuple[str, Expr | None]:
        """Of a sum or a difference, or of an opposite: the same of the derivatives."""
        assert node.op is not None
        parts = [self._still(operand) for operand in operands]
        if None in parts:
            return "", None
        rule = {"sum": "sum rule", "difference": "difference rule"}.get(node.op.algebra, "constant multiple rule")
        return rule, self.graph.apply(node.op, parts, node.static)

    def _product(self, operands: list[Expr], moving: list[bool]) -> tuple[str, Expr | None]:
        a, b = operands
        if not all(moving):
            still = self._still(a if moving[0] else b)
            return "constant multiple rule", None if still is None else (b * still if moving[0] else a * still)
        first, second = self._still(a), self._still(b)
        return "product rule", None if first is None or second is None else first * b + a * second

    def _quotient(self, operands: list[Expr], moving: list[bool]) -> tuple[str, Expr | None]:
        a, b = operands
        if not moving[1]:
            still = self._still(a)
            return "constant multiple rule", None if still is None else still / b
        below = self._still(b)
        if below is None:
            return "", None
        if not moving[0]:
            return "quotient rule", -(a * below) / b**2
        above = self._still(a)
        return "quotient rule", None if above is None else (above * b - a * below) / b**2

    def _chain(self, node: Expr, operands: list[Expr], moving: list[bool], write: Callable[[Expr], Expr]) -> tuple[str, Expr | None]:
        """The partial by each operand that moves, times that operand's derivative."""
        op = node.op
        assert op is not None
        assert op.partials is not None
        rule = f"{_called(op)} rule"
        if op.algebra == "power":
            rule = "power rule" if moving == [True, False] else "exponential rule" if moving == [False, True] else "power rule, of both"
        terms: list[Expr] = []
        chained = False
        for place, operand in enumerate(operands):
            partial = op.partials[place]
            if not moving[place] or partial is None:
                continue
            slope = self._partial(node, place, write)
            inner = operand is not self.x
            chained |= inner
            still = self._still(operand) if inner else self.graph.constant(1)
            if still is None:
                return rule, None
            terms.append(slope * still if inner else slope)
        if not terms:
            return f"{rule}: flat", self.graph.constant(0)
        total = terms[0]
        for term in terms[1:]:
            total = total + term
        return f"chain rule, {rule}" if chained else rule, total

    def _partial(self, node: Expr, place: int, write: Callable[[Expr], Expr]) -> Expr:
        """The partial of a node by an operand, in its simplest form for operands of any kind."""
        op = node.op
        assert op is not None
        assert op.partials is not None
        stand_ins = [
            operand if operand is None or operand.is_constant else self.graph.leaf(f"u{i}", operand.shape, operand.kind)
            for i, operand in enumerate(node.operands)
        ]
        if op.algebra == "power" and place == 1:
            base, exponent = stand_ins
            made = self.graph.apply(op, (base, exponent)) * log(base)
        else:
            partial = op.partials[place]
            assert partial is not None
            made = partial(self.graph.apply(op, stand_ins, node.static), *stand_ins, **node.static)
        simple = write(made if isinstance(made, Expr) else self.graph.constant(made))
        own = {
            x: operand
            for x, operand in zip(stand_ins, node.operands, strict=True)
            if x is not None and x is not operand and operand is not None
        }
        (found,) = rebuild([simple], own, self.graph)
        return found


# -- Derivations for a query: the lines for each name, the last of which is the formula that
# `gradcli diff` prints.


Steps = dict[str, list[Step]]


def _called(op: Op) -> str:
    """Return the name that people give an operation: the last words of "The natural logarithm.", or else its role or its name."""
    said = re.match(r"The (?:natural |real )?([a-z]+(?: [a-z]+)*?)(?:[,.;]| to )", op.doc)
    role = op.algebra
    return said[1] if said else "power" if role == "square" else role if role == "exponential" else op.name


def derivations(made: General, names: Mapping[str, Formula]) -> Steps:
    """The derivation of each formula. Raises LimitError.

    names  the formulas by the names that they are the derivatives by
    """
    found: Steps = {}
    for name, final in names.items():
        text = final.text
        if text is None:
            continue
        steps: list[Step] | None = None
        x = made.names.get(name)
        if x is None:
            steps = [Step("constant rule", text, None, final.latex)]
        elif made.entrywise:
            steps = Derivation(made.graph, x, made.labels, made.taken).steps(made.root, text, final.latex)
        found[name] = steps or [Step("gradient", text, None, final.latex)]
    return found


def steps_of(scope: Scope, root: Expr, wrt: Mapping[str, Expr], latex: bool) -> Steps:
    """The derivations of a query whose names have values. Raises GradcliError where there is no formula."""
    made = general(scope, root, wrt, [{}], 1)
    formulas = made.derivatives(list(wrt), 1, latex)
    return derivations(made, {name: formulas[name,] for name in wrt})
