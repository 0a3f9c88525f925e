"""Multi-precision numbers of mpmath where balls are not installed: certain is what two precisions give alike."""

from __future__ import annotations

from contextlib import nullcontext
from typing import Any

from gradcli.ops.extended import LONG_DOUBLE
from gradcli.reference.contexts import context


class PlainNumbers:
    """A context of mpmath's."""

    undecidable = ()

    def __init__(self, digits: int, alike: float) -> None:
        self.context, self.alike = context(), alike
        self.context.dps = digits

    def __getattr__(self, name: str) -> Any:
        return getattr(self.context, name)

    def working(self) -> Any:
        return nullcontext()

    def settled(self, x: Any, before: Any) -> bool:
        """Whether the precision before has given the same, which is not zero: that may be all that is left of a difference."""
        return bool(x) and before is not None and bool(abs(x - before) <= self.alike * abs(x))

    def long_double(self, x: Any) -> Any:
        return LONG_DOUBLE(self.context.nstr(x, 25))
