"""NumPy's functions on tensors, each with every keyword that it has, beside NumPy itself: used as
it uses them, or refused by name.

Every array of a call is a tensor in its turn, also one that stands in a list or as a parameter. Its
gradient is held against difference quotients of NumPy's function, or the call is refused: no
gradient is lost.
"""

from __future__ import annotations

import inspect
import re
import warnings
from typing import Any

import numpy as np
import pytest
from helpers import thinned
from numpy_arguments import ARGUMENTS, ARRAYS, KEYWORDS, OTHERS
from recorded import read_table

import gradcli as torch
from gradcli import GradcliError

_DISPATCHED = type(np.sum)
_UFUNC_KEYWORDS = (
    "where",
    "out",
    "dtype",
    "casting",
    "order",
    "subok",
    "axis",
    "keepdims",
    "signature",
)
_OF_LINALG = [
    f"linalg.{name}" for name in dir(np.linalg) if isinstance(getattr(np.linalg, name), _DISPATCHED)
]
_REMOVED = {"in1d"}  # the old name of isin, which NumPy 2.4 lacks
EVERY = [
    name
    for name in dir(np)
    if name not in _REMOVED and isinstance(getattr(np, name), (_DISPATCHED, np.ufunc))
] + _OF_LINALG

TABLES = read_table("numpy_calls.json")
# What has no meaning for tensors, or takes no float arrays, or is refused whatever is given (by
# name, as one test says below), or is of other kinds of arguments, tested elsewhere.
REFUSED = set(TABLES["refused names"])
# Without a derivative at these arguments, or with one that is a choice (signs of vectors).
NOT_COMPARED = {"linalg.eigh", "linalg.svd", "linalg.qr"}


def function_of(name: str) -> Any:
    return getattr(np.linalg, name[7:]) if name.startswith("linalg.") else getattr(np, name)


def calls_of(name: str) -> list[str]:
    """Arguments by position, as texts."""
    function = function_of(name)
    if name in ARGUMENTS:
        return list(ARGUMENTS[name])
    return (
        [", ".join("pq"[: function.nin])]
        if isinstance(function, np.ufunc) and function.nin < 3
        else ["x"]
    )


def keywords_of(name: str) -> list[str]:
    function = function_of(name)
    if isinstance(function, np.ufunc):
        return list(_UFUNC_KEYWORDS)
    try:
        return list(inspect.signature(function).parameters)
    except ValueError:
        return []


def texts_of(name: str) -> list[str]:
    """Calls: without keywords, and with each in each of its values."""
    found = []
    for arguments in calls_of(name):
        found.append(f"np.{name}({arguments})")
        for keyword in keywords_of(name):
            if f"{keyword}=" not in arguments:
                found += [
                    f"np.{name}({arguments}, {keyword}={value})"
                    for value in KEYWORDS.get(keyword, ())
                ]
    return found


def run(text: str, given: dict[str, Any]) -> Any:
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        return eval(text, {**OTHERS, **given})


def plain(result: Any) -> Any:
    if isinstance(result, torch.Tensor):
        return result.detach().numpy()
    return tuple(map(plain, result)) if isinstance(result, (tuple, list)) else result


def parts_of(result: Any) -> list[Any]:
    return (
        [part for item in result for part in parts_of(item)]
        if isinstance(result, (tuple, list))
        else [result]
    )


def assert_same(got: Any, wanted: Any, text: str) -> None:
    mine, theirs = parts_of(plain(got)), parts_of(wanted)
    assert len(mine) == len(theirs), text
    for one, other in zip(mine, theirs, strict=True):
        if isinstance(other, (np.dtype, type)):
            assert one == other, text
            continue
        assert np.shape(one) == np.shape(other), (
            f"{text}: shape {np.shape(one)}, not {np.shape(other)}"
        )
        assert np.allclose(one, other, rtol=1e-6, atol=1e-12, equal_nan=True), (
            f"{text}: {one}, not {other}"
        )


def weighted(result: Any) -> Any:
    """A sum of all floats of a result, each with a weight of its own."""
    total: Any = 0.0
    for part in parts_of(result):
        entries = part.reshape(-1) if isinstance(part, torch.Tensor) else np.ravel(part)
        if isinstance(part, torch.Tensor) and not part.dtype.is_floating_point:
            continue
        if not isinstance(part, torch.Tensor) and np.asarray(part).dtype.kind != "f":
            continue
        weights = np.cos(np.arange(entries.shape[0]) + 1.0)
        total = total + (entries * weights).sum()
    return total


def slope(text: str, name: str) -> np.ndarray:
    """Difference quotients of NumPy's function by the entries of an array."""
    base, step = ARRAYS[name], 1e-5
    found = np.zeros(base.shape)
    for place in np.ndindex(base.shape):
        ends = []
        for sign in (1, -1):
            moved = base.copy()
            moved[place] += sign * step
            ends.append(float(weighted(run(text, {**copies(), name: moved}))))
        found[place] = (ends[0] - ends[1]) / (2 * step)
    return found


def copies() -> dict[str, Any]:
    return {name: array.copy() for name, array in ARRAYS.items()}


def used(text: str) -> list[str]:
    return [name for name in ARRAYS if re.search(rf"\b{name}\b", text.split("(", 1)[1])]


def assert_keywords_are_used(name: str) -> None:
    taken = 0
    for text in texts_of(name):
        given: dict[str, Any] = copies()
        empty = text.endswith("out=empty)")
        try:
            base = run(text.replace(", out=empty", ""), given)
            if empty:
                given["empty"] = np.full(
                    np.shape(base),
                    77.0 if np.asarray(base).dtype.kind == "f" else 7,
                    np.asarray(base).dtype,
                )
                base = run(text, given).copy() if np.shape(base) else run(text, given)
        except Exception:  # NumPy takes no such call
            continue
        mine: dict[str, Any] = {key: torch.tensor(array) for key, array in copies().items()}
        if empty:
            mine["empty"] = np.full(
                np.shape(base),
                77.0 if np.asarray(base).dtype.kind == "f" else 7,
                np.asarray(base).dtype,
            )
        try:
            got = run(text, mine)
        except (TypeError, GradcliError):
            assert "=" in text, f"{text} is refused"
            continue
        except Exception as error:
            pytest.fail(f"{text}: {type(error).__name__} {error}")
        assert_same(got, base, text)
        if empty:
            assert_same(mine["empty"], base, f"{text}: what was written")
        taken += 1
    assert taken


def assert_gradients_are_kept(name: str) -> None:
    for text in texts_of(name):
        if "out=empty" in text or "dtype=" in text or "float32" in text:
            continue
        for wrt in used(text):
            leaf = torch.tensor(ARRAYS[wrt], requires_grad=True)
            try:
                run(text, copies())
                wanted = slope(text, wrt)
            except Exception:  # NumPy takes no such call, or not beside these values
                continue
            try:
                result = weighted(run(text, {**copies(), wrt: leaf}))
            except (TypeError, RuntimeError):
                continue  # refused
            if not np.any(np.abs(wanted) > 1e-4):
                continue
            assert getattr(result, "requires_grad", False), f"{text}: the gradient by {wrt} is lost"
            if name in NOT_COMPARED:
                continue
            result.backward()
            assert leaf.grad is not None, f"{text}: no gradient by {wrt}"
            assert np.allclose(leaf.grad.numpy(), wanted, rtol=1e-4, atol=1e-5, equal_nan=True), (
                f"{text}, by {wrt}: {leaf.grad}, not {wanted}"
            )


@pytest.mark.parametrize("name", thinned([name for name in EVERY if name not in REFUSED]))
def test_every_keyword_and_array(name: str) -> None:
    """Whatever is given is used, and keeps its gradient."""
    assert_keywords_are_used(name)
    assert_gradients_are_kept(name)


@pytest.mark.parametrize(
    "name", ["copyto", "put", "putmask", "place", "fill_diagonal", "linalg.eig", "roots", "spacing"]
)
def test_what_is_not_there_is_refused_by_name(name: str) -> None:
    arguments = {
        "copyto": "x, y",
        "put": "x, [0], [1.0]",
        "putmask": "x, m, y",
        "place": "x, m, [1.0]",
        "fill_diagonal": "s, 0.0",
    }
    text = f"np.{name}({arguments.get(name, 's' if 'linalg' in name else 'v')})"
    with pytest.raises(
        TypeError,
        match=f"gradcli has no numpy.*{name.rpartition('.')[2]} on tensors; tensor.detach",
    ):
        run(text, {key: torch.tensor(array) for key, array in copies().items()})


@pytest.mark.parametrize("text", TABLES["methods of ufuncs"])
def test_methods_of_ufuncs(text: str) -> None:
    assert_same(
        run(text, {name: torch.tensor(array) for name, array in copies().items()}),
        run(text, copies()),
        text,
    )
    for wrt in used(text):
        leaf = torch.tensor(ARRAYS[wrt], requires_grad=True)
        weighted(run(text, {**copies(), wrt: leaf})).backward()
        assert np.allclose(leaf.grad.numpy(), slope(text, wrt), rtol=1e-4, atol=1e-6), text


@pytest.mark.parametrize(("text", "error", "message"), TABLES["refused"])
def test_what_numpy_takes_and_tensors_do_not(text: str, error: str, message: str) -> None:
    x = torch.tensor(ARRAYS["x"], requires_grad=True)
    with pytest.raises(
        {"TypeError": TypeError, "RuntimeError": RuntimeError}[error], match=message
    ):
        run(text, {**copies(), "x": x})


def test_arrays_are_written_to_where_a_mask_holds() -> None:
    out = np.full((2, 3), 9.0)
    x, mask = torch.tensor(ARRAYS["x"]), OTHERS["m"]
    assert np.exp(x, out=out, where=mask) is out
    assert np.array_equal(out, np.where(mask, np.exp(ARRAYS["x"]), 9.0))
    out += x
    assert out[0, 1] == 9.0 + ARRAYS["x"][0, 1]


@pytest.mark.parametrize(
    ("name", "before", "after"),
    [
        ("add", ([1.3, 0.4, 0.9],), ()), ("multiply", (), ((0.1, 0.2, 0.3),)), ("concatenate", (), ()),
        ("interp", ([0.3, 1.2], [0.0, 1.0, 2.0]), ()),
    ],
)  # fmt: skip
def test_lists_are_arrays_of_numpys_floats(
    name: str, before: tuple[Any, ...], after: tuple[Any, ...]
) -> None:
    at = np.array([0.7, 0.1, 0.3])
    call = (
        (lambda x: np.concatenate([x, [0.1, 0.2]]))
        if name == "concatenate"
        else lambda x: getattr(np, name)(*before, x, *after)
    )
    assert np.array_equal(call(torch.tensor(at)).numpy(), call(at)), name


@pytest.mark.parametrize("name", TABLES["in doubles"])
@pytest.mark.parametrize("kind", ["int64", "int32"])
def test_whole_numbers_are_computed_with_in_doubles(name: str, kind: str) -> None:
    """As NumPy does, where PyTorch's own functions take floats of its default dtype."""
    entries, function = np.array([3, 1, 2], kind), getattr(np, name)
    count = function.nin if isinstance(function, np.ufunc) else 1
    found = function(*[torch.tensor(entries)] * count)
    assert found.dtype == torch.float64
    assert found.numpy() == pytest.approx(function(*[entries] * count), rel=1e-15)


@pytest.mark.parametrize("text", TABLES["parts"])
def test_parts_are_lists(text: str) -> None:
    wanted, found = (
        run(text, copies()),
        run(text, {name: torch.tensor(array) for name, array in copies().items()}),
    )
    assert isinstance(found, list)
    assert [part.tolist() for part in found] == [part.tolist() for part in wanted]


def test_eigenvectors_of_either_triangle() -> None:
    matrices = np.random.default_rng(8).normal(size=(3, 5, 5))
    for triangle in "LU":
        found, wanted = (
            np.linalg.eigh(torch.tensor(matrices), triangle),
            np.linalg.eigh(matrices, triangle),
        )
        assert found.eigenvalues.numpy() == pytest.approx(wanted.eigenvalues, abs=1e-12), triangle
        assert abs(found.eigenvectors.numpy()) == pytest.approx(
            abs(wanted.eigenvectors), abs=1e-12
        ), triangle


WHOLE = np.array([6, 4, 9])
FURTHER = {
    "i": WHOLE,
    "b": WHOLE > 4,
    "x": ARRAYS["x"],
    "s": ARRAYS["x"].astype(np.float32),
    "n": np.where(np.arange(6).reshape(2, 3) == 1, np.nan, ARRAYS["x"]),
    "h": np.array([0.5, 2.3e-308, 1.7e308]),
}


@pytest.mark.parametrize("text", TABLES["keywords, axes, dtypes"])
def test_what_keywords_axes_and_dtypes_mean_to_numpy(text: str) -> None:
    """More than the catalogue's functions of these names have."""
    (name,) = set(re.findall(r"\b[ibxsnh]\b", text))
    array = FURTHER[name]

    def function(array: Any) -> Any:
        return eval(text, {"np": np, name: array})

    found, wanted = function(torch.tensor(array)), function(array)
    assert found.numpy() == pytest.approx(wanted, rel=1e-6 if array.dtype == np.float32 else 1e-13)
    assert found.dtype.is_floating_point == (np.asarray(wanted).dtype.kind == "f")
    if array.dtype != np.float64 or np.isnan(array).any() or array.max() > 1e300:
        return
    leaf = torch.tensor(array, requires_grad=True)
    result = function(leaf)
    seed = np.cos(np.arange(result.numel()) + 1.0).reshape(result.shape)
    (result * torch.tensor(seed)).sum().backward()
    for place in np.ndindex(array.shape):
        step = np.zeros_like(array)
        step[place] = 1e-3 if np.asarray(wanted).dtype == np.float32 else 1e-6
        slope_there = ((function(array + step) - function(array - step)) * seed).sum() / (
            2 * step[place]
        )
        assert leaf.grad[place].item() == pytest.approx(
            slope_there, rel=1e-3 if step[place] == 1e-3 else 1e-6, abs=1e-7
        )


def test_bins_of_what_requires_no_grad() -> None:
    found, wanted = (
        np.histogram(torch.tensor([1.0, 5.0, 2.0]), 4),
        np.histogram(np.array([1.0, 5.0, 2.0]), 4),
    )
    assert [part.tolist() for part in found] == [part.tolist() for part in wanted]


@pytest.mark.parametrize("text", TABLES["single precision"])
def test_single_precision_stays(text: str) -> None:
    array = np.array([1.0, 1.5], np.float32)
    found, wanted = (eval(text, {"np": np, "x": x}) for x in (torch.tensor(array), array))
    assert found.dtype == torch.float32
    assert found.numpy() == pytest.approx(wanted, rel=1e-5)
