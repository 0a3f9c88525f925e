"""Value and gradients as loops, for languages whose expressions know numbers only.

These are C and JavaScript.

The graph is read in index form (`plans.index_form`): every entry is an expression of indices along
named axes. What is used more than once, what is summed, and what is long gets an array of its own,
filled by a loop. All arrays are flat, in C order.
"""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from gradcli.errors import UnsupportedInTargetError
from gradcli.exports.python import (
    LONGEST,
    NUMPY,
    called_functions,
    functions,
    is_shared,
    number_piece,
    number_text,
    operator_text,
    wrap,
)
from gradcli.exports.subject import (
    Names,
    Subject,
    describe,
    lacking,
    writable,
)
from gradcli.graph.nodes import Expr, reachable
from gradcli.graph.sparsity import sources_of_entries, targets_of_entries
from gradcli.ops.spec import Op
from gradcli.ops.text import ATOM, BINDING, SUM, Piece
from gradcli.plans.index_form import Axis, Item, Reader
from gradcli.texts import printable, words

_LETTERS = "ijklmnpqrsuvw"
_CALL = re.compile(r"\bg_(\w+)")
_HEX = re.compile(r"\(\(real\)(-?)(0x[0-9a-f.]+p[-+]\d+|__builtin_inf\(\)|__builtin_nan\(\"\"\))\)")


@dataclass(frozen=True)
class Syntax:
    """The differences of the languages.

    array                     how an array of a name and a size is declared
    constant, variable, loop  templates of a name and a text; of an index and how far it goes
    table                     of a type, a name and entries
    leaf                      how an argument's entries are called, by its own name and its shape
    builtins                  functions that the language has itself, by what a text calls them
    """

    name: str
    as_number: str
    nan: str
    infinity: str
    array: Callable[[str, int], str]
    constant: str
    variable: str
    loop: str
    table: str
    reserved: Collection[str]
    leaf: Callable[[Names, str, tuple[int, ...]], str]
    builtins: dict[str, str]

    def number(self, value: float) -> str:
        return number_text(value, self.nan, self.infinity)


_OF_NUMPY = re.compile(r"\b(?:np\.|special\.|_)(\w+)\(")


def in_words(op: Op, present: Sequence[bool], static: Mapping[str, Any]) -> str:
    """Return the text of an operation on numbers.

    It is C's, with numbers in decimals, or else NumPy's with functions of the same names.
    """
    return op.in_c(present, **static) or _OF_NUMPY.sub(
        r"g_\1(", NUMPY.template(op, present, [()] * len(present), static)
    )


def _builtins(listed: Mapping[str, str]) -> dict[str, str]:
    """Return functions of a language by what a text calls them, listed by what stands before."""
    pairs = [
        (prefix, *word.partition("=")) for prefix, names in listed.items() for word in names.split()
    ]
    return {ours: prefix + (theirs or ours) for prefix, ours, _, theirs in pairs}


@cache
def functions_in_c() -> dict[str, str]:
    """Return the functions of C that exported code brings along.

    They are those that programs have, too, made of some functions that are simpler here.
    """
    return {
        name: text
        for file in ("c.c.txt", "composed.h", "special.h")
        for name, text in functions(file).items()
    }


def _moves(node: Expr, op: Op) -> bool:
    """Return whether an operation only moves entries, or adds them up where they go."""
    return sources_of_entries(node, op) is not None or targets_of_entries(node, op) is not None


class Loops:
    """The statements of one function, and the arrays that they declare, with their sizes.

    own      what the parameters are called, by the user's names
    comment  what it computes, in words
    """

    def __init__(self, syntax: Syntax, library: Iterable[str], subject: Subject) -> None:
        """Begin the text of a subject, by functions of the language and a library."""
        functions = {name: name for name in library} | syntax.builtins
        subject = loopable(subject, syntax.name, functions)
        reserved = {*syntax.reserved, *functions, *functions.values(), subject.function}
        self.syntax = syntax
        self.functions = functions
        self.names = Names(reserved)
        self.parameters = dict(sorted(subject.parameters.items()))
        self.own = {name: self.names.of(name) for name in self.parameters}
        self.leaves = {
            leaf: syntax.leaf(self.names, self.own[name], leaf.shape)
            for name, leaf in self.parameters.items()
        }
        self.comment = describe(subject, self.own)
        self.lines: list[str] = []
        self.arrays: list[tuple[str, int]] = []
        self._depth = 1
        self._letters: dict[Axis, str] = {}
        self.subject = subject
        self.order = reachable(subject.roots)
        self.reader = Reader(self.order, as_it_is=True)
        self.text: dict[Item, Piece] = {}
        self.stored: set[Item] = set()
        self.whole: dict[Expr, str] = dict(self.leaves)
        views = self.reader.views
        self.labels = {
            views[node].item: name for node, name in subject.labels.items() if node in views
        }
        self.uses = self._count()

    def _count(self) -> Counter[Item]:
        uses: Counter[Item] = Counter()
        for items in self.reader.made.values():
            for item in items:
                uses.update(item.operands)
        read = {
            item.node
            for items in self.reader.made.values()
            for item in items
            if item.what == "read"
        }
        for node, view in self.reader.views.items():
            if node in read:
                uses[view.item] += 2
        return uses

    # -- lines

    def _add(self, line: str) -> None:
        self.lines.append("    " * self._depth + line)

    def _table(self, name: str, values: np.ndarray) -> str:
        """Write a table of numbers before everything else."""
        is_float = values.dtype.kind == "f"
        entries = ", ".join(
            self.syntax.number(float(v)) if is_float else str(int(v)) for v in values.ravel()
        )
        self.lines.insert(
            0, f"    {self.syntax.table.format('double' if is_float else 'int', name, entries)}"
        )
        return name

    def _declare(self, name: str, size: int) -> None:
        self.arrays.append((name, size))
        self._add(self.syntax.array(name, size))

    def _index(self, axis: Axis) -> str:
        axis = axis.same
        if axis not in self._letters:
            round, n = divmod(len(self._letters), len(_LETTERS))
            letter = _LETTERS[n] + (str(round) if round else "")
            while letter in self.names.taken:
                letter += "_"
            self._letters[axis] = letter
        return self._letters[axis]

    def _open(self, axes: Sequence[Axis]) -> None:
        for axis in axes:
            self._add(self.syntax.loop.format(self._index(axis), axis.extent))
            self._depth += 1

    def _close(self, axes: Sequence[Axis]) -> None:
        for _ in axes:
            self._depth -= 1
            self._add("}")

    def _loop(self, index: str, extent: int, line: str) -> None:
        self._add(self.syntax.loop.format(index, extent))
        self._add(f"    {line}")
        self._add("}")

    def _fill(self, name: str, axes: Sequence[Axis], text: str) -> None:
        """Write loops over axes that give every entry of an array."""
        self._open(axes)
        self._add(f"{self._entry(name, axes)} = {text};")
        self._close(axes)

    def _entry(self, name: str, axes: Sequence[Axis]) -> str:
        return f"{name}[{_place([(self._index(axis), axis.extent) for axis in axes])}]"

    def _words(self, template: str) -> str:
        """C's text in the language: its functions by their names there, numbers in decimals."""

        def decimal(found: re.Match[str]) -> str:
            text = found[2]
            value = (
                math.inf if "inf" in text else math.nan if "nan" in text else float.fromhex(text)
            )
            return self.syntax.number(-value if found[1] else value).replace("{", "{{")

        text = _HEX.sub(decimal, template).replace("(real)", self.syntax.as_number)
        return _CALL.sub(lambda name: self.functions.get(name[1], name[1]), text)

    # -- results

    def result(self, node: Expr, pointer: str) -> None:
        """Fill an array that is handed in with a node's entries."""
        if not node.shape:
            self._add(f"{pointer}[0] = {self.value(node)[0]};")
        elif node in self.reader.views:
            self._spread(node, pointer, declared=True)
        else:
            index = self.names.new("k")
            name = self.array_of(node)
            self._loop(index, node.size, f"{pointer}[{index}] = {name}[{index}];")

    def value(self, node: Expr) -> Piece:
        """Return a number, as an expression."""
        if node in self.leaves:
            return Piece((self.leaves[node], ATOM))
        if node.is_constant:
            return self.number(node)
        if node in self.reader.views:
            return self.text[self.reader.views[node].item]
        return Piece((self.array_of(node), ATOM))

    def total(self, node: Expr) -> str:
        """Return the sum of a node's entries, as an expression."""
        if not node.shape:
            return self.value(node)[0]
        name = self.array_of(node)
        total = self.names.new("total")
        index = self.names.new("k")
        self._add(self.syntax.variable.format(total, self.syntax.number(0.0)))
        self._loop(index, node.size, f"{total} = {total} + {name}[{index}];")
        return total

    # -- items

    def write(self) -> None:
        for node in self.order:
            for item in self.reader.made.get(node, ()):
                self._item(item)

    def _item(self, item: Item) -> None:
        if item.what == "number":
            self.text[item] = self.number(item.node)
        elif item.what == "read":
            self.text[item] = self._read(item)
        elif item.what == "fold":
            self._fold(item)
        else:
            self.text[item] = piece = self._map(item)
            if self.uses[item] > 1 or item in self.labels or len(piece[0]) > LONGEST:
                self._store(item)

    def number(self, node: Expr) -> Piece:
        value = node.payload
        value = value.item() if isinstance(value, (np.ndarray, np.generic)) else value
        if isinstance(value, bool):
            return Piece(("1" if value else "0", ATOM))
        return number_piece(self.syntax.number(float(value)))

    def _read(self, item: Item) -> Piece:
        name = self.array_of(item.node)
        if not item.node.shape:
            return Piece((name, ATOM))
        return Piece((self._entry(name, [axis for axis in item.places if axis]), ATOM))

    def array_of(self, node: Expr) -> str:
        """Return the flat array of a node's entries, in C order; for a number, its name."""
        if node not in self.whole:
            if node.is_constant:
                self.whole[node] = self._table(self.names.new("c"), np.asarray(node.payload))
            elif node in self.reader.views:
                name = self.names.new()
                self._spread(node, name)
                self.whole[node] = name
            else:
                self.whole[node] = self._move(node)
        return self.whole[node]

    def _move(self, node: Expr) -> str:
        """Write entries in other places.

        A table says where each entry comes from, or where each is added to.
        """
        op = node.op
        assert op is not None
        sources = sources_of_entries(node, op)
        targets = None
        zeros = np.arange(node.size)
        # An operand, places in the result, and the operand's entries for them.
        copies: list[tuple[Expr, np.ndarray, np.ndarray]] = []
        if sources is not None:
            begin = 1
            zeros = np.flatnonzero(sources[0] == 0)
            for operand, size in zip(node.given_operands, sources[1], strict=True):
                own = np.flatnonzero((sources[0] >= begin) & (sources[0] < begin + size))
                copies.append((operand, own, sources[0].ravel()[own] - begin))
                begin += size
        elif (targets := targets_of_entries(node, op)) is not None:
            taken = np.flatnonzero(targets)
            copies.append((node.operand, targets.ravel()[taken] - 1, taken))
        else:
            raise lacking(self.syntax.name, [op], self.subject)
        given = {
            o: f"{self.array_of(o)}[{{}}]" if o.shape else self.value(o)[0]
            for o, own, _ in copies
            if own.size
        }
        if not node.shape and targets is None:
            return next(
                (given[o].format(own[0]) for o, _, own in copies if own.size),
                self.syntax.number(0.0),
            )
        name = self.names.new()
        self._declare(name, node.size)
        self._copy(name, zeros, self.syntax.number(0.0))
        for operand, places, own in copies:
            if own.size:
                self._copy(name, places, given[operand], own, adds=targets is not None)
        return name if node.shape else f"{name}[0]"

    def _copy(
        self,
        name: str,
        places: np.ndarray,
        text: str,
        taken: np.ndarray | None = None,
        *,
        adds: bool = False,
    ) -> None:
        """Write a loop over places of an array.

        It puts a number there, or entries of another array by their numbers.
        """
        if not places.size:
            return
        index = self.names.new("k")
        text = text if taken is None else text.format(self._index_of_choice(taken, index))
        put = f"{name}[{self._index_of_choice(places, index)}]"
        line = f"{put} = {f'{put} + ' if adds else ''}{text};"
        if places.size > 1:
            self._loop(index, places.size, line)
        else:
            self._add(line)

    def _index_of_choice(self, places: np.ndarray, index: str) -> str:
        """Return the index of an entry by its number.

        It is a formula where the entries are evenly spaced, else an entry of a table.
        """
        steps = np.unique(np.diff(places))
        if steps.size > 1:
            return f"{self._table(self.names.new('places'), places)}[{index}]"
        first = int(places[0])
        step = int(steps[0]) if steps.size else 0
        spread = index if step == 1 else f"{step}*{index}"
        return str(first) if not step else f"{first} + {spread}" if first else spread

    def _spread(self, node: Expr, name: str, *, declared: bool = False) -> None:
        """Write an array of all entries of a node in its shape."""
        view = self.reader.views[node]
        item = view.item
        text = self.text[view.item][0]
        if not node.shape:
            self._add(self.syntax.constant.format(name, text))
            return
        axes = [axis.same for axis in view.places if axis is not None]
        if not declared:
            self._declare(name, node.size)
        self._fill(name, axes, text)
        if (
            axes
            and not declared
            and set(axes) == set(item.axes)
            and item.is_computed
            and item not in self.stored
        ):
            self._keep(item, name, axes)

    def _keep(self, item: Item, name: str, axes: Sequence[Axis]) -> None:
        self.stored.add(item)
        self.text[item] = Piece((self._entry(name, axes) if axes else name, ATOM))

    def _name(self, item: Item) -> str:
        return self.names.of(self.labels[item]) if item in self.labels else self.names.new()

    def _store(self, item: Item) -> None:
        name = self._name(item)
        text = self.text[item][0]
        if item.axes:
            self._declare(name, item.size)
            self._fill(name, item.axes, text)
        else:
            self._add(self.syntax.constant.format(name, text))
        self._keep(item, name, item.axes)

    def _fold(self, item: Item) -> None:
        fold = item.fold
        name = self._name(item)
        (operand,) = item.operands
        start = self._words(fold.start.replace("__builtin_inf()", "((real)__builtin_inf())"))
        start = self.syntax.number(float(start)) if start.lstrip("-").isdigit() else start
        axes = item.axes
        over = item.over
        total = name
        if axes:
            self._declare(name, item.size)
            self._open(axes)
            total = self.names.new("total")
        self._add(self.syntax.variable.format(total, start))
        self._open(over)
        joined = self._words(fold.joined).format(total, self.text[operand].at(BINDING["*"] + 1))
        self._add(f"{total} = {joined};")
        self._close(over)
        if axes:
            self._add(f"{self._entry(name, axes)} = {total};")
            self._close(axes)
        self._keep(item, name, axes)

    def _map(self, item: Item) -> Piece:
        op = item.op
        operands = [self.text[operand] for operand in item.operands]
        found = operator_text(op, operands)
        if found is not None:
            return found
        template = in_words(op, item.present, item.static)
        for place, operand in enumerate(operands):
            if template.count(f"{{{place}") > 1 and not re.fullmatch(r"\w+|\w+\[\w+\]", operand[0]):
                self._store(item.operands[place])
                operands[place] = self.text[item.operands[place]]
        if op.algebra == "choice":
            return Piece((f"{operands[0].at(SUM + 1)} ? {operands[1][0]} : {operands[2][0]}", 0))
        return Piece((self._words(template).format(*[_Inside(piece) for piece in operands]), ATOM))


def _place(parts: Sequence[tuple[str, int]]) -> str:
    """Return the flat index of entries by their indices and extents."""
    text = ""
    for place, (index, extent) in enumerate(parts):
        text = f"{f'({text})' if place > 1 else text}*{extent} + {index}" if text else index
    return text or "0"


class _Inside(Piece):
    """A piece within brackets or between commas of a template of C."""

    __slots__ = ()

    def __format__(self, wanted: str) -> str:
        return (
            super().__format__(wanted)
            if wanted
            else (self[0] if self[1] == ATOM else f"({self[0]})")
        )


# -- What is exported to languages without arrays: operations that loops can do, as far as the
# language has their functions.


def loopable(subject: Subject, target: str, known: Mapping[str, str]) -> Subject:
    """Return a subject that consists of operations that loops can do.

    Raises UnsupportedInTargetError for other operations, or where the language lacks their
    functions.
    """

    def writes(op: Op, node: Expr, operands: Sequence[Any]) -> bool:
        if not op.elementwise:
            return op.axes is not None or _moves(node, op)
        if is_shared(op) or op.algebra == "choice":
            return True
        if node.kind == "int":
            return False
        text = in_words(op, [operand is not None for operand in operands], node.static)
        return bool(text) and all(name in known for name in _CALL.findall(text))

    if subject.precision != "float64":
        raise UnsupportedInTargetError(
            f"exports to {target} compute in float64", help="leave --dtype out"
        )
    return writable(subject, target, writes)


# -- C99: a function of pointers to doubles, whose arrays are in C order -------------------------


_RESERVED_IN_C = words("""
        auto break case char const continue default do double else enum extern float for goto if inline int long
        register restrict return short signed sizeof static struct switch typedef union unsigned void volatile while
        _Bool _Complex _Imaginary bool true false asm typeof free malloc main NAN INFINITY DBL_MAX NULL errno value k
""")
_ON_STACK = 4096  # most entries of an array that is a local variable, not allocated


def _array(name: str, size: int) -> str:
    return (
        f"double {name}[{size}];"
        if 0 < size <= _ON_STACK
        else f"double *{name} = malloc({max(size, 1)} * sizeof *{name});"
    )


_C = Syntax(
    "c", "(double)", "NAN", "INFINITY", _array, "const double {} = {};", "double {} = {};",
    "for (int {0} = 0; {0} < {1}; {0}++) {{", "static const {} {}[] = {{{}}};", _RESERVED_IN_C,
    lambda names, own, shape: own if shape else f"{own}[0]",
    _builtins({"": """
        exp exp2 expm1 log log2 log10 log1p sin cos tan asin acos atan sinh cosh tanh asinh acosh atanh sqrt cbrt pow
        atan2 hypot remainder=remainder_of fma fabs floor ceil trunc rint copysign fmod erf erfc gammaln=lgamma
        gamma=tgamma isnan isinf isfinite signbit
    """}),
)  # fmt: skip


class CFile:
    """Files of C."""

    def file(self, subjects: Sequence[Subject]) -> str:
        """Return the text of a file.

        Raises UnsupportedInTargetError.
        """
        code = "\n\n\n".join(map(self._function, subjects))
        own = _C.builtins
        available = {name: text for name, text in functions_in_c().items() if name not in own}
        library = [available[name] for name in called_functions(code, available)]
        heading = "#include <float.h>\n#include <math.h>\n#include <stdlib.h>"
        return "\n\n\n".join([heading, *library, code]) + "\n"

    def _function(self, subject: Subject) -> str:
        loops = Loops(_C, functions_in_c(), subject)
        subject, own = loops.subject, loops.own
        gradients = {
            name: loops.names.of(own[name], prefix="grad_") for name in sorted(subject.gradients)
        }
        loops.write()
        arguments = [f"const double *{name}" for name in own.values()]
        arguments += [f"double *{name}" for name in gradients.values()]
        for name, pointer in gradients.items():
            loops.result(subject.gradients[name], pointer)
        total = loops.total(subject.value)
        freed = [f"    free({name});" for name, size in loops.arrays if not 0 < size <= _ON_STACK]
        if freed:
            freed = [f"    const double value = {total};", *freed]
            total = "value"
        comment = [_inert(line) for line in loops.comment]
        comment += (
            ["", "Arrays are in C order; the sum of the value's entries is returned."]
            if subject.value.shape
            else []
        )
        lines = [
            f"/* {comment[0]}",
            *(f"   {line}".rstrip() for line in comment[1:-1]),
            f"   {comment[-1]} */",
        ]
        lines += wrap(f"double {subject.function}({', '.join(arguments) or 'void'}) {{")
        for line in [*loops.lines, *freed, f"    return {total};"]:
            lines += wrap(line)
        return "\n".join([*lines, "}"])


def _inert(text: str) -> str:
    """Return a line that is safe inside of a comment.

    It neither ends the comment nor joins with the next line, and has no trigraphs.
    """
    return (
        printable(text)
        .replace("*/", "* /")
        .replace("/*", "/ *")
        .replace("\\", "\\\\")
        .replace("??", "? ?")
    )


# -- JavaScript: a module whose function takes and gives nested arrays ---------------------------


_RESERVED_IN_JAVASCRIPT = words("""
        await break case catch class const continue debugger default delete do else enum export extends false finally
        for function if implements import in instanceof interface let new null package private protected public return
        static super switch this throw true try typeof var void while with yield arguments eval undefined NaN Infinity
        Math Number Object Array flat nested value grad
""")
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
    "for (let {0} = 0; {0} < {1}; {0}++) {{", "const {1} = [{2}];", _RESERVED_IN_JAVASCRIPT,
    lambda names, own, shape: names.of(f"{own}_flat") if shape else own,
    _builtins({
        "Math.": """
            exp expm1 log log2 log10 log1p sin cos tan asin acos atan sinh cosh tanh asinh acosh atanh sqrt cbrt pow
            atan2 hypot fabs=abs floor ceil trunc
        """,
        "Number.": "isnan=isNaN isfinite=isFinite",
        "": "remainder=remainder_of",
    }),
)  # fmt: skip


@cache
def _library() -> dict[str, str]:
    """Return the functions that modules bring along, by their names.

    They are JavaScript's own, and translations of C's.
    """
    own = functions("javascript.js.txt")
    return own | {
        name: _translation(text) for name, text in functions_in_c().items() if name not in own
    }


def _translation(text: str) -> str:
    """Translate a function of C to JavaScript."""
    head, end, body = text.partition(") {")
    head = re.sub(r"static double (\w+)", r"function \1", head)
    head = re.sub(r"\b(double|int|void) ?", "", head)
    body = (
        re.sub(r"\b(double|int) (?=\w)", "let ", body)
        .replace("DBL_MAX", "Number.MAX_VALUE")
        .replace("INFINITY", "Infinity")
    )
    known = _JAVASCRIPT.builtins
    text = re.sub(r"\b(\w+)\(", lambda name: f"{known.get(name[1], name[1])}(", head + end + body)
    return re.sub(r"/\* (.*) \*/", r"// \1", text)


class JavaScriptModule:
    """Modules of JavaScript."""

    def file(self, subjects: Sequence[Subject]) -> str:
        """Return the text of a module.

        Raises UnsupportedInTargetError.
        """
        code = "\n\n\n".join(map(self._function, subjects))
        available = _library()
        library = [available[name] for name in called_functions(code, available)]
        made = [
            text
            for name, text in (("flat(", _FLAT), ("nested(", _NESTED))
            if re.search(rf"\b{re.escape(name)}", code)
        ]
        return "\n\n\n".join([*made, *library, code]) + "\n"

    def _function(self, subject: Subject) -> str:
        loops = Loops(_JAVASCRIPT, _library(), subject)
        subject, own = loops.subject, loops.own
        loops.write()
        value = self._argument_text(loops, subject.value)
        entries = [
            f"{_key(name)}: {self._argument_text(loops, node)}"
            for name, node in subject.gradients.items()
        ]
        keys = [name if own[name] == name else f"{_key(name)}: {own[name]}" for name in own]
        comment = [printable(line).replace("*/", "* /") for line in loops.comment]
        lines = ["/**", *(f" * {line}".rstrip() for line in comment), " */"]
        lines += wrap(
            f"export function {subject.function}({{ {', '.join(keys)} }}) {{"
            if keys
            else f"export function {subject.function}() {{"
        )
        lines += [
            f"    const {loops.leaves[leaf]} = flat({own[name]});"
            for name, leaf in loops.parameters.items()
            if leaf.shape
        ]
        for line in [
            *loops.lines,
            f"    return {{ value: {value}, grad: {{ {', '.join(entries)} }} }};",
        ]:
            lines += wrap(line)
        return "\n".join([*lines, "}"])

    def _argument_text(self, loops: Loops, node: Expr) -> str:
        if not node.shape:
            text = loops.value(node)[0]
            return f"Boolean({text})" if node.kind == "bool" else text
        return f"nested({loops.array_of(node)}, {list(node.shape)})"


def _key(name: str) -> str:
    return name if name.isidentifier() else json.dumps(name)
