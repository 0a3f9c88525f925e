"""The names that stand in expressions, also through the functions that these call."""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping

from gradcli.language.callables import is_function
from gradcli.language.tree import (
    Assertion,
    Attribute,
    Binding,
    Call,
    DataBinding,
    Definition,
    Expression,
    Import,
    Name,
    Query,
    Several,
    Statement,
)
from gradcli.ops.calling import textbook
from gradcli.ops.calling.prefixes import ROOTS


def expressions_of(statement: Statement) -> list[Expression]:
    """The expressions that a statement evaluates, and those of a function that it defines."""
    if isinstance(statement, Assertion):
        sides = [side for relation in statement.relations for side in (relation.left, relation.right)]
        ends = [end for each in statement.ranges for end in (each.begin, each.end)]
        return [*sides, *([] if statement.within is None else [statement.within]), *ends]
    if isinstance(statement, Several):
        parts = statement.bindings[:1] if statement.shared else statement.bindings
        return [binding.expression for binding in parts]
    return [statement.expression] if isinstance(statement, (Query, Binding, Definition)) else []


def names_bound_by(statement: Statement) -> list[str]:
    """The names to which a statement binds values."""
    if isinstance(statement, Several):
        return [binding.name for binding in statement.bindings]
    return [statement.name] if isinstance(statement, (Binding, DataBinding)) else []


def names_quantified_by(statement: Statement) -> list[str]:
    """The names that stand for all numbers of a range in a statement."""
    return [each.name for each in statement.ranges] if isinstance(statement, Assertion) else []


def names_imported_by(statement: Statement) -> list[str]:
    """The names that an import line binds."""
    return [item.alias for item in statement.items] if isinstance(statement, Import) else []


def words_of(statement: Statement) -> set[str]:
    """Every name in a statement's expressions, whatever it stands for there."""
    own = statement.parameters if isinstance(statement, Definition) else ()
    found: set[str] = set()
    for expression in expressions_of(statement):
        found.update(expression.called, (node.name for node in expression.nodes if type(node) is Name))
    return found.difference(own)


def mentioned(expressions: Iterable[Expression], functions: Mapping[str, Definition], values: Container[str] = ()) -> list[str]:
    """The names that expressions depend on, but for those of the catalogue's functions and libraries.

    ``values`` are names that have values: before a bracket, too, they are factors.
    """
    found: dict[str, None] = {}
    seen: set[str] = set()
    pending = [(expression, frozenset[str]()) for expression in expressions]
    for expression, own in pending:  # which grow
        for name in _direct(expression, functions, values):
            if name in own:
                continue
            function = functions.get(name)
            if function is None:
                found[name] = None
            elif name not in seen:
                seen.add(name)
                pending.append((function.expression, frozenset(function.parameters)))
    return list(found)


def _direct(expression: Expression, functions: Mapping[str, Definition], values: Container[str]) -> list[str]:
    nodes = expression.nodes
    called = {id(node.callee) for node in nodes if isinstance(node, Call) and not _is_meant(node, functions, values)}
    bases = {id(node.base) for node in nodes if isinstance(node, Attribute) and isinstance(node.base, Name) and node.base.name in ROOTS}
    found = [node.name for node in nodes if isinstance(node, Name) and node.name != "None" and id(node) not in called | bases]
    return found + [name for name in expression.called if textbook.is_own(name) and (name in functions or name in values)]


def _is_meant(call: Call, functions: Mapping[str, Definition], values: Container[str]) -> bool:
    """Whether what is called is a function or a value of the program."""
    callee = call.callee
    return isinstance(callee, Name) and (callee.name in functions or (callee.name in values and not is_function(callee.name)))
