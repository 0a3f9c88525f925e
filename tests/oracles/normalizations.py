"""Gradients that PyTorch gives of normalisations in 16 bits:

`python -m oracles.normalizations` in `tests/` records them again.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

RECORDED = Path(__file__).parent.parent / "data" / "normalizations.json"


def functions(f: Any) -> dict[str, Callable[[Any], Any]]:
    """Each normalisation, of arrays of shape (4, 8), by PyTorch's functions."""
    return {
        "layer_norm": lambda x: f.layer_norm(x, x.shape[-1:]),
        "layer_norm in float32": lambda x: f.layer_norm(x.float(), x.shape[-1:]).to(x.dtype),
        "rms_norm": lambda x: f.rms_norm(x, x.shape[-1:], eps=1e-5),
        "batch_norm": lambda x: f.batch_norm(x, None, None, training=True),
        "group_norm": lambda x: f.group_norm(x.reshape(1, 4, 8), 2).reshape(4, 8),
        "instance_norm": lambda x: f.instance_norm(x.reshape(1, 4, 8)).reshape(4, 8),
        "normalize": lambda x: f.normalize(x, dim=-1),
        "softmax": lambda x: f.softmax(x, -1),
    }


def record() -> None:
    import torch

    def random(seed: int) -> Any:
        return torch.randn(4, 8, generator=torch.Generator().manual_seed(seed))

    weights, found = random(77).to(torch.bfloat16), []
    made = {
        "weighted": lambda y: (y * weights.to(y.dtype)).sum(),
        "squares": lambda y: y.pow(2).sum(),
        "sum": lambda y: y.sum(),
    }
    for known in json.loads(RECORDED.read_text("utf-8"))["cases"]:
        name, dtype, mean, result = list(known.values())[:4]
        x = (mean + random(2)).to(getattr(torch, dtype)).requires_grad_()
        (slope,) = torch.autograd.grad(made[result](functions(torch.nn.functional)[name](x)), x)
        case = {"function": name, "dtype": dtype, "mean": mean, "result": result}
        found.append(
            json.dumps(
                {**case, "x": x.detach().double().tolist(), "gradient": slope.double().tolist()}
            )
        )
    lines = ",\n".join(found)
    text = (
        f'{{"torch": "{torch.__version__}", "weights": '
        f'{json.dumps(weights.double().tolist())}, "cases": [\n{lines}\n]}}\n'
    )
    RECORDED.write_text(text, "utf-8")


if __name__ == "__main__":
    record()
