"""What algebra has to say of a formula."""

from __future__ import annotations

from enum import Enum


class Decision(Enum):
    """What algebra has to say of a formula and what it is claimed to be."""

    SAME = 1  # wherever both have a value
    DIFFERENT = 2  # but for single points, as exact numbers
    OPEN = 3
