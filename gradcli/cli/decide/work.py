"""What a request is about: files and expressions, a Python function, or the functions of the settings beside these."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from itertools import chain
from typing import TYPE_CHECKING

from gradcli.cli.decide.cases import Called, Piece, Work, cases_of
from gradcli.cli.request import CheckRequest
from gradcli.cli.write.streams import say
from gradcli.files.settings import shown
from gradcli.inert import printable
from gradcli.report.outcomes import Outcome

if TYPE_CHECKING:
    from gradcli.cli.decide.functions import ListedFunctions


def work_of(request: CheckRequest) -> Work:
    """Return what there is to decide. Raises GradcliError for what is wrong with the request."""
    named = request.function, request.gradient, request.jvp_of, request.adjoint, request.implicit, request.fixed_point, request.parameters
    if request.by or any(named):
        from gradcli.cli.decide.functions import OneFunction

        return OneFunction(request)
    if not request.functions:
        cases = cases_of(request)
        _say_what_is_left_out(request, cases)
        return cases
    from gradcli.cli.decide.functions import ListedFunctions

    functions = ListedFunctions(request)
    given = request.arguments or request.files or request.expression is not None
    if not given and not functions.policies.settings().files:
        return functions
    return Together(cases_of(request), functions)


def _say_what_is_left_out(request: CheckRequest, cases: Work) -> None:
    """Functions that the settings list are code, which runs where somebody says so."""
    settings = cases.policies.settings()
    if settings.functions and settings.path is not None and not (request.arguments or request.files or request.expression is not None):
        count = f"{len(settings.functions):,} function{'s' * (len(settings.functions) != 1)}"
        say(f"note: {count} of {printable(shown(settings.path))} left out: --functions checks them, too, and so runs them")


class Together:
    """Files and expressions, and then the functions of the settings."""

    def __init__(self, cases: Work, functions: ListedFunctions) -> None:
        self.cases, self.functions = cases, functions
        self.inputs, self.policies, self.names = cases.inputs, cases.policies, cases.names
        self.processes, self.budget = max(cases.processes, functions.processes), cases.budget
        self.functions.budget = self.budget
        self.unchanged = cases.unchanged + functions.unchanged

    @property
    def begin(self) -> Callable[[int], object]:
        return self.cases.begin

    @begin.setter
    def begin(self, told: Callable[[int], object]) -> None:
        self.cases.begin = self.functions.begin = told

    def pieces(self) -> Iterator[Piece]:
        return chain(self.cases.pieces(), self.functions.pieces())

    def outcomes(self, piece: Piece, without: Collection[int | None] = ()) -> Iterator[Outcome]:
        return (self.functions if isinstance(piece, Called) else self.cases).outcomes(piece, without)

    def remarks(self) -> list[str]:
        return self.cases.remarks()
