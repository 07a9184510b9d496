"""Operations: their steps, and whether they write."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Generic, TypeVar

from .._errors import Error, ErrorKind
from .._wire import answer, request
from .._wire import row as rows
from .._wire.answer import Group, ResultColumn
from .._wire.code import Stored
from .._wire.condition import Assign, Placed, Select
from .._wire.frame import Frame, Kind
from .._wire.schema import TableSchema
from .broken import Broken
from .columns import OtherValues
from .link import Link, Steps

R = TypeVar("R")
S = TypeVar("S")
Row = list[Stored]
#: Encodes a source once the connection is known.
Ask = Callable[[Link], request.Source]

#: Bytes of rows that the server may send before the client grants more.
WINDOW = 1 << 20
#: The server sends rows as blocks to clients that request them.
_COLUMN_BLOCKS = 1 << 25
#: The number of pipelined requests, and their bytes.
AHEAD = 256
AHEAD_BYTES = 1 << 20


@dataclass(frozen=True)
class Call(Generic[R]):
    """An operation: ``steps`` may be called again with a new connection."""

    steps: Callable[[Link], Steps[R]]
    #: Whether it writes: then it is never repeated automatically.
    writes: bool

    def then(self, make: Callable[[R], S]) -> Call[S]:
        """The same operation with a converted result."""

        def steps(link: Link) -> Steps[S]:
            return make((yield from self.steps(link)))

        return Call(steps, self.writes)


@dataclass(frozen=True)
class Cursor:
    """An open query, on one connection."""

    link: int
    number: int
    columns: list[ResultColumn]


def checked(link: Link, capability: int, what: str) -> None:
    """Checks that the server has a capability."""
    if not link.welcome.capabilities & capability:
        message = f"the server, {link.welcome.server} with {link.welcome.engine}, has no {what}"
        raise Error(ErrorKind.UNSUPPORTED, message)


def done(kind: Kind, body: bytes, *, writes: bool) -> Call[None]:
    """A request whose response is ``Ok``."""

    def steps(link: Link) -> Steps[None]:
        yield from link.receive(link.put(kind, body), Kind.OK)

    return Call(steps, writes)


def abandon() -> Call[None]:
    """Cancels the outstanding requests without waiting: their responses will be skipped."""

    def steps(link: Link) -> Steps[None]:
        link.abandon()
        yield from ()

    return Call(steps, writes=True)


def control(step: str, name: str | None = None) -> Call[None]:
    call = done(Kind.CONTROL, request.control(step, name), writes=step != "begin")
    if step not in ("begin", "commit", "rollback"):
        return call

    def steps(link: Link) -> Steps[None]:
        # Stays set if this is cancelled.
        link.may_be_inside = True
        try:
            yield from call.steps(link)
        except Error:
            link.may_be_inside = False
            raise
        link.may_be_inside = step == "begin"

    return Call(steps, call.writes)


def write(table: TableSchema, verb: str, sets: bytes, row: bytes) -> Call[Group]:
    """A write of one framed row."""

    def steps(link: Link) -> Steps[Group]:
        body = request.run_head(link.table(table), verb, sets) + row
        found = yield from link.receive(link.put(Kind.WRITE, body), Kind.OUTCOMES)
        groups = link.read(answer.outcomes, found)
        if len(groups) != 1 or groups[0].rows != 1:
            raise Broken("the server did not send one outcome", garbled=True)
        if isinstance(groups[0].value, Error):
            raise groups[0].value
        return groups[0]

    return Call(steps, writes=True)


def change(
    table: TableSchema, condition: Placed | None, assign: Sequence[Assign] | None
) -> Call[int]:
    def steps(link: Link) -> Steps[int]:
        number, where = link.tables(table, condition)
        body = request.change(number, where, assign)
        found = yield from link.receive(link.put(Kind.CHANGE, body), Kind.COUNT)
        return link.read(answer.count, found)

    return Call(steps, writes=True)


def get_many(table: TableSchema, keys: Sequence[Sequence[Stored]]) -> Call[list[Row | None]]:
    """Rows by their keys, with pipelined requests."""

    def steps(link: Link) -> Steps[list[Row | None]]:
        number = link.table(table)
        results: list[Row | None] = []
        failed: Error | None = None
        ahead = max(1, min(AHEAD, link.welcome.requests // 2))
        for start in range(0, len(keys), ahead):
            bodies = [request.get(number, key) for key in keys[start : start + ahead]]
            # Reads all responses, also after a failure, so that the connection stays usable.
            for request_id in [link.put(Kind.GET, body) for body in bodies]:
                try:
                    found = yield from link.receive(request_id, Kind.ROWS)
                    decoded = link.read(rows.decode, found)
                    results.append(decoded[0] if decoded else None)
                except Error as error:
                    failed = failed or error
            if failed is not None:
                raise failed
        return results

    return Call(steps, writes=False)


def get(table: TableSchema, key: Sequence[Stored]) -> Call[Row | None]:
    def steps(link: Link) -> Steps[Row | None]:
        body = request.get(link.table(table), key)
        found = yield from link.receive(link.put(Kind.GET, body), Kind.ROWS)
        decoded = link.read(rows.decode, found)
        return decoded[0] if decoded else None

    return Call(steps, writes=False)


def of_select(table: TableSchema, select: Select) -> Ask:
    def ask(link: Link) -> request.Source:
        number, where = link.tables(table, select.condition)
        return request.select(number, replace(select, condition=where))

    return ask


def of_sql(text: str, parameters: list[request.Parameter]) -> Ask:
    return lambda link: link.sql(text, parameters)


def query(
    ask: Ask, make: Callable[[list[Row]], list[R]], *, names: bool
) -> Call[tuple[list[ResultColumn], list[R]]]:
    """All rows of a query, converted frame by frame. SQL has ``names``."""
    return _parts(ask, rows.decode, make, Kind.ROWS, names=names)


def _parts(
    ask: Ask,
    decode: Callable[[bytes], list[S]],
    make: Callable[[list[S]], list[R]],
    kind: Kind,
    *,
    names: bool,
) -> Call[tuple[list[ResultColumn], list[R]]]:
    def steps(link: Link) -> Steps[tuple[list[ResultColumn], list[R]]]:
        asked = request.query(WINDOW, names, ask(link), blocks=kind is Kind.BLOCK)
        number = link.put(Kind.QUERY, asked)
        columns: list[ResultColumn] = []
        if names:
            found = yield from link.receive(number, Kind.COLUMNS)
            columns = link.read(answer.columns, found)[1]
        results: list[R] = []
        taken, more = 0, True
        while more:
            found = yield from link.receive(number, kind)
            more = found.more
            try:
                results += make(link.read(decode, found))
            except (Error, OtherValues):
                if more:
                    link.put_cancel(number)
                    yield from _drain(link, number, kind)
                raise
            taken += len(found.body)
            if more and taken >= WINDOW // 2:
                link.put_credit(number, taken)
                taken = 0
        return columns, results

    # SQL may write: if the connection breaks, it is unknown whether it was committed.
    return Call(steps, writes=names)


def blocks(ask: Ask, decode: Callable[[bytes], R]) -> Call[list[R] | None]:
    """All blocks of a query; ``None`` if the server sends only rows."""

    def decoded(body: bytes) -> list[R]:
        return [decode(body)]

    def same(found: list[R]) -> list[R]:
        return found

    call = _parts(ask, decoded, same, Kind.BLOCK, names=False)

    def steps(link: Link) -> Steps[list[R] | None]:
        if not link.welcome.capabilities & _COLUMN_BLOCKS:
            return None
        return (yield from call.steps(link))[1]

    return Call(steps, writes=False)


def _drain(link: Link, number: int, kind: Kind) -> Steps[None]:
    """Reads a cancelled response to its end."""
    try:
        while (yield from link.receive(number, kind)).more:
            pass
    except Error as error:
        if error.kind is not ErrorKind.INTERRUPTED:
            raise


def open_cursor(ask: Ask, *, writes: bool) -> Call[Cursor]:
    def steps(link: Link) -> Steps[Cursor]:
        found = yield from link.receive(link.put(Kind.OPEN, ask(link)), Kind.COLUMNS)
        number, columns = link.read(answer.columns, found)
        return Cursor(link.number, number, columns)

    return Call(steps, writes)


def fetch(cursor: Cursor) -> Call[list[Row]]:
    """The next rows; none at the end."""

    def steps(link: Link) -> Steps[list[Row]]:
        if link.number != cursor.link:
            raise Error(
                ErrorKind.UNREACHABLE, "the connection broke, and the query is lost: run it again"
            )
        number = link.put(Kind.FETCH, cursor.number.to_bytes(8, "little"))
        found: Frame = yield from link.receive(number, Kind.ROWS)
        return link.read(rows.decode, found)

    return Call(steps, writes=False)


def close_cursor(cursor: Cursor) -> Call[None]:
    def steps(link: Link) -> Steps[None]:
        if link.number == cursor.link:
            link.put(Kind.CLOSE, cursor.number.to_bytes(8, "little"))
        yield from ()

    return Call(steps, writes=False)


def execute_many(statements: Iterable[tuple[str, list[request.Parameter]]]) -> Call[int]:
    """Runs pipelined statements, and returns the number of changed rows.

    Raises the first error, with the statement's number. Others may have run, so this needs a
    transaction.
    """

    def steps(link: Link) -> Steps[int]:
        total, failed = 0, None
        under_way: list[tuple[int, int, int]] = []
        waits = 0
        ahead = max(1, min(AHEAD, link.welcome.requests // 2))
        limit = min(AHEAD_BYTES, link.welcome.window)

        def answered() -> Steps[int]:
            nonlocal failed, waits
            row, number, size = under_way.pop(0)
            waits -= size
            try:
                found = yield from link.receive(number, Kind.COUNT)
                return link.read(answer.count, found)
            except Error as error:
                if failed is None:
                    failed = error
                    if error.row is None:
                        error.row = row
                return 0

        for row, (text, parameters) in enumerate(statements):
            source = link.sql(text, parameters)
            while under_way and (len(under_way) >= ahead or waits + len(source) > limit):
                total += yield from answered()
            if failed is not None:
                break
            under_way.append((row, link.put(Kind.EXECUTE, source), len(source)))
            waits += len(source)
        while under_way:
            total += yield from answered()
        if failed is not None:
            raise failed
        return total

    return Call(steps, writes=True)


def execute(text: str, parameters: list[request.Parameter]) -> Call[int]:
    def steps(link: Link) -> Steps[int]:
        number = link.put(Kind.EXECUTE, link.sql(text, parameters))
        found = yield from link.receive(number, Kind.COUNT)
        return link.read(answer.count, found)

    return Call(steps, writes=True)


def tables() -> Call[list[TableSchema]]:
    def steps(link: Link) -> Steps[list[TableSchema]]:
        found = yield from link.receive(link.put(Kind.TABLES, b""), Kind.SCHEMAS)
        return link.read(answer.schemas, found)

    return Call(steps, writes=False)
