# Random fills, states of generators, dropout, limits of dtypes, searches and constructors by type, as PyTorch has them.
import gradcli as torch
import gradcli.nn.functional as F

torch.manual_seed(0)
print(torch.bernoulli(torch.full((8,), 0.5)), torch.bernoulli(torch.full((8,), 0.5, dtype=torch.float64)))
print(F.dropout(torch.ones(24), 0.3), torch.empty(9).bernoulli_(0.7))
print(torch.empty(4, dtype=torch.float64).exponential_(2.0), torch.empty(3).exponential_())
print(
    torch.multinomial(torch.tensor([1.0, 2, 3, 4]), 3), torch.multinomial(torch.tensor([[1.0, 2, 3, 4], [4, 0, 0, 1]]), 6, replacement=True)
)
print(F.gumbel_softmax(torch.zeros(4)), F.gumbel_softmax(torch.zeros(4), hard=True))
for kind in (torch.float32, torch.float64, torch.int64, torch.int32, torch.uint8, torch.bool):
    print(torch.empty(4, dtype=kind).random_())
print(torch.empty(3).random_(5), torch.empty(3, dtype=torch.int64).random_(-3, 4))
state = torch.get_rng_state()
print(state.shape, state.dtype, state[:32].tolist())
torch.randn(3, dtype=torch.float64)
odd = torch.get_rng_state()
print(odd[-32:].tolist())
x = torch.rand(3)
torch.set_rng_state(state)
torch.randn(3, dtype=torch.float64)
print(bool((torch.rand(3) == x).all()))
x = torch.ones(3, 4, requires_grad=True)
y = F.dropout(x, 0.5)
y.sum().backward()
print(y, bool((x.grad == y).all()), F.dropout2d(torch.ones(1, 6, 2, 2), 0.5)[0, :, 0, 0])
print(torch.finfo(torch.float32), torch.finfo(torch.float64).eps, torch.iinfo(torch.int8), torch.iinfo(torch.int64).max)
t = torch.tensor([3.0, 1.0, 2.0, 2.0, 3.0])
print(torch.isin(t, torch.tensor([1.0, 3.0])), torch.bucketize(t, torch.tensor([1.0, 2.0])), torch.argwhere(t > 1))
print(torch.searchsorted(torch.tensor([[1, 3, 5], [2, 4, 6]]), torch.tensor([[3, 9], [3, 0]]), right=True))
print(torch.unique_consecutive(t, return_counts=True, return_inverse=True))
print(torch.tril_indices(3, 4), torch.triu_indices(2, 3, 1), torch.zeros(3, 3).fill_diagonal_(5.0))
print(
    torch.promote_types(torch.int32, torch.float32), torch.can_cast(torch.float64, torch.int32), torch.can_cast(torch.int8, torch.float32)
)
print(torch.is_inference(t), t.output_nr, t.nbytes, t.new([1, 2]), t.new(2).shape, torch.randint_like(torch.zeros(3), 5).shape)
print(F.one_hot(torch.tensor([0, 2])), torch.randint(3, (4,), device="cpu"), torch.randperm(4, device="cpu"))
w = torch.empty(2, 3)
for name in ("xavier_uniform_", "xavier_normal_", "kaiming_uniform_", "kaiming_normal_", "ones_", "eye_"):
    print(getattr(torch.nn.init, name)(w))
