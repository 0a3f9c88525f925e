"""Calls of losses: every way to reduce, every keyword."""

_WAYS = ("", ", reduction='sum'", ", reduction='none'", ", size_average=False", ", reduce=False")


def _reduced(*calls: str) -> tuple[str, ...]:
    return tuple(call + way for call in calls for way in _WAYS)


_LOGS = "F.log_softmax(T.reshape(4, 2, 3), 2)"

CALLS = {
    "mse_loss l1_loss": _reduced("M, N", "V, W"),
    "smooth_l1_loss": _reduced("M, N", "M, N, beta=0.3", "V, W, beta=2.5"),
    "huber_loss": (*_reduced("M, N", "M, N, delta=0.3", "V, W, delta=2.5"), "M, N, 'sum', 0.6"),
    "gaussian_nll_loss": ("M, N, P", "M, N, P, reduction='sum'", "M, N, P, reduction='none'", "M, "
    "N, P, full=True", "M, N, P, eps=0.5",
        "M, N, 1e-9*P", "M, N, P, True, 0.25, 'sum'", "M, N, P[:, :1]", "M, N, P[:, :1], full=True"),
    "poisson_nll_loss": _reduced("M, P", "P, N*N, log_input=False", "M, P*5, full=True", "P, N, "
    "False, True, None, 0.25",
        "P, N*N, log_input=False, eps=0.5"),
    "binary_cross_entropy": _reduced("P, P[::1]*0.5", "P, P*P, weight=N*N", "Q, R, V*V", "P, B*1.0", "B*1.0, P"),
    "binary_cross_entropy_with_logits": _reduced("M, P", "M, P, weight=N*N", "M, P, pos_weight=Q", "300*M, P", "M, P, N*N, pos_weight=V*V"),
    "multilabel_soft_margin_loss": _reduced("M, B*1.0", "M, P", "M, P, weight=Q"),
    "soft_margin_loss": _reduced("M, 2.0*B - 1", "V, W.sign()", "M, N"),
    "hinge_embedding_loss": _reduced("M, 2.0*B - 1", "M, 2.0*B - 1, margin=0.3", "V, W.sign(), 2.0"),
    "margin_ranking_loss": _reduced("M, N, 2.0*B - 1", "M, N, 2.0*B - 1, margin=0.75", "V, W, "
    "Q.sign(), 0.5"),
    "cosine_embedding_loss": _reduced("M, N, L - 1", "M, N, 1 - L, 0.25", "M, M*P, 1 - L, "
    "margin=0.5", "M, M*P, 0*L - 1"),
    "triplet_margin_loss": _reduced("M, N, P", "M, N, P, margin=0.3", "M, N, P, p=1", "M, N, P, "
    "swap=True", "M, M*P, N, 2.5, 3.0, 0.25",
        "V, W, Q"),
    "triplet_margin_with_distance_loss": ("M, N, P", "M, N, P, margin=0.3", "M, N, P, swap=True", "M, N, P, reduction='sum'",
        "M, N, P, reduction='none'", "M, N, P, swap=True, margin=2.5"),
    "cross_entropy": (*_reduced("M, L", "M, L, weight=Q", "M, L, label_smoothing=0.2", "M, L, "
    "ignore_index=2", "M, L*50 - 100", "M, P",
        "M, P, label_smoothing=0.3", "M, P, Q", "T.reshape(2, 4, 3), J", "M, L, Q, "
        "label_smoothing=0.2"), "V, K[1]"),
    "nll_loss": (*_reduced("F.log_softmax(M, 1), L", "M, L", "M, L, weight=Q", "M, L, "
    "ignore_index=0", "M, L*50 - 100",
        "T.reshape(2, 4, 3), J", "M, L, Q, ignore_index=2"),),
    "multi_margin_loss": _reduced("M, L", "M, L, p=2", "M, L, margin=0.25", "M, L, weight=Q", "M, "
    "L, 2, 1.5, R"),
    "multilabel_margin_loss": _reduced("M, J*2 - 1", "N, J*2 - 1", "A[:2], J*2 - 1", "V, K"),
}  # fmt: skip
