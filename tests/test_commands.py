"""Commands that are typed, and what comes of them: a line of data/commands/ each."""

from __future__ import annotations

import json
import re
import shlex

import numpy as np
import pytest
from recorded import DATA, read_lines

CASES = [
    pytest.param(
        case,
        id=f"{path.stem}, {case['about']}: {case['run']}",
        marks=[pytest.mark.ci] * ("ci" in case),
    )
    for path in sorted(DATA.glob("commands/*.jsonl"))
    for case in read_lines(path)
]


def write(path, content):
    """Write a text, an array (.npy), data (.json), or records, a line each; None removes."""
    if content is None:
        path.unlink()
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.suffix == ".npy":
        np.save(path, np.asarray(content))
    elif isinstance(content, str):
        path.write_bytes(content.encode())
    else:
        lines = content if path.suffix == ".jsonl" else [content]
        path.write_text("".join(f"{json.dumps(line)}\n" for line in lines), "utf-8")


def texts(case, key):
    """Return the texts of a field, which may be one or a list."""
    found = case.get(key, [])
    return [found] if isinstance(found, str) else found


def part(data, path):
    """Return what stands at a path of keys, or None: `*` is every entry, `#` their number, `keys`
    the names of members.
    """
    key, _, rest = path.partition(".")
    if not path:
        return data
    if key == "*":
        return [part(entry, rest) for entry in data]
    if key == "#":
        return len(data)
    if key == "keys":
        return list(data)
    if isinstance(data, list):
        return part(data[int(key)], rest)
    return None if data is None else part(data.get(key), rest)


def of_records(records, path):
    """Return what stands at a path, which begins with the place of a record unless there is one."""
    if re.match(r"-?\d+|\*|#", path):
        return part(records, path)
    (record,) = records
    return part(record, path)


@pytest.mark.parametrize("case", CASES)
def test_commands(call_cli, run_cli, tmp_path_factory, tmp_path, monkeypatch, case):
    """A line of data has

    - what is typed: `run`, `stdin`, `files` beside it, variables of `env`; commands of which the
      same comes (`also`), and those that follow in the same folder (`then`): another one, the same
      again, or with words that they `add`; `about` says what for, `needs` the module without which it is
      skipped, `ci` that .ci/run runs it alone, `process` that it runs in a process of its own;
    - what comes of it: the exit `code`; words of what is printed, `out` and `err` (none: nothing is
      printed), those that stand in one of them (`in`) or in neither (`unsaid`); all that is
      printed, `stdout` and `stderr`; a pattern of a part of standard output, `like`; a command that
      prints the `same`; the `message` of the error; files that are `left`, arrays that are `saved`,
      words of what is `written` into a file;
    - of records: values at paths (`json`; `close`, to 12 digits or `rtol`); of checks the `status`
      of each case, and of the first the `reason`, the `verdict` and those of its `claims`.
    """
    monkeypatch.setenv("GRADCLI_CACHE_DIR", str(tmp_path_factory.getbasetemp() / "verdicts"))
    for name, value in case.get("env", {}).items():
        monkeypatch.setenv(name, value)
    if "needs" in case:
        pytest.importorskip(case["needs"])
    others = [{**case, "run": run} for run in texts(case, "also")]
    for step in (case, *others, *case.get("then", [])):
        run = step.get("run", f"{case['run']} {step.get('add', '')}")
        hold(run_cli if "process" in case else call_cli, tmp_path, {**step, "run": run})


def hold(call, folder, case):
    """Run a command and hold what comes of it to what is wanted."""
    for name, content in case.get("files", {}).items():
        write(folder / name, content)
    words = shlex.split(case["run"])
    recorded = case.keys() & {"status", "reason", "verdict", "claims", "json", "close"}
    options = ["--format", "jsonl"] if recorded and "--format" not in words else []
    done = call(*words[:1], *options, *words[1:], stdin=case.get("stdin", ""))
    assert done.returncode == case.get("code", done.returncode), done.stdout + done.stderr
    for key, printed in (("out", done.stdout), ("err", done.stderr)):
        assert all(text in printed for text in texts(case, key)), printed
        assert case.get(key) != "" or printed == ""
        assert case.get(f"std{key}", printed) == printed
    both = done.stdout + done.stderr
    assert all(text in both for text in texts(case, "in")), both
    assert not any(text in both for text in texts(case, "unsaid")), both
    assert re.search(case.get("like", ""), done.stdout, re.MULTILINE), done.stdout
    if "message" in case:
        assert done.stderr.splitlines()[0].partition(": ")[2] == case["message"]
    if "same" in case:
        assert done.stdout == call(*shlex.split(case["same"])).stdout
    assert case.get("left") in (None, sorted(path.name for path in folder.iterdir()))
    for name, wanted in case.get("saved", {}).items():
        assert np.load(folder / name).tolist() == wanted
    for name in case.get("written", {}):
        written = (folder / name).read_text("utf-8")
        assert all(text in written for text in texts(case["written"], name)), written
    if not recorded:
        return
    if options:
        records = [json.loads(line) for line in done.stdout.splitlines()]
    else:
        parsed = json.loads(done.stdout)
        records = parsed if isinstance(parsed, list) else [parsed]
    for path, wanted in case.get("json", {}).items():
        found = of_records(records, path)
        assert found == wanted, path
        assert not isinstance(wanted, dict) or list(found) == list(wanted), path
    for path, wanted in case.get("close", {}).items():
        found = np.asarray(of_records(records, path), float)
        np.testing.assert_allclose(found, np.asarray(wanted, float), rtol=case.get("rtol", 1e-12))
    found = [part(record, "outcome.status") for record in records]
    assert case.get("status", found) == found
    if "reason" in case:
        assert records[0]["outcome"]["reason"] == case["reason"]
    if "verdict" in case:
        assert records[0]["check"]["verdict"] == case["verdict"]
    if "claims" in case:
        assert part(records[0], "check.claims.*.verdict") == case["claims"]
