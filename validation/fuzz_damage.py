"""What fuzz.py does to files: each kind is damaged in ways that leave it well formed for the most part."""

from __future__ import annotations

import codecs
import json
import sqlite3
import tempfile
from pathlib import Path
from random import Random
from typing import Any

#: What a value becomes: of another type, beyond bounds, or with a meaning of its own somewhere.
VALUES: tuple[Any, ...] = (
    *(None, True, False, 0, -1, 1, 2**31, 2**63, 2**64, -(2**63), 10**30, 0.5, -0.0, 1e-300, 1e308),
    *(
        "",
        " ",
        "gpu0",
        "gpu99",
        "cpu0",
        "*",
        "gpu*:device",
        "../..",
        "\x1b[2J",
        "\u202e",
        "a" * 10_000,
        "NaN",
    ),
    *([], [[]], {}, [None], ["gpu0"], {"a": 1}, [1, "2"], {"": {}}),
)
#: The same in the words of TOML.
TOML_VALUES = (
    *("0", "-1", "9223372036854775808", "1e400", "nan", "inf", "true", "[]", "[[]]", "{}", '""', '"gpu*"'),
    *(
        '"*"',
        '"gpu99"',
        '"all"',
        "[1, 'x']",
        "{ a = 1 }",
        "1979-05-27",
        "'\x1b'",
        '"\\u202e"',
        "[" * 40,
        "0x" + "f" * 60,
        "9" * 400,
        "2e17",
        "1.5",
    ),
    *('"1B..64TiB"', '"64TiB"', '["4KiB", "8KiB"]', "[4096, 8192]", "a.b.c.d = 1", "'''", '"""'),
)
XML_VALUES = (
    "",
    "-1",
    "0",
    "99999999999999999999",
    "gpu",
    "0000:c1:00.0",
    "\u202e",
    "a" * 10_000,
    "0xffffffff",
    "nan",
    "9" * 400,
    "999999999999",
    "\u00b2",
)


def damaged_bytes(random: Random, content: bytes) -> bytes:
    """The content with a few bytes changed, parts taken out, doubled or moved."""
    data = bytearray(content)
    for _ in range(random.choice((1, 1, 1, 4))):
        at = random.randrange(len(data) + 1)
        length = min(len(data) - at, random.choice((1, 2, 8, 64, 512)))
        part = bytes(data[at : at + length])
        change = random.randrange(5)
        if change == 0:
            data[at : at + length] = random.randbytes(length)
        elif change == 1:
            del data[at : at + length]
        elif change == 2:
            data[at:at] = part * random.choice((1, 2, 50))
        elif change == 3:
            data[at:at] = random.choice((b"\x00", b"\xff", b"\n", b'"', b"[", b"{" * 200, b"<!--", b"&a;"))
        else:
            to = random.randrange(len(data) + 1)
            data[to:to] = part
    return bytes(data)


def damaged_data(random: Random, value: Any) -> Any:
    """JSON data with one place changed: replaced, taken out, doubled or renamed."""
    if isinstance(value, dict) and value and random.random() < 0.9:
        key = random.choice([*value])
        change = random.random()
        if change < 0.1:
            return {name: item for name, item in value.items() if name != key}
        if change < 0.15:
            return {**value, random.choice(("colour", "", "\x1b", key + "s")): random.choice(VALUES)}
        return {**value, key: damaged_data(random, value[key])}
    if isinstance(value, list) and value and random.random() < 0.9:
        at = random.randrange(len(value))
        change = random.random()
        if change < 0.1:
            return value[:at] + value[at + 1 :]
        if change < 0.2:
            return value[: at + 1] + value[at:]
        return [*value[:at], damaged_data(random, value[at]), *value[at + 1 :]]
    return random.choice(VALUES)


def damaged_json_lines(random: Random, content: bytes) -> bytes:
    """Lines of JSON, some of them with one place changed, doubled, or damaged as bytes."""
    lines = content.splitlines(keepends=True)
    for _ in range(random.choice((1, 1, 2, 6))):
        at = random.randrange(len(lines))
        try:
            changed = damaged_data(random, json.loads(lines[at]))
        except ValueError:  # damaged before
            continue
        lines[at] = json.dumps(changed).encode() + b"\n"
        if random.random() < 0.1:
            lines.insert(at, random.choice(lines))
    return b"".join(lines) if random.random() < 0.9 else damaged_bytes(random, b"".join(lines))


def damaged_toml(random: Random, content: bytes) -> bytes:
    """A TOML text, some of its keys with another value, doubled, renamed or taken out."""
    lines = content.decode().splitlines(keepends=True)
    places = [number for number, line in enumerate(lines) if "=" in line]
    if not places:  # comments alone
        return damaged_bytes(random, content)
    for _ in range(random.choice((1, 1, 1, 4))):
        at = random.choice(places)
        key, equals, _ = lines[at].partition("=")
        other = random.choice(lines)
        lines[at] = random.choice(
            (
                f"{key}{equals} {random.choice(TOML_VALUES)}\n",
                f"{key}{equals} [{random.choice(TOML_VALUES)}, {random.choice(TOML_VALUES)}]\n",
                f"{key}{equals} [{random.choice(TOML_VALUES)}, 'assumed: a number of a machine model']\n",
                f"{key}{equals}{other.partition('=')[2] or chr(10)}",
                f"{key.strip()}x {equals} 1\n",
                lines[at] + other,
                "",
            )
        )
    text = "".join(lines).encode()
    if random.random() < 0.05:
        text = codecs.BOM_UTF8 + text
    return text if random.random() < 0.9 else damaged_bytes(random, text)


def damaged_xml(random: Random, content: bytes) -> bytes:
    """XML with attributes changed, elements doubled or moved."""
    parts = content.decode().split('"')
    for _ in range(random.choice((1, 1, 2, 6))):
        if len(parts) > 2:
            parts[random.randrange(1, len(parts) - 1, 2)] = random.choice((*XML_VALUES, *parts[1::2]))
    text = '"'.join(parts).encode()
    return text if random.random() < 0.7 else damaged_bytes(random, text)


def damaged_text(random: Random, content: bytes) -> bytes:
    """Lines of words with words changed, lines left out or moved."""
    lines = content.decode().splitlines(keepends=True)
    words = content.decode().split()
    for _ in range(random.choice((1, 1, 2, 6))):
        at = random.randrange(len(lines))
        parts = lines[at].split("\t" if "\t" in lines[at] else " ")
        parts[random.randrange(len(parts))] = str(random.choice((*words, *VALUES)))[:200]
        lines[at] = random.choice(("\t".join(parts), lines[random.randrange(len(lines))], ""))
    text = "".join(lines).encode(errors="replace")
    return text if random.random() < 0.8 else damaged_bytes(random, text)


def damaged_csv(random: Random, content: bytes) -> bytes:
    """A table with cells changed."""
    lines = content.decode().splitlines(keepends=True)
    for _ in range(random.choice((1, 1, 1, 4))):
        at = random.randrange(len(lines))
        cells = lines[at].split(",")
        cells[random.randrange(len(cells))] = str(random.choice(VALUES))[:200]
        lines[at] = ",".join(cells)
    return "".join(lines).encode(errors="replace")


def damaged_database(random: Random, content: bytes) -> bytes:
    """An SQLite database with cells of other types or values, columns renamed, or tables left out."""
    if random.random() < 0.2:
        return damaged_bytes(random, content)
    with tempfile.NamedTemporaryFile(suffix=".sqlite") as file:
        file.write(content)
        file.flush()
        database = sqlite3.connect(file.name)
        tables = [name for (name,) in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        for _ in range(random.choice((1, 1, 2, 6))):
            table = random.choice(tables)
            columns = [row[1] for row in database.execute(f'PRAGMA table_info("{table}")')]
            column, change = random.choice(columns), random.random()
            value = random.choice([each for each in VALUES if not isinstance(each, (list, dict))])
            if isinstance(value, int) and abs(value) >= 1 << 63:
                value = str(value)
            (count,) = database.execute(f'SELECT count(*) FROM "{table}"').fetchone()
            at = random.randrange(count) if count else 0
            where = f'WHERE rowid = (SELECT rowid FROM "{table}" LIMIT 1 OFFSET {at})' if change < 0.6 else ""
            try:
                if change < 0.9:
                    database.execute(f'UPDATE OR REPLACE "{table}" SET "{column}" = ? {where}', (value,))
                elif change < 0.95:
                    database.execute(f'ALTER TABLE "{table}" RENAME COLUMN "{column}" TO "colour"')
                elif len(tables) > 1:
                    database.execute(f'DROP TABLE "{table}"')
                    tables.remove(table)
            except sqlite3.Error:  # NULL where none may be
                continue
        database.commit()
        database.close()
        return Path(file.name).read_bytes()


DAMAGE = {
    ".sqlite": damaged_database,
    ".toml": damaged_toml,
    ".jsonl": damaged_json_lines,
    ".json": lambda random, content: json.dumps(damaged_data(random, json.loads(content))).encode(),
    ".xml": damaged_xml,
    ".csv": damaged_csv,
    ".txt": damaged_text,
}
