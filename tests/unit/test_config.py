from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stepwatch.config import load_config
from stepwatch.config_text import find_line
from stepwatch.errors import ConfigError

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def tracker(tmp_path: Path) -> Path:
    (tmp_path / "asv.conf.json").write_text(
        '{"version": 1, "repo": "h.git", // asv allows comments\n "benchmark_dir": "suites"}'
    )
    (tmp_path / "suites").mkdir()
    return tmp_path


def test_defaults_work_without_any_file(tracker: Path) -> None:
    config = load_config(tracker)
    assert config.root == tracker
    assert config.history_repo == tracker / "h.git"
    assert [track.package for track in config.tracks] == ["jax", "torch"]
    assert config.accelerator == "cpu"
    assert config.track("jax") is config.tracks[0]
    assert config.track("flax") is None


def test_the_root_is_found_from_a_folder_below(tracker: Path) -> None:
    below = tracker / "a" / "b"
    below.mkdir(parents=True)
    assert load_config(below).root == tracker


def test_no_tracker_here(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"no asv\.conf\.json here or in a folder above"):
        load_config(tmp_path)


def test_a_full_file(tracker: Path) -> None:
    (tracker / "stepwatch.toml").write_text(
        'machine = "box"\naccelerator = "cuda12"\n[index]\nfind_links = ["wheels", "file:///x"]\n'
        '[environments]\nkeep = 3\nmax_size = "1.5 GiB"\n[policy]\nalpha = 0.01\n'
        '[tracks.flax]\npython = ["3.12"]\n'
    )
    config = load_config(tracker)
    assert config.machine == "box"
    assert config.find_links == (str(tracker / "wheels"), "file:///x")
    assert config.environments_max_bytes == int(1.5 * 1024**3)
    assert config.policy.alpha == 0.01
    assert [track.package for track in config.tracks] == ["jax", "torch", "flax"]


def test_pyproject_serves_when_there_is_no_stepwatch_toml(tracker: Path) -> None:
    (tracker / "pyproject.toml").write_text('[tool.stepwatch]\nmachine = "box"\n')
    assert load_config(tracker).machine == "box"
    (tracker / "pyproject.toml").write_text("[tool.stepwatch]\nmachin = 'box'\n")
    with pytest.raises(
        ConfigError, match=r"pyproject.toml:2: tool.stepwatch.machin: unknown key; did you mean machine"
    ):
        load_config(tracker)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("alpha = [", r"stepwatch.toml"),
        ("a = 1\nb == 2\n", r"stepwatch.toml:2: Invalid value"),
        (
            "[policy]\nmin_efect = 0.1\n",
            r"stepwatch.toml:2: policy.min_efect: unknown key; did you mean min_effect\?",
        ),
        ("[policy]\n\nalpha = 2\n", r"stepwatch.toml:3: policy.alpha: Expected `float` < 1.0 \(found 2\)"),
        ("policy = 3\n", r"stepwatch.toml:1: policy: must be a table"),
        ("policy.alpha = 'x'\n", r"stepwatch.toml:1: policy.alpha: Expected `float`"),
        (
            "[tracks.jax]\npython = ['2.7x']\n",
            r"stepwatch.toml:2: tracks.jax.python: Expected `str` matching",
        ),
        ("[tracks.jax]\npackage = 'x'\n", r"stepwatch.toml:2: tracks.jax.package: unknown key"),
        ("[environments]\nkeep = 1\n", r"stepwatch.toml:2: environments.keep: Expected `int` >= 2"),
        ("accelerator = 'tpu'\n", r"stepwatch.toml:1: accelerator: Expected `str` matching"),
        ("tracks = {jax = {pithon = ['3.12']}}\n", r"stepwatch.toml:1: tracks.jax.pithon: unknown key"),
        ("machine = '../up'\n", r"stepwatch.toml:1: machine: Expected"),
    ],
)
def test_each_fault_names_line_and_key(tracker: Path, text: str, message: str) -> None:
    (tracker / "stepwatch.toml").write_text(text)
    with pytest.raises(ConfigError, match=message):
        load_config(tracker)


def test_all_faults_are_reported_at_once(tracker: Path) -> None:
    (tracker / "stepwatch.toml").write_text("colour = 1\n[policy]\nalpha = -1\n")
    with pytest.raises(ConfigError) as caught:
        load_config(tracker)
    assert len(str(caught.value).splitlines()) == 2


def test_not_utf8(tracker: Path) -> None:
    (tracker / "stepwatch.toml").write_bytes(b"\xff\xfe")
    with pytest.raises(ConfigError, match=r"stepwatch\.toml"):
        load_config(tracker)


@pytest.mark.parametrize("text", ["{", '{"version": 1}', "[]", '{"repo": 3}'])
def test_a_broken_asv_configuration_is_named(tmp_path: Path, text: str) -> None:
    (tmp_path / "asv.conf.json").write_text(text)
    with pytest.raises(ConfigError, match=r"asv\.conf\.json"):
        load_config(tmp_path)


@given(st.text(), st.lists(st.text(min_size=1), max_size=3))
def test_finding_a_line_never_crashes(text: str, keys: list[str]) -> None:
    line = find_line(text, tuple(keys))
    assert line is None or 1 <= line <= len(text.splitlines())
