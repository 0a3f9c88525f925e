"""Functions that misbehave, each with what the report must say of it. The command line runs them, in a process of their own."""

from __future__ import annotations

import ctypes
import os
import signal
import sys
import threading
import time
import warnings
from typing import NamedTuple

import numpy as np


class Misbehaviour(NamedTuple):
    """A function and its gradient by name, further words of the command, the exit code, and a part of what is printed."""

    function: str
    told: str
    code: int = 2
    gradient: str = "double"
    more: tuple[str, ...] = ()


def square(x):
    return np.sum(x**2)


def double(x):
    return 2 * x


def half(x):
    return x


def raises(x):
    raise ValueError("no such luck")


def raises_its_own(x):
    class Mine(Exception):
        def __str__(self):
            raise TypeError("not even its text")

    raise Mine


def exits(x):
    sys.exit(3)


def dies(x):
    os._exit(7)


def crashes(x):
    ctypes.string_at(0)


def recurses(x):
    return recurses(x)


def interrupts(x):
    raise KeyboardInterrupt


def loops(x):
    while True:
        pass


def ignores_signals(x):
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, signal.SIG_IGN)
    while True:
        time.sleep(1)


def reads_input(x):
    return float(input()) * np.sum(x)


def prints(x):
    print("hello")
    return np.sum(x**2)


def prints_much(x):
    print("hello " * 20_000)
    return np.sum(x**2)


def closes_streams(x):
    sys.stdout = sys.stderr = None
    return np.sum(x**2)


def closes_descriptors(x):
    os.close(1)
    return np.sum(x**2)


def mutates(x):
    x *= 2
    return np.sum(x**2) / 4


def mutates_and_is_wrong(x):
    x[:] = 0
    return np.sum(x**2)


def moves(x):
    os.chdir("/")
    return np.sum(x**2)


def changes_errors(x):
    np.seterr(all="raise")
    warnings.simplefilter("error")
    return np.sum(x**2)


def leaves_a_thread(x):
    threading.Thread(target=time.sleep, args=(3600,)).start()
    return np.sum(x**2)


def thread_that_raises(x):
    def fails():
        raise ValueError("in a thread")

    thread = threading.Thread(target=fails)
    thread.start()
    thread.join()
    return np.sum(x**2)


def forks(x):
    if os.fork() == 0:
        os._exit(0)
    os.wait()
    return np.sum(x**2)


def alarms(x):
    signal.alarm(1)
    time.sleep(2)
    return np.sum(x**2)


def nothing(x):
    return None


def text(x):
    return "abc"


def complex_numbers(x):
    return np.sum(x) * 1j


def a_dictionary_of_text(x):
    return {"loss": np.sum(x), "name": "mine"}


def ragged(x):
    return [np.sum(x), [x, None]]


def no_number(x):
    return np.nan * np.sum(x)


def out_of_memory(x):
    raise MemoryError


def warns_of_overflow(x):
    np.exp(1e4)
    return np.sum(x**2)


def outside_its_domain(x):
    if np.any(x < 3):
        raise ValueError("only from 3 on")
    return np.sum(x**2)


def noisy(x):
    return np.sum(x**2) + np.random.default_rng().standard_normal()


def takes_none():
    return 1.0


def takes_two(x, y):
    return np.sum(x * y)


def a_generator(x):
    yield np.sum(x)


def too_short(x):
    return x[:1]


def a_scalar(x):
    return 1.0


def text_gradient(x):
    return "2x"


def none_gradient(x):
    return None


def complex_gradient(x):
    return 2 * x + 0j + 1e-3j


def nan_gradient(x):
    return x * np.nan


def raising_gradient(x):
    raise IndexError("no such entry")


def exiting_gradient(x):
    sys.exit(0)


def dying_gradient(x):
    os._exit(0)


def endless_gradient(x):
    while True:
        pass


def mutating_gradient(x):
    x *= 2
    return x


def printing_gradient(x):
    print("mismatch: everything is wrong")
    return 2 * x


NOT_A_FUNCTION = 3
SHORT = ("--timeout", "1.5")
LATE = "undetermined"
FINE = "1 passed"
CASES = [
    Misbehaviour("raises", "ValueError: no such luck (at misbehaving.py:"),
    Misbehaviour("raises_its_own", "Mine: its message cannot be made"),
    Misbehaviour("exits", "the function ends the program: SystemExit: 3 (at misbehaving.py:"),
    Misbehaviour("dies", "the process in which it was called came to its end (exit code 7)"),
    Misbehaviour("crashes", "the process in which it was called came to its end"),
    Misbehaviour("recurses", "the function calls itself without end: RecursionError"),
    Misbehaviour("interrupts", "KeyboardInterrupt (at misbehaving.py:"),
    Misbehaviour("loops", LATE, 1, more=SHORT),
    Misbehaviour("ignores_signals", LATE, 1, more=SHORT),
    Misbehaviour("reads_input", "EOFError"),
    Misbehaviour("prints", FINE, 0),
    Misbehaviour("prints_much", FINE, 0),
    Misbehaviour("closes_streams", FINE, 0),
    Misbehaviour(
        "closes_descriptors", "OSError: [Errno 9] Bad file descriptor (at misbehaving.py:"
    ),
    Misbehaviour("mutates", FINE, 0),
    Misbehaviour("mutates_and_is_wrong", "mismatch", 1),
    Misbehaviour("moves", FINE, 0),
    Misbehaviour("changes_errors", FINE, 0),
    Misbehaviour("leaves_a_thread", FINE, 0),
    Misbehaviour("thread_that_raises", FINE, 0),
    Misbehaviour("forks", FINE, 0),
    Misbehaviour("alarms", "the process in which it was called came to its end"),
    Misbehaviour("nothing", "the function returns None"),
    Misbehaviour("text", "the function must return real numbers"),
    Misbehaviour("complex_numbers", "the function must return real numbers, not complex128"),
    Misbehaviour("a_dictionary_of_text", "the function must return real numbers"),
    Misbehaviour("ragged", "the function returns None"),
    Misbehaviour("no_number", "undefined", 1),
    Misbehaviour("out_of_memory", "MemoryError"),
    Misbehaviour("warns_of_overflow", FINE, 0),
    Misbehaviour("outside_its_domain", "ValueError: only from 3 on"),
    Misbehaviour("noisy", LATE, 1),
    Misbehaviour(
        "takes_none", "the function cannot be called with x: got an unexpected keyword argument 'x'"
    ),
    Misbehaviour(
        "takes_two", "the function cannot be called with x: missing a required argument: 'y'"
    ),
    Misbehaviour("a_generator", "the function must return real numbers"),
    Misbehaviour("a_scalar", "mismatch", 1),
    Misbehaviour("square", "the gradient of 'x' must be real numbers", gradient="text_gradient"),
    Misbehaviour("square", "the gradient is None", gradient="none_gradient"),
    Misbehaviour(
        "square",
        "the gradient of 'x' must be real numbers, not complex128",
        gradient="complex_gradient",
    ),
    Misbehaviour("square", "mismatch", 1, "nan_gradient"),
    Misbehaviour(
        "square", "IndexError: no such entry (at misbehaving.py:", gradient="raising_gradient"
    ),
    Misbehaviour("square", "SystemExit: 0 (at misbehaving.py:", gradient="exiting_gradient"),
    Misbehaviour(
        "square",
        "the process in which it was called came to its end (exit code 0)",
        gradient="dying_gradient",
    ),
    Misbehaviour("square", LATE, 1, "endless_gradient", SHORT),
    Misbehaviour("square", FINE, 0, "mutating_gradient"),
    Misbehaviour("square", FINE, 0, "printing_gradient"),
    Misbehaviour("square", "mismatch", 1, "half"),
    Misbehaviour("no_such_function", "no_such_function"),
    Misbehaviour("square", "no_such_gradient", gradient="no_such_gradient"),
    Misbehaviour("NOT_A_FUNCTION", "NOT_A_FUNCTION"),
]
