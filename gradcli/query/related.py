"""Derivatives of what an equation or a curve gives, and of quantities that depend on another: dy/dx
of ``x^2 + y^2 = 25`` and of ``x = cos(t); y = sin(t)``, and d/dt of ``pi r^2 h`` where r and h
depend on t.

Each is an expression of partial derivatives, in the language itself. Its formula is that of the
derivative by a factor before it, and so it is held to the reference as those are.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field, replace

from gradcli.containment import as_gradcli_error
from gradcli.errors import EvaluationError, ShapeError, UnknownNameError, UsageError
from gradcli.graph.nodes import reachable
from gradcli.language.lowering import as_read
from gradcli.language.run import Program
from gradcli.language.tree import Binary, Expression, Node, Query, rewritten
from gradcli.query.evaluate import record_of
from gradcli.query.free_variables import SampledPoints, lower_freely
from gradcli.query.general_derivatives import Asked, Subject, derivative, query_of
from gradcli.report.derivative_record import DerivativeRecord, Path
from gradcli.report.verdicts import Check, Verdict


@dataclass(frozen=True)
class Implicit:
    """The slope of a name that an equation gives as a function of the others, -F_x/F_y, or that a
    curve gives, (dy/dt)/(dx/dt).
    """

    dependent: str

    def __call__(
        self, program: Program, statement: Query, asked: Asked, id: object
    ) -> DerivativeRecord:
        y = self.dependent
        record = record_of(DerivativeRecord, statement, id, order=asked.order, dependent=y)

        def fill(text: str, names: list[str], formulas: _Formulas) -> None:
            bound = [name for name in program.scope.names if not program.scope.names[name].is_leaf]
            curve = y in bound
            if not curve and y not in names:
                raise UnknownNameError(f"the equation has no name '{y}' that depends on the others")
            if curve and len(names) != 1:
                said = ", ".join(names) or "no name"
                raise UsageError(f"a curve depends on one name, and '{y}' on {said}")
            others = [name for name in (bound if curve else names) if name != y] or names
            record.names, record.absent = asked.names or tuple(others), ()
            record.known = () if curve else record.known
            if asked.order > 1 and len(record.names) > 1:
                raise UsageError(
                    "a higher derivative is by one name", help=f"write {record.names[0]} after it"
                )
            for x in record.names:
                if x not in others:
                    raise UnknownNameError(f"'{y}' does not depend on '{x}'")
                (t,) = names if curve else (x,)
                by = f"/grad({x}, {t})" if curve and x != t else ""
                slope = value = (
                    f"grad({y}, {t}){by}" if curve else f"-grad({text}, {x})/grad({text}, {y})"
                )
                for order in range(1, asked.order + 1):
                    value = formulas.find(value, (x,) * order)
                    slope = value if order == 1 else slope
                    rest = "" if curve else f" + grad({value}, {y})*({slope})"
                    value = f"grad({value}, {t}){by}{rest}"

        return _answer(program, statement, asked, record, fill)


@dataclass(frozen=True)
class Rates:
    """The rate of an expression by a name that others depend on: ``dr_dt`` is the rate of r."""

    by: str

    def __call__(
        self, program: Program, statement: Query, asked: Asked, id: object
    ) -> DerivativeRecord:
        t = self.by
        record = record_of(DerivativeRecord, statement, id, names=(t,), dependent="")

        def fill(text: str, names: list[str], formulas: _Formulas) -> None:
            if asked.order > 1:
                raise UsageError("--of gives first derivatives")
            depending = asked.names or tuple(name for name in names if name != t)
            terms = [f"grad({text}, {name})*d{name}_d{t}" for name in depending if name != t]
            if terms:
                rates = [f"d{name}_d{t} is the rate of {name}" for name in depending if name != t]
                record.warnings.append(", ".join(rates))
            terms += [f"grad({text}, {t})"] if t in names else []
            if not terms:
                raise UsageError(f"nothing here depends on '{t}'")
            formulas.find(" + ".join(terms), (t,))

        return _answer(program, statement, asked, record, fill)


def related_of(implicit: str | None, of: str | None) -> Implicit | Rates | None:
    """Return what takes the place of expressions: an equation's slope, or a rate.

    Raises UsageError for what is no name.
    """
    for option, name in (("--implicit", implicit), ("--of", of)):
        if name is not None and not name.isidentifier():
            raise UsageError(f"{option} takes a name, not '{name}'")
    if implicit is not None:
        return Implicit(implicit)
    return None if of is None else Rates(of)


_EQUALS = re.compile(r"(?<![=<>!])=(?!=)")
_HEAD = re.compile(r"\s*[^\W\d]\w*\s*(?:\([^()]*\))?\s*")  # of a binding or a definition


def as_equation(text: str) -> str:
    """A text whose last statement may be an equation as people write it, with one sign "="."""
    before, mark, last = text.rpartition(";")
    sides = _EQUALS.split(last)
    is_equation = len(sides) == 2 and not _HEAD.fullmatch(sides[0])
    return f"{before}{mark}{sides[0]}=={sides[1]}" if is_equation else text


def _answer(
    program: Program,
    statement: Query,
    asked: Asked,
    record: DerivativeRecord,
    fill: Callable[[str, list[str], _Formulas], None],
) -> DerivativeRecord:
    """Fill a record by an expression as text, an equation being the difference of its sides; its
    names without values; and what finds formulas. An error becomes the record's.
    """
    try:
        read = as_read(statement.expression, program.scope)
        own = program.scope.functions

        def text(node: Node) -> str:
            return rewritten(Expression(node, []), own)

        root = read.root
        said = text(root)
        if isinstance(root, Binary) and root.operator == "==":
            said = f"{text(root.left)} - ({text(root.right)})"
        lowered = lower_freely(program, query_of(said, program), asked.names or (), can_list=True)
        assert lowered is not None
        if lowered.value.shape or lowered.value.kind == "bool":
            what = "a truth" if lowered.value.kind == "bool" else "an array"
            raise ShapeError(f"this is for equations and numbers, not for {what}")
        free = SampledPoints(program, lowered, asked.options).leaves
        here = [node.payload.name for node in reachable([lowered.value]) if node.is_leaf]
        names = [*free] or list(dict.fromkeys(here))
        record.read_as = text(root) if read.implied else None
        record.known = tuple(sorted({*names, *here}))
        record.absent = tuple(name for name in asked.names or () if name not in names)
        fill(said, names, _Formulas(program, asked, record, _unused(said)))
    except Exception as error:
        record.fail(as_gradcli_error(error).at(statement.span, statement.source))
    return record


def _unused(text: str) -> str:
    """A name that a text does not have."""
    return next(name for name in map("factor{}".format, range(len(text) + 1)) if name not in text)


@dataclass
class _Formulas:
    """Finds formulas of values, and gathers the verdicts on them in a record."""

    program: Program
    asked: Asked
    record: DerivativeRecord
    factor: str
    check: Check = field(default_factory=lambda: Check(Verdict.AGREE))

    def find(self, value: str, path: Path) -> str:
        """Put the formula of a value into the record, and return it.

        Raises the error that the value has, and EvaluationError where it has no short formula.
        """
        query = query_of(f"{self.factor}*({value})", self.program)
        plain = replace(self.asked, names=(self.factor,), order=1, related=None)
        found = derivative(self.program, Subject(query, query, plain.names), plain)
        if found.error is not None:
            raise found.error.error
        formula = found.formulas[found.names]
        self.record.formulas[path] = formula
        self._take(found, ",".join(path))
        if formula.text is None:
            raise EvaluationError("the derivative has no short formula")
        return formula.text

    def _take(self, found: DerivativeRecord, of: str) -> None:
        record, check = self.record, found.check
        record.warnings += [text for text in found.warnings if self.factor not in text]
        if check is None:
            return
        for part in check.variables.values():
            self.check.variables[of] = part
        for claim in check.claims:
            claim.of = of
        self.check.claims += check.claims
        if check.verdict > self.check.verdict:
            reason = check.reason or ""
            said = reason.partition(":")[0] if self.factor in reason else check.reason
            self.check.verdict, self.check.reason = check.verdict, said
        record.check = self.check
        record.points = min(record.points or found.points, found.points)
