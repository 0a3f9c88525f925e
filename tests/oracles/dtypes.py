"""Which dtypes results have, and which values where whole numbers meet:

``python -m oracles.dtypes`` in tests/ asks PyTorch.

Needs PyTorch; the tests need what is recorded (data/dtypes.json.gz).
"""

from __future__ import annotations

import json
import warnings
from collections.abc import Iterator
from typing import Any

from recorded import write

RECORDED = "dtypes.json"

DTYPES = (
    "uint8",
    "int8",
    "int16",
    "int32",
    "int64",
    "bool",
    "float16",
    "bfloat16",
    "float32",
    "float64",
)
LETTERS = dict(
    zip(DTYPES, "ubsilthgfd", strict=True)
)  # a result's dtype in a table; ! where PyTorch raises an error
NUMBERS = (True, 3, 2.5)

# Of two operands of any dtype and category: tensors, tensors without axes, Python's numbers.
PAIRS = (
    "torch.result_type(x, y)", "x + y", "x - y", "x * y", "x / y", "x // y", "x % y", "x == y", "x < y", "x ** y", "x & y", "x | y",
    "x ^ y",
    "torch.add(x, y)", "torch.add(x, y, alpha=2)", "torch.div(x, y, rounding_mode='trunc')", "torch.div(x, y, rounding_mode='floor')",
    "torch.floor_divide(x, y)", "torch.remainder(x, y)", "torch.fmod(x, y)", "torch.pow(x, y)", "torch.true_divide(x, y)",
    "torch.maximum(x, y)", "torch.fmin(x, y)", "torch.atan2(x, y)", "torch.hypot(x, y)", "torch.copysign(x, y)", "torch.xlogy(x, y)",
    "torch.logaddexp(x, y)", "torch.heaviside(x, y)", "torch.where(torch.tensor([True, False]), "
    "x, y)", "torch.where(x > 1, x, y)",
    "torch.logical_and(x, y)", "torch.eq(x, y)", "torch.cat([x, y])", "torch.stack([x, y])", "torch.clamp(x, y)", "torch.lerp(x, y, 0.5)",
    "torch.rsub(x, y)", "torch.bitwise_and(x, y)", "torch.float_power(x, y)", "torch.mul(x, y)", "torch.dot(x, y)",
    "torch.matmul(x, y)", "torch.outer(x, y)", "F.mse_loss(x, y)", "x.masked_fill(x > 1, y)", "torch.full_like(x, y)",
    *(f"x.clone().{name}_(y)" for name in (
        "add", "sub", "mul", "div", "floor_divide", "remainder", "pow", "fill", "copy", "logical_and", "bitwise_or",
    )),
)  # fmt: skip

# Of one tensor: the dtype, and the entries where they are whole numbers.
ALONE = (
    "-x", "~x", "abs(x)", "x.sum()", "x.sum(0)", "x.sum(dtype=torch.float64)", "x.sum(dtype=torch.int8)", "x.prod()", "x.mean()",
    "x.cumsum(0)",
    "x.cumprod(0)", "x.cumsum(0, dtype=torch.float32)", "x.var()", "x.std()", "x.norm()", "x.median()", "x.max()", "x.min(0).values",
    "x.amax(0)",
    "x.argmax()", "x.sort().values", "x.sort().indices", "x.topk(2).values", "x.mode().values", "x.unique()", "x.any()", "x.all()",
    "x.nonzero()", "x.count_nonzero()", "x.diff()", "x.flip(0)", "x.roll(1)", "x.tril()" , "x.dot(x)", "x @ x",
    *(f"torch.{name}(x)" for name in (
        "round", "floor", "ceil", "trunc", "frac", "sign", "signbit", "square", "sqrt", "rsqrt", "reciprocal", "exp", "exp2", "expm1",
        "log",
        "log2", "log10", "log1p", "sin", "cos", "tan", "asin", "atan", "sinh", "tanh", "sigmoid", "erf", "lgamma", "digamma",
        "nan_to_num", "isnan", "isfinite", "isinf", "logical_not", "positive", "neg", "deg2rad", "rad2deg", "relu", "logcumsumexp",
        "sinc", "i0",
        "angle", "cov", "zeros_like", "ones_like", "ravel", "atleast_2d", "nansum", "trace" , "bincount", "argsort", "sgn", "bitwise_not",
    )),
    *(f"F.{name}(x)" for name in (
        "relu", "relu6", "leaky_relu", "elu", "gelu", "silu", "softplus", "hardtanh", "hardsigmoid", "hardswish", "tanhshrink", "softsign",
        "logsigmoid", "one_hot", "celu", "selu", "mish", "hardshrink", "softshrink",
    )),
    "F.softmax(x, 0)", "F.log_softmax(x, 0)", "F.threshold(x, 1, 20)", "F.normalize(x, dim=0)", "torch.logsumexp(x, 0)",
    "torch.round(x, decimals=1)", "torch.clamp(x, 1, 2)", "torch.clamp(x, min=1.5)", "torch.clamp(x, max=2)", "F.pad(x, (1, 1))",
    "F.pad(x, (1, 1), value=2.5)",
    "F.one_hot(x, 5)", "F.one_hot(x, num_classes=4)", "x + 1000", "x * 200", "x - 300", "x ** 3", "x ** 9", "2 ** x", "x % 3", "x // 2",
    "x << 1", "x >> 1", "x.masked_fill(x > 1, 7)", "x.masked_fill(x > 1, 2.5)", "x.clamp_min(2)", "x.to(torch.int8)", "x.char()",
    "x.byte()",
    "F.max_pool1d(x[None, None], 2)", "F.max_pool2d(x[None, None, None], (1, 2))", "F.avg_pool1d(x[None, None], 2)",
    "F.adaptive_max_pool1d(x[None, None], 2)", "F.interpolate(x[None, None], scale_factor=2)",
    "F.interpolate(x[None, None, None], scale_factor=2)",
    "torch.heaviside(x, x)", "torch.div(x, 2, rounding_mode='trunc')", "torch.div(x, 2, "
    "rounding_mode='floor')", "torch.div(x, 2)",
    "torch.gcd(x, x)", "torch.lcm(x, x)", "torch.where(x > 1, x, 0)", "torch.where(x > 1, x, 0.5)", "torch.where(x > 1, 1, 0)",
    "torch.where(x > 1, 1.0, 0.0)",
    "torch.einsum('i,i', x, x)", "torch.outer(x, x)", "torch.kron(x, x)", "torch.tensordot(x, x, "
    "1)", "torch.linalg.norm(x)",
    "torch.quantile(x, 0.5)", "torch.searchsorted(x, x)", "torch.bucketize(x, x)", "torch.isin(x, "
    "x)",
    "torch.take(x, torch.tensor([0]))", "x[x > 1]", "x.index_fill(0, torch.tensor([0]), 2)", "x.index_add(0, torch.tensor([0]), x[:1])",
    "x.scatter(0, torch.tensor([0]), 2)", "torch.diag(x)", "torch.cross(x[:3], x[:3], dim=0)", "torch.cdist(x[None], x[None])",
    "torch.combinations(x)", "torch.cartesian_prod(x, x)", "torch.trapezoid(x)", "torch.vander(x)", "torch.repeat_interleave(x, 2)",
    "torch.addcmul(x, x, x)", "torch.addcdiv(x, x, x)", "torch.fmax(x, x)", "torch.ldexp(x, x)", "torch.float_power(x, 2)",
    "torch.copysign(x, 1)",
    "torch.nn.functional.embedding(x, torch.ones(5, 2))", "x / 0", "x // 0", "x % 0", "torch.remainder(x, -3)", "torch.fmod(x, -3)",
    "torch.fmod(x, 0)",
    "torch.div(x, 0, rounding_mode='trunc')", "x.pow(-1)", "torch.tensor(2) ** x", "x.new_tensor([1.5])", "x.new_full((2,), 3)",
    "torch.full((2,), 3, dtype=x.dtype)", "torch.scalar_tensor(3, dtype=x.dtype)", "torch.arange(3, dtype=x.dtype)",
    "torch.linspace(0, 4, 3, dtype=x.dtype)",
    "torch.eye(2, dtype=x.dtype)", "torch.zeros(2, dtype=x.dtype)", "x.tolist()", "x.sum().item()", "x.float()", "x.bool()",
)  # fmt: skip


# Without an operand: what makes tensors of numbers.
NONE = (
    "torch.tensor(3)", "torch.tensor(2.5)", "torch.tensor(True)", "torch.tensor([1, 2.5])", "torch.tensor([True, 2])",
    "torch.scalar_tensor(False)",
    "torch.scalar_tensor(3)", "torch.full((2,), 3)", "torch.full((2,), 2.5)", "torch.full((2,), "
    "True)", "torch.arange(3)",
    "torch.arange(3.0)",
    "torch.arange(0, 3, 0.5)", "torch.linspace(0, 3, 3)", "torch.eye(2)", "torch.zeros(2)", "torch.as_tensor([1, 2])",
    "torch.ones(2).sum()",
)  # fmt: skip


def operands(torch: Any) -> list[Any]:
    """Tensors, tensors without axes and numbers."""
    kinds = [getattr(torch, name) for name in DTYPES]
    return [
        *(torch.tensor([3, 2]).to(d) for d in kinds),
        *(torch.tensor(3).to(d) for d in kinds),
        *NUMBERS,
    ]


def found(torch: Any, text: str, **names: Any) -> Any:
    """What an expression gives."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return eval(text, {"torch": torch, "F": torch.nn.functional, **names})


def letter(torch: Any, text: str, x: Any, y: Any) -> str:
    """The dtype of the result as a letter, ! for an error, # for what has no dtype."""
    try:
        result = found(torch, text, x=x, y=y)
    except (
        RuntimeError,
        TypeError,
        ValueError,
        IndexError,
        ZeroDivisionError,
        OverflowError,
        AttributeError,
    ):
        return "!"
    kind = str(getattr(result, "dtype", result)).removeprefix("torch.")
    return LETTERS.get(kind, "#")


def rows(torch: Any, text: str) -> list[str]:
    """A row for each left operand, with a letter for each right operand; numbers on the left meet
    tensors only.
    """
    several = operands(torch)
    return [
        "".join(
            letter(torch, text, x, y)
            for y in (several if hasattr(x, "dtype") else several[: 2 * len(DTYPES)])
        )
        for x in several
    ]


def answers(torch: Any, text: str) -> Iterator[Any]:
    """For each dtype, the dtype and the entries of the result, or the kind of error."""
    for name in DTYPES:
        x = torch.tensor([3, 0, 2, 1]).to(getattr(torch, name))
        yield answer(torch, text, x=x)


def answer(torch: Any, text: str, **names: Any) -> Any:
    try:
        result = found(torch, text, **names)
    except (
        RuntimeError,
        TypeError,
        ValueError,
        IndexError,
        OverflowError,
        AttributeError,
    ) as error:
        kinds = (
            AttributeError,
            IndexError,
            NotImplementedError,
            TypeError,
            ValueError,
            OverflowError,
            RuntimeError,
        )
        return next(kind.__name__ for kind in kinds if isinstance(error, kind))
    if not hasattr(result, "dtype"):
        return repr(result)
    entries = result.detach().reshape(-1).tolist()
    if result.dtype.is_floating_point:
        entries = [
            repr(entry) if entry != entry or abs(entry) == float("inf") else float(f"{entry:.3g}")
            for entry in entries
        ]
    return [str(result.dtype).removeprefix("torch."), entries]


def main() -> None:
    import torch

    tables = {text: rows(torch, text) for text in PAIRS}
    alone = {text: list(answers(torch, text)) for text in ALONE}
    none = {text: answer(torch, text) for text in NONE}
    write(
        RECORDED,
        "{\n" + ",\n".join(f"{json.dumps(k)}: {{\n" + ",\n".join(f"{json.dumps(t)}: "
        f"{json.dumps(v)}" for t, v in part.items()) + "\n}"
                           for k, part in (("pairs", tables), ("alone", alone), ("none", none))) + "\n}\n"
    )  # fmt: skip


if __name__ == "__main__":
    main()
