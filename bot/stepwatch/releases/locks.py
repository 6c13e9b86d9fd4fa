"""Locks: what an environment of one release is built from.

`suites/locks/<accelerator>/<package>-<version>.txt` is a plain requirements file that pip and uv read; its
header says what it is for. Locks lie outside the release-history repository because they may be resolved
anew, which must not change a hash.
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from stepwatch.errors import MalformedFile, UnsupportedSchema

if TYPE_CHECKING:
    from pathlib import Path

    from stepwatch.model import Release

LOCK_FORMAT = 1

_NEXT_STEP = "remove it and run `stepwatch releases sync`"
_HEADER = re.compile(r"# ([a-z-][a-z -]*): (.*)")
_REQUIREMENT = re.compile(r"[a-z0-9][a-z0-9.-]*==[A-Za-z0-9.!_]+")
_FIELDS = ("release", "accelerator", "python", "platform", "resolved as of")


@dataclass(frozen=True, slots=True, kw_only=True)
class Lock:
    """The pinned packages of one release on one accelerator."""

    release: str
    """Name: `jax/0.4.31`."""
    accelerator: str
    python: str
    """Minor version of the interpreter: `3.12`."""
    platform: str
    """What uv resolved it for: `x86_64-manylinux_2_28`."""
    resolved_as_of: str
    """Day up to whose end the index was seen, ISO 8601."""
    requirements: tuple[str, ...]
    """`name==version`, in name order; neither local versions nor hashes: a build for this machine may do."""

    @property
    def text(self) -> str:
        """The file's content."""
        values = (self.release, self.accelerator, self.python, self.platform, self.resolved_as_of)
        header = [f"# stepwatch-lock: {LOCK_FORMAT}"]
        header += [f"# {field}: {value}" for field, value in zip(_FIELDS, values, strict=True)]
        return "\n".join([*header, *self.requirements]) + "\n"

    @property
    def digest(self) -> str:
        """Digest of the file's content."""
        return lock_digest(self.text)


def lock_digest(text: str) -> str:
    """Sixteen hex digits that stand for a lock's text wherever a session or a trial names its lock."""
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def lock_path(folder: Path, accelerator: str, release: Release) -> Path:
    """Where the lock of `release` lies below the folder of locks."""
    return folder / accelerator / f"{release.package}-{release.version}.txt"


def read_lock(path: Path) -> Lock | None:
    """The lock at `path`, or None when there is none.

    Raises:
        MalformedFile: not a lock; the place is the line.
        UnsupportedSchema: a lock of a newer stepwatch.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        return None
    except (OSError, UnicodeDecodeError) as error:
        raise MalformedFile(path, str(error)) from error
    return parse_lock(text, path)


def parse_lock(text: str, path: Path) -> Lock:
    """Read a lock's text; `path` is for messages.

    Raises:
        MalformedFile: not a lock; the place is the line.
        UnsupportedSchema: a lock of a newer stepwatch.
    """
    header: dict[str, str] = {}
    requirements = []
    for number, line in enumerate(text.splitlines(), start=1):
        field = _HEADER.fullmatch(line)
        if field:
            header[field[1]] = field[2]
        elif _REQUIREMENT.fullmatch(line):
            requirements.append(line)
        elif line and not line.startswith("#"):
            reason = f"{line[:80]!r} is not name==version"
            raise MalformedFile(path, reason, place=str(number), next_step=_NEXT_STEP)
    if header.get("stepwatch-lock") != str(LOCK_FORMAT):
        if "stepwatch-lock" in header:
            raise UnsupportedSchema(path, header["stepwatch-lock"], LOCK_FORMAT)
        raise MalformedFile(path, "no line `# stepwatch-lock: 1`", place="1", next_step=_NEXT_STEP)
    missing = [field for field in _FIELDS if not header.get(field)]
    if missing:
        raise MalformedFile(path, f"no line `# {missing[0]}: …`", place="1", next_step=_NEXT_STEP)
    return Lock(
        release=header["release"],
        accelerator=header["accelerator"],
        python=header["python"],
        platform=header["platform"],
        resolved_as_of=header["resolved as of"],
        requirements=tuple(requirements),
    )
