"""Dataclasses as tables."""

from __future__ import annotations

import builtins
import dataclasses
import datetime as dt
import enum
import re
import types
import typing
import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from operator import attrgetter
from typing import Any, Literal, TypeVar, cast

from .._errors import Error, ErrorKind
from .._wire.schema import (
    Collation,
    Column,
    Index,
    KeysBy,
    OnDelete,
    Reference,
    Role,
    Search,
    TableSchema,
    Type,
)

V = TypeVar("V")

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
    index: bool = False
    as_text: bool = False
    collation: Collation = Collation.BINARY
    role: Role = Role.PLAIN
    check: str | None = None
    #: A dataclass, or ``table(column)``.
    references: Any = None
    on_delete: OnDelete = OnDelete.RESTRICT
    #: The language of a text that is searched.
    search: str | None = None
    #: The number of the numbers of a vector.
    length: int = 0


def column(
    *,
    key: bool | Literal["given"] = False,
    name: str | None = None,
    type: Type | str | None = None,
    max: int | None = None,
    unique: bool = False,
    index: bool = False,
    created_at: bool = False,
    modified_at: bool = False,
    version: bool = False,
    collation: Literal["binary", "nocase", "unicode_nocase"] = "binary",
    check: str | None = None,
    references: str | builtins.type | None = None,
    on_delete: Literal["restrict", "cascade", "set_null", "no_action"] | None = None,
    store: Literal["text"] | None = None,
    search: bool | str = False,
    vector: int | None = None,
    **field: Any,
) -> Any:
    """A field of a dataclass, with the options of its column.

    ``key``: it is the key, or a part of it (by default the field ``id`` is); ``key="given"``: the
    program sets the key, even to 0. ``type``: ``"i32"``, ``"timestamp"``, … in place of the
    annotation's type. ``max``: the maximum number of characters. ``created_at`` and
    ``modified_at``: Bobak sets it. ``version``: each update checks and raises it. ``check``: a
    constraint in SQL. ``references``: a dataclass, or ``"table(column)"``, with ``on_delete``.
    ``store="text"``: dates, times and UUIDs as ISO text. ``search``: the text is searched together
    with the others that have this option; ``search="english"``: in this language. ``vector=384``:
    the ``list[float]`` is a vector of 384 numbers. Other arguments (``default``,
    ``default_factory``, …) are those of :func:`dataclasses.field`.

    Raises :class:`Error` of the kind ``SCHEMA`` for a wrong option.
    """
    roles = {Role.CREATED_AT: created_at, Role.MODIFIED_AT: modified_at, Role.VERSION: version}
    role = next((role for role, wanted in roles.items() if wanted), Role.PLAIN)
    if (created_at or modified_at) and type is None:
        type = Type.TIMESTAMP
    if role is not Role.PLAIN and "default" not in field and "default_factory" not in field:
        field["default"] = 0 if version else None
    if key not in (True, False, "given"):
        raise _schema_error(f"key is True, False or 'given', not {key!r}")
    if store not in (None, "text"):
        raise _schema_error(f"store is 'text' or None, not {store!r}")
    if references is None and on_delete is not None:
        raise _schema_error("on_delete needs references")
    for option, text in (("name", name), ("check", check)):
        if text is not None and not isinstance(text, str):
            raise _schema_error(f"{option} is a text, not {text!r}")
    if max is not None and (
        not isinstance(max, int) or isinstance(max, bool) or not 0 < max < 1 << 32
    ):
        raise _schema_error(f"max is a number of characters, not {max!r}")
    kind = _type_named(type) if isinstance(type, str) else type
    options = _Options(
        key=bool(key),
        given=key == "given",
        name=name,
        type=kind if vector is None else Type.VECTOR,
        max_chars=max,
        unique=unique,
        index=index,
        as_text=store == "text",
        collation=_one_of("collation", _COLLATIONS, collation),
        role=role,
        check=check,
        references=_checked_reference(references),
        on_delete=_one_of("on_delete", _ACTIONS, on_delete or "restrict"),
        search=("simple" if search is True else search) or None,
        length=_length_of(vector, kind),
    )
    metadata = {**field.pop("metadata", {}), _OPTIONS: options}
    try:
        return dataclasses.field(metadata=metadata, **field)
    except TypeError as error:
        raise _schema_error(f"a wrong option of a column: {error}") from error


_COLLATIONS = {
    "binary": Collation.BINARY,
    "nocase": Collation.NO_CASE,
    "unicode_nocase": Collation.UNICODE_NO_CASE,
}
_ACTIONS = {
    "restrict": OnDelete.RESTRICT,
    "cascade": OnDelete.CASCADE,
    "set_null": OnDelete.SET_NULL,
    "no_action": OnDelete.NO_ACTION,
}
_REFERENCE = re.compile(r"(?s)([^()]+)\(([^()]+)\)")


def _length_of(vector: Any, kind: Type | None) -> int:
    """The number of the numbers of a vector; 0 of other types."""
    if vector is None and kind is not Type.VECTOR:
        return 0
    if isinstance(vector, bool) or not isinstance(vector, int) or not 0 < vector < 1 << 16:
        raise _schema_error(f"vector is a number from 1 to 65535, as in vector=384, not {vector!r}")
    return vector


def _one_of(option: str, values: dict[str, V], word: Any) -> V:
    if isinstance(word, enum.Enum) and word in values.values():
        return cast(V, word)
    if not isinstance(word, str) or word not in values:
        raise _schema_error(f"{option} is one of {', '.join(values)}, not {word!r}")
    return values[word]


def _checked_reference(references: Any) -> Any:
    """A reference as given, if its form is right; a class is resolved later: it may not exist
    yet."""
    is_text = isinstance(references, str) and _REFERENCE.fullmatch(references) is not None
    is_class = isinstance(references, type) and dataclasses.is_dataclass(references)
    if references is None or is_text or is_class:
        return references
    message = f"references={references!r}: write references=Airline, which is a dataclass, or "
    raise _schema_error(f"{message}references='airline(code)'")


def _reference_of(options: _Options) -> Reference | None:
    """The foreign key of a column."""
    if options.references is None:
        return None
    if isinstance(options.references, str):
        found = _REFERENCE.fullmatch(options.references)
        assert found is not None
        return Reference(found[1], found[2], options.on_delete)
    schema = schema_of(options.references)
    if len(schema.key) != 1:
        raise _schema_error(f"{schema.name} has a key of several columns, which nothing references")
    return Reference(schema.name, schema.columns[schema.key[0]].name, options.on_delete)


@dataclass(frozen=True)
class Shape:
    """A dataclass: its fields, and the columns that store them."""

    cls: Callable[..., Any]
    name: str
    table: str
    fields: list[str]
    columns: list[str]
    #: None for a field of any type.
    types: list[Type | None]
    #: The enum of a field that has one.
    enums: list[builtins.type[enum.Enum] | None]
    #: Whether a field may be None, as its annotation says.
    optional: list[bool]
    #: The columns that it names as the key.
    key: list[str]
    by_keyword: bool
    #: Whether its fields can't be set.
    is_frozen: bool
    values: Callable[[Any], Sequence[Any]]


def shape_of(cls: Any) -> Shape:
    """The shape of a dataclass.

    Raises :class:`Error` of the kind ``SCHEMA`` if it is not a dataclass, or has a field whose type
    no column has.
    """
    parts, hints = _parts(cls), typing.get_type_hints(cls)
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
        enums=[_enum_of(hints[field.name]) for field, _, _ in parts],
        optional=[column.nullable for _, column, _ in parts],
        key=[column.name for _, column, options in parts if options.key],
        by_keyword=any(field.kw_only for field, _, _ in parts),
        is_frozen=cls.__dataclass_params__.frozen,
        values=(lambda record: (get(record),)) if single else get,
    )


def schema_of(cls: Any) -> TableSchema:
    """The table that a dataclass describes.

    Its name is the name of the class in snake case, or ``__table__``. ``__indexes__`` is a list of
    tuples of columns, and ``__unique__`` the same for unique indexes.
    """
    parts = _parts(cls)
    columns = tuple(column for _, column, _ in parts)
    places = {column.name: place for place, column in enumerate(columns)}
    key = tuple(place for place, (_, _, options) in enumerate(parts) if options.key)
    if not key and "id" in places:
        key = (places["id"],)
    if not key:
        raise _schema_error(f"{cls.__name__} has no key: name a field id, or add column(key=True)")
    table = _table_name(cls)
    # A generated key is None in a new record, but never NULL in the table.
    columns = tuple(
        dataclasses.replace(column, nullable=False) if place in key else column
        for place, column in enumerate(columns)
    )
    return TableSchema(
        name=table,
        columns=columns,
        key=key,
        keys_by=_keys_by(columns, key, any(options.given for _, _, options in parts)),
        indexes=tuple(_indexes(cls, table, places, [options for _, _, options in parts])),
        search=_search(cls, [options for _, _, options in parts]),
    )


def _parts(cls: Any) -> list[tuple[dataclasses.Field[Any], Column, _Options]]:
    if not (isinstance(cls, type) and dataclasses.is_dataclass(cls)):
        raise _schema_error(f"{cls!r} is not a dataclass")
    hints = typing.get_type_hints(cls)
    parts = []
    for field in dataclasses.fields(cls):
        if not field.init:
            raise _schema_error(f"field {field.name} of {cls.__name__} can't be init=False")
        options = field.metadata.get(_OPTIONS, _Options())
        kind, nullable = _type_of(hints[field.name], f"{cls.__name__}.{field.name}")
        kind = options.type if options.type is not None else kind
        # Time stamps and versions are None in a new record, but never NULL in the table.
        nullable = nullable and options.role is Role.PLAIN
        reference = _reference_of(options)
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
            references=reference,
            length=options.length,
        )
        if reference and reference.on_delete is OnDelete.SET_NULL and not nullable:
            message = f"{cls.__name__}.{field.name} can't be None: on_delete='set_null' needs that"
            raise _schema_error(message)
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
    if isinstance(hint, type) and issubclass(hint, enum.Enum):
        return _type_of_enum(hint), False
    kind = _TYPES.get(hint)
    if kind is None:
        raise _schema_error(f"no column has the type of {where}: name one with column(type=…)")
    return kind, hint is Any


def _type_of_enum(cls: builtins.type[enum.Enum]) -> Type:
    """The type of an enum's values, which are all texts or all integers."""
    kinds = {type(member.value) for member in cls}
    if kinds == {str}:
        return Type.TEXT
    if kinds == {int}:
        return Type.I64
    raise _schema_error(f"the values of {cls.__name__} must be all str or all int")


def _enum_of(hint: Any) -> builtins.type[enum.Enum] | None:
    if typing.get_origin(hint) in (typing.Union, types.UnionType):
        found = [_enum_of(part) for part in typing.get_args(hint) if part is not type(None)]
        return found[0] if len(found) == 1 else None
    return hint if isinstance(hint, type) and issubclass(hint, enum.Enum) else None


def _keys_by(columns: tuple[Column, ...], key: tuple[int, ...], given: bool) -> KeysBy:
    if len(key) == 1 and not given:
        if columns[key[0]].type is Type.I64:
            return KeysBy.ENGINE
        if columns[key[0]].type is Type.UUID:
            return KeysBy.CLIENT
    return KeysBy.USER


def _indexes(
    cls: Any, table: str, places: dict[str, int], options: Sequence[_Options]
) -> list[Index]:
    names = list(places)
    own = [place for place, one in enumerate(options) if one.index]
    indexes = [Index(f"{table}_{names[place]}", (place,)) for place in own]
    for unique, listed in ((False, "__indexes__"), (True, "__unique__")):
        for names in getattr(cls, listed, ()):
            try:
                columns = tuple(places[name] for name in names)
            except KeyError as error:
                raise _schema_error(f"{cls.__name__} has an index over {error}") from error
            ending = "_unique" if unique else ""
            indexes.append(Index(f"{table}_{'_'.join(names)}{ending}", columns, unique))
    return indexes


def _search(cls: Any, options: Sequence[_Options]) -> Search | None:
    """What the table is searched by. All of its columns have one language."""
    columns = tuple(place for place, one in enumerate(options) if one.search is not None)
    languages = sorted({options[place].search or "" for place in columns})
    if len(languages) > 1:
        message = f"the columns of a search have one language, not {' and '.join(languages)}"
        raise _schema_error(f"{cls.__name__}: {message}")
    return Search(columns, languages[0]) if columns else None


def _table_name(cls: Any) -> str:
    name = getattr(cls, "__table__", None)
    return name or re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", cls.__name__).lower()


def _type_named(name: str) -> Type:
    try:
        return Type[name.upper()]
    except KeyError:
        raise _schema_error(f"'{name}' is not a type") from None


def _schema_error(message: str) -> Error:
    return Error(ErrorKind.SCHEMA, message)
