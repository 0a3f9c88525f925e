"""The machine that measures: its processor, memory, threads and the versions of what takes part."""

from __future__ import annotations

import os
import platform
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

PACKAGES = (
    "gradcli",
    "numpy",
    "scipy",
    "sympy",
    "typer",
    "torch",
    "jax",
    "autograd",
    "mygrad",
    "casadi",
    "numexpr",
)
_AVX512 = (
    "avx512f",
    "avx512cd",
    "avx512bw",
    "avx512dq",
    "avx512vl",
)  # what NumPy's loops need together
_THREADS = (
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "NUMEXPR_NUM_THREADS",
    "NUMEXPR_MAX_THREADS",
)
_HELD = "NPY_DISABLE_CPU_FEATURES"
# what NumPy has loops for, beyond AVX2: names of its features before 2.4 and since
_DISPATCHED = """
from numpy._core._multiarray_umath import __cpu_dispatch__ as loops, __cpu_features__ as found
print(" ".join(name for name in loops if found[name] and (name.startswith("AVX512") or name == "X86_V4")))
"""


def cores() -> int:
    """How many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def has_avx512() -> bool:
    """Whether the processor has it, and libraries are not held to less."""
    flags = _first("/proc/cpuinfo", "flags").split()
    return all(flag in flags for flag in _AVX512) and _HELD not in os.environ


def hold_to_avx2() -> None:
    """Processes that are started from now on, and the libraries in them, use no instructions beyond
    AVX2.
    """
    found = subprocess.run(
        [sys.executable, "-c", _DISPATCHED], capture_output=True, text=True, check=True
    )
    os.environ |= {
        _HELD: found.stdout.strip(),
        "OPENBLAS_CORETYPE": "Haswell",
        "ATEN_CPU_CAPABILITY": "avx2",
        "DNNL_MAX_CPU_ISA": "AVX2",
        "MKL_ENABLE_INSTRUCTIONS": "AVX2",
        "XLA_FLAGS": " ".join(
            filter(None, (os.environ.get("XLA_FLAGS"), "--xla_cpu_max_isa=AVX2"))
        ),
    }


def available_memory() -> int | None:
    """Bytes that new processes can have, or None where the system does not say."""
    found = _first("/proc/meminfo", "MemAvailable")
    return int(found.split()[0]) * 1024 if found else None


def own_memory(field: str) -> int:
    """A field of this process's memory in bytes:

    VmRSS, or VmHWM, its peak. 0 where the system does not say.
    """
    found = _first("/proc/self/status", field)
    return int(found.split()[0]) * 1024 if found else 0


def forget_peak() -> None:
    """Let this process's peak be what it has now, where the system can."""
    with suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5", encoding="ascii")


def facts() -> dict[str, str]:
    memory = _first("/proc/meminfo", "MemTotal")
    return {
        "processor": _first("/proc/cpuinfo", "model name")
        or platform.processor()
        or platform.machine(),
        "cores": str(cores()),
        "AVX-512": "held to AVX2" if _HELD in os.environ else "yes" if has_avx512() else "no",
        "memory": f"{int(memory.split()[0]) / 2**20:.0f} GiB" if memory else "unknown",
        "system": f"{platform.system()} {platform.release()}",
        "Python": platform.python_version(),
        **{package: _version(package) for package in PACKAGES},
    }


def _first(path: str, field: str) -> str:
    """What the first line of a field says in a file of /proc, or nothing."""
    try:
        lines = Path(path).read_text(encoding="utf-8").splitlines()
    except OSError:
        return ""
    return next(
        (
            line.partition(":")[2].strip()
            for line in lines
            if line.partition(":")[0].strip() == field
        ),
        "",
    )


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "not installed"


@contextmanager
def limited(count: int | None, extra: Mapping[str, str] | None = None) -> Iterator[None]:
    """Processes that are started meanwhile use so many threads, on as many cores (None: all).

    They keep the bytecode of what they import, as an installed program does, also where the
    environment forbids it.
    """
    number = cores() if count is None else count
    before = dict(os.environ)
    pinned = hasattr(os, "sched_setaffinity")
    allowed = os.sched_getaffinity(0) if pinned else set()
    os.environ.update({name: str(number) for name in _THREADS} | dict(extra or {}))
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    try:
        if pinned:
            os.sched_setaffinity(0, sorted(allowed)[-number:])
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)
        if pinned:
            os.sched_setaffinity(0, allowed)
