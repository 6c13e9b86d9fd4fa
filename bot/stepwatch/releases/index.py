"""A client of the package index: JSON simple API (PEP 691, PEP 700), ETag, bounded tries, time and size."""

from __future__ import annotations

import hashlib
import threading
import time
from concurrent.futures import Future
from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

import httpx
import msgspec

from stepwatch.errors import IndexUnavailable
from stepwatch.releases.files import write_atomically

if TYPE_CHECKING:
    from pathlib import Path

_ACCEPT = "application/vnd.pypi.simple.v1+json"
_TIMEOUT = httpx.Timeout(30.0, connect=10.0)
_TOTAL_SECONDS = 180.0
"""For one package, tries and redirects together."""
_PAGE_BYTES = 64 * 1024**2
"""Ten times the largest page that was seen."""
_ATTEMPTS = 3
_RETRIED_STATUSES = frozenset({429, 500, 502, 503, 504})


class IndexFile(msgspec.Struct, frozen=True, kw_only=True, rename="kebab"):
    """One file of a project, as the index describes it."""

    filename: str
    yanked: bool | str = False
    """True, or the reason; False and an empty reason differ: an empty reason is yanked too (PEP 592)."""
    upload_time: str | None = None
    requires_python: str | None = None

    @property
    def is_yanked(self) -> bool:
        """Whether the file was withdrawn."""
        return self.yanked is not False


class _Page(msgspec.Struct, frozen=True, kw_only=True):
    files: list[IndexFile]


class _Cached(msgspec.Struct, frozen=True, kw_only=True):
    address: str
    """Digest of the index's address: an entry of another index is not ours (the address may hold a token)."""
    etag: str
    page: _Page


@dataclass(frozen=True, slots=True, kw_only=True)
class _Answer:
    """A response whose body was read, as far as it may be."""

    response: httpx.Response
    body: bytes

    @property
    def status(self) -> str:
        return f"it said {self.response.status_code} {self.response.reason_phrase}".strip()


class PackageIndex:
    """The index at `address`; pages are kept in `cache` and asked for again with their ETag."""

    def __init__(
        self,
        address: str,
        cache: Path,
        *,
        timeout: httpx.Timeout = _TIMEOUT,
        retry_pause_seconds: float = 0.5,
        total_seconds: float = _TOTAL_SECONDS,
    ) -> None:
        self._address = address.rstrip("/")
        self._cache = cache
        self._pause = retry_pause_seconds
        self._total_seconds = total_seconds
        self._client = httpx.Client(timeout=timeout, follow_redirects=True, headers={"Accept": _ACCEPT})

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._client.close()

    def files(self, package: str) -> list[IndexFile]:
        """Every file of `package` on the index.

        Raises:
            IndexUnavailable: no connection, no such package, or an answer that is not the JSON simple API.
            StorageFailed: the page cannot be kept.
        """
        cached = self._read_cache(package)
        answer = self._get(package, etag=cached.etag if cached else None)
        response = answer.response
        if response.status_code == httpx.codes.NOT_MODIFIED and cached:
            return cached.page.files
        if response.status_code != httpx.codes.OK:
            raise IndexUnavailable(package, answer.status)
        page = _parse(package, answer)
        etag = response.headers.get("etag")
        if etag:
            entry = _Cached(address=self._address_digest(), etag=etag, page=page)
            write_atomically(self._cache_path(package), msgspec.json.encode(entry))
        return page.files

    def _get(self, package: str, *, etag: str | None) -> _Answer:
        """The answer, all tries together within the bound of time.

        In a thread of its own, because a timeout of the client bounds each wait for the next byte and not
        their sum: a server that sends a byte now and then would be waited for for ever.
        """
        answer: Future[_Answer] = Future()

        def ask() -> None:
            try:
                answer.set_result(self._try_to_get(package, etag=etag))
            except Exception as error:  # noqa: BLE001  the asking thread raises it again
                answer.set_exception(error)

        threading.Thread(target=ask, daemon=True).start()
        try:
            return answer.result(self._total_seconds)
        except TimeoutError as error:
            raise IndexUnavailable(package, f"no whole answer within {self._total_seconds:g} s") from error

    def _try_to_get(self, package: str, *, etag: str | None) -> _Answer:
        headers = {"If-None-Match": etag} if etag else {}
        url = self._page_address(package)
        reason = ""
        for attempt in range(_ATTEMPTS):
            if attempt:
                time.sleep(self._pause * 2 ** (attempt - 1))
            try:
                answer = self._fetch(package, url, headers)
            except (httpx.UnsupportedProtocol, httpx.InvalidURL) as error:
                raise IndexUnavailable(package, "it redirects to what is no http(s) URL") from error
            except httpx.HTTPError as error:
                reason = _describe(error)
                continue
            if answer.response.status_code not in _RETRIED_STATUSES:
                return answer
            reason = answer.status
        raise IndexUnavailable(package, f"{reason}, {_ATTEMPTS} times")

    def _page_address(self, package: str) -> httpx.URL:
        try:
            url = httpx.URL(f"{self._address}/{package}/")
        except httpx.InvalidURL:
            url = httpx.URL()
        if url.scheme not in {"http", "https"} or not url.host:
            raise IndexUnavailable(package, "its address is no http(s) URL: see [index] url")
        return url

    def _fetch(self, package: str, url: httpx.URL, headers: dict[str, str]) -> _Answer:
        body = bytearray()
        with self._client.stream("GET", url, headers=headers) as response:
            for chunk in response.iter_bytes():
                body += chunk
                if len(body) > _PAGE_BYTES:
                    raise IndexUnavailable(package, f"its page is larger than {_PAGE_BYTES // 1024**2} MiB")
        return _Answer(response=response, body=bytes(body))

    def _read_cache(self, package: str) -> _Cached | None:
        """The kept page, or None: a cache that cannot be read is as good as none."""
        try:
            entry = msgspec.json.decode(self._cache_path(package).read_bytes(), type=_Cached)
        except (OSError, msgspec.MsgspecError, RecursionError):
            return None
        return entry if entry.address == self._address_digest() else None

    def _cache_path(self, package: str) -> Path:
        return self._cache / f"{package}.json"

    def _address_digest(self) -> str:
        return hashlib.sha256(self._address.encode()).hexdigest()


def _parse(package: str, answer: _Answer) -> _Page:
    kind = answer.response.headers.get("content-type", "").partition(";")[0].strip()
    if not kind.endswith("json"):
        raise IndexUnavailable(
            package, f"it answers {kind or 'nothing known'}, not the JSON simple API (PEP 691)"
        )
    try:
        return msgspec.json.decode(answer.body, type=_Page)
    except (msgspec.MsgspecError, RecursionError) as error:
        raise IndexUnavailable(package, f"its answer is malformed: {error}") from error


def _describe(error: httpx.HTTPError) -> str:
    """The kind of failure in words; never the URL, which may hold a token."""
    if isinstance(error, httpx.TimeoutException):
        return "it was too slow"
    if isinstance(error, httpx.ConnectError):
        return "no connection"
    return f"the connection broke ({type(error).__name__})"
