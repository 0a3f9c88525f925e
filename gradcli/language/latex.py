r"""LaTeX to the tokens of the language: ``\frac{a}{b}``, ``\sqrt[n]{x}``, ``e^{-x^2}``.

Each token has the place of the LaTeX that it was read from, so that errors point there. Letters
side by side are a product of names, as they are in print; ``\mathrm{rate}`` and ``x_{max}`` are one
name. A command that has no meaning here is refused by name.
"""

from __future__ import annotations

import re
from typing import NoReturn

from gradcli.errors import AmbiguousError, LimitError, ParseError
from gradcli.language.syntax import (
    END,
    NAME,
    NUMBER,
    PYTHON_WORDS,
    RESERVED,
    STRING,
    SYMBOL,
    Token,
    next_token,
)
from gradcli.ops.calling import textbook
from gradcli.ops.calling.meanings import lookup
from gradcli.ops.calling.prefixes import NUMPY, TORCH
from gradcli.texts import Source, Span, by_word, pairs, suggestion, words

LEVELS = 60  # most levels of nested groups and command arguments

_SYMBOLS = by_word({
    "cdot times ast": "*", "div": "/", "pm": "±", "circ": "°", "le leq leqslant": "<=", "ge geq geqslant": ">=",
    "ne neq": "!=", "lt": "<", "gt": ">", "colon": ":",
})  # fmt: skip
_NAMES = {
    **pairs("infty inf, pi pi, ell ell, hbar hbar"),
    **{name: name for name in textbook.GREEK}, **{f"var{name}": name for name in textbook.GREEK},
    **{name: name for name in words("Gamma Delta Theta Lambda Xi Sigma Upsilon Phi Psi Omega")},
}  # fmt: skip
_ONE_NAME = words("mathrm operatorname text textrm mathit mathsf mathcal mathbb")
_VECTORS = words("vec mathbf boldsymbol bm")
_WORDS = frozenset((*RESERVED, *PYTHON_WORDS, "assert"))
_MARKED = words("hat bar tilde")  # \hat{y} is y_hat
_FRACTIONS = words("frac dfrac tfrac cfrac")
_SIZES = words("big Big bigg Bigg bigl bigr Bigl Bigr biggl biggr Biggl Biggr")
# Brackets, each with the function that it is and with its closing bracket.
_BRACKETS = {
    "(": ("", ")"), "[": ("", "]"), r"\{": ("", r"\}"), r"\lbrace": ("", r"\rbrace"), "|": ("abs", "|"),
    r"\lvert": ("abs", r"\rvert"), r"\vert": ("abs", r"\vert"), r"\lVert": ("norm", r"\rVert"), r"\|": ("norm", r"\|"),
    r"\lfloor": ("floor", r"\rfloor"), r"\lceil": ("ceil", r"\rceil"),
}  # fmt: skip
_HELPS = {
    **textbook.NOT_COMPUTED,
    "sum": "sum(x) adds up an array",
    "prod": "prod(x) multiplies the entries of an array",
    "binom": "binomial(n, k) is a function",
    "begin": "[[1, 2], [3, 4]] is a matrix, where(x < 0, -x, x) has cases",
    "dot": "grad(x, t) is a derivative by t",
}

_SPACE = re.compile(
    r"(?:\s|~|\$|\#[^\n]*|\\[,;:!\s()\[\]]|\\(?:quad|qquad|displaystyle|textstyle|limits|nolimits)(?![A-Za-z]))+"
)
_RAISED = re.compile(r"\{?\s*\\(circ|top|intercal|prime)\s*\}?")  # signs in place of exponents
_COMMAND = re.compile(r"\\([A-Za-z]+|.)", re.DOTALL)
_LETTERS = re.compile(r"[^\W\d_]+")
_IN_BRACES = re.compile(r"\s*\{\s*((?:[^\W_]|\\_)+)\s*\}|\s*([^\W_])")
_SUBSCRIPT = re.compile(
    r"\s*\{\s*(?:\\(?:text|mathrm|rm)\s*)?\{?\s*([^\W_]+)\s*\}?\s*\}|\s*([^\W_])|\s*\\([A-Za-z]+)"
)
_S = r"(?:\s|\\[,;:!])*"
_BIT = r"(?:d|\\partial(?![A-Za-z])|\\mathrm\s*\{?d\}?)"  # the d of an operator such as d/dx
_ORDER = rf"{_S}(?:\^\s*(?:([0-9])|\{{\s*([0-9]+)\s*\}}))?{_S}"
_OF = rf"{_BIT}{_S}(\\?[^\W\d_]+)(?:_\{{?([^\W_]+)\}}?)?{_ORDER}"
_NORM = re.compile(r"\s*(?:\\mathrm)?\s*\{?(F(?!\w)|\*)\}?")
_OPERATOR = re.compile(rf"\s*\{{{_S}{_BIT}{_ORDER}([^\W\d_]?){_S}\}}\s*\{{{_S}((?:{_OF})+)\}}")


def latex_tokens(source: Source) -> list[Token]:
    """Tokens of a text in LaTeX, with one END.

    Raises ParseError for a command without a meaning here, and AmbiguousError for ``x^10``.
    """
    vars(source)["latex"] = True
    reader = _Reader(source)
    reader.read_until("")
    reader.add(END, "", len(source.text))
    return reader.tokens


class _Reader:
    def __init__(self, source: Source) -> None:
        self.source, self.text, self.at = source, source.text, 0
        self.tokens: list[Token] = []
        self.level = 0
        self.vectors = 0  # number of tokens right after the last name of a vector

    def add(self, kind: int, text: str, start: int) -> None:
        self.tokens.append(Token(kind, text, start))

    def sign(self, text: str, start: int) -> None:
        self.add(SYMBOL, text, start)

    def fail(self, message: str, start: int, end: int, help: str | None = None) -> NoReturn:
        raise ParseError(message, span=Span(start, end), source=self.source, help=help)

    def skip(self) -> None:
        if found := _SPACE.match(self.text, self.at):
            self.at = found.end()

    def command_here(self) -> str:
        """Return the next command, the next letter or sign if it is none, or "" at the end."""
        found = _COMMAND.match(self.text, self.at)
        return found[0] if found else self.text[self.at : self.at + 1]

    def read_until(self, closing: str) -> None:
        """Read everything up to a bracket that closes, which is passed, or to the end, if that is ""."""
        begin = self.at
        while True:
            self.skip()
            if (here := self.command_here()) == closing:
                self.at += len(closing)
                return
            if not here:
                self.fail(f"'{closing}' is missing", max(0, begin - 1), begin)
            self.item()

    def item(self) -> None:
        """Read what comes next: a command, a group, a power, an index, letters or a token."""
        start, char = self.at, self.text[self.at]
        if char == "\\":
            self.command(start)
        elif char == "{":
            self.group(start)
        elif char == "^":
            self.power(start)
        elif char == "_":
            self.index(start)
        elif char.isalpha():
            self.letters(start)
        else:
            token, self.at = next_token(self.source, start)
            self.tokens.append(token)

    def factor(self, start: int) -> None:
        """Open a bracket that holds a factor where a name stands before it, and no argument."""
        before = self.tokens[-1] if self.tokens else None
        name = before.text if before and before.kind == NAME else None
        if name is not None and name not in _WORDS and not textbook.is_bare(name):
            self.sign("*", start)
        self.sign("(", start)

    def group(self, start: int) -> None:
        """Read ``{...}``, as if it were in brackets."""
        self.at += 1
        self.factor(start)
        self.inside("}")
        self.sign(")", self.at - 1)

    def inside(self, closing: str) -> None:
        """Read what a bracket holds, and the bracket that closes it."""
        self.deepen()
        self.read_until(closing)
        self.level -= 1

    def deepen(self) -> None:
        self.level += 1
        if self.level > LEVELS:
            raise LimitError(
                f"LaTeX is nested more than {LEVELS} levels deep",
                span=Span(self.at - 1, self.at),
                source=self.source,
                help="bind a part of it to a name of its own",
            )

    def argument(self, of: str, start: int) -> None:
        """Read what a command is applied to, in brackets: a group, a command, or one letter or digit."""
        self.skip()
        self.sign("(", self.at)
        here = self.command_here()
        if here == "{":
            self.at += 1
            count = len(self.tokens)
            self.inside("}")
            if len(self.tokens) == count:
                self.fail(f"\\{of} has an empty argument", start, self.at)
        elif here[:1] == "\\":
            self.deepen()
            self.command(self.at)
            self.level -= 1
        elif here.isdecimal() or here.isalpha():
            if of == "sqrt":
                self.refuse_longer(start, "\\sqrt", "[0-9.]+")
            self.add(NUMBER if here.isdigit() else NAME, here, self.at)
            self.at += 1
        else:
            self.fail(f"\\{of} lacks its argument", start, start + len(of) + 1)
        self.sign(")", self.at - 1)

    def letters(self, start: int) -> None:
        """Names of one letter each, side by side; or a word: a function, ``if``, ``for``."""
        found = _LETTERS.match(self.text, start)
        assert found is not None
        word = found[0]
        called = self.text[found.end() : found.end() + 1] == "(" and (
            word == "grad" or lookup(word, NUMPY) or lookup(word, TORCH)
        )
        word = word if called or word in _WORDS or textbook.is_bare(word) else word[0]
        self.add(NAME, word, start)
        self.at += len(word)

    def power(self, start: int) -> None:
        """Read ``^`` and what it raises to: a group, or one letter or digit."""
        self.at += 1
        self.skip()
        if found := _RAISED.match(self.text, self.at):
            self.at = found.end()
            if found[1] == "circ":
                self.sign("°", start)
            elif found[1] == "prime":
                self.fail("a prime is written f'(x)", start, self.at)
            else:
                self.sign(".", start)
                self.add(NAME, "T", start)
            return
        self.sign("**", start)
        here = self.command_here()
        if here.isdigit():
            self.refuse_longer(start, "^", r"[0-9.]+")
        if here.isalnum() or here == "{":
            self.argument("^", start)

    def refuse_longer(self, start: int, sign: str, run: str) -> None:
        """Refuse ``x^10``: LaTeX raises to the 1."""
        found = re.compile(run).match(self.text, self.at)
        if found and len(found[0].rstrip(".")) > 1:
            first, rest = found[0][0], found[0][1:]
            raise AmbiguousError(
                f"'{sign}{found[0]}' has two readings",
                span=Span(start, found.end()),
                source=self.source,
                help=f"braces say which: {sign}{{{found[0]}}} or {sign}{{{first}}} {rest}",
            )

    def index(self, start: int) -> None:
        """Read ``x_1``, ``x_{max}``: the name goes on."""
        self.at += 1
        found = _SUBSCRIPT.match(self.text, self.at)
        before = self.tokens[-1] if self.tokens else None
        if found is None or before is None or before.kind != NAME:
            self.fail(
                "an index of letters and digits stands after a name, as in x_{max}", start, self.at
            )
        if found[2]:
            self.refuse_longer(start, "_", r"[^\W_]+")
        self.at = found.end()
        self.tokens[-1] = Token(
            NAME, f"{before.text}_{found[1] or found[2] or found[3]}", before.start
        )

    # -- commands ---------------------------------------------------------------------------------

    def command(self, start: int) -> None:
        found = _COMMAND.match(self.text, start)
        if found is None:
            self.fail("a backslash ends the text", start, start + 1)
        name, self.at = found[1], found.end()
        if name in _SIZES:
            pass
        elif name == "left":
            self.skip()
            start, here = self.at, self.command_here()
            self.at += len(here)
            self.bracket(here, start, r"\right")
        elif found[0] in _BRACKETS:
            self.bracket(found[0], start, "")
        elif name in _FRACTIONS:
            self.fraction(name, start)
        elif name == "sqrt":
            self.root(start)
        elif name in (*_ONE_NAME, *_VECTORS, *_MARKED):
            word = _IN_BRACES.match(self.text, self.at)
            if word is None:
                self.fail(f"\\{name} stands before a name of letters and digits", start, self.at)
            self.at = word.end()
            index = f"_{name}" if name in _MARKED else ""
            self.add(NAME, (word[1] or word[2]).replace("\\_", "_") + index, start)
            self.vectors = len(self.tokens) if name in _VECTORS else self.vectors
        elif name == "cdot" and self.vectors == len(self.tokens) > 0:
            raise AmbiguousError(
                r"'\cdot' after a vector has two readings",
                span=Span(start, self.at),
                source=self.source,
                help="@ is the dot product, * multiplies entry by entry",
            )
        elif name in _SYMBOLS:
            self.sign(_SYMBOLS[name], start)
        elif name == "Gamma" and self.is_applied():
            self.add(NAME, "gamma", start)
        elif name in _NAMES:
            self.add(NAME, _NAMES[name], start)
        elif name not in _HELPS and (textbook.is_bare(name) or lookup(name, NUMPY)):
            self.add(NAME, name, start)
        else:
            close = suggestion(name, (*_FRACTIONS, "sqrt", *_NAMES, *_SYMBOLS, "left", "right"))
            help = _HELPS.get(name) or (close and f"did you mean \\{close}?")
            self.fail(f"\\{name} has no meaning here", start, self.at, help)

    def is_applied(self) -> bool:
        """Tell whether a bracket comes next."""
        self.skip()
        return self.text.startswith(("(", r"\left", "{"), self.at)

    def awaits_argument(self) -> bool:
        r"""Tell whether a function without brackets comes before, as in ``\ln``, ``\sin^2``."""
        powers = [place for place, token in enumerate(self.tokens) if token.text == "**"]
        is_raised = bool(powers) and self.tokens[-1].text == ")"
        before = self.tokens[: powers[-1] if is_raised else None][-1:]
        return any(token.kind == NAME and textbook.is_bare(token.text) for token in before)

    def bracket(self, here: str, start: int, before: str) -> None:
        r"""Read the content of a bracket that a command opens, up to the one that closes it.

        After ``\left``, the closing one has ``\right`` before it.
        """
        if here not in _BRACKETS:
            self.fail(f"'{here}' opens no bracket", start, self.at)
        function, closing = _BRACKETS[here]
        is_argument = bool(function) and self.awaits_argument()
        if is_argument:
            self.sign("(", start)
        if function:
            self.add(NAME, function, start)
        self.sign("(", start)
        self.inside(before or closing)
        if before:
            self.skip()
            if (last := self.command_here()) != closing:
                self.fail(
                    f"'{here}' is closed by '{last}'",
                    self.at,
                    self.at + len(last),
                    f"close it with {before}{closing}",
                )
            self.at += len(closing)
        if function == "norm" and self.text.startswith("_", self.at):
            self.at += 1
            self.sign(",", start)
            if named := _NORM.match(self.text, self.at):
                self.at = named.end()
                self.add(STRING, "'fro'" if named[1] == "F" else "'nuc'", start)
            else:
                self.argument("|", start)
        for _ in range(1 + is_argument):
            self.sign(")", self.at - 1)

    def fraction(self, name: str, start: int) -> None:
        r"""Read a quotient, or the operator ``\frac{d}{dx}``, which is read like ``d/dx``."""
        if found := _OPERATOR.match(self.text, self.at):
            sign = "∂" if "partial" in found[0] else "d"
            self.at = found.end()
            self.add(NAME, sign + found[3], start)  # so that dy/dx is refused as such
            self.order(found[1] or found[2], start)
            self.sign("/", start)
            for of, index, *order in re.findall(_OF, found[4]):
                name = _NAMES.get(of[1:], of[1:]) if of[0] == "\\" else of
                self.add(NAME, f"{sign}{name}{index and '_' + index}", start)
                self.order("".join(order), start)
            return
        self.factor(start)
        self.argument(name, start)
        self.sign("/", start)
        self.argument(name, start)
        self.sign(")", self.at - 1)

    def order(self, digits: str | None, start: int) -> None:
        if digits:
            self.sign("**", start)
            self.add(NUMBER, digits, start)

    def root(self, start: int) -> None:
        r"""``\sqrt{x}``, ``\sqrt[3]{x}``: the cubic root is `cbrt`, of negative numbers, too."""
        self.skip()
        place = len(self.tokens)
        if self.command_here() == "[":
            self.at += 1
            self.inside("]")
        degree, self.tokens[place:] = self.tokens[place:], []
        texts = [token.text for token in degree]
        if texts in ([], ["2"], ["3"]):
            self.add(NAME, "cbrt" if texts == ["3"] else "sqrt", start)
            self.argument("sqrt", start)
            return
        self.factor(start)
        self.argument("sqrt", start)
        for text in ("**", "(", "1", "/", "("):
            self.add(NUMBER if text == "1" else SYMBOL, text, start)
        self.tokens += degree
        for text in ")))":
            self.sign(text, self.at - 1)
