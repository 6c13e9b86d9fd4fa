"""What an index has beyond a table."""

from __future__ import annotations

from typing import TYPE_CHECKING

from stepwatch.config import Track
from stepwatch.errors import EnvironmentFailed
from stepwatch.model import Release
from stepwatch.releases.discovery import OnIndex, choose_python, discover, read_index
from stepwatch.releases.index import IndexFile
from stepwatch.releases.uv import Resolution

if TYPE_CHECKING:
    from collections.abc import Sequence

TRACK = Track(package="jax", companions=("jaxlib",), python=("3.12", "3.11"))


def page(**versions: dict[str, str]) -> OnIndex:
    """`page(jax={"0.4.30": "2024-06-18"})`: pure wheels with a date."""
    files = {
        package: [
            IndexFile(filename=f"{package}-{version}-py3-none-any.whl", upload_time=f"{date}T01:00:00Z")
            for version, date in dates.items()
        ]
        for package, dates in versions.items()
    }
    return read_index(TRACK, files)


class Answering:
    """A resolver that always gives the same."""

    def __init__(self, **pins: str) -> None:
        self.pins = pins
        self.asked: list[str] = []

    def resolve(self, requirements: Sequence[str], *, release: str, python: str, through: str) -> Resolution:
        self.asked.append(f"{release} {' '.join(requirements)} {python} {through}")
        if not self.pins:
            raise EnvironmentFailed(release, "resolving its lock", "no solution")
        return Resolution(pins=self.pins, missing_extras=frozenset())


def test_a_companion_of_the_same_version_is_taken_without_asking() -> None:
    index = page(jax={"0.4.31": "2024-07-30"}, jaxlib={"0.4.31": "2024-07-30"})
    resolver = Answering()
    found = discover(TRACK, (), index, resolver)
    assert found.releases == (
        Release(package="jax", version="0.4.31", date="2024-07-30", requires={"jaxlib": "0.4.31"}),
    )
    assert resolver.asked == []


def test_another_companion_is_what_the_release_asks_for() -> None:
    """Jax 0.4.37 runs on jaxlib 0.4.36."""
    index = page(jax={"0.4.36": "2024-12-05", "0.4.37": "2024-12-10"}, jaxlib={"0.4.36": "2024-12-05"})
    resolver = Answering(jax="0.4.37", jaxlib="0.4.36")
    found = discover(TRACK, (), index, resolver)
    assert [release.requires["jaxlib"] for release in found.releases] == ["0.4.36", "0.4.36"]
    assert resolver.asked == ["jax/0.4.37 jax==0.4.37 3.12 2024-12-11"]


def test_releases_before_the_first_companion_are_not_looked_at() -> None:
    index = page(jax={"0.1": "2019-01-01", "0.4.18": "2023-10-07"}, jaxlib={"0.4.18": "2023-10-07"})
    resolver = Answering()
    found = discover(TRACK, (), index, resolver)
    assert [release.version for release in found.releases] == ["0.4.18"]
    assert (resolver.asked, found.notes) == ([], ())


def test_a_release_that_cannot_have_its_companion_is_left_out_with_a_note() -> None:
    index = page(jax={"0.4.30": "2024-06-18", "0.4.31": "2024-07-30"}, jaxlib={"0.4.30": "2024-06-18"})
    for resolver, reason in (
        (Answering(), "no solution"),
        (Answering(jax="0.4.31"), "does not ask for jaxlib"),
    ):
        found = discover(TRACK, (), index, resolver)
        assert [release.version for release in found.releases] == ["0.4.30"]
        assert reason in found.notes[0]
        assert found.notes[0].endswith("left out")


def test_only_what_lies_beyond_the_tip_is_new_and_a_late_patch_is_noted() -> None:
    dates = {"0.8.1": "2025-11-18", "0.8.2": "2025-12-18", "0.8.3": "2026-01-29", "0.9.0": "2026-01-20"}
    index = page(jax=dates, jaxlib=dates)
    known = tuple(
        Release(package="jax", version=version, date=dates[version]) for version in ("0.8.2", "0.9.0")
    )
    found = discover(TRACK, known, index, Answering())
    assert found.releases == ()
    assert len(found.notes) == 1, "0.8.1 is older than the tip: left out long ago, nothing new to say"
    assert found.notes[0].startswith("jax/0.8.3 (2026-01-29) came after jax/0.9.0")


def test_the_first_python_with_wheels_for_all_is_chosen() -> None:
    def wheel(package: str, python: str) -> IndexFile:
        tag = f"cp{python.replace('.', '')}"
        return IndexFile(
            filename=f"{package}-1.0-{tag}-{tag}-manylinux_2_28_x86_64.whl",
            upload_time="2024-01-01T00:00:00Z",
        )

    release = Release(package="jax", version="1.0", date="2024-01-01", requires={"jaxlib": "1.0"})
    jax = [wheel("jax", "3.12"), wheel("jax", "3.11")]
    index = read_index(TRACK, {"jax": jax, "jaxlib": [wheel("jaxlib", "3.11")]})
    assert choose_python(TRACK, release, index) == "3.11"
    index = read_index(TRACK, {"jax": jax[:1], "jaxlib": [wheel("jaxlib", "3.11")]})
    assert choose_python(TRACK, release, index) is None
    index = read_index(TRACK, {"jax": jax, "jaxlib": []})
    assert choose_python(TRACK, release, index) is None
