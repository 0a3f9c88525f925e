"""T6, T7: what a command costs that has little to do."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from benchmarks.contest import Command, Goal, Setting, Workload
from benchmarks.workloads.chains import GRADCLI

_TYPER = (sys.executable, str(Path(__file__).parent.parent / "programs" / "typer_command.py"))
_EVAL = (*GRADCLI, "eval", "3*a**3 - b**2", "a=2,3", "b=6,4")


def workloads(setting: Setting) -> list[Workload]:
    everything: dict[str, Any] = {"cores": None}
    plain = (
        Command(name="gradcli eval --no-check", command=(*_EVAL, "--no-check"), **everything),
        Command(name="gradcli --version", command=(*GRADCLI, "--version"), **everything),
        Command(name="bare Python", command=(sys.executable, "-c", "pass"), **everything),
        Command(name="import numpy", command=(sys.executable, "-c", "import numpy"), **everything),
        Command(name="a typer command", command=_TYPER, **everything),
        Command(name="a typer command, numpy", command=(*_TYPER, "numpy"), **everything),
    )
    checked = (
        Command(name="gradcli eval", command=_EVAL, **everything),
        Command(
            name="a typer command, numpy and sympy",
            command=(*_TYPER, "numpy", "sympy"),
            **everything,
        ),
    )
    quick_start = (
        Goal(plain[0].name, 1.2, "a typer command, numpy"),
        Goal(plain[1].name, 1, "a typer command"),
    )
    return [
        Workload("T6", "start-up: gradcli eval EXPR --no-check", plain, quick_start),
        Workload(
            "T7",
            "start-up: gradcli eval EXPR, checked",
            checked,
            (Goal(checked[0].name, 1.2, checked[1].name),),
        ),
    ]
