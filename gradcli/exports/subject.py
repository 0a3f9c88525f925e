"""Subject of an export, as far as a target can write it.

It is a value, its gradients, and the names that both depend on, as nodes of one graph.
"""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from gradcli.errors import UnsupportedInTargetError
from gradcli.graph.nodes import Domain, Expr, Graph, Rebuilding, interpret, reachable
from gradcli.ops.arrays.shapes import broadcast_to
from gradcli.ops.elementwise import arithmetic
from gradcli.ops.spec import Op
from gradcli.ops.structure import to_float
from gradcli.plans.folding import Folder, constant_of
from gradcli.texts import clip_text

_FAR = 1100.0  # powers overflow at this exponent, even those of 2


@dataclass
class Subject:
    """Function that is exported.

    text         what it computes, as the user wrote it
    value        the result
    gradients    its gradients by names
    parameters   every name that the function takes, with its leaf
    labels       names that the program gave to intermediates
    precision    "float64" or "float32"
    function     what the function is called
    seed         how the seed is to be described, where the result is no number
    spellings    how the text writes what became an operation that has no public name
    """

    text: str
    value: Expr
    gradients: dict[str, Expr]
    parameters: dict[str, Expr]
    labels: dict[Expr, str] = field(default_factory=dict)
    precision: str = "float64"
    function: str = "value_and_grad"
    seed: str = ""
    notes: tuple[str, ...] = ()
    spellings: Mapping[Op, str] = field(default_factory=dict)

    @property
    def roots(self) -> list[Expr]:
        return [self.value, *self.gradients.values()]

    def rebuilt(self, table: Mapping[Expr, Expr], roots: Sequence[Expr]) -> Subject:
        """Return the same subject where nodes have become others."""
        labels = {table[node]: name for node, name in self.labels.items() if node in table}
        return replace(
            self,
            value=roots[0],
            gradients=dict(zip(self.gradients, roots[1:], strict=True)),
            labels=labels,
        )


# Whether a target has a text for an operation at a node, with operands.
Writes = Callable[[Op, Expr, Sequence[Any]], bool]


class _Plain(Rebuilding):
    """Values without what is about the program.

    Left out are names and cuts of gradients. Derivatives become their expansions.
    """

    alias = Domain.alias
    detach = Domain.detach
    derivative = Domain.derivative

    def operation(self, node: Expr, op: Op, operands: list[Expr]) -> Expr:
        if op.transparent and len(operands) == 1:
            return operands[0]
        return super().operation(node, op, operands)


class OfNumbers(_Plain):
    """Values of numbers, of which none is NaN: what is true of all numbers stays so."""

    def operation(self, node: Expr, op: Op, operands: list[Expr]) -> Expr:
        made = super().operation(node, op, operands)
        if node.kind != "bool":
            return made
        if [operand.kind for operand in operands] == ["float"]:
            truths = {*op.forward(np.array([-math.inf, -2.0, 0.0, 0.5, math.inf])).tolist()}
            found = None if len(truths) > 1 else truths.pop()
        else:
            found = op.simpler and op.simpler(made, *operands)
        if isinstance(found, bool):
            return self.graph.constant(found)
        return made if found is None else found


class _Composing(_Plain):
    """Operations without a text made of those that have one."""

    def __init__(self, graph: Graph, writes: Writes) -> None:
        super().__init__(graph)
        self.writes = writes
        self.changed = False
        self.lacking: dict[Op, None] = {}

    def part(self, node: Expr, whole: Any, place: int) -> Expr:
        if isinstance(whole, tuple):
            found: Expr = whole[place]
            return found
        return super().part(node, whole, place)

    def operation(self, node: Expr, op: Op, operands: list[Any]) -> Expr:
        if op.transparent or self.writes(op, node, operands):
            return super().operation(node, op, operands)
        made = op.body
        if made is None:
            self.lacking[op] = None
            return super().operation(node, op, operands)
        found: Expr = made(*operands, **node.static)
        self.changed = True
        return (
            found
            if found.shape == node.shape or op.outputs > 1
            else self.graph.apply(broadcast_to, (found,), {"shape": node.shape})
        )


class Guarding(Folder):
    """Folder that folds mildly.

    It leaves a product that a zero cotangent wins (`chain`) only where the partial may be infinite
    beside a zero.
    """

    def __init__(self, graph: Graph) -> None:
        super().__init__(graph, assume_finite=False)
        self._moderate: dict[Expr, bool] = {}

    def operation(self, node: Expr, op: Op, operands: list[Any]) -> Expr:
        """Fold as for speed, but for what is written under its own name, and sums of one number."""
        if (
            op.elementwise
            and op.parts
            and any(constant_of(operand) is None for operand in operands if operand is not None)
        ):
            return self.graph.apply(op, operands, node.static)
        if op.algebra == "total" and (number := constant_of(operands[0])) is not None:
            return self._number(number * node.operand.size / max(1, node.size))
        return super().operation(node, op, operands)

    def _chain(self, cotangent: Expr, partial: Expr) -> Expr:
        return (
            self._product(cotangent, partial)
            if self._is_moderate(partial)
            else super()._chain(cotangent, partial)
        )

    def _open_product(self, cotangent: Expr, partial: Expr) -> Expr:
        return self.graph.apply(arithmetic.chain, (cotangent, partial))

    def _is_moderate(self, node: Expr) -> bool:
        """Return whether a value is finite wherever the names are, except for overflow.

        Zero times such a value is zero.
        """
        known = self._moderate
        stack = [node]
        while stack:
            top = stack[-1]
            if top in known:
                stack.pop()
                continue
            op = top.op
            if op is None:
                number = constant_of(top)
                known[top] = top.is_leaf or (number is not None and math.isfinite(number))
            elif not _keeps_size(op, top):
                known[top] = False
            else:
                waiting = [o for o in top.given_operands if o not in known]
                if waiting:
                    stack += waiting
                    continue
                known[top] = all(known[o] for o in top.given_operands)
        return known[node]


def _keeps_size(op: Op, node: Expr) -> bool:
    """Return whether an operation is of moderate size where its operands are."""
    if op.kind == "smooth":
        exponent = constant_of(node.operands[1]) if op.algebra == "power" else None
        return _is_bounded(op, node.static) or (
            exponent is not None and exponent >= 0 and float(exponent).is_integer()
        )
    if op.kind == "structural":
        return op.algebra in ("reshaping", "repetition") or op.linear
    return op.kind == "flat" or not op.domain


def _is_bounded(op: Op, static: Mapping[str, Any]) -> bool:
    """Return whether a smooth function is defined everywhere and finite far out."""
    if op.domain:
        return False
    points = np.meshgrid(*[(-_FAR, -1.0, 0.0, 1.0, _FAR)] * len(op.operands))
    with np.errstate(all="ignore"):
        return bool(np.isfinite(op.forward(*points, **static)).all())


def plain(subject: Subject, domain: type[_Plain] = _Plain) -> Subject:
    """Return what is exported, without what is about the program rather than about numbers."""
    return _interpret(subject, domain(subject.value.graph))


def _interpret(subject: Subject, domain: Rebuilding) -> Subject:
    table = interpret(reachable(subject.roots), domain)
    return subject.rebuilt(table, [table[root] for root in subject.roots])


def writable(subject: Subject, target: str, writes: Writes) -> Subject:
    """Return what is exported, folded, of operations that a target has.

    Raises UnsupportedInTargetError for those that it lacks.
    """
    subject = _open_operations(plain(subject), target, writes)
    folder = Guarding(subject.value.graph)
    roots = folder.fold(subject.roots)
    subject = _open_operations(subject.rebuilt(folder.done, roots), target, writes)
    slopes = subject.gradients.items()
    return replace(
        subject, gradients={n: to_float(x) if x.kind == "bool" else x for n, x in slopes}
    )


def _open_operations(subject: Subject, target: str, writes: Writes) -> Subject:
    """Return the subject in operations that have a text.

    Operations without a text are replaced by those that they are made of, round after round.
    """
    while True:
        domain = _Composing(subject.value.graph, writes)
        subject = _interpret(subject, domain)
        if domain.lacking:
            raise lacking(target, list(domain.lacking), subject)
        if not domain.changed:
            return subject


def lacking(target: str, ops: Sequence[Op], subject: Subject) -> UnsupportedInTargetError:
    """Return the error for functions that a target lacks.

    It calls them by their names, or as the text writes them.
    """
    names = dict.fromkeys(subject.spellings.get(op) or op.name for op in ops)
    return UnsupportedInTargetError(
        f"{' and '.join(names)} cannot be written in {target} here",
        help="export to numpy, which has SciPy's functions"
        if target != "numpy"
        else "freeze names whose gradient is not needed: --freeze",
    )


# -- Identifiers of other languages: the user's names as far as these can have them, and names for
# intermediates.


class Names:
    """The identifiers of one function, each given once."""

    def __init__(self, reserved: Collection[str]) -> None:
        self.taken = set(reserved)
        self._last = 0

    def of(self, name: str, *, prefix: str = "") -> str:
        """Return an identifier for a name of the user's.

        It is the name itself, followed by underscores where it is reserved or taken.
        """
        found = prefix + identifier(name)
        while found in self.taken:
            found += "_"
        self.taken.add(found)
        return found

    def new(self, letter: str = "t") -> str:
        """Return an identifier for something that has no name."""
        while True:
            self._last += 1
            found = f"{letter}{self._last}"
            if found not in self.taken:
                self.taken.add(found)
                return found


def identifier(name: str) -> str:
    """Return a name that a language can have, with other characters as their numbers."""
    if name.isidentifier() and unicodedata.normalize("NFKC", name) == name:
        return name
    found = "".join(
        character if f"_{character}".isidentifier() else f"u{ord(character):04x}"
        for character in unicodedata.normalize("NFKC", name)
    )
    return found if found.isidentifier() else f"_{found}"


# -- What an exported function computes, in words: its text, shapes and dtypes.


def describe(subject: Subject, identifiers: Mapping[str, str]) -> list[str]:
    """Lines of a docstring or a comment."""
    first, *rest = [clip_text(line, 300) for line in subject.text.strip().split("\n")]
    lines = [f"Value and gradient of {first}"]
    if rest:
        lines = ["Value and gradient of", *(f"    {line}" for line in (first, *rest))]
    lines.append("")
    for name, leaf in subject.parameters.items():
        own = identifiers[name]
        called = f"{own} (for {name})" if own != name else own
        shape = f"shape {leaf.shape}" if leaf.shape else "a number"
        what = {"bool": "booleans", "int": "whole numbers"}.get(leaf.kind, subject.precision)
        held = "" if name in subject.gradients else ", held constant"
        lines.append(f"{called}: {shape}, {what}{held}")
    shape = f"shape {subject.value.shape}" if subject.value.shape else "a number"
    lines.append(
        f"value: {shape}"
        + (f"; gradients are of its product with {subject.seed}" if subject.seed else "")
    )
    for note in subject.notes:
        lines += ["", note]
    return lines
