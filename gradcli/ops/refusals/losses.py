"""What PyTorch says of losses: of their parameters, of labels, and of shapes that do not fit."""

from __future__ import annotations

from gradcli.ops.refusals.calls import Call, Said, refuses, unbroadcastable

_REDUCED = (
    "mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss", "cross_entropy", "nll_loss", "binary_cross_entropy",
    "binary_cross_entropy_with_logits", "kl_div", "poisson_nll_loss", "gaussian_nll_loss", "hinge_embedding_loss", "margin_ranking_loss",
    "soft_margin_loss", "cosine_embedding_loss", "triplet_margin_loss", "multi_margin_loss", "multilabel_margin_loss", "ctc_loss",
    "multilabel_soft_margin_loss",
)  # fmt: skip


@refuses(*(f"F.{name}" for name in _REDUCED))
def reduction(c: Call) -> Said:
    said = c.get("reduction", "mean")
    if said in ("mean", "sum", "none") or (said == "batchmean" and c.name == "kl_div"):
        return None
    return ValueError(f"{said} is not {'valid' if c.name == 'gaussian_nll_loss' else 'a valid value for reduction'}")


def _size(shape: list[int]) -> str:
    return f"torch.Size({shape})"


@refuses("F.mse_loss", "F.l1_loss", "F.smooth_l1_loss", "F.huber_loss", "F.soft_margin_loss")
def alike(c: Call) -> Said:
    return unbroadcastable(c.shape(), c.shape("target"))


@refuses("F.multilabel_soft_margin_loss", "F.hinge_embedding_loss", "F.kl_div", "F.poisson_nll_loss")
def alike_by_target(c: Call) -> Said:
    return unbroadcastable(c.shape("target"), c.shape())


@refuses("F.gaussian_nll_loss")
def whole_variance(c: Call) -> Said:
    return TypeError("any() received an invalid combination of arguments - got (bool)") if isinstance(c["var"], int) else None


@refuses("F.smooth_l1_loss")
def beta(c: Call) -> Said:
    return "smooth_l1_loss does not support negative values for beta." if c.get("beta", 1.0) < 0 else None


@refuses("F.huber_loss")
def delta(c: Call) -> Said:
    return "huber_loss does not support non-positive values for delta." if c.get("delta", 1.0) <= 0 else None


@refuses("F.cross_entropy", "F.nll_loss")
def labels(c: Call) -> Said:
    if c.name == "nll_loss" and not c.rank():
        return ValueError("Expected 1 or more dimensions (got 0)")
    if not c.rank():
        return f"Expected floating point type for target with class probabilities, got {c.kind('target')}"
    classes = c.shape()[1 if c.rank() > 1 else 0]
    if c.kind("target") not in ("Long", "Byte") and c.rank("target") != c.rank():
        return f"expected target dtype to be Long or Byte, but got {c.kind('target')}"
    if c.rank() > 1 and c.rank("target") and c.shape()[0] != c.shape("target")[0]:
        return ValueError(f"Expected input batch_size ({c.shape()[0]}) to match target batch_size ({c.shape('target')[0]}).")
    if c.has("weight") and c.shape("weight") != [classes]:
        said = f"weight tensor should be defined either for all {classes} classes or no classes but got weight tensor of shape: "
        return said + str(c.shape("weight"))
    if not 0 <= c.get("label_smoothing", 0.0) <= 1:
        return f"label_smoothing must be between 0.0 and 1.0. Got: {c['label_smoothing']}"
    if c.kind("target") in ("Long", "Byte"):
        ignored = c.get("ignore_index", -100)
        wrong = [int(i) for i in c["target"].array.ravel() if int(i) != ignored and not 0 <= i < classes]
        if wrong:
            return IndexError(f"Target {wrong[0]} is out of bounds.")
    return None


@refuses("F.binary_cross_entropy")
def binary(c: Call) -> Said:
    if c.shape() != c.shape("target"):
        sizes = f"Using a target size ({_size(c.shape('target'))}) that is different to the input size ({_size(c.shape())}) is deprecated."
        return ValueError(f"{sizes} Please ensure they have the same size.")
    return None


@refuses("F.binary_cross_entropy_with_logits")
def logits(c: Call) -> Said:
    if c.shape() != c.shape("target"):
        return ValueError(f"Target size ({_size(c.shape('target'))}) must be the same as input size ({_size(c.shape())})")
    return unbroadcastable(c.shape("pos_weight"), c.shape()) if c.has("pos_weight") else None


@refuses("F.gaussian_nll_loss")
def variance(c: Call) -> Said:
    if c.has("var") and c.shape("var") not in (c.shape(), c.shape()[:-1], [*c.shape()[:-1], 1]):
        return ValueError("var is of incorrect size")
    return None


@refuses("F.cosine_embedding_loss")
def cosine(c: Call) -> Said:
    if c.rank("target") > 1:
        return "0D or 1D target tensor expected, multi-target not supported"
    return unbroadcastable(c.shape("input1"), c.shape("input2"))


@refuses("cosine_similarity", "F.cosine_similarity")
def similar(c: Call) -> Said:
    return unbroadcastable(c.shape("x1"), c.shape("x2"))


@refuses("F.triplet_margin_loss")
def triplet(c: Call) -> Said:
    ranks = [c.rank(name) for name in ("anchor", "positive", "negative")]
    if len(set(ranks)) > 1:
        said = "The anchor, positive, and negative tensors are expected to have the same number of dimensions, but got: "
        return f"{said}anchor {ranks[0]}D, positive {ranks[1]}D, and negative {ranks[2]}D inputs"
    if c.get("margin", 1.0) <= 0:
        return ValueError(f"margin must be greater than 0, got {c['margin']}")
    return unbroadcastable(c.shape("anchor"), c.shape("positive")) or unbroadcastable(c.shape("anchor"), c.shape("negative"))


@refuses("F.margin_ranking_loss")
def ranking(c: Call) -> Said:
    shapes = [c.shape(name) for name in ("input1", "input2", "target")]
    if len({len(shape) for shape in shapes}) == 1:
        return None
    sizes = f"input1: {_size(shapes[0])}, input2: {_size(shapes[1])}, target: {_size(shapes[2])} "
    return f"margin_ranking_loss : All input tensors should have same dimension but got sizes: {sizes}"


@refuses("F.rrelu", "rrelu")
def rrelu(c: Call) -> Said:
    return "Lower bound should be less than or equal to the upper bound" if c.get("lower", 1 / 8) > c.get("upper", 1 / 3) else None


@refuses("F.multi_margin_loss")
def multi_margin(c: Call) -> Said:
    if c.get("p", 1) not in (1, 2):
        return ValueError("only p == 1 and p == 2 supported")
    if c.rank() == 2 and c.shape("target") != c.shape()[:1]:
        return "multi_margin_loss: target tensor should be 1-D with size equal to the number of input samples (batch size)."
    classes = c.shape()[-1]
    return "target out of range" if any(not 0 <= i < classes for i in c["target"].array.ravel()) else None


@refuses("F.multilabel_margin_loss")
def multilabel_margin(c: Call) -> Said:
    if c.shape("target") != c.shape():
        return f"inconsistent target size: {c.shape('target')} for input of size: {c.shape()}"
    return None


@refuses("F.gelu", "gelu")
def approximate(c: Call) -> Said:
    return "approximate argument must be either none or tanh." if c.get("approximate", "none") not in ("none", "tanh") else None


@refuses("F.glu", "glu")
def glu(c: Call) -> Said:
    dim = c.get("dim", -1)
    n = c.shape()[dim]
    return f"Halving dimension must be even, but dimension {dim % c.rank()} is size {n}" if n % 2 else None


@refuses("F.prelu", "prelu")
def prelu(c: Call) -> Said:
    weights, channels = c["weight"].array.size, c.shape()[1] if c.rank() > 1 else 1
    if weights not in (1, channels):
        said = "Mismatch of parameter numbers and input channel size. Found parameter numbers = "
        return f"{said}{weights} and channel size = {channels}."
    return None


@refuses("F.hardtanh")
def hardtanh(c: Call) -> Said:
    return ValueError("min_val cannot be greater than max_val") if c.get("min_val", -1) > c.get("max_val", 1) else None


@refuses("F.softshrink", "softshrink")
def softshrink(c: Call) -> Said:
    largest = {"Float": "3.40282e+38", "Double": "1.79769e+308"}.get(c.kind(), "65504")
    lambd = c.get("lambd", 0.5)
    return f"lambda must be in range [0, {largest}] for input dtype {c.kind()}, but found {lambd:g}" if lambd < 0 else None


@refuses("F.celu", "celu")
def celu(c: Call) -> Said:
    return "ZeroDivisionError: alpha cannot be 0 for CELU" if c["alpha"] == 0 else None


@refuses("F.scaled_dot_product_attention")
def attention(c: Call) -> Said:
    ranks = [c.rank(name) for name in ("query", "key", "value")]
    if min(ranks) < 2:
        shown = f"query.dim: {ranks[0]} key.dim: {ranks[1]} and value.dim: {ranks[2]}"
        return f"Expected query, key, and value to all be  at least 2 dimensional, but got {shown} instead."
    if c["is_causal"] and c["attn_mask"] is not None:
        return "_scaled_dot_product_attention: Explicit attn_mask should not be set when is_causal=True"
    return None
