"""What a campaign is told to do, and how it says it ended."""

from __future__ import annotations

import secrets
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from stepwatch.measure.asv_results import ResultFiles, describe_machine
from stepwatch.measure.sidecar import campaign_name
from stepwatch.model import SIDECAR_SCHEMA, CampaignHeader
from stepwatch.releases.locks import lock_path

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from stepwatch.measure.campaign import Comparison
    from stepwatch.measure.records import MachineRecords
    from stepwatch.measure.suite import Group, Suite
    from stepwatch.model import Release


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """A campaign to run or to go on with."""

    comparison: Comparison
    releases: Mapping[str, Release]
    suite: Suite
    groups: Mapping[str, Group]
    """The selected ones."""
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
    results: Path
    history_repo: Path
    locks: Path
    project_folder: Path
    asv_python: str
    """What `asv.conf.json` names as Python: a constant, since a lock decides."""

    def groups_by_release(self) -> dict[str, list[str]]:
        """Which selected groups run on which release: a track's own ones."""
        return {
            name: [group.name for group in self.groups.values() if group.track == release.package]
            for name, release in self.releases.items()
        }

    def lock_path(self, release: str) -> Path:
        """Where the lock of a release of this campaign lies."""
        return lock_path(self.locks, self.accelerator, self.releases[release])

    def header(self) -> CampaignHeader:
        """The first line of a new sidecar of this campaign."""
        baseline, contender = self.comparison.baseline, self.comparison.contender
        return CampaignHeader(
            schema=SIDECAR_SCHEMA,
            campaign=campaign_name(baseline, contender, self.plant),
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
