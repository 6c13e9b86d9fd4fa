"""A package index on this machine: JSON simple API, tiny wheels, and every way of misbehaving."""

from __future__ import annotations

import hashlib
import json
import threading
import zipfile
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from io import BytesIO
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

JSON_API = "application/vnd.pypi.simple.v1+json"


def make_wheel(name: str, version: str, requires: tuple[str, ...] = ()) -> bytes:
    info = f"{name}-{version}.dist-info"
    lines = ["Metadata-Version: 2.1", f"Name: {name}", f"Version: {version}"]
    lines += [
        f"Provides-Extra: {line.partition('extra == ')[2].strip(chr(34))}"
        for line in requires
        if "extra" in line
    ]
    lines += [f"Requires-Dist: {line}" for line in requires]
    buffer = BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr(f"{name}.py", f"__version__ = {version!r}\n")
        archive.writestr(f"{info}/METADATA", "\n".join(lines) + "\n")
        archive.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        archive.writestr(f"{info}/RECORD", "")
    return buffer.getvalue()


@dataclass
class LocalIndex:
    """What the server serves and how; tests change it while it runs."""

    address: str = ""
    packages: dict[str, list[dict[str, Any]]] = field(default_factory=dict)
    wheels: dict[str, bytes] = field(default_factory=dict)
    requests: list[tuple[str, dict[str, str]]] = field(default_factory=list)
    statuses: list[int] = field(default_factory=list)
    """Answers to give before behaving again."""
    bodies: dict[str, tuple[str, bytes]] = field(default_factory=dict)
    """Package to a content type and body served instead of its page."""
    delay_seconds: float = 0.0

    def add(
        self, name: str, version: str, date: str, *, requires: tuple[str, ...] = (), **extra: Any
    ) -> None:
        filename = f"{name.replace('-', '_')}-{version}-py3-none-any.whl"
        self.wheels[filename] = make_wheel(name.replace("-", "_"), version, requires)
        digest = hashlib.sha256(self.wheels[filename]).hexdigest()
        entry = {
            "filename": filename,
            "url": f"{self.address.rsplit('/', 1)[0]}/files/{filename}",
            "hashes": {"sha256": digest},
            "requires-python": ">=3.8",
            "upload-time": f"{date}T10:00:00.000000Z",
            "size": len(self.wheels[filename]),
            "yanked": False,
        }
        self.packages.setdefault(name, []).append(entry | extra)

    def answer(self, path: str) -> tuple[int, str, bytes]:
        kind, name = path.strip("/").split("/")
        if kind == "files":
            return 200, "application/octet-stream", self.wheels[name]
        if name in self.bodies:
            return 200, *self.bodies[name]
        if name not in self.packages:
            return 404, "text/plain", b"no such package"
        page = {"meta": {"api-version": "1.1"}, "name": name, "files": self.packages[name]}
        return 200, JSON_API, json.dumps(page).encode()


def _handler(index: LocalIndex, stopping: threading.Event) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            index.requests.append((self.path, dict(self.headers)))
            stopping.wait(index.delay_seconds)
            status, kind, body = index.answer(self.path)
            if index.statuses:
                status, body = index.statuses.pop(0), b""
            etag = f'"{hashlib.sha256(body).hexdigest()}"'
            if status == 200 and self.headers.get("If-None-Match") == etag:
                status, body = 304, b""
            self.send_response(status)
            self.send_header("Content-Type", kind)
            self.send_header("ETag", etag)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            if self.command == "GET":
                self.wfile.write(body)

        do_HEAD = do_GET  # noqa: N815  http.server's name; uv asks for the size of a wheel first

        def log_message(self, *_: object) -> None:
            pass

    return Handler


class _QuietServer(ThreadingHTTPServer):
    def handle_error(self, *_: object) -> None:
        """A client that left (a timeout under test) is no news."""


@pytest.fixture
def local_index() -> Iterator[LocalIndex]:
    index, stopping = LocalIndex(), threading.Event()
    server = _QuietServer(("127.0.0.1", 0), _handler(index, stopping))
    index.address = f"http://127.0.0.1:{server.server_port}/simple"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    yield index
    stopping.set()
    server.shutdown()
    server.server_close()
    thread.join()
