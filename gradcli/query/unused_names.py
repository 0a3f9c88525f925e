"""Names that are bound and mentioned nowhere, and names in wrt or freeze that no query has: what is known when a run is over."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass, field, replace

from gradcli.errors import GradcliError, MissingValueError, suggestion, text_lines
from gradcli.language.callables import is_function
from gradcli.language.mentions import names_bound_by, words_of
from gradcli.language.run import statements
from gradcli.language.scope import Scope
from gradcli.language.tree import Binding, Statement
from gradcli.limits import Limits
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
        """What is gathered so far; from now on it is gathered anew."""
        taken = replace(self)
        self.bound, self.mentioned, self.had, self.unread = {}, set(), set(), False
        return taken

    def remarks(self, given: Collection[str], options: Options, *, several: bool, free: bool = False) -> list[str]:
        """What is to be said when a run is over.

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
