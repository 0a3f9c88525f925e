"""The Python API: `evaluate`, `explain`, `differentiate` and `parse`."""

from gradcli.explanations.explaining import explain
from gradcli.query.interface import differentiate, evaluate, parse

__all__ = ["differentiate", "evaluate", "explain", "parse"]
