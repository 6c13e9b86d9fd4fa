"""What `measure` and `demo` share: from what was asked for to a campaign that can run."""

from __future__ import annotations

import platform
import re
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from stepwatch.config import MACHINE_NAME
from stepwatch.errors import DataError, EnvironmentFailed, UsageError
from stepwatch.measure.accelerators import accelerator_fault
from stepwatch.measure.asv_results import asv_settings
from stepwatch.measure.campaign import SIZES, Comparison, default_size, workload_of
from stepwatch.measure.job import Job
from stepwatch.measure.subject import Installation, Subject
from stepwatch.measure.suite import discover
from stepwatch.releases.history_repo import ensure_history
from stepwatch.releases.locks import lock_path
from stepwatch.releases.names import resolve_range, resolve_release
from stepwatch.releases.table import load_tables

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from stepwatch.config import Config
    from stepwatch.measure.environments import EnvironmentStore
    from stepwatch.measure.suite import Group, Suite
    from stepwatch.model import Release

_PLANT = re.compile(r"[A-Za-z_]\w*=1\.\d+", re.ASCII)


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """What a user asks `measure` for; None means the configured or usual value."""

    spec: str | None = None
    a_a: str | None = None
    beside: tuple[str, ...] = ()
    beside_sessions: int | None = None
    sessions: int = 8
    patterns: tuple[str, ...] = ()
    accelerator: str | None = None
    size: str | None = None
    machine: str | None = None
    seed: int | None = None
    plant: str = ""
    turns: bool | None = None
    """None: pairs take turns on a CPU. On a GPU both models would have to fit into its memory at once."""
    results: Path | None = None


def prepare(config: Config, request: Request, store: EnvironmentStore, *, build: bool = True) -> Job:
    """Resolve names, bring the history repository up to date, discover the suite, select benchmarks.

    Args:
        config: the tracker's configuration.
        request: what is asked for.
        store: environments, for a suite that stepwatch's own Python cannot import.
        build: whether an environment may be built for that.

    Raises:
        UsageError: no or two comparisons, an unknown release, benchmark or size, a range across tracks, no
            name for a machine.
        DataError: a GPU is asked for and there is none; nothing was built.
        MalformedFile: the suite cannot be imported, or a table or lock cannot be read.
    """
    tables = load_tables(config.releases, [track.package for track in config.tracks])
    comparison = resolve_comparison(request, tables)
    releases = {name: resolve_release(name, tables) for name in comparison.releases}
    accelerator = request.accelerator or config.accelerator
    size = request.size or default_size(accelerator)
    machine = check_machine(request.machine or config.machine, accelerator, size)
    fault = accelerator_fault(accelerator)
    if build and fault is not None:
        raise DataError(fault)
    ensure_history(config.history_repo, tables)
    places = [
        Installation(release=release, lock_path=lock_path(config.locks, accelerator, release))
        for release in releases.values()
    ]
    suite = discover(config.suite, pythons(store, accelerator, places, build=build))
    groups = suite.select(request.patterns, {release.package for release in releases.values()})
    check_plant(request.plant, groups)
    subjects = {place.release.name: _subject(config, place, suite, groups) for place in places}
    return Job(
        comparison=comparison,
        subjects=subjects,
        suite=suite,
        sessions=request.sessions,
        accelerator=accelerator,
        size=size,
        machine=machine,
        seed=request.seed,
        plant=request.plant,
        turns=accelerator == "cpu" if request.turns is None else request.turns,
        results=request.results or config.results,
        history_repo=config.history_repo,
        asv_python=str(asv_settings(config.asv_config).pythons[0]),
    )


def _subject(config: Config, place: Installation, suite: Suite, groups: Mapping[str, Group]) -> Subject:
    """A release with the benchmarks of its own track."""
    package = place.release.package
    return Subject(
        name=place.release.name,
        suite=suite,
        groups={name: group for name, group in groups.items() if group.track == package},
        installations={package: place},
        project_folder=config.root,
    )


def resolve_comparison(request: Request, tables: Mapping[str, Sequence[Release]]) -> Comparison:
    """Which releases are compared.

    Raises:
        UsageError: neither or both of SPEC and `--a-a`; see `stepwatch.releases.names` for the others.
    """
    if (request.spec is None) == (request.a_a is None):
        raise UsageError("say what to measure: A..B, one release, or --a-a RELEASE")
    beside = tuple(dict.fromkeys(resolve_release(name, tables).name for name in request.beside))
    if request.a_a is not None:
        name = resolve_release(request.a_a, tables).name
        sides: tuple[str | None, str] = (name, name)
    elif request.spec is not None and ".." in request.spec:
        ends = resolve_range(request.spec, tables)
        sides = (ends.after.name, ends.through.name)
    else:
        sides = (None, resolve_release(request.spec or "", tables).name)
    twice = next((name for name in beside if name in sides), None)
    if twice is not None:
        raise UsageError(f"{twice} is measured already: leave out --beside {twice}")
    return Comparison(
        baseline=sides[0], contender=sides[1], beside=beside, beside_rounds=request.beside_sessions
    )


def default_machine(accelerator: str, size: str) -> str:
    """Host name and accelerator, and the size where it is not the usual one: together a machine class."""
    host = re.sub(r"[^A-Za-z0-9._-]", "-", platform.node()).lstrip("._-")[:60] or "machine"
    name = f"{host}-{accelerator}"
    return name if size == default_size(accelerator) else f"{name}-{size}"


def check_machine(asked: str | None, accelerator: str, size: str) -> str:
    """The name of this machine's series: the one asked for, else the default.

    Raises:
        UsageError: it cannot name a folder, or there is no such size.
    """
    machine = asked or default_machine(accelerator, size)
    if not re.fullmatch(MACHINE_NAME, machine):
        raise UsageError(
            f"--machine {machine!r}: a name begins with a letter or digit and has letters, digits, '.', '_' "
            "and '-' (it names a folder)"
        )
    if size not in SIZES:
        raise UsageError(f"--size {size!r}: known are {' and '.join(SIZES)}")
    return machine


def check_plant(plant: str, groups: Mapping[str, Group]) -> None:
    """See that a slowdown can be planted.

    Raises:
        UsageError: not written as WORKLOAD=FACTOR, or nothing selected measures that workload.
    """
    if not plant:
        return
    if not _PLANT.fullmatch(plant):
        raise UsageError(f"--plant {plant}: write WORKLOAD=FACTOR with 1 <= factor < 2, like mlp=1.10")
    workload = plant.partition("=")[0]
    known = sorted({workload_of(name) for name in groups})
    if workload not in known:
        hint = f"they measure {', '.join(known)}"
        raise UsageError(f"--plant {plant}: no selected benchmark measures {workload!r}; {hint}")


def pythons(
    store: EnvironmentStore, accelerator: str, places: Sequence[Installation], *, build: bool = True
) -> Iterator[Path]:
    """Interpreters that may import the suite: our own, then those of `places`, built if `build`."""
    yield Path(sys.executable)
    for place in places:
        release, path, own = place.release, place.lock_path, place.own
        if build or store.is_built(release, accelerator, path, own=own):
            try:
                environment = store.ensure(release, accelerator, path, own=own)
            except EnvironmentFailed:
                continue  # recorded by the store; the campaign meets it again and says so
            try:
                yield environment.python
            finally:
                environment.close()
