"""Which recorded sessions count: copies, contradictions, and what is said of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec
import pytest
from evidence_factory import NEW, OLD, TORCH, failure, header, line_of, pairs, session

from stepwatch.errors import DataError, MalformedFile
from stepwatch.history.campaigns import Comparison, Selection, read_campaigns, select
from stepwatch.history.sidecar import read_sidecar
from stepwatch.model import Place, Side

if TYPE_CHECKING:
    from pathlib import Path

    from stepwatch.model import CampaignHeader, RecordedSession, SidecarLine

RANGE = Comparison(baseline=OLD, contender=NEW)
NAME = f"{header().campaign}.jsonl"


def write(results: Path, head: CampaignHeader, lines: list[Any], *, name: str = "") -> Path:
    path = results / head.machine / "sessions" / f"{name or head.campaign}.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"".join(msgspec.json.encode(line) + b"\n" for line in [head, *lines]))
    return path


def chosen(results: Path, comparison: Comparison = RANGE) -> Selection:
    return select(read_campaigns(results, "lab"), comparison, {})


def eight() -> list[SidecarLine]:
    return [*map(line_of, pairs([1.4] * 4)), failure(Side.CONTENDER).failure]


@pytest.mark.parametrize("campaign", [header().campaign, "a", "zz"])
@pytest.mark.parametrize("name", ["copy", "zz", "a"])
def test_a_copy_of_a_sidecar_counts_once(tmp_path: Path, campaign: str, name: str) -> None:
    lines = eight()
    write(tmp_path, header(), lines)
    write(tmp_path, header(campaign=campaign), lines, name=name)
    found = chosen(tmp_path)
    assert (len(found.evidence.sessions), len(found.evidence.failures)) == (8, 1)
    assert len({one.key for one in found.evidence.sessions}) == 4, "still in pairs"
    assert any(note.endswith("8 sessions left out: recorded twice") for note in found.notes)
    assert sum(len(sidecar.sessions) for sidecar in found.campaigns) == 8


def test_a_line_written_twice_counts_once(tmp_path: Path) -> None:
    lines = eight()
    write(tmp_path, header(), [*lines, lines[0]])
    found = chosen(tmp_path)
    assert len(found.evidence.sessions) == 8
    assert found.notes == (f"{NAME}: 1 session left out: recorded twice",)


def test_two_campaigns_of_one_name_do_not_share_their_rounds(tmp_path: Path) -> None:
    write(tmp_path, header(), eight())
    write(tmp_path, header(), eight(), name="merged")
    found = chosen(tmp_path)
    assert len({one.key for one in found.evidence.sessions}) == 8


def second(line: RecordedSession) -> RecordedSession:
    fields = msgspec.structs.asdict(line.place) | {"session": "f" * 12}
    return msgspec.structs.replace(line, place=Place(**fields))


def test_a_second_session_of_a_round_is_left_out(tmp_path: Path) -> None:
    lines = eight()
    write(tmp_path, header(), [*lines, second(lines[0])])  # type: ignore[arg-type]  the first is a session
    assert chosen(tmp_path).notes == (f"{NAME}: 1 session left out: a second session of its round",)


@pytest.mark.parametrize(
    ("head", "changes", "note"),
    [
        ({"accelerator": "cuda12"}, {}, "ran on cpu, not on cuda12 as the campaign says"),
        ({"accelerator": "cuda12"}, {"accelerator": "cuda12"}, "ran on the CPU, not on cuda12"),
        ({}, {"release": "jax/0.4.30"}, f"of jax/0.4.30, where the campaign has {NEW}"),
        ({}, {"versions": {"jax": "0.9.9"}}, "jax 0.9.9 was imported, not 0.4.33"),
    ],
)
def test_a_session_that_contradicts_itself_is_no_evidence(
    tmp_path: Path, head: dict[str, Any], changes: dict[str, Any], note: str
) -> None:
    sound = {"accelerator": "cuda12", "device": {"platform": "gpu"}} if head else {}
    lines = [session(Side.BASELINE, 0, **sound), session(Side.CONTENDER, 0, **changes)]
    write(tmp_path, header(**head), list(map(line_of, lines)))
    found = chosen(tmp_path)
    assert [one.place.side for one in found.evidence.sessions] == [Side.BASELINE]
    assert found.notes == (f"{NAME}: 1 session left out: {note}",)


@pytest.mark.parametrize("versions", [{}, {"torch": "2.13.0"}, {"torch": "2.13.0+cpu"}])
def test_a_local_version_is_the_release(tmp_path: Path, versions: dict[str, str]) -> None:
    single = session(Side.SINGLE, 0, benchmark="mlp.bench.TorchEager", versions=versions)
    write(tmp_path, header(baseline=None, contender=TORCH), [line_of(single)])
    assert chosen(tmp_path, Comparison(baseline=None, contender=TORCH)).notes == ()


def test_where_nothing_is_left_the_error_says_what_was_left_out(tmp_path: Path) -> None:
    lines = [session(side, 0, versions={"jax": "0.9.9"}) for side in (Side.BASELINE, Side.CONTENDER)]
    write(tmp_path, header(), list(map(line_of, lines)))
    with pytest.raises(DataError, match=r"no session of it here.*jax 0\.9\.9 was imported, not 0\.4\.31"):
        chosen(tmp_path)


@pytest.mark.parametrize("release", [OLD, NEW])
def test_either_release_of_a_pair_can_be_looked_at_alone(tmp_path: Path, release: str) -> None:
    write(tmp_path, header(), eight())
    found = chosen(tmp_path, Comparison(baseline=None, contender=release))
    assert {one.place.release for one in found.evidence.sessions} >= {release}


def test_a_release_alone_takes_one_side_of_its_comparison_with_itself(tmp_path: Path) -> None:
    lines = [session(side, n, release=NEW) for n in range(3) for side in (Side.BASELINE, Side.CONTENDER)]
    write(tmp_path, header(baseline=NEW), list(map(line_of, lines)))
    found = chosen(tmp_path, Comparison(baseline=None, contender=NEW))
    assert [one.place.side for one in found.evidence.sessions] == [Side.CONTENDER] * 3


@pytest.mark.parametrize("place", [0, 1])
def test_a_line_nested_too_deeply_is_named(tmp_path: Path, place: int) -> None:
    path = write(tmp_path, header(), eight())
    lines = path.read_bytes().split(b"\n")
    lines[place] = b'{"type":"session","x":' + b"[" * 100_000 + b"]" * 100_000 + b"}"
    path.write_bytes(b"\n".join(lines))
    with pytest.raises(MalformedFile, match=rf"{NAME}:{place + 1}: nested too deeply"):
        read_sidecar(path)
