"""`byteways import`: outputs of other programs as a run folder, for show, compare, check and export."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from byteways.cli.machine_of_outputs import MACHINE_HELP
from byteways.cli.terminal import echo, say
from byteways.errors import BytewaysError, ExitStatus

if TYPE_CHECKING:
    from byteways.explain.audit.machine import AuditMachine
    from byteways.imported.records import ImportedRecords
    from byteways.imported.scan import OutputsOfFile

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
    from byteways.cli.machine_of_outputs import machine_of_outputs
    from byteways.imported.records import imported_records
    from byteways.imported.scan import read_outputs

    if twice := next((file for file in files if files.count(file) > 1), None):
        what = f"{twice} is named twice"
        raise BytewaysError(what, cause="its values would count as two repetitions", hint="name it once")
    read = [(str(file), read_outputs(file)) for file in files]
    hints = [output.hints for _, scan in read for output in scan.outputs]
    known = machine_of_outputs(machine, hints)
    mistakes = sum(_print_mistakes(name, scan) for name, scan in read)
    outputs = [(name, scan.outputs) for name, scan in read]
    if not any(output.values for _, found in outputs for output in found):
        raise BytewaysError("the files have no number that can be read", hint="see the lines above")
    made = imported_records(outputs, known.topology, _method_version())
    folder = _write(out, known, made, read)
    _summarise(made, folder)
    return ExitStatus.FAILED if strict and mistakes else ExitStatus.GOOD


def _method_version() -> int:
    """Returns the version of this byteways' method; the imported values have the method of their programs."""
    from byteways.explain.two_runs.setting import METHOD_CHANGES

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


def _write(
    out: Path | None, known: AuditMachine, made: ImportedRecords, read: list[tuple[str, OutputsOfFile]]
) -> Path:
    """Writes the run folder. Raises BytewaysError if it cannot be written; nothing is left of it then."""
    from byteways.imported.records import VALUES_FILE
    from byteways.json_text import json_text
    from byteways.record import manifest
    from byteways.run.conduct.new_folder import claim_folder, restore_folder
    from byteways.system_errors import cannot_write
    from byteways.topology.model import Capabilities
    from byteways.writing import write as write_file

    folder = out or Path(f"byteways-imported-{time.strftime('%Y%m%d-%H%M%S')}")
    existed = folder.exists()
    rounds = max((record.round + 1 for record in made.records), default=0)
    suite = {"name": "imported", "title": "Values of other programs", "text": "", "rounds": rounds}
    begun = manifest.build(
        command_line=sys.argv,
        suite=suite,
        options={},
        planned=len(made.records),
        topology=known.topology,
        capabilities=Capabilities(),
        libraries=(),
        method_version=_method_version(),
    )
    begun |= {"environment": {}, "imported": [_described(name, scan) for name, scan in read]}
    begun["host"] = {"name": _host(read) or known.name, "kernel": "", "os": "", "python": ""}
    journal = claim_folder(folder)
    try:
        with journal:
            for record in made.records:
                journal.append(record)
        lines = "".join(f"{json_text(line)}\n" for line in made.lines)
        try:
            write_file(folder / VALUES_FILE, lines, durable=True)
        except OSError as error:
            raise cannot_write(folder / VALUES_FILE, error, "check the file system") from error
        manifest.write(folder, manifest.finish(begun, "complete", 0.0))
    except BaseException:
        (folder / VALUES_FILE).unlink(missing_ok=True)
        restore_folder(folder, existed)
        raise
    return folder


def _host(read: list[tuple[str, OutputsOfFile]]) -> str:
    """Returns the host that the outputs name, if it is one."""
    hosts = {host for _, scan in read for output in scan.outputs for host in output.hints.hosts}
    return hosts.pop() if len(hosts) == 1 else ""


def _described(name: str, scan: OutputsOfFile) -> dict[str, Any]:
    """Returns a file as the manifest has it."""
    versions = dict.fromkeys(version for output in scan.outputs if (version := output.hints.version))
    return {
        "name": Path(name).name,
        "formats": [*dict.fromkeys(output.format for output in scan.outputs)],
        "values": sum(len(output.values) for output in scan.outputs),
        "versions": [*versions],
        "mistakes": len(scan.mistakes) + sum(len(output.mistakes) for output in scan.outputs),
    }


def _summarise(made: ImportedRecords, folder: Path) -> None:
    from byteways.explain.results.counting import count
    from byteways.imported.value import DIFFERENCES

    cases = len({record.case_id for record in made.records})
    results = f"{count(len(made.records), 'result')} of {count(cases, 'case')}"
    echo(f"{count(len(made.lines), 'value')} read; {results}")
    for code, number in made.differences.most_common():
        echo(f"{count(number, 'value')} not comparable: {DIFFERENCES[code]}")
    echo(f"run: {folder}")
