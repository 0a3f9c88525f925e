"""What PyTorch says of convolutions, pooling, padding and resizing."""

from __future__ import annotations

from typing import Any

from gradcli.ops.refusals.calls import Call, Said, out_of_range, refuses

_CONVOLUTIONS = tuple(f"conv{t}{n}d" for t in ("", "_transpose") for n in (1, 2, 3))


def _dimensions(name: str) -> int:
    return int(name.rstrip("d")[-1])


def _each(value: Any, n: int, default: int = 1) -> list[int]:
    value = default if value is None else value
    return [value] * n if isinstance(value, int) else list(value) * (n if len(value) == 1 else 1)


def _by(sizes: list[int]) -> str:
    return " x ".join(map(str, sizes))


@refuses(*_CONVOLUTIONS)
def convolution(c: Call) -> Said:
    n, weight, x = _dimensions(c.name), c.shape("weight"), c.shape()
    if len(x) not in (n + 1, n + 2):
        return f"Expected {n + 1}D (unbatched) or {n + 2}D (batched) input to {c.name}, but got input of size: {x}"
    if len(weight) < 3:
        return "weight should have at least three dimensions"
    return _parameters(c, n) or _channels(c, weight, x if len(x) == n + 2 else [1, *x], "transpose" in c.name)


def _parameters(c: Call, n: int) -> Said:
    padding = c["padding"]
    if isinstance(padding, str) and padding not in ("same", "valid"):
        return f"Invalid padding string: '{padding}'"
    stride = _each(c["stride"], n)
    if padding == "same" and any(s != 1 for s in stride):
        return "padding='same' is not supported for strided convolutions"
    inner = len(c.shape("weight")) - 2
    for name, default in (("stride", 1), ("padding", 0), ("dilation", 1)):
        if isinstance(c[name], str):
            continue
        given = _each(c[name], n, default)
        if len(given) not in (1, inner):
            count = f"a single integer value or a list of {inner} values"
            return f"expected {name} to be {count} to match the convolution dimensions, but got {name}={given}"
    if not isinstance(padding, str) and any(p < 0 for p in _each(padding, n, 0)):
        return "negative padding is not supported"
    if any(s <= 0 for s in stride):
        return "non-positive stride is not supported"
    dilation = _each(c["dilation"], n)
    if any(d <= 0 for d in dilation):
        return f"dilation should be greater than zero, but got {[1, *dilation] if n == 1 else dilation}"
    return "non-positive groups is not supported" if c.get("groups", 1) <= 0 else None


def _channels(c: Call, weight: list[int], x: list[int], transposed: bool) -> Said:
    groups, n = c.get("groups", 1), len(weight) - 2
    if transposed:
        if x[1] != weight[0]:
            said = f"Given transposed=1, weight of size {weight}, expected input{x} to have {weight[0]} channels"
            return f"{said}, but got {x[1]} channels instead"
        return _output_padding(c, n)
    if weight[0] % groups or weight[0] < groups:
        fits = f"expected weight to be divisible by {groups} at dimension 0"
        return f"Given groups={groups}, {fits}, but got weight of size [{weight}] instead"
    if x[1] != weight[1] * groups:
        said = f"Given groups={groups}, weight of size {weight}, expected input{x} to have {weight[1] * groups} channels"
        return f"{said}, but got {x[1]} channels instead"
    if c.has("bias") and c.shape("bias") != [weight[0]]:
        said = f"Given weight of size {weight}, expected bias to be 1-dimensional with {weight[0]} elements"
        return f"{said}, but got bias of size {c.shape('bias')} instead"
    if isinstance(c["padding"], str):
        return None
    padded = [i + 2 * p for i, p in zip(x[2:], _each(c["padding"], n, 0), strict=True)]
    kernel = [d * (k - 1) + 1 for k, d in zip(weight[2:], _each(c["dilation"], n), strict=True)]
    if any(k > i for k, i in zip(kernel, padded, strict=True)):
        sizes = f"Calculated padded input size per channel: ({_by(padded)}). Kernel size: ({_by(kernel)})"
        return f"{sizes}. Kernel size can't be greater than actual input size"
    return None


def _output_padding(c: Call, n: int) -> Said:
    more, stride, dilation = (_each(c[name], n, default) for name, default in (("output_padding", 0), ("stride", 1), ("dilation", 1)))
    if n == 2 and any(p >= max(s, d) for p, s, d in zip(more, stride, dilation, strict=True)):
        given = {"output_padding": more, "stride": stride, "dilation": dilation}
        parts = " ".join(f"{name}_height: {v[0]} {name}_width: {v[1]}" for name, v in given.items())
        return f"output padding must be smaller than either stride or dilation, but got {parts}"
    return None


def _counted(name: str, value: Any, n: int, function: str) -> str | None:
    if not isinstance(value, (tuple, list)) or len(value) in (1, n):
        return None
    unit = f"a tuple of {'two' if n == 2 else 'three'} ints"
    if name == "stride":
        return f"{function}: stride must either be omitted, a single int, or {unit}"
    return f"{function}: {name} must {'either be' if name == 'kernel_size' else 'be either'} a single int, or {unit}"


@refuses("F.max_pool1d", "max_pool1d")
def max_pool1d(c: Call) -> Said:
    if c.rank() not in (2, 3):
        return f"max_pool1d: Expected 2D or 3D (batch mode) tensor with optional 0 dim batch size for input, but got:{c.shape()}"
    (kernel,), (padding,), (dilation,) = (_each(c[k], 1, d) for k, d in (("kernel_size", 1), ("padding", 0), ("dilation", 1)))
    (stride,) = _each(c.get("stride", kernel), 1)
    if kernel <= 0:
        return f"max_pool1d() kernel_size must be greater than zero, but got {kernel}"
    if stride <= 0:
        return f"max_pool1d() stride must be greater than zero, but got {stride}"
    if padding < 0:
        return f"max_pool1d() padding must be non-negative, but got {padding}"
    if padding > kernel // 2:
        return f"max_pool1d() padding should be at most half of kernel size, but got padding={padding} and kernel_size={kernel}"
    if dilation <= 0:
        return f"max_pool1d() dilation must be greater than zero, but got {dilation}"
    size = (c.shape()[-1] + 2 * padding - dilation * (kernel - 1) - 1) // stride + 1
    return f"max_pool1d() Invalid computed output size: {size}" if size <= 0 else None


@refuses("F.max_pool2d", "F.max_pool3d", "F.avg_pool2d", "F.avg_pool3d", "F.avg_pool1d", "avg_pool1d", "max_pool2d", "max_pool3d")
def pool(c: Call) -> Said:
    n, function, x = _dimensions(c.name), c.name, c.shape()
    if function == "avg_pool1d" and len(x) not in (2, 3):
        return _dimensions_of_argument(len(x), "avg_pool1d")
    for name in ("kernel_size", "stride", "padding", "dilation") if n > 1 else ():
        said = _counted(name, c[name], n, function)
        if said is not None:
            return said
    if function == "avg_pool2d" and len(x) < 3:
        return out_of_range(-3, len(x))
    if len(x) not in (n + 1, n + 2):
        return f"non-empty {n + 1}D or {n + 2}D (batch mode) tensor expected for input"
    kernel, padding, dilation = (_each(c[k], n, d) for k, d in (("kernel_size", 1), ("padding", 0), ("dilation", 1)))
    stride = kernel if c["stride"] is None or c["stride"] == () else _each(c["stride"], n)
    if c["divisor_override"] == 0:
        return "divisor must be not zero"
    if any(s == 0 for s in stride):
        return "stride should not be zero"
    if any(k <= 0 for k in kernel):
        axes = " ".join(f"k{a}: {k}" for a, k in zip("THW"[-n:], kernel, strict=True))
        return f"kernel size should be greater than zero, but got {axes}"
    if any(d <= 0 for d in dilation):
        axes = " ".join(f"dilation{a}: {d}" for a, d in zip("THW"[-n:], dilation, strict=True))
        return f"dilation should be greater than zero, but got {axes}"
    for k, p, d in zip(kernel, padding, dilation, strict=True):
        if p > (d * (k - 1) + 1) // 2:
            return f"pad should be at most half of effective kernel size, but got pad={p}, kernel_size={k} and dilation={d}"
    channels, sizes = x[-n - 1], x[-n:]
    out = [(i + 2 * p - d * (k - 1) - 1) // s + 1 for i, p, d, k, s in zip(sizes, padding, dilation, kernel, stride, strict=True)]
    if min(out) < 1:
        flat = [1, *sizes], [1, *out]
        given, made = flat if n == 1 else (sizes, out)
        text = "x".join(map(str, [channels, *given])), "x".join(map(str, [channels, *made]))
        return f"Given input size: ({text[0]}). Calculated output size: ({text[1]}). Output size is too small"
    return None


def _dimensions_of_argument(rank: int, function: str) -> str:
    return f"Expected 2 to 3 dimensions, but got {rank}-dimensional tensor for argument #1 'self' (while checking arguments for {function})"


@refuses("F.lp_pool1d")
def lp_pool(c: Call) -> Said:
    return _dimensions_of_argument(c.rank(), "avg_pool1d") if c.rank() not in (2, 3) else None


@refuses("F.adaptive_avg_pool1d", "F.adaptive_max_pool1d", "adaptive_avg_pool1d", "adaptive_max_pool1d")
def adaptive1d(c: Call) -> Said:
    return _dimensions_of_argument(c.rank(), c.name) if c.rank() not in (2, 3) else None


@refuses("F.adaptive_avg_pool2d", "F.adaptive_avg_pool3d", "F.adaptive_max_pool2d", "F.adaptive_max_pool3d")
def adaptive(c: Call) -> Said:
    n, colon, size = _dimensions(c.name), ":" if "max" in c.name else "", c["output_size"]
    if c.rank() not in (n + 1, n + 2):
        return f"{c.name}(): Expected {n + 1}D or {n + 2}D tensor, but got{colon} {c.shape()}"
    if isinstance(size, (tuple, list)) and len(size) != n:
        return f"{c.name}: output_size must be {n}"
    return None


@refuses("F.unfold")
def unfold(c: Call) -> Said:
    if c.rank() < 3:
        return out_of_range(2, c.rank())
    kernel, dilation, padding, stride = (
        _each(c[k], 2, d) for k, d in (("kernel_size", 1), ("dilation", 1), ("padding", 0), ("stride", 1))
    )
    sizes = c.shape()[-2:]
    blocks = [(i + 2 * p - d * (k - 1) - 1) // s + 1 for i, p, d, k, s in zip(sizes, padding, dilation, kernel, stride, strict=True)]
    if min(blocks) > 0:
        return None
    given = f"kernel_size={tuple(kernel)}, dilation={tuple(dilation)}, padding={tuple(padding)}"
    said = f"Given input with spatial size {tuple(sizes)}, {given}, calculated shape of the array of sliding blocks as {tuple(blocks)}"
    return f"{said}, but its components must be at least one."


@refuses("F.pad")
def pad(c: Call) -> Said:
    if isinstance(c["pad"], str):
        return TypeError("pad(): argument 'pad' (position 2) must be tuple of ints, not str")
    widths, mode, x = list(c["pad"]), c.get("mode", "constant"), c.shape()
    if mode not in ("constant", "reflect", "replicate", "circular"):
        return NotImplementedError(f"Unrecognised padding mode {mode}")
    if len(widths) % 2:
        return "Padding length must be divisible by 2"
    if len(widths) > 2 * len(x):
        said = "Padding length should be less than or equal to two times the input dimension but got padding length "
        return f"{said}{len(widths)} and input of dimension {len(x)}"
    if mode == "constant":
        left = [n + sum(widths[2 * i : 2 * i + 2]) for i, n in enumerate(reversed(x)) if 2 * i < len(widths)]
        return "narrow(): length must be non-negative." if min(left, default=0) < 0 else None
    n = len(widths) // 2
    if len(x) not in (n + 1, n + 2):
        return NotImplementedError(
            f"Padding size {len(widths)} is not supported for {len(x)}D input tensor.\nSupported combinations for non-constant padding:\n"
            "  - 2D or 3D input: padding size = 2 (pads last dimension)\n  - 3D or 4D input: padding size = 4 (pads last 2 dimensions)\n"
            "  - 4D or 5D input: padding size = 6 (pads last 3 dimensions)"
        )
    for i in range(n):
        low, high, size = widths[2 * i], widths[2 * i + 1], x[-1 - i]
        if mode == "circular" and max(low, high) > size:
            return "Padding value causes wrapping around more than once."
        if mode == "reflect" and max(low, high) >= size:
            place = len(x) - 1 - i
            said = "Padding size should be less than the corresponding input dimension, but got: padding "
            return f"Argument #{4 + 2 * i}: {said}({low}, {high}) at dimension {place} of input {x}"
    return None


_MODES = "nearest | linear | bilinear | bicubic | trilinear | lanczos | area | nearest-exact"


@refuses("F.interpolate")
def interpolate(c: Call) -> Said:
    mode, size, scale, rank = c.get("mode", "nearest"), c["size"], c["scale_factor"], c.rank()
    if mode in ("nearest", "area", "nearest-exact") and c["align_corners"] is not None:
        only = "linear | bilinear | bicubic | trilinear"
        return ValueError(f"align_corners option can only be set with the interpolating modes: {only}")
    if size is not None and scale is not None:
        return ValueError("only one of size or scale_factor should be defined")
    if size is None and scale is None:
        return ValueError("either size or scale_factor should be defined")
    for name, given in (("size", size), ("scale_factor", scale)):
        if isinstance(given, (tuple, list)) and len(given) != rank - 2:
            sizes = f"input with spatial dimensions of {c.shape()[2:]} and {'output size' if name == 'size' else name} of {given}"
            return ValueError(f"Input and output must have the same number of spatial dimensions, but got {sizes}.")
    wanted = {"linear": 3, "bilinear": 4, "bicubic": 4, "trilinear": 5}.get(mode)
    if rank == wanted or (mode in ("nearest", "area", "nearest-exact") and rank in (3, 4, 5)):
        return None
    if wanted is not None and rank in (3, 4, 5) and rank != wanted:
        return NotImplementedError(f"Got {rank}D input, but {mode} mode needs {wanted}D input")
    return NotImplementedError(
        f"Input Error: Only 3D, 4D and 5D input Tensors supported (got {rank}D) for the modes: {_MODES} (got {mode})"
    )


@refuses("F.grid_sample")
def grid_sample(c: Call) -> Said:
    mode, padding = c.get("mode", "bilinear"), c.get("padding_mode", "zeros")
    if mode not in ("bilinear", "nearest", "bicubic"):
        return ValueError(f"nn.functional.grid_sample(): expected mode to be 'bilinear', 'nearest' or 'bicubic', but got: '{mode}'")
    if padding not in ("zeros", "border", "reflection"):
        known = "'zeros', 'border', or 'reflection'"
        return ValueError(f"nn.functional.grid_sample(): expected padding_mode to be {known}, but got: '{padding}'")
    x, grid = c.shape(), c.shape("grid")
    if x[0] != grid[0]:
        return f"grid_sampler(): expected grid and input to have same batch size, but got input with sizes {x} and grid with sizes {grid}"
    if grid[-1] != len(x) - 2:
        return f"grid_sampler(): expected grid to have size {len(x) - 2} in last dimension, but got grid with sizes {grid}"
    return None


@refuses("F.affine_grid")
def affine_grid(c: Call) -> Said:
    size, shape = tuple(c["size"]), c.shape("theta")
    n = len(size) - 2
    if n not in (2, 3):
        return NotImplementedError(
            f"affine_grid only supports 4D and 5D sizes, for 2D and 3D affine transforms, respectively. Got size {size}."
        )
    if shape[-2:] != [n, n + 1] or len(shape) != 3:
        wanted = f"Expected a batch of {n}D affine matrices of shape Nx{n}x{n + 1} for size {size}."
        return ValueError(f"{wanted} Got torch.Size({shape}).")
    return None


@refuses("F.max_unpool1d", "F.max_unpool2d", "F.max_unpool3d")
def max_unpool(c: Call) -> Said:
    kind = c.kind("indices")
    return f"elements in indices should be type int64 but got: {kind}" if kind != "Long" else None
