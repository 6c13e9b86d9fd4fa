"""How renderers say margins, proof, detection, and how to go on."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec
import pytest
from evidence_factory import evidence, noisy, pairs, report_of

from stepwatch.model import Outcome
from stepwatch.policy import Policy
from stepwatch.render import render_markdown, render_text, words
from stepwatch.verdict import Confirmation

if TYPE_CHECKING:
    from stepwatch.report import Report
    from stepwatch.verdict import Verdict

STEP = Policy(metrics=("step_cpu",))


def made(ratio: float = 1.1, policy: Policy = STEP, budget: float | None = None, **changes: Any) -> Report:
    return report_of(evidence(pairs(noisy(ratio, 10)), **changes), policy, budget_seconds=budget)


def row(report: Report, **changes: Any) -> Verdict:
    return msgspec.structs.replace(report.verdicts[0], **changes)


def test_margins_and_budget_in_the_header() -> None:
    text = render_text(made(budget=90.0), width=120)
    assert f"alpha 0.05 · floor {STEP.floor * 100:g}% · minimal effect 2% · budget 1 min 30 s" in text
    assert "budget" not in render_text(made(), width=120)


def test_without_a_minimal_effect_nothing_is_said_of_it() -> None:
    report = made(policy=Policy(metrics=("step_cpu",), floor=0.0, min_effect=0.0))
    assert report.verdicts[0].outcome == "regressed"
    text = render_text(report, width=120)
    assert "no minimal effect" in text
    assert "beyond the minimal effect" not in text
    assert "so nothing is called `unchanged`" in render_markdown(report)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"mde": 0.013, "mde_low": 0.011, "mde_high": 0.016}, "1.3% (1.1% to 1.6%) in 24 pairs"),
        ({"mde": 0.013, "mde_low": 0.011, "mde_high": None}, "1.3% (1.1% or more) in 24 pairs"),
        ({"mde": 0.013, "mde_low": None, "mde_high": None, "mde_pairs": 1}, "1.3% in 1 pair"),
        ({"mde": None, "mde_beyond": 1.0}, "nothing up to 100% in 24 pairs"),
        ({"mde": 0.4, "mde_source": "pairs"}, "about 40% (own pairs)"),
        ({"mde": None, "a_a_rate": 0.02, "a_a_low": 0.0, "a_a_high": 1.0}, "A/A 2% (0% to 100%)"),
        ({"mde": None, "a_a_rate": 0.0, "a_a_low": None}, "A/A 0%"),
        ({"mde": None}, ""),
    ],
)
def test_detection(changes: dict[str, Any], said: str) -> None:
    usual = {"mde_pairs": 24, "mde_source": "calibration"}
    assert words.detection(row(made(), **{**usual, **changes})) == said


def test_a_confirmed_regression_needs_no_more_confirming() -> None:
    report = made()
    assert words.next_commands(report)[0][0] == "confirm on more pairs"
    confirmed = row(report, confirmation=Confirmation(outcome="confirmed", sessions=9))
    again = msgspec.structs.replace(report, verdicts=[confirmed])
    assert [why for why, _ in words.next_commands(again)] == ["the history, as HTML"]
    assert "confirmed on 9 fresh pairs" in words.proof(confirmed, report)


@pytest.mark.parametrize(
    ("confirmation", "said"),
    [
        (Confirmation(outcome="pending", sessions=0), "not confirmed yet: fresh pairs are pending"),
        (Confirmation(outcome="inconclusive", sessions=1), "neither confirmed nor refuted on 1 fresh pair"),
        (
            Confirmation(outcome="refuted", sessions=9, ratio=1.0, ratio_low=0.99, ratio_high=1.01),
            "refuted on 9 fresh pairs, 1.000x (0.990 to 1.010)",
        ),
    ],
)
def test_what_fresh_pairs_say_stands_beside_a_decided_row_alone(
    confirmation: Confirmation, said: str
) -> None:
    report = made()
    decided = row(report, confirmation=confirmation)
    assert words.proof(decided, report).endswith(said)
    undecided = row(report, confirmation=confirmation, outcome=Outcome.INCONCLUSIVE)
    assert not words.proof(undecided, report)


def test_what_compare_began_goes_on_with_compare() -> None:
    noise = evidence(pairs(noisy(1.0, 8, noise=0.2)), baseline="jax/0.4.31", contender="commit/1a2b3c")
    report = report_of(noise, STEP, budget_seconds=100.0)
    command = "stepwatch compare jax/0.4.31 1a2b3c --budget 4m"
    assert ("decide the inconclusive", command) in words.next_commands(report)


def test_the_next_budget_is_one_that_compare_takes() -> None:
    noise = evidence(pairs(noisy(1.0, 8, noise=0.2)), baseline="jax/0.4.31", contender="jax/0.4.33")
    for budget in (3_599_999.0, 1e308):
        commands = dict(words.next_commands(report_of(noise, STEP, budget_seconds=budget)))
        assert commands["decide the inconclusive"].endswith(" --budget 99999m")


def test_a_lock_has_no_path_to_name() -> None:
    assert words.next_commands(made(contender="lock/jax-0.4.31-1a2b3c4d5e6f", budget=60.0)) == []


def test_of_exact_rows_alone_no_calibration_is_asked() -> None:
    report = made()
    assert words.is_uncalibrated(report)
    exact = msgspec.structs.replace(report, verdicts=[row(report, method="exact")])
    assert not words.is_uncalibrated(exact)
