"""What stands in a text for the nodes of a graph: their own texts, functions that they are inside of, calls they belong to."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from gradcli.errors import GradcliError, Source, Span
from gradcli.graph.nodes import Expr
from gradcli.language.frames import Frame
from gradcli.language.origins import Origin, nodes_in
from gradcli.language.program_text import ProgramText, moved
from gradcli.language.rereading import as_read
from gradcli.language.rewritten import rewritten
from gradcli.language.run import statements
from gradcli.language.scope import Scope
from gradcli.language.tree import Expression, Name, Number, Query

_SHORT = 200  # characters of a text that is always kept
_ROOM = 1 << 20  # those of all longer ones together: each term of a long sum has all before it in its text

_Group = tuple[int, int, int]  # a call: of which text, from where to where


class Place(NamedTuple):
    """What is known of a node from the text.

    text, span, spelling  of the smallest part of the text that is the node; None inside of a built-in function. Of many long
                          texts only the spans are known
    function, root        the outermost built-in function that it was expanded from, and the node that is its result
    call                  the span of the call, for a node of a user's function
    statement             the line of the text, from 0
    """

    text: str | None = None
    span: tuple[int, int] | None = None
    spelling: str | None = None
    function: str | None = None
    root: Expr | None = None
    call: tuple[int, int] | None = None
    statement: int | None = None


NOWHERE = Place()


def places(scope: Scope, order: Sequence[Expr], text: ProgramText) -> dict[Expr, Place]:
    """Where the nodes of a query come from, those that come from its text at all."""
    origins = scope.origins()
    chosen = {node: _chosen(node, origins[node]) for node in order if node in origins}
    roots = _roots(order, chosen)
    calls = _calls(scope)
    found: dict[Expr, Place] = {}
    room = _ROOM
    for node, origin in chosen.items():
        begin = text.begin_of(origin.source)
        inside = _without_brackets(origin.source.text, origin.span)
        span = moved(inside, begin)
        line = None if span is None else text.line_of(span[0])
        call = calls.get(node)
        called = None if call is None else moved(call[1], text.begin_of(call[0]))
        root = roots.get(_group(origin)) if origin.calls else None
        if root is node and not _is_result(node, origin):
            continue  # of another query's call, whose result is not in this one
        function = origin.calls[0] if origin.calls else None
        if root is None or root is node:
            written = None
            length = inside.end - inside.start
            if length <= _SHORT or length <= room:
                written = _own_text(origin, origin.source.text[inside.start : inside.end], scope)
                room -= 0 if length <= _SHORT else length
            found[node] = Place(written, span, origin.spelling, function, node if root is node else None, called, line)
        else:
            found[node] = Place(None, None, None, function, root, called, line)
    return found


def _own_text(origin: Origin, written: str, scope: Scope) -> str:
    """Return the text of a node: as it is written, if that is the node where it stands alone, or else in the language's own spelling.

    No part of ``sin^2(3x)`` says ``sin(3*x)``, and no exponent is written ``²``.
    """
    if origin.tree is None or origin.frame is None:
        return written
    if not (origin.frame.expression.implied or "=" in written or not written.isascii()):
        return written
    meant = rewritten(Expression(origin.tree, []), scope.functions)
    return written if _alone(written, origin.frame, scope) == meant else meant


def _alone(text: str, frame: Frame, scope: Scope) -> str | None:
    """Return how a text is read that stands alone; None if it is no expression."""
    found = list(statements([text], None, scope.limits))
    if len(found) != 1 or not isinstance(found[0], Query):
        return None
    try:
        return rewritten(as_read(found[0].expression, scope, frame.locals), scope.functions)
    except GradcliError:
        return None


def _without_brackets(text: str, span: Span) -> Span:
    """What stands in the brackets around a part of a text, which are not its own."""
    begin, end = span
    while end - begin > 2 and text[begin] == "(" and text[end - 1] == ")" and _closing(text, begin, end) == end - 1:
        begin, end = begin + 1, end - 1
        while text[begin].isspace():
            begin += 1
        while text[end - 1].isspace():
            end -= 1
    return Span(begin, end)


def _closing(text: str, begin: int, end: int) -> int:
    """Where the bracket closes that opens at the beginning."""
    depth = 0
    for place in range(begin, end):
        depth += (text[place] == "(") - (text[place] == ")")
        if not depth:
            return place
    return end


def _chosen(node: Expr, all_: Iterable[Origin]) -> Origin:
    """The origin that a node is called by: its own text rather than a function's that it is inside of; a name by itself."""
    listed = list(all_)
    own = [origin for origin in listed if not origin.calls] or listed
    if node.is_leaf:
        own = [origin for origin in own if origin.spelling == node.payload.name] or own
    return own[0]


def _group(origin: Origin) -> _Group:
    return id(origin.source), origin.span.start, origin.span.end


def _roots(order: Sequence[Expr], chosen: Mapping[Expr, Origin]) -> dict[_Group, Expr]:
    """The result of each call of a built-in function: of the nodes that it was expanded to, the one that was made last."""
    found: dict[_Group, Expr] = {}
    for node in order:
        origin = chosen.get(node)
        if origin is not None and origin.calls:
            found[_group(origin)] = node
    return found


def _is_result(node: Expr, origin: Origin) -> bool:
    """Tell whether a node is what the call gave that it was expanded from."""
    if origin.tree is None or origin.frame is None:
        return True
    return node in {*nodes_in(origin.frame.results[origin.tree.place])}


def _calls(scope: Scope) -> dict[Expr, tuple[Source, Span]]:
    """The calls of a user's functions by the nodes of their bodies: where each is written."""
    called: dict[Expr, tuple[Source, Span]] = {}
    for frame in scope.lowered:
        if frame.call is not None:
            caller, call = frame.call
            for tree, result in zip(frame.nodes, frame.results, strict=False):  # fewer results where lowering failed
                if isinstance(result, Expr) and not isinstance(tree, (Name, Number)):
                    called.setdefault(result, (caller.source, call.span))
    return called
