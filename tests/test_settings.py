"""Settings of projects: which file they come from, what they may be, and what is said of those that
are wrong.
"""

from __future__ import annotations

from gradcli.files.settings import Settings, read


def test_a_file_with_a_bom_and_every_setting(tmp_path):
    path = tmp_path / "pyproject.toml"
    path.write_bytes(
        b"\xef\xbb\xbf[tool.gradcli]\r\nfail-on = 'kink, mismatch'\r\nconvention = 'jax'\r\nrtol "
        b"= 1\r\natol = 0.5\r\npoints = 3\r\n"
        b"random-state = 0\r\ntimeout = 2\r\njobs = 2\r\nreport = ['json=-', "
        b"'junit=out/x.xml']\r\ndialect = 'torch'\r\n"
        b"backend = 'numpy'\r\nthreads = 3\r\nbudget = 9\r\nbaseline = 'known.json'\r\nfiles = "
        b"['a.grad', 'in/*.jsonl']\r\n"
    )
    report = ("json=-", f"junit={tmp_path.resolve() / 'out/x.xml'}")
    root = tmp_path.resolve()
    run = {
        "budget": 9,
        "baseline": str(root / "known.json"),
        "files": (str(root / "a.grad"), str(root / "in/*.jsonl")),
    }
    assert read(path) == Settings(
        ("kink", "mismatch"), "jax", 1, 0.5, 3, 0, 2, 2, report, path, "torch", "numpy", 3, **run
    )


# -- on the command line
