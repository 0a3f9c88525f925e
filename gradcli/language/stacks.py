"""What the parser keeps while it reads: values, operators that wait for their right operand, and open brackets."""

from __future__ import annotations

from typing import NoReturn

from gradcli.errors import ParseError, Source, Span
from gradcli.language.precedence import PREFIX, Application, Operator, symbol
from gradcli.language.tokens import END, Token
from gradcli.language.tree import Binary, Call, Conditional, Name, Node, Number, Unary
from gradcli.ops.calling import textbook
from gradcli.ops.text import ARGUMENT, COMPARISON, EXPRESSION


class Bracket:
    """An open bracket: where it stands, which rule of the grammar reads what is in it, and what has been read."""

    __slots__ = (
        "base", "comma", "exponent", "items", "keyword", "keywords", "named", "opener", "outside", "primes", "rule", "slice", "spaced",
    )  # fmt: skip

    def __init__(self, rule: int, opener: Token, outside: int, base: Node | None, primes: int) -> None:
        self.rule, self.opener, self.outside, self.base, self.primes = rule, opener, outside, base, primes
        self.items: list[Node] = []
        self.keywords: list[tuple[str, Node]] = []
        self.keyword: Token | None = None
        self.named: set[str] | None = None  # the names of keywords, where there are some
        self.slice: list[Node | None] | None = None
        self.comma = False
        self.exponent: Node | None = None  # of the function whose arguments are in it: sin^2(x)
        self.spaced = False  # whether it follows a function of `bare_functions` after a space


class Stacks:
    """The tokens at:stop of a text, how far they are read, and what waits until more of them are."""

    known: frozenset[str] = frozenset()  # names before brackets that are values
    applied = False  # whether calls and quotients have to be looked at closely
    implied = False  # whether anything is written as in a textbook
    notes: tuple[tuple[str | None, str], ...] = ()
    bars: dict[int, int] | None = None  # places of bars, each with that of the next one beside it (bars.py)
    doubts: dict[tuple[int, int], tuple[int, int]] | None = None  # bars with a value right after them, by the bracket they stand in

    def __init__(self, source: Source, tokens: list[Token], at: int, stop: int, known: frozenset[str] = frozenset()) -> None:
        before = min(at, 1)  # the token before the expression, which errors may point at
        self.source, self.at = source, before
        self.end = Token(END, "", tokens[stop].start if stop < len(tokens) else len(source.text))
        self.tokens = [*tokens[at - before : stop], self.end]
        self.values: list[Node] = []
        self.operators: list[Operator] = []
        self.brackets: list[Bracket] = []
        self.base = 0  # how many operators wait outside of the innermost open bracket
        self.nodes: list[Node] = []
        self.called: set[str] = set()  # names before brackets, which are read as functions
        if known:
            self.known, self.applied = known, True

    def fail(self, message: str, span: Span, help: str | None = None) -> NoReturn:
        raise ParseError(message, span=span, help=help, source=self.source)

    def missing_value(self, token: Token) -> NoReturn:
        """Refuse what stands where a value is expected."""
        if token.kind == END:
            before = self.tokens[self.at - 1] if self.at else token
            self.fail("the expression ends where a value is expected", before.span if before.kind != END else token.span)
        self.fail(f"expected a value, not {token.text!r}", token.span, _instead_of_equals(self, token))

    def peek(self) -> Token:
        """The token that is read next."""
        return self.tokens[self.at]

    def push(self, node: Node) -> None:
        """A node that has been read, which is the value of what comes before."""
        node.place = len(self.nodes)
        self.nodes.append(node)
        self.values.append(node)

    def node(self, node: Node) -> Node:
        """A node that is part of the one to be pushed next."""
        node.place = len(self.nodes)
        self.nodes.append(node)
        return node

    def has_operators(self) -> bool:
        """Whether operators wait in the innermost open bracket."""
        return len(self.operators) > self.base

    def finished(self) -> Node:
        """The value read since the bracket (or comma), all operators applied."""
        self.reduce(EXPRESSION, self.base)
        return self.values.pop()

    def reduce(self, power: int, base: int) -> None:
        """Apply the waiting operators above ``base`` that bind at least as tightly; comparisons do not go on from one another."""
        operators = self.operators
        while len(operators) > base:
            top = operators[-1][0]
            if top < power or (power == COMPARISON == top):
                return
            self.reduce_one()

    def reduce_one(self) -> None:
        """Apply the operator that waits last."""
        operator = self.operators.pop()
        power, token = operator
        values = self.values
        right = values.pop()
        if power in PREFIX:
            self.push(Unary(token.text, right, token.start))
        elif power == ARGUMENT:
            assert isinstance(token, Application)
            self.applied_to([right], token.callee, token.exponent, right.end)
        elif power != EXPRESSION:
            self.push(Binary(symbol(operator), values.pop(), right))
        elif token.text == "else":
            condition = values.pop()
            self.push(Conditional(values.pop(), condition, right))
        else:
            self.fail("'if' without 'else'", token.span, "write: x if condition else y")

    def is_own(self, name: str) -> bool:
        """Tell whether a name is a function of textbooks alone, which nothing in the program has as its name."""
        return textbook.is_own(name) and name not in self.known and f"{name}()" not in self.known

    def call(self, callee: Node, arguments: list[Node], keywords: list[tuple[str, Node]], primes: int, end: int) -> Node:
        """A call, to be pushed: of a function of textbooks by its name in the catalogue, ``log_3(x)`` as log(x)/log(3)."""
        if type(callee) is not Name or not self.is_own(callee.name):
            return Call(callee, arguments, keywords, primes, end)
        self.called.add(callee.name)
        self.implied = True
        base = textbook.base_of_log(callee.name)
        callee.name = textbook.catalogued(callee.name)
        if base is None:
            return Call(callee, arguments, keywords, primes, end)
        start, stop = callee.start, callee.end
        number = base.isdigit()
        other = self.node(Number(int(base), start, stop) if number else Name(base, start, stop))
        callee.name = "log"
        left = self.node(Call(callee, arguments, keywords, primes, end))
        right = self.node(Call(self.node(Name("log", start, stop)), [other], [], 0, stop))
        quotient = Binary("/", left, right)
        quotient.end = end
        return quotient

    def applied_to(self, arguments: list[Node], callee: Node, exponent: Node | None, end: int) -> None:
        """Push a call, or the power of one, for which the exponent stands after the function's name."""
        call = self.call(callee, arguments, [], 0, end)
        self.push(call)
        if exponent is not None:
            self.values.pop()
            power = Binary("**", call, exponent)
            power.end = end
            self.push(power)


def _instead_of_equals(stacks: Stacks, token: Token) -> str | None:
    """What to write instead of ``=`` where a value is expected: nothing before all (``=SIN(x)``), or ``==``."""
    if token.text != "=":
        return None
    return "leave it out" if stacks.at == 1 else "write x == y to compare"
