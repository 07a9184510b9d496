"""Rows of the protocol as arrays of pyarrow, column by column. Needs numpy.

No Python object is made for a value.
"""

from __future__ import annotations

import importlib.util
import struct
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from .._wire.code import Garbled
from .._wire.row import BYTES, FLOAT, INT, NULL, TEXT
from .._wire.schema import Type

#: How many bytes of rows become one chunk of a table.
_CHUNK = 16 << 20
_HEAD = struct.Struct("<IH")
_INTEGERS = {
    Type.I8: "i1",
    Type.I16: "i2",
    Type.I32: "i4",
    Type.I64: "i8",
    Type.U8: "u1",
    Type.U16: "u2",
    Type.U32: "u4",
    Type.U64: "u8",
    Type.DATE: "i4",
    Type.TIME: "i8",
    Type.DATETIME: "i8",
    Type.TIMESTAMP: "i8",
}
_TEXTS = (Type.TEXT, Type.JSON)
#: The types whose values are of no one class.
_UNKNOWN = (Type.ANY, Type.DECIMAL)


class OtherValues(Exception):
    """A value is not of its column's type, as in files of other programs."""


def readable(kinds: Sequence[Type | None]) -> list[Type] | None:
    """The types, if columns of these can be read so, and numpy is installed."""
    known: list[Type] = [kind for kind in kinds if kind is not None and kind not in _UNKNOWN]
    if len(known) < len(kinds) or importlib.util.find_spec("numpy") is None:
        return None
    return known


def chunks(bodies: Iterable[bytes]) -> Iterator[bytes]:
    """The rows of several bodies, in fewer and longer ones."""
    parts: list[bytes] = []
    length = 0
    for body in bodies:
        parts.append(body)
        length += len(body)
        if length >= _CHUNK:
            yield b"".join(parts)
            parts, length = [], 0
    if parts:
        yield b"".join(parts)


def arrays_of(arrow: Any, body: bytes, kinds: Sequence[Type], types: Sequence[Any]) -> list[Any]:
    """The columns of the rows of a body, each with its length before it, as arrays of these types.

    Raises :class:`OtherValues`; :class:`Garbled` for bytes that are no rows.
    """
    block = _Block(body, len(kinds))
    return [
        _array(arrow, block, place, kind, ty) for place, (kind, ty) in enumerate(zip(kinds, types))
    ]


class _Block:
    """The rows of a body."""

    def __init__(self, body: bytes, columns: int) -> None:
        import numpy

        self.np = numpy
        self.bytes = numpy.frombuffer(body, numpy.uint8)
        starts, ends = _frames(body, columns)
        self.rows = len(starts)
        first = numpy.array(starts, numpy.int64)
        #: Where the tags, the slots and the texts of each row begin, and where the row ends.
        self.tags = first + 6
        self.slots = self.tags + columns
        self.heap = self.slots + 8 * columns
        self.end = numpy.array(ends, numpy.int64)
        #: Where the next text or bytes of each row must begin.
        self.used = self.heap.copy()

    def column(self, place: int) -> tuple[Any, Any]:
        """The tags and the slots of a column."""
        np = self.np
        at = (self.slots + 8 * place)[:, None] + np.arange(8)
        slots = np.ascontiguousarray(self.bytes[at]).view("<i8").ravel()
        return self.bytes[self.tags + place], slots

    def heaped(self, place: int, tag: int) -> tuple[Any, Any, Any]:
        """The offsets and the bytes of a column of texts or bytes, and whether each is NULL."""
        np = self.np
        tags, slots = self.column(place)
        null = self.nulls(tags, slots, tag)
        start = np.where(null, self.used, self.heap + (slots & 0xFFFF_FFFF))
        length = np.where(null, 0, (slots >> 32) & 0xFFFF_FFFF)
        if (start != self.used).any() or (start + length > self.end).any():
            raise Garbled(f"column {place} of a row is damaged")
        self.used = start + length
        offsets = np.zeros(self.rows + 1, np.int64)
        np.cumsum(length, out=offsets[1:])
        places = np.repeat(start - offsets[:-1], length) + np.arange(offsets[-1])
        return offsets, self.bytes[places], null

    def nulls(self, tags: Any, slots: Any, *wanted: int) -> Any:
        """Which values are NULL; all others have one of these tags."""
        np = self.np
        null = tags == NULL
        if (tags > BYTES).any() or slots[null].any():
            raise Garbled("a column of a row is damaged")
        if not (null | np.isin(tags, wanted)).all():
            raise OtherValues
        return null


def _frames(body: bytes, columns: int) -> tuple[list[int], list[int]]:
    """Where each row begins and ends."""
    starts: list[int] = []
    ends: list[int] = []
    at, end = 0, len(body)
    least = 2 + 9 * columns
    while at < end:
        if end - at < 6:
            raise Garbled("a truncated row")
        length, count = _HEAD.unpack_from(body, at)
        starts.append(at)
        at += 4 + length
        ends.append(at)
        if count != columns or length < least or at > end:
            raise Garbled("a row whose length is wrong")
    return starts, ends


def _array(arrow: Any, block: _Block, place: int, kind: Type, ty: Any) -> Any:
    np = block.np
    if kind in _TEXTS or kind in (Type.BYTES, Type.UUID, Type.VECTOR):
        return _heaped_array(arrow, block, place, kind, ty)
    tags, slots = block.column(place)
    if kind in (Type.F32, Type.F64):
        # Engines may store whole floats as integers.
        null = block.nulls(tags, slots, FLOAT, INT)
        floats = np.where(tags == INT, slots, 0).astype("f8")
        floats = np.where(tags == FLOAT, slots.view("f8"), floats)
        if np.isnan(floats).any():
            raise Garbled("NaN is not a value")
        return _fixed(arrow, block, ty, null, floats.astype("f4" if kind is Type.F32 else "f8"))
    null = block.nulls(tags, slots, INT)
    if kind is Type.BOOL:
        if ((slots < 0) | (slots > 1)).any():
            raise OtherValues
        return _fixed(arrow, block, ty, null, np.packbits(slots == 1, bitorder="little"))
    if kind is Type.CURRENCY:
        return _fixed(arrow, block, ty, null, np.stack([slots, slots >> 63], axis=1))
    narrow = slots.astype(_INTEGERS[kind])
    if (narrow.astype("i8") != slots).any() or (kind is Type.U64 and (slots < 0).any()):
        raise OtherValues
    return _fixed(arrow, block, ty, null, narrow)


def _heaped_array(arrow: Any, block: _Block, place: int, kind: Type, ty: Any) -> Any:
    np = block.np
    offsets, data, null = block.heaped(place, TEXT if kind in _TEXTS else BYTES)
    if kind is Type.UUID:
        lengths = np.diff(offsets)
        if (lengths != np.where(null, 0, 16)).any():
            raise OtherValues
        whole = np.zeros((block.rows, 16), np.uint8)
        whole[~null] = data.reshape(-1, 16)
        return _fixed(arrow, block, ty, null, whole)
    if kind is Type.VECTOR:
        if (offsets % 4).any():
            raise OtherValues
        numbers = arrow.Array.from_buffers(
            arrow.float32(), len(data) // 4, [None, arrow.py_buffer(data)]
        )
        buffers = [_validity(arrow, block, null), arrow.py_buffer((offsets // 4).astype("i4"))]
        return arrow.Array.from_buffers(ty, block.rows, buffers, children=[numbers])
    buffers = [
        _validity(arrow, block, null),
        arrow.py_buffer(offsets.astype("i4")),
        arrow.py_buffer(data),
    ]
    array = arrow.Array.from_buffers(ty, block.rows, buffers)
    if kind in _TEXTS:
        try:
            array.validate(full=True)
        except arrow.ArrowException as error:
            raise Garbled(f"column {place} of a row is not UTF-8") from error
    return array


def _fixed(arrow: Any, block: _Block, ty: Any, null: Any, values: Any) -> Any:
    """An array of values that all have the same width."""
    data = arrow.py_buffer(block.np.ascontiguousarray(values))
    return arrow.Array.from_buffers(ty, block.rows, [_validity(arrow, block, null), data])


def _validity(arrow: Any, block: _Block, null: Any) -> Any:
    if not null.any():
        return None
    return arrow.py_buffer(block.np.packbits(~null, bitorder="little"))
