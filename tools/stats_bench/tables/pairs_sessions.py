"""Ten sessions a side, ten iterations each: what each way of comparing two sides makes of them."""

from __future__ import annotations

from stats_bench import generators, metrics, ours
from stats_bench.peers import pairwise
from stats_bench.plan import Piece, Plan, Section, Value, at_least, between, grid, rng

NAME = "pairs-sessions"
TITLE = "Pairs: iterations, sessions and what others do with them"
SESSIONS = 10
EFFECTS = {"base": (0.0, 0.01, 0.02), "quiet": (0.0, 0.02), "bimodal": (0.0, 0.02, 0.05), "gpu": (0.0, 0.01)}
PEERS = {
    "asv-compare": (pairwise.asv_compare, "`asv compare` (Mann-Whitney p < .002 and factor 1.1)"),
    "asv-different": (pairwise.asv_different, "asv `is_different` (factor 1)"),
    "pooled": (pairwise.mann_whitney_pooled, "Mann-Whitney on pooled iterations"),
    "benchstat": (pairwise.mann_whitney_sessions, "Mann-Whitney on session medians (as benchstat)"),
    "welch": (pairwise.welch_sessions, "Welch t on session log medians"),
    "sign-flip": (pairwise.sign_flip_sessions, "paired sign-flip on session medians"),
}


def peer_outcomes(*, method: str, scenario: str, effect: float, seed: int, repetitions: int) -> list[int]:
    """Runs, calls, calls in the right direction (slower)."""
    compare = PEERS[method][0]
    base, head = generators.process_pairs(
        scenario, rng(seed, NAME, scenario, effect), SESSIONS, effect, repetitions=repetitions
    )
    calls = [compare(b, h) for b, h in zip(base, head, strict=True)]
    return [repetitions, sum(call != 0 for call in calls), sum(call > 0 for call in calls)]


def our_outcomes(*, floor: float, scenario: str, effect: float, seed: int, repetitions: int) -> list[int]:
    """The same for stepwatch, which may stop earlier but gets no more than the same sessions."""
    base, head = generators.process_pairs(
        scenario, rng(seed, NAME, scenario, effect), SESSIONS, effect, repetitions=repetitions
    )
    codes, _ = ours.sequential(ours.log_ratios(base, head), floor=floor, min_effect=0.02 if floor else 0.0)
    return [repetitions, int((abs(codes) == 1).sum()), int((codes == 1).sum())]


OURS = {"ours": (0.0025, "**stepwatch**"), "ours-bare": (0.0, "**stepwatch**, floor 0, min effect 0")}


def pieces(plan: Plan) -> list[Piece]:
    """One piece per method, scenario and effect."""
    work = []
    for scenario, effects in EFFECTS.items():
        for effect in effects:
            cell = {"scenario": scenario, "effect": effect, "seed": plan.seed}
            work += [
                Piece(
                    key=f"{name}/{scenario}/{effect}",
                    subject="ours-pairs",
                    function=our_outcomes,
                    arguments={**cell, "floor": floor, "repetitions": plan.pick(2000, 500)},
                )
                for name, (floor, _) in OURS.items()
            ]
            work += [
                Piece(
                    key=f"{name}/{scenario}/{effect}",
                    subject="asv" if name.startswith("asv") else "peer",
                    function=peer_outcomes,
                    arguments={**cell, "method": name, "repetitions": plan.pick(500, 50)},
                )
                for name in PEERS
            ]
    return work


def section(plan: Plan, values: dict[str, Value]) -> Section:
    """A/A rate, then power, per scenario."""
    names = {name: title for name, (_, title) in (OURS | PEERS).items()}
    rows = []
    for name, title in names.items():
        row = [title]
        for scenario, effects in EFFECTS.items():
            cells = []
            for effect in effects:
                runs, called, right = values[f"{name}/{scenario}/{effect}"]
                cells.append(f"{(right if effect else called) / runs:.3f}")
            row.append(" / ".join(cells))
        rows.append(row)
    runs, _, right = values["ours-bare/gpu/0.01"]
    goals = [
        at_least(
            "power at +1 %, GPU-like sessions, at most 10 pairs, floor 0, min effect 0",
            0.95,
            right / runs,
            metrics.binomial_interval(right, runs),
            ".3f",
        )
    ]
    spread = metrics.binomial_interval(25, 500)
    text = f"""\
{SESSIONS} adjacent pairs of sessions, 10 iterations each; A/A rate, then power at the effects named.
{plan.pick(2000, 500)} repetitions for stepwatch, {plan.pick(500, 50)} for the others (a rate of .05 in 500 is
known to {between(spread, ".3f")}). stepwatch looks after every pair and may stop early; the others look once.

"""
    header = ["method"]
    for scenario, effects in EFFECTS.items():
        header.append(f"{scenario}: A/A" + "".join(f" / {effect:+.0%}" for effect in effects[1:]))
    return Section(text=text + grid(header, rows), goals=goals)
