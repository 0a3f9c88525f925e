"""Digests of what answers depend on, which are the keys to them.

Answers depend on values, and on the code and the libraries that computed them.
"""

from __future__ import annotations

import hashlib
import platform
from collections.abc import Hashable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

_FORMAT = "4"
_SHORT = 64  # a value of at most this many bytes is its own hash


@cache
def versions() -> str:
    """Return what every verdict depends on besides the question.

    It is the libraries, gradcli's own code, and the machine.
    """
    from importlib.metadata import PackageNotFoundError, version

    found = [_FORMAT]
    for package in ("gradcli", "numpy", "sympy", "mpmath", "scipy", "python-flint"):
        try:
            found.append(f"{package} {version(package)}")
        except PackageNotFoundError:
            found.append(package)
    found.append(code(Path(__file__).parent.parent))
    # References compute in long doubles, in balls, and by double-precision loops whose last bits
    # depend on the processor.
    found.append(
        f"{platform.system()} {platform.machine()}, long double of "
        f"{np.finfo(np.longdouble).nmant} bits"
    )
    return "; ".join(found)


def code(root: Path) -> str:
    """Return a hash of the modules below a folder."""
    paths = sorted(root.rglob("*.py"))
    return digest_of(
        [
            (path.relative_to(root).as_posix(), hashlib.sha256(path.read_bytes()).digest())
            for path in paths
        ]
    )


def digest_of(*things: Any) -> str:
    """Return a digest of what things are in Python's text."""
    return hashlib.sha256(repr(things).encode()).hexdigest()


def content(value: Any) -> Hashable:
    """Return the kind, shape and bits of a value; of each part of a structure."""
    if isinstance(value, Mapping):
        value = list(value.items())
    if isinstance(value, (tuple, list)):
        return type(value).__name__, *map(content, value)
    array = np.asarray(value)
    bits = repr(value).encode() if array.dtype == object else array.tobytes()
    return (
        type(value).__name__,
        array.dtype.str,
        array.shape,
        bits if len(bits) <= _SHORT else hashlib.sha256(bits).digest(),
    )
