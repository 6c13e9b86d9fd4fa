"""Release tables on disk, and names that people type."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stepwatch.errors import MalformedFile, MixedTracks, StorageFailed, UnknownRelease, UsageError
from stepwatch.model import Release
from stepwatch.releases import files
from stepwatch.releases.names import resolve_range, resolve_release
from stepwatch.releases.table import append_releases, load_table, load_tables
from stepwatch.releases.tried import read_trials

JAX = ("0.4.30", "0.4.31", "0.4.33", "0.4.34", "0.5.0", "0.9.0.1")


def release(package: str, version: str) -> Release:
    return Release(package=package, version=version, date="2024-07-30", requires={})


TABLES = {
    "jax": tuple(release("jax", version) for version in JAX),
    "torch": (release("torch", "2.9.0"), release("torch", "2.13.0")),
}


def test_appending_never_changes_what_is_there(tmp_path: Path) -> None:
    append_releases(tmp_path, "jax", TABLES["jax"][:2])
    before = (tmp_path / "jax.jsonl").read_bytes()
    append_releases(tmp_path, "jax", TABLES["jax"][2:])
    assert (tmp_path / "jax.jsonl").read_bytes().startswith(before)
    assert load_tables(tmp_path, ["jax", "torch"]) == {"jax": TABLES["jax"], "torch": ()}


@given(st.integers(0, 6))
def test_a_table_written_in_two_parts_reads_as_one(
    tmp_path_factory: pytest.TempPathFactory, cut: int
) -> None:
    folder = tmp_path_factory.mktemp("table")
    append_releases(folder, "jax", TABLES["jax"][:cut])
    append_releases(folder, "jax", TABLES["jax"][cut:])
    assert load_table(folder, "jax") == TABLES["jax"]


GOOD = '{"package":"jax","version":"0.4.31","date":"2024-07-30","requires":{}}\n'


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (GOOD + "{\n", r"jax\.jsonl:2: .*restore it from git"),
        (GOOD + "\n", r"jax\.jsonl:2"),
        (GOOD + '{"package":"jax","version":"0.4.33"}\n', r"jax\.jsonl:2: .*date"),
        (GOOD.replace("}\n", ',"python":"3.12"}\n'), "unknown field"),
        (GOOD.replace("{}", "[]"), r"jax\.jsonl:1"),
        (GOOD.replace("2024-07-30", "30 July"), r"jax\.jsonl:1"),
        (GOOD + GOOD, r"jax\.jsonl:2: 0\.4\.31 does not come after 0\.4\.31"),
        (GOOD.replace("jax", "torch"), "a release of torch in the table of jax"),
        (GOOD.rstrip("\n"), r"jax\.jsonl:1: the last line is cut off"),
        (GOOD + GOOD[:20], r"jax\.jsonl:2: the last line is cut off"),
        (GOOD.replace("0.4.31", "0.4.31rc1"), "not the plain name of a final release"),
        (GOOD.replace("0.4.31", "0.4.31+cpu"), "not the plain name of a final release"),
        (GOOD.replace("0.4.31", "v0.4.31"), "not the plain name of a final release"),
        (GOOD.replace("0.4.31", "../../etc/passwd"), "Invalid version"),
        (GOOD.replace("0.4.31", "0.4.31 --upload-pack"), "Invalid version"),
        (GOOD.replace("0.4.31", "1!0.4.31"), "not the plain name of a final release"),
        (GOOD.replace("0.4.31", "9" * 5000), "5000 characters"),
        (GOOD.replace("2024-07-30", "2026-W48-1"), r"jax\.jsonl:1: '2026-W48-1' is no day"),
        (GOOD.replace("2024-07-30", "0001-01-01"), "is no day"),
        (GOOD.replace("2024-07-30", "2024-07-30T00:00:00"), "more than a day"),
        (GOOD.replace("{}", '{"jaxlib":"\\n--index-url x"}'), "no version of jaxlib"),
        (GOOD.replace("{}", '{"../x":"1"}'), "no name of a package"),
        ('{"requires":' * 100_000 + "\n", r"jax\.jsonl:1: "),
        ('{"x":' * 100_000 + "\n", r"jax\.jsonl:1: "),
        ("\xff", "jax"),
    ],
)
def test_a_damaged_table_is_refused_with_its_line(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "jax.jsonl").write_text(text, encoding="latin-1")
    with pytest.raises(MalformedFile, match=message) as caught:
        load_table(tmp_path, "jax")
    assert "\n" not in str(caught.value)


def test_a_table_that_cannot_be_opened_is_said(tmp_path: Path) -> None:
    (tmp_path / "jax.jsonl").mkdir()
    with pytest.raises(MalformedFile, match=r"jax\.jsonl"):
        load_table(tmp_path, "jax")


def test_a_write_that_fails_half_way_is_taken_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    append_releases(tmp_path, "jax", TABLES["jax"][:1])
    before = (tmp_path / "jax.jsonl").read_bytes()

    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(StorageFailed, match=r"jax\.jsonl: No space left"):
        append_releases(tmp_path, "jax", TABLES["jax"][1:])
    assert (tmp_path / "jax.jsonl").read_bytes() == before
    with pytest.raises(StorageFailed, match="No space left"):
        files.write_atomically(tmp_path / "jax.jsonl", b"other")
    assert (tmp_path / "jax.jsonl").read_bytes() == before
    assert [path.name for path in tmp_path.iterdir()] == ["jax.jsonl"]


def test_a_partial_write_is_a_full_disk() -> None:
    with Path("/dev/null").open("wb", buffering=0) as sink:

        class Short:
            def write(self, data: bytes) -> int:
                return sink.write(data[:-1])

        with pytest.raises(OSError, match="No space left"):
            files._write_whole(Short(), b"line\n")  # type: ignore[arg-type]  # all that it uses


@given(st.sampled_from([release for track in TABLES.values() for release in track]))
def test_every_release_is_found_by_its_name(wanted: Release) -> None:
    assert resolve_release(wanted.name, TABLES) == wanted


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("jax/0.4.32", "did you mean jax/0.4.31 or jax/0.4.33?"),
        ("jax/9.9", "did you mean jax/0.9.0.1?"),
        ("jax/0.1", "did you mean jax/0.4.30?"),
        ("jx/0.4.31", "did you mean jax/0.4.31"),
        ("jax-0.4.31", "did you mean jax/0.4.31"),
        ("jax/latest", "unknown release"),
        ("numpy", "see `stepwatch releases list`"),
        ("", "see `stepwatch releases list`"),
        ("jax/0.4.31/..", "unknown release"),
    ],
)
def test_an_unknown_release_comes_with_the_closest(name: str, hint: str) -> None:
    with pytest.raises(UnknownRelease) as caught:
        resolve_release(name, TABLES)
    assert hint in str(caught.value)


@pytest.mark.parametrize("name", [" jax/0.4.31", "jax/0.4.31\n", "\tjax/0.4.31 "])
def test_white_space_around_a_name_does_not_matter(name: str) -> None:
    assert resolve_release(name, TABLES).name == "jax/0.4.31"
    assert resolve_range(f" {name} .. 0.4.34 ", TABLES).after.name == "jax/0.4.31"


def test_a_version_of_five_thousand_digits_is_unknown() -> None:
    with pytest.raises(UnknownRelease):
        resolve_release(f"jax/{'9' * 5000}", TABLES)


def test_a_folder_without_tables_is_said(tmp_path: Path) -> None:
    with pytest.raises(MalformedFile, match="no release tables here; restore it from git, or start"):
        load_tables(tmp_path / "releases", ["jax"])


def test_nothing_is_close_to_an_empty_track() -> None:
    with pytest.raises(UnknownRelease, match="releases sync"):
        resolve_release("jax/0.4.31", {"jax": ()})


def test_a_range_knows_what_lies_between() -> None:
    found = resolve_range("jax/0.4.30..jax/0.4.34", TABLES)
    assert (found.after.version, found.through.version) == ("0.4.30", "0.4.34")
    assert [between.version for between in found.between] == ["0.4.31", "0.4.33"]
    assert resolve_range("jax/0.4.30..0.4.34", TABLES) == found


@pytest.mark.parametrize(
    ("text", "error", "message"),
    [
        ("jax/0.4.30", UsageError, "is no range: write after..through"),
        ("jax/0.4.30..", UsageError, "is no range"),
        ("..jax/0.4.30", UsageError, "is no range"),
        ("jax/0.4.30..torch/2.9.0", MixedTracks, "crosses two tracks"),
        ("jax/0.4.31..jax/0.4.31", UsageError, "--a-a jax/0.4.31"),
        ("jax/0.4.33..jax/0.4.31", UsageError, "write jax/0.4.31..jax/0.4.33"),
        ("jax/0.4.33..jax/0.4.32", UnknownRelease, "jax/0.4.32"),
    ],
)
def test_a_range_that_cannot_be_is_explained(text: str, error: type[Exception], message: str) -> None:
    with pytest.raises(error) as caught:
        resolve_range(text, TABLES)
    assert message in str(caught.value)


@pytest.mark.parametrize("line", ["{", '{"x":' + "[" * 100_000])
def test_a_trial_that_is_none_is_refused_with_its_line(tmp_path: Path, line: str) -> None:
    (tmp_path / "tried.jsonl").write_text(f"{line}\n")
    with pytest.raises(MalformedFile, match=r"tried\.jsonl:1: .*; remove this line"):
        read_trials([tmp_path / "tried.jsonl"])
