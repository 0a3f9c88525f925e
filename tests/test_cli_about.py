"""Commands about gradcli itself: functions by words, codes, surroundings, the cache, and what a
shell offers on Tab.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys

import numpy as np
import pytest

from gradcli.cli.commands import COMMANDS, GROUPS
from gradcli.query.catalogue import functions
from gradcli.report.rules import RULES


def names_of(text):
    return re.findall(r"^  (\S+)", text, re.MULTILINE)


SEARCHES = {
    "a word of descriptions": (["running", "product"], ["cumprod"]),
    "an alias": (["arctan2"], ["atan2"]),
    "capitals": (["BESSEL", "Second"], ["yv", "kv"]),
    "part of a name": (["pool2d"], ["max_pool2d", "avg_pool2d"]),
}


@pytest.mark.parametrize(("words", "wanted"), SEARCHES.values(), ids=SEARCHES)
def test_functions_by_words(call_cli, words, wanted):
    done = call_cli("functions", *words)
    assert done.returncode == 0
    assert set(wanted) <= set(names_of(done.stdout)) or done.stdout.startswith(f"{wanted[0]}(")
    if not done.stdout.startswith(f"{wanted[0]}("):
        assert len(names_of(done.stdout)) < 60


def test_a_list_of_functions_is_cut_nowhere(call_cli):
    listed = call_cli("functions").stdout
    assert {record.name for _, record in functions()} == set(names_of(listed))


@pytest.mark.parametrize("name", RULES)
def test_every_code_is_explained(call_cli, name):
    code = name.removeprefix("error-")
    done = call_cli("help", f"error[{code}]" if name != code else code)
    head, *advice = done.stdout.splitlines()
    assert (done.returncode, head) == (0, f"{code}: {RULES[name].description}.")
    assert " ".join(line.strip() for line in advice) == " ".join(RULES[name].advice.split())
    assert len(RULES[name].advice) > 20


def test_all_codes_are_listed(call_cli):
    assert len(re.findall(r"^\S+", call_cli("help").stdout, re.MULTILINE)) == len(RULES)


def test_what_runs_here(call_cli):
    known = json.loads(call_cli("info", "--format", "json").stdout)
    assert known["numpy"] == np.__version__
    assert known["long double"].startswith(f"{np.finfo(np.longdouble).nmant + 1} bits")
    shown = call_cli("info").stdout.splitlines()
    assert [line.split("  ")[0] for line in shown[: len(known)]] == list(known)


def test_the_cache(call_cli, tmp_path, monkeypatch):
    kept = tmp_path / "kept"
    monkeypatch.setenv("GRADCLI_CACHE_DIR", str(kept))
    (kept / "ab").mkdir(parents=True)
    (kept / "mine.txt").write_text("not ours")
    (kept / "ab" / "notes.md").write_text("not ours")
    stores = ("verdicts", "compiled code")
    nothing = [str(kept), *(f"{store}: 0 files, 0.0 kB" for store in stores)]
    assert call_cli("cache").stdout.splitlines() == nothing
    assert call_cli("check", "-e", "x**2*sin(x)", "x=2").returncode == 0
    count = int(call_cli("cache").stdout.splitlines()[1].split()[1])
    assert count >= 1
    files = "1 file," if count == 1 else f"{count} files,"
    assert (
        call_cli("cache", "--clear").stdout.splitlines()[1].startswith(f"verdicts: removed {files}")
    )
    assert call_cli("cache").stdout.splitlines() == nothing
    assert sorted(path.name for path in kept.rglob("*") if path.is_file()) == [
        "mine.txt",
        "notes.md",
    ]


# -- completion
# -----------------------------------------------------------------------------------------------------


def test_completion_is_shown_and_costs_nothing_otherwise(run_cli, cli_environment):
    assert "--show-completion" in run_cli("--help").stdout
    done = run_cli(env={**cli_environment, "_GRADCLI_COMPLETE": "source_zsh"})
    assert done.stdout.lstrip().startswith("#compdef gradcli")
    script = "import gradcli.cli.main; print(gradcli.cli.main.app._add_completion)"
    kept = {name: value for name, value in os.environ.items() if name != "_GRADCLI_COMPLETE"}
    done = subprocess.run(
        [sys.executable, "-c", script, "eval", "1"],
        capture_output=True,
        text=True,
        env=kept,
        check=True,
    )
    assert done.stdout.split() == ["False"]


@pytest.mark.parametrize(
    "line",
    [
        *(f"{command} --help" for command in ["", *COMMANDS]),
        *("info", "functions", "functions softmax", "help", "help unknown-name", "cache"),
    ],
)
def test_what_is_said_of_gradcli_fits_a_narrow_terminal(call_cli, monkeypatch, line):
    monkeypatch.setenv("COLUMNS", "40")
    long = [shown for shown in call_cli(*line.split()).stdout.splitlines() if len(shown) > 40]
    assert all(len(word) > 30 for shown in long for word in shown.split())  # a path
    assert not long or "help" not in line


def test_help_of_check_has_all_options_by_their_subjects():
    options = [name for name in COMMANDS["check"][0].options() if name != "arguments"]
    assert sorted(" ".join(GROUPS["check"].values()).split()) == sorted(options)
