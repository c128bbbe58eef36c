"""Command lines that start as many ranks on each host of a file."""

from __future__ import annotations

import os
import shlex
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from byteways.base.errors import BytewaysError
from byteways.base.settings import module_command
from byteways.base.system_errors import cannot_write
from byteways.base.writing import write
from byteways.measuring.shared.launchers import COUNT, Launcher, find_launcher
from byteways.record.run_folder import HOSTS_OF_JOB

#: Placeholders of a user's command: a file with one host a line, and the hosts separated by commas.
HOST_FILE, HOST_LIST = "{hostfile}", "{hosts}"
#: Placeholders for the number of ranks on each host, and for the number of hosts.
PER_HOST, HOST_COUNT = "{ranks_per_host}", "{host_count}"
#: Words that place the ranks on the hosts, by name of the launcher (measuring/shared/launchers.py).
HOST_FILE_WORDS = {
    "MPICH": ("-f", HOST_FILE, "-ppn", PER_HOST),
    "Intel MPI": ("-f", HOST_FILE, "-ppn", PER_HOST),
    "Open MPI": ("--hostfile", HOST_FILE, "--map-by", f"ppr:{PER_HOST}:node"),
    # A value with a slash is a file: srun(1). Without -N, ranks also go to other nodes of the allocation.
    "Slurm": ("-N", HOST_COUNT, f"--nodelist={HOST_FILE}", f"--ntasks-per-node={PER_HOST}"),
    # Tasks are distributed evenly over the nodes; --tasks-per-node and -n exclude each other: flux-run(1).
    "Flux": ("-N", HOST_COUNT, f"--requires=host:{HOST_LIST}"),
}
HOSTS_WORKER_MODULE = "byteways.measuring.hosts.worker"


@dataclass(frozen=True)
class HostsLauncher:
    """A launcher with words that choose the hosts, each of which gets `ranks_per_host` ranks."""

    launcher: Launcher
    ranks_per_host: int = 1

    def command(self, hosts: Sequence[str], file: Path) -> list[str]:
        """Returns the command that starts the ranks on each of `hosts`, which `file` lists."""
        program = [*module_command(HOSTS_WORKER_MODULE), *self.worker_words(hosts)]
        wrapper = [*module_command("byteways.measuring.work.launched"), "--parent", str(os.getpid()), "--"]
        return [*wrapper, *self.line(hosts, file, program)]

    def worker_words(self, hosts: Sequence[str]) -> list[str]:
        """Returns what each rank is told of their number."""
        several = ["--ranks-per-host", str(self.ranks_per_host)] if self.ranks_per_host > 1 else []
        return ["--ranks", str(len(hosts) * self.ranks_per_host), *several]

    def line(self, hosts: Sequence[str], file: Path, program: Sequence[str]) -> list[str]:
        """Returns the launcher's own words and the program."""
        told = {
            HOST_FILE: str(file),
            HOST_LIST: ",".join(hosts),
            PER_HOST: str(self.ranks_per_host),
            HOST_COUNT: str(len(hosts)),
        }
        words = self.launcher.command(len(hosts) * self.ranks_per_host, ())
        for placeholder, text in told.items():
            words = [word.replace(placeholder, text) for word in words]
        return [*words, *program]


def find_hosts_launcher(given: str | None = None, ranks_per_host: int = 1) -> HostsLauncher:
    """Returns the launcher: the given one, else that of the allocation or of an installed MPI.

    Args:
        given: A user's command, with placeholders.
        ranks_per_host: Ranks to start on each host.

    Raises:
        BytewaysError: There is none, or a given one does not say which hosts to use.
    """
    if given is not None:
        try:
            words = shlex.split(given)
        except ValueError:
            words = []
        if len(words) > 1 and not any(HOST_FILE in word or HOST_LIST in word for word in words):
            raise BytewaysError(
                f"--launcher does not say which hosts to use: {given}",
                hint=f"add {HOST_FILE} or {HOST_LIST}: --launcher 'mpiexec -n {COUNT} -f {HOST_FILE} "
                f"-ppn {PER_HOST}'",
            )
        if len(words) > 1:
            return HostsLauncher(find_launcher(given), ranks_per_host)
    found = find_launcher(given)
    if found.name not in HOST_FILE_WORDS:
        raise BytewaysError(
            f"byteways does not know how to pass hosts to {found.words[0]}",
            hint=f"give the full command: --launcher '{found.name} -n {COUNT} … {HOST_FILE}'",
        )
    more = {**found.environment}
    words = [*found.words, *HOST_FILE_WORDS[found.name]]
    launcher = replace(found, words=tuple(words), environment=more, one_host_words=())
    return HostsLauncher(launcher, ranks_per_host)


def write_host_file(folder: Path, hosts: Sequence[str]) -> Path:
    """Writes the hosts of a job. Raises BytewaysError if the folder cannot be written."""
    path = folder.absolute() / HOSTS_OF_JOB
    try:
        write(path, "".join(f"{name}\n" for name in hosts))
    except OSError as error:
        raise cannot_write(path, error, "check the file system") from error
    return path
