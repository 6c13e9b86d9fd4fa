"""The index client against a real HTTP server on this machine."""

from __future__ import annotations

import socket
import time
from typing import TYPE_CHECKING, Any

import httpx
import pytest

from stepwatch.config import load_config
from stepwatch.errors import IndexUnavailable, StorageFailed
from stepwatch.measure.store import open_store
from stepwatch.releases import index as index_module
from stepwatch.releases import index_address
from stepwatch.releases.index import PackageIndex

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path


def client(local_index: Any, cache: Path, **options: Any) -> PackageIndex:
    return PackageIndex(local_index.address, cache, retry_pause_seconds=0.001, **options)


def test_a_page_is_read_and_asked_for_again_with_its_etag(local_index: Any, tmp_path: Path) -> None:
    local_index.add("toy", "1.0", "2024-01-01")
    with client(local_index, tmp_path) as index:
        first = index.files("toy")
        again = index.files("toy")
    assert [file.filename for file in first] == ["toy-1.0-py3-none-any.whl"]
    assert again == first
    (_, plain), (_, conditional) = local_index.requests
    assert "If-None-Match" not in plain
    assert conditional["If-None-Match"].startswith('"')
    assert plain["Accept"] == "application/vnd.pypi.simple.v1+json"


def test_a_changed_page_replaces_the_kept_one(local_index: Any, tmp_path: Path) -> None:
    local_index.add("toy", "1.0", "2024-01-01")
    with client(local_index, tmp_path) as index:
        index.files("toy")
        local_index.add("toy", "1.1", "2024-02-01")
        assert len(index.files("toy")) == 2
        assert len(index.files("toy")) == 2


def test_a_damaged_or_foreign_cache_is_no_cache(local_index: Any, tmp_path: Path) -> None:
    local_index.add("toy", "1.0", "2024-01-01")
    with client(local_index, tmp_path) as index:
        index.files("toy")
        (tmp_path / "toy.json").write_text("{")
        index.files("toy")
    other = local_index.address.replace("127.0.0.1", "localhost")
    with PackageIndex(other, tmp_path) as index:
        index.files("toy")
    assert not any("If-None-Match" in headers for _, headers in local_index.requests)


def test_two_bad_answers_are_retried_and_three_are_not(local_index: Any, tmp_path: Path) -> None:
    local_index.add("toy", "1.0", "2024-01-01")
    with client(local_index, tmp_path) as index:
        local_index.statuses = [503, 500]
        assert len(index.files("toy")) == 1
        local_index.statuses = [429, 502, 500]
        with pytest.raises(IndexUnavailable, match="it said 500 Internal Server Error, 3 times"):
            index.files("toy")


def test_an_unknown_package_is_not_retried(local_index: Any, tmp_path: Path) -> None:
    with (
        client(local_index, tmp_path) as index,
        pytest.raises(IndexUnavailable, match=r"toy: .*404 Not Found"),
    ):
        index.files("toy")
    assert len(local_index.requests) == 1


@pytest.mark.parametrize(
    ("kind", "body", "message"),
    [
        ("text/html", b"<html>", "text/html, not the JSON simple API"),
        ("", b"", "nothing known, not the JSON"),
        ("application/json", b'{"files": [{"filename": 7}]}', "malformed"),
        ("application/json", b"{", "malformed"),
        ("application/json", b"[" * 100_000, "malformed"),
        ("text/\x9b31mred", b"", r"text/\\x9b31mred, not the JSON"),
    ],
)
def test_what_is_not_the_json_api_is_named(
    local_index: Any, tmp_path: Path, kind: str, body: bytes, message: str
) -> None:
    local_index.bodies["toy"] = (kind, body)
    with client(local_index, tmp_path) as index, pytest.raises(IndexUnavailable, match=message):
        index.files("toy")


def test_a_slow_index_is_given_up(local_index: Any, tmp_path: Path) -> None:
    local_index.delay_seconds = 5.0
    with (
        client(local_index, tmp_path, timeout=httpx.Timeout(0.05)) as index,
        pytest.raises(IndexUnavailable, match="too slow, 3 times"),
    ):
        index.files("toy")


def test_no_connection_is_one_line_without_the_address(tmp_path: Path) -> None:
    with socket.socket() as reserved:
        reserved.bind(("127.0.0.1", 0))
        address = f"http://someone:secret@127.0.0.1:{reserved.getsockname()[1]}/simple"
        with (
            PackageIndex(address, tmp_path, retry_pause_seconds=0.0) as index,
            pytest.raises(IndexUnavailable) as caught,
        ):
            index.files("toy")
    assert "no connection" in str(caught.value)
    assert "secret" not in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_broken_connection_is_retried(tmp_path: Path) -> None:
    def break_off(request: httpx.Request) -> httpx.Response:
        raise httpx.RemoteProtocolError("gone", request=request)

    index = PackageIndex("http://index.invalid/simple", tmp_path, retry_pause_seconds=0.0)
    index._client = httpx.Client(transport=httpx.MockTransport(break_off))
    with index, pytest.raises(IndexUnavailable, match=r"broke \(RemoteProtocolError\), 3 times"):
        index.files("toy")


@pytest.mark.parametrize("address", ["ftp://index.invalid/simple", "simple", "http://index.invalid:port"])
def test_an_address_that_is_no_url_names_the_key(tmp_path: Path, address: str) -> None:
    with PackageIndex(address, tmp_path) as index, pytest.raises(IndexUnavailable, match=r"\[index\] url"):
        index.files("toy")


def test_a_page_without_an_etag_is_not_kept(tmp_path: Path) -> None:
    transport = httpx.MockTransport(lambda _: httpx.Response(200, json={"files": []}))
    index = PackageIndex("http://index.invalid/simple", tmp_path)
    index._client = httpx.Client(transport=transport)
    with index:
        assert index.files("toy") == []
    assert list(tmp_path.iterdir()) == []


def test_a_cache_that_cannot_be_written_is_said(local_index: Any, tmp_path: Path) -> None:
    local_index.add("toy", "1.0", "2024-01-01")
    (tmp_path / "cache").write_text("a file where a folder should be")
    with client(local_index, tmp_path / "cache") as index, pytest.raises(StorageFailed, match=r"toy\.json"):
        index.files("toy")


def test_the_index_is_chosen_as_people_expect(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home = tmp_path / "home"
    (home / ".config" / "pip").mkdir(parents=True)
    pip = home / ".config" / "pip" / "pip.conf"
    monkeypatch.setattr(index_address.Path, "home", lambda: home)
    monkeypatch.setattr(index_address, "default_index", lambda: "uv's")
    assert index_address.index_address("given", "configured") == "given"
    assert index_address.index_address(None, "configured") == "configured"
    assert index_address.index_address(None, None) == "uv's"
    pip.write_text("[global]\nindex-url = pip's\n")
    assert index_address.index_address(None, None) == "pip's"
    pip.write_text("no ini file")
    assert index_address.index_address(None, None) == "uv's"


def test_pip_files_later_ones_win(tmp_path: Path) -> None:
    for name, section, url in (("a", "global", "one"), ("b", "install", "two")):
        (tmp_path / name).write_text(f"[{section}]\nindex-url = {url}\n")
    assert index_address.pip_index([tmp_path / "a", tmp_path / "b", tmp_path / "missing"]) == "two"


class Dripping(httpx.SyncByteStream):
    """A body that never ends: a byte now and then."""

    def __iter__(self) -> Iterator[bytes]:
        while True:
            time.sleep(0.02)
            yield b" "


def served(tmp_path: Path, answer: Callable[[httpx.Request], httpx.Response], **options: Any) -> PackageIndex:
    index = PackageIndex("http://index.invalid/simple", tmp_path, retry_pause_seconds=0.0, **options)
    index._client = httpx.Client(transport=httpx.MockTransport(answer), follow_redirects=True)
    return index


def test_an_index_that_drips_is_given_up(tmp_path: Path) -> None:
    with (
        served(tmp_path, lambda _: httpx.Response(200, stream=Dripping()), total_seconds=0.3) as index,
        pytest.raises(IndexUnavailable, match=r"no whole answer within 0\.3 s"),
    ):
        index.files("toy")


def test_a_page_without_end_is_given_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(index_module, "_PAGE_BYTES", 2 * 1024**2)
    body = b" " * (3 * 1024**2)
    with (
        served(tmp_path, lambda _: httpx.Response(200, content=body)) as index,
        pytest.raises(IndexUnavailable, match="its page is larger than 2 MiB"),
    ):
        index.files("toy")


def test_a_redirect_to_a_file_is_the_servers_fault(tmp_path: Path) -> None:
    def away(request: httpx.Request) -> httpx.Response:
        if request.url.scheme == "file":
            raise httpx.UnsupportedProtocol("file", request=request)  # as the real transport does
        return httpx.Response(302, headers={"Location": "file:///etc/passwd"})

    with (
        served(tmp_path, away) as index,
        pytest.raises(IndexUnavailable, match=r"it redirects to what is no http\(s\) URL"),
    ):
        index.files("toy")


def test_environments_are_installed_from_the_index_that_locks_come_from(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "asv.conf.json").write_text('{"repo": "r.git", "benchmark_dir": "."}')
    config = load_config(tmp_path)
    for variable in index_address.INDEX_VARIABLES:
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setattr(index_address, "pip_index", lambda _: "pip's")
    assert open_store(config).sources.index_url == "pip's"
    monkeypatch.setenv("PIP_INDEX_URL", "given")
    assert open_store(config).sources.index_url == "given"
