"""Names that mean another function: exchanged in the table of names, and in the libraries' own
tables.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from itertools import pairwise
from typing import Any

from gradcli.language import calls
from gradcli.ops import registry
from gradcli.ops.calling import signatures
from gradcli.ops.spec import Composite, Op
from planting.mistakes import Mistake
from planting.programs import calling, of_text
from planting.witnesses import oracles, texts_of


@contextmanager
def replaced(table: Any, name: str, value: Any) -> Iterator[None]:
    """Another entry of a table, for a while."""
    before = table[name]
    try:
        table[name] = value
        calls.operation.cache_clear()
        yield
    finally:
        table[name] = before
        calls.operation.cache_clear()


def _planting(table: Any, name: str, value: Any) -> Callable[[], AbstractContextManager[None]]:
    return lambda: replaced(table, name, value)


def names() -> Iterator[Mistake]:
    """Every alias means the function of the next alias that is called alike; so does every entry of
    the libraries' tables.
    """
    registry.load()
    alike: dict[Any, list[tuple[str, Op | Composite]]] = {}
    for name, record in registry._BY_NAME.items():
        if name != record.name and record.public:
            alike.setdefault((len(record.operands), record.variadic, type(record)), []).append(
                (name, record)
            )
    for group in alike.values():
        for (name, record), (_, other) in pairwise([*group, group[0]]):
            if other is not record:
                plant = _planting(registry._BY_NAME, name, other)
                yield Mistake(
                    "name: an alias",
                    f"{name} means {other.name}",
                    plant,
                    lambda wide, name=name: calling(name),
                    lambda wide, name=name: oracles(name),
                )
    for library, table in signatures._TABLES.items():
        by_parameters: dict[int, list[str]] = {}
        for name, written in table.items():
            found = signatures.signature(*written)
            by_parameters.setdefault(
                len([p for p in found.parameters if not p.ignored]), []
            ).append(name)
        for group_ in by_parameters.values():
            for name, other_name in pairwise([*group_, group_[0]]):
                other_target = table[other_name]
                if other_target[0] == table[name][0]:
                    continue
                plain = name.rsplit(".", 1)[-1]
                yield Mistake(
                    f"name: as {library} has it", f"{name} means {other_target[0]}", _planting(table, name, other_target),
                    lambda wide, name=name, plain=plain: calling(plain) or of_text(name),
                    lambda wide, name=name, plain=plain: oracles(plain, *texts_of(name)),
                )  # fmt: skip
