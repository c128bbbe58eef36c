"""The links of a machine for `byteways topo`: table, class matrix, routed pairs, and tree."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import chain, combinations, combinations_with_replacement, count, product
from string import ascii_lowercase, ascii_uppercase

from byteways.base.units import format_bandwidth
from byteways.cli.device_groups import ranges_of
from byteways.console.layout import Lines, numeric
from byteways.machine.model import Link, Topology
from byteways.machine.routes import alike, link_class, routes
from byteways.questions.display.table import Table

#: A wider matrix uses letters for its classes, with a legend.
MATRIX_WIDTH = 96
#: Most devices of a matrix, and of a list of routed pairs: both grow with the square of their number.
MOST_IN_MATRIX = 128
#: With more links than this, links of equal class share rows, to fit a screen.
LINKS_ON_SCREEN = 24
#: Maximum number of links named in a shared row.
NAMED_A_ROW = 4
#: Of a class of links, the pairs that are named; and the most lines of a tree by class.
EXAMPLES, TREE_LINES = 3, 60


def table(links: Sequence[Link], sources: dict[str, int], whole: bool = True) -> Table:
    """Returns one row per link, or if that is too long, one per class and peak.

    Args:
        links: Of the machine.
        sources: Numbers of the sources of peaks.
        whole: Whether a row names all its links, and not only the first and the last.
    """
    facts = [
        (
            link.link_class,
            rate(link.peak_bytes_per_s),
            rate(link.signalling_bytes_per_s),
            f"[{sources[link.source]}]",
        )
        for link in links
    ]
    names = [f"{link.a}<>{link.b}" for link in links]
    columns = ("class", "peak per direction", "signalling", "source")
    right = {"peak per direction", "signalling", "links"}
    if len(links) <= LINKS_ON_SCREEN:
        single = tuple((name, *fact) for name, fact in zip(names, facts, strict=True))
        return Table("Links", ("link", *columns), single, numeric(("link", *columns), right))
    rows: list[tuple[str, ...]] = []
    for fact in dict.fromkeys(facts):
        equal = [name for name, other in zip(names, facts, strict=True) if other == fact]
        parts = [equal[first : first + NAMED_A_ROW] for first in range(0, len(equal), NAMED_A_ROW)]
        if clique := _clique(equal, whole):
            parts = [[clique]]
        elif not whole and len(equal) > NAMED_A_ROW:
            parts = [[f"{equal[0]} … {equal[-1]}"]]
        rows.append((*fact, str(len(equal)), ", ".join(parts[0])))
        rows.extend((*("" for _ in fact), "", ", ".join(part)) for part in parts[1:])
    headings = (*columns, "links", "between")
    return Table("Links", headings, tuple(rows), numeric(headings, right))


def _clique(names: Sequence[str], whole: bool) -> str | None:
    """Returns `each two of gpu0 to gpu7` if the links connect every pair of some devices, otherwise None."""
    ends = list(dict.fromkeys(end for name in names for end in name.split("<>")))
    if len(ends) < 4 or len(set(names)) != len(ends) * (len(ends) - 1) // 2:
        return None
    return f"every pair of {', '.join(ends) if whole else ranges_of(ends)}"


def matrix(topology: Topology) -> list[Table | Lines]:
    """Returns the link classes from row to column; letters and a legend if the names are too wide."""
    names = topology.names()
    title = "Link classes between devices"
    if len(names) > MOST_IN_MATRIX:
        return [Lines(title, (f"{len(names):,} devices are too many for a matrix",))]
    cells = [[link_class(topology, a, b) for b in names] for a in names]
    columns = ("", *names)
    widest = [max(len(row[index]) for row in [names, *cells]) for index in range(len(names))]
    if sum(width + 2 for width in widest) <= MATRIX_WIDTH:
        return [Table(title, columns, tuple((a, *row) for a, row in zip(names, cells, strict=True)))]
    letters = dict(zip(dict.fromkeys(chain(*cells)), _letters(), strict=False))
    rows = tuple((a, *(letters[cell] for cell in row)) for a, row in zip(names, cells, strict=True))
    legend = Lines("Classes", tuple(f"{letter}  {text}" for text, letter in letters.items()))
    return [Table(title, columns, rows), legend]


def classes(topology: Topology) -> Table:
    """Returns the link classes between two devices of a large machine, each with its pairs' number.

    Devices with equal links are classified once: a thousand GPUs have half a million pairs.
    """
    order = {name: number for number, name in enumerate(topology.names())}
    number: Counter[str] = Counter()
    pairs: dict[str, list[tuple[int, str, int, str]]] = {}
    for one, two in combinations_with_replacement(alike(topology), 2):
        few = one[: EXAMPLES + 1], two[: EXAMPLES + 1]  # the first pairs are among these
        first = [*combinations(few[0], 2)] if one is two else [*product(*few)]
        if first:
            text = link_class(topology, *first[0])
            number[text] += len(one) * (len(one) - 1) // 2 if one is two else len(one) * len(two)
            named = (sorted(pair, key=order.__getitem__) for pair in first)
            pairs.setdefault(text, []).extend((order[a], a, order[b], b) for a, b in named)
    examples = {text: sorted(found, key=lambda pair: pair[::2])[:EXAMPLES] for text, found in pairs.items()}
    rows = [
        (text, str(number[text]), ", ".join(f"{a}<>{b}" for _, a, _, b in examples[text]))
        for text in sorted(examples, key=lambda text: (-number[text], examples[text]))
    ]
    return Table("Link classes between devices", ("class", "pairs", "for example"), tuple(rows), (1,))


def _letters() -> Iterator[str]:
    """Yields A to Z, a to z, then AA, AB and so on."""
    alphabet = ascii_uppercase + ascii_lowercase
    for length in count(1):
        yield from map("".join, product(alphabet, repeat=length))


def routed(topology: Topology) -> list[Table | Lines]:
    """Returns GPU pairs that are routed over other GPUs, with those GPUs; empty without any, and for too many
    devices.
    """
    if len(topology.devices) > MOST_IN_MATRIX:
        return []
    found = routes(topology)
    gpus = topology.names("gpu")
    rows = [
        (f"{a}<>{b}", " > ".join(found[a, b].nodes[1:-1]), rate(found[a, b].peak_bytes_per_s))
        for index, a in enumerate(gpus)
        for b in gpus[index + 1 :]
        if (a, b) in found and set(found[a, b].nodes[1:-1]) & set(gpus)
    ]
    columns = ("pair", "via", "peak per direction")
    title = "GPU pairs without a direct link, by the widest route"
    return [Table(title, columns, tuple(rows), numeric(columns, {"peak per direction"}))] if rows else []


def tree(topology: Topology, whole: bool = True) -> list[str]:
    """Returns the machine as a tree: what is connected below each CPU device, GPU switch and GPU.

    An xGMI mesh is not a tree and only appears in table and matrix. Unless `whole`, equal devices share
    a line.
    """
    gpus, switches = set(topology.names("gpu")), set(topology.switches)
    children: dict[str, list[Link]] = {}
    for link in topology.links:
        ends = {link.a, link.b}
        # Packages of partitioned GPUs are switches, too: as branches, their mesh would repeat itself.
        mesh = link.kind == "xgmi" and (ends <= gpus or ends <= switches)
        if link.kind != "numa" and not mesh:
            children.setdefault(link.b, []).append(link)
    roots = [*topology.names("cpu"), *(name for name in topology.switches if not name.startswith("pcie"))]
    roots += [name for name in topology.names("gpu") if name in children]
    lines = []
    for root in roots:
        device = next((device for device in topology.devices if device.name == root), None)
        number = "unknown" if device is None or device.numa_domain is None else device.numa_domain
        domain = f"  NUMA domain {number}" if device and device.kind == "cpu" else ""
        lines.append(f"{root}{domain}")
        lines.extend(_branches(topology, children, root, "", whole))
    return lines if whole else _shortened(lines)


def _shortened(lines: Sequence[str]) -> list[str]:
    """Returns the first lines of a tree that is too long for a screen."""
    if len(lines) <= TREE_LINES:
        return [*lines]
    return [*lines[:TREE_LINES], f"… {len(lines) - TREE_LINES} more lines"]


def _branches(
    topology: Topology, children: dict[str, list[Link]], node: str, indent: str, whole: bool
) -> list[str]:
    lines = []
    links = children.get(node, [])
    if not whole:
        return _by_class(topology, children, links, indent)
    for index, link in enumerate(links):
        last = index + 1 == len(links)
        device = next((device for device in topology.devices if device.name == link.a), None)
        upward = link.kind == "pcie" or (link.kind == "xgmi" and node in topology.names("cpu"))
        named = f"  {device.uuid}" if device and device.uuid and upward else ""
        text = f"{link.a}  {link.link_class}, {rate(link.peak_bytes_per_s)}{named}"
        lines.append(f"{indent}{'└─' if last else '├─'} {text}")
        if device is None:
            lines.extend(_branches(topology, children, link.a, indent + ("   " if last else "│  "), whole))
    return lines


def _by_class(
    topology: Topology, children: dict[str, list[Link]], links: Sequence[Link], indent: str
) -> list[str]:
    """Returns a line for all devices below a node over links of one class, and one for each switch."""
    gathered: dict[tuple[str, ...], list[Link]] = {}
    devices = set(topology.names())
    for link in links:
        own = "" if link.a in devices else link.a
        gathered.setdefault((own, link.link_class, rate(link.peak_bytes_per_s)), []).append(link)
    lines = []
    for index, ((switch, *facts), members) in enumerate(gathered.items()):
        last = index + 1 == len(gathered)
        count = f" ({len(members)})" if len(members) > 1 else ""
        names = ranges_of([link.a for link in members])
        lines.append(f"{indent}{'└─' if last else '├─'} {names}{count}  {', '.join(facts)}")
        if switch:
            below = indent + ("   " if last else "│  ")
            lines.extend(_by_class(topology, children, children.get(switch, []), below))
    return lines


def rate(bytes_per_s: float | None) -> str:
    """`36.00 GB/s`, or `unknown`."""
    return "unknown" if bytes_per_s is None else format_bandwidth(bytes_per_s)
