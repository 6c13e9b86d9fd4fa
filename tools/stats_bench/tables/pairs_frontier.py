"""False alarms against power over the floor: why the default floor is what it is."""

from __future__ import annotations

from stats_bench import sequential
from stats_bench.page import IMAGES
from stats_bench.plan import Piece, Plan, Section, Value, grid, rng
from stats_bench.plots import Curve, frontier

NAME = "pairs-frontier"
TITLE = "Pairs: the frontier of false alarms and power"
FLOORS = (0.0, 0.001, 0.0025, 0.005, 0.0075, 0.01, 0.015)
NOISES = ("normal", "t3", "wild", "ar1")
EFFECTS = (0.0, 0.02, 0.03)
PEERS = ("plain", "peeking", "obrien-fleming", "fixed")
IMAGE = "pairs-frontier.svg"


def outcomes(
    *, method: str, noise: str, effect: float, floor: float, seed: int, repetitions: int
) -> dict[str, float]:
    """Outcomes at one floor."""
    differences = sequential.draw(noise, rng(seed, NAME, noise, effect), repetitions, effect=effect)
    return sequential.tally(*sequential.judge(method, floor=floor, min_effect=0.02)(differences))


def pieces(plan: Plan) -> list[Piece]:
    """Stepwatch at every floor, the others once."""
    settings = [("ours", floor) for floor in FLOORS] + [(peer, 0.0) for peer in PEERS]
    return [
        Piece(
            key=f"{method}/{noise}/{effect}/{floor}",
            subject="ours-pairs",
            function=outcomes,
            arguments={
                "method": method,
                "noise": noise,
                "effect": effect,
                "floor": floor,
                "seed": plan.seed,
                "repetitions": plan.pick(2000, 500),
            },
        )
        for method, floor in settings
        for noise in NOISES
        for effect in EFFECTS
    ]


def _called(value: dict[str, float]) -> float:
    return (value["slower"] + value["faster"]) / value["runs"]


def _power(value: dict[str, float]) -> float:
    return value["slower"] / value["runs"]


def _curve(values: dict[str, Value], method: str, noise: str, floors: tuple[float, ...]) -> Curve:
    correlated = noise == "ar1"
    mine = method == "ours"
    return Curve(
        label=f"{sequential.TITLES[method].strip('*')}, {'AR(1) 0.5' if correlated else noise}",
        x=[_called(values[f"{method}/{noise}/0.0/{floor}"]) for floor in floors],
        y=[_power(values[f"{method}/{noise}/0.02/{floor}"]) for floor in floors],
        ours=mine,
        line="--" if correlated else "-",
        hollow=correlated,
        notes=tuple(f"{floor:.2%}" for floor in floors) if mine and correlated else (),
    )


def _curves(values: dict[str, Value]) -> list[Curve]:
    methods = [("ours", FLOORS), *((peer, (0.0,)) for peer in PEERS)]
    return [
        _curve(values, method, noise, floors) for noise in ("normal", "ar1") for method, floors in methods
    ]


def section(plan: Plan, values: dict[str, Value]) -> Section:
    """False alarms, and power at +2 and +3 % with the mean number of pairs, at every floor."""
    rows = []
    for method, floors in (("ours", FLOORS), *((peer, (0.0,)) for peer in PEERS)):
        for floor in floors:
            row = [sequential.TITLES[method], f"{floor:.2%}" if method == "ours" else "-"]
            for noise in NOISES:
                none, two, three = (values[f"{method}/{noise}/{effect}/{floor}"] for effect in EFFECTS)
                powers = " / ".join(f"{_power(value):.3f}" for value in (two, three))
                row.append(f"{_called(none):.2%}; {powers} ({two['pairs']:.1f})")
            rows.append(row)
    frontier(
        IMAGES / IMAGE,
        _curves(values),
        x="A/A false alarms (share of comparisons)",
        y="power at +2 %",
        title="Between-session sd 1 %, at most 30 pairs; stepwatch over its floors",
        goal=(0.02, 0.95),
    )
    text = f"""\
{plan.pick(2000, 500)} comparisons per cell, between-session sd 1 %, at most {sequential.CAP} pairs, minimal
effect 2 %. Cells: A/A false alarms; power at +2 / +3 % (mean pairs at +2 %). The dotted
lines of the plot are the goals.

![False alarms against power over the floors](img/{IMAGE})

"""
    return Section(text=text + grid(["method", "floor", *NOISES], rows))
