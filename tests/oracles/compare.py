"""Calls of gradcli, in its own language, held against what the libraries give."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from typing import Any, NamedTuple

import numpy as np

import gradcli
from gradcli.errors import GradcliError
from gradcli.ops.spec import Op

from oracles.catalogue import calls_of, meant, record_of, taken
from oracles.differences import CALLS, ROUGH, ROUGH_SLOPES, SLOPES, SPELLINGS, TENSORS_FIRST
from oracles.libraries import PLACES, Answer, answer, has, spelled, used, weights
from oracles.values import VALUES

_EPS = 2.0**-52
_SUBNORMAL = 1e-304  # what is below has fewer digits, or none in PyTorch
_OF_TENSORS = re.compile(r"\bdim\b|\bkeepdim\b")
_SLOPES = 100  # by how much more than a value a gradient may be off: rules add and multiply more often


class Tolerance(NamedTuple):
    """The errors that are let pass: relative to an entry, relative to the largest entry, and absolute."""

    entry: float
    largest: float
    absolute: float

    def of_slopes(self, least: float) -> Tolerance:
        return Tolerance(max(_SLOPES * self.entry, least), max(self.largest, self.entry, least), self.absolute)


def tolerance(place: str, name: str) -> Tolerance:
    """A few units in the last place more than the record's of what works entry by entry; of sums, in terms of the largest."""
    record = record_of(place, name)
    if f"{place}.{name}" in ROUGH:
        _, entry, absolute = ROUGH[f"{place}.{name}"]
        return Tolerance(entry, 0.0, absolute)
    if isinstance(record, Op) and record.elementwise and record.ulps is not None:
        return Tolerance(max(1e-13, 4 * record.ulps * _EPS), 0.0, _SUBNORMAL)
    return Tolerance(1e-12, 1e-13, _SUBNORMAL)


def off(found: Any, wanted: np.ndarray, within: Tolerance, excused: Collection[int] = ()) -> str | None:
    """What is wrong with the numbers that were found, in words; None if nothing is."""
    found = np.asarray(found, float)
    if found.shape != wanted.shape:
        return f"has the shape {found.shape}, not {wanted.shape}"
    held = ~np.ma.getmaskarray(wanted)
    held.flat[list(excused)] = False
    wanted = np.asarray(np.ma.getdata(wanted), float)
    finite = np.abs(wanted[np.isfinite(wanted)])
    with np.errstate(all="ignore"):
        allowed = within.entry * np.abs(wanted) + (within.largest * finite.max() if finite.size else 0) + within.absolute
        same = (found == wanted) | (np.isnan(found) & np.isnan(wanted)) | (np.abs(found - wanted) <= allowed)
    bad = np.argwhere(~same & held)
    if not len(bad):
        return None
    at = tuple(int(i) for i in bad[0])
    return f"is {found[at]!r} at {list(at)}, not {wanted[at]!r} ({len(bad)} of {found.size} entries)"


def _told(slope: np.ndarray, value: np.ndarray) -> np.ndarray:
    """The entries of a gradient that PyTorch decides: not where it multiplies zero by infinity, nor outside of a domain."""
    outside = np.isnan(value) if value.shape == slope.shape else np.isnan(value).any()
    return np.ma.masked_array(slope, np.isnan(slope) | outside)


def run(text: str, shape: tuple[int, ...], wrt: Collection[str]) -> Any:
    """The record that gradcli makes of a call, with the gradients by these arrays."""
    at = {name: VALUES[name] for name in used(text)}
    frozen = [name for name in at if name not in wrt]
    return gradcli.evaluate(text, at=at, seed=weights(shape), check=False, formula=False, freeze=frozen)


def faults_of(place: str, name: str, arguments: str, wanted: Answer, shown: str | None = None) -> Iterator[str]:
    """What is wrong with one call."""
    text = spelled(place, name, arguments) if shown is None else shown
    within = tolerance(place, name)
    _, rough = ROUGH_SLOPES.get(f"{place}.{name}", ("", 0.0))
    for i, part in enumerate(wanted.parts):
        of_part = f"{text}[{i}]" if wanted.several else text
        excused = CALLS.get(of_part, ("", ()))[1]
        if excused is None:
            continue
        try:
            record = run(of_part, part.shape, wanted.gradients[i])
        except GradcliError as error:
            yield f"{of_part}: {error.message}; the library gives {part.ravel()[:3]} of shape {part.shape}"
            continue
        wrong = off(record.value, part, within, excused)
        if wrong:
            yield f"{of_part} {wrong}"
        excused = SLOPES.get(of_part, ("", ()))[1]
        for of, slope in wanted.gradients[i].items() if excused is not None else ():
            found = (record.grad or {}).get(of, np.zeros(VALUES[of].shape))
            wrong = off(found, _told(slope, part), within.of_slopes(rough), excused)
            if wrong:
                yield f"the gradient of {of_part} by {of} {wrong}"


def answers(place: str, name: str) -> Iterator[tuple[str, Answer]]:
    for arguments in calls_of(name, place):
        if place == "Tensor" and name not in TENSORS_FIRST and has("ndarray", name) and not _OF_TENSORS.search(arguments):
            continue
        try:
            yield arguments, answer(place, name, arguments)
        except LookupError:
            continue


def oracles(name: str) -> list[str]:
    """The libraries that have a function of this name, and gradcli under their prefix."""
    return [place for place in PLACES if has(place, name) and taken(place, name) and f"{place}.{name}" not in SPELLINGS]


def faults(name: str) -> Iterator[str]:
    """What is wrong with a name, under the prefix of each library that has it, and without one."""
    places = oracles(name)
    for place in places:
        tried = False
        for arguments, wanted in answers(place, name):
            tried = True
            yield from faults_of(place, name, arguments, wanted)
        if not tried:
            yield f"no call of {spelled(place, name, '...')} that the library takes: add its arguments to tests/oracles/calls"
