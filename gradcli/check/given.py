"""What somebody says that a value or a gradient is, as it was given."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from gradcli.graph.nodes import Expr


@dataclass(frozen=True, eq=False)
class Given:
    """A claim as it was given: of a name, or of the "value"; a formula as a node, or numbers."""

    of: str
    formula: Expr | None = None
    numbers: Any = None  # an array
    rtol: float | None = None
    atol: float = 0.0
    room: Any = None  # of numbers: how far off each may be, by what the precision explains that they were computed in
    precision: str | None = None  # of numbers, if it is not that of the result
    around: int | None = 0  # of a formula: which points around the bound values it is tried at, too; None for none

    @property
    def kind(self) -> str:
        return "value" if self.of == "value" else "formula" if self.formula is not None else "numbers"

    @property
    def about(self) -> str:
        return "value" if self.of == "value" else "derivative"
