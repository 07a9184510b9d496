//! Prints the statements that the engine sends for some tables, one a line: `cargo xtask oracle` parses them, and a test runs them
//! on HSQLDB.

use bobak_core::{
    ColumnRole, ColumnSchema, Currency, Date, OnDelete, Result, TableSchema, TableSchemaBuilder,
    Timestamp, Uuid,
};

fn main() -> Result<()> {
    for statement in statements()?.into_iter().chain(bobak_oracle::catalog_queries()) {
        // No literal of these tables has a line break.
        println!("{}", statement.replace('\n', " "));
    }
    Ok(())
}

/// The statements for these tables.
pub(crate) fn statements() -> Result<Vec<String>> {
    let mut statements = Vec::new();
    for table in [person(), place(), word(), part()] {
        statements.extend(bobak_oracle::statements(&table.build()?)?);
    }
    Ok(statements)
}

/// Generated keys, a version, unique values that may be NULL.
fn person() -> TableSchemaBuilder {
    TableSchema::builder("person")
        .column(ColumnSchema::of::<i64>("id"))
        .column(ColumnSchema::of::<String>("full name").default("it's [é]"))
        .column(ColumnSchema::of::<Option<String>>("mail").unique())
        .column(ColumnSchema::of::<i64>("version").role(ColumnRole::Version))
        .key(["id"])
        .index("by_name", ["full name"])
}

/// Given keys of several columns, and every kind of CHECK.
fn place() -> TableSchemaBuilder {
    TableSchema::builder("place")
        .column(ColumnSchema::of::<String>("row").max_chars(10))
        .column(
            ColumnSchema::of::<i32>("number").check("number % 2 = 1 and number between 1 and 99"),
        )
        .column(
            ColumnSchema::of::<Currency>("price")
                .check("price > 0 or (price is null and not number in (1, 2))"),
        )
        .column(
            ColumnSchema::of::<String>("kind").check("kind like 'a[%' or length(lower(kind)) < 5"),
        )
        .column(ColumnSchema::of::<bool>("free").default(true).check("free or number / 2 > 3"))
        .key(["row", "number"])
        .given_key()
}

/// Texts in each collation, unique.
fn word() -> TableSchemaBuilder {
    use bobak_core::Collation::{NoCase, UnicodeNoCase};
    TableSchema::builder("word")
        .column(ColumnSchema::of::<Uuid>("id"))
        .column(ColumnSchema::of::<String>("nocase").collation(NoCase).unique())
        .column(ColumnSchema::of::<Option<String>>("unicode").collation(UnicodeNoCase).unique())
        .column(ColumnSchema::of::<Vec<u8>>("hash").unique())
        .key(["id"])
        .given_key()
}

/// The other types, and a foreign key.
fn part() -> TableSchemaBuilder {
    TableSchema::builder("part")
        .column(ColumnSchema::of::<i64>("id"))
        .column(ColumnSchema::of::<Option<i64>>("person").references(
            "person",
            "id",
            OnDelete::Cascade,
        ))
        .column(ColumnSchema::of::<f64>("weight").default(1.5))
        .column(ColumnSchema::of::<Date>("made"))
        .column(ColumnSchema::of::<Timestamp>("seen"))
        .column(ColumnSchema::of::<Option<Vec<u8>>>("photo"))
        .key(["id"])
}
