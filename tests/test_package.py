"""The package as it is published: what its metadata, archives and citation say, links of the
README, and how its versions are told.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from email import message_from_string
from email.message import Message
from pathlib import Path
from typing import Any

import pytest

import gradcli

ROOT = Path(__file__).resolve().parent.parent
CHECKOUT = (ROOT / "gradcli").is_dir() and (ROOT / "pyproject.toml").is_file()
LINK = re.compile(r"\]\(([^)\s]+)\)")

checkout = pytest.mark.skipif(not CHECKOUT, reason="gradcli is installed, this is no checkout")


@pytest.fixture(scope="module")
def archives(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A wheel and an sdist of the checkout."""
    if not CHECKOUT:
        pytest.skip("gradcli is installed, this is no checkout")
    wheel = pytest.importorskip(
        "hatchling.builders.wheel", reason="hatchling, which builds gradcli, is not installed here"
    )
    sdist = pytest.importorskip("hatchling.builders.sdist")
    folder = str(tmp_path_factory.mktemp("dist"))
    first = next(iter(wheel.WheelBuilder(str(ROOT)).build(directory=folder, versions=["standard"])))
    second = next(
        iter(sdist.SdistBuilder(str(ROOT)).build(directory=folder, versions=["standard"]))
    )
    return Path(first), Path(second)


@pytest.fixture(scope="module")
def metadata(archives: tuple[Path, Path]) -> Message:
    with zipfile.ZipFile(archives[0]) as found:
        (name,) = [name for name in found.namelist() if name.endswith(".dist-info/METADATA")]
        return message_from_string(found.read(name).decode("utf-8"))


def project() -> dict[str, Any]:
    found: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))[
        "project"
    ]
    return found


@pytest.mark.ci
def test_an_index_page_has_links(metadata: Message) -> None:
    links = dict(line.split(", ", 1) for line in metadata.get_all("Project-URL", []))
    assert set(links) == {"Repository", "Documentation", "Changelog", "Issues"}
    assert all(link.startswith("https://github.com/gradcli/gradcli") for link in links.values())
    classifiers = metadata.get_all("Classifier", [])
    assert [c.rpartition(" ")[2] for c in classifiers if re.search(r":: 3\.\d+$", c)] == [
        "3.11",
        "3.12",
        "3.13",
    ]
    assert "Operating System :: OS Independent" in classifiers
    assert "Typing :: Typed" in classifiers


@pytest.mark.ci
def test_links_of_the_readme_work_on_an_index_page(metadata: Message) -> None:
    """Each leads to the repository at this version, to a file that is there; pictures are raw."""
    text = str(metadata.get_payload(decode=False))
    found = LINK.findall(text)
    own = LINK.findall((ROOT / "README.md").read_text(encoding="utf-8"))
    assert len(found) == len(own) > 15
    for link, before in zip(found, own, strict=True):
        if before.startswith("https://"):
            assert link == before
            continue
        host, path = (
            ("raw.githubusercontent.com", "")
            if before.endswith(".svg")
            else ("github.com", "blob/")
        )
        assert link == f"https://{host}/gradcli/gradcli/{path}v{gradcli.__version__}/{before}"
        assert (ROOT / before).exists(), before


@pytest.mark.ci
def test_the_wheel_is_the_package_and_no_more(archives: tuple[Path, Path]) -> None:
    with zipfile.ZipFile(archives[0]) as found:
        names = found.namelist()
    assert {name.partition("/")[0] for name in names} == {
        "gradcli",
        f"gradcli-{project()['version']}.dist-info",
    }
    assert "gradcli/py.typed" in names
    sources = {path.relative_to(ROOT).as_posix() for path in (ROOT / "gradcli").rglob("*.py")}
    assert sources == {name for name in names if name.endswith(".py")}
    assert len(names) == len({*names})


@pytest.mark.ci
def test_stubs_are_in_the_wheel_alone(archives: tuple[Path, Path]) -> None:
    """They are written by each build, for what it builds."""
    with zipfile.ZipFile(archives[0]) as found:
        wheel = {name for name in found.namelist() if name.endswith(".pyi")}
    with tarfile.open(archives[1]) as found:
        sdist = {name for name in found.getnames() if name.endswith(".pyi")}
    assert {"gradcli/__init__.pyi", "gradcli/api.pyi", "gradcli/tensors/torch/names.pyi"} < wheel
    assert sdist == set()


@checkout
def test_a_build_without_numpy_fails_and_says_so(tmp_path: Path) -> None:
    pytest.importorskip(
        "hatchling", reason="hatchling, which builds gradcli, is not installed here"
    )
    (tmp_path / "numpy.py").write_text("raise ModuleNotFoundError('No module named numpy')")
    program = (
        "import sys; from hatchling.builders.wheel import WheelBuilder as B; "
        "print(*B(sys.argv[1]).build(directory=sys.argv[2]))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, str(ROOT), str(tmp_path)],
        env={**os.environ, "PYTHONPATH": str(tmp_path)}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode != 0
    assert "needs NumPy" in done.stderr
    assert list(tmp_path.glob("*.whl")) == []


@pytest.mark.ci
def test_the_sdist_has_what_its_tests_read(archives: tuple[Path, Path]) -> None:
    with tarfile.open(archives[1]) as found:
        names = {name.partition("/")[2] for name in found.getnames()}
    wanted = {
        "README.md",
        "ARCHITECTURE.md",
        "CONTRIBUTING.md",
        "CHANGELOG.md",
        "SECURITY.md",
        "CITATION.cff",
        "NOTICE",
        "LICENSE",
        "pyproject.toml",
    }
    wanted |= {
        "hatch_build.py",
        "stubs.py",
        "mkdocs.yml",
        ".pre-commit-hooks.yaml",
        "action.yml",
        "templates/gradcli.yml",
    }
    wanted |= {".ci/lowest.py", ".ci/processors.py", ".ci/run"}
    for folder in ("tests", "samples", "docs", "benchmarks"):
        inside = [
            path
            for path in (ROOT / folder).rglob("*")
            if path.is_file() and "__pycache__" not in path.parts
        ]
        wanted |= {path.relative_to(ROOT).as_posix() for path in inside}
    assert sorted(wanted - names) == []


@checkout
def test_the_page_of_architecture_names_what_there_is() -> None:
    page = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
    named = set(re.findall(r"`([\w/.]+(?:\.py|/))`", page))
    assert (
        sorted(
            name
            for name in named
            if not (ROOT / "gradcli" / name).exists() and not (ROOT / name).exists()
        )
        == []
    )
    rooms = {path.parent.name + "/" for path in (ROOT / "gradcli").glob("*/__init__.py")}
    assert sorted(rooms - named) == []


@checkout
def test_the_version_stands_in_all_places() -> None:
    version = project()["version"]
    assert gradcli.__version__ == version
    assert re.search(
        rf"^version: {re.escape(version)}$",
        (ROOT / "CITATION.cff").read_text(encoding="utf-8"),
        re.MULTILINE,
    )
    assert re.search(
        rf"^## {re.escape(version)}\b",
        (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"),
        re.MULTILINE,
    )
    done = subprocess.run(
        [sys.executable, "-m", "gradcli", "--version"], capture_output=True, text=True, check=True
    )
    assert done.stdout == f"gradcli {version}\n"


@checkout
def test_the_citation_is_valid() -> None:
    cffconvert = pytest.importorskip(
        "cffconvert.citation",
        reason="cffconvert, which knows the schema of citations, is not installed",
    )
    cffconvert.Citation((ROOT / "CITATION.cff").read_text(encoding="utf-8")).validate()


@checkout
def test_the_lowest_versions_are_taken_from_the_project() -> None:
    done = subprocess.run(
        [sys.executable, str(ROOT / ".ci" / "lowest.py")],
        capture_output=True,
        text=True,
        check=True,
    )
    lowest = done.stdout.split()
    assert len(lowest) == len(project()["dependencies"]) + len(
        project()["optional-dependencies"]["test"]
    )
    assert all(re.fullmatch(r"[\w-]+==[\d.]+", version) for version in lowest)
