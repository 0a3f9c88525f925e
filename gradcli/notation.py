"""LaTeX of names, numbers and arrays, for formulas and for results alike, and LaTeX of ours as MathML,
which browsers draw.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from typing import Any

import numpy as np

from gradcli.inert import latex_text, xml_text
from gradcli.spelling import words

_LARGEST = 100  # entries of an array that is written out

GREEK = words("""
    alpha beta gamma delta epsilon zeta eta theta iota kappa lambda mu nu xi pi rho sigma tau
    upsilon phi chi psi omega
""")
_CAPITALS = words("Gamma Delta Theta Lambda Xi Pi Sigma Upsilon Phi Psi Omega")


def name(text: str) -> str:
    """A variable's name:

    Greek letters by name, digits and what follows an underscore as an index.
    """
    stem, _, index = text.partition("_")
    if not index:
        stem = text.rstrip("0123456789")
        index = text[len(stem) :]
    if not stem:  # it begins with an underscore
        stem, index = text, ""
    stem = stem if stem.isascii() or len(stem) > 1 else _spell(stem)
    written = latex_text(stem)
    shown = (
        f"\\{stem}"
        if stem in GREEK or stem in _CAPITALS
        else written
        if len(stem) == 1
        else f"\\mathrm{{{written}}}"
    )
    return f"{shown}_{{{latex_text(index)}}}" if index else shown


def _spell(letter: str) -> str:
    """A Greek letter as LaTeX calls it; any other as it is."""
    *words, last = unicodedata.name(letter, "").split(" ")
    called = (
        last.lower()
        if words == ["GREEK", "SMALL", "LETTER"]
        else last.capitalize()
        if words == ["GREEK", "CAPITAL", "LETTER"]
        else ""
    )
    called = "lambda" if called == "lamda" else "Lambda" if called == "Lamda" else called
    return called if called in GREEK or called in _CAPITALS else letter


def number(value: Any, digits: int | None = None) -> str:
    """A number, powers of ten written out."""
    if isinstance(value, (bool, np.bool_)):
        return f"\\mathrm{{{str(bool(value)).lower()}}}"
    text = str(np.asarray(value)[()]) if digits is None else f"{float(value):.{digits}g}"
    if text in ("inf", "-inf", "nan"):
        return {"inf": "\\infty", "-inf": "-\\infty", "nan": "\\mathrm{NaN}"}[text]
    mantissa, e, exponent = text.partition("e")
    mantissa = mantissa.removesuffix(".0")
    return f"{mantissa} \\cdot 10^{{{int(exponent)}}}" if e else mantissa


def array(value: Any, digits: int | None) -> str:
    """A number, a vector as a column, or a matrix; larger things by their shape."""
    data = np.asarray(value)
    if data.ndim == 0:
        return number(data[()], digits)
    if data.ndim > 2 or data.size > _LARGEST or not data.size:
        return f"\\text{{an array of shape {data.shape}}}"
    rows = data.reshape(len(data), -1)
    body = " \\\\ ".join(" & ".join(number(v, digits) for v in row) for row in rows)
    return f"\\begin{{pmatrix}} {body} \\end{{pmatrix}}"


# -- MathML ---------------------------------------------------------------------------------------

# The innermost group: between braces, or between brackets that grow.
_GROUP = re.compile(
    r"\{((?:(?!\\left\b|[{}]).)*)\}|\\left(\\lbrace|.)((?:(?!\\left\b|[{}]).)*?)\\right(.)"
)
_WORDS = re.compile(r"\\(text|mathrm|mathtt|operatorname)\{((?:\\.|[^{}])*)\}")
_TOKEN = re.compile(r"\\[a-zA-Z]+|\\.|[\d.]+|\S")
_ENVIRONMENTS = {
    "\\begin{cases}": "\\left\\lbrace", "\\end{cases}": "\\right.", "\\begin{pmatrix}": "\\left(", "\\end{pmatrix}": "\\right)",
}  # fmt: skip
_SIGNS = {
    "cdot": "⋅", "le": "≤", "ge": "≥", "ne": "≠", "land": "∧", "lor": "∨", "lnot": "¬", "partial": "∂", "infty": "∞", "times": "×",
    "lbrace": "{", "backslash": "\\",
}  # fmt: skip


def mathml(latex: str) -> str:
    """A formula in the LaTeX that is printed here as MathML."""
    made: dict[str, str] = {}  # by a character for private use, which no formula has

    def keep(text: str) -> str:
        made[chr(0xF0000 + len(made))] = text
        return [*made][-1]

    def words(match: re.Match[str]) -> str:
        text = re.sub(r"\\(.)", r"\1", match[2])
        return keep(_element("mtext" if match[1] == "text" else "mi", xml_text(text)))

    def group(match: re.Match[str]) -> str:
        content, opening, inside, closing = match.groups()
        row = _row(content if opening is None else inside, made)
        if opening is None:
            return keep(row)
        signs = [_element("mo", _sign(each)) if each != "." else "" for each in (opening, closing)]
        return keep(_element("mrow", signs[0] + row + signs[1]))

    for written, said in _ENVIRONMENTS.items():
        latex = latex.replace(written, said)
    latex, more = _WORDS.sub(words, latex), 1
    while more:
        latex, more = _GROUP.subn(group, latex)
    return f'<math display="block">{_row(latex, made)}</math>'


def _element(tag: str, content: str) -> str:
    return f"<{tag}>{content}</{tag}>"


def _sign(token: str) -> str:
    return xml_text(_SIGNS.get(token.removeprefix("\\"), token))


def _row(latex: str, made: dict[str, str]) -> str:
    """What stands between brackets, whose inner groups are made; lines and columns as a table."""
    lines = [
        [_cell(_TOKEN.finditer(cell), made) for cell in re.split(r"(?<!\\)&", line)]
        for line in latex.split("\\\\")
    ]
    if len(lines) == len(lines[0]) == 1:
        return lines[0][0]
    rows = ["".join(_element("mtd", cell) for cell in line) for line in lines]
    return _element("mtable", "".join(_element("mtr", row) for row in rows))


def _cell(tokens: Iterator[re.Match[str]], made: dict[str, str]) -> str:
    parts: list[str] = []
    for match in tokens:
        token = match[0]
        if token in ("^", "_"):
            tag = "msup" if token == "^" else "msub"
            parts.append(_element(tag, parts.pop() + _atom(next(tokens)[0], made)))
        elif token == "\\frac":
            parts.append(_element("mfrac", "".join(_atom(next(tokens)[0], made) for _ in range(2))))
        elif token == "\\sqrt":
            parts.append(_element("msqrt", _atom(next(tokens)[0], made)))
        else:
            parts.append(_atom(token, made))
    return _element("mrow", "".join(parts))


def _atom(token: str, made: dict[str, str]) -> str:
    if token in made:
        return made[token]
    name = token.removeprefix("\\")
    if name in GREEK or name in _CAPITALS:
        size = "CAPITAL" if name in _CAPITALS else "SMALL"
        spelled = "LAMDA" if name.lower() == "lambda" else name.upper()
        return _element("mi", unicodedata.lookup(f"GREEK {size} LETTER {spelled}"))
    tag = "mn" if name[:1].isdigit() else "mi" if name.isalpha() and name not in _SIGNS else "mo"
    return _element(tag, _sign(token if name in _SIGNS else name))
