"""Data frames of pandas and tables of pyarrow, if these are installed."""

from __future__ import annotations

import importlib.util
import uuid
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from .._errors import Error, ErrorKind
from .._wire.schema import TableSchema, Type
from . import columns
from .types import JsonText, store_json

if TYPE_CHECKING:
    import pandas
    import pyarrow

#: How many rows of a data frame are converted together.
_CHUNK = 10_000
_PANDAS = {
    Type.BOOL: "boolean",
    Type.I8: "Int8",
    Type.I16: "Int16",
    Type.I32: "Int32",
    Type.I64: "Int64",
    Type.U8: "UInt8",
    Type.U16: "UInt16",
    Type.U32: "UInt32",
    Type.U64: "UInt64",
    Type.F32: "float32",
    Type.F64: "float64",
    Type.DATETIME: "datetime64[us]",
    Type.TIMESTAMP: "datetime64[us, UTC]",
}
#: The types whose values in a data frame are of another class than those of pyarrow.
_PYTHON_OBJECTS = frozenset((Type.UUID, Type.JSON, Type.VECTOR))


def arrow_of(
    names: Sequence[str], kinds: Sequence[Type | None], rows: Iterable[Any]
) -> pyarrow.Table:
    """Rows as a table of pyarrow; money is ``decimal128(19, 4)``."""
    arrow = _module("pyarrow")
    found = _columns(len(names), rows)
    arrays = [_array(arrow, name, kind, values) for name, kind, values in zip(names, kinds, found)]
    return arrow.Table.from_arrays(arrays, names=list(names))


class BlockReader:
    """Makes tables as :func:`arrow_of`, from blocks: no value becomes a Python object."""

    def __init__(self, names: Sequence[str], kinds: Sequence[Type]) -> None:
        self._arrow = arrow = _module("pyarrow")
        self._kinds, self._types = kinds, [_arrow_type(arrow, kind) for kind in kinds]
        self._schema = arrow.schema(list(zip(names, self._types)))

    def batch(self, body: bytes) -> pyarrow.RecordBatch:
        """The rows of a block. Raises :class:`OtherValues` and :class:`Garbled`."""
        arrays = columns.arrays_of(self._arrow, body, self._kinds, self._types)
        return self._arrow.RecordBatch.from_arrays(arrays, schema=self._schema)

    def table(self, batches: Sequence[pyarrow.RecordBatch]) -> pyarrow.Table:
        """The rows of some blocks. The last block of a result may be empty."""
        found = [batch for batch in batches if batch.num_rows]
        return self._arrow.Table.from_batches(found, schema=self._schema)


def pandas_of(
    names: Sequence[str], kinds: Sequence[Type | None], rows: Iterable[Any]
) -> pandas.DataFrame:
    """Rows as a data frame; integers that may be NULL stay integers, money is ``Decimal``."""
    pandas = _module("pandas")
    series = {}
    for place, (kind, values) in enumerate(zip(kinds, _columns(len(names), rows))):
        dtype = None if kind is None else _PANDAS.get(kind, "object")
        series[place] = pandas.Series(list(values), dtype=dtype)
    frame = pandas.DataFrame(series)
    frame.columns = list(names)
    return frame


def are_arrays_in_pandas(kinds: Sequence[Type]) -> bool:
    """Whether :func:`pandas_of_arrow` takes columns of these types, and pyarrow is installed."""
    return _PYTHON_OBJECTS.isdisjoint(kinds) and importlib.util.find_spec("pyarrow") is not None


def pandas_of_arrow(kinds: Sequence[Type], table: pyarrow.Table) -> pandas.DataFrame:
    """As :func:`pandas_of`, from a table of pyarrow."""
    pandas = _module("pandas")
    series = {}
    for place, (kind, column) in enumerate(zip(kinds, table.columns)):
        dtype = _PANDAS.get(kind, "object")
        if kind in (Type.DATETIME, Type.TIMESTAMP):
            values = column.to_pandas()
        elif kind in (Type.F32, Type.F64, Type.TEXT):
            values = column.to_numpy()
        elif dtype == "object":
            values = column.to_pylist()
        else:
            values = pandas.api.types.pandas_dtype(dtype).__from_arrow__(column)
        series[place] = pandas.Series(values, dtype=dtype)
    frame = pandas.DataFrame(series)
    frame.columns = list(table.column_names)
    return frame


def _array(arrow: Any, name: str, kind: Type | None, values: Sequence[Any]) -> Any:
    try:
        if kind is Type.DECIMAL:
            return _decimals(arrow, values)
        return arrow.array(_plain(kind, values), type=_arrow_type(arrow, kind))
    except (arrow.ArrowException, OverflowError) as error:
        message = f"the values are of no one type of pyarrow: {error}"
        raise Error(ErrorKind.MISMATCH, message, column=name) from error


def _decimals(arrow: Any, values: Sequence[Any]) -> Any:
    """Decimal numbers with places for the quotients of servers, in more bits if they need them."""
    try:
        return arrow.array(values, type=arrow.decimal128(38, 18))
    except arrow.ArrowInvalid:
        return arrow.array(values, type=arrow.decimal256(76, 38))


def rows_of(frame: Any, schema: TableSchema) -> Iterator[dict[str, Any]]:
    """The rows of a data frame or table for a table with this schema, as dicts of Python values."""
    if hasattr(frame, "to_batches"):
        _check_distinct(frame.schema.names)
        kinds = {column.name.lower(): column.type for column in schema.columns}
        # A text of pyarrow is a document as its text, as `arrow_of` makes it.
        documents = [name for name in frame.schema.names if kinds.get(name.lower()) is Type.JSON]
        for batch in frame.to_batches(max_chunksize=_CHUNK):
            for row in batch.to_pylist():
                for name in documents:
                    if isinstance(row[name], str):
                        row[name] = JsonText(row[name])
                yield row
        return
    if not hasattr(frame, "itertuples"):
        raise Error(ErrorKind.MISMATCH, f"{type(frame).__name__} where a frame is expected")
    pandas = _module("pandas")
    names = [str(name) for name in frame.columns]
    _check_distinct(names)
    for start in range(0, len(frame), _CHUNK):
        part = frame.iloc[start : start + _CHUNK]
        values = [_values(pandas, part.iloc[:, place]) for place in range(len(names))]
        for row in zip(*values):
            yield dict(zip(names, row))


def _check_distinct(names: Sequence[str]) -> None:
    """Rejects two columns with the same name: one of them would be lost."""
    seen: set[str] = set()
    for name in names:
        if name.lower() in seen:
            message = f"the frame has two columns '{name}': rename one, or leave it out"
            raise Error(ErrorKind.SCHEMA, message, column=name)
        seen.add(name.lower())


def _values(pandas: Any, series: Any) -> list[Any]:
    """A column's values as Python values: a missing one is None, a pandas Timestamp a datetime."""
    values = series.astype("object")
    values = values.where(series.notna(), None).tolist()
    return [
        value.to_pydatetime(warn=False) if isinstance(value, pandas.Timestamp) else value
        for value in values
    ]


def _columns(count: int, rows: Iterable[Any]) -> list[Sequence[Any]]:
    found: list[Sequence[Any]] = list(zip(*rows))
    return found or [()] * count


def _plain(kind: Type | None, values: Sequence[Any]) -> Sequence[Any]:
    if kind is Type.UUID:
        return [value.bytes if isinstance(value, uuid.UUID) else value for value in values]
    if kind is Type.JSON:
        return [None if value is None else store_json(value) for value in values]
    return values


def _arrow_type(arrow: Any, kind: Type | None) -> Any:
    if kind is None or kind is Type.ANY:
        return None
    return {
        Type.BOOL: arrow.bool_(),
        Type.I8: arrow.int8(),
        Type.I16: arrow.int16(),
        Type.I32: arrow.int32(),
        Type.I64: arrow.int64(),
        Type.U8: arrow.uint8(),
        Type.U16: arrow.uint16(),
        Type.U32: arrow.uint32(),
        Type.U64: arrow.uint64(),
        Type.F32: arrow.float32(),
        Type.F64: arrow.float64(),
        Type.TEXT: arrow.string(),
        Type.BYTES: arrow.binary(),
        Type.VECTOR: arrow.list_(arrow.float32()),
        Type.UUID: arrow.binary(16),
        Type.CURRENCY: arrow.decimal128(19, 4),
        Type.DATE: arrow.date32(),
        Type.TIME: arrow.time64("us"),
        Type.DATETIME: arrow.timestamp("us"),
        Type.TIMESTAMP: arrow.timestamp("us", tz="UTC"),
        Type.JSON: arrow.string(),
    }[kind]


def _module(name: str) -> Any:
    try:
        return importlib.import_module(name)
    except ImportError as error:
        message = f"{name} is not installed: pip install bobak[{name}]"
        raise Error(ErrorKind.UNSUPPORTED, message) from error
