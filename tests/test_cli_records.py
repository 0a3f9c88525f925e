"""JSON Lines in and out, and data files."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest

QUIET = ("--no-check", "--format", "jsonl")


@pytest.fixture
def records(call_cli):
    """Run gradcli eval on JSON Lines records and give its exit code and the records that it
    prints.
    """

    def run(given, *arguments, **options):
        lines = [line if isinstance(line, str) else json.dumps(line) for line in given]
        done = call_cli(
            "eval", *QUIET, "-i", "jsonl", *arguments, "-", stdin="\n".join(lines), **options
        )
        return done.returncode, [json.loads(line) for line in done.stdout.splitlines()]

    return run


RECORDS = {
    "the documented record": (
        {
            "id": "q1",
            "expr": "3*a**3 - b**2",
            "at": {"a": [2, 3], "b": [6, 4]},
            "wrt": ["a", "b"],
            "seed": [1, 1],
            "expect": {"value": [0]},
        },
        {
            "id": "q1",
            "value": [-12, 65],
            "seed": [1, 1],
            "grad": {"a": [36, 81], "b": [-12, -8]},
            "error": None,
        },
    ),
    "a seed": (
        {"expr": "x**2", "at": {"x": [2, 3]}, "seed": [1, 0]},
        {"grad": {"x": [4, 0]}, "seed": [1, 0]},
    ),
    "wrt orders": (
        {"expr": "a*b", "at": {"a": 2, "b": 3}, "wrt": ["b", "a"]},
        {"grad": {"b": 2, "a": 3}},
    ),
    "wrt narrows": ({"expr": "a*b", "at": {"a": 2, "b": 3}, "wrt": ["b"]}, {"grad": {"b": 2}}),
    "decimal strings": ({"expr": "x", "at": {"x": "0.1"}}, {"value": 0.1}),
    "thirty digits": (
        {"expr": "x", "at": {"x": "0.100000000000000000000000000001"}},
        {"value": 0.1},
    ),
    "strings in lists": (
        {"expr": "x", "at": {"x": ["1e-3", 2, "nan", "-inf"]}},
        {"value": [0.001, 2, "nan", "-inf"]},
    ),
    "a boolean mask": (
        {"expr": "where(m, x, 0)", "at": {"m": [True, False], "x": [1.0, 2.0]}},
        {"value": [1, 0], "grad": {"x": [1, 0]}},
    ),
    "a program": (
        {"expr": "z = x**2; f(t) = t + z\nf(1)", "at": {"x": 3}},
        {"value": 10, "grad": {"x": 6}},
    ),
    "its last query": ({"expr": "x\nx*2", "at": {"x": 3}}, {"value": 6}),
    "an id of any kind": ({"id": 17, "expr": "1"}, {"id": 17}),
    "no id": ({"expr": "1"}, {"id": None}),
    "fields of one's own": (
        {"expr": "1", "rtol": 1, "meta": {"a": [], "b": "\ud800"}},
        {"value": 1, "error": None, "meta": {"a": [], "b": "\ufffd"}},
    ),
    "a constant expression": ({"expr": "x", "at": {"x": "2**3/4"}}, {"value": 2}),
    "constant expressions in lists": (
        {"expr": "x*y", "at": {"x": ["1/2", "2"], "y": [["1e1", 1], ["2**3/4", 2.5]]}},
        {"value": [[5, 2], [1, 5]], "grad": {"x": [12, 3.5], "y": [[0.5, 2], [0.5, 2]]}},
    ),
    "a literal that overflows": (
        {"expr": "sigmoid(1e308*10 + x)", "at": {"x": 1}},
        {"value": 1, "grad": {"x": 0}, "error": None},
    ),
    "a whole exponent": (
        {"expr": "x**n", "at": {"x": 3, "n": 2}},
        {"grad": {"x": 6, "n": 9 * math.log(3)}},
    ),
    "a matrix": (
        {"expr": "w @ x", "at": {"w": [[1, 2], [3, 4]], "x": [1, 1]}, "wrt": ["x"]},
        {"value": [3, 7], "grad": {"x": [4, 6]}},
    ),
}


@pytest.mark.parametrize(("given", "expected"), RECORDS.values(), ids=RECORDS)
def test_record(records, given, expected):
    code, (found,) = records([given])
    assert code == 0
    assert {key: found[key] for key in expected} == expected
    assert list(found["grad"]) == list(expected.get("grad", found["grad"]))


BAD = {
    "no JSON": ('{"expr": "x"', "input"),
    "no object": ("[1, 2]", "input"),
    "no expr": ('{"id": "bad"}', "input"),
    "expr is no text": ('{"id": "bad", "expr": 3}', "input"),
    "at is no object": ('{"id": "bad", "expr": "x", "at": [1]}', "input"),
    "a value that is no number": ('{"id": "bad", "expr": "x", "at": {"x": "one"}}', "input"),
    "a null": ('{"id": "bad", "expr": "x", "at": {"x": null}}', "input"),
    "a name that is none": ('{"id": "bad", "expr": "x", "at": {"x y": 1}}', "input"),
    "wrt is no list": ('{"id": "bad", "expr": "x", "at": {"x": 1}, "wrt": 3}', "input"),
    "an unknown name": ('{"id": "bad", "expr": "1 +\\n y", "at": {"x": 1}}', "syntax"),
    "an empty expr": ('{"id": "bad", "expr": ""}', "syntax"),
    "only bindings": ('{"id": "bad", "expr": "x = 1"}', "syntax"),
    "a seed of another shape": (
        '{"id": "bad", "expr": "x", "at": {"x": 1}, "seed": [1, 2]}',
        "shape",
    ),
    "not UTF-8": ('{"id": "bad", "expr": "é"}', "missing-value"),
}


def test_bad_records_take_their_places(records):
    good = json.dumps({"id": "good", "expr": "x + 1", "at": {"x": 1}})
    lines = [line for text, _ in BAD.values() for line in (text, good)]
    code, found = records(lines)
    assert code == 2
    assert len(found) == 2 * len(BAD)
    for i, (case, (text, expected)) in enumerate(BAD.items()):
        bad, after = found[2 * i], found[2 * i + 1]
        assert (case, bad["error"]["code"]) == (case, expected)
        assert (bad["value"], bad["grad"], bad["source"]["line"]) == (None, None, 2 * i + 1)
        assert bad["id"] == ("bad" if '"bad"' in text else None)
        assert (after["id"], after["value"], after["source"]["line"]) == ("good", 2, 2 * i + 2)


X = {"id": "bad", "expr": "x**2", "at": {"x": 2}}
FIELDS = "id, expr, at, wrt, seed, expect, meta, skip, xfail, rtol, atol, dialect"
FAULTS = {
    "a misspelt field": ({"expects": {"grad": {"x": 5}}}, "unknown-field", "a record has no field "
    "'expects'", "did you mean 'expect'?"),
    "a field of one's own": ({"comment": 1}, "unknown-field", "a record has no field 'comment'",
                             f'it has {FIELDS}; names of your own go under "meta"'),
    "one inside expect": ({"expect": {"grads": {"x": 5}}}, "unknown-field", "'expect' has no "
    "field 'grads'", "did you mean 'grad'?"),
    "one inside a claim": ({"expect": {"grad": {"x": {"formula": "2*x", "x": 4}}}}, "unknown-field", "the claim of 'x' has no field 'x'",
                           "it has formula"),
    "a claim of no name": ({"expect": {"grad": {"y": 5}}}, "unknown-field",
                           "'expect' has the gradient of 'y', which the record does not have", "the names are x"),
    "expect": ({"expect": [4]}, "input", "'expect' must be an object with 'value', or 'grad' by "
    "names", None),
    "a formula": ({"expect": {"value": {"formula": 4}}}, "input", "the claim of the value: "
    "'formula' must be a string", None),
    "numbers": ({"expect": {"grad": {"x": [1, [2]]}}}, "input", "the claim of 'x' is not a number "
    "or a regular array of numbers", None),
    "at": ({"at": []}, "input", "'at' must be an object of names and values, not an array", None),
    "a value": ({"at": {"x": "one"}}, "input", "the value of 'x' is no number: no value for 'one'",
                "write a number, or an expression of numbers"),
    "wrt": ({"wrt": {"x": 1}}, "input", "'wrt' must be a list of names, not an object", None),
    "seed": ({"seed": {}}, "input", "the 'seed' is not a number or a regular array of numbers", None),
    "meta": ({"meta": 3}, "input", "'meta' must be an object, not a number", None),
    "meta, deeply": ({"meta": {"a": json.loads("[" * 90 + "]" * 90)}}, "input", "'meta' is nested "
    "too deeply", None),
    "skip": ({"skip": 1}, "input", "'skip' must be a reason, not a number", 'write "skip": "why"'),
    "xfail": ({"xfail": ["why"]}, "input", "'xfail' must be a reason, not an array", 'write '
    '"xfail": "why"'),
    "rtol": ({"rtol": "small"}, "input", "'rtol' must be a number from 0, not 'small'", None),
    "atol": ({"atol": -1}, "input", "'atol' must be a number from 0, not -1", None),
    "a tolerance that is none": ({"rtol": True}, "input", "'rtol' must be a number from 0, not "
    "True", None),
}  # fmt: skip


@pytest.mark.parametrize("command", ["eval", "check"])
def test_no_field_is_read_past(call_cli, command):
    good = {"id": "good", "expr": "x + 1", "at": {"x": 1}, "meta": {"n": 1}}
    lines = [json.dumps(record) for change, *_ in FAULTS.values() for record in (X | change, good)]
    done = call_cli(command, "-i", "jsonl", "--format", "jsonl", "-", stdin="\n".join(lines))
    found = [json.loads(line) for line in done.stdout.splitlines()]
    assert (done.returncode, len(found)) == (2, 2 * len(FAULTS))
    for i, (case, (_, code, message, help)) in enumerate(FAULTS.items()):
        bad, after = found[2 * i], found[2 * i + 1]
        assert (case, *(bad["error"][key] for key in ("code", "message", "help"))) == (
            case,
            code,
            message,
            help,
        )
        assert (bad["id"], after["id"], after["value"], after["meta"]) == (
            "bad",
            "good",
            2,
            {"n": 1},
        )


def test_a_field_that_stands_there_twice(records):
    (found,) = records(['{"expr": "x", "at": {"x": 1, "x": 2}}'])[1]
    assert found["error"]["message"] == "not a JSON record: 'x' stands there twice"


TOLERANCES = [
    ({"expect": {"grad": {"x": 4.1}}}, [], 1),
    ({"expect": {"grad": {"x": 4.1}}, "rtol": 0.1}, [], 0),
    ({"expect": {"grad": {"x": 4.1}}, "rtol": "1e-1"}, [], 0),
    ({"expect": {"grad": {"x": 4.1}}, "atol": 0.2}, [], 0),
    ({"expect": {"grad": {"x": 4.1}}, "rtol": 0.1}, ["--rtol", "1e-6"], 1),
    ({"expect": {"value": "2**3/2", "grad": {"x": "8/2"}}}, [], 0),
    ({"expect": {"grad": {"x": {"formula": "4"}}}}, [], 1),
]


@pytest.mark.parametrize(("change", "options", "code"), TOLERANCES)
def test_tolerances_of_a_record(call_cli, change, options, code):
    assert (
        call_cli("check", "-i", "jsonl", "-", *options, stdin=json.dumps(X | change)).returncode
        == code
    )


def test_error_position_is_within_the_expr(records):
    _, (first, second) = records([{"expr": "1"}, {"expr": "x = 1\nx + sqr(x)"}])
    assert first["error"] is None
    assert second["source"]["line"] == 2
    assert [second["error"][key] for key in ("line", "column", "end_column")] == [2, 5, 8]


def test_blank_lines_crlf_and_fail_fast(records):
    code, found = records(['\ufeff{"expr": "1"}\r', "\r", '{"expr": "2"}\r'])
    assert (code, [(r["source"]["line"], r["value"]) for r in found]) == (0, [(1, 1), (3, 2)])
    code, found = records([{"expr": "1"}, {"expr": "1 +"}, {"expr": "2"}], "--fail-fast")
    assert (code, len(found)) == (2, 2)


def test_a_binding_on_the_command_line_wins_and_suffix_decides(call_cli, tmp_path):
    (tmp_path / "cases.jsonl").write_text('{"expr": "x*2", "at": {"x": 1}}\n')
    done = call_cli("eval", *QUIET, "-f", "cases.jsonl", "x=5")
    record = json.loads(done.stdout)
    assert (record["value"], record["grad"], record["source"]) == (
        10,
        {"x": 2},
        {"file": "cases.jsonl", "line": 1, "column": 1},
    )


# -- data files
# -----------------------------------------------------------------------------------------------


def make_data(folder):
    np.save(folder / "w.npy", np.array([[1.0, 2.0], [3.0, 4.0]]))
    np.save(folder / "n.npy", np.array(2))
    np.savez(folder / "data.npz", x=np.array([1.0, 2.0]), y=np.array([5.0]))
    (folder / "table.csv").write_text("\ufeffprice,size\n1.5,10\n2.5,20\n", encoding="utf-8")
    (folder / "plain.csv").write_text("1,2\n3,4\n")
    (folder / "list.json").write_text('[[1, "0.1"], [3, 4]]')
    (folder / "dict.json").write_text('{"x": [7, 8]}')
    np.save(folder / "objects.npy", np.array([{}], dtype=object), allow_pickle=True)
    np.save(folder / "complex.npy", np.array([1j]))
    np.save(folder / "text.npy", np.array(["a"]))
    np.savez(folder / "objects.npz", x=np.array([{}], dtype=object))
    (folder / "data.pkl").write_bytes(b"cos\nsystem\n(S'touch pwned'\ntR.")
    (folder / "pickle.npy").write_bytes(b"cos\nsystem\n(S'touch pwned'\ntR.")


@pytest.mark.parametrize(
    ("reference", "value"),
    [
        ("w.npy", [[1, 2], [3, 4]]), ("n.npy", 2), ("data.npz:x", [1, 2]),
        ("table.csv:price", [1.5, 2.5]), ("table.csv:size", [10, 20]),
        ("plain.csv", [[1, 2], [3, 4]]), ("list.json", [[1, 0.1], [3, 4]]), ("dict.json:x", [7, 8]),
    ],
)  # fmt: skip
def test_data_files(call_cli, tmp_path, reference, value):
    make_data(tmp_path)
    done = call_cli("eval", *QUIET, "x", f"x=@{reference}")
    record = json.loads(done.stdout)
    assert (done.returncode, record["value"], record["grad"]["x"]) == (
        0,
        value,
        np.ones(np.shape(value)).tolist(),
    )


@pytest.mark.parametrize(
    ("reference", "fragment"),
    [
        ("objects.npy", "objects"), ("objects.npz:x", "objects"), ("complex.npy", "complex"), ("text.npy",
        "text.npy"), ("data.pkl", ".npy"),
        ("pickle.npy", "pickle.npy"), ("data.npz", "KEY"), ("data.npz:z", "x, y"), ("table.csv:prise", "price"), ("dict.json:z",
        "'z'"),
    ],
)  # fmt: skip
def test_refused_data(call_cli, tmp_path, reference, fragment):
    make_data(tmp_path)
    done = call_cli("eval", *QUIET, "x", f"x=@{reference}")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("error[input]")
    assert fragment in done.stderr
    assert not (tmp_path / "pwned").exists()


def test_records_reach_only_into_their_own_folder(call_cli, tmp_path):
    make_data(tmp_path)
    inner = tmp_path / "inner"
    (inner / "below").mkdir(parents=True)
    np.save(inner / "below" / "v.npy", np.array([3.0]))
    (inner / "link.npy").symlink_to(tmp_path / "w.npy")
    references = [
        "@below/v.npy",
        "@../w.npy",
        f"@{tmp_path}/w.npy",
        "@link.npy",
        "@below/../../w.npy",
    ]
    (inner / "cases.jsonl").write_text(
        "".join(json.dumps({"expr": "x", "at": {"x": r}}) + "\n" for r in references)
    )
    done = call_cli("eval", *QUIET, "-f", "inner/cases.jsonl")
    found = [json.loads(line) for line in done.stdout.splitlines()]
    assert found[0]["value"] == [3]
    assert [r["error"]["code"] for r in found[1:]] == ["input"] * 4
    assert done.returncode == 2


def test_files_may_name_data_beside_them(call_cli, tmp_path):
    make_data(tmp_path)
    inner = tmp_path / "inner"
    inner.mkdir()
    np.save(inner / "v.npy", np.array([3.0, 4.0]))
    (inner / "model.grad").write_text("v = @v.npy\nsum(v**2)\nw = @../w.npy\n")
    done = call_cli("eval", *QUIET, "-f", "inner/model.grad")
    first, second = (json.loads(line) for line in done.stdout.splitlines())
    assert (first["value"], first["grad"]) == (25, {"v": [6, 8]})
    assert second["error"]["code"] == "input"
