"""MDE and A/A rate beside verdicts: from the calibration that fits, else from the row's own pairs."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import msgspec
import pytest
from evidence_factory import (
    MLP,
    NEW,
    calibration_record,
    evidence,
    noisy,
    pairs,
    report_of,
    session,
)

from stepwatch.model import Side
from stepwatch.policy import Policy
from stepwatch.render import render_markdown, render_text
from stepwatch.report import decode_report, encode_report
from stepwatch.stats import PairedTest
from stepwatch.verdict.calibration import Calibration, CalibrationRecord

if TYPE_CHECKING:
    from stepwatch.report import Report

STEP = Policy(metrics=("step_cpu",))
DAY = 86_400.0
MEASURED = calibration_record().measured_at


def judged(*records: CalibrationRecord, policy: Policy = STEP, days: float = 1.0, **changes: Any) -> Report:
    found = evidence(pairs(noisy(1.1, 8), **changes))
    return report_of(found, policy, calibration=Calibration(records=records, now=MEASURED + days * DAY))


def with_identity(**changes: Any) -> CalibrationRecord:
    made = calibration_record()
    return calibration_record(identity=msgspec.structs.replace(made.identity, **changes))


def test_a_fitting_calibration_stands_beside_the_verdict_and_reads_back() -> None:
    made = judged(calibration_record())
    (row,) = made.verdicts
    assert (row.mde, row.mde_low, row.mde_high, row.mde_beyond) == (0.0131, 0.0112, 0.0158, None)
    assert (row.mde_pairs, row.mde_source) == (24, "calibration")
    assert (row.a_a_rate, row.a_a_low, row.a_a_high) == (0.0045, 0.0, 0.018)
    assert made.calibration is not None
    assert (made.calibration.release, made.calibration.pairs, made.calibration.stale) == (NEW, 16, False)
    assert made.calibration.measured_at == "2025-12-29T09:20:00+00:00"
    assert decode_report(encode_report(made), "r") == made


def test_the_newest_that_fits_counts() -> None:
    old = calibration_record(budget_pairs=10)
    new = calibration_record(budget_pairs=30)
    other = with_identity(turns=True)
    assert judged(old, new, other).verdicts[0].mde_pairs == 30
    assert judged(new, old).verdicts[0].mde_pairs == 10


@pytest.mark.parametrize(
    ("record", "reason"),
    [
        (with_identity(machine="other"), "under the machine name other"),
        (with_identity(accelerator="cuda12"), "on the accelerator cuda12"),
        (with_identity(size="gpu"), "at the size gpu"),
        (with_identity(device="another"), "on the device another"),
        (with_identity(benchmark_version="7"), "at the benchmark version 7"),
        (with_identity(turns=True), "with pairs that took turns"),
        (
            calibration_record(margins=msgspec.structs.replace(calibration_record().margins, floor=0.0)),
            "at other margins (floor 0, minimal effect 0.02, alpha 0.05)",
        ),
    ],
)
def test_a_calibration_of_something_else_is_not_used_and_said(record: CalibrationRecord, reason: str) -> None:
    made = judged(record)
    (row,) = made.verdicts
    assert (row.a_a_rate, row.mde_source, made.calibration) == (None, "pairs", None)
    assert made.notes == [f"1 of 1 rows: calibrated {reason}; run `stepwatch calibrate` again"]


def test_pairs_without_turns_do_not_fit_a_comparison_with_turns() -> None:
    made = judged(calibration_record(), settings={"spec": "b64", "turns": 40})
    assert "calibrated with pairs that took no turns" in made.notes[0]


def test_one_session_that_was_tried_again_alone_does_not_matter() -> None:
    sessions = pairs(noisy(1.1, 8), settings={"spec": "b64", "turns": 40})
    sessions[3] = session(sessions[3].place.side, 1, metrics={"step_cpu": 0.0022}, settings={"spec": "b64"})
    found = Calibration(records=[with_identity(turns=True)], now=MEASURED)
    assert report_of(evidence(sessions), STEP, calibration=found).verdicts[0].a_a_rate == 0.0045


def test_an_exact_or_a_thin_calibration_says_nothing_and_nothing_is_said_of_it() -> None:
    thin = calibration_record(detectable=None, false_alarms=None, pairs=4)
    exact = calibration_record(exact=True, noise=None, detectable=None, false_alarms=None)
    made = judged(thin, exact)
    assert (made.verdicts[0].mde_source, made.calibration, made.notes) == ("pairs", None, [])


def test_an_old_calibration_is_used_and_called_old() -> None:
    made = judged(calibration_record(), days=31)
    assert made.calibration is not None
    assert made.calibration.stale
    for text in (render_text(made), render_markdown(made)):
        assert "run stepwatch calibrate again" in " ".join(text.split())


def test_without_a_calibration_the_own_pairs_speak_and_the_hint_comes_once() -> None:
    made = report_of(evidence([*pairs(noisy(1.1, 8)), *pairs(noisy(1.0, 8), benchmark="gpt.bench.JaxJit")]))
    assert {row.mde_source for row in made.verdicts} == {"pairs"}
    assert render_text(made).count("not calibrated: run stepwatch calibrate") == 1
    assert render_markdown(made).count("not calibrated: run `stepwatch calibrate`") == 1


def test_the_own_pairs_find_what_their_interval_and_floor_allow() -> None:
    ratios = noisy(1.1, 8)
    (row,) = judged().verdicts
    interval = PairedTest.of([math.log(ratio) for ratio in ratios]).interval(STEP.alpha)
    least = math.expm1(math.log1p(STEP.floor) + (interval.high - interval.low) / 2)
    assert row.mde is not None
    assert least < row.mde < 2 * least
    assert row.mde_pairs == 8


def test_too_few_pairs_for_an_interval_find_nothing() -> None:
    made = report_of(evidence(pairs(noisy(1.1, 3))), STEP)
    assert (made.verdicts[0].mde, made.verdicts[0].mde_source) == (None, None)


@pytest.mark.parametrize("ending", ["exact", "broken"])
def test_what_was_not_tested_needs_no_calibration(ending: str) -> None:
    if ending == "exact":
        sessions = [session(side, n, metrics={"temp_bytes": 5.0}) for n in range(3) for side in Side]
        made = report_of(evidence(sessions), Policy(metrics=("temp_bytes",)))
    else:
        made = report_of(evidence([session(Side.BASELINE, 0)]), STEP)
    assert [row.mde for row in made.verdicts] == [None]
    assert "not calibrated" not in render_text(made)


def test_long_names_find_their_calibration() -> None:
    name = f"{MLP} {'x' * 300}"
    made = report_of(evidence(pairs(noisy(1.1, 8), benchmark=name)), STEP)
    assert made.verdicts[0].mde_source == "pairs"
    fitting = calibration_record(made.verdicts[0].benchmark)
    found = Calibration(records=[fitting], now=MEASURED)
    again = report_of(evidence(pairs(noisy(1.1, 8), benchmark=name)), STEP, calibration=found)
    assert again.verdicts[0].mde_source == "calibration"


def test_names_that_are_alike_once_cut_get_no_figures() -> None:
    long = f"{MLP} {'x' * 300}"
    both = [*pairs(noisy(1.1, 8), benchmark=f"{long}a"), *pairs(noisy(1.0, 8), benchmark=f"{long}b")]
    made = report_of(evidence(both), STEP)
    assert len({row.benchmark for row in made.verdicts}) == 1
    assert [row.mde for row in made.verdicts] == [None, None]
    assert len({row.ratio for row in made.verdicts}) == 2, "each row keeps its own verdict"
