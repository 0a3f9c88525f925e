"""T10: the check beside the gradient that it checks, on arrays of 10⁴ to 10⁷ entries."""

from __future__ import annotations

from typing import Any

from benchmarks.contest import Goal, InProcess, Run, Setting, Workload

_TIMES, _SECONDS = 30.0, 0.5  # what a check may take beside the gradient, or at all if that is more
_LONG = 1_000_000  # entries from which on the first of these is more
_VECTORS = {
    "elementwise": "sum(exp(-x**2/2)*sin(3*x) + log(1+x**2))",
    "reductions": "std(x) + norm(x) + mean(x)",
    "softmax": "sum(softmax(x)*x)",
    "logsumexp": "logsumexp(x)",
    "sort": "mean(sort(x)[:1000])",
}
_MATRICES = {
    "matmul": "sum(tanh(x @ x))",
    "conv": "sum(conv2d(reshape(x, (1, 1, {n}, {n})), w)**2)",
    "linear algebra": "sum(solve(x, x[0])**2) + slogdet(x)[1]",
}
_SIDES = (100, 300, 1000)


def _data(shape: tuple[int, ...]) -> dict[str, Any]:
    import numpy as np

    random = np.random.default_rng(10)
    x = random.standard_normal(shape)
    if len(shape) > 1:
        x += shape[0] ** 0.5 * 3 * np.eye(shape[0], shape[1])
    return {"x": x, "w": random.standard_normal((1, 1, 5, 5))}


def _given(text: str, shape: tuple[int, ...]) -> dict[str, Any]:
    return {name: value for name, value in _data(shape).items() if name == "x" or "w)" in text}


def gradient(text: str, shape: tuple[int, ...]) -> Run:
    import gradcli

    given = _given(text, shape)
    f = gradcli.value_and_grad(text, wrt=tuple(given))

    def run() -> dict[str, Any]:
        value, gradients = f(**given)
        return {"value": value, **gradients}

    return run


def checked(text: str, shape: tuple[int, ...]) -> Run:
    import gradcli

    given = _given(text, shape)

    def run() -> dict[str, Any]:
        record = gradcli.evaluate(text, **given, formula=False)
        if record.check is None or record.check.verdict.word not in ("agree", "ill-conditioned"):
            raise RuntimeError("the check does not agree")
        return {"value": record.value, **(record.grad or {})}

    return run


def _workload(name: str, text: str, shape: tuple[int, ...], entries: int) -> Workload:
    contestants = (
        InProcess(name="the gradient", build=gradient, arguments=(text, shape), items=entries),
        InProcess(name="gradient and check", build=checked, arguments=(text, shape), items=entries),
    )
    long = Goal("gradient and check", 1 + _TIMES, "the gradient")
    goal = long if entries >= _LONG else Goal("gradient and check", _SECONDS)
    return Workload(
        "T10", f"the check of {name}, {entries:,} entries", contestants, (goal,), unit="entry"
    )


def workloads(setting: Setting) -> list[Workload]:
    sizes = (
        setting.size(10_000, 1_000),
        setting.size(1_000_000, 2_000),
        setting.size(10_000_000, 3_000),
    )
    vectors = [_workload(name, text, (n,), n) for name, text in _VECTORS.items() for n in sizes]
    sides = _SIDES[:1] if setting.quick else _SIDES
    return vectors + [
        _workload(name, text.replace("{n}", str(n)), (n, n), n * n)
        for name, text in _MATRICES.items()
        for n in sides
    ]
