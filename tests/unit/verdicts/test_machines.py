"""Machine models: what is shipped, what is refused and where, what the simulator is given."""

from __future__ import annotations

import json
import re
from collections import Counter
from pathlib import Path

import jsonschema
import pytest

from byteways.base.errors import BytewaysError
from byteways.base.toml_files import read_toml
from byteways.cli.schema import texts
from byteways.models import load, load_text, sheet
from byteways.models.faults import GRAMMAR, check_faults, check_rank_faults
from byteways.models.model import SourcedValue
from byteways.models.schema import MODEL_TABLES
from byteways.models.topology import topology_of

WANTED = (
    "crusher-mi250x",
    "elcap-mi300a",
    "frontier-mi250x",
    "frontier-mi250x-2",
    "h200-x4",
    "jureca-a100",
    "jureca-mi250",
    "mi300x-8",
)
CRUSHER = load("crusher-mi250x")
FRACTIONS = {
    f"{table}.{key}": kind
    for table, keys in MODEL_TABLES.items()
    for key, kind in keys.items()
    if key.endswith("efficiency")
}


@pytest.mark.parametrize("name", WANTED)
def test_every_number_has_a_source_and_every_source_a_number(name: str) -> None:
    """Would catch an invented number, or a source that stands there for show."""
    model = load(name)
    sourced = {key: fact for key, fact in model.facts.items() if fact.source}
    unsourced = {key for key, fact in model.facts.items() if not fact.source}
    for key in unsourced:  # names, and neutral values of keys that were left out
        value = model.facts[key].value
        assert isinstance(value, (str, tuple)) or not value, key
    assert {fact.source_key for fact in sourced.values()} - {"assumed"} == set(model.sources)


@pytest.mark.parametrize("name", WANTED)
def test_schema_holds(name: str) -> None:
    """Would catch a published schema that refuses what byteways ships."""
    rules = json.loads(texts()["machine.schema.json"])
    jsonschema.Draft202012Validator.check_schema(rules)
    jsonschema.Draft202012Validator(rules).validate(read_toml(load(name).text, file=name))


def test_source_of_a_fitted_number_is_what_it_was_fitted_to() -> None:
    """Would catch a fitted number taken for an assumed one, or credited to another source."""
    fitted, assumed = SourcedValue(1.0, "fitted: pearson2023"), SourcedValue(1.0, "assumed: why")
    assert (fitted.source_key, fitted.fitted, fitted.assumed) == ("pearson2023", True, False)
    assert (assumed.source_key, assumed.fitted, assumed.assumed) == ("assumed", False, True)


def test_facts_of_crusher() -> None:
    """Would catch links that are not Table I of pearson2023."""
    topology = topology_of(CRUSHER)
    classes = Counter(
        (link.link_class, link.peak_bytes_per_s) for link in topology.links if link.kind == "xgmi"
    )
    assert classes == {
        ("xGMI ×4", 200e9): 4,
        ("xGMI ×2", 100e9): 2,
        ("xGMI ×1", 50e9): 6,
        ("xGMI to CPU ×1", 36e9): 8,
    }
    assert topology.host == "crusher-mi250x"
    assert topology.device("gpu0").memory_peak_bytes_per_s == pytest.approx(1638.4e9)


@pytest.mark.parametrize("name", WANTED)
def test_discovery_finds_what_the_model_says(name: str) -> None:
    """Would catch a model whose rates differ from those that every real machine of the kind is given."""
    model = load(name)
    topology = topology_of(model)
    if model.hosts:
        assert topology.hosts == model.hosts  # what is found is the first host: test_simulated_hosts.py
        return
    assert tuple(topology.names()) == model.devices
    found = {frozenset((link.a, link.b)): link for link in topology.links}
    for index in range(model.count("links")):
        if model.text_of(f"links.{index}.kind") == "numa":
            continue
        for pair in model.texts(f"links.{index}.pairs"):
            ends, kind = pair.split("-"), model.text_of(f"links.{index}.kind")
            if any(end.startswith("switch") for end in ends):
                continue  # discovery shows the way over a PCIe switch as one link
            if kind == "nic":  # drawn at the NUMA domain of its GPU, as sysfs has it
                ends[0], kind = f"cpu{topology.device(ends[0]).numa_domain}", "pcie"
            link = found[frozenset(ends)]
            assert link.kind == kind
            assert link.peak_bytes_per_s == pytest.approx(
                model.number(f"links.{index}.peak_bytes_per_s"), rel=1e-4
            )
    for gpu in topology.names("gpu"):
        peak = topology.device(gpu).memory_peak_bytes_per_s
        assert peak == pytest.approx(model.number("gpu.memory_bytes_per_s"), rel=1e-3)


def test_a_link_that_is_down_is_not_there() -> None:
    """Would catch routes over a link that the model marks as down."""
    topology = topology_of(CRUSHER, faults=("down:gpu0-gpu1",))
    assert {"gpu0", "gpu1"} not in [{link.a, link.b} for link in topology.links]


def test_sheet_says_everything_once() -> None:
    """Would catch a number that the simulator would have to guess, or is told twice."""
    lines = [line.split("\t") for line in sheet(CRUSHER, ("down:gpu0-gpu1",)).splitlines()]
    told = dict(lines)
    assert len(told) == len(lines)
    assert told["gpu.count"] == "8"
    assert told["links.0.pairs.3"] == "gpu6-gpu7"
    assert told["links.0.duplex_bytes_per_s"] == "0.0"
    assert told["features.host_access"] == "0"
    assert told["features.pageable_access"] == "1"
    assert told["staging.to.1.up_to_bytes"] == "0"
    assert float(told["rates.engine-peer-write.cap_bytes_per_s"]) == 51e9
    assert told["faults.0"] == "down:gpu0-gpu1"
    assert told["gpu.domains.0"] == "3"
    assert not [key for key in told if key.startswith(("sources", "fit.", "topology", "title"))]


def broken(before: str, after: str) -> str:
    """The error of the crusher model with a change."""
    assert CRUSHER.text.count(before) >= 1
    with pytest.raises(BytewaysError) as caught:
        load_text(CRUSHER.text.replace(before, after, 1), file="m.toml")
    return str(caught.value)


def line_of(text: str) -> int:
    return CRUSHER.text[: CRUSHER.text.index(text)].count("\n") + 1


@pytest.mark.parametrize(
    ("before", "after", "said", "at"),
    [
        ("seed = [1,", "sead = [1,", "key 'sead': unknown key", "seed"),
        ("noise = [0.002,", "noise = [-1,", "-1 is out of range", "noise"),
        (
            'noise = [0.002, "assumed: ',
            'noise = [0.002, "heard: ',
            "the source 'heard' is not in [sources]",
            "noise",
        ),
        ('width = [4, "pearson2023: Table I"]', "width = 4", "a number without a source", "width = [4"),
        (
            'width = [4, "pearson2023: Table I"]',
            'width = [4, "pearson2023"]',
            "has no location after",
            "width = [4",
        ),
        ("width = [4,", "width = [4.5,", "4.5 is not an integer", "width = [4"),
        (
            "peak_bytes_per_s = [200e9,",
            "peak_bytes_per_s = [200,",
            "200 is out of range",
            "peak_bytes_per_s = [200",
        ),
        (
            "peak_bytes_per_s = [200e9,",
            "peak_bytes_per_s = [2e17,",
            "2e+17 is out of range",
            "peak_bytes_per_s = [200",
        ),
        (
            "memory_clock_mhz = [",
            "pcie_generation = [16, 'assumed: x']\nmemory_clock_mhz = [",
            "16 is out of range",
            "memory_clock_mhz = [",
        ),
        ('kind = "xgmi"', 'kind = "ethernet"', "'ethernet' is not a valid value", 'kind = "xgmi"'),
        ('"gpu0-gpu6"', '"gpu0-gpu9"', "unknown device gpu9", 'pairs = ["gpu0-gpu6"'),
        ('"gpu0-gpu6"', '"gpu0-gpu1"', "'gpu0-gpu1' appears twice", 'pairs = ["gpu0-gpu6"'),
        ('"gpu0-gpu6"', '"gpu0gpu6"', "'gpu0gpu6' is not a pair of devices", 'pairs = ["gpu0-gpu6"'),
        ('name = "crusher-mi250x"', 'name = "Crusher!"', "is not a valid name", "name ="),
        ('vendor = "amd"', "vendor = 3", "a number instead of a string", "vendor"),
        ("count = [8,", "count = [7,", "there are 7 GPUs", "domains = [["),
        ("domains = [[3,", "domains = [[9,", "there is no NUMA domain 9", "domains = [["),
        ('"0000:c1:00.0"', '"c1:00"', "'c1:00' is not a unique PCI address", "pci_addresses"),
        ("[1, 1, 8]", "[1, 1]", "one entry per [[cpu.caches]] table", "cache_sharing"),
        ("[rates.kernel-local]", "[rates.kernel-moon]", "unknown key", "[rates.kernel-local]"),
        ("[features]", "[[features]]", "instead of a table", "[features]"),
        ("[[cpu.caches]]", "[cpu.caches]", "is not valid TOML", "[[cpu.caches]]"),
    ],
)
def test_mistakes_are_named_with_their_line(before: str, after: str, said: str, at: str) -> None:
    """Would catch a typing mistake that becomes a default, and a message that does not say where."""
    message = broken(before, after)
    assert said in message
    if "TOML" not in said:
        assert message.startswith(f"m.toml:{line_of(at)}: ")


@pytest.mark.parametrize("name", sorted(FRACTIONS))
def test_a_fraction_is_no_more_than_all(name: str) -> None:
    """Would catch a model whose records are all beyond the physical limit."""
    assert FRACTIONS[name].most == 1.0


def test_a_model_that_passes_its_own_limit() -> None:
    """Would catch a rate that contradicts width and kind of its link, in a message without both numbers."""
    text = CRUSHER.text.replace("peak_bytes_per_s = [200e9,", "peak_bytes_per_s = [300e9,", 1)
    with pytest.raises(BytewaysError) as caught:
        topology_of(load_text(text, file="m.toml"))
    assert "300.0 GB/s" in caught.value.what and "200.0 GB/s" in caught.value.what
    assert "gpu0-gpu1" in (caught.value.cause or "")


def test_what_is_missing_is_named() -> None:
    """Would catch an error that does not name the missing key of a machine file."""
    line = next(line for line in CRUSHER.text.splitlines() if line.startswith("queue_depth"))
    assert "key 'gpu.queue_depth': missing" in broken(line, "")
    start = CRUSHER.text.index("[rates.blit-local]")
    end = CRUSHER.text.index("[rates.blit-peer-read]")
    assert "key 'rates.blit-local': missing table" in broken(CRUSHER.text[start:end], "")


def test_staging_steps_must_rise() -> None:
    """Would catch a table of staging steps in the wrong order that is read."""
    line = next(line for line in CRUSHER.text.splitlines() if line.startswith("up_to_bytes"))
    assert "sizes must increase" in broken(line, "")


def test_fit_is_read() -> None:
    """Would catch a model that claims to be checked without saying how well."""
    fit = "[fit]\nfitted_values = 4\nheld_out_values = 14\nmedian_error = 0.021\np90_error = 0.08\n"
    own = re.search(r"\[fit\]\n(?:\w.*\n)+", CRUSHER.text)
    assert own is not None
    bare = CRUSHER.text.replace(own[0], "")
    model = load_text(f"{bare}\n{fit}", file="m.toml")
    assert model.fit is not None
    assert (model.fit.fitted_values, model.fit.p90_error) == (4, 0.08)
    assert model.digest != CRUSHER.digest
    copies = 'categories."copies" = { values = 3, median_error = 0.02, p90_error = 0.04 }\n'
    by_category = load_text(f"{bare}\n{fit}{copies}", file="m.toml").fit
    assert by_category is not None and by_category.categories["copies"].values == 3
    with pytest.raises(BytewaysError, match=r"key 'fit.held_out_values': missing"):
        load_text(f"{bare}\n[fit]\nfitted_values = 4\n", file="m.toml")
    with pytest.raises(BytewaysError, match=r"key 'fit.error': unknown key"):
        load_text(f"{bare}\n{fit}error = 1\n", file="m.toml")


def test_names_and_files(tmp_path: Path) -> None:
    """Would catch a file that cannot be played, or a traceback for one that is not there."""
    file = tmp_path / "mine.toml"
    file.write_text(CRUSHER.text)
    assert load(str(file)) == CRUSHER
    with pytest.raises(BytewaysError, match="unknown machine 'crusher'") as caught:
        load("crusher")
    assert "did you mean 'crusher-mi250x'?" in (caught.value.hint or "")
    with pytest.raises(BytewaysError, match="cannot read the machine file"):
        load(str(tmp_path / "none.toml"))
    file.write_bytes(b"\xff")
    with pytest.raises(BytewaysError, match="cannot read the machine file"):
        load(str(file))


def test_every_fault_of_the_grammar_passes() -> None:
    """Would catch a form that the messages advise and the check refuses."""
    for example, _ in GRAMMAR.values():
        whole = example.replace("[", "").replace("]", "")
        for fault in (whole, example.split("[")[0]):
            check_faults(CRUSHER, [fault])


@pytest.mark.parametrize(
    ("first", "other", "together"),
    [
        ("throttle:gpu0:0.5", "throttle:gpu0:0.7", False),
        ("throttle:gpu0:0.5", "throttle:gpu1:0.5", True),
        ("slow:gpu0-gpu1:0.5", "slow:gpu1-gpu0:0.9", False),
        ("slow:gpu0-gpu1:0.5", "link-fails:gpu0-gpu1:after=9", True),
        ("down:gpu0-gpu1", "slow:gpu1-gpu0:0.9", False),
        ("hang:gpu0>gpu1", "corrupt:gpu0>gpu1:word=7", False),
        ("hang:gpu0>gpu1", "corrupt:gpu1>gpu0:word=7", True),
        ("skip:gpu0>gpu1", "lapse:gpu0>gpu1:after=4", False),
        ("lost:gpu2", "throttle:gpu2:0.5", False),
        ("lost:gpu2:after=40", "throttle:gpu2:0.5", True),
        ("lost:gpu2", "lost:gpu2:after=40", False),
        ("rank-never-enters:1", "rank-late:1:ns=5", False),
        ("rank-dies:1:call=5", "rank-late:1:ns=5", True),
    ],
)
def test_faults_that_exclude_each_other_are_refused(first: str, other: str, together: bool) -> None:
    """Catches a second fault of a place that the first one silently keeps from acting, in either order."""
    for faults in ([first, other], [other, first]):
        if together:
            check_faults(CRUSHER, faults)
            continue
        with pytest.raises(BytewaysError, match="cannot both act") as caught:
            check_faults(CRUSHER, faults)
        assert first in caught.value.what and other in caught.value.what


def test_ranks_that_a_run_lacks_have_no_faults() -> None:
    """Catches a fault of a rank that does not exist: the run is clean, and the fault seems to be harmless."""
    check_rank_faults(["rank-late:3:ns=5", "throttle:gpu0:0.5"], 4)
    check_rank_faults(["throttle:gpu0:0.5"], 0)
    with pytest.raises(BytewaysError, match="this run has no rank 4") as caught:
        check_rank_faults(["rank-late:4:ns=5"], 4)
    assert caught.value.hint == "name one of these, or start more: --ranks 5"
    with pytest.raises(BytewaysError, match="no case of this run has ranks"):
        check_rank_faults(["rank-late:0:ns=5"], 0)


@pytest.mark.parametrize(
    ("fault", "said", "hint"),
    [
        ("explode:gpu0", "unknown fault 'explode'", "valid: corrupt"),
        ("corrupt:gpu0>gpu1", "malformed fault", "write corrupt:gpu0>gpu1:word=7"),
        ("corrupt:gpu0>gpu1:word=x", "malformed fault", "word=7"),
        (
            "slow:gpu0-gpu1:1.5",
            "malformed fault",
            "write slow:gpu0-gpu1:0.5: the link delivers this fraction",
        ),
        ("slow:gpu0-gpu1:0", "malformed fault", "write slow"),
        ("slow:gpu0-gpu3:0.5", "has no such link", "gpu0-gpu1"),
        ("down:gpu0-gpu4", "has no such link", "gpu0-gpu1"),
        ("lost:cpu0", "malformed fault", "write lost:gpu2"),
        ("lost:gpu8", "has no device gpu8", "gpu7"),
        ("no-memory:gpu3:above=", "malformed fault", "above="),
        ("false-peer:gpu1>gpu1", "a device is not its own peer", "write false-peer"),
        ("hang", "malformed fault", "write hang"),
        ("rank-throws:1", "malformed fault", "write rank-throws:2:call=5"),
        ("rank-dies:1:call=0", "malformed fault", "write rank-dies"),
        ("rank-late:1", "malformed fault", "write rank-late:2:ns=40000"),
        ("rank-never-enters:gpu0", "malformed fault", "write rank-never-enters:2"),
        ("", "unknown fault ''", "valid"),
    ],
)
def test_malformed_faults_are_refused(fault: str, said: str, hint: str) -> None:
    """Would catch a fault that is silently never played."""
    with pytest.raises(BytewaysError) as caught:
        check_faults(CRUSHER, [fault])
    assert said in caught.value.what
    assert hint in (caught.value.hint or "")
