"""The one sort of MessagePack file that vectors need: a map from whole numbers to whole numbers."""

from __future__ import annotations

import struct
from pathlib import Path

from fipp.exceptions import FippError

_NUMBERS = {
    0xCC: struct.Struct(">B"),
    0xCD: struct.Struct(">H"),
    0xCE: struct.Struct(">I"),
    0xCF: struct.Struct(">Q"),
    0xD0: struct.Struct(">b"),
    0xD1: struct.Struct(">h"),
    0xD2: struct.Struct(">i"),
    0xD3: struct.Struct(">q"),
}
_MAP_16, _MAP_32 = 0xDE, 0xDF


def parse_integer_map(content: bytes, path: Path) -> dict[int, int]:
    r"""Parse a MessagePack map from whole numbers to whole numbers; ``path`` is named in errors.

    Examples
    --------
    >>> parse_integer_map(b"\x82\x01\x02\xcd\x01\x00\x03", Path("key2row"))
    {1: 2, 256: 3}
    """
    try:
        count, at = _map_length(content)
        result: dict[int, int] = {}
        # Each number takes a byte or more, so that a count that lies ends at the end of the file.
        for _ in range(count):
            key, at = _number(content, at)
            value, at = _number(content, at)
            result[key] = value
    except (IndexError, struct.error) as error:
        raise FippError(f"{path} is cut short") from error
    except ValueError as error:
        raise FippError(f"{path} is not a MessagePack map of whole numbers: {error}") from error
    return result


def _map_length(content: bytes) -> tuple[int, int]:
    head = content[0]
    if head & 0xF0 == 0x80:
        return head & 0x0F, 1
    if head == _MAP_16:
        return struct.unpack_from(">H", content, 1)[0], 3
    if head == _MAP_32:
        return struct.unpack_from(">I", content, 1)[0], 5
    raise ValueError(f"it begins with the byte {head:#04x}")


def _number(content: bytes, at: int) -> tuple[int, int]:
    head = content[at]
    if head < 0x80:
        return head, at + 1
    if head >= 0xE0:
        return head - 0x100, at + 1
    layout = _NUMBERS.get(head)
    if layout is None:
        raise ValueError(f"at byte {at} there is {head:#04x}")
    return layout.unpack_from(content, at + 1)[0], at + 1 + layout.size
