"""How each file of a check is judged: by the options that are given, else by the settings of the project that the file is in."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from gradcli.cli.job import Way
from gradcli.files.settings import CONVENTIONS, Configuration, Settings, one_of, shown, verdicts
from gradcli.query.options import Options
from gradcli.query.outcome import FAIL_ON, POINTS

if TYPE_CHECKING:
    from gradcli.cli.check import CheckRequest


@dataclass(frozen=True, eq=False)
class Judgement(Way):
    """How the cases of a file are calculated and judged."""

    points: int = POINTS  # to which names without values are set
    fail_on: tuple[str, ...] = FAIL_ON


class Judgements:
    """The judgement of each file."""

    def __init__(self, request: CheckRequest, options: Options) -> None:
        self.request, self.options = request, options
        self.configuration = Configuration(request.config)
        self.fail_on = None if request.fail_on is None else verdicts("--fail-on", [request.fail_on])
        one_of("--convention", CONVENTIONS[0] if request.convention is None else request.convention, CONVENTIONS)
        self._made: dict[Settings, Judgement] = {}

    def of(self, path: str | None) -> Judgement:
        """The judgement of a file; None and "-" are the command line and standard input. Raises UsageError for settings that are wrong."""
        settings = self.configuration.of(None if path == "-" else path)
        if settings not in self._made:
            self._made[settings] = self._make(settings)
        return self._made[settings]

    def _make(self, settings: Settings) -> Judgement:
        request = self.request
        options = replace(
            self.options,
            rtol=settings.rtol if request.rtol is None else request.rtol,
            atol=(settings.atol if request.atol is None else request.atol) or 0.0,
            convention=settings.convention if request.convention is None else request.convention,
            timeout=settings.timeout if request.timeout is None else request.timeout,
        )
        state = settings.random_state if request.random_state is None else request.random_state
        points = settings.points if request.points is None else request.points
        fail_on = settings.fail_on if self.fail_on is None else self.fail_on
        return Judgement(options, state or 0, points or POINTS, FAIL_ON if fail_on is None else fail_on)

    def lenient(self, paths: Iterable[str | None]) -> list[str]:
        """Who says that no verdict fails, of those who judge these files."""
        if self.fail_on is not None:
            return [] if self.fail_on else ["--fail-on"]
        settings = dict.fromkeys(self.configuration.of(None if path == "-" else path) for path in paths)
        return [f"fail-on of {shown(found.path)}" for found in settings if found.fail_on == () and found.path is not None]
