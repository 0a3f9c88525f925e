"""One trial held to everything that holds of trials; the smallest part of one that fails."""

from __future__ import annotations

from dataclasses import replace
from random import Random

from fuzz import comparing
from fuzz.invariants import SENTINEL_TRIAL, complaints, harmed, same
from fuzz.trials import Ending, Trial, run

REPEATED = 8  # one in so many trials is run twice


def expected() -> str:
    """The sentinel's output, before anything else has run."""
    return run(SENTINEL_TRIAL).out


def tried(trial: Trial, sentinel: str, rng: Random | None = None) -> tuple[Ending, list[str]]:
    """How a trial ended, and what is wrong with it."""
    ending = run(trial)
    found = complaints(trial, ending)
    after = harmed(sentinel)
    if after is not None:
        found.append(after)
    if rng is not None and not found:
        if rng.randrange(REPEATED) == 0 and not same(ending, run(trial)):
            found.append("run again, it gave something else")
        found += comparing.differences(trial, ending, rng)
    return ending, found


def smallest(trial: Trial, sentinel: str) -> tuple[Trial, list[str]]:
    """A part of a failing trial that fails, too: one record, fewer arguments, a shorter text.

    What it takes is bounded.
    """
    _, found = tried(trial, sentinel)
    if not found:
        return trial, ["failed once, and not again"]
    left = 60
    if trial.records and trial.inputs > 1:
        for line in trial.stdin.split("\n"):
            _, said = tried(trial.with_lines([line]), sentinel)
            if said:
                trial, found = trial.with_lines([line]), said
                break
    shrinking = not trial.records
    while shrinking and left > 0:
        shrinking = False
        for part in _parts(trial):
            left -= 1
            _, said = tried(part, sentinel)
            if said and said[0][:14] == found[0][:14]:
                trial, found, shrinking = part, said, True
                break
            if left <= 0:
                break
    return trial, found


def _parts(trial: Trial) -> list[Trial]:
    """Trials with less in them."""
    parts = []
    lines = trial.stdin.split("\n")
    if len(lines) > 1:
        parts += [
            trial.with_lines(lines[: len(lines) // 2]),
            trial.with_lines(lines[len(lines) // 2 :]),
        ]
        parts += [
            trial.with_lines([*lines[:i], *lines[i + 1 :]]) for i in range(min(len(lines), 8))
        ]
    elif len(trial.stdin) > 8:
        half = len(trial.stdin) // 2
        parts += [
            replace(trial, stdin=trial.stdin[:half]),
            replace(trial, stdin=trial.stdin[half:]),
        ]
    parts += [
        replace(trial, arguments=trial.arguments[:i] + trial.arguments[i + 1 :])
        for i in range(len(trial.arguments) - 1, 0, -1)
    ]
    return parts
