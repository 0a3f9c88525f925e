"""Exports to JavaScript: a module whose function takes and gives nested arrays."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from functools import cache

from gradcli.exports.loops import Loops, loopable
from gradcli.exports.python import Syntax, builtins, called, functions, functions_in_c, wrapped
from gradcli.exports.subject import Names, Subject, conventions, described
from gradcli.graph.nodes import Expr
from gradcli.inert import printable

_WORDS = frozenset(
    re.findall(
        r"\w+",
        """
        await break case catch class const continue debugger default delete do else enum export extends false finally
        for function if implements import in instanceof interface let new null package private protected public return
        static super switch this throw true try typeof var void while with yield arguments eval undefined NaN Infinity
        Math Number Object Array flat nested value grad
        """,
    )
)
_FLAT = """function flat(x) { // the entries of a nested array in order
    return Array.isArray(x) ? x.flat(Infinity) : Array.from(x);
}"""
_NESTED = """function nested(entries, shape) { // flat entries as a nested array
    if (shape.length === 1) return Array.from(entries);
    const size = shape.slice(1).reduce((x, y) => x * y, 1);
    return Array.from({ length: shape[0] }, (_, i) => nested(entries.slice(i * size, (i + 1) * size), shape.slice(1)));
}"""


_JAVASCRIPT = Syntax(
    "javascript", "Number", "NaN", "Infinity", "const {} = new Array({});".format, "const {} = {};", "let {} = {};",
    "for (let {0} = 0; {0} < {1}; {0}++) {{", "const {1} = [{2}];",
)  # fmt: skip


@cache
def _library() -> dict[str, str]:
    """The functions that modules bring along by their names: JavaScript's own, and C's in its words."""
    own = functions("javascript.js.txt")
    return own | {name: _translation(text) for name, text in functions_in_c().items() if name not in own}


def _translation(text: str) -> str:
    """A function of C in JavaScript."""
    head, end, body = text.partition(") {")
    head = re.sub(r"static double (\w+)", r"function \1", head)
    head = re.sub(r"\b(double|int|void) ?", "", head)
    body = re.sub(r"\b(double|int) (?=\w)", "let ", body).replace("DBL_MAX", "Number.MAX_VALUE").replace("INFINITY", "Infinity")
    known = builtins("javascript.js.txt")
    text = re.sub(r"\b(\w+)\(", lambda name: known.get(name[1], name[1]) + "(", head + end + body)
    return re.sub(r"/\* (.*) \*/", r"// \1", text)


class JavaScriptModule:
    """Modules of JavaScript."""

    def file(self, subjects: Sequence[Subject]) -> str:
        """The text of a module. Raises UnsupportedInTargetError."""
        bodies = [self._function(subject) for subject in subjects]
        code = "\n\n\n".join(bodies)
        available = _library()
        library = [available[name] for name in called(code, available)]
        made = [text for name, text in (("flat(", _FLAT), ("nested(", _NESTED)) if re.search(rf"\b{re.escape(name)}", code)]
        return "\n\n\n".join([*made, *library, code]) + "\n"

    def _function(self, subject: Subject) -> str:
        kinks = conventions(subject)
        known = {**{name: name for name in _library()}, **builtins("javascript.js.txt")}
        subject = loopable(subject, "javascript", known)
        names = Names({*_WORDS, *known, subject.function}, unicode=True)
        parameters = sorted(subject.parameters, key=lambda parameter: parameter.name)
        own = {parameter.name: names.of(parameter.name) for parameter in parameters}
        flat = {p.name: names.of(f"{own[p.name]}_flat") if p.shape else own[p.name] for p in parameters}
        loops = Loops(_JAVASCRIPT, known, subject, names, {p.leaf: flat[p.name] for p in parameters})
        loops.write()
        value = self._given(loops, subject.value)
        entries = [f"{_key(name)}: {self._given(loops, node)}" for name, node in subject.gradients.items()]
        keys = [name if own[name] == name else f"{_key(name)}: {own[name]}" for name in own]
        comment = [printable(line).replace("*/", "* /") for line in described(subject, kinks, own)]
        lines = ["/**", *(f" * {line}".rstrip() for line in comment), " */"]
        lines += wrapped(
            f"export function {subject.function}({{ {', '.join(keys)} }}) {{" if keys else f"export function {subject.function}() {{"
        )
        lines += [f"    const {flat[p.name]} = flat({own[p.name]});" for p in parameters if p.shape]
        for line in [*loops.lines, f"    return {{ value: {value}, grad: {{ {', '.join(entries)} }} }};"]:
            lines += wrapped(line)
        return "\n".join([*lines, "}"])

    def _given(self, loops: Loops, node: Expr) -> str:
        if not node.shape:
            text = loops.value(node)[0]
            return f"Boolean({text})" if node.kind == "bool" else text
        return f"nested({loops.array_of(node)}, {list(node.shape)})"


def _key(name: str) -> str:
    return name if name.isidentifier() else json.dumps(name)
