"""Large loops are shared by threads: with the same bits, and nothing left behind after errors,
interrupts and forks.
"""

from __future__ import annotations

import multiprocessing
import signal
import threading
import time
from typing import Any

import numpy as np
import pytest

import gradcli
from gradcli.plans import threads
from gradcli.plans.native.compiler import find_compiler

TEXT = "sum(exp(-x**2/2)*sin(3*x) + log(1 + x**2))"
X = np.random.default_rng(3).normal(size=700_001)


def gradient(text: str = TEXT) -> tuple[Any, np.ndarray]:
    value, grads = gradcli.value_and_grad(text, backend="native")(x=X)
    return value, grads["x"]


compiled = pytest.mark.skipif(find_compiler() is None, reason="no C compiler")


@compiled
def test_any_number_of_threads_gives_the_same_bits(monkeypatch: pytest.MonkeyPatch) -> None:
    found = []
    for count in ("1", "2", "7"):
        monkeypatch.setenv("OMP_NUM_THREADS", count)
        found.append([gradient() for _ in range(5)])
    (value, slopes), *others = [pair for pairs in found for pair in pairs]
    for other, its_slopes in others:
        assert other == value
        np.testing.assert_array_equal(its_slopes, slopes)


@pytest.mark.filterwarnings("error")
def test_what_is_not_finite_in_another_thread_gives_no_warning(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("OMP_NUM_THREADS", "2")
    x = np.where(np.arange(700_000) % 1000 == 0, 0.0, 2.0)
    value, grads = gradcli.value_and_grad("sum(1/x + log(x))")(x=x)
    assert np.isnan(value)
    assert np.isnan(grads["x"][0])
    assert grads["x"][1] == 0.25


def loop(fail: Any) -> list[int]:
    """Do a loop of 100 chunks, whose sixth may fail, and return where they began."""
    found = []

    def work(begin: int, _: int) -> None:
        if begin == 50:
            fail()
        found.append(begin)

    threads.run_chunks(work, 1000, 10)
    return sorted(found)


def test_where_the_system_gives_no_threads_the_caller_does_all(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def none(*_: object) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setenv("OMP_NUM_THREADS", "4")
    threads._helpers.cache_clear()
    with monkeypatch.context() as patch:
        patch.setattr(threading.Thread, "start", none)
        assert loop(lambda: None) == [*range(0, 1000, 10)]
    threads._helpers.cache_clear()


@pytest.mark.parametrize("error", [MemoryError, KeyboardInterrupt, FloatingPointError])
def test_an_error_in_any_thread_is_raised_and_ends_the_others(
    error: type[BaseException], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OMP_NUM_THREADS", "4")

    def fail() -> None:
        raise error("in a chunk")

    for _ in range(20):
        with pytest.raises(error, match="in a chunk"):
            loop(fail)
    assert loop(lambda: None) == [*range(0, 1000, 10)]


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="no timers")
def test_an_interrupt_waits_for_the_chunks_that_are_under_way(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("OMP_NUM_THREADS", "2")
    out = np.zeros_like(X)
    f = gradcli.value_and_grad(TEXT)
    value, _ = f(x=X, out={"x": out})

    def interrupt(*_: object) -> None:
        raise InterruptedError

    def work(seconds: float) -> None:
        signal.setitimer(signal.ITIMER_REAL, seconds)
        while True:
            f(x=X, out={"x": out})

    before = signal.signal(signal.SIGALRM, interrupt)
    random = np.random.default_rng(4)
    try:
        for _ in range(60):
            with pytest.raises(InterruptedError):
                work(0.001 + 0.01 * random.random())
            out.fill(-1)
            time.sleep(0.004)  # longer than a chunk takes
            assert (out == -1).all()  # nobody writes any more
    finally:
        signal.signal(signal.SIGALRM, before)
    assert f(x=X)[0] == value


@compiled
@pytest.mark.skipif("fork" not in multiprocessing.get_all_start_methods(), reason="no fork")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_forked_process_has_threads_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OMP_NUM_THREADS", "2")
    value, _ = gradient()
    with multiprocessing.get_context("fork").Pool(1) as pool:
        found = pool.apply_async(gradient).get(30)
    assert found[0] == value
