"""What PyTorch says of reductions: of no entries, and of parameters that they do not have."""

from __future__ import annotations

import math

from gradcli.ops.refusals.calls import Call, Said, refuses, unbroadcastable


@refuses("max", "min", "amax", "amin", "argmax", "argmin", "aminmax", "median", "nanmedian", "mode", "kthvalue", "cummax", "cummin")
def of_nothing(c: Call) -> Said:
    dim = c["dim"]
    if math.prod(c.shape()):
        return None
    if dim is None or dim == ():
        if c.name == "aminmax":
            return "aminmax(): cannot compute aminmax over an empty dimension as the operation has no identity."
        said = f"{c.name}(): Expected reduction dim to be specified for input.numel() == 0. Specify the reduction dim with the 'dim' "
        said += "argument."
        return IndexError(said) if c.name.startswith("arg") else said
    for axis in (dim,) if isinstance(dim, int) else dim:
        if not c.shape()[axis]:
            return IndexError(f"{c.name}(): Expected reduction dim {axis} to have non-zero size.")
    return None


@refuses("topk")
def topk(c: Call) -> Said:
    n = c.shape()[c.get("dim", -1)] if c.rank() else 1
    return "selected index k out of range" if not 0 <= c["k"] <= n else None


@refuses("kthvalue")
def kthvalue(c: Call) -> Said:
    dim = c.get("dim", -1)
    n = c.shape()[dim] if c.rank() else 1
    return f"kthvalue(): selected number k out of range for dimension {dim % max(c.rank(), 1)}" if not 1 <= c["k"] <= n else None


@refuses("quantile", "nanquantile")
def quantile(c: Call) -> Said:
    q, rule = c["q"], c.get("interpolation", "linear")
    if rule not in ("linear", "lower", "higher", "midpoint", "nearest"):
        return f"quantile() interpolation must be one of linear, lower, higher, midpoint or nearest, but got {rule}"
    if c.has("q"):
        if c.kind("q") != c.kind():
            return "quantile() q tensor must be same dtype as the input tensor"
        return None if ((q.array >= 0) & (q.array <= 1)).all() else "quantile() q values must be in the range [0, 1]"
    return None if 0 <= q <= 1 else f"quantile() q must be in the range [0, 1] but got {q:g}"


@refuses("renorm")
def renorm(c: Call) -> Said:
    return "renorm: non-positive-norm not supported" if c["p"] <= 0 else None


@refuses("diff")
def diff(c: Call) -> Said:
    if not c.rank():
        return "diff expects input to be at least one-dimensional"
    return f"order must be non-negative but got {c['n']}" if c.get("n", 1) < 0 else None


@refuses("gradient")
def gradient(c: Call) -> Said:
    order = c.get("edge_order", 1)
    if order not in (1, 2):
        return "torch.gradient only supports edge_order=1 and edge_order=2."
    return "torch.gradient expected each dimension size to be at least edge_order+1" if min(c.shape(), default=1) < order + 1 else None


@refuses("cov", "corrcoef")
def cov(c: Call) -> Said:
    if c.rank() > 2:
        return f"{c.name}(): expected input to have two or fewer dimensions but got an input with {c.rank()} dimensions"
    return None


@refuses("histc")
def histc(c: Call) -> Said:
    if c.get("bins", 100) <= 0:
        return f"torch.histogram(): bins must be > 0, but got {c['bins']} for dimension 0"
    return "torch.histc: max must be larger than min" if c.get("max", 0) < c.get("min", 0) else None


@refuses("bincount")
def bincount(c: Call) -> Said:
    whole = c["input"].array.dtype.kind in "iu"
    return "bincount only supports 1-d non-negative integral inputs." if whole and (c.rank() != 1 or (c["input"].array < 0).any()) else None


@refuses("trapezoid", "trapz")
def trapezoid(c: Call) -> Said:
    if c.has("x", "y") and c.rank("x") == 1 and c.shape("x")[0] != c.shape("y")[c.get("dim", -1)]:
        return "trapezoid: There must be one `x` value for each sample point"
    return None


@refuses("polygamma")
def polygamma(c: Call) -> Said:
    return "polygamma(n, x) does not support negative n." if c["n"] < 0 else None


@refuses("mvlgamma", "special.multigammaln")
def mvlgamma(c: Call) -> Said:
    return "p has to be greater than or equal to 1" if c["p"] < 1 else None


@refuses("div", "divide", "true_divide")
def rounding_mode(c: Call) -> Said:
    mode = c["rounding_mode"]
    if mode not in (None, "trunc", "floor"):
        return f"div expected rounding_mode to be one of None, 'trunc', or 'floor' but found '{mode}'"
    return None


@refuses("isclose", "allclose")
def isclose(c: Call) -> Said:
    if c.kind() != c.kind("other"):
        return f"{c.kind()} did not match {c.kind('other')}"
    return unbroadcastable(c.shape(), c.shape("other"))


@refuses("meshgrid")
def meshgrid(c: Call) -> Said:
    order = c["indexing"]
    if order not in (None, "xy", "ij"):
        return f'torch.meshgrid: indexing must be one of "xy" or "ij", but received: {order}'
    return None
