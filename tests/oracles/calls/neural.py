"""Calls of layers: convolutions, pooling, normalization, attention, resampling."""

_V = "I.reshape(1, 1, 2, 4, 4)"  # a volume
_T2 = "T[:, :2, :2].reshape(2, 2, 2)"  # a kernel of two channels each
_LINE = "T[:, :, :3]"  # two rows of three channels

_POOL1 = (
    "T, 2",
    "T, 3, 1",
    "T, 2, stride=1",
    "T, 2, padding=1",
    "T, 3, 2, 1",
    "T, 3, ceil_mode=True",
    "T[0], 2",
)
_POOL2 = (
    "I, 2",
    "I, (2, 3)",
    "I, 2, 1",
    "I, 2, stride=(2, 1)",
    "I, 2, padding=1",
    "I, 3, 2, (1, 0)",
    "I, 3, ceil_mode=True",
    "I[0], 3, 1",
)
_POOL3 = (
    f"{_V}, (2, 2, 1)",
    f"{_V}, (2, 3, 3)",
    f"{_V}, 2",
    f"{_V}, 2, 1",
    f"{_V}, (1, 3, 2), padding=(0, 1, 1)",
    f"{_V}, (2, 3, 3), ceil_mode=True",
    f"{_V}, 2, stride=(1, 2, 2)",
)
_POOLS = {"1": _POOL1, "2": _POOL2, "3": _POOL3}


def _pooled(*more: str) -> dict[str, tuple[str, ...]]:
    first = {"1": "T", "2": "I", "3": _V}
    return {n: (*calls, *(f"{first[n]}, {word}" for word in more)) for n, calls in _POOLS.items()}


_AVERAGED, _LARGEST = (
    _pooled("2, 1, 1, False, False", "2, padding=1, count_include_pad=False"),
    _pooled("2, 1, dilation=1", "2, return_indices=True", "2, dilation=2, stride=1"),
)
_PAIRS = {
    n: tuple(call for call in calls if "return_indices" not in call)
    for n, calls in _LARGEST.items()
}
_DIVIDED = {"1": (), "2": ("I, 2, divisor_override=3",), "3": (f"{_V}, 2, divisor_override=5",)}
_ADAPTIVE = {
    "1": ("T, 2", "T, 3", "T, output_size=1"),
    "2": ("I, 2", "I, (3, 2)", "I, (None, 1)", "I[0], 3"),
    "3": (f"{_V}, 2", f"{_V}, (1, 3, 2)", f"{_V}, (None, 2, 3)"),
}
_UNPOOLED = {
    "1": "F.max_pool1d(T, 2, return_indices=True)[0], F.max_pool1d(T, 2, return_indices=True)[1], "
    "2",
    "2": "F.max_pool2d(I, 2, return_indices=True)[0], F.max_pool2d(I, 2, return_indices=True)[1], "
    "2",
    "3": f"F.max_pool3d({_V}, 2, return_indices=True)[0], F.max_pool3d({_V}, 2, "
    "return_indices=True)[1], 2",
}
_GRID = "torch.stack([P*1.3 - 0.5, N*0.4], 2).reshape(1, 2, 3, 2)"
_GRID3 = "torch.stack([P*1.3 - 0.5, N*0.4, P*P], 2).reshape(1, 1, 2, 3, 3)"
_SAMPLED = (
    "", ", align_corners=False", ", align_corners=True", ", mode='nearest', align_corners=False",
    ", 'bilinear', 'border', False",
)  # fmt: skip
_IMAGES = [f"I, {size}, mode='{mode}'" for mode in ("nearest", "nearest-exact", "area", "bilinear", "bicubic")
           for size in ("6", "(3, 2)", "scale_factor=2")]  # fmt: skip
_LINES = [
    f"T, {size}, mode='{mode}'"
    for mode in ("nearest", "linear", "area")
    for size in ("7", "2", "scale_factor=1.5")
]

CALLS = {
    "linear": ("M, A", "M, A, V", "T[:, :, :3], M, bias=W[:2]", "V, A", "M, V"),
    "bilinear": ("M, N, H", "M, N, A.reshape(1, 3, 3), V[:1]", "V, W, H, bias=Q[:2]", "M[:, :2], "
    "N, T.reshape(4, 2, 3)"),
    "conv1d": ("T, A.reshape(1, 3, 3)", "T, A.reshape(1, 3, 3), V[:1]", "T, T[:, :, 1:3]*T[:, :, "
    ":2]", "T, H[:, :, :2], stride=2",
        "T, H, padding=1", "T, H[:, :, :2], dilation=2", "T, A.reshape(3, 1, 3), groups=3",
        "T, H, padding='same'", "T, H, Q[:2], 1, 2, 1", "T, H, padding='valid'", "T[0], H"),
    "conv2d": ("I, T[:, :2, :].reshape(2, 2, 2, 2)", "I, T[:, :2].reshape(2, 2, 2, 2), V[:2]",
        "I, T[:, :2].reshape(2, 2, 2, 2), stride=(2, 1)", "I, T[:, :2].reshape(2, 2, 2, 2), "
        "padding=1",
        "I, H.reshape(2, 1, 3, 3), groups=2",
        "I, T[:, :2].reshape(2, 2, 2, 2), None, 1, (1, 2), 2", "I, H.reshape(1, 2, 3, 3), "
        "padding='same', dilation=2",
        "I[0], H.reshape(1, 2, 3, 3), V[:1]"),
    "conv3d": (f"{_V}, T.reshape(3, 1, 2, 2, 2)", f"{_V}, T.reshape(3, 1, 2, 2, 2), V",
        f"{_V}, T.reshape(3, 1, 2, 2, 2), stride=2, padding=1", "I.reshape(1, 2, 2, 2, 4), T[:1, "
        ":2].reshape(2, 1, 2, 1, 2), groups=2",
        f"{_V}, H.reshape(2, 1, 1, 3, 3), None, 1, 1, 1", f"{_V}, H.reshape(1, 1, 2, 3, 3), "
        "padding='same'",
        f"{_V}, T.reshape(3, 1, 2, 2, 2), dilation=(1, 2, 3)"),
    "conv_transpose1d": ("T, A.reshape(3, 1, 3)", "T, A.reshape(3, 1, 3), V[:1]",
        "T, A.reshape(3, 1, 3), stride=2, padding=1, output_padding=1", "T, A.reshape(3, 1, 3), "
        "groups=3",
        "T, A.reshape(3, 1, 3), dilation=2", "T, T.reshape(3, 2, 4), W[:2], 3, 1, 1, 1, 1"),
    "conv_transpose2d": ("I, T[:, :2].reshape(2, 2, 2, 2)", "I, T[:, :2].reshape(2, 2, 2, 2), "
    "V[:2]",
        "I, H.reshape(2, 1, 3, 3), stride=2, padding=1, output_padding=1", "I, H.reshape(2, 1, 3, "
        "3), groups=2",
        "I, H.reshape(2, 1, 3, 3), dilation=(1, 2)", "I, H.reshape(2, 1, 3, 3), None, (2, 1), (0, "
        "1), (1, 0), 1, 2"),
    "conv_transpose3d": (f"{_V}, T[0, :2].reshape(1, 1, 2, 2, 2)", f"{_V}, T[0, :2].reshape(1, 1, "
    "2, 2, 2), V[:1]",
        f"{_V}, T[1, :2].reshape(1, 1, 2, 2, 2), stride=2, padding=1, output_padding=1",
        "I.reshape(1, 2, 2, 2, 4), T[:1, :2].reshape(2, 1, 2, 1, 2), groups=2",
        f"{_V}, T[1, :2].reshape(1, 1, 2, 2, 2), dilation=(1, 2, 1)"),
    **{f"avg_pool{n}d": (*calls, *_DIVIDED[n]) for n, calls in _AVERAGED.items()},
    **{f"max_pool{n}d": calls for n, calls in _LARGEST.items()},
    **{f"max_pool{n}d_with_indices": calls for n, calls in _PAIRS.items()},
    **{f"adaptive_avg_pool{n}d adaptive_max_pool{n}d_with_indices": calls for n, calls in _ADAPTIVE.items()},
    **{f"adaptive_max_pool{n}d": (*calls, f"{first}, 2, return_indices=True", f"{first}, 2, True") for (n, calls),
        first in zip(_ADAPTIVE.items(), ("T", "I", _V), strict=True)},
    "batch_norm": ("T, V, Q", "T, V, Q, W, R", "T, V, Q, weight=W, bias=R, eps=0.5", "T, None, "
    "None, training=True",
        "T, None, None, W, R, True, 0.1, 0.25", "M, V, Q, training=True", "I, V[:2], Q[:2]", "M, "
        "V, Q, None, None, False, 0.1, 0.25"),
    "layer_norm": ("M, (3,)", "T, (3, 4)", "M, [3], V, W", "M, (3,), weight=V, eps=0.5", "M, "
    "(3,), bias=W", "T, (4,), T[0, 0]"),
    "rms_norm": ("M, (3,)", "T, (3, 4)", "M, [3], V", "M, (3,), weight=V, eps=0.5", "T, (4,), "
    "T[0, 0], 0.25"),
    "group_norm": ("T, 3", "T, 1", "I, 2, V[:2], W[:2]", "T, 3, weight=V, bias=W, eps=0.5", "T.reshape(1, 6, 4), 2"),
    "instance_norm": ("T", "T, weight=V, bias=W", "I, eps=0.5", "T, V, Q, use_input_stats=False", "T, None, None, W, R, True, 0.1, 0.25",
        "T, V, Q, W, R, False"),
    "local_response_norm": ("T, 2", "T, 3, 0.5", "I, 2, alpha=0.5, beta=0.5, k=2.0", "T, 2, 0.25, "
    "1.5"),
    "scaled_dot_product_attention": ("M, N, P", "T, T*T, T - 1", "T, T[:, :2], T[:, :2]*2", "M, "
    "N, P, A[:2, :2]",
        "M, N, P, is_causal=True", "M, N, P, scale=0.5", "M, N, P, J[:, :2] > 0", "T, T*T, T - 1, "
        "dropout_p=0.0, is_causal=True",
        "T.reshape(1, 4, 3, 2), T.reshape(1, 4, 3, 2)[:, :2], T.reshape(1, 4, 3, 2)[:, 2:], "
        "enable_gqa=True"),
    "interpolate": (
        *_IMAGES, *_LINES, "I, 6", "T, scale_factor=2", "I, (6, 5), mode='bilinear', "
        "align_corners=True",
            "I, 7, mode='bicubic', align_corners=True",
        "T, 7, mode='linear', align_corners=True", f"{_V}, (3, 5, 6)", f"{_V}, (3, 5, 6), "
        "mode='trilinear'",
        f"{_V}, (3, 5, 2), mode='trilinear', align_corners=True", "T, scale_factor=1.5, "
        "mode='linear', recompute_scale_factor=True"),
    "upsample": ("I, 6", "I, scale_factor=2", "I, (5, 6), mode='bilinear'", "I, (5, 6), "
    "mode='bilinear', align_corners=True",
        "T, 7, mode='linear'"),
    "upsample_nearest": ("I, 6", "T, scale_factor=2", "I, (3, 5)"),
    "upsample_bilinear": ("I, 6", "I, scale_factor=2", "I, (3, 5)"),
    "affine_grid": ("M.reshape(1, 2, 3), (1, 1, 2, 3)", "M.reshape(1, 2, 3), (1, 1, 3, 2), "
    "align_corners=True",
        "M.reshape(1, 2, 3), [1, 2, 2, 2], False", "T.reshape(2, 3, 4), (2, 1, 2, 1, 3)"),
    "grid_sample": (*(f"I, {_GRID}{more}" for more in _SAMPLED), f"{_V}, {_GRID3}, "
    "align_corners=True"),
}  # fmt: skip
