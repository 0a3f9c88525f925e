# Steps have a slope of zero, not none; and the names of nodes that depend on what an operand is.
import gradcli as torch

c = torch.tensor([2.0, 3.0])
STEPS = {
    "floor": torch.floor, "ceil": torch.ceil, "round": torch.round, "trunc": torch.trunc, "sign": torch.sign,
    "decimals": lambda x: torch.round(x, decimals=1), "floor_": lambda x: (x * 1.0).floor_(),
    "down": lambda x: torch.div(x, c, rounding_mode="floor"), "to zero": lambda x: torch.div(x, 2.0, rounding_mode="trunc"),
}  # fmt: skip
for name, step in STEPS.items():
    x = torch.tensor([0.5, 1.25], requires_grad=True)
    y = step(x)
    y.sum().backward()
    print(name, y, x.grad, *torch.autograd.grad(step(x).sum(), x))

x = torch.tensor([0.5, 1.25], requires_grad=True)
(x.round() * x + x.floor()).sum().backward()
print(x.grad)
(x + (x.round() - x).detach()).sum().backward()  # straight through
print(x.grad)
(slope,) = torch.autograd.grad((x.floor() * x).sum(), x, create_graph=True)
print(slope.detach())
slope.sum().backward()
print(x.grad)

for y in (
    x % 2.0,
    x % c,
    torch.fmod(x, 2.0),
    torch.fmod(x, c),
    torch.lerp(x, c, 0.5),
    torch.lerp(x, c, c),
    2.0 - x,
    2.0**x,
    x**2,
    x**c,
):
    print(y)
