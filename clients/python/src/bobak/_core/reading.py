"""The stored values of rows as Python values.

An SQLite file of another program may have values that are not of their column's type. A record
never has one: the error names its table, column and key. A dict, a tuple or a data frame has it as
it is stored.
"""

from __future__ import annotations

import contextlib
import enum
from collections.abc import Mapping
from typing import Any, cast

from .._errors import Error, ErrorKind
from .._wire.code import Stored
from .._wire.row import TAGS, DecodedRows
from .._wire.schema import Column, TableSchema, Type
from . import types
from .calls import Row
from .results import RANGES

_CLASSES: dict[Type, type] = {
    **dict.fromkeys((Type.F32, Type.F64), float),
    **dict.fromkeys((Type.TEXT, Type.JSON), str),
    **dict.fromkeys((Type.BYTES, Type.UUID, Type.VECTOR), bytes),
    **dict.fromkeys((Type.BOOL, Type.CURRENCY, *RANGES), int),
    **dict.fromkeys((Type.DATE, Type.TIME, Type.DATETIME, Type.TIMESTAMP), int),
}
#: Only a program that reads rows of very many shapes needs more.
_MOST = 1024


class Reader:
    """Converts rows of all columns of a table, in place."""

    def __init__(self, schema: TableSchema, enums: Mapping[int, type[enum.Enum]]) -> None:
        self._schema = schema
        columns = list(enumerate(schema.columns))
        self._classes = [_class_of(column) for _, column in columns]
        self._tags = [None if cls is None else TAGS[cls] for cls in self._classes]
        plain = [types.loader(column) for _, column in columns]
        checked = [_checked(column, plain[place]) for place, column in columns]
        for place, cls in enums.items():
            checked[place] = types.enum_loader(cls, checked[place])
        #: The conversions for data of any kind, and those for records.
        self._loads = {False: plain, True: checked}
        #: By the tags of the values of a row, the places of those that are not of their type.
        self._odd: dict[bytes, frozenset[int]] = {}

    def read(self, found: list[Row], *, records: bool) -> None:
        """Converts the values of rows; ``records`` rejects those that are not of their type."""
        if isinstance(found, DecodedRows):
            shapes = found.shapes
        else:
            kinds = {tuple(map(type, row)) for row in found}
            shapes = {bytes(map(TAGS.__getitem__, kind)) for kind in kinds}
        odd = frozenset[int]().union(*map(self._odd_of, shapes))
        for place, load in enumerate(self._loads[records]):
            if load is None and place not in odd:
                continue
            row: Row = []
            try:
                if place in odd:
                    for row in found:
                        row[place] = self._other(place, row[place], records)
                    continue
                convert = cast(types.Load, load)
                for row in found:
                    value = row[place]
                    if value is not None:
                        row[place] = convert(value)
            except Error as error:
                raise self._named(error, row, place) from error.__cause__

    def _odd_of(self, shape: bytes) -> frozenset[int]:
        odd = self._odd.get(shape)
        if odd is None:
            pairs = enumerate(zip(shape, self._tags))
            odd = frozenset(place for place, (tag, own) in pairs if tag and own not in (None, tag))
            if len(self._odd) >= _MOST:
                self._odd.clear()
            self._odd[shape] = odd
        return odd

    def _other(self, place: int, value: Stored, records: bool) -> Any:
        """A value of a column that has values of other classes."""
        column, load = self._schema.columns[place], self._loads[records][place]
        if value is None:
            return None
        if type(value) is self._classes[place]:
            return value if load is None else load(value)
        try:
            return _other_form(column, value)
        except Error:
            if records:
                raise
            return value

    def _named(self, error: Error, row: Row, place: int) -> Error:
        """Adds the table, the column and the key of the row to an error."""
        schema = self._schema
        error.table, error.column = schema.name, schema.columns[place].name
        # The columns before this one are converted.
        parts = []
        for key in schema.key:
            value, load = row[key], self._loads[False][key]
            if key >= place and load is not None and type(value) is self._classes[key]:
                with contextlib.suppress(Error):
                    value = load(value)
            shown = repr(value) if isinstance(value, (str, bytes)) else str(value)
            parts.append(f"{schema.columns[key].name} {shown}")
        if parts:
            error.message += f" (in the row with {', '.join(parts)})"
        return error


def read_as(kind: Type | None, value: Stored) -> Any:
    """A value of a result as a Python value of a type; if it is not of that type, as it is."""
    if value is None or kind is None:
        return value
    if isinstance(value, str) and kind in types.PARSE:
        try:
            return types.PARSE[kind](value)
        except Error:
            return value
    load = types.loader_of(kind)
    return value if load is None or type(value) is not _CLASSES[kind] else load(value)


def _class_of(column: Column) -> type | None:
    """The class of a column's stored values; None if they may be of any class."""
    return str if column.as_text else _CLASSES.get(column.type)


def _other_form(column: Column, value: Stored) -> Any:
    """A value of another class that is of the column's type all the same."""
    kind = column.type
    if isinstance(value, str) and kind in types.PARSE:
        return types.PARSE[kind](value)
    if isinstance(value, bytes) and kind is Type.UUID:
        return types.load_as(kind, value)
    if isinstance(value, int) and kind in (Type.F32, Type.F64):
        return value
    raise types.mismatch(f"a value of the type {kind.name.lower()}", value)


def _checked(column: Column, load: types.Load | None) -> types.Load | None:
    """The conversion that rejects an integer which is not of the column's type."""
    kind = column.type
    least, most = (0, 1) if kind is Type.BOOL else RANGES.get(kind, RANGES[Type.I64])
    if (least, most) == RANGES[Type.I64]:
        return load

    def checked(value: int) -> Any:
        if least <= value <= most:
            return value if load is None else load(value)
        message = f"{value} is not of the type {kind.name.lower()}"
        raise Error(ErrorKind.MISMATCH if kind is Type.BOOL else ErrorKind.OUT_OF_RANGE, message)

    return checked
