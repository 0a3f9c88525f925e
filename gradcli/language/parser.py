"""The parser: one pass over the tokens with explicit stacks, so that nesting has no depth limit.

::

    program    = { [ statement ] ( NEWLINE | ";" ) }
    statement  = constant | data | binding | several | augmented | definition | assertion | import | query
    constant   = "const" NAME "=" expression              data  = NAME "=" "@" FILE
    binding    = NAME "=" expression [ ( "±" | "+/-" ) expression ]      # (deviations.py)
    query = expression
    several    = NAME "," NAME { "," NAME } "=" items     # as many items, or one with so many results (unpacking.py)
    import     = "import" module { "," module } | "from" path "import" ( "*" | names )          # of known libraries (imports.py)
    augmented  = NAME ( "+=" | "-=" | "*=" | "/=" | "**=" | "@=" ) expression
    definition = NAME "(" NAME { "," NAME } ")" "=" expression
    assertion  = "assert" relation { "and" relation } [ "within" sum ]
    derivative = "d" [ "^" NUMBER ] "/" "dx" [ "^" NUMBER ] ( "(" expression ")" | term )     # in place of a query, also with "∂"
    relation   = sum ( "==" | "!=" | "<" | "<=" | ">" | ">=" ) sum
    expression = disjunction [ "if" disjunction "else" expression ]
    disjunction = conjunction { "or" conjunction }       conjunction = negation { "and" negation }
    negation   = "not" negation | comparison
    comparison = mask [ ( "<" | "<=" | ">" | ">=" | "==" | "!=" ) mask ]
    mask       = masked { "|" masked }                   masked = sum { "&" sum }
    sum        = term { ( "+" | "-" ) term }
    term       = product { ( "*" | "/" | "//" | "%" | "@" ) product }
    product    = unary { power } | { power } bare         # juxtaposition: 2x, (x+1)(x-1), x^2 sin x (juxtaposition.py)
    bare       = FUNCTION [ "^" unary ] product           # sin 2x, sin^2 x (bare_functions.py)
    unary      = ( "-" | "+" | "~" ) unary | power
    power      = root [ ( "**" | "^" ) unary | SUPERSCRIPT ]
    root       = ( "√" | "∛" ) root | postfix
    postfix    = atom { "(" arguments ")" | "[" subscripts "]" | "." NAME | "'"... "(" arguments ")" | "°" }
    atom       = NUMBER | NAME | STRING | "(" [ items ] ")" | "[" [ items ] "]" | "|" expression "|"
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
from gradcli.language.infix import expression, infix
from gradcli.language.stacks import Stacks
from gradcli.language.tokens import END, NAME, NUMBER, PRIME, SUPERSCRIPT, SYMBOL, Token, superscript_value
from gradcli.language.tree import Attribute, Binary, Call, Expression, Name, Node, Number
from gradcli.ops.constants import DEGREE
from gradcli.ops.text import BINDING, EXPRESSION, POWER, ROOT


def parsed(source: Source, tokens: list[Token], at: int, stop: int, values: frozenset[str] = frozenset()) -> Expression:
    """tokens[at:stop] as one expression, where some names before brackets are known to be values.

    Raises ParseError, or AmbiguousError for what has two readings.
    """
    stacks = Stacks(source, tokens, at, stop, values)
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
    made = Expression(stacks.values.pop(), stacks.nodes)
    if stacks.implied:
        made.implied = True
    if stacks.notes:
        made.notes = stacks.notes
    if stacks.called:
        made.called, made.source = frozenset(stacks.called), source
        made.span = tokens[1 if at else 0][2], stacks.end[2]
    return made


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
            bracket = closed(stacks, token, stacks.finished())
            if bracket.spaced or bracket.exponent is not None:
                from gradcli.language.bare_functions import refuse_after_call

                refuse_after_call(stacks, bracket)
            return False
        if text == ",":
            comma(stacks, token)
            return True
        if text == ".":
            return attribute(stacks, token)
        if text == "|":
            return bars(stacks, token)
        if text == "°":
            return degrees(stacks, token)
        if text == ":" and inside(stacks, SUBSCRIPTS):
            colon(stacks, token, stacks.finished())
            return True
        if text == "=":
            words = [before.text for before in stacks.tokens[: stacks.at - 1] if before.kind == NAME]
            declared = len(words) == stacks.at - 1 == 2  # let y = 2, var y = 2
            help = f"leave '{words[0]}' out" if declared else "write x == y to compare"
            stacks.fail("'=' can only follow a name at the start of a statement", token.span, help)
    elif kind == NAME and text in ("if", "else"):
        expression(stacks, token)
        return True
    elif kind == SUPERSCRIPT:
        return power(stacks, token)
    elif kind == PRIME:
        return primes(stacks, token)
    return product(stacks, token)


def product(stacks: Stacks, token: Token) -> bool:
    """product = unary { power }: what begins a value after another."""
    from gradcli.language.juxtaposition import product

    product(stacks, token)
    return True


def bars(stacks: Stacks, token: Token) -> bool:
    """atom = "|" expression "|", mask = masked { "|" masked }: a bar after a value."""
    from gradcli.language.bars import bar

    return bar(stacks, token)


def degrees(stacks: Stacks, token: Token) -> bool:
    """postfix = atom "°"."""
    factor = stacks.node(Number(DEGREE, token.start, token.start + 1))
    stacks.push(Binary("*", stacks.values.pop(), factor))
    stacks.implied = True
    return False


def arguments(stacks: Stacks, token: Token) -> bool:
    """postfix = atom "(" arguments ")", after a name, an attribute or what a constructor makes; after another value, a product."""
    before, last = stacks.values[-1], stacks.tokens[stacks.at - 2]
    if not (isinstance(before, (Name, Attribute)) if last.kind == NAME else last.text == ")" and is_made(before)):
        return product(stacks, token)
    spaced = False
    if type(before) is Name:
        if stacks.applied or (stacks.operators and stacks.operators[-1][0] >= POWER) or token[2] != before.end:
            from gradcli.language.juxtaposition import called
            from gradcli.ops.calling import textbook

            if called(stacks, token, before):
                return True
            spaced = token[2] != before.end and textbook.is_bare(before.name)
        stacks.called.add(before.name)
    opened(stacks, ARGUMENTS, token, stacks.values.pop())
    if spaced:
        stacks.brackets[-1].spaced = True
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
    opened(stacks, ARGUMENTS, opener, stacks.values.pop(), len(token.text) + token.text.count("″"))
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
    from gradcli.language.bare_functions import is_bare, with_exponent
    from gradcli.language.readings import begins_value

    exponent = stacks.node(Number(superscript_value(token.text), token.start, token.start + len(token.text)))
    after = stacks.peek()
    if is_bare(stacks) and (begins_value(after) or after.text == "|"):
        stacks.at += 1
        with_exponent(stacks, after, exponent)
        return True
    if stacks.has_operators() and stacks.operators[-1][0] == ROOT:
        from gradcli.language.juxtaposition import refuse_root_power

        raise refuse_root_power(stacks, token)
    stacks.push(Binary("**", stacks.values.pop(), exponent))
    return False
