"""Every function of the catalogue under its name there. Written by tests/stubs.py."""

from gradcli.tensors.torch.names import *
