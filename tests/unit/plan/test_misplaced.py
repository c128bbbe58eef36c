"""Words that a newcomer writes in the wrong place, or from another tool: each leads to the right one."""

from __future__ import annotations

from pathlib import Path

import pytest

from byteways.base.aliases import ALIASES, SUITES
from byteways.cases.misplaced_words import OF_QUESTION, OF_RUN, advice, placed
from byteways.cli.usage import _OPTIONS, _VERBS
from byteways.plan import suite
from tests.cli.called import byteways


@pytest.mark.parametrize(
    ("word", "hint"),
    [
        ("bidirectional", "'bidirectional' is the pattern: --only 'pattern=bidirectional'"),
        ("bidir", "'bidir' is the pattern bidirectional: --only 'pattern=bidirectional'"),
        ("hipMemcpyAsync", "'hipMemcpyAsync' is the interface copy: --only 'interface=copy'"),
        ("cudaMemcpyPeer", "'cudaMemcpyPeer' is the interface copy: --only 'interface=copy'"),
        ("h2d", "'h2d' is the path cpu*>gpu*: --only 'path=cpu*>gpu*'"),
        ("all_reduce", "'all_reduce' is the pattern allreduce: --only 'pattern=allreduce'"),
        ("nccl", "'nccl' is the interface xccl: --only 'interface=xccl'"),
        (
            "sendrecv",
            "'sendrecv' could mean bidirectional or ring; write the pattern you mean: "
            "--only 'pattern=bidirectional'",
        ),
        ("all_reduce_perf", "what is nearest to all_reduce_perf: byteways run collectives"),
        ("pinned", "'pinned' is the memory: --only 'memory=pinned'"),
        ("frobnicate", ""),
    ],
)
def test_where_a_word_belongs(word: str, hint: str) -> None:
    """Catches a list of thirty valid words as the only advice for a word that has one place."""
    assert placed(word) == hint
    assert advice(word, ["frobnicated"]) == (hint or "did you mean 'frobnicated'? valid: frobnicated")


def test_every_word_of_other_tools_has_a_place() -> None:
    """Catches an alias that is accepted in one place and unknown in all others."""
    for kind in OF_RUN:
        for alias in ALIASES[kind]:
            for word in alias.theirs:
                assert placed(word), word
                assert placed(word, OF_QUESTION), word


def test_suites_of_other_tools_exist() -> None:
    """Catches a hint to a suite that was renamed, and a name that is spelled so that it is never found."""
    assert set(SUITES.values()) <= {name for name, _ in suite.names()}
    assert [name for name in SUITES if name != name.casefold().replace("_", "-")] == []


QUICK = ("run", "quick", "--machine", "h200-x4", "--dry-run")
BEST = ("best", "gpu0", "gpu1", "1MiB", "--machine", "h200-x4")


@pytest.mark.parametrize(
    ("words", "hint"),
    [
        (("bidirectional",), "byteways run quick --only 'pattern=bidirectional'"),
        (("h2d",), "byteways run quick --only 'path=cpu*>gpu*'"),
        (("latency",), "hint: byteways run latency"),
        (("bench",), "hint: byteways run"),
        (("frobnicate",), "hint: byteways --help"),
        (("version",), "hint: byteways --version"),
        (("--machine", "h200-x4", "run"), "options follow the verb: byteways run --machine …"),
        (("topo", "h200-x4"), "hint: byteways topo --machine h200-x4"),
        (("topo", "h200", "x4"), "hint: byteways topo --help"),
        (("show",), "name the folder that `byteways run` made"),
        (("reproduce",), "hint: byteways list studies"),
        (("run", "quick", "full"), "one suite a run: byteways run full"),
        (("run", "quick", "h2d"), "--only 'path=cpu*>gpu*'"),
        (("run", "--budget", "1m"), "hint: --budget takes seconds: --budget 60"),
        (("run", "--precision", "1%"), "hint: --precision 0.01 is 1 %"),
        (("run", "--machine"), "hint: byteways run --help"),
        (("run", "--pattern", "bidirectional"), "hint: --only 'pattern=bidirectional'"),
        (("run", "--src", "--json"), "hint: --only 'source=…'"),
        (("run", "--path"), "hint: --only 'path=…'"),
        (("run", "--direction", "bidir"), "hint: --only 'pattern=bidir'"),
        (("export", "RUN", "--path", "x"), "hint: byteways export --help"),
        (("run", "--suite", "full"), "the suite is the first word: byteways run full"),
        (("run", "mpi", "-np", "2"), "error: no such option: -np\nhint: --ranks 2"),
        (("compare", "A", "B", "--threshold", "3"), "--fail-if 'different > 3%'"),
        (("run", "128MiB"), "hint: --size 128MiB"),
        (("128MiB",), "hint: byteways run quick --size 128MiB"),
        (("run", "gpu0>gpu1"), "hint: --only 'path=gpu0>gpu1'"),
        (("run", "quick", "gpu0"), "hint: --only 'path=gpu0>*'"),
        (
            (*QUICK, "--size", "2M..4M"),
            "16 MiB, 128 MiB, 256 MiB; more sizes: byteways run full --size 2M..4M",
        ),
        (("best", "gpu0", "gpu1", "1MiB", "--interface", "copy"), "best compares all interfaces"),
        (("best", "gpu0", "gpu1", "1MiB", "h200-x4"), "best gpu0 gpu1 1MiB --machine h200-x4"),
        (("run", "--machine", "MI300A"), "did you mean 'elcap-mi300a'"),
        (("run", "device_to_device_memcpy_read_ce"), "byteways run quick --only 'interface=copy'"),
        (("run", "host_to_device_memcpy_sm"), "byteways run quick --only 'interface=kernel'"),
        (("--gpus", "2"), "CUDA_VISIBLE_DEVICES"),
        (("run", "hipMemcpyAsync"), "--only 'interface=copy'"),
        (("run", "all_reduce_perf"), "byteways run collectives"),
        (("run", "nccl-tests"), "byteways run collectives"),
        (("run", "--gpus", "2"), "--only 'path=gpu0>gpu1'"),
        (("run", "--bidirectional"), "--only 'pattern=bidirectional'"),
        (("run", "--iterations", "100"), "--precision"),
        (("run", "-b", "8"), "--size 64KiB..1GiB"),
        (("run", "--frobnicate"), "hint: byteways run --help"),
        ((*QUICK, "--only", "h2d"), "--only 'path=cpu*>gpu*'"),
        ((*QUICK, "--only", "pull"), "--only 'access=pull'"),
        ((*QUICK, "--only", "cold"), "--only 'cache=cold'"),
        ((*QUICK, "--only", "direction=h2d"), "--only 'path=cpu*>gpu*'"),
        ((*QUICK, "--only", "direction=read"), "--only 'access=read'"),
        ((*QUICK, "--only", "interface=copy path=h2d"), "--only 'interface=copy,path=h2d'"),
        ((*QUICK, "--only", "interface=copy; path=h2d"), "--only 'interface=copy,path=h2d'"),
        ((*QUICK, "--only", "interface=bidirectional"), "--only 'pattern=bidirectional'"),
        ((*QUICK, "--only", "size=1GB"), "size is one of 4 KiB"),
        (("list", "cudaMalloc"), "byteways run quick --only 'memory=device'"),
        (("list", "memori"), "did you mean 'memory'"),
        (("best", "h2d", "1MiB", "RUN"), "name both ends: best host gpu0 1MiB"),
        (("best", "hipMemcpyAsync", "gpu0", "1MiB"), "best compares all interfaces"),
        ((*BEST, "--pattern", "h2d"), "name both ends: best host gpu0 1MiB"),
        ((*BEST, "--pattern", "sendrecv"), "write the one you mean: the first is between two devices"),
        ((*BEST, "--memory", "bidirectional"), "--pattern bidirectional"),
        ((*BEST, "--within", "mpi"), "--within ranks compares all of MPI, NCCL and RCCL"),
        ((*BEST, "--within", "proces"), "did you mean 'process'"),
        ((*BEST, "--gpus", "2"), "--only 'path=gpu0>gpu1'"),
        ((*BEST, "--size", "1MiB"), "byteways best gpu0 gpu1 1MiB"),
        ((*BEST, "--bidir"), "--pattern bidirectional"),
        (("best", "gup0", "gpu1", "1MiB", "--machine", "h200-x4"), "did you mean 'gpu0'"),
        (("best", "gpu9", "gpu1", "1MiB", "--machine", "h200-x4"), "hint: devices: cpu0"),
        (("best", "9", "gpu1", "1MiB", "--machine", "h200-x4"), "hint: devices: cpu0"),
    ],
)
def test_a_mistake_leads_to_the_right_word(words: tuple[str, ...], hint: str, tmp_path: Path) -> None:
    """Catches an error from which a newcomer does not learn what to write."""
    done = byteways(tmp_path, *words)
    assert done.returncode == 2 and done.stdout == ""
    assert hint in done.stderr.replace("'1GB'", "'GB'").replace("--size: 'GB'", "caused by: 'GB'"), (
        done.stderr
    )


def test_options_and_verbs_of_others_are_not_ours() -> None:
    """Catches a hint that is never given because the option or verb exists."""
    from byteways.cli.frame import VERBS, load_verb

    assert not set(_VERBS) & set(VERBS)
    options = {option for verb in ("run", "best") for one in load_verb(verb).params for option in one.opts}
    assert not set(_OPTIONS) & options


def test_host_needs_no_note(tmp_path: Path) -> None:
    """Catches a note on a word that the documentation tells people to write."""
    done = byteways(tmp_path, "best", "host", "gpu0", "1MiB", "--machine", "h200-x4")
    assert done.returncode == 0 and "note:" not in done.stderr
