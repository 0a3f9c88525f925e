"""Options of the command line as they were typed, and what reads them.

The options of each command are the fields of a class in `commands.py`. A field that typer reads is
annotated accordingly. The annotation is evaluated for the command that is asked for. The values
that an option of the command line alone may have stand beside it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import cache, partial
from importlib import import_module
from inspect import Parameter, Signature, get_annotations
from typing import Annotated, Any, dataclass_transform, get_args

import typer

from gradcli.errors import UsageError
from gradcli.limits import DEFAULT, Limits
from gradcli.ops.facts import Fixed
from gradcli.texts import normalize

Texts = tuple[str, ...]  # of an option that may be repeated
WORDS = "one of the words that it is shown with"  # for an option whose metavar lists the words


@dataclass_transform(eq_default=False, frozen_default=True, kw_only_default=True)
class Request(Fixed):
    """The options of a command as they were typed, before any of them is read.

    A command without such an option has these fields, too. Where nothing is given, the default
    holds: that of the command, or else the one here.
    """

    epilog = ""
    arguments: Texts = ()
    files: Texts = ()
    input_format: str | None = None
    wrt: str | None = None
    freeze: Texts = ()
    seed: str | None = None
    save: Texts = ()
    check: bool = True
    timeout: float | None = None
    output_format: str = "text"
    out: str | None = None
    digits: int | None = None
    dialect: str | None = None
    dtype: str = "float64"
    random_state: Any = 0
    fail_fast: bool = False
    limit: Texts = ()
    quiet: bool = False
    color: str = "auto"

    @classmethod
    @cache
    def options(cls) -> dict[str, Any]:
        """Return the fields that typer reads, and how it reads them."""
        return {
            name: kind
            for name, kind in get_annotations(cls, eval_str=True).items()
            if hasattr(kind, "__metadata__")
        }

    @classmethod
    def reader(cls, command: str, place: str) -> Callable[..., Callable[[], int]]:
        """Return the function whose parameters are the options.

        It gives the command, which stands in ``place``, together with its request.
        """

        def read(context: typer.Context, **given: Any) -> Callable[[], int]:
            from gradcli.options import typed_value, values_of

            said: dict[str, Any] = {
                name: tuple(value)
                if isinstance(value, (list, tuple))
                else typed_value(
                    cls.values_of(name) or values_of(f"{command}.{name}"), value, cls.word_of(name)
                )
                for name, value in given.items()
                if value is not None and value != getattr(cls, name)
            }
            if "wrt" in said:
                said["wrt"] = ",".join(said["wrt"])
            if "words" in cls.__annotations__ and "words" not in given:
                said["words"] = tuple(context.meta["gradcli.words"])
            module, _, name = place.partition(":")
            return partial(getattr(import_module(f"gradcli.cli.{module}"), name), cls(**said))

        parameters = [Parameter("context", Parameter.KEYWORD_ONLY, annotation=typer.Context)]
        for name, annotated in cls.options().items():
            kind, how, *_ = get_args(annotated)
            several, usual = kind == Texts or name == "wrt", getattr(cls, name)
            parameters.append(
                Parameter(
                    name, Parameter.KEYWORD_ONLY, default=None if several else usual,
                    annotation=Annotated[list[str] | None if several else kind, how],
                )
            )  # fmt: skip
        reading: Any = read
        reading.__signature__ = Signature(parameters)
        read.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
        return read

    @classmethod
    def values_of(cls, name: str) -> Any:
        """Return what an option may be, if that is said here; None if not."""
        how, *values = cls.options()[name].__metadata__
        return how.metavar.split("|") if values == [WORDS] else next(iter(values), None)

    @classmethod
    def word_of(cls, name: str, on: bool = True) -> str:
        """Return an option as it is typed, to switch it on or off."""
        # Typer keeps the first declared name in ``default``.
        first = cls.options()[name].__metadata__[0].default
        return (
            first.split("/")[0 if on else -1]
            if isinstance(first, str)
            else f"--{name.replace('_', '-')}"
        )

    def given_options(self, names: str) -> Iterator[tuple[str, Any]]:
        """Yield those of the options that are given and not off.

        Each comes as it is typed, with its value.
        """
        for name in names.split():
            value = getattr(self, name)
            if value is not False and value not in ((), [], getattr(type(self), name)):
                yield self.word_of(name), value

    def as_typed(self, word: str) -> str:
        """Return an option as it was typed, if it was given; else nothing.

        If ``word`` is NAME=VALUE,VALUE, the option must have one of these values.
        """
        name, _, values = word.partition("=")
        if name not in self.options():
            return ""
        if not values:
            return next((option for option, _ in self.given_options(name)), "")
        value = getattr(self, name)
        if str(value) not in values.split(","):
            return ""
        return self.word_of(name, on=False) if value is False else f"{self.word_of(name)} {value}"


def limits_of(request: Request) -> Limits:
    """Return the limits that a request sets. Raises UsageError."""
    return DEFAULT.raise_to(request.limit) if request.limit else DEFAULT


def assignments(option: str, texts: Iterable[str]) -> dict[str, str]:
    """Values by names, of which each is given once. Raises UsageError."""
    found: dict[str, str] = {}
    for text in texts:
        name, value = assignment(option, text)
        if name in found:
            raise UsageError(f"{option} {name}=... is given twice")
        found[name] = value
    return found


def assignment(option: str, text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not equals or not name.strip() or not value:
        raise UsageError(f"{option} takes NAME=VALUE, not '{text}'")
    return normalize(name.strip()), value
