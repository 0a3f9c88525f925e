"""The Python API: `evaluate`, `differentiate` and `parse`."""

from gradcli.query.interface import differentiate, evaluate, parse

__all__ = ["differentiate", "evaluate", "parse"]
