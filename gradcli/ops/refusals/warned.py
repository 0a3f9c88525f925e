"""What PyTorch warns of, and computes nevertheless: what is deprecated, and what is probably a mistake."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import prod
from typing import Any

from gradcli.ops.pytorch import FLOATS
from gradcli.ops.refusals.calls import Call, bound
from gradcli.ops.refusals.handed import refusal

_Said = Callable[[Call], str | None]
_WARNED: dict[str, list[_Said]] = {}


def _warns(*keys: str) -> Callable[[_Said], _Said]:
    def register(said: _Said) -> _Said:
        for key in keys:
            _WARNED.setdefault(key, []).append(said)
        return said

    return register


def is_warned_of(key: str) -> bool:
    """Whether PyTorch warns of some calls of a function."""
    return key in _WARNED


def is_said_once(text: str) -> bool:
    return text in _ONCE.values()


def warnings_of(key: str, arguments: Sequence[Any], keywords: Mapping[str, Any], owner: Any = None) -> list[str]:
    """What is said of a call that succeeds, of a method with its owner."""
    call = bound(key, arguments, keywords)
    if call is None or refusal(key, arguments, keywords) is not None:
        return []
    if owner is not None:
        call.given = {"input": owner, **call.given}
    return [text for said in _WARNED[key] if (text := said(call)) is not None]


@_warns("F.softmax", "F.softmin", "F.log_softmax")
def _axis(call: Call) -> str | None:
    if call["dim"] is not None:
        return None
    return f"Implicit dimension choice for {call.name} has been deprecated. Change the call to include dim=X as an argument."


@_warns(*[
    f"F.{name}" for name in (
        "mse_loss", "l1_loss", "smooth_l1_loss", "nll_loss", "cross_entropy", "kl_div", "binary_cross_entropy", "soft_margin_loss",
        "binary_cross_entropy_with_logits", "poisson_nll_loss", "hinge_embedding_loss", "multilabel_margin_loss", "multi_margin_loss",
        "multilabel_soft_margin_loss", "cosine_embedding_loss", "margin_ranking_loss", "triplet_margin_loss",
    )
])  # fmt: skip
def _reductions(call: Call) -> str | None:
    averaged, reduced = call["size_average"], call["reduce"]
    if averaged is None and reduced is None:
        return None
    how = "none" if reduced is not None and not reduced else "mean" if averaged is None or averaged else "sum"
    return f"size_average and reduce args will be deprecated, please use reduction='{how}' instead."


@_warns("F.mse_loss", "F.l1_loss", "F.smooth_l1_loss", "F.huber_loss")
def _broadcast(call: Call) -> str | None:
    if not call.has("input", "target") or call.shape("input") == call.shape("target"):
        return None
    sizes = f"Using a target size (torch.Size({call.shape('target')})) that is different to the input size (torch.Size({call.shape()})). "
    return sizes + "This will likely lead to incorrect results due to broadcasting. Please ensure they have the same size."


@_warns("F.kl_div")
def _mean_of_divergences(call: Call) -> str | None:
    if call.get("reduction", "mean") != "mean" or call["size_average"] is not None or call["reduce"] is not None:
        return None
    return (
        "reduction: 'mean' divides the total loss by both the batch size and the support size.'batchmean' divides only by the batch size, "
        "and aligns with the KL div math definition.'mean' will be changed to behave the same as 'batchmean' in the next major release."
    )


@_warns("F.dropout2d", "F.dropout3d")
def _ranks(call: Call) -> str | None:
    name, axes, rank, p = call.name, int(call.name[-2]), call.rank(), call.get("p", 0.5)
    if not isinstance(p, (int, float)) or not 0 <= p <= 1:
        return None
    if rank not in (axes + 1, axes + 2):
        return (
            f"{name}: Received a {rank}-D input to {name}, which is deprecated and will result in an error in a future release. To "
            f"retain the behavior and silence this warning, please use dropout instead. Note that {name} exists to provide channel-wise "
            f"dropout on inputs with {axes} spatial dimensions, a channel dimension, and an optional batch dimension (i.e. {axes + 1}D or "
            f"{axes + 2}D inputs)."
        )
    if (axes, rank) != (2, 3):
        return None
    return (
        "dropout2d: Received a 3D input to dropout2d and assuming that channel-wise 1D dropout behavior is desired - input is "
        "interpreted as shape (N, C, L), where C is the channel dim. This behavior will change in a future release to interpret the input "
        "as one without a batch dimension, i.e. shape (C, H, W). To maintain the 1D channel-wise dropout behavior, please switch to using "
        "dropout1d instead."
    )


@_warns(*[f"{part}{name}" for name in ("var", "std") for part in ("", "Tensor.")], "var_mean", "std_mean")
def _no_freedom(call: Call) -> str | None:
    """Of moments of as few entries as are taken off."""
    shape, dim, off = call.shape(), call["dim"], call["correction"]
    if call.kind() not in FLOATS:
        return None
    if off is None:
        off = 0 if call["unbiased"] is False else 1
    rank = len(shape)
    dims = range(rank) if dim is None or dim == () else dim if isinstance(dim, (tuple, list)) else (dim,)
    if not all(-max(rank, 1) <= d < max(rank, 1) for d in dims):
        return None
    taken = {d % rank for d in dims} if rank else set()
    if prod(shape[d] for d in taken) > off or not prod(shape[d] for d in range(rank) if d not in taken):
        return None
    return (
        f"{call.name}(): degrees of freedom is <= 0. Correction should be strictly less than the reduction factor (input numel divided by "
        "output numel)."
    )


@_warns("cov", "Tensor.cov", "corrcoef", "Tensor.corrcoef")
def _few_observations(call: Call) -> str | None:
    shape = call.shape()
    weighted = call["aweights"] is not None or call["fweights"] is not None
    if weighted or (shape[-1] if shape else 1) > call.get("correction", 1):
        return None
    return "cov(): degrees of freedom is <= 0. Correction should be strictly less than the number of observations."


@_warns("F.grid_sample", "F.affine_grid")
def _corners(call: Call) -> str | None:
    if call["align_corners"] is not None:
        return None
    return (
        "Default grid_sample and affine_grid behavior has changed to align_corners=False since 1.3.0. Please specify align_corners=True if "
        "the old behavior is desired. See the documentation of grid_sample for details."
    )


@_warns("F.upsample", "F.upsample_nearest", "F.upsample_bilinear")
def _upsampling(call: Call) -> str | None:
    return f"`nn.functional.{call.name}` is deprecated. Use `nn.functional.interpolate` instead."


# What is said once only, of functions that are deprecated.
_ONCE: Mapping[str, str] = {
    "frobenius_norm": "at::frobenius_norm is deprecated and it is just left for JIT compatibility. It will be removed in a future PyTorch "
    "release. Please use `linalg.vector_norm(A, 2., dim, keepdim)` instead",
    "nuclear_norm": "at::nuclear_norm is deprecated and it is just left for JIT compatibility. It will be removed in a future PyTorch "
    "release. Please use `linalg.matrix_norm(A, 'nuc', dim, keepdim)` instead",
    "chain_matmul": "torch.chain_matmul is deprecated and will be removed in a future PyTorch release. Use torch.linalg.multi_dot instead, "
    "which accepts a list of two or more tensors rather than multiple parameters.",
    "cholesky": "torch.cholesky is deprecated in favor of torch.linalg.cholesky and will be removed in a future PyTorch release.\n"
    "L = torch.cholesky(A)\nshould be replaced with\nL = torch.linalg.cholesky(A)\nand\nU = torch.cholesky(A, upper=True)\n"
    "should be replaced with\nU = torch.linalg.cholesky(A).mH\n"
    "This transform will produce equivalent results for all valid (symmetric positive definite) inputs.",
    "qr": "torch.qr is deprecated in favor of torch.linalg.qr and will be removed in a future PyTorch release.\n"
    "The boolean parameter 'some' has been replaced with a string parameter 'mode'.\nQ, R = torch.qr(A, some)\nshould be replaced with\n"
    "Q, R = torch.linalg.qr(A, 'reduced' if some else 'complete')",
    "triangular_solve": "torch.triangular_solve is deprecated in favor of torch.linalg.solve_triangularand will be removed in a future "
    "PyTorch release.\ntorch.linalg.solve_triangular has its arguments reversed and does not return a copy of one of the inputs.\n"
    "X = torch.triangular_solve(B, A).solution\nshould be replaced with\nX = torch.linalg.solve_triangular(A, B).",
    "cross": "Using torch.cross without specifying the dim arg is deprecated.\n"
    "Please either pass the dim explicitly or simply use torch.linalg.cross.\n"
    "The default value of dim will change to agree with that of linalg.cross in a future release.",
    "meshgrid": "torch.meshgrid: in an upcoming release, it will be required to pass the indexing argument.",
}  # fmt: skip
_UNLESS = {"cross": "dim", "meshgrid": "indexing"}  # this is given


@_warns(*_ONCE, *[f"Tensor.{name}" for name in ("cholesky", "qr", "triangular_solve", "cross")])
def _deprecated(call: Call) -> str | None:
    name = call.key.removeprefix("Tensor.")
    return None if call.given.get(_UNLESS.get(name, "")) is not None else _ONCE[name]
