"""Calls of functions that select entries and write to places."""

_PLACES = "[[0, 1, 1], [1, 0, 1]]"

CALLS = {
    "index_select": ("M, 0, L % 2", "M, 1, K", "T, dim=2, index=J[0]", "M, 1, L"),
    "take": ("M, K", "V, 1", "M, J", "M, K, 1", "M, K, axis=1", "T, [0, 2], axis=2",
        "M, [[1, 0]], 0"),
    "gather": ("M, 0, J", "M, 1, J", "A, dim=1, index=J", "M, 1, J[:, :2]", "M, -1, J"),
    "take_along_dim take_along_axis": ("M, J, 0", "M, J, 1", "A, J[:1], 0", "M, J, axis=1", "M, "
    "J, dim=0", "M, J", "V, K",
        "M, J.reshape(6)"),
    "masked_select": ("M, B", "M, M > 0", "M, G", "V, G"),
    "compress": ("G, M, 1", "G, V", "G[:2], M, axis=0", "G, M", "M, G, 1", "M, G"),
    "extract": ("B, M", "M > 0, M", "G, V"),
    "select": ("[M > 0, N > 0], [M, N]", "[B, M < 0], [M, N], 0.5", "[G, B], [V, N], default=-2.0", "M, 0, 1", "T, 1, -1",
        "T, dim=2, index=3", "M, 1, 0"),
    "narrow": ("M, 1, 0, 2", "T, 2, 1, 3", "T, dim=1, start=-2, length=1"),
    "scatter": ("M, 0, J[:1], N", "M, 1, J[:, :1], N", "M, 0, J, 0.5", "M, dim=1, "
    "index=K.reshape(1, 3), src=N",
        "M, 1, J[:, :1], value=2.5", "M, 1, K.reshape(1, 3), N"),
    "scatter_add": ("M, 0, J, N", "M, 1, J, N", "A, dim=1, index=J, src=N"),
    "scatter_reduce": tuple(f"M, {d}, J, N, '{r}'" for d in (0, 1) for r in ("sum", "prod", "mean", "amax", "amin"))
    + tuple(f"M, dim=1, index=J, src=N, reduce='{r}', include_self=False" for r in ("sum", "prod", "mean", "amax", "amin")),
    "index_add": ("M, 0, L % 2, N", "M, 1, K, N", "M, 1, J[0], N", "M, dim=1, index=J[0], "
    "source=N, alpha=0.25"),
    "index_copy": ("M, 1, K, N", "M, 0, J[0, :2], N", "A, dim=0, index=L, source=N"),
    "index_fill": ("M, 1, L, 0.5", "M, 0, J[0, :1], -2", "T, dim=2, index=K, value=7.0"),
    "index_put": ("M, (J[0], K), W", "A, (L,), N", "V, (K,), W", "V, [J[0]], W, accumulate=True", "V, (J[0],), W, True", "M, (B,), W[:1]"),
    "masked_fill": ("M, B, 0.5", "M, M > 0, -2", "T[:, :, :3], B.reshape(2, 1, 3), 1.5", "M, "
    "mask=G, value=7.0"),
    "masked_scatter": ("M, B, N", "M, mask=B, source=T", "V, G, W"),
    "embedding": ("K, C", "J, A", "L, A, padding_idx=2"),
}  # fmt: skip
