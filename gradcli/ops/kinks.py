"""Where operations are not differentiable, and what is chosen there: by us, and by other libraries."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

Function = Callable[..., Any]


@dataclass(frozen=True, eq=False, repr=False)
class Choice:
    """What another library chooses at a kink: in words, and the rule by which it does, if that is not ours.

    rule  partials, one for each operand, or a VJP: what stands in the operation's record, in that library's version
    """

    words: str
    rule: tuple[Function | None, ...] | Function | None = None


SAME = Choice("the same")


@dataclass(frozen=True, eq=False, repr=False)
class Kink:
    """Where an operation is not differentiable, and the value that is chosen there.

    ``where`` receives the operands as scalars, and the static parameters, and says whether they lie on the kink; of operations on
    whole arrays, an entry of the result. Never, where the reference notes the kink itself (`Algebra.extreme`), or the body's operations do.
    ``jax`` is the choice of JAX 0.10, as measured, None where it has not been.
    """

    where: Function
    place: str
    convention: str
    jax: Choice | None = None
