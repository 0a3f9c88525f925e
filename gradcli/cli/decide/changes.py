"""Changed files, for ``--changed-since REF``.

A file has changed if its contents differ from those that git has at a commit. Uncommitted changes
count.
"""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from gradcli.cli.decide.running import Inputs, is_stream
from gradcli.errors import UsageError
from gradcli.files.settings import Settings
from gradcli.functions.places import is_installed
from gradcli.storage import real

# References to data, in programs and records.
_DATA = re.compile(rb"""@([^\s"'@,;()\[\]{}]+?\.(?:npy|npz|csv|json))(?![\w.])""")
_CODE = (".py", ".so", ".pyd")  # the last two are compiled modules
_LARGEST = 1 << 24  # most bytes of a file that is searched for the names of data


class Changes:
    """Changes since a commit in the repository of a folder.

    They tell what of a run has to be decided.

    Raises UsageError where that cannot be told.
    """

    def __init__(self, ref: str, folder: Path) -> None:
        self.ref, self.root = ref, folder
        self.root = Path(real(self._git("rev-parse", "--show-toplevel").rstrip("\n")))
        commit = self._git("rev-parse", "--verify", "--end-of-options", f"{ref}^{{commit}}").strip()
        changed = self._git("diff", "--no-renames", "--name-only", "-z", commit, "--")
        known = self._git("ls-tree", "-r", "-z", "--name-only", "--full-tree", commit)
        self.changed, self.known = {*changed.split("\0")}, {*known.split("\0")}
        others = self._git("ls-files", "-z", "--others", "--", *(f"*{end}" for end in _CODE))
        self.code_has_changed = any(
            name.endswith(_CODE) and not is_installed(str(self.root / name))
            for name in (*self.changed, *others.split("\0"))
        )

    def of(self, paths: Iterable[Path]) -> bool:
        """Return whether one of some files has changed, appeared or disappeared.

        Files outside of the repository count as changed.
        """
        return any(map(self._has_changed, paths))

    def _has_changed(self, path: Path) -> bool:
        path = Path(real(path))
        if not path.is_relative_to(self.root):
            return path.exists()
        name = path.relative_to(self.root).as_posix()
        return name in self.changed or (path.exists() and name not in self.known)

    def _git(self, *words: str) -> str:
        command = ["git", "-c", "core.fsmonitor=false", *words]
        try:
            done = subprocess.run(
                command, cwd=self.root, capture_output=True, stdin=subprocess.DEVNULL, check=False
            )
        except OSError:
            raise UsageError(
                f"--changed-since {self.ref} needs git, which is not found",
                help="install it, or leave --changed-since out: everything is checked",
            ) from None
        if done.returncode != 0:
            said = done.stderr.decode("utf-8", "replace").strip().split("\n")[-1]
            raise UsageError(
                f"--changed-since {self.ref}: git says: {said}",
                help="write a branch, a tag or a commit that is here: a checkout needs its history "
                "(fetch-depth: 0 on GitHub, GIT_DEPTH: 0 on GitLab, git fetch --unshallow)",
            )
        return os.fsdecode(done.stdout)

    # -- which files and functions have to be decided

    def files(self, inputs: Inputs, settings_of: Any) -> list[str]:
        """Return the files to check: those with a change in them, their data or their settings.

        Streams are always read, whatever they hold.
        """
        bound = [
            Path(text[1:].partition(":")[0])
            for text in inputs.bindings.values()
            if text.startswith("@") and text != "@-"
        ]
        if bound and self.of(bound):
            return inputs.files
        return [
            path
            for path in inputs.files
            if is_stream(path)
            or self._is_judged_anew(settings_of(path))
            or self._reads_changed(path)
        ]

    def functions(self, settings: Settings, folder: Path) -> list[int]:
        """Return the numbers of the functions that may have changed.

        These are all functions where the settings have changed.
        """
        anew = self._is_judged_anew(settings)
        return [
            n
            for n, each in enumerate(settings.functions or ())
            if anew or self.function(each.functions, each.at, folder)
        ]

    def function(self, names: Iterable[str | None], texts: Iterable[str], folder: Path) -> bool:
        """Return whether a function has to be checked again.

        This is so if any Python file of the repository has changed, or the data that the function
        is called with. A function that is not of the repository counts as changed.
        """
        modules = [name.partition(":")[0].replace(".", "/") for name in names if name]
        return (
            self.code_has_changed
            or not all(map(self._has_module, modules))
            or self.of(
                folder / text.partition("=@")[2].partition(":")[0] for text in texts if "=@" in text
            )
        )

    def _has_module(self, path: str) -> bool:
        ends = f"/{path}.py", f"/{path}/__init__.py"
        return any(f"/{name}".endswith(ends) for name in self.known)

    def _reads_changed(self, path: str) -> bool:
        file = Path(path)
        if self.of([file]):
            return True
        with file.open("rb") as stream:
            text = stream.read(_LARGEST + 1)
        names = {os.fsdecode(name) for name in _DATA.findall(text)}
        return len(text) > _LARGEST or self.of(file.parent / name for name in names)

    def _is_judged_anew(self, settings: Settings) -> bool:
        return settings.path is not None and self.of([settings.path])
