"""Why a number is what it is: which entry is meant, what kind of story it has, and who tells it."""

from __future__ import annotations

import ast
import re
from typing import Any

import numpy as np

from gradcli.characters import normalized
from gradcli.errors import UsageError, suggestion
from gradcli.explanations.entries import Entries, entry_text
from gradcli.explanations.why_nonfinite import nonfinite_gradient, nonfinite_value
from gradcli.explanations.why_sizes import imprecise, sized_gradient, sized_value
from gradcli.explanations.why_zero import zero_gradient, zero_value
from gradcli.report.explanation import Explanation, Why

VALUE = "value"
_WORD = re.compile(r"[^\W\d]\w*")
_TARGET = re.compile(r"\s*([^\W\d]\w*)\s*(\[[^\]]*\])?\s*\Z")


def why(explanation: Explanation, target: str) -> Why:
    """The story of an entry of a gradient, or of the result: ``x``, ``x[2]``, ``w[0, 1]``, ``value``. Raises UsageError.

    Of an array without an index it is an entry that asks for one: one that is not finite, or zero, or else the largest.
    """
    match = _TARGET.match(normalized(target))
    if match is None:
        raise UsageError(f"--why takes a name, NAME[INDEX] or value, not '{target}'", help="write --why x, --why 'x[2]' or --why value")
    name, index_text = match.groups()
    if name == VALUE and VALUE not in explanation.gradients:
        whole = np.asarray(explanation.record.value)
        index = _index(index_text, whole, target)
        told = _of_value(explanation, index, whole[index])
    else:
        told = _of_gradient(explanation, name, index_text, target)
    told.index = told.index or ()
    return told


def _of_value(explanation: Explanation, index: tuple[int, ...], number: Any) -> Why:
    entries = Entries(explanation, VALUE, explanation.result, index)
    if not np.isfinite(number):
        return nonfinite_value(entries)
    if number == 0:
        return zero_value(entries)
    return imprecise(entries, number) or sized_value(entries, number)


def _of_gradient(explanation: Explanation, name: str, index_text: str | None, target: str) -> Why:
    node = next((each for each in explanation.nodes if each.name == name), None)
    gradient = explanation.gradients.get(name)
    if gradient is None:
        if node is not None:
            return _not_asked(explanation, name, node.id)
        known = [*explanation.gradients, VALUE]
        close = suggestion(name, known)
        help = f"did you mean '{close}'?" if close else f"there are {', '.join(known[:20])}"
        raise UsageError(f"'{name}' has no gradient here", help=help)
    whole = np.asarray(gradient.value)
    index = _index(index_text, whole, target)
    number = whole[index]
    if node is None:  # it does not stand in the result
        mentioned = name in _WORD.findall(explanation.record.expr)
        reason = "nothing in the result depends on it" if mentioned else f"the expression does not contain {name}"
        text = f"{entry_text(name, index)} has gradient 0: {reason}"
        return Why(entry_text(name, index), "zero", [text], index=index)
    entries = Entries(explanation, name, node.id, index)
    if not np.isfinite(number):
        return nonfinite_gradient(entries, number)
    if number == 0:
        return zero_gradient(entries)
    return imprecise(entries, number) or sized_gradient(entries, number)


def _not_asked(explanation: Explanation, name: str, id: int) -> Why:
    """Of a name that is held: it has no gradient by intention."""
    node = explanation.node(id)
    if node.op == "frozen":
        reason = f"{name} is frozen: it is held constant by const, --freeze or --wrt, and no gradient flows to it"
    elif node.kind != "float":
        reason = f"{name} is {'true or false' if node.kind == 'bool' else 'a whole number'}, which has no gradient"
    else:
        reason = f"{name} is a part of the expression and not asked for: its adjoint is {explanation.node(id).adjoint}"
    return Why(name, "zero" if node.op == "frozen" or node.kind != "float" else "plain", [reason], node=id)


def _index(text: str | None, whole: np.ndarray, target: str) -> tuple[int, ...]:
    """The entry that is meant. Raises UsageError."""
    if text is None or not text.strip("[] "):
        return _telling(whole)
    try:
        read = ast.literal_eval(f"({text[1:-1]},)")
        index = tuple(int(part) for part in read if type(part) is int)
        if len(index) != len(read) or len(index) != whole.ndim:
            raise ValueError
        whole[index]
    except (ValueError, SyntaxError, IndexError):
        shape = f"of shape {whole.shape}" if whole.ndim else "a number"
        raise UsageError(f"'{target}' is no entry: the gradient is {shape}", help="indices count from 0, one for each axis") from None
    return tuple(part % n for part, n in zip(index, whole.shape, strict=True))


def _telling(whole: np.ndarray) -> tuple[int, ...]:
    """The entry that asks for a story most."""
    if not whole.size:
        raise UsageError("it has no entries, and so nothing to tell")
    with np.errstate(all="ignore"):
        for asks in (~np.isfinite(whole), whole == 0, np.abs(whole) == np.abs(whole).max()):
            if asks.any():
                return tuple(int(i) for i in np.argwhere(asks)[0])
    return (0,) * whole.ndim
