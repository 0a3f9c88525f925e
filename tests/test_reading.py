"""Programs are read as a person means them: their values by hand."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import gradcli

PROGRAMS: list[tuple[str, Any]] = [
    ("x = [[1, 2], [3, 4]]; x[-1]", [3, 4]),
    ("x = [1, 2, 4]; x = x/2; y = x[::-1]; y[0] - y[2]", 1.5),
    ("f(a) = a^3 + a; f''(2)", 12),
    ("f(a) = a*a; g(a) = f(a) - f(-a) + 1; g(3)", 1),
    ("x = 3; grad(x**3, x)", 27),
    ("n = 2; x = [1, 2, 3]; x[n] + x[n - 1]", 5),
    ("x = [[1, 2, 3], [4, 5, 6]]; np.sum(x, axis=-1, keepdims=True)", [[6], [15]]),
    ("x = [[1, 2, 3], [4, 5, 6]]; x.sum(0)", [5, 7, 9]),
    ("x = [[1, 2, 3], [4, 5, 6]]; x.T.shape[0] + x.ndim", 5),
    ("x = [3, 1, 2]; torch.max(x, 0)[1] + torch.max(x, dim=0).values", 3),
    ("x = [1, 2, 3]; torch.std(x, unbiased=False)**2*3", 2),
    ("x = [1, 2, 3]; np.var(x, ddof=1)", 1),
    ("x = [1, 2, 3]; sum(x[x > 1])", 5),
    ("x = [0.5, -2]; where(x > 0, x, 0)", [0.5, 0]),
    ("x = [1, 2]; nn.MSELoss(reduction='sum')(x, [0, 4])", 5),
    ("d = torch.distributions.Uniform(1, 3); d.mean", 2),
    ("import numpy as jnp; x = [1, 2]; jnp.flip(x)", [2, 1]),
    ("x = [1, 2, 3]; -x[0]**2 + 7 % 4 - 2**3**0", 0),
    ("x = 2; 1 if x > 1 else x", 1),
    ("x = [[1, 2], [3, 4]]; np.einsum('ij,ij->', x, x)", 30),
]  # fmt: skip


@pytest.mark.parametrize(("program", "wanted"), PROGRAMS, ids=[program for program, _ in PROGRAMS])
def test_programs_are_read(program: str, wanted: Any) -> None:
    seed = {"seed": np.ones_like(wanted)} if np.ndim(wanted) else {}
    record = gradcli.evaluate(program, check=False, **seed)
    np.testing.assert_allclose(record.value, wanted, rtol=1e-14, atol=1e-14)
