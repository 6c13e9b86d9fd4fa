"""The release-history repository: pure hashes, real git, asv's own reader."""

from __future__ import annotations

import json
import shutil
import subprocess
from typing import TYPE_CHECKING

import pytest
from asv.plugins.git import Git
from hypothesis import given, settings
from hypothesis import strategies as st

from stepwatch.errors import DataError, MalformedFile, StorageFailed
from stepwatch.model import Release
from stepwatch.releases import history_repo
from stepwatch.releases.git_objects import LANE_WIDTH, history_commits, history_refs
from stepwatch.releases.history_repo import ensure_history

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

Tables = dict[str, tuple[Release, ...]]


def track(package: str, *pairs: tuple[str, str]) -> tuple[Release, ...]:
    return tuple(Release(package=package, version=version, date=date) for version, date in pairs)


JAX = track(
    "jax", ("0.4.38", "2024-12-17"), ("0.5.0", "2025-01-17"), ("0.8.3", "2026-01-29"), ("0.9.0", "2026-01-20")
)
TORCH = track("torch", ("2.9.0", "2025-10-15"), ("2.9.1", "2025-11-12"))
TABLES: Tables = {"jax": JAX, "torch": TORCH}


def git(repository: Path, *arguments: str) -> str:
    command = ["git", f"--git-dir={repository}", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def refs(repository: Path) -> dict[str, str]:
    lines = git(repository, "for-each-ref", "--format=%(refname) %(objectname)").splitlines()
    return dict(line.split(" ", 1) for line in lines)


def test_git_makes_exactly_the_hashes_that_were_computed(tmp_path: Path) -> None:
    history = ensure_history(tmp_path / "history.git", TABLES)
    assert refs(history.path) == history_refs(history_commits(TABLES))
    assert history.added == tuple(release.name for release in (*JAX, *TORCH))
    assert history.commits["jax/0.9.0"] == refs(history.path)["refs/heads/jax"]
    assert git(history.path, "fsck", "--strict", "--full") == ""


def test_the_hashes_are_pinned() -> None:
    """All results ever measured hang on these: a change here orphans them."""
    tips = {ref: value[:12] for ref, value in history_refs(history_commits(TABLES)).items() if "heads" in ref}
    assert tips == PINNED


PINNED = {"refs/heads/jax": "eb34ac8aa036", "refs/heads/torch": "582f7da3ad70"}


def test_names_tags_content_and_times(tmp_path: Path) -> None:
    path = ensure_history(tmp_path / "history.git", TABLES).path
    assert {ref for ref in refs(path) if "tags" in ref} == {
        "refs/tags/jax-0.5.0",
        "refs/tags/jax-0.9.0",
        "refs/tags/torch-2.9.0",
    }
    assert json.loads(git(path, "show", "jax/0.8.3:release.json")) == {
        "package": "jax",
        "version": "0.8.3",
        "date": "2026-01-29",
    }
    assert git(path, "ls-tree", "--name-only", "jax").split() == ["release.json"]
    authored = [int(line) for line in git(path, "log", "--reverse", "--format=%at", "jax").split()]
    assert authored == sorted(set(authored)), "dates rise although 0.9.0 came before 0.8.3"
    committed = {
        name: git(path, "show", "-s", "--format=%ct", name).strip() for name in ("jax", "torch/2.9.0")
    }
    assert int(committed["torch/2.9.0"]) - int(committed["jax"]) == LANE_WIDTH - 3


def test_appending_keeps_every_old_hash_and_a_second_run_does_nothing(tmp_path: Path) -> None:
    path = tmp_path / "history.git"
    ensure_history(path, {"jax": JAX[:2], "torch": TORCH})
    before = refs(path)
    again = ensure_history(path, TABLES)
    assert again.added == ("jax/0.8.3", "jax/0.9.0")
    kept = {ref: value for ref, value in refs(path).items() if ref in before and "heads" not in ref}
    assert kept == {ref: value for ref, value in before.items() if "heads" not in ref}
    assert ensure_history(path, TABLES).added == ()
    ensure_history(tmp_path / "fresh.git", TABLES)
    assert refs(tmp_path / "fresh.git") == refs(path)


def test_a_new_track_keeps_every_old_hash(tmp_path: Path) -> None:
    path = tmp_path / "history.git"
    ensure_history(path, {"jax": JAX})
    before = refs(path)
    ensure_history(path, TABLES)
    assert before.items() <= refs(path).items()


@pytest.mark.parametrize(
    "changed",
    [
        {"jax": (*track("jax", ("0.4.38", "2024-12-18")), *JAX[1:]), "torch": TORCH},
        {"torch": TORCH, "jax": JAX},
        {"jax": JAX[:2], "torch": TORCH},
    ],
    ids=["line changed", "tracks swapped", "line removed"],
)
def test_a_rewritten_table_is_refused_and_nothing_is_touched(tmp_path: Path, changed: Tables) -> None:
    path = tmp_path / "history.git"
    ensure_history(path, TABLES)
    before = refs(path)
    with pytest.raises(MalformedFile, match="restore suites/releases from git"):
        ensure_history(path, changed)
    assert refs(path) == before


def test_the_users_git_configuration_has_no_say(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    template = tmp_path / "template"
    (template / "hooks").mkdir(parents=True)
    (template / "hooks" / "reference-transaction").write_text("#!/bin/sh\nexit 1\n")
    (template / "hooks" / "reference-transaction").chmod(0o755)
    (tmp_path / ".gitconfig").write_text(
        f"[commit]\n\tgpgsign = true\n[init]\n\ttemplateDir = {template}\n\tdefaultObjectFormat = sha256\n"
    )
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("GIT_DIR", str(tmp_path / "elsewhere"))
    monkeypatch.setenv("GIT_DEFAULT_HASH", "sha256")
    history = ensure_history(tmp_path / "history.git", TABLES)
    monkeypatch.undo()
    assert refs(history.path) == history_refs(history_commits(TABLES))
    assert not (history.path / "hooks" / "reference-transaction").exists()


def test_an_interrupted_first_build_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(history_repo, "_import", interrupt)
    with pytest.raises(KeyboardInterrupt):
        ensure_history(tmp_path / "history.git", TABLES)
    assert list(tmp_path.iterdir()) == []


def test_a_half_imported_repository_is_completed(tmp_path: Path) -> None:
    path = tmp_path / "history.git"
    ensure_history(path, TABLES)
    git(path, "update-ref", "-d", "refs/jax/0.9.0")
    git(path, "update-ref", "refs/heads/jax", "jax/0.5.0")
    assert ensure_history(path, TABLES).added == ("jax/0.9.0",)
    assert refs(path) == history_refs(history_commits(TABLES))


def test_another_process_that_was_first_is_as_good(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "history.git"
    build = history_repo._import

    def race(repository: Path, commits: object) -> None:
        build(repository, commits)  # type: ignore[arg-type]  # passed through
        shutil.copytree(repository, path)

    monkeypatch.setattr(history_repo, "_import", race)
    ensure_history(path, TABLES)
    assert refs(path) == history_refs(history_commits(TABLES))
    assert [entry.name for entry in tmp_path.iterdir()] == ["history.git"]


def test_a_folder_that_cannot_be_made_is_said(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(StorageFailed, match=r"history\.git"):
        ensure_history(tmp_path / "file" / "history.git", TABLES)


def delete_objects(repository: Path) -> None:
    for file in (path for path in (repository / "objects").rglob("*") if path.is_file()):
        file.unlink()


def zero_pack(repository: Path) -> None:
    for pack in (path for path in (repository / "objects").rglob("*") if path.is_file()):
        size = pack.stat().st_size
        pack.chmod(0o644)
        pack.write_bytes(pack.read_bytes()[: size // 3] + bytes(size - size // 3))


@pytest.mark.parametrize(
    "damage",
    [
        delete_objects,
        zero_pack,
        lambda path: shutil.rmtree(path / "objects"),
        lambda path: shutil.rmtree(path / "refs"),
        lambda path: (path / "HEAD").unlink(),
        lambda path: (path / "refs" / "heads" / "jax").write_text("garbage\n"),
        lambda path: [shutil.rmtree(path), path.mkdir()],
    ],
    ids=["no objects", "zeroed", "no object folder", "no refs", "no HEAD", "garbage ref", "empty folder"],
)
def test_a_damaged_repository_is_set_aside_and_built_anew(
    tmp_path: Path, damage: Callable[[Path], object]
) -> None:
    path = tmp_path / "history.git"
    ensure_history(path, TABLES)
    (tmp_path / "history.git.damaged").mkdir()
    damage(path)
    assert "was damaged and is built anew" in ensure_history(path, TABLES).note
    assert refs(path) == history_refs(history_commits(TABLES))
    assert git(path, "fsck", "--strict", "--full") == ""
    assert ensure_history(path, TABLES).note == ""
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["history.git", "history.git.damaged"]


def test_a_folder_of_something_else_is_never_set_aside(tmp_path: Path) -> None:
    (tmp_path / "history.git").mkdir()
    (tmp_path / "history.git" / "thesis.tex").write_text("years of work")
    with pytest.raises(MalformedFile, match=r"holds 'thesis\.tex'\); name another place as `repo`"):
        ensure_history(tmp_path / "history.git", TABLES)
    assert [entry.name for entry in tmp_path.iterdir()] == ["history.git"]


def test_a_branch_that_was_moved_goes_back(tmp_path: Path) -> None:
    path = tmp_path / "history.git"
    ensure_history(path, TABLES)
    git(path, "update-ref", "refs/heads/jax", "refs/heads/torch")
    ensure_history(path, TABLES)
    assert refs(path) == history_refs(history_commits(TABLES))


def test_a_lock_that_was_left_is_named(tmp_path: Path) -> None:
    path = tmp_path / "history.git"
    ensure_history(path, TABLES)
    git(path, "update-ref", "refs/heads/jax", "refs/heads/torch")
    lock = path / "refs" / "heads" / "jax.lock"
    lock.touch()
    with pytest.raises(DataError, match=r"jax\.lock: another git holds it, or was killed.*remove that file"):
        ensure_history(path, TABLES)
    lock.unlink()
    ensure_history(path, TABLES)


def test_a_missing_git_is_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(DataError, match="git is not installed"):
        ensure_history(tmp_path / "history.git", TABLES)


def fake_git(folder: Path, text: str) -> None:
    """A `git` that does something else."""
    folder.mkdir()
    (folder / "git").write_text(f"#!/bin/sh\n{text}\n")
    (folder / "git").chmod(0o755)


@pytest.mark.parametrize(
    ("text", "error", "message"),
    [
        ("echo 'fatal: write error: No space left on device' >&2; exit 128", StorageFailed, "no space left"),
        ("echo 'fatal: x: Permission denied' >&2; exit 128", StorageFailed, "Permission denied; .* writable"),
        ("printf 'error: why\\nadvice\\n' >&2; exit 1", DataError, "git init failed: error: why; remove"),
        ("exit 1", DataError, "git init failed: no message"),
        ("exit 0", DataError, r"other hashes than expected \(11 refs differ\)"),
        ("exec sleep 5", DataError, "git init did not end in 0 s"),
    ],
    ids=["full disk", "no permission", "advice", "silent failure", "does nothing", "hangs"],
)
def test_a_git_that_fails_is_one_line_and_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, error: type[Exception], message: str
) -> None:
    fake_git(tmp_path / "bin", text)
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:/usr/bin:/bin")
    if "sleep" in text:
        monkeypatch.setattr(history_repo, "_TIMEOUT_SECONDS", 0.3)
    with pytest.raises(error, match=message):
        ensure_history(tmp_path / "history.git", TABLES)
    assert [entry.name for entry in tmp_path.iterdir()] == ["bin"]


def test_a_place_that_is_taken_by_a_file_is_said(tmp_path: Path) -> None:
    (tmp_path / "history.git").write_text("")
    with pytest.raises(StorageFailed, match=r"history\.git: Not a directory"):
        ensure_history(tmp_path / "history.git", TABLES)


def test_no_release_at_all_is_a_history_too(tmp_path: Path) -> None:
    assert ensure_history(tmp_path / "history.git", {"jax": ()}).commits == {}


def test_asv_reads_it_by_release_name(tmp_path: Path) -> None:
    """Contract: asv's own repository class resolves names, ranges, branches and tags of it."""
    history = ensure_history(tmp_path / "history.git", TABLES)
    repository = Git(str(history.path), str(tmp_path / "mirror"))
    assert repository.get_hash_from_name("jax/0.8.3") == history.commits["jax/0.8.3"]
    assert repository.get_hashes_from_range("jax/0.4.38..jax/0.9.0") == [
        history.commits[f"jax/{version}"] for version in ("0.9.0", "0.8.3", "0.5.0")
    ]
    assert repository.get_branch_commits("torch") == [
        history.commits["torch/2.9.1"],
        history.commits["torch/2.9.0"],
    ]
    assert set(repository.get_tags()) == {"jax-0.5.0", "jax-0.9.0", "torch-2.9.0"}
    revisions = repository.get_revisions(list(history.commits.values()))
    order = sorted(history.commits, key=lambda name: revisions[history.commits[name]])
    assert order == [release.name for release in (*JAX, *TORCH)], "each track has a contiguous axis"


VERSIONS = st.lists(
    st.tuples(st.integers(0, 3), st.integers(0, 12), st.integers(0, 40)), min_size=1, max_size=12, unique=True
)


@settings(max_examples=60)
@given(VERSIONS, st.integers(1, 12), st.dates())
def test_a_prefix_of_the_tables_has_the_same_hashes(
    numbers: list[tuple[int, int, int]], cut: int, day: object
) -> None:
    table = track("jax", *(("{}.{}.{}".format(*number), str(day)) for number in sorted(numbers)))
    whole = history_refs(history_commits({"jax": table, "torch": TORCH}))
    part = history_refs(history_commits({"jax": table[:cut]}))
    del part["refs/heads/jax"]
    assert part.items() <= whole.items()
