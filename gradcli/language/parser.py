"""The parser: one pass over the tokens with explicit stacks, so that nesting has no depth limit.

::

    program    = { [ statement ] ( NEWLINE | ";" ) }
    statement  = constant | data | binding | augmented | definition | assertion | query
    constant   = "const" NAME "=" expression              data  = NAME "=" "@" FILE
    binding    = NAME "=" expression                      query = expression
    augmented  = NAME ( "+=" | "-=" | "*=" | "/=" | "**=" | "@=" ) expression
    definition = NAME "(" NAME { "," NAME } ")" "=" expression
    assertion  = "assert" relation { "and" relation } [ "within" sum ]
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
    items      = expression { "," expression } [ "," ]
    arguments  = [ argument { "," argument } [ "," ] ]   argument = [ NAME "=" ] expression
    subscripts = subscript { "," subscript } [ "," ]     subscript = expression | slice | "..."
    slice      = [ expression ] ":" [ expression ] [ ":" [ expression ] ]

The loop alternates between two states: an `atom` is expected, or what may follow one, a `postfix` or an `infix` operator. Operators
wait on a stack until one that binds less tightly arrives; an open bracket is a `Bracket` on another (stacks.py). Each function has the
name of the rule that it reads: from `expression` to `power` a rule is a binding power (precedence.py).
"""

from __future__ import annotations

from gradcli.errors import Source
from gradcli.language.atoms import atom
from gradcli.language.brackets import ARGUMENTS, SUBSCRIPTS, closed, colon, comma, inside, opened, refuse_open
from gradcli.language.infix import expression, infix, product
from gradcli.language.stacks import Stacks
from gradcli.language.tokens import END, NAME, NUMBER, PRIME, SUPERSCRIPT, SYMBOL, Token, superscript_value
from gradcli.language.tree import Attribute, Binary, Call, Expression, Name, Node, Number
from gradcli.ops.text import BINDING, EXPRESSION


def parsed(source: Source, tokens: list[Token], at: int, stop: int) -> Expression:
    """tokens[at:stop] as one expression. Raises ParseError, or AmbiguousError for what has two readings."""
    stacks = Stacks(source, tokens, at, stop)
    tokens = stacks.tokens
    expects_atom = True
    while True:
        token = tokens[stacks.at]
        if token[0] == END:
            break
        stacks.at += 1
        if expects_atom:
            expects_atom = atom(stacks, token)
        elif (binding := BINDING.get(token[1])) is not None:
            infix(stacks, token, binding)
            expects_atom = True
        else:
            expects_atom = postfix(stacks, token)
    refuse_open(stacks)
    if expects_atom:
        stacks.missing_value(stacks.end)
    stacks.reduce(EXPRESSION, 0)
    return Expression(stacks.values.pop(), stacks.nodes)


def postfix(stacks: Stacks, token: Token) -> bool:
    """postfix = atom { "(" arguments ")" | "[" subscripts "]" | "." NAME | "'"... "(" arguments ")" }, and what ends a value.

    Says whether an atom is expected next.
    """
    kind, text, _ = token
    if kind == SYMBOL:
        if text == "(":
            return arguments(stacks, token)
        if text == "[":
            return subscripts(stacks, token)
        if text in (")", "]"):
            closed(stacks, token, stacks.finished())
            return False
        if text == ",":
            comma(stacks, token)
            return True
        if text == ".":
            return attribute(stacks, token)
        if text == ":" and inside(stacks, SUBSCRIPTS):
            colon(stacks, token, stacks.finished())
            return True
        if text == "=":
            stacks.fail("'=' can only follow a name at the start of a statement", token.span, "write == to compare")
    elif kind == NAME and text in ("if", "else"):
        expression(stacks, token)
        return True
    elif kind == SUPERSCRIPT:
        return power(stacks, token)
    elif kind == PRIME:
        return primes(stacks, token)
    product(stacks, token)
    return True


def arguments(stacks: Stacks, token: Token) -> bool:
    """postfix = atom "(" arguments ")", after a name, an attribute or what a constructor makes; after a number, a product."""
    before, last = stacks.values[-1], stacks.tokens[stacks.at - 2]
    if isinstance(before, (Name, Attribute)) if last.kind == NAME else last.text == ")" and is_made(before):
        opened(stacks, ARGUMENTS, token, stacks.values.pop())
    else:
        product(stacks, token)
    return True


def is_made(node: Node) -> bool:
    """Whether a node calls a constructor, whose result may be called: ``nn.MSELoss()``, ``MSELoss()``."""
    if not isinstance(node, Call):
        return False
    callee = node.callee
    name = callee.name if isinstance(callee, (Name, Attribute)) else ""
    return name[:1].isupper() and len(name) > 2


def primes(stacks: Stacks, token: Token) -> bool:
    """postfix = atom "'"... "(" arguments ")", after a name."""
    callee = stacks.values[-1]
    opener = stacks.peek()
    if not isinstance(callee, Name) or opener.text != "(" or opener.kind != SYMBOL:
        stacks.fail("a prime marks the derivative of a function, as in f'(2)", token.span, "write x.T for the transpose")
    stacks.at += 1
    opened(stacks, ARGUMENTS, opener, stacks.values.pop(), len(token.text))
    return True


def subscripts(stacks: Stacks, token: Token) -> bool:
    """postfix = atom "[" subscripts "]"."""
    if isinstance(stacks.values[-1], Number) and stacks.tokens[stacks.at - 2].kind == NUMBER:
        stacks.fail("a number has no entries", token.span)
    opened(stacks, SUBSCRIPTS, token, stacks.values.pop())
    return True


def attribute(stacks: Stacks, token: Token) -> bool:
    """postfix = atom "." NAME."""
    name = stacks.peek()
    if name.kind != NAME:
        stacks.fail("expected a name after '.'", name.span if name.kind != END else token.span)
    stacks.at += 1
    stacks.push(Attribute(stacks.values.pop(), name.text, name.start + len(name.text)))
    return False


def power(stacks: Stacks, token: Token) -> bool:
    """power = postfix SUPERSCRIPT; the other one, with an operator, is an infix."""
    exponent = stacks.node(Number(superscript_value(token.text), token.start, token.start + len(token.text)))
    stacks.push(Binary("**", stacks.values.pop(), exponent))
    return False
