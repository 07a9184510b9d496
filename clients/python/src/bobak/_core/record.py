"""Dataclasses as tables."""

from __future__ import annotations

import dataclasses
import datetime as dt
import re
import types
import typing
import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from operator import attrgetter
from typing import Any

from .._errors import Error, ErrorKind
from .._wire.schema import (
    Collation,
    Column,
    Index,
    KeysBy,
    OnDelete,
    Reference,
    Role,
    TableSchema,
    Type,
)

_OPTIONS = "bobak"
_TYPES: dict[Any, Type] = {
    bool: Type.BOOL,
    int: Type.I64,
    float: Type.F64,
    str: Type.TEXT,
    bytes: Type.BYTES,
    uuid.UUID: Type.UUID,
    Decimal: Type.CURRENCY,
    dt.date: Type.DATE,
    dt.time: Type.TIME,
    dt.datetime: Type.DATETIME,
    dict: Type.JSON,
    list: Type.JSON,
    Any: Type.ANY,
}


@dataclass(frozen=True)
class _Options:
    key: bool = False
    given: bool = False
    name: str | None = None
    type: Type | None = None
    max_chars: int | None = None
    unique: bool = False
    as_text: bool = False
    collation: Collation = Collation.BINARY
    role: Role = Role.PLAIN
    check: str | None = None
    references: Reference | None = None


def column(
    *,
    key: bool = False,
    given: bool = False,
    name: str | None = None,
    type: Type | str | None = None,
    max_chars: int | None = None,
    unique: bool = False,
    as_text: bool = False,
    collation: Collation = Collation.BINARY,
    created_at: bool = False,
    modified_at: bool = False,
    version: bool = False,
    check: str | None = None,
    references: str | None = None,
    on_delete: OnDelete = OnDelete.RESTRICT,
    **field: Any,
) -> Any:
    """A field of a dataclass, with what its column is beyond its type.

    ``key``: it is the key, or a part of it (by default the field ``id`` is); ``given``: and never
    made by the engine or by Bobak. ``type``: ``"i32"``, ``"timestamp"``, … in place of what the
    annotation says. ``as_text``: dates, times and UUIDs are kept as ISO texts. ``created_at`` and
    ``modified_at``: Bobak fills it. ``version``: raised, and compared, at each update. ``check``: a
    rule in SQL. ``references``: ``"table.column"``. All other arguments (``default``,
    ``default_factory``, …) are those of :func:`dataclasses.field`.
    """
    roles = {Role.CREATED_AT: created_at, Role.MODIFIED_AT: modified_at, Role.VERSION: version}
    role = next((role for role, wanted in roles.items() if wanted), Role.PLAIN)
    if (created_at or modified_at) and type is None:
        type = Type.TIMESTAMP
    if role is not Role.PLAIN and "default" not in field and "default_factory" not in field:
        field["default"] = 0 if version else None
    reference = None
    if references is not None:
        table, _, referred = references.rpartition(".")
        if not table or not referred:
            raise _schema_error(f"'{references}' is not table.column")
        reference = Reference(table, referred, on_delete)
    options = _Options(
        key=key or given,
        given=given,
        name=name,
        type=_type_named(type) if isinstance(type, str) else type,
        max_chars=max_chars,
        unique=unique,
        as_text=as_text,
        collation=collation,
        role=role,
        check=check,
        references=reference,
    )
    metadata = {**field.pop("metadata", {}), _OPTIONS: options}
    return dataclasses.field(metadata=metadata, **field)


@dataclass(frozen=True)
class Shape:
    """A dataclass: its fields, and the columns that they are kept in."""

    cls: Callable[..., Any]
    name: str
    table: str
    fields: list[str]
    columns: list[str]
    #: None for a field of any type.
    types: list[Type | None]
    #: Whether a field may be None, as its annotation says.
    optional: list[bool]
    by_keyword: bool
    values: Callable[[Any], Sequence[Any]]


def shape_of(cls: Any) -> Shape:
    """The shape of a dataclass.

    Raises :class:`Error` of the kind ``SCHEMA`` where it is none, or has a field of a type that
    no column has.
    """
    parts = _parts(cls)
    names = [field.name for field, _, _ in parts]
    get = attrgetter(*names)
    single = len(names) == 1
    return Shape(
        cls=cls,
        name=cls.__name__,
        table=_table_name(cls),
        fields=names,
        columns=[column.name for _, column, _ in parts],
        types=[None if column.type is Type.ANY else column.type for _, column, _ in parts],
        optional=[column.nullable for _, column, _ in parts],
        by_keyword=any(field.kw_only for field, _, _ in parts),
        values=(lambda record: (get(record),)) if single else get,
    )


def schema_of(cls: Any) -> TableSchema:
    """The table that a dataclass describes.

    Its name is that of the class in snake case, or ``__table__``; ``__indexes__`` is a list of
    tuples of columns, and ``__unique__`` of those that no two rows may have the same.
    """
    parts = _parts(cls)
    columns = tuple(column for _, column, _ in parts)
    places = {column.name: place for place, column in enumerate(columns)}
    key = tuple(place for place, (_, _, options) in enumerate(parts) if options.key)
    if not key and "id" in places:
        key = (places["id"],)
    if not key:
        raise _schema_error(f"{cls.__name__} has no key: name a field id, or say column(key=True)")
    table = _table_name(cls)
    # A key that is to be made is None in a record that is new; in the table it never is.
    columns = tuple(
        dataclasses.replace(column, nullable=False) if place in key else column
        for place, column in enumerate(columns)
    )
    return TableSchema(
        name=table,
        columns=columns,
        key=key,
        keys_by=_keys_by(columns, key, any(options.given for _, _, options in parts)),
        indexes=tuple(_indexes(cls, table, places)),
    )


def _parts(cls: Any) -> list[tuple[dataclasses.Field[Any], Column, _Options]]:
    if not (isinstance(cls, type) and dataclasses.is_dataclass(cls)):
        raise _schema_error(f"{cls!r} is no dataclass")
    hints = typing.get_type_hints(cls)
    parts = []
    for field in dataclasses.fields(cls):
        if not field.init:
            raise _schema_error(f"field {field.name} of {cls.__name__} can't be init=False")
        options = field.metadata.get(_OPTIONS, _Options())
        kind, nullable = _type_of(hints[field.name], f"{cls.__name__}.{field.name}")
        kind = options.type if options.type is not None else kind
        # Stamps and versions are None in a record that is new; in the table they never are.
        nullable = nullable and options.role is Role.PLAIN
        column = Column(
            name=options.name or field.name,
            type=kind,
            nullable=nullable,
            unique=options.unique,
            as_text=options.as_text,
            collation=options.collation,
            role=options.role,
            max_chars=options.max_chars,
            check=options.check,
            references=options.references,
        )
        parts.append((field, column, options))
    return parts


def _type_of(hint: Any, where: str) -> tuple[Type, bool]:
    """The type of an annotation, and whether it may be None."""
    origin = typing.get_origin(hint)
    if origin in (typing.Union, types.UnionType):
        rest = [part for part in typing.get_args(hint) if part is not type(None)]
        if len(rest) == 1:
            return _type_of(rest[0], where)[0], True
    if origin in (dict, list):
        return Type.JSON, False
    kind = _TYPES.get(hint)
    if kind is None:
        raise _schema_error(f"{where} is of a type that no column has: say column(type=…)")
    return kind, hint is Any


def _keys_by(columns: tuple[Column, ...], key: tuple[int, ...], given: bool) -> KeysBy:
    if len(key) == 1 and not given:
        if columns[key[0]].type is Type.I64:
            return KeysBy.ENGINE
        if columns[key[0]].type is Type.UUID:
            return KeysBy.CLIENT
    return KeysBy.USER


def _indexes(cls: Any, table: str, places: dict[str, int]) -> list[Index]:
    indexes = []
    for unique, listed in ((False, "__indexes__"), (True, "__unique__")):
        for names in getattr(cls, listed, ()):
            try:
                columns = tuple(places[name] for name in names)
            except KeyError as error:
                raise _schema_error(f"{cls.__name__} has an index over {error}") from error
            ending = "_unique" if unique else ""
            indexes.append(Index(f"{table}_{'_'.join(names)}{ending}", columns, unique))
    return indexes


def _table_name(cls: Any) -> str:
    name = getattr(cls, "__table__", None)
    return name or re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", cls.__name__).lower()


def _type_named(name: str) -> Type:
    try:
        return Type[name.upper()]
    except KeyError:
        raise _schema_error(f"'{name}' is no type") from None


def _schema_error(message: str) -> Error:
    return Error(ErrorKind.SCHEMA, message)
