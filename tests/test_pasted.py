"""Pieces of code as people paste them: what the libraries make of them, as recorded, or refused in
their own words.
"""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from oracles.pasted import PIECES, VALUES, differentiated, names_in

import gradcli
from gradcli.errors import GradcliError
from gradcli.language.run import statements as read
from gradcli.language.tree import Statement

DATA = Path(__file__).parent / "data"
CASES = [
    pytest.param(library, text, id=f"{library}: {text}")
    for library, texts in PIECES.items()
    for text in texts
]


@cache
def recorded(library: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((DATA / f"pasted_of_{library}.json").read_text("utf-8"))
    return found


@pytest.mark.parametrize(("library", "text"), CASES)
def test_a_piece_is_what_the_library_makes_of_it(library: str, text: str) -> None:
    wanted = recorded(library)[text]
    value = np.asarray(wanted["value"], float)
    given = {name: VALUES[name] for name in names_in(text)}
    record = gradcli.evaluate(
        text, at=given, seed=np.ones(value.shape)[()], dialect=library, check=False
    )
    assert np.shape(record.value) == value.shape
    np.testing.assert_allclose(np.asarray(record.value, float), value, rtol=1e-12, atol=1e-13)
    within = 1e-6 if wanted.get("by") == "differences" else 1e-11
    for name in differentiated(text):
        found = (record.grad or {}).get(name, np.zeros(np.shape(VALUES[name])))
        np.testing.assert_allclose(
            np.asarray(found),
            np.asarray(wanted["gradients"][name]),
            rtol=within,
            atol=within,
            err_msg=name,
        )


def test_every_piece_was_recorded() -> None:
    missing = [
        text for library, texts in PIECES.items() for text in texts if text not in recorded(library)
    ]
    assert missing == [], (
        "python -m oracles.record_pasted torch (numpy, jax) in tests/ records what the libraries "
        "make of the pieces"
    )
    assert sum(map(len, PIECES.values())) > 900


AT = {"x": [0.7, -1.3, 2.1, 0.4], "s": 1.7, "A": [[1.2, -0.7], [0.4, 2.0]]}
REFUSED = {
    "a loop": (
        "for i in range(3):\n    t = t + x[i]\nt*s",
        """\
error[syntax]: the language has no 'for' statement
  --> model.grad:1:1
1 | for i in range(3):
  | ^^^
  = help: write sum(x**2) for a sum over all entries
error[missing-value]: 't' has no value: its binding on line 1 has an error
  --> model.grad:3:1
3 | t*s
  | ^""",
    ),
    "a loop in a line": (
        "for i in range(3): s = s + x[i]",
        """\
error[syntax]: the language has no 'for' statement
  --> model.grad:1:1
1 | for i in range(3): s = s + x[i]
  | ^^^
  = help: write sum(x**2) for a sum over all entries""",
    ),
    "a loop as long as": (
        "while s > 1:\n    s = s/2\n",
        """\
error[syntax]: the language has no 'while' statement
  --> model.grad:1:1
1 | while s > 1:
  | ^^^^^
  = help: write sum(x**2) for a sum over all entries""",
    ),
    "branches": (
        "if s > 0:\n    z = s\nelse:\n    z = -s\n",
        """\
error[syntax]: the language has no 'if' statement
  --> model.grad:1:1
1 | if s > 0:
  | ^^
  = help: write y = where(x > 0, x, 0), or y = x if x > 0 else 0""",
    ),
    "a function in a line": (
        "def f(u, v=1): return u*v",
        """\
error[syntax]: the language has no 'def'
  --> model.grad:1:1
1 | def f(u, v=1): return u*v
  | ^^^
  = help: write f(u, v) = u*v""",
    ),
    "a function of lines": (
        "def f(u: float, v=1):\n    z = u*v\n    return z**2\n",
        """\
error[syntax]: the language has no 'def' statement
  --> model.grad:1:1
1 | def f(u: float, v=1):
  | ^^^
  = help: write f(x) = x**2 for a function""",
    ),
    "a lambda with a name": (
        "f = lambda u: u**2 + 1",
        """\
error[syntax]: the language has no 'lambda'
  --> model.grad:1:5
1 | f = lambda u: u**2 + 1
  |     ^^^^^^
  = help: write f(u) = u**2 + 1""",
    ),
    "a lambda in a call": (
        "jax.grad(lambda u: jnp.sum(u**2))(x)",
        """\
error[syntax]: the language has no 'lambda'
  --> model.grad:1:10
1 | jax.grad(lambda u: jnp.sum(u**2))(x)
  |          ^^^^^^
  = help: write f(u) = jnp.sum(u**2)""",
    ),
    "a comprehension": (
        "[sin(u)**2 for u in x]",
        """\
error[syntax]: the language has no comprehensions
  --> model.grad:1:12
1 | [sin(u)**2 for u in x]
  |            ^^^
  = help: write sqrt(x) for the roots of all entries""",
    ),
    "a generator": (
        "sum(u*s for u in x)",
        """\
error[syntax]: the language has no generators
  --> model.grad:1:9
1 | sum(u*s for u in x)
  |         ^^^
  = help: write sum(x**2) for a sum over all entries""",
    ),
    "a comprehension with a condition": (
        "sum([u for u in x if u > 0])",
        """\
error[syntax]: the language has no comprehensions
  --> model.grad:1:8
1 | sum([u for u in x if u > 0])
  |        ^^^
  = help: write sqrt(x) for the roots of all entries""",
    ),
    "a store": (
        "A[:, 0] = 0",
        """\
error[syntax]: the language has no stores: a value stays as it is
  --> model.grad:1:9
1 | A[:, 0] = 0
  |         ^
  = help: write x = x.at[0].set(1)""",
    ),
    "a store that adds": (
        "x[x > 0] += 2*s",
        """\
error[syntax]: the language has no stores: a value stays as it is
  --> model.grad:1:11
1 | x[x > 0] += 2*s
  |           ^
  = help: write x = x.at[0].set(1)""",
    ),
    "an attribute": (
        "x.data = x*2",
        """\
error[syntax]: the language has no attributes to be set
  --> model.grad:1:8
1 | x.data = x*2
  |        ^
  = help: leave it out""",
    ),
    "a method in place": (
        "x.add_(s)",
        """\
error[unknown-name]: 'add_' changes a value in place: a value stays as it is
  --> model.grad:1:1
1 | x.add_(s)
  | ^^^^^^
  = help: write x.add(y) for a new one""",
    ),
    "zeros in place": (
        "x.zero_()",
        """\
error[unknown-name]: 'zero_' changes a value in place: a value stays as it is
  --> model.grad:1:1
1 | x.zero_()
  | ^^^^^^^
  = help: write y = x + 1 for a new one""",
    ),
    "a sort in place": (
        "x.sort()",
        """\
error[syntax]: x.sort() is a sorted copy in PyTorch, and sorts in place in NumPy
  --> model.grad:1:3
1 | x.sort()
  |   ^^^^
  = help: write sort(x)""",
    ),
    "a ufunc in place": (
        "np.add.at(x, [0, 1], s)",
        """\
error[type]: the language has no stores: a value stays as it is
  --> model.grad:1:1
1 | np.add.at(x, [0, 1], s)
  | ^^^^^^^^^
  = help: write y = x.at[0].add(1) for a new one""",
    ),
    "out": (
        "np.add(x, s, out=x)",
        """\
error[argument]: add does not support out
  --> model.grad:1:1
1 | np.add(x, s, out=x)
  | ^^^^^^^^^^^^^^^^^^^
  = help: leave it out, and give the result a name: y = add(...)""",
    ),
    "return": (
        "return x.sum()*s",
        """\
error[syntax]: the language has no 'return' statement
  --> model.grad:1:1
1 | return x.sum()*s
  | ^^^^^^
  = help: write the value alone: y""",
    ),
    "with": (
        "with torch.no_grad():\n    z = x*2\n",
        """\
error[syntax]: the language has no 'with' statement
  --> model.grad:1:1
1 | with torch.no_grad():
  | ^^^^
  = help: write detach(x) for what has no gradient""",
    ),
    "try": (
        "try:\n    z = 1/s\nexcept ZeroDivisionError:\n    z = 0\n",
        """\
error[syntax]: the language has no 'try' statement
  --> model.grad:1:1
1 | try:
  | ^^^
  = help: write where(x > 0, log(x), 0) for what would fail""",
    ),
    "a class": (
        "class Net(nn.Module):\n    def forward(self, x):\n        return x\n",
        """\
error[syntax]: the language has no 'class' statement
  --> model.grad:1:1
1 | class Net(nn.Module):
  | ^^^^^
  = help: write f(x) = x**2 for a function""",
    ),
    "a decorator": (
        "@jax.jit",
        """\
error[syntax]: the language has no decorators
  --> model.grad:1:1
1 | @jax.jit
  | ^
  = help: leave it out""",
    ),
    "del": (
        "del x",
        """\
error[syntax]: the language has no 'del' statement
  --> model.grad:1:1
1 | del x
  | ^^^
  = help: leave it out""",
    ),
    "a formatted string": (
        'print(f"{s}")',
        """\
error[syntax]: the language has no formatted strings
  --> model.grad:1:7
1 | print(f"{s}")
  |       ^
  = help: write the value alone: x""",
    ),
    "several values printed": (
        'print("loss", s)',
        """\
error[syntax]: print takes one value here
  --> model.grad:1:1
1 | print("loss", s)
  | ^^^^^
  = help: write print(y) for each""",
    ),
    "a docstring": (
        '"""The loss."""',
        """\
error[syntax]: the language has no docstrings
  --> model.grad:1:1
1 | \"""The loss.\"""
  | ^^^
  = help: write # before a comment""",
    ),
    "a dict": (
        "{'a': s}",
        """\
error[syntax]: the language has no dicts and no sets
  --> model.grad:1:1
1 | {'a': s}
  | ^
  = help: write [1, 2] for an array, (x + 1) to group""",
    ),
    "a named expression": (
        "(z := s**2)",
        """\
error[syntax]: the language has no ':='
  --> model.grad:1:4
1 | (z := s**2)
  |    ^^
  = help: write y = x**2 as a statement before""",
    ),
    "None": (
        "x if x is not None else s",
        """\
error[syntax]: the language has no 'is', and no value is None
  --> model.grad:1:8
1 | x if x is not None else s
  |        ^^
  = help: write x == y to compare""",
    ),
    "in": (
        "s not in [1, 2]",
        """\
error[syntax]: the language has no 'in'
  --> model.grad:1:7
1 | s not in [1, 2]
  |       ^^
  = help: write (x == 1) or (x == 2)""",
    ),
    "arguments taken apart": (
        "torch.stack([*x])",
        """\
error[syntax]: the language does not take arguments apart
  --> model.grad:1:14
1 | torch.stack([*x])
  |              ^
  = help: write f(x[0], x[1])""",
    ),
    "what Python printed": (
        ">>> x.sum()\ntensor(1.9000)",
        """\
error[syntax]: a line without a prompt in a session is what Python printed
  --> model.grad:2:1
2 | tensor(1.9000)
  | ^^^^^^^^^^^^^^
  = help: leave it out""",
    ),
    "a sum of truths": (
        "(x > 0) + (x > 1)",
        """\
error[ambiguous]: '+' of booleans has two readings: of the numbers 0 and 1, and of truths
  --> model.grad:1:9
1 | (x > 0) + (x > 1)
  |         ^
  = help: write (x > 0)*1 + (x > 1)*1 for numbers, (x > 0) or (x > 1) for a condition""",
    ),
    "a model": (
        "model(x)",
        """\
error[unknown-name]: unknown function 'model'
  --> model.grad:1:1
1 | model(x)
  | ^^^^^
  = help: define it before, or write * to multiply""",
    ),
    "sorted": (
        "sorted(x)",
        """\
error[unknown-name]: the language has no 'sorted'
  --> model.grad:1:1
1 | sorted(x)
  | ^^^^^^
  = help: write sort(x)""",
    ),
    "another precision": (
        "x.astype(np.float32).sum()",
        """\
error[argument]: astype(float32) would round to float32
  --> model.grad:1:1
1 | x.astype(np.float32).sum()
  | ^^^^^^^^^^^^^^^^^^^^
  = help: leave it out: numbers have one precision, which --dtype chooses""",
    ),
    "an update by a function": (
        "x.at[0].apply(jnp.sin)",
        """\
error[type]: a function cannot be handed to apply
  --> model.grad:1:1
1 | x.at[0].apply(jnp.sin)
  | ^^^^^^^^^^^^^
  = help: write x.at[0].set(sin(x[0]))""",
    ),
    "an update of nothing": (
        "x.at[9].set(s)",
        """\
error[shape]: index 9 is out of bounds for axis 0 with size 4
  --> model.grad:1:1
1 | x.at[9].set(s)
  | ^^^^^^^^^^^^^^""",
    ),
}  # fmt: skip


def errors_of(text: str) -> list[GradcliError]:
    """What is refused of a program, as it is rendered."""
    from gradcli.language.run import Program
    from gradcli.language.scope import Scope
    from gradcli.query.evaluate import locate

    program, found = Program(Scope()), []
    for name, value in AT.items():
        program.scope.bind_value(name, value)
    for statement in read(text.splitlines(keepends=True), "model.grad"):
        if isinstance(statement, GradcliError):
            found.append(statement)
            continue
        assert isinstance(statement, Statement)
        try:
            program.execute(statement)
        except GradcliError as error:
            found.append(locate(error, program.scope, statement))
    return found


@pytest.mark.parametrize(("text", "rendered"), REFUSED.values(), ids=REFUSED)
def test_what_is_out_of_the_language_is_refused_in_its_own_words(text: str, rendered: str) -> None:
    assert "\n".join(error.render() for error in errors_of(text)) == rendered


@pytest.mark.parametrize(
    ("text", "value"),
    [
        (">>> z = s*2\n>>> z + 1\n", 4.4),
        (">>> z = [s,\n...      2]\n>>> sum(z)\n", 3.7),
        ("In [1]: z = s*2\n\nIn [2]: z + 1\n", 4.4),
        ("z: float = s*2\nz + 1", 4.4),
        ("z: torch.Tensor = s*2; z + 1;", 4.4),
        ("print(s*2)", 3.4),
        ("x.requires_grad_()\ns*2", 3.4),
        ("x.requires_grad = True\ns*2", 3.4),
        ("z = s + \\\n    2*s\nz", 5.1),
        ("s*2  # a comment \\\n", 3.4),
        ("lambda = 2\nlambda*s", 3.4),
        ("iu = np.triu_indices(2)\nA[iu].sum()", 2.5),
        ("shape = A.shape\ns*shape[0]", 3.4),
        ("device = torch.device('cuda')\nx.to(device).sum()", 1.9),
    ],
)  # fmt: skip
def test_what_changes_nothing_is_read(text: str, value: float) -> None:
    from gradcli.language.run import Program
    from gradcli.language.scope import Scope

    program, found = Program(Scope()), []
    for name, given in AT.items():
        program.scope.bind_value(name, given)
    for statement in read(text.splitlines(keepends=True)):
        assert isinstance(statement, Statement), statement
        lowered = program.execute(statement)
        if lowered is not None:
            found.append(program.scope.evaluate(lowered.value))
    np.testing.assert_allclose(found, [value])
