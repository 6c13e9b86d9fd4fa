"""Judgement: the sessions of two releases in, one verdict per benchmark out. Pure; no files, no clock."""

from stepwatch.verdict.confirmation import confirm, judge_confirmed
from stepwatch.verdict.evidence import CampaignFailure, CampaignSession, Evidence, MetricTraits
from stepwatch.verdict.judge import judge
from stepwatch.verdict.rows import (
    BlameRange,
    Change,
    Confirmation,
    Differences,
    Interval,
    SideSummary,
    Twin,
    TwinVariant,
    Verdict,
)
from stepwatch.verdict.twins import compare_twins

__all__ = [
    "BlameRange",
    "CampaignFailure",
    "CampaignSession",
    "Change",
    "Confirmation",
    "Differences",
    "Evidence",
    "Interval",
    "MetricTraits",
    "SideSummary",
    "Twin",
    "TwinVariant",
    "Verdict",
    "compare_twins",
    "confirm",
    "judge",
    "judge_confirmed",
]
