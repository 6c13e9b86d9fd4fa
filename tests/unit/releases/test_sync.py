"""`stepwatch releases` from end to end: a local index, real uv, real git."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest
from click.testing import CliRunner, Result

from stepwatch import cli
from stepwatch.errors import EnvironmentFailed, IndexUnavailable, StepwatchError, StorageFailed
from stepwatch.measure.environments import EnvironmentStore
from stepwatch.releases import uv
from stepwatch.releases.locks import read_lock
from stepwatch.releases.table import append_releases
from stepwatch.releases.uv import UvResolver, default_index

if TYPE_CHECKING:
    from pathlib import Path

SETTINGS = """\
[tracks.toy]
python = ["3.12", "3.11"]
companions = ["toylib"]
first_lock = "1.1"
extra_packages = []
"""


@pytest.fixture
def tracker(tmp_path: Path, local_index: Any, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A checkout that follows `toy` (with its `toylib`) on the local index."""
    root = tmp_path / "tracker"
    (root / "suites").mkdir(parents=True)
    (root / "asv.conf.json").write_text(
        '{"repo": ".stepwatch/history.git", "benchmark_dir": "suites", "env_dir": ".stepwatch/envs"}'
    )
    (root / "stepwatch.toml").write_text(f'{SETTINGS}\n[index]\nurl = "{local_index.address}"\n')
    for version, date in (("1.0", "2024-01-01"), ("1.1", "2024-02-01"), ("1.2", "2024-03-01")):
        gpu = (f'toy-gpu=={version}; extra == "cuda12"',)
        local_index.add("toy", version, date, requires=("toylib>=1.0", *gpu))
        local_index.add("toy-gpu", version, date)
    for version, date in (("1.0", "2024-01-01"), ("1.1", "2024-02-01"), ("9.0", "2025-01-01")):
        local_index.add("toylib", version, date)
    local_index.add("asv-runner", "0.3.2", "2026-01-01")
    for variable in (
        "UV_DEFAULT_INDEX",
        "UV_INDEX_URL",
        "PIP_INDEX_URL",
        "UV_FIND_LINKS",
        "UV_EXTRA_INDEX_URL",
    ):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setenv("UV_CACHE_DIR", str(tmp_path / "uv-cache"))
    monkeypatch.chdir(root)
    return root


def run(*arguments: str) -> Result:
    result = CliRunner().invoke(cli.stepwatch, ["releases", *arguments], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result


def test_a_sync_discovers_locks_and_builds_the_history(tracker: Path) -> None:
    result = run("sync", "--package", "toy")
    assert "3 releases known, 3 new; 4 locks written" in result.stdout
    assert "new: toy/1.2" in result.stdout
    assert "toy: locks of toy/1.1 (1 of 2)" in result.stderr
    table = (tracker / "suites/releases/toy.jsonl").read_text().splitlines()
    assert json.loads(table[2]) == {
        "package": "toy",
        "version": "1.2",
        "date": "2024-03-01",
        "requires": {"toylib": "1.1"},
    }
    lock = read_lock(tracker / "suites/locks/cuda12/toy-1.2.txt")
    assert lock is not None
    assert lock.requirements == ("asv-runner==0.3.2", "toy==1.2", "toy-gpu==1.2", "toylib==1.1")
    assert (lock.python, lock.resolved_as_of) == ("3.12", "2024-03-02")
    assert "http" not in lock.text
    assert sorted(path.name for path in (tracker / "suites/locks").iterdir()) == ["cpu", "cuda12"]
    command = ["git", "--git-dir=.stepwatch/history.git", "show", "toy/1.2:release.json"]
    shown = subprocess.run(command, cwd=tracker, capture_output=True, text=True, check=True)
    assert json.loads(shown.stdout)["version"] == "1.2"


def test_a_second_sync_does_nothing_and_a_new_release_is_only_added(tracker: Path, local_index: Any) -> None:
    run("sync", "--package", "toy", "--no-locks")
    table = tracker / "suites/releases/toy.jsonl"
    before = table.read_bytes()
    assert "3 releases known, 0 new; 0 locks written" in run("sync", "--package", "toy", "--no-locks").stdout
    assert table.read_bytes() == before
    local_index.add("toy", "1.3rc1", "2024-03-15")
    local_index.add("toy", "1.3", "2024-04-01", requires=("toylib>=1.0",), yanked="broken")
    local_index.add("toy", "1.4", "2024-05-01", requires=("toylib>=1.0",))
    local_index.add("toy", "1.1.1", "2024-05-02", requires=("toylib>=1.0",))
    result = run("sync", "--package", "toy", "--no-locks", "--json")
    done = json.loads(result.stdout)
    assert done["releases"] == ["toy/1.4"]
    assert table.read_bytes().startswith(before)
    assert (
        run("sync", "--package", "toy", "--no-locks").stderr.count("note: toy/1.1.1 (2024-05-02) came after")
        == 1
    )


def test_a_release_that_cannot_be_resolved_is_a_note_and_the_others_go_on(
    tracker: Path, local_index: Any
) -> None:
    local_index.add("toy", "1.3", "2024-04-01", requires=("toylib>=1.0", "missing-package"))
    local_index.add("toylib", "1.3", "2024-04-01")
    result = run("sync", "--package", "toy")
    assert "toy/1.3: resolving its lock failed: " in result.stderr
    assert "missing-package" in result.stderr
    assert local_index.address not in result.output
    assert (tracker / "suites/locks/cpu/toy-1.2.txt").exists()
    assert not (tracker / "suites/locks/cpu/toy-1.3.txt").exists()


def test_a_release_that_no_python_installs_any_more_gets_no_lock(tracker: Path, local_index: Any) -> None:
    run("sync", "--package", "toy", "--no-locks")
    local_index.packages["toy"] = [
        file for file in local_index.packages["toy"] if "-1.1-" not in file["filename"]
    ]
    assert "toy/1.1: resolving its lock failed: the index has no wheels of it for Python 3.12 or 3.11" in (
        run("sync", "--package", "toy").stderr
    )
    assert not (tracker / "suites/locks/cpu/toy-1.1.txt").exists()


def test_offline_and_an_index_that_is_away_go_on_with_what_is_known(tracker: Path, local_index: Any) -> None:
    run("sync", "--package", "toy", "--no-locks")
    local_index.requests.clear()
    result = run("sync", "--offline")
    assert local_index.requests == []
    assert "3 releases known, 0 new" in result.stdout
    assert "note: offline: no index was asked; going on with the 3 releases that are known" in result.stderr
    assert "note: toy: 2 releases have no lock yet (first: toy/1.1)" in result.stderr
    local_index.packages.clear()
    result = run("sync")
    assert "3 releases known, 0 new" in result.stdout
    assert "did not answer for toy (it said 404 Not Found); going on with the 3 releases that are known" in (
        result.stderr
    )
    assert "note: toy: 2 releases have no lock yet" in result.stderr
    (tracker / ".stepwatch/history.git/refs").rename(tracker / "moved")
    assert "was damaged and is built anew" in run("sync", "--offline").stderr


def test_the_index_of_the_command_line_is_stronger_than_the_configured_one(
    tracker: Path, local_index: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tracker / "stepwatch.toml").write_text(f'{SETTINGS}\n[index]\nurl = "http://127.0.0.1:9/simple"\n')
    monkeypatch.setenv("PIP_INDEX_URL", local_index.address)
    assert "3 new" in run("sync", "--package", "toy", "--no-locks").stdout


def test_what_lies_in_a_find_links_folder_does_not_get_into_a_lock(
    tracker: Path, local_index: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    links = tracker / "links"
    links.mkdir()
    wheel = "toylib-1.1-py3-none-any.whl"
    (links / wheel.replace("1.1", "1.5")).write_bytes(local_index.wheels[wheel])
    monkeypatch.setenv("UV_FIND_LINKS", str(links))
    monkeypatch.setenv("UV_RESOLUTION", "lowest")
    run("sync", "--package", "toy")
    assert "toylib==1.1\n" in (tracker / "suites/locks/cpu/toy-1.2.txt").read_text()


@pytest.mark.netns
@pytest.mark.usefixtures("tracker")
def test_without_a_network_what_is_known_goes_on() -> None:
    run("sync", "--package", "toy", "--no-locks")
    alone = ["unshare", "--user", "--map-root-user", "--net"]
    if (
        shutil.which("unshare") is None
        or subprocess.run([*alone, "true"], check=False, capture_output=True).returncode
    ):
        pytest.skip("this machine lets nobody make a network namespace")
    command = [*alone, sys.executable, "-m", "stepwatch", "releases", "sync", "--package", "toy"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "3 releases known, 0 new" in done.stdout
    assert "(no connection, 3 times); going on with the 3 releases that are known" in done.stderr
    assert "Traceback" not in done.stderr


def test_an_unknown_track_and_a_damaged_table_are_one_line(tracker: Path) -> None:
    for command in ("sync", "list"):
        with pytest.raises(StepwatchError, match="no track 'numpy'; tracks: jax, torch, toy"):
            run(command, "--package", "numpy")
    (tracker / "suites/releases").mkdir(parents=True)
    (tracker / "suites/releases/toy.jsonl").write_text("{\n")
    with pytest.raises(StepwatchError, match=r"toy\.jsonl:1: .*append-only"):
        run("list")


def test_a_table_that_cannot_be_written_loses_nothing(tracker: Path) -> None:
    (tracker / "suites").rmdir()
    (tracker / "suites").write_text("a file where a folder should be")
    with pytest.raises(StorageFailed, match=r"toy\.jsonl"):
        append_releases(tracker / "suites/releases", "toy", ())


def test_the_list_shows_locks_and_what_was_tried(tracker: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run("sync", "--package", "toy")
    digest = json.loads(run("list", "--json").stdout)[1]["locks"]["cpu"]
    common = {"accelerator": "cpu", "python": "3.12", "at": "2026-11-30T00:00:00+00:00"}
    here = tracker / ".stepwatch/envs/tried.jsonl"
    here.parent.mkdir(parents=True)
    good = {"release": "toy/1.1", "lock": digest, "ok": True, "reason": "toy 1.1"}
    latest = json.loads(run("list", "--json").stdout)[2]["locks"]["cpu"]
    worse = {"release": "toy/1.2", "lock": latest, "ok": False, "reason": "no wheel"}
    here.write_text(json.dumps(common | good) + "\n" + json.dumps(common | worse) + "\n")
    bad = {"release": "toy/1.2", "lock": "an older lock", "ok": False, "reason": "no space"}
    (tracker / "suites/locks/tried.jsonl").write_text(json.dumps(common | bad) + "\n")
    rows = {row["release"]: row for row in json.loads(run("list", "--package", "toy", "--json").stdout)}
    assert [row["python"] for row in rows.values()] == [None, "3.12", "3.12"]
    assert list(rows["toy/1.1"]["locks"]) == ["cpu", "cuda12"]
    seen = {name: (row["environment"], row["tried"], row["reason"]) for name, row in rows.items()}
    assert seen == {
        "toy/1.0": ("none", "untried", ""),
        "toy/1.1": ("none", "ok", "toy 1.1"),
        "toy/1.2": ("failed", "failed", "no wheel"),
    }
    text = run("list", "--package", "toy").stdout.splitlines()
    assert text[1].split() == ["toy/1.0", "2024-01-01", "-", "-", "-", "untried"]
    assert text[2].split() == ["toy/1.1", "2024-02-01", "3.12", "cpu", "cuda12", "-", "ok", "toy", "1.1"]
    monkeypatch.setattr(EnvironmentStore, "is_built", lambda _, release, *__: release.version == "1.1")
    assert run("list", "--package", "toy").stdout.splitlines()[2].split()[5:7] == ["built", "ok"]
    page = run("list", "--markdown").stdout
    assert "| toy/1.1 | 2024-02-01 | 3.12 | untried | untried | - |" in page, "only committed evidence"
    (tracker / "suites/locks/tried.jsonl").write_text(
        json.dumps(common | good)
        + "\n"
        + json.dumps(common | bad | {"lock": rows["toy/1.2"]["locks"]["cpu"]})
        + "\n"
    )
    page = run("list", "--markdown").stdout
    assert "| toy/1.1 | 2024-02-01 | 3.12 | **imported**: toy 1.1 | untried | - |" in page
    assert "| toy/1.2 | 2024-03-01 | 3.12 | failed: no space | untried | - |" in page


def test_uv_names_the_index_that_it_uses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("UV_DEFAULT_INDEX", "https://mirror.invalid/simple")
    assert default_index() == "https://mirror.invalid/simple"
    monkeypatch.delenv("UV_DEFAULT_INDEX")
    monkeypatch.setenv("UV_CONFIG_FILE", "/dev/null/nothing")
    with pytest.raises(IndexUnavailable, match="uv: "):
        default_index()


def test_uv_that_hangs_is_ended(local_index: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(uv, "_RESOLVE_TIMEOUT_SECONDS", 0.001)
    with pytest.raises(EnvironmentFailed, match=r"toy/1\.0: resolving its lock failed: uv gave no answer"):
        UvResolver(index=local_index.address).resolve(
            ["toy"], release="toy/1.0", python="3.12", through="2024-01-02"
        )


def test_of_two_syncs_at_once_one_is_refused_and_the_table_stays_whole(
    tracker: Path, local_index: Any
) -> None:
    local_index.delay_seconds = 0.5
    command = [sys.executable, "-m", "stepwatch", "releases", "sync", "--package", "toy", "--no-locks"]
    both = [subprocess.Popen(command, stderr=subprocess.PIPE, text=True) for _ in range(2)]
    errors = [process.communicate()[1] for process in both]
    assert sorted(process.returncode for process in both) == [0, 3], errors
    assert any("sync.lock: in use by process" in error for error in errors)
    local_index.delay_seconds = 0.0
    assert "3 releases known, 0 new" in run("sync", "--package", "toy", "--no-locks").stdout
    assert len((tracker / "suites/releases/toy.jsonl").read_text().splitlines()) == 3


def test_nothing_that_cannot_be_gets_into_the_table(tracker: Path, local_index: Any) -> None:
    run("sync", "--package", "toy", "--no-locks")
    before = (tracker / "suites/releases/toy.jsonl").read_bytes()
    local_index.add("toy", "9.0", "2025-01-01", **{"upload-time": "banana"})
    result = run("sync", "--package", "toy", "--no-locks")
    assert "note: toy: 1 files on the index were passed over (first: 'toy-9.0-py3" in result.stderr
    assert (tracker / "suites/releases/toy.jsonl").read_bytes() == before
    assert "3 releases known, 0 new" in run("sync", "--offline").stdout


def test_lost_tables_are_said_and_not_taken_for_no_releases(tracker: Path) -> None:
    for command in (("sync", "--offline"), ("list",)):
        with pytest.raises(StepwatchError, match=r"suites/releases: there are no release tables here"):
            run(*command)
    (tracker / "suites/releases").write_text("a file where a folder should be")
    with pytest.raises(StorageFailed, match="suites/releases: File exists"):
        run("sync", "--package", "toy")


def test_the_list_shows_what_was_said_as_it_was_said(tracker: Path) -> None:
    run("sync", "--package", "toy")
    digest = json.loads(run("list", "--json").stdout)[1]["locks"]["cpu"]
    reason = "no match for toy[cuda12] at [/tmp/x] \x1b[31m"
    trial = {"release": "toy/1.1", "accelerator": "cpu", "lock": digest, "python": "3.12", "ok": False}
    (tracker / "suites/locks/tried.jsonl").write_text(json.dumps(trial | {"reason": reason, "at": ""}) + "\n")
    assert r"no match for toy[cuda12] at [/tmp/x] \x1b[31m" in run("list").stdout
    assert r"at [/tmp/x] \x1b[31m |" in run("list", "--markdown").stdout


def test_without_uv_there_is_one_line_with_a_next_step(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing() -> str:
        raise FileNotFoundError("Could not find\nthe uv\nbinary")

    monkeypatch.setattr(uv, "find_uv_bin", missing)
    with pytest.raises(StepwatchError, match=r"uv is not there, .*; install stepwatch anew"):
        default_index()
