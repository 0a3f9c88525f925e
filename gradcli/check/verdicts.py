"""Verdicts of the cross-check and of claims, as plain data."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from enum import StrEnum
from typing import Any

from gradcli.data import Data, data
from gradcli.texts import entry_text


class Verdict(StrEnum):
    """Verdicts of the cross-check and of claims: words, of which the larger is the graver."""

    SKIPPED = "skipped"
    AGREE = "agree"
    KINK = "kink"
    ILL_CONDITIONED = "ill-conditioned"
    UNDEFINED = "undefined"
    UNDETERMINED = "undetermined"
    MISMATCH = "mismatch"

    @property
    def word(self) -> str:
        return self.value

    @property
    def gravity(self) -> int:
        """Its place in that order."""
        return _GRAVITY[self]

    def __lt__(self, other: str) -> bool:
        return _GRAVITY[self] < _GRAVITY[Verdict(other)]

    def __le__(self, other: str) -> bool:
        return _GRAVITY[self] <= _GRAVITY[Verdict(other)]

    def __gt__(self, other: str) -> bool:
        return _GRAVITY[self] > _GRAVITY[Verdict(other)]

    def __ge__(self, other: str) -> bool:
        return _GRAVITY[self] >= _GRAVITY[Verdict(other)]


_GRAVITY = {verdict: place for place, verdict in enumerate(Verdict)}
# Of something said that holds, that does not, or of which that is not known.
OF_HOLDING = {True: Verdict.AGREE, False: Verdict.MISMATCH, None: Verdict.UNDETERMINED}


@data
class Worst(Data):
    """The entry of a gradient that is furthest from its reference."""

    JSON = "index engine reference at?"

    index: tuple[int, ...]
    engine: float
    reference: float
    at: dict[str, float] | None = None  # the point, for a claim over a box


@data
class OneSided(Data):
    """A kink at one entry: the derivatives from both sides and the value that the engine chose.

    jump  in words, how the function jumps here, or where it has a pole; empty where it is
          continuous
    """

    JSON = "index left right chosen convention jump?"

    index: tuple[int, ...]
    left: float
    right: float
    chosen: float
    convention: str
    jump: str = ""

    @property
    def sides(self) -> str:
        """The derivatives from both sides, in words."""
        if self.left == self.right:
            return f"{self.left:g} from both sides" + (
                "" if self.jump else " by itself, not together with equal entries"
            )
        return from_sides(self.left, self.right)


def from_sides(left: float, right: float, form: str = "g") -> str:
    """Return the limits from both sides in words; empty if there is none."""
    if left != left and right != right:
        return ""
    return ", ".join(
        f"{v:{form}} from the {name}" if v == v else f"none from the {name}"
        for v, name in ((left, "left"), (right, "right"))
    )


@data
class VariableCheck(Data):
    """The cross-check of one gradient (or of the value)."""

    JSON = (
        "verdict decided_by max_abs_error? max_rel_error? digits? lost_bits=lost? bound? "
        "certified=is_certified? enclosure? by_mpmath? "
        "entries? directions? wrong? worst? kinks? reason?"
    )

    verdict: Verdict
    decided_by: str | None = None  # "symbolic", "composed" etc.
    max_abs_error: float | None = None
    max_rel_error: float | None = None
    digits: int | None = None  # right digits of the worst entry, at most 17
    entries: tuple[int, int] | None = None  # checked entries, all entries
    # Number of random directions for rules that no other check covers.
    directions: int | None = None
    wrong: int = 0  # number of wrong entries
    worst: Worst | None = None
    kinks: list[OneSided] = field(default_factory=list)
    reason: str | None = None  # why it is undetermined, where undefined, which digits were lost
    certified: bool | None = None  # whether enclosures prove the verdict
    enclosure: tuple[str, str] | None = None  # bounds of the worst entry's true value
    # Every enclosure is at most 10 to this power wide; None if all are exact.
    within: int | None = None
    # functions without rigorous bounds, for which nothing is proved
    by_mpmath: list[str] = field(default_factory=list)
    lost: int | None = None  # bits that the worst entry lost, if at least 20
    underflows: bool = False  # whether all ill-conditioned entries are too small for floats
    bound: float | None = (
        # The largest relative error that rounding may cause in an entry, where it exceeds what
        # digits can show.
        None
    )

    @property
    def is_certified(self) -> bool | None:
        """True if the verdict is proved; None where there is none."""
        return None if self.verdict is Verdict.SKIPPED else bool(self.certified)

    def few_digits(self, usual: int) -> str:
        """Say how many digits are right, where these are fewer than usual."""
        if self.verdict is not Verdict.AGREE or self.digits is None or self.digits >= usual:
            return ""
        return f", {self.digits} digits" if self.digits else ", no digit"

    def notes(self, name: str) -> list[str]:
        """Return notes on one derivative, or on the value."""
        word, worst = self.verdict, self.worst
        where = name if worst is None else entry_text(name, worst.index)
        if word in ("agree", "skipped"):
            if self.digits == 0 and worst is not None:
                return [f"{where}: the true value is 0, {worst.engine!r} is rounding"]
            return (
                []
                if self.lost is None
                else [f"{where}: rounding costs {self.lost} bits, {self.digits} digits are right"]
            )
        if self.kinks:
            what = "derivative" if "," in name else "function"  # "x,x" is of a Hessian
            return [
                f"{entry_text(name, k.index)}: {word}, "
                f"{f'the {what} {k.jump}; ' if k.jump else ''}{k.sides}; "
                f"chosen is {k.chosen:g}"
                + (f" (convention: {k.convention})" if k.convention else "")
                for k in self.kinks[:3]
            ] + ([f"{name}: and {len(self.kinks) - 3} more kinks"] if len(self.kinks) > 3 else [])
        if word != "mismatch" or worst is None:
            return [f"{where}: {word}, {self.reason}"] if self.reason else []
        if (self.reason or "").startswith("the result is"):
            return [f"{where}: MISMATCH, {self.reason}"]
        count = (
            f"; {self.wrong} of {self.entries[1]} entries are wrong"
            if self.entries and self.entries[1] > 1
            else ""
        )
        wrong = (
            f"{where}: MISMATCH, the engine has {worst.engine!r}, the reference "
            f"{worst.reference!r}{count}"
        )
        return [wrong, *([f"{where}: {self.reason}"] if self.reason else [])]


def honest(check: VariableCheck, dtype: str | None) -> None:
    """Take back digits that a result of this dtype does not have, and too small an error.

    An error is too small if it is below the worst entry's own. Numbers of fewer bits that are as
    right as can be are still off by half of their last bit.
    """
    if check.digits is None or check.max_rel_error is None or dtype not in _DIGITS:
        return
    exact, rounded, epsilon = _DIGITS[dtype]
    worst = check.worst
    if worst is not None and worst.reference and math.isfinite(worst.engine):
        off = abs(worst.engine - worst.reference) / abs(worst.reference)
        if off <= epsilon:  # a larger error is underflow, or the check has reported it
            check.max_rel_error = max(check.max_rel_error, off)
    here = (
        exact
        if check.max_rel_error == 0
        else int(min(rounded, math.log10(5 / check.max_rel_error)))
        if check.max_rel_error < 1
        else 0
    )
    check.digits = min(check.digits, here)


LOST = 20  # bits: a loss of at least this many is reported, and a rewrite is sought
PRECISION = {"float64": 53, "float32": 24, "float16": 11}  # bits
_DIGITS = {
    "float32": (8, 7, 2.0**-23),
    "float16": (5, 4, 2.0**-10),
}  # digits of exact numbers and of rounded ones, and the epsilon


def certainty(checks: Sequence[VariableCheck]) -> str:
    """Return how narrow the enclosures are that prove some verdicts.

    It is empty if one of these is not proved.
    """
    if not checks or not all(check.certified for check in checks):
        return ""
    widest = max((check.within for check in checks if check.within is not None), default=None)
    return ", certified: exact, " if widest is None else f", certified: within 1e{widest:+03d}, "


def box_text(box: Mapping[str, tuple[float, float]]) -> str:
    """``0.0 <= x <= 1.0, y = 2.0``."""
    return ", ".join(
        f"{name} = {low!r}" if low == high else f"{low!r} <= {name} <= {high!r}"
        for name, (low, high) in box.items()
    )


@data
class Asserted(Data):
    """The outcome of one relation of an ``assert``."""

    JSON = "holds relation left right within over? worst=furthest"

    holds: bool | None  # None if undecided
    left: Any
    right: Any
    within: float
    worst: Worst | None = None
    relation: str = "=="
    text: str = ""  # the user's text, if the assert has several relations
    over: dict[str, tuple[float, float]] | None = None  # the box that the claim covers
    # The smallest box where it is undecided.
    left_open: dict[str, tuple[float, float]] | None = None
    reason: str | None = None  # why it is undecided

    @property
    def furthest(self) -> Any:
        """The numbers where it does not hold, or the box in which it is not decided."""
        return self.worst if self.left_open is None else {"box": self.left_open}

    @property
    def difference(self) -> str:
        """Both sides where it does not hold."""
        if self.worst is None:
            return ""
        which = f"{self.text}: " if self.text else ""
        index = entry_text("", self.worst.index)
        at = (
            ""
            if self.worst.at is None
            else " at " + " ".join(f"{name}={value!r}" for name, value in self.worst.at.items())
        )
        return (
            f"{which}left{index} is {self.worst.engine!r}, right{index} is "
            f"{self.worst.reference!r}{at}"
        )

    @property
    def open_box(self) -> str:
        """Return where it is not decided, and why."""
        if self.left_open is None:
            return self.reason or ""
        return f"open for {box_text(self.left_open)}" + (f": {self.reason}" if self.reason else "")


ALGEBRA, POINTS = "algebra", "points"  # how a claim about a formula was decided


@data
class Claim(Data):
    """Somebody's statement about a result, and what became of it."""

    JSON = "of kind verdict worst relation? text? reason? difference? decided_by? points?"

    of: str
    kind: str  # "formula", "numbers", "assert" or "value"
    verdict: Verdict
    worst: Worst | None = None
    reason: str | None = None
    wrong: tuple[int, int] | None = None  # wrong entries, all entries
    difference: str | None = None  # the wrong formula minus the right one, if short
    relation: str | None = None  # the comparison of an assert
    text: str | None = None  # the user's text, if the assert has several relations
    decided_by: str | None = (
        # How a formula was decided: by "algebra", which is a proof for all values where both sides
        # have one, or by "points".
        None
    )
    points: int = 0  # the number of these points


@data
class Departure(Data):
    """Place where a wrong gradient begins.

    It is the adjoint of a node that an operation made wrong, and that operation's place.
    """

    JSON = "node made_by index engine reference place"

    node: str
    made_by: str
    index: tuple[int, ...]
    engine: float
    reference: float
    place: tuple[int, int, int] | None = None  # line, column, end column of the operation
    beyond: str | None = None  # the reference, if it is too large for floats

    @property
    def text(self) -> str:
        index = f" at {list(self.index)}" if self.index else ""
        return (
            f"the adjoint of '{self.node}'{index} is {self.engine!r}, true "
            f"{self.beyond or repr(self.reference)}: made by '{self.made_by}'"
        )


@data
class Rewrite(Data):
    """Function rewritten with all repairs.

    It also has the most bits that its value or an entry of a gradient loses, before and with them.
    """

    JSON = "text lost_bits=lost left_bits=left where?"

    text: str
    lost: int
    left: int
    bits: int  # bits of the precision
    where: str = ""  # the numbers for which it equals the function, if not all

    @property
    def in_words(self) -> str:
        where = f", {self.where}" if self.where else ""
        return (
            f"loses {self.lost} bits; `{self.text}` keeps {self.bits - self.left} of "
            f"{self.bits}{where}"
        )


@data
class Limit(Data):
    """Limits of an entry of the value, where the function has no value.

    An entry of a name goes to its own value. A side without a limit has NaN.
    """

    JSON = "name at left right index? of?"

    name: str
    at: float
    left: float
    right: float
    index: tuple[int, ...] = ()
    of: tuple[int, ...] = ()

    @property
    def text(self) -> str:
        is_one = self.left == self.right
        limit = f"{self.left:.12g}" if is_one else from_sides(self.left, self.right, ".12g")
        goes = f"{entry_text(self.name, self.index)} goes to {self.at:.12g}"
        return f"{entry_text('the value', self.of)}: limit {limit} as {goes}"


@data
class CriticalPoint(Data):
    """The kind of a point where the gradient is zero.

    kind  "minimum", "maximum" or "saddle", each of them proved, or "undecided"
    """

    JSON = "kind reason"

    kind: str
    reason: str

    @property
    def text(self) -> str:
        return f"{self.kind}: {self.reason}"


@data
class Check(Data):
    """The cross-check of one result."""

    JSON = (
        "verdict variables value? claims? reason? over? repairs? rewrite? departs? limits? "
        "critical_point?"
    )

    verdict: Verdict
    variables: dict[str, VariableCheck] = field(default_factory=dict)
    value: VariableCheck | None = None
    claims: list[Claim] = field(default_factory=list)
    reason: str | None = None
    repairs: list[str] = field(default_factory=list)  # rewrites that keep the lost digits
    departs: Departure | None = None  # where the gradient becomes wrong
    rewrite: Rewrite | None = None  # the repaired function, if the gain was measured
    over: dict[str, tuple[float, float]] | None = None  # the box that is checked
    # A mismatch only because an intermediate value is too large for floats.
    overflows: bool = False
    limits: list[Limit] = field(default_factory=list)  # where the value is not finite
    critical_point: CriticalPoint | None = None  # for a Hessian

    def take(self, other: Check, name: Callable[[str], str]) -> None:
        """Take the parts and the claims of another check, by other names."""
        self.variables |= {name(of): part for of, part in other.variables.items()}
        for claim in other.claims:
            claim.of = name(claim.of)
        self.claims += other.claims

    @property
    def named_parts(self) -> dict[str, VariableCheck]:
        """The verdicts on the gradients by their names, and on the value."""
        return {**self.variables, **({} if self.value is None else {"the value": self.value})}

    @property
    def parts(self) -> list[VariableCheck]:
        return [*self.named_parts.values()]

    @property
    def advice(self) -> list[str]:
        """Return where a wrong gradient begins, and what to write to keep digits."""
        return [
            *(limit.text for limit in self.limits),
            *([] if self.departs is None else [self.departs.text]), *(f"write {repair}" for repair in self.repairs),
            *([] if self.rewrite is None else [self.rewrite.in_words]),
        ]  # fmt: skip

    @property
    def loses(self) -> bool:
        """Return whether bits enough are lost to look for a rewrite."""
        return any(part.lost is not None for part in self.parts)

    @property
    def without_digits(self) -> list[str]:
        """Names of what is right, but has no right digit.

        It underflowed, cancelled, or is truly zero.
        """
        return [
            name
            for name, part in self.named_parts.items()
            if part.digits == 0 and part.verdict in (Verdict.AGREE, Verdict.ILL_CONDITIONED)
        ]

    @property
    def only_underflows(self) -> bool:
        """True if only underflow loses digits, at a point where all else agrees."""
        lossy = [part for part in self.parts if part.verdict is not Verdict.AGREE]
        return self.worst is Verdict.ILL_CONDITIONED and all(part.underflows for part in lossy)

    @property
    def worst(self) -> Verdict:
        """The gravest of the cross-check and the claims."""
        return max([self.verdict, *(claim.verdict for claim in self.claims)])
