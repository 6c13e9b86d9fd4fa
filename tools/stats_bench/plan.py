"""What a run of the bench is made of: pieces of work, goals, sections of the page."""

from __future__ import annotations

import zlib
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

Value = Any
"""What JSON can hold."""
Settings = dict[str, float]


def rng(seed: int, *words: str | float) -> np.random.Generator:
    """A generator for one purpose: the same words give the same numbers, other words independent ones."""
    return np.random.default_rng([seed, *(zlib.crc32(str(word).encode()) for word in words)])


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """How much to measure, and from which seed."""

    seed: int
    quick: bool
    tcpd: Path | None = None
    tuned: dict[str, Settings] = field(default_factory=dict)
    """Chosen settings of each tuned peer; empty before they are chosen."""

    def pick(self, full: int, quick: int) -> int:
        """A repetition count."""
        return quick if self.quick else full


@dataclass(frozen=True, slots=True, kw_only=True)
class Piece:
    """One independent computation: `function(**arguments)` gives a value that JSON can hold."""

    key: str
    """Unique in its table; the results are filed under it."""
    subject: str
    """What the value depends on besides the bench itself: a peer, or a part of stepwatch (`store.PARTS`)."""
    function: Callable[..., Value]
    arguments: dict[str, Any]
    alone: bool = False
    """Measures time: nothing else may run beside it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Goal:
    """One line of the table of goals."""

    what: str
    goal: str
    measured: str
    interval: str
    holds: bool | None
    """None: not measured in this run."""
    short: str = ""
    """By how much it fails."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """One table of the page."""

    text: str
    """Markdown without the heading."""
    goals: list[Goal] = field(default_factory=list)


class Table(Protocol):
    """A module of `stats_bench.tables`."""

    NAME: str
    TITLE: str

    def pieces(self, plan: Plan) -> list[Piece]:
        """The work."""

    def section(self, plan: Plan, values: dict[str, Value]) -> Section:
        """The page's part, from the value of every piece."""


def grid(header: list[str], rows: list[list[str]]) -> str:
    """A Markdown table."""
    lines = ["|" + "|".join(header) + "|", "|" + "---|" * len(header)]
    return "\n".join([*lines, *("|" + "|".join(row) + "|" for row in rows)])


def at_most(what: str, limit: float, value: float, interval: tuple[float, float], form: str) -> Goal:
    """A goal with an upper limit; `form` is a format specification such as ".2f" or ".1%"."""
    return Goal(
        what=what,
        goal=f"<= {limit:{form}}",
        measured=f"{value:{form}}",
        interval=between(interval, form),
        holds=bool(value <= limit),
        short="" if value <= limit else f"{value - limit:{form}} too many",
    )


def at_least(what: str, limit: float, value: float, interval: tuple[float, float], form: str) -> Goal:
    """A goal with a lower limit."""
    return Goal(
        what=what,
        goal=f">= {limit:{form}}",
        measured=f"{value:{form}}",
        interval=between(interval, form),
        holds=bool(value >= limit),
        short="" if value >= limit else f"{limit - value:{form}} too few",
    )


def between(interval: tuple[float, float], form: str) -> str:
    """An interval in words."""
    low, high = interval
    return f"{low:{form}} to {high:{form}}"
