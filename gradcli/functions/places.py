"""Places in the code of other people: which frames are theirs, and how a place is told."""

from __future__ import annotations

import ast
import hashlib
import importlib.metadata
import linecache
import os
import re
import sys
import sysconfig
from collections.abc import Iterable, Iterator, Sequence
from functools import cache, lru_cache
from importlib.machinery import PathFinder
from itertools import islice
from pathlib import Path
from types import CodeType, FrameType
from typing import Any, NamedTuple

from gradcli.storage.cache import folder as cache_folder

_OWN = f"{Path(__file__).parent.parent}{os.sep}"
_LIBRARIES = ("numpy", "scipy", "torch", "jax", "jaxlib", "autograd")  # which the functions that are asked about are written with


def _folders_of(*names: str) -> tuple[str, ...]:
    """Folders of Python's by their names, and where links of theirs lead to."""
    paths = [sysconfig.get_path(name) for name in names]
    return tuple(dict.fromkeys(f"{path}{os.sep}" for path in (*paths, *map(os.path.realpath, paths))))


_STANDARD, _INSTALLED = _folders_of("stdlib", "platstdlib"), _folders_of("purelib", "platlib")


def is_own(path: str) -> bool:
    """Return whether a file is gradcli's."""
    return path.startswith(_OWN)


@cache
def is_theirs(path: str) -> bool:
    """Return whether a file is code that is asked about: neither gradcli's, nor Python's, nor that of a library that is traced."""
    if path.startswith(("<frozen", "<string>", "<__array_function__", _OWN)):
        return False
    if path.startswith(_STANDARD) and not path.startswith(_INSTALLED) and not {"site-packages", "dist-packages"} & set(Path(path).parts):
        return False
    return not path.startswith(tuple(_folders()))


def is_of_project(path: str) -> bool:
    """Whether a file is code of the people whose function it is: not gradcli's, nor Python's, nor that of a package they installed."""
    return not path.startswith(("<", _OWN)) and not is_installed(path)


def is_installed(path: str) -> bool:
    """Return whether a file is of Python itself, or of a package that was installed."""
    return path.startswith((*_STANDARD, *_INSTALLED)) or "site-packages" in path or "dist-packages" in path


def _folders() -> Iterator[str]:
    for name in _LIBRARIES:
        file = getattr(sys.modules.get(name), "__file__", None)
        if file:
            yield f"{Path(file).parent}{os.sep}"


def chosen(paths: Sequence[str]) -> int | None:
    """Return which of the files of a stack, innermost last, the user knows best: one of theirs, of no installed package if there is one."""
    theirs = [i for i, path in enumerate(paths) if is_theirs(path)]
    return next((i for i in reversed(theirs) if not paths[i].startswith(_INSTALLED)), theirs[-1] if theirs else None)


def user_frame() -> FrameType | None:
    """The innermost frame of theirs of those that run."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and not is_theirs(frame.f_code.co_filename):
        frame = frame.f_back
    return frame


class Place(NamedTuple):
    """A line of a file, and, where they are known, the bytes of it between which an expression stands."""

    path: str
    line: int
    span: tuple[int, int] | None = None

    def __str__(self) -> str:
        text = linecache.getline(self.path, self.line)
        if self.span is not None:
            text = text.encode()[slice(*self.span)].decode("utf-8", "replace")
        return f"`{text.strip()}` at {Path(self.path).name}:{self.line}"


def place_here() -> Place | None:
    """Return where their code is that runs."""
    frame = user_frame()
    return None if frame is None else place_of(frame)


def place_of(frame: FrameType) -> Place | None:
    """Return where a frame is; None where its source is not known."""
    return place_in(frame.f_code, frame.f_lasti, frame.f_lineno)


def place_in(code: CodeType, instruction: int, line: int) -> Place | None:
    """Return where an instruction stands, of which the line is known, and the rest if Python has kept it."""
    if not linecache.getline(code.co_filename, line).strip():
        return None
    first, last, begin, end = next(islice(code.co_positions(), instruction // 2, None), (None,) * 4)  # an instruction has two bytes
    span = (begin, end) if first == last == line and begin is not None and end is not None else None
    return Place(code.co_filename, line, span)


@lru_cache(maxsize=4096)
def name_called(code: CodeType, instruction: int) -> str | None:
    """The last part of the name that an instruction calls; None where the source does not say.

    Compiled code that is called there has no frame of its own: whatever it calls on seems to be called by the instruction, too.
    """
    span = next(islice(code.co_positions(), instruction // 2, None), None)
    for node in _nodes(code.co_filename):
        if isinstance(node, ast.Call) and (node.lineno, node.end_lineno, node.col_offset, node.end_col_offset) == span:
            called = node.func
            return called.attr if isinstance(called, ast.Attribute) else called.id if isinstance(called, ast.Name) else None
    return None


@lru_cache(maxsize=4096)
def condition_at(place: Place) -> Place | None:
    """The comparison, or else the condition, that the expression at a place is part of; None if it is part of none."""
    around = _around(place)
    tests = [test for node in around for test in _tests(node) if test in around]
    found = next((node for node in (*around, *tests) if isinstance(node, ast.Compare) or node in tests), None)
    if found is None:
        return None
    whole = found.lineno == found.end_lineno and found.end_col_offset is not None
    return Place(place.path, found.lineno, (found.col_offset, found.end_col_offset or 0) if whole else None)


@lru_cache(maxsize=4096)
def is_dropped(place: Place) -> bool:
    """Return whether the expression at a place is part of a statement whose value nobody takes: a call that prints, say."""
    return any(isinstance(node, ast.Expr) for node in _around(place))


def _tests(node: ast.stmt | ast.expr) -> list[ast.expr]:
    if isinstance(node, (ast.If, ast.While, ast.IfExp, ast.Assert)):
        return [node.test]
    if isinstance(node, (ast.ListComp, ast.SetComp, ast.GeneratorExp, ast.DictComp)):
        return [test for part in node.generators for test in part.ifs]
    return []


def _around(place: Place) -> list[ast.stmt | ast.expr]:
    """The statements and expressions of the source that hold the one at a place, the outermost first."""
    if place.span is None:
        return []
    begin, end = (place.line, place.span[0]), (place.line, place.span[1])
    return [
        node for node in _nodes(place.path)
        if (node.lineno, node.col_offset) <= begin and end <= (node.end_lineno or 0, node.end_col_offset or 0)
    ]  # fmt: skip


@lru_cache(maxsize=32)
def _nodes(path: str) -> list[ast.stmt | ast.expr]:
    try:
        tree = ast.parse("".join(linecache.getlines(path)))
    except (SyntaxError, ValueError):
        return []
    return [node for node in ast.walk(tree) if isinstance(node, (ast.stmt, ast.expr))]


# -- What the answer of a function hangs on: the files of code and data that it read, the packages
# it uses, and modules that were missing.
#
# A process watches itself by Python's audit events, from before a function is imported until its
# gradient is decided about. What cannot be told again from files, such as another program or the
# environment, is a reason not to remember the answer.


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
    """Everything that an answer hangs on; paths are from a folder, if they are in it.

    files     with digests of their contents; None for one that was not there
    packages  the outermost modules that are imported, with the version of each, or the file of one that is not installed; None if missing
    """

    files: dict[str, str | None]
    packages: dict[str, str | None]

    def are_as_they_were(self, folder: Path) -> bool:
        """Return whether nothing of it has changed."""
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
        """Return what was read until now; or why that is not all that the answer hangs on."""
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
        """Return whether a file that was opened is theirs: not code of Python's or of packages, nor a cache of it, nor a device."""
        caches = cache_folder()
        ours = caches is not None and path.startswith(str(caches))
        return is_of_project(path) and not path.startswith(_DEVICES) and "__pycache__" not in path and not ours and not os.path.isdir(path)

    def _missing_parts(self) -> Iterator[str]:
        """Return where parts of their packages would be that were asked for in vain."""
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
    """Return whether a module is found by looking for it, rather than built in."""
    return name not in sys.builtin_module_names and name not in sys.stdlib_module_names


def _package(name: str, folder: Path, path: list[str]) -> str | None:
    """Return what an outermost module is: the version of a package, or where the file of one's own is; None if there is none."""
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
