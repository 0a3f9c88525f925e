"""Where a function is defined: a union of boxes, less points and lattices, under conditions on several operands at once.

    of(x="[-1, 1]")                          -1 <= x <= 1
    of(y="(0, inf)") | of(x="[0]")           y > 0, or x = 0
    of(x="(0, inf)") - at(x=1)               x > 0, x is not 1
    EVERYWHERE - at(x=Lattice(0.5, 1, pi))   x is not pi/2 + k*pi

Names are those of operands and of static parameters. What messages and documentation say is printed from this.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

from gradcli.ops.fixed import Fixed

pi = math.pi


class Interval(Fixed):
    """All numbers between two ends, each of which belongs to it or does not."""

    low: float = -math.inf
    high: float = math.inf
    with_low: bool = False
    with_high: bool = False

    @staticmethod
    def read(text: str) -> Interval:
        """An interval as mathematics writes it: "[0, 1)", "(0, inf)", and "[0]" for a single number."""
        ends = [float(end) for end in text[1:-1].split(",")]
        return Interval(ends[0], ends[-1], text[0] == "[", text[-1] == "]")

    def __contains__(self, x: Any) -> bool:
        above = x >= self.low if self.with_low else x > self.low
        below = x <= self.high if self.with_high else x < self.high
        return bool(above and below)

    def __and__(self, other: Interval) -> Interval:
        """Return what both have in common; empty, if its ends are in the wrong order."""
        low, high = max(self.low, other.low), min(self.high, other.high)
        return Interval(low, high, low in self and low in other, high in self and high in other)

    def touches(self, x: Any) -> bool:
        """Return whether a number is one of the ends."""
        return bool(x in (self.low, self.high))

    def told(self, name: str) -> str:
        low, high = f"{self.low:g}", f"{self.high:g}"
        if self.low == self.high:
            return f"{name} = {low}"
        under, over = "<=" if self.with_low else "<", "<=" if self.with_high else "<"
        if math.isinf(self.high):
            return f"{name} {under.replace('<', '>')} {low}"
        return f"{name} {over} {high}" if math.isinf(self.low) else f"{low} {under} {name} {over} {high}"


class Integers:
    """All whole numbers."""

    def __contains__(self, x: Any) -> bool:
        return bool(x - x == 0 and x == int(x))

    def touches(self, x: Any) -> bool:
        return False

    def told(self, name: str) -> str:
        return f"{name} an integer"


class Lattice(Fixed):
    """The numbers (first + k*step)*unit, for every whole k or, ``one_way``, from 0 on."""

    first: float
    step: float
    unit: float = 1.0  # 1, or pi: of its multiples floats have none but 0
    one_way: bool = False

    def __contains__(self, x: Any) -> bool:
        if self.unit != 1:
            return bool(x == 0 and self.first % self.step == 0)
        k = (x - self.first) / self.step
        return k in INTEGERS and (k >= 0 or not self.one_way)

    def nearest(self, x: float) -> float:
        """The member that is nearest to a number."""
        k = round((x / self.unit - self.first) / self.step)
        return (self.first + (max(k, 0) if self.one_way else k) * self.step) * self.unit

    def __str__(self) -> str:
        if self.one_way:
            return ", ".join(f"{self.first + k * self.step:g}" for k in range(3)) + ", ..."
        return "k*pi" if not self.first else f"pi/{1 / self.first:g} + k*pi"


INTEGERS = Integers()
Range = Interval | Integers
Box = Mapping[str, Range]
Points = Mapping[str, "float | Lattice"]


class Domain(Fixed):
    """A set of operands (and static parameters).

    boxes       whose union it is: what each of some names may be; none, if every name may be anything
    less        points that do not belong to it: what some names are there
    conditions  on several operands at once, which get all of them by their names, and in words
    words       how the whole is told, where that is shorter than what would be printed
    beyond      whether the function is more widely defined, and the forward pass is not
    """

    boxes: tuple[Box, ...] = ()
    less: tuple[Points, ...] = ()
    conditions: tuple[tuple[Callable[..., bool], str], ...] = ()
    words: str = ""
    beyond: bool = False

    def __or__(self, other: Domain) -> Domain:
        return self.but(boxes=(*self.boxes, *other.boxes))

    def __sub__(self, points: Points) -> Domain:
        return self.but(less=(*self.less, points))

    def where(self, condition: Callable[..., bool], words: str) -> Domain:
        return self.but(conditions=(*self.conditions, (condition, words)))

    def told(self, words: str) -> Domain:
        return self.but(words=words)

    def within(self) -> Domain:
        """The same, of a function that is more widely defined."""
        return self.but(beyond=True)

    def contains(self, named: Mapping[str, Any]) -> bool:
        """Return whether numbers, each under its operand's name, belong to it."""
        if self.boxes and not any(all(named[name] in part for name, part in box.items()) for box in self.boxes):
            return False
        if any(all(_is(named[name], part) for name, part in points.items()) for points in self.less):
            return False
        return all(condition(**named) for condition, _ in self.conditions)

    @property
    def names(self) -> list[str]:
        """The names that its boxes and points are about."""
        return list(dict.fromkeys(name for part in (*self.boxes, *self.less) for name in part))

    def borders(self, named: Mapping[str, Any]) -> bool:
        """Return whether some number is an end of one of its intervals."""
        return any(part.touches(named[name]) for box in self.boxes for name, part in box.items())

    def __str__(self) -> str:
        if self.words:
            return self.words
        union = _both_sides(self.boxes) or ", or ".join(" and ".join(part.told(name) for name, part in box.items()) for box in self.boxes)
        joint = " and ".join([*([union] if union else []), *(words for _, words in self.conditions)])
        lost = [f"{name} is not {_told(part)}" for points in self.less for name, part in points.items()]
        return ", ".join([*([joint] if joint else []), *lost])

    def __bool__(self) -> bool:
        """Return whether it restricts anything."""
        return bool(self.boxes or self.less or self.conditions or self.words)


def _is(x: Any, part: float | Lattice) -> bool:
    return x in part if isinstance(part, Lattice) else bool(x == part)


def _told(part: float | Lattice) -> str:
    return str(part) if isinstance(part, Lattice) else f"{part:g}"


def _both_sides(boxes: tuple[Box, ...]) -> str:
    """How two boxes are told that are one interval and its mirror image."""
    if len(boxes) != 2 or not all(len(box) == 1 for box in boxes):
        return ""
    ((name, below),), ((other, above),) = (tuple(box.items()) for box in boxes)
    if name != other or not isinstance(below, Interval) or not isinstance(above, Interval):
        return ""
    mirrored = (-below.high, -below.low, below.with_high, below.with_low) == (above.low, above.high, above.with_low, above.with_high)
    return above.told(f"abs({name})") if mirrored else ""


EVERYWHERE = Domain()


def of(**parts: str) -> Domain:
    """A box: for some names an interval, as mathematics writes it, or "integers"."""
    return Domain(({name: INTEGERS if text == "integers" else Interval.read(text) for name, text in parts.items()},))


def at(**parts: float | Lattice) -> Points:
    """The points at which names have these values."""
    return parts


def given(condition: Callable[..., bool], words: str) -> Domain:
    """Everywhere that a condition holds, which gets the operands and static parameters by their names."""
    return EVERYWHERE.where(condition, words)
