"""Calls of users', for type checkers: those that are wrong end in ``# error``, and no other line may be one."""

from collections.abc import Callable
from typing import Any, assert_type

import numpy as np
from numpy.typing import NDArray

import gradcli
import gradcli as torch
import gradcli.nn.functional as F
from gradcli import (
    Check,
    Function,
    GradcliError,
    GradientRecord,
    HessianRecord,
    HvpRecord,
    JacobianRecord,
    JvpRecord,
    ParseError,
    Record,
    Tensor,
    Verdict,
    evaluate,
)
from gradcli.testing import assert_gradient, check_gradient, gradient_test

# -- results, by the mode that was asked for

record = gradcli.evaluate("sum(3*a**3 - b**2)", a=[2, 3], b=[6, 4])
assert_type(record, GradientRecord[Check])
assert_type(record.grad["a"], NDArray[Any])
slopes: NDArray[np.float64] = record.grad["a"]
word: str = record.check.verdict.word
text: str = record.derivative["a"]
plain: Record = record
line: str = record.to_json()
fields: dict[str, Any] = record.to_dict()
assert_type(gradcli.evaluate("x", x=1.0, check=False), GradientRecord[None])
assert_type(gradcli.evaluate("x", x=1.0, check=bool(slopes.size)), GradientRecord[Check | None])
assert_type(gradcli.evaluate("x", x=1.0, mode="jacobian", dtype=np.float32), JacobianRecord[Check])
assert_type(gradcli.evaluate("x", x=1.0, mode="hessian", dtype="f4"), HessianRecord[Check])
assert_type(gradcli.evaluate("x", x=1.0, mode="hessian").hessian["x"]["x"], NDArray[Any])
assert_type(gradcli.evaluate("x", x=1.0, jvp={"x": 1.0}), JvpRecord[Check])
assert_type(
    gradcli.evaluate("x", x=1.0, hvp={"x": 1.0}, dialect="torch", backend="numpy"), HvpRecord[Check]
)
assert_type(gradcli.evaluate("x", x=1.0, latex=True, precision=30).latex, dict[str, Any])
evaluate("x", at={"x": 1.0}, wrt="x", freeze=["y"], cov={"x": 0.1}).check.variables["x"].verdict

record.hessian["a"]  # error
gradcli.evaluate("x", x=1.0, mode="jacobian").grad["x"]  # error
gradcli.evaluate("x", x=1.0, check=False).check.verdict  # error
gradcli.evaluate("x", x=1.0, mode="hess")  # error
gradcli.evaluate("x", x=1.0, dtype="float16")  # error
gradcli.evaluate("x", x=1.0, dialect="tensorflow")  # error
gradcli.evaluate("x", x=1.0, backend="gpu")  # error
gradcli.evaluate("x", x=1.0, limits=None)  # error
gradcli.evaluate("x", x=1.0, timeout="5")  # error
record.grat  # error
gradcli.evaluate("x", x=1.0, wrt=3)  # error
gradcli.evaluate("x", 1.0)  # error

# -- verdicts and errors

verdict: Verdict = record.check.verdict
grave: bool = verdict >= Verdict.KINK and verdict != "mismatch" and verdict < "mismatch"
try:
    gradcli.evaluate("x +")
except ParseError as error:
    told: str = error.render()
except GradcliError as error:
    place: tuple[int, int, int] | None = error.place()

Verdict.MISMTCH  # error
verdict < 3  # error

# -- functions, formulas, explanations

f = gradcli.value_and_grad("x**2*y", wrt=("x", "y"), dtype=np.float32, threads=1)
assert_type(f, Function)
value, grads = f(x=2.0, y=[1.0])
steps: float = value  # a scalar is a scalar of NumPy
assert_type(grads["x"], NDArray[Any])
f({"x": 2.0}, y=1.0, seed=[1.0], out={"x": np.empty(1)}).__len__()
energy: float = gradcli.compile("x**2")(x=2.0)
assert_type(gradcli.differentiate("x**2", "x", order=2).derivative, dict[str, Any])
assert_type(gradcli.explain("x**2", x=1.0).record.grad["x"], NDArray[Any])
story: list[str] = gradcli.explain("x**2", x=1.0, why="x").why[0].lines

f(2.0)  # error
gradcli.value_and_grad("x", backend="cuda")  # error
gradcli.differentiate("x", order="2")  # error
gradcli.explain("x", check=True).record.hessian["x"]  # error

# -- tensors, and PyTorch's names

x = torch.tensor([2.0, 3.0], requires_grad=True, dtype=torch.float64)
Q = 3 * x**3 - x.exp() / 2 + (x @ x)
assert_type(Q, Tensor)
Q.backward(gradient=torch.ones_like(Q), retain_graph=True)
assert_type(x.grad, Tensor | None)
assert_type(torch.softmax(x, dim=0), Tensor)
assert_type(F.relu(x).mean(), Tensor)
assert_type(x == x, Tensor)
assert_type(x.split(1), tuple[Tensor, ...])
assert_type(torch.float32, torch.dtype)
for row in x:
    assert_type(row, Tensor)
with torch.no_grad():
    x -= 0.1 * x
x.add_(1.0).clamp_(0.0)
slope: tuple[Tensor | None, ...] = torch.autograd.grad(Q.sum(), x)
whole: Callable[..., Any] = torch.autograd.functional.hessian
right: bool = torch.autograd.gradcheck(lambda t: t.sum(), (x,))

assert_type(check_gradient(np.sum, np.ones_like, at={"x": [1.0, 2.0]}, points=3), Check)
assert_gradient(np.sum, np.ones_like, at={"x": "randn(5)"}, wrt="x", random_state=1)
assert_gradient(np.sum, np.ones_like, at={"x": 1.0}, point=3)  # error
assert_gradient(np.sum, np.ones_like)  # error
gradient_test(np.ones_like, at={"x": 1.0}, order="2")  # error

gradcli.nosuchname  # error
gradcli.jacobien  # error
x.nosuchmethod()  # error
torch.linalg.nosuchname  # error
torch.special.nosuchname  # error
F.nosuchname  # error
torch.nn.Linear(2, 3)  # error
torch.float31  # error
wrong: int = torch.exp(x)  # error
