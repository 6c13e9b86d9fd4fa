"""Which releases of an index can be measured, and on which Python."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from packaging.version import Version

from stepwatch.releases.catalogue import Candidate, find_candidates
from stepwatch.releases.index import IndexFile

PYTHONS = ("3.12", "3.11", "3.13")


def file(filename: str, **fields: object) -> IndexFile:
    defaults = {"upload_time": "2024-07-30T10:00:00Z", "requires_python": ">=3.8"}
    return IndexFile(filename=filename, **(defaults | fields))  # type: ignore[arg-type]  # loose on purpose


def pythons_of(filename: str, **fields: object) -> tuple[str, ...]:
    found = find_candidates("toy", [file(filename, **fields)], PYTHONS).candidates
    return found[0].pythons if found else ()


@pytest.mark.parametrize(
    ("tags", "pythons"),
    [
        ("py3-none-any", PYTHONS),
        ("py2.py3-none-any", PYTHONS),
        ("py2-none-any", ()),
        ("cp312-cp312-manylinux_2_28_x86_64", ("3.12",)),
        ("cp312-cp312-manylinux2014_x86_64", ("3.12",)),
        ("cp312-cp312-manylinux1_x86_64.manylinux_2_5_x86_64", ("3.12",)),
        ("cp311-none-linux_x86_64", ("3.11",)),
        ("cp311-cp311-manylinux_2_28_aarch64", ()),
        ("cp311-cp311-musllinux_1_2_x86_64", ()),
        ("cp311-cp311-win_amd64", ()),
        ("cp313-cp313t-manylinux_2_28_x86_64", ()),
        ("cp312-abi3-manylinux_2_28_x86_64", ("3.12", "3.13")),
        ("cp310-abi3-manylinux_2_28_x86_64", PYTHONS),
        ("pp310-pypy310_pp73-manylinux_2_28_x86_64", ()),
    ],
)
def test_tags_decide_on_pythons(tags: str, pythons: tuple[str, ...]) -> None:
    assert pythons_of(f"toy-1.0-{tags}.whl") == pythons


def test_requires_python_decides_too() -> None:
    wheel = "toy-1.0-py3-none-any.whl"
    assert pythons_of(wheel, requires_python=">=3.12") == ("3.12", "3.13")
    assert pythons_of(wheel, requires_python=">=3.11.4,<3.13") == ("3.12", "3.11")
    assert pythons_of(wheel, requires_python=None) == PYTHONS
    assert pythons_of(wheel, requires_python="three") == ()


def test_a_build_number_is_no_other_release() -> None:
    files = [
        file("torch-2.10.0-cp312-cp312-manylinux_2_28_x86_64.whl", upload_time="2026-01-21T00:00:00Z"),
        file("torch-2.10.0-3-cp312-cp312-manylinux_2_28_x86_64.whl", upload_time="2026-01-25T00:00:00Z"),
    ]
    assert find_candidates("torch", files, PYTHONS).candidates == (
        Candidate(version="2.10.0", date="2026-01-21", pythons=("3.12",)),
    )


@pytest.mark.parametrize(
    "name", ["toy-1.0rc1", "toy-1.0.dev20240101", "toy-1.0a2", "toy-1.0+cpu", "toy-1.0.post1.dev2"]
)
def test_no_prerelease_development_or_local_version(name: str) -> None:
    assert find_candidates("toy", [file(f"{name}-py3-none-any.whl")], PYTHONS).candidates == ()


def test_a_post_release_is_final() -> None:
    assert pythons_of("toy-1.0.post1-py3-none-any.whl") == PYTHONS


@pytest.mark.parametrize("yanked", [True, "broken on Windows", ""])
def test_withdrawn_files_do_not_count(yanked: object) -> None:
    assert pythons_of("toy-1.0-py3-none-any.whl", yanked=yanked) == ()


def test_a_release_is_dated_by_its_first_upload_and_needs_a_date() -> None:
    files = [
        file("toy-1.0-py3-none-any.whl", upload_time="2024-02-02T00:00:00Z"),
        file("toy-1.0.tar.gz", upload_time="2024-02-01T23:59:59Z"),
        file("toy-2.0-py3-none-any.whl", upload_time=None),
    ]
    assert [(found.version, found.date) for found in find_candidates("toy", files, PYTHONS).candidates] == [
        ("1.0", "2024-02-01")
    ]


@pytest.mark.parametrize(
    "name",
    [
        "toy.whl",
        "toy-1.0.exe",
        "toy-1.0-py3.7.egg",
        "toy-../../etc/passwd-py3-none-any.whl",
        "toy-1.0;rm -rf-py3-none-any.whl",
        "",
        "-.tar.gz",
        "toy-.tar.gz",
        "toy-1.0-py3-none-any.whl.asc",
    ],
)
def test_hostile_and_foreign_names_are_passed_over(name: str) -> None:
    assert find_candidates("toy", [file(name)], PYTHONS).candidates == ()


def test_white_space_in_a_name_never_reaches_a_version() -> None:
    found = find_candidates("toy", [file("toy-1.0\n-py3-none-any.whl")], PYTHONS).candidates
    assert [candidate.version for candidate in found] == ["1.0"]


@given(st.lists(st.tuples(st.integers(0, 20), st.integers(0, 20), st.integers(0, 20)), max_size=30))
def test_versions_come_out_in_version_order_each_once(numbers: list[tuple[int, int, int]]) -> None:
    names = [f"toy-{'.'.join(map(str, number))}-py3-none-any.whl" for number in numbers]
    found = [
        Version(candidate.version)
        for candidate in find_candidates("toy", map(file, names), PYTHONS).candidates
    ]
    assert found == sorted(set(found))
    assert len(found) == len(set(numbers))


GOOD = file("toy-1.0-py3-none-any.whl")


@pytest.mark.parametrize(
    ("odd", "reason"),
    [
        (file("evil-9.0-py3-none-any.whl"), "belongs to evil"),
        (file("toy-1!9.0-py3-none-any.whl"), "is not the plain name"),
        (file(f"toy-{'9' * 200}.0-py3-none-any.whl"), "202 characters"),
        (file("toy-9.0-py3-none-any.whl", upload_time="banana"), "'banana' is no day"),
        (file("toy-9.0-py3-none-any.whl", upload_time="2026-W48-1T00:00:00Z"), "is no day"),
        (file("toy-9.0-py3-none-any.whl", upload_time="0001-01-01T00:00:00Z"), "is no day"),
        (file("toy-9.0-py3-none-any.whl", upload_time="9999-12-31T00:00:00Z"), "is no day"),
        (file("toy-9.0-py3-none-any.whl", upload_time="2026-02-30T00:00:00Z"), "is no day"),
        (file("toy-9.0-py3-none-any.whl", upload_time="2026-01-01T99:00:00Z"), "is no day"),
        (file("toy-9.0-py3-none-any.whl", upload_time="2026-01-01\x1b[31m"), "is no day"),
    ],
)
def test_what_cannot_be_is_passed_over_with_a_note(odd: IndexFile, reason: str) -> None:
    found = find_candidates("toy", [GOOD, odd, odd], PYTHONS)
    assert [candidate.version for candidate in found.candidates] == ["1.0"]
    assert found.note.startswith("toy: 2 files on the index were passed over (first: ")
    assert reason in found.note
    assert found.note.isprintable()


def test_a_version_too_long_for_a_file_name_is_passed_over() -> None:
    assert find_candidates("toy", [GOOD, file(f"toy-{'9' * 5000}-py3-none-any.whl")], PYTHONS).note == ""
    assert pythons_of(f"toy-{'9' * 5000}-py3-none-any.whl") == ()


def test_a_tag_that_no_interpreter_has_fits_none() -> None:
    assert pythons_of("toy-1.0-cp3x-abi3-manylinux_2_28_x86_64.whl") == ()
    assert pythons_of("toy-1.0-cp3-abi3-manylinux_2_28_x86_64.whl") == PYTHONS


def test_names_are_compared_as_the_index_does() -> None:
    assert find_candidates("Toy.Lib", [file("toy_lib-1.0-py3-none-any.whl")], PYTHONS).candidates
