"""Reads tables of a TOML file into typed Structs; a mistake becomes an error with file, line and key.

msgspec checks keys, kinds and bounds of a whole table. Its messages name neither lines nor likely keys, so
after a refusal the types of the fields find the first mistake.

Fields use no `msgspec.Meta(pattern=…)`: the garbage collector crashes at it (msgspec issue 717). Where the
form of a text matters, the field has a type with `from_toml()`.
"""

from __future__ import annotations

import types
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Annotated, Any, ClassVar, Literal, NoReturn, TypeVar, Union, get_args, get_origin

import msgspec

from byteways.base.aliases import ALIASES, AmbiguousError, ends, meanings, translated
from byteways.base.errors import BytewaysError
from byteways.base.spelling import closest
from byteways.base.toml_lines import TomlPath, key_lines, line_of

T = TypeVar("T")
#: A number that is neither NaN nor infinite.
Finite = Annotated[float, msgspec.Meta(ge=-1e300, le=1e300)]
#: A number, or a text of one with its unit.
Quantity = str | int | Finite
#: What a value of a type is, for messages.
_NAMES = {str: "a string", int: "a number", float: "a number", bool: "true or false"}


class TomlValueError(Exception):
    """What is wrong with a value; the reader adds file, line and key."""

    def __init__(self, problem: str, hint: str | None = None) -> None:
        super().__init__(problem)
        self.problem = problem
        self.hint = hint


class Several(tuple[T, ...]):
    """A string or a list of strings, without repetitions, each with a value."""

    @classmethod
    def from_toml(cls, value: Any) -> Several[T]:
        items = value if isinstance(value, list) else [value]
        if not items:
            raise TomlValueError("the list is empty")
        for item in items:
            if not isinstance(item, str) or not item.strip():
                raise TomlValueError(f"{kind_of_value(item)} instead of a string")
        return cls(dict.fromkeys(map(cls.one, items)))

    @classmethod
    def one(cls, text: str) -> T:
        """Returns the value of one string. Raises TomlValueError or ValueError if it has none."""
        raise NotImplementedError


class TextList(Several[str]):
    """A string or several."""

    @classmethod
    def one(cls, text: str) -> str:
        return text


class WordList(TextList):
    """One or several of the valid words; other tools' words for them are translated."""

    kind: ClassVar[str] = ""
    valid: ClassVar[tuple[str, ...]] = ()

    @classmethod
    def one(cls, text: str) -> str:
        return known_word(cls.kind, text, cls.valid)


class Choice(str):
    """One of the valid words."""

    __slots__ = ()
    valid: ClassVar[tuple[str, ...]] = ()

    @classmethod
    def from_toml(cls, value: Any) -> Choice:
        if not isinstance(value, str) or not value.strip():
            raise TomlValueError(f"{kind_of_value(value)} instead of a string")
        return cls(cls.checked(value))

    @classmethod
    def checked(cls, text: str) -> str:
        if text not in cls.valid:
            raise TomlValueError(f"'{text}' is not a valid value", closest(text, cls.valid))
        return text


def known_word(kind: str, word: str, valid: Iterable[str]) -> str:
    """Translates a word, which may be another tool's. Raises TomlValueError if it is unknown."""
    valid = tuple(valid)
    try:
        ours = translated(kind, word, valid) if kind in ALIASES else word
    except AmbiguousError as error:
        raise TomlValueError(str(error), error.hint) from error
    if ours not in valid:
        raise TomlValueError(f"unknown {kind} '{word}'", ends(word) or closest(word, valid))
    return ours


@dataclass(frozen=True)
class TomlPlace:
    """A file, or a table or key inside it: the value, and its place for messages."""

    file: str
    lines: Mapping[TomlPath, int] = field(default_factory=dict, repr=False, compare=False)
    root: Any = field(default=None, repr=False, compare=False)
    place: TomlPath = ()
    what: str = ""  # the file's name in messages about its own keys: "suite"
    advice: str = ""  # a hint for every mistake

    @staticmethod
    def of(data: Mapping[str, Any], text: str, file: str, what: str = "", advice: str = "") -> TomlPlace:
        """Returns the place of a whole file."""
        return TomlPlace(file, key_lines(text), data, (), what, advice)

    @property
    def value(self) -> Any:
        """The data at this place; None if the file has none."""
        found = self.root
        for part in self.place:
            inside = isinstance(part, int) or (isinstance(found, dict) and part in found)
            found = found[part] if inside else None
        return found

    def below(self, *parts: str | int) -> TomlPlace:
        return replace(self, place=(*self.place, *parts))

    def at(self, *parts: str | int) -> str:
        """Formats `my.toml:12`, the line of a key or of its table."""
        place = (*self.place, *parts)
        line = self.lines.get((*place, 0)) or line_of(self.lines, place)  # of the first of several tables
        return f"{self.file}:{line}" if line else self.file

    @property
    def label(self) -> str:
        """`sweep 'pairs', key 'options.blocks'`; a table without a name by its number from 1."""
        tables: list[str] = []
        inner: list[str] = []
        for end, part in enumerate(self.place):
            if isinstance(part, str):
                inner.append(part)
                continue
            table = replace(self, place=self.place[: end + 1]).value
            named = [table[key] for key in ("name", "id") if isinstance(table, dict) and key in table]
            name = f"'{named[0]}'" if named and isinstance(named[0], str) else f"{part + 1}"
            kind = ".".join(inner)
            tables.append(f"{kind if kind.endswith('series') else kind.removesuffix('s')} {name}")
            inner = []
        keys = [f"key '{'.'.join(inner)}'"] if inner else []
        return ", ".join(filter(None, [*(tables or [self.what]), *keys]))

    @property
    def heading(self) -> str:
        """The beginning of a message: `my.toml:12: sweep 'pairs', key 'size'`."""
        return ": ".join(filter(None, (self.at(), self.label)))

    def fail(self, key: str, problem: str, hint: str | None = None) -> NoReturn:
        """Raises BytewaysError for a key of this table; an empty one is for the table itself."""
        place = self.below(key) if key else self
        hints = "; ".join(filter(None, (hint, self.advice)))
        raise BytewaysError(f"{place.heading}: {problem}", hint=hints or None)

    def read(self, kind: type[T]) -> T:
        """Returns the value as a type. Raises BytewaysError at the first mistake in it."""
        try:
            return msgspec.convert(self.value, kind, dec_hook=_from_toml)
        except (msgspec.ValidationError, TomlValueError, RecursionError) as error:
            _explain(self, kind, self.value)
            self.fail("", str(error))

    def tables(self, key: str, none: str) -> list[TomlPlace]:
        """Returns the places of the tables [[key]]. Raises BytewaysError with `none` if there are none."""
        tables = self.below(key).value
        if not isinstance(tables, list) or not tables or not all(isinstance(table, dict) for table in tables):
            self.fail(key, none, f"write [[{key}]], in double brackets: there may be several")
        return [self.below(key, index) for index in range(len(tables))]

    def converted(self, key: str, convert: Callable[[Any], T], value: Any) -> T:
        """Returns `convert(value)`; a ValueError becomes a message with the line."""
        try:
            return convert(value)
        except ValueError as error:
            self.fail(key, str(error))
        except TomlValueError as mistake:
            self.fail(key, mistake.problem, mistake.hint)


def _from_toml(kind: Any, value: Any) -> Any:
    return kind.from_toml(value)


def _fits(value: Any, kind: Any) -> bool:
    try:
        msgspec.convert(value, kind, dec_hook=_from_toml)
    except (msgspec.ValidationError, TomlValueError):
        return False
    return True


def _explain(place: TomlPlace, kind: Any, value: Any) -> None:
    """Raises BytewaysError for the first mistake of a value that a type refuses."""
    bare, meta = (get_args(kind) if get_origin(kind) is Annotated else (kind, None))[:2]
    form, parts = get_origin(bare) or bare, get_args(bare)
    if form in (Union, types.UnionType):
        _explain(place, _member(place, parts, value), value)
    elif hasattr(form, "from_toml"):
        place.converted("", form.from_toml, value)
    elif hasattr(form, "__struct_config__"):
        _explain_table(place, bare, value)
    elif form is tuple and parts[1] is not ...:
        if not isinstance(value, list) or len(value) != len(parts) or not _fits(value[-1], parts[-1]):
            place.fail("", f"{kind_of_value(value)} {meta.extra['problem']}", meta.extra["hint"])
        for item, part in zip(value, parts, strict=True):
            if not _fits(item, part):
                _explain(place, part, item)
    elif form in (list, tuple):
        if not isinstance(value, list):
            table = hasattr(parts[0], "__struct_config__") and isinstance(value, dict)
            brackets = f"write [[{'.'.join(map(str, place.place))}]], in double brackets" if table else None
            place.fail("", f"{kind_of_value(value)} instead of a list", brackets or _example(place, meta))
        _check_length(place, meta, value)
        tables = hasattr(parts[0], "__struct_config__")
        for index, item in enumerate(value):
            if not _fits(item, parts[0]):
                _explain(place.below(index) if tables else place, parts[0], item)
    elif form in (dict, Mapping):
        if not isinstance(value, dict):
            place.fail("", f"{kind_of_value(value)} instead of a table", _example(place, meta))
        _check_length(place, meta, value)
        for key, item in value.items():
            if not _fits(key, parts[0]):
                place.fail(key, "unknown key", _key_hint(key, get_args(parts[0])))
            if not _fits(item, parts[1]):
                _explain(place.below(key), parts[1], item)
    elif form is Literal:
        if not isinstance(value, str):
            place.fail("", f"{kind_of_value(value)} instead of a string")
        place.fail("", f"'{value}' is not a valid value", closest(value, filter(None, parts)))
    else:
        _explain_scalar(place, form, meta, value)


def _explain_scalar(place: TomlPlace, kind: Any, meta: msgspec.Meta | None, value: Any) -> None:
    number = isinstance(value, (int, float)) and not isinstance(value, bool)
    if kind is int and isinstance(value, float):
        place.fail("", f"{value:g} is not an integer")
    if meta is not None and number and kind in (int, float):
        low, high = (meta.gt if meta.ge is None else meta.ge), (meta.lt if meta.le is None else meta.le)
        unit = " bytes/s" if str(place.place[-1]).endswith("bytes_per_s") else ""
        place.fail("", f"{value:g} is out of range", f"write a number from {low:g}{unit} to {high:g}")
    place.fail("", f"{kind_of_value(value)} instead of {_NAMES.get(kind, 'a value')}", _example(place, meta))


def _explain_table(place: TomlPlace, kind: Any, value: Any) -> None:
    """Explains a mistake in a table of known keys."""
    config, fields = kind.__struct_config__, msgspec.structs.fields(kind)
    if not isinstance(value, dict):
        place.fail("", f"{kind_of_value(value)} instead of a table")
    known = [entry.encode_name for entry in fields] + [config.tag_field] * (config.tag is not None)
    for key in value:
        if key not in known:
            place.fail(key, "unknown key", _key_hint(key, known))
    for entry in fields:
        name = entry.encode_name
        if name in value and not _fits(value[name], entry.type):
            _explain(place.below(name), entry.type, value[name])
        if name not in value and entry.required:
            place.fail(name, "missing")


def _member(place: TomlPlace, kinds: tuple[Any, ...], value: Any) -> Any:
    """Returns the type of a union that a value was probably meant for."""
    tags = {kind.__struct_config__.tag: kind for kind in kinds if hasattr(kind, "__struct_config__")}
    if len(tags) > 1 and isinstance(value, dict):
        name = next(iter(tags.values())).__struct_config__.tag_field
        if name not in value:
            place.fail(name, "missing")
        if (tag := value[name]) not in tags:
            place.fail(name, f"'{tag}' is not a valid value", closest(str(tag), tags))
        return tags[tag]
    forms = {kind: get_args(kind)[0] if get_origin(kind) is Annotated else kind for kind in kinds}
    lists = [kind for kind, form in forms.items() if get_origin(form) in (list, tuple)]
    others = {kind: form for kind, form in forms.items() if kind not in (*lists, type(None))}
    numbers = [kind for kind, form in forms.items() if form is float]
    if lists and (isinstance(value, list) or not others):
        return lists[0]
    if numbers and isinstance(value, (int, float)) and not isinstance(value, bool):
        return numbers[0]
    names = list(dict.fromkeys(_NAMES[form] for form in others.values() if form in _NAMES))
    if len(names) > 1:
        place.fail("", f"{kind_of_value(value)} instead of {' or '.join(names)}")
    return next(iter(others))


def _check_length(place: TomlPlace, meta: msgspec.Meta | None, value: Collection[Any]) -> None:
    """Raises BytewaysError for a list or table with too few or too many values."""
    least, most = (meta.min_length or 0, meta.max_length) if meta is not None else (0, None)
    if not value and least:
        place.fail("", "the list is empty" if isinstance(value, list) else "the table is empty")
    if len(value) < least or (most is not None and len(value) > most):
        place.fail("", f"it has {len(value)} values instead of {least}")


def _key_hint(key: str, keys: Iterable[str]) -> str:
    """Suggests the key for another tool's word, or the one with the most similar spelling."""
    keys = tuple(keys)
    meant = [word for word in meanings("key", key) if word in keys]
    return f"write {' or '.join(meant)}" if meant else closest(key, keys)


def _example(place: TomlPlace, meta: msgspec.Meta | None) -> str | None:
    return f"write {place.place[-1]} = {meta.examples[0]}" if meta is not None and meta.examples else None


def kind_of_value(value: object) -> str:
    """Describes a value of a TOML file: `the string 'x'`, `a table`."""
    if isinstance(value, str):
        return "an empty string" if not value.strip() else f"the string '{value}'"
    kinds = {bool: "a boolean", int: "a number", float: "a number", list: "a list", dict: "a table"}
    return "nothing" if value is None else kinds.get(type(value), f"a {type(value).__name__}")
