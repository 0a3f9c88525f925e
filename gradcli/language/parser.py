"""The parser: one pass over the tokens with explicit stacks, so that nesting has no depth limit.

::

    program    = { [ statement ] ( NEWLINE | ";" ) }
    statement  = [ "const" ] NAME "=" expression
               | NAME "(" NAME { "," NAME } ")" "=" expression
               | "assert" sum "==" sum [ "within" sum ]
               | expression
    expression = disjunction [ "if" disjunction "else" expression ]
    disjunction = conjunction { "or" conjunction }       conjunction = negation { "and" negation }
    negation   = "not" negation | comparison
    comparison = sum [ ( "<" | "<=" | ">" | ">=" | "==" | "!=" ) sum ]
    sum        = term { ( "+" | "-" ) term }
    term       = product { ( "*" | "/" | "//" | "%" | "@" ) product }
    product    = unary | NUMBER power                     # juxtaposition: 2x, 2(x+1), 2sin(x)
    unary      = ( "-" | "+" ) unary | power
    power      = postfix [ ( "**" | "^" ) unary | SUPERSCRIPT ]
    postfix    = atom { "(" arguments ")" | "[" subscripts "]" | "." NAME | "'"... "(" arguments ")" }
    atom       = NUMBER | NAME | STRING | "(" [ items ] ")" | "[" [ items ] "]"

The loop alternates between two states: a value is expected, or what may follow a value. Operators wait on a
stack until one that binds less tightly arrives; an open bracket is a `_Frame`.
"""

from __future__ import annotations

import re
from typing import NoReturn

from gradcli.errors import AmbiguousError, Label, ParseError, Source, Span
from gradcli.language.tokens import END, NAME, NUMBER, PRIME, STRING, SUPERSCRIPT, SYMBOL, Token, superscript_value
from gradcli.language.tree import (
    Attribute,
    Binary,
    Call,
    Conditional,
    Dots,
    Expression,
    Name,
    Node,
    Number,
    Sequence,
    Slice,
    Subscript,
    Text,
    Unary,
)

_TERNARY, _OR, _AND, _NOT, _COMPARISON, _SUM, _TERM, _JUXTAPOSITION, _UNARY, _POWER = range(10)
_BINARY = {
    "or": _OR, "and": _AND, "<": _COMPARISON, "<=": _COMPARISON, ">": _COMPARISON, ">=": _COMPARISON, "==": _COMPARISON,
    "!=": _COMPARISON, "+": _SUM, "-": _SUM, "*": _TERM, "/": _TERM, "//": _TERM, "%": _TERM, "@": _TERM, "**": _POWER,
}  # fmt: skip
_PREFIXES = (_NOT, _UNARY)
_GROUPED = re.compile(r"(?:[0-9](?:_?[0-9])*)?\.?(?:[0-9](?:_?[0-9])*)?(?:[eE][+-]?[0-9](?:_?[0-9])*)?")
RESERVED = frozenset({"if", "else", "and", "or", "not"})
_CLOSING = {"(": ")", "[": "]"}
_GROUP, _LIST, _CALL, _SUBSCRIPT = range(4)


_Operator = tuple[int, Token]  # one that waits for its right operand: its tightness and its token


def _symbol(operator: _Operator) -> str:
    tightness, token = operator
    return "*" if tightness == _JUXTAPOSITION else token.text


class _Frame:
    """An open bracket: where it stands, what it is, and what has been read in it."""

    __slots__ = ("base", "comma", "items", "keyword", "keywords", "kind", "opener", "outside", "primes", "slice")

    def __init__(self, kind: int, opener: Token, outside: int, base: Node | None, primes: int) -> None:
        self.kind, self.opener, self.outside, self.base, self.primes = kind, opener, outside, base, primes
        self.items: list[Node] = []
        self.keywords: list[tuple[str, Node]] = []
        self.keyword: Token | None = None
        self.slice: list[Node | None] | None = None
        self.comma = False


class ExpressionParser:
    """Parses tokens[at:stop] as one expression."""

    def __init__(self, source: Source, tokens: list[Token], at: int, stop: int) -> None:
        before = min(at, 1)  # the token before the expression, which errors may point at
        self.source, self.at = source, before
        self.end = Token(END, "", tokens[stop].start if stop < len(tokens) else len(source.text))
        self.tokens = [*tokens[at - before : stop], self.end]
        self.values: list[Node] = []
        self.operators: list[_Operator] = []
        self.frames: list[_Frame] = []
        self.base = 0  # how many operators wait outside of the innermost open bracket
        self.nodes: list[Node] = []

    def fail(self, message: str, span: Span, help: str | None = None, label: str = "") -> NoReturn:
        raise ParseError(message, span=span, help=help, label=label, source=self.source)

    def peek(self) -> Token:
        return self.tokens[self.at]

    def push(self, node: Node) -> None:
        node.place = len(self.nodes)
        self.nodes.append(node)
        self.values.append(node)

    def parse(self) -> Expression:
        """expression = disjunction [ "if" disjunction "else" expression ]"""
        tokens = self.tokens
        value_expected = True
        while True:
            token = tokens[self.at]
            if token.kind == END:
                break
            self.at += 1
            if value_expected:
                value_expected = self.value(token)
            elif (tightness := _BINARY.get(token.text)) is not None:
                self.binary(token, tightness)
                value_expected = True
            else:
                value_expected = self.after_value(token)
        if self.frames:
            opener = self.frames[-1].opener
            closing = _CLOSING[opener.text]
            self.fail(f"'{opener.text}' is never closed", opener.span, f"add the missing '{closing}'")
        if value_expected:
            self.missing_value(self.end)
        self.reduce(_TERNARY, 0)
        return Expression(self.values.pop(), self.nodes)

    # -- a value is expected ----------------------------------------------------------------------------------

    def value(self, token: Token) -> bool:
        """The start of an operand; says whether a value is still expected."""
        kind, text = token.kind, token.text
        if kind == NUMBER:
            self.push(Number(self.number(token), token.start, token.start + len(text)))
            return False
        if kind == NAME:
            return self.name(token)
        if kind == SYMBOL:
            return self.opening(token)
        if kind == STRING:
            if not self.frames or self.frames[-1].kind not in (_CALL, _GROUP, _LIST):
                self.fail("a string can only be an argument of a function", token.span)
            self.push(Text(text[1:-1], token.start, token.start + len(text)))
            return False
        self.missing_value(token)

    def name(self, token: Token) -> bool:
        text = token.text
        if text in RESERVED:
            if text != "not":
                self.missing_value(token)
            if self.operators_here() and self.operators[-1][0] > _NOT:
                self.fail("'not' needs brackets here", token.span, "write (not x)")
            self.operators.append((_NOT, token))
            return True
        frame = self.frames[-1] if self.frames else None
        following = self.peek()
        if (
            frame is not None
            and frame.kind == _CALL
            and following.kind == SYMBOL
            and following.text == "="
            and frame.keyword is None
            and not self.operators_here()
        ):
            if any(text == name for name, _ in frame.keywords):
                self.fail(f"the argument {text!r} is given twice", token.span)
            frame.keyword = token
            self.at += 1
            return True
        self.push(Name(text, token.start, token.start + len(text)))
        return False

    def opening(self, token: Token) -> bool:
        text = token.text
        if text in ("-", "+"):
            self.operators.append((_UNARY, token))
        elif text in ("(", "["):
            self.open(_GROUP if text == "(" else _LIST, token)
        elif text in (")", "]"):
            frame = self.frames[-1] if self.frames else None
            if frame is None or self.operators_here() or frame.keyword or (frame.items and not frame.comma and not frame.slice):
                if frame is None:
                    self.fail(f"'{text}' closes nothing", token.span, "remove it, or open the bracket before")
                self.missing_value(token)
            self.close(token, None)
            return False
        elif text == ":" and self.frames and self.frames[-1].kind == _SUBSCRIPT and not self.operators_here():
            self.colon(token, None)
        elif text == "..." and self.frames and self.frames[-1].kind == _SUBSCRIPT:
            self.push(Dots(token.start, token.start + 3))
            return False
        elif text == "," and self.frames and self.frames[-1].slice is not None and not self.operators_here():
            self.finish_item(None, self.frames[-1])
        else:
            self.missing_value(token)
        return True

    def number(self, token: Token) -> float:
        text = token.text
        if text.isdigit() and len(text) < 300 and text != "0":
            return int(text)
        if text == "0" and (after := self.peek()).kind == NAME and after.start == token.start + 1 and after.text[0] in "xXoObB":
            self.fail(
                "numbers are decimal",
                Span(token.start, after.start + len(after.text)),
                "hexadecimal, octal and binary are not read",
            )
        if "_" in text and not _GROUPED.fullmatch(text):
            self.fail(f"{text!r} is not a number", token.span, "_ stands between digits: 1_000")
        plain = text.replace("_", "")
        return int(plain) if plain.isdigit() and len(plain) < 300 else float(plain)

    # -- after a value ----------------------------------------------------------------------------------------

    def after_value(self, token: Token) -> bool:
        """What may follow an operand besides infix operators; says whether a value is expected next."""
        kind, text = token.kind, token.text
        if kind == NAME and text in ("if", "else"):
            return self.ternary(token)
        if kind == SYMBOL:
            if text == "(":
                return self.bracket_after_value(token)
            if text == "[":
                if isinstance(self.values[-1], Number) and self.tokens[self.at - 2].kind == NUMBER:
                    self.fail("a number has no entries", token.span)
                self.open(_SUBSCRIPT, token, self.values.pop())
                return True
            if text in (")", "]"):
                self.close(token, self.finished())
                return False
            if text == ",":
                return self.comma(token)
            if text == ".":
                name = self.peek()
                if name.kind != NAME:
                    self.fail("expected a name after '.'", name.span if name.kind != END else token.span)
                self.at += 1
                self.push(Attribute(self.values.pop(), name.text, name.start + len(name.text)))
                return False
            if text == ":" and self.frames and self.frames[-1].kind == _SUBSCRIPT:
                self.colon(token, self.finished())
                return True
            if text == "=":
                self.fail("'=' can only follow a name at the start of a statement", token.span, "write == to compare")
        if kind == SUPERSCRIPT:
            exponent = superscript_value(text)
            base = self.values.pop()
            power = Number(exponent, token.start, token.start + len(text))
            self.push(power)
            self.values.pop()
            self.push(Binary("**", base, power))
            return False
        if kind == PRIME:
            return self.prime(token)
        return self.juxtaposition(token)

    def binary(self, token: Token, tightness: int) -> None:
        operators, base = self.operators, self.base
        if len(operators) > base:
            self.reduce(tightness if tightness != _POWER else tightness + 1, base)
            if tightness == _COMPARISON and self.operators_here() and operators[-1][0] == _COMPARISON:
                self.chain_refused(token)
        operators.append((tightness, token))

    def chain_refused(self, token: Token) -> NoReturn:
        earlier = self.operators[-1]
        text = self.source.text
        a, b = (text[node.start : node.end] for node in self.values[-2:])
        stop, depth = self.at, 0
        while stop < len(self.tokens) - 1 and depth >= 0:
            word = self.tokens[stop].text
            depth += (word in ("(", "[")) - (word in (")", "]"))
            if depth < 0 or (depth == 0 and (_BINARY.get(word, _SUM) < _SUM or word in (",", ";", "if", "else"))):
                break
            stop += 1
        last = self.tokens[stop - 1]
        c = text[self.tokens[self.at].start : last.start + len(last.text)] if stop > self.at else "..."
        self.fail("a chain of comparisons is not read", token.span, f"write ({a} {_symbol(earlier)} {b}) and ({b} {token.text} {c})")

    def ternary(self, token: Token) -> bool:
        base = self.base
        if token.text == "if":
            self.reduce(_TERNARY + 1, base)
            if self.operators_here() and _symbol(self.operators[-1]) == "if":
                self.fail("put the inner condition in brackets", token.span)
            self.operators.append((_TERNARY, token))
            return True
        self.reduce(_TERNARY + 1, base)
        while self.operators_here() and _symbol(self.operators[-1]) == "else":
            self.reduce_one()
        if not self.operators_here() or _symbol(self.operators[-1]) != "if":
            self.fail("'else' without 'if'", token.span, "write: x if condition else y")
        self.operators[-1] = (_TERNARY, token)
        return True

    def bracket_after_value(self, token: Token) -> bool:
        before = self.values[-1]
        if isinstance(before, (Name, Attribute)) and self.tokens[self.at - 2].kind == NAME:
            self.open(_CALL, token, self.values.pop())
            return True
        if self.tokens[self.at - 2].kind == NUMBER:
            self.times(token)
            self.at -= 1
            return True
        return self.juxtaposition(token)

    def prime(self, token: Token) -> bool:
        callee = self.values[-1]
        opener = self.peek()
        if not isinstance(callee, Name) or opener.text != "(" or opener.kind != SYMBOL:
            self.fail("a prime marks the derivative of a function, as in f'(2)", token.span, "write x.T for the transpose")
        self.at += 1
        self.values.pop()
        self.open(_CALL, opener, callee, len(token.text))
        return True

    def juxtaposition(self, token: Token) -> bool:
        before = self.tokens[self.at - 2]
        if before.kind == NUMBER and token.kind == NAME:
            self.times(token)
            self.at -= 1
            return True
        value = self.values[-1]
        left = self.source.text[value.start : value.end]
        if len(left) > 40:
            left = "..."
        right = token.text
        if isinstance(value, Name) and token.kind == NAME and value.end < token.start:
            self.fail(f"no operator between {left!r} and {right!r}", token.span, f"write {left}*{right}, or {left}({right})")
        self.fail(f"no operator before {right!r}", token.span, "write * to multiply" if token.kind != STRING else None)

    def times(self, token: Token) -> None:
        """A number directly before a name or bracket: times, unless an operator before it makes two readings."""
        place = len(self.operators)
        base = self.base
        while place > base and self.operators[place - 1][0] in _PREFIXES:
            place -= 1
        if place > base:
            operator = self.operators[place - 1]
            if operator[0] == _POWER or _symbol(operator) in ("/", "//", "%", "@"):
                raise self.two_readings(operator, token)
        self.operators.append((_JUXTAPOSITION, token))

    def two_readings(self, operator: _Operator, token: Token) -> AmbiguousError:
        number, before, text = self.values[-1], self.values[-2], self.source.text
        left = text[before.start : before.end]
        left = left if len(left) <= 24 else "..."
        factor = text[number.start : number.end]
        what = token.text if token.kind == NAME else "(...)"
        symbol = "^" if text[operator[1].start] == "^" else _symbol(operator)
        return AmbiguousError(
            f"'{left}{symbol}{factor}{what}' has two readings",
            span=Span(before.start, token.start + len(token.text)), source=self.source,
            help=f"write ({left}{symbol}{factor})*{what} or {left}{symbol}({factor}*{what})",
        )  # fmt: skip

    # -- brackets ---------------------------------------------------------------------------------------------

    def open(self, kind: int, opener: Token, base: Node | None = None, primes: int = 0) -> None:
        self.frames.append(_Frame(kind, opener, self.base, base, primes))
        self.base = len(self.operators)

    def operators_here(self) -> bool:
        return len(self.operators) > self.base

    def finished(self) -> Node:
        """The value read since the bracket (or comma), all operators applied."""
        self.reduce(_TERNARY, self.base)
        return self.values.pop()

    def comma(self, token: Token) -> bool:
        if not self.frames:
            before, after = self.tokens[self.at - 2], self.peek()
            if before.kind == NUMBER and after.kind == NUMBER:
                number = f"{before.text}.{after.text}"
                self.fail(
                    "a comma is never a decimal point", token.span, f"write {number}, or [{before.text}, {after.text}] for an array"
                )
            self.fail("a comma outside brackets", token.span, "write [x, y] for an array")
        self.finish_item(self.finished(), self.frames[-1])
        return True

    def colon(self, token: Token, value: Node | None) -> None:
        frame = self.frames[-1]
        frame.slice = [] if frame.slice is None else frame.slice
        frame.slice.append(value)
        if len(frame.slice) > 2:
            self.fail("a slice has at most three parts", token.span, "start:stop:step")

    def finish_item(self, value: Node | None, frame: _Frame) -> None:
        if frame.slice is not None:
            parts = [*frame.slice, value]
            given = [part for part in parts if part is not None]
            start = given[0].start if given else self.tokens[self.at - 1].start
            node = Slice(parts, start, given[-1].end if given else start + 1)
            self.push(node)
            value = self.values.pop()
            frame.slice = None
        assert value is not None
        if frame.keyword is not None:
            frame.keywords.append((frame.keyword.text, value))
            frame.keyword = None
        elif frame.keywords and frame.kind == _CALL:
            self.fail("arguments by position come before those by name", value.span)
        else:
            frame.items.append(value)
        frame.comma = True

    def close(self, token: Token, value: Node | None) -> None:
        if not self.frames:
            self.fail(f"'{token.text}' closes nothing", token.span, "remove it, or open the bracket before")
        frame = self.frames[-1]
        if _CLOSING[frame.opener.text] != token.text:
            raise ParseError(
                f"'{frame.opener.text}' is closed by '{token.text}'", span=token.span, source=self.source,
                also=(Label(frame.opener.span, "opened here"),),
            )  # fmt: skip
        self.frames.pop()
        self.base = frame.outside
        end = token.start + 1
        if frame.kind == _GROUP and value is not None and not frame.comma:
            value.start, value.end = frame.opener.start, end
            self.values.append(value)
            return
        several = frame.comma
        if value is not None or frame.slice is not None:
            self.finish_item(value, frame)
        if frame.kind == _GROUP:
            self.push(Sequence("(", frame.items, frame.opener.start, end))
        elif frame.kind == _LIST:
            self.push(Sequence("[", frame.items, frame.opener.start, end))
        elif frame.kind == _CALL:
            assert frame.base is not None
            self.push(Call(frame.base, frame.items, frame.keywords, frame.primes, end))
        else:
            assert frame.base is not None
            if not frame.items:
                self.fail("an index is missing", Span(frame.opener.start, end), "write x[0], or x[:] for all entries")
            self.push(Subscript(frame.base, frame.items, several, end))

    # -- operators --------------------------------------------------------------------------------------------

    def reduce(self, tightness: int, base: int) -> None:
        """Apply the waiting operators above ``base`` that bind at least as tightly."""
        operators = self.operators
        while len(operators) > base:
            top = operators[-1][0]
            if top < tightness or (tightness == _COMPARISON == top):
                return
            self.reduce_one()

    def reduce_one(self) -> None:
        operator = self.operators.pop()
        tightness, token = operator
        values = self.values
        right = values.pop()
        if tightness in _PREFIXES:
            self.push(Unary(token.text, right, token.start))
        elif tightness != _TERNARY:
            self.push(Binary(_symbol(operator), values.pop(), right))
        elif token.text == "else":
            condition = values.pop()
            self.push(Conditional(values.pop(), condition, right))
        else:
            self.fail("'if' without 'else'", token.span, "write: x if condition else y")

    def missing_value(self, token: Token) -> NoReturn:
        if token.kind == END:
            before = self.tokens[self.at - 1] if self.at else token
            self.fail("the expression ends where a value is expected", before.span if before.kind != END else token.span)
        shown = repr(token.text)
        helps = {"=": "write == to compare", "**": None, "*": None}
        self.fail(f"expected a value, not {shown}", token.span, helps.get(token.text))
