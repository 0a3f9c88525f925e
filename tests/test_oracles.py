"""Every name of the catalogue is held against the function of NumPy, SciPy or PyTorch whose name it
carries, as it is spelled.

The calls stand in oracles/calls, one table a family; what PyTorch gives is recorded
(data/oracles.json.gz). A name that no library has is held against numbers from elsewhere
(oracles/explicit.py). Then mistakes are planted into names, functions, constants and defaults, and
each has to be found by these comparisons.
"""

from __future__ import annotations

import ast
from collections import defaultdict
from types import MappingProxyType

import numpy as np
import pytest
from helpers import thinned
from oracles.calls import CALLS
from oracles.catalogue import catalogue, meant, question
from oracles.compare import answers, faults, oracles
from oracles.differences import CALLS as DIFFERENT
from oracles.differences import SLOPES, SPELLINGS
from oracles.explicit import EXPLICIT, explicit_faults
from oracles.libraries import recorded, spelled
from oracles.planting import (
    aliases,
    constants,
    exchanged,
    first_found,
    found_in,
    other_default,
    planted,
    records,
    wrong_value,
)
from recorded import read_table

import gradcli
from gradcli import GradcliError
from gradcli.ops.registry import composites, find, registry
from gradcli.ops.spec import Composite

RECORDS = {record.name: record for record in records()}
DRAWN = (
    "rand",
    "randn",
    "rand_like",
    "randn_like",
    "randint",
    "randperm",
    "torch_rand",
    "torch_randn",
)


@pytest.mark.parametrize("name", thinned(catalogue(), every=6))
def test_a_name_is_the_function_of_the_libraries_that_have_it(name: str) -> None:
    assert list(faults(name)) == []


@pytest.mark.parametrize("name", EXPLICIT)
def test_a_name_without_a_library_has_numbers_from_elsewhere(name: str) -> None:
    assert list(explicit_faults(name)) == []


def test_every_name_is_held_against_something() -> None:
    held = {
        name
        for name in catalogue()
        if any(True for place in oracles(name) for _ in answers(place, name))
    }
    missing = [
        f"{name}: no library has a function of this name: add calls and what they give to "
        "tests/oracles/explicit.py"
        for name in sorted({*catalogue()} - held - {*EXPLICIT} - {*DRAWN})
    ]
    assert missing == []


def test_the_tables_name_what_there_is() -> None:
    """Calls and differences of names that are gone are taken out."""
    names = {*catalogue()}
    assert [name for name in CALLS if name.rpartition(".")[2] not in names] == []
    assert [spelling for spelling in SPELLINGS if spelling.rpartition(".")[2] not in names] == []
    texts = {
        spelled(place, name, arguments)
        for name in names
        for place in oracles(name)
        for arguments, _ in answers(place, name)
    }
    gone = [
        text
        for text in (*DIFFERENT, *SLOPES)
        if text not in texts and text.rpartition("[")[0] not in texts
    ]
    assert gone == []


def test_pytorch_was_asked_for_what_is_compared() -> None:
    asked = recorded()["asked"]
    changed = [name for name in catalogue() if asked.get(name) != question(name)]
    assert changed == [], (
        "calls or arrays have changed: python -m oracles.record in tests/ records PyTorch's answers"
    )


@pytest.mark.parametrize(
    ("text", "mean", "deviation"),
    [
        *[(f"{name}(2000)", 0.5, 12**-0.5) for name in ("np.random.rand", "torch.rand", "rand", "np.random.random")],
        *[(f"{name}(2000)", 0.0, 1.0) for name in ("np.random.randn", "torch.randn", "randn", "np.random.standard_normal")],
    ],
)  # fmt: skip
def test_numbers_are_drawn(text: str, mean: float, deviation: float) -> None:
    x = np.asarray(gradcli.evaluate(text, check=False, formula=False, seed=np.ones(2000)).value)
    assert x.shape == (2000,)
    assert abs(x.mean() - mean) < 0.12 * deviation
    assert x.std() == pytest.approx(deviation, rel=0.1)
    assert ((x >= 0) & (x < 1)).all() if mean else (np.abs(x) > 2).mean() < 0.08


def test_dropout_is_refused_where_it_would_draw() -> None:
    """By default it does: its p and its training are neither 0 nor False."""
    with pytest.raises(GradcliError, match="draws at random which entries to keep"):
        gradcli.evaluate("sum(F.dropout(ones(3)))", check=False)


def test_what_the_language_does_not_call_is_right_too() -> None:
    base = np.arange(6.0).reshape(2, 3)
    assert find("overwrite")(base, 7.0, index=(1,)).tolist() == [[0, 1, 2], [7, 7, 7]]
    diagonal = {"size": (2,), "stride": (4,), "offset": 0, "source": (3, 1)}
    assert find("as_strided")(base, **diagonal).tolist() == [0, 4]
    assert find("as_strided")(base, **{**diagonal, "offset": 1}).tolist() == [1, 5]
    assert find("as_strided_scatter")(base, np.array([7.0, 8.0]), **diagonal).tolist() == [
        [7, 1, 2],
        [3, 8, 5],
    ]
    assert base.tolist() == [[0, 1, 2], [3, 4, 5]]
    assert find("machine_epsilon")(np.ones(2)) == 2.0**-52
    assert find("machine_epsilon")(np.ones(2, np.float32)) == 2.0**-23


EXCEPTIONS = read_table("oracle_exceptions.json")  # each with its reason
_NOT_GIVEN = {(word, target) for word, target, _ in EXCEPTIONS["not given"]}


def test_every_parameter_is_given_in_some_call() -> None:
    read: dict[str, set[str]] = defaultdict(set)
    given: dict[str, set[str]] = defaultdict(set)
    for name in catalogue():
        for place in oracles(name):
            signature = meant(place, name)
            assert signature is not None
            parameters = signature.parameters
            read[signature.target] |= {p.name for p in parameters if not p.ignored}
            for arguments, _ in answers(place, name):
                call = ast.parse(f"f({arguments})", mode="eval").body
                assert isinstance(call, ast.Call)
                given[signature.target] |= {
                    p.name for p, _ in zip(parameters, call.args, strict=False)
                }
                given[signature.target] |= {
                    p.name for p in parameters for word in call.keywords if word.arg in p.spellings
                }
    missing = [
        f"no call of {target} gives {word!r}: add one to tests/oracles/calls"
        for target, words in sorted(read.items())
        for word in sorted(words - given[target])
        if (word, target) not in _NOT_GIVEN
    ]
    assert missing == []


# Planted mistakes


@pytest.mark.ci
@pytest.mark.parametrize(
    ("one", "other"), [pytest.param(*pair, id="-".join(pair)) for pair in aliases()]
)
def test_exchanged_aliases_are_found(one: str, other: str) -> None:
    before = meant("", one), meant("", other)
    with exchanged(one, other):
        changed = [
            name for name, kept in zip((one, other), before, strict=True) if meant("", name) != kept
        ]
        assert changed == [name for name in changed if found_in(name)]


@pytest.mark.ci
@pytest.mark.parametrize("name", sorted({*RECORDS} - {*EXCEPTIONS["not moved"]}))
def test_a_wrong_function_is_found(name: str) -> None:
    record = RECORDS[name]
    assert first_found(record, **wrong_value(record)), (
        f"{name} is wrong by a factor of 1.001, and no call of tests/oracles/calls tells"
    )


# Numbers that decide between two formulas of one value, and those that keep a formula that is not
# chosen away from 0/0.
_THRESHOLDS = EXCEPTIONS["thresholds"]
_CONSTANTS: dict[tuple[str, int, str, str], list[tuple[str, object]]] = defaultdict(
    list
)  # code that records share is found in one of them
for _record in records():
    for _shown, _moved in constants(
        _record.definition if isinstance(_record, Composite) else _record.forward
    ):
        if _record.name not in _THRESHOLDS:
            _code = _moved.__code__
            _CONSTANTS[(_code.co_filename, _code.co_firstlineno, _code.co_qualname, _shown)].append(
                (_record.name, _moved)
            )


@pytest.mark.ci
@pytest.mark.parametrize(
    "sharing",
    [pytest.param(every, id=f"{every[0][0]}-{key[-1]}") for key, every in _CONSTANTS.items()],
)
def test_a_wrong_constant_is_found(sharing: list[tuple[str, object]]) -> None:
    for name, function in sharing:
        fields = (
            {"definition": function}
            if isinstance(RECORDS[name], Composite)
            else {"forward": function, "operator": None}
        )
        if first_found(RECORDS[name], **fields):
            return
    pytest.fail(f"{sharing[0][0]} with another number, and no call of tests/oracles/calls tells")


# Defaults that no call of the language uses: a parameter is always given, or has no effect on the
# result.
_UNUSED = EXCEPTIONS["unused defaults"]
_DEFAULTS = [
    (record.name, parameter)
    for record in records()
    for parameter, value in record.static.items()
    if other_default(value) is not None
    and parameter != "without_nan"  # which tables set, for functions of a name of their own
    and parameter not in _UNUSED.get(record.name, "").split()
]


@pytest.mark.ci
@pytest.mark.parametrize(
    ("name", "parameter"), [pytest.param(*case, id=".".join(case)) for case in _DEFAULTS]
)
def test_a_wrong_default_is_found(name: str, parameter: str) -> None:
    record = RECORDS[name]
    wrong = MappingProxyType({**record.static, parameter: other_default(record.static[parameter])})
    assert first_found(record, static=wrong), (
        f"{name} with another default of {parameter}, and no call of tests/oracles/calls tells"
    )


def test_what_is_planted_is_taken_out_again() -> None:
    record = composites()["gelu"] if "gelu" in composites() else registry()["gelu"]
    before = record.doc, meant("", "silu")
    with pytest.raises(KeyError), planted(record, doc=""), exchanged("swish", "expit"):
        raise KeyError
    assert (record.doc, meant("", "silu")) == before
