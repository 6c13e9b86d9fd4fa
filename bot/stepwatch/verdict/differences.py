"""What else differed between the two sides: Python, packages, device, settings."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import msgspec

from stepwatch.verdict.rows import CHANGES_LIMIT, NAME_LIMIT, TEXT_LIMIT, Change, Differences, shorten

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from stepwatch.model import SessionRecord

_CONSEQUENCES = frozenset({"affinity", "block_steps", "cache_dir", "core", "turns", "timed_samples"})
"""Settings that say where a session ran, or follow from how fast it ran: no candidates for a cause."""


def differences(baseline: Sequence[SessionRecord], contender: Sequence[SessionRecord]) -> Differences:
    """Compare the environments of the two sides over all their sessions."""
    return Differences(
        python=next(iter(_changes(_pythons(baseline), _pythons(contender))), None),
        packages=_changes(_packages(baseline), _packages(contender)),
        settings=_changes([_settings(r) for r in baseline], [_settings(r) for r in contender]),
    )


def planted(records: Iterable[SessionRecord]) -> str | None:
    """The slowdown planted into any of these sessions (a self-test), as `mlp 1.1x`; None: none was."""
    for record in records:
        factor = record.settings.get("planted_slowdown", 1.0)
        if factor != 1.0:
            return f"{record.workload} {_text(factor)}x"
    return None


def flatten(values: Mapping[str, Any], prefix: str = "") -> dict[str, str]:
    """Nested settings as `outer.inner` -> text."""
    flat: dict[str, str] = {}
    for key, value in values.items():
        if isinstance(value, dict):
            flat |= flatten(value, f"{prefix}{key}.")
        elif key not in _CONSEQUENCES:
            flat[f"{prefix}{key}"] = _text(value)
    return flat


def _pythons(records: Iterable[SessionRecord]) -> list[dict[str, str]]:
    return [{"python": r.versions["python"]} for r in records if "python" in r.versions]


def _packages(records: Iterable[SessionRecord]) -> list[dict[str, str]]:
    """Distributions by normalised name: the same one calls itself `ml_dtypes` here and `ml-dtypes` there."""
    return [
        {re.sub(r"[-_.]+", "-", name).lower(): version for name, version in record.packages.items()}
        for record in records
    ]


def _settings(record: SessionRecord) -> dict[str, str]:
    return {
        **flatten(record.settings),
        **{f"device.{name}": text for name, text in flatten(record.device).items()},
    }


def _changes(baseline: Sequence[Mapping[str, str]], contender: Sequence[Mapping[str, str]]) -> list[Change]:
    """Names whose values on the two sides have nothing in common.

    A value that varies inside one side (the first session compiled cold, the others warm) is a difference
    only if the other side never had it. A side without sessions differs in nothing.
    """
    if not baseline or not contender:
        return []
    names = sorted({name for record in (*baseline, *contender) for name in record}, key=str.lower)
    found = []
    for name in names:
        left, right = ({record.get(name) for record in side} for side in (baseline, contender))
        if left.isdisjoint(right):
            found.append(
                Change(name=shorten(name, NAME_LIMIT), baseline=_joined(left), contender=_joined(right))
            )
    return found[:CHANGES_LIMIT]


def _joined(values: set[str | None]) -> str | None:
    present = sorted(value for value in values if value is not None)
    return shorten(", ".join(present)) if present else None


def _text(value: object) -> str:
    text = value if isinstance(value, str) else msgspec.json.encode(value, order="deterministic").decode()
    return shorten(text, TEXT_LIMIT)
