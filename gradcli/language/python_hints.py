"""Python that is out of the language: loops, functions, classes, stores.

What is said of it, and what to write instead.

Asked only where a statement begins with one of Python's own words, or cannot be read.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from operator import attrgetter
from typing import Any, NamedTuple

from gradcli.errors import ParseError, Source, Span, UnknownNameError
from gradcli.language.parser import parse_tokens
from gradcli.language.tokens import (
    END,
    NAME,
    PYTHON_WORDS,
    STRING,
    SYMBOL,
    Token,
    end_of,
    outside,
    refuse_sign,
)
from gradcli.language.tree import Binding, Effect, Expression, Import, Imported, Lost, Statement
from gradcli.ops.calling.prefixes import MODULES, NUMPY, ROOTS, TORCH
from gradcli.texts import suggestion, words

# -- Statements as parts of a logical line: their tokens, and where they end ----------------------


class SaidError(ParseError):
    """An error whose words are about what the statement is: nothing more is to be said of it."""


class Part(NamedTuple):
    """The tokens of one statement, start:stop of those of its line."""

    source: Source
    tokens: list[Token]
    start: int
    stop: int
    span: Span

    def token(self, place: int) -> Token:
        """Return a token by its place in the statement; END after the last."""
        at = self.start + place
        return self.tokens[at] if at < self.stop else Token(END, "", self.span.end)

    def outside(self, begin: int = 0, end: int | None = None) -> list[int]:
        """Return the places outside of brackets; the brackets themselves count as outside."""
        stop = self.stop if end is None else self.start + end
        return [at - self.start for at in outside(self.tokens, self.start + begin, stop)]

    def places(self, text: str, begin: int = 0, end: int | None = None) -> list[int]:
        """Return the places of a sign or word outside of brackets."""
        return [place for place in self.outside(begin, end) if self.token(place).text == text]

    def text(self, begin: int, end: int) -> str:
        """Return the text of the tokens begin:end."""
        if begin >= end:
            return ""
        return self.source.text[self.token(begin).start : end_of(self.token(end - 1))]

    def cut(self, span: Span) -> Part:
        """Return the tokens of a part of the text."""
        start, stop = (bisect_left(self.tokens, place, key=attrgetter("start")) for place in span)
        return Part(self.source, self.tokens, start, stop, span)

    def closing(self, place: int) -> int:
        """Return the place of the bracket that closes the one at a place, or -1."""
        depth = 0
        for at in range(self.start + place, self.stop):
            text = self.tokens[at].text
            depth += (text in ("(", "[")) - (text in (")", "]"))
            if depth == 0:
                return at - self.start
        return -1

    def expression(
        self, place: int, values: frozenset[str] = frozenset(), end: int | None = None
    ) -> Expression:
        """All from a place on, or up to another one, as an expression."""
        at = self.start + place
        stop = self.stop if end is None else self.start + end
        if "±" in self.source.text:
            refuse_sign(self.source, self.tokens[at:stop])
        return parse_tokens(self.source, self.tokens, at, stop, values)

    def bind(self, name: Token, expression: Expression, **more: Any) -> Binding:
        """Return the binding of a name by the statement."""
        return Binding(self.source, self.span, name.text, name.span, expression, **more)


def ends(source: Source, tokens: list[Token]) -> Iterator[int]:
    """Yield the places of the tokens that end statements.

    They are each semicolon outside of brackets, and the END.
    """
    if ";" in source.text:  # megabytes of text rarely have one
        depth = 0
        for i, (kind, text, _) in enumerate(tokens):
            if kind == SYMBOL:
                depth += (text in ("(", "[")) - (text in (")", "]"))
                if text == ";" and depth <= 0:
                    yield i
                    depth = 0
    yield len(tokens) - 1


_LEFT_OUT = "leave it out"
_DEFINITION = "write f(x) = x**2 for a function"
_OPENING = PYTHON_WORDS - {
    "print"
}  # words that begin statements of Python; _INSTEAD has what to write for most
_INSTEAD = {
    **dict.fromkeys(
        ("for", "while", "break", "continue"), "write sum(x**2) for a sum over all entries"
    ),
    **dict.fromkeys(
        ("if", "elif", "else"), "write y = where(x > 0, x, 0), or y = x if x > 0 else 0"
    ),
    **dict.fromkeys(
        ("try", "except", "finally", "raise"), "write where(x > 0, log(x), 0) for what would fail"
    ),
    **dict.fromkeys(("def", "class", "async"), _DEFINITION),
    "with": "write detach(x) for what has no gradient",
    "yield": "write y = x**2 for all entries at once",
    "return": "write the value alone: y",
}
_ALONE = words("return pass break continue yield try else")  # words that may stand alone
_BEFORE_BRACKETS = words("return yield if while with")
_OPERATORS = words("= + * / . , ) ] ** // % @ == < > <= >= != ' ^")
_WORD = re.compile(r"\s*([^\W\d]\w*)")
_LAMBDA = re.compile(r"\b(lambda)\s+\w[\w\s,=*]{0,200}:")
_STORE = re.compile(r"\s*[^\W\d][\w.]*(?:\[.*\]|\.\w+)\s*((?:[-+*/]|\*\*)?=)(?!=)", re.DOTALL)
_BOUND = re.compile(
    r"(?:^|;)[ \t]*(?:const )?([^\W\d]\w*(?:[ \t]*,[ \t]*[^\W\d]\w*)*)[ "
    r"\t]*(?:=(?!=)|[-+*/@]=|\*\*=|\[.*\][ \t]*(?:=(?!=)|[-+*/@]=))",
    re.MULTILINE,
)


# -- errors --------------------------------------------------------------------------------------


def _opening(word: str) -> tuple[str, str]:
    """Return what is said of a statement that begins with a word of Python's, and what to write."""
    return f"the language has no '{word}' statement", _INSTEAD.get(word, _LEFT_OUT)


def explain_error(source: Source, start: int, stop: int, error: ParseError) -> ParseError:
    """Return the error of an unreadable text in terms of the Python that it contains.

    That is a function, a store or a statement; any other error is returned as it is.
    """
    if isinstance(error, SaidError):
        return error
    text = source.text[start:stop]
    first, help = _WORD.match(text), _DEFINITION
    if found := _LAMBDA.search(text):
        place = found.span(1)
        message = "the language has no 'lambda'"
    elif first is not None and first[1] in _OPENING:
        place = first.span(1)
        message, help = _opening(first[1])
    elif found := _STORE.match(text):
        place = found.span(1)
        message = "the language has no stores: a value stays as it is"
        help = "write x = x.at[0].set(1)"
    else:
        return error
    span = Span(start + place[0], start + place[1])
    return ParseError(message, span=span, source=source, help=help)


def refuse_block(source: Source) -> Iterator[Statement | ParseError]:
    """Yield the refusal of a block of Python's statements, or of Python's printed output."""
    text = source.text
    start = len(text) - len(text.lstrip())
    end = max(len(text[:start]) + len(text[start:].partition("\n")[0]), start + 1)
    error = ParseError(
        "a block is not read", span=Span(start, start + 1), source=source, help=_LEFT_OUT
    )
    if type(source).__name__ == "Output":
        message = "a line without a prompt in a session is what Python printed"
        yield ParseError(message, span=Span(start, end), source=source, help=_LEFT_OUT)
    else:
        yield explain_error(source, 0, len(text), error)
    yield from lost_bindings(source, 0, text)


def lost_bindings(source: Source, start: int, text: str) -> Iterator[Lost]:
    """Yield a substitute for the bindings in a text that is not run.

    Their names have no value.
    """
    names = names_bound(text)
    if names or _EFFECT.search(text) or _STORE.match(text):
        yield Lost(source, Span(start, start + len(text)), names)


def names_bound(text: str) -> list[str]:
    """Return the names that the statements of a text seem to bind."""
    return list(
        dict.fromkeys(name.strip() for names in _BOUND.findall(text) for name in names.split(","))
    )


# What changes values or gradients in place: of names in its line, or of all that are trained.
_IN_PLACE = re.compile(r"\w_\(|\bout ?=|\.sort\(\)")
_TRAINS = re.compile(r"\.step\(|\bparameters\(|^[ \t]*(?:for|while)\b", re.MULTILINE)
_EFFECT = re.compile(rf"{_IN_PLACE.pattern}|{_TRAINS.pattern}|\bbackward\(", re.MULTILINE)


def names_changed(text: str) -> tuple[set[str], bool]:
    """Return the words of a text that may be names of what it changes in place.

    The second result tells whether it may change all that is trained.
    """
    lines = [x for x in text.split("\n") if _IN_PLACE.search(x) or _STORE.match(x)]
    return set(re.findall(r"\w+", " ".join(lines))), _TRAINS.search(text) is not None


# -- statements that begin as Python's do --------------------------------------------------------


def usable(part: Part) -> list[Token] | None:
    """Return the tokens to read in place of a statement that begins as Python's do.

    There are none if the statement changes nothing. None means a statement like any other. Raises
    ParseError for statements outside of the language.
    """
    after = part.token(1)
    if after.text == ".":
        return _of_a_value(part)
    if after.text == ":":
        return _without_annotation(part)
    if part.token(0).text == "print":
        return _argument_of_print(part)
    _refuse_first_word(part)
    return None


# Effects of training scripts: a gradient is required or cleared, or random numbers are seeded.
_EFFECTS = {
    "requires": r"(\w+)\.requires_grad(?:_\((?:requires_grad=)?(?:True)?\)| ?= ?True)",
    "clears": r"(\w+)\.(?:zero_grad\((?:set_to_none=\w+)?\)|grad(?:(?:\.data)?\.zero_\(\)| ?= ?None))",
    TORCH: r"torch(?:\.random)?\.manual_seed\((\d+)\)",
    NUMPY: r"(?:np|numpy)\.random\.seed\((\d+)\)",
}


def effect(part: Part) -> Effect | None:
    """Return a statement that is an effect of a training script; None for others."""
    text = part.source.text[part.span.start : part.span.end]
    found = {kind: re.fullmatch(pattern, text) for kind, pattern in _EFFECTS.items()}
    for kind, match in found.items():
        if match is not None:
            return Effect(part.source, part.span, kind, match[1])
    return None


def _refusal(part: Part, message: str, help: str, place: int) -> SaidError:
    return SaidError(message, span=part.token(place).span, source=part.source, help=help)


def _of_a_value(part: Part) -> list[Token] | None:
    """Skip ``x.retain_grad()``, and refuse ``optimizer.step()`` and ``x.sort()``.

    ``x.sort()`` is a sorted copy in one library and a store in the other.
    """
    name, method, count = part.token(0).text, part.token(2).text, part.stop - part.start
    rest = part.source.text[part.token(3).start : part.span.end] if count > 3 else ""
    inner = rest[1:-1].strip()
    if name in ROOTS:
        return None
    if rest[:1] != "(" or part.closing(3) != count - 1:
        return None
    if method == "retain_grad" and not inner:
        return []
    if method == "step" and not inner:
        message = "'step' changes values in place: a value stays as it is"
        raise _refusal(part, message, "leave it out: the gradients stand before it", 2)
    if method == "requires_grad_":
        message = "'requires_grad_' changes a value in place: a value stays as it is"
        raise _refusal(part, message, f"write {name} = detach({name})", 2)
    if method == "sort" and (not inner or part.token(5).text == "="):
        message = f"{name}.sort() is a sorted copy in PyTorch, and sorts in place in NumPy"
        raise _refusal(part, message, f"write sort({name})", 2)
    return None


def _without_annotation(part: Part) -> list[Token] | None:
    """``x: float = 2.0`` without its type."""
    tokens = part.tokens[part.start : part.stop]
    equals = next(iter(part.places("=")), 0)
    of_type = [
        token.kind in (NAME, STRING) or token.text in (".", "[", "]", ",", "...")
        for token in tokens[2:equals]
    ]
    return (
        [tokens[0], *tokens[equals:], Token(END, "", part.span.end)]
        if of_type and all(of_type)
        else None
    )


def _argument_of_print(part: Part) -> list[Token] | None:
    """``print(y)`` is y."""
    last = part.stop - part.start - 1
    if part.token(1).text != "(" or part.closing(1) != last:
        return None
    if part.token(2).text == ")":
        raise _refusal(part, "there is nothing to print", _LEFT_OUT, 0)
    if part.places(",", 2, last) or part.places("=", 2, last):
        raise _refusal(part, "print takes one value here", "write print(y) for each", 0)
    return [
        *part.tokens[part.start + 2 : part.stop - 1],
        Token(END, "", end_of(part.token(last - 1))),
    ]


def _refuse_first_word(part: Part) -> None:
    """Raise for a statement whose first word is Python's, unless it is a name like any other."""
    first, after = part.token(0), part.token(1)
    word, text = first.text, after.text if after.kind == SYMBOL else ""
    called = text == "(" and after.start == first.start + len(word)
    if called or text in _OPERATORS or (text in ("-", "[", "(") and word not in _BEFORE_BRACKETS):
        return
    if after.kind != END or word in _ALONE:
        words = _opening(word)
        raise ParseError(words[0], span=first.span, source=part.source, help=words[1])


# -- Import lines: the names and aliases that they take from the known libraries, and nothing else
#
#     import = "import" module { "," module }
#            | "from" path "import" ( "*" | names | "(" names [ "," ] ")" )
#     module = path [ "as" NAME ]
#     path   = NAME { "." NAME }
#     names  = NAME [ "as" NAME ] { "," NAME [ "as" NAME ] }


_OF_PYTHON = frozenset({"__future__"})  # modules that matter to Python only
_HELP = "leave it out; write import numpy as np, import torch, from scipy import special"


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
        raise _import_refusal(part, "there are no modules beside this text", part.token(1).span)
    text = _UNREAD.sub(_blanks, part.source.text[slice(*part.span)])
    if _IMPORT.fullmatch(text) is None:
        raise _import_refusal(part, "this import is not read", part.span)
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


def _import_refusal(part: Part, message: str, span: Span) -> SaidError:
    return SaidError(
        message, span=span, source=part.source, help="write import torch, or from torch import nn"
    )


def is_of_python(path: str) -> bool:
    """Return whether a module is one that says something to Python alone."""
    return path.partition(".")[0] in _OF_PYTHON


def unknown_module(path: str) -> UnknownNameError:
    """Return the error of a module that belongs to no known library."""
    close = suggestion(path, sorted(MODULES), cutoff=0.8)
    said = f"the module '{path}' is not known here"
    return UnknownNameError(said, help=f"did you mean '{close}'?" if close else _HELP)


def unknown_name(path: str, name: str, close: str | None) -> UnknownNameError:
    """Return the error of a name that a known module does not have, or not here."""
    help = (
        "leave it out: what it does is not in the language"
        if close is None or f"'{name}'" in close
        else close
    )
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


def _definition(found: re.Match[str]) -> str:
    """Return the head of a definition, up to where its expression begins."""
    return f"{found[1]}({found[2]}) =".rjust(len(found[0]))


def _autograd(found: re.Match[str]) -> str:
    """``torch.autograd.grad(y, [x, z])``: a tuple of derivatives."""
    parts = [f"grad({found[1]}, {x.strip()}), " for x in found[2].strip(", \t\r\n").split(",")]
    return f"({''.join(parts)})"


_REWRITTEN: tuple[tuple[re.Pattern[str], str | Callable[[re.Match[str]], str]], ...] = (
    (re.compile(r"\A\s*def\s+(\w+)\s*\(([\w\s,]*)\)\s*:\s*return\b"), _definition),
    (re.compile(r"\A\s*(\w+)\s*=\s*lambda\s+(\w[\w\s,]*):"), _definition),
    (re.compile(r"\b(?:jax\.)?grad\(\s*(\w+)\s*\)(?=\()"), r"\1'"),
    (
        re.compile(r"\b(?:jax\.)?value_and_grad\(\s*(\w+)\s*\)(\(\s*\w+\s*\))"),
        r"\1\2, \1'\2",
    ),
    (
        re.compile(
            r"\btorch\.autograd\.grad\(\s*(\w+)\s*,(?:\s*[\[(])?([\w\s,]+)(?:[\])]\s*)?"
            r"(?:,\s*(?:create|retain)_graph\s*=\s*True\s*)*\)"
        ),
        _autograd,
    ),
    (
        re.compile(r"\Aprint\(([\w.]+(?:\s*,\s*[\w.]+)+)\)"),
        lambda found: found[1].replace(",", ";"),
    ),
    (
        re.compile(r"\b((?:np|numpy)\.random\.)normal\((?:0,\s*1,\s*|(?=size\b))"),
        r"\1standard_normal(",
    ),
    (re.compile(r"\b((?:np|numpy)\.random\.)uniform\((?:0,\s*1,\s*|(?=size\b))"), r"\1random("),
)


def rewrite(text: str) -> str:
    """Rewrite pasted Python as the language has it.

    This is for functions of one line, derivatives of libraries, printed values and NumPy's draws.
    """
    if (
        "def " in text
        or "lambda " in text
        or "grad(" in text
        or "print(" in text
        or "random." in text
    ):
        for pattern, written in _REWRITTEN:
            text = pattern.sub(written, text)
    return text


_PROMPT = re.compile(r"(?:>>>(?:[ \t]|(?=\r?\n|\Z))|In \[\d*\]:(?:[ \t]|(?=\r?\n|\Z)))")
_MORE = re.compile(r"^(?:\.\.\.(?:[ \t]|(?=\r?$))|[ \t]*\.\.\.:(?:[ \t]|(?=\r?$)))", re.MULTILINE)
_HEADERS = words(
    "for while if elif else with try except finally class def async"
)  # words that a block follows
_HEADER = re.compile(rf"[ \t]*(?:{'|'.join(_HEADERS)})\b.*:[ \t]*(?:#.*)?\r?\n?\Z", re.DOTALL)
_JOINED = re.compile(r"[ \t]*(?:elif|else|except|finally)\b")
_BLANK = re.compile(r"[ \t]*(?:#.*)?\r?\n?\Z")


@dataclass(frozen=True)
class Output(Source):
    """Text that Python printed in a session that is pasted."""


@dataclass(frozen=True)
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
        if _PROMPT.match(line):
            prompted = True
            text = _without_prompts(_PROMPT.sub(_blanks, line, count=1))
        elif prompted and _MORE.match(line):
            text = _without_prompts(line)
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
            yield Source(rewrite(text), name, number)
    if block:
        yield _block(block, name, first)


def _block(lines: list[str], name: str | None, first: int) -> Source:
    """Return a block as it stands, or the definition that it is."""
    text = "".join(lines)
    read = rewrite(text)
    return Block(text, name, first) if read == text else Source(read, name, first)


def _without_prompts(text: str) -> str:
    return _MORE.sub(_blanks, text)


def _blanks(found: re.Match[str]) -> str:
    return " " * len(found[0])


def _depth(text: str) -> int:
    """Return how far a line is indented."""
    expanded = text.expandtabs(8)
    return len(expanded) - len(expanded.lstrip(" "))
