"""The state of one connection: requests and responses as bytes, and the numbers of tables and
texts.

Nothing here does I/O. An operation is a generator; each yield asks the caller to send the output
and to feed the input. So the sync and the async API share the code.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Generator
from typing import TypeVar

from .._errors import Error, ErrorKind
from .._wire import answer, frame, request
from .._wire.code import Garbled
from .._wire.condition import Placed, numbered
from .._wire.frame import Frame, Kind
from .._wire.schema import TableSchema
from .broken import Broken, wrong_protocol

R = TypeVar("R")
#: A running operation.
Steps = Generator[None, None, R]

#: How many SQL texts are remembered: repeated ones are prepared.
_TEXTS = 256
_numbers = itertools.count(1)


class Link:
    """The state of one connection."""

    def __init__(self) -> None:
        #: No other connection of this process has this number.
        self.number = next(_numbers)
        self.welcome = answer.Welcome(0, 1 << 26, 1 << 26, 1024, 4096, 1 << 22, 0, "", "")
        self._inbox = frame.Inbox()
        self._out = bytearray()
        self._next = 1
        #: Requests without a complete response.
        self._pending: set[int] = set()
        #: Those among them that were cancelled.
        self._abandoned: set[int] = set()
        self._is_broken = False
        #: Whether a transaction is open, or may be: its begin or its end was cancelled.
        self.may_be_inside = False
        #: The batch or value whose last part is not sent yet, and the part that ends it so that the
        #: server rejects a value.
        self._open_message: tuple[int, Kind, bytes] | None = None
        self._tables: dict[bytes, int] = {}
        self._texts: dict[str, int | None] = {}

    # Called by connections.

    def take(self) -> bytes:
        """Takes the output."""
        out = bytes(self._out)
        self._out.clear()
        return out

    def feed(self, data: bytes | memoryview) -> None:
        """Adds received bytes to the input."""
        self._inbox.feed(data)

    @property
    def is_idle(self) -> bool:
        """Whether the connection works, without outstanding requests and input."""
        busy = self._pending or self._out or self._is_broken
        return not busy and self._inbox.is_empty

    @property
    def is_reusable(self) -> bool:
        """As :attr:`is_idle`, except for cancelled responses, which will be skipped."""
        busy = self._pending - self._abandoned or self._out or self._is_broken
        return not busy and (bool(self._pending) or self._inbox.is_empty)

    def explain(self, broken: Broken) -> Broken:
        """Why the handshake failed: the server may speak another protocol."""
        first = self._inbox.first
        if frame.is_tls(first):
            return wrong_protocol("the server speaks TLS: add tls=on to the URL")
        if first.startswith(b"HTTP/"):
            return wrong_protocol("this is an HTTP listener: Bobak's own protocol has another port")
        return broken

    def break_off(self) -> None:
        """Marks the connection as broken."""
        self._is_broken = True

    def abandon(self) -> None:
        """Cancels the outstanding requests: their responses will be skipped."""
        for number in self._pending - self._abandoned:
            self._out += frame.head(Kind.CANCEL, False, number, 0)
        self._abandoned |= self._pending
        # The server would commit a batch that ends before it is cancelled.
        self.end_message()

    def undo(self) -> None:
        """Rolls back a transaction that may be open. If none is open, the server's error is
        skipped."""
        if self.may_be_inside:
            self.may_be_inside = False
            self._abandoned.add(self.put(Kind.CONTROL, request.control("rollback")))

    # Called by operations.

    def greet(self, hello: bytes) -> Steps[answer.Welcome]:
        number = self.put(Kind.HELLO, hello)
        found = yield from self.receive(number, Kind.WELCOME)
        self.welcome = self.read(answer.welcome, found)
        return self.welcome

    def put(
        self, kind: Kind, body: bytes, *, more: bool = False, ending: bytes | None = None
    ) -> int:
        """Adds a request to the output, and returns its number. If there will be ``more`` of it,
        ``ending`` is a last part for a request that fails."""
        if len(body) > self.welcome.frame:
            raise Error(
                ErrorKind.OUT_OF_RANGE,
                f"the request has {len(body)} bytes, and the server accepts {self.welcome.frame}",
            )
        number = self._next
        # 0 is for messages that answer no request.
        self._next = number + 1 if number < 0xFFFF_FFFF else 1
        self._out += frame.head(kind, more, number, len(body))
        self._out += body
        if kind not in frame.UNANSWERED:
            self._pending.add(number)
        if more:
            self._open_message = (number, kind, ending or b"")
        return number

    def put_part(self, number: int, body: bytes, *, more: bool) -> None:
        """Adds a further part of a batch or value."""
        kind = self._open_message[1] if self._open_message is not None else Kind.BATCH
        self._out += frame.head(kind, more, number, len(body))
        self._out += body
        if not more:
            self._open_message = None

    def end_message(self) -> None:
        """Ends the message of a batch or value that failed."""
        if self._open_message is not None:
            number, _, ending = self._open_message
            self.put_part(number, ending, more=False)

    @property
    def is_sending(self) -> bool:
        """Whether the last part of a batch or value is not sent yet."""
        return self._open_message is not None

    def put_credit(self, number: int, size: int) -> None:
        body = min(size, 0xFFFF_FFFF).to_bytes(4, "little")
        self._out += frame.head(Kind.CREDIT, False, number, 4) + body

    def put_cancel(self, number: int) -> None:
        self._out += frame.head(Kind.CANCEL, False, number, 0)

    def receive(self, number: int, *kinds: Kind) -> Steps[Frame]:
        """Waits for the next frame of a response; raises the error that it contains."""
        while True:
            found = self._next_frame()
            if found is None:
                yield
                continue
            if not found.more:
                self._pending.discard(found.id)
            if found.id in self._abandoned:
                if not found.more:
                    self._abandoned.discard(found.id)
                continue
            if found.id != number:
                raise self._unasked(found)
            if found.kind is Kind.ERROR:
                raise self.read(answer.error, found)
            if found.kind not in kinds:
                raise _garbled(f"a response of the unexpected kind {found.kind.name}")
            return found

    def read(self, read: Callable[[bytes], R], found: Frame) -> R:
        """Reads a frame's body; invalid bytes break the connection."""
        try:
            return read(found.body)
        except Garbled as error:
            raise _garbled(str(error)) from error

    def table(self, table: TableSchema) -> int:
        """The number of a table, which is defined on the server before its first use."""
        described = table.describe()
        number = self._tables.get(described)
        if number is None:
            if len(self._tables) >= self.welcome.handles:
                # The server accepts no more definitions: start again with number 0.
                self._tables.clear()
            number = len(self._tables)
            self.put(Kind.DEFINE, request.define(number, table))
            self._tables[described] = number
        return number

    def tables(self, table: TableSchema, condition: Placed | None) -> tuple[int, Placed | None]:
        """The number of a table, and a condition with the numbers of the tables that it names."""
        if condition is None:
            return self.table(table), None
        # A definition may start again with number 0. All are known the second time.
        numbered(condition, self.table)
        return self.table(table), numbered(condition, self.table)

    def sql(self, text: str, parameters: list[request.Parameter]) -> request.Source:
        """An SQL text as a source. A repeated text is prepared, and then has a number."""
        if text not in self._texts:
            if len(self._texts) >= min(_TEXTS, self.welcome.handles):
                self._texts.clear()
            self._texts[text] = None
            return request.sql(text, parameters)
        number = self._texts[text]
        if number is None:
            number = sum(other is not None for other in self._texts.values())
            self.put(Kind.PREPARE, request.prepare(number, text))
            self._texts[text] = number
        return request.statement(number, parameters)

    def _next_frame(self) -> Frame | None:
        try:
            return self._inbox.next()
        except Garbled as error:
            raise _garbled(str(error)) from error

    def _unasked(self, found: Frame) -> Broken:
        if found.id == 0 and found.kind is Kind.ERROR:
            error = self.read(answer.error, found)
            return Broken(f"the server closed the connection: {error.message}", closed=error)
        return _garbled(f"a response to the request {found.id}, which was not sent")


def _garbled(message: str) -> Broken:
    return Broken(f"the server sent bytes that do not follow the protocol: {message}", garbled=True)
