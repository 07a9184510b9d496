"""The primitives of the protocol: integers of fixed width, texts, options."""

from __future__ import annotations

import math
import struct
from collections.abc import Callable, Sequence
from typing import TypeVar

from .._errors import Error, ErrorKind

T = TypeVar("T")

#: A value in its stored form.
Stored = None | int | float | str | bytes

U8 = struct.Struct("<B")
U16 = struct.Struct("<H")
U32 = struct.Struct("<I")
U64 = struct.Struct("<Q")
I64 = struct.Struct("<q")
F64 = struct.Struct("<d")


class Garbled(Exception):
    """Bytes that do not follow the protocol: the connection cannot be used any more."""


class Writer:
    """Appends to a buffer."""

    __slots__ = ("out",)

    def __init__(self) -> None:
        self.out = bytearray()

    def u8(self, value: int) -> None:
        self.out.append(value)

    def bool(self, value: bool) -> None:
        self.out.append(1 if value else 0)

    def u16(self, value: int) -> None:
        self.out += U16.pack(value)

    def u32(self, value: int) -> None:
        self.out += U32.pack(value)

    def u64(self, value: int) -> None:
        self.out += U64.pack(value)

    def bytes(self, value: bytes | bytearray) -> None:
        self.out += U32.pack(len(value))
        self.out += value

    def text(self, value: str) -> None:
        self.bytes(encode_text(value))

    def option(self, value: T | None, put: Callable[[T], None]) -> None:
        self.bool(value is not None)
        if value is not None:
            put(value)

    def places(self, places: Sequence[int]) -> None:
        self.u16(len(places))
        for place in places:
            self.u16(place)

    def value(self, value: Stored) -> None:
        """A single value, with its storage class before it."""
        if value is None:
            self.u8(0)
        elif isinstance(value, int):
            self.u8(1)
            try:
                self.out += I64.pack(value)
            except struct.error:
                raise too_large(value) from None
        elif isinstance(value, float):
            if math.isnan(value):
                raise not_a_number()
            self.u8(2)
            self.out += F64.pack(value)
        elif isinstance(value, str):
            self.u8(3)
            self.text(value)
        else:
            self.u8(4)
            self.bytes(value)


class Reader:
    """Decodes a buffer from its beginning; raises :class:`Garbled` if it is too short."""

    __slots__ = ("at", "data")

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.at = 0

    def raw(self, size: int) -> bytes:
        end = self.at + size
        if end > len(self.data):
            raise Garbled("a truncated message")
        piece = self.data[self.at : end]
        self.at = end
        return piece

    def u8(self) -> int:
        return self.raw(1)[0]

    def bool(self) -> bool:
        value = self.u8()
        if value > 1:
            raise Garbled(f"{value} is not a bool")
        return value == 1

    def u16(self) -> int:
        return int(U16.unpack(self.raw(2))[0])

    def u32(self) -> int:
        return int(U32.unpack(self.raw(4))[0])

    def u64(self) -> int:
        return int(U64.unpack(self.raw(8))[0])

    def i64(self) -> int:
        return int(I64.unpack(self.raw(8))[0])

    def bytes(self) -> bytes:
        return self.raw(self.u32())

    def text(self) -> str:
        try:
            return self.bytes().decode()
        except UnicodeDecodeError as error:
            raise Garbled("a text that is not UTF-8") from error

    def option(self, read: Callable[[], T]) -> T | None:
        return read() if self.bool() else None

    def places(self) -> tuple[int, ...]:
        return tuple(self.u16() for _ in range(self.u16()))

    def value(self) -> Stored:
        kind = self.u8()
        if kind == 0:
            return None
        if kind == 1:
            return self.i64()
        if kind == 2:
            return float(F64.unpack(self.raw(8))[0])
        if kind == 3:
            return self.text()
        if kind == 4:
            return self.bytes()
        raise Garbled(f"{kind} is not a storage class")

    def finish(self) -> None:
        if self.at != len(self.data):
            raise Garbled(f"{len(self.data) - self.at} bytes too many")


def encode_text(text: str) -> bytes:
    try:
        return text.encode()
    except UnicodeEncodeError as error:
        raise Error(
            ErrorKind.MISMATCH, f"a text with a lone surrogate cannot be stored: {error}"
        ) from error


def too_large(value: int) -> Error:
    return Error(
        ErrorKind.OUT_OF_RANGE, f"{value} is beyond what engines store: 64 bits with a sign"
    )


def not_a_number() -> Error:
    return Error(ErrorKind.OUT_OF_RANGE, "NaN cannot be stored")
