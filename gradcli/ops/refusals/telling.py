"""What PyTorch raises for a call that failed: the one door to everything that is known of its refusals."""

from gradcli.ops.refusals import indices, losses, matrices, normalizing, products, reductions, shapes, windows
from gradcli.ops.refusals.calls import told

__all__ = ["indices", "losses", "matrices", "normalizing", "products", "reductions", "shapes", "told", "windows"]
