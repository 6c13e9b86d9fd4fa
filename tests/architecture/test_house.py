"""The house rules that a machine can check; import direction itself is `lint-imports` in `make check`."""

from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SOURCES = sorted((ROOT / "bot").rglob("*.py")) + sorted((ROOT / "suites").rglob("*.py"))


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: str(path.relative_to(ROOT)))
def test_files_and_functions_stay_small(path: Path) -> None:
    text = path.read_text()
    assert len(text.splitlines()) <= 320, "a room with too many jobs: split it"
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef):
            length = (node.end_lineno or 0) - node.lineno + 1
            assert length <= 60, f"{node.name} is {length} lines: more than a screen"


def test_suites_never_import_stepwatch_and_bot_never_imports_suites() -> None:
    for path in SOURCES:
        foreign = "suites" if "bot" in path.relative_to(ROOT).parts else "stepwatch"
        for node in ast.walk(ast.parse(path.read_text())):
            names = (
                [alias.name for alias in node.names]
                if isinstance(node, ast.Import)
                else [node.module or ""]
                if isinstance(node, ast.ImportFrom) and node.level == 0
                else []
            )
            assert not [name for name in names if name.split(".")[0] == foreign], path


def test_environment_and_clock_are_read_only_where_allowed() -> None:
    """Only cli, configuration, commands and the I/O packages may read the environment; pure parts never."""
    pure = ("stats", "render", "verdict", "report.py", "policy.py", "model.py", "units.py", "errors.py")
    for path in SOURCES:
        parts = path.relative_to(ROOT).parts
        if parts[0] == "bot" and len(parts) > 2 and parts[2] in pure:
            text = path.read_text()
            assert not re.search(r"os\.environ|os\.getenv|time\.time\(|perf_counter|datetime\.now", text), (
                path
            )


def test_no_registry_host_machine_path_or_token_is_committed() -> None:
    """Files tracked by git name no package-registry host and no path of a developer's machine."""
    listing = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=False)
    if listing.returncode:
        pytest.skip("not a git checkout")
    hosts = ("py" + "pi.org", "python" + "hosted.org", "registry.npm" + "js.org", "download.py" + "torch.org")
    for name in os.fsdecode(listing.stdout).split("\0"):
        path = ROOT / name
        if not name or not path.is_file() or path.stat().st_size > 2_000_000:
            continue
        text = path.read_text(errors="replace")
        assert not [host for host in hosts if host in text], name
        assert not re.search(r"/roo[t]/|/opt/wheel[s]|/work/mai[n]|/work/share[d]", text), name


def test_a_help_screen_loads_no_heavy_library() -> None:
    """`stepwatch --help` under 0.3 s is a matter of what it imports; the time itself is in `make bench`."""
    code = (
        "import sys\nfrom stepwatch import cli\n"
        "try: cli.stepwatch.main(['--help'], standalone_mode=True)\nexcept SystemExit: pass\n"
        "heavy = {'numpy', 'scipy', 'asv', 'httpx', 'rich', 'msgspec'} & set(sys.modules)\n"
        "sys.exit(repr(heavy) if heavy else 0)"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
