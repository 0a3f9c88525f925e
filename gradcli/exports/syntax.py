"""How languages of loops write numbers, arrays, loops and choices, and which text of an operation they share: C's."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from gradcli.ops.spec import Op


class Syntax(ABC):
    """What the languages differ in."""

    name: str
    as_number = "(double)"

    @abstractmethod
    def number(self, value: float) -> str: ...
    @abstractmethod
    def table(self, name: str, values: np.ndarray) -> list[str]: ...
    @abstractmethod
    def array(self, name: str, size: int) -> str: ...
    @abstractmethod
    def scalar(self, name: str, text: str) -> str: ...
    @abstractmethod
    def variable(self, name: str, text: str) -> str: ...
    @abstractmethod
    def loop(self, index: str, extent: int) -> str: ...

    def assigned(self, place: str, text: str) -> str:
        return f"{place} = {text};"

    def choice(self, condition: str, x: str, y: str) -> str:
        return f"{condition} ? {x} : {y}"

    def entry(self, name: str, index: str) -> str:
        return f"{name}[{index}]"


def in_words(op: Op, present: Sequence[bool], static: Mapping[str, Any]) -> str:
    """The text of an operation on numbers: C's, with numbers in decimals."""
    text = op.text.in_c(present, **static)
    if not text and op.text.scalar:
        text = op.text.scalar if isinstance(op.text.scalar, str) else op.text.scalar(**static)
    return text
