"""The hosts of `--hosts`: a file with one host a line and an optional group such as its switch or rack, or a
list as Slurm compresses it: `n[01-03,7]-ib`.
"""

from __future__ import annotations

import itertools
import os
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from byteways.base.errors import BytewaysError
from byteways.base.files import read_text
from byteways.base.system_errors import not_read
from byteways.cases.case import HOST_NAME

#: A file of 100,000 names with groups has 4 MB.
MOST_FILE_BYTES = 16 << 20
#: More than the largest machines have. A round of the tournament holds its pairs in memory.
MOST_HOSTS = 100_000
#: The longest name of a host (RFC 1035); Linux allows 64.
_LONGEST = 253
_NAME = re.compile(rf"^{HOST_NAME}$")
#: The largest number in a range that is read: a wider one names more hosts than there are.
_MOST_DIGITS = 18
_HINT = "one host a line: 'node7', or 'node7 switch2' with its group; # begins a comment"
_LIST_HINT = "--hosts takes a file with one host a line, or a list: 'n[01-03,7]-ib,login1'"


@dataclass(frozen=True)
class Host:
    """A host as launchers know it. Links within a group are of another class than links between groups."""

    name: str
    group: str = ""


def hosts_of(given: str) -> tuple[Host, ...]:
    """Returns the hosts of `--hosts`: those of a file of this name, or else of a list.

    Raises:
        BytewaysError: See read_hosts(), or the list is malformed.
    """
    # A list may be longer than a path: Path.exists() would raise.
    if os.path.exists(given) or not any(mark in given for mark in ",[]"):  # noqa: PTH110
        return read_hosts(Path(given))
    what = f"cannot read the hosts '{given[:60]}'"
    try:
        names = expand(given)
    except ValueError as error:
        raise BytewaysError(what, cause=str(error), hint=_LIST_HINT) from error
    hosts: dict[str, Host] = {}
    for name in names:
        if wrong := _wrong([name], hosts):
            raise BytewaysError(what, cause=wrong, hint=_LIST_HINT)
        hosts[name] = Host(name)
    return _enough(hosts, f"--hosts {given[:60]}", _LIST_HINT)


def check_names(hosts: Iterable[Host]) -> None:
    """Raises ValueError if a name is none: launchers get names as words of their command line."""
    known: dict[str, Host] = {}
    for host in hosts:
        words = [host.name, host.group] if host.group else [host.name]
        if wrong := _wrong(words, known):
            raise ValueError(wrong)
        known[host.name] = host


def read_hosts(path: Path) -> tuple[Host, ...]:
    """Reads a file of hosts; a line may have a list of hosts in place of one name.

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
        try:
            names = expand(words[0])
        except ValueError as error:
            raise BytewaysError(f"{path}:{number}: {error}", hint=_HINT) from error
        for name in names:
            if wrong := _wrong([name, *words[1:]], hosts):
                raise BytewaysError(f"{path}:{number}: {wrong}", hint=_HINT)
            hosts[name] = Host(name, *words[1:])
    return _enough(hosts, str(path), _HINT)


def expand(text: str) -> list[str]:
    """Returns the names of a compressed list: names separated by commas, each with any number of brackets of
    numbers and ranges, whose zeros in front are kept (slurm.conf(5), NodeName).

    Raises:
        ValueError: It is malformed, or has more than MOST_HOSTS names.
    """
    names: list[str] = []
    for item in re.split(r",(?![^\[]*\])", text):
        parts = [list(_of_part(part, text)) for part in re.split(r"(\[[^\[\]]*\])", item) if part]
        for words in itertools.product(*parts):
            names.append("".join(words))
            if len(names) > MOST_HOSTS:
                raise _too_many(text)
    return names


def _of_part(part: str, text: str) -> Iterator[str]:
    """Yields what a part of a name stands for: itself, or the numbers of a bracket."""
    if not part.startswith("["):
        if "[" in part or "]" in part:
            raise ValueError(f"'{text[:60]}' has a bracket that is not closed, not opened, or within another")
        yield part
        return
    for numbers in part[1:-1].split(","):
        found = re.fullmatch(rf"([0-9]{{1,{_MOST_DIGITS}}})(?:-([0-9]{{1,{_MOST_DIGITS}}}))?", numbers)
        if found is None:
            raise ValueError(f"'{numbers[:60]}' in '{text[:60]}' is neither a number nor a range such as 1-4")
        low, high = found[1], found[2] or found[1]
        if int(low) > int(high):
            raise ValueError(f"the range {numbers} in '{text[:60]}' counts down")
        if int(high) - int(low) >= MOST_HOSTS:
            raise _too_many(text)
        for number in range(int(low), int(high) + 1):
            yield f"{number:0{len(low)}d}"


def _too_many(text: str) -> ValueError:
    return ValueError(f"'{text[:60]}' names more than {MOST_HOSTS:,} hosts")


def _enough(hosts: dict[str, Host], where: str, hint: str) -> tuple[Host, ...]:
    """Returns the hosts. Raises BytewaysError if there are fewer than two, or too many."""
    if len(hosts) < 2:
        found = "has one host, and a pair needs two hosts" if hosts else "names no host"
        raise BytewaysError(f"{where} {found}", hint=hint)
    if len(hosts) > MOST_HOSTS:
        raise BytewaysError(f"{where} has {len(hosts):,} hosts, more than {MOST_HOSTS:,}", hint="name fewer")
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
