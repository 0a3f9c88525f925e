"""A trial: one run of the command line in this process, with its arguments, standard input and
files; and what came of it.
"""

from __future__ import annotations

import io
import json
import os
import resource
import sys
import tempfile
import time
import traceback
import warnings
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

JSONL = ("-i", "jsonl", "-", "--format", "jsonl")


@dataclass(frozen=True)
class Trial:
    """What is given to ``gradcli``.

    Texts hold bytes as `os.fsdecode` has them, so that a trial is a line of JSON.

    records  whether standard input is JSON Lines, of which every line is an input of its own
    """

    kind: str
    arguments: tuple[str, ...]
    stdin: str = ""
    files: dict[str, str] = field(default_factory=dict)
    records: bool = False

    @property
    def inputs(self) -> int:
        return (
            max(1, sum(bool(line.strip()) for line in self.stdin.split("\n")))
            if self.records
            else 1
        )

    def with_lines(self, lines: list[str]) -> Trial:
        return replace(self, stdin="\n".join(lines))

    def as_json(self) -> str:
        return json.dumps({key: value for key, value in asdict(self).items() if value})


def trial_of(data: dict[str, Any]) -> Trial:
    return Trial(
        data.get("kind", "corpus"),
        tuple(data["arguments"]),
        data.get("stdin", ""),
        data.get("files", {}),
        data.get("records", False),
    )


@dataclass(frozen=True)
class Ending:
    """How a trial ended."""

    code: int | None  # None where an exception escaped
    out: str
    err: str
    seconds: float  # of the processor
    grown: int  # bytes by which the most memory of this process grew


def run(trial: Trial) -> Ending:
    """Run a trial in a folder of its own that has its files; nothing of it stays."""
    with tempfile.TemporaryDirectory(prefix="fuzz") as folder:
        for name, content in trial.files.items():
            path = Path(folder, name)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content.encode("utf-8", "surrogateescape"))
        return _run_in(folder, trial)


def _run_in(folder: str, trial: Trial) -> Ending:
    from gradcli.cli.main import app
    from gradcli.cli.process import run_guarded

    stdin = io.TextIOWrapper(io.BytesIO(trial.stdin.encode("utf-8", "surrogateescape")), "utf-8")
    out, err = (io.TextIOWrapper(io.BytesIO(), "utf-8", write_through=True) for _ in range(2))
    before = {name: getattr(sys, name) for name in ("stdin", "stdout", "stderr", "argv")}
    here, most, began = os.getcwd(), _most_memory(), time.process_time()
    code: int | None
    try:
        os.chdir(folder)
        sys.stdin, sys.stdout, sys.stderr, sys.argv = stdin, out, err, ["gradcli", *trial.arguments]
        with warnings.catch_warnings():
            for category in (RuntimeWarning, UserWarning, SyntaxWarning):
                warnings.simplefilter(
                    "always", category
                )  # what a user would see once, every trial shows
            code = run_guarded(app)
    except KeyboardInterrupt:
        raise
    except BaseException:
        code = None
        err.write(traceback.format_exc())
    finally:
        for name, value in before.items():
            setattr(sys, name, value)
        os.chdir(here)
    seconds, grown = time.process_time() - began, _most_memory() - most
    printed, said = (
        stream.buffer.getvalue().decode("utf-8", "surrogateescape") for stream in (out, err)
    )
    return Ending(code, printed, said, seconds, grown)


def _most_memory() -> int:
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return most if sys.platform == "darwin" else most * 1024
