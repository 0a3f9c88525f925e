"""Expressions made by the grammar: typed by shapes, right most of the time, over values of every
kind that floats have.
"""

from __future__ import annotations

import re
from random import Random
from typing import Any

from fuzz import WORDS

SHAPES: dict[str, tuple[int, ...]] = {
    "x": (), "y": (), "z": (), "v": (3,), "w": (3,), "m": (2, 3), "p": (2, 3), "s": (3, 3), "e": (0,), "o": (1,), "t": (2, 2, 3),
}  # fmt: skip
_WORD = re.compile(r"[a-z]\w*")
_EDGES = WORDS["edges"]
_UNARY = WORDS["functions of one"]
_BINARY = WORDS["functions of two"]
_REDUCING = WORDS["reductions"]
_ALONG = WORDS["functions along an axis"]
_OPERATORS = ["+", "-", "*", "/", "**", "*", "+"]


def number(rng: Random) -> float:
    """A number: plain most of the time, at an edge of floats sometimes."""
    return (
        rng.choice(_EDGES)
        if rng.random() < 0.25
        else round(rng.uniform(-3, 3), rng.choice((1, 3, 15)))
    )


def written(value: float) -> Any:
    """A number as records have it: what JSON has no word for is a text."""
    return value if value == value and abs(value) != float("inf") else str(value)


def array(rng: Random, shape: tuple[int, ...]) -> Any:
    if not shape:
        return written(number(rng))
    return [array(rng, shape[1:]) for _ in range(shape[0])]


def bindings(rng: Random, text: str) -> dict[str, Any]:
    """Values for the names of a text; one of them missing now and then."""
    words = set(_WORD.findall(text))
    names = [name for name in SHAPES if name in words]
    if names and rng.random() < 0.02:
        names.remove(rng.choice(names))
    return {name: array(rng, SHAPES[name]) for name in names}


def expression(rng: Random, shape: tuple[int, ...] = (), depth: int = 3) -> str:
    """An expression of a shape; of another one now and then."""
    if rng.random() < 0.03:
        shape = rng.choice(list(SHAPES.values()))
    if depth <= 0 or rng.random() < 0.15:
        names = [name for name, of in SHAPES.items() if of == shape]
        return rng.choice(names) if names and rng.random() < 0.85 else _literal(rng)
    choice = rng.random()
    if choice < 0.35:
        operator = rng.choice(_OPERATORS)
        right = (
            rng.choice(("2", "0.5", "-1", "3", "x"))
            if operator == "**"
            else expression(rng, rng.choice((shape, ())), depth - 1)
        )
        return f"({expression(rng, shape, depth - 1)} {operator} {right})"
    if choice < 0.55:
        return f"{rng.choice(_UNARY)}({expression(rng, shape, depth - 1)})"
    if choice < 0.65:
        return rng.choice(_BINARY).format(
            expression(rng, shape, depth - 1), expression(rng, shape, depth - 1)
        )
    if choice < 0.70:
        relation = (
            f"{expression(rng, shape, depth - 1)} {rng.choice('<>')} "
            f"{expression(rng, (), depth - 1)}"
        )
        return (
            f"where({relation}, {expression(rng, shape, depth - 1)}, "
            f"{expression(rng, shape, depth - 1)})"
        )
    if choice < 0.73:
        return f"-{expression(rng, shape, depth - 1)}"
    return _of_shape(rng, shape, depth)


def _of_shape(rng: Random, shape: tuple[int, ...], depth: int) -> str:
    """What reduces, moves and multiplies, so that the result has a shape."""
    if not shape:
        inner = rng.choice([of for of in SHAPES.values() if of])
        if rng.random() < 0.2:
            return f"{expression(rng, (3,), depth - 1)} @ {expression(rng, (3,), depth - 1)}"
        if rng.random() < 0.15:
            return f"{rng.choice(('det', 'trace', 'logdet'))}({expression(rng, (3, 3), depth - 1)})"
        return rng.choice(_REDUCING).format(expression(rng, inner, depth - 1))
    if shape == (3,) and rng.random() < 0.5:
        part = rng.choice(
            ("{}[0]", "sum({}, 0)", "mean({}, axis=0)", "diag({})", "max({}, 0)", "{} @ v")
        )
        return part.format(f"({expression(rng, (3, 3), depth - 1)})")
    if shape == (3, 3) and rng.random() < 0.5:
        whole = rng.choice(
            (
                "{}.T",
                "{} @ s",
                "outer(v, {}[0])",
                "inv({})",
                "expm({})",
                "cholesky({0} @ {0}.T)",
                "{}[:, ::-1]",
            )
        )
        return whole.format(f"({expression(rng, shape, depth - 1)})")
    return rng.choice(_ALONG).format(expression(rng, shape, depth - 1))


def _literal(rng: Random) -> str:
    value = number(rng)
    return {"nan": "nan", "inf": "inf", "-inf": "(-inf)"}.get(str(value)) or (
        f"({value!r})" if value < 0 else repr(value)
    )


def program(rng: Random) -> str:
    """Several statements: bindings, functions, asserts, queries."""
    lines = []
    for i in range(rng.randrange(1, 5)):
        kind = rng.random()
        text = expression(rng, (), rng.randrange(1, 4))
        if kind < 0.35:
            lines.append(f"a{i} = {text}")
        elif kind < 0.55:
            lines.append(f"f{i}(x, y) = {text}")
            lines.append(
                f"{rng.choice(('', 'grad', 'hessian'))}(f{i})(x, y)"
                if rng.random() < 0.3
                else f"f{i}(x + 1, y)"
            )
        elif kind < 0.65:
            lines.append(f"assert {text} {rng.choice(('<', '>=', '=='))} {expression(rng, (), 1)}")
        elif kind < 0.7:
            lines.append(f"# {text}")
        else:
            lines.append(text)
    lines.append(expression(rng, (), 2))
    return rng.choice(("\n", "\n", "; ")).join(lines)
