"""A report as a pull-request comment: the verdict first, the method folded away."""

from __future__ import annotations

from typing import TYPE_CHECKING

from stepwatch.model import Outcome
from stepwatch.render import words
from stepwatch.render.escape import markdown_code, markdown_text, table_cell
from stepwatch.units import format_percent, format_value

if TYPE_CHECKING:
    from collections.abc import Sequence

    from stepwatch.report import Report
    from stepwatch.verdict import TwinVariant, Verdict

MAX_BYTES = 60_000
"""GitHub refuses comments above 65,536 characters."""
_ROW_LIMITS = (200, 50, 20, 5, 1)
_NOTES_LIMIT = 5
"""Notes shown of one row."""


def render_markdown(report: Report) -> str:
    """The report in GitHub Markdown, under 60,000 bytes: the more rows, the fewer of each kind are shown."""
    attempts = (_render(report, rows) for rows in _ROW_LIMITS)
    fitting = (text for text in attempts if len(text.encode()) < MAX_BYTES)
    return next(fitting, _first_line(report) + "\n")


def _render(report: Report, rows: int) -> str:
    blocks = [
        _first_line(report),
        _validity(report),
        _list("**Notes**", [markdown_text(note) for note in report.notes], rows),
        _verdicts("**Broken**", report, Outcome.BROKEN, rows),
        _verdicts("**Regressed**, worst first", report, Outcome.REGRESSED, rows),
        _cause(report, rows),
        _verdicts("**Inconclusive**", report, Outcome.INCONCLUSIVE, rows),
        _twins(report, rows),
        _next(report),
        _fold("Improved", _verdicts("", report, Outcome.IMPROVED, rows)),
        _fold("Unchanged", _verdicts("", report, Outcome.UNCHANGED, rows)),
        _fold("Failed sessions and environments", _failures(report, rows)),
        _fold("Method", _method(report)),
        _fold("Environments", _environments(report, rows)),
    ]
    return "\n\n".join(block for block in blocks if block) + "\n"


def _first_line(report: Report) -> str:
    clause, advice = words.headline(report)
    between = markdown_code(report.contender)
    if report.baseline is not None:
        between = f"{markdown_code(report.baseline)} -> {between}"
    return f"**stepwatch: {clause}** ({between}): {advice}."


def _validity(report: Report) -> str:
    machine = report.machine
    sessions = sum(campaign.sessions for campaign in report.campaigns)
    parts = [
        f"machine {markdown_code(machine.name)}",
        markdown_text(machine.accelerator),
        markdown_text(machine.size),
        f"{sessions} sessions",
        *words.margins(report),
        markdown_text(report.created_at),
    ]
    lines = [" · ".join(part for part in parts if part), _calibration(report)]
    return "\n\n".join(line for line in lines if line)


def _calibration(report: Report) -> str:
    found = words.calibration(report)
    if found is not None:
        before, release, after = found
        return f"{markdown_text(before)} {markdown_code(release)} {after}"
    return f"not calibrated: run `{words.CALIBRATE}`" if words.is_uncalibrated(report) else ""


def _verdicts(title: str, report: Report, outcome: Outcome, rows: int) -> str:
    """A table of the verdicts of one outcome, with reasons and notes in a last column where there are any."""
    verdicts = words.rows_of(report, outcome)
    cells = [
        [
            markdown_code(verdict.benchmark),
            words.values(verdict),
            words.ratio_interval(verdict),
            str(verdict.sessions),
            words.detection(verdict),
            _remarks(verdict, report),
        ]
        for verdict in verdicts[:rows]
    ]
    table = _table(
        ["benchmark", "baseline -> contender", "ratio (interval)", "sessions", "detects; A/A", "remarks"],
        cells,
    )
    return _joined(title, table, len(verdicts) - len(cells))


def _remarks(verdict: Verdict, report: Report) -> str:
    remarks = [*filter(None, [words.proof(verdict, report)]), *verdict.notes[:_NOTES_LIMIT]]
    if verdict.outcome in (Outcome.BROKEN, Outcome.INCONCLUSIVE):
        remarks.insert(0, verdict.reason)
    return "; ".join(map(markdown_text, remarks))


def _cause(report: Report, rows: int) -> str:
    """The blame range and what differed, where something regressed."""
    if not words.rows_of(report, Outcome.REGRESSED):
        return ""
    blame = words.blame(report)
    where = f" in {markdown_code(blame)}" if blame else ""
    found = words.main_differences(report)
    changes = words.causes(found) if found else []
    texts = [
        f"{markdown_code(name)}: {markdown_text(old)} -> {markdown_text(new)}" for name, old, new in changes
    ]
    return _list(f"**Likely cause**{where}, what differed:", texts or ["nothing that was recorded"], rows)


def _twins(report: Report, rows: int) -> str:
    accelerator = report.machine.accelerator
    ratio = "CPU ratio" if words.counts_cpu_time(accelerator) else "wall ratio"
    rowed = [(twin, variant) for twin in report.twins for variant in twin.variants]
    cells = [
        [
            markdown_text(twin.workload),
            f"{markdown_text(variant.variant)} ({markdown_code(variant.release)})",
            words.step_interval(variant.step_cpu),
            words.step_interval(variant.step_wall),
            words.twin_ratio(variant, accelerator),
            _compile(variant),
            str(variant.sessions),
            "; ".join(map(markdown_text, [*variant.notes, *twin.notes][:_NOTES_LIMIT])),
        ]
        for twin, variant in rowed[:rows]
    ]
    header = [
        "workload",
        "variant",
        "step, CPU",
        "step, wall",
        f"{ratio} to jax-jit",
        "compile, CPU (cold / warm)",
        "sessions",
        "remarks",
    ]
    return _joined("**Twins**: the same training step", _table(header, cells), len(rowed) - rows)


def _compile(variant: TwinVariant) -> str:
    cold, warm = (format_value(value, "seconds") for value in (variant.compile_cold, variant.compile_warm))
    return f"{cold} / {warm}"


def _next(report: Report) -> str:
    commands = words.next_commands(report)
    lines = [line for why, command in commands for line in (f"# {why}", command)]
    return "\n".join(["**Next**", "", "```sh", *lines, "```"]) if commands else ""


def _failures(report: Report, rows: int) -> str:
    texts = [
        f"{markdown_code(failure.release)} {markdown_code(failure.benchmark or 'environment')}, "
        f"{failure.stage}, {failure.count} times: {markdown_text(failure.reason)}"
        for failure in report.failures
    ]
    return _list("", texts, rows)


def _method(report: Report) -> str:
    policy = report.policy
    alpha, floor = f"{policy.alpha:.2g}", format_percent(policy.floor)
    unchanged = (
        f"`unchanged` means proven to be smaller than {format_percent(policy.min_effect)}"
        if policy.min_effect
        else "no minimal effect is set, so nothing is called `unchanged`"
    )
    return (
        "A session is one fresh process; sessions of both sides alternate in random order, and one number of "
        "each goes into the test. Times: an anytime-valid, robust paired test on log ratios, e-BH over all "
        f"rows at a false discovery rate of {alpha}. A change is called when it is proven to exceed "
        f"{floor}; {unchanged}. Metrics that repeat exactly (bytes, counts) are "
        "compared exactly. Ratios are contender / baseline, with their confidence sequence. *Detects* names "
        "the smallest lone change that is called with probability 0.9, *A/A* how often identical code is "
        "called changed on this machine."
    )


def _environments(report: Report, rows: int) -> str:
    texts = [
        f"{markdown_code(name)}: {markdown_text(value)}" for name, value in report.machine.device.items()
    ]
    texts += [
        f"campaign {markdown_code(campaign.name)}: {campaign.sessions} sessions, seed {campaign.seed}"
        for campaign in report.campaigns
    ]
    found = words.main_differences(report)
    for name, old, new in words.causes(found) if found else []:
        texts.append(f"{markdown_code(name)}: {markdown_text(old)} -> {markdown_text(new)}")
    texts.append(f"stepwatch {markdown_text(report.stepwatch_version)}")
    return _list("", texts, rows)


def _table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table without the columns in which no row has anything; empty without rows."""
    if not rows:
        return ""
    kept = [place for place in range(len(header)) if any(row[place] for row in rows)]
    lines = [[header[place] for place in kept], ["---"] * len(kept)]
    lines += [[table_cell(row[place]) for place in kept] for row in rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _list(title: str, texts: Sequence[str], rows: int) -> str:
    items = "\n".join(f"- {text}" for text in texts[:rows])
    return _joined(title, items, len(texts) - rows) if texts else ""


def _joined(title: str, body: str, more: int) -> str:
    if not body:
        return ""
    parts = [title, body, f"... and {more} more in `report.json`" if more > 0 else ""]
    return "\n\n".join(part for part in parts if part)


def _fold(title: str, body: str) -> str:
    return f"<details><summary>{title}</summary>\n\n{body}\n\n</details>" if body else ""
