"""What `gradcli check --convention` takes for right at kinks.

The values of JAX are measured ones, of JAX 0.10.2 in float64.
"""

from __future__ import annotations

import json

import numpy as np
import pytest
from helpers import thinned

from gradcli.check.claims import in_jax
from gradcli.check.judge import forward_exact, gradients_exact
from gradcli.language.run import Program, statements
from gradcli.language.scope import Scope
from gradcli.ops.registry import registry

KINKS = {  # an expression in x, where, and what PyTorch, JAX and the least norm have
    "abs": ("abs(x)", 0, 0, 1, 0),
    "abs, scaled": ("-3*abs(2*x)", 0, 0, -6, 0),
    "relu": ("relu(x)", 0, 0, 0, 0),
    "maximum": ("maximum(x, 0)", 0, 0.5, 0.5, 0),
    "minimum": ("minimum(x, 2*x)", 0, 1.5, 1.5, 1),
    "clip below": ("clip(x, -1, 1)", -1, 1, 0.5, 0),
    "clip above": ("clip(x, -1, 1)", 1, 1, 0.5, 0),
    "clip from one side": ("clip(x, None, 1)", 1, 1, 0.5, 0),
    "hardtanh": ("hardtanh(x)", 1, 0, 1, 0),
    "relu6 above": ("relu6(x)", 6, 0, 0, 0),
    "relu6 below": ("relu6(x)", 0, 0, 0, 0),
    "hardsigmoid": ("hardsigmoid(x)", 3, 0, 0, 0),
    "hardswish": ("hardswish(x)", 3, 1, 1, 1),
    "leaky_relu": ("leaky_relu(x)", 0, 0.01, 1, 0.01),
    "selu": ("selu(x)", 0, 1.7580993408473766, 1.7580993408473766, 1.0507009873554805),
    "a branch": ("x if x > 0 else 3*x", 0, 3, 3, 1),
    "a hinge": ("maximum(0, 1 - x)", 1, -0.5, -0.5, 0),
    "a clipped hinge": ("clip(1 - x, 0, None)", 1, -1, -0.5, 0),
}
CONVENTIONS = ("torch", "jax", "min-norm")


@pytest.fixture
def claims(call_cli):
    """The claims of a check."""

    def check(*arguments, stdin=""):
        done = call_cli("check", *arguments, "--no-cache", "--format", "jsonl", stdin=stdin)
        return [
            claim
            for line in done.stdout.splitlines()
            for claim in json.loads(line)["check"]["claims"]
        ]

    return check


@pytest.mark.parametrize(("convention", "place"), [(name, i) for i, name in enumerate(CONVENTIONS)])
@pytest.mark.parametrize(
    "case", thinned(pytest.param(case, id=name) for name, case in KINKS.items())
)
def test_only_the_convention_is_right(claims, case, convention, place):
    expr, x, *choices = case
    for value in {*choices, 17.0}:
        (claim,) = claims("-e", expr, f"x={x}.", "--grad", f"x={value}", "--convention", convention)
        assert claim["verdict"] == ("agree" if value == choices[place] else "mismatch")


@pytest.mark.parametrize("case", KINKS.values(), ids=KINKS)
def test_without_one_what_lies_between_both_sides_is_a_kink(claims, case):
    expr, x, torch, _, least = case
    for value in (torch, least):
        (claim,) = claims("-e", expr, f"x={x}.", "--grad", f"x={value}")
        assert claim["verdict"] == "kink"


REASONS = {
    "JAX's": ("abs(x)", "1", "torch", "PyTorch has 0: it follows JAX"),
    "two at once": ("abs(x)", "0", "jax", "JAX has 1: it follows PyTorch and the least norm"),
    "none": ("abs(x)", "0.25", "min-norm", "the least norm has 0: it follows no convention"),
}


@pytest.mark.parametrize(("expr", "value", "convention", "reason"), REASONS.values(), ids=REASONS)
def test_which_convention_a_wrong_number_follows(claims, expr, value, convention, reason):
    (claim,) = claims("-e", expr, "x=0.", "--grad", f"x={value}", "--convention", convention)
    assert claim["reason"] == f"on a kink, where {reason}"


def test_entries_beside_the_kink_are_as_always(claims):
    (claim,) = claims("-e", "abs(v)", "v=-1,0,2", "--grad", "v=-1,1,1", "--convention", "jax")
    assert claim["verdict"] == "agree"
    (claim,) = claims("-e", "abs(v)", "v=-1,0,2", "--grad", "v=-1,1,1.1", "--convention", "jax")
    assert (claim["verdict"], claim["worst"]["index"]) == ("mismatch", [2])


def test_what_nobody_has_measured_is_a_kink(claims):
    (claim,) = claims("-e", "norm([x])", "x=0.", "--grad", "x=0.5", "--convention", "jax")
    assert claim == {
        **claim,
        "verdict": "kink",
        "reason": "what JAX chooses at x = 0 (norm) is not known",
    }
    (claim,) = claims("-e", "norm([x])", "x=0.", "--grad", "x=4", "--convention", "jax")
    assert claim["verdict"] == "mismatch"


ASSERTS = {  # and under which conventions they hold
    "grad(abs(x), x) == 0": ["torch", "min-norm"],
    "grad(abs(x), x) == 1": ["jax"],
    "2*grad(abs(x), x) + 1 == 3 within 1e-9": ["jax"],
    "3 - grad(relu(x), x) == 3": ["torch", "jax", "min-norm"],
    "2 - grad(maximum(x, 0), x) == 2": ["min-norm"],
    "grad(x**2 + x, x) == 1": ["torch", "jax", "min-norm"],
    "grad(x**2 + x, x) == 2": [],
}


@pytest.mark.parametrize(("text", "right"), ASSERTS.items(), ids=ASSERTS)
def test_asserts(call_cli, text, right):
    for convention in CONVENTIONS:
        done = call_cli(
            "check", "-", "--no-cache", "--convention", convention, stdin=f"x = 0.; assert {text}\n"
        )
        assert done.returncode == (0 if convention in right else 1), done.stdout


def test_records_and_settings(call_cli, tmp_path):
    (tmp_path / "cases.jsonl").write_text(
        '{"expr": "abs(x)", "at": {"x": 0}, "expect": {"grad": {"x": 1}}}\n'
    )
    assert call_cli("check", "cases.jsonl").returncode == 0
    assert call_cli("check", "cases.jsonl", "--convention", "torch").returncode == 1
    (tmp_path / "pyproject.toml").write_text('[tool.gradcli]\nconvention = "min-norm"\n')
    assert call_cli("check", "cases.jsonl").returncode == 1
    assert call_cli("check", "cases.jsonl", "--convention", "jax").returncode == 0
    assert call_cli("check", "cases.jsonl", "--convention", "keras").returncode == 2


TWINS = [
    op
    for op in registry().values()
    if any(kink.jax is not None and kink.jax.body is not None for kink in op.kinks)
]


@pytest.mark.parametrize("op", TWINS, ids=lambda op: op.name)
def test_away_from_the_kinks_the_rules_are_the_same(op):
    import mpmath

    names = ["a", "b", "c"][: len(op.operands)]
    for values in ([0.3, -1.2, 1.7], [-0.4, 0.2, 0.9], [2.5, -0.5, 1.5]):
        program = Program(Scope())
        for name, value in zip(names, values, strict=False):
            program.scope.bind_value(name, np.float64(value))
        (query,) = statements([f"{op.name}({', '.join(names)})"])
        root = program.execute(query).value
        wrt = [program.scope.names[name] for name in names]
        m = mpmath.MPContext()
        found = []
        for function, by in ((root, wrt), in_jax(root, wrt)):
            table = forward_exact(m, function, program.scope.values, "float64")
            found.append(
                [float(g[()]) for g in gradients_exact(m, table, function, by, np.float64(1))]
            )
        assert found[0] == found[1]


def test_functions_shows_both(call_cli):
    assert "x = 0: 0; JAX: 1" in call_cli("functions", "abs").stdout
