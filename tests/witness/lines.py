"""Programs of a line each that a mistake in the machinery would change, at operands of other shapes
than their neighbours'.
"""

LINES = [
    "x[0]*1 + x[1]*10 + x[2]*100", "x[-1] - x[-2]", "y[1, 2] + y[0, 1]", "y[:, 1:]", "y[::-1, "
    "::-2]", "w[[0, 0, 2], [2, 1, 1]]",
    "y[y > 0.5]", "v[..., None, 1]", "v[None, 0]", "y[1][2]", "w[1:, :-1] - w[:-1, 1:]", "w[:, 0] "
    "- w[0]", "x[x.shape[0] - 1]",
    "sum(y, axis=-1)", "sum(y, axis=0)", "sum(y, -1)", "y.sum(1)", "y.mean(axis=-2, "
    "keepdims=True) - y", "sum(v, axis=(0, -1))",
    "max(y, axis=-1)", "cumsum(w, axis=-1)", "cumsum(w, axis=0)", "prod(w, axis=1)", "std(w, "
    "axis=-1, ddof=1)", "sort(w, axis=0)",
    "sort(w, axis=-1)", "stack([x, 2*x], axis=-1)", "stack([x, 2*x], axis=0)", "concatenate([y, "
    "w], axis=0)", "flip(y, axis=-1)",
    "roll(w, 1, axis=-1)", "diff(w, axis=0)", "norm(w, axis=-1)", "logsumexp(y, axis=-1)", "expand_dims(y, -1)", "swapaxes(v, 0, -1)",
    "moveaxis(v, 0, -1)", "w.T", "w @ x", "x @ w", "w.T @ w", "y @ w", "y.T", "transpose(v, (2, "
    "0, 1))", "dot(w, x) - dot(x, w)",
    "outer(x, y[0]) - outer(y[0], x)", "solve(w, x)", "inv(w) @ w.T", "einsum('ij,kj->ki', y, w)", "einsum('...i,i->...', x[:1], y[0])",
    "take(z, 0, axis=-1)*x", "trace(w @ w.T)", "y.reshape(3, 2)", "y.flatten()", "y.T.reshape(-1)", "x - y", "y - x", "x/y", "y/x",
    "z**2 - 2**z", "abs(x)**z - abs(z)**x", "x % 0.7 - 0.7 % x", "x // 0.3", "arctan2(x, z) - "
    "arctan2(z, x)", "hypot(x, 2)/hypot(3, x)",
    "maximum(x, z) - minimum(z, x)", "max(x, 0.5) + min(x, 0.25)", "where(x > 0, 2*x, 3*x)", "x "
    "if x > z else z*x", "fmod(x, 0.6)",
    "copysign(z, x)", "clip(x, -0.5, 1)", "-x**2", "2**-x", "x*-2", "(-x)**2", "pi*x", "e*x", "np.pi*x + np.e", "math.pi/x",
    "e**x - pi**z", "1e-3*x + 1e3", "1_000*x", ".5*x", "x*2.", "minimum(x, inf)", "2*x*3*y*z", "x "
    "- z - y", "x/z/y", "2**3**x[0]*x",
    "--x", "(x > 0)*y", "(x > 0 and x < 1)*2*x", "(not x > 0)*x", "[x[0], 2, z]", "[[1, 2], [3, "
    "4]]*z", "linspace(0, 1, 3)*x",
    "arange(3)*x", "eye(3)*x", "full((3,), 2.5)*x", "a = x*2\nb = a + x\na*b", "a = sin(x); a += "
    "x; a -= 2*y; a", "a = x\na @= w\na",
    "f = x; f **= 2; f", "sin(x)*sin(x) + cos(x)*cos(y)", "tanh(w @ w + x)", "sum(x*y)", "sum(w @ "
    "x)**2",
    "np.sum(y, axis=1, keepdims=True)*y", "where(x <= x, x, 2*x)", "where(x >= x, x, 2*x)", "where(x < x, x, 2*x)",
    "where(x > x, x, 2*x)", "x if x == x else y", "x if x != x else y", "(x + 2*y)*(2*x + y)", "x "
    "- 2*(y - x) + 2.5*(y - z)",
    "sum(y, axis=0)*sum(y.T, axis=-1)", "y[0]*y[1] - y[-1, ::-1]", "3.14*x + pi*y", "exp(x - "
    "y)*exp(y - x)*x", "(x - y)*(y - x)",
    "x/y + y/x", "(w - w.T)*(w.T - 2*w)", "(x*2 - z)*(z - x*2)**3", "y.shape[0]*x + y.shape[-1]", "1.2345*x + 1.2341*y - 1.2349",
    "2*sum(x, keepdims=True)*sum(x)",
]  # fmt: skip

# What is right in every bit, or wrong.
BITS = [
    "copysign(x, -z)",
    "floor(x)",
    "np.rint(y)",
    "sign(x)",
    "np.trunc(y)",
    "ceil(w)",
    "-x",
    "x*2",
]
