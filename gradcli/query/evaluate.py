"""From a lowered query to its record.

A record has the value, the seed, the derivatives asked for, formulas, and the cross-check. This is
the one place where language, engine, judge and report meet; the command line and the Python API are
two ways to call it.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from gradcli.errors import (
    AmbiguousError,
    MissingValueError,
    TypeMismatchError,
    did_you_mean,
)
from gradcli.graph.nodes import (
    WITH_GRADIENT,
    Expr,
    Leaf,
    Values,
    forward,
    held_by,
    hold_program,
    hold_work,
    reachable,
)
from gradcli.graph.sweep import has_nan, useful_nodes, vjps_at
from gradcli.language.calls import is_function
from gradcli.language.run import Lowered, Program
from gradcli.language.scope import QUANTITY, WHOLE, Scope, StaticUse
from gradcli.language.syntax import Statement
from gradcli.ops.calling.inputs import FLOAT, numpy_dtype
from gradcli.ops.calling.prefixes import JAX
from gradcli.ops.elementwise.exponential import has_exponent
from gradcli.ops.structure import detach, to_int
from gradcli.options import Options
from gradcli.query.derivatives import (
    choices_of_jax,
    first_nonfinite,
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
from gradcli.report.records import Record

if TYPE_CHECKING:
    from gradcli.check.claims import Given


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


# -- The names that a query is differentiated by: leaves that the result depends on, in the order of
# their bindings, but for those bound with const or frozen, and for names that are used as whole
# numbers only. The text decides, never a value. A name whose value is taken beforehand has an entry
# of zeros.


_LISTED = 20  # names listed in a help


def missing(
    name: str, known: Collection[str], words: Collection[str], what: str = "differentiated"
) -> MissingValueError:
    """Return the error of an unknown name that an option uses."""
    help: str | None = f"give it a value: {name}=..."
    if known and name not in words:
        variables = [other for other in sorted(known) if not is_function(other)]
        names = f"the names are {', '.join(variables[:_LISTED])}" if variables else None
        help = did_you_mean(name, sorted(known), names)
    return MissingValueError(f"no value for '{name}', which is to be {what}", help=help)


_ADDRESS = "a class label or an index"


class Variables(NamedTuple):
    """The names to differentiate with respect to, in order, and warnings about others."""

    nodes: dict[str, Expr]
    warnings: list[str]


def variables(
    scope: Scope, order: Sequence[Expr], options: Options, uses: Sequence[StaticUse] = ()
) -> Variables:
    """Return what the last node of ``order`` is differentiated by.

    Raises GradcliError for a name that is asked for and cannot be.
    """
    found, warnings = (_listed_variables if options.wrt is None else _asked_variables)(
        scope, order, options, uses
    )
    warnings += [
        f"'{name}' has no value here: there is nothing to freeze"
        for name in options.freeze
        if scope.subject(name) is None
    ]
    return Variables(found, warnings)


def _listed_variables(
    scope: Scope, order: Sequence[Expr], options: Options, uses: Sequence[StaticUse]
) -> Variables:
    def varies(leaf: Expr) -> bool:
        is_free = leaf.kind == FLOAT and leaf not in scope.frozen
        return is_free and leaf.payload.name not in options.freeze

    leaves = [node for node in order if node.op is None and type(node.payload) is Leaf]
    found = {leaf.payload.name: leaf for leaf in leaves if varies(leaf)}
    if scope.requiring and order[-1] in scope.passed_back:
        found = {name: leaf for name, leaf in found.items() if name in scope.requiring}
    if scope.replaced:
        _refuse_two_values(scope, order, found)
        flows = useful_nodes(order)
        found = {
            name: x
            for name, x in found.items()
            # the text may have bound its own value again with const
            if x in flows or not (name in scope.names and scope.names[name].op is detach)
        }
    used = {use.leaf.payload.name: use.leaf for use in uses if varies(use.leaf)}
    if not used.keys() <= found.keys():  # in the order of their bindings
        found = {x.payload.name: x for x in sorted((used | found).values(), key=lambda x: x.index)}
    reasons = _reasons(scope, order, uses)
    warnings = [
        f"no derivative by {name}: it is {reasons[x]}" for name, x in found.items() if x in reasons
    ]
    if not found:
        others = (leaf.payload.name for leaf in leaves if leaf.kind != FLOAT)
        warnings += [f"no derivative by {name}: it is boolean" for name in others]
    return Variables({name: x for name, x in found.items() if x not in reasons}, warnings)


def _asked_variables(
    scope: Scope, order: Sequence[Expr], options: Options, uses: Sequence[StaticUse]
) -> Variables:
    found: dict[str, Expr] = {}
    warnings = []
    present = {node.payload.name: node for node in order if node.is_leaf}
    for name in options.wrt or ():
        node = present.get(name) if name in scope.replaced else None
        node = scope.subject(name) if node is None else node
        if node is None:
            if scope.needed:
                raise missing(name, scope.names, scope.mentioned)
            warnings.append(f"'{name}' has no value here, and so no derivative")
            continue
        if node.kind != FLOAT:
            raise TypeMismatchError(
                f"'{name}' is boolean; only numbers can be differentiated",
                help=f"leave {name} out of wrt",
            )
        if name not in options.freeze:
            found[name] = node
    if scope.replaced:
        _refuse_two_values(scope, order, found)
    reasons = _reasons(scope, order, uses)
    reasons |= {
        use.leaf: f"{use.place}, which takes a number known beforehand"
        for use in uses
        if use.kind == QUANTITY
    }
    for name, node in found.items():
        if node in reasons:
            raise TypeMismatchError(
                f"no derivative by '{name}': it is {reasons[node]}", help=f"leave {name} out of wrt"
            )
    return Variables(found, warnings)


def _reasons(scope: Scope, order: Sequence[Expr], uses: Sequence[StaticUse]) -> dict[Expr, str]:
    """Return leaves without a derivative, each with the reason.

    They are whole numbers where they stand, or they decide what is computed.
    """
    whole = {use.leaf: use.place for use in uses if use.kind == WHOLE}
    if scope.graph.addressing and any(node.op is to_int for node in order):
        addressing: set[Expr | None] = set()
        for node in reversed(order):
            if node.op is to_int or node in addressing:
                addressing.update(node.operands)
        places = {use.leaf: use.place for use in uses}
        whole = {x: places.get(x, _ADDRESS) for x in order if x.is_leaf and x in addressing} | whole
    flows = useful_nodes(order) if whole else set()
    found = {}
    for x, place in whole.items():
        if x not in flows:
            value = np.asarray(scope.values.get(x, 0))
            found[x] = f"{place}, by which there is no derivative here"
            if np.all(value == np.floor(value)):
                found[x] = f"a whole number, {place}"
    return found


def _refuse_two_values(scope: Scope, order: Sequence[Expr], found: Mapping[str, Expr]) -> None:
    """Raise AmbiguousError where a result has one name for two values.

    One of the values would be lost.
    """
    for name in found:
        if name not in scope.replaced:
            continue
        values: list[Expr] = []
        for node in order:
            bound = node.payload if node.is_leaf else scope.bindings.get(node)
            if (
                bound is not None
                and bound.name == name
                and not (values and values[-1] in reachable([node]))
            ):
                values.append(node)
        if len(values) > 1:
            first, second = (scope.bindings.get(value) for value in values[:2])
            assert second is not None
            before = "from outside" if first is None else _place_of(first)
            raise AmbiguousError(
                f"'{name}' has two values here: bound {before} and {_place_of(second)}",
                help=f"give the second a name of its own: {name}_2 = ...",
            )


def _place_of(binding: Statement) -> str:
    line, column = binding.place
    return f"on line {line}, column {column}"


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


# -- The record of a query


def fill_statement(program: Program, lowered: Lowered, record: Record, options: Options) -> None:
    """Fill in the record of a query or an assert."""
    (_assert if record.mode == "assert" else fill_query)(program, lowered, record, options)


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
    if scope.deviations or options.covariances:
        from gradcli.query.uncertainty import left_out, propagate

        if options.decide_asserts or root.kind != "float":
            what = "a verdict: it is about the values"
            if not options.decide_asserts:
                what = "what is no real number"
            record.warnings += left_out(scope, [root], what)
        else:
            record.uncertainty = propagate(scope, root, order, record, options.covariances)
    excused = _remarks(scope, order, wrt, lowered.static_uses, options, record) if wrt else {}
    if options.formula and wrt and options.mode in ("grad", "jacobian", "hessian"):
        from gradcli.formulas.derivatives import derivative_formulas

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
    # the value of a power may be a convention
    if not np.isfinite(record.value).all() or any(map(has_exponent, order)):
        record.warnings += nonfinite(scope, order, values)
    return values


def gradient(
    scope: Scope,
    root: Expr,
    wrt: dict[str, Expr],
    seed: Any,
    values: Values,
    order: Sequence[Expr] | None = None,
    decided: list[Expr] | None = None,
) -> dict[str, Any]:
    """Return the vector-Jacobian products of a query, each in its variable's shape.

    decided  takes the variables for which zero times infinity was decided
    """
    found = vjps_at(root, seed, list(wrt.values()), values, order, decided)
    dtype = numpy_dtype("float", scope.precision)
    return {name: _finish(found.get(x), x, dtype) for name, x in wrt.items()}


def _finish(adjoint: Any, x: Expr, dtype: np.dtype[Any]) -> Any:
    if type(adjoint) is dtype.type and not x.shape:
        return adjoint
    if adjoint is None:
        return np.zeros(x.shape, dtype)[()]
    # the caller's own, never a view of the seed or of an input
    return np.array(adjoint, dtype).reshape(x.shape)[()]


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
    lost = {name: wrt[name] for name, found in entries if has_nan(found)}
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
        record.check = decide_assert(scope, lowered, relations, options)
    record.take_outcome(relations)
