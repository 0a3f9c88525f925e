"""What PyTorch says of products whose factors do not fit."""

from __future__ import annotations

import math
from itertools import pairwise

from gradcli.ops.refusals.calls import Call, Said, inexpandable, out_of_range, refuses, unbroadcastable


def _sizes(shape: list[int]) -> str:
    return "x".join(map(str, shape))


@refuses("mm")
def mm(c: Call) -> Said:
    for name, shown in (("input", "self"), ("mat2", "mat2")):
        if c.rank(name) != 2:
            return f"{shown} must be a matrix"
    return _matrices(c.shape(), c.shape("mat2"))


def _matrices(first: list[int], second: list[int]) -> str | None:
    if first[1] != second[0]:
        return f"mat1 and mat2 shapes cannot be multiplied ({_sizes(first)} and {_sizes(second)})"
    return None


@refuses("bmm")
def bmm(c: Call) -> Said:
    for name, shown in (("input", "batch1"), ("mat2", "batch2")):
        if c.rank(name) != 3:
            return f"{shown} must be a 3D tensor"
    return _batches(c.shape(), c.shape("mat2"))


def _batches(first: list[int], second: list[int]) -> str | None:
    wanted = [first[0], first[2]]
    if second[:2] != wanted:
        return f"Expected size for first two dimensions of batch2 tensor to be: {wanted} but got: {second[:2]}."
    return None


@refuses("mv")
def mv(c: Call) -> Said:
    if (c.rank(), c.rank("vec")) != (2, 1):
        return f"vector + matrix @ vector expected, got 1, {c.rank()}, {c.rank('vec')}"
    return _matrix_and_vector(c.shape()[:1], c.shape(), c.shape("vec"))


def _matrix_and_vector(added: list[int], matrix: list[int], vector: list[int]) -> str | None:
    if matrix[1] == vector[0] and added in ([matrix[0]], [1], []):
        return None
    return f"size mismatch, got input ({added[0] if added else 1}), mat ({_sizes(matrix)}), vec ({vector[0]})"


@refuses("addmv")
def addmv(c: Call) -> Said:
    if (c.rank("mat"), c.rank("vec")) != (2, 1):
        return f"vector + matrix @ vector expected, got {c.rank()}, {c.rank('mat')}, {c.rank('vec')}"
    return _matrix_and_vector(c.shape(), c.shape("mat"), c.shape("vec"))


@refuses("addmm")
def addmm(c: Call) -> Said:
    for name in ("mat1", "mat2"):
        if c.rank(name) != 2:
            return f"{name} must be a matrix, got {c.rank(name)}-D tensor"
    first, second = c.shape("mat1"), c.shape("mat2")
    return _matrices(first, second) or inexpandable(c.shape(), [first[0], second[1]])


@refuses("addr")
def addr(c: Call) -> Said:
    for name in ("vec1", "vec2"):
        if c.rank(name) != 1:
            return f"addr: Expected 1-D argument {name}, but got {c.rank(name)}-D"
    return inexpandable(c.shape(), [c.shape("vec1")[0], c.shape("vec2")[0]])


@refuses("baddbmm", "addbmm")
def baddbmm(c: Call) -> Said:
    first, second = c.shape("batch1"), c.shape("batch2")
    if c.name == "baddbmm" and len(first) < 3:
        return out_of_range(2, len(first))
    for name in ("batch1", "batch2"):
        if c.rank(name) != 3:
            return f"{name} must be a 3D tensor"
    wanted = [first[0], first[1], second[2]][c.name == "addbmm" :]
    return inexpandable(c.shape(), wanted) or _batches(first, second)


def _vectors(c: Call, other: str) -> Said:
    if (c.rank(), c.rank(other)) != (1, 1):
        return f"1D tensors expected, but got {c.rank()}D and {c.rank(other)}D tensors"
    if c.kind() != c.kind(other):
        return f"dot : expected both vectors to have same dtype, but found {c.kind()} and {c.kind(other)}"
    n, m = c.shape()[0], c.shape(other)[0]
    if n == m:
        return None
    return (
        f"inconsistent tensor size, expected tensor [{n}] and src [{m}] to have the same number of elements, but got {n} and {m} elements "
        "respectively"
    )


@refuses("dot")
def dot(c: Call) -> Said:
    return _vectors(c, "tensor")


@refuses("vdot")
def vdot(c: Call) -> Said:
    return _vectors(c, "other")


@refuses("inner")
def inner(c: Call) -> Said:
    if c.shape()[-1:] == c.shape("other")[-1:]:
        return None
    return f"inner() the last dimension must match on both input tensors but got shapes {c.shape()} and {c.shape('other')}"


@refuses("outer", "ger")
def outer(c: Call) -> Said:
    for name, shown in (("input", "self"), ("vec2", "vec2")):
        if c.rank(name) != 1:
            return f"outer: Expected 1-D argument {shown}, but got {c.rank(name)}-D"
    return None


@refuses("linalg.multi_dot", "chain_matmul")
def multi_dot(c: Call) -> Said:
    matrices = c["tensors"] or c["matrices"]
    shapes = [list(m.array.shape) for m in matrices]
    if len(shapes) < 2:
        return f"multi_dot(): expected at least 2 tensors but got {len(shapes)}"
    for shape, which in ((shapes[0], "first"), (shapes[-1], "last")):
        if len(shape) not in (1, 2):
            return f"multi_dot(): the {which} tensor must be 1D or 2D but got {len(shape)}D"
    for i, (first, second) in enumerate(pairwise(shapes)):
        if first[-1] != second[0]:
            return f"multi_dot(): tensors {i} and {i + 1} with shapes {first} and {second} cannot be multiplied"
    return None


@refuses("linalg.vecdot")
def vecdot(c: Call) -> Said:
    return unbroadcastable(c.shape("x"), c.shape("y"))


@refuses("tensordot")
def tensordot(c: Call) -> Said:
    a, b, dims = c.shape("a"), c.shape("b"), c.get("dims", 2)
    if isinstance(dims, int):
        if dims > min(len(a), len(b)):
            return f"tensordot expects dims < ndim_a or ndim_b, but got dims={dims}"
        first, second = list(range(-dims, 0)), list(range(dims))
    else:
        first, second = ([d] if isinstance(d, int) else list(d) for d in dims)
    if len(first) != len(second):
        return "both dimension lists should have same length"
    for i, j in zip(first, second, strict=True):
        if a[i] != b[j]:
            said = f"first has size {a[i]} in dim {i} and second has size {b[j]} in dim {j}"
            return f"contracted dimensions need to match, but {said}"
    return None


@refuses("cdist")
def cdist(c: Call) -> Said:
    for name, shown in (("x1", "X1"), ("x2", "X2")):
        if c.rank(name) < 2:
            return f"cdist only supports at least 2D tensors, {shown} got: {c.rank(name)}D"
    if c.shape("x1")[-1] != c.shape("x2")[-1]:
        return f"X1 and X2 must have the same number of columns. X1: {c.shape('x1')[-1]} X2: {c.shape('x2')[-1]}"
    return "cdist only supports non-negative p values" if c.get("p", 2.0) < 0 else None


@refuses("pdist")
def pdist(c: Call) -> Said:
    if c.rank() != 2:
        return f"pdist only supports 2D tensors, got: {c.rank()}D"
    return "pdist only supports non-negative p values" if c.get("p", 2.0) < 0 else None


@refuses("F.linear")
def linear(c: Call) -> Said:
    x, weight = c.shape(), c.shape("weight")
    if len(weight) > 2:
        return f"t() expects a tensor with <= 2 dimensions, but self is {len(weight)}D"
    if len(weight) == 2 and x[-1] != weight[1]:
        return _matrices([math.prod(x[:-1]), x[-1]], weight[::-1])
    return inexpandable(c.shape("bias"), [*x[:-1], weight[0]])


@refuses("F.bilinear")
def bilinear(c: Call) -> Said:
    weight = c.shape("weight")
    if len(weight) < 3:
        return out_of_range(2, len(weight))
    for axis, name in ((1, "input1"), (2, "input2")):
        if c.shape(name)[-1] != weight[axis]:
            return f"bilinear(): {name} size does not match weight size: got {c.shape(name)[-1]} but expected {weight[axis]}"
    return None


@refuses("addcmul", "addcdiv")
def addcmul(c: Call) -> Said:
    return unbroadcastable(c.shape(), c.shape("tensor1"), c.shape("tensor2"))
