"""PyTorch's functions by their names.

They are those of the catalogue, and the few that are about tensors themselves.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache, partial
from operator import index
from types import SimpleNamespace
from typing import Any

import numpy as np

from gradcli.namespace.compositions import letter_operands
from gradcli.ops.calling import binding, meanings
from gradcli.ops.calling.meanings import CALL, Class, class_of, qualified_name
from gradcli.ops.calling.prefixes import TORCH
from gradcli.ops.registry import public_names, record_named
from gradcli.ops.spec import Composite
from gradcli.tensors.core import dtypes, modes
from gradcli.tensors.core.dtypes import as_numpy, of_numpy
from gradcli.tensors.core.in_place import as_tensor, clone_of
from gradcli.tensors.core.modes import device, get_default_device, set_default_device
from gradcli.tensors.core.tensor import Tensor
from gradcli.tensors.dispatch.apply import check_annotations
from gradcli.tensors.dispatch.call_arguments import HOST
from gradcli.tensors.dispatch.library_calls import caller, missing, named_results, record_of
from gradcli.tensors.torch import creation, display
from gradcli.tensors.torch.creation import OF_NETWORKS as RANDOM_OF_NETWORKS
from gradcli.tensors.torch.creation import RANDOM
from gradcli.tensors.torch.own_methods import BITS, CASTS, MEMORY, METHODS
from gradcli.tensors.torch.own_methods import FUNCTIONS as QUESTIONS
from gradcli.tensors.transforms import vectorizing
from gradcli.texts import by_word, words


@cache
def function(name: str, where: str = "torch") -> Callable[..., Any]:
    """Return a function of the catalogue under PyTorch's name.

    Raises AttributeError if there is none.
    """
    there = qualified_name(name, f"{where}.{name}", TORCH)
    found = record_of(there)
    if found is None:
        if name.endswith("_") and hasattr(Tensor, name):  # torch.sqrt_(x) is x.sqrt_()
            return getattr(Tensor, name)  # type: ignore[no-any-return]
        raise AttributeError(missing(name, where))
    record, signature = found
    words = [p.name for p in signature.parameters]
    writes = (
        words.index("inplace") if where == "torch.nn.functional" and "inplace" in words else None
    )
    parts = record.result_names if where == "torch.linalg" and isinstance(record, Composite) else ()
    calling = caller(there, TORCH, name)
    if writes is None and not parts:
        return calling

    def run(*arguments: Any, **keywords: Any) -> Any:
        if writes is not None and len(arguments) == writes + 1:
            arguments, keywords = arguments[:writes], {**keywords, "inplace": arguments[writes]}
        if writes is not None and "inplace" in keywords:  # any truth value, as in Python
            keywords["inplace"] = bool(keywords["inplace"])
        result = calling(*arguments, **keywords)
        return (
            named_results(f"linalg_{name}", parts, result)
            if parts and isinstance(result, tuple)
            else result
        )

    run.__name__ = run.__qualname__ = name
    run.__doc__ = record.doc
    return run


@cache
def network_function(name: str) -> Callable[..., Any]:
    """Return a function of torch.nn.functional.

    Raises AttributeError if there is none.
    """
    return OF_NETWORKS.get(name) or function(name, "torch.nn.functional")


def function_names() -> list[str]:
    """Return the names under which there are functions in PyTorch's parts."""
    return sorted(
        name
        for name in {*public_names(), *meanings.names()}
        if "." not in name and name not in _WITHOUT and record_of(name) is not None
    )


def einsum(equation: Any, *operands: Any) -> Any:
    """Sum products over named axes.

    ``einsum(x, [0, 1], y, [1, 2], [0, 2])`` names them by numbers.
    """
    if isinstance(equation, Tensor) and operands:
        equation, listed = letter_operands((equation, *operands), index)
        return einsum(equation, *listed)
    if isinstance(operands[0] if operands else None, (list, tuple)):
        operands = tuple(operands[0])
    if not operands:
        raise ValueError(
            "einsum(): must specify the equation string and at least one operand, or at least one "
            "operand and its subscripts list"
        )
    if not isinstance(equation, str):
        raise TypeError("einsum(): the first argument is the equation, a string; operands follow")
    tensors = [as_tensor(o) for o in operands]
    if len(tensors) == 1 and tensors[0].array.dtype.kind in "iub" and _sums(equation):
        tensors = [tensors[0].to(dtypes.int64)]  # sums of whole numbers are int64
    found: Tensor = record_named("einsum")(*tensors, subscripts=equation)
    # whole numbers wrap around
    return found.to(of_numpy(dtypes.result_type([x.array for x in tensors])))


def _sums(equation: str) -> bool:
    """Return whether a letter of one term's is not in the result."""
    term, arrow, result = equation.replace(" ", "").partition("->")
    letters = set(term) - {"."}
    return (
        bool(letters - set(result)) if arrow else any(term.count(letter) > 1 for letter in letters)
    )


def where(condition: Any, *choices: Any, **keywords: Any) -> Any:
    """One of two values, entry by entry; of a condition alone, the places where it holds."""
    if not isinstance(condition, Tensor):
        raise TypeError(
            f"where(): argument 'condition' must be Tensor, not {type(condition).__name__}"
        )
    if not choices and not keywords:
        return METHODS["nonzero"](condition, as_tuple=True)
    if condition.array.dtype != np.bool_:
        if condition.array.dtype != np.uint8:
            raise RuntimeError(
                f"where: the condition is a boolean tensor, not one of {condition.dtype.name}"
            )
        condition = condition.to(dtypes.bool_)
    return caller("where")(condition, *choices, **keywords)


def where_of(x: Tensor, condition: Any, other: Any) -> Any:
    """Apply the method ``x.where(condition, other)``."""
    return where(condition, x, other)


def is_tensor(x: Any) -> bool:
    return isinstance(x, Tensor)


def promote_types(first: dtypes.dtype, second: dtypes.dtype) -> dtypes.dtype:
    """Return the dtype of the smallest size and kind that holds both."""
    return of_numpy(dtypes.common_dtype(as_numpy(first), as_numpy(second)))


def can_cast(found: dtypes.dtype, wanted: dtypes.dtype) -> bool:
    """Return whether results of a dtype may be written to tensors of another one."""
    return dtypes.can_cast(as_numpy(found), as_numpy(wanted))


def one_hot(x: Tensor, num_classes: int = -1) -> Tensor:
    """Return, for each entry, a row of zeros with a one at the entry's place."""
    if x.dtype is not dtypes.int64:
        raise RuntimeError("one_hot is only applicable to index tensor of type LongTensor.")
    if num_classes == -1:
        if not x.array.size:
            raise RuntimeError(
                "Class values must be non-negative: can not infer total number of classes from "
                "empty tensor."
            )
        num_classes = int(x.array.max()) + 1
    hot: Tensor = function("one_hot", "torch.nn.functional")(x, num_classes)
    return hot.to(dtypes.int64)


def _normalization(name: str, flag: str, batch: tuple[int, ...]) -> Callable[..., Tensor]:
    """Return a normalization of channels, which moves its running statistics while it trains.

    flag   says that it trains
    batch  the axis that the statistics run along besides those of a channel; without it they are
           means over the batch
    """

    def run(*arguments: Any, **keywords: Any) -> Tensor:
        result: Tensor = function(name, "torch.nn.functional")(*arguments, **keywords)
        found = record_of(name)
        assert found is not None
        given = {**found[0].static, **binding.bind(HOST, name, found[1], arguments, keywords)}
        if given[flag]:
            x, share = given["x"].detach(), given["momentum"]
            for measure in ("mean", "var"):
                kept = given.get(f"running_{measure}")
                if kept is not None:
                    now = getattr(x, measure)((*batch, *range(2, x.ndim)))
                    kept.mul_(1 - share).add_(now if batch else now.mean(0), alpha=share)
        return result

    return run


_NAMED = {
    **RANDOM_OF_NETWORKS,
    "one_hot": one_hot,
    "batch_norm": _normalization("batch_norm", "training", (0,)),
    "instance_norm": _normalization("instance_norm", "use_input_stats", ()),
}


OF_NETWORKS: dict[str, Callable[..., Any]] = {
    name: check_annotations(function, name) for name, function in _NAMED.items()
}
OWN: dict[str, Callable[..., Any]] = {
    **QUESTIONS, **RANDOM,
    "einsum": einsum, "is_tensor": is_tensor, "promote_types": promote_types, "can_cast": can_cast,
    "detach": Tensor.detach,
    "clone": check_annotations(clone_of, "clone"), "as_strided": check_annotations(MEMORY["as_strided"], "as_strided"),
    **{name: check_annotations(CASTS[name], name) for name in ("positive", "resolve_conj", "resolve_neg")},
    **{name: check_annotations(function, name) for name, function in BITS.items()},
}  # fmt: skip


# -- PyTorch's top-level names: what ``import gradcli as torch`` offers, each made when it is first
# asked for.


_PUBLIC = {
    creation: words("""
    tensor from_numpy zeros ones empty zeros_like ones_like empty_like full full_like eye
    arange linspace logspace rand randn rand_like randn_like randint randint_like randperm
    normal scalar_tensor Generator manual_seed initial_seed seed default_generator
"""),
    vectorizing: ("vmap",),
    modes: words("""
    no_grad enable_grad inference_mode set_grad_enabled is_grad_enabled
    is_inference_mode_enabled
"""),
    display: ("set_printoptions",),
    dtypes: ("dtype", "Size", "set_default_dtype", "get_default_dtype"),
}  # fmt: skip
NAMES: dict[str, Any] = {
    **{name: getattr(module, name) for module, names in _PUBLIC.items() for name in names},
    **dtypes.NAMES, **OWN, "Tensor": Tensor, "device": device,
    "get_default_device": get_default_device, "set_default_device": set_default_device,
    "where": where, "as_tensor": check_annotations(as_tensor),
    "pi": math.pi, "e": math.e, "inf": math.inf, "nan": math.nan, "newaxis": None,
    # Singletons in PyTorch. Here, their names represent them.
    **{name: name for name in ("contiguous_format", "preserve_format", "strided")},
    "cuda": SimpleNamespace(is_available=lambda: False, device_count=lambda: 0),
}  # fmt: skip


_ELSEWHERE = by_word(
    {  # names that people look for at the top, and where to find them
        "grad": "gradcli.evaluate(...).grad has an expression's gradients, gradcli.autograd.grad "
        "gives those of tensors",
        "jacobian": 'gradcli.evaluate(..., mode="jacobian") gives it of an expression, '
        "gradcli.autograd.functional.jacobian of a function",
        "hessian": 'gradcli.evaluate(..., mode="hessian") gives it of an expression, '
        "gradcli.autograd.functional.hessian of a function",
        "hvp": 'gradcli.evaluate(..., hvp={{"x": 1.0}}) gives it of an expression, '
        "gradcli.autograd.functional.hvp of a function",
        "jvp": 'gradcli.evaluate(..., jvp={{"x": 1.0}}) gives it of an expression, '
        "gradcli.autograd.functional.jvp of a function",
        "vjp": "gradcli.evaluate(..., seed=...) gives it of an expression, "
        "gradcli.autograd.functional.vjp of a function",
        "check": "gradcli.evaluate(...).check is the verdict on an expression, `gradcli check` holds "
        "files to it",
        "gradcheck": "gradcli.autograd.gradcheck holds a function of tensors to its reference",
        "eval": "gradcli.evaluate(...) is the value and the gradient of an expression",
        "dropout batch_norm instance_norm": "torch.nn.functional has it",
        """
        binary_cross_entropy_with_logits cosine_embedding_loss ctc_loss hinge_embedding_loss
        kl_div margin_ranking_loss poisson_nll_loss triplet_margin_loss
    """: "torch.nn.functional has it, with names for the reductions in place of numbers",
        "bound export plot functions repl": "it is a command, `gradcli {name} --help`",
    }
)


_COMPLEX = "its numbers are complex, and tensors of gradcli hold real ones"
_RECURRENT = "it is a kernel behind torch.nn's recurrent modules, which gradcli does not have"
_WITHOUT = by_word({  # names that gradcli does not have, and why
    "eig": f"{_COMPLEX}; torch.linalg.eigh is of symmetric matrices",
    "eigvals": f"{_COMPLEX}; torch.linalg.eigvalsh is of symmetric matrices",
    """
        complex polar view_as_real view_as_complex stft istft complex32 complex64 complex128
        cfloat cdouble chalf imag is_complex_ fft
    """: _COMPLEX,
    "lstm gru rnn_tanh rnn_relu lstm_cell gru_cell rnn_tanh_cell rnn_relu_cell": _RECURRENT,
    "poisson binomial multinomial": "it draws at random, and has no gradient; np.random has it",
    "optim": "with torch.no_grad(): p -= lr*p.grad is a step",
    "distributions": "torch.distributions.Normal(m, s).log_prob(x) can be evaluated: gradcli.evaluate",
    "jit compile": "functions run as they are",
    "save load": "np.save keeps x.detach().numpy()",
    "lobpcg": "it iterates from random vectors; torch.linalg.eigh is exact",
    "embedding_bag": "F.embedding(index, weight) has the rows, which are summed bag by bag",
    "set_num_threads set_num_interop_threads": "threads are those of NumPy's BLAS: set OMP_NUM_THREADS",
    "set_float32_matmul_precision set_flush_denormal": "float32 is computed as it is",
    "channels_last channels_last_3d sparse_coo": "tensors of gradcli are dense and strided",
    "quantize_per_tensor quantize_per_channel qint8 quint8 qint32": "quantized numbers have no gradients",
})  # fmt: skip


def without(name: str, where: str) -> None:
    """Raise AttributeError for a name of PyTorch's that gradcli leaves out, with the reason."""
    if name in _WITHOUT:
        raise AttributeError(f"gradcli has no {where}.{name}: {_WITHOUT[name]}")


def resolve(name: str, where: str = "torch") -> Any:
    """Return the value of a name of PyTorch's.

    Raises AttributeError, by name, for what gradcli does not have.
    """
    if name in NAMES:
        return NAMES[name]
    without(name, where)
    if name.startswith("_"):
        raise AttributeError(f"module 'gradcli' has no attribute {name!r}")
    if name in _ELSEWHERE:
        raise AttributeError(f"gradcli has no {name}: {_ELSEWHERE[name].format(name=name)}")
    return function(name, where)


@cache
def module(name: str) -> Callable[..., Callable[..., Any]]:
    """Return a constructor of objects of the class of that name in torch.nn.

    The objects are functions of torch.nn.functional that keep arguments.

    Raises AttributeError for what gradcli does not have, with the reason.
    """
    found = class_of(name, TORCH)
    if not isinstance(found, Class):
        why = f": {found.why}; {found.help}" if found else ""
        raise AttributeError(f"gradcli has no torch.nn.{name}{why}")

    def make(*arguments: Any, **keywords: Any) -> Callable[..., Any]:
        kept = binding.bind(HOST, name, found.constructor, arguments, keywords)
        for word, times in found.repeated.items():
            if isinstance(kept.get(word), int):
                kept[word] = (kept[word],) * times
        if "training" in found.accepts(CALL):
            kept["training"] = True
        return partial(network_function(found.methods[CALL]), **found.defaults, **kept)

    return make


def names() -> set[str]:
    """PyTorch's names that there are."""
    return {*NAMES, *function_names()} - _ELSEWHERE.keys() - _WITHOUT.keys()
