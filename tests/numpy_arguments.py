"""Arguments of NumPy's functions, and values of their keywords: for every function that NumPy hands
to other libraries' arrays.
"""

from __future__ import annotations

import numpy as np

ARRAYS = {
    "x": np.array([[1.4, -2.2, 3.1], [4.3, 0.6, -5.7]]),
    "y": np.array([[0.7, 1.1, -0.4], [2.0, -1.3, 0.9]]),
    "p": np.array([[0.2, 0.35, 0.52], [0.6, 0.15, 0.8]]),
    "q": np.array([[0.3, 0.25, 0.4], [0.7, 0.9, 0.45]]),
    "s": np.array([[4.0, 1.0], [1.0, 3.0]]),
    "v": np.array([0.5, 2.0, 3.5]),
    "w": np.array([1.0, 2.0, 3.0]),
    "c": np.array(2.5),
}
OTHERS = {
    "m": ARRAYS["x"] > 0,
    "i": np.array([[0, 2, 1], [1, 0, 2]]),
    "k": np.array([0, 1, 0]),
    "np": np,
    "inf": np.inf,
}

# Where the arguments are not one array: texts, several of one function separated by semicolons.
ARGUMENTS = {
    **dict.fromkeys(("percentile", "nanpercentile"), "x, 30.0"), **dict.fromkeys(("quantile", "nanquantile"), "x, 0.3"),
    "clip": "x, -1.0, 2.0; x, y, y + 1; x, [-c, 0.1, -c], [4.0, c, 5.0]", "reshape": "x, (3, 2)", "repeat": "x, 2", "tile": "x, 2",
    "take": "x, [0, 2]", "take_along_axis": "x, i, 1", "compress": "[True, False], x", "choose": "k, [v, 2 * v]; k, [[c, c, c], w]",
    "concatenate": "[x, y]; [v, [c]]; [v, [c, [c, c][1]]]", "concat": "[x, y]", "stack": "[x, y]; "
    "[v, [c, c, 1.0]]",
    "vstack": "[x, y]; [x, [c, 0.0, c]]", "hstack": "[x, y]; [v, [c]]", "dstack": "[x, y]", "column_stack": "[v, w]",
    "block": "[[x, y]]; [v, c]",
    "append": "x, y; v, [c, c]; v, c", "insert": "v, 1, 5.0; v, 1, c; v, [0, 1], [c, c]", "delete": "v, 1", "split": "v, 3",
    "array_split": "v, 2",
    "hsplit": "x, 3", "vsplit": "x, 2", "dsplit": "x.reshape((1, 2, 3)), 3", "where": "m, x, y; "
    "x; m, x, [c, c, c]; m, c, 0.0",
    "select": "[m], [x]; [m, x < -1], [x, y], c",
    "piecewise": "v, [v < 1, v >= 1], [lambda t: 2 * t, lambda t: t * t]; v, [v < 1], [c, 0.0]",
    "searchsorted": "v, 1.0", "digitize": "v, [1.0, 3.0]", "bincount": "k; k, v", "interp": "1.0, "
    "v, w; c, v, w; [0.7, c], v, w",
    "dot": "x, y.T; x, c; x, [c, 1.0, c]; x, 2.0", "vdot": "v, w; v, [c, c, 1.0]", "inner": "v, "
    "w; v, [c, c, c]",
    "outer": "v, w; v, [c, 1.0]",
    "matmul": "x, y.T; x, [c, 1.0, c]", "tensordot": "x, y; v, [c, c, 1.0], 1", "kron": "v, w; v, "
    "[c, c]", "cross": "v, w; v, [c, 1.0, c]",
    "einsum": "'ij,kj->ik', x, y; 'ij,j', x, [c, c, 1.0]", "convolve": "v, w; v, [c, 1.0]", "correlate": "v, w; v, [c, 1.0]",
    "pad": "x, 1; v, 1, 'constant', constant_values=c", "broadcast_to": "v, (2, 3)", "broadcast_arrays": "v, x", "moveaxis": "x, 0, 1",
    "swapaxes": "x, 0, 1", "meshgrid": "v, w", "diag": "v", "diagflat": "v", "vander": "v",
    "polyval": "v, 2.0; v, c; [c, 1.0], v",
    "linspace": "c, 4.0, 5; 1.0, c, 4; v, w, 3", "logspace": "c, 1.0, 5; v, w, 3", "geomspace": "c, 4.0, 5; p, q, 3",
    "apply_along_axis": "np.sum, 0, x; np.cumsum, 1, x; lambda r: r[0] * r, 0, x", "apply_over_axes": "np.sum, x, [0]",
    "full_like": "x, 3.0", "partition": "x, 1", "argpartition": "x, 1", "lexsort": "(v, w)", "extract": "m, x", "allclose": "x, y",
    "isclose": "x, y", "array_equal": "x, y", "array_equiv": "x, y", "isin": "x, v", "astype": "x, np.float32",
    "trim_zeros": "v", "roll": "x, 1; x, 1, axis=()", "transpose": "x; x, None; x, (1, 0)", "expand_dims": "x, 0", "vecdot": "x, y",
    "matvec": "x, v", "vecmat": "v, x.T",
    "trapezoid": "x; x, v",
    "average": "x; v, weights=w; v, weights=[c, 1.0, 1.0]", "diff": "x; v, prepend=c; v, "
    "append=[c, c]",
    "ediff1d": "x; v, to_begin=c, to_end=[c, 1.0]",
    "gradient": "x; v, c; v, w", "cov": "x; v, w", "corrcoef": "x; v, w", "unstack": "x", "atleast_1d": "c; x, v",
    "logaddexp": "p, q; p, [c, c, c]",
    "linalg.solve": "s, s[0]; s, [c, 1.0]", "linalg.lstsq": "s, s[0]", "linalg.matrix_power": "s, "
    "3",
    "linalg.multi_dot": "[s, s]; [s, [[c, 1.0], [1.0, c]]]",
    "linalg.tensorsolve": "s, s[0]", "linalg.cross": "v, w", "linalg.outer": "v, w", "linalg.matmul": "s, s", "linalg.vecdot": "v, w",
    "linalg.tensordot": "x, y", "linalg.norm": "x; [c, 2.0, c]", "linalg.vector_norm": "x", "linalg.matrix_norm": "x",
    "linalg.matrix_transpose": "x",
    "multiply": "p, q; p, [c, c, c]; [c, c, c], p", "add": "p, q; p, [c, 1.0, c]", "subtract": "p, q; [c, 1.0, c], p",
    "maximum": "p, q; p, [c, c, 0.0]",
    "power": "p, q; p, [c, c, 1.0]", "true_divide": "p, q; p, [c, c, 1.0]",
    **{f"linalg.{name}": "s" for name in ("det", "inv", "slogdet", "cond", "svd", "svdvals", "qr", "trace", "diagonal")},
    **{f"linalg.{name}": "(s + s.T) / 2" for name in ("cholesky", "eigh", "eigvalsh", "pinv", "matrix_rank")},
}  # fmt: skip

# Values of keywords, as texts, each other than the default of most functions.
KEYWORDS = {
    "axis": ("0", "1", "None", "-1", "(0, 1)"), "keepdims": ("True",), "where": ("m", "True", "False"), "initial": ("2.0",),
    "dtype": ("np.float32", "np.float64", "int"), "out": ("empty",), "ddof": ("1",), "correction": ("1",),
    "mean": ("0.5", "np.array([[1.0], [2.0]])"),
    "order": ("'C'", "'F'", "'K'", "(1, 0)"), "casting": ("'same_kind'", "'unsafe'", "'no'"), "subok": ("True", "False"),
    "mode": ("'edge'", "'full'", "'same'", "'valid'", "'wrap'", "'clip'", "'reduced'", "'reflect'", "'r'"),
    "kind": ("'stable'", "'introselect'"),
    "stable": ("True",), "method": ("'lower'", "'higher'"), "interpolation": ("'lower'",), "overwrite_input": ("True",),
    "weights": ("w", "p"), "returned": ("True",), "constant_values": ("2.0",), "k": ("1",), "offset": ("1",), "axis1": ("1",),
    "axis2": ("0",),
    "decimals": ("1",), "n": ("2",), "prepend": ("1.0",), "append": ("2.0",), "dx": ("0.5",), "period": ("6.0",), "discont": ("1.0",),
    "left": ("1.0",), "right": ("2.0",), "copy": ("False", "True"), "nan": ("1.0",), "posinf": ("2.0",), "neginf": ("3.0",),
    "rowvar": ("False",),
    "bias": ("True",), "fweights": ("np.array([1, 2, 3])",), "aweights": ("np.array([1., 2, 3])",), "edge_order": ("2",),
    "hermitian": ("True",),
    "rcond": ("1e-3",), "rtol": ("1e-3",), "UPLO": ("'U'",), "upper": ("True",), "compute_uv": ("False",), "full_matrices": ("False",),
    "ord": ("1", "2", "inf", "'fro'"), "equal_nan": ("True",), "atol": ("1e-3",), "return_index": ("True",), "return_inverse": ("True",),
    "return_counts": ("True",), "increasing": ("True",), "N": ("4",), "full": ("True",), "minlength": ("8",), "bins": ("3",),
    "range": ("(0.0, 5.0)",), "density": ("True",), "side": ("'right'",), "axes": ("(1, 0)", "1"), "shift": ("1",), "to_begin": ("9.0",),
    "to_end": ("8.0",), "optimize": ("True", "False"), "sparse": ("True",), "indexing": ("'ij'",), "signature": ("'dd->d'",),
    "shape": ("(3, 2)",),
    "min": ("0.0",), "max": ("1.0",), "a_min": ("0.0",), "a_max": ("1.0",), "device": ("'cpu'",), "num": ("3",), "endpoint": ("False",),
    "retstep": ("True",), "base": ("2.0",), "deg": ("2",), "size": ("2",), "trim": ("'f'",), "invert": ("True",), "default": ("1.0",),
}  # fmt: skip
