"""Programs of a run, with the values that are bound from outside, and the names in them.

The names are those that are bound and mentioned nowhere, that have two readings, and that a query
differentiates by.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from gradcli.errors import (
    AmbiguousError,
    GradcliError,
    MissingValueError,
    Source,
    TypeMismatchError,
    UnknownNameError,
    did_you_mean,
)
from gradcli.graph.nodes import Expr, Leaf, reachable
from gradcli.graph.sweep import useful_nodes
from gradcli.language.calls import is_function, split_glued
from gradcli.language.reading import expressions_of, names_bound_by, words_of
from gradcli.language.run import Program, ProgramText, statements
from gradcli.language.scope import QUANTITY, WHOLE, Scope, StaticUse
from gradcli.language.tree import Binding, Definition, Expression, Name, Statement
from gradcli.limits import DEFAULT, Limits
from gradcli.ops.calling import textbook
from gradcli.ops.calling.inputs import FLOAT
from gradcli.ops.structure import detach, to_int
from gradcli.options import Options
from gradcli.query.bindings import value_of
from gradcli.texts import text_lines

if TYPE_CHECKING:
    from gradcli.query.templates import CompilationCache

_LISTED = 20  # names listed in a help
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


def programs_with(
    values: Mapping[str, Any], limits: Limits, dtype: str = "float64", dialect: str | None = None
) -> Programs:
    """Return what makes programs with these values: arrays, or text with a ``±``."""
    programs = Programs(limits, dtype, dialect=dialect)
    for name, value in values.items():
        exact, deviation = value, None
        if isinstance(value, str) and any(
            sign in value for sign in ("±", "+/-", "\\pm", "+-", "(")
        ):
            found, deviation = programs.fresh().uncertain(value, name)
            exact = value if deviation is None else found
        programs.values[name] = array = value_of(name, exact)
        limits.check_shape(array.shape)
        if deviation is not None:
            programs.deviations[name] = deviation
    return programs


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
            if binding.name in self.mentioned or binding.name in self.bound:
                continue
            # Part of an unpacking, bound with the others whether it is wanted or not.
            if not (isinstance(binding, Binding) and binding.part is not None):
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
            remarks.append(
                f"'{name}' is mentioned nowhere{places[name]}" + (f": {meant}" if meant else "")
            )
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


def names_among(parsed: Iterable[Statement | GradcliError]) -> tuple[set[str], set[str]]:
    """Return the names that a program binds, and the names that it mentions."""
    bound: set[str] = set()
    words: set[str] = set()
    for statement in parsed:
        if isinstance(statement, GradcliError):
            continue
        words |= words_of(statement)
        bound.update(names_bound_by(statement))
    return bound, words


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


# -- Names of letters written together that may have been meant as a product or a call: without
# values, nothing else can tell.


_PAIR = 2  # letters of a name that is likely a product if one of them is listed
# What stands right before a name that is a denominator or that begins an exponent.
_QUOTIENT = re.compile(r"(?<!/)[/÷⁄∕]\Z")
_EXPONENT = re.compile(r"(?:\*\*|\^\(?)[-+−–]?\Z")
_SIGN = re.compile(r"(?:\*\*|\^)[-+−–]?\Z")


class _Place(NamedTuple):
    """An expression without values, the text that it stands in, and its own parameters."""

    expression: Expression
    source: Source
    own: Collection[str]


def refuse_glued(
    statements: Iterable[Statement],
    scope: Scope,
    names: Collection[str],
    listed: Collection[str],
    *,
    can_list: bool,
) -> None:
    """Raise AmbiguousError for a name without a value that a book writes for a product or a call.

    Its letters stand alone elsewhere, have values or are listed; or it is ``sinx``; or it is a
    factor of a product that is not written, or stands directly after a division or an exponent's
    sign.

    statements  what is asked, and what that depends on
    names       those without values that are not listed
    listed      those to differentiate by
    can_list    whether a name can be listed, and so be said to be one
    """
    places = [*_places(statements, scope)]
    alone = {*names, *listed, *scope.names}
    for name in names:
        letters = split_glued(name, alone - {name})
        if (
            letters is None
            and len(name) == _PAIR
            and name.isalpha()
            and any(letter in listed for letter in name)
        ):
            letters = list(name)
        product = "*".join(letters) if letters else None
        call = (
            textbook.function_of_letters(name)
            if product is None and not is_function(name)
            else None
        )
        for place in places:
            found = _first(place, name, everywhere=product is not None or call is not None)
            if name in place.own or found is None:
                continue
            reading = (
                product
                or call
                or textbook.product_of_letters(name, after_number=True)
                or "x*sin(x)"
            )
            before = place.source.text[: found.start]
            if "*" in reading and (
                _QUOTIENT.search(before[-2:])
                or _SIGN.search(before[-3:])
                or before.rstrip("π ")[-1:].isalpha()
            ):
                reading = f"({reading})"
            reading += "" if call else " for the product"
            text = place.source.text.strip().replace("'", "")
            listing = (
                f"list the name: diff '{text}' {name}"
                if can_list
                else f"give the name a value: {name} = 1"
            )
            error = AmbiguousError(
                f"'{name}' has two readings", help=f"write {reading}, or {listing}"
            )
            raise error.at(found.span, place.source)


def _places(statements: Iterable[Statement], scope: Scope) -> Iterable[_Place]:
    """Yield the expressions of statements, and of the functions that they call."""
    pending, seen = [*statements], set[str]()
    for statement in pending:  # grows during the loop
        own = statement.parameters if isinstance(statement, Definition) else ()
        for expression in expressions_of(statement):
            yield _Place(expression, statement.source, own)
            for node in expression.nodes:
                if type(node) is Name and node.name in scope.functions and node.name not in seen:
                    seen.add(node.name)
                    pending.append(scope.functions[node.name])


def _first(place: _Place, name: str, *, everywhere: bool) -> Name | None:
    """Return the first place of a name, or None.

    It counts anywhere (``everywhere``), or only where a book implies a product, after a division,
    or after an exponent's sign.
    """
    found = [node for node in place.expression.nodes if type(node) is Name and node.name == name]
    if everywhere or not found:
        return found[0] if found else None
    starts = {node.start for node in place.expression.nodes}
    ends = {node.end for node in place.expression.nodes}
    text = place.source.text
    for node in found:
        before, after = text[: node.start], text[node.end :]
        left, right = len(before.rstrip(" \t")), len(text) - len(after.lstrip(" \t"))
        follows = textbook.is_before_function(name) and right in starts
        if (
            textbook.product_of_letters(name, after_number=before[-1:].isdigit()) is None
            and not follows
        ):
            continue
        is_factor = left in ends or (right in starts and right > node.end)
        if is_factor or follows or _QUOTIENT.search(before[-2:]) or _EXPONENT.search(before[-4:]):
            return node
    return None


# -- The names that a query is differentiated by: leaves that the result depends on, in the order of
# their bindings, but for those bound with const or frozen, and for names that are used as whole
# numbers only. The text decides, never a value. A name whose value is taken beforehand has an entry
# of zeros.


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
