"""Batches: many rows as one, sent in parts while the outcomes of those before come in."""

from __future__ import annotations

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

#: Bytes of rows in one part, about.
PART = 1 << 19


@dataclass
class Report:
    """What became of a batch's rows."""

    #: How many rows there were.
    rows: int = 0
    inserted: int = 0
    #: Rows updated, by upserts too, or deleted.
    changed: int = 0
    ignored: int = 0
    #: Of the rows that were left out, each with its row number.
    errors: list[Error] = field(default_factory=list)
    _groups: list[Group] = field(default_factory=list, repr=False)
    #: Keys that this end made, by row.
    _made: dict[int, object] = field(default_factory=dict, repr=False)

    def keys(self) -> Iterator[object]:
        """For each row the key that it was given, by the engine or by this client; else None."""
        row = 0
        for tag, rows, value in self._groups:
            for offset in range(rows):
                if tag == answer.INTEGER_KEYS and isinstance(value, int):
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
            elif group.tag == answer.IGNORED:
                self.ignored += group.rows
            elif isinstance(group.value, Error):
                self.errors.append(group.value)
        self._groups += groups
        self.rows += taken
        return taken


@dataclass
class _Run:
    """Rows of one table and verb that follow each other."""

    table: TableSchema
    verb: str
    sets: bytes
    rows: bytearray


class BatchWriter:
    """Collects rows; once a part is full it is to be sent by ``send``, the rest by ``finish``."""

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
        #: Parts without their outcomes: the rows up to their end, and their bytes.
        self._under_way: deque[tuple[int, int]] = deque()
        self._report = Report()
        self._is_over = False

    def add(self, table: TableSchema, verb: str, sets: bytes, row: bytes) -> bool:
        """Adds a framed row; whether a part is full."""
        if len(row) > self._longest:
            message = f"the row is larger than the {self._longest} bytes that the server takes"
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
        """Says of an error that it is of the row that was to be added next."""
        if error.row is None:
            error.row = self._added

    def note_key(self, key: object) -> None:
        """Says which key this end has made for the row that is added next."""
        self._report._made[self._added] = key

    @property
    def is_empty(self) -> bool:
        """Whether nothing was added since the last part."""
        return not self._runs

    def send(self, link: Link, *, more: bool = True) -> Steps[None]:
        """Sends what was collected as a part."""
        if self._is_over:
            raise misuse("the batch has failed, and is undone")
        heads = [
            (request.run_head(link.table(run.table), run.verb, run.sets), run.rows)
            for run in self._runs
        ]
        body = request.batch(self._stops, heads)
        self._runs, self._size = [], 0
        # The server takes no more than its window while nobody reads what it says.
        while self._under_way and self._waiting() + len(body) > link.welcome.window:
            yield from self._receive(link)
        self._sent = self._added
        self._under_way.append((self._sent, len(body)))
        if self._number is None:
            self._number = link.put(Kind.BATCH, body, more=more)
        else:
            link.put_part(self._number, body, more=more)

    def finish(self, link: Link) -> Steps[Report]:
        """Sends the rest, and waits for all outcomes."""
        if self._number is None and not self._runs:
            return self._report
        yield from self.send(link, more=False)
        while (yield from self._receive(link)):
            pass
        self._is_over = True
        return self._report

    def abort(self, link: Link) -> Steps[None]:
        """Undoes what was sent."""
        if self._number is None or self._is_over:
            return
        link.put_cancel(self._number)
        link.end_batch()
        try:
            while (yield from self._receive(link)):
                pass
        except Error:
            pass

    def _waiting(self) -> int:
        return sum(size for _, size in self._under_way)

    def _receive(self, link: Link) -> Steps[bool]:
        """Takes the next outcomes in; whether more follow."""
        assert self._number is not None
        try:
            found = yield from link.receive(self._number, Kind.OUTCOMES)
        except Error:
            self._is_over = True
            link.end_batch()
            raise
        self._answered += self._report._take(link.read(answer.outcomes, found))
        if self._answered > self._sent or (not found.more and self._answered != self._sent):
            raise Broken("the server sent another number of outcomes than of rows", garbled=True)
        while self._under_way and self._under_way[0][0] <= self._answered:
            self._under_way.popleft()
        return found.more
