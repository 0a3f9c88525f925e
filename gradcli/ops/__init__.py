"""The catalogue of operations. Importing this package fills the registry."""

from gradcli.ops import (
    activations,
    arithmetic,
    constants,
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

__all__ = [
    "activations",
    "arithmetic",
    "constants",
    "exponential",
    "hyperbolic",
    "linalg",
    "logic",
    "products",
    "reductions",
    "shapes",
    "special",
    "structure",
    "trigonometric",
]
