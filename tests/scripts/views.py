# What is a view: its shape, strides, offset, whose view it is, and what its node is called.
import numpy as np

import gradcli as torch

x = torch.arange(6.0, dtype=torch.float64).reshape(2, 3).requires_grad_() * 1
v = x[0]
VIEWS = {
    "T": lambda: x.T,
    "t": lambda: x.t(),
    "t of a vector": lambda: v.t(),
    "transpose": lambda: x.transpose(0, 1),
    "transpose of one axis": lambda: x.transpose(0, 0),
    "swapaxes": lambda: x.swapaxes(1, 1),
    "swapdims": lambda: x.swapdims(0, 1),
    "permute": lambda: x.permute(0, 1),
    "movedim": lambda: x.movedim(0, 1),
    "movedim of one axis": lambda: x.movedim(0, 0),
    "moveaxis": lambda: torch.moveaxis(x, 0, 1),
    "expand": lambda: v.expand(4, 3),
    "expand by new axes": lambda: x.expand(5, 2, 3),
    "expand by one": lambda: x.expand(1, 2, 3),
    "expand to the same": lambda: x.expand(2, 3),
    "expand_as": lambda: x.expand_as(torch.ones(4, 2, 3)),
    "broadcast_to": lambda: x.broadcast_to(2, 2, 3),
    "broadcast_tensors": lambda: torch.broadcast_tensors(x, v)[1],
    "meshgrid": lambda: torch.meshgrid(v, v, indexing="ij")[0],
    "unsqueeze": lambda: x.unsqueeze(0),
    "unsqueeze at the end": lambda: x.unsqueeze(-1),
    "squeeze": lambda: x[:, :1].squeeze(),
    "squeeze of nothing": lambda: x.squeeze(),
    "squeeze of an axis": lambda: x[:, :1].squeeze(1),
    "diagonal": lambda: x.diagonal(),
    "diagonal above": lambda: x.diagonal(1),
    "linalg.diagonal": lambda: torch.linalg.diagonal(x),
    "unfold": lambda: x.unfold(1, 2, 1),
    "select": lambda: x.select(1, 1),
    "select of a vector": lambda: v.select(0, 1),
    "narrow": lambda: x.narrow(1, 1, 2),
    "unbind": lambda: x.unbind(1)[2],
    "unbind of a vector": lambda: v.unbind()[1],
    "split": lambda: x.split(1)[1],
    "split by sizes": lambda: x.split([1, 2], 1)[1],
    "chunk": lambda: x.chunk(2)[1],
    "tensor_split": lambda: x.tensor_split(2)[1],
    "hsplit": lambda: x.hsplit(3)[1],
    "vsplit": lambda: x.vsplit(2)[1],
    "dsplit": lambda: x[None].dsplit(3)[1],
    "rows": lambda: list(x)[1],
    "reshape": lambda: x.reshape(3, 2),
    "reshape to the same": lambda: x.reshape(2, 3),
    "reshape of other strides": lambda: x.t().reshape(3, 1, 2),
    "reshape that copies": lambda: x.t().reshape(6),
    "view": lambda: x.view(-1),
    "view_as": lambda: x.view_as(x),
    "reshape_as": lambda: x.reshape_as(torch.ones(3, 2)),
    "flatten": lambda: x.flatten(),
    "flatten of a vector": lambda: v.flatten(),
    "unflatten": lambda: x.unflatten(1, (3, 1)),
    "atleast_2d": lambda: torch.atleast_2d(v),
    "atleast_1d": lambda: torch.atleast_1d(x),
    "real": lambda: torch.real(x),
    "as_strided": lambda: x.as_strided((2, 2), (1, 1), 1),
    "torch.as_strided": lambda: torch.as_strided(x, (2,), (3,)),
    "contiguous": lambda: x.contiguous(),
    "contiguous of a transpose": lambda: x.t().contiguous(),
    "clone": lambda: x.clone(),
    "clone of a transpose": lambda: x.t().clone(),
    "clone of an expanded": lambda: v.expand(2, 3).clone(),
    "detach": lambda: x.detach(),
    "data": lambda: x.data,
    "an entry": lambda: x[1, 2],
    "a row": lambda: x[1],
    "a column": lambda: x[:, 1],
    "a slice": lambda: x[:1],
    "a whole slice": lambda: x[:],
    "whole slices": lambda: x[:, :],
    "steps": lambda: x[:, ::2],
    "no entries": lambda: x[:0],
    "an ellipsis": lambda: x[...],
    "a new axis": lambda: x[None],
    "new axes": lambda: x[None, :, None],
    "an index tensor of no axes": lambda: x[torch.tensor(1)],
    "an index tensor": lambda: x[torch.tensor([1])],
    "an index tensor for columns": lambda: x[:, [0, 1]],
    "a number and an index tensor": lambda: x[0, [0, 2]],
    "a mask": lambda: x[x > 1],
    "True": lambda: x[True],
    "False": lambda: x[False],
    "flip": lambda: x.flip(0),
    "take": lambda: x.take(torch.tensor([0])),
    "tile": lambda: x.tile(1),
    "repeat": lambda: x.repeat(1, 1),
    "tril": lambda: x.tril(),
}
for name, make in VIEWS.items():
    y = make()
    whose = (
        "x"
        if y._base is x
        else "v"
        if y._base is v
        else "base"
        if y._base is not None and y._base is x._base
        else y._base
    )
    node = None if y.grad_fn is None else y.grad_fn.name()
    shared = np.may_share_memory(y.detach().numpy(), x.detach().numpy())
    print(
        f"{name}:",
        list(y.shape),
        y.stride(),
        y.storage_offset(),
        y is x or y is v,
        y._base is not None,
        whose,
        shared,
        y.is_contiguous(),
        node,
    )

a = torch.zeros(2, 3, 4)
print(
    a[0, :, torch.tensor([0, 1])].shape,
    a[:, 0, [1, 2]].shape,
    a[[0, 1], :, 0].shape,
    a[None, [0], 1:].shape,
    a[..., [0, 0, 0]].shape,
)
w = torch.arange(4.0)
for arguments in (((5,), (1,)), ((2, 2), (3, 1)), ((2,), (-1,)), ((2,), (1, 1)), ((2,), (1,), -1)):
    try:
        print(w.as_strided(*arguments))
    except RuntimeError as error:
        print(error)
print(
    torch.ones(2, 3).t_().stride(),
    torch.ones(3).unsqueeze_(0).add_(1),
    torch.ones(1, 3).squeeze_().mul_(2),
)
