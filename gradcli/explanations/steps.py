"""Derivations for a query: the lines for each name, the last of which is the formula that `gradcli diff` prints."""

from __future__ import annotations

from collections.abc import Mapping

from gradcli.explanations.derivation import Derivation
from gradcli.graph.nodes import Expr
from gradcli.language.scope import Scope
from gradcli.query.general_formulas import General, general
from gradcli.report.derivative_record import Formula
from gradcli.report.explanation import Step

Steps = dict[str, list[Step]]


def derivations(made: General, names: Mapping[str, Formula]) -> Steps:
    """The derivation of each formula. Raises LimitError.

    names  the formulas by the names that they are the derivatives by
    """
    found: Steps = {}
    for name, final in names.items():
        text = final.text
        if text is None:
            continue
        steps: list[Step] | None = None
        x = made.names.get(name)
        if x is None:
            steps = [Step("constant rule", text, None, final.latex)]
        elif made.entrywise:
            steps = Derivation(made.graph, x, made.labels, made.taken).steps(made.root, text, final.latex)
        found[name] = steps or [Step("gradient", text, None, final.latex)]
    return found


def steps_of(scope: Scope, root: Expr, wrt: Mapping[str, Expr], latex: bool) -> Steps:
    """The derivations of a query whose names have values. Raises GradcliError where there is no formula."""
    made = general(scope, root, wrt, [{}], 1)
    formulas = made.derivatives(list(wrt), 1, latex)
    return derivations(made, {name: formulas[name,] for name in wrt})
