"""pytest plugin that makes an item of each case in files and in listed functions.

pytest collects ``*.grad`` files, JSON Lines files that a pattern names, and the functions that a
pyproject.toml lists.

Every pytest of an environment imports this module, so gradcli itself is imported only when such a
file is collected.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterator
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from gradcli.files.settings import Configuration
    from gradcli.functions.asking import ListedCase
    from gradcli.options import Options
    from gradcli.query.cases import Case
    from gradcli.report.outcomes import Outcome

    Marks = tuple[str | None, str | None]  # reasons to skip a case, and to expect its failure

_FILES = ["*.grad"]
_RECORDS = (".jsonl", ".ndjson")
_SETTINGS = "pyproject.toml"
_CONFIGURATION = pytest.StashKey["Configuration"]()
_WRONG = pytest.StashKey[dict[str, None]]()  # messages about invalid settings, in order


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("gradcli")
    where = "not from the pyproject.toml above each .grad file (write --gradcli-config=FILE)"
    group.addoption(
        "--gradcli-config", metavar="FILE", help=f"take gradcli's settings from FILE, {where}"
    )
    about = (
        "globs of the programs and JSON Lines records that gradcli checks, from the rootdir "
        "(default: *.grad)"
    )
    parser.addini("gradcli_files", about, "args", _FILES)


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line(
        "markers", "gradcli: a case of a program or of JSON Lines records (added by gradcli)"
    )


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> pytest.Collector | None:
    if file_path.name == _SETTINGS:
        return (
            FunctionFile.from_parent(parent, path=file_path)
            if _lists_functions(file_path)
            else None
        )
    if not _is_checked(file_path, parent):
        return None
    kind = RecordFile if file_path.suffix in _RECORDS else GradFile
    return kind.from_parent(parent, path=file_path)


def _is_checked(path: Path, parent: pytest.Collector) -> bool:
    # Named by the user on pytest's command line.
    if path.suffix in (".grad", *_RECORDS) and parent.session.isinitpath(path):
        return True
    globs = parent.config.getini("gradcli_files")
    if globs == _FILES:
        return path.suffix == ".grad"
    return path in _matching(parent.config.rootpath, tuple(globs))


@cache
def _matching(root: Path, globs: tuple[str, ...]) -> frozenset[Path]:
    """Return the files that globs match; a glob without a slash matches names in any folder."""
    return frozenset(
        path for glob in globs for path in root.glob(glob if "/" in glob else f"**/{glob}")
    )


def _lists_functions(path: Path) -> bool:
    """Return whether settings list functions.

    Settings that cannot be read are reported by the code that needs them.
    """
    import tomllib

    try:
        return bool(tomllib.loads(path.read_text("utf-8-sig"))["tool"]["gradcli"]["functions"])
    except (OSError, ValueError, LookupError, TypeError, RecursionError):
        return False


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Put the seed of a test that was made of a function into the test's name."""
    seed = getattr(metafunc.function, "gradcli_seed", None)
    if isinstance(seed, int):
        metafunc.fixturenames.append("gradcli_seed")
        metafunc.parametrize("gradcli_seed", [seed], ids=[f"seed {seed}"])


@pytest.fixture
def check_gradient() -> Callable[..., None]:
    """Check of a gradient, as in ``check_gradient(f, gradient, at={"x": [1.0, 2.0]})``.

    It fails unless the gradient is right. This is `gradcli.testing.assert_gradient`.
    """
    from gradcli.testing import assert_gradient

    return assert_gradient


def pytest_collection_finish(session: pytest.Session) -> None:
    """Fail the run for a setting that cannot be read, whatever else the run contains.

    In the process of a worker the file's own error does it.
    """
    wrong = session.stash.get(_WRONG, None)
    if wrong and not hasattr(session.config, "workerinput"):
        raise pytest.UsageError("\n".join(text.removeprefix("error[usage]: ") for text in wrong))


class CheckedFile(pytest.File):
    """File of cases.

    It is read when it is collected; the code for its items runs when they do.

    cases  yields each case with its title, its marks, and what it says; equal ones are numbered.
           It takes the name of the file from the current folder, as tests may go to other ones,
           and raises GradcliError
    """

    cases: Callable[[Options, str], Iterator[tuple[str, Case | ListedCase, Marks, Any]]]

    def collect(self) -> Iterator[pytest.Item]:
        from gradcli.errors import GradcliError, UsageError
        from gradcli.files.settings import checking_options
        from gradcli.query.baseline import Baseline
        from gradcli.storage import path_text
        from gradcli.texts import printable

        titles: Counter[str] = Counter()
        met: Counter[Any] = Counter()
        try:
            settings = _configuration(self.config).of(str(self.path))
            baseline = Baseline.load(
                settings.baseline, recording=False, words=(path_text(self.path),)
            )
            if settings.fail_on == ():
                about = (
                    f"fail-on of {printable(str(settings.path))} is empty: no verdict fails "
                    "here, only errors and false asserts do"
                )
                self.warn(pytest.PytestWarning(about))
            for title, case, marks, said in self.cases(
                checking_options(settings), path_text(self.path)
            ):
                met[said] += 1
                titles[title] += 1
                name = title if titles[title] == 1 else f"{title} ({titles[title]})"
                excuse = partial(baseline.excuse, number=met[said])
                yield GradItem.of(self, name, case, marks, excuse)
        except GradcliError as error:
            if isinstance(error, UsageError):
                self.session.stash.setdefault(_WRONG, {})[error.render()] = None
            raise self.CollectError(error.render()) from None


class GradFile(CheckedFile):
    """A program."""

    def cases(self, options: Options, file: str) -> Iterator[tuple[str, Case, Marks, Any]]:
        from gradcli.errors import GradcliError
        from gradcli.files.stores import lines_of
        from gradcli.language.run import statements
        from gradcli.language.syntax import Asked
        from gradcli.limits import DEFAULT
        from gradcli.query.cases import Case, Runner, line_of, marks_of

        parsed = list(statements(lines_of(str(self.path), DEFAULT.length), file, DEFAULT))
        runner = Runner(self.path.parent, parsed, options)
        asked = [
            i for i, statement in enumerate(parsed) if isinstance(statement, Asked | GradcliError)
        ]
        for place, i in enumerate(asked):
            first = asked[place - 1] + 1 if place else 0
            last = i if i < asked[-1] else len(parsed) - 1
            statement = parsed[i]
            text = "" if isinstance(statement, GradcliError) else statement.text
            line = line_of(statement)
            case = Case(file, line, partial(runner.records, first, last), options)
            yield _in_node(text) or f"line {line}", case, marks_of(statement), text


class RecordFile(CheckedFile):
    """JSON Lines records."""

    def cases(self, options: Options, file: str) -> Iterator[tuple[str, Case, Marks, Any]]:
        from gradcli.data import canonical, id_text
        from gradcli.errors import as_gradcli_error
        from gradcli.files.jsonl import parse_record
        from gradcli.files.stores import lines_of
        from gradcli.limits import DEFAULT
        from gradcli.query.cases import Case, CheckedLines
        from gradcli.query.programs import Programs, UsedNames
        from gradcli.report.outcomes import given_of

        reader = CheckedLines(Programs(), UsedNames(), self.path.parent)
        for number, line in enumerate(lines_of(str(self.path), DEFAULT.length), 1):
            if not line.strip():
                continue
            marks: Marks = None, None
            try:
                given = parse_record(line, DEFAULT, self.path.parent)
                said, marks = (
                    {"id": given.id, "expr": given.expr, "given": given.given},
                    (given.skip, given.xfail),
                )
            except Exception as error:  # the item reports it when it runs
                said = as_gradcli_error(error).record
            text = canonical(said.get("id")), said.get("expr"), given_of(said.get("given"))
            records = partial(reader.results, [line], file, options, number)
            case = Case(file, number, records, options)
            yield _in_node(id_text(said.get("id"))) or f"line {number}", case, marks, text


class FunctionFile(CheckedFile):
    """The functions of a project's settings, which run in this process."""

    def cases(self, options: Options, file: str) -> Iterator[tuple[str, ListedCase, Marks, Any]]:
        from gradcli.functions.asking import ListedCase

        for function in _configuration(self.config).of(str(self.path)).functions or ():
            case = ListedCase(function, self.path, options)
            yield (
                f"{_in_node(function.name)}[seed {case.seed}]",
                case,
                (function.skip, function.xfail),
                function.name,
            )


class GradItem(pytest.Function):
    """A case: a query or an assert, a statement that cannot be read, or a record.

    It is a function as far as fixtures and hooks go.
    """

    case: Case | ListedCase

    @classmethod
    def of(
        cls,
        file: CheckedFile,
        name: str,
        case: Case | ListedCase,
        marks: Marks,
        excuse: Callable[[Outcome], Outcome],
    ) -> GradItem:
        """Return the item of a case, with the reasons from its file for a skip or a known failure."""
        from gradcli.texts import inert_lines, printable

        def decide() -> None:
            outcome = excuse(case.outcome(name))
            if outcome.bad:
                raise Wrong(outcome)
            if outcome.status == "xfailed":
                pytest.xfail(outcome.reason or "")

        item: GradItem = cls.from_parent(file, name=name, callobj=decide)
        item.case = case
        item.add_marker(pytest.mark.gradcli)
        skip, xfail = marks
        if skip is not None:
            item.add_marker(
                pytest.mark.skip(reason=inert_lines(printable(skip)) or "no reason given")
            )
        if xfail is not None:
            item.add_marker(
                pytest.mark.xfail(reason=inert_lines(printable(xfail)), strict=True, raises=Wrong)
            )
        return item

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        if not isinstance(excinfo.value, Wrong):
            return super().repr_failure(excinfo)
        from gradcli.report.describing import block

        # A representation that can be sent between processes; its content is replaced.
        said = excinfo.getrepr(style="native")
        said.reprtraceback.reprentries[0].lines = [f"{block(excinfo.value.outcome)}\n"]
        crash = said.reprcrash
        if crash is not None:
            crash.path, crash.lineno, crash.message = (
                self.case.file,
                self.case.line,
                str(excinfo.value),
            )
        return said

    def reportinfo(self) -> tuple[os.PathLike[str] | str, int | None, str]:
        return self.path, self.case.line - 1, self.name


class Wrong(Exception):
    """A case that is not right."""

    def __init__(self, outcome: Outcome) -> None:
        from gradcli.texts import one_line

        super().__init__(one_line(outcome.headline, 500))
        self.outcome = outcome


def _configuration(config: pytest.Config) -> Configuration:
    """Return the settings of all files of a run, which `gradcli check` reads, too."""
    from gradcli.files.settings import Configuration

    if _CONFIGURATION not in config.stash:
        named = config.getoption("gradcli_config")
        config.stash[_CONFIGURATION] = Configuration(
            None if named is None else str(config.invocation_params.dir / named)
        )
    return config.stash[_CONFIGURATION]


def _in_node(text: str) -> str:
    """Return a text on one line, or an empty one where it cannot stand in a node id."""
    from gradcli.query.cases import LONGEST_NAME
    from gradcli.texts import inert_lines, one_line

    line = inert_lines(one_line(text, LONGEST_NAME))
    return "" if "::" in line.partition("[")[0] else line
