//! The tables that the tests are about.

use bobak_core::{
    Collation, ColumnRole, ColumnSchema, Currency, Date, OnDelete, TableSchema, Timestamp, Type,
    Uuid,
};
use std::sync::Arc;

/// A key that the engine gives, collations, a limit, a default, a check, a version.
pub fn person() -> Arc<TableSchema> {
    let table = TableSchema::builder("person")
        .column(ColumnSchema::of::<i64>("id"))
        .column(
            ColumnSchema::of::<String>("email").max_chars(80).unique().collation(Collation::NoCase),
        )
        .column(ColumnSchema::of::<Option<i8>>("age").check("\"age\" >= 0"))
        .column(ColumnSchema::of::<Currency>("pay").default(100_000_i64))
        .column(ColumnSchema::of::<i64>("version").role(ColumnRole::Version))
        .key(["id"])
        .index("person_age_pay", ["age", "pay"])
        .build();
    Arc::new(table.unwrap())
}

/// A key of two columns, names that need their quotes, a foreign key, dates as text, no version.
pub fn visit() -> Arc<TableSchema> {
    let table = TableSchema::builder("the \"visit\"")
        .column(ColumnSchema::of::<Date>("on").as_text())
        .column(ColumnSchema::of::<i64>("person").references("person", "id", OnDelete::Cascade))
        .column(ColumnSchema::of::<Option<Timestamp>>("order"))
        .column(ColumnSchema::of::<Option<String>>("note").collation(Collation::UnicodeNoCase))
        .key(["person", "on"])
        .build();
    Arc::new(table.unwrap())
}

/// Nothing but a key.
pub fn only_key() -> Arc<TableSchema> {
    let table = TableSchema::builder("ticket").column(ColumnSchema::of::<i64>("id")).key(["id"]);
    Arc::new(table.build().unwrap())
}

/// A nullable column of every type in addition to the key; then every type that can be stored as text.
pub fn everything() -> Arc<TableSchema> {
    let mut table = TableSchema::builder("everything").column(ColumnSchema::of::<Uuid>("key"));
    for &ty in Type::ALL {
        table = table.column(ColumnSchema::new(ty.name(), ty).nullable(true));
    }
    for &ty in Type::ALL.iter().filter(|ty| ty.has_text_form()) {
        let name = format!("{}_as_text", ty.name());
        table = table.column(ColumnSchema::new(name, ty).nullable(true).as_text());
    }
    Arc::new(table.key(["key"]).build().unwrap())
}
