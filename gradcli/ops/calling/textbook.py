"""Functions as textbooks write them: without brackets, with an inverse of another name, under names that no library has."""

from __future__ import annotations

from functools import cache

from gradcli.ops import registry

# Names of textbooks that no library has.
SPELLINGS = {
    **{f"ar{name}": f"a{name}" for name in ("sinh", "cosh", "tanh", "sech", "csch", "coth")},
    "log_2": "log2", "log₂": "log2", "log_10": "log10", "log₁₀": "log10",
}  # fmt: skip


def is_bare(name: str) -> bool:
    """Whether a function takes its argument without brackets: ``sin 2x``."""
    return SPELLINGS.get(name, name) in _inverses()


def inverse(name: str, argument: str) -> str:
    """The inverse of such a function, of an argument, as text of the language."""
    return _inverses()[SPELLINGS.get(name, name)].format(argument)


def ends_at_numbers(name: str) -> bool:
    """Whether ``f 2x`` of such a function has two readings: a root may end after the number."""
    return registry.MARKS["√"].name == name


@cache
def _inverses() -> dict[str, str]:
    """What the records say of them, by each of their names."""
    from gradcli.ops.elementwise import exponential, hyperbolic, trigonometric
    from gradcli.ops.spec import Op

    records = [record for family in (exponential, hyperbolic, trigonometric) for record in vars(family).values()]
    bare = [record for record in records if isinstance(record, Op) and record.text.bare]
    return {name: record.text.bare for record in bare for name in (record.name, *record.aliases)}
