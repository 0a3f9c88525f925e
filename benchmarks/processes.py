"""Where work runs:

Python workers, one for each contestant so that threads and memory of libraries stay apart, and
commands.
"""

from __future__ import annotations

import importlib
import os
import subprocess
import sys
import time
from multiprocessing import get_context
from multiprocessing.connection import Connection
from pathlib import Path
from typing import NamedTuple

from benchmarks.contest import Clock, Command, Contestant, InProcess, Run
from benchmarks.machine import forget_peak, limited, own_memory

ROOT = Path(__file__).parent.parent
_LAUNCH = str(Path(__file__).parent / "programs" / "launch.py")
_PATIENCE = 1800.0  # seconds, after which a contestant has failed
_LEAST = 0.1  # seconds that a sample takes at least, by repetition


class Failed(Exception):
    """A contestant that cannot do the work, and why."""


class Opening(NamedTuple):
    """What the first call took, its peak memory, and how far its answer is from that of the first
    contestant (None: it is the first).
    """

    seconds: float
    peak: int
    difference: float | None


def runner_of(contestant: Contestant, answers: Path, quick: bool) -> Worker | Process:
    """Where a contestant runs.

    ``answers`` is a path, without suffix, of the answers to its question.
    """
    if isinstance(contestant, InProcess):
        return Worker(contestant, answers, quick)
    assert isinstance(contestant, Command)
    return Process(contestant, answers)


class Worker:
    """A Python process that works on request."""

    def __init__(self, contestant: InProcess, answers: Path, quick: bool) -> None:
        self.contestant, self.answers, self.quick = contestant, answers, quick

    def open(self) -> Opening:
        """Start the process and let it work once. Raises Failed."""
        context = get_context("spawn")
        self.connection, other = context.Pipe()
        least = _LEAST / 10 if self.quick else _LEAST
        self.process = context.Process(
            target=_serve, args=(other, self.contestant, self.answers, least), daemon=True
        )
        with limited(self.contestant.cores):
            self.process.start()
        other.close()
        opening = self._reply()
        assert isinstance(opening, Opening)
        return opening

    def sample(self) -> float:
        """Seconds for one piece of work. Raises Failed."""
        if self.contestant.fresh:
            self.close()
            return self.open().seconds
        self.connection.send("sample")
        seconds = self._reply()
        assert isinstance(seconds, float)
        return seconds

    def close(self) -> None:
        self.connection.close()
        self.process.join(5)
        if self.process.is_alive():
            self.process.kill()
            self.process.join()

    def _reply(self) -> Opening | float:
        try:
            reply: Opening | float | Failed = (
                self.connection.recv()
                if self.connection.poll(_PATIENCE)
                else Failed("out of patience")
            )
        except EOFError:
            self.process.join(5)
            raise Failed(f"the process ended with {self.process.exitcode}") from None
        if isinstance(reply, Failed):
            raise reply
        return reply


def _serve(connection: Connection, contestant: InProcess, answers: Path, least: float) -> None:
    """The worker's side: build and open, then a sample for each request until the other side
    closes.
    """
    try:
        for module in ("numpy", *contestant.needs):
            importlib.import_module(module)
        before = own_memory("VmRSS")
        run = contestant.build(*contestant.arguments)
        forget_peak()
        connection.send(_opened(run, answers, before))
        repetitions = 0
        while connection.recv():
            repetitions = repetitions or max(1, round(least / _seconds(run, 1, contestant.clock)))
            connection.send(_seconds(run, repetitions, contestant.clock))
    except EOFError:
        pass
    except Exception as error:  # whatever a library raises is a result, too
        connection.send(Failed(f"{type(error).__name__}: {error}".splitlines()[0][:120]))


def _opened(run: Run, answers: Path, before: int) -> Opening:
    from benchmarks.answers import difference, parts_of, save, saved

    start = time.perf_counter()
    answer = run()
    seconds = time.perf_counter() - start
    peak = own_memory("VmHWM") - before
    if not answer:
        return Opening(seconds, peak, None)
    parts = parts_of(answer)
    others = [
        path
        for path in (answers.with_suffix(".npz"), answers.with_suffix(".jsonl"))
        if path.exists()
    ]
    if others:
        return Opening(seconds, peak, difference(parts, saved(others[0])))
    save(answers.with_suffix(".npz"), parts)
    return Opening(seconds, peak, None)


def _seconds(run: Run, repetitions: int, clock: Clock) -> float:
    now = getattr(time, clock)
    start = now()
    for _ in range(repetitions):
        run()
    return float(now() - start) / repetitions


class Process:
    """A command, run anew for each sample."""

    def __init__(self, contestant: Command, answers: Path) -> None:
        self.contestant, self.answers = contestant, answers.with_suffix(".jsonl")

    def open(self) -> Opening:
        """Run once, keeping what it prints if that is an answer. Raises Failed."""
        first = self.contestant.answers and not self.answers.exists()
        seconds, peak = self._run(self.answers if first else Path(os.devnull))
        return Opening(seconds, peak, None)

    def sample(self) -> float:
        """Seconds for one run. Raises Failed."""
        return self._run(Path(os.devnull))[0]

    def close(self) -> None:
        """Nothing is left running."""

    def _run(self, output: Path) -> tuple[float, int]:
        environment = {"PYTHONPATH": str(ROOT), **self.contestant.environment}
        report = self.answers.with_suffix(".report")
        command = [sys.executable, "-I", "-S", _LAUNCH, str(report), *self.contestant.command]
        with limited(self.contestant.cores, environment), output.open("wb") as printed:
            done = subprocess.run(
                command,
                stdin=subprocess.DEVNULL,
                stdout=printed,
                stderr=subprocess.PIPE,
                text=True,
                check=False,
            )
        if done.returncode != 0:
            self.answers.unlink(missing_ok=True)
            raise Failed(
                ": ".join(
                    [f"ended with {done.returncode}", *done.stderr.strip().splitlines()[-1:]]
                )[:160]
            )
        seconds, peak = report.read_text(encoding="ascii").split()
        return float(seconds), int(peak)
