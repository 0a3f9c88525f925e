"""Plans: a value and its gradients as one fast program of NumPy calls and loops over blocks."""
