"""A graph as a LaTeX formula."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from gradcli.formulas.printing import formula
from gradcli.graph.nodes import Expr, reachable
from gradcli.notation import array, escape, name, number
from gradcli.ops.constants import Constant

_SUM, _TERM, _UNARY, _POWER, _ATOM = range(5)
_NAMED = frozenset(("sin", "cos", "tan", "sec", "csc", "cot", "sinh", "cosh", "tanh", "coth", "exp", "log", "max", "min", "det"))
_RELATIONS = {"equal": "=", "not_equal": "\\ne", "less": "<", "less_equal": "\\le", "greater": ">", "greater_equal": "\\ge"}
_CONSTANTS = {
    "pi": "\\pi", "e": "e", "log(2)": "\\log 2", "log(10)": "\\log 10", "(2/sqrt(pi))": "\\frac{2}{\\sqrt{\\pi}}",
    "sqrt(2)": "\\sqrt{2}", "sqrt(2*pi)": "\\sqrt{2 \\pi}", "sqrt(2/pi)": "\\sqrt{\\frac{2}{\\pi}}", "log(pi)": "\\log \\pi",
    "(sqrt(pi)/2)": "\\frac{\\sqrt{\\pi}}{2}", "(pi/180)": "\\frac{\\pi}{180}", "(180/pi)": "\\frac{180}{\\pi}",
}  # fmt: skip
# Functions with a letter of their own, and operations without a name, by their static parameters; X is x as a factor.
_LETTERS = {"gamma": "\\Gamma", "digamma": "\\psi", "hurwitz_zeta": "\\zeta", "i0": "I_{0}", "i1": "I_{1}", "beta": "\\mathrm{B}"}
_OF_ORDER = {"jv": "J_{%s}", "yv": "Y_{%s}", "iv": "I_{%s}", "kv": "K_{%s}", "expn": "E_{%s}", "polygamma": "\\psi^{(%s)}"}
_WRITTEN_OUT: dict[tuple[Any, ...], str] = {
    ("exp_square", -1.0): r"\exp\left(-%(X)s^{2}\right)",
    ("exp_square", 1.0): r"\exp\left(%(X)s^{2}\right)",
    ("exp_square", -0.5): r"\exp\left(-\frac{%(X)s^{2}}{2}\right)",
    ("exp_square", 0.5): r"\exp\left(\frac{%(X)s^{2}}{2}\right)",
    ("erfcx_integral", 1): r"\left(\frac{1}{\sqrt{\pi}} - %(X)s \operatorname{erfcx}\left(%(x)s\right)\right)",
    ("i0e_slope", 1): r"\left(\operatorname{i0e}\left(%(x)s\right) - \operatorname{i1e}\left(%(x)s\right)\right)",
    ("sine_quotient", 0, False): r"\frac{\sin\left(%(x)s\right)}{%(x)s}",
    ("sine_quotient", 1, True): r"\frac{\cos\left(\pi %(X)s\right) - \operatorname{sinc}\left(%(x)s\right)}{\pi %(X)s}",
    ("psi_rise", 0): r"\left(\psi\left(%(x)s + %(y)s\right) - \psi\left(%(x)s\right)\right)",
}

Piece = tuple[str, int]


def latex(root: Expr, names: Mapping[Expr, str] | None = None) -> str:
    """The formula of a node; ``names`` gives texts of leaves that are not called by their own name."""
    pieces: dict[Expr, Piece] = {}
    for node in reachable([root]):
        label = (names or {}).get(node)
        if label is not None:
            pieces[node] = name(label) if label.isidentifier() else f"\\mathtt{{{escape(label)}}}", _ATOM
        elif node.op is None:
            pieces[node] = _terminal(node)
        else:
            pieces[node] = _operation(node, [None if o is None else pieces[o] for o in node.operands])
    return pieces[root][0]


def _terminal(node: Expr) -> Piece:
    payload = node.payload
    if node.is_leaf:
        return name(payload.name), _ATOM
    if isinstance(payload, Constant):
        return _CONSTANTS.get(payload.text, number(float(payload))), _ATOM
    if isinstance(payload, np.ndarray):
        return array(payload, None), _ATOM
    text = number(payload)
    return text, _UNARY if text.startswith("-") else _ATOM


def _in(piece: Piece | None, tightness: int) -> str:
    assert piece is not None
    return piece[0] if piece[1] >= tightness else f"\\left({piece[0]}\\right)"


def _operation(node: Expr, operands: list[Any]) -> Piece:
    assert node.op is not None
    op = node.op.name
    x = operands[0]
    y: Any = operands[1] if len(operands) > 1 else None
    if op in ("add", "sub"):
        return f"{_in(x, _SUM)} {'+' if op == 'add' else '-'} {_in(y, _SUM if op == 'add' else _TERM)}", _SUM
    if op in ("mul", "chain", "matmul"):
        dot = " \\cdot " if op != "matmul" and _in(y, _POWER)[:1].isdigit() else " "
        return f"{_in(x, _TERM)}{dot}{_in(y, _POWER)}", _TERM
    if op == "div":
        return f"\\frac{{{x[0]}}}{{{y[0]}}}", _POWER
    if op == "pow":
        return f"{_in(x, _ATOM)}^{{{y[0]}}}", _POWER
    if op == "neg":
        return f"-{_in(x, _TERM)}", _UNARY
    if op == "sqrt":
        return f"\\sqrt{{{x[0]}}}", _ATOM
    if op == "abs":
        return f"\\left|{x[0]}\\right|", _ATOM
    if op in _RELATIONS:
        return f"{x[0]} {_RELATIONS[op]} {y[0]}", _SUM
    if op == "where":
        return f"\\begin{{cases}} {y[0]} & \\text{{if }} {x[0]} \\\\ {operands[2][0]} & \\text{{else}} \\end{{cases}}", _ATOM
    if op == "transpose" and node.static["axes"] is None:
        return f"{_in(x, _ATOM)}^{{\\mathsf T}}", _POWER
    if op == "inv":
        return f"{_in(x, _ATOM)}^{{-1}}", _POWER
    if op in ("alias", "derivative", "to_float"):
        transparent: Piece = x
        return transparent
    if op == "getitem":
        text = formula(node)
        inside = text[text.index("[") + 1 : -1] if text and "[" in text else "\\cdot"
        return f"{_in(x, _ATOM)}_{{{inside}}}", _ATOM
    written = _WRITTEN_OUT.get((op, *node.static.values()))
    if written is not None:
        return written % {"x": x[0], "X": _in(x, _ATOM), "y": y and y[0]}, _ATOM
    inside = ", ".join(piece[0] for piece in operands if piece is not None)
    shown = _LETTERS.get(op) or (f"\\{op}" if op in _NAMED else f"\\operatorname{{{escape(op)}}}")
    if op in _OF_ORDER:
        shown = _OF_ORDER[op] % number(*node.static.values())
    return f"{shown}\\left({inside}\\right)", _ATOM
