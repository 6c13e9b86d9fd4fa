"""The committed tables, locks and the page about them agree with each other."""

from __future__ import annotations

from pathlib import Path

import pytest
from packaging.version import Version

from stepwatch.config import ACCELERATORS, load_config
from stepwatch.releases.git_objects import history_commits, history_refs
from stepwatch.releases.listing import locks_page
from stepwatch.releases.locks import lock_path, read_lock
from stepwatch.releases.table import load_tables
from stepwatch.releases.tried import TRIED_FILE, read_trials

ROOT = Path(__file__).resolve().parents[3]
CONFIG = load_config(ROOT)
TABLES = load_tables(CONFIG.releases, [track.package for track in CONFIG.tracks])
LOCKS = sorted(CONFIG.locks.glob("*/*.txt"))


def test_the_page_of_locks_is_what_the_evidence_says() -> None:
    page = ROOT / "docs" / "reference" / "locks.md"
    hint = "stepwatch releases list --markdown > docs/reference/locks.md"
    assert page.read_text(encoding="utf-8") == locks_page(CONFIG), f"run: {hint}"


def test_the_evidence_is_about_locks_that_exist() -> None:
    trials = read_trials([CONFIG.locks / TRIED_FILE])
    assert len(trials) >= 8
    for trial in trials.values():
        package, version = trial.release.split("/")
        lock = read_lock(CONFIG.locks / trial.accelerator / f"{package}-{version}.txt")
        assert lock is not None, trial.release


@pytest.mark.parametrize("path", LOCKS, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_a_lock_is_for_its_release_and_holds_what_it_must(path: Path) -> None:
    lock = read_lock(path)
    assert lock is not None
    package, version = lock.release.split("/")
    assert path == CONFIG.locks / lock.accelerator / f"{package}-{version}.txt"
    assert path.read_text() == lock.text
    assert f"{package}=={version}" in lock.requirements
    assert "asv-runner==0.3.2" in lock.requirements
    assert any(line.startswith("numpy==") for line in lock.requirements)
    heavy = [line for line in lock.requirements if line.startswith(("nvidia-", "cuda-", "triton"))]
    assert bool(heavy) == (lock.accelerator != "cpu")


def test_every_release_from_the_first_lock_on_is_locked() -> None:
    for track in CONFIG.tracks:
        wanted = [
            release
            for release in TABLES[track.package]
            if Version(release.version) >= Version(track.first_lock)
        ]
        assert wanted
        for release in wanted:
            found = {name for name in ACCELERATORS if lock_path(CONFIG.locks, name, release).exists()}
            assert "cpu" in found, release.name
            assert found != {"cpu"}, f"{release.name} offers some CUDA"


def test_withdrawn_releases_are_absent_and_the_companions_right() -> None:
    jax = {release.version: release for release in TABLES["jax"]}
    assert "0.4.32" not in jax
    assert jax["0.4.37"].requires == {"jaxlib": "0.4.36"}
    assert jax["0.4.33"].requires == {"jaxlib": "0.4.33"}


def test_the_history_that_results_hang_on_is_pinned() -> None:
    """Appending lines is fine; any other change of a table shows here."""
    refs = history_refs(history_commits(TABLES))
    assert refs["refs/jax/0.12.0.1"][:12] == PINNED["jax"]
    assert refs["refs/torch/2.15.0"][:12] == PINNED["torch"]


PINNED = {"jax": "12eb8a3a93d5", "torch": "b902ecb07cc4"}
