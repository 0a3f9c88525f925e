"""Templates: what is left of expressions when their names and numbers are taken out.

Expressions of one template differ in these alone, so that one of them is parsed, lowered and
compiled for all. A number is taken out where it is a term or a factor. One that may decide what is
computed (an exponent, an argument of a function) stays, and makes a template of its own. Templates
are of arithmetic and of functions that work entry by entry.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from gradcli.errors import EvaluationError, GradcliError, Source
from gradcli.graph.nodes import Expr, reachable
from gradcli.graph.sweep import flowing
from gradcli.language.calls import operation
from gradcli.language.lowering import Lowering
from gradcli.language.scope import Scope
from gradcli.language.statements import parse_expression
from gradcli.language.tokens import STARTS_NUMBER, WORD
from gradcli.language.tree import Binary, Call, Expression, Name, Node, Number, Unary
from gradcli.limits import Limits

_WORD = re.compile(WORD)  # a text is cut at its words in a seventh of the time that its tokens take
_MOST = 4_096  # families that are remembered
_MOST_TEMPLATES = 1_024  # and templates, which may be compiled
_ZERO = -(1 << 30)  # in a pattern: a whole zero, which has no sign to be changed, and stays

Pieces = tuple[
    tuple[str, ...], list[str]
]  # what stands between the names and numbers of a text, and these
Term = tuple[bool, tuple[str, ...], list[str]]  # whether it is subtracted, and its pieces


class Template:
    """Form that expressions have in common.

    ``text`` is one of them, with names of ours: n0, n1, ... and, for numbers, c0, c1, ...
    """

    def __init__(
        self, text: str, names: int, numbers: int, deciding: frozenset[int], callees: frozenset[str]
    ) -> None:
        self.text = text
        self.names = [f"n{i}" for i in range(names)]
        self.numbers = [f"c{i}" for i in range(numbers)]
        self.deciding = (
            deciding  # places of names that, if they are whole numbers, may decide what is computed
        )
        self.callees = callees
        self.compiled: Any = None  # what `gradcli.batch.compilation` makes of it
        self.nodes = 0  # of the graph that it was compiled from
        self.met = 0  # how often it has been asked for that


class Reading(NamedTuple):
    """An expression as its template, and what the template's names and numbers are in it."""

    template: Template
    names: list[str]
    numbers: list[float]


class Templates:
    """Reads expressions by their templates, which it remembers."""

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self._families: dict[tuple[tuple[str, ...], tuple[int, ...]], _Family | None] = {}
        self._met: set[tuple[tuple[str, ...], tuple[int, ...]]] = set()  # once
        self._made = 0

    def read(
        self, between: tuple[str, ...], words: Sequence[str], *, at_once: bool = False
    ) -> Reading | None:
        """An expression in pieces.

        None where it has no template, and (but ``at_once``) where it is met for the first time.
        """
        names: dict[str, int] = {}
        numbers: dict[int | str, int] = {}
        slots = []
        for word in words:
            if word[0] not in STARTS_NUMBER:
                slots.append(names.setdefault(word, len(names)))
            else:
                constant = _constant(word)
                slots.append(
                    ~numbers.setdefault(constant, len(numbers)) if constant != 0 else _ZERO
                )
        pattern = tuple(slots)
        key = between, pattern
        if key not in self._families:
            if len(self._met) >= _MOST or self._made >= _MOST_TEMPLATES:
                self._families, self._met, self._made = {}, set(), 0
            if not at_once and key not in self._met:
                self._met.add(key)
                return None
            self._families[key] = _family(between, words, pattern, self.limits)
        family = self._families[key]
        if family is None:
            return None
        kept = tuple([words[place] for place in family.kept])
        template = family.templates.get(kept)
        if template is None:
            self._made += 1
            template = family.templates[kept] = family.template(between, words, pattern)
        return Reading(
            template, list(names), [float(words[place]) for place in family.taken.values()]
        )


@lru_cache(_MOST)
def _constant(word: str) -> int | str:
    """Return what makes numbers the same constant of a graph: 2 and 2.0 are two, 2.5 and 2.50 are
    one.
    """
    return int(word) if word.isdigit() and len(word) < 300 else repr(float(word))


class _Family:
    """Templates that differ only in numbers that stay."""

    def __init__(
        self,
        kept: list[int],
        taken: dict[int, int],
        deciding: frozenset[int],
        callees: frozenset[str],
    ) -> None:
        self.kept = kept  # places among the words
        self.taken = taken  # the first place of each constant, by its slot
        self.deciding, self.callees = deciding, callees
        self.templates: dict[tuple[str, ...], Template] = {}  # by the numbers that stay

    def template(
        self, between: Sequence[str], words: Sequence[str], pattern: Sequence[int]
    ) -> Template:
        numbers = {slot: f"c{i}" for i, slot in enumerate(self.taken)}
        own = [
            f"n{slot}" if slot >= 0 else numbers.get(slot, word)
            for word, slot in zip(words, pattern, strict=True)
        ]
        return Template(
            text_of_pieces(between, own),
            max(pattern, default=-1) + 1,
            len(numbers),
            self.deciding,
            self.callees,
        )


def pieces(text: str) -> Pieces:
    """A text without comments, taken apart at its names and numbers."""
    parts = _WORD.split(text)
    return tuple(parts[::2]), parts[1::2]


def text_of_pieces(between: Sequence[str], words: Sequence[str]) -> str:
    """A text from its pieces."""
    return "".join(
        [between[0], *(word + after for word, after in zip(words, between[1:], strict=True))]
    )


def terms(text: str) -> Iterator[Term]:
    """The terms of a sum, in pieces; each with whether it is subtracted."""
    between, words = pieces(text)
    seen: dict[tuple[str, int], tuple[int, tuple[str, bool, str] | None]] = {}
    start, negative, before = 0, False, between[0]
    depth = between[0].count("(")
    for place in range(1, len(words) + 1):
        gap = between[place]
        found = seen.get((gap, depth))
        if found is None:
            found = seen[gap, depth] = _cut(gap, depth)
        depth, cut = found
        if cut is not None:
            yield negative, (before, *between[start + 1 : place], cut[0]), words[start:place]
            start, negative, before = place, cut[1], cut[2]
    yield negative, (before, *between[start + 1 :]), words[start:]


def _cut(gap: str, depth: int) -> tuple[int, tuple[str, bool, str] | None]:
    """Return how deep in brackets one is after a gap between words, and the first sign in it that
    adds or subtracts a term.
    """
    cut = None
    previous = ""
    for place, sign in enumerate(gap):
        depth += (sign in "([") - (sign in ")]")
        if sign in "+-" and depth == 0 and previous in ("", ")", "]") and cut is None:
            cut = gap[:place], sign == "-", gap[place + 1 :]
        if not sign.isspace():
            previous = sign
    return depth, cut


def _family(
    between: Sequence[str], words: Sequence[str], pattern: Sequence[int], limits: Limits
) -> _Family | None:
    if "" in between[1:-1]:  # a number right before a name: what they mean together depends on them
        return None
    try:
        expression = parse_expression(Source(text_of_pieces(between, words)), limits.length)
    except GradcliError:
        return None
    if (
        expression.implied
    ):  # what stands side by side depends on the words, and the ordinary way shows how it was read
        return None
    open_, called = _open(expression)
    atoms = [
        node for node in expression.nodes if isinstance(node, (Name, Number)) and node not in called
    ]
    if open_ is None or len(atoms) != len(words):
        return None
    taken: dict[int, int] = {}
    staying = {_ZERO}  # one constant either stays everywhere or nowhere: equal parts are one node
    deciding = set()
    for place, (atom, word, slot) in enumerate(zip(atoms, words, pattern, strict=True)):
        if isinstance(atom, Name):
            if atom.name != word:
                return None
            if atom not in open_:
                deciding.add(slot)
        elif word[0] not in STARTS_NUMBER or float(word) != float(atom.value):
            return None
        elif atom in open_:
            taken.setdefault(slot, place)
        else:
            staying.add(slot)
    taken = {slot: place for slot, place in taken.items() if slot not in staying}
    kept = [place for place, slot in enumerate(pattern) if slot in staying]
    return _Family(kept, taken, frozenset(deciding), frozenset(node.name for node in called))


_SIGNS = frozenset(("+", "-", "*", "/", "**"))


def _open(expression: Expression) -> tuple[set[Node] | None, set[Name]]:
    """The nodes where a number decides nothing but a value, and the names of functions.

    None for the former if not all is made of arithmetic and functions.
    """
    with_names: set[Node] = set()
    called: set[Name] = set()
    for node in expression.nodes:
        if isinstance(node, Call) and isinstance(node.callee, Name):
            called.add(node.callee)
        if isinstance(node, Name) or any(
            part in with_names and part not in called for part in node.children()
        ):
            with_names.add(node)
    found: set[Node] = {expression.root}
    for node in reversed(expression.nodes):
        match node:
            case Name() | Number():
                continue
            case Binary() | Unary() if node.operator in _SIGNS:
                parts = (
                    [node.left]
                    if node.operator == "**" and isinstance(node, Binary)
                    else [*node.children()]
                )
            case Call(callee=Name(name=name), keywords=[], primes=0):
                one = (
                    len(node.arguments) == 1
                    and node.arguments[0] in with_names
                    and operation(name) is not None
                )
                parts = node.arguments if one else []
            case _:
                return None, called
        if node in found:
            found.update(parts)
    return found, called


class _Valueless(Scope):
    """A scope whose names have no values: what would ask for one is no matter of a template
    alone.
    """

    def evaluate(self, node: Expr) -> Any:
        if any(part.is_leaf for part in reachable([node])):
            raise EvaluationError("the value of a name decides what is computed")
        return super().evaluate(node)

    @property
    def random(self) -> np.random.Generator:
        raise EvaluationError("numbers are drawn anew each time")


def lower_template(
    template: Template, limits: Limits
) -> tuple[Expr, list[Expr], list[Expr]] | None:
    """A template over numbers, with the leaves of its names and numbers; None if it does not work
    entry by entry.
    """
    scope = _Valueless(limits)
    for name in (*template.names, *template.numbers):
        scope.names[name] = scope.graph.leaf(name, ())
    source = Source(template.text)
    try:
        expression = parse_expression(source, limits.length)
        if expression.notes:
            return None
        root = Lowering(scope).lower_value(expression, source)
    except GradcliError:
        return None
    names, numbers = (
        [scope.names[name] for name in group] for group in (template.names, template.numbers)
    )
    order = reachable([root])
    operations = [node for node in order if node.op is not None]
    entry_by_entry = all(
        node.kind == "float" and node.op is not None and node.op.elementwise for node in operations
    )
    if not entry_by_entry or any(node.is_constant and node.shape for node in order):
        return None
    used = {node for node in order if node.is_leaf}
    if used != {*names, *numbers} or not flowing(order).issuperset(
        names
    ):  # where nothing is differentiated, there is something to say
        return None
    template.nodes = len(operations) + len(numbers)
    return root, names, numbers
