"""Attributes: names of a library, parts of a result, properties and methods of arrays."""

from __future__ import annotations

from typing import Any

import numpy as np

from gradcli.errors import UnknownNameError
from gradcli.graph.nodes import Expr
from gradcli.language import calls
from gradcli.language.calls import missing_value
from gradcli.language.names import FreeVariable, Function, Indices, Module, Results, Thing
from gradcli.language.scope import Builder
from gradcli.ops.arrays import shapes
from gradcli.ops.calling.meanings import is_part, qualified
from gradcli.ops.calling.prefixes import MODULES, NUMPY, TORCH, has, library_of, named_constant, owner


def attribute(builder: Builder, base: Any, name: str) -> Any:
    """``base.name`` of what the base was lowered to. Raises UnknownNameError, and MissingValueError where the base has no value."""
    if isinstance(base, FreeVariable):
        of = calls.bare(base.name)
        if of is not None and name in of.methods:
            return Function(f"{of.name}.{name}", of.library)
        error = missing_value(builder.scope, base)
        if calls.is_function(name) and base.name not in builder.scope.failed:  # Math.sin, tf.exp
            error.help = f"leave '{base.name}.' out: '{base.name}' is no library here"
        raise error
    if isinstance(base, Module):
        return of_library(builder, base.path, name)
    if isinstance(base, Thing):
        return base.attribute(builder, name)
    if isinstance(base, Results) and name in base.names:
        return base[base.names.index(name)]
    if name in ("T", "mT", "shape", "ndim", "size"):
        return property_of(builder, name, builder.value(base))
    if isinstance(base, Function) and base.base is None:
        return _of_function(base, name)
    if name in calls.OF_VALUES:
        return _of_value(builder, base, name)
    if name == "grad":
        raise UnknownNameError("a value has no gradient of its own", help="write grad(y, x)")
    if name.endswith("_") and calls.is_method(name[:-1]):
        raise UnknownNameError(f"'{name}' changes a value in place: a value stays as it is", help=f"write x.{name[:-1]}(y) for a new one")
    if calls.is_method(name):
        return Function(name, NUMPY if calls.exists(name, NUMPY) else TORCH, base)
    raise UnknownNameError(f"an array has no attribute '{name}'", help=calls.suggested(name))


def of_library(builder: Builder, base: str, name: str) -> Any:
    """``base.name`` of a module by its canonical path: a module, a function, a constant, a dtype. Raises UnknownNameError."""
    path = f"{base}.{name}"
    if path in MODULES or calls.class_at(path) is not None:
        return Module(path)
    for library in dict.fromkeys((owner(base), library_of(base))):
        function = qualified(name, path, library)
        if function != name or (library == library_of(base) and has(base, name) and calls.exists(name, library)):
            return Function(function, library)
    if is_part(name, library_of(base)) and name != "Tensor":  # whose methods are declared, and which is a type
        return Module(path)
    from gradcli.language import library_names

    found = library_names.of_library(builder, base, name)
    if found is not library_names.MISSING:
        return found
    calls.refuse(name, library_of(base))
    known = library_names.refused(base, name)
    if known is not None:
        raise known
    try:
        value = named_constant(base, name)
    except UnknownNameError as error:
        error.help = calls.suggested(name)
        raise
    return builder.graph.constant(value) if isinstance(value, float) else value


def _of_value(builder: Builder, base: Any, name: str) -> Any:
    """Return what code writes of values beside mathematics, which most programs do without."""
    from gradcli.language.array_methods import METHODS, PROPERTIES

    return PROPERTIES[name](builder, builder.value(base)) if name in PROPERTIES else METHODS[name].of(base)


def _of_function(base: Function, name: str) -> Any:
    """``np.add.reduce`` and its kin; other functions have no attributes."""
    from gradcli.language.array_methods import is_ufunc, method_of_ufunc

    if is_ufunc(base):
        return method_of_ufunc(base, name)
    raise UnknownNameError(f"the function '{base.name}' has no attribute '{name}'")


def property_of(builder: Builder, name: str, base: Expr) -> Any:
    """``x.T`` (axes reversed), ``x.mT`` (the last two exchanged, ShapeError if there are fewer), ``x.shape``, ``x.ndim``, ``x.size``."""
    if name == "T":
        return base if base.ndim < 2 else shapes.transpose(base, axes=None)
    if name == "mT":
        return shapes.swapaxes(base, axis1=-1, axis2=-2)
    if name == "shape":
        return Indices(builder.graph.constant(n) for n in base.shape)
    return builder.graph.constant(len(base.shape) if name == "ndim" else int(np.prod(base.shape)))
