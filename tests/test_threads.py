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
from gradcli.plans import blocks, threads

TEXT = "sum(exp(-x**2/2)*sin(3*x) + log(1 + x**2))"
X = np.random.default_rng(3).normal(size=700_001)


def gradient(text: str = TEXT) -> tuple[Any, np.ndarray]:
    value, grads = gradcli.value_and_grad(text, backend="numpy")(x=X)
    return value, grads["x"]


def test_any_number_of_threads_gives_the_same_bits(monkeypatch: pytest.MonkeyPatch) -> None:
    used: set[str] = set()
    take = blocks.take
    monkeypatch.setattr(
        "gradcli.plans.blocks.take",
        lambda size: (used.add(threading.current_thread().name), take(size))[1],
    )
    found = []
    for count in ("1", "2", "7"):
        monkeypatch.setenv("OMP_NUM_THREADS", count)
        found.append([gradient() for _ in range(5)])
    assert len(used) > 1
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


def blocks_that(fail: Any) -> Any:
    """A loop of 100 blocks, whose fifth fails."""

    def blocks(begin: int, end: int, step: int) -> tuple[list[int]]:
        if begin == 50:
            fail()
        return ([begin],)

    return blocks


def test_where_the_system_gives_no_threads_the_caller_does_all(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def none(*_: object) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setenv("OMP_NUM_THREADS", "4")
    threads._helpers.cache_clear()
    with monkeypatch.context() as patch:
        patch.setattr(threading.Thread, "start", none)
        assert threads.together(blocks_that(lambda: None), 1000, 10) == [[*range(0, 1000, 10)]]
    threads._helpers.cache_clear()


@pytest.mark.parametrize("error", [MemoryError, KeyboardInterrupt, FloatingPointError])
def test_an_error_in_any_thread_is_raised_and_ends_the_others(
    error: type[BaseException], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OMP_NUM_THREADS", "4")

    def fail() -> None:
        raise error("in a block")

    for _ in range(20):
        with pytest.raises(error, match="in a block"):
            threads.together(blocks_that(fail), 1000, 10)
    assert threads.together(blocks_that(lambda: None), 100, 10) == [[*range(0, 100, 10)]]


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="no timers")
def test_an_interrupt_waits_for_the_blocks_that_are_under_way(
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
            time.sleep(0.004)  # longer than a block takes
            assert (out == -1).all()  # nobody writes any more
    finally:
        signal.signal(signal.SIGALRM, before)
    assert f(x=X)[0] == value


@pytest.mark.skipif("fork" not in multiprocessing.get_all_start_methods(), reason="no fork")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_forked_process_has_threads_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OMP_NUM_THREADS", "2")
    value, _ = gradient()
    with multiprocessing.get_context("fork").Pool(1) as pool:
        found = pool.apply_async(gradient).get(30)
    assert found[0] == value
