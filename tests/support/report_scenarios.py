"""Reports for renderer tests: one per outcome, the mixed case, and a hostile one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evidence_factory import NEW, OLD, calibration_record, evidence, failure, noisy, report_of, session

from stepwatch.model import Side
from stepwatch.policy import Policy
from stepwatch.stats.calibration import Detectable, FalseAlarms
from stepwatch.verdict.calibration import Calibration

if TYPE_CHECKING:
    from stepwatch.report import Report
    from stepwatch.verdict import CampaignSession

PACKAGES = {
    Side.BASELINE: {"jax": "0.4.31", "jaxlib": "0.4.31", "numpy": "2.0.1"},
    Side.CONTENDER: {"jax": "0.4.33", "jaxlib": "0.4.33", "numpy": "2.1.1"},
}
HOSTILE = "</summary><script>`x`|@team #1 GH-2 http://evil.example www.evil.example [a](b)\x1b[31m\u202e*_"
STEP = Policy(metrics=("step_cpu",))


def released(
    name: str, ratio: float, n: int, *, noise: float = 0.01, base: float = 0.002
) -> list[CampaignSession]:
    """Pairs of one benchmark, with the packages of their releases."""
    found = []
    for number, factor in enumerate(noisy(ratio, n, noise=noise)):
        for side, value in ((Side.BASELINE, base), (Side.CONTENDER, base * factor)):
            found.append(
                session(side, number, benchmark=name, metrics={"step_cpu": value}, packages=PACKAGES[side])
            )
    return found


def twins(n: int) -> list[CampaignSession]:
    """The twins of `mlp`, measured beside the pairs."""
    found = []
    for number, factor in enumerate(noisy(1.0, n)):
        for variant, name, ratio in (
            ("jax-jit", "JaxJit", 1.0),
            ("torch-eager", "TorchEager", 1.05),
            ("torch-compile", "TorchCompile", 0.9),
        ):
            compiled = {"compile_cold": 15.0} if number == 0 or ratio == 1 else {"compile_warm": 1.8}
            time = 0.002 * factor * ratio
            metrics = {"step_cpu": time, "step_wall": time * 1.1}
            if variant != "torch-eager":
                metrics |= compiled
            side = Side.CONTENDER if ratio == 1 else Side.BESIDE
            sides = (Side.BASELINE, side) if ratio == 1 else (side,)
            found += [
                session(each, number, benchmark=f"mlp.bench.{name}", variant=variant, metrics=metrics)
                for each in sides
            ]
    return found


def mixed() -> Report:
    """Everything at once, as a real release upgrade looks."""
    sessions = [
        *released("probes.while_scalar.JaxJit", 38.9, 8, base=5.3e-4),
        *released("probes.scatter_grad.JaxJit", 9.8, 8),
        *released("embed.bench.JaxJit", 2.6, 8, base=0.0055),
        *released("gpt.bench.JaxJit", 1.08, 8, noise=0.06, base=0.022),
        *released("probes.control.JaxJit", 1.0, 8, noise=0.002),
        *released("conv.bench.JaxJit", 0.8, 8, noise=0.01, base=0.024),
        session(Side.BASELINE, 0, benchmark="lstm.bench.JaxJit"),
        *twins(8),
    ]
    failures = [
        failure(
            Side.CONTENDER, benchmark="lstm.bench.JaxJit", reason="SessionError: the loss of step 3 is nan"
        ),
        failure(
            Side.CONTENDER, benchmark="lstm.bench.JaxJit", reason="SessionError: the loss of step 3 is nan"
        ),
    ]
    return report_of(evidence(sessions, failures), STEP, notes=("c.jsonl: the last line is torn",))


def hostile() -> Report:
    """Every string an attacker can choose."""
    sessions = [
        session(
            side,
            number,
            benchmark=HOSTILE,
            metrics={"step_cpu": value},
            packages={HOSTILE: f"{HOSTILE}{side}"},
            settings={HOSTILE: f"{HOSTILE}{side}", "spec": HOSTILE},
            device={HOSTILE: HOSTILE},
        )
        for number in range(6)
        for side, value in ((Side.BASELINE, 1.0), (Side.CONTENDER, 9.0))
    ]
    failures = [failure(Side.CONTENDER, benchmark=HOSTILE, reason=HOSTILE)]
    found = evidence(sessions, failures, baseline=HOSTILE, contender=f"x; rm -rf ~ {HOSTILE}", size=HOSTILE)
    return report_of(found, STEP, notes=(HOSTILE,))


def unbuilt() -> Report:
    """The contender's environment could not be built."""
    broken = failure(None, benchmark=None, stage="environment", reason="no wheel of jaxlib 0.4.33 for 3.9")
    sessions = [session(Side.BASELINE, 0, benchmark="gpt.bench.JaxJit"), session(Side.BASELINE, 0)]
    return report_of(evidence(sessions, [broken]), STEP)


def planted() -> Report:
    """A self-test."""
    sessions = released("mlp.bench.JaxJit", 1.1, 12)
    settings = {"spec": "b64", "planted_slowdown": 1.1}
    marked = [
        session(
            found.place.side,
            found.place.pair,
            metrics={"step_cpu": found.record.metrics["step_cpu"].samples},
            settings=settings if found.place.side is Side.CONTENDER else {"spec": "b64"},
            release=NEW,
        )
        for found in sessions
    ]
    return report_of(evidence(marked, baseline=NEW), STEP)


def calibrated() -> Report:
    """Rows with calibrations: one that detects, one that cannot, one on too few pairs, one without."""
    sessions = [
        *released("mlp.bench.JaxJit", 1.39, 8),
        *released("gpt.bench.JaxJit", 1.0, 8, noise=0.06, base=0.022),
        *released("embed.bench.JaxJit", 1.0, 8, noise=0.002),
        *released("conv.bench.JaxJit", 1.0, 8, noise=0.002),
    ]
    records = [
        calibration_record("mlp.bench.JaxJit.track_step_cpu"),
        calibration_record(
            "gpt.bench.JaxJit.track_step_cpu",
            detectable=Detectable(effect=None, low=0.42, high=None),
            false_alarms=FalseAlarms(rate=0.02, low=0.0035, high=0.11, unchanged=0.0, mean_pairs=24.0),
        ),
        calibration_record("embed.bench.JaxJit.track_step_cpu", false_alarms=None, detectable=None, pairs=4),
    ]
    found = Calibration(records=records, now=records[0].measured_at + 86_400 * 45)
    return report_of(evidence(sessions), STEP, calibration=found, budget_seconds=1200.0)


def confirmed() -> Report:
    """What fresh pairs can say of a suspected regression."""
    names = ("mlp", "gpt", "embed", "conv")
    sessions = [one for name in names for one in released(f"{name}.bench.JaxJit", 1.39, 8)]
    fresh = [
        *released("mlp.bench.JaxJit", 1.38, 9),
        *released("gpt.bench.JaxJit", 1.0, 9, noise=0.002),
        *released("embed.bench.JaxJit", 1.2, 1),
    ]
    found = evidence(sessions, fresh=tuple(fresh), must_confirm=True, contender="commit/1a2b3c4d5e6f")
    return report_of(found, STEP, budget_seconds=1200.0)


def scenarios() -> dict[str, Report]:
    """Every scenario by name."""
    exact = [
        session(side, number, metrics={"temp_bytes": value})
        for number in range(2)
        for side, value in ((Side.BASELINE, 0.0), (Side.CONTENDER, 65536.0))
    ]
    return {
        "regressed": report_of(evidence(released("mlp.bench.JaxJit", 1.39, 8)), STEP),
        "improved": report_of(evidence(released("mlp.bench.JaxJit", 0.7, 8)), STEP),
        "unchanged": report_of(evidence(released("mlp.bench.JaxJit", 1.0, 8, noise=0.002)), STEP),
        "inconclusive": report_of(evidence(released("mlp.bench.JaxJit", 1.4, 3)), STEP),
        "inconclusive-noise": report_of(evidence(released("mlp.bench.JaxJit", 1.0, 8, noise=0.1)), STEP),
        "broken": unbuilt(),
        "exact": report_of(evidence(exact), Policy(metrics=("temp_bytes",))),
        "mixed": mixed(),
        "planted": planted(),
        "alone": report_of(evidence(twins(3), baseline=None, contender=OLD)),
        "calibrated": calibrated(),
        "confirmed": confirmed(),
        "hostile": hostile(),
    }
