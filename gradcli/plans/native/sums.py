"""What loops of C sum up: variables of lanes and blocks, buffers of a slice, rows of totals."""

from __future__ import annotations

import math

from gradcli.ops.looping import LARGEST, SMALLEST
from gradcli.plans.axes import Item, fold_of
from gradcli.plans.native.body import Body, Slot


class Sum:
    """A fold along loops: a total of all slices, or a number of a slice that later stages read."""

    def __init__(self, body: Body, item: Item) -> None:
        self.body, self.item, self.fold = body, item, fold_of(item)
        lane, outer = body.layout.lane, body.nest.outer
        self.is_total = outer in item.over
        self.folds_lane = lane in item.over
        self.rest = [axis for axis in body.looped(item.over) if axis is not lane]  # loops around the lane that it sums up
        self.is_number = not body.looped(item.axes) and (self.is_total or not body.is_blocked)
        self.slots = list(body.slots(item.axes))
        self.sums: list[str] = []  # of a block of slices, or of a slice, for each slot
        self.lanes: list[str] = []
        self.nans: list[str] = []

    def _declared(self, kind: str) -> list[str]:
        names = [self.body.new("c") for _ in self.slots]
        for name in names:
            self.body.add(f"{kind} {name} = {self.fold.start};")
        return names

    def _joined(self, one: str, other: str) -> str:
        return self.fold.joined.format(one, f"({other})" if " " in other else other)

    def begin_block(self) -> None:
        if self.is_total and self.is_number:
            self.sums = self._declared("double")

    def begin(self) -> None:
        body = self.body
        if self.is_total or (self.folds_lane and not self.rest):
            return
        if self.is_number:
            self.sums = self._declared("real")
            return
        size = math.prod(axis.extent for axis in body.looped(self.item.axes)) * (body.layout.block if body.is_blocked else 1)
        for slot in self.slots:
            name = body.buffers[self.item, body.key(self.item.axes, slot)]
            body.add(f"for (int k = 0; k < {size}; ++k) {name}[k] = {self.fold.start};")

    def begin_lane(self) -> None:
        if self.folds_lane:
            self.lanes = self._declared("real")
            if self.fold in (LARGEST, SMALLEST):
                self.nans = [self.body.new("c") for _ in self.slots]
                for name in self.nans:
                    self.body.add(f"int {name} = 0;")

    def clauses(self) -> list[tuple[str, str]]:
        return [(self.fold.sign, name) for name in self.lanes] + [("|", name) for name in self.nans]

    def add(self) -> None:
        for place, slot in enumerate(self.slots):
            text = self.body.folded(self.item, slot)
            if not self.folds_lane:
                target = self._target(place, slot)
                self.body.add(f"{target} = {self._joined(target, text)};")
            elif self.nans:
                sign = ">" if self.fold is LARGEST else "<"
                value, lane = self.body.new("v"), self.lanes[place]
                self.body.add(f"const real {value} = {text};")
                self.body.add(f"{lane} = {value} {sign} {lane} ? {value} : {lane};")
                self.body.add(f"{self.nans[place]} |= {value} != {value};")
            else:
                self.body.add(f"{self.lanes[place]} = {self._joined(self.lanes[place], text)};")

    def end_lane(self) -> None:
        if not self.folds_lane:
            return
        for place, slot in enumerate(self.slots):
            lane = self.lanes[place]
            if self.nans:
                self.body.add(f'if ({self.nans[place]}) {lane} = __builtin_nan("");')
            if self.is_total or self.rest:
                target = self._target(place, slot)
                self.body.add(f"{target} = {self._joined(target, lane)};")
            elif not self.is_number:
                self.body.add(f"{self._target(place, slot)} = {lane};")
        if not self.is_total and not self.rest and self.is_number:
            self.sums = self.lanes

    def _target(self, place: int, slot: Slot) -> str:
        if self.is_number:
            return self.sums[place]
        if self.is_total:
            node, view = self.body.totals[self.item]
            return self.body.entry(node, view.places, slot)
        return self.body.buffer(self.item, slot)

    def end(self) -> None:
        if self.is_total:
            return
        for place, slot in enumerate(self.slots):
            key = self.item, self.body.key(self.item.axes, slot)
            if self.is_number:
                self.body.names[key] = self.sums[place]

    def end_block(self) -> None:
        if self.is_total and self.is_number:
            node, view = self.body.totals[self.item]
            for place, slot in enumerate(self.slots):
                target = self.body.entry(node, view.places, slot)
                self.body.add(f"{target} = {self._joined(target, self.sums[place])};")
