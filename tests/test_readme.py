"""Every example of the README is run, and prints what the README says."""

from __future__ import annotations

import doctest
import os
import re
import subprocess
import sys
from pathlib import Path

import function_table
import pytest

ROOT = Path(__file__).resolve().parent.parent
README = ROOT / "README.md"
BLOCK = re.compile(r"```console\n(.*?)```", re.DOTALL)
COMMAND = re.compile(r"^\$ (.*)$", re.MULTILINE)


def examples(text: str) -> list[tuple[str, str]]:
    """The commands of the console blocks, each with the output below it."""
    found = []
    for block in BLOCK.findall(text):
        parts = COMMAND.split(block)
        found += [(parts[i], parts[i + 1].strip("\n")) for i in range(1, len(parts), 2)]
    return found


def run(command: str, folder: Path) -> str:
    """What a command prints on both streams; "gradcli" is this interpreter's."""
    script = folder / "gradcli"
    script.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m gradcli.cli.main "$@"\n')
    script.chmod(0o755)
    environment = {k: v for k, v in os.environ.items() if k not in ("FORCE_COLOR", "GITHUB_ACTIONS", "PY_COLORS")}
    environment |= {"PATH": f"{folder}{os.pathsep}{environment['PATH']}", "NO_COLOR": "1"}
    done = subprocess.run(
        ["sh", "-c", command], cwd=ROOT, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False, timeout=60
    )
    return done.stdout.decode().strip("\n")


def digits_apart(text: str) -> str:
    """Output with the digit counts of verdicts and the widths of enclosures left open, which differ between platforms, and with times."""
    counted = re.sub(r"within 1e-\d+", "within #", re.sub(r"to \d+ digits", "to # digits", text))
    return re.sub(r" in \d+\.\d\d s$", " in # s", counted, flags=re.MULTILINE)


@pytest.mark.parametrize(("command", "output"), examples(README.read_text(encoding="utf-8")), ids=lambda value: str(value)[:60])
def test_command(command: str, output: str, tmp_path: Path) -> None:
    assert digits_apart(run(command, tmp_path)) == digits_apart(output)


def test_python_examples() -> None:
    failures, tried = doctest.testfile(str(README), module_relative=False, optionflags=doctest.NORMALIZE_WHITESPACE)
    assert tried >= 4
    assert failures == 0


def test_every_option_of_eval_is_in_its_help_and_every_verdict_in_the_readme() -> None:
    from gradcli.report.verdicts import Verdict

    text = README.read_text(encoding="utf-8")
    for verdict in Verdict:
        assert verdict is Verdict.SKIPPED or f"`{verdict.word}`" in text


def test_table_of_functions_is_that_of_the_records() -> None:
    text = README.read_text(encoding="utf-8")
    assert function_table.written(text) == text, (
        "the README's table of functions is not that of the records: run python tests/function_table.py"
    )


def rewrite() -> None:
    """Put the output of every command, and the table of functions, into the README."""
    import tempfile

    def fill(match: re.Match[str]) -> str:
        with tempfile.TemporaryDirectory() as folder:
            commands = COMMAND.findall(match[1])
            return "```console\n" + "\n".join(f"$ {c}\n{run(c, Path(folder))}" for c in commands) + "\n```"

    text = BLOCK.sub(fill, README.read_text(encoding="utf-8"))
    README.write_text(function_table.written(text), encoding="utf-8")


if __name__ == "__main__":
    rewrite()
