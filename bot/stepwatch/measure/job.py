"""What a campaign is told to do, and how it says it ended."""

from __future__ import annotations

import secrets
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from stepwatch.measure.asv_results import ResultFiles, describe_machine
from stepwatch.measure.sidecar import campaign_name
from stepwatch.model import SIDECAR_SCHEMA, CampaignHeader

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from stepwatch.measure.campaign import Comparison
    from stepwatch.measure.records import MachineRecords
    from stepwatch.measure.subject import Subject
    from stepwatch.measure.suite import Group, Suite


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """A campaign to run or to go on with."""

    comparison: Comparison
    subjects: Mapping[str, Subject]
    """By name, every one of the comparison."""
    suite: Suite
    """The one that `benchmarks.json` describes."""
    suite_is_the_trackers: bool = True
    """Else it is a commit's: then `benchmarks.json` only gets what it does not describe yet."""
    sessions: int
    """Per group and side."""
    accelerator: str
    size: str
    machine: str
    seed: int | None = None
    """None: the one on disk, else a fresh one."""
    plant: str = ""
    turns: bool = True
    """Whether the two sessions of a pair take turns; else one runs after the other."""
    campaign: str | None = None
    """Name of its sidecar; None: what it compares."""
    results: Path
    history_repo: Path
    asv_python: str
    """What `asv.conf.json` names as Python: a constant, since a lock decides."""

    @property
    def groups(self) -> dict[str, Group]:
        """The selected groups of every side, the contender's where both have one of that name."""
        sides = [*self.subjects.values(), self.subjects[self.comparison.contender]]
        return {name: group for subject in sides for name, group in subject.groups.items()}

    def groups_by_release(self) -> dict[str, list[str]]:
        """Which selected groups run on which release: a track's own ones."""
        return {name: list(subject.groups) for name, subject in self.subjects.items()}

    def releases(self) -> list[str]:
        """The subjects that are releases: asv's rows belong to them."""
        return [name for name, subject in self.subjects.items() if subject.revision is None]

    def header(self) -> CampaignHeader:
        """The first line of a new sidecar of this campaign."""
        baseline, contender = self.comparison.baseline, self.comparison.contender
        return CampaignHeader(
            schema=SIDECAR_SCHEMA,
            campaign=self.campaign or campaign_name(baseline, contender, self.plant),
            baseline=baseline,
            contender=contender,
            seed=secrets.randbelow(2**31) if self.seed is None else self.seed,
            created_at=time.time(),
            machine=self.machine,
            accelerator=self.accelerator,
            size=self.size,
            plant=self.plant,
        )

    def result_files(self) -> ResultFiles:
        """The asv files of the machine."""
        return ResultFiles(results=self.results, machine=self.machine, python=self.asv_python)

    def check_machine(self, records: MachineRecords) -> None:
        """See, before anything is built, that the machine of this name measures what is asked for.

        Raises:
            UsageError: its accelerator or size is another.
            MalformedFile: its `machine.json` describes another machine.
        """
        asked = {"accelerator": self.accelerator, "size": self.size}
        describe_machine(self.results, self.machine, asked, earlier=records.machine_class)


@dataclass(slots=True, kw_only=True)
class Summary:
    """How a run of a campaign ended."""

    sidecar: Path
    planned: int
    """Sessions of the whole campaign."""
    finished_before: int
    finished: int = 0
    failed: int = 0
    """Places that stayed empty."""
    skipped: int = 0
    """Planned sessions that were not run because they, or their partner, fail too often."""
    broken_environments: dict[str, str] = field(default_factory=dict)
    interrupted: bool = False
