"""Recorded pairs of any origin: one JSON object per line.

    {"benchmark": "step", "pair": 0, "baseline": [0.101, 0.099], "contender": [0.104, 0.103]}

The samples of one session each, positive numbers in any unit; optional `better` (`lower`, the default, or
`higher`) and `unit`, which must be the same in every line of a benchmark. Lines may come in any order; `pair`
says in which the sessions were measured.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated, Literal

import msgspec

from stepwatch.errors import MalformedFile
from stepwatch.stats import session_value
from stepwatch.units import Direction
from stepwatch.verdict.recorded import RecordedPairs

if TYPE_CHECKING:
    from collections.abc import Iterable

_LARGEST_PAIR = 1_000_000_000
Samples = Annotated[list[float], msgspec.Meta(min_length=1)]
Way = Literal["lower", "higher"]


class _Line(msgspec.Struct, frozen=True, kw_only=True):
    """One pair, as written; further fields are somebody else's."""

    benchmark: Annotated[str, msgspec.Meta(min_length=1)]
    pair: Annotated[int, msgspec.Meta(ge=0, le=_LARGEST_PAIR)]
    baseline: Samples
    contender: Samples
    better: Way | None = None
    direction: Way | None = None
    unit: str | None = None


@dataclass(slots=True)
class _Benchmark:
    """What was read of one benchmark so far."""

    traits: tuple[Direction, str | None]
    line: int
    pairs: dict[int, tuple[float, int]] = field(default_factory=dict)
    """Pair number -> log ratio, line."""


def read_pairs(lines: Iterable[bytes], path: str) -> list[RecordedPairs]:
    """Read pairs, in the order in which the file first names the benchmarks.

    Args:
        lines: of the file; blank ones are passed over.
        path: what errors call it.

    Raises:
        MalformedFile: a line that is no pair, a pair that is there twice, a benchmark with two directions or
            units, or no pair at all; names the line.
    """
    found: dict[str, _Benchmark] = {}
    decoder = msgspec.json.Decoder(_Line)
    for number, raw in enumerate(lines, start=1):
        text = raw.removeprefix(b"\xef\xbb\xbf") if number == 1 else raw
        if text.strip():
            _add(found, _decoded(decoder, text, path, number), path, number)
    if not found:
        raise MalformedFile(path, "no pairs in it", next_step=f"write one object per line: {_EXAMPLE}")
    return [
        RecordedPairs(
            benchmark=name,
            better=benchmark.traits[0],
            differences=tuple(value for _, (value, _) in sorted(benchmark.pairs.items())),
        )
        for name, benchmark in found.items()
    ]


_EXAMPLE = '{"benchmark": "step", "pair": 0, "baseline": [0.1], "contender": [0.2]}'


def _decoded(decoder: msgspec.json.Decoder[_Line], text: bytes, path: str, number: int) -> _Line:
    try:
        return decoder.decode(text)
    except msgspec.ValidationError as error:
        reason = str(error).replace(" - at `$.", " in `").replace(" - at `$`", "")
        raise MalformedFile(path, reason, place=str(number), next_step=f"a pair is {_EXAMPLE}") from error
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise MalformedFile(
            path,
            f"not a JSON object ({error})",
            place=str(number),
            next_step="one object per line; NaN and infinities are no JSON: leave such a pair out",
        ) from error


def _add(found: dict[str, _Benchmark], line: _Line, path: str, number: int) -> None:
    """Put one pair where it belongs."""
    if not line.benchmark.strip():
        raise MalformedFile(path, "the benchmark has no name", place=str(number))
    if line.better and line.direction and line.better != line.direction:
        raise MalformedFile(path, "`better` and `direction` contradict each other", place=str(number))
    traits = Direction(line.better or line.direction or "lower"), line.unit
    benchmark = found.setdefault(line.benchmark, _Benchmark(traits=traits, line=number))
    if benchmark.traits != traits:
        raise MalformedFile(
            path,
            f"another direction or unit of {line.benchmark!r} than on line {benchmark.line}",
            place=str(number),
            next_step="write the same `better` and `unit` in each of its lines",
        )
    if line.pair in benchmark.pairs:
        raise MalformedFile(
            path,
            f"pair {line.pair} of {line.benchmark!r} is already on line {benchmark.pairs[line.pair][1]}",
            place=str(number),
            next_step="give each pair a number of its own",
        )
    old, new = (
        _logarithm(samples, side, traits[0], path, number)
        for samples, side in ((line.baseline, "baseline"), (line.contender, "contender"))
    )
    benchmark.pairs[line.pair] = (new - old, number)


def _logarithm(samples: list[float], side: str, better: Direction, path: str, number: int) -> float:
    """Log of the session's value."""
    for sample in samples:
        if not 0 < sample < math.inf:
            raise MalformedFile(
                path,
                f"{side} holds {sample:g}: samples must be positive and finite",
                place=str(number),
                next_step="leave out a pair that could not be measured",
            )
    return math.log(session_value(samples, higher_is_better=better is Direction.HIGHER))
