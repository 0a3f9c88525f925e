"""Calls of names that no library has, and what they give, by formulas: lines of data/explicit.jsonl.

Of a call's entries mpmath's, or of its whole NumPy's. The gradients of some functions are here too,
where they are operations of their own: SciPy has none to hold them against. They are differences of
the same formulas, in 40 digits, or exact where an entry is linear in each of an array's.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import mpmath
import numpy as np
from recorded import read_lines

from oracles.compare import Tolerance, off, run
from oracles.libraries import used, weights
from oracles.values import VALUES


def adjugate(x: np.ndarray) -> np.ndarray:
    """The transposed cofactors, of minors written out."""
    out = np.empty((3, 3))
    for i, j in np.ndindex(3, 3):
        (a, b), (c, d) = np.delete(np.delete(x, i, 0), j, 1)
        out[j, i] = (-1) ** (i + j) * (a * d - b * c)
    return out


class Case(NamedTuple):
    """A text, and the formula of its entries or of its whole; the arrays by which it has gradients,
    and others in whose place parts of them stand.
    """

    text: str
    entries: str | None
    whole: str
    by: tuple[str, ...]
    within: float
    parts: Mapping[str, str]

    def arrays(self) -> dict[str, np.ndarray]:
        found = {name: VALUES[name] for name in used(self.text)}
        return found | {name: eval(part, {**found}) for name, part in self.parts.items()}

    def value(self, arrays: Mapping[str, np.ndarray], by: str | None = None) -> Any:
        """The value, or entry by entry its derivative; where it is no real number, nothing is asked
        (masked).
        """

        def at(*numbers: float) -> float:
            given = dict(zip(arrays, (mpmath.mpf(float(x)) for x in numbers), strict=True))

            def formula(**moved: Any) -> Any:
                return eval(self.entries or "", {**vars(mpmath), **given, **moved})

            with mpmath.workdps(40):
                try:
                    slope = by and mpmath.diff(lambda x: formula(**{by: x}), given[by])
                    found = slope if by else formula()
                except (ValueError, ZeroDivisionError, OverflowError, NotImplementedError):
                    return np.nan
                return float(found) if isinstance(found, mpmath.mpf) else np.nan

        if self.entries is None:
            return eval(self.whole, {"np": np, "adjugate": adjugate, **arrays})
        return np.ma.masked_invalid(np.vectorize(at, otypes=[float])(*arrays.values()))

    def slope(self, name: str) -> Any:
        """The gradient of the weighted sum by an array."""
        arrays = self.arrays()
        if self.entries is not None:
            found = self.value(arrays, name)
            return found * weights(found.shape)
        out = np.zeros(arrays[name].shape)
        for index in np.ndindex(out.shape):
            ends = [arrays[name].copy() for _ in range(2)]
            for end, step in zip(ends, (0.5, -0.5), strict=True):
                end[index] += step
            up, down = (self.value({**arrays, name: end}) for end in ends)
            out[index] = (weights(np.shape(up)) * (up - down)).sum()
        return out


EXPLICIT: dict[str, list[Case]] = defaultdict(list)
for _row in read_lines("explicit.jsonl"):
    EXPLICIT[_row["of"]].append(
        Case(
            _row["text"],
            _row.get("entries"),
            _row.get("whole", ""),
            tuple(_row.get("by", ())),
            _row.get("within", 1e-12),
            _row.get("with", {}),
        )
    )


def explicit_faults(name: str) -> Iterator[str]:
    """What is wrong with a name that has cases of its own."""
    for case in EXPLICIT.get(name, ()):
        with np.errstate(all="ignore"):
            wanted = np.ma.asarray(case.value(case.arrays()), float)
            slopes = {word: case.slope(word) for word in case.by}
        record = run(case.text, wanted.shape, case.by)
        within = Tolerance(case.within, 1e-14, 1e-15)
        wrong = off(record.value, wanted, within)
        if wrong:
            yield f"{case.text} {wrong}"
        for word, slope in slopes.items():
            wrong = off(record.grad[word], slope, within.of_slopes(0.0))
            if wrong:
                yield f"the gradient of {case.text} by {word} {wrong}"
