"""Paths in reports: from the root of the repository, wherever gradcli is started and whatever a CI
system calls its folder.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from report_cases import CI_VARIABLES

from gradcli.report.describing import Place, address_of, relative, repository


@pytest.fixture(autouse=True)
def _no_ci(monkeypatch):
    for name in CI_VARIABLES:
        monkeypatch.delenv(name, raising=False)


def made(root: Path, tree: str) -> None:
    """Folders ``a/``, files ``a``, links ``a -> b``, repositories ``a/.git``, and files ``a/.git:
    text``.
    """
    for entry in tree.split():
        name, _, text = entry.partition("=")
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if text.startswith(">"):
            path.symlink_to(text[1:])
        elif text:
            path.write_text(text.replace("_", " "))
        elif name.endswith("/"):
            path.mkdir(exist_ok=True)
        elif name.endswith(".git"):
            path.mkdir()
            (path / "HEAD").write_text("ref: refs/heads/main")
        else:
            path.touch()


GITHUB, GITLAB, JENKINS = "GITHUB_WORKSPACE", "CI_PROJECT_DIR", "WORKSPACE"
SITUATIONS = {
    # tree, variables, current folder, file, path in reports
    "no repository": ("w/", {}, "w", "a b/ü.grad", "a b/ü.grad"),
    "a crooked name": ("w/", {}, "w", "./a//b/../c.grad", "a/c.grad"),
    "a subfolder": ("r/.git r/in/", {}, "r/in", "a.grad", "in/a.grad"),
    "above the current folder": ("r/.git r/in/", {}, "r/in", "../a.grad", "a.grad"),
    "from outside": ("r/.git r/in/ w/", {}, "w", "../r/in/a.grad", "in/a.grad"),
    "a worktree": ("r/.git=gitdir:_elsewhere r/in/", {}, "r/in", "a.grad", "in/a.grad"),
    "a submodule": (
        "r/.git r/sub/.git=gitdir:_../.git/modules/sub",
        {},
        "r",
        "sub/a.grad",
        "a.grad",
    ),
    "an empty .git": ("r/.git r/in/.git/", {}, "r/in", "a.grad", "in/a.grad"),
    "a .git that is no repository": ("r/.git r/in/.git=nothing", {}, "r/in", "a.grad", "in/a.grad"),
    "a .git that leads nowhere": ("r/.git r/in/.git=>../gone", {}, "r/in", "a.grad", "in/a.grad"),
    "a .git that leads to itself": ("r/.git r/in/.git=>.git", {}, "r/in", "a.grad", "in/a.grad"),
    "a bare repository": ("r.git/HEAD r.git/in/", {}, "r.git/in", "a.grad", "a.grad"),
    "a link in the repository": (
        "r/.git r/real/a.grad r/link=>real",
        {},
        "r",
        "link/a.grad",
        "real/a.grad",
    ),
    "a link to a file": (
        "r/.git r/real.grad r/link.grad=>real.grad",
        {},
        "r",
        "link.grad",
        "real.grad",
    ),
    "a link out of the repository": (
        "r/.git r/link=>../data data/a.grad",
        {},
        "r",
        "link/a.grad",
        "link/a.grad",
    ),
    "a link into another": (
        "r/.git r/link=>../s s/.git s/a.grad",
        {},
        "r",
        "link/a.grad",
        "a.grad",
    ),
    "a link into the repository": (
        "r/.git r/in/a.grad link=>r",
        {},
        ".",
        "link/in/a.grad",
        "in/a.grad",
    ),
    "GitHub": ("ws/.git ws/in/", {GITHUB: "ws"}, "ws/in", "a.grad", "in/a.grad"),
    "GitLab": ("ws/.git ws/in/", {GITLAB: "ws"}, "ws/in", "../a.grad", "a.grad"),
    "Jenkins": ("ws/in/", {JENKINS: "ws", "JENKINS_URL": "j"}, "ws/in", "a.grad", "in/a.grad"),
    "Azure": ("ws/in/", {"BUILD_SOURCESDIRECTORY": "ws"}, "ws/in", "a.grad", "in/a.grad"),
    "Bitbucket": ("ws/in/", {"BITBUCKET_CLONE_DIR": "ws"}, "ws/in", "a.grad", "in/a.grad"),
    "a WORKSPACE of no Jenkins": ("ws/r/.git", {JENKINS: "ws"}, "ws/r", "a.grad", "a.grad"),
    "a workspace below the current folder": (
        "ws/in/",
        {GITHUB: "ws"},
        ".",
        "ws/in/a.grad",
        "in/a.grad",
    ),
    "a workspace that is a link": (
        "real/in/ ws=>real",
        {GITHUB: "ws"},
        ".",
        "ws/in/a.grad",
        "in/a.grad",
    ),
    "into a workspace that is a link": (
        "real/in/ ws=>real",
        {GITHUB: "ws"},
        "real",
        "in/a.grad",
        "in/a.grad",
    ),
    "through a link into the workspace": (
        "ws/in/ link=>ws",
        {GITHUB: "ws"},
        ".",
        "link/in/a.grad",
        "in/a.grad",
    ),
    "a workspace elsewhere": ("ws/ r/.git r/in/", {GITHUB: "ws"}, "r/in", "a.grad", "in/a.grad"),
    "a workspace that is gone": ("r/.git r/in/", {GITHUB: "gone"}, "r/in", "a.grad", "in/a.grad"),
    "a checkout below the workspace": (
        "ws/main/.git ws/main/in/",
        {GITHUB: "ws"},
        "ws/main",
        "in/a.grad",
        "in/a.grad",
    ),
    "a submodule in a workspace": (
        "ws/.git ws/sub/.git=gitdir:_..",
        {GITLAB: "ws"},
        "ws",
        "sub/a.grad",
        "sub/a.grad",
    ),
}


@pytest.mark.parametrize(
    ("tree", "variables", "folder", "file", "expected"), SITUATIONS.values(), ids=SITUATIONS
)
def test_paths_begin_at_the_root(monkeypatch, tmp_path, tree, variables, folder, file, expected):
    made(tmp_path, tree)
    for name, value in variables.items():
        monkeypatch.setenv(name, str(tmp_path / value))
    monkeypatch.chdir(tmp_path / folder)
    assert relative(file) == expected
    assert relative(f"{tmp_path / folder}/{file}") == expected


@pytest.mark.parametrize(
    "file", ["/elsewhere/a.grad", "/a\0b.grad", "/" + 5000 * "x", "/\udcff\ud800.grad"]
)
def test_paths_elsewhere_are_whole(monkeypatch, tmp_path, file):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("GITHUB_WORKSPACE", str(tmp_path))
    assert relative(file) == file


def test_a_repository_that_cannot_be_read(monkeypatch, tmp_path):
    made(tmp_path, "r/.git r/in/.git=gitdir:_elsewhere")

    def refuse(*_, **__):
        raise PermissionError("no")

    monkeypatch.setattr(Path, "open", refuse)
    assert repository(tmp_path / "r" / "in") == tmp_path / "r"


def test_a_current_folder_that_is_gone(monkeypatch, tmp_path):
    made(tmp_path, "r/.git gone/")
    monkeypatch.chdir(tmp_path / "gone")
    (tmp_path / "gone").rmdir()
    assert relative(str(tmp_path / "r" / "a.grad")) == "a.grad"
    assert relative("a.grad").endswith("a.grad")


HUB = {
    "GITHUB_SERVER_URL": "https://github.com",
    "GITHUB_REPOSITORY": "we/our-work.x",
    "GITHUB_SHA": "c0ffee",
}
LAB = {"CI_PROJECT_URL": "https://gitlab.example.org:8443/a/b/c", "CI_COMMIT_SHA": "c0ffee"}
ADDRESSES = {
    "GitHub": (
        HUB,
        Place("in/a b.grad", 3),
        "https://github.com/we/our-work.x/blob/c0ffee/in/a%20b.grad#L3",
    ),
    "lines on GitHub": (
        HUB,
        Place("a.grad", 3, 1, 5, 2),
        "https://github.com/we/our-work.x/blob/c0ffee/a.grad#L3-L5",
    ),
    "one line": (
        HUB,
        Place("a.grad", 3, 1, 3, 2),
        "https://github.com/we/our-work.x/blob/c0ffee/a.grad#L3",
    ),
    "GitLab": (
        LAB,
        Place("in/a.grad", 3),
        "https://gitlab.example.org:8443/a/b/c/-/blob/c0ffee/in/a.grad#L3",
    ),
    "lines on GitLab": (
        LAB,
        Place("a.grad", 3, 1, 5, 2),
        "https://gitlab.example.org:8443/a/b/c/-/blob/c0ffee/a.grad#L3-5",
    ),
    "brackets": (
        HUB,
        Place("a](b)|<c>`.grad", 3),
        "https://github.com/we/our-work.x/blob/c0ffee/a%5D%28b%29%7C%3Cc%3E%60.grad#L3",
    ),
    "no file": (HUB, Place(None, 1), None),
    "a file elsewhere": (HUB, Place("/elsewhere/a.grad", 1), None),
    "no commit": ({**HUB, "GITHUB_SHA": ""}, Place("a.grad", 1), None),
    "no server": ({"GITHUB_REPOSITORY": "a/b", "GITHUB_SHA": "c0ffee"}, Place("a.grad", 1), None),
    "a server that is none": (
        {**HUB, "GITHUB_SERVER_URL": "javascript:x"},
        Place("a.grad", 1),
        None,
    ),
    "a server with brackets": ({**HUB, "GITHUB_REPOSITORY": "a/b)[c](d"}, Place("a.grad", 1), None),
}


@pytest.mark.parametrize(("variables", "place", "expected"), ADDRESSES.values(), ids=ADDRESSES)
def test_addresses_of_lines(monkeypatch, tmp_path, variables, place, expected):
    monkeypatch.chdir(tmp_path)
    for name in {**HUB, **LAB}:
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert address_of(place) == expected
