"""`byteways list`: the words of suites and filters, and which of them this machine supports."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Annotated, Any

import typer
from msgspec import structs, to_builtins

from byteways.base.aliases import elsewhere
from byteways.base.errors import BytewaysError
from byteways.base.json_text import json_text
from byteways.base.units import format_size
from byteways.cases import vocabulary
from byteways.cases.case import Case
from byteways.cases.describe import options_text
from byteways.cases.folding import folded, names_text
from byteways.cases.interfaces import INTERFACES
from byteways.cases.memory import OWNERS
from byteways.cases.misplaced_words import OF_PROGRAM, advice
from byteways.console.layout import Lines, Notes, numeric, show
from byteways.console.terminal import echo, say
from byteways.ext.studies.published import names as study_names
from byteways.ext.studies.published.reading import load as load_study
from byteways.machine.model import Capabilities, Offer, Topology
from byteways.machine.nominal import NOMINAL_MACHINES
from byteways.measuring.conduct.simulation import Simulation, simulation_of
from byteways.models import load as load_machine
from byteways.models import names as machine_names
from byteways.plan.flow_sets import lacking
from byteways.plan.legality import executes, interface_offer, kind_of, memory_offer
from byteways.plan.suite import load, names
from byteways.plan.suite_types import Suite
from byteways.questions.display.table import Table

#: A section of the output: rows with equal keys.
SectionRows = tuple[Mapping[str, Any], ...]


@dataclass(frozen=True)
class KnownMachine:
    """The machine as far as known; without capabilities, `reason` says why."""

    topology: Topology
    capabilities: Capabilities | None
    reason: str = ""


#: Lists whose words have other names in other tools.
NAMED_ELSEWHERE = ("interfaces", "memory", "patterns")

#: Lists that need no machine.
_OF_NO_MACHINE = ("suites", "studies", "machines")


def list_(
    what: Annotated[
        str | None,
        typer.Argument(
            help="suites, studies, machines, interfaces, memory, patterns, devices or cases. "
            "[default: all but cases]"
        ),
    ] = None,
    suite: Annotated[str | None, typer.Argument(help="Suite for `list cases`.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
    machine_name: Annotated[
        str | None,
        typer.Option(
            "--machine", help="Use this simulated machine: a name from `list machines` or a TOML file."
        ),
    ] = None,
) -> None:
    """List what can be measured, and what is available on this machine or a simulated one."""
    if what is not None and what not in (*SECTIONS, "cases"):
        raise BytewaysError(f"unknown list '{what}'", hint=advice(what, (*SECTIONS, "cases"), OF_PROGRAM))
    if (suite is not None) != (what == "cases"):
        raise BytewaysError("only cases are listed by suite", hint="byteways list cases quick")
    chosen = load(suite) if suite is not None else None
    if machine_name is not None and what in _OF_NO_MACHINE:
        raise BytewaysError(f"{what} are the same on every machine", hint=f"byteways list {what}")
    simulation = simulation_of(machine_name, None)
    machine = look(simulation) if what not in _OF_NO_MACHINE else None
    if chosen is not None and machine is not None:
        sections = {"cases": cases(chosen, machine)}
    else:
        sections = {name: rows(machine) for name, rows in SECTIONS.items() if what in (None, name)}
    if as_json:
        answer: dict[str, Any] = {**sections}
        if what == "machines":
            answer["nominal_machines"] = [
                {"name": name, "title": one.title} for name, one in NOMINAL_MACHINES.items()
            ]
        if machine is not None:
            name = simulation.model.name if simulation else None
            answer |= {"simulated": simulation is not None, "machine_model": name}
            answer |= {"probed": machine.capabilities is not None, "reason": machine.reason or None}
        echo(json_text(answer, indent=1))
        return
    if machine is not None and machine.reason:
        say(f"this machine could not be probed: {machine.reason}")
    reasons = Notes()
    if what == "machines":
        show(_machine_blocks(sections["machines"]))
        return
    blocks = [_table(name, rows, reasons) for name, rows in sections.items()]
    names = [_elsewhere(sections[what])] if what in NAMED_ELSEWHERE else []
    show([*blocks, *names, *reasons.blocks("reasons")], simulation.mark if simulation else "")


def look(simulation: Simulation | None = None) -> KnownMachine:
    """Probes this or a simulated machine; if that fails, uses what the system reports without a runtime."""
    from byteways.machine.discovery import discover

    if simulation is not None:
        found = simulation.probe().capabilities
        return KnownMachine(simulation.topology(found.devices), found)
    try:
        from byteways.measuring.conduct.opening import topology_of
        from byteways.measuring.conduct.probe import probe

        probed = probe()
    except BytewaysError as error:
        return KnownMachine(discover(), None, error.cause or error.what)
    return KnownMachine(topology_of(probed, None), probed.capabilities)


def suites(_: KnownMachine | None) -> SectionRows:
    return tuple({"name": name, "title": title} for name, title in names())


def studies(_: KnownMachine | None) -> SectionRows:
    """Returns the published works that `byteways reproduce` supports."""
    return tuple(
        {
            "name": study.key,
            "title": study.title,
            "authors": study.authors,
            "year": study.year,
            "address": study.address,
            "about": study.about,
            "machines": [*study.models],
            "claims": len(study.claims),
        }
        for study in map(load_study, study_names())
    )


def machines(_: KnownMachine | None) -> SectionRows:
    """Returns the built-in machine models, with what they were fitted to and checked against."""
    rows = []
    for model in map(load_machine, machine_names()):
        rows.append(
            {
                "name": model.name,
                "title": model.title,
                "vendor": model.vendor,
                "devices": len(model.devices),
                "gpus": model.whole("gpu.count"),
                "fit": to_builtins(model.fit) if model.fit else None,
                "numbers": sum(1 for fact in model.facts.values() if fact.source),
                "assumed": sum(1 for fact in model.facts.values() if fact.assumed),
                "sources": {key: structs.asdict(source) for key, source in model.sources.items()},
            }
        )
    return tuple(rows)


def patterns(machine: KnownMachine | None) -> SectionRows:
    """Returns the patterns, and whether this machine has enough devices for them."""
    rows = []
    for name, meaning in vocabulary.PATTERN_MEANINGS.items():
        devices, gpus = vocabulary.PATTERN_NEEDS[name]
        reason = lacking(name, machine.topology) if machine else None
        needs = {"devices": devices, "gpus": gpus}
        row = {"name": name, "meaning": meaning, "elsewhere": [*elsewhere("pattern", name)], "needs": needs}
        rows.append({**row, "here": not reason, "reason": reason})
    return tuple(rows)


def interfaces(machine: KnownMachine | None) -> SectionRows:
    return tuple(
        {
            "name": name,
            "category": interface.category,
            "meaning": interface.meaning,
            "elsewhere": [*elsewhere("interface", name)],
            **_here(machine, name, interface_offer, executes),
        }
        for name, interface in INTERFACES.items()
    )


def memory(machine: KnownMachine | None) -> SectionRows:
    return tuple(
        {
            "name": name,
            "meaning": meaning,
            "elsewhere": [*elsewhere("memory", name)],
            **_here(machine, name, memory_offer, lambda memory, kind: kind in OWNERS[memory]),
        }
        for name, meaning in vocabulary.MEMORY_MEANINGS.items()
    )


def devices(machine: KnownMachine | None) -> SectionRows:
    return tuple(
        {"name": device.name, "kind": device.kind, "model": device.model, "memory_bytes": device.memory_bytes}
        for device in (machine.topology.devices if machine else ())
    )


def cases(suite: Suite, machine: KnownMachine) -> SectionRows:
    """Returns every case of a suite on this machine, regardless of budget, once for all rounds.

    Raises:
        BytewaysError: The machine could not be probed.
    """
    from byteways.plan.planner import make_plan

    if machine.capabilities is None:
        raise BytewaysError("it is unknown what can run here", cause=machine.reason, hint="byteways doctor")
    whole = replace(suite, budget_s=None, rounds=1)
    plan = make_plan(whole, machine.topology, machine.capabilities, all_devices=True)
    return tuple(
        {
            "case_id": entry.case.case_id,
            "sweep": entry.sweep,
            "path": entry.case.path,
            "skipped": entry.reason,
            **entry.case.identity(),
        }
        for entry in plan.cases
    )


def _here(
    machine: KnownMachine | None,
    name: str,
    offer: Callable[[str, str, Capabilities], Offer],
    concerns: Callable[[str, str], bool],
) -> dict[str, Any]:
    """Returns which devices of the relevant kinds offer it, and why the others do not."""
    if machine is None or machine.capabilities is None:
        return {"here": None}
    capabilities = machine.capabilities
    devices = [device for device in machine.topology.names() if concerns(name, kind_of(device))]
    offers = {device: offer(name, device, capabilities) for device in devices}
    reason = None if devices else "no usable GPU here; byteways doctor says why"
    return {"here": {device: asdict(answer) for device, answer in offers.items()}, "reason": reason}


SECTIONS: Mapping[str, Callable[[KnownMachine | None], SectionRows]] = {
    "suites": suites,
    "studies": studies,
    "machines": machines,
    "interfaces": interfaces,
    "memory": memory,
    "patterns": patterns,
    "devices": devices,
}


def _table(name: str, rows: SectionRows, notes: Notes) -> Table:
    """Formats a section for the terminal; long, repeated reasons go to the notes."""
    if name == "cases":
        heads = (
            "interface",
            "pattern",
            "path",
            "buffers and executor",
            "size",
            "cache",
            "options",
            "skipped",
        )
        return Table(name, heads, tuple(_case_cells(row, notes) for row in rows), numeric(heads, {"size"}))
    if name in ("suites", "machines"):
        return Table(name, ("name", "description"), tuple((row["name"], row["title"]) for row in rows))
    if name == "studies":
        studies = tuple((row["name"], f"{row['about']} ({row['authors']} {row['year']})") for row in rows)
        return Table(name, ("name", "description"), studies)
    if name == "devices":
        cells = tuple((row["name"], row["model"], _size(row["memory_bytes"])) for row in rows)
        return Table(name, ("name", "model", "memory"), cells, (2,))
    if name == "patterns":
        cells = tuple(
            (row["name"], row["meaning"], "yes" if row["here"] else f"no {notes.mark(row['reason'])}")
            for row in rows
        )
        return Table(name, ("name", "meaning", "here"), cells)
    cells = tuple((row["name"], row["meaning"], _availability(row, notes)) for row in rows)
    return Table(name, ("name", "meaning", "here"), cells)


def _elsewhere(rows: SectionRows) -> Lines:
    """Lists the accepted names of other tools for the words of a list."""
    lines = tuple(f"{row['name']}: {', '.join(row['elsewhere'])}" for row in rows if row["elsewhere"])
    return Lines("other tools' names, accepted as well", lines)


def _machine_blocks(rows: SectionRows) -> Sequence[Table | Lines]:
    """Formats machine models with accuracy, kinds of numbers, and every source once."""
    heads = (
        "name",
        "description",
        "vendor",
        "devices",
        "fitted to",
        "median error on held-out values",
        "assumed",
    )
    named = tuple(f"{row['name']}: {', '.join(row['sources'])}" for row in rows)
    sources = {
        f"{key}: {source['title']}, {source['address']}"
        for row in rows
        for key, source in row["sources"].items()
    }
    return [
        Table("machines", heads, tuple(_machine_cells(row) for row in rows)),
        Lines("sources by model", named),
        Lines("sources", tuple(sorted(sources))),
        Lines(
            "vendors' peaks alone, for byteways topo --machine",
            tuple(f"{name}: {machine.title}" for name, machine in NOMINAL_MACHINES.items()),
        ),
    ]


def _machine_cells(row: Mapping[str, Any]) -> tuple[str, ...]:
    """Returns fit, errors and sources of a model."""
    fit = row["fit"]
    fitted, errors = "–", "not yet checked"
    if fit:
        fitted = _values(fit["fitted_values"])
        errors = "no held-out values"
        by_category = fit["categories"]
        if by_category:
            parts = [
                f"{name} {100 * one['median_error']:.1f} % of {_values(one['values'])}"
                for name, one in by_category.items()
            ]
            errors = f"{'; '.join(parts)}; others not checked"
    devices = f"{row['gpus']} GPUs, {row['devices'] - row['gpus']} CPU"
    assumed = f"{row['assumed']} of {row['numbers']} numbers"
    return (row["name"], row["title"], row["vendor"], devices, fitted, errors, assumed)


def _values(count: int) -> str:
    return "1 value" if count == 1 else f"{count} values"


def _size(size_bytes: int | None) -> str:
    return format_size(size_bytes) if size_bytes else "unknown"


def _availability(row: Mapping[str, Any], notes: Notes) -> str:
    """Formats `gpu0 to gpu3`, `no [1]`, or both if devices differ; equal reasons share a note."""
    if row["here"] is None:
        return "unknown"
    having = [device for device, offer in row["here"].items() if offer["available"]]
    reasons = [offer["reason"] for offer in row["here"].values() if not offer["available"]]
    reasons += [row["reason"]] if row["reason"] else []
    such = [reason.replace(f"{row['name']} memory", "such memory") for reason in reasons]
    marks = [notes.mark(reason) for reason in dict.fromkeys(folded(such).values())]
    return "; ".join([*([names_text(having)] if having else []), *(f"no {mark}" for mark in marks)])


def _case_cells(row: Mapping[str, Any], notes: Notes) -> tuple[str, ...]:
    flow = row["flows"][0]
    ends = (
        flow["source"]
        if INTERFACES[row["interface"]].buffers == "one"
        else f"{flow['source']} > {flow['destination']}"
    )
    return (
        row["interface"],
        row["pattern"],
        row["path"],
        f"{ends} by {flow['executor']}",
        format_size(row["size_bytes"]),
        row["cache"],
        options_text(Case.from_json(row)),
        notes.mark(row["skipped"]) if row["skipped"] else "",
    )


list = list_  # the verb's function must have the verb's name
