from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stepwatch.config import load_config
from stepwatch.config_text import find_line
from stepwatch.errors import ConfigError

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def tracker(tmp_path: Path) -> Path:
    (tmp_path / "asv.conf.json").write_text(
        '{"version": 1, "repo": "h.git", // asv allows comments\n "benchmark_dir": "suites"}'
    )
    (tmp_path / "suites").mkdir()
    return tmp_path


def test_defaults_work_without_any_file(tracker: Path) -> None:
    config = load_config(tracker)
    assert config.root == tracker
    assert config.history_repo == tracker / "h.git"
    assert [track.package for track in config.tracks] == ["jax", "torch"]
    assert config.accelerator == "cpu"
    assert config.track("jax") is config.tracks[0]
    assert config.track("flax") is None


def test_the_root_is_found_from_a_folder_below(tracker: Path) -> None:
    below = tracker / "a" / "b"
    below.mkdir(parents=True)
    assert load_config(below).root == tracker


def test_no_tracker_here(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"no asv\.conf\.json here or in a folder above"):
        load_config(tmp_path)


def test_a_full_file(tracker: Path) -> None:
    (tracker / "stepwatch.toml").write_text(
        'machine = "box"\naccelerator = "cuda12"\n[index]\nfind_links = ["wheels", "file:///x"]\n'
        '[environments]\nkeep = 3\nmax_size = "1.5 GiB"\n[policy]\nalpha = 0.01\n'
        '[tracks.flax]\npython = ["3.12"]\n'
    )
    config = load_config(tracker)
    assert config.machine == "box"
    assert config.find_links == (str(tracker / "wheels"), "file:///x")
    assert config.environments_max_bytes == int(1.5 * 1024**3)
    assert config.policy.alpha == 0.01
    assert [track.package for track in config.tracks] == ["jax", "torch", "flax"]


def test_pyproject_serves_when_there_is_no_stepwatch_toml(tracker: Path) -> None:
    (tracker / "pyproject.toml").write_text('[tool.stepwatch]\nmachine = "box"\n')
    assert load_config(tracker).machine == "box"
    (tracker / "pyproject.toml").write_text("[tool.stepwatch]\nmachin = 'box'\n")
    with pytest.raises(
        ConfigError, match=r"pyproject.toml:2: tool.stepwatch.machin: unknown key; did you mean machine"
    ):
        load_config(tracker)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("alpha = [", r"stepwatch.toml"),
        ("a = 1\nb == 2\n", r"stepwatch.toml:2: Invalid value"),
        (
            "[policy]\nmin_efect = 0.1\n",
            r"stepwatch.toml:2: policy.min_efect: unknown key; did you mean min_effect\?",
        ),
        ("[policy]\n\nalpha = 2\n", r"stepwatch.toml:3: policy.alpha: Expected `float` < 1.0 \(found 2\)"),
        ("policy = 3\n", r"stepwatch.toml:1: policy: must be a table"),
        ("policy.alpha = 'x'\n", r"stepwatch.toml:1: policy.alpha: Expected `float`"),
        (
            "[tracks.jax]\npython = ['2.7x']\n",
            r"stepwatch.toml:2: tracks.jax.python: Expected `str` matching",
        ),
        ("[tracks.jax]\npackage = 'x'\n", r"stepwatch.toml:2: tracks.jax.package: unknown key"),
        ("[environments]\nkeep = 1\n", r"stepwatch.toml:2: environments.keep: Expected `int` >= 2"),
        ("accelerator = 'tpu'\n", r"stepwatch.toml:1: accelerator: Expected `str` matching"),
        ("tracks = {jax = {pithon = ['3.12']}}\n", r"stepwatch.toml:1: tracks.jax.pithon: unknown key"),
        ("machine = '../up'\n", r"stepwatch.toml:1: machine: Expected"),
    ],
)
def test_each_fault_names_line_and_key(tracker: Path, text: str, message: str) -> None:
    (tracker / "stepwatch.toml").write_text(text)
    with pytest.raises(ConfigError, match=message):
        load_config(tracker)


def test_all_faults_are_reported_at_once(tracker: Path) -> None:
    (tracker / "stepwatch.toml").write_text("colour = 1\n[policy]\nalpha = -1\n")
    with pytest.raises(ConfigError) as caught:
        load_config(tracker)
    assert len(str(caught.value).splitlines()) == 2


def test_not_utf8(tracker: Path) -> None:
    (tracker / "stepwatch.toml").write_bytes(b"\xff\xfe")
    with pytest.raises(ConfigError, match=r"stepwatch\.toml"):
        load_config(tracker)


@pytest.mark.parametrize("text", ["{", '{"version": 1}', "[]", '{"repo": 3}'])
def test_a_broken_asv_configuration_is_named(tmp_path: Path, text: str) -> None:
    (tmp_path / "asv.conf.json").write_text(text)
    with pytest.raises(ConfigError, match=r"asv\.conf\.json"):
        load_config(tmp_path)


@given(st.text(), st.lists(st.text(min_size=1), max_size=3))
def test_finding_a_line_never_crashes(text: str, keys: list[str]) -> None:
    line = find_line(text, tuple(keys))
    assert line is None or 1 <= line <= len(text.splitlines())


def refused(tracker: Path, text: str, name: str = "stepwatch.toml") -> str:
    (tracker / name).write_text(text)
    with pytest.raises(ConfigError) as caught:
        load_config(tracker)
    return str(caught.value).removeprefix(f"{tracker}/")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "[policy]\nfloor = 0.05\n",
            "stepwatch.toml:2: policy.floor: must be less than the minimal effect (found 0.05 and 0.02)",
        ),
        ("policy.min_effect = 0.001\n", "stepwatch.toml: policy.floor: must be less than the minimal effect"),
        ("[environments]\nmax_size = '0 B'\n", "stepwatch.toml:2: environments.max_size: must be more than"),
        (f"[environments]\nmax_size = '{'9' * 400} TiB'\n", "stepwatch.toml:2: environments.max_size: Exp"),
        ('machine = "abc\\n"\n', "stepwatch.toml:1: machine: Expected `str` matching"),
        ("[tracks.jax]\npython = []\n", "stepwatch.toml:2: tracks.jax.python: Expected `array` of length"),
        ("[tracks.jax]\nfirst_lock = 'banana'\n", "stepwatch.toml:2: tracks.jax.first_lock: Expected `str`"),
        ("[tracks.jax]\ncompanions = ['../../etc/x']\n", "stepwatch.toml:2: tracks.jax.companions: Exp"),
        ("[tracks.jax]\nextra_packages = ['-r x']\n", "stepwatch.toml:2: tracks.jax.extra_packages: Exp"),
        ('[index]\nfind_links = ["a\\u0000b"]\n', "stepwatch.toml:2: index.find_links: Expected `str`"),
        ("\n[tracks.'']\n", 'stepwatch.toml:2: tracks."": is no name of a package'),
        ('\n[tracks."../evil"]\n', 'stepwatch.toml:2: tracks."../evil": is no name of a package'),
        ('\n[tracks . "foo bar"]\n', 'stepwatch.toml:2: tracks."foo bar": is no name of a package'),
        ("\n[tracks.heads]\n", "stepwatch.toml:2: tracks.heads: is no name of a package"),
        ("[tracks.'a..b']\n", 'stepwatch.toml:1: tracks."a..b": is no name of a package'),
        ("[tracks.'a.lock']\n", 'stepwatch.toml:1: tracks."a.lock": is no name of a package'),
        ("[tracks.jax]\npackage = 'x'\n", "unknown key; the name of the table is the package"),
        (
            "\n[tracks.\"foo.bar\"]\n'first_lock' = 3\n",
            'stepwatch.toml:3: tracks."foo.bar".first_lock: Expected `str`, got `int` (found 3)',
        ),
        ('\n"mach\\u0069ne" = 3\n', "stepwatch.toml:2: machine: Expected"),
        ('\n"a\\nb" = 3\n', 'stepwatch.toml:2: "a\\nb": unknown key'),
        ("[tracks.jax]\nfirst_lock = 2020-01-01\n", "(found 2020-01-01)"),
        ("machine = true\n", "(found true)"),
        ("machine = 'x%s'\n" % ("/" * 200), "…)"),
        (f"[environments]\nkeep = {'9' * 5000}\n", "stepwatch.toml:2: a number has too many digits"),
        (f"machine = {'9' * 4000}\n", "(found a number of about 4000 digits)"),
        (f"a = {'[' * 3000}", "stepwatch.toml: arrays or tables are nested too deeply"),
        ("a = 1\nb = [", "stepwatch.toml:2: Invalid value"),
        ("'a\\", "stepwatch.toml:1: "),
    ],
)
def test_hostile_and_contradictory_settings_are_refused_with_their_place(
    tracker: Path, text: str, message: str
) -> None:
    error = refused(tracker, text)
    assert message in error
    assert len(error.splitlines()) == 1


def test_a_byte_order_mark_does_not_matter(tracker: Path) -> None:
    (tracker / "stepwatch.toml").write_bytes(b"\xef\xbb\xbfmachine = 'box'\n")
    assert load_config(tracker).machine == "box"


def test_an_encoding_fault_has_its_line(tracker: Path) -> None:
    (tracker / "stepwatch.toml").write_bytes(b"a = 1\nb = '\xff'\n")
    with pytest.raises(ConfigError, match=r"stepwatch\.toml:2: not UTF-8"):
        load_config(tracker)


def test_a_folder_where_the_file_should_be_is_said(tracker: Path) -> None:
    (tracker / "stepwatch.toml").mkdir()
    with pytest.raises(ConfigError, match=r"stepwatch\.toml: Is a directory"):
        load_config(tracker)


def test_a_pyproject_that_is_odd_is_one_line(tracker: Path) -> None:
    assert refused(tracker, "\ntool = 3\n", "pyproject.toml") == "pyproject.toml:2: tool: must be a table"
    assert refused(tracker, "[tool]\nstepwatch = 3\n", "pyproject.toml").startswith(
        "pyproject.toml:2: tool.stepwatch: must"
    )


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{\n"repo": "r",\n"benchmark_dir": 3}', "asv.conf.json:3: benchmark_dir: Expected `str`, got `int`"),
        ('{\n"repo": "r",\nbenchmark_dir: "a\\u0000b"}', "asv.conf.json:3: benchmark_dir: Expected `str`"),
        ('{\n"repo": "r",\n b b}', 'asv.conf.json:3: Unexpected "b" at column 4'),
        (
            '{"repo": "r",\n"result_dir": "x"}',
            "asv.conf.json:2: result_dir: unknown key; did you mean results_dir?",
        ),
        ("[" * 3000, "asv.conf.json: lists or objects are nested too deeply"),
        ('{"repo": "r",\n"benchmark_dir": "nowhere"}', "asv.conf.json:2: benchmark_dir: no such folder: "),
        ("[]", "asv.conf.json:1: must be an object"),
        ("{}", "asv.conf.json: repo: is missing"),
        ('{"repo_subdir": "x", "repo": 7}', "asv.conf.json:1: repo: Expected `str`"),
    ],
)
def test_faults_of_asvs_configuration_have_their_line(tracker: Path, text: str, message: str) -> None:
    assert refused(tracker, text, "asv.conf.json").startswith(message)


@given(st.lists(st.text(min_size=1), min_size=1, max_size=3), st.integers(0, 5))
def test_a_quoted_key_is_found_whatever_it_holds(keys: list[str], before: int) -> None:
    keys = [key.encode("utf-8", "replace").decode() for key in keys]
    quoted = ".".join('"' + "".join(f"\\U{ord(character):08X}" for character in key) + '"' for key in keys)
    assert find_line("# nothing\n" * before + f"{quoted} = 1\n", tuple(keys)) == before + 1
    assert find_line("# nothing\n" * before + f"[{quoted}]\n", tuple(keys)) == before + 1
