"""What is given beside a query's program: claims on its result, read in its scope, and the seed."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from gradcli.errors import ShapeError, TypeMismatchError
from gradcli.graph.nodes import Expr
from gradcli.language.run import Program
from gradcli.ops.calling.inputs import numpy_dtype
from gradcli.query.options import Options
from gradcli.report.records import Record

if TYPE_CHECKING:
    from gradcli.check.proofs import Given


def claims_of(program: Program, root: Expr, record: Record, options: Options) -> tuple[list[Given], Expr | None]:
    """The claims on a query, read in its scope, where ``seed`` is the seed."""
    if not options.claims:
        return [], None
    from gradcli.check.proofs import Given

    scope = program.scope
    seed = None
    meanings = dict(scope.names)
    scope.names.update(scope.leaves)  # names in claims mean the values bound to them
    if "seed" not in scope.names:
        seed = scope.bind_value("seed", record.seed)
    found = []
    try:
        for claim in options.claims:
            given = Given(claim.of, None, claim.numbers, options.rtol, options.atol)
            if claim.text is not None:
                node = program.read(claim.text, f"<claim of {claim.of}>")
                if claim.formula or program.lowering.lookup.mentions:
                    given = Given(claim.of, node, around=claim.around)
                else:
                    given = Given(claim.of, None, program.bindings.raw(node), options.rtol, options.atol)
            found.append(given)
    finally:
        if seed is not None:
            scope.unbind("seed")
        scope.names.clear()
        scope.names.update(meanings)
    return found, seed


def seed_of(program: Program, root: Expr, options: Options) -> tuple[Any, bool]:
    """The cotangent of the output, of exactly its shape, and whether the user gave it."""
    dtype = numpy_dtype("float", program.scope.precision)
    if options.seed is None:
        one = dtype.type(1)
        return np.broadcast_to(one, root.shape) if root.shape else one, False  # no memory for ones
    seed = program.constant(options.seed, "<seed>") if isinstance(options.seed, str) else np.asarray(options.seed)
    if not seed.size and not math.prod(root.shape):
        seed = seed.reshape(root.shape)  # JSON has one array without entries: []
    if seed.dtype.kind not in "fiu":
        raise TypeMismatchError(f"the seed must be real numbers, not {seed.dtype}")
    if seed.shape != root.shape:
        raise ShapeError(f"the seed has the shape {seed.shape}, the output {root.shape}; they must be the same")
    return seed.astype(dtype)[()], True
