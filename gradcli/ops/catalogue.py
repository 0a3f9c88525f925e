"""All families of operations: importing this module fills the registry."""

from gradcli.ops import (
    activations,
    arithmetic,
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
    products,
    linalg,
    activations,
    structure,
)
