"""Calls of every function with every keyword of the libraries' own signatures, as text that they
and gradcli read alike.

Positional arguments are found by trial: the first that a function takes. A keyword is tried with
values that are likely to mean something for its name, none of them the default.
"""

from __future__ import annotations

from typing import Any

import numpy as np

V = np.array([0.7, 0.2, 0.45])
W = np.array([0.3, 0.9, 0.6])
M = np.array([[0.5, 0.25, 0.75], [0.875, 0.125, 0.375]])
N = np.array([[0.4, 0.8, 0.1], [0.3, 0.6, 0.9]])
S = np.array([[2.0, 0.5, 0.25], [0.5, 3.0, 0.125], [0.25, 0.125, 4.0]])
B = np.array([[[0.1, 0.6, 0.3, 0.9], [0.8, 0.2, 0.7, 0.4], [0.5, 0.35, 0.15, 0.65]]])
I4 = np.arange(16.0).reshape(1, 1, 4, 4) / 16 + np.array([0.01, 0.05, 0.02, 0.03])
K = np.array([0, 2, 1])
VALUES = {"V": V, "W": W, "M": M, "N": N, "S": S, "B": B, "I": I4, "K": K}

# Arguments by position, the first that fit are taken; those of the functions that need other ones.
TEMPLATES = (
    "M", "S", "V", "M, N", "V, W", "S, S", "S, V", "V, K", "M, 1", "V, 0.5", "M, 0, 1", "[V, W]", "[M, N]", "B", "I", "V, W, 0.5",
    "M, N, M > 0.4", "V, K, W", "V, 0, K", "V, 0, K, W", "M, (3,)", "M, 2", "B, 2", "I, 2", "V, "
    "W, V", "S, S, S", "V, S, V", "V, V, V",
    "0.5, 2.5", "2, V", "V > 0.3, V, W", "V > 0.3, V", "[V > 0.3, V > 0.6], [V, W]", "(2, 3)", "'ij,ij->i', M, N",
    "B, [[[0.5, 0.25], [1, 2], [3, 4]]]", "I, [[[[0.5, 0.25], [1, 2]]]]", "M, [0, 2]", "M, K[:2]", "(2, 3), 0.5", "M, None, None",
    "V, V > 0.3, 2", "M, (1, 1)", "V, 1, 0.5", "V, W, [1, -1, 1]", "V, W, V, W", "M, N, [1, -1]", "M, [1, 2], N, 0", "V, [0, 2], 0.5",
    "0, 1", "3",
)  # fmt: skip
SPECIAL = {
    "arange": ("0.5, 2.5", "3"), "linspace": ("0.5, 2.5, 4",), "logspace": ("0.5, 2.5, 4",), "geomspace": ("0.5, 2.5, 4",),
    "full": ("(2, 3), 0.5",), "eye": ("3",), "zeros": ("(2, 3)",), "ones": ("(2, 3)",), "pad": ("V, 2", "V, (1, 2)"),
    "clip": ("M, 0.3, 0.6",), "clamp": ("M, 0.3, 0.6",), "reshape": ("M, (3, 2)",), "cosine_embedding_loss": ("M, N, K[:2] - 1",),
    "average": ("M",), "insert": ("V, 1, 0.5",), "append": ("M, N",), "quantile": ("M, 0.3",), "percentile": ("M, 30",),
    "nanquantile": ("M, 0.3",), "nanpercentile": ("M, 30",), "interp": ("V, [0.1, 0.5, 0.9], W",), "gradient": ("M",),
    "repeat": ("M, 2",), "cov": ("M",), "trace": ("S",), "one_hot": ("K",), "cross_entropy": ("S, "
    "K",), "nll_loss": ("S, K",),
    "multi_margin_loss": ("S, K",), "embedding": ("K, S",), "logsumexp": ("M, 0", "M"), "softmax": ("M, 1", "M"),
    "log_softmax": ("M, 1", "M"), "softmin": ("M, 1",), "solve": ("S, V", "S, S"), "var": ("M",), "std": ("M",), "sum": ("M",),
    "mean": ("M",), "prod": ("M",), "max": ("M",), "min": ("M",), "norm": ("M",), "vector_norm": ("M",), "matrix_norm": ("S",),
    "batch_norm": ("M, V, W",), "diff": ("M",), "trapezoid": ("M",), "trapz": ("M",), "argsort": ("M", "V"), "sort": ("M",),
    "cholesky": ("S",), "scaled_dot_product_attention": ("M, N, N",), "gaussian_nll_loss": ("V, "
    "W, V",), "poisson_nll_loss": ("V, W",),
    "layer_norm": ("M, (3,)",), "rms_norm": ("M, (3,)",), "normalize": ("M",), "interpolate": ("I, 2",),
    "tensordot": ("M, [[1, 2], [3, 4], [5, 6]], 1",), "cumsum": ("M, 1", "M"), "cumprod": ("M, 1", "M"), "logcumsumexp": ("M, 1",),
    "dropout": ("M, 0.5, False",), "rrelu": ("M",), "binary_cross_entropy": ("V, W",), "binary_cross_entropy_with_logits": ("V, W",),
    "triplet_margin_loss": ("V, W, V*V",), "roll": ("M, 1",), "squeeze": ("B",), "eigh": ("S",), "svd": ("M",), "inv": ("S",),
    "det": ("S",), "pinv": ("M",), "qr": ("S",), "eigvalsh": ("S",), "lu": ("S",), "expm": ("S",), "solve_triangular": ("S, V", "S, S"),
    "nan_to_num": ("M/[[0, 1, 1], [1, -0, 1]]", "-M/(M - M)", "M"), "zeta": ("V + 1.5, W",), "lstsq": ("S, V", "S, S"),
    "unflatten": ("M, 1, (3, 1)",), "take_along_axis": ("M, [[1], [0]]",), "einsum": ("'ij,ij->i', M, N",),
    "select": ("[V > 0.3, V > 0.6], [V, W]", "M, 0, 1"),
}  # fmt: skip

_ARRAYS = ("V", "M", "S", "0.25")
# Values of keywords, by their names.
CANDIDATES = {
    "axis": ("0", "1", "-1", "(0, 1)"), "dim": ("0", "1", "-1", "(0, 1)"), "axes": ("(1, 0)", "1"), "dims": ("(0, 1)", "1"),
    "keepdims": ("True",), "keepdim": ("True",), "dtype": ("{lib}.int64", "{lib}.float32", "{lib}.float64", "bool"),
    "out": ("V", "M", "S"), "where": ("M > 0.4", "V > 0.4"), "initial": ("7.0", "-7.0", "0.6"), "mean": ("[[0.25], [0.5]]", "0.25"),
    "correction": ("0.5", "0"), "ddof": ("1", "0.5"), "b": ("[[0.5, 2, 1.5]]", "S", "V"),
    "order": ("'F'", "'A'", "'K'"), "copy": ("False", "True"), "casting": ("'unsafe'", "'no'"), "subok": ("False", "True"),
    "device": ("'cpu'", "'cuda'"), "reduction": ("'sum'", "'none'"),
    "mode": ("'wrap'", "'reflect'", "'reduced'", "'clip'", "'same'", "'raise'"), "kind": ("'stable'", "'heapsort'"),
    "method": ("'lower'", "'hazen'", "'nearest'", "'gesdd'"), "interpolation": ("'lower'", "'higher'", "'midpoint'"),
    "indexing": ("'xy'", "'ij'"), "approximate": ("'tanh'",), "rounding_mode": ("'floor'", "'trunc'"), "ord": ("1", "3", "inf"),
    "p": ("1", "3", "0.25"), "weights": ("[0.25, 0.75, 1.5]", "M", "[0.25, 0.75]"), "weight": ("V", "M", "[0.5, 2, 1.5]"),
    "pos_weight": ("[0.5, 2, 1.5]",), "returned": ("True",), "bias": ("True", "V", "M"), "prepend": ("0.5",), "append": ("0.5",),
    "dx": ("0.25",), "x": _ARRAYS, "n": ("2", "5"), "s": ("0.5",), "a": _ARRAYS, "lower": ("True", "False"), "upper": ("True",),
    "trans": ("1",), "assume_a": ("'pos'", "'sym'"), "nan": ("3.0",), "posinf": ("3.0",), "neginf": ("-3.0",), "a_min": ("0.4",),
    "a_max": ("0.5",), "min": ("0.4",), "max": ("0.5",), "repetition": ("True",), "exact": ("True",), "inplace": ("True",),
    "memory_format": ("None",), "layout": ("None",), "requires_grad": ("True",), "pin_memory": ("True", "False"), "generator": ("None",),
    "driver": ("'gesvd'", "'gelsd'"), "lapack_driver": ("'gesvd'", "'gelsd'"), "left": ("False", "0.25"), "right": ("0.75", "True"),
    "period": ("0.5",), "k": ("1",), "full_matrices": ("False",), "some": ("False",), "optimize": ("True",), "training": ("True",),
    "alpha": ("0.25", "2"), "beta": ("0.25", "2"), "eps": ("0.25",), "margin": ("0.25",), "threshold": ("0.25",), "delta": ("0.25",),
    "scale": ("0.25",), "label_smoothing": ("0.25",), "ignore_index": ("1",), "log_target": ("True",), "log_input": ("False",),
    "full": ("True",), "num": ("7",), "steps": ("7",), "endpoint": ("False",), "retstep": ("True",), "base": ("2.0",),
    "num_classes": ("5",), "size": ("(3, 3)", "5"), "scale_factor": ("2.0",), "align_corners": ("True",), "is_causal": ("True",),
    "attn_mask": ("[[0.5, 0.25], [1, 2]]",), "enable_gqa": ("True",), "dropout_p": ("0.5",), "swap": ("True",), "descending": ("True",),
    "stable": ("True",), "largest": ("False",), "sorted": ("False",), "reverse": ("True",), "unbiased": ("False",),
    "hermitian": ("True",), "rtol": ("0.3",), "atol": ("0.3",), "rcond": ("0.3",), "cond": ("0.6",), "q": ("0.5",), "rowvar": ("False",),
    "y": ("[[0.3, 0.1, 0.9]]", *_ARRAYS), "fweights": ("[1, 2, 3]",), "aweights": ("[0.5, 2, 1]",), "edge_order": ("2",),
    "offset": ("1",), "axis1": ("1",), "axis2": ("0",), "dim1": ("1",), "dim2": ("0",), "diagonal": ("1",), "decimals": ("1",),
    "increasing": ("True",), "N": ("2", "5"), "M": ("5",), "shift": ("1",), "stride": ("2",), "padding": ("1",), "dilation": ("2",),
    "ceil_mode": ("True",), "count_include_pad": ("False",), "divisor_override": ("3",), "groups": ("3",), "return_indices": ("True",),
    "output_padding": ("1",), "value": ("0.25",), "values": ("0.25",), "fill_value": ("0.25",), "constant_values": ("0.25",),
    "end_values": ("0.25",), "stat_length": ("1",), "reflect_type": ("'odd'",), "reduce": ("'sum'", "True", "False"),
    "size_average": ("False",), "include_self": ("False",), "accumulate": ("True",), "sparse_grad": ("True",), "sparse": ("True",),
    "max_norm": ("0.5",), "norm_type": ("1.0",), "scale_grad_by_freq": ("True",), "padding_idx": ("1",),
    "compute_mode": ("'donot_use_mm_for_euclid_dist'", "'use_mm_for_euclid_dist'"), "transpose": ("True",), "transposed": ("True",),
    "unitriangular": ("True",), "unit_diagonal": ("True",), "compute_uv": ("False",), "eigvals_only": ("True",), "UPLO": ("'U'",),
    "type": ("2",), "subset_by_index": ("[0, 1]",), "subset_by_value": ("[0.0, 2.5]",), "turbo": ("True",), "driver_": ("None",),
    "check_finite": ("False",), "overwrite_a": ("True",), "overwrite_b": ("True",), "overwrite_input": ("True",), "pivoting": ("True",),
    "return_rank": ("True",), "like": ("V",), "include_initial": ("True",), "count": ("True",), "right_": ("True",), "min_val": ("0.3",),
    "max_val": ("0.6",), "negative_slope": ("0.3",), "lambd": ("0.3",), "momentum": ("0.5",), "use_input_stats": ("False",),
    "running_mean": ("V",), "running_var": ("V",), "output_size": ("2", "3", "6"), "start": ("1",), "stop": ("2",), "step": ("2", "0.5"),
    "_stacklevel": ("5",), "implicit": ("True",), "promote_integers": ("False",), "is_coalesced": ("True",), "dim0": ("1",),
    "recompute_scale_factor": ("True",), "antialias": ("True",), "distance_function": ("V",), "blank": ("1",), "zero_infinity": ("True",),
    "r": ("2",), "with_replacement": ("True",), "indices": ("[0, 2]",), "sections": ("3",), "source": _ARRAYS, "other": _ARRAYS,
    "input": _ARRAYS, "equal_nan": ("True",), "axisa": ("0",), "axisb": ("0",), "axisc": ("0",), "repeats": ("3",), "reps": ("3",),
    "disp": ("False",),
}  # fmt: skip
GENERIC = ("True", "False", "2", "0", "0.25", "'F'", "V")


def candidates(keyword: str, library: str) -> list[str]:
    return [text.replace("{lib}", library) for text in CANDIDATES.get(keyword, GENERIC)]


def templates(name: str) -> tuple[str, ...]:
    return (*SPECIAL.get(name, ()), *TEMPLATES)


def plain(result: Any) -> Any:
    """The numbers of a result, and its structure: nested lists, or None of what is no array of
    numbers.
    """
    if isinstance(result, (tuple, list)) and not isinstance(result, np.ndarray):
        return {"parts": [plain(part) for part in result]}
    detach = getattr(result, "detach", None)
    array = np.asarray(
        detach().resolve_conj().numpy()
        if detach is not None and hasattr(result, "grad_fn")
        else result
    )
    if array.dtype.kind not in "fiub":
        return None
    return np.round(array.astype(float), 12).tolist()


def call_of(prefix: str, name: str, arguments: str, keyword: str = "", value: str = "") -> str:
    """The text of a call; of a method, the first argument comes before the dot."""
    more = f"{keyword}={value}" if keyword else ""
    if prefix:
        return f"{prefix}.{name}({', '.join(part for part in (arguments, more) if part)})"
    depth = 0
    for at, letter in enumerate(arguments):  # the first comma outside of brackets
        depth += (letter in "([") - (letter in ")]")
        if letter == "," and not depth:
            return f"({arguments[:at]}).{name}({', '.join(part for part in (arguments[at + 1 :].strip(), more) if part)})"
    return f"({arguments}).{name}({more})"


def value_of(expression: str) -> Any:
    """The numbers that gradcli makes of an expression. Raises GradcliError."""
    from gradcli.graph.interpret import forward
    from gradcli.language.run import Program, statements
    from gradcli.language.scope import Scope

    scope = Scope()
    for name, array in VALUES.items():
        scope.bind_value(name, array)
    (statement,) = statements([expression])
    if isinstance(statement, Exception):
        raise statement
    result = Program(scope).execute(statement)
    assert result is not None
    with np.errstate(all="ignore"):
        return plain(forward([result.value], scope.values)[result.value])


def run(text: str) -> Any:
    """What gradcli makes of a call: its numbers, with the parts of several results.

    Raises GradcliError.
    """
    from gradcli.errors import GradcliError

    try:
        return value_of(text)
    except GradcliError as error:
        if "tuple" not in error.message and "several" not in error.message:
            raise
    parts: list[Any] = []
    while True:
        try:
            parts.append(value_of(f"{text}[{len(parts)}]"))
        except GradcliError:
            if not parts:
                raise
            return {"parts": parts}
