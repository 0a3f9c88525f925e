"""What to say of a name that has no value, or is no function, where one is wanted."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence

from gradcli.errors import AmbiguousError, ArgumentError, GradcliError, MissingValueError, Source, Span, UnknownNameError, suggestion
from gradcli.graph.nodes import Expr
from gradcli.language import callables
from gradcli.language.frames import Frame
from gradcli.language.names import FreeVariable
from gradcli.language.scope import Scope
from gradcli.language.tree import Binary, Call, Name, Number
from gradcli.ops.calling import textbook
from gradcli.ops.calling.meanings import OF_DERIVATIVES, lookup
from gradcli.ops.calling.prefixes import MATH, NUMPY, SCIPY

# Functions of Python that have others in their place, or none.
_OF_PYTHON = {
    "sorted": "write sort(x)",
    "reversed": "write flip(x, 0)",
    "enumerate": "write arange(3) for the numbers of entries",
    "isinstance": "leave it out",
    **dict.fromkeys(("map", "zip", "filter"), "write sin(x)*y: functions work on all entries at once"),
    **dict.fromkeys(("dict", "set", "frozenset", "iter", "next", "str", "repr", "input"), "write [1, 2] for an array"),
}
# What programs call by names of their own, which are near to those of functions.
_OF_PROGRAMS = frozenset({"model", "net", "network", "module", "criterion", "loss_fn", "policy", "encoder", "decoder", "layer", "forward"})
_PAIR = 2
_DEGREES = frozenset({"deg", "degree", "degrees"})
_IMAGINARY = frozenset("ijIJ")
_LONGEST = 40  # characters of a name that may be several names written together
_BRACKET = re.compile(r"\s*(\([^()]*(?:\([^()]*\)[^()]*)*\))")


def missing_value(scope: Scope, variable: FreeVariable) -> GradcliError:
    """The error of a name used where it needs a value."""
    name = variable.name
    if name in scope.failed:
        line = scope.failed[name]
        cause = scope.causes.get(line, line)
        why = "its binding" if cause == line else "it depends on the binding"
        error = MissingValueError(
            f"'{name}' has no value: {why} on line {cause}{' has an error' if cause == line else ', which has an error'}"
        )
        error.follows = cause
        return error
    parts = glued(name, scope.names) if name not in scope.functions else None
    if parts is not None:
        return two_readings(name, parts)
    if _is_function(scope, name):
        return MissingValueError(f"'{name}' is a function here; it has no value", help=f"write {name}(x)")
    for i in range(1, len(name) if len(name) <= _LONGEST else 0):
        if name[i:] in scope.names and callables.is_function(name[:i]):
            return MissingValueError(f"no value for '{name}'", help=f"write {name[:i]}({name[i:]})")
    if (calls := textbook.function_of_letters(name)) is not None:
        return MissingValueError(f"no value for '{name}'", help=f"write {calls}, or give the name a value: {name} = 1")
    if len(name) > 1 and not name.islower() and callables.is_function(name.lower()):
        return MissingValueError(f"no value for '{name}'", help=f"write {name.lower()}(x): functions have round brackets")
    close = suggestion(name, scope.names)
    return MissingValueError(f"no value for '{name}'", help=f"did you mean '{close}'?" if close else f"give it one: {name}=1")


def _is_function(scope: Scope, name: str) -> bool:
    """Whether who writes a name means a function: a letter alone (PyTorch's t) is a variable that was forgotten."""
    return name in scope.functions or (len(name) > 1 and callables.is_function(name))


def two_readings(name: str, parts: list[str]) -> AmbiguousError:
    """The error of letters written together that are names each."""
    return AmbiguousError(f"'{name}' has two readings", help=f"write {'*'.join(parts)}, or give the name a value: {name} = 1")


def glued(name: str, known: Collection[str]) -> list[str] | None:
    """The names and constants that a name without a value is written together of, as few as can be; None if it is not."""
    if not 2 <= len(name) <= _LONGEST or name in textbook.GREEK:
        return None
    best: list[list[str] | None] = [[], *[None] * len(name)]
    for end in range(1, len(name) + 1):
        for start in range(end):
            before, part = best[start], name[start:end]
            if before is not None and part != name and (part in known or part in ("e", "pi", "π")):
                found = best[end]
                if found is None or len(before) + 1 < len(found):
                    best[end] = [*before, part]
    parts = best[-1]
    return parts if parts is not None and any(part in known for part in parts) else None


def unknown_function(scope: Scope, name: str, written: Sequence[str] = ()) -> GradcliError:
    """The error of calling a name that is no function, on arguments that are written so."""
    if name in _OF_PYTHON:
        return UnknownNameError(f"the language has no '{name}'", help=_OF_PYTHON[name])
    if name in _OF_PROGRAMS:
        names = written if written and all(map(str.isidentifier, written)) else ["x"]
        body = "*".join(dict.fromkeys(names)) if len(names) > 1 else f"tanh({names[0]})"
        return UnknownNameError(f"unknown function '{name}'", help=f"define it: {name}({', '.join(dict.fromkeys(names))}) = {body}")
    if name in OF_DERIVATIVES:
        y, x = (written[0] if written else "y"), (written[1] if len(written) > 1 and written[1].isidentifier() else "x")
        return UnknownNameError(f"unknown function '{name}'", help=f"write grad({y}, {x})")
    close = suggestion(name, scope.functions) or callables.close_to(name)
    inner = next((i for i in (1, 2) if textbook.is_bare(name[i:]) and name[:i].isalpha()), None)
    if inner is not None:
        help = f"write {'*'.join(name[:inner])}*{name[inner:]}({', '.join(written)})"
    elif close is not None:
        help = f"did you mean '{close}'?"
    elif len(name) == _PAIR and name[0] in "d∂":
        help = f"write grad(y, {name[1:]}) for a derivative"
    else:
        help = "define it before, or write * to multiply"
    return UnknownNameError(f"unknown function '{name}'", help=help)


def refuse_neighbours(name: str, written: list[str], first: object, second: object = None) -> None:
    """Raise for ``diff(x^2, x)``, which is a derivative elsewhere: NumPy's is of neighbouring entries, as often as a number says."""
    if name not in OF_DERIVATIVES or len(written) > _PAIR or not isinstance(first, Expr):
        return
    if len(written) == 1 and not first.shape:
        written = [*written, "x"]
    if len(written) < _PAIR or not written[1].isidentifier():
        return
    if not first.shape or isinstance(second, FreeVariable):
        raise ArgumentError(f"'{name}' is NumPy's, the differences of neighbouring entries", help=f"write grad({', '.join(written)})")


def refuse_as_factor(scope: Scope, left: FreeVariable, right: object, node: Binary, source: Source) -> None:
    """Raise for ``exp -x``, ``f^2(x)`` of a function f, and ``dy/dx``, which are read in one way here and in another there."""
    name, text = left.name, source.text
    if node.operator == "/" and type(right) is FreeVariable and name[:1] == right.name[:1] and name[0] in "d∂":
        y, x = name[1:], right.name[1:]
        if y.isidentifier() and x.isidentifier():
            raise AmbiguousError(f"'{name}/{right.name}' is a derivative in a book, and a quotient here", help=f"write grad({y}, {x})")
    if not isinstance(node.left, Name) or not (_is_function(scope, name) and (name in scope.functions or glued(name, scope.names) is None)):
        return
    if node.operator in ("+", "-"):
        argument = f"{name}({node.operator}{text[node.right.start : node.right.end]})"
        raise AmbiguousError(
            f"'{name} {node.operator}' has two readings: '{name}' is a function, and may be meant to have a value", help=f"write {argument}"
        ).at(node.span)
    if node.operator == "**":
        power = text[node.left.end : node.right.end]
        bracket = _BRACKET.match(text, node.right.end)
        argument = bracket[1] if bracket is not None else "(x)"
        raise AmbiguousError(
            f"'{name}{power}' has two readings: a power of the value, and the function of the function",
            help=f"write {name}{argument}{power} or {name}({name}{argument})",
        ).at(Span(node.start, node.end))


def refuse_as_unit(right: FreeVariable, node: Binary, source: Source) -> None:
    """Raise for ``45deg`` and ``2j``: a name without a value after a factor, which is a unit elsewhere."""
    if node.operator != "*" or not isinstance(node.left, (Name, Number)):
        return
    factor = source.text[node.left.start : node.left.end]
    if right.name in _DEGREES:
        raise MissingValueError(f"no value for '{right.name}'", help=f"write {factor}° or {factor}*pi/180").at(node.right.span, source)
    if right.name in _IMAGINARY and isinstance(node.left, Number) and node.left.end == node.right.start:
        raise MissingValueError(f"'{factor}{right.name}' is complex elsewhere; there are no complex numbers here").at(node.span, source)


def refuse_bound_function(scope: Scope, node: Call, frame: Frame) -> None:
    """Raise for ``gamma(1 + x)`` where gamma is bound to a number: a call, or a product."""
    assert isinstance(node.callee, Name)
    name = node.callee.name
    value = frame.locals.get(name, scope.names.get(name))
    if not isinstance(value, Expr) or value.shape:
        return
    argument = frame.source.text[node.arguments[0].start : node.arguments[0].end]
    argument = argument[1:-1] if argument.startswith("(") and argument.endswith(")") and argument.count("(") == 1 else argument
    prefix = "math" if _is_in(name, MATH) else "scipy.special" if _is_in(name, SCIPY) else "np" if _is_in(name, NUMPY) else "torch"
    raise AmbiguousError(
        f"'{name}(...)' has two readings: '{name}' is a function, and has a value here",
        help=f"write {name}*({argument}) or {prefix}.{name}({argument})",
    )


def _is_in(name: str, library: str) -> bool:
    return lookup(name, library) is not None
