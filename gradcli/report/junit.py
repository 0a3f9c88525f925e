"""JUnit XML as pytest writes it (xunit2), which Jenkins, GitLab and others read.

GitLab links the ``file`` of a testcase, and actions of GitHub annotate its ``line``. The schema to which Jenkins' xUnit plugin holds a
report has neither, and it refuses the whole for one attribute too many: where Jenkins runs, they are left out.

The counts stand before the cases they count, so the cases wait in a temporary file and the memory does not grow.
"""

from __future__ import annotations

import os
from datetime import UTC, datetime
from functools import cache
from typing import TextIO

from gradcli.inert import one_line, printable, xml_text
from gradcli.report.describing import block, location
from gradcli.report.outcomes import ERROR, FAILED, SKIPPED, XFAILED, XPASSED, Outcome, Report, Summary, Tally, digest_of
from gradcli.report.places import relative

_COUNTED = {ERROR: "errors", FAILED: "failures", XPASSED: "failures", SKIPPED: "skipped", XFAILED: "skipped"}


class JUnitReport(Report):
    """A testcase for every case."""

    def __init__(self, stream: TextIO) -> None:
        from tempfile import SpooledTemporaryFile

        super().__init__(stream)
        self.started = datetime.now(UTC)
        self.counts = {"errors": 0, "failures": 0, "skipped": 0, "tests": 0}
        self.cases = SpooledTemporaryFile(1 << 20, "w+", encoding="utf-8", newline="\n")  # noqa: SIM115
        self.class_of, self.path_of = cache(_class), cache(_path)
        self.names = Tally()
        self.has_places = "JENKINS_URL" not in os.environ

    def add(self, outcome: Outcome) -> None:
        suite = self.class_of(outcome.suite)
        path = self.path_of(outcome.file) if self.has_places else None
        place = {} if path is None else {"file": path, "line": str(outcome.line)}
        name = self._told_apart(suite, one_line(outcome.name, 500) or f"line {outcome.line}")
        self._case(suite, name, outcome.seconds, outcome.status, _body(outcome), place)

    def _told_apart(self, suite: str, name: str) -> str:
        """The name, with a number if there is one like it: viewers show the last of equal ones only."""
        found, number = name, self.names.add(digest_of(f"{suite}\0{name}"))
        while number > 1:
            found = f"{name} ({number})"
            number = 0 if self.names.add(digest_of(f"{suite}\0{found}")) == 1 else number + 1
        return found

    def close(self, summary: Summary) -> None:
        from platform import node
        from shutil import copyfileobj

        if summary.interrupted:
            self._case("gradcli", "interrupted", 0.0, ERROR, _element("error", summary.line(), message="interrupted"))
        counts = {name: str(count) for name, count in self.counts.items()} | {"time": f"{summary.seconds:.3f}"}
        whole = _attributes(name="gradcli check", **{name: count for name, count in counts.items() if name != "skipped"})
        suite = _attributes(name="gradcli", **counts, timestamp=self.started.isoformat(), hostname=printable(node()))
        self.stream.write(f'<?xml version="1.0" encoding="utf-8"?>\n<testsuites{whole}>\n<testsuite{suite}>\n')
        self.cases.seek(0)
        copyfileobj(self.cases, self.stream)
        self.cases.close()
        self.stream.write("</testsuite>\n</testsuites>\n")
        self.stream.flush()

    def _case(self, suite: str, name: str, seconds: float, status: str, body: str, place: dict[str, str] | None = None) -> None:
        self.counts["tests"] += 1
        if status in _COUNTED:
            self.counts[_COUNTED[status]] += 1
        attributes = _attributes(classname=suite, name=name, **(place or {}), time=f"{seconds:.3f}")
        self.cases.write(f"<testcase{attributes}>{body}</testcase>\n" if body else f"<testcase{attributes}/>\n")


def _class(suite: str) -> str:
    """A path as a dotted name, as pytest makes them, without a drive or a share: viewers make folders of the dots."""
    return printable(suite if suite.startswith("<") else os.path.splitdrive(relative(suite))[1].strip("/").replace("/", "."))


def _path(file: str | None) -> str | None:
    return None if file is None or file.startswith("<") else printable(relative(file))


def _body(outcome: Outcome) -> str:
    """What stands inside a testcase: what is wrong, or why it is excused; and the expression, where neither that nor the name says it."""
    record = outcome.record
    if outcome.bad:
        tag = "error" if outcome.status == ERROR else "failure"
        return _element(tag, block(outcome), message=one_line(outcome.headline, 500), type=outcome.rule)
    body = ""
    if outcome.status in (SKIPPED, XFAILED):
        reason = one_line(outcome.reason or outcome.status, 500)
        kind = "pytest.xfail" if outcome.status == XFAILED else "pytest.skip"
        body = _element("skipped", f"{location(outcome)}: {reason}", type=kind, message=reason)
    return body if record.id is None or not record.expr else body + _element("system-out", one_line(record.expr, 500))


def _element(tag: str, text: str, **attributes: str) -> str:
    return f"<{tag}{_attributes(**attributes)}>{xml_text(text)}</{tag}>"


def _attributes(**values: str) -> str:
    return "".join(f' {name}="{xml_text(value)}"' for name, value in values.items())
