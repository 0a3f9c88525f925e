"""Every name of the catalogue, and the calls that it is tried with."""

from __future__ import annotations

import zlib

from gradcli.language.calls import exists, is_method
from gradcli.language.constructors import FUNCTIONS
from gradcli.ops.calling.meanings import lookup, names, qualified_name
from gradcli.ops.calling.prefixes import MATH, NUMPY, SCIPY
from gradcli.ops.calling.prefixes import TORCH as PYTORCH
from gradcli.ops.calling.signatures import Signature
from gradcli.ops.registry import composites, public_names, record_named, registry
from gradcli.ops.spec import Composite, Op
from oracles.calls import CALLS
from oracles.libraries import METHODS, TORCH
from oracles.values import VALUES

LIBRARIES = {
    "np": NUMPY, "np.linalg": NUMPY, "scipy.special": SCIPY, "scipy.linalg": SCIPY, "math": MATH, "ndarray": NUMPY, "": NUMPY,
    "torch": PYTORCH, "F": PYTORCH, "torch.linalg": PYTORCH, "torch.special": PYTORCH, "Tensor": PYTORCH,
}  # fmt: skip

_GRIDS = {1: ("U", "M"), 2: ("X, Y", "M, 0.75", "V, W"), 3: ("X, Y, Z", "M, N, P")}


def catalogue() -> list[str]:
    """Every name that a program can call, whatever library's prefix it needs."""
    return sorted(name for name in {*public_names(), *names(), *FUNCTIONS} if "." not in name)


def taken(place: str, name: str) -> bool:
    """Whether gradcli has a function of this spelling."""
    return is_method(name) if place in METHODS else exists(name, LIBRARIES[place])


def meant(place: str, name: str) -> Signature | None:
    """What gradcli takes a spelling for."""
    library = LIBRARIES[place]
    own = (
        f"{place}.{name}" if place in METHODS else qualified_name(name, f"{place}.{name}", library)
    )
    return lookup(own, library) or lookup(name, library)


def record_of(place: str, name: str) -> Op | Composite | None:
    found = meant(place, name)
    try:
        return None if found is None else record_named(found.target)
    except KeyError:
        return None


def calls_of(name: str, place: str = "") -> tuple[str, ...]:
    """The arguments that a function is tried with: of what works entry by entry, points over its
    domain.
    """
    if f"{place}.{name}" in CALLS or name in CALLS:
        return CALLS.get(f"{place}.{name}") or CALLS[name]
    records = {record_of(place, name) for place in LIBRARIES}
    counts = {
        len(r.operands)
        for r in records
        if r is not None and not r.variadic and (isinstance(r, Composite) or r.elementwise)
    }
    return tuple(text for count in sorted(counts) for text in _GRIDS.get(count, ()))


def question(name: str) -> int:
    """A number that changes with the calls of a name and with the arrays of all calls: what PyTorch
    was asked.
    """
    texts = [f"{place} {text}" for place in TORCH for text in calls_of(name, place)]
    arrays = [array.tobytes() for array in VALUES.values()]
    return zlib.crc32("\n".join(texts).encode() + b"".join(arrays))


__all__ = [
    "calls_of",
    "catalogue",
    "composites",
    "meant",
    "question",
    "record_of",
    "registry",
    "taken",
]
