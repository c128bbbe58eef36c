"""Tables of a TOML file: every kind of mistake names file, line and key, and what would be right."""

from __future__ import annotations

from typing import Annotated, Literal

import pytest
from msgspec import Meta, Struct

from byteways.base.errors import BytewaysError
from byteways.base.toml_files import read_toml
from byteways.base.toml_reading import TextList, TomlPlace


class Leaf(Struct, forbid_unknown_fields=True):
    """A nested table."""

    size: int


class Circle(Struct, tag_field="kind", tag="circle", forbid_unknown_fields=True):
    """One kind of table."""

    radius: Annotated[float, Meta(ge=0, le=9)]


class Square(Struct, tag_field="kind", tag="square", forbid_unknown_fields=True):
    """Another kind."""

    side: float


class Toy(Struct, forbid_unknown_fields=True):
    """A file with a key of each kind."""

    title: str
    part: Annotated[float, Meta(ge=1, le=5)] = 3.0
    whole: int = 1
    flag: bool = False
    word: Literal["near", "far"] = "near"
    names: TextList = TextList()
    table: dict[str, TextList] = {}
    leaf: list[Leaf] = []
    shape: Circle | Square | None = None
    numbers: Annotated[list[float], Meta(examples=["[1, 2]"])] | None = None
    text_or_list: Annotated[str, Meta(examples=['"380 GB/s"'])] | list[str] = ""


def read(text: str) -> Toy:
    text = f'title = "x"\n{text}'
    return TomlPlace.of(read_toml(text, file="toy.toml"), text, "toy.toml").read(Toy)


@pytest.mark.parametrize("value", ["1", "1.5", "5"])
def test_bounds_belong_to_their_range(value: str) -> None:
    """Catches a bound that is excluded, and an integer that is refused as a number."""
    assert read(f"part = {value}").part == float(value)
    assert read("").part == 3.0


MISTAKES = [
    ("parts = 1", "key 'parts': unknown key", "did you mean 'part'?"),
    *((f"part = {value}", "instead of a number", None) for value in ('"2"', "true", "[2]", "{}", "07:32:00")),
    *((f"part = {value}", "out of range", "from 1 to 5") for value in ("0.99", "5.01", "-1", "nan", "inf")),
    (f"part = {'9' * 30}", "out of range", "from 1 to 5"),
    ("whole = 2.5", "2.5 is not an integer", None),
    ("flag = 1", "a number instead of true or false", None),
    ('word = "fer"', "'fer' is not a valid value", "did you mean 'far'?"),
    ("word = 3", "a number instead of a string", None),
    ("names = []", "the list is empty", None),
    ('names = ["a", 1]', "key 'names': a number instead of a string", None),
    ('names = " "', "an empty string instead of a string", None),
    ("table = 1", "a number instead of a table", None),
    ("table = { a = 1 }", "key 'table.a': a number instead of a string", None),
    ("leaf = 1", "a number instead of a list", None),
    ("[[leaf]]\nsize = 1\n[[leaf]]", "leaf 2, key 'size': missing", None),
    ("[[leaf]]\nsize = 1\nsiz = 2", "leaf 1, key 'siz': unknown key", "did you mean 'size'?"),
    ("shape = {}", "key 'shape.kind': missing", None),
    ('shape = { kind = "cirle" }', "key 'shape.kind': 'cirle'", "did you mean 'circle'?"),
    ('shape = { kind = "circle", radius = 10 }', "key 'shape.radius': 10 is out of range", None),
    ('shape = { kind = "square" }', "key 'shape.side': missing", None),
    ("numbers = 1", "a number instead of a list", "write numbers = [1, 2]"),
    ('numbers = [1, "2"]', "the string '2' instead of a number", None),
    ("text_or_list = 3", "a number instead of a string", 'write text_or_list = "380 GB/s"'),
    ("title = 1", "not valid TOML", None),
]


@pytest.mark.parametrize(("text", "problem", "hint"), MISTAKES)
def test_mistakes(text: str, problem: str, hint: str | None) -> None:
    """Catches a mistake that passes, that ends in a traceback, or whose message lacks line, key or hint."""
    with pytest.raises(BytewaysError) as caught:
        read(text)
    assert problem in caught.value.what and (hint or "") in (caught.value.hint or "")
    assert caught.value.what.startswith(f"toy.toml:{text.count(chr(10)) + 2}")


def test_a_missing_key_of_the_file() -> None:
    """Catches a default for what only the author knows."""
    with pytest.raises(BytewaysError, match=r"toy.toml: key 'title': missing"):
        TomlPlace.of({}, "", "toy.toml").read(Toy)


def test_advice_is_part_of_every_hint() -> None:
    """Catches a file whose own guide is named for some mistakes only."""
    place = TomlPlace.of({"title": 1}, "title = 1", "toy.toml", advice="read the guide")
    with pytest.raises(BytewaysError) as caught:
        place.read(Toy)
    assert caught.value.hint == "read the guide"
