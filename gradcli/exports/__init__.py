"""A value and its gradients as a function in another language, for people to read and to use."""
