"""Records what a library makes of the texts:

``python -m oracles.record_texts torch`` in tests/, in an environment that has the library.

The value of each text, and the gradient of its sum with `weights` by every array of real numbers
that it names.
"""

from __future__ import annotations

import contextlib
import json
import re
import sys
from pathlib import Path
from typing import Any

import numpy as np

from oracles.libraries import used, weights
from oracles.texts import TEXTS
from oracles.told import recorded
from oracles.values import VALUES

DATA = Path(__file__).parent.parent / "data"


def of_torch(text: str) -> tuple[np.ndarray, dict[str, np.ndarray]]:
    """With the gradients by all arrays at once, or by each that PyTorch differentiates by alone."""
    floats = [name for name in used(text) if VALUES[name].dtype.kind == "f"]
    try:
        return _of_torch(text, floats)
    except (RuntimeError, NotImplementedError):
        value, slopes = _of_torch(text, [])
    for name in floats:
        with contextlib.suppress(RuntimeError, NotImplementedError):
            slopes |= _of_torch(text, [name])[1]
    return value, slopes


def _of_torch(text: str, wrt: list[str]) -> tuple[np.ndarray, dict[str, np.ndarray]]:
    import torch

    torch.set_default_dtype(torch.float64)
    torch.distributions.Distribution.set_default_validate_args(False)
    leaves = {name: torch.tensor(VALUES[name]) for name in used(text)}
    for name in wrt:
        leaves[name].requires_grad_()
    lists = re.sub(r"(?<=log_prob\()(\[.*\])(?=\)$)", r"torch.tensor(\1)", text)
    out = eval(lists, {"torch": torch, **leaves})
    if not wrt or not out.requires_grad:
        return out.numpy(force=True), {}
    slopes = torch.autograd.grad(
        out,
        [leaves[name] for name in wrt],
        torch.tensor(weights(tuple(out.shape))),
        allow_unused=True,
    )
    return out.numpy(force=True), {
        name: s.numpy(force=True) for name, s in zip(wrt, slopes, strict=True) if s is not None
    }


def of_jax(text: str) -> tuple[np.ndarray, dict[str, np.ndarray]]:
    import jax
    import jax.numpy as jnp
    import jax.scipy
    import jax.scipy.integrate
    import jax.scipy.linalg
    import jax.scipy.special
    import jax.scipy.stats

    jax.config.update("jax_enable_x64", True)
    floats = [name for name in used(text) if VALUES[name].dtype.kind == "f"]
    rest = {name: jnp.asarray(VALUES[name]) for name in used(text) if name not in floats}

    def function(*arrays: Any) -> Any:
        return eval(
            text, {"jax": jax, "jnp": jnp, **rest, **dict(zip(floats, arrays, strict=True))}
        )

    arrays = [jnp.asarray(VALUES[name]) for name in floats]
    out = np.asarray(function(*arrays))
    if not floats or out.dtype.kind != "f":
        return out, {}
    _, pull = jax.vjp(function, *arrays)
    return out, {
        name: np.asarray(s)
        for name, s in zip(floats, pull(jnp.asarray(weights(out.shape))), strict=True)
    }


def main(library: str) -> None:
    rows = []
    for text in TEXTS[library]:
        try:
            value, slopes = (of_torch if library == "torch" else of_jax)(text)
        except Exception as error:
            print(f"{text}: {type(error).__name__}: {error}"[:200], file=sys.stderr)
            rows.append(f"{json.dumps(text)}: {json.dumps(recorded(library)[text])}")
            continue
        kept = {
            "value": value.astype(float).tolist(),
            "gradients": {name: slope.tolist() for name, slope in slopes.items()},
        }
        rows.append(f"{json.dumps(text)}: {json.dumps(kept)}")
    (DATA / f"texts_of_{library}.json").write_text("{\n" + ",\n".join(rows) + "\n}\n")


if __name__ == "__main__":
    main(sys.argv[1])
