"""Values of bytes that are read in parts."""

from __future__ import annotations

import io
from types import TracebackType
from typing import TYPE_CHECKING

from .._core import blob
from .._errors import Error, ErrorKind

if TYPE_CHECKING:
    from .session import Session


class Blob:
    """A value of bytes, as a file that can seek: see :meth:`Table.open_blob`.

    Each part is a read of its own, of up to a MiB. If the row was changed meanwhile, which shows in
    the length of the value or in the version of the row, the next read raises ``CONFLICT``.
    """

    def __init__(self, session: Session, address: blob.Address, first: blob.Part) -> None:
        self._session = session
        self._address = address
        self._state = first[:2]
        self._part = first.data
        self._start = 0
        self._position = 0
        #: The number of bytes.
        self.length = first.length or 0
        #: Whether it was closed.
        self.closed = False

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def writable(self) -> bool:
        return False

    def tell(self) -> int:
        """The position of the next byte."""
        return self._position

    def seek(self, offset: int, origin: int = io.SEEK_SET) -> int:
        """Sets the position, which may be after the end."""
        bases = {io.SEEK_SET: 0, io.SEEK_CUR: self._position, io.SEEK_END: self.length}
        position = bases[origin] + offset
        if position < 0:
            raise ValueError("a position before the value")
        self._position = position
        return position

    def read(self, size: int | None = -1, /) -> bytes:
        """The next bytes: up to ``size``, or all; none at the end."""
        end = self.length
        if size is not None and size >= 0:
            end = min(end, self._position + size)
        parts = []
        while self._position < end:
            part = self._next(end - self._position)
            self._position += len(part)
            parts.append(part)
        return b"".join(parts)

    def readinto(self, buffer: bytearray | memoryview, /) -> int:
        """Reads the next bytes into a buffer, and returns their number: 0 at the end."""
        data = self.read(len(buffer))
        buffer[: len(data)] = data
        return len(data)

    def close(self) -> None:
        """Ends the reading. There is nothing to release."""
        self.closed = True

    def __enter__(self) -> Blob:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def _next(self, most: int) -> bytes:
        """At least one of the next bytes, at most ``most``."""
        if self.closed:
            raise Error(ErrorKind.MISUSE, "the value was closed")
        at = self._position - self._start
        if not 0 <= at < len(self._part):
            part = blob.read_part(self._address, self._position, blob.PART)
            found = self._session._run(part)
            if found is None or found[:2] != self._state or not found.data:
                raise blob.changed(self._address)
            self._start, self._part, at = self._position, found.data, 0
        return self._part[at : at + most]
