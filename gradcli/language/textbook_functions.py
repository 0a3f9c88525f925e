"""The functions that textbooks write without brackets, under the names that the language reads, and what their inverses are called."""

from __future__ import annotations

from functools import cache

# Names of textbooks that no library has.
SPELLINGS = {
    **{f"ar{name}": f"a{name}" for name in ("sinh", "cosh", "tanh", "sech", "csch", "coth")},
    "log_2": "log2", "log₂": "log2", "log_10": "log10", "log₁₀": "log10",
}  # fmt: skip


def is_bare(name: str) -> bool:
    """Whether a function takes an argument without brackets, as in ``sin x``."""
    return SPELLINGS.get(name, name) in _inverses()


def inverse(name: str, argument: str) -> str:
    """The text of the inverse of such a function."""
    return _inverses()[SPELLINGS.get(name, name)].format(argument)


@cache
def _inverses() -> dict[str, str]:
    """What the records say of them, by each of their names."""
    from gradcli.ops.elementwise import exponential, hyperbolic, trigonometric
    from gradcli.ops.spec import Op

    records = [record for family in (exponential, hyperbolic, trigonometric) for record in vars(family).values()]
    bare = [record for record in records if isinstance(record, Op) and record.text.bare]
    return {name: record.text.bare for record in bare for name in (record.name, *record.aliases)}
