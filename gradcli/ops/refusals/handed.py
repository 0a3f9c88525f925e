"""Functions that are written in Python in PyTorch: what the native ones say that they hand their arguments to."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from gradcli.ops.refusals.forms import ANY_TENSOR, ANYTHING, any_tensors, forms, misfit, type_name

# What is done with arguments first, in the words of Python: a call, or an attribute that only tensors have.
_STEPS: Mapping[str, str] = {
    **dict.fromkeys(("F.softmax", "F.softmin"), "Tensor.softmax(dim)"), "F.log_softmax": "Tensor.log_softmax(dim)",
    "F.elu": "_nn.elu(input, alpha)", "F.celu": "celu(input, alpha)", "F.glu": "_nn.glu(input, dim)",
    "F.leaky_relu": "_nn.leaky_relu(input, negative_slope)", "F.hardtanh_": "_nn.hardtanh_(input, min_val, max_val)",
    "F.rrelu": "rrelu(input, lower, upper, training)", "F.threshold": "threshold(input, threshold, value)",
    "F.pad": "_nn.pad(input, pad, mode, value)", "F.layer_norm": "layer_norm(input, normalized_shape, weight, bias, eps)",
    **dict.fromkeys(("F.normalize", "norm"), "linalg.vector_norm(input, p, dim, keepdim)"),
    **dict.fromkeys((
        "F.mse_loss", "F.l1_loss", "F.smooth_l1_loss", "F.huber_loss", "F.binary_cross_entropy", "F.binary_cross_entropy_with_logits",
    ), "target.size; input.size"),
    "F.margin_ranking_loss": "input2.dim; target.dim", "F.triplet_margin_with_distance_loss": "positive.ndim; negative.ndim",
    "F.kl_div": "kl_div(input, target, log_target=log_target)",
    "F.poisson_nll_loss": "poisson_nll_loss(input, target, log_input, full, eps, reduction)",
    "F.soft_margin_loss": "_nn.soft_margin_loss(input, target)", "F.nll_loss": "_nn.nll_loss_nd(input, target, weight)",
    "F.multi_margin_loss": "_nn.multi_margin_loss(input, target, p, margin, weight)",
    "F.multilabel_margin_loss": "_nn.multilabel_margin_loss(input, target)",
    "F.cross_entropy": "_nn.cross_entropy_loss(input, target, weight)", "F.embedding": "embedding(weight, input)",
    "F.hinge_embedding_loss": "hinge_embedding_loss(input, target, margin)",
    "F.cosine_embedding_loss": "cosine_embedding_loss(input1, input2, target, margin)",
    "F.triplet_margin_loss": "triplet_margin_loss(anchor, positive, negative, margin, p, eps, swap)",
    **{f"F.max_pool{n}d": f"max_pool{n}d(input, kernel_size, stride, padding, dilation, ceil_mode)" for n in (1, 2, 3)},
    "F.max_pool1d_with_indices": "max_pool1d_with_indices(input, kernel_size, stride, padding, dilation, ceil_mode)",
    **dict.fromkeys(("F.adaptive_max_pool1d", "F.adaptive_max_pool1d_with_indices"), "adaptive_max_pool1d(input, output_size)"),
    "tensordot": "b.dim", "lu": "_lu_with_info(A, pivot=pivot)",
    "unique": "bool(return_inverse); _unique2(input, sorted=sorted, return_inverse=return_inverse, return_counts=return_counts)",
    "unique of dim": "bool(return_inverse); "
    "unique_dim(input, dim, sorted=sorted, return_inverse=return_inverse, return_counts=return_counts)",
    "unique_consecutive": "bool(return_inverse); "
    "_VF.unique_consecutive(input, return_inverse=return_inverse, return_counts=return_counts, dim=dim)",
    "split": "split_with_sizes(input, split_size, dim)", "split of int": "_VF.split(input, split_size, dim)",
}  # fmt: skip


_OF_TENSORS = frozenset({"atleast_1d", "atleast_2d", "atleast_3d", "block_diag", "broadcast_tensors", "cartesian_prod", "chain_matmul"})


def native() -> set[str]:
    """The functions that arguments are handed to, by their names as forms have them."""
    steps = "; ".join(_STEPS.values()).split("; ")
    return {step.partition("(")[0] for step in steps if "(" in step} - {"bool"}


def refusal(key: str, arguments: Sequence[Any], keywords: Mapping[str, Any]) -> Exception | None:
    """PyTorch's error for arguments that a function, or the one that it hands them to, does not take."""
    error = misfit(key, arguments, keywords)
    if error is not None:
        return error
    found = forms(key)
    if not found or not found[0].in_python:
        return None
    if found[0].rest:
        return _no_tensors(arguments[0] if len(arguments) == 1 else arguments) if key in _OF_TENSORS else None
    given = dict(zip([p.name for p in found[0].by_position], arguments, strict=False)) | dict(keywords)
    for step in _steps(key, given):
        error = _taken(step, given, "input" if key.startswith("Tensor.") else found[0].parameters[0].name)
        if error is not None:
            return error
    return None


def fits_whatever(key: str, arguments: Sequence[Any], keywords: Mapping[str, Any]) -> bool:
    """Whether arguments fit for their types alone, whichever tensors these are."""
    return refusal(key, any_tensors(arguments), {word: any_tensors(value) for word, value in keywords.items()}) is None


def _steps(key: str, given: Mapping[str, Any]) -> list[str]:
    name = key.removeprefix("Tensor.")
    if name == "unique" and given.get("dim") is not None:
        name = "unique of dim"
    if name == "split" and isinstance(given.get("split_size", given.get("split_size_or_sections")), int):
        name = "split of int"
    steps = _STEPS.get(name)
    if steps is None and name.endswith("_"):
        steps = _STEPS.get(name[:-1], "").replace("(", "_(", 1)
    elif given.get("inplace") is True:
        steps = (steps or "").replace("(", "_(", 1)
    return steps.split("; ") if steps else []


def _taken(step: str, given: Mapping[str, Any], first: str) -> Exception | None:
    """The error of one step, of which what was given is known only: the default of a parameter fits.

    first  what the function calls its tensor, which has another name in some
    """
    function, _, inside = step.partition("(")
    if function == "bool":
        return _undecided(given.get(inside[:-1]))
    if not inside:
        name, _, attribute = step.partition(".")
        value = given.get(name, ANY_TENSOR)
        said = f"'{type_name(value)}' object has no attribute '{attribute}'"
        return None if hasattr(value, "requires_grad") else AttributeError(said)

    def value_of(name: str) -> Any:
        if name == "input" and name not in given:
            return given.get(first, ANY_TENSOR)
        value = given.get("split_size_or_sections" if name == "split_size" and name not in given else name, ANYTHING)
        return ANYTHING if value is None or isinstance(value, str) else value

    parts = [part.partition("=") for part in inside[:-1].split(", ")]
    return misfit(
        function, [value_of(name) for name, equals, _ in parts if not equals], {w: value_of(name) for w, equals, name in parts if equals}
    )


def _no_tensors(parts: Any) -> Exception | None:
    """The error of what should be tensors, one by one or in a list."""
    for i, part in enumerate(parts if isinstance(parts, (tuple, list)) else (parts,)):
        if not hasattr(part, "requires_grad"):
            return TypeError(f"expected Tensor as element {i} in argument 0, but got {type_name(part)}")
    return None


def _undecided(value: Any) -> Exception | None:
    """The error of a value that is neither true nor false."""
    try:
        bool(value)
    except RuntimeError as error:
        return error
    return None

