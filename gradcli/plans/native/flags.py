"""What compilers are told: flags by which loops become as fast as the processor, and keep NumPy's meaning to the bit of a NaN."""

from __future__ import annotations

import os
import platform
import sys
from functools import cache

import numpy as np

# Of all options, those that change neither what is infinite, nor a NaN, nor the sign of a zero, nor the order of sums.
_COMMON = ("-O3", "-fno-math-errno", "-fno-trapping-math", "-ffp-contract=off", "-fopenmp-simd", "-fPIC", "-shared")
# These would change it, also where they come from CC: gcc links code that turns tiny numbers into zeros for the whole process.
FORBIDDEN = frozenset({"-ffast-math", "-Ofast", "-funsafe-math-optimizations", "-fassociative-math", "-ffinite-math-only",
                       "-freciprocal-math", "-fno-signed-zeros", "-mdaz-ftz"})  # fmt: skip

# What NumPy calls the features of a processor that its loops for floats use, and what gcc and clang call them. Without AVX there is no
# AVX2 and no AVX-512 either.
_FEATURES = {
    "AVX": "-mno-avx", "F16C": "-mno-f16c", "FMA3": "-mno-fma", "AVX2": "-mno-avx2", "X86_V3": "-mno-avx",
    "AVX512F": "-mno-avx512f", "AVX512_SKX": "-mno-avx512f", "X86_V4": "-mno-avx512f",
}  # fmt: skip


def flags(kind: str) -> tuple[str, ...]:
    """Those for gcc or clang, on this machine."""
    return (*_COMMON, *_processor(kind), *(_of_gcc() if kind == "gcc" else _of_clang()))


def libraries(kind: str) -> tuple[str, ...]:
    """What is linked: functions of vectors where the system has them."""
    if sys.platform == "darwin":
        return ("-framework", "Accelerate") if kind == "clang" else ("-lm",)
    return ("-Wl,--as-needed", "-lmvec", "-lm") if _has_libmvec() else ("-lm",)


def _processor(kind: str) -> tuple[str, ...]:
    """All that this processor has, less what NumPy was told to leave out: both compute alike then, as on a processor without it."""
    machine = platform.machine().lower()
    if machine not in ("x86_64", "amd64", "i686"):
        return ("-mcpu=native",) if kind == "clang" or machine.startswith(("arm", "aarch64", "ppc")) else ()
    return ("-march=native", *_left_out())


@cache
def _left_out() -> tuple[str, ...]:
    found = np.show_config(mode="dicts") or {}
    missing = found.get("SIMD Extensions", {}).get("not found", [])  # in this processor, or by NPY_DISABLE_CPU_FEATURES
    return tuple(sorted({_FEATURES[name] for name in missing if name in _FEATURES}))


def _of_gcc() -> tuple[str, ...]:
    # a sine and a cosine of one number would become one call of a function that has no version for vectors
    return ("-fno-builtin-sin", "-fno-builtin-cos") if _has_libmvec() else ()


def _of_clang() -> tuple[str, ...]:
    if sys.platform == "darwin":
        return ("-fveclib=Accelerate",)
    return ("-fveclib=libmvec",) if _has_libmvec() else ()


@cache
def _has_libmvec() -> bool:
    """Whether the system's C library has sines and the like of vectors: glibc, since 2.22."""
    if sys.platform != "linux" or platform.machine() != "x86_64":
        return False
    name, _, version = (os.confstr("CS_GNU_LIBC_VERSION") or "").partition(" ")
    major, _, minor = version.partition(".")
    return name == "glibc" and (int(major), int(minor)) >= (2, 22)
