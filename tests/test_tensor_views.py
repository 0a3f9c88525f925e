"""Views share memory, versions and history with their base; what cannot be followed is refused;
anomalies name their lines.

What PyTorch prints of views, of writing through them and of programs of both drawn at random stands
in tests/scripts.
"""

from __future__ import annotations

import subprocess
import sys
import warnings
from typing import Any

import numpy as np
import pytest
from recorded import over

import gradcli as torch
from gradcli.autograd import gradcheck, gradgradcheck
from gradcli.ops.arrays.striding import as_strided, as_strided_scatter

DOUBLE = torch.float64


def leaf() -> Any:
    return torch.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], dtype=DOUBLE, requires_grad=True)


# -- regions of memory: what stands where is written by hand
# ------------------------------------------------------------

# a matrix of three columns, row by row
# the same kept column by column


@over("regions", "places", "place", "wanted")
def test_regions_of_memory(place: Any, wanted: Any) -> None:
    place = {name: tuple(v) if isinstance(v, list) else v for name, v in place.items()}
    x = np.arange(10.0, 16.0).reshape(2, 3)
    indices = np.array(wanted, dtype=object).reshape(place["size"])
    taken = np.array([0.0 if i is None else x.flat[i] for i in indices.reshape(-1)]).reshape(
        indices.shape
    )
    assert as_strided(x, **place).tolist() == taken.tolist()
    new = np.arange(1.0, 1.0 + indices.size).reshape(indices.shape)
    written = x.copy()
    for i, value in zip(indices.reshape(-1), new.reshape(-1), strict=True):
        if i is not None:
            written.flat[i] = value
    assert as_strided_scatter(x, new, **place).tolist() == written.tolist()


# -- derivatives through them, held against the reference and against differences
# -----------------------------------------


@over("regions", "writes", "text")
def test_derivatives_of_what_is_written_through_views(text: str) -> None:
    """Another view, taken before, shows what was written, in its value and in its gradient."""

    def function(x: Any, b: Any) -> Any:
        y = x * 1.5
        early = y[:, 1:]
        eval(text, {"y": y, "b": b})
        return y * y, early.sum(0) * 2

    b = torch.tensor([0.5, -1.5], dtype=DOUBLE, requires_grad=True)
    assert gradcheck(function, (leaf(), b))


def test_second_derivatives_are_held_against_the_reference() -> None:
    """What a node has kept of its result is known in a trace: differences, which take thousands of
    runs, are not needed.
    """
    runs = 0

    def function(x: Any, b: Any) -> Any:
        nonlocal runs
        runs += 1
        y = x.clone()
        y.narrow(1, 1, 2).mul_(b)
        return y

    b = torch.tensor([[0.5, -1.5], [2.0, 0.25]], dtype=DOUBLE, requires_grad=True)
    assert gradgradcheck(
        function, (leaf(), b), (torch.ones(2, 3, dtype=DOUBLE, requires_grad=True),)
    )
    assert runs < 20


def test_of_one_memory_a_gradient_is_shared() -> None:
    """An expanded tensor taken by strides: PyTorch gives each entry of the one memory its part."""
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    x.expand(3, 2).as_strided((2,), (1,)).sum().backward()
    assert x.grad.tolist() == [1.0, 1.0]


# -- what was found on trial
# ----------------------------------------------------------------------------------------------


def test_numpy_where_nothing_is_recorded() -> None:
    x = leaf()
    with torch.no_grad():
        assert x.numpy() is x.array
    with pytest.raises(RuntimeError, match="Can't call numpy"):
        x.numpy()


def test_read_only_arrays_are_not_written_to() -> None:
    array = np.ones(3)
    array.flags.writeable = False
    x = torch.from_numpy(array)
    for write in (
        lambda: x.add_(1),
        x.zero_,
        lambda: x.__setitem__(0, 2.0),
        lambda: x[1:].fill_(3.0),
    ):
        with pytest.raises(RuntimeError, match="read-only"):
            write()
    assert array.tolist() == [1.0, 1.0, 1.0]


# -- anomalies
# ------------------------------------------------------------------------------------------------------------


class Broken(torch.autograd.Function):
    """A derivative that is NaN."""

    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        return x.sum()

    @staticmethod
    def backward(ctx: Any, gradient: Any) -> Any:
        return torch.tensor([0.0, float("nan")])


def test_an_anomaly_names_its_line() -> None:
    x = torch.ones(2, requires_grad=True)
    with warnings.catch_warnings(record=True) as seen, torch.autograd.set_detect_anomaly(True):
        warnings.simplefilter("always")
        y = Broken.apply(x * 2)  # here
        with pytest.raises(
            RuntimeError,
            match=r"Function 'BrokenBackward' returned nan values in its 0th output\. Element "
            r"\[1\]",
        ):
            y.backward()
    (told,) = [str(w.message) for w in seen]
    assert told.startswith(
        "Error detected in BrokenBackward. Traceback of forward call that caused the error:\n"
    )
    assert "y = Broken.apply(x * 2)  # here" in told
    assert "gradcli/tensors" not in told


def test_an_anomaly_tells_what_was_infinite_before() -> None:
    x = torch.zeros(2, requires_grad=True)
    with warnings.catch_warnings(), torch.autograd.set_detect_anomaly(True):
        warnings.simplefilter("ignore")
        y = Broken.apply(x.log())
        with pytest.raises(
            RuntimeError,
            match=r"The first value before it that is not finite: element \[0\] of log is -inf of "
            r"0\.0\.",
        ):
            y.backward()


def test_nodes_know_where_they_were_made() -> None:
    """As PyTorch keeps it with a node: the user's lines, the innermost last."""
    x = torch.ones(1, requires_grad=True)
    with torch.autograd.set_detect_anomaly(True):
        y = x.exp()
    lines = y.grad_fn.metadata["traceback_"]
    assert all(isinstance(line, str) for line in lines)
    assert f'File "{__file__}"' in lines[-1]
    assert "y = x.exp()" in lines[-1]


def test_a_graph_of_gradients_in_leaves_is_warned_of_once() -> None:
    program = """
import gradcli as torch
x = torch.ones(2, requires_grad=True)
for _ in range(2):
    (x * x).sum().backward(create_graph=True)
torch.autograd.grad((x * x).sum(), x, create_graph=True)
"""
    done = subprocess.run(
        [sys.executable, "-W", "always", "-c", program],
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    assert (
        done.stderr.count("Using backward() with create_graph=True will create a reference cycle")
        == 1
    )


def test_dirty_tensors_that_are_no_inputs_are_warned_of() -> None:
    class Double(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            y = x * 2
            ctx.mark_dirty(y)
            return y

        @staticmethod
        def backward(ctx: Any, gradient: Any) -> Any:
            return gradient * 2

    with pytest.warns(UserWarning, match="Only input Tensors should be given to ctx.mark_dirty"):
        Double.apply(torch.ones(2, requires_grad=True))


@over("regions", "new memory", "text")  # fmt: skip
def test_functions_that_had_nothing_to_do_give_new_memory(text: str) -> None:
    x = torch.tensor(2.0)
    result = eval(text, {"x": x})
    x.zero_()
    assert result.sum().item() == 2.0


@over("regions", "kept", "text", "refused")
def test_what_backward_reads_may_not_be_written_to(text: str, refused: list[str]) -> None:
    """What PyTorch refuses: to go back twice, or once the result, the operand or the constant has
    been written to.
    """

    def goes_back(which: str) -> bool:
        x = torch.tensor([[0.5, 0.25], [0.75, 0.3]], requires_grad=True) * 1.0
        c = torch.tensor([[1.0, 2.0], [3.0, 4.0]])
        y = eval(text, {"torch": torch, "F": torch.nn.functional, "x": x, "c": c})
        y = y if isinstance(y, torch.Tensor) else y[0]
        try:
            if which == "result":
                y += 1
            total = y.sum()
            if which == "twice":
                total.backward()
            {"operand": x, "constant": c}.get(which, torch.zeros(())).add_(1)
            total.backward()
        except RuntimeError:
            return False
        return True

    kinds = ("result", "operand", "constant", "twice")
    assert [kind for kind in kinds if not goes_back(kind)] == refused
