"""Programs in the making: each with the values that are bound from outside, whoever reads it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gradcli.language.program_text import ProgramText
from gradcli.language.run import Program
from gradcli.language.scope import Scope
from gradcli.limits import DEFAULT, Limits

if TYPE_CHECKING:
    from gradcli.batch.single_queries import CompilationCache

Loader = Callable[[str], Any]  # reads the data file that a program names


@dataclass(eq=False, repr=False)
class Programs:
    """Makes the programs of a run."""

    limits: Limits = DEFAULT
    precision: str = "float64"
    values: dict[str, Any] = field(default_factory=dict)  # they replace what programs bind to the same names
    deviations: dict[str, Any] = field(default_factory=dict)  # the standard deviations of those that are not exact
    dialect: str | None = None  # of programs that show none
    piped: Callable[[], bytes] | None = None  # what standard input holds, where it is data
    keeps_text: bool = False  # whether programs keep the text that they read

    def fresh(
        self,
        state: int = 0,
        load: Loader | None = None,
        values: Mapping[str, Any] | None = None,
        dialect: str | None = None,
        usual: str | None = None,
        deviations: Mapping[str, Any] | None = None,
    ) -> Program:
        """A program that nothing has run in.

        state   the seed of its random numbers
        load    reads the data files that it names; without one, it may name none
        values  those of this program, if they are not those of all
        dialect what is asked for where it does not show one, if nothing is asked for all
        usual   what holds where nobody asks
        """
        scope = Scope(self.limits, self.precision, state)
        scope.load = load
        scope.dialect.asked, scope.dialect.usual = self.dialect or dialect, usual
        scope.outside = dict(self.values if values is None else values)
        for name, value in scope.outside.items():
            leaf = scope.bind_value(name, value)
            deviation = (self.deviations if deviations is None else deviations).get(name)
            if deviation is not None:
                scope.deviations[leaf] = deviation
        program = Program(scope)
        program.text = ProgramText() if self.keeps_text else None
        return program

    def loader(self, folder: Path | None = None) -> Loader:
        """Reads data files: those in or below a folder, or any."""

        def load(reference: str) -> Any:
            from gradcli.files.arrays import load_array

            return load_array(reference, self.limits, folder, self.piped if folder is None else None)

        return load

    @cached_property
    def cache(self) -> CompilationCache:
        """Queries of one form, which are compiled once for all programs."""
        from gradcli.batch.single_queries import CompilationCache

        return CompilationCache(self.limits, self.precision)
