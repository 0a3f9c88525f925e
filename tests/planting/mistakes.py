"""What a planted mistake is, and how it is tried: the verdict is asked first, then the tests that are named with it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from contextlib import AbstractContextManager
from typing import Any, NamedTuple

import numpy as np
from oracles.libraries import weights

import gradcli
from gradcli.errors import GradcliError

Witness = tuple[str, Callable[[], str | None]]  # a test's name, and its comparison, which says in words what differs
_ASKED = 4  # programs that show a mistake, whose verdicts are asked


class Program(NamedTuple):
    """A text with values, that a mistake may show in."""

    text: str
    values: Mapping[str, Any]


class Mistake(NamedTuple):
    """kind     which column of the table it counts in
    place    where it is planted
    plant    plants it, and takes it out again
    programs that may show it, for the verdict
    tests    that may find it otherwise
    """

    kind: str
    place: str
    plant: Callable[[], AbstractContextManager[Any]]
    programs: Callable[[], Iterable[Program]]
    tests: Callable[[], Iterable[Witness]]


class Finding(NamedTuple):
    """Who found a mistake, and by which words; by nobody, if ``shown`` says in which program it changed a number or what nobody reached."""

    mistake: Mistake
    by: str  # "verdict", a test's name, "no change" or "missed"
    words: str


def tried(mistake: Mistake) -> Finding:
    """Plant a mistake, and see who finds it."""
    before = [(program, _numbers(program)) for program in mistake.programs()]
    changed: list[Program] = []
    with mistake.plant():
        for program, right in before:
            if _same(_numbers(program), right):
                continue
            changed.append(program)
            if (word := _verdict(program)) != "":
                return Finding(mistake, "verdict", f"{program.text}: {word}")
            if len(changed) == _ASKED:
                break
        for name, compare in mistake.tests():
            try:
                words = compare()
            except Exception as error:  # a test that ends in an error has failed
                words = f"{type(error).__name__}: {error}"
            if words:
                return Finding(mistake, name, words)
    return Finding(mistake, "missed" if changed or not before else "no change", changed[0].text if changed else "no program reaches it")


def _record(program: Program, *, check: bool) -> Any:
    known = _SHAPES.get(program.text)
    if known is None:
        try:
            known = np.shape(gradcli.evaluate(program.text, at=program.values, check=False, formula=False).value)
        except GradcliError as error:
            known = _shape_in(error.message)
        _SHAPES[program.text] = known
    seed = weights(known) if known else None
    return gradcli.evaluate(program.text, at=program.values, seed=seed, check=check, formula=False)


_SHAPES: dict[str, tuple[int, ...]] = {}  # of results, which tell the seeds' shapes


def _shape_in(message: str) -> tuple[int, ...]:
    """The shape that the error about a missing seed names."""
    _, bracket, rest = message.partition("(")
    return tuple(int(n) for n in rest.partition(")")[0].split(",") if n.strip().isdigit()) if bracket else ()


def _numbers(program: Program) -> dict[str, np.ndarray] | str:
    """Value and gradients, or the words of an error."""
    try:
        record = _record(program, check=False)
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return {"": np.asarray(record.value), **{name: np.asarray(slope) for name, slope in (record.grad or {}).items()}}


def _same(one: Any, other: Any) -> bool:
    if isinstance(one, str) or isinstance(other, str):
        return isinstance(one, str) and isinstance(other, str)
    return one.keys() == other.keys() and all(
        one[name].shape == other[name].shape and np.array_equal(one[name], other[name], equal_nan=one[name].dtype.kind == "f")
        for name in one
    )


def _verdict(program: Program) -> str:
    """A mismatch, or the error that a run ends in; nothing if the verdict lets the mistake pass."""
    try:
        check = _record(program, check=True).check
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return check.verdict.word if check is not None and check.verdict.word == "mismatch" else ""


def table(findings: Iterable[Finding]) -> str:
    """Counts by kinds, and under them what was missed."""
    kinds: dict[str, Counter[str]] = {}
    missed: list[Finding] = []
    for finding in findings:
        by = finding.by if finding.by in ("verdict", "missed", "no change") else "a test"
        kinds.setdefault(finding.mistake.kind, Counter())[by] += 1
        missed += [finding] if by == "missed" else []
    columns = ("verdict", "a test", "missed", "no change")
    lines = [f"{'planted in':44} planted verdict  a test  missed  no change"]
    for kind, counts in [*kinds.items(), ("all", sum(kinds.values(), Counter()))]:
        lines.append(f"{kind:44} {counts.total():7d} {' '.join(f'{counts[c]:7d}' for c in columns)}")
    return "\n".join([*lines, *[f"missed: {f.mistake.kind} in {f.mistake.place} ({f.words})" for f in missed]])
