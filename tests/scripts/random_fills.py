# Uniform and normal numbers, limits of dtypes, searches and constructors by type, as PyTorch has them.
import gradcli as torch
import gradcli.nn.functional as F

torch.manual_seed(0)
for kind in (torch.float32, torch.float64):
    print(
        torch.rand(5, dtype=kind),
        torch.randn(20, dtype=kind),
        torch.empty(3, 2, dtype=kind).uniform_(-1, 2),
    )
    print(
        torch.empty(9, dtype=kind).normal_(2.0, 0.5),
        torch.rand_like(torch.ones(2, dtype=kind)),
        torch.randn_like(torch.ones(2, dtype=kind)),
    )
print(
    torch.normal(torch.arange(3.0), torch.ones(3)),
    torch.randint(-3, 4, (6,)),
    torch.randint_like(torch.zeros(3), 5),
    torch.randperm(9),
)
torch.randn(3, dtype=torch.float64)
torch.rand(3)
print(
    torch.finfo(torch.float32),
    torch.finfo(torch.float64).eps,
    torch.iinfo(torch.int8),
    torch.iinfo(torch.int64).max,
)
t = torch.tensor([3.0, 1.0, 2.0, 2.0, 3.0])
print(
    torch.isin(t, torch.tensor([1.0, 3.0])),
    torch.bucketize(t, torch.tensor([1.0, 2.0])),
    torch.argwhere(t > 1),
)
print(
    torch.searchsorted(
        torch.tensor([[1, 3, 5], [2, 4, 6]]), torch.tensor([[3, 9], [3, 0]]), right=True
    )
)
print(torch.unique(t, return_counts=True, return_inverse=True))
print(torch.tril_indices(3, 4), torch.triu_indices(2, 3, 1))
print(
    torch.promote_types(torch.int32, torch.float32),
    torch.can_cast(torch.float64, torch.int32),
    torch.can_cast(torch.int8, torch.float32),
)
print(t.output_nr, t.nbytes, torch.randint_like(torch.zeros(3), 5).shape)
print(
    F.one_hot(torch.tensor([0, 2])),
    torch.randint(3, (4,), device="cpu"),
    torch.randperm(4, device="cpu"),
)
w = torch.empty(2, 3)
for name in (
    "xavier_uniform_",
    "xavier_normal_",
    "kaiming_uniform_",
    "kaiming_normal_",
    "ones_",
    "eye_",
):
    print(getattr(torch.nn.init, name)(w))
