"""How each file of a check is judged: by the options that are given, else by the settings of the project that the file is in."""

from __future__ import annotations

from collections.abc import Iterable

from gradcli.cli.inputs.option_values import backend_of
from gradcli.cli.request import CheckRequest
from gradcli.errors import one_of
from gradcli.files.settings import CONVENTIONS, Configuration, Settings, shown, verdicts
from gradcli.query.options import Options, Policy, policy_of


class FilePolicies:
    """The policy of each file; None and "-" are the command line and standard input. Raises UsageError for settings that are wrong."""

    def __init__(self, request: CheckRequest, options: Options, configuration: Configuration) -> None:
        self._options = options
        self._configuration = configuration
        fail_on = None if request.fail_on is None else verdicts("--fail-on", [request.fail_on])
        if request.convention is not None:
            one_of("--convention", request.convention, CONVENTIONS)
        self._flags = Settings(
            fail_on=fail_on, convention=request.convention, rtol=request.rtol, atol=request.atol, points=request.points,
            random_state=request.random_state, timeout=request.timeout, jobs=request.jobs, budget=request.budget, baseline=request.baseline,
            backend=None if request.backend is None else backend_of(request.backend), threads=request.threads,
        )  # fmt: skip
        self._made: dict[Settings, Policy] = {}

    def of(self, path: str | None) -> Policy:
        settings = self.settings(path)
        if settings not in self._made:
            self._made[settings] = policy_of(settings, self._options)
        return self._made[settings]

    def settings(self, path: str | None = None) -> Settings:
        """The settings that hold for a file, the options among them."""
        return self._configuration.of(None if path == "-" else path).overridden(self._flags)

    def lenient(self, paths: Iterable[str | None]) -> list[str]:
        """Who says that no verdict fails, of those who judge these files."""
        if self._flags.fail_on is not None:
            return [] if self._flags.fail_on else ["--fail-on"]
        found = dict.fromkeys(map(self.settings, paths))
        return [f"fail-on of {shown(settings.path)}" for settings in found if settings.fail_on == () and settings.path is not None]
