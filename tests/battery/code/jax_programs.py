"""JAX as people write it: transformations, control flow, jax.nn, jax.scipy, linear algebra, indices, random numbers, stopped gradients."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import jax.scipy as jsp
import numpy as np
from jax import lax, nn

from battery.code.entries import Entry, definite, held, positive, regular, some

X, M, S = {"x": some(5)}, {"m": some(3, 4)}, {"s": definite(3)}
KEY = jax.random.PRNGKey(0)


def weighted(x):
    return jnp.sum(
        jnp.asarray(x) * jnp.cos(jnp.arange(jnp.size(x), dtype=x.dtype)).reshape(jnp.shape(x))
    )


def of(function):
    """A number made of all that a function gives."""
    return lambda *arguments: sum(
        weighted(part) for part in jax.tree_util.tree_leaves(function(*arguments))
    )


def scanned(x):
    carry, rows = lax.scan(lambda c, v: (jnp.tanh(c + v), c * v), 0.3, x)
    return carry + jnp.sum(rows**2)


def conditional(x):
    return lax.cond(jnp.sum(x) > 0, lambda v: jnp.sum(v**2), lambda v: jnp.sum(v**3), x)


def fori(x):
    return lax.fori_loop(0, 4, lambda i, y: y * 0.5 + jnp.roll(x, i), x).sum()


def associative(x):
    return lax.associative_scan(lambda a, b: a * b + b, x)


def mapped(m):
    return jax.vmap(lambda row: jnp.dot(row, row) / row.sum())(m)


def hessian_trace(x):
    return jnp.trace(jax.hessian(lambda v: jnp.sum(v**4) + v[0] ** 2 * v[1])(x))


def directional(x):
    return jax.jvp(lambda v: jnp.sum(jnp.sin(v) * v[0]), (x,), (jnp.ones_like(x),))[1]


def updated(x):
    y = jnp.zeros(4).at[jnp.array([0, 2])].set(x[:2] ** 2)
    return (y.at[1].add(x[2]).at[0].multiply(x[3]) ** 2).sum()


def dynamic(x):
    y = lax.dynamic_slice(x, (jnp.int32(1),), (3,))
    return (
        lax.dynamic_update_slice(x, y**2, (jnp.int32(2),)).sum()
        + lax.dynamic_index_in_dim(x, 3, keepdims=False) ** 2
    )


def convolved(image, kernel):
    return lax.conv_general_dilated(image[None, None], kernel[None, None], (1, 1), "SAME")


def strided(image, kernel):
    return lax.conv_general_dilated(
        image[None, None], kernel[None, None], (2, 1), [(1, 0), (2, 1)], rhs_dilation=(1, 2)
    )


def pooled(image):
    return lax.reduce_window(image, -jnp.inf, lax.max, (2, 2), (2, 2), "VALID")


def sorted_by_keys(x):
    order = jnp.argsort(x)
    keys, values = lax.sort((x, x**2 + jnp.arange(5.0)), num_keys=1)
    return keys + values + x[order[::-1]]


def cumulative(x):
    return lax.cumlogsumexp(x), lax.cummax(x), lax.cummin(x), jnp.cumsum(x), jnp.cumprod(x)


def activations(x):
    functions = (
        nn.relu,
        nn.relu6,
        nn.elu,
        nn.selu,
        nn.gelu,
        nn.silu,
        nn.softplus,
        nn.leaky_relu,
        nn.log_sigmoid,
        nn.hard_tanh,
        nn.celu,
        nn.mish,
        nn.squareplus,
    )
    return sum(function(x) * (k + 1) for k, function in enumerate(functions))


def special(x):
    y = jnp.abs(x) + 0.5
    s = jsp.special
    return (
        s.gammaln(y),
        s.digamma(y),
        s.erf(x),
        s.erfc(x),
        s.erfinv(x / 3),
        s.i0e(x),
        s.i1e(x),
        s.expit(x),
        s.logit(nn.sigmoid(x)),
        s.betaln(y, y + 1),
        s.ndtr(x),
        s.log_ndtr(x),
    )


def rounded(x):
    return (
        jnp.floor(x) * x
        + jnp.mod(x, 0.7)
        + lax.rem(x, 0.7)
        + jnp.sign(x) * x**2
        + lax.reduce_precision(x, 11, 52)
        + lax.clamp(-0.5, x, 0.5)
        + jnp.nan_to_num(x)
    )


def matrices(m):
    return (
        jnp.linalg.inv(m),
        jnp.linalg.det(m),
        jnp.linalg.slogdet(m)[1],
        jnp.linalg.solve(m, jnp.ones(3)),
        jnp.linalg.matrix_power(m, 3),
    )


def eigenvalues(s):
    values, vectors = jnp.linalg.eigh((s + s.T) / 2)
    return values, vectors @ jnp.diag(jnp.exp(values / 10)) @ vectors.T


def singular(m):
    u, s, vt = jnp.linalg.svd(m, full_matrices=False)
    return s, (u * s**2) @ vt, jnp.linalg.norm(m, "nuc"), jnp.linalg.norm(m, 2)


def einsums(m):
    return (
        jnp.einsum("ij,kj->ik", m, m),
        jnp.kron(m[:2, :2], m[:2, :2]),
        jnp.tensordot(m, m, 2),
        jnp.outer(m[0], m[1]),
        jnp.cross(m[0, :3], m[1, :3]),
    )


def arrays(m):
    return (jnp.pad(m, 1, mode="reflect"), jnp.pad(m, ((1, 0), (0, 2))), jnp.roll(m, 1, 1), jnp.flip(m, 0), jnp.tile(m, 2), jnp.repeat(m, 2, 0), jnp.take(m, jnp.array([2, 0]), 1),
            jnp.diff(m), jnp.tril(m), jnp.where(m > 0, m, -m), jnp.concatenate([m, m]), jnp.split(m, 2, 1), jnp.stack([m, m]), m[::-1, 1::2], m[m.argmax() // 4], jnp.diagonal(m))  # fmt: skip


def noise(x):
    return x + jnp.exp(x) * jax.random.normal(KEY, x.shape)


def checkpointed(x):
    return jax.checkpoint(lambda v: jnp.sin(v) * v)(x)


def integrated(x):
    from jax.experimental.ode import odeint

    return odeint(lambda y, t, k: -k * y, x, jnp.array([0.0, 0.5]), 0.7)[-1]


@jax.custom_vjp
def called(x):
    return jax.pure_callback(
        lambda v: np.tanh(np.asarray(v)), jax.ShapeDtypeStruct(x.shape, x.dtype), x
    )


called.defvjp(lambda x: (called(x), x), lambda x, g: (g * (1 - jnp.tanh(x) ** 2),))


@jax.custom_vjp
def called_wrongly(x):
    return jax.pure_callback(
        lambda v: np.tanh(np.asarray(v)), jax.ShapeDtypeStruct(x.shape, x.dtype), x
    )


called_wrongly.defvjp(lambda x: (called_wrongly(x), x), lambda x, g: (g * (1 - jnp.tanh(x)),))


def stopped(x):
    return jnp.sum(x * lax.stop_gradient(nn.softmax(x)))


def stopped_baseline(x):
    return jnp.sum((x - lax.stop_gradient(x.mean())) ** 3)


def nested(p):
    return jnp.sum(jnp.tanh(p["w"] @ p["b"][0]) * p["b"][1])


IMAGE = {"image": some(4, 4)}
KERNELS = {**IMAGE, "kernel": some(3, 3, state=1)}
ON_VECTORS = [
    scanned, conditional, fori, associative, hessian_trace, directional, updated, dynamic, sorted_by_keys, cumulative, activations, special,
    rounded, noise, checkpointed, integrated,
]  # fmt: skip
ON_MATRICES = [mapped, singular, einsums, arrays]


def named(functions):
    return {function.__name__: of(function) for function in functions}


ENTRIES: list[Entry] = [
    *held("jax", X, named(ON_VECTORS)),
    *held("jax", M, named(ON_MATRICES)),
    *held("jax", S, named([eigenvalues])),
    *held("jax", {"m": regular(3)}, named([matrices])),
    *held("jax", KERNELS, named([convolved, strided])),
    *held("jax", IMAGE, named([pooled])),
    *held("jax", X, {"called back": of(called)}, {"called back, of its square": of(called_wrongly)}),
    *held("jax", X, {"a stopped gradient": stopped, "a stopped baseline": stopped_baseline}),
    *held("jax", {"p": {"w": some(2, 3), "b": [some(3), positive(2)]}}, {"a tree": nested}),
]  # fmt: skip
