"""From a lowered query to its record.

A record has the value, the seed, the derivatives asked for, formulas, and the cross-check. This is
the one place where language, engine, judge and report meet; the command line and the Python API are
two ways to call it.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import numpy as np

from gradcli.errors import GradcliError, Source, as_gradcli_error
from gradcli.graph.interpret import WITH_GRADIENT, Values, forward, held_by, hold_program, hold_work
from gradcli.graph.nodes import Expr, reachable
from gradcli.language.run import Lowered, Program
from gradcli.language.scope import Scope, StaticUse
from gradcli.language.statements import parse_statements, without_bad_help
from gradcli.language.tree import Asked, Assertion, Statement
from gradcli.ops.calling.inputs import numpy_dtype
from gradcli.ops.calling.prefixes import JAX
from gradcli.options import Options
from gradcli.query.derivatives import (
    choices_of_jax,
    first_nonfinite,
    gradient,
    has_nan,
    has_powers,
    hessian,
    hvp,
    jacobian,
    jvp,
    nan_in_pytorch,
    nonfinite,
    nonfinite_of_large,
    nowhere,
    numbers_like,
    remarks,
)
from gradcli.query.programs import missing, variables
from gradcli.report.records import Answer, Record

if TYPE_CHECKING:
    from gradcli.check.claims import Given
    from gradcli.query.templates import CompilationCache


Kind = TypeVar("Kind", bound=Answer)

# -- Queries over large arrays, from how many entries on: by a plan, in blocks --------------------


_LARGE = 1 << 17  # entries from which on an array is large


def pays_to_plan(order: Sequence[Expr], backend: str) -> bool:
    """Return whether compiling a plan pays for one evaluation.

    It does for arrays of a million entries, which leave the cache one after another. Native code
    that is asked for is made for any array.
    """
    return any(
        node.is_leaf and (backend == "native" or math.prod(node.shape) > _LARGE)
        for node in order
        if node.shape
    )


def by_plan(
    scope: Scope, root: Expr, wrt: Mapping[str, Expr], seed: Any, options: Options
) -> tuple[Any, dict[str, Any]]:
    """Compute value and gradients by a plan, in blocks.

    Memory holds inputs and results, and results may lie in files. ``seed`` is the cotangent of the
    root, or None for ones. ``place`` of ``options`` gives the array that takes a result, or None
    for a new one.
    """
    from gradcli.plans.plan import Plan
    from gradcli.plans.source import Gradients

    leaves = [node for node in reachable([root, *wrt.values()]) if node.is_leaf]
    values = [np.asarray(scope.values[leaf])[()] for leaf in leaves]
    cotangent = None
    if seed is not None:
        cotangent = scope.graph.leaf("seed", root.shape)
        leaves.append(cotangent)
        values.append(seed)
    hold_work(scope.graph.limits, reachable([root]), wrt.values())
    subject = Gradients(root, list(wrt.values()), cotangent)
    plan = Plan(subject, leaves, scope.precision, backend=options.backend, threads=options.threads)
    dtype = numpy_dtype("float", scope.precision)
    shapes = {"value": root.shape, **{name: x.shape for name, x in wrt.items()}}
    places = [
        None if options.place is None else options.place(name, shape, dtype)
        for name, shape in shapes.items()
    ]
    in_files = sum(p.nbytes for p in places if p is not None)
    scope.limits.check_memory(
        plan.memory - in_files + held_by(scope.values.values()), WITH_GRADIENT
    )
    results = plan(values, [None if p is None else np.asarray(p) for p in places])
    value, *gradients = [
        result if p is None else p for result, p in zip(results, places, strict=True)
    ]
    return value, dict(zip(wrt, gradients, strict=True))


# -- What is given beside a query's program: claims on its result, read in its scope, and the seed -


def claims_of(
    program: Program, record: Record, options: Options
) -> tuple[list[Given], Expr | None]:
    """Return the claims on a query, read in its scope, where ``seed`` is the seed."""
    if not options.claims:
        return [], None
    from gradcli.check.claims import Given

    scope = program.scope
    seed = None
    meanings = dict(scope.names)
    scope.names.update(scope.leaves)  # names in claims mean the values bound to them
    if "seed" not in scope.names:
        seed = scope.bind_value("seed", record.seed)
    found = []
    try:
        for claim in options.claims:
            formula, numbers = None, claim.numbers
            if claim.text is not None:
                node = program.read(claim.text, f"<claim of {claim.of}>")
                if claim.formula or program.lowering.mentions:
                    formula = node
                else:
                    numbers = program.bindings.raw(node)
            found.append(
                Given(claim.of, formula, numbers, options.rtol, options.atol, around=claim.around)
            )
    finally:
        if seed is not None:
            scope.unbind("seed")
        scope.names.clear()
        scope.names.update(meanings)
    return found, seed


def seed_of(program: Program, root: Expr, options: Options) -> tuple[Any, bool]:
    """Return the cotangent of the output, of exactly its shape, and whether the user gave it."""
    dtype = numpy_dtype("float", program.scope.precision)
    if options.seed is None:
        one = dtype.type(1)
        return np.broadcast_to(one, root.shape) if root.shape else one, False  # no memory for ones
    seed = numbers_like(program, options.seed, "<seed>", "the seed", "the output", root.shape)
    return seed.astype(dtype)[()], True


_WORD = re.compile(r"[^\W\d]\w*")


class Script(NamedTuple):
    """The lines of a program, or of records, which have none of their own."""

    program: Program | None
    lines: Iterable[str]
    path: str | None = None  # path of the program's file; None for an expression
    stream: bool = False  # whether each line is answered as it arrives

    @property
    def opened(self) -> Program:
        """Return the program, of what is one."""
        assert self.program is not None
        return self.program

    def sources(self) -> Iterator[Source]:
        """Yield the logical lines of the program as its lines come."""
        name = None if self.path == "-" else self.path
        return self.opened.sources(self.lines, name, stream=self.stream)

    def statements(self) -> Iterator[Statement | GradcliError]:
        """Yield the statements of the program as its lines come."""
        for source in self.sources():
            yield from parse_statements(source, self.opened.scope.limits.length)


def records(
    script: Script, options: Options, cache: CompilationCache | None = None
) -> Iterator[Record]:
    """Yield the results of a program as its lines come.

    With a cache, queries of one template are compiled once.
    """
    program = script.opened
    scope = program.scope
    sources = script.sources()
    for source in sources if cache is None else program.bind_numbers(sources):
        record = None
        if cache is not None and not scope.deviations:
            record = cache.in_scope(scope, source, options)
        if record is not None:
            yield record
            continue
        for statement in parse_statements(source, scope.limits.length):
            record = run_statement(program, statement, options)
            if record is not None and not only_follows(statement, record):
                yield record


def join_records(found: Iterable[Record]) -> Record | None:
    """Return the result of a program with these records, up to the first that has an error."""
    result: Record | None = None
    queries = 0
    for record in found:
        queries += record.mode != "assert"
        result = record if result is None else result.join(record)
        if record.error is not None:
            return result
    return result and result.last_of(queries)


Lower = Callable[[Any], Lowered | None]  # executes a statement, giving it lowered
Fill = Callable[[Program, Lowered, Kind, Options], object]  # fills in the record of a statement


def run_statement(
    program: Program, statement: Statement | GradcliError, options: Options, *, id: Any = None, lower: Lower | None = None,
    fill: Fill[Record] | None = None,
) -> Record | None:  # fmt: skip
    """Execute one statement; a query, an assert or an error gives a record."""
    mode = "assert" if isinstance(statement, Assertion) else options.mode
    fill = fill or fill_statement
    return answer(Record, fill, program, statement, options, lower=lower, id=id, mode=mode)


def fill_statement(program: Program, lowered: Lowered, record: Record, options: Options) -> None:
    """Fill in the record of a query or an assert."""
    (_assert if record.mode == "assert" else fill_query)(program, lowered, record, options)


def record_of(kind: type[Kind], statement: Statement, id: Any = None, **known: Any) -> Kind:
    """Return an answer to a statement, of which nothing is known yet but where it stands."""
    line, column = statement.place
    return kind(statement.text, id, statement.source.name, line, column, **known)


def answer(
    kind: type[Kind], fill: Fill[Kind], program: Program, statement: Statement | GradcliError, options: Options, *,
    lower: Lower | None = None, id: Any = None, **known: Any,
) -> Kind | None:  # fmt: skip
    """Execute one statement, and return an answer of a kind.

    There is no answer to a statement that others build on, except for its error.

    - ``fill``: completes an answer
    - ``lower``: runs the statement, if the program does not
    - ``known``: fields of the answer that are known before
    """
    scope = program.scope
    if isinstance(statement, GradcliError):
        if statement.source is not None:
            scope.mentioned.update(_WORD.findall(statement.source.text))
        return kind.of_error(without_bad_help(statement, scope), id=id)
    record = record_of(kind, statement, id, **known)
    try:
        lowered = (lower or program.execute)(statement)
        if lowered is None:
            return None
        record.read_as, record.dialect = lowered.read_as, program.lowering.dialect
        record.warnings += lowered.notes
        fill(program, lowered, record, options)
    except Exception as error:
        return record.fail(locate(as_gradcli_error(error), scope, statement))
    finally:
        record.dialect = program.lowering.dialect
    return record


def answers(
    kind: type[Kind], fill: Fill[Kind], script: Script, options: Options, **known: Any
) -> Iterator[Kind]:
    """Yield the answers to all statements of a text except asserts, as `answer` gives them."""
    for statement in script.statements():
        record = (
            None
            if isinstance(statement, Assertion)
            else answer(kind, fill, script.opened, statement, options, **known)
        )
        if record is not None and not only_follows(statement, record):
            yield record


def only_follows(statement: Statement | GradcliError, record: Answer) -> bool:
    """Return whether a record has nothing new to report.

    It is that of a binding that fails because one before it has failed; the error of that one is
    reported.
    """
    is_case = isinstance(statement, Asked | GradcliError)
    return not is_case and record.error is not None and record.error.follows is not None


def locate(error: GradcliError, scope: Scope, statement: Statement) -> GradcliError:
    """Point at the node where evaluation failed, or else at the statement."""
    places = scope.spans(error.node) if error.node is not None else []
    if places:
        error.at(places[-1][1], places[-1][0])
    return error.at(statement.span, statement.source)


def fill_query(program: Program, lowered: Lowered, record: Record, options: Options) -> None:
    """Fill in a query's record, and show it to an observer."""
    scope, root = program.scope, lowered.value
    order = reachable([root])
    wrt = _variables(scope, order, lowered, record, options)
    values = _evaluate(program, root, wrt, order, record, options)
    if root.kind != "float":
        record.warnings.append(
            f"the result is {'boolean' if root.kind == 'bool' else 'whole numbers'}: it has no "
            "gradient"
        )
        record.grad, wrt = {}, {}
    if options.at:
        record.at = {name: scope.evaluate(x) for name, x in wrt.items()}
    if values is not None:
        _differentiate(program, root, wrt, values, order, record, options)
    if record.dialect == JAX and record.seed is not None:
        record.warnings += choices_of_jax(scope, root, wrt, record)
    if (scope.deviations or options.covariances) and root.kind == "float":
        from gradcli.query.uncertainty import left_out, propagate

        if options.decide_asserts:
            record.warnings += left_out(scope, [root], "a verdict: it is about the values")
        else:
            record.uncertainty = propagate(scope, root, order, record, options.covariances)
    excused = _remarks(scope, order, wrt, lowered.static_uses, options, record) if wrt else {}
    if options.formula and wrt and options.mode in ("grad", "jacobian", "hessian"):
        from gradcli.query.general_formulas import derivative_formulas

        found = derivative_formulas(
            scope, root, wrt, options.mode, seed_given=record.seed_given, latex=options.latex
        )
        record.derivative_kind, record.derivative, record.latex = found
    if options.precision is not None and options.mode == "grad" and root.kind == "float":
        from gradcli.reference.digits import to_digits

        record.precise, record.precise_certified = to_digits(
            scope, root, wrt, record.seed, options.precision, record.grad or {}
        )  # fmt: skip
        if not record.precise_certified:
            record.warnings.append(
                "not every digit of the precision is proved: at kinks they are a choice, and without "
                "enclosures those that stay"
            )
    if options.check:
        claims, seed = claims_of(program, record, options)
        if options.over:
            from gradcli.query.over import hold_over

            record.check = hold_over(scope, lowered, wrt, claims, options)
        if record.check is None:
            from gradcli.check.crosscheck import cross_check

            record.check = cross_check(
                scope, root, wrt, record, options, claims, seed, excused
            )  # fmt: skip
    if options.observer is not None:
        options.observer(program, lowered, wrt, record, options)


def _variables(
    scope: Scope, order: Sequence[Expr], lowered: Lowered, record: Record, options: Options
) -> dict[str, Expr]:
    """Return the names to differentiate by, and those that derivatives are claimed by."""
    wrt, warnings = variables(scope, order, options, lowered.static_uses)
    record.warnings += warnings
    claimed = tuple(claim.of for claim in options.claims if claim.of not in {"value", *wrt})
    for name in claimed:
        if scope.subject(name) is None:
            raise missing(name, scope.names, scope.mentioned)
    if not claimed:
        return wrt
    further = replace(options, wrt=claimed, freeze=())
    return wrt | variables(scope, order, further, lowered.static_uses).nodes


def _evaluate(
    program: Program,
    root: Expr,
    wrt: dict[str, Expr],
    order: Sequence[Expr],
    record: Record,
    options: Options,
) -> Values | None:
    """Put the value into a record and return the values of all nodes.

    Return None where a plan has computed the gradient with it.
    """
    scope = program.scope
    is_gradient = options.mode == "grad" and root.kind == "float"
    if is_gradient and options.observer is None and pays_to_plan(order, options.backend):
        record.seed, record.seed_given = seed_of(program, root, options)
        record.value, record.grad = by_plan(
            scope, root, wrt, record.seed if record.seed_given else None, options
        )
        if first_nonfinite(record.value) is not None:
            record.warnings += nonfinite_of_large(scope, order)
        return None
    if scope.graph.is_heavy:
        hold_program(scope.limits, order, scope.values, wrt.values() if is_gradient else None)
    values = forward([root], scope.values, scope.precision, order)
    record.value = values[root]
    record.warnings += nonfinite(scope, order, values)
    return values


def _differentiate(
    program: Program,
    root: Expr,
    wrt: dict[str, Expr],
    values: Values,
    order: Sequence[Expr],
    record: Record,
    options: Options,
) -> None:
    """Put the derivatives that are asked for into a record."""
    scope = program.scope
    if options.mode == "jvp":
        record.jvp = jvp(program, root, values, options, record)
    elif options.mode == "jacobian":
        record.jacobian = {name: jacobian(scope, root, x, values) for name, x in wrt.items()}
    elif options.mode == "hessian":
        record.hessian = hessian(scope, root, wrt, values)
    elif options.mode == "hvp":
        record.hvp = hvp(program, root, wrt, values, options, record)
    else:
        record.seed, record.seed_given = seed_of(program, root, options)
        decided: list[Expr] = []
        record.grad = gradient(scope, root, wrt, record.seed, values, order, decided)
        if decided or any(
            node.op and node.op.kind == "flat" and node.kind == "float" for node in order
        ):
            record.warnings += nan_in_pytorch(scope, root, wrt, record, values, order)


def _remarks(
    scope: Scope,
    order: Sequence[Expr],
    wrt: dict[str, Expr],
    uses: Sequence[StaticUse],
    options: Options,
    record: Record,
) -> dict[str, str]:
    """Warn of entries that are zero, incomplete or NaN for a reason that the text shows.

    Returns the names that no verdict is about.
    """
    if record.mode == "jvp":
        return {}
    if record.mode == "grad":
        entries = (record.grad or {}).items()
        zero = [
            name
            for name, found in entries
            if not (found if type(found) is np.float64 else np.any(found))
        ]
    else:
        entries = (record.jacobian or record.hessian or {}).items()
        zero = [*wrt]
    excused: dict[str, str] = {}
    if zero or uses:
        warnings, excused = remarks(scope, order, wrt, uses, options, zero)
        record.warnings += warnings
    powers = has_powers(order)
    lost = {name: wrt[name] for name, found in entries if powers and has_nan(found)}
    if not lost:
        return excused
    without = nowhere(scope, order, lost)
    record.warnings += without.values()
    asked = {*(options.wrt or ()), *(claim.of for claim in options.claims)}
    return {**excused, **{name: reason for name, reason in without.items() if name not in asked}}


def _assert(program: Program, lowered: Lowered, record: Record, options: Options) -> None:
    """Decide an assert.

    Its relations are compared in floats, entry by entry, and by the reference.
    """
    scope = program.scope
    if scope.deviations:
        from gradcli.query.uncertainty import left_out

        sides = [side for relation in lowered.relations for side in relation[1:]]
        record.warnings += left_out(scope, sides, "an assert: it is about the values")
    from gradcli.check.asserts import compare_relations, decide_assert, decide_over

    if lowered.ranges:
        relations, check = decide_over(scope, lowered, options)
        record.check = check if options.check else None
        record.take_outcome(relations)
        return
    relations = compare_relations(scope, lowered)
    if options.decide_asserts and options.check:
        record.check = decide_assert(scope, lowered, relations, record, options)
    record.take_outcome(relations)
