"""The standard deviation of a result, as plain data: how large, which names contribute, and what first order leaves out."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from gradcli.report.data import Data


@dataclass(eq=False, repr=False)
class Uncertainty(Data):
    """What first order makes of the standard deviations of names, for each entry of a result."""

    JSON = "std contributions covariances=contributions_of_pairs? second_order=with_second_order notes"

    std: Any
    variances: dict[str, Any] = field(default_factory=dict)  # of each name alone, the largest first
    covariances: dict[tuple[str, str], Any] = field(default_factory=dict)  # what each pair adds to the variance, which may be less than 0
    second_order: tuple[float, float] | None = None  # bias and standard deviation with it, of normal distributions
    notes: list[str] = field(default_factory=list)

    @property
    def contributions(self) -> dict[str, dict[str, Any]]:
        """The part of each name in the variance, as JSON has it."""
        return {name: {"variance": part, "share": self._share(part)} for name, part in self.variances.items()}

    @property
    def contributions_of_pairs(self) -> dict[str, dict[str, Any]]:
        """The same of pairs of names."""
        return {",".join(pair): {"variance": part, "share": self._share(part)} for pair, part in self.covariances.items()}

    @property
    def with_second_order(self) -> dict[str, float] | None:
        """The bias and the deviation of second order, as JSON has them."""
        return None if self.second_order is None else dict(zip(("bias", "std"), self.second_order, strict=True))

    def share(self, name: str) -> float:
        """The part of the variance, added up over entries, that comes from a name."""
        return self._share(self.variances[name])

    def share_of_pair(self, pair: tuple[str, str]) -> float:
        """The part that comes from two names moving together."""
        return self._share(self.covariances[pair])

    def _share(self, part: Any) -> float:
        whole = float(np.sum(np.square(self.std)))
        return float(np.sum(part)) / whole if whole else 0.0
