"""Checks on a cluster: what is handed to its workers, what is remembered, and what is left of pieces that workers die of."""

from __future__ import annotations

import json

import pytest

from gradcli.errors import EvaluationError
from gradcli.query.chunked import executors

DEADLY = "x + 666"


class Workers:
    """A cluster in this process: it notes the lines that it is handed, and dies of one record."""

    hands = 2

    def __init__(self):
        self.batches = []

    def __enter__(self):
        return self

    def __exit__(self, *_):
        pass

    def each(self, tasks, *, died):
        assert died
        for number, function, arguments in tasks:
            lines = [line for line, _ in arguments[2].lines]
            self.batches.append(lines)
            if any(DEADLY in text for _, text in arguments[2].lines):
                yield number, EvaluationError("a chunk ended 4 workers")
            else:
                yield number, function(*arguments)


@pytest.fixture
def workers(monkeypatch, tmp_path):
    made = []

    def cluster(place):
        assert place == "tcp://elsewhere:1"
        made.append(Workers())
        return made[-1]

    monkeypatch.setattr(executors, "cluster_on", cluster)
    monkeypatch.setenv("GRADCLI_CACHE_DIR", str(tmp_path / "cache"))
    return made


def written(folder, expressions):
    (folder / "cases.jsonl").write_text("".join(json.dumps({"expr": text, "at": {"x": 2}}) + "\n" for text in expressions))


def told(done):
    return [(line["source"]["line"], line["outcome"]["status"]) for line in map(json.loads, done.stdout.splitlines())]


CHECK = ("check", "cases.jsonl", "--on", "tcp://elsewhere:1", "--format", "jsonl")


def test_records_that_are_remembered_go_nowhere(call_cli, tmp_path, workers):
    texts = [f"x**{n} + sin(x)" for n in range(2, 72)]
    written(tmp_path, texts)
    first = call_cli(*CHECK)
    assert [len(batch) for batch in workers[-1].batches] == [64, 6]
    again = call_cli(*CHECK)
    assert workers[-1].batches == []
    assert again.stdout.count('"agree"') == first.stdout.count('"agree"') > 0
    assert told(again) == told(first) == [(line, "passed") for line in range(1, 71)]
    written(tmp_path, [*texts[:3], "x**2 + cos(x)", *texts[3:5], "x*x*x", "assert x == 2"])
    assert told(call_cli(*CHECK)) == [(line, "passed") for line in range(1, 9)]
    assert workers[-1].batches == [[4, 7, 8]]
    call_cli(*CHECK, "--no-cache")
    assert workers[-1].batches == [[1, 2, 3, 4, 5, 6, 7, 8]]


def test_what_is_not_found_for_long_is_sought_no_longer(call_cli, tmp_path, workers):
    written(tmp_path, [f"x**2 + {n}" for n in range(200)])
    call_cli(*CHECK)
    written(tmp_path, [*(f"x**3 + {n}" for n in range(130)), *(f"x**2 + {n}" for n in range(64))])
    assert len(told(call_cli(*CHECK))) == 194
    assert sum(map(len, workers[-1].batches)) == 194


def test_one_record_is_lost_of_those_that_went_with_what_workers_die_of(call_cli, tmp_path, workers):
    written(tmp_path, ["x**2", "x**3", DEADLY, "x**4", "x*exp(x)"])
    done = call_cli(*CHECK, "--no-cache")
    assert told(done) == [(1, "passed"), (2, "passed"), (3, "error"), (4, "passed"), (5, "passed")]
    assert "several workers ended" in done.stdout
    assert workers[-1].batches == [[1, 2, 3, 4, 5], [1], [2], [3], [4], [5]]
    assert done.returncode == 3
