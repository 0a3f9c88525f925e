"""Derivatives of functions that cannot be traced: extrapolated differences with their error."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from gradcli.errors import ArgumentError
from gradcli.functions.arguments import (
    OUTSIDE,
    Floats,
    Make,
    Seeds,
    Subject,
    parts_of,
    real,
    rebuilt,
)
from gradcli.functions.calls import by_names
from gradcli.functions.extrapolation import Slope, slope
from gradcli.functions.precision import epsilon_of
from gradcli.report.verdicts import OneSided, VariableCheck, Verdict, Worst

_MOST = 2_000  # entries that are differentiated one by one; beyond, a sample of them


def by_differences(
    subject: Subject,
    name: str,
    seeds: Seeds,
    claimed: np.ndarray,
    rtol: float,
    atol: float,
    widest: float | None = None,
) -> VariableCheck:
    """The verdict on a claimed gradient by one of the arrays of a function's arguments."""
    return hold_claims(claimed, lambda i: derivative(subject, name, seeds, i, widest), rtol, atol)


def hold_claims(
    claimed: np.ndarray, estimate_of: Callable[[int], Slope], rtol: float, atol: float
) -> VariableCheck:
    """The verdict on claimed derivatives, each held to its estimate; of very many, a sample."""
    size = claimed.size
    entries: Sequence[int] = range(size)
    if size > _MOST:
        entries = sorted(np.random.default_rng(0).choice(size, _MOST, replace=False).tolist())
    check = VariableCheck(Verdict.AGREE, entries=(len(entries), size))
    worst, largest = -1.0, float(np.abs(claimed[np.isfinite(claimed)]).max(initial=0.0))
    for i in entries:
        said = float(claimed.reshape(-1)[i])
        estimate = estimate_of(i)
        off = abs(said - estimate.value)
        verdict = estimate.verdict(said, rtol, atol, largest)
        check.decided_by = estimate.source
        check.wrong += verdict is Verdict.MISMATCH
        relative = off / (abs(estimate.value) or 1e-300)
        if verdict > check.verdict or (verdict is check.verdict and relative > worst):
            index = (
                tuple(int(p) for p in np.unravel_index(i, claimed.shape)) if claimed.ndim else ()
            )
            check.worst, worst = Worst(index, said, estimate.value), relative
            if verdict is Verdict.UNDETERMINED:
                check.reason = f"differences are good to {estimate.error:.1g} only"
            elif verdict is Verdict.KINK and estimate.sides is not None:
                check.kinks = [OneSided(index, *estimate.sides, said, "claimed")]
            elif verdict is Verdict.MISMATCH:
                check.reason = f"by {estimate.source}, good to {estimate.error:.1g}"
        check.verdict = max(check.verdict, verdict)
    return check


def derivative(
    subject: Subject, name: str, seeds: Seeds, i: int, widest: float | None = None
) -> Slope:
    """The derivative by one entry; a ``widest`` step makes the only scale of differences."""
    array = subject.floats[name]
    epsilon = epsilon_of(array.dtype)

    def along(step: float) -> list[float]:
        return subject.along(seeds, {name: _move_entry(array, i, step)})

    return slope(along, float(array.reshape(-1)[i]), epsilon, widest)


def _move_entry(array: np.ndarray, i: int, step: float) -> np.ndarray:
    moved = np.array(array)
    moved.reshape(-1)[i] += step
    return moved


# -- JVPs: the derivative of a function along a direction of its arguments, as that of a function
# of one number, the step.


JVP = "jvp"  # what the step is called, and so the verdict on the derivative by it


def along(subject: Subject, directions: Floats) -> Subject:
    """The function of the step along directions, at 0."""

    def move(step: Any) -> Make:
        def make(name: str, value: Any, numbers: Any) -> Any:
            found = subject.make(name, value, numbers)
            return (
                found + step * subject.make(name, value, directions[name])
                if name in directions
                else found
            )

        return make

    def function(step: Any) -> Any:
        make = move(step)
        return subject.function(
            *(
                rebuilt(name, value, subject.floats, make)
                for name, value in subject.arguments.items()
            )
        )

    fewest = max((x.dtype for x in subject.floats.values()), key=epsilon_of)
    return Subject(function, {JVP: np.zeros((), fewest)}, [JVP], subject.make)


def claimed_jvps(subject: Subject, jvp: Callable[..., Any], directions: Floats) -> list[np.ndarray]:
    """Return what a JVP that somebody wrote gives for directions: it takes the arguments, then a
    tangent for each that it is by.

    Raises ArgumentError for what has not the form of the function's result.
    """
    given = subject.copies()
    tangents = [
        rebuilt(name, subject.arguments[name], directions, subject.make) for name in subject.wrt
    ]
    found = [
        real(part, "the JVP must give")
        for part in parts_of(by_names(jvp, list(given))(*given.values(), *tangents))
    ]
    shapes, wanted = ([part.shape for part in parts] for parts in (found, subject.value))
    if shapes != wanted:
        told, right = (", ".join(map(str, some)) for some in (shapes, wanted))
        raise ArgumentError(f"the JVP has the shape {told}, the function's result {right}")
    return found


def contract(parts: list[np.ndarray], seeds: Seeds) -> Floats:
    """A JVP times a seed, which is the derivative by the step of the result's sum with this
    seed.
    """
    total = sum(float((part * seed).sum()) for part, seed in zip(parts, seeds, strict=True))
    return {JVP: np.asarray(total, np.result_type(*parts))}


# -- Functions of symmetric matrices that read one triangle of them, as NumPy's cholesky and eigh
# do, or refuse all others.
#
# By the entries of the other triangle such a function has no slope, and by those that it reads
# twice what a function of a symmetric matrix has. Its gradient is right if it is so along
# symmetric directions, in which the matrix stays one.


TOLD = "right along symmetric directions: the function is one of symmetric matrices '{}'"
_MOVE = 1e-3


def is_of_symmetric(subject: Subject, name: str) -> bool:
    """Return whether an argument is a symmetric matrix of which the function ignores the entries
    above or below the diagonal, or demands it.
    """
    matrix = subject.floats[name]
    if (
        matrix.ndim != 2
        or matrix.shape[0] != matrix.shape[1]
        or len(matrix) < 2
        or not np.array_equal(matrix, matrix.T)
    ):
        return False
    noise = (
        _MOVE
        * float(np.abs(matrix).max(initial=1.0))
        * np.random.default_rng(11).standard_normal(matrix.shape)
    )
    one, other = (_is_same_after(subject, {name: matrix + part(noise)}) for part in _TRIANGLES)
    if one is other is None:
        return _is_same_after(subject, {name: matrix + symmetrize_slopes(noise)}) is not None
    return (one is True) is not (other is True)


def symmetrize_slopes(slopes: np.ndarray) -> np.ndarray:
    """The slopes along symmetric directions, shared evenly by both entries."""
    return np.asarray((slopes + slopes.T) / 2)


def symmetrizing(name: str, make: Make) -> Make:
    """Makes of a matrix its symmetric part before the function sees it."""

    def make_symmetric(which: str, value: Any, numbers: Any) -> Any:
        found = make(which, value, numbers)
        return (found + found.T) / 2 if which == name else found

    return make_symmetric


_TRIANGLES: tuple[Callable[[np.ndarray], np.ndarray], ...] = (
    lambda x: np.triu(x, 1),
    lambda x: np.tril(x, -1),
)


def _is_same_after(subject: Subject, floats: dict[str, np.ndarray]) -> bool | None:
    """Return whether a function has the same value at other numbers; None if it has none."""
    try:
        found = subject.numbers(floats)
    except OUTSIDE:
        return None
    return all(np.array_equal(one, other) for one, other in zip(found, subject.value, strict=True))
