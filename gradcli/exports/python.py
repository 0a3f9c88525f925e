"""Python text of a value and its gradients for a library of arrays, or for sympy.

It is a module with one function for each query.
"""

from __future__ import annotations

import keyword
import math
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from importlib import import_module, resources
from typing import Any, Protocol

import numpy as np

from gradcli.errors import UnsupportedInTargetError, one_of
from gradcli.exports.subject import Names, Subject, describe, plain, writable
from gradcli.graph.nodes import Expr, Transcription, interpret, reachable
from gradcli.ops.calling.inputs import BOOL, FLOAT, INT
from gradcli.ops.spec import Op
from gradcli.ops.text import ATOM, BINDING, SUM, UNARY, Exported, Piece
from gradcli.ops.writing import OfSciPy
from gradcli.texts import printable, words

# -- A graph as statements of a language of expressions: text as one more domain in which a graph
# is interpreted.
#
# A value gets a name where the program gave it one, where it is used more than once, and where
# its text would be long.


LONGEST = 72  # characters beyond which an expression gets a name of its own
_OPERATORS = words("+ - * / < <= > >= == !=")  # common to all languages here


@dataclass(eq=False)
class Statements(Transcription[Any]):
    """Names, operators, calls and numbers of a module of Python."""

    target: PythonModule
    precision: str
    roots: Sequence[Expr]
    names: Names
    labels: Mapping[Expr, str]
    leaves: Mapping[Expr, str]

    def __post_init__(self) -> None:
        self.order = reachable(self.roots)
        self.uses = Counter(operand for node in self.order for operand in node.given_operands)
        self.uses.update(self.roots)
        self.lines: list[str] = []

    def texts(self) -> list[str]:
        """Return the text of each root; `lines` are the statements before it."""
        table = interpret(self.order, self)
        return [table[root][0] for root in self.roots]

    # -- what nodes are

    def leaf(self, node: Expr) -> Piece:
        return Piece((self.leaves[node], ATOM))

    def constant(self, node: Expr) -> Piece:
        value = node.payload
        if isinstance(value, np.ndarray) and value.ndim:
            text = self.target.array(value, self.precision)
            return self._name(text, node) if value.size > 3 else Piece((text, ATOM))
        if isinstance(value, (np.ndarray, np.generic)):
            value = value.item()
        if node.kind != FLOAT:
            return number_piece(str(value if isinstance(value, bool) else int(value)))
        return number_piece(self.target.number(float(value)))

    def operation(self, node: Expr, op: Op, operands: list[Any]) -> Piece:
        piece = self._piece(node, op, operands)
        is_named = node in self.labels or self.uses[node] > 1 or len(piece[0]) > LONGEST
        return self._name(piece[0], node) if is_named else piece

    def _piece(self, node: Expr, op: Op, operands: list[Any]) -> Piece:
        found = operator_text(op, operands) if self.target.has_sign(op) else None
        if found is not None:
            return found
        if op.sign == "**":
            return Piece((f"{operands[0].at(ATOM)} ** {operands[1].at(ATOM)}", BINDING["**"]))
        template = self._template(node, op, operands)
        given: list[Piece] = [operand for operand in operands if operand is not None]
        if template == "{0}":
            return given[0]
        for place, operand in enumerate(given):
            if template.count(f"{{{place}") > 1 and not operand[0].replace(".", "_").isidentifier():
                given[place] = self._name(operand[0])
        return Piece((template.format(*given), ATOM))

    def _name(self, text: str, node: Any = None) -> Piece:
        """Give a text a name: that of the node, if the program has one for it."""
        label = self.labels.get(node)
        name = self.names.of(label) if label is not None else self.names.new()
        self.lines.append(f"{name} = {text}")
        return Piece((name, ATOM))

    def _template(self, node: Expr, op: Op, operands: list[Any]) -> str:
        text = self.target.text_of_call(op, node.operands, node.static)
        if self.target.tensor:
            if (
                node.operands
                and node.operands[0] is not None
                and node.operands[0].kind == FLOAT
                and "condition" in op.operands[:1]
            ):
                text = text.replace("{0}", "({0:sum} != 0)")
            for place, operand in enumerate(o for o in operands if o is not None):
                if operand[0] in ("True", "False"):
                    text = text.replace(f"{{{place}}}", f"torch.tensor({operand[0]})")
                elif _NUMBER.match(operand[0]):
                    text = text.replace(f"{{{place}}}", f"_tensor({{{place}}})")
        return text


# Plain numbers, which functions of PyTorch do not take.
_NUMBER = re.compile(r"-?(?:\d[\w.]*(?:e[-+]\d+)?|torch\.(?:inf|nan))\Z")


def number_piece(text: str) -> Piece:
    """Return the text of a number as a piece, which a sign makes a loose one."""
    return Piece((text, UNARY if text.startswith("-") else ATOM))


def number_text(value: float, nan: str, infinity: str) -> str:
    """Return a float as languages write it that have these names for what is not finite."""
    if math.isfinite(value):
        return repr(value)
    return nan if value != value else "-" * (value < 0) + infinity


def is_shared(op: Op) -> bool:
    """Return whether all languages write an operation by the same sign."""
    return op.sign in _OPERATORS and op.algebra != "chain"


def operator_text(op: Op, operands: Sequence[Any]) -> Piece | None:
    """Return an operation by its sign, where all languages have that."""
    sign = op.sign
    if is_shared(op) and len(operands) == 2:
        binding = BINDING[sign]
        return Piece(
            (
                f"{operands[0].at(binding + (binding < SUM))} {sign} {operands[1].at(binding + 1)}",
                binding,
            )
        )
    return Piece((f"-{operands[0].at(UNARY + 1)}", UNARY)) if sign == "-" else None


def wrap(line: str, width: int = 116) -> list[str]:
    """Break a long line into several, after commas inside of brackets."""
    found = []
    indent = " " * (len(line) - len(line.lstrip()) + 4)
    opening = re.search(r"[(\[{]", line)
    begin = opening.end() if opening else len(line)
    while len(line) > width and (place := line.rfind(", ", begin, width) + 1):
        found.append(line[:place])
        line = indent + line[place + 1 :]
        begin = len(indent)
    return [*found, line]


# -- Functions that exported code brings along, in the target's own language: kept as files, of
# which the ones that are called are written.


_WORD = re.compile(r"[A-Za-z_]\w*")
_HEAD = re.compile(r"^(?:def|function|static double)\s+(\w+)\(", re.MULTILINE)


@cache
def text_of(file: str) -> str:
    """Return the text of a file of functions.

    Exported code uses them, and in some files programs in C do, too.
    """
    folder = (
        resources.files("gradcli.plans.native")
        if file.endswith(".h")
        else resources.files("gradcli.exports").joinpath("library")
    )
    return folder.joinpath(file).read_text("utf-8")


@cache
def functions(file: str) -> dict[str, str]:
    """Return the functions of a file by their names, in its order.

    The file sets them apart by two blank lines.
    """
    found = {}
    for block in text_of(file).strip("\n").split("\n\n\n"):
        head = _HEAD.search(block)
        if head:
            found[head[1]] = block.strip("\n")
    return found


def called_functions(text: str, available: dict[str, str]) -> list[str]:
    """Return the names of functions that a text calls, in the order of the file.

    The functions that these call are included.
    """
    wanted: set[str] = set()
    waiting = [text]
    while waiting:
        for name in set(_WORD.findall(waiting.pop())) & available.keys() - wanted:
            wanted.add(name)
            waiting.append(available[name])
    return [name for name in available if name in wanted]


# -- Modules of Python, with a function for each query -------------------------------------------


class PythonModule:
    """A target of which files are modules of Python; `numpy` and the like, and sympy.

    decorated     the line before a function
    notes         lines at the end of its docstring
    tensor        whether its functions take tensors only
    text_of_call  gives the text of an operation on nodes; empty if there is none
    number        gives that of a float, and ``array`` that of an array, in a precision
    taken         gives that of an argument, a leaf, as the library computes with it
    result        gives that of a result, a node with a text
    """

    name: str
    decorated = ""
    notes: Sequence[str] = ()
    tensor = False
    text_of_call: Callable[[Op, Sequence[Any], Mapping[str, Any]], str]
    number: Callable[[float], str]
    array: Callable[[np.ndarray, str], str]
    taken: Callable[[str, Expr, str], str]
    result: Callable[[Expr, str, str], str]

    def function(self, subject: Subject) -> str:
        """Return the text of a function.

        Raises UnsupportedInTargetError.
        """
        subject = writable(subject, self.name, self.writes)
        names = Names(self.reserved_names)
        known = {leaf: names.of(name) for name, leaf in subject.parameters.items()}
        text = Statements(self, subject.precision, subject.roots, names, subject.labels, known)
        value, *gradients = [
            self.result(node, piece, subject.precision)
            for node, piece in zip(subject.roots, text.texts(), strict=True)
        ]
        entries = (
            f"{quote(name)}: {piece}"
            for name, piece in zip(subject.gradients, gradients, strict=True)
        )
        told = describe(subject, {name: known[leaf] for name, leaf in subject.parameters.items()})
        taken = [
            f"{name} = {self.taken(name, leaf, subject.precision)}" for leaf, name in known.items()
        ]
        lines = [self.decorated] if self.decorated else []
        takes = ", ".join(["*", *known.values()]) if known else ""
        lines += wrap(f"def {subject.function}({takes}):")
        lines += docstring([*told, *self.notes])
        results = [f"value = {value}", f"return value, {{{', '.join(entries)}}}"]
        for line in [*taken, *text.lines, *results]:
            lines += wrap(f"    {line}")
        return "\n".join(lines)

    @property
    def reserved_names(self) -> set[str]:
        return {*keyword.kwlist, *keyword.softkwlist, "value"}

    def writes(self, op: Op, node: Expr, operands: Sequence[Any]) -> bool:
        """Return whether there is a text for an operation, the node, on operands."""
        by_sign = self.has_sign(op) or op.sign == "**"
        return by_sign or bool(self.text_of_call(op, operands, node.static))

    def has_sign(self, op: Op) -> bool:
        """Return whether the sign of an operation means the same in the target."""
        return is_shared(op)


def quote(name: str) -> str:
    return repr(name) if name.isprintable() else ascii(name)


def docstring(lines: Sequence[str]) -> list[str]:
    """Lines between triple quotes, which nothing of the user's text ends."""
    safe = [printable(line).replace("\\", "\\\\").replace('"', '\\"') for line in lines]
    return [f'    """{safe[0]}', *(f"    {line}".rstrip() for line in safe[1:]), '    """']


# -- Exports to libraries of arrays in Python: NumPy (with SciPy), PyTorch and JAX, whose functions
# have nearly the same names.


# names that modules import, or whose meaning in Python they rely on
_IMPORTED = words("_tensor np numpy special linalg torch jax jnp float range list tuple slice")
_CALL = re.compile(r"(?<![\w.])(np|special|linalg)\.(\w+)")
_LACKS = re.compile("^# lacks (.*)$", re.MULTILINE)


def _with_parameters(text: str, static: Mapping[str, Any]) -> str:
    """Replace the names of static parameters in a template by their values."""
    for name, value in static.items():
        text = text.replace(f"{{{name}}}", repr(value))
    return text


@dataclass(frozen=True)
class ArrayTarget(PythonModule):
    """A library of arrays.

    field     of an operation's texts, its own; None where it has NumPy's, or those of PyTorch that
              name nothing of it
    prefixes  what stands in the place of NumPy's and SciPy's prefixes, which texts have by default
    imports   lines at the beginning of the file, by what the code mentions
    """

    name: str
    field: str | None
    prefixes: Mapping[str, str]
    imports: tuple[tuple[str, str], ...]
    tensor: bool = False
    decorated: str = ""

    def number(self, value: float) -> str:
        np_ = self.prefixes["np"]
        return number_text(value, f"{np_}nan", f"{np_}inf")

    def array(self, value: np.ndarray, precision: str) -> str:
        kind = {"b": BOOL, "f": FLOAT}.get(value.dtype.kind, INT)
        first = value.flat[0] if value.size and kind == FLOAT else None
        if first is not None and (value == first).all():
            entries = f"{value.shape}, {self.number(float(first))}"
            return f"{self.prefixes['np']}full({entries}, dtype={self.dtype(kind, precision)})"
        return self._made(self._nested_text(value.tolist()), kind, precision)

    def _made(self, text: str, kind: str, precision: str) -> str:
        make = "tensor" if self.tensor else "array"
        return f"{self.prefixes['np']}{make}({text}, dtype={self.dtype(kind, precision)})"

    def _nested_text(self, value: Any) -> str:
        if isinstance(value, list):
            return f"[{', '.join(map(self._nested_text, value))}]"
        return self.number(value) if isinstance(value, float) else repr(value)

    def dtype(self, kind: str, precision: str) -> str:
        truth = "bool" if self.tensor else "bool_"
        return self.prefixes["np"] + {BOOL: truth, INT: "int64"}.get(kind, precision)

    @property
    def reserved_names(self) -> set[str]:
        return super().reserved_names | self._functions.keys() | _IMPORTED

    def template(
        self, op: Op, given: Sequence[bool], shapes: Sequence[Any], static: Mapping[str, Any]
    ) -> str:
        """Return the text of an operation on operands by their places; empty if there is none."""
        own = op.torch if self.field is None else getattr(op, self.field)
        for written in [self._form(op), own] if self.field is None or own is None else [own]:
            form = written.get(tuple(given), "") if isinstance(written, Mapping) else written
            found = self._spell(
                _with_parameters(form, static)
                if isinstance(form, str)
                else form(shapes, **static)
                if form is not None
                else ""
            )
            if found and self._lacks.isdisjoint(_WORD.findall(found)):
                return found.replace("torch.array(", "torch.tensor(")
        return ""

    @staticmethod
    def _form(op: Op) -> Exported:
        if op.numpy is not None:
            return op.numpy
        if isinstance(op.forward, (np.ufunc, OfSciPy)):
            module = "special" if isinstance(op.forward, OfSciPy) else "np"
            return f"{module}.{op.forward.__name__}({', '.join(f'{{{place}}}' for place in range(len(op.operands)))})"
        return ""

    @cached_property
    def _functions(self) -> dict[str, str]:
        """Functions that code brings along, by their names."""
        return {**functions("arrays.py.txt"), **functions(f"{self.name}.py.txt")}

    @cached_property
    def _lacks(self) -> frozenset[str]:
        """Names that the library does not have, and what texts for others mention."""
        listed = _LACKS.search(text_of(f"{self.name}.py.txt"))
        return frozenset(listed[1].split() if listed else ())

    def _spell(self, text: str) -> str:
        """Replace the names of functions in a text by those that the library has.

        Functions that it lacks get the names of those that code brings along.
        """

        def one(call: re.Match[str]) -> str:
            own = f"_{call[2]}"
            return (
                own
                if call[2] in self._lacks and own in self._functions
                else self.prefixes[call[1]] + call[2]
            )

        return _CALL.sub(one, text)

    def library(self, text: str) -> str:
        """Return the functions that a text calls."""
        own = {name: self._spell(body) for name, body in self._functions.items()}
        return "\n\n\n".join(own[name] for name in called_functions(text, own))

    def heading(self, text: str) -> list[str]:
        """Return the lines that import what a text mentions."""
        lines = [line for word, line in self.imports if re.search(word, text)]
        return list(dict.fromkeys(part for line in lines for part in line.split("\n")))

    def file(self, subjects: Sequence[Subject]) -> str:
        """Return the text of a module.

        Raises UnsupportedInTargetError.
        """
        code = "\n\n\n".join(map(self.function, subjects))
        precision = subjects[0].precision if subjects else "float64"
        library = self.library(code)
        head = self.heading(code + library)
        if self.name == "jax" and precision == "float64":
            head += [
                "",
                'jax.config.update("jax_enable_x64", True)  # without it, JAX computes in float32',
            ]
        parts = ["\n".join(head), library, code]
        if self.tensor and "_tensor(" in code + library:
            parts.insert(
                1,
                'def _tensor(x):\n    """What PyTorch\'s functions take."""\n    return '
                "torch.as_tensor(x, dtype=torch.float64)",
            )
        text = "\n\n\n".join(filter(None, parts)) + "\n"
        return text.replace(self.dtype(FLOAT, "float64"), self.dtype(FLOAT, precision))

    def text_of_call(self, op: Op, operands: Sequence[Any], static: Mapping[str, Any]) -> str:
        """Return the text of an operation on nodes; empty if there is none."""
        shapes = [None if operand is None else operand.shape for operand in operands]
        return self.template(op, [o is not None for o in operands], shapes, static)

    def taken(self, name: str, leaf: Expr, precision: str) -> str:
        make = f"{self.prefixes['np']}{'as_tensor' if self.tensor else 'asarray'}"
        return f"{make}({name}, dtype={self.dtype(leaf.kind, precision)})"

    def result(self, node: Expr, text: str, precision: str) -> str:
        """Return a result, which is an array even where nothing was computed."""
        if not node.is_constant or node.shape:
            return text
        if self.tensor:
            return f"_tensor({text})"
        return self._made(text, FLOAT, precision)


NUMPY = ArrayTarget(
    "numpy", "numpy", {"np": "np.", "special": "special.", "linalg": "linalg."},
    (("", "import numpy as np"), (r"\bspecial\.", "from scipy import special"),
     (r"(?<!\.)linalg\.", "from scipy import linalg")),
    decorated='@np.errstate(all="ignore")',
)  # fmt: skip
TORCH = ArrayTarget(
    "torch", "torch", {"np": "torch.", "special": "torch.special.", "linalg": "torch.linalg."},
    ((r"\bnumpy\.", "import numpy"), ("", "import torch")), tensor=True,
)  # fmt: skip
JAX = ArrayTarget(
    "jax", None, {"np": "jnp.", "special": "jax.scipy.special.", "linalg": "jax.scipy.linalg."},
    (("", "import jax"), ("", "import jax.numpy as jnp"), (r"jax\.scipy\.special", "import "
    "jax.scipy.special"),
     (r"jax\.scipy\.linalg", "import jax.scipy.linalg")),
)  # fmt: skip


# -- The languages and libraries that functions are exported to, by name; what each needs is
# imported when it is asked for.


class SympyModule(PythonModule):
    """Modules of Python with functions of symbols or numbers, which build sympy's expressions."""

    name = "sympy"
    notes = ("", "Names may be symbols (sympy.symbols with real=True) or numbers.")

    def file(self, subjects: Sequence[Subject]) -> str:
        """Return the text of a module.

        Raises UnsupportedInTargetError.
        """
        return "import sympy\n\n\n" + "\n\n\n".join(map(self.function, subjects)) + "\n"

    def function(self, subject: Subject) -> str:
        if any(node.shape for node in reachable(subject.roots)) or subject.precision != "float64":
            raise UnsupportedInTargetError(
                "sympy has no arrays of numbers", help="export numbers, or export to numpy"
            )
        from gradcli.formulas.textbook import simplify

        subject = plain(subject)
        value, *slopes = subject.roots
        roots = [value, *simplify(slopes, value.graph)]  # as formulas, for symbols are never NaN
        return super().function(subject.rebuilt({node: node for node in reachable(roots)}, roots))

    @property
    def reserved_names(self) -> set[str]:
        return super().reserved_names | {"sympy"}

    def has_sign(self, op: Op) -> bool:
        # sympy's == and != compare how things are written.
        return super().has_sign(op) and op.sign not in ("==", "!=")

    def text_of_call(self, op: Op, operands: Sequence[Any], static: Mapping[str, Any]) -> str:
        from gradcli.reference.symbolic.derivative import written_for_sympy

        return written_for_sympy(op, operands, static)

    def number(self, value: float) -> str:
        if value.is_integer() and abs(value) < 2**53:
            return str(int(value))
        return number_text(value, "sympy.nan", "sympy.oo")

    def taken(self, name: str, leaf: Expr, precision: str) -> str:
        return f"sympy.sympify({name})"

    def result(self, node: Expr, text: str, precision: str) -> str:
        return f"sympy.sympify({text})"


TARGETS = words("latex numpy torch jax c javascript sympy")
ALIASES = {"js": "javascript"}
SUFFIXES = {
    ".py": ("numpy", "torch", "jax", "sympy"),
    ".c": ("c",),
    ".js": ("javascript",),
    ".tex": ("latex",),
}
_MADE = {
    "c": ("loops", "CFile"),
    "javascript": ("loops", "JavaScriptModule"),
    "latex": ("latex", "LatexFile"),
}


class Target(Protocol):
    """A writer of functions."""

    def file(self, subjects: Sequence[Subject]) -> str:
        """Return the text of a file with these functions.

        Raises UnsupportedInTargetError.
        """


def target_named(word: str) -> str:
    """Return the name of a target.

    Raises UsageError for others.
    """
    name = ALIASES.get(word, word)
    one_of("--to", name, TARGETS)
    return name


def target_of(word: str) -> Target:
    """Return the target of a name.

    Raises UsageError for others.
    """
    name = target_named(word)
    if name in _MADE:
        module, kind = _MADE[name]
        found: Target = getattr(import_module(f"gradcli.exports.{module}"), kind)()
        return found
    if name == "sympy":
        return SympyModule()
    return {"numpy": NUMPY, "torch": TORCH, "jax": JAX}[name]
