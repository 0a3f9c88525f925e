"""Verdicts about functions, remembered between runs: found by what was asked, and believed while all that they hang on is as it was."""

from __future__ import annotations

import hashlib
import importlib.metadata
import json
import os
import platform
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from gradcli.check.verdict_cache import forgotten, versions
from gradcli.functions.checking import Question
from gradcli.functions.dependencies import Dependencies
from gradcli.functions.frameworks import FRAMEWORKS
from gradcli.report.verdicts import Check, Verdict, check_of
from gradcli.storage.cache import FUNCTIONS
from gradcli.tensors.core.dtypes import NAMES
from gradcli.tensors.core.entries import as_numbers

_FORMAT = "1"
_KEPT = (Verdict.AGREE, Verdict.KINK)  # what fails is asked again, for its smallest case


class Answer(NamedTuple):
    """What is remembered: the verdict, the function's value, and where it is defined."""

    check: Check
    value: Any
    file: str | None
    line: int


def key_of(functions: Sequence[str | None], question: Question, asked: Any) -> str:
    """The key of a question: the names of its functions, its arguments by their contents, its options, and all versions.

    functions  the one that it is about, that of what is claimed, and what it solves
    asked      what else it is about: the texts of the arguments, how many points
    """
    digest = hashlib.sha256(f"{_FORMAT} {versions()} {sys.version} {platform.platform()} {os.environ.get('PYTHONPATH')}".encode())
    package = FRAMEWORKS[question.by].package if question.by is not None else None
    options = replace(question, arguments={}, seed=None)  # all of them
    digest.update(repr((tuple(functions), options, package, package and _version(package), asked)).encode())
    for part in (question.seed, *question.arguments.items()):
        _add(digest, part)
    return digest.hexdigest()


def _version(package: str) -> str | None:
    with suppress(importlib.metadata.PackageNotFoundError):
        return importlib.metadata.version(package)
    return None


def _add(digest: Any, value: Any) -> None:
    if isinstance(value, np.ndarray):
        digest.update(f"{value.dtype.str} {value.shape}".encode() + value.tobytes())
    elif isinstance(value, (tuple, list)):
        digest.update(f"{len(value)}".encode())
        for part in value:
            _add(digest, part)
    elif isinstance(value, Mapping):
        _add(digest, list(value.items()))
    else:
        digest.update(f"{type(value).__name__} {value!r}".encode())


def recalled(key: str, folder: Path) -> Answer | None:
    """The answer of that key, if it is remembered and all that it hangs on is as it was."""
    content = FUNCTIONS.read(key)
    with suppress(ValueError, LookupError, TypeError, AttributeError, RecursionError):
        if content is not None:
            kept = json.loads(content)
            if Dependencies(kept["files"], kept["packages"]).are_as_they_were(folder):
                file = kept["file"]
                return Answer(check_of(kept["check"]), _value(kept["value"]), file and str(folder / file), kept["line"])
    return None


def remember(key: str, folder: Path, answer: Answer, dependencies: Dependencies) -> None:
    """Keep an answer that is certain and finds nothing wrong, if there is room and permission."""
    if answer.check.worst not in _KEPT:
        return
    file = answer.file
    if file is not None and Path(file).is_relative_to(folder):
        file = Path(file).relative_to(folder).as_posix()
    kept = {
        **dependencies._asdict(), "check": asdict(answer.check), "value": _plain(answer.value), "file": file, "line": answer.line
    }  # fmt: skip
    FUNCTIONS.keep(key, json.dumps(kept, default=forgotten).encode())


def _plain(value: Any) -> Any:
    return None if value is None else {"dtype": np.asarray(value).dtype.name, "numbers": as_numbers(np.asarray(value))}


def _value(kept: Any) -> Any:
    return None if kept is None else np.array(kept["numbers"], NAMES[kept["dtype"]].numpy)[()]
