"""Input number i of a seed: which kind it is, and the trial that it makes."""

from __future__ import annotations

import json
from collections.abc import Callable
from random import Random

from fuzz import calls, expressions, hostile, texts
from fuzz.invariants import SENTINEL
from fuzz.trials import JSONL, Trial

RECORDS, CHECKED = 16, 3  # of one trial: a check takes many times longer
_EVAL = ("eval", "--no-check")
_WAYS = (*[("eval", "--no-check")] * 8, ("eval",), ("check", "--no-cache"))


def trial(seed: int, number: int) -> Trial:
    """The trial of that number: the same on every machine, whatever ran before."""
    rng = Random(f"{seed}:{number}")
    kinds, weights = zip(*KINDS.items(), strict=True)
    kind = rng.choices(kinds, [weight for weight, _ in weights])[0]
    return KINDS[kind][1](rng)


def _lines(kind: str, rng: Random, line: Callable[[Random], str]) -> Trial:
    way = rng.choice(_WAYS)
    lines = [
        line(rng).replace("\n", " ") for _ in range(RECORDS if "--no-check" in way else CHECKED)
    ]
    return Trial(kind, (*way, *JSONL), "\n".join([*lines, SENTINEL]), records=True)


def _as_text(kind: str, rng: Random, text: str) -> Trial:
    """A program on standard input, in any format, of any command that reads programs."""
    way = rng.choice((*_WAYS, ("diff", "--no-check")))
    formats = {"eval": "text json jsonl csv latex", "diff": "text json jsonl latex"}
    kinds = formats.get(way[0], "text json jsonl junit github gitlab sarif markdown").split()
    return Trial(kind, (*way, "-", "--format", rng.choice(kinds)), text)


def _as_record(text: str, at: object = None) -> str:
    return json.dumps({"expr": text, **({} if at is None else {"at": at})})


def _either(kind: str, make: Callable[[Random], str]) -> Callable[[Random], Trial]:
    """Texts as programs, and as records."""

    def made(rng: Random) -> Trial:
        if rng.random() < 0.4:
            return _as_text(kind, rng, make(rng))
        return _lines(kind, rng, lambda rng: _as_record(make(rng), {"x": 1.5, "v": [1, 2, 3]}))

    return made


def _expressions(rng: Random) -> Trial:
    def line(rng: Random) -> str:
        text = expressions.expression(
            rng, rng.choice(list(expressions.SHAPES.values())), rng.randrange(1, 5)
        )
        return _as_record(text, expressions.bindings(rng, text))

    return _lines("expressions", rng, line)


def _alike(rng: Random) -> Trial:
    """Records of one form with other values, which are compiled once."""
    text = expressions.expression(rng, rng.choice(((), (), (3,))), rng.randrange(1, 4))
    return _lines("alike", rng, lambda rng: _as_record(text, expressions.bindings(rng, text)))


def _programs(rng: Random) -> Trial:
    if rng.random() < 0.5:
        text = "\n".join(
            f"{name} = {value}" for name, value in (("x", 1.5), ("y", -0.5), ("v", "[1, 2, 3]"))
        )
        return _as_text("programs", rng, f"{text}\n{expressions.program(rng)}")

    def line(rng: Random) -> str:
        text = expressions.program(rng)
        return _as_record(text, expressions.bindings(rng, text))

    return _lines("programs", rng, line)


def _files(rng: Random) -> Trial:
    arguments, files, stdin = hostile.loading(rng)
    return Trial(
        "files",
        (*_EVAL, *arguments, "--format", "jsonl"),
        stdin,
        files,
        records="jsonl" in arguments,
    )


def _commands(rng: Random) -> Trial:
    stdin = rng.choice(("", "x**2\n", SENTINEL, texts.tokens(rng)))
    return Trial(
        "commands",
        hostile.command(rng),
        stdin,
        {"a.grad": "x = 2\nx**2\n", "a.npy": "no array", "b.json": "{}", "p.toml": "["},
    )


KINDS: dict[str, tuple[float, Callable[[Random], Trial]]] = {
    "calls": (30, lambda rng: _lines("calls", rng, calls.record)),
    "expressions": (14, _expressions),
    "records": (14, lambda rng: _lines("records", rng, hostile.record)),
    "mutations": (10, _either("mutations", texts.mutated)),
    "tokens": (8, _either("tokens", texts.tokens)),
    "programs": (6, _programs),
    "alike": (5, _alike),
    "letters": (4, _either("letters", texts.letters)),
    "files": (4, _files),
    "commands": (4, _commands),
    "bytes": (2, lambda rng: _as_text("bytes", rng, texts.raw(rng))),
    "long": (0.3, lambda rng: _as_text("long", rng, texts.long(rng))),
}
