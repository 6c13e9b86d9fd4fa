"""What else differed between the two sides."""

from __future__ import annotations

from evidence_factory import record

from stepwatch.verdict import Change
from stepwatch.verdict.differences import differences, flatten, planted


def test_packages_python_and_settings_that_differ() -> None:
    old = record(
        packages={"jax": "0.4.31", "numpy": "2.0", "gone": "1", "ML-dtypes": "0.4"},
        versions={"python": "3.11.9"},
    )
    new = record(
        packages={"jax": "0.4.33", "numpy": "2.0", "Added": "3", "ml_dtypes": "0.4"},
        versions={"python": "3.12.1"},
        device={"platform": "cpu", "kind": "another", "count": 1},
    )
    found = differences([old, old], [new])
    assert found.python == Change(name="python", baseline="3.11.9", contender="3.12.1")
    assert found.packages == [
        Change(name="added", baseline=None, contender="3"),
        Change(name="gone", baseline="1", contender=None),
        Change(name="jax", baseline="0.4.31", contender="0.4.33"),
    ]
    assert found.settings == [Change(name="device.kind", baseline="a processor", contender="another")]


def test_what_varies_inside_a_side_differs_only_if_the_other_never_had_it() -> None:
    cold, warm = record(settings={"compile_cache": "cold"}), record(settings={"compile_cache": "warm"})
    never = record(settings={"compile_cache": "off"})
    assert differences([cold, warm], [warm]).settings == []
    assert differences([cold, warm], [never]).settings == [
        Change(name="compile_cache", baseline="cold, warm", contender="off")
    ]


def test_a_side_without_sessions_differs_in_nothing() -> None:
    found = differences([], [record()])
    assert (found.python, found.packages, found.settings) == (None, [], [])


def test_python_missing_from_a_record_is_no_difference() -> None:
    assert differences([record(versions={})], [record()]).python is None


def test_nested_settings_are_flattened_and_consequences_left_out() -> None:
    settings = {"flags": {"xla": {"a": 1}}, "on": True, "affinity": [1], "core": 3, "block_steps": 20}
    assert flatten(settings) == {"flags.xla.a": "1", "on": "true"}


def test_a_planted_slowdown_is_read_as_the_harness_writes_it() -> None:
    assert planted([record()]) is None
    assert planted([record(settings={})]) is None
    assert planted([record(), record(settings={"planted_slowdown": 1.1})]) == "mlp 1.1x"
