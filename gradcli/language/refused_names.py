"""Names of libraries that are known and out of the language, with what is to be written for them."""

from __future__ import annotations

from gradcli.errors import UnknownNameError
from gradcli.spelling import words


class KnownNameError(UnknownNameError):
    """The error of a name that is known, whose words say all."""


_FUNCTION = "it makes a function of a function, and a function is no value here"
_DERIVATIVES = {
    **dict.fromkeys(("grad", "value_and_grad"), "write grad(y, x) for the derivative of y by x"),
    **dict.fromkeys(("jacfwd", "jacrev", "jacobian"), "write jacobian(y, x)"),
    "hessian": "write hessian(y, x)",
    "jvp": "write jvp(y, x, v)",
    "vjp": "write vjp(y, x, v)",
}
_AT_ONCE = "leave it out: functions work on all entries at once"
_LOOP = "write sum(x**2) for a sum over all entries"
_WRAPPING = dict.fromkeys(words("vmap pmap jit checkpoint remat custom_vjp custom_jvp vectorize frompyfunc"), _AT_ONCE)
_LOOPS = dict.fromkeys(words("scan fori_loop while_loop map associative_scan"), _LOOP)
_SEARCHES = (
    "minimize",
    "minimize_scalar",
    "root",
    "fsolve",
    "brentq",
    "newton",
    "curve_fit",
    "least_squares",
    "quad",
    "odeint",
    "solve_ivp",
)
_BY_MODULES: dict[str, tuple[dict[str, str], str]] = {
    "jax": ({**_DERIVATIVES, **_WRAPPING}, _FUNCTION),
    "torch": ({"vmap": _AT_ONCE, "compile": _AT_ONCE}, _FUNCTION),
    "torch.func": ({**_DERIVATIVES, "vmap": _AT_ONCE}, _FUNCTION),
    "numpy": (dict.fromkeys(("vectorize", "frompyfunc"), _AT_ONCE), _FUNCTION),
    "jax.numpy": ({"vectorize": _AT_ONCE}, _FUNCTION),
    "jax.lax": (
        {**_LOOPS, "cond": "write where(x > 0, x, 0)"},
        _FUNCTION.replace("it makes a function of a function", "it takes functions"),
    ),
    **{
        path: (dict.fromkeys(_SEARCHES, "leave it out, and write the function itself: x**2"), "it runs a function over and over")
        for path in ("scipy.optimize", "scipy.integrate")
    },
}
_OF_WAVES = "write sum(x*cos(w*t)) and sum(x*sin(w*t)) for its two parts"


def refused(path: str, name: str) -> KnownNameError | None:
    """The error of a name that is known to be out of the language, None for others."""
    if path.endswith(".fft"):
        return KnownNameError(f"'{path}.{name}' is not in the language, which has no complex numbers", help=_OF_WAVES)
    names, why = _BY_MODULES.get(path, ({}, ""))
    help = names.get(name)
    return None if help is None else KnownNameError(f"'{path}.{name}' is not in the language: {why}", help=help)
