"""Calls of functions that make arrays."""

_SHAPED = ("(2, 3)", "3", "2, 3", "(2, 1), dtype=float", "()")

CALLS = {
    "zeros ones": _SHAPED,
    "full": ("(2, 3), 0.5", "2, V[:1]", "(2,), fill_value=-1.5", "(2, 3), V"),
    "zeros_like ones_like": ("M", "V", "0.5"),
    "full_like": ("M, 0.5", "V, fill_value=-2", "M, V"),
    "eye": ("3", "2, 3", "3, 4, 1", "3, k=-1", "N=2, M=4", "2, m=3"),
    "identity": ("3", "n=2"),
    "arange": ("4", "0.5, 2.5", "1, 10, 3", "5, 1, -1.5", "0, 1, 0.25", "1, stop=4", "0, end=3"),
    "linspace": ("0.5, 2.5, 4", "-1, 1, num=7", "-1, 1, steps=7", "0, 1, 5, endpoint=False", "0, "
    "2, 5, retstep=True", "V, W, 3",
        "V, W, num=4, axis=1",
        "2, -2, 5", "0, 1, 1", "0, 1"),
    "logspace": ("0.5, 2.5, 4", "-1, 1, num=5", "-1, 1, steps=5", "0, 3, 4, base=2.0", "0, 3, 4, 2", "0, 1, 5, endpoint=False",
        "V, W, 3, axis=1"),
    "geomspace": ("0.5, 2.5, 4", "1, 1000, num=4", "2, 32, 5, endpoint=False", "-1, -8, 4", "Q, "
    "R, 3, axis=1", "1, 10"),
    "array asarray as_tensor tensor": ("M", "0.5", "[0.5, 2]", "[[1, 2], [3, 4.5]]", "K", "D"),
    "vander": ("V", "V, 4", "V, N=2", "V, increasing=True", "V, 3, True", "M", "M, N=4"),
    "one_hot": ("K, 3", "J, 3", "L, num_classes=4"),
    "rand randn": (),
    "meshgrid": ("V, W[:2]", "V, W[:2], indexing='ij'", "V, W[:2], indexing='xy'", "V, W, Q[:2]", "V, W[:2], sparse=True"),
}  # fmt: skip
