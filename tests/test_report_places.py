"""Paths in reports: from the root of the repository, wherever gradcli is started and whatever a CI
system calls its folder.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from recorded import over

from gradcli.report.describing import relative


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


@over("places", "paths", "tree", "folder", "file", "expected")
def test_paths_begin_at_the_root(monkeypatch, tmp_path, tree, folder, file, expected):
    made(tmp_path, tree)
    monkeypatch.chdir(tmp_path / folder)
    assert relative(file) == expected
    assert relative(f"{tmp_path / folder}/{file}") == expected


@pytest.mark.parametrize("file", ["/elsewhere/a.grad", "/" + 5000 * "x"])
def test_paths_elsewhere_are_whole(monkeypatch, tmp_path, file):
    monkeypatch.chdir(tmp_path)
    assert relative(file) == file


def test_a_current_folder_that_is_gone(monkeypatch, tmp_path):
    made(tmp_path, "r/.git gone/")
    monkeypatch.chdir(tmp_path / "gone")
    (tmp_path / "gone").rmdir()
    assert relative(str(tmp_path / "r" / "a.grad")) == "a.grad"
    assert relative("a.grad").endswith("a.grad")
