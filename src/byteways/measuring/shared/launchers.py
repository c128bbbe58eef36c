"""Programs that start the ranks of an MPI job, and their exact command lines."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path

from byteways.base.errors import BytewaysError
from byteways.base.safe_folders import folder_of_children
from byteways.base.settings import module_command
from byteways.cases.case import PlannedCase
from byteways.cases.interfaces import INTERFACES
from byteways.machine.model import Capabilities, Topology
from byteways.measuring.shared.allocation import Allocation
from byteways.measuring.shared.mpi_wheels import names_installation, usable_wheels
from byteways.measuring.shared.options import RunOptions
from byteways.plan.legality import kind_of
from byteways.plan.ranks import BY_DEVICE, Rank, default_ranks, layout, twins_of

#: Seconds for a launcher to print its version.
VERSION_S = 20
#: Has ranks of MPICH give their core away after each look that finds nothing. Without it, four ranks on two
#: cores took 54 ms for an allreduce of 32 KiB, and with it mostly 0.1 ms (measured with the wheel of MPICH).
_SLEEPS = {
    "MPIR_CVAR_CH4_PROGRESS_THROTTLE": "1",
    "MPIR_CVAR_CH4_PROGRESS_THROTTLE_NO_PROGRESS_COUNT": "1",
}
#: Launchers of schedulers, which work within an allocation only: the variable that each sets there.
_SCHEDULERS = {"srun": "SLURM_JOB_ID", "flux": "FLUX_URI"}
#: Placeholder for the number of ranks in a user's command.
COUNT = "{ranks}"
#: Advice where no launcher is found. It names the Python whose folders are searched, which has a pip.
INSTALL_MPI = f"{sys.executable} -m pip install mpich, or name one: --launcher 'srun -n {{ranks}}'"


@dataclass(frozen=True)
class Launcher:
    """`words` is the command with COUNT in place of the number of ranks; the program to start follows it."""

    name: str
    words: tuple[str, ...]
    environment: Mapping[str, str] = field(default_factory=dict)
    #: Extra words if there are more ranks than cores: without them, polling ranks would block their core;
    #: with them, ranks that have their own core would be slower.
    oversubscribed_words: tuple[str, ...] = ()
    oversubscribed_environment: Mapping[str, str] = field(default_factory=dict)
    #: Extra words if all ranks are on one host of an allocation.
    one_host_words: tuple[str, ...] = ()

    def command(self, ranks: int, program: Sequence[str], *, oversubscribed: bool = False) -> list[str]:
        words = (*self.words, *self.one_host_words, *(self.oversubscribed_words if oversubscribed else ()))
        return [*(word.replace(COUNT, str(ranks)) for word in words), *program]


@dataclass(frozen=True)
class Job:
    """The ranks of a run and how to start them."""

    launcher: Launcher
    ranks: int
    #: How many of them, the last ones, share the GPU of another one (plan/ranks.py).
    twins: int = 0

    def layout(self, topology: Topology, order: str = BY_DEVICE) -> tuple[Rank, ...]:
        """Returns where the ranks are in this order (plan/ranks.py)."""
        return layout(topology, self.ranks - self.twins, order, twins=self.twins > 0)

    def command(self) -> list[str]:
        """Returns the command that starts the ranks and dies with this process."""
        wrapper = [*module_command("byteways.measuring.work.launched"), "--parent", str(os.getpid()), "--"]
        return [*wrapper, *self._launch()]

    def line(self) -> str:
        """Returns the line that starts the ranks, with its variables, as a shell would take it; each run adds
        the path of its socket.
        """
        variables = [f"{name}={shlex.quote(value)}" for name, value in sorted(self.environment.items())]
        return " ".join([*variables, shlex.join(self._launch())])

    def _launch(self) -> list[str]:
        program = [*module_command("byteways.measuring.work.rank_worker"), "--ranks", str(self.ranks)]
        return self.launcher.command(self.ranks, program, oversubscribed=self.oversubscribed)

    @property
    def oversubscribed(self) -> bool:
        """Whether there are fewer cores than ranks."""
        return self.ranks > len(os.sched_getaffinity(0))

    @property
    def environment(self) -> dict[str, str]:
        """Returns the environment variables of the launcher."""
        more = self.launcher.oversubscribed_environment if self.oversubscribed else {}
        return {**self.launcher.environment, **more}


#: Ranks that are threads of one worker, as all ranks of a simulated machine are.
NO_LAUNCHER = Launcher("none", ())


#: Processes of this host, started by byteways itself.
LOCAL = Launcher("local", (*module_command("byteways.measuring.work.local_ranks"), "--ranks", COUNT, "--"))


def job_for(
    planned: Sequence[PlannedCase],
    options: RunOptions,
    topology: Topology,
    capabilities: Capabilities | None = None,
    *,
    simulated: bool = False,
) -> Job | None:
    """Returns how to start the ranks of a run, those that share a GPU included; None if it has no ranks.

    Raises:
        BytewaysError: See job_of().
    """
    job = job_of(planned, options.launcher, simulated=simulated, has_mpi=offers_mpi(capabilities))
    if job is None or not (options.with_self or any(map(_shares_gpu, planned))):
        return job
    count = options.ranks or default_ranks(topology)
    twins = twins_of(topology, count)
    return replace(job, ranks=count + twins, twins=twins)


def offers_mpi(capabilities: Capabilities | None) -> bool:
    """Whether a library of MPI was found; true if nobody looked."""
    if capabilities is None:
        return True
    offers = [offers["mpi"] for offers in capabilities.interface.values() if "mpi" in offers]
    return not offers or any(offer.available for offer in offers)


def _shares_gpu(planned: PlannedCase) -> bool:
    """Whether the case is a message between two ranks on one GPU, which is not skipped."""
    first = planned.case.flows[0]
    ends = first.source, first.destination
    return (
        planned.reason is None
        and len({end.rank for end in ends}) == 2
        and len({(end.host, end.device) for end in ends}) == 1
        and kind_of(first.source.device) == "gpu"
    )


def job_of(
    plan: Sequence[PlannedCase],
    given: str | None = None,
    *,
    simulated: bool = False,
    has_mpi: bool = True,
) -> Job | None:
    """Returns how to start the ranks of a plan; None if it has no ranks.

    Ranks that only NCCL, RCCL or direct collectives join need no MPI: byteways starts them itself where there
    is none.

    Raises:
        BytewaysError: See find_launcher(), or ranks with MPI are to be started without it.
    """
    running = (planned.case for planned in plan if planned.reason is None)
    between = [case for case in running if case.ranks]
    if not between:
        return None
    launched = not simulated and any(case.worker == "ranks" for case in between)
    numbers = [rank for case in between for rank in case.ranks]
    uses_mpi = any(INTERFACES[case.interface].between == "mpi" for case in between)
    launcher = _launcher(given, uses_mpi, has_mpi) if launched else NO_LAUNCHER
    return Job(launcher, 1 + max(numbers))


def _launcher(given: str | None, uses_mpi: bool, has_mpi: bool) -> Launcher:
    if given == LOCAL.name and uses_mpi:
        raise BytewaysError(
            "--launcher local starts ranks without MPI, and cases of this run use it",
            hint="--only 'interface=xccl*|ucx*', or a launcher of MPI",
        )
    if given == LOCAL.name or (given is None and not uses_mpi and not has_mpi):
        return LOCAL
    try:
        return find_launcher(given)
    except BytewaysError:
        if given is not None or uses_mpi:
            raise
        return LOCAL


def find_launcher(given: str | None = None, environment: Mapping[str, str] = os.environ) -> Launcher:
    """Returns the launcher: the given one, the one of the current allocation, otherwise mpiexec or mpirun.

    Args:
        given: A user's command; COUNT stands for the number of ranks, and `-n COUNT` is added if missing.
        environment: Variables of this process.

    Raises:
        BytewaysError: No launcher was found, the given one does not exist, or this host is no node of the
            current allocation.
    """
    if given is not None:
        return _given(given, environment)
    return _known(launcher_program(None, environment), environment)


def launcher_program(given: str | None = None, environment: Mapping[str, str] = os.environ) -> str:
    """Returns the absolute path of the launcher that starts ranks, without running it.

    Raises:
        BytewaysError: See find_launcher().
    """
    if given is not None:
        return str(Path(_words_of(given, environment)[0]).absolute())
    for name in (name for name, job in _SCHEDULERS.items() if environment.get(job)):
        if path := _which(name, environment):
            return str(Path(path).absolute())
    # Who installs both packages wants messages of GPU memory, which an MPI that merely lies in PATH may not
    # send. A module or a variable names the MPI that its user wants.
    if not names_installation(environment) and (wheels := usable_wheels(environment)):
        return str(wheels.mpiexec)
    for name in ("mpiexec", "mpirun"):
        if path := _which(name, environment):
            return str(Path(path).absolute())
    raise BytewaysError(
        "no MPI launcher found",
        cause="neither mpiexec nor mpirun is in PATH or in the folder of this Python",
        hint=INSTALL_MPI,
    )


def check_launcher(options: RunOptions, *, simulated: bool) -> None:
    """Raises BytewaysError if the user's launcher does not exist: a plan would skip all that it starts."""
    if options.launcher not in (None, LOCAL.name) and not simulated:
        launcher_program(options.launcher)


def _words_of(text: str, environment: Mapping[str, str]) -> list[str]:
    """Returns the words of a user's command, the program as a path."""
    try:
        words = shlex.split(text)
    except ValueError as error:
        raise BytewaysError(f"--launcher is not a command: {text}", cause=str(error)) from error
    if not words:
        raise BytewaysError("--launcher is empty", hint="--launcher 'mpirun -n {ranks}'")
    path = _which(words[0], environment)
    if path is None:
        raise BytewaysError(f"no program '{words[0]}'", hint="--launcher takes a command in PATH or a path")
    return [path, *words[1:]]


def _given(text: str, environment: Mapping[str, str]) -> Launcher:
    words = _words_of(text, environment)
    if len(words) == 1:
        return _known(words[0], environment)
    counted = any(COUNT in word for word in words)
    given = Launcher("given", (*words, *(() if counted else ("-n", COUNT))), _root())
    return _with_ucx(given, words[0], environment)


def _known(path: str, environment: Mapping[str, str]) -> Launcher:
    """Returns the launcher of a scheduler, by its name, or of an MPI, by its version."""
    name = Path(path).name
    if name == "srun":
        return _srun(path, Allocation.of(environment))
    if name == "flux":
        return _flux(path)
    return _with_ucx(_mpi(path, _version(path)), path, environment)


def _with_ucx(launcher: Launcher, path: str, environment: Mapping[str, str]) -> Launcher:
    """Returns the launcher with what lets its ranks send memory of GPUs, if it is that of the Python packages
    (mpi_wheels.py).
    """
    wheels = usable_wheels(environment)
    if wheels is None or Path(path).resolve() != wheels.mpiexec.resolve():
        return launcher
    return replace(
        launcher,
        words=(*launcher.words, *wheels.words(environment)),
        environment={**launcher.environment, **wheels.parameters(environment)},
    )


def _srun(path: str, allocation: Allocation | None) -> Launcher:
    """Returns srun with what it needs inside an allocation, of whatever options (srun(1)).

    `--overlap`: else a step waits for the resources of the one in which byteways runs. `--overcommit`: else
    it refuses more ranks than the allocation counts CPUs (`salloc -N 1` has one); byteways itself looks which
    cores there are. `-N 1`, and the name of this node: else ranks go to as many nodes as the allocation has,
    or to its first one. `--ntasks-per-node`: else that of the allocation applies.
    """
    words = (path, "-n", COUNT, "--cpu-bind=none", "--kill-on-bad-exit=1", "--overlap", "--overcommit")
    here = (f"--nodelist={allocation.required_node()}",) if allocation else ()
    return Launcher("Slurm", words, one_host_words=("-N", "1", f"--ntasks-per-node={COUNT}", *here))


def _flux(path: str) -> Launcher:
    """Returns `flux run` with what leaves cores and GPUs to the ranks: flux-run(1), flux-shell(1).

    Without `gpu-affinity=off` the shell sets CUDA_VISIBLE_DEVICES to -1 for tasks that ask for no GPU, which
    HIP heeds too; `cpu-affinity=off` and `mpibind=off` leave the binding to byteways. `--exclusive`, which
    needs `-N`, gives the job all resources of its nodes, GPUs included.
    """
    off = (f"{name}=off" for name in ("gpu-affinity", "cpu-affinity", "mpibind"))
    options = [word for option in off for word in ("-o", option)]
    return Launcher("Flux", (path, "run", "-n", COUNT, "--exclusive", *options), one_host_words=("-N", "1"))


def _mpi(path: str, version: str) -> Launcher:
    """Returns mpiexec of an MPI family, without binding: ranks bind themselves to the cores of the plan."""
    if "Open MPI" in version or "OpenRTE" in version or "prte" in version.lower():
        words = (path, "-n", COUNT, "--bind-to", "none")
        yields = {"OMPI_MCA_mpi_yield_when_idle": "1"}
        return Launcher("Open MPI", words, _root(), ("--oversubscribe",), yields)
    if "Intel" in version:
        return Launcher("Intel MPI", (path, "-n", COUNT), {"I_MPI_PIN": "0"})
    if "HYDRA" in version:
        return Launcher("MPICH", (path, "-n", COUNT), oversubscribed_environment=_SLEEPS)
    return Launcher(Path(path).name, (path, "-n", COUNT))


def _root() -> dict[str, str]:
    """Returns the two variables that let Open MPI start as root, the usual user in containers."""
    if os.geteuid() != 0:
        return {}
    return {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}


def _which(name: str, environment: Mapping[str, str]) -> str | None:
    """Searches PATH, then the interpreter's folder, where the wheels of MPICH and Open MPI put launchers."""
    beside = str(Path(sys.prefix) / "bin")
    return shutil.which(name, path=environment.get("PATH", os.defpath)) or shutil.which(name, path=beside)


@cache
def _version(path: str) -> str:
    try:
        done = subprocess.run(
            [path, "--version"],
            capture_output=True,
            text=True,
            timeout=VERSION_S,
            stdin=subprocess.DEVNULL,
            cwd=folder_of_children(),
            env={**os.environ, **_root()},
            check=False,
        )
    except (OSError, subprocess.SubprocessError) as error:
        raise BytewaysError(
            f"the launcher {path} does not run", cause=str(error), hint="--launcher names another one"
        ) from error
    return done.stdout + done.stderr
