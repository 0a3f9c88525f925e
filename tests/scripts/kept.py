# What backward reads of an operation: which tensors may be written to before backward, and whether it can run twice.
import gradcli as torch

START = [[0.5, 0.25], [0.75, 0.3]]
F = torch.nn.functional
METHODS = """exp log sqrt sin cos tan asin acos atan sinh cosh relu abs square reciprocal exp2 log2 log10 log1p erf erfc
    lgamma digamma neg sum mean max min amax amin var std norm cumsum t sort sinc trace inverse clone""".split()
OPERATIONS = {
    **{name: lambda x, c, name=name: getattr(x, name)(*([0] if name == "cumsum" else [])) for name in METHODS},
    "x + 2": lambda x, c: x + 2, "x - 2": lambda x, c: x - 2, "2 - x": lambda x, c: 2 - x, "x * 2": lambda x, c: x * 2,
    "2 * x": lambda x, c: 2 * x, "x / 2": lambda x, c: x / 2, "x**2": lambda x, c: x**2, "x**3": lambda x, c: x**3,
    "x**.5": lambda x, c: x**0.5, "2**x": lambda x, c: 2**x, "c**x": lambda x, c: c**x, "x + c": lambda x, c: x + c,
    "x * c": lambda x, c: x * c, "x / c": lambda x, c: x / c, "c / x": lambda x, c: c / x, "x @ c": lambda x, c: x @ c,
    "x[0] @ c": lambda x, c: x[0] @ c, "dot": lambda x, c: x[0].dot(c[0]), "outer": lambda x, c: torch.outer(x[0], c[0]),
    "hypot": lambda x, c: torch.hypot(x, c), "fmod": lambda x, c: x.fmod(2.0), "%": lambda x, c: x % 2.0,
    "atan2": lambda x, c: torch.atan2(x, c), "maximum": lambda x, c: torch.maximum(x, c), "clamp": lambda x, c: x.clamp(0.3, 0.6),
    "where": lambda x, c: torch.where(c > 2, x, c), "logaddexp": lambda x, c: torch.logaddexp(x, c),
    "addcmul": lambda x, c: torch.addcmul(x, x, c), "softmax": lambda x, c: x.softmax(0), "logsumexp": lambda x, c: x.logsumexp(0),
    "cat": lambda x, c: torch.cat([x, c]), "stack": lambda x, c: torch.stack([x, c]), "gelu": lambda x, c: F.gelu(x),
    "silu": lambda x, c: F.silu(x), "softplus": lambda x, c: F.softplus(x),
}  # fmt: skip


def outcome(operation, what):
    leaf = torch.tensor(START, requires_grad=True)
    x = leaf * 1.0
    c = torch.tensor([[1.0, 2.0], [3.0, 4.0]])
    y = operation(x, c)
    y = y if isinstance(y, torch.Tensor) else y[0]
    try:
        if what == "result":
            y += 1
        total = y.sum()
        if what == "operand":
            x += 1
        if what == "constant":
            c += 1
        if what == "twice":
            total.backward()
        total.backward()
    except RuntimeError:
        return "refused"
    return "fine"


for name, operation in OPERATIONS.items():
    print(
        name,
        *(
            f"{what} {outcome(operation, what)}"
            for what in ("result", "operand", "constant", "twice")
        ),
        sep=", ",
    )
