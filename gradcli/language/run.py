"""Running a program: statements in order, against a scope."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import chain
from typing import Any, NamedTuple

import numpy as np

from gradcli.errors import (
    AmbiguousError,
    ArgumentError,
    GradcliError,
    InputError,
    ParseError,
    TypeMismatchError,
    as_gradcli_error,
)
from gradcli.graph.nodes import Expr, held_by, reachable
from gradcli.language.calls import is_object, is_several
from gradcli.language.lowering import Lowering
from gradcli.language.names import Results, nodes_in
from gradcli.language.python_hints import is_head, names_changed, pieces
from gradcli.language.reading import mentioned_names, names_bound_by, words_of
from gradcli.language.scope import (
    NO_RANGES,
    Bound,
    Quantity,
    Scope,
    StaticUse,
    deviations,
    quantify,
)
from gradcli.language.spelling import rewritten
from gradcli.language.statements import (
    parse_expression,
    parse_statements,
    parts_of,
    tokens_of,
    without_bad_help,
)
from gradcli.language.syntax import (
    PYTHON_WORDS,
    RESERVED,
    Asked,
    Assertion,
    Binding,
    Call,
    DataBinding,
    Definition,
    Effect,
    Expression,
    Import,
    Lost,
    Query,
    Relation,
    Several,
    Statement,
    has_sign,
    outside,
    refuse_measured,
    sign_in,
)
from gradcli.limits import DEFAULT, Limits
from gradcli.ops.calling.prefixes import DType
from gradcli.ops.counting import IN_FORCE
from gradcli.ops.structure import detach
from gradcli.texts import Ahead, Source, Span, logical_lines, normalize

# -- What statements bind names to: values, objects, several results at once, data; and names that
# an error leaves without a value.


class Value(NamedTuple):
    """Value that a name is to be bound to."""

    node: Expr
    mentions: bool  # whether its text mentions a name
    static_uses: dict[StaticUse, None]


class Bindings:
    """The names of one program, as its statements bind them."""

    def __init__(self, scope: Scope, lowering: Lowering) -> None:
        self.scope, self.lowering = scope, lowering
        self._dependent: dict[Expr, set[Expr]] = {}  # values known to depend on each leaf

    def lose(self, name: str, statement: Statement, error: GradcliError | None) -> None:
        """Leave a name without a value, which a statement with an error should have given it."""
        scope = self.scope
        if name in scope.names:
            scope.lost[name] = scope.names.pop(name)
        scope.failed[name] = line = statement.place[0]
        if error is not None and error.follows is not None:
            scope.causes[line] = error.follows

    def spoil(
        self, statement: Statement, names: list[str], error: GradcliError | None = None
    ) -> None:
        """Take values and gradients from names that a statement with an error should have set.

        Names that it should have bound, or may have changed in place, have no value afterwards;
        names that it should have passed gradients back to have no gradient.
        """
        scope, text = self.scope, statement.text
        changed, all_trained = names_changed(text)
        if all_trained:
            changed |= scope.requiring or (scope.leaves.keys() if ".step(" in text else set())
        for name in (*names, *scope.names.keys() & changed):
            self.lose(name, statement, error)
        scope.hooked |= "_hook(" in text
        if "backward(" in text:
            scope.passed_back.append(None)

    def raw(self, expr: Expr) -> Any:
        """Return the value of a constant expression, whole numbers as integers."""
        value = np.asarray(self.scope.evaluate(expr))
        if (
            expr.kind == "float"
            and value.dtype.kind == "f"
            and self.scope.is_integral(expr)
            and np.all(np.abs(value) < 2**53)
        ):
            return value.astype(np.int64)
        return value

    def bind(self, statement: Binding | DataBinding) -> None:
        """Bind a name.

        What is bound from outside replaces the program's own, but not what is made of it, as in ``x
        = x/2``.
        """
        scope, name = self.scope, statement.name
        made_of_itself = isinstance(statement, Binding) and self._is_made_of_itself(statement)
        if name in scope.outside and not made_of_itself:
            scope.names[name] = scope.leaves[name]
            scope.mentioned |= words_of(statement)
            return
        if isinstance(statement, Binding):
            self._evaluate(statement, made_of_itself)
        else:
            self._load(statement)
        if name in scope.names:
            scope.bindings[scope.names[name]] = statement

    def _is_made_of_itself(self, statement: Binding) -> bool:
        """Return whether a binding mentions its own name, or names that depend on its value."""
        scope, name = self.scope, statement.name
        if name not in scope.names:
            return False
        names = mentioned_names(statement, scope)
        if name in names:
            return True
        leaf = scope.leaves.get(name)
        if leaf is None:
            return False
        values = [scope.names[other] for other in names if other in scope.names]
        if scope.objects:  # these depend on x, too: d = Normal(x, s), parts = x.chunk(2)
            values += [
                part
                for other in names
                if other in scope.objects
                for part in nodes_in(scope.objects[other].object)
            ]
        return any(self._depends(value, leaf) for value in values)

    def _depends(self, value: Expr, leaf: Expr) -> bool:
        """Return whether a value depends on a leaf: asked down to values that are known to."""
        known = self._dependent.setdefault(leaf, {leaf})
        nodes, seen = [value], {value}
        for node in nodes:  # grows during the loop
            if node in known:
                known.add(value)
                return True
            new = set(node.given_operands) - seen
            seen |= new
            nodes += new
        return False

    def bind_several(self, statement: Several) -> None:
        """Bind several names at once, when all that stands on the right has been read."""
        scope = self.scope
        names = mentioned_names(statement, scope)
        own = [b for b in statement.bindings if b.name in names or self._is_made_of_itself(b)]
        for binding, value in zip(statement.bindings, self._values(statement), strict=True):
            made_of_itself = binding in own and binding.name in scope.names
            if binding.name in scope.outside and not made_of_itself:
                scope.names[binding.name] = scope.leaves[binding.name]
            else:
                self._take(binding, value, made_of_itself)
                scope.bindings[scope.names[binding.name]] = binding

    def _values(self, statement: Several) -> list[Value]:
        lowering = self.lowering
        first = statement.bindings[0]
        if not statement.shared:
            return [
                self._value(lowering.lower_value(binding.expression, binding.source))
                for binding in statement.bindings
            ]
        result = lowering.lower(first.expression, first.source)
        try:
            return [
                self._value(part) for part in parts_of(lowering, result, len(statement.bindings))
            ]
        except GradcliError as error:
            raise error.at(first.expression.root.span, first.source) from None

    def _value(self, node: Expr) -> Value:
        return Value(node, self.lowering.mentions, self.lowering.static_uses)

    def _evaluate(self, statement: Binding, made_of_itself: bool) -> None:
        scope, name, lowering = self.scope, statement.name, self.lowering
        deviation = self._deviation(statement)
        result = lowering.lower(statement.expression, statement.source)
        if is_object(result) or is_several(result, lowering.mentions):
            scope.unbind(name)
            scope.objects[name] = Bound(result, lowering.mentions)
            return
        value = self._value(lowering.coerce(result, statement.expression, statement.source))
        if deviation is not None and value.mentions:
            raise ArgumentError(
                f"the value of '{name}' mentions another name: '±' stands behind numbers",
                help=f"write {name} = 1.0 ± 0.1",
            ).at(statement.expression.root.span, statement.source)
        self._take(statement, value, made_of_itself)
        self._deviate(statement, deviation)

    def _deviation(self, statement: Binding | DataBinding) -> Any:
        """Return what stands behind the sign of a binding, None without one."""
        given = statement.deviation
        return (
            None
            if given is None
            else self.scope.evaluate(self.lowering.lower_value(given, statement.source))
        )

    def _deviate(self, statement: Binding | DataBinding, deviation: Any) -> None:
        """Give the leaf of a binding its standard deviation."""
        if statement.deviation is None:
            return
        leaf = self.scope.leaves[statement.name]
        try:
            self.scope.deviations[leaf] = deviations(
                deviation, self.scope.values[leaf], statement.name, percent=statement.percent
            )
        except GradcliError as error:
            raise error.at(statement.deviation.root.span, statement.source) from None

    def _take(self, statement: Binding, value: Value, made_of_itself: bool) -> None:
        scope, name = self.scope, statement.name
        scope.imported.pop(name, None)
        if not value.mentions:
            scope.bind_value(name, self.raw(value.node), const=statement.const)
            return
        own = scope.name_node(value.node, name)
        scope.objects.pop(name, None)
        if name in scope.names and not made_of_itself:
            scope.leaves.pop(name, None)
            scope.replaced.add(name)
        elif statement.const:
            scope.replaced.add(name)
        scope.names[name] = detach(own) if statement.const else own
        scope.static_uses.pop(name, None)
        if value.static_uses:
            scope.static_uses[name] = value.static_uses
        scope.failed.pop(name, None)

    def _load(self, statement: DataBinding) -> None:
        try:
            if self.scope.load is None:
                raise InputError(
                    "data files cannot be named here", help="bind the data from outside"
                )
            self.scope.bind_value(statement.name, self.scope.load(statement.reference))
            self._deviate(statement, self._deviation(statement))
        except GradcliError as error:
            raise error.at(statement.span, statement.source) from None


# -- The text of a program as it is read, and where in it a logical line stands ------------------


class ProgramText:
    """Keeps the lines of a program while they are read, in the characters that spans count."""

    def __init__(self) -> None:
        self._read: list[str] = []
        self._starts = [0]
        self._whole: str | None = None

    def keep(self, lines: Iterable[str]) -> Iterator[str]:
        """Lines as they come, kept."""
        for line in lines:
            self._read.append(normalize(line))
            self._starts.append(self._starts[-1] + len(self._read[-1]))
            self._whole = None
            yield line

    @property
    def text(self) -> str:
        """Return what has been read so far."""
        if self._whole is None:
            self._whole = "".join(self._read)
        return self._whole

    def begin_of(self, source: Source) -> int | None:
        """Return the offset where a logical line begins in the text.

        It is None if the line is not in the text as it is, as for lines of pasted sessions.
        """
        line = source.first_line - 1
        if not 0 <= line < len(self._read):
            return None
        begin = self._starts[line]
        return begin if self.text.startswith(source.text, begin) else None

    def line_of(self, offset: int) -> int:
        """Return the line of an offset, from 0."""
        return bisect_right(self._starts, offset) - 1


def move_span(span: Span, begin: int | None) -> tuple[int, int] | None:
    """Convert a span of a logical line to one of the whole text."""
    return None if begin is None else (begin + span.start, begin + span.end)


_UNFINISHED = re.compile(r"[-+]?[0-9.]+[eE][-+]?")
_PROMPTS = (">>>", "In [", "Out[")  # of pasted sessions
_MAY_SHOW = re.compile(r"\.\s*[^\W\d]|#|import")  # what may be evidence of a dialect


def sources(
    lines: Iterable[str], name: str | None = None, limits: Limits = DEFAULT
) -> Iterator[Source]:
    """Yield the logical lines of a program as its lines come, without blank ones.

    Their characters are normalized.
    """
    logical = logical_lines(lines, limits.length)
    for first, line in logical:
        text = normalize(line)
        if text.startswith(_PROMPTS) or (":" in text and is_head(text)):
            yield from pieces(
                chain(((first, text),), ((n, normalize(more)) for n, more in logical)), name
            )
            return
        if text.strip():
            yield Source(text, name, first)


def statements(
    lines: Iterable[str], name: str | None = None, limits: Limits = DEFAULT
) -> Iterator[Statement | GradcliError]:
    """Yield the statements of a program as its lines come.

    An error takes the place of a statement that cannot be read.
    """
    for source in sources(lines, name, limits):
        yield from parse_statements(source, limits.length)


# -- Programs


_IN_PLACE = re.compile(r"\w+\s*[-+*/%@]+=")
# A line that binds a name to a number and does nothing else: its numbers are finite, none becomes 0,
# and its whole ones are exact.
_TO_NUMBER = re.compile(
    r"(?a)[ \t]*([A-Za-z_]\w*)[ \t]*=[ \t]*(?:(-?\d{1,15})|(-?(?:\d{1,15}(?:\.\d{0,99})?|\.\d{1,99})(?:[eE][-+]?\d\d?)?))[ \t]*\r?\n?\Z"
)


_LITTLE = 1 << 20  # bytes
_OF_NODE = 1_000  # about how many a node takes, with what its text was read as


class BoundNumber(Binding):
    """Binding of a name to a number, whose text is parsed when somebody asks for more."""

    def __init__(self, source: Source, name: str) -> None:
        self.__dict__.update(source=source, name=name)

    def __getattr__(self, part: str) -> Any:
        if part.startswith("__"):  # asked for by copies, before there is a text
            raise AttributeError(part)
        (statement,) = parse_statements(self.source, len(self.source.text))
        return getattr(statement, part)


class Sides(NamedTuple):
    """One relation of an assert as nodes of the graph."""

    relation: Relation
    left: Expr
    right: Expr


@dataclass(eq=False)
class Lowered:
    """A query or assert as nodes of the graph."""

    statement: Asked
    value: Expr  # for an assert, the left side of its first relation
    relations: tuple[Sides, ...] = ()  # for an assert only
    within: float | None = None
    ranges: Mapping[str, Quantity] = field(
        default_factory=lambda: NO_RANGES
    )  # for an assert: the ranges that it is claimed for
    static_uses: tuple[StaticUse, ...] = ()  # leaves whose values it takes while lowering
    read_as: str | None = None  # in the language's own spelling, if the text is in a textbook's
    notes: tuple[str, ...] = ()  # notes on how it was read


class Program:
    """A scope and what runs statements in it."""

    def __init__(self, scope: Scope) -> None:
        self.scope = scope
        self.lowering = Lowering(scope)
        self.bindings = Bindings(scope, self.lowering)
        self.text: ProgramText | None = None  # keeps the text that is read, if wanted
        self.last: Lowered | None = None  # the last statement, if it was a query or an assert
        self.asked = 0  # how many there were of these
        self._read: list[Expression] = []  # parts of the last query or assert, as they were read
        # kept: up to the last statement that later ones can build on
        self._begun = self._kept = scope.mark()
        # used: up to what was made when its last query was first answered
        self._used: tuple[tuple[int, int], int, int] | None = None

    def sources(
        self, lines: Iterable[str], name: str | None = None, *, stream: bool = False
    ) -> Iterator[Source]:
        """Yield the logical lines of the program as they come, and note evidence of its dialect.

        The lines to come are looked at when the meaning of a name depends on them, except in a
        ``stream``, which is answered line by line.
        """
        scope, limits = self.scope, self.scope.limits
        if self.text is not None:
            lines = self.text.keep(lines)
        if not stream:
            ahead = Ahead(lines)
            lines = ahead

            def rest() -> Iterator[Source]:
                for source in sources(ahead.rest(), name, limits):
                    yield Source(source.text, name, source.first_line + ahead.count)

            scope.dialect.to_come, scope.dialect.costly = rest, name is not None
        for source in sources(lines, name, limits):
            if _MAY_SHOW.search(source.text):
                scope.dialect.note(source, scope.names)
            yield source

    def statements(
        self, lines: Iterable[str], name: str | None = None, *, stream: bool = False
    ) -> Iterator[Statement | GradcliError]:
        """Yield the statements of the program as its lines come, like `sources`.

        An error takes the place of a statement that cannot be read.
        """
        for source in self.sources(lines, name, stream=stream):
            yield from parse_statements(source, self.scope.limits.length)

    def foresee(self, lines: Iterable[str]) -> None:
        """All lines of the program, which are there before it begins: its dialect is theirs."""
        self.scope.dialect.to_come = lambda: sources(lines, None, self.scope.limits)

    def bind_number(self, source: Source) -> bool:
        """Bind a name to a number, if a line does this and nothing else.

        It is bound as `execute` does it, which alone has words for what is refused.
        """
        scope, found = self.scope, _TO_NUMBER.match(source.text)
        if (
            found is None
            or (name := found[1]) in scope.outside
            or name in RESERVED
            or name in PYTHON_WORDS
            or type(source) is not Source
            or len(source.text) > scope.limits.length
            or scope.dialect.conflict is not None
            or not scope.graph.room
        ):
            return False
        scope.forget_since(self._kept)
        value = int(found[2]) if found[2] else float(found[3])
        scope.imported.pop(name, None)
        scope.bindings[scope.bind_value(name, value)] = BoundNumber(source, name)
        self._kept = scope.mark()
        return True

    def execute(self, statement: Statement) -> Lowered | None:
        """Run one statement; queries and asserts give something to evaluate.

        Raises any GradcliError, with its place in the text.

        The nodes of earlier queries are forgotten, so that a file of queries takes no more memory
        than one of them.
        """
        self.last = None
        self.scope.forget_since(self._kept)
        before = IN_FORCE.set(self.scope.limits)
        dialect = self.scope.dialect
        dialect.decided = None
        self.lowering.begin(statement)
        self._read = []
        try:
            if dialect.conflict is not None:
                raise dialect.refusal(statement)
            lowered = self._run(statement)
        except Exception as unforeseen:
            error = without_bad_help(as_gradcli_error(unforeseen), self.scope)
            self.scope.mentioned |= words_of(statement)  # lowering may have stopped before some
            self.bindings.spoil(statement, names_bound_by(statement), error)
            raise error from error.__cause__
        finally:
            IN_FORCE.reset(before)
            self.lowering.statement = None
        self.last = lowered
        self.asked += lowered is not None
        if lowered is None or lowered.value in self.scope.passed_back:
            self._kept = self.scope.mark()
        return lowered

    def take(self, values: Mapping[str, Any]) -> None:
        """Take other values from outside, of the same names, shapes and kinds."""
        self.scope.outside = dict(values)
        for leaf, value in zip(self.scope.values, values.values(), strict=False):
            self.scope.set_value(leaf, value)

    def release(self) -> bool:
        """Let go of the values from outside, and of nodes that only these have needed.

        Return whether its one query computes the same of all values of the same shapes and kinds,
        and little memory is held for it.
        """
        scope, last = self.scope, self.last
        scope.values |= dict.fromkeys([*scope.values][: len(scope.outside)])
        scope.outside = {}
        self._used = self._used or scope.mark()
        scope.forget_since(self._used)
        if self.asked > 1 or scope.is_decided or scope.deviations:
            return False
        if last is None or not isinstance(last.statement, Query):
            return False
        held = [*scope.values.values(), *(node.payload for node in scope.graph.nodes)]
        return held_by(held) + _OF_NODE * len(held) < _LITTLE

    def end(self) -> None:
        """Let go of all nodes.

        They and their graph refer to each other, and the collector takes long to find that out.
        """
        self.last = None
        self.scope.forget_since(self._begun)
        self.scope.dialect.to_come = None  # what would give them refers to the program

    def _run(self, statement: Statement) -> Lowered | None:
        match statement:
            case Query():
                value = self._result(statement)
                lowered = Lowered(statement, value, static_uses=tuple(self.lowering.static_uses))
                self._tell_reading(lowered, [value])
                return lowered
            case Assertion():
                with quantify(self.scope, self._ends(statement)) as ranges:
                    return self._lower_assert(statement, ranges)
            case Binding() | DataBinding():
                name, scope = statement.name, self.scope
                if (
                    name in scope.requiring
                    and scope.names.get(name) is scope.leaves.get(name)
                    and _IN_PLACE.match(statement.text)
                ):
                    raise ArgumentError(
                        "a leaf that requires a gradient is changed in place",
                        help=f"write {name} = {name} + 1 for a new value",
                    ).at(statement.span, statement.source)
                self.bindings.bind(statement)
                self._require([statement])
            case Definition():
                self.scope.functions[statement.name] = statement
                self.scope.mentioned |= words_of(statement)
            case Several():
                self.bindings.bind_several(statement)
                self._require(statement.bindings)
            case Import():
                self.lowering.take(statement)
            case Effect():
                self.scope.take_effect(statement.kind, statement.of)
            case Lost():
                self.bindings.spoil(statement, statement.names)
        return None

    def _require(self, statements: Iterable[Binding | DataBinding]) -> None:
        """Let names have gradients whose calls ask for them; others ask for values without a name.

        Raises ArgumentError for whole numbers.
        """
        for each in statements:
            if not isinstance(each, Binding) or not re.search(
                r"\brequires_grad(_\(| ?= ?True)", each.text
            ):
                continue
            root = each.expression.root
            if re.search(r"\btensor\([][\d\s,]+requires_grad", each.text):
                raise ArgumentError(
                    "only tensors of floating point dtype can require gradients",
                    help="write 1.0 for a float",
                )
            asks = isinstance(root, Call) and (
                "requires_grad" in dict(root.keywords)
                or getattr(root.callee, "name", "") == "requires_grad_"
            )
            self.scope.take_effect("requires", each.name if asks else "")

    def _result(self, statement: Query) -> Expr:
        expression, source = statement.expression, statement.source
        result = self._lower(expression, source)
        if isinstance(result, tuple) and not isinstance(result, DType):
            names = result.names if isinstance(result, Results) else ()
            first = f".{names[0]}" if names else "[0]"
            root = expression.root
            raise TypeMismatchError(
                f"the result is a tuple of {len(result)}, not an array",
                help=f"take one entry: {source.text[root.start : root.end]}{first}",
            ).at(root.span, source)
        return self.lowering.coerce(result, expression, source)

    def _lower(self, expression: Expression, source: Source) -> Any:
        """Lower a part of a query or an assert, and keep the expression as it was read."""
        result = self.lowering.lower(expression, source)
        self._read.append(self.lowering.read or expression)
        return result

    def _side(self, expression: Expression, source: Source) -> Expr:
        """One part of an assert as a node."""
        result = self._lower(expression, source)
        if isinstance(result, tuple) and not isinstance(result, DType):
            result = list(result)  # assert x.shape == (2, 3)
        return self.lowering.coerce(result, expression, source)

    def _ends(self, statement: Assertion) -> dict[str, tuple[float, float]]:
        """Return the ends of the ranges that an assert is about.

        Raises ArgumentError for anything that is not a range.
        """
        found = {}
        for each in statement.ranges:
            ends = [
                self.scope.evaluate(self._side(end, statement.source))
                for end in (each.begin, each.end)
            ]
            if any(np.ndim(end) or not np.isfinite(end) for end in ends) or not ends[0] <= ends[1]:
                raise ArgumentError(
                    f"the ends of a range are two numbers, the smaller one first, not {ends[0]} "
                    f"and {ends[1]}"
                ).at(each.span, statement.source)
            found[each.name] = float(ends[0]), float(ends[1])
        return found

    def _lower_assert(self, statement: Assertion, ranges: Mapping[str, Quantity]) -> Lowered:
        source = statement.source
        taken: set[Expr] = set()  # leaves whose values are taken while lowering
        relations = []
        for relation in statement.relations:
            sides = []
            for part in (relation.left, relation.right):
                sides.append(self._side(part, source))
                taken.update(use.leaf for use in self.lowering.static_uses)
            relations.append(Sides(relation, *sides))
        within = None
        if statement.within is not None:
            within = float(np.max(self.scope.evaluate(self._side(statement.within, source))))
            if not 0 <= within < np.inf:
                raise ArgumentError(f"a tolerance is a number of at least 0, not {within}").at(
                    statement.within.root.span, source
                )
        for name, quantity in ranges.items():
            if quantity.leaf in taken:
                raise ArgumentError(
                    f"'{name}' is used as a number that the program needs beforehand: it has no "
                    "range"
                ).at(statement.span, source)
        lowered = Lowered(statement, relations[0].left, tuple(relations), within, ranges=ranges)
        self._tell_reading(
            lowered, [side for sides in relations for side in (sides.left, sides.right)]
        )
        return lowered

    def _tell_reading(self, lowered: Lowered, nodes: list[Expr]) -> None:
        """Say how a query or an assert was read, if its text implies anything."""
        parts, of_nodes, names = self._read, self.lowering.notes_of, self.scope.names
        notes = dict.fromkeys(self.lowering.notes)
        if of_nodes:
            notes |= dict.fromkeys(of_nodes[node] for node in reachable(nodes) if node in of_nodes)
        notes |= dict.fromkeys(
            text for part in parts for name, text in part.notes if name is None or name in names
        )
        lowered.notes = tuple(notes)
        if not any(part.implied for part in parts):
            return
        statement = lowered.statement
        text, begin = statement.text, statement.span.start
        for part in sorted(parts, key=lambda part: -part.root.start):
            written = rewritten(part, self.scope.functions)
            text = text[: part.root.start - begin] + written + text[part.root.end - begin :]
        lowered.read_as = written if isinstance(statement, Query) else " ".join(text.split())

    def constant(self, text: str, what: str) -> Any:
        """Return the value of a VALUE on the command line or in a record: a constant expression.

        Raises as `read` does.
        """
        if _UNFINISHED.fullmatch(text.strip()):
            raise ParseError(
                f"'{text}' has an exponent without digits",
                help="write 1e3 for a number, 1*e for a product",
            )
        return self.bindings.raw(self.read(text, what))

    def uncertain(self, text: str, name: str) -> tuple[Any, Any]:
        """Return the value of a VALUE, and its standard deviation or None.

        Raises as `constant`, and for anything that is not a standard deviation.
        """
        text = normalize(text)
        source = Source(text, f"<{name}>")
        tokens = tokens_of(source) if has_sign(text) or "(" in text or "+-" in text else []
        sign = sign_in(tokens, 0, len(tokens) - 1)
        if sign is None:
            refuse_measured(source, tokens, 0, len(tokens) - 1)
            return self.constant(text, f"<{name}>"), None
        begin, end = tokens[sign[0]].start, tokens[sign[1] - 1].start + 1
        value = self.constant(text[:begin], f"<{name}>")
        return value, self.deviation(text[end:], value, name)

    def deviation(self, text: str, value: Any, name: str) -> Any:
        """Return the standard deviation that a text gives; ``5%`` is in percent of the value.

        Raises as `uncertain`.
        """
        number = text.rstrip().removesuffix("%")
        found = self.constant(number, f"<standard deviation of {name}>")
        return deviations(found, value, name, percent=number != text.rstrip())

    def read(self, text: str, what: str) -> Expr:
        """Read an expression outside of the program, with ``2,3`` short for ``[2, 3]``.

        ``what`` names the text in errors. Raises ParseError, LimitError, and the errors of
        lowering.
        """
        text = normalize(text)
        source = Source(text, what)
        tokens = tokens_of(source)
        for at in outside(tokens, 0, len(tokens)):
            if tokens[at].text == ",":
                after = tokens[at + 1]
                if after.start == tokens[at].start + 1 and re.match(r"0\d", after.text):
                    raise AmbiguousError(
                        f"'{text}' is one number or a list",
                        span=Span(0, len(text)),
                        source=source,
                        help=f"write {text.replace(',', '')}, or {text.replace(',', ', ')} for a list",
                    )
                source = Source(f"[{text}]", what)
                break
        return self.lowering.lower_value(parse_expression(source, self.scope.limits.length), source)
