"""Cases of products of matrices, vectors and tensors."""

from __future__ import annotations

import numpy as np

from cases.case import Case, some

A, B, C = some(2, 3), some(3, 2), some(2, 2)
STACK, OTHER = some(2, 2, 3), some(2, 3, 2)
AB = {"x": A, "y": B}
ADDED = {"z": C, "x": A, "y": B}
SPACE = {"x": some(2, 3), "y": some(2, 3)}

CASES = [
    Case("torch.mm(x, y)", np.matmul, AB),
    Case("torch.mv(x, y)", np.matmul, {"x": A, "y": some(3)}),
    Case("torch.bmm(x, y)", np.matmul, {"x": STACK, "y": OTHER}),
    Case("torch.dot(x, y)", np.dot, {"x": some(3), "y": some(3)}),
    Case("vdot(x, y)", lambda x, y: (x.ravel() * y.ravel()).sum(), {"x": A, "y": some(6)}),
    Case("vecdot(x, y)", lambda x, y: (x * y).sum(-1), {"x": A, "y": some(3)}, "broadcasting"),
    Case("vecdot(x, y, axis=0)", lambda x, y: (x * y).sum(0), SPACE),
    Case("matvec(x, y)", lambda x, y: x @ y, {"x": STACK, "y": some(3)}),
    Case("vecmat(x, y)", lambda x, y: x @ y, {"x": some(3), "y": OTHER}),
    Case("inner(x, y)", np.inner, {"x": A, "y": STACK}),
    Case("inner(x, y)", np.multiply, {"x": A, "y": np.array(1.5)}, "a number"),
    Case("tensordot(x, y)", np.tensordot, {"x": some(2, 2, 3), "y": some(2, 3)}),
    Case("tensordot(x, y, axes=0)", lambda x, y: np.tensordot(x, y, 0), {"x": some(2), "y": some(2)}),
    Case("tensordot(x, y, axes=([1, 0], [2, 1]))", lambda x, y: np.tensordot(x, y, ([1, 0], [2, 1])), {"x": A, "y": some(2, 2, 3)}),
    Case("tensordot(x, y, axes=(-1, 0))", lambda x, y: np.tensordot(x, y, 1), AB, "a pair of "
    "numbers"),
    Case("kron(x, y)", np.kron, {"x": A, "y": some(2)}),
    Case("kron(x, y)", np.kron, {"x": some(2, 1, 2), "y": some(2, 2)}, "three axes"),
    Case("chain_matmul(x, y, x)", lambda x, y: x @ y @ x, AB),
    Case("cross(x, y)", np.cross, SPACE),
    Case("cross(x, y)", lambda x, y: x[0] * y[1] - x[1] * y[0], {"x": some(2), "y": some(2)}, "of "
    "the plane"),
    Case("cross(x, y)", lambda x, y: np.cross(np.append(x, 0), y), {"x": some(2), "y": some(3)}, "plane and space"),
    Case("cross(x, y, axisa=0, axisb=1, axisc=0)", lambda x, y: np.cross(x.T, y).T, {"x": B, "y": A}),
    Case("torch.cross(x, y)", lambda x, y: np.cross(x, y, axis=0), {"x": some(3, 3), "y": some(3, 3)}, "first axis of 3"),
    Case("torch.linalg.cross(x, y)", np.cross, {"x": some(3, 3), "y": some(1, 3)}, "last axis"),
    Case("trace(x, offset=-1, axis1=2, axis2=0)", lambda x: np.trace(x, -1, 2, 0), {"x": some(3, 2, 2)}),
    Case("torch.addmm(z, x, y, beta=0.5, alpha=-2)", lambda z, x, y: 0.5 * z - 2 * x @ y, ADDED),
    Case("torch.addmm(z, x, y)", lambda z, x, y: z + x @ y, {**ADDED, "z": some(2)}, "a row added"),
    Case("torch.addmv(z, x, y, alpha=3)", lambda z, x, y: z + 3 * x @ y, {"z": some(2), "x": A, "y": some(3)}),
    Case("torch.addr(z, x, y, beta=2)", lambda z, x, y: 2 * z + np.outer(x, y), {"z": A, "x": some(2), "y": some(3)}),
    Case("torch.addbmm(z, x, y)", lambda z, x, y: z + (x @ y).sum(0), {"z": C, "x": STACK, "y": OTHER}),
    Case("torch.baddbmm(z, x, y)", lambda z, x, y: z + x @ y, {"z": C, "x": STACK, "y": OTHER}),
    Case("torch.einsum([x, y], 'ij,jk->ik')", np.matmul, AB, "operands first"),
    Case("einsum('i j, jk', [x, y])", np.matmul, AB, "operands in a list"),
    Case("einsum('...i,...i', x, y)", lambda x, y: (x * y).sum(-1), {"x": A, "y": some(3)}, "implicit"),
    Case("einsum('bn,anm,bm->ba', x, y, z)", lambda x, y, z: np.einsum("bn,anm,bm->ba", x, y, z),
         {"x": A, "y": some(2, 3, 2), "z": C}, "bilinear"),
]  # fmt: skip
