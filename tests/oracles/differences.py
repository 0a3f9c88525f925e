"""Where gradcli is not what a library's function of the same name is, and why: everything else is
held against it.

Spellings are whole functions; calls are single texts, with the entries (of the flattened result)
that differ, or None for all.
"""

from __future__ import annotations

from collections.abc import Collection

_NATIVE = "PyTorch's undocumented function under F's, whose reduction is a number; taken for F's"
_RANDOM = "drawn at random"
_REMOVED = "PyTorch has removed it: it raises"

SPELLINGS: dict[str, str] = {
    **{
        f"torch.{name}": _NATIVE
        for name in (
            "batch_norm", "binary_cross_entropy_with_logits", "cosine_embedding_loss", "embedding", "hinge_embedding_loss",
            "instance_norm", "kl_div", "margin_ranking_loss", "poisson_nll_loss", "triplet_margin_loss",
        )
    },
    **dict.fromkeys(("torch.rand", "torch.randn", "torch.randint", "torch.randperm"), _RANDOM),
    "torch.lstsq": _REMOVED, "Tensor.lstsq": _REMOVED, "torch.solve": _REMOVED, "Tensor.solve": _REMOVED,
    "torch.cond": "PyTorch's is a branch of a program; taken for torch.linalg.cond",
    "torch.binomial": "PyTorch's draws at random; taken for the coefficient",
    "torch.equal": "PyTorch's is one boolean, whether all entries are equal; taken for torch.eq", "Tensor.equal": "as torch.equal",
    "torch.adaptive_max_pool1d": "PyTorch's gives places too; taken for F.adaptive_max_pool1d",
    "ndarray.view": "x.view is PyTorch's, which is reshape",
    "scipy.special.lambertw": "SciPy's is complex; held against mpmath",
    "scipy.linalg.lu_solve": "SciPy's takes the factors as a pair; taken as torch.linalg.lu_solve",
}  # fmt: skip

_POLES = "0, infinity and NaN where poles of gamma meet"
_ENDS = "the limit at infinity, which is NaN here"
_ENDS_THERE = "the limit at infinity, which is NaN in the library"
_SIGN = "PyTorch's sign of NaN is 0"
_HUGE = "SciPy's sine of 1e100 has no correct digit"
_BACK = "on the negative axis SciPy gives the real part of a complex value"
_RANKS = "what is left of a system of lower rank: nothing in the library, here the sum of squares"

CALLS: dict[str, tuple[str, Collection[int] | None]] = {
    "scipy.special.beta(X, Y)": (_ENDS, (24,)), "scipy.special.betaln(X, Y)": (_ENDS, (24,)),
    "scipy.special.binom(X, Y)": (_POLES + ", and beside them neither has its digits", (12, 15, 16, 17, 19, 24)),
    "scipy.special.comb(X, Y)": ("0 in SciPy where k is larger than n or one is negative; here "
    "continued, as binom", None),
    "scipy.special.comb(7.5, V)": ("the same", (1,)), "scipy.special.comb(P*9, 2)": ("the same", None),
    "scipy.special.perm(P*9, 2)": ("the same", None),
    "scipy.special.factorial(-2)": ("0 in SciPy, a pole of gamma here", None),
    "np.float_power(U, 0.5)": ("the root of -inf, which is NaN", (0,)),
    "torch.heaviside(X, Y)": ("PyTorch's step at NaN is 0", (25,)), "(X).heaviside(Y)": ("PyTorch's step at NaN is 0", (25,)),
    **{f"{call}": (_SIGN, (37,)) for call in ("torch.sign(U)", "(U).sign()", "torch.sgn(U)", "(U).sgn()")},
    **{f"scipy.special.{call}, U)": (_HUGE, (1, 35)) for call in ("jv(0", "jv(1", "jn(0", "yv(0", "yv(1", "yn(0")},
    **{f"scipy.special.{name}(U)": (_HUGE, (1, 35)) for name in ("j0", "j1", "y0", "y1")},
    **{f"{name}(U)": (_ENDS, (35, 36)) for name in (
        "scipy.special.k0", "scipy.special.k1", "torch.special.modified_bessel_k0", "torch.special.modified_bessel_k1")},
    **{f"scipy.special.{call}, U)": (_ENDS, (35, 36)) for call in ("kv(0", "kv(1", "kn(0")},
    "torch.special.spherical_bessel_j0(U)": (_ENDS, (0, 36)),
    **dict.fromkeys(
        ("np.sinc(U)", "scipy.special.sinc(U)", "torch.sinc(U)", "torch.special.sinc(U)", "(U).sinc()"), (_ENDS_THERE, (0, 36))),
    "scipy.special.loggamma(U)": ("SciPy's is complex there", range(18)), "scipy.special.loggamma(M)": ("SciPy's is complex there", (1, 3)),
    **{f"{name}(U)[0]": ("the fraction of infinity is NaN here", (0, 36)) for name in ("np.modf", "math.modf")},
    **{f"scipy.special.{name}(U)[1]": (_BACK, range(19)) for name in ("sici", "shichi")},
    **{f"scipy.special.{name}(M)[1]": (_BACK, (1, 3)) for name in ("sici", "shichi")},
    "np.linalg.lstsq(C, V, rcond=0.7)[1]": (_RANKS, None), "scipy.linalg.lstsq(C, V, cond=0.7)[1]": (_RANKS, None),
    "scipy.linalg.lstsq(C, V)[1]": ("SciPy's sum of squares of one right side has no axis", None),
    "torch.linalg.lstsq(C, V, rcond=0.7)[0]": ("gelsy, PyTorch's default, holds rcond against the "
    "triangle of a QR", None),
    **{f"scipy.linalg.lu_factor({call})[1]": ("SciPy counts the exchanged rows from 0, PyTorch "
    "and gradcli from 1",
        None) for call in "ASH"},
    **{f"scipy.linalg.qr({call}, mode='r')[0]": ("SciPy gives a tuple of one", None) for call in "MC"},
    "(M).flatten('F')": ("an order is refused; PyTorch's method takes axes", None),
}  # fmt: skip

# Gradients of PyTorch's that are not the derivatives, with the entries.
SLOPES: dict[str, tuple[str, Collection[int] | None]] = {
    **{f"{call}": ("PyTorch's derivative of ldexp takes 2**-1 of whole numbers, which is 0", None) for call in (
        "torch.ldexp(V, K - 1)", "(V).ldexp(K - 1)")},
    **{f"{call}": ("near 0 PyTorch's quotient cancels", (16, 20)) for call in ("torch.sinc(U)", "torch.special.sinc(U)", "(U).sinc()")},
}  # fmt: skip

# Errors of the library's own that are larger than a few units in the last place: relative, and of
# values near zero absolute.
_TAIL = "the tail is lost beside 1 in the library"
ROUGH: dict[str, tuple[str, float, float]] = {
    **{f"torch.special.bessel_{name}": ("PyTorch's (Cephes') loses digits beyond 5", 1e-6, 1e-9) for name in ("j0", "j1", "y0", "y1")},
    "F.gelu": (_TAIL, 1e-12, 1e-15), "torch.special.ndtr": (_TAIL, 1e-12, 1e-16),
    **{f"{place}.sinc": ("pi*x is rounded in the library, so that whole numbers are no zeros", 1e-12, 1e-16) for place in (
        "np", "scipy.special", "torch", "torch.special", "Tensor")},
    **{f"{place}.polygamma": ("PyTorch's series is short", 1e-8, 0.0) for place in ("torch", "torch.special", "Tensor")},
}  # fmt: skip
ROUGH_SLOPES: dict[str, tuple[str, float]] = {
    **{f"{place}.celu": ("PyTorch computes the derivative with alpha in float32", 1e-6) for place in ("torch", "F")},
    "F.hardsigmoid": ("PyTorch has 1/6 in float32", 1e-6),
    **{f"{place}.{name}": ("PyTorch's trigamma is a short series", 1e-8) for place in ("torch", "torch.special", "Tensor")
       for name in ("digamma", "psi", "polygamma")},
    "torch.special.erfcx": ("PyTorch's derivative cancels far out", 1e-9),
    "torch.special.log_ndtr": ("PyTorch's derivative divides densities", 1e-9),
}  # fmt: skip

# Methods that arrays and tensors both have mean NumPy's, unless PyTorch's keywords are written;
# these mean PyTorch's.
TENSORS_FIRST = frozenset({"repeat", "squeeze", "view", "flatten"})
# What a name without a prefix means, where that is not the first library's function that has it.
BARE = {
    "kl_div": "F",
    "max": "Python's, of several values",
    "min": "Python's, of several values",
    "lu_solve": "torch",
}
