"""What a cross-check may take, counted in work and never in seconds: the same input gets the same verdict on any machine."""

from __future__ import annotations

LARGEST = 250_000  # scalar operations of one pass of the composed reference
_WORK = 2_000_000  # scalar operations of all passes; some thirty microseconds each


class Undecided(Exception):
    """No source of truth within the limits."""


class Budget:
    """Scalar operations in multi-precision that are left."""

    def __init__(self, work: int = _WORK) -> None:
        self.left = work

    def allows(self, work: int) -> bool:
        return work <= self.left

    def spend(self, work: int) -> None:
        """Raises Undecided where so much is not left."""
        if work > self.left:
            raise Undecided(f"the limit of {_WORK:,} scalar operations of the cross-check")
        self.left -= work
