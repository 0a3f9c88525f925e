"""What jax.nn and jax.lax call functions, and the few that no other library has."""

from __future__ import annotations

from typing import Any

from gradcli.ops.calling.prefixes import JAX
from gradcli.ops.calling.signatures import declare, signature
from gradcli.ops.elementwise.arithmetic import square
from gradcli.ops.elementwise.exponential import exp, expm1, log, log1p, sqrt
from gradcli.ops.elementwise.logic import greater, less, where
from gradcli.ops.nn.activations import gelu
from gradcli.ops.nn.softmax import logsumexp
from gradcli.ops.reductions.along import count
from gradcli.ops.reductions.sums import mean
from gradcli.ops.registry import composite


def _standardize(x: Any, mean_: Any, variance: Any, axis: Any, epsilon: float) -> Any:
    centre = mean(x, axis=axis, keepdims=True) if mean_ is None else mean_
    spread = mean(square(x), axis=axis, keepdims=True) - square(centre) if variance is None else variance
    return (x - centre) / sqrt(spread + epsilon)


composite(
    "squareplus", "x b?", lambda x, b: (x + sqrt(square(x) + (4.0 if b is None else b))) / 2, public=False,
    doc="jax.nn.squareplus: (x + sqrt(x**2 + b))/2, a smooth relu.",
)  # fmt: skip
composite(
    "standardize", "x mean? variance?", _standardize, static={"axis": -1, "epsilon": 1e-5}, scalars="epsilon", public=False,
    doc="jax.nn.standardize: x less its mean over its deviation along an axis.",
)  # fmt: skip
composite(
    "log1mexp", "x", lambda x: where(less(x, 0.6931471805599453), log(-expm1(-x)), log1p(-exp(-x))), public=False,
    doc="jax.nn.log1mexp: log(1 - exp(-x)).",
)  # fmt: skip
composite(
    "logmeanexp", "x", lambda x, axis, keepdims: logsumexp(x, axis=axis, keepdims=keepdims) - log(1.0 * count(x.shape, axis)),
    static={"axis": None, "keepdims": False}, public=False, doc="jax.nn.logmeanexp: the logarithm of the mean of exponentials.",
)  # fmt: skip

composite(
    "jax_gelu", "x", lambda x, approximate: gelu(x, approximate="tanh" if approximate else "none"), static={"approximate": True},
    public=False,
    doc="jax.nn.gelu: gelu by its approximation with tanh, unless approximate=False.",
)  # fmt: skip

composite(
    "jax_hard_tanh", "x", lambda x: where(greater(x, 1.0), 1.0, where(less(x, -1.0), -1.0, x)), public=False,
    doc="jax.nn.hard_tanh: hardtanh with the derivative 1 at -1 and 1.",
)  # fmt: skip

_X = "x|operand"
declare(
    JAX,
    **{
        "nn.gelu": signature("jax_gelu", "x, approximate"),
        "nn.hard_sigmoid": signature("hardsigmoid", "x"), "nn.hard_silu": signature("hardswish", "x"),
        "nn.hard_swish": signature("hardswish", "x"),
        "nn.hard_tanh": signature("jax_hard_tanh", "x"), "nn.soft_sign": signature("softsign", "x"),
        "nn.squareplus": signature("squareplus", "x, b"),
        "nn.standardize": signature("standardize", "x, axis, mean, variance, epsilon"),
        "nn.normalize": signature("standardize", "x, axis, mean, variance, epsilon"),
        "nn.softplus": signature("softplus", "x"), "nn.log1mexp": signature("log1mexp", "x"), "nn.identity": signature("positive", "x"),
        "nn.logmeanexp": signature("logmeanexp", "x, axis, -where, keepdims"), "nn.glu": signature("glu", "x, axis", axis=-1),
        "nn.logsumexp": signature("logsumexp", "x|a, axis, b, keepdims, return_sign"),
        # lax
        "lax.clamp": signature("clip", "low|min, x, high|max"), "lax.max": signature("maximum", "x, y"),
        "lax.min": signature("minimum", "x, y"),
        "lax.logistic": signature("sigmoid", "x"), "lax.erf_inv": signature("erfinv", "x"), "lax.integer_pow": signature("pow", "x, y"),
        "lax.is_finite": signature("isfinite", "x"), "lax.rem": signature("fmod", "x, y"),
        "lax.rev": signature("flip", f"{_X}, axis|dimensions"),
        "lax.reduce_sum": signature("sum", f"{_X}, axis|axes"), "lax.reduce_max": signature("max", f"{_X}, axis|axes"),
        "lax.reduce_min": signature("min", f"{_X}, axis|axes"), "lax.reduce_prod": signature("prod", f"{_X}, axis|axes"),
        **{f"lax.{name}": signature(name, f"{_X}, axis, -reverse", axis=0) for name in ("cumsum", "cumprod")},
        "lax.cumlogsumexp": signature("logcumsumexp", f"{_X}, axis, -reverse", axis=0),
        "lax.concatenate": signature("joined", "arrays|operands, axis|dimension"),
        "lax.reshape": signature("reshape", f"{_X}, shape|new_sizes"),
        "lax.transpose": signature("transpose", f"{_X}, axes|permutation"),
        "lax.expand_dims": signature("expand_dims", "x|array, axis|dimensions"),
        "lax.squeeze": signature("squeeze", "x|array, axis|dimensions"), "lax.sort": signature("sort", f"{_X}, axis|dimension", axis=-1),
        "lax.top_k": signature("topk", f"{_X}, k, axis"), "lax.argmax": signature("argmax", f"{_X}, axis, -index_dtype"),
        "lax.argmin": signature("argmin", f"{_X}, axis, -index_dtype"), "lax.bessel_i0e": signature("i0e", "x"),
        "lax.bessel_i1e": signature("i1e", "x"),
        "lax.igamma": signature("gammainc", "a, x"), "lax.igammac": signature("gammaincc", "a, x"),
        "lax.betainc": signature("betainc", "a, b, x"),
        "lax.dot": signature("matmul", "x|lhs, y|rhs, -precision, -preferred_element_type"),
        "lax.batch_matmul": signature("matmul", "x|lhs, y|rhs, -precision"),
        "lax.atan2": signature("atan2", "y|x, x|y"),
    },
)  # fmt: skip
