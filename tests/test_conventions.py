"""What `gradcli check --convention` takes for right at kinks.

The values of JAX are measured ones, of JAX 0.10.2 in float64.
"""

from __future__ import annotations

import numpy as np
import pytest

from gradcli.check.claims import in_jax
from gradcli.check.judge import forward_exact, gradients_exact
from gradcli.language.run import Program, statements
from gradcli.language.scope import Scope
from gradcli.ops.registry import registry

TWINS = [
    op
    for op in registry().values()
    if any(kink.jax is not None and kink.jax.body is not None for kink in op.kinks)
]


@pytest.mark.parametrize("op", TWINS, ids=lambda op: op.name)
def test_away_from_the_kinks_the_rules_are_the_same(op):
    import mpmath

    names = ["a", "b", "c"][: len(op.operands)]
    for values in ([0.3, -1.2, 1.7], [-0.4, 0.2, 0.9], [2.5, -0.5, 1.5]):
        program = Program(Scope())
        for name, value in zip(names, values, strict=False):
            program.scope.bind_value(name, np.float64(value))
        (query,) = statements([f"{op.name}({', '.join(names)})"])
        root = program.execute(query).value
        wrt = [program.scope.names[name] for name in names]
        m = mpmath.MPContext()
        found = []
        for function, by in ((root, wrt), in_jax(root, wrt)):
            table = forward_exact(m, function, program.scope.values, "float64")
            found.append(
                [float(g[()]) for g in gradients_exact(m, table, function, by, np.float64(1))]
            )
        assert found[0] == found[1]
