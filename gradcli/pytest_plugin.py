"""pytest collects ``*.grad`` files: an item for each query and each assert, decided as by ``gradcli check``.

Every pytest of an environment imports this module, so that gradcli itself is imported when such a file is collected.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from gradcli.errors import GradcliError
    from gradcli.files.settings import Configuration, Settings
    from gradcli.language.run import Program
    from gradcli.language.tree import Statement
    from gradcli.report.outcomes import Outcome
    from gradcli.report.records import Record

_FILES = ["*.grad"]
_CONFIGURATION = pytest.StashKey["Configuration"]()
_WRONG = pytest.StashKey[dict[str, None]]()  # what is wrong with settings, as messages


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("gradcli")
    where = "not from the pyproject.toml above each .grad file (write --gradcli-config=FILE)"
    group.addoption("--gradcli-config", metavar="FILE", help=f"take gradcli's settings from FILE, {where}")
    parser.addini("gradcli_files", "globs of the programs that gradcli checks, from the rootdir (default: *.grad)", "args", _FILES)


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> pytest.Collector | None:
    if not _is_program(file_path, parent):
        return None
    return GradFile.from_parent(parent, path=file_path)


def _is_program(path: Path, parent: pytest.Collector) -> bool:
    globs = parent.config.getini("gradcli_files")
    if globs == _FILES or (path.suffix == ".grad" and parent.session.isinitpath(path)):
        return path.suffix == ".grad"
    root = parent.config.rootpath
    shown = path.relative_to(root).as_posix() if path.is_relative_to(root) else path.as_posix()
    return any(_matcher(glob)(shown) for glob in globs)


@cache
def _matcher(glob: str) -> Callable[[str], Any]:
    """A glob as a pattern of paths: ``*`` stays within a folder, ``**/`` is any folders; without a slash, it is of names anywhere."""
    text = glob.removeprefix("./") if "/" in glob else f"**/{glob}"
    parts = {"**/": "(?:.*/)?", "**": ".*", "*": "[^/]*", "?": "[^/]"}
    pattern = "".join(parts.get(part) or re.escape(part) for part in re.split(r"(\*\*/|\*\*|\*|\?)", text) if part)
    return re.compile(f"(?s:{pattern})\\Z").match


@pytest.fixture
def check_gradient() -> Callable[..., None]:
    """``check_gradient(f, gradient, at={"x": [1.0, 2.0]})`` fails unless the gradient is right: `gradcli.testing.assert_gradient`."""
    from gradcli.testing import assert_gradient

    return assert_gradient


def pytest_collection_finish(session: pytest.Session) -> None:
    """A setting that cannot be read fails the run, whatever else it holds; in the process of a worker, by the file's own error."""
    wrong = session.stash.get(_WRONG, None)
    if wrong and not hasattr(session.config, "workerinput"):
        raise pytest.UsageError("\n".join(text.removeprefix("error[usage]: ") for text in wrong))


class GradFile(pytest.File):
    """A program; its statements are read when it is collected, and run when an item needs them."""

    def collect(self) -> Iterator[pytest.Item]:
        from gradcli.errors import GradcliError, UsageError
        from gradcli.files.sources import lines_of
        from gradcli.inert import printable, shown
        from gradcli.language.run import statements
        from gradcli.language.tree import Assertion, Query
        from gradcli.limits import DEFAULT
        from gradcli.query.outcome import CaseNames, marks_of

        if self.path.suffix in (".jsonl", ".ndjson"):
            raise self.CollectError(
                f"{printable(_shown(self.path))}: gradcli_files is about programs; records are checked by: gradcli check"
            )
        try:
            settings = _configuration(self.config).of(str(self.path))
        except UsageError as error:
            self.session.stash.setdefault(_WRONG, {})[error.render()] = None
            raise self.CollectError(error.render()) from None
        if settings.fail_on == ():
            self.warn(
                pytest.PytestWarning(
                    f"fail-on of {printable(str(settings.path))} is empty: no verdict fails here, only errors and false asserts do"
                )
            )
        try:
            parsed = list(statements(lines_of(str(self.path), DEFAULT.length), _shown(self.path), DEFAULT))
            runner = Runner(self.path.parent, parsed, settings)
        except GradcliError as error:
            raise self.CollectError(error.render()) from None
        asked = [i for i, statement in enumerate(parsed) if isinstance(statement, (Query, Assertion, GradcliError))]
        name = CaseNames()
        for place, i in enumerate(asked):
            first = asked[place - 1] + 1 if place else 0
            last = i if i < asked[-1] else len(parsed) - 1
            item = GradItem.from_parent(self, name=name(_title(parsed[i])), case=Case(runner, first, i, last))
            skip, xfail = marks_of(parsed[i])
            if skip is not None:
                item.add_marker(pytest.mark.skip(reason=shown(printable(skip)) or "no reason given"))
            if xfail is not None:
                item.add_marker(pytest.mark.xfail(reason=shown(printable(xfail)), strict=True, raises=Wrong))
            yield item


class GradItem(pytest.Item):
    """A query or an assert, or a statement that cannot be read."""

    def __init__(self, *, case: Case, **known: Any) -> None:
        super().__init__(**known)
        self.case = case
        self.funcargs: dict[str, Any] = {}  # of a test function's: hooks of other people's ask every item for them
        self.fixturenames: list[str] = []

    @property
    def function(self) -> Callable[[], None]:
        return self.runtest

    def runtest(self) -> None:
        outcome = self.case.outcome(self.name)
        if outcome.bad:
            raise Wrong(outcome)

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        if isinstance(excinfo.value, Wrong):
            from gradcli.report.describing import block

            return block(excinfo.value.outcome)
        return super().repr_failure(excinfo, style)

    def reportinfo(self) -> tuple[os.PathLike[str] | str, int | None, str]:
        return self.path, self.case.line - 1, self.name


class Wrong(Exception):
    """A case that is not right."""

    def __init__(self, outcome: Outcome) -> None:
        from gradcli.inert import one_line

        super().__init__(one_line(outcome.headline, 500))
        self.outcome = outcome


@dataclass(frozen=True, eq=False)
class Case:
    """The place of an item in its program: the statements from ``first`` to ``last`` are its own, ``asked`` the one in question."""

    runner: Runner
    first: int
    asked: int
    last: int

    @property
    def line(self) -> int:
        from gradcli.query.outcome import line_of

        return line_of(self.runner.statements[self.asked])

    def outcome(self, name: str) -> Outcome:
        """The first that is wrong of what the item's own statements give."""
        from gradcli.query.outcome import outcome_of

        found: Outcome | None = None
        self.runner.advance(self.first)
        for i in range(self.first, self.last + 1):
            record = self.runner.run(i)
            if record is not None:
                record.xfail = None  # which is pytest's affair
                outcome = outcome_of(record, name, fail_on=self.runner.policy.fail_on)
                if outcome.bad:
                    return outcome
                found = outcome if i == self.asked else found
        assert found is not None
        return found


class Runner:
    """One program for a file. Queries leave no trace in it, so that each gives the same alone as after the others."""

    def __init__(self, folder: Path, statements: list[Statement | GradcliError], settings: Settings) -> None:
        from gradcli.query.policy import policy_of

        self.folder = folder
        self.statements = statements
        self.policy = policy_of(settings)
        self.done = 0  # statements that the program has been through
        self.program: Program | None = None

    def advance(self, place: int) -> None:
        """Make the names those before the statement at a place."""
        if self.program is None or self.done > place:
            self.program, self.done = self._fresh(), 0
        from gradcli.language.tree import Assertion, Query

        for i in range(self.done, place):
            if not isinstance(self.statements[i], (Query, Assertion)):
                self.run(i)
        self.done = place

    def run(self, place: int) -> Record | None:
        from gradcli.language.tree import Assertion, Query
        from gradcli.query.outcome import checked

        assert self.program is not None
        self.done = max(self.done, place + 1)
        statement = self.statements[place]
        random = self.program.scope.random.bit_generator
        before = random.state
        try:
            return checked(self.program, statement, self.policy)
        finally:
            if isinstance(statement, (Query, Assertion)):
                random.state = before

    def _fresh(self) -> Program:
        from gradcli.query.programs import Programs

        programs = Programs()
        program = programs.fresh(self.policy.state, programs.loader(self.folder), usual=self.policy.dialect)
        program.scope.dialect.foresee(lambda: dict.fromkeys(s.source for s in self.statements if s.source is not None))
        return program


def _configuration(config: pytest.Config) -> Configuration:
    """The settings of all files of a run, which `gradcli check` reads, too."""
    from gradcli.files.settings import Configuration

    if _CONFIGURATION not in config.stash:
        named = config.getoption("gradcli_config")
        config.stash[_CONFIGURATION] = Configuration(None if named is None else str(config.invocation_params.dir / named))
    return config.stash[_CONFIGURATION]


def _shown(path: Path) -> str:
    """The path from the current folder, if it is in or below it."""
    here = Path.cwd()
    return str(path.relative_to(here)) if path.is_relative_to(here) else str(path)


def _title(statement: Statement | GradcliError) -> str:
    """The statement's text on one line; "line N" where it cannot stand in a node id, or cannot be read."""
    from gradcli.errors import GradcliError
    from gradcli.inert import one_line, shown
    from gradcli.query.outcome import LONGEST_NAME, line_of

    if not isinstance(statement, GradcliError):
        text = shown(one_line(statement.text, LONGEST_NAME))
        if "::" not in text.partition("[")[0]:
            return text
    return f"line {line_of(statement)}"
