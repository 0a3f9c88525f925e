"""``python -m tests.fuzz.faults [WORD ...]``: the n-th write, read, import and allocation fails,
for every n, over samples and commands.

What must hold: no traceback, an exit code that is honest (0 and 1 only with everything that was
asked for), a record for each record, and files that are as they were or as they should be, whole.
Every run is in a process of its own, which is a fork of this one.
"""

from __future__ import annotations

import errno
import io
import json
import os
import re
import shlex
import signal
import sys
import tempfile
import traceback
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))  # where the tests' own modules are

from recorded import read_table

from fuzz.injecting import ALLOCATING, COMPUTING, IMPORTING, READING, WRITING, Fault, Raw, injected
from fuzz.trials import Trial

HOME = Path(__file__).parent.parent.parent
MOST = 120  # seconds of a run
_LASTING = re.compile(r" in \d+(\.\d+)? (ms|s)\b|time=\"[^\"]*\"|timestamp=\"[^\"]*\"")
_VARIANTS = {
    WRITING: ((False, errno.EIO), (True, errno.ENOSPC)), READING: ((False, errno.EIO), (True, errno.EIO)),
    IMPORTING: ((False, 0), (True, 0)), COMPUTING: ((False, 0), (True, 0)), ALLOCATING: ((False, 0),),
}  # fmt: skip


@dataclass
class Run:
    """What a run left: how it ended, what it printed, and the files of its folder."""

    code: int  # negative: the signal that ended it
    out: str = ""
    err: str = ""
    files: dict[str, str] = field(default_factory=dict)
    reached: bool = False


def run(trial: Trial, fault: Fault) -> Run:
    """Run a trial in a fork of this process, with a fault."""
    with tempfile.TemporaryDirectory(prefix="fault") as folder:
        for name, content in trial.files.items():
            Path(folder, name).write_text(content)
        ours, theirs = os.pipe()
        child = os.fork()
        if child == 0:
            os.close(ours)
            signal.alarm(MOST)
            try:
                said = _run_in(folder, trial, fault)
                with os.fdopen(theirs, "w") as pipe:
                    json.dump(said, pipe)
            finally:
                os._exit(0)
        os.close(theirs)
        with os.fdopen(ours) as pipe:
            text = pipe.read()
        _, status = os.waitpid(child, 0)
        files = {
            path.relative_to(folder).as_posix(): path.read_bytes().decode(
                "utf-8", "surrogateescape"
            )
            for path in Path(folder).rglob("*")
            if path.is_file() and "cache" not in path.parts
        }
        if not text:
            return Run(
                -os.WTERMSIG(status) if os.WIFSIGNALED(status) else -1, files=files, reached=True
            )
        return Run(**json.loads(text), files=files)


def _run_in(folder: str, trial: Trial, fault: Fault) -> dict[str, object]:
    from gradcli.cli.main import app
    from gradcli.cli.process import run_guarded

    os.environ.update(
        NO_COLOR="1", TERMINAL_WIDTH="80", GRADCLI_CACHE_DIR=os.path.join(folder, "cache")
    )
    for name in ("GITHUB_ACTIONS", "FORCE_COLOR", "GRADCLI_TRACEBACK", "CI"):
        os.environ.pop(name, None)
    os.chdir(folder)
    never = Fault("none", 1)
    stdout, stderr = Raw(fault), Raw(never)  # a fault of standard error is nobody's to tell
    sys.stdin = io.TextIOWrapper(io.BufferedReader(Raw(fault, trial.stdin.encode())), "utf-8")
    sys.stdout = io.TextIOWrapper(io.BufferedWriter(stdout), "utf-8")
    sys.stderr = io.TextIOWrapper(io.BufferedWriter(stderr), "utf-8", write_through=True)
    sys.argv = ["gradcli", *trial.arguments]
    code = -1000
    try:
        with injected(fault):
            code = run_guarded(app)
    except BaseException:
        stderr.taken += traceback.format_exc().encode()
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError):
            stream.flush()
    out, err = (bytes(stream.taken).decode("utf-8", "replace") for stream in (stdout, stderr))
    return {"code": code, "out": out, "err": err, "reached": fault.reached}


def complaints(trial: Trial, whole: Run, run: Run) -> list[str]:
    """What was lost or harmed by a fault; ``whole`` is the run without one."""
    found = []
    if run.code < 0 or run.code not in (0, 1, 2, 3):
        found.append(f"it ended with {run.code}: {run.err[-300:]}")
    if "Traceback (most recent" in run.err:
        found.append(f"a traceback: {run.err[-300:]}")
    complete = _timeless(run.out) == _timeless(whole.out)
    told = run.code in (0, 1) and "undetermined" in run.out  # a verdict, which says why
    if run.code in (0, 1) and not complete and not told:
        found.append(
            f"exit code {run.code}, and the output is not complete: "
            f"{_first_difference(run.out, whole.out)}"
        )
    if (
        run.code in (2, 3)
        and whole.code in (0, 1)
        and not (run.err.strip() or '"error": {' in run.out or "error" in run.out)
    ):
        found.append(f"exit code {run.code} without a word")
    for name in whole.files.keys() | run.files.keys():
        old, new, now = trial.files.get(name), whole.files.get(name), run.files.get(name)
        another = (told or run.code in (2, 3)) and _is_whole(name, now)
        if (
            now != old
            and not another
            and (now is None or new is None or _timeless(now) != _timeless(new))
        ):
            found.append(f"{name} is neither old nor new: {(now or '')[:200]!r}")
        if run.code in (0, 1) and not told and _timeless(now or "") != _timeless(new or ""):
            found.append(f"exit code {run.code}, and {name} is not written")
    if run.code in (0, 1, 2, 3) and "jsonl" in trial.arguments and "cannot write" not in run.err:
        lines, wanted = run.out.count("\n"), whole.out.count("\n")
        if lines != wanted and "error" not in run.err and '"error": {' not in run.out:
            found.append(f"{lines} records of {wanted}, and no error")
    return found


def _is_whole(name: str, content: str | None) -> bool:
    """A report of a run in which something failed is another one; it must be whole all the same."""
    if content is None:
        return False
    import xml.etree.ElementTree

    try:
        if name.endswith(".xml"):
            xml.etree.ElementTree.fromstring(content)
        elif name.endswith(".json"):
            json.loads(content)
        elif name.endswith(".jsonl"):
            [json.loads(line) for line in content.splitlines()]
    except (ValueError, xml.etree.ElementTree.ParseError):
        return False
    return bool(content) and ".new." not in name


def _timeless(text: str) -> str:
    return _LASTING.sub("", text)


def _first_difference(one: str, other: str) -> str:
    for left, right in zip([*one.split("\n"), "<end>"], other.split("\n"), strict=False):
        if _timeless(left) != _timeless(right):
            return f"{left[:160]!r} for {right[:160]!r}"
    return "longer"


RECORDS = """{"id": 1, "expr": "x**2", "at": {"x": 3}}
{"id": 2, "expr": "sum(x)", "at": {"x": "@a.json"}}
{"id": 3, "expr": "sin(x)", "at": {"x": 1}}
"""
PROGRAM = "x = [1.5, 2]\ny = 3\nsum(x**2)*y\nassert y > 2\nexp(y)\n"
FILES = {"a.json": "[1, 2, 3]", "p.grad": PROGRAM, "r.jsonl": RECORDS}


def trials() -> dict[str, Trial]:
    """Commands over small inputs, with everything that they write; and the samples."""
    more = {**FILES, "u.jsonl": '{"expr": "x**2", "at": {"x": 3}, "expect": {"value": 8}}\n'}
    found = {
        name: Trial(name, tuple(shlex.split(words)), RECORDS if "stdin" in name else "", more)
        for name, words in read_table("faulted_commands.json").items()
    }
    for path in sorted((HOME / "samples").iterdir()):
        if path.suffix in (".grad", ".jsonl"):
            files = {path.name: path.read_text()}
            found[f"sample {path.name}"] = Trial(
                path.name, ("eval", "--no-check", "-f", path.name, "--format", "jsonl"), "", files
            )
    return found


def faulted(
    trial: Trial, kinds: tuple[str, ...], stride: int = 1, most: int = 10_000
) -> Iterator[tuple[Fault, list[str]]]:
    """Every fault of some kinds, or every so many, until one is not reached; with what is wrong
    then.
    """
    whole = run(trial, Fault("none", 1))
    for kind in kinds:
        for lasting, number in _VARIANTS[kind]:
            for place in range(1, most, stride):
                fault = Fault(kind, place, lasting, number)
                after = run(trial, fault)
                if not after.reached:
                    break
                yield fault, complaints(trial, whole, after)


def warmed(trial: Trial) -> None:
    """Import what a trial imports, before its forks, which are quick then; only those whose imports
    fail need to be cold.
    """
    from fuzz.trials import run as run_here

    os.environ["GRADCLI_CACHE_DIR"] = tempfile.mkdtemp(prefix="fault")
    run_here(trial)


def main(words: list[str]) -> int:
    import gradcli.cli.main  # noqa: F401  (all forks have it)

    stride = next((int(word[9:]) for word in words if word.startswith("--stride=")), 1)
    kinds = [word[2:] for word in words if word[2:] in _VARIANTS] or [
        IMPORTING,
        WRITING,
        READING,
        COMPUTING,
    ]
    names = [word for word in words if not word.startswith("--")]
    chosen = {
        name: trial
        for name, trial in trials().items()
        if not names or any(word in name for word in names)
    }
    total = failed = 0
    for kind in kinds:  # imports first: nothing is imported here then
        for name, trial in chosen.items():
            if kind != IMPORTING:
                warmed(trial)
            count = 0
            for fault, said in faulted(trial, (kind,), stride):
                count += 1
                failed += bool(said)
                if said:
                    print(f"{name}: {fault}: {said[0]}", flush=True)
            total += count
            print(f"{name}: {kind}: {count} faults", flush=True)
    print(f"{total:,} faults, {failed} with a loss")
    return int(bool(failed))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
