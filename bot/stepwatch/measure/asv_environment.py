"""asv's environment type `release`: one cached virtual environment per release, over `EnvironmentStore`.

Named in `asv.conf.json` as `".stepwatch.measure.asv_environment"` (the dot is needed also for an installed
package), it makes plain `asv run`, `find` and `continuous` work on library releases by name. asv sees one
environment whose project is "installed" anew for each commit; here that means: switch to the environment
of the commit's release. Sessions that plain asv runs are kept in the sidecar `asv-run.jsonl`.
"""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
from asv import environment, util
from asv.console import log

from stepwatch.config import ACCELERATORS, Config, load_config
from stepwatch.errors import StepwatchError
from stepwatch.measure.asv_results import ENVIRONMENT_TYPE
from stepwatch.measure.asv_sessions import AsvSessions, session_result
from stepwatch.measure.campaign import default_size
from stepwatch.measure.scratch import scratch_folder
from stepwatch.measure.store import open_store
from stepwatch.model import Release
from stepwatch.releases.locks import lock_path

if TYPE_CHECKING:
    from stepwatch.measure.environments import BuiltEnvironment


class InstallFailed(util.ProcessError, util.UserError):  # type: ignore[misc]  # asv is untyped
    """A release that cannot be installed, in the two shapes asv knows.

    `asv run` goes on after a `ProcessError` and records the release as failed; every other command shows a
    `UserError` as one line.
    """

    def __init__(self, reason: str) -> None:
        super().__init__(["install"], 1, "", reason)

    def __str__(self) -> str:
        return str(self.stderr)


class ReleaseEnvironment(environment.Environment):  # type: ignore[misc]  # asv is untyped
    """The environment of whichever release asv asked for last."""

    tool_name = ENVIRONMENT_TYPE

    def __init__(self, conf: Any, python: str, requirements: dict[str, str], tagged_env_vars: Any) -> None:
        # The base class reads these while it is being set up.
        self._python, self._requirements = python, requirements
        self._installed: str | None = None
        self._built: BuiltEnvironment | None = None
        super().__init__(conf, python, requirements, tagged_env_vars)
        self._accelerator = _accelerator(conf)
        self._size = os.environ.get("STEPWATCH_SIZE") or default_size(self._accelerator)
        self._sessions = AsvSessions(
            results=Path(conf.results_dir).resolve(), accelerator=self._accelerator, size=self._size
        )
        try:
            self._config: Config = load_config(Path.cwd())
        except StepwatchError as error:
            raise util.UserError(str(error)) from error

    @classmethod
    def matches(cls, python: str) -> bool:
        """Any Python: a release's lock says which one it needs."""
        del python
        return True

    def check_presence(self) -> bool:
        """Always: environments are made when a release is installed."""
        return True

    def create(self) -> None:
        """Nothing to make before a release is known."""
        self._is_setup = True

    @property
    def installed_commit_hash(self) -> str | None:
        """The release that `run` would run in."""
        return self._installed

    def install_project(self, conf: Any, repo: Any, commit_hash: str) -> None:
        """Switch to the environment of a commit's release, building it if needed.

        Raises:
            InstallFailed: it cannot be built; nothing counts as installed then, so that no other release
                runs in a broken environment.
        """
        del conf
        self._installed = None
        self._leave()
        release = self._release_of(repo, commit_hash)
        log.info(f"Environment of {release.name} ({self._accelerator})")
        try:
            self._built = open_store(self._config).ensure(
                release, self._accelerator, lock_path(self._config.locks, self._accelerator, release)
            )
        except StepwatchError as error:
            log.error(str(error))
            self._sessions.keep_failed_install(release.name, str(error))
            raise InstallFailed(str(error)) from error
        self._path = str(self._built.path)
        self._global_env_vars["ASV_ENV_DIR"] = self._path
        self._set_commit_hash(commit_hash)
        self._installed = commit_hash

    def run(self, args: list[str], **kwargs: Any) -> Any:
        """Run the release's Python; a `setup_cache` is a session, and is kept as one."""
        if self._built is None:
            raise InstallFailed("no release is installed")
        if args[1:2] != ["setup_cache"]:
            return self.run_executable("python", args, **kwargs)
        variables = dict(kwargs.pop("env", os.environ), STEPWATCH_ACCELERATOR=self._accelerator)
        variables["STEPWATCH_SIZE"] = self._size
        with scratch_folder() as folder:
            session_file = folder / "session.json"
            variables["STEPWATCH_SESSION_FILE"] = str(session_file)
            started = time.monotonic()
            done = self.run_executable("python", args, env=variables, **kwargs)
            output, _, code = done
            result = session_result(
                session_file,
                args[3],
                accelerator=self._accelerator,
                size=self._size,
                lasted_seconds=time.monotonic() - started,
                code=code,
                output=output,
            )
        if result is not None:
            self._sessions.keep(self._built.release.name, self._built.stamp.lock, args[3], result)
        return done

    def _leave(self) -> None:
        if self._built is not None:
            self._built.close()
            self._built = None

    def _release_of(self, repo: Any, commit_hash: str) -> Release:
        try:
            text = repo._run_git(["show", f"{commit_hash}:release.json"], dots=False)  # noqa: SLF001  asv has no public way
            return msgspec.json.decode(text, type=Release)
        except (util.ProcessError, msgspec.DecodeError) as error:
            raise InstallFailed(
                f"{commit_hash[:12]} is no commit of the release-history repository"
            ) from error


def _accelerator(conf: Any) -> str:
    """What plain asv measures on: `STEPWATCH_ACCELERATOR`, else `release_accelerator` of asv.conf.json."""
    accelerator = os.environ.get("STEPWATCH_ACCELERATOR") or getattr(conf, "release_accelerator", "cpu")
    if accelerator not in ACCELERATORS:
        raise util.UserError(f"unknown accelerator {accelerator!r}; known: {', '.join(ACCELERATORS)}")
    return str(accelerator)
