"""A function of the settings, decided about in this process: as a test."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gradcli.errors import GradcliError
from gradcli.files.settings import FunctionSetting
from gradcli.functions.asking import (
    AskedFunction,
    definition_of,
    function_options,
    load_function,
    set_place,
    smallest_of,
)
from gradcli.functions.calls import call_guarded
from gradcli.functions.points import Arguments
from gradcli.options import Options
from gradcli.query.cases import outcome_of
from gradcli.query.programs import Programs
from gradcli.report.outcomes import Outcome
from gradcli.report.records import Record
from gradcli.storage import path_text


@dataclass(frozen=True, eq=False)
class ListedCase:
    """A function and where the settings list it."""

    setting: FunctionSetting
    settings: Path
    options: Options
    line = 1  # of the settings

    @property
    def file(self) -> str:
        return path_text(self.settings)

    @property
    def seed(self) -> int:
        """Seed of what is drawn at random."""
        return function_options(self.options, self.setting).state

    def outcome(self, name: str) -> Outcome:
        """Return what becomes of it; an interrupt goes through."""
        setting = self.setting
        options = function_options(self.options, self.setting)
        folder = self.settings.parent
        record = Record(setting.function, id=setting.name, file=self.file, record_line=True)
        arguments: Arguments = {}
        try:
            at = {name: text for name, _, text in (given.partition("=") for given in setting.at)}
            case = AskedFunction(setting, at, options, Programs(), folder, str)
            record.expr, record.given = case.title, case.given
            functions: list[Any] = [
                None if path is None else self._load(path, folder) for path in case.functions
            ]
            set_place(record, definition_of(functions[0]))
            smallest = case.decide(
                record,
                lambda question: call_guarded(lambda: question.check(*functions), interrupts=False),
            )
            arguments = smallest or case.question.arguments
        except GradcliError as error:
            record.fail(error)
        outcome = outcome_of(record, name, options.fail_on)
        if arguments and outcome.bad:
            outcome.details.append(f"at {' '.join(smallest_of(arguments))}")
        return outcome

    def _load(self, path: str, folder: Path) -> Any:
        """Load a function.

        While its modules are imported, they may import others of the folder.
        """
        sys.path.insert(0, str(folder))
        try:
            return load_function(path, folder, interrupts=False)
        finally:
            sys.path.remove(str(folder))
