"""Builders of sessions, evidence and reports for tests: realistic where it matters, tiny everywhere else."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np

from stepwatch.model import (
    CampaignHeader,
    MetricSamples,
    Place,
    RecordedFailure,
    RecordedSession,
    SessionRecord,
    Side,
)
from stepwatch.policy import Policy
from stepwatch.report import CampaignInfo, Provenance, Report, build_report
from stepwatch.stats.calibration import Detectable, FalseAlarms
from stepwatch.stats.noise import Noise
from stepwatch.verdict import CampaignFailure, CampaignSession, Evidence
from stepwatch.verdict.calibration import Calibration, CalibrationRecord, Identity, Margins

UNITS = {"temp_bytes": "bytes", "peak_device_bytes": "bytes", "recompiles": "count", "loss": "1"}
OLD, NEW, TORCH = "jax/0.4.31", "jax/0.4.33", "torch/2.13.0"
CAMPAIGN = "jax-0.4.31..jax-0.4.33"
MLP = "mlp.bench.JaxJit"
_NUMBERS = itertools.count()


def record(benchmark: str = MLP, *, variant: str = "jax-jit", **changes: Any) -> SessionRecord:
    """A session record; `metrics` may be plain numbers or lists of samples."""
    metrics = {
        name: MetricSamples(
            samples=list(value) if isinstance(value, list) else [value], unit=UNITS.get(name, "seconds")
        )
        for name, value in changes.pop("metrics", {"step_cpu": 1.0}).items()
    }
    fields: dict[str, Any] = {
        "schema": 1,
        "benchmark": benchmark,
        "workload": benchmark.removeprefix("probes.").partition(".")[0],
        "variant": variant,
        "size": "cpu-smoke",
        "accelerator": "cpu",
        "started_at": 1_700_000_000.0,
        "wall_seconds": 3.0,
        "versions": {"python": "3.12.1", "jax": "0.4.31"},
        "packages": {"numpy": "2.0.1"},
        "device": {"platform": "cpu", "kind": "a processor", "count": 1},
        "machine_before": {},
        "machine_after": {},
        "settings": {"threads": 1, "compile_cache": "cold", "planted_slowdown": 1.0, "spec": "b64"},
        "parameters": 399_370,
    }
    return SessionRecord(metrics=metrics, **{**fields, **changes})


def session(
    side: Side, pair: int, *, release: str | None = None, campaign: str = CAMPAIGN, **changes: Any
) -> CampaignSession:
    """A finished session of one side."""
    default = {Side.BASELINE: OLD, Side.CONTENDER: NEW}.get(side, TORCH)
    package, _, version = (release or default).partition("/")
    return CampaignSession(
        campaign=campaign,
        place=Place(
            session=f"{next(_NUMBERS):012x}",
            release=release or default,
            side=side,
            pair=pair,
            position=0,
            lock="abc",
        ),
        record=record(**{"versions": {"python": "3.12.1", package: version}, **changes}),
    )


def pairs(
    ratios: list[float], *, metric: str = "step_cpu", base: float = 0.002, **changes: Any
) -> list[CampaignSession]:
    """Complete pairs with the given contender / baseline ratios."""
    found = []
    for number, ratio in enumerate(ratios):
        drift = 1 + 0.02 * (number % 3)
        found.append(session(Side.BASELINE, number, metrics={metric: base * drift}, **changes))
        found.append(session(Side.CONTENDER, number, metrics={metric: base * drift * ratio}, **changes))
    return found


def noisy(ratio: float, n: int, *, noise: float = 0.01, seed: int = 0) -> list[float]:
    """Ratios around `ratio` with log-normal noise."""
    draws = np.random.default_rng(seed).normal(0.0, noise, n)
    return [float(value) for value in ratio * np.exp(draws)]


def failure(
    side: Side | None,
    *,
    benchmark: str | None = MLP,
    release: str = NEW,
    stage: Any = "session",
    reason: str = "ImportError: no module named jaxlib",
) -> CampaignFailure:
    """A recorded failure; side None: of a whole environment."""
    place = side and Place(session="0" * 12, release=release, side=side, pair=0, position=0)
    return CampaignFailure(
        campaign=CAMPAIGN,
        failure=RecordedFailure(
            place=place or None, benchmark=benchmark, release=release, stage=stage, reason=reason
        ),
    )


def evidence(
    sessions: list[CampaignSession], failures: list[CampaignFailure] | None = None, **changes: Any
) -> Evidence:
    """Evidence of one comparison."""
    fields: dict[str, Any] = {
        "baseline": OLD,
        "contender": NEW,
        "accelerator": "cpu",
        "size": "cpu-smoke",
        "failures": tuple(failures or ()),
    }
    return Evidence(sessions=tuple(sessions), **{**fields, **changes})


def calibration_record(benchmark: str = f"{MLP}.track_step_cpu", **changes: Any) -> CalibrationRecord:
    """What an A/A calibration found, on the machine and by the policy of the other builders."""
    fields: dict[str, Any] = {
        "schema": 1,
        "benchmark": benchmark,
        "release": NEW,
        "measured_at": 1_767_000_000.0,
        "identity": Identity(
            machine="lab", accelerator="cpu", size="cpu-smoke", device="a processor", turns=False,
            benchmark_version="?",
        ),
        "margins": Margins.of(Policy()),
        "pairs": 16,
        "exact": False,
        "noise": Noise(
            within_sd=0.02, within_autocorrelation=0.4, between_sd=0.008, pair_sd=0.012, pair_sd_robust=0.01,
            pair_autocorrelation=0.1,
        ),
        "budget_seconds": 1200.0,
        "pair_seconds": 5.0,
        "budget_pairs": 24,
        "family": 4,
        "false_alarms": FalseAlarms(rate=0.0045, low=0.0, high=0.018, unchanged=0.97, mean_pairs=8.1),
        "detectable": Detectable(effect=0.0131, low=0.0112, high=0.0158),
        "largest_effect": 1.0,
    }  # fmt: skip
    return CalibrationRecord(**{**fields, **changes})


def report_of(
    found: Evidence,
    policy: Policy | None = None,
    notes: tuple[str, ...] = (),
    *,
    calibration: Calibration | None = None,
    budget_seconds: float | None = None,
) -> Report:
    """The report on some evidence, made at a fixed moment."""
    provenance = Provenance(
        machine="lab",
        campaigns=[CampaignInfo(name=CAMPAIGN, seed=7, sessions=len(found.sessions))],
        notes=notes,
        stepwatch_version="0.1.0",
        created_at="2026-01-02T03:04:05+00:00",
        budget_seconds=budget_seconds,
    )
    return build_report(found, policy or Policy(), provenance, calibration)


def header(**changes: Any) -> CampaignHeader:
    """The first line of a sidecar."""
    fields: dict[str, Any] = {
        "schema": 1,
        "campaign": CAMPAIGN,
        "baseline": OLD,
        "contender": NEW,
        "seed": 7,
        "created_at": 1_700_000_000.0,
        "machine": "lab",
        "accelerator": "cpu",
        "size": "cpu-smoke",
    }
    return CampaignHeader(**{**fields, **changes})


def line_of(found: CampaignSession) -> RecordedSession:
    """The sidecar line of a session."""
    return RecordedSession(place=found.place, record=found.record)
