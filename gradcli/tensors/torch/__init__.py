"""PyTorch's names: what is made, asked, printed and called under them."""
