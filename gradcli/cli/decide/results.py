"""What has come of a check so far: each outcome identified, excused if it is a known failure, and counted."""

from __future__ import annotations

import time

from gradcli.cli.decide.repeating import Repeating
from gradcli.cli.exit_codes import BAD_INPUT, FINE, FOUND, INTERRUPTED, code_of
from gradcli.cli.write.streams import say
from gradcli.errors import GradcliError
from gradcli.query.baseline import Baseline, Identities
from gradcli.report.outcomes import ERROR, Outcome, Summary


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
        """Whether the work is done, and there was none."""
        return not self.summary.total and not self.summary.interrupted
