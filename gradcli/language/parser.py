"""The expressions of the language: one parser, with a function for each rule of their grammar.

::

    program     = { [ statement ] ( NEWLINE | ";" ) }
    statement   = constant | data | binding | several | augmented | definition | assertion
                | import | printed | query                               # read in statements.py
    expression  = disjunction [ "if" disjunction "else" expression ]
    disjunction = conjunction { "or" conjunction }
    conjunction = negation { "and" negation }
    negation    = "not" negation | comparison
    comparison  = mask [ ( "<" | "<=" | ">" | ">=" | "==" | "!=" ) mask ]
    mask        = masked { "|" masked }
    masked      = sum { "&" sum }
    sum         = term { ( "+" | "-" ) term }
    term        = product { ( "*" | "/" | "//" | "%" | "@" ) product }
    product     = unary { unary }                  # side by side: 2x, (x+1)(x-1), x^2 sin x
    unary       = { "-" | "+" | "~" | "√" | "∛" | postfix ( "**" | "^" ) } ( postfix | bare )
    bare        = FUNCTION [ ( "**" | "^" ) power | SUPERSCRIPT ] product
                                                   # sin 2x, sin^2 x, sin²(x)
    postfix     = atom { "(" arguments ")" | "[" subscripts "]" | "." NAME
                       | PRIMES "(" arguments ")" | SUPERSCRIPT | "°" }
    atom        = NUMBER | NAME | STRING | "(" [ items ] ")" | "[" [ items ] "]"
                | "|" expression "|"
    items       = expression { "," expression } [ "," ]
    arguments   = [ argument { "," argument } [ "," ] ]
    argument    = [ NAME "=" ] expression
    subscripts  = subscript { "," subscript } [ "," ]
    subscript   = expression | slice | "..."
    slice       = [ expression ] ":" [ expression ] [ ":" [ expression ] ]

From `disjunction` to `product` a rule is a binding power (`gradcli.ops.text`) that `binary` reads.
What is nested recurses, up to `LEVELS`; what is only long is read in loops.

Values side by side have one reading wherever a textbook has only that one. An exponent, a divisor,
a root, or an argument without brackets may end before such a value (the short policy), or go on
with it (the long one). Where people write both, the text is refused with what it is by each:
`takes_factor` and the functions after it decide.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from contextlib import suppress
from functools import cached_property
from threading import Lock
from typing import NamedTuple, NoReturn, TypeVar

from gradcli.errors import AmbiguousError, Label, LimitError, ParseError
from gradcli.language.names import DERIVATIVES
from gradcli.language.syntax import (
    END,
    FRACTIONS,
    NAME,
    NUMBER,
    PRIME,
    RESERVED,
    ROOTS,
    STRING,
    SUPERSCRIPT,
    SYMBOL,
    Attribute,
    Binary,
    Call,
    Conditional,
    Dots,
    Expression,
    ImpliedProduct,
    Name,
    Node,
    Number,
    Part,
    Sequence,
    Slice,
    Subscript,
    Text,
    Token,
    Unary,
    end_of,
    refuse_sign,
    superscript_value,
)
from gradcli.ops.calling import textbook
from gradcli.ops.constants import DEGREE
from gradcli.ops.text import (
    ARGUMENT,
    ATOM,
    BINDING,
    COMPARISON,
    DISJUNCTION,
    EXPRESSION,
    MASK,
    NEGATION,
    POWER,
    PRODUCT,
    TERM,
)
from gradcli.texts import Source, Span, by_word, read_float, words

LEVELS = 5_000  # most levels of nesting: brackets, and functions without brackets
_SHALLOW = 8  # levels for which Python's usual recursion limit is enough
_FRAMES = 20  # most Python calls for a level
_ROOM = Lock()  # held by the one parser that has raised the recursion limit

_OPEN, _GROUP, _ARRAY, _ARGUMENTS, _SUBSCRIPTS, _BARS = range(6)  # what a bracket contains
_SLICE = 3  # most parts of a slice
_CLOSING = {"(": ")", "[": "]", "|": "|"}
_PREFIXES = frozenset(("-", "+", "~", *ROOTS))
# Texts of tokens that end an expression.
_ENDS = frozenset(("", ")", "]", ",", "if", "else"))
_BEGINS = ("(", *ROOTS)

_LONGEST_NUMBER = 300  # whole numbers with fewer digits always fit: floats end at 309
_EQUALITY = "write x == y to compare"
# Signs of other languages, by the tokens that they are here.
_FOREIGN = {
    "<<": "write x*2**n for a shift to the left",
    ">>": "write floor(x/2**n) for a shift to the right",
    "&&": "write x > 0 and y > 0",
    "<>": "write x != y",
    "=<": "write x <= y",
    "=>": "write x >= y",
}
_PRODUCTS = "(a*b)*c or a*(b*c)"
_PERCENT = re.compile(r"([0-9.]+)% +[\w(]")  # 5% x
_LETTER_AND_DIGITS = re.compile(r"([^\W\d_])([0-9]+)")
_TRANSPOSE = re.compile(
    r"(?<=[\w}])\^\s*\{?\s*(?:\\top|\\intercal|(?:\\(?:mathsf|mathrm)\s*\{?\s*)?T)\b"
)
_LONGEST_BASE = 24  # longest base that is quoted, in characters
_LONGEST = 80  # longest reading that is shown, in characters
_CONSTANT_BASES = words("e E pi π")
_OPERATORS = {"mod": "%", "div": "//"}  # spellings of other languages
# Words of Python that cannot be names between values, with what to write instead; "lambda" is not
# among them, because physics needs it.
_WORDS: dict[str, str | None] = by_word({
    """
        as assert async await break class continue def del except finally from global import nonlocal pass raise return try while with
        yield
    """: None,
    "for": "write sum(x**2) for a sum over all entries",
    "in is": "write x == y to compare",
})  # fmt: skip


_Item = TypeVar("_Item")


class _Bracket:
    """An open bracket, or the whole text, and what is being read in it."""

    def __init__(self, rule: int, opener: Token | None) -> None:
        self.rule, self.opener = rule, opener
        self.quotient: tuple[Node, Token] | None = None  # the dividend and the division sign
        self.application: _Application | None = None
        self.bars: Node | None = None  # bars of this item that a value follows directly


class _Application(NamedTuple):
    """A function without brackets whose argument is being read."""

    callee: Name
    argument: int  # place of its first token
    around: _Application | None  # the function whose argument begins with this one
    raised: bool  # whether it is in an exponent or under a root


# Signs and roots, and bases with the signs of their powers, that wait for what they apply to.
_Waiting = list[tuple[Node | None, Token]]


def parse_tokens(
    source: Source, tokens: list[Token], at: int, stop: int, values: frozenset[str] = frozenset()
) -> Expression:
    """tokens[at:stop] as one expression, where some names before brackets are known to be values.

    Raises ParseError, AmbiguousError for what has two readings, and LimitError for what is nested
    too deeply.
    """
    return first(source, tokens, at, stop, values, EXPRESSION)[0]


def first(
    source: Source, tokens: list[Token], at: int, stop: int, values: frozenset[str], least: int
) -> tuple[Expression, int]:
    """Parse the first operand in tokens[at:stop] that binds at least as tightly as ``least``.

    The place after it is returned, too. Raises as `parse_tokens`.
    """
    parser = _Parser(source, tokens, at, stop, values)
    try:
        root = parser.whole() if least == EXPRESSION else parser.binary(least)
    finally:
        if parser.recursion:
            sys.setrecursionlimit(parser.recursion)
            _ROOM.release()
    made = Expression(root, parser.nodes)
    made.implied, made.notes = parser.implied, parser.notes
    if parser.called:
        made.called, made.source = frozenset(parser.called), source
        made.span = parser.tokens[parser.first].start, parser.tokens[-1].start
    return made, at + parser.at - parser.first


def value_in(
    part: Part, place: int, values: frozenset[str] = frozenset(), end: int | None = None
) -> Expression:
    """All of a statement from a place on, or up to another one, as an expression."""
    at = part.start + place
    stop = part.stop if end is None else part.start + end
    if "±" in part.source.text:
        refuse_sign(part.source, part.tokens[at:stop])
    return parse_tokens(part.source, part.tokens, at, stop, values)


def _begins_value(token: Token) -> bool:
    """Tell whether a token can only be the beginning of a value, where another one has ended."""
    kind, text, _ = token
    return kind == NUMBER or (kind == NAME and text not in RESERVED) or text in _BEGINS


def _under_root(waiting: _Waiting) -> bool:
    return bool(waiting) and waiting[-1][1].text in ROOTS


def _waiting_power(waiting: _Waiting) -> int | None:
    """Return the place of the power whose exponent comes next, perhaps after signs."""
    for place in range(len(waiting) - 1, -1, -1):
        base, sign = waiting[place]
        if base is not None:
            return place
        if sign.text in ROOTS:
            return None
    return None


def _makes_function(node: Node) -> bool:
    """Tell whether a constructor makes the callee, or a derivative of a function is called.

    Examples are ``nn.MSELoss()`` and ``MSELoss()``, ``jax.grad(f)`` and ``grad(f)``.
    """
    if not isinstance(node, Call):
        return False
    name = getattr(node.callee, "name", "")
    derives = name in DERIVATIVES and not any(isinstance(part, Name) for part in node.arguments[1:])
    return derives or (name[:1].isupper() and len(name) > 2)


class _Parser:
    """The tokens at:stop of a text, and how far they are read."""

    def __init__(
        self, source: Source, tokens: list[Token], at: int, stop: int, known: frozenset[str]
    ) -> None:
        before = min(at, 1)  # includes the token before the expression, for errors to point at
        self.source, self.at, self.first, self.known = source, before, before, known
        end = Token(END, "", tokens[stop].start if stop < len(tokens) else len(source.text))
        self.tokens = [*tokens[at - before : stop], end]
        self.nodes: list[Node] = []
        self.power = EXPRESSION  # how tightly the next operator binds
        self.bracket = _Bracket(_OPEN, None)
        self.depth = self.recursion = 0
        self.implied = source.latex  # whether anything is in textbook notation
        self.called: set[str] = set()  # names before brackets that are read as functions
        self.notes: tuple[tuple[str | None, str], ...] = ()
        self.bars: dict[int, int] | None = None  # place of each bar, with that of the next

    def push(self, node: Node) -> Node:
        """Append a node, after its operands, to the list of all nodes."""
        node.place = len(self.nodes)
        self.nodes.append(node)
        return node

    @property
    def before(self) -> Token:
        """The token that was read last."""
        return self.tokens[self.at - 1]

    @property
    def after(self) -> Token:
        """The token that comes next."""
        return self.tokens[self.at]

    def is_next(self, text: str) -> bool:
        return self.after.text == text

    def fail(
        self, message: str, span: Span, help: str | None = None, note: str | None = None
    ) -> NoReturn:
        raise ParseError(message, span=span, help=help, note=note, source=self.source)

    def deepen(self, token: Token) -> None:
        """Count a level that begins at a token."""
        self.depth += 1
        if self.depth == _SHALLOW and not self.recursion:
            _ROOM.acquire()
            self.recursion = sys.getrecursionlimit()
            sys.setrecursionlimit(self.recursion + _FRAMES * LEVELS)
        if self.depth > LEVELS:
            raise LimitError(
                f"the expression is nested more than {LEVELS:,} levels deep",
                span=token.span, source=self.source, help="bind a part of it to a name of its own",
            )  # fmt: skip

    # -- from the whole to products ---------------------------------------------------------------

    def whole(self) -> Node:
        """Parse an expression and nothing else."""
        root = self.expression()
        token = self.after
        if token.text == ",":
            self.refuse_comma(token)
        if token.kind != END:
            self.refuse_closing(token)
        return root

    def expression(self) -> Node:
        """Parse ``expression = disjunction [ "if" disjunction "else" expression ]``."""
        value = self.binary(DISJUNCTION)
        choices: list[tuple[Node, Node]] = []
        while (token := self.after)[1] == "if":
            self.at += 1
            condition = self.binary(DISJUNCTION)
            after = self.after
            if after.text != "else":
                self.refuse_end(after)
                self.fail("'if' without 'else'", token.span, "write: x if condition else y")
            self.at += 1
            choices.append((value, condition))
            value = self.binary(DISJUNCTION)
        if token[1] == "else":
            self.fail("'else' without 'if'", token.span, "write: x if condition else y")
        while choices:
            value = self.push(Conditional(*choices.pop(), value))
        return value

    def negation(self) -> Node:
        """Parse ``negation = "not" negation | comparison``."""
        words = []
        while self.is_next("not"):
            words.append(self.after.start)
            self.at += 1
        value = self.binary(NEGATION + 1)
        while words:
            value = self.push(Unary("not", value, words.pop()))
        return value

    def binary(self, least: int) -> Node:
        """Parse the rules from disjunction to product.

        These are the operators that bind at least as tightly as ``least``.
        """
        tokens = self.tokens
        begins = least <= NEGATION and tokens[self.at].text == "not"
        left = self.negation() if begins else self.unary()
        while (power := self.power) >= least:
            token = tokens[self.at]
            if power == PRODUCT:
                self.note_number(token)
                self.implied = True
                left = self.push(ImpliedProduct("*", left, self.unary()))
                continue
            self.at += 1
            if power == TERM and token[1] != "*":
                if found := _PERCENT.match(self.source.text, tokens[self.at - 2].start):
                    after, number = self.next_text(), found[1]
                    self.two_readings(
                        *found.span(), f"{number}/100*{after}", f"{number} % {after}", "x/100*y or x % y"
                    )  # fmt: skip
                self.bracket.quotient = left, token
                right = self.binary(PRODUCT)
                self.bracket.quotient = None
            else:
                right = self.binary(power + 1)
                if power == COMPARISON == self.power:
                    self.refuse_chain(token, left, right)
            left = self.push(Binary(token[1], left, right))
        return left

    # -- factors ----------------------------------------------------------------------------------

    def unary(self) -> Node:
        """Parse signs, roots and powers before a value.

        unary = { "-" | "+" | "~" | "√" | "∛" | postfix "**" } ( postfix | bare )
        """
        tokens = self.tokens
        waiting: _Waiting = []
        while True:
            token = tokens[self.at]
            self.at += 1
            if token[1] in _PREFIXES:
                if token.text in ROOTS:
                    self.implied = True
                waiting.append((None, token))
                continue
            node = self.atom(token)
            token = tokens[self.at]
            power = BINDING.get(token[1])
            if power is None and token[1] not in _ENDS:
                node = self.postfix(node, waiting)
                token = tokens[self.at]
                power = BINDING.get(token[1])
            if power == POWER:
                if _under_root(waiting):
                    self.refuse_root_of_power(waiting[-1][1])
                self.at += 1
                waiting.append((node, token))
                continue
            if power is None:
                power = EXPRESSION
                if token[1] not in _ENDS:
                    superscript = bool(waiting) and waiting[-1][1].kind == SUPERSCRIPT  # sin²|x|
                    if superscript or self.begins_factor(node):
                        node = self.bare(node, waiting)
                    power = self.power_after(node, waiting)
            self.power = power
            if waiting and token[1] == "/":
                self.note_root(node, waiting)
            return self.join(node, waiting)

    def join(self, node: Node, waiting: _Waiting, *, above: int = 0) -> Node:
        """Join a value with the bases and signs waiting for it, from the place ``above`` on."""
        while len(waiting) > above:
            base, sign = waiting.pop()
            made = Unary(sign.text, node, sign.start) if base is None else Binary("**", base, node)
            node = self.push(made)
        return node

    def power_after(self, node: Node, waiting: _Waiting) -> int:
        """Return how tightly the operator after a factor binds.

        If there is none, it is as tight as a product.
        """
        token = self.tokens[self.at]
        power = BINDING.get(token.text)
        if power is not None:
            return power
        if self.begins_factor(node):
            return PRODUCT if self.takes_factor(node, waiting) else ARGUMENT
        rule = self.bracket.rule
        if token.text == "|" and rule != _BARS:
            return MASK
        if not (
            token.text in _ENDS or token.text == "|" or (token.text == ":" and rule == _SUBSCRIPTS)
        ):
            self.refuse_beside(node, token)
        return EXPRESSION

    def begins_factor(self, node: Node) -> bool:
        """Tell whether the next token begins a value right after a node: also a bar that opens."""
        token = self.tokens[self.at]
        return self.opens_bars(node) if token.text == "|" else _begins_value(token)

    # -- functions without brackets ---------------------------------------------------------------

    def names_function(self, node: Node | None) -> bool:
        """Tell whether a node is the name of a function that needs no brackets."""
        if type(node) is not Name or not textbook.is_bare(node.name):
            return False
        alone = node.end - node.start == len(node.name)
        return alone and not (textbook.is_own(node.name) and node.name in self.known)

    def is_own(self, name: str) -> bool:
        """Tell whether a name is a textbook's function only, which the program does not define."""
        return textbook.is_own(name) and name not in self.known and f"{name}()" not in self.known

    def raised_function(self, waiting: _Waiting) -> int | None:
        """Return the place of a function's name whose power comes next: ``sin^2 x``."""
        place = _waiting_power(waiting)
        return place if place is not None and self.names_function(waiting[place][0]) else None

    def bare(self, node: Node, waiting: _Waiting) -> Node:
        """Parse ``bare = FUNCTION [ power ] product``.

        This holds if the node that a value follows is such a function or power.
        """
        place = self.raised_function(waiting)
        if place is None:
            usual = self.is_next("(") or not self.names_function(node)
            return node if usual else self.apply(node, None, waiting)
        exponent = self.join(node, waiting, above=place + 1)
        callee, _ = waiting.pop()
        assert callee is not None
        in_brackets = self.is_next("(")
        node = self.apply(callee, exponent, waiting)
        return self.postfix(node, waiting) if in_brackets else node

    def apply(self, callee: Node, exponent: Node | None, waiting: _Waiting) -> Node:
        """Apply a function, or a power of its name, to the argument.

        The argument begins with the next token.
        """
        assert isinstance(callee, Name)
        if exponent is not None and _is_minus_one(exponent):
            self.refuse_inverse(callee)
        self.implied = True
        self.called.add(callee.name)
        token, bracket = self.after, self.bracket
        if token.text == "(":
            self.at += 1
            return self.arguments(callee, token, exponent=exponent)
        outer = bracket.application
        first = outer is not None and self.tokens[outer.argument].start == callee.start
        raised = bool(waiting) and (waiting[-1][0] is not None or _under_root(waiting))
        bracket.application = _Application(callee, self.at, outer if first else None, raised)
        self.deepen(token)
        argument = self.binary(PRODUCT)
        self.depth -= 1
        sign = self.after
        if self.power == TERM and sign.text != "*":
            self.refuse_divided(bracket.application, sign)
        bracket.application = outer
        return self.call(callee, [argument], [], 0, argument.end, exponent)

    def call(
        self, callee: Node, arguments: list[Node], keywords: list[tuple[str, Node]], primes: int,
        end: int, exponent: Node | None,
    ) -> Node:  # fmt: skip
        """Make a call, or a power of one.

        A textbook's function is called by its name in the catalogue.
        """
        base = None
        if type(callee) is Name and self.is_own(callee.name):
            self.called.add(callee.name)
            self.implied = True
            base = textbook.base_of_log(callee.name)
            callee.name = "log" if base is not None else textbook.catalogue_name(callee.name)
        node: Node = Call(callee, arguments, keywords, primes, end)
        if base is not None:  # log_3(x) is log(x)/log(3)
            start, stop = callee.start, callee.end
            number = Number(int(base), start, stop) if base.isdigit() else Name(base, start, stop)
            inner = self.push(number)
            left = self.push(node)
            name = self.push(Name("log", start, stop))
            node = Binary("/", left, self.push(Call(name, [inner], [], 0, stop)))
            node.end = end
        if exponent is not None:
            node = Binary("**", self.push(node), exponent)
            node.end = end
        return self.push(node)

    # -- values and what follows them -------------------------------------------------------------

    def postfix(self, node: Node, waiting: _Waiting) -> Node:
        """Parse postfix = atom { "(" arguments ")" | "[" subscripts "]" | ... }, from an atom on."""
        while True:
            token = self.tokens[self.at]
            kind, text, start = token
            if text == "(":
                if not self.is_called(node, waiting):
                    return node
                self.at += 1
                node = self.arguments(node, token)
            elif text == "[":
                self.at += 1
                node = self.subscripts(node, token)
            elif text == ".":
                name = self.tokens[self.at + 1]
                if name.kind != NAME:
                    span = name.span if name.kind != END else token.span
                    self.fail("expected a name after '.'", span)
                self.at += 2
                node = self.push(Attribute(node, name.text, end_of(name)))
            elif text == "°":
                self.at += 1
                self.implied = True
                node = self.push(Binary("*", node, self.push(Number(DEGREE, start, start + 1))))
            elif kind == SUPERSCRIPT:
                is_function = self.names_function(node)
                self.at += 1
                exponent = self.push(Number(superscript_value(text), start, end_of(token)))
                if is_function and (_begins_value(self.tokens[self.at]) or self.is_next("|")):
                    waiting.append((node, token))
                    return exponent
                if _under_root(waiting):
                    self.at -= 1
                    self.refuse_root_of_power(waiting[-1][1])
                node = self.push(Binary("**", node, exponent))
            elif kind == PRIME:
                opener = self.tokens[self.at + 1]
                if not isinstance(node, Name) or opener.text != "(":
                    self.fail(
                        "a prime marks the derivative of a function, as in f'(2)",
                        token.span,
                        "write x.T for the transpose",
                    )
                self.at += 2
                node = self.arguments(node, opener, primes=len(text) + text.count("″"))
            else:
                return node

    def is_called(self, node: Node, waiting: _Waiting) -> bool:
        """Tell whether a bracket after a value holds arguments; it does not after ``sin^2``."""
        last = self.before
        if last.kind != NAME:
            return last.text == ")" and _makes_function(node)
        if type(node) is Name:
            if waiting and self.raised_function(waiting) is not None:
                return False
            application = self.bracket.application
            if application is not None and not textbook.is_bare(node.name):  # sin f(x)
                self.refuse_going_on(
                    *self.ends_of(application), "sin(x)*(x + 1) or sin(x*(x + 1))", joint=""
                )
            if node.name in self.known:
                return False
            self.called.add(node.name)
            return True
        return isinstance(node, Attribute)

    def atom(self, token: Token) -> Node:
        """Parse atom = NUMBER | NAME | STRING | group or tuple | array | bars."""
        kind, text, start = token
        if kind == NAME and text not in RESERVED:
            return self.push(Name(text, start, start + len(text)))
        if kind == NUMBER:
            return self.push(Number(self.number(token), start, start + len(text)))
        if text in ("(", "["):
            return self.items(token)
        if text == "|":
            return self.absolute(token)
        if kind == STRING:
            if self.bracket.rule in (_OPEN, _SUBSCRIPTS):
                self.fail("a string can only be an argument of a function", token.span)
            return self.push(Text(text[1:-1], start, end_of(token)))
        if text == "..." and self.bracket.rule == _SUBSCRIPTS:
            return self.push(Dots(start, start + 3))
        self.refuse_atom(token)

    def number(self, token: Token) -> float:
        """Parse a NUMBER: digits, with a point, an exponent, and _ between digits.

        Whole numbers stay integers.
        """
        text = token.text
        if text.isdigit() and len(text) < _LONGEST_NUMBER:
            return int(text)
        if "_" in text and self.source.text[token.start - 1] == "^":
            self.fail("'_' in an exponent has two readings", token.span, "write x_3^2 or x^23")
        fraction = FRACTIONS.get(text[-1], 0)
        digits = (text[:-1] or "0") if fraction else text
        if fraction and not digits.isdigit():
            help = "a fraction stands after a whole number, as in 2½"
            self.fail(f"{text!r} is not a number", token.span, help)
        self.implied = self.implied or fraction > 0
        try:
            whole = digits.replace("_", "").isdigit() and len(digits) < _LONGEST_NUMBER
            return fraction + (int(digits) if whole else read_float(digits))
        except OverflowError as error:
            help = "write 0" if "small" in str(error) else "write inf for infinity"
            self.fail(str(error), token.span, help)
        except ValueError:
            self.fail(f"{text!r} is not a number", token.span, "_ stands between digits: 1_000")

    # -- brackets ---------------------------------------------------------------------------------

    def read_bracket(
        self, rule: int, opener: Token, read: Callable[[], _Item]
    ) -> tuple[list[_Item], int, int]:
        """Return what a bracket holds, how many commas are in it, and where it ends."""
        outer, commas = self.bracket, 0
        found: list[_Item] = []
        self.bracket = _Bracket(rule, opener)
        self.deepen(opener)
        while self.tokens[self.at][1] not in (")", "]"):
            found.append(read())
            if self.tokens[self.at][1] != ",":
                break
            self.at += 1
            self.bracket.bars = None
            commas += 1
        token = self.tokens[self.at]
        self.refuse_end(token)
        if token[1] != _CLOSING[opener.text]:
            raise ParseError(
                f"'{opener.text}' is closed by '{token.text}'", span=token.span, source=self.source,
                also=(Label(opener.span, "opened here"),),
            )  # fmt: skip
        self.at += 1
        self.depth -= 1
        self.bracket = outer
        return found, commas, token.start + 1

    def items(self, opener: Token) -> Node:
        """Parse group = "(" expression ")"; or a tuple or an array: items between brackets."""
        rule = _GROUP if opener.text == "(" else _ARRAY
        found, commas, end = self.read_bracket(rule, opener, self.expression)
        if rule == _GROUP and len(found) == 1 and not commas:
            found[0].start, found[0].end = opener.start, end
            return found[0]
        return self.push(Sequence(opener.text, found, opener.start, end))

    def absolute(self, opener: Token) -> Node:
        """Parse bars = "|" expression "|", as an atom."""
        self.implied = True
        found, commas, end = self.read_bracket(_BARS, opener, self.expression)
        if commas:
            self.refuse_open(opener)
        operand, mark = found[0], "|"
        doubled = operand.start == opener.start + 1 and operand.end == end - 1
        if doubled and isinstance(operand, Unary) and operand.operator == "|":  # ||x||
            self.nodes.pop()
            operand, mark = operand.operand, "||"
        node = Unary(mark, operand, opener.start)
        node.end = end
        after = self.after
        if mark == "||" and after.start == end and after.text.startswith("_"):
            help = "write norm(x, 1), norm(x, inf) or norm(A, 'fro')"
            self.fail("a norm with an index is a call here", after.span, help)
        if _begins_value(after) and after.text not in ROOTS:
            self.bracket.bars = node
        return self.push(node)

    def opens_bars(self, node: Node) -> bool:
        """Tell whether a bar after a node begins a factor: it does if the next bar ends a value."""
        if self.bracket.rule == _BARS:
            return False
        if self.bars is None:
            self.bars = self.neighbours()
        partner = self.bars.get(self.at, 0)
        if partner == self.at + 1:  # 2||x||
            last = self.bars.get(self.bars.get(partner, 0), 0)
            partner = last if self.tokens[last - 1].text == "|" else partner
        if partner <= self.at + 1:
            return False
        after = self.tokens[partner + 1]
        goes_on = _begins_value(after) or after.text in ("|", "[", "~")
        if goes_on and not self.names_function(node):
            return False
        if self.bracket.bars is not None:
            self.refuse_four(self.bracket.bars, partner)
        return True

    def neighbours(self) -> dict[int, int]:
        """For each bar the next one in the same bracket and item of it, by their places."""
        found: dict[int, int] = {}
        levels: list[int | None] = [None]
        for place, (_, text, _) in enumerate(self.tokens):
            if text in ("(", "["):
                levels.append(None)
            elif text in (")", "]"):
                if len(levels) > 1:
                    levels.pop()
            elif text == ",":
                levels[-1] = None
            elif text == "|":
                previous = levels[-1]
                if previous is not None:
                    found[previous] = place
                levels[-1] = place
        return found

    def arguments(
        self, callee: Node, opener: Token, primes: int = 0, exponent: Node | None = None
    ) -> Node:
        """Parse ``arguments = [ argument { "," argument } [ "," ] ]``."""
        spaced = opener.start > end_of(self.tokens[self.at - 2]) and not primes
        if spaced and exponent is None:
            spaced = type(callee) is Name and textbook.is_bare(callee.name)
        found, _, end = self.read_bracket(_ARGUMENTS, opener, self.argument)
        positional: list[Node] = []
        keywords: dict[str, Node] = {}
        for name, value in found:
            if name is None:
                if keywords:
                    self.fail("arguments by position come before those by name", value.span)
                positional.append(value)
            elif name.text in keywords:
                self.fail(f"the argument {name.text!r} is given twice", name.span)
            else:
                keywords[name.text] = value
        node = self.call(callee, positional, [*keywords.items()], primes, end, exponent)
        if spaced or exponent is not None:
            self.refuse_after_call(callee, opener, spaced)
        return node

    def argument(self) -> tuple[Token | None, Node]:
        """Parse ``argument = [ NAME "=" ] expression``."""
        name = self.after
        if name.kind == NAME and name.text not in RESERVED and self.tokens[self.at + 1].text == "=":
            self.at += 2
            return name, self.expression()
        return None, self.expression()

    def subscripts(self, base: Node, opener: Token) -> Node:
        """Parse ``subscripts = subscript { "," subscript } [ "," ]``."""
        found, commas, end = self.read_bracket(_SUBSCRIPTS, opener, self.subscript)
        if not found:
            self.fail(
                "an index is missing",
                Span(opener.start, end),
                "write x[0], or x[:] for all entries",
            )
        return self.push(Subscript(base, found, commas > 0, end))

    def subscript(self) -> Node:
        """Parse subscript = expression | slice."""
        start = self.after.start
        parts: list[Node | None] = []
        while True:
            token = self.after
            if len(parts) == _SLICE:
                self.fail("a slice has at most three parts", self.before.span, "start:stop:step")
            empty = token.text == ":" or (parts and token.text in (",", "]", ")"))
            parts.append(None if empty else self.expression())
            if not self.is_next(":"):
                break
            self.at += 1
        if len(parts) == 1 and parts[0] is not None:
            return parts[0]
        return self.push(Slice(parts, start, end_of(self.before)))

    # -- what has two readings --------------------------------------------------------------------

    def two_readings(self, start: int, end: int, first: str, second: str, instead: str) -> NoReturn:
        """Refuse the text from start to end because it has two readings.

        ``instead`` is shown if the readings are no valid input.
        """
        text = " ".join(self.source.text[start:end].split())
        text = text if len(text) <= _LONGEST else f"{text[: _LONGEST // 2]}…"
        error = AmbiguousError(
            f"'{text}' has two readings",
            span=Span(start, end),
            source=self.source,
            help=f"write {instead}",
        )
        if max(len(first), len(second)) <= _LONGEST and not set("\n#") & set(first + second):
            error.help, error.instead = f"write {first} or {second}", error.help
        raise error

    def refuse_going_on(
        self,
        start: int,
        inner: int,
        instead: str,
        *,
        sign: str = "*",
        joint: str = "*",
        skipped: int = 0,
        least: int = ATOM,
    ) -> NoReturn:
        """Refuse the text from ``start`` on, which may go on in two ways.

        The next token belongs either to all of the text or only to its part from ``inner`` on.
        ``skipped`` counts the tokens of a sign between them.
        """
        text, stop = self.source.text, end_of(self.before)
        after = self.tokens[self.at + skipped]
        end = end_of(after) - text.startswith("^", after.start)
        right = self.next_text(skipped, least)
        head, part = text[start:inner].strip(), text[inner:stop].strip()
        first, second = f"({text[start:stop]}){sign}{right}", f"{head}({part}{joint}{right})"
        self.two_readings(start, end, first, second, instead)

    def next_text(self, skipped: int = 0, least: int = ATOM) -> str:
        """Return the text of the next factor, power or operand, or "" if there is none.

        Its tokens are consumed, and nothing can be read after it.
        """
        self.at += skipped
        token, rule = self.after, self.bracket.rule
        self.bracket = _Bracket(_GROUP if rule == _ARRAY else rule, self.bracket.opener)
        self.at += token.text == "**" or token.kind == SUPERSCRIPT
        self.deepen(token)
        try:
            if token.kind != SUPERSCRIPT:
                self.binary(least)
        except ParseError:  # the error to raise is about what stands before
            return ""
        finally:
            self.depth -= 1
        return self.source.text[token.start : end_of(self.before)]

    def takes_factor(self, node: Node, waiting: _Waiting) -> bool:
        """Tell whether a factor goes on with the value that comes next, or an argument ends there.

        Raises AmbiguousError where it may do either, and ParseError for what cannot be multiplied.
        """
        left, token, bracket = self.before, self.after, self.bracket
        self.refuse_words(node, left, token)
        if found := self.transpose:
            raise AmbiguousError(
                f"'{found[0]}' beside a product has two readings",
                span=Span(*found.span()),
                source=self.source,
                help="write x @ A @ x for matrices, x**T*y for a power; A.T is a transpose",
            )
        if bracket.application is not None and not self.goes_on(bracket.application, node, waiting):
            return False
        raised = _waiting_power(waiting)
        if token.kind == NUMBER and raised is None:
            self.refuse_number(node, left, token)
        elif left.kind == NUMBER and token.kind == NAME and token.start == end_of(left):
            self.refuse_letter_and_digits(left, token)
        if bracket.application is None and bracket.quotient is not None:  # 1/2x
            numerator, sign = bracket.quotient
            self.refuse_going_on(
                numerator.start,
                end_of(sign),
                f"(a{sign.text}b)*c or a{sign.text}(b*c)",
                least=PRODUCT,
            )
        if raised is not None:
            self.refuse_in_exponent(node, waiting, raised)
        elif _under_root(waiting):
            self.refuse_under_root(waiting[-1][1])
        return True

    def refuse_words(self, node: Node, left: Token, token: Token) -> None:
        """Refuse words of Python between values, values on two lines, and arrays like ``[x y]``."""
        for word in (left, token):
            between = word is token or type(node) is Name
            if word.kind == NAME and word.text in _WORDS and between:
                self.fail(
                    f"'{word.text}' is a word of Python, and none of this language",
                    word.span,
                    _WORDS[word.text],
                )
        gap = self.source.text[end_of(left) : token.start]
        if "\n" in gap:
            self.refuse_beside(node, token)
        if gap and self.bracket.rule == _ARRAY:
            a, b = self.source_text(node), self.next_text()
            self.two_readings(
                node.start, end_of(token), f"[{a}*{b}]", f"[{a}, {b}]", "[x*y] or [x, y]"
            )

    def goes_on(self, application: _Application, node: Node, waiting: _Waiting) -> bool:
        """Tell whether an argument without brackets goes on.

        It goes on with numbers and names, up to a function.

        Raises AmbiguousError for ``sin x y``, ``sin 2(x + 1)``, ``ln sin x cos x``.
        """
        left, token = self.before, self.after
        if token.kind == NAME and textbook.is_bare(token.text):
            if application.around is None and not application.raised:
                return False
            application = application.around or application
        else:
            glued = token.start == end_of(left)
            number = left.kind == NUMBER and type(node) is Number and not waiting
            narrow = token.kind == NAME or token.text in ("|", *ROOTS)
            at_numbers = textbook.ends_at_numbers(application.callee.name)
            if narrow and (glued or number) and not at_numbers:
                return True
        self.refuse_going_on(*self.ends_of(application), "sin(x)*y or sin(x*y)")

    def ends_of(self, application: _Application) -> tuple[int, int]:
        """Return where a function begins, and its argument."""
        return application.callee.start, self.tokens[application.argument].start

    def refuse_divided(self, application: _Application, sign: Token) -> None:
        """Refuse ``sin x/2``, where a number follows; not ``ln x/x``."""
        after = self.tokens[self.at + 1]
        if not (after.kind == NAME or after.text in ("(", "[", "|")):
            text = self.source.text[sign.start : sign.start + len(sign.text)].strip()
            self.refuse_going_on(
                *self.ends_of(application), "sin(x)/2 or sin(x/2)", sign=text, joint=text, skipped=1
            )

    def refuse_inverse(self, callee: Name) -> NoReturn:
        """Refuse ``sin^-1 x``."""
        in_brackets, text = self.is_next("("), self.next_text()
        argument = text[1:-1] if in_brackets and text.endswith(")") else text
        inverse, end = textbook.inverse(callee.name, argument), end_of(self.before)
        other = f"1/{callee.name}({argument})"
        self.two_readings(callee.start, end, inverse, other, "asin(x) or 1/sin(x)")

    def refuse_after_call(self, callee: Node, opener: Token, spaced: bool) -> None:
        r"""Refuse what may belong to a function's argument or to its value.

        This is a power or a bracket after ``sin (x + 1)`` with a space, and after ``sin^2(x)``, and
        a factor after ``\sin \frac{1}{2}``.
        """
        after, instead = self.after, "(sin(x))^2 or sin(x^2)"
        if after.kind == SUPERSCRIPT or after.text == "**":
            self.refuse_going_on(callee.start, opener.start, instead, sign="", joint="")
        fraction = self.source.text.startswith("\\", opener.start)
        if fraction and _begins_value(after) and not textbook.is_bare(after.text):
            self.refuse_going_on(callee.start, opener.start, "sin(x)*y or sin(x*y)")
        if spaced and after.text == "(" and after.start == end_of(self.before):
            self.refuse_going_on(callee.start, opener.start, instead)

    def refuse_number(self, node: Node, left: Token, token: Token) -> None:
        """Refuse a number after a number or a bare name, which looks like ``6.02 x 10^3``."""
        first = self.tokens[max(self.at - 2, 0)]
        slash, below = [*self.tokens[self.at + 1 : self.at + 3], token][:2]
        end, both = end_of(token), left.text.isdigit() and token.text.isdigit()
        if left.kind == NUMBER and type(node) is Number:
            if both and slash.text == "/" and below.kind == NUMBER:
                fraction = f"{token.text}/{below.text}"
                readings = f"({left.text} + {fraction})", f"{left.text}*{fraction}"
                self.two_readings(left.start, end_of(below), *readings, _PRODUCTS)
            right = self.next_text() or token.text
            help = f"write {left.text}*{right}, or [{left.text}, {right}] for an array"
            self.fail(f"no operator before {token.text!r}", token.span, help)
        if left.kind != NAME:
            return
        if left.text in _OPERATORS and first.kind in (NAME, NUMBER) and first is not left:
            help = f"it is {_OPERATORS[left.text]} here"
            self.fail(f"the language has no '{left.text}'", left.span, help)
        right = self.next_text()
        product = f"{left.text}*{right}"
        if left.text in ("x", "X") and first.kind == NUMBER:
            readings = f"{first.text}*{right}", f"{first.text}*{product}"
            self.two_readings(first.start, end, *readings, _PRODUCTS)
        other = f"{left.text}{'' if token.text.isdigit() else '^'}{token.text}"
        self.two_readings(left.start, end, product, other, "x*2 or x2")

    def refuse_letter_and_digits(self, left: Token, token: Token) -> None:
        """Refuse ``2x10`` and ``0x10``."""
        if left.text == "0":
            with suppress(ValueError):
                value = int(left.text + token.text, 0)
                self.fail("numbers are decimal here", left.span, f"write {value}")
        found = _LETTER_AND_DIGITS.fullmatch(token.text)
        if found is None or self.tokens[self.at + 1].text == "(":
            return
        letter, right = found[1], self.next_text()
        other = right[1:] if letter in "xX" else f"{letter}*{right[1:]}"
        readings = f"{left.text}*{right}", f"{left.text}*{other}"
        self.two_readings(left.start, end_of(token), *readings, "2*x10 or 2*10")

    def refuse_in_exponent(self, exponent: Node, waiting: _Waiting, place: int) -> None:
        """Refuse ``e^2x``, ``e^k t``, ``x^n(x + 1)``.

        ``x^2y``, ``e^2 x``, ``e^x sin x`` and ``2^x 3^y`` are not refused.
        """
        left, token, after = self.tokens[self.at - 1 : self.at + 2]
        text, (base, sign) = self.source.text, waiting[place]
        assert base is not None
        spaced = token.start > end_of(left)
        if left.kind == NUMBER and type(exponent) is Number:
            constant = type(base) is Number or (type(base) is Name and base.name in _CONSTANT_BASES)
            if spaced or not (constant or (place and waiting[place - 1][0] is not None)):
                return
        elif left.text in (")", "]", "|"):
            named = type(exponent) in (Call, Subscript) and text[exponent.start] != "("
            if not named:
                return
        called = token.kind == NAME and after.text == "("
        power = after.text == "**" or after.kind == SUPERSCRIPT
        apart = token.kind == SYMBOL or textbook.is_bare(token.text) or called or power
        if not (spaced and apart):
            inner = end_of(sign) - (text[sign.start] == "^")
            self.refuse_going_on(base.start, inner, "e^a*b or e^(a*b)")

    def refuse_under_root(self, sign: Token) -> None:
        """Refuse ``√2x``; not ``√(x + 1)y``, ``√x sin x``."""
        token = self.after
        function = token.kind == NAME and textbook.is_bare(token.text)
        if self.before.text not in (")", "|") and token.text not in ROOTS and not function:
            self.refuse_going_on(sign.start, end_of(sign), f"{sign.text}(2)*x or {sign.text}(2*x)")

    def refuse_root_of_power(self, sign: Token) -> NoReturn:
        """Refuse ``√x^2``."""
        self.refuse_going_on(
            sign.start, end_of(sign), f"({sign.text}(x))^2 or {sign.text}(x^2)", sign="", joint=""
        )

    def refuse_four(self, first: Node, partner: int) -> NoReturn:
        """Refuse ``|x|y|z|``, where either pair may stand inside of the other."""
        text, begin, last = self.source.text, self.after.start, self.tokens[partner].start
        left, right = text[first.start + 1 : first.end - 1].strip(), text[begin + 1 : last].strip()
        middle = text[first.end : begin].strip()
        readings = f"|{left}|*{middle}*|{right}|", f"|{left}*|{middle}|*{right}|"
        self.two_readings(first.start, last + 1, *readings, "|x|*y*|z| or |x*|y|*z|")

    @cached_property
    def transpose(self) -> re.Match[str] | None:
        r"""The first ``x^\top`` or ``x^T`` of the expression."""
        return _TRANSPOSE.search(
            self.source.text, self.tokens[self.first].start, self.tokens[-1].start
        )

    def source_text(self, node: Node) -> str:
        return self.source.text[node.start : node.end]

    # -- what is noted ----------------------------------------------------------------------------

    def note_number(self, token: Token) -> None:
        """Note that ``2e3x`` is 2000*x, for those to whom e is a name."""
        left = self.before
        if left.kind == NUMBER and token.start == end_of(left) and "e" in left.text.lower():
            mantissa, letter, exponent = re.split("([eE])", left.text)
            product = f"{mantissa}*{letter}*{exponent}*{token.text}"
            self.notes += ((letter, f"{left.text} is a number here; with {letter}: {product}"),)

    def note_root(self, exponent: Node, waiting: _Waiting) -> None:
        """Note that ``x^1/2`` is a quotient."""
        base, sign = waiting[-1]
        one, slash, below = self.tokens[self.at - 1 : self.at + 2]
        if base is not None and (one.text, slash.text) == ("1", "/") and type(exponent) is Number:
            shown = self.source_text(base)
            shown = shown if len(shown) <= _LONGEST_BASE and "\n" not in shown else "x"
            root = below.text if below.kind in (NUMBER, NAME) else "2"
            power = shown + ("^" if self.source.text[sign.start] == "^" else "**")
            note = f"{power}1/{root} is {shown}/{root}: write {power}(1/{root}) for the root"
            self.notes += ((None, note),)

    # -- what is refused --------------------------------------------------------------------------

    def refuse_atom(self, token: Token) -> NoReturn:
        """Refuse what stands where a value is expected."""
        if token.text == "not":
            self.fail("'not' needs brackets here", token.span, "write (not x)")
        if token.text in (")", "]") and self.bracket.opener is None:
            self.refuse_closing(token)
        self.refuse_end(token)
        before = self.tokens[max(self.at - 2, 0)]
        if token.kind == END:
            self.fail("the expression ends where a value is expected", before.span)
        help = _FOREIGN.get(before.text + token.text)
        if token.text == "=":
            help = "leave it out" if self.at == 1 else _EQUALITY
        self.fail(f"expected a value, not {token.text!r}", token.span, help)

    def refuse_beside(self, node: Node, token: Token) -> NoReturn:
        """Refuse what is no factor after a value: a string, a slice, a word, another line."""
        if token.text == "=":
            words = [before.text for before in self.tokens[: self.at] if before.kind == NAME]
            declared = len(words) == self.at == 2 and words[0] != "assert"  # let y = 2, var y = 2
            help = f"leave '{words[0]}' out" if declared else _EQUALITY
            message = "'=' can only follow a name at the start of a statement"
            note = None if declared else "for the slope of a y that an equation gives: --implicit y"
            self.fail(message, token.span, help, note)
        offer = None
        if _begins_value(token) and type(node) in (Name, Number, Call):
            left, right = self.source_text(node), self.next_text()
            if right and len(left) + len(right) < 60 and "\n" not in left + right:
                offer = f"write {left}*{right}"
        if token.text == "..":
            offer = "write linspace(a, b, 5) for points of a range, x[a:b] for a slice"
        self.fail(f"no operator before {token.text!r}", token.span, offer)

    def refuse_chain(self, first: Token, left: Node, middle: Node) -> NoReturn:
        """Refuse a comparison of a comparison."""
        token, text = self.after, self.source.text
        a, b = self.source_text(left), self.source_text(middle)
        c = self.next_text(1, MASK) or "c"
        message = "a chain of comparisons is not read"
        help = f"({a} {first.text} {b}) and ({b} {token.text} {c})"
        if (
            isinstance(middle, Binary)
            and middle.operator in ("&", "|")
            and text[middle.start] != "("
        ):
            message = f"'{middle.operator}' binds more tightly than a comparison"
            b, second = self.source_text(middle.left), self.source_text(middle.right)
            help = f"({a} {first.text} {b}) {middle.operator} ({second} {token.text} {c})"
        self.fail(message, token.span, f"write {help}")

    def refuse_closing(self, token: Token) -> NoReturn:
        self.fail(
            f"'{token.text}' closes nothing", token.span, "remove it, or open the bracket before"
        )

    def refuse_open(self, opener: Token) -> NoReturn:
        self.fail(
            f"'{opener.text}' is never closed",
            opener.span,
            f"add the missing '{_CLOSING[opener.text]}'",
        )

    def refuse_end(self, token: Token) -> None:
        """Refuse a bracket that is open at the end."""
        if token.kind == END and self.bracket.opener is not None:
            self.refuse_open(self.bracket.opener)

    def refuse_comma(self, token: Token) -> NoReturn:
        """Refuse a comma outside brackets: of decimals, or of an array without its brackets."""
        before, after = self.before, self.tokens[self.at + 1]
        text = self.source.text[self.tokens[self.first].start : self.tokens[-1].start].strip()
        parts = [part.strip() for part in text.split(",")]
        listed = ", ".join(parts) if len(text) <= _LONGEST and "\n" not in text else "x, y"
        help = f"[{listed}] for an array"
        if before.kind == NUMBER == after.kind and len(parts) == 2:
            decimal = f"{'.'.join(parts)}, or " if (before.text + after.text).isdigit() else ""
            self.fail("a comma is never a decimal point", token.span, f"write {decimal}{help}")
        self.fail("a comma outside brackets", token.span, f"write {help}")


def _is_minus_one(exponent: Node) -> bool:
    if isinstance(exponent, Unary):
        operand = exponent.operand
        return exponent.operator == "-" and isinstance(operand, Number) and operand.value == 1
    return isinstance(exponent, Number) and exponent.value == -1
