"""`stepwatch.toml` (or `[tool.stepwatch]` in `pyproject.toml`): found, validated, resolved to paths.

Where things lie (results, site, history repository, environments, suite) is said once, in `asv.conf.json`;
`stepwatch.toml` holds only what asv has no word for. Every fault is reported with its line and key, all of
them at once, and an unknown key is a fault: a misspelt `min_efect` must not silently mean the default.
"""

from __future__ import annotations

import difflib
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, get_type_hints

import msgspec

from stepwatch.asv_settings import read_asv_settings
from stepwatch.config_text import (
    Fault,
    Line,
    fault_line,
    find_line,
    leaf_faults,
    parse_toml,
    read_text,
    show_key,
)
from stepwatch.errors import ConfigError
from stepwatch.policy import HistoryPolicy, Policy
from stepwatch.units import DURATION, parse_duration

if TYPE_CHECKING:
    from pathlib import Path

ACCELERATORS = ("cpu", "cuda12", "cuda13")
_GIB = 1024**3
_SIZE_UNITS = {"B": 1, "KiB": 1024, "MiB": 1024**2, "GiB": _GIB, "TiB": 1024**4}


MACHINE_NAME = r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}"
"""What may name a machine's series, a folder of the results."""
_PACKAGE_NAME = r"[A-Za-z0-9]([A-Za-z0-9._-]{0,98}[A-Za-z0-9])?"
_KINDS_OF_REFS = frozenset({"heads", "tags", "remotes", "notes", "stash"})
"""Not for tracks: `refs/<package>/` of the history repository would be git's own."""

PackageName = Annotated[str, msgspec.Meta(pattern=rf"^{_PACKAGE_NAME}\Z")]
Requirement = Annotated[str, msgspec.Meta(pattern=r"^[A-Za-z0-9][^\x00-\x1f\x7f]*\Z")]
Python = Annotated[str, msgspec.Meta(pattern=r"^3\.\d{1,3}\Z")]
FirstLock = Annotated[str, msgspec.Meta(pattern=r"^\d{1,9}(\.\d{1,9}){0,5}\Z")]


class Track(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One library whose releases are followed: a `[tracks.<package>]` table."""

    package: str = ""
    """Set from the table's name."""
    python: Annotated[tuple[Python, ...], msgspec.Meta(min_length=1)] = ("3.12", "3.11", "3.13")
    """Python versions to use, best first; the first one with a wheel for the release is taken."""
    companions: tuple[PackageName, ...] = ()
    """Packages released in step with it, pinned in its table (`jaxlib`)."""
    first_lock: FirstLock = "0"
    """Locks are resolved from this release on."""
    extra_packages: tuple[Requirement, ...] = ("numpy",)
    """Further requirements of every lock of this track."""


DEFAULT_TRACKS = (
    Track(package="jax", companions=("jaxlib",), first_lock="0.4.30"),
    # A CPU build of torch in a find-links folder is made for one Python: the most common one first.
    Track(package="torch", python=("3.11", "3.12", "3.13"), first_lock="2.9.0"),
)


class Index(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The `[index]` table: where releases are looked up."""

    url: Line | None = None
    """Root of a package index with the JSON simple API; none means the default of uv."""
    find_links: tuple[Line, ...] = ()
    """Folders or pages with wheels, tried before the index when an environment is built."""


class Environments(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The `[environments]` table: bounds of the cache of release environments."""

    keep: Annotated[int, msgspec.Meta(ge=2)] = 12
    """How many are kept; two are needed to compare."""
    max_size: Annotated[str, msgspec.Meta(pattern=r"^\d{1,9}(\.\d{1,9})? ?(B|KiB|MiB|GiB|TiB)\Z")] = "40 GiB"
    """How much disk they may take together."""


class Compare(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The `[compare]` table: what `stepwatch compare` needs to know beside two names."""

    lock: Line | None = None
    """Lock of a commit, a path from its `stepwatch.toml` (`{accelerator}` is filled in); none means the
    newest lock of each track."""
    budget: Annotated[str, msgspec.Meta(pattern=rf"^{DURATION}\Z")] = "20m"
    """How long a comparison may measure: `90s`, `20m`, `1h30m`."""


class Settings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The whole of `stepwatch.toml`."""

    machine: Annotated[str, msgspec.Meta(pattern=rf"^{MACHINE_NAME}\Z")] | None = None
    """Name of this machine's series; none means host name and accelerator."""
    accelerator: Annotated[str, msgspec.Meta(pattern=r"^(cpu|cuda12|cuda13)\Z")] = "cpu"
    """`cpu`, `cuda12` or `cuda13`: which locks are used, and which device a session must find."""
    index: Index = Index()
    environments: Environments = Environments()
    compare: Compare = Compare()
    policy: Policy = Policy()
    history: HistoryPolicy = HistoryPolicy()
    tracks: dict[str, Track] = {}


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
    compare_lock: str | None
    compare_budget_seconds: float

    def track(self, package: str) -> Track | None:
        """The track of a package, or None."""
        return next((track for track in self.tracks if track.package == package), None)


def load_config(start: Path) -> Config:
    """Find and read the configuration of the tracker that `start` lies in.

    Raises:
        ConfigError: no `asv.conf.json` in `start` or above it, a fault in one of the files, or no suite
            where `benchmark_dir` says.
    """
    root = _find_root(start)
    asv = read_asv_settings(root / "asv.conf.json")
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
        compare_lock=settings.compare.lock,
        compare_budget_seconds=parse_duration(settings.compare.budget),
    )


def _find_root(start: Path) -> Path:
    start = start.resolve()
    for folder in (start, *start.parents):
        if (folder / "asv.conf.json").is_file():
            return folder
    raise ConfigError(
        start, "no asv.conf.json here or in a folder above; run this inside a stepwatch checkout"
    )


def read_settings(path: Path) -> Settings:
    """A `stepwatch.toml` by itself, wherever it lies: for commands that need no tracker around it.

    Raises:
        ConfigError: it cannot be read, or has faults.
    """
    text = read_text(path)
    return _checked(path, text, parse_toml(path, text), ())


def _read_settings(root: Path) -> Settings:
    path = root / "stepwatch.toml"
    if path.exists():
        return read_settings(path)
    prefix = ("tool", "stepwatch")
    path = root / "pyproject.toml"
    if not path.exists():
        return Settings()
    text = read_text(path)
    table: Any = parse_toml(path, text)
    for depth, key in enumerate(prefix, start=1):
        table = table.get(key, {})
        if not isinstance(table, dict):
            keys = prefix[:depth]
            raise ConfigError(path, "must be a table", key=show_key(keys), line=find_line(text, keys))
    return _checked(path, text, table, prefix)


def _checked(path: Path, text: str, table: Any, prefix: tuple[str, ...]) -> Settings:
    """The settings in `table`, which stands under `prefix` in the file."""
    faults = _faults(table, Settings, ())
    settings = Settings() if faults else msgspec.convert(table, Settings)
    faults = faults or _contradictions(settings)
    if faults:
        lines = []
        for keys, reason in faults:
            whole = (*prefix, *keys)
            lines.append(fault_line(path, find_line(text, whole), whole, reason))
        raise ConfigError.of_faults(path, lines)
    return settings


def _contradictions(settings: Settings) -> list[Fault]:
    """Faults that no key has alone."""
    faults: list[Fault] = []
    if settings.policy.contradiction:
        faults.append((("policy", "floor"), settings.policy.contradiction))
    if not _parse_size(settings.environments.max_size):
        faults.append((("environments", "max_size"), "must be more than nothing"))
    try:
        parse_duration(settings.compare.budget)
    except ValueError as error:
        faults.append((("compare", "budget"), str(error)))
    odd = [name for name in settings.tracks if not _is_track_name(name)]
    return faults + [(("tracks", name), "is no name of a package") for name in odd]


def _is_track_name(name: str) -> bool:
    """Whether `name` can be a package, a file name, and a folder of git refs of its own."""
    if name in _KINDS_OF_REFS or ".." in name or name.endswith(".lock"):
        return False
    return re.fullmatch(_PACKAGE_NAME, name) is not None


def _faults(value: Any, kind: Any, keys: tuple[str, ...]) -> list[Fault]:
    """Every fault below `keys`."""
    if not (isinstance(kind, type) and issubclass(kind, msgspec.Struct)):
        return leaf_faults(value, kind, keys)
    if not isinstance(value, dict):
        return [(keys, "must be a table")]
    hints = get_type_hints(kind, include_extras=True)
    if kind is Track:
        del hints["package"]
    faults: list[Fault] = []
    for key, inner in value.items():
        if kind is Track and key == "package":
            faults.append(((*keys, key), "unknown key; the name of the table is the package"))
        elif key not in hints:
            faults.append(((*keys, key), _unknown_key(key, hints)))
        elif hints[key] == dict[str, Track] and isinstance(inner, dict):
            for name, track in inner.items():
                faults += _faults(track, Track, (*keys, key, name))
        else:
            faults += _faults(inner, hints[key], (*keys, key))
    return faults


def _unknown_key(key: str, known: dict[str, Any]) -> str:
    close = difflib.get_close_matches(key, known, n=1)
    return (
        f"unknown key; did you mean {close[0]}?"
        if close
        else f"unknown key; known: {', '.join(sorted(known))}"
    )


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
