# Jacobian products: gradients accumulate until they are zeroed.
import gradcli as torch

inp = torch.eye(4, 5, requires_grad=True)
out = (inp + 1).pow(2).t()
print(str(out.grad_fn)[:11])
out.backward(torch.ones_like(out), retain_graph=True)
print(f"First call\n{inp.grad}")
out.backward(torch.ones_like(out), retain_graph=True)
print(f"\nSecond call\n{inp.grad}")
inp.grad.zero_()
out.backward(torch.ones_like(out), retain_graph=True)
print(f"\nCall after zeroing gradients\n{inp.grad}")
