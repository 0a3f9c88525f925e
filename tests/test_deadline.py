"""Time limits: they hold in any thread, and leave a user's own timers and handlers alone."""

from __future__ import annotations

import gc
import signal
import sys
import threading
import time
from contextlib import suppress

import pytest

import gradcli
from gradcli.reference import deadline as module
from gradcli.reference.deadline import OutOfTime, check, deadline

timers = pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="no timers here")


@pytest.fixture(autouse=True)
def _as_before():
    """Whatever happens, the timer of the test run is what it was."""
    handler, (left, interval) = signal.getsignal(signal.SIGALRM), signal.getitimer(signal.ITIMER_REAL)
    yield
    signal.setitimer(signal.ITIMER_REAL, 0)
    signal.signal(signal.SIGALRM, handler)
    signal.setitimer(signal.ITIMER_REAL, left, interval)


def busy(seconds: float) -> None:
    """Python code that never looks at the limits."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        sum(range(100))


@timers
def test_a_limit_interrupts_any_code_of_the_main_thread():
    started = time.monotonic()
    with pytest.raises(OutOfTime) as caught, deadline(0.05) as limit:
        busy(20)
    assert caught.value is limit
    assert time.monotonic() - started < 10
    assert signal.getitimer(signal.ITIMER_REAL) == (0, 0)


@timers
@pytest.mark.parametrize("seconds", [1e-9, 1e-6, 1e-5, 1e-4])
def test_a_limit_that_passes_while_it_is_set(seconds):
    started = time.monotonic()
    for _ in range(20):
        with pytest.raises(OutOfTime), deadline(seconds):
            busy(0.5)
    assert time.monotonic() - started < 8, "it does not wait to ring again"


@timers
def test_without_a_limit_no_timer_is_touched(monkeypatch):
    monkeypatch.setattr(signal, "setitimer", lambda *_: pytest.fail("a timer was set"))
    with deadline(None), deadline(1e9):
        check()


@timers
@pytest.mark.parametrize("inner", [0.05, 30.0], ids=["ours first", "theirs first"])
def test_nested_limits(inner):
    with pytest.raises(OutOfTime) as caught, deadline(20 if inner < 1 else 0.05) as outer, deadline(inner) as limit:
        busy(20)
    assert caught.value is (limit if inner < 1 else outer)
    with deadline(30) as outer:
        with suppress(OutOfTime), deadline(0.01):
            busy(20)
        left = signal.getitimer(signal.ITIMER_REAL)[0]
        assert 0 <= left < 31, "the outer limit goes on"
        busy(0.2)
    assert signal.getitimer(signal.ITIMER_REAL) == (0, 0)


@timers
@pytest.mark.parametrize("interval", [0.0, 1.0, 40.0])
@pytest.mark.parametrize("call", ["in time", "out of time", "evaluate"])
def test_a_users_timer_goes_on(interval, call):
    rung = []
    signal.signal(signal.SIGALRM, handler := lambda *_: rung.append(1))
    signal.setitimer(signal.ITIMER_REAL, 60, interval)
    if call == "evaluate":
        gradcli.evaluate("sin(x)", x=1.0, timeout=30)
    else:
        with suppress(OutOfTime), deadline(0.01 if call == "out of time" else 90):
            busy(0.1)
    left, again = signal.getitimer(signal.ITIMER_REAL)
    assert 30 < left <= 60
    assert again == pytest.approx(interval)
    assert signal.getsignal(signal.SIGALRM) is handler
    assert rung == []


@timers
def test_a_users_timer_rings_in_time_inside_of_a_limit():
    rung = []
    signal.signal(signal.SIGALRM, lambda *_: rung.append(time.monotonic()))
    signal.setitimer(signal.ITIMER_REAL, 0.05, 0.1)
    started = time.monotonic()
    with deadline(60):
        while len(rung) < 3 and time.monotonic() < started + 20:
            sum(range(100))
    assert len(rung) == 3
    assert [t - started >= d for t, d in zip(rung, (0.04, 0.14, 0.24), strict=True)] == [True] * 3, "never early"
    assert signal.getitimer(signal.ITIMER_REAL)[1] == pytest.approx(0.1)
    with deadline(60):
        busy(0.25)
    assert len(rung) > 3


@timers
def test_what_a_users_handler_raises_comes_through():
    class Timeout(Exception):
        """As pytest-timeout has it."""

    def handler(signum, frame):
        raise Timeout

    signal.signal(signal.SIGALRM, handler)
    signal.setitimer(signal.ITIMER_REAL, 0.05)
    with pytest.raises(Timeout), deadline(60):
        busy(20)
    assert signal.getsignal(signal.SIGALRM) is handler
    assert signal.getitimer(signal.ITIMER_REAL) == (0, 0)
    signal.setitimer(signal.ITIMER_REAL, 0.2)
    with pytest.raises(OutOfTime), deadline(0.01):
        busy(20)
    with pytest.raises(Timeout):
        busy(20)


@timers
def test_a_users_handler_may_set_the_timer_anew():
    rung = []

    def handler(signum, frame):
        rung.append(1)
        signal.setitimer(signal.ITIMER_REAL, 50)

    signal.signal(signal.SIGALRM, handler)
    signal.setitimer(signal.ITIMER_REAL, 0.02)
    with pytest.raises(OutOfTime), deadline(0.3):
        busy(20)
    assert rung == [1]
    assert 20 < signal.getitimer(signal.ITIMER_REAL)[0] <= 50


@timers
@pytest.mark.parametrize("where", ["destructor", "collector"])
def test_a_limit_that_passes_while_garbage_is_collected_is_neither_lost_nor_printed(where, capsys, monkeypatch):
    printed, done = [], []
    monkeypatch.setattr(sys, "unraisablehook", printed.append)

    class Slow:
        def __del__(self):
            busy(0.1)
            done.append(1)

    def callback(phase, info):
        if phase == "stop" and not done:
            busy(0.1)
            done.append(1)

    if where == "collector":
        gc.callbacks.append(callback)
    try:
        with pytest.raises(OutOfTime) as caught, deadline(0.03) as limit:  # noqa: PT012 - the limit passes in between
            if where == "collector":
                gc.collect()
            else:
                Slow()
            busy(20)
    finally:
        if where == "collector":
            gc.callbacks.remove(callback)
    assert caught.value is limit
    assert done == [1], "what cleans up is not left in the middle"
    assert printed == []
    assert capsys.readouterr().err == ""


@timers
def test_a_generator_that_is_dropped_prints_nothing(monkeypatch):
    printed = []
    monkeypatch.setattr(sys, "unraisablehook", hook := printed.append)

    def generator():
        try:
            yield
        finally:
            busy(0.1)

    with pytest.raises(OutOfTime), deadline(0.03):  # noqa: PT012 - the limit passes in between
        dropped = generator()
        next(dropped)
        del dropped
        busy(20)
    assert printed == []
    assert sys.unraisablehook == hook


def in_a_thread(function):
    found = []

    def run():
        try:
            found.append(function())
        except BaseException as error:
            found.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    thread.join(60)
    return found[0]


def steps(seconds: float, limit: float | None) -> float:
    """How long a loop goes on that looks at the limits, as a check does."""
    started = time.monotonic()
    with deadline(limit):
        while time.monotonic() < started + seconds:
            check()
    return time.monotonic() - started


def test_in_another_thread_the_clock_is_looked_at():
    assert isinstance(in_a_thread(lambda: steps(20, 0.05)), OutOfTime)
    assert in_a_thread(lambda: steps(0.05, 20)) < 20
    assert in_a_thread(lambda: steps(0.05, None)) < 20


def test_without_timers_the_clock_is_looked_at(monkeypatch):
    monkeypatch.delattr(signal, "setitimer", raising=False)
    with pytest.raises(OutOfTime):
        steps(20, 0.05)
    with pytest.raises(OutOfTime) as caught, deadline(0.02) as outer, deadline(20):
        steps(20, 20)
    assert caught.value is outer


def test_limits_of_threads_are_apart():
    with deadline(60):
        assert isinstance(in_a_thread(lambda: steps(20, 0.02)), OutOfTime)
        check()
        assert in_a_thread(lambda: len(module._limits.ends)) == 0
    assert module._limits.ends == []
