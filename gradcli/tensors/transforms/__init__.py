"""Transformations of functions of tensors: their derivatives, and the same for many examples."""
