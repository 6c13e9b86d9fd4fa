"""Synthetic series and timings whose truth is known.

The definitions are stated in docs/explanation/statistics.md; names of parameters follow them. Everything is
drawn from the `rng` that is passed in, so a seed fixes every figure.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Steps = list[tuple[Floats, list[int]]]

KINDS = ("iid", "t3", "ar1", "bimodal", "spikes", "drift", "variance")
"""Histories without change."""
STEP_KINDS = ("iid", "t3", "ar1", "spikes")
ONLINE_KINDS = ("iid", "t3", "ar1")
EDGE = 30
"""No step lies nearer than this to an end."""
APART = 40
"""Steps lie at least this far from each other."""


def autoregressive(noise: Floats, coefficient: float) -> Floats:
    """AR(1) along the last axis with the stationary variance of `noise` (unit in, unit out)."""
    values = np.array(noise, dtype=float)
    fresh = np.sqrt(1 - coefficient**2)
    for i in range(1, values.shape[-1]):
        values[..., i] = coefficient * values[..., i - 1] + fresh * noise[..., i]
    return values


def _errors(kind: str, rng: np.random.Generator, shape: tuple[int, int]) -> Floats:
    """Relative errors e of one kind, shape (series, n)."""
    normal = rng.standard_normal(shape)
    place = np.arange(shape[1]) / shape[1]
    match kind:
        case "iid":
            errors = 0.01 * normal
        case "t3":
            errors = 0.01 * rng.standard_t(3, shape)
        case "ar1":
            errors = 0.01 * autoregressive(normal, 0.5)
        case "bimodal":
            errors = 0.003 * normal + 0.05 * (rng.random(shape) < 0.3)
        case "spikes":
            errors = 0.005 * normal + (rng.random(shape) < 0.03) * rng.exponential(0.2, shape)
        case "drift":
            errors = 0.01 * normal + 0.05 * place
        case "variance":
            errors = normal * np.where(place < 0.5, 0.005, 0.015)
        case _:
            raise ValueError(f"no such kind of history: {kind}")
    return errors


def no_change(kind: str, rng: np.random.Generator, *, n: int = 500, series: int = 200) -> Floats:
    """Histories without a level change: shape (series, n), level 1."""
    return 1 + _errors(kind, rng, (series, n))


def steps(kind: str, size: float, rng: np.random.Generator, *, n: int = 500, series: int = 100) -> Steps:
    """Histories with up to three steps of `size` (0.02 = 2 %), up or down with equal chance.

    Returns:
        (values of shape (n,), rising 0-based indices of the first points of the new levels) per series.
    """
    return [(values, list(ratios)) for values, ratios in signed_steps(kind, size, rng, n=n, series=series)]


def signed_steps(
    kind: str, size: float, rng: np.random.Generator, *, n: int = 500, series: int = 100
) -> list[tuple[Floats, dict[int, float]]]:
    """As `steps`, with the true ratio (new level over old) of each position."""
    made = []
    for values in no_change(kind, rng, n=n, series=series):
        positions = _positions(rng, int(rng.integers(4)), n)
        ratios = {position: 1 + size * (1 if rng.random() < 0.5 else -1) for position in positions}
        level = np.ones(n)
        for position, ratio in ratios.items():
            level[position:] *= ratio
        made.append((values * level, ratios))
    return made


def _positions(rng: np.random.Generator, count: int, n: int) -> list[int]:
    while True:
        drawn = np.sort(rng.integers(EDGE, n - EDGE, count))
        if count < 2 or np.diff(drawn).min() >= APART:
            return [int(position) for position in drawn]


def online(
    kind: str,
    size: float,
    rng: np.random.Generator,
    *,
    n: int = 160,
    series: int = 100,
    at: int = 110,
    scale: float = 1.0,
) -> Floats:
    """Histories with one upward step of `size` at index `at` (0: none): shape (series, n).

    The errors of the kind are multiplied by `scale`: 2 gives iid noise of 2 %.
    """
    values = 1 + scale * _errors(kind, rng, (series, n))
    values[:, at:] *= 1 + size
    return values


@dataclass(frozen=True, slots=True, kw_only=True)
class Machine:
    """Noise on the log scale; `spike` is a probability, the others are standard deviations."""

    process: float
    iteration: float
    drift: float
    spike: float
    bimodal: bool = False


SCENARIOS = {
    "base": Machine(process=0.010, iteration=0.010, drift=0.006, spike=0.05),
    "quiet": Machine(process=0.003, iteration=0.020, drift=0.002, spike=0.05),
    "bimodal": Machine(process=0.010, iteration=0.010, drift=0.006, spike=0.05, bimodal=True),
    "gpu": Machine(process=0.003, iteration=0.003, drift=0.003, spike=0.01),
}
"""Process-level timings, iteration by iteration."""
NOISES = {
    "G": Machine(process=0.003, iteration=0.003, drift=0.003, spike=0.005),
    "C": Machine(process=0.01, iteration=0.01, drift=0.006, spike=0.01),
    "H": Machine(process=0.02, iteration=0.019, drift=0.02, spike=0.01),
}
"""Paired log ratios: G like a GPU, C a CPU of a CI service, H heavy."""


def _machine_drift(machine: Machine, rng: np.random.Generator, shape: tuple[int, int]) -> Floats:
    """u: AR(1) over the slots, coefficient exp(-1/8), stationary standard deviation `drift`."""
    return machine.drift * autoregressive(rng.standard_normal(shape), float(np.exp(-1 / 8)))


def _sides(slots: Floats, rng: np.random.Generator) -> tuple[Floats, Floats]:
    """Adjacent slots (axis 1) as (base, head), in random order inside each pair."""
    first, second = slots[:, 0::2], slots[:, 1::2]
    swapped = rng.random(first.shape[:2]) < 0.5
    swapped = swapped.reshape(swapped.shape + (1,) * (slots.ndim - 2))
    return np.where(swapped, second, first), np.where(swapped, first, second)


def process_pairs(
    scenario: str,
    rng: np.random.Generator,
    pairs: int,
    effect: float = 0.0,
    *,
    iterations: int = 10,
    repetitions: int | None = None,
) -> tuple[Floats, Floats]:
    """Times (level 1) of interleaved sessions: base, head; each of shape ([repetitions,] pairs, iterations).

    Args:
        scenario: a key of `SCENARIOS`, or of `NOISES` for that noise iteration by iteration.
        rng: source of all randomness.
        pairs: adjacent pairs, order random inside each.
        effect: head is slower by this share (0.02 = 2 %).
        iterations: samples per session.
        repetitions: leading axis; None for none.
    """
    machine = (SCENARIOS | NOISES)[scenario]
    count = repetitions or 1
    shape = (count, 2 * pairs)
    slots = _machine_drift(machine, rng, shape) + machine.process * rng.standard_normal(shape)
    if machine.bimodal:
        slots += 0.05 * (rng.random(shape) < 0.3)
    inner = (*shape, iterations)
    within = autoregressive(rng.standard_t(4, inner) / np.sqrt(2), 0.5)
    spikes = (rng.random(inner) < machine.spike) * rng.exponential(0.2, inner)
    base, head = _sides(slots[..., None] + machine.iteration * within + spikes, rng)
    base, head = np.exp(base), np.exp(head) * (1 + effect)
    return (base[0], head[0]) if repetitions is None else (base, head)


def pair_log_ratios(
    noise: str,
    rng: np.random.Generator,
    pairs: int,
    effect: float = 0.0,
    *,
    repetitions: int | None = None,
) -> Floats:
    """Log ratios head over base, one per pair: shape ([repetitions,] pairs); `noise` is a key of `NOISES`."""
    machine = NOISES[noise]
    count = repetitions or 1
    shape = (count, 2 * pairs)
    slots = _machine_drift(machine, rng, shape) + machine.process * rng.standard_t(4, shape) / np.sqrt(2)
    slots += (rng.random(shape) < machine.spike) * rng.exponential(0.1, shape)
    slots += 1.25 * machine.iteration * rng.standard_normal(shape) / np.sqrt(10)
    base, head = _sides(slots, rng)
    ratios = head - base + np.log1p(effect)
    return ratios[0] if repetitions is None else ratios


def family(
    rng: np.random.Generator,
    *,
    noise: str = "C",
    benchmarks: int = 200,
    affected: int = 10,
    effect: float = 0.03,
    pairs: int = 30,
) -> tuple[Floats, NDArray[np.bool_]]:
    """One report: log ratios of shape (benchmarks, pairs), and which benchmarks truly changed."""
    changed = np.arange(benchmarks) < affected
    ratios = pair_log_ratios(noise, rng, pairs, repetitions=benchmarks)
    ratios[changed] += np.log1p(effect)
    return ratios, changed


def _wild(normal: Floats, rng: np.random.Generator) -> Floats:
    """One session in 20 is slower by 20 to 100 %, whichever side it is on."""
    slow = np.log1p(rng.uniform(0.2, 1.0, (2, *normal.shape))) * (rng.random((2, *normal.shape)) < 0.05)
    return normal + slow[0] - slow[1]


def _spiked(normal: Floats, rng: np.random.Generator) -> Floats:
    """Sessions disturbed now and then: B(.03) Exp(.2) on either side."""
    extra = rng.exponential(0.2, (2, *normal.shape)) * (rng.random((2, *normal.shape)) < 0.03)
    return normal + extra[0] - extra[1]


def _humps(sd: float, shape: tuple[int, int], rng: np.random.Generator) -> Floats:
    """Each session sits in one of two modes 5 % apart (the slow one 3 times in 10)."""
    mode = 0.05 * (rng.random((2, *shape)) < 0.3)
    return 0.3 * sd * rng.standard_normal(shape) + mode[0] - mode[1]


PAIR_NOISES: dict[str, Callable[[float, tuple[int, int], np.random.Generator], Floats]] = {
    "normal": lambda sd, shape, rng: sd * rng.standard_normal(shape),
    "t4": lambda sd, shape, rng: sd * rng.standard_t(4, shape) / np.sqrt(2),
    "t3": lambda sd, shape, rng: sd * rng.standard_t(3, shape) / np.sqrt(3),
    "spikes": lambda sd, shape, rng: _spiked(sd * rng.standard_normal(shape), rng),
    "wild": lambda sd, shape, rng: _wild(sd * rng.standard_normal(shape), rng),
    "humps": _humps,
    "ar1": lambda sd, shape, rng: sd * autoregressive(rng.standard_normal(shape), 0.5),
}
"""Differences of pairs under optional stopping; each takes the pair's standard deviation."""


def pair_noise(
    kind: str, rng: np.random.Generator, repetitions: int, pairs: int, *, session_sd: float = 0.01
) -> Floats:
    """Log ratios of identical sides: shape (repetitions, pairs); a pair's sd is `session_sd` sqrt 2.

    `kind` is a key of `PAIR_NOISES`; t4 and t3 are scaled to that standard deviation, `spikes` and `wild` add
    to it, `humps` replaces most of it by two modes, `ar1` correlates neighbouring pairs with 0.5.
    """
    return PAIR_NOISES[kind](session_sd * np.sqrt(2), (repetitions, pairs), rng)
