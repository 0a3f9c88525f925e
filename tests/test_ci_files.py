"""What other people's CI runs of this repository: the action, the template and the hooks, as their
schemas have them, and step by step.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema
import numpy as np
import pytest
from recorded import read_json

yaml = pytest.importorskip(
    "yaml", reason="PyYAML reads what CI systems read; it is in the extra 'test'"
)

ROOT = Path(__file__).parents[1]
ACTION, TEMPLATE, HOOKS = (
    ROOT / "action.yml",
    ROOT / "templates" / "gradcli.yml",
    ROOT / ".pre-commit-hooks.yaml",
)
DATA = Path(__file__).parent / "data"
pytestmark = [
    pytest.mark.ci,
    pytest.mark.skipif(not ACTION.exists(), reason="the files for CI stand in a checkout only"),
    pytest.mark.skipif(os.name == "nt", reason="their steps are scripts of a shell"),
]

SETTINGS = """
[[tool.gradcli.functions]]
function = "mine:loss"
gradient = "mine:slope"
at = { x = [1, 2.5] }
"""
MODULE = "import numpy as np\ndef loss(x): return np.sum(x**2)\ndef slope(x): return 2*x\n"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    (folder / "gradients").mkdir(parents=True)
    (folder / "gradients" / "a.grad").write_text("x = 2\nx**2\n", "utf-8")
    (folder / "gradients" / "b c.grad").write_text("x = 3\nassert x**2 == 9\n", "utf-8")
    (folder / "wrong.grad").write_text("x = 2\nassert x == 3\n", "utf-8")
    (folder / "mine.py").write_text(MODULE, "utf-8")
    (folder / "pyproject.toml").write_text(SETTINGS, "utf-8")
    return folder


def environment(tmp_path: Path, **further: str) -> dict[str, str]:
    """That of a runner whose Python is ours, with this package; pip, which would ask an index, says
    what it was asked to install.
    """
    tools = tmp_path / "tools"
    tools.mkdir(exist_ok=True)
    log = tmp_path / "pip.log"
    python = tools / "python"
    python.write_text(
        f'#!/bin/sh\nif [ "$1 $2" = "-m pip" ]; then shift 3; echo "$@" >> "{log}"; exit 0; '
        f'fi\nexec "{sys.executable}" "$@"\n',
        "utf-8",
    )
    python.chmod(0o755)
    known = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("GITHUB_", "CI", "GRADCLI"))
    }
    return {
        **known,
        "PATH": f"{tools}:{os.environ['PATH']}",
        "PYTHONPATH": str(ROOT),
        "NO_COLOR": "1",
        **further,
    }


# -- GitHub
# ------------------------------------------------------------------------------------------------------------------


def test_the_action_is_one() -> None:
    jsonschema.validate(yaml.safe_load(ACTION.read_text("utf-8")), read_json("github-action.json"))


def test_no_input_stands_in_a_script() -> None:
    """What somebody hands over is a variable of the shell's: in the text of a script it would be
    run.
    """
    for step in yaml.safe_load(ACTION.read_text("utf-8"))["runs"]["steps"]:
        assert "${{" not in step.get("run", "")


def substituted(text: str, known: dict[str, str]) -> str:
    return re.sub(r"\$\{\{ *([^}]+?) *\}\}", lambda found: known.get(found[1], ""), text)


class Run:
    """What came of the steps of the action that are scripts; the others are named."""

    def __init__(self, project: Path, tmp_path: Path, **inputs: str) -> None:
        action = yaml.safe_load(ACTION.read_text("utf-8"))
        names = {
            name: str(described.get("default", "")) for name, described in action["inputs"].items()
        }
        assert set(inputs) <= {name.replace("-", "_") for name in names}, (
            "an input that the action does not have"
        )
        names |= {name.replace("_", "-"): value for name, value in inputs.items()}
        known = {f"inputs.{name}": value for name, value in names.items()}
        known |= {"runner.temp": str(tmp_path), "runner.os": "Linux", "runner.arch": "X64"}
        self.output, self.summary = tmp_path / "output", tmp_path / "summary.md"
        self.uses: list[str] = []
        self.text, self.code = "", 0
        for step in action["runs"]["steps"]:
            if "uses" in step:
                self.uses.append(step["uses"])
                continue
            told = {name: substituted(value, known) for name, value in step.get("env", {}).items()}
            given = environment(
                tmp_path,
                **told,
                GITHUB_OUTPUT=str(self.output),
                GITHUB_STEP_SUMMARY=str(self.summary),
            )
            folder = project / substituted(step["working-directory"], known)
            command = ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step["run"]]
            done = subprocess.run(
                command, cwd=folder, env=given, capture_output=True, text=True, check=False
            )
            self.text += done.stdout + done.stderr
            self.code = done.returncode
            if done.returncode:
                break


def test_the_action_checks_files_and_functions(project: Path, tmp_path: Path) -> None:
    run = Run(
        project,
        tmp_path,
        files="gradients/*.grad",
        functions="true",
        reports="junit=out.xml\nmarkdown=out.md",
        sarif="true",
    )
    assert run.code == 0, run.text
    assert run.text.splitlines()[-1].startswith("3 passed")
    assert run.output.read_text("utf-8") == "exit-code=0\n"
    assert "3 cases, none failed" in run.summary.read_text("utf-8")
    assert (project / "out.xml").read_text("utf-8").count("<testcase") == 3
    assert "3 passed" in (project / "out.md").read_text("utf-8")
    jsonschema.validate(
        json.loads((tmp_path / "gradcli.sarif").read_text("utf-8")), read_json("sarif-2.1.0.json")
    )
    assert (tmp_path / "gradcli-cache" / "verdicts").is_dir(), (
        "verdicts are where they are kept from run to run"
    )
    assert (tmp_path / "pip.log").read_text("utf-8") == "--disable-pip-version-check gradcli\n"
    assert [name.partition("@")[0] for name in run.uses] == [
        "actions/setup-python", "actions/cache/restore", "actions/cache/save", "github/codeql-action/upload-sarif",
    ]  # fmt: skip


def test_the_action_fails_with_what_is_wrong(project: Path, tmp_path: Path) -> None:
    run = Run(
        project,
        tmp_path,
        files="wrong.grad",
        cache="false",
        version="0.1.0",
        install="-e .\nnumpy>=2",
        working_directory=".",
    )
    assert run.code == 1
    assert "::error " in run.text, "an annotation at the line"
    assert run.output.read_text("utf-8") == "exit-code=1\n"
    assert not (tmp_path / "gradcli-cache").exists()
    assert (tmp_path / "pip.log").read_text(
        "utf-8"
    ) == "--disable-pip-version-check gradcli==0.1.0 -e . numpy>=2\n"


def test_the_action_runs_nothing_of_its_inputs(project: Path, tmp_path: Path) -> None:
    evil = "$(touch ran); `touch ran` && touch ran"
    run = Run(project, tmp_path, files=evil, changed_since=evil, arguments=evil, version="none")
    assert (run.code, (project / "ran").exists()) == (2, False)


def test_the_versions_of_actions_are_majors_and_the_manual_has_the_same() -> None:
    steps = yaml.safe_load(ACTION.read_text("utf-8"))["runs"]["steps"]
    used = dict(step["uses"].rsplit("@", 1) for step in steps if "uses" in step)
    assert all(re.fullmatch(r"v\d+", version) for version in used.values())
    manual = dict(
        re.findall(
            r"uses: ((?:actions|github)/[\w/-]+)@(v\d+)",
            (ROOT / "docs" / "ci.md").read_text("utf-8"),
        )
    )
    assert {name: manual.get(name, version) for name, version in used.items()} == used


# -- GitLab
# ------------------------------------------------------------------------------------------------------------------


def template(**inputs: Any) -> Any:
    """The job that the template gives for some inputs, as GitLab puts them into its text."""
    head, body = TEMPLATE.read_text("utf-8").split("\n---\n")
    described = yaml.safe_load(head)["spec"]["inputs"]
    names = {name: value.get("default", "") for name, value in described.items()}
    assert set(inputs) <= {name.replace("-", "_") for name in names}
    names |= {name.replace("_", "-"): value for name, value in inputs.items()}
    said = {
        name: str(value).lower() if isinstance(value, bool) else str(value)
        for name, value in names.items()
    }
    return yaml.safe_load(
        re.sub(r"\$\[\[ inputs\.([\w-]+) \]\]", lambda found: said[found[1]], body)
    )


def documents() -> Iterator[Any]:
    yield from yaml.safe_load_all(TEMPLATE.read_text("utf-8"))
    yield template()


@pytest.mark.parametrize("place", range(3), ids=["inputs", "template", "job"])
def test_the_template_is_one(place: int) -> None:
    jsonschema.validate(list(documents())[place], read_json("gitlab-ci.json"))


def run_job(job: dict[str, Any], project: Path, tmp_path: Path) -> subprocess.CompletedProcess[str]:
    """The script of a job, in the shell that images of Python have, with its variables."""
    known = environment(tmp_path, CI_PROJECT_DIR=str(project))
    for name, value in job["variables"].items():
        known[name] = re.sub(r"\$(\w+)", lambda found: known.get(found[1], ""), value or "")
    script = "\n".join(["set -e", *job["script"]])
    return subprocess.run(
        ["sh", "-c", script], cwd=project, env=known, capture_output=True, text=True, check=False
    )


def test_the_template_checks_files_and_functions(project: Path, tmp_path: Path) -> None:
    (job,) = template(files="gradients", functions=True, install="-e .").values()
    done = run_job(job, project, tmp_path)
    assert (done.returncode, done.stdout.splitlines()[-1][:8]) == (0, "3 passed"), done.stderr
    reports = job["artifacts"]["reports"]
    assert (project / reports["junit"]).read_text("utf-8").count("<testcase") == 3
    assert json.loads((project / reports["codequality"]).read_text("utf-8")) == []
    assert (project / job["cache"]["paths"][0]).is_dir()
    assert (tmp_path / "pip.log").read_text("utf-8") == "--disable-pip-version-check gradcli -e .\n"


def test_the_template_fails_with_what_is_wrong(project: Path, tmp_path: Path) -> None:
    (job,) = template(
        files="wrong.grad", cache=False, arguments="--fail-fast -j 1", version="none"
    ).values()
    done = run_job(job, project, tmp_path)
    assert (done.returncode, "1 failed" in done.stdout) == (1, True)
    assert len(json.loads((project / "gradcli.json").read_text("utf-8"))) == 1
    assert not (project / ".gradcli-cache").exists()
    assert not (tmp_path / "pip.log").exists()


# -- pre-commit
# --------------------------------------------------------------------------------------------------------------


def test_the_hooks_check_both_kinds(
    call_cli: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hooks = {hook["id"]: hook for hook in yaml.safe_load(HOOKS.read_text("utf-8"))}
    (tmp_path / "wrong.grad").write_text("x = 2\nassert x == 3\n", "utf-8")
    (tmp_path / "mine.py").write_text(MODULE.replace("2*x", "3*x"), "utf-8")
    (tmp_path / "pyproject.toml").write_text(SETTINGS, "utf-8")
    monkeypatch.setenv("GRADCLI_CACHE_DIR", str(tmp_path / "cache"))
    files, functions = hooks["gradcli-check"], hooks["gradcli-check-functions"]
    assert call_cli(*files["entry"].split()[1:], "wrong.grad").returncode == 1
    assert call_cli(*functions["entry"].split()[1:]).returncode == 1
    for hook, names in (
        (files, ["a/b.grad"]),
        (functions, ["a/b.py", "x.npy", "pyproject.toml", "deep/pyproject.toml"]),
    ):
        assert all(re.search(hook["files"], name) for name in names)
    (tmp_path / "pyproject.toml").write_text("", "utf-8")
    assert call_cli(*functions["entry"].split()[1:]).returncode == 0, (
        "a project without functions commits, too"
    )
    np.testing.assert_equal(functions["pass_filenames"], False)
