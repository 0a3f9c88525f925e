"""Exports to C99: a function of pointers to doubles, whose arrays are in C order."""

from __future__ import annotations

import re
from collections.abc import Sequence

from gradcli.exports.loops import Loops, loopable
from gradcli.exports.python import Syntax, builtins, called, functions_in_c, wrapped
from gradcli.exports.subject import Names, Subject, conventions, described
from gradcli.inert import printable

_WORDS = frozenset(
    re.findall(
        r"\w+",
        """
        auto break case char const continue default do double else enum extern float for goto if inline int long
        register restrict return short signed sizeof static struct switch typedef union unsigned void volatile while
        _Bool _Complex _Imaginary bool true false asm typeof free malloc main NAN INFINITY DBL_MAX NULL errno value k
        """,
    )
)
_ON_STACK = 4096  # entries of arrays that are no more than variables


def _array(name: str, size: int) -> str:
    return f"double {name}[{size}];" if 0 < size <= _ON_STACK else f"double *{name} = malloc({max(size, 1)} * sizeof *{name});"


_C = Syntax(
    "c", "(double)", "NAN", "INFINITY", _array, "const double {} = {};", "double {} = {};",
    "for (int {0} = 0; {0} < {1}; {0}++) {{", "static const {} {}[] = {{{}}};",
)  # fmt: skip


class CFile:
    """Files of C."""

    def file(self, subjects: Sequence[Subject]) -> str:
        """The text of a file. Raises UnsupportedInTargetError."""
        bodies = [self._function(subject) for subject in subjects]
        code = "\n\n\n".join(bodies)
        own = builtins("c.c.txt")
        available = {name: text for name, text in functions_in_c().items() if name not in own}
        library = [available[name] for name in called(code, available)]
        heading = "#include <float.h>\n#include <math.h>\n#include <stdlib.h>"
        return "\n\n\n".join([heading, *library, code]) + "\n"

    def _function(self, subject: Subject) -> str:
        kinks = conventions(subject)
        known = {**{name: name for name in functions_in_c()}, **builtins("c.c.txt")}
        subject = loopable(subject, "c", known)
        names = Names({*_WORDS, *known, *known.values(), subject.function}, unicode=False)
        parameters = sorted(subject.parameters, key=lambda parameter: parameter.name)
        called_ = {parameter.name: names.of(parameter.name) for parameter in parameters}
        leaves = {p.leaf: called_[p.name] if p.shape else f"{called_[p.name]}[0]" for p in parameters}
        gradients = {name: names.of(called_[name], prefix="grad_") for name in sorted(subject.gradients)}
        loops = Loops(_C, known, subject, names, leaves)
        loops.write()
        arguments = [f"const double *{called_[p.name]}" for p in parameters] + [f"double *{name}" for name in gradients.values()]
        for name, pointer in gradients.items():
            loops.result(subject.gradients[name], pointer)
        total = loops.total(subject.value)
        freed = [f"    free({name});" for name, size in loops.arrays if not 0 < size <= _ON_STACK]
        if freed:
            freed = [f"    const double value = {total};", *freed]
            total = "value"
        comment = [_inert(line) for line in described(subject, kinks, called_)]
        comment += ["", "Arrays are in C order; the sum of the value's entries is returned."] if subject.value.shape else []
        lines = ["/* " + comment[0], *(f"   {line}".rstrip() for line in comment[1:-1]), f"   {comment[-1]} */"]
        lines += wrapped(f"double {subject.function}({', '.join(arguments) or 'void'}) {{")
        for line in [*loops.lines, *freed, f"    return {total};"]:
            lines += wrapped(line)
        return "\n".join([*lines, "}"])


def _inert(text: str) -> str:
    """A line inside of a comment, which it does not end, nor joins with the next one; no trigraphs."""
    return printable(text).replace("*/", "* /").replace("/*", "/ *").replace("\\", "\\\\").replace("??", "? ?")
