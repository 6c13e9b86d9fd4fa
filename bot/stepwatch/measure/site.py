"""asv's HTML site from the results, built beside the old one and then moved into its place.

asv removes its output folder before it looks at the results, and silently leaves out files that it cannot
read. Here every file is read first, a failed build leaves the old site as it was, and a folder that is not
a site is never removed.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from asv.results import Results

from stepwatch.errors import DataError, HistoryNotFound, MalformedFile, UsageError
from stepwatch.measure.asv_results import MACHINE_FILE, UNREADABLE, asv_settings, read_machine
from stepwatch.measure.installer import clean_environment
from stepwatch.measure.storage import storage_errors

if TYPE_CHECKING:
    from stepwatch.config import Config

_PUBLISH_TIMEOUT_SECONDS = 1800.0
_GRAPH_SCRIPT = "graphdisplay.js"
_ANCHOR = """
        /*
          Benchmark-specific parameter selections
        */
"""
_OWN_BRANCH = """
        /* stepwatch: a benchmark has points on its own library's branch alone */
        var track = index.benchmarks[current_benchmark].track;
        if ($.inArray(track, index.params.branch) !== -1 && !(state_selection && state_selection.branch)) {
            state.branch = [track];
        }
"""
"""asv opens every benchmark on the first branch, where those of another library have no data."""
_SITE_MARKS = ("index.json", "asv.js")


def build_site(config: Config, *, results: Path, output: Path) -> Path:
    """Publish `results` into `output`; the path of the start page.

    Raises:
        HistoryNotFound: there are no results.
        MalformedFile: a result file cannot be read; names it.
        UsageError: `output` is a folder that is not an asv site.
        DataError: asv failed; with its last line.
        StorageFailed: no space or no permission.
    """
    check_results(results)
    is_site = all((output / mark).exists() for mark in _SITE_MARKS)
    if output.exists() and any(output.iterdir()) and not is_site:
        raise UsageError(f"{output}: not empty and not an asv site; give another --output folder")
    with storage_errors(output):
        output.parent.mkdir(parents=True, exist_ok=True)
        work = Path(tempfile.mkdtemp(prefix=f".{output.name}.", dir=output.parent))
    try:
        _publish(config, results=results, html=work / "html", work=work)
        _open_on_own_branch(work / "html" / _GRAPH_SCRIPT)
        with storage_errors(output):
            if output.exists():
                output.rename(work / "old")
            (work / "html").rename(output)
    finally:
        shutil.rmtree(work, ignore_errors=True)
    return output / "index.html"


def check_results(results: Path) -> None:
    """Read every machine and result file with asv's own readers; asv itself leaves out what it cannot read.

    Raises:
        HistoryNotFound: there is none.
        MalformedFile: one cannot be read, or a machine's `machine.json` is missing; names it.
    """
    below = (path for path in sorted(results.rglob("*.json")) if path.parent != results)
    paths = [path for path in below if path.name != MACHINE_FILE]
    for folder in dict.fromkeys(path.parent for path in paths):
        read_machine(folder.parent, folder.name)
    for path in paths:
        try:
            Results.load(str(path), machine_name=path.parent.name)
        except UNREADABLE as error:
            raise MalformedFile(path, "not asv results", next_step="move it away") from error
    if not paths:
        raise HistoryNotFound(results)


def _publish(config: Config, *, results: Path, html: Path, work: Path) -> None:
    """Run `asv publish` in a process of its own, on the same configuration with absolute paths."""
    settings = {
        **vars(asv_settings(config.asv_config)),
        "version": 1,
        "repo": str(config.history_repo),
        "benchmark_dir": str(config.suite),
        "env_dir": str(config.environments),
        "results_dir": str(results),
        "html_dir": str(html),
    }
    path = work / "asv.conf.json"
    with storage_errors(path):
        path.write_text(json.dumps(settings))
    command = [sys.executable, "-m", "asv", "publish", "--config", str(path), "--no-pull"]
    done = subprocess.run(
        command,
        cwd=config.root,
        env=clean_environment(os.environ),
        capture_output=True,
        text=True,
        errors="replace",
        timeout=_PUBLISH_TIMEOUT_SECONDS,
        check=False,
    )
    if done.returncode or not (html / "index.html").is_file():
        lines = [line.strip() for line in (done.stdout + done.stderr).splitlines() if line.strip()]
        raise DataError(f"{results}: asv publish failed: {lines[-1] if lines else 'without a word'}")


def _open_on_own_branch(script: Path) -> None:
    """Make the site's pages open a benchmark on the branch of its own library.

    Raises:
        DataError: asv's script is not the one this was written for.
    """
    text = script.read_text(encoding="utf-8")
    if text.count(_ANCHOR) != 1:
        raise DataError(
            f"{script.name} of this asv is not that of asv 0.6.6; reinstall stepwatch's dependencies"
        )
    with storage_errors(script):
        script.write_text(text.replace(_ANCHOR, _OWN_BRANCH + _ANCHOR), encoding="utf-8")
