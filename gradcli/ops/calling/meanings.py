"""Meanings of one call in several libraries, and whether they differ.

They are read from the declarations for its name, not from a list of names.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np

from gradcli.ops.calling.prefixes import DIALECTS, JAX, NUMPY, SCIPY, TORCH
from gradcli.ops.calling.signatures import (
    Signature,
    declare,
    declared_elsewhere,
    declared_names,
    declared_parts,
    declared_signature,
    own_signature,
    rows,
    signature,
)
from gradcli.ops.registry import load, record_named, registry
from gradcli.ops.spec import REQUIRED, Composite, Op
from gradcli.texts import words

# -- What NumPy, PyTorch and SciPy call the operations at the heart of the catalogue, and where
# their arguments differ.
#
# Other families declare theirs at the end of their own files. A function without an entry has the
# signature of its own record in every library.


_REDUCED = "x, axis, -dtype, -out, keepdims, initial, where, -promote_integers"
_AVERAGED = "x, axis, -dtype, -out, keepdims, where"
_SPREAD = "x, axis, -dtype, -out, ddof|correction, keepdims, where, -mean"
_EXTREME = "x, axis, -out, keepdims, initial, where"
_PLACED = "-device, -requires_grad, -layout, -pin_memory, -out, -memory_order|order"
_SHAPED = f"shape|size+, dtype, {_PLACED}"
_LIKE = (
    "dtype, -memory_order|order, -subok, -memory_format, "
    f"{_PLACED.replace(', -memory_order|order', '')}"
)

declare(f"""
    numpy:
        sum prod({_REDUCED})
        mean({_AVERAGED})
        var std({_SPREAD})
        argmax argmin(x, axis, -out, keepdims)
        max amax = max({_EXTREME})
        min amin = min({_EXTREME})
        logsumexp(x, axis, b, keepdims)
        norm = numpy_norm(x, ord|p, axis, keepdims)
        transpose(x, axes+)
        zeros ones rand randn({_SHAPED})
        eye(n|N, m|M, k, dtype, {_PLACED})
        identity = eye(n, dtype)
        full(shape|size, value|fill_value, dtype, {_PLACED})
        zeros_like ones_like(x, {_LIKE})
        full_like(x, value|fill_value, {_LIKE})
        arange(start, stop|end, step, dtype, {_PLACED})
        linspace(start, stop|end, num|steps, endpoint, retstep, dtype, axis, {_PLACED})
        logspace(start, stop|end, num|steps, endpoint, base, dtype, axis, {_PLACED})
        geomspace(start, stop, num, endpoint, dtype, axis)
        array asarray tensor as_tensor = array(x|object|data, dtype, -copy, -subok, {_PLACED})
        einsum(***arguments, -optimize, -out, -dtype, -casting)
        item len(x)
        cho_factor(x|a, lower, -overwrite_a, -check_finite)
        cho_solve(c_and_lower, y|b, -overwrite_b, -check_finite)
        ndarray.nonzero(x)
        ndarray.tolist = Tensor.contiguous(x)
    torch:
        Tensor.nonzero(x, as_tuple)
        Tensor.argwhere = Tensor.nonzero(x)
        Tensor.tolist = Tensor.contiguous(x)
        Tensor.numpy = Tensor.contiguous(x, -force)
        Tensor.cpu Tensor.cuda = Tensor.contiguous(x, -device, -non_blocking, -memory_format)
        Tensor.clone Tensor.contiguous = Tensor.contiguous(x, -memory_format)
        rand = torch_rand({_SHAPED})
        randn = torch_randn({_SHAPED})
        rand_like randn_like(x, {_LIKE})
        randint(low, high, shape|size, -dtype, {_PLACED})
        randperm(n, -dtype, {_PLACED})
        Tensor.requires_grad_ = Tensor.contiguous(x, -traced|requires_grad)
        sum mean(x, axis~, keepdims, -dtype, -out)
        prod(x, axis, keepdims, -dtype, -out)
        argmax argmin(x, axis, keepdims, -out)
        logsumexp(x, axis!, keepdims, -out)
        amax = max(x, axis~, keepdims, -out)
        amin = min(x, axis~, keepdims, -out)
        softplus(x, beta, threshold=20)
        linspace(start, stop|end, num|steps, dtype, {_PLACED})
        logspace(start, stop|end, num|steps, base, dtype, {_PLACED})
    scipy:
        softmax log_softmax(x, axis)
    math:
        math.fsum = sum(x|seq)
""")


CALLED_OTHERWISE = frozenset({"einsum"})  # its static parameter comes first


def lookup(name: str, library: str) -> Signature | None:
    """Return the signature of a name in a library, or None if it is no function there.

    Functions of the language alone are elsewhere.
    """
    if library != NUMPY:
        load()  # so that every family has declared what libraries call its functions
    found = declared_signature(name, library)
    if found is not None:
        return found
    try:
        record = record_named(name)
    except KeyError:
        return declared_signature(name, library) or declared_elsewhere(name)
    found = declared_signature(name, library)  # a family read just now may declare it
    if found is not None:
        return found
    if not record.public or record.name in CALLED_OTHERWISE:
        return None
    if record.operands == ("x", "y") and not record.static:
        return signature(record.name, "x|x1|input|self, y|x2|other|exponent")
    # In our order, the parameter would need a keyword, or all optional operands before it.
    if record.optional and REQUIRED in record.static.values():
        return declared_elsewhere(name) or own_signature(record)
    return own_signature(record)


@cache
def qualified_name(name: str, path: str, library: str) -> str:
    """Return the name under which a function is declared in a part of a library.

    It is qualified if the name means something else there: linalg.cross.
    """
    load()
    last = ".".join(path.split(".")[-2:])
    return last if declared_signature(last, library) is not None else name


def is_part(name: str, library: str) -> bool:
    """Return whether a name is a part of a library for which functions were declared.

    For example, norm.logpdf belongs to SciPy's norm.
    """
    load()
    return name in declared_parts(library)


def names() -> list[str]:
    """Every name that some library's table adds."""
    return sorted(declared_names())


# -- Classes of libraries whose objects are functions that keep arguments: losses of torch.nn,
# distributions.
#
# ``nn.SmoothL1Loss(beta=0.5)(x, y)`` is ``F.smooth_l1_loss(x, y, beta=0.5)``, and ``norm(m,
# s).logpdf(x)`` is ``norm.logpdf(x, m, s)``: what an object does is a function of the same
# library, some of whose parameters the constructor has taken.


CALL = "__call__"


@dataclass(frozen=True, eq=False, repr=False)
class Class:
    """A constructor's own arguments, and the functions that its objects are.

    name        what the library calls it
    keeps       the constructor's parameters, under the names of the functions that get them
    methods     what the functions are called, by the names of methods; `CALL` for the object itself
    properties  the methods that are written without brackets
    repeated    how often a single number is repeated, by parameter
    defaults    what the objects give to their functions where the constructor is not told: by
                parameter
    """

    name: str
    keeps: str
    methods: Mapping[str, str]
    properties: frozenset[str] = frozenset()
    defaults: Mapping[str, Any] = field(default_factory=dict)
    library: str = ""
    repeated: Mapping[str, int] = field(default_factory=dict)

    @property
    def constructor(self) -> Signature:
        return signature(self.name, self.keeps)

    def function(self, method: str) -> Signature | None:
        """Return the signature of a method, or None if there is no such method.

        It has the parameters of the method's function that the constructor has not taken.
        """
        name = self.methods.get(method)
        found = None if name is None else lookup(name, self.library)
        if found is None:
            return None
        kept = {p.name for p in self.constructor.parameters}
        left = tuple(p for p in found.parameters if p.name not in kept)
        return Signature(found.target, left, (*found.defaults, *self.defaults.items()))

    def accepts(self, method: str) -> frozenset[str]:
        """Return the parameters of a method's function, with those that the constructor takes."""
        found = lookup(self.methods[method], self.library)
        return (
            frozenset()
            if found is None
            else frozenset(p.name for p in found.parameters if not p.ignored)
        )


@dataclass(frozen=True, eq=False, repr=False)
class Refused:
    """A class that is known and not taken: why, and what to write."""

    why: str
    help: str


_CLASSES: dict[str, dict[str, Class | Refused]] = {}


def declare_class(
    library: str,
    name: str,
    keeps: str,
    methods: str | Mapping[str, str],
    *,
    properties: str = "",
    repeated: Mapping[str, int] = MappingProxyType({}),
    **defaults: Any,
) -> None:
    """Declare what a library's class keeps, and what its objects do.

    Its objects are one function, or several by the names of methods. ``keeps`` is written as for
    `signature`, with the names of our own parameters: ``axis|dim``.
    """
    functions = {CALL: methods} if isinstance(methods, str) else methods
    made = Class(name, keeps, functions, frozenset(properties.split()), defaults, library, repeated)
    _CLASSES.setdefault(library, {})[name] = made


def declare_classes(table: str) -> None:
    """Declare, line by line, what classes of PyTorch's keep, and the functions they are.

    ``GLU(axis|dim) = glu``.
    """
    for line in rows(table):
        head, _, function = line.rpartition(" = ")
        name, _, keeps = head[:-1].partition("(")
        declare_class(TORCH, name, keeps, function)


def refuse_classes(table: str) -> None:
    """Declare, line by line, why some classes of PyTorch's are refused, and what to write.

    ``GRU LSTM: {} is ...; write ...``.
    """
    for line in rows(table):
        names, _, said = line.partition(": ")
        why, _, help = said.partition("; ")
        for name in names.split():
            _CLASSES.setdefault(TORCH, {})[name] = Refused(why.format(name), help.format(name))


@cache
def class_of(name: str, library: str) -> Class | Refused | None:
    """The class of that name in a library, None if there is none."""
    load()
    return _CLASSES.get(library, {}).get(name)


# -- What stops gradients where it was written: conversions to plain numbers, and copies that no
# graph records.


# Conversions by Python, and of arrays with one entry. Those to int have no derivative anyway.
CONVERSIONS = frozenset({"float", "int", "item"})


def detaches(name: str, library: str, method: bool, of_list: bool = False) -> bool:
    """Return whether a library's function or method stops gradients.

    These are PyTorch's methods that give Python's numbers or NumPy's arrays, and functions that
    copy. If the argument is already an array, all of these functions except ``tensor`` give it as
    it is.
    """
    if library != TORCH:
        return False
    return (
        name in ("item", "tolist", "numpy")
        if method
        else name == "tensor" or (of_list and name in ("as_tensor", "asarray"))
    )


def is_refused(name: str, library: str, method: bool) -> bool:
    """Return whether a library cannot have this method of a value that it differentiates.

    JAX does not know its numbers while it differentiates.
    """
    return method and library == JAX and name in ("item", "tolist")


DIALECT_OF = {NUMPY: NUMPY, SCIPY: NUMPY, TORCH: TORCH, JAX: JAX}  # by library; math is neutral

# PyTorch's own functions that are nevertheless the same as NumPy's: without the parameters after
# "-", or with those after "+".
_ALIKE_TABLE = """
    torch_add = add -alpha
    torch_sub = sub -alpha
    torch_div = div -rounding_mode
    torch_max = max -axis -keepdims -y
    torch_min = min -axis -keepdims -y
    torch_softmax = softmax -x +axis
    torch_log_softmax = log_softmax -x +axis
    torch_cross = cross -x +axis
    torch_cumsum = cumsum
    torch_cumprod = cumprod
    torch_dot = dot
    torch_norm = numpy_norm -ord +axis
    torch_solve = solve -left
    old_qr = qr -some
    reshape = numpy_reshape
    torch_squeeze = squeeze
    torch_roll = roll
    torch_where = where
"""
_ALIKE = dict(line.split(" = ") for line in rows(_ALIKE_TABLE))


# Methods of tensors that are not functions of the catalogue.
_OF_TENSORS = words("cpu cuda detach dim double float half long numel numpy requires_grad_ size to")


# Without a prefix, these are NumPy's in every dialect. Python's own are the same, except that they
# run over the rows of a matrix.
OF_NUMPY_BARE = frozenset({"sum", "max", "min"})


# Names by which other systems differentiate. NumPy's functions of these names take differences of
# neighbouring entries.
OF_DERIVATIVES = words("D Derivative Diff deriv derivative derive diff differentiate gradient")


class Call(NamedTuple):
    """Form of a call.

    It has the number of arguments, which of them are lists or tuples, and the keywords' names.
    """

    name: str
    method: bool
    listed: tuple[bool, ...]
    keywords: tuple[str, ...]


@cache
def stated_parameter(name: str) -> str:
    """The parameter without which a function means two things of an array of several axes; empty if
    it has none.
    """
    found = lookup(name, NUMPY)
    record = registry().get(found.target) if found is not None else None
    return "".join(record.stated_names) if isinstance(record, Op) else ""


@cache
def takes_more(name: str, library: str, count: int) -> bool:
    """Tell whether a library's function takes so many arguments, which are too many for NumPy's."""
    usual, other = lookup(name, NUMPY), lookup(name, library)
    if usual is None or other is None or any(p.many for p in usual.parameters):
        return False
    return (
        len(usual.parameters)
        < count
        <= sum(not parameter.by_name for parameter in other.parameters)
    )


def is_method_of_arrays(name: str) -> bool:
    """Return whether NumPy's arrays have a method of this name; JAX's have the same.

    NumPy's view is of a dtype, not of a shape.
    """
    return name != "view" and callable(getattr(np.ndarray, name, None))


@cache
def is_of_tensors(name: str) -> bool:
    """Return whether a method is one of PyTorch's tensors that no array of NumPy or JAX has."""
    if is_method_of_arrays(name):
        return False
    return (
        name in _OF_TENSORS
        or lookup(name, TORCH) is not None
        or lookup(f"Tensor.{name}", TORCH) is not None
    )


@cache
def differs(call: Call, dialects: frozenset[str] = frozenset(DIALECTS)) -> bool:
    """Return whether the libraries of these dialects that can take a call take it for different
    things.
    """
    return len({meaning(call, dialect) for dialect in dialects} - {None}) > 1


@cache
def meaning(call: Call, library: str) -> object:
    """Return what a library takes a call for, in a form that can be compared.

    None if it cannot take it.
    """
    if call.method and library != TORCH and not is_method_of_arrays(call.name):
        return None
    if detaches(call.name, library, call.method):
        return "detached"
    own = f"{'Tensor' if library == TORCH else 'ndarray'}.{call.name}" if call.method else call.name
    found = lookup(own, library) or lookup(call.name, library)
    if found is None:
        return None
    if found.target == "transpose" and len(call.listed) == 2 and call.listed[1:] == (True,):
        return None if library == TORCH else "transpose"
    given = _arguments_by_parameter(call, found)
    return None if given is None else _canonical(found, given)


def _arguments_by_parameter(call: Call, signature: Signature) -> dict[str, Any] | None:
    """Return the places of arguments, and keywords, by the parameters that take them.

    None is returned if there are arguments that the signature does not read.
    """
    taken, left = signature.take(range(len(call.listed)), call.listed.__getitem__)
    if left or any(
        parameter.ignored for parameter, _ in taken
    ):  # who writes an argument means a library that reads it
        return None
    given = {
        parameter.name: places[0] if isinstance(places, tuple) and len(places) == 1 else places
        for parameter, places in taken
    }
    for keyword in call.keywords:
        found = next((p for p in signature.parameters if keyword in p.spellings), None)
        if found is None or found.name in given:
            return None
        given[f"-{found.name}" if found.ignored else found.name] = keyword
    return given


def _canonical(signature: Signature, given: dict[str, Any]) -> object:
    target = signature.target
    defaults = tuple((name, value) for name, value in signature.defaults if name not in given)
    try:
        record: Op | Composite | None = record_named(target)
    except KeyError:
        record = None  # a function of the language
    if record is not None:
        needed = [name for name, value in record.static.items() if value is REQUIRED]
        needed += [name for name in record.operands if name not in record.optional]
        stated = dict(signature.defaults)
        if any(name not in given and name not in stated for name in needed) and not record.variadic:
            return None
    if any(value is REQUIRED for _, value in defaults):
        return None
    if target in _ALIKE:
        alike, *parameters = _ALIKE[target].split()
        signs = {parameter[0] for parameter in parameters if parameter[1:] in given}
        if "-" not in signs or "+" in signs:
            target = alike
            names = record_named(target).operands if target != "multi_dot" else ()
            own = record.operands if record is not None else ()
            swap = dict(zip(own, names, strict=False))
            given = {swap.get(name, name): places for name, places in given.items()}
    return target, frozenset(given.items()), defaults
