"""`stepwatch.toml` (or `[tool.stepwatch]` in `pyproject.toml`): found, validated, resolved to paths.

Where things lie (results, site, history repository, environments, suite) is said once, in `asv.conf.json`;
`stepwatch.toml` holds only what asv has no word for. Every fault is reported with its line and key, all of
them at once, and an unknown key is a fault: a misspelt `min_efect` must not silently mean the default.
"""

from __future__ import annotations

import difflib
import re
import tomllib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, get_type_hints

import json5
import msgspec

from stepwatch.errors import ConfigError
from stepwatch.policy import Policy

if TYPE_CHECKING:
    from pathlib import Path

ACCELERATORS = ("cpu", "cuda12", "cuda13")
_GIB = 1024**3
_SIZE_UNITS = {"B": 1, "KiB": 1024, "MiB": 1024**2, "GiB": _GIB, "TiB": 1024**4}


class Track(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One library whose releases are followed: a `[tracks.<package>]` table."""

    package: str = ""
    """Set from the table's name."""
    python: tuple[Annotated[str, msgspec.Meta(pattern=r"^3\.\d+$")], ...] = ("3.12", "3.11", "3.13")
    """Python versions to use, best first; the first one with a wheel for the release is taken."""
    companions: tuple[str, ...] = ()
    """Packages released in step with it, pinned in its table (`jaxlib`)."""
    first_lock: str = "0"
    """Locks are resolved from this release on."""
    extra_packages: tuple[str, ...] = ("numpy",)
    """Further requirements of every lock of this track."""


DEFAULT_TRACKS = (
    Track(package="jax", companions=("jaxlib",), first_lock="0.4.30"),
    # A CPU build of torch in a find-links folder is made for one Python: the most common one first.
    Track(package="torch", python=("3.11", "3.12", "3.13"), first_lock="2.9.0"),
)


class Index(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The `[index]` table: where releases are looked up."""

    url: str | None = None
    """Root of a package index with the JSON simple API; none means the default of uv."""
    find_links: tuple[str, ...] = ()
    """Folders or pages with wheels, tried before the index when an environment is built."""


class Environments(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The `[environments]` table: bounds of the cache of release environments."""

    keep: Annotated[int, msgspec.Meta(ge=2)] = 12
    """How many are kept; two are needed to compare."""
    max_size: Annotated[str, msgspec.Meta(pattern=r"^\d+(\.\d+)? ?(B|KiB|MiB|GiB|TiB)$")] = "40 GiB"
    """How much disk they may take together."""


class Settings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The whole of `stepwatch.toml`."""

    machine: Annotated[str, msgspec.Meta(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*$")] | None = None
    """Name of this machine's series; none means host name and accelerator."""
    accelerator: Annotated[str, msgspec.Meta(pattern=r"^(cpu|cuda12|cuda13)$")] = "cpu"
    """`cpu`, `cuda12` or `cuda13`: which locks are used, and which device a session must find."""
    index: Index = Index()
    environments: Environments = Environments()
    policy: Policy = Policy()
    tracks: dict[str, Track] = {}


class AsvSettings(msgspec.Struct, frozen=True, kw_only=True):
    """The keys of `asv.conf.json` that stepwatch shares with asv."""

    repo: str
    benchmark_dir: str = "benchmarks"
    env_dir: str = "env"
    results_dir: str = "results"
    html_dir: str = "html"


@dataclass(frozen=True, slots=True, kw_only=True)
class Config:
    """Everything configurable, with absolute paths."""

    root: Path
    """The folder that holds `asv.conf.json`."""
    asv_config: Path
    suite: Path
    releases: Path
    locks: Path
    results: Path
    html: Path
    history_repo: Path
    environments: Path
    environments_keep: int
    environments_max_bytes: int
    index_url: str | None
    find_links: tuple[str, ...]
    machine: str | None
    accelerator: str
    tracks: tuple[Track, ...]
    policy: Policy

    def track(self, package: str) -> Track | None:
        """The track of a package, or None."""
        return next((track for track in self.tracks if track.package == package), None)


def load_config(start: Path) -> Config:
    """Find and read the configuration of the tracker that `start` lies in.

    Raises:
        ConfigError: no `asv.conf.json` in `start` or above it, or a fault in one of the files.
    """
    root = _find_root(start)
    asv = _read_asv_settings(root / "asv.conf.json")
    settings = _read_settings(root)
    suite = root / asv.benchmark_dir
    return Config(
        root=root,
        asv_config=root / "asv.conf.json",
        suite=suite,
        releases=suite / "releases",
        locks=suite / "locks",
        results=root / asv.results_dir,
        html=root / asv.html_dir,
        history_repo=root / asv.repo,
        environments=root / asv.env_dir,
        environments_keep=settings.environments.keep,
        environments_max_bytes=_parse_size(settings.environments.max_size),
        index_url=settings.index.url,
        find_links=tuple(_resolve_link(root, link) for link in settings.index.find_links),
        machine=settings.machine,
        accelerator=settings.accelerator,
        tracks=_merge_tracks(settings.tracks),
        policy=settings.policy,
    )


def _find_root(start: Path) -> Path:
    start = start.resolve()
    for folder in (start, *start.parents):
        if (folder / "asv.conf.json").is_file():
            return folder
    raise ConfigError(
        start, "no asv.conf.json here or in a folder above; run this inside a stepwatch checkout"
    )


def _read_asv_settings(path: Path) -> AsvSettings:
    try:
        return msgspec.convert(json5.loads(path.read_text(encoding="utf-8")), AsvSettings)
    except (OSError, UnicodeDecodeError, ValueError, msgspec.ValidationError) as error:
        raise ConfigError(path, _first_line(error)) from error


def _read_settings(root: Path) -> Settings:
    prefix: tuple[str, ...] = ()
    path = root / "stepwatch.toml"
    if not path.is_file():
        path, prefix = root / "pyproject.toml", ("tool", "stepwatch")
        if not path.is_file():
            return Settings()
    try:
        text = path.read_text(encoding="utf-8")
        table: Any = tomllib.loads(text)
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(path, _first_line(error)) from error
    except tomllib.TOMLDecodeError as error:
        raise _syntax_error(path, error) from error
    for key in prefix:
        table = table.get(key, {})
    faults = list(_faults(table, Settings, ()))
    if faults:
        lines = [_fault_line(path, text, (*prefix, *keys), reason) for keys, reason in faults]
        raise ConfigError.of_faults(path, lines)
    return msgspec.convert(table, Settings)


def _syntax_error(path: Path, error: tomllib.TOMLDecodeError) -> ConfigError:
    message = str(error)
    found = re.search(r" \(at line (\d+), column \d+\)$", message)
    if found is None:
        return ConfigError(path, message)
    return ConfigError(path, message[: found.start()], line=int(found[1]))


def _faults(value: Any, kind: Any, keys: tuple[str, ...]) -> list[tuple[tuple[str, ...], str]]:
    """Every fault below `keys`, as (path of keys, reason)."""
    if not (isinstance(kind, type) and issubclass(kind, msgspec.Struct)):
        return _leaf_faults(value, kind, keys)
    if not isinstance(value, dict):
        return [(keys, "must be a table")]
    hints = get_type_hints(kind, include_extras=True)
    faults = []
    for key, inner in value.items():
        if key not in hints or (kind is Track and key == "package"):
            faults.append(((*keys, key), _unknown_key(key, hints)))
        elif hints[key] == dict[str, Track] and isinstance(inner, dict):
            for name, track in inner.items():
                faults += _faults(track, Track, (*keys, key, name))
        else:
            faults += _faults(inner, hints[key], (*keys, key))
    return faults


def _leaf_faults(value: Any, kind: Any, keys: tuple[str, ...]) -> list[tuple[tuple[str, ...], str]]:
    try:
        msgspec.convert(value, kind)
    except msgspec.ValidationError as error:
        return [(keys, f"{_first_line(error).split(' - at ')[0]} (found {value!r})")]
    return []


def _unknown_key(key: str, known: dict[str, Any]) -> str:
    close = difflib.get_close_matches(key, known, n=1)
    return (
        f"unknown key; did you mean {close[0]}?"
        if close
        else f"unknown key; known: {', '.join(sorted(known))}"
    )


def _fault_line(path: Path, text: str, keys: tuple[str, ...], reason: str) -> str:
    line = find_line(text, keys)
    return f"{path}:{line}: {'.'.join(keys)}: {reason}" if line else f"{path}: {'.'.join(keys)}: {reason}"


def find_line(text: str, keys: tuple[str, ...]) -> int | None:
    """The 1-based line of TOML `text` where the key path `keys` is set, or of the nearest table above it."""
    table: tuple[str, ...] = ()
    nearest: int | None = None
    for number, line in enumerate(text.splitlines(), start=1):
        header = re.match(r"\s*\[+\s*([^\]]+?)\s*\]", line)
        if header:
            table = _split_key(header[1])
            if table == keys:
                return number
            if table and keys[: len(table)] == table:
                nearest = number
            continue
        assignment = re.match(r"\s*([\w.\"'-]+)\s*=", line)
        if assignment:
            path = (*table, *_split_key(assignment[1]))
            if path == keys:
                return number
            if keys[: len(path)] == path:
                nearest = number
    return nearest


def _split_key(dotted: str) -> tuple[str, ...]:
    return tuple(part.strip().strip("\"'") for part in dotted.split("."))


def _merge_tracks(configured: dict[str, Track]) -> tuple[Track, ...]:
    """The built-in tracks, replaced or extended by the configured ones; order is lane order."""
    merged = {track.package: track for track in DEFAULT_TRACKS}
    for package, track in configured.items():
        merged[package] = msgspec.structs.replace(track, package=package)
    return tuple(merged.values())


def _parse_size(text: str) -> int:
    number, unit = re.fullmatch(r"([\d.]+) ?(\w+)", text).groups()  # type: ignore[union-attr]  # checked by Meta
    return int(float(number) * _SIZE_UNITS[unit])


def _resolve_link(root: Path, link: str) -> str:
    return link if "://" in link else str(root / link)


def _first_line(error: Exception) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0]
