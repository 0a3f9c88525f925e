# A linear layer and its loss: what autograd computes, and how it is told not to.
import gradcli as torch

torch.manual_seed(1)
x = torch.ones(5)  # input tensor
y = torch.zeros(3)  # expected output
w = torch.randn(5, 3, requires_grad=True)
b = torch.randn(3, requires_grad=True)
z = torch.matmul(x, w) + b
loss = torch.nn.functional.binary_cross_entropy_with_logits(z, y)
print(z)
print(loss)
print(f"Gradient function for z = {str(z.grad_fn)[:26]}")
print(f"Gradient function for loss = {str(loss.grad_fn)[:42]}")

loss.backward()
print(w.grad)
print(b.grad)

z = torch.matmul(x, w) + b
print(z.requires_grad)
with torch.no_grad():
    z = torch.matmul(x, w) + b
print(z.requires_grad)

z = torch.matmul(x, w) + b
z_det = z.detach()
print(z_det.requires_grad)

big = torch.tensor([1000.0, -1000.0], requires_grad=True)
loss = torch.nn.functional.binary_cross_entropy_with_logits(big, torch.tensor([0.0, 1.0]))
loss.backward()
print(loss, big.grad)
