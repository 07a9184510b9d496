"""The changes of tracked tables, from the logs that the engine writes.

A log is read like any table, so this needs neither SQL nor a special request. docs/change-
capture.md says what numbers, times and actors mean.
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

#: Seconds between two reads without changes: at first, and at most.
POLL_INTERVAL = 0.002
LONGEST_INTERVAL = 0.1
#: The default number of changes in a page.
PAGE = 1000
#: Columns of a log before those of its table: number, time, actor, verb.
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

    #: Larger than that of every change committed before, in any tracked table.
    id: int
    #: The table's name.
    table: str
    kind: ChangeKind
    #: The time of the change, in UTC; it never decreases.
    at: dt.datetime
    #: Who made the change, if the server knows.
    actor: str | None
    #: The record before; None for an insert. A column that was added later is None.
    before: T | None
    #: The record after; None for a delete.
    after: T | None


@dataclass(frozen=True)
class ChangePage(Generic[T]):
    """Some changes, and where to continue."""

    changes: list[Change[T]]
    #: The value of ``since`` for the next page.
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
        # A reader that sees a number can read all smaller ones. So the largest number is read
        # first, and then each log up to it.
        last = since
        for plan in plans:
            found = yield from _last(plan).steps(link)
            last = max(last, found)
        changes: list[Change[Any]] = []
        for plan in plans:
            between = wire.And((wire.Compare(0, ">", since), wire.Compare(0, "<=", last)))
            changes += yield from _changes(plan, between, limit).steps(link)
        # Pruning records its number in the same transaction. If it is not recorded now, nothing was
        # missing from what was read.
        pruned = yield from _pruned(plans).steps(link)
        if pruned > since:
            message = f"changes up to {pruned} were pruned, and {since} is before that: begin with "
            raise Error(ErrorKind.NOT_FOUND, message + "a copy")
        changes.sort(key=lambda change: change.id)
        if len(changes) >= limit:
            return ChangePage(changes[:limit], changes[limit - 1].id)
        return ChangePage(changes, last)

    return Call(steps, writes=False)


def last_id(plans: Sequence[Plan]) -> Call[int]:
    """The number of the last change of some tables, also if it was pruned; 0 if there is none."""

    def steps(link: Link) -> Steps[int]:
        last = yield from _pruned(plans).steps(link)
        for plan in plans:
            found = yield from _last(plan).steps(link)
            last = max(last, found)
        return last

    return Call(steps, writes=False)


def tracked() -> Call[list[str]]:
    """The names of the tracked tables."""
    return _tracked().then(lambda found: sorted(name for name, _ in found))


def no_feed() -> Error:
    return Error(ErrorKind.SCHEMA, "no table is tracked: use track")


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
                actor=row[2],  # type: ignore[arg-type]
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
    """The largest number that was pruned from the logs of some tables."""
    wanted = {plan.schema.name.lower() for plan in plans}
    return _tracked().then(
        lambda found: max((number for name, number in found if name.lower() in wanted), default=0)
    )


def _tracked() -> Call[list[tuple[str, int]]]:
    """The tracked tables, and the largest number that was pruned from each log."""
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
            message = "the table is not tracked, or this user may not read its log: use track"
            raise plan.error(ErrorKind.SCHEMA, message) from error
        return found

    return Call(steps, writes=False)


def _kind(verb: object) -> ChangeKind:
    if isinstance(verb, int) and verb in _KINDS:
        return _KINDS[verb]
    raise Error(ErrorKind.CORRUPT, f"the log has a change of kind {verb}; kinds are 1 to 3")


@functools.lru_cache(maxsize=256)
def _log(table: TableSchema) -> TableSchema:
    """The log of a table, as the engine creates it."""
    columns = [
        Column("seq", Type.I64),
        Column("at", Type.I64),
        Column("who", Type.TEXT, nullable=True),
        Column("verb", Type.I64),
    ]
    for column in table.columns:
        columns += [
            Column(
                f"{when}_{column.name}",
                column.type,
                nullable=True,
                as_text=column.as_text,
                length=column.length,
            )
            for when in ("old", "new")
        ]
    return TableSchema(f"bobak_log_{table.name}", tuple(columns), (0,), KeysBy.USER)
