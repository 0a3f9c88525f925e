"""What follows a dot: names of a library, parts of a result, properties and methods of arrays."""

from __future__ import annotations

from typing import Any

import numpy as np

from gradcli.errors import UnknownNameError
from gradcli.graph.nodes import Expr
from gradcli.language.coercion import Meanings
from gradcli.language.names import Function, Module, Results, Unbound, missing_value
from gradcli.ops.arrays import shapes
from gradcli.ops.calling.dialects import qualified
from gradcli.ops.calling.prefixes import NUMPY, PREFIXES, TORCH, named_constant


def attribute(low: Meanings, base: Any, name: str) -> Any:
    """``base.name`` of what the base was lowered to."""
    from gradcli.language import calls

    if isinstance(base, Unbound):
        raise missing_value(low.scope, base)
    if isinstance(base, Module):
        return _of_library(low, base.path, name)
    if isinstance(base, Results) and name in base.names:
        return base[base.names.index(name)]
    if name in ("T", "mT", "shape", "ndim", "size"):
        return property_of(low, name, low.value(base))
    if calls.is_method(name):
        return Function(name, NUMPY if calls.exists(name, NUMPY) else TORCH, base)
    raise UnknownNameError(f"an array has no attribute '{name}'", help=calls.suggested(name))


def _of_library(low: Meanings, library: str, name: str) -> Any:
    from gradcli.language import calls

    path = f"{library}.{name}"
    if path in PREFIXES:
        return Module(path)
    function = qualified(name, path, PREFIXES[library])
    if calls.exists(function, PREFIXES[library]):
        return Function(function, PREFIXES[library])
    try:
        value = named_constant(library, name)
    except UnknownNameError as error:
        error.help = calls.suggested(name)
        raise
    return low.graph.constant(value) if isinstance(value, float) else value


def property_of(low: Meanings, name: str, base: Expr) -> Any:
    """``x.T``, ``x.mT``, ``x.shape``, ``x.ndim`` and ``x.size``."""
    if name == "T":
        return base if base.ndim < 2 else shapes.transpose(base, axes=None)
    if name == "mT":
        return shapes.swapaxes(base, axis1=-1, axis2=-2)
    if name == "shape":
        return tuple(low.graph.constant(n) for n in base.shape)
    return low.graph.constant(len(base.shape) if name == "ndim" else int(np.prod(base.shape)))
