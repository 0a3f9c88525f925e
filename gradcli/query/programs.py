"""Programs of a run, with the values and names that they have, and the records of their queries.

A record has the value, the seed, the derivatives asked for, formulas, and the cross-check. This is
the one place where language, engine, judge and report meet; the command line and the Python API are
two ways to call it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import numpy as np

from gradcli.errors import (
    AmbiguousError,
    GradcliError,
    MissingValueError,
    TypeMismatchError,
    UnknownNameError,
    as_gradcli_error,
    did_you_mean,
)
from gradcli.graph.nodes import Expr, Values, forward, hold_program, reachable
from gradcli.graph.sweep import has_nan, is_zero, useful_nodes, vjps_at
from gradcli.language.calls import is_function
from gradcli.language.reading import names_among
from gradcli.language.run import Lowered, Program, ProgramText, statements
from gradcli.language.scope import ORDER, QUANTITY, WHOLE, Scope, StaticUse
from gradcli.language.statements import parse_statements, without_bad_help
from gradcli.language.syntax import Asked, Assertion, Statement
from gradcli.limits import DEFAULT, Limits
from gradcli.ops.calling.inputs import FLOAT, numpy_dtype
from gradcli.ops.calling.prefixes import JAX
from gradcli.ops.elementwise.exponential import has_exponent
from gradcli.ops.structure import detach, to_int
from gradcli.options import Options
from gradcli.query.derivatives import (
    choices_of_jax,
    hessian,
    hvp,
    jacobian,
    jvp,
    nan_in_pytorch,
    nonfinite,
    nowhere,
    numbers_like,
    remarks,
)
from gradcli.report.records import Answer, Record
from gradcli.texts import Source, text_lines

if TYPE_CHECKING:
    from gradcli.check.claims import Given
    from gradcli.query.templates import CompilationCache

_MEANT = 100  # most unmentioned names for which a suggestion is sought


@dataclass(eq=False)
class Programs:
    """Makes the programs of a run."""

    limits: Limits = DEFAULT
    precision: str = "float64"
    # they replace what programs bind to the same names
    values: dict[str, Any] = field(default_factory=dict)
    # the standard deviations of those that are not exact
    deviations: dict[str, Any] = field(default_factory=dict)
    dialect: str | None = None  # of programs that show none
    piped: Callable[[], bytes] | None = None  # what standard input holds, where it is data
    keeps_text: bool = False  # whether programs keep the text that they read

    def fresh(
        self,
        state: int = 0,
        load: Callable[[str], Any] | None = None,
        values: Mapping[str, Any] | None = None,
        dialect: str | None = None,
        usual: str | None = None,
        deviations: Mapping[str, Any] | None = None,
    ) -> Program:
        """Return a program that nothing has run in.

        state   the seed of its random numbers
        load    reads the data files that it names; without one, it may name none
        values  those of this program, if they are not those of all
        dialect what is asked for where it does not show one, if nothing is asked for all
        usual   what holds where nobody asks
        """
        scope = Scope(self.limits, self.precision, state)
        scope.load = load
        scope.dialect.asked, scope.dialect.usual = self.dialect or dialect, usual
        scope.outside = dict(self.values if values is None else values)
        for name, value in scope.outside.items():
            leaf = scope.bind_value(name, value)
            deviation = (self.deviations if deviations is None else deviations).get(name)
            if deviation is not None:
                scope.deviations[leaf] = deviation
        program = Program(scope)
        program.text = ProgramText() if self.keeps_text else None
        return program

    def loader(self, folder: Path | None = None) -> Callable[[str], Any]:
        """Return a reader of data files: of those in or below a folder, or of any."""

        def load(reference: str) -> Any:
            from gradcli.files.arrays import load_array

            return load_array(
                reference, self.limits, folder, self.piped if folder is None else None
            )

        return load

    @cached_property
    def cache(self) -> CompilationCache:
        """Queries of one form, which are compiled once for all programs."""
        from gradcli.query.templates import CompilationCache

        return CompilationCache(self.limits, self.precision)


# -- Names that are bound or mentioned ------------------------------------------------------------


@dataclass(eq=False)
class UsedNames:
    """The names of a run, gathered from its programs."""

    # Each name with the place of its binding, in words.
    bound: dict[str, str] = field(default_factory=dict)
    mentioned: set[str] = field(default_factory=set)
    had: set[str] = field(default_factory=set)  # names that had a value in some program
    # Whether some text was not read to its end, and so may have mentioned any name.
    unread: bool = False

    def add(self, scope: Scope) -> None:
        """Add the names of a program that has ended."""
        self.mentioned |= scope.mentioned
        self.had.update(scope.names, scope.leaves, scope.failed)
        for binding in scope.bindings.values():
            # Not a part of an unpacking, bound with the others whether it is wanted or not.
            if (
                binding.name not in self.mentioned
                and binding.name not in self.bound
                and getattr(binding, "part", None) is None
            ):
                line, _ = binding.place
                file = binding.source.name
                self.bound[binding.name] = f" (bound on line {line}{f' of {file}' if file else ''})"

    def merge(self, other: UsedNames) -> None:
        """Add what another process has gathered."""
        self.mentioned |= other.mentioned
        self.had |= other.had
        self.unread |= other.unread
        self.bound = {**other.bound, **self.bound}

    def take(self) -> UsedNames:
        """Return what is gathered so far; from now on it is gathered anew."""
        taken = replace(self)
        self.bound, self.mentioned, self.had, self.unread = {}, set(), set(), False
        return taken

    def remarks(
        self, given: Collection[str], options: Options, *, several: bool, free: bool = False
    ) -> list[str]:
        """Return what is to be said when a run is over.

        given    names that are bound for all programs
        several  whether there were more programs than one, whose names are known only now:
                 MissingValueError for those that none has
        free     whether names may do without values
        """
        if self.unread:
            return []
        if several:
            had = self.had.union(given)
            refuse_unknown(options, had | self.mentioned if free else had, self.mentioned)
        return self.warn_unmentioned(given, options)

    def warn_unmentioned(self, given: Iterable[str], options: Options) -> list[str]:
        """Warnings about names that are bound, or given from outside, and stand nowhere.

        A leading underscore says that it is meant so.
        """
        asked = options.names_asked
        places = {**self.bound, **dict.fromkeys(given, "")}
        lost = [
            name
            for name in places
            if name not in self.mentioned and name not in asked and not name.startswith("_")
        ]
        others = sorted(self.mentioned) if lost else []
        remarks = []
        for place, name in enumerate(lost):
            meant = did_you_mean(name, others) if place < _MEANT else None
            help = f": {meant}" if meant else ""
            remarks.append(f"'{name}' is mentioned nowhere{places[name]}{help}")
        return remarks


def refuse_unknown(options: Options, known: Iterable[str], words: Collection[str] = ()) -> None:
    """Raise an error for a name that no query of a run has.

    It is MissingValueError for a name in ``wrt``, ``freeze`` or a claim, and UnknownNameError for
    one in a box. ``words`` are all words of the text, whatever they are.
    """
    known = {*known}
    claimed = [claim.of for claim in options.claims if claim.of != "value"]
    for what, names in (
        ("differentiated", [*(options.wrt or ()), *claimed]),
        ("held constant", options.freeze),
    ):
        for name in names:
            if name not in known:
                raise missing(name, known, words, what)
    for name in options.over:
        if name not in words:
            raise UnknownNameError(
                f"the expression has no name '{name}'", help=did_you_mean(name, sorted(words))
            )


def refuse_unknown_in(
    text: str, options: Options, given: Iterable[str], limits: Limits, free: bool = False
) -> None:
    """Apply `refuse_unknown` before the only program of a run is run.

    It is not applied if some of the program cannot be read. If ``free``, names may do without
    values.
    """
    if not (options.wrt or options.freeze or options.claims or options.over):
        return
    parsed = list(statements(text_lines(text) or [""], None, limits))
    if not any(isinstance(statement, GradcliError) for statement in parsed):
        bound, mentioned = names_among(parsed)
        refuse_unknown(options, bound.union(given, mentioned if free else ()), mentioned)


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
        return is_free and leaf.name not in options.freeze

    leaves = [node for node in order if node.is_leaf]
    found = {leaf.name: leaf for leaf in leaves if varies(leaf)}
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
    used = {use.leaf.name: use.leaf for use in uses if varies(use.leaf)}
    if not used.keys() <= found.keys():  # in the order of their bindings
        found = {x.name: x for x in sorted((used | found).values(), key=lambda x: x.index)}
    reasons = _reasons(scope, order, uses)
    warnings = [
        f"no derivative by {name}: it is {reasons[x]}" for name, x in found.items() if x in reasons
    ]
    if not found:
        others = (leaf.name for leaf in leaves if leaf.kind != FLOAT)
        warnings += [f"no derivative by {name}: it is boolean" for name in others]
    return Variables({name: x for name, x in found.items() if x not in reasons}, warnings)


def _asked_variables(
    scope: Scope, order: Sequence[Expr], options: Options, uses: Sequence[StaticUse]
) -> Variables:
    found: dict[str, Expr] = {}
    warnings = []
    present = {node.name: node for node in order if node.is_leaf}
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
    reasons = {
        use.leaf: f"{use.place}, which takes a number known beforehand"
        for use in uses
        if use.kind == QUANTITY
    } | _reasons(scope, order, uses)
    for name, node in found.items():
        if node in reasons:
            raise TypeMismatchError(
                f"no derivative by '{name}': it is {reasons[node]}", help=f"leave {name} out of wrt"
            )
    return Variables(found, warnings)


def _reasons(scope: Scope, order: Sequence[Expr], uses: Sequence[StaticUse]) -> dict[Expr, str]:
    """Return leaves without a derivative, each with the reason.

    They are whole numbers where they stand, decide what is computed, or are orders of functions.
    """
    orders, whole = ({u.leaf: u.place for u in uses if u.kind == kind} for kind in (ORDER, WHOLE))
    whole |= orders
    if scope.graph.addressing:
        addressing: set[Expr | None] = set()
        for node in reversed(order):
            if node.op is to_int or node in addressing:
                addressing.update(node.operands)
        places = {use.leaf: use.place for use in uses}
        whole = {x: places.get(x, _ADDRESS) for x in order if x.is_leaf and x in addressing} | whole
    flows = useful_nodes(order) if whole else set()
    found = {}
    for x, place in whole.items():
        if x in orders or x not in flows:
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


# -- The record of a query


_LARGE = 1 << 17  # entries from which on an array is large


def pays_to_plan(order: Sequence[Expr], backend: str) -> bool:
    """Return whether compiling a plan pays for one evaluation.

    It does for arrays of a million entries, which leave the cache one after another. Native code
    that is asked for is made for any array.
    """
    return any(
        node.is_leaf and (backend == "native" or node.size > _LARGE) for node in order if node.shape
    )


def seed_of(program: Program, root: Expr, options: Options) -> tuple[Any, bool]:
    """Return the cotangent of the output, of exactly its shape, and whether the user gave it."""
    dtype = numpy_dtype("float", program.scope.precision)
    if options.seed is None:
        one = dtype.type(1)
        return np.broadcast_to(one, root.shape) if root.shape else one, False  # no memory for ones
    seed = numbers_like(program, options.seed, "<seed>", "the seed", "the output", root.shape)
    return seed.astype(dtype)[()], True


def fill_statement(program: Program, lowered: Lowered, record: Record, options: Options) -> None:
    """Fill in the record of an assert, or of a query, which is shown to an observer."""
    if record.mode == "assert":
        from gradcli.query.claims import fill_assert

        return fill_assert(program, lowered, record, options)
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
        claims: list[Given] = []
        seed = None
        if options.claims:
            from gradcli.query.claims import claims_of

            claims, seed = claims_of(program, record, options)
        if options.over:
            from gradcli.query.claims import hold_over

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
    further = options.but(wrt=claimed, freeze=())
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
        from gradcli.query.large import by_plan, first_nonfinite, nonfinite_of_large

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
    if root.shape and any(
        node.op is None and np.may_share_memory(values[node], record.value) for node in order
    ):
        record.value = record.value.copy()  # the caller's own, as the program may run again
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
        zero = [name for name, found in entries if is_zero(found)]
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


# -- The answers to statements, in order


Kind = TypeVar("Kind", bound=Answer)


_WORD = re.compile(r"[^\W\d]\w*")


class Script(NamedTuple):
    """The lines of a program, or of records, which have none of their own.

    There are no lines where a program that has run answers its last query for other values.
    """

    program: Program | None
    lines: Any
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
    if script.lines is None:
        before = program.last
        assert before is not None
        record = run_statement(program, before.statement, options, lower=lambda _: before)
        if record is not None:
            yield record
        return
    for source in script.sources():
        if cache is not None and program.bind_number(source):
            continue
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


Fill = Callable[[Program, Lowered, Kind, Options], object]  # fills in the record of a statement


def run_statement(
    program: Program, statement: Statement | GradcliError, options: Options, *, id: Any = None,
    lower: Callable[[Any], Lowered | None] | None = None, fill: Fill[Record] | None = None,
) -> Record | None:  # fmt: skip
    """Execute one statement; a query, an assert or an error gives a record."""
    mode = "assert" if isinstance(statement, Assertion) else options.mode
    fill = fill or fill_statement
    return answer(Record, fill, program, statement, options, lower=lower, id=id, mode=mode)


def record_of(kind: type[Kind], statement: Statement, id: Any = None, **known: Any) -> Kind:
    """Return an answer to a statement, of which nothing is known yet but where it stands."""
    line, column = statement.place
    return kind(statement.text, id, statement.source.name, line, column, **known)


def answer(
    kind: type[Kind], fill: Fill[Kind], program: Program, statement: Statement | GradcliError, options: Options, *,
    lower: Callable[[Any], Lowered | None] | None = None, id: Any = None, **known: Any,
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
