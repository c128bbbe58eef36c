"""Declares the verbs. Typer parses; this module loads verbs lazily and unifies errors."""

from __future__ import annotations

import importlib
import os
from collections.abc import Sequence
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup

from byteways import __version__
from byteways.base.errors import ExitStatus
from byteways.cli.usage import explained
from byteways.console.terminal import echo

#: Summary of each verb in the order of --help, by task. Each verb is the function of that name in
#: byteways/cli/<verb>.py.
VERBS_BY_TASK = {
    "Look at the machine": {
        "doctor": "Check libraries and devices, and say how to fix problems.",
        "topo": "Show devices, links and their nominal peaks.",
        "list": "List suites, studies, interfaces, memory, patterns, devices.",
    },
    "Measure": {
        "run": "Benchmark this machine and write a run folder with a report.",
        "reproduce": "Repeat a published experiment and check its claims.",
        "watch": "Run a program and say what it moves, how, and for how long.",
    },
    "Read results": {
        "best": "Say which method is best for a size between two devices.",
        "compare": "Compare runs, case by case or by link class.",
        "advise": "Write thresholds for scattered blocks, for other programs.",
        "check": "Check a run against what is normal, a run, peaks or limits.",
        "import": "Turn outputs of other programs into a run folder.",
        "audit": "Judge numbers of other programs: possible, normal, low or odd.",
        "show": "Show the results of a run.",
        "report": "Rewrite the HTML report of a run.",
        "export": "Export the results of a run as CSV, Parquet or JSON.",
        "plan": "Write the plan by which libbyteways_copy copies.",
    },
    "Get help": {
        "help": "Explain a verb, or list all verbs by task.",
    },
}
VERBS = {verb: summary for verbs in VERBS_BY_TASK.values() for verb, summary in verbs.items()}

#: Modules, and their functions, of verbs that are words of Python.
_MODULES = {"import": "import_outputs"}

#: Typer's exception for wrong usage; Typer 0.12 takes it from Click, later versions have their own.
UsageError: Any = typer.BadParameter.__mro__[1]

#: The variable by which a shell asks for completions, as Typer names it.
COMPLETION = "_BYTEWAYS_COMPLETE"

_SETTINGS = {"help_option_names": ["-h", "--help"]}
#: Verbs whose last arguments are a command: its options are not the verb's.
WITH_COMMAND = ("watch",)
#: Behind it they are files, and options may follow.
_FILES_FOLLOW = "--import"


class VerbGroup(TyperGroup):
    """Knows every verb's name and summary; imports a verb only to run it or to show its help."""

    def list_commands(self, ctx: Any) -> list[str]:
        return [*VERBS]

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        if cmd_name not in VERBS:
            return None
        return TyperCommand(name=cmd_name, help=VERBS[cmd_name], rich_markup_mode=None)

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        name, command, rest = super().resolve_command(ctx, args)
        return name, None if command is None else load_verb(str(name), rest), rest


def function_of(name: str) -> Any:
    """Returns the function of a verb from its module."""
    own = _MODULES.get(name, name)
    return getattr(importlib.import_module(f"byteways.cli.{own}"), own)


def load_verb(name: str, words: Sequence[str] = ()) -> Any:
    """Returns the command of a verb, given the words behind it."""
    interspersed = name not in WITH_COMMAND or list(words[:1]) == [_FILES_FOLLOW]
    settings = {**_SETTINGS, "allow_interspersed_args": interspersed}
    app = typer.Typer(add_completion=False, rich_markup_mode=None, context_settings=settings)
    app.command(name)(function_of(name))
    return typer.main.get_command(app)


def _options_of_run() -> set[str]:
    return {option for parameter in load_verb("run").params for option in parameter.opts}


def call(words: Sequence[str]) -> int:
    """Parses and runs a command; returns the exit status.

    Raises:
        BytewaysError: Wrong usage, or an error of the verb.
    """
    app = typer.Typer(
        name="byteways",
        cls=VerbGroup,
        add_completion=True,
        rich_markup_mode=None,
        context_settings=_SETTINGS,
    )
    app.callback(invoke_without_command=True)(_byteways)
    command = typer.main.get_command(app)
    if COMPLETION in os.environ:  # set by the script of --install-completion
        return int(command.main(args=[], prog_name="byteways") or 0)
    try:
        # Not command.main(): it returns status 1 for a closed pipe, which means a failed measurement here.
        with command.make_context("byteways", [*words]) as context:
            result = command.invoke(context)
    except UsageError as error:
        raise explained(error, words, VERBS, _options_of_run) from error
    except typer.Exit as stopped:
        return int(stopped.exit_code)
    except (typer.Abort, KeyboardInterrupt):
        return int(ExitStatus.INTERRUPTED)
    return result if isinstance(result, int) else int(ExitStatus.GOOD)


def _byteways(
    context: typer.Context,
    version: Annotated[bool, typer.Option("--version", help="Show the version and exit.")] = False,
    debug: Annotated[bool, typer.Option("--debug", help="Print a traceback on errors.")] = False,
) -> None:
    """Benchmark every data path in a GPU node, name the bottlenecks and recommend the fastest interface."""
    if version:
        echo(f"byteways {__version__}")
        raise typer.Exit
    if context.invoked_subcommand is None:
        echo(context.get_help())
        raise typer.Exit
