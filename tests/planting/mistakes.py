"""What a planted mistake is, and how it is tried: the verdict is asked first, then the tests that
are named with it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from oracles.libraries import weights

import gradcli
from gradcli.errors import GradcliError

Witness = tuple[
    str, Callable[[], str | None]
]  # a test's name, and its comparison, which says in words what differs
_ASKED = 4  # programs that show a mistake, whose verdicts are asked


class Program(NamedTuple):
    """A text with values, that a mistake may show in."""

    text: str
    values: Mapping[str, Any]


class Mistake(NamedTuple):
    """kind     which column of the table it counts in
    place    where it is planted
    plant    plants it, and takes it out again
    programs that may show it, for the verdict; asked whether those are wanted, too, that take long
    to find
    tests    that may find it otherwise; likewise
    inner    whether only those reach it
    silent   whether no number of a run shows it, but a verdict may
    """

    kind: str
    place: str
    plant: Callable[[], AbstractContextManager[Any]]
    programs: Callable[[bool], Iterable[Program]]
    tests: Callable[[bool], Iterable[Witness]]
    inner: bool = False
    silent: bool = False


class Finding(NamedTuple):
    """Who found a mistake, and by which words; by nobody, if ``shown`` says in which program it
    changed a number or what nobody reached.
    """

    mistake: Mistake
    by: str  # "verdict", a test's name, "no change" or "missed"
    words: str


@contextmanager
def forgetful() -> Iterator[None]:
    """What sympy was told of operations before is not used for wrong ones, nor the other
    way round.
    """
    from gradcli.language import statements
    from gradcli.query import interface
    from gradcli.reference.symbolic import translate

    kept = (
        statements._statements_of_line, translate._smooth_function, interface._idle_programs,
    )  # fmt: skip
    for function in kept:
        function.cache_clear()
    try:
        yield
    finally:
        for function in kept:
            function.cache_clear()


def tried(mistake: Mistake, wide: bool = True) -> Finding:
    """Plant a mistake, and see who finds it."""
    before = [(program, _right(program)) for program in mistake.programs(wide)]
    tests = list(mistake.tests(wide))
    shown = ""
    changed = 0
    with forgetful(), mistake.plant():
        for program, right in before:
            wrong = _numbers(program, check=False)
            if _same(wrong, right) and not mistake.silent:
                continue
            shown = shown or program.text
            if isinstance(
                wrong, str
            ):  # a seed of another shape, perhaps, which nobody would have given
                continue
            changed += 1
            if _numbers(program, check=True) == "mismatch":
                return Finding(mistake, "verdict", program.text)
            if changed == _ASKED:
                break
        for name, compare in tests:
            try:
                words = compare()
            except Exception as error:  # a test that ends in an error has failed
                words = f"{type(error).__name__}: {error}"
            if words:
                return Finding(mistake, name, words)
    return Finding(
        mistake, "missed" if shown or not before else "no change", shown or "no program reaches it"
    )


@cache
def _shape(text: str, values: int) -> tuple[int, ...]:
    """The shape of a program's result, which tells the seed's; without a mistake."""
    program = _PROGRAMS[text, values]
    try:
        return np.shape(
            gradcli.evaluate(program.text, at=program.values, check=False, formula=False).value
        )
    except GradcliError as error:
        _, bracket, rest = error.message.partition(
            "("
        )  # which names the shape of the seed that is missing
        return (
            tuple(int(n) for n in rest.partition(")")[0].split(",") if n.strip().isdigit())
            if bracket
            else ()
        )


_PROGRAMS: dict[tuple[str, int], Program] = {}
_RIGHT: dict[tuple[str, int], Any] = {}


def _right(program: Program) -> Any:
    """The numbers without a mistake, computed once."""
    key = program.text, id(program.values)
    if key not in _RIGHT:
        _PROGRAMS[key] = program  # which keeps the values, and their id
        _RIGHT[key] = _numbers(program, check=False)
    return _RIGHT[key]


def _numbers(program: Program, *, check: bool) -> Any:
    """Value and gradients, or the words of an error; of a check, the verdict's word."""
    shape = _shape(program.text, id(program.values))
    seed = weights(shape) if shape else None
    try:
        record = gradcli.evaluate(
            program.text, at=program.values, seed=seed, check=check, formula=False
        )
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    if check:
        return record.check.verdict.word if record.check is not None else ""
    return {
        "": np.asarray(record.value),
        **{name: np.asarray(slope) for name, slope in (record.grad or {}).items()},
    }


def _same(one: Any, other: Any) -> bool:
    """Whether nothing but the last digits differs: those of a cotangent that is symmetric but for
    rounding, say.
    """
    if isinstance(one, str) or isinstance(other, str):
        return isinstance(one, str) and isinstance(other, str)
    return one.keys() == other.keys() and all(
        _near(np.asarray(one[name], float), np.asarray(other[name], float)) for name in one
    )


def _near(one: np.ndarray, other: np.ndarray) -> bool:
    largest = float(np.max(np.abs(other[np.isfinite(other)]), initial=0.0))
    return one.shape == other.shape and np.allclose(
        one, other, rtol=1e-12, atol=1e-14 * largest, equal_nan=True
    )


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
        lines.append(
            f"{kind:44} {counts.total():7d} {' '.join(f'{counts[c]:7d}' for c in columns)}"
        )
    return "\n".join(
        [*lines, *[f"missed: {f.mistake.kind} in {f.mistake.place} ({f.words})" for f in missed]]
    )
