"""Command lines that start one rank on each host of a file."""

from __future__ import annotations

import os
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from byteways.errors import BytewaysError
from byteways.results.run_folder import HOSTS_OF_JOB
from byteways.run.launchers import COUNT, Launcher, find_launcher
from byteways.settings import module_command

#: Placeholders of a user's command: a file with one host a line, and the hosts separated by commas.
HOST_FILE, HOST_LIST = "{hostfile}", "{hosts}"
#: Words that place one rank on each host, by name of the launcher (run/launchers.py).
WORDS = {
    "MPICH": ("-f", HOST_FILE, "-ppn", "1"),
    "Intel MPI": ("-f", HOST_FILE, "-ppn", "1"),
    "Open MPI": ("--hostfile", HOST_FILE, "--map-by", "ppr:1:node"),
    # A value with a slash is a file: srun(1).
    "Slurm": (f"--nodelist={HOST_FILE}", "--ntasks-per-node=1"),
    "Flux": (f"--requires=host:{HOST_LIST}", "--tasks-per-node=1"),
}
MODULE = "byteways.run.hosts.worker"


@dataclass(frozen=True)
class HostsLauncher:
    """A launcher with words that choose the hosts."""

    launcher: Launcher

    def command(self, hosts: Sequence[str], file: Path) -> list[str]:
        """Returns the command that starts a rank on each of `hosts`, which `file` lists."""
        program = [*module_command(MODULE), "--ranks", str(len(hosts))]
        wrapper = [*module_command("byteways.run.launched"), "--parent", str(os.getpid()), "--"]
        return [*wrapper, *self.line(hosts, file, program)]

    def line(self, hosts: Sequence[str], file: Path, program: Sequence[str]) -> list[str]:
        """Returns the launcher's own words and the program."""
        return [
            word.replace(HOST_FILE, str(file)).replace(HOST_LIST, ",".join(hosts))
            for word in self.launcher.command(len(hosts), program)
        ]


def find_hosts_launcher(given: str | None = None) -> HostsLauncher:
    """Returns the launcher: the given one, else that of the allocation or of an installed MPI.

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
                hint=f"add {HOST_FILE} or {HOST_LIST}: --launcher 'mpiexec -n {COUNT} -f {HOST_FILE} -ppn 1'",
            )
        if len(words) > 1:
            return HostsLauncher(find_launcher(given))
    found = find_launcher(given)
    if found.name not in WORDS:
        raise BytewaysError(
            f"byteways does not know how {found.words[0]} is told its hosts",
            hint=f"name all of its words: --launcher '{found.name} -n {COUNT} … {HOST_FILE}'",
        )
    more = {**found.environment}
    words = [*found.words, *WORDS[found.name]]
    return HostsLauncher(
        Launcher(found.name, tuple(words), more, found.crowded_words, found.crowded_environment)
    )


def write_host_file(folder: Path, hosts: Sequence[str]) -> Path:
    """Writes the hosts of a job. Raises BytewaysError if the folder cannot be written."""
    path = folder.absolute() / HOSTS_OF_JOB
    try:
        path.write_text("".join(f"{name}\n" for name in hosts), encoding="utf-8")
    except OSError as error:
        raise BytewaysError(f"cannot write {path}", cause=error.strerror, hint="free some space") from error
    return path
