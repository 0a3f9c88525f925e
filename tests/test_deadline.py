"""Time limits: they end a check between its steps, so that whatever comes next is as if they had
never been.
"""

from __future__ import annotations

import json
import math
import signal
import threading
import time
from collections.abc import Callable
from typing import Any

import pytest

from gradcli import evaluate
from gradcli.reference import deadline as module
from gradcli.reference.contexts import context
from gradcli.reference.deadline import OutOfTime, deadline, in_time
from gradcli.reference.deadline import still_in_time as check

timers = pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="no timers here")
REACHED = "the time limit that was given (--timeout) was reached"


class Looks:
    """A clock that goes on by one whenever somebody looks at it: limits are numbers of looks, the
    same on any machine.
    """

    def __init__(self) -> None:
        self.count = 0

    def monotonic(self) -> int:
        self.count += 1
        return self.count


@pytest.fixture
def looks(monkeypatch: pytest.MonkeyPatch) -> Looks:
    clock = Looks()
    monkeypatch.setattr(module, "time", clock)
    return clock


# -- the limit itself
# ----------------------------------------------------------------------------------------------


def test_a_limit_is_kept_at_the_next_look() -> None:
    with pytest.raises(OutOfTime) as caught, deadline(0.01) as limit:
        steps(20)
    assert caught.value is limit
    check()


def test_a_limit_interrupts_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("signal", "setitimer", "alarm", "pthread_kill"):
        monkeypatch.setattr(
            signal, name, lambda *_: pytest.fail("a signal was touched"), raising=False
        )
    with deadline(1e-4):
        time.sleep(0.01)
        math.factorial(3000)
    with deadline(None), deadline(1e9):
        assert module._limits.ends == []


@pytest.mark.parametrize(
    ("outer", "inner"),
    [(20, 0.01), (0.01, 20), (0.01, 0.01)],
    ids=["the inner", "the outer", "both"],
)
def test_of_nested_limits_the_first_counts(outer: float, inner: float) -> None:
    with (
        pytest.raises(OutOfTime) as caught,
        deadline(outer) as outermost,
        deadline(inner) as innermost,
    ):
        steps(20)
    assert caught.value is (innermost if inner < outer else outermost)


def test_an_outer_limit_goes_on_after_an_inner_one(looks: Looks) -> None:
    with deadline(100) as outer:
        with pytest.raises(OutOfTime), deadline(3):
            steps()
        with pytest.raises(OutOfTime) as caught:
            steps()
    assert caught.value is outer
    assert 100 <= looks.count <= 102


def test_things_in_time(looks: Looks) -> None:
    assert list(in_time(range(7))) == list(range(7))
    assert looks.count == 0, "without a limit no clock is looked at"
    with deadline(1000):
        before = looks.count
        assert list(in_time(iter("abcdefg"))) == list("abcdefg")
        assert looks.count == before + 7
    late = in_time(range(9))
    with deadline(3):
        assert [next(late), next(late)] == [0, 1]
        with pytest.raises(OutOfTime):
            next(late)


def test_functions_of_several_numbers_look_at_the_limit(looks: Looks) -> None:
    m = context()
    assert m.besselj(0, 0) == 1
    with pytest.raises(OutOfTime), deadline(1):
        m.besselj(0, 0)


@timers
def test_a_timer_of_the_users_is_left_alone() -> None:
    rung: list[int] = []
    before, left = signal.getsignal(signal.SIGALRM), signal.getitimer(signal.ITIMER_REAL)
    signal.signal(signal.SIGALRM, handler := lambda *_: rung.append(1))
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.01)
        with pytest.raises(OutOfTime), deadline(0.05):
            steps(20)
        assert rung == [1]
        assert signal.getsignal(signal.SIGALRM) is handler
        assert signal.getitimer(signal.ITIMER_REAL) == (0, 0)
    finally:
        signal.signal(signal.SIGALRM, before)
        signal.setitimer(signal.ITIMER_REAL, *left)


def steps(seconds: float = math.inf) -> None:
    """A loop that looks at the limits, as a check does."""
    ends = time.monotonic() + seconds
    while time.monotonic() < ends:
        check()


def in_a_thread(function: Callable[[], Any]) -> Any:
    found: list[Any] = []

    def run() -> None:
        try:
            found.append(function())
        except BaseException as error:
            found.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    thread.join(60)
    return found[0]


def limited(limit: float) -> None:
    with deadline(limit):
        steps(20)


def test_limits_of_threads_are_apart() -> None:
    with deadline(60):
        assert isinstance(in_a_thread(lambda: limited(0.01)), OutOfTime)
        check()
        assert in_a_thread(lambda: len(module._limits.ends)) == 0
    assert module._limits.ends == []


# -- what a limit leaves behind
# ------------------------------------------------------------------------------------

X, M = [0.3, 1.2, 2.5], [[2.0, 0.3], [0.1, 1.5]]
PROGRAMS: dict[str, tuple[str, dict[str, Any]]] = {
    "sympy": ("sqrt(sin(x)**2 + 1/(1 + exp(-x)))*cbrt(x)", {"x": 1.1}),
    "a special function": ("gammainc(a, x) + besselj(1, x)", {"a": 2.5, "x": 1.5}),
    "arrays": ("sum(softmax(x)*log(x))", {"x": X}),
    "matrices": ("sum(inv(m)**2) + det(m)", {"m": M}),
    "kinks": ("sum(abs(x - 1.2) + maximum(x, 0.3))", {"x": X}),
    "the edge of a domain": ("sum(sqrt(x) + asin(x))", {"x": [0.0, 1.0]}),
    "lost digits, and a repair": ("(1 - cos(x))/x**2", {"x": 1e-4}),
    "a value that is missing": ("sin(x)/x", {"x": 0.0}),
    "derivatives inside": ("grad(abs(x)*sin(x), x) + x", {"x": 0.0}),
    "many entries": ("sum(tanh(x)*erf(x))", {"x": [i / 5000 for i in range(1, 10_001)]}),
}  # fmt: skip


def told(program: str, at: dict[str, Any], timeout: float | None = None) -> str:
    return json.dumps(
        evaluate(program, at=at, timeout=timeout, formula=False).to_dict(), default=str
    )


@pytest.mark.parametrize("kind", PROGRAMS)
def test_after_a_time_out_everything_is_as_before(kind: str, looks: Looks) -> None:
    """At the first look, at the last and at some between."""
    program, at = PROGRAMS[kind]
    right = told(program, at)
    assert looks.count == 0, "without a limit no clock is looked at"
    assert told(program, at, timeout=10**7) == right, "a limit that is not reached changes nothing"
    last = looks.count
    assert last > 3
    for share in (0.0, 0.1, 0.4, 0.7, 0.95):
        late = json.loads(told(program, at, timeout=1 + share * (last - 3)))
        assert "undetermined" in json.dumps(late), share
        assert REACHED in json.dumps(late), share
    assert told(program, at) == right


@pytest.mark.parametrize("look", [1, 40, 300])
def test_a_limit_is_that_of_its_record_only(
    look: int, looks: Looks, call_cli: Callable[..., Any]
) -> None:
    records = [
        {"id": name, "expr": program, "at": at}
        for name, (program, at) in PROGRAMS.items()
        if name != "many entries"
    ]
    text = "\n".join(json.dumps(record) for record in records)

    def run(*options: str) -> tuple[int, list[dict[str, Any]], str]:
        done = call_cli(
            "eval", "-i", "jsonl", "--no-formula", "--format", "jsonl", *options, stdin=text
        )
        return done.returncode, [json.loads(line) for line in done.stdout.splitlines()], done.stderr

    _, right, _ = run()
    code, found, said = run("--timeout", str(look))
    assert code == 0, said
    late = [record["check"].get("reason") == REACHED for record in found]
    assert any(late)
    for record, true, is_late in zip(found, right, late, strict=True):
        if is_late:
            assert record["check"]["verdict"] == "undetermined"
            assert {**record, "check": None} == {**true, "check": None}
        else:
            assert record == true


CHECKED = """\
x = 1.1
y = sin(x)**2
assert y < 1
assert y + cos(x)**2 == 1
assert 0.1 + 0.2 > 0.3
assert sin(t) <= t for t in 0..10
assert sin(2*t) == 2*sin(t)*cos(t) for t in -5..5
gamma(x)*y
"""


def test_after_a_time_out_asserts_are_as_before(looks: Looks, call_cli: Callable[..., Any]) -> None:
    def run(*options: str) -> tuple[int, list[dict[str, Any]]]:
        done = call_cli("check", "-", "--no-cache", "--format", "jsonl", *options, stdin=CHECKED)
        return done.returncode, [
            {**json.loads(line), "seconds": 0} for line in done.stdout.splitlines()
        ]

    code, right = run()
    assert code == 0, right
    assert run("--timeout", "1e7") == (code, right)
    for limit in (1, 3, 20):
        code, found = run("--timeout", str(limit))
        late = [REACHED in json.dumps(outcome) for outcome in found]
        assert code == 1, limit
        assert any(late), limit
        assert all(
            outcome == true
            for outcome, true, is_late in zip(found, right, late, strict=True)
            if not is_late
        )
    assert run() == (0, right)


def test_a_check_in_another_thread_keeps_its_limit() -> None:
    found = in_a_thread(
        lambda: (evaluate("sin(x)", x=1.0, timeout=1e-9), evaluate("sin(x)", x=1.0, timeout=60))
    )
    late, right = (record.check for record in found)
    assert (late.verdict.word, late.reason) == ("undetermined", REACHED)
    assert right.verdict.word == "agree"
