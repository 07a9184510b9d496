"""Descriptions of tables."""

from __future__ import annotations

import enum
from dataclasses import dataclass, field

from .code import Garbled, Reader, Stored, Writer


class Type(enum.IntEnum):
    """A column's type; the numbers are those of the protocol."""

    BOOL = 0
    I8 = 1
    I16 = 2
    I32 = 3
    I64 = 4
    U8 = 5
    U16 = 6
    U32 = 7
    U64 = 8
    F32 = 9
    F64 = 10
    TEXT = 11
    BYTES = 12
    UUID = 13
    CURRENCY = 14
    DATE = 15
    TIME = 16
    DATETIME = 17
    TIMESTAMP = 18
    JSON = 19
    ANY = 20
    DECIMAL = 21  # only of SQL's parameters and results
    VECTOR = 22  # its length follows


class Collation(enum.IntEnum):
    """How texts compare and sort."""

    BINARY = 0
    NO_CASE = 1
    UNICODE_NO_CASE = 2


class Role(enum.IntEnum):
    """The role of a column that Bobak sets."""

    PLAIN = 0
    CREATED_AT = 1
    MODIFIED_AT = 2
    VERSION = 3


class KeysBy(enum.IntEnum):
    """What generates keys: the engine, the client, or neither."""

    ENGINE = 0
    CLIENT = 1
    USER = 2


class OnDelete(enum.IntEnum):
    """What a delete of the referenced row does."""

    RESTRICT = 0
    CASCADE = 1
    SET_NULL = 2
    NO_ACTION = 3


class OnUpdate(enum.IntEnum):
    """What happens to a row when the value that it refers to changes."""

    NO_ACTION = 0
    RESTRICT = 1
    CASCADE = 2
    SET_NULL = 3


@dataclass(frozen=True)
class Reference:
    """A foreign key of one column."""

    table: str
    column: str
    on_delete: OnDelete = OnDelete.RESTRICT
    on_update: OnUpdate = OnUpdate.NO_ACTION
    deferred: bool = False


@dataclass(frozen=True)
class Column:
    """A column of a table."""

    name: str
    type: Type
    nullable: bool = False
    unique: bool = False
    as_text: bool = False
    collation: Collation = Collation.BINARY
    role: Role = Role.PLAIN
    max_chars: int | None = None
    default: Stored = None
    check: str | None = None
    references: Reference | None = None
    generated: str | None = None
    """The expression by which the engine computes the column, which is then only read."""
    length: int = 0
    """The number of the numbers of a vector."""


@dataclass(frozen=True)
class Index:
    """An index over columns, by their positions."""

    name: str
    columns: tuple[int, ...]
    unique: bool = False


@dataclass(frozen=True)
class ForeignKey:
    """A foreign key of several columns, by their positions."""

    columns: tuple[int, ...]
    table: str
    referenced: tuple[str, ...]
    on_delete: OnDelete = OnDelete.RESTRICT
    on_update: OnUpdate = OnUpdate.NO_ACTION
    deferred: bool = False


_NEVER_REUSED = 4
_FOREIGN_KEYS = 8
_VIEW = 16
_SEARCHED = 32


@dataclass(frozen=True)
class Search:
    """What a table is searched by: the positions of columns, and the language of their texts."""

    columns: tuple[int, ...]
    language: str = "simple"


@dataclass(frozen=True)
class TableSchema:
    """A table: its columns in order, the positions of its key's columns, its indexes."""

    name: str
    columns: tuple[Column, ...]
    key: tuple[int, ...]
    keys_by: KeysBy = KeysBy.ENGINE
    indexes: tuple[Index, ...] = ()
    #: Whether the engine never makes the key of a deleted row again.
    never_reused: bool = False
    foreign_keys: tuple[ForeignKey, ...] = ()
    #: Whether it is a view, which can only be read and may have no key.
    view: bool = False
    #: None if it is not searched.
    search: Search | None = None
    #: The description as the server sent it; it is sent back unchanged.
    described: bytes | None = field(default=None, compare=False, repr=False)

    def describe(self) -> bytes:
        """The description as bytes."""
        if self.described is not None:
            return self.described
        writer = Writer()
        writer.text(self.name)
        writer.u16(len(self.columns))
        for column in self.columns:
            _put_column(writer, column)
        writer.places(self.key)
        flags = self.never_reused * _NEVER_REUSED | bool(self.foreign_keys) * _FOREIGN_KEYS
        flags |= self.view * _VIEW | (self.search is not None) * _SEARCHED
        writer.u8(self.keys_by | flags)
        writer.u16(len(self.indexes))
        for index in self.indexes:
            writer.text(index.name)
            writer.bool(index.unique)
            writer.places(index.columns)
        if self.foreign_keys:
            writer.u16(len(self.foreign_keys))
        for key in self.foreign_keys:
            writer.places(key.columns)
            writer.text(key.table)
            for name in key.referenced:
                writer.text(name)
            writer.u8(key.on_delete + 4 * key.on_update + 16 * key.deferred)
        if self.search is not None:
            writer.places(self.search.columns)
            writer.text(self.search.language)
        return bytes(writer.out)

    @classmethod
    def parse(cls, described: bytes) -> TableSchema:
        """Reads a description.

        Raises :class:`Garbled` for invalid bytes.
        """
        reader = Reader(described)
        try:
            name = reader.text()
            columns = tuple(_read_column(reader) for _ in range(reader.u16()))
            key = reader.places()
            keys = reader.u8()
            if keys > 63:
                raise Garbled(f"{keys} is not a key generator")
            keys_by = KeysBy(keys & 3)
            indexes = tuple(_read_index(reader) for _ in range(reader.u16()))
            count = reader.u16() if keys & _FOREIGN_KEYS else 0
            foreign_keys = tuple(_read_foreign_key(reader) for _ in range(count))
            search = Search(reader.places(), reader.text()) if keys & _SEARCHED else None
        except ValueError as error:
            raise Garbled(f"a description of a table: {error}") from error
        reader.finish()
        lists = [index.columns for index in indexes] + [to.columns for to in foreign_keys]
        lists += [search.columns] if search is not None else []
        places = {place for columns_of in lists for place in columns_of} | set(key)
        view = bool(keys & _VIEW)
        if not (key or view) or any(place >= len(columns) for place in places):
            raise Garbled("a key or index over a column that does not exist")
        never_reused = bool(keys & _NEVER_REUSED)
        made = name, columns, key, keys_by, indexes, never_reused, foreign_keys, view
        return cls(*made, search, described)


def _put_column(writer: Writer, column: Column) -> None:
    writer.text(column.name)
    writer.u8(column.type)
    if column.type is Type.VECTOR:
        writer.u16(column.length)
    generated = column.generated is not None
    writer.u8(column.nullable | column.unique << 1 | column.as_text << 2 | generated << 3)
    writer.u8(column.collation)
    writer.u8(column.role)
    writer.option(column.max_chars, writer.u32)
    writer.bool(column.default is not None)
    if column.default is not None:
        writer.value(column.default)
    writer.option(column.check, writer.text)
    writer.bool(column.references is not None)
    if column.references is not None:
        writer.text(column.references.table)
        writer.text(column.references.column)
        to = column.references
        writer.u8(to.on_delete + 4 * to.on_update + 16 * to.deferred)
    if column.generated is not None:
        writer.text(column.generated)


def _read_column(reader: Reader) -> Column:
    name = reader.text()
    kind, length = read_type(reader)
    flags = reader.u8()
    # 16 and 32 say how the engine compares texts, which is of no concern here.
    if flags > 47:
        raise Garbled(f"{flags} are not flags of a column")
    return Column(
        name=name,
        type=kind,
        nullable=bool(flags & 1),
        unique=bool(flags & 2),
        as_text=bool(flags & 4),
        collation=Collation(reader.u8()),
        role=Role(reader.u8()),
        max_chars=reader.option(reader.u32),
        default=reader.option(reader.value),
        check=reader.option(reader.text),
        references=reader.option(lambda: _read_reference(reader)),
        generated=reader.text() if flags & 8 else None,
        length=length,
    )


def read_type(reader: Reader) -> tuple[Type, int]:
    """A type, and the length of a vector."""
    kind = Type(reader.u8())
    return kind, reader.u16() if kind is Type.VECTOR else 0


def _read_reference(reader: Reader) -> Reference:
    table, column = reader.text(), reader.text()
    return Reference(table, column, *_read_actions(reader))


def _read_foreign_key(reader: Reader) -> ForeignKey:
    columns, table = reader.places(), reader.text()
    referenced = tuple(reader.text() for _ in columns)
    return ForeignKey(columns, table, referenced, *_read_actions(reader))


def _read_actions(reader: Reader) -> tuple[OnDelete, OnUpdate, bool]:
    actions = reader.u8()
    if actions > 31:
        raise Garbled(f"{actions} are not actions of a foreign key")
    return OnDelete(actions & 3), OnUpdate(actions >> 2 & 3), actions >= 16


def _read_index(reader: Reader) -> Index:
    name = reader.text()
    unique = reader.bool()
    return Index(name, reader.places(), unique)
