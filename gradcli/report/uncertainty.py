"""The standard deviation of a result, as plain data: how large, which names contribute, and what first order leaves out."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np


@dataclass(eq=False)
class Uncertainty:
    """What first order makes of the standard deviations of names, for each entry of a result."""

    std: Any
    variances: dict[str, Any] = field(default_factory=dict)  # of each name alone, the largest first
    covariances: dict[tuple[str, str], Any] = field(default_factory=dict)  # what each pair adds to the variance, which may be less than 0
    second_order: tuple[float, float] | None = None  # bias and standard deviation with it, of normal distributions
    notes: list[str] = field(default_factory=list)

    def share(self, name: str) -> float:
        """The part of the variance, added up over entries, that comes from a name."""
        return self._share(self.variances[name])

    def share_of_pair(self, pair: tuple[str, str]) -> float:
        """The part that comes from two names moving together."""
        return self._share(self.covariances[pair])

    def _share(self, part: Any) -> float:
        whole = float(np.sum(np.square(self.std)))
        return float(np.sum(part)) / whole if whole else 0.0


def uncertainty_dict(found: Uncertainty, numbers: Callable[[Any], Any]) -> dict[str, Any]:
    """The same as records have it."""
    second = found.second_order
    return {
        "std": numbers(found.std),
        "contributions": {
            name: {"variance": numbers(part), "share": numbers(np.float64(found.share(name)))} for name, part in found.variances.items()
        },
        **_covariances(found, numbers),
        "second_order": None if second is None else {"bias": numbers(np.float64(second[0])), "std": numbers(np.float64(second[1]))},
        "notes": found.notes,
    }


def _covariances(found: Uncertainty, numbers: Callable[[Any], Any]) -> dict[str, Any]:
    if not found.covariances:
        return {}
    pairs = {
        ",".join(pair): {"variance": numbers(part), "share": numbers(np.float64(found.share_of_pair(pair)))}
        for pair, part in found.covariances.items()
    }
    return {"covariances": pairs}


def told(found: Uncertainty, value: str, text_of: Callable[[Any], str]) -> tuple[str, list[str]]:
    """The value with its standard deviation, and lines about where that comes from."""
    shares = [f"{name} {100 * found.share(name):.3g} %" for name in found.variances]
    shares += [f"{' with '.join(pair)} {100 * found.share_of_pair(pair):.3g} %" for pair in found.covariances]
    parts = ", ".join(shares)
    between = "\n± " if "\n" in value or "\n" in text_of(found.std) else " ± "
    lines = [f"the variance comes from {parts}"] if len(found.variances) > 1 else []
    return f"{value}{between}{text_of(found.std)}", lines + found.notes
