"""No keyword of a library's function is dropped: it is used as the library uses it, or refused.

Every function of the catalogue is called with every keyword of the real signatures, which are
recorded, and with values that are not the default. A call that is taken gives what the library
gives (NumPy and SciPy themselves, PyTorch as recorded).
"""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Iterator
from functools import cache
from typing import Any

import numpy as np
import pytest
import scipy.linalg
import scipy.special
from helpers import thinned
from keywords.calls import VALUES, call_of, candidates, plain, run, templates
from recorded import read_json, read_table

from gradcli import GradcliError

RECORDED = read_json("keywords.json")
SIGNATURES: dict[str, dict[str, list[str]]] = RECORDED["signatures"]
_ENV = {"np": np, "scipy": scipy, "inf": float("inf")}
_NUMPY = ("np", "np.linalg", "scipy.special", "scipy.linalg", "ndarray")
_SHOWN = {"ndarray": "", "Tensor": ""}

EVERY = [(prefix, name) for prefix, functions in SIGNATURES.items() for name in functions]


def of_library(prefix: str, text: str) -> Any:
    """What the library itself makes of a call. Raises LookupError where it takes no such call."""
    if prefix not in _NUMPY:
        return RECORDED["torch"][text]
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return plain(eval(text, {**_ENV, **{n: v.copy() for n, v in VALUES.items()}}))
    except Exception as error:
        raise LookupError(text) from error


@cache
def fitting(prefix: str, name: str) -> list[tuple[str, Any]]:
    """Arguments by position that the library and gradcli take, and what gradcli makes of them."""
    found: list[tuple[str, Any]] = []
    alone: list[tuple[str, Any]] = []
    for arguments in templates(name):
        text = call_of(_SHOWN.get(prefix, prefix), name, arguments)
        try:
            base = run(text)
        except GradcliError:
            continue
        try:
            of_library(prefix, text)
        except LookupError:
            alone.append((arguments, base))
            continue
        found.append((arguments, base))
        if len(found) == 2:
            break
    return found or alone[:1]


def same(x: Any, y: Any, signs: bool = True) -> bool:
    if isinstance(x, dict) or isinstance(y, dict):
        if not (isinstance(x, dict) and isinstance(y, dict)):
            return False
        return len(x["parts"]) == len(y["parts"]) and all(
            same(a, b, signs) for a, b in zip(x["parts"], y["parts"], strict=True)
        )
    a, b = (np.asarray(v, float) if signs else np.abs(np.asarray(v, float)) for v in (x, y))
    return a.shape == b.shape and np.allclose(a, b, rtol=1e-5, atol=1e-6, equal_nan=True)


def taken(prefix: str, name: str, word: str) -> Iterator[tuple[str, Any, Any]]:
    """The calls with a keyword that gradcli takes, their results, and what it gives without the
    keyword.
    """
    for arguments, base in fitting(prefix, name):
        for value in candidates(word, "np" if prefix in _NUMPY else "torch"):
            text = call_of(_SHOWN.get(prefix, prefix), name, arguments, word, value)
            with contextlib.suppress(GradcliError):
                yield text, run(text), base


EXCEPTIONS = read_table("oracle_exceptions.json")  # each with its reason
_DIFFERENT = EXCEPTIONS["keywords that differ"]
_WITHOUT_EFFECT = {(call, word) for call, word, _ in EXCEPTIONS["keywords without effect"]}


def faults_of(prefix: str, name: str, word: str) -> Iterator[str]:
    """What is wrong with the calls that are taken: another result than the library's, or, where it
    takes none of them, no effect.
    """
    without_effect, compared, signs = False, False, name not in ("eigh", "svd")
    for text, found, base in taken(prefix, name, word):
        with contextlib.suppress(LookupError):
            wanted = of_library(prefix, text) if f"{prefix}.{name}" not in _DIFFERENT else base
            compared = compared or wanted is not None
            if (
                wanted is not None
                and not same(found, wanted, signs)
                and f"{prefix}.{name}" not in _DIFFERENT
            ):
                yield f"{text} is {found}, not {wanted}"[:230]
        without_effect = without_effect or same(found, base)
    if without_effect and not compared and (f"{prefix}.{name}", word) not in _WITHOUT_EFFECT:
        yield f"{call_of(_SHOWN.get(prefix, prefix), name, '...', word, '...')} has no effect"


@pytest.mark.parametrize(
    ("prefix", "name"), thinned((pytest.param(*pair, id=".".join(pair)) for pair in EVERY), every=6)
)
def test_every_keyword_is_used_as_the_library_uses_it_or_refused(prefix: str, name: str) -> None:
    assert [
        fault for word in SIGNATURES[prefix][name] for fault in faults_of(prefix, name, word)
    ] == []


@pytest.mark.ci
def test_most_functions_are_tried() -> None:
    assert sum(bool(fitting(*pair)) for pair in EVERY) > 0.9 * len(EVERY)


@pytest.mark.parametrize(
    "text",
    ["np.zeros(3, dtype=np.float64)", "np.zeros(3, np.float64)", "np.zeros((3,), float)", "np.ones(3, dtype=int)",
     "np.arange(3, dtype=int)", "np.arange(3, dtype=float)",
     "np.array([1, 2], dtype=int)", "np.full(2, 3, dtype=int)", "np.eye(2, dtype=int)", "np.array(V > 0.3, dtype=bool)"],
)  # fmt: skip
def test_a_dtype_that_changes_nothing_is_taken(text: str) -> None:
    assert same(run(text), plain(eval(text, {"np": np, **VALUES})))


def test_a_dtype_is_the_programs_own() -> None:
    import gradcli

    assert (
        gradcli.evaluate(
            "np.sum(x, dtype=np.float32)", x=[1.0, 2.0], dtype="float32", check=False
        ).value
        == 3
    )
    with pytest.raises(GradcliError, match="does not support dtype=float64"):
        gradcli.evaluate("np.sum(x, dtype=np.float64)", x=[1.0, 2.0], dtype="float32")
