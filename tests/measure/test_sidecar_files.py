"""Sidecars: strict reading, one campaign a file."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec
import pytest

from stepwatch.errors import HistoryNotFound, MalformedFile, UnsupportedSchema, UsageError
from stepwatch.history.sidecar import find_sidecars, read_sidecar
from stepwatch.measure.sidecar import campaign_name, open_sidecar
from stepwatch.model import CampaignHeader, RecordedFailure

if TYPE_CHECKING:
    from pathlib import Path

HEADER = CampaignHeader(
    schema=1, campaign="jax-0.4.31..jax-0.4.33", baseline="jax/0.4.31", contender="jax/0.4.33", seed=7,
    created_at=1.0, machine="m", accelerator="cpu", size="cpu-smoke",
)  # fmt: skip
FAILURE = RecordedFailure(
    place=None, benchmark=None, release="jax/0.4.33", stage="environment", reason="no wheel", at=2.0
)


def test_a_campaign_is_named_by_its_releases() -> None:
    assert campaign_name("jax/0.4.31", "jax/0.4.33") == "jax-0.4.31..jax-0.4.33"
    assert campaign_name(None, "torch/2.13.0") == "torch-2.13.0"
    assert campaign_name("jax/0.4.33", "jax/0.4.33", "mlp=1.10") == "jax-0.4.33..jax-0.4.33+plant-mlp-1.10"


def test_what_is_written_is_read_back(tmp_path: Path) -> None:
    writer, before = open_sidecar(tmp_path, HEADER)
    assert (before.header, before.sessions, before.failures) == (HEADER, (), ())
    writer.append(FAILURE)
    assert read_sidecar(writer.path).failures == (FAILURE,)
    assert find_sidecars(tmp_path, "m") == (writer.path,)
    assert find_sidecars(tmp_path, "other") == ()
    _, again = open_sidecar(tmp_path, msgspec.structs.replace(HEADER, seed=8, created_at=9.0))
    assert again.header.seed == 7


def test_another_comparison_under_the_same_name_is_refused(tmp_path: Path) -> None:
    open_sidecar(tmp_path, HEADER)
    with pytest.raises(
        UsageError, match=r"begun with accelerator 'cpu', not 'cuda12': give another --machine"
    ):
        open_sidecar(tmp_path, msgspec.structs.replace(HEADER, accelerator="cuda12"))


def encoded(*lines: object) -> bytes:
    return b"".join(line if isinstance(line, bytes) else msgspec.json.encode(line) + b"\n" for line in lines)


@pytest.mark.parametrize(
    ("content", "place"),
    [
        (b"", "f.jsonl:1: the campaign header is missing"),
        (b'{"type":"campaign"', "f.jsonl:1: the campaign header is missing"),
        (encoded(FAILURE), "f.jsonl:1: the campaign header is missing"),
        (encoded(HEADER, HEADER), "f.jsonl: a second campaign header"),
        (encoded(HEADER, FAILURE, b"{}\n"), "f.jsonl:3: "),
        (encoded(HEADER, b"\n"), "f.jsonl:2: "),
        (encoded(HEADER, b"\xff\xfe\n"), "f.jsonl:2: "),
        (encoded(HEADER, b'{"type":"surprise"}\n'), "f.jsonl:2: "),
    ],
)
def test_what_is_no_sidecar_is_named_with_its_line(tmp_path: Path, content: bytes, place: str) -> None:
    path = tmp_path / "f.jsonl"
    path.write_bytes(content)
    with pytest.raises(MalformedFile) as caught:
        read_sidecar(path)
    assert place in str(caught.value)
    assert path.read_bytes() == content


def test_a_newer_schema_is_said_to_be_newer(tmp_path: Path) -> None:
    path = tmp_path / "f.jsonl"
    path.write_bytes(encoded(msgspec.structs.replace(HEADER, schema=2)))
    with pytest.raises(UnsupportedSchema, match="schema 2 is not known"):
        read_sidecar(path)


def test_a_missing_file_and_a_folder_in_its_place(tmp_path: Path) -> None:
    with pytest.raises(HistoryNotFound):
        read_sidecar(tmp_path / "f.jsonl")
    with pytest.raises(MalformedFile, match="is a directory"):
        read_sidecar(tmp_path)
