"""Batches: many rows in one transaction, sent in parts without waiting for the outcomes."""

from __future__ import annotations

import uuid
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field

from .._errors import Error, ErrorKind
from .._wire import answer, request
from .._wire.answer import Group
from .._wire.frame import Kind
from .._wire.schema import TableSchema
from .broken import Broken, misuse
from .link import Link, Steps

#: The approximate number of bytes of rows in one part.
PART = 1 << 19


@dataclass
class Report:
    """The result of a batch."""

    #: The number of rows.
    rows: int = 0
    inserted: int = 0
    #: Rows updated, by upserts too, or deleted.
    changed: int = 0
    ignored: int = 0
    #: An error for each skipped row, with its row number.
    errors: list[Error] = field(default_factory=list)
    _groups: list[Group] = field(default_factory=list, repr=False)
    #: Keys that this client generated, by row.
    _made: dict[int, object] = field(default_factory=dict, repr=False)

    def keys(self) -> Iterator[object]:
        """For each row the key that the engine or this client generated, or that of the row that an
        ``upsert_on`` updated, or None."""
        row = 0
        for tag, rows, value in self._groups:
            for offset in range(rows):
                if tag == answer.UPDATED_INTEGER:
                    yield value
                elif tag == answer.UPDATED_KEY and isinstance(value, bytes):
                    yield uuid.UUID(bytes=value)
                elif tag == answer.INTEGER_KEYS and isinstance(value, int):
                    yield value + offset
                elif tag == answer.INSERTED:
                    yield self._made.get(row)
                else:
                    yield None
                row += 1

    def _take(self, groups: list[Group]) -> int:
        taken = 0
        for group in groups:
            taken += group.rows
            if group.tag in (answer.INTEGER_KEYS, answer.INSERTED, answer.KEY):
                self.inserted += group.rows
            elif group.tag == answer.CHANGED and isinstance(group.value, int):
                self.changed += group.rows * group.value
            elif group.tag in (answer.UPDATED_INTEGER, answer.UPDATED_KEY):
                self.changed += group.rows
            elif group.tag == answer.IGNORED:
                self.ignored += group.rows
            elif isinstance(group.value, Error):
                self.errors.append(group.value)
        self._groups += groups
        self.rows += taken
        return taken


@dataclass
class _Run:
    """Consecutive rows with the same table, verb and columns."""

    table: TableSchema
    verb: str
    sets: bytes
    rows: bytearray


class BatchWriter:
    """Collects rows. The caller sends full parts with ``send``, and the rest with ``finish``."""

    def __init__(self, link: Link, *, stops: bool) -> None:
        self._stops = stops
        self._full = min(PART, link.welcome.frame // 2)
        self._longest = link.welcome.row
        self._runs: list[_Run] = []
        self._size = 0
        self._added = 0
        self._sent = 0
        self._answered = 0
        self._number: int | None = None
        #: Parts without outcomes: the number of rows up to their end, and their bytes.
        self._under_way: deque[tuple[int, int]] = deque()
        self._report = Report()
        self._is_over = False

    def add(self, table: TableSchema, verb: str, sets: bytes, row: bytes) -> bool:
        """Adds a framed row; returns whether a part is full."""
        if len(row) > self._longest:
            message = f"the row is larger than the {self._longest} bytes that the server accepts"
            raise Error(ErrorKind.OUT_OF_RANGE, message, table=table.name, row=self._added)
        runs = self._runs
        last = runs[-1] if runs else None
        if last is None or last.table is not table or last.verb != verb or last.sets != sets:
            last = _Run(table, verb, sets, bytearray())
            runs.append(last)
        last.rows += row
        self._size += len(row)
        self._added += 1
        return self._size >= self._full

    def name_row(self, error: Error) -> None:
        """Sets the row number of an error of the next row."""
        if error.row is None:
            error.row = self._added

    def note_key(self, key: object) -> None:
        """Stores the key that this client has generated for the next row."""
        self._report._made[self._added] = key

    @property
    def is_empty(self) -> bool:
        """Whether nothing was added since the last part."""
        return not self._runs

    def send(self, link: Link, *, more: bool = True) -> Steps[None]:
        """Sends the collected rows as a part."""
        if self._is_over:
            raise misuse("the batch has failed and was rolled back")
        heads = [
            (request.run_head(link.table(run.table), run.verb, run.sets), run.rows)
            for run in self._runs
        ]
        body = request.batch(self._stops, heads)
        self._runs, self._size = [], 0
        # While its responses are not read, the server reads no more than its window.
        while self._under_way and self._waiting() + len(body) > link.welcome.window:
            yield from self._receive(link)
        self._sent = self._added
        self._under_way.append((self._sent, len(body)))
        if self._number is None:
            ending = request.batch(True, ())
            self._number = link.put(Kind.BATCH, body, more=more, ending=ending)
        else:
            link.put_part(self._number, body, more=more)

    def finish(self, link: Link) -> Steps[Report]:
        """Sends the remaining rows, and waits for all outcomes."""
        if self._number is None and not self._runs:
            return self._report
        yield from self.send(link, more=False)
        while (yield from self._receive(link)):
            pass
        self._is_over = True
        return self._report

    def abort(self, link: Link) -> Steps[None]:
        """Undoes the batch."""
        if self._number is None or self._is_over:
            return
        link.put_cancel(self._number)
        link.end_message()
        try:
            while (yield from self._receive(link)):
                pass
        except Error:
            pass

    def _waiting(self) -> int:
        return sum(size for _, size in self._under_way)

    def _receive(self, link: Link) -> Steps[bool]:
        """Reads the next outcomes; returns whether more follow."""
        assert self._number is not None
        try:
            found = yield from link.receive(self._number, Kind.OUTCOMES)
        except Error:
            self._is_over = True
            link.end_message()
            raise
        self._answered += self._report._take(link.read(answer.outcomes, found))
        if self._answered > self._sent or (not found.more and self._answered != self._sent):
            raise Broken("the number of outcomes is not the number of rows", garbled=True)
        while self._under_way and self._under_way[0][0] <= self._answered:
            self._under_way.popleft()
        return found.more
