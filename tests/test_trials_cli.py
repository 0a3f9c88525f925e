"""The command line as people write it: options given twice, suffixes of --out, what check, export
and explain read, labels of nodes.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from textbook_texts import READ

import gradcli
from gradcli.cli.decide.explanations import Explanations
from gradcli.cli.inputs import Inputs
from gradcli.graph.interpret import forward
from gradcli.language.run import Program, statements
from gradcli.language.tree import Query
from gradcli.query.bindings import Programs
from gradcli.query.options import Options

SAMPLES = Path(__file__).parent.parent / "samples"


# --- Options that are given twice


# --- Files: the suffix says what is written


# --- What people write


@pytest.mark.parametrize(("claim", "code"), [("2*x", 0), ("3*x", 1)])
def test_check_without_arguments_reads_what_is_piped_in(run_cli, claim, code):
    done = run_cli("check", stdin=f"x = 3.0\nassert grad(x**2, x) == {claim}\n")
    assert done.returncode == code, done.stderr


# --- Labels: each node's text has the node's value

AT = {
    "x": 0.7, "y": 1.3, "z": 0.4, "a": 0.9, "b": 1.2, "c": 0.8, "h": 0.33, "k": 1.1, "m": 1.5, "n": 2.0, "r": 0.5, "s": 1.7, "t": 0.6,
    "v": 0.45, "w": 0.3, "g": 9.8, "A": 1.9, "G": 0.7, "L": 2.4, "P": 2.1, "q_1": 0.3, "q_2": 0.5, "m_1": 3.5, "m_2": 4.5, "φ": 0.3,
    "p": [0.5, 1.5], "q": [0.2, 0.4], "M": [[1.2, 0.3], [0.1, 0.9]],
}  # fmt: skip
LABELLED = [
    *[*READ][::8], "sin^2(3x)", "(sin^2(3x))^2", "exp(sin^2 x)", "ln^2(x)", "1/sin x", "(sin 2x)^3", "sin x cos x", "(√x)^3", "(½x)^3",
    "sin^2 x^2", "30°", "x°", "√(x² + y²)", "(x+1)²/(x-1)³", "|x²-4|", "|sin x|", "x|y|",
    "log_2 x", "2log_2(x+1)", "grad(sin^2(x), x)", "d/dx(x^2)",
    "sum([x**2, y])", "[x,y].sum()", "[[x,y],[y,x]] @ [x,1]", "[[1,2],[3,4]] @ p", "sum(p*[1,2])", "-[x,y]", "np.array([x,y])*2",
    "np.dot([x,y],[y,z])", "norm([x,y])", "sum([[x,y],[y,x]])", "(M+1).pow(2).t()", "(p*2).mean()", "F.relu(x-1)", "torch.std(p)",
    "where(x > 0, x, -x)", "x^2 if x > 0 else sin^2 x", "p[0]*p[1]", "softmax(p)[0]", "cross_entropy(p, 0)", "einsum('i,i->', p, q)",
    "f(u) = u sin u; f(2)", "f(u) = u**2 + 1; f(3x)", "f(u) = u**2+1; f'(2x)", "f(u) = sin(u); "
    "f''(x)", "u = 2x; sin^2(u)",
    "u = [x, 2x]; u[0]*u[1]", "u = x**2; u += 1; 2u", "u, o = x, y; u*o", "1e3x", "x × y", "x ÷ y", "x − y", "-x²", "2⁻¹x", "x^½",
]  # fmt: skip


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


@pytest.mark.parametrize("text", LABELLED)
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


@pytest.mark.parametrize(
    "text", [text for text in LABELLED if "f(u)" not in text and "u, o" not in text]
)
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


def test_nodes_of_the_samples_have_texts_of_their_value(monkeypatch):
    monkeypatch.chdir(SAMPLES)
    tried = 0
    for path in sorted(SAMPLES.glob("*.grad")):
        lines = path.read_text("utf-8").splitlines(keepends=True)
        options = Options(check=False, formula=False)
        for explanation in Explanations(
            Inputs(None, {}, [path.name], None), Programs(), options
        ).answers():
            for node in explanation.nodes:
                if (
                    node.text is None
                    or node.call is not None
                    or not node.operands
                    or node.spelling == node.text
                ):
                    continue
                tried += 1
                programs = Programs()
                program = programs.fresh(0, programs.loader(SAMPLES))
                own = explanation.record.line - 1 if node.statement is None else node.statement
                for statement in statements(lines[:own]):
                    if type(statement).__name__ not in ("Query", "Assertion"):
                        program.execute(statement)
                (query,) = statements([f"({node.text})" if "\n" in node.text else node.text])
                found = program.execute(query).value
                value = forward([found], program.scope.values)[found]
                np.testing.assert_allclose(
                    value,
                    node.value,
                    rtol=1e-9,
                    err_msg=f"{path.name}, node {node.id}: {node.text}",
                )
    assert tried > 200
