"""All families of operations: importing this module fills the registry."""

from gradcli.ops import (
    activations,
    arithmetic,
    contraction,
    cumulative,
    exponential,
    hyperbolic,
    linalg,
    logic,
    products,
    reductions,
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
    special,
    logic,
    reductions,
    shapes,
    cumulative,
    products,
    contraction,
    linalg,
    activations,
    structure,
)
