"""Text from files, made harmless for terminals, messages and figures."""

from __future__ import annotations

import re

# Characters that only command, deceive or break: control characters (C0, DEL, C1), separators of lines and paragraphs,
# bidirectional embeddings, overrides and isolates, invisible ones that no script needs, and lone surrogates.
# Marks of direction (U+061C, U+200E, U+200F), soft hyphens and variation selectors are part of ordinary text.
_NEVER = r"\x00-\x1f\x7f-\x9f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\ud800-\udfff"
# Scripts and symbols in which an invisible space or joiner has a use: Persian, Hindi, Khmer, Thai, emoji, …
_JOINED = r"\u0590-\u1cff\u2190-\U0010ffff"
# Tags spell the name of a region after a black flag, and have no other use.
_HARMFUL = re.compile(
    rf"(?P<flag>\U0001f3f4[\U000e0030-\U000e0039\U000e0061-\U000e007a]{{3,6}}\U000e007f)"
    rf"|[{_NEVER}]|(?<![{_JOINED}])[\u200b-\u200d]|[\U000e0000-\U000e007f]"
)


def printable(text: str, *, lines: bool = False) -> str:
    r"""Return text with harmful characters as the escapes of JSON; text in any script is unchanged.

    Words and file names may come from anybody. Printed as they are, they could clear the screen, forge a line, show
    letters in another order or write to the clipboard. With ``lines``, line breaks are kept.

    Examples
    --------
    >>> print(printable("\x1b[2Jhouse"))
    \u001b[2Jhouse
    >>> printable("👩\u200d👧 paypal\u200b") == "👩\u200d👧 paypal" + r"\u200b"
    True
    """
    if lines:
        return "\n".join(map(printable, text.split("\n")))
    return _HARMFUL.sub(lambda found: found["flag"] or _escaped(found[0]), text)


def _escaped(character: str) -> str:
    units = character.encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{units[place : place + 2].hex()}" for place in range(0, len(units), 2))
