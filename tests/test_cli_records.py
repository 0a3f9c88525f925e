"""JSON Lines in and out, and data files."""

from __future__ import annotations

import json

import numpy as np
import pytest

QUIET = ("--no-check", "--format", "jsonl")
PICKLE = b"cos\nsystem\n(S'touch pwned'\ntR."


@pytest.mark.parametrize(
    ("reference", "fragment"),
    [
        ("objects.npy", "objects"), ("objects.npz:x", "objects"), ("complex.npy", "complex"),
        ("pickle.npy", "pickle.npy"), ("data.npz", "KEY"), ("data.npz:z", "x, y"), ("data.npz:x", ""),
    ],
)  # fmt: skip
def test_data_of_numpy(call_cli, tmp_path, reference, fragment):
    np.savez(tmp_path / "data.npz", x=np.array([1.0, 2.0]), y=np.array([5.0]))
    np.save(tmp_path / "objects.npy", np.array([{}], dtype=object), allow_pickle=True)
    np.savez(tmp_path / "objects.npz", x=np.array([{}], dtype=object))
    np.save(tmp_path / "complex.npy", np.array([1j]))
    (tmp_path / "pickle.npy").write_bytes(PICKLE)
    done = call_cli("eval", *QUIET, "x", f"x=@{reference}")
    assert done.returncode == (2 if fragment else 0)
    assert fragment in done.stderr
    assert done.stderr.startswith("error[input]" if fragment else "")
    assert not (tmp_path / "pwned").exists()
    assert fragment or json.loads(done.stdout)["value"] == [1, 2]


def test_records_reach_only_into_their_own_folder(call_cli, tmp_path):
    np.save(tmp_path / "w.npy", np.ones((2, 2)))
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
