"""What a decision rule does on this machine's own noise: false alarms, and the smallest change it finds.

Both are found by replaying recorded A/A pairs. In a pair of identical code only the *places* differ (which
of the two ran first), and the campaign draws which side gets which place; so a replay takes blocks of
consecutive recorded place differences, as they were, and draws the sides anew in the way a campaign does
(every second round reverses the one before). That is the distribution of the pair log ratios under "nothing
changed" with the machine's own tails, its own effect of order and its own short-range dependence; a change is
added to it as a shift. Each replay is judged after every pair, as `compare` does.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import numpy as np
from scipy.special import betaincinv

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

FEWEST_PAIRS = 6
"""Fewer recorded pairs cannot stand for the noise of a machine."""
LARGEST_EFFECT = 1.0
"""The largest change tried: twice as slow."""
POWER = 0.9
"""How often a change must be called to count as detectable."""
CONFIDENCE = 0.95
REPLAYS = 2000
"""For a rate."""
_SHIFTED_REPLAYS = 800
"""For each effect tried: the standard error of a power of .9 is then .011."""
_WORLDS = 25
"""Bootstrap worlds: other sets of pairs that this machine might have given."""
_REPLAYS_PER_WORLD = 60
_HALVINGS, _HALVINGS_PER_WORLD = 10, 6
_SMALLEST_LOG = 1e-4
_WORLD_SPAN = 3.0
"""Worlds are searched from this part of the effect that was found."""
_TAIL = (1 - CONFIDENCE) / 2
_NORMAL_90 = 1.2815515655446004
"""The .9 quantile of the standard normal distribution."""
_LARGEST_LOG = 50.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Endings:
    """How replays ended; every array has shape (R,)."""

    direction: NDArray[np.int8]
    """+1: called, contender above baseline; -1: called, below; 0: not called."""
    unchanged: NDArray[np.bool_]
    """Proven to lie within the minimal effect."""
    pairs: NDArray[np.int64]
    """Pairs used until the decision, all of them where there was none."""


class Rule(Protocol):
    """A sequential decision rule: looks after every pair, stops at its first decision."""

    def __call__(self, differences: NDArray[np.float64], /) -> Endings:
        """Judge replays of shape (R, n), log ratios in the order of the pairs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FalseAlarms:
    """How often identical code is called changed, in either direction, by the end of the budget."""

    rate: float
    low: float
    high: float
    """95 %: the wider of the binomial interval of the replays (Clopper and Pearson) and the bootstrap
    interval over the recorded pairs."""
    unchanged: float
    """Share of replays proven unchanged."""
    mean_pairs: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Detectable:
    """The minimal detectable effect, fractions; all None: even `LARGEST_EFFECT` is called too rarely."""

    effect: float | None
    low: float | None
    high: float | None
    """95 % bootstrap interval over the recorded pairs; None above: beyond `LARGEST_EFFECT`."""


def false_alarms(places: ArrayLike, rule: Rule, *, pairs: int, seed: int) -> FalseAlarms:
    """Judge replays of A/A pairs and count the alarms.

    Args:
        places: shape (m,), m >= `FEWEST_PAIRS`: log value of the session that ran second less that of the
            one that ran first, in the order of the pairs.
        rule: the decision rule at the policy's margins.
        pairs: how many pairs the budget pays for.
        seed: of the replays.

    Raises:
        ValueError: too few pairs, or one that is not finite.
    """
    recorded = _checked(places)
    rng = np.random.default_rng(seed)
    endings = rule(replay(recorded[None], rng, replays=REPLAYS, pairs=pairs)[0])
    alarms = int(np.count_nonzero(endings.direction))
    low, high = clopper_pearson(alarms, REPLAYS)
    worlds = replay(_worlds(recorded, rng), rng, replays=_REPLAYS_PER_WORLD, pairs=pairs)
    called = rule(worlds.reshape(-1, pairs)).direction.reshape(_WORLDS, _REPLAYS_PER_WORLD) != 0
    least, most = np.quantile(called.mean(axis=1), (_TAIL, 1 - _TAIL))
    return FalseAlarms(
        rate=alarms / REPLAYS,
        low=min(low, float(least)),
        high=max(high, float(most)),
        unchanged=float(endings.unchanged.mean()),
        mean_pairs=float(endings.pairs.mean()),
    )


def detectable(places: ArrayLike, rule: Rule, *, pairs: int, seed: int) -> Detectable:
    """The smallest change that the rule calls, in the right direction, with probability `POWER`.

    Replays are shifted by log(1 + effect) and the effect is halved down to; the same replays serve every
    effect, so the answer does not jitter. By symmetry of the replays a speed-up is found as well as a
    slow-down of the same logarithm.

    Args and errors: as of `false_alarms`.
    """
    recorded = _checked(places)
    rng = np.random.default_rng(seed)
    largest = math.log1p(LARGEST_EFFECT)
    replays = replay(recorded[None], rng, replays=_SHIFTED_REPLAYS, pairs=pairs)
    (effect,) = _smallest_found(replays, rule, (_SMALLEST_LOG, largest), halvings=_HALVINGS)
    span = max(min(float(effect), largest) / _WORLD_SPAN, _SMALLEST_LOG), largest
    worlds = replay(_worlds(recorded, rng), rng, replays=_REPLAYS_PER_WORLD, pairs=pairs)
    effects = _smallest_found(worlds, rule, span, halvings=_HALVINGS_PER_WORLD)
    # `lower` and `higher`, not between them: half way to "beyond everything tried" is no effect.
    low = float(np.quantile(effects, _TAIL, method="lower"))
    high = float(np.quantile(effects, 1 - _TAIL, method="higher"))
    return Detectable(
        effect=_fraction(float(effect)),
        low=_fraction(min(low, float(effect))),
        high=_fraction(max(high, float(effect))),
    )


def detectable_by_interval(
    half_width: float, standard_error: float, *, pairs: int, floor: float
) -> float | None:
    """The effect (a fraction) that pairs as noisy as these, and as many, would call: an estimate.

    A change is called when its confidence interval, centre +- half width, lies beyond the floor. Both the
    centre and the width vary: the centre with its standard error, the width as the standard deviation of n
    normal pairs, by a share of 1 / sqrt(2 (n - 1)). So an effect of floor + half width + 1.28 standard
    deviations of both together is called with probability .9; stopping early only adds to that.

    Args:
        half_width: of the interval, log scale; infinite: too few pairs for any.
        standard_error: of the centre, log scale.
        pairs: n, at least 2.
        floor: log scale.
    """
    if not math.isfinite(half_width):
        return None
    spread = math.hypot(standard_error, half_width / math.sqrt(2 * (pairs - 1)))
    effect = floor + half_width + _NORMAL_90 * spread
    return math.expm1(effect) if effect < _LARGEST_LOG else None


def power_at(places: ArrayLike, rule: Rule, effect: float, *, pairs: int, seed: int) -> float:
    """How often a change by the fraction `effect` is called in the right direction.

    Args and errors: as of `false_alarms`.
    """
    replays = replay(_checked(places)[None], np.random.default_rng(seed), replays=REPLAYS, pairs=pairs)
    return float(_power(replays, rule, np.log1p([effect]))[0])


def replay(
    places: NDArray[np.float64], rng: np.random.Generator, *, replays: int, pairs: int
) -> NDArray[np.float64]:
    """Draw what identical code might have given: blocks of recorded pairs, sides drawn as a campaign does.

    Blocks wrap around and have the length m^(1/3), rounded up, the usual order for a block bootstrap.

    Args:
        places: shape (W, m), place differences of W sets of pairs.
        rng: source of every draw.
        replays: R, per set.
        pairs: n, length of each replay.

    Returns:
        Shape (W, R, n): log contender - log baseline.
    """
    worlds = places.shape[0]
    index = _block_index(rng, (worlds, replays), recorded=places.shape[1], pairs=pairs)
    drawn = np.take_along_axis(places[:, None, :], index, axis=2)
    tosses = rng.integers(0, 2, size=(worlds, replays, -(-pairs // 2))) * 2.0 - 1.0
    sides = np.stack([tosses, -tosses], axis=3).reshape(worlds, replays, -1)[..., :pairs]
    signed: NDArray[np.float64] = drawn * sides
    return signed


def clopper_pearson(hits: int, trials: int) -> tuple[float, float]:
    """The exact binomial interval of level `CONFIDENCE` for a rate of which `hits` of `trials` were seen."""
    low = float(betaincinv(hits, trials - hits + 1, _TAIL)) if hits else 0.0
    high = float(betaincinv(hits + 1, trials - hits, 1 - _TAIL)) if hits < trials else 1.0
    return low, high


def _checked(places: ArrayLike) -> NDArray[np.float64]:
    array = np.asarray(places, dtype=float)
    if array.size < FEWEST_PAIRS or not np.isfinite(array).all():
        raise ValueError(f"a calibration needs {FEWEST_PAIRS} finite pairs")
    return array


def _worlds(recorded: NDArray[np.float64], rng: np.random.Generator) -> NDArray[np.float64]:
    """Sets of as many pairs as were recorded, drawn in blocks; shape (W, m)."""
    index = _block_index(rng, (_WORLDS,), recorded=recorded.size, pairs=recorded.size)
    worlds: NDArray[np.float64] = recorded[index]
    return worlds


def _block_index(
    rng: np.random.Generator, shape: tuple[int, ...], *, recorded: int, pairs: int
) -> NDArray[np.int64]:
    """Which recorded pair stands at each place of a replay; shape (*shape, pairs)."""
    length = math.ceil(recorded ** (1 / 3))
    starts = rng.integers(0, recorded, size=(*shape, -(-pairs // length)))
    runs = (starts[..., None] + np.arange(length)) % recorded
    index: NDArray[np.int64] = runs.reshape(*shape, -1)[..., :pairs]
    return index


def _smallest_found(
    replays: NDArray[np.float64], rule: Rule, span: tuple[float, float], *, halvings: int
) -> NDArray[np.float64]:
    """The smallest log effect found with probability `POWER`, in each of W sets; infinite: none in the span.

    Bisection on a logarithmic scale, so that small effects are as precise as large ones.

    Args:
        replays: shape (W, R, n), as of identical code.
        rule: the decision rule.
        span: smallest and largest log effect tried, positive.
        halvings: of the span.
    """
    low, high = (np.full(replays.shape[0], end) for end in span)
    reachable = _power(replays, rule, high) >= POWER
    for _ in range(halvings):
        middle = np.sqrt(low * high)
        found = _power(replays, rule, middle) >= POWER
        low, high = np.where(found, low, middle), np.where(found, middle, high)
    return np.where(reachable, high, math.inf)


def _power(replays: NDArray[np.float64], rule: Rule, effects: NDArray[np.float64]) -> NDArray[np.float64]:
    """Share of each set's replays called above when shifted by its effect; shape (W,)."""
    shifted = replays + effects[:, None, None]
    direction = rule(shifted.reshape(-1, replays.shape[2])).direction
    share: NDArray[np.float64] = (direction.reshape(replays.shape[:2]) > 0).mean(axis=1)
    return share


def _fraction(log_effect: float) -> float | None:
    return math.expm1(log_effect) if math.isfinite(log_effect) else None
