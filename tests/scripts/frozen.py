# Frozen parameters: what does not require grad gets none, and the rest is trained.
import gradcli as torch
import gradcli.nn.functional as F

torch.manual_seed(3)
data, target = torch.randn(8, 3), torch.randn(8, 1)
first = torch.randn(3, 4, requires_grad=True)
head = torch.randn(4, 1, requires_grad=True)
for p in [first]:
    p.requires_grad = False
losses = []
for _step in range(5):
    prediction = F.relu(data @ first) @ head
    loss = ((prediction - target) ** 2).mean()
    loss.backward()
    with torch.no_grad():
        head -= 0.05 * head.grad
        head.grad.zero_()
    losses.append(f"{loss.item():.4f}")
print(losses)
print(first.grad, head.requires_grad, first.requires_grad)
print(head)
try:
    prediction.requires_grad_(False)
except RuntimeError as error:
    print(str(error)[:69])
