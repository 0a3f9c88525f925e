"""Records what a library makes of pasted pieces:

``python -m oracles.record_pasted torch`` in tests/, where there is the library.

The value of each, and the gradient of the sum of its entries by every name that is no whole number.
For NumPy JAX is needed, too.
"""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from oracles.pasted import PIECES, VALUES, WHOLE, differentiated, names_in, statements

DATA = Path(__file__).parent.parent / "data"
Record = dict[str, Any]


def run(text: str, names: dict[str, Any]) -> Any:
    *before, last = statements(text)
    for statement in before:
        exec(statement, names)
    return eval(last, names)


def of_torch(text: str) -> Record:
    import torch

    torch.set_default_dtype(torch.float64)
    torch.Tensor.cuda = lambda self, *_, **__: self
    given: dict[str, Any] = {name: VALUES[name] for name in names_in(text)}
    given |= {name: torch.tensor(VALUES[name], requires_grad=True) for name in differentiated(text)}
    out = run(text, {"torch": torch, "F": torch.nn.functional, "math": math, **given})
    out = out if isinstance(out, torch.Tensor) else torch.tensor(float(out))
    leaves = [given[name] for name in differentiated(text)]
    slopes = (
        torch.autograd.grad(out.sum(), leaves, allow_unused=True)
        if out.requires_grad
        else [None] * len(leaves)
    )
    found = [
        torch.zeros_like(leaf) if slope is None else slope
        for leaf, slope in zip(leaves, slopes, strict=True)
    ]
    return {
        "value": out.tolist(),
        "gradients": {n: s.tolist() for n, s in zip(differentiated(text), found, strict=True)},
    }


def of_numpy(text: str) -> Record:
    values = {
        name: VALUES[name] if name in WHOLE else np.array(VALUES[name])[()]
        for name in names_in(text)
    }

    def function(given: dict[str, Any]) -> Any:
        return np.asarray(run(text, {"np": np, "math": math, "sys": sys, **given}), float)

    value = function(dict(values))
    try:
        same = _of_jax(text.replace("np.", "jnp."))
        if np.allclose(same["value"], value, rtol=1e-12, atol=1e-13):
            return {**same, "value": value.tolist()}
    except Exception:
        pass  # JAX has no such name, or cannot trace it
    return {
        "value": value.tolist(),
        "gradients": differences(function, values, differentiated(text)),
        "by": "differences",
    }


def differences(
    function: Callable[[dict[str, Any]], Any], values: dict[str, Any], names: list[str]
) -> dict[str, Any]:
    """The gradient of the sum of the results by differences at three distances."""
    found = {}
    for name in names:
        array = np.array(values[name], float)
        slope = np.zeros(array.shape)
        for index in np.ndindex(array.shape):
            steps = []
            for width in (4e-3, 2e-3, 1e-3):
                moved = [array.copy() for _ in range(2)]
                moved[0][index] += width
                moved[1][index] -= width
                above, below = (np.sum(function({**values, name: a[()]})) for a in moved)
                steps.append((above - below) / (2 * width))
            first, second = ((4 * fine - rough) / 3 for rough, fine in pairwise(steps))
            slope[index] = (16 * second - first) / 15
        found[name] = slope.tolist()
    return found


def of_jax(text: str) -> Record:
    try:
        return _of_jax(text)
    except ImportError:
        raise
    except Exception:  # of what JAX does not differentiate
        import jax.numpy as jnp

        values = {
            name: VALUES[name] if name in WHOLE else np.array(VALUES[name])[()]
            for name in names_in(text)
        }

        def function(given: dict[str, Any]) -> Any:
            return _function(text)(
                {name: v if name in WHOLE else jnp.asarray(v) for name, v in given.items()}
            )

        slopes = differences(function, values, differentiated(text))
        return {
            "value": np.asarray(function(values)).tolist(),
            "gradients": slopes,
            "by": "differences",
        }


def _function(text: str) -> Callable[[dict[str, Any]], Any]:
    import jax
    import jax.numpy as jnp

    jax.config.update("jax_enable_x64", True)
    return lambda given: jnp.asarray(
        run(text, {"jax": jax, "jnp": jnp, "math": math, "sys": sys, **given}), float
    )


def _of_jax(text: str) -> Record:
    import jax
    import jax.numpy as jnp

    function = _function(text)
    whole = {name: VALUES[name] for name in names_in(text) if name in WHOLE}
    floats = {name: jnp.asarray(VALUES[name], float) for name in differentiated(text)}
    value = np.asarray(function({**whole, **floats}))
    slopes = jax.grad(lambda given: jnp.sum(function({**whole, **given})))(floats) if floats else {}
    return {
        "value": value.tolist(),
        "gradients": {name: np.asarray(slope).tolist() for name, slope in slopes.items()},
    }


def main(library: str) -> None:
    of = {"torch": of_torch, "numpy": of_numpy, "jax": of_jax}[library]
    rows = [f"{json.dumps(text)}: {json.dumps(of(text))}" for text in PIECES[library]]
    (DATA / f"pasted_of_{library}.json").write_text("{\n" + ",\n".join(rows) + "\n}\n")


if __name__ == "__main__":
    main(sys.argv[1])
