"""T9: checking textbook expressions, beside sympy's own derivatives and values at the same points
with the same digits.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from benchmarks.contest import Command, Goal, InProcess, Run, Setting, Workload
from benchmarks.expressions import VALUES, textbook
from benchmarks.workloads.chains import GRADCLI

_DIGITS = 50  # what a check begins with, and what suffices where everything agrees
_MATHS = {
    name: getattr(math, name)
    for name in ("exp", "log", "sqrt", "sin", "cos", "tanh", "cosh", "atan")
}


def _names(text: str) -> list[str]:
    return [name for name in compile(text, "expression", "eval").co_names if name in VALUES]


def _points(text: str) -> Iterator[Mapping[str, float]]:
    """The points at which a check tries a text whose names have no values: those where the function
    is finite.
    """
    from gradcli.options import POINTS
    from gradcli.query.free_variables import anywhere

    names: Any = _names(text)
    for point in anywhere(names, POINTS, state=0):
        values: Any = point
        if _finite(text, values):
            yield values


def _finite(text: str, point: Mapping[str, float]) -> bool:
    try:
        value = eval(text, _MATHS, {name: float(value) for name, value in point.items()})
    except (ArithmeticError, ValueError):
        return False
    return isinstance(value, float) and math.isfinite(value)


def by_evalf(count: int) -> Run:
    """As one would write it: every expression's ``evalf``."""
    import sympy

    def evaluate(symbols: list[Any], expressions: list[Any], points: list[list[float]]) -> None:
        for point in points:
            values = dict(zip(symbols, map(sympy.Float, point), strict=True))
            for expression in expressions:
                expression.evalf(_DIGITS, subs=values)

    return _each(count, evaluate)


def by_lambdify(count: int) -> Run:
    """As sympy is fastest: compiled to mpmath, common subexpressions computed once."""
    import mpmath
    import sympy

    def evaluate(symbols: list[Any], expressions: list[Any], points: list[list[float]]) -> None:
        function = sympy.lambdify(symbols, expressions, "mpmath", cse=True)
        with mpmath.workdps(_DIGITS):
            for point in points:
                function(*map(mpmath.mpf, point))

    return _each(count, evaluate)


def _each(count: int, evaluate: Callable[[list[Any], list[Any], list[list[float]]], None]) -> Run:
    import sympy
    from sympy.parsing.sympy_parser import parse_expr

    parse_expr("x").evalf()  # imports some more
    work = [(text, _names(text), list(_points(text))) for text in textbook(count)]

    def run() -> dict[str, Any]:
        for text, names, points in work:
            expression = parse_expr(text)
            symbols = [sympy.Symbol(name) for name in names]
            slopes = [expression.diff(symbol) for symbol in symbols]
            evaluate(
                symbols,
                [expression, *slopes],
                [[float(point[name]) for name in names] for point in points],
            )
        return {}

    return run


def workloads(setting: Setting) -> list[Workload]:
    count = setting.size(1_000, 10)
    path = setting.file("T9.grad", textbook(count))
    cache = {"GRADCLI_CACHE_DIR": str(setting.folder / "verdicts")}

    def ours(name: str, *options: str, cores: int = 1, warming: bool = False) -> Command:
        command = (*GRADCLI, "check", path, *options)
        return Command(
            name=name, command=command, environment=cache, cores=cores, warming=warming, items=count
        )

    contestants = (
        ours("gradcli check", "--no-cache"),
        ours("gradcli check -j 2", "--no-cache", "-j", "2", cores=2),
        ours("gradcli check, warm cache", warming=True),
        InProcess(name="sympy, evalf", build=by_evalf, arguments=(count,), fresh=True, items=count),
        InProcess(
            name="sympy, lambdify", build=by_lambdify, arguments=(count,), fresh=True, items=count
        ),
    )
    goals = (
        Goal("gradcli check", 1.3, "sympy, evalf"),
        Goal("gradcli check -j 2", 0.6, "gradcli check"),
        Goal("gradcli check, warm cache", 0.1, "gradcli check"),
    )
    return [
        Workload(
            "T9", f"check of {count:,} textbook expressions", contestants, goals, unit="expression"
        )
    ]
