"""What the tests of the judge share: verdicts of programs, and operations with a mistake planted in
them.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from tempfile import TemporaryDirectory
from typing import Any
from unittest.mock import patch

import numpy as np
from helpers import lowered

import gradcli
from gradcli.check.crosscheck import cross_check
from gradcli.graph.nodes import Expr, forward
from gradcli.language.run import Program, statements
from gradcli.language.scope import Scope
from gradcli.ops.arrays.shapes import broadcast_to, swapaxes
from gradcli.ops.reductions.sums import spread
from gradcli.ops.registry import record_named
from gradcli.ops.spec import Composite, Op
from gradcli.options import Options
from gradcli.query import interface
from gradcli.query.programs import gradient, run_statement
from gradcli.report.records import Record
from gradcli.tensors.dispatch.apply import traits_of
from gradcli.tensors.dispatch.library_calls import FORMS

Values = Mapping[str, Any]


def judged(text: str, values: Values, **options: Any) -> Any:
    """The cross-check of a program's last query."""
    return gradcli.evaluate(text, at=values, formula=False, **options).check


def said(check: Any) -> str:
    """A check in a line, for messages of failing tests."""
    parts = {"value": check.value, **check.variables}
    return f"{check.verdict.word}: {check.reason}; {parts}"


def recorded(scope: Scope, root: Expr, names: Sequence[str]) -> Record:
    """What the engine says of a node: its value, and the gradient of its sum."""
    values = forward([root], scope.values, scope.precision)
    record = Record("", value=values[root], seed=np.ones(root.shape)[()])
    record.grad = gradient(scope, root, {n: scope.names[n] for n in names}, record.seed, values)
    return record


def verdict_of(scope: Scope, root: Expr, record: Record) -> Any:
    """The cross-check of a record, which a test may have tampered with."""
    assert record.grad is not None
    return cross_check(scope, root, {n: scope.names[n] for n in record.grad}, record, Options())


def rejudged(
    text: str, values: Values, change: Callable[[dict[str, Any]], object] = lambda gradients: None
) -> tuple[Any, Record]:
    """The cross-check of a program after a change of the gradients that the engine computed."""
    scope, root = lowered(text, values)
    record = recorded(scope, root, list(values))
    record.grad = {name: np.array(slope) for name, slope in (record.grad or {}).items()}
    change(record.grad)
    record.check = verdict_of(scope, root, record)
    return record.check, record


@contextmanager
def planted(name: str, **fields: Any) -> Iterator[Op | Composite]:
    """An operation, or a function made of them, with some fields of its record replaced; each is
    given as a function of what was there.
    """
    op = record_named(name)
    before = {field: getattr(op, field) for field in fields}
    try:
        for field, change in fields.items():
            object.__setattr__(op, field, change(before[field]))
        _forget()
        yield op
    finally:
        for field, value in before.items():
            object.__setattr__(op, field, value)
        _forget()


def _forget() -> None:
    """Forget what calls on tensors, and programs that have run, keep of records."""
    traits_of.cache_clear()
    interface._idle_programs.cache_clear()
    FORMS.clear()


Rule = Callable[..., Any]


def partial(place: int, wrong: Callable[[Rule], Rule]) -> dict[str, Any]:
    """One partial derivative replaced by a function of the right one."""
    return {
        "partials": lambda rules: tuple(
            wrong(rule) if i == place else rule for i, rule in enumerate(rules)
        )
    }


def instead(rule: Rule) -> Callable[[Rule], Rule]:
    """Another rule, whatever the right one was."""
    return lambda right: rule


def times(factor: float) -> Callable[[Rule], Rule]:
    """A rule's result (a number, or a cotangent for each operand) times a factor."""

    def wrong(right: Any) -> Any:
        if isinstance(right, tuple):
            return tuple(None if each is None else wrong(each) for each in right)

        def rule(*given: Any, **static: Any) -> Any:
            result = right(*given, **static)
            return (
                tuple(None if r is None else r * factor for r in result)
                if isinstance(result, tuple)
                else result * factor
            )

        return rule

    return wrong


def operand(place: int, change: Callable[[Any], Any]) -> Callable[[Rule], Rule]:
    """A VJP whose cotangent of one operand is changed."""

    def of_one(part: Any) -> Any:
        return part if part is None else change(part)

    def wrong(right: Any) -> Any:
        if isinstance(right, tuple):
            return tuple(
                compose(of_one, rule) if i == place and rule is not None else rule
                for i, rule in enumerate(right)
            )

        def rule(*given: Any, **static: Any) -> Any:
            parts = right(*given, **static)
            if not isinstance(parts, tuple):
                return of_one(parts)
            return tuple(of_one(part) if i == place else part for i, part in enumerate(parts))

        return rule

    return wrong


def compose(change: Callable[[Any], Any], rule: Rule) -> Rule:
    return lambda *given, **static: change(rule(*given, **static))


def rounded(forward: Rule) -> Rule:
    """A forward pass that takes a detour through float32."""

    def narrow(*arrays: Any, **static: Any) -> Any:
        result = np.asarray(forward(*arrays, **static))
        return result.astype(np.float32).astype(result.dtype)[()]

    return narrow


def vjp(rule: Callable[..., Any]) -> dict[str, Any]:
    """Another VJP of an operation with one operand, as cotangent of that operand."""
    return {"vjp": instead(rule)}


def scaled(factor: float) -> dict[str, Any]:
    return {"vjp": times(factor)}


def t(x: Any) -> Any:
    return swapaxes(x, axis1=-1, axis2=-2)


def full(c: Any, x: Any, axis: Any) -> Any:
    return broadcast_to(spread(c, x.shape, axis), shape=x.shape)


def one_off(n: int, place: int, by: float) -> Callable[[Any], Any]:
    factors = np.ones(n)
    factors[place] += by
    return lambda part: part * factors


def remembered_differs() -> str | None:
    """What is wrong with verdicts that are kept: a sine is judged, a wrong one, and the right one
    again.
    """
    wanted = ["agree", "mismatch", "agree"]
    with TemporaryDirectory() as folder, patch.dict(os.environ, GRADCLI_CACHE_DIR=folder):
        found = [_remembered()]
        with planted("sin", forward=lambda sin: lambda x: sin(x) * 1.001):
            found.append(_remembered())
        found.append(_remembered())
    return (
        None
        if found == wanted
        else f"the verdicts on a right, a wrong and a right sine are {found}"
    )


def _remembered() -> str:
    scope = Scope()
    scope.bind_value("x", np.float64(0.7))
    (statement,) = statements(["sin(x)*x"])
    record = run_statement(Program(scope), statement, Options(formula=False, remembering=True))
    assert record is not None
    assert record.check is not None
    return record.check.worst.word
