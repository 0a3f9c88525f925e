"""Who runs a plan's loops: NumPy, or native code that the machine's compiler makes. It is counted, never timed.

A compilation takes as long as some hundred million operations on entries, and is worth it where a program does more than that, in all
calls that are thought of. What is there already, in a cache or in memory, makes no difference: the same input has the same bits.
"""

from __future__ import annotations

BACKENDS = ("auto", "numpy", "native")
ONCE = 1  # calls of what is computed on the command line, or by `evaluate`
OFTEN = 1 << 7  # calls that a function is thought to be made for: about a hundred
_COMPILATION = 1 << 29  # additions that outweigh it


def chosen(backend: str, work: int, calls: int = ONCE) -> str:
    """ "numpy" or "native": what is asked for, and of "auto" what a count says, or "numpy" where no compiler works.

    work   of one call, in additions: for each operation the entries that it goes over, times its cost (work.py)
    calls  how often it is thought to be done: native code from 2**29 additions in all, which are 2**22 in a call of a function
    Raises NativeError for native code that is asked for without a compiler.
    """
    if backend == "numpy" or (backend == "auto" and work * calls < _COMPILATION):
        return "numpy"
    from gradcli.plans.native.compiler import found

    if found() is not None:
        return "native"
    insist(backend)
    return "numpy"


def because(backend: str, asked: str, work: int, calls: int) -> str:
    """The choice and its reason, in words."""
    if backend == asked:
        return f"{backend}, as asked for"
    counted = f"{calls} x {work:,} additions" if calls > 1 else f"{work:,} additions"
    if work * calls < _COMPILATION:
        return f"{backend}: {counted} are fewer than the {_COMPILATION:,} that outweigh a compilation"
    outweighed = f"{counted} are no fewer than the {_COMPILATION:,} that outweigh a compilation"
    return f"{backend}: {outweighed}" if backend == "native" else f"{backend}: no C compiler works, but {outweighed}"


def insist(backend: str) -> None:
    """Raise NativeError, which says what to install, where native code is asked for and no compiler works."""
    from gradcli.plans.native.compiler import found, missing

    if backend == "native" and found() is None:
        raise missing()
