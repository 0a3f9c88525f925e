"""What PyTorch raises where an array cannot be seen as asked: in its words, of the array's shape and of the parameters."""

from __future__ import annotations

from typing import Any

Shape = tuple[int, ...]


def _place(shape: Shape, axis: int) -> int:
    return axis % len(shape) if shape else axis


def select(shape: Shape, kind: str, axis: int, index: int) -> Exception:
    if not shape:
        return IndexError("select() cannot be applied to a 0-dim tensor.")
    return IndexError(f"select(): index {index} out of range for tensor of size {list(shape)} at dimension {_place(shape, axis)}")


def narrow(shape: Shape, kind: str, axis: int, start: int, length: int) -> Exception:
    if not shape:
        return RuntimeError("narrow() cannot be applied to a 0-dim tensor.")
    n = shape[axis]
    if length < 0:
        return RuntimeError("narrow(): length must be non-negative.")
    if not -n <= start <= n:
        return IndexError(f"start out of range (expected to be in range of [{-n}, {n}], but got {start})")
    return RuntimeError(f"start ({start + n if start < 0 else start}) + length ({length}) exceeds dimension size ({n}).")


def unfold(shape: Shape, kind: str, axis: int, length: int, step: int) -> Exception:
    if length < 0:
        return RuntimeError(f"size is {length} but must be >= 0")
    n = shape[axis] if shape else 1
    if length > n:
        return RuntimeError(f"maximum size for tensor at dimension {_place(shape, axis)} is {n} but size is {length}")
    return RuntimeError(f"step is {step} but must be > 0")


def diagonal(shape: Shape, kind: str, offset: int, axis1: int, axis2: int) -> Exception | None:
    n = max(len(shape), 1)
    for axis in (axis1, axis2):
        if not -n <= axis < n:
            return IndexError(f"Dimension out of range (expected to be in range of [{-n}, {n - 1}], but got {axis})")
    return RuntimeError(f"diagonal dimensions cannot be identical {axis1}, {axis2}")


def split(shape: Shape, kind: str, sizes: Any, axis: int) -> Exception:
    if not shape:
        return RuntimeError("split expects at least a 1-dimensional tensor")
    n = shape[axis]
    if isinstance(sizes, tuple):
        if min(sizes, default=0) < 0:
            return RuntimeError(f"split_with_sizes expects split_sizes have only non-negative entries, but got split_sizes={list(sizes)}")
        return RuntimeError(
            f"split_with_sizes expects split_sizes to sum exactly to {n} (input tensor's size at dimension {_place(shape, axis)}), but got "
            f"split_sizes={list(sizes)}"
        )
    if sizes < 0:
        return RuntimeError(f"split expects split_size be non-negative, but got split_size={sizes}")
    return RuntimeError(f"split_size can only be 0 if dimension size is 0, but got dimension size of {n}")


def chunk(shape: Shape, kind: str, chunks: int, axis: int) -> Exception | None:
    return None if shape else RuntimeError("chunk expects at least a 1-dimensional tensor")


def unbind(shape: Shape, kind: str, axis: int) -> Exception:
    return IndexError(f"Dimension specified as {axis} but tensor has no dimensions")


def movedim(shape: Shape, kind: str, source: Any, destination: Any) -> Exception | None:
    for name, axes in (("source", source), ("destination", destination)):
        if isinstance(axes, tuple) and len({a % max(len(shape), 1) for a in axes}) < len(axes):
            return RuntimeError(f"movedim: repeated dim in `{name}` ({list(axes)})")
    taken, places = (list(a) if isinstance(a, tuple) else [a] for a in (source, destination))
    if len(taken) == len(places):
        return None
    return RuntimeError(
        f"movedim: Invalid source or destination dims: source ({taken} dims) should contain the same number of dims as destination "
        f"({places} dims)"
    )


def transposed(shape: Shape, kind: str) -> Exception:
    return RuntimeError(f"t() expects a tensor with <= 2 dimensions, but self is {len(shape)}D")


def flatten(shape: Shape, kind: str, start_dim: int, end_dim: int) -> Exception:
    return RuntimeError("flatten() has invalid args: start_dim cannot come after end_dim")


def unflatten(old: Shape, kind: str, axis: int, shape: Shape) -> Exception:
    n = old[axis] if old else 1
    return RuntimeError(
        f"unflatten: Provided sizes {list(shape)} don't multiply up to the size of dim {_place(old, axis)} ({n}) in the input tensor"
    )


def expand(old: Shape, kind: str, shape: Shape) -> Exception | None:
    if len(shape) >= len(old):
        return None
    return RuntimeError(
        f"expand(torch.{kind}{{{list(old)}}}, size={list(shape)}): the number of sizes provided ({len(shape)}) must be greater or equal "
        f"to the number of dimensions in the tensor ({len(old)})"
    )


def split_along(name: str, fewest: int, axis: int) -> Any:
    """Of hsplit, vsplit and dsplit."""

    def refusal(shape: Shape, kind: str, sections: Any) -> Exception | None:
        if len(shape) < fewest:
            return RuntimeError(
                f"torch.{name} requires a tensor with at least {fewest} dimension, but got a tensor with {len(shape)} dimensions!"
            )
        place = min(axis, len(shape) - 1)
        if isinstance(sections, tuple) or (sections > 0 and shape[place] % sections == 0):
            return None
        return RuntimeError(
            f"torch.{name} attempted to split along dimension {place}, but the size of the dimension {shape[place]} is not divisible by "
            f"the split_size {sections}!"
        )

    return refusal
