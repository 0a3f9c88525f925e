"""Derivations: a derivative as a teacher finds it, a rule a line, from the whole expression down to
its names.

A line is the whole derivative, in which ``d/dx(...)`` stands for what is still to do: a leaf of the
graph that the line is made of. A rule puts something in the place of one of them, so that each line
equals the one before it; the last is the formula in its simplest form. Rules are made of the
operations' own partials, and are called as records say.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import reduce
from operator import add
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
    """The same expressions without what a person would not write down: terms that are 0, factors
    that are 1.
    """

    def operation(self, node: Expr, op: Op, operands: list[Any]) -> Expr:
        numbers = [None if each is None else number_of(each) for each in operands]
        if (op.algebra == "negation" and numbers[0] == 0) or (
            op.algebra == "product" and 0 in numbers
        ):
            return self.graph.constant(0)
        neutral = {"sum": 0, "difference": 0, "product": 1}.get(op.algebra)
        if neutral is not None and len(operands) == 2:
            for place, number in enumerate(numbers):
                kept: Expr = operands[1 - place]
                if number == neutral and kept.shape == node.shape:
                    return -kept if op.algebra == "difference" and place == 0 else kept
        return super().operation(node, op, operands)


class NoText(Exception):
    """A part of the expression has no text, so that no line can be written."""


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
    pending: dict[Expr, Expr] = field(
        default_factory=dict
    )  # by what is to be differentiated: the leaf that stands for its derivative
    texts: dict[Expr, str] = field(default_factory=dict)
    pictures: dict[Expr, LatexPiece] = field(default_factory=dict)

    def steps(self, root: Expr, final: str, picture: str | None) -> list[Step]:
        """The lines from the first rule to the final formula. Raises LimitError, and NoText."""
        self.depends = depending(reachable([root]), [self.x])
        line = self._still(root)
        write = Textbook(self.graph)
        found: list[Step] = []
        while self.pending:
            rule, done = self._next(write)
            line = interpret(reachable([line]), Tidied(self.graph), dict(done))[line]
            self.pending = {node: leaf for node, leaf in self.pending.items() if leaf not in done}
            text = self._text(line, self.texts)
            found.append(
                Step(
                    rule,
                    text,
                    None,
                    None if picture is None else latex(line, self.pictures | dict(self.labels)),
                )
            )
            if len(found) > _MOST:
                raise LimitError(
                    f"the derivation has more than {_MOST} lines",
                    help="gradcli diff has the formula alone",
                )
        if not found or found[-1].formula != final:
            found.append(Step("simplify", final, None, picture))
        return found

    def _text(self, node: Expr, texts: Mapping[Expr, str]) -> str:
        text = formula(node, limit=_LARGEST, names={**texts, **self.labels}, taken=self.taken)
        if text is None:
            raise NoText
        return text

    def _still(self, node: Expr) -> Expr:
        """Return what stands for the derivative of a node that is still to be found."""
        while node.op is not None and node.op.transparent and node is not self.x:
            node = node.operand
        if node not in self.pending:
            text = self._text(node, {})
            leaf = self.pending[node] = self.graph.leaf("d/dx", node.shape)
            name = self.labels.get(self.x, self.x.payload.name)
            self.texts[leaf] = f"d/d{name}({text})"
            inside = latex(node, dict(self.labels))
            self.pictures[leaf] = LatexPiece(
                (f"\\frac{{d}}{{d{in_latex(name)}}}\\left({inside}\\right)", ATOM)
            )
        return self.pending[node]

    def _next(self, write: Callable[[Expr], Expr]) -> tuple[str, dict[Expr, Expr]]:
        """The next rule, and what takes the place of the derivatives that it finds."""
        constants = {
            leaf: self.graph.constant(0)
            for node, leaf in self.pending.items()
            if node not in self.depends
        }
        if constants:
            return "constant rule", constants
        if self.x in self.pending:
            return "variable", {self.pending[self.x]: self.graph.constant(1)}
        (node, leaf), *later = self.pending.items()
        rule, found = self._apply_rule(node, write)
        new = [*self.pending.items()][
            1 + len(later) :
        ]  # which stand where that of the node did: they are found next
        self.pending = dict([(node, leaf), *new, *later])
        return rule, {leaf: found}

    def _apply_rule(self, node: Expr, write: Callable[[Expr], Expr]) -> tuple[str, Expr]:
        """The derivative of a node by the rule for its operation."""
        op = node.op
        assert op is not None
        operands = [operand for operand in node.operands if operand is not None]
        moving = [operand in self.depends for operand in operands]
        algebra = op.algebra
        if algebra in ("sum", "difference", "negation"):
            rule = {"sum": "sum rule", "difference": "difference rule"}.get(
                algebra, "constant multiple rule"
            )
            return rule, self.graph.apply(
                op, [self._still(operand) for operand in operands], node.static
            )
        if algebra in ("product", "chain") and len(operands) == 2:
            a, b = operands
            if all(moving):
                first, second = self._still(a), self._still(b)
                return "product rule", first * b + a * second
            return "constant multiple rule", b * self._still(a) if moving[0] else a * self._still(b)
        if algebra == "quotient":
            a, b = operands
            if not moving[1]:
                return "constant multiple rule", self._still(a) / b
            below = self._still(b)
            return "quotient rule", (self._still(a) * b - a * below) / b**2 if moving[0] else -(
                a * below
            ) / b**2
        if algebra == "choice" and op.kind == "structural":
            return "case by case", where(operands[0], *map(self._still, operands[1:]))
        if op.partials is None:
            raise NoText
        return self._chain(node, operands, moving, write)

    def _chain(
        self, node: Expr, operands: list[Expr], moving: list[bool], write: Callable[[Expr], Expr]
    ) -> tuple[str, Expr]:
        """The partial by each operand that moves, times that operand's derivative."""
        op = node.op
        assert op is not None
        assert op.partials is not None
        rule = f"{_spoken_name(op)} rule"
        if op.algebra == "power":
            rule = (
                "power rule"
                if moving == [True, False]
                else "exponential rule"
                if moving == [False, True]
                else "power rule, of both"
            )
        places = [
            place
            for place, partial in enumerate(op.partials[: len(operands)])
            if moving[place] and partial is not None
        ]
        if not places:
            return f"{rule}: flat", self.graph.constant(0)
        slopes = [(operands[place], self._partial(node, place, write)) for place in places]
        terms = [
            slope if operand is self.x else slope * self._still(operand)
            for operand, slope in slopes
        ]
        chained = any(operand is not self.x for operand, _ in slopes)
        return f"chain rule, {rule}" if chained else rule, reduce(add, terms)

    def _partial(self, node: Expr, place: int, write: Callable[[Expr], Expr]) -> Expr:
        """The partial of a node by an operand, in its simplest form for operands of any kind."""
        op = node.op
        assert op is not None
        assert op.partials is not None
        stand_ins = [
            operand
            if operand is None or operand.is_constant
            else self.graph.leaf(f"u{i}", operand.shape, operand.kind)
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


def _spoken_name(op: Op) -> str:
    """Return the name that people give an operation: the last words of "The natural logarithm.", or
    else its role or its name.
    """
    said = re.match(r"The (?:natural |real )?([a-z]+(?: [a-z]+)*?)(?:[,.;]| to )", op.doc)
    role = op.algebra
    return (
        said[1]
        if said
        else "power"
        if role == "square"
        else role
        if role == "exponential"
        else op.name
    )


def derivations(made: General, names: Mapping[str, Formula]) -> Steps:
    """The derivation of each formula. Raises LimitError.

    names  the formulas by the names that they are the derivatives by
    """
    found: Steps = {}
    for name, final in names.items():
        text = final.text
        if text is None:
            continue
        x = made.names.get(name)
        found[name] = [Step("constant rule" if x is None else "gradient", text, None, final.latex)]
        if x is not None and made.entrywise:
            with suppress(NoText):
                found[name] = Derivation(made.graph, x, made.labels, made.taken).steps(
                    made.root, text, final.latex
                )
    return found


def steps_of(scope: Scope, root: Expr, wrt: Mapping[str, Expr], latex: bool) -> Steps:
    """The derivations of a query whose names have values.

    Raises GradcliError where there is no formula.
    """
    made = general(scope, root, wrt, [{}], 1)
    formulas = made.derivatives(list(wrt), 1, latex)
    return derivations(made, {name: formulas[name,] for name in wrt})
