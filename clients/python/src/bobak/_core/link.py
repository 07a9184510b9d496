"""One connection as bytes: requests go out, answers come in, tables and texts have numbers.

Nothing here does I/O. An operation is a generator; each of its yields means: send what waits, and
feed what comes. So one text serves the face that blocks and the one that doesn't.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Generator
from typing import TypeVar

from .._errors import Error, ErrorKind
from .._wire import answer, frame, request
from .._wire.code import Garbled, Stored
from .._wire.frame import Frame, Kind
from .._wire.schema import TableSchema
from .broken import Broken, wrong_door

R = TypeVar("R")
#: An operation under way.
Steps = Generator[None, None, R]

#: Texts that are remembered, to give those a number that come again.
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
        #: Requests whose answers have not come whole.
        self._pending: set[int] = set()
        #: Those among them that nobody wants any more.
        self._abandoned: set[int] = set()
        self._is_broken = False
        #: Whether a transaction is open, or may be: its beginning or its end was given up.
        self.may_be_inside = False
        #: The batch whose last part was not sent.
        self._open_batch: int | None = None
        self._tables: dict[bytes, int] = {}
        self._texts: dict[str, int | None] = {}

    # What the faces do.

    def take(self) -> bytes:
        """What is to be sent now."""
        out = bytes(self._out)
        self._out.clear()
        return out

    def feed(self, data: bytes | memoryview) -> None:
        """Takes in what has come."""
        self._inbox.feed(data)

    @property
    def is_idle(self) -> bool:
        """Whether it works, nothing is under way, and nothing has come unasked."""
        busy = self._pending or self._out or self._is_broken
        return not busy and self._inbox.is_empty

    @property
    def is_quiet(self) -> bool:
        """As :attr:`is_idle`, but for answers that were given up, and will be passed over."""
        busy = self._pending - self._abandoned or self._out or self._is_broken
        return not busy and (bool(self._pending) or self._inbox.is_empty)

    def explain(self, broken: Broken) -> Broken:
        """Why a greeting failed: what has answered it may speak another protocol."""
        first = self._inbox.first
        if frame.is_tls(first):
            return wrong_door("the server speaks TLS there: say tls=on")
        if first.startswith(b"HTTP/"):
            return wrong_door(
                "an HTTP server answers there: Bobak's own protocol has another door than HTTP"
            )
        return broken

    def break_off(self) -> None:
        """Notes that the connection is of no use any more."""
        self._is_broken = True

    def abandon(self) -> None:
        """Gives up what is under way: its answers are passed over when they come."""
        if self._open_batch is not None:
            self.end_batch()
        for number in self._pending - self._abandoned:
            self._out += frame.head(Kind.CANCEL, False, number, 0)
        self._abandoned |= self._pending

    def undo(self) -> None:
        """Ends a transaction that may be open; where none is the server's error is passed over."""
        if self.may_be_inside:
            self.may_be_inside = False
            self._abandoned.add(self.put(Kind.CONTROL, request.control("rollback")))

    # What operations do.

    def greet(self, hello: bytes) -> Steps[answer.Welcome]:
        number = self.put(Kind.HELLO, hello)
        found = yield from self.receive(number, Kind.WELCOME)
        self.welcome = self.read(answer.welcome, found)
        return self.welcome

    def put(self, kind: Kind, body: bytes, *, more: bool = False) -> int:
        """Adds a request to those that are sent next; gives its number."""
        if len(body) > self.welcome.frame:
            raise Error(
                ErrorKind.OUT_OF_RANGE,
                f"a request of {len(body)} bytes: the server takes {self.welcome.frame}",
            )
        number = self._next
        # 0 is for what the server says unasked.
        self._next = number + 1 if number < 0xFFFF_FFFF else 1
        self._out += frame.head(kind, more, number, len(body))
        self._out += body
        if kind not in frame.UNANSWERED:
            self._pending.add(number)
        if more:
            self._open_batch = number
        return number

    def put_part(self, number: int, body: bytes, *, more: bool) -> None:
        """Adds a further part of a batch."""
        self._out += frame.head(Kind.BATCH, more, number, len(body))
        self._out += body
        if not more:
            self._open_batch = None

    def end_batch(self) -> None:
        """Says that no part of a batch that failed follows."""
        if self._open_batch is not None:
            self.put_part(self._open_batch, request.batch(True, ()), more=False)

    def put_credit(self, number: int, size: int) -> None:
        body = min(size, 0xFFFF_FFFF).to_bytes(4, "little")
        self._out += frame.head(Kind.CREDIT, False, number, 4) + body

    def put_cancel(self, number: int) -> None:
        self._out += frame.head(Kind.CANCEL, False, number, 0)

    def receive(self, number: int, *kinds: Kind) -> Steps[Frame]:
        """Waits for the next frame that answers this request; an error that it says is raised."""
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
                raise _garbled(f"an answer of the kind {found.kind.name} where another was to come")
            return found

    def read(self, read: Callable[[bytes], R], found: Frame) -> R:
        """Reads a frame's body, the connection being broken where that can't be done."""
        try:
            return read(found.body)
        except Garbled as error:
            raise _garbled(str(error)) from error

    def table(self, table: TableSchema) -> int:
        """The number of a table; told to the server before its first use."""
        described = table.describe()
        number = self._tables.get(described)
        if number is None:
            if len(self._tables) >= self.welcome.handles:
                # A program that makes so many tables: the numbers begin anew.
                self._tables.clear()
            number = len(self._tables)
            self.put(Kind.DEFINE, request.define(number, table))
            self._tables[described] = number
        return number

    def sql(self, text: str, parameters: list[request.Parameter]) -> request.Source:
        """An SQL text as it is sent: one that comes again has a number."""
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
        return _garbled(f"an answer to a request {found.id} that was not made")


def _garbled(message: str) -> Broken:
    return Broken(f"the server sent what the protocol does not know: {message}", garbled=True)
