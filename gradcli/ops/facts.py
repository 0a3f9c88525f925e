"""Facts about an operation beside its rules: kinks, its rounding, and what PyTorch does with it.

**Bounds on errors** (``Op.ulps``) hold on any processor and system, though each has functions
of its own: the C library's, NumPy's for the vector registers that it finds (X86_V3, ASIMD), Intel's
SVML with AVX-512, for float32 others again; and plans in C have those of plans/native, with glibc's
functions of vectors among them, whose sines and cosines are off by up to 3.25 units. They are a
quarter more at least than the worst that was measured over these, each switched off in turn
(NPY_DISABLE_CPU_FEATURES), rounded up; where the function is the C library's, also no less than the
largest error known of those of Apple, FreeBSD, glibc, Microsoft and musl (B. Gladman, V. Innocente,
J. Mather, P. Zimmermann, Accuracy of Mathematical Functions in Single, Double, Double Extended, and
Quadruple Precision); 0 where nothing is rounded, 1 where IEEE arithmetic rounds once. They are for
results that neither overflow nor underflow. Beyond 4, an operation is only as good as its operands
near its zeros: its result is right for operands that are off by a unit in their last place.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar, NoReturn, Self, dataclass_transform


@dataclass_transform(eq_default=False, frozen_default=True)
class Fixed:
    """Fields are what a class annotates, after those of the class that it extends; what has a value
    there may be left out.

    Compared by identity. Raises TypeError for fields that are missing, unknown or given twice.
    """

    _fields: ClassVar[tuple[str, ...]] = ()
    _known: ClassVar[frozenset[str]] = frozenset()
    _required: ClassVar[frozenset[str]] = frozenset()

    def __init_subclass__(cls) -> None:
        cls._fields = (*cls._fields, *cls.__annotations__)
        cls._known = frozenset(cls._fields)
        cls._required = frozenset([name for name in cls._fields if not hasattr(cls, name)])

    def __init__(self, *values: Any, **named: Any) -> None:
        given = {**dict(zip(self._fields, values, strict=False)), **named} if values else named
        if not self._required <= given.keys() <= self._known or len(given) != len(values) + len(
            named
        ):
            raise TypeError(
                f"{type(self).__name__} has the fields {', '.join(self._fields)}, not {values} "
                f"and {named}"
            )
        self.__dict__.update(given)

    def __setattr__(self, name: str, value: Any) -> NoReturn:
        raise AttributeError(f"{type(self).__name__} is fixed: {name} cannot be set")

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(f'{name}={getattr(self, name)!r}' for name in self._fields)})"

    def but(self, **changes: Any) -> Self:
        """Return a copy with other values of some fields."""
        given = {name: self.__dict__[name] for name in self._fields if name in self.__dict__}
        return type(self)(**{**given, **changes})


Function = Callable[..., Any]


class Choice(Fixed):
    """Choice of another library at a kink.

    It is given in words and, if it is not ours, by a body of the operation that has this
    derivative.
    """

    words: str
    body: Function | None = None


SAME = Choice("the same")


class Kink(Fixed):
    """Place where an operation is not differentiable, and the value that is chosen there.

    ``where`` receives the operands as scalars, and the static parameters, and says whether they lie
    on the kink; of operations on whole arrays, an entry of the result. `never`, where the reference
    notes the kink itself (`Algebra.extreme`), or the body's operations do. ``jax`` is the choice of
    JAX 0.10, as measured, None where it has not been.
    """

    where: Function
    place: str
    convention: str
    jax: Choice | None = None


def never(*_: Any, **__: Any) -> bool:
    return False


def noted_kink(place: str, convention: str, jax: Choice | None = None) -> Kink:
    """Return a kink that the reference, or the operations of a body, note themselves."""
    return Kink(never, place, convention, jax)


# The kink of every comparison.
SWITCH = Kink(lambda x, y: x == y, "a branch switch", "the branch that the condition selects", SAME)


def kinks_of(op: Any) -> tuple[Kink, ...]:
    """Return the kinks of an operation or of a comparison."""
    return op.kinks or ((SWITCH,) if op.algebra == "comparison" else ())
