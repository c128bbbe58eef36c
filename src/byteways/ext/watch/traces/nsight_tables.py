"""Tables of an SQLite export whose columns differ by version, read row by row."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from typing import Any

#: What joins the call that began an operation: its name, its begin and its end.
_CALLED = ("called", "called_at", "called_until")
#: Names in StringIds that are kept; further ones are asked for each time.
_MOST_STRINGS = 100_000


class Row:
    """A row of a table: a column that this version lacks is None."""

    __slots__ = ("_places", "number", "table", "values")

    def __init__(self, table: str, places: dict[str, int], values: tuple[Any, ...]) -> None:
        """Takes the values of the columns in the order in which they were asked for, and the row's number."""
        self.table = table
        self.number: int | None = values[-1]
        self.values = values
        self._places = places

    def __getitem__(self, name: str) -> object:
        place = self._places.get(name)
        return None if place is None else self.values[place]


class ExportTables:
    """The tables of a database, which are read and never trusted: no views, no virtual tables."""

    def __init__(self, database: sqlite3.Connection) -> None:
        database.text_factory = lambda text: text.decode(errors="replace")
        database.execute("PRAGMA trusted_schema = OFF")
        database.execute("PRAGMA cell_size_check = ON")
        self._database = database
        rows = database.execute("SELECT name, sql FROM sqlite_master WHERE type = 'table'")
        self.names = {
            name
            for name, text in rows
            if isinstance(name, str) and not str(text).upper().startswith("CREATE VIRTUAL")
        }
        self._strings: dict[object, str] = {}

    def columns(self, table: str) -> list[str]:
        """Returns the names of the columns of a table; none if there is no such table."""
        if table not in self.names:
            return []
        return [str(row[1]) for row in self._database.execute(f'PRAGMA table_info("{table}")')]

    def rows(
        self, table: str, columns: Sequence[str], *, order: str | None = None, calls: str | None = None
    ) -> Iterator[Row]:
        """Yields the rows of a table.

        Args:
            table: Its name; an absent one has no rows.
            columns: Which columns; absent ones are None in each row.
            order: A column that sorts the rows.
            calls: The table of calls: rows have `called`, `called_at` and `called_until`, too, and
                those of one call come one after another.
        """
        there = {name.lower(): name for name in self.columns(table)}
        if not any(name.lower() in there for name in columns):
            return
        selected = [f't."{name}"' if name.lower() in there else "NULL" for name in columns]
        joined, chosen = "", [*columns]
        if calls is not None and {"globalpid", "correlationid"} <= there.keys() and self._has_calls(calls):
            selected += [f"c.{name}" for name in _CALLED]
            joined = f"{_join(calls)} ORDER BY t.globalPid, t.correlationId, t.rowid"
            chosen += _CALLED
        elif order is not None and order.lower() in there:
            joined = f'ORDER BY t."{order}"'
        places = {name: place for place, name in enumerate(chosen)}
        selected.append("t.rowid")
        for values in self._database.execute(f'SELECT {", ".join(selected)} FROM "{table}" AS t {joined}'):
            yield Row(table, places, values)

    def _has_calls(self, table: str) -> bool:
        return {"start", "end", "globalTid", "correlationId", "nameId"} <= {*self.columns(table)}

    def words(self, table: str, known: Sequence[str]) -> dict[object, str]:
        """Returns the words of codes: those of the export's own table, else those of the schema reference."""
        words = {row["id"]: row["label"] for row in self.rows(table, ("id", "label"))}
        return {
            **dict(enumerate(known)),
            **{code: word for code, word in words.items() if isinstance(word, str)},
        }

    def string(self, code: object) -> str | None:
        """Returns a text of StringIds."""
        if not isinstance(code, int):
            return None
        found = self._strings.get(code)
        if found is None:
            row = self._database.execute(
                "SELECT value FROM StringIds WHERE id = ? LIMIT 1", (code,)
            ).fetchone()
            found = row[0] if row and isinstance(row[0], str) else ""
            if len(self._strings) < _MOST_STRINGS:
                self._strings[code] = found
        return found or None

    def host(self) -> str:
        """Returns the name of the host; empty if the export does not have it."""
        for row in self.rows("TARGET_INFO_SYSTEM_ENV", ("name", "value")):
            if row["name"] == "Hostname" and isinstance(row["value"], str):
                return row["value"]
        return ""

    def programs(self) -> dict[int, str]:
        """Returns the names of programs by process identifier."""
        rows = self.rows("PROCESSES", ("pid", "name"))
        named = ((row["pid"], row["name"]) for row in rows)
        return {
            pid: name.rsplit("/", 1)[-1]
            for pid, name in named
            if isinstance(pid, int) and isinstance(name, str)
        }

    def ranks(self) -> dict[int, int]:
        """Returns the ranks in the world's communicator by process identifier."""
        rows = self.rows("MPI_RANKS", ("globalTid", "rank"))
        found = ((row["globalTid"], row["rank"]) for row in rows)
        return {
            (thread >> 24) & 0xFFFFFF: rank
            for thread, rank in found
            if isinstance(thread, int) and isinstance(rank, int) and 0 <= rank < 1 << 31
        }


def _join(calls: str) -> str:
    """Returns the join with the first call of a correlation identifier, of those that begin operations."""
    return (
        f"LEFT JOIN (SELECT globalTid >> 24 AS owner, correlationId AS correlation, nameId AS called, "
        f'min(start) AS called_at, end AS called_until FROM "{calls}" GROUP BY 1, 2) AS c '
        "ON c.owner = t.globalPid >> 24 AND c.correlation = t.correlationId"
    )


def whole(value: object) -> int | None:
    """Returns a whole number of a row; None: the row has none."""
    return value if isinstance(value, int) else None
