"""Configuration files as text: reading them, and the line and key of every fault in them."""

from __future__ import annotations

import datetime as dt
import json
import re
import tomllib
from typing import TYPE_CHECKING, Annotated, Any

import json5
import msgspec

from stepwatch.errors import ConfigError

if TYPE_CHECKING:
    from pathlib import Path

_PART = r"""(?:[A-Za-z0-9_-]+|"(?:[^"\\\n]|\\.)*"|'[^'\n]*')"""
_DOTTED = rf"{_PART}(?:[ \t]*\.[ \t]*{_PART})*"
_HEADER = re.compile(rf"\s*\[{{1,2}}[ \t]*({_DOTTED})[ \t]*\]")
_ASSIGNMENT = re.compile(rf"\s*({_DOTTED})[ \t]*=")
_BARE = re.compile(r"[A-Za-z0-9_-]+")
_TOML_PLACE = re.compile(r" \(at (?:line (\d+), column \d+|end of document)\)$")
_JSON_PLACE = re.compile(r"^<string>:(\d+) ")
_LONG_NUMBER = re.compile(r"[0-9_]{4301,}")
_SHOWN_CHARACTERS = 60


Line = Annotated[str, msgspec.Meta(pattern=r"^[^\x00-\x1f\x7f]+\Z")]
"""A text that is not empty and goes on one line."""
Fault = tuple[tuple[str, ...], str]
"""Path of keys, and what is wrong there."""


def read_text(path: Path) -> str:
    """The text of a configuration file; a byte-order mark, as some editors write it, is passed over.

    Raises:
        ConfigError: it cannot be read, or is not UTF-8.
    """
    try:
        data = path.read_bytes()
    except OSError as error:
        raise ConfigError(path, error.strerror or str(error)) from error
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise ConfigError(path, f"not UTF-8 ({error.reason})", line=line) from error


def parse_toml(path: Path, text: str) -> dict[str, Any]:
    """The table that TOML `text` is.

    Raises:
        ConfigError: it is not TOML; names the line.
    """
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        message = str(error)
        place = _TOML_PLACE.search(message)
        if place is None:
            raise ConfigError(path, message) from error
        line = int(place[1] or text.count("\n", 0, len(text.rstrip())) + 1)
        raise ConfigError(path, message[: place.start()], line=line) from error
    except ValueError as error:  # the numbers of Python have a bound that TOML does not know
        number = _LONG_NUMBER.search(text)
        line = text.count("\n", 0, number.start()) + 1 if number else 0
        raise ConfigError(path, "a number has too many digits", line=line or None) from error
    except RecursionError as error:
        raise ConfigError(path, "arrays or tables are nested too deeply") from error


def parse_json(path: Path, text: str) -> object:
    """What `text` holds, read as asv reads it: JSON5, comments and all.

    Raises:
        ConfigError: it is not JSON5; names the line.
    """
    try:
        return json5.loads(text)
    except ValueError as error:
        message = first_line(error)
        place = _JSON_PLACE.search(message)
        line = int(place[1]) if place else None
        raise ConfigError(path, message[place.end() if place else 0 :], line=line) from error
    except RecursionError as error:
        raise ConfigError(path, "lists or objects are nested too deeply") from error


def find_line(text: str, keys: tuple[str, ...]) -> int | None:
    """The 1-based line of TOML `text` where the key path `keys` is set, or of the nearest table above it."""
    table: tuple[str, ...] = ()
    nearest: int | None = None
    for number, line in enumerate(text.split("\n"), start=1):
        header = _HEADER.match(line)
        if header:
            path = table = _split_key(header[1])
        else:
            assignment = _ASSIGNMENT.match(line)
            path = (*table, *_split_key(assignment[1])) if assignment else ()
        if path and path == keys:
            return number
        if path and keys[: len(path)] == path:
            nearest = number
    return nearest


def _split_key(dotted: str) -> tuple[str, ...]:
    """The parts of a dotted key, unquoted; TOML's own rules are applied by TOML's own reader."""
    try:
        table: Any = tomllib.loads(f"{dotted} = 0")
    except ValueError:  # a bad escape: the file itself will be refused for it
        return ()
    parts = []
    while isinstance(table, dict):
        [(part, table)] = table.items()
        parts.append(part)
    return tuple(parts)


def find_json_line(text: str, key: str) -> int | None:
    """The 1-based line of JSON5 `text` where `key` is set; nothing nested is looked for."""
    found = re.search(rf"""(?m)(?:^|[{{,])[ \t]*(["']?{re.escape(key)}["']?)\s*:""", text)
    return text.count("\n", 0, found.start(1)) + 1 if found else None


def show_key(keys: tuple[str, ...]) -> str:
    """A key path as TOML writes it: parts that need quotes have them, on one line whatever they hold."""
    return ".".join(key if _BARE.fullmatch(key) else json.dumps(key) for key in keys)


def show_value(value: object) -> str:
    """A value for a message, about as TOML writes it, not longer than can be taken in."""
    if isinstance(value, bool):
        shown = "true" if value else "false"
    elif isinstance(value, (dt.date, dt.time)):
        shown = value.isoformat()
    elif isinstance(value, int) and abs(value) >= 10**_SHOWN_CHARACTERS:
        shown = f"a number of about {int(value.bit_length() * 0.30103)} digits"
    else:
        shown = repr(value)
    return shown if len(shown) <= _SHOWN_CHARACTERS else f"{shown[:_SHOWN_CHARACTERS]}…"


def first_line(error: Exception) -> str:
    """The first line of what an error says, else its kind."""
    return (str(error).splitlines() or [type(error).__name__])[0]


def leaf_faults(value: object, kind: object, keys: tuple[str, ...]) -> list[Fault]:
    """What keeps `value` from being a `kind` (a type with constraints); nothing, or one fault."""
    try:
        msgspec.convert(value, kind)
    except msgspec.ValidationError as error:
        return [(keys, f"{first_line(error).split(' - at ')[0]} (found {show_value(value)})")]
    return []


def fault_line(path: Path, line: int | None, keys: tuple[str, ...], reason: str) -> str:
    """A fault as one line that names its place."""
    return f"{path}:{line}: {show_key(keys)}: {reason}" if line else f"{path}: {show_key(keys)}: {reason}"
