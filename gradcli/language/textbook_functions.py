"""The functions that textbooks write without brackets, under the names that the language reads, and what their inverses are called."""

from __future__ import annotations

from functools import cache

from gradcli.language.builtin_functions import ALIASES
from gradcli.ops.elementwise import exponential, hyperbolic, trigonometric
from gradcli.ops.spec import Op


def is_bare(name: str) -> bool:
    """Whether a function takes an argument without brackets, as in ``sin x``."""
    return ALIASES.get(name, name) in _inverses()


def inverse(name: str, argument: str) -> str:
    """The text of the inverse of such a function."""
    return _inverses()[ALIASES.get(name, name)].format(argument)


@cache
def _inverses() -> dict[str, str]:
    """What the records say of them, by each of their names."""
    records = [record for family in (exponential, hyperbolic, trigonometric) for record in vars(family).values()]
    bare = [record for record in records if isinstance(record, Op) and record.text.bare]
    return {name: record.text.bare for record in bare for name in (record.name, *record.aliases)}
