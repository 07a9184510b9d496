"""The operations on one table, as calls."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterable, Sequence
from dataclasses import is_dataclass, replace
from typing import Any

from .._errors import Error, ErrorKind
from .._wire import answer, request
from .._wire import condition as wire
from .._wire.answer import Group
from .._wire.code import Stored
from .._wire.condition import Placed
from .._wire.frame import Kind
from .._wire.schema import KeysBy, TableSchema, Type
from . import calls, columns, plans
from .batch import BatchWriter
from .calls import Call, Row
from .link import Link, Steps
from .query import Expression, Query, StoredIn, assignments
from .reading import read_as
from .record import Shape, schema_of, shape_of
from .table_plan import Plan

_NO_COLUMNS = request.columns(())
ON_CONFLICT = {
    "fail": "insert",
    "ignore": "insert_or_ignore",
    "replace": "insert_or_replace",
    "update": "upsert",
}


def plan_for(record: Any, known: dict[str, TableSchema]) -> Plan | None:
    """The plan for a dataclass, or for the table with a name; None if the table is not
    ``known``."""
    shape: Shape | None = None if isinstance(record, str) else shape_of(record)
    name = record if shape is None else shape.table
    schema = known.get(name.lower())
    return None if schema is None else Plan(schema, shape)


class Handle:
    """The plan of a table, which a table and its selections share. It is replaced if another
    program has changed the table."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan

    def look_again(self, known: dict[str, TableSchema]) -> bool:
        """Takes the current description; returns whether it is another one."""
        schema = known.get(self.plan.schema.name.lower())
        if schema is None or schema.describe() == self.plan.schema.describe():
            return False
        self.plan = Plan(schema, self.plan.shape)
        return True


def table_name(record: Any) -> str:
    return record if isinstance(record, str) else shape_of(record).table


def no_table(record: Any) -> Error:
    name = table_name(record)
    cure = "" if isinstance(record, str) else f": create it with create({record.__name__})"
    return Error(ErrorKind.SCHEMA, f"the table does not exist{cure}", table=name)


#: The table that lists the migrations of a database.
MIGRATIONS = "bobak_migrations"


def no_migrations(last: str) -> Error:
    """The error of a database whose table of migrations this user does not see."""
    message = f"the database is older than the program: migrate it to {last} first; or this user "
    message += "may not read the table of its migrations"
    return Error(ErrorKind.SCHEMA, message, table=MIGRATIONS)


def verify_migrations(rows: Iterable[dict[str, Any]], last: str) -> None:
    """Rejects a database whose last migration is another one."""
    # A finished migration has -1 as its step; the row without a name is a lock.
    steps = {row["name"]: row["step"] for row in rows if row["name"]}
    newer = sorted(name for name in steps if name > last)
    if newer:
        message = f"the database is newer than the program: it has migration {newer[-1]}"
        raise Error(ErrorKind.CONFLICT, message, table=MIGRATIONS)
    if steps.get(last) != -1:
        message = f"the database is older than the program: migrate it to {last} first"
        raise Error(ErrorKind.SCHEMA, message, table=MIGRATIONS)


def creation(classes: Iterable[Any], known: dict[str, TableSchema]) -> Call[None] | None:
    """Creates the missing tables; None if none is missing."""
    schemas = [schema_of(cls) for cls in classes]
    missing = [schema for schema in schemas if schema.name.lower() not in known]
    if not missing:
        return None
    changes = [("create_table", schema, 0) for schema in missing]
    return calls.done(Kind.ALTER, request.alter(changes), writes=True)


def tracking(what: str, schema: TableSchema, *, history: bool) -> Call[None]:
    changes = [(what, schema, int(history))]
    return calls.done(Kind.ALTER, request.alter(changes), writes=True)


def insert(plan: Plan, record: Any, verb: str, on: Sequence[str] = ()) -> Call[Any]:
    """Returns the key, or None if the row was ignored, and sets the record's key and stamps."""
    values = plan.new_row(record)

    def key_of(group: Group) -> Any:
        if group.tag in (answer.INTEGER_KEYS, answer.UPDATED_INTEGER):
            return group.value
        if group.tag in (answer.KEY, answer.UPDATED_KEY) and isinstance(group.value, bytes):
            return uuid.UUID(bytes=group.value)
        return plan.key_in(values)

    def inserted(group: Group) -> Any:
        if group.tag == answer.IGNORED:
            return None
        key = key_of(group)
        plan.set_inserted(record, values, key, verb)
        return key

    sets = _sets_of(plan, verb, on)
    return calls.write(plan.schema, verb, sets, plan.encode(values)).then(inserted)


def update(plan: Plan, record: Any, fields: Sequence[str] | None) -> Call[None]:
    """Sets the record's modification time, and raises its version."""
    values = plan.changed_row(record)
    sets = plan.updated(record) if fields is None else plan.sets(fields)
    call = calls.write(plan.schema, "update", sets, plan.encode(values))
    return call.then(lambda _: plan.set_updated(record, values))


def delete(plan: Plan, key: Any) -> Call[bool]:
    call = calls.write(plan.schema, "delete", _NO_COLUMNS, plan.delete_row(key))
    return call.then(lambda group: group.value == 1)


def delete_record(plan: Plan, record: Any) -> Call[None]:
    """Deletes the row with a record's key if its version is the record's."""
    key, version = plan.key_values(record), plan.version_of(record)
    parts: list[Placed] = [
        wire.Compare(place, "=", value) for place, value in zip(plan.schema.key, key)
    ]
    if plan.version is not None and version is not None:
        parts.append(wire.Compare(plan.version, "=", version))
    deletion = calls.change(plan.schema, wire.And(tuple(parts)), None)

    def steps(link: Link) -> Steps[None]:
        if (yield from deletion.steps(link)) > 0:
            return
        if (yield from calls.get(plan.schema, key).steps(link)) is None:
            raise plan.error(ErrorKind.NOT_FOUND, "no row has the key of this record")
        message = f"the row was changed since it was read: its version is not {version!r}"
        raise plan.error(ErrorKind.CONFLICT, message)

    return Call(steps, writes=True)


def get(plan: Plan, key: Any) -> Call[Any]:
    call = calls.get(plan.schema, plan.key_of(key))
    return call.then(lambda row: None if row is None else plan.records([row])[0])


def require(plan: Plan, key: Any) -> Call[Any]:
    def found(record: Any) -> Any:
        if record is None:
            raise plan.error(ErrorKind.NOT_FOUND, f"no row has the key {key!r}")
        return record

    return get(plan, key).then(found)


def get_many(plan: Plan, keys: Iterable[Any]) -> Call[list[Any]]:
    def records(found: list[Row | None]) -> list[Any]:
        made = iter(plan.records([row for row in found if row is not None]))
        return [None if row is None else next(made) for row in found]

    return calls.get_many(plan.schema, [plan.key_of(key) for key in keys]).then(records)


def set_by_key(plan: Plan, key: Any, values: dict[str, Any]) -> Call[bool]:
    parts = tuple(
        wire.Compare(place, "=", value) for place, value in zip(plan.schema.key, plan.key_of(key))
    )
    call = calls.change(plan.schema, wire.And(parts), assignments(plan, values))
    return call.then(lambda count: count > 0)


def set_where(plan: Plan, query: Query, values: dict[str, Any]) -> Call[int]:
    _check_no_limit(plan, query)
    return calls.change(plan.schema, query.condition(plan), assignments(plan, values))


def delete_where(plan: Plan, query: Query) -> Call[int]:
    _check_no_limit(plan, query)
    return calls.change(plan.schema, query.condition(plan), None)


def rows_of(plan: Plan, query: Query) -> Call[list[Any]]:
    """All rows of a query: records, or tuples if columns are selected."""
    ask = calls.of_select(plan.schema, query.select(plan))
    return calls.query(ask, maker(plan, query), names=False).then(lambda found: found[1])


def values_of(plan: Plan, query: Query) -> Call[list[Any]]:
    """All rows of a query as lists of Python values, for data frames: that of an enum's member."""
    if query.columns is not None:
        return rows_of(plan, query)

    def values(found: list[Row]) -> list[Any]:
        plan.load_values(found)
        return found

    ask = calls.of_select(plan.schema, query.select(plan))
    return calls.query(ask, values, names=False).then(lambda found: found[1])


def blocks_of(plan: Plan, query: Query, decode: Callable[[bytes], Any]) -> Call[list[Any] | None]:
    """All rows of a query as blocks; ``None`` if the server sends only rows."""
    return calls.blocks(calls.of_select(plan.schema, query.select(plan)), decode)


def column_types(plan: Plan, query: Query) -> list[Type] | None:
    """The types of a query's columns, if its rows can be read column by column."""
    if any(column.as_text for column in plan.schema.columns):
        return None
    return columns.readable(result_types(plan, query))


def cursor_of(plan: Plan, query: Query) -> Call[calls.Cursor]:
    return calls.open_cursor(calls.of_select(plan.schema, query.select(plan)), writes=False)


def explain(plan: Plan, query: Query) -> Call[plans.QueryPlan]:
    return plans.explain(calls.of_select(plan.schema, query.select(plan)))


def value_of(plan: Plan, query: Query, expression: Expression) -> Call[Any]:
    """One aggregate of the rows of a query."""
    if query.limit is not None or query.offset or query.columns is not None or query.group:
        message = (
            "an aggregate of all rows has no limit, no selected columns and no groups: use select"
        )
        raise plan.error(ErrorKind.MISUSE, message)
    whole = Query(where=query.where, columns=(expression,), search=query.search)
    return rows_of(plan, whole).then(lambda found: found[0][0])


def maker(plan: Plan, query: Query) -> Callable[[list[Row]], list[Any]]:
    """Returns a function that converts rows of stored values to records or tuples."""
    if query.columns is None:
        return plan.records
    kinds = result_types(plan, query)

    def tuples(found: list[Row]) -> list[Any]:
        return [tuple(read_as(kind, value) for kind, value in zip(kinds, row)) for row in found]

    return tuples


def result_types(plan: Plan, query: Query) -> list[Type | None]:
    """The types of a query's columns; None for values that are not converted."""
    if query.columns is None:
        return [column.type for column in plan.schema.columns]
    kinds: list[Type | None] = []
    for what, place in (expression.place(plan) for expression in query.columns):
        kind = plan.schema.columns[place].type
        if what in ("count", "count_of"):
            kinds.append(Type.I64)
        elif what in ("avg", "rank", "distance"):
            kinds.append(Type.F64)
        elif what == "sum" and kind is not Type.CURRENCY:
            floats = (Type.F32, Type.F64)
            kinds.append(Type.F64 if kind in floats else None if kind is Type.ANY else Type.I64)
        else:
            kinds.append(kind)
    return kinds


def result_names(plan: Plan, query: Query) -> list[str]:
    """The names of a query's columns: those of the table, or ``count``, ``sum_x``, …"""
    if query.columns is None:
        return [column.name for column in plan.schema.columns]
    kept = {"count": "count", "count_of": "count"}
    return [
        one.name
        if one.what == "column"
        else "_".join(filter(None, (kept.get(one.what, one.what), one.name)))
        for one in query.columns
    ]


def add_new(
    plan: Plan, writer: BatchWriter, record: Any, verb: str, on: Sequence[str] = ()
) -> bool:
    """Adds a new row to a batch; returns whether a part is full."""
    try:
        values = plan.new_row(record)
        row = plan.encode(values)
    except Error as error:
        writer.name_row(error)
        raise
    if plan.schema.keys_by is KeysBy.CLIENT:
        writer.note_key(plan.key_in(values))
    return writer.add(plan.schema, verb, _sets_of(plan, verb, on), row)


def add_changed(plan: Plan, writer: BatchWriter, record: Any) -> bool:
    try:
        row = plan.encode(plan.changed_row(record))
    except Error as error:
        writer.name_row(error)
        raise
    return writer.add(plan.schema, "update", plan.updated(record), row)


def add_deleted(plan: Plan, writer: BatchWriter, key: Any) -> bool:
    try:
        row = plan.delete_row(key)
    except Error as error:
        writer.name_row(error)
        raise
    return writer.add(plan.schema, "delete", _NO_COLUMNS, row)


def verb_of(on_conflict: str) -> str:
    verb = ON_CONFLICT.get(on_conflict)
    if verb is None:
        known = ", ".join(ON_CONFLICT)
        raise Error(ErrorKind.CONFIG, f"on_conflict is one of {known}, not '{on_conflict}'")
    return verb


def _sets_of(plan: Plan, verb: str, on: Sequence[str] = ()) -> bytes:
    if verb == "upsert_on":
        return request.columns(plan.place(name) for name in on) + plan.upserted
    return plan.upserted if verb == "upsert" else _NO_COLUMNS


def _check_no_limit(plan: Plan, query: Query) -> None:
    if query.limit is not None or query.offset or query.search is not None:
        message = "update and delete change all rows that match: they accept no limit and no search"
        raise plan.error(ErrorKind.MISUSE, message)


def field_of(record: Any, name: str) -> Any:
    """The field of a record, which is a dict or another object; a dataclass may name its column."""
    try:
        if isinstance(record, dict):
            return record[name]
        if not hasattr(record, name) and is_dataclass(record):
            shape = shape_of(type(record))
            name = dict(zip(shape.columns, shape.fields)).get(name, name)
        return getattr(record, name)
    except (KeyError, AttributeError):
        raise Error(ErrorKind.SCHEMA, f"the record has no field '{name}'") from None


class Related:
    """A query for the rows that are related to records. Values are compared in their stored form,
    so a UUID may be a text."""

    def __init__(
        self, plan: Plan, query: Query, column: str, records: Sequence[Any], key: str
    ) -> None:
        if query.columns is not None or query.group:
            message = "related rows are whole rows: leave out select and group_by"
            raise plan.error(ErrorKind.MISUSE, message)
        self._plan, self._place, self._query = plan, plan.place(column), query
        self._keys = [plan.store(self._place, field_of(record, key)) for record in records]
        self._wanted = list(dict.fromkeys(key for key in self._keys if key is not None))

    @property
    def query(self) -> Query | None:
        """The query for the rows of all records, if there can be any."""
        query, wanted = self._query, self._wanted
        if not wanted:
            return None
        # The limit is one for each key. A text may equal others in a column without case, which
        # are not related.
        limit = None
        if len(wanted) == 1 and not isinstance(wanted[0], str) and query.limit is not None:
            limit = query.offset + query.limit
        return replace(query, limit=limit, offset=0).filtered([StoredIn(self._place, wanted)])

    def groups(self, found: list[Any]) -> list[list[Any]]:
        """The rows for each record, within the query's limits."""
        groups: dict[Stored, list[Any]] = {}
        name = self._plan.field_name(self._place)
        for row in found:
            groups.setdefault(self._plan.store(self._place, field_of(row, name)), []).append(row)
        query = self._query
        end = None if query.limit is None else query.offset + query.limit
        return [groups.get(key, [])[query.offset : end] for key in self._keys]
