"""What is not an expression: records with fields that are hostile, files that are not what they are
called, options in any order.
"""

from __future__ import annotations

import io
import json
import zipfile
from random import Random
from typing import Any

import numpy as np

from fuzz import WORDS, calls, expressions, texts

_TEXTS = WORDS["hostile texts"]
_FIELDS = WORDS["fields of records"]
_NAMES = WORDS["names"]
_NUMBERS = WORDS["numbers"]


def anything(rng: Random, depth: int = 3) -> Any:
    """Any JSON."""
    choice = rng.randrange(8 if depth else 5)
    if choice < 2:
        return rng.choice(_NUMBERS)
    if choice < 4:
        return rng.choice(_TEXTS)
    if choice == 4:
        return rng.choice(
            (
                expressions.array(rng, (3,)),
                expressions.array(rng, (2, 3)),
                [],
                [[]],
                [1, [2]],
                {},
                "0.1",
                ["nan", 1],
            )
        )
    if choice < 7:
        return [anything(rng, depth - 1) for _ in range(rng.randrange(4))]
    return {
        rng.choice((*_NAMES, *_FIELDS)): anything(rng, depth - 1) for _ in range(rng.randrange(4))
    }


def record(rng: Random) -> str:
    """A record, one or two of whose fields are anything."""
    if rng.random() < 0.1:
        return texts.changed(rng, rng.choice(texts.sample_records())).replace("\n", " ") or "{"
    text = expressions.expression(rng, rng.choice(((), (), (3,))), 2)
    data: dict[str, Any] = {"expr": text, "at": expressions.bindings(rng, text)}
    names = list(data["at"]) or ["x"]
    if rng.random() < 0.3:
        data["expect"] = {
            "value": expressions.array(rng, ()),
            "grad": {rng.choice(names): rng.choice(("1", "2*x", "cos(x)", 0, [1, 2, 3]))},
        }
    if rng.random() < 0.2:
        data["wrt"] = rng.sample(names, 1)
    for _ in range(rng.choice((0, 1, 1, 2))):
        field = rng.choice(_FIELDS)
        if field == "at" and rng.random() < 0.7 and isinstance(data["at"], dict):
            data["at"][rng.choice(_NAMES)] = anything(rng, 2)
        elif field == "expect" and rng.random() < 0.7:
            data["expect"] = {rng.choice(("value", "grad", "x")): anything(rng, 2)}
        else:
            data[field] = anything(rng)
    line = json.dumps(data)
    if rng.random() < 0.05:
        line = texts.changed(rng, line).replace("\n", " ") or "{"
    if rng.random() < 0.01:
        line = '{"expr": "x", "at": {"x": ' + "[" * 2000 + "]" * 2000 + "}}"
    return line


def file(rng: Random) -> tuple[str, bytes]:
    """The name of a data file, and what is in it."""
    array = np.array([[1.5, -2.0, np.nan], [np.inf, 0.0, 3.0]])[:, : rng.randrange(4)]
    with np.errstate(all="ignore"):
        array = rng.choice(
            (
                array,
                array.astype(rng.choice("?bhiqfdgFDeSUO"))
                if array.size and rng.random() < 0.5
                else array[0],
            )
        )
    kind = rng.choice(("npy", "npz", "csv", "json", "tsv", "txt"))
    made = io.BytesIO()
    with np.errstate(all="ignore"):
        if kind == "npy":
            np.save(made, array, allow_pickle=True)
        elif kind == "npz":
            np.savez(made, k=array, x=np.arange(3.0))
            if rng.random() < 0.3:
                with zipfile.ZipFile(made, "a") as archive:
                    archive.writestr(rng.choice(("z.npy", "z", "../z.npy")), rng.randbytes(30))
        elif kind == "json":
            made.write(json.dumps(anything(rng)).encode())
        else:
            rows = [
                ["k", "x"],
                *(
                    [rng.choice(("1", "2.5", "", "nan", "a", '"q"', "=1", "1,5")) for _ in range(2)]
                    for _ in range(4)
                ),
            ]
            made.write(
                "\n".join((";" if rng.random() < 0.2 else ",").join(row) for row in rows).encode()
            )
    content = bytearray(made.getvalue())
    for _ in range(rng.choice((0, 0, 1, 5))):
        if content:
            place = rng.randrange(min(len(content), rng.choice((20, 130, len(content)))))
            content[place] = rng.randrange(256)
    if rng.random() < 0.1:
        del content[rng.randrange(len(content) + 1) :]
    return f"data.{rng.choice((kind, kind, kind, 'npy', 'npz', 'csv', 'json'))}", bytes(content)


def loading(rng: Random) -> tuple[tuple[str, ...], dict[str, str], str]:
    """Arguments, files and standard input of a run that takes data from a file."""
    name, content = file(rng)
    files = {name: content.decode("utf-8", "surrogateescape")}
    place = name + rng.choice(("", ":k", ":x", ":z", ":", ":k:k", ":0"))
    if rng.random() < 0.3:
        place = rng.choice(
            ("data.npy\x00", ".", "/dev/null", "a" * 300, "missing.npy", "../x.npy", "-", "@", "")
        ) + rng.choice(("", ":k"))
    if rng.random() < 0.5:
        return ("-i", "jsonl", "-"), files, json.dumps({"expr": "sum(x)", "at": {"x": "@" + place}})
    if rng.random() < 0.3:
        return ("-",), files, f"x = @{place}\nsum(x**2)\n"
    return ("sum(x)", f"x=@{place}".replace("\x00", "")), files, ""


_OPTIONS = WORDS["options"]
_WORDS = WORDS["arguments"]


def command(rng: Random) -> tuple[str, ...]:
    """Words of a command line."""
    name = rng.choice(WORDS["commands"])
    text = rng.choice(
        (
            expressions.expression(rng, (), 2),
            expressions.expression(rng, (3,), 1),
            texts.tokens(rng),
            calls.call(rng),
        )
    )
    words = ["-e", text] if name == "check" and rng.random() < 0.8 else [text]
    given = expressions.bindings(rng, text)
    words += [
        f"{key}={str(value).replace(chr(39), '')}"
        for key, value in given.items()
        if rng.random() < 0.9
    ]
    if name == "bound":
        words = [text, "x=0..1", "y=1..2", "z=-1..1"]
    if name == "plot":
        words = [text, "x=-1..2", rng.choice(("y=1..2", "y=1.5", "y=1,2")), "z=0.5"]
    for _ in range(rng.choice((0, 1, 2, 2, 3))):
        words[rng.randrange(len(words) + 1) : 0] = rng.choice(
            (rng.choice(_OPTIONS).split(), [rng.choice(_WORDS)])
        )
    return tuple(
        word.replace("\x00", "")
        for word in ([name, *words] if name else words)
        if word != "--clear"
    )
