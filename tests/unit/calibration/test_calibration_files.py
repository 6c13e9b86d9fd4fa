"""`calibration.jsonl`: what is written reads back; what a kill or a stranger left is met with one line."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from typing import TYPE_CHECKING

import msgspec
import pytest
from evidence_factory import calibration_record
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from stepwatch.errors import DataError, MalformedFile, UnsupportedSchema
from stepwatch.history.calibration import calibration_path, read_calibration
from stepwatch.measure.calibration import store
from stepwatch.stats.calibration import Detectable, FalseAlarms
from stepwatch.stats.noise import Noise
from stepwatch.verdict.calibration import CalibrationRecord

if TYPE_CHECKING:
    from pathlib import Path


def test_nothing_calibrated_is_no_error(tmp_path: Path) -> None:
    assert read_calibration(tmp_path, "lab") == ()


def test_lines_are_added_and_read_oldest_first(tmp_path: Path) -> None:
    records = [
        calibration_record(pairs=16),
        calibration_record(pairs=32, exact=True, noise=None, false_alarms=None, detectable=None),
        calibration_record(pairs=48, detectable=Detectable(effect=None, low=0.5, high=None)),
    ]
    for record in records:
        store(tmp_path, "lab", record)
    assert read_calibration(tmp_path, "lab") == tuple(records)
    assert calibration_path(tmp_path, "lab").name == "calibration.jsonl", "asv reads every *.json as a result"


share = st.floats(0, 1)
amount = st.floats(0, 1e6)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.builds(FalseAlarms, rate=share, low=share, high=share, unchanged=share, mean_pairs=amount),
    st.builds(Detectable, effect=amount | st.none(), low=amount | st.none(), high=amount | st.none()),
    st.builds(
        Noise,
        within_sd=amount | st.none(),
        within_autocorrelation=st.floats(-1, 1) | st.none(),
        between_sd=amount,
        pair_sd=amount,
        pair_sd_robust=amount,
        pair_autocorrelation=st.floats(-1, 1) | st.none(),
    ),
)
def test_every_figure_survives_the_file(
    tmp_path: Path, alarms: FalseAlarms, found: Detectable, noise: Noise
) -> None:
    record = calibration_record(false_alarms=alarms, detectable=found, noise=noise)
    calibration_path(tmp_path, "lab").unlink(missing_ok=True)
    store(tmp_path, "lab", record)
    assert read_calibration(tmp_path, "lab") == (record,)


def test_a_torn_last_line_is_what_a_kill_left(tmp_path: Path) -> None:
    store(tmp_path, "lab", calibration_record(pairs=16))
    path = calibration_path(tmp_path, "lab")
    path.write_bytes(path.read_bytes() + b'{"schema": 1, "bench')
    assert [record.pairs for record in read_calibration(tmp_path, "lab")] == [16]
    store(tmp_path, "lab", calibration_record(pairs=32))
    assert [record.pairs for record in read_calibration(tmp_path, "lab")] == [16, 32]


def test_only_a_torn_line_is_nothing(tmp_path: Path) -> None:
    path = calibration_path(tmp_path, "lab")
    path.parent.mkdir()
    path.write_bytes(b'{"schema": 1')
    assert read_calibration(tmp_path, "lab") == ()


def test_a_kill_while_writing_leaves_whole_lines(tmp_path: Path) -> None:
    code = (
        "import sys; sys.path.insert(0, sys.argv[2])\n"
        "from pathlib import Path\n"
        "from evidence_factory import calibration_record\n"
        "from stepwatch.measure.calibration import store\n"
        "print('ready', flush=True)\n"
        "while True: store(Path(sys.argv[1]), 'lab', calibration_record())\n"
    )
    support = os.path.dirname(sys.modules["evidence_factory"].__file__ or "")  # noqa: PTH120  a module's own
    writer = subprocess.Popen(
        [sys.executable, "-c", code, str(tmp_path), support], stdout=subprocess.PIPE, text=True
    )
    with writer:
        assert writer.stdout is not None
        assert writer.stdout.readline() == "ready\n"
        while not read_calibration(tmp_path, "lab"):
            pass
        writer.send_signal(signal.SIGKILL)
    before = len(read_calibration(tmp_path, "lab"))
    store(tmp_path, "lab", calibration_record(pairs=99))
    after = read_calibration(tmp_path, "lab")
    assert len(after) == before + 1
    assert after[-1].pairs == 99


@pytest.mark.parametrize(
    "changes",
    [
        {"noise": Noise(within_sd=None, within_autocorrelation=None, between_sd=float("nan"), pair_sd=0.1,
                        pair_sd_robust=0.1, pair_autocorrelation=None)},
        {"noise": Noise(within_sd=None, within_autocorrelation=None, between_sd=-0.1, pair_sd=0.1,
                        pair_sd_robust=0.1, pair_autocorrelation=None)},
        {"pair_seconds": float("inf")},
        {"budget_seconds": float("nan")},
        {"detectable": Detectable(effect=-0.1, low=None, high=None)},
        {"false_alarms": FalseAlarms(rate=1.5, low=0.0, high=1.0, unchanged=0.0, mean_pairs=3.0)},
    ],
)  # fmt: skip
def test_what_cannot_be_is_not_stored(tmp_path: Path, changes: dict[str, object]) -> None:
    with pytest.raises(DataError, match=r"track_step_cpu: its calibration was not stored"):
        store(tmp_path, "lab", calibration_record(**changes))
    assert not calibration_path(tmp_path, "lab").exists()


def line(**changes: object) -> bytes:
    fields = msgspec.to_builtins(calibration_record())
    return msgspec.json.encode({**fields, **changes})


@pytest.mark.parametrize(
    ("data", "match"),
    [
        (line(pairs="many"), "pairs"),
        (line(pairs=-1), "a negative or absurd number of pairs or rows"),
        (line(pairs=10**9), "a negative or absurd number of pairs or rows"),
        (line(budget_pairs=10**9), "a negative or absurd number of pairs or rows"),
        (line(budget_seconds=-1.0), "a negative or absurd amount"),
        (line(budget_seconds=1e308), "a negative or absurd amount"),
        (line(measured_at=1e15), "which cannot be"),
        (line(measured_at=-1.0), "which cannot be"),
        (
            line(false_alarms={"rate": 2, "low": 0, "high": 1, "unchanged": 0, "mean_pairs": 1}),
            "outside 0 to 1",
        ),
        (line(noise=3), "noise"),
        (line().replace(b"0.012", b"NaN"), "invalid"),
        (line().replace(b"0.012", b"1e999"), "out of range"),
        (b"not json", "invalid character|malformed"),
        (b'{"schema": 1}', "missing required field"),
        (b'{"schema": 1, "benchmark": ' + b"[" * 100_000, "nested too deeply|malformed|truncated"),
        (b'{"schema": "\xff"}', "schema|utf-8"),
    ],
)
def test_a_damaged_line_is_named(tmp_path: Path, data: bytes, match: str) -> None:
    path = calibration_path(tmp_path, "lab")
    path.parent.mkdir()
    path.write_bytes(line() + b"\n" + data + b"\n")
    with pytest.raises(MalformedFile, match=match) as caught:
        read_calibration(tmp_path, "lab")
    assert f"{path}:2: " in str(caught.value)
    assert "take out this line" in str(caught.value)


def test_another_schema_is_named(tmp_path: Path) -> None:
    path = calibration_path(tmp_path, "lab")
    path.parent.mkdir()
    path.write_bytes(line(schema=2) + b"\n")
    with pytest.raises(UnsupportedSchema, match=r"schema 2 is not known \(this stepwatch reads 1\)"):
        read_calibration(tmp_path, "lab")


def test_a_folder_in_its_place_is_named(tmp_path: Path) -> None:
    calibration_path(tmp_path, "lab").mkdir(parents=True)
    with pytest.raises(MalformedFile, match="cannot be read: is a directory"):
        read_calibration(tmp_path, "lab")


def test_a_record_is_a_line_of_json() -> None:
    encoded = msgspec.json.encode(calibration_record())
    assert b"\n" not in encoded
    assert msgspec.json.decode(encoded, type=CalibrationRecord) == calibration_record()
