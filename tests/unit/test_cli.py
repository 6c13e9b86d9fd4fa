from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

import click
import pytest

from stepwatch import cli
from stepwatch.errors import Busy, ConfigError, StorageFailed, UnknownBenchmark, UnknownRelease

if TYPE_CHECKING:
    from pathlib import Path


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
        (["xyz"], "no such command 'xyz'; known: analyse, demo, measure, releases, render, site"),
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
