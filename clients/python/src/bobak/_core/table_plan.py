"""How rows of one table are written and read: worked out once for each table."""

from __future__ import annotations

import os
import time
import uuid
from collections.abc import Callable, Sequence
from operator import itemgetter
from typing import Any, cast

from .._errors import Error, ErrorKind
from .._wire import request
from .._wire import row as rows
from .._wire.code import Stored
from .._wire.schema import KeysBy, Role, TableSchema, Type
from . import types
from .calls import Row
from .record import Shape

_SAME: dict[Type, type] = {Type.TEXT: str, Type.BYTES: bytes, Type.F64: float}
_SAME |= {Type(number): int for number in range(Type.I8, Type.U64 + 1)}


class Plan:
    """A table, and the shape that its rows have in the program."""

    def __init__(self, schema: TableSchema, shape: Shape | None) -> None:
        self.schema = schema
        self.shape = shape
        columns = schema.columns
        self._places = {column.name.lower(): place for place, column in enumerate(columns)}
        self._store = [types.storer(column) for column in columns]
        self._load = [types.loader(column) for column in columns]
        #: The class whose values are stored as they are.
        self._same: list[type | None] = [
            None if column.as_text else _SAME.get(column.type) for column in columns
        ]
        self.created = self._role(Role.CREATED_AT)
        self.modified = self._role(Role.MODIFIED_AT)
        self.version = self._role(Role.VERSION)
        #: What no update sets.
        self.fixed = {*schema.key} if self.version is None else {*schema.key, self.version}
        known = range(len(columns)) if shape is None else self._known(shape)
        #: The key's place where it is made, and by which values a new row asks for that.
        self._made_key, self._unmade = self._made(shape)
        updated = [place for place in known if place not in self.fixed and place != self.created]
        if self.modified is not None and self.modified not in updated:
            updated.append(self.modified)
        self._updated = request.columns(updated)
        #: For the names that dicts have: what an update by such a one sets.
        self._updated_by: dict[tuple[str, ...], bytes] = {}
        self._loads = [(place, load) for place, load in enumerate(self._load) if load is not None]
        #: What columns get that a record does not have; a key that is made is not a default's.
        made = () if schema.keys_by is KeysBy.USER else schema.key
        self._defaults: list[Stored] = [
            None if place in made else column.default for place, column in enumerate(columns)
        ]
        self.get_values = self._getter()
        self.make = self._maker()

    def place(self, name: str) -> int:
        """A column's place.

        Raises :class:`Error` of the kind ``SCHEMA`` where there is none of this name.
        """
        place = self._places.get(name.lower())
        if place is None:
            raise self.error(ErrorKind.SCHEMA, f"there is no column '{name}'")
        return place

    def store(self, place: int, value: Any) -> Stored:
        """A value in its column's stored form."""
        if value is None or type(value) is self._same[place]:
            return cast(Stored, value)
        try:
            return self._store[place](value)
        except Error as error:
            error.table, error.column = self.schema.name, self.schema.columns[place].name
            raise

    def stamp(self, place: int, now: int | None = None) -> Stored:
        """Now, as the column stores it."""
        if now is None:
            now = time.time_ns() // 1000
        column = self.schema.columns[place]
        return types.storer(column)(types.load_timestamp(now)) if column.as_text else now

    def key_of(self, key: Any) -> list[Stored]:
        """A key as the program gives it: a value, or a tuple of them."""
        parts = key if isinstance(key, tuple) else (key,)
        if len(parts) != len(self.schema.key):
            message = f"a key of {len(parts)} columns where there are {len(self.schema.key)}"
            raise self.error(ErrorKind.MISUSE, message)
        return [self.store(place, part) for place, part in zip(self.schema.key, parts)]

    def new_row(self, record: Any) -> list[Stored]:
        """The values of a new row: the key made, or left to the engine; stamps filled."""
        values = self._values(record)
        if self.version is not None and values[self.version] is None:
            values[self.version] = 0
        place = self._made_key
        if place is not None and values[place] in self._unmade:
            client = self.schema.keys_by is KeysBy.CLIENT
            values[place] = self.store(place, new_uuid()) if client else None
        if self.created is not None or self.modified is not None:
            now = time.time_ns() // 1000
            for stamped in (self.created, self.modified):
                if stamped is not None:
                    values[stamped] = self.stamp(stamped, now)
        return values

    def changed_row(self, record: Any) -> list[Stored]:
        """The values of an updated row."""
        values = self._values(record)
        if self.modified is not None:
            values[self.modified] = self.stamp(self.modified)
        # Never set, but of the right class all the same.
        if self.created is not None and values[self.created] is None:
            values[self.created] = self.stamp(self.created)
        return values

    @property
    def upserted(self) -> bytes:
        """The columns that an upsert sets where the row is there: a row is given whole."""
        return self._updated

    def updated(self, record: Any) -> bytes:
        """The columns that an update by this record sets: of a dict, those that it names."""
        if self.shape is not None:
            return self._updated
        names = tuple(record)
        sets = self._updated_by.get(names)
        if sets is None:
            free = (name for name in names if self.place(name) not in self.fixed)
            sets = self.sets([name for name in free if self.place(name) != self.created])
            self._updated_by[names] = sets
        return sets

    def sets(self, names: Sequence[str]) -> bytes:
        """The columns that an update of these sets."""
        places = [self.place(name) for name in names]
        if self.fixed.intersection(places):
            message = "a key or version can't be updated: delete the row and insert another"
            raise self.error(ErrorKind.MISUSE, message)
        if self.modified is not None:
            places.append(self.modified)
        return request.columns(places)

    def key_in(self, values: Sequence[Stored]) -> Any:
        """The key of a row of stored values, as the program knows it."""
        parts = []
        for place in self.schema.key:
            load, value = self._load[place], values[place]
            parts.append(value if load is None or value is None else load(value))
        return parts[0] if len(parts) == 1 else tuple(parts)

    def encode(self, values: Sequence[Stored]) -> bytes:
        """A row of all columns; an error names the one whose value can't be kept."""
        try:
            return rows.encode(values)
        except Error as error:
            error.table = self.schema.name
            for column, value in zip(self.schema.columns, values):
                try:
                    rows.encode([value])
                except Error:
                    error.column = column.name
                    break
            raise

    def delete_row(self, key: Any) -> bytes:
        return rows.encode(self.key_of(key))

    def records(self, found: list[Row]) -> list[Any]:
        """Rows as the program wants them."""
        self.load_rows(found)
        return [self.make(row) for row in found]

    def load_rows(self, found: list[Row]) -> None:
        """Turns stored values into Python's, in place."""
        for place, load in self._loads:
            try:
                for row in found:
                    value = row[place]
                    if value is not None:
                        row[place] = load(value)
            except Error as error:
                error.table, error.column = self.schema.name, self.schema.columns[place].name
                raise

    def error(self, kind: ErrorKind, message: str) -> Error:
        return Error(kind, message, table=self.schema.name)

    def _role(self, role: Role) -> int | None:
        found = (place for place, column in enumerate(self.schema.columns) if column.role is role)
        return next(found, None)

    def _made(self, shape: Shape | None) -> tuple[int | None, tuple[Stored, ...]]:
        if len(self.schema.key) != 1 or self.schema.keys_by is KeysBy.USER:
            return None, ()
        place = self.schema.key[0]
        fields = [] if shape is None else list(zip(shape.columns, shape.optional))
        if all(is_optional or self.place(name) != place for name, is_optional in fields):
            # What can be left out, or be None, is a key like others where it is 0.
            return place, (None,)
        if self.schema.keys_by is KeysBy.ENGINE:
            return place, (None, 0)
        return place, (None, self.store(place, uuid.UUID(int=0)))

    def _known(self, shape: Shape) -> list[int]:
        """The places of a record's fields."""
        places = [self.place(name) for name in shape.columns]
        for place, column in enumerate(self.schema.columns):
            if place not in places and not (
                column.nullable or column.default is not None or column.role is not Role.PLAIN
            ):
                message = f"{shape.name} has no field for it, and it has no default"
                raise Error(ErrorKind.SCHEMA, message, table=self.schema.name, column=column.name)
        for place, kind in zip(places, shape.types):
            column = self.schema.columns[place]
            if kind is not None and not _fits(kind, column.type):
                message = f"its type is {column.type.name.lower()}, that of {shape.name}'s field "
                message += kind.name.lower()
                raise Error(ErrorKind.SCHEMA, message, table=self.schema.name, column=column.name)
        return places

    def _values(self, record: Any) -> list[Stored]:
        try:
            given = self.get_values(record)
        except AttributeError as error:
            name = "a record" if self.shape is None else self.shape.name
            message = f"{type(record).__name__} where {name} is expected: {error}"
            raise self.error(ErrorKind.MISMATCH, message) from error
        store, same = self._store, self._same
        if self.shape is None:
            return list(given)
        values = self._defaults.copy()
        for (place, _), value in zip(self._field_places, given):
            if value is None or type(value) is same[place]:
                values[place] = cast(Stored, value)
            else:
                try:
                    values[place] = store[place](value)
                except Error as error:
                    error.table, error.column = self.schema.name, self.schema.columns[place].name
                    raise
        return values

    def _getter(self) -> Callable[[Any], Sequence[Any]]:
        """What takes a record apart."""
        if self.shape is None:
            return self._values_of_dict
        self._field_places = [(self.place(name), name) for name in self.shape.columns]
        return self.shape.values

    def _values_of_dict(self, record: Any) -> list[Stored]:
        if not isinstance(record, dict):
            raise self.error(
                ErrorKind.MISMATCH, f"{type(record).__name__} where a dict is expected"
            )
        values = self._defaults.copy()
        for name, value in record.items():
            place = self.place(name)
            values[place] = self.store(place, value)
        return values

    def _maker(self) -> Callable[[Row], Any]:
        """What puts a record together, from a row of Python values."""
        shape = self.shape
        if shape is None:
            names = [column.name for column in self.schema.columns]
            return lambda row: dict(zip(names, row))
        places = [place for place, _ in self._field_places]
        if shape.by_keyword:
            fields = shape.fields
            return lambda row: shape.cls(**dict(zip(fields, (row[place] for place in places))))
        cls = shape.cls
        if places == list(range(len(self.schema.columns))):
            return lambda row: cls(*row)
        if len(places) == 1:
            return lambda row: cls(row[places[0]])
        pick = itemgetter(*places)
        return lambda row: cls(*pick(row))


def _fits(field: Type, column: Type) -> bool:
    """Whether a field's values can be kept in a column, and read back as what they were."""
    integers = range(Type.I8, Type.U64 + 1)
    floats = (Type.F32, Type.F64)
    return (
        field == column
        or Type.ANY in (field, column)
        or (field in integers and column in integers)
        or (field in floats and column in floats)
        or (field == Type.DATETIME and column == Type.TIMESTAMP)
    )


_last = 0


def new_uuid() -> uuid.UUID:
    """A new key of version 7: it sorts after every one that this process made before."""
    global _last
    # 48 bits of milliseconds and 12 of a counter, which runs on into the milliseconds where more
    # are made in one, or where the clock goes back.
    _last = tick = max(_last + 1, time.time_ns() // 1_000_000 << 12)
    random = int.from_bytes(os.urandom(8), "big") >> 2
    return uuid.UUID(int=tick >> 12 << 80 | 7 << 76 | (tick & 0xFFF) << 64 | 2 << 62 | random)
