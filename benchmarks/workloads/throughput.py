"""T8: a file of many different short expressions."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from functools import partial
from typing import Any

from benchmarks.contest import Command, Goal, InProcess, Run, Setting, Workload
from benchmarks.expressions import VALUES, textbook, varied
from benchmarks.workloads.chains import GRADCLI

_EVERY = 10  # sympy and PyTorch take so long that they get every tenth expression
_FUNCTIONS = ("exp", "log", "sqrt", "sin", "cos", "tanh", "cosh", "atan")


def sympy_parse(count: int, texts_of: Callable[[int], list[str]] = textbook) -> Run:
    from sympy.parsing.sympy_parser import parse_expr

    texts = texts_of(count)
    parse_expr("x")  # imports some more

    def run() -> dict[str, Any]:
        for text in texts:
            parse_expr(text)
        return {}

    return run


def sympy_gradients(count: int) -> Run:
    import sympy
    from sympy.parsing.sympy_parser import parse_expr

    parse_expr("x")  # imports some more

    def value_and_gradient(text: str) -> tuple[float, list[float]]:
        expression = parse_expr(text)
        symbols = sorted(expression.free_symbols, key=str)
        point = [VALUES[str(symbol)] for symbol in symbols]
        value, *slopes = sympy.lambdify(
            symbols, [expression, *(expression.diff(symbol) for symbol in symbols)], "math"
        )(*point)
        return value, slopes

    return _each(textbook(count), value_and_gradient)


def pytorch_eval(count: int) -> Run:
    import torch

    torch.set_num_threads(1)
    names = {
        name: torch.tensor(value, dtype=torch.float64, requires_grad=True)
        for name, value in VALUES.items()
    }
    known = {function: getattr(torch, function) for function in _FUNCTIONS} | names

    def value_and_gradient(text: str) -> tuple[float, list[float]]:
        for name in names.values():
            name.grad = None
        value = eval(text, known)
        value.backward()
        return value.item(), [float(x.grad) for _, x in sorted(names.items()) if x.grad is not None]

    return _each(textbook(count), value_and_gradient)


def python_values(count: int) -> Run:
    known = {function: getattr(math, function) for function in _FUNCTIONS} | VALUES
    texts = textbook(count)

    def run() -> dict[str, Any]:
        for text in texts:
            eval(text, known)
        return {}

    return run


def _each(texts: list[str], value_and_gradient: Callable[[str], tuple[float, list[float]]]) -> Run:
    def run() -> dict[str, Any]:
        found = [value_and_gradient(text) for text in texts]
        return {
            "value": [value for value, _ in found],
            "gradients": [slope for _, slopes in found for slope in slopes],
        }

    return run


def workloads(setting: Setting) -> list[Workload]:
    count = setting.size(100_000, 200)
    fewer = count // _EVERY
    texts = textbook(count)
    bindings = [f"{name} = {value}" for name, value in VALUES.items()]

    def ours(name: str, path: str, size: int) -> Command:
        return Command(
            name=name, command=_command(path), answers=True, question=str(size), items=size
        )

    def peer(name: str, build: Callable[[int], Run], *needs: str) -> InProcess:
        return InProcess(
            name=name,
            build=build,
            arguments=(fewer,),
            needs=needs,
            question=str(fewer),
            items=fewer,
            fresh=True,
        )

    program = setting.file("T8.grad", [*bindings, *texts])
    program_of_fewer = setting.file("T8_fewer.grad", [*bindings, *texts[:fewer]])
    program_of_forms = setting.file("T8_forms.grad", [*bindings, *varied(fewer)])
    records = setting.file(
        "T8.jsonl", [json.dumps({"expr": text, "at": _values(text)}) for text in texts]
    )
    contestants = (
        ours("gradcli eval, a program", program, count),
        ours("gradcli eval, fewer", program_of_fewer, fewer),
        ours("gradcli eval, JSON Lines", records, count),
        Command(
            name="gradcli eval, each of a form of its own",
            command=_command(program_of_forms),
            items=fewer,
        ),
        peer("sympy, parsing alone", sympy_parse),
        peer(
            "sympy, parsing those of forms of their own alone",
            partial(sympy_parse, texts_of=varied),
        ),
        peer("sympy, value and gradient", sympy_gradients),
        peer("PyTorch, by Python's eval", pytorch_eval, "torch"),
        peer("bare Python, values by eval", python_values),
    )
    seconds = count / 10_000
    goals = (
        Goal(contestants[0].name, seconds),
        Goal(contestants[2].name, seconds),
        Goal(contestants[0].name, 1.1, contestants[1].name, measure="peak"),
        Goal(contestants[3].name, 1 / 3, contestants[5].name),
    )
    return [
        Workload(
            "T8",
            f"{count:,} different short expressions, --no-check",
            contestants,
            goals,
            unit="expression",
        )
    ]


def _command(path: str) -> tuple[str, ...]:
    return (*GRADCLI, "eval", "-f", path, "--no-check", "--no-formula", "--format", "jsonl")


def _values(text: str) -> dict[str, float]:
    """The values of the names that an expression has."""
    code = compile(text, "expression", "eval")
    return {name: VALUES[name] for name in code.co_names if name in VALUES}
