"""Text to tokens, text to logical lines and statements, and where ``±`` stands among tokens."""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from decimal import Decimal
from operator import attrgetter
from typing import NamedTuple, NoReturn

from gradcli.errors import AmbiguousError, ParseError
from gradcli.ops.calling.textbook import NOT_COMPUTED
from gradcli.texts import FRACTIONS as FRACTION_SIGNS
from gradcli.texts import NAME as NAME_PATTERN
from gradcli.texts import Source, Span, by_word, words

# The groups of _TOKEN, from 1 on.
END, SYMBOL, NUMBER, NAME, PRIME, STRING, SUPERSCRIPT, _SPELLING, _BAD = range(9)

RESERVED = words("if else and or not")  # words that cannot be names
# Words that begin statements of Python, which python_hints.py handles.
PYTHON_WORDS = words("""
    async break class continue def del elif else except finally for global if nonlocal pass print raise return try while with yield
""")


class Token(NamedTuple):
    kind: int
    text: str
    start: int

    @property
    def span(self) -> Span:
        return Span(self.start, self.start + max(1, len(self.text)))


_token = tuple.__new__  # makes a named tuple in half the time of its own constructor

_PLAIN_DIGITS = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹", "0123456789")
_SPELLINGS = by_word({
    "^": "**", "× · ⋅ ∙ ∗": "*", "÷ ∕ ⁄": "/", "− –": "-", "≤": "<=", "≥": ">=", "≠": "!=", "√": "√", "∛": "∛", "°": "°",
    "±": "±",
})  # fmt: skip

FRACTIONS = {char: unicodedata.numeric(char) for char in FRACTION_SIGNS}

_BLANKS = r"(?:[ \t\n\f\v\u00a0\u202f\ufeff]+|\r+(?=\n|\Z)|\\(?=\r*\n|\Z)|\#[^\n]*)*+"
_DIGITS = "[0-9][0-9_]*"
_NUMBER = rf"(?:{_DIGITS}(?:\.(?!\.)[0-9_]*)?|\.{_DIGITS})(?:[eE][+-]?{_DIGITS})?"
_ASCII_NAME = r"[A-Za-z_][A-Za-z0-9_]*+"
_LEADING = re.compile(_BLANKS)
_TOKEN = re.compile(
    rf"""(?:
     ((?:[-+@]|\*\*?|//?|%)=(?!=)|[-+%@()\[\],:;|&~]|\*\*?|//?|[<>=]=?|!=|\.\.\.|\.\.|\.(?![0-9]))                        # SYMBOL
    |({_NUMBER}[{FRACTION_SIGNS}]?|[{FRACTION_SIGNS}])                                                # NUMBER
    |({_ASCII_NAME}(?![^\x00-\x7f])|π(?=[^\W\d_])|{NAME_PATTERN})      # NAME
    |((?<=[\w⁰¹²³⁴-⁹'′’″])(?!'[^'\n{{]*\{{)['′’″]+)                                              # PRIME
    |('[^'\n]*'|"[^"\n]*")                                                               # STRING
    |(⁻?[⁰¹²³⁴-⁹]+)                                                                       # SUPERSCRIPT
    |([{re.escape("".join(_SPELLINGS))}])                                                   # another spelling
    |(.)                                                                                   # anything else
    ){_BLANKS}""",
    re.VERBOSE | re.DOTALL,
)
# Where query/templates.py, which needs names and numbers only, cuts an ASCII text: at the same
# names and numbers as here, except for underscores between digits and names of functions.
_PLAIN_NUMBER = _NUMBER.replace(_DIGITS, "[0-9]+").replace("_", "")
WORD = rf"(?<![A-Za-z0-9_])({_PLAIN_NUMBER}|{_ASCII_NAME}(?!\s*\())"
ROOTS = ("√", "∛")  # signs of roots, which stand before the radicand
STARTS_NUMBER = frozenset("0123456789.")

_HELP = by_word({
    "∜": "write x**(1/4)",
    "!": "write x != y for 'not equal', not x for a condition, factorial(n) for a factorial",
    "∞": "write inf",
    "ⁿ": "write x^n",
    "∫": NOT_COMPUTED["int"],
    "{ }": "write [1, 2] for an array, (x + 1) to group",
    "' \"": "a string needs both quotes",
    "$": "names consist of letters, digits and _",
})  # fmt: skip


def tokenize(source: Source) -> list[Token]:
    """Return the tokens of a text, with one END.

    Raises ParseError at the first bad character.
    """
    tokens: list[Token] = []
    append = tokens.append
    text = source.text
    leading = _LEADING.match(text)
    for match in _TOKEN.finditer(text, leading.end() if leading else 0):
        kind = match.lastindex or _BAD
        word = match[kind]
        if kind >= _SPELLING:
            if kind == _BAD:
                raise _bad_character(source, word, match.start())
            kind, word = SYMBOL, _SPELLINGS[word]
        append(_token(Token, (kind, word, match.start())))
    append(Token(END, "", len(text)))
    return tokens


def next_token(source: Source, start: int) -> tuple[Token, int]:
    """Return the token at a place, and the place after it and the blanks that follow.

    Raises ParseError for a bad character.
    """
    match = _TOKEN.match(source.text, start)
    kind = (match and match.lastindex) or _BAD
    if match is None or kind == _BAD:
        raise _bad_character(source, source.text[start], start)
    word = match[kind]
    spelled = (SYMBOL, _SPELLINGS[word]) if kind == _SPELLING else (kind, word)
    return Token(*spelled, start), match.end()


def _bad_character(source: Source, char: str, start: int) -> ParseError:
    shown = repr(char) if char.isprintable() else f"U+{ord(char):04X}"
    if 0xDC80 <= ord(char) <= 0xDCFF:
        return ParseError(
            f"the byte 0x{ord(char) - 0xDC00:02x} is not valid UTF-8", span=Span(start, start + 1), source=source,
            help="save the text as UTF-8",
        )  # fmt: skip
    if char == "\r":
        return ParseError(
            "a carriage return (U+000D) alone ends no line", span=Span(start, start + 1), source=source,
            help="end lines with \\n or \\r\\n; in one line, separate statements with ;",
        )  # fmt: skip
    return ParseError(
        f"unexpected character {shown}",
        span=Span(start, start + 1),
        source=source,
        help=_HELP.get(char),
    )


def superscript_value(text: str) -> float:
    """Return the exponent of superscript digits: a whole number, or a float if it is long."""
    digits = text.lstrip("⁻").translate(_PLAIN_DIGITS)
    value = int(digits) if len(digits) < 300 else float(digits)
    return -value if text.startswith("⁻") else value


def end_of(token: Token) -> int:
    return token.start + len(token.text)


def outside(tokens: Sequence[Token], start: int, stop: int) -> list[int]:
    """Return the places of the tokens start:stop outside of brackets.

    The brackets themselves count as outside.
    """
    found, depth = [], 0
    for at in range(start, stop):
        text = tokens[at].text
        depth -= text in (")", "]")
        if depth <= 0:
            found.append(at)
        depth += text in ("(", "[")
    return found


_BRACKETS = re.compile(r"""(?<=[\w'])'+|'[^'\n]*'|"[^"\n]*"|\#.*|[()\[\]]""")


_CONTINUED = ("\\\n", "\\\r\n")  # endings of a line that continues on the next


def open_brackets(text: str) -> int:
    """Return how many more brackets a text opens than it closes, but for quotes and comments."""
    if "#" not in text and "'" not in text and '"' not in text:
        return text.count("(") + text.count("[") - text.count(")") - text.count("]")
    words = [m.group() for m in _BRACKETS.finditer(text)]
    return words.count("(") + words.count("[") - words.count(")") - words.count("]")


def logical_lines(lines: Iterable[str], limit: int) -> Iterator[tuple[int, str]]:
    """Join physical lines while a bracket is open.

    The number of the first line (from 1) and the text are yielded. Lines come as they are read, so
    that a pipe is answered line by line. A bracket that is never closed (before the end, or within
    ``limit`` characters) leaves its line alone, and reading resumes on the next line.
    """
    pending: list[str] = []  # lines since the one that opened a bracket
    depths: list[int] = []
    first, size, depth = 1, 0, 0
    for line in lines:
        change = open_brackets(line)
        if not pending and change <= 0 and not line.endswith(_CONTINUED):
            yield first, line
            first += 1
            continue
        pending.append(line)
        depths.append(change)
        size += len(line)
        depth += change
        if depth <= 0 and not (line.endswith(_CONTINUED) and "#" not in line):
            yield first, "".join(pending)
        elif size > limit:
            yield from _regroup(pending, depths, first)
        else:
            continue
        first += len(pending)
        pending, depths, size, depth = [], [], 0, 0
    yield from _regroup(pending, depths, first)


class Ahead:
    """Lines that are handed on as they are asked for, and can be looked at before."""

    def __init__(self, lines: Iterable[str]) -> None:
        self._lines = iter(lines)
        self.count = 0  # number of lines handed on

    def __iter__(self) -> Iterator[str]:
        while (line := next(self._lines, None)) is not None:
            self.count += 1
            yield line

    def rest(self) -> list[str]:
        """Return the lines that are to come.

        An error while reading them is raised later, in its turn.
        """
        waiting: list[str] = []
        failure = None
        try:
            waiting.extend(self._lines)
        except Exception as error:
            failure = error
        self._lines = _again(waiting, failure)
        return waiting


def _again(lines: list[str], failure: Exception | None) -> Iterator[str]:
    yield from lines
    if failure is not None:
        raise failure


def _regroup(lines: list[str], depths: list[int], first: int) -> Iterator[tuple[int, str]]:
    """Logical lines of a stretch in which some bracket is never closed, in linear time."""
    ends = []
    total = 0
    for change in depths:
        total += change
        ends.append(total)
    lowest = list(ends)  # smallest depth at the end of this or any later line
    for i in range(len(lowest) - 2, -1, -1):
        lowest[i] = min(lowest[i], lowest[i + 1])
    start = 0
    while start < len(lines):
        before = ends[start - 1] if start else 0
        stop = start + 1
        if ends[start] > before and lowest[start] <= before:
            while ends[stop - 1] > before:
                stop += 1
        yield first + start, "".join(lines[start:stop])
        start = stop


# -- Statements as parts of a logical line: their tokens, and where they end


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

    def fail(self, message: str, span: Span, help: str | None = None) -> NoReturn:
        """Refuse the statement in words about what it is."""
        raise SaidError(message, span=span, source=self.source, help=help)


def statements_between(source: Source, tokens: list[Token]) -> Iterator[tuple[int, int]]:
    """Yield the places of the first token of each statement, and of the token after it.

    A semicolon outside of brackets ends one, and the END.
    """
    start = depth = 0
    if ";" in source.text:  # megabytes of text rarely have one
        for i, (kind, text, _) in enumerate(tokens):
            if kind == SYMBOL:
                depth += (text in ("(", "[")) - (text in (")", "]"))
                if text == ";" and depth <= 0:
                    if i > start:
                        yield start, i
                    start, depth = i + 1, 0
    if len(tokens) - 1 > start:
        yield start, len(tokens) - 1


# -- Values with standard deviations: where ``±`` (or ``+/-``) stands in a binding, and what reads like
# one.


_SIGN_HELP = (
    "write m = 1.0 ± 0.1, or x = [1, 2] ± [0.1, 0.2]: it stands once, between a whole value "
    "and its standard deviation"
)

_CONCISE = re.compile(
    r"([-+−]?(?:[0-9]+\.?[0-9]*|\.[0-9]+))\(([0-9]+|[0-9]*\.[0-9]+)\)([eE][-+]?[0-9]+)?\Z"
)
_PAIR = re.compile(r"(.+?)\+-(.+)", re.DOTALL)
_WITH_DATA = re.compile(r"(.*?)[ \t]+(?:±|\+/-|\\pm(?![^\W\d_]))[ \t]*(.+)\Z", re.DOTALL)


def has_sign(text: str) -> bool:
    """Tell whether a sign may stand in a text."""
    return "±" in text or "+/-" in text


def may_be_measured(value: str) -> bool:
    """Tell whether the text of a value has a sign, or something that reads like one."""
    return has_sign(value) or "+-" in value or _CONCISE.match(value.strip()) is not None


def of_data(reference: str) -> tuple[str, str | None]:
    """Return the file that ``data.npy ± 0.1`` names, and the text of its standard deviation.

    The text is None if there is no standard deviation.
    """
    found = _WITH_DATA.match(reference) if has_sign(reference) or "\\pm" in reference else None
    return (reference, None) if found is None else (found[1], found[2])


def refuse_measured(source: Source, tokens: Sequence[Token], start: int, stop: int) -> None:
    """Raise AmbiguousError if a binding's whole value is ``5.00(5)`` or ``5.00 +- 0.05``."""
    if stop - start < 4:
        return
    begin, last = tokens[start].start, tokens[stop - 1]
    text = source.text[begin : end_of(last)]
    concise = _CONCISE.match(text)
    if concise is not None:
        value, digits, exponent = concise.groups(default="")
        places = len(value.partition(".")[2]) if "." not in digits else 0
        error = format(Decimal(digits).scaleb(-places), "f")
        readings = f"{value}{exponent}±{error}{exponent} or {value}*{digits}{exponent}"
    else:
        pair = _PAIR.fullmatch(text)
        if pair is None or any(token.kind == NAME for token in tokens[start:stop]):
            return
        readings = "{0}±{1} or {0} + (-{1})".format(*(part.strip() for part in pair.groups()))
    raise AmbiguousError(
        f"'{text}' has two readings: with a standard deviation, and without one",
        span=Span(begin, end_of(last)), source=source, help=f"write {readings}",
    )  # fmt: skip


def sign_in(tokens: Sequence[Token], start: int, stop: int) -> tuple[int, int] | None:
    """Return the range of tokens of the first sign outside of brackets.

    It is the index where the sign begins and the index after its end.
    """
    for at in outside(tokens, start, stop):
        words = [token.text for token in tokens[at : min(at + 3, stop)]]
        if words[0] == "±":
            return at, at + 1
        if words == ["+", "/", "-"] and tokens[at + 2].start == tokens[at].start + 2:
            return at, at + 3
    return None


def refuse_sign(source: Source, tokens: Sequence[Token]) -> None:
    """Raise ParseError for a sign where no value of a binding ends."""
    for token in tokens:
        if token.text == "±":
            raise ParseError(
                "'±' is not read here", span=token.span, source=source, help=_SIGN_HELP
            )
