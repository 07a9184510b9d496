"""Values of SQL results: converted by the type of their column, and checked against a field."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal, InvalidOperation
from typing import Any

from .._errors import Error, ErrorKind
from .._wire.answer import ResultColumn
from .._wire.code import Stored
from .._wire.schema import Type
from . import types
from .calls import Row
from .record import Shape, shape_of

#: The integers of each type. Engines store 64 bits with a sign, so a ``u64`` has 63.
RANGES = {
    Type.I8: (-(1 << 7), (1 << 7) - 1),
    Type.I16: (-(1 << 15), (1 << 15) - 1),
    Type.I32: (-(1 << 31), (1 << 31) - 1),
    Type.I64: (-(1 << 63), (1 << 63) - 1),
    Type.U8: (0, (1 << 8) - 1),
    Type.U16: (0, (1 << 16) - 1),
    Type.U32: (0, (1 << 32) - 1),
    Type.U64: (0, (1 << 63) - 1),
}
_FLOATS = (Type.F32, Type.F64)
_MOMENTS = (Type.DATE, Type.TIME, Type.DATETIME, Type.TIMESTAMP)
_SCALE = 10_000
#: The largest integer up to which a float has each one.
_EXACT_FLOATS = 1 << 53


def convert(value: Stored, type: Type, field: Type) -> Stored:
    """A value of a column of a result as the stored form of a field's type.

    An amount is read as a number in its own unit, and a number as an amount: 5.00 is 5 as an
    ``int``. Nothing is rounded, except by reading an amount or a decimal number as a float.

    Raises ``OUT_OF_RANGE`` for a number that the field cannot have exactly, and ``MISMATCH`` for a
    value of another kind.
    """
    if value is None or field is Type.ANY:
        return value
    if field in RANGES:
        return _integer(value, type, field)
    if field in _FLOATS:
        return _float(value, type, field)
    if field is Type.CURRENCY:
        return _amount(value, type, field)
    if field is Type.BOOL:
        if isinstance(value, int) and value in (0, 1) and (type is Type.BOOL or _counts(type)):
            return value
    elif field in _MOMENTS:
        same = type is field or {type, field} == {Type.DATETIME, Type.TIMESTAMP}
        if isinstance(value, str) or (isinstance(value, int) and same):
            return value
    elif field in (Type.TEXT, Type.JSON):
        if isinstance(value, str) and type is not Type.DECIMAL:
            return value
    elif isinstance(value, bytes) or (field is Type.UUID and isinstance(value, str)):
        return value
    raise _other(value, type, field)


def _counts(type: Type) -> bool:
    """Whether integers of this type are numbers, and not amounts, days or microseconds."""
    return type in RANGES or type in (Type.ANY, Type.DECIMAL) or type in _FLOATS


def _integer(value: Stored, type: Type, field: Type) -> Stored:
    if isinstance(value, str) and type is Type.DECIMAL:
        raise _outside(value, type, field)
    if not isinstance(value, int) or not (_counts(type) or type in (Type.CURRENCY, Type.BOOL)):
        raise _other(value, type, field)
    number = value
    if type is Type.CURRENCY:
        number, rest = divmod(value, _SCALE)
        if rest:
            raise _outside(value, type, field)
    least, most = RANGES[field]
    if not least <= number <= most:
        raise _outside(value, type, field)
    return number


def _float(value: Stored, type: Type, field: Type) -> Stored:
    if isinstance(value, float):
        return value
    if isinstance(value, int) and type is Type.CURRENCY:
        return value / _SCALE
    if isinstance(value, (int, str)) and type is Type.DECIMAL:
        return float(value)
    if not isinstance(value, int) or not _counts(type):
        raise _other(value, type, field)
    if abs(value) > _EXACT_FLOATS:
        raise _outside(value, type, field)
    return float(value)


def _amount(value: Stored, type: Type, field: Type) -> Stored:
    if type is Type.DECIMAL and isinstance(value, (int, str)):
        scaled = _digits(value) * _SCALE
        if scaled != int(scaled):
            raise _outside(value, type, field)
        number = int(scaled)
    elif isinstance(value, int) and type is Type.CURRENCY:
        number = value
    elif isinstance(value, int) and type in RANGES:
        number = value * _SCALE
    elif isinstance(value, int) and type is Type.ANY:
        message = "an integer of an unknown type is no amount: CAST it to DECIMAL(19, 4)"
        raise Error(ErrorKind.MISMATCH, message)
    else:
        raise _other(value, type, field)
    least, most = RANGES[Type.I64]
    if not least <= number <= most:
        raise _outside(value, type, field)
    return number


def _digits(value: int | str) -> Decimal:
    try:
        return Decimal(value)
    except InvalidOperation:
        raise Error(ErrorKind.MISMATCH, f"'{value}' is no decimal number") from None


def _outside(value: Stored, type: Type, field: Type) -> Error:
    shown: object = value
    if type is Type.CURRENCY and isinstance(value, int):
        shown = types.load_currency(value)
    message = f"{shown!s} has no exact value of type {field.name.lower()}"
    return Error(ErrorKind.OUT_OF_RANGE, message)


_CLASSES = {int: "an integer", float: "a float", str: "a text", bytes: "bytes"}


def _other(value: Stored, type: Type, field: Type) -> Error:
    name = _CLASSES.get(value.__class__, "a value")
    found = name if type is Type.ANY else f"{name} of type {type.name.lower()}"
    return Error(
        ErrorKind.MISMATCH, f"expected a value of type {field.name.lower()}, found {found}"
    )


def result_loader(type: Type) -> types.Load | None:
    """The conversion of a column of an SQL result to the values that tables return; None if they
    are the stored ones. What another program has stored otherwise stays as it is."""
    if type is Type.DECIMAL:
        return lambda value: _digits(value) if isinstance(value, (int, str)) else value
    load = types.loader_of(type)
    if load is None:
        return None
    stored: Any = int
    if type in (Type.UUID, Type.VECTOR):
        stored = bytes
    elif type is Type.JSON:
        stored = str
    return lambda value: load(value) if isinstance(value, stored) else value


def _field_loader(type: Type, field: Type | None) -> types.Load | None:
    """The conversion of a column of an SQL result for a field; ``None`` is a field of any type."""
    if field is None or (field is Type.CURRENCY and type is Type.DECIMAL):
        # A `Decimal` also holds decimal numbers that no column of amounts does.
        return result_loader(type)
    return lambda value: types.load_as(field, convert(value, type, field))


def into_tuples(columns: list[ResultColumn]) -> Callable[[list[Row]], list[tuple[Any, ...]]]:
    """Returns a function that makes tuples from rows of SQL, by the types of the columns."""
    loads = [result_loader(column.type) for column in columns]
    if not any(loads):
        return lambda found: [tuple(row) for row in found]

    def tuples(found: list[Row]) -> list[tuple[Any, ...]]:
        pairs = [list(zip(loads, row)) for row in found]
        return [tuple(load(value) if load else value for load, value in row) for row in pairs]

    return tuples


def into_records(cls: Any, columns: list[ResultColumn]) -> Callable[[list[Row]], list[Any]]:
    """Returns a function that makes records from rows of SQL, by column name."""
    shape = shape_of(cls)
    picks = _picks(shape, columns)

    def records(found: list[Row]) -> list[Any]:
        return [
            shape.cls(
                **{field: _read(row[place], load, name) for field, name, place, load in picks}
            )
            for row in found
        ]

    return records


def _read(value: Stored, load: types.Load | None, name: str) -> Any:
    if value is None or load is None:
        return value
    try:
        return load(value)
    except Error as error:
        error.column = error.column or name
        raise


def _picks(
    shape: Shape, columns: list[ResultColumn]
) -> list[tuple[str, str, int, types.Load | None]]:
    """For each field its name, its column's name and place, and the conversion of its values."""
    lowered = [column.name.lower() for column in columns]
    picks = []
    for field, name, kind, cls in zip(shape.fields, shape.columns, shape.types, shape.enums):
        if lowered.count(name.lower()) > 1:
            message = f"the result has two columns '{name}' for {shape.name}: rename one with AS"
            raise Error(ErrorKind.SCHEMA, message)
        if name.lower() not in lowered:
            message = f"the result has no column '{name}' for {shape.name}"
            raise Error(ErrorKind.SCHEMA, message)
        place = lowered.index(name.lower())
        load = _field_loader(columns[place].type, kind)
        picks.append((field, name, place, load if cls is None else types.enum_loader(cls, load)))
    return picks
