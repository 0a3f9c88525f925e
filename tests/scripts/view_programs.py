# Programs of views and writing, drawn at random, with what can be seen of every tensor, first and second derivatives.
import gradcli as torch


class Draw:
    def __init__(self, seed):
        self.state = seed * 2654435761 % 2**32

    def below(self, n):
        self.state = (self.state * 1664525 + 1013904223) % 2**32
        return (self.state >> 8) % n

    def one(self, parts):
        return parts[self.below(len(parts))]


def view(draw, x):
    n = x.dim()
    if not n:
        return draw.one([("unsqueeze", 0), ("clone",), ("reshape", -1), ("expand", 2)])
    d = draw.below(n)
    k = x.shape[d]
    start = draw.below(k)
    parts = [
        ("select", d, start), ("narrow", d, start, 1 + draw.below(k - start)), ("unsqueeze", draw.below(n + 1)), ("transpose", d, draw.below(n)),
        ("flatten",), ("reshape", -1), ("permute", *range(n - 1, -1, -1)), ("squeeze",), ("view_as", x), ("expand", 2, *x.shape), ("unbind", d),
        ("split", 1, d), ("chunk", 2, d), ("tensor_split", 2, d), ("movedim", 0, n - 1), ("detach",), ("clone",), ("contiguous",),
        ("__getitem__", slice(None, None, 2)), ("__getitem__", (..., 0)), ("__getitem__", (None, start if d == 0 else 0)), ("__getitem__", [0, 0]),
    ]  # fmt: skip
    return draw.one(parts + [("diagonal", draw.below(3) - 1)] * 3 * (n > 1))


def taken(x, name, arguments):
    y = getattr(x, name)(*arguments)
    return y[-1] if isinstance(y, (tuple, list)) else y


def writing(draw, other):
    return draw.one([
        ("mul_", 2.0), ("add_", 1.5), ("exp_",), ("sin_",), ("sigmoid_",), ("neg_",), ("pow_", 2), ("clamp_", -0.5, 0.8), ("copy_", other),
        ("fill_", 3.0), ("zero_",), ("__setitem__", 0, other), ("__setitem__", ..., other), ("__setitem__", [0], other), ("mul_", other),
        ("add_", other), ("masked_fill_", None, 0.25), ("t_",), ("unsqueeze_", 0), ("squeeze_",), ("requires_grad_",),
    ])  # fmt: skip


def node(x):
    try:
        return x.grad_fn and x.grad_fn.name()
    except RuntimeError as error:
        return str(error).partition(".")[0]


def seen(x):
    strides = [s if n > 1 else 1 for n, s in zip(x.shape, x.stride())]
    return (
        list(x.shape),
        strides,
        x.numel() and x.storage_offset(),
        x.requires_grad,
        x._base is not None,
        node(x),
        [round(v, 9) for v in x.detach().reshape(-1).tolist()],
    )


def run(seed):
    draw = Draw(seed)
    leaf = torch.tensor(
        [[0.3, -0.7, 1.1], [0.9, 0.2, -0.4]], dtype=torch.float64, requires_grad=True
    )
    number = torch.tensor(0.6, dtype=torch.float64, requires_grad=True)
    tensors = [leaf * 1 if draw.below(5) else torch.ones(2, 3, dtype=torch.float64)]
    for _ in range(2 + draw.below(7)):
        x = draw.one(tensors)
        unseen = draw.below(8) == 0
        writes = draw.below(9) < 4
        name, *arguments = (
            writing(draw, draw.one([number, number * 2, 0.5 * torch.ones((), dtype=torch.float64)]))
            if writes
            else view(draw, x)
        )
        if (unseen and name in ("t_", "squeeze_", "unsqueeze_")) or (
            name in ("zero_", "fill_") and 0 in x.stride()
        ):
            continue  # nothing can go back through what PyTorch makes of it
        if name == "masked_fill_":
            arguments[0] = x > 0.7
        try:
            with torch.set_grad_enabled(not unseen):
                y = getattr(x, name)(*arguments) if writes else taken(x, name, arguments)
            if not writes and y.numel():
                tensors.append(y)
        except (RuntimeError, IndexError) as error:
            y = (
                str(error).partition(".")[0].partition(", but")[0]
                if "dimensions" not in str(error) and "Dimension" not in str(error)
                else "no"
            )
        print(seed, unseen, name, seen(y) if isinstance(y, torch.Tensor) else y)
    total = number * 0
    for i, x in enumerate(tensors):
        print(seed, seen(x))
        try:
            total = total + (x * (i + 1)).sum()
        except RuntimeError as error:
            print(seed, str(error).partition(".")[0])
    try:
        slopes = torch.autograd.grad(
            total, [leaf, number], create_graph=True, allow_unused=True, materialize_grads=True
        )
        print(seed, [[round(v, 8) for v in g.reshape(-1).tolist()] for g in slopes])
        squares = sum((g * g).sum() for g in slopes) + 0 * number
        again = torch.autograd.grad(
            squares, [leaf, number], allow_unused=True, materialize_grads=True
        )
        print(seed, [[round(v, 7) for v in g.reshape(-1).tolist()] for g in again])
    except RuntimeError as error:
        print(seed, str(error).partition(":")[0])


for seed in range(120):
    run(seed)
