"""All families of operations: importing this module fills the registry."""

from gradcli.ops import (
    activations,
    arithmetic,
    contraction,
    cumulative,
    exponential,
    hyperbolic,
    indexing,
    linalg,
    logic,
    products,
    reductions,
    selection,
    shapes,
    special,
    structure,
    trigonometric,
)

FAMILIES = (
    arithmetic,
    exponential,
    trigonometric,
    hyperbolic,
    indexing,
    special,
    logic,
    reductions,
    selection,
    shapes,
    cumulative,
    products,
    contraction,
    linalg,
    activations,
    structure,
)
