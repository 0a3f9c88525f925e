"""Calls of products, decompositions, solutions and functions of matrices."""

_SUMMED = ("", ", beta=0.5", ", alpha=2", ", beta=-1.5, alpha=0.25")
_LU = "torch.linalg.lu_factor(A)[0], torch.linalg.lu_factor(A)[1]"

CALLS = {
    "matmul": ("M, C", "V, W", "A, V", "M, A", "V, A", "T, T.swapaxes(1, 2)", "H, V", "H, C"),
    "mm": ("M, C", "A, S"), "mv": ("A, V", "M, V"), "bmm": ("H, T", "T, T.swapaxes(1, 2)"),
    "dot vdot inner": ("V, W", "M, N", "A, S", "M, V", "0.5, V", "T, V", "T[:, :, :3], A", "M, C"),
    "vecdot": ("V, W", "M, N", "T, T*2", "M, N, axis=0", "M, N, dim=0", "T, T[:1], axis=1"),
    "outer ger": ("V, W", "V, O", "M, V"),
    "matvec": ("A, V", "M, V", "H, M"), "vecmat": ("V, A", "V, C", "M, H"),
    "tensordot": ("M, C, 1", "T, T, ((0, 2), (0, 2))", "V, W, 0", "M, N", "T, T, axes=([0, 1], "
    "[0, 1])", "T, T, dims=([0, 1], [0, 1])",
        "A, S, dims=1", "M, N, 2", "A, S, axes=1"),
    "kron": ("V, W", "M, C", "A, 2*V", "T, M"),
    "multi_dot": ("[M, A, C]", "[V, A, W]", "[M, C]", "[M, A, S, C]", "[V, A, C]"), "chain_matmul": ("M, A, C", "M, C", "M, A, S, C"),
    "einsum": ("'ij,jk->ik', M, C", "'ij->ji', M", "'ij,ij->i', M, N", "'ii', A", "'ii->i', A", "'i,j', V, W",
        "'...i,i->...', T[:, :, :3], V", "'ijk,il,jm->klm', T, M, A",
        "'ij,jk', M, C", "'ij->', M", "'ba', M"),
    "cross": ("V, W", "A, S", "M, N", "A, S, axis=0", "A, S, dim=0", "T, T[::1]*T, dim=1", "T, "
    "T*T - 1, axis=1",
        "A, S, axisa=0, axisb=1, axisc=0", "C.T, M, axisa=1, axisb=1",
        "M, V", "M, C[:, 0]"),
    "addmm": ("V[:2], M, C", *(f"A[:2, :2], M, C{k}" for k in _SUMMED)),
    "addmv": tuple(f"V[:2], M, W{k}" for k in _SUMMED),
    "addr": tuple(f"A, V, W{k}" for k in _SUMMED),
    "addbmm": tuple(f"A, H, H*H{k}" for k in _SUMMED),
    "baddbmm": tuple(f"H, H*H, H - 1{k}" for k in _SUMMED),
    "inv inverse": ("A", "S", "H", "A[:2, :2]"), "inv_ex": ("A", "H", "S, check_errors=True"),
    "pinv pinverse": ("M", "C", "A", "T", "M, 0.3", "M, rcond=0.4", "M, rtol=0.4", "M, atol=0.5", "S, rtol=0.6",
        "M, atol=0.5, rtol=0.1", "C"),
    "det": ("A", "S", "H", "A[:2, :2]"), "slogdet": ("A", "S", "H", "-A"), "logdet": ("S", "H", "A[::1]", "S[:2, :2]"),
    "solve": ("A, V", "A, C", "S, S", "H, T", "H, H", "A, V, transposed=True", "A, C.T, left=False", "S, V, lower=False",
        "A, C, transposed=True"),
    "tensorsolve": ("A, V", "H.reshape(2, 3, 3, 1, 2), M.reshape(2, 3)", "T.reshape(4, 6)[:4, "
    ":4], T[0, 0]",
        "T.reshape(2, 3, 4)[:, :2].reshape(4, 2, 2), T[0, 0]",
        "T.reshape(4, 6)[:4, :4].reshape(4, 2, 2), T[0, 0]",
        "T.reshape(4, 6)[:4, :4].reshape(2, 4, 2), T[0, 0].reshape(4), axes=(0,)",
        "T.reshape(4, 6)[:4, :4].reshape(2, 4, 2), T[0, 0].reshape(4), dims=(0,)"),
    "tensorinv": ("A, ind=1", "A, 1", "T.reshape(4, 6)[:4, :4].reshape(2, 2, 2, 2)", "T.reshape(4, 6)[:4, :4].reshape(4, 2, 2), ind=1"),
    "lstsq": ("C, V", "A, C", "M, W[:2]", "C, A", "C, V, rcond=0.7", "C, V, cond=0.7", "C, A, "
    "rcond=0.1", "C, A, driver='gelsd'",
        "M, A[:2]"),
    "cholesky": ("S", "H", "S, upper=True", "S, lower=True", "S, True"), "cholesky_ex": ("S", "H", "S, upper=True", "S, check_errors=True"),
    "cholesky_inverse": ("S.tril()", "S.triu(), upper=True", "H.tril()", "A.tril()"),
        "cholesky_solve": ("C, S.tril()", "C, S.triu(), upper=True", "C, A.tril(), False"),
    "solve_triangular": ("A, V", "A, C, lower=True", "A, V, trans=1", "A, V, 1, True", "A, V, "
    "unit_diagonal=True", "A, C, upper=True",
        "A, C, upper=False", "A, A, upper=True, left=False",
        "A, C, upper=True, unitriangular=True", "H, T, upper=False"),
    "triangular_solve": ("C, A", "C, A, upper=False", "C, A, True, True", "C, A, transpose=True, "
    "unitriangular=True"),
    "scipy.linalg.qr": ("A", "M", "C, mode='economic'", "H", "M, mode='r'", "C, mode='r'"),
    "qr": ("A", "C", "M", "C, 'r'", "C, mode='reduced'", "M, some=False", "M, mode='r'", "H", "C, mode='r'"),
    "svd": ("A", "C", "M", "C, full_matrices=False", "C, False", "M, compute_uv=False", "C, "
    "some=False", "H"), "svdvals": ("A", "M", "T"),
    "eigh": ("S", "H", "A", "S, UPLO='U'", "A, UPLO='U'", "A, 'L'", "S, lower=False", "A, "
    "lower=True", "S, eigvals_only=True"),
        "eigvalsh": ("S", "H", "A", "A, UPLO='U'", "A, 'L'", "A, lower=False"),
    "lu": ("A", "C", "M", "S", "A, pivot=True", "A, get_infos=True"),
    "lu_factor": ("A", "S", "A, pivot=True", "H"),
    "householder_product orgqr": ("C, W[:2]", "A, V", "A, W[:2]"),
    "lu_solve": ("(S, K), V", "(A, [2, 1, 2]), C", "(S, [1, 1, 2]), V, 1", f"C, {_LU}", f"{_LU}, C", f"{_LU}, C.T, left=False",
        f"{_LU}, C, adjoint=True"),
    "lu_unpack": (_LU, f"{_LU}, unpack_data=False", f"{_LU}, unpack_pivots=False", f"{_LU}, True, "
    "False"),
    "matrix_power": ("A, 2", "A, 3", "A, 0", "A, -1", "H, 2", "A, n=5", "A, 1", "S, -2"),
        "matrix_exp expm": ("A", "S", "0.25*A", "H", "5*S", "A[:2, :2]*1e-3"),
    "cond": ("A", "A, 1", "A, 2", "A, 'fro'", "A, p=inf", "A, -1", "A, -2", "A, 'nuc'", "M", "H", "A, -inf"),
}  # fmt: skip
