"""Blocks of the protocol as arrays of pyarrow, whose memory is that of the block.

No value is converted, and none becomes a Python object.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import Any

from .._wire.code import Garbled
from .._wire.schema import Type

_HEAD = struct.Struct("<IHH")
_COLUMN = struct.Struct("<BBHI")
_OFFSET = struct.Struct("<I")
#: The bytes of a value of each type that has as many for each value.
_WIDTHS = {
    **dict.fromkeys((Type.I8, Type.U8), 1),
    **dict.fromkeys((Type.I16, Type.U16), 2),
    **dict.fromkeys((Type.I32, Type.U32, Type.F32, Type.DATE), 4),
    **dict.fromkeys((Type.I64, Type.U64, Type.F64), 8),
    **dict.fromkeys((Type.TIME, Type.DATETIME, Type.TIMESTAMP), 8),
    **dict.fromkeys((Type.UUID, Type.CURRENCY), 16),
}
_HEAPED = (Type.TEXT, Type.JSON, Type.BYTES)
#: The types whose values are of no one class.
_UNKNOWN = (Type.ANY, Type.DECIMAL)


class OtherValues(Exception):
    """A value is not of its column's type, as in files of other programs."""


def readable(kinds: Sequence[Type | None]) -> list[Type] | None:
    """The types, if columns of these can be read as arrays."""
    known: list[Type] = [kind for kind in kinds if kind is not None and kind not in _UNKNOWN]
    return known if len(known) == len(kinds) else None


def arrays_of(arrow: Any, body: bytes, kinds: Sequence[Type], types: Sequence[Any]) -> list[Any]:
    """The columns of a block as arrays of these types.

    Raises :class:`OtherValues`; :class:`Garbled` for bytes that are no block.
    """
    if len(body) < _HEAD.size:
        raise Garbled("a block without a head")
    rows, count, zero = _HEAD.unpack_from(body)
    at = _HEAD.size + count * _COLUMN.size
    if zero or count != len(kinds) or len(body) < at:
        raise Garbled("a block whose head is wrong")
    block = _Block(arrow, body, at, rows)
    described = [_COLUMN.unpack_from(body, at) for at in range(_HEAD.size, at, _COLUMN.size)]
    if any(number > Type.VECTOR or flags > 1 for number, flags, _, _ in described):
        raise Garbled("a column of a block is damaged")
    if [number for number, _, _, _ in described] != list(kinds):
        raise OtherValues
    columns = zip(described, kinds, types)
    try:
        arrays = [block.array(one, kind, ty) for (_, *one), kind, ty in columns]
    except arrow.ArrowException as error:
        raise Garbled(f"a column of a block is damaged: {error}") from error
    if block.at != len(body):
        raise Garbled("a block whose length is wrong")
    return arrays


class _Block:
    """The buffers of a block, one after the other."""

    def __init__(self, arrow: Any, body: bytes, at: int, rows: int) -> None:
        self.arrow, self.body, self.at, self.rows = arrow, body, at, rows
        self.buffer = arrow.py_buffer(body)

    def take(self, length: int) -> Any:
        start = self.at
        self.at += (length + 7) // 8 * 8
        if self.at > len(self.body):
            raise Garbled("a block that ends in the middle of a column")
        return self.buffer.slice(start, length)

    def array(self, described: Sequence[int], kind: Type, ty: Any) -> Any:
        has_nulls, numbers, heap = described
        make, rows = self.arrow.Array.from_buffers, self.rows
        if (heap and kind not in _HEAPED) or (numbers > 0) != (kind is Type.VECTOR):
            raise Garbled("a column of a block is damaged")
        valid = self.take((rows + 7) // 8) if has_nulls else None
        if kind in _HEAPED:
            return self._heaped(valid, heap, ty)
        if kind is Type.VECTOR:
            floats = make(self.arrow.float32(), rows * numbers, [None, self._floats(numbers)])
            fixed = self.arrow.list_(self.arrow.float32(), numbers)
            return make(fixed, rows, [valid], children=[floats]).cast(ty)
        width = (rows + 7) // 8 if kind is Type.BOOL else rows * _WIDTHS[kind]
        array = make(ty, rows, [valid, self.take(width)])
        if kind is Type.CURRENCY:
            array.validate(full=True)
        return array

    def _floats(self, numbers: int) -> Any:
        return self.take(self.rows * numbers * 4)

    def _heaped(self, valid: Any, heap: int, ty: Any) -> Any:
        start, length = self.at, (self.rows + 1) * 4
        offsets = self.take(length)
        first = _OFFSET.unpack_from(self.body, start)
        last = _OFFSET.unpack_from(self.body, start + length - 4)
        if (*first, *last) != (0, heap):
            raise Garbled("a column of a block has other offsets than bytes")
        buffers = [valid, offsets, self.take(heap)]
        array = self.arrow.Array.from_buffers(ty, self.rows, buffers)
        # Offsets that do not ascend, and texts that are not UTF-8.
        array.validate(full=True)
        return array
