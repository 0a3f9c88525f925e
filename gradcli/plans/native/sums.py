"""What loops of C sum up: variables of lanes and blocks, buffers of a slice, rows of totals."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from gradcli.plans.axes import Item

if TYPE_CHECKING:
    from gradcli.plans.native.writer import NestWriter, Slot

START = {"add": "0", "mul": "1", "maximum": "-__builtin_inf()", "minimum": "__builtin_inf()"}
_JOINED = {"add": "{0} + {1}", "mul": "{0} * {1}", "maximum": "g_maximum({0}, {1})", "minimum": "g_minimum({0}, {1})"}
_CLAUSE = {"add": "+", "mul": "*", "maximum": "max", "minimum": "min"}


def joined(fold: str, one: str, other: str) -> str:
    """Two values as one."""
    return _JOINED[fold].format(one, other)


class Sum:
    """A fold along loops: a total of all slices, or a number of a slice that later stages read."""

    def __init__(self, writer: NestWriter, item: Item) -> None:
        self.writer, self.item, self.fold = writer, item, item.fold
        lane, outer = writer.layout.lane, writer.nest.outer
        self.is_total = outer in item.over
        self.folds_lane = lane in item.over
        self.rest = [axis for axis in writer._looped(item.over) if axis is not lane]  # loops around the lane that it sums up
        self.is_number = not writer._looped(item.axes) and (self.is_total or not writer.is_blocked)
        self.slots = list(writer._slots(item.axes))
        self.sums: list[str] = []  # of a block of slices, or of a slice, for each slot
        self.lanes: list[str] = []
        self.nans: list[str] = []

    def _declared(self, letter: str) -> list[str]:
        names = [self.writer._new(letter) for _ in self.slots]
        for name in names:
            self.writer._add(f"real {name} = {START[self.fold]};")
        return names

    def begin_block(self) -> None:
        if self.is_total and self.is_number:
            self.sums = self._declared("c")

    def begin(self) -> None:
        writer = self.writer
        if self.is_total or (self.folds_lane and not self.rest):
            return
        if self.is_number:
            self.sums = self._declared("c")
            return
        size = math.prod(axis.extent for axis in writer._looped(self.item.axes)) * (writer.layout.block if writer.is_blocked else 1)
        for slot in self.slots:
            name = writer.buffers[self.item, writer._key(self.item.axes, slot)]
            writer._add(f"for (int k = 0; k < {size}; ++k) {name}[k] = {START[self.fold]};")

    def begin_lane(self) -> None:
        if self.folds_lane:
            self.lanes = self._declared("c")
            if self.fold in ("maximum", "minimum"):
                self.nans = [self.writer._new("c") for _ in self.slots]
                for name in self.nans:
                    self.writer._add(f"int {name} = 0;")

    def clauses(self) -> list[tuple[str, str]]:
        return [(_CLAUSE[self.fold], name) for name in self.lanes] + [("|", name) for name in self.nans]

    def add(self) -> None:
        for place, slot in enumerate(self.slots):
            text = self.writer.folded(self.item, slot)
            if not self.folds_lane:
                target = self._target(place, slot)
                self.writer._add(f"{target} = {joined(self.fold, target, text)};")
            elif self.nans:
                sign = ">" if self.fold == "maximum" else "<"
                value, lane = self.writer._new("v"), self.lanes[place]
                self.writer._add(f"const real {value} = {text};")
                self.writer._add(f"{lane} = {value} {sign} {lane} ? {value} : {lane};")
                self.writer._add(f"{self.nans[place]} |= {value} != {value};")
            else:
                self.writer._add(f"{self.lanes[place]} = {joined(self.fold, self.lanes[place], text)};")

    def end_lane(self) -> None:
        if not self.folds_lane:
            return
        for place, slot in enumerate(self.slots):
            lane = self.lanes[place]
            if self.nans:
                self.writer._add(f'if ({self.nans[place]}) {lane} = __builtin_nan("");')
            if self.is_total or self.rest:
                target = self._target(place, slot)
                self.writer._add(f"{target} = {joined(self.fold, target, lane)};")
            elif not self.is_number:
                self.writer._add(f"{self._target(place, slot)} = {lane};")
        if not self.is_total and not self.rest and self.is_number:
            self.sums = self.lanes

    def _target(self, place: int, slot: Slot) -> str:
        if self.is_number:
            return self.sums[place]
        if self.is_total:
            node, view = self.writer.totals[self.item]
            return self.writer._entry(node, view.places, slot)
        return self.writer._buffer(self.item, slot)

    def end(self) -> None:
        if self.is_total:
            return
        for place, slot in enumerate(self.slots):
            key = self.item, self.writer._key(self.item.axes, slot)
            if self.is_number:
                self.writer.names[key] = self.sums[place]

    def end_block(self) -> None:
        if self.is_total and self.is_number:
            node, view = self.writer.totals[self.item]
            for place, slot in enumerate(self.slots):
                target = self.writer._entry(node, view.places, slot)
                self.writer._add(f"{target} = {joined(self.fold, target, self.sums[place])};")
