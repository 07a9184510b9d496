"""How the rows of one table are written and read, computed once for each table."""

from __future__ import annotations

import enum
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
from .reading import Reader
from .record import Shape

_SAME: dict[Type, type] = {Type.TEXT: str, Type.BYTES: bytes, Type.F64: float}
_SAME |= {Type(number): int for number in range(Type.I8, Type.U64 + 1)}


class Plan:
    """A table, and the shape of its records."""

    def __init__(self, schema: TableSchema, shape: Shape | None) -> None:
        self.schema = schema
        self.shape = shape
        columns = schema.columns
        self._places = {column.name.lower(): place for place, column in enumerate(columns)}
        self._store = [types.storer(column) for column in columns]
        self._load = [types.loader(column) for column in columns]
        for place, cls in [] if shape is None else self._enums(shape):
            self._store[place] = types.enum_storer(cls, self._store[place])
            self._load[place] = types.enum_loader(cls, self._load[place])
        #: The class whose values are stored unchanged.
        self._same: list[type | None] = [
            None if column.as_text else _SAME.get(column.type) for column in columns
        ]
        for place, _ in [] if shape is None else self._enums(shape):
            self._same[place] = None
        self.created = self._role(Role.CREATED_AT)
        self.modified = self._role(Role.MODIFIED_AT)
        self.version = self._role(Role.VERSION)
        #: Columns that no update sets.
        self.fixed = {*schema.key} if self.version is None else {*schema.key, self.version}
        known = range(len(columns)) if shape is None else self._known(shape)
        #: The position of a generated key, and the values that request one.
        self._made_key, self._unmade = self._made(shape)
        updated = [place for place in known if place not in self.fixed and place != self.created]
        if self.modified is not None and self.modified not in updated:
            updated.append(self.modified)
        self._updated = request.columns(updated)
        #: The columns that an update sets, by the names in a dict.
        self._updated_by: dict[tuple[str, ...], bytes] = {}
        self._reader = Reader(schema, {} if shape is None else dict(self._enums(shape)))
        #: The values of columns that a record does not have. A generated key has no default.
        made = () if schema.keys_by is KeysBy.USER else schema.key
        self._defaults: list[Stored] = [
            None if place in made else column.default for place, column in enumerate(columns)
        ]
        self._field_names = (
            None if shape is None else dict(zip(map(self.place, shape.columns), shape.fields))
        )
        self.get_values = self._getter()
        self.make = self._maker()

    def place(self, name: str) -> int:
        """A column's position.

        Raises :class:`Error` of the kind ``SCHEMA`` if no column has this name.
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
        """The current time as the column stores it."""
        if now is None:
            now = time.time_ns() // 1000
        column = self.schema.columns[place]
        return types.storer(column)(types.load_timestamp(now)) if column.as_text else now

    def key_of(self, key: Any) -> list[Stored]:
        """The stored form of a key: a value, or a tuple."""
        parts = key if isinstance(key, tuple) else (key,)
        if len(parts) != len(self.schema.key):
            message = f"the key has {len(self.schema.key)} columns, not {len(parts)}"
            raise self.error(ErrorKind.MISUSE, message)
        return [self.store(place, part) for place, part in zip(self.schema.key, parts)]

    def new_row(self, record: Any) -> list[Stored]:
        """The values of a new row, with time stamps, and with a key or NULL for a generated one."""
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
        # It is not set, but needs a value of the right type.
        if self.created is not None and values[self.created] is None:
            values[self.created] = self.stamp(self.created)
        return values

    def set_inserted(self, record: Any, values: Sequence[Stored], key: Any, verb: str) -> None:
        """Sets in a record what an insert of these values has set in the row. An upsert keeps the
        creation time and raises the version of a row that exists: neither is known."""
        if self._made_key is not None:
            self._set_field(record, self._made_key, key)
        elif verb == "upsert_on" and len(self.schema.key) == 1:
            self._set_field(record, self.schema.key[0], key)
        for place in (self.created, self.version) if not verb.startswith("upsert") else ():
            if place is not None:
                self._set_stored(record, place, values[place])
        if self.modified is not None:
            self._set_stored(record, self.modified, values[self.modified])

    def set_updated(self, record: Any, values: Sequence[Stored]) -> None:
        """Sets in a record what an update by these values has set in the row."""
        if self.modified is not None:
            self._set_stored(record, self.modified, values[self.modified])
        if self.version is not None and isinstance(values[self.version], int):
            self._set_stored(record, self.version, values[self.version] + 1)  # type: ignore[operator]

    def version_of(self, record: Any) -> Stored:
        """A record's version; None if it has none."""
        if self.version is None:
            return None
        return self._values(record)[self.version]

    def key_values(self, record: Any) -> list[Stored]:
        """The key of a record in its stored form."""
        values = self._values(record)
        return [values[place] for place in self.schema.key]

    def _set_stored(self, record: Any, place: int, value: Stored) -> None:
        load = self._load[place]
        known = value if load is None or value is None else load(value)
        self._set_field(record, place, known)

    def _set_field(self, record: Any, place: int, value: Any) -> None:
        if self._field_names is not None:
            name = self._field_names.get(place)
            if name is not None and self.shape is not None and not self.shape.is_frozen:
                setattr(record, name, value)
            return
        name = self.schema.columns[place].name
        if name not in record:
            # A dict may write it in other letter case.
            name = next((other for other in record if other.lower() == name.lower()), name)
        record[name] = value

    @property
    def upserted(self) -> bytes:
        """The columns that an upsert sets in an existing row."""
        return self._updated

    def updated(self, record: Any) -> bytes:
        """The columns that an update by this record sets; for a dict those that it has."""
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
        """The columns that an update of these columns sets."""
        places = [self.place(name) for name in names]
        if self.fixed.intersection(places):
            message = "a key or version can't be updated: delete the row and insert another"
            raise self.error(ErrorKind.MISUSE, message)
        if self.modified is not None:
            places.append(self.modified)
        return request.columns(places)

    def key_in(self, values: Sequence[Stored]) -> Any:
        """The key of a row of stored values, as Python values."""
        parts = []
        for place in self.schema.key:
            load, value = self._load[place], values[place]
            parts.append(value if load is None or value is None else load(value))
        return parts[0] if len(parts) == 1 else tuple(parts)

    def encode(self, values: Sequence[Stored]) -> bytes:
        """A row of all columns; an error names the column whose value cannot be stored."""
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
        """Rows as records."""
        self._reader.read(found, records=self.shape is not None)
        return [self.make(row) for row in found]

    def field_name(self, place: int) -> str:
        """The name that records have for a column."""
        name = self.schema.columns[place].name
        return name if self._field_names is None else self._field_names.get(place, name)

    def load_values(self, found: list[Row]) -> None:
        """Converts stored values to Python values, in place: to that of an enum's member."""
        self._reader.read(found, records=False)

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
            # If the key can be missing, 0 is an ordinary key.
            return place, (None,)
        if self.schema.keys_by is KeysBy.ENGINE:
            return place, (None, 0)
        return place, (None, self.store(place, uuid.UUID(int=0)))

    def _enums(self, shape: Shape) -> list[tuple[int, type[enum.Enum]]]:
        """The places of enums."""
        pairs = zip(shape.columns, shape.enums)
        return [(self.place(name), cls) for name, cls in pairs if cls is not None]

    def _known(self, shape: Shape) -> list[int]:
        """The places of a record's fields."""
        places = [self.place(name) for name in shape.columns]
        for place, column in enumerate(self.schema.columns):
            if place not in places and not (
                column.nullable
                or column.default is not None
                or column.role is not Role.PLAIN
                or column.generated is not None
            ):
                message = (
                    f"{shape.name} has no field for this column, and the column has no default"
                )
                raise Error(ErrorKind.SCHEMA, message, table=self.schema.name, column=column.name)
        for place, kind in zip(places, shape.types):
            column = self.schema.columns[place]
            if kind is not None and not _fits(kind, column.type):
                message = f"the column has the type {column.type.name.lower()}, and the field of "
                message += f"{shape.name} the type {kind.name.lower()}"
                raise Error(ErrorKind.SCHEMA, message, table=self.schema.name, column=column.name)
        self._check_key(shape)
        return places

    def _check_key(self, shape: Shape) -> None:
        """Rejects a class with the columns of the key in another order: its program would name
        other rows by its keys."""
        declared = [self.place(name) for name in shape.key]
        if len(declared) == len(self.schema.key) and declared != [*self.schema.key]:
            key = ", ".join(self.schema.columns[place].name for place in self.schema.key)
            message = f"the key of the table is ({key}), and that of {shape.name} is "
            message += f"({', '.join(shape.key)}): a class has these fields in the same order"
            raise self.error(ErrorKind.SCHEMA, message)

    def _values(self, record: Any) -> list[Stored]:
        try:
            given = self.get_values(record)
        except AttributeError as error:
            name = "a record" if self.shape is None else self.shape.name
            message = f"expected {name}, found {type(record).__name__}: {error}"
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
        """Returns a function that returns the values of a record."""
        if self.shape is None:
            return self._values_of_dict
        self._field_places = [(self.place(name), name) for name in self.shape.columns]
        return self.shape.values

    def _values_of_dict(self, record: Any) -> list[Stored]:
        if not isinstance(record, dict):
            raise self.error(ErrorKind.MISMATCH, f"expected a dict, found {type(record).__name__}")
        values = self._defaults.copy()
        for name, value in record.items():
            place = self.place(name)
            values[place] = self.store(place, value)
        return values

    def _maker(self) -> Callable[[Row], Any]:
        """Returns a function that makes a record from Python values."""
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
    """Whether a column can store the values of a field."""
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
    """A UUID of version 7, which sorts after every one that this process made before."""
    global _last
    # 48 bits of milliseconds and 12 bits of a counter. The counter overflows into the milliseconds
    # if many are made in one millisecond, or if the clock goes back.
    _last = tick = max(_last + 1, time.time_ns() // 1_000_000 << 12)
    random = int.from_bytes(os.urandom(8), "big") >> 2
    return uuid.UUID(int=tick >> 12 << 80 | 7 << 76 | (tick & 0xFFF) << 64 | 2 << 62 | random)
