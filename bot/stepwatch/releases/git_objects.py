"""The objects of the release-history repository as git hashes them: pure, so that every machine agrees.

One orphan branch per track, one commit per release with the single file `release.json`. asv numbers
revisions by committer date and shows the author date: committer times put each track in a *lane* of its
own, so that adding a release or a track keeps every hash (docs/adr/0002).
"""

from __future__ import annotations

import datetime as dt
import hashlib
import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from stepwatch.model import Release

LANE_START = 1_000_000_000
LANE_WIDTH = 10_000_000
"""Seconds of committer time per track: no track will ever have that many releases."""

_IDENTITY = b"release-history <release-history@localhost>"
_LABELLED = re.compile(r"\d+\.\d+\.0")


@dataclass(frozen=True, slots=True, kw_only=True)
class HistoryCommit:
    """One release as a commit."""

    release: Release
    hash: str
    parent: str | None
    author_time: int
    """Unix time, seconds: noon of the release day, later than its parent's."""
    committer_time: int
    """Unix time, seconds: lane and ordinal, not a real time."""

    @property
    def content(self) -> bytes:
        """The text of `release.json`."""
        return release_json(self.release)

    @property
    def message(self) -> bytes:
        """The commit message: the release's name."""
        return f"{self.release.name}\n".encode()

    @property
    def refs(self) -> tuple[str, ...]:
        """The names it is known by; only an `x.y.0` release carries a label tag, or asv's plots fill up."""
        package, version = self.release.package, self.release.version
        name = f"refs/{package}/{version}"
        return (name, f"refs/tags/{package}-{version}") if _LABELLED.fullmatch(version) else (name,)


def release_json(release: Release) -> bytes:
    """Content of `release.json`; locks and notes stay outside, for they change and this must not."""
    fields = {"package": release.package, "version": release.version, "date": release.date}
    return (json.dumps(fields, indent=1, sort_keys=True) + "\n").encode()


def history_commits(tables: Mapping[str, Sequence[Release]]) -> list[HistoryCommit]:
    """Every commit of the history, track by track in lane order (the order of `tables`), oldest first."""
    commits = []
    for lane, releases in enumerate(tables.values()):
        parent, author_time = None, 0
        for ordinal, release in enumerate(releases, start=1):
            author_time = max(_noon(release.date), author_time + 1)
            committer_time = LANE_START + lane * LANE_WIDTH + ordinal
            commit = _commit(release, parent, author_time, committer_time)
            commits.append(commit)
            parent = commit.hash
    return commits


def history_refs(commits: Sequence[HistoryCommit]) -> dict[str, str]:
    """Every ref of the history: branches (`refs/heads/jax`), names (`refs/jax/0.4.31`), label tags."""
    refs = {ref: commit.hash for commit in commits for ref in commit.refs}
    refs |= {f"refs/heads/{commit.release.package}": commit.hash for commit in commits}  # the last one stays
    return refs


def _commit(release: Release, parent: str | None, author_time: int, committer_time: int) -> HistoryCommit:
    blob = _hash(b"blob", release_json(release))
    tree = _hash(b"tree", b"100644 release.json\0" + bytes.fromhex(blob))
    lines = [b"tree " + tree.encode()]
    if parent:
        lines.append(b"parent " + parent.encode())
    lines.append(b"author %s %d +0000" % (_IDENTITY, author_time))
    lines.append(b"committer %s %d +0000" % (_IDENTITY, committer_time))
    body = b"\n".join(lines) + b"\n\n" + f"{release.name}\n".encode()
    return HistoryCommit(
        release=release,
        hash=_hash(b"commit", body),
        parent=parent,
        author_time=author_time,
        committer_time=committer_time,
    )


def _hash(kind: bytes, body: bytes) -> str:
    return hashlib.sha1(b"%s %d\0%s" % (kind, len(body), body), usedforsecurity=False).hexdigest()


def _noon(day: str) -> int:
    """Noon, so that a browser in any time zone shows the day itself."""
    moment = dt.datetime.combine(dt.date.fromisoformat(day), dt.time(12), tzinfo=dt.UTC)
    return int(moment.timestamp())


def fast_import_stream(commits: Sequence[HistoryCommit]) -> bytes:
    """Input of `git fast-import` that makes exactly `commits` and `history_refs(commits)`."""
    parts: list[bytes] = []
    marks: dict[str, int] = {}
    for mark, commit in enumerate(commits, start=1):
        marks[commit.hash] = mark
        branch = f"refs/heads/{commit.release.package}"
        parts.append(f"commit {branch}\nmark :{mark}\n".encode())
        parts.append(b"author %s %d +0000\n" % (_IDENTITY, commit.author_time))
        parts.append(b"committer %s %d +0000\n" % (_IDENTITY, commit.committer_time))
        parts.append(b"data %d\n%s" % (len(commit.message), commit.message))
        if commit.parent:
            parts.append(b"from :%d\n" % marks[commit.parent])
        parts.append(b"deleteall\nM 100644 inline release.json\n")
        parts.append(b"data %d\n%s\n" % (len(commit.content), commit.content))
    for commit in commits:
        parts += [b"reset %s\nfrom :%d\n\n" % (ref.encode(), marks[commit.hash]) for ref in commit.refs]
    return b"".join(parts)
