"""What `stepwatch calibrate` prints, one block per kind of finding."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evidence_factory import calibration_record

from stepwatch.render import render_calibration
from stepwatch.stats.calibration import Detectable, FalseAlarms
from stepwatch.stats.noise import Noise

if TYPE_CHECKING:
    from collections.abc import Callable

ONCE = Noise(
    within_sd=None, within_autocorrelation=None, between_sd=0.14, pair_sd=0.21, pair_sd_robust=0.19,
    pair_autocorrelation=None,
)  # fmt: skip
RECORDS = {
    "found": calibration_record(),
    "open above": calibration_record(detectable=Detectable(effect=0.61, low=0.44, high=None)),
    "nothing": calibration_record(
        "mlp.bench.JaxJit.track_compile_cold",
        noise=ONCE,
        detectable=Detectable(effect=None, low=0.7, high=None),
        false_alarms=FalseAlarms(rate=0.0, low=0.0, high=0.002, unchanged=0.0, mean_pairs=24.0),
    ),
    "too few": calibration_record(pairs=4, detectable=None, false_alarms=None),
    "one pair": calibration_record(pairs=1, noise=None, detectable=None, false_alarms=None),
    "exact": calibration_record(
        "mlp.bench.JaxJit.track_temp_bytes", exact=True, noise=None, detectable=None, false_alarms=None
    ),
    "hostile": calibration_record("\x1b[2J\u202e" + "x" * 90),
}


def test_calibrations_in_80_columns(golden: Callable[[str, str], None]) -> None:
    text = "".join(f"{render_calibration(record, width=80)}\n" for record in RECORDS.values())
    assert text.replace("\n", "").isprintable(), "nothing that a terminal acts on"
    golden("render/calibration.txt", text)


def test_lines_stay_within_the_width() -> None:
    for width in (60, 80, 120):
        for name, record in RECORDS.items():
            if name != "hostile":
                lines = render_calibration(record, width=width).splitlines()
                assert max(map(len, lines)) <= width, name
