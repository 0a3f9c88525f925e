"""Programs in the making: each with the values that are bound from outside, whoever reads it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gradcli.language.run import Program, ProgramText
from gradcli.language.scope import Scope
from gradcli.limits import DEFAULT, Limits
from gradcli.query.bindings import value_of

if TYPE_CHECKING:
    from gradcli.query.templates import CompilationCache


@dataclass(eq=False, repr=False)
class Programs:
    """Makes the programs of a run."""

    limits: Limits = DEFAULT
    precision: str = "float64"
    # they replace what programs bind to the same names
    values: dict[str, Any] = field(default_factory=dict)
    # the standard deviations of those that are not exact
    deviations: dict[str, Any] = field(default_factory=dict)
    dialect: str | None = None  # of programs that show none
    piped: Callable[[], bytes] | None = None  # what standard input holds, where it is data
    keeps_text: bool = False  # whether programs keep the text that they read

    def fresh(
        self,
        state: int = 0,
        load: Callable[[str], Any] | None = None,
        values: Mapping[str, Any] | None = None,
        dialect: str | None = None,
        usual: str | None = None,
        deviations: Mapping[str, Any] | None = None,
    ) -> Program:
        """Return a program that nothing has run in.

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

    def loader(self, folder: Path | None = None) -> Callable[[str], Any]:
        """Return a reader of data files: of those in or below a folder, or of any."""

        def load(reference: str) -> Any:
            from gradcli.files.arrays import load_array

            return load_array(
                reference, self.limits, folder, self.piped if folder is None else None
            )

        return load

    @cached_property
    def cache(self) -> CompilationCache:
        """Queries of one form, which are compiled once for all programs."""
        from gradcli.query.templates import CompilationCache

        return CompilationCache(self.limits, self.precision)


def programs_with(
    values: Mapping[str, Any], limits: Limits, dtype: str = "float64", dialect: str | None = None
) -> Programs:
    """Return what makes programs with these values: arrays, or text with a ``±``."""
    programs = Programs(limits, dtype, dialect=dialect)
    for name, value in values.items():
        exact, deviation = value, None
        if isinstance(value, str) and any(
            sign in value for sign in ("±", "+/-", "\\pm", "+-", "(")
        ):
            found, deviation = programs.fresh().uncertain(value, name)
            exact = value if deviation is None else found
        programs.values[name] = array = value_of(name, exact)
        limits.check_shape(array.shape)
        if deviation is not None:
            programs.deviations[name] = deviation
    return programs
