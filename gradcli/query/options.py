"""Options of a query, and of how it is judged: plain data that every way into gradcli fills in."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

from gradcli.texts import normalize

if TYPE_CHECKING:
    import numpy as np

    from gradcli.files.jsonl import ClaimInput
    from gradcli.files.settings import Settings

    _Named = Literal["float64", "float32", "double", "single", "f8", "f4"]
    DType = (
        _Named | type[np.float64] | type[np.float32] | np.dtype[np.float64] | np.dtype[np.float32]
    )

Mode = Literal["grad", "jacobian", "hessian", "jvp", "hvp"]  # what is computed besides the value


def names_of(given: str | Iterable[str] | None) -> tuple[str, ...] | None:
    """Return a list of names, which a string separates by commas."""
    if given is None:
        return None
    listed = given.split(",") if isinstance(given, str) else given
    return tuple(normalize(name.strip()) for name in listed if name.strip())


# Called with each query: its program, its lowered form, the names to differentiate by, its record
# and its options. For formulas, called with the expression and their record.
Observer = Callable[..., object]
LONG = 4_096  # characters from which on a query is split into terms that share compiled templates


POINTS = 16  # usual number of points
FAIL_ON = ("mismatch", "undetermined", "undefined")


@dataclass(frozen=True, eq=False, repr=False)
class Options:
    """The computation that each query asks for."""

    wrt: tuple[str, ...] | None = None
    freeze: tuple[str, ...] = ()
    seed: Any = None  # an array, or text of the language
    mode: str = "grad"  # "grad", "jacobian", "hessian", "jvp" or "hvp"
    tangents: dict[str, Any] = field(default_factory=dict)
    check: bool = True
    formula: bool = True
    latex: bool = False
    timeout: float | None = None
    claims: tuple[ClaimInput, ...] = ()  # on the value and the gradients of each query
    decide_asserts: bool = False  # whether asserts are held to the reference, too
    convention: str | None = (
        # "torch", "jax" or "min-norm": which choice at kinks is right in asserts and in claims that
        # are numbers.
        None
    )
    # Box over whose points claims and rules are held.
    over: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    everywhere: bool = False  # whether values are only examples and asserts are about all values
    rtol: float | None = None  # relative tolerance of claims that are numbers
    atol: float = 0.0
    remembering: bool = False  # whether verdicts are kept between runs
    # Decimal digits of value and gradient from the reference, besides the floats.
    precision: int | None = None
    at: bool = False  # whether records keep the names' values along with the derivatives
    # Returns the array for a large result, given its name, shape and dtype.
    place: Callable[[str, tuple[int, ...], Any], Any] | None = None
    # What runs loops over large arrays: "numpy", "native", or what a count favours.
    backend: str = "auto"
    threads: int | None = None  # most threads for these loops; None for as many as cores
    # Of uncertain names: one number for two names, or a matrix over all their entries.
    covariances: Sequence[tuple[tuple[str, ...], Any]] = ()
    # Called with each query once its record is complete, while its graph exists.
    observer: Observer | None = None
    state: int = 0  # seed of the random numbers
    points: int | None = None  # points tried for names without values, or in a plot's table
    order: int = 1  # order of the derivatives as formulas
    # Gives what is differentiated in place of each query, such as an equation's slope.
    related: Callable[..., Any] | None = None
    width: float = 0.01  # how far a bound may exceed the true range, relative to it
    lipschitz: bool = False  # whether to bound the gradient's norms, too
    why: Sequence[str] = ()  # entries whose stories an explanation tells, as ``x[2]``
    steps: bool = False  # whether an explanation derives the formulas rule by rule
    fail_on: tuple[str, ...] = FAIL_ON  # verdicts that fail a case
    dialect: str | None = None  # dialect of programs that show none themselves

    @property
    def names_asked(self) -> set[str]:
        """The names that something is asked of, or said about."""
        return {
            *(self.wrt or ()),
            *self.freeze,
            *self.tangents,
            *(claim.of for claim in self.claims),
        }

    @property
    def trials(self) -> int:
        """The number of points to which names without values are set."""
        return self.points or POINTS

    @cached_property
    def bare(self) -> bool:
        """True if all that is asked of a number is its value and its gradient."""
        asked = (
            self.check
            or self.formula
            or self.latex
            or self.claims
            or self.decide_asserts
            or self.precision is not None
            or self.observer
        )
        return not asked and self.mode == "grad" and self.seed is None and self.wrt is None


# what every check computes
CHECKING = Options(formula=False, decide_asserts=True, remembering=True)


def checking_options(settings: Settings, options: Options = CHECKING) -> Options:
    """Return the options by which settings have cases calculated and judged.

    Where the settings say nothing, the usual options hold.
    """
    return replace(
        options, rtol=settings.rtol, atol=settings.atol or 0.0, convention=settings.convention, timeout=settings.timeout,
        backend=settings.backend or "auto", threads=settings.threads, state=settings.random_state or 0, points=settings.points,
        fail_on=FAIL_ON if settings.fail_on is None else settings.fail_on, dialect=settings.dialect,
    )  # fmt: skip
