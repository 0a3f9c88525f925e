"""The measuring loop: every contestant's answer is compared first, then time is taken in rounds
that alternate between contestants.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median

from benchmarks.contest import Contestant, Goal, Workload
from benchmarks.machine import available_memory
from benchmarks.processes import Failed, Process, Worker, runner_of


@dataclass
class Standing:
    """What was measured of a contestant, or why nothing was."""

    contestant: Contestant
    samples: list[float] = field(default_factory=list)
    first: float | None = None  # seconds of the first call
    peak: int | None = None
    note: str = ""

    @property
    def seconds(self) -> float | None:
        return median(self.samples) if self.samples else None


def ratio(one: Standing, other: Standing) -> float | None:
    """How many times the other's time one takes: the median of the rounds' ratios, as a machine
    that is slow for a while is so for both.
    """
    if one.seconds is None or other.seconds is None:
        return None
    if len(one.samples) == len(other.samples):
        return median(x / y for x, y in zip(one.samples, other.samples, strict=True))
    return one.seconds / other.seconds


@dataclass
class Result:
    """A workload's standings and how its goals ended."""

    workload: Workload
    standings: list[Standing]

    def of(self, name: str) -> Standing:
        return next(standing for standing in self.standings if standing.contestant.name == name)

    def figure(self, goal: Goal) -> float | None:
        """What a goal limits: seconds, bytes, or a ratio of them; None where it was not
        measured.
        """
        subject = self.of(goal.subject)
        found = getattr(subject, goal.measure)
        if not goal.of or found is None:
            return None if found is None else float(found)
        if goal.measure == "seconds":
            return ratio(subject, self.of(goal.of))
        other = getattr(self.of(goal.of), goal.measure)
        return found / other if other else None

    def best(self, names: Iterable[str]) -> Standing | None:
        """The fastest of these contestants, of those that were measured."""
        measured = [
            standing
            for standing in self.standings
            if standing.contestant.name in names and standing.seconds is not None
        ]
        return min(measured, key=lambda standing: standing.seconds or 0.0, default=None)

    def holds(self, goal: Goal) -> bool | None:
        figure = self.figure(goal)
        return None if figure is None else figure <= goal.limit


def measure(
    workload: Workload, rounds: int, budget: float, quick: bool, say: Callable[[str], None]
) -> Result:
    """Measure a workload.

    A contestant stops after ``rounds`` samples, or when they have taken ``budget`` seconds.
    """
    standings = [Standing(contestant) for contestant in workload.contestants]
    running: list[tuple[Standing, Worker | Process]] = []
    with tempfile.TemporaryDirectory() as folder:
        try:
            for standing in standings:
                say(f"{workload.key}: {standing.contestant.name}")
                runner = _opened(standing, Path(folder), budget, quick, workload.tolerance)
                if runner is not None:
                    running.append((standing, runner))
            for number in range(rounds):
                say(f"{workload.key}: round {number + 1} of {rounds}")
                for standing, runner in running if number % 2 == 0 else reversed(running):
                    _sample(standing, runner, budget)
        finally:
            for _, runner in running:
                runner.close()
    return Result(workload, standings)


def _opened(
    standing: Standing, folder: Path, budget: float, quick: bool, tolerance: float
) -> Worker | Process | None:
    """A contestant's runner, if it is here, has room, and gives the right answer."""
    contestant = standing.contestant
    missing = contestant.missing()
    room = available_memory()
    if missing:
        standing.note = "not installed"
    elif room is not None and contestant.memory > 0.9 * room:
        standing.note = (
            f"skipped: needs {contestant.memory / 1e9:.1f} GB of memory, {room / 1e9:.1f} are free"
        )
    if standing.note:
        return None
    runner = runner_of(contestant, folder / f"answer {contestant.question}", quick)
    try:
        opening = runner.open()
    except Failed as failure:
        standing.note = f"failed: {failure}"
    else:
        standing.first, standing.peak = opening.seconds, opening.peak or None
        if opening.difference is None or opening.difference <= tolerance:
            if (
                opening.seconds > budget / 2 and not contestant.warming
            ):  # a second time would be too much: the first is the sample
                standing.samples.append(opening.seconds)
                standing.note = "one run"
            return runner
        standing.note = f"failed: differs from ours by {opening.difference:.1e}"
    runner.close()
    return None


def _sample(standing: Standing, runner: Worker | Process, budget: float) -> None:
    if standing.note or sum(standing.samples) > budget:
        return
    try:
        standing.samples.append(runner.sample())
    except Failed as failure:
        standing.note = f"failed: {failure}"
