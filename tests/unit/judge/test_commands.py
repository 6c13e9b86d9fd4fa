"""`analyse` and `render` from the outside: exit codes, one-line errors, files."""

from __future__ import annotations

import json
from pathlib import Path

import jsonschema
import msgspec
import pytest
from evidence_factory import NEW, OLD, header, line_of, noisy, pairs

import stepwatch
from stepwatch.cli import main
from stepwatch.model import Release

SCHEMA = json.loads((Path(stepwatch.__file__).parent / "report.schema.json").read_bytes())


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A checkout with release tables and one campaign of eight slower pairs."""
    (tmp_path / "asv.conf.json").write_text(
        json.dumps(
            {
                "version": 1,
                "project": "p",
                "repo": "r.git",
                "results_dir": "results",
                "benchmark_dir": "suites",
            }
        )
    )
    (tmp_path / "suites" / "releases").mkdir(parents=True)
    lines = [
        msgspec.json.encode(Release(package="jax", version=version, date=f"2024-07-{day}"))
        for version, day in (("0.4.30", 10), ("0.4.31", 20), ("0.4.33", 30))
    ]
    (tmp_path / "suites" / "releases" / "jax.jsonl").write_bytes(b"\n".join(lines) + b"\n")
    torch = msgspec.json.encode(Release(package="torch", version="2.13.0", date="2026-07-01"))
    (tmp_path / "suites" / "releases" / "torch.jsonl").write_bytes(torch + b"\n")
    sessions = tmp_path / "results" / "lab" / "sessions"
    sessions.mkdir(parents=True)
    campaign = [header(), *map(line_of, pairs(noisy(1.4, 8)))]
    (sessions / f"{header().campaign}.jsonl").write_bytes(
        b"".join(msgspec.json.encode(line) + b"\n" for line in campaign)
    )
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(*arguments: str) -> int:
    with pytest.raises(SystemExit) as caught:
        main(list(arguments))
    return int(caught.value.code or 0)


@pytest.fixture
def error_of(capsys: pytest.CaptureFixture[str]):  # noqa: ANN201  a function
    def one_line(*arguments: str) -> tuple[int, str]:
        code = run(*arguments)
        error = capsys.readouterr().err
        assert error.count("\n") == 1, error
        assert "Traceback" not in error
        return code, error

    return one_line


def test_the_newest_campaign_is_judged_written_and_shown(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run("analyse") == 0
    out, err = capsys.readouterr()
    assert "1 of 1 regressed" in out
    assert err == "wrote report.json\n"
    found = json.loads((project / "report.json").read_bytes())
    jsonschema.validate(found, SCHEMA)
    assert found["verdicts"][0]["blame_range"] == {"after": OLD, "through": NEW}


def test_json_goes_to_stdout(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("analyse", f"{OLD}..{NEW}", "--json", "--output", "out/r.json") == 0
    assert capsys.readouterr().out.encode() == (project / "out" / "r.json").read_bytes()


@pytest.mark.usefixtures("project")
def test_a_regression_fails_only_when_asked() -> None:
    assert run("analyse", "--fail-on", "broken") == 0
    assert run("analyse", "--fail-on", "broken", "--fail-on", "regressed") == 1


@pytest.mark.usefixtures("project")
@pytest.mark.parametrize(
    ("arguments", "code", "text"),
    [
        (("jax/0.4.29..jax/0.4.33",), 2, "unknown release 'jax/0.4.29'"),
        (("jax/0.4.31..torch/2.13.0",), 2, "crosses two tracks"),
        (("jax/0.4.30..jax/0.4.31",), 3, "no session of it here"),
        (("torch/2.13.0",), 3, "no session of it here"),
        (("--a-a", NEW), 3, f"--a-a {NEW}"),
        ((f"{OLD}..{NEW}", "--a-a", NEW), 2, "not both"),
        (("--metric", "speed"), 3, "no session measured speed (measured: step_cpu)"),
        (("--results", "elsewhere"), 3, "elsewhere: no results here"),
        (("--machine", "other"), 3, "no results here"),
        (("--machine", "lab/../lab"), 3, "no results here"),
        (("--plant", "mlp=1.1"), 2, "--plant mlp=1.1 needs the pair it was planted into"),
        ((NEW, "--plant", "mlp=1.1"), 2, "needs the pair it was planted into"),
    ],
)
def test_bad_input_is_one_line(error_of, arguments: tuple[str, ...], code: int, text: str) -> None:  # noqa: ANN001
    found, error = error_of("analyse", *arguments)
    assert (found, text in error) == (code, True), error


def test_a_truncated_result_file_is_named_and_nothing_is_lost(project: Path, error_of) -> None:  # noqa: ANN001
    broken = project / "results" / "lab" / "abcd1234-release.json"
    broken.write_text('{"version": 2, "resul')
    before = {path: path.read_bytes() for path in project.rglob("*") if path.is_file()}
    code, error = error_of("analyse")
    assert code == 3
    assert "abcd1234-release.json:1:" in error
    assert {path: path.read_bytes() for path in project.rglob("*") if path.is_file()} == before


def test_suite_attributes_decide_direction_and_exactness(project: Path) -> None:
    entry = {"name": "n", "better": "higher", "exact": False, "version": "1"}
    (project / "results" / "benchmarks.json").write_text(
        json.dumps({"version": 2, "mlp.bench.JaxJit.track_step_cpu": entry})
    )
    assert run("analyse") == 0
    (verdict,) = json.loads((project / "report.json").read_bytes())["verdicts"]
    assert (verdict["outcome"], verdict["better"]) == ("improved", "higher")


@pytest.mark.usefixtures("project")
@pytest.mark.parametrize("release", [OLD, NEW])
def test_a_release_of_a_pair_can_be_shown_alone(release: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("analyse", release) == 0
    assert "nothing compared" in capsys.readouterr().out


def test_render_to_stdout_and_to_a_file(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("analyse") == 0
    capsys.readouterr()
    assert run("render", "report.json") == 0
    assert capsys.readouterr().out.startswith(f"{OLD} -> {NEW}: 1 of 1 regressed")
    assert run("render", "report.json", "--to", "markdown", "--output", "comment.md") == 0
    assert (project / "comment.md").read_text().startswith("**stepwatch: 1 of 1 regressed**")


def test_a_report_that_cannot_be_used_is_one_line(project: Path, error_of) -> None:  # noqa: ANN001
    (project / "evil.json").write_text('{"schema": 2, "\\u001b[2J": []}')
    (project / "folder.json").mkdir()
    for name, text in (
        ("none.json", "no results here"),
        ("evil.json", "evil.json"),
        ("folder.json", "cannot"),
    ):
        code, error = error_of("render", name)
        assert code == 3
        assert text in error
