"""Errors of wrong usage: verbs and options that do not exist, with hints for those of other tools."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from byteways.errors import BytewaysError

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
}
#: What other names of verbs are here.
_VERBS: Mapping[str, str] = {
    **dict.fromkeys(("bench", "benchmark", "measure", "test"), "byteways run"),
    **dict.fromkeys(("diff", "cmp"), "byteways compare"),
    **dict.fromkeys(("topology", "devices", "info"), "byteways topo"),
    **dict.fromkeys(("ask", "advise"), "byteways best"),
}


def explained(error: Any) -> BytewaysError:
    """Formats Typer's usage error in our style: lower case, no full stop, with a hint."""
    message = str(error.format_message()).strip().rstrip(".")
    message = message[:1].lower() + message[1:]
    where = error.ctx.command_path if error.ctx is not None else "byteways"
    return BytewaysError(message, hint=_hint(message, where) or f"{where} --help")


def _hint(message: str, where: str) -> str:
    """Returns the hint for an unknown verb or option that other tools have; empty for others."""
    from byteways.plan.misplaced import OF_PROGRAM, OF_QUESTION, OF_RUN, placed

    if found := re.match(r"no such command '(.+)'", message):
        word = found[1]
        return _verb(word) or placed(word, OF_PROGRAM)
    if message.startswith("missing argument") and where.endswith(" best"):
        return "name both ends and the size: byteways best gpu0 gpu1 1MiB; byteways topo lists the devices"
    if found := re.match(r"no such option: (\S+)", message):
        option = found[1]
        question = where.endswith(" best")
        if option == "--size" and question:
            return "the size is the third word: byteways best gpu0 gpu1 1MiB"
        forms = OF_QUESTION if question else OF_RUN if where.endswith(" run") else OF_PROGRAM
        return _OPTIONS.get(option, "") or placed(option.lstrip("-"), forms)
    return ""


def _verb(word: str) -> str:
    from byteways.plan.suite import names

    if word in _VERBS:
        return _VERBS[word]
    return f"byteways run {word}" if word in dict(names()) else ""
