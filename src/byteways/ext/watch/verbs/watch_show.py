"""What `byteways watch` prints and draws: operations, and what they would gain beside a run."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING

from byteways.base.errors import BytewaysError, ExitStatus
from byteways.base.json_text import json_text
from byteways.console.terminal import echo, say
from byteways.ext.watch.folder import WatchFolder, read_watch_folder
from byteways.ext.watch.problems import Problem, sentence

if TYPE_CHECKING:
    from collections.abc import Sequence

    from byteways.answers.results.index import Index
    from byteways.ext.watch.advice.advice import Advice
    from byteways.ext.watch.advice.expected import ExpectedRatio
    from byteways.ext.watch.changes import ProgramChange
    from byteways.questions.display.table import Table

_READ = ("byteways", "watch", "--read")


class WatchShown:
    """How a folder is shown.

    Args:
        against: The folder of a run of the machine; None: no advice.
        page: The file of the page; None: none.
        as_json: Whether JSON is printed instead of tables.
        every: Whether every row is printed.
    """

    def __init__(self, against: Path | None, page: Path | None, *, as_json: bool, every: bool) -> None:
        self._against, self._page, self._as_json, self._every = against, page, as_json, every
        self._changes: Table | None = None

    def check(self) -> None:
        """Raises BytewaysError if the run cannot be read: before a program runs for hours."""
        if self._against is not None:
            from byteways.cli.runs import opened_run

            opened_run(self._against)

    def compare_with(self, run: Path) -> None:
        """Compares with this run, which was measured for the program."""
        self._against = run

    def with_changes(self, table: Table) -> None:
        """Has the page show what changes of the program gave."""
        self._changes = table

    def folder(self, folder: Path) -> int:
        """Prints a folder on standard output."""
        found = read_watch_folder(folder)
        echo(self._text(found))
        _warn(found, ())
        return ExitStatus.GOOD

    def after(self, folder: Path, known: Sequence[Problem], *, quiet: bool = False) -> None:
        """Prints on standard error what was seen, unless quiet, and writes the page.

        The command's exit status stands, whatever fails here.
        """
        from byteways.cli import print_error

        try:
            found = read_watch_folder(folder)
            text = self._text(found)
        except BytewaysError as error:
            print_error(error)
            return
        if quiet:
            return
        say(text)
        _warn(found, known)
        if not self._as_json:
            say(f"to see it again: {shlex.join([*_READ, str(folder)])}")

    def advice(self, found: WatchFolder) -> Advice | None:
        """Returns what the operations would gain; None without a run to compare them with."""
        from byteways.ext.watch.advice.advice import advice

        run = self._run()
        return advice(found.watched, run, str(self._against)) if run else None

    def expected(
        self, turns: Sequence[WatchFolder], changes: Sequence[ProgramChange]
    ) -> dict[str, ExpectedRatio]:
        """Returns what the run expects of changes, over the turns of the program as it is; else empty."""
        from byteways.ext.watch.advice.expected import expected_of_turns

        run = self._run()
        if run is None or not turns:
            return {}
        return expected_of_turns([one.watched for one in turns], run, changes, str(self._against))

    def _run(self) -> Index | None:
        """Returns the results of the run that a program is compared with."""
        if self._against is None:
            return None
        from byteways.answers.results.index import Index
        from byteways.cli.runs import opened_run

        return Index.of(opened_run(self._against))

    def _text(self, found: WatchFolder) -> str:
        advised = self.advice(found)
        if self._page is not None:
            from byteways.cli.check import write_file
            from byteways.ext.watch.page import watched_page

            write_file(self._page, watched_page(found, advised, str(self._against), self._changes), "--html")
        if self._as_json:
            import msgspec

            seen = msgspec.to_builtins(found)
            return json_text({**seen, "advice": advised.to_json()} if advised else seen, indent=1)
        from byteways.console.layout import plain
        from byteways.ext.watch.advice.operations import links_table, simulation_mark, watch_table
        from byteways.ext.watch.advice.wording_advice import advice_lines, advice_table

        lines = [*filter(None, [simulation_mark(found)]), *plain(watch_table(found, self._every))]
        if links := links_table(found):
            lines += ["", *plain(links)]
        if advised:
            table = advice_table(advised, str(self._against), every=self._every)
            lines += ["", *filter(None, [advised.simulated]), *plain(table)]
            lines += [f"  {line}" for line in advice_lines(advised, every=self._every)]
        return "\n".join(lines)


def _warn(found: WatchFolder, known: Sequence[Problem]) -> None:
    for problem in found.problems:
        if problem not in known:
            say(f"warning: {sentence(problem)}")
