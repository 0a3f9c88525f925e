"""The operators of Python on scalars, whose derivatives are known to everybody."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from gradcli.reference.algebra import real


@dataclass(frozen=True, eq=False)
class Arithmetic:
    """An operator; on plain numbers or traced ones alike.

    partials  for each argument, the derivative by it
    reads     for each argument, the places of the arguments that this derivative depends on
    absorbs   whether a zero that is a constant makes the result one, whatever the other argument is around the point
    """

    name: str
    value: Callable[..., Any]
    partials: tuple[Callable[..., Any], ...]
    reads: tuple[tuple[int, ...], ...]
    absorbs: bool = False

    def read(self, place: int, arguments: Sequence[Any]) -> Sequence[Any]:
        """The arguments that the derivative by one of them depends on."""
        return [arguments[i] for i in self.reads[place]]

    def partial(self, tape: Any, place: int, arguments: Sequence[Any], traced: bool) -> Any:
        slope = self.partials[place]
        return slope(*arguments) if traced else real(tape.m, lambda m, *numbers: slope(*numbers), *arguments)


PLUS = Arithmetic("add", lambda x, y: x + y, (lambda x, y: 1, lambda x, y: 1), ((), ()))
MINUS = Arithmetic("sub", lambda x, y: x - y, (lambda x, y: 1, lambda x, y: -1), ((), ()))
TIMES = Arithmetic("mul", lambda x, y: x * y, (lambda x, y: y, lambda x, y: x), ((1,), (0,)), absorbs=True)
OVER = Arithmetic("div", lambda x, y: x / y, (lambda x, y: 1 / y, lambda x, y: -(x / y) / y), ((1,), (0, 1)))
NEGATIVE = Arithmetic("neg", lambda x: -x, (lambda x: -1,), ((),))
