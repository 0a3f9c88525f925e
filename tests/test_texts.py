"""How operations are written, as their records say: in Python the floats that NumPy gives, in the
language what means the same.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import product
from typing import Any

import numpy as np
import pytest

import gradcli
from gradcli.formulas.printing import formula, latex
from gradcli.graph.nodes import Expr, Graph
from gradcli.ops.registry import OPERATORS, record_named, registry
from gradcli.ops.spec import Op
from gradcli.ops.text import BINDING

NUMBERS = (
    -math.inf,
    -2.5,
    -1.0,
    -0.3,
    -0.0,
    0.0,
    1e-320,
    0.3,
    0.7,
    1.0,
    2.0,
    30.5,
    1e200,
    math.inf,
    math.nan,
)
IN_PYTHON = [op for op in registry().values() if op.in_python]


def in_python(op: Op, operands: tuple[Any, ...]) -> Any:
    """What Python's floats give; None where they raise."""
    names = [f"x{place}" for place in range(len(operands))]
    try:
        return eval(
            op.in_python.format(*names), {**vars(math), **dict(zip(names, operands, strict=True))}
        )
    except (ArithmeticError, ValueError):
        return None


@pytest.mark.parametrize("op", IN_PYTHON, ids=lambda op: op.name)
def test_python_s_floats_give_what_numpy_s_do_or_raise(op: Op) -> None:
    """To the bit, but for functions of the C library, which may be as far from NumPy's as both may
    be from the truth.
    """
    found = 0
    for operands in product(
        *[(False, True) if name == "condition" else NUMBERS for name in op.operands]
    ):
        value = in_python(op, operands)
        if value is None:
            continue
        found += 1
        with np.errstate(all="ignore"):
            wanted = op(*[np.bool_(x) if isinstance(x, bool) else np.float64(x) for x in operands])
        text = f"{op.name}{operands} is {value!r} in Python, {wanted!r} in NumPy"
        if not op.on_floats and math.isfinite(wanted):
            assert abs(value - wanted) <= 2 * op.ulps * math.ulp(wanted), text
        else:
            np.testing.assert_array_equal(np.asarray(value), np.asarray(wanted), err_msg=text)
            assert np.isnan(wanted) or np.signbit(float(value)) == np.signbit(float(wanted)), (
                f"the sign of zero: {text}"
            )
    assert found, f"{op.name} raises for everything"


def test_every_operator_of_the_language_is_one_public_operation() -> None:
    """But for ``&``, which is ``and`` of masks, with NumPy's binding."""
    operators = sorted({*BINDING} - {"&"})
    assert sorted(OPERATORS) == operators
    written = [
        op.sign for op in registry().values() if op.sign and op.public and len(op.operands) == 2
    ]
    assert sorted(written) == operators


def node_of(op: Op, static: dict[str, Any]) -> Expr:
    graph = Graph()
    return graph.apply(op, [graph.leaf(name, ()) for name in op.operands], static)


def ways() -> Iterator[tuple[Op, dict[str, Any]]]:
    """Elementwise operations with a form of their own in the language, by the static parameters
    that there is one for.
    """
    for op in registry().values():
        written = op.written
        if op.elementwise and written is not None and not op.sign:
            for key in written if isinstance(written, dict) else [tuple(op.static.values())]:
                yield op, dict(zip(op.static, key, strict=True))


@pytest.mark.parametrize(
    ("op", "static"),
    list(ways()),
    ids=lambda part: part.name if isinstance(part, Op) else str(part),
)
def test_what_is_written_means_the_operation(op: Op, static: dict[str, Any]) -> None:
    text = formula(node_of(op, static))
    assert text is not None
    values = {name: 1.7 + 0.6 * place for place, name in enumerate(op.operands)}
    found = gradcli.evaluate(
        text, at=values, wrt=(), check=False, formula=False, mode="jacobian"
    ).value
    wanted = op.forward(*values.values(), **static)
    assert found == pytest.approx(wanted, rel=1e-9), (
        f"{text} is {found} at {values}, {op.name} {wanted}"
    )


SIGNS = {
    "sin": r"\sin\left(x\right)", "i0": r"I_{0}\left(x\right)", "jv": r"J_{0}\left(x\right)", "sqrt": r"\sqrt{x}",
    "abs": r"\left|x\right|", "div": r"\frac{x}{y}", "less_equal": r"x \le y", "expm1": r"\operatorname{expm1}\left(x\right)",
    "where": r"\begin{cases} x & \text{if } condition \\ y & \text{otherwise} \end{cases}", "hurwitz_zeta": r"\zeta\left(x, q\right)",
}  # fmt: skip


@pytest.mark.parametrize("name", SIGNS)
def test_latex(name: str) -> None:
    op = record_named(name)
    assert isinstance(op, Op)
    assert (
        latex(node_of(op, dict(op.static))).replace(r"\mathrm{condition}", "condition")
        == SIGNS[name]
    )


def test_indices_of_indices_in_latex() -> None:
    """Each index stands below what it is of, and is its own."""
    graph = Graph()
    x = graph.leaf("x", (3, 3))
    getitem = record_named("getitem")
    entry = getitem(getitem(x, index=(0,)), index=((1, None, None),))
    assert latex(entry) == "x_{0}_{1:}"
