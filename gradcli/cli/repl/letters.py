r"""What ``\alpha`` and its like stand for: Greek letters by their names, and signs that the language reads."""

from __future__ import annotations

import unicodedata

from gradcli.notation import GREEK

_SIGNS = {
    "partial": "∂", "cdot": "·", "times": "×", "div": "÷", "le": "≤", "leq": "≤", "ge": "≥", "geq": "≥", "ne": "≠", "neq": "≠",
    "sqrt": "√", "cbrt": "∛", "deg": "°", "varepsilon": "ε", "varphi": "φ", "vartheta": "θ", "hbar": "ħ", "ell": "ℓ", "infty": "inf",
    "pm": "±", **{f"^{digit}": sign for digit, sign in enumerate("⁰¹²³⁴⁵⁶⁷⁸⁹")},
}  # fmt: skip


def _letter(name: str, case: str) -> str:
    return unicodedata.lookup(f"GREEK {case} LETTER {name.upper().replace('LAMBDA', 'LAMDA')}")


LETTERS: dict[str, str] = {
    **{name: _letter(name, "SMALL") for name in sorted(GREEK)},
    **{name.capitalize(): _letter(name, "CAPITAL") for name in sorted(GREEK)},
    **_SIGNS,
}
