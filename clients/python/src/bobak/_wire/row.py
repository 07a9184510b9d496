"""The row codec: rows as bytes, and bytes as rows.

Rows of a table are of few shapes: which columns are NULL, and of what class the others are. For
each shape there is a plan, with one ``struct`` for all slots, so that no column is looked at twice.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import NamedTuple, cast

from .code import Garbled, Stored, encode_text, not_a_number, too_large

NULL, INT, FLOAT, TEXT, BYTES = range(5)
_CODES = {NULL: "Q", INT: "q", FLOAT: "d", TEXT: "Q", BYTES: "Q"}
TAGS: dict[type, int] = {type(None): NULL, int: INT, float: FLOAT, str: TEXT, bytes: BYTES}
_HEAD = struct.Struct("<IH")
#: The number of cached plans; only a program that creates many tables needs more.
_MOST = 4096


class _Plan(NamedTuple):
    tags: bytes
    slots: struct.Struct
    nulls: tuple[int, ...]
    floats: tuple[int, ...]
    #: The positions of texts and bytes, and whether each is a text.
    heap: tuple[tuple[int, bool], ...]


_by_types: dict[tuple[type, ...], _Plan] = {}
_by_tags: dict[bytes, _Plan] = {}


def encode(values: Sequence[Stored]) -> bytes:
    """A row with its length before it. Values are of exactly the five stored types."""
    plan = _by_types.get(tuple(map(type, values))) or _plan_for(values)
    slots: list[object] = list(values)
    for place in plan.nulls:
        slots[place] = 0
    for place in plan.floats:
        if slots[place] != slots[place]:
            raise not_a_number()
    heap = b""
    if plan.heap:
        offset = 0
        pieces: list[bytes] = []
        for place, is_text in plan.heap:
            value = values[place]
            piece = encode_text(cast(str, value)) if is_text else cast(bytes, value)
            pieces.append(piece)
            slots[place] = offset | len(piece) << 32
            offset += len(piece)
        heap = b"".join(pieces)
    count = len(slots)
    try:
        head = _HEAD.pack(2 + 9 * count + len(heap), count)
        return b"".join((head, plan.tags, plan.slots.pack(*slots), heap))
    except struct.error:
        numbers = [value for value in values if type(value) is int]
        wrong = [number for number in numbers if not -(1 << 63) <= number < 1 << 63]
        raise too_large(wrong[0] if wrong else len(heap)) from None


class DecodedRows(list[list[Stored]]):
    """Rows, and the shapes that they have: the tags of their values."""

    def __init__(self) -> None:
        super().__init__()
        self.shapes: set[bytes] = set()


def decode(body: bytes) -> list[list[Stored]]:
    """The rows of a body, each with its length before it."""
    rows = DecodedRows()
    add_shape = rows.shapes.add
    at, end = 0, len(body)
    while at < end:
        if end - at < 6:
            raise Garbled("a truncated row")
        length, count = _HEAD.unpack_from(body, at)
        start = at + 6 + count
        following = at + 4 + length
        heap = start + 8 * count
        if heap > following or following > end:
            raise Garbled("a row whose length is wrong")
        tags = body[at + 6 : start]
        plan = _by_tags.get(tags) or _plan_of(tags)
        add_shape(tags)
        row: list[Stored] = list(plan.slots.unpack_from(body, start))
        used = heap
        for place, is_text in plan.heap:
            slot = cast(int, row[place])
            size = slot >> 32
            if heap + (slot & 0xFFFF_FFFF) != used:
                raise Garbled(f"column {place} of a row is damaged")
            piece = body[used : used + size]
            used += size
            try:
                row[place] = piece.decode() if is_text else piece
            except UnicodeDecodeError as error:
                raise Garbled(f"column {place} of a row is not UTF-8") from error
        if used != following:
            raise Garbled("a row whose length is wrong")
        for place in plan.nulls:
            if row[place]:
                raise Garbled(f"column {place} of a row is damaged")
            row[place] = None
        for place in plan.floats:
            if row[place] != row[place]:
                raise Garbled("NaN is not a value")
        rows.append(row)
        at = following
    return rows


def _plan_for(values: Sequence[Stored]) -> _Plan:
    types = tuple(map(type, values))
    plan = _plan_of(bytes(TAGS[kind] for kind in types))
    if len(_by_types) >= _MOST:
        _by_types.clear()
    _by_types[types] = plan
    return plan


def _plan_of(tags: bytes) -> _Plan:
    if any(tag > BYTES for tag in tags):
        raise Garbled("an unknown tag in a row")
    places = range(len(tags))
    plan = _Plan(
        tags=tags,
        slots=struct.Struct("<" + "".join(_CODES[tag] for tag in tags)),
        nulls=tuple(place for place in places if tags[place] == NULL),
        floats=tuple(place for place in places if tags[place] == FLOAT),
        heap=tuple((place, tags[place] == TEXT) for place in places if tags[place] >= TEXT),
    )
    if len(_by_tags) >= _MOST:
        _by_tags.clear()
    _by_tags[tags] = plan
    return plan
