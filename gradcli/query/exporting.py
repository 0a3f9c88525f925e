"""From a lowered query to its export.

An export has the query's value and gradients as nodes, and the names that its function takes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from gradcli.data import data
from gradcli.exports.python import Target
from gradcli.exports.subject import Subject
from gradcli.graph.nodes import Expr, forward, reachable, rebuild
from gradcli.graph.sweep import slopes_of
from gradcli.language.run import Lowered, Program
from gradcli.language.scope import Scope
from gradcli.language.syntax import Statement
from gradcli.ops.calling.inputs import FLOAT
from gradcli.ops.spec import Op
from gradcli.options import Options
from gradcli.query.free_variables import lower_freely
from gradcli.query.programs import Script, answers, seed_of, variables
from gradcli.query.uncertainty import left_out
from gradcli.report.records import Answer


@data
class Export(Answer):
    """One query as what is exported of it, or its error."""

    subject: Subject | None = None


def subjects(script: Script, options: Options) -> Iterator[Export]:
    """Yield the export of each query of a program.

    A statement that has none is replaced by its error.
    """
    before: list[str] = []

    def lower(statement: Statement) -> Lowered | None:
        lowered = lower_freely(script.opened, statement, options.wrt or ())
        if lowered is None:
            before.append(statement.text)
        return lowered

    def fill(program: Program, lowered: Lowered, record: Export, options: Options) -> None:
        record.subject = subject(program, lowered, options, [*before, record.expr])

    return answers(Export, fill, script, options, lower=lower)


def file_of(target: Target, found: Sequence[Export]) -> str:
    """Return the text of all functions, which are numbered if there are several.

    Raises UnsupportedInTargetError.
    """
    subjects = [each.subject for each in found if each.subject is not None]
    for number, subject in enumerate(subjects, 1):
        subject.function += f"_{number}" * (len(subjects) > 1)
    return target.file(subjects)


def subject(program: Program, lowered: Lowered, options: Options, text: list[str]) -> Subject:
    """Return what is exported of one query. Raises GradcliError."""
    scope, root = program.scope, lowered.value
    order = reachable([root])
    wrt, _ = variables(scope, order, options, lowered.static_uses)
    # Raises where the expression has no value: then it has no function to export either.
    forward([root], scope.values, scope.precision, order)
    words = ""
    gradients = {}
    if root.kind == FLOAT and wrt:
        seed, given = seed_of(program, root, options)
        gradients = slopes_of(root, wrt, root.graph.constant(np.asarray(seed)) if given else None)
        words = "the given seed" if given else "ones" if root.shape else ""
    made = Subject(
        "\n".join(text), root, gradients, {}, {node: b.name for node, b in scope.bindings.items() if not node.is_leaf}, scope.precision,
        seed=words, notes=tuple(left_out(scope, [root], "this function")), spellings=_spellings(scope, order),
    )  # fmt: skip
    return _with_parameters(scope, made, wrt)


def _spellings(scope: Scope, order: list[Expr]) -> dict[Op, str]:
    """Return how the text writes the operations that have no public name."""
    inner = [node for node in order if node.op is not None and not node.op.public]
    origins = scope.origins() if inner else {}
    return {
        node.op: origins[node][-1].spelling
        for node in inner
        if node.op is not None and origins.get(node)
    }


def _with_parameters(scope: Scope, made: Subject, wrt: dict[str, Expr]) -> Subject:
    """Return the subject with the names that the function takes.

    Other values are written out: those of constants, and random draws.
    """
    leaves = {node for node in [*reachable(made.roots), *wrt.values()] if node.is_leaf}
    given = scope.outside.keys() & scope.mentioned
    taken = {
        leaf: leaf
        for name, leaf in scope.leaves.items()
        if name in given or (leaf in leaves and (leaf not in scope.frozen or name in scope.outside))
    }
    fixed = {leaf: leaf.graph.constant(scope.values[leaf]) for leaf in leaves if leaf not in taken}
    if fixed:
        before = [*made.roots, *made.labels]
        roots = rebuild(before, taken | fixed)
        made = made.rebuilt(dict(zip(before, roots, strict=True)), roots[: len(made.roots)])
    made.parameters = {name: leaf for name, leaf in sorted(scope.leaves.items()) if leaf in taken}
    return made
