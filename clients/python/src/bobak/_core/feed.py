"""The change feed: every change of a tracked table, out of the log that its engine writes.

A log is read as any table is, by the description that its table gives it; so this needs no SQL, and
no request of its own. docs/change-capture.md says what is promised of numbers, times and names.
"""

from __future__ import annotations

import datetime as dt
import enum
import functools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from .._errors import Error, ErrorKind
from .._wire import condition as wire
from .._wire.condition import Placed, Select
from .._wire.schema import Column, KeysBy, TableSchema, Type
from . import calls, types
from .calls import Call, Row
from .link import Link, Steps
from .table_plan import Plan

T = TypeVar("T")

#: How long a reader that waits for changes sleeps at first, and at most, in seconds.
NAP = 0.002
LONGEST_NAP = 0.1
#: Changes of one page, unless another number is asked for.
PAGE = 1000
#: Columns of a log before those of its table: the number, the time, who, the verb.
_HEAD = 4
_TRACKED = TableSchema(
    "bobak_tracked",
    (Column("id", Type.I64), Column("name", Type.TEXT), Column("pruned", Type.I64)),
    (0,),
)


class ChangeKind(str, enum.Enum):
    """What happened to a row."""

    INSERT = "insert"
    UPDATE = "update"
    DELETE = "delete"


_KINDS = {1: ChangeKind.INSERT, 2: ChangeKind.UPDATE, 3: ChangeKind.DELETE}


@dataclass(frozen=True)
class Change(Generic[T]):
    """One change of one row of a tracked table."""

    #: Larger than that of every change committed before, over all tracked tables.
    id: int
    #: The table's name.
    table: str
    kind: ChangeKind
    #: When, in UTC; never before the change before it.
    at: dt.datetime
    #: Who did it, where the server knows.
    who: str | None
    #: The record before; None for one that was inserted. A column that was added later is None.
    before: T | None
    #: The record after; None for one that was deleted.
    after: T | None


@dataclass(frozen=True)
class ChangePage(Generic[T]):
    """Some changes, and where to go on."""

    changes: list[Change[T]]
    #: What ``since`` is to be given for the next page.
    next: int


def history(plan: Plan, key: Any) -> Call[list[Change[Any]]]:
    """The changes of the row with a key, in their order."""
    stored = plan.key_of(key)

    def side(after: int) -> Placed:
        pairs = zip(plan.schema.key, stored)
        places = ((_HEAD + 2 * place + after, value) for place, value in pairs)
        return wire.And(tuple(wire.Compare(place, "=", value) for place, value in places))

    return _changes(plan, wire.Or((side(0), side(1))), None)


def page(plans: Sequence[Plan], since: int, limit: int) -> Call[ChangePage[Any]]:
    """At most ``limit`` changes of some tables with numbers above ``since``."""
    limit = max(1, limit)

    def steps(link: Link) -> Steps[ChangePage[Any]]:
        # Who has seen a number can read all smaller ones: so the largest is looked for first, and
        # the logs, which are read one after the other, are read up to it.
        last = since
        for plan in plans:
            found = yield from _last(plan).steps(link)
            last = max(last, found)
        changes: list[Change[Any]] = []
        for plan in plans:
            between = wire.And((wire.Compare(0, ">", since), wire.Compare(0, "<=", last)))
            changes += yield from _changes(plan, between, limit).steps(link)
        # What is taken out is noted in the same moment: nothing that was to be read is missing
        # where nothing is noted now.
        pruned = yield from _pruned(plans).steps(link)
        if pruned > since:
            message = f"changes up to {pruned} were taken out of the feed, and {since} is before "
            raise Error(ErrorKind.NOT_FOUND, message + "that: begin with a copy")
        changes.sort(key=lambda change: change.id)
        if len(changes) >= limit:
            return ChangePage(changes[:limit], changes[limit - 1].id)
        return ChangePage(changes, last)

    return Call(steps, writes=False)


def last_id(plans: Sequence[Plan]) -> Call[int]:
    """The number of the last change of some tables, those taken out included; 0 for none."""

    def steps(link: Link) -> Steps[int]:
        last = yield from _pruned(plans).steps(link)
        for plan in plans:
            found = yield from _last(plan).steps(link)
            last = max(last, found)
        return last

    return Call(steps, writes=False)


def tracked() -> Call[list[str]]:
    """The names of the tables that are tracked; none where the database has no feed."""
    return _tracked().then(lambda found: sorted(name for name, _ in found))


def no_feed() -> Error:
    return Error(ErrorKind.SCHEMA, "no table is tracked: ask for it with track")


def _changes(plan: Plan, condition: Placed, limit: int | None) -> Call[list[Change[Any]]]:
    log = _log(plan.schema)
    select = Select(
        [("column", place) for place in range(len(log.columns))], condition, (), [(0, False)], limit
    )

    def made(found: list[Row]) -> list[Change[Any]]:
        befores = _records(plan, [row for row in found if row[3] != 1], 0)
        afters = _records(plan, [row for row in found if row[3] != 3], 1)
        return [
            Change(
                id=row[0],  # type: ignore[arg-type]
                table=plan.schema.name,
                kind=_kind(row[3]),
                at=types.load_timestamp(row[1]),  # type: ignore[arg-type]
                who=row[2],  # type: ignore[arg-type]
                before=next(befores) if row[3] != 1 else None,
                after=next(afters) if row[3] != 3 else None,
            )
            for row in found
        ]

    return _read(plan, log, select).then(made)


def _records(plan: Plan, found: list[Row], after: int) -> Any:
    return iter(plan.records([row[_HEAD + after :: 2] for row in found]))


def _last(plan: Plan) -> Call[int]:
    log = _log(plan.schema)
    return _read(plan, log, Select([("max", 0)])).then(lambda found: int(found[0][0] or 0))


def _pruned(plans: Sequence[Plan]) -> Call[int]:
    """The largest number that was taken out of some tables' logs."""
    wanted = {plan.schema.name.lower() for plan in plans}
    return _tracked().then(
        lambda found: max((number for name, number in found if name.lower() in wanted), default=0)
    )


def _tracked() -> Call[list[tuple[str, int]]]:
    """The tracked tables, and the largest number that was taken out of the log of each."""
    ask = calls.of_select(_TRACKED, Select([("column", 1), ("column", 2)]))
    call = calls.query(ask, lambda found: found, names=False)

    def steps(link: Link) -> Steps[list[tuple[str, int]]]:
        try:
            _, found = yield from call.steps(link)
        except Error as error:
            if error.kind is ErrorKind.SCHEMA:
                return []
            raise
        return [(str(row[0]), int(row[1] or 0)) for row in found]

    return Call(steps, writes=False)


def _read(plan: Plan, log: TableSchema, select: Select) -> Call[list[Row]]:
    call = calls.query(calls.of_select(log, select), lambda found: found, names=False)

    def steps(link: Link) -> Steps[list[Row]]:
        try:
            _, found = yield from call.steps(link)
        except Error as error:
            if error.kind is not ErrorKind.SCHEMA:
                raise
            message = "the table is not tracked, or its log is not for this user to read: track it"
            raise plan.error(ErrorKind.SCHEMA, message) from error
        return found

    return Call(steps, writes=False)


def _kind(verb: object) -> ChangeKind:
    if isinstance(verb, int) and verb in _KINDS:
        return _KINDS[verb]
    raise Error(ErrorKind.CORRUPT, f"a change of kind {verb} is in the log: there are 1 to 3")


@functools.lru_cache(maxsize=256)
def _log(table: TableSchema) -> TableSchema:
    """The log of a table, as the engine has made it."""
    columns = [
        Column("seq", Type.I64),
        Column("at", Type.I64),
        Column("who", Type.TEXT, nullable=True),
        Column("verb", Type.I64),
    ]
    for column in table.columns:
        columns += [
            Column(f"{when}_{column.name}", column.type, nullable=True, as_text=column.as_text)
            for when in ("old", "new")
        ]
    return TableSchema(f"bobak_log_{table.name}", tuple(columns), (0,), KeysBy.USER)
