"""Random programs of arrays: elementwise, broadcast, reduced, normalized, transposed, multiplied,
in up to three axes.
"""

from __future__ import annotations

import math
from random import Random

from witness import WORDS

Shape = tuple[int, ...]

ONE = WORDS["array: of one"]
TWO = WORDS["array: of two"]
ALONG = WORDS["array: along an axis"]
REDUCED = WORDS["array: reduced"]
_MOST = 200_000  # entries of an intermediate array
_NAMES = "abcdfghkmpqrstuvw"


class ArrayProgram:
    """A text and the shapes of its names; axes of arrays have the given extents."""

    def __init__(self, random: Random, extents: Shape, depth: int) -> None:
        self.random, self.extents = random, extents
        self.shapes: dict[str, Shape] = {}
        shape = random.choice([extents[:1], extents[:2], extents])
        self.text = f"sum({self._array(shape, depth)})"

    def _array(self, shape: Shape, depth: int) -> str:
        kind = self.random.random() if depth else 1.0
        if kind < 0.3:
            return self._pick(ONE).format(self._array(shape, depth - 1))
        if kind < 0.6:
            return self._pick(TWO).format(
                self._array(shape, depth - 1), self._array(self._broadcast(shape), depth - 1)
            )
        if kind < 0.7 and shape:
            return self._pick(ALONG).format(
                self._array(shape, depth - 1), self.random.randrange(-len(shape), len(shape))
            )
        if kind < 0.85 and len(shape) < 3:
            return self._reduced(shape, depth - 1)
        return self._moved(shape, depth - 1) if kind < 0.95 and shape else self._name(shape)

    def _pick(self, texts: tuple[str, ...]) -> str:
        return self.random.choice(texts)

    def _broadcast(self, shape: Shape) -> Shape:
        """A shape that goes with another one."""
        kind = self.random.random()
        if kind < 0.5:
            return shape
        if kind < 0.75:
            return tuple(extent if self.random.random() < 0.5 else 1 for extent in shape)
        return shape[self.random.randrange(len(shape) + 1) :]

    def _reduced(self, shape: Shape, depth: int) -> str:
        place, extent = self.random.randrange(len(shape) + 1), self.random.choice(self.extents)
        if math.prod(shape) * extent > _MOST:
            extent = 2
        larger = (*shape[:place], extent, *shape[place:])
        return self._pick(REDUCED).format(self._array(larger, depth), f"axis={place}")

    def _moved(self, shape: Shape, depth: int) -> str:
        """Of other arrays: transposed, multiplied, put together."""
        if len(shape) == 1:
            found = self._array(shape, depth)
            return self._pick(
                (
                    f"concatenate([({found})[1:], ({found})[:1]])",
                    f"({found})[::-1]",
                    f"roll({found}, 2)",
                )
            )
        inner = self.random.choice((1, 2, 3, 17))
        if len(shape) == 2 and self.random.random() < 0.6 and math.prod(shape) * inner <= _MOST:
            return (
                f"(({self._array((shape[0], inner), depth)}) @ "
                f"({self._array((inner, shape[1]), depth)}))"
            )
        order = self.random.sample(range(len(shape)), len(shape))
        source = [0] * len(shape)
        for axis, extent in zip(order, shape, strict=True):
            source[axis] = extent
        return f"transpose({self._array(tuple(source), depth)}, {tuple(order)})"

    def _name(self, shape: Shape) -> str:
        known = [name for name, its_shape in self.shapes.items() if its_shape == shape]
        if known and (self.random.random() < 0.6 or len(self.shapes) == len(_NAMES)):
            return self.random.choice(known)
        if len(self.shapes) == len(_NAMES):
            return "1.5"
        name = _NAMES[len(self.shapes)]
        self.shapes[name] = shape
        return name
