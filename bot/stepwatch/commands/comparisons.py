"""From two names to a comparison that can run: what both sides have, and what only one has."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import msgspec

from stepwatch.commands.campaigns import check_machine, check_plant, pythons
from stepwatch.commands.sides import Side, resolve_side
from stepwatch.errors import DataError, UsageError
from stepwatch.measure.accelerators import accelerator_fault
from stepwatch.measure.asv_results import asv_settings
from stepwatch.measure.campaign import Comparison, default_size
from stepwatch.measure.commits import has_uncommitted_changes
from stepwatch.measure.job import Job
from stepwatch.measure.subject import Subject, runnable_groups
from stepwatch.measure.suite import discover, matching_groups
from stepwatch.policy import judged_metrics
from stepwatch.releases.history_repo import ensure_history
from stepwatch.releases.table import load_tables

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence
    from pathlib import Path

    from stepwatch.config import Config
    from stepwatch.measure.environments import EnvironmentStore
    from stepwatch.measure.subject import Installation
    from stepwatch.measure.suite import Group, Suite
    from stepwatch.policy import Policy

_NAMED = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparisonRequest:
    """What a user asks `compare` for; None means the configured or usual value."""

    baseline: str
    contender: str
    patterns: tuple[str, ...] = ()
    accelerator: str | None = None
    size: str | None = None
    machine: str | None = None
    seed: int | None = None
    plant: str = ""
    turns: bool | None = None
    results: Path | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PreparedComparison:
    """A comparison that can run."""

    job: Job
    notes: tuple[str, ...]
    """What the report should say of it: what the sides are, what is not compared."""


def prepare_comparison(
    config: Config, request: ComparisonRequest, policy: Policy, store: EnvironmentStore
) -> PreparedComparison:
    """Resolve both names, look into both suites, and keep the benchmarks that both have.

    Raises:
        UsageError: a name that names nothing, nothing in common, an unknown benchmark, no name for a machine.
        DataError: a commit without suite or lock, or no GPU where one is asked for.
        MalformedFile: a lock, a table or a suite cannot be read.
    """
    accelerator = request.accelerator or config.accelerator
    size = request.size or default_size(accelerator)
    machine = check_machine(request.machine or config.machine, accelerator, size)
    fault = accelerator_fault(accelerator)
    if fault is not None:
        raise DataError(fault)
    sides = [resolve_side(text, config, accelerator) for text in (request.baseline, request.contender)]
    baseline, contender = sides
    tracks = baseline.installations.keys() & contender.installations.keys()
    if not tracks:
        raise UsageError(
            f"{baseline.name} runs benchmarks of {_listed(sorted(baseline.installations))}, {contender.name} "
            f"those of {_listed(sorted(contender.installations))}: nothing runs on both (`stepwatch measure "
            "--beside` measures two libraries side by side)"
        )
    if any(side.revision is None for side in sides):
        ensure_history(config.history_repo, load_tables(config.releases, [t.package for t in config.tracks]))
    suites = _discover(sides, store, accelerator)
    found = [runnable_groups(suites[side.suite], _shared(side, tracks)) for side in sides]
    chosen, notes = _in_common(found, request.patterns, policy, accelerator)
    check_plant(request.plant, chosen)
    subjects = [
        Subject(
            name=side.name,
            suite=suites[side.suite],
            groups={name: groups[name] for name in chosen},
            installations=_shared(side, tracks),
            project_folder=side.project_folder,
            revision=side.revision,
        )
        for side, groups in zip(sides, found, strict=True)
    ]
    job = Job(
        comparison=Comparison(baseline=baseline.name, contender=contender.name),
        subjects={subject.name: subject for subject in subjects},
        suite=subjects[1].suite if all(side.is_commit for side in sides) else suites[config.suite],
        suite_is_the_trackers=not all(side.is_commit for side in sides),
        sessions=0,
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
    return PreparedComparison(job=job, notes=(*_about(sides, config), *notes))


def _discover(sides: Sequence[Side], store: EnvironmentStore, accelerator: str) -> dict[Path, Suite]:
    """Every suite of the sides, each looked into once."""
    return {
        side.suite: discover(side.suite, pythons(store, accelerator, list(side.installations.values())))
        for side in {side.suite: side for side in sides}.values()
    }


def _shared(side: Side, tracks: Collection[str]) -> dict[str, Installation]:
    return {track: place for track, place in side.installations.items() if track in tracks}


def _in_common(
    found: Sequence[Mapping[str, Group]], patterns: Sequence[str], policy: Policy, accelerator: str
) -> tuple[dict[str, Group], list[str]]:
    """The selected benchmarks that both sides have and that are judged, and notes on the others."""
    old, new = found
    wanted = matching_groups([*old.values(), *new.values()], patterns)
    metrics = set(judged_metrics(policy, accelerator))
    notes = []
    for here, there, where in ((old, new, "baseline"), (new, old, "contender")):
        alone = sorted((here.keys() - there.keys()) & wanted)
        if alone:
            notes.append(f"only in the suite of the {where}, so not compared: {_listed(alone)}")
    common = {name: group for name, group in new.items() if name in old and name in wanted}
    chosen = {
        name: group
        for name, group in common.items()
        if metrics & {benchmark.metric for benchmark in group.benchmarks}
    }
    if left_out := sorted(common.keys() - chosen.keys()):
        notes.append(f"without a judged metric ({', '.join(sorted(metrics))}): {_listed(left_out)}")
    if not chosen:
        raise UsageError(
            f"the two sides have nothing in common to judge ({'; '.join(notes) or 'no benchmark'})"
        )
    return chosen, notes


def _about(sides: Sequence[Side], config: Config) -> list[str]:
    """What the names mean, where they do not say it themselves."""
    words = [
        f"the {word} {side.name} is {side.asked}"
        for word, side in zip(("baseline", "contender"), sides, strict=True)
        if side.revision is not None and not side.revision.startswith(side.asked)
    ]
    if sides[0].name == sides[1].name:
        words.append(f"{sides[0].name} against itself (A/A): every difference is noise")
    elif sides[0].is_commit and sides[1].is_commit and sides[0].suite == sides[1].suite:
        words.append("both commits hold the same files here, so they are measured as one (A/A)")
    tracks = [set(side.installations) for side in sides]
    if unshared := sorted(tracks[0] ^ tracks[1]):
        words.append(f"only one side has an environment for {', '.join(unshared)}: not compared")
    if any(side.is_commit and side.asked == "HEAD" for side in sides) and has_uncommitted_changes(
        config.root
    ):
        words.append("uncommitted changes are not part of HEAD and were not measured")
    return words


def _listed(names: Sequence[str]) -> str:
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    return ", ".join(names[:_NAMED]) + more


def with_margins(
    policy: Policy, *, floor: float | None, min_effect: float | None, metrics: tuple[str, ...]
) -> Policy:
    """The policy with what the command line says instead.

    Raises:
        UsageError: the two margins contradict each other.
    """
    changed = {"floor": floor, "min_effect": min_effect, "metrics": metrics or None}
    asked = {key: value for key, value in changed.items() if value is not None}
    found = msgspec.structs.replace(policy, **asked)
    if found.contradiction:
        raise UsageError(f"--floor {found.contradiction}")
    return found
