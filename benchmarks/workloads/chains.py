"""T4, T5: long chains of Rosenbrock terms over scalar names, from text to the full gradient; and
the same from 10³ to 10⁶ nodes.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from benchmarks.contest import LINEAR, Command, Goal, InProcess, Run, Setting, Workload
from benchmarks.expressions import (
    NODES_OF_A_TERM,
    chain,
    chain_bindings,
    chain_point,
    chain_program,
    chain_record,
    rosenbrock,
)

GRADCLI = (
    sys.executable,
    "-c",
    "from gradcli.__main__ import run; run()",
)  # as the console script, of this checkout


def _gradient(slopes: Sequence[Any]) -> dict[str, Any]:
    return {f"x{i}": slope for i, slope in enumerate(slopes)}


def in_process(terms: int) -> Run:
    import gradcli

    text, point = chain(terms), _gradient(chain_point(terms))
    gradcli.evaluate(
        "x**2 - y", at={"x": 1.0, "y": 2.0}, check=False, formula=False
    )  # what is imported late is imported

    def run() -> dict[str, Any]:
        record = gradcli.evaluate(text, at=point, check=False, formula=False)
        assert record.grad is not None
        return {"value": record.value, **record.grad}

    return run


def eager(terms: int) -> Run:
    import gradcli

    return _tensors(gradcli, terms)


def pytorch(terms: int) -> Run:
    import torch

    torch.set_num_threads(1)
    return _tensors(torch, terms)


def _tensors(torch: Any, terms: int) -> Run:
    def run() -> dict[str, Any]:
        x = [
            torch.tensor(value, dtype=torch.float64, requires_grad=True)
            for value in chain_point(terms)
        ]
        value = rosenbrock(x)
        value.backward()
        return {"value": value.detach(), **_gradient([each.grad for each in x])}

    return run


def casadi(terms: int) -> Run:
    import casadi

    def run() -> dict[str, Any]:
        x = [casadi.SX.sym(f"x{i}") for i in range(terms + 1)]
        names, value = casadi.vertcat(*x), rosenbrock(x)
        f = casadi.Function("f", [names], [value, casadi.gradient(value, names)])
        found, slopes = f(chain_point(terms))
        return {"value": float(found), **_gradient(slopes.full().ravel())}

    return run


def sympy(terms: int) -> Run:
    import sympy
    from sympy.parsing.sympy_parser import parse_expr

    parse_expr("x")  # imports some more

    def run() -> dict[str, Any]:
        value = parse_expr(chain(terms))
        symbols = [sympy.Symbol(f"x{i}") for i in range(terms + 1)]
        found, *slopes = sympy.lambdify(
            symbols, [value, *(value.diff(symbol) for symbol in symbols)], "math"
        )(*chain_point(terms))
        return {"value": found, **_gradient(slopes)}

    return run


def _command(path: str, *options: str) -> tuple[str, ...]:
    reading = ("-i", "jsonl") if path.endswith(".jsonl") else ()
    return (*GRADCLI, "eval", *reading, "-f", path, "--no-formula", "--format", "jsonl", *options)


def _chain(setting: Setting) -> Workload:
    terms = setting.size(1_000, 30)
    path = setting.file("T4.jsonl", [chain_record(terms)])
    common: dict[str, Any] = {"arguments": (terms,), "fresh": True, "items": terms}
    contestants = (
        InProcess(name="gradcli in process", build=in_process, **common),
        Command(name="gradcli eval --no-check", command=_command(path, "--no-check"), items=terms),
        Command(name="gradcli eval, checked", command=_command(path), items=terms),
        InProcess(name="gradcli eager, without parsing", build=eager, **common),
        InProcess(name="sympy", build=sympy, **common),
        InProcess(name="CasADi, without parsing", build=casadi, needs=("casadi",), **common),
        InProcess(name="PyTorch, without parsing", build=pytorch, needs=("torch",), **common),
    )
    goals = (Goal("gradcli in process", 0.25), Goal("gradcli eval, checked", 3.0))
    return Workload(
        "T4",
        f"{terms:,} chained Rosenbrock terms over as many names, from text",
        contestants,
        goals,
        unit="term",
    )


def _long_chain(setting: Setting) -> Workload:
    terms = setting.size(100_000, 100)
    path = setting.file("T5.jsonl", [chain_record(terms)])
    program = setting.file("T5.grad", chain_program(terms))
    bindings = setting.file("T5_bindings.grad", chain_bindings(terms))
    contestants = (
        Command(
            name="gradcli eval --no-check",
            command=_command(path, "--no-check"),
            answers=True,
            items=terms,
        ),
        Command(
            name="gradcli eval, a program", command=_command(program, "--no-check"), items=terms
        ),
        Command(
            name="gradcli eval, a binding for each term",
            command=_command(bindings, "--no-check"),
            items=terms,
        ),
        *(
            InProcess(
                name=f"{peer}, without parsing",
                build=build,
                arguments=(terms,),
                needs=(package,),
                fresh=True,
                items=terms,
            )
            for peer, package, build in (
                ("CasADi", "casadi", casadi),
                ("PyTorch", "torch", pytorch),
            )
        ),
    )
    name, program = (contestant.name for contestant in contestants[:2])
    goals = (
        Goal(name, 6.0),
        Goal(name, 1.5e9, measure="peak"),
        Goal(program, 1.3, name),
        Goal(program, 1.3, name, measure="peak"),
    )
    return Workload(
        "T5",
        f"{terms:,} chained Rosenbrock terms, from a text file",
        contestants,
        goals,
        unit="term",
    )


def _scaling(setting: Setting) -> Workload:
    inside: list[InProcess] = []
    outside: list[Command] = []
    for power in range(3, setting.size(7, 5)):
        nodes = 10**power
        terms = nodes // NODES_OF_A_TERM
        path = setting.file(f"nodes{power}.jsonl", [chain_record(terms)])
        common: dict[str, Any] = {"question": str(nodes), "items": nodes}
        inside.append(
            InProcess(
                name=f"in process, {nodes:,}",
                build=in_process,
                arguments=(terms,),
                fresh=True,
                **common,
            )
        )
        outside.append(
            Command(name=f"command line, {nodes:,}", command=_command(path, "--no-check"), **common)
        )
    goals = [
        Goal(more.name, LINEAR, less.name)
        for row in (inside, outside)
        for less, more in pairwise(row)
    ]
    return Workload(
        "nodes",
        "Rosenbrock chains from text, by the number of nodes",
        (*inside, *outside),
        goals,
        unit="node",
    )


def workloads(setting: Setting) -> list[Workload]:
    return [_chain(setting), _long_chain(setting), _scaling(setting)]
