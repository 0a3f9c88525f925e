"""Python that is out of the language: loops, functions, classes, stores.

What is said of it, and what to write instead.

Asked only where a statement begins with one of Python's own words, or cannot be read.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from gradcli.errors import ParseError, UnknownNameError
from gradcli.language.syntax import (
    END,
    PYTHON_WORDS,
    Effect,
    Import,
    Imported,
    Lost,
    Part,
    SaidError,
    Statement,
    Token,
    end_of,
    next_token,
)
from gradcli.ops.calling.prefixes import MODULES, NUMPY, ROOTS, TORCH
from gradcli.texts import Source, Span, by_word, suggestion, words

_LEFT_OUT = "leave it out"
_DEFINITION = "write f(x) = x**2 for a function"
_OPENING = PYTHON_WORDS - {
    "print"
}  # words that begin statements of Python; _INSTEAD has what to write for most
_INSTEAD = by_word({
    "for while break continue": (
        "write y = y + x**2 for each step, or sum(x**2) for a sum over all entries"
    ),
    "if elif else": "write y = where(x > 0, x, 0), or y = x if x > 0 else 0",
    "try except finally raise": "write where(x > 0, log(x), 0) for what would fail",
    "def class async": _DEFINITION,
    "with": "write detach(x) for what has no gradient",
    "yield": "write y = x**2 for all entries at once",
    "return": "write the value alone: y",
})  # fmt: skip
_ALONE = words("return pass break continue yield try else")  # words that may stand alone
_BEFORE_BRACKETS = words("return yield if while with")
_OPERATORS = words("= + * / . , ) ] ** // % @ == < > <= >= != ' ^")
_STORE = re.compile(r"\s*[^\W\d][\w.]*(?:\[.*\]|\.\w+)\s*((?:[-+*/]|\*\*)?=)(?!=)", re.DOTALL)
_BOUND = re.compile(
    r"(?:^|;)[ \t]*(?:const )?([^\W\d]\w*(?:[ \t]*,[ \t]*[^\W\d]\w*)*)[ "
    r"\t]*(?:=(?!=)|[-+*/@]=|\*\*=|\[.*\][ \t]*(?:=(?!=)|[-+*/@]=))",
    re.MULTILINE,
)


# -- errors --------------------------------------------------------------------------------------


_NO_STORE = "the language has no stores: a value stays as it is"
_NO_STATEMENT = "the language has no '{}' statement"
# What marks a text as Python that is not read, what is said of it, and what to write instead.
_READ = r"(?!\s*(?:def\s+\w+\s*\([\w\s,]*\)\s*:\s*(?:#.*\s*)*return\b|\w+\s*=\s*lambda\s[\w\s,]*:))"
_OUTSIDE = (
    (
        re.compile(rf"{_READ}[\s\S]*?\b(lambda)\s+\w[\w\s,=*]{{0,200}}:"),
        "the language has no '{}'",
        _DEFINITION,
    ),
    (
        re.compile(rf"{_READ}\s*(def)\b"),
        "a '{}' is read if it has names alone in its brackets, and then one return",
        _DEFINITION,
    ),
    (re.compile(rf"{_READ}\s*({'|'.join(_OPENING)})\b"), _NO_STATEMENT, None),
    (re.compile(r"\s*(@)\w"), "the language has no decorators", None),
    (re.compile(r"\s*[\w.]+\.\w+\s*((?:[-+*/]|\*\*)?=)(?!=)"), _NO_STORE, "write y = x + 1 for a new value"),
    (_STORE, _NO_STORE, "write x = x.at[0].set(1)"),
)  # fmt: skip


def explain_error(source: Source, start: int, stop: int, error: ParseError) -> ParseError:
    """Return the error of an unreadable text in terms of the Python that it contains.

    That is a function, a store or a statement; any other error is returned as it is.
    """
    if isinstance(error, SaidError):
        return error
    for pattern, message, help in _OUTSIDE:
        if found := pattern.match(source.text, start, stop):
            return ParseError(
                message.format(found[1]), span=Span(*found.span(1)), source=source,
                help=help or _INSTEAD.get(found[1], _LEFT_OUT),
            )  # fmt: skip
    return error


def refuse_block(source: Source) -> Iterator[Statement | ParseError]:
    """Yield the refusal of a block of Python's statements, or of Python's printed output."""
    text = source.text
    first = text.lstrip()
    start = len(text) - len(first)
    error = ParseError(
        "a line without a prompt in a session is what Python printed",
        span=Span(start, start + len(first.partition("\n")[0])), source=source, help=_LEFT_OUT,
    )  # fmt: skip
    yield error if isinstance(source, Output) else explain_error(source, 0, len(text), error)
    yield from lost_bindings(source, 0, text)


def lost_bindings(source: Source, start: int, text: str) -> Iterator[Lost]:
    """Yield a substitute for the bindings in a text that is not run.

    Their names have no value.
    """
    yield Lost(source, Span(start, start + len(text)), names_bound(text))


def names_bound(text: str) -> list[str]:
    """Return the names that the statements of a text seem to bind."""
    return list(
        dict.fromkeys(name.strip() for names in _BOUND.findall(text) for name in names.split(","))
    )


# What changes values or gradients in place: of names in its line, or of all that are trained.
_IN_PLACE = re.compile(r"\w_\(|\bout ?=|\.sort\(\)")
DRAWS = re.compile("rand|normal")  # what a text has that draws random numbers
_TRAINS = re.compile(r"\.step\(|\bparameters\(|^[ \t]*(?:for|while)\b", re.MULTILINE)


def names_changed(text: str) -> tuple[set[str], bool]:
    """Return the words of a text that may be names of what it changes in place.

    The second result tells whether it may change all that is trained.
    """
    lines = [x for x in text.split("\n") if _IN_PLACE.search(x) or _STORE.match(x)]
    return set(re.findall(r"\w+", " ".join(lines))), _TRAINS.search(text) is not None


# -- statements that begin as Python's do --------------------------------------------------------


# -- Values that are printed: each is a query of its own, and text between them is no result
#
#     printed = "print" "(" printable { "," printable } [ "," ] ")"
#     printable = expression | STRING | "f" STRING | ( "sep" | "end" | "file" | "flush" ) "=" expression


_TEXT = r'(?:"[^"\n]*"|\'[^\'\n]*\')'
_NO_RESULT = re.compile(rf"(?:{_TEXT}\s*)*|(?:sep|end|file|flush)\s*=[^=].*", re.DOTALL)
_FORMATTED = re.compile(rf"[fF]{_TEXT}")
_OPENED = re.compile(r"(?<!\{)\{(?!\{)\s*")
_FORMAT = re.compile(r"(?:=\s*)?(?:![ars])?[:}]")  # what follows a value in braces


def values_to_print(part: Part) -> list[Part] | None:
    """Return the values that ``print(...)`` has; None for any other statement."""
    last = part.stop - part.start - 1
    if part.token(1).text != "(" or part.closing(1) != last:
        return None
    if last == 2:
        part.fail("there is nothing to print", part.token(0).span, _LEFT_OUT)
    begin = 2
    found: list[Part] = []
    for end in (*part.places(",", 2, last), last):
        text = part.text(begin, end)
        if _FORMATTED.fullmatch(text):
            found += _in_text(part.source, part.token(begin + 1))
        elif not _NO_RESULT.fullmatch(text):
            found.append(part.cut(Span(part.token(begin).start, end_of(part.token(end - 1)))))
        begin = end + 1
    return found


def _in_text(source: Source, text: Token) -> Iterator[Part]:
    """Yield the values in a formatted text, ``f"x = {x:.3f}"``."""
    for opened in _OPENED.finditer(source.text, text.start, end_of(text)):
        begin = at = opened.end()
        tokens = []
        while not _FORMAT.match(source.text, at):
            token, at = next_token(source, at)
            tokens.append(token)
        yield Part(source, [*tokens, Token(END, "", at)], 0, len(tokens), Span(begin, at))


# Effects of training scripts: a gradient is required, not required or cleared, or random numbers
# are seeded.
_EFFECTS = re.compile(
    r"(?P<requires>\w+)\.(?:requires_grad(?:_\((?:requires_grad=)?(?:True)?\)| ?= ?True)|retain_grad\(\))"
    r"|(?P<freezes>\w+)\.requires_grad(?:_\((?:requires_grad=)?False\)| ?= ?False)"
    r"|(?P<clears>\w+)\.(?:zero_grad\((?:set_to_none=\w+)?\)|grad(?:(?:\.data)?\.zero_\(\)| ?= ?None))"
    rf"|torch(?:\.random)?\.manual_seed\((?P<{TORCH}>\d+)\)|(?:np|numpy)\.random\.seed\((?P<{NUMPY}>\d+)\)"
)


def effect(part: Part) -> Effect | None:
    """Return a statement that is an effect of a training script; None for others."""
    found = _EFFECTS.fullmatch(part.source.text, *part.span)
    kind = (found and found.lastgroup) or ""
    return Effect(part.source, part.span, kind, found[kind]) if found else None


_METHODS = {
    "step": (
        "'step' changes values in place: a value stays as it is",
        "leave it out: the gradients stand before it",
    ),
    "register_hook": ("the language has no hooks", _LEFT_OUT),
    "sort": (
        "{0}.sort() is a sorted copy in PyTorch, and sorts in place in NumPy",
        "write sort({0})",
    ),
}


def refuse_method(part: Part) -> None:
    """Refuse ``optimizer.step()``, ``x.register_hook(f)`` and ``x.sort()``.

    ``x.sort()`` is a sorted copy in one library and a store in the other.
    """
    name, method, count = part.token(0).text, part.token(2).text, part.stop - part.start
    alone = part.token(4).text == ")" or part.token(5).text == "=" or method == "register_hook"
    if method in _METHODS and alone and name not in ROOTS and part.closing(3) == count - 1:
        message, help = _METHODS[method]
        part.fail(message.format(name), part.token(2).span, help.format(name))


def refuse_first_word(part: Part) -> None:
    """Raise for a statement whose first word is Python's, unless it is a name like any other."""
    first, after = part.token(0), part.token(1)
    word, text = first.text, after.text
    called = text == "(" and after.start == first.start + len(word)
    if called or text in _OPERATORS or (text in ("-", "[", "(") and word not in _BEFORE_BRACKETS):
        return
    if after.kind != END or word in _ALONE:
        raise ParseError(_NO_STATEMENT.format(word), span=first.span, source=part.source)


# -- Import lines: the names and aliases that they take from the known libraries, and nothing else
#
#     import = "import" module { "," module }
#            | "from" path "import" ( "*" | names | "(" names [ "," ] ")" )
#     module = path [ "as" NAME ]
#     path   = NAME { "." NAME }
#     names  = NAME [ "as" NAME ] { "," NAME [ "as" NAME ] }


_HELP = "leave it out; write import numpy as np, import torch, from scipy import special"


_IMPORTS = "write import torch, or from torch import nn"
_ITEM = r"(?:\*|[^\W\d][\w.]*)(?:\s+as\s+[^\W\d]\w*)?"
_IMPORT = re.compile(
    rf"(?:^|;)[ \t]*(?:from\s+([\w.]+)\s+)?import\b\s*\(?\s*({_ITEM}(?:\s*,\s*{_ITEM})*)\s*,?\s*\)?",
    re.MULTILINE,
)
_IMPORTED = re.compile(r"([\w.*]+)(?:\s+as\s+(\w+))?")
_UNREAD = re.compile(r"#[^\n]*|\\\r?\n")  # comments and line continuations


def import_line(part: Part) -> Import:
    """Parse ``import = "import" module { "," module } | "from" path "import" names``.

    Raises ParseError.
    """
    if part.token(1).text == ".":
        part.fail("there are no modules beside this text", part.token(1).span, _IMPORTS)
    text = _UNREAD.sub(_blanks, part.source.text[slice(*part.span)])
    if _IMPORT.fullmatch(text) is None:
        part.fail("this import is not read", part.span, _IMPORTS)
    return Import(part.source, part.span, [*_imported_names(text, part.span.start)])


def _imported_names(text: str, begin: int = 0) -> Iterator[Imported]:
    """Yield the names that import lines take."""
    for line in _IMPORT.finditer(text):
        for item in _IMPORTED.finditer(text, *line.span(2)):
            name, alias = item.groups()
            span = Span(begin + item.start(1), begin + item.end(1))
            if line[1] is not None:
                yield Imported(line[1], name, alias or name, span)
            else:  # without an alias, the name bound is that of the library
                yield Imported(name, None, alias or name.partition(".")[0], span, bool(alias))


def unknown_module(path: str) -> UnknownNameError:
    """Return the error of a module that belongs to no known library."""
    close = suggestion(path, sorted(MODULES), cutoff=0.8)
    return UnknownNameError(
        f"the module '{path}' is not known here",
        help=f"did you mean '{close}'?" if close else _HELP,
    )


def unknown_name(path: str, name: str, close: str | None) -> UnknownNameError:
    """Return the error of a name that a known module does not have, or not here."""
    help = "`gradcli functions` lists what there is"
    if close is not None and f"'{name}'" not in close:
        help = close
    return UnknownNameError(f"'{path}' has no '{name}' here", help=help)


def modules_imported(source: Source) -> dict[str | None, str] | None:
    """Return the modules that the import lines in a text bind, by names.

    The key None has a module from which something else is taken. None is returned for a text
    without import lines.
    """
    items = [*_imported_names(_UNREAD.sub(_blanks, source.text))]
    if not items:
        return None
    found: dict[str | None, str] = {}
    for item in items:
        path = item.path if item.name is None else f"{item.path}.{item.name}"
        if item.name is None and item.path in MODULES:
            found[item.alias] = item.path if item.aliased else item.alias
        elif path in MODULES:
            found[item.alias] = path
        elif item.path in MODULES:
            found[None] = item.path
    return found


# -- Lines as they are pasted: of a Python session with its prompts, and blocks of Python's
# statements, which are one piece each.
#
# Asked from the first line on that begins with a prompt or ends as the head of a block does.


_RETURNS = re.compile(r"\s*def\b[^:;]*:\s*(?:#.*\s*)*return\b")  # a definition of one expression
_PROMPT = re.compile(r"\A(?:>>>(?:[ \t]|(?=\r?\n|\Z))|In \[\d*\]:(?:[ \t]|(?=\r?\n|\Z)))")
_MORE = re.compile(r"^(?:\.\.\.(?:[ \t]|(?=\r?$))|[ \t]*\.\.\.:(?:[ \t]|(?=\r?$)))", re.MULTILINE)
_HEADER = re.compile(
    r"[ \t]*(?:for|while|if|elif|else|with|try|except|finally|class|def|async)\b.*:[ \t]*(?:#.*)?\r?\n?\Z", re.DOTALL
)  # fmt: skip
_JOINED = re.compile(r"[ \t]*(?:elif|else|except|finally)\b")
_BLANK = re.compile(r"[ \t]*(?:#.*)?\r?\n?\Z")


class Output(Source):
    """Text that Python printed in a session that is pasted."""


class Block(Source):
    """A statement of Python with the lines that belong to it."""


def is_head(line: str) -> bool:
    """Return whether a line is the head of a block."""
    return _HEADER.match(line) is not None


def pieces(lines: Iterable[tuple[int, str]], name: str | None) -> Iterator[Source]:
    """Yield logical lines, each with the number of its first line.

    Prompts become blanks, and a block is one piece.
    """
    prompted = False
    block: list[str] = []
    first = depth = 0
    for number, line in lines:
        text, printed = line, False
        if _PROMPT.match(line) or (prompted and _MORE.match(line)):
            prompted = True
            text = _MORE.sub(_blanks, _PROMPT.sub(_blanks, line))
        else:
            printed = (prompted or line.startswith("Out[")) and not _BLANK.match(line)
        if block:
            if not printed and (
                _BLANK.match(text)
                or _depth(text) > depth
                or (_depth(text) == depth and _JOINED.match(text))
            ):
                block.append(text)
                continue
            yield _block(block, name, first)
            block = []
        if printed:
            yield Output(line, name, number)
        elif is_head(text):
            block, first, depth = [text], number, _depth(text)
        elif text.strip():
            yield Source(text, name, number)
    if block:
        yield _block(block, name, first)


def _block(lines: list[str], name: str | None, first: int) -> Source:
    """Return a block as it stands, or the definition that it is."""
    text = "".join(lines)
    return (Source if _RETURNS.match(text) else Block)(text, name, first)


def _blanks(found: re.Match[str]) -> str:
    return " " * len(found[0])


def _depth(text: str) -> int:
    """Return how far a line is indented."""
    expanded = text.expandtabs(8)
    return len(expanded) - len(expanded.lstrip(" "))
