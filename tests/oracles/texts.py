"""Texts that Python and gradcli read alike: modules, distributions and functions of parts of
libraries, each with all its arguments.

The names in capitals are the arrays of `values.py`. ``python -m oracles.record_texts torch`` (or
``jax``) in tests/ records what the library itself makes of them.
"""

from __future__ import annotations

_D = "torch.distributions."


def _methods(made: str, x: str, *methods: str) -> list[str]:
    """The methods of a distribution, and its properties."""
    arguments = {"log_prob": f"({x})", "cdf": f"({x})", "icdf": "(Q)"}
    return [f"{_D}{made}.{method}{arguments.get(method, '')}" for method in methods]


_ALL = ("log_prob", "cdf", "icdf", "entropy()", "mean")
_OF_COUNTS = ("log_prob", "mean")
_ROWS = "[[0.2, 0.65, 0.15], [0.3, 0.3, 0.4]]"

DISTRIBUTIONS = [
    *_methods("Normal(W, Q)", "V", *_ALL), f"{_D}Normal(loc=0.5, scale=Q).log_prob(value=V)", f"{_D}Normal(0., 1.).log_prob(U[3:30])",
    *_methods("Laplace(W, Q)", "V", *_ALL), *_methods("Cauchy(W, Q)", "V", "log_prob", "cdf", "icdf", "entropy()"),
    *_methods("Gumbel(W, Q)", "V", *_ALL), *_methods("HalfNormal(Q)", "R", *_ALL),
    *_methods("HalfCauchy(Q)", "R", "log_prob", "cdf", "icdf", "entropy()"),
    *_methods("StudentT(Q*9 + 2, W, R)", "V", "log_prob", "entropy()", "mean"), f"{_D}StudentT(Q*9).log_prob(V)",
    *_methods("Beta(Q*3, R*4)", "R", "log_prob", "entropy()", "mean"),
    f"{_D}Beta(concentration1=Q, concentration0=2.5).log_prob(R)",
        *_methods("Chi2(Q*7)", "R*9", "log_prob", "cdf", "entropy()", "mean"),
    *_methods("Pareto(Q, R*30)", "Q + 0.5", "log_prob", "cdf", "icdf", "entropy()", "mean"),
    *_methods("Weibull(Q, R*7)", "R*2", *_ALL), *_methods("InverseGamma(Q*20, R)", "Q", "log_prob", "cdf", "entropy()", "mean"),
    *_methods("VonMises(W, Q*4)", "V", "log_prob"), *_methods("Exponential(Q)", "R*3", *_ALL),
    *_methods("Gamma(Q*3, R)", "Q*4", "log_prob", "cdf", "entropy()", "mean"),
    f"{_D}Gamma(concentration=2., rate=Q).log_prob(R)",
    *_methods("LogNormal(W, Q)", "R*3", *_ALL), *_methods("Uniform(V - 1.5, W + 2)", "Q - 0.25", *_ALL),
    *_methods("Poisson(Q*6)", "K", "log_prob", "mean"),
    *_methods("Bernoulli(Q)", "G*1.0", "log_prob", "mean", "entropy()"),
    *_methods("Bernoulli(logits=V)", "G*1.0", "log_prob", "mean", "entropy()"), f"{_D}Bernoulli(probs=Q).log_prob(1. - K/2)",
    *_methods("Binomial(7, Q)", "K", *_OF_COUNTS), *_methods("Binomial(total_count=5, logits=V)", "K*2", *_OF_COUNTS),
    *_methods("Geometric(Q)", "K", *_OF_COUNTS), *_methods("Geometric(logits=V)", "K", *_OF_COUNTS),
    *_methods("NegativeBinomial(R*9, Q)", "K", *_OF_COUNTS), *_methods("NegativeBinomial(3., "
    "logits=V)", "K", *_OF_COUNTS),
    *_methods("Categorical(Q)", "K", "log_prob", "entropy()", "probs", "logits"),
    *_methods("Categorical(logits=M)", "L - 0*L", "log_prob", "entropy()", "probs", "logits"),
    *_methods("Categorical(probs=P)", "L", "log_prob", "entropy()"), f"{_D}Categorical(logits=V).log_prob(J)",
    *_methods("Dirichlet(Q*4)", "[0.2, 0.5, 0.3]", "log_prob", "entropy()", "mean"), f"{_D}Dirichlet(P*5).log_prob({_ROWS})",
    *_methods("MultivariateNormal(W, S)", "V", "log_prob", "entropy()", "mean"),
    f"{_D}MultivariateNormal(W, precision_matrix=S).log_prob(M)",
    f"{_D}MultivariateNormal(0.0*V, scale_tril=torch.tril(S)).log_prob(M)",
        f"{_D}MultivariateNormal(loc=V, covariance_matrix=H).log_prob(W)",
    f"{_D}MultivariateNormal(W, scale_tril=torch.tril(S)).entropy()",
]  # fmt: skip
_PAIRS = [
    ("Normal(V, Q)", "Normal(W, R)"), ("LogNormal(V, Q)", "LogNormal(W, R)"), ("Beta(Q*3, R)", "Beta(R*2, Q)"),
        ("Gamma(Q*3, R)", "Gamma(R*2, Q)"),
    ("Bernoulli(Q)", "Bernoulli(R)"), ("Bernoulli(logits=V)", "Bernoulli(logits=W)"),
    ("Bernoulli(Q)", "Bernoulli(logits=W)"), ("Exponential(Q)", "Exponential(R)"),
    ("Categorical(Q)", "Categorical(R)"), ("Categorical(logits=M)", "Categorical(logits=N)"), ("Categorical(logits=V)", "Categorical(R)"),
    ("Dirichlet(Q*4)", "Dirichlet(R*3)"), ("MultivariateNormal(V, S)", "MultivariateNormal(W, S + "
    "2.0*torch.eye(3))"),
    ("MultivariateNormal(V, scale_tril=torch.tril(S))", "MultivariateNormal(W, precision_matrix=S)"),
]  # fmt: skip
DIVERGENCES = [f"{_D}kl_divergence({_D}{p}, {_D}{q})" for p, q in _PAIRS]

_LOSSES = [
    "CrossEntropyLoss()(M, L)", "CrossEntropyLoss(Q)(M, L)", "CrossEntropyLoss(weight=Q, "
    "reduction='sum', label_smoothing=0.1)(M, L)",
    "CrossEntropyLoss(ignore_index=2, reduction='none')(M, L)", "CrossEntropyLoss()(M, P)", "NLLLoss(weight=Q)(M, L)",
    "NLLLoss(ignore_index=0)(M, L)",
    "BCELoss()(P, P[:, [1, 2, 0]])", "BCELoss(weight=Q, reduction='sum')(P, P*P)", "BCEWithLogitsLoss(pos_weight=Q)(M, P)",
    "BCEWithLogitsLoss(weight=Q, reduction='none')(M, P)", "MSELoss()(M, N)", "MSELoss(reduction='sum')(M, N)",
    "L1Loss(reduction='none')(M, N)",
    "SmoothL1Loss(beta=0.4)(M, N)", "HuberLoss(delta=0.4)(M, N)", "HuberLoss(reduction='sum', "
    "delta=2.0)(M, N)",
    "KLDivLoss(reduction='batchmean')(M, P)",
    "KLDivLoss(log_target=True, reduction='sum')(M, N)", "PoissonNLLLoss()(M, P)",
    "PoissonNLLLoss(log_input=False, full=True, eps=1e-3)(P, 3*P)",
    "GaussianNLLLoss(full=True, reduction='sum')(M, N, P)", "HingeEmbeddingLoss(margin=0.7)(M, "
    "torch.sign(N))",
    "CosineEmbeddingLoss(margin=0.2)(M, N, torch.sign(V[:2]))", "MarginRankingLoss(margin=0.3)(V, "
    "W, torch.sign(W))",
    "MultiMarginLoss(p=2, margin=0.6)(M, L)",
    "MultiLabelSoftMarginLoss(weight=Q)(M, J)", "SoftMarginLoss()(M, torch.sign(N))",
    "TripletMarginLoss(margin=0.4, p=3.0, swap=True)(M, N, P)",
    "TripletMarginWithDistanceLoss(margin=0.4)(M, N, P)", "MultiLabelMarginLoss()(M, J)",
]  # fmt: skip
_ACTIVATIONS = [
    *(f"{name}()(M)" for name in (
        "ReLU", "ReLU6", "SELU", "SiLU", "Mish", "Hardsigmoid", "Hardswish", "ELU", "CELU", "LeakyReLU", "GELU", "Softplus", "Hardtanh",
        "Hardshrink", "Softshrink", "Sigmoid", "Tanh", "Tanhshrink", "Softsign", "LogSigmoid", "Identity")),
    "ReLU(inplace=False)(M)", "ELU(alpha=0.6)(M)", "CELU(0.6)(M)", "LeakyReLU(0.3)(M)", "GELU(approximate='tanh')(M)", "GLU(dim=-1)(T)",
    "GLU()(C)",
    "Softplus(beta=2, threshold=1)(M)", "Hardtanh(-0.5, 0.7)(M)", "Threshold(0.1, 20)(M)", "Hardshrink(0.6)(M)", "Softshrink(lambd=0.6)(M)",
    "Softmax(dim=1)(M)", "Softmax(dim=0)(M)", "LogSoftmax(dim=-1)(T)", "Softmin(dim=1)(M)",
]  # fmt: skip
_SHAPES = [
    "CosineSimilarity()(M, N)", "CosineSimilarity(dim=0, eps=1e-6)(M, N)", "PairwiseDistance()(M, "
    "N)",
    "PairwiseDistance(p=1, keepdim=True)(M, N)",
    "Unflatten(1, (3, 1))(M)", "PixelShuffle(1)(I)", "PixelUnshuffle(2)(I)", "Unfold(2)(I)",
    "Unfold((2, 2), stride=2)(I)",
    "Fold((3, 3), 2)(torch.reshape(I, (1, 8, 4)))", "Upsample(scale_factor=2)(I)",
    "Upsample(size=(5, 6), mode='bilinear', align_corners=True)(I)",
    "LocalResponseNorm(2)(I)", "MaxPool2d(2)(I)", "MaxPool2d(3, stride=1, padding=1)(I)", "MaxPool1d(2)(T)", "AvgPool2d(2, 1)(I)",
    "AvgPool1d(2)(T)",
    "AvgPool2d(3, stride=1, padding=1, count_include_pad=False)(I)", "AdaptiveAvgPool2d(1)(I)",
    "AdaptiveAvgPool2d((2, 3))(I)",
    "AdaptiveMaxPool2d(2)(I)", "Flatten()(T)", "Flatten(0)(T)", "Flatten(start_dim=1, "
    "end_dim=2)(I)",
    "UpsamplingNearest2d(scale_factor=2)(I)",
    "UpsamplingBilinear2d(scale_factor=2)(I)", "ZeroPad2d(1)(I)", "ZeroPad2d((1, 0, 2, 1))(I)", "ConstantPad1d((1, 2), 3.5)(T)",
    "ReflectionPad2d(1)(I)",
    "ReplicationPad2d((1, 0, 2, 1))(I)", "CircularPad1d(1)(T)", "Dropout(0.0)(M)",
]  # fmt: skip
MODULES = [f"torch.nn.{text}" for text in (*_LOSSES, *_ACTIVATIONS, *_SHAPES)]

_J = "jax.scipy.stats."
_OF_STATS = [
    "norm.logpdf(V, W, Q)", "norm.cdf(V, loc=W, scale=Q)", "norm.pdf(V)", "norm.ppf(Q)", "norm.sf(V)", "norm.logcdf(V)",
    "uniform.logpdf(Q, 0, 2)",
    "expon.logpdf(Q)", "expon.logpdf(Q, scale=R)", "gamma.logpdf(Q, 2.5)", "gamma.logpdf(Q, R*4, "
    "scale=2)", "beta.logpdf(Q, R*3, 2)",
    "t.logpdf(V, R*9)",
    "chi2.logpdf(Q, R*9)", "laplace.logpdf(V, W, Q)", "laplace.cdf(V)", "logistic.logpdf(V)", "logistic.cdf(V)", "cauchy.logpdf(V, W, Q)",
    "pareto.logpdf(Q + 1, 2.5)", "gumbel_r.logpdf(V)", "gumbel_l.logpdf(V)", "poisson.logpmf(K, Q)",
    "bernoulli.logpmf(jnp.array([1, 0, 1]), Q)",
    "geom.logpmf(jnp.array([1, 3, 2]), Q)", "nbinom.logpmf(K, 3.5, Q)", "binom.logpmf(K, 5, Q)", "multivariate_normal.logpdf(V, W, S)",
    "dirichlet.logpdf(jnp.array([0.2, 0.5, 0.3]), Q*4)",
    "truncnorm.logpdf(Q, -1.0, 2.0)",
]  # fmt: skip
_OF_NN = [
    *(f"{name}(M)" for name in (
        "relu", "relu6", "silu", "swish", "gelu", "softplus", "log_sigmoid", "leaky_relu", "hard_tanh", "hard_sigmoid", "hard_silu",
        "hard_swish", "celu",
        "elu", "selu", "logsumexp", "standardize", "soft_sign", "sigmoid", "softmax", "log_softmax", "mish", "tanh")),
    "gelu(M, approximate=False)", "gelu(M, True)", "leaky_relu(M, 0.3)", "celu(M, 0.6)", "elu(M, "
    "alpha=0.6)", "glu(T)", "glu(C, axis=1)",
    "standardize(M, axis=0, epsilon=0.01)", "softmax(M, axis=0)", "log_softmax(T, axis=1)", "logsumexp(M, axis=1, keepdims=True)",
    "one_hot(K, 3)*V", "softplus(30*V)",
]  # fmt: skip
_OF_LAX = [
    "clamp(-0.5, M, 1.0)", "select(jax.lax.is_finite(M), M, N)",
    "max(M, N)", "min(M, N)", "select(B, M, N)", "rsqrt(P)", "dot(V, W)", "dot(A, S)", "stop_gradient(M)*M",
    "exp(M)", "logistic(M)",
    "erf_inv(M/4)", "integer_pow(M, 3)", "reduce_sum(M, axes=(1,))", "reduce_max(M, (0,))", "reduce_min(M, (1,))",
    "reduce_prod(M, (1,))", "cumsum(M)", "cumsum(M, axis=1)", "cumprod(M, axis=1)", "cumlogsumexp(M, axis=1)", "concatenate([M, N], 0)",
    "concatenate([M, N], dimension=1)",
    "reshape(M, (3, 2))", "transpose(M, (1, 0))", "expand_dims(V, (0,))", "sort(M)", "rev(M, (1,))", "bessel_i0e(M)", "igamma(Q, R)",
    "igammac(Q, R)",
    "betainc(1.5, 2.5, P)", "atan2(M, N)", "lgamma(P)", "digamma(P)", "square(M)", "pow(P, M)", "sub(M, N)", "mul(M, N)", "div(M, N)",
    "abs(M)", "neg(M)", "log1p(P)",
    "expm1(M)", "cbrt(M)", "rem(M, 0.4)", "top_k(M, 2)[0]",
]  # fmt: skip
_OF_SPECIAL = [
    "expit(M)", "logit(P)", "gammaln(P)", "digamma(P)", "erf(M)", "erfc(M)", "erfinv(M/4)", "xlogy(P, P)", "xlog1py(P, P)", "entr(P)",
    "rel_entr(P, Q)",
    "kl_div(P, Q)", "ndtr(M)", "ndtri(P)", "log_ndtr(M)", "logsumexp(M)", "logsumexp(M, axis=1, "
    "b=P)", "betaln(P, Q)",
    "betainc(1.5, 2.5, P)", "gammainc(Q, R)",
    "gammaincc(Q, R)", "i0(M)", "i0e(M)", "i1(M)", "polygamma(1, P)", "zeta(Q + 2, R)", "boxcox(P, V)",
    "softmax(M, axis=1)", "poch(Q, R)",
    "multigammaln(Q + 3, 2)", "factorial(Q)", "exp1(Q)", "expi(Q)", "i1e(M)",
]  # fmt: skip
JAX = [
    *(f"{_J}{text}" for text in _OF_STATS), *(f"jax.nn.{text}" for text in _OF_NN), *(f"jax.lax.{text}" for text in _OF_LAX),
    *(f"jax.scipy.special.{text}" for text in _OF_SPECIAL),
    "jax.scipy.linalg.cho_solve((jnp.tril(S), True), V)", "jax.scipy.linalg.cho_solve(jax.scipy.linalg.cho_factor(S + S.T), V)",
    "jax.scipy.linalg.solve(A, V)", "jax.scipy.linalg.solve_triangular(S, V, lower=True)", "jax.scipy.linalg.det(A)",
    "jax.scipy.linalg.inv(A)",
    "jax.scipy.linalg.expm(A)", "jax.scipy.linalg.block_diag(A, C)", "jnp.nanmax(D)", "jnp.nanmin(D, axis=0)", "jnp.ediff1d(M)",
    "jnp.nanprod(D, axis=1)",
]  # fmt: skip

TEXTS: dict[str, list[str]] = {"torch": [*DISTRIBUTIONS, *DIVERGENCES, *MODULES], "jax": JAX}
