"""Memory and work are counted before anything is computed: results or errors with the option that
helps, soon, and within the memory.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import gradcli
from gradcli import LimitError, Limits, UsageError
from gradcli.limits import DEFAULT, MOST_MEMORY, default_memory, size, size_text

SMALL = ["memory=500M"]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1_000", 1000), ("1e9", 10**9), ("500m", 5 * 10**8), ("2.5GB", 25 * 10**8), ("64Ki", 64 * 1024), ("4GiB", 4 << 30),
        ("8B", 8), ("9007199254740993", 2**53 + 1),
    ],
)  # fmt: skip
def test_sizes(text: str, value: int) -> None:
    assert size(text) == value
    assert DEFAULT.raise_to([f"memory={text}", f"entries={text}"]).memory == value


@pytest.mark.parametrize(
    "setting",
    [
        "memory=",
        "memory=G",
        "memory=-1",
        "memory=0",
        "memory=1X",
        "memory=nan",
        "memory=1e999",
        "room=5",
        "5",
        "memory",
    ],
)
def test_what_is_no_size(setting: str) -> None:
    with pytest.raises(UsageError) as failure:
        DEFAULT.raise_to([setting])
    names = "length, entries, dimensions, nodes, calls, tangents, derivatives, memory, work"
    assert failure.value.message == f"cannot set the limit {setting!r}"
    assert failure.value.help == f"write NAME=SIZE, such as memory=500M, with NAME one of {names}"


def test_memory_is_that_of_the_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    for known, wanted in ((None, MOST_MEMORY), (64 * 10**9, MOST_MEMORY), (6 * 10**9, 3 * 10**9)):
        monkeypatch.setattr("gradcli.limits.machine_memory", lambda known=known: known)
        assert default_memory() == wanted
        assert Limits().memory == wanted


@pytest.mark.parametrize(
    ("bytes_", "text"),
    [
        (7, "7 bytes"),
        (1000, "1 kB"),
        (1001, "1.1 kB"),
        (5 * 10**8, "500 MB"),
        (48_000_008, "48.1 MB"),
    ],
)
def test_sizes_as_they_are_shown(bytes_: int, text: str) -> None:
    assert size_text(bytes_) == text


def test_the_error_says_what_to_type() -> None:
    with pytest.raises(LimitError) as failure:
        gradcli.evaluate("1 + sum(eye(9000)*t)", at={"t": 2.0}, limits=DEFAULT.raise_to(SMALL))
    assert failure.value.render().splitlines() == [
        "error[limit]: an array of 81,000,000 entries needs 648 MB, over the memory limit of 500 "
        "MB",
        "  --> <expression>:1:9",
        "1 | 1 + sum(eye(9000)*t)",
        "  |         ^^^^^^^^^",
        "  = help: raise it with --limit memory=648M",
    ]


@pytest.mark.parametrize("mode", ["full", "same", "valid"])
@pytest.mark.parametrize(("n", "m"), [(600, 600), (700, 501), (512, 3000)])
def test_long_convolutions(n: int, m: int, mode: str) -> None:
    random = np.random.default_rng(3)
    x, y = random.standard_normal(n), random.standard_normal(m)
    wanted = np.convolve(x, y, mode)
    seed = random.standard_normal(wanted.shape)
    found = gradcli.evaluate(
        f"sum(s*convolve(x, y, '{mode}'))", at={"x": x, "y": y, "s": seed}, check=False
    )
    np.testing.assert_allclose(found.grad["s"], wanted, rtol=1e-11, atol=1e-11)
    for name, along in (
        ("x", random.standard_normal(n)),
        ("y", random.standard_normal(m)),
    ):  # it is linear in each
        moved = seed @ np.convolve(*((along, y) if name == "x" else (x, along)), mode)
        assert np.asarray(found.grad[name]) @ along == pytest.approx(moved, rel=1e-9, abs=1e-9)


LARGE = np.linspace(1.0, 2.0, 1_000_000)


@pytest.mark.parametrize(
    ("text", "fits", "lacks"),
    [
        pytest.param(
            "sum(sin(x)*exp(-x**2))", "17M", "15M", id="a plan holds the input and the gradient"
        ),
        pytest.param(
            "sum(sin(arange(1100000)*t))", "90M", "40M", id="the ordinary way holds every array"
        ),
    ],
)
def test_a_statement_is_counted_as_it_is_computed(text: str, fits: str, lacks: str) -> None:
    at = {"x": LARGE} if "x" in text.replace("exp", "") else {"t": 2.0}
    assert (
        gradcli.evaluate(
            text, at=at, check=False, limits=DEFAULT.raise_to([f"memory={fits}"])
        ).error
        is None
    )
    with pytest.raises(LimitError, match="the statement with its gradient needs"):
        gradcli.evaluate(text, at=at, check=False, limits=DEFAULT.raise_to([f"memory={lacks}"]))


def test_work_is_counted_forwards_and_backwards() -> None:
    limits = DEFAULT.raise_to(["work=4M"])
    assert (
        gradcli.evaluate("sum(2*x)", at={"x": LARGE[:600_000]}, check=False, limits=limits).error
        is None
    )
    with pytest.raises(LimitError) as failure:
        gradcli.evaluate("sum(2*sin(x))", at={"x": LARGE}, check=False, limits=limits)
    assert (
        failure.value.message
        == "the statement with its gradient takes 18,000,000 scalar operations, over the limit of "
        "4,000,000"
    )
    assert failure.value.help == "raise it with --limit work=18M"


def test_a_judge_without_room_is_undetermined() -> None:
    found = gradcli.evaluate(
        "sum(cumsum(x)*sin(x))", at={"x": LARGE[:200_000]}, limits=DEFAULT.raise_to(["memory=12M"])
    )
    assert found.error is None
    assert found.check.verdict.word in ("agree", "undetermined")
    if found.check.verdict.word == "undetermined":
        assert "over the memory limit of 12 MB" in found.check.reason


# -- every function of the catalogue
# -----------------------------------------------------------------------------------

INTEGER = re.compile(r"(?<![\w.'\]])-?\b\d+\b(?![.\w'])")
HUGE = ("10**9", "2**63", "-10**18")
SECONDS = 5.0  # of the processor


def largest_calls() -> list[str]:
    """For every name the call with the most whole numbers, with huge ones in their place: one after
    the other, and all.
    """
    from oracles.catalogue import calls_of, catalogue, taken

    texts = []
    for name in catalogue():
        place = next(
            (
                place
                for place in ("", "torch", "np", "scipy.special", "F", "torch.linalg")
                if taken(place, name)
            ),
            None,
        )
        calls = calls_of(name, place) if place is not None else ()
        if not calls:
            continue
        arguments = max(calls, key=lambda text: len(INTEGER.findall(text)))
        spots = [found.span() for found in INTEGER.finditer(arguments)]
        made = [arguments[:start] + "10**9" + arguments[stop:] for start, stop in spots[:4]]
        made += [INTEGER.sub(huge, arguments) for huge in HUGE[1:]] if spots else []
        texts += [f"{place + '.' if place else ''}{name}({text})" for text in made]
    return list(dict.fromkeys(texts))


def try_all() -> None:
    """Run in a process of its own, with little more memory than the limit: writes what went
    wrong.
    """
    import resource
    import time

    from oracles.values import VALUES

    texts, limits = largest_calls(), DEFAULT.raise_to(SMALL)
    gradcli.evaluate("sum(svd(S)[1]) + ndtri(0.5)", at={"S": VALUES["S"]}, check=False)
    taken = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (taken + 10**9, taken + 10**9))
    wrong = []
    for text in texts:
        at = {name: VALUES[name] for name in set(re.findall(r"\b[A-Z]\b", text)) if name in VALUES}
        start, failure = time.process_time(), ""
        try:
            gradcli.evaluate(text, at=at, check=False, limits=limits)
        except gradcli.GradcliError as error:
            failure = (
                "memory" if "not enough memory" in error.message or error.code == "internal" else ""
            )
        except Exception as error:
            failure = type(error).__name__
        if failure or time.process_time() - start > SECONDS:
            wrong.append([text, failure or "slow"])
    print(json.dumps([len(texts), wrong]))


@pytest.mark.ci
@pytest.mark.skipif(sys.platform != "linux", reason="memory is limited as Linux does")
def test_every_function_with_the_largest_numbers_it_takes() -> None:
    paths = [str(Path(__file__).parent), str(Path(gradcli.__file__).parents[1])]
    code = "from test_limits_of_operations import try_all; try_all()"
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(paths)},
    )
    count, wrong = json.loads(done.stdout)
    assert count > 500
    assert wrong == []
