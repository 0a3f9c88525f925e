"""The command line as people write it: options given twice, suffixes of --out, what check, export
and explain read, labels of nodes.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from recorded import over
from test_textbook import AT as OF_TEXTBOOKS

import gradcli
from gradcli.cli.decide.explanations import Explanations
from gradcli.cli.decide.running import Inputs
from gradcli.graph.nodes import forward
from gradcli.language.run import Program, statements
from gradcli.language.syntax import Query
from gradcli.options import Options
from gradcli.query.programs import Programs

SAMPLES = Path(__file__).parent.parent / "samples"


# --- Options that are given twice


# --- Files: the suffix says what is written


# --- What people write


@pytest.mark.parametrize(("claim", "code"), [("2*x", 0), ("3*x", 1)])
def test_check_without_arguments_reads_what_is_piped_in(run_cli, claim, code):
    done = run_cli("check", stdin=f"x = 3.0\nassert grad(x**2, x) == {claim}\n")
    assert done.returncode == code, done.stderr


# --- Labels: each node's text has the node's value

AT = {**OF_TEXTBOOKS, "x": 0.7, "p": [0.5, 1.5], "q": [0.2, 0.4], "M": [[1.2, 0.3], [0.1, 0.9]]}


def _explained(text: str) -> gradcli.Explanation:
    values = {name: np.asarray(value, float) for name, value in AT.items()}
    (*_, found) = Explanations(
        Inputs(text, {}, [], None), Programs(values=values), Options(check=False, formula=False)
    ).answers()  # fmt: skip
    return found


def _program(names: dict[str, Any], lines: list[str]) -> Program:
    """A program with these values, after these lines."""
    program = Programs(
        values={name: np.asarray(value, float) for name, value in names.items()}
    ).fresh(0)
    for statement in statements([f"{line}\n" for line in lines]):
        if not isinstance(statement, Query):
            program.execute(statement)
    return program


def _value(text: str, names: dict[str, Any], lines: list[str]) -> Any:
    """The value of a text alone, after the lines before it."""
    program = _program(names, lines)
    (query,) = statements([text])
    node = program.execute(query).value
    return forward([node], program.scope.values)[node]


@over("labels", "labels", "text")
def test_the_text_of_a_node_has_its_value(text):
    lines = text.split("; ")
    explanation = _explained("\n".join(lines))
    assert explanation.error is None, explanation.record.error
    for node in explanation.nodes:
        if node.text is None or node.call is not None or node.op == "leaf":
            continue
        before = lines[: len(lines) - 1 if node.statement is None else node.statement]
        np.testing.assert_allclose(
            _value(node.text, AT, before),
            node.value,
            rtol=1e-12,
            err_msg=f"node {node.id}: {node.text}",
        )


@over("labels", "edges", "text")
def test_the_formula_of_an_edge_has_its_value(text):
    lines = text.split("; ")
    explanation = _explained("\n".join(lines))
    names = {**AT, **{f"v{node.id}": node.value for node in explanation.nodes}}
    for part in explanation.backward:
        if part.partial is None or part.local is None or np.ndim(part.local):
            continue
        np.testing.assert_allclose(
            _value(part.partial, names, lines[:-1]), part.local, rtol=1e-9, err_msg=part.partial
        )
