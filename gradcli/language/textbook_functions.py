"""The functions that textbooks write without brackets, and what their inverses are called."""

from __future__ import annotations

_CIRCULAR = ("sin", "cos", "tan", "sec", "csc", "cot", "sinh", "cosh", "tanh", "sech", "csch", "coth")
_LOGARITHMS = ("log_2", "log_10", "log2", "log10", "log₂", "log₁₀")
INVERSE = {
    "ln": "exp({})", "log": "exp({})", "exp": "ln({})", "sqrt": "({})^2", **{name: f"a{name}({{}})" for name in _CIRCULAR},
}  # fmt: skip
BARE = frozenset({
    *INVERSE, *_LOGARITHMS, *(f"a{name}" for name in _CIRCULAR), *(f"arc{name}" for name in _CIRCULAR),
    *(f"ar{name}" for name in _CIRCULAR if name.endswith("h")),
})  # fmt: skip
