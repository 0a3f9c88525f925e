"""Derivations: a derivative as a teacher finds it, a rule a line, from the whole expression down to
its names.

A line is the whole derivative, in which ``d/dx(...)`` stands for what is still to do: a leaf of the
graph that the line is made of. A rule puts something in the place of one of them, so that each line
equals the one before it; the last is the formula in its simplest form. Rules are made of the
operations' own partials, and are called as records say. Names of a program, and y of a logarithmic
derivative, are leaves as well, which a line of their own gives a meaning.
"""

from __future__ import annotations

import math
import re
from collections.abc import Container, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from fractions import Fraction
from functools import reduce
from operator import add, mul
from typing import Any

from gradcli.errors import LimitError
from gradcli.formulas.powers import lean
from gradcli.formulas.printing import formula, latex
from gradcli.formulas.products import Fractions
from gradcli.formulas.textbook import Textbook
from gradcli.graph.interpret import Rebuilding, interpret, rebuild
from gradcli.graph.nodes import Expr, Graph, reachable
from gradcli.graph.sweep import depending
from gradcli.language.scope import Scope
from gradcli.notation import name as in_latex
from gradcli.ops.elementwise.exponential import log
from gradcli.ops.elementwise.logic import where
from gradcli.ops.reductions.sums import sum_
from gradcli.ops.spec import Op
from gradcli.ops.text import ATOM, POWER, LatexPiece
from gradcli.query.general_formulas import General, general
from gradcli.report.derivative_record import DerivativeRecord, Formula, Path
from gradcli.report.steps import Step, Steps

_MOST = 400  # lines
_LARGEST = 4_000  # nodes of a line

Product = tuple[Fraction, dict[Expr, Fraction]]  # a number, and factors with their exponents


class NoText(Exception):
    """A part of the expression has no text, so that no line can be written."""


class Tidied(Rebuilding):
    """The same expressions as a person writes them down: in a product one sign, one number, names
    before other factors, and one fraction; no terms that are 0.

    late  leaves that stand for derivatives, which are no names
    """

    def __init__(self, graph: Graph, late: Container[Expr]) -> None:
        super().__init__(graph)
        self.late = late
        self.fractions = Fractions(graph)
        self.products: dict[Expr, Product] = {}

    def operation(self, node: Expr, op: Op, operands: list[Any]) -> Expr:
        role = op.algebra
        first, *rest = [(Fraction(1), {}) if each is None else self._parts(each) for each in operands]
        if role == "negation":
            return self._write(-first[0], first[1])
        if role in ("product", "chain"):
            return self._multiply(first, rest[0], 1)
        if role == "quotient" and rest[0][0]:
            return self._multiply(first, rest[0], -1)
        if role == "power" and not rest[0][1] and first[0] == 1 and [*first[1].values()] == [1]:
            return self._write(Fraction(1), dict.fromkeys(first[1], rest[0][0]))
        if role in ("sum", "difference"):
            return self._add(first, rest[0], -1 if role == "difference" else 1)
        if role in ("total", "mean") and node.operand.shape and not operands[0].shape:
            count = math.prod(node.operand.shape) if role == "total" else 1
            return self._write(first[0] * count, first[1])
        return super().operation(node, op, operands)

    def _parts(self, node: Expr) -> Product:
        if node in self.products:
            return self.products[node]
        number = node.payload if node.is_constant else None
        if type(number) in (int, float) and math.isfinite(number):
            return Fraction(number), {}
        return Fraction(1), {node: Fraction(1)}

    def _multiply(self, x: Product, y: Product, times: int) -> Expr:
        factors = dict(x[1])
        for each, exponent in y[1].items():
            factors[each] = factors.get(each, Fraction(0)) + times * exponent
        return self._write(x[0] * y[0] ** times, factors)

    def _add(self, x: Product, y: Product, sign: int) -> Expr:
        number, factors = sign * y[0], y[1]
        if not x[0] or not number:
            return self._write(number, factors) if not x[0] else self._write(*x)
        if not x[1] and not factors:
            return self._write(x[0] + number, {})
        size = self._write(abs(number), factors)
        return self._write(*x) - size if number < 0 else self._write(*x) + size

    def _write(self, number: Fraction, factors: Mapping[Expr, Fraction]) -> Expr:
        """The product of a number and powers."""
        kept = {each: exponent for each, exponent in factors.items() if exponent and number}
        pieces = [
            (int(not name), (name, i), each, lean(exponent))
            for i, (each, exponent) in enumerate(kept.items())
            for name in [each.payload.name if each.is_leaf and each not in self.late else ""]
        ]
        written = self.fractions.fraction(lean(number), pieces)
        self.products.setdefault(written, (number, kept))
        return written


@dataclass(eq=False, repr=False)
class Derivation:
    """One derivation under way.

    graph   where everything is made
    x       the leaf of the name
    labels  what leaves are called that are not called by their name
    taken   names that mean nothing of the language here
    rates   leaves that depend on x, by which the derivatives of these are called
    """

    graph: Graph
    x: Expr
    labels: dict[Expr, str]
    taken: set[str]
    latex: bool
    rates: Mapping[Expr, Expr]
    pending: dict[Expr, Expr] = field(
        default_factory=dict
    )  # by what is to be differentiated: the leaf that stands for its derivative
    texts: dict[Expr, str] = field(default_factory=dict)
    pictures: dict[Expr, LatexPiece] = field(default_factory=dict)
    meanings: dict[Expr, Expr] = field(default_factory=dict)  # of leaves that stand for a part
    branches: dict[Expr, str] = field(default_factory=dict)  # in which leaves stand
    branch: str = ""
    found: list[Step] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.write, self.moving = Textbook(self.graph), {self.x, *self.rates}
        name = in_latex(self.x.payload.name)
        for node, rate in self.rates.items():
            self.pictures[rate] = LatexPiece(
                (f"\\frac{{d{in_latex(node.payload.name)}}}{{d{name}}}", POWER)
            )

    def name_parts(self, root: Expr, names: Mapping[Expr, str]) -> Expr:
        """The expression with names in the place of its parts, each of which has a line."""
        done: dict[Expr, Expr] = {}
        for node in reachable([root]):
            if node in names and node is not root and self._moves(node):
                (meaning,) = rebuild([node], done, self.graph)
                done[node] = self._let(names[node], meaning)
        return rebuild([root], done, self.graph)[0]

    def _let(self, name: str, meaning: Expr) -> Expr:
        leaf = self.graph.leaf(name, meaning.shape, meaning.kind)
        self.meanings[leaf] = meaning
        self.moving.add(leaf)
        self._say("let", meaning, leaf)
        return leaf

    def _say(self, rule: str, right: Expr, left: Expr | None = None) -> None:
        """Add a line: the derivative, or an equation."""
        if len(self.found) == _MOST:
            raise LimitError(
                f"the derivation has more than {_MOST} lines",
                help="gradcli diff has the formula alone",
            )
        text, picture = self._text(right), self._picture(right)
        if left is not None and picture is not None:
            picture = f"{self._picture(left)} = {picture}"
        self.found.append(Step(rule, text, None if left is None else self._text(left), picture))

    def _text(self, node: Expr) -> str:
        text = formula(node, limit=_LARGEST, names=self.texts | self.labels, taken=self.taken)
        if text is None:
            raise NoText
        return text

    def _picture(self, node: Expr) -> str | None:
        return latex(node, self.pictures | self.labels) if self.latex else None

    def _moves(self, node: Expr) -> bool:
        return node in self.moving or node in depending(reachable([node]), self.moving)

    def _in_full(self, node: Expr) -> Expr:
        """The expression without names of parts."""
        while not self.meanings.keys().isdisjoint(reachable([node])):
            (node,) = rebuild([node], self.meanings, self.graph)
        return node

    def derive(self, roots: Sequence[Expr], final: Formula, left: Expr | None) -> list[Step]:
        """The lines from the first rule to the final formula. Raises LimitError, and NoText.

        roots  the expression; or the sides of an equation, or y and x of a curve
        left   the rate that an equation gives
        """
        line = [self._still(root) for root in roots]
        if left is not None:
            self._say("differentiate both sides", *line[::-1])
        elif len(line) == 2:
            line = [line[0] / line[1]]
            self._say("rate of y over that of x", *line)
        while self.pending:
            rule, done = self._next()
            line = self._tidy(line, done)
            self.pending = {node: leaf for node, leaf in self.pending.items() if leaf not in done}
            self._say(rule, *line[::-1])
        if not self.meanings.keys().isdisjoint(reachable(line)):
            line = self._tidy([self._in_full(side) for side in line], {})
            self._say("substitute back", *line[::-1])
        assert final.text is not None
        picture = final.latex
        if picture is not None:
            for rate in self.rates.values():
                picture = picture.replace(in_latex(rate.payload.name), self.pictures[rate].text)
        if left is not None:
            picture = f"{self._picture(left)} = {picture}" if self.latex else None
            self.found.append(Step("solve", final.text, self._text(left), picture))
            return self.found
        last = self.found.pop()
        rule = last.rule if sorted(last.formula) == sorted(final.text) else "simplify"
        self.found += [last] if rule == "simplify" else []
        self.found.append(Step(rule, final.text, None, picture))
        return self.found

    def _tidy(self, line: list[Expr], done: Mapping[Expr, Expr]) -> list[Expr]:
        """The sides of a line with what is done in the place of leaves, as a person writes them."""
        domain = Tidied(self.graph, self.pictures)
        new = interpret(reachable([*done.values()]), domain)
        known = {leaf: new[each] for leaf, each in done.items()}
        found = interpret(reachable(line), domain, dict[Expr, Any](known))
        return [found[side] for side in line]

    def _leaf(self, node: Expr) -> Expr:
        """A leaf for the derivative of a node."""
        leaf = self.graph.leaf("d/dx", node.shape)
        name = self.labels.get(self.x, self.x.payload.name)
        self.texts[leaf] = f"d/d{name}({self._text(node)})"
        inside = self._picture(node)
        self.pictures[leaf] = LatexPiece(
            (f"\\frac{{d}}{{d{in_latex(name)}}}\\left({inside}\\right)", ATOM)
        )
        return leaf

    def _still(self, node: Expr) -> Expr:
        """Return what stands for the derivative of a node that is still to be found."""
        while node.op is not None and node.op.transparent and node is not self.x:
            node = node.operand
        if node in self.rates:
            return self.rates[node]
        if node not in self.pending:
            self.pending[node] = self._leaf(node)
        leaf = self.pending[node]
        if self.branches.setdefault(leaf, self.branch) != self.branch:  # it stands in several
            self.branches[leaf] = ""
        return leaf

    def _next(self) -> tuple[str, dict[Expr, Expr]]:
        """The next rule, and what takes the place of the derivatives that it finds."""
        constants = {
            leaf: self.graph.constant(0)
            for node, leaf in self.pending.items()
            if not self._moves(node)
        }
        if constants:
            return "constant rule", constants
        if self.x in self.pending:
            return "variable", {self.pending[self.x]: self.graph.constant(1)}
        (node, leaf), *later = self.pending.items()
        self.branch = branch = self.branches[leaf]
        rule, found = self._apply_rule(node)
        new = [*self.pending.items()][
            1 + len(later) :
        ]  # which stand where that of the node did: they are found next
        self.pending = dict([(node, leaf), *new, *later])
        return f"{branch}: {rule}" if branch else rule, {leaf: found}

    def _apply_rule(self, node: Expr) -> tuple[str, Expr]:
        """The derivative of a node by the rule for its operation."""
        if node in self.meanings:
            return "substitution", self._still(self.meanings[node])
        op = node.op
        assert op is not None
        operands = [operand for operand in node.operands if operand is not None]
        moving = [self._moves(operand) for operand in operands]
        algebra = op.algebra
        if algebra in ("sum", "difference"):
            terms = [sign * self._still(term) for sign, term in self._terms(node)]
            return "sum rule" if len(terms) > 2 else f"{algebra} rule", reduce(add, terms)
        constant, factors = self._factors(node)
        if factors != [node]:
            if constant is not None:
                return "constant multiple rule", constant * self._still(reduce(mul, factors))
            products = [
                reduce(mul, (*factors[:i], self._still(each), *factors[i + 1 :]))
                for i, each in enumerate(factors)
            ]
            return "product rule", reduce(add, products)
        if algebra == "quotient":
            a, b = operands
            if not moving[0]:
                return "reciprocal rule", -(a * self._still(b)) / b**2
            return "quotient rule", (self._still(a) * b - a * self._still(b)) / b**2
        if algebra == "choice":
            return "case by case", self._choose(*operands)
        if algebra == "power" and all(moving):
            return "logarithmic differentiation", self._by_logarithms(node, *operands)
        if algebra in ("total", "mean") and not node.shape:
            return self._sum_up(node)
        if algebra == "matrix product" and not node.shape:
            return "dot product", self._still(sum_(reduce(mul, operands)))
        if op.partials is None:
            raise NoText
        return self._chain(node, operands, moving)

    def _terms(self, node: Expr) -> list[tuple[int, Expr]]:
        """The terms of a sum, with their signs."""
        terms, stack = [], [(1, node)]
        while stack:
            sign, each = stack.pop()
            role = each.op.algebra if each.op is not None and self._moves(each) else ""
            if role in ("sum", "difference"):
                first, second = each.operands
                stack += [(-sign if role == "difference" else sign, second), (sign, first)]
            else:
                terms.append((sign, each))
        return terms

    def _factors(self, node: Expr) -> tuple[Expr | None, list[Expr]]:
        """The constant factor of a product, if it has one, and the factors that depend on x."""
        constant, factors, stack = self.graph.constant(1), [], [node]
        one = constant
        while stack:
            each = stack.pop()
            role = each.op.algebra if each.op is not None else ""
            if not self._moves(each):
                constant = constant * each
            elif role == "negation":
                constant = -constant
                stack.append(each.operand)
            elif role in ("product", "chain"):
                stack += each.operands[::-1]
            elif role == "quotient" and not self._moves(each.operands[1]):
                constant = constant / each.operands[1]
                stack.append(each.operand)
            else:
                factors.append(each)
        return None if constant is one else constant, factors

    def _choose(self, condition: Expr, first: Expr, second: Expr) -> Expr:
        """The derivatives of the branches, each of which is found under its condition."""
        self.branch = self._text(condition)
        found = self._still(first)
        self.branch = "else"
        return where(condition, found, self._still(second))

    def _by_logarithms(self, node: Expr, base: Expr, exponent: Expr) -> Expr:
        """y' as y*(ln y)' where y is a power, with the lines for y and for its logarithm."""
        used = {leaf.payload.name for leaf in (*self.moving, *self.labels)} | self.taken
        letters = (f"{letter}{i or ''}" for i in range(_MOST) for letter in "yuvw")
        y = self._let(next(name for name in letters if name not in used), node)
        logarithm = exponent * log(base)
        slope = self._still(logarithm)
        self._say("take logarithms", logarithm, log(y))
        self._say("differentiate both sides", slope, self._leaf(y) / y)
        return node * slope

    def _sum_up(self, node: Expr) -> tuple[str, Expr]:
        """The derivative of a sum or a mean of entries."""
        op, inner = node.op, node.operand
        assert op is not None
        if not self.x.shape:
            return "sum rule, term by term", self.graph.apply(
                op, [self._still(inner)], node.static
            )
        whole = reachable([self._in_full(inner)])
        for each in depending(whole, [self.x]).intersection(whole):
            if each.shape != self.x.shape or not (each.is_leaf or each.op.elementwise):
                raise NoText  # an entry of the sum depends on several entries of x
        slope = self._still(inner)
        return "sum rule, entry by entry", slope / math.prod(
            inner.shape
        ) if op.algebra == "mean" else slope

    def _chain(
        self, node: Expr, operands: list[Expr], moving: list[bool]
    ) -> tuple[str, Expr]:
        """The partial by each operand that moves, times that operand's derivative."""
        op = node.op
        assert op is not None
        assert op.partials is not None
        rule = f"{_spoken_name(op)} rule"
        if op.algebra == "power":
            rule = "power rule" if moving[0] else "exponential rule"
        places = [
            place
            for place, partial in enumerate(op.partials[: len(operands)])
            if moving[place] and partial is not None
        ]
        if not places:
            return f"{op.name} is flat", self.graph.constant(0)
        slopes = [(operands[place], self._partial(node, place)) for place in places]
        terms = [
            slope if operand is self.x else slope * self._still(operand)
            for operand, slope in slopes
        ]
        chained = any(operand is not self.x for operand, _ in slopes)
        return f"chain rule, {rule}" if chained else rule, reduce(add, terms)

    def _partial(self, node: Expr, place: int) -> Expr:
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
        simple = self.write(made if isinstance(made, Expr) else self.graph.constant(made))
        own = {
            x: operand
            for x, operand in zip(stand_ins, node.operands, strict=True)
            if x is not None and x is not operand and operand is not None
        }
        (found,) = rebuild([simple], own, self.graph)
        return found


# -- Derivations for a query: the lines for each formula, the last of which is what `gradcli diff`
# prints.


def _spoken_name(op: Op) -> str:
    """Return the name that people give an operation: the last words of "The natural logarithm.", or
    else its role or its name.
    """
    said = re.match(r"The (?:natural |real )?([a-z]+(?: (?!of )[a-z]+)*?)(?:[,.;]| to )", op.doc)
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


def derive(made: General, record: DerivativeRecord) -> None:
    """Put the derivations of the formulas of a record into it. Raises LimitError."""
    missing = {
        path: formula
        for path, formula in record.formulas.items()
        if ",".join(path) not in record.steps
    }
    record.steps |= derivations(made, missing, record.dependent)


def derivations(
    made: General, formulas: Mapping[Path, Formula], dependent: str | None = None
) -> Steps:
    """The derivation of each formula. Raises LimitError.

    dependent  the name that an equation or a curve gives, the expression being the difference of
               its sides, or of y and x; "" where all other names depend on that of the formulas
    """
    found: Steps = {}
    for path, final in formulas.items():
        name, roots, left = path[-1], [made.nodes.get(path[:-1], made.root)], None
        x, rates = made.names.get(name), dict[Expr, Expr]()
        if dependent == "":
            x = made.graph.leaf(name, ()) if x is None else x
        elif dependent is not None and (dependent in made.names or x is None):
            roots = [*made.root.operands] if _is_difference(made.root) else [made.root, 0 * made.root]
        if dependent in ("", *made.names):
            rates = {
                node: made.graph.leaf(f"d{each}_d{name}", node.shape)
                for each, node in made.names.items()
                if each == (dependent or each) != name
            }
            left = next(iter(rates.values())) if dependent else None
        elif dependent is not None:
            (x,) = made.names.values()
        if final.text is None:
            continue
        found[",".join(path)] = [
            Step("constant rule" if x is None else "gradient", final.text, None, final.latex)
        ]
        if x is not None:
            with suppress(NoText):
                derivation = Derivation(
                    made.graph, x, made.labels, made.taken, final.latex is not None, rates
                )
                roots = [derivation.name_parts(root, made.parts) for root in roots]
                found[",".join(path)] = derivation.derive(roots, final, left)
    return found


def _is_difference(node: Expr) -> bool:
    return node.op is not None and node.op.algebra == "difference"


def steps_of(scope: Scope, root: Expr, wrt: Mapping[str, Expr], latex: bool) -> Steps:
    """The derivations of a query whose names have values.

    Raises GradcliError where there is no formula.
    """
    made = general(scope, root, wrt, [{}], 1)
    return derivations(made, made.derivatives(list(wrt), 1, latex))
