"""A report for a terminal: plain text, at home in 80 columns."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING

from stepwatch.model import Outcome
from stepwatch.render import words
from stepwatch.render.escape import plain
from stepwatch.units import format_value

if TYPE_CHECKING:
    from collections.abc import Sequence

    from stepwatch.report import Report
    from stepwatch.verdict import Twin, TwinVariant, Verdict

_ORDER = (
    Outcome.REGRESSED,
    Outcome.BROKEN,
    Outcome.IMPROVED,
    Outcome.INCONCLUSIVE,
    Outcome.UNCHANGED,
)
_MINIMUM_WIDTH = 60
_CAUSES_SHOWN = 12
_ROWS_SHOWN = 200
"""Rows of one kind; a terminal is no place for thousands."""
_REMARKS_SHOWN = 5


def render_text(report: Report, *, width: int = 80) -> str:
    """The report as text of at most `width` columns (60 at the least; single long names may stick out)."""
    width = max(width, _MINIMUM_WIDTH)
    blocks = [
        _head(report, width),
        *(_section(report, outcome, width) for outcome in _ORDER),
        _twins(report, width),
        _causes(report, width),
        _failures(report, width),
        _bullets("Notes", report.notes, width),
        _next(report),
    ]
    return "\n\n".join(block for block in blocks if block) + "\n"


def _head(report: Report, width: int) -> str:
    clause, advice = words.headline(report)
    between = plain(report.contender)
    if report.baseline is not None:
        between = f"{plain(report.baseline)} -> {between}"
    machine = report.machine
    strip = " · ".join(
        [
            f"machine {plain(machine.name)}",
            plain(machine.accelerator),
            plain(machine.size),
            f"{sum(campaign.sessions for campaign in report.campaigns)} sessions",
            *words.margins(report),
        ]
    )
    counts = " · ".join(f"{count} {outcome}" for outcome, count in words.outcome_counts(report).items())
    lines = [f"{between}: {clause}", f"=> {advice}", strip, *_calibration(report)]
    lines += [counts] if report.verdicts else []
    return "\n".join(line for text in lines for line in textwrap.wrap(text, width))


def _calibration(report: Report) -> list[str]:
    found = words.calibration(report)
    if found is not None:
        before, release, after = found
        return [f"{plain(before)} {plain(release)} {after}"]
    return [f"not calibrated: run {words.CALIBRATE}"] if words.is_uncalibrated(report) else []


def _section(report: Report, outcome: Outcome, width: int) -> str:
    rows = words.rows_of(report, outcome)
    if not rows:
        return ""
    title = f"{outcome.upper()} ({len(rows)})"
    blame = words.blame(report)
    if blame and outcome in (Outcome.REGRESSED, Outcome.IMPROVED):
        title += f"  change in {plain(blame)}"
    cells = [
        [f"  {_label(row.benchmark)}", words.values(row), words.ratio_interval(row), str(row.sessions)]
        for row in rows[:_ROWS_SHOWN]
    ]
    asides = [_asides(row, report, width) for row in rows[:_ROWS_SHOWN]]
    header = ["  benchmark", "values", "ratio (interval)", "n"]
    table = _table(header, cells, asides, width)
    return "\n".join([*textwrap.wrap(title, width), *table, *_more(len(rows), _ROWS_SHOWN)])


def _more(count: int, shown: int) -> list[str]:
    return [f"  ... and {count - shown} more in the report"] if count > shown else []


def _below(remarks: Sequence[str], width: int) -> list[str]:
    """Remarks as lines below a row."""
    lines = [line for remark in remarks[:_REMARKS_SHOWN] for line in _wrapped(remark, width, "      ")]
    return [*lines, *("    " + more for more in _more(len(remarks), _REMARKS_SHOWN))]


def _asides(verdict: Verdict, report: Report, width: int) -> list[str]:
    """Lines below a row: why it is not decided, how well proven, every doubt, what could be detected."""
    remarks = list(verdict.notes)
    if verdict.outcome in (Outcome.BROKEN, Outcome.INCONCLUSIVE):
        remarks.insert(0, verdict.reason)
    found = words.detection(verdict)
    known = "; ".join(filter(None, [words.proof(verdict, report), found and f"detects {found}"]))
    return [*_below(remarks, width), *_below([known] if known else [], width)]


def _label(benchmark: str) -> str:
    """A short form of the public id: `mlp.bench.JaxJit.track_step_cpu` -> `mlp JaxJit step_cpu`."""
    parts = [part for part in plain(benchmark).split(".") if part not in ("bench", "probes")]
    return " ".join(part.removeprefix("track_") for part in parts)


def _table(
    header: Sequence[str], rows: Sequence[Sequence[str]], asides: Sequence[Sequence[str]], width: int
) -> list[str]:
    """Aligned columns; where they do not fit, the first column gets a line of its own."""
    widths = [max(len(row[column]) for row in [header, *rows]) for column in range(len(header))]
    lines = []
    stacked = sum(widths) + 2 * (len(widths) - 1) > width
    if stacked:
        widths[0] = 6
    for row, below in zip([header, *rows], [[], *asides], strict=True):
        cells = row
        if stacked:
            lines.append(row[0])
            cells = ["", *row[1:]]
        padded = [cell.ljust(size) for cell, size in zip(cells, widths, strict=True)]
        lines += ["  ".join(padded).rstrip(), *below]
    return lines


def _twins(report: Report, width: int) -> str:
    """The same workload in each framework, wall and CPU time of a step, and the ratio to the reference."""
    if not report.twins:
        return ""
    accelerator = report.machine.accelerator
    ratio = "CPU ratio" if words.counts_cpu_time(accelerator) else "wall ratio"
    header = ["  workload, variant", "step, CPU", "step, wall", f"{ratio} (interval)", "n"]
    rows, asides = [], []
    for twin in report.twins:
        for place, variant in enumerate(twin.variants):
            rows.append(_twin_row(twin, variant, accelerator))
            remarks = [*_compile_remark(variant), *variant.notes, *(twin.notes if place == 0 else [])]
            asides.append(_below(remarks, width))
    title = "TWINS: the same training step, ratio to jax-jit (above 1: slower than JAX)"
    table = _table(header, rows[:_ROWS_SHOWN], asides[:_ROWS_SHOWN], width)
    return "\n".join([*textwrap.wrap(title, width), *table, *_more(len(rows), _ROWS_SHOWN)])


def _twin_row(twin: Twin, variant: TwinVariant, accelerator: str) -> list[str]:
    cpu, wall = (step.value if step else None for step in (variant.step_cpu, variant.step_wall))
    return [
        f"  {plain(twin.workload)} {plain(variant.variant)} {plain(variant.release).rpartition('/')[2]}",
        format_value(cpu, "seconds"),
        format_value(wall, "seconds"),
        words.twin_ratio(variant, accelerator),
        str(variant.sessions),
    ]


def _compile_remark(variant: TwinVariant) -> list[str]:
    """Compilation in CPU seconds, cold and from a warm cache, as far as measured."""
    parts = [
        f"{name} {format_value(value, 'seconds')}"
        for name, value in (("cold", variant.compile_cold), ("warm cache", variant.compile_warm))
        if value is not None
    ]
    return [f"compile, CPU: {', '.join(parts)}"] if parts else []


def _causes(report: Report, width: int) -> str:
    """What else differed; of interest only where something changed or broke."""
    found = words.main_differences(report)
    counts = words.outcome_counts(report)
    if found is None or not (counts[Outcome.REGRESSED] or counts[Outcome.IMPROVED]):
        return ""
    changes = words.causes(found)
    texts = [f"{name}: {old} -> {new}" for name, old, new in changes[:_CAUSES_SHOWN]]
    if len(changes) > _CAUSES_SHOWN:
        texts.append(f"and {len(changes) - _CAUSES_SHOWN} more in the report")
    return _bullets(
        "What differed between the two environments", texts or ["nothing that was recorded"], width
    )


def _failures(report: Report, width: int) -> str:
    texts = [
        f"{failure.release} {failure.benchmark or ''} {failure.stage}: {failure.reason}"
        + (f" ({failure.count} times)" if failure.count > 1 else "")
        for failure in report.failures
    ]
    return _bullets("Failed", texts, width)


def _next(report: Report) -> str:
    """Commands to copy: never wrapped."""
    commands = words.next_commands(report)
    return "\n".join(["Next", *(f"  # {why}\n  {command}" for why, command in commands)]) if commands else ""


def _bullets(title: str, texts: Sequence[str], width: int) -> str:
    if not texts:
        return ""
    lines = [line for text in texts[:_ROWS_SHOWN] for line in _wrapped(text, width, "  ")]
    return "\n".join([title, *lines, *_more(len(texts), _ROWS_SHOWN)])


def _wrapped(text: str, width: int, indent: str) -> list[str]:
    """Untrusted text, wrapped; words longer than a line (paths, names) are kept whole."""
    return textwrap.wrap(
        plain(text, 600),
        width,
        initial_indent=indent,
        subsequent_indent=indent + "  ",
        break_long_words=False,
        break_on_hyphens=False,
    )
