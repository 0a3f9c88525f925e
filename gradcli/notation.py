"""LaTeX of names, numbers and arrays, for formulas and for results alike."""

from __future__ import annotations

import unicodedata
from typing import Any

import numpy as np

from gradcli.inert import latex_text
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
    text = (
        str(np.asarray(value)[()])
        if digits is None or isinstance(value, str)
        else f"{float(value):.{digits}g}"
    )
    if text in ("inf", "-inf", "nan"):
        return {"inf": "\\infty", "-inf": "-\\infty", "nan": "\\mathrm{NaN}"}[text]
    mantissa, e, exponent = text.partition("e")
    mantissa = (
        mantissa.replace("±", r"\pm").replace("inf", r"\infty")
        if "±" in text
        else mantissa.removesuffix(".0")
    )
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
