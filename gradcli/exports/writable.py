"""What is exported to languages without arrays: operations that loops can do, as far as the language has their functions."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from gradcli.errors import UnsupportedInTargetError
from gradcli.exports.loops import moves
from gradcli.exports.statements import OPERATORS, in_words
from gradcli.exports.subject import Subject, lacking, writable
from gradcli.graph.nodes import Expr, reachable
from gradcli.ops.spec import Op

_CALL = re.compile(r"\bg_(\w+)")


def loopable(subject: Subject, target: str, known: Mapping[str, str]) -> Subject:
    """A subject of operations that loops can do. Raises UnsupportedInTargetError for others, or without the functions in a language."""

    def writes(op: Op, node: Expr, operands: Sequence[Any]) -> bool:
        if not op.elementwise:
            return op.loops.axes is not None or moves(node) is not None
        if (op.text.infix in OPERATORS and op.rewriting.algebra != "chain") or op.text.prefix == "-" or op.rewriting.algebra == "choice":
            return True
        if node.kind == "int":
            return False
        text = in_words(op, [operand is not None for operand in operands], node.static)
        return bool(text) and all(name in known for name in _CALL.findall(text))

    found = writable(subject, target, writes)
    if subject.precision != "float64":
        raise UnsupportedInTargetError(f"exports to {target} compute in float64", help="leave --dtype out")
    wrong = {
        node.op.name: node.op
        for node in reachable(found.roots)
        if node.op is not None and not node.op.elementwise and node.op.loops.axes is None and moves(node) is None
    }
    if wrong:
        raise lacking(target, list(wrong.values()), subject)
    return found
