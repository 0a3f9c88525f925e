"""What an operation is stands in its record: no table and no test of a name outside of `ops/` knows
one.
"""

from __future__ import annotations

import ast
import pkgutil
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

import gradcli
from gradcli.ops.registry import record_named, registry
from gradcli.ops.spec import Composite, Op

pytestmark = pytest.mark.ci  # of the source, as a linter

ROOT = Path(gradcli.__file__).parent


def outside() -> Iterator[Path]:
    """The files that are no records."""
    for path in sorted(ROOT.rglob("*.py")):
        if path.relative_to(ROOT).parts[
            0
        ] != "ops" and not f"gradcli.{'.'.join(path.relative_to(ROOT).parts)}".startswith(
            WITNESSES
        ):
            yield path


def is_name_of_an_operation(node: ast.expr) -> bool:
    """Whether this is `something.op.name`, `op.name` or `record.name`."""
    return (
        isinstance(node, ast.Attribute)
        and node.attr == "name"
        and (
            (isinstance(node.value, ast.Name) and node.value.id in ("op", "record"))
            or (isinstance(node.value, ast.Attribute) and node.value.attr == "op")
        )
    )


def lines_that_ask(tree: ast.Module) -> Iterator[int]:
    """The lines in which an operation's name is compared, looked up, or asked for by a helper that
    compares it.
    """
    for node in ast.walk(tree):
        asked: list[ast.expr] = []
        if isinstance(node, ast.Compare):
            asked = [node.left, *node.comparators]
        elif isinstance(node, ast.Subscript):
            asked = [node.slice]
        elif isinstance(node, ast.Match):
            asked = [node.subject]
        elif (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Attribute)
            and node.func.attr in ("get", "pop", "startswith")
        ):
            asked = [node.func.value, *node.args]
        if any(is_name_of_an_operation(part) for part in asked):
            yield node.lineno


def knows_operations(value: Any) -> bool:
    """Whether a collection holds operations, or nothing but names of them."""
    if isinstance(value, dict):
        value = [*value, *value.values()]
    if not isinstance(value, (list, tuple, set, frozenset)):
        return False
    flat = [item for part in value for item in (part if isinstance(part, tuple) else (part,))]
    if any(isinstance(item, (Op, Composite)) for item in flat):
        return True
    names = [item for item in flat if isinstance(item, str)]
    known = [name for name in names if name in registry()]
    return len(known) > 1 and 2 * len(known) > len(names)


def tables(name: str) -> list[str]:
    module = import_module(name)
    return sorted(
        key
        for key, value in vars(module).items()
        if not key.startswith("__") and knows_operations(value)
    )


# The judge reads texts with tables of names of its own, and knows by itself what functions of
# references do over intervals: what it took from the records could not vouch for them. Nor could
# functions of balls, which have mpmath's names.
WITNESSES = ("gradcli.reference.ranges.", "gradcli.reference.ball")
# Primitives of JAX's programs, which are told in NumPy's functions: some bear the name of an
# operation.
OTHER_PEOPLES = ("gradcli.functions.tracing.jax",)
# How PyTorch declares its functions: which take dtype=, write in place, refuse booleans.
DECLARED_THERE = ("gradcli.tensors.dispatch.call_arguments",)


def modules() -> list[str]:
    rooms = pkgutil.walk_packages([str(ROOT)], "gradcli.")
    return [
        m.name
        for m in rooms
        if not m.name.startswith(("gradcli.ops", *WITNESSES, *OTHER_PEOPLES, *DECLARED_THERE))
        and not m.name.endswith("__main__")
    ]


def test_no_name_of_an_operation_is_tested() -> None:
    found = [
        f"{path.relative_to(ROOT)}:{line}"
        for path in outside()
        for line in sorted(set(lines_that_ask(ast.parse(path.read_text("utf-8")))))
    ]
    assert found == [], "a fact about an operation belongs into its record: give `Op` a field"


def test_no_table_of_operations_stands_outside_of_the_records() -> None:
    record_named("add")
    found = [f"{name}.{table}" for name in modules() for table in tables(name)]
    assert found == [], "a fact about an operation belongs into its record: give `Op` a field"
