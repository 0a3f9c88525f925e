"""Functions as textbooks write them.

They are written without brackets, with an inverse of another name, or under names that no library
has.
"""

from __future__ import annotations

import re
from functools import cache

from gradcli.ops.spec import Op
from gradcli.texts import words

MARKS = {"√": "sqrt", "∛": "cbrt", "|": "abs", "||": "norm"}  # signs before an operand or around it
# Textbook names that no library has.
SPELLINGS = {
    **{f"ar{name}": f"a{name}" for name in ("sinh", "cosh", "tanh", "sech", "csch", "coth")},
    "log_2": "log2", "log₂": "log2", "log_10": "log10", "log₁₀": "log10",
    "Γ": "gamma",
}

# What is asked for in books and elsewhere, but not computed here, and what to do instead.
NOT_COMPUTED = {
    **dict.fromkeys(
        words("int integrate integral ∫"),
        "gradcli differentiates: write what is to be differentiated",
    ),
    **dict.fromkeys(words("lim limit"), "limits are not computed"),
    "tr": "did you mean 'trace'?",
}

GREEK = words("""
    alpha beta gamma delta epsilon zeta eta theta iota kappa lambda mu nu xi omicron rho sigma
    tau upsilon phi chi psi omega
""")
# Names in common use, in code and in formulas. They are not read as letters, or as a function and
# its argument, written together.
_IN_USE = """
    dt dx dy dz dr ds du dv dw dp dq dA dE dP dQ dS dT dV dW ddx ddt lr wd bs amp arg avg bar bin
    box cap cnt cut deg den det dev dim div dof eig eps err fac fan fc foo gap gam idx img inp inv
    key lag lam len lim loc lot low mag map max mid min mix net new np num obs old opt ord out pad
    pdf per pos pow pre ref reg rel res rms row scl seg seq sgn sig snr std step sub sum tar thr
    tmp tol top tot val var vec vel vol wid absent abst acost alnum ascot ascots asing basins
    blogs bisect butane clogs cosine cosines cosmos coset cost costs cosy cotan cotton cots easing
    expand expec expnt expo expon expr exprs exps expt expts exposing casing colno insect
    isinstance isint isinv lnan losing logalpha logan logbeta logic login logL logmu logo logos
    logp logq logs logsf logsigma logtau logZ musing octane posinf rising scott sect sector secs
    since sine sines sing sings sink sinks sins sinus soln solns stance stand stands stank tang
    tango tangs tank tanks tans using valnd xmlns
"""
WORDS = frozenset(_IN_USE.split())
# More textbook names. Where they are not applied to anything, they are names like any other.
CALLED = {
    "lg": "log10", "tg": "tan", "ctg": "cot", "cosec": "csc", "arctg": "atan", "arcctg": "acot",
    "sh": "sinh", "ch": "cosh", "th": "tanh",
}
_LOG = re.compile(rf"log(?:_([0-9]+|[^\W\d_][0-9]?|{'|'.join(sorted(GREEK))})|([₀-₉]+))")
_LOWERED = str.maketrans("₀₁₂₃₄₅₆₇₈₉", "0123456789")
_SIZE = (2, 3)  # fewest and most letters that a book writes together for a product
_LETTER = rf"{'|'.join(sorted(GREEK, key=len, reverse=True))}|pi|[^\W\d_]"
_LONGEST = 24  # most characters of a name that is read as functions and their arguments


def catalogue_name(name: str) -> str:
    """Return the catalogue's name of a textbook function; any other name is returned as it is."""
    return CALLED.get(name) or SPELLINGS.get(name, name)


def base_of_log(name: str) -> str | None:
    """Return the base of ``log_3`` or ``log_b``, as it is written; None for other names."""
    found = None if name in SPELLINGS else _LOG.fullmatch(name)
    return None if found is None else found[1] or found[2].translate(_LOWERED)


def is_own(name: str) -> bool:
    """Tell whether a function has this name in textbooks alone.

    If it is not applied, it is a name like any other.
    """
    return name in CALLED or base_of_log(name) is not None


def is_bare(name: str) -> bool:
    """Return whether a function takes its argument without brackets: ``sin 2x``."""
    return catalogue_name(name) in _inverses() or base_of_log(name) is not None


def inverse(name: str, argument: str) -> str:
    """Write the inverse of a textbook function, applied to an argument, in the language."""
    base = base_of_log(name)
    return (
        f"{base}**({argument})"
        if base is not None
        else _inverses()[catalogue_name(name)].format(argument)
    )


def ends_at_numbers(name: str) -> bool:
    """Return whether ``f 2x`` of a textbook function has two readings.

    A root may end after the number.
    """
    return name == MARKS["√"]


def product_of_letters(name: str, *, after_number: bool) -> str | None:
    """Return the product that two or three letters stand for in a book.

    After a number, it may also be ``xy2z``. None is returned for names in use.
    """
    if after_number and (parts := re.fullmatch(r"([^\W\d_]{1,2})([0-9])([^\W\d_]{1,2})", name)):
        return "*".join([*parts[1], parts[2], *parts[3]])
    if not name.isalpha() or name in GREEK or name in WORDS or name in CALLED:
        return None
    factors = re.findall("pi|.", name)
    return (
        "*".join(factors)
        if len(factors) > 1 and _SIZE[0] <= len(name) <= _SIZE[1] + ("pi" in factors)
        else None
    )


def is_before_function(name: str) -> bool:
    """Return whether a name is letters or calls, and then a function.

    ``xsin`` in front of x is x*sin(x).
    """
    if name in WORDS or len(name) > _LONGEST:
        return False
    rests = (name[: -len(head)] for head in _heads() if name.endswith(head))
    return any(
        rest.isalpha() and (len(rest) < _SIZE[1] or function_of_letters(rest)) for rest in rests
    )


def function_of_letters(name: str) -> str | None:
    """Return the product of calls that ``sinx``, ``cos3x`` or ``xlnx`` is in a book.

    None is returned for names in use.
    """
    if len(name) > _LONGEST or name.lower() in WORDS or name in GREEK:
        return None
    for size in (0, 1, 2):
        if name[size:] in WORDS:
            return None
        calls = _calls(name[size:]) if name[:size].isalpha() or not size else None
        if calls:
            return "*".join([*name[:size], *calls])
    return None


def _calls(text: str) -> list[str] | None:
    """Return the factors of ``sinxcos3x``, each a function with its argument.

    None is returned for any other text.
    """
    if not text:
        return []
    for head in filter(text.startswith, _heads()):
        rest = text[len(head) :]
        for size in (2, 1, 0):
            found = re.match(rf"([0-9]*)((?:{_LETTER}){{{size}}})", rest)
            if found is not None and found.end():
                argument = "*".join([*filter(None, [found[1]]), *re.findall(_LETTER, found[2])])
                after = _calls(rest[found.end() :])
                if after is not None:
                    return [f"{head}({argument})", *after]
        inner = _calls(rest)
        if inner:
            return [f"{head}({inner[0]})", *inner[1:]]
    return None


@cache
def _heads() -> list[str]:
    """The names of functions that stand before letters, the longest first."""
    names = {
        name
        for name in (*_inverses(), *SPELLINGS, *CALLED, "abs")
        if name.isalpha() and len(name) > 1
    }
    return sorted(names - {"sh", "ch", "th"}, key=len, reverse=True)


@cache
def _inverses() -> dict[str, str]:
    """Return what undoes functions that are written without brackets, by each of their names."""
    from gradcli.ops.elementwise import trigonometric

    found = {
        "sqrt": "({})^2",
        "exp": "ln({})",
        "log": "exp({})",
        "ln": "exp({})",
        "log2": "2^({})",
        "log10": "10^({})",
    }
    for name in vars(trigonometric):
        inverse = vars(trigonometric).get(f"a{name}")
        if isinstance(inverse, Op):
            found[name] = f"{inverse.name}({{}})"
            found |= dict.fromkeys((inverse.name, *inverse.aliases), f"{name}({{}})")
    return found
