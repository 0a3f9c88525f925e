"""What a query differentiates: the names in its result, and what is to be said of others that it mentions.

The text decides, never a value: leaves that the result depends on, in the order of their bindings, but for those bound with const or
frozen, and for names that are used as whole numbers only. A name whose value is taken beforehand has an entry of zeros.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from gradcli.errors import AmbiguousError, MissingValueError, TypeMismatchError, suggestion
from gradcli.graph.interpret import forward
from gradcli.graph.nodes import Expr, Leaf, reachable
from gradcli.graph.sweep import flowing
from gradcli.language.scope import QUANTITY, WHOLE, Scope, StaticUse
from gradcli.language.tree import Binding, Statement
from gradcli.ops.calling.inputs import BOOL, FLOAT
from gradcli.ops.elementwise.exponential import pow_
from gradcli.ops.structure import detach, to_float, to_int
from gradcli.query.options import Options
from gradcli.query.warnings import first_nonfinite

_ADDRESS = "a class label or an index"
_LONGEST = 40  # characters of a binding that is shown in a help


class Variables(NamedTuple):
    """The names to differentiate with respect to, in order, and warnings about others."""

    nodes: dict[str, Expr]
    warnings: list[str]


def variables(scope: Scope, order: Sequence[Expr], options: Options, uses: Sequence[StaticUse] = ()) -> Variables:
    """Return what the last node of ``order`` is differentiated by. Raises GradcliError for a name that is asked for and cannot be."""
    found, warnings = _listed(scope, order, options, uses)
    warnings += [f"'{name}' has no value here: there is nothing to freeze" for name in options.freeze if scope.subject(name) is None]
    return Variables(found, warnings)


def _listed(scope: Scope, order: Sequence[Expr], options: Options, uses: Sequence[StaticUse]) -> Variables:
    if options.wrt is not None:
        return _asked(scope, order, options, uses)
    leaves = [node for node in order if node.op is None and type(node.payload) is Leaf]
    found = {leaf.payload.name: leaf for leaf in leaves if leaf.kind == FLOAT and leaf not in scope.frozen}
    for name in options.freeze:
        found.pop(name, None)
    if scope.replaced:
        _refuse_two_values(scope, order, found)
        flows = flowing(order)
        found = {name: x for name, x in found.items() if x in flows or not _is_constant(scope, name)}
    warnings: list[str] = []
    if uses or scope.graph.addressing:
        found = _without_whole(scope, order, found, uses, options.freeze, warnings)
    if len(found) < len(leaves):
        warnings += [f"no derivative by {name}: it is boolean" for name in _as_numbers(order, leaves) if name not in options.freeze]
    return Variables(found, warnings)


def _asked(scope: Scope, order: Sequence[Expr], options: Options, uses: Sequence[StaticUse]) -> Variables:
    found: dict[str, Expr] = {}
    warnings = []
    present = {node.payload.name: node for node in order if node.is_leaf}
    for name in options.wrt or ():
        node = present.get(name) if name in scope.replaced else None
        node = scope.subject(name) if node is None else node
        if node is None:
            if scope.needed:
                raise missing(scope, name)
            warnings.append(f"'{name}' has no value here, and so no derivative")
            continue
        if node.kind != FLOAT:
            raise TypeMismatchError(f"'{name}' is boolean; only numbers can be differentiated", help=f"leave {name} out of wrt")
        if name not in options.freeze:
            found[name] = node
    if scope.replaced:
        _refuse_two_values(scope, order, found)
    fixed = {use.leaf: use for use in uses if use.kind == QUANTITY}
    for name, node in found.items():
        if node in fixed:
            raise TypeMismatchError(
                f"no derivative by '{name}': it is {fixed[node].place}, which takes a number known beforehand",
                help=f"leave {name} out of wrt",
            )
    listed = _without_whole(scope, order, dict(found), uses, (), [])
    whole = {use.leaf: use.place for use in uses if use.kind == WHOLE}
    flows = flowing(order) if whole else set()
    for name, node in found.items():
        if name not in listed or (node in whole and node not in flows):
            reason = _taken(scope, node, whole.get(node, _ADDRESS))
            raise TypeMismatchError(f"no derivative by '{name}': it is {reason}", help=f"leave {name} out of wrt")
    return Variables(found, warnings)


def missing(scope: Scope, name: str) -> MissingValueError:
    """The error of a name that is to be differentiated by and has no value."""
    close = suggestion(name, scope.names)
    return MissingValueError(
        f"no value for '{name}', which is to be differentiated", help=f"did you mean '{close}'?" if close else f"give it one: {name}=1"
    )


def _refuse_two_values(scope: Scope, order: Sequence[Expr], found: Mapping[str, Expr]) -> None:
    """Raise AmbiguousError where a result has one name for two values, so that one of them would be lost."""
    for name in found:
        if name not in scope.replaced:
            continue
        values: list[Expr] = []
        for node in order:
            if _bound_name(scope, node) == name and not (values and values[-1] in reachable([node])):
                values.append(node)
        if len(values) > 1:
            first, second = (scope.bindings.get(value) for value in values[:2])
            assert second is not None
            (line, column), (other, place) = _position(first), _position(second)
            apart = line != other
            before = "from outside" if first is None else f"on line {line}" if apart else f"in column {column}"
            after = f"on line {other}" if apart else f"in column {place} of line {other}"
            text = second.source.text[second.expression.root.start : second.expression.root.end] if isinstance(second, Binding) else "..."
            raise AmbiguousError(
                f"'{name}' has two values here: bound {before} and {after}",
                help=f"give the second a name of its own: {name}_2 = {text if len(text) <= _LONGEST else '...'}",
            )


def _bound_name(scope: Scope, node: Expr) -> str | None:
    if node.is_leaf:
        name: str = node.payload.name
        return name
    binding = scope.bindings.get(node)
    return None if binding is None else binding.name


def _position(binding: Statement | None) -> tuple[int, int]:
    return (0, 0) if binding is None else binding.source.position(binding.span.start)


def _without_whole(
    scope: Scope, order: Sequence[Expr], found: dict[str, Expr], uses: Sequence[StaticUse], freeze: Collection[str], warnings: list[str]
) -> dict[str, Expr]:
    """The names without those that are whole numbers, and with those whose values are taken beforehand, in order of binding."""
    if scope.graph.addressing and any(node.op is to_int for node in order):
        addressing: set[Expr | None] = set()
        for node in reversed(order):
            if node.op is to_int or node in addressing:
                addressing.update(node.operands)
        flows = flowing(order)
        lost = {name: x for name, x in found.items() if x in addressing and x not in flows}
        found = {name: x for name, x in found.items() if name not in lost}
        places = {use.leaf: use.place for use in uses}
        warnings += [f"no derivative by {name}: it is {_taken(scope, x, places.get(x, _ADDRESS))}" for name, x in lost.items()]
    more: dict[str, Expr] = {}
    for use in uses:
        name = use.leaf.payload.name
        if use.leaf.kind == FLOAT and use.leaf not in scope.frozen and name not in freeze and name not in found:
            if use.kind != WHOLE:
                more[name] = use.leaf
            elif use.leaf not in order:
                warnings.append(f"no derivative by {name}: it is {_taken(scope, use.leaf, use.place)}")
    warnings[:] = dict.fromkeys(text for text in warnings if not any(text.startswith(f"no derivative by {name}:") for name in more))
    if more:
        found = dict(sorted({**found, **more}.items(), key=lambda item: item[1].index))
    return found


def _taken(scope: Scope, leaf: Expr, place: str) -> str:
    """The reason why a number that a program takes beforehand has no derivative."""
    value = np.asarray(scope.values.get(leaf, 0))
    return f"a whole number, {place}" if np.all(value == np.floor(value)) else f"{place}, by which there is no derivative here"


def _as_numbers(order: Sequence[Expr], leaves: Sequence[Expr]) -> list[str]:
    """The boolean leaves that are calculated with."""
    if all(leaf.kind != BOOL for leaf in leaves):
        return []
    used: set[Expr | None] = set()
    for node in reversed(order):
        if node.op is to_float or (node in used and node.op is not None and node.op.result == "same"):
            used.update(node.operands)
    return [leaf.payload.name for leaf in leaves if leaf.kind == BOOL and leaf in used]


# -- entries that are zero, or that do not exist -------------------------------------------------------------------------------


def remarks(
    scope: Scope, order: Sequence[Expr], wrt: Mapping[str, Expr], uses: Iterable[StaticUse], options: Options, zero: Collection[str]
) -> tuple[list[str], dict[str, str]]:
    """Warnings about the names whose entries are zero, or lack a part, as nothing is differentiated where they stand.

    The second result has those among them of names that have no other place: there is nothing to be right or wrong.

    zero   the names whose entries are zero
    """
    found = []
    constant = {}
    places = {use.leaf: use.place for use in uses if use.kind == QUANTITY}
    flows = flowing(order) if zero or places else set()
    for name, x in wrt.items():
        if x in places:
            part = "leaves out" if x in flows else "is 0:"
            found.append(f"the derivative by {name} {part} {places[x]}, which is held constant")
            if x not in flows:
                constant[name] = found[-1]
        elif name in zero and x not in flows and (options.wrt is None or x in order):
            cause = _detaching(scope, order, x)
            why = f"{cause} stops gradients, as in PyTorch" if cause else "nothing differentiable depends on it"
            found.append(f"the derivative by {name} is 0: {why}")
    return found, constant


def _detaching(scope: Scope, order: Sequence[Expr], x: Expr) -> str | None:
    """The conversion through which alone a result depends on a name, as it is written."""
    return (
        next((scope.detached[node] for node in order if node in scope.detached and x in reachable([node])), None)
        if scope.detached
        else None
    )


def _is_constant(scope: Scope, name: str) -> bool:
    """Return whether the text has bound a name's own value again with const."""
    return scope.names[name].op is detach if name in scope.names else False


def has_powers(order: Sequence[Expr]) -> bool:
    """Return whether there is a power whose exponent depends on a name."""
    return any(map(_has_exponent, order))


def _has_exponent(node: Expr) -> bool:
    return node.op is pow_ and node.operands[1] is not None and not node.operands[1].is_constant


def nowhere(scope: Scope, order: Sequence[Expr], names: Mapping[str, Expr], text_of: Any) -> dict[str, str]:
    """Of names with entries that are no numbers, those that are exponents of negative bases, each with what is to be said of it."""
    powers = [node for node in order if _has_exponent(node)]
    values = forward([node.operand for node in powers], scope.values, scope.precision)
    powers = [node for node in powers if np.any(np.asarray(values[node.operand]) < 0)]
    found: dict[str, str] = {}
    for name, x in names.items() if powers else ():
        above: set[Expr | None] = {x}
        for node in order:
            if node.op is not None and not above.isdisjoint(node.operands):
                above.add(node)
        power = next((node for node in powers if node.operands[1] in above and node.operand not in above), None)
        if power is not None:
            found[name] = f"no derivative by {name}: the base of {text_of(scope, power)} is negative; --freeze {name} leaves it out"
    return found


def is_nan(value: Any) -> bool:
    """Return whether a number, or an entry of an array, is NaN."""
    if type(value) is np.float64:
        return bool(value != value)
    return first_nonfinite(value) is not None and bool(np.isnan(np.asarray(value)).any())
