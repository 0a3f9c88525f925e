"""PyTorch's top-level names: what ``import gradcli as torch`` offers, each made when it is first asked for."""

from __future__ import annotations

import math
from types import SimpleNamespace
from typing import Any

from gradcli.spelling import words
from gradcli.tensors.core import casts, dtypes, modes
from gradcli.tensors.core.modes import device, get_default_device, set_default_device
from gradcli.tensors.core.tensor import Tensor
from gradcli.tensors.dispatch.checked_calls import checked
from gradcli.tensors.dispatch.library_calls import missing
from gradcli.tensors.torch import catalogue_functions, creation, display
from gradcli.tensors.transforms import vectorizing

_PUBLIC = {
    creation: (
        "tensor", "from_numpy", "zeros", "ones", "empty", "zeros_like", "ones_like", "empty_like", "full", "full_like", "eye", "arange",
        "linspace", "logspace", "rand", "randn", "rand_like", "randn_like", "randint", "randint_like", "randperm", "normal",
        "scalar_tensor", "asarray", "Generator", "manual_seed", "initial_seed", "seed", "default_generator",
    ),
    vectorizing: ("vmap",),
    modes: (
        "no_grad", "enable_grad", "inference_mode", "set_grad_enabled", "is_grad_enabled", "is_inference_mode_enabled",
    ),
    display: ("set_printoptions",),
    dtypes: ("dtype", "Size", "set_default_dtype", "get_default_dtype"),
}  # fmt: skip
NAMES: dict[str, Any] = {
    **{name: getattr(module, name) for module, names in _PUBLIC.items() for name in names},
    **dtypes.NAMES, **catalogue_functions.OWN, "Tensor": Tensor, "device": device,
    "get_default_device": get_default_device, "set_default_device": set_default_device,
    "where": catalogue_functions.where, "as_tensor": checked(casts.as_tensor),
    "pi": math.pi, "e": math.e, "inf": math.inf, "nan": math.nan, "newaxis": None,
    **{name: name for name in ("contiguous_format", "preserve_format", "strided")},  # of which there is one each
    "cuda": SimpleNamespace(is_available=lambda: False, device_count=lambda: 0),
}  # fmt: skip


_ELSEWHERE = {  # what people look for at the top, and where it is
    "grad": "gradcli.evaluate(...).grad has an expression's gradients, gradcli.autograd.grad gives those of tensors",
    "jacobian": 'gradcli.evaluate(..., mode="jacobian") gives it of an expression, gradcli.autograd.functional.jacobian of a function',
    "hessian": 'gradcli.evaluate(..., mode="hessian") gives it of an expression, gradcli.autograd.functional.hessian of a function',
    "hvp": 'gradcli.evaluate(..., hvp={{"x": 1.0}}) gives it of an expression, gradcli.autograd.functional.hvp of a function',
    "jvp": 'gradcli.evaluate(..., jvp={{"x": 1.0}}) gives it of an expression, gradcli.autograd.functional.jvp of a function',
    "vjp": "gradcli.evaluate(..., seed=...) gives it of an expression, gradcli.autograd.functional.vjp of a function",
    "check": "gradcli.evaluate(...).check is the verdict on an expression, `gradcli check` holds files to it",
    "gradcheck": "gradcli.autograd.gradcheck holds a function of tensors to its reference",
    "eval": "gradcli.evaluate(...) is the value and the gradient of an expression",
    **dict.fromkeys(("dropout", "batch_norm", "instance_norm"), "torch.nn.functional has it"),
    **dict.fromkeys(
        words("""
        binary_cross_entropy_with_logits cosine_embedding_loss ctc_loss hinge_embedding_loss
        kl_div margin_ranking_loss poisson_nll_loss triplet_margin_loss
    """),
        "torch.nn.functional has it, with names for the reductions in place of numbers",
    ),
    **dict.fromkeys(words("bound export plot functions repl"), "it is a command, `gradcli {name} --help`"),
}


_COMPLEX = "its numbers are complex, and tensors of gradcli hold real ones"
_RECURRENT = "it is a kernel behind torch.nn's recurrent modules, which gradcli does not have"
_WITHOUT = {  # what is not here, and why
    "eig": f"{_COMPLEX}; torch.linalg.eigh is of symmetric matrices",
    "eigvals": f"{_COMPLEX}; torch.linalg.eigvalsh is of symmetric matrices",
    **dict.fromkeys(words("""
        complex polar view_as_real view_as_complex stft istft complex32 complex64 complex128
        cfloat cdouble chalf imag is_complex_ fft
    """), _COMPLEX),
    **dict.fromkeys(words("lstm gru rnn_tanh rnn_relu lstm_cell gru_cell rnn_tanh_cell rnn_relu_cell"), _RECURRENT),
    "lobpcg": "it iterates from random vectors; torch.linalg.eigh is exact",
    "embedding_bag": "F.embedding(index, weight) has the rows, which are summed bag by bag",
    **dict.fromkeys(("set_num_threads", "set_num_interop_threads"), "threads are those of NumPy's BLAS: set OMP_NUM_THREADS"),
    **dict.fromkeys(("set_float32_matmul_precision", "set_flush_denormal"), "float32 is computed as it is"),
    **dict.fromkeys(("channels_last", "channels_last_3d", "sparse_coo"), "tensors of gradcli are dense and strided"),
    **dict.fromkeys(words("quantize_per_tensor quantize_per_channel qint8 quint8 qint32"), "quantized numbers have no gradients"),
}  # fmt: skip


def without(name: str, where: str) -> None:
    """Raise AttributeError for a name of PyTorch's that gradcli leaves out, with the reason."""
    if name in _WITHOUT:
        raise AttributeError(f"gradcli has no {where}.{name}: {_WITHOUT[name]}")


def resolve(name: str, where: str = "torch") -> Any:
    """The value of a name of PyTorch's. Raises AttributeError, by name, for what gradcli does not have."""
    if name in NAMES:
        return NAMES[name]
    without(name, where)
    if name in ("save", "load"):
        from gradcli.tensors.torch import display

        return getattr(display, name)
    if name.startswith("_"):
        raise AttributeError(f"module 'gradcli' has no attribute {name!r}")
    writing = catalogue_functions.in_place(name, where) or ((lambda x: x.zero_()) if name == "zero_" else None)
    if writing is not None:
        return writing
    if name in _ELSEWHERE:
        raise AttributeError(f"gradcli has no {name}: {_ELSEWHERE[name].format(name=name)}")
    return catalogue_functions.function(name, where)


def names() -> set[str]:
    """PyTorch's names that there are."""
    return {*NAMES, *catalogue_functions.function_names()} - _ELSEWHERE.keys()


__all__ = ["NAMES", "missing", "names", "resolve"]
