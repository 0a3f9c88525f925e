"""Every example of the README and of the manual is run, and prints what stands there."""

from __future__ import annotations

import doctest
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import function_table
import pytest

ROOT = Path(__file__).resolve().parent.parent
README = ROOT / "README.md"
PAGES = [README, *sorted((ROOT / "docs").rglob("*.md"))]
PICTURE = ROOT / "docs" / "pictures" / "graph.svg"
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
    """What a command prints on both streams; "gradcli" and "python" are this interpreter's."""
    for name, module in (("gradcli", "-m gradcli"), ("python", "")):
        script = folder / name
        script.write_text(f'#!/bin/sh\nexec "{sys.executable}" {module} "$@"\n')
        script.chmod(0o755)
    environment = {
        k: v
        for k, v in os.environ.items()
        if k not in ("FORCE_COLOR", "GITHUB_ACTIONS", "PY_COLORS")
    }
    environment |= {"PATH": f"{folder}{os.pathsep}{environment['PATH']}", "NO_COLOR": "1"}
    done = subprocess.run(
        ["sh", "-c", command],
        cwd=ROOT,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        check=False,
        timeout=60,
    )
    return done.stdout.decode().strip("\n")


def words_of(command: str) -> list[str] | None:
    """The arguments of a command of gradcli's; None where a shell has more to do than to take its
    quotes away.
    """
    reader = shlex.shlex(command, posix=True, punctuation_chars=True)
    reader.whitespace_split = True
    program, *words = reader
    return (
        None
        if program != "gradcli" or any(set(word) <= set(reader.punctuation_chars) for word in words)
        else words
    )


def digits_apart(text: str) -> str:
    """Output with the digit counts of verdicts, the widths of enclosures and the last digits of
    long numbers left open, which differ between processors, and with times.
    """
    text = re.sub(r"\d+\.\d{14,}", lambda number: f"{float(number[0]):.14g}", text)
    counted = re.sub(r"within 1e-\d+", "within #", re.sub(r"to \d+ digits", "to # digits", text))
    return re.sub(r" in \d+\.\d\d s$", " in # s", counted, flags=re.MULTILINE)


OF_README = examples(README.read_text("utf-8"))
EXAMPLES = dict.fromkeys(example for page in PAGES for example in examples(page.read_text("utf-8")))


@pytest.mark.ci
@pytest.mark.parametrize(("command", "output"), OF_README, ids=lambda value: str(value)[:60])
def test_command_as_typed(command: str, output: str, tmp_path: Path) -> None:
    assert digits_apart(run(command, tmp_path)) == digits_apart(output)


@pytest.mark.parametrize(("command", "output"), EXAMPLES, ids=lambda value: str(value)[:60])
def test_command(command: str, output: str, tmp_path: Path, call_cli: Callable[..., Any]) -> None:
    """In a process of its own only where the shell has a part in it."""
    words = words_of(command)
    printed = (
        run(command, tmp_path)
        if words is None
        else call_cli(*words, cwd=ROOT, together=True).stdout.strip("\n")
    )
    assert digits_apart(printed) == digits_apart(output)


@pytest.mark.parametrize(
    "page",
    [page for page in PAGES if ">>> " in page.read_text("utf-8")],
    ids=lambda page: page.name,
)
def test_python_examples(page: Path) -> None:
    failures, tried = doctest.testfile(
        str(page), module_relative=False, optionflags=doctest.NORMALIZE_WHITESPACE
    )
    assert tried >= 2
    assert failures == 0


def test_every_verdict_is_in_the_manual() -> None:
    from gradcli import Verdict

    text = (ROOT / "docs" / "verdicts.md").read_text(encoding="utf-8")
    for verdict in Verdict:
        assert verdict is Verdict.SKIPPED or f"`{verdict.word}`" in text


def test_every_command_is_in_the_manual() -> None:
    from gradcli.cli.main import Commands

    text = "".join(page.read_text("utf-8") for page in PAGES)
    assert [name for name in Commands.names if f"gradcli {name}" not in text] == []


def test_the_readme_is_a_door() -> None:
    assert len(README.read_text("utf-8").splitlines()) < 300


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", page.read_text("utf-8")):
        assert "://" in target or (page.parent / target).exists(), f"{page.name} links to {target}"


def test_table_of_functions_is_that_of_the_records() -> None:
    text = function_table.PAGE.read_text(encoding="utf-8")
    assert function_table.written(text) == text, (
        "the manual's table of functions is not that of the records: run python "
        "tests/function_table.py"
    )


def test_the_picture_is_that_of_its_expression(tmp_path: Path) -> None:
    run(f"gradcli explain '3*a**2 + b' a=2 b=6 --no-check --out {tmp_path / 'graph.svg'}", tmp_path)
    assert (tmp_path / "graph.svg").read_text("utf-8") == PICTURE.read_text("utf-8")


def rewrite() -> None:
    """Put the output of every command, the picture and the table of functions into the pages."""
    import tempfile

    def fill(match: re.Match[str]) -> str:
        with tempfile.TemporaryDirectory() as folder:
            commands = COMMAND.findall(match[1])
            return (
                "```console\n"
                + "\n".join(f"$ {c}\n{run(c, Path(folder))}" for c in commands)
                + "\n```"
            )

    for page in PAGES:
        page.write_text(BLOCK.sub(fill, page.read_text(encoding="utf-8")), encoding="utf-8")
    function_table.PAGE.write_text(
        function_table.written(function_table.PAGE.read_text("utf-8")), encoding="utf-8"
    )
    with tempfile.TemporaryDirectory() as folder:
        run(f"gradcli explain '3*a**2 + b' a=2 b=6 --no-check --out {PICTURE}", Path(folder))


if __name__ == "__main__":
    rewrite()
