"""What a version and a day must look like before they get into a table, which is never rewritten."""

from __future__ import annotations

import datetime as dt
import re

from packaging.version import InvalidVersion, Version

_VERSION_CHARACTERS = 40
_DAY = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_YEARS = range(1991, 2100)
"""Python's first year, and a bound that no clock has a say in: tables must read alike everywhere."""


def release_version(text: str) -> Version:
    """The version of a final release, written the plain way: no epoch, no local part, in normal form.

    Raises:
        ValueError: it is not; says why.
    """
    if len(text) > _VERSION_CHARACTERS:
        raise ValueError(f"a version of {len(text)} characters is no release's")
    try:
        version = Version(text)
    except InvalidVersion as error:
        raise ValueError(f"Invalid version: {text!r}") from error
    if str(version) != text or version.epoch or version.local or version.is_prerelease:
        raise ValueError(f"{text!r} is not the plain name of a final release")
    return version


def release_day(text: str) -> str:
    """The day of a date or moment in ISO 8601 (`2024-07-30`, `2024-07-30T10:00:00Z`).

    Raises:
        ValueError: there is no such day, or no release can be that old or young.
    """
    try:
        moment = dt.datetime.fromisoformat(text) if _DAY.fullmatch(text[:10]) else None
    except ValueError:
        moment = None
    if moment is None or moment.year not in _YEARS:
        raise ValueError(f"{text[:40]!r} is no day on which a release can have come out")
    return text[:10]
