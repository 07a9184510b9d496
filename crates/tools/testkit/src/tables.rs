//! The tables that cases write to.

use crate::Table;
use bobak_core::{
    Capabilities, Collation, ColumnRole, ColumnSchema, OnDelete, Result, TableSchema,
    TableSchemaBuilder, Type,
};
use std::sync::Arc;

fn build(builder: TableSchemaBuilder) -> Result<Table> {
    builder.build().map(Arc::new)
}

fn id() -> ColumnSchema {
    ColumnSchema::of::<i64>("id")
}

/// `person(id, name, email, age)`: keys by the engine, an unique field that may be NULL, an index.
///
/// # Errors
/// None.
pub fn person() -> Result<Table> {
    build(
        TableSchema::builder("person")
            .column(id())
            .column(ColumnSchema::of::<String>("name"))
            .column(ColumnSchema::of::<Option<String>>("email").unique())
            .column(ColumnSchema::of::<Option<i32>>("age"))
            .key(["id"])
            .index("person_age", ["age", "name"]),
    )
}

/// `ticket(id, name)`: keys that are never reused.
///
/// # Errors
/// None.
pub fn ticket() -> Result<Table> {
    let name = ColumnSchema::of::<String>("name");
    build(TableSchema::builder("ticket").column(id()).column(name).key(["id"]).never_reuse_keys())
}

/// `document(id, title, hits, version)`: keys by the user, a version.
///
/// # Errors
/// None.
pub fn document() -> Result<Table> {
    build(
        TableSchema::builder("document")
            .column(id())
            .column(ColumnSchema::of::<String>("title"))
            .column(ColumnSchema::of::<Option<i64>>("hits"))
            .column(ColumnSchema::of::<i64>("version").role(ColumnRole::Version))
            .key(["id"])
            .given_key(),
    )
}

/// `tag(name, weight)`: a text key.
///
/// # Errors
/// None.
pub fn tag() -> Result<Table> {
    build(
        TableSchema::builder("tag")
            .column(ColumnSchema::of::<String>("name"))
            .column(ColumnSchema::of::<Option<f64>>("weight"))
            .key(["name"]),
    )
}

/// `device(id, label)`: a UUID as key.
///
/// # Errors
/// None.
pub fn device() -> Result<Table> {
    build(
        TableSchema::builder("device")
            .column(ColumnSchema::of::<bobak_core::Uuid>("id"))
            .column(ColumnSchema::of::<String>("label"))
            .key(["id"]),
    )
}

/// `seat(holder, letter, row)`: a key of two columns, `row` before `letter`, which are neither
/// first nor in the table's order.
///
/// # Errors
/// None.
pub fn seat() -> Result<Table> {
    build(
        TableSchema::builder("seat")
            .column(ColumnSchema::of::<Option<String>>("holder"))
            .column(ColumnSchema::of::<String>("letter"))
            .column(ColumnSchema::of::<i32>("row"))
            .key(["row", "letter"]),
    )
}

/// `mark(a, b)`: nothing but its key.
///
/// # Errors
/// None.
pub fn mark() -> Result<Table> {
    build(
        TableSchema::builder("mark")
            .column(ColumnSchema::of::<i64>("a"))
            .column(ColumnSchema::of::<i64>("b"))
            .key(["a", "b"]),
    )
}

/// `word(id, plain, nocase, unicode)`: a text in each collation; the last two are unique.
///
/// # Errors
/// None.
pub fn word() -> Result<Table> {
    let text = |name: &'static str| ColumnSchema::of::<Option<String>>(name);
    build(
        TableSchema::builder("word")
            .column(id())
            .column(text("plain"))
            .column(text("nocase").collation(Collation::NoCase).unique())
            .column(text("unicode").collation(Collation::UnicodeNoCase).unique())
            .key(["id"]),
    )
}

/// `slot(id, room, hour, note)`: no two rows with the same room and hour.
///
/// # Errors
/// None.
pub fn slot() -> Result<Table> {
    build(
        TableSchema::builder("slot")
            .column(id())
            .column(ColumnSchema::of::<Option<String>>("room"))
            .column(ColumnSchema::of::<Option<i64>>("hour"))
            .column(ColumnSchema::of::<Option<String>>("note"))
            .key(["id"])
            .unique_index("slot_room_hour", ["room", "hour"]),
    )
}

/// `bill(id, cents)`: cents are never negative.
///
/// # Errors
/// None.
pub fn bill() -> Result<Table> {
    build(
        TableSchema::builder("bill")
            .column(id())
            .column(ColumnSchema::of::<i64>("cents").check("cents >= 0"))
            .key(["id"]),
    )
}

/// `team(id, code)`, which [`player`] refers to: by its key, or by its unique code.
///
/// # Errors
/// None.
pub fn team() -> Result<Table> {
    build(
        TableSchema::builder("team")
            .column(id())
            .column(ColumnSchema::of::<String>("code").unique())
            .key(["id"]),
    )
}

/// `player(id, name, team)`, whose team is a row of [`team`].
///
/// # Errors
/// None.
pub fn player(on_delete: OnDelete) -> Result<Table> {
    build(
        TableSchema::builder("player")
            .column(id())
            .column(ColumnSchema::of::<String>("name"))
            .column(ColumnSchema::of::<Option<i64>>("team").references("team", "id", on_delete))
            .key(["id"]),
    )
}

/// `node(id, parent)`, whose parent is another row of it.
///
/// # Errors
/// None.
pub fn node() -> Result<Table> {
    build(
        TableSchema::builder("node")
            .column(id())
            .column(ColumnSchema::of::<Option<i64>>("parent").references(
                "node",
                "id",
                OnDelete::Restrict,
            ))
            .key(["id"])
            .given_key(),
    )
}

/// The types of columns that an engine takes.
#[must_use]
pub fn possible_types(capabilities: Capabilities) -> Vec<Type> {
    let possible = |ty: &Type| capabilities.untyped_columns || *ty != Type::Any;
    Type::ALL.iter().copied().filter(possible).collect()
}

/// `every(id, …)`: a column that may be NULL for each type that the engine takes, named as the type
/// with `c_` before.
///
/// # Errors
/// None.
pub fn every_type(capabilities: Capabilities) -> Result<Table> {
    let columns = possible_types(capabilities).into_iter().map(|ty| {
        let name = format!("c_{}", ty.name());
        ColumnSchema::new(name, ty).nullable(true)
    });
    let builder = TableSchema::builder("every").column(id()).key(["id"]);
    build(columns.fold(builder, TableSchemaBuilder::column))
}

/// `blank(id, value)`: one column of the type, which may be NULL.
///
/// # Errors
/// None.
pub fn of_type(ty: Type) -> Result<Table> {
    build(
        TableSchema::builder("blank")
            .column(id())
            .column(ColumnSchema::new("value", ty).nullable(true))
            .key(["id"]),
    )
}
