"""The rule that decides rows, as something that can be asked about many made-up rows at once."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from stepwatch.stats import Margins, sequential_outcomes
from stepwatch.stats.calibration import Endings

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from stepwatch.policy import Policy
    from stepwatch.stats.calibration import Rule

_WITHIN = 2


def decision_rule(policy: Policy, *, family: int) -> Rule:
    """How a row ends that is judged after every pair.

    Args:
        policy: its margins and error rate.
        family: rows judged together, among which only this one changes; e-BH asks for that many times the
            evidence of it.
    """
    margins = Margins(floor=policy.floor, min_effect=policy.min_effect, alpha=policy.alpha, family=family)

    def rule(differences: NDArray[np.float64], /) -> Endings:
        found = sequential_outcomes(differences, margins)
        unchanged = found.codes == _WITHIN
        return Endings(direction=np.where(unchanged, 0, found.codes), unchanged=unchanged, pairs=found.pairs)

    return rule
