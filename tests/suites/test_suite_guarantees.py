"""What a session promises about the program it times, held against the real frameworks.

The state is donated, so no step copies it; what is called compiled ran as one graph to its last step.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path
    from subprocess import CompletedProcess

    Run = Callable[..., CompletedProcess[str]]
    OwnStep = Callable[[str], tuple[CompletedProcess[str], bool]]

pytestmark = pytest.mark.e2e

STEP_WORKLOADS = ["mlp", "embed", "gpt"]


@pytest.fixture(scope="session")
def jax_python(release_python: Callable[[str], str]) -> str:
    return release_python("jax/0.4.33")


@pytest.fixture(scope="session")
def torch_python(release_python: Callable[[str], str]) -> str:
    return release_python("torch/2.13.0")


DONATION = """
import sys
from pathlib import Path
from suites._harness.parity import benchmark_class
from suites._harness.request import Request

benchmark = benchmark_class(sys.argv[1], "jax-jit")()
runtime = benchmark.runtime()
runtime.load()
runtime.configure(Request.from_environ({}), Path())
runtime.build(benchmark.workload.problem("cpu-smoke"))
import jax

initial = jax.tree_util.tree_leaves(runtime._state)
for _, stage in runtime.stages(warm_cache=False):
    stage()
second = jax.tree_util.tree_leaves(runtime._state)
runtime.step()
runtime.fence()
last = jax.tree_util.tree_leaves(runtime._state)
print(len(last), *(sum(leaf.is_deleted() for leaf in leaves) for leaves in (initial, second, last)))
"""


@pytest.mark.parametrize("workload", STEP_WORKLOADS)
def test_each_jax_step_consumes_its_whole_state(run_python: Run, jax_python: str, workload: str) -> None:
    """Donated from the first step on, leaf by leaf: a copy of the state would be timed as well."""
    done = run_python("-W", "error", "-c", DONATION, workload, python=jax_python)
    assert done.returncode == 0, done.stderr
    leaves, *deleted = map(int, done.stdout.split())
    assert leaves > 1
    assert deleted == [leaves, leaves, 0]


BROKEN_LOSS = """
import sys
import torch
from suites._harness.parity import benchmark_class

compile_as_told = torch.compile


def compile_with_a_break(loss, **options):
    def broken(*arguments):
        torch._dynamo.graph_break()
        return loss(*arguments)

    return compile_as_told(broken, backend="eager", **options)


torch.compile = compile_with_a_break
benchmark_class(sys.argv[1], "torch-compile")().setup_cache()
"""


@pytest.mark.parametrize("workload", STEP_WORKLOADS)
def test_a_graph_break_in_a_loss_of_the_suite_is_torchs_own_error(
    run_python: Run, torch_python: str, tmp_path: Path, workload: str
) -> None:
    """`fullgraph=True` stops the first call; the count of breaks at the end is the second lock, not this."""
    file = tmp_path / "session.json"
    done = run_python(
        "-c",
        BROKEN_LOSS,
        workload,
        python=torch_python,
        STEPWATCH_SESSION_FILE=str(file),
        STEPWATCH_STEPS="1",
    )
    assert done.returncode == 1
    assert "torch._dynamo.exc.Unsupported" in done.stderr, done.stderr
    assert "SessionError" not in done.stderr
    assert not file.exists()


OWN_STEP = """
import itertools
import sys
import torch
from suites._harness.benchmarks import AbstractTorchCompile
from suites.mlp.workload import WORKLOAD


def whole(weight, inputs, number):
    return (inputs @ weight).square().mean()


def broken(weight, inputs, number):
    scores = inputs @ weight
    torch._dynamo.graph_break()
    return scores.square().mean()


def new_at_each_step(weight, inputs, number):
    return (inputs @ weight).square().mean() * float(number)


class Own(AbstractTorchCompile):
    version = "1"
    workload = WORKLOAD

    def build(self, problem, *, device, compiled):
        weight = torch.ones(256, device=device, requires_grad=True)
        loss = torch.compile(globals()[sys.argv[1]], backend="eager")
        numbers = itertools.count()

        def step(batch):
            value = loss(weight, batch["inputs"], str(next(numbers)))
            value.backward()
            return value.detach()

        return step

    def setup_cache(self):
        return self.session()


Own().setup_cache()
"""


@pytest.fixture
def own_step(run_python: Run, torch_python: str, tmp_path: Path) -> OwnStep:
    """A session of a user's step, compiled without `fullgraph`; how it ended, and if it left a record."""

    def run(loss: str) -> tuple[CompletedProcess[str], bool]:
        file = tmp_path / f"{loss}.json"
        done = run_python(
            "-c",
            OWN_STEP,
            loss,
            python=torch_python,
            STEPWATCH_SESSION_FILE=str(file),
            STEPWATCH_STEPS="8",  # with start and warm-up 15 steps: past dynamo's limit of 8 programs
        )
        return done, file.exists()

    return run


def test_a_step_compiled_as_one_graph_is_measured(own_step: OwnStep) -> None:
    """The control: what the sessions below fail on is their loss alone."""
    done, recorded = own_step("whole")
    assert (done.returncode, recorded) == (0, True), done.stderr


def test_a_graph_break_fails_the_session_of_a_step_that_allows_it(own_step: OwnStep) -> None:
    done, recorded = own_step("broken")
    assert (done.returncode, recorded) == (1, False)
    assert "SessionError: torch.compile broke the graph" in done.stderr, done.stderr


def test_the_recompile_limit_is_an_error_and_not_eager(own_step: OwnStep) -> None:
    """Dynamo would go on without the compiler, and the session would time eager steps as compiled ones."""
    done, recorded = own_step("new_at_each_step")
    assert (done.returncode, recorded) == (1, False)
    assert "torch._dynamo.exc.FailOnRecompileLimitHit" in done.stderr, done.stderr
