"""``[tool.gradcli]``: what a project says of its checks, read and checked in one place for the command line and for pytest.

The settings of a file are those of the nearest pyproject.toml above it, whether that has the table or not. They run nothing, and
what they write stays in the project's folder.
"""

from __future__ import annotations

import math
import os
import re
import tomllib
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from gradcli.errors import GradcliError, UsageError, one_of, suggestion
from gradcli.files.function_settings import FunctionSetting, functions_of
from gradcli.files.npy import is_handed_over, opened, unreadable
from gradcli.ops.calling.prefixes import DIALECTS
from gradcli.plans.backend import BACKENDS
from gradcli.report.verdicts import Verdict
from gradcli.storage.whole_files import absolute, here

VERDICTS = tuple(v.word for v in Verdict)
CONVENTIONS = ("torch", "jax", "min-norm")
NOTHING = "none"  # what stands for no verdict at all
NAME = "pyproject.toml"
_LARGEST = 1 << 20  # bytes of a file
_PARTS = 100  # of a key, with points between them
_LONG_KEY = re.compile(r"""(?<![\w-])(?:(?:[\w-]++|"[^"]*+"|'[^']*+')[ \t]*+\.[ \t]*+){100}""", re.ASCII)


@dataclass(frozen=True)
class Settings:
    """What is said of the files below a folder; None is what nobody says."""

    fail_on: tuple[str, ...] | None = None
    convention: str | None = None
    rtol: float | None = None
    atol: float | None = None
    points: int | None = None
    random_state: int | None = None
    timeout: float | None = None
    jobs: int | None = None  # this and the next are about a whole run
    report: tuple[str, ...] | None = None
    path: Path | None = None  # of the file that says so
    dialect: str | None = None
    backend: str | None = None
    threads: int | None = None
    budget: float | None = None  # this and the next two are about a whole run, too
    baseline: str | None = None
    files: tuple[str, ...] | None = None  # what is checked where nothing is named
    functions: tuple[FunctionSetting, ...] | None = None  # what is checked where functions are asked for

    def overridden(self, flags: Settings) -> Settings:
        """These settings, but for what flags say."""
        said = {name: value for name, value in vars(flags).items() if value is not None}
        return replace(self, **said) if said else self


@dataclass(frozen=True)
class Number:
    """What a number may be."""

    whole: bool = False
    least: float = 0
    above: bool = False  # the least is not allowed itself

    def __str__(self) -> str:
        return f"{'a whole number' if self.whole else 'a number'} {'above' if self.above else 'from'} {self.least:g}"

    def holds(self, value: Any) -> bool:
        if isinstance(value, bool) or not isinstance(value, int if self.whole else (int, float)):
            return False
        try:
            return math.isfinite(value) and (value > self.least if self.above else value >= self.least)
        except OverflowError:  # an integer beyond all floats
            return False


NUMBERS = {
    "rtol": Number(), "atol": Number(), "points": Number(whole=True, least=1), "random-state": Number(whole=True),
    "timeout": Number(above=True), "jobs": Number(whole=True, least=1), "budget": Number(above=True),
    "threads": Number(whole=True, least=1),
}  # fmt: skip
_WORDS = {"convention": CONVENTIONS, "dialect": DIALECTS, "backend": BACKENDS}
KEYS = ("fail-on", "convention", *NUMBERS, "files", "functions", "report", "baseline", "dialect", "backend")


class Configuration:
    """The settings of each file of a run: of the nearest pyproject.toml above it, or all of one file that is named."""

    def __init__(self, only: str | None = None) -> None:
        self._only = None if only is None else read(Path(only), stream=is_handed_over(only))
        self._found: dict[Path, Settings] = {}

    def of(self, file: str | None = None) -> Settings:
        """The settings of a file; without one, of the current folder. Raises UsageError for what cannot be read or is wrong."""
        if self._only is not None:
            return self._only
        folder = here() if file is None else Path(absolute(file)).parent
        if folder not in self._found:
            path = nearest(folder)
            self._found[folder] = Settings() if path is None else read(path)
        return self._found[folder]


def nearest(folder: Path) -> Path | None:
    """The pyproject.toml of the project that a folder belongs to."""
    places = (place / NAME for place in (folder, *folder.parents))
    return next((path for path in places if os.path.isfile(path)), None)


def read(path: Path, *, stream: bool = False) -> Settings:
    """The settings that stand in a file, or in what a shell hands over as one. Raises UsageError."""
    name = shown(path)
    try:
        data = tomllib.loads(_text(path, name, stream))
    except GradcliError as error:
        raise UsageError(error.message) from None
    except OSError as error:
        raise UsageError(unreadable(error, name).message) from None
    except UnicodeDecodeError:
        raise UsageError(f"cannot read '{name}': it is not UTF-8") from None
    except (ValueError, RecursionError) as error:
        raise UsageError(f"cannot read '{name}': {error if isinstance(error, ValueError) else 'it is nested too deeply'}") from None
    tools = data.get("tool", {})
    _refuse_strays(data, tools if isinstance(tools, dict) else {}, path)
    given = tools.get("gradcli", {}) if isinstance(tools, dict) else {}
    if not isinstance(given, dict):
        raise UsageError(f"{name}: [tool.gradcli] must be a table")
    found = {key.replace("-", "_"): _checked(key, value, path) for key, value in given.items()}
    return Settings(**found, path=path)


def _text(path: Path, name: str, stream: bool) -> str:
    """What a file says, if it is short enough, and its keys are, for whose parts tomllib takes a time that grows with their square."""
    with opened(path, name, stream=stream) as file:
        content = file.read(_LARGEST + 1)
    if len(content) > _LARGEST:
        raise UsageError(f"'{name}' is over the limit of {_LARGEST:,} bytes")
    text = content.removeprefix(b"\xef\xbb\xbf").decode("utf-8")
    for number, line in enumerate(text.split("\n"), 1):
        if line.count(".") >= _PARTS and _LONG_KEY.search(line):
            raise UsageError(f"'{name}', line {number}: a key of more than {_PARTS} parts")
    return text


def _refuse_strays(data: dict[str, Any], tools: dict[str, Any], path: Path) -> None:
    """Settings that nobody would read: those of a table that is spelt another way, and those of no table in a file of their own."""
    strays = [f"tool.{key}" for key in tools if key != "gradcli" and _letters(key) == "gradcli"]
    strays += [key for key in data if _letters(key) == "gradcli"]
    if strays:
        raise UsageError(f"{shown(path)}: [{strays[0]}] is not read", help="did you mean [tool.gradcli]?")
    loose = [key for key in data if key in KEYS]
    if loose and path.name != NAME and "gradcli" not in tools:
        raise UsageError(f"{shown(path)}: '{loose[0]}' stands in no table", help="write [tool.gradcli] above it")


def _letters(key: str) -> str:
    return re.sub("[-_ .]", "", key.lower())


def _checked(key: str, value: Any, path: Path) -> Any:
    what = f"{shown(path)}: [tool.gradcli]"
    if key not in KEYS:
        close = suggestion(key, list(KEYS))
        raise UsageError(f"{what} has no setting '{key}'", help=f"did you mean '{close}'?" if close else f"it has {', '.join(KEYS)}")
    what += f" {key}"
    if key in NUMBERS:
        if not NUMBERS[key].holds(value):
            raise UsageError(f"{what} cannot be {value!r}", help=f"write {_example(key, value) or NUMBERS[key]}")
        return value
    if key == "functions":
        return functions_of(what, value)
    words = _listed(value)
    if key in _WORDS and isinstance(value, str):
        return one_of(what, value, _WORDS[key])
    if key == "fail-on" and words is not None:
        return verdicts(what, words)
    if key == "report" and words is not None:
        return tuple(_inside(what, word, path) for word in words)
    if key == "files" and words:
        return tuple(str(_within(what, word, path)) for word in words)
    if key == "baseline" and isinstance(value, str) and value.strip():
        return str(_within(what, value, path, "name it with --baseline"))
    wanted = {
        "fail-on": 'fail-on = ["mismatch"]',
        "convention": 'convention = "torch"',
        "dialect": 'dialect = "torch"',
        "backend": 'backend = "numpy"',
        "report": 'report = ["junit=gradients.xml"]',
        "files": 'files = ["gradients"]',
        "baseline": 'baseline = "known.json"',
    }
    raise UsageError(f"{what} cannot be {value!r}", help=f"write {wanted[key]}")


def _listed(value: Any) -> list[str] | None:
    if isinstance(value, str):
        return [value]
    return value if isinstance(value, list) and all(isinstance(word, str) for word in value) else None


def _example(key: str, value: Any) -> str:
    """The number that a string holds, as one writes it in TOML."""
    if not isinstance(value, str):
        return ""
    try:
        number = int(value) if NUMBERS[key].whole else float(value)
    except ValueError:
        return ""
    return f"a number, {value.strip()}" if NUMBERS[key].holds(number) else ""


def _inside(what: str, report: str, path: Path) -> str:
    """A report as the command line takes it, its file from the current folder; it may not lie outside of the project's."""
    kind, equals, file = report.partition("=")
    if not equals or not kind.strip() or not file.strip():
        raise UsageError(f"{what} cannot be {report!r}", help='write report = ["junit=gradients.xml"]')
    if file.strip() == "-":
        return report
    return f"{kind.strip()}={_within(what, file.strip(), path, 'name it with --report')}"


def _within(what: str, file: str, path: Path, help: str | None = None) -> Path:
    """A path that is said from the folder of a file of settings; it may not lie outside of it."""
    root = Path(os.path.realpath(path.parent))
    full = Path(os.path.realpath(root / file))
    if not full.is_relative_to(root):
        raise UsageError(f"{what}: '{file}' lies outside of the folder of {path.name}", help=help)
    return full


def verdicts(what: str, words: list[str]) -> tuple[str, ...]:
    """Verdicts from a list in which each word may hold several, with commas; ``none``, or nothing, is no verdict. Raises UsageError."""
    found = [word.strip() for text in words for word in text.split(",") if word.strip()]
    if found == [NOTHING]:
        return ()
    if NOTHING in found:
        raise UsageError(f"{what}: '{NOTHING}' stands alone", help=f"write {NOTHING}, or the verdicts")
    return tuple(one_of(what, word, VERDICTS) for word in found)


def shown(path: Path) -> str:
    """The path from the current folder, if it is in or below it."""
    full, top = Path(absolute(path)), here()
    return str(full.relative_to(top)) if full.is_relative_to(top) else str(full)
