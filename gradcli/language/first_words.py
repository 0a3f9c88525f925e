"""Statements that begin as Python's do: refused in its words, taken for nothing, or read without what changes nothing.

``return y``, ``print(y)``, ``x: float = 2.0``, ``x.requires_grad_()``, ``y.backward()``, ``for i in range(3):`` with its block.
"""

from __future__ import annotations

from collections.abc import Sequence

from gradcli.errors import ParseError, Source, Span
from gradcli.language.foreign import explained, explained_text
from gradcli.language.foreign_words import BRANCH, OPENING, STOPS, Piece, Words, closes, formatted, refused_as
from gradcli.language.tokens import END, NAME, STRING, SYMBOL, Token, tokenize
from gradcli.ops.calling.prefixes import ROOTS
from gradcli.ops.fixed import Fixed

_IN_PLACE = {
    "zero_": "zeros_like({0})",
    "fill_": "full_like({0}, {1})",
    "copy_": "{1}",
    "requires_grad_": "detach({0})",
}  # what is not called so without the _
_OF_NUMPY = frozenset({"ix_", "c_", "r_", "s_"})


class Reading(Fixed):
    """What a statement is that begins as Python's do: refused, nothing, other tokens, or (none of these) a statement like any other."""

    error: ParseError | None = None
    nothing: bool = False
    tokens: list[Token] | None = None


_USUAL, _NOTHING = Reading(), Reading(nothing=True)


def reading(source: Source, tokens: Sequence[Token], start: int, stop: int) -> Reading:
    """How a statement is read that begins with a word of Python's, or with a name and a dot or a colon."""
    piece = Piece(source, tokens, start, stop)
    after = piece.token(1)
    if after.text == "." and after.kind == SYMBOL:
        return _of_a_value(piece)
    if after.text == ":" and after.kind == SYMBOL:
        return _annotated(piece)
    if piece.token(0).text == "print":
        return _printed(piece)
    error = _refusal(piece)
    return Reading(error=error) if error is not None else _USUAL


def _of_a_value(piece: Piece) -> Reading:
    """``x.requires_grad_()``, ``x.requires_grad = True``, ``y.backward()``, ``x.add_(1)``, ``x.sort()``."""
    name, method = piece.token(0).text, piece.token(2)
    if name in ROOTS:
        return _USUAL
    third, last = piece.token(3), piece.token(piece.stop - piece.start - 1)
    if method.text == "requires_grad" and third.text == "=" and third.kind == SYMBOL:
        if piece.token(4).text == "True" and piece.token(5).kind == END:
            return _NOTHING
        return Reading(error=refused_as(piece, Words("the language has no attributes to be set", f"write {name} = detach({name})"), method))
    if third.text != "(" or last.text != ")" or closes(list(piece), 3) != piece.stop - piece.start - 1:
        return _USUAL
    inner = piece.text(piece.token(4), piece.token(piece.stop - piece.start - 2)) if piece.stop - piece.start > 5 else ""
    if method.text in ("requires_grad_", "retain_grad") and inner in ("", "True", "requires_grad=True"):
        return _NOTHING
    if method.text.endswith("_") and method.text not in _OF_NUMPY:
        new = _IN_PLACE.get(method.text, "{0}." + method.text[:-1] + "({1})").format(name, inner)
        words = Words(f"'{method.text}' changes a value in place: a value stays as it is", f"write {name} = {new}")
        return Reading(error=refused_as(piece, words, method))
    if method.text == "backward":
        words = Words("there is no backward(): the gradients of a result come with it", f"write {name}")
        return Reading(error=refused_as(piece, words, method))
    if method.text == "zero_grad":
        return Reading(error=refused_as(piece, Words("gradients do not add up here: there is nothing to clear", "leave it out"), method))
    if method.text == "sort" and (not inner or piece.token(5).text == "="):
        words = Words(f"{name}.sort() is a sorted copy in PyTorch, and sorts in place in NumPy", f"write sort({name})")
        return Reading(error=refused_as(piece, words, method))
    return _USUAL


def _annotated(piece: Piece) -> Reading:
    """``x: float = 2.0`` without its type."""
    depth = 0
    for place, token in enumerate(piece):
        if token.kind != SYMBOL:
            continue
        depth += (token.text in ("(", "[")) - (token.text in (")", "]"))
        if place > 1 and depth == 0 and token.text == "=" and place != 2:
            if all(t.kind in (NAME, STRING) or t.text in (".", "[", "]", ",", "...") for t in list(piece)[2:place]):
                return Reading(tokens=[piece.token(0), *list(piece)[place:], Token(END, "", piece.end)])
            return _USUAL
    return _USUAL


def _printed(piece: Piece) -> Reading:
    """``print(y)`` is y."""
    length = piece.stop - piece.start
    if piece.token(1).text != "(" or closes(list(piece), 1) != length - 1:
        return _USUAL
    inner = list(piece)[2:-1]
    if not inner:
        return Reading(error=refused_as(piece, Words("there is nothing to print", "leave it out"), piece.token(0)))
    depth = 0
    for token in inner:
        depth += (token.text in ("(", "[")) - (token.text in (")", "]"))
        if depth == 0 and token.kind == SYMBOL and token.text in (",", "="):
            return Reading(error=refused_as(piece, Words("print takes one value here", "write print(y) for each"), piece.token(0)))
    found = formatted(Piece(piece.source, piece.tokens, piece.start + 2, piece.stop - 1))
    if found is not None or any(token.kind == STRING for token in inner[:1]):
        error = found or refused_as(piece, Words("a string is no value", "write the value alone: print(y)"), inner[0])
        return Reading(error=error)
    return Reading(tokens=[*inner, Token(END, "", inner[-1].start + len(inner[-1].text))])


def refused(source: Source) -> ParseError:
    """The error of a block of statements, or of what Python printed."""
    start = len(source.text) - len(source.text.lstrip())
    line = source.text.find("\n", start)
    end = len(source.text) if line < 0 else line
    if type(source).__name__ == "Output":
        return ParseError(
            "a line without a prompt in a session is what Python printed", span=Span(start, max(end, start + 1)), source=source,
            help="leave it out",
        )  # fmt: skip
    try:
        tokens = tokenize(Source(source.text, source.name, source.first_line))
    except ParseError as error:
        return explained_text(source, error)
    piece = Piece(source, tokens, 0, len(tokens) - 1)
    found = _refusal(piece)
    return found if found is not None else explained(source, tokens, 0, len(tokens) - 1, refused_as(piece, BRANCH, tokens[0]))


def _refusal(piece: Piece) -> ParseError | None:
    """The error of a statement whose first word is Python's; None where that is a name like any other."""
    first, after = piece.token(0), piece.token(1)
    glued = after.start == first.start + len(first.text)
    if (after.kind == SYMBOL and after.text in STOPS) or (after.kind == SYMBOL and after.text == "(" and glued):
        return None
    if after.kind == END and first.text not in ("return", "pass", "break", "continue", "yield", "try", "else"):
        return None
    if after.kind == SYMBOL and after.text in ("-", "[", "(") and first.text not in ("return", "yield", "if", "while", "with"):
        return None
    if first.text == "def":
        return _definition(piece)
    if first.text == "return":
        return _returned(piece)
    words = OPENING[first.text]
    return refused_as(piece, words, first)


def _definition(piece: Piece) -> ParseError:
    """``def f(x): return x**2`` as ``f(x) = x**2``."""
    name = piece.token(1).text if piece.token(1).kind == NAME else "f"
    parameters, place = [], 3
    while (token := piece.token(place)).kind == NAME:
        parameters.append(token.text)
        place += 1
        while piece.token(place).text not in (",", ")") and piece.token(place).kind != END:
            place += 1  # an annotation, or a default
        place += 1
    head = f"{name}({', '.join(parameters or ['x'])})"
    tokens = list(piece)
    usual = refused_as(piece, Words("the language has no 'def'", "write f(x) = x**2 for a function"), piece.token(0))
    returns = [at for at, token in enumerate(tokens) if token.kind == NAME and token.text == "return"]
    if len(returns) == 1 and returns[0] + 1 < len(tokens) and tokens[returns[0] - 1].text == ":":
        written = piece.text(tokens[returns[0] + 1], tokens[-1])
        if written != "...":
            error = refused_as(piece, Words("the language has no 'def'", f"write {head} = {written}"), piece.token(0))
            error.instead = usual.help
            return error
    return usual


def _returned(piece: Piece) -> ParseError:
    tokens = list(piece)
    value = piece.text(tokens[1], tokens[-1]) if len(tokens) > 1 else "..."
    help = f"write {value}" if value != "..." and "," not in value else "write the value alone: y"
    return refused_as(piece, Words("the language has no 'return': an expression alone is the result", help), tokens[0])
