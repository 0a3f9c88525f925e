"""Names are one whatever Unicode form they are written in, as Python's are: in texts, in records,
in options, and in results.
"""

from __future__ import annotations

import pickle
import unicodedata

import numpy as np
import pytest
from recorded import LISTS

import gradcli
from gradcli.texts import ByName, normalize

PLAIN = {"check": False, "formula": False}
MICRO, MU = "\u00b5", "\u03bc"

# Each form beside what Python makes of it, which `test_forms_are_those_of_python` asks Python
# itself.
FORMS = LISTS["forms of names"]


@pytest.mark.parametrize(("written", "form"), FORMS.values(), ids=FORMS)
def test_forms_are_those_of_python(written, form):
    assert list(eval(f"dict({written}=1)")) == [form]
    assert normalize(written) == form


KEPT_TEXTS = LISTS["no forms of names"]


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
