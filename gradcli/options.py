"""Options of a query, and of how it is judged, for every way into gradcli.

The command line, settings, records and Python take the same values, which exclude each other in the
same cases, and fill in the same plain data. The command line, which has further options, reads them
before anything heavy is imported, and so nothing heavy is imported here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cache, cached_property
from inspect import get_annotations
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal, dataclass_transform, get_args

from gradcli.errors import GradcliError, UsageError, one_of
from gradcli.limits import DEFAULT, Limits, Number
from gradcli.ops.calling.prefixes import DIALECTS
from gradcli.ops.facts import Fixed
from gradcli.texts import normalize, words

if TYPE_CHECKING:
    import numpy as np

    _Named = Literal["float64", "float32", "double", "single", "f8", "f4"]
    DType = (
        _Named | type[np.float64] | type[np.float32] | np.dtype[np.float64] | np.dtype[np.float32]
    )

Mode = Literal["grad", "jacobian", "hessian", "jvp", "hvp"]  # what is computed besides the value
Backend = Literal["auto", "numpy", "native"]  # what runs loops over large arrays


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


class ClaimInput(Fixed):
    """Claim about the gradient by a name, or about the "value".

    The claim is text of the language, or numbers.
    """

    of: str
    text: str | None = None
    numbers: Any = None
    formula: bool = False  # whether the text is a formula even without a name in it
    # Random state of the points around at which a formula is tried; None: no points.
    around: int | None = 0


class Options(Fixed):
    """The computation that each query asks for."""

    wrt: tuple[str, ...] | None = None
    freeze: tuple[str, ...] = ()
    seed: Any = None  # an array, or text of the language
    mode: str = "grad"  # "grad", "jacobian", "hessian", "jvp" or "hvp"
    tangents: Mapping[str, Any] = MappingProxyType({})
    check: bool = True
    formula: bool = True
    latex: bool = False
    timeout: float | None = None
    claims: tuple[ClaimInput, ...] = ()  # on the value and the gradients of each query
    decide_asserts: bool = False  # whether asserts are held to the reference, too
    # "torch", "jax" or "min-norm": which choice at kinks is right in asserts and in claims that are
    # numbers.
    convention: str | None = None
    # Box over whose points claims and rules are held.
    over: Mapping[str, tuple[float, float]] = MappingProxyType({})
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

    def __init__(self, **given: Any) -> None:
        super().__init__(**given)
        both = next((name for name in self.wrt or () if name in self.freeze), None)
        if both is not None:
            raise UsageError(f"--wrt and --freeze both name '{both}'", help="leave one of them out")

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


# -- What each may be, and which exclude each other -----------------------------------------------


_COUNT, _SECONDS, _TOLERANCE = Number(True, 1), Number(above=True), Number()
CONVENTIONS = ("torch", "jax", "min-norm")

# The values of options that can be given in several ways, by name. COMMAND.NAME is for one command,
# and takes precedence. All other options belong to the command line, which declares their values.
Values = Number | Sequence[str] | type[bool]
VALUES: dict[str, Values] = {
    "atol": _TOLERANCE, "rtol": _TOLERANCE, "timeout": _SECONDS, "budget": _SECONDS, "jobs": _COUNT, "threads": _COUNT,
    "points": _COUNT, "random_state": Number(True), "digits": Number(True, 1, 17), "precision": Number(True, 1, 100_000),
    "order": Number(True, 1, 10), "check.order": Number(True, 1, 2),
    "backend": get_args(Backend), "convention": CONVENTIONS, "dialect": DIALECTS, "dtype": ("float64", "float32"),
    "check.dtype": ("float64", "float32", "float16", "bfloat16"), "mode": [*words("grad jacobian hessian jvp hvp")],
    "bound.width": Number(above=True), "plot.points": Number(True, 2, 1_000_000),
    **dict.fromkeys(words("check formula forward latex lipschitz sparse steps"), bool),
}  # fmt: skip

# Options that have no effect together: each on the left excludes each on the right.
_EXCLUSIVE = {
    "modes": "jacobian hessian jvp hvp | jacobian hessian jvp hvp seed precision backend threads",
    "evaluate": "jvp hvp | latex; formula=False | latex",
    "all": """
        check=False | timeout; output_format=json,jsonl,value,grad | digits
        output_format=csv,json,jsonl,latex,value,grad,mermaid,svg,html,junit,github,gitlab,sarif,markdown | color=always""",
    "eval": """
        jvp | formula wrt freeze; output_format=csv,value,grad | formula; output_format=csv,latex,value,grad | precision
        output_format=grad | jacobian hessian jvp hvp
        implicit | jacobian hessian jvp hvp cov seed freeze precision save on backend threads
        on | jacobian hessian jvp hvp cov formula precision freeze timeout backend""",
    "explain": """
        output_format=mermaid,svg | steps why; output_format=latex latex | why; output_format=text,mermaid,svg | latex
        out | color=always""",
    "plot": "output_format=csv,json,jsonl | width height",
    "check": """
        verbose | quiet; line | update baseline; update | fail_fast budget changed_since
        functions | function gradient by at wrt freeze seed line
        function gradient by | input_format grad grad_formula convention backend threads line over dialect""",
    "diff": "check=False | points",
}


def values_of(name: str) -> Values | None:
    """Return what an option may be, by NAME or COMMAND.NAME; None for anything."""
    return VALUES.get(name) or VALUES.get(name.partition(".")[2])


def option_value(name: str, value: Any, written: str, kind: type[GradcliError] = UsageError) -> Any:
    """Return the value of an option, ``written`` by its user in this way.

    Raises an error of the kind for what it cannot be.
    """
    return _check_value(values_of(name), value, written, kind)


def typed_value(values: Values | None, text: Any, written: str) -> Any:
    """Return the value of an option from its text on the command line. Raises UsageError."""
    if isinstance(values, Number) and isinstance(text, str):
        with suppress(ValueError):
            text = int(text) if values.whole else float(text)
    return _check_value(values, text, written, UsageError)


def _check_value(values: Values | None, value: Any, written: str, kind: type[GradcliError]) -> Any:
    if isinstance(values, Number):
        if values.holds(value):
            return int(value) if values.whole else float(value)
        raise kind(f"{written} must be {values}, not {value!r}")
    if not isinstance(values, type):
        return value if values is None else one_of(written, value, values, kind)
    import numpy as np

    if not (isinstance(value, (bool, np.bool_)) or (isinstance(value, int) and value in (0, 1))):
        raise kind(f"{written} must be True or False, not {value!r}")
    return bool(value)


def refuse_together(groups: str, typed: Callable[[str], str]) -> None:
    """Raise UsageError for two options that exclude each other.

    groups  names of groups of options
    typed   returns how an option was written, or nothing for one that was not given (or not with
            one of these values, after "=")
    """
    for first, others in _exclusions(groups):
        one = typed(first)
        for word in others if one else ():
            if word != first and (other := typed(word)):
                raise UsageError(
                    f"{one} and {other} exclude each other", help="leave one of them out"
                )


@cache
def _exclusions(groups: str) -> list[tuple[str, list[str]]]:
    """Return the options of groups, each with those that it excludes."""
    lines = [
        line.partition("|")
        for group in groups.split()
        for line in _EXCLUSIVE.get(group, "").replace(";", "\n").split("\n")
    ]
    return [(one, others.split()) for ones, _, others in lines for one in ones.split()]


# -- As they were typed: the options of each command are the fields of a class in `cli/commands.py`. A
# field that typer reads is annotated accordingly. The annotation is evaluated for the command that is
# asked for. The values that an option of the command line alone may have stand beside it.


Texts = tuple[str, ...]  # of an option that may be repeated
WORDS = "one of the words that it is shown with"  # for an option whose metavar lists the words


@dataclass_transform(eq_default=False, frozen_default=True, kw_only_default=True)
class Request(Fixed):
    """The options of a command as they were typed, before any of them is read.

    A command without such an option has these fields, too. Where nothing is given, the default
    holds: that of the command, or else the one here.
    """

    epilog = ""
    arguments: Texts = ()
    files: Texts = ()
    input_format: str | None = None
    wrt: str | None = None
    freeze: Texts = ()
    seed: str | None = None
    save: Texts = ()
    check: bool = True
    timeout: float | None = None
    output_format: str = "text"
    out: str | None = None
    digits: int | None = None
    dialect: str | None = None
    dtype: str = "float64"
    random_state: Any = 0
    fail_fast: bool = False
    limit: Texts = ()
    quiet: bool = False
    color: str = "auto"

    @classmethod
    @cache
    def options(cls) -> dict[str, Any]:
        """Return the fields that typer reads, and how it reads them."""
        return {
            name: kind
            for name, kind in get_annotations(cls, eval_str=True).items()
            if hasattr(kind, "__metadata__")
        }

    @classmethod
    def values_of(cls, name: str) -> Any:
        """Return what an option may be, if that is said here; None if not."""
        how, *values = cls.options()[name].__metadata__
        return how.metavar.split("|") if values == [WORDS] else next(iter(values), None)

    @classmethod
    def word_of(cls, name: str, on: bool = True) -> str:
        """Return an option as it is typed, to switch it on or off."""
        # Typer keeps the first declared name in ``default``.
        first = cls.options()[name].__metadata__[0].default
        return (
            first.split("/")[0 if on else -1]
            if isinstance(first, str)
            else f"--{name.replace('_', '-')}"
        )

    def given_options(self, names: str) -> Iterator[tuple[str, Any]]:
        """Yield those of the options that are given and not off.

        Each comes as it is typed, with its value.
        """
        for name in names.split():
            value = getattr(self, name)
            if value is not False and value not in ((), [], getattr(type(self), name)):
                yield self.word_of(name), value

    def as_typed(self, word: str) -> str:
        """Return an option as it was typed, if it was given; else nothing.

        If ``word`` is NAME=VALUE,VALUE, the option must have one of these values.
        """
        name, _, values = word.partition("=")
        if name not in self.options():
            return ""
        if not values:
            return next((option for option, _ in self.given_options(name)), "")
        value = getattr(self, name)
        if str(value) not in values.split(","):
            return ""
        return self.word_of(name, on=False) if value is False else f"{self.word_of(name)} {value}"


def limits_of(request: Request) -> Limits:
    """Return the limits that a request sets. Raises UsageError."""
    return DEFAULT.raise_to(request.limit) if request.limit else DEFAULT


def assignments(option: str, texts: Iterable[str]) -> dict[str, str]:
    """Values by names, of which each is given once. Raises UsageError."""
    found: dict[str, str] = {}
    for text in texts:
        name, value = assignment(option, text)
        if name in found:
            raise UsageError(f"{option} {name}=... is given twice")
        found[name] = value
    return found


def assignment(option: str, text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not equals or not name.strip() or not value:
        raise UsageError(f"{option} takes NAME=VALUE, not '{text}'")
    return normalize(name.strip()), value
