"""Arguments of the Python API, checked and converted: names, values, and options.

Each is refused by its name.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Mapping
from contextlib import suppress
from functools import lru_cache
from typing import Any

import numpy as np

from gradcli.errors import GradcliError, InputTypeError, UnknownNameError, UsageError
from gradcli.language.calls import is_function
from gradcli.language.statements import tokens_of
from gradcli.language.syntax import NAME as NAMES
from gradcli.language.syntax import RESERVED
from gradcli.limits import Limits
from gradcli.ops.calling.inputs import numbers
from gradcli.options import names_of, option_value, refuse_together
from gradcli.plans.backend import require_compiler
from gradcli.query.programs import Programs
from gradcli.texts import NAME, PLAIN_NAME, Source, as_key, compose, normalize, suggestion

_UNSAID = (
    "dialect",
    "precision",
    "threads",
    "timeout",
)  # options that are None when not given
_ELSEWHERE = {
    "digits": "precision",
    "grad": "mode",
    "jacobian": "mode",
    "hessian": "mode",
}  # what people write, and the option they mean
_WORDS = re.compile(rf"#[^\n]*|({NAME})")


def text_of(expression: Any) -> str:
    """Return the text of a program; raise InputTypeError for anything that is not text."""
    if not isinstance(expression, str):
        raise InputTypeError(
            f"the expression must be text, not {type(expression).__name__}",
            help="write str(expression)",
        )
    return expression


_EQUALS = re.compile(r"(?<![=<>!])=(?!=)")
_HEAD = re.compile(rf"\s*({PLAIN_NAME})(?:\s*\([\w\s,]*\))?\s*")  # head of a binding or definition


def as_equations(text: str, dependent: str | None, *, of: bool) -> str:
    """Return a program whose statements may be equations as people write them, with one "=".

    dependent  the name that the last of them gives: ``x = sin(y)`` is no binding for y, unless y
               is bound before
    of         whether it is no binding where it stands before the sign
    """
    parts = re.split(r"([;\n])", text)
    bound: set[str] = set()
    last = len(text.rstrip("; \n"))
    for i, part in enumerate(parts):
        sides = _EQUALS.split(part)
        if len(sides) != 2 or sides[0].count("(") != sides[0].count(")"):
            continue
        head = _HEAD.fullmatch(sides[0])
        used = words(sides[1])
        is_last = len("".join(parts[: i + 1])) >= last
        if head is None or (
            (head[1] == dependent if of else is_last and dependent in used - bound)
            or ("(" in sides[0] and is_function(head[1]))
            or head[1] in used
        ):
            parts[i] = "==".join(sides)
        else:
            bound.add(head[1])
    return "".join(parts)


@lru_cache(64)
def words(expression: str) -> frozenset[str]:
    """Return the names in a program, as the language spells them.

    Functions and attributes are among them.
    """
    text = normalize(expression)
    found = [word for word in _WORDS.findall(text) if word]
    if "\\" in text or "{" in text:
        source = Source(text)
        with suppress(GradcliError):
            found += [token.text for token in tokens_of(source) if token.kind == NAMES]
        found += text if source.latex else ""  # in LaTeX, single letters are names
    return frozenset(found)


def bind_values(
    at: Any, keywords: Mapping[str, Any], known: Collection[str], how: Callable[[str], str]
) -> dict[str, Any]:
    """Return the values of a call by the names that the expression has for them.

    Python itself normalizes keywords to NFKC, including raised and lowered letters, so a name is
    found by that form, too. ``how`` writes how to give a value to a name that is taken by an
    option.
    """
    found: dict[str, Any] = {}
    for given in (named := by_names("at", at, "values", how("x")), keywords):
        for name, value in given.items():
            if isinstance(name, str) and name in known:
                place = name
            elif (
                isinstance(name, str)
                and (text := normalize(name)) not in RESERVED
                and re.fullmatch(NAME, text)
            ):
                place = _spell(text, known)
            else:
                raise InputTypeError(
                    f"{name!r} is no name that an expression can have",
                    help=f"names are words: {how('x')}",
                )
            if place in found:
                why = (
                    "it is one name in two spellings"
                    if given is named
                    else "in a dictionary and as a keyword"
                )
                raise UsageError(
                    f"the name '{place}' is bound twice: {why}", help="leave one of them out"
                )
            found[place] = value
    return found


def by_names(option: str, given: Any, what: str, example: str) -> Mapping[Any, Any]:
    """Return what an option has by names, or nothing.

    Raises InputTypeError for what has no names.
    """
    if given is not None and not isinstance(given, Mapping):
        raise InputTypeError(
            f"'{option}' must map names to {what}, not {type(given).__name__}",
            help=f"write {example}",
        )
    return given or {}


def by_form(what: str, given: Mapping[Any, Any]) -> dict[str, Any]:
    """Return values that are given by names, by the normalized names.

    Raises UsageError for one name in two spellings.
    """
    found = {as_key(name): value for name, value in given.items()}
    if len(found) < len(given):
        raise UsageError(f"'{what}' has a name twice: it is one name in two spellings")
    return found


@lru_cache(8)
def _by_form(known: frozenset[str]) -> dict[str, str]:
    """Words by what NFKC makes of them; where that is one for several, the first."""
    return {compose(word, "NFKC"): word for word in sorted(known, reverse=True)}


def _spell(name: str, known: Collection[str]) -> str:
    """Return a name as the expression spells it, possibly in another form."""
    if name in known:
        return name
    return _by_form(frozenset(known)).get(compose(name, "NFKC"), name)


def names_given(option: str, given: Any, known: Collection[str]) -> tuple[str, ...] | None:
    """Return the names that an option lists, as the expression spells them.

    Raises InputTypeError for anything that is not a name.
    """
    if given is None:
        return None
    return tuple(
        _spell(name, known)
        for text in texts_of(option, given, "names", "x, y")
        for name in names_of(text) or ()
    )


def texts_of(option: str, given: Any, what: str, example: str) -> list[str]:
    """Texts that an option lists, or the one that it is. Raises InputTypeError for others."""
    is_list = isinstance(given, Iterable) and not isinstance(given, str)
    texts = list(given) if is_list else [given]
    if not all(isinstance(text, str) for text in texts):
        raise InputTypeError(
            f"'{option}' must be {what}, not {given!r}", help=f'write {option}="{example}"'
        )
    return texts


def covariances_of(cov: Any, known: Collection[str]) -> list[tuple[tuple[str, ...], Any]]:
    """Covariances by the names that they are of. Raises InputTypeError."""
    found = by_names("cov", cov, "covariances", 'cov={"a,b": 0.02}')
    return [(names_given("cov", names, known) or (), value) for names, value in found.items()]


def refuse_unknown(
    keywords: Iterable[str], known: Collection[str], options: Collection[str], what: str
) -> None:
    """Raise UnknownArgument for keywords that are neither options nor names of the expression.

    Such a keyword is a misspelt option or name.
    """
    for name in keywords:
        if _spell(name, known) in known:
            continue
        meant = _ELSEWHERE.get(name)
        close = meant if meant in options else suggestion(name, sorted({*options, *known}))
        help = f"did you mean '{close}'?" if close else None
        beside = f", and the expression no name '{name}'" if known else ""
        raise UnknownArgument(f"{what} has no option '{name}'{beside}", help=help)


class UnknownArgument(UnknownNameError, TypeError):
    """A keyword that means nothing."""


def value_of(name: str, value: Any, copy: bool = True) -> Any:
    """Return a value as an array of real numbers or booleans.

    Files that are mapped to memory are not copied.
    """
    if isinstance(value, np.memmap) and value.dtype.kind in "fiub":
        return value
    return numbers(value, f"the value of '{name}'", booleans=True, copy=copy)


def mode_of(
    mode: str, directions: Mapping[str, Any], known: Collection[str]
) -> tuple[str, dict[str, Any]]:
    """Return the mode, and the tangents of a derivative in a direction.

    Raises UsageError for an invalid direction.

    ``directions`` are the arguments ``jvp`` and ``hvp``: tangents by names, or None.
    """
    word = next((word for word, direction in directions.items() if direction is not None), mode)
    if word not in directions:
        return mode, {}
    example = f'{word}={{"x": 1.0}}, the tangent of each name that moves'
    direction = by_names(word, directions[word], "tangents", example)
    if not direction:
        raise UsageError(f"mode '{word}' needs a direction", help=f"write {example}")
    tangents = bind_values(direction, {}, known, lambda x: f'{word}={{"{x}": 1.0}}')
    return word, {
        name: numbers(tangent, f"the tangent of '{name}'") for name, tangent in tangents.items()
    }


def seed_of(seed: Any) -> Any:
    return None if seed is None else numbers(seed, "the seed")


def option_of(name: str, value: Any, command: str = "") -> Any:
    """Return the value of an option, which a command may have values of its own for.

    Raises InputTypeError, and NativeError for native code without a compiler.
    """
    if name == "limits" and not isinstance(value, Limits):
        raise InputTypeError(
            f"'limits' must be a gradcli.limits.Limits, not {type(value).__name__}",
            help='write gradcli.limits.DEFAULT.raised(["nodes=1000000"])',
        )
    if name == "dtype" and value is not None:
        with suppress(TypeError):
            value = np.dtype(value).name  # NumPy's dtypes are accepted, too
    found = (
        None
        if value is None and name in _UNSAID
        else option_value(f"{command}.{name}", value, f"'{name}'", InputTypeError)
    )
    if name == "backend" and found == "native":
        require_compiler()
    return found


def options_of(given: Mapping[str, Any], command: str = "") -> dict[str, Any]:
    """Return the options by name; raise for the first that is invalid."""
    return {name: option_of(name, value, command) for name, value in given.items()}


def refuse_exclusive(given: Mapping[str, Any]) -> None:
    """Raise UsageError for options that exclude each other."""

    def as_typed(word: str) -> str:
        name, _, value = word.partition("=")
        if str(given.get(name)) == value if value else name in given:
            return word if value else f"'{name}'"
        return f"the mode '{name}'" if given.get("mode") == name else ""

    refuse_together("modes evaluate", as_typed)


def in_words_of_api(
    error: GradcliError, options: Collection[str], how: Callable[[str], str]
) -> GradcliError:
    """Return the error in the API's words.

    An option is written without dashes, and the help does not suggest a keyword that is an option's
    name.
    """
    error.message = error.message.removeprefix("--")
    for name in options:
        error.message = error.message.replace(f"--{name} ", f"{name} ")
        if error.help == f"give it one: {name}=1":
            error.help = f"give it one: {how(name)}"
    return error


def programs_with(
    values: Mapping[str, Any], limits: Limits, dtype: str = "float64", dialect: str | None = None
) -> Programs:
    """Return what makes programs with these values: arrays, or text with a ``±``."""
    programs = Programs(limits, dtype, dialect=dialect)
    for name, value in values.items():
        exact, deviation = value, None
        if isinstance(value, str) and any(
            sign in value for sign in ("±", "+/-", "\\pm", "+-", "(")
        ):
            found, deviation = programs.fresh().uncertain(value, name)
            exact = value if deviation is None else found
        programs.values[name] = array = value_of(name, exact)
        limits.check_shape(array.shape)
        if deviation is not None:
            programs.deviations[name] = deviation
    return programs
