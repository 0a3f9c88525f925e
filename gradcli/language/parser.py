"""The parser: one pass over the tokens with explicit stacks, so that nesting has no depth limit.

::

    program    = { [ statement ] ( NEWLINE | ";" ) }
    statement  = [ "const" ] NAME "=" expression
               | NAME ( "+=" | "-=" | "*=" | "/=" | "**=" | "@=" ) expression
               | NAME "(" NAME { "," NAME } ")" "=" expression
               | "assert" relation { "and" relation } [ "within" sum ]
               | expression
    relation   = sum ( "==" | "!=" | "<" | "<=" | ">" | ">=" ) sum
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
stack until one that binds less tightly arrives; an open bracket is a `Frame` (stacks.py).
"""

from __future__ import annotations

import re
from typing import NoReturn

from gradcli.errors import AmbiguousError, Span
from gradcli.language.precedence import CALL, CLOSING, GROUP, LIST, PREFIXES, SUBSCRIPT, Operator, Stacks, symbol
from gradcli.language.tokens import END, NAME, NUMBER, PRIME, STRING, SUPERSCRIPT, SYMBOL, Token, superscript_value
from gradcli.language.tree import Attribute, Binary, Dots, Expression, Name, Number, Text
from gradcli.ops.text import BINDING, COMPARISON, JUXTAPOSITION, NOT, POWER, SUM, TERNARY, UNARY

_GROUPED = re.compile(r"(?:[0-9](?:_?[0-9])*)?\.?(?:[0-9](?:_?[0-9])*)?(?:[eE][+-]?[0-9](?:_?[0-9])*)?")
RESERVED = frozenset({"if", "else", "and", "or", "not"})


class ExpressionParser(Stacks):
    """Parses tokens[at:stop] as one expression."""

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
            elif (tightness := BINDING.get(token.text)) is not None:
                self.binary(token, tightness)
                value_expected = True
            else:
                value_expected = self.after_value(token)
        if self.frames:
            opener = self.frames[-1].opener
            closing = CLOSING[opener.text]
            self.fail(f"'{opener.text}' is never closed", opener.span, f"add the missing '{closing}'")
        if value_expected:
            self.missing_value(self.end)
        self.reduce(TERNARY, 0)
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
            if not self.frames or self.frames[-1].kind not in (CALL, GROUP, LIST):
                self.fail("a string can only be an argument of a function", token.span)
            self.push(Text(text[1:-1], token.start, token.start + len(text)))
            return False
        self.missing_value(token)

    def name(self, token: Token) -> bool:
        text = token.text
        if text in RESERVED:
            if text != "not":
                self.missing_value(token)
            if self.operators_here() and self.operators[-1][0] > NOT:
                self.fail("'not' needs brackets here", token.span, "write (not x)")
            self.operators.append((NOT, token))
            return True
        if self.frames and self.frames[-1].kind == CALL and self.keyword(token):
            return True
        self.push(Name(text, token.start, token.start + len(text)))
        return False

    def keyword(self, token: Token) -> bool:
        """Whether a name in the arguments of a call is that of the argument whose value follows."""
        frame, following = self.frames[-1], self.peek()
        if following.text != "=" or following.kind != SYMBOL or frame.keyword is not None or self.operators_here():
            return False
        if any(token.text == name for name, _ in frame.keywords):
            self.fail(f"the argument {token.text!r} is given twice", token.span)
        frame.keyword = token
        self.at += 1
        return True

    def opening(self, token: Token) -> bool:
        text = token.text
        if text in ("-", "+"):
            self.operators.append((UNARY, token))
        elif text in ("(", "["):
            self.open(GROUP if text == "(" else LIST, token)
        elif text in (")", "]"):
            frame = self.frames[-1] if self.frames else None
            if frame is None or self.operators_here() or frame.keyword or (frame.items and not frame.comma and not frame.slice):
                if frame is None:
                    self.fail(f"'{text}' closes nothing", token.span, "remove it, or open the bracket before")
                self.missing_value(token)
            self.close(token, None)
            return False
        elif text == ":" and self.frames and self.frames[-1].kind == SUBSCRIPT and not self.operators_here():
            self.colon(token, None)
        elif text == "..." and self.frames and self.frames[-1].kind == SUBSCRIPT:
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
                self.open(SUBSCRIPT, token, self.values.pop())
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
            if text == ":" and self.frames and self.frames[-1].kind == SUBSCRIPT:
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
            self.reduce(tightness if tightness != POWER else tightness + 1, base)
            if tightness == COMPARISON and self.operators_here() and operators[-1][0] == COMPARISON:
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
            if depth < 0 or (depth == 0 and (BINDING.get(word, SUM) < SUM or word in (",", ";", "if", "else"))):
                break
            stop += 1
        last = self.tokens[stop - 1]
        c = text[self.tokens[self.at].start : last.start + len(last.text)] if stop > self.at else "..."
        self.fail("a chain of comparisons is not read", token.span, f"write ({a} {symbol(earlier)} {b}) and ({b} {token.text} {c})")

    def ternary(self, token: Token) -> bool:
        base = self.base
        if token.text == "if":
            self.reduce(TERNARY + 1, base)
            if self.operators_here() and symbol(self.operators[-1]) == "if":
                self.fail("put the inner condition in brackets", token.span)
            self.operators.append((TERNARY, token))
            return True
        self.reduce(TERNARY + 1, base)
        while self.operators_here() and symbol(self.operators[-1]) == "else":
            self.reduce_one()
        if not self.operators_here() or symbol(self.operators[-1]) != "if":
            self.fail("'else' without 'if'", token.span, "write: x if condition else y")
        self.operators[-1] = (TERNARY, token)
        return True

    def bracket_after_value(self, token: Token) -> bool:
        before = self.values[-1]
        if isinstance(before, (Name, Attribute)) and self.tokens[self.at - 2].kind == NAME:
            self.open(CALL, token, self.values.pop())
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
        self.open(CALL, opener, callee, len(token.text))
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
        while place > base and self.operators[place - 1][0] in PREFIXES:
            place -= 1
        if place > base:
            operator = self.operators[place - 1]
            if operator[0] == POWER or symbol(operator) in ("/", "//", "%", "@"):
                raise self.two_readings(operator, token)
        self.operators.append((JUXTAPOSITION, token))

    def two_readings(self, operator: Operator, token: Token) -> AmbiguousError:
        number, before, text = self.values[-1], self.values[-2], self.source.text
        left = text[before.start : before.end]
        left = left if len(left) <= 24 else "..."
        factor = text[number.start : number.end]
        what = token.text if token.kind == NAME else "(...)"
        sign = "^" if text[operator[1].start] == "^" else symbol(operator)
        return AmbiguousError(
            f"'{left}{sign}{factor}{what}' has two readings",
            span=Span(before.start, token.start + len(token.text)), source=self.source,
            help=f"write ({left}{sign}{factor})*{what} or {left}{sign}({factor}*{what})",
        )  # fmt: skip
