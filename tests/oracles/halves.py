"""Floats of 16 bits in PyTorch: values and gradients of one function each, ``python -m
oracles.halves`` in tests/ asks for them.

Needs PyTorch; the tests need what is recorded (data/halves.json). Functions are those that PyTorch
has one loop of: it computes in float32 and rounds once, as we do. Numbers are recorded as they are,
for floats of 16 bits have few digits.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from oracles.libraries import used, weights
from oracles.values import VALUES

RECORDED = Path(__file__).parent.parent / "data" / "halves.json"
DTYPES = ("float16", "bfloat16")

CALLS = (
    *(f"torch.{name}(M)" for name in (
        "exp", "sin", "cos", "tan", "tanh", "sinh", "cosh", "sigmoid", "erf", "erfc", "expm1", "exp2", "square", "abs", "neg", "sign",
        "floor", "ceil", "round", "trunc", "frac", "relu", "reciprocal", "asinh", "atan", "sinc", "rad2deg", "deg2rad", "positive",
        "isnan", "isfinite", "signbit", "logical_not", "nan_to_num", "sum", "mean", "prod", "amax", "amin", "max", "min", "median",
        "argmax", "argmin", "std", "var", "norm", "count_nonzero", "nonzero", "sort", "argsort", "trace", "t", "ravel", "tril", "triu",
        "diff", "diag",
    )),
    *(f"torch.{name}(P)" for name in (
        "log", "log2", "log10", "log1p", "sqrt", "rsqrt", "lgamma", "digamma", "logit", "acos", "asin", "erfinv",
    )),
    *(f"torch.{name}(M, N)" for name in (
        "add", "sub", "mul", "div", "maximum", "minimum", "fmax", "fmin", "atan2", "hypot", "copysign", "logaddexp", "fmod",
        "eq", "lt", "ge", "ne", "xlogy",
    )),
    *(f"F.{name}(M)" for name in (
        "gelu", "silu", "elu", "selu", "celu", "mish", "softplus", "hardtanh", "hardsigmoid", "hardswish", "leaky_relu", "logsigmoid",
        "hardshrink", "softshrink", "relu6",
    )),
    "M + 0.1", "M * 0.1", "M - 0.1", "M / 0.3", "0.1 / M", "M ** 2", "M ** 3", "P ** 0.5", "P ** "
    "1.5", "M == 0.5", "M < 0.375",
    "M @ C", "torch.mm(M, C)", "torch.mv(M, V)", "torch.dot(V, W)", "torch.outer(V, W)", "torch.addmm(S, A, S)",
    "torch.bmm(H, H)", "torch.cumsum(T, 1)", "torch.logsumexp(M, 1)", "torch.softmax(M, 1)", "torch.log_softmax(V, 0)",
    "F.layer_norm(T, (4,))", "F.linear(M, N, V[:2])", "F.conv1d(T, T[:, :, :2])", "F.max_pool1d(T, 2)", "F.avg_pool1d(T, 2)",
    "F.mse_loss(V, W, reduction='sum')", "F.l1_loss(V, W)", "F.smooth_l1_loss(V, W)", "F.huber_loss(V, W)",
    "F.binary_cross_entropy(Q, R)", "F.pad(V, (1, 1))", "torch.where(M > 0, M, N)", "torch.clamp(M, -1, 1)",
    "torch.cat([M, N])", "torch.stack([V, W])", "M[1]", "M[:, ::2]", "M.reshape(3, 2)", "M.T", "torch.gather(M, 1, J)",
    "torch.index_select(M, 1, K)", "torch.masked_fill(M, M > 0, 0.1)", "torch.einsum('ij,kj->ik', "
    "M, N)", "torch.var_mean(V)",
    "torch.full((3000,), 0.1, dtype=V.dtype).sum() + V.sum()", "torch.full((3000,), 0.1, "
    "dtype=V.dtype).cumsum(0)[-1]",
    "torch.full((70000,), 3.0, dtype=V.dtype).mean()", "torch.full((300,), 300.0, "
    "dtype=V.dtype).norm()",
    "torch.full((2, 3000), 0.1, dtype=V.dtype) @ torch.full((3000,), 0.1, dtype=V.dtype)",
)  # fmt: skip


def answer(torch: Any, text: str, kind: str) -> Any:
    """What a call gives of arrays in a dtype: of each part its dtype, its entries and its
    gradients; or the kind of error.
    """
    given = {name: torch.tensor(VALUES[name]) for name in used(text)}
    given = {
        name: x.to(getattr(torch, kind)) if x.is_floating_point() else x
        for name, x in given.items()
    }
    leaves = {name: x.requires_grad_() for name, x in given.items() if x.is_floating_point()}
    try:
        result = eval(text, {"torch": torch, "F": torch.nn.functional, **given})
    except (RuntimeError, TypeError, ValueError) as error:
        return (
            "NotImplementedError"
            if isinstance(error, NotImplementedError)
            else type(error).__name__
        )
    parts = result if isinstance(result, (tuple, list)) else (result,)
    return [
        _part(torch, part if isinstance(part, torch.Tensor) else torch.tensor(part), leaves)
        for part in parts
    ]


def _part(torch: Any, part: Any, leaves: dict[str, Any]) -> Any:
    name = str(part.dtype).removeprefix("torch.")
    entries = part.detach().reshape(-1).tolist()
    if not part.requires_grad:
        return [name, entries, {}]
    seed = torch.tensor(weights(tuple(part.shape))).to(part.dtype)
    slopes = torch.autograd.grad(
        part, list(leaves.values()), seed, retain_graph=True, allow_unused=True
    )
    return [
        name,
        entries,
        {n: x.reshape(-1).tolist() for n, x in zip(leaves, slopes, strict=True) if x is not None},
    ]


def main() -> None:
    import torch

    rows = [
        f"{json.dumps(text)}: {json.dumps([answer(torch, text, kind) for kind in DTYPES])}"
        for text in CALLS
    ]
    RECORDED.write_text("{\n" + ",\n".join(rows) + "\n}\n")


if __name__ == "__main__":
    main()
