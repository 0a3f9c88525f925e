"""The Python API: the commands as functions."""

from gradcli.explanations.explaining import explain
from gradcli.query.interface import bound, differentiate, evaluate, export, plot

__all__ = ["bound", "differentiate", "evaluate", "explain", "export", "plot"]
