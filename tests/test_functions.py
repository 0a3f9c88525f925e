"""`gradcli functions`: what it says of each function is read from the record, and its example gives
what it says.
"""

from __future__ import annotations

import json
import math
import re
from dataclasses import asdict
from typing import Any

import numpy as np
import pytest
from witness.examples import key_of, recorded

from gradcli.ops.spec import Composite, Op
from gradcli.query import catalogue

FUNCTIONS = [pytest.param(record, id=record.name) for _, record in catalogue.functions()]


def assert_complete(record: Op | Composite) -> None:
    entry = catalogue.entry(record)
    assert entry.signature.startswith(f"{record.name}(")
    assert entry.doc
    assert entry.family
    json.dumps(asdict(entry), allow_nan=False)
    assert catalogue.find_function(record.name)[1] == record.name


RECORDED = recorded()
PYTORCH, DIFFERENCES = 1e-9, 1e-6  # what is left to rounding in a gradient, by who made it


def assert_example(record: Op | Composite) -> None:
    """Value and gradient are those of NumPy, SciPy, PyTorch or mpmath, recorded with their
    source.
    """
    example = catalogue.entry(record).example
    if example is None:
        return
    key = key_of(example.expr, example.at)
    assert key in RECORDED, f"no library's word on {key}: run python -m witness.examples in tests/"
    known = RECORDED[key]
    assert np.asarray(example.value, float) == pytest.approx(
        np.asarray(known.value, float), rel=1e-10, abs=1e-12
    ), known.source
    for name, slope in known.grad.items():
        wanted = np.asarray(slope, float)
        found = np.asarray(example.grad.get(name, np.zeros(wanted.shape)), float)
        assert found.shape == wanted.shape == np.shape(example.at[name])
        there = np.isfinite(wanted)  # not on kinks, where differences say nothing
        near = DIFFERENCES if "differences" in known.source else PYTORCH
        assert found[there] == pytest.approx(wanted[there], rel=near, abs=near), (
            f"{key} by {name}: {known.source} has {slope}"
        )


@pytest.mark.parametrize("record", FUNCTIONS)
def test_entry_and_example(record: Op | Composite) -> None:
    """An entry has all of its parts, and an example with numbers of another library."""
    assert_complete(record)
    assert_example(record)


@pytest.mark.ci
def test_most_functions_have_an_example_with_a_finite_gradient() -> None:
    entries = [catalogue.entry(record) for _, record in catalogue.functions()]
    shown = [e for e in entries if e.example is not None]
    assert len(shown) > 0.6 * len(entries)
    smooth = [
        catalogue.entry(r)
        for _, r in catalogue.functions()
        if isinstance(r, Op) and r.kind == "smooth"
    ]
    assert sum(bool(e.derivative) for e in smooth) > 0.8 * len(smooth)
    slopes = [
        v for e in shown for slope in e.example.grad.values() for v in np.ravel(slope).tolist()
    ]
    assert sum(map(math.isfinite, slopes)) > 0.98 * len(slopes)


def test_list_has_every_public_function_once(call_cli: Any) -> None:
    done = call_cli("functions")
    names = re.findall(r"^  (\S+)", done.stdout, re.MULTILINE)
    assert sorted(names) == sorted(record.name for _, record in catalogue.functions())
    assert len(set(names)) == len(names)
