"""What is known of an operation beside its rules: kinks, facts of mathematics, what formulas and plans make of it, and its rounding.

**Bounds on errors** (``Accuracy.ulps``) hold on any processor and system, though each has functions of its own: the C library's, NumPy's
for the vector registers that it finds (X86_V3, ASIMD), Intel's SVML with AVX-512, for float32 others again; and plans in C have those of
plans/native, with glibc's functions of vectors among them, whose sines and cosines are off by up to 3.25 units. They are a quarter more at
least than the worst that was measured over these, each switched off in turn (NPY_DISABLE_CPU_FEATURES), rounded up; where the function is
the C library's, also no less than the largest error known of those of Apple, FreeBSD, glibc, Microsoft and musl (B. Gladman,
V. Innocente, J. Mather, P. Zimmermann, Accuracy of Mathematical Functions in Single, Double, Double Extended, and Quadruple Precision);
0 where nothing is rounded, 1 where IEEE arithmetic rounds once. They are for results that neither overflow nor underflow. Beyond 4, an
operation is only as good as its operands near its zeros: its result is right for operands that are off by a unit in their last place.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from gradcli.ops.fixed import Fixed

Function = Callable[..., Any]


class Choice(Fixed):
    """What another library chooses at a kink: in words, and the rule by which it does, if that is not ours.

    rule  partials, one for each operand, or a VJP: what stands in the operation's record, in that library's version
    """

    words: str
    rule: tuple[Function | None, ...] | Function | None = None


SAME = Choice("the same")


class Kink(Fixed):
    """Where an operation is not differentiable, and the value that is chosen there.

    ``where`` receives the operands as scalars, and the static parameters, and says whether they lie on the kink; of operations on
    whole arrays, an entry of the result. Never, where the reference notes the kink itself (`Algebra.extreme`), or the body's operations do.
    ``jax`` is the choice of JAX 0.10, as measured, None where it has not been.
    """

    where: Function
    place: str
    convention: str
    jax: Choice | None = None


def noted(place: str, convention: str, jax: Choice | None = None) -> Kink:
    """Return a kink that the reference, or the operations of a body, note themselves."""
    return Kink(lambda *_, **__: False, place, convention, jax)


class Facts(Fixed):
    """What holds of an operation as mathematics, beside its rules.

    linear     whether the result is linear in each operand
    signed     operands whose zeros count by their sign: 0.0 and -0.0 give different results
    moves      whether each entry of the result is one of the operands', or zero, and values do not decide which: it is linear and exact
    integral   whether whole numbers as operands give whole numbers: of powers, where the exponent is not negative
    exponents  operands that are exponents
    inverse    whether it undoes a function that is not one to one, so that of an expression it is a choice, as sqrt(x**2) is
    branches   whether it is such a choice of plain operands, too
    selects    whether the result is one of the operands or 0, as they decide: nothing flows back to the others, whatever they are
    turns      of a truth: where it turns, and the program takes another branch
    sees_nan   whether the result may be a number although an operand is NaN
    moderate   whether a smooth function is of moderate size wherever its operands are: a zero times it is zero
    constant   ``constant(*operands)``, None for those that vary: whether the others are such that the result does not
    parity     "odd" or "even": of -x it is the opposite of that of x, or the same
    uncertified
               where the reference, evaluated in balls, is no enclosure of the true value, in words; empty where it always is one
    work       ``work(out, *operands)`` of their shapes: scalar operations of the reference; by default, as many as the largest has
               entries, times the rows of matrices (``core_dims``)
    """

    linear: bool = False
    signed: frozenset[str] = frozenset()
    integral: bool = False
    moves: bool = False
    exponents: frozenset[str] = frozenset()
    inverse: bool = False
    branches: bool = False
    selects: bool = False
    turns: Kink | None = None
    sees_nan: bool = False
    moderate: bool = False
    constant: Function | None = None
    parity: str = ""
    uncertified: str = ""
    work: Function | None = None


class Rewriting(Fixed):
    """What graphs that are simplified for people, or folded for speed, make of an operation.

    algebra     what it is in the algebra of sums, products and powers, in which graphs are simplified and folded: a "sum", "difference",
                "negation", "product", "chain" (a product whose zeros win), "quotient", "reciprocal", "square", "power", "logarithm",
                "exponential", "matrix product", "total" (a sum of entries), "comparison" or "choice" (by a condition); empty for others
    adds        what it adds up: "entries" of its operand (a mean is their sum but for a factor), or "products" of two operands' entries
    unchanged   whether the result is the operand, but for repeated entries
    repeats     whether entries are repeated along axes
    reshapes    whether the result has the operand's entries, in their order, in another shape
    simpler     ``simpler(out, *operands, **static)``: something simpler that equals the node ``out`` (up to broadcasting), on operands
                that have been simplified: a node or a number, or None. It may compare nodes, and read what they are made of
    means       ``means(*operands, **static)``: the same made of other operations, in which formulas are compared: of tan, sin(x)/cos(x);
                where it is shorter, it is written as this one again
    squared     its square, made of other operations: of sin(x), 1 - cos(x)**2; or 1
    quotients   ``quotients()``: of two functions these, their quotients and their reciprocals: sin, cos, tan, cot, csc, sec
    doubled     ``doubled(x)``: what it is of 2*x
    as_ufunc    another operation that computes the same, with what it takes after the operands: a ufunc, which can fill a buffer
    """

    algebra: str = ""
    adds: str = ""
    unchanged: bool = False
    repeats: bool = False
    reshapes: bool = False
    simpler: Function | None = None
    means: Function | None = None
    squared: Function | int | None = None
    quotients: Function | None = None
    doubled: Function | None = None
    as_ufunc: tuple[Any, ...] = ()


class Accuracy(Fixed):
    """What is known of the floats that an operation computes.

    ulps       error bound of the forward pass in units of the last place of what ``rounding`` says: in float64 and in float32, by
               whichever library NumPy computes with (see above)
    rounding   what rounding is relative to: the "result", the "terms" of a sum, its "partial sums", the largest of the "operands",
               or the "product" of those
    exact      whether nothing is rounded where operands and result are whole numbers that floats have
    power      near 0 the result is the first operand to this power, but for a factor
    compounds  whether a result is a product of entries, whose relative errors add up in it, and one rounding more for each
    decays     whether the result vanishes faster than any power where an operand is infinite
    carries    ``carries(m, out, *operands, *errors, **static)``: a bound on how far operands that are off by up to their errors (0.0 of
               those that are exact) take the result from ``out``; None where it is not known. m offers NumPy's functions, the operation
               itself as ``m.at(*operands)``, and the rounding error ``m.unit`` of a number. Where neither this nor ``between`` is
               there, errors are propagated through what the operation is made of
    between    points between which the result rises or falls with each operand (of several operands, points for each), so that errors
               carry farthest at the ends of intervals; edges of the domain are among them. Of operations on whole arrays: ``()`` where
               it rises with every entry
    above      what the operands have to be more than for ``between`` to hold
    among      ``among(*operands, **static)``: the entries one of which the result is, along axes; None where it is none
    rounds     ``rounds(m, out, *operands, **static)``: the error of the operation's own rounding, in ``m.unit``, where no word of
               ``rounding`` says it
    by_result  whether code commonly takes the derivative from the result, where digits of it cancel: 1 - y*y of y = tanh(x)
    """

    ulps: float = 1.0
    rounding: str = "result"
    exact: bool = False
    power: float | None = None
    compounds: bool = False
    decays: bool = False
    carries: Function | None = None
    between: tuple[Any, ...] | None = None
    above: float = -math.inf
    among: Function | None = None
    rounds: Function | None = None
    by_result: bool = False
