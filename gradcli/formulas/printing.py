"""A graph back as text of the language: what is printed parses to the same graph."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Any

import numpy as np

from gradcli.graph.nodes import Expr, reachable
from gradcli.ops.arrays.shapes import StaticArray
from gradcli.ops.constants import Constant

_OR, _AND, _NOT, _COMPARISON, _SUM, _TERM, _UNARY, _POWER, _ATOM = range(9)
_INFIX = {
    "add": ("+", _SUM), "sub": ("-", _SUM), "mul": ("*", _TERM), "chain": ("*", _TERM), "div": ("/", _TERM),
    "floor_divide": ("//", _TERM), "remainder": ("%", _TERM), "matmul": ("@", _TERM), "pow": ("**", _POWER),
    "equal": ("==", _COMPARISON), "not_equal": ("!=", _COMPARISON), "less": ("<", _COMPARISON),
    "less_equal": ("<=", _COMPARISON), "greater": (">", _COMPARISON), "greater_equal": (">=", _COMPARISON),
    "logical_and": ("and", _AND), "logical_or": ("or", _OR),
}  # fmt: skip
_TRANSPARENT = frozenset({"alias", "derivative", "to_float"})
_LARGEST_ARRAY = 64

Piece = tuple[str, int]


class Unprintable(Exception):
    """Something has no short form in the language."""


def formula(root: Expr, *, limit: int | None = None, names: Mapping[Expr, str] | None = None, taken: Collection[str] = ()) -> str | None:
    """The text of a node, or None where the language has none of at most ``limit`` nodes.

    names   texts of nodes that are called by a name
    taken   names bound in the program, which no longer mean constants or operations
    """
    order = reachable([root])
    if limit is not None and _tree_size(order) > limit:
        return None
    pieces: dict[Expr, Piece] = {}
    try:
        for node in order:
            if names and node in names:
                pieces[node] = names[node], _ATOM
            elif node.op is None:
                pieces[node] = _terminal(node, taken)
            else:
                pieces[node] = _operation(node, pieces, taken)
    except Unprintable:
        return None
    return pieces[root][0]


def _tree_size(order: list[Expr]) -> int:
    """How many nodes are printed, shared ones each time; computed without printing them."""
    sizes: dict[Expr, int] = {}
    for node in order:
        sizes[node] = 1 + sum(sizes[o] for o in node.operands if o is not None)
    return sizes[order[-1]]


def number(value: Any) -> Piece:
    """A number as a literal: shortest round-trip."""
    if isinstance(value, bool):
        return str(value), _ATOM
    text = repr(value) if isinstance(value, int) else repr(float(value))
    return text, _UNARY if text.startswith("-") else _ATOM


def _terminal(node: Expr, taken: Collection[str]) -> Piece:
    payload = node.payload
    if node.is_leaf:
        return payload.name, _ATOM
    if isinstance(payload, Constant):
        if payload.text in taken:
            return number(float(payload))
        return payload.text, _ATOM
    if isinstance(payload, np.ndarray):
        if (
            payload.ndim == 2
            and payload.shape[0] == payload.shape[1] > 1
            and "eye" not in taken
            and (payload == np.eye(len(payload))).all()
        ):
            return f"eye({len(payload)})", _ATOM
        if payload.size > _LARGEST_ARRAY or 0 in payload.shape:
            raise Unprintable
        return _nested(payload.tolist()), _ATOM
    return number(payload)


def _nested(value: Any) -> str:
    return "[" + ", ".join(_nested(v) for v in value) + "]" if isinstance(value, list) else number(value)[0]


def _wrapped(piece: Piece, tightness: int) -> str:
    return piece[0] if piece[1] >= tightness else f"({piece[0]})"


def _operation(node: Expr, pieces: Mapping[Expr, Piece], taken: Collection[str]) -> Piece:
    op = node.op
    assert op is not None
    operands = [None if o is None else pieces[o] for o in node.operands]
    if op.name in _TRANSPARENT:
        assert operands[0] is not None
        return operands[0]
    infix = _INFIX.get(op.name)
    if infix is not None:
        symbol, tightness = infix
        left, right = operands
        assert left is not None
        assert right is not None
        if symbol == "**":
            return f"{_wrapped(left, _ATOM)}**{_wrapped(right, _UNARY)}", _POWER
        join = symbol if tightness == _TERM and symbol != "@" else f" {symbol} "
        side = tightness + 1 if tightness == _COMPARISON else tightness
        return f"{_wrapped(left, side)}{join}{_wrapped(right, tightness + 1)}", tightness
    if op.name == "neg":
        assert operands[0] is not None
        return f"-{_wrapped(operands[0], _POWER)}", _UNARY
    if op.name == "logical_not":
        assert operands[0] is not None
        return f"not {_wrapped(operands[0], _NOT)}", _NOT
    template = _WRITTEN_OUT.get((op.name, *node.static.values()))
    if template is not None:
        texts = dict(zip("xy", (p[0] for p in operands if p), strict=False))
        return template.format(**texts, X=_wrapped(operands[0] or ("", _ATOM), _ATOM)), _ATOM
    special = _SPECIAL.get(op.name)
    if special is not None:
        return special(node, [p for p in operands if p is not None]), _ATOM
    if not op.public or op.name in taken:
        raise Unprintable
    return _call(node, operands), _ATOM


def _call(node: Expr, operands: list[Piece | None]) -> str:
    op = node.op
    assert op is not None
    parts = ["[" + ", ".join(p[0] for p in operands if p) + "]"] if op.variadic else []
    if not op.variadic:
        last = max((i for i, p in enumerate(operands) if p is not None), default=-1)
        parts += ["None" if p is None else p[0] for p in operands[: last + 1]]
    for key, value in node.static.items():
        if op.static.get(key) != value:
            parts.append(f"{key}={_static(value)}")
    return f"{op.name}({', '.join(parts)})"


def _static(value: Any) -> str:
    if isinstance(value, tuple):
        return "(" + ", ".join(_static(v) for v in value) + ("," if len(value) == 1 else "") + ")"
    if isinstance(value, str):
        return f"'{value}'"
    return str(value) if value is None or isinstance(value, bool) else number(value)[0]


def _getitem(node: Expr, operands: list[Piece]) -> str:
    parts = []
    for part in node.static["index"]:
        if part is None or isinstance(part, int):
            parts.append(str(part))
        elif part is ...:
            parts.append("...")
        elif isinstance(part, tuple):
            start, stop, step = ("" if p is None else str(p) for p in part)
            parts.append(f"{start}:{stop}" + (f":{step}" if step else ""))
        elif isinstance(part, StaticArray) and 0 < part.array.size <= _LARGEST_ARRAY and part.array.ndim:
            parts.append(_nested(part.array.tolist()))
        else:
            raise Unprintable
    base = operands[0]
    text = f"({base[0]})" if base[0][:1].isdigit() else _wrapped(base, _ATOM)
    if node.static["index"] == ():
        raise Unprintable
    return f"{text}[{', '.join(parts)}]"


def _stack(node: Expr, operands: list[Piece]) -> str:
    row = "[" + ", ".join(p[0] for p in operands) + "]"
    axis = node.static["axis"]
    return row if axis == 0 else f"stack({row}, axis={axis})"


def _transpose(node: Expr, operands: list[Piece]) -> str:
    axes = node.static["axes"]
    return f"{_base(operands[0])}.T" if axes is None else f"transpose({operands[0][0]}, {_static(axes)})"


def _swapaxes(node: Expr, operands: list[Piece]) -> str:
    axis1, axis2 = node.static["axis1"], node.static["axis2"]
    return f"{_base(operands[0])}.mT" if (axis1, axis2) == (-1, -2) else f"swapaxes({operands[0][0]}, {axis1}, {axis2})"


def _base(piece: Piece) -> str:
    return f"({piece[0]})" if piece[0][:1].isdigit() else _wrapped(piece, _ATOM)


def _order_first(node: Expr, operands: list[Piece]) -> str:
    assert node.op is not None
    (order,) = node.static.values()
    return f"{node.op.name}({_static(order)}, {operands[0][0]})"


_SPECIAL: dict[str, Callable[[Expr, list[Piece]], str]] = {
    "getitem": _getitem,
    "stack": _stack,
    "transpose": _transpose,
    "swapaxes": _swapaxes,
    "reshape": lambda node, operands: f"reshape({operands[0][0]}, {_static(node.static['shape'])})",
    "broadcast_to": lambda node, operands: f"broadcast_to({operands[0][0]}, {_static(node.static['shape'])})",
    "sum_to_size": lambda node, operands: f"sum_to_size({operands[0][0]}, {_static(node.static['shape'])})",
    "einsum": lambda node, operands: f"einsum('{node.static['subscripts']}', {', '.join(p[0] for p in operands)})",
    **dict.fromkeys(("polygamma", "jv", "yv", "iv", "kv", "expn"), _order_first),
    "output": lambda node, operands: f"{operands[0][0]}[{node.static['place']}]",
}

# Operations without a name in the language, by the values of their static parameters; X is x, in brackets where it needs them.
_WRITTEN_OUT: dict[tuple[Any, ...], str] = {
    ("exp_square", -1.0): "exp(-{X}**2)",
    ("exp_square", 1.0): "exp({X}**2)",
    ("exp_square", -0.5): "exp(-{X}**2/2)",
    ("exp_square", 0.5): "exp({X}**2/2)",
    ("erfcx_integral", 1): "(1/sqrt(pi) - {X}*erfcx({x}))",
    ("i0e_slope", 1): "(i0e({x}) - i1e({x}))",
    ("sine_quotient", 0, False): "sinc({X}/pi)",
    ("sine_quotient", 1, False): "((cos({x}) - sinc({X}/pi))/{X})",
    ("sine_quotient", 1, True): "((cos(pi*{X}) - sinc({x}))/(pi*{X}))",
    ("psi_rise", 0): "(digamma({x} + ({y})) - digamma({x}))",
    ("psi_rise", 1): "(polygamma(1, {x} + ({y})) - polygamma(1, {x}))",
    ("binary_exponent",): "frexp({x})[1]",
    ("hurwitz_zeta",): "zeta({x}, {y})",
}
