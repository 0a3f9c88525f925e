"""Losses as PyTorch has them beside torch.nn.functional: with numbers for the reductions, none of which is the default."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gradcli.ops.calling.dialects import qualified
from gradcli.ops.calling.prefixes import TORCH
from gradcli.tensors.core.tensor import Tensor
from gradcli.tensors.dispatch.checked_calls import all_checked
from gradcli.tensors.dispatch.library_calls import call


def _of(name: str, tensors: tuple[Any, ...], reduction: int, **keywords: Any) -> Tensor:
    if reduction not in (0, 1, 2):
        raise RuntimeError(f"{name}(): reduction must be 0 (none), 1 (mean) or 2 (sum), not {reduction}")
    found: Tensor = call(
        qualified(name, f"torch.nn.functional.{name}", TORCH), TORCH, tensors, {**keywords, "reduction": ("none", "mean", "sum")[reduction]}
    )
    return found


def _binary_cross_entropy_with_logits(
    input: Tensor, target: Tensor, weight: Any = None, pos_weight: Any = None, reduction: int = 0
) -> Tensor:  # fmt: skip
    return _of("binary_cross_entropy_with_logits", (input, target), reduction, weight=weight, pos_weight=pos_weight)


def _cosine_embedding_loss(input1: Tensor, input2: Tensor, target: Tensor, margin: float = 0.0, reduction: int = 0) -> Tensor:
    return _of("cosine_embedding_loss", (input1, input2, target), reduction, margin=margin)


def _ctc_loss(
    log_probs: Tensor, targets: Tensor, input_lengths: Any, target_lengths: Any, blank: int = 0, reduction: int = 0,
    zero_infinity: bool = False,
) -> Tensor:  # fmt: skip
    given = (log_probs, targets, input_lengths, target_lengths)
    return _of("ctc_loss", given, reduction, blank=blank, zero_infinity=zero_infinity)


def _hinge_embedding_loss(input: Tensor, target: Tensor, margin: float = 1.0, reduction: int = 0) -> Tensor:
    return _of("hinge_embedding_loss", (input, target), reduction, margin=margin)


def _kl_div(input: Tensor, target: Tensor, reduction: int = 0, *, log_target: bool = False) -> Tensor:
    return _of("kl_div", (input, target), reduction, log_target=log_target)


def _margin_ranking_loss(input1: Tensor, input2: Tensor, target: Tensor, margin: float = 0.0, reduction: int = 0) -> Tensor:
    return _of("margin_ranking_loss", (input1, input2, target), reduction, margin=margin)


def _poisson_nll_loss(input: Tensor, target: Tensor, log_input: bool, full: bool, eps: float, reduction: int) -> Tensor:
    return _of("poisson_nll_loss", (input, target), reduction, log_input=log_input, full=full, eps=eps)


def _triplet_margin_loss(
    anchor: Tensor, positive: Tensor, negative: Tensor, margin: float = 1.0, p: float = 2, eps: float = 1e-06, swap: bool = False,
    reduction: int = 0,
) -> Tensor:  # fmt: skip
    return _of("triplet_margin_loss", (anchor, positive, negative), reduction, margin=margin, p=p, eps=eps, swap=swap)


LIBRARY_LOSSES: dict[str, Callable[..., Tensor]] = all_checked({
    "binary_cross_entropy_with_logits": _binary_cross_entropy_with_logits, "cosine_embedding_loss": _cosine_embedding_loss,
    "ctc_loss": _ctc_loss, "hinge_embedding_loss": _hinge_embedding_loss, "kl_div": _kl_div, "margin_ranking_loss": _margin_ranking_loss,
    "poisson_nll_loss": _poisson_nll_loss, "triplet_margin_loss": _triplet_margin_loss,
})  # fmt: skip
