"""Single calls on small tensors beside PyTorch: what a call costs, and what its backward pass adds.

``python -m benchmarks.calls`` takes turns between the libraries, a batch of calls each, and prints
the medians of the ratios.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from importlib import import_module
from statistics import median
from typing import Any

Call = Callable[
    [Any, Any, Any], Any
]  # of a library, of its `nn.functional`, and of what `_operands` makes

KINDS: dict[str, Call] = {
    "x + y": lambda torch, F, o: o.x + o.y,
    "x * y": lambda torch, F, o: o.x * o.y,
    "x / y": lambda torch, F, o: o.x / o.y,
    "2 * x": lambda torch, F, o: 2 * o.x,
    "x ** 2": lambda torch, F, o: o.x**2,
    "exp": lambda torch, F, o: torch.exp(o.x),
    "log": lambda torch, F, o: o.x.log(),
    "tanh": lambda torch, F, o: torch.tanh(o.x),
    "sigmoid": lambda torch, F, o: o.x.sigmoid(),
    "relu": lambda torch, F, o: F.relu(o.x),
    "gelu": lambda torch, F, o: F.gelu(o.x),
    "softplus": lambda torch, F, o: F.softplus(o.x),
    "clamp": lambda torch, F, o: o.x.clamp(min=0.7),
    "maximum": lambda torch, F, o: torch.maximum(o.x, o.y),
    "where": lambda torch, F, o: torch.where(o.mask, o.x, o.y),
    "sum": lambda torch, F, o: o.x.sum(),
    "sum(dim)": lambda torch, F, o: o.x.sum(dim=1),
    "mean": lambda torch, F, o: o.x.mean(),
    "std": lambda torch, F, o: o.x.std(),
    "norm": lambda torch, F, o: o.x.norm(),
    "logsumexp": lambda torch, F, o: torch.logsumexp(o.x, 1),
    "cumsum": lambda torch, F, o: o.x.cumsum(0),
    "softmax": lambda torch, F, o: F.softmax(o.x, dim=-1),
    "log_softmax": lambda torch, F, o: F.log_softmax(o.x, dim=-1),
    "layer_norm": lambda torch, F, o: F.layer_norm(o.x, (4,)),
    "mse_loss": lambda torch, F, o: F.mse_loss(o.x, o.y),
    "cross_entropy": lambda torch, F, o: F.cross_entropy(o.x, o.labels),
    "x @ y": lambda torch, F, o: o.x @ o.square,
    "linear": lambda torch, F, o: F.linear(o.x, o.square, o.row),
    "conv2d": lambda torch, F, o: F.conv2d(o.picture, o.kernel),
    "solve": lambda torch, F, o: torch.linalg.solve(o.square, o.row),
    "reshape": lambda torch, F, o: o.x.reshape(4, 3),
    "transpose": lambda torch, F, o: o.x.transpose(0, 1),
    "x[1]": lambda torch, F, o: o.x[1],
    "cat": lambda torch, F, o: torch.cat([o.x, o.y]),
}


class _Operands:
    """Small tensors of one library, which require grad where that means something."""

    def __init__(self, torch: Any) -> None:
        import numpy as np

        random = np.random.default_rng(5)

        def leaf(*shape: int) -> Any:
            return torch.tensor(random.uniform(0.5, 1.5, shape).tolist(), requires_grad=True)

        self.x, self.y, self.row = leaf(3, 4), leaf(3, 4), leaf(4)
        self.square = (leaf(4, 4).detach() + 4 * torch.eye(4)).requires_grad_()
        self.picture, self.kernel = leaf(1, 2, 5, 5), leaf(3, 2, 3, 3)
        self.mask, self.labels = (
            torch.tensor([[True, False, True, False]] * 3),
            torch.tensor([0, 2, 1]),
        )


def _forward(call: Call, library: tuple[Any, Any, Any]) -> Callable[[], Any]:
    return lambda: call(*library)


def _with_backward(call: Call, library: tuple[Any, Any, Any]) -> Callable[[], Any]:
    return lambda: call(*library).sum().backward()


def _seconds(run: Callable[[], Any], calls: int) -> float:
    start = time.process_time()  # of a machine that may do other work
    for _ in range(calls):
        run()
    return time.process_time() - start


def ratios(title: str, rounds: int, calls: int) -> tuple[float, float, float, float]:
    """Medians over the rounds of ours beside PyTorch's: forward, with backward; and microseconds of
    ours.
    """
    libraries = [
        (import_module(name), import_module(f"{name}.nn.functional"))
        for name in ("gradcli", "torch")
    ]
    operands = [_Operands(torch) for torch, _ in libraries]
    found = []
    for prepared in (_forward, _with_backward):
        runs = [
            prepared(KINDS[title], (*library, o))
            for library, o in zip(libraries, operands, strict=True)
        ]
        for run in runs:
            _seconds(run, 5)
        pairs = [[_seconds(run, calls) for run in runs] for _ in range(rounds)]
        found += [
            median([ours / theirs for ours, theirs in pairs]),
            median([ours for ours, _ in pairs]) / calls * 1e6,
        ]
    return found[0], found[2], found[1], found[3]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=21)
    parser.add_argument("--calls", type=int, default=100, help="calls in a row")
    parser.add_argument("--only", default="", help="titles, with commas between them")
    given = parser.parse_args()
    import_module("torch").set_num_threads(1)
    found = {
        title: ratios(title, given.rounds, given.calls) for title in given.only.split(",") if title
    } or {title: ratios(title, given.rounds, given.calls) for title in KINDS}
    print(f"{'':15}{'forward':>10}{'us':>8}{'backward':>10}{'us':>8}")
    for title, (forward, backward, forward_time, backward_time) in found.items():
        print(f"{title:15}{forward:10.1f}{forward_time:8.1f}{backward:10.2f}{backward_time:8.1f}")
    for place, (name, middle, most) in enumerate((("forward", 3, 8), ("with backward", 1.3, 3))):
        each = [ratio[place] for ratio in found.values()]
        print(
            f"{name}: {median(each):.2f} in the median ({middle}), {max(each):.1f} at worst "
            f"({most})"
        )


if __name__ == "__main__":
    main()
