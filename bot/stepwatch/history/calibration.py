"""Reading what `stepwatch calibrate` found: `results/<machine>/calibration.jsonl`.

One line per benchmark and metric, append-only, the newest one that fits wins (`stepwatch.verdict.detection`).
The name does not end in `.json`, because asv would take it for a result. A torn last line is what a kill
left of a calibration, and is none.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from stepwatch.errors import MalformedFile, UnsupportedSchema
from stepwatch.verdict.calibration import CALIBRATION_SCHEMA, CalibrationRecord

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

CALIBRATION_FILE = "calibration.jsonl"
CAMPAIGN_PREFIX = "calibration-"
"""How the campaigns are called that calibrations are made from."""
_END_OF_CALENDAR = 253_402_300_800.0
_LARGEST_AMOUNT = 1e9
"""Of seconds, and of effects and spreads as fractions."""
_LARGEST_COUNT = 1_000_000
"""What a report has room for."""
_NEXT_STEP = "take out this line, or move the file away and run `stepwatch calibrate` again"


class _Schema(msgspec.Struct, frozen=True):
    schema: int


_SCHEMA = msgspec.json.Decoder(_Schema)
_LINE = msgspec.json.Decoder(CalibrationRecord)


def calibration_path(results: Path, machine: str) -> Path:
    """Where the calibrations of a machine lie."""
    return results / machine / CALIBRATION_FILE


def is_calibration(campaign: str) -> bool:
    """Whether a campaign was measured to calibrate: nobody's comparison."""
    return campaign.startswith(CAMPAIGN_PREFIX)


def read_calibration(results: Path, machine: str) -> tuple[CalibrationRecord, ...]:
    """Every calibration of a machine, oldest first; empty where none was made.

    Raises:
        MalformedFile: a line is not what it should be; names it.
        UnsupportedSchema: a newer stepwatch wrote it.
    """
    path = calibration_path(results, machine)
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        return ()
    except OSError as error:
        reason = f"cannot be read: {(error.strerror or str(error)).lower()}"
        raise MalformedFile(path, reason, next_step="mend it or move it away") from error
    whole, newline, _ = data.rpartition(b"\n")
    return tuple(_records(path, whole)) if newline else ()


def _records(path: Path, whole: bytes) -> Iterator[CalibrationRecord]:
    for number, line in enumerate(whole.split(b"\n"), start=1):
        try:
            schema = _SCHEMA.decode(line).schema
            if schema != CALIBRATION_SCHEMA:
                raise UnsupportedSchema(path, schema, CALIBRATION_SCHEMA)
            record = _LINE.decode(line)
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            raise MalformedFile(path, str(error), place=str(number), next_step=_NEXT_STEP) from error
        except RecursionError as error:
            reason = "nested too deeply"
            raise MalformedFile(path, reason, place=str(number), next_step=_NEXT_STEP) from error
        if fault := fault_of(record):
            raise MalformedFile(path, fault, place=str(number), next_step=_NEXT_STEP)
        yield record


def fault_of(record: CalibrationRecord) -> str | None:
    """Why no calibration can say this; None: nothing speaks against it."""
    alarms, found, noise = record.false_alarms, record.detectable, record.noise
    shares = (alarms.rate, alarms.low, alarms.high, alarms.unchanged) if alarms else ()
    if not all(0 <= share <= 1 for share in shares):
        return "a rate outside 0 to 1"
    effects = (found.effect, found.low, found.high) if found else ()
    spreads = (noise.within_sd, noise.between_sd, noise.pair_sd, noise.pair_sd_robust) if noise else ()
    amounts = (*effects, *spreads, record.budget_seconds, record.pair_seconds, record.largest_effect)
    counts = (record.pairs, record.budget_pairs, record.family)
    if not all(0 <= amount < _LARGEST_AMOUNT for amount in amounts if amount is not None):
        return "a negative or absurd amount"
    if not all(0 <= count <= _LARGEST_COUNT for count in counts):
        return "a negative or absurd number of pairs or rows"
    if not 0 <= record.measured_at < _END_OF_CALENDAR:
        return f"measured at {record.measured_at:g} (Unix seconds), which cannot be"
    return None
