"""Calls of functions, with arguments by position and name.

The arguments are taken as the library takes them whose spelling is used.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from functools import cache, lru_cache
from typing import Any

import numpy as np

from gradcli.errors import (
    AmbiguousError,
    ArgumentError,
    GradcliError,
    MissingValueError,
    ShapeError,
    TypeMismatchError,
    UnknownNameError,
    did_you_mean,
)
from gradcli.graph import transforms
from gradcli.graph.nodes import Expr
from gradcli.graph.sweep import ones_like
from gradcli.language import constructors
from gradcli.language.constructors import ALIASES, FUNCTIONS
from gradcli.language.names import (
    DERIVATIVES,
    FreeVariable,
    Function,
    Indices,
    Module,
    Results,
    Thing,
)
from gradcli.language.routines import run_body
from gradcli.language.scope import Builder, Range, Scope
from gradcli.language.syntax import Attribute, Binary, Call, Definition, Frame, Name, Node
from gradcli.ops.calling import binding, textbook
from gradcli.ops.calling.meanings import (
    CALL,
    OF_DERIVATIVES,
    Class,
    Refused,
    class_of,
    lookup,
    names,
)
from gradcli.ops.calling.prefixes import JAX, MATH, NUMPY, SCIPY, TORCH, DType, library_of
from gradcli.ops.calling.signatures import Signature, signature
from gradcli.ops.facts import Fixed
from gradcli.ops.registry import public_names, record_named
from gradcli.ops.spec import Op, as_tuple
from gradcli.ops.text import Expansion, calls_in, expand_call
from gradcli.texts import Source, Span, by_word, suggestion, words

# -- Derivatives inside expressions: ``grad(y, x)`` and its kin, and ``f'(x)``


class Derived(Thing, Fixed):
    """Derivatives of a function, ``jax.grad(f)``: the innermost first, each with its parameters."""

    written = "this function"
    of: Definition
    steps: tuple[tuple[str, Any], ...]

    def result(self, builder: Builder, value: Any, parameters: Sequence[Any]) -> Any:
        """Return the derivatives of the function's value."""
        for name, places in self.steps:
            y = builder.value(value)
            listed = as_tuple(places)
            made = tuple(differentiate(name, y, parameters[place]) for place in listed)
            value = made if listed is places else made[0]
            if name == "value_and_grad":
                value = y, value
        return value


def differentiate(name: str, y: Expr, x: Expr, seed: Expr | None = None) -> Expr:
    """Return a derivative as books and libraries take it.

    ``f'(x)`` is entry by entry, and a gradient without a seed is of one number; ShapeError for
    others.
    """
    if name == "'":
        name, seed = "grad", ones_like(y)
        if y.shape not in (x.shape, ()):
            raise ShapeError(
                "f' needs a function that works entry by entry", help="write jacobian(f(x), x)"
            )
    kind = DERIVATIVES[name][1]
    if kind == "vjp" and seed is None and y.size != 1:
        raise ShapeError(
            f"a gradient is of one number, not of an array of shape {y.shape}",
            help="write sum(y) for the gradient of the sum",
        )
    return transforms.derive(kind, y, x, seed)


def derivative(
    builder: Builder, node: Call, name: str, arguments: list[Any], keywords: dict[str, Any]
) -> Expansion | Derived:
    """Return the expansion of a derivative in an expression, or the derivative of a function.

    The forms are grad(f), grad(y, x), grad(y, x, seed=v), vjp(y, x, v), jvp(y, x, v),
    jacobian(y, x), hessian(y, x) and hvp(y, x, v).

    The shapes are those of `transforms`: x's for grad and vjp, y's for jvp, and y's axes and then
    x's for jacobian. hessian and hvp need a y of one entry. Raises ArgumentError for other
    arguments, and where x is not a name or has a constant value. Raises ShapeError.
    """
    parameters, transformation = DERIVATIVES[name]
    of = arguments[0] if arguments else None
    if isinstance(of, FreeVariable) and of.name in builder.scope.functions:
        of = Derived(builder.scope.functions[of.name], ())
    if isinstance(of, Derived):
        given = binding.bind(builder, name, signature(name, "f, argnums"), arguments, keywords)
        places = builder.static(given.get("argnums", 0), "'argnums'")
        if not set(np.ravel(places)) <= set(range(len(of.of.parameters))):
            raise ArgumentError("'argnums' counts the parameters of the function, from 0")
        return Derived(of.of, (*of.steps, (name, places)))
    function = signature(name, parameters)
    given = binding.bind(builder, name, function, arguments, keywords)
    required = [p.name for p in function.parameters if p.name != "seed"]
    usage = f"write {name}({', '.join(required)})"
    if not given.keys() >= set(required):
        raise ArgumentError(f"{name} needs {' and '.join(required)}", help=usage)
    variable = node.arguments[1] if len(node.arguments) > 1 else dict(node.keywords)["x"]
    if not isinstance(variable, Name):
        raise ArgumentError(
            f"the second argument of {name} must be a name", help=f"{usage}, with x a bound name"
        ).at(variable.span)
    y, x, *vector = (builder.value(given[p.name]) for p in function.parameters if p.name in given)
    if x.is_constant:
        raise ArgumentError(
            f"'{variable.name}' is a constant; there is nothing to differentiate"
        ).at(variable.span)
    seed = vector[0] if vector else None

    def derive() -> Any:
        made = transforms.derive(transformation, y, x, seed)
        return (y, made) if name == "value_and_grad" else made

    return expand_call(name, (y, x, seed), derive)


# -- Which names a program can call: the functions of libraries, those of the language itself, and
# methods.


# Attributes and methods in array_methods.py, which is asked first for those that are in the
# catalogue, too.
OF_VALUES = words("""
    H all any astype at backward bfloat16 block_until_ready bool byte char conj
    conjugate contiguous copy data device dim double dtype flat flatten float
    grad half imag int item long mH ndimension nelement new_full new_ones new_tensor
    new_zeros numel pin_memory real resolve_conj resolve_neg short to type type_as
""")
OF_PYTHON = words("bool float int list range tuple")
OF_SYMPY = words("Abs Heaviside Max Min Piecewise Rational piecewise")


@cache
def exists(name: str, library: str) -> bool:
    """Return whether a library's prefix (or, for NumPy, no prefix) makes this name a function."""
    return name in ALIASES or lookup(name, library) is not None


@cache
def all_names() -> list[str]:
    """Every name that a program can call, for suggestions."""
    return sorted({*public_names(), *names(), *DERIVATIVES, *OF_SYMPY})


def is_function(name: str) -> bool:
    """Return whether a name without a prefix can be called."""
    return (
        exists(name, NUMPY)
        or exists(name, TORCH)
        or name in DERIVATIVES
        or name in OF_PYTHON
        or name in OF_SYMPY
    )


def is_method(name: str) -> bool:
    """Return whether ``x.name(...)`` calls a function."""
    return (
        exists(name, NUMPY)
        or exists(name, TORCH)
        or exists(f"Tensor.{name}", TORCH)
        or name in OF_VALUES
    )


@lru_cache(1024)
def close_to(name: str) -> str | None:
    """Return the callable name that is likely meant by another.

    It is cached, as the same mistake often stands in many records.
    """
    return suggestion(name, all_names())


def suggest_name(name: str) -> str | None:
    """Return the help of an error about a name that is no function, where one is close to it."""
    return did_you_mean(name, all_names())


@cache
def operation(name: str) -> Op | None:
    """Return the operation that a function without a prefix is.

    The function must be of a single array and take nothing else. Others give None.
    """
    found = lookup(name, NUMPY) or lookup(name, TORCH)
    special = name in ALIASES or name in DERIVATIVES
    if special or found is None or found.target in FUNCTIONS or len(found.parameters) != 1:
        return None
    record = record_named(found.target)
    if (
        not isinstance(record, Op)
        or record.variadic
        or record.static
        or record.indices
        or found.defaults
        or record.outputs > 1
    ):
        return None
    parameter = found.parameters[0]
    return (
        record
        if (parameter.name,) == record.operands and not (parameter.otherwise or parameter.ignored)
        else None
    )


# -- What to say of a name that has no value, or is no function, where one is wanted -------------


# Names that programs give their own functions, so no similar one is suggested.
_OF_PROGRAMS = words("model net network module criterion")
_PAIR = 2
_NOTES = by_word({
    "i j I J": "there are no complex numbers here",
    "T": "the transpose of A is A.T",
})  # fmt: skip
_DEGREES = words("deg degree degrees")
_LONGEST = 40  # longest name that may be several names written together, in characters
_BRACKET = re.compile(r"\s*(\([^()]*(?:\([^()]*\)[^()]*)*\))")


def missing_value(scope: Scope, variable: FreeVariable) -> GradcliError:
    """Return the error of a name used where it needs a value."""
    name = variable.name
    if name in scope.failed:
        line = scope.failed[name]
        cause = scope.causes.get(line, line)
        why = "it depends on" if cause != line else "it is set or changed by"
        error = MissingValueError(f"'{name}' has no value: {why} line {cause}, which has an error")
        error.follows = cause
        return error
    parts = split_glued(name, scope.names) if name not in scope.functions else None
    if parts is not None:
        return two_readings(name, parts)
    message = f"no value for '{name}'"
    help = did_you_mean(name, scope.names, f"give it one: {name}=1")
    places = range(1, len(name) if len(name) <= _LONGEST else 0)
    inner = next((i for i in places if name[i:] in scope.names and is_function(name[:i])), None)
    if name in _DEGREES:
        help = "write x° or x*pi/180"
    elif _is_function(scope, name):
        operands = record_named(name).operands if name in public_names() else ("x",)
        message = f"'{name}' is a function here; it has no value"
        help = f"write {name}({', '.join(operands)})"
    elif inner is not None:
        help = f"write {name[:inner]}({name[inner:]})"
    elif (calls := textbook.function_of_letters(name)) is not None:
        help = f"write {calls}, or give the name a value: {name} = 1"
    elif len(name) > 1 and not name.islower() and is_function(name.lower()):
        help = f"write {name.lower()}(x): functions have round brackets"
    return MissingValueError(message, help=help, note=_NOTES.get(name))


def _is_function(scope: Scope, name: str) -> bool:
    """Return whether a name is meant as a function.

    A letter alone (PyTorch's t) is a variable that was forgotten.
    """
    return name in scope.functions or (len(name) > 1 and is_function(name))


def two_readings(name: str, parts: list[str]) -> AmbiguousError:
    """Return the error of letters written together that are names each."""
    return AmbiguousError(
        f"'{name}' has two readings",
        help=f"write {'*'.join(parts)}, or give the name a value: {name} = 1",
    )


def split_glued(name: str, known: Collection[str]) -> list[str] | None:
    """Split a name without a value into known names and constants, as few as possible.

    Gives None if it is not written together of such names.
    """
    if not 2 <= len(name) <= _LONGEST or name in textbook.GREEK:
        return None
    best: list[list[str] | None] = [[]]  # best split of the first n letters, at index n
    for end in range(1, len(name) + 1):
        parts = [
            (before, name[start:end])
            for start, before in enumerate(best)
            if before is not None and end - start < len(name)
        ]
        found = [
            [*before, part] for before, part in parts if part in known or part in ("e", "pi", "π")
        ]
        best.append(min(found, key=len, default=None))
    whole = best[-1] or []
    return whole if any(part in known for part in whole) else None


def unknown_function(
    scope: Scope, name: str, written: Sequence[str], primes: int = 0
) -> GradcliError:
    """Return the error of calling a name that is no function.

    ``written`` are its arguments as they are written. With primes, the name is no function of the
    program.
    """
    if primes and is_function(name):
        message = "primes are of functions that the program defines"
        help = f"write {'grad(' * primes}{name}(x){', x)' * primes}"
        return UnknownNameError(message, help=help)
    close = suggestion(name, scope.functions) or close_to(name)
    inner = next((i for i in (1, 2) if textbook.is_bare(name[i:]) and name[:i].isalpha()), None)
    help = "define it before, or write * to multiply"
    if name in OF_DERIVATIVES:
        y, x = (
            (written[0] if written else "y"),
            (written[1] if len(written) > 1 and written[1].isidentifier() else "x"),
        )
        help = f"write grad({y}, {x})"
    elif inner is not None:
        help = f"write {'*'.join(name[:inner])}*{name[inner:]}({', '.join(written)})"
    elif name in textbook.NOT_COMPUTED:
        help = textbook.NOT_COMPUTED[name]
    elif close is not None and name not in _OF_PROGRAMS:
        help = f"did you mean '{close}'?"
    elif len(name) == _PAIR and name[0] in "d∂":
        help = f"write grad(y, {name[1:]}) for a derivative"
    return UnknownNameError(f"unknown function '{name}'", help=help)


def refuse_neighbours(name: str, written: list[str], arguments: list[Any]) -> None:
    """Raise ArgumentError for ``diff(x^2, x)``, which is a derivative elsewhere.

    NumPy's diff is of neighbouring entries, as often as a number says.
    """
    if (
        name not in OF_DERIVATIVES
        or not 1 <= len(written) <= _PAIR
        or not isinstance(arguments[0], Expr)
    ):
        return
    scalar = not arguments[0].shape
    if len(written) == 1 and scalar:
        written = [*written, "x"]
    if (
        len(written) == _PAIR
        and written[1].isidentifier()
        and (scalar or isinstance(arguments[-1], FreeVariable))
    ):
        raise ArgumentError(
            f"'{name}' is NumPy's, the differences of neighbouring entries",
            help=f"write grad({', '.join(written)})",
        )


def refuse_as_factor(
    scope: Scope, left: FreeVariable, right: object, node: Binary, source: Source
) -> None:
    """Raise AmbiguousError for ``exp -x``, ``f^2(x)`` of a function f, and ``dy/dx``.

    These are read in one way here and in another elsewhere.
    """
    name, text = left.name, source.text
    if (
        node.operator == "/"
        and type(right) is FreeVariable
        and name[:1] == right.name[:1]
        and name[0] in "d∂"
    ):
        y, x = name[1:], right.name[1:]
        if y.isidentifier() and x.isidentifier():
            raise AmbiguousError(
                f"'{name}/{right.name}' is a derivative in a book, and a quotient here",
                help=f"write grad({y}, {x})",
            )
    if not isinstance(node.left, Name) or not (
        _is_function(scope, name)
        and (name in scope.functions or split_glued(name, scope.names) is None)
    ):
        return
    if node.operator in ("+", "-"):
        argument = f"{name}({node.operator}{text[node.right.start : node.right.end]})"
        raise AmbiguousError(
            f"'{name} {node.operator}' has two readings: '{name}' is a function, and may be meant "
            "to have a value",
            help=f"write {argument}",
        ).at(node.span)
    if node.operator == "**":
        power = text[node.start : node.right.end].partition(name)[2]  # of \sin^2, too
        bracket = _BRACKET.match(text, node.right.end)
        argument = bracket[1] if bracket is not None else "(x)"
        raise AmbiguousError(
            f"'{name}{power}' has two readings: a power of the value, and the function of the "
            "function",
            help=f"write {name}{argument}{power} or {name}({name}{argument})",
        ).at(Span(node.start, node.end))


def refuse_bound_function(scope: Scope, node: Call, frame: Frame) -> None:
    """Raise for ``gamma(1 + x)`` where gamma is bound to a number: a call, or a product."""
    assert isinstance(node.callee, Name)
    name = node.callee.name
    value = frame.locals.get(name, scope.names.get(name))
    if not isinstance(value, Expr) or value.shape:
        return
    argument = frame.text_of(node.arguments[0])
    called = textbook.catalogue_name(name)
    prefixes = {MATH: "math", SCIPY: "scipy.special", NUMPY: "np"}
    prefix = next(
        (prefix for library, prefix in prefixes.items() if lookup(called, library) is not None),
        "torch",
    )
    raise AmbiguousError(
        f"'{name}(...)' has two readings: '{name}' is a function, and has a value here",
        help=f"write {name}*({argument}) or {prefix}.{called}({argument})",
    )


# -- Objects: what a library's class makes and keeps arguments for its functions, and names that
# are bound to these and to functions.


# Methods that draw at random; objects have none of them here.
_DRAWN = words("sample rsample sample_n rvs random_state")


class Instance(Thing):
    """An object of a class: the arguments that it keeps, by the names of our own parameters."""

    def __init__(self, of: Class, kept: Mapping[str, Any]) -> None:
        self.of, self.kept, self.written, self.parts = of, kept, of.name, [*kept.values()]

    @property
    def words(self) -> str:
        return f"{self.of.name}(...), which is no number,"

    def attribute(self, builder: Builder, name: str) -> Any:
        """``object.name``: the value of a property, or a method."""
        of = self.of
        if name in of.properties:
            return self.method(builder, name, [], {})
        if name in of.methods:
            return Function(name, of.library, self)
        if name in _DRAWN:
            raise UnknownNameError(
                f"{of.name}.{name} draws at random, which has no derivative here",
                help="give the numbers that were drawn a name: eps=[0.3, -1.2]",
            )
        known = ", ".join(method for method in of.methods if method != CALL)
        raise UnknownNameError(
            f"{of.name} has no '{name}' here",
            help=did_you_mean(name, of.methods, f"it has {known}" if known else None),
        )

    def call(self, builder: Builder, arguments: list[Any], keywords: dict[str, Any]) -> Any:
        return self.method(builder, CALL, arguments, keywords)

    def method(
        self, builder: Builder, method: str, arguments: list[Any], keywords: dict[str, Any]
    ) -> Any:
        """Call a method, or the object itself.

        It gives and raises the same as `call`.
        """
        of, function = self.of, self.of.function(method)
        if function is None:
            raise TypeMismatchError(
                f"a {of.name} cannot be called",
                help=f"write {of.name}(...).{next(iter(of.methods))}(x)",
            )
        name, accepted = of.name if method == CALL else method, of.accepts(method)
        given = binding.bind(builder, name, function, arguments, keywords)
        return apply_named(
            builder,
            name,
            function,
            {**{n: value for n, value in self.kept.items() if n in accepted}, **given},
        )


def is_object(result: Any) -> bool:
    """Return whether a result is bound to a name as it is.

    Such results are objects, libraries and functions of libraries.
    """
    kinds = (Module, Thing, Range, Indices, Results, DType, str)
    return isinstance(result, kinds) or (isinstance(result, Function) and result.base is None)


def is_several(result: Any, mentions: bool) -> bool:
    """Return whether a result is a tuple that a name may be bound to.

    Such tuples have values made of names, or whole numbers, as a shape has.

    A tuple of other numbers is refused: nothing would be differentiated by these values.
    """
    if not isinstance(result, tuple) or not result or isinstance(result, DType):
        return False
    return mentions or all(
        isinstance(part, Expr) and part.is_constant and type(part.payload) is int for part in result
    )


def class_at(path: str) -> Class | None:
    """Return the class that a path of a library names, or None if it names none.

    Examples are scipy.stats.gamma and torch.nn.MSELoss.
    """
    part, _, name = path.rpartition(".")
    of_stats = part.rpartition(".")[2] == "stats"
    if not of_stats and (library_of(part) != TORCH or not name[:1].isupper()):
        return None
    known = class_of(name, SCIPY if of_stats else TORCH)
    return known if isinstance(known, Class) else None


def refuse(name: str, library: str) -> None:
    """Raise TypeMismatchError for a class whose objects are not taken."""
    known = class_of(name, library)
    if isinstance(known, Refused):
        raise TypeMismatchError(known.why, help=known.help)


def bare(name: str) -> Class | None:
    """Return the class that a name without a prefix means, as after an import.

    Examples are Normal and norm. A letter alone (SciPy's f and t) is the user's own name.

    Raises TypeMismatchError as `refuse` does.
    """
    if len(name) == 1:
        return None
    library = TORCH if name[:1].isupper() else SCIPY
    refuse(name, library)
    known = class_of(name, library)
    return known if isinstance(known, Class) else None


def construct(
    builder: Builder, of: Class, arguments: list[Any], keywords: dict[str, Any]
) -> Instance:
    """Make an object of a class.

    Raises ArgumentError for arguments that its constructor does not take, MissingValueError for
    missing values.
    """
    kept = binding.bind(builder, of.name, of.constructor, arguments, keywords)
    for argument in kept.values():
        if isinstance(argument, FreeVariable):
            raise missing_value(builder.scope, argument)
    for name, count in of.repeated.items():
        if name in kept and not isinstance(kept[name], (tuple, list)):
            kept[name] = (kept[name],) * count
    return Instance(of, kept)


_UFUNC_KEYWORDS = words("out where casting order dtype subok")
_ROWS = (tuple, list, Indices)


def call(
    builder: Builder,
    name: str,
    library: str,
    arguments: list[Any],
    keywords: dict[str, Any],
    bare: bool = False,
) -> Any:
    """Apply a function of a library to lowered arguments.

    Returns its result, or the `Expansion` of a function that is made of operations.

    ``bare`` is a name without a prefix, for which max and min take several values, too. Raises
    ArgumentError for arguments that the library's function does not take, ShapeError and
    TypeMismatchError for those that it cannot take.
    """
    name = constructors.ALIASES.get(name, name)
    if bare and name in ("max", "min") and len(arguments) > 1:
        if keywords:
            raise ArgumentError(
                f"{name} of several values takes no {next(iter(keywords))!r}",
                help=f"write {name}([x, y], axis=0)",
            )
        several = constructors.maximum_of if name == "max" else constructors.minimum_of
        return expand_call(name, arguments, lambda: several(builder, *arguments))
    if name == "where" and len(arguments) == 1 and not keywords:
        return expand_call(name, arguments, lambda: constructors.nonzero(builder, arguments[0]))
    found = lookup(name, library)
    if found is None:
        raise ArgumentError(f"'{name}' is no function of {library}")
    if library in (NUMPY, JAX) and not _UFUNC_KEYWORDS.isdisjoint(keywords):
        found = _as_ufunc(found)
    return apply_named(
        builder, name, found, binding.bind(builder, name, found, arguments, keywords)
    )


def apply_named(builder: Builder, name: str, found: Signature, given: Mapping[str, Any]) -> Any:
    composition = constructors.FUNCTIONS.get(found.target)
    if composition is not None:
        return run_body(builder, found, composition, given, given)
    record = binding.choose_record(builder, record_named(found.target), given)
    if any(type(argument) in _ROWS for argument in given.values()):
        given = {
            name: _rows(argument) if name in record.operands else argument
            for name, argument in given.items()
        }
    operands, static = binding.prepare(builder, record, name, found, given)
    if isinstance(record, Op):
        return builder.call_op(record, operands, static)
    (made,) = calls_in(lambda: binding.apply(builder, record, name, found, operands, static))
    if isinstance(made.result, tuple) and len(made.result) == len(record.results):
        return made.but(result=Results.of(made.result, record.result_names))
    return made


def _rows(argument: Any) -> Any:
    """Tuples as lists, which are arrays."""
    return [_rows(part) for part in argument] if type(argument) in _ROWS else argument


def _as_ufunc(found: Signature) -> Signature:
    """Add the keywords that NumPy has for all elementwise functions to one of them."""
    record = None if found.target in constructors.FUNCTIONS else record_named(found.target)
    if not isinstance(record, Op) or not record.elementwise or record.result != "float":
        return found
    known = {spelling for parameter in found.parameters for spelling in parameter.spellings}
    more = signature(
        found.target, "-out, -everywhere|where, -casting, -memory_order|order, -dtype, -subok"
    ).parameters
    parameters = (*found.parameters, *(p for p in more if known.isdisjoint(p.spellings)))
    return Signature(found.target, parameters, found.defaults)


def result_of(made: Any) -> Any:
    """Return what a call gave, without how it was expanded."""
    return made.result if isinstance(made, Expansion) else made


def conversion(
    builder: Builder, dtype: DType, arguments: list[Any], keywords: dict[str, Any]
) -> Any:
    """``np.float64(2.)``: a number, or an array of them, as one of a dtype."""
    if keywords or len(arguments) != 1:
        raise ArgumentError(f"{dtype.name} takes one number", help=f"write np.{dtype.name}(2)")
    given = (
        constructors.known_number(arguments[0]) if isinstance(arguments[0], str) else arguments[0]
    )
    return constructors.convert(builder, given, dtype, f"{dtype.name}()")


def is_pair(node: Call, nodes: list[Node]) -> bool:
    """Return whether ``.values`` or ``.indices`` follows a call, which PyTorch's results have."""
    after = nodes[node.place + 1] if node.place + 1 < len(nodes) else None
    return (
        isinstance(after, Attribute) and after.base is node and after.name in ("values", "indices")
    )


def call_method(
    builder: Builder, function: Function, arguments: list[Any], keywords: dict[str, Any]
) -> Any:
    """Call ``x.name(...)`` as the method's library has it.

    The function of that name gets x as its first argument. The call gives and raises the same as
    `call`.
    """
    name, base = function.name, function.base
    if isinstance(base, Instance):
        return base.method(builder, name, arguments, keywords)
    library = function.library
    own = f"Tensor.{name}" if library == TORCH else f"ndarray.{name}"
    found = next(
        (n, lib)
        for n, lib in (
            (own, library),
            (name, library),
            (name, NUMPY),
            (f"Tensor.{name}", TORCH),
            (name, TORCH),
        )
        if exists(n, lib)
    )
    return call(builder, *found, [base, *arguments], keywords)
