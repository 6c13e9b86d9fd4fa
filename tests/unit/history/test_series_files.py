"""CSV and JSON Lines: round trips, one line of error with its place for everything else."""

from __future__ import annotations

import csv
import io
import json
import math
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stepwatch.errors import MalformedFile
from stepwatch.history.labels import Labels
from stepwatch.history.series_csv import read_csv
from stepwatch.history.series_jsonl import read_jsonl
from stepwatch.units import Direction

if TYPE_CHECKING:
    from stepwatch.verdict.series import Series

HEADER = "series,revision,value"


def of_csv(text: str | bytes) -> list[Series]:
    data = text if isinstance(text, bytes) else text.encode()
    return read_csv(io.BytesIO(data), "f.csv", better=Direction.LOWER)


def of_jsonl(*points: object) -> list[Series]:
    data = "\n".join(json.dumps(point) for point in points).encode()
    return read_jsonl(io.BytesIO(data), "f.jsonl", better=Direction.LOWER)


LETTERS = st.characters(codec="utf-8", exclude_characters="\0")
NAMES = st.text(LETTERS, min_size=1, max_size=8).filter(str.strip)
VALUES = st.none() | st.floats(allow_nan=False, allow_infinity=False)


@given(st.lists(st.tuples(NAMES, NAMES, VALUES), min_size=1, max_size=40))
def test_csv_round_trip(rows: list[tuple[str, str, float | None]]) -> None:
    text = io.StringIO(newline="")
    writer = csv.writer(text)
    writer.writerow(HEADER.split(","))
    writer.writerows((name, revision, "" if value is None else repr(value)) for name, revision, value in rows)
    found = {series.name: series for series in of_csv(text.getvalue())}
    assert list(found) == list(dict.fromkeys(name for name, _, _ in rows))
    for name, series in found.items():
        mine = [(revision, value) for other, revision, value in rows if other == name]
        assert list(series.revisions) == [revision for revision, _ in mine]
        expected = np.array([math.nan if value is None else value for _, value in mine])
        np.testing.assert_array_equal(series.values, expected)


@given(st.lists(st.tuples(NAMES, NAMES, VALUES), min_size=1, max_size=20))
def test_json_lines_say_the_same_as_csv(rows: list[tuple[str, str, float | None]]) -> None:
    text = io.StringIO(newline="")
    csv.writer(text).writerows(
        [HEADER.split(","), *((n, r, "" if v is None else repr(v)) for n, r, v in rows)]
    )
    left = of_csv(text.getvalue())
    right = of_jsonl(*({"series": n, "revision": r, "value": v} for n, r, v in rows))
    assert [(one.name, list(one.revisions), one.notes) for one in left] == [
        (one.name, list(one.revisions), one.notes) for one in right
    ]
    for one, other in zip(left, right, strict=True):
        np.testing.assert_array_equal(one.values, other.values)


def test_every_column_in_any_order_and_values_in_base_units() -> None:
    rows = "ms,2,a,1;2;3,higher,r1\nms,,a,,higher,r2\nms,4,a,4,higher,r3\n"
    (series,) = of_csv(f"unit,value,series,samples,direction,revision\n{rows}")
    assert (series.unit, series.better, list(series.revisions)) == (
        "seconds",
        Direction.HIGHER,
        ["r1", "r2", "r3"],
    )
    np.testing.assert_allclose(series.values, [0.002, math.nan, 0.004])
    assert series.samples is not None
    assert [taken.tolist() for taken in series.samples] == [[0.001, 0.002, 0.003], [], [0.004]]


@pytest.mark.parametrize(
    ("text", "better"),
    [
        ("lower", Direction.LOWER),
        (" Higher ", Direction.HIGHER),
        ("higher is better", Direction.HIGHER),
        ("higher_is_better", Direction.HIGHER),
        ("lower-is-better", Direction.LOWER),
        ("", Direction.LOWER),
    ],
)
def test_directions_as_people_write_them(text: str, better: Direction) -> None:
    (series,) = of_csv(f"{HEADER},direction\na,1,1,{text}\na,2,1,{text}\n")
    assert series.better is better


def test_samples_may_begin_late_and_end_early() -> None:
    (series,) = of_csv(f"{HEADER},samples\na,1,1,\na,2,1,1;2\na,3,1,\n")
    assert series.samples is not None
    assert [len(taken) for taken in series.samples] == [0, 2, 0]


def test_order_of_the_file_is_the_order_of_time_across_series() -> None:
    first, second = of_csv(f"{HEADER}\nb,1,1\na,1,10\nb,2,2\na,2,20\n")
    assert (first.name, first.values.tolist()) == ("b", [1, 2])
    assert (second.name, second.values.tolist()) == ("a", [10, 20])


def test_what_editors_add_is_no_fault() -> None:
    text = b"\xef\xbb\xbfSeries, Revision ,value\r\na,r1,1\r\n\r\na,r2, \r\n"
    (series,) = of_csv(text)
    np.testing.assert_array_equal(series.values, [1, math.nan])


def test_bytes_and_counts_may_be_exact_times_are_not() -> None:
    for unit, exact in (("B", True), ("KiB", True), ("count", True), ("ms", False), ("items", False)):
        assert of_csv(f"{HEADER},unit\na,1,5,{unit}\n")[0].exact is exact


def test_levels_below_zero_and_repeated_revisions_are_noted() -> None:
    (series,) = of_csv(f"{HEADER}\na,r1,-1\na,r1,2\na,r2,3\n")
    assert series.notes == (
        "1 of 3 values below 0: a ratio is given only between levels above 0",
        "revision r1 occurs more than once: each row is a point of its own",
    )


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "f.csv:1: no column 'series'; the first line names the columns: series,revision,value"),
        ("a,1,2\n", "f.csv:1: unknown column 'a'; the first line"),
        ("series,revision,valeu\n", "f.csv:1: unknown column 'valeu', did you mean value?"),
        ("series,revision,value,value\n", "f.csv:1: a column is named twice"),
        (f"{HEADER}\n", "f.csv: no points"),
        (f"{HEADER}\na,1,1\nb,2\n", "f.csv:3: 2 fields where the header names 3"),
        (f"{HEADER}\na,1,1\n\na,2,one\n", "f.csv:4: 'one' is not a number"),
        (f'{HEADER}\n"a\nb",1,1\na,2,one\n', "f.csv:4: 'one' is not a number"),
        (
            f"{HEADER}\na,1,nan\n",
            "f.csv:2: 'nan' is not a number (leave the value empty where it is",
        ),
        (f"{HEADER}\na,1,1\na,2,-inf\n", "f.csv:3: -inf is not a finite number"),
        (f"{HEADER},unit\na,1,0,ms\n", "f.csv:2: 0 ms: a time is more than 0"),
        (f"{HEADER},unit\na,1,-4,seconds\n", "f.csv:2: -4 seconds: a time is more than 0"),
        (f"{HEADER},unit\na,1,0,KiB\na,2,-1,KiB\n", "f.csv:3: -1 KiB: bytes are never below 0"),
        (f"{HEADER},unit\na,1,1,ms\na,2,1,s\n", "f.csv:3: unit 's', but series 'a' began with 'ms'"),
        (
            f"{HEADER},direction\na,1,1,\na,2,1,lower\n",
            "f.csv:3: direction 'lower', but series 'a' began with 'none'",
        ),
        (f"{HEADER},direction\na,1,1,up\n", "f.csv:2: direction 'up' is neither lower nor higher"),
        (f"{HEADER},samples\na,1,1,1;;2\n", "f.csv:2: an empty sample between `;`"),
        (f"{HEADER},samples\na,1,1,1;x\n", "f.csv:2: 'x' is not a number"),
        (f"{HEADER},samples\na,1,,1;2\n", "f.csv:2: samples without a value"),
        (f"{HEADER},samples,unit\na,1,1,1;inf,s\n", "f.csv:2: inf is not a finite number"),
        (f"{HEADER},samples,unit\na,1,1,1;-1,s\n", "f.csv:2: -1 s: a time is more than 0"),
        (f"{HEADER},unit\na,1,1e300,B\na,2,1e300,GiB\n", "f.csv:3: unit 'GiB', but series 'a'"),
        (f"{HEADER},unit\na,1,1e300,GiB\n", "f.csv:2: 1e+300 GiB is too large"),
        (f"{HEADER}\n,1,1\n", "f.csv:2: the series has no name"),
        (f"{HEADER}\na,,1\n", "f.csv:2: the revision is empty"),
        (f"{HEADER}\na,1\0,1\n", "f.csv:2: the revision holds a NUL byte"),
        (f"{HEADER}\na\0,1,1\n", "f.csv:2: the series name holds a NUL byte"),
        (f"{HEADER}\na,1,1_000\n", "f.csv:2: '1_000' is not a number"),
        (f'{HEADER}\na,1,"2\n', "f.csv:2: not CSV: unexpected end of data"),
        (b"\xff\xfe\x00", "f.csv: not UTF-8 text; give CSV, JSON Lines"),
        (b"\x00\x01,b\n", "f.csv: a binary file"),
    ],
)
def test_every_fault_is_one_line_with_its_place(text: str | bytes, message: str) -> None:
    with pytest.raises(MalformedFile) as caught:
        of_csv(text)
    assert str(caught.value).startswith(message)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ('{"series": "a", "revision": 1}', "not a point: Object missing required field `value`"),
        ('{"series": "a", "revision": 1, "value": NaN}', "not a point: JSON is malformed"),
        ('{"series": "a", "revision": 1, "value": 1, "sample": []}', "not a point: Object contains unknown"),
        ('{"series": "a", "revision": 1, "value": "2"}', "not a point: Expected `float | null`, got `str`"),
        ('{"series": "a", "revision": 1, "value": -1, "unit": "s"}', "-1 s: a time is more than 0"),
    ],
)
def test_faults_of_json_lines(line: str, message: str) -> None:
    data = f'{{"series": "b", "revision": 1, "value": 1, "samples": [1, 1]}}\n\n{line}\n'.encode()
    with pytest.raises(MalformedFile) as caught:
        read_jsonl(io.BytesIO(data), "f.jsonl", better=Direction.LOWER)
    assert str(caught.value).startswith(f"f.jsonl:3: {message}")


def test_a_byte_order_mark_is_no_fault_of_json_lines() -> None:
    data = b'\xef\xbb\xbf{"series": "a", "revision": 1, "value": 1}\n'
    (one,) = read_jsonl(io.BytesIO(data), "f.jsonl", better=Direction.LOWER)
    assert one.values.tolist() == [1.0]


def test_progress_is_told_in_long_files() -> None:
    told: list[int] = []
    rows = "".join(f"a,r{i},1\n" for i in range(240_000))
    read_csv(io.BytesIO(f"{HEADER}\n{rows}".encode()), "f", better=Direction.LOWER, progress=told.append)
    assert len(told) == 2
    assert told[0] >= 100_000


@given(st.lists(st.text(LETTERS, max_size=3), max_size=30))
def test_labels_are_a_list_of_strings(words: list[str]) -> None:
    many = words * 400
    labels = Labels(words)
    for word in many[len(words) :]:
        labels.append(word)
    assert len(labels) == len(many)
    assert list(labels) == many
    assert labels[-3:] == many[-3:]
    for place in range(0, len(many), 997):
        assert labels[place] == many[place]
        assert labels[-place - 1] == many[-place - 1]
    with pytest.raises(IndexError):
        labels[len(many)]


@given(st.binary(max_size=60) | st.text(max_size=60).map(str.encode), st.booleans())
def test_no_bytes_are_a_traceback(tail: bytes, with_header: bool) -> None:  # noqa: FBT001  hypothesis draws it
    data = b"series,revision,value,samples\n" * with_header + tail
    for read in (read_csv, read_jsonl):
        message = "f:"
        try:
            found = read(io.BytesIO(data), "f", better=Direction.LOWER)
        except MalformedFile as error:
            found, message = [], str(error)
        assert message.startswith("f:")
        assert "\n" not in message
        assert all(not np.isinf(series.values).any() for series in found)


def test_a_value_that_contradicts_its_samples_is_refused() -> None:
    """A value in milliseconds beside samples in seconds would be judged by the samples alone."""
    header = HEADER + ",samples"
    with pytest.raises(
        MalformedFile, match=r"f.csv:3: value 200 lies outside its own samples, 0\.99 to 1\.01"
    ):
        of_csv(f"{header}\na,r1,1.0,0.99;1.01\na,r2,200,0.99;1.01\n")
    with pytest.raises(MalformedFile, match=r"f.jsonl:1: value 5 lies outside"):
        of_jsonl({"series": "a", "revision": "r1", "value": 5.0, "samples": [1.0, 1.1]})
    (rounded,) = of_csv(f"{header}\na,r1,1.0,1.02;1.03\n")
    assert rounded.values.tolist() == [1.0]
