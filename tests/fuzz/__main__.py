"""``python -m tests.fuzz --minutes 60 [--seed N] [--jobs N]``: fuzzes, prints what failed with a
small reproduction, and a summary.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from pathlib import Path
from queue import Empty, Queue
from typing import Any

HERE = Path(__file__).parent
# seconds of the clock after which a worker is ended that waits for something; one that computes is
# ended by `worker.STUCK`
SILENT = 900.0


class Worker:
    """A process that runs trials; what it says is a line of JSON each."""

    def __init__(
        self,
        seed: int,
        first: int,
        step: int,
        until: float,
        heard: Queue[tuple[Worker, dict[str, Any] | None]],
    ) -> None:
        self.seed, self.number, self.step, self.heard = seed, first, step, heard
        left = max(1.0, until - time.monotonic())
        command = [sys.executable, "-m", "tests.fuzz.worker", *map(str, (seed, first, step, left))]
        self.process = subprocess.Popen(
            command,
            stdout=subprocess.PIPE,
            stdin=subprocess.DEVNULL,
            text=True,
            cwd=HERE.parent.parent,
        )
        self.last = time.monotonic()
        threading.Thread(target=self._listen, daemon=True).start()

    def _listen(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self.heard.put((self, json.loads(line)))
        self.process.wait()
        self.heard.put((self, None))


class Summary:
    """What was run, and what failed."""

    def __init__(self) -> None:
        self.inputs: Counter[str] = Counter()
        self.codes: Counter[str] = Counter()
        self.failures: dict[str, dict[str, Any]] = {}

    def add(self, said: dict[str, Any]) -> None:
        self.inputs[said["kind"]] += said["inputs"]
        self.codes.update(said["codes"])
        for failure in said.get("failures", []):
            known = self.failures.setdefault(failure["what"], {**failure, "times": 0})
            known["times"] += 1
            if known["times"] == 1:
                print(
                    f"FAILED {failure['seed']}:{failure['number']} {failure['what']}\n  "
                    f"{failure['trial'][:2000]}",
                    flush=True,
                )

    def text(self) -> str:
        total = sum(self.inputs.values())
        lines = [
            f"{total:,} inputs: "
            + ", ".join(f"{kind} {count:,}" for kind, count in self.inputs.most_common())
        ]
        lines.append(
            "records: " + ", ".join(f"{code} {count:,}" for code, count in self.codes.most_common())
        )
        lines += [f"{failure['times']:>6} times: {what}" for what, failure in self.failures.items()]
        lines.append(f"{len(self.failures)} failures" if self.failures else "no failure")
        return "\n".join(lines)


def main(words: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description="Fuzz gradcli.")
    parser.add_argument("--minutes", type=float, default=1.0)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--slow", default="5", help="seconds from which on a trial has failed")
    given = parser.parse_args(words)
    os.environ["FUZZ_SLOW"] = given.slow  # of the workers
    until = time.monotonic() + 60 * given.minutes
    heard: Queue[tuple[Worker, dict[str, Any] | None]] = Queue()
    workers = {Worker(given.seed, job, given.jobs, until, heard) for job in range(given.jobs)}
    summary = Summary()
    while workers:
        try:
            worker, said = heard.get(timeout=1)
        except Empty:
            for worker in workers:
                if time.monotonic() - worker.last > SILENT:
                    worker.process.kill()
            continue
        if said is None:
            workers.discard(worker)
            if worker.process.returncode not in (
                0,
                10,
            ):  # 10: it wants to be begun anew, for its memory was large
                summary.add(_died(worker))
            if time.monotonic() < until and worker.process.returncode != 0:
                workers.add(
                    Worker(given.seed, worker.number + worker.step, worker.step, until, heard)
                )
        elif "began" in said:
            worker.number, worker.last = said["began"], time.monotonic()
        else:
            summary.add(said)
    print(summary.text())
    return int(bool(summary.failures))


def _died(worker: Worker) -> dict[str, Any]:
    """What a worker that has ended in the middle of a trial did not say."""
    sys.path.insert(0, str(HERE.parent))
    from fuzz.generating import trial

    was = trial(worker.seed, worker.number)
    code = worker.process.returncode
    ways = {-signal.SIGKILL: f"silent for {SILENT:.0f} s", -signal.SIGPROF: "stuck, computing"}
    what = f"{was.kind}: {ways.get(code, f'the process ended with {code}')}"
    failure = {"seed": worker.seed, "number": worker.number, "what": what, "trial": was.as_json()}
    return {"kind": was.kind, "inputs": was.inputs, "codes": {}, "failures": [failure]}


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
