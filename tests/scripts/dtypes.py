# Which dtype a result has.
import gradcli as torch

i, f, d, b = (
    torch.tensor([1, 2]),
    torch.tensor([1.5, 2.5]),
    torch.tensor([1.5, 2.5], dtype=torch.float64),
    torch.tensor([True, False]),
)
zi, zf, zd = torch.tensor(2), torch.tensor(2.5), torch.tensor(2.5, dtype=torch.float64)
for name, x in (("int", i), ("float", f), ("double", d), ("bool", b)):
    for other, y in (
        ("int", i),
        ("float", f),
        ("double", d),
        ("bool", b),
        ("0-d int", zi),
        ("0-d float", zf),
        ("0-d double", zd),
        ("2", 2),
        ("2.5", 2.5),
    ):
        results = [
            (x + y).dtype,
            (x * y).dtype,
            (x / y).dtype if other != "bool" else None,
            (x == y).dtype,
            torch.maximum(x, torch.as_tensor(y)).dtype,
        ]
        print(name, other, *results)
for op in (
    torch.sin,
    torch.exp,
    torch.sqrt,
    torch.abs,
    torch.neg,
    torch.sum,
    torch.prod,
    torch.cumsum,
    torch.sigmoid,
    torch.floor,
    torch.sign,
):
    print(op.__name__, *[(op(x, 0) if op is torch.cumsum else op(x)).dtype for x in (i, f, d)])
print(
    i.sum(),
    b.sum(),
    i.prod(),
    i.max(),
    i.argmax(),
    i.float().mean(),
    (i > 1).float(),
    i**2,
    i**2.0,
    2**i,
    i / 2,
    i // 2,
    i % 2,
)
print(
    torch.where(b, i, 0),
    torch.where(b, f, zd),
    torch.cat([i, f]),
    torch.stack([f, f.to(torch.float64)]),
    f.double(),
    f.to(torch.int64),
    f.long(),
    f.bool(),
)
print(
    torch.tensor([1, 2.5]),
    torch.tensor([True, 2]),
    torch.as_tensor([1, 2]),
    torch.arange(3),
    torch.arange(3.0),
    torch.full((2,), 3),
    torch.full((2,), 3.0),
)
torch.set_default_dtype(torch.float64)
print(torch.tensor([1.5]), torch.zeros(2), i / 2, torch.tensor([1.5], dtype=torch.float32))
torch.set_default_dtype(torch.float32)
x = torch.tensor([1.0, 2.0], requires_grad=True)
y = x.double() * 3
y.sum().backward()
print(y, x.grad, torch.result_type(i, 2.5), torch.tensor([1.0]).type(), i.is_floating_point())
