"""Commits as files: the user's checkout is never touched, nothing is left out, nothing is left behind."""

from __future__ import annotations

import os
import subprocess
import time
from pathlib import Path

import pytest

from stepwatch.errors import DataError, StorageFailed, UsageError
from stepwatch.measure import commits
from stepwatch.measure.commits import Commit, export, find_commit, has_uncommitted_changes, why_no_commit


def git(folder: Path, *arguments: str) -> str:
    identity = {
        f"GIT_{who}_{what}": "tester@localhost"
        for who in ("AUTHOR", "COMMITTER")
        for what in ("NAME", "EMAIL")
    }
    environment = {**os.environ, **identity, "GIT_CONFIG_GLOBAL": os.devnull}
    done = subprocess.run(
        ["git", *arguments], cwd=folder, env=environment, capture_output=True, text=True, check=True
    )
    return done.stdout.strip()


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """Two commits, `old` and `main`, of a tracker in a folder of its own."""
    root = tmp_path / "repository"
    tracker = root / "tracker"
    (tracker / "suite").mkdir(parents=True)
    git(root, "init", "-q", "-b", "main")
    (root / "elsewhere.txt").write_text("outside")
    (tracker / ".gitattributes").write_text("suite export-ignore\n")
    (tracker / "suite" / "bench.py").write_text("STEP = 1\n")
    (tracker / "run.sh").write_text("#!/bin/sh\n")
    (tracker / "run.sh").chmod(0o755)
    git(root, "add", "-A")
    git(root, "commit", "-q", "-m", "one")
    git(root, "tag", "old")
    (tracker / "suite" / "bench.py").write_text("STEP = 2\n")
    git(root, "commit", "-qa", "-m", "two")
    return root


def commit(tracker: Path, name: str) -> Commit:
    found = find_commit(tracker, name)
    assert found is not None
    return found


def test_branches_tags_hashes_and_expressions_name_commits(repository: Path) -> None:
    head = git(repository, "rev-parse", "HEAD")
    for name in ("main", "HEAD", head, head[:10], "old^{commit}", "refs/heads/main"):
        assert find_commit(repository / "tracker", name) is not None, name
    assert commit(repository, "HEAD~1").hash == git(repository, "rev-parse", "old")
    assert commit(repository, "main").name == f"commit/{head[:12]}"


def test_what_results_call_a_commit_names_it_too(repository: Path) -> None:
    assert commit(repository, commit(repository, "old").name).hash == commit(repository, "old").hash


@pytest.mark.parametrize(
    "name", ["", "nothing", "--all", "-h", "HEAD:tracker", "main\nold", "HEAD~99", "^main"]
)
def test_what_names_no_commit(repository: Path, name: str) -> None:
    assert find_commit(repository, name) is None


def test_an_export_is_the_whole_folder_as_it_was_and_the_checkout_stays(
    repository: Path, tmp_path: Path
) -> None:
    tracker = repository / "tracker"
    (tracker / "suite" / "bench.py").write_text("STEP = 'not committed'\n")
    git(tracker, "add", "-A")
    staged = git(tracker, "diff", "--cached")
    place = export(tracker, commit(tracker, "old"), tmp_path / "cache")
    assert sorted(path.name for path in place.rglob("*")) == [".gitattributes", "bench.py", "run.sh", "suite"]
    assert (place / "suite" / "bench.py").read_text() == "STEP = 1\n"
    assert os.access(place / "run.sh", os.X_OK)
    assert git(tracker, "diff", "--cached") == staged
    assert has_uncommitted_changes(tracker)
    assert [path.name for path in (tmp_path / "cache").iterdir()] == [place.name]


def test_equal_content_is_one_export_and_other_content_another_of_the_same_length(
    repository: Path, tmp_path: Path
) -> None:
    tracker, cache = repository / "tracker", tmp_path / "cache"
    (repository / "elsewhere.txt").write_text("changed outside the tracker")
    git(repository, "commit", "-qa", "-m", "three")
    two, three, old = (export(tracker, commit(tracker, name), cache) for name in ("HEAD~1", "HEAD", "old"))
    assert two == three != old
    assert len(str(two)) == len(str(old))
    assert not has_uncommitted_changes(tracker)


def test_a_hook_s_variables_lead_nowhere_else(
    repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GIT_DIR", str(tmp_path / "other"))
    monkeypatch.setenv("GIT_INDEX_FILE", str(tmp_path / "index"))
    assert export(repository / "tracker", commit(repository, "old"), tmp_path / "cache").is_dir()


def test_a_commit_without_the_folder(repository: Path, tmp_path: Path) -> None:
    later = repository / "later"
    later.mkdir()
    (later / "asv.conf.json").write_text("{}")
    with pytest.raises(UsageError, match=r"old \([0-9a-f]{12}\) has no folder later"):
        export(later, commit(later, "old"), tmp_path / "cache")


def test_a_damaged_repository_is_one_line(repository: Path, tmp_path: Path) -> None:
    found = commit(repository, "old")
    blob = git(repository, "rev-parse", "old:tracker/suite/bench.py")
    (repository / ".git" / "objects" / blob[:2] / blob[2:]).unlink()
    with pytest.raises(DataError, match=r"git checkout-index of \w+ failed: "):
        export(repository / "tracker", found, tmp_path / "cache")
    assert not list((tmp_path / "cache").iterdir())


def test_a_place_that_cannot_be_written_to_is_named(repository: Path, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(StorageFailed, match=r"file/cache: Not a directory"):
        export(repository / "tracker", commit(repository, "old"), tmp_path / "file" / "cache")


def test_of_two_exports_at_once_one_wins_and_both_go_on(
    repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rename = Path.rename

    def overtaken(self: Path, target: Path) -> Path:
        (target / "suite").mkdir(parents=True)
        return rename(self, target)

    monkeypatch.setattr(Path, "rename", overtaken)
    place = export(repository / "tracker", commit(repository, "old"), tmp_path / "cache")
    assert place.is_dir()
    assert [path.name for path in (tmp_path / "cache").iterdir()] == [place.name]


def test_exports_of_long_ago_go_but_never_one_in_use(repository: Path, tmp_path: Path) -> None:
    tracker, cache = repository / "tracker", tmp_path / "cache"
    cache.mkdir()
    long_ago = time.time() - 30 * 86_400
    for number in range(15):
        folder = cache / f"{number:016x}"
        folder.mkdir()
        os.utime(folder, (long_ago + number, long_ago + number))
    (cache / ".export-killed").mkdir()
    os.utime(cache / ".export-killed", (long_ago, long_ago))
    place = export(tracker, commit(tracker, "old"), cache)
    left = sorted(path.name for path in cache.iterdir())
    assert place.name in left
    assert len(left) == 12
    assert f"{14:016x}" in left
    assert f"{0:016x}" not in left


def test_why_there_is_no_commit(repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert why_no_commit(repository) == "no commit, branch or tag of this repository"
    assert why_no_commit(tmp_path).startswith(f"git finds no repository at {tmp_path}: ")
    git(tmp_path, "clone", "-q", "--depth", "1", f"file://{repository}", "shallow")
    assert "shallow clone" in why_no_commit(tmp_path / "shallow")
    monkeypatch.setattr(commits.shutil, "which", lambda _: None)
    assert why_no_commit(repository) == "git is not on PATH, so it cannot be a commit"
    assert find_commit(repository, "main") is None


def test_a_git_that_hangs_is_one_line(repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(commits, "_TIMEOUT_SECONDS", 1e-6)
    with pytest.raises(DataError, match="git rev-parse did not end in"):
        find_commit(repository, "main")
