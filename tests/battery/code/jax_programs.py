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


def scanned_back(x):
    return lax.scan(lambda c, v: (c * v + 0.5, c), 1.0, x, reverse=True)[0]


def conditional(x):
    return lax.cond(jnp.sum(x) > 0, lambda v: jnp.sum(v**2), lambda v: jnp.sum(v**3), x)


def switched(x):
    return lax.switch(1, [jnp.sum, jnp.prod, jnp.max], x)


def fori(x):
    return lax.fori_loop(0, 4, lambda i, y: y * 0.5 + jnp.roll(x, i), x).sum()


def associative(x):
    return lax.associative_scan(lambda a, b: a * b + b, x)


def mapped(m):
    return jax.vmap(lambda row: jnp.dot(row, row) / row.sum())(m)


def differentiated(x):
    return jnp.sum(jax.grad(lambda v: jnp.sum(v**3))(x) ** 2)


def hessian_trace(x):
    return jnp.trace(jax.hessian(lambda v: jnp.sum(v**4) + v[0] ** 2 * v[1])(x))


def directional(x):
    return jax.jvp(lambda v: jnp.sum(jnp.sin(v) * v[0]), (x,), (jnp.ones_like(x),))[1]


def updated(x):
    y = jnp.zeros(4).at[jnp.array([0, 2])].set(x[:2] ** 2)
    return (y.at[1].add(x[2]).at[0].multiply(x[3]) ** 2).sum()


def extremes(x):
    return (
        jnp.zeros(2).at[jnp.array([0, 1, 0, 1, 0])].max(x).sum()
        + jax.ops.segment_sum(x**2, jnp.array([0, 1, 1, 0, 2]), 3).prod()
    )


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


def transposed_conv(image, kernel):
    return lax.conv_transpose(image[None, :, :, None], kernel[:, :, None, None], (2, 2), "VALID")


def grouped(image, kernel):
    return lax.conv_general_dilated(
        jnp.stack([image, image**2])[None],
        kernel[None, None].repeat(2, 0),
        (1, 1),
        "VALID",
        feature_group_count=2,
    )


def pooled(image):
    return lax.reduce_window(image, -jnp.inf, lax.max, (2, 2), (2, 2), "VALID")


def averaged(image):
    return lax.reduce_window(image, 0.0, lax.add, (3, 2), (1, 1), "SAME")


def sorted_by_keys(x):
    order = jnp.argsort(x)
    keys, values = lax.sort((x, x**2 + jnp.arange(5.0)), num_keys=1)
    return keys + values + x[order[::-1]]


def medians(x):
    return (
        jnp.median(x)
        + jnp.percentile(x, 30.0)
        + jnp.sort(x)[1] * jnp.max(x)
        + lax.top_k(x, 2)[0].sum()
    )


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


def normalized(x):
    return nn.softmax(x), nn.log_softmax(x), nn.logsumexp(x), nn.standardize(x), nn.glu(x[:4])


def exact_gelu(x):
    return nn.gelu(x, approximate=False)


def entropies(x):
    p = nn.softmax(x)
    return (
        jsp.special.entr(p).sum(),
        jsp.special.xlogy(p, p).sum(),
        jsp.special.rel_entr(p, p[::-1]).sum(),
        jsp.special.kl_div(p, p[::-1]).sum(),
    )


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


def more_special(x):
    y = jnp.abs(x) + 0.5
    s = jsp.special
    return (
        s.gammainc(2.0, y),
        s.gammaincc(2.0, y),
        s.i0(x),
        s.i1(x),
        s.zeta(3.0, y),
        s.polygamma(1, y),
        s.multigammaln(y + 2, 2),
        s.ndtri(nn.sigmoid(x)),
    )


def incomplete_beta(x):
    return jsp.special.betainc(1.5, 2.0, nn.sigmoid(x))


def expint(x):
    return jsp.special.expi(x)


def densities(x):
    s = jsp.stats
    y = jnp.abs(x) + 0.1
    return (s.norm.logpdf(x), s.norm.cdf(x), s.t.logpdf(x, 3.0), s.gamma.logpdf(y, 2.0), s.beta.logpdf(nn.sigmoid(x), 2.0, 3.0), s.laplace.logpdf(x),
            s.cauchy.logpdf(x), s.logistic.logpdf(x), s.expon.logpdf(y), s.chi2.logpdf(y, 3.0), s.pareto.logpdf(y + 1, 2.0))  # fmt: skip


def normal_density(mean, s):
    return jsp.stats.multivariate_normal.logpdf(jnp.array([0.2, -0.1, 0.5]), mean, s)


def trigonometric(x):
    y = jnp.tanh(x) * 0.9
    return (
        jnp.arcsin(y),
        jnp.arctanh(y),
        jnp.arccosh(2.5 + y),
        jnp.arctan2(x, y),
        jnp.hypot(x, y),
        jnp.sinc(x),
        jnp.expm1(x),
        jnp.log1p(y),
        jnp.cbrt(x),
        jnp.exp2(x),
        jnp.logaddexp(x, y),
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


def cholesky(s):
    factor = jnp.linalg.cholesky((s + s.T) / 2)
    return (
        jnp.log(jnp.diag(factor)).sum(),
        jsp.linalg.solve_triangular(factor, jnp.ones(3), lower=True),
        jsp.linalg.cho_solve((factor, True), jnp.ones(3)),
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


def orthogonal(m):
    q, r = jnp.linalg.qr(m.T)
    return q @ q.T, jnp.abs(jnp.diag(r))


def pseudoinverse(m):
    return jnp.linalg.pinv(m), jnp.linalg.lstsq(m.T, jnp.arange(4.0))[0]


def exponential(m):
    return jsp.linalg.expm(m / 10)


def factored(m):
    return jsp.linalg.lu_solve(jsp.linalg.lu_factor(m), jnp.ones(3))


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


def reductions(m):
    return (
        m.sum(0),
        m.mean(1),
        m.var(),
        m.std(0, ddof=1),
        m.prod(1),
        m.max(0),
        m.min(),
        jnp.linalg.norm(m),
        jnp.ptp(m, 0),
        jnp.trapezoid(m),
        jnp.average(m, 0, weights=jnp.arange(3.0)),
        jnp.cov(m),
    )


def interpolated(x):
    return jnp.interp(x, jnp.linspace(-2, 2, 7), jnp.arange(7.0) ** 2) + jnp.polyval(
        jnp.array([1.0, -2.0, 0.5]), x
    )


def sampled_image(image, places):
    return jsp.ndimage.map_coordinates(image, [places[0], places[1]], order=1)


def resized(image):
    return jax.image.resize(image, (6, 5), "linear")


def spectrum(x):
    return jnp.abs(jnp.fft.rfft(x)) ** 2


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
    scanned, scanned_back, conditional, switched, fori, associative, differentiated, hessian_trace, directional, updated, extremes, dynamic,
    sorted_by_keys, medians, cumulative, activations, normalized, exact_gelu, entropies, special, more_special, incomplete_beta, expint, densities, trigonometric, rounded,
    interpolated, spectrum, noise, checkpointed, integrated,
]  # fmt: skip
ON_MATRICES = [mapped, singular, orthogonal, pseudoinverse, einsums, arrays, reductions]


def named(functions):
    return {function.__name__: of(function) for function in functions}


ENTRIES: list[Entry] = [
    *held("jax", X, named(ON_VECTORS)),
    *held("jax", M, named(ON_MATRICES)),
    *held("jax", S, named([cholesky, eigenvalues])),
    *held("jax", {"m": regular(3)}, named([matrices, exponential, factored])),
    *held("jax", KERNELS, named([convolved, strided, transposed_conv, grouped])),
    *held("jax", IMAGE, named([pooled, averaged, resized])),
    *held("jax", {"image": some(4, 4), "places": np.array([[0.3, 2.2], [1.4, 2.9]])}, named([sampled_image])),
    *held("jax", {"mean": some(3), **S}, named([normal_density])),
    *held("jax", X, {"called back": of(called)}, {"called back, of its square": of(called_wrongly)}),
    *held("jax", X, {"a stopped gradient": stopped, "a stopped baseline": stopped_baseline}),
    *held("jax", {"p": {"w": some(2, 3), "b": [some(3), positive(2)]}}, {"a tree": nested}),
]  # fmt: skip
