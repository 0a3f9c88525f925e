"""Dialect of a program: the library that its text was written for.

It decides the meaning of methods and bare names that differ between libraries.

A statement's own prefixes decide first. Then come the prefixes of the other statements, import
lines, the request of an option or a comment, and methods that only PyTorch's tensors have. The
default is NumPy. The dialect is only looked for when it is needed: the rest of a program is read
only when something depends on it, and nothing is read ahead from a stream.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from functools import cached_property
from itertools import product
from typing import NamedTuple

from gradcli.errors import AmbiguousError, ParseError, did_you_mean
from gradcli.language.python_hints import modules_imported, names_bound
from gradcli.language.syntax import Statement
from gradcli.ops.calling.meanings import DIALECT_OF, Call, differs, is_of_tensors
from gradcli.ops.calling.prefixes import CONSTANTS, DIALECTS, NUMPY, ROOTS, TORCH, owner
from gradcli.texts import Source, Span

_CHAIN = re.compile(
    r"""\#[^\n]*|'[^'\n]*'|"[^"\n]*"|(\.\s*)?([^\W\d]\w*(?:\s*\.\s*[^\W\d]\w*)*)(\s*\()?"""
)
_DOTTED = re.compile(r"\.\s*[^\W\d]")
_OF_NUMBERS = re.compile(r"(?:[\s\d.+\-*/()]|\b(?:np|numpy|math|torch|jnp)\s*\.\s*\w+|\d[eE])*")
COMMENT = re.compile(r"#\s*dialect\s*:\s*([^\s;#]*)")


class Guess(NamedTuple):
    """A method or a bare name that was read by what was known then."""

    call: Call
    dialect: str
    line: int


class Evidence:
    """Evidence in texts: dialects by the lines that show them first."""

    def __init__(self, roots: Mapping[str, str] = ROOTS) -> None:
        self.prefixes: dict[str, int] = {}
        # By prefixes of constants, which occur in code for any library: np.pi, np.sqrt(2*np.pi).
        self.constants: dict[str, int] = {}
        self.imports: dict[str, int] = {}
        self.methods: dict[str, int] = {}
        self.asked: str | None = None  # set by a comment
        self.roots = dict(roots)  # what prefixes stand for

    def add(self, source: Source, bound: Iterable[str] = ()) -> None:
        """Add the evidence of a logical line.

        ``bound`` are the names that have values there, which are not prefixes.
        """
        text = source.text
        if "import" in text and (found := modules_imported(source)) is not None:
            for name, path in found.items():
                dialect = DIALECT_OF.get(owner(path))
                if name is not None:
                    self.roots[name] = path
                if dialect is not None:
                    self.imports.setdefault(dialect, source.first_line)
            return
        if "#" in text and (comment := COMMENT.search(text)) and comment[1] in DIALECTS:
            self.asked = comment[1]
        if _DOTTED.search(text) is None:
            return
        for match in _CHAIN.finditer(text):
            dot, chain, called = match.groups()
            if chain is None:
                continue
            root, *parts = re.split(r"\s*\.\s*", chain)
            if not dot and root in self.roots:
                dialect = (
                    DIALECT_OF.get(owner(self.roots[root])) if parts and root not in bound else None
                )
                if dialect is not None:
                    inside = _OF_NUMBERS.match(text, match.end()) if called else None
                    plain = (
                        parts[-1] in CONSTANTS
                        if inside is None
                        else inside[0].count(")") > inside[0].count("(")
                    )
                    table = self.constants if plain else self.prefixes
                    table.setdefault(dialect, source.position(match.start())[0])
            elif called and (dot or parts) and is_of_tensors(parts[-1] if parts else root):
                self.methods.setdefault(TORCH, source.position(match.start())[0])


class TwoDialectsError(AmbiguousError):
    """A call for which two dialects are shown; whoever has its text says what to write."""

    def __init__(self, message: str, dialects: list[str]) -> None:
        super().__init__(message)
        self.dialects = dialects


class Dialect:
    """Knowledge of a program's dialect while it runs."""

    asked: str | None = None  # set by an option
    commented: str | None = None  # set by a comment
    usual: str | None = None  # set by a project's settings
    decided: str | None = None  # the dialect that decided a call of the statement being run
    conflict: str | None = None  # what is wrong with the line just read
    # Gives the lines to come, which are read only when they are needed; None if they are unknown.
    to_come: Callable[[], Iterable[Source]] | None = None
    costly = False  # whether they belong to a file that is not read yet
    _read: object = False  # what has given its lines already

    @cached_property
    def evidence_read(self) -> Evidence:
        """Evidence in the lines that have been read."""
        return Evidence()

    @cached_property
    def _guesses(self) -> dict[Call, Guess]:
        """Guesses in a stream, whose next lines are unknown."""
        return {}

    # -- what is read

    @property
    def _complete(self) -> bool:
        return self._read is self.to_come

    def _add(self, source: Source, bound: Iterable[str]) -> None:
        self.evidence_read.add(source, bound)
        self.commented = self.evidence_read.asked

    def note(self, source: Source, bound: Iterable[str] = ()) -> None:
        """Take note of a new logical line; ``bound`` are the names that have values."""
        if self._complete:
            return
        prefixes = self.evidence_read.prefixes
        known = len(prefixes)
        self._add(source, bound)
        if len(prefixes) == known:
            return
        for dialect, guess in product([*prefixes][known:], self._guesses.values()):
            if differs(guess.call, frozenset((guess.dialect, dialect))):
                self.conflict = (
                    f"this line is {_SHOWN[dialect]}'s, but {_spelling(guess.call)} on line "
                    f"{guess.line} was read as "
                    f"{_SHOWN[guess.dialect]}'s, as nothing said so before"
                )
                return

    def refusal(self, statement: Statement) -> AmbiguousError:
        """Return the error of the line that has just come, whose dialect comes too late.

        It is reported only once.
        """
        said, self.conflict = self.conflict, None
        return AmbiguousError(
            said or "",
            span=statement.span,
            source=statement.source,
            help="say before what the program is: # dialect: torch, or an import line",
        )

    def evidence(self) -> Evidence:
        """Return what the program shows, as far as it can be known."""
        if self.to_come is not None and not self._complete:
            self._read = self.to_come
            bound: set[str] = set()
            for source in self.to_come():
                bound.update(names_bound(source.text))
                self._add(source, bound)
        return self.evidence_read

    # -- what is decided

    def of(self, call: Call, own: Evidence, line: int) -> str | None:
        """Return the dialect by which a call is read.

        None means that there is no evidence: NumPy's meaning holds, as far as NumPy can take the
        call. ``own`` is the evidence of the call's statement.

        Raises AmbiguousError if prefixes show two dialects for which the call differs.
        """
        if own.prefixes:
            self.decided = self._one_of(
                call, dict.fromkeys(own.prefixes, line), "the statement has"
            )
            return self.decided
        if self.costly and not self._complete and not differs(call):
            return None
        evidence = self.evidence()
        found = evidence.prefixes or {**evidence.imports, **evidence.constants}
        if found:
            decided: str | None = self._one_of(call, found)
        else:
            decided = self.asked_for or (TORCH if own.methods or evidence.methods else None)
        if decided is not None and decided != NUMPY and differs(call):
            self.decided = decided
        if self.to_come is None and call not in self._guesses:
            self._guesses[call] = Guess(call, decided or NUMPY, line)
        return decided

    @property
    def asked_for(self) -> str | None:
        """The dialect that an option, a comment or the settings ask for."""
        return self.asked or self.commented or self.usual

    def is_pasted(self) -> bool:
        """Return whether the program has prefixes or import lines."""
        evidence = self.evidence()
        return bool(evidence.prefixes or evidence.imports)

    @staticmethod
    def _one_of(call: Call, found: Mapping[str, int], where: str = "") -> str:
        dialects = [dialect for dialect in DIALECTS if dialect in found]
        if len(dialects) > 1 and differs(call, frozenset(dialects)):
            lines = sorted({found[dialect] for dialect in dialects})
            where = where or (
                f"lines {' and '.join(map(str, lines))} have"
                if len(lines) > 1
                else f"line {lines[0]} has"
            )
            shown = " and ".join(_SHOWN[dialect] for dialect in dialects)
            raise TwoDialectsError(
                f"{_spelling(call)} has two readings: {where} prefixes of {shown}", dialects
            )
        return dialects[0]


_SHOWN = {NUMPY: "NumPy", TORCH: "PyTorch", "jax": "JAX"}
PREFIX = {NUMPY: "np", TORCH: "torch", "jax": "jnp"}


def _spelling(call: Call) -> str:
    return f"'.{call.name}()'" if call.method else f"'{call.name}()'"


def unknown_dialect(source: Source) -> ParseError | None:
    """Return the error of a comment that names an unknown dialect."""
    match = COMMENT.search(source.text)
    if match is None or match[1] in DIALECTS or source.text[: match.start()].count("'") % 2:
        return None
    help = did_you_mean(match[1], DIALECTS, f"write one of {', '.join(DIALECTS)}")
    span = Span(match.start(1), max(match.end(1), match.start(1) + 1))
    return ParseError(f"unknown dialect '{match[1]}'", span=span, source=source, help=help)
