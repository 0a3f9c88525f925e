# Uniform and normal numbers, whole ones and initial weights, as PyTorch has them.
import gradcli as torch

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
torch.randint_like(torch.zeros(3), 5)
print(
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
