"""What a name stands for: releases, locks, commits, and the one line about everything else."""

from __future__ import annotations

import json
import os
import subprocess
from typing import TYPE_CHECKING

import msgspec
import pytest

from stepwatch.commands import sides
from stepwatch.commands.comparisons import ComparisonRequest, prepare_comparison
from stepwatch.commands.sides import resolve_side
from stepwatch.errors import DataError, MalformedFile, StepwatchError, UnknownRelease, UsageError
from stepwatch.measure.suite import save_benchmarks

if TYPE_CHECKING:
    from pathlib import Path

    from conftest import Tracker
    from stepwatch.measure.job import Job


def git(folder: Path, *arguments: str) -> str:
    identity = ("-c", "user.name=tester", "-c", "user.email=tester@localhost")
    environment = {**os.environ, "GIT_CONFIG_GLOBAL": os.devnull}
    done = subprocess.run(
        ["git", *identity, *arguments],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout.strip()


@pytest.fixture
def repository(tracker: Tracker) -> Tracker:
    """A tracker without environments, committed and tagged `base`."""
    (tracker.root / ".gitignore").write_text("/envs\n/results\n/.stepwatch\n__pycache__/\n")
    git(tracker.root, "init", "-q", "-b", "main")
    save(tracker, "base")
    return tracker


def save(tracker: Tracker, tag: str) -> None:
    git(tracker.root, "add", "-A")
    git(tracker.root, "commit", "-q", "-m", tag)
    git(tracker.root, "tag", tag)


def refusal(tracker: Tracker, text: str, kind: type[StepwatchError]) -> str:
    with pytest.raises(kind) as caught:
        resolve_side(text, tracker.config, "cpu")
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_a_release_is_itself_with_the_trackers_suite(tracker: Tracker) -> None:
    side = resolve_side(" mini/2.0 ", tracker.config, "cpu")
    assert (side.name, side.revision, side.is_commit) == ("mini/2.0", None, False)
    assert side.suite == tracker.config.suite
    assert side.installations["mini"].own


def test_a_release_comes_before_a_branch_of_its_name_and_a_branch_before_no_release(
    repository: Tracker,
) -> None:
    git(repository.root, "branch", "mini/2.0")
    git(repository.root, "branch", "mini/next")
    assert resolve_side("mini/2.0", repository.config, "cpu").revision is None
    assert resolve_side("refs/heads/mini/2.0", repository.config, "cpu").is_commit
    assert resolve_side("mini/next", repository.config, "cpu").is_commit
    assert "did you mean mini/2.0" in refusal(repository, "mini/9", UnknownRelease)


def test_a_commit_has_its_own_suite_and_the_newest_lock_of_each_track(repository: Tracker) -> None:
    locks = repository.config.locks / "cpu"
    (locks / "mini-extra-9.0.txt").write_text("of another package")
    (locks / "mini-10.0.txt").write_text(
        (locks / "mini-2.0.txt").read_text().replace("mini/2.0", "mini/10.0")
    )
    save(repository, "more")
    side = resolve_side("more", repository.config, "cpu")
    assert side.name == f"commit/{git(repository.root, 'rev-parse', 'more')[:12]}"
    assert side.revision == git(repository.root, "rev-parse", "more")
    assert side.suite.is_relative_to(repository.root / ".stepwatch" / "commits")
    (place,) = side.installations.values()
    assert (place.release.name, place.own) == ("mini/10.0", False)
    assert resolve_side("base", repository.config, "cpu").installations["mini"].release.name == "mini/2.0"


def test_a_lock_brings_its_release_and_python_and_its_text_is_its_name(tracker: Tracker) -> None:
    lock = tracker.config.locks / "cpu" / "mini-1.0.txt"
    one = tracker.root / "one (copy).lock"
    one.write_text(lock.read_text())
    side = resolve_side(str(one), tracker.config, "cpu")
    assert side.name.startswith("lock/one--copy--")
    assert side.installations["mini"].release.name == "mini/1.0"
    one.write_text(lock.read_text().replace("zipp", "# zipp"))
    assert resolve_side(str(one), tracker.config, "cpu").name != side.name


def without_configuration(root: Path) -> None:
    (root / "asv.conf.json").unlink()


def with_a_misspelt_key(root: Path) -> None:
    (root / "stepwatch.toml").write_text("[policy]\nmin_efect = 0.1\n")


def without_locks(root: Path) -> None:
    for path in (root / "mini_suite" / "locks" / "cpu").iterdir():
        path.unlink()


def with_a_lock_that_is_missing(root: Path) -> None:
    (root / "stepwatch.toml").write_text('[compare]\nlock = "no.lock"\n')


def with_a_lock_elsewhere(root: Path) -> None:
    (root / "stepwatch.toml").write_text('[compare]\nlock = "../../../outside.lock"\n')


def with_a_lock_at_an_absolute_path(root: Path) -> None:
    (root / "stepwatch.toml").write_text(f'[compare]\nlock = "{root.parent}/outside.lock"\n')


def with_a_lock_behind_a_link(root: Path) -> None:
    (root / "link.lock").symlink_to(root.parent / "outside.lock")
    (root / "stepwatch.toml").write_text('[compare]\nlock = "link.lock"\n')


def with_a_suite_elsewhere(root: Path) -> None:
    settings = json.loads((root / "asv.conf.json").read_text())
    (root / "asv.conf.json").write_text(json.dumps({**settings, "benchmark_dir": str(root / "mini_suite")}))


def with_a_suite_behind_a_link(root: Path) -> None:
    (root / "mini_suite").rename(root.parent / "outside_suite")
    (root / "mini_suite").symlink_to(root.parent / "outside_suite")


def with_a_lock_for_a_gpu(root: Path) -> None:
    text = (root / "mini_suite" / "locks" / "cpu" / "mini-2.0.txt").read_text()
    (root / "gpu.lock").write_text(text.replace("accelerator: cpu", "accelerator: cuda12"))
    (root / "stepwatch.toml").write_text('[compare]\nlock = "gpu.lock"\n')


def with_a_lock_of_nothing(root: Path) -> None:
    path = root / "mini_suite" / "locks" / "cpu" / "mini-2.0.txt"
    path.write_text(path.read_text().replace("release: mini/2.0", "release: mini"))


def with_a_lock_of_no_version(root: Path) -> None:
    path = root / "mini_suite" / "locks" / "cpu" / "mini-2.0.txt"
    path.write_text(path.read_text().replace("release: mini/2.0", "release: mini/latest"))


def with_a_lock_without_a_header(root: Path) -> None:
    path = root / "mini_suite" / "locks" / "cpu" / "mini-2.0.txt"
    path.write_text("mini==2.0\n")


@pytest.mark.parametrize(
    ("spoil", "kind", "message"),
    [
        (
            without_configuration,
            DataError,
            "has no asv.conf.json in this folder, so it has no suite to measure",
        ),
        (with_a_misspelt_key, UsageError, "the configuration of spoilt ("),
        (without_locks, DataError, "has no lock in mini_suite/locks/cpu: commit one"),
        (with_a_lock_that_is_missing, DataError, "[compare] lock names no.lock, no file in it"),
        (with_a_lock_elsewhere, DataError, "[compare] lock names ../../../outside.lock, no file in it"),
        (with_a_lock_at_an_absolute_path, DataError, "/outside.lock, no file in it"),
        (with_a_lock_behind_a_link, DataError, "[compare] lock names link.lock, no file in it"),
        (with_a_suite_elsewhere, DataError, "mini_suite is not in the folder of the tracker"),
        (
            with_a_suite_behind_a_link,
            DataError,
            "benchmark_dir mini_suite is not in the folder of the tracker",
        ),
        (with_a_lock_for_a_gpu, UsageError, "is a lock for cuda12: add --accelerator cuda12"),
        (with_a_lock_of_no_version, MalformedFile, "`# release: mini/latest` is not package/version"),
        (with_a_lock_of_nothing, MalformedFile, "`# release: mini` is not package/version"),
        (
            with_a_lock_without_a_header,
            MalformedFile,
            "no line `# stepwatch-lock: 1`; a lock begins with the lines",
        ),
    ],
)
def test_a_commit_that_cannot_be_measured_says_why(
    repository: Tracker, spoil: object, kind: type[StepwatchError], message: str
) -> None:
    assert callable(spoil)
    (repository.root.parent / "outside.lock").write_text("")
    good = repository.config
    spoil(repository.root)
    save(repository, "spoilt")
    with pytest.raises(kind) as caught:
        resolve_side("spoilt", good, "cpu")
    assert message in str(caught.value)


def test_a_lock_that_goes_while_it_is_looked_at(tracker: Tracker, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sides, "read_lock", lambda _: None)
    path = tracker.config.locks / "cpu" / "mini-1.0.txt"
    assert "was removed while it was looked for" in refusal(tracker, str(path), DataError)


def test_what_is_described_already_stays_when_a_commit_is_compared(repository: Tracker) -> None:
    job, _ = prepared_notes(repository, "base", "base")
    results = repository.root / "results"
    results.mkdir()
    save_benchmarks(job.suite, results, only_new=True)
    path = results / "benchmarks.json"
    described = json.loads(path.read_text())
    described["spin.bench.Mini.track_loss"]["unit"] = "another"
    del described["turn.bench.Mini.track_loss"]
    path.write_text(json.dumps(described))
    save_benchmarks(job.suite, results, only_new=True)
    again = json.loads(path.read_text())
    assert again["spin.bench.Mini.track_loss"]["unit"] == "another"
    assert "turn.bench.Mini.track_loss" in again
    for damaged in ("[1]", "{"):
        path.write_text(damaged)
        with pytest.raises(MalformedFile, match="not asv's benchmarks; remove it"):
            save_benchmarks(job.suite, results, only_new=True)


def test_what_no_system_takes_for_a_path_is_no_file(repository: Tracker) -> None:
    for text in ("x" * 5000, "x/" * 5000):
        said = refusal(repository, text, UsageError)
        assert "no commit, branch or tag of this repository" in said
        assert len(said) < 300


def test_a_cache_behind_a_link(repository: Tracker) -> None:
    """Exports may lie on another disk."""
    kept = repository.root / ".stepwatch"
    kept.rename(repository.root.parent / "elsewhere")
    kept.symlink_to(repository.root.parent / "elsewhere")
    assert resolve_side("base", repository.config, "cpu").installations["mini"].release.name == "mini/2.0"


def test_what_names_nothing(repository: Tracker) -> None:
    said = refusal(repository, "mian", UsageError)
    assert said.startswith(
        "'mian' is no release (like jax/0.4.31), no file, and no commit, branch or tag of this"
    )
    refusal(repository, "", UsageError)


def test_two_libraries_have_nothing_in_common(tracker: Tracker) -> None:
    table = tracker.config.releases / "torch.jsonl"
    table.write_text('{"package":"torch","version":"2.13.0","date":"2026-07-08","requires":{}}\n')
    request = ComparisonRequest(baseline="mini/1.0", contender="torch/2.13.0", machine="m")
    with pytest.raises(UsageError, match=r"mini/1\.0 runs benchmarks of mini, torch/2\.13\.0 those of torch"):
        prepare_comparison(tracker.config, request, tracker.config.policy, tracker.store())


def test_uncommitted_changes_and_a_track_of_one_side_are_told(repository: Tracker) -> None:
    locks = repository.config.locks / "cpu"
    text = (locks / "mini-2.0.txt").read_text()
    (locks / "torch-2.9.0.txt").write_text(text.replace("mini/2.0", "torch/2.9.0"))
    save(repository, "two tracks".replace(" ", "-"))
    bench = repository.root / "mini_suite" / "spin" / "bench.py"
    bench.write_text(bench.read_text() + "\n# not committed\n")
    request = ComparisonRequest(baseline="base", contender="HEAD", machine="m")
    prepared = prepare_comparison(repository.config, request, repository.config.policy, repository.store())
    said = " | ".join(prepared.notes)
    assert "uncommitted changes are not part of HEAD and were not measured" in said
    assert "only one side has an environment for torch: not compared" in said
    assert set(prepared.job.groups) == {"spin.bench.Mini", "sway.bench.Mini", "turn.bench.Mini"}


def prepared_notes(tracker: Tracker, baseline: str, contender: str, *patterns: str) -> tuple[Job, str]:
    request = ComparisonRequest(baseline=baseline, contender=contender, patterns=patterns, machine="m")
    policy = msgspec.structs.replace(tracker.config.policy, metrics=("step_cpu",))
    prepared = prepare_comparison(tracker.config, request, policy, tracker.store())
    return prepared.job, " | ".join(prepared.notes)


def test_the_same_twice_is_an_a_a(repository: Tracker) -> None:
    job, said = prepared_notes(repository, "mini/2.0", "mini/2.0")
    assert said == "mini/2.0 against itself (A/A): every difference is noise"
    assert job.suite_is_the_trackers
    git(repository.root, "commit", "-q", "--allow-empty", "-m", "nothing")
    job, said = prepared_notes(repository, "HEAD~1", "HEAD")
    assert "both commits hold the same files here, so they are measured as one (A/A)" in said
    assert not job.suite_is_the_trackers
    assert len({subject.suite.folder for subject in job.subjects.values()}) == 1


def test_a_benchmark_of_one_side_alone_is_named(repository: Tracker) -> None:
    suite = repository.root / "mini_suite"
    (suite / "spin").rename(suite / "fresh")
    bench = suite / "fresh" / "bench.py"
    bench.write_text(bench.read_text().replace("spin.bench", "fresh.bench"))
    save(repository, "renamed")
    job, said = prepared_notes(repository, "base", "renamed", "spin|fresh|turn")
    assert "only in the suite of the baseline, so not compared: spin.bench.Mini" in said
    assert "only in the suite of the contender, so not compared: fresh.bench.Mini" in said
    assert set(job.groups) == {"turn.bench.Mini"}
    with pytest.raises(UsageError, match=r"nothing in common to judge \(only in the suite of the contender"):
        prepared_notes(repository, "base", "renamed", "fresh")


def test_a_commit_names_its_own_lock(repository: Tracker) -> None:
    lock = repository.root / "mini_suite" / "locks" / "cpu" / "mini-1.0.txt"
    (repository.root / "req").mkdir()
    (repository.root / "req" / "cpu.lock").write_text(lock.read_text())
    config = repository.root / "stepwatch.toml"
    config.write_text(config.read_text() + '[compare]\nlock = "req/{accelerator}.lock"\n')
    save(repository, "locked")
    job, _ = prepared_notes(repository, "base", "locked")
    used = [subject.installation_of("spin.bench.Mini").release.name for subject in job.subjects.values()]
    assert used == ["mini/2.0", "mini/1.0"]


def test_a_release_against_a_commit(repository: Tracker) -> None:
    job, said = prepared_notes(repository, "mini/1.0", "base")
    assert job.releases() == ["mini/1.0"]
    assert job.suite_is_the_trackers
    assert "the contender commit/" in said


def test_a_suite_that_names_no_track_runs_where_there_is_one_environment(repository: Tracker) -> None:
    for path in (repository.root / "mini_suite").glob("*/bench.py"):
        path.write_text(path.read_text().replace('= "mini"', '= ""'))
    save(repository, "untracked")
    request = ComparisonRequest(baseline="untracked", contender="untracked", machine="m")
    prepared = prepare_comparison(repository.config, request, repository.config.policy, repository.store())
    (subject,) = prepared.job.subjects.values()
    assert subject.installation_of("spin.bench.Mini").release.name == "mini/2.0"
