"""SciPy's functions on tensors.

Examples are ``gradcli.scipy.stats.norm.logpdf(x)`` and ``gradcli.scipy.special.logsumexp(x, b=w)``.
"""

from gradcli.tensors.torch.numpy_functions import Part

special, stats, linalg, signal = (
    Part(path=path) for path in ("special", "stats", "linalg", "signal")
)
