"""Import lines: the names and aliases that they take from the known libraries, and nothing else.

::

    import = "import" module { "," module } | "from" path "import" ( "*" | names | "(" names [ "," ] ")" )
    module = path [ "as" NAME ]     path = NAME { "." NAME }     names = NAME [ "as" NAME ] { "," NAME [ "as" NAME ] }
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from gradcli.errors import ParseError, Source, Span, UnknownNameError, suggestion
from gradcli.language.parts import Part, SaidError, ends
from gradcli.language.tokens import END, NAME, Token, tokenize
from gradcli.language.tree import Import, Imported
from gradcli.ops.calling.prefixes import MODULES

LIBRARIES = ("numpy", "torch", "scipy", "jax", "math")
_OF_PYTHON = frozenset({"__future__"})  # modules that say something to Python, and nothing here
_HELP = "leave it out; write import numpy as np, import torch, from scipy import special"


class _Reader:
    """The tokens of an import line, one after the other."""

    def __init__(self, part: Part) -> None:
        self.part, self.place = part, 0

    def next(self) -> Token:
        token = self.part.token(self.place)
        self.place += 1
        return token

    def takes(self, *texts: str) -> bool:
        """Go on if one of these comes next."""
        if self.part.token(self.place).text not in texts:
            return False
        self.place += 1
        return True

    def name(self, what: str) -> Token:
        token = self.next()
        if token.kind != NAME:
            self.fail(f"expected {what}", token)
        return token

    def path(self) -> tuple[str, Span]:
        first = self.name("the name of a module")
        text, end = first.text, first.start + len(first.text)
        while self.takes("."):
            name = self.name("a name after '.'")
            text, end = f"{text}.{name.text}", name.start + len(name.text)
        return text, Span(first.start, end)

    def fail(self, message: str, token: Token) -> None:
        raise SaidError(message, span=token.span, source=self.part.source, help="write import torch, or from torch import nn")

    def end(self) -> None:
        token = self.next()
        if token.kind != END:
            self.fail(f"unexpected '{token.text}' in an import line", token)


def import_line(part: Part) -> Import:
    """import = "import" module { "," module } | "from" path "import" names. Raises ParseError."""
    reader = _Reader(part)
    found = _from(reader) if reader.next().text == "from" else _modules(reader)
    items = list(found)
    reader.end()
    return Import(part.source, part.span, items)


def _modules(reader: _Reader) -> Iterator[Imported]:
    while True:
        path, span = reader.path()
        alias = reader.name("a name after 'as'").text if reader.takes("as") else None
        # without an alias, the name is that of the library
        yield Imported(path, None, alias or path.partition(".")[0], span, alias is not None)
        if not reader.takes(","):
            return


def _from(reader: _Reader) -> Iterator[Imported]:
    if reader.part.token(reader.place).text.startswith("."):
        reader.fail("there are no modules beside this text", reader.next())
    path, span = reader.path()
    if not reader.takes("import"):
        reader.fail("expected 'import'", reader.next())
    if reader.takes("*"):
        yield Imported(path, "*", "*", span)
        return
    opened = reader.takes("(")
    while True:
        name = reader.name("a name to import")
        alias = reader.name("a name after 'as'").text if reader.takes("as") else name.text
        yield Imported(path, name.text, alias, name.span)
        if not reader.takes(",") or (opened and reader.part.token(reader.place).text == ")"):
            break
    if opened and not reader.takes(")"):
        reader.fail("expected ')'", reader.next())


def is_of_python(path: str) -> bool:
    """Whether a module is one that says something to Python alone."""
    return path.partition(".")[0] in _OF_PYTHON


def unknown_module(path: str) -> UnknownNameError:
    """The error of a module that is none of the known libraries'."""
    close = suggestion(path, [*MODULES], cutoff=0.8)
    library = path.partition(".")[0]
    said = f"{library} has no module '{path}' here" if library in LIBRARIES else f"the module '{path}' is not known here"
    return UnknownNameError(said, help=f"did you mean '{close}'?" if close else _HELP)


def unknown_name(path: str, name: str, close: str | None) -> UnknownNameError:
    """The error of a name that a known module has not, or not here."""
    return UnknownNameError(f"'{path}' has no '{name}' here", help=close or "leave it out: what it does is not in the language")


def modules_imported(source: Source) -> dict[str | None, str] | None:
    """What the import lines in a text bind to modules, by names; by None a module out of which something else is taken.

    None for a text without import lines.
    """
    if not any(part.split(None, 1)[0] in ("import", "from") for part in source.text.split(";") if part.strip()):
        return None
    found: dict[str | None, str] = {}
    try:
        for item in _items(source):
            path = item.path if item.name is None else f"{item.path}.{item.name}"
            if item.name is None and item.path in MODULES:
                found[item.alias] = item.path if item.aliased else item.alias
            elif path in MODULES:
                found[item.alias] = path
            elif item.path in MODULES:
                found[None] = item.path
    except ParseError:
        pass  # which is said where the line is read
    return found


def _items(source: Source) -> Iterator[Imported]:
    tokens = tokenize(source)
    start = 0
    for stop in ends(source, tokens):
        if stop > start + 1 and tokens[start].text in ("import", "from") and tokens[start + 1].kind == NAME:
            yield from import_line(Part(source, tokens, start, stop, Span(tokens[start].start, len(source.text)))).items
        start = stop + 1


def everything_in(path: str) -> Any:
    """The names that ``from path import *`` takes, or None for all that the library has here."""
    if path == "math":
        import math

        return frozenset(dir(math))
    if path == "numpy":
        import numpy

        return frozenset(numpy.__all__)
    return None
