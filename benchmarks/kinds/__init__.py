"""The kinds of expressions that people train and fit with, in the order of their table."""

from __future__ import annotations

from benchmarks.kinds.entries import ENTRIES
from benchmarks.kinds.fitting import FITTING
from benchmarks.kinds.rows import ROWS

KINDS = {kind.key: kind for kind in (*ENTRIES, *ROWS, *FITTING)}
