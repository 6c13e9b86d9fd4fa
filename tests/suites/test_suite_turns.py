"""Two sessions take turns: never both at once, and nobody waits for one who has gone."""

from __future__ import annotations

import os
import threading
from typing import TYPE_CHECKING

import pytest
from suites._harness.errors import SessionError
from suites._harness.request import Request
from suites._harness.turns import Turns

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture
def pair() -> Iterator[tuple[Turns, Turns]]:
    to_first, to_second = os.pipe(), os.pipe()
    os.write(to_first[1], b".")
    first, second = Turns((to_first[0], to_second[1])), Turns((to_second[0], to_first[1]))
    yield first, second
    first.leave()
    second.leave()


def work(turns: Turns, name: str, slices: int, log: list[str]) -> None:
    turns.take()
    log.append(f"{name} starts")
    for number in range(slices):
        turns.switch()
        log.append(f"{name}{number}")
    turns.leave()


def run_both(pair: tuple[Turns, Turns], slices: tuple[int, int]) -> list[str]:
    log: list[str] = []
    threads = [
        threading.Thread(target=work, args=(turns, name, count, log), daemon=True)
        for turns, name, count in zip(pair, "ab", slices, strict=True)
    ]
    for thread in reversed(threads):  # the second one is there first: the order is not who comes first
        thread.start()
    for thread in threads:
        thread.join(20)
        assert not thread.is_alive(), log
    return log


def test_start_up_first_then_slice_by_slice(pair: tuple[Turns, Turns]) -> None:
    assert run_both(pair, (3, 3)) == ["a starts", "b starts", "a0", "b0", "a1", "b1", "a2", "b2"]
    assert pair[0].taken == 4
    assert pair[1].waited > 0


def test_the_longer_one_goes_on_alone(pair: tuple[Turns, Turns]) -> None:
    assert run_both(pair, (1, 4)) == ["a starts", "b starts", "a0", "b0", "b1", "b2", "b3"]


def test_a_partner_that_dies_before_its_turn_is_not_waited_for(pair: tuple[Turns, Turns]) -> None:
    first, second = pair
    second.leave()
    first.take()
    first.switch()
    assert first.pipes is None
    assert first.taken == 1


def test_a_partner_that_leaves_is_not_waited_for_though_the_pipe_stays_open(
    pair: tuple[Turns, Turns],
) -> None:
    first, second = pair
    assert second.pipes is not None
    held_by_a_daemon = os.dup(second.pipes[1])
    try:
        first.take()
        second.leave()
        first.take()
    finally:
        os.close(held_by_a_daemon)
    assert first.pipes is None
    assert first.taken == 1


def test_alone_nothing_waits() -> None:
    turns = Turns()
    turns.take()
    turns.switch()
    turns.leave()
    assert (turns.taken, turns.waited) == (0, 0.0)


def test_the_pipes_come_from_the_environment() -> None:
    assert Request.from_environ({"STEPWATCH_TURNS": "7,9"}).turns == (7, 9)
    assert Request.from_environ({}).turns is None
    for text in ("7", "a,b", "1,2,3"):
        with pytest.raises(SessionError, match="needed are two file descriptors"):
            Request.from_environ({"STEPWATCH_TURNS": text})
