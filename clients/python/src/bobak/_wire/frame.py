"""Frames: heads of 12 bytes, and bodies, out of a stream that is cut anywhere."""

from __future__ import annotations

import enum
import struct
from typing import NamedTuple

from .code import Garbled

HEAD = struct.Struct("<IBBHI")


class Kind(enum.IntEnum):
    """The kinds of frames."""

    HELLO = 0x01
    DEFINE = 0x02
    PREPARE = 0x03
    FORGET = 0x04
    CONTROL = 0x05
    WRITE = 0x06
    CHANGE = 0x07
    BATCH = 0x08
    GET = 0x09
    QUERY = 0x0A
    OPEN = 0x0B
    FETCH = 0x0C
    CLOSE = 0x0D
    TABLES = 0x0E
    ALTER = 0x0F
    EXECUTE = 0x10
    FLUSH = 0x11
    PING = 0x12
    CANCEL = 0x13
    CREDIT = 0x14
    LOSSES = 0x15
    READ_PART = 0x16
    WRITE_VALUE = 0x17
    EXPLAIN = 0x18

    OK = 0x81
    ERROR = 0x82
    WELCOME = 0x83
    COUNT = 0x84
    OUTCOMES = 0x85
    ROWS = 0x86
    COLUMNS = 0x87
    SCHEMAS = 0x88
    BLOCK = 0x89


KINDS = {int(kind): kind for kind in Kind}
#: Kinds without a response.
UNANSWERED = frozenset(
    {Kind.DEFINE, Kind.PREPARE, Kind.FORGET, Kind.CLOSE, Kind.CANCEL, Kind.CREDIT}
)


class Frame(NamedTuple):
    """One frame; ``more`` is set if others of the same message follow."""

    kind: Kind
    more: bool
    id: int
    body: bytes


def head(kind: Kind, more: bool, number: int, length: int) -> bytes:
    return HEAD.pack(length, kind, 1 if more else 0, 0, number)


def is_tls(first: bytes) -> bool:
    """Whether a connection's first bytes are TLS. No frame begins with these bytes: it would be too
    long."""
    return len(first) > 2 and 0x14 <= first[0] <= 0x17 and first[1] == 3 and 1 <= first[2] <= 4


class Inbox:
    """Collects bytes, and returns the frames in them."""

    def __init__(self) -> None:
        self._buffer = bytearray()
        self._at = 0

    def feed(self, data: bytes | memoryview) -> None:
        if self._at == len(self._buffer):
            self._buffer.clear()
            self._at = 0
        elif self._at > 1 << 20:
            del self._buffer[: self._at]
            self._at = 0
        self._buffer += data

    def next(self) -> Frame | None:
        """The next frame, or None if it is not complete."""
        start = self._at + HEAD.size
        if len(self._buffer) < start:
            return None
        length, kind, flags, zero, number = HEAD.unpack_from(self._buffer, self._at)
        known = KINDS.get(kind)
        if known is None or flags > 1 or zero != 0:
            raise Garbled("bytes that are not a frame header")
        end = start + length
        if len(self._buffer) < end:
            return None
        with memoryview(self._buffer) as view:
            body = bytes(view[start:end])
        self._at = end
        return Frame(known, flags == 1, number, body)

    @property
    def first(self) -> bytes:
        """The first bytes of the input."""
        return bytes(self._buffer[self._at : self._at + HEAD.size])

    @property
    def is_empty(self) -> bool:
        return self._at == len(self._buffer)
