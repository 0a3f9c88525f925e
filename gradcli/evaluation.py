"""From a lowered query to its record: the value, the derivatives asked for, formulas, and the cross-check.

This is the one place where language, engine, judge and report meet; the command line and the Python API are
two ways to call it.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from gradcli.engine import transforms
from gradcli.engine.evaluate import Values, forward
from gradcli.engine.graph import Expr, reachable
from gradcli.engine.sweep import backward
from gradcli.errors import EvaluationError, GradcliError, LimitError, MissingValueError, ShapeError, TypeMismatchError
from gradcli.language.program import Lowered, Program, default_wrt, sources
from gradcli.language.scope import Scope
from gradcli.language.statements import parse_statements
from gradcli.language.tree import Assertion, Statement
from gradcli.large import Place, by_plan, is_large
from gradcli.nonfinite import first_nonfinite, nonfinite, nonfinite_of_large
from gradcli.ops.promotion import numpy_dtype
from gradcli.report.records import Asserted, Failure, Record

if TYPE_CHECKING:
    from gradcli.alike import Alike
    from gradcli.check.claims import Given


LONG = 4_096  # characters from which on an expression is worth some thought of what it is made of
_ROUNDING = 64  # times epsilon: how far the sides of an assert may be apart


@dataclass(frozen=True, eq=False, repr=False)
class ClaimInput:
    """A claim about the gradient by a name, or about the "value": text of the language, or numbers."""

    of: str
    text: str | None = None
    numbers: Any = None
    formula: bool = False  # the text is a formula although it mentions no name


@dataclass(frozen=True, eq=False, repr=False)
class Options:
    """What to compute for each query."""

    wrt: tuple[str, ...] | None = None
    freeze: tuple[str, ...] = ()
    seed: Any = None  # an array, or text of the language
    mode: str = "grad"  # "grad", "jacobian", "hessian" or "jvp"
    tangents: dict[str, Any] = field(default_factory=dict)
    check: bool = True
    formula: bool = True
    latex: bool = False
    timeout: float | None = None
    need_seed: bool = False  # refuse to choose a seed for outputs that are not scalar
    claims: tuple[ClaimInput, ...] = ()  # about the value and the gradients of each query
    decide_asserts: bool = False  # hold asserts to the reference, too
    convention: str | None = None  # "torch", "jax" or "min-norm": what is right at kinks in asserts and claims that are numbers
    everywhere: bool = False  # the values are examples: asserts are about all of them
    rtol: float | None = None  # of claims that are numbers
    atol: float = 0.0
    remembering: bool = False  # keep verdicts between runs
    digits: int | None = None  # of value and gradient from the reference, beside the floats
    place: Place | None = None  # gives the array that takes a large result: name, shape, dtype

    @cached_property
    def bare(self) -> bool:
        """Whether all that is asked of a number is its value and its gradient."""
        asked = self.check or self.formula or self.latex or self.claims or self.decide_asserts or self.digits is not None
        return not asked and self.mode == "grad" and self.seed is None and self.wrt is None


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
            _assert(program.scope, lowered, record)
            if options.decide_asserts and options.check:
                from gradcli.check.asserts import decide_assert

                assert lowered.other is not None
                rounding = None if lowered.within is not None else _ROUNDING * float(np.finfo(program.scope.precision).eps)
                record.check = decide_assert(
                    program.scope, lowered.value, lowered.other, record, rounding, options.timeout, options.remembering,
                    options.everywhere, options.convention,
                )  # fmt: skip
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
        record.jvp = _jvp(program, root, values, options, record)
    elif options.mode == "jacobian":
        record.jacobian = {name: _jacobian(scope, root, x, values) for name, x in wrt.items()}
    elif options.mode == "hessian":
        record.hessian = _hessian(scope, root, wrt, values)
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


def gradient(
    scope: Scope, root: Expr, wrt: dict[str, Expr], seed: Any, values: Values, order: Sequence[Expr] | None = None
) -> dict[str, Any]:
    """The vector-Jacobian products of a query, each in its variable's shape."""
    try:
        with np.errstate(all="ignore"):
            found = backward(order or reachable([root]), {root: seed}, wrt.values(), values.__getitem__)
    except (ValueError, ArithmeticError) as error:
        raise EvaluationError(f"the gradient has no value: {error}") from None
    dtype = numpy_dtype("float", scope.precision)
    return {name: _finished(found.get(x), x, dtype) for name, x in wrt.items()}


def _finished(adjoint: Any, x: Expr, dtype: np.dtype[Any]) -> Any:
    if type(adjoint) is dtype.type and not x.shape:
        return adjoint
    if adjoint is None:
        return np.zeros(x.shape, dtype)[()]
    return np.array(adjoint, dtype).reshape(x.shape)[()]  # the caller's own, never a view of the seed or of an input


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
    if seed.shape != root.shape:
        raise ShapeError(f"the seed has the shape {seed.shape}, the output {root.shape}; they must be the same")
    return seed.astype(dtype)[()], True


def _jacobian(scope: Scope, root: Expr, x: Expr, values: Values) -> Any:
    """All partial derivatives, of shape output + variable: by rows in reverse mode, or by columns in forward mode."""
    rows, columns = math.prod(root.shape), math.prod(x.shape)
    if rows * columns > scope.limits.tangents:
        raise LimitError(
            f"a Jacobian of {rows} x {columns} entries is over the limit of {scope.limits.tangents:,}",
            help=f"raise it with --limit tangents={rows * columns}",
        )
    dtype = numpy_dtype("float", scope.precision)
    out = np.zeros((rows, columns), dtype)
    with np.errstate(all="ignore"):
        if rows <= columns:
            order = reachable([root])
            for i in range(rows):
                seed = transforms.one_hot(i, root.shape).astype(dtype)[()]
                found = backward(order, {root: seed}, [x], values.__getitem__).get(x)
                if found is None:
                    break
                out[i] = np.ravel(found)
        else:
            tangent = scope.graph.leaf("tangent", x.shape)
            pushed = transforms.jvp(root, {x: tangent})
            for i in range(columns):
                direction = transforms.one_hot(i, x.shape).astype(dtype)[()]
                out[:, i] = np.ravel(forward([pushed], {**values, tangent: direction}, scope.precision)[pushed])
    return out.reshape((*root.shape, *x.shape))[()]


def _hessian(scope: Scope, root: Expr, wrt: dict[str, Expr], values: Values) -> dict[str, dict[str, Any]]:
    if math.prod(root.shape) != 1:
        raise ShapeError(f"a Hessian needs a scalar, not an array of shape {root.shape}", help="take sum(...), or use --jacobian")
    gradients = transforms.vjp(root, list(wrt.values()), transforms.ones_like(root))
    table = forward(gradients, values, scope.precision)
    return {
        name: {other: _jacobian(scope, slope, x, table) for other, x in wrt.items()}
        for name, slope in zip(wrt, gradients, strict=True)
    }


def _jvp(program: Program, root: Expr, values: Values, options: Options, record: Record) -> Any:
    scope = program.scope
    tangents = {}
    for name, given in options.tangents.items():
        x = scope.names.get(name)
        if x is None:
            raise MissingValueError(f"no value for '{name}', which has a tangent", help=f"give it one: {name}=...")
        tangent = program.constant(given, "<jvp>") if isinstance(given, str) else np.asarray(given)
        if tangent.shape != x.shape:
            raise ShapeError(f"the tangent of '{name}' has the shape {tangent.shape}, its value {x.shape}; they must be the same")
        record.tangents[name] = tangent.astype(np.float64)
        tangents[x] = scope.graph.constant(record.tangents[name])
    pushed = transforms.jvp(root, tangents)
    return forward([pushed], values, scope.precision)[pushed]


def _assert(scope: Scope, lowered: Lowered, record: Record) -> None:
    """An assert: equal to rounding (or within a tolerance), entry by entry, after broadcasting."""
    assert lowered.other is not None
    values = forward([lowered.value, lowered.other], scope.values, scope.precision)
    left, right = np.asarray(values[lowered.value], float), np.asarray(values[lowered.other], float)
    try:
        left, right = np.broadcast_arrays(left, right)
    except ValueError:
        raise ShapeError(f"an assert of shapes {left.shape} and {right.shape}, which do not broadcast") from None
    with np.errstate(all="ignore"):
        scale = np.maximum(np.abs(left), np.abs(right))
        epsilon = float(np.finfo(scope.precision).eps)
        within = lowered.within if lowered.within is not None else 0.0
        allowed = within + (0.0 if lowered.within is not None else _ROUNDING * epsilon * scale)
        off = np.abs(left - right)
        fine = (off <= allowed) | (left == right) | (np.isnan(left) & np.isnan(right))
    worst = None
    if not fine.all():
        from gradcli.report.verdicts import Worst

        place = np.unravel_index(int(np.argmax(np.where(fine, -1.0, np.where(np.isnan(off), np.inf, off)))), off.shape)
        worst = Worst(tuple(int(i) for i in place), float(left[place]), float(right[place]))
    record.value = bool(fine.all())
    record.asserted = Asserted(bool(fine.all()), left[()], right[()], float(within), worst)
