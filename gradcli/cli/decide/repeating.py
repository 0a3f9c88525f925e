"""One command for each case that is wrong, which repeats it alone: the options that decide it, and where it stands."""

from __future__ import annotations

import time
from collections.abc import Iterator

from gradcli.cli.exit_codes import BAD_INPUT, FINE, FOUND, INTERRUPTED, code_of
from gradcli.cli.inputs.positionals import Inputs, is_stream
from gradcli.cli.request import CheckRequest
from gradcli.cli.write.streams import say
from gradcli.errors import GradcliError
from gradcli.files.npy import is_handed_over
from gradcli.inert import shell_command
from gradcli.query.baseline import Baseline, Identities
from gradcli.report.outcomes import ERROR, Outcome, Summary
from gradcli.report.records import Record

_LONGEST = 2_000  # characters of a command


class Repeating:
    """The commands of a run. Reports, processes, baselines and limits of the whole run have no part in what one case gives."""

    def __init__(self, request: CheckRequest, inputs: Inputs) -> None:
        self._inputs = inputs
        self._options = [*_said(request, _OPTIONS)]
        self._bindings = [f"{name}={text}" for name, text in inputs.bindings.items()]
        self._reads_once = "@-" in inputs.bindings.values()
        self._alone = [*_said(request, _ALONE)]

    def command(self, record: Record) -> str | None:
        """The command, from the folder that this one runs in; None where there is none: standard input and pipes are read once."""
        files = self._inputs.files if record.file is None else [record.file]
        if self._reads_once or any(is_stream(path) or is_handed_over(path) for path in files) or (record.file is None and not self._alone):
            return None
        where = self._alone if record.file is None else ["--line", str(record.line)]
        named = [word for path in files for word in (["-f", path] if path.startswith("-") else [path])]
        command = shell_command("gradcli", "check", *named, *where, *self._bindings, *self._options)
        return command if len(command) <= _LONGEST else None


def _said(request: CheckRequest, names: str) -> Iterator[str]:
    """Options as words, in this order."""
    for option, value in request.given(names):
        for each in value if isinstance(value, (list, tuple)) else [value]:
            yield from (option,) if value is True else (option, str(each))


# The options that say what is decided, and those that what is computed, and how it is judged, depends on.
_ALONE = "expression grad grad_formula function gradient jvp_of adjoint by implicit fixed_point parameters at forward order"
_OPTIONS = (
    "input_format wrt seed fail_on rtol atol convention points random_state timeout dialect dtype backend threads config freeze over limit"
)


# -- What has come of a check so far: each outcome identified, excused if it is a known failure,
# and counted.


class Results:
    """Outcomes as they count, with their summary and the exit code that follows."""

    def __init__(self, baseline: Baseline, repeating: Repeating) -> None:
        self.summary = Summary()
        self.code = FINE
        self._baseline, self._identities, self._repeating = baseline, Identities(baseline.path), repeating
        self._started = time.perf_counter()

    def add(self, outcome: Outcome) -> Outcome:
        """The outcome as it counts."""
        outcome.identity = self._identities.of(outcome)
        counted = self._baseline.applied(outcome)
        self.summary.add(counted)
        if counted.bad:
            counted.repeat = counted.repeat or self._repeating.command(counted.record)
            self.met(FOUND if counted.record.error is None or counted.status != ERROR else code_of(counted.record.error.error))
        return counted

    def met(self, code: int) -> None:
        """Something that has an exit code: the largest one is the run's."""
        self.code = max(self.code, code)

    def interrupt(self) -> None:
        self.summary.interrupted = True
        self.code = INTERRUPTED

    def end(self, partial: bool) -> None:
        """The end of the work, all of it or ``partial``: a recording is saved, and what the baseline has in vain is said."""
        self.summary.seconds = time.perf_counter() - self._started
        if self.summary.interrupted:
            return
        try:
            for line in self._baseline.closed(set(self._identities.roots.values()), partial or self.summary.unreached > 0):
                say(line)
        except GradcliError as error:
            say(error.render())
            self.code = BAD_INPUT

    @property
    def is_empty(self) -> bool:
        """Return whether the work is done, and there was none."""
        return not self.summary.total and not self.summary.interrupted
