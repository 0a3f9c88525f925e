"""Calls of reductions, cumulative functions, order statistics and statistics."""

_AXES = (
    "M",
    "T",
    "M, 0",
    "T, axis=1",
    "T, dim=1",
    "T, -1",
    "T, axis=(0, 2)",
    "T, dim=(0, 2)",
    "M, 1, keepdims=True",
    "M, 1, keepdim=True",
)
_ALL = ("M, keepdims=True", "T, (0, 1), keepdims=True", "T, (0, 1), keepdim=True", "V", "0.5")
_STARTED = ("M, initial=3.5", "M, axis=1, initial=-0.5", "M, where=B, initial=2.0")
_MASKED = ("M, where=B", "M, axis=0, where=B", "M, axis=1, where=G", "M, where=B, keepdims=True")
_NANS = (
    "D",
    "D, 0",
    "D, axis=1",
    "D, 1",
    "D, axis=1, keepdims=True",
    "D, dim=1, keepdim=True",
    "D, keepdims=True",
)
_SPREAD = (
    "M, ddof=1", "M, axis=1, ddof=0.5", "M, correction=0", "M, 0, ddof=1", "M, unbiased=False", "M, dim=1, unbiased=False", "M, False",
    "T, (0, 2), True, True", "M, dim=1, correction=2, keepdim=True", "M, correction=0.5",
)  # fmt: skip
_PAIRED = ("M, 0", "T, 1", "M, dim=1", "T, dim=-1, keepdim=True", "O, 0", "V")
_QUANTILES = (
    "M, 0.3", "T, 0.7, axis=1", "T, 0.7, dim=1", "M, [0.1, 0.5, 0.8], axis=0", "M, 0.3, axis=1, "
    "keepdims=True", "M, Q, 1", "V, 1", "V, 0",
    "M, 0.3, dim=1, keepdim=True", "T, 0.45, axis=(0, 2)", "M, Q, dim=0",
    *[f"M, 0.3, interpolation='{how}'" for how in ("linear", "lower", "higher", "midpoint", "nearest")],
    *[f"M, 0.3, axis=1, method='{how}'" for how in ("linear", "lower", "higher", "midpoint", "nearest")],
)  # fmt: skip

CALLS = {
    "sum": (*_AXES, *_ALL, *_STARTED, *_MASKED, "B", "U[2:-2]"),
    "prod": (*_AXES, *_ALL, *_STARTED, *_MASKED, "M*B", "V"),
    "mean": (*_AXES, *_ALL, *_MASKED),
    "max min amax amin": (*_AXES, *_ALL, "M, initial=3.5", "M, where=B, initial=-7.0", "M, "
    "axis=0, where=B, initial=9.0",
        "M, initial=-5.0", "O",
        "M, N", "D", "O, 0"),
    "var std": (*_AXES, *_ALL, *_MASKED, *_SPREAD, "M, where=B, ddof=1"),
    "var_mean std_mean": (*_AXES, *_ALL, *_SPREAD),
    "nansum": (*_AXES, *_NANS, "D, initial=3.5", "D, where=B", "D, axis=1, where=B"),
    "nanmean": (*_AXES, *_NANS, "D, where=B", "D, axis=1, where=B"),
    "nanvar nanstd": (*_AXES, *_NANS, "D, where=B", "D, ddof=1", "D, correction=1", "D, axis=1, "
    "ddof=0.5"),
    "nanmedian median": (*_AXES[:7], *_NANS, "O", "V", "T, axis=(0, 1), keepdims=True", "M, 1, "
    "keepdims=True", "M, 1, keepdim=True",
        "M, 0, True"),
    "quantile nanquantile": (*_QUANTILES, "D, 0.3", "D, 0.3, axis=1", "D, 0.3, dim=1"),
    "percentile nanpercentile": (*[text.replace("0.", "10*2.") for text in _QUANTILES], "D, 30", "D, 30, axis=1", "M, [10, 50], axis=1",
        "V, 100",
        "M, 62.5, 0"),
    "ptp": ("M", "T, 1", "M, axis=0, keepdims=True", "T, axis=(0, 2)", "O"),
    "average": ("M", "M, 0", "M, axis=1, weights=Q", "M, weights=P",
        "M, axis=0, weights=R[:2], keepdims=True",
        "M, 1, keepdims=True"),
    "logsumexp": ("M", "M, 0", "T, axis=1", "T, dim=1", "T, (0, 2)", "M, axis=1, keepdims=True", "M, 1, keepdim=True", "M, b=P",
        "M, axis=1, b=Q",
        "500*M, 1", "500*M"),
    "softmax log_softmax softmin": ("M", "M, 0", "T, axis=1", "T, dim=1", "T, -1", "300*M, 1", "T, axis=(0, 2)", "V", "V, 0"),
    "logcumsumexp": ("M, 0", "M, dim=1", "T, -1", "500*V, 0", "V, 0"),
    "cumsum cumprod": ("M", "M, 0", "T, axis=1", "T, dim=1", "V, -1", "M*B, 1"),
    "cummax cummin": ("M, 0", "M, dim=1", "T, -1", "O, 0"),
    "argmax argmin": ("M", "M, 0", "T, axis=1", "T, dim=1", "M, axis=1, keepdims=True", "M, "
    "dim=1, keepdim=True", "O", "O, 0"),
    "argsort": ("M", "M, 0", "T, axis=1", "T, dim=1", "V", "M, dim=1, descending=True", "M, 0, "
    "True"),
    "sort": ("M", "M, 0", "T, axis=1", "T, dim=1", "V", "O", "M, 0, True", "M, dim=1, "
    "descending=True", "V, stable=True",
        "V, stable=True, dim=0, descending=True"),
    "msort": ("M", "T", "V"),
    "topk": ("M, 2", "T, 2, 1", "M, 1, dim=0", "M, 2, largest=False", "M, 3, 1, False", "V, 2, "
    "sorted=True"),
    "kthvalue": ("M, 2", "T, 3, 1", "M, 1, dim=0", "M, 2, dim=1, keepdim=True", "V, 3"),
    "cov": ("M", "M, rowvar=False", "M, bias=True", "M, ddof=0", "M, ddof=0.5", "M, correction=0", "V, W", "M, N", "V"),
    "corrcoef": ("M", "M, rowvar=False", "V, W", "M, N", "M, y=N", "A"),
    "diff": ("V", "M", "T, 2", "M, axis=0", "M, dim=0", "T, n=1, axis=1", "M, prepend=M[:, :1]", "M, append=N", "T, n=3",
        "M, axis=1, prepend=0.5",
        "M, 1, 0", "M, 1, 1, N, P"),
    "gradient": ("V", "M", "T", "M, 0.5", "M, axis=0", "T, axis=(0, 2)", "T, 0.5, 2.0, 0.25", "V, "
    "[0.5, 0.75, 2.0]",
        "T, axis=2, edge_order=2", "O",
        "O, edge_order=2", "A, edge_order=2", "V, spacing=0.5", "M, dim=0", "T, spacing=2.0, "
        "dim=2, edge_order=2",
        "O, 0.25, axis=0",
        "A, [0.5, 0.75, 2.0], axis=0", "V, spacing=([0.5, 0.75, 2.0],)", "V, spacing=(Q,)", "A, "
        "Q, axis=1"),
    "trapezoid trapz": ("V", "M", "T, axis=1", "T, dim=1", "M, dx=0.5", "V, Q", "M, Q", "T, "
    "dx=0.25, axis=0", "T, dx=0.25, dim=0",
        "M, x=N", "M, P, axis=0",
        "M, P, dim=0"),
    "cumulative_trapezoid": ("V", "M", "T, dim=1", "M, dx=0.5", "V, Q", "M, Q", "T, dx=0.25, dim=2", "M, x=N"),
    "interp": ("M, [0.1, 0.5, 0.9], W", "U, Q, V", "Q, [0.1, 0.5, 0.9], W, left=7.0", "U, Q, V, "
    "3.0, -3.0", "M, Q, V, right=2.5",
        "0.7, Q, V"),
    "convolve correlate": ("V, W", "O, V", "V, O", "O, V, 'same'", "O, V, mode='valid'", "O, V, "
    "'full'", "V, W[:2], 'same'"),
    "polyval": ("V, M", "[1.5, -2, 0.5, 3], U", "V, 0.5", "W, V"),
    "norm": ("V", "M", "M, 1", "M, 2", "V, 3", "V, 0.5", "A, 'fro'", "A, 'nuc'", "A, inf", "A, "
    "-inf", "A, -1", "A, 2", "A, -2", "V, inf",
        "V, -inf", "V, 0",
        "M, axis=1", "M, dim=1", "M, 1, axis=0", "M, 3, dim=1", "T, axis=(0, 2)", "T, 2.5, 1", "M, keepdims=True",
        "M, axis=1, keepdims=True",
        "M, dim=1, keepdim=True", "T, 'nuc', axis=(0, 1)", "T, 1, (2, 1)", "M, p=1", "T, p=2, "
        "dim=(0, 1)", "M, ord=1, axis=1", "T",
        "M, 'fro', (0, 1)"),
    "vector_norm": ("V", "M", "M, ord=1", "M, axis=0, ord=3", "M, 3, dim=0", "T, axis=(0, 2)", "T, 1, (0, 2)", "M, ord=0", "M, ord=inf",
        "M, ord=-inf, axis=1",
        "M, 0.5, 1, True", "M, axis=1, keepdims=True"),
    "matrix_norm": ("A", "T", "M, ord='nuc'", "M, ord=1", "M, ord=2", "M, ord=-2", "A, ord=inf", "A, ord=-1", "M, keepdims=True",
        "T, 'fro', (0, 2)", "T, 1, (0, 1), True",
        "A, ord=-inf"),
    "frobenius_norm": ("M, 1", "T, (0, 2)", "T, dim=1, keepdim=True", "M, (0, 1)"),
    "nuclear_norm": ("M", "A", "T, (0, 2)", "M, keepdim=True", "T, dim=(1, 2), keepdim=True"),
    "dist": ("M, N", "V, W, 1", "V, W, p=3", "V, W, inf", "M, V", "V, W", "V, W, 0"),
    "cdist": ("M, N", "M, A, 1", "M, A, p=3", "M, N, inf", "T, T[:, :2]", "M, N, 0.5", "M, A, "
    "compute_mode='donot_use_mm_for_euclid_dist'",
        "M, N, 0"),
    "pdist": ("C", "A", "A, 1", "A, p=3", "A, inf", "A, 0.5"),
    "renorm": ("M, 2, 0, 1.5", "M, 1, 1, 0.75", "T, 3, 1, 2.5", "M, p=2, dim=0, maxnorm=50"),
    "cosine_similarity": ("M, N", "M, N, 0", "T, T[:1], dim=2", "M, N, eps=5.0", "V, W, 0", "1e-9*M, N"),
    "pairwise_distance": ("M, N", "M, N, 1", "M, N, p=3, keepdim=True", "M, N, eps=0.5", "V, W", "M, N, inf"),
    "normalize": ("M", "M, 1", "T, p=3, dim=0", "M, dim=1, eps=4.0", "1e-13*M", "T, inf, -1"),
}  # fmt: skip
