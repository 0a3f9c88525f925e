"""Names are one whatever Unicode form they are written in, as Python's are: in texts, in records,
in options, and in results.
"""

from __future__ import annotations

import json
import pickle
import unicodedata

import numpy as np
import pytest

import gradcli
from gradcli.characters import ByName, normalize
from gradcli.errors import GradcliError, UsageError

PLAIN = {"check": False, "formula": False}
MICRO, MU = "\u00b5", "\u03bc"

# Each form beside what Python makes of it, which `test_forms_are_those_of_python` asks Python
# itself.
FORMS = {
    "the micro sign": (MICRO, MU), "a ligature": ("\ufb01", "fi"), "a bold letter": ("\U0001d431", "x"), "a wide letter": ("\uff58", "x"),
    "a long s": ("\u017f", "s"), "a letter of script": ("\u2113", "l"), "Planck's constant": ("\u210e", "h"), "a phi": ("\u03d5", "\u03c6"),
    "a decomposed letter": ("e\u0301", "\u00e9"), "an Angstrom": ("\u212b", "\u00c5"), "a wide "
    "digit": ("y\uff11", "y1"),
    "a digraph": ("\u01c6", "d\u017e"),
}  # fmt: skip


@pytest.mark.parametrize(("written", "form"), FORMS.values(), ids=FORMS)
def test_forms_are_those_of_python(written, form):
    assert list(eval(f"dict({written}=1)")) == [form]
    assert normalize(written) == form


@pytest.mark.parametrize(("written", "form"), FORMS.values(), ids=FORMS)
def test_one_name_in_one_text(written, form):
    for one, other in ((written, form), (form, written)):
        record = gradcli.evaluate(f"{one}*{other} + 3*{one}", at={other: 2.0}, check=True)
        assert record.value == 10.0
        assert record.grad == {form: 7.0}
        assert (record.grad[written], record.grad[form], record.grad.get(written)) == (
            7.0,
            7.0,
            7.0,
        )
        assert written in record.grad
        assert record.check.verdict == "agree", "the reference reads the same names"
        assert gradcli.evaluate(f"{one} = 3\n2*{other}", **PLAIN).grad[other] == 2.0
        assert gradcli.evaluate(f"f({one}) = {other}**2\nf(3*t)", t=1.0, **PLAIN).grad == {
            "t": 18.0
        }
        assert gradcli.evaluate(f"grad({one}**3, {other})", at={one: 2.0}, **PLAIN).value == 12.0


# What looks like a form of something else, and means what it says.
KEPT = {
    "a power": ("x\u00b2", {"x": 3.0}, 9.0), "a power of a form": (f"{MICRO}\u00b2", {MU: 3.0}, 9.0),
    "a half": ("\u00bdx", {"x": 3.0}, 1.5),
    "a prime": ("f(x) = x**3\nf\u2032(x)", {"x": 2.0}, 12.0),
    "a lowered digit is no digit": ("x\u2081 - x1", {"x\u2081": 5.0, "x1": 2.0}, 3.0),
    "a lowered letter": ("x\u1d62 - 2xi", {"x\u1d62": 5.0, "xi": 2.0}, 1.0), "the base of a "
    "logarithm": ("log\u2082(x)", {"x": 8.0}, 3.0),
    "a partial derivative": ("\u2202/\u2202y y\u00b2", {"y": 3.0}, 6.0), "pi in italics": ("\U0001d70b*x", {"x": 2.0}, 2 * np.pi),
    "primes around a form": (f"f(x) = x**3\nf'({MICRO}) - f'({MU})", {MU: 2.0}, 0.0),
}  # fmt: skip


@pytest.mark.parametrize(("text", "at", "value"), KEPT.values(), ids=KEPT)
def test_what_keeps_its_meaning(text, at, value):
    assert gradcli.evaluate(text, at=at, **PLAIN).value == pytest.approx(value, rel=1e-15)


KEPT_TEXTS = (
    "# \u00b5",
    "'\u00b5'",
    "x = @\ufb01.npy",
    "x\u00b2\u00bd",
    "\ufdfa",
    "1\uff11",
    "x\u2081",
    "A\u1d40",
)


@pytest.mark.parametrize("text", KEPT_TEXTS)
def test_what_is_no_name_stays(text):
    assert normalize(text) == text


def test_every_letter_is_what_python_makes_of_it():
    wrong = []
    for code in range(0x80, 0x20000):
        letter = chr(code)
        raised_or_lowered = unicodedata.decomposition(letter).startswith(("<super>", "<sub>"))
        form = unicodedata.normalize("NFKC", letter)
        if (
            letter.isidentifier()
            and form.isalnum()
            and not raised_or_lowered
            and normalize(letter) != form
        ):
            wrong.append(
                f"U+{code:04X}"
            )  # what is not alphanumeric has marks or dots, which names of the language have not
    assert wrong == []


# -- the command line
# --------------------------------------------------------------------------------------------------------

# Arguments, what is found below which keys of the JSON.
COMMANDS = {
    "eval": (["eval", f"{MU}**2", f"{MICRO}=3"], ("grad", MU), 6.0),
    "the other way": (["eval", f"{MICRO}**2", f"{MU}=3"], ("grad", MU), 6.0),
    "a ligature": (["eval", "fi**2", "\ufb01=3"], ("grad", "fi"), 6.0),
    "wrt": (["eval", f"{MU}**2*x", f"{MICRO}=3", "x=1", "--wrt", MICRO], ("grad",), {MU: 6.0}),
    "freeze": (["eval", f"{MU}**2*x", f"{MICRO}=3", "x=1", "--freeze", MICRO], ("grad",), {"x": 9.0}),
    "jvp": (["eval", f"{MU}**2", f"{MICRO}=3", "--jvp", f"{MICRO}=2"], ("jvp",), 12.0),
    "hvp": (["eval", f"{MU}**2", f"{MICRO}=3", "--hvp", f"{MICRO}=2"], ("hvp", MU), 4.0),
    "a seed": (["eval", f"[1, 2]*{MU}", f"{MICRO}=3", "--seed", "1,1"], ("grad", MU), 3.0),
    "covariances": (
        ["eval", f"{MU}*x", f"{MICRO}=3±0.1", "x=1±0.1", "--cov", f"{MICRO},x=0.005"], ("grad", MU), 1.0
    ),
    "explain": (["explain", f"{MU}**2", f"{MICRO}=3", "--wrt", MICRO, "--why", MICRO], ("gradients", MU, "value"), 6.0),
    "diff": (["diff", f"{MU}**3", MICRO], ("derivative", MU), f"3*{MU}**2"),
    "diff at a value": (["diff", f"{MU}**3*x", "x", f"{MICRO}=2"], ("derivative", "x"), f"{MU}**3"),
    "bound": (["bound", f"{MU}**2", f"{MICRO}=1..2"], ("value",), [1.0, 4.0]),
}  # fmt: skip


@pytest.mark.parametrize(("arguments", "keys", "wanted"), COMMANDS.values(), ids=COMMANDS)
def test_the_command_line(call_cli, arguments, keys, wanted):
    done = call_cli(*arguments, "--format", "jsonl")
    assert done.returncode == 0, done.stdout + done.stderr
    found = json.loads(done.stdout)
    for key in keys:
        found = found[key]
    assert found == wanted


CHECKS = {
    "a claim": (["-e", f"{MU}**2", f"{MICRO}=3", "--grad", f"{MICRO}=6"], 0),
    "a false claim": (["-e", f"{MU}**2", f"{MICRO}=3", "--grad", f"{MICRO}=5"], 1),
    "a formula": (["-e", f"{MU}**2", f"{MICRO}=3", "--grad-formula", f"{MICRO}=2*{MICRO}"], 0),
    "a false formula": (["-e", f"{MU}**2", f"{MICRO}=3", "--grad-formula", f"{MICRO}=3*{MICRO}"], 1),
    "a range": (["-e", f"assert {MU}**2 >= 0", "--over", f"{MICRO}=1..2"], 0),
    "a false range": (["-e", f"assert {MU} >= 1", "--over", f"{MICRO}=0..2"], 1),
}  # fmt: skip


@pytest.mark.parametrize(("arguments", "code"), CHECKS.values(), ids=CHECKS)
def test_checks(call_cli, arguments, code):
    done = call_cli("check", *arguments)
    assert done.returncode == code, done.stdout + done.stderr


RECORDS = {
    "at": ({"expr": f"{MU}**2", "at": {MICRO: 3}, "expect": {"grad": {MU: 6}}}, 0),
    "expect": ({"expr": f"{MU}**2", "at": {MU: 3}, "expect": {"grad": {MICRO: 6}}}, 0),
    "a false claim": ({"expr": f"{MU}**2", "at": {MU: 3}, "expect": {"grad": {MICRO: 5}}}, 1),
    "wrt": ({"expr": f"{MU}**2*x", "at": {MU: 3, "x": 1}, "wrt": [MICRO], "expect": {"grad": {MICRO: 6}}}, 0),
    "a value as text": ({"expr": "\ufb01**2", "at": {"fi": "1 + 2"}, "expect": {"value": 9}}, 0),
    "two forms of one name": ({"expr": MU, "at": {MU: 3, MICRO: 3}}, 2),
    "two claims about one name": ({"expr": f"{MU}**2", "at": {MU: 3}, "expect": {"grad": {MU: 6, MICRO: 6}}}, 2),
}  # fmt: skip


@pytest.mark.parametrize(("record", "code"), RECORDS.values(), ids=RECORDS)
def test_records(call_cli, record, code):
    done = call_cli("check", "--input", "jsonl", "-f", "-", stdin=json.dumps(record))
    assert done.returncode == code, done.stdout + done.stderr


def test_many_records_are_as_one(call_cli):
    """Those of one template are computed by another way, which has to find the same names."""
    lines = [
        json.dumps(
            {"id": i, "expr": f"{'fi' if i % 2 else chr(0xFB01)}**2*{i}", "at": {"\ufb01": 3}}
        )
        for i in range(1, 41)
    ]
    done = call_cli(
        "eval",
        "--no-check",
        "--no-formula",
        "--format",
        "jsonl",
        "--input",
        "jsonl",
        "-f",
        "-",
        stdin="\n".join(lines),
    )
    assert [json.loads(line)["grad"] for line in done.stdout.splitlines()] == [
        {"fi": 6.0 * i} for i in range(1, 41)
    ]


def test_expectations_are_written_by_the_names_of_the_record(call_cli, tmp_path):
    path = tmp_path / "cases.jsonl"
    path.write_text(
        json.dumps(
            {"expr": f"{MU}**2", "at": {MU: 3}, "expect": {"grad": {MICRO: 5}}}, ensure_ascii=False
        )
        + "\n",
        "utf-8",
    )
    call_cli("check", "cases.jsonl", "--update")
    assert json.loads(path.read_text("utf-8"))["expect"] == {"grad": {MICRO: 6.0}}


def test_saved_gradients(call_cli, tmp_path):
    done = call_cli("eval", f"{MU}**2", f"{MICRO}=3,4", "--seed", "1,1", "--save", f"{MICRO}=g.npy")
    assert done.returncode == 0, done.stderr
    assert np.load(tmp_path / "g.npy").tolist() == [6.0, 8.0]


def test_program_files(call_cli, tmp_path):
    (tmp_path / "p.grad").write_text(
        f"{MICRO} = 3\n{MU}**2\nassert grad({MU}**2, {MICRO}) == 6\n", "utf-8"
    )
    assert call_cli("check", "p.grad").returncode == 0
    (tmp_path / "w.grad").write_text(
        f"{MICRO} = 3\n{MU}**2\nassert grad({MU}**2, {MICRO}) == 5\n", "utf-8"
    )
    assert call_cli("check", "w.grad").returncode == 1


def test_a_name_bound_twice(call_cli):
    done = call_cli("eval", MU, f"{MU}=1", f"{MICRO}=2")
    assert (done.returncode, done.stderr) == (2, f"error[usage]: the name '{MU}' is bound twice\n")


# -- Python
# ------------------------------------------------------------------------------------------------------------------


def test_results_are_found_by_any_form():
    record = gradcli.evaluate(f"{MICRO}**2", at={MICRO: 3.0}, latex=True)
    assert list(record.grad) == [MU]
    assert (
        record.grad[MICRO],
        record.derivative[MICRO],
        record.check.variables[MICRO].verdict,
    ) == (6.0, f"2*{MU}", "agree")
    assert record.to_dict()["grad"] == {MU: 6.0}
    hessian = gradcli.evaluate(f"{MICRO}**2", at={MICRO: 3.0}, mode="hessian", **PLAIN).hessian
    assert hessian[MICRO][MICRO] == 2.0
    assert gradcli.differentiate(f"{MICRO}**2*x", order=2).derivative[MICRO]["x"] == f"2*{MU}"
    assert gradcli.differentiate(f"{MICRO}**2").formula(MICRO) == f"2*{MU}"
    assert (
        gradcli.explain(f"{MICRO}**2", at={MICRO: 3.0}, check=False).gradients[MICRO].value == 6.0
    )
    with pytest.raises(KeyError, match="z"):
        record.grad["z"]
    assert record.grad.get("z", 1) == 1


def test_functions_give_what_is_found_by_any_form():
    f = gradcli.value_and_grad(f"{MICRO}**2*x")
    out = np.zeros(())
    value, grads = f({MICRO: 3.0, "x": 1.0}, out={MICRO: out})
    assert (value, grads[MICRO], grads[MU], grads["x"]) == (9.0, 6.0, 6.0, 9.0)
    assert grads[MICRO] is out
    assert pickle.loads(pickle.dumps(grads))[MICRO] == 6.0
    flat = f.flat(MICRO, x=1.0)
    assert flat.split([3.0])[MICRO] == 3.0
    assert flat([3.0])[1].tolist() == [6.0]
    assert gradcli.hessian(f"{MICRO}**2")({MICRO: 3.0})[2][MICRO][MICRO] == 2.0
    assert gradcli.jacobian(f"[{MICRO}, 2]*{MU}")({MICRO: 3.0})[1][MICRO].tolist() == [6.0, 2.0]
    assert gradcli.hvp(f"{MICRO}**2")({MICRO: 3.0}, v={MICRO: 1.0})[2][MICRO] == 2.0


def test_one_name_is_given_once():
    for at in ({MICRO: 1.0, MU: 2.0}, {"\ufb01": 1.0, "fi": 2.0}):
        with pytest.raises(UsageError, match="bound twice: it is one name in two spellings"):
            gradcli.evaluate(f"{next(iter(at))}**2", at=at, **PLAIN)


def test_by_name():
    table = ByName({"fi": 1})
    assert (
        table["\ufb01"],
        "\ufb01" in table,
        table.get("\ufb01"),
        table.get("z"),
        3 in table,
    ) == (1, True, 1, None, False)
    assert table == {"fi": 1}


def test_places_of_errors():
    """What is told of a text is shown in the text as it is read, with the carets below the name
    that is meant.
    """
    with pytest.raises(GradcliError) as caught:
        gradcli.evaluate("\ufb01 + yy", at={"fi": 1.0})
    assert caught.value.render().splitlines()[2:4] == ["1 | fi + yy", "  |      ^^"]
