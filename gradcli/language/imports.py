"""Import lines: the names and aliases that they take from the known libraries, and nothing else.

::

    import = "import" module { "," module } | "from" path "import" ( "*" | names | "(" names [ "," ] ")" )
    module = path [ "as" NAME ]     path = NAME { "." NAME }     names = NAME [ "as" NAME ] { "," NAME [ "as" NAME ] }
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Any

from gradcli.errors import ParseError, Source, Span, UnknownNameError, suggestion
from gradcli.language.parts import Part, SaidError, ends
from gradcli.language.python_hints import Python
from gradcli.language.tokens import NAME, tokenize
from gradcli.language.tree import Import, Imported
from gradcli.ops.calling.prefixes import MODULES

LIBRARIES = ("numpy", "torch", "scipy", "jax", "math")
_OF_PYTHON = frozenset({"__future__"})  # modules that say something to Python, and nothing here
_HELP = "leave it out; write import numpy as np, import torch, from scipy import special"


def import_line(part: Part) -> Import:
    """import = "import" module { "," module } | "from" path "import" names, which Python reads. Raises ParseError."""
    python = Python(part.source, *part.span)
    items: list[Imported] = []
    for node in python.nodes:
        if isinstance(node, ast.ImportFrom) and node.level:
            raise _refusal(part, "there are no modules beside this text", part.token(1).span)
        for alias in node.names if isinstance(node, (ast.Import, ast.ImportFrom)) else ():
            start = python.begin + python.start(alias)
            span = Span(start, start + len(alias.name))
            if isinstance(node, ast.ImportFrom):
                if alias.name == "*":
                    span = part.token(1).span
                items.append(Imported(node.module or "", alias.name, alias.asname or alias.name, span))
            else:  # without an alias, the name is that of the library
                name = alias.asname or alias.name.partition(".")[0]
                items.append(Imported(alias.name, None, name, span, alias.asname is not None))
    if not items:
        raise _refusal(part, "Python does not read this import", part.span)
    return Import(part.source, part.span, items)


def _refusal(part: Part, message: str, span: Span) -> SaidError:
    return SaidError(message, span=span, source=part.source, help="write import torch, or from torch import nn")


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
