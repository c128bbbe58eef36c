"""The file of `--hosts`: one host a line, with an optional group such as its switch or rack."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from byteways.errors import BytewaysError
from byteways.files import read_text
from byteways.plan.case import HOST_NAME
from byteways.system_errors import not_read

#: A file of 100,000 names with groups has 4 MB.
MOST_FILE_BYTES = 16 << 20
#: More than the largest machines have. A round of the tournament holds its pairs in memory.
MOST_HOSTS = 100_000
#: The longest name of a host (RFC 1035); Linux allows 64.
_LONGEST = 253
_NAME = re.compile(rf"^{HOST_NAME}$")
_HINT = "one host a line: 'node7', or 'node7 switch2' with its group; # begins a comment"


@dataclass(frozen=True)
class Host:
    """A host as launchers know it. Links within a group are of another class than links between groups."""

    name: str
    group: str = ""


def read_hosts(path: Path) -> tuple[Host, ...]:
    """Reads a file of hosts.

    Raises:
        BytewaysError: It cannot be read, has fewer than two hosts, a malformed line, or a host twice.
    """
    what = f"cannot read the hosts of {path}"
    try:
        lines = read_text(path, MOST_FILE_BYTES).splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise not_read(what, error, _HINT) from error
    hosts: dict[str, Host] = {}
    for number, line in enumerate(lines, start=1):
        words = line.partition("#")[0].split()
        if not words:
            continue
        wrong = _wrong(words, hosts)
        if wrong:
            raise BytewaysError(f"{path}:{number}: {wrong}", hint=_HINT)
        hosts[words[0]] = Host(*words)
    if len(hosts) < 2:
        found = "has one host, and a pair needs two hosts" if hosts else "names no host"
        raise BytewaysError(f"{path} {found}", hint=_HINT)
    if len(hosts) > MOST_HOSTS:
        raise BytewaysError(f"{path} has {len(hosts):,} hosts, more than {MOST_HOSTS:,}", hint="name fewer")
    return tuple(hosts.values())


def _wrong(words: list[str], known: dict[str, Host]) -> str:
    """Returns what is wrong with the words of a line; empty if nothing is."""
    name, *rest = words
    if len(rest) > 1:
        return f"'{' '.join(words)}' has more than a host and its group"
    for word in words:
        if not _NAME.match(word) or len(word) > _LONGEST:
            return f"'{word[:60]}' is not a name: letters, digits, '.', '-' and '_'"
    if name in known:
        return f"host '{name}' appears twice"
    return ""
