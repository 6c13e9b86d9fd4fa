"""Lock files, the accelerators a release offers, and which locks were tried."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stepwatch.config import Track
from stepwatch.errors import EnvironmentFailed, MalformedFile, UnsupportedSchema
from stepwatch.model import Release
from stepwatch.releases.lock_resolution import resolve_locks
from stepwatch.releases.locks import Lock, lock_digest, lock_path, parse_lock, read_lock
from stepwatch.releases.tried import Trial, read_trials, trial_state
from stepwatch.releases.uv import Resolution

if TYPE_CHECKING:
    from collections.abc import Sequence

JAX = Release(package="jax", version="0.4.31", date="2024-12-31", requires={"jaxlib": "0.4.31"})
TORCH = Release(package="torch", version="2.13.0", date="2026-07-08")
TEXT = """\
# stepwatch-lock: 1
# release: jax/0.4.31
# accelerator: cpu
# python: 3.12
# platform: x86_64-manylinux_2_28
# resolved as of: 2024-07-31
asv-runner==0.3.2
jax==0.4.31
"""
NAMES = st.text("abz019-.", min_size=1, max_size=8).map(lambda text: f"a{text}")
VERSIONS = st.lists(st.integers(0, 300), min_size=1, max_size=4).map(lambda parts: ".".join(map(str, parts)))


@given(st.dictionaries(NAMES, VERSIONS), st.sampled_from(["cpu", "cuda12", "cuda13"]))
def test_what_is_written_is_read_back(pins: dict[str, str], accelerator: str) -> None:
    lock = Lock(
        release="jax/0.4.31",
        accelerator=accelerator,
        python="3.12",
        platform="x86_64-manylinux_2_28",
        resolved_as_of="2024-07-31",
        requirements=tuple(f"{name}=={version}" for name, version in sorted(pins.items())),
    )
    assert parse_lock(lock.text, Path("lock.txt")) == lock


def test_the_format_is_golden_and_its_digest_is_of_the_text() -> None:
    lock = parse_lock(TEXT, Path("lock.txt"))
    assert lock.text == TEXT
    assert parse_lock(f"{TEXT}\n#a comment of a person\n", Path("lock.txt")) == lock
    assert lock.digest == lock_digest(TEXT) == "c22b089d293e2602"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (TEXT + "torch==2.13.0+cpu\n", "lock.txt:9: 'torch==2.13.0+cpu' is not name==version"),
        (TEXT + "--index-url https://index.invalid\n", "lock.txt:9: '--index-url"),
        (TEXT + "torch @ file:///tmp/x.whl\n", "lock.txt:9"),
        (TEXT + "jax>=0.4\n", "lock.txt:9"),
        ("jax==0.4.31\n", "lock.txt:1: no line `# stepwatch-lock: 1`"),
        (TEXT.replace("# python: 3.12\n", ""), "no line `# python: …`; remove it and run"),
    ],
)
def test_a_damaged_lock_is_refused_with_its_line(text: str, message: str) -> None:
    with pytest.raises(MalformedFile) as caught:
        parse_lock(text, Path("lock.txt"))
    assert message in str(caught.value)


def test_a_lock_of_the_future_is_another_error() -> None:
    with pytest.raises(UnsupportedSchema, match="schema 2"):
        parse_lock(TEXT.replace("lock: 1", "lock: 2"), Path("lock.txt"))


def test_reading_a_lock_that_is_not_there_or_not_a_file(tmp_path: Path) -> None:
    path = lock_path(tmp_path, "cpu", JAX)
    assert path == tmp_path / "cpu" / "jax-0.4.31.txt"
    assert read_lock(path) is None
    path.mkdir(parents=True)
    with pytest.raises(MalformedFile, match=r"jax-0\.4\.31\.txt"):
        read_lock(path)


@dataclass
class FakeResolver:
    """Answers by the extra that is asked for; a string is a failure."""

    answers: dict[str, Resolution | str]
    asked: list[tuple[tuple[str, ...], str]] = field(default_factory=list)

    def resolve(self, requirements: Sequence[str], *, release: str, python: str, through: str) -> Resolution:
        del python
        self.asked.append((tuple(requirements), through))
        extra = requirements[0].partition("[")[2].partition("]")[0]
        answer = self.answers.get(extra, "no solution")
        if isinstance(answer, str):
            raise EnvironmentFailed(release, "resolving its lock", answer)
        return answer


def resolution(*pins: str, missing: str = "") -> Resolution:
    return Resolution(
        pins=dict(pin.split("==") for pin in pins), missing_extras=frozenset({missing} if missing else ())
    )


PLAIN = resolution("jax==0.4.31", "jaxlib==0.4.31")
JAX_TRACK = Track(package="jax", companions=("jaxlib",))


def test_an_extra_per_cuda_is_a_lock_per_cuda_and_cpu_comes_last() -> None:
    resolver = FakeResolver(
        {
            "": PLAIN,
            "cuda12": resolution("jax==0.4.31", "nvidia-nccl-cu12==2.1"),
            "cuda13": resolution("jax==0.4.31", missing="cuda13"),
        }
    )
    resolved = resolve_locks(JAX, JAX_TRACK, "3.12", resolver)
    assert [lock.accelerator for lock in resolved.locks] == ["cuda12", "cpu"]
    assert resolved.locks[0].requirements == ("jax==0.4.31", "nvidia-nccl-cu12==2.1")
    assert resolved.notes == ()
    requirements, through = resolver.asked[0]
    assert requirements == ("jax==0.4.31", "jaxlib==0.4.31", "numpy", "asv-runner==0.3.2")
    assert through == "2025-01-01", "the day after the release, over the end of a year"


def test_a_cuda_that_cannot_be_resolved_is_a_note_not_a_failure() -> None:
    resolved = resolve_locks(JAX, JAX_TRACK, "3.12", FakeResolver({"": PLAIN, "cuda13": PLAIN}))
    assert [lock.accelerator for lock in resolved.locks] == ["cuda13", "cpu"]
    assert "no solution; jax/0.4.31 has no cuda12 lock" in resolved.notes[0]


def test_an_extra_may_pin_another_companion() -> None:
    class Picky(FakeResolver):
        def resolve(
            self, requirements: Sequence[str], *, release: str, python: str, through: str
        ) -> Resolution:
            if requirements[0].startswith("jax[cuda12]") and "jaxlib==0.4.31" in requirements:
                raise EnvironmentFailed(release, "resolving its lock", "conflict")
            return super().resolve(requirements, release=release, python=python, through=through)

    resolver = Picky({"": PLAIN, "cuda12": resolution("jaxlib==0.4.30")})
    resolved = resolve_locks(JAX, JAX_TRACK, "3.12", resolver)
    assert resolved.locks[0].requirements == ("jaxlib==0.4.30",)


def test_a_release_that_pulls_cuda_itself_gives_its_cuda_and_a_cpu_lock_without() -> None:
    everything = ("cuda-toolkit==13.0.3", "nvidia-cudnn-cu13==9.2", "sympy==1.14.0", "triton==3.7.1")
    resolver = FakeResolver({"": resolution("torch==2.13.0+cpu", *everything)})
    resolved = resolve_locks(TORCH, Track(package="torch"), "3.11", resolver)
    assert {lock.accelerator: lock.requirements for lock in resolved.locks} == {
        "cuda13": (*everything[:3], "torch==2.13.0", everything[3]),
        "cpu": ("sympy==1.14.0", "torch==2.13.0"),
    }
    assert len(resolver.asked) == 1


def test_a_release_that_cannot_be_resolved_at_all_fails() -> None:
    with pytest.raises(EnvironmentFailed, match=r"jax/0\.4\.31: resolving its lock failed: no solution"):
        resolve_locks(JAX, JAX_TRACK, "3.12", FakeResolver({}))


def trial(*, ok: bool, lock: str = "aa", reason: str = "jax 0.4.31") -> bytes:
    return (
        b'{"release":"jax/0.4.31","accelerator":"cpu","lock":"%s","python":"3.12","ok":%s,'
        b'"reason":"%s","at":"2026-11-30T00:00:00+00:00"}\n'
        % (lock.encode(), b"true" if ok else b"false", reason.encode())
    )


def test_the_last_trial_of_this_very_lock_counts(tmp_path: Path) -> None:
    committed, local = tmp_path / "committed.jsonl", tmp_path / "local.jsonl"
    committed.write_bytes(trial(ok=True))
    local.write_bytes(trial(ok=True) + trial(ok=False, lock="bb", reason="no space"))
    trials = read_trials([committed, local, tmp_path / "missing.jsonl"])
    assert [found.reason for found in trials.values()] == ["no space"]
    assert trial_state(trials, "jax/0.4.31", "cpu", "bb") == "failed"
    assert trial_state(trials, "jax/0.4.31", "cpu", "aa") == "untried"
    assert trial_state(trials, "jax/0.4.31", "cpu", None) == "untried"
    assert trial_state(trials, "jax/0.4.31", "cuda12", "bb") == "untried"
    assert trial_state(read_trials([committed]), "jax/0.4.31", "cpu", "aa") == "ok"


def test_a_torn_last_trial_is_passed_over_and_a_broken_one_is_not(tmp_path: Path) -> None:
    path = tmp_path / "tried.jsonl"
    path.write_bytes(trial(ok=True) + trial(ok=False)[:30])
    assert [type(found) for found in read_trials([path]).values()] == [Trial]
    path.write_bytes(b"nonsense\n" + trial(ok=True))
    with pytest.raises(MalformedFile, match=r"tried\.jsonl:1: .*; remove this line"):
        read_trials([path])
    with pytest.raises(MalformedFile):
        read_trials([tmp_path])
