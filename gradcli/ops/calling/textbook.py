"""The functions that textbooks write without brackets, what their inverses are called, and signs that stand for functions."""

from __future__ import annotations

_CIRCULAR = ("sin", "cos", "tan", "sec", "csc", "cot", "sinh", "cosh", "tanh", "sech", "csch", "coth")
_LOGARITHMS = ("log_2", "log_10", "log2", "log10", "log₂", "log₁₀")
_INVERSE = {
    "ln": "exp({})", "log": "exp({})", "exp": "ln({})", "sqrt": "({})^2", **{name: f"a{name}({{}})" for name in _CIRCULAR},
}  # fmt: skip
_BARE = frozenset({
    *_INVERSE, *_LOGARITHMS, *(f"a{name}" for name in _CIRCULAR), *(f"arc{name}" for name in _CIRCULAR),
    *(f"ar{name}" for name in _CIRCULAR if name.endswith("h")),
})  # fmt: skip
_SIGNS = {"|": "abs", "√": "sqrt", "∛": "cbrt"}


def is_bare(name: str) -> bool:
    """Whether a function takes its argument without brackets: ``sin 2x``."""
    return name in _BARE


def inverse(name: str, argument: str) -> str | None:
    """The inverse of such a function, of an argument, as text of the language."""
    form = _INVERSE.get(name)
    return None if form is None else form.format(argument)


def function_of(sign: str) -> str | None:
    """The function that a prefix or a bar stands for."""
    return _SIGNS.get(sign)


def ends_at_numbers(name: str) -> bool:
    """Whether ``f 2x`` of such a function has two readings: a root may end after the number."""
    return name == "sqrt"
