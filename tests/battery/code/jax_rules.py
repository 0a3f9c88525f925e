"""Functions of JAX with rules of their own (custom_vjp, custom_jvp), right and wrong."""

from __future__ import annotations

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from battery.code.entries import Entry, about, held, regular, some

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


def log_sum_exp(x):
    top = x.max()
    return top + jnp.log(jnp.sum(jnp.exp(x - top)))


def safe_norm(x):
    return jnp.sqrt(jnp.sum(x**2) + 1e-9)


def solve(a, b):
    return jnp.linalg.solve(a, b)


def solve_back(g, a, b, transposed=True):
    x, y = solve(a, b), solve(a.T if transposed else a, g)
    return -jnp.outer(y, x), y


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
GROUPS = {"x": some(5), "groups": np.array([0, 2, 2, 0, 2])}
ENTRIES: list[Entry] = [
    *held("jax", X, {"softplus": total(SOFT)}, {
        "softplus without seed": total(ruled(softplus, lambda g, x: (jax.nn.sigmoid(x),))), "softplus, of tanh": total(ruled(softplus, lambda g, x: (g * jnp.tanh(x),))),
    }),
    *held("jax", X, {"log sum exp": lambda x: HUGE(x * 50)}, {"log sum exp, its exponentials": lambda x: ruled(log_sum_exp, lambda g, x: (g * jnp.exp(x - x.max()),))(x)}),
    *held("jax", X, {"norm": ruled(safe_norm, lambda g, x: (g * x / safe_norm(x),))}, {"norm of the square": ruled(safe_norm, lambda g, x: (2 * g * x,))}),
    *held("jax", {"x": np.zeros(3)}, {"norm at zero": ruled(safe_norm, lambda g, x: (g * x / safe_norm(x),))}),
    *held("jax", {"a": regular(3), "b": some(3)}, {"solve": ruled(solve, solve_back)}, {"solve, not transposed": ruled(solve, partial(solve_back, transposed=False))}),
    *held("jax", {"a": 2.5}, {"root": ruled(root, lambda g, a: (g / (3 * root(a) ** 2),))}, {"root, its power": ruled(root, lambda g, a: (g / (3 * root(a)),))}),
    *held("jax", GROUPS, {"segment mean": ruled(segment_mean, segment_back)}, {"segment mean as a sum": ruled(segment_mean, partial(segment_back, mean=False))}, wrt="x"),
    *held("jax", X, {"clipped far off": total(clip_gradient(-100.0, 100.0))}, {"gradient clipped": total(clip_gradient(-0.1, 0.1))}),
    *held("jax", X, {"power": total(lambda x: power(x, 3))}, {"power, its exponent": total(lambda x: power_wrong(x, 3))}),
    *held("jax", X, {"a tangent's rule": total(tangent_ruled(jnp.tanh, lambda x, t: (1 - jnp.tanh(x) ** 2) * t))}, {
        "a tangent's rule of the input": total(tangent_ruled(jnp.tanh, lambda x, t: (1 - x**2) * t)),
    }),
    *held("jax", X, {"exp": total(EXP)}, {"round, straight through": total(ruled(jnp.round, lambda g, x: (g,))), "sign, straight through": total(ruled(jnp.sign, lambda g, x: (g,)))}),
    *held("jax", {"x": np.array([0.0, 1.0, -1.0])}, {"relu at its kink": ruled(lambda x: jnp.maximum(x, 0), lambda g, x: (jnp.where(x > 0, g, 0.0),))}, {
        "relu beyond its kink": ruled(lambda x: jnp.maximum(x, 0), lambda g, x: (jnp.where(x > 0, g, jnp.where(x == 0, -g, 0.0)),)),
    }),
    *about(lambda x: np.asarray(jnp.sum(jnp.tanh(jnp.asarray(x))), float), {"x": some(3).astype(np.float32)}, lambda x: (1 - np.tanh(x) ** 2).astype(np.float32), {
        "its square": lambda x: (1 - np.tanh(x)).astype(np.float32),
    }),
]  # fmt: skip
