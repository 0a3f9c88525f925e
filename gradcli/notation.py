"""LaTeX of names, numbers and arrays, for formulas and for results alike.

It is also converted to MathML, which browsers draw.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from html.entities import codepoint2name, html5
from typing import Any, NamedTuple

import numpy as np

from gradcli.inert import latex_text, xml_text
from gradcli.texts import pairs, words

_LARGEST = 100  # most entries of an array that is written out

GREEK = words("""
    alpha beta gamma delta epsilon zeta eta theta iota kappa lambda mu nu xi pi rho sigma tau
    upsilon phi chi psi omega
""")
_CAPITALS = words("Gamma Delta Theta Lambda Xi Pi Sigma Upsilon Phi Psi Omega")

_RATE = re.compile(r"d([a-zA-Z]\w*)_d([a-zA-Z])")


def name(text: str) -> str:
    """Write a variable's name in LaTeX.

    Names of Greek letters become the letters, digits and the part after an underscore an index, and
    rates such as ``dr_dt`` quotients.
    """
    rate = _RATE.fullmatch(text)
    if rate is not None:
        return f"\\frac{{d{name(rate[1])}}}{{d{name(rate[2])}}}"
    stem, _, index = text.partition("_")
    if not index:
        stem = text.rstrip("0123456789")
        index = text[len(stem) :]
    if not stem:  # it begins with an underscore
        stem, index = text, ""
    if len(stem) == 1:  # write a Greek letter by its name
        spelled = codepoint2name.get(ord(stem), "")
        stem = spelled if spelled in GREEK or spelled in _CAPITALS else stem
    written = latex_text(stem)
    shown = (
        f"\\{stem}"
        if stem in GREEK or stem in _CAPITALS
        else written
        if len(stem) == 1
        else f"\\mathrm{{{written}}}"
    )
    return f"{shown}_{{{latex_text(index)}}}" if index else shown


def number(value: Any, digits: int | None = None) -> str:
    """Write a number in LaTeX, with powers of ten written out."""
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
    """Write a number, a vector as a column, or a matrix; larger things by their shape."""
    data = np.asarray(value)
    if data.ndim == 0:
        return number(data[()], digits)
    if data.ndim > 2 or data.size > _LARGEST or not data.size:
        return f"\\text{{an array of shape {data.shape}}}"
    rows = data.reshape(len(data), -1)
    body = " \\\\ ".join(" & ".join(number(v, digits) for v in row) for row in rows)
    return f"\\begin{{pmatrix}} {body} \\end{{pmatrix}}"


# -- MathML ---------------------------------------------------------------------------------------

# Environments, and brackets that grow, as groups between braces.
_GROUPS = {
    "\\begin{cases}": "{\\lbrace {", "\\end{cases}": "}}", "\\begin{pmatrix}": "{({", "\\end{pmatrix}": "})}", "\\left": "{",
    "\\mathsf": "", "\\,": "\\text{ }", "\\sqrt[3]": "{}^{3}\\sqrt",
}  # fmt: skip
_CLOSING = re.compile(r"\\right(\\[a-z]+|.)")
_WORDS = re.compile(r"\\(?:text|math..|operatorname)\{((?:\\.|[^{}])*)\}")
_INNERMOST = re.compile(r"\{([^{}]*)\}")
_TOKEN = re.compile(r"\\[a-zA-Z]+|\\.|[\d.]+|\S")
_ESCAPE, _SPACE = "\\", "&#160;"  # a space that is kept at the edge of a text
_THIN = '<mspace width="0.17em"/>'  # before the name of a function
_SIGNS = pairs("cdot ⋅, infty ∞, - −, lnot ¬")
_TAGS = pairs(r"^ msup, _ msub, \frac mfrac, \sqrt msqrt")


def mathml(latex: str) -> str:
    """Convert a formula in the LaTeX of this module to MathML.

    It is converted from the innermost group outwards.
    """
    made: dict[str, str] = {}  # markup by private-use characters, which no formula has

    def keep(markup: str) -> str:
        made[chr(0xF0000 + len(made))] = markup
        return [*made][-1]

    def atom(token: str) -> str:
        name = token.removeprefix("\\")
        sign = _SIGNS.get(name) or (name if name == token else html5.get(f"{name};", name))
        tag = "mn" if sign[0].isdigit() else "mi" if sign.isalpha() else "mo"
        return made.get(token) or f"<{tag}>{xml_text(sign)}</{tag}>"

    def row(latex: str) -> str:
        parts: list[str] = []
        tokens = iter(_TOKEN.findall(latex))
        for token in tokens:
            tag = _TAGS.get(token)
            if tag is None:
                word = atom(token)
                parts += [_THIN] * (word.startswith("<mi>") and len(word) > len("<mi>x</mi>"))
                parts.append(word)
                continue
            first = "" if tag == "msqrt" else parts.pop() if token in "^_" else atom(next(tokens))
            parts.append(f"<{tag}>{first}{atom(next(tokens))}</{tag}>")
        return f"<mrow>{''.join(parts)}</mrow>"

    def table(latex: str) -> str:
        if "&" not in latex and "\\\\" not in latex:
            return row(latex)
        cells = (
            "".join(f"<mtd>{row(cell)}</mtd>" for cell in line.split("&"))
            for line in latex.split("\\\\")
        )
        return f"<mtable>{''.join(f'<mtr>{line}</mtr>' for line in cells)}</mtable>"

    for written, group in _GROUPS.items():
        latex = latex.replace(written, group)
    latex = _WORDS.sub(
        lambda match: keep(
            f"<mtext>{xml_text(match[1].replace(_ESCAPE, '')).replace(' ', _SPACE)}</mtext>"
        ),
        _CLOSING.sub(r"\1}", latex),
    )
    found = 1
    while found:
        latex, found = _INNERMOST.subn(lambda match: keep(table(match[1])), latex)
    return f'<math displaystyle="true">{table(latex)}</math>'


# -- Derivatives: by which names, and their formulas


Path = tuple[str, ...]  # the names that an expression is differentiated by, in order


class Formula(NamedTuple):
    """Derivative as text of the language, and as LaTeX where that is wanted.

    A text that is too long is None.
    """

    text: str | None
    latex: str | None = None


def fraction(path: Sequence[str], partial: bool, of: str = "") -> str:
    """Return a derivative by names in LaTeX; ``of`` is LaTeX, too."""
    d = "\\partial" if partial else "d"
    above = f"{d}^{{{len(path)}}}" if len(path) > 1 else d
    below = [
        f"{d} {name(each)}" + (f"^{{{count}}}" if count > 1 else "")
        for each, count in Counter(path).items()
    ]
    found = f"\\frac{{{f'{above} {of}'.strip()}}}{{{' '.join(below)}}}"
    return re.sub(r"\bd (?=\w)", "d", found)


def operator(path: Sequence[str], partial: bool = False, of: str = "") -> str:
    """Return what stands before the expression: ``d/dx``, ``∂²/∂x∂y``, ``dy/dx`` of a name."""
    d, order = "∂" if partial else "d", len(path)
    below = "".join(f"{d}{each}{_raise(count)}" for each, count in Counter(path).items())
    return f"{d}{_raise(order)}{of}/{below}"


def _raise(exponent: int) -> str:
    return (
        "" if exponent == 1 else str(exponent).translate(str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹"))
    )
