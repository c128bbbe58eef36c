"""`byteways import`: outputs of other programs as a run folder, for show, compare, check and export."""

from __future__ import annotations

import sys
import time
from collections import Counter, defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from byteways.base.errors import BytewaysError, ExitStatus
from byteways.console.terminal import echo, say
from byteways.ext.audit.verbs.machine_of_outputs import MACHINE_HELP

if TYPE_CHECKING:
    from byteways.ext.audit.imported.scan import OutputsOfFile
    from byteways.ext.audit.judging.machine import AuditMachine
    from byteways.measuring.conduct.journal import Journal

#: Lines that could not be read that are printed of each file.
MOST_MISTAKES = 5


def import_outputs(
    files: Annotated[
        list[Path], typer.Argument(help="Outputs of other programs: logs, CSV or JSON.", metavar="FILE…")
    ],
    machine: Annotated[str | None, typer.Option("--machine", help=MACHINE_HELP)] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out", "-o", help="The run folder. [default: byteways-imported-TIME]", metavar="FOLDER"
        ),
    ] = None,
    strict: Annotated[
        bool, typer.Option("--strict", help="Exit with status 1 if a line could not be read.")
    ] = False,
) -> int:
    """Write values of other programs as a run folder, with what differs from byteways' own."""
    from byteways.ext.audit.imported.scan import read_outputs
    from byteways.ext.audit.verbs.machine_of_outputs import machine_of_outputs

    if twice := next((file for file in files if files.count(file) > 1), None):
        what = f"{twice} is named twice"
        raise BytewaysError(what, cause="its values would count as two repetitions", hint="name it once")
    read = [(str(file), read_outputs(file)) for file in files]
    hints = [output.hints for _, scan in read for output in scan.outputs]
    known = machine_of_outputs(machine, hints)
    mistakes = sum(_print_mistakes(name, scan) for name, scan in read)
    for name, scan in read:
        _print_wrong(name, scan)
    if not any(output.values for _, scan in read for output in scan.outputs):
        raise BytewaysError("the files have no number that can be read", hint="see the lines above")
    folder = out or Path(f"byteways-imported-{time.strftime('%Y%m%d-%H%M%S')}")
    written = _write(folder, known, read)
    _summarise(written)
    echo(f"run: {folder}")
    return ExitStatus.FAILED if strict and mistakes else ExitStatus.GOOD


def _method_version() -> int:
    """Returns the version of this byteways' method; the imported values have the method of their programs."""
    from byteways.verdicts.two_runs.setting import METHOD_CHANGES

    return METHOD_CHANGES[-1][0]


def _print_mistakes(name: str, scan: OutputsOfFile) -> int:
    """Prints what could not be read of a file. Returns how many lines and places that are."""
    found = [*scan.mistakes, *(mistake for output in scan.outputs for mistake in output.mistakes)]
    for mistake in found[:MOST_MISTAKES]:
        place = f"{name}:{mistake.line}" if mistake.line else name
        say(f"warning: {place}: {mistake.what}; not read" + (f" ({mistake.hint})" if mistake.hint else ""))
    if len(found) > MOST_MISTAKES:
        say(f"warning: {name}: {len(found) - MOST_MISTAKES} more lines or places could not be read")
    return len(found)


def _print_wrong(name: str, scan: OutputsOfFile) -> None:
    """Prints where programs call the data wrong that they moved."""
    found = [(output.format, one) for output in scan.outputs for one in output.wrong]
    for program, one in found[:MOST_MISTAKES]:
        say(f"warning: {name}:{one.line}: {program} calls its data wrong: {one.what}; they are no results")
    if len(found) > MOST_MISTAKES:
        say(f"warning: {name}: its data are wrong in {len(found) - MOST_MISTAKES} more lines or places")


@dataclass
class _Written:
    """What a run folder got."""

    values: int = 0
    records: int = 0
    rounds: Counter[str] = field(default_factory=Counter)  # by case
    # Values without a record by file, and by the code of what differs.
    differences: defaultdict[str, Counter[str]] = field(default_factory=lambda: defaultdict(Counter))


def _write(folder: Path, known: AuditMachine, read: list[tuple[str, OutputsOfFile]]) -> _Written:
    """Writes the run folder. Raises BytewaysError if it cannot be written; nothing is left of it then."""
    from byteways.measuring.conduct.new_folder import claim_folder, restore_folder
    from byteways.record import manifest
    from byteways.record.imported_values import VALUES_FILE

    existed = folder.exists()
    journal = claim_folder(folder)
    try:
        with journal:
            written = _write_values(journal, folder / VALUES_FILE, known, read)
        manifest.write(folder, manifest.finish(_manifest(known, read, written), "complete", 0.0))
    except BaseException:
        (folder / VALUES_FILE).unlink(missing_ok=True)
        restore_folder(folder, existed)
        raise
    return written


def _write_values(
    journal: Journal, values: Path, known: AuditMachine, read: list[tuple[str, OutputsOfFile]]
) -> _Written:
    """Writes the records and the file of all values, output by output: a log may have a million values."""
    from byteways.base.decoding import encoded_lines
    from byteways.base.system_errors import cannot_write
    from byteways.base.writing import replacing
    from byteways.ext.audit.imported.records import imported_records

    written = _Written()
    outputs = ((name, scan.outputs) for name, scan in read)
    try:
        with replacing(values, durable=True) as file:
            for made in imported_records(outputs, known.topology, _method_version()):
                journal.extend(made.records)
                file.write(encoded_lines(made.lines))
                written.values += len(made.lines)
                written.records += len(made.records)
                written.rounds.update(record.case_id for record in made.records)
                written.differences[made.path].update(made.differences)
    except OSError as error:
        raise cannot_write(values, error, "check the file system") from error
    return written


def _manifest(
    known: AuditMachine, read: list[tuple[str, OutputsOfFile]], written: _Written
) -> dict[str, Any]:
    """Returns the manifest of the run folder."""
    from byteways.machine.model import Capabilities
    from byteways.record import manifest

    rounds = max(written.rounds.values(), default=0)
    suite = {"name": "imported", "title": "Values of other programs", "text": "", "rounds": rounds}
    begun = manifest.build(
        command_line=sys.argv,
        suite=suite,
        options={},
        planned=written.records,
        topology=known.topology,
        capabilities=Capabilities(),
        libraries=(),
        method_version=_method_version(),
    )
    begun |= {
        "environment": {},
        "imported": [_described(*each, written.differences[each[0]]) for each in read],
    }
    begun["host"] = {"name": _host(read) or known.name, "kernel": "", "os": "", "python": ""}
    return begun


def _host(read: list[tuple[str, OutputsOfFile]]) -> str:
    """Returns the host that the outputs name, if it is one."""
    hosts = {host for _, scan in read for output in scan.outputs for host in output.hints.hosts}
    return hosts.pop() if len(hosts) == 1 else ""


def _described(name: str, scan: OutputsOfFile, differences: Mapping[str, int]) -> dict[str, Any]:
    """Returns a file as the manifest has it."""
    versions = dict.fromkeys(version for output in scan.outputs if (version := output.hints.version))
    return {
        "name": Path(name).name,
        "formats": [*dict.fromkeys(output.format for output in scan.outputs)],
        "values": sum(len(output.values) for output in scan.outputs),
        "versions": [*versions],
        "mistakes": len(scan.mistakes) + sum(len(output.mistakes) for output in scan.outputs),
        "differences": {**differences},
    }


def _summarise(written: _Written) -> None:
    from byteways.answers.results.counting import count
    from byteways.record.imported_values import DIFFERENCES

    results = f"{count(written.records, 'result')} of {count(len(written.rounds), 'case')}"
    echo(f"{count(written.values, 'value')} read; {results}")
    differences = sum(written.differences.values(), Counter[str]())
    for code, number in differences.most_common():
        echo(f"{count(number, 'value')} not comparable: {DIFFERENCES[code]}")
