"""Functions and gradients in few bits, as people write them."""
