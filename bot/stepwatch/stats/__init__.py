"""The mathematics of judging: arrays in, frozen results out; no word of benchmarks or releases."""

from stepwatch.stats.family import family_outcomes
from stepwatch.stats.location import typical
from stepwatch.stats.multiplicity import e_bh
from stepwatch.stats.pairwise import (
    FEWEST_CALLED,
    FEWEST_SAME,
    Estimate,
    PairedTest,
    fewest_for_interval,
    intervals,
    log_e_beyond,
    log_e_within,
    minimum_pairs,
)
from stepwatch.stats.sequential import Decisions, Margins, sequential_outcomes
from stepwatch.stats.summary import session_value, typical_value

__all__ = [
    "FEWEST_CALLED",
    "FEWEST_SAME",
    "Decisions",
    "Estimate",
    "Margins",
    "PairedTest",
    "e_bh",
    "family_outcomes",
    "fewest_for_interval",
    "intervals",
    "log_e_beyond",
    "log_e_within",
    "minimum_pairs",
    "sequential_outcomes",
    "session_value",
    "typical",
    "typical_value",
]
