"""``python -m benchmarks.checkers``: what checkers of gradients say of the functions in
tests/battery/code, each with its defaults.

A checker gets the entries that it can take: scipy.optimize.check_grad functions of one array with
one number as their result, autograd's check_grads NumPy's functions as primitives with the claim as
their rule, those of PyTorch and JAX the functions of these.
"""

from __future__ import annotations

import contextlib
import io
import sys
import warnings
from collections import Counter
from collections.abc import Callable, Mapping
from importlib import import_module, reload
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))

# check_grad returns a distance: of the gradient's size, or of one where it is smaller, what is
# still called right
SCIPY_ROOM = 1e-5
Says = Callable[
    [Any], bool | None
]  # whether the gradient of an entry is right; None if that is left open


class NotForIt(Exception):
    """An entry that a checker cannot take."""


def ours(entry: Any) -> bool | None:
    check = import_module("gradcli.testing").check_gradient(
        entry.function, entry.gradient, at=entry.at, **entry.options
    )
    return {"mismatch": False, "undetermined": None, "undefined": None}.get(
        check.verdict.word, True
    )


def _wrt(entry: Any) -> list[str]:
    wrt = entry.options.get("wrt", list(entry.at))
    return [wrt] if isinstance(wrt, str) else list(wrt)


def by_scipy(entry: Any) -> bool | None:
    (name, *others), at = _wrt(entry), dict(entry.at)
    if (
        others
        or not isinstance(at[name], (float, np.ndarray))
        or np.size(entry.function(**_copied(at))) != 1
    ):
        raise NotForIt
    shape = np.shape(at[name])

    def called(function: Callable[..., Any], x: Any) -> Any:
        return function(
            *_copied(
                {**at, name: x.reshape(shape)[()] if shape == () else x.reshape(shape)}
            ).values()
        )

    start = np.ravel(at[name]).astype(float)
    gradient = np.ravel(called(entry.gradient, start))
    found = import_module("scipy.optimize").check_grad(
        lambda x: float(np.reshape(called(entry.function, x), ())),
        lambda x: np.ravel(called(entry.gradient, x)),
        start,
    )
    return bool(found <= SCIPY_ROOM * max(1.0, float(np.linalg.norm(gradient))))


def by_autograd(entry: Any) -> bool | None:
    names, at = _wrt(entry), dict(entry.at)
    value = entry.function(*_copied(at).values())
    if not all(isinstance(at[name], (float, np.ndarray)) for name in names) or not isinstance(
        value, (float, np.ndarray)
    ):
        raise NotForIt
    extend, seeds = import_module("autograd.extend"), import_module("gradcli.functions.arguments")

    def function(*given: Any) -> Any:
        found = entry.function(*_copied({**at, **dict(zip(names, given, strict=True))}).values())
        return found[()] if isinstance(found, np.ndarray) else found

    primitive = extend.primitive(function)

    def rule(i: int) -> Any:
        def pull(out: Any, *given: Any) -> Any:
            filled = list(_copied({**at, **dict(zip(names, given, strict=True))}).values())

            def back(seed: Any) -> Any:
                said = seeds.product(entry.gradient, filled, [np.asarray(seed)], np.size(out) == 1)
                part = said[i] if len(names) > 1 else said
                scale = (
                    seed
                    if np.size(out) == 1 and not seeds.takes(entry.gradient, len(filled) + 1)
                    else 1.0
                )
                return (
                    np.asarray(part) * scale
                    if np.ndim(part)
                    else float(part) * float(np.reshape(scale, ()))
                )

            return back

        return pull

    extend.defvjp(primitive, *(rule(i) for i in range(len(names))))
    util = import_module("autograd.test_util")
    return _passes(
        lambda: util.check_grads(primitive, modes=["rev"], order=1)(
            *_copied({n: at[n] for n in names}).values()
        ),
        AssertionError,
    )


def by_torch(entry: Any) -> bool | None:
    torch = import_module("torch")
    names, at = _wrt(entry), dict(entry.at)
    if any(isinstance(value, (dict, list)) for value in at.values()) or entry.options.get("order"):
        raise NotForIt
    tensors = {
        name: torch.tensor(value, requires_grad=name in names)
        if np.ndim(value) or name in names
        else value
        for name, value in at.items()
    }
    tensors = {
        n: x.double().detach().requires_grad_() if n in names else x for n, x in tensors.items()
    }

    def function(*given: Any) -> Any:
        found = entry.function(*{**tensors, **dict(zip(names, given, strict=True))}.values())
        return (
            found
            if isinstance(found, torch.Tensor)
            else tuple(import_module("torch.utils._pytree").tree_leaves(found))
        )

    given = tuple(tensors[name] for name in names)
    return _passes(
        lambda: torch.autograd.gradcheck(function, given),
        torch.autograd.gradcheck.__globals__["GradcheckError"],
    )


def by_jax(entry: Any) -> bool | None:
    jax = import_module("jax")
    jax.config.update("jax_enable_x64", True)
    names, at = _wrt(entry), dict(entry.at)

    def function(*given: Any) -> Any:
        return entry.function(*{**at, **dict(zip(names, given, strict=True))}.values())

    given = tuple(jax.tree_util.tree_map(jax.numpy.asarray, at[name]) for name in names)
    check = import_module("jax.test_util").check_grads
    return _passes(lambda: check(function, given, order=1, modes=["rev"]), AssertionError)


def _copied(at: Mapping[str, Any]) -> dict[str, Any]:
    return {
        name: value.copy() if isinstance(value, np.ndarray) else value for name, value in at.items()
    }


def _passes(check: Callable[[], Any], complaint: Any) -> bool:
    try:
        check()
    except complaint:
        return False
    return True


CHECKERS: dict[
    str, tuple[str, str, Says]
] = {  # the library whose entries it gets, its package, and how it is asked
    "scipy.optimize.check_grad": ("numpy", "scipy", by_scipy),
    "autograd.test_util.check_grads": ("numpy", "autograd", by_autograd),
    "torch.autograd.gradcheck": ("torch", "torch", by_torch),
    "jax.test_util.check_grads": ("jax", "jax", by_jax),
}


def counted(says: Says, entry: Any) -> str | None:
    """What an answer is: a word for the count; None for an entry that is not for the checker."""
    try:
        with (
            warnings.catch_warnings(),
            np.errstate(all="ignore"),
            contextlib.redirect_stdout(io.StringIO()),
        ):
            warnings.simplefilter("ignore")
            said = says(entry)
    except NotForIt:
        return None
    except Exception:
        return "raised"
    if said is None:
        return "open"
    return "true" if said is entry.right else "false alarm" if entry.right else "miss"


def main() -> None:
    code = import_module("battery.code")
    rows = [
        "| checker | right | called wrong | wrong | passed | could not say |",
        "|---|---|---|---|---|---|",
    ]
    for name, (library, package, says) in CHECKERS.items():
        answers = [counted(says, entry) for entry in _fresh(code, library)]
        taken = [i for i, answer in enumerate(answers) if answer is not None]
        again = _fresh(code, library)
        rows.append(
            _row(
                f"{name} ({package} {version(package)})",
                [(again[i], str(answers[i])) for i in taken],
            )
        )
        rows.append(
            _row(
                "gradcli on the same",
                [(again[i], counted(ours, again[i]) or "raised") for i in taken],
            )
        )
        print(*rows[-2:], sep="\n", flush=True)
    print("", *rows, sep="\n")


def _fresh(code: Any, library: str) -> list[Any]:
    """The entries of a library's own functions, with none of the state that an earlier checker has
    left in them.
    """
    for theme in code.THEMES[library]:
        reload(import_module(f"battery.code.{library}_{theme}"))
    entries = [entry for theme in code.THEMES[library] for entry in code.entries_of(library, theme)]
    return [entry for entry in entries if library == "numpy" or entry.gradient is None]


def _row(title: str, answers: list[tuple[Any, str]]) -> str:
    right, count = (
        sum(entry.right for entry, _ in answers),
        Counter(answer for _, answer in answers),
    )
    unsaid = count["open"] + count["raised"]
    return (
        f"| {title} | {right} | {count['false alarm']} | {len(answers) - right} | "
        f"{count['miss']} | {unsaid} |"
    )


if __name__ == "__main__":
    main()
