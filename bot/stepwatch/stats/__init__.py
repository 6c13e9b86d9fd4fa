"""The mathematics of judging: arrays in, frozen results out; no word of benchmarks or releases."""

from stepwatch.stats.multiplicity import e_bh
from stepwatch.stats.pairwise import Estimate, PairedTest, minimum_pairs
from stepwatch.stats.summary import session_value, typical_value

__all__ = ["Estimate", "PairedTest", "e_bh", "minimum_pairs", "session_value", "typical_value"]
