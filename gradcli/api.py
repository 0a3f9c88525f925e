"""The Python API: `evaluate` and `parse`."""

from gradcli.query.interface import evaluate, parse

__all__ = ["evaluate", "parse"]
