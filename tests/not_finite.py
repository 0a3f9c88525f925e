"""All functions of the catalogue at arguments that are not finite, and at both zeros: what may
become of such a call.

`python tests/not_finite.py` tries the whole catalogue, which takes an hour;
`test_not_finite_arguments.py` tries a sample.
"""

from __future__ import annotations

import json
import re
import sys
import warnings
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parent))

from oracles.catalogue import calls_of, catalogue
from oracles.families import CASES, DISCRETE, problem, text_of
from oracles.libraries import used
from oracles.values import VALUES

import gradcli
from gradcli.check.verdicts import Verdict
from gradcli.query import catalogue as records

SPECIAL = (np.nan, np.inf, -np.inf, 0.0, -0.0)
PREFIXES = ("", "torch.", "F.", "np.", "scipy.special.", "jnp.", "jax.nn.")
MOST = 4_000_000  # calls of functions that one evaluation with its check may make
_FOREIGN = re.compile(
    r"\w+Error\b|\w+Warning\b|Traceback|NoneType|object at 0x|cannot "
    r"convert|<class|sympy\.|mpf\(|unsupported operand"
)

Case = tuple[str, dict[str, Any]]


class EndlessError(BaseException):
    """Raised in the middle of a call that makes too many others; no Exception, so that nothing goes
    on after it.
    """


def calls() -> Iterator[Case]:
    """Every function with arguments that suit it: operations and composites, libraries' spellings,
    distributions.
    """
    for _, record in records.functions():
        example = records.entry(record).example
        if example is not None:
            at = {name: np.asarray(value) for name, value in example.at.items()}
            yield (
                example.expr,
                {name: x.astype(float) if x.dtype.kind == "f" else x for name, x in at.items()},
            )
            yield (
                example.expr,
                {
                    name: x.ravel()[0].astype(float) if x.dtype.kind == "f" else x
                    for name, x in at.items()
                },
            )
    for name in catalogue():
        for prefix in PREFIXES:
            for text in calls_of(name)[: 1 if prefix else 3]:
                yield (
                    f"{prefix}{name}({text})",
                    {n: VALUES[n][:4] if n in "UXYZ" else VALUES[n] for n in used(text)},
                )
    known = set()
    for name, function, shapes in CASES:
        if (name, function) not in known:
            known.add((name, function))
            _, x, at, _ = problem(name, function, shapes)
            text = next(iter(text_of(name, function, len(shapes), name in DISCRETE, x is not None)))
            yield text, {n: np.ravel(np.asarray(v, float))[np.size(v) // 2] for n, v in at.items()}


def cases() -> Iterator[Case]:
    """Calls with one argument replaced: a number, the first entry of an array, all of its entries;
    and with all arguments.
    """
    for text, at in calls():
        given = {name: np.asarray(x) for name, x in at.items()}
        floats = [name for name, x in given.items() if x.dtype.kind == "f" and x.size]
        for special in SPECIAL:
            whole = {name: np.full(given[name].shape, special)[()] for name in floats}
            for name in floats:
                yield text, {**given, name: whole[name]}
                if given[name].size > 1:
                    beside = given[name].copy()
                    beside.flat[0] = special
                    yield text, {**given, name: beside}
            if len(floats) > 1:
                yield text, {**given, **whole}


def sample(share: int) -> Iterator[Case]:
    """One case in so many, always the same ones."""
    for case in cases():
        if zlib.crc32(str(case).encode()) % share == 0:
            yield case


def faults(case: Case) -> list[str]:
    """What is wrong with what becomes of a call."""
    text, at = case
    try:
        with warnings.catch_warnings(), bounded(MOST):
            warnings.simplefilter("error")
            record = gradcli.evaluate(text, at=at)
            said = record.to_json()
    except gradcli.GradcliError as error:
        said, record = str(error), None
        if type(error).__name__ == "InternalError":
            return [said]
    except (Exception, EndlessError) as error:
        return [f"{type(error).__name__}: {error}"]
    found = [f"says {word}" for word in _FOREIGN.findall(said)]
    check = None if record is None else record.check
    if record is not None and check is not None:
        finite = all(np.isfinite(np.asarray(at[name], float)).all() for name in record.grad or ())
        if check.verdict is Verdict.MISMATCH:
            found.append(f"mismatch: {check.reason}")
        if not finite and any(
            part.certified for part in [*check.variables.values(), check.value] if part is not None
        ):
            found.append("certified")
    return found


class bounded:
    """A block that may make so many calls of functions, Python's and C's: work is counted, not
    timed.
    """

    def __init__(self, most: int) -> None:
        self.left = most

    def _counted(self, frame: Any, event: str, argument: Any) -> None:
        self.left -= event in ("call", "c_call")
        if self.left < 0:
            sys.setprofile(None)
            raise EndlessError

    def __enter__(self) -> None:
        sys.setprofile(self._counted)

    def __exit__(self, *error: object) -> None:
        sys.setprofile(None)


def main(words: list[str]) -> int:
    first, step = map(int, words or ("0", "1"))
    wrong = 0
    for i, case in enumerate(cases()):
        if i >= first and (i - first) % step == 0 and (found := faults(case)):
            wrong += 1
            at = {name: np.asarray(x).tolist() for name, x in case[1].items()}
            print(i, case[0], json.dumps(at)[:300], *found, sep="\n  ", flush=True)
    print(f"{wrong} faults")
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
