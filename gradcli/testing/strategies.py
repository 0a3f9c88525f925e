"""Strategies of hypothesis for the points at which gradients are checked (``pip install
'gradcli[hypothesis]'``).
"""

from gradcli.functions.strategies import arrays_like, points

__all__ = ["arrays_like", "points"]
