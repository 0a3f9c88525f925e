"""``--changed-since REF``: which files are others than git has them at a commit, by their contents,
uncommitted changes among them.
"""

from __future__ import annotations

import os
import re
import subprocess
import tomllib
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Any

from gradcli.cli.inputs import Inputs, is_stream
from gradcli.errors import UsageError, suggestion
from gradcli.files.settings import Settings
from gradcli.functions.listed import sources_of
from gradcli.report.describing import repository
from gradcli.storage.whole_files import real

_DATA = re.compile(
    rb"""@([^\s"'@,;()\[\]{}]+?\.(?:npy|npz|csv|json))(?![\w.])"""
)  # in programs and records
_LARGEST = 1 << 24  # bytes of a file that is looked through for the names of data


class Changes:
    """The changes since a commit in the repository of a folder, and what of a run has to be decided
    then.

    Raises UsageError where that cannot be told.
    """

    def __init__(self, ref: str, folder: Path) -> None:
        self.ref = ref
        found = repository(folder)
        if found is None:
            raise UsageError(
                f"--changed-since {ref}: '{folder}' is in no repository of git",
                help="leave it out: everything is checked",
            )
        self.root = Path(os.path.realpath(found))
        self.commit = self._commit()
        self.changed = {
            *self._git("diff", "--no-renames", "--name-only", "-z", self.commit, "--").split("\0")
        }
        self.known = {
            *self._git("ls-tree", "-r", "-z", "--name-only", "--full-tree", self.commit).split("\0")
        }
        self._is_judged_anew = cache(self._is_table_changed)

    def of(self, paths: Iterable[Path]) -> bool:
        """Return whether one of these files has changed, came or went; files outside of the
        repository count as changed.
        """
        return any(map(self._has_changed, paths))

    def _has_changed(self, path: Path) -> bool:
        path = Path(real(path))
        if not path.is_relative_to(self.root):
            return path.exists()
        name = path.relative_to(self.root).as_posix()
        return name in self.changed or (path.exists() and name not in self.known)

    def _commit(self) -> str:
        done = self._run(
            "rev-parse", "--verify", "--quiet", "--end-of-options", f"{self.ref}^{{commit}}"
        )
        if done.returncode == 0:
            return done.stdout.decode().strip()
        what = f"--changed-since {self.ref}: git knows no such commit or branch"
        if self._git("rev-parse", "--is-shallow-repository").strip() == "true":
            help = (
                "check out with fetch-depth: 0 (GitHub), GIT_DEPTH: 0 (GitLab), or git fetch "
                "--unshallow"
            )
            raise UsageError(f"{what}, and only a part of the history is here", help=help)
        names = self._git(
            "for-each-ref", "--format=%(refname:short)", "refs/heads", "refs/remotes", "refs/tags"
        ).split("\n")
        close = next((name for name in names if name.endswith(f"/{self.ref}")), None) or suggestion(
            self.ref, names, 0.7
        )
        raise UsageError(
            what,
            help=f"did you mean '{close}'?"
            if close
            else "write a branch, a tag or a commit: --changed-since HEAD~1",
        )

    def _git(self, *words: str) -> str:
        done = self._run(*words)
        if done.returncode != 0:
            said = done.stderr.decode("utf-8", "replace").strip().split("\n")[-1]
            raise UsageError(f"--changed-since {self.ref}: git says: {said}")
        return os.fsdecode(done.stdout)

    def _run(self, *words: str) -> subprocess.CompletedProcess[bytes]:
        command = [
            "git",
            "-c",
            "core.fsmonitor=false",
            "-c",
            "core.fileMode=false",
            "-c",
            "core.quotePath=false",
            *words,
        ]
        try:
            return subprocess.run(
                command, cwd=self.root, capture_output=True, stdin=subprocess.DEVNULL, check=False
            )
        except OSError:
            help = "install it, or leave --changed-since out: everything is checked"
            raise UsageError(
                f"--changed-since {self.ref} needs git, which is not to be found", help=help
            ) from None

    # -- which files and functions have to be decided
    # ----------------------------------------------------------------------

    def files(self, inputs: Inputs, settings_of: Any) -> list[str]:
        """The files that have changed, or the data that they read, or how they are judged; streams
        are read, whatever they hold.
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
        """The numbers of the functions whose sources or data have changed; all, where the settings
        have.
        """
        anew = self._is_judged_anew(settings)
        return [
            n
            for n, each in enumerate(settings.functions or ())
            if anew or self.function(each.functions, each.at, folder)
        ]

    def function(self, names: Iterable[str | None], texts: Iterable[str], folder: Path) -> bool:
        """Return whether the sources of a function, or the data that it is called with, have
        changed.
        """
        files = {
            path for name in names if name for path in sources_of(name.partition(":")[0], folder)
        }
        return self.of(
            files
            | {folder / text.partition("=@")[2].partition(":")[0] for text in texts if "=@" in text}
        )

    def _reads_changed(self, path: str) -> bool:
        file = Path(path)
        if self.of([file]):
            return True
        with file.open("rb") as stream:
            text = stream.read(_LARGEST + 1)
        names = {os.fsdecode(name) for name in _DATA.findall(text)}
        return len(text) > _LARGEST or self.of(file.parent / name for name in names)

    def _is_table_changed(self, settings: Settings) -> bool:
        """Return whether a project's file of settings says something else of gradcli than
        it did.
        """
        path = settings.path
        if path is None or not self.of([path]):
            return False
        before = self._run(
            "cat-file",
            "blob",
            f"{self.commit}:{Path(os.path.relpath(real(path), self.root)).as_posix()}",
        ).stdout
        return _table(path.read_bytes()) != _table(before)


def _table(content: bytes) -> dict[str, Any]:
    """Return what [tool.gradcli] said in a file; nothing, if that cannot be read."""
    try:
        found: dict[str, Any] = tomllib.loads(content.decode("utf-8-sig"))["tool"]["gradcli"]
    except (ValueError, LookupError, TypeError, RecursionError):
        return {}
    return found
