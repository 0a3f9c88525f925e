"""SciPy's functions on tensors.

Examples are ``gradcli.scipy.stats.norm.logpdf(x)`` and ``gradcli.scipy.special.logsumexp(x, b=w)``.
"""

from types import SimpleNamespace
from typing import Any

from gradcli.tensors.torch.numpy_functions import scipy_function


class _Part(SimpleNamespace):
    """A part of SciPy, whose functions are found when they are asked for."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return scipy_function(f"{self.path}.{name}")


special, stats, linalg, signal = (
    _Part(path=path) for path in ("special", "stats", "linalg", "signal")
)
