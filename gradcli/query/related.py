"""Derivatives of names that an equation or a curve gives, and of related quantities.

Examples are dy/dx of ``x^2 + y^2 = 25`` and of ``x = cos(t); y = sin(t)``, and d/dt of ``pi r^2 h``
where r and h depend on t.

Each is an expression of partial derivatives, in the language itself. Its formula is that of the
derivative by a factor before it, so that it is held to the reference as other derivatives are.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import NamedTuple, TypeGuard

import numpy as np

from gradcli.check.verdicts import Check, Verdict
from gradcli.errors import (
    EvaluationError,
    GradcliError,
    ShapeError,
    UnknownNameError,
    UsageError,
    as_gradcli_error,
)
from gradcli.formulas.derivatives import general
from gradcli.formulas.printing import formula
from gradcli.formulas.textbook import textbook
from gradcli.graph.nodes import Expr, reachable
from gradcli.language.lowering import as_read
from gradcli.language.run import Program
from gradcli.language.scope import Scope
from gradcli.language.spelling import rewritten
from gradcli.language.syntax import Binary, Expression, Node, Query
from gradcli.notation import Path
from gradcli.ops.elementwise.arithmetic import sub
from gradcli.options import Options
from gradcli.query.bindings import as_equations
from gradcli.query.free_variables import SampledPoints, lower_freely
from gradcli.query.general_derivatives import derivative, query_of
from gradcli.query.programs import Script, record_of, run_statement
from gradcli.report.derivative_record import DerivativeRecord, Step
from gradcli.report.records import Answer, Record
from gradcli.texts import Span, text_lines

_NO_NAME = "the equation has no name '{}' that depends on the others"
_ON_CURVE = 1e-3  # how far apart the sides of an equation may be at a rounded point


@dataclass(frozen=True)
class Implicit:
    """Slope of a name that depends on the others.

    It is -F_x/F_y if an equation gives the name as a function of the others, and (dy/dt)/(dx/dt) if
    a curve gives it.
    """

    dependent: str

    def __call__(self, program: Program, statement: Query, asked: Options) -> DerivativeRecord:
        y = self.dependent
        record = record_of(DerivativeRecord, statement, order=asked.order, dependent=y)
        record.depending = (y,)

        def fill(text: str, names: list[str], formulas: _Formulas) -> None:
            slopes, curve = self._slopes(program, text, names, asked.wrt)
            record.names = tuple(slopes)
            record.absent = ()
            if curve:
                record.known = record.depending = ()
            if asked.order > 1 and len(slopes) > 1:
                raise UsageError(
                    "a higher derivative is by one name", help=f"write {record.names[0]} after it"
                )
            sides = _operands(formulas.root)
            bound = program.scope.names
            for x, (slope, t, by) in slopes.items():
                first = value = formulas.find(slope, (x,))
                along = [bound[x]] if by else []
                formulas.show([y, t], [bound[y], *along] if curve else sides)
                for order in range(2, asked.order + 1):
                    path = (x,) * order
                    below = [formulas.lower(value), *along]
                    rest = "" if curve else f" + grad({value}, {y})*({first})"
                    value = formulas.find(f"grad({value}, {t}){by}{rest}", path)
                    formulas.show([y, t], below if curve else [*below, formulas.lower(first)])
                    if rest and len(sides) > 1:  # its shorter side stands for both
                        left, right = [f"({formula(textbook(side))})" for side in sides]
                        shorter = value.replace(left, min(left, right, key=len))
                        if shorter != value:
                            value = formulas.find(shorter, path, "use the equation")

        return _answer(program, statement, asked, record, fill)

    def at_points(self, script: Script, options: Options) -> Iterator[Record]:
        """Yield the value of the name and its slopes where all names have values, for each query.

        A curve without a query is evaluated where the program ends.
        """
        found = False
        program = script.opened
        for statement in with_equations(script, self).statements():
            if isinstance(statement, Query):
                record: Record | None = self._at_point(program, statement, options)
            else:
                record = run_statement(program, statement, options)
            if record is not None:
                found = True
                yield record
        if not found:
            last = self._at_point(program, query_of(self.dependent, program), options)
            last.expr = "; ".join(each.text for each in program.scope.bindings.values())
            yield last

    def _at_point(self, program: Program, statement: Query, options: Options) -> Record:
        record = record_of(Record, statement, dependent=self.dependent)
        scope = program.scope
        try:
            text, record.read_as = _zero_of(program, statement)
            lowered = program.execute(query_of(text, program))
            assert lowered is not None
            names = _leaves_of(lowered.value)
            slopes, curve = self._slopes(program, text, names, options.wrt)
            y = scope.names[self.dependent]
            record.value = scope.evaluate(y)
            record.partial = not curve and len(names) > 2
            if not curve:
                record.warnings += _off_curve(scope, lowered.value, y)
            record.grad, record.derivative, record.latex = {}, {}, {}
            factor = _unused(text)
            scope.bind_value(factor, np.float64(1.0))
            for x, (slope, *_) in slopes.items():
                asked = options.but(wrt=(factor,))
                found = run_statement(program, query_of(f"{factor}*({slope})", program), asked)
                assert found is not None
                if found.error is not None:
                    raise found.error
                if found.uncertainty is not None:
                    raise UsageError("--implicit takes exact values, without ±")
                for part in ("grad", "derivative", "latex"):
                    if found_part := getattr(found, part):
                        getattr(record, part)[x] = found_part[factor]
                _take(record, found, x, factor, slope)
        except Exception as error:
            record.fail(_at_statement(error, statement))
        return record

    def _slopes(
        self, program: Program, text: str, names: Collection[str], asked: tuple[str, ...] | None
    ) -> tuple[dict[str, tuple[str, str, str]], bool]:
        """Return for each name the slope as text, the curve's parameter, and the divisor.

        The slope's derivatives are divided by the divisor. Return also whether a curve gives it.
        """
        y, scope = self.dependent, program.scope
        bound = [name for name in scope.names if not scope.names[name].is_leaf]
        curve = y in bound
        if not curve and y not in names:
            raise UnknownNameError(
                _NO_NAME.format(y),
                help=f"a curve is written {y} = ..." if y in scope.functions else None,
            )
        if curve and len(names) != 1:
            said = ", ".join(names) or "no name"
            raise UsageError(f"a curve depends on one name, and '{y}' on {said}")
        others = [name for name in (bound if curve else names) if name != y]
        others = others or [*names] * curve
        if not others:
            raise UsageError(f"'{y}' depends on no other name: each has a value")
        slopes = {}
        for x in asked or others:
            if x == y or x not in (*others, *names):
                raise UnknownNameError(f"'{y}' does not depend on '{x}'")
            (t,) = names if curve else (x,)
            by = f"/grad({x}, {t})" if curve and x != t else ""
            slope = f"grad({y}, {t}){by}" if curve else f"-grad({text}, {x})/grad({text}, {y})"
            slopes[x] = slope, t, by
        return slopes, curve


@dataclass(frozen=True)
class Rates:
    """The rate of an expression by a name that others depend on: ``dr_dt`` is the rate of r.

    dependent  a name whose rate an equation gives by those of the others
    """

    by: str
    dependent: str | None = None

    def __call__(self, program: Program, statement: Query, asked: Options) -> DerivativeRecord:
        t, y = self.by, self.dependent
        record = record_of(DerivativeRecord, statement, names=(t,), dependent=y or "")

        def fill(text: str, names: list[str], formulas: _Formulas) -> None:
            if asked.order > 1:
                raise UsageError("--of gives first derivatives")
            if y is None and _is_equation(statement.expression.root):
                raise UsageError(
                    "an equation gives the rate of one name by those of the others",
                    help="say which: --implicit NAME",
                )
            if y is not None and y not in record.known:
                raise UnknownNameError(_NO_NAME.format(y))
            depending = [name for name in asked.wrt or names if name not in (t, y)]
            terms = [f"grad({text}, {name})*d{name}_d{t}" for name in depending]
            if terms:
                rates = [f"d{name}_d{t} is the rate of {name}" for name in depending]
                record.warnings.append(", ".join(rates))
            terms += [f"grad({text}, {t})"] if t in names else []
            if not terms:
                raise UsageError(f"nothing here depends on '{t}'")
            record.known = ()
            record.depending = (*depending, *([] if y is None else [y]))
            rate = " + ".join(terms)
            rate = rate if y is None else f"-({rate})/grad({text}, {y})"
            formulas.find(rate, (t,))
            value = formulas.lower(rate)
            scope = program.scope
            if not scope.free.keys() & {*_leaves_of(value)}:
                number = float(scope.evaluate(value))
                record.warnings.append(f"the rate is {number:.12g} at these values")
                if y is not None:
                    record.warnings += _off_curve(scope, formulas.root, scope.names[y])
            sides = [formulas.root] if y is None else _operands(formulas.root)
            formulas.show([t, *depending, y or t], sides)

        return _answer(program, statement, asked, record, fill)


def related_of(implicit: str | None, of: str | None) -> Implicit | Rates | None:
    """Return what takes the place of expressions: an equation's slope, or a rate.

    Raises UsageError for what is no name.
    """
    for option, name in (("--implicit", implicit), ("--of", of)):
        if name is not None and not name.isidentifier():
            raise UsageError(f"{option} takes a name, not '{name}'")
    if of is not None:
        return Rates(of, implicit)
    return None if implicit is None else Implicit(implicit)


def with_equations(script: Script, related: object) -> Script:
    """Return the script, whose statements may be equations with one "=" where names are related."""
    if not isinstance(related, (Implicit, Rates)):
        return script
    text = as_equations("".join(script.lines), related.dependent, of=isinstance(related, Rates))
    return script._replace(lines=text_lines(text) or [""], stream=False)


def _answer(
    program: Program,
    statement: Query,
    asked: Options,
    record: DerivativeRecord,
    fill: Callable[[str, list[str], _Formulas], None],
) -> DerivativeRecord:
    """Fill a record, or fail it with an error.

    ``fill`` takes the expression as text, in which an equation is the difference of its sides; the
    names without values; and the function that finds formulas.
    """
    try:
        said, record.read_as = _zero_of(program, statement)
        lowered = lower_freely(program, query_of(said, program), asked.wrt or ())
        assert lowered is not None
        here = _leaves_of(lowered.value)
        names = [*SampledPoints(program, lowered, asked).leaves]
        names += [name for name in asked.wrt or () if name in here and name not in names]
        if here and not names:
            raise UsageError(
                "all names have values",
                help="list after the expression those that vary; "
                "gradcli eval gives the slope at a point: --implicit",
            )
        record.known = tuple(sorted({*names, *here}))
        record.absent = tuple(name for name in asked.wrt or () if name not in names)
        fill(said, names, _Formulas(program, asked, record, _unused(said), lowered.value))
    except Exception as error:
        record.fail(_at_statement(error, statement))
    return record


def _off_curve(scope: Scope, sides: Expr, y: Expr) -> list[str]:
    """Return a warning if the difference of the sides of an equation is not zero."""
    off = float(scope.evaluate(sides))
    if abs(off) <= _ON_CURVE * (1 + abs(scope.evaluate(y))):
        return []
    return [f"the point is not on the curve: the sides differ by {off:.6g}"]


def _zero_of(program: Program, statement: Query) -> tuple[str, str | None]:
    """Return a query's text, and how it was read if that is not as it stands.

    An equation becomes the difference of its sides.
    """
    read = as_read(statement.expression, program.scope)
    own = program.scope.functions

    def text(node: Node) -> str:
        return rewritten(Expression(node, []), own)

    root = read.root
    said = text(root)
    read_as = said if read.implied else None
    if _is_equation(root):
        said = f"{text(root.left)} - ({text(root.right)})"
    return said, read_as


def _is_equation(root: Node) -> TypeGuard[Binary]:
    return isinstance(root, Binary) and root.operator == "=="


def _leaves_of(value: Expr) -> dict[str, Expr]:
    """Return the leaves of a number by their names. Raises ShapeError for anything else."""
    if value.shape or value.kind == "bool":
        what = "a truth" if value.kind == "bool" else "an array"
        raise ShapeError(f"this is for equations and numbers, not for {what}")
    return {node.name: node for node in reachable([value]) if node.is_leaf}


def _at_statement(error: Exception, statement: Query) -> GradcliError:
    """Return an error at the statement, because its own place is in a text that nobody wrote.

    Names that it points at may stand in both.
    """
    found = as_gradcli_error(error)
    span = statement.span
    if found.source is not None and found.span is not None:
        word = found.source.text[found.span.start : found.span.end]
        start = statement.source.text.find(word, span.start, span.end)
        span = Span(start, start + len(word)) if word.isidentifier() and start >= 0 else span
    found.source = found.span = None
    return found.at(span, statement.source)


def _unused(text: str) -> str:
    """Return a name that does not occur in a text."""
    return next(name for name in map("factor{}".format, range(len(text) + 1)) if name not in text)


class _Formulas(NamedTuple):
    """Finds formulas of values, and gathers the verdicts on them in a record."""

    program: Program
    asked: Options
    record: DerivativeRecord
    factor: str
    root: Expr

    def find(self, value: str, path: Path, rule: str = "") -> str:
        """Put the formula of a value into the record, and return it.

        ``rule`` makes it of the formula before it. Raises the error that the value has, and
        EvaluationError where it has no short formula.
        """
        query = query_of(f"{self.factor}*({value})", self.program)
        plain = self.asked.but(wrt=(self.factor,), order=1, related=None, observer=None)
        found = derivative(self.program, query, query, plain.wrt, plain)
        if found.error is not None:
            raise found.error
        text, latex = self.record.formulas[path] = found.formulas[found.names]
        _take(self.record, found, ",".join(path), self.factor)
        if text is None:
            raise EvaluationError("the derivative has no short formula")
        if rule and (steps := self.record.steps.get(",".join(path))):
            steps.append(Step(rule, text, None, latex))
        return text

    def lower(self, text: str) -> Expr:
        """Return the node of a text."""
        lowered = lower_freely(self.program, query_of(text, self.program))
        assert lowered is not None
        return lowered.value

    def show(self, names: Iterable[str], roots: Sequence[Expr]) -> None:
        """Show the observer one root or two, and what they are differentiated by.

        The record has their formula.
        """
        if self.asked.observer is None:
            return
        root = reduce(sub, roots)
        leaves = _leaves_of(root)
        wrt = {name: leaves[name] for name in names if name in leaves}
        made = general(self.program.scope, root, wrt, [], 1)
        parts = made.root.operands if len(roots) > 1 else [made.root]
        self.asked.observer(made, self.record, parts)


def _operands(root: Expr) -> Sequence[Expr]:
    """Return the sides of an equation, or else its only side."""
    return root.given_operands if root.op is sub else [root]


def _take(record: Answer, found: Answer, of: str, factor: str, slope: str = "") -> None:
    """Put the verdict on the derivative by a factor, and what is said of it, into a record.

    slope  the derivative as our text, which nobody wrote
    """
    for said in found.warnings:
        text = said.replace(f"'({slope})'", "the slope") if slope else said
        if factor not in text and text not in record.warnings:
            record.warnings.append(text)
    check = found.check
    if check is None:
        return
    whole = record.check = record.check or Check(Verdict.AGREE)
    whole.take(check, lambda _: of)
    if check.verdict > whole.verdict:
        reason = check.reason or ""
        whole.verdict = check.verdict
        whole.reason = reason.partition(":")[0] if factor in reason else check.reason
    record.points = min(record.points or found.points, found.points)
