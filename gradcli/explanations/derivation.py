"""Derivations: a derivative as a teacher finds it.

Each line applies a rule, from the whole expression down to its names.

A line is the whole derivative, in which ``d/dx(...)`` stands for what is still to do: a leaf of the
graph that the line is made of. A rule replaces one of these leaves, so that each line equals the
one before it. The last line is the formula in its simplest form. Rules are made of the operations'
own partials, and have the names that records give them. Names of a program, and y of a logarithmic
derivative, are leaves as well; a line of their own gives them a meaning.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from fractions import Fraction
from functools import reduce
from operator import add, mul
from typing import Any

from gradcli.errors import LimitError
from gradcli.explanations.paths import edge_formulas
from gradcli.formulas.derivatives import General, general, is_entrywise
from gradcli.formulas.printing import formula, latex
from gradcli.formulas.products import Fractions, Piece, quotient_of
from gradcli.formulas.textbook import textbook
from gradcli.graph.nodes import Expr, Graph, Rebuilding, interpret, reachable, rebuild
from gradcli.graph.sweep import varied_nodes
from gradcli.language.scope import Scope
from gradcli.notation import Formula
from gradcli.notation import name as in_latex
from gradcli.ops.elementwise.exponential import log
from gradcli.ops.elementwise.logic import where
from gradcli.ops.reductions.sums import sum_
from gradcli.ops.spec import Op
from gradcli.ops.text import ATOM, LatexPiece
from gradcli.report.derivative_record import DerivativeRecord, Step, Steps

_MOST = 400  # most lines of a derivation
_LARGEST = 4_000  # most nodes of a line

Product = tuple[Fraction, dict[Expr, Fraction]]  # a number, and factors with their exponents
_SIGNS: dict[str, tuple[int, ...]] = {
    "sum": (1, 1),
    "difference": (1, -1),
}  # signs of the operands in a sum
_EXPONENTS: dict[str, tuple[int, ...]] = {
    "product": (1, 1),
    "chain": (1, 1),
    "quotient": (1, -1),
    "negation": (1,),
}


class NoText(Exception):
    """A part of the expression has no text, so that no line can be written."""


class Tidied(Rebuilding):
    """The same expressions as a person writes them down.

    A product has one sign, one number, names before other factors, and one fraction. There are no
    terms that are 0.
    """

    def __init__(self, graph: Graph) -> None:
        super().__init__(graph)
        self.fractions = Fractions(graph)
        self.products: dict[Expr, Product] = {}

    def operation(self, node: Expr, op: Op, operands: list[Any]) -> Expr:
        role = op.algebra
        parts = [self._parts(each) for each in operands if each is not None]
        exponents: Sequence[int | Fraction] = _EXPONENTS.get(role, ())
        if role == "power" and not parts[1][1] and parts[0][0] == 1 == sum(parts[0][1].values()):
            exponents = (parts[1][0],)
        if role in ("total", "mean") and node.operand.shape and not operands[0].shape:
            count = node.operand.size if role == "total" else 1
            parts = [(Fraction(count), {}), parts[0]]
            exponents = (1, 1)
        if exponents and (role != "quotient" or parts[1][0]):
            number = Fraction(-1 if role == "negation" else 1)
            factors: dict[Expr, Fraction] = {}
            for (times, powers), exponent in zip(parts, exponents, strict=False):
                number *= times ** int(exponent)
                for each, power in powers.items():
                    factors[each] = factors.get(each, Fraction(0)) + power * exponent
            return self._write(number, factors)
        if role in _SIGNS:
            return self._add(parts[0], parts[1], _SIGNS[role][1])
        return super().operation(node, op, operands)

    def _parts(self, node: Expr) -> Product:
        number: Any = node.payload if node.is_constant else None
        if type(number) in (int, float) and math.isfinite(number):
            return Fraction(number), {}
        return self.products.get(node, (Fraction(1), {node: Fraction(1)}))

    def _add(self, x: Product, y: Product, sign: int) -> Expr:
        number = sign * y[0]
        factors = y[1]
        if not (x[0] and number and (x[1] or factors)):
            return self._write(x[0] + number, x[1] if x[0] else factors)
        first, size = self._write(*x), self._write(abs(number), factors)
        total: Expr = first - size if number < 0 else first + size
        return total

    def _write(self, number: Fraction, factors: Mapping[Expr, Fraction]) -> Expr:
        """Return the product of a number and powers."""
        kept = {each: exponent for each, exponent in factors.items() if exponent and number}
        pieces: list[Piece] = [
            (int(not name), (name, i), each, exponent)
            for i, (each, exponent) in enumerate(kept.items())
            for name in [each.name if each.is_leaf and each.name.isidentifier() else ""]
        ]
        written = self.fractions.fraction(number, pieces)
        self.products.setdefault(written, (number, kept))
        return written


@dataclass(eq=False)
class Derivation:
    """One derivation under way.

    made   the expression, and the graph where everything is made
    x      the leaf of the name
    final  the formula that it leads to
    rates  leaves that depend on x, by which the derivatives of these are called
    """

    made: General
    x: Expr
    final: Formula
    rates: Mapping[Expr, Expr]

    def __post_init__(self) -> None:
        # By node to be differentiated: the leaf that stands for its derivative.
        self.pending: dict[Expr, Expr] = {}
        self.texts: dict[Expr, str] = {}
        self.pictures: dict[Expr, LatexPiece] = {}
        self.meanings: dict[Expr, Expr] = {}  # by the leaf that stands for a part
        self.full: dict[Expr, Expr] = {}  # the same in terms of x alone
        self.found: list[Step] = []
        self.graph = self.made.graph
        self.moving = {self.x, *self.rates}
        self.taken = {*self.made.taken}

    def name_parts(self, root: Expr) -> Expr:
        """Return the expression with the program's names in the place of its parts."""
        done: dict[Expr, Expr] = {}
        for node in reachable([root]):
            if node in self.made.parts and node is not root and self._moves(node):
                (meaning,) = rebuild([node], done, graph=self.graph)
                done[node] = self._let(self.made.parts[node], meaning)
        return rebuild([root], done, graph=self.graph)[0]

    def _let(self, name: str, meaning: Expr) -> Expr:
        """Return a leaf that stands for a part, and add a line that says so."""
        leaf = self.graph.leaf(name, meaning.shape, meaning.kind)
        self.moving.add(leaf)
        self.taken.add(name)
        self.meanings[leaf], self.full[leaf] = meaning, self._in_full(meaning)
        self._say("let", meaning, leaf)
        return leaf

    def _in_full(self, node: Expr) -> Expr:
        """Return the expression without names of parts."""
        return rebuild([node], self.full, graph=self.graph)[0]

    def _say(self, rule: str, right: Expr | None, left: Expr | None = None) -> None:
        """Add a line: the derivative, or an equation; without a right side the final formula."""
        if len(self.found) == _MOST:
            raise LimitError(
                f"the derivation has more than {_MOST} lines",
                help="gradcli diff has the formula alone",
            )
        text, picture = self.final
        if right is not None:
            text = self._text(right)
            picture = self._picture(right)
        if left is not None and picture is not None:
            picture = f"{self._picture(left)} = {picture}"
        assert text is not None
        self.found.append(Step(rule, text, None if left is None else self._text(left), picture))

    def _text(self, node: Expr) -> str:
        text = formula(node, limit=_LARGEST, names=self.texts | self.made.labels, taken=self.taken)
        if text is None:
            raise NoText
        return text

    def _picture(self, node: Expr) -> str | None:
        names: dict[Expr, Any] = {**self.pictures, **self.made.labels}
        return None if self.final.latex is None else latex(node, names)

    def _moves(self, node: Expr) -> bool:
        return node in varied_nodes(reachable([node]), self.moving)

    def derive(
        self, roots: Sequence[Expr], start: str, left: Expr | None, slope: Expr | None
    ) -> list[Step]:
        """Return the lines from the first rule to the final formula.

        Raises LimitError, and NoText.

        roots  the expression; or the sides of an equation, or y and x of a curve
        start  the rule of the first line; empty if that is what `d/dx` stands before
        left   a rate that an equation gives
        slope  what that rate is, where it is known
        """
        self.taken.update(leaf.name for leaf in reachable(roots) if leaf.is_leaf)
        line = [self._still(self.name_parts(root)) for root in roots]
        is_equation = left is not None and slope is None
        if len(line) == 2 and not is_equation:
            line = [line[0] / line[1]]
        if start:
            self._say(start, *line[::-1])
        while self.pending:
            said, done = self._next()
            line = self._tidy(line, done)
            self.pending = {node: leaf for node, leaf in self.pending.items() if leaf not in done}
            self._say(said, *line[::-1])
        if not self.full.keys().isdisjoint(reachable(line)):
            line = self._tidy([self._in_full(side) for side in line], {})
            self._say("substitute back", *line[::-1])
        if left is not None and slope is not None and left in reachable(line):
            line = self._tidy(line, {left: slope})
            self._say(f"substitute {left.name}", *line)
        if is_equation:
            self._say("solve", None, left)
            return self.found
        rule = "simplify"
        final = sorted(self.final.text or "")
        if [sorted(last.formula) for last in self.found[-1:]] == [final]:
            rule = self.found.pop().rule  # equals the final formula but for the order
        self._say(rule, None)
        return self.found

    def _tidy(self, line: list[Expr], done: Mapping[Expr, Expr]) -> list[Expr]:
        """Return the sides of a line as a person writes them, with leaves replaced by ``done``."""
        domain = Tidied(self.graph)
        new = interpret(reachable([*done.values()]), domain)
        known: dict[Expr, Any] = {leaf: new[each] for leaf, each in done.items()}
        found = interpret(reachable(line), domain, known)
        return [found[side] for side in line]

    def _leaf(self, node: Expr) -> Expr:
        """Return a leaf for the derivative of a node."""
        leaf = self.graph.leaf("d/dx", node.shape)
        name = self.x.name
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
        return self.pending[node]

    def _next(self) -> tuple[str, dict[Expr, Expr]]:
        """Return the next rule, and what replaces the derivatives that it finds."""
        constants = {
            leaf: self.graph.constant(0)
            for node, leaf in self.pending.items()
            if not self._moves(node)
        }
        if constants:
            return "constant rule", constants
        if self.x in self.pending:
            return "variable", {self.pending[self.x]: self.graph.constant(1)}
        before = dict(self.pending)
        node = next(iter(before))
        rule, found = self._apply_rule(node)
        new = {each: leaf for each, leaf in self.pending.items() if each not in before}
        self.pending = new | before  # derivatives that the rule leaves open are found next
        return rule, {before[node]: found}

    def _apply_rule(self, node: Expr) -> tuple[str, Expr]:
        """Return the derivative of a node by the rule for its operation."""
        if node in self.meanings:
            return "substitution", self._still(self.meanings[node])
        op = node.op
        assert op is not None
        operands = node.given_operands
        moving = [self._moves(operand) for operand in operands]
        algebra = op.algebra
        if algebra in _SIGNS:
            terms = [sign * self._still(term) for sign, term in self._flatten(node, _SIGNS)]
            return "sum rule" if len(terms) > 2 else f"{algebra} rule", reduce(add, terms)
        factors = self._flatten(node, _EXPONENTS)
        if len(factors) > 1:
            return self._product(factors)
        if algebra == "choice":
            condition, *branches = operands
            return "case by case", where(condition, *map(self._still, branches))
        if algebra == "power" and all(moving):
            return "logarithmic differentiation", self._by_logarithms(node, *operands)
        if algebra in ("total", "mean") and not node.shape:
            return self._sum_up(node, op)
        if algebra == "matrix product" and not node.shape:
            return "dot product", self._still(sum_(reduce(mul, operands)))
        if op.partials is None:
            raise NoText
        if algebra == "power" and moving[1]:
            base, exponent = operands
            factor = textbook(log(base)) if base.is_constant else log(base)  # 1 for the base e
            rule = "exponential rule"
            slopes = [(exponent, node * factor)]
        else:
            rule = f"{_spoken_name(op)} rule"
            slopes = [
                (operand, self._partial(node, place))
                for place, (operand, partial) in enumerate(zip(operands, op.partials, strict=False))
                if moving[place] and partial is not None
            ]
        if not slopes:
            return f"{op.name} is flat", self.graph.constant(0)
        terms = [
            slope if operand is self.x else slope * self._still(operand)
            for operand, slope in slopes
        ]
        chained = any(operand is not self.x for operand, _ in slopes)
        return f"chain rule, {rule}" if chained else rule, reduce(add, terms)

    def _flatten(self, node: Expr, roles: Mapping[str, Sequence[int]]) -> list[tuple[int, Expr]]:
        """Return the terms of a sum with signs, or the factors of a product with exponents."""
        found: list[tuple[int, Expr]] = []
        stack: list[tuple[int, Any]] = [(1, node)]
        while stack:
            sign, each = stack.pop()
            role = each.op.algebra if each.op is not None and self._moves(each) else ""
            signs = roles.get(role, ())
            stack += [
                (sign * s, operand) for s, operand in zip(signs, each.operands, strict=False)
            ][::-1]
            if role == "negation" and signs:
                found.append((1, self.graph.constant(-1)))
            elif not signs:
                found.append((sign, each))
        return found

    def _product(self, factors: list[tuple[int, Expr]]) -> tuple[str, Expr]:
        """Return the derivative of a product by the rule for its factors."""
        fixed, moving = (
            [
                [each for sign, each in factors if sign == wanted and self._moves(each) == moves]
                for wanted in (1, -1)
            ]
            for moves in (False, True)
        )
        number = self.graph.constant
        constant, (above, below) = quotient_of(1, number, *fixed), moving
        if above and any(fixed):
            inner = quotient_of(1, number, above, below)
            return "constant multiple rule", constant * self._still(inner)
        if below:
            b = reduce(mul, below)
            if not above:
                return "reciprocal rule", -(constant * self._still(b)) / b**2
            a = reduce(mul, above)
            return "quotient rule", (self._still(a) * b - a * self._still(b)) / b**2
        products = [
            reduce(mul, (*above[:i], self._still(each), *above[i + 1 :]))
            for i, each in enumerate(above)
        ]
        return "product rule", reduce(add, products)

    def _by_logarithms(self, node: Expr, base: Expr, exponent: Expr) -> Expr:
        """Return y' as y*(ln y)', where y is a power.

        Lines for y and for its logarithm are added.
        """
        names = (f"{letter}{i or ''}" for i in range(_MOST) for letter in "yuvw")
        y = self._let(next(name for name in names if name not in self.taken), node)
        logarithm = exponent * log(base)
        slope = self._still(logarithm)
        self._say("take logarithms", logarithm, log(y))
        self._say("differentiate both sides", slope, self._leaf(y) / y)
        found: Expr = node * slope
        return found

    def _sum_up(self, node: Expr, op: Op) -> tuple[str, Expr]:
        """Return the derivative of a sum or a mean of entries."""
        inner = node.operand
        if not self.x.shape:
            return "sum rule, term by term", self.graph.apply(op, [self._still(inner)], node.static)
        if inner.shape != self.x.shape or not is_entrywise(reachable([self._in_full(inner)])):
            raise NoText  # an entry of the sum depends on several entries of x
        count = inner.size if op.algebra == "mean" else 1
        return "sum rule, entry by entry", self._still(inner) / count

    def _partial(self, node: Expr, place: int) -> Expr:
        """Return the partial of a node by an operand, in its simplest form.

        The form holds for operands of any kind.
        """
        simple, _, stand_ins = edge_formulas(node, place, self.graph.limits)
        if simple is None:
            raise NoText
        operands: dict[Any, Any] = dict(zip(stand_ins, node.operands, strict=True))
        return rebuild([simple], operands, graph=self.graph)[0]


# -- Derivations for a query: the lines for each formula, the last of which is what `gradcli diff`
# prints.


def _spoken_name(op: Op) -> str:
    """Return the name that people give an operation.

    It is the last words of "The natural logarithm.", or else the operation's role or name.
    """
    said = re.match(r"The (?:natural |real )?([a-z]+(?: [a-z]+){0,2}?)(?:[,.;]| to )", op.doc)
    role = op.algebra
    return (
        said[1]
        if said
        else "power"
        if role in ("square", "power")
        else role
        if role == "exponential"
        else op.name
    )


def derive(made: General, record: DerivativeRecord, parts: Sequence[Expr] = ()) -> None:
    """Put the derivation of each formula that has none into its record. Raises LimitError.

    made   the expression
    parts  where the record is of a name that an equation or a curve gives: the sides; or y, and x
           unless that is the parameter; for a higher derivative the one below it in place of y, and
           dy/dx after it if an equation gives it
    """
    of, graph = record.dependent, made.graph
    for path, final in record.formulas.items():
        *above, name = path
        key = ",".join(path)
        x = made.names.get(name, graph.leaf(name, ()))
        if key in record.steps:
            continue
        if final.text is None:
            record.warnings.append(
                f"there are no steps by {key}: the derivative has no short formula"
            )
            continue
        rates = {
            node: graph.leaf(f"d{each}_d{name}", ())
            for each, node in made.names.items()
            if each in record.depending
        }
        left = rates.get(made.names[of]) if of in made.names else None
        roots = [*(parts or [made.nodes.get((*above,), made.root)])]
        start = ""
        slope = None
        if of and not record.depending:  # a curve: differentiate by its parameter
            (x,) = made.names.values()
            if len(roots) > 1:
                start = f"rate of {'the slope' if above else of} over that of {name}"
        elif of and above:
            start = "differentiate again"
            slope = roots.pop()
        elif of:
            start = "differentiate both sides"
            roots += [graph.constant(0)] * (len(roots) == 1)
        record.steps[key] = [Step("gradient", final.text, None, final.latex)]
        with suppress(NoText):
            derivation = Derivation(made, x, final, rates)
            record.steps[key] = derivation.derive(roots, start, left, slope)


def steps_of(
    scope: Scope, root: Expr, wrt: Mapping[str, Expr], latex: bool, warnings: list[str]
) -> Steps:
    """Return the derivations of a query whose names have values.

    ``warnings`` tell which derivations there are not.

    Raises GradcliError where there is no formula.
    """
    made = general(scope, root, wrt, [{}], 1)
    record = DerivativeRecord("", formulas=made.derivatives(list(wrt), 1, latex), warnings=warnings)
    derive(made, record)
    return record.steps
