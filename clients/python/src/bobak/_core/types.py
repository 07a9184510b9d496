"""Conversion of Python values to their stored forms, and back.

==================  =========================  ===========================================
column              Python                     stored
==================  =========================  ===========================================
``bool``            ``bool``                   0 or 1
``i8`` … ``u64``    ``int``                    integer
``f32``, ``f64``    ``float``                  float
``text``            ``str``                    text
``bytes``           ``bytes``                  bytes
``uuid``            ``uuid.UUID``              16 bytes
``currency``        ``decimal.Decimal``        integer: the amount times 10,000, exact
``date``            ``datetime.date``          integer: days since 1970-01-01
``time``            ``datetime.time``          integer: microseconds since midnight
``datetime``        ``datetime``, naive        integer: microseconds since 1970-01-01
``timestamp``       ``datetime``, aware        integer: microseconds since 1970-01-01 UTC
``json``            what ``json`` can write    text
an ``Enum``         the enum                   its value, a text or an integer
``any``             any of the above           unchanged
==================  =========================  ===========================================
"""

from __future__ import annotations

import datetime as dt
import enum
import json
import math
import struct
import uuid
from collections.abc import Callable
from decimal import Context, Decimal, InvalidOperation
from typing import Any

from .._errors import Error, ErrorKind
from .._wire.code import Stored
from .._wire.request import Parameter
from .._wire.schema import Column, Type

#: Converts a Python value to its stored form, or back; never called with None.
Store = Callable[[Any], Stored]
Load = Callable[[Any], Any]

_DAY_ZERO = dt.date(1970, 1, 1).toordinal()
_EPOCH = dt.datetime(1970, 1, 1)
_EPOCH_UTC = dt.datetime(1970, 1, 1, tzinfo=dt.timezone.utc)
_MICROS_PER_DAY = 86_400_000_000
_LEAST_INSTANT, _LAST_INSTANT = (
    (day.toordinal() - _DAY_ZERO) * _MICROS_PER_DAY + rest
    for day, rest in ((dt.date.min, 0), (dt.date.max, _MICROS_PER_DAY - 1))
)
#: More digits than any amount has: nothing is rounded.
_EXACT = Context(prec=60)
_SINGLE = struct.Struct("<f")
#: The names of NumPy's class of truth values, which is no `bool`, in its versions.
_NUMPY_BOOLS = ("bool_", "bool")


def storer(column: Column) -> Store:
    """The conversion of a column's values to their stored form."""
    if column.as_text:
        return _TEXT[column.type]
    if column.type is Type.VECTOR:
        return lambda value: store_vector(value, column.length)
    return _STORE.get(column.type, store_any)


def loader(column: Column) -> Load | None:
    """The conversion of a column's stored values to Python values; None if they are the same."""
    load = _LOAD.get(column.type)
    if load is None or not column.as_text:
        return load
    return PARSE[column.type]


def load_as(kind: Type | None, value: Stored) -> Any:
    """A stored value as a Python value of a type."""
    if value is None or kind is None:
        return value
    parse = PARSE.get(kind) if isinstance(value, str) else None
    load = parse or _LOAD.get(kind)
    try:
        return value if load is None else load(value)
    except TypeError:
        raise mismatch(kind.name.lower(), value) from None


def loader_of(kind: Type) -> Load | None:
    """The conversion of stored values of a type; None if they are the same."""
    return _LOAD.get(kind)


def store_any(value: Any) -> Stored:
    """The stored form of a value of any type."""
    return parameter(value).value


def parameter(value: Any) -> Parameter:
    """An SQL parameter with its type. Numbers, texts and bytes have no type."""
    if value is None or type(value) in (int, float, str, bytes):
        return Parameter(value, Type.ANY)
    for kind, store in _BY_CLASS:
        if isinstance(value, kind):
            return store(value)
    if type(value).__name__ in _NUMPY_BOOLS:
        return Parameter(int(bool(value)), Type.BOOL)
    if hasattr(value, "__index__"):
        return Parameter(int(value.__index__()), Type.ANY)
    if hasattr(value, "__float__"):
        return Parameter(float(value), Type.ANY)
    raise mismatch("a value that can be stored", value)


def _decimal(value: Decimal) -> Parameter:
    try:
        return Parameter(_currency(value), Type.CURRENCY)
    except Error:
        if not value.is_finite():
            raise
        return Parameter(format(value, "f"), Type.DECIMAL)


def _moment(value: dt.datetime) -> Parameter:
    if value.tzinfo is None:
        return Parameter(_datetime(value), Type.DATETIME)
    return Parameter(_timestamp(value), Type.TIMESTAMP)


def _bool(value: Any) -> Stored:
    if value is True or value is False or (isinstance(value, int) and value in (0, 1)):
        return int(value)
    if type(value).__name__ in _NUMPY_BOOLS:
        return int(bool(value))
    raise mismatch("a bool", value)


def enum_storer(cls: type[enum.Enum], store: Store) -> Store:
    """The conversion of an enum's members, or of their values, to their stored form."""

    def stored(value: Any) -> Stored:
        try:
            return store(cls(value).value)
        except ValueError:
            raise _no_member(cls, value) from None

    return stored


def enum_loader(cls: type[enum.Enum], load: Load | None) -> Load:
    """The conversion of stored values to an enum's members."""

    def loaded(value: Any) -> Any:
        try:
            return cls(value if load is None else load(value))
        except ValueError:
            raise _no_member(cls, value) from None

    return loaded


def _no_member(cls: type[enum.Enum], value: Any) -> Error:
    members = ", ".join(repr(member.value) for member in cls)
    shown = value if isinstance(value, enum.Enum) else repr(value)
    return Error(ErrorKind.MISMATCH, f"{shown} is not a {cls.__name__}: its values are {members}")


def _int(value: Any) -> Stored:
    if type(value) is int:
        return value
    if isinstance(value, enum.Enum):
        return _int(value.value)
    if isinstance(value, float) or not hasattr(value, "__index__"):
        raise mismatch("an integer", value)
    return int(value.__index__())


def _float(value: Any) -> Stored:
    if type(value) is float:
        return value
    if isinstance(value, (str, Decimal)) or not hasattr(value, "__float__"):
        raise mismatch("a float", value)
    try:
        number = float(value)
    except OverflowError:
        raise _out_of_range("a float", value) from None
    if isinstance(value, int) and int(number) != value:
        raise Error(ErrorKind.OUT_OF_RANGE, f"{value} has no exact float")
    return number


def _float32(value: Any) -> Stored:
    """The nearest 32-bit float: servers reject any other."""
    number = _float(value)
    try:
        nearest: float = _SINGLE.unpack(_SINGLE.pack(number))[0]
    except OverflowError:
        raise _out_of_range("an f32", value) from None
    if nearest == 0.0 and number != 0.0:
        raise _out_of_range("an f32", value)
    return nearest


def _text(value: Any) -> Stored:
    if isinstance(value, enum.Enum):
        return _text(value.value)
    if isinstance(value, str):
        return value if type(value) is str else str(value)
    raise mismatch("a text", value)


def _bytes(value: Any) -> Stored:
    if isinstance(value, (bytes, bytearray, memoryview)):
        return bytes(value)
    raise mismatch("bytes", value)


def _uuid(value: Any) -> Stored:
    if isinstance(value, uuid.UUID):
        return value.bytes
    if isinstance(value, bytes) and len(value) == 16:
        return value
    if isinstance(value, str):
        try:
            return uuid.UUID(value).bytes
        except ValueError:
            pass
    raise mismatch("a UUID", value)


def _currency(value: Any) -> Stored:
    if isinstance(value, (float, bool)):
        raise mismatch("an amount (Decimal, int or str: a float is never exact)", value)
    try:
        scaled = _EXACT.multiply(Decimal(value), Decimal(10_000))
        whole = int(scaled)
    except (InvalidOperation, ValueError, OverflowError, TypeError):
        raise mismatch("an amount", value) from None
    if scaled != whole or (isinstance(value, str) and "e" in value.lower()):
        raise mismatch("an amount of at most four decimals", value)
    if not -(1 << 63) <= whole < 1 << 63:
        raise _out_of_range("an amount", value)
    return whole


def _date(value: Any) -> Stored:
    if isinstance(value, str):
        value = _parse_date(value)
    if isinstance(value, dt.datetime) or not isinstance(value, dt.date):
        raise mismatch("a date", value)
    return value.toordinal() - _DAY_ZERO


def _time(value: Any) -> Stored:
    if isinstance(value, str):
        value = _parse_time(value)
    if not isinstance(value, dt.time) or value.tzinfo is not None:
        raise mismatch("a time without a zone", value)
    seconds = (value.hour * 60 + value.minute) * 60 + value.second
    return seconds * 1_000_000 + value.microsecond


def _datetime(value: Any) -> Stored:
    if isinstance(value, str):
        value = _parse_datetime(value)
    if not isinstance(value, dt.datetime) or value.tzinfo is not None:
        raise mismatch("a datetime without a zone", value)
    return _micros(value - _EPOCH)


def _timestamp(value: Any) -> Stored:
    if isinstance(value, str):
        value = _parse_timestamp(value)
    if not isinstance(value, dt.datetime) or value.tzinfo is None:
        raise mismatch("a datetime with a zone", value)
    micros = _micros(value - _EPOCH_UTC)
    # In UTC its year may be 0 or 10000, which no `datetime` has: it could not be read again.
    if not _LEAST_INSTANT <= micros <= _LAST_INSTANT:
        raise _out_of_range("a timestamp", value)
    return micros


def _micros(since: dt.timedelta) -> int:
    return since.days * _MICROS_PER_DAY + since.seconds * 1_000_000 + since.microseconds


class JsonText(str):
    """A document as its text, where a text would be a document of one text."""


def store_json(value: Any) -> Stored:
    if isinstance(value, JsonText):
        _load_json(value)
        return str(value)
    try:
        return json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    except (TypeError, ValueError) as error:
        raise Error(ErrorKind.MISMATCH, f"the value has no JSON form: {error}") from error


def load_bool(value: int) -> bool | int:
    """A truth value; another integer, which a program without them may have stored, stays one."""
    return value == 1 if value in (0, 1) else value


def load_currency(value: int) -> Decimal:
    """The amount of a stored integer."""
    return Decimal(value).scaleb(-4, _EXACT)


def load_date(value: int) -> dt.date:
    try:
        return dt.date.fromordinal(value + _DAY_ZERO)
    except (ValueError, OverflowError):
        raise _out_of_range("a date", value) from None


def load_time(value: int) -> dt.time:
    if not 0 <= value < _MICROS_PER_DAY:
        raise _out_of_range("a time", value)
    return (_EPOCH + dt.timedelta(microseconds=value)).time()


def load_datetime(value: int) -> dt.datetime:
    try:
        return _EPOCH + dt.timedelta(microseconds=value)
    except OverflowError:
        raise _out_of_range("a datetime", value) from None


def load_timestamp(value: int) -> dt.datetime:
    try:
        return _EPOCH_UTC + dt.timedelta(microseconds=value)
    except OverflowError:
        raise _out_of_range("a timestamp", value) from None


def _load_uuid(value: bytes) -> uuid.UUID:
    if len(value) != 16:
        raise Error(ErrorKind.MISMATCH, f"a UUID has 16 bytes, not {len(value)}")
    return uuid.UUID(bytes=value)


def _load_json(value: str) -> Any:
    try:
        return json.loads(value)
    except ValueError as error:
        raise Error(ErrorKind.MISMATCH, f"not JSON: {error}") from error


def _parsed(parse: Callable[[str], Any], what: str) -> Callable[[str], Any]:
    def checked(text: str) -> Any:
        try:
            return parse(text)
        except ValueError as error:
            raise Error(ErrorKind.MISMATCH, f"'{text}' is not {what}: {error}") from error

    return checked


def _time_of_day(text: str) -> dt.time:
    # Python 3.14 reads hour 24 as the next midnight; a time of day has none.
    if text.startswith(("24", "T24")):
        raise ValueError("hour must be in 0..23")
    return dt.time.fromisoformat(text)


def _civil(text: str) -> dt.datetime:
    if "T24" in text or " 24" in text:
        raise ValueError("hour must be in 0..23")
    return dt.datetime.fromisoformat(text)


def _aware(text: str) -> dt.datetime:
    # Before Python 3.11 `fromisoformat` does not accept Z.
    value = _civil(text[:-1] + "+00:00" if text.endswith("Z") else text)
    if value.tzinfo is None:
        raise ValueError("it has no time zone")
    return value.astimezone(dt.timezone.utc)


_parse_date = _parsed(dt.date.fromisoformat, "a date")
_parse_time = _parsed(_time_of_day, "a time")
_parse_datetime = _parsed(_civil, "a datetime")
_parse_timestamp = _parsed(_aware, "a timestamp")
_parse_uuid = _parsed(uuid.UUID, "a UUID")


def _timestamp_text(value: Any) -> str:
    stored = _timestamp(value)
    text = load_timestamp(int(stored)).isoformat(timespec="microseconds")  # type: ignore[arg-type]
    return text.replace("+00:00", "Z")


def store_vector(value: Any, length: int) -> bytes:
    """The stored form of a vector.

    Raises :class:`Error` of the kind ``MISMATCH`` for another length, and ``OUT_OF_RANGE`` for NaN,
    infinities and numbers that are no ``f32``.
    """
    if isinstance(value, (str, bytes, bytearray, dict, set, frozenset)):
        raise mismatch("a vector: a sequence of numbers", value)
    try:
        numbers = list(map(float, value))
        if len(numbers) != length:
            message = f"the vector has {len(numbers)} numbers, and its column has {length}"
            raise Error(ErrorKind.MISMATCH, message)
        if not all(map(math.isfinite, numbers)):
            place, number = next(one for one in enumerate(numbers, 1) if not math.isfinite(one[1]))
            message = f"number {place} of the vector is {number}: its numbers must be finite"
            raise Error(ErrorKind.OUT_OF_RANGE, message)
        return struct.pack(f"<{length}f", *numbers)
    except (TypeError, ValueError):
        raise mismatch("a vector: a sequence of numbers", value) from None
    except OverflowError:
        raise Error(ErrorKind.OUT_OF_RANGE, "a number of the vector is no f32") from None


def _load_vector(value: bytes) -> list[float]:
    if len(value) % 4:
        raise Error(ErrorKind.MISMATCH, f"a vector has 4 bytes for each number, not {len(value)}")
    return list(struct.unpack(f"<{len(value) // 4}f", value))


_STORE: dict[Type, Store] = {
    Type.BOOL: _bool,
    **{Type(number): _int for number in range(Type.I8, Type.U64 + 1)},
    Type.F32: _float32,
    Type.F64: _float,
    Type.TEXT: _text,
    Type.BYTES: _bytes,
    Type.UUID: _uuid,
    Type.CURRENCY: _currency,
    Type.DATE: _date,
    Type.TIME: _time,
    Type.DATETIME: _datetime,
    Type.TIMESTAMP: _timestamp,
    Type.JSON: store_json,
}

_LOAD: dict[Type, Load] = {
    Type.BOOL: load_bool,
    Type.UUID: _load_uuid,
    Type.CURRENCY: load_currency,
    Type.DATE: load_date,
    Type.TIME: load_time,
    Type.DATETIME: load_datetime,
    Type.TIMESTAMP: load_timestamp,
    Type.JSON: _load_json,
    Type.VECTOR: _load_vector,
}

#: The text forms, for columns that store text.
_TEXT: dict[Type, Store] = {
    Type.UUID: lambda value: str(_load_uuid(_uuid(value))),  # type: ignore[arg-type]
    Type.DATE: lambda value: load_date(_date(value)).isoformat(),  # type: ignore[arg-type]
    Type.TIME: lambda value: load_time(_time(value)).isoformat(timespec="microseconds"),  # type: ignore[arg-type]
    Type.DATETIME: lambda value: load_datetime(_datetime(value)).isoformat(timespec="microseconds"),  # type: ignore[arg-type]
    Type.TIMESTAMP: _timestamp_text,
}

#: What reads the text forms.
PARSE: dict[Type, Load] = {
    Type.UUID: _parse_uuid,
    Type.DATE: _parse_date,
    Type.TIME: _parse_time,
    Type.DATETIME: _parse_datetime,
    Type.TIMESTAMP: _parse_timestamp,
}

_BY_CLASS: tuple[tuple[Any, Callable[[Any], Parameter]], ...] = (
    (enum.Enum, lambda value: parameter(value.value)),
    (bool, lambda value: Parameter(int(value), Type.BOOL)),
    (int, lambda value: Parameter(int(value), Type.ANY)),
    (float, lambda value: Parameter(float(value), Type.ANY)),
    (str, lambda value: Parameter(str(value), Type.ANY)),
    ((bytes, bytearray, memoryview), lambda value: Parameter(bytes(value), Type.ANY)),
    (Decimal, _decimal),
    (uuid.UUID, lambda value: Parameter(_uuid(value), Type.UUID)),
    (dt.datetime, _moment),
    (dt.date, lambda value: Parameter(_date(value), Type.DATE)),
    (dt.time, lambda value: Parameter(_time(value), Type.TIME)),
    ((dict, list), lambda value: Parameter(store_json(value), Type.JSON)),
)


def mismatch(expected: str, value: Any) -> Error:
    shown = repr(value)
    shown = shown if len(shown) <= 80 else shown[:77] + "..."
    return Error(ErrorKind.MISMATCH, f"expected {expected}, found {shown}")


def _out_of_range(what: str, value: Any) -> Error:
    return Error(ErrorKind.OUT_OF_RANGE, f"{value} is out of the range of {what}")
