"""Standard deviations of a result: as data, and as texts with the numbers that have them."""

from __future__ import annotations

import math
from dataclasses import field
from decimal import Decimal
from typing import Any

import numpy as np

from gradcli.data import Data, data

Array = Any  # a NumPy array or scalar


@data
class JointCovariance(Data):
    """The covariances of several numbers: entries of a result, and results of one program."""

    JSON = "of covariance correlation"

    of: list[str]
    covariance: Array

    @property
    def correlation(self) -> Array:
        """The same by standard deviations; NaN where one is 0."""
        stds = np.sqrt(np.diag(self.covariance))
        with np.errstate(all="ignore"):
            return self.covariance / np.outer(stds, stds)


@data
class Uncertainty(Data):
    """Uncertainty that follows to first order from the standard deviations of names.

    It is given for each entry of a result.
    """

    JSON = "std contributions covariances? second_order results? notes"

    std: Any
    # Of each single name, the largest first: its part of the variance, and its share of the total.
    contributions: dict[str, dict[str, Any]] = field(default_factory=dict)
    # The same for pairs of correlated names, whose part may be negative.
    covariances: dict[str, dict[str, Any]] = field(default_factory=dict)
    # Bias and standard deviation to second order, for normal distributions.
    second_order: dict[str, float] | None = None
    results: JointCovariance | None = None  # with the program's earlier results
    notes: list[str] = field(default_factory=list)


def shares(found: Uncertainty) -> list[str]:
    """Lines about where a variance comes from."""
    parts = {**found.contributions, **found.covariances}.items()
    shares = [f"{name.replace(',', ' with ')} {100 * part['share']:.3g} %" for name, part in parts]
    return (
        [f"the variance comes from {', '.join(shares)}"]
        if len(found.contributions) > 1 and np.any(found.std)
        else []
    )


_FIXED = range(-5, 6)  # powers of ten that are written without an exponent
_EPSILON = 1e-15  # relative to a number: below this, its own digits do not reach


def with_deviations(values: Any, found: Any, digits: int | None) -> Any:
    """Numbers with their standard deviations as texts: rounded to these, or to so many digits."""
    write = f"{{:.{digits}g}} ± {{:.{digits}g}}".format if digits else round_to_deviation
    return np.frompyfunc(write, 2, 1)(values, found)


def round_to_deviation(value: Any, deviation: Any) -> str:
    """Round a standard deviation as the Particle Data Group does, and the number to match.

    The deviation has two digits if it begins with 100 to 354 or 950 to 999, else one. The number is
    rounded to the same place.
    """
    if not (math.isfinite(value) and _EPSILON * abs(value) < deviation < math.inf):
        return f"{value} ± {deviation:.2g}"
    leading, _, power = f"{deviation:.2e}".partition("e")
    top = Decimal(str(max(abs(value), deviation))).adjusted()
    exponent = 0 if top in _FIXED else top
    places = Decimal(1).scaleb(int(power) - (float(leading) < 3.545) - exponent)
    rounded = (Decimal(str(v)).scaleb(-exponent).quantize(places) for v in (value, deviation))
    text = " ± ".join(map("{:f}".format, rounded))
    return f"({text})e{exponent}" if exponent else text
