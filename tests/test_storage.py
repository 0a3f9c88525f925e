"""Files that are written whole or not at all, and what is kept between runs: broken entries, two
writers, full disks, bounds.
"""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from conftest import plain_environment

from gradcli import Check, OutputError, Verdict, storage
from gradcli.check import verdict_cache
from gradcli.cli.write import expectations
from gradcli.storage import NATIVE, STORES, VERDICTS, Entries, Replacement, write_whole

POSIX = pytest.mark.skipif(os.name != "posix", reason="modes, links and pipes of POSIX")
KEY = "ab" + "0" * 62
AGREED = Check(Verdict.AGREE, {}, None, [], None, [], None)


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("GRADCLI_CACHE_DIR", str(tmp_path / "cache"))
    return tmp_path / "cache"


# -- entries
# -------------------------------------------------------------------------------------------------------------


def edited(path: Path, old: bytes, new: bytes) -> None:
    content = path.read_bytes()
    assert old in content
    path.write_bytes(content.replace(old, new))


def instead(make: Callable[[Path], Any]) -> Callable[[Path], Any]:
    def act(path: Path) -> None:
        path.unlink()
        make(path)

    return act


BROKEN = {
    "nested": lambda path: path.write_text("[" * 100_000),
    "empty": lambda path: path.write_bytes(b""),
    "cut": lambda path: path.write_bytes(path.read_bytes()[:-1]),
    "a list": lambda path: edited(path, b'"variables": {}', b'"variables": []'),
    "another verdict": lambda path: edited(path, b'{"verdict": ', b'{"verdict":  '),
    "another version": lambda path: edited(path, b"verdicts 1", b"verdicts 0"),
    "too large": lambda path: path.write_bytes(path.read_bytes() + b" " * VERDICTS.largest),
    "a folder": instead(Path.mkdir),
    "a device": instead(lambda path: path.symlink_to("/dev/zero")),
    "a link": lambda path: (
        path.rename(path.with_name("elsewhere")),
        path.symlink_to(path.with_name("elsewhere")),
    ),
}


@POSIX
@pytest.mark.parametrize("damage", BROKEN.values(), ids=BROKEN)
def test_a_broken_entry_is_a_miss(damage: Callable[[Path], Any], cache: Path) -> None:
    verdict_cache.remember(KEY, AGREED)
    assert verdict_cache.recall(KEY) is not None
    path = cache / "verdicts" / "ab" / KEY[2:]
    damage(path)
    assert verdict_cache.recall(KEY) is None
    verdict_cache.remember(KEY, AGREED)
    assert (verdict_cache.recall(KEY) is None) == path.is_dir()


@pytest.mark.parametrize(
    "change",
    [
        {"variables": []},
        {"claims": [{}]},
        {"value": {"kinks": "no"}},
        {"rewrite": 5},
        {"verdict": 1},
    ],
)
def test_an_entry_that_is_whole_and_says_something_else_is_a_miss(change: dict[str, Any]) -> None:
    """As another version of the code might write it, under a digest that is right."""
    verdict_cache.remember(KEY, AGREED)
    content = VERDICTS.read(KEY)
    assert content is not None
    VERDICTS.keep(KEY, json.dumps({**json.loads(content), **change}).encode())
    assert verdict_cache.recall(KEY) is None


def test_an_entry_is_that_of_its_key(cache: Path) -> None:
    VERDICTS.keep(KEY, b"one")
    other = KEY[:-1] + "1"
    (cache / "verdicts" / "ab" / KEY[2:]).rename(cache / "verdicts" / "ab" / other[2:])
    assert VERDICTS.read(other) is None


def test_two_writers_and_a_reader_see_whole_entries() -> None:
    found: set[bytes | None] = set()
    contents = [bytes([letter]) * 50_000 for letter in b"ab"]
    VERDICTS.keep(KEY, contents[0])

    def write(content: bytes) -> None:
        for _ in range(100):
            VERDICTS.keep(KEY, content)

    writers = [threading.Thread(target=write, args=(content,)) for content in contents]
    for writer in writers:
        writer.start()
    while any(writer.is_alive() for writer in writers):
        found.add(VERDICTS.read(KEY))
    assert found <= set(contents)


def test_a_store_has_a_bound_of_bytes() -> None:
    store = Entries("some", "some", room=10_000, largest=2_000)
    for number in range(30):
        store.keep(f"{number:064x}", b"x" * 900)
    kept = [number for number in range(30) if store.read(f"{number:064x}") is not None]
    assert 29 in kept
    assert len(kept) <= 10
    store.keep("f" * 64, b"x" * 2_001)  # larger than an entry may be
    assert store.read("f" * 64) is None


@POSIX
def test_what_is_kept_is_the_users_alone(cache: Path) -> None:
    before = os.umask(0)
    try:
        VERDICTS.keep(KEY, b"one")
    finally:
        os.umask(before)
    modes = {path: stat.S_IMODE(path.stat().st_mode) for path in [cache, *cache.rglob("*")]}
    assert {mode for path, mode in modes.items() if path.is_dir()} == {0o700}
    assert {mode for path, mode in modes.items() if path.is_file()} == {0o600}


@POSIX
def test_code_that_is_no_file_is_not_waited_for(cache: Path) -> None:
    kept = NATIVE.keep(f"gcc-{0:040x}", b"code")
    assert kept is not None
    kept.unlink()
    os.mkfifo(kept)
    assert NATIVE.path_of(f"gcc-{0:040x}") is None
    assert not kept.exists()


@pytest.mark.parametrize("problem", ["full", "read-only"])
def test_where_nothing_can_be_kept_there_are_misses(
    problem: str, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*_: Any, **__: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace" if problem == "full" else "mkdir", fails)
    verdict_cache.remember(KEY, AGREED)
    assert verdict_cache.recall(KEY) is None
    assert [path for path in cache.rglob("*") if path.is_file()] == []


def test_all_stores_are_listed_and_cleared(call_cli: Any, cache: Path) -> None:
    VERDICTS.keep(KEY, b"one")
    NATIVE.keep(f"gcc-{0:040x}", b"code")
    (cache / "verdicts" / "ab" / ".new.1").touch()  # of a process that was killed
    assert [line.split(",")[0] for line in call_cli("cache").stdout.splitlines()[1:]] == [
        "verdicts: 2 files", "compiled code: 1 file",
    ]  # fmt: skip
    call_cli("cache", "--clear")
    assert [store.files() for store in STORES] == [[]] * len(STORES)
    assert list(cache.iterdir()) == []


def test_the_same_function_of_other_numbers_is_not_differentiated_again(
    call_cli: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def decided(x: str) -> set[str]:
        (record,) = map(
            json.loads,
            call_cli(
                "check", "-e", "sin(a*x)**2 + x/7", "a=3", f"x={x}", "--format", "jsonl"
            ).stdout.splitlines(),
        )
        return {part["decided_by"] for part in record["check"]["variables"].values()}

    assert decided("0.3") == {"symbolic"}
    monkeypatch.setattr("sympy.diff", None)
    assert decided("0.4") == {"symbolic"}


# -- files
# ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("step", ["fsync", "replace", "chmod"])
def test_a_full_disk_is_said_and_leaves_the_file_as_it_was(
    step: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "file"
    path.write_text("old")

    def fails(*_: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, step, fails)
    with pytest.raises(OutputError, match=r"cannot write '.*file': No space left on device"):
        write_whole(path, b"new")
    assert [(p.name, p.read_text()) for p in tmp_path.iterdir()] == [("file", "old")]


@POSIX
def test_mode_and_links_stay(tmp_path: Path) -> None:
    path, link = tmp_path / "file", tmp_path / "link"
    path.write_text("old")
    path.chmod(0o640)
    link.symlink_to(path)
    write_whole(link, b"new")
    assert (link.is_symlink(), path.read_text(), stat.S_IMODE(path.stat().st_mode)) == (
        True,
        "new",
        0o640,
    )
    before = os.umask(0o027)
    try:
        write_whole(tmp_path / "other", b"new")
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "other").stat().st_mode) == 0o640
    write_whole(tmp_path / ("n" * 255), b"as long as names may be")


def test_what_cannot_be_replaced_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file that is mounted by itself, as into containers."""
    path = tmp_path / "file"
    path.write_text("old and long")

    def busy(*_: Any) -> None:
        raise OSError(16, "Device or resource busy")

    monkeypatch.setattr(os, "replace", busy)
    with pytest.raises(OutputError, match="Device or resource busy"):
        write_whole(path, b"new")
    assert [(p.name, p.read_text()) for p in tmp_path.iterdir()] == [("file", "old and long")]


def test_what_was_begun_is_removed_at_the_end(tmp_path: Path) -> None:
    new = Replacement(tmp_path / "file")
    assert len(list(tmp_path.iterdir())) == 1
    storage.abandon()
    new.leave()
    assert list(tmp_path.iterdir()) == []


def test_of_several_files_all_are_written_or_none(call_cli: Any, tmp_path: Path) -> None:
    (tmp_path / "x.npy").write_text("old")
    done = call_cli("eval", "x**2*y", "x=1,2", "y=3", "--save", "x=x.npy", "--save", "y=none/y.npy")
    assert done.returncode == 2
    assert "cannot write 'none/y.npy': No such file or directory" in done.stderr
    assert [(p.name, p.read_text()) for p in tmp_path.iterdir()] == [("x.npy", "old")]


@POSIX
@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_a_report_that_cannot_be_written_leaves_the_others(call_cli: Any, tmp_path: Path) -> None:
    done = call_cli(
        "check", "-e", "x**2", "x=2", "--report", "junit=/dev/full", "--report", "json=out.json"
    )
    assert (done.returncode, done.stdout.split(" in ")[0]) == (2, "1 passed")
    assert done.stderr == "error[output]: cannot write '/dev/full': No space left on device\n"
    assert "x**2" in (tmp_path / "out.json").read_text()


def test_expectations_are_not_recorded_in_a_file_that_has_changed(
    call_cli: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "r.jsonl"
    path.write_text('{"expr": "x**2", "at": {"x": 2}}\n')
    whole = expectations._with_expectation

    def changes(record: Any, line: str) -> str:
        path.write_text('{"expr": "x**3", "at": {"x": 2}}\n')
        return whole(record, line)

    monkeypatch.setattr(expectations, "_with_expectation", changes)
    done = call_cli("check", "r.jsonl", "--update")
    assert (done.returncode, path.read_text()) == (2, '{"expr": "x**3", "at": {"x": 2}}\n')
    assert "error[input]: 'r.jsonl' has changed in the meantime: nothing is recorded" in done.stderr


GONE = (
    "import os, sys, tempfile; os.chdir(tempfile.mkdtemp()); os.rmdir(os.getcwd()); from "
    "gradcli.__main__ import run; run()"
)


@POSIX
def test_a_current_folder_that_is_gone(tmp_path: Path) -> None:
    (tmp_path / "a.grad").write_text("x = 2\nx**2\n")
    arguments = [
        "check",
        str(tmp_path / "a.grad"),
        "--report",
        "sarif=-",
        "--report",
        f"junit={tmp_path / 'o.xml'}",
    ]
    done = subprocess.run(
        [sys.executable, "-c", GONE, *arguments],
        capture_output=True,
        text=True,
        env=plain_environment(),
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert (tmp_path / "o.xml").exists()
