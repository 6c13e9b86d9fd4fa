"""Finished pieces on disk: an interrupted run goes on where it stopped, a changed program starts anew."""

from __future__ import annotations

import ast
import hashlib
import json
import os
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING

import stepwatch

if TYPE_CHECKING:
    from collections.abc import Callable

    from stats_bench.plan import Piece, Value

HERE = Path(__file__).resolve().parent
OURS = Path(stepwatch.__file__).parent
SHARED = ("generators.py", "metrics.py", "plan.py")
PARTS = {
    "ours": ("stats/changepoint/*.py",),
    "ours-pairs": ("stats/*.py", "policy.py", "verdict/*.py"),
    "ours-commands": ("**/*.py",),
}
"""Which files of stepwatch a value depends on."""
DISTRIBUTIONS = {
    "asv": "asv",
    "asv-regressions": "asv",
    "otava": "apache-otava",
    "kernelcpd": "ruptures",
    "pelt": "ruptures",
    "binseg": "ruptures",
}


def _digest_of(paths: list[Path]) -> str:
    digest = hashlib.sha256()
    for path in paths:
        digest.update(path.name.encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()


def code_of(function: Callable[..., Value]) -> str:
    """The code of a function and, of its module, of all that it needs: wording a page changes no value."""
    tree = ast.parse(Path(function.__code__.co_filename).read_text())
    defined: dict[str, ast.stmt] = {}
    for node in tree.body:
        targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
        names = [getattr(node, "name", None), *(getattr(target, "id", None) for target in targets)]
        defined.update({name: node for name in names if name})
    needed, waiting = set(), {function.__name__}
    while waiting:
        needed.add(name := waiting.pop())
        used = {node.id for node in ast.walk(defined[name]) if isinstance(node, ast.Name)}
        waiting |= (used & defined.keys()) - needed
    return "\n".join(ast.unparse(defined[name]) for name in sorted(needed))


def fingerprint(piece: Piece) -> str:
    """Changes whenever the value of the piece could: its code, what it measures, its arguments.

    The code of a peer's piece is the bench alone, so work on stepwatch does not repeat the slow peers.
    """
    paths = [HERE / name for name in SHARED]
    base = piece.subject.split(" ", maxsplit=1)[0]
    if base in PARTS:
        paths += [path for part in PARTS[base] for path in sorted(OURS.glob(part))]
        paths += [HERE / "ours.py", HERE / "sequential.py", *sorted(HERE.glob("fleet*.py"))]
    else:
        paths += sorted((HERE / "peers").glob("*.py"))
    versions = ["numpy", "scipy", *([DISTRIBUTIONS[base]] if base in DISTRIBUTIONS else [])]
    arguments = repr(sorted(piece.arguments.items()))
    text = [_digest_of(paths), code_of(piece.function), piece.key, arguments, *map(version, versions)]
    return hashlib.sha256("\0".join(text).encode()).hexdigest()


class CodeChangedError(Exception):
    """What a piece measures was edited while it ran: nobody knows which code its value belongs to."""


class Store:
    """One JSON file per table."""

    def __init__(self, folder: Path, table: str) -> None:
        self.path = folder / f"{table}.json"
        try:
            self._entries = json.loads(self.path.read_text())
        except (OSError, ValueError):
            self._entries = {}
        if not isinstance(self._entries, dict):
            self._entries = {}
        self._asked: dict[str, str] = {}

    def get(self, piece: Piece) -> tuple[bool, Value]:
        """Whether the piece is done, and its value.

        The code is looked at now: what is edited while the piece runs must not make its value look newer.
        """
        wanted = self._asked[piece.key] = fingerprint(piece)
        entry = self._entries.get(piece.key)
        if isinstance(entry, dict) and entry.get("fingerprint") == wanted:
            return True, entry.get("value")
        return False, None

    def put(self, piece: Piece, value: Value, seconds: float) -> None:
        """File the value of a piece that `get` was asked for; a crash leaves the file as it was.

        Raises:
            CodeChangedError: the code is not the one that `get` saw.
        """
        if fingerprint(piece) != self._asked[piece.key]:
            raise CodeChangedError(piece.key)
        done = {"fingerprint": self._asked[piece.key], "seconds": seconds, "value": value}
        self._entries[piece.key] = done
        self.path.parent.mkdir(parents=True, exist_ok=True)
        draft = self.path.with_suffix(f".{os.getpid()}.draft")
        draft.write_text(json.dumps(self._entries))
        draft.replace(self.path)


def seconds_spent(folder: Path) -> float:
    """Seconds of all pieces on disk, whenever they were measured."""
    entries = (json.loads(path.read_text()).values() for path in sorted(folder.glob("*.json")))
    return float(sum(entry["seconds"] for table in entries for entry in table))
