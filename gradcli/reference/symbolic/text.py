"""Operations as text of Python with sympy's functions: what their records say that they are in sympy, printed."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

_NAMES = re.compile(r"\b([A-Za-z]\w*)(?=\()|\b(pi|E|oo|zoo|nan|EulerGamma|Catalan)\b|\b_(\d+)\b")


def written_for_sympy(op: Any, count: int, static: Mapping[str, Any]) -> str:
    """A template of operands by their places; empty where sympy has no such function."""
    import sympy

    if op.rewriting.algebra == "choice":
        return "sympy.Piecewise(({1}, {0}), ({2}, True))"
    places = [sympy.Symbol(f"_{place}", real=True) for place in range(count)]
    function = op.symbolic or op.reference
    try:
        found = function(sympy, *places, **static)
        found = sympy.sympify(found).replace(_has_formula, lambda part: part.formula(part.args[0], int(part.args[1])))
    except Exception:  # a reference that compares, or calls what sympy does not have
        return ""
    if any(not _is_sympys(part) for part in sympy.preorder_traversal(found)):
        return ""
    text = _NAMES.sub(_named, sympy.sstr(found))
    return f"({text})" if not text.endswith(")") or text[0] in "(-{" or " " in text else text


def _has_formula(part: Any) -> bool:
    """Tell whether a record has made a function that sympy can write otherwise."""
    return getattr(part, "formula", None) is not None


def _is_sympys(part: Any) -> bool:
    return type(part).__module__.startswith("sympy.") and not type(part).__name__.startswith("_")


def _named(found: re.Match[str]) -> str:
    if found[3]:
        return f"{{{found[3]}:atom}}"
    return f"sympy.{found[1] or found[2]}"
