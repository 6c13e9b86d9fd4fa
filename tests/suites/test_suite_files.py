"""What a session writes: records and compile caches."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest
from suites._harness.cache import compile_cache
from suites._harness.errors import SessionError
from suites._harness.record import Metrics, write_json


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_no_metric_is_ever_non_finite(value: float) -> None:
    with pytest.raises(SessionError, match=r"step_cpu is (nan|inf|-inf): not a measurement"):
        Metrics().add("step_cpu", [1.0, value])


def test_metrics_come_with_their_unit_in_the_order_of_a_session() -> None:
    metrics = Metrics()
    metrics.add("temp_bytes", [36])
    metrics.add("import", [0.4])
    assert list(metrics.as_json().items()) == [
        ("import", {"samples": [0.4], "unit": "seconds"}),
        ("temp_bytes", {"samples": [36.0], "unit": "bytes"}),
    ]


def test_a_record_is_written_whole(tmp_path: Path) -> None:
    path = tmp_path / "session.json"
    path.write_text("old")
    write_json(path, {"a": 1})
    assert json.loads(path.read_text()) == {"a": 1}
    assert list(tmp_path.iterdir()) == [path]


def test_a_record_that_cannot_be_written_leaves_the_old_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "session.json"
    path.write_text("old")
    with pytest.raises(ValueError, match="not JSON compliant"):
        write_json(path, {"a": math.nan})

    def full(_self: Path, _target: Path) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "replace", full)
    with pytest.raises(OSError, match="No space left"):
        write_json(path, {"a": 1})
    assert [p.read_text() for p in tmp_path.iterdir()] == ["old"]


def test_a_cache_without_a_home_is_cold_and_gone_afterwards() -> None:
    with compile_cache(None, program="mlp", identity="1") as cache:
        assert not cache.warm
        assert cache.folder.is_dir()
    assert not cache.folder.exists()


def test_a_cache_is_warm_once_it_was_completed(tmp_path: Path) -> None:
    for expected in (False, True, True):
        with compile_cache(tmp_path, program="mlp", identity="torch 2.13") as cache:
            assert cache.warm is expected
            cache.complete()
    with compile_cache(tmp_path, program="gpt", identity="torch 2.13") as other:
        assert not other.warm  # what another program compiled does not warm this one


def test_an_interrupted_cache_is_cold_again_and_empty(tmp_path: Path) -> None:
    with compile_cache(tmp_path, program="mlp", identity="1") as cache:
        (cache.folder / "half").write_text("x")
    with compile_cache(tmp_path, program="mlp", identity="1") as again:
        assert not again.warm
        assert not (again.folder / "half").exists()


def test_a_cache_of_other_versions_is_cold(tmp_path: Path) -> None:
    with compile_cache(tmp_path, program="mlp", identity="torch 2.12") as cache:
        cache.complete()
    with compile_cache(tmp_path, program="mlp", identity="torch 2.13") as other:
        assert not other.warm
