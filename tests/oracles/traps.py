"""Texts at whose points PyTorch may multiply zero by infinity on the way back, and what it gives:

``python -m oracles.traps`` in tests/, where there is PyTorch, records for which entries that is NaN.
"""

from __future__ import annotations

import json
import math
from pathlib import Path

DATA = Path(__file__).parent.parent / "data" / "traps_of_torch.json"
POINTS = [[0.0, 0.0, 0.0], [0.0, 1.0, 4.0], [1.0, 1.0, 1.0], [-1.0, 0.0, 2.0], [0.5, 0.0, 1.0]]
TEXTS = """
    torch.where(x > 0, torch.sqrt(x), 0)
    torch.where(x > 0, torch.sqrt(x), 0*x)
    torch.where(x != 0, torch.sin(x)/x, 1)
    torch.where(x > 0, torch.log(x), 0)
    torch.where(x > 0, x*torch.log(x), 0)
    torch.where(x == 0, 0, x/torch.abs(x))
    torch.where(x == 0, 0*x, x/torch.abs(x))
    torch.sqrt(x**2)
    torch.sqrt(x)**2
    x*torch.sqrt(x)
    x*torch.sqrt(torch.abs(x))
    torch.linalg.norm(x)
    torch.norm(x)
    x.norm()
    torch.norm(x)**2
    torch.sqrt(torch.sum(x**2))
    torch.sqrt(torch.sum(x**2))**2
    x**0.5
    (x**0.5)*0
    0*torch.sqrt(x)
    0*torch.log(x)
    torch.where(x > 0, x**0.3, 0)
    torch.where(x > 0, x**0.5, x)
    torch.where(x > 0, 1/x, 0)
    torch.where(x > 0, torch.exp(-1/x), 0)
    torch.exp(-1/x**2)
    torch.exp(-1/x)
    torch.relu(torch.sqrt(x))
    torch.relu(-torch.sqrt(x))
    torch.maximum(torch.sqrt(x), x)
    torch.maximum(torch.sqrt(x), torch.ones_like(x))
    torch.clamp(torch.sqrt(x), 0.5, 1)
    torch.clamp(torch.log(x), -10, 1)
    torch.clamp(1/x, -10, 1)
    torch.abs(torch.sqrt(x))
    torch.sign(torch.sqrt(x))
    torch.sqrt(torch.relu(x))
    torch.sqrt(torch.abs(x))
    torch.sqrt(torch.clamp(x, min=0))
    torch.log(torch.relu(x))
    torch.log(torch.clamp(x, min=0.1))
    torch.special.entr(x)
    -x*torch.log(x)
    torch.hypot(x, x)
    torch.hypot(x, 0*x)
    torch.atan2(x, x)
    torch.atan2(0*x, x)
    torch.sinc(x)
    torch.std(x)
    torch.std(x)**2
    torch.var(x)
    torch.sqrt(torch.var(x))
    torch.nn.functional.normalize(x, dim=0)
    torch.nn.functional.cosine_similarity(x, x, dim=0)
    x/torch.norm(x)
    torch.where(torch.norm(x) > 0, x/torch.norm(x), 0)
    torch.acos(torch.clamp(x, -1, 1))
    torch.where(x < 1, torch.acos(x), 0)
    torch.asin(x)
    torch.where(torch.abs(x) < 1, torch.asin(x), 0)
    torch.where(torch.abs(x) < 1, torch.atanh(x), 0)
    torch.atanh(x)
    torch.sqrt(1 - x**2)
    torch.where(x < 1, torch.sqrt(1 - x**2), 0)
    torch.where(x < 1, torch.log(1 - x), 0)
    torch.nan_to_num(torch.log(x))
    torch.nan_to_num(1/x)
    torch.logsumexp(torch.log(x), 0)
    torch.softmax(torch.log(x), 0)
    torch.log_softmax(torch.log(x), 0)
    torch.softmax(torch.where(x > 0, x, -torch.inf), 0)
    torch.logsumexp(torch.where(x > 0, x, -torch.inf), 0)
    torch.prod(x)
    torch.prod(torch.sqrt(x))
    torch.min(torch.sqrt(x))
    torch.max(torch.sqrt(x))
    torch.sort(torch.sqrt(x))[0][0]
    torch.median(torch.sqrt(x))
    torch.topk(torch.sqrt(x), 1)[0]
    torch.cumsum(torch.sqrt(x), 0)[0]
    torch.sqrt(x)[0]
    torch.sqrt(x)[-1]
    torch.sqrt(x[1:])
    torch.sum(torch.sqrt(x)*torch.tensor([0.0, 1.0, 1.0]))
    torch.sum(torch.log(x)[x > 0])
    torch.sum(torch.where(x > 0, torch.log(x), torch.zeros_like(x)))
    torch.masked_fill(torch.log(x), x <= 0, 0)
    torch.log(x).masked_fill(x <= 0, 0.0)
    torch.log(torch.where(x > 0, x, 1))
    torch.where(x > 0, torch.sqrt(torch.where(x > 0, x, 1)), 0)
    torch.sigmoid(torch.log(x))
    torch.tanh(1/x)
    torch.sigmoid(1/x)
    torch.erf(1/x)
    torch.exp(torch.log(x))
    torch.sin(torch.sqrt(x))**2
    torch.cosh(torch.sqrt(x))
    torch.cos(torch.sqrt(x))
    torch.cos(torch.abs(x)**0.5)
    torch.pow(x, 0)
    torch.pow(x, 1)
    torch.pow(x, 2)*torch.log(x)
    torch.pow(0.0, x)
    torch.pow(x, x)
    x**x
    torch.where(x > 0, x**x, 1)
    torch.exp(x)/torch.exp(x)
    torch.exp(1000*x)*0
    torch.where(x < 1, torch.exp(1000*x), 0)
    torch.where(x < 1, torch.exp(1000*x), 1)
    torch.log(torch.exp(1000*x))
    torch.where(x > 0.5, x, torch.log(1 + torch.exp(1000*x)))
    torch.nn.functional.softplus(1000*x)
    torch.nn.functional.binary_cross_entropy(torch.sigmoid(1000*x), torch.ones_like(x))
    torch.nn.functional.mse_loss(torch.sqrt(x), torch.zeros_like(x))
    torch.nn.functional.huber_loss(torch.sqrt(x), torch.zeros_like(x))
    torch.nn.functional.l1_loss(torch.sqrt(x), torch.zeros_like(x))
    torch.nn.functional.kl_div(torch.log(x), x)
    torch.nn.functional.elu(torch.log(x))
    torch.nn.functional.leaky_relu(torch.sqrt(x))
    torch.nn.functional.gelu(torch.log(x))
    torch.nn.functional.silu(torch.log(x))
    torch.dist(x, x)
    torch.cdist(x.reshape(1, 3), x.reshape(1, 3))
    torch.nn.functional.pairwise_distance(x, x)
    torch.nn.functional.pairwise_distance(x, 0*x)
    torch.matmul(torch.sqrt(x), torch.zeros_like(x))
    torch.dot(torch.sqrt(x), torch.zeros_like(x))
    torch.outer(torch.sqrt(x), torch.zeros_like(x))
    torch.rsqrt(x)*0
    torch.reciprocal(x)*0
    torch.where(x > 0, torch.rsqrt(x), 0)
    torch.log1p(-x)
    torch.where(x < 1, torch.log1p(-x), 0)
    torch.log2(x)*0
    torch.where(x > 0, torch.log10(x), 0)
    torch.floor(torch.sqrt(x))
    torch.sqrt(x).detach()*x
    torch.fmod(torch.sqrt(x), 1)
    torch.where(x > 0, torch.lgamma(x), 0)
    torch.logaddexp(torch.log(x), torch.log(x))
    torch.logaddexp(torch.log(x), x)
    torch.square(torch.sqrt(x))
    torch.sqrt(torch.square(x))
    torch.frac(1/x)
    torch.lerp(torch.sqrt(x), x, 1.0)
    torch.addcmul(x, torch.sqrt(x), torch.zeros_like(x))
    torch.linalg.vector_norm(x, ord=1)
    torch.linalg.vector_norm(x, ord=3)
    torch.linalg.vector_norm(x, ord=0.5)
    torch.renorm(x.reshape(1, 3), 2, 0, 1.0)
    torch.nn.functional.layer_norm(x, [3])
    torch.where(x > 0, torch.where(x > 1, torch.sqrt(x-1), x), 0)
    torch.xlogy(torch.sqrt(x), 2)
"""


def texts() -> list[str]:
    return [line.strip() for line in TEXTS.splitlines() if line.strip()]


def entries(text: str, point: list[float]) -> str:
    """1 for the entries of PyTorch's gradient that are NaN, 0 for others."""
    import torch

    x = torch.tensor(point, dtype=torch.float64, requires_grad=True)
    y = eval(text, {"torch": torch, "x": x})
    y.backward(torch.ones_like(y))
    return "".join(str(int(math.isnan(slope))) for slope in x.grad.tolist())


if __name__ == "__main__":
    found = {text: [entries(text, point) for point in POINTS] for text in texts()}
    lines = ",\n".join(f"{json.dumps(text)}: {json.dumps(rows)}" for text, rows in found.items())
    DATA.write_text(f"{{\n{lines}\n}}\n", "utf-8")
