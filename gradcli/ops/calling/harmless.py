"""Parameters of libraries that are not read here, and the values of them that change neither value nor gradient.

Whatever else is given for them is refused by name: nothing that somebody wrote is dropped.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


def _only(*values: Any) -> Callable[[Any], bool]:
    return lambda given: any(type(given) is type(value) and given == value for value in values)


def _flag(given: Any) -> bool:
    return isinstance(given, (bool, int))


def _any(given: Any) -> bool:
    return True


def _processor(given: Any) -> bool:
    """The device on which everything is computed."""
    return str(getattr(given, "type", given)) == "cpu"


# Where no value is named, only None, which says that the parameter is left out.
_HARMLESS: dict[str, Callable[[Any], bool]] = {
    # how memory is laid out, shared, or where it is
    **dict.fromkeys(("copy", "subok", "implicit", "sparse_grad", "pin_memory", "requires_grad", "force", "non_blocking"), _flag),
    **dict.fromkeys(("overwrite_a", "overwrite_b", "overwrite_x", "overwrite_input", "check_finite"), _flag),
    **dict.fromkeys(("memory_format", "layout"), _any),
    "device": _processor,
    "order": _only("C"),
    "memory_order": _only("C", "F", "A", "K"),
    # with which algorithm the same is computed; a sort of equal entries is stable in any case
    "lapack_driver": _only("gesdd", "gesvd", "gelsd", "gelsy", "gelss"),
    "kind": _only("quicksort", "mergesort", "heapsort", "stable"),
    "stable": _flag,
    "optimize": _any,
    "lwork": _any,
    "_stacklevel": _any,
    # between which dtypes numbers may move: all have one
    "casting": _only("no", "equiv", "safe", "same_kind", "unsafe"),
    # what is so of indices, and what would become of those out of bounds, which are refused
    **dict.fromkeys(("indices_are_sorted", "unique_indices"), _flag),
    **dict.fromkeys(("bounds_mode", "bounds_value"), _any),
    # what a function does without being asked
    "everywhere": _only(True),
    **dict.fromkeys(("inplace", "exact", "repetition", "return_sign", "return_rank", "pivoting", "promote_integers"), _only(False)),
    "retstep": _only(False),
    "assume_a": _only("gen", "general"),
    "hermitian": _only(False),
    "allow_singular": _only(False),
    "use_lower": _only(True),
    "lower": _only(False),
}

_HELP = {
    "everywhere": "write where(mask, {name}(x, y), x) for the entries of a mask",
    "out": "leave it out, and give the result a name: y = {name}(...)",
    "inplace": "leave it out: {name}(x) is the result, and x stays as it is",
    "dtype": "leave it out: everything is computed in one precision, which --dtype chooses",
    "device": "leave it out: everything is computed on the CPU",
    "exact": "leave it out: the result is a float",
    "return_sign": "leave it out, and write sign(...) of the sum itself",
    "lower": "leave it out",
}


def is_harmless(parameter: str, given: Any) -> bool:
    """Whether a parameter that is not read may be given this value."""
    if given is None:
        return True
    accepts = _HARMLESS.get(parameter)
    return accepts is not None and accepts(given)


def help_for(name: str, parameter: str) -> str:
    """What to write instead of a value that would change something."""
    return _HELP.get(parameter, "leave it out").format(name=name)
