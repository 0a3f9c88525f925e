"""Results of several tensors with names: ``torch.return_types.max(values=..., indices=...)``."""

from __future__ import annotations

from collections import namedtuple
from functools import cache
from typing import Any


@cache
def _type(name: str, fields: tuple[str, ...]) -> Any:
    base: Any = namedtuple(name, fields)  # type: ignore[misc]  # the fields are known when it runs

    def __repr__(self: Any) -> str:
        parts = ",\n".join(f"{field}={getattr(self, field)!r}" for field in fields)
        return f"torch.return_types.{name}(\n{parts})"

    return type(name, (base,), {"__repr__": __repr__, "__slots__": ()})


def named_results(name: str, fields: tuple[str, ...], parts: tuple[Any, ...]) -> Any:
    """The parts under their names."""
    return _type(name.removeprefix("Tensor.").replace(".", "_"), fields)(*parts)
