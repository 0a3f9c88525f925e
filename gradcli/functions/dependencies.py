"""What the answer of a function hangs on: the files of code and data that it read, the packages it uses, and modules that were missing.

A process watches itself by Python's audit events, from before a function is imported until its gradient is decided about. What cannot be
told again from files, such as another program or the environment, is a reason not to remember the answer.
"""

from __future__ import annotations

import hashlib
import importlib.metadata
import os
import re
import sys
from collections.abc import Iterable, Iterator
from importlib.machinery import PathFinder
from pathlib import Path
from typing import Any, NamedTuple

from gradcli.functions.places import is_installed, is_of_project
from gradcli.storage.cache import folder as cache_folder

_WRITING = os.O_WRONLY | os.O_RDWR
_PROGRAMS = ("subprocess.Popen", "os.system", "os.posix_spawn", "os.exec", "os.fork", "os.forkpty", "os.spawn")
_REASONS = {
    **dict.fromkeys(_PROGRAMS, "it starts other programs"),
    **dict.fromkeys(("socket.connect", "socket.getaddrinfo"), "it opens connections"),
    **dict.fromkeys(("os.listdir", "os.scandir"), "it lists folders"),
}
_ENVIRONMENT = re.compile(rb"\b(environ|environb|getenv|getenvb)\b")
_DEVICES = ("/dev/", "/proc/", "/sys/")


class Dependencies(NamedTuple):
    """What an answer hangs on; paths are from a folder, if they are in it.

    files     with digests of their contents; None for one that was not there
    packages  the outermost modules that are imported, with the version of each, or the file of one that is not installed; None if missing
    """

    files: dict[str, str | None]
    packages: dict[str, str | None]

    def are_as_they_were(self, folder: Path) -> bool:
        """Whether nothing of it has changed."""
        path = [str(folder), *sys.path]
        return all(_digest(folder / name) == digest for name, digest in self.files.items()) and all(
            _package(name, folder, path) == package for name, package in self.packages.items()
        )


class Watch:
    """Listens from now on to what this process reads; it cannot be taken back."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._before = set(sys.modules)
        self._read: set[str] = set()
        self._written: set[str] = set()
        self._asked: set[str] = set()  # modules, found or not
        self._reason: str | None = None
        sys.addaudithook(self._heard)

    def _heard(self, event: str, arguments: tuple[Any, ...]) -> None:
        if event == "open":
            path, _, flags = arguments
            if isinstance(path, (str, bytes, os.PathLike)):
                (self._written if flags & _WRITING else self._read).add(os.path.abspath(os.fsdecode(path)))
        elif event == "import":
            self._asked.add(arguments[0])
        elif event == "ctypes.dlopen" and arguments[0] is not None:
            name = os.fsdecode(arguments[0])
            if os.path.isfile(name):
                self._read.add(os.path.abspath(name))
            elif _is_asked_by_them():
                self._reason = f"it loads the library '{name}'"
        elif event in _REASONS and self._reason is None and _is_asked_by_them():
            self._reason = _REASONS[event]

    def found(self) -> Dependencies | str:
        """What was read until now; or why that is not all that the answer hangs on."""
        if self._reason is not None:
            return self._reason
        paths = {*_files_of_modules(self._before), *filter(self._is_data, self._read)}
        both = sorted(paths & self._written)
        if both:
            return f"it writes to '{self._named(both[0])}', which it reads"
        files = {self._named(path): _digest(Path(path)) for path in sorted(paths)}
        for path in sorted(paths):
            if path.endswith(".py"):
                if _reads_environment(Path(path)):
                    return f"'{self._named(path)}' reads the environment"
                files[self._named(os.path.join(path.removesuffix(".py"), "__init__.py"))] = None  # it would be imported instead
        files |= {self._named(path): None for path in self._missing_parts()}
        names = {name.partition(".")[0] for name in {*self._asked, *sys.modules} - self._before} - {"__main__"}
        search = [str(self._folder), *sys.path]
        return Dependencies(files, {name: _package(name, self._folder, search) for name in sorted(names) if _is_looked_for(name)})

    def _is_data(self, path: str) -> bool:
        """Whether a file that was opened is theirs: not code of Python's or of packages, nor a cache of it, nor a device."""
        caches = cache_folder()
        ours = caches is not None and path.startswith(str(caches))
        return is_of_project(path) and not path.startswith(_DEVICES) and "__pycache__" not in path and not ours and not os.path.isdir(path)

    def _missing_parts(self) -> Iterator[str]:
        """Where parts of their packages would be that were asked for in vain."""
        for name in self._asked - set(sys.modules):
            parent, _, last = name.rpartition(".")
            for place in getattr(sys.modules.get(parent), "__path__", ()):
                if is_of_project(str(place)):
                    yield from (os.path.join(place, f"{last}.py"), os.path.join(place, last, "__init__.py"))

    def _named(self, path: str) -> str:
        return _from(self._folder, path)


def _from(folder: Path, path: str) -> str:
    """A path from a folder, if it is in it."""
    for root in (str(folder), os.path.realpath(folder)):
        if path.startswith(f"{root}{os.sep}"):
            return path[len(root) + 1 :].replace(os.sep, "/")
    return path


def _files_of_modules(before: set[str]) -> Iterable[str]:
    """The files of the modules of theirs that were imported since."""
    for name, module in list(sys.modules.items()):
        file = getattr(module, "__file__", None)
        if name not in before and isinstance(file, str) and is_of_project(file):
            yield os.path.abspath(file)


def _reads_environment(path: Path) -> bool:
    try:
        return _ENVIRONMENT.search(path.read_bytes()) is not None
    except OSError:
        return False


def _digest(path: Path) -> str | None:
    try:
        return hashlib.sha256(path.read_bytes()).hexdigest()
    except OSError:
        return None


def _is_looked_for(name: str) -> bool:
    """Whether a module is found by looking for it, rather than built in."""
    return name not in sys.builtin_module_names and name not in sys.stdlib_module_names


def _package(name: str, folder: Path, path: list[str]) -> str | None:
    """What an outermost module is: the version of a package, or where the file of one's own is; None if there is none."""
    try:
        spec = PathFinder.find_spec(name, path)
    except (ImportError, ValueError):
        return None
    if spec is None:
        return None
    origin = spec.origin or " ".join(map(str, spec.submodule_search_locations or ()))
    if not is_installed(origin):
        return _from(folder, origin)
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return _digest(Path(origin))


def _is_asked_by_them() -> bool:
    """Whether what is done now is done by the people's own code, through Python's modules at most; imports look into folders, too."""
    frame = sys._getframe(2)
    while frame is not None:
        file = frame.f_code.co_filename
        if is_of_project(file):
            return True
        if file.startswith("<frozen importlib") or "site-packages" in file or "dist-packages" in file:
            return False
        frame = frame.f_back  # type: ignore[assignment]
    return False
