"""Distributions as SciPy, PyTorch and JAX have them, and statistics of samples."""
