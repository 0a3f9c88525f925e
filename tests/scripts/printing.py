# How tensors print.
import gradcli as torch

torch.manual_seed(0)
for values in (
    [1.0, 2.5],
    [1e-5, 1.0],
    [1e9, 1.0],
    [1000.0, 1.0],
    [1001.0, 0.5],
    [0.0, 0.0],
    [1.0, float("nan"), float("inf")],
    [-1.0, 2.0, -3.0],
):
    print(torch.tensor(values))
print(
    torch.tensor(3),
    torch.tensor(2.5),
    torch.tensor([True, False]),
    torch.tensor([[1, -2], [30, 4]]),
    torch.tensor([]),
)
print(
    torch.zeros(0, 3),
    torch.zeros(2, 0, dtype=torch.int32),
    torch.tensor([1, 2], dtype=torch.int32),
    torch.ones(2, dtype=torch.float64),
)
print(
    torch.arange(30),
    torch.linspace(0, 1, 30),
    torch.ones(1100),
    torch.randn(40, 40),
    torch.randn(2, 3, 4),
)
print(
    torch.randn(3, requires_grad=True),
    torch.randn(2, 2, requires_grad=True).exp(),
    (torch.ones(9, requires_grad=True) / 3).sigmoid(),
)
print(torch.arange(12.0).reshape(2, 2, 3), torch.randn(3, 20), torch.ones(4, 1100))
torch.set_printoptions(precision=2, sci_mode=False)
print(torch.tensor([1e-5, 12345.678]))
torch.set_printoptions(sci_mode=True)
print(torch.tensor([1.0, 12345.678]))
torch.set_printoptions(profile="default")
print(
    torch.Size([2, 3]),
    torch.zeros(2, 3).shape,
    torch.zeros(2, 3).size(),
    torch.float32,
    torch.int64,
    torch.bool,
    torch.double,
)
x = torch.tensor(1.23456789)
print(f"{x:.2f} {x} {x.item():.3f} {torch.tensor([1.0])} {torch.tensor(3)}", str(x), repr(x))
print(torch.max(torch.tensor([[1.0, 5.0], [7.0, 2.0]]), dim=1), torch.tensor([1.0]).device)
print(
    torch.tensor(float("nan")),
    torch.tensor(1e20),
    torch.tensor(1e-20),
    torch.tensor(100000.0),
    torch.tensor([0.1, 100000.0]),
)
