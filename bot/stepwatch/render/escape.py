"""Making strings of a report harmless: for a terminal, for Markdown, for a command line.

A report may come from a fork's pull request. Its strings must not move the cursor, notify people, link,
open HTML, break out of a table, or smuggle something into a command that a reader will copy.
"""

from __future__ import annotations

import re
import unicodedata

_SAFE_ARGUMENT = re.compile(r"[A-Za-z0-9][A-Za-z0-9._/+-]*")
_SPECIAL = re.compile(r"([\\`*_{}\[\]()#!|~$])")
_BLOCK_START = re.compile(r"^(\d*)([-+.])(?=\s|$)")
_PIPE = re.compile(r"(?<!\\)\|")
_BREAK = "\u200b"
"""Zero-width space: invisible, and enough to end a mention or a link."""
_INVISIBLE = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})


def plain(text: str, limit: int = 200) -> str:
    """One line of visible characters, at most `limit` of them: no control, bidi or escape characters."""
    text = text[: 4 * limit]  # bounds the work; a text of mostly invisible characters may end early
    visible = "".join(
        " " if character in "\t\n\r" else character
        for character in text
        if character in "\t\n\r" or unicodedata.category(character) not in _INVISIBLE
    )
    line = " ".join(visible.split())
    return line if len(line) <= limit else line[: limit - 1] + "…"


def markdown_text(text: str, limit: int = 200) -> str:
    """`text` as words in GitHub Markdown: nothing in it formats, links, mentions or opens a tag."""
    line = plain(text, limit).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    line = _SPECIAL.sub(r"\\\1", line)
    line = _BLOCK_START.sub(r"\1\\\2", line)
    line = line.replace("@", f"@{_BREAK}").replace("://", f":{_BREAK}//")
    line = re.sub(r"(?i)www\.", lambda found: found.group()[:3] + _BREAK + ".", line)
    # Backslash-hash still links in some renderers (`GH-1`, `owner/name#1`), so the number is cut off too.
    return re.sub(r"(?i)(\\#|gh-)(?=\d)", lambda found: found.group() + _BREAK, line)


def markdown_code(text: str, limit: int = 200) -> str:
    """`text` as a code span, which holds everything but backticks; in a table see `table_cell`."""
    line = plain(text, limit).replace("`", "'")
    return f"`{line or '-'}`"


def table_cell(markdown: str) -> str:
    """Finished Markdown as a cell, which a bare pipe would end, even inside a code span."""
    return _PIPE.sub(r"\\|", markdown)


def is_safe_argument(text: str) -> bool:
    """Whether `text` may stand in a command that a reader copies into a shell."""
    return _SAFE_ARGUMENT.fullmatch(text) is not None
