"""Renderers: widths, sizes, and strings that want out."""

from __future__ import annotations

import re

import msgspec
import pytest
from evidence_factory import evidence, failure, noisy, pairs, record, report_of, session
from hypothesis import example, given
from hypothesis import strategies as st
from report_scenarios import HOSTILE, STEP, mixed, scenarios, twins

from stepwatch.model import Outcome, Side
from stepwatch.policy import Policy
from stepwatch.render import render_markdown, render_text
from stepwatch.render.escape import is_safe_argument, markdown_code, markdown_text, plain, table_cell
from stepwatch.render.markdown import MAX_BYTES
from stepwatch.render.words import headline, outcome_counts
from stepwatch.verdict import SideSummary

SCENARIOS = scenarios()


@pytest.mark.parametrize("name", sorted(set(SCENARIOS) - {"hostile"}))
@pytest.mark.parametrize("width", [80, 100, 160])
def test_text_keeps_to_its_width(name: str, width: int) -> None:
    lines = render_text(SCENARIOS[name], width=width).splitlines()
    assert max(map(len, lines)) <= width


def test_every_outcome_has_a_scenario() -> None:
    outcomes = {verdict.outcome for report in SCENARIOS.values() for verdict in report.verdicts}
    assert outcomes == set(Outcome)


def test_the_first_line_says_the_verdict_and_what_to_do() -> None:
    first = render_markdown(mixed()).splitlines()[0]
    assert "4 of 8 regressed" in first
    assert "hold the update" in first


@pytest.mark.parametrize(
    ("name", "clause"),
    [
        ("regressed", "1 of 1 regressed"),
        ("improved", "no regression in 1"),
        ("unchanged", "no regression in 1"),
        ("inconclusive", "no regression proven, 1 of 1 inconclusive"),
        ("broken", "2 of 2 broken"),
        ("alone", "nothing compared"),
        ("planted", "1 of 1 called different in a release measured against itself"),
    ],
)
def test_headlines(name: str, clause: str) -> None:
    assert headline(SCENARIOS[name])[0] == clause


def test_all_five_outcomes_are_counted_even_at_zero() -> None:
    assert set(outcome_counts(SCENARIOS["alone"])) == set(Outcome)


def test_on_a_gpu_twins_are_compared_by_wall_time() -> None:
    sessions = [
        session(found.place.side, found.place.pair, accelerator="cuda12", size="gpu", **changes(found))
        for found in twins(6)
    ]
    made = report_of(evidence(sessions, accelerator="cuda12", size="gpu"), Policy())
    assert "wall ratio" in render_text(made)
    assert "wall ratio to jax-jit" in render_markdown(made)


def changes(found) -> dict[str, object]:  # noqa: ANN001  CampaignSession
    old = found.record
    metrics = {name: value.samples for name, value in old.metrics.items()}
    return {"benchmark": old.benchmark, "variant": old.variant, "metrics": metrics}


def test_a_workload_without_reference_or_times() -> None:
    sessions = [
        session(Side.BESIDE, 0, benchmark=f"mlp.bench.{name}", variant=name, metrics={"first_step": 1.0})
        for name in ("torch-eager", "torch-compile")
    ]
    made = report_of(evidence(sessions, baseline=None))
    assert "no jax-jit session of this workload" in render_text(made)
    assert "no jax-jit session of this workload" in render_markdown(made)


def test_many_differences_are_cut_in_the_terminal() -> None:
    sessions = [
        session(
            side,
            number,
            metrics={"step_cpu": value},
            packages={f"p{n:02d}": str(side) for n in range(20)},
            versions={"python": f"3.{11 + (side is Side.CONTENDER)}"},
        )
        for number in range(6)
        for side, value in ((Side.BASELINE, 1.0), (Side.CONTENDER, 2.0))
    ]
    text = render_text(report_of(evidence(sessions), STEP))
    assert "and 9 more in the report" in text


def test_a_change_not_proven_relevant_says_so() -> None:
    made = report_of(evidence(pairs(noisy(1.016, 20, noise=0.002))), STEP)
    assert "not proven beyond the minimal effect" in render_markdown(made)


def test_a_large_report_fits_a_comment() -> None:
    sessions = [
        found
        for number in range(300)
        for found in pairs([3.0] * 8, benchmark=f"workload_{number:04d}.bench.JaxJit")
    ]
    text = render_markdown(report_of(evidence(sessions), STEP))
    assert len(text.encode()) < MAX_BYTES
    assert "300 of 300 regressed" in text
    assert re.search(r"\.\.\. and \d+ more in `report\.json`", text)


def test_the_worst_a_report_may_hold_still_fits() -> None:
    wild = "𝔸&<@#" * 40
    row = SCENARIOS["regressed"].verdicts[0]
    rows = [
        msgspec.structs.replace(row, outcome=outcome, benchmark=wild, reason=wild * 3, notes=[wild * 3] * 100)
        for outcome in Outcome
        for _ in range(20)
    ]
    twin = mixed().twins[0]
    variant = msgspec.structs.replace(twin.variants[0], variant=wild, release=wild, notes=[wild] * 100)
    crowd = [msgspec.structs.replace(twin, workload=wild, variants=[variant] * 20, notes=[wild] * 20)] * 20
    machine = msgspec.structs.replace(
        mixed().machine,
        name=wild,
        size=wild,
        accelerator=wild,
        device={f"{n}{wild[:150]}": wild for n in range(100)},
    )
    full = msgspec.structs.replace(
        mixed(),
        verdicts=rows,
        twins=crowd,
        machine=machine,
        notes=[wild * 3] * 100,
        baseline=wild,
        contender=wild,
    )
    assert len(render_markdown(full).encode()) < MAX_BYTES


def test_hostile_strings_in_markdown_stay_words() -> None:
    text = render_markdown(SCENARIOS["hostile"])
    outside = re.sub(r"`[^`\n]*`", "", text.replace("\\`", ""))
    assert "<script" not in outside
    assert "</summary><script" not in outside
    assert not re.search(r"@\w", outside)
    assert not re.search(r"(?i)(#|gh-)\d", outside)
    assert "://" not in outside
    assert "www." not in outside
    assert not re.search(r"(?<!\\)\[", outside)


def test_hostile_names_never_reach_a_command() -> None:
    for text in (render_text(SCENARIOS["hostile"]), render_markdown(SCENARIOS["hostile"])):
        assert "stepwatch measure" not in text


def test_control_and_bidi_characters_never_reach_a_terminal() -> None:
    text = render_text(SCENARIOS["hostile"])
    assert "\x1b" not in text
    assert "\u202e" not in text


@given(st.text(max_size=300))
@example(HOSTILE)
@example("- item")
@example("1. item")
@example("12) item")
@example("+ item")
def test_markdown_text_is_one_harmless_line(text: str) -> None:
    found = markdown_text(text)
    assert "\n" not in found
    assert "<" not in found
    assert ">" not in found
    assert not re.search(r"@[A-Za-z0-9]", found)
    assert not re.search(r"(?i)(#|gh-)\d", found)
    assert not re.search(r"(?<!\\)(\\\\)*[`*_\[\]|]", found)
    assert not re.match(r"([-+*]|\d+[.)])(\s|$)", found)


@given(st.text(max_size=300))
def test_code_spans_hold_whatever_is_in_them(text: str) -> None:
    found = markdown_code(text)
    assert found.count("`") == 2
    assert len(found) > 2
    assert found.startswith("`")
    assert found.endswith("`")
    assert "\n" not in found
    assert not re.search(r"(?<!\\)\|", table_cell(found)), "in a table a bare pipe would end the cell"


def test_a_pipe_is_escaped_in_a_table_and_nowhere_else() -> None:
    assert markdown_code("a|b") == "`a|b`"
    assert table_cell(markdown_code("a|b")) == "`a\\|b`"
    assert table_cell(markdown_text("a|b")) == markdown_text("a|b") == "a\\|b"


@pytest.mark.parametrize("value", [1e-300, 1e6, 1e299, 1.7e308])
def test_extreme_numbers_stay_short(value: float) -> None:
    row = msgspec.structs.replace(
        SCENARIOS["regressed"].verdicts[0],
        ratio=value,
        ratio_low=1e-308,
        ratio_high=1.7e308,
        baseline=SideSummary(release="a", sessions=8, value=value),
    )
    for unit in ("seconds", "bytes", "count", "1"):
        made = msgspec.structs.replace(
            SCENARIOS["regressed"], verdicts=[msgspec.structs.replace(row, unit=unit)]
        )
        assert max(map(len, render_text(made).splitlines())) <= 80
        assert not re.search(r"\d{9}", render_text(made) + render_markdown(made))


def test_text_shows_a_bounded_part_of_a_large_report() -> None:
    row = msgspec.structs.replace(SCENARIOS["inconclusive"].verdicts[0], notes=["n" * 600] * 100)
    made = msgspec.structs.replace(SCENARIOS["inconclusive"], verdicts=[row] * 5000)
    text = render_text(made)
    assert len(text) < 1_000_000
    assert "... and 4800 more in the report" in text
    assert "... and 96 more in the report" in text


@given(st.text(max_size=700))
def test_plain_is_one_short_printable_line(text: str) -> None:
    found = plain(text, 50)
    assert len(found) <= 50
    assert found == found.strip()
    assert not re.search(r"[\x00-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\u200b]", found)


@pytest.mark.parametrize("text", ["jax/0.4.31", "torch/2.13.0", "a-b_c+d"])
def test_release_names_are_safe_arguments(text: str) -> None:
    assert is_safe_argument(text)


@pytest.mark.parametrize("text", ["", "-rf", "a b", "a;b", "$(x)", "a\nb", "a\n", "`x`", "a'b", "~x"])
def test_what_a_shell_would_read_is_not(text: str) -> None:
    assert not is_safe_argument(text)


@given(st.lists(st.floats(1e-300, 1e300), min_size=2, max_size=6), st.text(max_size=40))
def test_renderers_take_every_report(values: list[float], name: str) -> None:
    sessions = [
        session(side, number, benchmark=f"{name}.JaxJit", metrics={"step_cpu": value})
        for number, value in enumerate(values)
        for side in (Side.BASELINE, Side.CONTENDER)
    ]
    made = report_of(evidence(sessions, [failure(Side.CONTENDER, reason=name)]), STEP, notes=(name,))
    assert render_text(made)
    assert render_markdown(made)


def test_a_record_is_what_the_factory_says() -> None:
    assert record().benchmark == "mlp.bench.JaxJit"
