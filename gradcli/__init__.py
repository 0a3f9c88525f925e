"""gradcli: the gradient calculator for the terminal and for CI.

>>> import gradcli
>>> record = gradcli.evaluate("3*a**3 - b**2", a=[2, 3], b=[6, 4], seed=[1, 1])
>>> record.grad["a"]
array([36., 81.])
>>> record.derivative["a"]
'9*a**2'
"""

from gradcli.api import evaluate, parse
from gradcli.errors import GradcliError

__all__ = ["GradcliError", "evaluate", "parse"]
