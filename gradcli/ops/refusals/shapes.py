"""What PyTorch says of shapes that arrays cannot have, and of arrays that cannot be put together."""

from __future__ import annotations

import math

from gradcli.ops.refusals.calls import Call, Said, out_of_range, refuses


@refuses("cat", "concat", "concatenate", "stack", "hstack", "vstack", "dstack", "column_stack", "row_stack", "meshgrid")
def nothing(c: Call) -> Said:
    if c["tensors"]:
        return None
    if c.name in ("cat", "concat", "concatenate"):
        return ValueError("torch.cat(): expected a non-empty list of Tensors")
    return f"{c.name} expects a non-empty TensorList"


@refuses("cat", "concat", "concatenate")
def numbers_in_a_row(c: Call) -> Said:
    for place, tensor in enumerate(c["tensors"]):
        if not tensor.array.ndim:
            return f"zero-dimensional tensor (at position {place}) cannot be concatenated"
    return None


@refuses("view", "reshape")
def invalid_extent(c: Call) -> Said:
    sizes = list(c["shape"] if c["shape"] is not None else c["size"])
    for place, n in enumerate(sizes):
        if n < -1:
            return f"invalid shape dimension {n} at index {place} of shape {sizes}"
    return None


@refuses("zeros")
def negative_extent(c: Call) -> Said:
    return "zeros: Dimension size must be non-negative." if any(n < 0 for n in c["size"]) else None


@refuses("expand")
def expand(c: Call) -> Said:
    sizes, rank = list(c["size"]), c.rank()
    for place, n in enumerate(sizes[: max(len(sizes) - rank, 0)]):
        if n == -1:
            return f"The expanded size of the tensor (-1) isn't allowed in a leading, non-existing dimension {place}"
    return None


@refuses("flatten")
def flatten(c: Call) -> Said:
    for dim in (c.get("start_dim", 0), c.get("end_dim", -1)):
        if not -c.rank() <= dim < c.rank():
            return out_of_range(dim, c.rank())
    return None


@refuses("unflatten")
def unflatten(c: Call) -> Said:
    sizes = c["sizes"]
    if not len(sizes):
        return "unflatten: sizes must be non-empty"
    return "unflatten got an unexpected error:\nonly one dimension can be inferred" if list(sizes).count(-1) > 1 else None


@refuses("repeat", "tile")
def repeat(c: Call) -> Said:
    counts, own = list(c["repeats"] if c["repeats"] is not None else c["dims"]), c.shape()
    if len(counts) < len(own):
        if c.name == "repeat":
            return "Number of dimensions of repeat dims can not be smaller than number of dimensions of tensor"
        counts = [1] * (len(own) - len(counts)) + counts
    shape = [n * m for n, m in zip(counts, [1] * (len(counts) - len(own)) + own, strict=True)]
    negative = [n for n in shape if n < 0]
    return f"Trying to create tensor with negative dimension {negative[0]}: {shape}" if negative else None


@refuses("diag")
def diag(c: Call) -> Said:
    return f"diag(): Supports 1D or 2D tensors. Got {c.rank()}D" if c.rank() not in (1, 2) else None


@refuses("diag_embed")
def diag_embed(c: Call) -> Said:
    first, second, rank = c.get("dim1", -2), c.get("dim2", -1), c.rank() + 1
    for dim in (first, second):
        if not -rank <= dim < rank:
            return out_of_range(dim, rank)
    return f"diagonal dimensions cannot be identical {first}, {second}" if first % rank == second % rank else None


@refuses("trace")
def trace(c: Call) -> Said:
    return f"trace: expected a matrix, but got tensor with dim {c.rank()}" if c.rank() != 2 else None


@refuses("roll")
def roll(c: Call) -> Said:
    shifts, dims = (v if isinstance(v, (tuple, list)) else () if v is None else (v,) for v in (c["shifts"], c["dims"]))
    if not shifts:
        return "`shifts` required"
    if len(shifts) == 1 and not dims:
        return None
    return f"shifts and dimensions must align. shifts: {len(shifts)}, dims:{len(dims)}" if len(shifts) != len(dims) else None


@refuses("fliplr", "flipud")
def flipped(c: Call) -> Said:
    least = 2 if c.name == "fliplr" else 1
    return f"Input must be >= {least}-d." if c.rank() < least else None


@refuses("rot90")
def rot90(c: Call) -> Said:
    dims = c.get("dims", (0, 1))
    if len(dims) != 2:
        return f"expected total rotation dims == 2, but got dims = {len(dims)}"
    if dims[0] == dims[1]:
        return f"expected rotation dims to be different, but got dim0 = {dims[0]} and dim1 = {dims[1]}"
    return None


@refuses("block_diag")
def block_diag(c: Call) -> Said:
    tensors = c["tensors"] or ()
    for place, tensor in enumerate(tensors):
        if tensor.array.ndim > 2:
            said = "torch.block_diag: Input tensors must have 2 or fewer dimensions."
            return f"{said} Input {place} has {tensor.array.ndim} dimensions"
    return None


@refuses("combinations", "cartesian_prod")
def vectors(c: Call) -> Said:
    for tensor in (c["input"],) if c["input"] is not None else c["tensors"]:
        if tensor.array.ndim != 1:
            return f"Expect a 1D vector, but got shape {list(tensor.array.shape)}"
    return None


@refuses("pixel_shuffle", "F.pixel_shuffle")
def pixel_shuffle(c: Call) -> Said:
    factor = c["upscale_factor"]
    if c.rank() < 3:
        return f"pixel_shuffle expects input to have at least 3 dimensions, but got input with {c.rank()} dimension(s)"
    if factor <= 0:
        return f"pixel_shuffle expects a positive upscale_factor, but got {factor}"
    channels, square = c.shape()[-3], factor**2
    if channels % square:
        said = "pixel_shuffle expects its input's 'channel' dimension to be divisible by the square of upscale_factor, but input.size(-3)="
        return f"{said}{channels} is not divisible by {square}"
    return None


@refuses("pixel_unshuffle", "F.pixel_unshuffle")
def pixel_unshuffle(c: Call) -> Said:
    factor = c["downscale_factor"]
    if c.rank() < 3:
        return f"pixel_unshuffle expects input to have at least 3 dimensions, but got input with {c.rank()} dimension(s)"
    for axis, name in ((-2, "height"), (-1, "width")):
        if c.shape()[axis] % factor:
            return (
                f"pixel_unshuffle expects {name} to be divisible by downscale_factor, but input.size({axis})={c.shape()[axis]} is not "
                f"divisible by {factor}"
            )
    return None


@refuses("channel_shuffle", "F.channel_shuffle")
def channel_shuffle(c: Call) -> Said:
    channels, groups = c.shape()[1], c["groups"]
    if channels % groups:
        return f"Number of channels must be divisible by groups. Got {channels} channels and {groups} groups."
    return None


@refuses("F.fold")
def fold(c: Call) -> Said:
    kernel = c["kernel_size"]
    kernel = (kernel, kernel) if isinstance(kernel, int) else tuple(kernel)
    channels = c.shape()[-2]
    if channels % math.prod(kernel):
        said = "Expected size of input's dimension 1 to be divisible by the product of kernel_size, but got input.size(1)="
        return f"{said}{channels} and kernel_size=({', '.join(map(str, kernel))})."
    return None
