"""A function of the settings, decided about in this process: as a test."""

from __future__ import annotations

import sys
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from gradcli.errors import GradcliError, one_of
from gradcli.files.function_settings import FunctionSetting
from gradcli.files.settings import shown
from gradcli.functions.arguments import PRECISIONS
from gradcli.functions.asked import OPTIONS, asked
from gradcli.functions.asking import arguments_of, differentiated, judged, placed, smallest_of
from gradcli.functions.calls import guarded
from gradcli.functions.checking import Question
from gradcli.functions.frameworks import FRAMEWORKS
from gradcli.functions.loading import definition_of, loaded
from gradcli.functions.points import Arguments, gravest
from gradcli.query.options import Policy
from gradcli.query.outcome import outcome_of
from gradcli.query.programs import Programs
from gradcli.report.identities import given_of
from gradcli.report.outcomes import Outcome
from gradcli.report.records import Failure, Record
from gradcli.report.verdicts import Check, Verdict


@dataclass(frozen=True, eq=False)
class ListedCase:
    """A function and where the settings list it."""

    setting: FunctionSetting
    settings: Path
    line: int
    policy: Policy

    @property
    def file(self) -> str:
        return shown(self.settings)

    @property
    def seed(self) -> int:
        """Of what is drawn at random."""
        return judged(self.policy, self.setting).state

    def outcome(self, name: str) -> Outcome:
        """What becomes of it; an interrupt goes through."""
        setting, policy, folder = self.setting, judged(self.policy, self.setting), self.settings.parent
        record = Record(setting.function, id=setting.name, file=self.file, line=self.line, record_line=True)
        smallest: Arguments | None = None
        try:
            smallest = self._decide(record, policy, folder)
        except GradcliError as error:
            record.error = Failure.of(error)
        outcome = outcome_of(record, name, fail_on=policy.fail_on)
        if smallest is not None and outcome.bad:
            outcome.details.append(f"at {' '.join(smallest_of(smallest))}")
        return outcome

    def _decide(self, record: Record, policy: Policy, folder: Path) -> Arguments:
        """Fill in the verdict; gives the arguments that it is about."""
        setting = self.setting
        given = {name: getattr(setting, name) for name in OPTIONS}
        what = asked(given, setting.by, setting.order, str, alone=False, forward=setting.forward)
        record.expr = f"{setting.function} with {what.title(setting.by, setting.order, str)}"
        if setting.by is not None:
            one_of("by", setting.by, FRAMEWORKS)
        function = self._loaded(setting.function, folder)
        placed(record, definition_of(function))
        others = what.claim, what.equation, setting.parameters
        claim, equation, module = (None if path is None else self._loaded(path, folder) for path in others)
        dtype = one_of("dtype", setting.dtype or "float64", PRECISIONS)
        programs, texts = Programs(), {name: text for name, _, text in (given.partition("=") for given in setting.at)}

        def draw(number: int) -> dict[str, Any]:
            return arguments_of(texts, programs, policy.state + number, dtype, folder)

        wrt = differentiated(list(texts), policy.options, setting.by)
        record.given = given_of([*setting.at, wrt])
        seed = None if setting.seed is None else programs.fresh(policy.state).constant(setting.seed, "<seed>")
        question = Question(
            draw(0), wrt, policy.options.rtol, policy.options.atol, setting.by, seed, policy.state, setting.order, what.kind, what.solves,
            policy.options.wrt is None, tuple(policy.options.freeze),
        )  # fmt: skip

        def ask(arguments: Arguments) -> tuple[Check, Any]:
            at_these = replace(question, arguments=arguments)
            answer: tuple[Check, Any] = guarded(lambda: at_these.check(function, claim, equation, module), interrupts=False)
            return answer

        if setting.points is None:
            record.check, record.value = ask(question.arguments)
            return question.arguments
        arguments, record.check, record.value = gravest(draw, ask, setting.points)
        record.points = setting.points
        return arguments if record.check.verdict is Verdict.MISMATCH else question.arguments

    def _loaded(self, path: str, folder: Path) -> Any:
        """A function, whose modules may import others of the folder while they are imported."""
        sys.path.insert(0, str(folder))
        try:
            return loaded(path, folder, interrupts=False)
        finally:
            sys.path.remove(str(folder))
