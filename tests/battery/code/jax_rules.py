"""Functions of JAX with rules of their own (custom_vjp, custom_jvp), right and wrong."""

from __future__ import annotations

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from battery.code.entries import Entry, about, held, positive, regular, some

X = {"x": some(5)}


def ruled(forward, backward, save=lambda *arguments: arguments):
    """A function with a rule for its backward pass, which gets what was saved and the seed."""

    @jax.custom_vjp
    def function(*arguments):
        return forward(*arguments)

    function.defvjp(
        lambda *arguments: (forward(*arguments), save(*arguments)),
        lambda saved, g: backward(g, *saved),
    )
    return function


def tangent_ruled(forward, tangent):
    @jax.custom_jvp
    def function(x):
        return forward(x)

    @function.defjvp
    def rule(primals, tangents):
        (x,), (t,) = primals, tangents
        return forward(x), tangent(x, t)

    return function


def softplus(x):
    return jnp.maximum(x, 0) + jnp.log1p(jnp.exp(-jnp.abs(x)))


def swish(x):
    return x * jax.nn.sigmoid(x)


def swish_back(g, x):
    s = jax.nn.sigmoid(x)
    return (g * (s + x * s * (1 - s)),)


def log_sum_exp(x):
    top = x.max()
    return top + jnp.log(jnp.sum(jnp.exp(x - top)))


def safe_norm(x):
    return jnp.sqrt(jnp.sum(x**2) + 1e-9)


def layer_norm(x, w):
    mean, var = x.mean(-1, keepdims=True), x.var(-1, keepdims=True)
    return (x - mean) / jnp.sqrt(var + 1e-5) * w


def layer_norm_back(g, x, w, mean_term=True, gain=jnp.sum):
    r = 1 / jnp.sqrt(x.var(-1, keepdims=True) + 1e-5)
    h = (x - x.mean(-1, keepdims=True)) * r
    gw = g * w
    gx = r * (gw - mean_term * gw.mean(-1, keepdims=True) - h * (gw * h).mean(-1, keepdims=True))
    return gx, gain(g * h, axis=0)


def attention(q, k, v):
    return jax.nn.softmax(q @ k.T / jnp.sqrt(q.shape[-1])) @ v


def attention_back(g, q, k, v, scale=None):
    scale = 1 / jnp.sqrt(q.shape[-1]) if scale is None else scale
    p = jax.nn.softmax(q @ k.T / jnp.sqrt(q.shape[-1]))
    gp = g @ v.T
    gs = p * (gp - (gp * p).sum(-1, keepdims=True)) * scale
    return gs @ k, gs.T @ q, p.T @ g


def solve(a, b):
    return jnp.linalg.solve(a, b)


def solve_back(g, a, b, transposed=True):
    x, y = solve(a, b), solve(a.T if transposed else a, g)
    return -jnp.outer(y, x), y


def fixed_point(w, x):
    return lax.fori_loop(0, 100, lambda _, z: jnp.tanh(w @ z + x), jnp.zeros_like(x))


def fixed_point_back(g, w, x, implicit=True):
    z = fixed_point(w, x)
    d = 1 - z**2
    inner = d * (solve(jnp.eye(len(z)) - w.T * d, g) if implicit else g)
    return jnp.outer(inner, z), inner


def root(a):
    """A cube root by Newton's method, until it moves no more."""
    return lax.while_loop(
        lambda y: jnp.abs(y**3 - a) > 1e-13, lambda y: y - (y**3 - a) / (3 * y**2), jnp.ones_like(a)
    )


def segment_mean(x, groups):
    total = jnp.zeros(3, x.dtype).at[groups].add(x)
    return total / jnp.maximum(jnp.zeros(3, x.dtype).at[groups].add(1.0), 1)


def segment_back(g, x, groups, mean=True):
    n = jnp.maximum(jnp.zeros(3, x.dtype).at[groups].add(1.0), 1)
    return (g / n if mean else g)[groups], np.zeros(groups.shape, jax.dtypes.float0)


def bilinear(x, a, y):
    return x @ a @ y


def conv(x, w):
    return jnp.convolve(x, w, mode="valid")


def conv_back(g, x, w, flipped=True):
    return jnp.convolve(g, w[::-1] if flipped else w), jnp.convolve(x[::-1], g, mode="valid")


def clip_gradient(low, high):
    return ruled(lambda x: x, lambda g, x: (jnp.clip(g, low, high),))


@partial(jax.custom_vjp, nondiff_argnums=(1,))
def power(x, n):
    return x**n


power.defvjp(lambda x, n: (x**n, x), lambda n, x, g: (g * n * x ** (n - 1),))


@partial(jax.custom_vjp, nondiff_argnums=(1,))
def power_wrong(x, n):
    return x**n


power_wrong.defvjp(lambda x, n: (x**n, x), lambda n, x, g: (g * n * x**n,))


def total(function):
    return lambda x: jnp.sum(jnp.sin(function(x)) * jnp.arange(1.0, 6.0))


SOFT, EXP = (
    ruled(softplus, lambda g, x: (g * jax.nn.sigmoid(x),)),
    ruled(jnp.exp, lambda g, x: (g * jnp.exp(x),)),
)
HUGE = ruled(log_sum_exp, lambda g, x: (g * jax.nn.softmax(x),))
QKV = {"q": some(3, 2), "k": some(3, 2, state=1), "v": some(3, 2, state=2)}
GROUPS = {"x": some(5), "groups": np.array([0, 2, 2, 0, 2])}
ENTRIES: list[Entry] = [
    *held("jax", X, {"softplus": total(SOFT)}, {
        "softplus without seed": total(ruled(softplus, lambda g, x: (jax.nn.sigmoid(x),))), "softplus, of tanh": total(ruled(softplus, lambda g, x: (g * jnp.tanh(x),))),
    }),
    *held("jax", X, {"swish": total(ruled(swish, swish_back))}, {
        "swish, a missing term": total(ruled(swish, lambda g, x: (g * jax.nn.sigmoid(x),))),
        "swish saved its output": total(ruled(swish, swish_back, save=lambda x: (swish(x),))),
    }),
    *held("jax", X, {"log sum exp": lambda x: HUGE(x * 50)}, {"log sum exp, its exponentials": lambda x: ruled(log_sum_exp, lambda g, x: (g * jnp.exp(x - x.max()),))(x)}),
    *held("jax", X, {"norm": ruled(safe_norm, lambda g, x: (g * x / safe_norm(x),))}, {"norm of the square": ruled(safe_norm, lambda g, x: (2 * g * x,))}),
    *held("jax", {"x": np.zeros(3)}, {"norm at zero": ruled(safe_norm, lambda g, x: (g * x / safe_norm(x),))}),
    *held("jax", {"x": some(3, 4), "w": some(4, state=1)}, {"layer norm": ruled(layer_norm, layer_norm_back)}, {
        "layer norm, mean as a constant": ruled(layer_norm, partial(layer_norm_back, mean_term=False)),
        "layer norm, gain averaged": ruled(layer_norm, partial(layer_norm_back, gain=jnp.mean)),
    }),
    *held("jax", QKV, {"attention": ruled(attention, attention_back)}, {"attention unscaled": ruled(attention, partial(attention_back, scale=1.0))}),
    *held("jax", {"a": regular(3), "b": some(3)}, {"solve": ruled(solve, solve_back)}, {"solve, not transposed": ruled(solve, partial(solve_back, transposed=False))}),
    *held("jax", {"w": 0.3 * some(2, 2), "x": some(2)}, {"fixed point": ruled(fixed_point, fixed_point_back)}, {
        "fixed point, one step": ruled(fixed_point, partial(fixed_point_back, implicit=False)),
    }),
    *held("jax", {"a": 2.5}, {"root": ruled(root, lambda g, a: (g / (3 * root(a) ** 2),))}, {"root, its power": ruled(root, lambda g, a: (g / (3 * root(a)),))}),
    *held("jax", GROUPS, {"segment mean": ruled(segment_mean, segment_back)}, {"segment mean as a sum": ruled(segment_mean, partial(segment_back, mean=False))}, wrt="x"),
    *held("jax", {"x": some(3), "a": some(3, 2, state=1), "y": some(2, state=2)}, {
        "bilinear": ruled(bilinear, lambda g, x, a, y: (g * (a @ y), g * jnp.outer(x, y), g * (x @ a))),
    }, {"bilinear, one as a constant": ruled(bilinear, lambda g, x, a, y: (g * (a @ y), g * jnp.outer(x, y), 0 * y))}),
    *held("jax", {"x": some(6), "w": some(3, state=1)}, {"convolution": ruled(conv, conv_back)}, {"convolution not flipped": ruled(conv, partial(conv_back, flipped=False))}),
    *held("jax", X, {"clipped far off": total(clip_gradient(-100.0, 100.0))}, {"gradient clipped": total(clip_gradient(-0.1, 0.1))}),
    *held("jax", X, {"power": total(lambda x: power(x, 3))}, {"power, its exponent": total(lambda x: power_wrong(x, 3))}),
    *held("jax", X, {"a tangent's rule": total(tangent_ruled(jnp.tanh, lambda x, t: (1 - jnp.tanh(x) ** 2) * t))}, {
        "a tangent's rule of the input": total(tangent_ruled(jnp.tanh, lambda x, t: (1 - x**2) * t)),
    }),
    *held("jax", {"x": positive(4)}, {"x log x": tangent_ruled(lambda x: x * jnp.log(x), lambda x, t: (jnp.log(x) + 1) * t)}, {
        "x log x, a missing term": tangent_ruled(lambda x: x * jnp.log(x), lambda x, t: jnp.log(x) * t),
    }),
    *held("jax", X, {"exp": total(EXP)}, {"round, straight through": total(ruled(jnp.round, lambda g, x: (g,))), "sign, straight through": total(ruled(jnp.sign, lambda g, x: (g,)))}),
    *held("jax", {"x": np.array([0.0, 1.0, -1.0])}, {"relu at its kink": ruled(lambda x: jnp.maximum(x, 0), lambda g, x: (jnp.where(x > 0, g, 0.0),))}, {
        "relu beyond its kink": ruled(lambda x: jnp.maximum(x, 0), lambda g, x: (jnp.where(x > 0, g, jnp.where(x == 0, -g, 0.0)),)),
    }),
    *about(lambda x: np.asarray(jnp.sum(jnp.tanh(jnp.asarray(x))), float), {"x": some(3).astype(np.float32)}, lambda x: (1 - np.tanh(x) ** 2).astype(np.float32), {
        "its square": lambda x: (1 - np.tanh(x)).astype(np.float32),
    }),
]  # fmt: skip
