"""Settings of a project's checks, in ``[tool.gradcli]``.

They also list the project's Python functions whose gradients are checked.

A file has the settings of the nearest pyproject.toml above it, whether or not that has the table.
Settings run nothing, and the files they write stay in the project's folder. Functions are imported
only on request.
"""

from __future__ import annotations

import json
import os
import re
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

from gradcli.check.verdicts import Verdict
from gradcli.errors import GradcliError, UsageError, did_you_mean, one_of
from gradcli.files.npy import is_handed_over, open_data, unreadable
from gradcli.options import CHECKING, FAIL_ON, VALUES, Options, option_value
from gradcli.storage import absolute, here, path_text

NOTHING = "none"  # stands for no verdict at all
NAME = "pyproject.toml"
_LARGEST = 1 << 20  # most bytes of a settings file


@dataclass(frozen=True)
class FunctionSetting:
    """Function, the source of its gradient, and its arguments.

    Values are texts, as the command line takes them.
    """

    function: str
    gradient: str | None = None
    jvp_of: str | None = None
    adjoint: str | None = None
    implicit: str | None = None
    fixed_point: str | None = None
    parameters: str | None = None
    forward: bool = False
    by: str | None = None
    at: tuple[str, ...] = ()
    wrt: str | None = None
    seed: str | None = None
    points: int | None = None
    rtol: float | None = None
    atol: float | None = None
    timeout: float | None = None
    random_state: int | None = None
    order: int = 1
    dtype: str | None = None
    id: str | None = None
    skip: str | None = None
    xfail: str | None = None

    @property
    def functions(self) -> list[str]:
        """The names of all functions that it is about."""
        return [name for key in NAMED if (name := getattr(self, _field(key))) is not None]

    @property
    def name(self) -> str:
        return self.id or self.function


@dataclass(frozen=True)
class Settings:
    """Settings that are said of the files below a folder; None is what nobody says."""

    fail_on: tuple[str, ...] | None = None
    convention: str | None = None
    rtol: float | None = None
    atol: float | None = None
    points: int | None = None
    random_state: int | None = None
    timeout: float | None = None
    jobs: int | None = None  # this and the next one apply to a whole run
    report: tuple[str, ...] | None = None
    path: Path | None = None  # of the settings file
    dialect: str | None = None
    backend: str | None = None
    threads: int | None = None
    budget: float | None = None  # this and the next two apply to a whole run, too
    baseline: str | None = None
    files: tuple[str, ...] | None = None  # what is checked if nothing is named
    # What is checked if functions are asked for.
    functions: tuple[FunctionSetting, ...] | None = None

    def overridden(self, flags: Settings) -> Settings:
        """Return these settings, replaced by those that flags give."""
        said = {name: value for name, value in vars(flags).items() if value is not None}
        return replace(self, **said) if said else self


_EXAMPLES = {
    "fail-on": 'fail-on = ["mismatch"]', "files": 'files = ["gradients"]', "report": 'report = '
    '["junit=gradients.xml"]',
    "baseline": 'baseline = "known.json"', "wrt": 'wrt = ["x"]', "at": 'at = {x = "randn(5)", y = '
    '2}, by the names of its parameters',
}  # fmt: skip
_CLAIMS = ("gradient", "jvp-of", "adjoint")
NAMED = ("function", *_CLAIMS, "implicit", "fixed-point", "parameters")
_TEXTS = (*NAMED, "by", "id", "skip", "xfail")


def _keys(kind: type) -> list[str]:
    return [field.name.replace("_", "-") for field in fields(kind) if field.name != "path"]


def _field(key: str) -> str:
    return key.replace("-", "_")


_EXAMPLE = (
    'write [[tool.gradcli.functions]] with function = "pkg.losses:loss", gradient = '
    '"pkg.losses:slope" and at = {x = "randn(5)"}'
)


class Configuration:
    """Settings of each file of a run.

    A file has the settings of the nearest pyproject.toml above it. If a settings file is named, all
    files have the settings in it.
    """

    def __init__(self, only: str | None = None) -> None:
        self._only = None if only is None else read(Path(only), stream=is_handed_over(only))
        self._found: dict[Path, Settings] = {}

    def of(self, file: str | None = None) -> Settings:
        """Return the settings of a file or, without one, of the current folder.

        Raises UsageError for settings that cannot be read or are wrong.
        """
        if self._only is not None:
            return self._only
        folder = here() if file is None else Path(absolute(file)).parent
        if folder not in self._found:
            path = nearest(folder)
            self._found[folder] = Settings() if path is None else read(path)
        return self._found[folder]


def nearest(folder: Path) -> Path | None:
    """Return the pyproject.toml of the project that a folder belongs to."""
    places = (place / NAME for place in (folder, *folder.parents))
    return next((path for path in places if os.path.isfile(path)), None)


def read(path: Path, *, stream: bool = False) -> Settings:
    """Read the settings in a file, or in a stream that a shell hands over as one.

    Raises UsageError.
    """
    name = path_text(path)
    try:
        data = tomllib.loads(_text(path, name, stream))
    except GradcliError as error:
        raise UsageError(error.message) from None
    except RecursionError:
        raise UsageError(f"cannot read '{name}': it is nested too deeply") from None
    except (OSError, ValueError) as error:
        raise UsageError(unreadable(error, name).message) from None
    tools = data.get("tool", {})
    _refuse_strays(data, tools if isinstance(tools, dict) else {}, path)
    given = tools.get("gradcli", {}) if isinstance(tools, dict) else {}
    if not isinstance(given, dict):
        raise UsageError(f"{name}: [tool.gradcli] must be a table")
    _refuse_unknown(f"{name}: [tool.gradcli]", given, _keys(Settings))
    found = {_field(key): _check_value(key, value, path) for key, value in given.items()}
    return Settings(**found, path=path)


def _text(path: Path, name: str, stream: bool) -> str:
    """Return what a file says, if it is short enough."""
    with open_data(path, name, stream=stream) as file:
        content = file.read(_LARGEST + 1)
    if len(content) > _LARGEST:
        raise UsageError(f"'{name}' is over the limit of {_LARGEST:,} bytes")
    return content.removeprefix(b"\xef\xbb\xbf").decode("utf-8")


def _refuse_strays(data: dict[str, Any], tools: dict[str, Any], path: Path) -> None:
    """Raise UsageError for settings that would never be read.

    Such settings are in a table whose name is misspelt, or outside of any table in a settings file
    of its own.
    """
    strays = [f"tool.{key}" for key in tools if key != "gradcli" and _letters(key) == "gradcli"]
    strays += [key for key in data if _letters(key) == "gradcli"]
    if strays:
        raise UsageError(
            f"{path_text(path)}: [{strays[0]}] is not read", help="did you mean [tool.gradcli]?"
        )
    loose = [key for key in data if key in _keys(Settings)]
    if loose and path.name != NAME and "gradcli" not in tools:
        raise UsageError(
            f"{path_text(path)}: '{loose[0]}' stands in no table",
            help="write [tool.gradcli] above it",
        )


def _letters(key: str) -> str:
    return re.sub("[-_ .]", "", key.lower())


def _refuse_unknown(what: str, given: dict[str, Any], keys: Sequence[str]) -> None:
    """Raise UsageError for a setting that there is not."""
    strange = next((key for key in given if key not in keys), None)
    if strange is not None:
        raise UsageError(
            f"{what} has no setting '{strange}'",
            help=did_you_mean(strange, keys, f"it has {', '.join(keys)}"),
        )


def _check_value(key: str, value: Any, path: Path) -> Any:
    what = f"{path_text(path)}: [tool.gradcli] {key}"
    if _field(key) in VALUES:
        return option_value(_field(key), value, what)
    if key == "functions":
        return functions_of(what, value)
    words = _list_of(value)
    if key == "fail-on" and words is not None:
        return verdicts(what, words)
    if key == "report" and words is not None:
        return tuple(_inside(what, word, path) for word in words)
    if key == "files" and words:
        return tuple(str(_within(what, word, path)) for word in words)
    if key == "baseline" and isinstance(value, str) and value.strip():
        return str(_within(what, value, path, "name it with --baseline"))
    raise UsageError(f"{what} cannot be {value!r}", help=f"write {_EXAMPLES[key]}")


def _list_of(value: Any) -> list[str] | None:
    if isinstance(value, str):
        return [value]
    return (
        value if isinstance(value, list) and all(isinstance(word, str) for word in value) else None
    )


def _inside(what: str, report: str, path: Path) -> str:
    """Return a report as the command line takes it.

    Its path is made absolute. It may not lie outside of the project's folder.
    """
    kind, equals, file = report.partition("=")
    if not equals or not kind.strip() or not file.strip():
        raise UsageError(f"{what} cannot be {report!r}", help=f"write {_EXAMPLES['report']}")
    if file.strip() == "-":
        return report
    return f"{kind.strip()}={_within(what, file.strip(), path, 'name it with --report')}"


def _within(what: str, file: str, path: Path, help: str | None = None) -> Path:
    """Resolve a path relative to the folder of a settings file.

    It may not lie outside of that folder.
    """
    root = Path(os.path.realpath(path.parent))
    full = Path(os.path.realpath(root / file))
    if not full.is_relative_to(root):
        raise UsageError(f"{what}: '{file}' lies outside of the folder of {path.name}", help=help)
    return full


def verdicts(what: str, words: list[str]) -> tuple[str, ...]:
    """Parse a list of verdicts, each word of which may hold several, separated by commas.

    ``none``, or an empty list, gives no verdict. Raises UsageError.
    """
    found = [word.strip() for text in words for word in text.split(",") if word.strip()]
    if found == [NOTHING]:
        return ()
    if NOTHING in found:
        raise UsageError(
            f"{what}: '{NOTHING}' stands alone", help=f"write {NOTHING}, or the verdicts"
        )
    return tuple(one_of(what, word, Verdict) for word in found)


# -- ``[[tool.gradcli.functions]]``: Python functions whose gradients are checked, each named once,
# with its arguments.


def functions_of(what: str, given: Any) -> tuple[FunctionSetting, ...]:
    """Parse the functions that a settings file lists.

    Raises UsageError, whose message begins with ``what``.
    """
    if (
        not isinstance(given, list)
        or not given
        or not all(isinstance(entry, dict) for entry in given)
    ):
        raise UsageError(f"{what} cannot be {given!r}", help=_EXAMPLE)
    found = tuple(_function(f"{what}[{place}]", entry) for place, entry in enumerate(given))
    names = [function.name for function in found]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise UsageError(
            f"{what}: two are called '{twice}'", help='give each an id = "..." of its own'
        )
    return found


def _function(what: str, entry: dict[str, Any]) -> FunctionSetting:
    _refuse_unknown(what, entry, _keys(FunctionSetting))
    said = {_field(key): _of_function(what, key, value) for key, value in entry.items()}
    if "function" not in said or sum(key in entry for key in (*_CLAIMS, "by")) != 1:
        raise UsageError(
            f"{what} needs a function, and its gradient or by whom it is differentiated",
            help=_EXAMPLE,
        )
    if "at" not in said:
        raise UsageError(f"{what} needs at, a table of arguments", help=f"write {_EXAMPLES['at']}")
    return FunctionSetting(**said)


def _of_function(what: str, key: str, value: Any) -> Any:
    """Return what is said of a function under a key. Raises UsageError."""
    where = f"{what} {key}"
    if key == "at" and isinstance(value, dict) and value:
        return tuple(
            f"{parameter}={_as_text(f'{what} at.{parameter}', given)}"
            for parameter, given in value.items()
        )
    if key == "wrt" and (names := _list_of(value)) and all(word.strip() for word in names):
        return ",".join(names)
    if key == "seed":
        return _as_text(where, value)
    if f"check.{_field(key)}" in VALUES or _field(key) in VALUES:
        return option_value(f"check.{_field(key)}", value, where)
    if (
        key not in _TEXTS
        or not isinstance(value, str)
        or not (value.strip() or key in ("skip", "xfail"))
    ):
        raise UsageError(
            f"{where} cannot be {value!r}", help="write " + _EXAMPLES.get(key, f'{key} = "..."')
        )
    if key in NAMED and not all(value.partition(":")):
        raise UsageError(f"{where}: a function is named MODULE:NAME, not '{value}'")
    return value


def _as_text(what: str, value: Any) -> str:
    """Write a TOML value as text of the language.

    Numbers and lists are written as in the language. A text is already in the language.
    """
    if isinstance(value, str) and value.strip():
        return value
    if isinstance(value, (int, float)):
        return repr(value)
    if isinstance(value, list):
        return json.dumps(value, default=str)
    if isinstance(value, dict) and value:
        return f"{{{', '.join(f'{json.dumps(key)}: {_as_text(what, part)}' for key, part in value.items())}}}"
    raise UsageError(
        f"{what} cannot be {value!r}",
        help='write a number, a list of numbers, or a text: "randn(5)", "@data.npy"',
    )


def checking_options(settings: Settings, options: Options = CHECKING) -> Options:
    """Return the options by which settings have cases calculated and judged.

    Where the settings say nothing, the usual options hold.
    """
    return options.but(
        rtol=settings.rtol, atol=settings.atol or 0.0, convention=settings.convention, timeout=settings.timeout,
        backend=settings.backend or "auto", threads=settings.threads, state=settings.random_state or 0, points=settings.points,
        fail_on=FAIL_ON if settings.fail_on is None else settings.fail_on, dialect=settings.dialect,
    )  # fmt: skip
