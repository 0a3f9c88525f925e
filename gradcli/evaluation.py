"""From a lowered query to its record: the value, the derivatives asked for, formulas, and the cross-check.

This is the one place where language, engine, judge and report meet; the command line and the Python API are
two ways to call it.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from gradcli.derivatives import gradient, hessian, jacobian, jvp
from gradcli.engine.evaluate import forward
from gradcli.engine.graph import Expr, reachable
from gradcli.errors import GradcliError, MissingValueError, ShapeError, TypeMismatchError
from gradcli.language.program import Lowered, Program, default_wrt, sources
from gradcli.language.scope import Scope
from gradcli.language.statements import parse_statements
from gradcli.language.tree import Assertion, Statement
from gradcli.large import by_plan, is_large
from gradcli.nonfinite import first_nonfinite, nonfinite, nonfinite_of_large
from gradcli.ops.promotion import numpy_dtype
from gradcli.options import Options
from gradcli.report.records import Failure, Record

if TYPE_CHECKING:
    from gradcli.alike import Alike
    from gradcli.check.claims import Given


def records(program: Program, lines: Iterable[str], name: str | None, options: Options, alike: Alike | None) -> Iterator[Record]:
    """The results of a program as its lines come; with ``alike``, queries of one form are compiled once."""
    limits = program.scope.limits
    for source in sources(lines, name, limits):
        known = None if alike is None else alike.in_scope(program.scope, source, options)
        if known is not None:
            yield known
            continue
        for statement in parse_statements(source, limits.length):
            record = run_statement(program, statement, options)
            if record is not None:
                yield record


def run_statement(program: Program, statement: Statement | GradcliError, options: Options, *, id: Any = None) -> Record | None:
    """Execute one statement; a query, an assert or an error gives a record."""
    if isinstance(statement, GradcliError):
        return failed(statement, id=id)
    line, column = statement.source.position(statement.span.start)
    record = Record(statement.text, id, statement.source.name, line, column)
    record.mode = "assert" if isinstance(statement, Assertion) else options.mode
    try:
        lowered = program.execute(statement)
        if lowered is None:
            return None
        if isinstance(statement, Assertion):
            _assert(program.scope, lowered, options, record)
        else:
            _query(program, lowered, options, record)
    except GradcliError as error:
        return _with_error(record, locate(error, program.scope, statement))
    return record


def failed(error: GradcliError, *, id: Any = None, expr: str | None = None) -> Record:
    """The record of something that could not be read at all."""
    line, column = error.source.position(error.span.start) if error.source and error.span else (1, 1)
    if expr is None:
        expr = error.source.text.strip() if error.source else ""
    record = Record(expr if len(expr) <= 2000 else expr[:2000] + "…", id, error.source.name if error.source else None, line, column)
    return _with_error(record, error)


def _with_error(record: Record, error: GradcliError) -> Record:
    record.value = record.grad = record.seed = None
    record.error = Failure.of(error)
    return record


def locate(error: GradcliError, scope: Scope, statement: Statement) -> GradcliError:
    """Point at the node where evaluation failed, or else at the statement."""
    places = scope.spans(error.node) if error.node is not None else []
    if places:
        error.at(places[-1][1], places[-1][0])
    return error.at(statement.span, statement.source)


def _query(program: Program, lowered: Lowered, options: Options, record: Record) -> None:
    scope, root = program.scope, lowered.value
    order = reachable([root])
    wrt = variables(scope, order, options)
    for claim in options.claims:
        if claim.of != "value" and claim.of not in wrt:
            wrt = {**wrt, **variables(scope, order, replace(options, wrt=(claim.of,), freeze=()))}
    planned = options.mode == "grad" and root.kind == "float" and is_large(order)
    if planned:
        record.seed, record.seed_given = _seed(program, root, options)
        record.value, record.grad = by_plan(scope, root, wrt, record.seed if record.seed_given else None, options.place)
        if first_nonfinite(record.value) is not None:
            record.warnings += nonfinite_of_large(scope, order)
    else:
        values = forward([root], scope.values, scope.precision, order)
        record.value = values[root]
        record.warnings += nonfinite(scope, order, values)
    if not wrt and options.wrt is None and root.kind == "float":
        record.warnings += _held_constant(scope, root)
    if root.kind != "float":
        record.warnings.append(f"the result is {'boolean' if root.kind == 'bool' else 'whole numbers'}: it has no gradient")
        record.grad, wrt = {}, {}
    if options.mode == "jvp":
        record.jvp = jvp(program, root, values, options, record)
    elif options.mode == "jacobian":
        record.jacobian = {name: jacobian(scope, root, x, values) for name, x in wrt.items()}
    elif options.mode == "hessian":
        record.hessian = hessian(scope, root, wrt, values)
    elif not planned:
        record.seed, record.seed_given = _seed(program, root, options)
        record.grad = gradient(scope, root, wrt, record.seed, values, order)
    if options.formula and wrt and options.mode == "grad":
        from gradcli.formulas import derivative_formulas

        record.derivative_kind, record.derivative, record.latex = derivative_formulas(
            scope, root, wrt, seed_given=record.seed_given, latex=options.latex
        )
    if options.digits is not None and options.mode == "grad" and root.kind == "float":
        from gradcli.check.precise import to_digits

        record.precise = to_digits(scope, root, wrt, record.seed, options.digits)
    if options.check:
        from gradcli.check.crosscheck import cross_check

        claims, seed = _claims(program, root, record, options)
        record.check = cross_check(scope, root, wrt, record, options.timeout, claims, seed, options.remembering, options.convention)


def _claims(program: Program, root: Expr, record: Record, options: Options) -> tuple[list[Given], Expr | None]:
    """The claims on a query, read in its scope, where ``seed`` is the seed."""
    if not options.claims:
        return [], None
    from gradcli.check.claims import Given

    scope = program.scope
    seed = None
    if "seed" not in scope.names:
        seed = scope.bind_value("seed", record.seed)
    found = []
    try:
        for claim in options.claims:
            given = Given(claim.of, None, claim.numbers, options.rtol, options.atol)
            if claim.text is not None:
                node = program.read(claim.text, f"<claim of {claim.of}>")
                if claim.formula or program.lowering.mentions:
                    given = Given(claim.of, node)
                else:
                    given = Given(claim.of, None, program.raw(node), options.rtol, options.atol)
            found.append(given)
    finally:
        if seed is not None:
            del scope.names["seed"]
    return found, seed


def variables(scope: Scope, order: Sequence[Expr], options: Options) -> dict[str, Expr]:
    """The names to differentiate the last node with respect to, in order."""
    if options.wrt is None:
        return {
            x.payload.name: x
            for x in default_wrt(scope, order)
            if x.payload.name not in options.freeze and scope.names.get(x.payload.name) is x
        }
    found = {}
    for name in options.wrt:
        node = scope.names.get(name)
        if node is None:
            raise MissingValueError(f"no value for '{name}', which is to be differentiated", help=f"give it one: {name}=...")
        if node.kind != "float":
            raise TypeMismatchError(f"'{name}' is boolean; only numbers can be differentiated")
        if name not in options.freeze:
            found[name] = node
    return found


def _held_constant(scope: Scope, root: Expr) -> list[str]:
    """Why there is no gradient, where a name might have had one."""
    names = [x.payload.name for x in reachable([root]) if x in scope.whole and x not in scope.frozen]
    if not names:
        return []
    listed = ", ".join(names)
    return [f"no gradient: {listed} occurs as a whole-number exponent only and is held constant; --wrt {names[0]} differentiates"]


def _seed(program: Program, root: Expr, options: Options) -> tuple[Any, bool]:
    """The cotangent of the output, of exactly its shape, and whether the user gave it."""
    dtype = numpy_dtype("float", program.scope.precision)
    if options.seed is None:
        if options.need_seed and math.prod(root.shape) != 1:
            raise ShapeError(
                f"grad can be implicitly created only for scalar outputs; this one has the shape {root.shape}",
                help="give a seed of that shape, e.g. seed=np.ones(...)",
            )
        one = dtype.type(1)
        return np.broadcast_to(one, root.shape) if root.shape else one, False  # no memory for ones
    seed = program.constant(options.seed, "<seed>") if isinstance(options.seed, str) else np.asarray(options.seed)
    if not seed.size and not math.prod(root.shape):
        seed = seed.reshape(root.shape)  # JSON has one array without entries: []
    if seed.dtype.kind not in "fiu":
        raise TypeMismatchError(f"the seed must be real numbers, not {seed.dtype}")
    if seed.shape != root.shape:
        raise ShapeError(f"the seed has the shape {seed.shape}, the output {root.shape}; they must be the same")
    return seed.astype(dtype)[()], True


def _assert(scope: Scope, lowered: Lowered, options: Options, record: Record) -> None:
    """An assert: its relations between the floats, entry by entry, and what the reference says of them."""
    from gradcli.check.relations import compared

    relations = compared(scope, lowered)
    if options.decide_asserts and options.check:
        from gradcli.check.asserts import Deciding, decide_assert

        how = Deciding(options.timeout, options.remembering, options.everywhere, options.convention)
        record.check = decide_assert(scope, lowered, relations, record, how)
    record.told(relations)
