"""Errors of wrong usage: verbs and options that do not exist, with hints for those of other tools."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from difflib import get_close_matches
from typing import Any

from byteways.base.errors import BytewaysError

_DEVICES = (
    "choose devices with --only 'path=gpu0>gpu1', "
    "or hide some with CUDA_VISIBLE_DEVICES or ROCR_VISIBLE_DEVICES"
)
_SAMPLES = "samples are taken until the interval is narrow: see --precision, --rounds and --budget"
_SIZES = "choose sizes with --size 64KiB..1GiB"
#: What other tools' options are here.
_OPTIONS: Mapping[str, str] = {
    **dict.fromkeys(("--gpus", "--gpu", "--devices", "--device", "--ngpus", "-g"), _DEVICES),
    **dict.fromkeys(("--iterations", "--iters", "--niters", "--samples", "--repeat", "-n"), _SAMPLES),
    **dict.fromkeys(("--warmup", "--warmup-iters", "-w"), "warm-up lasts until the times are steady"),
    **dict.fromkeys(("--minbytes", "--maxbytes", "--bytes", "--sizes", "--buffer-size", "-b", "-e"), _SIZES),
    **dict.fromkeys(("--output", "--outdir"), "name the folder with --out"),
    **dict.fromkeys(("--timeout", "--time", "--duration"), "limit the time with --budget 60"),
    **dict.fromkeys(("--format", "--csv"), "byteways export RUN --format csv"),
    **dict.fromkeys(("--suite", "-s"), "the suite is the first word: byteways run full"),
    **dict.fromkeys(("--np", "-np", "--nprocs", "--ntasks", "-N"), "--ranks 2"),
    "--threshold": "byteways compare RUN_A RUN_B --fail-if 'different > 3%'",
    **dict.fromkeys(("-v", "-V"), "byteways --version, or --debug for a traceback"),
}
#: What other names of verbs are here.
_VERBS: Mapping[str, str] = {
    **dict.fromkeys(("bench", "benchmark", "measure", "test"), "byteways run"),
    **dict.fromkeys(("diff", "cmp"), "byteways compare"),
    **dict.fromkeys(("topology", "devices", "info"), "byteways topo"),
    "ask": "byteways best",
    **{word: f"byteways list {word}" for word in ("suites", "studies", "machines", "interfaces", "patterns")},
    "simulate": "byteways run --machine NAME; byteways list machines",
    "version": "byteways --version",
    **dict.fromkeys(("profile", "trace", "record"), "byteways watch -- COMMAND"),
}
#: How a question is asked.
BEST = "name both ends and the size: byteways best gpu0 gpu1 1MiB; byteways topo lists the devices"
LOAD = "name the GPU: byteways best --load 60GiB gpu0"
#: What a verb's first argument is, where it is required.
_ARGUMENTS: Mapping[str, str] = {
    "best": BEST,
    "reproduce": "byteways list studies",
    **dict.fromkeys(
        ("show", "export", "check", "report", "advise"), "name the folder that `byteways run` made"
    ),
    "compare": "byteways compare RUN_A RUN_B",
}


def explained(
    error: Any, words: Sequence[str], verbs: Collection[str], options_of_run: Callable[[], set[str]]
) -> BytewaysError:
    """Formats Typer's usage error of these words in our style: lower case, no full stop, with a hint."""
    message = _message(error, words)
    if unknown := re.match(r"no such command '(.+)'", message):
        return BytewaysError(message, hint=_hint_of_verb(unknown[1], verbs) or "byteways --help")
    # Typer does not say whose option lacks its value.
    verb = next((word for word in words if not word.startswith("-")), "")
    unsaid = f"byteways {verb}" if "requires an argument" in message and verb else "byteways"
    where = error.ctx.command_path if error.ctx is not None else unsaid
    return BytewaysError(message, hint=_hint(message, words, where, options_of_run) or f"{where} --help")


def _message(error: Any, words: Sequence[str]) -> str:
    message = str(error.format_message()).strip().rstrip(".")
    message = re.sub(", unable to parse .*", "", message[:1].lower() + message[1:])
    if "-np" in words:  # Typer takes it for -n and -p
        message = message.replace("option: -n", "option: -np")
    return message


def _hint_of_verb(word: str, verbs: Collection[str]) -> str:
    """Returns the hint for an unknown verb: another tool's, a word of a suite, or a mistyped one."""
    from byteways.cases.misplaced_words import OF_PROGRAM, placed

    if elsewhere := verb_elsewhere(word) or placed(word, OF_PROGRAM):
        return elsewhere
    near = get_close_matches(word.casefold(), verbs, n=1, cutoff=0.6)
    return f"did you mean '{near[0]}'? byteways {near[0]} --help" if near else ""


def _hint(message: str, words: Sequence[str], where: str, options_of_run: Callable[[], set[str]]) -> str:
    """Returns the hint for a missing argument, or for an option that other tools have; empty for others."""
    from byteways.cases.misplaced_words import OF_PROGRAM, OF_QUESTION, OF_RUN, placed

    if message.startswith("missing argument"):
        if where.endswith(" best") and "--load" in words:
            return LOAD
        return _ARGUMENTS.get(where.rpartition(" ")[2], "")
    if "'--budget'" in message:
        return "--budget takes seconds: --budget 60"
    if "'--precision'" in message:
        return "--precision 0.01 is 1 %"
    if found := re.match(r"got unexpected extra argument\S* \((\S+?)[\s)]", message):
        return _extra(found[1], where)
    if found := re.match(r"no such option: (\S+)", message):
        option = found[1]
        question = where.endswith(" best")
        if option == "--size" and question:
            return "the size is the third word: byteways best gpu0 gpu1 1MiB"
        forms = OF_QUESTION if question else OF_RUN if where.endswith(" run") else OF_PROGRAM
        other = _OPTIONS.get(option, "") or placed(option.lstrip("-"), forms) or _filter(option, words, where)
        if not other and where == "byteways" and option in options_of_run():
            return f"options follow the verb: byteways run {option} …"
        return other
    return ""


def _filter(option: str, words: Sequence[str], where: str) -> str:
    """Returns the hint for an option that is a key of --only: `--pattern`, `--src`."""
    from byteways.base.aliases import AmbiguousError, called
    from byteways.plan.filter_keys import KEYS

    try:
        key = called("key", option.lstrip("-"), KEYS)
    except AmbiguousError as error:
        key = error.ours[0]
    if key is None or not where.endswith((" run", " show")):
        return "best compares all interfaces" if key == "interface" and where.endswith(" best") else ""
    after = [*words[words.index(option) + 1 :], ""] if option in words else [""]
    value = "…" if after[0].startswith("-") else after[0] or "…"
    return f"--only '{key}={value}'"


def _extra(word: str, where: str) -> str:
    """Returns the hint for a word too many: a machine, or for `run` another suite or another's word."""
    from byteways.cases.misplaced_words import placed
    from byteways.models import names as machines
    from byteways.plan.suite import names as suites

    if word in machines():
        return f"{where} --machine {word}"
    if not where.endswith(" run"):
        return ""
    return f"one suite a run: byteways run {word}" if word in dict(suites()) else placed(word)


def verb_elsewhere(word: str) -> str:
    """Returns the command for another tool's verb or for the name of a suite; empty for other words."""
    from byteways.plan.suite import names

    if word in _VERBS:
        return _VERBS[word]
    return f"byteways run {word}" if word in dict(names()) else ""
