"""Which recorded sessions are evidence: each counts once, and none that contradicts itself.

Files get copied, merged and edited. A session that stands in two files, or whose record says something else
than its place in the campaign, is left out with a note: doubts cost data, never a wrong verdict.
"""

from __future__ import annotations

import dataclasses
from collections import Counter
from typing import TYPE_CHECKING

from stepwatch.model import Side

if TYPE_CHECKING:
    from collections.abc import Hashable, Sequence

    from stepwatch.history.sidecar import Sidecar
    from stepwatch.model import CampaignHeader, RecordedSession


def credible(sidecars: Sequence[Sidecar]) -> tuple[Sidecar, ...]:
    """The sidecars with their evidence alone, and notes on what was left out of each.

    Session ids are unique over all files of a machine. Of copies the one counts whose file has the name of
    its campaign, else the first by file name.
    """
    seen: set[Hashable] = set()
    originals_first = sorted(sidecars, key=lambda one: (one.path.stem != one.header.campaign, one.path.name))
    found = {sidecar.path: _credible(sidecar, seen) for sidecar in originals_first}
    return tuple(found[sidecar.path] for sidecar in sidecars)


def _credible(sidecar: Sidecar, seen: set[Hashable]) -> Sidecar:
    left_out: Counter[str] = Counter()
    sessions = []
    rounds: set[Hashable] = set()
    for session in sidecar.sessions:
        place, benchmark = session.place, session.record.benchmark
        doubt = contradiction(sidecar.header, session)
        in_round = (place.pair, place.side, place.release, place.stage, benchmark)
        if place.session in seen:
            doubt = "recorded twice"
        elif doubt is None and in_round in rounds:
            doubt = "a second session of its round"
        seen.add(place.session)
        if doubt:
            left_out[doubt] += 1
        else:
            rounds.add(in_round)
            sessions.append(session)
    failures = [failure for failure in dict.fromkeys(sidecar.failures) if failure not in seen]
    seen.update(failures)
    notes = [f"{sidecar.path.name}: {_count(count)} left out: {doubt}" for doubt, count in left_out.items()]
    return dataclasses.replace(
        sidecar, sessions=tuple(sessions), failures=tuple(failures), notes=(*sidecar.notes, *notes)
    )


def contradiction(header: CampaignHeader, session: RecordedSession) -> str | None:
    """Why a record cannot be what its place and its campaign say; None: nothing speaks against it."""
    place, record = session.place, session.record
    if record.accelerator != header.accelerator:
        return f"ran on {record.accelerator}, not on {header.accelerator} as the campaign says"
    if record.accelerator != "cpu" and record.device.get("platform") == "cpu":
        return f"ran on the CPU, not on {record.accelerator}"
    declared = {Side.BASELINE: header.baseline, Side.CONTENDER: header.contender}.get(place.side)
    if declared and place.release != declared:
        return f"of {place.release}, where the campaign has {declared}"
    package, _, version = place.release.partition("/")
    recorded = record.versions.get(package)
    if recorded and _public(recorded) != _public(version):
        return f"{package} {recorded} was imported, not {version}"
    return None


def _public(version: str) -> str:
    """Without the local part: `2.13.0+cpu` is `2.13.0` as a release."""
    return version.partition("+")[0]


def _count(number: int) -> str:
    return f"{number} {'session' if number == 1 else 'sessions'}"
