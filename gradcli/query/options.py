"""Options of a query, and of how it is judged: plain data that every way into gradcli fills in."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

from gradcli.characters import normalize

if TYPE_CHECKING:
    import numpy as np

    from gradcli.files.jsonl import ClaimInput
    from gradcli.files.settings import Settings

    _Named = Literal["float64", "float32", "double", "single", "f8", "f4"]
    DType = (
        _Named | type[np.float64] | type[np.float32] | np.dtype[np.float64] | np.dtype[np.float32]
    )

Mode = Literal["grad", "jacobian", "hessian", "jvp", "hvp"]  # what is computed beside a value


def names_of(given: str | Iterable[str] | None) -> tuple[str, ...] | None:
    """A list of names: a string has commas between them."""
    if given is None:
        return None
    listed = given.split(",") if isinstance(given, str) else given
    return tuple(normalize(name.strip()) for name in listed if name.strip())


# Is shown a query: its program, what it was lowered to, what it is differentiated by, its record,
# and its options; of formulas the expression, and their record.
Observer = Callable[..., object]
LONG = 4_096  # characters from which on an expression is worth some thought of what it is made of


POINTS = 16  # usual ones
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
    claims: tuple[ClaimInput, ...] = ()  # about the value and the gradients of each query
    decide_asserts: bool = False  # hold asserts to the reference, too
    convention: str | None = (
        # "torch", "jax" or "min-norm": what is right at kinks in asserts and claims that are
        # numbers
        None
    )
    # a box for whose points claims and rules are held
    over: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    everywhere: bool = False  # the values are examples: asserts are about all of them
    rtol: float | None = None  # of claims that are numbers
    atol: float = 0.0
    remembering: bool = False  # keep verdicts between runs
    # decimal digits of value and gradient from the reference, beside the floats
    precision: int | None = None
    at: bool = False  # keep the values of the names beside their derivatives
    # gives the array that takes a large result: name, shape, dtype
    place: Callable[[str, tuple[int, ...], Any], Any] | None = None
    # who runs the loops over large arrays: "numpy", "native", or whom a count says
    backend: str = "auto"
    threads: int | None = None  # that share these, at most; as many as cores, if None
    # of uncertain names: a number of two, or a matrix over all their entries
    covariances: Sequence[tuple[tuple[str, ...], Any]] = ()
    # is shown each query when its record is complete, while its graph is there
    observer: Observer | None = None
    state: int = 0  # of random numbers
    points: int | None = None  # to which names without values are set, or of a plot's table
    order: int = 1  # of derivatives as formulas
    # what is differentiated in place of each query, such as an equation's slope
    related: Callable[..., Any] | None = None
    width: float = 0.01  # of a bound, beyond the true range and relative to it
    lipschitz: bool = False  # bound the gradient's norms, too
    why: Sequence[str] = ()  # entries whose stories an explanation tells: ``x[2]``
    steps: bool = False  # whether it derives derivatives as formulas, rule by rule
    fail_on: tuple[str, ...] = FAIL_ON  # verdicts
    dialect: str | None = None  # of programs that show none

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
    """The options by which settings let cases be calculated and judged, or what is usual where they
    say nothing.
    """
    return replace(
        options, rtol=settings.rtol, atol=settings.atol or 0.0, convention=settings.convention, timeout=settings.timeout,
        backend=settings.backend or "auto", threads=settings.threads, state=settings.random_state or 0, points=settings.points,
        fail_on=FAIL_ON if settings.fail_on is None else settings.fail_on, dialect=settings.dialect,
    )  # fmt: skip
