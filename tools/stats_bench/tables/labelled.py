"""Human-labelled series: TCPD, a public stand-in for the sealed performance series."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np

from stats_bench import methods, metrics
from stats_bench.plan import Goal, Piece, Plan, Section, Settings, Value, between, grid

NAME = "labelled"
TITLE = "History: human-labelled series (TCPD)"


def scores(*, method: str, settings: Settings, path: str) -> list[list[float]]:
    """Per series: TCPD-F1, and matched, detected, true against the consensus of the annotators."""
    detect = methods.build(method, settings)
    found = []
    for series in json.loads(Path(path).read_text())["series"]:
        detections = detect(np.array(series["values"], dtype=float))
        marks = list(series["annotations"].values())
        agreed = metrics.Score.of(metrics.consensus(marks), detections)
        found.append(
            [metrics.tcpd_f1(marks, detections), agreed.matched, agreed.detected, agreed.true],
        )
    return found


def _methods(plan: Plan) -> dict[str, Settings]:
    return {**methods.known(plan), "nothing": {}}


def pieces(plan: Plan) -> list[Piece]:
    """One piece per method; none where the series are absent."""
    if plan.tcpd is None:
        return []
    return [
        Piece(
            key=method,
            subject=method,
            function=scores,
            arguments={"method": method, "settings": settings, "path": str(plan.tcpd)},
        )
        for method, settings in _methods(plan).items()
    ]


def section(plan: Plan, values: dict[str, Value]) -> Section:
    """TCPD-F1, its difference to ours, and precision, recall and F1 against the consensus."""
    sealed = Goal(
        what="sealed performance series",
        goal="TCPD-F1 >= .87, consensus F1 >= .58, FP/1000 quiet <= .15",
        measured="judged outside",
        interval="-",
        holds=None,
    )
    if plan.tcpd is None:
        return Section(text="Skipped: the labelled series were not there (`--tcpd PATH`).", goals=[sealed])
    generator = np.random.default_rng(0)
    ours = np.array(values[methods.OURS])
    rows, best = [], -np.inf
    for method in _methods(plan):
        table = np.array(values[method])
        value = float(table[:, 0].mean())
        best = max(best, value) if method != methods.OURS else best
        behind = ours[:, 0] - table[:, 0]
        low, high = metrics.bootstrap_interval(
            lambda chosen, behind=behind: float(behind[chosen].mean()), len(behind), generator
        )
        total = metrics.Score(
            matched=int(table[:, 1].sum()), detected=int(table[:, 2].sum()), true=int(table[:, 3].sum())
        )
        lead = "-" if method == methods.OURS else f"{behind.mean():+.3f} ({low:+.3f} to {high:+.3f})"
        agreed = [f"{total.precision:.2f}", f"{total.recall:.2f}", f"{total.f1:.2f}"]
        rows.append([methods.title(method), f"{value:.3f}", lead, *agreed])
    mean = float(ours[:, 0].mean())
    interval = metrics.bootstrap_interval(lambda chosen: float(ours[chosen, 0].mean()), len(ours), generator)
    goal = Goal(
        what="TCPD-F1 on TCPD, against the best peer",
        goal=f">= {best:.3f}",
        measured=f"{mean:.3f}",
        interval=between(interval, ".3f"),
        holds=mean >= best,
        short="" if mean >= best else f"{best - mean:.3f} behind",
    )
    text = """\
31 series with five annotators each, not performance data. TCPD-F1 as in arXiv 2003.06222 with a
margin of 5 points; the difference to stepwatch is paired over series (bootstrap). Consensus: places
that more than half of the annotators marked. Methods within 0.04 are not ranked by so few series.

"""
    header = ["method", "TCPD-F1", "stepwatch is ahead by", "consensus P", "R", "F1"]
    return Section(text=text + grid(header, rows), goals=[goal, sealed])
