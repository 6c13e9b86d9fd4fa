"""`stepwatch pairs` from the outside: decisions, JSON, tables, and every kind of bad input."""

from __future__ import annotations

import io
import json
import math
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stepwatch.cli import main
from stepwatch.errors import MalformedFile
from stepwatch.history.pairs_file import read_pairs
from stepwatch.model import Outcome
from stepwatch.policy import Policy
from stepwatch.units import Direction
from stepwatch.verdict.recorded import RecordedPairs, judge_recorded, pairs_as_json

if TYPE_CHECKING:
    from pathlib import Path


def line(benchmark: str, pair: int, ratio: float, **more: Any) -> dict[str, Any]:
    return {
        "benchmark": benchmark,
        "pair": pair,
        "baseline": [2.0, 2.5],
        "contender": [2.0 * ratio, 2.5 * ratio],
    } | more


def lines(
    benchmark: str, ratio: float, n: int = 12, noise: float = 0.004, **more: Any
) -> list[dict[str, Any]]:
    draws = np.random.default_rng(1).normal(math.log(ratio), noise, n)
    return [line(benchmark, pair, math.exp(draw), **more) for pair, draw in enumerate(draws)]


def write(path: Path, rows: list[dict[str, Any]]) -> str:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return str(path)


def run(*arguments: str) -> int:
    with pytest.raises(SystemExit) as caught:
        main(["pairs", *arguments])
    return int(caught.value.code or 0)


@pytest.fixture
def file(tmp_path: Path) -> str:
    rows = [
        *lines("slower", 1.05),
        *lines("faster", 0.95),
        *lines("same", 1.0),
        *lines("loud", 1.0, noise=0.2),
        *lines("rate", 0.95, better="higher"),
        *lines("throughput", 1.05, direction="higher", unit="1/s"),
    ]
    return write(tmp_path / "pairs.jsonl", rows)


OUTCOMES = {
    "slower": "regressed",
    "faster": "improved",
    "same": "unchanged",
    "loud": "inconclusive",
    "rate": "regressed",
    "throughput": "improved",
}


@pytest.mark.parametrize("correction", ["none", "e-bh"])
def test_json_has_exactly_what_is_promised(
    file: str, correction: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(file, "--json", "--correction", correction) == 0
    found = json.loads(capsys.readouterr().out)
    assert list(found) == ["benchmarks"]
    assert {name: row["outcome"] for name, row in found["benchmarks"].items()} == OUTCOMES
    for row in found["benchmarks"].values():
        assert list(row) == ["outcome", "pairs_used", "ratio", "ratio_low", "ratio_high", "e_value"]
        assert row["ratio_low"] <= row["ratio"] <= row["ratio_high"]
    slower = found["benchmarks"]["slower"]
    assert slower["ratio"] == pytest.approx(1.05, abs=0.005)
    assert slower["pairs_used"] == 6
    assert slower["e_value"] >= 20
    assert found["benchmarks"]["loud"]["pairs_used"] == 12


def test_the_table_says_the_same_and_whether_the_minimal_effect_is_proven(
    file: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(file, "--min-effect", "4.9%") == 0
    text = capsys.readouterr().out
    assert text.startswith("2 regressed, 2 improved, 1 inconclusive, 1 unchanged\n")
    (row,) = (row for row in text.splitlines() if row.startswith("slower"))
    assert "not proven beyond 4.9%" in row
    assert "6 pairs" in row
    assert text.endswith("alpha 0.05 · floor 0.25% · minimal effect 4.9% · each benchmark by itself\n")
    assert run(file, "--min-effect", "0", "--floor", "0", "--correction", "e-bh") == 0
    text = capsys.readouterr().out
    assert "unchanged" not in text
    assert text.endswith("alpha 0.05 · floor 0% · e-BH over all benchmarks\n")


def test_one_pair_is_one_pair(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = write(tmp_path / "one.jsonl", [line("only", 7, 1.5)])
    assert run(path) == 0
    assert "1 pair  " in capsys.readouterr().out
    assert run(path, "--json") == 0
    row = json.loads(capsys.readouterr().out)["benchmarks"]["only"]
    assert (row["outcome"], row["pairs_used"], row["ratio_low"]) == ("inconclusive", 1, None)
    assert row["ratio"] == pytest.approx(1.5)


def test_a_budget_of_pairs(file: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(file, "--json", "--budget-pairs", "5") == 0
    found = json.loads(capsys.readouterr().out)["benchmarks"]
    assert (found["slower"]["outcome"], found["slower"]["pairs_used"]) == ("inconclusive", 5)


def test_fail_on(file: str) -> None:
    assert run(file, "--fail-on", "regressed") == 1
    assert run(file, "--fail-on", "inconclusive", "--alpha", "1%") == 1
    assert run(file, "--budget-pairs", "4", "--fail-on", "regressed") == 0


def test_lines_in_any_order_are_judged_in_the_order_of_their_pairs() -> None:
    rows = lines("a", 1.05)
    shuffled = [rows[place] for place in np.random.default_rng(2).permutation(len(rows))]
    there, back = (read_pairs(stream_of(order), "x") for order in (rows, shuffled))
    assert there == back
    gaps = [row | {"pair": 3 * row["pair"] + 5} for row in rows]
    assert read_pairs(stream_of(gaps), "x") == there


def stream_of(rows: list[dict[str, Any]]) -> list[bytes]:
    return [json.dumps(row).encode() + b"\n" for row in rows]


def test_standard_input_blank_lines_and_a_byte_order_mark(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    data = b"\xef\xbb\xbf" + b"\n\n".join(stream_of(lines("a", 1.05))) + b"  \n"
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(data)))
    assert run("-", "--json") == 0
    assert json.loads(capsys.readouterr().out)["benchmarks"]["a"]["outcome"] == "regressed"


GOOD = json.dumps(line("a", 0, 1.0))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "no pairs in it; write one object per line"),
        ("\n\n", "no pairs in it"),
        ("nonsense\n", ":1: not a JSON object"),
        ("[1, 2]\n", ":1: Expected `object`, got `array`; a pair is {"),
        (GOOD.replace("2.0", "NaN") + "\n", ":1: not a JSON object (JSON is malformed: invalid character"),
        (GOOD.replace("2.0", "1e999") + "\n", ":1: "),
        (GOOD.replace("2.0", "-1.0") + "\n", ":1: baseline holds -1: samples must be positive and finite"),
        (GOOD.replace("2.0", "0") + "\n", ":1: baseline holds 0: samples must be positive"),
        (GOOD.replace("2.0", "null") + "\n", ":1: Expected `float`, got `null`"),
        (GOOD.replace("2.0", '"2"') + "\n", ":1: Expected `float`, got `str`"),
        (
            json.dumps(line("a", 0, 1.0) | {"contender": []}) + "\n",
            ":1: Expected `array` of length >= 1 in `contender`",
        ),
        (json.dumps(line("a", -1, 1.0)) + "\n", ":1: Expected `int` >= 0 in `pair`"),
        (json.dumps(line("a", 1, 1.0) | {"pair": 1.5}) + "\n", ":1: Expected `int`, got `float` in `pair`"),
        (json.dumps(line("a", 1, 1.0) | {"pair": True}) + "\n", ":1: Expected `int`, got `bool` in `pair`"),
        (json.dumps(line("", 1, 1.0)) + "\n", ":1: Expected `str` of length >= 1 in `benchmark`"),
        (json.dumps(line("  ", 1, 1.0)) + "\n", ":1: the benchmark has no name"),
        ('{"benchmark": "a", "pair": 0, "baseline": [1]}\n', ":1: Object missing required field `contender`"),
        (json.dumps(line("a", 1, 1.0, better="more")) + "\n", ":1: Invalid enum value 'more' in `better`"),
        (
            GOOD + "\n" + GOOD + "\n",
            ":2: pair 0 of 'a' is already on line 1; give each pair a number of its own",
        ),
        (
            GOOD + "\n" + json.dumps(line("a", 1, 1.0, better="higher")) + "\n",
            ":2: another direction or unit of 'a' than on line 1",
        ),
        (
            GOOD + "\n" + json.dumps(line("a", 1, 1.0, unit="ms")) + "\n",
            ":2: another direction or unit of 'a'",
        ),
        (
            json.dumps(line("a", 1, 1.0, better="higher", direction="lower")) + "\n",
            ":1: `better` and `direction` contradict each other",
        ),
    ],
)
def test_bad_input_is_one_line_with_its_place(
    tmp_path: Path, text: str, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "bad.jsonl"
    path.write_text(text)
    assert run(str(path)) == 3
    out, error = capsys.readouterr()
    assert out == ""
    assert error.count("\n") == 1
    assert error.startswith(f"stepwatch: {path}")
    assert message in error


def test_bytes_that_are_no_text_and_endless_nesting(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "bad.jsonl"
    for data in (b'{"benchmark": "\xff\xfe"}\n', b"[" * 100_000 + b"\n", b"\x00\n"):
        path.write_bytes(data)
        assert run(str(path)) == 3
        assert capsys.readouterr().err.count("\n") == 1


@pytest.fixture
def empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (("none.jsonl",), 3, "none.jsonl: no results here; give a file with one pair per line"),
        ((".",), 3, ".: cannot be read: is a directory"),
        (("x", "--floor", "3%"), 2, "--floor must be less than the minimal effect (found 0.03 and 0.02)"),
        (("x", "--floor", "2"), 2, "write 2% for 2 percent"),
        (("x", "--alpha", "0"), 2, "must be more than 0"),
        (("x", "--budget-pairs", "0"), 2, "x>=1"),
        (("x", "--correction", "bonferroni"), 2, "'bonferroni' is not one of"),
    ],
)
@pytest.mark.usefixtures("empty_folder")
def test_usage(
    arguments: tuple[str, ...], code: int, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(*arguments) == code
    error = capsys.readouterr().err
    assert error.count("\n") == 1
    assert message in error


@settings(max_examples=25)
@given(
    st.lists(st.floats(1e-300, 1e300), min_size=1, max_size=8), st.lists(st.floats(1e-300, 1e300), min_size=1)
)
def test_extreme_samples_make_numbers_that_json_can_carry(old: list[float], new: list[float]) -> None:
    rows = [{"benchmark": "a", "pair": n, "baseline": old, "contender": new} for n in range(7)]
    (recorded,) = read_pairs(stream_of(rows), "x")
    (verdict,) = judge_recorded([recorded], Policy(), corrected=True)
    found = json.loads(pairs_as_json([verdict]))["benchmarks"]["a"]
    assert all(
        value is None or isinstance(value, (int, str)) or math.isfinite(value) for value in found.values()
    )


@settings(max_examples=25)
@given(st.lists(st.floats(-0.3, 0.3), min_size=1, max_size=12))
def test_swapping_the_sides_or_the_direction_swaps_the_outcome(values: list[float]) -> None:
    mirror = {Outcome.REGRESSED: Outcome.IMPROVED, Outcome.IMPROVED: Outcome.REGRESSED}

    def judged(differences: list[float], better: Direction) -> Outcome:
        recorded = RecordedPairs(benchmark="a", better=better, differences=tuple(differences))
        return judge_recorded([recorded], Policy(), corrected=False)[0].outcome

    ours = judged(values, Direction.LOWER)
    assert judged(values, Direction.HIGHER) is mirror.get(ours, ours)
    assert judged([-value for value in values], Direction.LOWER) is mirror.get(ours, ours)


def test_an_error_names_what_was_read() -> None:
    with pytest.raises(MalformedFile, match="standard input:1: not a JSON object"):
        read_pairs([b"nonsense"], "standard input")
