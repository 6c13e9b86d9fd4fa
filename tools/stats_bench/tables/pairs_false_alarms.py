"""A/A under optional stopping: how often identical code is called different."""

from __future__ import annotations

from stats_bench import generators, metrics, sequential
from stats_bench.plan import Goal, Piece, Plan, Section, Value, at_most, between, grid, rng

NAME = "pairs-false-alarms"
TITLE = "Pairs: false alarms when looking after every pair"
FLOOR, MIN_EFFECT = 0.0025, 0.02
METHODS = ("ours", "plain", "peeking", "obrien-fleming", "fixed")
SCENARIOS = tuple(f"sessions:{name}" for name in generators.SCENARIOS)
CASES = [
    *((noise, FLOOR) for noise in generators.PAIR_NOISES),
    ("ar1", 0.01),
    *((noise, FLOOR) for noise in generators.NOISES),
    *((noise, FLOOR) for noise in SCENARIOS),
]
LIMITS = {
    **dict.fromkeys([(noise, FLOOR) for noise in ("normal", "t4", "t3", "spikes", "wild", "humps")], 0.02),
    ("ar1", 0.01): 0.02,
    ("G", FLOOR): 0.01,
    **dict.fromkeys([(noise, FLOOR) for noise in ("C", "H", *SCENARIOS)], 0.05),
}


def alarms(*, method: str, noise: str, floor: float, seed: int, repetitions: int) -> dict[str, float]:
    """Outcomes of A/A comparisons."""
    differences = sequential.draw(noise, rng(seed, NAME, noise), repetitions)
    return sequential.tally(*sequential.judge(method, floor=floor, min_effect=MIN_EFFECT)(differences))


def pieces(plan: Plan) -> list[Piece]:
    """One piece per method and case; the floor is stepwatch's alone."""
    return [
        Piece(
            key=f"{method}/{noise}/{floor}",
            subject="ours-pairs",
            function=alarms,
            arguments={
                "method": method,
                "noise": noise,
                "floor": floor,
                "seed": plan.seed,
                "repetitions": plan.pick(4000, 1000),
            },
        )
        for method in METHODS
        for noise, floor in CASES
        if method == "ours" or floor == FLOOR
    ]


def section(plan: Plan, values: dict[str, Value]) -> Section:
    """False-alarm rates of every method; pairs and unchanged share of ours."""
    rows: list[list[str]] = []
    goals: list[Goal] = []
    for noise, floor in CASES:
        mine = values[f"ours/{noise}/{floor}"]
        false = mine["slower"] + mine["faster"]
        interval = metrics.binomial_interval(false, mine["runs"])
        label = f"{noise.removeprefix('sessions:')}{', sessions' if ':' in noise else ''}"
        row = [label, f"{floor:.2%}", f"**{false / mine['runs']:.2%}** ({between(interval, '.2%')})"]
        row += [f"{mine['same'] / mine['runs']:.3f}", f"{mine['pairs']:.1f}"]
        for method in METHODS[1:]:
            other = values[f"{method}/{noise}/{FLOOR}"]
            row.append(f"{(other['slower'] + other['faster']) / other['runs']:.1%}")
        rows.append(row)
        if (noise, floor) in LIMITS:
            what = f"A/A false alarms, {label}, floor {floor:.2%}"
            goals.append(at_most(what, LIMITS[noise, floor], false / mine["runs"], interval, ".2%"))
    header = ["pair noise", "floor", "stepwatch: false alarms", "unchanged", "pairs"]
    header += [sequential.TITLES[method] for method in METHODS[1:]]
    text = f"""\
{plan.pick(4000, 1000)} A/A comparisons per cell, looked at after every pair up to {sequential.CAP}; any call,
in either direction, is a false alarm. stepwatch: alpha 5 %, minimal effect {MIN_EFFECT:.0%}. Rows: pair
noise of a between-session sd of 1 % (normal, t4, t3, spikes, one wild session in 20, two humps, AR(1) 0.5);
G, C, H; and sessions of 10 iterations each, which stepwatch reduces to one value.

"""
    return Section(text=text + grid(header, rows), goals=goals)
