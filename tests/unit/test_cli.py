from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import click
import pytest

from stepwatch import cli
from stepwatch.errors import Busy, ConfigError, StorageFailed, UnknownBenchmark, UnknownRelease

ROOT = Path(__file__).resolve().parents[2]


def run(*arguments: str, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "stepwatch", *arguments], capture_output=True, text=True, check=False, cwd=cwd
    )


@pytest.mark.parametrize("name", sorted(cli.COMMANDS))
def test_every_command_has_help_with_an_example(name: str) -> None:
    command = cli.stepwatch.get_command(click.Context(cli.stepwatch), name)
    assert command is not None
    commands = list(command.commands.values()) if isinstance(command, click.Group) else [command]
    for each in commands:
        assert "Example" in each.get_help(click.Context(each)), each.name


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["mesure"], "no such command 'mesure'; did you mean 'measure'? (see `stepwatch --help`)"),
        (["xyz"], f"no such command 'xyz'; known: {', '.join(sorted(cli.COMMANDS))}"),
        (["measure", "--wrong"], "No such option"),
    ],
)
def test_wrong_usage_is_one_line_and_exit_2(arguments: list[str], message: str) -> None:
    done = run(*arguments)
    assert done.returncode == 2
    assert message in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_outside_a_tracker_is_one_line(tmp_path: Path) -> None:
    done = run("releases", "list", cwd=tmp_path)
    assert done.returncode == 2
    assert done.stderr.startswith(f"stepwatch: {tmp_path}: no asv.conf.json here or in a folder above; ")
    assert len(done.stderr.splitlines()) == 1


def fail(monkeypatch: pytest.MonkeyPatch, error: BaseException) -> int:
    def command(**_: object) -> None:
        raise error

    monkeypatch.setattr(cli.stepwatch, "main", command)
    with pytest.raises(SystemExit) as caught:
        cli.main([])
    return int(caught.value.code or 0)


def test_each_kind_of_error_has_its_exit_code(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert fail(monkeypatch, UnknownRelease("jax/9", ["jax/0.9.0"])) == 2
    assert fail(monkeypatch, StorageFailed("results/x", "no space left on device")) == 3
    assert fail(monkeypatch, click.exceptions.Abort()) == 130
    assert fail(monkeypatch, OSError(28, "No space left on device", "results/x")) == 3
    assert fail(monkeypatch, OSError("odd")) == 3
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 5
    assert lines[-2] == "stepwatch: results/x: No space left on device"


def test_messages_say_what_where_and_the_next_step() -> None:
    assert (
        str(ConfigError("stepwatch.toml", "unknown key", key="policy.x", line=3))
        == "stepwatch.toml:3: policy.x: unknown key"
    )
    assert "did you mean jax/0.4.33" in str(UnknownRelease("jax/0.4.3", ["jax/0.4.33"]))
    assert "stepwatch releases list" in str(UnknownRelease("x/1"))
    assert "closest: mlp" in str(UnknownBenchmark("mpl", ["mlp"]))
    assert "has no benchmark" in str(UnknownBenchmark("mpl"))
    assert "wait for it" in str(Busy("results/box", "process 12"))


@pytest.mark.parametrize("arguments", [["--help"], ["releases", "list", "--json"], ["releases", "list"]])
def test_a_closed_pipe_is_never_taken_for_a_regression(arguments: list[str]) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    command = [sys.executable, "-m", "stepwatch", *arguments]
    done = subprocess.run(command, stdout=writing, stderr=subprocess.PIPE, text=True, check=False, cwd=ROOT)
    os.close(writing)
    assert (done.returncode, done.stderr) == (141, "")


def test_the_exit_code_holds_when_nobody_reads_the_error_either(tmp_path: Path) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    command = [sys.executable, "-m", "stepwatch", "releases", "list"]
    done = subprocess.run(command, stdout=writing, stderr=writing, check=False, cwd=tmp_path)
    os.close(writing)
    assert done.returncode == 2


def test_other_exits_are_let_through(monkeypatch: pytest.MonkeyPatch) -> None:
    assert fail(monkeypatch, SystemExit(7)) == 7


def test_what_a_message_quotes_cannot_steer_a_terminal(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    fail(monkeypatch, Busy("results/\x1b[31m", "\x9bprocess"))
    fail(monkeypatch, click.UsageError("odd \x07"))
    fail(monkeypatch, FileNotFoundError("one\ntwo"))
    first, second, third = capsys.readouterr().err.splitlines()
    assert first.startswith(r"stepwatch: results/\x1b[31m: in use by \x9bprocess")
    assert second.startswith(r"stepwatch: odd \x07 (see")
    assert third == "stepwatch: file system: one two"
