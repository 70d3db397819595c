"""Text from files, shown where it can do no harm."""

import html
import re
from collections.abc import Sequence

# Control characters (C0, DEL, C1), which a terminal obeys; what changes the direction of text or ends a line unseen;
# halves of characters, which no terminal can show.
_UNSHOWN = re.compile("[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")
_KEPT = "\n\t"


def plain(text: str, kept: str = _KEPT) -> str:
    r"""The same with escapes in place of characters that a terminal would obey; newlines and tabs are kept.

    Examples
    --------
    >>> plain("red\x1b[2J")
    'red\\x1b[2J'
    """
    return _UNSHOWN.sub(lambda found: found[0] if found[0] in kept else _escaped(found[0]), text)


def json_plain(text: str) -> str:
    """The same for a JSON document, whose strings mean the same afterwards."""
    return _UNSHOWN.sub(lambda found: found[0] if found[0] == "\n" else f"\\u{ord(found[0]):04x}", text)


def aligned(title: str, lines: Sequence[tuple[str, str, str]]) -> str:
    """A title, and below it names, numbers and units in columns."""
    name, number = (max(len(line[column]) for line in lines) for column in (0, 1))
    return "\n".join([title, *(f"  {a:<{name}}  {b:>{number}} {c}".rstrip() for a, b, c in lines)])


def html_table(title: str, lines: Sequence[tuple[str, str, str]]) -> str:
    """The same as HTML; a name that begins with spaces is indented."""
    rows = "".join(
        f'<tr><th style="text-align:left;padding-left:{1 + a.startswith(" ")}em">{html.escape(a.strip())}</th>'
        f'<td style="text-align:right">{b}</td><td>{c}</td></tr>'
        for a, b, c in lines
    )
    return f"<table><caption>{html.escape(title)}</caption>{rows}</table>"


def _escaped(sign: str) -> str:
    return sign.encode("unicode_escape", "surrogatepass").decode("ascii")
