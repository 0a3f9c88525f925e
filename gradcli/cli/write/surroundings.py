"""What gradcli runs on, as far as results may depend on it."""

from __future__ import annotations

import os
import platform
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from typing import Any

import numpy as np

from gradcli.storage.cache import folder

_PACKAGES = ("gradcli", "numpy", "scipy", "sympy", "mpmath", "python-flint", "typer", "rich", "msgspec")
_OPTIONAL = {"gmpy2": "gmpy2", "python-flint": "flint"}

DEPENDS = (
    "Values and gradients may differ in last bits between versions of NumPy and SciPy and between processor features, those of native\n"
    "code also with the compiler, verdicts of large arrays with the width of long double; none with the number of threads, nor with\n"
    "what else runs."
)


def surroundings() -> dict[str, Any]:
    """Names and what is known of them, as JSON has it."""
    double = np.finfo(np.longdouble)
    return {
        **{package: _version(package) for package in _PACKAGES},
        **{package: _version(package) if find_spec(module) else "not installed" for package, module in _OPTIONAL.items()},
        "python": f"{platform.python_implementation()} {platform.python_version()}",
        "system": f"{platform.system()} {platform.machine()}",
        "features": _features(),
        "long double": f"{double.nmant + 1} bits of mantissa, {double.dtype.itemsize * 8} bits in memory",
        "cores": os.cpu_count(),
        "compiler": _compiler(),
        "OMP_NUM_THREADS": os.environ.get("OMP_NUM_THREADS", "not set"),
        "cache": str(folder() or "none"),
    }


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "unknown"


def _compiler() -> str:
    """That of native code, or why there is none."""
    from gradcli.plans.native.compiler import found, missing

    compiler = found()
    return f"{compiler.version} ({' '.join(compiler.command)})" if compiler else f"none: {missing().note}"


def _features() -> list[str]:
    """Return what NumPy found in the processor: it chooses loops by these, which round differently."""
    found = np.show_config(mode="dicts") or {}
    simd = found.get("SIMD Extensions", {})
    return [*simd.get("baseline", []), *simd.get("found", [])]
