"""Derivatives by differences, extrapolated to the limit, with an estimate of their error."""

from __future__ import annotations

from collections.abc import Callable


def ridders(function: Callable[[float], float], scale: float, epsilon: float) -> tuple[float, float]:
    """A derivative at 0 by central differences of shrinking steps, extrapolated to the limit, and its estimated error."""
    step, shrink = 0.1 * scale, 1.6
    table: list[list[float]] = []
    best, error = float("nan"), float("inf")
    for row in range(12):
        up, down = function(step), function(-step)
        line = [(up - down) / (2 * step)]
        noise = epsilon * max(abs(up), abs(down)) / step
        factor = shrink * shrink
        for earlier in table[-1] if table else ():
            line.append((line[-1] * factor - earlier) / (factor - 1))
            factor *= shrink * shrink
        for place in range(1, len(line)):
            change = max(abs(line[place] - line[place - 1]), abs(line[place] - table[-1][place - 1])) + noise
            if change < error:
                best, error = line[place], change
        if row and error < float("inf") and abs(line[-1] - table[-1][-1]) > 1e3 * error:
            break
        table.append(line)
        step /= shrink
    return best, error
