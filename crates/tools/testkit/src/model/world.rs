//! The tables of a random program, and the values that it puts into them.
//!
//! The values are few, so that rows collide: the same keys, the same unique values, texts that a collation
//! treats as equal. Their sums are exact in any order, because engines add in different orders.

use super::random::Random;
use crate::{NULL, Table, Values, row};
use bobak_core::{
    Collation, ColumnRole, ColumnSchema, OnDelete, Result, TableSchema, TableSchemaBuilder, Type,
    Value,
};
use std::sync::Arc;

/// The tables of one program.
#[derive(Clone)]
pub(crate) struct World {
    pub(crate) tables: Vec<Table>,
}

impl World {
    /// Chooses tables: the first three always, the one with a foreign key if `links` is true.
    pub(crate) fn new(random: &mut Random, links: bool) -> Result<Self> {
        let mut builders = vec![account(random), label(random), place(random), device()];
        if links {
            builders.push(member(random));
        }
        let build = |builder: TableSchemaBuilder| builder.build().map(Arc::new);
        let tables = builders.into_iter().map(build).collect::<Result<_>>()?;
        Ok(Self { tables })
    }

    /// Replaces the description of a table.
    pub(crate) fn replace(&mut self, new: &Table) {
        for table in self.tables.iter_mut().filter(|table| table.name() == new.name()) {
            *table = Arc::clone(new);
        }
    }

    /// One of the tables.
    pub(crate) fn table(&self, random: &mut Random) -> Table {
        random.pick(&self.tables).cloned().expect("there are four tables at least")
    }
}

/// The table with one more column, named `c` and `number`.
pub(crate) fn with_column(
    random: &mut Random,
    table: &TableSchema,
    number: usize,
) -> Result<Table> {
    let name = format!("c{number}");
    let column = match random.below(4) {
        0 => ColumnSchema::of::<Option<String>>(name),
        1 => ColumnSchema::of::<Option<String>>(name).collation(Collation::NoCase).default("dEf"),
        2 => ColumnSchema::of::<i64>(name).default(7),
        _ => ColumnSchema::of::<Option<f64>>(name).default(0.5),
    };
    rebuilt(table, |builder| builder.column(column), |builder| builder)
}

/// The table with one more index, over one or two columns.
pub(crate) fn with_index(random: &mut Random, table: &TableSchema, number: usize) -> Result<Table> {
    let mut name = || {
        let place = random.below(table.columns().len());
        table.columns().get(place).map(|c| c.name.clone()).unwrap_or_default()
    };
    let mut columns = vec![name(), name()];
    columns.dedup();
    let name = format!("{}_i{number}", table.name());
    rebuilt(table, |builder| builder, |builder| builder.index(name, columns))
}

/// The same table again, with columns and indexes added at the ends.
fn rebuilt(
    table: &TableSchema,
    columns: impl FnOnce(TableSchemaBuilder) -> TableSchemaBuilder,
    indexes: impl FnOnce(TableSchemaBuilder) -> TableSchemaBuilder,
) -> Result<Table> {
    let mut builder = TableSchema::builder(table.name().to_owned());
    for column in table.columns() {
        builder = builder.column(column.clone());
    }
    let name = |place: &usize| table.columns().get(*place).map(|c| c.name.clone());
    builder = columns(builder).key(table.key().iter().filter_map(name));
    let of_columns = table.columns().iter().filter(|column| column.unique).count();
    for index in table.indexes().iter().skip(of_columns) {
        let columns: Vec<_> = index.columns.iter().filter_map(name).collect();
        builder = if index.unique {
            builder.unique_index(index.name.clone(), columns)
        } else {
            builder.index(index.name.clone(), columns)
        };
    }
    indexes(builder).build().map(Arc::new)
}

/// Generated keys, a version, unique values alone and in pairs, every collation.
fn account(random: &mut Random) -> TableSchemaBuilder {
    let builder = TableSchema::builder("account")
        .column(ColumnSchema::of::<i64>("id"))
        .column(ColumnSchema::of::<Option<String>>("mail").collation(Collation::NoCase).unique())
        .column(ColumnSchema::of::<String>("name").collation(Collation::UnicodeNoCase))
        .column(ColumnSchema::of::<Option<String>>("team"))
        .column(ColumnSchema::of::<Option<i32>>("seat"))
        .column(ColumnSchema::of::<i64>("hits"))
        .column(ColumnSchema::of::<Option<f64>>("score"))
        .column(ColumnSchema::of::<i64>("version").role(ColumnRole::Version))
        .key(["id"])
        .unique_index("account_team_seat", ["team", "seat"]);
    if random.percent(50) {
        return builder.index("account_name", ["name"]).index("account_seat", ["seat", "hits"]);
    }
    builder
}

/// A text key, case-insensitive in half of the programs.
fn label(random: &mut Random) -> TableSchemaBuilder {
    let collation = if random.percent(50) { Collation::NoCase } else { Collation::Binary };
    let extra = if random.capabilities.untyped_columns { Type::Any } else { Type::Text };
    let builder = TableSchema::builder("label")
        .column(ColumnSchema::of::<String>("name").collation(collation))
        .column(ColumnSchema::of::<Option<f64>>("weight"))
        .column(ColumnSchema::of::<Option<Vec<u8>>>("data").unique())
        .column(ColumnSchema::new("extra", extra).nullable(true))
        .key(["name"]);
    if random.percent(50) {
        return builder.index("label_extra", ["extra", "weight"]);
    }
    builder
}

/// A key of two columns, out of order, and a version.
fn place(random: &mut Random) -> TableSchemaBuilder {
    let builder = TableSchema::builder("place")
        .column(ColumnSchema::of::<Option<String>>("holder"))
        .column(ColumnSchema::of::<String>("letter"))
        .column(ColumnSchema::of::<i32>("line"))
        .column(ColumnSchema::of::<Option<i64>>("amount"))
        .column(ColumnSchema::of::<i64>("version").role(ColumnRole::Version))
        .key(["line", "letter"]);
    if random.percent(50) {
        return builder.index("place_holder", ["holder"]);
    }
    builder
}

/// A UUID as key.
fn device() -> TableSchemaBuilder {
    TableSchema::builder("device")
        .column(ColumnSchema::of::<bobak_core::Uuid>("id"))
        .column(ColumnSchema::of::<bool>("on"))
        .column(ColumnSchema::of::<Option<bobak_core::Currency>>("price"))
        .key(["id"])
}

/// Rows that refer to accounts, with one of the three foreign key actions.
fn member(random: &mut Random) -> TableSchemaBuilder {
    let actions = [OnDelete::Restrict, OnDelete::Cascade, OnDelete::SetNull];
    let action = random.pick(&actions).copied().unwrap_or_default();
    TableSchema::builder("member")
        .column(ColumnSchema::of::<i64>("id"))
        .column(ColumnSchema::of::<Option<i64>>("account").references("account", "id", action))
        .column(ColumnSchema::of::<Option<String>>("role"))
        .key(["id"])
}

const TEXTS: [&str; 16] =
    ["", "a", "A", "b", "ab", "aB", "Ab", "a\0b", "a\0c", "é", "É", "%", "a_", "zz", "ß", "10"];

/// A value for a column of a new row; NULL half of the time for a key that the engine may generate.
pub(crate) fn value(random: &mut Random, table: &TableSchema, place: usize) -> Value<'static> {
    let Some(column) = table.columns().get(place) else {
        return NULL;
    };
    let null = match (column.nullable, table.key() == [place]) {
        (true, _) => 20,
        (false, true) if table.has_integer_key() => 50,
        (false, _) => 1,
    };
    if random.percent(null) {
        return NULL;
    }
    if column.ty == Type::Text && random.percent(1) {
        // Large enough that a cursor needs several parts.
        let length = random.between(10_000, 50_000);
        // Any column may become part of a unique index.
        let length = if random.capabilities.limited_key_length { length / 500 } else { length };
        return "x".repeat(length).into();
    }
    match plain(random, column) {
        // Oracle, one of the engines without NUL, takes no empty key.
        Value::Text(text)
            if text.is_empty()
                && table.key().contains(&place)
                && !random.capabilities.nul_in_text =>
        {
            "b a".into()
        }
        value => value,
    }
}

/// A value that is not NULL, for conditions.
pub(crate) fn plain(random: &mut Random, column: &ColumnSchema) -> Value<'static> {
    match (column.ty, column.name.as_ref()) {
        (Type::I64, "hits" | "amount") if random.percent(3) => Value::Int(i64::MAX - 3),
        (Type::I64 | Type::I32, "version") => Value::Int(random.below(4) as i64),
        (Type::I64 | Type::I32, _) => Value::Int(random.below(16) as i64),
        (Type::Bool, _) => Value::Int(random.below(2) as i64),
        (Type::Currency, _) => Value::Int(random.below(50_000) as i64),
        (Type::F64, _) => {
            let floats = [0.0, 0.5, -1.25, 3.0, 1024.0, -0.75];
            random.pick(&floats).copied().unwrap_or_default().into()
        }
        (Type::Text, _) => text(random).into(),
        (Type::Bytes, _) => vec![random.below(3) as u8; random.below(4)].into(),
        (Type::Uuid, _) => vec![random.below(12) as u8; 16].into(),
        _ => any(random),
    }
}

pub(crate) fn text(random: &mut Random) -> String {
    let mut text = random.pick(&TEXTS).copied().unwrap_or_default();
    if text.contains('\0') && !random.capabilities.nul_in_text {
        text = "a b";
    }
    match random.below(4) {
        0 => format!("{text}{}", random.below(30)),
        _ => text.to_owned(),
    }
}

fn any(random: &mut Random) -> Value<'static> {
    let values = row![0, 1, 1.0, 1.5, "1", "", "a", vec![49_u8], vec![], Value::Int(1 << 53)];
    random.pick(&values).cloned().unwrap_or_default()
}

/// A whole row.
pub(crate) fn values(random: &mut Random, table: &TableSchema) -> Values {
    (0..table.columns().len()).map(|place| value(random, table, place)).collect()
}

/// A key, which may exist.
pub(crate) fn key(random: &mut Random, table: &TableSchema) -> Values {
    let columns = table.key().iter().filter_map(|place| table.columns().get(*place));
    columns.map(|column| plain(random, column)).collect()
}
