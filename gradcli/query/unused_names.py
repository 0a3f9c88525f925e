"""Names that are bound and mentioned nowhere, and names in wrt or freeze that no query has: what is known when a run is over."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from gradcli.errors import AmbiguousError, GradcliError, MissingValueError, Source, suggestion, text_lines
from gradcli.language.calls import glued, is_function
from gradcli.language.reading import expressions_of, names_bound_by, words_of
from gradcli.language.run import statements
from gradcli.language.scope import Scope
from gradcli.language.tree import Binding, Definition, Expression, Name, Statement
from gradcli.limits import Limits
from gradcli.ops.calling import textbook
from gradcli.query.options import Options

_LISTED = 20  # names in a help
_MEANT = 100  # names that stand nowhere for which another is sought that may be meant


@dataclass(eq=False)
class UsedNames:
    """The names of a run, gathered from its programs."""

    bound: dict[str, str] = field(default_factory=dict)  # each with the place of its binding, in words
    mentioned: set[str] = field(default_factory=set)
    had: set[str] = field(default_factory=set)  # that had a value in some program
    unread: bool = False  # whether something could not be read to its end: it may have mentioned any name

    def add(self, scope: Scope) -> None:
        """A program that has come to its end."""
        self.mentioned |= scope.mentioned
        self.had |= scope.names.keys() | scope.leaves.keys() | scope.failed.keys()
        self.had.update(name for deferred in scope.deferred for name in deferred.names)
        for binding in scope.bindings.values():
            shared = isinstance(binding, Binding) and binding.part is not None  # comes with the others, whether it is wanted or not
            if binding.name not in self.bound and not shared:
                line, _ = binding.source.position(binding.span.start)
                self.bound[binding.name] = _place(line, binding.source.name)
        held = scope.held
        self.had |= held.places.keys()
        for name, line in zip(held.places, held.lines, strict=True):
            if name not in self.mentioned and name not in self.bound:
                self.bound[name] = _place(line, held.name)

    def merge(self, other: UsedNames) -> None:
        """What another process has gathered."""
        self.mentioned |= other.mentioned
        self.had |= other.had
        self.unread |= other.unread
        self.bound = {**other.bound, **self.bound}

    def take(self) -> UsedNames:
        """Return what is gathered so far; from now on it is gathered anew."""
        taken = replace(self)
        self.bound, self.mentioned, self.had, self.unread = {}, set(), set(), False
        return taken

    def remarks(self, given: Collection[str], options: Options, *, several: bool, free: bool = False) -> list[str]:
        """Return what is to be said when a run is over.

        given    names that are bound for all programs
        several  whether there were more programs than one, whose names are known only now: MissingValueError for those that none has
        free     whether names may do without values
        """
        if self.unread:
            return []
        if several:
            had = self.had.union(given)
            refuse_unknown(options, had | self.mentioned if free else had, self.mentioned)
        for name in options.over:
            if name not in self.mentioned:
                close = suggestion(name, sorted(self.mentioned))
                help = f"did you mean '{close}'?" if close else f"write --over with a name of the formula, or leave {name} out"
                raise MissingValueError(f"nothing that is checked mentions '{name}', whose range is given by --over", help=help)
        return self.unmentioned(given, options)

    def unmentioned(self, given: Iterable[str], options: Options) -> list[str]:
        """Warnings about names that are bound, or given from outside, and stand nowhere. A leading underscore says that it is meant so."""
        asked = options.asked
        places = {**self.bound, **dict.fromkeys(given, "")}
        lost = [name for name in places if name not in self.mentioned and name not in asked and not name.startswith("_")]
        others = sorted(self.mentioned) if lost else []
        return [
            f"'{name}' is mentioned nowhere{places[name]}{_meant(name, others) if place < _MEANT else ''}"
            for place, name in enumerate(lost)
        ]


def _place(line: int, file: str | None) -> str:
    return f" (bound on line {line}{f' of {file}' if file else ''})"


def _meant(name: str, others: Iterable[str]) -> str:
    close = suggestion(name, others)
    return f": did you mean '{close}'?" if close else ""


def refuse_unknown(options: Options, known: Iterable[str], words: Collection[str] = ()) -> None:
    """Raise MissingValueError for a name in wrt or freeze that no query of a run has; ``words`` stand in the text, whatever they are."""
    known = {*known}
    for what, names in (("differentiated", options.wrt or ()), ("held constant", options.freeze)):
        for name in names:
            if name not in known:
                close = None if name in words else suggestion(name, sorted(known))
                help: str | None = f"did you mean '{close}'?" if close else f"give it a value: {name}=..."
                if not close and known and name not in words:
                    variables = [other for other in sorted(known) if not is_function(other)]
                    help = f"the names are {', '.join(variables[:_LISTED])}" if variables else None
                raise MissingValueError(f"no value for '{name}', which is to be {what}", help=help)


def names_among(parsed: Iterable[Statement | GradcliError]) -> tuple[set[str], set[str]]:
    """The names that a program binds, and those that it mentions."""
    bound: set[str] = set()
    words: set[str] = set()
    for statement in parsed:
        if isinstance(statement, GradcliError):
            continue
        words |= words_of(statement)
        bound.update(names_bound_by(statement))
    return bound, words


def names_in(text: str, limits: Limits) -> tuple[set[str], set[str]] | None:
    """The same of a text. None if some of it cannot be read."""
    parsed = list(statements(text_lines(text) or [""], None, limits))
    return None if any(isinstance(statement, GradcliError) for statement in parsed) else names_among(parsed)


def refuse_unknown_in(text: str, options: Options, given: Iterable[str], limits: Limits, free: bool = False) -> None:
    """`refuse_unknown` before the only program of a run is run, unless some of it cannot be read; ``free`` names may do without values."""
    if not (options.wrt or options.freeze):
        return
    names = names_in(text, limits)
    if names is not None:
        bound, mentioned = names
        refuse_unknown(options, bound.union(given, mentioned if free else ()), mentioned)


# -- Names of letters written together that may have been meant as a product or a call: without
# values, nothing else can tell.


_PAIR = 2  # letters, of which one that is listed makes a product likely
# What stands right before a name that is a denominator, or the beginning of an exponent.
_QUOTIENT = re.compile(r"(?<!/)[/÷⁄∕]\Z")
_EXPONENT = re.compile(r"(?:\*\*|\^\(?)[-+−–]?\Z")
_SIGN = re.compile(r"(?:\*\*|\^)[-+−–]?\Z")


class _Place(NamedTuple):
    """An expression without values, the text that it stands in, and its own parameters."""

    expression: Expression
    source: Source
    own: Collection[str]


def refuse_glued(statements: Iterable[Statement], scope: Scope, names: Collection[str], listed: Collection[str], *, can_list: bool) -> None:
    """Raise AmbiguousError for a name without a value that a book writes for a product or a call.

    Its letters stand alone elsewhere, have values or are listed; or it is ``sinx``; or it is a factor of
    a product that is not written, or stands directly after a division or an exponent's sign.

    statements  what is asked, and what that depends on
    names       those without values that are not listed
    listed      those to differentiate by
    can_list    whether a name can be listed, and so be said to be one
    """
    places = [*_places(statements, scope)]
    alone = {*names, *listed, *scope.names}
    for name in names:
        letters = glued(name, alone - {name})
        if letters is None and len(name) == _PAIR and name.isalpha() and any(letter in listed for letter in name):
            letters = list(name)
        product = "*".join(letters) if letters else None
        call = textbook.function_of_letters(name) if product is None and not is_function(name) else None
        for place in places:
            found = _first(place, name, everywhere=product is not None or call is not None)
            if name in place.own or found is None:
                continue
            reading = product or call or textbook.product_of_letters(name, after_number=True) or "x*sin(x)"
            before = place.source.text[: found.start]
            if "*" in reading and (_QUOTIENT.search(before[-2:]) or _SIGN.search(before[-3:]) or before.rstrip("π ")[-1:].isalpha()):
                reading = f"({reading})"
            reading += "" if call else " for the product"
            text = place.source.text.strip().replace("'", "")
            listing = f"list the name: diff '{text}' {name}" if can_list else f"give the name a value: {name} = 1"
            error = AmbiguousError(f"'{name}' has two readings", help=f"write {reading}, or {listing}")
            raise error.at(found.span, place.source)


def _places(statements: Iterable[Statement], scope: Scope) -> Iterable[_Place]:
    """The expressions of statements, and of the functions that they call."""
    pending, seen = [*statements], set[str]()
    for statement in pending:  # which grow
        own = statement.parameters if isinstance(statement, Definition) else ()
        for expression in expressions_of(statement):
            yield _Place(expression, statement.source, own)
            for node in expression.nodes:
                if type(node) is Name and node.name in scope.functions and node.name not in seen:
                    seen.add(node.name)
                    pending.append(scope.functions[node.name])


def _first(place: _Place, name: str, *, everywhere: bool) -> Name | None:
    """The first place of a name: anywhere, or where a book implies a product, after a division or after an exponent's sign."""
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
        if textbook.product_of_letters(name, after_number=before[-1:].isdigit()) is None and not follows:
            continue
        is_factor = left in ends or (right in starts and right > node.end)
        if is_factor or follows or _QUOTIENT.search(before[-2:]) or _EXPONENT.search(before[-4:]):
            return node
    return None
