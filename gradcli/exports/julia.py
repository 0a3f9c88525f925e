"""Exports to Julia: a function of keywords, which gives the value and a named tuple of gradients."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Sequence

import numpy as np

from gradcli.exports.description import conventions, described
from gradcli.exports.library import builtins, called, functions
from gradcli.exports.loops import Loops
from gradcli.exports.naming import Names
from gradcli.exports.statements import wrapped
from gradcli.exports.subject import Subject
from gradcli.exports.syntax import Syntax
from gradcli.exports.writable import loopable
from gradcli.graph.nodes import Expr
from gradcli.inert import printable

_WORDS = frozenset(
    re.findall(
        r"\w+",
        """
        baremodule begin break catch const continue do else elseif end export false finally for function global if
        import let local macro module quote return struct true try using while mutable abstract primitive type where in
        isa missing nothing Inf NaN pi im Float64 Array flat shaped value zeros
        """,
    )
)
_FLAT = """# The entries of an array in the order of rows, and back.
flat(x) = vec(permutedims(x, ndims(x):-1:1))
shaped(entries, shape) = permutedims(reshape(entries, reverse(shape)), length(shape):-1:1)"""


class _Julia(Syntax):
    name = "julia"
    first = 1
    closing = "end"
    as_number = "Float64"

    def number(self, value: float) -> str:
        return repr(value) if math.isfinite(value) else "NaN" if value != value else "-Inf" if value < 0 else "Inf"

    def table(self, name: str, values: np.ndarray) -> list[str]:
        is_float = values.dtype.kind == "f"
        return [f"    {name} = [{', '.join(self.number(float(v)) if is_float else str(int(v)) for v in values.ravel())}]"]

    def array(self, name: str, size: int) -> str:
        return f"{name} = zeros({size})"

    def scalar(self, name: str, text: str) -> str:
        return f"{name} = {text}"

    variable = scalar

    def assigned(self, place: str, text: str) -> str:
        return f"{place} = {text}"

    def loop(self, index: str, extent: int) -> str:
        return f"for {index} in 0:{extent - 1}"

    def choice(self, condition: str, x: str, y: str) -> str:
        return (
            f"{condition} != 0 ? {x} : {y}"
            if condition.replace("_", "").isalnum() or condition.endswith("]")
            else f"{condition} ? {x} : {y}"
        )


class JuliaFile:
    """Files of Julia."""

    def file(self, subjects: Sequence[Subject]) -> str:
        """The text of a file. Raises UnsupportedInTargetError."""
        bodies = [self._function(subject) for subject in subjects]
        code = "\n\n\n".join(bodies)
        available = functions("julia.jl.txt")
        library = [available[name] for name in called(code, available)]
        return "\n\n\n".join([*([_FLAT] if "flat(" in code or "shaped(" in code else []), *library, code]) + "\n"

    def _function(self, subject: Subject) -> str:
        kinks = conventions(subject)
        known = {**{name: name for name in functions("julia.jl.txt")}, **builtins("julia.jl.txt")}
        subject = loopable(subject, "julia", known)
        names = Names({*_WORDS, *known, *known.values(), subject.function}, unicode=True)
        parameters = sorted(subject.parameters, key=lambda parameter: parameter.name)
        own = {parameter.name: names.of(parameter.name) for parameter in parameters}
        flat = {p.name: names.of(f"{own[p.name]}_flat") if p.shape else own[p.name] for p in parameters}
        loops = Loops(_Julia(), known, subject, names, {p.leaf: flat[p.name] for p in parameters})
        loops.write()
        value = self._given(loops, subject.value)
        entries = [f"{_key(name)} = {self._given(loops, node)}" for name, node in subject.gradients.items()]
        comment = [printable(line) for line in described(subject, kinks, own)]
        lines = [f"# {line}".rstrip() for line in comment]
        lines += wrapped(f"function {subject.function}(; {', '.join(own.values())})")
        lines += [f"    {flat[p.name]} = flat({own[p.name]})" for p in parameters if p.shape]
        for line in [*loops.out.lines, f"    return {value}, (; {', '.join(entries)})"]:
            lines += wrapped(line)
        return "\n".join([*lines, "end"])

    def _given(self, loops: Loops, node: Expr) -> str:
        return loops.value(node)[0] if not node.shape else f"shaped({loops.array_of(node)}, {node.shape})"


def _key(name: str) -> str:
    """A name as a key of a named tuple; those that Julia has for itself in its quotes."""
    return name if name.isidentifier() and name not in _WORDS else f"var{json.dumps(name, ensure_ascii=False)}".replace("$", "\\$")
