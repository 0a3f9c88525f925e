"""Calls of gradcli, in its own language, held against what the libraries give."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from typing import Any, NamedTuple

import numpy as np

import gradcli
from gradcli.errors import GradcliError
from gradcli.ops.spec import Op
from oracles.catalogue import calls_of, record_of, taken
from oracles.differences import BARE, CALLS, ROUGH, ROUGH_SLOPES, SLOPES, SPELLINGS, TENSORS_FIRST
from oracles.libraries import GRIDS, METHODS, PLACES, Answer, answer, has, spelled, used, weights
from oracles.values import VALUES

_EPS = 2.0**-52
_TAIL = 1e-14  # slopes that PyTorch takes from 1 - out are known to so much
_SUBNORMAL = 1e-304  # what is below has fewer digits, or none in PyTorch
# Parts of vectors whose signs are free, and the vectors' axis: that of torch.svd is another one.
_SIGNS = {"eigh": {1: (-2,)}, "svd": {0: (-2,), 2: (-1, -2)}}
# Other prefixes of the same library, tried with one call.
ALSO = {
    "np": ("numpy", "jnp", "jax.numpy"), "np.linalg": ("numpy.linalg", "jnp.linalg", "jax.numpy.linalg"), "scipy.special": ("special",),
    "F": ("torch.nn.functional", "nn.functional"),
}  # fmt: skip
_OF_TENSORS = re.compile(r"\bdim\b|\bkeepdim\b")
# What a method means goes by the program's dialect: without a prefix it is NumPy's.
_DIALECTS = {"Tensor": "torch", "ndarray": "numpy"}
_SLOPES = (
    100  # by how much more than a value a gradient may be off: rules add and multiply more often
)


class Tolerance(NamedTuple):
    """The errors that are let pass: relative to an entry, relative to the largest entry, and
    absolute.
    """

    entry: float
    largest: float
    absolute: float

    def of_slopes(self, least: float) -> Tolerance:
        return Tolerance(
            max(_SLOPES * self.entry, least),
            max(self.largest, self.entry, least) if self.largest else 0.0,
            _TAIL,
        )


def tolerance(place: str, name: str, arguments: str) -> Tolerance:
    """A few units in the last place more than the record's of what works entry by entry; of sums,
    in terms of the largest.

    On the grids, whose entries are of every size, no entry is held against another.
    """
    record = record_of(place, name)
    if f"{place}.{name}" in ROUGH:
        _, entry, absolute = ROUGH[f"{place}.{name}"]
        return Tolerance(entry, 0.0, absolute)
    if isinstance(record, Op) and record.elementwise:
        return Tolerance(max(1e-13, 4 * record.ulps * _EPS), 0.0, _SUBNORMAL)
    return Tolerance(1e-12, 0.0 if GRIDS.intersection(used(arguments)) else 1e-13, _SUBNORMAL)


def gauged(name: str, place: int, found: Any, wanted: np.ndarray) -> tuple[Any, bool]:
    """A part with the library's signs, of vectors that have one of two; and whether that changed
    any.
    """
    axes = _SIGNS.get(name, {}).get(place, ())
    if np.shape(found) != wanted.shape:
        return found, False
    for axis in axes:
        signs = np.where((np.asarray(found) * wanted).sum(axis, keepdims=True) < 0, -1, 1)
        if np.allclose(found * signs, wanted):
            return found * signs, bool((signs < 0).any())
    return found, False


def off(
    found: Any, wanted: np.ndarray, within: Tolerance, excused: Collection[int] = ()
) -> str | None:
    """What is wrong with the numbers that were found, in words; None if nothing is."""
    found = np.asarray(found, float)
    if found.shape != wanted.shape:
        return f"has the shape {found.shape}, not {wanted.shape}"
    held = ~np.ma.getmaskarray(wanted)
    held.flat[list(excused)] = False
    wanted = np.asarray(np.ma.getdata(wanted), float)
    finite = np.abs(wanted[np.isfinite(wanted)])
    with np.errstate(all="ignore"):
        allowed = (
            within.entry * np.abs(wanted)
            + (within.largest * finite.max() if finite.size else 0)
            + within.absolute
        )
        same = (
            (found == wanted)
            | (np.isnan(found) & np.isnan(wanted))
            | (np.abs(found - wanted) <= allowed)
        )
    bad = np.argwhere(~same & held)
    if not len(bad):
        return None
    at = tuple(int(i) for i in bad[0])
    return (
        f"is {found[at]!r} at {list(at)}, not {wanted[at]!r} ({len(bad)} of {found.size} entries)"
    )


def _told(slope: np.ndarray, value: np.ndarray) -> np.ndarray:
    """The entries of a gradient that PyTorch decides: not where it multiplies zero by infinity, nor
    outside of a domain.
    """
    outside = np.isnan(value) if value.shape == slope.shape else np.isnan(value).any()
    return np.ma.masked_array(slope, np.isnan(slope) | outside)


def run(text: str, shape: tuple[int, ...], wrt: Collection[str], dialect: str | None = None) -> Any:
    """The record that gradcli makes of a call, with the gradients by these arrays."""
    at = {name: VALUES[name] for name in used(text)}
    frozen = [name for name in at if name not in wrt]
    return gradcli.evaluate(
        text, at=at, seed=weights(shape), check=False, formula=False, freeze=frozen, dialect=dialect
    )


def faults_of(
    place: str, name: str, arguments: str, wanted: Answer, prefix: str | None = None
) -> Iterator[str]:
    """What is wrong with one call, which may be written with another prefix."""
    known = spelled(place, name, arguments)
    text = known if prefix is None else f"{prefix}{name}({arguments})"
    within = tolerance(place, name, arguments)
    _, rough = ROUGH_SLOPES.get(f"{place}.{name}", ("", 0.0))
    for i, part in enumerate(wanted.parts):
        of_part = f"{text}[{i}]" if wanted.several else text
        of_known = f"{known}[{i}]" if wanted.several else known
        excused = CALLS.get(of_known, ("", ()))[1]
        if excused is None:
            continue
        try:
            record = run(of_part, part.shape, wanted.gradients[i], _DIALECTS.get(place))
        except GradcliError as error:
            if prefix == "" and not error.message.startswith("the seed"):
                continue  # without a prefix a function has a signature of its own
            yield (
                f"{of_part}: {error.message}; the library gives {part.ravel()[:3]} of shape "
                f"{part.shape}"
            )
            continue
        found, flipped = (
            gauged(name, i, record.value, part) if wanted.several else (record.value, False)
        )
        wrong = off(found, part, within, excused)
        if wrong:
            yield f"{of_part} {wrong}"
        excused = SLOPES.get(of_known, ("", ()))[1]
        for of, slope in wanted.gradients[i].items() if excused is not None and not flipped else ():
            found = (record.grad or {}).get(of, np.zeros(VALUES[of].shape))
            wrong = off(found, _told(slope, part), within.of_slopes(rough), excused)
            if wrong:
                yield f"the gradient of {of_part} by {of} {wrong}"


def _runs(text: str, dialect: str | None = None) -> bool:
    """Whether gradcli adds up the entries of a value."""
    try:
        at = {name: VALUES[name] for name in used(text)}
        gradcli.evaluate(
            f"sum(reshape({text}, (-1,)))", at=at, check=False, formula=False, dialect=dialect
        )
    except GradcliError:
        return False
    return True


def _further_parts(text: str, count: int, dialect: str | None) -> Iterator[str]:
    if _runs(f"{text}[{count}]", dialect):
        yield f"{text} has more than {count} parts"


def is_taken(text: str) -> bool:
    """Whether gradcli takes a call, whose result is an array or has several parts."""
    return _runs(text) or _runs(f"{text}[0]")


def answers(place: str, name: str) -> Iterator[tuple[str, Answer]]:
    for arguments in calls_of(name, place):
        if (
            place == "Tensor"
            and name not in TENSORS_FIRST
            and has("ndarray", name)
            and not _OF_TENSORS.search(arguments)
        ):
            continue
        try:
            yield arguments, answer(place, name, arguments)
        except LookupError:
            continue


def oracles(name: str) -> list[str]:
    """The libraries that have a function of this name, and gradcli under their prefix."""
    return [
        place
        for place in PLACES
        if has(place, name) and taken(place, name) and f"{place}.{name}" not in SPELLINGS
    ]


def faults(name: str, every: bool = True) -> Iterator[str]:
    """What is wrong with a name, under every prefix of each library that has it, and without one;
    or under one prefix of each.
    """
    places = oracles(name)
    own = BARE.get(name, next((place for place in places if place not in METHODS), None))
    for place in places:
        bare, tried = False, place == "Tensor" and has("ndarray", name)
        for arguments, wanted in answers(place, name):
            yield from faults_of(place, name, arguments, wanted)
            if wanted.several and not tried:
                yield from _further_parts(
                    spelled(place, name, arguments), len(wanted.parts), _DIALECTS.get(place)
                )
            for prefix in () if tried or not every else ALSO.get(place, ()):
                yield from faults_of(place, name, arguments, wanted, f"{prefix}.")
            tried = True
            if place == own and every:
                yield from faults_of(place, name, arguments, wanted, "")
                bare = bare or is_taken(f"{name}({arguments})")
        if place == own and every and not bare:
            yield (
                f"no call of {name}(...) without a prefix is taken: add its arguments to "
                "tests/oracles/calls"
            )
        if not tried and f"{place}.{name}" not in SPELLINGS:
            yield (
                f"no call of {spelled(place, name, '...')} that the library takes: add its "
                "arguments to tests/oracles/calls"
            )
