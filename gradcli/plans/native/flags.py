"""What compilers are told: flags with which loops are as fast as the processor, and NaN, infinities and signs of zeros stay NumPy's."""

from __future__ import annotations

import os
import platform
import sys
from collections.abc import Sequence
from functools import cache
from typing import Literal

import numpy as np

Kind = Literal["gcc", "clang"]

# None of these changes what is infinite, a NaN, the sign of a zero, or the order of sums. -O2 of gcc 12 leaves loops of conversions alone.
_NEEDED = ("-O3", "-fno-math-errno", "-fno-trapping-math", "-ffp-contract=off", "-fopenmp-simd", "-fPIC", "-shared")
# Some would, also those that come from CC: gcc links code for them that turns tiny numbers into zeros in the whole process.
FORBIDDEN = frozenset({
    "-ffast-math", "-Ofast", "-funsafe-math-optimizations", "-fassociative-math", "-ffinite-math-only", "-freciprocal-math",
    "-fno-signed-zeros", "-ffp-model=fast", "-ffp-model=aggressive", "-mdaz-ftz",
})  # fmt: skip

# What NumPy calls the features of a processor that matter to loops of floats, and what says without them. Without AVX there is no AVX2
# and no AVX-512.
_WITHOUT = {
    "AVX": "-mno-avx", "F16C": "-mno-f16c", "FMA3": "-mno-fma", "AVX2": "-mno-avx2", "X86_V3": "-mno-avx",
    "AVX512F": "-mno-avx512f", "AVX512_SKX": "-mno-avx512f", "X86_V4": "-mno-avx512f",
}  # fmt: skip


def flags(kind: Kind, given: Sequence[str]) -> list[tuple[str, ...]]:
    """Those for a compiler on this machine, beside the arguments that CC gives: the best first, those that old ones know last."""
    needed = (*_NEEDED, *_processor(kind, given))
    return [(*needed, *_wide(kind)), needed]


def libraries() -> tuple[str, ...]:
    """What is linked: functions of vectors where the system has them."""
    return ("-Wl,--as-needed", "-lmvec", "-lm") if _has_libmvec() else ("-lm",)


def _processor(kind: Kind, given: Sequence[str]) -> tuple[str, ...]:
    """What this processor has, or the one that CC names, without what NumPy was told to leave out: both are held to the same."""
    named = any(argument.startswith(("-march=", "-mcpu=")) for argument in given)
    if _x86():
        return _left_out() if named else ("-march=native", *_left_out())
    native = kind == "clang" or platform.machine().startswith(("arm", "aarch64", "ppc"))
    return ("-mcpu=native",) if native and not named else ()


def _wide(kind: Kind) -> tuple[str, ...]:
    """Vectors as wide as there are, which compilers avoid for some processors, and functions of them by calls without a detour."""
    found = ["-fno-plt"]
    if _x86():
        found.append("-mprefer-vector-width=512")
    if kind == "clang" and _has_libmvec():
        found.append("-fveclib=libmvec")  # where gcc has declarations (double.h)
    return tuple(found)


def _x86() -> bool:
    return platform.machine().lower() in ("x86_64", "amd64", "i386", "i686")


@cache
def _left_out() -> tuple[str, ...]:
    found = np.show_config(mode="dicts") or {}
    absent = found.get("SIMD Extensions", {}).get("not found", [])  # in the processor, or by NPY_DISABLE_CPU_FEATURES
    return tuple(sorted({_WITHOUT[name] for name in absent if name in _WITHOUT}))


@cache
def _has_libmvec() -> bool:
    """Whether the C library has sines and the like of vectors: glibc, since 2.22."""
    if sys.platform != "linux" or platform.machine() != "x86_64":
        return False
    name, _, version = (os.confstr("CS_GNU_LIBC_VERSION") or "").partition(" ")
    major, _, minor = version.partition(".")
    return name == "glibc" and (int(major), int(minor)) >= (2, 22)
