"""``--format csv``: rows that a spreadsheet or a plot takes as they are; and numbers alone, for
scripts.
"""

from __future__ import annotations

import pytest

HEADER = "id,line,expr,variable,index,at,gradient,value"

ROWS = {
    "a number, its value repeated": (["a*x**2", "a=3", "x=2"], [",1,a*x**2,a,,3.0,4.0,12.0", ",1,a*x**2,x,,2.0,12.0,12.0"]),
    "entry for entry": (["x**2", "x=1,2"], [",1,x**2,x,0,1.0,2.0,1.0", ",1,x**2,x,1,2.0,4.0,4.0"]),
    "a number beside a vector": (["a*x", "a=2", "x=1,3"],
        [",1,a*x,a,,2.0,4.0,", ",1,a*x,x,0,1.0,2.0,2.0", ",1,a*x,x,1,3.0,2.0,6.0"]),
    "a sum of a matrix": (["sum(x**2)", "x=[[1, 2]]"], [",1,sum(x**2),x,0 0,1.0,2.0,5.0", ",1,sum(x**2),x,0 1,2.0,4.0,5.0"]),
    "a result that fits no name": (["x*[1, 2]", "x=3"],
        [',1,"x*[1, 2]",x,,3.0,3.0,', ',1,"x*[1, 2]",,0,,,3.0', ',1,"x*[1, 2]",,1,,,6.0']),
    "no names": (["1 + 1"], [",1,1 + 1,,,,,2.0"]),
    "a truth": (["x > 1", "x=2"], [",1,x > 1,,,,,true"]),
    "a Jacobian": (["x**2", "x=1,3", "--jacobian"],
        [",1,x**2,x,0 0,1.0,2.0,1.0", ",1,x**2,x,0 1,3.0,0.0,1.0", ",1,x**2,x,1 0,1.0,0.0,9.0", ",1,x**2,x,1 1,3.0,6.0,9.0"]),
    "a Hessian": (["x**3*y", "x=2", "y=5", "--hessian"],
        [',1,x**3*y,"x,x",,2.0,60.0,40.0', ',1,x**3*y,"x,y",,2.0,12.0,40.0', ',1,x**3*y,"y,x",,5.0,12.0,40.0',
         ',1,x**3*y,"y,y",,5.0,0.0,40.0']),
    "a jvp": (["x**2", "x=1,3", "--jvp", "x=1,10"], [",1,x**2,jvp,0,1.0,2.0,1.0", ",1,x**2,jvp,1,3.0,60.0,9.0"]),
    "a jvp along two names": (["x*y", "x=1", "y=3", "--jvp", "x=1", "--jvp", "y=2"], [",1,x*y,jvp,,,5.0,3.0"]),
    "float32": (["x*x", "x=0.1", "--dtype", "float32"], [",1,x*x,x,,0.1,0.2,0.010000001"]),
    "rounded": (["sin(x)", "x=1", "--digits", "3"], [",1,sin(x),x,,1,0.54,0.841"]),
    "only one name": (["x*y", "x=1", "y=3", "--wrt", "y"], [",1,x*y,y,,3.0,1.0,3.0"]),
    "large arrays": (["sum(x)*0 + y", "x=zeros(200000)", "y=2", "--freeze", "x"], [",1,sum(x)*0 + "
    "y,y,,2.0,1.0,2.0"]),
}  # fmt: skip


@pytest.mark.parametrize(("arguments", "rows"), ROWS.values(), ids=ROWS)
def test_rows(call_cli, arguments, rows):
    done = call_cli("eval", "--no-check", "--format", "csv", *arguments)
    assert (done.returncode, done.stdout.splitlines(), done.stderr) == (0, [HEADER, *rows], "")


ALONE = {
    "a number": (["x**2", "x=3", "value"], 0, "9.0", ""),
    "an array": (["3*a**3 - b**2", "a=2,3", "b=6,4", "value"], 0, "[-12.0, 65.0]", ""),
    "a truth": (["x > 2", "x=3", "value"], 0, "true", ""),
    "infinite": (["1/x", "x=0", "value"], 0, "inf", ""),
    "a gradient": (["x**2", "x=3", "grad"], 0, "6.0", ""),
    "one of two": (["3*a**3 - b**2", "a=2,3", "b=6,4", "grad", "--wrt", "a"], 0, "[36.0, 81.0]", ""),
    "two gradients": (["x*y", "x=1", "y=2", "grad"], 2, "", "--wrt NAME"),
    "no gradient": (["1 + 2", "grad"], 2, "", "there is no gradient"),
    "an error": (["sqr(x)", "x=1", "value"], 2, "", "did you mean 'sqrt'?"),
    "a false assert": (["assert x > 2", "x=1", "value"], 1, "false", "an assert is false"),
    "a Hessian": (["x**2", "x=1", "grad", "--hessian"], 2, "", "exclude each other"),
    "rounded": (["x**2", "x=1", "value", "--digits", "3"], 2, "", "exclude each other"),
}  # fmt: skip


@pytest.mark.parametrize(("arguments", "code", "out", "said"), ALONE.values(), ids=ALONE)
def test_a_number_alone(call_cli, arguments, code, out, said):
    place = next(i for i, word in enumerate(arguments) if word in ("value", "grad"))
    done = call_cli("eval", *arguments[:place], "--format", *arguments[place:])
    assert (done.returncode, done.stdout.strip()) == (code, out)
    assert said in done.stderr


def test_a_stream_has_one_heading_and_a_row_for_what_is_wrong(call_cli):
    text = "x**2\nsqr(x)\nassert x > 5\nx = 9\n" + "x**3\n" * 6  # so often that it is compiled
    done = call_cli("eval", "--no-check", "--format", "csv", "x=2", stdin=text)
    rows = [
        ",1,x**2,x,,2.0,4.0,4.0",
        ",2,sqr(x),,,,,",
        ",3,assert x > 5,,,,,false",
        *(f",{n},x**3,x,,2.0,12.0,8.0" for n in range(5, 11)),
    ]
    assert (done.returncode, done.stdout.splitlines()) == (2, [HEADER, *rows])
    assert done.stderr.splitlines()[0] == "error[unknown-name]: unknown function 'sqr'"


def test_records_have_their_ids(call_cli):
    lines = [
        f'{{"id": "r{i}", "expr": "k*x**2 # a, \\"b\\"", "at": {{"x": {i}, "k": "pi/2"}}, "wrt": '
        f'"x"}}'
        for i in range(1, 3)
    ]
    done = call_cli(
        "eval",
        "--no-check",
        "--format",
        "csv",
        "-i",
        "jsonl",
        stdin="\n".join([*lines, '{"id": 3}']),
    )
    assert done.stdout.splitlines() == [
        HEADER, 'r1,1,"k*x**2 # a, ""b""",x,,1.0,3.141592653589793,1.5707963267948966',
        'r2,2,"k*x**2 # a, ""b""",x,,2.0,6.283185307179586,6.283185307179586', "3,3,,,,,,",
    ]  # fmt: skip
    assert done.returncode == 2
